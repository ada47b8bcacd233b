//! What could keep the hooks silent, beyond what the installer sees in the files itself.

use std::path::PathBuf;

use serde_json::{Map, Value};
use sessionpipe_core::adapter::{Finding, Level};
use sessionpipe_core::host::Host;

use super::{Files, HOOKS_JSON, SETTINGS_ALONE, SETTINGS_JSON, Source, factory_home, has_others, has_ours};
use crate::HARNESS;
use crate::facts::version;

const INSTALL: &str = "sessionpipe install --harness droid";
const SWITCH: &str = "hooksDisabled";
const MANAGED_ONLY: &str = "allowManagedHooksOnly";

pub(crate) fn check(host: &Host) -> Vec<Finding> {
    let files = Files::read(&factory_home(host));
    let mut findings: Vec<Finding> = policies(host).collect();
    for source in [&files.bare, &files.settings] {
        findings.extend(ignored(source));
    }
    findings.extend(switched_off(host, &files));
    findings.extend(hidden(host, &files));
    findings.extend(wrapped(&files.bare));
    findings.extend(not_read_yet(host, &files));
    findings.extend(trust(&files));
    findings
}

/// The administrator's settings: below /etc, on macOS below /Library. (Those that come over the network leave no file.)
fn policies(host: &Host) -> impl Iterator<Item = Finding> {
    let library = host.etc.with_file_name("Library").join("Application Support/Factory");
    let files = [host.etc.join("factory"), library].map(|dir| Source::read(dir.join(SETTINGS_JSON), Some("hooks")));
    files.into_iter().filter(|file| member(file, MANAGED_ONLY) == Some(&Value::Bool(true))).map(|file| {
        let text = format!("{MANAGED_ONLY} is true: Droid runs no hooks but those of the administrator");
        Finding::of(Level::Problem, &file.path, text, "ask the administrator")
    })
}

fn member<'a>(source: &'a Source, name: &str) -> Option<&'a Value> {
    source.document.as_ref().ok()?.get(name)
}

/// One thing that Droid does not expect, and it skips all hooks of the file, with a line in its log.
fn ignored(source: &Source) -> Option<Finding> {
    let fault = match &source.document {
        Err(error) => Some(error.clone()),
        Ok(document) => match document.get("hooks") {
            Some(hooks) if source.path.ends_with(SETTINGS_JSON) && !hooks.is_object() => {
                Some("`hooks` is no object".to_owned())
            }
            _ => fault(&source.events),
        },
    }?;
    Some(Finding::of(
        Level::Problem,
        &source.path,
        format!("Droid runs no hook of this file: {fault}"),
        "correct the file",
    ))
}

fn fault(events: &Map<String, Value>) -> Option<String> {
    let switches = [SWITCH, "showHookOutput"];
    if let Some(name) = switches.iter().find(|name| events.get(**name).is_some_and(|value| !value.is_boolean())) {
        return Some(format!("`{name}` is neither true nor false"));
    }
    HARNESS.events.iter().filter_map(|event| Some((event.name, events.get(event.name)?))).find_map(|(event, groups)| {
        let Some(groups) = groups.as_array() else { return Some(format!("`{event}` is no array")) };
        groups.iter().enumerate().find_map(|(at, group)| Some(format!("{} in `{event}` {at}", group_fault(group)?)))
    })
}

fn group_fault(group: &Value) -> Option<&'static str> {
    let Some(members) = group.as_object() else { return Some("a group that is no object") };
    if ["matcher", "commandRegex"].iter().any(|name| members.get(*name).is_some_and(|value| !value.is_string())) {
        return Some("a `matcher` or `commandRegex` that is no string");
    }
    match members.get("hooks").and_then(Value::as_array) {
        None => Some("a group without a `hooks` array"),
        Some(handlers) => handlers.iter().find_map(handler_fault),
    }
}

fn handler_fault(handler: &Value) -> Option<&'static str> {
    if handler.get("type").and_then(Value::as_str) != Some("command") {
        return Some("a handler whose `type` is not `command`");
    }
    if !handler.get("command").is_some_and(Value::is_string) {
        return Some("a `command` that is no string");
    }
    let timeout = handler.get("timeout").is_some_and(|timeout| !timeout.is_number());
    timeout.then_some("a `timeout` that is no number")
}

