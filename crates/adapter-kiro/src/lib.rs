//! What is true of Kiro (the IDE and `kiro-cli`) and of nothing else.
//!
//! | harness.name | product | wired in | session end | stop can block | payload | transcript |
//! |---|---|---|---|---|---|---|
//! | `kiro` | Kiro (AWS) | `~/.kiro/hooks/sessionpipe.json`; on request `~/.kiro/agents/*.json` (`$KIRO_HOME` in place of `~/.kiro`) | no | no | stdin, snake case | JSONL, with a sidecar |
//!
//! Hooks are documented at <https://kiro.dev/docs/hooks/>. The programs could not be run here: what is said below rests on
//! that documentation, on the open ancestor of `kiro-cli` (Amazon Q Developer CLI), and on payloads that others measured
//! and published, of the IDE 1.0 and of `kiro-cli` 2.16 to 3.0.
//!
//! There are two engines, each with hooks of its own:
//!
//! - The IDE since 1.0 and `kiro-cli --v3` read *hook files*, `.kiro/hooks/*.json` in the home and in the workspace. Their
//!   events begin with a capital. Every payload has a `session_id`, `sess_` and a UUID.
//! - `kiro-cli` 2.x reads no hook file; its hooks stand in the config of the *agent* that runs. Its five events begin with
//!   a small letter, and an agent with any other name in its `hooks` does not load. The TUI sends a `session_id`, a UUID;
//!   `--classic`, `--no-interactive` and older versions send none.
//!
//! IDEs before 1.0 read `.kiro.hook` files, and give a command nothing on stdin.
//!
//! *Means* is the word of [`Means`]; *registered* says whether `install` writes the event (the five of agents only with
//! `--kiro-agents`); the last column says what becomes of it. Exit code 2 blocks where an event is a gate, whatever is
//! printed on a start or a prompt goes into the model's context: so ours print nothing and succeed, also when the program is
//! gone.
//!
//! | native event | means | registered | becomes, or why not |
//! |---|---|---|---|
//! | `SessionStart` | SessionStart | always | `session.started` |
//! | `UserPromptSubmit` | Prompt | always | `turn.started`; the prompt may arrive empty: then its length is not known |
//! | `PreToolUse` | ToolStart | never | a gate: it can keep the tool from running; the start is derived from the end |
//! | `PostToolUse` | ToolEnd | always | `tool.started` (derived) and `tool.ended`; a failing command is told from its exit code |
//! | `Stop` | Stop | always | `turn.ended` stop |
//! | `PostFileCreate` | FileChanged | always | `files.changed`; nothing where it names no session: then the person wrote it |
//! | `PostFileSave` | FileChanged | always | the same |
//! | `PostFileDelete` | FileChanged | always | the same |
//! | `PreTaskExec` | Ignored | never | a gate: it can keep a task of a spec from running |
//! | `PostTaskExec` | Ignored | never | nothing of ours: a task of a spec is no turn |
//! | `Manual` | Ignored | never | nothing of ours: the person starts it |
//! | `SessionEnd` | SessionEnd | never | only `kiro-cli --v3` since 2.25.0 is said to have it, and what an older one makes of the file is not known |
//! | `agentSpawn` | SessionStart | always | `session.started`, once: it may come again with each prompt |
//! | `userPromptSubmit` | Prompt | always | `turn.started` |
//! | `preToolUse` | ToolStart | never | a gate, as PreToolUse is |
//! | `postToolUse` | ToolEnd | always | as PostToolUse, and `files.changed` of a tool that wrote: there are no file events |
//! | `stop` | Stop | always | `turn.ended` stop |
//!
//! Not said by any hook: that somebody must approve a tool, a compaction, an interrupt, a failed turn, a subagent, and the
//! end of a session.
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
pub struct Kiro;

impl Adapter for Kiro {
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
        // Title and model stand beside the transcript, and are read with it.
        Facts::default()
    }
}
