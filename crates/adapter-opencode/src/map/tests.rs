use serde_json::{Value, json};
use sessionpipe_core::job::{Header, Hook};
use sessionpipe_core::payload;
use sessionpipe_core::seen::{PromptBy, StopKind};

use super::*;

fn mapped(event: &str, mut line: Value) -> Mapped {
    line["event"] = event.into();
    line["session_id"] = "ses_1".into();
    line["cwd"] = "/w".into();
    let header = Header { harness: "opencode".into(), event: event.into(), ..Header::default() };
    let payload = payload::parse(line.to_string().as_bytes()).expect("a line");
    map(&Hook { header, caller: "opencode".into(), payload }).expect("mapped")
}

fn seen(event: &str, line: Value) -> Vec<Seen> {
    mapped(event, line).seen
}

#[test]
fn a_session_starts_by_its_creation_or_by_the_prompt_that_resumes_it() {
    let start = |source: &str| seen("session.created", json!({"source": source}));
    assert_eq!(start("startup"), [Seen::SessionStart { source: StartSource::Startup }]);
    assert_eq!(start("fork"), [Seen::SessionStart { source: StartSource::Fork }]);
    let prompt = Seen::Prompt { turn: Some("msg_1".into()), chars: Some(3), by: PromptBy::Person };
    let line = json!({"turn_id": "msg_1", "prompt_chars": 3, "model": "m"});
    let all = mapped("chat.message", line.clone());
    assert_eq!((all.model.as_deref(), all.seen), (Some("m"), vec![prompt.clone()]));
    let mut resumed = line;
    resumed["source"] = "resume".into();
    assert_eq!(seen("chat.message", resumed), [Seen::SessionStart { source: StartSource::Resume }, prompt]);
}

#[test]
fn a_session_of_a_subagent_is_the_subagent() {
    let line = || json!({"turn_id": "msg_1", "agent_id": "ses_2", "agent_type": "general", "source": "startup"});
    let (agent, agent_type) = ("ses_2".to_owned(), Some("general".to_owned()));
    let start = Seen::SubagentStart { agent: agent.clone(), agent_type: agent_type.clone() };
    let end = Seen::SubagentEnd { agent: agent.clone(), agent_type };
    for event in ["session.created", "chat.message"] {
        assert_eq!(seen(event, line()), std::slice::from_ref(&start), "{event}");
    }
    for event in ["session.idle", "session.error"] {
        assert_eq!(seen(event, line()), std::slice::from_ref(&end), "{event}");
    }
    assert_eq!(seen("session.compacted", line()), [Seen::Activity], "its context is not the session's");
    let [Seen::ToolStart(call)] = &seen("tool.execute.before", line())[..] else { panic!("one call") };
    assert_eq!(call.agent.as_ref(), Some(&agent));
}

#[test]
fn a_turn_ends_idle_broken_off_or_failed() {
    let turn = || Some("msg_1".to_owned());
    assert_eq!(seen("session.idle", json!({"turn_id": "msg_1"})), [Seen::Stop { turn: turn(), kind: StopKind::Final }]);
    let error = |outcome: &str| seen("session.error", json!({"turn_id": "msg_1", "outcome": outcome, "error": "why"}));
    assert_eq!(error("aborted"), [Seen::Aborted { turn: turn() }]);
    assert_eq!(error("error"), [Seen::Failed { turn: turn(), error: Some("why".into()) }]);
}

#[test]
fn sessions_end_with_the_process_or_when_they_are_deleted() {
    assert_eq!(seen("dispose", json!({})), [Seen::SessionEnd { reason: EndReason::Exit }]);
    assert_eq!(seen("session.deleted", json!({})), [Seen::SessionEnd { reason: EndReason::Other }]);
    assert_eq!(seen("stream.end", json!({})), []);
}

