//! Payloads as agy sent them to others' hooks (see the fixtures for who recorded them), and as its `hooks.md` documents them.

use serde_json::json;
use sessionpipe_core::job::Header;
use sessionpipe_core::payload;
use sessionpipe_core::seen::{StartSource, ToolResult};

use super::*;

const COMMON: &str = r#""artifactDirectoryPath":"/h/.gemini/antigravity-cli/brain/c1","conversationId":"c1","modelName":"gemini-3.8-flash-high","transcriptPath":"/h/.gemini/antigravity-cli/brain/c1/.system_generated/logs/transcript_full.jsonl","workspacePaths":["/srv/projects"]"#;

fn hook(event: &str, payload: &[u8]) -> Hook {
    Hook {
        header: Header {
            event: event.to_owned(),
            harness: "antigravity".to_owned(),
            cwd: Some("/h/.gemini/config".into()),
            ..Header::default()
        },
        caller: "antigravity".to_owned(),
        payload: payload::parse(payload).unwrap_or_else(|_| Payload { partial: true, ..Payload::default() }),
    }
}

/// Maps a payload with the common members and these.
fn mapped(event: &str, members: &str) -> Mapped {
    map(&hook(event, format!("{{{COMMON}{members}}}").as_bytes())).expect("mapped")
}

fn seen(event: &str, members: &str) -> Vec<Seen> {
    mapped(event, members).seen
}

#[test]
fn a_session_begins() {
    assert_eq!(
        mapped("SessionStart", ""),
        Mapped {
            session: Some("c1".into()),
            cwd: Some("/srv/projects".into()),
            transcript: Some("/h/.gemini/antigravity-cli/brain/c1/.system_generated/logs/transcript_full.jsonl".into()),
            model: Some("gemini-3.8-flash-high".into()),
            event: "SessionStart".into(),
            seen: vec![Seen::SessionStart { source: StartSource::Unknown }],
            ..Mapped::default()
        }
    );
}

