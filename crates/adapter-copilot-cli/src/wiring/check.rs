//! What could keep Copilot CLI's hooks silent, or make them speak twice.

use std::fs;
use std::path::{Path, PathBuf};

use jsonc_parser::parse_to_serde_value;
use semver::Version;
use serde_json::Value;
use sessionpipe_core::adapter::{Finding, Level};
use sessionpipe_core::command;
use sessionpipe_core::file;
use sessionpipe_core::host::Host;
use sessionpipe_core::jsonc;

use super::{VERSION, copilot_home, hooks_file};
use crate::HARNESS;
use crate::facts::found;

const INSTALL: &str = "sessionpipe install --harness copilot-cli";

/// The first version that runs hooks of the home, by its changelog.
const FIRST: Version = Version::new(0, 0, 422);

const ALL_OFF: &str = "disableAllHooks";
const MANAGED_ONLY: &str = "allowManagedHooksOnly";

/// Folders in folders: deeper than anybody nests hook files; a loop of links ends here.
const MAX_DEPTH: usize = 8;

pub(crate) fn check(host: &Host) -> Vec<Finding> {
    let home = copilot_home(host);
    let ours = hooks_file(&home);
    let first = [all_off(host), too_old(host), fault(&ours), folder_off(host), home_off(&home)];
    first.into_iter().flatten().chain(elsewhere(host, &home, &ours)).collect()
}

/// The administrator's settings run no hooks but their own.
pub(super) fn all_off(host: &Host) -> Option<Finding> {
    let file = host.etc.join("github-copilot/managed-settings.json");
    (settings(&file).get(MANAGED_ONLY) == Some(&Value::Bool(true))).then(|| {
        let text = format!("{MANAGED_ONLY} = true: Copilot CLI runs no hooks but those of the administrator");
        Finding::of(Level::Problem, &file, text, "ask the administrator")
    })
}

fn too_old(host: &Host) -> Option<Finding> {
    let version = found(host)?.version.filter(|version| Version::parse(version).is_ok_and(|known| known < FIRST))?;
    let text = format!("Copilot CLI {version} is in use; before {FIRST} it runs no hooks of the home");
    Some(Finding { level: Level::Problem, file: None, text, fix: Some("copilot update".to_owned()) })
}

/// Why Copilot CLI runs no hook of our file. (What the file lacks the installer sees.)
fn fault(file: &Path) -> Option<Finding> {
    if !file.exists() {
        return None;
    }
    let problem = |text: String, fix| Some(Finding::of(Level::Problem, file, text, fix));
    let silent = |why: String| problem(format!("Copilot CLI runs no hook of this file: {why}"), INSTALL);
    let bytes = match file::read(file) {
        Ok(bytes) => bytes,
        Err(error) => return silent(format!("it cannot be read: {error}")),
    };
    let document: Value = match serde_json::from_slice(&bytes) {
        Ok(document) => document,
        Err(error) => return silent(format!("it is not JSON: {error}")),
    };
    match document.get("version") {
        Some(version) if *version != VERSION => return silent(format!("its version is {version}, not {VERSION}")),
        _ => {}
    }
    if !document.get("hooks").is_some_and(Value::is_object) {
        return silent("`hooks` is no object".to_owned());
    }
    if document.get(ALL_OFF) == Some(&Value::Bool(true)) {
        return problem(
            format!("{ALL_OFF} = true: Copilot CLI runs no hook of this file"),
            "remove the key where you want events again",
        );
    }
    None
}

/// The folder's own settings switch off the person's hooks, too, once the folder is trusted.
fn folder_off(host: &Host) -> Option<Finding> {
    let folder = host.cwd.join(".github/copilot");
    let files = ["settings.json", "settings.local.json"].map(|name| folder.join(name));
    let file = files.iter().find(|file| settings(file).get(ALL_OFF) == Some(&Value::Bool(true)))?;
    let text = format!("{ALL_OFF} = true: in this folder Copilot CLI runs no hooks, once the folder is trusted");
    Some(Finding::of(Level::Warning, file, text, "set it to false, or remove it"))
}

fn home_off(home: &Path) -> Option<Finding> {
    let file = home.join("settings.json");
    (settings(&file).get(ALL_OFF) == Some(&Value::Bool(true))).then(|| {
        let text =
            format!("{ALL_OFF} = true is documented to switch off all hooks (1.0.102 was seen to run them anyway)");
        Finding::of(Level::Warning, &file, text, "set it to false, or remove it")
    })
}

/// Hooks of ours in other files: those that are read make each event come twice, the others nothing.
fn elsewhere(host: &Host, home: &Path, ours: &Path) -> Vec<Finding> {
    let mut read = Vec::new();
    hook_files(&home.join("hooks"), MAX_DEPTH, &mut read);
    read.retain(|file| file != ours);
    read.push(home.join("settings.json"));
    hook_files(&host.cwd.join(".github/hooks"), 1, &mut read);
    for settings in [".github/copilot/settings", ".claude/settings"] {
        read.extend(["json", "local.json"].map(|end| host.cwd.join(format!("{settings}.{end}"))));
    }
    let never = ["config.json", "hooks.json", "settings.local.json"].map(|name| home.join(name));
    let holds = |file: &PathBuf| {
        // Our own file is a settings file, where somebody works in their home.
        *file != ours && command::is_in(&settings(file), HARNESS.name)
    };
    let twice = |file: &PathBuf| {
        let text = if ours.exists() {
            format!("it holds hooks of sessionpipe, as {} does: Copilot CLI runs each of them twice", host.tilde(ours))
        } else {
            format!("it holds hooks of sessionpipe; they belong into {}", host.tilde(ours))
        };
        Finding::of(
            Level::Warning,
            file,
            text,
            "remove them from this file, then: sessionpipe install --harness copilot-cli",
        )
    };
    let silent = |file: &PathBuf| {
        let text = "it holds hooks of sessionpipe, and Copilot CLI runs no hooks of this file".to_owned();
        Finding::of(
            Level::Warning,
            file,
            text,
            "remove them from this file, then: sessionpipe install --harness copilot-cli",
        )
    };
    let twice = read.iter().filter(|file| holds(file)).map(twice);
    twice.chain(never.iter().filter(|file| holds(file)).map(silent)).collect()
}

/// The hook files of a folder and those below it, as the program finds them: no dot files.
fn hook_files(folder: &Path, depth: usize, into: &mut Vec<PathBuf>) {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    paths.sort();
    for path in paths {
        let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if path.is_dir() && depth > 1 {
            hook_files(&path, depth - 1, into);
        } else if !is_hidden && path.extension().is_some_and(|extension| extension == "json") {
            into.push(path);
        }
    }
}

/// A settings file's value, read as the program does: with comments and trailing commas. Null where that fails.
fn settings(file: &Path) -> Value {
    let text = file::read(file).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    parse_to_serde_value(&text, &jsonc::LENIENT).unwrap_or_default()
}
