//! Payloads as Codex sent them, each with the version that did; texts in them were made up for the recording.

use serde_json::json;
use sessionpipe_core::job::Header;
use sessionpipe_core::payload;
use sessionpipe_core::seen::{CompactTrigger, EndReason, PromptBy, StartSource, StopKind, ToolResult};

use super::*;

const CWD: &str = "/home/dev/proj";

fn hook(event: &str, payload: &str) -> Hook {
    Hook {
        header: Header {
            event: event.to_owned(),
            harness: "codex".to_owned(),
            cwd: Some("/elsewhere".into()),
            ..Header::default()
        },
        caller: "codex".to_owned(),
        payload: payload::parse(payload.as_bytes()).expect("a payload"),
    }
}

/// Maps a payload that names its own event.
fn mapped(payload: &str) -> Mapped {
    map(&hook("as the payload says", payload)).expect("mapped")
}

fn seen(payload: &str) -> Vec<Seen> {
    mapped(payload).seen
}

fn parts<const N: usize>(payload: &str) -> [Seen; N] {
    seen(payload).try_into().expect("as many")
}

fn call(tool: &str, id: &str, turn: &str, input: Value) -> ToolCall {
    ToolCall {
        tool: tool.to_owned(),
        call: Some(id.to_owned()),
        turn: Some(turn.to_owned()),
        input: Some(input),
        ..ToolCall::default()
    }
}

fn worked(output: Value) -> ToolResult {
    ToolResult { ok: true, output: Some(output), ..ToolResult::default() }
}

