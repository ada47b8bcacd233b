//! The constants. The table in the crate's documentation is this one; a test compares them.

use sessionpipe_core::harness::{
    Borrower, Harness, Mark, Means, Quirks, SilentEnd, Tell, Tells, ToolKind, ignored, registered, unregistered,
};

use crate::CopilotCli;

/// The adapter.
pub static ADAPTER: CopilotCli = CopilotCli;

/// The variable that tells a hook the program's version.
pub(crate) const VERSION: &str = "COPILOT_CLI_BINARY_VERSION";

/// The registry row.
pub static HARNESS: Harness = Harness {
    name: "copilot-cli",
    product: "GitHub Copilot CLI",
    docs: "https://docs.github.com/en/copilot/reference/hooks-reference",
    wired_in: "`$COPILOT_HOME/hooks/sessionpipe.json`",
    options: &[],
    tells: Tells {
        transcript: Tell::NotRead("`session-state/*/events.jsonl`"),
        usage: Tell::NotRead("per call, in the transcript"),
        title: Tell::NotRead("`session-state/*/workspace.yaml`"),
    },
    // Its own names and, under the second event names, Claude Code's. No name of its own has a hyphen; a tool of an MCP
    // server is called `SERVER-TOOL`, and either part may have hyphens too.
    tools: &[
        ("bash", ToolKind::Shell),
        ("*_bash", ToolKind::Shell),
        ("powershell", ToolKind::Shell),
        ("*_powershell", ToolKind::Shell),
        ("Bash", ToolKind::Shell),
        ("view", ToolKind::Read),
        ("Read", ToolKind::Read),
        ("create", ToolKind::Edit),
        ("Write", ToolKind::Edit),
        ("edit", ToolKind::Edit),
        ("Edit", ToolKind::Edit),
        ("apply_patch", ToolKind::Edit),
        ("grep", ToolKind::Search),
        ("Grep", ToolKind::Search),
        ("rg", ToolKind::Search),
        ("glob", ToolKind::Search),
        ("Glob", ToolKind::Search),
        ("web_*", ToolKind::Web),
        ("WebFetch", ToolKind::Web),
        ("WebSearch", ToolKind::Web),
        ("task", ToolKind::Agent),
        ("Agent", ToolKind::Agent),
        ("*_agent", ToolKind::Agent),
        ("list_agents", ToolKind::Agent),
        ("*-*", ToolKind::Mcp),
    ],
    has_session_end: true,
    stop_can_block: true,
    env: &[VERSION],
    pid_var: None,
    // What it sets for hooks alone. An agent that one of its hooks starts inherits that; its payloads have no timestamp.
    marks: &[Mark::EnvAndKey("COPILOT_HOOK_DIR", "timestamp")],
    // VS Code's own agent reads the hook files of the home too, and names its events as nobody else does.
    borrowers: &[Borrower { name: "vscode-copilot", marks: &[Mark::Key("hookEventName")] }],
    // Both read an answer from stdout, and take silence for none.
    replies: &[],
    events: &[
        registered("sessionStart", Means::SessionStart),
        registered("sessionEnd", Means::SessionEnd),
        registered("userPromptSubmitted", Means::Prompt),
        ignored("userPromptTransformed", "the same prompt again, with what the program adds"),
        registered("preToolUse", Means::ToolStart),
        ignored("preMcpToolCall", MCP_GATE),
        registered("postToolUse", Means::ToolEnd),
        registered("postToolUseFailure", Means::ToolFailure),
        ignored("permissionRequest", PERMISSION_GATE),
        registered("notification", Means::Notification),
        registered("agentStop", Means::Stop),
        registered("subagentStart", Means::SubagentStart),
        registered("subagentStop", Means::SubagentEnd),
        registered("preCompact", Means::CompactStart),
        registered("errorOccurred", Means::CallFailure),
        unregistered("SessionStart", Means::SessionStart, "the other name of sessionStart"),
        unregistered("SessionEnd", Means::SessionEnd, "the other name of sessionEnd"),
        unregistered("UserPromptSubmit", Means::Prompt, "the other name of userPromptSubmitted"),
        unregistered("PreToolUse", Means::ToolStart, "the other name of preToolUse"),
        ignored("PreMcpToolCall", MCP_GATE),
        unregistered("PostToolUse", Means::ToolEnd, "the other name of postToolUse"),
        unregistered("PostToolUseFailure", Means::ToolFailure, "the other name of postToolUseFailure"),
        ignored("PermissionRequest", PERMISSION_GATE),
        unregistered("Notification", Means::Notification, "the other name of notification"),
        unregistered("Stop", Means::Stop, "the other name of agentStop"),
        unregistered("SubagentStart", Means::SubagentStart, "the other name of subagentStart"),
        unregistered("SubagentStop", Means::SubagentEnd, "the other name of subagentStop"),
        unregistered("PreCompact", Means::CompactStart, "the other name of preCompact"),
        unregistered("ErrorOccurred", Means::CallFailure, "the other name of errorOccurred"),
    ],
    // An error has a hook of its own.
    quirks: Quirks { silent_end: SilentEnd::Interrupt, session_end_since: None },
};

const MCP_GATE: &str = "a failing hook denies the call, and preToolUse tells of it";
const PERMISSION_GATE: &str =
    "a failing hook denies the tool; it asks for a rule, and comes also when no person is asked";

#[cfg(test)]
mod tests {
    use super::*;
    use sessionpipe_core::payload::caller;

    #[test]
    fn what_decides_about_a_tool_beside_its_start_is_not_registered() {
        let registered: Vec<_> = HARNESS.wired(None).map(|event| event.name).collect();
        assert_eq!(registered.len(), 12);
        assert!(!registered.contains(&"permissionRequest") && !registered.contains(&"preMcpToolCall"));
        assert!(registered.iter().all(|name| name.starts_with(char::is_lowercase)));
    }

    #[test]
    fn tools_by_either_name() {
        for (tool, kind) in [
            ("bash", ToolKind::Shell),
            ("read_bash", ToolKind::Shell),
            ("Bash", ToolKind::Shell),
            ("create", ToolKind::Edit),
            ("Write", ToolKind::Edit),
            ("task", ToolKind::Agent),
            ("write_agent", ToolKind::Agent),
            ("lab-shout", ToolKind::Mcp),
            ("github-mcp-server-list_issues", ToolKind::Mcp),
            ("ask_user", ToolKind::Other),
        ] {
            assert_eq!(HARNESS.tool_kind(tool), kind, "{tool}");
        }
    }

    #[test]
    fn who_runs_these_hooks() {
        static CLAUDE: Harness = Harness { name: "claude-code", ..Harness::BLANK };
        let who = |named: &str, keys: &[&str], env: &[&str]| {
            caller(&[&CLAUDE, &HARNESS], named, |key| keys.contains(&key), |name| env.contains(&name)).to_owned()
        };
        let dir = "COPILOT_HOOK_DIR";
        // A project's .claude/settings.json, run by Copilot.
        assert_eq!(who("claude-code", &["hook_event_name", "session_id", "timestamp"], &[dir]), "copilot-cli");
        assert_eq!(who("claude-code", &["hook_event_name", "session_id"], &[dir]), "claude-code", "started by a hook");
        assert_eq!(who("claude-code", &["hook_event_name", "timestamp"], &["COPILOT_CLI"]), "claude-code");
        assert_eq!(who("copilot-cli", &["sessionId", "timestamp"], &[dir]), "copilot-cli");
        assert_eq!(who("copilot-cli", &["sessionId", "hookEventName", "timestamp"], &[]), "vscode-copilot");
    }
}
