//! What could keep Antigravity's hooks silent, or do harm, beyond what the installer sees in the file itself.

use std::path::Path;

use serde_json::{Map, Value};
use sessionpipe_core::adapter::{Finding, Level};
use sessionpipe_core::command;
use sessionpipe_core::file;
use sessionpipe_core::host::Host;

use super::{NAME, hooks_file, is_grouped};
use crate::HARNESS;

const INSTALL: &str = "sessionpipe install --harness antigravity";
const REMOVE: &str = "remove the hooks of sessionpipe there";

/// Files that hooks were put into and that Antigravity takes none from, from the home: Gemini CLI's settings, and the places
/// that older documentation and an older `/hooks` name.
const NEVER_READ: [&str; 3] =
    [".gemini/settings.json", ".gemini/antigravity/hooks.json", ".gemini/antigravity-cli/hooks.json"];

/// The file of a project, which is read beside the person's.
const PROJECT: &str = ".agents/hooks.json";

pub(crate) fn check(host: &Host) -> Vec<Finding> {
    let path = hooks_file(host);
    let mut findings = Vec::new();
    if let Ok(bytes) = file::read(&path) {
        match document(&bytes) {
            Ok(names) => findings.extend(hooks(&path, &names)),
            Err(fault) => {
                let text = format!("Antigravity runs no hook of this file, whoever's: {fault}");
                findings.push(Finding::of(Level::Problem, &path, text, "correct the file"));
            }
        }
    }
    for name in NEVER_READ {
        let path = host.home.join(name);
        if value(&path).is_some_and(|document| has_ours(&document)) {
            let text = format!("hooks of sessionpipe stand here; Antigravity reads {}", host.tilde(&hooks_file(host)));
            findings.push(Finding::of(Level::Note, &path, text, REMOVE));
        }
    }
    findings.extend(of_project(host));
    findings.extend(by_key(host));
    findings
}

/// The names of the file and what stands below them; none in a blank one.
///
/// # Errors
/// Why Antigravity takes nothing from it.
fn document(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    if bytes.trim_ascii().is_empty() {
        return Ok(Map::new());
    }
    if bytes.starts_with(b"\xef\xbb\xbf") {
        return Err("it begins with a byte order mark".to_owned());
    }
    let document = serde_json::from_slice(bytes)
        .map_err(|error| format!("it is not strict JSON (no comments, no trailing commas): {error}"))?;
    let Value::Object(names) = document else { return Err("it is no object".to_owned()) };
    match names.iter().find_map(|(name, spec)| spec_fault(name, spec)) {
        Some(fault) => Err(fault),
        None => Ok(names),
    }
}

/// Why one name voids the file.
fn spec_fault(name: &str, spec: &Value) -> Option<String> {
    let Some(spec) = spec.as_object() else { return Some(format!("`{name}` is no object")) };
    spec.iter().find_map(|(key, value)| match HARNESS.event(key) {
        Some(_) if !value.is_array() => Some(format!("`{name}.{key}` is no array")),
        None if key == "enabled" && !value.is_boolean() => Some(format!("`{name}.{key}` is neither true nor false")),
        _ => None,
    })
}

/// What is to be said of our handlers in the file.
fn hooks(path: &Path, names: &Map<String, Value>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, spec) in names.iter().filter(|(_, spec)| has_ours(spec)) {
        findings.extend(off(path, name, spec));
        let elsewhere = name != NAME;
        if elsewhere {
            let text = format!("hooks of sessionpipe stand below `{name}`; they belong below `{NAME}`");
            findings.push(Finding::of(Level::Warning, path, text, REMOVE));
        }
        let fix = if elsewhere { REMOVE } else { INSTALL };
        for event in HARNESS.events {
            let entries = spec.get(event.name).and_then(Value::as_array).into_iter().flatten();
            let ours: Vec<_> = entries.filter(|entry| has_ours(entry)).collect();
            if event.name == "PreToolUse" && !ours.is_empty() {
                let text = format!(
                    "`{name}.{}` holds a hook of sessionpipe: Antigravity asks it before every tool, and denies the tool when it fails",
                    event.name
                );
                findings.push(Finding::of(Level::Warning, path, text, fix));
            }
            if ours.iter().any(|entry| entry.get("hooks").is_some() != is_grouped(event)) {
                let shape = if is_grouped(event) { "a group with a matcher" } else { "a plain handler" };
                let text =
                    format!("`{name}.{}` holds a hook of sessionpipe that is not {shape}: it is dropped", event.name);
                findings.push(Finding::of(Level::Warning, path, text, fix));
            }
        }
    }
    findings
}

/// The person's switch for all that stands below a name.
fn off(path: &Path, name: &str, spec: &Value) -> Option<Finding> {
    let text = || format!("`{name}.enabled` is false: Antigravity runs none of the hooks below it");
    let is_off = spec.get("enabled") == Some(&Value::Bool(false));
    is_off.then(|| Finding::of(Level::Problem, path, text(), "set it to true, or remove it"))
}

/// The same for our name, before there is anything of ours below it.
pub(super) fn switched_off(host: &Host) -> Option<Finding> {
    let path = hooks_file(host);
    off(&path, NAME, value(&path)?.get(NAME)?)
}

/// Hooks of ours in the folder's own file. Below the same name the person's file wins.
fn of_project(host: &Host) -> Option<Finding> {
    let path = host.cwd.join(PROJECT);
    let document = value(&path)?;
    let others = document.as_object()?.iter().filter(|(name, _)| *name != NAME);
    let twice = others.into_iter().any(|(_, spec)| has_ours(spec));
    let text = "hooks of sessionpipe stand here, too: in this project they run twice".to_owned();
    twice.then(|| Finding::of(Level::Warning, &path, text, REMOVE))
}

/// With an API key instead of a login, agy 1.1.22 loaded the hooks and ran none (google-antigravity/antigravity-cli#893).
fn by_key(host: &Host) -> Option<Finding> {
    let path = host.home.join(".gemini/antigravity-cli/settings.json");
    let by_key = value(&path)?.get("modelProvider")?.as_str()? == "gemini";
    let text = "modelProvider is gemini: with an API key, agy was seen to run no hooks (1.1.22)".to_owned();
    by_key.then(|| Finding::of(Level::Warning, &path, text, "sign in instead, if no events arrive"))
}

/// A file's value, where it has one.
fn value(path: &Path) -> Option<Value> {
    serde_json::from_slice(&file::read(path).ok()?).ok()
}

fn has_ours(value: &Value) -> bool {
    command::is_in(value, HARNESS.name)
}
