//! Native event → [`Seen`]. The table-driven mapper does what is common; this module holds what Gemini CLI does in its own
//! way:
//!
//! - **No ids** of turns and calls: calls are paired by tool and input.
//! - **A failure** is `tool_response.error`, but for a shell command: its exit code stands in the text for the model. A
//!   command that the person cancels (Esc) is the last that is heard of its turn.
//! - **ToolPermission** names a kind of dialog, not the tool. One dialog is open at a time, and nothing says that it was
//!   answered: the next one does, or the end of the call.
//! - **PreCompress** `auto` comes before every request, whether or not anything will be compressed; `manual` is the
//!   person's /compress, and nothing comes after it.
//! - **AfterAgent** also ends a turn of the terminal's that failed, or was stopped by Esc while the model wrote. The only
//!   trace is an answer without any text.
//! - **SessionStart** of a resumed session names a new file that stays a stub; from the next event on it is the old one.

use serde_json::Value;
use sessionpipe_core::adapter::MapError;
use sessionpipe_core::job::Hook;
use sessionpipe_core::payload::Payload;
use sessionpipe_core::seen::{
    AttentionKind, Cleared, CompactTrigger, Mapped, Need, Seen, StartSource, TitleSource, ToolCall, ToolResult,
};
use sessionpipe_core::stdin_hook::{self, FIELDS};

use crate::harness::{HARNESS, SESSION_VAR};

const SHELL: &str = "run_shell_command";
const ASK: &str = "ask_user";
const WRITE: &str = "write_file";
const EDIT: &str = "replace";
const TOPIC: &str = "update_topic";

/// `prompt_response` where the model wrote no text.
const NO_TEXT: &str = "[no response text]";

/// Maps one hook call.
pub(crate) fn map(hook: &Hook) -> Result<Mapped, MapError> {
    let hook = stdin_hook::with_session(hook, SESSION_VAR);
    let mut mapped = stdin_hook::map(&HARNESS, &FIELDS, &hook)?;
    if mapped.seen.contains(&Seen::SessionStart { source: StartSource::Resume }) {
        mapped.transcript = None;
    }
    mapped.title = title(&mapped.seen);
    mapped.seen = mapped.seen.into_iter().flat_map(|seen| refine(seen, &hook)).collect();
    Ok(mapped)
}

/// What the model called the session's topic.
fn title(seen: &[Seen]) -> Option<(String, TitleSource)> {
    let call = seen.iter().find_map(|seen| match seen {
        Seen::ToolEnd { call, .. } if call.tool == TOPIC => Some(call),
        _ => None,
    })?;
    let title = call.input.as_ref()?.get("title")?.as_str()?;
    Some((title.to_owned(), TitleSource::Harness))
}

fn refine(seen: Seen, hook: &Hook) -> Vec<Seen> {
    let payload = &hook.payload;
    match seen {
        Seen::Stop { turn, .. } if payload.text(&["prompt_response"]) == Some(NO_TEXT) => {
            vec![Seen::Failed { turn, error: Some(NO_TEXT.to_owned()) }]
        }
        Seen::ToolStart(call) => vec![Seen::ToolStart(with_server(call, payload))],
        Seen::ToolEnd { call, result } => ended(with_server(call, payload), result),
        Seen::CompactStart { trigger: CompactTrigger::Auto } => Vec::new(),
        Seen::CompactStart { trigger } => vec![seen, Seen::Compacted { trigger: Some(trigger) }],
        Seen::Activity if payload.text(&["notification_type"]) == Some("ToolPermission") => {
            let answered = Seen::Answered { kind: None, id: None, how: Cleared::Answered };
            vec![answered, Seen::NeedsYou(dialog(hook))]
        }
        other => vec![other],
    }
}

fn with_server(mut call: ToolCall, payload: &Payload) -> ToolCall {
    let server = payload.members.get("mcp_context").and_then(|context| context.get("server_name")?.as_str());
    call.mcp_server = server.map(str::to_owned);
    call
}

/// The end of a call, and what it says of files and of the turn.
fn ended(call: ToolCall, mut result: ToolResult) -> Vec<Seen> {
    let response = result.output.take().unwrap_or_default();
    let failure = failure(&call.tool, &response);
    result.ok = failure.is_none();
    let is_cancelled = failure.as_ref().is_some_and(|error| error.starts_with(CANCELLED_BY_PERSON));
    result.error = failure;
    // What the model got: what is shown says the same in other words, in a terminal letter by letter.
    result.output = response.get("llmContent").cloned().or(Some(response)).filter(|output| !output.is_null());
    let file = [WRITE, EDIT].contains(&call.tool.as_str()).then(|| call.input.as_ref()?.get("file_path")?.as_str());
    let file = file.flatten().map(str::to_owned);
    let aborted = is_cancelled.then_some(Seen::Aborted { turn: None });
    Seen::tool_end(call, result, file).into_iter().chain(aborted).collect()
}

