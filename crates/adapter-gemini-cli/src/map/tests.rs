//! Payloads as Gemini CLI 0.61.0 sent them, where nothing else is said; texts in them were made up for the recording.

use serde_json::json;
use sessionpipe_core::job::Header;
use sessionpipe_core::payload;
use sessionpipe_core::seen::{EndReason, PromptBy, StopKind};

use super::*;

const AT_MS: i64 = 1_796_026_515_713;

fn hook(event: &str, payload: &str, env: &[(&str, &str)]) -> Hook {
    Hook {
        header: Header {
            event: event.to_owned(),
            harness: "gemini-cli".to_owned(),
            at_ms: AT_MS,
            cwd: Some("/home/dev/proj".into()),
            env: env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            ..Header::default()
        },
        caller: "gemini-cli".to_owned(),
        payload: payload::parse(payload.as_bytes()).unwrap_or_default(),
    }
}

/// Maps a payload that names its own event, with these members after those that all have.
fn mapped(event: &str, members: &Value) -> Mapped {
    let mut payload = json!({
        "session_id": "22cc340d-c8a5-4949-99e0-135c5d0ce7fb",
        "transcript_path": "/home/dev/.gemini/tmp/proj/chats/session-2026-11-30T08-15-22cc340d.jsonl",
        "cwd": "/home/dev/proj", "hook_event_name": event, "timestamp": "2026-11-30T08:15:15.589Z",
    });
    payload.as_object_mut().expect("an object").extend(members.as_object().expect("members").clone());
    map(&hook("as the payload says", &payload.to_string(), &[])).expect("mapped")
}

fn seen(event: &str, members: &Value) -> Vec<Seen> {
    mapped(event, members).seen
}

fn call(tool: &str, input: Value) -> ToolCall {
    ToolCall { tool: tool.to_owned(), input: Some(input), ..ToolCall::default() }
}

/// What the end of a call says of it, and what else is seen.
fn end(tool: &str, input: Value, response: &Value) -> (ToolResult, Vec<Seen>) {
    let mut seen = seen("AfterTool", &json!({"tool_name": tool, "tool_input": input, "tool_response": response}));
    let Seen::ToolEnd { call: ended, result } = seen.remove(0) else { panic!("{seen:?}") };
    assert_eq!(ended, call(tool, input));
    (result, seen)
}

#[test]
fn a_session_begins_and_ends() {
    let start = mapped("SessionStart", &json!({"source": "startup"}));
    assert_eq!(
        start,
        Mapped {
            session: Some("22cc340d-c8a5-4949-99e0-135c5d0ce7fb".into()),
            cwd: Some("/home/dev/proj".into()),
            transcript: Some("/home/dev/.gemini/tmp/proj/chats/session-2026-11-30T08-15-22cc340d.jsonl".into()),
            event: "SessionStart".into(),
            seen: vec![Seen::SessionStart { source: StartSource::Startup }],
            ..Mapped::default()
        }
    );
    let clear = seen("SessionStart", &json!({"source": "clear"}));
    assert_eq!(clear, [Seen::SessionStart { source: StartSource::Clear }]);
    for (reason, expected) in [
        ("exit", EndReason::Exit),
        ("clear", EndReason::Clear),
        // In its list of reasons, and never said.
        ("logout", EndReason::Logout),
        ("prompt_input_exit", EndReason::Exit),
        ("other", EndReason::Other),
    ] {
        assert_eq!(seen("SessionEnd", &json!({"reason": reason})), [Seen::SessionEnd { reason: expected }]);
    }
}

#[test]
fn the_stub_that_a_resumed_session_begins_with_is_not_its_transcript() {
    let start = mapped("SessionStart", &json!({"source": "resume"}));
    assert_eq!(start.seen, [Seen::SessionStart { source: StartSource::Resume }]);
    assert_eq!(start.transcript, None);
}

