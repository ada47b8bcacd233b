//! What must be true of Copilot CLI's config: one hook file that is ours alone. The program reads every JSON file of that
//! folder, needs no trust for them, and rewrites none; other tools have files of their own beside it.
//!
//! Our commands are guarded: before a tool, a hook that fails, or whose program is gone, denies it.

pub(crate) mod check;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use sessionpipe_core::command::guarded_hook_command;
use sessionpipe_core::host::Host;
use sessionpipe_core::wiring::{When, Wiring};

use crate::HARNESS;
use crate::facts::is_here;

/// Seconds that a hook of ours may take; it needs milliseconds. Copilot CLI waits for it, and goes on after a timeout.
const TIMEOUT_S: u64 = 5;

/// The format of hook files.
const VERSION: u64 = 1;

/// `$COPILOT_HOME`, else `~/.copilot`. An empty value counts as unset.
pub(crate) fn copilot_home(host: &Host) -> PathBuf {
    host.path_var("COPILOT_HOME").unwrap_or_else(|| host.home.join(".copilot"))
}

pub(crate) fn wiring(host: &Host) -> Vec<Wiring> {
    if !is_here(host) {
        return Vec::new();
    }
    let off = check::all_off(host).map(|finding| Wiring::left_as_it_is(host, finding));
    let hooks = Wiring::OwnedFile { file: hooks_file(&copilot_home(host)), document: document(host) };
    let text = "Copilot CLI reads hooks when it starts: leave running ones and start them again.".to_owned();
    [hooks, Wiring::Notice { when: When::Changed, text }].into_iter().chain(off).collect()
}

fn hooks_file(home: &Path) -> PathBuf {
    home.join("hooks/sessionpipe.json")
}

/// The hook file. Never with a command for PowerShell alone: elsewhere that fails, and denies the tool.
fn document(host: &Host) -> Value {
    let hooks: Map<String, Value> = HARNESS
        .wired(None)
        .map(|event| {
            let command = guarded_hook_command(&host.program, HARNESS.name, event.name);
            let handler = json!({"type": "command", "bash": command, "timeoutSec": TIMEOUT_S});
            (event.name.to_owned(), json!([handler]))
        })
        .collect();
    json!({"version": VERSION, "hooks": hooks})
}

#[cfg(test)]
mod tests;
