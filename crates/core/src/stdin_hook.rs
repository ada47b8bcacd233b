//! The table-driven mapper. Most harnesses feed Claude-shaped JSON on stdin: an adapter's [`Harness::events`] says what
//! each native event means, [`Fields`] how its members are spelled, and [`map`] does the rest. An adapter adds code only
//! for what its harness does differently.

use std::borrow::Cow;

use serde_json::Value;

use crate::adapter::MapError;
use crate::harness::{Harness, Means, NativeEvent};
use crate::job::Hook;
use crate::seen::{
    AttentionKind, CompactTrigger, EndReason, Mapped, Need, PromptBy, Seen, StartSource, StopKind, ToolCall, ToolResult,
};

/// The names of a payload's members: several where a harness has more than one spelling, the best first.
#[derive(Debug)]
pub struct Fields {
    /// The session's id.
    pub session: &'static [&'static str],
    /// The native event.
    pub event: &'static [&'static str],
    /// The folder.
    pub cwd: &'static [&'static str],
    /// The transcript file.
    pub transcript: &'static [&'static str],
    /// The model's name.
    pub model: &'static [&'static str],
    /// The turn's id.
    pub turn: &'static [&'static str],
    /// The subagent's id.
    pub agent: &'static [&'static str],
    /// The subagent's type.
    pub agent_type: &'static [&'static str],
    /// The prompt's text.
    pub prompt: &'static [&'static str],
    /// The tool's name.
    pub tool: &'static [&'static str],
    /// The tool call's id.
    pub call: &'static [&'static str],
    /// What the tool is called with.
    pub input: &'static [&'static str],
    /// What the tool gave back.
    pub output: &'static [&'static str],
    /// What went wrong.
    pub error: &'static [&'static str],
    /// How long the call took, in milliseconds.
    pub ms: &'static [&'static str],
    /// What to tell the person.
    pub message: &'static [&'static str],
    /// The file that changed.
    pub file: &'static [&'static str],
}

/// The names that Claude-shaped payloads use.
pub const FIELDS: Fields = Fields {
    session: &["session_id"],
    event: &["hook_event_name"],
    cwd: &["cwd"],
    transcript: &["transcript_path"],
    model: &["model"],
    turn: &["turn_id", "prompt_id"],
    agent: &["agent_id"],
    agent_type: &["agent_type"],
    prompt: &["prompt"],
    tool: &["tool_name"],
    call: &["tool_use_id"],
    input: &["tool_input"],
    output: &["tool_response"],
    error: &["error"],
    ms: &["duration_ms"],
    message: &["message"],
    file: &["file_path"],
};

/// Model names that mean that the harness has not decided.
const NO_MODEL: [&str; 2] = ["auto", "default"];

/// Longer names of events, in characters, are cut: none is known.
const MAX_NAME: usize = 64;

/// The event of a hook call. The payload names it; a borrowed or cut one may not, or may spell it in its own way: then argv
/// does.
#[must_use]
pub fn native_event(harness: &Harness, fields: &Fields, hook: &Hook) -> Option<&'static NativeEvent> {
    let named = hook.payload.text(fields.event).and_then(|name| harness.event(name));
    named.or_else(|| harness.event(&hook.header.event))
}