#[test]
fn a_command_fails_by_its_exit_code_and_a_call_by_its_part() {
    let result = |event: &str, line: Value| match &seen(event, line)[..] {
        [Seen::ToolEnd { result, .. }] => result.clone(),
        other => panic!("{other:?}"),
    };
    let line = |exit: Value| json!({"tool_name": "bash", "tool_use_id": "c", "tool_response": "x", "exit": exit});
    let worked = ToolResult { ok: true, output: Some("x".into()), ..ToolResult::default() };
    let failed = ToolResult { ok: false, error: Some("exit code 3".into()), ..worked.clone() };
    assert_eq!(result("tool.execute.after", line(json!(0))), worked);
    assert_eq!(result("tool.execute.after", line(Value::Null)), worked);
    assert_eq!(result("tool.execute.after", line(json!(3))), failed);
    let part = json!({"tool_name": "read", "tool_use_id": "c", "failed": true, "error": "no such file"});
    let thrown = ToolResult { ok: false, error: Some("no such file".into()), ..ToolResult::default() };
    assert_eq!(result("message.part.updated", part), thrown);
}

#[test]
fn what_was_written_is_named_where_it_worked() {
    let paths = |tool: &str, input: Value, failed: bool| {
        let line = json!({"tool_name": tool, "tool_use_id": "c", "tool_input": input, "failed": failed});
        seen("tool.execute.after", line).into_iter().find_map(|seen| match seen {
            Seen::FilesChanged { paths } => Some(paths),
            _ => None,
        })
    };
    let file = || json!({"filePath": "/w/a.txt"});
    for tool in ["write", "edit", "multiedit"] {
        assert_eq!(paths(tool, file(), false), Some(vec!["/w/a.txt".to_owned()]), "{tool}");
    }
    assert_eq!(paths("write", file(), true), None);
    assert_eq!(paths("read", file(), false), None);
    let patch =
        "*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@\n-x\n+*** y\n*** Delete File: c\n*** End Patch";
    let expected = ["a", "b", "c"].map(str::to_owned).to_vec();
    assert_eq!(paths("apply_patch", json!({"patchText": patch}), false), Some(expected));
    assert_eq!(paths("apply_patch", json!({}), false), None);
}

#[test]
fn requests_are_asked_and_answered_by_their_id() {
    let line = json!({"request_id": "per_1", "turn_id": "msg_1", "tool_name": "bash", "tool_use_id": "c",
        "tool_input": {"command": "x"}, "message": "x"});
    let need = Need {
        kind: AttentionKind::Permission,
        id: Some("per_1".into()),
        turn: Some("msg_1".into()),
        tool: Some("bash".into()),
        input: Some(json!({"command": "x"})),
        message: Some("x".into()),
        reminder: false,
    };
    assert_eq!(seen("permission.asked", line), [Seen::NeedsYou(need.clone())]);
    let question = Need { kind: AttentionKind::Question, id: Some("que_1".into()), tool: None, input: None, ..need };
    let asked = json!({"request_id": "que_1", "turn_id": "msg_1", "message": "x"});
    assert_eq!(seen("question.asked", asked), [Seen::NeedsYou(question)]);
    for (event, kind, how) in [
        ("permission.replied", AttentionKind::Permission, Cleared::Answered),
        ("question.replied", AttentionKind::Question, Cleared::Answered),
        ("question.rejected", AttentionKind::Question, Cleared::Cancelled),
    ] {
        let expected = Seen::Answered { kind: Some(kind), id: Some("r".into()), how };
        assert_eq!(seen(event, json!({"request_id": "r"})), [expected], "{event}");
    }
}

#[test]
fn each_compaction_is_one_of_its_own() {
    for (word, trigger) in [("auto", CompactTrigger::Auto), ("manual", CompactTrigger::Manual)] {
        assert_eq!(
            seen("session.compacted", json!({"trigger": word})),
            [Seen::CompactStart { trigger }, Seen::Compacted { trigger: Some(trigger) }]
        );
    }
}

#[test]
fn a_title_is_taken_from_an_update() {
    let all = mapped("session.updated", json!({"title": "Fake lab title"}));
    assert_eq!(all.title.map(|(title, _)| title).as_deref(), Some("Fake lab title"));
    assert_eq!(all.seen, [Seen::Activity]);
}
