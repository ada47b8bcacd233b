//! The constants. The table in the crate's documentation is this one; a test compares them.

use sessionpipe_core::harness::{Harness, Mark, Means, Quirks, SilentEnd, Tell, Tells, ToolKind, ignored, registered};

use crate::GeminiCli;

/// The adapter.
pub static ADAPTER: GeminiCli = GeminiCli;

/// The registry row.
pub static HARNESS: Harness = Harness {
    name: "gemini-cli",
    product: "Gemini CLI",
    docs: "https://geminicli.com/docs/hooks/",
    wired_in: "`~/.gemini/settings.json`",
    options: &[],
    tells: Tells {
        transcript: Tell::NotRead("`tmp/*/chats/session-*.jsonl`"),
        usage: Tell::NotRead("per message, in the transcript"),
        title: Tell::NotRead("`$set.summary`, in the transcript"),
    },
    tools: &TOOLS,
    has_session_end: true,
    stop_can_block: true,
    env: &[SESSION_VAR],
    pid_var: None,
    // Only hooks get the variable, never a command that the agent runs. The two find Gemini CLI behind a command that
    // `gemini hooks migrate --from-claude` took over from another program's settings.
    marks: &[Mark::EnvAndKey(SESSION_VAR, "timestamp")],
    borrowers: &[],
    // Whatever is printed, on stderr too, is shown to the person.
    replies: &[],
    // Gemini CLI only warns of event names that it does not know, so no version needs a list of its own.
    events: &[
        registered("SessionStart", Means::SessionStart),
        registered("BeforeAgent", Means::Prompt),
        registered("BeforeTool", Means::ToolStart),
        registered("Notification", Means::Notification),
        registered("AfterTool", Means::ToolEnd),
        registered("PreCompress", Means::CompactStart),
        registered("AfterAgent", Means::Stop),
        registered("SessionEnd", Means::SessionEnd),
        ignored("BeforeModel", "once per request"),
        ignored("AfterModel", "once per chunk of an answer"),
        ignored("BeforeToolSelection", "any JSON that it prints changes the request"),
    ],
    quirks: Quirks {
        // Esc at a tool or at a permission, and an API error of a headless turn, fire no AfterAgent.
        silent_end: SilentEnd::InterruptInCall,
        session_end_since: None,
    },
};

/// The variable that holds the session's id.
pub(crate) const SESSION_VAR: &str = "GEMINI_SESSION_ID";

/// The tools of 0.61.0 (geminicli.com/docs/reference/tools, and those of its subagents), and an older name.
/// run_shell_command, read_file, write_file, replace and a tool of an MCP server were recorded.
const TOOLS: [(&str, ToolKind); 24] = [
    ("mcp_*", ToolKind::Mcp),
    ("run_shell_command", ToolKind::Shell),
    ("read_file", ToolKind::Read),
    ("read_many_files", ToolKind::Read),
    ("list_directory", ToolKind::Read),
    ("get_internal_docs", ToolKind::Read),
    ("read_mcp_resource", ToolKind::Mcp),
    ("list_mcp_resources", ToolKind::Mcp),
    ("glob", ToolKind::Search),
    ("grep_search", ToolKind::Search),
    ("search_file_content", ToolKind::Search),
    ("write_file", ToolKind::Edit),
    ("replace", ToolKind::Edit),
    ("google_web_search", ToolKind::Web),
    ("web_fetch", ToolKind::Web),
    ("invoke_agent", ToolKind::Agent),
    // A subagent's last call.
    ("complete_task", ToolKind::Agent),
    ("ask_user", ToolKind::Other),
    ("enter_plan_mode", ToolKind::Other),
    ("exit_plan_mode", ToolKind::Other),
    ("update_topic", ToolKind::Other),
    ("write_todos", ToolKind::Other),
    ("activate_skill", ToolKind::Other),
    ("tracker_*", ToolKind::Other),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_costs_a_process_for_every_chunk_is_registered_in_no_version() {
        for version in [None, Some(semver::Version::new(0, 61, 0)), Some(semver::Version::new(9, 0, 0))] {
            let names: Vec<_> = HARNESS.wired(version.as_ref()).map(|event| event.name).collect();
            assert_eq!(names.len(), 8);
            assert!(!names.iter().any(|name| name.contains("Model") || name.contains("Selection")), "{names:?}");
        }
    }

    #[test]
    fn tools_are_of_a_kind() {
        assert_eq!(HARNESS.tool_kind("mcp_lab_echo"), ToolKind::Mcp);
        assert_eq!(HARNESS.tool_kind("tracker_list_tasks"), ToolKind::Other);
        assert_eq!(HARNESS.tool_kind("replace"), ToolKind::Edit);
    }
}
