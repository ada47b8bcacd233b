//! What the hook is called with, and what it carries along.

use std::collections::BTreeMap;

use sessionpipe::registry::HARNESSES;
use sessionpipe_core::job::FORMAT;
use sessionpipe_pipeline::hook::WORKER_VAR;
use sessionpipe_pipeline::process;
use sessionpipe_pipeline::spool::Spool;
use sessionpipe_pipeline::wake::Listener;

use crate::lab::{Lab, PAYLOAD, feed, silent};

#[test]
fn the_header_holds_what_only_the_hook_knows() {
    let lab = Lab::new();
    let mut command = lab.hook();
    let row = HARNESSES.iter().find(|row| row.name == "claude-code").expect("it is built in");
    let allowed = row.env.first().expect("it has an allowlist");
    command.env(allowed, "told").env("API_KEY", "secret");
    silent(&feed(command, PAYLOAD));
    let (header, payload) = lab.job();
    assert_eq!((header.v, header.harness.as_str(), header.event.as_str()), (FORMAT, "claude-code", "Stop"));
    let work = lab.path("work").canonicalize().expect("it is there");
    assert_eq!(header.cwd.as_deref(), work.to_str());
    let parent = header.parents.first().expect("we started it");
    assert_eq!(parent.pid, std::process::id());
    assert!(process::alive(parent));
    assert_eq!(header.env, BTreeMap::from([((*allowed).to_owned(), "told".to_owned())]), "and nothing else");
    assert_eq!(payload, PAYLOAD);
}

#[test]
fn any_arguments_exit_0_in_silence() {
    for args in [&[][..], &["--help"], &["-h"], &["--version"], &[""], &["claude-code"], &["nobody", "Nothing"]] {
        let lab = Lab::new();
        silent(&feed(lab.clean(lab.program(), args), PAYLOAD));
    }
}

#[test]
fn an_argument_is_the_payload_and_stdin_is_left_alone() {
    let lab = Lab::new();
    // Nearly as long as Linux lets an argument be.
    let payload = format!(r#"{{"type":"agent-turn-complete","input-messages":["{}"]}}"#, "x".repeat(130_000));
    let mut child = lab.clean(lab.program(), ["codex", "notify", &payload]).spawn().expect("it starts");
    // It would wait for the deadline, and take this for the payload.
    let stdin = child.stdin.take();
    let output = crate::lab::finish(child);
    drop(stdin);
    silent(&output);
    let (header, kept) = lab.job();
    assert_eq!((header.harness.as_str(), header.event.as_str()), ("codex", "notify"));
    assert!(kept == payload.as_bytes());
}

/// One more payload of a program that runs the hooks found in Claude Code's settings, and takes silence for a no.
const CURSOR: &[u8] = br#"{"cursor_version":"3.1","hook_event_name":"beforeShellExecution","command":"ls"}"#;

#[test]
fn the_real_caller_gets_its_reply() {
    let lab = Lab::new();
    let output = feed(lab.clean(lab.program(), ["claude-code", "PreToolUse"]), CURSOR);
    assert_eq!(String::from_utf8_lossy(&output.stdout), r#"{"permission":"allow"}"#);
    assert_eq!(lab.job().1, CURSOR);
}

/// Cursor's gates, the event that Claude Code's settings name for each, and what it must read.
const GATES: [(&str, &str, &str); 5] = [
    ("preToolUse", "PreToolUse", r#"{"permission":"allow"}"#),
    ("subagentStart", "SubagentStart", r#"{"permission":"allow"}"#),
    ("beforeSubmitPrompt", "UserPromptSubmit", r#"{"continue":true}"#),
    ("postToolUse", "PostToolUse", "{}"),
    ("stop", "Stop", "{}"),
];

#[test]
fn a_gate_is_answered_whatever_arrives() {
    let lab = Lab::new();
    for (own, event, reply) in GATES {
        let whole = format!(r#"{{"cursor_version":"3.1","hook_event_name":"{own}"}}"#);
        for payload in [whole.as_bytes(), b"", b"\xff\0rubbish{", &whole.as_bytes()[..24]] {
            let mut command = lab.clean(lab.program(), ["claude-code", event]);
            command.env("CURSOR_VERSION", "3.1");
            let output = feed(command, payload);
            let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
            let said = (output.status.code(), text(&output.stdout), text(&output.stderr));
            assert_eq!(said, (Some(0), reply.to_owned(), String::new()), "{own}: {}", text(payload));
        }
    }
}

#[test]
fn what_our_own_processes_cause_is_dropped_but_answered() {
    let lab = Lab::new();
    let mut command = lab.clean(lab.program(), ["claude-code", "PreToolUse"]);
    command.env(WORKER_VAR, "1");
    let output = feed(command, CURSOR);
    assert_eq!(String::from_utf8_lossy(&output.stdout), r#"{"permission":"allow"}"#);
    assert_eq!(output.status.code(), Some(0));
    assert!(!lab.path("home/.local").exists());
}

#[test]
fn the_whole_program_has_the_same_hook() {
    let lab = Lab::new();
    let program = env!("CARGO_BIN_EXE_sessionpipe");
    // As a worker that listens: it would start itself as one.
    drop(Spool::open(&lab.dirs()).expect("folders"));
    let listener = Listener::open(&lab.dirs()).expect("a FIFO");
    silent(&feed(lab.clean(program, ["hook", "claude-code", "Stop"]), PAYLOAD));
    assert!(listener.wait(crate::lab::GENEROUS).expect("waits"));
    let (header, payload) = lab.job();
    assert_eq!((header.harness.as_str(), header.event.as_str(), payload.as_slice()), ("claude-code", "Stop", PAYLOAD));
    for args in [&["hook"][..], &["hook", "--help"], &["hook", "-V"]] {
        silent(&feed(lab.clean(program, args), PAYLOAD));
    }
    assert_eq!(lab.jobs().len(), 1);
}
