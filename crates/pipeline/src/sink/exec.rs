//! A command of the shell, one process per event, the event on its stdin.

use std::io::Write as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::client::DEADLINE;
use super::transport::{Answer, Batch, Limits, Receipt, Transport};
use crate::hook::WORKER_VAR;

/// What a command says that is to be tried again later (`EX_TEMPFAIL` of sysexits).
const TRY_AGAIN: i32 = 75;

/// What the shell says of a program that cannot be run, or is not there.
const CANNOT_RUN: [i32; 2] = [126, 127];

/// How often a process is looked at that has not ended.
const LOOK: Duration = Duration::from_millis(5);

/// Runs one command.
#[derive(Debug)]
pub struct Exec {
    command: String,
    deadline: Duration,
}

impl Exec {
    /// Runs this command line with `sh -c`.
    #[must_use]
    pub fn new(command: String) -> Self {
        Self { command, deadline: DEADLINE }
    }

    #[expect(clippy::disallowed_methods, reason = "it is what the person asked for")]
    fn start(&self) -> std::io::Result<Child> {
        Command::new("/bin/sh")
            .args(["-c", &self.command])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // An agent that it starts is no news.
            .env(WORKER_VAR, "1")
            // With all that it starts, so that it can be ended with all of that.
            .process_group(0)
            .spawn()
    }

    fn run(&self, event: &str) -> std::io::Result<Option<ExitStatus>> {
        let mut child = self.start()?;
        let end = Instant::now() + self.deadline;
        // A command that reads nothing would keep us: a pipe takes less than the largest event.
        let writer = child.stdin.take().map(|mut stdin| {
            let line = format!("{event}\n");
            std::thread::spawn(move || {
                let _ = stdin.write_all(line.as_bytes());
            })
        });
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break Some(status);
            }
            if Instant::now() >= end {
                let _ = rustix::process::kill_process_group(Pid::from_child(&child), Signal::KILL);
                child.wait()?;
                break None;
            }
            std::thread::sleep(LOOK);
        };
        // What it left running may hold the pipe: the writer is not waited for then.
        drop(writer);
        Ok(status)
    }
}

impl Transport for Exec {
    fn limits(&self) -> Limits {
        // One process per event; its size is no concern.
        Limits { max_events: 1, max_bytes: usize::MAX }
    }

    fn send(&mut self, batch: &Batch<'_>) -> Answer {
        for event in batch.events {
            let answer = match self.run(&event.json) {
                Err(error) => Answer::later(error.to_string()),
                Ok(None) => Answer::Refused(format!("it did not end within {} s", self.deadline.as_secs())),
                Ok(Some(status)) => match status.code() {
                    Some(0) => continue,
                    Some(TRY_AGAIN) => Answer::later(format!("exit {TRY_AGAIN}")),
                    Some(code) if CANNOT_RUN.contains(&code) => Answer::Pause(format!("exit {code}: cannot be run")),
                    Some(code) => Answer::Refused(format!("exit {code}")),
                    None => Answer::Refused(format!("ended by signal {}", status.signal().unwrap_or_default())),
                },
            };
            return answer;
        }
        Answer::Accepted(Receipt::default())
    }
}

#[cfg(test)]
mod tests {
    use sessionpipe_core::event::Event;

    use super::super::transport::Outgoing;
    use super::*;

    fn answer(command: &str, deadline: Duration) -> Answer {
        let json = r#"{"protocol":1,"id":"x","type":"t","time":"","tier":0,"harness":{"name":"h"},"session":{"id":"s","seq":0},"privacy":{"rulesets":[],"pii":false},"data":{}}"#;
        let event: Event = serde_json::from_str(json).expect("an event");
        let events = [Outgoing { pos: 1, event, json: json.to_owned() }];
        let mut exec = Exec { command: command.to_owned(), deadline };
        exec.send(&Batch { id: "b", events: &events, again: false, now_ms: 0 })
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn the_event_is_on_stdin_and_the_exit_code_is_the_answer() {
        let done = Answer::Accepted(Receipt::default());
        assert_eq!(answer(r#"grep -q '"type":"t"'"#, LONG), done);
        assert_eq!(answer("true", LONG), done, "it need not read it");
        assert_eq!(answer("exit 75", LONG), Answer::later("exit 75"));
        assert_eq!(answer("exit 3", LONG), Answer::Refused("exit 3".to_owned()));
        assert_eq!(answer("kill -9 $$", LONG), Answer::Refused("ended by signal 9".to_owned()));
        assert_eq!(answer("/no/such/program", LONG), Answer::Pause("exit 127: cannot be run".to_owned()));
    }

    #[test]
    fn one_that_does_not_end_is_ended_with_its_children() {
        let dir = tempfile::tempdir().expect("a folder");
        let alive = dir.path().join("pid");
        let command = format!("sleep 600 & echo $! > {}; wait", alive.display());
        assert_eq!(answer(&command, Duration::from_secs(2)), Answer::Refused("it did not end within 2 s".to_owned()));
        let pid: i32 = std::fs::read_to_string(&alive).expect("a pid").trim().parse().expect("a pid");
        let mut gone = false;
        for _ in 0..1000 {
            gone = rustix::process::test_kill_process(Pid::from_raw(pid).expect("a pid")).is_err();
            if gone {
                break;
            }
            std::thread::yield_now();
        }
        // Where nobody reaps orphans it stays as a zombie, which is as good.
        let zombie = std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z "));
        assert!(gone || zombie);
    }
}
