use serde_json::json;
use sessionpipe_core::job::Header;
use sessionpipe_core::payload;
use sessionpipe_core::seen::{CompactTrigger, EndReason, StartSource, ToolCall, ToolResult};

use super::*;

/// The session of these payloads, unless a test says otherwise. They were recorded, ids shortened.
const SESSION: &str = "1048d0be-aad3-4a10-8f21-ff80d39c7dfd";

fn hook(event: &str, env: &[(&str, &str)], stdin: Value) -> Hook {
    let mut members = json!({
        "session_id": SESSION,
        "transcript_path": format!("/home/dev/.claude/projects/-home-dev-proj/{SESSION}.jsonl"),
        "cwd": "/home/dev/proj",
        "hook_event_name": event,
    });
    if let (Value::Object(members), Value::Object(stdin)) = (&mut members, stdin) {
        members.extend(stdin);
    }
    raw(event, env, &members.to_string(), HARNESS.name)
}

fn raw(event: &str, env: &[(&str, &str)], stdin: &str, caller: &str) -> Hook {
    Hook {
        header: Header {
            harness: HARNESS.name.to_owned(),
            event: event.to_owned(),
            cwd: Some("/hook/cwd".to_owned()),
            env: env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            ..Header::default()
        },
        caller: caller.to_owned(),
        payload: payload::parse(stdin.as_bytes()).unwrap_or(Payload { partial: true, ..Payload::default() }),
    }
}

/// In the UI of 2.1.328.
const UI: [(&str, &str); 3] = [
    ("AI_AGENT", "claude-code_2-1-328_harness"),
    ("CLAUDE_CODE_ENTRYPOINT", "cli"),
    ("CLAUDE_CODE_SESSION_ATTENDED", "1"),
];

fn seen(event: &str, stdin: Value) -> Vec<Seen> {
    map(&hook(event, &UI, stdin)).expect("mapped").seen
}

fn need(kind: AttentionKind) -> Need {
    Need { kind, id: None, turn: Some("p1".into()), tool: None, input: None, message: None, reminder: false }
}

#[test]
fn a_session_starts_with_what_is_known_of_it() {
    // 2.1.258
    let stdin = json!({"source": "fork", "model": "claude-opus-5[1m]", "session_title": "forked-name",
        "seconds_since_last_response": 75, "context_tokens": 1220});
    let mapped = map(&hook("SessionStart", &UI, stdin)).expect("mapped");
    assert_eq!(
        mapped,
        Mapped {
            session: Some(SESSION.into()),
            cwd: Some("/home/dev/proj".into()),
            transcript: Some(format!("/home/dev/.claude/projects/-home-dev-proj/{SESSION}.jsonl")),
            model: Some("claude-opus-5[1m]".into()),
            title: Some(("forked-name".into(), TitleSource::Custom)),
            version: Some("2.1.328".into()),
            event: "SessionStart".into(),
            seen: vec![Seen::SessionStart { source: StartSource::Fork }],
            ..Mapped::default()
        }
    );
}

#[test]
fn sources_and_reasons() {
    for (source, expected) in [
        ("startup", Seen::SessionStart { source: StartSource::Startup }),
        ("resume", Seen::SessionStart { source: StartSource::Resume }),
        ("clear", Seen::SessionStart { source: StartSource::Clear }),
        ("compact", Seen::Compacted { trigger: None }),
    ] {
        assert_eq!(seen("SessionStart", json!({"source": source})), [expected]);
    }
    for (reason, expected) in [
        ("clear", EndReason::Clear),
        ("logout", EndReason::Logout),
        ("prompt_input_exit", EndReason::Exit),
        ("resume", EndReason::Other),
        ("bypass_permissions_disabled", EndReason::Other),
        ("other", EndReason::Other),
    ] {
        assert_eq!(seen("SessionEnd", json!({"reason": reason})), [Seen::SessionEnd { reason: expected }]);
    }
}

