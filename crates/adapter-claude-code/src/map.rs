//! Native event → seen. The base mapper does what is common to all Claude-shaped payloads; here is what is not.

use serde_json::Value;
use sessionpipe_core::adapter::MapError;
use sessionpipe_core::job::Hook;
use sessionpipe_core::payload::Payload;
use sessionpipe_core::seen::{AttentionKind, Cleared, Mapped, Need, PromptBy, Seen, StopKind, TitleSource};
use sessionpipe_core::stdin_hook::{self, FIELDS, Fields};

use crate::harness::HARNESS;

/// Maps one hook call. A borrower's payload is mapped by the event that argv names; its own name for it stays.
pub(crate) fn map(hook: &Hook) -> Result<Mapped, MapError> {
    if hook.caller != HARNESS.name {
        return borrowed(hook);
    }
    // From 2.1.258 on.
    let hook = stdin_hook::with_session(hook, "CLAUDE_CODE_SESSION_ID");
    let payload = &hook.payload;
    let mut mapped = stdin_hook::map(&HARNESS, &FIELDS, &hook)?;
    mapped.title = payload.text(&["session_title"]).map(|title| (title.to_owned(), TitleSource::Custom));
    mapped.version = hook.header.env.get("AI_AGENT").and_then(|agent| version(agent));
    if let Some(seen) = notified(payload) {
        mapped.seen = vec![seen];
    }
    let changed = changed_files(payload, &mapped.seen);
    for seen in &mut mapped.seen {
        match seen {
            Seen::Prompt { by, .. }
                if payload.text(FIELDS.prompt).is_some_and(|p| p.starts_with(TASK_NOTIFICATION)) =>
            {
                *by = PromptBy::Harness;
            }
            // A background task that ends is reported in a prompt of the harness, and the turn goes on.
            Seen::Stop { kind, .. } if has_items(payload, "background_tasks") => *kind = StopKind::Pause,
            Seen::ToolEnd { result, .. } if payload.value(&["is_interrupt"]) == Some(&Value::Bool(true)) => {
                result.ok = false;
                result.error.get_or_insert_with(|| "interrupted".to_owned());
            }
            Seen::NeedsYou(_) if !attended(&hook) => *seen = Seen::Activity,
            Seen::NeedsYou(need) if need.tool.as_deref() == Some(ASK_TOOL) => {
                need.kind = AttentionKind::Question;
                need.message = question(need.input.as_ref());
            }
            _ => {}
        }
    }
    mapped.seen.extend(changed);
    Ok(mapped)
}

/// How a prompt begins that Claude Code itself submits when a background task has ended.
const TASK_NOTIFICATION: &str = "<task-notification>";

/// The tool that puts a question to the person; its dialog is announced as a permission request.
const ASK_TOOL: &str = "AskUserQuestion";

/// What a notification's type asks of the person, and whether it says nothing new where such a request is open already.
/// Types that are not here need nobody (auth_success, agent_completed, push_notification, quota_auto_resume_…, …).
const NOTIFICATIONS: [(&str, AttentionKind, bool); 6] = [
    // 6 s after a dialog opened: a permission, a question or a plan to approve.
    ("permission_prompt", AttentionKind::Permission, true),
    ("worker_permission_prompt", AttentionKind::Permission, false),
    ("agent_needs_input", AttentionKind::Question, false),
    // 6 s after Elicitation.
    ("elicitation_dialog", AttentionKind::Elicitation, true),
    ("elicitation_url_dialog", AttentionKind::Elicitation, true),
    // 60 s after the turn has ended; said again, it is the same wait.
    ("idle_prompt", AttentionKind::Idle, true),
];

