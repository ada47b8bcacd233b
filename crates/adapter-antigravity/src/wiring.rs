//! What must be true of Antigravity's config. One file is read by the app, the IDE and `agy` alike: `~/.gemini/config/hooks.json`,
//! a map of names to their events. Ours stand below the name `sessionpipe`.
//!
//! One value of the wrong shape in it, and nobody's hooks run: so there is no key of ours but the name itself. Tool events take
//! groups with a matcher, the others plain handlers; what stands in the other shape is dropped without a word.

pub(crate) mod check;

use std::path::PathBuf;

use semver::Version;
use serde_json::json;
use sessionpipe_core::command::guarded_hook_command;
use sessionpipe_core::harness::{Means, NativeEvent};
use sessionpipe_core::host::Host;
use sessionpipe_core::wiring::{HookEntry, When, Wiring};

use crate::HARNESS;
use crate::facts;

/// Seconds that a hook of ours may take; it needs milliseconds. The agent waits for it.
const TIMEOUT_S: u64 = 5;

/// The name that our hooks have in the file.
const NAME: &str = "sessionpipe";

/// The file that is always read, whatever folder is open.
pub(crate) fn hooks_file(host: &Host) -> PathBuf {
    host.home.join(".gemini/config/hooks.json")
}

pub(crate) fn wiring(host: &Host) -> Vec<Wiring> {
    if !facts::is_here(host) {
        return Vec::new();
    }
    let version = facts::version(host);
    let restart = "restart running sessions of Antigravity: their hooks were read when they started.";
    let off = check::switched_off(host).map(|finding| Wiring::left_as_it_is(host, finding));
    let entries = Wiring::HookEntries {
        file: hooks_file(host),
        at: &[NAME],
        needs: &[],
        entries: entries(host, version.as_ref()),
        jsonc: false,
    };
    let restart = Wiring::Notice { when: When::Changed, text: restart.to_owned() };
    [entries, restart].into_iter().chain(off).collect()
}

fn entries(host: &Host, version: Option<&Version>) -> Vec<HookEntry> {
    HARNESS.wired(version).map(|event| entry(host, event)).collect()
}

fn entry(host: &Host, event: &'static NativeEvent) -> HookEntry {
    // What Antigravity makes of a hook that fails is known of one event only: there it denies the tool.
    let command = guarded_hook_command(&host.program, HARNESS.name, event.name);
    let handler = json!({"type": "command", "command": command, "timeout": TIMEOUT_S});
    let value = if is_grouped(event) { json!({"matcher": "*", "hooks": [handler]}) } else { handler };
    HookEntry { event: event.name, value }
}

/// Whether the event takes groups with a matcher; the others take handlers.
fn is_grouped(event: &NativeEvent) -> bool {
    matches!(event.means, Means::ToolStart | Means::ToolEnd)
}

#[cfg(test)]
mod tests;
