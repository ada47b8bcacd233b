//! What must be true of Codex's config files. `$CODEX_HOME/hooks.json` takes all twelve hooks, `notify` in `config.toml`
//! tells the end of a turn where hooks are off or not trusted.
//!
//! Codex ties its trust to a hook's text and place ([`trust`]), so handlers of ours stand last and never change without
//! need. Whether a hook is trusted and whether hooks are on is the person's decision: both are reported, neither is written.

pub(crate) mod check;
mod config;
mod trust;

use std::path::PathBuf;

use serde_json::json;
use sessionpipe_core::command::{hook_argv, hook_command};
use sessionpipe_core::host::Host;
use sessionpipe_core::wiring::{HookEntry, When, Wiring};

use crate::HARNESS;
use crate::facts::is_here;
use crate::harness::NOTIFY;

/// Seconds that a hook of ours may take; it needs milliseconds. Codex waits for it.
const TIMEOUT_S: u64 = 5;

/// Codex allows [`ENDINGS`] three seconds, and warns at every start about more.
const ENDING_TIMEOUT_S: u64 = 3;

/// The events that Codex fires while it goes away.
const ENDINGS: [&str; 2] = ["SessionEnd", "Interrupt"];

const HOOKS_JSON: &str = "hooks.json";
const CONFIG_TOML: &str = "config.toml";

/// `$CODEX_HOME` as it is (Codex expands no tilde; an empty value counts as unset), else `~/.codex`.
pub(crate) fn codex_home(host: &Host) -> PathBuf {
    host.path_var("CODEX_HOME").unwrap_or_else(|| host.home.join(".codex"))
}

pub(crate) fn wiring(host: &Host) -> Vec<Wiring> {
    if !is_here(host) {
        return Vec::new();
    }
    let home = codex_home(host);
    let config = home.join(CONFIG_TOML);
    let entries: Vec<HookEntry> = HARNESS.wired(None).map(|event| entry(host, event.name)).collect();
    let trust = format!(
        "start `codex`, choose \"Review hooks\" and trust the {} hooks of sessionpipe (later: /hooks). Until then Codex runs \
         none of them, and `codex exec` skips them without a word.",
        entries.len()
    );
    let off = check::all_off(host).map(|finding| Wiring::left_as_it_is(host, finding));
    let wirings = [
        Wiring::HookEntries { file: home.join(HOOKS_JSON), at: &["hooks"], needs: &[], entries, jsonc: false },
        Wiring::TopLevelToml {
            file: config.clone(),
            key: NOTIFY,
            argv: hook_argv(&host.program, HARNESS.name, NOTIFY),
        },
        Wiring::AbsentTomlHooks { file: config },
        Wiring::Notice { when: When::Changed, text: trust },
    ];
    wirings.into_iter().chain(off).collect()
}

fn entry(host: &Host, event: &'static str) -> HookEntry {
    let timeout = if ENDINGS.contains(&event) { ENDING_TIMEOUT_S } else { TIMEOUT_S };
    let command = hook_command(&host.program, HARNESS.name, event);
    HookEntry { event, value: json!({"hooks": [{"type": "command", "command": command, "timeout": timeout}]}) }
}

#[cfg(test)]
mod tests;
