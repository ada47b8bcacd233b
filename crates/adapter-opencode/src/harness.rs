//! The constants. The table in the crate's documentation is this one; a test compares them.

use sessionpipe_core::harness::{
    Harness, Means, Quirks, STREAM_END, SilentEnd, Tell, Tells, ToolKind, ignored, registered,
};

use crate::OpenCode;

/// The adapter.
pub static ADAPTER: OpenCode = OpenCode;

/// The registry row.
pub static HARNESS: Harness = Harness {
    name: "opencode",
    product: "OpenCode",
    docs: "https://opencode.ai/docs/plugins/",
    wired_in: "`~/.config/opencode/plugins/sessionpipe.ts`, or under `$XDG_CONFIG_HOME`",
    options: &[],
    tells: Tells {
        transcript: Tell::NotRead("`opencode.db`, SQLite"),
        usage: Tell::NotRead("per message, in the database; a copied session's totals are those of its original"),
        title: Tell::Read("the plugin: the session's title"),
    },
    // The built-in ones; what a tool of an MCP server is called begins with the server's name, which the plugin knows.
    tools: &[
        ("bash", ToolKind::Shell),
        ("read", ToolKind::Read),
        ("list", ToolKind::Read),
        ("edit", ToolKind::Edit),
        ("multiedit", ToolKind::Edit),
        ("write", ToolKind::Edit),
        ("patch", ToolKind::Edit),
        (APPLY_PATCH, ToolKind::Edit),
        ("glob", ToolKind::Search),
        ("grep", ToolKind::Search),
        ("codesearch", ToolKind::Web),
        ("webfetch", ToolKind::Web),
        ("websearch", ToolKind::Web),
        ("task", ToolKind::Agent),
    ],
    has_session_end: true,
    stop_can_block: false,
    env: &["OPENCODE", "OPENCODE_CLIENT", "OPENCODE_CONFIG_DIR", "OPENCODE_PID"],
    // The plugin runs in the process itself, and the process that it starts is its child.
    pid_var: None,
    marks: &[],
    borrowers: &[],
    replies: &[],
    events: &[
        registered("session.created", Means::SessionStart),
        registered("session.updated", Means::Notification),
        registered("session.deleted", Means::SessionEnd),
        registered(DISPOSE, Means::SessionEnd),
        registered("chat.message", Means::Prompt),
        registered("session.idle", Means::Stop),
        registered("session.error", Means::StopFailure),
        registered("tool.execute.before", Means::ToolStart),
        registered("tool.execute.after", Means::ToolEnd),
        registered("message.part.updated", Means::ToolEnd),
        registered("permission.asked", Means::PermissionRequest),
        registered(PERMISSION_REPLIED, Means::Notification),
        registered(QUESTION_ASKED, Means::Notification),
        registered(QUESTION_REPLIED, Means::Notification),
        registered(QUESTION_REJECTED, Means::Notification),
        registered("session.compacted", Means::Compacted),
        registered(STREAM_END, Means::StreamEnd),
        ignored("session.status", "only heard: busy and idle; a retry is no error"),
        ignored("message.updated", "only heard: comes many times for each message"),
        ignored("config", "only heard: names the MCP servers"),
        ignored("session.diff", "nothing of ours"),
        ignored("message.removed", "nothing of ours"),
        ignored("message.part.removed", "nothing of ours"),
        ignored("message.part.delta", "text as it grows"),
        ignored("todo.updated", "the tool's call says it"),
        ignored("file.edited", "names no session"),
        ignored("file.watcher.updated", "names no session"),
        ignored("command.executed", "chat.message tells of its prompt"),
        ignored("command.execute.before", "chat.message tells of its prompt"),
        ignored("permission.updated", "not seen to be sent"),
        ignored("permission.ask", "a gate, and not seen to be called"),
        ignored("chat.params", "may change the call"),
        ignored("chat.headers", "may hold keys"),
        ignored("shell.env", "may hold keys"),
        ignored("tool.definition", "nothing of ours"),
        ignored("experimental.chat.messages.transform", "the whole conversation"),
        ignored("experimental.chat.system.transform", "the whole conversation"),
        ignored("experimental.session.compacting", "the compaction may fail; session.compacted tells"),
        ignored("experimental.compaction.autocontinue", "a gate"),
        ignored("experimental.text.complete", "a whole text"),
    ],
    quirks: Quirks {
        // An error is always said; a signal ends the process without a word.
        silent_end: SilentEnd::Interrupt,
        session_end_since: None,
    },
};

pub(crate) const DISPOSE: &str = "dispose";
pub(crate) const PERMISSION_REPLIED: &str = "permission.replied";
pub(crate) const QUESTION_ASKED: &str = "question.asked";
pub(crate) const QUESTION_REPLIED: &str = "question.replied";
pub(crate) const QUESTION_REJECTED: &str = "question.rejected";

/// The tool that names its files in a patch.
pub(crate) const APPLY_PATCH: &str = "apply_patch";

#[cfg(test)]
mod tests {
    use sessionpipe_core::harness::Wired;

    use super::*;

    #[test]
    fn the_plugin_sends_what_is_registered_and_nothing_else() {
        let plugin = include_str!("../plugin/opencode.ts");
        for event in HARNESS.events.iter().filter(|event| event.name != STREAM_END) {
            let quoted = format!("\"{}\"", event.name);
            let is_heard = ["session.status", "message.updated"].contains(&event.name);
            let is_named = plugin.contains(&quoted);
            assert_eq!(is_named, event.wired == Wired::Always || is_heard, "{}", event.name);
        }
        assert!(HARNESS.streams());
    }

    #[test]
    fn tools_are_of_a_kind() {
        for (tool, kind) in [
            ("bash", ToolKind::Shell),
            ("read", ToolKind::Read),
            ("apply_patch", ToolKind::Edit),
            ("grep", ToolKind::Search),
            ("webfetch", ToolKind::Web),
            ("task", ToolKind::Agent),
            ("todowrite", ToolKind::Other),
            ("question", ToolKind::Other),
            ("github_search", ToolKind::Other),
        ] {
            assert_eq!(HARNESS.tool_kind(tool), kind, "{tool}");
        }
    }
}
