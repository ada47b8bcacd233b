//! Native event → [`Seen`]. Hooks go through the table-driven mapper; this module holds what Codex does in its own way:
//!
//! - **Subagents** report under the root's `session_id`, with an `agent_id`, the child's own `turn_id` and (but for
//!   SubagentStop) the child's `transcript_path`. A call of theirs keeps the child's turn beside its agent; the session's
//!   transcript and model are never taken from them.
//! - **A result has no mark of failure.** A refused patch and a failed MCP call fire no PostToolUse at all; `apply_patch`
//!   states an exit code in its text, an MCP result has `isError`; the exit code of a shell command is only in the transcript.
//! - **PermissionRequest names no call**, and writes the input in another way than PreToolUse: a shell call gains
//!   `description` (the question for the person), a patch loses its last newline. [`Need::input`] is written back as
//!   PreToolUse has it, so that the two pair; [`Need::id`] is taken from the input as it came.
//! - **`request_user_input`** asks the person and fires no PermissionRequest. (Outside plan mode Codex refuses the call
//!   after its PreToolUse; then the end of the turn clears the request.)
//! - **notify** hands its payload over as an argument with names of its own, and also reports turns that are not the
//!   person's. Those give a [`Mapped`] whose `seen` is empty: **the worker drops it**, and no session may come of it.

use serde_json::Value;
use sessionpipe_core::adapter::MapError;
use sessionpipe_core::ids;
use sessionpipe_core::job::Hook;
use sessionpipe_core::patch;
use sessionpipe_core::payload::Payload;
use sessionpipe_core::seen::{AttentionKind, Mapped, Need, Seen, ToolCall};
use sessionpipe_core::stdin_hook::{self, FIELDS, Fields};

use crate::HARNESS;
use crate::harness::NOTIFY;

/// The names in notify's argument. It names no event.
const NOTIFY_FIELDS: Fields =
    Fields { session: &["thread-id"], event: &[], turn: &["turn-id"], model: &[], transcript: &[], ..FIELDS };

/// How the first message of the thread begins that Codex's terminal runs to get a title.
const TITLE_PROMPT: &str = "Generate a concise, single-line task title";

const APPLY_PATCH: &str = "apply_patch";
const SHELL: &str = "Bash";
const ASK: &str = "request_user_input";
const MCP: &str = "mcp__";

pub(crate) fn map(hook: &Hook) -> Result<Mapped, MapError> {
    if hook.header.event == NOTIFY {
        return notify(hook);
    }
    let mut mapped = stdin_hook::map(&HARNESS, &FIELDS, hook)?;
    let child = hook.payload.text(FIELDS.agent).is_some();
    if child {
        mapped.transcript = None;
        mapped.model = None;
    }
    mapped.seen = mapped.seen.into_iter().flat_map(|seen| refine(seen, child)).collect();
    Ok(mapped)
}

fn notify(hook: &Hook) -> Result<Mapped, MapError> {
    let mut mapped = stdin_hook::map(&HARNESS, &NOTIFY_FIELDS, hook)?;
    if mapped.session.is_none() {
        return Err(MapError::Unusable("it names no thread".to_owned()));
    }
    mapped.endless = true;
    // notify runs in the folder of Codex's daemon, which may be another project's.
    mapped.cwd = hook.payload.text(NOTIFY_FIELDS.cwd).map(str::to_owned);
    if !is_persons_turn(&hook.payload) {
        mapped.seen.clear();
    }
    Ok(mapped)
}

/// A subagent's turn has no `client`; the title thread has its prompt. Other notices than the one known are none of a turn.
fn is_persons_turn(payload: &Payload) -> bool {
    let first = payload.value(&["input-messages"]).and_then(|messages| messages.get(0)).and_then(Value::as_str);
    payload.text(&["type"]) == Some("agent-turn-complete")
        && payload.text(&["client"]).is_some()
        && !first.is_some_and(|message| message.starts_with(TITLE_PROMPT))
}

