//! The constants. The table in the crate's documentation is this one; a test compares them.

use sessionpipe_core::harness::{
    Borrower, Harness, Mark, Means, NativeEvent, Quirks, Reply, SilentEnd, Tell, Tells, ToolKind, Wired, ignored,
    registered,
};

use crate::ClaudeCode;

/// The adapter.
pub static ADAPTER: ClaudeCode = ClaudeCode;

/// The registry row.
pub static HARNESS: Harness = Harness {
    name: "claude-code",
    product: "Claude Code",
    docs: "https://code.claude.com/docs/en/hooks",
    wired_in: "`settings.json` of every config dir: `~/.claude`, `$CLAUDE_CONFIG_DIR`, `~/.claude-*`",
    options: &[],
    tells: Tells {
        transcript: Tell::NotRead("`projects/*/*.jsonl`"),
        usage: Tell::NotRead("per message, in the transcript"),
        title: Tell::NotRead("`custom-title`, `ai-title` records"),
    },
    tools: &TOOLS,
    has_session_end: true,
    stop_can_block: true,
    // Never CLAUDE_CODE_MESSAGING_TOKEN, which is a secret.
    env: &[
        "AI_AGENT",
        "CLAUDE_CODE_CHILD_SESSION",
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_CODE_HOST_SESSION_ID",
        "CLAUDE_CODE_SESSION_ATTENDED",
        "CLAUDE_CODE_SESSION_ID",
        "CLAUDE_CONFIG_DIR",
        "CLAUDE_PID",
        "CLAUDE_PROJECT_DIR",
        // What proves a borrower.
        "CURSOR_VERSION",
        "DEVIN_PROJECT_DIR",
        "GROK_HOOK_EVENT",
    ],
    pid_var: Some("CLAUDE_PID"),
    // None: other programs send payloads of the same shape, and Claude Code's variables are inherited by every agent that
    // is started from one of its sessions.
    marks: &[],
    borrowers: &BORROWERS,
    replies: &REPLIES,
    events: &EVENTS,
    quirks: Quirks {
        // An API error has StopFailure; Esc has nothing.
        silent_end: SilentEnd::Interrupt,
        session_end_since: None,
    },
};

/// The tools of 2.1.328 and their older names (code.claude.com/docs/en/tools-reference). Bash, Edit, Read, Write, Agent and
/// MCP tools were recorded.
const TOOLS: [(&str, ToolKind); 25] = [
    ("mcp__*", ToolKind::Mcp),
    ("Bash", ToolKind::Shell),
    ("BashOutput", ToolKind::Shell),
    ("KillBash", ToolKind::Shell),
    ("KillShell", ToolKind::Shell),
    ("Monitor", ToolKind::Shell),
    ("PowerShell", ToolKind::Shell),
    ("Shell", ToolKind::Shell),
    ("Read", ToolKind::Read),
    ("LS", ToolKind::Read),
    ("NotebookRead", ToolKind::Read),
    ("ListMcpResourcesTool", ToolKind::Mcp),
    ("ReadMcpResourceTool", ToolKind::Mcp),
    ("Edit", ToolKind::Edit),
    ("MultiEdit", ToolKind::Edit),
    ("Write", ToolKind::Edit),
    ("NotebookEdit", ToolKind::Edit),
    ("Glob", ToolKind::Search),
    ("Grep", ToolKind::Search),
    ("ToolSearch", ToolKind::Search),
    ("WebFetch", ToolKind::Web),
    ("WebSearch", ToolKind::Web),
    ("Agent", ToolKind::Agent),
    ("SendMessage", ToolKind::Agent),
    ("Task", ToolKind::Agent),
];

/// Who else runs the hooks in Claude Code's settings. The variables are set for hooks only, not for the commands and
/// terminals of these programs, so a Claude Code started there does not inherit them.
const BORROWERS: [Borrower; 4] = [
    // Both documented (cursor.com/docs/hooks); the key was seen in payloads, the variable tells where stdin is broken.
    Borrower { name: "cursor", marks: &[Mark::Key("cursor_version"), Mark::Env("CURSOR_VERSION")] },
    // docs.x.ai/build/features/hooks
    Borrower { name: "grok", marks: &[Mark::Env("GROK_HOOK_EVENT")] },
    // docs.devin.ai/cli/extensibility/hooks
    Borrower { name: "devin", marks: &[Mark::Env("DEVIN_PROJECT_DIR")] },
    // code.visualstudio.com/docs/copilot/customization/hooks. Grok has the key too: its own mark is tried before.
    Borrower { name: "vscode-copilot", marks: &[Mark::Key("hookEventName")] },
];

