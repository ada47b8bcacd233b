//! Payloads in the shapes that were recorded on cursor-agent 2026.09.26, or that Cursor documents; texts are made up.

use serde_json::json;
use sessionpipe_core::job::Header;
use sessionpipe_core::payload;
use sessionpipe_core::seen::{CompactTrigger, PromptBy, StartSource, StopKind};

use super::*;

const ROOT: &str = "/srv/projects";

fn hook(harness: &str, event: &str, stdin: &str, env: &[(&str, &str)]) -> Hook {
    Hook {
        header: Header {
            harness: harness.to_owned(),
            event: event.to_owned(),
            cwd: Some("/home/dev/.cursor".to_owned()),
            env: env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            ..Header::default()
        },
        caller: "cursor".to_owned(),
        payload: payload::parse(stdin.as_bytes()).unwrap_or_else(|_| Payload { partial: true, ..Payload::default() }),
    }
}

/// A payload of the conversation `c`, of the turn `g`, with these members, too.
fn payload(event: &str, more: &Value) -> Value {
    let mut payload = json!({"conversation_id": "c", "generation_id": "g", "model": "default", "session_id": "c",
        "hook_event_name": event, "cursor_version": "2026.09.26-dd393fe", "workspace_roots": [ROOT],
        "user_email": "dev@example.com", "transcript_path": null});
    for (name, value) in more.as_object().expect("members") {
        payload[name] = value.clone();
    }
    payload
}

fn mapped(event: &str, more: impl Into<Value>) -> Mapped {
    map(&hook("cursor", event, &payload(event, &more.into()).to_string(), &[])).expect("mapped")
}

fn seen(event: &str, more: Value) -> Vec<Seen> {
    mapped(event, more).seen
}

/// The end of a call that postToolUse tells.
fn end(more: Value) -> (ToolCall, ToolResult) {
    let seen = seen("postToolUse", more);
    let [Seen::Working { turn }, Seen::ToolEnd { call, result }, ..] = seen.as_slice() else { panic!("{seen:?}") };
    assert_eq!(*turn, call.turn);
    (call.clone(), result.clone())
}

#[test]
fn a_payload_tells_whose_it_is() {
    let stop = mapped("stop", json!({"status": "completed", "model": "some-model"}));
    assert_eq!(
        stop,
        Mapped {
            session: Some("c".into()),
            cwd: Some(ROOT.into()),
            model: Some("some-model".into()),
            version: Some("2026.09.26-dd393fe".into()),
            event: "stop".into(),
            seen: vec![Seen::Stop { turn: Some("g".into()), kind: StopKind::Final }],
            ..Mapped::default()
        }
    );
    // Under Auto.
    assert_eq!(mapped("stop", json!({})).model, None);
    // The IDE sends no session_id.
    assert_eq!(mapped("stop", json!({"session_id": null})).session.as_deref(), Some("c"));
}

#[test]
fn the_folder_is_the_workspaces_never_that_of_the_hook() {
    let cwd = |more| mapped("postToolUse", more).cwd;
    assert_eq!(cwd(json!({"cwd": ""})).as_deref(), Some(ROOT));
    assert_eq!(cwd(json!({"cwd": "/srv/projects/sub"})).as_deref(), Some(ROOT));
    assert_eq!(cwd(json!({"workspace_roots": ["", "/b"], "cwd": "/srv/projects/sub"})).as_deref(), Some("/b"));
    assert_eq!(cwd(json!({"workspace_roots": [], "cwd": "/srv/x"})).as_deref(), Some("/srv/x"));
    assert_eq!(cwd(json!({"workspace_roots": null, "cwd": ""})), None);
    let env = [("CURSOR_PROJECT_DIR", "/srv/p")];
    let stdin = payload("stop", &json!({"workspace_roots": []})).to_string();
    assert_eq!(map(&hook("cursor", "stop", &stdin, &env)).expect("mapped").cwd.as_deref(), Some("/srv/p"));
}

