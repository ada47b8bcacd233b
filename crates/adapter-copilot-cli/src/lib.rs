//! What is true of GitHub Copilot CLI and of nothing else.
//!
//! | harness.name | product | wired in | session end | stop can block | payload | transcript |
//! |---|---|---|---|---|---|---|
//! | `copilot-cli` | GitHub Copilot CLI | `$COPILOT_HOME/hooks/sessionpipe.json`, ours alone | yes, may repeat | yes | stdin, camel case, no event name | JSONL |
//!
//! Hooks are documented at <https://docs.github.com/en/copilot/reference/hooks-reference>; what is said here was seen on
//! 1.0.102. What older versions did is what its changelog says. *Means* is the word of [`Means`]; *registered* says whether
//! `install` writes the event (names that the program does not know are ignored, so no version needs a list of its own); the
//! last column says what becomes of it.
//!
//! Each event has two names. Under the first the payload is in camel case and does not name the event; under the second it
//! is shaped as Claude Code's, tool names included. Only the first are registered; the second reach us where somebody
//! registered them by hand, and from a project's `.claude/settings.json`, which the program runs too.
//!
//! | native event | means | registered | becomes, or why not |
//! |---|---|---|---|
//! | `sessionStart` | SessionStart | always | `session.started`; on a screen it comes with the first prompt |
//! | `sessionEnd` | SessionEnd | always | `session.ended`; `error`, `abort`, `timeout`: `turn.ended`, too; `complete` by a version that does not say that it is 1.0.22 or later, with a turn open: that turn's end alone, as it came after every prompt |
//! | `userPromptSubmitted` | Prompt | always | `turn.started`; a `<system_notification>` is the program's own; a subagent's: `subagent.started` where it has none |
//! | `userPromptTransformed` | Ignored | never | the same prompt again, with what the program adds |
//! | `preToolUse` | ToolStart | always | `tool.started` |
//! | `preMcpToolCall` | Ignored | never | a failing hook denies the call, and preToolUse tells of it |
//! | `postToolUse` | ToolEnd | always | `tool.ended`, also of a command that failed, which its text tells; create, edit, apply_patch: `files.changed`, too |
//! | `postToolUseFailure` | ToolFailure | always | `tool.ended`, failed |
//! | `permissionRequest` | Ignored | never | a failing hook denies the tool; it asks for a rule, and comes also when no person is asked |
//! | `notification` | Notification | always | `attention.needed` for permission_prompt and elicitation_dialog, nothing for others |
//! | `agentStop` | Stop | always | `turn.ended` stop; a subagent's: `subagent.ended` |
//! | `subagentStart` | SubagentStart | always | `subagent.started` |
//! | `subagentStop` | SubagentEnd | always | `subagent.ended` |
//! | `preCompact` | CompactStart | always | `context.compacted`: nothing tells when it is done |
//! | `errorOccurred` | CallFailure | always | why the turn ended, if nothing comes after it; one for each try |
//! | `SessionStart` | SessionStart | never | the other name of sessionStart |
//! | `SessionEnd` | SessionEnd | never | the other name of sessionEnd |
//! | `UserPromptSubmit` | Prompt | never | the other name of userPromptSubmitted |
//! | `PreToolUse` | ToolStart | never | the other name of preToolUse |
//! | `PreMcpToolCall` | Ignored | never | a failing hook denies the call, and preToolUse tells of it |
//! | `PostToolUse` | ToolEnd | never | the other name of postToolUse |
//! | `PostToolUseFailure` | ToolFailure | never | the other name of postToolUseFailure |
//! | `PermissionRequest` | Ignored | never | a failing hook denies the tool; it asks for a rule, and comes also when no person is asked |
//! | `Notification` | Notification | never | the other name of notification |
//! | `Stop` | Stop | never | the other name of agentStop |
//! | `SubagentStart` | SubagentStart | never | the other name of subagentStart |
//! | `SubagentStop` | SubagentEnd | never | the other name of subagentStop |
//! | `PreCompact` | CompactStart | never | the other name of preCompact |
//! | `ErrorOccurred` | CallFailure | never | the other name of errorOccurred |
//!
//! Not said by any hook: an interrupt (Esc, also on a permission dialog), the end of a call that was denied, the model, and
//! the session's title.
//!
//! [`Means`]: sessionpipe_core::harness::Means

use std::path::PathBuf;

use sessionpipe_core::adapter::{Adapter, Facts, Finding, Found, MapError, SessionFile};
use sessionpipe_core::harness::Harness;
use sessionpipe_core::host::Host;
use sessionpipe_core::job::Hook;
use sessionpipe_core::seen::Mapped;
use sessionpipe_core::wiring::Wiring;

mod facts;
mod harness;
mod map;
mod transcript;
mod wiring;

pub use harness::{ADAPTER, HARNESS};

/// The adapter: a table of contents.
#[derive(Clone, Copy, Debug)]
pub struct CopilotCli;

impl Adapter for CopilotCli {
    fn harness(&self) -> &'static Harness {
        &HARNESS
    }

    fn found(&self, host: &Host) -> Option<Found> {
        facts::found(host)
    }

    fn wiring(&self, host: &Host) -> Vec<Wiring> {
        wiring::wiring(host)
    }

    fn check(&self, host: &Host) -> Vec<Finding> {
        wiring::check::check(host)
    }

    fn map(&self, hook: &Hook) -> Result<Mapped, MapError> {
        map::map(hook)
    }

    fn roots(&self, host: &Host) -> Vec<PathBuf> {
        transcript::roots(host)
    }

    fn sessions(&self, host: &Host) -> Vec<SessionFile> {
        transcript::sessions(host)
    }

    fn facts(&self, _host: &Host, session: &SessionFile) -> Facts {
        facts::facts(session)
    }
}
