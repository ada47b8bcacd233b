//! What must be true of Cursor's config: one handler of ours per event in the person's `hooks.json`, which IDE and
//! `cursor-agent` share.
//!
//! The file is kept strict JSON (whether Cursor reads comments is documented nowhere), and holds only names that the
//! installed `cursor-agent` knows. A handler has no `matcher` (an observer sees all), no `type` (a command is the default)
//! and is not guarded: where the program is missing, its failure lets Cursor go on, while an empty answer might not.

pub(crate) mod check;

use std::path::PathBuf;

use serde_json::json;
use sessionpipe_core::command::hook_command;
use sessionpipe_core::harness::NativeEvent;
use sessionpipe_core::host::Host;
use sessionpipe_core::wiring::{HookEntry, When, Wiring};

use crate::facts::{self, Agent, is_here};
use crate::harness::{EARLIEST, HARNESS, OLDEST};

/// Seconds that a hook of ours may take; it needs milliseconds.
const TIMEOUT_S: u64 = 5;

/// The version of the file's format: there is one, and Cursor wants it named.
const FORMAT: u64 = 1;

const HOOKS_JSON: &str = "hooks.json";

const DIR_VAR: &str = "CURSOR_CONFIG_DIR";

/// `$CURSOR_CONFIG_DIR`, else `~/.cursor`.
pub(crate) fn config_dir(host: &Host) -> PathBuf {
    host.path_var(DIR_VAR).unwrap_or_else(|| host.home.join(".cursor"))
}

pub(crate) fn wiring(host: &Host) -> Vec<Wiring> {
    if !is_here(host) {
        return Vec::new();
    }
    let agent = facts::agent(host);
    let entries = HARNESS.wired(None).filter(|event| knows(agent.as_ref(), event.name)).map(|event| entry(host, event));
    let hooks = Wiring::HookEntries {
        file: config_dir(host).join(HOOKS_JSON),
        at: &["hooks"],
        needs: &[("version", FORMAT)],
        entries: entries.collect(),
        jsonc: false,
    };
    let old = agent.filter(is_old).map(|Agent { version, .. }| Wiring::Notice {
        when: When::Changed,
        text: format!(
            "cursor-agent {version} may ignore a whole hooks.json for one event name that it does not know, so only {} are \
             wired. Update it, then run install again.",
            EARLIEST.join(" and ")
        ),
    });
    [hooks].into_iter().chain(old).collect()
}

fn is_old(agent: &Agent) -> bool {
    agent.number < OLDEST
}

/// Whether the installed command line is certain to know an event.
fn knows(agent: Option<&Agent>, event: &str) -> bool {
    !agent.is_some_and(is_old) || EARLIEST.contains(&event)
}

fn entry(host: &Host, event: &NativeEvent) -> HookEntry {
    let command = hook_command(&host.program, HARNESS.name, event.name);
    HookEntry { event: event.name, value: json!({"command": command, "timeout": TIMEOUT_S}) }
}

#[cfg(test)]
mod tests;
