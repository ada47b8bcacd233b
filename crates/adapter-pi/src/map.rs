//! Native event → [`Seen`]. The extension writes lines that [`plugin_line`] maps; this module holds what Pi does in its own
//! way:
//!
//! - **The end of a run is not the end of a turn** where the run failed and may be tried again: versions without
//!   `agent_settled` say no more than `agent_end`. If nothing follows, the turn ended with that error.
//! - **A reload** of the extensions shuts the session down and starts it, and is neither.
//! - **An extension may ask the person**, with a dialog of Pi's.

use serde_json::Value;
use sessionpipe_core::adapter::MapError;
use sessionpipe_core::job::Hook;
use sessionpipe_core::plugin_line;
use sessionpipe_core::seen::{AttentionKind, Cleared, EndReason, Mapped, Need, Seen, ToolCall};

use crate::HARNESS;
use crate::harness::{AGENT_END, UI_PROMPT_END, UI_PROMPT_START};

/// The tools that write a file, and name it in their input's `path`.
const WRITERS: [&str; 2] = ["write", "edit"];

const RELOAD: &str = "reload";

pub(crate) fn map(hook: &Hook) -> Result<Mapped, MapError> {
    let mut mapped = plugin_line::map(&HARNESS, hook)?;
    mapped.seen = mapped.seen.into_iter().flat_map(|seen| refine(seen, hook)).collect();
    Ok(mapped)
}

fn refine(seen: Seen, hook: &Hook) -> Vec<Seen> {
    let line = &hook.payload;
    let event = hook.header.event.as_str();
    match seen {
        Seen::Failed { error, .. } if event == AGENT_END => {
            vec![Seen::CallFailed { error: error.unwrap_or_default() }]
        }
        Seen::SessionEnd { .. } => vec![match line.text(&["reason"]) {
            Some(RELOAD) => Seen::Activity,
            Some("quit") => Seen::SessionEnd { reason: EndReason::Exit },
            _ => Seen::SessionEnd { reason: EndReason::Other },
        }],
        Seen::ToolStart(call) => vec![Seen::ToolStart(with_server(call))],
        Seen::ToolEnd { call, result } => {
            let file = call.input.as_ref().filter(|_| WRITERS.contains(&call.tool.as_str()));
            let file = file.and_then(|input| input.get("path")).and_then(Value::as_str).map(str::to_owned);
            Seen::tool_end(with_server(call), result, file)
        }
        Seen::Activity if event == UI_PROMPT_START => vec![Seen::NeedsYou(Need {
            kind: AttentionKind::Question,
            id: None,
            turn: None,
            tool: None,
            input: None,
            message: line.text(&["message"]).map(str::to_owned),
            reminder: false,
        })],
        Seen::Activity if event == UI_PROMPT_END => {
            vec![Seen::Answered { kind: Some(AttentionKind::Question), id: None, how: Cleared::Answered }]
        }
        other => vec![other],
    }
}

/// Names the server of `mcp__SERVER__TOOL`.
fn with_server(mut call: ToolCall) -> ToolCall {
    let server = call.tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    call.mcp_server = server.map(|(server, _)| server.to_owned());
    call
}

#[cfg(test)]
mod tests;
