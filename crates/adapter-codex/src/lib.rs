//! What is true of Codex and of nothing else.
//!
//! | harness.name | product | wired in | session end | stop can block | payload | transcript |
//! |---|---|---|---|---|---|---|
//! | `codex` | Codex (OpenAI) | `$CODEX_HOME/hooks.json`; `notify` in `config.toml` | yes, since 0.148.0, up to 60 s late | yes | stdin, snake case; notify: the last argument, kebab case | JSONL |
//!
//! Hooks are documented at <https://learn.chatgpt.com/docs/hooks>; what is said here was seen on 0.130.0, 0.144.6, 0.157.1,
//! 0.169.0 and 0.171.0, the last of which knows these twelve events. *Means* is the word of [`Means`]; *registered* says
//! whether `install` writes the event (versions ignore names that they do not know, so all do); the last column says what
//! becomes of it.
//!
//! | native event | means | registered | becomes, or why not |
//! |---|---|---|---|
//! | `SessionStart` | SessionStart | always | `session.started`; source `compact`: `context.compacted` |
//! | `UserPromptSubmit` | Prompt | always | `turn.started`; a prompt with the running turn's id steers it |
//! | `PreToolUse` | ToolStart | always | `tool.started`; request_user_input: `attention.needed` question, too |
//! | `PermissionRequest` | PermissionRequest | always | `attention.needed` permission |
//! | `PostToolUse` | ToolEnd | always | `tool.ended`, ok but for what a result states; apply_patch: `files.changed`, too |
//! | `PreCompact` | CompactStart | always | what a compaction's own end is paired with |
//! | `PostCompact` | Compacted | always | `context.compacted` |
//! | `SubagentStart` | SubagentStart | always | `subagent.started` |
//! | `SubagentStop` | SubagentEnd | always | `subagent.ended` |
//! | `Stop` | Stop | always | `turn.ended` stop |
//! | `Interrupt` | Interrupt | always | `turn.ended` interrupt |
//! | `SessionEnd` | SessionEnd | always | `session.ended` |
//! | `notify` | TurnNotice | never | a key of config.toml: `turn.ended` stop where no hook told it, nothing for a subagent's turn and for the thread that makes a title |
//!
//! Not said by any hook: a turn that ends with an API error, a call that failed (a refused patch or an MCP error has no
//! PostToolUse, a failing command looks like any other), and the end of a session on SIGTERM or SIGHUP.
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
pub struct Codex;

impl Adapter for Codex {
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
