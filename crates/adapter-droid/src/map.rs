//! Native event → [`Seen`]. Hooks go through the table-driven mapper; this module holds what Droid does in its own way:
//!
//! - **`message_id` names a message.** That of UserPromptSubmit and of an interrupt is the turn's id in Droid's own records.
//!   That of Stop is the last message's: it names no turn. Tool events have none, and no call id.
//! - **Turns without a prompt.** Plain `droid exec` and its stream-json mode fire no UserPromptSubmit, nor does a prompt that
//!   waited in the queue: a tool call tells that a turn runs, and Stop ends one whether or not its start was told. A Stop
//!   with `stop_hook_active` comes after a Stop hook that made the agent go on.
//! - **Only success has a PostToolUse.** Its `tool_response` is a string, sometimes of JSON: it stays as it is.
//! - **An interrupt** of the model is a notification of type `idle_prompt`, in place of Stop; of a tool, a Stop like any other.
//! - **A permission is asked for a batch of calls** once all of them had their PreToolUse, and before any runs; it names none.
//!   The end of the newest, or the next start of one, proves that it is answered. The question of AskUser is told by a notification, too.
//! - **Subagents** are sessions of their own, whose start names the calling one. SubagentStop comes in the calling session, with
//!   the name of the task and no id: one is made of the time.
//! - **A cut payload** is filled up from the variables that repeat it ([`PAYLOAD_VARS`]).

use std::borrow::Cow;

use serde_json::Value;
use sessionpipe_core::adapter::MapError;
use sessionpipe_core::harness::Means;
use sessionpipe_core::job::Hook;
use sessionpipe_core::patch;
use sessionpipe_core::payload::Payload;
use sessionpipe_core::seen::{AttentionKind, Cleared, Mapped, Need, Seen, StopKind, ToolCall};
use sessionpipe_core::stdin_hook::{self, FIELDS, Fields};

use crate::HARNESS;
use crate::harness::PAYLOAD_VARS;

const DROID: Fields = Fields { turn: &["message_id"], agent: &[], agent_type: &[], call: &[], ..FIELDS };

/// Between the name of an MCP server and its tool's.
const MCP: &str = "___";

/// The tools that put a question, and take a patch.
const ASK: &str = "AskUser";
const APPLY_PATCH: &str = "ApplyPatch";

/// The tools that write the one file that their input names.
const WRITERS: [&str; 3] = ["Create", "Edit", "MultiEdit"];

/// How the message of an interrupt begins. (No other notification of its type was seen.)
const INTERRUPTED: &str = "Agent stopped by user";

pub(crate) fn map(hook: &Hook) -> Result<Mapped, MapError> {
    let hook = &whole(hook);
    let payload = &hook.payload;
    let mut mapped = stdin_hook::map(&HARNESS, &DROID, hook)?;
    mapped.parent = payload.text(&["calling_session_id"]).map(str::to_owned);
    // On a screen the terminal program says it, not the one that worked.
    mapped.anywhere = mapped.seen.iter().any(|seen| matches!(seen, Seen::SessionEnd { .. }));
    mapped.seen = match stdin_hook::native_event(&HARNESS, &DROID, hook).map(|event| event.means) {
        Some(Means::Notification) => notified(hook),
        // Of two tasks in a session, each is its own.
        Some(Means::SubagentEnd) => vec![Seen::SubagentRan { agent: format!("task-{}", hook.header.at_ms) }],
        _ => mapped.seen.into_iter().flat_map(|seen| refine(seen, payload)).collect(),
    };
    Ok(mapped)
}

/// What was cut from a payload and is repeated by a variable is put back.
fn whole(hook: &Hook) -> Cow<'_, Hook> {
    if !hook.payload.partial {
        return Cow::Borrowed(hook);
    }
    let mut hook = hook.clone();
    for name in PAYLOAD_VARS {
        if let (false, Some(value)) = (hook.payload.members.contains_key(name), hook.header.env.get(name)) {
            hook.payload.members.insert(name.to_owned(), value.as_str().into());
        }
    }
    Cow::Owned(hook)
}

fn refine(seen: Seen, payload: &Payload) -> Vec<Seen> {
    match seen {
        Seen::ToolStart(call) => {
            let call = with_server(call);
            // The calls of a batch wait together: the next batch follows on an answer.
            let allowed = Seen::Answered { kind: Some(AttentionKind::Permission), id: None, how: Cleared::Answered };
            vec![allowed, Seen::Working { turn: None }, Seen::ToolStart(call)]
        }
        Seen::ToolEnd { call, result } => {
            let call = with_server(call);
            let files = changed_files(&call);
            Seen::tool_end(call, result, files)
        }
        Seen::Stop { .. } => {
            let first = payload.value(&["stop_hook_active"]) == Some(&Value::Bool(false));
            vec![Seen::Stop { turn: None, kind: if first { StopKind::First } else { StopKind::Final } }]
        }
        // Nothing says whether it worked: a hook may still block it.
        Seen::CompactStart { trigger } => {
            vec![Seen::CompactStart { trigger }, Seen::Compacted { trigger: Some(trigger) }]
        }
        other => vec![other],
    }
}

/// A call, with the server of `SERVER___TOOL`.
fn with_server(call: ToolCall) -> ToolCall {
    let server = call.tool.split_once(MCP).map(|(server, _)| server.to_owned());
    ToolCall { turn: None, mcp_server: server.filter(|server| !server.is_empty()), ..call }
}

fn notified(hook: &Hook) -> Vec<Seen> {
    let payload = &hook.payload;
    let message = payload.text(DROID.message);
    let need = |kind, tool: Option<&str>| {
        Seen::NeedsYou(Need {
            kind,
            // Of two questions in a session, each is its own.
            id: tool.map(|_| format!("notif-{}", hook.header.at_ms)),
            turn: None,
            tool: tool.map(str::to_owned),
            input: None,
            message: message.map(str::to_owned),
            reminder: false,
        })
    };
    match payload.text(&["notification_type"]) {
        Some("permission_prompt") => vec![need(AttentionKind::Permission, None)],
        Some("elicitation_dialog") => vec![need(AttentionKind::Question, Some(ASK))],
        Some("idle_prompt") => {
            let interrupted = message.is_some_and(|message| message.starts_with(INTERRUPTED));
            // Here it is the prompt's message.
            let turn = payload.text(DROID.turn).map(str::to_owned);
            let aborted = interrupted.then_some(Seen::Aborted { turn });
            aborted.into_iter().chain([need(AttentionKind::Idle, None)]).collect()
        }
        _ => vec![Seen::Activity],
    }
}

/// The files that a call wrote, as its input names them.
fn changed_files(call: &ToolCall) -> Vec<String> {
    let text = |name: &str| call.input.as_ref()?.get(name)?.as_str();
    if WRITERS.contains(&call.tool.as_str()) {
        return text("file_path").map(str::to_owned).into_iter().collect();
    }
    let patch = if call.tool == APPLY_PATCH { text("input") } else { None };
    patch.map(patch::files).unwrap_or_default()
}

#[cfg(test)]
mod tests;