#[test]
fn prompts_of_a_person_and_of_the_harness() {
    // 2.1.258
    let prompt = |prompt: &str| seen("UserPromptSubmit", json!({"prompt_id": "p1", "prompt": prompt}));
    let expected = |chars, by| [Seen::Prompt { turn: Some("p1".into()), chars: Some(chars), by }];
    assert_eq!(prompt("In forké"), expected(8, PromptBy::Person));
    assert_eq!(
        prompt("<task-notification>\n<task-id>bibckat9c</task-id>\n</task-notification>"),
        expected(69, PromptBy::Harness)
    );
    assert_eq!(prompt("what is a <task-notification>?"), expected(30, PromptBy::Person));
    // 2.1.100 has no prompt ids.
    assert_eq!(
        seen("UserPromptSubmit", json!({"prompt": "T"})),
        [Seen::Prompt { turn: None, chars: Some(1), by: PromptBy::Person }]
    );
}

#[test]
fn tool_calls() {
    // 2.1.328
    let input = json!({"command": "echo oops >&2; exit 3", "description": "Fail"});
    let call = ToolCall {
        tool: "Bash".into(),
        call: Some("toolu_1".into()),
        turn: Some("p1".into()),
        agent: None,
        input: Some(input.clone()),
        mcp_server: None,
    };
    let stdin = |more: Value| {
        let mut stdin = json!({"prompt_id": "p1", "tool_name": "Bash", "tool_input": input, "tool_use_id": "toolu_1"});
        stdin.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        stdin
    };
    assert_eq!(seen("PreToolUse", stdin(json!({}))), [Seen::ToolStart(call.clone())]);
    let output = json!({"stdout": "hi", "stderr": "", "interrupted": false, "isImage": false});
    assert_eq!(
        seen("PostToolUse", stdin(json!({"tool_response": output, "duration_ms": 126}))),
        [Seen::ToolEnd {
            call: call.clone(),
            result: ToolResult { ok: true, error: None, output: Some(output), ms: Some(126) },
        }]
    );
    let failed = |error: &str, ms| ToolResult { ok: false, error: Some(error.into()), output: None, ms };
    assert_eq!(
        seen(
            "PostToolUseFailure",
            stdin(json!({"error": "Exit code 3\noops", "is_interrupt": false, "duration_ms": 166}))
        ),
        [Seen::ToolEnd { call: call.clone(), result: failed("Exit code 3\noops", Some(166)) }]
    );
    // Never seen, but in the program's schema.
    assert_eq!(
        seen("PostToolUseFailure", stdin(json!({"is_interrupt": true}))),
        [Seen::ToolEnd { call, result: failed("interrupted", None) }]
    );
}

#[test]
fn tool_calls_of_subagents_and_servers() {
    // 2.1.328: an MCP tool; 2.1.100: a call within a subagent.
    let stdin = json!({"tool_name": "mcp__labmcp__echo", "tool_input": {"msg": "hey"}, "tool_use_id": "toolu_2",
        "mcp_server": {"name": "labmcp", "source": "dynamic"}});
    let [Seen::ToolStart(call)] = &seen("PreToolUse", stdin)[..] else { panic!("no start") };
    assert_eq!((call.tool.as_str(), call.mcp_server.as_deref()), ("mcp__labmcp__echo", Some("labmcp")));
    let stdin = json!({"agent_id": "a9d68e0aae928121e", "agent_type": "general-purpose", "tool_name": "Bash",
        "tool_input": {"command": "echo sub"}, "tool_use_id": "toolu_3"});
    let [Seen::ToolStart(call)] = &seen("PreToolUse", stdin)[..] else { panic!("no start") };
    assert_eq!(call.agent.as_deref(), Some("a9d68e0aae928121e"));
    // Started with --agent, the main agent has a type and no id.
    let stdin = json!({"agent_type": "labber", "tool_name": "Bash", "tool_use_id": "toolu_4"});
    let [Seen::ToolStart(call)] = &seen("PreToolUse", stdin)[..] else { panic!("no start") };
    assert_eq!(call.agent, None);
}

