//! The process that a plugin starts and that stays as long as its agent.

use std::io::Write;
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};

use crate::lab::{Lab, feed, finish, silent};

fn start(lab: &Lab) -> Child {
    lab.clean(lab.program(), ["--stream", "claude-code"]).spawn().expect("it starts")
}

fn events(lab: &Lab) -> Vec<String> {
    lab.jobs().into_iter().map(|(header, _)| header.event).collect()
}

#[test]
fn a_job_for_each_line_and_one_for_the_end() {
    let lab = Lab::new();
    let mut command = lab.clean(lab.program(), ["--stream", "claude-code"]);
    command.env("CLAUDE_PROJECT_DIR", "/w").env("SECRET", "s");
    silent(&feed(command, b"{\"event\":\"a\",\"t\":1000}\n{\"event\":\"b\",\"t\":1000}\n"));
    let jobs = lab.jobs();
    assert_eq!(events(&lab), ["a", "b", "stream.end"]);
    let (header, payload) = &jobs[0];
    assert_eq!((header.harness.as_str(), header.at_ms), ("claude-code", 1000));
    assert_eq!(header.cwd.as_deref().map(std::path::Path::new), Some(&*lab.path("work")));
    assert_eq!(header.env.keys().collect::<Vec<_>>(), ["CLAUDE_PROJECT_DIR"]);
    assert_eq!(header.parents.first().map(|process| process.pid), Some(std::process::id()));
    assert_eq!(payload, b"{\"event\":\"a\",\"t\":1000}");
}

#[test]
fn what_ends_the_agent_does_not_end_it() {
    let lab = Lab::new();
    let mut child = start(&lab);
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut say = |event: &str| writeln!(stdin, "{{\"event\":\"{event}\",\"t\":1}}").expect("it reads");
    say("first");
    // Its first job tells that it is past its start.
    while !lab.dirs().spool().exists() || events(&lab).is_empty() {
        std::thread::yield_now();
    }
    for signal in [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM] {
        kill_process(Pid::from_child(&child), signal).expect("sent");
    }
    say("last");
    drop(stdin);
    silent(&finish(child));
    assert_eq!(events(&lab), ["first", "last", "stream.end"]);
}

#[test]
fn it_is_silent_with_any_arguments_and_input() {
    let lab = Lab::new();
    for args in [&["--stream"][..], &["--stream", ""], &["--stream", "--help"], &["--stream", "nobody", "x"]] {
        silent(&feed(lab.clean(lab.program(), args), b"no json\n\xff\xfe\0\n"));
    }
    assert_eq!(events(&lab), ["", "", "stream.end"], "of an unknown harness the worker tells");
}

#[test]
fn below_our_own_worker_it_leaves_nothing() {
    let lab = Lab::new();
    let mut command = lab.clean(lab.program(), ["--stream", "claude-code"]);
    command.env("SESSIONPIPE_WORKER", "1");
    silent(&feed(command, b"{\"event\":\"a\",\"t\":1}\n"));
    assert!(!lab.dirs().state.exists());
}
