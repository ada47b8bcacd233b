//! Native event → [`Seen`]. Hooks go through the table-driven mapper; this module holds what Copilot CLI does in its own
//! way:
//!
//! - **The command line names the event**: payloads in camel case do not, and what a notification calls itself is its
//!   other name.
//! - **Subagents** report under an id of their own as the session (`subagentStart`, `subagentStop` and notifications: under
//!   the parent's), and name it as the agent. All is told of the parent's session. They have a prompt and a stop of their
//!   own; the general-purpose agent is documented to have no start and end beside these.
//! - **A failing command is a success**: its exit code is the last line of its text.
//! - **A session's end** came after every prompt before 1.0.22, and since then may come twice where a subagent works in the
//!   background. It is called `complete` also after SIGINT.
//! - **Errors** come once for each try, and nothing says which is the last: the turn's end, or the session's, does.
//! - **A person is asked** when a notification says so, never by `permissionRequest`, which comes for every rule.

use jiff::Timestamp;
use semver::Version;
use serde_json::Value;
use sessionpipe_core::adapter::MapError;
use sessionpipe_core::harness::{Means, ToolKind};
use sessionpipe_core::job::Hook;
use sessionpipe_core::patch;
use sessionpipe_core::payload::Payload;
use sessionpipe_core::seen::{
    AttentionKind, CompactTrigger, EndReason, Mapped, Need, PromptBy, Seen, ToolCall, ToolResult,
};
use sessionpipe_core::stdin_hook::{self, FIELDS, Fields};

use crate::HARNESS;
use crate::harness::VERSION;

/// Both spellings; the last one is VS Code's.
const NAMES: Fields = Fields {
    session: &["sessionId", "session_id"],
    event: &[],
    transcript: &["transcriptPath", "transcript_path"],
    model: &[],
    turn: &[],
    agent: &["agentId", "agent_id"],
    agent_type: &["agentType", "agent_type", "agentName", "agent_name"],
    tool: &["toolName", "tool_name"],
    input: &["toolArgs", "tool_input"],
    output: &["toolResult", "tool_result", "tool_response"],
    ..FIELDS
};

/// Before, an end and a start came after every prompt.
const ENDS_ONCE: Version = Version::new(1, 0, 22);

/// The id that a subagent's session has for its parent.
const PARENT: &[&str] = &["parentAgentId", "parent_agent_id"];

/// How a prompt begins that the program makes itself: a command or an agent in the background is done.
const SYSTEM_PROMPT: &str = "<system_notification>";

/// The notifications that wait for a person.
const ASKING: [(&str, AttentionKind); 2] =
    [("permission_prompt", AttentionKind::Permission), ("elicitation_dialog", AttentionKind::Elicitation)];

pub(crate) fn map(hook: &Hook) -> Result<Mapped, MapError> {
    let payload = &hook.payload;
    let mut mapped = stdin_hook::map(&HARNESS, &NAMES, hook)?;
    mapped.version = hook.header.env.get(VERSION).cloned();
    let ends_once = mapped.version.as_ref().is_some_and(|v| Version::parse(v).is_ok_and(|v| v >= ENDS_ONCE));
    let agent = payload.text(NAMES.agent).map(|id| Agent { id, kind: payload.text(NAMES.agent_type) });
    if agent.as_ref().is_some_and(|agent| mapped.session.as_deref() == Some(agent.id)) {
        mapped.session = payload.text(PARENT).map(str::to_owned);
    }
    let event = stdin_hook::native_event(&HARNESS, &NAMES, hook);
    let is_notice = event.is_some_and(|event| event.means == Means::Notification);
    mapped.seen = if is_notice {
        vec![request(payload).map_or(Seen::Activity, Seen::NeedsYou)]
    } else {
        mapped.seen.into_iter().flat_map(|seen| refine(seen, payload, agent.as_ref(), ends_once)).collect()
    };
    Ok(mapped)
}

/// The subagent that a payload is about.
struct Agent<'a> {
    id: &'a str,
    kind: Option<&'a str>,
}

impl Agent<'_> {
    fn start(&self) -> Seen {
        Seen::SubagentStart { agent: self.id.to_owned(), agent_type: self.kind.map(str::to_owned) }
    }

    fn end(&self) -> Seen {
        Seen::SubagentEnd { agent: self.id.to_owned(), agent_type: self.kind.map(str::to_owned) }
    }
}

fn refine(seen: Seen, payload: &Payload, agent: Option<&Agent<'_>>, ends_once: bool) -> Vec<Seen> {
    match (seen, agent) {
        (Seen::Prompt { .. }, Some(agent)) => vec![agent.start()],
        (Seen::Stop { .. }, Some(agent)) => vec![agent.end()],
        (Seen::CompactStart { .. }, Some(_)) => vec![Seen::Activity],
        (Seen::Prompt { turn, chars, .. }, None) => {
            let own = payload.text(NAMES.prompt).is_some_and(|prompt| prompt.starts_with(SYSTEM_PROMPT));
            let by = if own { PromptBy::Harness } else { PromptBy::Person };
            vec![Seen::Prompt { turn, chars, by }]
        }
        (Seen::CompactStart { trigger }, None) => compaction(trigger),
        (Seen::SessionEnd { reason }, _) => session_end(payload.text(&["reason"]), reason, ends_once),
        (Seen::CallFailed { .. }, _) => vec![call_failure(payload)],
        (Seen::ToolStart(call), _) => vec![Seen::ToolStart(read_input(call))],
        (Seen::ToolEnd { call, result }, _) => tool_end(read_input(call), result),
        (other, _) => vec![other],
    }
}

