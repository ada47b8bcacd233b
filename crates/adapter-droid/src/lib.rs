//! What is true of Factory Droid and of nothing else.
//!
//! | harness.name | product | wired in | session end | stop can block | payload | transcript |
//! |---|---|---|---|---|---|---|
//! | `droid` | Factory Droid | `~/.factory/settings.json` or `hooks.json`, each event where the person's hooks of that event stand | yes | yes | stdin, snake case | JSONL |
//!
//! Hooks are documented at <https://docs.factory.ai/harness/hooks>. What is said here was seen with `droid exec` 0.215.0 in
//! each of its modes, or read in that program where it needs a login (its screen, subagents). It knows these nine events;
//! others are skipped with a line in its log. *Means* is the word of [`Means`]; *registered* says whether `install` writes
//! the event; the last column says what becomes of it.
//!
//! | native event | means | registered | becomes, or why not |
//! |---|---|---|---|
//! | `SessionStart` | SessionStart | always | `session.started`; a start of a session that is open says nothing new |
//! | `UserPromptSubmit` | Prompt | always | `turn.started`; plain `droid exec` does not fire it |
//! | `PreToolUse` | ToolStart | always | `tool.started`; `turn.started` (derived) where no hook told the first prompt |
//! | `PostToolUse` | ToolEnd | always | `tool.ended` ok, `files.changed`; a call that failed has none |
//! | `Notification` | Notification | always | `attention.needed` permission or question; an interrupt: `turn.ended` interrupt and `attention.needed` idle |
//! | `Stop` | Stop | always | `turn.ended` stop, also after a refused model request and a tool that was interrupted |
//! | `SubagentStop` | SubagentEnd | always | `subagent.started` (derived) and `subagent.ended`: nothing tells when it began |
//! | `PreCompact` | CompactStart | always | `context.compacted`: there is no hook after it |
//! | `SessionEnd` | SessionEnd | always | `session.ended` |
//!
//! Not said by any hook: the end of a call that failed or was denied (its turn's end closes it), that a turn ended with an
//! error or while a tool ran, the model, and the tool's call id. A running program takes up changed hooks by itself.
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
pub struct Droid;

impl Adapter for Droid {
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
