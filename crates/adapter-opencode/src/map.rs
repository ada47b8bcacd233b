//! Native event → [`Seen`]. The plugin writes lines that [`plugin_line`] maps; this module holds what OpenCode does in its own
//! way:
//!
//! - **A subagent has a session of its own.** The plugin tells its events as those of the session that it works for, with
//!   its own id as the agent's: it begins when its session is created or prompted again, and ends when that is idle.
//! - **A resumed session is not created**: it starts with its first prompt.
//! - **Requests have ids**, and are answered by them.
//! - **A command that fails is a call that worked**, with an exit code.
//! - **A compaction that fails says nothing**: each that is told is one of its own.

use serde_json::Value;
use sessionpipe_core::adapter::MapError;
use sessionpipe_core::job::Hook;
use sessionpipe_core::patch;
use sessionpipe_core::plugin_line;
use sessionpipe_core::seen::{
    AttentionKind, Cleared, CompactTrigger, EndReason, Mapped, Need, Seen, StartSource, ToolCall, ToolResult,
};

use crate::HARNESS;
use crate::harness::{APPLY_PATCH, DISPOSE, PERMISSION_REPLIED, QUESTION_ASKED, QUESTION_REJECTED, QUESTION_REPLIED};

/// The tools that write the file that their input's `filePath` names.
const WRITERS: [&str; 3] = ["write", "edit", "multiedit"];

pub(crate) fn map(hook: &Hook) -> Result<Mapped, MapError> {
    let mut mapped = plugin_line::map(&HARNESS, hook)?;
    mapped.seen = mapped.seen.into_iter().flat_map(|seen| refine(seen, hook)).collect();
    Ok(mapped)
}

fn refine(seen: Seen, hook: &Hook) -> Vec<Seen> {
    let line = &hook.payload;
    let text = |name: &str| line.text(&[name]).map(str::to_owned);
    if let Some(agent) = text("agent_id") {
        let agent_type = text("agent_type");
        match seen {
            Seen::SessionStart { .. } | Seen::Prompt { .. } => return vec![Seen::SubagentStart { agent, agent_type }],
            Seen::Stop { .. } => return vec![Seen::SubagentEnd { agent, agent_type }],
            Seen::Compacted { .. } => return vec![Seen::Activity],
            _ => {}
        }
    }
    match seen {
        Seen::Prompt { .. } if line.text(&["source"]) == Some("resume") => {
            vec![Seen::SessionStart { source: StartSource::Resume }, seen]
        }
        Seen::SessionEnd { .. } => {
            let reason = if hook.header.event == DISPOSE { EndReason::Exit } else { EndReason::Other };
            vec![Seen::SessionEnd { reason }]
        }
        Seen::Failed { turn, .. } if line.text(&["outcome"]) == Some("aborted") => vec![Seen::Aborted { turn }],
        Seen::NeedsYou(need) => vec![Seen::NeedsYou(Need { id: text("request_id"), ..need })],
        Seen::ToolEnd { call, result } => {
            let result = with_exit(result, line.value(&["exit"]).and_then(Value::as_i64));
            let files = changed_files(&call);
            Seen::tool_end(call, result, files)
        }
        Seen::Compacted { trigger } => {
            let begun = Seen::CompactStart { trigger: trigger.unwrap_or(CompactTrigger::Auto) };
            vec![begun, Seen::Compacted { trigger }]
        }
        Seen::Activity => match hook.header.event.as_str() {
            QUESTION_ASKED => vec![Seen::NeedsYou(Need {
                kind: AttentionKind::Question,
                id: text("request_id"),
                turn: text("turn_id"),
                tool: None,
                input: None,
                message: text("message"),
                reminder: false,
            })],
            PERMISSION_REPLIED => vec![answered(AttentionKind::Permission, text("request_id"), Cleared::Answered)],
            QUESTION_REPLIED => vec![answered(AttentionKind::Question, text("request_id"), Cleared::Answered)],
            QUESTION_REJECTED => vec![answered(AttentionKind::Question, text("request_id"), Cleared::Cancelled)],
            _ => vec![Seen::Activity],
        },
        other => vec![other],
    }
}

fn answered(kind: AttentionKind, id: Option<String>, how: Cleared) -> Seen {
    Seen::Answered { kind: Some(kind), id, how }
}

fn with_exit(result: ToolResult, exit: Option<i64>) -> ToolResult {
    match exit {
        Some(code) if code != 0 && result.ok => {
            ToolResult { ok: false, error: Some(format!("exit code {code}")), ..result }
        }
        _ => result,
    }
}

/// The files that a call wrote, as it names them.
fn changed_files(call: &ToolCall) -> Vec<String> {
    let text = |name: &str| call.input.as_ref().and_then(|input| input.get(name)).and_then(Value::as_str);
    if call.tool == APPLY_PATCH {
        text("patchText").map(patch::files).unwrap_or_default()
    } else if WRITERS.contains(&call.tool.as_str()) {
        text("filePath").map(str::to_owned).into_iter().collect()
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests;
