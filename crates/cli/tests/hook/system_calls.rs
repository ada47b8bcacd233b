//! What the hook asks of the system, seen by `strace`.

#![cfg(target_os = "linux")]

use std::process::Command;

use sessionpipe_pipeline::wake::Listener;

use crate::lab::{Lab, PAYLOAD, feed, silent, skipped};

/// Never on the hook path: a network, a disk that is waited for, a lock, a thread or a child.
const FORBIDDEN: [&str; 18] = [
    "socket",
    "connect",
    "sendto",
    "fsync",
    "fdatasync",
    "sync",
    "syncfs",
    "sync_file_range",
    "msync",
    "flock",
    "clone",
    "clone3",
    "fork",
    "vfork",
    "nanosleep",
    "clock_nanosleep",
    "statfs",
    "getdents64",
];

fn has_strace() -> bool {
    if Command::new("strace").arg("-V").output().is_ok_and(|output| output.status.success()) {
        return true;
    }
    assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "strace is missing");
    skipped("strace is not here");
    false
}

/// The calls of one hook run, each as `name(arguments…`.
fn calls(lab: &Lab) -> Vec<String> {
    let trace = lab.path("trace");
    let mut command = lab.clean("strace", ["-f", "-qq", "-s", "256", "-o"]);
    command.arg(&trace).arg(lab.program()).args(["claude-code", "Stop"]);
    silent(&feed(command, PAYLOAD));
    let trace = std::fs::read_to_string(trace).expect("a trace");
    trace.lines().filter_map(|line| Some(line.split_once(char::is_whitespace)?.1.trim_start().to_owned())).collect()
}

#[test]
fn no_network_no_sync_no_lock_no_foreign_file() {
    if !has_strace() {
        return;
    }
    let lab = Lab::new();
    silent(&feed(lab.hook(), PAYLOAD));
    let worker = Listener::open(&lab.dirs()).expect("a FIFO");
    let calls = calls(&lab);
    drop(worker);
    assert_eq!(lab.jobs().len(), 2);

    let name = |call: &str| call.split('(').next().unwrap_or_default().to_owned();
    let bad: Vec<_> = calls
        .iter()
        .filter(|call| FORBIDDEN.contains(&name(call).as_str()) || (name(call) == "fcntl" && call.contains("LK")))
        .collect();
    assert!(bad.is_empty(), "{bad:#?}");

    let state = lab.dirs().state.display().to_string();
    let spool = lab.dirs().spool().display().to_string();
    let opened: Vec<_> = calls
        .iter()
        .filter(|call| matches!(name(call).as_str(), "open" | "openat" | "openat2") && !call.contains("ENOENT"))
        .filter_map(|call| call.split('"').nth(1))
        .filter(|path| !is_loaders(path) && !is_ancestors(path))
        .collect();
    let (draft, others): (Vec<_>, Vec<_>) = opened.into_iter().partition(|path| path.ends_with(".tmp"));
    assert_eq!(draft.len(), 1);
    assert_eq!(others, [state.as_str(), "spool", &format!("{state}/worker.fifo")], "in {spool}");
}

/// What a dynamic program opens before it runs, and what the standard library and the C library ask about the process.
fn is_loaders(path: &str) -> bool {
    path.starts_with("/etc/ld.so")
        || path.contains(".so")
        || path == "/proc/self/maps"
        || path.starts_with("/sys/fs/cgroup")
}

fn is_ancestors(path: &str) -> bool {
    path.strip_prefix("/proc/")
        .and_then(|rest| rest.strip_suffix("/stat"))
        .is_some_and(|pid| pid.parse::<u32>().is_ok())
}

#[test]
fn the_job_is_there_before_the_worker_is_woken() {
    if !has_strace() {
        return;
    }
    let lab = Lab::new();
    let calls = calls(&lab);
    let rename = calls.iter().position(|call| call.starts_with("rename")).expect("the job is finished");
    let wake = calls.iter().position(|call| call.contains("worker.fifo")).expect("the worker is woken");
    assert!(rename < wake);
}
