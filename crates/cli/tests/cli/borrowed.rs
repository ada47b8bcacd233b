//! Hooks that one agent finds in the config of another: whose call it is, that it is told once, and what is answered.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sessionpipe::registry::HARNESSES;

use crate::environment::TestEnvironment;

const ALLOW: &str = r#"{"permission":"allow"}"#;
const CONTINUE: &str = r#"{"continue":true}"#;

/// What Cursor sends, as it was recorded on cursor-agent 2026.09.26.
fn payload(event: &str, more: &Value) -> Value {
    let mut payload = json!({"conversation_id": "c-1", "generation_id": "g-1", "model": "default", "session_id": "c-1",
        "hook_event_name": event, "cursor_version": "2026.09.26-dd393fe", "workspace_roots": ["/srv/projects"],
        "user_email": "dev@example.com", "transcript_path": null});
    for (name, value) in more.as_object().expect("members") {
        payload[name] = value.clone();
    }
    payload
}

/// A turn: Cursor's name of each event, that of the settings which it borrows, the payload, and what Cursor must read.
fn turn() -> Vec<(&'static str, &'static str, Value, &'static str)> {
    let call = json!({"tool_name": "Shell", "tool_input": {"command": "ls"}, "tool_use_id": "call-1\nfc_1"});
    let mut done = call.clone();
    done["tool_output"] = json!(r#"{"output":"a\n","exitCode":0}"#);
    done["duration"] = json!(12.5);
    vec![
        ("sessionStart", "SessionStart", json!({"generation_id": "c-1"}), "{}"),
        ("beforeSubmitPrompt", "UserPromptSubmit", json!({"prompt": "list the files"}), CONTINUE),
        ("preToolUse", "PreToolUse", call, ALLOW),
        ("postToolUse", "PostToolUse", done, "{}"),
        ("stop", "Stop", json!({"status": "completed"}), "{}"),
        ("sessionEnd", "SessionEnd", json!({"generation_id": "c-1", "reason": "completed"}), "{}"),
    ]
}

/// The command of ours for an event in a config, grouped or flat.
fn command(config: &Value, event: &str) -> Option<String> {
    let entries = config["hooks"][event].as_array()?;
    let handlers =
        entries.iter().flat_map(|entry| entry["hooks"].as_array().map_or(std::slice::from_ref(entry), Vec::as_slice));
    handlers.filter_map(|h| h["command"].as_str()).find(|c| c.contains("sessionpipe-hook")).map(str::to_owned)
}

fn read(environment: &TestEnvironment, config: &str) -> Value {
    serde_json::from_str(&environment.read(config)).expect("JSON")
}

/// What became of it: each event's harness, and its type with what tells one call from another.
fn told(environment: &TestEnvironment) -> Vec<(String, String)> {
    environment.expect(0, &["flush"]);
    let said = environment.expect(0, &["tail", "--json", "--tier", "3"]);
    let line = |line: &str| {
        let event: Value = serde_json::from_str(line).expect("JSON");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let derived = if event["data"]["derived"] == true { " (derived)" } else { "" };
        let id = text(&event["data"]["turn_id"]);
        (text(&event["harness"]["name"]), format!("{} {id}{derived}", text(&event["type"])))
    };
    said.stdout.lines().map(line).collect()
}

fn all_cursors(types: &[&str]) -> Vec<(String, String)> {
    types.iter().map(|kind| ("cursor".to_owned(), (*kind).to_owned())).collect()
}

#[test]
fn a_copy_of_what_cursors_own_hooks_say_is_dropped_and_answered() {
    let environment = TestEnvironment::with_agents();
    environment.write(".cursor/hooks.json", "{\"version\": 1}\n");
    environment.expect(0, &["install", "--yes"]);
    let (own, lent) = (read(&environment, ".cursor/hooks.json"), read(&environment, ".claude/settings.json"));
    for (event, borrowed, more, reply) in turn() {
        let payload = payload(event, &more).to_string();
        let commands = [command(&lent, borrowed).expect("wired there"), command(&own, event).unwrap_or_default()];
        assert_eq!(commands[1].is_empty(), event == "preToolUse", "no gate of its own");
        for command in commands.iter().filter(|command| !command.is_empty()) {
            let said = environment.hook(command, &payload);
            assert_eq!((said.code, said.stdout.as_str(), said.stderr.as_str()), (0, reply, ""), "{command}");
        }
    }
    let types = [
        "session.started ",
        "turn.started g-1",
        "tool.started g-1 (derived)",
        "tool.ended g-1",
        "turn.ended g-1",
        "session.ended ",
    ];
    assert_eq!(told(&environment), all_cursors(&types));
}

#[test]
fn where_cursor_is_not_wired_what_it_borrows_is_told_as_cursors() {
    let environment = TestEnvironment::with_agents();
    environment.expect(0, &["install", "--yes"]);
    let lent = read(&environment, ".claude/settings.json");
    for (event, borrowed, more, reply) in turn() {
        let command = command(&lent, borrowed).expect("wired there");
        let said = environment.hook(&command, &payload(event, &more).to_string());
        assert_eq!((said.code, said.stdout.as_str(), said.stderr.as_str()), (0, reply, ""), "{command}");
    }
    let types = [
        "session.started ",
        "turn.started g-1",
        "tool.started g-1",
        "tool.ended g-1",
        "turn.ended g-1",
        "session.ended ",
    ];
    assert_eq!(told(&environment), all_cursors(&types));
}

#[test]
fn a_payload_with_cursors_version_is_cursors_whatever_the_command_says() {
    let environment = TestEnvironment::new();
    let hook = environment.home().join(".cargo/bin/sessionpipe-hook");
    let stdin = payload("stop", &json!({"status": "completed"})).to_string();
    assert!(HARNESSES.len() > 1);
    for harness in HARNESSES {
        let event = harness.wired(None).next().expect("an event").name;
        let said = environment.hook(&format!("'{}' {} {event}", hook.display(), harness.name), &stdin);
        assert_eq!((said.code, said.stdout.as_str()), (0, "{}"), "{}", harness.name);
    }
    // The same stop, each time: told once.
    assert_eq!(told(&environment), all_cursors(&["session.started  (derived)", "turn.ended g-1"]));
}

#[test]
fn claude_code_in_cursors_terminal_stays_claude_code() {
    let environment = TestEnvironment::with_agents();
    environment.write(".cursor/hooks.json", "{\"version\": 1}\n");
    environment.expect(0, &["install", "--yes"]);
    let command = command(&read(&environment, ".claude/settings.json"), "Stop").expect("wired");
    let stdin = json!({"session_id": "11111111-1111-4111-8111-111111111111", "cwd": "/w", "hook_event_name": "Stop"});
    let env = [("CURSOR_TRACE_ID", "abc"), ("TERM_PROGRAM", "vscode")].map(|(n, v)| (n.to_owned(), v.to_owned()));
    let said = environment.hook_with(&command, stdin.to_string().as_bytes(), &BTreeMap::from(env), None);
    assert_eq!((said.code, said.stdout.as_str()), (0, ""));
    let claude = |kind: &str| ("claude-code".to_owned(), kind.to_owned());
    assert_eq!(told(&environment), [claude("session.started  (derived)"), claude("turn.ended ")]);
}

/// What Cursor must read for each event that it waits for. Observers that printed nothing have blocked every tool.
const REPLIES: [(&str, &str); 10] = [
    ("preToolUse", ALLOW),
    ("beforeShellExecution", ALLOW),
    ("beforeMCPExecution", ALLOW),
    ("beforeReadFile", ALLOW),
    ("subagentStart", ALLOW),
    ("beforeSubmitPrompt", CONTINUE),
    ("sessionStart", "{}"),
    ("postToolUse", "{}"),
    ("stop", "{}"),
    ("sessionEnd", "{}"),
];

#[test]
fn cursor_is_answered_whatever_arrives() {
    let environment = TestEnvironment::new();
    let hook = environment.home().join(".cargo/bin/sessionpipe-hook").display().to_string();
    for (event, reply) in REPLIES {
        let whole = payload(event, &json!({})).to_string();
        for stdin in [whole.as_bytes(), b"", b"\xff\0rubbish{", b"n++{}", &whole.as_bytes()[..40]] {
            let said = environment.hook_with(&format!("'{hook}' cursor {event}"), stdin, &BTreeMap::new(), None);
            let stdin = String::from_utf8_lossy(stdin);
            assert_eq!((said.code, said.stdout.as_str(), said.stderr.as_str()), (0, reply, ""), "{event}: {stdin}");
        }
        // Of a gate that has no name in the settings that Cursor borrows, the payload tells.
        let said = environment.hook(&format!("'{hook}' claude-code PreToolUse"), &whole);
        assert_eq!((said.code, said.stdout.as_str()), (0, reply), "{event}");
    }
}
