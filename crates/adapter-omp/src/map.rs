//! Native event → [`Seen`]. The extension writes lines that [`plugin_line`] maps; this module holds what OMP does in its own
//! way:
//!
//! - **Subagents** have sessions of their own in the same process. Their lines are told as the root session's, with the
//!   subagent's session id as its agent id; its prompts and ends of runs are nothing of the person's.
//! - **A switch or a branch** replaces the session without ending one: the extension sends the event twice, first for the
//!   session that is left (`left`).
//! - **`session_shutdown` may come while only background work is waited for**: then the extension says how the last run had
//!   ended, and the turn ended so.
//! - **Approvals** and the `ask` tool need the person.

use std::path::Path;

use serde_json::Value;
use sessionpipe_core::adapter::MapError;
use sessionpipe_core::job::Hook;
use sessionpipe_core::payload::Payload;
use sessionpipe_core::plugin_line::{self, turn_end};
use sessionpipe_core::seen::{AttentionKind, Cleared, EndReason, Mapped, Need, Seen, StopKind, ToolCall};
use sessionpipe_core::stdin_hook::FIELDS;

use crate::HARNESS;
use crate::harness::{AGENT_END, APPROVAL_REQUESTED, APPROVAL_RESOLVED, SESSION_SHUTDOWN};
use crate::transcript::root_of_subagent;

/// Asks the person.
const ASK: &str = "ask";

pub(crate) fn map(hook: &Hook) -> Result<Mapped, MapError> {
    let mut mapped = plugin_line::map(&HARNESS, hook)?;
    let own = |seen: Seen| refine(seen, hook);
    let root = mapped.transcript.as_deref().and_then(|file| root_of_subagent(Path::new(file))).map(str::to_owned);
    match root.zip(mapped.session.clone()) {
        Some((root, agent)) => {
            let seen = mapped.seen.into_iter().flat_map(own).map(|seen| of_subagent(seen, &agent)).collect();
            // Its file, folder, model and title are not the session's.
            let (transcript, cwd, model, title) = (None, None, None, None);
            mapped = Mapped { session: Some(root), transcript, cwd, model, title, seen, ..mapped };
        }
        None => mapped.seen = mapped.seen.into_iter().flat_map(own).collect(),
    }
    Ok(mapped)
}

fn of_subagent(seen: Seen, agent: &str) -> Seen {
    let with_agent = |call: ToolCall| ToolCall { agent: Some(agent.to_owned()), ..call };
    match seen {
        Seen::SessionStart { .. } => Seen::SubagentStart { agent: agent.to_owned(), agent_type: None },
        Seen::SessionEnd { .. } => Seen::SubagentEnd { agent: agent.to_owned(), agent_type: None },
        Seen::ToolStart(call) => Seen::ToolStart(with_agent(call)),
        Seen::ToolEnd { call, result } => Seen::ToolEnd { call: with_agent(call), result },
        // Those of the root's turn.
        Seen::NeedsYou(_) | Seen::Answered { .. } | Seen::FilesChanged { .. } => seen,
        _ => Seen::Activity,
    }
}

fn refine(seen: Seen, hook: &Hook) -> Vec<Seen> {
    let line = &hook.payload;
    let event = hook.header.event.as_str();
    match seen {
        Seen::SessionStart { .. } if line.value(&["left"]) == Some(&Value::Bool(true)) => {
            vec![Seen::SessionEnd { reason: EndReason::Other }]
        }
        Seen::SessionEnd { .. } if event == SESSION_SHUTDOWN => {
            let stop = Seen::Stop { turn: None, kind: StopKind::Final };
            let turn = line.text(&["outcome"]).map(|_| turn_end(line, stop));
            turn.into_iter().chain([seen]).collect()
        }
        // A run that was not aborted has its session_stop, or goes on.
        Seen::Stop { .. } | Seen::Failed { .. } if event == AGENT_END => vec![Seen::Activity],
        Seen::ToolStart(call) => {
            let question = (call.tool == ASK).then(|| Seen::NeedsYou(question(&call)));
            [Seen::ToolStart(call)].into_iter().chain(question).collect()
        }
        Seen::ToolEnd { call, result } => Seen::tool_end(call, result, changed_files(line)),
        Seen::Activity if event == APPROVAL_REQUESTED => vec![Seen::NeedsYou(Need {
            kind: AttentionKind::Permission,
            id: line.text(FIELDS.call).map(str::to_owned),
            turn: None,
            tool: line.text(FIELDS.tool).map(str::to_owned),
            input: None,
            message: line.text(FIELDS.message).map(str::to_owned),
            reminder: false,
        })],
        // Whether it was granted, the call's end says.
        Seen::Activity if event == APPROVAL_RESOLVED => vec![Seen::Answered {
            kind: Some(AttentionKind::Permission),
            id: line.text(FIELDS.call).map(str::to_owned),
            how: Cleared::Answered,
        }],
        other => vec![other],
    }
}

fn question(call: &ToolCall) -> Need {
    let first = call.input.as_ref().and_then(|input| input.pointer("/questions/0/question")?.as_str());
    Need {
        kind: AttentionKind::Question,
        id: call.call.clone(),
        turn: None,
        tool: Some(call.tool.clone()),
        input: call.input.clone(),
        message: first.map(str::to_owned),
        reminder: false,
    }
}

/// The files that a call wrote, as the extension found them in its result, else in its input.
fn changed_files(line: &Payload) -> Vec<String> {
    let files = line.value(&["files"]).and_then(Value::as_array).into_iter().flatten();
    files.filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
