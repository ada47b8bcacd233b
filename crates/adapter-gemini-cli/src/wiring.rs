//! What must be true of the person's `settings.json`: one hook per event, each in a group of its own.
//!
//! Gemini CLI expands `$NAME` in every text of its settings, wherever it stands, and runs no hook of them in a folder that
//! is not trusted. A running one that saves a setting takes out what was added since it started. The person's switches and
//! trust are reported, never written.

pub(crate) mod check;
mod trust;

use serde_json::json;
use sessionpipe_core::command::hook_command;
use sessionpipe_core::harness::{Means, NativeEvent};
use sessionpipe_core::host::Host;
use sessionpipe_core::wiring::{HookEntry, When, Wiring};

use crate::HARNESS;
use crate::facts;
use crate::settings::{self, Layer, ReadError, Scope, layers, user_settings};

/// Milliseconds that a hook of ours may take; it needs a few. Gemini CLI waits for it.
const TIMEOUT_MS: u32 = 5_000;

/// By this name Gemini CLI lists our hooks, shows them for a second when they ran, and switches them off.
const NAME: &str = "sessionpipe";

pub(crate) fn wiring(host: &Host) -> Vec<Wiring> {
    if facts::found(host).is_none() {
        return Vec::new();
    }
    let entries = HARNESS.wired(None).map(|event| entry(host, event)).collect();
    let hooks = Wiring::HookEntries { file: user_settings(host), at: &["hooks"], needs: &[], entries, jsonc: true };
    [hooks].into_iter().chain(notices(host)).collect()
}

fn entry(host: &Host, event: &NativeEvent) -> HookEntry {
    // A word of the shell that is two in quotes names no variable.
    let command = hook_command(&host.program, HARNESS.name, event.name).replace('$', "$''");
    let hooks = json!([{"name": NAME, "type": "command", "command": command, "timeout": TIMEOUT_MS}]);
    let value = match event.means {
        // The automatic one comes before every request, and says nothing.
        Means::CompactStart => json!({"matcher": "manual", "hooks": hooks}),
        _ => json!({"hooks": hooks}),
    };
    HookEntry { event: event.name, value }
}

fn notices(host: &Host) -> Vec<Wiring> {
    let layers = layers(host);
    let changed = |text: String| Wiring::Notice { when: When::Changed, text };
    let mut notices = Vec::new();
    if trust::is_asked_for(&layers) {
        notices.push(changed(
            "Gemini CLI runs these hooks only in folders that you trust: it asks at its first start in a folder (later: \
             /permissions)."
                .to_owned(),
        ));
    }
    notices.push(changed(
        "restart running sessions of Gemini CLI: they know no hooks that were added since they started, and take them out \
         of settings.json when they save a setting. `sessionpipe status` shows when that happened, `sessionpipe install` \
         mends it."
            .to_owned(),
    ));
    notices.push(changed(telemetry(&layers).to_owned()));
    notices.extend(check::all_off(&layers).map(|finding| Wiring::left_as_it_is(host, finding)));
    // What the installer can edit and Gemini CLI cannot read.
    let user = layers.iter().find(|layer| layer.scope == Scope::User);
    if let Some(Layer { file, value: Err(error @ (ReadError::Syntax(_) | ReadError::Bom)), .. }) = user {
        let text = format!("{}: {error}. Gemini CLI does not start before that is mended.", host.tilde(file));
        notices.push(Wiring::Notice { when: When::Always, text });
    }
    notices
}

/// What is true of prompts in Gemini CLI's own telemetry.
fn telemetry(layers: &[Layer]) -> &'static str {
    let is = |pointer, wanted| settings::last(layers, pointer) == Some(wanted);
    match (is("/telemetry/enabled", true), is("/telemetry/logPrompts", false)) {
        (false, _) => {
            "Gemini CLI's own telemetry is off. Where it is switched on (telemetry.enabled), it holds your prompts unless \
             telemetry.logPrompts is false. sessionpipe changes neither."
        }
        (true, false) => {
            "Gemini CLI's own telemetry is on (telemetry.enabled), and holds your prompts: telemetry.logPrompts is not \
             false. sessionpipe changes neither."
        }
        (true, true) => "Gemini CLI's own telemetry is on (telemetry.enabled), without your prompts.",
    }
}

#[cfg(test)]
mod tests;