#[test]
fn the_environment_tells_what_an_empty_payload_does_not() {
    let env = [
        ("CURSOR_PROJECT_DIR", ROOT),
        ("CURSOR_TRANSCRIPT_PATH", "/home/dev/.cursor/projects/p/agent-transcripts/c/c.jsonl"),
        ("CURSOR_VERSION", "3.8.0"),
    ];
    let stop = map(&hook("cursor", "stop", "", &env)).expect("mapped");
    assert_eq!(
        stop,
        Mapped {
            session: Some("c".into()),
            cwd: Some(ROOT.into()),
            transcript: Some("/home/dev/.cursor/projects/p/agent-transcripts/c/c.jsonl".into()),
            version: Some("3.8.0".into()),
            event: "stop".into(),
            partial: true,
            seen: vec![Seen::Stop { turn: None, kind: StopKind::Final }],
            ..Mapped::default()
        }
    );
    // The session of that folder and process.
    assert_eq!(map(&hook("cursor", "stop", "", &env[..1])).expect("mapped").session, None);
    let nothing = map(&hook("cursor", "stop", "", &[("CURSOR_PROJECT_DIR", "")]));
    assert_eq!(nothing, Err(MapError::Unusable("it names no conversation and no folder".to_owned())));
}

#[test]
fn a_session_starts_and_ends() {
    // cursor-agent, with and without -p: the generation is the conversation.
    let start = mapped("sessionStart", json!({"generation_id": "c", "is_background_agent": false}));
    assert_eq!((start.seen, start.endless), (vec![Seen::SessionStart { source: StartSource::Unknown }], false));
    for (reason, how, ended) in [
        ("completed", WorkEnd::Stop, EndReason::Other),
        ("error", WorkEnd::Error, EndReason::Other),
        ("aborted", WorkEnd::Interrupt, EndReason::Other),
        ("window_close", WorkEnd::Interrupt, EndReason::Exit),
        ("user_close", WorkEnd::Interrupt, EndReason::Exit),
        ("some new one", WorkEnd::Interrupt, EndReason::Other),
    ] {
        let end = mapped("sessionEnd", json!({"generation_id": "c", "reason": reason}));
        assert_eq!(end.seen, [Seen::WorkEnds { how }, Seen::SessionEnd { reason: ended }], "{reason}");
        assert!(!end.endless);
    }
}

#[test]
fn a_prompt_opens_a_turn_and_a_stop_ends_it() {
    let prompt = mapped("beforeSubmitPrompt", json!({"prompt": "Sum up «README».", "attachments": []}));
    assert_eq!(prompt.seen, [Seen::Prompt { turn: Some("g".into()), chars: Some(16), by: PromptBy::Person }]);
    assert!(!prompt.endless);
    let turn = || Some("g".to_owned());
    let kind = StopKind::Final;
    assert_eq!(seen("stop", json!({"status": "completed"})), [Seen::Stop { turn: turn(), kind }]);
    assert_eq!(seen("stop", json!({"status": "some new one"})), [Seen::Stop { turn: turn(), kind }]);
    assert_eq!(seen("stop", json!({"status": "aborted"})), [Seen::Aborted { turn: turn() }]);
    assert_eq!(seen("stop", json!({"status": "error"})), [Seen::Failed { turn: turn(), error: None }]);
}

#[test]
fn thoughts_tell_the_model_and_that_it_works() {
    // Each is told twice in a terminal. The first one's generation is a request's to the model: never a turn.
    for (id, model) in [("g-0-e09f", Some("cursor-grok-4.5-high")), ("78cb7782-1-t2ka", Some("x")), ("g", None)] {
        let more = json!({"generation_id": id, "model": model.unwrap_or("default"), "text": "Hm.", "duration_ms": 1});
        let thought = mapped("afterAgentThought", more);
        assert_eq!(thought.seen, [Seen::Working { turn: None }]);
        assert_eq!((thought.model.as_deref(), thought.endless), (model, true));
    }
}