fn failure(tool: &str, response: &Value) -> Option<String> {
    if let Some(error) = response.get("error").filter(|error| !error.is_null()) {
        return Some(error.get("message").map_or_else(|| error.to_string(), stdin_hook::plain_text));
    }
    let text = response.get("llmContent").and_then(Value::as_str).filter(|_| tool == SHELL)?;
    shell_failure(text, response.get("returnDisplay").unwrap_or(&Value::Null))
}

/// How the text of a command begins that the person stopped.
const CANCELLED_BY_PERSON: &str = "Command was cancelled by user";
/// The same for one that wrote nothing for too long.
const CANCELLED_BY_TIME: &str = "Command was automatically cancelled";

const EXIT_CODE: &str = "Exit Code: ";
const SIGNAL: &str = "Signal: ";

/// The lines after a command's output: each where it has something to say, in older versions always.
const TRAILERS: [&str; 4] = [EXIT_CODE, SIGNAL, "Background PIDs: ", "Process Group PGID: "];

/// What the text of a shell command says of its failure.
fn shell_failure(text: &str, shown: &Value) -> Option<String> {
    let text = text.strip_prefix("<untrusted_context>\n").unwrap_or(text);
    let text = text.strip_suffix("\n</untrusted_context>").unwrap_or(text);
    if text.starts_with(CANCELLED_BY_PERSON) || text.starts_with(CANCELLED_BY_TIME) {
        // "… Below is the output before it was cancelled:", or "… There was no output before it was cancelled."
        return Some(text.split_once(". ").map_or(text, |(why, _)| why).to_owned());
    }
    // The command's own last line may look like one of ours.
    let own = last_line(shown).filter(|_| shown.as_str() != Some(text));
    let is_trailer = |line: &&str| TRAILERS.iter().any(|name| line.starts_with(name)) && own.as_deref() != Some(*line);
    let fails = |line: &&str| match (line.strip_prefix(EXIT_CODE), line.strip_prefix(SIGNAL)) {
        (Some(code), _) => code.parse().is_ok_and(|code: i64| code != 0),
        (None, Some(signal)) => signal != "(none)",
        (None, None) => false,
    };
    text.lines().rev().take_while(is_trailer).filter(fails).last().map(str::to_owned)
}

/// The last line of what is shown of a command: a text, or in a terminal lines of pieces with their styles.
fn last_line(shown: &Value) -> Option<String> {
    let line = |pieces: &Value| {
        let pieces = pieces.as_array().into_iter().flatten();
        pieces.filter_map(|piece| piece.get("text")?.as_str()).collect::<String>()
    };
    let lines: Vec<String> = match shown {
        Value::String(text) => text.lines().map(str::to_owned).collect(),
        Value::Array(lines) => lines.iter().map(line).collect(),
        _ => Vec::new(),
    };
    lines.iter().map(|line| line.trim_end()).rfind(|line| !line.is_empty()).map(str::to_owned)
}

/// A kind of dialog, how its title begins, and the tool that it is about. The others ask for a tool that is not known.
const DIALOGS: [(&str, &str, &str); 9] = [
    ("exec", "", SHELL),
    ("sandbox_expansion", "", SHELL),
    ("edit", "Confirm Write", WRITE),
    ("edit", "Confirm Edit", EDIT),
    ("info", "Confirm Web Fetch", "web_fetch"),
    ("info", "Activate Skill", "activate_skill"),
    ("info", "Enter Plan Mode", "enter_plan_mode"),
    ("ask_user", "", ASK),
    ("exit_plan_mode", "", "exit_plan_mode"),
];

fn dialog(hook: &Hook) -> Need {
    let details = hook.payload.members.get("details");
    let text = |name: &str| details.and_then(|details| details.get(name)?.as_str()).unwrap_or_default();
    let (kind, title) = (text("type"), text("title"));
    let known = DIALOGS.iter().find(|(known, begins, _)| *known == kind && title.starts_with(begins));
    let tool = match known {
        Some((_, _, tool)) => Some((*tool).to_owned()),
        None if kind == "mcp" => Some(format!("mcp_{}_{}", text("serverName"), text("toolName"))),
        None => None,
    };
    Need {
        kind: if tool.as_deref() == Some(ASK) { AttentionKind::Question } else { AttentionKind::Permission },
        // The input is not told whole: the id that names tool and input would be the same for many requests.
        id: Some(format!("notif-{}", hook.header.at_ms)),
        turn: None,
        tool,
        input: None,
        message: hook.payload.text(FIELDS.message).map(str::to_owned),
        reminder: false,
    }
}

#[cfg(test)]
mod tests;
