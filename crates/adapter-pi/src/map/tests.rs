//! Lines as the extension writes them; the fixtures hold whole sessions.

use serde_json::json;
use sessionpipe_core::job::Header;
use sessionpipe_core::payload;
use sessionpipe_core::seen::{CompactTrigger, PromptBy, StartSource, StopKind, TitleSource, ToolResult};

use super::*;

fn mapped(event: &str, mut line: Value) -> Mapped {
    for (name, value) in [("session_id", "s1"), ("cwd", "/home/dev/proj"), ("version", "1.6.0")] {
        line[name] = value.into();
    }
    let header = Header { harness: "pi".to_owned(), event: event.to_owned(), ..Header::default() };
    let payload = payload::parse(line.to_string().as_bytes()).expect("a line");
    map(&Hook { header, caller: "pi".to_owned(), payload }).expect("mapped")
}

fn seen(event: &str, line: Value) -> Vec<Seen> {
    mapped(event, line).seen
}

fn call(tool: &str, input: Option<Value>) -> ToolCall {
    ToolCall { tool: tool.to_owned(), call: Some("call_1".to_owned()), input, ..ToolCall::default() }
}

#[test]
fn sessions_begin_and_end_for_a_reason() {
    for (source, expected) in [
        ("startup", StartSource::Startup),
        ("new", StartSource::Startup),
        ("resume", StartSource::Resume),
        ("fork", StartSource::Fork),
        ("reload", StartSource::Unknown),
    ] {
        let line = json!({"source": source, "title": "mine", "title_by": "person"});
        let start = mapped("session_start", line);
        assert_eq!(start.seen, [Seen::SessionStart { source: expected }], "{source}");
        assert_eq!(start.title, Some(("mine".to_owned(), TitleSource::Custom)));
        assert_eq!((start.version.as_deref(), start.cwd.as_deref()), (Some("1.6.0"), Some("/home/dev/proj")));
    }
    for (reason, expected) in [
        ("quit", Seen::SessionEnd { reason: EndReason::Exit }),
        ("new", Seen::SessionEnd { reason: EndReason::Other }),
        ("resume", Seen::SessionEnd { reason: EndReason::Other }),
        ("fork", Seen::SessionEnd { reason: EndReason::Other }),
        ("reload", Seen::Activity),
    ] {
        assert_eq!(seen("session_shutdown", json!({"reason": reason})), [expected], "{reason}");
    }
}

#[test]
fn a_run_that_failed_may_be_tried_again_and_a_settled_one_not() {
    let failed = || json!({"outcome": "error", "error": "500"});
    assert_eq!(seen("agent_end", failed()), [Seen::CallFailed { error: "500".to_owned() }]);
    assert_eq!(seen("agent_settled", failed()), [Seen::Failed { turn: None, error: Some("500".to_owned()) }]);
    for event in ["agent_end", "agent_settled"] {
        assert_eq!(seen(event, json!({"outcome": "aborted"})), [Seen::Aborted { turn: None }]);
        let stop = Seen::Stop { turn: None, kind: StopKind::Final };
        assert_eq!(seen(event, json!({"outcome": "completed"})), [stop]);
    }
}

#[test]
fn prompts_are_counted_and_those_of_extensions_are_no_persons() {
    let prompt = |line| seen("before_agent_start", line);
    let expected = Seen::Prompt { turn: None, chars: Some(24), by: PromptBy::Person };
    assert_eq!(prompt(json!({"prompt_chars": 24})), [expected]);
    let expected = Seen::Prompt { turn: None, chars: None, by: PromptBy::Harness };
    assert_eq!(prompt(json!({"prompt_by": "harness"})), [expected]);
}

#[test]
fn calls_name_their_server_and_writers_their_file() {
    let tool = "mcp__lab__shout";
    let start =
        seen("tool_execution_start", json!({"tool_name": tool, "tool_use_id": "call_1", "tool_input": {"a": 1}}));
    let with_server = ToolCall { mcp_server: Some("lab".to_owned()), ..call(tool, Some(json!({"a": 1}))) };
    assert_eq!(start, [Seen::ToolStart(with_server)]);

    let input = json!({"path": "note.txt", "content": "x"});
    let mut line = json!({"tool_name": "write", "tool_use_id": "call_1", "tool_input": input, "tool_response": "done"});
    let result = ToolResult { ok: true, output: Some("done".into()), ..ToolResult::default() };
    let end = Seen::ToolEnd { call: call("write", Some(input.clone())), result: result.clone() };
    let changed = Seen::FilesChanged { paths: vec!["note.txt".to_owned()] };
    assert_eq!(seen("tool_execution_end", line.clone()), [end, changed]);

    line["failed"] = true.into();
    let result = ToolResult { ok: false, error: Some("done".to_owned()), ..result };
    let end = Seen::ToolEnd { call: call("write", Some(input)), result };
    assert_eq!(seen("tool_execution_end", line), [end], "nothing was written");
}

#[test]
fn an_extension_that_asks_needs_the_person() {
    let asked = seen("ui_prompt_start", json!({"message": "Which one?"}));
    let [Seen::NeedsYou(need)] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!((need.kind, need.message.as_deref()), (AttentionKind::Question, Some("Which one?")));
    let answered = Seen::Answered { kind: Some(AttentionKind::Question), id: None, how: Cleared::Answered };
    assert_eq!(seen("ui_prompt_end", json!({})), [answered]);
}

#[test]
fn a_compaction_has_its_trigger_and_the_rest_is_a_sign_of_life() {
    let begun = Seen::CompactStart { trigger: CompactTrigger::Manual };
    assert_eq!(seen("session_before_compact", json!({"trigger": "manual"})), [begun]);
    let done = Seen::Compacted { trigger: Some(CompactTrigger::Auto) };
    assert_eq!(seen("session_compact", json!({"trigger": "auto"})), [done]);
    for event in ["user_bash", "session_info_changed"] {
        assert_eq!(seen(event, json!({})), [Seen::Activity], "{event}");
    }
    assert_eq!(seen("stream.end", json!({})), []);
}
