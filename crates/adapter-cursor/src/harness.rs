//! The constants. The table in the crate's documentation is this one; a test compares them.

use sessionpipe_core::harness::{
    Harness, Mark, Means, Quirks, Reply, SilentEnd, Tell, Tells, ToolKind, ignored, registered, unregistered,
};

use crate::Cursor;

/// The adapter.
pub static ADAPTER: Cursor = Cursor;

/// The registry row.
pub static HARNESS: Harness = Harness {
    name: "cursor",
    product: "Cursor",
    docs: "https://cursor.com/docs/hooks",
    wired_in: "`~/.cursor/hooks.json`, `$CURSOR_CONFIG_DIR` in place of `~/.cursor`",
    options: &[],
    tells: Tells {
        transcript: Tell::NotRead("`projects/*/agent-transcripts/*/*.jsonl`"),
        usage: Tell::NotRead("per turn, in the payload of `stop`; none of `cursor-agent -p`"),
        title: Tell::NotRead("`chats/*/*/store.db`, `state.vscdb`"),
    },
    // The documented values of a tool matcher. Shell, Read, Write and MCP tools were recorded.
    tools: &[
        ("MCP:*", ToolKind::Mcp),
        ("Shell", ToolKind::Shell),
        ("Read", ToolKind::Read),
        ("Write", ToolKind::Edit),
        ("Delete", ToolKind::Edit),
        ("Grep", ToolKind::Search),
        ("Task", ToolKind::Agent),
    ],
    has_session_end: true,
    // A stop hook's `followup_message` makes the agent go on.
    stop_can_block: true,
    // Never CURSOR_USER_EMAIL, which names the person.
    env: &[PROJECT_VAR, TRANSCRIPT_VAR, VERSION_VAR],
    pid_var: None,
    // In every payload. No variable: an agent that a hook of Cursor's starts would inherit it.
    marks: &[Mark::Key("cursor_version")],
    borrowers: &[],
    replies: &REPLIES,
    events: &[
        registered("sessionStart", Means::SessionStart),
        registered("beforeSubmitPrompt", Means::Prompt),
        registered("afterAgentThought", Means::Working),
        registered("postToolUse", Means::ToolEnd),
        registered("postToolUseFailure", Means::ToolFailure),
        registered("subagentStop", Means::SubagentEnd),
        registered("preCompact", Means::CompactStart),
        registered("stop", Means::Stop),
        registered("sessionEnd", Means::SessionEnd),
        unregistered("preToolUse", Means::ToolStart, "it decides whether the tool may run"),
        unregistered("subagentStart", Means::SubagentStart, "it decides whether the subagent may start"),
        ignored("beforeShellExecution", "it decides whether the command may run"),
        ignored("beforeMCPExecution", "it decides whether the tool may run"),
        ignored("beforeReadFile", READS),
        ignored("beforeTabFileRead", READS),
        ignored("afterShellExecution", "postToolUse says the same"),
        ignored("afterMCPExecution", "postToolUse says the same"),
        ignored("afterFileEdit", "postToolUse says the same"),
        ignored("afterAgentResponse", "stop says the same"),
        ignored("afterTabFileEdit", "a completion that the person took is no work of an agent"),
        ignored("workspaceOpen", "it is of no session"),
    ],
    quirks: Quirks {
        // Errors and aborts have their stop. In a terminal that is closed, and with SIGINT, nothing is said of the call.
        silent_end: SilentEnd::Interrupt,
        session_end_since: None,
    },
};

/// The folder of the project. (`cwd` of a payload may be empty, and hooks of the person's run in `~/.cursor`.)
pub(crate) const PROJECT_VAR: &str = "CURSOR_PROJECT_DIR";

/// The conversation's transcript.
pub(crate) const TRANSCRIPT_VAR: &str = "CURSOR_TRANSCRIPT_PATH";

