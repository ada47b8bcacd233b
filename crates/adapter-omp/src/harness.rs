//! The constants. The table in the crate's documentation is this one; a test compares them.

use sessionpipe_core::harness::{
    Harness, Means, Quirks, STREAM_END, SilentEnd, Tell, Tells, ToolKind, ignored, registered,
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
    // To listen to an event that a version does not have does no harm.
    events: &[
        registered("session_start", Means::SessionStart),
        registered("session_switch", Means::SessionStart),
        registered("session_branch", Means::SessionStart),
        registered(SESSION_SHUTDOWN, Means::SessionEnd),
        registered("before_agent_start", Means::Prompt),
        registered("session_stop", Means::Stop),
        registered(AGENT_END, Means::Stop),
        registered("tool_execution_start", Means::ToolStart),
        registered("tool_execution_end", Means::ToolEnd),
        registered(APPROVAL_REQUESTED, Means::Notification),
        registered(APPROVAL_RESOLVED, Means::Notification),
        registered("session_before_compact", Means::CompactStart),
        registered("session_compact", Means::Compacted),
        registered("user_bash", Means::Notification),
        registered("user_python", Means::Notification),
        registered(STREAM_END, Means::StreamEnd),
        ignored(
            "input",
            "only the terminal fires it, and for /quit, too; before_agent_start tells of what begins a turn",
        ),
        ignored("tool_call", "a gate; tool_execution_start tells of every call"),
        ignored("tool_result", "may change the result; tool_execution_end tells of every call"),
        ignored("tool_execution_update", "output as it grows"),
        ignored("turn_start", "a turn of OMP's is one call of the model"),
        ignored("turn_end", "a turn of OMP's is one call of the model; only how the last one ended is taken from it"),
        ignored("agent_start", "a retry, too, is a run"),
        ignored("auto_compaction_start", "only remembered: the compaction's own events follow"),
        ignored("auto_compaction_end", "only remembered: the compaction's own events came before"),
        ignored("auto_retry_start", "nothing ends by it"),
        ignored("auto_retry_end", "nothing ends by it"),
        ignored("retry_fallback_applied", "nothing ends by it"),
        ignored("retry_fallback_succeeded", "nothing ends by it"),
        ignored("todo_reminder", "the turn goes on"),
        ignored("session_before_switch", "may be cancelled; session_switch follows"),
        ignored("session_before_branch", "may be cancelled; session_branch follows"),
        ignored("session_before_tree", "may be cancelled, and the session stays the same"),
        ignored("session_tree", "the session stays the same"),
        ignored("session.compacting", "the whole conversation"),
        ignored("goal_updated", "nothing of ours"),
        ignored("ttsr_triggered", "nothing of ours"),
        ignored("credential_disabled", "nothing of ours"),
        ignored("mcp_notification", "nothing of ours"),
        ignored("message_start", "a whole message"),
        ignored("message_update", "a whole message"),
        ignored("message_end", "a whole message"),
        ignored("context", "the whole conversation"),
        ignored("before_provider_request", "a whole request"),
        ignored("after_provider_response", "nothing of ours"),
        ignored("resources_discover", "nothing of ours"),
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
