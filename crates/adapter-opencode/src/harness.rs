//! The constants. The table in the crate's documentation is this one; a test compares them.

use sessionpipe_core::harness::{
    Harness, Means, NativeEvent, Quirks, STREAM_END, SilentEnd, Tell, Tells, ToolKind, Wired,
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
        sent("session.created", Means::SessionStart),
        sent("session.updated", Means::Notification),
        sent("session.deleted", Means::SessionEnd),
        sent(DISPOSE, Means::SessionEnd),
        sent("chat.message", Means::Prompt),
        sent("session.idle", Means::Stop),
        sent("session.error", Means::StopFailure),
        sent("tool.execute.before", Means::ToolStart),
        sent("tool.execute.after", Means::ToolEnd),
        sent("message.part.updated", Means::ToolEnd),
        sent("permission.asked", Means::PermissionRequest),
        sent(PERMISSION_REPLIED, Means::Notification),
        sent(QUESTION_ASKED, Means::Notification),
        sent(QUESTION_REPLIED, Means::Notification),
        sent(QUESTION_REJECTED, Means::Notification),
        sent("session.compacted", Means::Compacted),
        sent(STREAM_END, Means::StreamEnd),
        never("session.status", "only heard: busy and idle; a retry is no error"),
        never("message.updated", "only heard: comes many times for each message"),
        never("config", "only heard: names the MCP servers"),
        never("session.diff", "nothing of ours"),
        never("message.removed", "nothing of ours"),
        never("message.part.removed", "nothing of ours"),
        never("message.part.delta", "text as it grows"),
        never("todo.updated", "the tool's call says it"),
        never("file.edited", "names no session"),
        never("file.watcher.updated", "names no session"),
        never("command.executed", "chat.message tells of its prompt"),
        never("command.execute.before", "chat.message tells of its prompt"),
        never("permission.updated", "not seen to be sent"),
        never("permission.ask", "a gate, and not seen to be called"),
        never("chat.params", "may change the call"),
        never("chat.headers", "may hold keys"),
        never("shell.env", "may hold keys"),
        never("tool.definition", "nothing of ours"),
        never("experimental.chat.messages.transform", "the whole conversation"),
        never("experimental.chat.system.transform", "the whole conversation"),
        never("experimental.session.compacting", "the compaction may fail; session.compacted tells"),
        never("experimental.compaction.autocontinue", "a gate"),
        never("experimental.text.complete", "a whole text"),
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
                    assert_eq!(row[3], why, "{row:?}");
                    "never"
                }
                _ => "always",
            };
            assert_eq!(row[..3], [event.name, &format!("{:?}", event.means), registered]);
        }
    }

    #[test]
    fn the_registry_row_is_the_documented_one() {
        let row = format!("| `{}` | {} | {} | yes | no |", HARNESS.name, HARNESS.product, HARNESS.wired_in);
        assert!(include_str!("lib.rs").contains(&row), "{row}");
    }

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

    #[test]
    fn no_variable_that_may_hold_a_secret_is_carried() {
        let is_risky = |name: &str| {
            ["KEY", "TOKEN", "SECRET", "PASSWORD", "CONTENT", "AUTH"].iter().any(|part| name.contains(part))
        };
        assert!(!HARNESS.env.iter().any(|name| is_risky(name)));
    }
}
