//! Claude Code: everything that is true of it and of nothing else.
//!
//! | `harness.name` | wired in | session end | payload | transcript | documented at |
//! |---|---|---|---|---|---|
//! | `claude-code` | `settings.json` of every config dir | yes | stdin, snake_case | `projects/*/*.jsonl` | <https://code.claude.com/docs/en/hooks> |
//!
//! What Claude Code 2.0.60 to 2.1.328 tell, and what becomes of it; 2.1.328 knows these 33 events. Up to 2.1.100 one event
//! name that a version does not know makes it ignore its whole settings file, so each version gets only what it knows.
//!
//! | native event | means | becomes | registered |
//! |---|---|---|---|
//! | `SessionStart` | `SessionStart` | `session.started`; source `compact`: `context.compacted` | always |
//! | `UserPromptSubmit` | `Prompt` | `turn.started`; a prompt with the running turn's id steers it | always |
//! | `PreToolUse` | `ToolStart` | `tool.started` | always |
//! | `PostToolUse` | `ToolEnd` | `tool.ended` ok, `files.changed` | always |
//! | `PostToolUseFailure` | `ToolFailure` | `tool.ended` not ok | always |
//! | `PostToolBatch` | `ToolBatch` | `tool.ended` of denied calls, which have no end of their own | since 2.1.105 |
//! | `PermissionRequest` | `PermissionRequest` | `attention.needed` permission; AskUserQuestion: question; nothing with `-p` | always |
//! | `Notification` | `Notification` | `attention.needed` or `attention.cleared`, by its type | always |
//! | `Elicitation` | `Elicitation` | `attention.needed` elicitation | since 2.1.100 |
//! | `Stop` | `Stop` | `turn.ended` stop; with background tasks only a pause | always |
//! | `StopFailure` | `StopFailure` | `turn.ended` error; of a subagent: `subagent.ended` | since 2.1.100 |
//! | `SubagentStart` | `SubagentStart` | `subagent.started` | always |
//! | `SubagentStop` | `SubagentEnd` | `subagent.ended` | always |
//! | `PreCompact` | `CompactStart` | what a compaction's own end is paired with | always |
//! | `PostCompact` | `Compacted` | `context.compacted` | since 2.1.100 |
//! | `SessionEnd` | `SessionEnd` | `session.ended` | always |
//! | `UserPromptExpansion` | `Ignored` | nothing | never: UserPromptSubmit says the same |
//! | `PreModelSwitch` | `Ignored` | nothing | never: the transcript names the model of each answer |
//! | `PostModelSwitch` | `Ignored` | nothing | never: the transcript names the model of each answer |
//! | `PermissionDenied` | `Ignored` | nothing | never: PostToolBatch closes the call |
//! | `Setup` | `Ignored` | nothing | never: runs before there is a session |
//! | `TeammateIdle` | `Ignored` | nothing | never: says nothing of this session |
//! | `TaskCreated` | `Ignored` | nothing | never: TaskCreate is a tool, and reported as one |
//! | `TaskCompleted` | `Ignored` | nothing | never: TaskUpdate is a tool, and reported as one |
//! | `ElicitationResult` | `Ignored` | nothing | never: Notification says the same |
//! | `ConfigChange` | `Ignored` | nothing | never: says nothing of this session |
//! | `WorktreeCreate` | `Ignored` | nothing | never: its hook replaces `git worktree` and must print a path |
//! | `WorktreeRemove` | `Ignored` | nothing | never: its hook counts as the removal itself |
//! | `InstructionsLoaded` | `Ignored` | nothing | never: says nothing of ours, and is killed when the program ends |
//! | `CwdChanged` | `Ignored` | nothing | never: every payload carries the folder |
//! | `FileChanged` | `Ignored` | nothing | never: its matcher is a watch list |
//! | `DirectoryAdded` | `Ignored` | nothing | never: says nothing of ours |
//! | `MessageDisplay` | `Ignored` | nothing | never: says nothing of ours, and holds up the end of the turn |
//!
//! Not said by any hook: an interrupt with Esc, and the end of a call that was denied or interrupted.

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
pub struct ClaudeCode;

impl Adapter for ClaudeCode {
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