#[test]
fn a_tool_that_wrote_a_file_says_which() {
    // 2.1.328
    for (tool, input) in [
        ("Write", json!({"file_path": "/home/dev/proj/new.txt", "content": "alpha\n"})),
        ("Edit", json!({"file_path": "/home/dev/proj/new.txt", "old_string": "a", "new_string": "b"})),
        ("NotebookEdit", json!({"notebook_path": "/home/dev/proj/new.txt"})),
    ] {
        let stdin = json!({"tool_name": tool, "tool_input": input, "tool_use_id": "toolu_1", "tool_response": {}});
        let seen_end = seen("PostToolUse", stdin.clone());
        assert!(matches!(seen_end[0], Seen::ToolEnd { .. }));
        assert_eq!(seen_end[1..], [Seen::FilesChanged { paths: vec!["/home/dev/proj/new.txt".into()] }]);
        assert_eq!(seen("PreToolUse", stdin.clone()).len(), 1);
        assert_eq!(seen("PostToolUseFailure", stdin).len(), 1, "nothing was written");
    }
    let read = json!({"tool_name": "Read", "tool_input": {"file_path": "/home/dev/proj/README.md"}});
    assert_eq!(seen("PostToolUse", read).len(), 1);
}

#[test]
fn a_batch_names_all_its_calls() {
    // 2.1.328
    let stdin = json!({"prompt_id": "p1", "tool_calls": [{"tool_name": "Bash", "tool_input": {"command": "touch a"},
        "tool_use_id": "toolu_1", "tool_response": "(Bash completed with no output)"}]});
    let call = ToolCall {
        tool: "Bash".into(),
        call: Some("toolu_1".into()),
        turn: Some("p1".into()),
        input: Some(json!({"command": "touch a"})),
        ..ToolCall::default()
    };
    let calls = vec![(call, Some("(Bash completed with no output)".into()))];
    assert_eq!(seen("PostToolBatch", stdin), [Seen::ToolsSettled { agent: None, calls }]);
}

