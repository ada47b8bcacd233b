//! The constants. The table in the crate's documentation is this one; a test compares them.

use sessionpipe_core::harness::{
    Harness, InstallOption, Means, Quirks, SilentEnd, Tell, Tells, ToolKind, ignored, registered, unregistered,
};

use crate::Kiro;

/// The adapter.
pub static ADAPTER: Kiro = Kiro;

/// The registry row.
pub static HARNESS: Harness = Harness {
    name: "kiro",
    product: "Kiro",
    docs: "https://kiro.dev/docs/hooks/",
    wired_in: "`~/.kiro/hooks/sessionpipe.json`; on request `~/.kiro/agents/*.json`",
    options: &[InstallOption {
        name: AGENTS_OPTION,
        help: "Wire the agents in ~/.kiro/agents, too: kiro-cli runs no other hooks, except with --v3",
    }],
    tells: Tells {
        transcript: Tell::NotRead("`sessions/cli/*.jsonl`, `sessions/*/sess_*/messages.jsonl`"),
        usage: Tell::Never("counted in credits, never in tokens"),
        title: Tell::NotRead("`sessions/cli/*.json`, `session.json`"),
    },
    // The tools of the IDE and of the CLI with their aliases, as documented; a payload has whichever the surface uses.
    tools: &[
        ("@*", ToolKind::Mcp),
        ("mcp_*", ToolKind::Mcp),
        ("shell", ToolKind::Shell),
        ("execute_bash", ToolKind::Shell),
        ("execute_cmd", ToolKind::Shell),
        ("executeBash", ToolKind::Shell),
        ("control_bash_process", ToolKind::Shell),
        ("get_process_output", ToolKind::Shell),
        ("list_processes", ToolKind::Shell),
        ("aws", ToolKind::Shell),
        ("use_aws", ToolKind::Shell),
        ("read", ToolKind::Read),
        ("fs_read", ToolKind::Read),
        ("fsRead", ToolKind::Read),
        ("readFile", ToolKind::Read),
        ("read_file", ToolKind::Read),
        ("read_files", ToolKind::Read),
        ("read_code", ToolKind::Read),
        ("list_directory", ToolKind::Read),
        ("write", ToolKind::Edit),
        ("fs_write", ToolKind::Edit),
        ("fsWrite", ToolKind::Edit),
        ("fs_append", ToolKind::Edit),
        ("str_replace", ToolKind::Edit),
        ("delete_file", ToolKind::Edit),
        ("grep", ToolKind::Search),
        ("grep_search", ToolKind::Search),
        ("glob", ToolKind::Search),
        ("file_search", ToolKind::Search),
        ("code", ToolKind::Search),
        ("web_search", ToolKind::Web),
        ("web_fetch", ToolKind::Web),
        ("subagent", ToolKind::Agent),
        ("use_subagent", ToolKind::Agent),
        ("invoke_subagent", ToolKind::Agent),
        ("delegate", ToolKind::Agent),
    ],
    has_session_end: false,
    stop_can_block: false,
    // Of what Kiro sets, USER_PROMPT holds the prompt itself.
    env: &["KIRO_HOME"],
    pid_var: None,
    // No member is in every payload and in no other harness's.
    marks: &[],
    borrowers: &[],
    // What is printed on a start or a prompt goes into the model's context.
    replies: &[],
    events: &[
        registered("SessionStart", Means::SessionStart),
        registered("UserPromptSubmit", Means::Prompt),
        unregistered("PreToolUse", Means::ToolStart, "a gate"),
        registered("PostToolUse", Means::ToolEnd),
        registered("Stop", Means::Stop),
        registered("PostFileCreate", Means::FileChanged),
        registered("PostFileSave", Means::FileChanged),
        registered("PostFileDelete", Means::FileChanged),
        ignored("PreTaskExec", "a gate"),
        ignored("PostTaskExec", "nothing of ours"),
        ignored("Manual", "nothing of ours"),
        unregistered("SessionEnd", Means::SessionEnd, "only `kiro-cli --v3` since 2.25.0 is said to have it"),
        registered("agentSpawn", Means::SessionStart),
        registered("userPromptSubmit", Means::Prompt),
        unregistered("preToolUse", Means::ToolStart, "a gate"),
        registered("postToolUse", Means::ToolEnd),
        registered("stop", Means::Stop),
    ],
    quirks: Quirks {
        // No hook fires for either; a person's interrupt is the more common.
        silent_end: SilentEnd::Interrupt,
        session_end_since: None,
    },
};

/// The option that wires the agents of kiro-cli.
pub(crate) const AGENTS_OPTION: &str = "kiro-agents";

/// Whether an event is one of an agent's own hooks: their names begin with a small letter, those of hook files with a
/// capital.
pub(crate) fn is_agents(event: &str) -> bool {
    event.starts_with(|first: char| first.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_gate_is_registered() {
        let names: Vec<&str> = HARNESS.wired(None).map(|event| event.name).collect();
        let (agents, files): (Vec<&str>, Vec<&str>) = names.into_iter().partition(|name| is_agents(name));
        assert_eq!(agents, ["agentSpawn", "userPromptSubmit", "postToolUse", "stop"]);
        assert_eq!(
            files,
            [
                "SessionStart",
                "UserPromptSubmit",
                "PostToolUse",
                "Stop",
                "PostFileCreate",
                "PostFileSave",
                "PostFileDelete"
            ]
        );
    }

    #[test]
    fn tools_of_both_surfaces_are_of_a_kind() {
        for (tool, kind) in [
            ("shell", ToolKind::Shell),
            ("execute_bash", ToolKind::Shell),
            ("fs_read", ToolKind::Read),
            ("fs_write", ToolKind::Edit),
            ("str_replace", ToolKind::Edit),
            ("grep_search", ToolKind::Search),
            ("web_fetch", ToolKind::Web),
            ("subagent", ToolKind::Agent),
            ("@postgres/query", ToolKind::Mcp),
            ("mcp_postgres_query", ToolKind::Mcp),
            ("todo_list", ToolKind::Other),
        ] {
            assert_eq!(HARNESS.tool_kind(tool), kind, "{tool}");
        }
    }
}
