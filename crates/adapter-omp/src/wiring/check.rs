//! What could keep the extension silent, beyond what the installer sees in the file itself, and what could make it speak twice.

use std::path::Path;

use serde_json::Value;
use sessionpipe_core::adapter::{Finding, Level};
use sessionpipe_core::command::owned;
use sessionpipe_core::file;
use sessionpipe_core::host::Host;

use super::EXTENSION;
use crate::dirs::agent_dirs;

/// How `disabledExtensions` names ours.
const EXTENSION_ID: &str = "extension-module:sessionpipe";

pub(crate) fn check(host: &Host) -> Vec<Finding> {
    let mut findings = switched_off(host);
    findings.extend(no_profile(host));
    findings.extend(second_copy(host));
    findings.extend(bridged(host));
    findings
}

/// The person switched the extension off, in the config of a profile or of the project.
pub(super) fn switched_off(host: &Host) -> Vec<Finding> {
    let configs = agent_dirs(host).into_iter().chain([host.cwd.join(".omp")]).map(|dir| dir.join("config.yml"));
    let off = configs.filter(|config| disabled(config));
    off.map(|config| Finding {
        level: Level::Problem,
        file: Some(config),
        text: format!("`disabledExtensions` holds {EXTENSION_ID}: OMP does not load the extension of sessionpipe"),
        fix: Some("switch it on in /extensions, or remove the entry".to_owned()),
    })
    .collect()
}

/// Whether `disabledExtensions` of a config.yml names ours: as YAML's lists are written, in one line or a line each.
fn disabled(config: &Path) -> bool {
    let text = file::read(config).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    let lines = text.lines().skip_while(|line| !line.starts_with("disabledExtensions:"));
    let inside = |line: &&str| line.trim().is_empty() || line.starts_with([' ', '-', '#', ']']);
    let list = lines.enumerate().take_while(|(nth, line)| *nth == 0 || inside(line)).map(|(_, line)| line);
    let words = list.flat_map(|line| {
        let line = line.trim_start();
        let said = if line.starts_with('#') { "" } else { line };
        said.split_once(" #").map_or(said, |(said, _)| said).split(['[', ']', ',', ' ', '"', '\''])
    });
    words.into_iter().any(|word| word == EXTENSION_ID)
}

/// A value that is no name of a profile keeps OMP from starting.
fn no_profile(host: &Host) -> Option<Finding> {
    let (name, value) = ["OMP_PROFILE", "PI_PROFILE"].into_iter().find_map(|name| Some((name, host.var(name)?)))?;
    let value = value.to_string_lossy();
    let named = value.trim();
    let fits = !named.ends_with('.') && named.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    (!fits).then(|| Finding {
        level: Level::Problem,
        file: None,
        text: format!("{name} is {named:?}, which is no name of a profile: OMP does not start"),
        fix: Some("correct the variable".to_owned()),
    })
}

/// A project's own copy, as somebody may have put there by hand. Of two, the one that loads first speaks.
fn second_copy(host: &Host) -> Option<Finding> {
    let copy = host.cwd.join(".omp").join(EXTENSION);
    copy.is_file().then(|| Finding {
        level: Level::Note,
        file: Some(copy),
        text: "this project has a copy of the extension; only one of the two speaks".to_owned(),
        fix: Some("remove the project's copy".to_owned()),
    })
}

/// The community's `omp-hooks` runs the commands that stand in a settings.json of Claude Code's form. With hooks of ours there
/// and the extension, each event is told twice.
fn bridged(host: &Host) -> Vec<Finding> {
    let settings = agent_dirs(host).into_iter().filter(|dir| dir.join(EXTENSION).is_file());
    let settings = settings.map(|dir| dir.join("settings.json")).filter(|settings| has_hooks_of_ours(settings));
    settings
        .map(|settings| Finding {
            level: Level::Warning,
            file: Some(settings),
            text:
                "omp-hooks runs hooks of sessionpipe that stand here, and the extension is there, too: what happens is \
                   told twice"
                    .to_owned(),
            fix: Some("remove these hooks, or the extension: sessionpipe uninstall --harness omp".to_owned()),
        })
        .collect()
}

fn has_hooks_of_ours(settings: &Path) -> bool {
    let document: Option<Value> = file::read(settings).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let members = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let events = document.as_ref().and_then(|d| d.get("hooks")?.as_object()).into_iter().flatten();
    let groups = events.flat_map(|(_, groups)| members(groups));
    let mut handlers = groups.flat_map(|group| group.get("hooks").map(members).unwrap_or_default());
    handlers
        .any(|handler| handler.get("command").and_then(Value::as_str).is_some_and(|command| owned(command).is_some()))
}