#[test]
fn a_call_that_worked() {
    let id = "call-b0f3124a-1\nfc_0b71251d_1";
    let (call, result) = end(json!({"tool_name": "Read", "tool_input": {"file_path": "/srv/projects/hello.py"},
        "tool_output": r#"{"file_path":"/srv/projects/hello.py","content_length":12}"#, "duration": 3.149,
        "tool_use_id": id}));
    assert_eq!(
        call,
        ToolCall {
            tool: "Read".into(),
            call: Some(id.into()),
            turn: Some("g".into()),
            input: Some(json!({"file_path": "/srv/projects/hello.py"})),
            ..ToolCall::default()
        }
    );
    let output = json!({"file_path": "/srv/projects/hello.py", "content_length": 12});
    assert_eq!(result, ToolResult { ok: true, output: Some(output), ms: Some(3), ..ToolResult::default() });
    assert!(mapped("postToolUse", json!({"tool_name": "Read"})).endless, "a subagent's conversation has such, too");
    // In -p the generation names no turn.
    assert_eq!(end(json!({"tool_name": "Read", "generation_id": "c"})).0.turn, None);
}

#[test]
fn an_output_that_is_no_json_stays_as_it_is() {
    for text in ["plain", "12", "", "{"] {
        assert_eq!(end(json!({"tool_name": "Shell", "tool_output": text})).1.output, Some(json!(text)));
    }
    assert_eq!(end(json!({"tool_name": "Shell", "tool_output": {"a": 1}})).1.output, Some(json!({"a": 1})));
}

