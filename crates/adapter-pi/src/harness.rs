//! The constants. The table in the crate's documentation is this one; a test compares them.

use sessionpipe_core::harness::{
    Harness, Means, NativeEvent, Quirks, STREAM_END, SilentEnd, Tell, Tells, ToolKind, Wired,
};

use crate::Pi;

/// The adapter.
pub static ADAPTER: Pi = Pi;

/// The registry row.
pub static HARNESS: Harness = Harness {
    name: "pi",
    product: "Pi",
    docs: "https://github.com/earendil-works/pi/blob/main/packages/coding-agent/docs/extensions.md",
    wired_in: "`~/.pi/agent/extensions/sessionpipe.ts`, or under `$PI_CODING_AGENT_DIR`",
    options: &[],
    tells: Tells {
        transcript: Tell::NotRead("`sessions/*/*.jsonl`, a tree: abandoned branches stay in the file"),
        usage: Tell::NotRead("per message, with its cost, in the transcript"),
        title: Tell::Read("the extension: the session's name"),
    },
    // The built-in ones, those of the built-in MCP extension, and whatever else extensions bring.
    tools: &[
        ("bash", ToolKind::Shell),
        ("powershell", ToolKind::Shell),
        ("read", ToolKind::Read),
        ("ls", ToolKind::Read),
        ("edit", ToolKind::Edit),
        ("write", ToolKind::Edit),
        ("grep", ToolKind::Search),
        ("find", ToolKind::Search),
        ("mcp__*", ToolKind::Mcp),
        ("list_mcp_*", ToolKind::Mcp),
        ("read_mcp_*", ToolKind::Mcp),
    ],
    has_session_end: true,
    stop_can_block: false,
    env: &["AI_AGENT", "PI_CODING_AGENT", "PI_CODING_AGENT_DIR"],
    pid_var: None,
    marks: &[],
    borrowers: &[],
    replies: &[],
    events: &[
        sent("session_start", Means::SessionStart),
        sent(SESSION_INFO_CHANGED, Means::Notification),
        sent("session_shutdown", Means::SessionEnd),
        sent("before_agent_start", Means::Prompt),
        sent(AGENT_END, Means::Stop),
        sent("agent_settled", Means::Stop),
        sent("tool_execution_start", Means::ToolStart),
        sent("tool_execution_end", Means::ToolEnd),
        sent("session_before_compact", Means::CompactStart),
        sent("session_compact", Means::Compacted),
        sent(UI_PROMPT_START, Means::Notification),
        sent(UI_PROMPT_END, Means::Notification),
        sent("user_bash", Means::Notification),
        sent(STREAM_END, Means::StreamEnd),
        never("input", "before_agent_start tells of what begins a turn"),
        never("tool_call", "a gate; tool_execution_start tells of every call"),
        never("tool_result", "may change the result; tool_execution_end tells of every call"),
        never("tool_execution_update", "output as it grows"),
        never("turn_start", "a turn of Pi's is one call of the model"),
        never("turn_end", "a turn of Pi's is one call of the model; only how the last one ended is taken from it"),
        never("agent_start", "a retry, too, is a run"),
        never("agent_before_settle", "may make the agent go on; agent_settled follows"),
        never("session_before_switch", "may be cancelled; session_shutdown follows"),
        never("session_before_fork", "may be cancelled; session_shutdown follows"),
        never("session_before_tree", "may be cancelled, and the session stays the same"),
        never("session_tree", "the session stays the same"),
        never("session_compact_failed", "nothing of ours: nothing was compacted"),
        never("model_select", "every line names the model"),
        never("thinking_level_select", "nothing of ours"),
        never("message_start", "a whole message"),
        never("message_update", "a whole message"),
        never("message_end", "a whole message"),
        never("context", "the whole conversation"),
        never("context_with_system", "the whole conversation"),
        never("before_provider_request", "a whole request"),
        never("before_provider_headers", "may hold keys"),
        never("after_provider_response", "nothing of ours"),
        never("provider_stream_event", "output as it grows"),
        never("cache_warming_decision", "a gate"),
        never("mcp_servers_change", "whoever listens has to connect them"),
        never("resources_discover", "nothing of ours"),
        never("project_trust", "a handler that decides nothing makes Pi print a warning"),
    ],
    quirks: Quirks {
        // SIGINT in print mode is followed by nothing; an error is followed by agent_settled.
        silent_end: SilentEnd::Interrupt,
        session_end_since: None,
    },
};

pub(crate) const AGENT_END: &str = "agent_end";
pub(crate) const SESSION_INFO_CHANGED: &str = "session_info_changed";
pub(crate) const UI_PROMPT_START: &str = "ui_prompt_start";
pub(crate) const UI_PROMPT_END: &str = "ui_prompt_end";

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