/// Maps one hook call by the table.
///
/// # Errors
/// When the event is none of the harness's, or nothing names a session that the tracker could find.
pub fn map(harness: &Harness, fields: &Fields, hook: &Hook) -> Result<Mapped, MapError> {
    let payload = &hook.payload;
    let text = |names: &[&str]| payload.text(names).map(str::to_owned);
    let name: String = payload.text(fields.event).unwrap_or(&hook.header.event).chars().take(MAX_NAME).collect();
    let Some(native) = native_event(harness, fields, hook) else { return Err(MapError::UnknownEvent(name)) };

    let turn = text(fields.turn);
    let agent = text(fields.agent);
    let agent_type = text(fields.agent_type);
    let call = || ToolCall {
        tool: text(fields.tool).unwrap_or_else(|| "unknown".to_owned()),
        call: text(fields.call),
        turn: turn.clone(),
        agent: agent.clone(),
        input: payload.value(fields.input).cloned(),
        mcp_server: mcp_server(&payload.members),
    };
    let trigger = payload.text(&["trigger"]).and_then(|trigger| match trigger {
        "manual" => Some(CompactTrigger::Manual),
        "auto" => Some(CompactTrigger::Auto),
        _ => None,
    });
    let error = || payload.value(fields.error).map(plain_text);

    let seen = match native.means {
        Means::SessionStart => match payload.text(&["source"]) {
            Some("compact") => vec![Seen::Compacted { trigger }],
            source => vec![Seen::SessionStart { source: start_source(source) }],
        },
        Means::SessionEnd => vec![Seen::SessionEnd { reason: end_reason(payload.text(&["reason"])) }],
        Means::Prompt => vec![Seen::Prompt {
            turn,
            chars: payload.value(fields.prompt).and_then(Value::as_str).map(|p| p.chars().count() as u64),
            by: PromptBy::Person,
        }],
        Means::Stop | Means::TurnNotice => vec![Seen::Stop { turn, kind: StopKind::Final }],
        Means::StopFailure => match agent {
            // A subagent that failed ends itself, not the turn.
            Some(agent) => vec![Seen::SubagentEnd { agent, agent_type }],
            None => vec![Seen::Failed { turn, error: error() }],
        },
        Means::Interrupt => vec![Seen::Aborted { turn }],
        // A subagent's is not the turn's.
        Means::CallFailure if agent.is_some() => vec![Seen::Activity],
        Means::CallFailure => vec![Seen::CallFailed { error: error().unwrap_or_default() }],
        Means::Working => vec![Seen::Working { turn }],
        Means::ToolStart => vec![Seen::ToolStart(call())],
        Means::ToolEnd | Means::ToolFailure => vec![Seen::ToolEnd {
            call: call(),
            result: ToolResult {
                ok: native.means == Means::ToolEnd,
                error: if native.means == Means::ToolEnd { None } else { error() },
                output: payload.value(fields.output).cloned(),
                ms: payload.value(fields.ms).and_then(Value::as_u64),
            },
        }],
        Means::ToolBatch => {
            vec![Seen::ToolsSettled { agent, calls: batch(fields, payload.members.get("tool_calls"), turn.as_deref()) }]
        }
        Means::PermissionRequest => vec![Seen::NeedsYou(Need {
            kind: AttentionKind::Permission,
            id: text(fields.call),
            turn,
            tool: text(fields.tool),
            input: payload.value(fields.input).cloned(),
            message: text(fields.message),
            reminder: false,
        })],
        Means::Elicitation => vec![Seen::NeedsYou(Need {
            kind: AttentionKind::Elicitation,
            id: None,
            turn,
            tool: None,
            input: None,
            message: text(fields.message),
            reminder: false,
        })],
        Means::SubagentStart | Means::SubagentEnd => match agent {
            Some(agent) if native.means == Means::SubagentStart => vec![Seen::SubagentStart { agent, agent_type }],
            Some(agent) => vec![Seen::SubagentEnd { agent, agent_type }],
            None => vec![Seen::Activity],
        },
        Means::CompactStart => vec![Seen::CompactStart { trigger: trigger.unwrap_or(CompactTrigger::Auto) }],
        Means::Compacted => vec![Seen::Compacted { trigger }],
        // One that names no file says nothing.
        Means::FileChanged => {
            text(fields.file).map(|path| Seen::FilesChanged { paths: vec![path] }).into_iter().collect()
        }
        Means::Notification => vec![Seen::Activity],
        // Nothing of ours: the worker drops a call without anything seen.
        Means::Ignored | Means::StreamEnd => Vec::new(),
    };

    let mapped = Mapped {
        session: text(fields.session),
        parent: None,
        cwd: text(fields.cwd).or_else(|| hook.header.cwd.clone()),
        transcript: text(fields.transcript),
        model: text(fields.model).filter(|model| !NO_MODEL.contains(&model.as_str())),
        title: None,
        version: None,
        event: name,
        partial: payload.partial,
        endless: false,
        anywhere: false,
        seen,
    };
    if mapped.session.is_none() && mapped.cwd.is_none() {
        return Err(MapError::Unusable("it names no session and no folder".to_owned()));
    }
    Ok(mapped)
}

/// The hook with the session's id in its payload: where that is empty or cut, a variable may have it.
#[must_use]
pub fn with_session<'a>(hook: &'a Hook, var: &str) -> Cow<'a, Hook> {
    match hook.header.env.get(var) {
        Some(id) if hook.payload.text(FIELDS.session).is_none() => {
            let mut hook = hook.clone();
            hook.payload.members.insert("session_id".to_owned(), Value::from(id.as_str()));
            Cow::Owned(hook)
        }
        _ => Cow::Borrowed(hook),
    }
}

/// `source` of a session start.
#[must_use]
pub fn start_source(source: Option<&str>) -> StartSource {
    match source {
        Some("startup" | "new") => StartSource::Startup,
        Some("resume") => StartSource::Resume,
        Some("clear") => StartSource::Clear,
        Some("fork") => StartSource::Fork,
        _ => StartSource::Unknown,
    }
}

/// `reason` of a session end.
#[must_use]
pub fn end_reason(reason: Option<&str>) -> EndReason {
    match reason {
        Some("clear") => EndReason::Clear,
        Some("logout") => EndReason::Logout,
        Some("exit" | "prompt_input_exit" | "user_exit") => EndReason::Exit,
        _ => EndReason::Other,
    }
}

/// A string as it is, anything else as compact JSON.
#[must_use]
pub fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// `mcp_server.name`, where the payload says it.
fn mcp_server(members: &serde_json::Map<String, Value>) -> Option<String> {
    Some(members.get("mcp_server")?.get("name")?.as_str()?.to_owned())
}

fn batch(fields: &Fields, calls: Option<&Value>, turn: Option<&str>) -> Vec<(ToolCall, Option<String>)> {
    let member =
        |call: &Value, names: &[&str]| names.iter().find_map(|n| call.get(*n)).filter(|v| !v.is_null()).cloned();
    let text = |call: &Value, names: &[&str]| member(call, names).as_ref().and_then(Value::as_str).map(str::to_owned);
    calls
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|call| {
            let output = member(call, fields.output).as_ref().map(plain_text);
            let call = ToolCall {
                tool: text(call, fields.tool).unwrap_or_else(|| "unknown".to_owned()),
                call: text(call, fields.call),
                turn: turn.map(str::to_owned),
                agent: None,
                input: member(call, fields.input),
                mcp_server: None,
            };
            (call, output)
        })
        .collect()
}
