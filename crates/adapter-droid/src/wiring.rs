//! Which hooks stand in which of Droid's files.
//!
//! | file, below `~/.factory` | holds | read |
//! |---|---|---|
//! | `hooks.json` | the map of events itself | always, since some version after 0.186.0 |
//! | `hooks/hooks.json` | the same | where there is no `hooks.json`; Droid moves it there when it saves hooks itself |
//! | `settings.json` | the map under `hooks` | each event that has no key in the file above |
//!
//! So one event in `hooks.json` takes away all hooks of that event in `settings.json`, an empty list included. Each event of
//! ours goes where the person's hooks of that event count; where there are none into `settings.json`, which every version
//! reads, but for a person who has only `hooks.json`. `hooks.json` is never made.

pub(crate) mod check;

use std::path::{Path, PathBuf};

use jsonc_parser::parse_to_serde_value;
use semver::Version;
use serde_json::{Map, Value, json};
use sessionpipe_core::command::{self, guarded_hook_command, hook_command};
use sessionpipe_core::file;
use sessionpipe_core::harness::{Means, NativeEvent};
use sessionpipe_core::host::Host;
use sessionpipe_core::jsonc;
use sessionpipe_core::wiring::{HookEntry, When, Wiring};

use crate::HARNESS;
use crate::facts::{is_here, version};

/// Seconds that a hook of ours may take; it needs milliseconds. Droid waits for it.
const TIMEOUT_S: u64 = 5;

/// Takes the place of the home, for `~/.factory` alone.
const HOME_VAR: &str = "FACTORY_HOME_OVERRIDE";

const HOOKS_JSON: &str = "hooks.json";
const SETTINGS_JSON: &str = "settings.json";

/// The last version that is reported to read hooks from `settings.json` alone.
const SETTINGS_ALONE: Version = Version::new(0, 186, 0);

/// `$FACTORY_HOME_OVERRIDE/.factory`, else `~/.factory`. An empty variable counts as unset.
pub(crate) fn factory_home(host: &Host) -> PathBuf {
    host.path_var(HOME_VAR).unwrap_or_else(|| host.home.clone()).join(".factory")
}

pub(crate) fn wiring(host: &Host) -> Vec<Wiring> {
    if !is_here(host) {
        return Vec::new();
    }
    let files = Files::read(&factory_home(host));
    let version = version(host);
    let (bare, settings): (Vec<_>, Vec<_>) =
        HARNESS.wired(version.as_ref()).partition(|event| files.takes(version.as_ref(), event.name));
    let hooks = |file: &Path, at, events: Vec<&'static NativeEvent>| Wiring::HookEntries {
        file: file.to_owned(),
        at,
        needs: &[],
        entries: events.into_iter().map(|event| entry(host, event)).collect(),
        jsonc: true,
    };
    // Where there is no file, there is nothing of ours that would have to go.
    let wanted = |source: &Source, events: &[&NativeEvent]| source.exists || !events.is_empty();
    let mut wirings = Vec::new();
    if wanted(&files.settings, &settings) {
        wirings.push(hooks(&files.settings.path, &["hooks"], settings));
    }
    if wanted(&files.bare, &bare) {
        wirings.push(hooks(&files.bare.path, &[], bare));
    }
    if files.unread.exists {
        wirings.push(hooks(&files.unread.path, &[], Vec::new()));
    }
    wirings.push(Wiring::Notice { when: When::Changed, text: TRUST.to_owned() });
    wirings
}

const TRUST: &str = "on its screen Droid runs no hooks in a folder until you trust it: answer its question when it starts \
                     there. `droid exec` needs no trust.";

/// The group of one event. Without a matcher it is for all tools.
fn entry(host: &Host, event: &'static NativeEvent) -> HookEntry {
    // What a PreToolUse hook that fails says on stderr is put in front of what the model gets from the tool.
    let command = if event.means == Means::ToolStart { guarded_hook_command } else { hook_command };
    let command = command(&host.program, HARNESS.name, event.name);
    HookEntry {
        event: event.name,
        value: json!({"hooks": [{"type": "command", "command": command, "timeout": TIMEOUT_S}]}),
    }
}

/// The files that hold hooks.
struct Files {
    /// `hooks.json`, or its older place where that is the one that is read.
    bare: Source,
    /// The older place where `hooks.json` hides it.
    unread: Source,
    settings: Source,
}

/// One file that may hold hooks.
struct Source {
    path: PathBuf,
    exists: bool,
    /// What it holds, or why Droid ignores it.
    document: Result<Map<String, Value>, String>,
    /// The map of events; empty where Droid ignores the file.
    events: Map<String, Value>,
}

impl Files {
    fn read(home: &Path) -> Self {
        let root = Source::read(home.join(HOOKS_JSON), None);
        let older = Source::read(home.join("hooks").join(HOOKS_JSON), None);
        let (bare, unread) = if root.exists || !older.exists { (root, older) } else { (older, root) };
        Self { bare, unread, settings: Source::read(home.join(SETTINGS_JSON), Some("hooks")) }
    }

    /// Whether ours of an event goes into the bare file.
    fn takes(&self, version: Option<&Version>, event: &str) -> bool {
        if version.is_some_and(|version| *version <= SETTINGS_ALONE) {
            return false;
        }
        let in_settings = self.settings.events.get(event);
        match self.bare.events.get(event) {
            // Ours alone, beside the person's in the other file: it hides them.
            Some(groups) if is_ours_alone(groups) => !in_settings.is_some_and(has_others),
            Some(_) => true,
            None => in_settings.is_none() && self.bare.exists && !self.settings.exists,
        }
    }
}

impl Source {
    fn read(path: PathBuf, key: Option<&str>) -> Self {
        let Ok(bytes) = file::read(&path) else {
            let exists = path.symlink_metadata().is_ok();
            return Self { path, exists, document: Ok(Map::new()), events: Map::new() };
        };
        let document = parse(&bytes);
        let events = match (&document, key) {
            (Ok(document), None) => document.clone(),
            (Ok(document), Some(key)) => document.get(key).and_then(Value::as_object).cloned().unwrap_or_default(),
            (Err(_), _) => Map::new(),
        };
        Self { path, exists: true, document, events }
    }
}

/// As Droid parses: comments are fine, trailing commas are not. A blank file holds nothing.
fn parse(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match parse_to_serde_value::<Option<Value>>(text, &jsonc::COMMENTS) {
        Ok(Some(Value::Object(document))) => Ok(document),
        Ok(None) => Ok(Map::new()),
        Ok(Some(_)) => Err("it is no JSON object".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// The commands in the groups of an event.
fn commands(groups: &Value) -> impl Iterator<Item = &str> {
    let groups = groups.as_array().into_iter().flatten();
    let handlers = groups.filter_map(|group| group.get("hooks")?.as_array()).flatten();
    handlers.filter_map(|handler| handler.get("command")?.as_str())
}

fn is_ours(command: &str) -> bool {
    command::owned(command).is_some_and(|owned| owned.harness == HARNESS.name)
}

fn has_ours(groups: &Value) -> bool {
    commands(groups).any(is_ours)
}

fn has_others(groups: &Value) -> bool {
    commands(groups).any(|command| !is_ours(command))
}

fn is_ours_alone(groups: &Value) -> bool {
    has_ours(groups) && !has_others(groups)
}

#[cfg(test)]
mod tests;
