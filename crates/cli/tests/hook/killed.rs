//! Harnesses kill their hooks when they exit.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use sessionpipe_core::payload::parse;

use crate::lab::Lab;

/// How long after the last byte the hook's whole process group is killed.
const GRACE: Duration = Duration::from_millis(20);

const RUNS: usize = 100;

/// A busy machine may not run a process at all for that long: then it is killed before it has done its work, and the run
/// is tried again.
const TRIES: usize = 10;

#[test]
fn a_job_survives_the_end_of_its_hook() {
    let lab = Lab::new();
    let mut expected: Vec<String> = Vec::new();
    for run in 0..RUNS {
        let name = (0..TRIES)
            .map(|attempt| format!("run-{run}-{attempt}"))
            .find(|name| {
                let was_done = run_and_kill(&lab, name);
                let is_there = names(&lab).contains(name);
                assert!(is_there || !was_done, "{name} exited without its job");
                is_there
            })
            .expect("the job is there after the kill");
        expected.push(name);
    }
    expected.sort();
    assert_eq!(names(&lab), expected, "each once");
}

/// Whether the hook had exited by itself before the kill.
fn run_and_kill(lab: &Lab, name: &str) -> bool {
    let mut child = lab.hook().process_group(0).spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    write!(stdin, r#"{{"session_id":"{name}"}}"#).expect("the hook reads");
    std::thread::sleep(GRACE);
    // It is not reaped yet, so the group is there even if the hook has exited.
    kill_process_group(Pid::from_child(&child), Signal::KILL).expect("killed");
    child.wait().expect("reaped").success()
}

/// The sessions of all jobs, sorted.
fn names(lab: &Lab) -> Vec<String> {
    let session = |bytes: &[u8]| parse(bytes).expect("whole").text(&["session_id"]).expect("a session").to_owned();
    let mut names: Vec<String> = lab.jobs().iter().map(|(_, payload)| session(payload)).collect();
    names.sort();
    names
}
