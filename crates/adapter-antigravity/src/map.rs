//! Native event → [`Seen`]. Hooks go through the table-driven mapper; this module holds what Antigravity does in its own way:
//!
//! - **No payload names its event**: argv does. A broken one still has its conversation in the environment.
//! - **The folder is the first workspace**, which may be written as a URI. Hooks run in the folder of `hooks.json`: where there
//!   is no workspace (`agy -p`), no folder is known.
//! - **There is no prompt event.** The model is called many times in a turn; `invocationNum` counts from 0 within it.
//! - **Tools have no call id.** Whether two calls of one answer of the model share their `stepIdx` is not known: it is not
//!   taken for one.
//! - **Stop says how it came to that**: `terminationReason`, `error`, and whether background work goes on (`fullyIdle`).

use percent_encoding::percent_decode_str;
use serde_json::Value;
use sessionpipe_core::adapter::MapError;
use sessionpipe_core::job::Hook;
use sessionpipe_core::payload::Payload;
use sessionpipe_core::seen::{Mapped, PromptBy, Seen, StopKind, ToolCall};
use sessionpipe_core::stdin_hook::{self, Fields};

use crate::HARNESS;
use crate::harness::{CONVERSATION, MCP_TOOL, WRITERS};

/// Its names of a payload's members. What a tool is called with is one level down.
const FIELDS: Fields = Fields {
    session: &["conversationId"],
    event: &[],
    cwd: &[],
    transcript: &["transcriptPath"],
    model: &["modelName"],
    ..stdin_hook::FIELDS
};

pub(crate) fn map(hook: &Hook) -> Result<Mapped, MapError> {
    let payload = &hook.payload;
    let mut mapped = stdin_hook::map(&HARNESS, &FIELDS, hook)?;
    let named = || hook.header.env.get(CONVERSATION).filter(|id| !id.is_empty()).cloned();
    mapped.session = mapped.session.or_else(named);
    if mapped.session.is_none() {
        return Err(MapError::Unusable("it names no conversation".to_owned()));
    }
    mapped.cwd = workspace(payload);
    mapped.seen = mapped.seen.into_iter().flat_map(|seen| refine(seen, payload)).collect();
    Ok(mapped)
}

fn workspace(payload: &Payload) -> Option<String> {
    let first = payload.members.get("workspacePaths")?.get(0)?.as_str()?;
    Some(local_path(first)).filter(|path| !path.is_empty())
}

/// A path that may be written as a URI.
fn local_path(text: &str) -> String {
    // A host may stand before the path.
    match text.strip_prefix("file://").and_then(|uri| uri.get(uri.find('/')?..)) {
        Some(path) => percent_decode_str(path).decode_utf8_lossy().into_owned(),
        None => text.to_owned(),
    }
}

fn refine(seen: Seen, payload: &Payload) -> Vec<Seen> {
    match seen {
        Seen::Prompt { .. } => {
            let begins = payload.members.get("invocationNum").and_then(Value::as_u64) == Some(0);
            let prompt = Seen::Prompt { turn: None, chars: None, by: PromptBy::Person };
            vec![if begins { prompt } else { Seen::Working { turn: None } }]
        }
        Seen::ToolStart(call) => vec![Seen::ToolStart(with_tool(call, payload))],
        Seen::ToolEnd { call, mut result } => {
            let call = with_tool(call, payload);
            result.error = payload.text(FIELDS.error).map(str::to_owned);
            result.ok = result.error.is_none();
            let file = changed_file(&call);
            Seen::tool_end(call, result, file)
        }
        Seen::Stop { .. } => vec![stop(payload)],
        other => vec![other],
    }
}

fn with_tool(mut call: ToolCall, payload: &Payload) -> ToolCall {
    let Some(tool) = payload.members.get("toolCall") else { return call };
    if let Some(name) = tool.get("name").and_then(Value::as_str).filter(|name| !name.is_empty()) {
        name.clone_into(&mut call.tool);
    }
    call.input = tool.get("args").filter(|args| !args.is_null()).cloned();
    if call.tool == MCP_TOOL {
        call.mcp_server = argument(&call, "ServerName").map(str::to_owned);
    }
    call
}

fn argument<'a>(call: &'a ToolCall, name: &str) -> Option<&'a str> {
    call.input.as_ref()?.get(name)?.as_str().filter(|text| !text.is_empty())
}

fn changed_file(call: &ToolCall) -> Option<String> {
    let file = argument(call, "TargetFile").filter(|_| WRITERS.contains(&call.tool.as_str()))?;
    Some(local_path(file))
}

/// The limits that end a turn (`MAX_INVOCATIONS` and its like) name no error: it has stopped.
fn stop(payload: &Payload) -> Seen {
    let error = payload.text(FIELDS.error).map(str::to_owned);
    match payload.text(&["terminationReason"]) {
        Some("USER_CANCELED") => Seen::Aborted { turn: None },
        Some("ERROR") => Seen::Failed { turn: None, error },
        _ if error.is_some() => Seen::Failed { turn: None, error },
        _ => {
            let works_on = payload.members.get("fullyIdle") == Some(&Value::Bool(false));
            Seen::Stop { turn: None, kind: if works_on { StopKind::Pause } else { StopKind::Final } }
        }
    }
}

#[cfg(test)]
mod tests;
