//! The constants. The table in the crate's documentation is this one; a test compares them.

use sessionpipe_core::harness::{
    Harness, Mark, Means, NativeEvent, Quirks, Reply, SilentEnd, Tell, Tells, ToolKind, Wired, ignored, registered,
    unregistered,
};

use crate::Antigravity;

/// The adapter.
pub static ADAPTER: Antigravity = Antigravity;

/// The registry row.
pub static HARNESS: Harness = Harness {
    name: "antigravity",
    product: "Antigravity",
    docs: "https://antigravity.google/docs/hooks",
    wired_in: "`~/.gemini/config/hooks.json`, below the key `sessionpipe`",
    options: &[],
    tells: Tells {
        transcript: Tell::NotRead("`brain/*/.system_generated/logs/transcript_full.jsonl`"),
        usage: Tell::NotRead("per model call, in `conversations/*.db`"),
        title: Tell::NotRead("the first CHECKPOINT of the transcript"),
    },
    tools: &TOOLS,
    has_session_end: false,
    stop_can_block: true,
    // All that it adds to a hook's environment.
    env: &[CONVERSATION],
    pid_var: None,
    // In every recorded payload of every event, and in no other harness's.
    marks: &[Mark::Key("artifactDirectoryPath")],
    borrowers: &[],
    replies: &REPLIES,
    events: &EVENTS,
    quirks: Quirks {
        // No Stop follows a tool that was denied.
        silent_end: SilentEnd::Interrupt,
        session_end_since: None,
    },
};

/// Names the conversation, also where stdin is empty.
pub(crate) const CONVERSATION: &str = "ANTIGRAVITY_CONVERSATION_ID";

/// Calls a tool of an MCP server.
pub(crate) const MCP_TOOL: &str = "call_mcp_tool";

/// The tools that write a file, which `TargetFile` names.
pub(crate) const WRITERS: [&str; 3] = ["write_to_file", "replace_file_content", "multi_replace_file_content"];

/// `find_by_name` and `run_command` were recorded; `view_file` and `browser_*` are in the documentation, which says that a
/// name may also be that of the step (`list_directory`, `code_action`, …), as the engine of its SDK 0.1.22 has them. The
/// others are from lists of tools that the agent gave of itself.
const TOOLS: [(&str, ToolKind); 36] = [
    ("run_command", ToolKind::Shell),
    ("command_status", ToolKind::Shell),
    ("send_command_input", ToolKind::Shell),
    ("read_terminal", ToolKind::Shell),
    ("shell_exec", ToolKind::Shell),
    ("view_file", ToolKind::Read),
    ("view_file_outline", ToolKind::Read),
    ("view_code_item", ToolKind::Read),
    ("view_content_chunk", ToolKind::Read),
    ("list_dir", ToolKind::Read),
    ("list_directory", ToolKind::Read),
    ("read_notebook", ToolKind::Read),
    (WRITERS[0], ToolKind::Edit),
    (WRITERS[1], ToolKind::Edit),
    (WRITERS[2], ToolKind::Edit),
    ("code_action", ToolKind::Edit),
    ("delete_directory", ToolKind::Edit),
    ("edit_notebook", ToolKind::Edit),
    ("find_by_name", ToolKind::Search),
    ("find", ToolKind::Search),
    ("grep_search", ToolKind::Search),
    ("code_search", ToolKind::Search),
    ("codebase_search", ToolKind::Search),
    ("tool_search", ToolKind::Search),
    ("search_web", ToolKind::Web),
    ("read_url_content", ToolKind::Web),
    ("open_browser_url", ToolKind::Web),
    ("read_browser_page", ToolKind::Web),
    (MCP_TOOL, ToolKind::Mcp),
    ("mcp_tool", ToolKind::Mcp),
    ("list_resources", ToolKind::Mcp),
    ("read_resource", ToolKind::Mcp),
    ("browser_subagent", ToolKind::Agent),
    ("invoke_subagent", ToolKind::Agent),
    ("start_subagent", ToolKind::Agent),
    ("browser_*", ToolKind::Web),
];

/// Whatever arrives on stdin. Anything but a decision denies a tool, and none of ours is registered there; an older version
/// of ours was, and may still stand. (An empty answer is no JSON: seen to deny a tool, too.)
const REPLIES: [Reply; 2] = [reply("PreToolUse", r#"{"decision":"allow"}"#), reply("*", "{}")];

const fn reply(event: &'static str, stdout: &'static str) -> Reply {
    Reply { caller: "antigravity", event, stdout }
}

const EVENTS: [NativeEvent; 6] = [
    // 1.1.18 has no such event, 1.1.26 does; what an older one makes of a name that it does not know was not seen.
    NativeEvent { name: "SessionStart", means: Means::SessionStart, wired: Wired::Since(1, 1, 26) },
    registered("PreInvocation", Means::Prompt),
    ignored("PostInvocation", "PreInvocation and Stop say all that is ours"),
    unregistered("PreToolUse", Means::ToolStart, "it is a gate: any answer but a decision denies the tool"),
    registered("PostToolUse", Means::ToolEnd),
    registered("Stop", Means::Stop),
];

#[cfg(test)]
mod tests {
    use sessionpipe_core::payload::{caller, reply};

    use super::*;

    #[test]
    fn the_gate_is_registered_in_no_version() {
        let names = |version: Option<&semver::Version>| HARNESS.wired(version).map(|e| e.name).collect::<Vec<_>>();
        assert_eq!(names(None), ["PreInvocation", "PostToolUse", "Stop"]);
        assert_eq!(names(Some(&semver::Version::new(1, 1, 18))), ["PreInvocation", "PostToolUse", "Stop"]);
        let newest = semver::Version::new(u64::MAX, 0, 0);
        assert_eq!(names(Some(&newest)), ["SessionStart", "PreInvocation", "PostToolUse", "Stop"]);
    }

    #[test]
    fn every_call_is_answered_and_the_gate_is_open() {
        let answer = |event: &str| reply(&[&HARNESS], "antigravity", event);
        assert_eq!(answer("PreToolUse"), r#"{"decision":"allow"}"#);
        for event in ["SessionStart", "PreInvocation", "PostInvocation", "PostToolUse", "Stop", "Unheard", ""] {
            assert_eq!(answer(event), "{}", "{event}");
        }
        assert_eq!(reply(&[&HARNESS], "other", "PreToolUse"), "", "another's answers are its own");
    }

    #[test]
    fn its_payloads_are_known_by_a_member_and_no_variable_is_proof() {
        let who = |keys: &[&str], env: &[&str]| {
            caller(&[&HARNESS], "other", |key| keys.contains(&key), |name| env.contains(&name)).to_owned()
        };
        assert_eq!(who(&["artifactDirectoryPath", "conversationId"], &[]), "antigravity");
        // Another agent, started in its terminal.
        assert_eq!(who(&["session_id"], &["ANTIGRAVITY_CONVERSATION_ID", "ANTIGRAVITY_AGENT"]), "other");
    }

    #[test]
    fn tools_have_a_kind() {
        for (tool, kind) in [
            ("run_command", ToolKind::Shell),
            ("multi_replace_file_content", ToolKind::Edit),
            ("browser_press_key", ToolKind::Web),
            ("browser_subagent", ToolKind::Agent),
            ("find_by_name", ToolKind::Search),
            ("call_mcp_tool", ToolKind::Mcp),
            ("ask_question", ToolKind::Other),
        ] {
            assert_eq!(HARNESS.tool_kind(tool), kind, "{tool}");
        }
    }
}