#[test]
fn a_turn_begins_and_ends() {
    let prompt = seen("BeforeAgent", &json!({"prompt": "zwölf [s:text]"}));
    assert_eq!(prompt, [Seen::Prompt { turn: None, chars: Some(14), by: PromptBy::Person }]);
    let stop = json!({"prompt": "hi", "prompt_response": " Hello", "stop_hook_active": true});
    assert_eq!(seen("AfterAgent", &stop), [Seen::Stop { turn: None, kind: StopKind::Final }]);
    let failed = json!({"prompt": "hi", "prompt_response": "[no response text]", "stop_hook_active": false});
    assert_eq!(
        seen("AfterAgent", &failed),
        [Seen::Failed { turn: None, error: Some("[no response text]".to_owned()) }]
    );
}

#[test]
fn only_the_persons_compaction_is_one() {
    assert_eq!(seen("PreCompress", &json!({"trigger": "auto"})), []);
    let trigger = CompactTrigger::Manual;
    assert_eq!(
        seen("PreCompress", &json!({"trigger": "manual"})),
        [Seen::CompactStart { trigger }, Seen::Compacted { trigger: Some(trigger) }]
    );
}

#[test]
fn what_is_never_registered_says_nothing() {
    for event in ["BeforeModel", "AfterModel", "BeforeToolSelection"] {
        assert_eq!(seen(event, &json!({"llm_request": {"model": "gemini-3.8-flash", "messages": []}})), []);
    }
}

#[test]
fn a_call_that_worked() {
    let input = json!({"command": "echo hello-lab", "description": "Say hello"});
    let start = seen("BeforeTool", &json!({"tool_name": SHELL, "tool_input": input}));
    assert_eq!(start, [Seen::ToolStart(call(SHELL, input.clone()))]);
    let text = "<untrusted_context>\nOutput: hello-lab\nProcess Group PGID: 24629\n</untrusted_context>";
    let (result, more) = end(SHELL, input, &json!({"llmContent": text, "returnDisplay": "hello-lab"}));
    assert_eq!(result, ToolResult { ok: true, output: Some(json!(text)), ..ToolResult::default() });
    assert_eq!(more, []);
}

/// The text of a shell command as 0.61.0 puts it together (read in its source), and what it says of a failure.
#[test]
fn a_shell_command_tells_its_failure_in_its_last_lines() {
    let styled = |line: &str| json!([[{"text": "first   ", "bold": false}], [{"text": line}, {"text": "  "}], []]);
    let cases: [(&str, Value, Option<&str>); 10] = [
        ("Output: oops\nExit Code: 3\nProcess Group PGID: 7", json!("oops"), Some("Exit Code: 3")),
        (
            "Output: (empty)\nExit Code: 1\nProcess Group PGID: 7",
            json!("Command exited with code: 1"),
            Some("Exit Code: 1"),
        ),
        ("Output: oops\nSignal: 15\nBackground PIDs: 8, 9\nProcess Group PGID: 7", json!("oops"), Some("Signal: 15")),
        ("Output: first\noops\nExit Code: 3\nProcess Group PGID: 7", styled("oops"), Some("Exit Code: 3")),
        // The command's own words.
        ("Output: first\nExit Code: 3\nProcess Group PGID: 7", json!("first\nExit Code: 3"), None),
        ("Output: first\nExit Code: 3\nProcess Group PGID: 7", styled("Exit Code: 3"), None),
        ("Output: Exit Code: 3\nthen fine\nProcess Group PGID: 7", json!("Exit Code: 3\nthen fine"), None),
        // Debug mode shows what the model gets.
        (
            "Output: oops\nExit Code: 3\nProcess Group PGID: 7",
            json!("Output: oops\nExit Code: 3\nProcess Group PGID: 7"),
            Some("Exit Code: 3"),
        ),
        // Before, every line was always there.
        (
            "Command: true\nDirectory: (root)\nOutput: (empty)\nError: (none)\nExit Code: 0\nSignal: (none)\nBackground PIDs: (none)\nProcess Group PGID: (none)",
            json!(""),
            None,
        ),
        ("", Value::Null, None),
    ];
    for (text, shown, expected) in cases {
        for text in [text.to_owned(), format!("<untrusted_context>\n{text}\n</untrusted_context>")] {
            assert_eq!(shell_failure(&text, &shown).as_deref(), expected, "{text} {shown}");
        }
    }
    let response = json!({"llmContent": "Output: x\nExit Code: 3\nProcess Group PGID: 7", "returnDisplay": ""});
    assert_eq!(failure("read_file", &response), None, "a file may hold anything");
}

