//! Lines as the extension writes them; the fixtures hold whole sessions.

use serde_json::json;
use sessionpipe_core::job::Header;
use sessionpipe_core::payload;
use sessionpipe_core::seen::{CompactTrigger, PromptBy, StartSource, ToolResult};

use super::*;

const ROOT: &str = "01a22b90-d8be-7000-a21a-624715d72394";
const CHILD: &str = "01a22b90-de7b-7000-9b31-574dce510cfd";
const FILE: &str =
    "/home/dev/.omp/agent/sessions/-proj/2026-11-30T08-27-22-686Z_01a22b90-d8be-7000-a21a-624715d72394.jsonl";
const CHILD_FILE: &str =
    "/home/dev/.omp/agent/sessions/-proj/2026-11-30T08-27-22-686Z_01a22b90-d8be-7000-a21a-624715d72394/SubJob.jsonl";

fn mapped(session: &str, file: &str, event: &str, mut line: Value) -> Mapped {
    for (name, value) in
        [("session_id", session), ("transcript_path", file), ("cwd", "/home/dev/proj"), ("model", "lab-model")]
    {
        line[name] = value.into();
    }
    let header = Header { harness: "omp".to_owned(), event: event.to_owned(), ..Header::default() };
    let payload = payload::parse(line.to_string().as_bytes()).expect("a line");
    map(&Hook { header, caller: "omp".to_owned(), payload }).expect("mapped")
}

fn seen(event: &str, line: Value) -> Vec<Seen> {
    mapped(ROOT, FILE, event, line).seen
}

fn of_child(event: &str, line: Value) -> Vec<Seen> {
    let mapped = mapped(CHILD, CHILD_FILE, event, line);
    assert_eq!((mapped.session.as_deref(), mapped.parent), (Some(ROOT), None));
    assert_eq!((mapped.transcript, mapped.model, mapped.title), (None, None, None), "none of the root's");
    mapped.seen
}

fn call(tool: &str) -> ToolCall {
    ToolCall { tool: tool.to_owned(), call: Some("call_1".to_owned()), ..ToolCall::default() }
}

const STOP: Seen = Seen::Stop { turn: None, kind: StopKind::Final };

#[test]
fn sessions_are_left_for_others() {
    assert_eq!(
        seen("session_start", json!({"source": "resume"})),
        [Seen::SessionStart { source: StartSource::Resume }]
    );
    for event in ["session_switch", "session_branch"] {
        let left = json!({"left": true, "source": "fork"});
        assert_eq!(seen(event, left), [Seen::SessionEnd { reason: EndReason::Other }], "{event}");
        assert_eq!(seen(event, json!({"source": "fork"})), [Seen::SessionStart { source: StartSource::Fork }]);
    }
}

#[test]
fn a_session_that_only_waited_ends_its_turn() {
    let end = Seen::SessionEnd { reason: EndReason::Other };
    assert_eq!(seen("session_shutdown", json!({"outcome": "completed"})), [STOP, end.clone()]);
    let failed = Seen::Failed { turn: None, error: Some("500".to_owned()) };
    assert_eq!(seen("session_shutdown", json!({"outcome": "error", "error": "500"})), [failed, end.clone()]);
    assert_eq!(seen("session_shutdown", json!({})), [end], "in the middle of a run, or of nothing");
}

#[test]
fn turns_end_with_session_stop_or_an_abort() {
    assert_eq!(seen("session_stop", json!({"outcome": "completed"})), [STOP]);
    let failed = Seen::Failed { turn: None, error: Some("400".to_owned()) };
    assert_eq!(seen("session_stop", json!({"outcome": "error", "error": "400"})), [failed]);
    assert_eq!(seen("agent_end", json!({"outcome": "aborted"})), [Seen::Aborted { turn: None }]);
    for outcome in [json!({}), json!({"outcome": "completed"}), json!({"outcome": "error"})] {
        assert_eq!(seen("agent_end", outcome), [Seen::Activity]);
    }
    let prompt = Seen::Prompt { turn: None, chars: Some(21), by: PromptBy::Person };
    assert_eq!(seen("before_agent_start", json!({"prompt_chars": 21})), [prompt]);
}