#[test]
fn a_session_begins_and_ends() {
    // 0.171.0
    let start = mapped(
        r#"{"session_id":"01a22b87-c734-7623-acef-ce34069abe9b","transcript_path":"/home/dev/.codex/sessions/2026/11/30/rollout-2026-11-30T08-17-28-01a22b87-c734-7623-acef-ce34069abe9b.jsonl","cwd":"/home/dev/proj","hook_event_name":"SessionStart","model":"gpt-5.5","permission_mode":"bypassPermissions","source":"startup"}"#,
    );
    assert_eq!(
        start,
        Mapped {
            session: Some("01a22b87-c734-7623-acef-ce34069abe9b".into()),
            cwd: Some(CWD.into()),
            transcript: Some("/home/dev/.codex/sessions/2026/11/30/rollout-2026-11-30T08-17-28-01a22b87-c734-7623-acef-ce34069abe9b.jsonl".into()),
            model: Some("gpt-5.5".into()),
            event: "SessionStart".into(),
            seen: vec![Seen::SessionStart { source: StartSource::Startup }],
            ..Mapped::default()
        }
    );
    let sources = [
        ("resume", StartSource::Resume),
        ("clear", StartSource::Clear),
        ("fork", StartSource::Fork),
        ("some new one", StartSource::Unknown),
    ];
    for (source, expected) in sources {
        let payload =
            format!(r#"{{"session_id":"s","cwd":"/p","hook_event_name":"SessionStart","source":"{source}"}}"#);
        assert_eq!(seen(&payload), [Seen::SessionStart { source: expected }]);
    }
    // 0.157.1: no model, no permission mode
    let end = mapped(
        r#"{"session_id":"01a22b8d-c463-72d2-9988-8047b980e8f4","transcript_path":"/home/dev/.codex/sessions/2026/11/30/rollout-2026-11-30T08-24-00-01a22b8d-c463-72d2-9988-8047b980e8f4.jsonl","cwd":"/home/dev/proj","hook_event_name":"SessionEnd","reason":"other"}"#,
    );
    assert_eq!(end.seen, [Seen::SessionEnd { reason: EndReason::Other }]);
    assert_eq!(end.model, None);
}

#[test]
fn a_turn_begins_and_ends() {
    // 0.171.0
    let prompt = r#"{"session_id":"01a22b87-c734-7623-acef-ce34069abe9b","turn_id":"01a22b87-c75c-7fb3-8632-cdd8d3532376","transcript_path":"/t.jsonl","cwd":"/home/dev/proj","hook_event_name":"UserPromptSubmit","model":"gpt-5.5","permission_mode":"bypassPermissions","prompt":"LAB:ok go"}"#;
    let turn = Some("01a22b87-c75c-7fb3-8632-cdd8d3532376".to_owned());
    assert_eq!(seen(prompt), [Seen::Prompt { turn: turn.clone(), chars: Some(9), by: PromptBy::Person }]);
    // 0.171.0, the second Stop of a turn whose first one a hook blocked: the tracker knows the turn
    let stop = r#"{"session_id":"01a22b87-9d88-73b2-b863-d86ae6cd1947","turn_id":"01a22b87-9dc4-7a30-a501-67d328d58a8b","transcript_path":"/t.jsonl","cwd":"/home/dev/proj","hook_event_name":"Stop","model":"gpt-5.5","permission_mode":"bypassPermissions","stop_hook_active":true,"last_assistant_message":"Hello from the lab model."}"#;
    let turn = Some("01a22b87-9dc4-7a30-a501-67d328d58a8b".to_owned());
    assert_eq!(seen(stop), [Seen::Stop { turn, kind: StopKind::Final }]);
    // 0.171.0
    let interrupt = r#"{"session_id":"01a22b89-9def-7da1-84f2-c148c272d712","turn_id":"01a22b89-9e31-7ef2-96d0-10f1d77783d5","transcript_path":"/t.jsonl","cwd":"/home/dev/proj","hook_event_name":"Interrupt","model":"gpt-5.5","permission_mode":"bypassPermissions"}"#;
    assert_eq!(seen(interrupt), [Seen::Aborted { turn: Some("01a22b89-9e31-7ef2-96d0-10f1d77783d5".into()) }]);
}

#[test]
fn an_ephemeral_session_has_no_transcript() {
    // the shape of 0.171.0 with --ephemeral
    let start = mapped(
        r#"{"session_id":"s","transcript_path":null,"cwd":"/p","hook_event_name":"SessionStart","model":"gpt-5.5","permission_mode":"bypassPermissions","source":"startup"}"#,
    );
    assert_eq!(start.transcript, None);
}

#[test]
fn compaction() {
    // 0.171.0
    let before = r#"{"session_id":"01a22b87-a507-7910-81e5-71d444338ae8","turn_id":"01a22b87-a53b-7e82-a66b-656dceb638bd","transcript_path":"/t.jsonl","cwd":"/home/dev/proj","hook_event_name":"PreCompact","model":"gpt-5.5","trigger":"auto"}"#;
    assert_eq!(seen(before), [Seen::CompactStart { trigger: CompactTrigger::Auto }]);
    let after = before.replace("PreCompact", "PostCompact").replace(r#""auto""#, r#""manual""#);
    assert_eq!(seen(&after), [Seen::Compacted { trigger: Some(CompactTrigger::Manual) }]);
    // 0.157.1, in the middle of the running turn
    let start = r#"{"session_id":"01a22b8d-c463-72d2-9988-8047b980e8f4","transcript_path":"/t.jsonl","cwd":"/home/dev/proj","hook_event_name":"SessionStart","model":"gpt-5.5","permission_mode":"bypassPermissions","source":"compact"}"#;
    assert_eq!(seen(start), [Seen::Compacted { trigger: None }]);
}

#[test]
fn a_shell_call_never_tells_whether_it_worked() {
    // 0.171.0
    let before = r#"{"session_id":"s","turn_id":"01a22b87-c75c-7fb3-8632-cdd8d3532376","transcript_path":"/t.jsonl","cwd":"/home/dev/proj","hook_event_name":"PreToolUse","model":"gpt-5.5","permission_mode":"bypassPermissions","tool_name":"Bash","tool_input":{"command":"echo hello-lab"},"tool_use_id":"call_lab61"}"#;
    let started =
        call("Bash", "call_lab61", "01a22b87-c75c-7fb3-8632-cdd8d3532376", json!({"command": "echo hello-lab"}));
    assert_eq!(seen(before), [Seen::ToolStart(started.clone())]);
    let after = before
        .replace("PreToolUse", "PostToolUse")
        .replace(r#""tool_use_id""#, r#""tool_response":"hello-lab\n","tool_use_id""#);
    assert_eq!(seen(&after), [Seen::ToolEnd { call: started.clone(), result: worked(json!("hello-lab\n")) }]);
    // A program may print anything.
    let says_so = after.replace(r"hello-lab\n", r"Exit code: 1\nOutput:\nno");
    assert_eq!(seen(&says_so), [Seen::ToolEnd { call: started, result: worked(json!("Exit code: 1\nOutput:\nno")) }]);
}

const PATCH: &str = r"*** Begin Patch\n*** Add File: added.txt\n+hello from patch\n*** End Patch\n";

fn patched(response: &str) -> Vec<Seen> {
    seen(&format!(
        r#"{{"session_id":"s","turn_id":"t","transcript_path":"/t.jsonl","cwd":"/home/dev/proj","hook_event_name":"PostToolUse","model":"gpt-5.5","permission_mode":"bypassPermissions","tool_name":"apply_patch","tool_input":{{"command":"{PATCH}"}},"tool_response":{response},"tool_use_id":"call_lab62"}}"#
    ))
}

#[test]
fn a_patch_states_its_exit_code() {
    let made = call(
        "apply_patch",
        "call_lab62",
        "t",
        json!({"command": "*** Begin Patch\n*** Add File: added.txt\n+hello from patch\n*** End Patch\n"}),
    );
    let changed = Seen::FilesChanged { paths: vec!["added.txt".into()] };
    // 0.171.0, 0.169.0, 0.144.6
    let text = "Exit code: 0\nWall time: 0.2 seconds\nOutput:\nSuccess. Updated the following files:\nA added.txt\n";
    let end = Seen::ToolEnd { call: made.clone(), result: worked(json!(text)) };
    assert_eq!(patched(&json!(text).to_string()), [end, changed.clone()]);
    // 0.130.0: JSON in a string
    let text = r#"{"output":"Success. Updated the following files:\nA added.txt\n","metadata":{"exit_code":0,"duration_seconds":0.2}}"#;
    let end = Seen::ToolEnd { call: made.clone(), result: worked(json!(text)) };
    assert_eq!(patched(&json!(text).to_string()), [end, changed.clone()]);
    // Not recorded: the same shapes with another code.
    for text in [
        "Exit code: 1\nWall time: 0 seconds\nOutput:\nno such file\n",
        r#"{"output":"no such file\n","metadata":{"exit_code":1}}"#,
    ] {
        let result = ToolResult { ok: false, error: Some("no such file".into()), output: Some(json!(text)), ms: None };
        assert_eq!(patched(&json!(text).to_string()), [Seen::ToolEnd { call: made.clone(), result }]);
    }
    // A shape that is not known says nothing.
    let end = Seen::ToolEnd { call: made, result: worked(json!("Done!")) };
    assert_eq!(patched(r#""Done!""#), [end, changed]);
}

#[test]
fn a_patch_names_its_files() {
    let patch = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n@@\n-*** Delete File: no\n+x\n*** Delete File: /c d.txt\n*** End Patch";
    let made = call("apply_patch", "c", "t", json!({"command": patch}));
    assert_eq!(changed_files(&made), ["a.txt", "b.txt", "/c d.txt"]);
    assert_eq!(changed_files(&call("Bash", "c", "t", json!({"command": patch}))), Vec::<String>::new());
}

#[test]
fn mcp_calls_name_their_server() {
    // 0.171.0, code mode
    let before = r#"{"session_id":"s","turn_id":"t","transcript_path":"/t.jsonl","cwd":"/home/dev/proj","hook_event_name":"PreToolUse","model":"gpt-5.6-sol","permission_mode":"bypassPermissions","tool_name":"mcp__lab__lab_echo","tool_input":{"text":"hi"},"tool_use_id":"exec-912a7a10-0cd6-40dc-88a0-6aa6c875c109"}"#;
    let mut started =
        call("mcp__lab__lab_echo", "exec-912a7a10-0cd6-40dc-88a0-6aa6c875c109", "t", json!({"text": "hi"}));
    started.mcp_server = Some("lab".into());
    assert_eq!(seen(before), [Seen::ToolStart(started.clone())]);
    let result = json!({"content": [{"type": "text", "text": "echo: hi"}], "structuredContent": {"echoed": "hi"}, "isError": false});
    let after = before
        .replace("PreToolUse", "PostToolUse")
        .replace(r#""tool_use_id""#, &format!(r#""tool_response":{result},"tool_use_id""#));
    assert_eq!(seen(&after), [Seen::ToolEnd { call: started.clone(), result: worked(result) }]);
    // Not recorded: so far Codex fires no PostToolUse for a failed call.
    let failed = after.replace(r#""isError":false"#, r#""isError":true"#);
    let [Seen::ToolEnd { result, .. }] = parts::<1>(&failed) else { panic!("no end") };
    assert_eq!((result.ok, result.error.as_deref()), (false, Some("echo: hi")));
}

#[test]
fn the_tools_for_subagents_are_tools_like_any_other() {
    // 0.171.0
    let after = r#"{"session_id":"s","turn_id":"t","transcript_path":"/t.jsonl","cwd":"/home/dev/proj","hook_event_name":"PostToolUse","model":"gpt-5.6-sol","permission_mode":"bypassPermissions","tool_name":"collaborationwait_agent","tool_input":{"timeout_ms":15000},"tool_response":"{\"message\":\"Wait completed.\",\"timed_out\":false}","tool_use_id":"call_lab54"}"#;
    let waited = call("collaborationwait_agent", "call_lab54", "t", json!({"timeout_ms": 15000}));
    let result = worked(json!(r#"{"message":"Wait completed.","timed_out":false}"#));
    assert_eq!(seen(after), [Seen::ToolEnd { call: waited, result }]);
}

/// The request of a payload, and the input of the call that it is about.
fn request_and_call(request: &str, before: &str) -> (Need, Option<Value>) {
    let [Seen::NeedsYou(need)] = parts::<1>(request) else { panic!("no request") };
    let [Seen::ToolStart(call)] = parts::<1>(before) else { panic!("no call") };
    (need, call.input)
}

#[test]
fn a_permission_request_pairs_with_its_call() {
    // 0.171.0: a shell call
    let (need, input) = request_and_call(
        r#"{"session_id":"s","turn_id":"01a22b95-5aac-77a1-bf2b-abe7c3328864","transcript_path":"/t.jsonl","cwd":"/home/dev/proj","hook_event_name":"PermissionRequest","model":"gpt-5.5","permission_mode":"default","tool_name":"Bash","tool_input":{"command":"echo escalated","description":"Run echo outside the sandbox?"}}"#,
        r#"{"session_id":"s","turn_id":"01a22b95-5aac-77a1-bf2b-abe7c3328864","transcript_path":"/t.jsonl","cwd":"/home/dev/proj","hook_event_name":"PreToolUse","model":"gpt-5.5","permission_mode":"default","tool_name":"Bash","tool_input":{"command":"echo escalated"},"tool_use_id":"call_lab66"}"#,
    );
    let turn = "01a22b95-5aac-77a1-bf2b-abe7c3328864";
    let as_it_came = json!({"command": "echo escalated", "description": "Run echo outside the sandbox?"});
    assert_eq!(
        need,
        Need {
            kind: AttentionKind::Permission,
            id: Some(ids::permission_id(turn, "Bash", &as_it_came)),
            turn: Some(turn.into()),
            tool: Some("Bash".into()),
            input,
            message: Some("Run echo outside the sandbox?".into()),
            reminder: false,
        }
    );
    // 0.171.0: a patch
    let (need, input) = request_and_call(
        r#"{"session_id":"s","turn_id":"t","transcript_path":"/t.jsonl","cwd":"/home/dev/proj","hook_event_name":"PermissionRequest","model":"gpt-5.5","permission_mode":"default","tool_name":"apply_patch","tool_input":{"command":"*** Begin Patch\n*** Add File: added.txt\n+hello from patch\n*** End Patch"}}"#,
        r#"{"session_id":"s","turn_id":"t","transcript_path":"/t.jsonl","cwd":"/home/dev/proj","hook_event_name":"PreToolUse","model":"gpt-5.5","permission_mode":"default","tool_name":"apply_patch","tool_input":{"command":"*** Begin Patch\n*** Add File: added.txt\n+hello from patch\n*** End Patch\n"},"tool_use_id":"call_lab68"}"#,
    );
    assert_eq!((need.input, need.message), (input, None));
    // 0.171.0: MCP
    let (need, input) = request_and_call(
        r#"{"session_id":"s","turn_id":"t","transcript_path":"/t.jsonl","cwd":"/home/dev/proj","hook_event_name":"PermissionRequest","model":"gpt-5.5","permission_mode":"default","tool_name":"mcp__lab__lab_write","tool_input":{"text":"w"}}"#,
        r#"{"session_id":"s","turn_id":"t","transcript_path":"/t.jsonl","cwd":"/home/dev/proj","hook_event_name":"PreToolUse","model":"gpt-5.5","permission_mode":"default","tool_name":"mcp__lab__lab_write","tool_input":{"text":"w"},"tool_use_id":"call_lab65"}"#,
    );
    assert_eq!(need.input, input);
}

#[test]
fn a_question_needs_the_person() {
    // 0.171.0, plan mode
    let before = r#"{"session_id":"s","turn_id":"t","transcript_path":"/t.jsonl","cwd":"/home/dev/proj","hook_event_name":"PreToolUse","model":"gpt-5.5","permission_mode":"default","tool_name":"request_user_input","tool_input":{"questions":[{"id":"q1","header":"Pick","question":"Which one?","options":[{"label":"A","description":"a"},{"label":"B","description":"b"}]}]},"tool_use_id":"call_lab69"}"#;
    let [Seen::ToolStart(asked), Seen::NeedsYou(need)] = parts::<2>(before) else { panic!("not both") };
    assert_eq!(asked.call.as_deref(), Some("call_lab69"));
    assert_eq!((need.kind, need.id.as_deref()), (AttentionKind::Question, Some("call_lab69")));
    assert_eq!((need.message.as_deref(), need.turn.as_deref()), (Some("Which one?"), Some("t")));
    let after = before
        .replace("PreToolUse", "PostToolUse")
        .replace(r#""tool_use_id""#, r#""tool_response":"{\"answers\":{\"q1\":{\"answers\":[\"A\"]}}}","tool_use_id""#);
    let result = worked(json!(r#"{"answers":{"q1":{"answers":["A"]}}}"#));
    assert_eq!(seen(&after), [Seen::ToolEnd { call: asked, result }]);
}

const CHILD: &str = "01a22b7c-9b21-7131-90ec-42aa6a773772";

#[test]
fn a_subagent_is_no_session_of_its_own() {
    // 0.171.0
    let start = mapped(
        r#"{"session_id":"01a22b7c-9949-72e1-9862-16510da6ef79","turn_id":"01a22b7c-9b30-77b1-9b1c-01f2ec6c4419","transcript_path":"/home/dev/.codex/sessions/2026/11/30/rollout-2026-11-30T08-05-16-01a22b7c-9b21-7131-90ec-42aa6a773772.jsonl","cwd":"/home/dev/proj","hook_event_name":"SubagentStart","model":"gpt-5.6-sol","permission_mode":"bypassPermissions","agent_id":"01a22b7c-9b21-7131-90ec-42aa6a773772","agent_type":"default"}"#,
    );
    let agent_type = Some("default".to_owned());
    assert_eq!(
        start,
        Mapped {
            session: Some("01a22b7c-9949-72e1-9862-16510da6ef79".into()),
            cwd: Some(CWD.into()),
            event: "SubagentStart".into(),
            seen: vec![Seen::SubagentStart { agent: CHILD.into(), agent_type: agent_type.clone() }],
            ..Mapped::default()
        },
        "neither the child's file nor its model are the session's"
    );
    // 0.171.0
    let stop = r#"{"session_id":"01a22b7c-9949-72e1-9862-16510da6ef79","turn_id":"01a22b7c-9b30-77b1-9b1c-01f2ec6c4419","transcript_path":"/root.jsonl","agent_transcript_path":"/child.jsonl","cwd":"/home/dev/proj","hook_event_name":"SubagentStop","model":"gpt-5.6-sol","permission_mode":"bypassPermissions","stop_hook_active":false,"agent_id":"01a22b7c-9b21-7131-90ec-42aa6a773772","agent_type":"default","last_assistant_message":"Code mode ran."}"#;
    assert_eq!(seen(stop), [Seen::SubagentEnd { agent: CHILD.into(), agent_type }]);
}

#[test]
fn a_subagents_call_keeps_its_own_turn_beside_the_agent() {
    // 0.171.0
    let before = r#"{"session_id":"01a22b7c-9949-72e1-9862-16510da6ef79","turn_id":"01a22b7c-9b30-77b1-9b1c-01f2ec6c4419","agent_id":"01a22b7c-9b21-7131-90ec-42aa6a773772","agent_type":"default","transcript_path":"/child.jsonl","cwd":"/home/dev/proj","hook_event_name":"PreToolUse","model":"gpt-5.6-sol","permission_mode":"bypassPermissions","tool_name":"Bash","tool_input":{"command":"echo hello-code-mode"},"tool_use_id":"exec-a1986cac-f061-42a0-9111-ba6f73fba7ca"}"#;
    let mut started = call(
        "Bash",
        "exec-a1986cac-f061-42a0-9111-ba6f73fba7ca",
        "01a22b7c-9b30-77b1-9b1c-01f2ec6c4419",
        json!({"command": "echo hello-code-mode"}),
    );
    started.agent = Some(CHILD.into());
    let mapped = mapped(before);
    assert_eq!(mapped.seen, [Seen::ToolStart(started)]);
    assert_eq!((mapped.transcript, mapped.model), (None, None));
    // Not recorded: were a child to report its own stop, the root's turn would go on.
    let stop = before.replace("PreToolUse", "Stop");
    assert_eq!(seen(&stop), [Seen::Activity]);
}

fn notified(argument: &str) -> Mapped {
    map(&hook("notify", argument)).expect("mapped")
}

#[test]
fn notify_tells_the_end_of_a_turn() {
    // 0.171.0; the process ran elsewhere
    let mapped = notified(
        r#"{"type":"agent-turn-complete","thread-id":"01a22b87-c734-7623-acef-ce34069abe9b","turn-id":"01a22b87-c75c-7fb3-8632-cdd8d3532376","cwd":"/home/dev/proj","client":"codex_exec","input-messages":["LAB:ok go"],"last-assistant-message":"Command ran."}"#,
    );
    assert_eq!(
        mapped,
        Mapped {
            session: Some("01a22b87-c734-7623-acef-ce34069abe9b".into()),
            cwd: Some(CWD.into()),
            event: "notify".into(),
            seen: vec![Seen::Stop { turn: Some("01a22b87-c75c-7fb3-8632-cdd8d3532376".into()), kind: StopKind::Final }],
            endless: true,
            ..Mapped::default()
        }
    );
    let without_cwd = notified(
        r#"{"type":"agent-turn-complete","thread-id":"t","turn-id":"u","client":"codex-tui","input-messages":["x"]}"#,
    );
    assert_eq!(without_cwd.cwd, None, "never the folder of the process");
}

#[test]
fn notify_for_turns_that_are_not_the_persons_is_dropped() {
    for argument in [
        // 0.171.0: the thread that makes the title
        r#"{"type":"agent-turn-complete","thread-id":"01a22b80-6c23-7633-8499-425c1b09962b","turn-id":"01a22b80-6c54-7d00-b59e-50157d3ecfba","cwd":"/home/dev/proj","client":"codex-tui","input-messages":["Generate a concise, single-line task title of at most 36 characters and under five words where possible. Start with an imperative verb.\n\nUser prompt:\nLAB:cmok first tui turn"],"last-assistant-message":"Code mode ran."}"#,
        // 0.144.6: a subagent
        r#"{"type":"agent-turn-complete","thread-id":"01a22b8f-fe13-7de1-a592-a7e577c1e3ed","turn-id":"01a22b8f-fe30-74e1-a058-e048a761c5e9","cwd":"/home/dev/proj","input-messages":[],"last-assistant-message":"Code mode ran."}"#,
        // a notice of another kind
        r#"{"type":"something-new","thread-id":"t","cwd":"/p","client":"codex-tui"}"#,
    ] {
        assert_eq!(notified(argument).seen, []);
    }
    let nameless = hook("notify", r#"{"type":"agent-turn-complete","cwd":"/p","client":"codex-tui"}"#);
    assert_eq!(map(&nameless), Err(MapError::Unusable("it names no thread".into())));
}

#[test]
fn a_cut_or_unknown_payload_is_taken_for_what_it_says() {
    let cut =
        map(&hook("Stop", r#"{"session_id":"s1","turn_id":"t1","cwd":"/p","last_assistant_mess"#)).expect("mapped");
    assert!(cut.partial);
    assert_eq!(cut.seen, [Seen::Stop { turn: Some("t1".into()), kind: StopKind::Final }]);
    let unknown = hook("Novelty", r#"{"session_id":"s1","hook_event_name":"Novelty"}"#);
    assert_eq!(map(&unknown), Err(MapError::UnknownEvent("Novelty".into())));
}