/// Cursor takes an empty answer to a gate for a denial. The last three names are ours, for a payload that names no event.
const REPLIES: [Reply; 10] = [
    cursor("preToolUse", ALLOW),
    cursor("beforeShellExecution", ALLOW),
    cursor("beforeMCPExecution", ALLOW),
    cursor("beforeReadFile", ALLOW),
    cursor("subagentStart", ALLOW),
    cursor("beforeSubmitPrompt", CONTINUE),
    cursor("PreToolUse", ALLOW),
    cursor("SubagentStart", ALLOW),
    cursor("UserPromptSubmit", CONTINUE),
    cursor("*", "{}"),
];

const ALLOW: &str = r#"{"permission":"allow"}"#;
const CONTINUE: &str = r#"{"continue":true}"#;

const fn cursor(event: &'static str, stdout: &'static str) -> Reply {
    Reply { caller: "cursor", event, stdout }
}

const EVENTS: [NativeEvent; 33] = [
    registered("SessionStart", Means::SessionStart),
    registered("UserPromptSubmit", Means::Prompt),
    registered("PreToolUse", Means::ToolStart),
    registered("PostToolUse", Means::ToolEnd),
    registered("PostToolUseFailure", Means::ToolFailure),
    since("PostToolBatch", Means::ToolBatch, SKIPS_UNKNOWN),
    registered("PermissionRequest", Means::PermissionRequest),
    registered("Notification", Means::Notification),
    since("Elicitation", Means::Elicitation, KNOWS_27),
    registered("Stop", Means::Stop),
    since("StopFailure", Means::StopFailure, KNOWS_27),
    registered("SubagentStart", Means::SubagentStart),
    registered("SubagentStop", Means::SubagentEnd),
    registered("PreCompact", Means::CompactStart),
    since("PostCompact", Means::Compacted, KNOWS_27),
    registered("SessionEnd", Means::SessionEnd),
    ignored("UserPromptExpansion", "UserPromptSubmit says the same"),
    ignored("PreModelSwitch", "the transcript names the model of each answer"),
    ignored("PostModelSwitch", "the transcript names the model of each answer"),
    ignored("PermissionDenied", "PostToolBatch closes the call"),
    ignored("Setup", "runs before there is a session"),
    ignored("TeammateIdle", "says nothing of this session"),
    ignored("TaskCreated", "TaskCreate is a tool, and reported as one"),
    ignored("TaskCompleted", "TaskUpdate is a tool, and reported as one"),
    ignored("ElicitationResult", "Notification says the same"),
    ignored("ConfigChange", "says nothing of this session"),
    ignored("WorktreeCreate", "its hook replaces `git worktree` and must print a path"),
    ignored("WorktreeRemove", "its hook counts as the removal itself"),
    ignored("InstructionsLoaded", "says nothing of ours, and is killed when the program ends"),
    ignored("CwdChanged", "every payload carries the folder"),
    ignored("FileChanged", "its matcher is a watch list"),
    ignored("DirectoryAdded", "says nothing of ours"),
    ignored("MessageDisplay", "says nothing of ours, and holds up the end of the turn"),
];

/// The oldest supported version: it knows the 12 events of [`Wired::Always`] and no other.
pub(crate) const OLDEST: (u64, u64, u64) = (2, 0, 60);

/// Versions before this ignore the whole file for one event name that they do not know; this one and later ones skip it.
/// (Seen on both sides: 2.1.100 and 2.1.105.)
pub(crate) const SKIPS_FROM: (u64, u64, u64) = (2, 1, 105);

const SKIPS_UNKNOWN: Wired = Wired::Since(SKIPS_FROM.0, SKIPS_FROM.1, SKIPS_FROM.2);

/// The first version that is known to know 27 of the events.
const FROM_27: (u64, u64, u64) = (2, 1, 100);

const KNOWS_27: Wired = Wired::Since(FROM_27.0, FROM_27.1, FROM_27.2);

/// The events that came after 2.1.100.
const NEWEST: [&str; 6] =
    ["PostToolBatch", "UserPromptExpansion", "PreModelSwitch", "PostModelSwitch", "DirectoryAdded", "MessageDisplay"];

