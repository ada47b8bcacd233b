//! Which config dirs there are, and which hooks stand in their `settings.json`.

use std::fs;
use std::path::{Path, PathBuf};

use semver::Version;
use serde_json::{Map, Value, json};
use sessionpipe_core::command;
use sessionpipe_core::file::{self, entries};
use sessionpipe_core::harness::{Means, NativeEvent};
use sessionpipe_core::host::Host;
use sessionpipe_core::wiring::{HookEntry, When, Wiring};

use crate::facts;
use crate::harness::{self, HARNESS};

pub(crate) mod check;

/// The variable that moves the config dir.
const DIR_VAR: &str = "CLAUDE_CONFIG_DIR";

/// Seconds until Claude Code kills a hook of ours. SessionEnd needs one most: without, all its hooks have 1.5 s together.
const TIMEOUT: u32 = 5;

/// Running sessions take up changed hooks from this version on.
const LIVE_FROM: (u64, u64, u64) = (2, 1, 280);

/// Keys that prove a settings.json to be Claude Code's.
const SETTINGS_KEYS: [&str; 12] = [
    "$schema",
    "apiKeyHelper",
    "cleanupPeriodDays",
    "disableAllHooks",
    "enabledPlugins",
    "env",
    "hooks",
    "includeCoAuthoredBy",
    "model",
    "outputStyle",
    "permissions",
    "statusLine",
];

/// The config dirs, and what only looks like one.
#[derive(Debug, Default)]
pub(crate) struct ConfigDirs {
    /// `~/.claude` first.
    pub dirs: Vec<PathBuf>,
    /// Folders of other programs.
    pub left_alone: Vec<PathBuf>,
}

/// Finds the config dirs: `~/.claude`, the one that the environment names, and each `~/.claude-*` that really is one.
pub(crate) fn config_dirs(host: &Host) -> ConfigDirs {
    let home = host.home.join(".claude");
    let named = named_dir(host);
    let mut found = ConfigDirs::default();
    // Where the variable names another dir, Claude Code has no use for one in the home.
    if named.is_none() || home.is_dir() {
        found.dirs.push(home);
    }
    found.dirs.extend(named.filter(|dir| !found.dirs.contains(dir)));
    let mut others: Vec<_> = entries(&host.home)
        .filter(|path| path.file_name().and_then(|n| n.to_str()).is_some_and(|n| n.starts_with(".claude-")))
        .filter(|path| path.is_dir() && !found.dirs.contains(path))
        .collect();
    others.sort();
    let (dirs, left_alone) = others.into_iter().partition(|dir| is_config_dir(dir));
    found.dirs.extend::<Vec<_>>(dirs);
    found.left_alone = left_alone;
    found
}

/// What `CLAUDE_CONFIG_DIR` names, literally: Claude Code expands no tilde. A relative value means another folder wherever
/// Claude Code is started; it counts where there is one, and is never made.
fn named_dir(host: &Host) -> Option<PathBuf> {
    let value = host.var(DIR_VAR).filter(|value| !value.is_empty())?;
    let dir = host.cwd.join(value);
    (Path::new(value).is_absolute() || dir.is_dir()).then_some(dir)
}

/// Whether a `~/.claude-*` is Claude Code's: other programs use the prefix too, and keep a settings.json of their own.
fn is_config_dir(dir: &Path) -> bool {
    entries(&dir.join("projects")).any(|project| project.is_dir())
        || dir.join(".claude.json").is_file()
        || matches!(
            read(&dir.join("settings.json")),
            Some(Ok(settings)) if SETTINGS_KEYS.iter().any(|key| settings.contains_key(*key))
        )
}

/// One settings.json, and the lowest version that reads it.
struct Settings {
    file: PathBuf,
    version: Option<Version>,
}

/// The settings of all config dirs. Where several dirs share one real file, it is there once.
fn settings(host: &Host) -> Vec<Settings> {
    let installed = facts::installed(host);
    let mut known: Vec<(FileId, Settings)> = Vec::new();
    for dir in config_dirs(host).dirs {
        let version = facts::lowest_version(host, &dir, &installed);
        let file = dir.join("settings.json");
        let id = file_id(&file);
        match known.iter_mut().find(|(other, _)| *other == id) {
            Some((_, shared)) => shared.version = shared.version.take().into_iter().chain(version).min(),
            None => known.push((id, Settings { file, version })),
        }
    }
    known.into_iter().map(|(_, settings)| settings).collect()
}