#[test]
fn approvals_and_questions_need_the_person() {
    let line = || json!({"tool_name": "bash", "tool_use_id": "call_1", "message": "it deletes"});
    let need = Need {
        kind: AttentionKind::Permission,
        id: Some("call_1".to_owned()),
        turn: None,
        tool: Some("bash".to_owned()),
        input: None,
        message: Some("it deletes".to_owned()),
        reminder: false,
    };
    assert_eq!(seen("tool_approval_requested", line()), [Seen::NeedsYou(need)]);
    let kind = Some(AttentionKind::Permission);
    let answered = Seen::Answered { kind, id: Some("call_1".to_owned()), how: Cleared::Answered };
    assert_eq!(seen("tool_approval_resolved", line()), [answered]);

    let input = json!({"questions": [{"id": "q", "question": "Which one?", "options": []}]});
    let ask = ToolCall { input: Some(input.clone()), ..call("ask") };
    let need = Need {
        kind: AttentionKind::Question,
        id: Some("call_1".to_owned()),
        turn: None,
        tool: Some("ask".to_owned()),
        input: Some(input.clone()),
        message: Some("Which one?".to_owned()),
        reminder: false,
    };
    let line = json!({"tool_name": "ask", "tool_use_id": "call_1", "tool_input": input});
    assert_eq!(seen("tool_execution_start", line), [Seen::ToolStart(ask), Seen::NeedsYou(need)]);
}

#[test]
fn files_that_were_written_are_named() {
    let mut line =
        json!({"tool_name": "edit", "tool_use_id": "call_1", "tool_response": "done", "files": ["/a", "/b"]});
    let result = ToolResult { ok: true, output: Some("done".into()), ..ToolResult::default() };
    let end = Seen::ToolEnd { call: call("edit"), result: result.clone() };
    let changed = Seen::FilesChanged { paths: vec!["/a".to_owned(), "/b".to_owned()] };
    assert_eq!(seen("tool_execution_end", line.clone()), [end, changed]);
    line["failed"] = true.into();
    let result = ToolResult { ok: false, error: Some("done".to_owned()), ..result };
    assert_eq!(seen("tool_execution_end", line), [Seen::ToolEnd { call: call("edit"), result }]);
}

#[test]
fn a_subagent_is_told_under_its_root() {
    let agent = || CHILD.to_owned();
    let start = Seen::SubagentStart { agent: agent(), agent_type: None };
    assert_eq!(of_child("session_start", json!({"source": "startup"})), [start]);
    let inner = ToolCall { agent: Some(agent()), ..call("bash") };
    let line = || json!({"tool_name": "bash", "tool_use_id": "call_1"});
    assert_eq!(of_child("tool_execution_start", line()), [Seen::ToolStart(inner)]);
    for (event, line) in [
        ("before_agent_start", json!({"prompt_chars": 3})),
        ("session_stop", json!({"outcome": "completed"})),
        ("agent_end", json!({"outcome": "aborted"})),
        ("session_compact", json!({"trigger": "auto"})),
    ] {
        assert_eq!(of_child(event, line), [Seen::Activity], "{event}");
    }
    let end = Seen::SubagentEnd { agent: agent(), agent_type: None };
    assert_eq!(of_child("session_shutdown", json!({"outcome": "completed"})), [Seen::Activity, end.clone()]);
    assert_eq!(of_child("session_shutdown", json!({})), [end]);
}

#[test]
fn a_compaction_has_its_trigger() {
    let begun = Seen::CompactStart { trigger: CompactTrigger::Manual };
    assert_eq!(seen("session_before_compact", json!({"trigger": "manual"})), [begun]);
    let done = Seen::Compacted { trigger: Some(CompactTrigger::Auto) };
    assert_eq!(seen("session_compact", json!({"trigger": "auto"})), [done]);
}
