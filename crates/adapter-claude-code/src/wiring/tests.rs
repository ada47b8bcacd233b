#![allow(clippy::disallowed_methods)]

use std::collections::BTreeMap;

use sessionpipe_core::adapter::Level;
use sessionpipe_core::testing::{host, write};
use tempfile::TempDir;

use super::check::{check, holds_ours, rejected};
use super::*;
use crate::facts::found;

/// A home with these files.
fn home(files: &[(&str, &str)]) -> TempDir {
    let home = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        write(&home.path().join(name), text);
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
    let notices = notices(&host);
    assert_eq!(notices[0].0, When::Always);
    assert!(notices[0].1.starts_with("version 2.0.30 is too old"), "{notices:?}");
    assert!(notices[1].1.starts_with("restart running"), "{notices:?}");
}

fn notices(host: &Host) -> Vec<(When, String)> {
    wiring(host)
        .into_iter()
        .filter_map(|wiring| match wiring {
            Wiring::Notice { when, text } => Some((when, text)),
            _ => None,
        })
        .collect()
}

#[test]
fn notices_say_what_is_not_wired_and_who_must_restart() {
    let of = |record: &str| {
        let home = home(&[(".claude/projects/-w/s1.jsonl", record)]);
        notices(&host_in(&home)).into_iter().map(|(_, text)| text).collect::<Vec<_>>()
    };
    let restart = ["restart running sessions: they take up changed hooks only from 2.1.280 on."];
    assert_eq!(of(r#"{"version":"2.1.280"}"#), [""; 0]);
    assert_eq!(of(r#"{"version":"2.1.258"}"#), restart);
    let old = of(r#"{"version":"2.1.104"}"#);
    assert!(old[0].starts_with("version 2.1.104 was used in the last 30 days"), "{old:?}");
    assert_eq!(old[1..], restart);
    let unknown = of("{}");
    assert!(unknown[0].starts_with("its version is not known"), "{unknown:?}");
    assert_eq!(unknown[1..], restart);
}

#[test]
fn what_is_written() {
    let home = home(&[]);
    let Some(Wiring::HookEntries { at, entries, jsonc, .. }) = wiring(&host_in(&home)).into_iter().next() else {
        panic!("no entries");
    };
    assert_eq!((at, jsonc), (&["hooks"][..], false));
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
    let text = |at: &str| format!("this file has an entry Claude Code rejects at {at}; all hooks in it are ignored");
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
    assert_eq!(at(json!({"model": 123, "env": [], "permissions": "all", "other": 1})), ["model", "env", "permissions"]);
    assert_eq!(at(json!({"hooks": []})), ["hooks"]);
    assert_eq!(at(json!({"hooks": {"PreToolUse": "notanarray"}})), ["hooks.PreToolUse"]);
    assert_eq!(at(json!({"hooks": {"PreToolUse": ["x"]}})), ["hooks.PreToolUse[0].hooks"]);
    assert_eq!(handler(json!({"type": "shout"})), ["hooks.Stop[0].hooks[1].type"]);
    assert_eq!(handler(json!({"command": "x"})), ["hooks.Stop[0].hooks[1].type"]);
    assert_eq!(handler(json!({"type": "command"})), ["hooks.Stop[0].hooks[1].command"]);
    assert_eq!(handler(json!({"type": "command", "command": "x", "timeout": "5"})), ["hooks.Stop[0].hooks[1].timeout"]);
    assert_eq!(handler(json!({"type": "command", "command": "x", "timeout": 0})), ["hooks.Stop[0].hooks[1].timeout"]);
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
            row(Level::Problem, "~/.claude/settings.json", "disableAllHooks is true: for this config dir no hook runs"),
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
            .map(|e| format!("version 2.1.100 does not know hooks.{e}, and then ignores the whole file"))
    );
    assert!(at("2.1.105", entry).is_empty());
    assert_eq!(at("2.0.60", "\u{feff}{}").len(), 1);
    assert!(at("2.0.30", entry)[0].starts_with("version 2.0.30 is too old"));
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
