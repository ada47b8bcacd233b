//! What is true of OpenCode and of nothing else.
//!
//! | harness.name | product | wired in | session end | stop can block | payload | transcript |
//! |---|---|---|---|---|---|---|
//! | `opencode` | OpenCode | `~/.config/opencode/plugins/sessionpipe.ts`, or under `$XDG_CONFIG_HOME` | yes | no | a plugin of ours | SQLite |
//!
//! Plugins are documented at <https://opencode.ai/docs/plugins/>; what is said here was seen on 1.18.33. OpenCode runs no
//! commands for hooks: what `install` drops is a plugin (`plugin/`), which writes a line per event to
//! `hook --stream opencode`. A plugin has named hooks, which OpenCode awaits, and hears all that is said on its bus, which it
//! does not wait for.
//!
//! *Means* is the word of [`Means`]; *registered* says whether the plugin sends the event; the last column says what
//! becomes of it.
//!
//! | native event | means | registered | becomes, or why not |
//! |---|---|---|---|
//! | `session.created` | SessionStart | always | `session.started`, fork by its title; `subagent.started` where it has a parent. A resumed session has none |
//! | `session.updated` | Notification | always | the title, when it changed |
//! | `session.deleted` | SessionEnd | always | `session.ended`, of one that was worked on here |
//! | `dispose` | SessionEnd | always | `session.ended`, of each that was worked on here: the process ends |
//! | `chat.message` | Prompt | always | `turn.started`; before it `session.started`, resume, of a session that was not created here; `subagent.started` of a subagent that goes on |
//! | `session.idle` | Stop | always | `turn.ended`, once; `subagent.ended` of a subagent |
//! | `session.error` | StopFailure | always | `turn.ended`, error or interrupt; `subagent.ended` of a subagent |
//! | `tool.execute.before` | ToolStart | always | `tool.started` |
//! | `tool.execute.after` | ToolEnd | always | `tool.ended`, of a command by its exit code; `files.changed`, too, of tools that write |
//! | `message.part.updated` | ToolEnd | always | `tool.ended` of a call that has no other end: it threw, was refused or broken off |
//! | `permission.asked` | PermissionRequest | always | `attention.needed` permission |
//! | `permission.replied` | Notification | always | `attention.cleared` |
//! | `question.asked` | Notification | always | `attention.needed` question |
//! | `question.replied` | Notification | always | `attention.cleared` |
//! | `question.rejected` | Notification | always | `attention.cleared` |
//! | `session.compacted` | Compacted | always | `context.compacted` |
//! | `stream.end` | StreamEnd | always | nothing: the worker looks which processes are gone |
//! | `session.status` | Ignored | never | only heard: busy and idle; a retry is no error |
//! | `message.updated` | Ignored | never | only heard: comes many times for each message |
//! | `config` | Ignored | never | only heard: names the MCP servers |
//! | `session.diff` | Ignored | never | nothing of ours |
//! | `message.removed` | Ignored | never | nothing of ours |
//! | `message.part.removed` | Ignored | never | nothing of ours |
//! | `message.part.delta` | Ignored | never | text as it grows |
//! | `todo.updated` | Ignored | never | the tool's call says it |
//! | `file.edited` | Ignored | never | names no session |
//! | `file.watcher.updated` | Ignored | never | names no session |
//! | `command.executed` | Ignored | never | chat.message tells of its prompt |
//! | `command.execute.before` | Ignored | never | chat.message tells of its prompt |
//! | `permission.updated` | Ignored | never | not seen to be sent |
//! | `permission.ask` | Ignored | never | a gate, and not seen to be called |
//! | `chat.params` | Ignored | never | may change the call |
//! | `chat.headers` | Ignored | never | may hold keys |
//! | `shell.env` | Ignored | never | may hold keys |
//! | `tool.definition` | Ignored | never | nothing of ours |
//! | `experimental.chat.messages.transform` | Ignored | never | the whole conversation |
//! | `experimental.chat.system.transform` | Ignored | never | the whole conversation |
//! | `experimental.session.compacting` | Ignored | never | the compaction may fail; session.compacted tells |
//! | `experimental.compaction.autocontinue` | Ignored | never | a gate |
//! | `experimental.text.complete` | Ignored | never | a whole text |
//!
//! Not said by any event: SIGINT and SIGTERM, after which the process is just gone; a command that the person runs with
//! `!`, and a prompt that a program hands over without asking for an answer.
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
pub struct OpenCode;

impl Adapter for OpenCode {
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
        // The plugin's lines name the version and the title.
        Facts::default()
    }
}