/// What a Notification says; `None` for any other event and for types that need nobody.
fn notified(payload: &Payload) -> Option<Seen> {
    let name = payload.text(&["notification_type"])?;
    let message = payload.text(FIELDS.message);
    if matches!(name, "elicitation_response" | "elicitation_complete") {
        // "Elicitation response for server "x": accept", or decline, or cancel.
        let cancelled = message.is_some_and(|m| m.ends_with(": cancel"));
        let how = if cancelled { Cleared::Cancelled } else { Cleared::Answered };
        return Some(Seen::Answered { kind: Some(AttentionKind::Elicitation), id: None, how });
    }
    let &(_, kind, reminder) = NOTIFICATIONS.iter().find(|(known, ..)| *known == name)?;
    Some(Seen::NeedsYou(Need {
        kind,
        id: None,
        turn: payload.text(FIELDS.turn).map(str::to_owned),
        tool: None,
        input: None,
        message: message.map(str::to_owned),
        reminder,
    }))
}

/// Tools that write a file, and the member of their input that names it.
const WRITES: [(&str, &str); 4] =
    [("Write", "file_path"), ("Edit", "file_path"), ("MultiEdit", "file_path"), ("NotebookEdit", "notebook_path")];

/// The file that a tool call which worked has written.
fn changed_files(payload: &Payload, seen: &[Seen]) -> Option<Seen> {
    let call = seen.iter().find_map(|seen| match seen {
        Seen::ToolEnd { call, result } if result.ok => Some(call),
        _ => None,
    })?;
    let (_, member) = WRITES.iter().find(|(tool, _)| *tool == call.tool)?;
    let path = payload.value(FIELDS.input)?.get(member)?.as_str()?;
    Some(Seen::FilesChanged { paths: vec![path.to_owned()] })
}

/// The first question of [`ASK_TOOL`].
fn question(input: Option<&Value>) -> Option<String> {
    Some(input?.get("questions")?.get(0)?.get("question")?.as_str()?.to_owned())
}

/// Whether a person could answer. With `-p` nobody is asked: 2.1.328 announces a permission request all the same and
/// denies it. It says so in a variable; before, the entry point tells.
fn attended(hook: &Hook) -> bool {
    let var = |name| hook.header.env.get(name).map(String::as_str);
    match var("CLAUDE_CODE_SESSION_ATTENDED") {
        Some(attended) => attended != "0",
        None => var("CLAUDE_CODE_ENTRYPOINT") != Some("sdk-cli"),
    }
}

fn has_items(payload: &Payload, member: &str) -> bool {
    payload.members.get(member).and_then(Value::as_array).is_some_and(|items| !items.is_empty())
}

/// The version in `claude-code_2-1-328_harness`.
fn version(agent: &str) -> Option<String> {
    let version = agent.strip_prefix("claude-code_")?.split('_').next()?.replace('-', ".");
    semver::Version::parse(&version).is_ok().then_some(version)
}

/// The names of a borrower's members: Claude Code's, Cursor's, and the camel case of Grok and VS Code.
const BORROWED: Fields = Fields {
    session: &["session_id", "conversation_id", "sessionId"],
    event: &["hook_event_name", "hookEventName"],
    cwd: &["cwd", "workspaceRoot"],
    transcript: &["transcript_path", "transcriptPath"],
    turn: &["prompt_id", "promptId", "generation_id"],
    tool: &["tool_name", "toolName"],
    call: &["tool_use_id", "toolUseId"],
    input: &["tool_input", "toolInput"],
    output: &["tool_response", "tool_output", "toolResult"],
    error: &["error", "error_message"],
    ..FIELDS
};

fn borrowed(hook: &Hook) -> Result<Mapped, MapError> {
    let mut mapped = stdin_hook::map(&HARNESS, &BORROWED, hook)?;
    // Cursor sends "" from its command line, Devin nothing; the hook's own folder is then no project's.
    if hook.payload.text(BORROWED.cwd).is_none() {
        let root = hook.payload.members.get("workspace_roots").and_then(|roots| roots.get(0)?.as_str());
        let var = |name| hook.header.env.get(name).map(String::as_str);
        let folder = root.or_else(|| var("DEVIN_PROJECT_DIR")).or_else(|| var("CLAUDE_PROJECT_DIR"));
        mapped.cwd = folder.filter(|f| !f.is_empty()).map(str::to_owned).or(mapped.cwd);
    }
    Ok(mapped)
}

#[cfg(test)]
mod tests;