fn refine(seen: Seen, child: bool) -> Vec<Seen> {
    match seen {
        // Not seen so far; if a child ever says it, the root's turn goes on.
        Seen::Prompt { .. } | Seen::Stop { .. } | Seen::Aborted { .. } if child => vec![Seen::Activity],
        Seen::ToolStart(call) => {
            let call = with_server(call);
            let question = (call.tool == ASK).then(|| Seen::NeedsYou(question(&call)));
            [Seen::ToolStart(call)].into_iter().chain(question).collect()
        }
        Seen::ToolEnd { call, mut result } => {
            let call = with_server(call);
            if let Some(error) = result.output.as_ref().and_then(|output| failure(&call.tool, output)) {
                result.ok = false;
                result.error = Some(error);
            }
            let files = changed_files(&call);
            Seen::tool_end(call, result, files)
        }
        Seen::NeedsYou(need) => vec![Seen::NeedsYou(permission(need))],
        other => vec![other],
    }
}

/// Names the server of `mcp__SERVER__TOOL`.
fn with_server(mut call: ToolCall) -> ToolCall {
    let server =
        call.tool.strip_prefix(MCP).and_then(|rest| rest.split_once("__")).map(|(server, _)| server.to_owned());
    call.mcp_server = call.mcp_server.or(server);
    call
}

fn question(call: &ToolCall) -> Need {
    let first = call.input.as_ref().and_then(|input| input.pointer("/questions/0/question")?.as_str());
    Need {
        kind: AttentionKind::Question,
        id: call.call.clone(),
        turn: call.turn.clone(),
        tool: Some(call.tool.clone()),
        input: call.input.clone(),
        message: first.map(str::to_owned),
        reminder: false,
    }
}

fn permission(mut need: Need) -> Need {
    let (Some(tool), Some(input)) = (&need.tool, &mut need.input) else { return need };
    if need.id.is_none() {
        need.id = Some(ids::permission_id(need.turn.as_deref().unwrap_or_default(), tool, input));
    }
    match tool.as_str() {
        SHELL => {
            let description = input.as_object_mut().and_then(|input| input.shift_remove("description"));
            need.message = need.message.or(description.as_ref().and_then(Value::as_str).map(str::to_owned));
        }
        APPLY_PATCH => match input.get_mut("command") {
            Some(Value::String(patch)) if !patch.ends_with('\n') => patch.push('\n'),
            _ => {}
        },
        _ => {}
    }
    need
}

/// What went wrong, where a result says that something did. The text of other tools is the program's own and says nothing.
fn failure(tool: &str, output: &Value) -> Option<String> {
    if tool == APPLY_PATCH {
        return patch_failure(output.as_str()?);
    }
    let failed = tool.starts_with(MCP) && output.get("isError") == Some(&Value::Bool(true));
    failed.then(|| output.pointer("/content/0/text").map_or_else(|| output.to_string(), stdin_hook::plain_text))
}

fn patch_failure(output: &str) -> Option<String> {
    let (code, text) = match output.strip_prefix("Exit code: ") {
        Some(rest) => {
            let (code, rest) = rest.split_once('\n').unwrap_or((rest, ""));
            let text = rest.split_once("Output:\n").map_or(rest, |(_, text)| text);
            (code.trim().parse::<i64>().ok()?, text.to_owned())
        }
        // 0.130.0: `{"output": "…", "metadata": {"exit_code": 0, …}}` as a string.
        None => {
            let result: Value = serde_json::from_str(output).ok()?;
            let code = result.pointer("/metadata/exit_code")?.as_i64()?;
            (code, result.get("output").map(stdin_hook::plain_text).unwrap_or_default())
        }
    };
    (code != 0).then(|| text.trim_end().to_owned())
}

fn changed_files(call: &ToolCall) -> Vec<String> {
    let patch = call.input.as_ref().filter(|_| call.tool == APPLY_PATCH).and_then(|input| input.get("command"));
    patch.and_then(Value::as_str).map(patch::files).unwrap_or_default()
}

#[cfg(test)]
mod tests;
