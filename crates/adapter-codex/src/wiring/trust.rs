//! Whether Codex will run a hook. It keeps, per place, the hash of what the person trusted, in the user's `config.toml`:
//!
//! ```toml
//! [hooks.state."/home/dev/.codex/hooks.json:pre_tool_use:0:0"]   # <file>:<event>:<group>:<handler>
//! trusted_hash = "sha256:…"
//! ```
//!
//! The hash is the SHA-256 of the hook as JSON with sorted keys and no blanks, defaults filled in. So a changed command or
//! timeout, or a group put before ours, takes the trust away.

use std::path::Path;

use serde_json::{Map, Value, json};
use sessionpipe_core::ids;

use super::config::Handler;
use super::{ENDING_TIMEOUT_S, ENDINGS};

/// The timeout of a handler that names none.
const DEFAULT_TIMEOUT_S: u64 = 600;
/// The same for [`ENDINGS`].
const ENDING_DEFAULT_S: u64 = 1;

/// Events whose groups' matchers mean nothing and are not hashed.
const WITHOUT_MATCHER: [&str; 3] = ["UserPromptSubmit", "Stop", "Interrupt"];

/// What Codex makes of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// It runs.
    Trusted,
    /// It was never trusted at this place.
    Unknown,
    /// Something else was trusted at this place.
    Changed,
    /// The person switched it off.
    Off,
}

/// What the state says of a handler in one of `files` (one file, by its names).
pub(super) fn trust(state: Option<&Value>, files: &[&Path], handler: &Handler<'_>) -> Trust {
    let entry = files.iter().find_map(|file| state?.get(key(file, handler)));
    if entry.and_then(|entry| entry.get("enabled")) == Some(&Value::Bool(false)) {
        return Trust::Off;
    }
    match entry.and_then(|entry| entry.get("trusted_hash")?.as_str()) {
        Some(trusted) if trusted == hash(handler) => Trust::Trusted,
        Some(_) => Trust::Changed,
        None => Trust::Unknown,
    }
}

fn key(file: &Path, handler: &Handler<'_>) -> String {
    format!("{}:{}:{}:{}", file.display(), snake(handler.event), handler.group_at, handler.handler_at)
}

fn hash(handler: &Handler<'_>) -> String {
    let given = |name: &str| handler.handler.get(name).filter(|value| !value.is_null()).cloned();
    let timeout = handler.handler.get("timeout").and_then(Value::as_u64);
    let timeout = if ENDINGS.contains(&handler.event) {
        timeout.unwrap_or(ENDING_DEFAULT_S).clamp(1, ENDING_TIMEOUT_S)
    } else {
        timeout.unwrap_or(DEFAULT_TIMEOUT_S).max(1)
    };
    let matcher = handler.group.get("matcher").filter(|_| !WITHOUT_MATCHER.contains(&handler.event)).cloned();
    let members = [
        ("async", Some(given("async").unwrap_or(Value::Bool(false)))),
        ("command", given("command")),
        ("statusMessage", given("statusMessage")),
        ("timeout", Some(timeout.into())),
        ("type", given("type")),
    ];
    let hook = object(members);
    let identity = object([
        ("event_name", Some(snake(handler.event).into())),
        ("hooks", Some(json!([hook]))),
        ("matcher", matcher.filter(|matcher| !matcher.is_null())),
    ]);
    format!("sha256:{}", ids::hex(identity.to_string().as_bytes()))
}

/// The members that are there, in this order, which must be that of their names.
fn object<const N: usize>(members: [(&str, Option<Value>); N]) -> Value {
    Value::Object(
        members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect::<Map<_, _>>(),
    )
}

/// `PreToolUse` → `pre_tool_use`
fn snake(event: &str) -> String {
    let mut name = String::with_capacity(event.len() + 4);
    for letter in event.chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wiring::config::handlers;

    /// Both files are from a home of Codex 0.171.0: its own hooks.json was written for the purpose, config.toml by Codex
    /// after "Trust all" (its home renamed to /home/dev).
    const HOOKS: &str = include_str!("../../tests/trust/hooks.json");
    const CONFIG: &str = include_str!("../../tests/trust/config.toml");

    fn recorded() -> (Value, Value) {
        let hooks = serde_json::from_str(HOOKS).expect("JSON");
        let config = toml_edit::de::from_str(CONFIG).expect("TOML");
        (hooks, config)
    }

    fn of(hooks: &Value, config: &Value, file: &str) -> Vec<Trust> {
        let state = config.pointer("/hooks/state");
        handlers(hooks.get("hooks")).map(|handler| trust(state, &[Path::new(file)], &handler)).collect()
    }

    #[test]
    fn every_hook_that_codex_trusted_is_trusted() {
        let (hooks, config) = recorded();
        // Twelve of ours, and twelve of others with matchers, defaults, clamped timeouts, a status message.
        assert_eq!(of(&hooks, &config, "/home/dev/.codex/hooks.json"), [Trust::Trusted; 24]);
        assert_eq!(of(&hooks, &config, "/home/dev/other/hooks.json"), [Trust::Unknown; 24]);
    }

    #[test]
    fn any_change_and_any_shift_takes_trust_away() {
        let (hooks, config) = recorded();
        for (member, value) in [
            ("command", json!("'/opt/sessionpipe-hook' codex Stop")),
            ("timeout", json!(6)),
            ("statusMessage", json!("…")),
            ("async", json!(true)),
        ] {
            let mut changed = hooks.clone();
            changed["hooks"]["Stop"][1]["hooks"][0][member] = value;
            let stop = handlers(changed.get("hooks")).find(|h| h.event == "Stop" && h.is_ours()).expect("ours");
            let file = Path::new("/home/dev/.codex/hooks.json");
            assert_eq!(trust(config.pointer("/hooks/state"), &[file], &stop), Trust::Changed, "{member}");
        }
        let mut shifted = hooks.clone();
        shifted["hooks"]["PostCompact"].as_array_mut().expect("groups").insert(0, json!({"hooks": []}));
        let ours = handlers(shifted.get("hooks")).find(|h| h.event == "PostCompact").expect("ours");
        assert_eq!(
            trust(config.pointer("/hooks/state"), &[Path::new("/home/dev/.codex/hooks.json")], &ours),
            Trust::Unknown
        );
    }

    #[test]
    fn what_is_switched_off_is_off_even_when_trusted() {
        let (hooks, mut config) = recorded();
        config["hooks"]["state"]["/home/dev/.codex/hooks.json:stop:1:0"]["enabled"] = json!(false);
        let off: Vec<_> = of(&hooks, &config, "/home/dev/.codex/hooks.json");
        assert_eq!(off.iter().filter(|trust| **trust == Trust::Off).count(), 1);
    }
}
