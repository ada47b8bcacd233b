//! Which config dirs there are, which hooks stand in their `settings.json`, and what could keep those silent.

use std::fs;
use std::path::{Path, PathBuf};

use semver::Version;
use serde_json::{Map, Value, json};
use sessionpipe_core::adapter::{Finding, Found, Level};
use sessionpipe_core::command;
use sessionpipe_core::harness::{Means, NativeEvent};
use sessionpipe_core::host::Host;
use sessionpipe_core::wiring::{HookEntry, Shape, When, Wiring};

use crate::facts;
use crate::harness::{self, HARNESS};
use crate::transcript::entries;

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

pub(crate) fn found(host: &Host) -> Option<Found> {
    let ConfigDirs { dirs, left_alone } = config_dirs(host);
    if !dirs.iter().any(|dir| dir.is_dir()) && facts::programs(host).is_empty() {
        return None;
    }
    let installed = facts::installed(host);
    let version = dirs.iter().filter_map(|dir| facts::lowest_version(host, dir, &installed)).min();
    Some(Found { version: version.map(|v| v.to_string()), dirs, left_alone })
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
        shape: Shape::Grouped,
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
    let mut notices = Vec::new();
    let version = settings.iter().filter_map(|s| s.version.as_ref()).min();
    if let Some(version) = version.filter(|v| triple(v) < harness::OLDEST) {
        let (major, minor, patch) = harness::OLDEST;
        notices.push(Wiring::Notice {
            when: When::Always,
            text: format!(
                "Claude Code {version} is too old: it would ignore its whole settings.json. Update to {major}.{minor}.{patch} or later."
            ),
        });
    }
    if version.is_none_or(|v| triple(v) < LIVE_FROM) {
        notices.push(Wiring::Notice {
            when: When::Changed,
            text: "restart running Claude Code sessions: only from 2.1.280 on do they take up changed hooks."
                .to_owned(),
        });
    }
    notices
}

fn triple(version: &Version) -> (u64, u64, u64) {
    (version.major, version.minor, version.patch)
}

