//! Native event → [`Seen`]. Most is the table-driven mapper's; here is what Cursor does in its own way:
//!
//! - **The turn is the generation**, but for `cursor-agent -p` and a session's start and end: their `generation_id` is the
//!   conversation's own id and names no turn. That of a thought is the request's to the model.
//! - **`cursor-agent -p` has no prompt and no stop.** Its turn is open while thoughts and tools report, and ends with the
//!   session, by the reason that is given there. The same events, and no others, come from the conversations of subagents:
//!   they alone never tell that a session is over, so such a session is neither working nor lost.
//! - **A thought is told twice** in a terminal, by the model that served it and as `default`: it makes no event of its own.
//! - **`cwd` is empty** for tools of the command line, and hooks of the person's run in `~/.cursor`: the folder is the first
//!   of `workspace_roots`.
//! - **An edit is a Read and a Write** under one `tool_use_id`, which may hold a newline.
//! - **`tool_output` is JSON in a string.**
//! - **`preCompact` has no counterpart**: it is the compaction. Its `model` is the one that sums up.

use std::borrow::Cow;

use serde_json::Value;
use sessionpipe_core::adapter::MapError;
use sessionpipe_core::job::Hook;
use sessionpipe_core::payload::Payload;
use sessionpipe_core::seen::{EndReason, Mapped, Seen, ToolCall, ToolResult, WorkEnd};
use sessionpipe_core::stdin_hook::{self, Fields};

use crate::harness::{HARNESS, PROJECT_VAR, TRANSCRIPT_VAR, VERSION_VAR};
use crate::transcript;

const FIELDS: Fields = Fields {
    // Only the command line sends a session_id; it is the same.
    session: &["conversation_id", "session_id"],
    turn: &["generation_id"],
    agent: &["subagent_id"],
    agent_type: &["subagent_type"],
    output: &["tool_output"],
    error: &["error_message", "failure_type"],
    ..stdin_hook::FIELDS
};

pub(crate) fn map(hook: &Hook) -> Result<Mapped, MapError> {
    let hook = with_own_event(hook);
    let payload = &hook.payload;
    let var = |name| hook.header.env.get(name).filter(|value| !value.is_empty()).cloned();
    let mut mapped = stdin_hook::map(&HARNESS, &FIELDS, &hook)?;
    mapped.transcript = mapped.transcript.or_else(|| var(TRANSCRIPT_VAR));
    let of_transcript = mapped.transcript.as_deref().and_then(transcript::conversation);
    mapped.session = mapped.session.or_else(|| of_transcript.as_ref().map(|conversation| conversation.id.clone()));
    mapped.parent = of_transcript.and_then(|conversation| conversation.parent);
    mapped.cwd = folder(payload).or_else(|| var(PROJECT_VAR));
    mapped.version = payload.text(&["cursor_version"]).map(str::to_owned).or_else(|| var(VERSION_VAR));
    if mapped.session.is_none() && mapped.cwd.is_none() {
        return Err(MapError::Unusable("it names no conversation and no folder".to_owned()));
    }

    mapped.endless =
        mapped.seen.iter().any(|seen| matches!(seen, Seen::Working { .. } | Seen::ToolStart(_) | Seen::ToolEnd { .. }));
    if mapped.seen.iter().any(|seen| matches!(seen, Seen::CompactStart { .. })) {
        mapped.model = None;
    }
    let conversation = mapped.session.clone();
    let turn = |turn: Option<String>| turn.filter(|turn| Some(turn) != conversation.as_ref());
    mapped.seen = mapped.seen.into_iter().flat_map(|seen| refine(seen, payload, turn)).collect();
    if mapped.seen.iter().any(|seen| matches!(seen, Seen::SubagentStart { .. } | Seen::SubagentEnd { .. }))
        && let Some(parent) = payload.text(&["parent_conversation_id"])
    {
        // It may be told by the subagent's own conversation.
        mapped.session = Some(parent.to_owned());
    }
    Ok(mapped)
}

/// The hook with Cursor's own name of its event: a config that Cursor borrows names it in its way, and a payload that is
/// empty or cut does not name it at all.
fn with_own_event(hook: &Hook) -> Cow<'_, Hook> {
    let event = &hook.header.event;
    if HARNESS.event(event).is_some() {
        return Cow::Borrowed(hook);
    }
    // cursor.com/docs/reference/third-party-hooks
    let own = match event.as_str() {
        "UserPromptSubmit" => "beforeSubmitPrompt".to_owned(),
        pascal => pascal.chars().take(1).flat_map(char::to_lowercase).chain(pascal.chars().skip(1)).collect(),
    };
    let mut hook = hook.clone();
    hook.header.event = own;
    Cow::Owned(hook)
}

