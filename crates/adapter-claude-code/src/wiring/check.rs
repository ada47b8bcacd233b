//! What could keep the hooks silent, beyond what the installer sees: switches, policies, a file that Claude Code ignores.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use sessionpipe_core::adapter::{Finding, Level};
use sessionpipe_core::command;
use sessionpipe_core::file::{self, entries};
use sessionpipe_core::host::Host;

use super::{BOM, DIR_VAR, Settings, read, settings, too_old, triple};
use crate::harness::{self, HARNESS};

pub(crate) fn check(host: &Host) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(check_dir_var(host));
    findings.extend(check_policy(host));
    let settings = settings(host);
    for settings in &settings {
        findings.extend(check_settings(settings));
    }
    for name in ["settings.json", "settings.local.json"] {
        let file = host.cwd.join(".claude").join(name);
        // In the home itself the project's settings are the person's.
        if !settings.iter().any(|s| s.file == file) {
            findings.extend(check_switch(&file, Level::Warning, "in this folder"));
        }
    }
    findings.extend(check_borrowers(host));
    findings
}

fn problem(file: &Path, text: String, fix: &str) -> Finding {
    Finding { level: Level::Problem, file: Some(file.to_owned()), text, fix: Some(fix.to_owned()) }
}

/// A `CLAUDE_CONFIG_DIR` that does not lead where it seems to.
fn check_dir_var(host: &Host) -> Option<Finding> {
    let value = host.var(DIR_VAR)?;
    if Path::new(value).is_absolute() {
        return None;
    }
    let text = if value.is_empty() {
        format!("{DIR_VAR} is set but empty: Claude Code takes that literally and does not read ~/.claude")
    } else {
        format!(
            "{DIR_VAR} is {:?}: Claude Code takes that literally, expands no ~, and looks in the folder where it is started",
            value.to_string_lossy()
        )
    };
    let fix = Some(format!("set {DIR_VAR} to an absolute path, or unset it"));
    Some(Finding { level: Level::Warning, file: None, text, fix })
}

/// Switches in the managed settings of the machine, which nobody but its administrator can change.
fn check_policy(host: &Host) -> Vec<Finding> {
    let files = managed_files(host);
    let ours_is_managed = files.iter().filter_map(|file| read(file)?.ok()).any(|settings| holds_ours(&settings));
    let mut findings = Vec::new();
    for file in files {
        findings.extend(check_switch(&file, Level::Problem, "by policy"));
        if !ours_is_managed && is_true(&file, "allowManagedHooksOnly") {
            findings.push(problem(
                &file,
                "allowManagedHooksOnly is true: by policy only hooks in managed settings run".to_owned(),
                "ask your administrator to add the hooks there (sessionpipe install --print), or to remove the key",
            ));
        }
    }
    findings
}

/// `managed-settings.json` and `managed-settings.d/*.json`: under /etc, on macOS under /Library.
fn managed_files(host: &Host) -> Vec<PathBuf> {
    let library = host.etc.with_file_name("Library").join("Application Support/ClaudeCode");
    let mut files = Vec::new();
    for dir in [host.etc.join("claude-code"), library] {
        files.push(dir.join("managed-settings.json"));
        let mut parts: Vec<_> = entries(&dir.join("managed-settings.d"))
            .filter(|path| path.extension().is_some_and(|e| e == "json"))
            .collect();
        parts.sort();
        files.append(&mut parts);
    }
    files
}

/// Whether one of the commands in a settings file is ours.
pub(super) fn holds_ours(settings: &Map<String, Value>) -> bool {
    let groups = settings.get("hooks").and_then(Value::as_object).into_iter().flat_map(Map::values);
    groups
        .filter_map(Value::as_array)
        .flatten()
        .filter_map(|group| group.get("hooks")?.as_array())
        .flatten()
        .filter_map(|handler| handler.get("command")?.as_str())
        .any(|command| command::owned(command).is_some_and(|owned| owned.harness == HARNESS.name))
}

/// Whether a settings file has a key with the JSON boolean `true`: anything else does not count.
fn is_true(file: &Path, key: &str) -> bool {
    matches!(read(file), Some(Ok(settings)) if settings.get(key) == Some(&Value::Bool(true)))
}

fn check_switch(file: &Path, level: Level, whose: &str) -> Option<Finding> {
    let fix = Some("remove the key if you want hooks to run; sessionpipe never changes it".to_owned());
    let text = format!("disableAllHooks is true: {whose} no hook runs");
    is_true(file, "disableAllHooks").then(|| Finding { level, file: Some(file.to_owned()), text, fix })
}