/// Whether a version is certain to know an event.
pub(crate) fn knows(version: (u64, u64, u64), event: &str) -> bool {
    match HARNESS.event(event) {
        None => false,
        Some(_) if version >= SKIPS_FROM => true,
        Some(event) if event.wired == Wired::Always => version >= OLDEST,
        Some(event) => version >= FROM_27 && !NEWEST.contains(&event.name),
    }
}

const fn since(name: &'static str, means: Means, wired: Wired) -> NativeEvent {
    NativeEvent { name, means, wired }
}

#[cfg(test)]
mod tests {
    use sessionpipe_core::payload::{caller, reply};

    use super::*;

    #[test]
    fn each_version_registers_only_what_it_knows() {
        let names = |version: &str| -> Vec<&str> {
            let version = semver::Version::parse(version).expect("a version");
            HARNESS.wired(Some(&version)).map(|e| e.name).collect()
        };
        let oldest = [
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "PostToolUse",
            "PostToolUseFailure",
            "PermissionRequest",
            "Notification",
            "Stop",
            "SubagentStart",
            "SubagentStop",
            "PreCompact",
            "SessionEnd",
        ];
        assert_eq!(names("2.0.60"), oldest);
        assert_eq!(names("2.1.99"), oldest);
        assert_eq!(HARNESS.wired(None).map(|e| e.name).collect::<Vec<_>>(), oldest, "unknown: the oldest supported");
        assert_eq!(names("2.1.100").len(), 15);
        assert!(!names("2.1.104").contains(&"PostToolBatch"));
        assert_eq!(names("2.1.105").len(), 16);
        assert_eq!(names("2.1.328").len(), 16);
        for version in ["2.0.60", "2.1.100", "2.1.105", "2.1.328"] {
            let parsed = semver::Version::parse(version).expect("a version");
            for name in names(version) {
                assert!(knows((parsed.major, parsed.minor, parsed.patch), name), "{version} {name}");
            }
        }
    }

    #[test]
    fn which_version_knows_what() {
        let known = |version| EVENTS.iter().filter(|e| knows(version, e.name)).count();
        assert_eq!(known((2, 0, 59)), 0);
        assert_eq!(known((2, 0, 60)), 12);
        assert_eq!(known((2, 1, 100)), 27);
        assert_eq!(known((2, 1, 328)), 33);
        assert!(!knows((2, 1, 328), "preToolUse"));
    }

    #[test]
    fn borrowers_are_known_by_payload_and_hook_environment() {
        let who = |keys: &[&str], env: &[&str]| {
            caller(&[&HARNESS], "claude-code", |key| keys.contains(&key), |name| env.contains(&name)).to_owned()
        };
        assert_eq!(who(&["session_id", "cursor_version"], &[]), "cursor");
        assert_eq!(who(&[], &["CURSOR_VERSION"]), "cursor");
        assert_eq!(who(&["hookEventName"], &["GROK_HOOK_EVENT"]), "grok");
        assert_eq!(who(&["session_id"], &["DEVIN_PROJECT_DIR"]), "devin");
        assert_eq!(who(&["sessionId", "hookEventName"], &[]), "vscode-copilot");
        // A real Claude Code in Cursor's terminal.
        assert_eq!(who(&["session_id", "hook_event_name"], &["CURSOR_TRACE_ID", "TERM_PROGRAM"]), "claude-code");
    }

    #[test]
    fn every_mark_by_variable_may_be_carried() {
        for mark in BORROWERS.iter().flat_map(|b| b.marks) {
            if let Mark::Env(name) = mark {
                assert!(HARNESS.env.contains(name), "{name}");
            }
        }
        assert!(HARNESS.env.contains(&HARNESS.pid_var.expect("a variable")));
    }

    #[test]
    fn only_a_borrower_gets_an_answer() {
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
            // Nothing on stdin: argv names the event.
            ("PreToolUse", r#"{"permission":"allow"}"#),
            ("UserPromptSubmit", r#"{"continue":true}"#),
            ("Stop", "{}"),
        ] {
            assert_eq!(reply(&[&HARNESS], "cursor", event), stdout, "{event}");
        }
        for event in EVENTS.iter().map(|e| e.name) {
            for caller in ["claude-code", "grok", "devin", "vscode-copilot"] {
                assert_eq!(reply(&[&HARNESS], caller, event), "");
            }
        }
    }
}
