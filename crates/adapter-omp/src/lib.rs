//! What is true of OMP (Oh My Pi) and of nothing else.
//!
//! | harness.name | product | wired in | session end | stop can block | payload | transcript |
//! |---|---|---|---|---|---|---|
//! | `omp` | Oh My Pi | `~/.omp/agent/extensions/sessionpipe.ts`, in every profile, or under `$PI_CODING_AGENT_DIR` | yes | yes | an extension of ours | JSONL, a tree |
//!
//! Extensions are documented at <https://github.com/can1357/oh-my-pi/blob/main/docs/extensions.md>; what is said here was seen on
//! 18.2.3. OMP is a fork of Pi and runs extensions of the same form; its events have their own order, names and members. What
//! `install` drops is an extension (`plugin/`), which writes a line per event to `hook --stream omp`. Since both programs
//! read `$PI_CODING_AGENT_DIR`, a folder can be that of both: so it is one file, which finds out who runs it.
//!
//! A subagent runs in the same process, with a session and an extension instance of its own: its session's file lies in a
//! folder that is named as the parent's file. What it does is told under the parent's session.
//!
//! *Means* is the word of [`Means`]; *registered* says whether the extension sends the event; the last column says what
//! becomes of it.
//!
//! | native event | means | registered | becomes, or why not |
//! |---|---|---|---|
//! | `session_start` | SessionStart | always | `session.started`; `-c` gives no reason: a session that holds messages is a resumed one; a subagent's: `subagent.started` |
//! | `session_switch` | SessionStart | always | two lines, `session.ended` of the session that is left and `session.started` of the other |
//! | `session_branch` | SessionStart | always | the same, with source fork |
//! | `session_shutdown` | SessionEnd | always | `session.ended`, and before it `turn.ended` where the last run had ended and only background work was waited for; a subagent's: `subagent.ended` |
//! | `before_agent_start` | Prompt | always | `turn.started` |
//! | `session_stop` | Stop | always | `turn.ended` |
//! | `agent_end` | Stop | always | `turn.ended` interrupt: sent only after an abort, which has no session_stop |
//! | `tool_execution_start` | ToolStart | always | `tool.started`; ask: `attention.needed` question, too |
//! | `tool_execution_end` | ToolEnd | always | `tool.ended`; `files.changed`, too, of write, edit and ast_edit |
//! | `tool_approval_requested` | Notification | always | `attention.needed` permission |
//! | `tool_approval_resolved` | Notification | always | `attention.cleared` |
//! | `session_before_compact` | CompactStart | always | what a compaction's own end is paired with; auto where auto_compaction_start came before |
//! | `session_compact` | Compacted | always | `context.compacted` |
//! | `user_bash` | Notification | always | a sign of life: a command of the person's own is no call of the agent's, and nothing tells its end |
//! | `user_python` | Notification | always | the same |
//! | `stream.end` | StreamEnd | always | nothing: the worker looks which processes are gone |
//! | `input` | Ignored | never | only the terminal fires it, and for /quit, too; before_agent_start tells of what begins a turn |
//! | `tool_call` | Ignored | never | a gate; tool_execution_start tells of every call |
//! | `tool_result` | Ignored | never | may change the result; tool_execution_end tells of every call |
//! | `tool_execution_update` | Ignored | never | output as it grows |
//! | `turn_start` | Ignored | never | a turn of OMP's is one call of the model |
//! | `turn_end` | Ignored | never | a turn of OMP's is one call of the model; only how the last one ended is taken from it |
//! | `agent_start` | Ignored | never | a retry, too, is a run |
//! | `auto_compaction_start` | Ignored | never | only remembered: the compaction's own events follow |
//! | `auto_compaction_end` | Ignored | never | only remembered: the compaction's own events came before |
//! | `auto_retry_start` | Ignored | never | nothing ends by it |
//! | `auto_retry_end` | Ignored | never | nothing ends by it |
//! | `retry_fallback_applied` | Ignored | never | nothing ends by it |
//! | `retry_fallback_succeeded` | Ignored | never | nothing ends by it |
//! | `todo_reminder` | Ignored | never | the turn goes on |
//! | `session_before_switch` | Ignored | never | may be cancelled; session_switch follows |
//! | `session_before_branch` | Ignored | never | may be cancelled; session_branch follows |
//! | `session_before_tree` | Ignored | never | may be cancelled, and the session stays the same |
//! | `session_tree` | Ignored | never | the session stays the same |
//! | `session.compacting` | Ignored | never | the whole conversation |
//! | `goal_updated` | Ignored | never | nothing of ours |
//! | `ttsr_triggered` | Ignored | never | nothing of ours |
//! | `credential_disabled` | Ignored | never | nothing of ours |
//! | `mcp_notification` | Ignored | never | nothing of ours |
//! | `message_start` | Ignored | never | a whole message |
//! | `message_update` | Ignored | never | a whole message |
//! | `message_end` | Ignored | never | a whole message |
//! | `context` | Ignored | never | the whole conversation |
//! | `before_provider_request` | Ignored | never | a whole request |
//! | `after_provider_response` | Ignored | never | nothing of ours |
//! | `resources_discover` | Ignored | never | nothing of ours |
//!
//! Not said by any event: why a session ends.
//!
//! [`Means`]: sessionpipe_core::harness::Means

use std::path::PathBuf;

use sessionpipe_core::adapter::{Adapter, Facts, Finding, Found, MapError, SessionFile};
use sessionpipe_core::harness::Harness;
use sessionpipe_core::host::Host;
use sessionpipe_core::job::Hook;
use sessionpipe_core::seen::Mapped;
use sessionpipe_core::wiring::Wiring;

mod dirs;
mod facts;
mod harness;
mod map;
#[path = "../../adapter-pi/src/plugin.rs"]
mod plugin;
mod transcript;
mod wiring;

pub use harness::{ADAPTER, HARNESS};

/// The adapter: a table of contents.
#[derive(Clone, Copy, Debug)]
pub struct Omp;

impl Adapter for Omp {
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
        // The extension's lines name the version and the title.
        Facts::default()
    }
}