#[test]
fn the_first_call_of_the_model_opens_the_turn() {
    let prompt = Seen::Prompt { turn: None, chars: None, by: PromptBy::Person };
    assert_eq!(seen("PreInvocation", r#","initialNumSteps":4,"invocationNum":0"#), [prompt]);
    assert_eq!(seen("PreInvocation", r#","initialNumSteps":4,"invocationNum":1"#), [Seen::Working { turn: None }]);
    assert_eq!(seen("PreInvocation", ""), [Seen::Working { turn: None }], "a broken one begins nothing");
    assert_eq!(seen("PostInvocation", r#","initialNumSteps":4,"invocationNum":0"#), []);
}

#[test]
fn the_folder_is_the_first_workspace() {
    let cwd = |workspaces: &str| {
        let payload = format!(r#"{{"conversationId":"c1","workspacePaths":{workspaces}}}"#);
        map(&hook("SessionStart", payload.as_bytes())).expect("mapped").cwd
    };
    assert_eq!(cwd(r#"["/a b/%20","/c"]"#).as_deref(), Some("/a b/%20"), "a path is as it is");
    assert_eq!(cwd(r#"["file:///home/dev/my%20proj"]"#).as_deref(), Some("/home/dev/my proj"));
    assert_eq!(cwd(r#"["file://localhost/home/dev"]"#).as_deref(), Some("/home/dev"));
    assert_eq!(cwd(r#"["file:///home/dev/caf%C3%A9"]"#).as_deref(), Some("/home/dev/café"));
    for none in ["[]", "null", "[7]", r#"[""]"#] {
        assert_eq!(cwd(none), None, "never the folder that hooks run in: {none}");
    }
}

#[test]
fn auto_is_no_model() {
    let model = |name: &str| {
        let payload = format!(r#"{{"conversationId":"c1","modelName":"{name}"}}"#);
        map(&hook("Stop", payload.as_bytes())).expect("mapped").model
    };
    assert_eq!(model("auto"), None);
    assert_eq!(model("gemini-3.5-flash-extra-low").as_deref(), Some("gemini-3.5-flash-extra-low"));
}

fn call(tool: &str, input: Value) -> ToolCall {
    ToolCall { tool: tool.to_owned(), input: Some(input), ..ToolCall::default() }
}

#[test]
fn a_tool_that_worked_and_one_that_failed() {
    let tool = r#","stepIdx":3,"toolCall":{"args":{"CommandLine":"false"},"name":"run_command"}"#;
    let called = call("run_command", json!({"CommandLine": "false"}));
    assert_eq!(seen("PreToolUse", tool), [Seen::ToolStart(called.clone())]);
    let worked = ToolResult { ok: true, ..ToolResult::default() };
    for error in ["", r#","error":"""#, r#","error":null"#] {
        let ended = Seen::ToolEnd { call: called.clone(), result: worked.clone() };
        assert_eq!(seen("PostToolUse", &format!("{tool}{error}")), [ended]);
    }
    let failed = ToolResult { ok: false, error: Some("exit status 1".into()), ..ToolResult::default() };
    assert_eq!(
        seen("PostToolUse", &format!(r#"{tool},"error":"exit status 1""#)),
        [Seen::ToolEnd { call: called, result: failed }]
    );
}

#[test]
fn a_tool_of_an_mcp_server() {
    let args = json!({"ServerName": "lab", "ToolName": "echo", "Arguments": {"ServerName": "no"}});
    let seen = seen("PostToolUse", &format!(r#","toolCall":{{"name":"call_mcp_tool","args":{args}}}"#));
    let called = ToolCall { mcp_server: Some("lab".into()), ..call("call_mcp_tool", args) };
    assert_eq!(seen, [Seen::ToolEnd { call: called, result: ToolResult { ok: true, ..ToolResult::default() } }]);
}

#[test]
fn only_writers_that_worked_change_files() {
    let paths = |tool: &str, target: &str, error: &str| {
        let members = format!(
            r#","error":"{error}","toolCall":{{"name":"{tool}","args":{{"TargetFile":"{target}","AbsolutePath":"/no"}}}}"#
        );
        let seen = seen("PostToolUse", &members);
        seen.into_iter().find_map(|seen| match seen {
            Seen::FilesChanged { paths } => Some(paths),
            _ => None,
        })
    };
    for tool in ["write_to_file", "replace_file_content", "multi_replace_file_content"] {
        assert_eq!(paths(tool, "/p/a.rs", ""), Some(vec!["/p/a.rs".to_owned()]));
    }
    assert_eq!(paths("write_to_file", "file:///p/a%20b.rs", ""), Some(vec!["/p/a b.rs".to_owned()]));
    assert_eq!(paths("write_to_file", "/p/a.rs", "no such folder"), None);
    assert_eq!(paths("write_to_file", "", ""), None);
    assert_eq!(paths("view_file", "/p/a.rs", ""), None);
}

#[test]
fn how_a_turn_stops() {
    let stop = |reason: &str, error: &str, idle: bool| {
        let members =
            format!(r#","executionNum":0,"terminationReason":"{reason}","error":"{error}","fullyIdle":{idle}"#);
        let [seen] = seen("Stop", &members).try_into().expect("one thing seen");
        seen
    };
    let stopped = |kind| Seen::Stop { turn: None, kind };
    let failed = |error: Option<&str>| Seen::Failed { turn: None, error: error.map(str::to_owned) };
    for reason in ["NO_TOOL_CALL", "MAX_INVOCATIONS", "TERMINAL_STEP_TYPE", "some new one", ""] {
        assert_eq!(stop(reason, "", true), stopped(StopKind::Final), "{reason}");
        assert_eq!(stop(reason, "", false), stopped(StopKind::Pause), "{reason}");
        assert_eq!(stop(reason, "boom", true), failed(Some("boom")), "{reason}");
    }
    assert_eq!(stop("ERROR", "quota", true), failed(Some("quota")));
    assert_eq!(stop("ERROR", "", false), failed(None));
    assert_eq!(stop("USER_CANCELED", "context canceled", false), Seen::Aborted { turn: None });
}

#[test]
fn the_environment_names_the_conversation_of_a_broken_payload() {
    for broken in [&b""[..], b"{\"artifactDirectoryPath\":\"/h", b"\xff\xfe", b"[]"] {
        let mut hook = hook("Stop", broken);
        assert_eq!(map(&hook), Err(MapError::Unusable("it names no conversation".into())));
        hook.header.env.insert(CONVERSATION.to_owned(), String::new());
        assert!(map(&hook).is_err());
        hook.header.env.insert(CONVERSATION.to_owned(), "c1".to_owned());
        let mapped = map(&hook).expect("mapped");
        assert_eq!((mapped.session.as_deref(), mapped.partial), (Some("c1"), true));
        assert_eq!(mapped.seen, [Seen::Stop { turn: None, kind: StopKind::Final }]);
    }
    let mut whole = hook("Stop", br#"{"conversationId":"c2"}"#);
    whole.header.env.insert(CONVERSATION.to_owned(), "c1".to_owned());
    assert_eq!(map(&whole).expect("mapped").session.as_deref(), Some("c2"), "the payload knows best");
}

#[test]
fn an_event_that_is_none_of_its() {
    assert_eq!(map(&hook("Unheard", b"{}")), Err(MapError::UnknownEvent("Unheard".into())));
}
