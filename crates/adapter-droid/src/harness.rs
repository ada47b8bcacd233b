//! The constants. The table in the crate's documentation is this one; a test compares them.

use sessionpipe_core::harness::{Harness, Means, Quirks, SilentEnd, Tell, Tells, ToolKind, registered};

use crate::Droid;

/// The adapter.
pub static ADAPTER: Droid = Droid;

/// The registry row.
pub static HARNESS: Harness = Harness {
    name: "droid",
    product: "Factory Droid",
    docs: "https://docs.factory.ai/harness/hooks",
    wired_in: "`~/.factory/settings.json` or `hooks.json`, each event where the person's hooks of that event stand",
    options: &[],
    tells: Tells {
        transcript: Tell::NotRead("`sessions/*/*.jsonl`"),
        usage: Tell::NotRead("per session, in `sessions/*/*.settings.json`"),
        title: Tell::NotRead("`session_start`, in the transcript"),
    },
    tools: &TOOLS,
    has_session_end: true,
    stop_can_block: true,
    // Droid hands every scalar member of the payload over as a variable of the same name, too: where stdin was cut these
    // tell what it was about. None that may hold what somebody wrote, as `prompt` and `tool_response` do.
    env: &PAYLOAD_VARS,
    pid_var: None,
    // No member is in every payload and in no other harness's; and its variables are inherited by what its hooks start.
    marks: &[],
    borrowers: &[],
    // It may show what a hook prints, and takes JSON as an instruction.
    replies: &[],
    // Droid skips event names that it does not know, so no version needs a list of its own.
    events: &[
        registered("SessionStart", Means::SessionStart),
        registered("UserPromptSubmit", Means::Prompt),
        registered("PreToolUse", Means::ToolStart),
        registered("PostToolUse", Means::ToolEnd),
        registered("Notification", Means::Notification),
        registered("Stop", Means::Stop),
        registered("SubagentStop", Means::SubagentEnd),
        registered("PreCompact", Means::CompactStart),
        registered("SessionEnd", Means::SessionEnd),
    ],
    quirks: Quirks {
        // An interrupt has its notification, a refused request its Stop. What is left is a program that is ended while a
        // command runs, and one that gives up on a model that cannot be reached.
        silent_end: SilentEnd::InterruptInCall,
        session_end_since: None,
    },
};

/// The scalar members of payloads that may be carried along as variables.
pub(crate) const PAYLOAD_VARS: [&str; 10] = [
    "calling_session_id",
    "cwd",
    "hook_event_name",
    "message_id",
    "notification_type",
    "reason",
    "session_id",
    "source",
    "tool_name",
    "transcript_path",
];

/// The tools that 0.215.0 offers to its models and names as matchers. Execute, Read, Create, Edit, AskUser and Task were
/// recorded. Tools of MCP servers have names of their own: see [`crate::map`].
const TOOLS: [(&str, ToolKind); 22] = [
    ("Execute", ToolKind::Shell),
    ("Read", ToolKind::Read),
    ("LS", ToolKind::Read),
    ("getIdeDiagnostics", ToolKind::Read),
    ("Create", ToolKind::Edit),
    ("Edit", ToolKind::Edit),
    ("MultiEdit", ToolKind::Edit),
    ("ApplyPatch", ToolKind::Edit),
    ("Glob", ToolKind::Search),
    ("Grep", ToolKind::Search),
    ("ToolSearch", ToolKind::Search),
    ("FetchUrl", ToolKind::Web),
    ("WebSearch", ToolKind::Web),
    ("Task", ToolKind::Agent),
    ("TaskOutput", ToolKind::Agent),
    ("TaskStop", ToolKind::Agent),
    ("AskUser", ToolKind::Other),
    ("ExitSpecMode", ToolKind::Other),
    ("GenerateDroid", ToolKind::Other),
    ("GenerateImage", ToolKind::Other),
    ("Skill", ToolKind::Other),
    ("TodoWrite", ToolKind::Other),
];
