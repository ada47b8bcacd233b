//! Claude Code: everything that is true of it and of nothing else.
//!
//! | harness.name | product | wired in | session end | stop can block | payload | transcript |
//! |---|---|---|---|---|---|---|
//! | `claude-code` | Claude Code (Anthropic) | `settings.json` of every config dir: `~/.claude`, `$CLAUDE_CONFIG_DIR`, `~/.claude-*` | yes | yes | stdin, snake case | JSONL |
//!
//! Hooks are documented at <https://code.claude.com/docs/en/hooks>. What is said here was seen on 2.0.60 to 2.1.328, which
//! knows these 33 events. Up to 2.1.100 one event name that a version does not know makes it ignore its whole settings
//! file, so each version gets only what it knows.
//!
//! | native event | means | registered | becomes, or why not |
//! |---|---|---|---|
//! | `SessionStart` | SessionStart | always | `session.started`; source `compact`: `context.compacted` |
//! | `UserPromptSubmit` | Prompt | always | `turn.started`; a prompt with the running turn's id steers it |
//! | `PreToolUse` | ToolStart | always | `tool.started` |
//! | `PostToolUse` | ToolEnd | always | `tool.ended` ok, `files.changed` |
//! | `PostToolUseFailure` | ToolFailure | always | `tool.ended` not ok |
//! | `PostToolBatch` | ToolBatch | since 2.1.105 | `tool.ended` of denied calls, which have no end of their own |
//! | `PermissionRequest` | PermissionRequest | always | `attention.needed` permission; AskUserQuestion: question; nothing with `-p` |
//! | `Notification` | Notification | always | `attention.needed` or `attention.cleared`, by its type |
//! | `Elicitation` | Elicitation | since 2.1.100 | `attention.needed` elicitation |
//! | `Stop` | Stop | always | `turn.ended` stop; with background tasks only a pause |
//! | `StopFailure` | StopFailure | since 2.1.100 | `turn.ended` error; of a subagent: `subagent.ended` |
//! | `SubagentStart` | SubagentStart | always | `subagent.started` |
//! | `SubagentStop` | SubagentEnd | always | `subagent.ended` |
//! | `PreCompact` | CompactStart | always | what a compaction's own end is paired with |
//! | `PostCompact` | Compacted | since 2.1.100 | `context.compacted` |
//! | `SessionEnd` | SessionEnd | always | `session.ended` |
//! | `UserPromptExpansion` | Ignored | never | UserPromptSubmit says the same |
//! | `PreModelSwitch` | Ignored | never | the transcript names the model of each answer |
//! | `PostModelSwitch` | Ignored | never | the transcript names the model of each answer |
//! | `PermissionDenied` | Ignored | never | PostToolBatch closes the call |
//! | `Setup` | Ignored | never | runs before there is a session |
//! | `TeammateIdle` | Ignored | never | says nothing of this session |
//! | `TaskCreated` | Ignored | never | TaskCreate is a tool, and reported as one |
//! | `TaskCompleted` | Ignored | never | TaskUpdate is a tool, and reported as one |
//! | `ElicitationResult` | Ignored | never | Notification says the same |
//! | `ConfigChange` | Ignored | never | says nothing of this session |
//! | `WorktreeCreate` | Ignored | never | its hook replaces `git worktree` and must print a path |
//! | `WorktreeRemove` | Ignored | never | its hook counts as the removal itself |
//! | `InstructionsLoaded` | Ignored | never | says nothing of ours, and is killed when the program ends |
//! | `CwdChanged` | Ignored | never | every payload carries the folder |
//! | `FileChanged` | Ignored | never | its matcher is a watch list |
//! | `DirectoryAdded` | Ignored | never | says nothing of ours |
//! | `MessageDisplay` | Ignored | never | says nothing of ours, and holds up the end of the turn |
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
