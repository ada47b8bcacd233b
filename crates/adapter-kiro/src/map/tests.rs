//! Payloads as they are documented, measured or reported; each says which. Values were made up but for the shapes.

use serde_json::json;
use sessionpipe_core::job::Header;
use sessionpipe_core::payload;
use sessionpipe_core::seen::{PromptBy, StartSource, StopKind, ToolResult};

use super::*;

fn hook(event: &str, payload: &str) -> Hook {
    Hook {
        header: Header {
            event: event.to_owned(),
            harness: "kiro".to_owned(),
            cwd: Some("/elsewhere".into()),
            ..Header::default()
        },
        caller: "kiro".to_owned(),
        payload: payload::parse(payload.as_bytes())
            .unwrap_or_else(|_| payload::Payload { partial: true, ..payload::Payload::default() }),
    }
}

/// Maps a payload as the hook of the event that it names.
fn mapped(payload: &str) -> Mapped {
    let named = hook("", payload);
    let event = named.payload.text(FIELDS.event).expect("an event").to_owned();
    map(&hook(&event, payload)).expect("mapped")
}

fn seen(payload: &str) -> Vec<Seen> {
    mapped(payload).seen
}

/// What a tool's end says: whether it worked, and what went wrong.
fn outcome(event: &str, tool: &str, response: &Value) -> (bool, Option<String>) {
    let payload = json!({"hook_event_name": event, "cwd": "/p", "session_id": "s", "tool_name": tool,
        "tool_input": {}, "tool_response": response});
    match seen(&payload.to_string()).swap_remove(0) {
        Seen::ToolEnd { result, .. } => (result.ok, result.error),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_session_of_the_cli() {
    // kiro-cli 2.x, TUI (measured)
    let start = mapped(
        r#"{"hook_event_name":"agentSpawn","cwd":"/srv/projects","session_id":"e36d6e16-bf0a-4982-91e1-68e63be0fa60"}"#,
    );
    assert_eq!(
        start,
        Mapped {
            session: Some("e36d6e16-bf0a-4982-91e1-68e63be0fa60".into()),
            cwd: Some("/srv/projects".into()),
            event: "agentSpawn".into(),
            seen: vec![Seen::SessionStart { source: StartSource::Unknown }],
            ..Mapped::default()
        }
    );
    let prompt = r#"{"hook_event_name":"userPromptSubmit","cwd":"/srv/projects","session_id":"e36d6e16-bf0a-4982-91e1-68e63be0fa60","prompt":"Run echo hello"}"#;
    assert_eq!(seen(prompt), [Seen::Prompt { turn: None, chars: Some(14), by: PromptBy::Person }]);
    let stop = r#"{"hook_event_name":"stop","cwd":"/srv/projects","session_id":"e36d6e16-bf0a-4982-91e1-68e63be0fa60","assistant_response":"done"}"#;
    assert_eq!(seen(stop), [Seen::Stop { turn: None, kind: StopKind::Final }]);
}

#[test]
fn without_an_id_the_folder_and_the_process_tell() {
    // kiro-cli 2.x, --classic (measured)
    let prompt = mapped(r#"{"hook_event_name":"userPromptSubmit","cwd":"/srv/projects","prompt":"Run echo hello"}"#);
    assert_eq!((prompt.session, prompt.cwd.as_deref()), (None, Some("/srv/projects")));
    // --no-interactive (measured): the start carries the prompt; the turn has its own hook
    let start = mapped(r#"{"hook_event_name":"agentSpawn","cwd":"/srv/projects","prompt":"Run echo hello"}"#);
    assert_eq!(start.seen, [Seen::SessionStart { source: StartSource::Unknown }]);
    // nothing at all arrives: the command line and the working folder tell
    let stop = map(&hook("stop", "")).expect("mapped");
    assert_eq!((stop.session, stop.cwd.as_deref(), stop.partial), (None, Some("/elsewhere"), true));
    assert_eq!(stop.seen, [Seen::Stop { turn: None, kind: StopKind::Final }]);
}

#[test]
fn an_empty_prompt_has_no_length() {
    // the IDE 1.0.138, --v3 (reported)
    let prompt = r#"{"session_id":"sess_0f0f0f0f-1111-4222-8333-444444444444","hook_event_name":"UserPromptSubmit","cwd":"/srv/projects","prompt":""}"#;
    assert_eq!(seen(prompt), [Seen::Prompt { turn: None, chars: None, by: PromptBy::Person }]);
}

#[test]
fn what_an_agents_hook_says_in_the_new_engine_the_hook_file_has_said() {
    let stop = |id: &str, argv: &str| {
        let payload = json!({"session_id": id, "hook_event_name": "Stop", "cwd": "/p"});
        map(&hook(argv, &payload.to_string())).expect("mapped").seen.len()
    };
    assert_eq!(stop("sess_0f0f0f0f-1111-4222-8333-444444444444", "stop"), 0);
    assert_eq!(stop("sess_0f0f0f0f-1111-4222-8333-444444444444", "Stop"), 1);
    assert_eq!(stop("e36d6e16-bf0a-4982-91e1-68e63be0fa60", "stop"), 1);
}

#[test]
fn a_tool_of_the_cli() {
    // documented, of the open ancestor
    let start = r#"{"hook_event_name":"preToolUse","cwd":"/p","session_id":"s","tool_name":"fs_read","tool_input":{"operations":[{"mode":"Line","path":"/p/docs/hooks.md"}]}}"#;
    let call = ToolCall {
        tool: "fs_read".into(),
        input: Some(json!({"operations": [{"mode": "Line", "path": "/p/docs/hooks.md"}]})),
        ..ToolCall::default()
    };
    assert_eq!(seen(start), [Seen::ToolStart(call.clone())]);
    let end = r##"{"hook_event_name":"postToolUse","cwd":"/p","session_id":"s","tool_name":"fs_read","tool_input":{"operations":[{"mode":"Line","path":"/p/docs/hooks.md"}]},"tool_response":{"success":true,"result":["# Hooks"]}}"##;
    let output = json!({"success": true, "result": ["# Hooks"]});
    let result = ToolResult { ok: true, output: Some(output), ..ToolResult::default() };
    assert_eq!(seen(end), [Seen::ToolEnd { call, result }]);
}

#[test]
fn failures_of_tools() {
    let failed = |text: &str| (false, Some(text.to_owned()));
    let worked = (true, None);
    // documented shape, without success
    let refused = json!({"success": false, "result": ["Error: no such file", "a.txt"]});
    assert_eq!(outcome("postToolUse", "fs_read", &refused), failed("Error: no such file\na.txt"));
    assert_eq!(outcome("postToolUse", "fs_read", &json!({"success": false})), failed(""));
    // the shape that session files of kiro-cli 2.x hold (recorded by others)
    let command = |status: &str, stdout: &str, stderr: &str| {
        let result = json!({"exit_status": status, "stdout": stdout, "stderr": stderr});
        outcome("postToolUse", "shell", &json!({"success": true, "result": [result]}))
    };
    assert_eq!(command("exit status: 0", "hello\n", "a warning"), worked);
    assert_eq!(command("0", "hello\n", ""), worked);
    assert_eq!(command("exit status: 10", "", "boom\n"), failed("boom"));
    assert_eq!(command("1", "1 test failed\n", ""), failed("1 test failed"));
    assert_eq!(command("signal: 9 (SIGKILL)", "", ""), failed("signal: 9 (SIGKILL)"));
    // the IDE 1.0 (measured)
    assert_eq!(outcome("PostToolUse", "execute_bash", &json!("Output:\nhello\n\nExit Code: 0")), worked);
    assert_eq!(outcome("PostToolUse", "execute_bash", &json!("Output:\nboom\n\nExit Code: 3")), failed("boom"));
    assert_eq!(outcome("PostToolUse", "execute_bash", &json!("Output:\nExit Code: x")), worked);
    assert_eq!(outcome("PostToolUse", "read_file", &json!("a log:\nExit Code: 3")), worked, "the text of a file");
}

#[test]
fn the_server_of_an_mcp_tool() {
    let server = |tool: &str| {
        let payload = json!({"hook_event_name": "preToolUse", "cwd": "/p", "session_id": "s", "tool_name": tool});
        match seen(&payload.to_string()).swap_remove(0) {
            Seen::ToolStart(call) => call.mcp_server,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(server("@postgres/query"), Some("postgres".into()));
    assert_eq!(server("mcp_my_server_my_tool"), None, "it does not say where the server's name ends");
    assert_eq!(server("shell"), None);
}

#[test]
fn files_change_by_file_events_or_by_an_agents_tool() {
    let changed = |seen: Vec<Seen>| -> Vec<Vec<String>> {
        let paths = |seen| if let Seen::FilesChanged { paths } = seen { Some(paths) } else { None };
        seen.into_iter().filter_map(paths).collect()
    };
    // the IDE 1.0 (measured)
    for event in ["PostFileCreate", "PostFileSave", "PostFileDelete"] {
        let file = json!({"session_id": "sess_7f667c0b-9489-4c80-a145-ae757dbac8a6", "hook_event_name": event,
            "cwd": "/p", "file_path": "/p/models.py"});
        assert_eq!(changed(seen(&file.to_string())), [["/p/models.py"]]);
        // it may fire a second time, with nothing on stdin (reported)
        assert_eq!(map(&hook(event, "")).expect("mapped").seen, [], "{event}");
    }
    let outside = r#"{"hook_event_name":"PostFileSave","cwd":"/p","file_path":"/p/a"}"#;
    assert_eq!(seen(outside), [], "the person's own");

    let write = |event: &str, tool: &str, success: bool| {
        let payload = json!({"session_id": "s", "hook_event_name": event, "cwd": "/p", "tool_name": tool,
            "tool_input": {"command": "create", "path": "/p/a.txt", "file_text": "hi"},
            "tool_response": {"success": success, "result": [""]}});
        changed(seen(&payload.to_string()))
    };
    assert_eq!(write("postToolUse", "fs_write", true), [["/p/a.txt"]]);
    assert_eq!(write("postToolUse", "fs_write", false), [[""; 0]; 0], "nothing was written");
    assert_eq!(write("postToolUse", "@files/write", true), [[""; 0]; 0]);
    assert_eq!(write("PostToolUse", "fs_write", true), [[""; 0]; 0], "the file's own event says it");
}

#[test]
fn a_gate_that_somebody_wired_by_hand_is_understood() {
    // the IDE 1.0 (measured)
    let before = r#"{"session_id":"sess_be38d26e-0000-4000-8000-000000000000","hook_event_name":"PreToolUse","cwd":"/p","tool_name":"str_replace","tool_input":{"path":"/tmp/t.txt","oldStr":"a","newStr":"b","replace_all":false}}"#;
    assert!(matches!(seen(before).as_slice(), [Seen::ToolStart(_)]));
    let task = r#"{"session_id":"sess_7f667c0b-9489-4c80-a145-ae757dbac8a6","hook_event_name":"PostTaskExec","cwd":"/p","spec_name":"/p/.kiro/specs/s/tasks.md","task_name":"1.1 t","task_success":true}"#;
    assert_eq!(seen(task), []);
}

#[test]
fn an_event_of_nobody_is_refused() {
    let error = map(&hook("Notification", r#"{"cwd":"/p"}"#)).expect_err("unknown");
    assert_eq!(error, MapError::UnknownEvent("Notification".into()));
}