#[test]
fn a_command_that_the_person_stops_is_the_last_of_its_turn() {
    let text = "<untrusted_context>\nCommand was cancelled by user before it could complete. There was no output before it was cancelled.\n</untrusted_context>";
    let input = json!({"command": "sleep 20", "description": "Sleep"});
    let (result, more) =
        end(SHELL, input.clone(), &json!({"llmContent": text, "returnDisplay": "Command cancelled by user."}));
    assert_eq!(
        (result.ok, result.error.as_deref()),
        (false, Some("Command was cancelled by user before it could complete"))
    );
    assert_eq!(more, [Seen::Aborted { turn: None }]);
    // Not recorded: the program's own text.
    let text = "<untrusted_context>\nCommand was automatically cancelled because it exceeded the timeout of 5.0 minutes without output. Below is the output before it was cancelled:\nx\n</untrusted_context>";
    let (result, more) = end(SHELL, input, &json!({"llmContent": text, "returnDisplay": "x"}));
    let why = "Command was automatically cancelled because it exceeded the timeout of 5.0 minutes without output";
    assert_eq!((result.ok, result.error.as_deref()), (false, Some(why)));
    assert_eq!(more, [], "and the turn goes on");
}

#[test]
fn files_are_changed_by_what_worked() {
    let input = json!({"file_path": "/home/dev/proj/new.txt", "content": "line one\nline two\n"});
    let text = "Successfully created and wrote to new file: /home/dev/proj/new.txt. Here is the updated code:\nline one\nline two\n";
    let (result, more) = end(WRITE, input, &json!({"llmContent": text, "returnDisplay": {"fileName": "new.txt"}}));
    assert_eq!((result.ok, result.output), (true, Some(json!(text))));
    assert_eq!(more, [Seen::FilesChanged { paths: vec!["/home/dev/proj/new.txt".into()] }]);
    let input = json!({"file_path": "/home/dev/proj/hello.txt", "instruction": "Change", "old_string": "NOT THERE", "new_string": "x"});
    let error = json!({"message": "Could not find an exact match", "type": "edit_no_occurrence_found"});
    let (result, more) =
        end(EDIT, input, &json!({"llmContent": "Could not …", "returnDisplay": "Error: …", "error": error}));
    assert_eq!((result.ok, result.error.as_deref()), (false, Some("Could not find an exact match")));
    assert_eq!(more, []);
    let (_, more) = end("read_file", json!({"file_path": "/home/dev/proj/hello.txt"}), &json!({"llmContent": "x"}));
    assert_eq!(more, []);
}

#[test]
fn an_mcp_call_names_its_server() {
    let members = json!({
        "tool_name": "mcp_lab_echo", "tool_input": {"text": "hi"},
        "tool_response": {"llmContent": [{"text": "<untrusted_context>\necho: hi\n</untrusted_context>"}], "returnDisplay": "echo: hi"},
        "mcp_context": {"server_name": "lab", "tool_name": "echo", "command": "node", "args": ["/opt/lab/mcp-server.mjs"]},
    });
    let expected = ToolCall { mcp_server: Some("lab".into()), ..call("mcp_lab_echo", json!({"text": "hi"})) };
    assert_eq!(seen("BeforeTool", &members), [Seen::ToolStart(expected.clone())]);
    let output = Some(json!([{"text": "<untrusted_context>\necho: hi\n</untrusted_context>"}]));
    let result = ToolResult { ok: true, output, ..ToolResult::default() };
    assert_eq!(seen("AfterTool", &members), [Seen::ToolEnd { call: expected, result }]);
}

#[test]
fn the_models_topic_is_the_title() {
    let input = json!({"title": "Fix the parser", "summary": "…", "strategic_intent": "…"});
    let members = json!({"tool_name": "update_topic", "tool_input": input, "tool_response": {"llmContent": "ok"}});
    assert_eq!(mapped("BeforeTool", &members).title, None, "not before it was taken");
    assert_eq!(mapped("AfterTool", &members).title, Some(("Fix the parser".to_owned(), TitleSource::Harness)));
}

