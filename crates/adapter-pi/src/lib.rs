//! What is true of Pi and of nothing else.
//!
//! | harness.name | product | wired in | session end | stop can block | payload | transcript |
//! |---|---|---|---|---|---|---|
//! | `pi` | Pi (Earendil) | `~/.pi/agent/extensions/sessionpipe.ts`, or under `$PI_CODING_AGENT_DIR` | yes | no | an extension of ours | JSONL, a tree |
//!
//! Extensions are documented at <https://github.com/earendil-works/pi/blob/main/packages/coding-agent/docs/extensions.md>; what is said
//! here was seen on 1.6.0, and on 0.73.1, the last under the package's older name. Pi runs no commands for hooks: what
//! `install` drops is an extension (`plugin/`), which writes a line per event to `hook --stream pi`. An extension that does not
//! load ends Pi, so ours imports nothing that a version may lack; `docs/pi-versions.md` has the versions it was loaded in.
//!
//! *Means* is the word of [`Means`]; *registered* says whether the extension sends the event; the last column says what
//! becomes of it.
//!
//! | native event | means | registered | becomes, or why not |
//! |---|---|---|---|
//! | `session_start` | SessionStart | always | `session.started`; `-c` gives the reason startup: a session that holds messages is a resumed one |
//! | `session_info_changed` | Notification | always | the session's title |
//! | `session_shutdown` | SessionEnd | always | `session.ended`; nothing for a reload |
//! | `before_agent_start` | Prompt | always | `turn.started` |
//! | `agent_end` | Stop | always | `turn.ended`, in versions before 0.80.4 alone, which have no agent_settled: there an error may be followed by a retry |
//! | `agent_settled` | Stop | always | `turn.ended` |
//! | `tool_execution_start` | ToolStart | always | `tool.started` |
//! | `tool_execution_end` | ToolEnd | always | `tool.ended`; `files.changed`, too, of write and edit |
//! | `session_before_compact` | CompactStart | always | what a compaction's own end is paired with |
//! | `session_compact` | Compacted | always | `context.compacted` |
//! | `ui_prompt_start` | Notification | always | `attention.needed` question: an extension asks the person |
//! | `ui_prompt_end` | Notification | always | `attention.cleared` |
//! | `user_bash` | Notification | always | a sign of life: a command of the person's own is no call of the agent's, and nothing tells its end |
//! | `stream.end` | StreamEnd | always | nothing: the worker looks which processes are gone |
//! | `input` | Ignored | never | before_agent_start tells of what begins a turn; a prompt that steers fires only this, and begins none |
//! | `tool_call` | Ignored | never | a gate; tool_execution_start tells of every call, also of one that does not fit its tool's schema |
//! | `tool_result` | Ignored | never | may change the result; tool_execution_end tells of every call |
//! | `tool_execution_update` | Ignored | never | output as it grows |
//! | `turn_start` | Ignored | never | a turn of Pi's is one call of the model |
//! | `turn_end` | Ignored | never | a turn of Pi's is one call of the model; only how the last one ended is taken from it |
//! | `agent_start` | Ignored | never | a retry, too, is a run |
//! | `agent_before_settle` | Ignored | never | may make the agent go on; agent_settled follows |
//! | `session_before_switch` | Ignored | never | may be cancelled; session_shutdown follows |
//! | `session_before_fork` | Ignored | never | may be cancelled; session_shutdown follows |
//! | `session_before_tree` | Ignored | never | may be cancelled, and the session stays the same |
//! | `session_tree` | Ignored | never | the session stays the same |
//! | `session_compact_failed` | Ignored | never | nothing of ours: nothing was compacted |
//! | `model_select` | Ignored | never | every line names the model |
//! | `thinking_level_select` | Ignored | never | nothing of ours |
//! | `message_start` | Ignored | never | a whole message |
//! | `message_update` | Ignored | never | a whole message |
//! | `message_end` | Ignored | never | a whole message |
//! | `context` | Ignored | never | the whole conversation |
//! | `context_with_system` | Ignored | never | the whole conversation |
//! | `before_provider_request` | Ignored | never | a whole request |
//! | `before_provider_headers` | Ignored | never | may hold keys |
//! | `after_provider_response` | Ignored | never | nothing of ours |
//! | `provider_stream_event` | Ignored | never | output as it grows |
//! | `cache_warming_decision` | Ignored | never | a gate |
//! | `mcp_servers_change` | Ignored | never | whoever listens has to connect them |
//! | `resources_discover` | Ignored | never | nothing of ours |
//! | `project_trust` | Ignored | never | a handler that decides nothing makes Pi print a warning |
//!
//! Not said by any event: SIGINT in print mode, after which the process is just gone.
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
mod plugin;
mod transcript;
mod wiring;

pub use harness::{ADAPTER, HARNESS};

/// The adapter: a table of contents.
#[derive(Clone, Copy, Debug)]
pub struct Pi;

impl Adapter for Pi {
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
