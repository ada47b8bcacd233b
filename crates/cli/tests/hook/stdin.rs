//! Harnesses that keep the pipe open, send half of a value, or nothing at all.

use std::fs::File;
use std::io::Write;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use sessionpipe_core::payload::parse;
use sessionpipe_pipeline::hook::{DEADLINE, PAYLOAD_CAP};
use sessionpipe_pipeline::losses::Reason;

use crate::lab::{Lab, PAYLOAD, feed, finish, silent};

/// Writes into a pipe that stays open until the hook has exited.
fn keep_open(lab: &Lab, payload: &[u8]) -> (Output, Duration) {
    let start = Instant::now();
    let mut child = lab.hook().spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(payload).expect("the hook reads");
    let output = finish(child);
    let took = start.elapsed();
    drop(stdin);
    (output, took)
}

/// The quickest of some runs: a busy machine may delay one, not all.
fn quickest(run: impl Fn() -> Duration) -> Duration {
    (0..5).map(|_| run()).find(|took| *took < DEADLINE).unwrap_or(DEADLINE)
}

#[test]
fn a_whole_value_is_the_end_although_the_pipe_stays_open() {
    for payload in [PAYLOAD, b"\xef\xbb\xbf  {\"session_id\":\"s1\"}"] {
        let took = quickest(|| {
            let lab = Lab::new();
            let (output, took) = keep_open(&lab, payload);
            silent(&output);
            assert_eq!(lab.job().1, payload);
            took
        });
        assert!(took < DEADLINE, "it waited for the end of the pipe");
    }
}

#[test]
fn what_follows_the_first_value_is_left_out() {
    let lab = Lab::new();
    silent(&keep_open(&lab, br#"{"session_id":"s1"}{"session_id":"s2"}"#).0);
    assert_eq!(lab.job().1, br#"{"session_id":"s1"}"#);
}

#[test]
fn a_silent_pipe_is_left_at_the_deadline() {
    let lab = Lab::new();
    let (output, took) = keep_open(&lab, b"");
    silent(&output);
    assert!(took >= DEADLINE);
    let (header, payload) = lab.job();
    assert_eq!((header.harness.as_str(), header.event.as_str()), ("claude-code", "Stop"));
    assert_eq!(payload, b"");
}

#[test]
fn half_a_value_makes_a_partial_job_at_the_deadline() {
    let lab = Lab::new();
    let (output, took) = keep_open(&lab, br#"{"session_id":"s1","prompt":"half of"#);
    silent(&output);
    assert!(took >= DEADLINE);
    let payload = parse(&lab.job().1).expect("readable");
    assert!(payload.partial);
    assert_eq!(payload.text(&["session_id"]), Some("s1"));
}

#[test]
fn a_value_in_small_pieces() {
    let lab = Lab::new();
    let mut child = lab.hook().spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    for piece in PAYLOAD.chunks(7) {
        stdin.write_all(piece).expect("the hook reads");
        stdin.flush().expect("a pipe holds nothing back");
    }
    silent(&finish(child));
    assert_eq!(lab.job().1, PAYLOAD);
}

#[test]
fn dev_null_and_terminals_are_not_waited_for() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo terminal");
    grantpt(&terminal).expect("granted");
    unlockpt(&terminal).expect("unlocked");
    let name = ptsname(&terminal, Vec::new()).expect("its name").into_string().expect("UTF-8");
    for path in ["/dev/null", name.as_str()] {
        let took = quickest(|| {
            let lab = Lab::new();
            let start = Instant::now();
            let stdin = File::options().read(true).write(true).open(path).expect("it opens");
            silent(&finish(lab.hook().stdin(stdin).spawn().expect("it starts")));
            assert_eq!(lab.job().1, b"");
            start.elapsed()
        });
        assert!(took < DEADLINE, "{path} was waited for");
    }
}

#[test]
fn a_file_a_folder_and_nothing_as_stdin() {
    let lab = Lab::new();
    std::fs::write(lab.path("payload"), PAYLOAD).expect("a file");
    let stdin = File::open(lab.path("payload")).expect("it opens");
    silent(&finish(lab.hook().stdin(stdin).spawn().expect("it starts")));
    let stdin = File::open(lab.path("work")).expect("it opens");
    silent(&finish(lab.hook().stdin(stdin).spawn().expect("it starts")));
    silent(&feed(lab.shell(r#"exec "$HOOK" claude-code Stop <&-"#), b""));
    let payloads: Vec<_> = lab.jobs().into_iter().map(|(_, payload)| payload).collect();
    assert_eq!(payloads, [PAYLOAD.to_vec(), Vec::new(), Vec::new()]);
}

#[test]
fn a_big_payload_is_kept_whole() {
    let lab = Lab::new();
    let text = "0123456789abcde\\n".repeat(200_000);
    let payload = format!(r#"{{"session_id":"s1","tool_response":"{text}"}}"#);
    silent(&feed(lab.hook(), payload.as_bytes()));
    assert!(lab.job().1 == payload.as_bytes());
    assert_eq!(lab.lost(), []);
}

#[test]
fn a_payload_above_the_cap_is_cut_and_counted() {
    let lab = Lab::new();
    let mut payload = br#"{"session_id":"s1","tool_response":""#.to_vec();
    payload.resize(PAYLOAD_CAP + 100, b'x');
    let output = feed(lab.hook(), &payload);
    silent(&output);
    let kept = lab.job().1;
    // On a machine that moves less than 64 MiB in a second the deadline cuts first, and that is no loss by the cap.
    if kept.len() == PAYLOAD_CAP {
        assert_eq!(lab.lost(), [(Reason::TooLarge, 1)]);
    }
    assert!(!kept.is_empty() && payload.starts_with(&kept));
}

#[test]
fn nobody_reads_the_reply() {
    let lab = Lab::new();
    let mut command = lab.shell(r#""$HOOK" claude-code PreToolUse >&-; echo $? >&2"#);
    command.stdout(Stdio::null());
    let output = feed(command, br#"{"cursor_version":"3","hook_event_name":"beforeShellExecution"}"#);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "0\n");
    assert_eq!(lab.jobs().len(), 1);
}
