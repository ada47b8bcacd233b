//! The live lab leaves no process behind, whatever ends it, and says what it lacks. A shell script stands for the harness, so that neither npm's
//! registry nor a real program is needed.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a test starts processes and reads its environment"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Runs on in the background, in a session of its own, and tells that it does.
const HARNESS: &str = "#!/bin/sh\nsetsid sh -c 'echo $$ > lab-running; exec sleep 600' &\nexec sleep 600\n";

const PATIENCE: Duration = Duration::from_secs(20);

/// Whether namespaces can be made here: the lab says so itself where not, and the machine that guards the project has them.
fn can_run() -> bool {
    let works =
        |args: &[&str]| Command::new("unshare").args(args).arg("true").output().is_ok_and(|o| o.status.success());
    let can = works(&["--net"]) || works(&["--user", "--map-current-user", "--net"]);
    assert!(can || std::env::var_os("CI").is_none_or(|ci| ci != "true"), "no namespaces under CI");
    can
}

fn start(folder: &Path) -> Child {
    let package = folder.join("cache/some-agent-1.0.0/node_modules/some-agent");
    fs::create_dir_all(&package).expect("a package");
    let program = package.join("agent");
    fs::write(&program, HARNESS).expect("a program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a program");
    let data = folder.join("data");
    fs::create_dir_all(&data).expect("data");
    fs::write(data.join("versions.toml"), "[some-agent]\npackage = \"some-agent\"\nversion = \"1.0.0\"\n")
        .expect("data");
    let agent =
        "program = [[\"{package}/agent\"]]\nturn = []\nnext = []\n[[scenario]]\nname = \"text\"\nprompts = [\"go\"]\n";
    fs::write(data.join("some-agent.toml"), agent).expect("data");
    let temporary = folder.join("tmp");
    fs::create_dir_all(&temporary).expect("a folder");
    Command::new(env!("CARGO_BIN_EXE_sessionpipe-conformance"))
        .args(["live", "--bin", "/bin/true", "--data"])
        .arg(&data)
        .env("SESSIONPIPE_LIVE_CACHE", folder.join("cache"))
        .env("TMPDIR", &temporary)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the lab")
}

/// The processes that work in a folder.
fn working_in(folder: &Path) -> Vec<String> {
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let inside =
        |entry: &fs::DirEntry| fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder));
    processes.filter(inside).map(|entry| fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default()).collect()
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "never: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn leaves_nothing_after(signal: &str) {
    if !can_run() {
        eprintln!("no namespaces here: nothing was tested");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().canonicalize().expect("a folder");
    let runs = folder.join("tmp");
    let mut lab = start(&folder);
    // The harness, and what it put into a session of its own.
    until("the harness runs", || working_in(&runs).iter().filter(|line| line.starts_with("sleep")).count() == 2);
    let pid = lab.id().to_string();
    assert!(Command::new("kill").args([signal, &pid]).status().expect("kill").success());
    lab.wait().expect("the lab's end");
    until("all processes have ended", || working_in(&runs).is_empty());
}

#[test]
fn nothing_is_left_after_an_interrupt() {
    leaves_nothing_after("-INT");
}

#[test]
fn nothing_is_left_after_the_lab_was_killed() {
    leaves_nothing_after("-KILL");
}

#[test]
fn what_is_missing_is_said_and_fails_only_the_machine_that_guards_the_project() {
    let folder = tempfile::tempdir().expect("a folder");
    for (ci, passes) in [("", true), ("true", false)] {
        let lab = Command::new(env!("CARGO_BIN_EXE_sessionpipe-conformance"))
            .args(["live", "--bin", "/bin/true"])
            .env("PATH", folder.path())
            .env("CI", ci)
            .output()
            .expect("the lab");
        assert_eq!(String::from_utf8_lossy(&lab.stdout), "The live lab cannot run here: node is needed.\n");
        assert_eq!(lab.status.success(), passes, "CI={ci}");
    }
}
