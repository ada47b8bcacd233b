//! What is true of Gemini CLI and of nothing else.
//!
//! | harness.name | product | wired in | session end | stop can block | payload | transcript |
//! |---|---|---|---|---|---|---|
//! | `gemini-cli` | Gemini CLI (Google) | `~/.gemini/settings.json` | yes, up to three times; not on hang-up | yes | stdin, snake case | JSONL |
//!
//! Hooks are documented at <https://geminicli.com/docs/hooks/>; what is said here was seen on 0.61.0, which knows these
//! eleven events. *Means* is the word of [`Means`]; *registered* says whether `install` writes the event; the last column
//! says what becomes of it.
//!
//! | native event | means | registered | becomes, or why not |
//! |---|---|---|---|
//! | `SessionStart` | SessionStart | always | `session.started` |
//! | `BeforeAgent` | Prompt | always | `turn.started`; also for the retry that another's AfterAgent hook forces, whose prompt is that hook's reason |
//! | `BeforeTool` | ToolStart | always | `tool.started` |
//! | `Notification` | Notification | always | ToolPermission: `attention.needed` permission, or question for ask_user |
//! | `AfterTool` | ToolEnd | always | `tool.ended`; a file tool that worked: `files.changed`, too; a command that the person cancelled: `turn.ended` interrupt, too |
//! | `PreCompress` | CompactStart | always | manual: `context.compacted`; auto says nothing |
//! | `AfterAgent` | Stop | always | `turn.ended` stop; without any text of the model: error |
//! | `SessionEnd` | SessionEnd | always | `session.ended` |
//! | `BeforeModel` | Ignored | never | once per request: it would cost a process each |
//! | `AfterModel` | Ignored | never | once per chunk of an answer: it would cost a process each |
//! | `BeforeToolSelection` | Ignored | never | any JSON that it prints changes the request |
//!
//! Not said by any hook: that a permission was given or denied, an API error of a headless turn, a call of an unknown tool or
//! with wrong arguments, which subagent makes a call, and that another session was resumed in the running program.
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
mod settings;
mod transcript;
mod wiring;

pub use harness::{ADAPTER, HARNESS};

/// The adapter: a table of contents.
#[derive(Clone, Copy, Debug)]
pub struct GeminiCli;

impl Adapter for GeminiCli {
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

    /// Its files name no version; titles and models are not read yet.
    fn facts(&self, _host: &Host, _session: &SessionFile) -> Facts {
        Facts::default()
    }
}
