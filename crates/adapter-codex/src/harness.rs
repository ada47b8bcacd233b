//! The constants. The table in the crate's documentation is this one; a test compares them.

use sessionpipe_core::harness::{
    Harness, Means, NativeEvent, Quirks, SilentEnd, Tell, Tells, ToolKind, Wired, registered,
};

use crate::Codex;

/// The adapter.
pub static ADAPTER: Codex = Codex;

/// The registry row.
pub static HARNESS: Harness = Harness {
    name: "codex",
    product: "Codex",
    docs: "https://learn.chatgpt.com/docs/hooks",
    wired_in: "`$CODEX_HOME/hooks.json`; `notify` in `config.toml`",
    options: &[],
    tells: Tells {
        transcript: Tell::NotRead("`sessions/**/rollout-*.jsonl`, `.zst`"),
        usage: Tell::NotRead("per response, in the transcript"),
        title: Tell::NotRead("`session_index.jsonl`"),
    },
    // The names that hooks see; Bash and apply_patch stand for whatever runs commands and edits. All but view_image and the
    // web search were recorded.
    tools: &[
        ("mcp__*", ToolKind::Mcp),
        ("Bash", ToolKind::Shell),
        ("apply_patch", ToolKind::Edit),
        ("view_image", ToolKind::Read),
        ("web_search*", ToolKind::Web),
        ("collaboration*", ToolKind::Agent),
    ],
    has_session_end: true,
    stop_can_block: true,
    // All that Codex adds to a hook's environment, but for PATH; everything else is inherited from whoever started it first.
    env: &["CODEX_HOME", "CODEX_MANAGED_BY_NPM", "CODEX_MANAGED_PACKAGE_ROOT"],
    pid_var: None,
    // No member is in every payload and in no other harness's; and its variables are inherited by agents started in its shell.
    marks: &[],
    borrowers: &[],
    // It reads plain text on SessionStart and UserPromptSubmit into the model's context, and fails a Stop hook that prints any.
    replies: &[],
    // Codex ignores event names that it does not know (seen with 0.130.0 and 0.144.6), so no version needs a list of its own.
    events: &[
        registered("SessionStart", Means::SessionStart),
        registered("UserPromptSubmit", Means::Prompt),
        registered("PreToolUse", Means::ToolStart),
        registered("PermissionRequest", Means::PermissionRequest),
        registered("PostToolUse", Means::ToolEnd),
        registered("PreCompact", Means::CompactStart),
        registered("PostCompact", Means::Compacted),
        registered("SubagentStart", Means::SubagentStart),
        registered("SubagentStop", Means::SubagentEnd),
        registered("Stop", Means::Stop),
        registered("Interrupt", Means::Interrupt),
        registered("SessionEnd", Means::SessionEnd),
        NativeEvent { name: NOTIFY, means: Means::TurnNotice, wired: Wired::Never("a key of config.toml") },
    ],
    quirks: Quirks {
        // An interrupt has its hook (since 0.152.0); a failed model call has none, and no notify.
        silent_end: SilentEnd::Error,
        session_end_since: Some((0, 148, 0)),
    },
};

/// The event that our `notify` argv names.
pub(crate) const NOTIFY: &str = "notify";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twelve_events_are_registered_in_every_version() {
        assert_eq!(HARNESS.wired(None).count(), 12);
        assert_eq!(HARNESS.wired(Some(&semver::Version::new(0, 130, 0))).count(), 12);
    }
}
