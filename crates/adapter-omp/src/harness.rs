//! The constants. The table in the crate's documentation is this one; a test compares them.

use sessionpipe_core::harness::{
    Harness, Means, NativeEvent, Quirks, STREAM_END, SilentEnd, Tell, Tells, ToolKind, Wired,
};

use crate::Omp;

/// The adapter.
pub static ADAPTER: Omp = Omp;

/// The registry row.
pub static HARNESS: Harness = Harness {
    name: "omp",
    product: "Oh My Pi",
    docs: "https://github.com/can1357/oh-my-pi/blob/main/docs/extensions.md",
    wired_in: "`~/.omp/agent/extensions/sessionpipe.ts`, in every profile, or under `$PI_CODING_AGENT_DIR`",
    options: &[],
    tells: Tells {
        transcript: Tell::NotRead("`sessions/*/*.jsonl`, a tree: abandoned branches stay in the file"),
        usage: Tell::NotRead("per message, with its cost, in the transcript"),
        title: Tell::Read("the extension: the session's name"),
    },
    // The built-in ones, with the older names of two of them.
    tools: &[
        ("mcp__*", ToolKind::Mcp),
        ("bash", ToolKind::Shell),
        ("eval", ToolKind::Shell),
        ("read", ToolKind::Read),
        ("edit", ToolKind::Edit),
        ("write", ToolKind::Edit),
        ("ast_edit", ToolKind::Edit),
        ("grep", ToolKind::Search),
        ("search", ToolKind::Search),
        ("glob", ToolKind::Search),
        ("find", ToolKind::Search),
        ("ast_grep", ToolKind::Search),
        ("lsp", ToolKind::Search),
        ("web_search", ToolKind::Web),
        ("github", ToolKind::Web),
        ("task", ToolKind::Agent),
        ("hub", ToolKind::Agent),
    ],
    has_session_end: true,
    // A session_stop handler may make the agent go on.
    stop_can_block: true,
    env: &["OMP_PROFILE", "PI_PROFILE", "PI_CODING_AGENT_DIR", "PI_CONFIG_DIR"],
    pid_var: None,
    marks: &[],
    borrowers: &[],
    replies: &[],
    events: &[
        sent("session_start", Means::SessionStart),
        sent("session_switch", Means::SessionStart),
        sent("session_branch", Means::SessionStart),
        sent(SESSION_SHUTDOWN, Means::SessionEnd),
        sent("before_agent_start", Means::Prompt),
        sent("session_stop", Means::Stop),
        sent(AGENT_END, Means::Stop),
        sent("tool_execution_start", Means::ToolStart),
        sent("tool_execution_end", Means::ToolEnd),
        sent(APPROVAL_REQUESTED, Means::Notification),
        sent(APPROVAL_RESOLVED, Means::Notification),
        sent("session_before_compact", Means::CompactStart),
        sent("session_compact", Means::Compacted),
        sent("user_bash", Means::Notification),
        sent("user_python", Means::Notification),
        sent(STREAM_END, Means::StreamEnd),
        never(
            "input",
            "only the terminal fires it, and for /quit, too; before_agent_start tells of what begins a turn",
        ),
        never("tool_call", "a gate; tool_execution_start tells of every call"),
        never("tool_result", "may change the result; tool_execution_end tells of every call"),
        never("tool_execution_update", "output as it grows"),
        never("turn_start", "a turn of OMP's is one call of the model"),
        never("turn_end", "a turn of OMP's is one call of the model; only how the last one ended is taken from it"),
        never("agent_start", "a retry, too, is a run"),
        never("auto_compaction_start", "only remembered: the compaction's own events follow"),
        never("auto_compaction_end", "only remembered: the compaction's own events came before"),
        never("auto_retry_start", "nothing ends by it"),
        never("auto_retry_end", "nothing ends by it"),
        never("retry_fallback_applied", "nothing ends by it"),
        never("retry_fallback_succeeded", "nothing ends by it"),
        never("todo_reminder", "the turn goes on"),
        never("session_before_switch", "may be cancelled; session_switch follows"),
        never("session_before_branch", "may be cancelled; session_branch follows"),
        never("session_before_tree", "may be cancelled, and the session stays the same"),
        never("session_tree", "the session stays the same"),
        never("session.compacting", "the whole conversation"),
        never("goal_updated", "nothing of ours"),
        never("ttsr_triggered", "nothing of ours"),
        never("credential_disabled", "nothing of ours"),
        never("mcp_notification", "nothing of ours"),
        never("message_start", "a whole message"),
        never("message_update", "a whole message"),
        never("message_end", "a whole message"),
        never("context", "the whole conversation"),
        never("before_provider_request", "a whole request"),
        never("after_provider_response", "nothing of ours"),
        never("resources_discover", "nothing of ours"),
    ],
    quirks: Quirks {
        // SIGTERM and SIGINT in the middle of a run; an error has its session_stop.
        silent_end: SilentEnd::Interrupt,
        session_end_since: None,
    },
};

pub(crate) const SESSION_SHUTDOWN: &str = "session_shutdown";
pub(crate) const AGENT_END: &str = "agent_end";
pub(crate) const APPROVAL_REQUESTED: &str = "tool_approval_requested";
pub(crate) const APPROVAL_RESOLVED: &str = "tool_approval_resolved";

/// To listen to an event that a version does not have does no harm.
const fn sent(name: &'static str, means: Means) -> NativeEvent {
    NativeEvent { name, means, wired: Wired::Always }
}

const fn never(name: &'static str, why: &'static str) -> NativeEvent {
    NativeEvent { name, means: Means::Ignored, wired: Wired::Never(why) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crate_documents_every_event_as_it_is() {
        let documented: Vec<Vec<&str>> = include_str!("lib.rs")
            .lines()
            .filter_map(|line| line.strip_prefix("//! | `")?.strip_suffix(" |"))
            .map(|line| line.split(" | ").map(|cell| cell.trim_end_matches('`')).collect::<Vec<_>>())
            .filter(|cells| cells.len() == 4)
            .collect();
        assert_eq!(documented.len(), HARNESS.events.len());
        for (row, event) in documented.iter().zip(HARNESS.events) {
            let registered = match event.wired {
                Wired::Never(why) => {
                    assert!(row[3].starts_with(why), "{row:?}");
                    "never"
                }
                _ => "always",
            };
            assert_eq!(row[..3], [event.name, &format!("{:?}", event.means), registered]);
        }
    }

    #[test]
    fn the_registry_row_is_the_documented_one() {
        assert!(include_str!("lib.rs").contains(&format!("| `{}` |", HARNESS.name)));
        assert!(include_str!("lib.rs").contains(&format!("<{}>", HARNESS.docs)));
    }

    #[test]
    fn no_variable_that_may_hold_a_secret_is_carried() {
        for name in HARNESS.env {
            assert!(!["KEY", "TOKEN", "SECRET", "PASSWORD"].iter().any(|secret| name.contains(secret)), "{name}");
        }
    }
}