/// Reads a settings file; `None` where there is none, or it is blank.
///
/// # Errors
/// What Claude Code, whose JSON is strict, does not accept in it.
fn read(file: &Path) -> Option<Result<Map<String, Value>, String>> {
    let bytes = fs::metadata(file).ok().filter(fs::Metadata::is_file).and_then(|_| fs::read(file).ok())?;
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
fn holds_ours(settings: &Map<String, Value>) -> bool {
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
fn check_settings(Settings { file, version }: &Settings) -> Vec<Finding> {
    let settings = match read(file) {
        None => return Vec::new(),
        Some(Ok(settings)) => settings,
        Some(Err(error)) => {
            let text = format!("Claude Code ignores this file, all hooks in it included: {error}");
            return vec![problem(file, text, "correct the file")];
        }
    };
    let mut findings: Vec<_> = check_switch(file, Level::Problem, "for this config dir").into_iter().collect();
    findings.extend(rejected(&settings).into_iter().map(|at| {
        let text = format!("this file has an entry Claude Code rejects at {at}; all hooks in it are ignored");
        problem(file, text, "correct the entry")
    }));
    if let Some(version) = version.as_ref().filter(|v| triple(v) < harness::SKIPS_FROM) {
        let events = settings.get("hooks").and_then(Value::as_object).into_iter().flat_map(Map::keys);
        findings.extend(events.filter(|event| !harness::knows(triple(version), event)).map(|event| {
            let text = format!("Claude Code {version} does not know hooks.{event}, and then ignores the whole file");
            problem(file, text, "update Claude Code; if the entry is ours: sessionpipe install")
        }));
        if triple(version) < BOM_FROM && fs::read(file).is_ok_and(|bytes| bytes.starts_with(BOM)) {
            let text = format!("the file begins with a byte order mark, and Claude Code {version} then ignores it");
            findings.push(problem(file, text, "update Claude Code, or save the file without the mark"));
        }
    }
    findings
}

/// A byte order mark is accepted from this version on, as far as seen; 2.0.60 ignores the file.
const BOM_FROM: (u64, u64, u64) = (2, 1, 100);

/// Keys whose values must have a type, else the whole file is ignored.
const TYPED: [(&str, fn(&Value) -> bool); 4] = [
    ("hooks", Value::is_object),
    ("model", Value::is_string),
    ("env", Value::is_object),
    ("permissions", Value::is_object),
];

/// The types of a handler that Claude Code has.
const HANDLER_TYPES: [&str; 5] = ["command", "prompt", "agent", "http", "mcp_tool"];

/// The JSON paths of all that makes Claude Code ignore the whole file.
fn rejected(settings: &Map<String, Value>) -> Vec<String> {
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

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods)]

    use std::collections::BTreeMap;

    use sessionpipe_core::testing::host;
    use tempfile::TempDir;

    use super::*;

    /// A home with these files.
    fn home(files: &[(&str, &str)]) -> TempDir {
        let home = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = home.path().join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        home
    }

    /// A host in an empty project, so that the home's settings are not the project's.
    fn host_in(home: &TempDir) -> Host {
        Host { cwd: home.path().join("project"), ..host(home.path()) }
    }

    /// The settings files to be wired, relative to the home, each with its events.
    fn wired(host: &Host) -> BTreeMap<String, Vec<&'static str>> {
        wiring(host)
            .into_iter()
            .filter_map(|wiring| match wiring {
                Wiring::HookEntries { file, entries, .. } => {
                    Some((host.tilde(&file), entries.iter().map(|e| e.event).collect()))
                }
                _ => None,
            })
            .collect()
    }

    fn files(host: &Host) -> Vec<String> {
        wired(host).into_keys().collect()
    }

    fn problems(host: &Host) -> Vec<(String, String)> {
        check(host)
            .into_iter()
            .filter(|finding| finding.level == Level::Problem)
            .map(|finding| (host.tilde(&finding.file.expect("a file")), finding.text))
            .collect()
    }

    #[test]
    fn other_programs_use_the_prefix_too() {
        let home = home(&[
            (".claude/settings.json", r#"{"model":"opus"}"#),
            (".claude-work/projects/-srv-app/11111111-1111-4111-8111-111111111111.jsonl", "{}\n"),
            (".claude-account/.claude.json", "{}"),
            (".claude-settings/settings.json", "\u{feff}{\"permissions\":{}}"),
            (".claude-mem/settings.json", r#"{"CLAUDE_MEM_WORKER_PORT":"37777","CLAUDE_MEM_LOG_LEVEL":"INFO"}"#),
            (".claude-telemetry/identity.json", r#"{"login":"ann"}"#),
            (".claude-router/config.json", r#"{"Providers":[]}"#),
            (".claude-empty/projects/not-a-folder", ""),
            (".claude-file", ""),
            (".claudette/settings.json", r#"{"hooks":{}}"#),
        ]);
        let host = host_in(&home);
        assert_eq!(
            files(&host),
            [
                "~/.claude-account/settings.json",
                "~/.claude-settings/settings.json",
                "~/.claude-work/settings.json",
                "~/.claude/settings.json",
            ]
        );
        let found = found(&host).expect("found");
        let names = |dirs: &[PathBuf]| dirs.iter().map(|dir| host.tilde(dir)).collect::<Vec<_>>();
        assert_eq!(names(&found.dirs)[0], "~/.claude");
        assert_eq!(
            names(&found.left_alone),
            ["~/.claude-empty", "~/.claude-mem", "~/.claude-router", "~/.claude-telemetry"]
        );
        assert_eq!(found.version, None);
    }

    #[test]
    fn the_variable_names_a_dir_literally() {
        let home = home(&[
            (".claude/settings.json", r#"{"model":"opus"}"#),
            ("profiles/b/settings.json", r#"{"model":"sonnet"}"#),
            ("x/settings.json", "{}"),
        ]);
        let mut host = host_in(&home);
        let mut with = |value: &str| {
            host.env.insert(DIR_VAR.into(), value.into());
            let said = check(&host).into_iter().filter(|f| f.text.contains(DIR_VAR)).count();
            (files(&host), said)
        };
        let only_home = || vec!["~/.claude/settings.json".to_owned()];
        let profile = home.path().join("profiles/b");
        assert_eq!(
            with(profile.to_str().expect("text")),
            (vec!["~/.claude/settings.json".to_owned(), "~/profiles/b/settings.json".to_owned()], 0)
        );
        assert_eq!(with(""), (only_home(), 1));
        assert_eq!(with("~/x"), (only_home(), 1), "no tilde is expanded, and no folder `~` is made");
        let literal = home.path().join("project/~/x");
        fs::create_dir_all(&literal).expect("a folder");
        assert_eq!(with("~/x").0, ["~/.claude/settings.json".to_owned(), "~/project/~/x/settings.json".to_owned()]);
        assert!(check(&host)[0].text.contains("\"~/x\""));
    }

    #[test]
    fn a_dir_that_is_not_there_is_wired_where_claude_code_would_make_it() {
        let home = home(&[]);
        let mut host = host_in(&home);
        assert_eq!(found(&host), None);
        assert_eq!(files(&host), ["~/.claude/settings.json"]);
        host.env.insert(DIR_VAR.into(), home.path().join("moved").into());
        assert_eq!(files(&host), ["~/moved/settings.json"]);
    }

    #[cfg(unix)]
    #[test]
    fn one_file_is_edited_once() {
        let home = home(&[
            (".claude/settings.json", "{}"),
            (".claude-a/.claude.json", "{}"),
            (".claude-b/.claude.json", "{}"),
            (".claude-c/.claude.json", "{}"),
        ]);
        let settings = |dir: &str| home.path().join(dir).join("settings.json");
        std::os::unix::fs::symlink(settings(".claude"), settings(".claude-a")).expect("a link");
        fs::hard_link(settings(".claude"), settings(".claude-b")).expect("a link");
        std::os::unix::fs::symlink(home.path().join(".claude-c"), home.path().join(".claude-d")).expect("a link");
        assert_eq!(files(&host_in(&home)), ["~/.claude-c/settings.json", "~/.claude/settings.json"]);
    }

    #[test]
    fn each_dir_gets_the_events_that_its_lowest_version_knows() {
        let record = |version: &str| format!("{{\"type\":\"user\",\"version\":\"{version}\"}}\n");
        let home = home(&[
            (".claude/projects/-w/s1.jsonl", &record("2.1.328")),
            (".claude-old/projects/-w/s2.jsonl", &record("2.1.100")),
            (".claude-ancient/projects/-w/s3.jsonl", &record("2.0.30")),
            (".claude-new/.claude.json", "{}"),
        ]);
        let host = Host { now_ms: 0, ..host_in(&home) };
        let wired = wired(&host);
        let count = |dir: &str| wired[&format!("~/{dir}/settings.json")].len();
        assert_eq!(count(".claude"), 16);
        assert_eq!(count(".claude-old"), 15);
        assert_eq!(count(".claude-ancient"), 0, "it would ignore the whole file");
        assert_eq!(count(".claude-new"), 12, "unknown: the oldest supported");
        assert_eq!(found(&host).expect("found").version.as_deref(), Some("2.0.30"));
        let notices: Vec<_> = wiring(&host)
            .into_iter()
            .filter_map(|w| match w {
                Wiring::Notice { when, text } => Some((when, text)),
                _ => None,
            })
            .collect();
        assert_eq!(notices[0].0, When::Always);
        assert!(notices[0].1.starts_with("Claude Code 2.0.30 is too old"), "{notices:?}");
        assert!(notices[1].1.starts_with("restart running"), "{notices:?}");
    }

    #[test]
    fn a_live_version_needs_no_notice() {
        let home = home(&[(".claude/projects/-w/s1.jsonl", "{\"type\":\"user\",\"version\":\"2.1.280\"}\n")]);
        assert_eq!(wiring(&host_in(&home)).len(), 1);
    }

    #[test]
    fn what_is_written() {
        let home = home(&[]);
        let Some(Wiring::HookEntries { at, shape, entries, jsonc, .. }) = wiring(&host_in(&home)).into_iter().next()
        else {
            panic!("no entries");
        };
        assert_eq!((at, shape, jsonc), (&["hooks"][..], Shape::Grouped, false));
        let group = |event: &str| &entries.iter().find(|e| e.event == event).expect("wired").value;
        assert_eq!(
            group("Stop").to_string(),
            r#"{"hooks":[{"type":"command","command":"'/opt/sp/bin/sessionpipe-hook' claude-code Stop","timeout":5}]}"#
        );
        assert_eq!(
            group("PreToolUse").to_string(),
            r#"{"matcher":"","hooks":[{"type":"command","command":"'/opt/sp/bin/sessionpipe-hook' claude-code PreToolUse","timeout":5}]}"#
        );
        let matched: Vec<_> = entries.iter().filter(|e| e.value.get("matcher").is_some()).map(|e| e.event).collect();
        assert_eq!(matched, ["PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest"]);
        let hooks: Map<String, Value> = entries.iter().map(|e| (e.event.to_owned(), json!([e.value]))).collect();
        let settings = json!({"hooks": hooks});
        assert!(rejected(settings.as_object().expect("an object")).is_empty());
        assert!(holds_ours(settings.as_object().expect("an object")));
    }

    #[test]
    fn one_bad_entry_kills_the_file() {
        let home = home(&[(
            ".claude/settings.json",
            r#"{"hooks":{"PreToolUse":[{"matcher":{"type":"always"},"hooks":[{"type":"command","command":"x"}]}],
                "Stop":[{"type":"command","command":"no inner hooks array"}]}}"#,
        )]);
        let file = || "~/.claude/settings.json".to_owned();
        let text =
            |at: &str| format!("this file has an entry Claude Code rejects at {at}; all hooks in it are ignored");
        assert_eq!(
            problems(&host_in(&home)),
            [(file(), text("hooks.PreToolUse[0].matcher")), (file(), text("hooks.Stop[0].hooks"))]
        );
    }

    #[test]
    fn every_way_to_be_rejected() {
        let at = |settings: Value| rejected(settings.as_object().expect("an object"));
        let handler = |handler: Value| at(json!({"hooks": {"Stop": [{"hooks": [{"type": "prompt"}, handler]}]}}));
        let none: [&str; 0] = [];
        assert_eq!(
            at(json!({"model": 123, "env": [], "permissions": "all", "other": 1})),
            ["model", "env", "permissions"]
        );
        assert_eq!(at(json!({"hooks": []})), ["hooks"]);
        assert_eq!(at(json!({"hooks": {"PreToolUse": "notanarray"}})), ["hooks.PreToolUse"]);
        assert_eq!(at(json!({"hooks": {"PreToolUse": ["x"]}})), ["hooks.PreToolUse[0].hooks"]);
        assert_eq!(handler(json!({"type": "shout"})), ["hooks.Stop[0].hooks[1].type"]);
        assert_eq!(handler(json!({"command": "x"})), ["hooks.Stop[0].hooks[1].type"]);
        assert_eq!(handler(json!({"type": "command"})), ["hooks.Stop[0].hooks[1].command"]);
        assert_eq!(
            handler(json!({"type": "command", "command": "x", "timeout": "5"})),
            ["hooks.Stop[0].hooks[1].timeout"]
        );
        assert_eq!(
            handler(json!({"type": "command", "command": "x", "timeout": 0})),
            ["hooks.Stop[0].hooks[1].timeout"]
        );
        assert_eq!(handler(json!({"type": "command", "command": "x", "timeout": 0.5})), none);
        assert_eq!(at(json!({"hooks": {"Stop": []}})), none);
    }

    #[test]
    fn what_is_no_strict_json_is_ignored_whole() {
        for (text, place) in [
            ("{\n  // mine\n  \"model\": \"opus\"\n}", "line 2 column 3"),
            ("{\"model\": \"opus\",}", "line 1 column 18"),
            ("{\"model\": \"opus\"", "line 1 column 16"),
        ] {
            let home = home(&[(".claude/settings.json", text)]);
            let problems = problems(&host_in(&home));
            assert_eq!(problems.len(), 1, "{text}");
            assert!(problems[0].1.contains("strict JSON") && problems[0].1.ends_with(place), "{problems:?}");
        }
        for text in ["null", "[]"] {
            let home = home(&[(".claude/settings.json", text)]);
            assert!(problems(&host_in(&home))[0].1.ends_with("it is no JSON object"), "{text}");
        }
        for text in ["", " \n", "{}", "\u{feff}{}"] {
            let home = home(&[(".claude/settings.json", text)]);
            assert_eq!(problems(&host_in(&home)), [], "{text:?}");
        }
    }

    #[test]
    fn switches_of_every_layer_are_named() {
        let home = home(&[
            ("etc/claude-code/managed-settings.json", r#"{"allowManagedHooksOnly": true}"#),
            ("etc/claude-code/managed-settings.d/10-a.json", r#"{"disableAllHooks": true}"#),
            ("etc/claude-code/managed-settings.d/20-b.json", r#"{"disableAllHooks": "true"}"#),
            ("etc/claude-code/managed-settings.d/README", r#"{"disableAllHooks": true}"#),
            (".claude/settings.json", r#"{"disableAllHooks": true, "allowManagedHooksOnly": true, "hooks": {}}"#),
            ("project/.claude/settings.json", r#"{"disableAllHooks": true}"#),
            ("project/.claude/settings.local.json", r#"{"disableAllHooks": false}"#),
        ]);
        let host = host_in(&home);
        let findings: Vec<_> =
            check(&host).into_iter().map(|f| (f.level, host.tilde(&f.file.expect("a file")), f.text)).collect();
        let row = |level, file: &str, text: &str| (level, file.to_owned(), text.to_owned());
        assert_eq!(
            findings,
            [
                row(
                    Level::Problem,
                    "~/etc/claude-code/managed-settings.json",
                    "allowManagedHooksOnly is true: by policy only hooks in managed settings run"
                ),
                row(
                    Level::Problem,
                    "~/etc/claude-code/managed-settings.d/10-a.json",
                    "disableAllHooks is true: by policy no hook runs"
                ),
                row(
                    Level::Problem,
                    "~/.claude/settings.json",
                    "disableAllHooks is true: for this config dir no hook runs"
                ),
                row(
                    Level::Warning,
                    "~/project/.claude/settings.json",
                    "disableAllHooks is true: in this folder no hook runs"
                ),
            ]
        );
    }

    #[test]
    fn hooks_that_the_policy_itself_holds_are_welcome() {
        let home = home(&[
            ("etc/claude-code/managed-settings.json", r#"{"allowManagedHooksOnly": true}"#),
            (
                "etc/claude-code/managed-settings.d/sessionpipe.json",
                r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"/usr/bin/sessionpipe-hook claude-code Stop"}]}]}}"#,
            ),
        ]);
        assert_eq!(problems(&host_in(&home)), []);
    }

    #[test]
    fn an_event_that_an_old_version_does_not_know_kills_the_file() {
        let entry = r#"{"hooks":{"PostToolBatch":[],"Stop":[],"Madeup":[]}}"#;
        let at = |version: &str, text: &str| {
            let record = format!("{{\"type\":\"user\",\"version\":\"{version}\"}}\n");
            let home = home(&[(".claude/settings.json", text), (".claude/projects/-w/s.jsonl", &record)]);
            problems(&Host { now_ms: 0, ..host_in(&home) }).into_iter().map(|(_, text)| text).collect::<Vec<_>>()
        };
        assert_eq!(
            at("2.1.100", entry),
            ["PostToolBatch", "Madeup"]
                .map(|e| format!("Claude Code 2.1.100 does not know hooks.{e}, and then ignores the whole file"))
        );
        assert!(at("2.1.105", entry).is_empty());
        assert_eq!(at("2.0.60", "\u{feff}{}").len(), 1);
        assert!(at("2.1.100", "\u{feff}{}").is_empty());
    }

    #[test]
    fn borrowers_are_named_where_they_are() {
        let home = home(&[(".claude/settings.json", "{}"), (".cursor/hooks.json", "{}")]);
        let findings = check(&host_in(&home));
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].level, Level::Note);
        assert!(findings[0].text.starts_with("Cursor runs the hooks of Claude Code's settings too"));
    }

    #[test]
    fn the_home_as_a_project_is_not_reported_twice() {
        let home = home(&[(".claude/settings.json", r#"{"disableAllHooks": true}"#)]);
        assert_eq!(check(&host(home.path())).len(), 1);
    }
}