#[test]
fn a_result_that_says_that_it_failed_did() {
    let error = |output: &str| {
        let (_, result) = end(json!({"tool_name": "T", "tool_output": output}));
        assert_eq!(result.ok, result.error.is_none());
        result.error
    };
    assert_eq!(error(r##"{"output":"# demo","exitCode":0}"##), None);
    assert_eq!(error(r#"{"output":"","exitCode":2}"#).as_deref(), Some("exit code 2"));
    assert_eq!(error(r#"{"content":[{"type":"text","text":"ping"}],"isError":false}"#), None);
    assert_eq!(error(r#"{"content":[{"type":"text","text":"no ping"}],"isError":true}"#).as_deref(), Some("no ping"));
}

#[test]
fn a_call_that_failed() {
    let failed = |more: Value| {
        let seen = seen("postToolUseFailure", more);
        let [Seen::Working { .. }, Seen::ToolEnd { result, .. }] = seen.as_slice() else { panic!("{seen:?}") };
        assert!(!result.ok);
        (result.error.clone(), result.ms)
    };
    let more = json!({"tool_name": "Shell", "tool_input": {"command": "wc -l README.md", "cwd": "", "timeout": 30000},
        "error_message": "wc: README.md: No such file or directory", "failure_type": "error", "duration": 176.478,
        "tool_use_id": "t", "is_interrupt": false, "cwd": ""});
    assert_eq!(failed(more), (Some("wc: README.md: No such file or directory".to_owned()), Some(176)));
    let more = json!({"tool_name": "Write", "tool_input": {"file_path": "/a"}, "error_message": "",
        "failure_type": "permission_denied"});
    assert_eq!(failed(more), (Some("permission_denied".to_owned()), None));
}

#[test]
fn a_tool_that_writes_names_the_file() {
    let changed = |tool: &str, input: Value| {
        let seen = seen("postToolUse", json!({"tool_name": tool, "tool_input": input, "tool_output": "{}"}));
        seen.into_iter().find(|seen| matches!(seen, Seen::FilesChanged { .. }))
    };
    let files = |path: &str| Some(Seen::FilesChanged { paths: vec![path.to_owned()] });
    assert_eq!(changed("Write", json!({"file_path": "/srv/projects/a", "content": "ok\n"})), files("/srv/projects/a"));
    assert_eq!(changed("Delete", json!({"path": "/srv/projects/b"})), files("/srv/projects/b"));
    assert_eq!(changed("Read", json!({"file_path": "/srv/projects/a"})), None);
    assert_eq!(changed("Write", json!({})), None);
}

#[test]
fn a_compaction_is_told_by_what_comes_before_it() {
    let compact = mapped("preCompact", json!({"trigger": "manual", "model": "gemini-3.7-flash-low"}));
    let trigger = CompactTrigger::Manual;
    assert_eq!(compact.seen, [Seen::CompactStart { trigger }, Seen::Compacted { trigger: Some(trigger) }]);
    assert_eq!(compact.model, None, "it is the one that sums up");
    let trigger = CompactTrigger::Auto;
    let seen = seen("preCompact", json!({"trigger": "auto"}));
    assert_eq!(seen, [Seen::CompactStart { trigger }, Seen::Compacted { trigger: Some(trigger) }]);
}

#[test]
fn a_subagent_ends() {
    let ended = |agent: &str| Seen::SubagentEnd { agent: agent.to_owned(), agent_type: Some("generalPurpose".into()) };
    let by_transcript = json!({"subagent_type": "generalPurpose", "status": "completed",
        "agent_transcript_path": "/home/dev/.cursor/projects/p/agent-transcripts/c/subagents/sub-1.jsonl"});
    assert_eq!(seen("subagentStop", by_transcript.clone()), [ended("sub-1")]);
    let mut by_id = by_transcript;
    by_id["subagent_id"] = json!("s-1");
    assert_eq!(seen("subagentStop", by_id.clone()), [ended("s-1")]);
    // It may run in the subagent's own conversation.
    by_id["parent_conversation_id"] = json!("p");
    let mapped = mapped("subagentStop", by_id);
    assert_eq!((mapped.session.as_deref(), mapped.seen), (Some("p"), vec![ended("s-1")]));
    assert_eq!(seen("subagentStop", json!({"subagent_type": "explore"})), [Seen::Activity]);
}

#[test]
fn the_place_of_a_transcript_tells_the_parent() {
    let parent = |path| mapped("postToolUse", json!({"tool_name": "Read", "transcript_path": path})).parent;
    assert_eq!(parent("/h/agent-transcripts/p/subagents/c.jsonl").as_deref(), Some("p"));
    assert_eq!(parent("/h/agent-transcripts/c/c.jsonl"), None);
}

/// Through the settings of another harness, whose names argv has.
#[test]
fn a_borrowed_hook_is_mapped_like_our_own() {
    let input = json!({"tool_name": "Shell", "tool_input": {"command": "ls"}});
    let call = ToolCall {
        tool: "Shell".into(),
        turn: Some("g".into()),
        input: Some(json!({"command": "ls"})),
        ..ToolCall::default()
    };
    for own in ["preToolUse", "PreToolUse"] {
        let mapped = map(&hook("lender", "PreToolUse", &payload(own, &input).to_string(), &[])).expect("mapped");
        assert_eq!(mapped.seen, [Seen::ToolStart(call.clone())]);
        assert_eq!(mapped.event, own, "its own name for it stays");
    }
    let env = [("CURSOR_PROJECT_DIR", ROOT)];
    let named = |event| map(&hook("lender", event, "", &env)).map(|mapped| (mapped.event, mapped.seen));
    let prompt = vec![Seen::Prompt { turn: None, chars: None, by: PromptBy::Person }];
    assert_eq!(named("UserPromptSubmit"), Ok(("beforeSubmitPrompt".to_owned(), prompt)));
    let stop = vec![Seen::Stop { turn: None, kind: StopKind::Final }];
    assert_eq!(named("Stop"), Ok(("stop".to_owned(), stop)));
    assert_eq!(named("Notification"), Err(MapError::UnknownEvent("notification".to_owned())));
    assert_eq!(named(""), Err(MapError::UnknownEvent(String::new())));
}

#[test]
fn what_is_nothing_of_ours_is_nothing() {
    let ignored = HARNESS.events.iter().filter(|event| event.means == sessionpipe_core::harness::Means::Ignored);
    let names: Vec<_> = ignored.map(|event| event.name).collect();
    assert_eq!(names.len(), 10);
    for name in names {
        assert_eq!(seen(name, json!({"file_path": "/srv/projects/a.py", "text": "Done."})), [], "{name}");
    }
}