#[test]
fn requests_for_a_person() {
    // 2.1.328
    let input = json!({"command": "touch a.txt", "description": "Touch"});
    let stdin = json!({"prompt_id": "p1", "tool_name": "Bash", "tool_input": input,
        "permission_suggestions": [{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]});
    let permission = Need { tool: Some("Bash".into()), input: Some(input), ..need(AttentionKind::Permission) };
    assert_eq!(seen("PermissionRequest", stdin.clone()), [Seen::NeedsYou(permission.clone())]);

    let headless = [("CLAUDE_CODE_ENTRYPOINT", "sdk-cli"), ("CLAUDE_CODE_SESSION_ATTENDED", "0")];
    for env in [&headless[..], &headless[..1], &headless[1..]] {
        let mapped = map(&hook("PermissionRequest", env, stdin.clone())).expect("mapped");
        assert_eq!(mapped.seen, [Seen::Activity], "nobody is asked: {env:?}");
    }
    let mapped = map(&hook("PermissionRequest", &[("CLAUDE_CODE_ENTRYPOINT", "cli")], stdin)).expect("mapped");
    assert_eq!(mapped.seen, [Seen::NeedsYou(permission)], "2.1.258");

    let input = json!({"questions": [{"question": "Which?", "header": "Pick", "options": [], "multiSelect": false}]});
    let stdin = json!({"prompt_id": "p1", "tool_name": "AskUserQuestion", "tool_input": input});
    assert_eq!(
        seen("PermissionRequest", stdin),
        [Seen::NeedsYou(Need {
            tool: Some("AskUserQuestion".into()),
            input: Some(input),
            message: Some("Which?".into()),
            ..need(AttentionKind::Question)
        })]
    );
    // 2.1.258
    let stdin = json!({"prompt_id": "p1", "mcp_server_name": "labdyn", "message": "Which color?", "mode": "form",
        "requested_schema": {"type": "object"}});
    assert_eq!(
        seen("Elicitation", stdin),
        [Seen::NeedsYou(Need { message: Some("Which color?".into()), ..need(AttentionKind::Elicitation) })]
    );
}

#[test]
fn notifications_by_their_type() {
    let notified = |kind: &str, message: &str| {
        seen("Notification", json!({"prompt_id": "p1", "notification_type": kind, "message": message}))
    };
    for (name, kind, reminder) in [
        ("permission_prompt", AttentionKind::Permission, true),
        ("worker_permission_prompt", AttentionKind::Permission, false),
        ("agent_needs_input", AttentionKind::Question, false),
        ("elicitation_dialog", AttentionKind::Elicitation, true),
        ("elicitation_url_dialog", AttentionKind::Elicitation, true),
        ("idle_prompt", AttentionKind::Idle, true),
    ] {
        assert_eq!(
            notified(name, "Claude needs you"),
            [Seen::NeedsYou(Need { message: Some("Claude needs you".into()), reminder, ..need(kind) })],
            "{name}"
        );
    }
    let answered = |how| [Seen::Answered { kind: Some(AttentionKind::Elicitation), id: None, how }];
    // 2.1.258
    let response = |action| format!("Elicitation response for server \"labdyn\": {action}");
    assert_eq!(notified("elicitation_response", &response("accept")), answered(Cleared::Answered));
    assert_eq!(notified("elicitation_response", &response("decline")), answered(Cleared::Answered));
    assert_eq!(notified("elicitation_response", &response("cancel")), answered(Cleared::Cancelled));
    assert_eq!(notified("elicitation_complete", "done"), answered(Cleared::Answered));
    for name in [
        "auth_success",
        "agent_completed",
        "computer_use_enter",
        "computer_use_exit",
        "push_notification",
        "quota_auto_resume_scheduled",
        "model_refusal_fallback",
        "auth_storage_failure",
        "plugin_notification",
        "something_new",
    ] {
        assert_eq!(notified(name, "…"), [Seen::Activity], "{name}");
    }
    assert_eq!(seen("Notification", json!({"message": "untyped"})), [Seen::Activity]);
}

#[test]
fn a_stop_may_be_a_pause_or_a_failure() {
    let stop = |kind| [Seen::Stop { turn: Some("p1".into()), kind }];
    // 2.1.258
    let stdin = |tasks: Value| {
        json!({"prompt_id": "p1", "stop_hook_active": false, "last_assistant_message": "bg started",
            "background_tasks": tasks, "session_crons": []})
    };
    assert_eq!(seen("Stop", stdin(json!([]))), stop(StopKind::Final));
    let task = json!([{"id": "bibckat9c", "type": "shell", "status": "running", "command": "sleep 2"}]);
    assert_eq!(seen("Stop", stdin(task)), stop(StopKind::Pause));
    // 2.1.100
    assert_eq!(seen("Stop", json!({"stop_hook_active": false})), [Seen::Stop { turn: None, kind: StopKind::Final }]);
    // 2.1.328
    let failed = json!({"prompt_id": "p1", "error": "rate_limit", "last_assistant_message": "API Error"});
    assert_eq!(
        seen("StopFailure", failed),
        [Seen::Failed { turn: Some("p1".into()), error: Some("rate_limit".into()) }]
    );
    let subagent = json!({"prompt_id": "p1", "agent_id": "a3b9", "agent_type": "general-purpose", "error": "unknown"});
    assert_eq!(
        seen("StopFailure", subagent),
        [Seen::SubagentEnd { agent: "a3b9".into(), agent_type: Some("general-purpose".into()) }]
    );
}

#[test]
fn subagents_and_compactions() {
    // 2.1.258
    let stdin = json!({"agent_id": "a93191dc125afe0bb", "agent_type": "labber"});
    let (agent, agent_type) = ("a93191dc125afe0bb".to_owned(), Some("labber".to_owned()));
    assert_eq!(
        seen("SubagentStart", stdin.clone()),
        [Seen::SubagentStart { agent: agent.clone(), agent_type: agent_type.clone() }]
    );
    assert_eq!(seen("SubagentStop", stdin), [Seen::SubagentEnd { agent, agent_type }]);
    // 2.1.328: the helper of a compaction has no type.
    assert_eq!(
        seen("SubagentStop", json!({"agent_id": "aa20b80468163770b", "agent_type": ""})),
        [Seen::SubagentEnd { agent: "aa20b80468163770b".into(), agent_type: None }]
    );
    for (name, trigger) in [("manual", CompactTrigger::Manual), ("auto", CompactTrigger::Auto)] {
        let stdin = json!({"trigger": name, "custom_instructions": null});
        assert_eq!(seen("PreCompact", stdin.clone()), [Seen::CompactStart { trigger }]);
        assert_eq!(seen("PostCompact", stdin), [Seen::Compacted { trigger: Some(trigger) }]);
    }
}

#[test]
fn what_is_ignored_says_nothing() {
    for event in HARNESS.events.iter().filter(|e| e.means == sessionpipe_core::harness::Means::Ignored) {
        assert_eq!(seen(event.name, json!({"prompt_id": "p1"})), [], "{}", event.name);
    }
    let unknown = map(&hook("BrandNew", &UI, json!({}))).unwrap_err();
    assert_eq!(unknown, MapError::UnknownEvent("BrandNew".into()));
}

#[test]
fn empty_and_cut_payloads_are_completed_from_argv_and_environment() {
    let env = [("CLAUDE_CODE_SESSION_ID", SESSION)];
    let mapped = map(&raw("Stop", &env, "", HARNESS.name)).expect("mapped");
    assert_eq!(mapped.session.as_deref(), Some(SESSION));
    assert_eq!((mapped.event.as_str(), mapped.partial), ("Stop", true));
    assert_eq!(mapped.cwd.as_deref(), Some("/hook/cwd"));
    assert_eq!(mapped.seen, [Seen::Stop { turn: None, kind: StopKind::Final }]);

    let mut nowhere = raw("Stop", &env, r#"{"cwd"#, HARNESS.name);
    nowhere.header.cwd = None;
    assert_eq!(map(&nowhere).expect("mapped").session.as_deref(), Some(SESSION));
    nowhere.header.env.clear();
    assert!(matches!(map(&nowhere), Err(MapError::Unusable(_))));

    let own = r#"{"session_id":"s2","hook_event_name":"Stop"}"#;
    assert_eq!(map(&raw("Stop", &env, own, HARNESS.name)).expect("mapped").session.as_deref(), Some("s2"));
}

#[test]
fn the_version_that_the_environment_names() {
    assert_eq!(version("claude-code_2-1-328_harness").as_deref(), Some("2.1.328"));
    assert_eq!(version("claude-code_2-1-328").as_deref(), Some("2.1.328"));
    for other in ["codex_1-2-3_harness", "claude-code_", "claude-code_x-y_harness", "claude-code"] {
        assert_eq!(version(other), None, "{other}");
    }
}

#[test]
fn a_borrowers_call_keeps_its_own_name_for_the_event() {
    // Cursor 2026.08.11, as others reported it.
    let stdin = r#"{"conversation_id":"c-1","generation_id":"g-1","model":"some-model","session_id":"c-1",
        "hook_event_name":"preToolUse","cursor_version":"2026.08.11","workspace_roots":["/w"],"transcript_path":null,
        "tool_name":"Shell","tool_input":{"command":"ls"},"cwd":""}"#;
    let env = [("CLAUDE_CODE_SESSION_ID", SESSION), ("AI_AGENT", "claude-code_2-1-328_harness")];
    let mapped = map(&raw("PreToolUse", &env, stdin, "cursor")).expect("mapped");
    assert_eq!(mapped.event, "preToolUse");
    assert_eq!((mapped.session.as_deref(), mapped.cwd.as_deref()), (Some("c-1"), Some("/w")));
    assert_eq!((mapped.version, mapped.model.as_deref()), (None, Some("some-model")));
    assert_eq!(
        mapped.seen,
        [Seen::ToolStart(ToolCall {
            tool: "Shell".into(),
            turn: Some("g-1".into()),
            input: Some(json!({"command": "ls"})),
            ..ToolCall::default()
        })]
    );

    let mapped = map(&raw("Stop", &env, "", "cursor")).expect("mapped");
    assert_eq!(mapped.session, None, "a session of Claude Code that started the borrower is not its session");

    // The camel case of VS Code's and Grok's documentation.
    let stdin = r#"{"sessionId":"v1","hookEventName":"PostToolUse","cwd":"/w","toolName":"run","toolUseId":"t1"}"#;
    let mapped = map(&raw("PostToolUse", &[], stdin, "grok")).expect("mapped");
    assert_eq!(mapped.session.as_deref(), Some("v1"));
    let [Seen::ToolEnd { call, .. }] = &mapped.seen[..] else { panic!("no end") };
    assert_eq!((call.tool.as_str(), call.call.as_deref()), ("run", Some("t1")));

    // Devin names no folder.
    let stdin = r#"{"session_id":"d1","hook_event_name":"UserPromptSubmit","prompt":"hi","prompt_id":"p1"}"#;
    let mapped = map(&raw("UserPromptSubmit", &[("DEVIN_PROJECT_DIR", "/w/d")], stdin, "devin")).expect("mapped");
    assert_eq!(mapped.cwd.as_deref(), Some("/w/d"));
}