fn asked(details: &Value, message: &str) -> Need {
    let members = json!({"notification_type": "ToolPermission", "message": message, "details": details});
    match <[Seen; 2]>::try_from(seen("Notification", &members)).expect("two") {
        // One dialog is open at a time: the one before is answered.
        [Seen::Answered { kind: None, id: None, how: Cleared::Answered }, Seen::NeedsYou(need)] => need,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_dialog_needs_the_person() {
    let exec = json!({"type": "exec", "title": "Confirm Shell Command", "command": "sleep 20", "rootCommand": "sleep"});
    assert_eq!(
        asked(&exec, "Tool Confirm Shell Command requires execution"),
        Need {
            kind: AttentionKind::Permission,
            id: Some(format!("notif-{AT_MS}")),
            turn: None,
            tool: Some(SHELL.into()),
            input: None,
            message: Some("Tool Confirm Shell Command requires execution".into()),
            reminder: false,
        }
    );
}

/// The kinds of dialogs of 0.61.0, by its source.
#[test]
fn a_dialog_tells_its_tool_by_kind_and_title() {
    let cases = [
        (json!({"type": "edit", "title": "Confirm Write: new.txt"}), Some(WRITE)),
        (json!({"type": "edit", "title": "Confirm Edit: hello.txt"}), Some(EDIT)),
        (json!({"type": "info", "title": "Confirm Web Fetch", "urls": []}), Some("web_fetch")),
        (
            json!({"type": "mcp", "title": "Confirm MCP Tool Execution", "serverName": "lab", "toolName": "echo"}),
            Some("mcp_lab_echo"),
        ),
        (json!({"type": "sandbox_expansion", "title": "Sandbox Expansion Request"}), Some(SHELL)),
        (json!({"type": "exit_plan_mode", "title": "Plan Approval"}), Some("exit_plan_mode")),
        (json!({"type": "info", "title": "Confirm: Something"}), None),
        (json!({"type": "brand_new"}), None),
        (Value::Null, None),
    ];
    for (details, tool) in cases {
        let need = asked(&details, "m");
        assert_eq!((need.tool.as_deref(), need.kind), (tool, AttentionKind::Permission), "{details}");
    }
    let question = asked(&json!({"type": "ask_user", "title": "Ask User"}), "Tool requires confirmation");
    assert_eq!((question.tool.as_deref(), question.kind), (Some(ASK), AttentionKind::Question));
}

#[test]
fn a_notification_of_another_kind_needs_nobody() {
    // Not recorded: 0.61.0 has one kind.
    assert_eq!(seen("Notification", &json!({"notification_type": "Other", "message": "m"})), [Seen::Activity]);
}

#[test]
fn of_an_empty_or_cut_payload_the_environment_tells_the_session() {
    let env = [(SESSION_VAR, "22cc340d-c8a5-4949-99e0-135c5d0ce7fb")];
    for payload in ["", r#"{"hook_event_name":"BeforeTool","tool_na"#] {
        let mapped = map(&hook("BeforeTool", payload, &env)).expect("mapped");
        assert_eq!(mapped.session.as_deref(), Some("22cc340d-c8a5-4949-99e0-135c5d0ce7fb"));
        assert_eq!(mapped.cwd.as_deref(), Some("/home/dev/proj"));
        assert_eq!(mapped.seen, [Seen::ToolStart(ToolCall { tool: "unknown".into(), ..ToolCall::default() })]);
    }
}

#[test]
fn a_hook_that_was_taken_over_from_another_program_is_mapped_by_the_payloads_event() {
    // `gemini hooks migrate --from-claude` keeps the command, whose event has another name here.
    let payload = r#"{"session_id":"s","cwd":"/p","hook_event_name":"AfterAgent","prompt":"hi","prompt_response":"x","stop_hook_active":false}"#;
    let mapped = map(&hook("Stop", payload, &[])).expect("mapped");
    assert_eq!(
        (mapped.event.as_str(), mapped.seen),
        ("AfterAgent", vec![Seen::Stop { turn: None, kind: StopKind::Final }])
    );
}
