//! What could keep the hooks silent: a file that Gemini CLI does not start with, switches, and folders without trust.

use std::path::Path;

use serde_json::Value;
use sessionpipe_core::adapter::{Finding, Level};
use sessionpipe_core::command::owned;
use sessionpipe_core::host::Host;

use super::{NAME, trust};
use crate::HARNESS;
use crate::facts;
use crate::settings::{HOME_VAR, Layer, Scope, layers};

/// Before this version hooks were off by default, and other keys switched them.
const ON_BY_DEFAULT: semver::Version = semver::Version::new(0, 26, 0);

/// So many folders are named.
const MAX_NAMED: usize = 5;

const LEFT: &str = "remove the entry if you want the hooks to run; sessionpipe never changes it";

pub(crate) fn check(host: &Host) -> Vec<Finding> {
    if facts::found(host).is_none() {
        return Vec::new();
    }
    let layers = layers(host);
    let mut findings: Vec<Finding> = home_var(host).into_iter().collect();
    findings.extend(layers.iter().filter_map(unreadable));
    findings.extend(all_off(&layers));
    findings.extend(off_here(&layers));
    findings.extend(layers.iter().flat_map(disabled));
    findings.extend(old_version(host));
    findings.extend(untrusted(host, &layers));
    findings
}

/// A folder's settings concern that folder alone.
fn level_of(layer: &Layer) -> Level {
    if layer.scope == Scope::Workspace { Level::Warning } else { Level::Problem }
}

/// A `GEMINI_CLI_HOME` that does not lead where it seems to.
fn home_var(host: &Host) -> Option<Finding> {
    let value = host.var(HOME_VAR).filter(|value| !value.is_empty() && !Path::new(value).is_absolute())?;
    let text = format!(
        "{HOME_VAR} is {:?}: Gemini CLI takes that literally, expands no ~, and looks in the folder where it is started",
        value.to_string_lossy()
    );
    let fix = format!("set {HOME_VAR} to an absolute path, or unset it");
    Some(Finding { level: Level::Warning, file: None, text, fix: Some(fix) })
}

fn unreadable(layer: &Layer) -> Option<Finding> {
    let error = layer.value.as_ref().err()?;
    let where_ = if layer.scope == Scope::Workspace { " in this folder" } else { "" };
    let text = format!("Gemini CLI does not start{where_} before this file is mended: {error}");
    Some(Finding::of(level_of(layer), &layer.file, text, "correct the file"))
}

/// The switch of all hooks, as it is in every folder that does not set it.
pub(super) fn all_off(layers: &[Layer]) -> Option<Finding> {
    let layer = layers.iter().filter(|layer| layer.scope != Scope::Workspace).rfind(|layer| switch(layer).is_some())?;
    (switch(layer) == Some(false)).then(|| {
        let text = "hooksConfig.enabled is false: Gemini CLI runs no hooks".to_owned();
        Finding::of(Level::Problem, &layer.file, text, "set hooksConfig.enabled to true, or remove it")
    })
}

fn off_here(layers: &[Layer]) -> Option<Finding> {
    let layer = layers.iter().rfind(|layer| switch(layer).is_some())?;
    (layer.scope == Scope::Workspace && switch(layer) == Some(false)).then(|| {
        let text = "hooksConfig.enabled is false: in this folder Gemini CLI runs no hooks".to_owned();
        Finding::of(Level::Warning, &layer.file, text, "set hooksConfig.enabled to true, or remove it")
    })
}

fn switch(layer: &Layer) -> Option<bool> {
    layer.at("/hooksConfig/enabled").and_then(Value::as_bool)
}

/// Our hooks in a list of hooks that do not run. The lists of all files count together.
fn disabled(layer: &Layer) -> Vec<Finding> {
    let names_us = |list: &Value| {
        let mut names = list.as_array().into_iter().flatten().filter_map(Value::as_str);
        names.any(|name| name == NAME || owned(name).is_some_and(|ours| ours.harness == HARNESS.name))
    };
    let lists = [
        ("hooksConfig.disabled", "/hooksConfig/disabled", level_of(layer), "Gemini CLI does not run them"),
        // Read by 0.20 to 0.25.
        ("hooks.disabled", "/hooks/disabled", Level::Note, "versions before 0.26.0 do not run them"),
    ];
    lists
        .into_iter()
        .filter(|(_, pointer, ..)| layer.at(pointer).is_some_and(names_us))
        .map(|(key, _, level, what)| {
            let here = if layer.scope == Scope::Workspace { "in this folder " } else { "" };
            let text = format!("{key} names the hooks of sessionpipe: {here}{what}");
            Finding::of(level, &layer.file, text, LEFT)
        })
        .collect()
}

fn old_version(host: &Host) -> Option<Finding> {
    let version = facts::version(host).filter(|version| *version < ON_BY_DEFAULT)?;
    let text = format!(
        "version {version} runs hooks only where tools.enableHooks is true; from {ON_BY_DEFAULT} on they run by default"
    );
    Some(Finding { level: Level::Warning, file: None, text, fix: Some("update Gemini CLI".to_owned()) })
}

/// Folders that Gemini CLI worked in, and in which it runs no hook of the settings.
fn untrusted(host: &Host, layers: &[Layer]) -> Option<Finding> {
    match trust::by_environment(host) {
        Some(true) => return None,
        Some(false) => {
            let text =
                "GEMINI_RESTRICTED_MODE or GEMINI_CLI_TRUST_WORKSPACE says that no folder is trusted: Gemini CLI \
                        runs no hooks of settings.json"
                    .to_owned();
            let fix = Some("unset the variable".to_owned());
            return Some(Finding { level: Level::Problem, file: None, text, fix });
        }
        None if !trust::is_asked_for(layers) => return None,
        None => {}
    }
    let file = trust::file(host);
    let trusted = match trust::Trusted::read(host) {
        Ok(trusted) => trusted,
        Err(error) => {
            let text = format!("Gemini CLI does not start before this file is mended: {error}");
            return Some(Finding::of(Level::Problem, &file, text, "correct the file"));
        }
    };
    let projects = trust::projects(host);
    let silent: Vec<_> = projects.iter().filter(|folder| trusted.is_trusted(folder) != Some(true)).collect();
    if silent.is_empty() {
        return None;
    }
    let mut names: Vec<String> = silent.iter().take(MAX_NAMED).map(|folder| host.tilde(folder)).collect();
    if silent.len() > MAX_NAMED {
        names.push("…".to_owned());
    }
    let level = if silent.len() == projects.len() { Level::Problem } else { Level::Warning };
    let text = format!(
        "{} of {} folders that Gemini CLI worked in are not trusted: there it runs no hooks of settings.json: {}",
        silent.len(),
        projects.len(),
        names.join(", ")
    );
    Some(Finding::of(level, &file, text, "start `gemini` there and trust the folder (/permissions)"))
}