/// The switch of all hooks. `hooks.json` decides before `settings.json`, and the person's before the folder's.
fn switched_off(host: &Host, files: &Files) -> Option<Finding> {
    const FIX: &str = "remove the key, or choose \"Hooks: enabled\" in /settings; sessionpipe never changes it";
    let decides = |sources: [&Source; 2]| -> Option<(PathBuf, bool)> {
        sources.iter().find_map(|source| Some((source.path.clone(), source.events.get(SWITCH)?.as_bool()?)))
    };
    match decides([&files.bare, &files.settings]) {
        Some((file, true)) => {
            Some(Finding::of(Level::Problem, &file, format!("{SWITCH} is true: Droid runs no hooks"), FIX))
        }
        Some(_) => None,
        None => {
            let project = Files::read(&host.cwd.join(".factory"));
            let (file, off) = decides([&project.bare, &project.settings])?;
            let text = format!("{SWITCH} is true: in this folder Droid runs no hooks");
            off.then(|| Finding::of(Level::Warning, &file, text, FIX))
        }
    }
}

/// Hooks in `settings.json` of events that `hooks.json` has, too.
fn hidden(host: &Host, files: &Files) -> Vec<Finding> {
    let both = || files.settings.events.iter().filter(|(event, _)| files.bare.events.contains_key(*event));
    let names = |whose: fn(&Value) -> bool| -> Vec<&str> {
        both()
            .filter(|(event, groups)| HARNESS.event(event).is_some() && whose(groups))
            .map(|(event, _)| event.as_str())
            .collect()
    };
    let bare = host.tilde(&files.bare.path);
    let (ours, others) = (names(has_ours), names(has_others));
    let mut findings = Vec::new();
    if !ours.is_empty() {
        let wired = files.settings.events.values().filter(|groups| has_ours(groups)).count();
        let level = if ours.len() == wired && !files.bare.events.values().any(has_ours) {
            Level::Problem
        } else {
            Level::Warning
        };
        let text =
            format!("{bare} holds the same events, so hooks of sessionpipe here are not run: {}", ours.join(", "));
        findings.push(Finding::of(level, &files.settings.path, text, INSTALL));
    }
    if !others.is_empty() {
        let text =
            format!("{bare} holds the same events, so Droid does not run the hooks here for {}", others.join(", "));
        let fix = "move them there, if they should run";
        findings.push(Finding::of(Level::Note, &files.settings.path, text, fix));
    }
    findings
}

/// `{"hooks": {…}}`, as in `settings.json`, loads nothing from `hooks.json`.
fn wrapped(bare: &Source) -> Option<Finding> {
    let inner = bare.events.get("hooks")?.as_object()?;
    let level = if inner.values().any(has_ours) { Level::Problem } else { Level::Warning };
    let text = "it has a key `hooks`, which Droid does not know here: its events stand at the top level of this file"
        .to_owned();
    Some(Finding::of(level, &bare.path, text, "move the events out of `hooks`"))
}

/// Hooks of ours in a file that the version does not read.
fn not_read_yet(host: &Host, files: &Files) -> Option<Finding> {
    let version = version(host).filter(|version| *version <= SETTINGS_ALONE)?;
    files.bare.events.values().any(has_ours).then(|| {
        let text =
            format!("version {version} is reported to read hooks from {SETTINGS_JSON} alone, not from {HOOKS_JSON}");
        Finding::of(Level::Problem, &files.bare.path, text, INSTALL)
    })
}

/// Where no folder is trusted, the screen has run no hook yet.
fn trust(files: &Files) -> Option<Finding> {
    let wired = [&files.bare, &files.settings].iter().any(|source| source.events.values().any(has_ours));
    let trusted = member(&files.settings, "trustedFolders").and_then(Value::as_object);
    (wired && trusted.is_none_or(Map::is_empty)).then(|| {
        let text = "no folder is trusted yet: on its screen Droid runs no hooks until you trust the folder (`droid exec` does)";
        Finding::of(Level::Note, &files.settings.path, text.to_owned(), "start `droid` in the folder and answer its question")
    })
}
