use std::collections::BTreeMap;

use serde_json::json;
use sessionpipe_core::job::Header;
use sessionpipe_core::payload::parse;
use sessionpipe_core::seen::{CompactTrigger, EndReason, PromptBy, StartSource, ToolResult};

use super::*;

const SESSION: &str = "05e4b7ad-080f-4ba1-a613-60920bf6c6b5";

fn hook(event: &str, payload: Payload) -> Hook {
    let header = Header { at_ms: 1_796_026_874_344, harness: "droid".into(), event: event.into(), ..Header::default() };
    Hook { header, caller: "droid".into(), payload }
}

/// What comes of an event with these members beside the common ones.
fn seen(event: &str, members: Value) -> Vec<Seen> {
    mapped(event, members).seen
}

fn mapped(event: &str, members: Value) -> Mapped {
    let (Value::Object(mut payload), Value::Object(members)) = (
        json!({"session_id": SESSION, "cwd": "/home/dev/proj", "permission_mode": "off", "hook_event_name": event}),
        members,
    ) else {
        panic!("no object")
    };
    payload.extend(members);
    let payload = Value::Object(payload).to_string();
    map(&hook(event, parse(payload.as_bytes()).expect("a payload"))).expect("mapped")
}

fn allowed() -> Seen {
    Seen::Answered { kind: Some(AttentionKind::Permission), id: None, how: Cleared::Answered }
}

fn working() -> Seen {
    Seen::Working { turn: None }
}

fn need(kind: AttentionKind, message: &str) -> Need {
    Need { kind, id: None, turn: None, tool: None, input: None, message: Some(message.to_owned()), reminder: false }
}

fn call(tool: &str, input: Value) -> ToolCall {
    ToolCall { tool: tool.to_owned(), input: Some(input), ..ToolCall::default() }
}

fn ended(tool: &str, input: &Value) -> Vec<Seen> {
    seen("PostToolUse", json!({"tool_name": tool, "tool_input": input, "tool_response": "done"}))
}

#[test]
fn the_session_block_is_filled_from_any_event() {
    let mapped =
        mapped("SessionStart", json!({"source": "startup", "calling_session_id": "parent", "CLAUDE_ENV_FILE": "/x"}));
    assert_eq!(
        mapped,
        Mapped {
            session: Some(SESSION.to_owned()),
            parent: Some("parent".to_owned()),
            cwd: Some("/home/dev/proj".to_owned()),
            event: "SessionStart".to_owned(),
            seen: vec![Seen::SessionStart { source: StartSource::Startup }],
            ..Mapped::default()
        }
    );
}

#[test]
fn the_message_of_a_prompt_is_the_turn_and_no_other_is() {
    assert_eq!(
        seen("UserPromptSubmit", json!({"message_id": "m1", "prompt": "Bad [[é]]", "has_images": false})),
        [Seen::Prompt { turn: Some("m1".to_owned()), chars: Some(9), by: PromptBy::Person }]
    );
    for (members, kind) in [
        (json!({"message_id": "m2", "stop_hook_active": false, "elapsed_time": 0}), StopKind::First),
        (json!({"message_id": "m3"}), StopKind::Final),
        (json!({"message_id": "m4", "stop_hook_active": true}), StopKind::Final),
    ] {
        assert_eq!(seen("Stop", members), [Seen::Stop { turn: None, kind }]);
    }
}

#[test]
fn a_call_proves_a_turn_and_that_what_waited_was_allowed() {
    let input = json!({"command": "ls"});
    let start = seen("PreToolUse", json!({"tool_name": "Execute", "tool_input": input, "message_id": "m"}));
    assert_eq!(start, [allowed(), working(), Seen::ToolStart(call("Execute", input.clone()))]);
    let result = ToolResult { ok: true, output: Some("done".into()), ..ToolResult::default() };
    assert_eq!(ended("Execute", &input), [Seen::ToolEnd { call: call("Execute", input), result }]);
}

#[test]
fn a_tool_of_an_mcp_server_names_it() {
    for (tool, server) in [("lab___echo", Some("lab")), ("___echo", None), ("my_echo__two", None)] {
        let seen = seen("PreToolUse", json!({"tool_name": tool, "tool_input": {}}));
        let Some(Seen::ToolStart(call)) = seen.get(2) else { panic!("{seen:?}") };
        assert_eq!((call.tool.as_str(), call.mcp_server.as_deref()), (tool, server));
    }
}

