//! What is true of Cursor, the IDE and the `cursor-agent` command line, and of nothing else.
//!
//! | harness.name | product | wired in | session end | stop can block | payload | transcript |
//! |---|---|---|---|---|---|---|
//! | `cursor` | Cursor (Anysphere) | `~/.cursor/hooks.json`, `$CURSOR_CONFIG_DIR` in place of `~/.cursor` | yes | yes | stdin, snake case, events in camel case | JSONL |
//!
//! Hooks are documented at <https://cursor.com/docs/hooks>. The programs cannot be had from a package registry: what is said
//! here was recorded by others on cursor-agent 2026.09.26, reported of the version that is named, or stands in the
//! documentation, which knows these 21 events. *Means* is the word of [`Means`]; *registered* says whether `install` writes
//! the event; the last column says what becomes of it.
//!
//! | native event | means | registered | becomes, or why not |
//! |---|---|---|---|
//! | `sessionStart` | SessionStart | always | `session.started`, source unknown: the payload has none |
//! | `beforeSubmitPrompt` | Prompt | always | `turn.started` |
//! | `afterAgentThought` | Working | always | the model; `turn.started` (derived) of `cursor-agent -p`, where no prompt opens the turn |
//! | `postToolUse` | ToolEnd | always | `tool.started` (derived) and `tool.ended`; Write and Delete: `files.changed`, too |
//! | `postToolUseFailure` | ToolFailure | always | the same, not ok |
//! | `subagentStop` | SubagentEnd | always | `subagent.ended` |
//! | `preCompact` | CompactStart | always | `context.compacted`: no event follows it |
//! | `stop` | Stop | always | `turn.ended` stop, interrupt or error, by its status |
//! | `sessionEnd` | SessionEnd | always | `turn.ended` of `cursor-agent -p`, which has no stop; `session.ended` |
//! | `preToolUse` | ToolStart | never | it decides whether the tool may run; `tool.started` where it comes through a config that Cursor borrows |
//! | `subagentStart` | SubagentStart | never | it decides whether the subagent may start |
//! | `beforeShellExecution` | Ignored | never | it decides whether the command may run |
//! | `beforeMCPExecution` | Ignored | never | it decides whether the tool may run |
//! | `beforeReadFile` | Ignored | never | it decides whether the file may be read, and carries the whole of it |
//! | `beforeTabFileRead` | Ignored | never | it decides whether the file may be read, and carries the whole of it |
//! | `afterShellExecution` | Ignored | never | postToolUse says the same |
//! | `afterMCPExecution` | Ignored | never | postToolUse says the same |
//! | `afterFileEdit` | Ignored | never | postToolUse says the same |
//! | `afterAgentResponse` | Ignored | never | stop says the same |
//! | `afterTabFileEdit` | Ignored | never | a completion that the person took is no work of an agent |
//! | `workspaceOpen` | Ignored | never | it is of no session |
//!
//! Which program fires what (reported of 2026.09.10 and 2026.09.26): `cursor-agent -p` no prompt, no stop, no answer;
//! `cursor-agent` in a terminal all but the subagent and Tab events; a cloud agent runs no hooks of the person's. A subagent
//! of cursor-agent is a conversation of its own, without a start, an end or a parent. Not said by any hook of either: that it
//! waits for a permission, and the end of a call that was running when it was interrupted.
//!
//! Not registering a gate is no lack of care: for those an answer that is empty or no JSON counts as *no*, so a hook that
//! cannot start would stop every tool. (Should one of ours still stand there it is answered, see [`HARNESS`]'s replies.)
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
pub struct Cursor;

impl Adapter for Cursor {
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

    /// Every payload tells the version and the model; titles are not read yet.
    fn facts(&self, _host: &Host, _session: &SessionFile) -> Facts {
        Facts::default()
    }
}