/// The first of the workspace's folders, else that of the tool.
fn folder(payload: &Payload) -> Option<String> {
    let roots = payload.members.get("workspace_roots").and_then(Value::as_array).into_iter().flatten();
    let root = roots.filter_map(Value::as_str).find(|root| !root.is_empty());
    root.or_else(|| payload.text(FIELDS.cwd)).map(str::to_owned)
}

fn refine(seen: Seen, payload: &Payload, turn: impl Fn(Option<String>) -> Option<String>) -> Vec<Seen> {
    match seen {
        Seen::Working { .. } => vec![Seen::Working { turn: None }],
        Seen::Prompt { turn: id, chars, by } => vec![Seen::Prompt { turn: turn(id), chars, by }],
        Seen::Stop { turn: id, kind } => vec![match payload.text(&["status"]) {
            Some("aborted") => Seen::Aborted { turn: turn(id) },
            Some("error") => {
                Seen::Failed { turn: turn(id), error: payload.text(&["error_message"]).map(str::to_owned) }
            }
            _ => Seen::Stop { turn: turn(id), kind },
        }],
        Seen::ToolStart(call) => vec![Seen::ToolStart(ToolCall { turn: turn(call.turn.clone()), ..call })],
        Seen::ToolEnd { call, result } => {
            let call = ToolCall { turn: turn(call.turn.clone()), ..call };
            let result = refine_result(result, payload);
            let file = changed_file(&call);
            let working = Seen::Working { turn: call.turn.clone() };
            [working].into_iter().chain(Seen::tool_end(call, result, file)).collect()
        }
        Seen::CompactStart { trigger } => vec![seen, Seen::Compacted { trigger: Some(trigger) }],
        // The documented payload of subagentStop names the subagent by its transcript alone.
        Seen::Activity => {
            let agent = payload.text(&["agent_transcript_path"]).and_then(transcript::conversation);
            let agent_type = payload.text(FIELDS.agent_type).map(str::to_owned);
            vec![agent.map_or(Seen::Activity, |agent| Seen::SubagentEnd { agent: agent.id, agent_type })]
        }
        Seen::SessionEnd { .. } => {
            let (how, reason) = session_end(payload.text(&["reason"]));
            vec![Seen::WorkEnds { how }, Seen::SessionEnd { reason }]
        }
        other => vec![other],
    }
}

/// What a session's end says: of the turn that ended with it, and of the session.
fn session_end(reason: Option<&str>) -> (WorkEnd, EndReason) {
    match reason {
        Some("completed") => (WorkEnd::Stop, EndReason::Other),
        Some("error") => (WorkEnd::Error, EndReason::Other),
        Some("window_close" | "user_close") => (WorkEnd::Interrupt, EndReason::Exit),
        _ => (WorkEnd::Interrupt, EndReason::Other),
    }
}

fn refine_result(mut result: ToolResult, payload: &Payload) -> ToolResult {
    // Milliseconds with fractions.
    result.ms = payload.value(&["duration"]).and_then(Value::as_f64).map(|ms| ms.round() as u64);
    if let Some(Value::String(text)) = &result.output
        && let Ok(output @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text)
    {
        result.output = Some(output);
    }
    if result.ok {
        result.error = result.output.as_ref().and_then(failure);
        result.ok = result.error.is_none();
    } else {
        result.error = payload.text(FIELDS.error).map(str::to_owned);
    }
    result
}

/// What went wrong, where a result says so itself: a command's exit code, or the mark of an MCP tool.
fn failure(output: &Value) -> Option<String> {
    match output.get("exitCode").and_then(Value::as_i64) {
        Some(0) | None => {}
        Some(code) => return Some(format!("exit code {code}")),
    }
    let failed = output.get("isError") == Some(&Value::Bool(true));
    failed.then(|| output.pointer("/content/0/text").map_or_else(|| output.to_string(), stdin_hook::plain_text))
}

/// The file that a tool writes or deletes.
fn changed_file(call: &ToolCall) -> Option<String> {
    let input = call.input.as_ref().filter(|_| ["Write", "Delete"].contains(&call.tool.as_str()))?;
    ["file_path", "path"].iter().find_map(|name| Some(input.get(name)?.as_str()?.to_owned()))
}

#[cfg(test)]
mod tests;