/// Cursor's version.
pub(crate) const VERSION_VAR: &str = "CURSOR_VERSION";

/// The names that every version with hooks knows; the other registered ones came with IDE 2.4 (reported).
pub(crate) const EARLIEST: [&str; 2] = ["beforeSubmitPrompt", "stop"];

/// The oldest cursor-agent that is reported to know all that are registered. One name that it does not know, and it ignores
/// the whole file without a word (reported of 2026.09.10); the IDE only skips the entry.
pub(crate) const OLDEST: (u64, u64, u64) = (2026, 7, 23);

const READS: &str = "it decides whether the file may be read, and carries the whole of it";

/// An empty answer to a gate counts as *no* (reported of IDE and cursor-agent, August 2026). The last names but one are those
/// of a config that Cursor borrows, for a payload that names no event.
const REPLIES: [Reply; 10] = [
    reply("preToolUse", ALLOW),
    reply("beforeShellExecution", ALLOW),
    reply("beforeMCPExecution", ALLOW),
    reply("beforeReadFile", ALLOW),
    reply("subagentStart", ALLOW),
    reply("beforeSubmitPrompt", CONTINUE),
    reply("PreToolUse", ALLOW),
    reply("SubagentStart", ALLOW),
    reply("UserPromptSubmit", CONTINUE),
    reply("*", "{}"),
];

const ALLOW: &str = r#"{"permission":"allow"}"#;
const CONTINUE: &str = r#"{"continue":true}"#;

const fn reply(event: &'static str, stdout: &'static str) -> Reply {
    Reply { caller: "cursor", event, stdout }
}

#[cfg(test)]
mod tests {
    use sessionpipe_core::payload;

    use super::*;

    #[test]
    fn no_gate_is_registered_but_for_the_prompt() {
        let names: Vec<_> = HARNESS.wired(None).map(|event| event.name).collect();
        assert_eq!(
            names,
            [
                "sessionStart",
                "beforeSubmitPrompt",
                "afterAgentThought",
                "postToolUse",
                "postToolUseFailure",
                "subagentStop",
                "preCompact",
                "stop",
                "sessionEnd"
            ]
        );
        assert!(EARLIEST.iter().all(|name| names.contains(name)));
        assert_eq!(HARNESS.events.len(), 21);
    }

    #[test]
    fn whatever_cursor_waits_for_is_answered() {
        for (event, stdout) in [
            ("preToolUse", r#"{"permission":"allow"}"#),
            ("beforeShellExecution", r#"{"permission":"allow"}"#),
            ("beforeMCPExecution", r#"{"permission":"allow"}"#),
            ("beforeReadFile", r#"{"permission":"allow"}"#),
            ("subagentStart", r#"{"permission":"allow"}"#),
            ("beforeSubmitPrompt", r#"{"continue":true}"#),
            ("sessionStart", "{}"),
            ("postToolUse", "{}"),
            ("stop", "{}"),
            ("sessionEnd", "{}"),
            ("PreToolUse", r#"{"permission":"allow"}"#),
            ("anything new", "{}"),
        ] {
            assert_eq!(payload::reply(&[&HARNESS], "cursor", event), stdout, "{event}");
            assert_eq!(payload::reply(&[&HARNESS], "somebody-else", event), "");
        }
    }

    #[test]
    fn its_version_in_a_payload_is_proof_and_a_variable_is_none() {
        let who = |named: &'static str, keys: &[&str], env: &[&str]| {
            payload::caller(&[&HARNESS], named, |key| keys.contains(&key), |name| env.contains(&name)).to_owned()
        };
        assert_eq!(who("somebody-else", &["session_id", "cursor_version"], &[]), "cursor");
        assert_eq!(who("somebody-else", &["session_id"], &["CURSOR_VERSION", "CURSOR_TRACE_ID"]), "somebody-else");
        assert_eq!(who("cursor", &[], &[]), "cursor");
    }
}
