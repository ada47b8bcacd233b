//! The constants. The table in the crate's documentation is this one; a test compares them.

use sessionpipe_core::harness::{
    Harness, Means, Quirks, STREAM_END, SilentEnd, Tell, Tells, ToolKind, ignored, registered,
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
    // To listen to an event that a version does not have does no harm.
    events: &[
        registered("session_start", Means::SessionStart),
        registered(SESSION_INFO_CHANGED, Means::Notification),
        registered("session_shutdown", Means::SessionEnd),
        registered("before_agent_start", Means::Prompt),
        registered(AGENT_END, Means::Stop),
        registered("agent_settled", Means::Stop),
        registered("tool_execution_start", Means::ToolStart),
        registered("tool_execution_end", Means::ToolEnd),
        registered("session_before_compact", Means::CompactStart),
        registered("session_compact", Means::Compacted),
        registered(UI_PROMPT_START, Means::Notification),
        registered(UI_PROMPT_END, Means::Notification),
        registered("user_bash", Means::Notification),
        registered(STREAM_END, Means::StreamEnd),
        ignored("input", "before_agent_start tells of what begins a turn"),
        ignored("tool_call", "a gate; tool_execution_start tells of every call"),
        ignored("tool_result", "may change the result; tool_execution_end tells of every call"),
        ignored("tool_execution_update", "output as it grows"),
        ignored("turn_start", "a turn of Pi's is one call of the model"),
        ignored("turn_end", "a turn of Pi's is one call of the model; only how the last one ended is taken from it"),
        ignored("agent_start", "a retry, too, is a run"),
        ignored("agent_before_settle", "may make the agent go on; agent_settled follows"),
        ignored("session_before_switch", "may be cancelled; session_shutdown follows"),
        ignored("session_before_fork", "may be cancelled; session_shutdown follows"),
        ignored("session_before_tree", "may be cancelled, and the session stays the same"),
        ignored("session_tree", "the session stays the same"),
        ignored("session_compact_failed", "nothing of ours: nothing was compacted"),
        ignored("model_select", "every line names the model"),
        ignored("thinking_level_select", "nothing of ours"),
        ignored("message_start", "a whole message"),
        ignored("message_update", "a whole message"),
        ignored("message_end", "a whole message"),
        ignored("context", "the whole conversation"),
        ignored("context_with_system", "the whole conversation"),
        ignored("before_provider_request", "a whole request"),
        ignored("before_provider_headers", "may hold keys"),
        ignored("after_provider_response", "nothing of ours"),
        ignored("provider_stream_event", "output as it grows"),
        ignored("cache_warming_decision", "a gate"),
        ignored("mcp_servers_change", "whoever listens has to connect them"),
        ignored("resources_discover", "nothing of ours"),
        ignored("project_trust", "a handler that decides nothing makes Pi print a warning"),
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
