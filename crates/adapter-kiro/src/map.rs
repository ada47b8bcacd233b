//! Native event → [`Seen`]. Hooks go through the table-driven mapper; this module holds what Kiro does in its own way:
//!
//! - **Two engines, one session.** `--v3` also runs the hooks of an agent's config; what those say, the hook file has said.
//!   The session's id tells the engine: `sess_…` in the new one.
//! - **A prompt may arrive empty** (the IDE up to 1.0.138, `--v3`): its length is not known.
//! - **A result has two shapes.** A hook file's is the text that the model gets, which ends in `Exit Code: N` for a command;
//!   an agent's is `{"success", "result": […]}`, in which a command states its `exit_status`. A command that fails is a
//!   success in both.
//! - **Files.** The engine of hook files tells every write by its file events, the agent's own among them; a save outside
//!   of any session is the person's, and says nothing. An agent's hooks know a write only by its tool.
//! - **MCP tools** are `@SERVER/TOOL` in the CLI. In the IDE they are `mcp_SERVER_TOOL`, which does not tell the two apart.

use serde_json::Value;
use sessionpipe_core::adapter::MapError;
use sessionpipe_core::harness::ToolKind;
use sessionpipe_core::job::Hook;
use sessionpipe_core::seen::{Mapped, Seen, ToolCall};
use sessionpipe_core::stdin_hook::{self, FIELDS};

use crate::HARNESS;
use crate::harness::is_agents;

/// How the ids of the engine of hook files begin.
const NEW_ENGINE: &str = "sess_";

/// The tools that run a command, in all spellings.
const SHELLS: [&str; 4] = ["shell", "execute_bash", "execute_cmd", "executeBash"];

pub(crate) fn map(hook: &Hook) -> Result<Mapped, MapError> {
    let mut mapped = stdin_hook::map(&HARNESS, &FIELDS, hook)?;
    let by_agent = is_agents(&hook.header.event);
    let session = mapped.session.as_deref();
    if by_agent && session.is_some_and(|id| id.starts_with(NEW_ENGINE)) {
        mapped.seen.clear();
    }
    if session.is_none() {
        mapped.seen.retain(|seen| !matches!(seen, Seen::FilesChanged { .. }));
    }
    mapped.seen = mapped.seen.into_iter().flat_map(|seen| refine(seen, by_agent)).collect();
    Ok(mapped)
}

fn refine(seen: Seen, by_agent: bool) -> Vec<Seen> {
    match seen {
        Seen::Prompt { turn, chars, by } => vec![Seen::Prompt { turn, chars: chars.filter(|chars| *chars > 0), by }],
        Seen::ToolStart(call) => vec![Seen::ToolStart(with_server(call))],
        Seen::ToolEnd { call, mut result } => {
            let call = with_server(call);
            if let Some(error) = result.output.as_ref().and_then(|output| failure(&call.tool, output)) {
                result.ok = false;
                result.error = Some(error);
            }
            let file = written_file(&call).filter(|_| by_agent);
            Seen::tool_end(call, result, file)
        }
        other => vec![other],
    }
}

/// Names the server of `@SERVER/TOOL`.
fn with_server(mut call: ToolCall) -> ToolCall {
    let server = call.tool.strip_prefix('@').and_then(|rest| rest.split_once('/')).map(|(server, _)| server.to_owned());
    call.mcp_server = call.mcp_server.or(server);
    call
}

/// What went wrong, where a result says that something did.
fn failure(tool: &str, output: &Value) -> Option<String> {
    if output.get("success") == Some(&Value::Bool(false)) {
        let results = output.get("result").and_then(Value::as_array).into_iter().flatten();
        return Some(results.map(stdin_hook::plain_text).collect::<Vec<_>>().join("\n"));
    }
    if !SHELLS.contains(&tool) {
        return None;
    }
    match output {
        Value::String(text) => failed_text(text),
        output => failed_command(output.pointer("/result/0")?),
    }
}

/// `Output:\n…\nExit Code: N`
fn failed_text(text: &str) -> Option<String> {
    let (text, code) = text.rsplit_once("Exit Code: ")?;
    let code: i64 = code.trim().parse().ok()?;
    (code != 0).then(|| text.strip_prefix("Output:").unwrap_or(text).trim().to_owned())
}

/// `{"exit_status": "exit status: N", "stdout", "stderr"}`; older versions write the number alone.
fn failed_command(result: &Value) -> Option<String> {
    let status = result.get("exit_status")?.as_str()?;
    // `signal: 9 (SIGKILL)` is another way to fail.
    if status.split_whitespace().next_back() == Some("0") {
        return None;
    }
    let text = |name: &str| result.get(name).and_then(Value::as_str).map(str::trim_end).filter(|text| !text.is_empty());
    Some(text("stderr").or_else(|| text("stdout")).unwrap_or(status).to_owned())
}

/// The file that a call writes: every tool for it names one.
fn written_file(call: &ToolCall) -> Option<String> {
    if HARNESS.tool_kind(&call.tool) != ToolKind::Edit {
        return None;
    }
    Some(call.input.as_ref()?.get("path")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests;
