//! What is true of Antigravity (Google: the app, the IDE and `agy`, its command line) and of nothing else.
//!
//! | harness.name | product | wired in | session end | stop can block | payload | transcript |
//! |---|---|---|---|---|---|---|
//! | `antigravity` | Antigravity (Google) | `~/.gemini/config/hooks.json`, below the key `sessionpipe` | no | yes | stdin, camel case, no event name | JSONL; usage in SQLite |
//!
//! Hooks are documented at <https://antigravity.google/docs/hooks>, and in the `hooks.md` that the program brings along. The
//! program is in no package registry: what is said here rests on that page, on payloads that others recorded with agy 1.1.18
//! and 1.2.7, and on reports. *Means* is the word of [`Means`]; *registered* says whether `install` writes the event; the last
//! column says what becomes of it.
//!
//! | native event | means | registered | becomes, or why not |
//! |---|---|---|---|
//! | `SessionStart` | SessionStart | since 1.1.26 | `session.started` |
//! | `PreInvocation` | Prompt | always | the first of a turn (`invocationNum` 0): `turn.started`; later ones: `turn.started` (derived) where no hook told the turn's start |
//! | `PostInvocation` | Ignored | never | PreInvocation and Stop say all that is ours |
//! | `PreToolUse` | ToolStart | never | it is a gate: any answer but a decision denies the tool. One that still stands: `tool.started` |
//! | `PostToolUse` | ToolEnd | always | `tool.started` where no hook told it, and `tool.ended`, failed where it names an error; write tools: `files.changed`, too |
//! | `Stop` | Stop | always | `turn.ended` stop, error or interrupt; nothing while background work goes on |
//!
//! Not said by any hook: what was asked (the text of a prompt is in the transcript), that a person must act, that a session is
//! over, and the end of a turn whose tool a person or a hook denied.
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
pub struct Antigravity;

impl Adapter for Antigravity {
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

    fn facts(&self, _host: &Host, _session: &SessionFile) -> Facts {
        // Its session files name no version; titles and models are not read yet.
        Facts::default()
    }
}