/// What keeps the hooks of one config dir silent.
fn check_settings(Settings { file: path, version }: &Settings) -> Vec<Finding> {
    let settings = match read(path) {
        None => return Vec::new(),
        Some(Ok(settings)) => settings,
        Some(Err(error)) => {
            let text = format!("Claude Code ignores this file, all hooks in it included: {error}");
            return vec![problem(path, text, "correct the file")];
        }
    };
    let mut findings: Vec<_> = check_switch(path, Level::Problem, "for this config dir").into_iter().collect();
    findings.extend(rejected(&settings).into_iter().map(|at| {
        let text = format!("this file has an entry Claude Code rejects at {at}; all hooks in it are ignored");
        problem(path, text, "correct the entry")
    }));
    if let Some(version) = version.as_ref().filter(|v| triple(v) < harness::SKIPS_FROM) {
        if triple(version) < harness::OLDEST {
            findings.push(problem(path, too_old(version), "update Claude Code, then: sessionpipe install"));
        } else {
            let events = settings.get("hooks").and_then(Value::as_object).into_iter().flat_map(Map::keys);
            findings.extend(events.filter(|event| !harness::knows(triple(version), event)).map(|event| {
                let text = format!("version {version} does not know hooks.{event}, and then ignores the whole file");
                problem(path, text, "update Claude Code; if the entry is ours: sessionpipe install")
            }));
        }
        if triple(version) < BOM_FROM && file::read(path).is_ok_and(|bytes| bytes.starts_with(BOM)) {
            let text = format!("the file begins with a byte order mark, and version {version} then ignores it");
            findings.push(problem(path, text, "update Claude Code, or save the file without the mark"));
        }
    }
    findings
}

/// A byte order mark is accepted from this version on, as far as seen; 2.0.60 ignores the file.
const BOM_FROM: (u64, u64, u64) = (2, 1, 100);

/// Keys whose values must have a type, else the whole file is ignored.
const TYPED: [(&str, IsRight); 4] = [
    ("hooks", Value::is_object),
    ("model", Value::is_string),
    ("env", Value::is_object),
    ("permissions", Value::is_object),
];

type IsRight = fn(&Value) -> bool;

/// The types of a handler that Claude Code has.
const HANDLER_TYPES: [&str; 5] = ["command", "prompt", "agent", "http", "mcp_tool"];

/// The JSON paths of all that makes Claude Code ignore the whole file.
pub(super) fn rejected(settings: &Map<String, Value>) -> Vec<String> {
    let mut at: Vec<String> = TYPED
        .iter()
        .filter(|(key, is_right)| settings.get(*key).is_some_and(|value| !is_right(value)))
        .map(|(key, _)| (*key).to_owned())
        .collect();
    for (event, groups) in settings.get("hooks").and_then(Value::as_object).into_iter().flatten() {
        let Some(groups) = groups.as_array() else {
            at.push(format!("hooks.{event}"));
            continue;
        };
        for (n, group) in groups.iter().enumerate() {
            let here = format!("hooks.{event}[{n}]");
            if group.get("matcher").is_some_and(|matcher| !matcher.is_string()) {
                at.push(format!("{here}.matcher"));
            }
            match group.get("hooks").and_then(Value::as_array) {
                None => at.push(format!("{here}.hooks")),
                Some(handlers) => at.extend(
                    handlers
                        .iter()
                        .enumerate()
                        .filter_map(|(n, handler)| Some(format!("{here}.hooks[{n}].{}", rejected_member(handler)?))),
                ),
            }
        }
    }
    at
}

/// The member for which Claude Code rejects a handler.
fn rejected_member(handler: &Value) -> Option<&'static str> {
    let kind = handler.get("type").and_then(Value::as_str).filter(|kind| HANDLER_TYPES.contains(kind));
    match kind {
        None => Some("type"),
        Some("command") if !handler.get("command").is_some_and(Value::is_string) => Some("command"),
        _ if handler.get("timeout").is_some_and(|t| !t.as_f64().is_some_and(|t| t > 0.0)) => Some("timeout"),
        _ => None,
    }
}

/// Programs that run the hooks of Claude Code's settings, and the folder in the home that tells that one is here.
const BORROWER_DIRS: [(&str, &str); 4] =
    [("Cursor", ".cursor"), ("Grok Build", ".grok"), ("Devin", ".config/devin"), ("VS Code", ".vscode")];

fn check_borrowers(host: &Host) -> Vec<Finding> {
    BORROWER_DIRS
        .iter()
        .filter(|(_, dir)| host.home.join(dir).is_dir())
        .map(|(product, _)| Finding {
            level: Level::Note,
            file: None,
            text: format!(
                "{product} runs the hooks of Claude Code's settings too: its calls are reported under its own name"
            ),
            fix: None,
        })
        .collect()
}