#[test]
fn files_change_where_a_tool_that_writes_worked() {
    let patch = "*** Begin Patch\n*** Update File: a.rs\n*** Move to: b.rs\n@@\n-*** Add File: no\n*** Delete File: c d\n*** End Patch";
    for (tool, input, paths) in [
        ("Create", json!({"file_path": "/p/a", "content": ""}), &["/p/a"][..]),
        ("Edit", json!({"file_path": "a", "old_str": "1", "new_str": "2"}), &["a"]),
        ("ApplyPatch", json!({"input": patch}), &["a.rs", "b.rs", "c d"]),
        ("Read", json!({"file_path": "/p/a"}), &[]),
        ("Execute", json!({"input": patch}), &[]),
        ("Create", json!({}), &[]),
    ] {
        let changed = match ended(tool, &input).pop() {
            Some(Seen::FilesChanged { paths }) => paths,
            _ => Vec::new(),
        };
        assert_eq!(changed, paths, "{tool} {input}");
    }
    let start = seen("PreToolUse", json!({"tool_name": "Create", "tool_input": {"file_path": "/p/a"}}));
    assert_eq!(start.len(), 3, "nothing is written yet");
}

#[test]
fn notifications_ask_or_tell_of_an_interrupt() {
    let of = |kind: &str, message: &str| {
        seen("Notification", json!({"notification_type": kind, "message": message, "message_id": "m1"}))
    };
    let text = "Factory CLI needs permission to execute 1 tool(s)";
    assert_eq!(of("permission_prompt", text), [Seen::NeedsYou(need(AttentionKind::Permission, text))]);
    let text = "Factory CLI is asking the user 1 question(s)";
    let question = Need {
        id: Some("notif-1796026874344".to_owned()),
        tool: Some("AskUser".to_owned()),
        ..need(AttentionKind::Question, text)
    };
    assert_eq!(of("elicitation_dialog", text), [Seen::NeedsYou(question)]);
    let text = "Agent stopped by user and is waiting for input";
    let idle = |text| Seen::NeedsYou(need(AttentionKind::Idle, text));
    assert_eq!(of("idle_prompt", text), [Seen::Aborted { turn: Some("m1".to_owned()) }, idle(text)]);
    assert_eq!(of("idle_prompt", "Waiting"), [idle("Waiting")], "nobody says that it was stopped");
    assert_eq!(of("auth_success", "?"), [Seen::Activity]);
}

#[test]
fn of_a_subagent_only_the_end_is_told() {
    let ran = Seen::SubagentRan { agent: "task-1796026874344".to_owned() };
    let members = json!({"task_name": "Lab subtask", "task_result": "ok", "stop_hook_active": false});
    assert_eq!(seen("SubagentStop", members), [ran]);
    let task = json!({"subagent_type": "worker", "description": "Lab subtask"});
    let start = seen("PreToolUse", json!({"tool_name": "Task", "tool_input": task}));
    assert_eq!(start.len(), 3, "it may be denied, or fail to start");
}

#[test]
fn a_compaction_has_no_hook_but_the_one_before_it() {
    for (trigger, expected) in [("auto", CompactTrigger::Auto), ("manual", CompactTrigger::Manual)] {
        assert_eq!(
            seen("PreCompact", json!({"trigger": trigger, "message_count": 17})),
            [Seen::CompactStart { trigger: expected }, Seen::Compacted { trigger: Some(expected) }]
        );
    }
}

#[test]
fn the_end_of_a_session_holds_whoever_says_it() {
    let mapped =
        mapped("SessionEnd", json!({"reason": "prompt_input_exit", "session_duration_ms": 846.4, "message_count": 9}));
    assert_eq!(mapped.seen, [Seen::SessionEnd { reason: EndReason::Exit }]);
    assert!(mapped.anywhere);
}

#[test]
fn what_was_cut_is_in_the_environment() {
    let mut hook = hook("SessionEnd", Payload { partial: true, ..Payload::default() });
    let vars = [("session_id", SESSION), ("cwd", "/home/dev/proj"), ("reason", "clear")];
    hook.header.env = vars.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let mapped = map(&hook).expect("mapped");
    assert_eq!((mapped.session.as_deref(), mapped.cwd.as_deref()), (Some(SESSION), Some("/home/dev/proj")));
    assert_eq!(mapped.seen, [Seen::SessionEnd { reason: EndReason::Clear }]);
    assert!(mapped.partial);
    // A whole payload speaks for itself: another Droid may have started this one.
    hook.payload = parse(br#"{"hook_event_name":"SessionEnd","cwd":"/p"}"#).expect("a payload");
    let mapped = map(&hook).expect("mapped");
    assert_eq!((mapped.session, mapped.cwd.as_deref()), (None, Some("/p")));
    hook.header.env = BTreeMap::new();
    hook.payload = Payload::default();
    assert!(map(&hook).is_err(), "neither a session nor a folder");
}