/// What tells whether two paths lead to one file.
#[derive(PartialEq, Eq)]
enum FileId {
    #[cfg(unix)]
    Inode(u64, u64),
    Path(PathBuf),
}

fn file_id(file: &Path) -> FileId {
    #[cfg(unix)]
    if let Ok(metadata) = fs::metadata(file) {
        use std::os::unix::fs::MetadataExt;
        return FileId::Inode(metadata.dev(), metadata.ino());
    }
    let dir = file.parent().and_then(|dir| fs::canonicalize(dir).ok());
    let path = fs::canonicalize(file).ok().or_else(|| Some(dir?.join(file.file_name()?)));
    FileId::Path(path.unwrap_or_else(|| file.to_owned()))
}

pub(crate) fn wiring(host: &Host) -> Vec<Wiring> {
    let settings = settings(host);
    let notices = notices(&settings);
    let entries = settings.into_iter().map(|Settings { file, version }| Wiring::HookEntries {
        file,
        at: &["hooks"],
        needs: &[],
        entries: hook_entries(host, version.as_ref()),
        jsonc: false,
    });
    entries.chain(notices).collect()
}

fn hook_entries(host: &Host, version: Option<&Version>) -> Vec<HookEntry> {
    // One name that it does not know, and Claude Code ignores the whole file: it is not worth that.
    if version.is_some_and(|v| triple(v) < harness::OLDEST) {
        return Vec::new();
    }
    HARNESS.wired(version).map(|event| HookEntry { event: event.name, value: group(host, event) }).collect()
}

/// The group of one event. A matcher belongs to tool and permission events only; an empty one matches all.
fn group(host: &Host, event: &NativeEvent) -> Value {
    let command = command::hook_command(&host.program, HARNESS.name, event.name);
    let hooks = json!([{"type": "command", "command": command, "timeout": TIMEOUT}]);
    match event.means {
        Means::ToolStart | Means::ToolEnd | Means::ToolFailure | Means::PermissionRequest => {
            json!({"matcher": "", "hooks": hooks})
        }
        _ => json!({"hooks": hooks}),
    }
}

fn notices(settings: &[Settings]) -> Vec<Wiring> {
    let lowest = settings.iter().filter_map(|s| s.version.as_ref()).min();
    let notice = |when, text| Wiring::Notice { when, text };
    let mut notices = Vec::new();
    match lowest {
        None => notices.push(notice(
            When::Changed,
            "its version is not known, so only events that every supported version has are wired. Run install again after its first session.".to_owned(),
        )),
        Some(version) if triple(version) < harness::OLDEST => notices.push(notice(When::Always, too_old(version))),
        Some(version) if triple(version) < harness::SKIPS_FROM => notices.push(notice(
            When::Changed,
            format!(
                "version {version} was used in the last 30 days, so only events that it knows are wired. Run install again when it is gone."
            ),
        )),
        Some(_) => {}
    }
    if lowest.is_none_or(|version| triple(version) < LIVE_FROM) {
        let (major, minor, patch) = LIVE_FROM;
        notices.push(notice(
            When::Changed,
            format!("restart running sessions: they take up changed hooks only from {major}.{minor}.{patch} on."),
        ));
    }
    notices
}

/// What is said of a version that no hook is registered for.
fn too_old(version: &Version) -> String {
    let (major, minor, patch) = harness::OLDEST;
    format!(
        "version {version} is too old: it ignores its whole settings.json for one event name that it does not know. Update to {major}.{minor}.{patch} or later."
    )
}

fn triple(version: &Version) -> (u64, u64, u64) {
    (version.major, version.minor, version.patch)
}

/// Reads a settings file; `None` where there is none, or it is blank.
///
/// # Errors
/// What Claude Code, whose JSON is strict, does not accept in it.
fn read(path: &Path) -> Option<Result<Map<String, Value>, String>> {
    let bytes = file::read(path).ok()?;
    let bytes = bytes.strip_prefix(BOM).unwrap_or(&bytes);
    if bytes.trim_ascii().is_empty() {
        return None;
    }
    Some(match serde_json::from_slice(bytes) {
        Ok(Value::Object(settings)) => Ok(settings),
        Ok(_) => Err("it is no JSON object".to_owned()),
        Err(error) => Err(format!("it is not strict JSON (no comments, no trailing commas): {error}")),
    })
}

/// The UTF-8 byte order mark.
const BOM: &[u8] = b"\xef\xbb\xbf";

#[cfg(test)]
mod tests;
