//! What the fixtures do not show: odd values, and both ways of writing one thing. Payloads have the members of 1.0.102.

use serde_json::json;
use sessionpipe_core::job::Header;
use sessionpipe_core::payload;
use sessionpipe_core::seen::StartSource;

use super::*;

fn mapped(event: &str, payload: &str) -> Mapped {
    let header = Header {
        harness: "copilot-cli".to_owned(),
        event: event.to_owned(),
        cwd: Some("/elsewhere".to_owned()),
        env: [(VERSION.to_owned(), "1.0.102".to_owned())].into(),
        ..Header::default()
    };
    let payload = payload::parse(payload.as_bytes()).expect("a payload");
    map(&Hook { header, caller: "copilot-cli".to_owned(), payload }).expect("mapped")
}

fn seen(event: &str, payload: &str) -> Vec<Seen> {
    mapped(event, payload).seen
}

/// What a notification asks.
fn need(payload: &str) -> Need {
    match seen("notification", payload).as_slice() {
        [Seen::NeedsYou(need)] => need.clone(),
        other => panic!("{other:?}"),
    }
}

/// The end of a shell call whose result has that text.
fn shell(text: &str) -> ToolResult {
    let payload = json!({"sessionId": "s", "cwd": "/p", "toolName": "bash", "toolArgs": {"command": "c"},
        "toolResult": {"resultType": "success", "textResultForLlm": text}});
    match seen("postToolUse", &payload.to_string()).as_slice() {
        [Seen::ToolEnd { result, .. }] => result.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_every_payload_says() {
    let start = mapped("sessionStart", r#"{"sessionId":"s","timestamp":1796025748118,"cwd":"/p","source":"new"}"#);
    assert_eq!((start.session.as_deref(), start.cwd.as_deref()), (Some("s"), Some("/p")));
    assert_eq!((start.version.as_deref(), start.event.as_str()), (Some("1.0.102"), "sessionStart"));
    assert_eq!(start.seen, [Seen::SessionStart { source: StartSource::Startup }]);
    for (source, expected) in
        [("startup", StartSource::Startup), ("resume", StartSource::Resume), ("some new one", StartSource::Unknown)]
    {
        let payload = format!(r#"{{"sessionId":"s","cwd":"/p","source":"{source}"}}"#);
        assert_eq!(seen("sessionStart", &payload), [Seen::SessionStart { source: expected }]);
    }
}

#[test]
fn the_command_line_names_the_event() {
    let notice = r#"{"sessionId":"s","timestamp":1,"cwd":"/p","message":"m","hook_event_name":"Notification","notification_type":"shell_completed"}"#;
    assert_eq!(mapped("notification", notice).event, "notification");
    assert_eq!(mapped("Notification", notice).event, "Notification");
    let header = Header { event: "noSuchEvent".to_owned(), ..Header::default() };
    let payload = payload::parse(notice.as_bytes()).expect("a payload");
    let error = map(&Hook { header, caller: "copilot-cli".to_owned(), payload }).expect_err("unknown");
    assert_eq!(error, MapError::UnknownEvent("noSuchEvent".to_owned()));
}

#[test]
fn a_request_has_the_time_of_its_payload_in_either_form() {
    for timestamp in ["1796026118689", r#""2026-11-30T08:08:38.689Z""#] {
        let notice = format!(
            r#"{{"sessionId":"s","timestamp":{timestamp},"cwd":"/p","message":"Edit file: /p/a","title":"Permission needed","notification_type":"permission_prompt"}}"#
        );
        let need = need(&notice);
        assert_eq!(need.id.as_deref(), Some("notif-1796026118689"));
        assert_eq!((need.kind, need.message.as_deref()), (AttentionKind::Permission, Some("Edit file: /p/a")));
    }
    let odd = r#"{"sessionId":"s","timestamp":"noon","cwd":"/p","notification_type":"permission_prompt"}"#;
    let need = need(odd);
    assert_eq!((need.id, need.message), (None, None), "the tracker makes one up");
}

#[test]
fn only_two_notifications_wait_for_a_person() {
    for (kind, asks) in [
        ("permission_prompt", true),
        ("elicitation_dialog", true),
        ("agent_idle", false),
        ("agent_completed", false),
        ("shell_completed", false),
        ("shell_detached_completed", false),
        ("some_new_one", false),
    ] {
        let notice = format!(r#"{{"sessionId":"s","cwd":"/p","notification_type":"{kind}"}}"#);
        let is_request = matches!(seen("notification", &notice).as_slice(), [Seen::NeedsYou(_)]);
        assert_eq!(is_request, asks, "{kind}");
    }
    assert_eq!(seen("notification", r#"{"sessionId":"s","cwd":"/p"}"#), [Seen::Activity]);
    // It comes for every rule, also under --allow-all-tools.
    let rule = r#"{"hookName":"permissionRequest","sessionId":"s","cwd":"/p","toolName":"bash","toolInput":{"command":"echo"},"permissionSuggestions":[]}"#;
    assert!(seen("permissionRequest", rule).is_empty() && seen("PermissionRequest", rule).is_empty());
}

#[test]
fn the_exit_code_is_in_the_last_line_alone() {
    let failed = shell("out\noops\n<shellId: 0 completed with exit code 3>");
    assert_eq!((failed.ok, failed.error.as_deref()), (false, Some("out\noops")));
    assert_eq!(shell("<shellId: 7 completed with exit code 1>\n").error.as_deref(), Some(""));
    assert_eq!(shell("no\n<exited with exit code 127>").error.as_deref(), Some("no"));
    for fine in [
        "out\n<shellId: 0 completed with exit code 0>",
        "<shellId: 0 completed with exit code 3>\n<shellId: 1 completed with exit code 0>",
        "<command started in background with shellId: labbg>",
        "completed with exit code 3",
        "<completed with exit code x>",
        "",
    ] {
        assert!(shell(fine).ok, "{fine:?}");
    }
    let viewed = r#"{"sessionId":"s","cwd":"/p","toolName":"view","toolArgs":{"path":"log"},"toolResult":{"resultType":"success","textResultForLlm":"<shellId: 0 completed with exit code 3>"}}"#;
    assert!(matches!(seen("postToolUse", viewed).as_slice(), [Seen::ToolEnd { result, .. }] if result.ok));
}

#[test]
fn a_result_that_is_no_success_failed() {
    let denied = r#"{"session_id":"s","cwd":"/p","tool_name":"Write","tool_input":{"path":"a"},"tool_result":{"result_type":"denied","text_result_for_llm":"no"}}"#;
    let seen = seen("PostToolUse", denied);
    let [Seen::ToolEnd { result, .. }] = seen.as_slice() else { panic!("a file changed: {seen:?}") };
    assert_eq!((result.ok, result.error.as_deref()), (false, Some("no")));
}

#[test]
fn files_that_edits_name() {
    let files = |tool: &str, input: Value| {
        let payload = json!({"sessionId": "s", "cwd": "/p", "toolName": tool, "toolArgs": input,
            "toolResult": {"resultType": "success", "textResultForLlm": "done"}});
        match seen("postToolUse", &payload.to_string()).as_slice() {
            [Seen::ToolEnd { .. }, Seen::FilesChanged { paths }] => paths.clone(),
            [Seen::ToolEnd { .. }] => Vec::new(),
            other => panic!("{other:?}"),
        }
    };
    let patch = "*** Begin Patch\n*** Update File: a.rs\n@@\n-x\n+*** Add File: no\n*** Move to: b.rs\n*** Delete File: c\n*** End Patch";
    assert_eq!(files("create", json!({"path": "/p/a", "file_text": ""})), ["/p/a"]);
    assert_eq!(files("Edit", json!({"path": "/p/a", "old_str": "x", "new_str": "y"})), ["/p/a"]);
    assert_eq!(files("apply_patch", json!(patch)), ["a.rs", "b.rs", "c"]);
    assert_eq!(files("apply_patch", json!({"input": patch})), ["a.rs", "b.rs", "c"]);
    assert!(files("view", json!({"path": "/p/a"})).is_empty());
    assert!(files("create", json!(["odd"])).is_empty());
}

#[test]
fn arguments_as_text_are_read_where_they_are_an_object() {
    let input = |args: &str| match seen(
        "preToolUse",
        &format!(r#"{{"sessionId":"s","cwd":"/p","toolName":"t","toolArgs":{args}}}"#),
    )
    .as_slice()
    {
        [Seen::ToolStart(call)] => call.input.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(input(r#""{\"command\":\"ls\"}""#), Some(json!({"command": "ls"})));
    for text in ["ls", "7", "{"] {
        assert_eq!(input(&json!(text).to_string()), Some(json!(text)));
    }
}

#[test]
fn a_subagents_prompt_and_stop_are_its_own() {
    let child = r#"{"sessionId":"a","cwd":"/p","prompt":"go","agentId":"a","agentType":"task","parentAgentId":"s"}"#;
    let agent = || ("a".to_owned(), Some("task".to_owned()));
    let (id, kind) = agent();
    let prompt = mapped("userPromptSubmitted", child);
    assert_eq!(prompt.session.as_deref(), Some("s"));
    assert_eq!(prompt.seen, [Seen::SubagentStart { agent: id, agent_type: kind }]);
    let (id, kind) = agent();
    assert_eq!(seen("agentStop", child), [Seen::SubagentEnd { agent: id, agent_type: kind }]);
    assert_eq!(seen("preCompact", child), [Seen::Activity]);
    assert_eq!(seen("errorOccurred", child), [Seen::Activity]);
    let call = seen("preToolUse", &child.replace("prompt", "toolName"));
    assert!(matches!(call.as_slice(), [Seen::ToolStart(call)] if call.agent.as_deref() == Some("a")), "{call:?}");
    // Without its parent's name: the open session of the process and folder.
    let orphan = r#"{"sessionId":"a","cwd":"/p","agentId":"a","agentType":"task"}"#;
    assert_eq!(mapped("agentStop", orphan).session, None);
}

#[test]
fn how_a_session_ends() {
    let end = |reason: &str| seen("sessionEnd", &format!(r#"{{"sessionId":"s","cwd":"/p","reason":"{reason}"}}"#));
    let over = |reason| Seen::SessionEnd { reason };
    assert_eq!(end("complete"), [over(EndReason::Other)]);
    assert_eq!(end("user_exit"), [over(EndReason::Exit)]);
    assert_eq!(end("error"), [Seen::Failed { turn: None, error: None }, over(EndReason::Other)]);
    assert_eq!(end("abort"), [Seen::Aborted { turn: None }, over(EndReason::Other)]);
    assert_eq!(end("some new one"), [over(EndReason::Other)]);
    // Older versions end the session after every prompt, and do not say which they are.
    for version in [None, Some("1.0.21"), Some("x")] {
        let env = version.map(|version| (VERSION.to_owned(), version.to_owned())).into_iter().collect();
        let header = Header { event: "sessionEnd".to_owned(), env, ..Header::default() };
        let payload = payload::parse(br#"{"sessionId":"s","cwd":"/p","reason":"complete"}"#).expect("a payload");
        let old = map(&Hook { header, caller: "copilot-cli".to_owned(), payload }).expect("mapped");
        assert_eq!(old.seen, [Seen::RunEnd { reason: EndReason::Other }], "{version:?}");
    }
}

#[test]
fn what_an_error_says() {
    let said = |error: Value| {
        let payload = json!({"sessionId": "s", "cwd": "/p", "errorContext": "model_call", "error": error});
        match seen("errorOccurred", &payload.to_string()).as_slice() {
            [Seen::CallFailed { error }] => error.clone(),
            other => panic!("{other:?}"),
        }
    };
    let server = r#"{"message":"fake bad request","type":"server_error","code":"fake_error"}"#;
    assert_eq!(said(json!({"message": server, "name": "Error", "stack": "…"})), "fake bad request");
    assert_eq!(said(json!({"message": "no network", "name": "Error"})), "no network");
    assert_eq!(said(json!("plain")), "plain");
    assert_eq!(said(Value::Null), "");
    for context in ["tool_execution", "user_input"] {
        let payload = format!(r#"{{"sessionId":"s","cwd":"/p","errorContext":"{context}","error":{{"message":"m"}}}}"#);
        assert_eq!(seen("errorOccurred", &payload), [Seen::Activity], "the turn goes on");
    }
}

#[test]
fn a_system_notice_is_not_the_persons_prompt() {
    let by = |prompt: &str| match seen(
        "userPromptSubmitted",
        &json!({"sessionId": "s", "cwd": "/p", "prompt": prompt}).to_string(),
    )
    .as_slice()
    {
        [Seen::Prompt { by, .. }] => *by,
        other => panic!("{other:?}"),
    };
    assert_eq!(by("<system_notification>\nAgent is idle.\n</system_notification>"), PromptBy::Harness);
    assert_eq!(by("what is a <system_notification>?"), PromptBy::Person);
}

#[test]
fn nothing_of_a_payload_is_trusted_to_have_its_type() {
    for event in HARNESS.events {
        for odd in ["null", "7", "[]", r#""x""#, "{}", "[{}]", r#"{"message":[]}"#] {
            let members: Vec<String> = [
                "timestamp",
                "reason",
                "prompt",
                "toolName",
                "toolArgs",
                "toolResult",
                "error",
                "agentId",
                "agentType",
                "parentAgentId",
                "notification_type",
                "trigger",
                "errorContext",
                "transcriptPath",
                "source",
                "message",
            ]
            .map(|name| format!(r#""{name}":{odd}"#))
            .into();
            mapped(event.name, &format!(r#"{{"sessionId":"s","cwd":"/p",{}}}"#, members.join(",")));
        }
    }
}