/// Nothing says when it is done; each is told, also a second one.
fn compaction(trigger: CompactTrigger) -> Vec<Seen> {
    vec![Seen::CompactStart { trigger }, Seen::Compacted { trigger: Some(trigger) }]
}

fn session_end(said: Option<&str>, reason: EndReason, ends_once: bool) -> Vec<Seen> {
    let turn = match said {
        Some("complete") if !ends_once => return vec![Seen::RunEnd { reason }],
        // An interrupted run is complete, too: the turn that it leaves open was not.
        Some("error") => Some(Seen::Failed { turn: None, error: None }),
        Some("timeout") => Some(Seen::Failed { turn: None, error: Some("timeout".to_owned()) }),
        Some("abort") => Some(Seen::Aborted { turn: None }),
        _ => None,
    };
    turn.into_iter().chain([Seen::SessionEnd { reason }]).collect()
}

/// A failed tool has a hook of its own, and the turn goes on.
fn call_failure(payload: &Payload) -> Seen {
    if let Some("tool_execution" | "user_input") = payload.text(&["errorContext", "error_context"]) {
        return Seen::Activity;
    }
    let said = payload.value(NAMES.error).map(|error| stdin_hook::plain_text(error.get("message").unwrap_or(error)));
    let said = said.unwrap_or_default();
    // What a model's server says comes as the JSON text that it sent.
    let inner = serde_json::from_str::<Value>(&said).ok();
    let message = inner.as_ref().and_then(|error| error.get("message")?.as_str());
    Seen::CallFailed { error: message.unwrap_or(&said).to_owned() }
}

fn request(payload: &Payload) -> Option<Need> {
    let said = payload.text(&["notification_type"])?;
    let (_, kind) = ASKING.into_iter().find(|(name, _)| *name == said)?;
    Some(Need {
        kind,
        // Two hooks on the same notice give the same id.
        id: sent_ms(payload).map(|ms| format!("notif-{ms}")),
        turn: None,
        tool: None,
        input: None,
        message: payload.text(NAMES.message).map(str::to_owned),
        reminder: false,
    })
}

/// When the program sent a payload: milliseconds, or RFC 3339.
fn sent_ms(payload: &Payload) -> Option<i64> {
    let said = payload.members.get("timestamp")?;
    said.as_i64().or_else(|| Some(said.as_str()?.parse::<Timestamp>().ok()?.as_millisecond()))
}

/// Documented for older versions: the arguments as JSON text.
fn read_input(mut call: ToolCall) -> ToolCall {
    let parsed = call.input.as_ref().and_then(|input| serde_json::from_str::<Value>(input.as_str()?).ok());
    if let Some(parsed) = parsed.filter(Value::is_object) {
        call.input = Some(parsed);
    }
    call
}

fn tool_end(call: ToolCall, mut result: ToolResult) -> Vec<Seen> {
    if let Some(error) = result.output.as_ref().filter(|_| result.ok).and_then(|output| failure(&call.tool, output)) {
        result.ok = false;
        result.error = Some(error);
    }
    let files = changed_files(&call);
    Seen::tool_end(call, result, files)
}

/// What went wrong, where a result says that something did.
fn failure(tool: &str, output: &Value) -> Option<String> {
    let member = |names: [&str; 2]| names.iter().find_map(|name| output.get(*name)?.as_str());
    let text = member(["textResultForLlm", "text_result_for_llm"]).unwrap_or_default();
    let kind = member(["resultType", "result_type"]);
    if kind.is_some_and(|kind| kind != "success") {
        return Some(text.to_owned());
    }
    let (said, code) = exit_code(text).filter(|_| HARNESS.tool_kind(tool) == ToolKind::Shell)?;
    (code != 0).then(|| said.trim_end().to_owned())
}

/// What a command printed, and the exit code that the program adds in a last line: `<shellId: 0 completed with exit code 3>`,
/// in older versions `<exited with exit code 3>`.
fn exit_code(text: &str) -> Option<(&str, i64)> {
    let (said, last) = text.trim_end().rsplit_once('\n').unwrap_or(("", text.trim_end()));
    let (_, code) = last.strip_prefix('<')?.strip_suffix('>')?.rsplit_once("ed with exit code ")?;
    Some((said, code.parse().ok()?))
}

/// The files that a call wrote.
fn changed_files(call: &ToolCall) -> Vec<String> {
    let Some(input) = call.input.as_ref().filter(|_| HARNESS.tool_kind(&call.tool) == ToolKind::Edit) else {
        return Vec::new();
    };
    let path = input.get("path").and_then(Value::as_str).map(str::to_owned);
    let patch = input.as_str().or_else(|| input.get("input")?.as_str()).or_else(|| input.get("patch")?.as_str());
    path.into_iter().chain(patch.into_iter().flat_map(patch::files)).collect()
}

#[cfg(test)]
mod tests;
