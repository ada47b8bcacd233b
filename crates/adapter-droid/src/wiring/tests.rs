#![allow(clippy::disallowed_methods, reason = "tests make the files that the code reads")]

use std::ffi::OsString;
use std::fs;

use sessionpipe_core::adapter::{Finding, Level};
use sessionpipe_core::testing::{host, write};
use tempfile::TempDir;

use super::check::check;
use super::*;

const ALL: [&str; 9] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "Notification",
    "Stop",
    "SubagentStop",
    "PreCompact",
    "SessionEnd",
];

/// One group of another program.
const THEIRS: &str = r#"[{"hooks":[{"type":"command","command":"say x"}]}]"#;

/// One group of ours.
fn ours(event: &str) -> String {
    format!(
        r#"[{{"hooks":[{{"type":"command","command":"'/opt/sp/bin/sessionpipe-hook' droid {event}","timeout":5}}]}}]"#
    )
}

/// A home with these files below `~/.factory`.
fn home(files: &[(&str, &str)]) -> TempDir {
    let home = TempDir::new().expect("a folder");
    fs::create_dir(home.path().join(".factory")).expect("a folder");
    for (name, text) in files {
        write(&home.path().join(".factory").join(name), text);
    }
    home
}

/// Where the events of ours go: file, keys that lead to the map, events.
fn placed(home: &TempDir) -> Vec<(String, &'static [&'static str], Vec<&'static str>)> {
    let factory = home.path().join(".factory");
    let place = |wiring| match wiring {
        Wiring::HookEntries { file, at, entries, needs: &[], jsonc: true } => {
            let name = file.strip_prefix(&factory).expect("below").display().to_string();
            Some((name, at, entries.into_iter().map(|entry| entry.event).collect()))
        }
        _ => None,
    };
    wiring(&host(home.path())).into_iter().filter_map(place).collect()
}

fn but(events: &[&str]) -> Vec<&'static str> {
    ALL.into_iter().filter(|event| !events.contains(event)).collect()
}

fn texts(findings: &[Finding]) -> Vec<(Level, &str)> {
    findings.iter().map(|finding| (finding.level, finding.text.as_str())).collect()
}

#[test]
fn what_is_wired() {
    let empty = TempDir::new().expect("a folder");
    assert_eq!(wiring(&host(empty.path())), [], "Droid is not here");
    let home = home(&[]);
    let wiring = wiring(&host(home.path()));
    let [Wiring::HookEntries { file, at, needs, entries, jsonc }, Wiring::Notice { when, text }] = wiring.as_slice()
    else {
        panic!("{wiring:?}")
    };
    assert_eq!(*file, home.path().join(".factory/settings.json"));
    assert_eq!((*at, needs.len(), *jsonc), (&["hooks"][..], 0, true));
    assert_eq!(entries.iter().map(|entry| entry.event).collect::<Vec<_>>(), ALL);
    for entry in entries {
        let command = format!("'/opt/sp/bin/sessionpipe-hook' droid {}", entry.event);
        // The model would read the shell's complaint about a program that is gone.
        let command = match entry.event {
            "PreToolUse" => format!("[ -x '/opt/sp/bin/sessionpipe-hook' ] && {command}; exit 0"),
            _ => command,
        };
        assert_eq!(entry.value, json!({"hooks": [{"type": "command", "command": command, "timeout": 5}]}));
    }
    assert_eq!(*when, When::Changed);
    assert!(text.contains("trust"), "{text}");
}

#[test]
fn each_event_goes_where_the_persons_hooks_of_it_count() {
    let settings = |events: &str| format!("{{\n  // mine\n  \"model\": \"m\",\n  \"hooks\": {{{events}}}\n}}");
    let in_settings = |events| ("settings.json".to_owned(), &["hooks"][..], events);
    let in_hooks = |events| ("hooks.json".to_owned(), &[][..], events);

    // Both files: what is in hooks.json, and the rest in settings.json.
    let guard = format!(r#"{{"PreToolUse":{THEIRS}}}"#);
    let both = home(&[("hooks.json", &guard), ("settings.json", &settings(&format!(r#""Stop":{THEIRS}"#)))]);
    assert_eq!(placed(&both), [in_settings(but(&["PreToolUse"])), in_hooks(vec!["PreToolUse"])]);

    // Of an event in both, hooks.json alone is read, and were it empty.
    for groups in [THEIRS, "[]"] {
        let stop = format!(r#"{{"Stop":{groups}}}"#);
        let both = home(&[("hooks.json", &stop), ("settings.json", &settings(&format!(r#""Stop":{THEIRS}"#)))]);
        assert_eq!(placed(&both), [in_settings(but(&["Stop"])), in_hooks(vec!["Stop"])], "{groups}");
    }

    // Only one of them.
    let only = home(&[("hooks.json", &guard)]);
    assert_eq!(placed(&only), [in_hooks(ALL.to_vec())]);
    let only = home(&[("settings.json", "{}")]);
    assert_eq!(placed(&only), [in_settings(ALL.to_vec())]);

    // Ours stay where they are, also when Droid has made the other file since.
    let installed = format!(r#"{{"Stop":{},"PreToolUse":{THEIRS}}}"#, ours("Stop"));
    let later = home(&[("hooks.json", &installed), ("settings.json", r#"{"model":"m"}"#)]);
    assert_eq!(placed(&later), [in_settings(but(&["Stop", "PreToolUse"])), in_hooks(vec!["PreToolUse", "Stop"])]);

    // But not where they hide the person's.
    let hiding = home(&[("hooks.json", &installed), ("settings.json", &settings(&format!(r#""Stop":{THEIRS}"#)))]);
    assert_eq!(placed(&hiding), [in_settings(but(&["PreToolUse"])), in_hooks(vec!["PreToolUse"])]);
}

#[test]
fn the_older_place_counts_where_it_is_read() {
    let theirs = format!(r#"{{"Stop":{THEIRS}}}"#);
    let older = home(&[("hooks/hooks.json", &theirs), ("settings.json", "{}")]);
    let events = |home: &TempDir| placed(home).into_iter().map(|(file, _, events)| (file, events)).collect::<Vec<_>>();
    assert_eq!(
        events(&older),
        [("settings.json".to_owned(), but(&["Stop"])), ("hooks/hooks.json".to_owned(), vec!["Stop"])],
        "hooks.json would hide it"
    );
    let only = home(&[("hooks/hooks.json", &theirs)]);
    assert_eq!(events(&only), [("hooks/hooks.json".to_owned(), ALL.to_vec())]);
    let hidden = home(&[("hooks/hooks.json", &theirs), ("hooks.json", "{}"), ("settings.json", "{}")]);
    assert_eq!(
        events(&hidden),
        [
            ("settings.json".to_owned(), ALL.to_vec()),
            ("hooks.json".to_owned(), vec![]),
            ("hooks/hooks.json".to_owned(), vec![])
        ]
    );
}

#[test]
fn a_version_that_reads_settings_alone_gets_all_of_them_there() {
    let theirs = format!(r#"{{"Stop":{THEIRS}}}"#);
    for (version, file) in [("0.186.0", "settings.json"), ("0.186.1", "hooks.json")] {
        let home = home(&[("hooks.json", &theirs), ("last-startup-version", version)]);
        assert_eq!((placed(&home)[0].0.as_str(), placed(&home)[0].2.as_slice()), (file, &ALL[..]), "{version}");
    }
}

#[test]
fn what_cannot_be_read_stays_the_persons_business() {
    // The installer refuses to edit it; Droid ignores it, so the other file counts.
    let broken = home(&[("hooks.json", "{,}"), ("settings.json", "{}")]);
    assert_eq!(placed(&broken)[0].2, ALL);
    let broken = home(&[("hooks.json", "{,}")]);
    assert_eq!((placed(&broken)[0].0.as_str(), placed(&broken)[0].2.as_slice()), ("hooks.json", &ALL[..]));
    assert!(texts(&check(&host(broken.path())))[0].1.starts_with("Droid runs no hook of this file: "));
}

#[test]
fn the_home_can_be_moved() {
    let home = TempDir::new().expect("a folder");
    let mut host = host(home.path());
    for (value, expected) in
        [("", home.path().join(".factory")), ("/srv/d", "/srv/d/.factory".into()), ("x", host.cwd.join("x/.factory"))]
    {
        host.env.insert("FACTORY_HOME_OVERRIDE".into(), OsString::from(value));
        assert_eq!(factory_home(&host), expected);
    }
}

#[test]
fn nothing_wrong_nothing_to_say() {
    let empty = TempDir::new().expect("a folder");
    assert_eq!(check(&host(empty.path())), []);
    let stop = format!("{{ // mine\n\"Stop\": {THEIRS}, \"hooksDisabled\": false, \"Unheard\": 1}}");
    let settings = format!(
        r#"{{"hooks":{{"PreToolUse":{},"PostToolUse":{THEIRS}}},"trustedFolders":{{"/p":{{"trustedAt":"2026-11-30T10:00:00Z"}}}}}}"#,
        ours("PreToolUse")
    );
    let home = home(&[("hooks.json", &stop), ("settings.json", &settings)]);
    assert_eq!(check(&host(home.path())), []);
    write(&home.path().join(".factory/hooks.json"), " \n");
    assert_eq!(check(&host(home.path())), [], "a blank file holds nothing");
}

#[test]
fn one_wrong_value_and_no_hook_of_the_file_runs() {
    let handler = |handler: &str| format!(r#"{{"Stop":[{{"hooks":[{handler}]}}]}}"#);
    let cases = [
        ("[]".to_owned(), Some("it is no JSON object")),
        (r#"{"Stop":{}}"#.into(), Some("`Stop` is no array")),
        (r#"{"Stop":null}"#.into(), Some("`Stop` is no array")),
        (r#"{"Stop":[[]]}"#.into(), Some("a group that is no object in `Stop` 0")),
        (r#"{"Stop":[{"matcher":""}]}"#.into(), Some("a group without a `hooks` array in `Stop` 0")),
        (
            r#"{"Stop":[{"hooks":[]},{"hooks":[],"matcher":1}]}"#.into(),
            Some("a `matcher` or `commandRegex` that is no string in `Stop` 1"),
        ),
        (handler(r#"{"type":"prompt","prompt":"x"}"#), Some("a handler whose `type` is not `command` in `Stop` 0")),
        (handler(r#"{"type":"command"}"#), Some("a `command` that is no string in `Stop` 0")),
        (
            handler(r#"{"type":"command","command":"a","timeout":"5"}"#),
            Some("a `timeout` that is no number in `Stop` 0"),
        ),
        (r#"{"hooksDisabled":"true"}"#.into(), Some("`hooksDisabled` is neither true nor false")),
        (handler(r#"{"type":"command","command":"a","timeout":0.5,"async":[]}"#), None),
        (r#"{"Unheard":7,"Stop":[]}"#.into(), None),
    ];
    for (document, fault) in &cases {
        let expected = fault.map(|fault| format!("Droid runs no hook of this file: {fault}"));
        let bare = home(&[("hooks.json", document)]);
        assert_eq!(check(&host(bare.path())).pop().map(|finding| finding.text), expected, "{document}");
        if document.starts_with('{') {
            let settings = home(&[("settings.json", &format!(r#"{{"hooks":{document}}}"#))]);
            assert_eq!(check(&host(settings.path())).pop().map(|finding| finding.text), expected, "{document}");
        }
    }
    let array = home(&[("settings.json", r#"{"hooks":[]}"#)]);
    assert_eq!(check(&host(array.path()))[0].text, "Droid runs no hook of this file: `hooks` is no object");
    // Comments are read, commas at the end are not.
    let comma = home(&[("hooks.json", &format!("{{\"Stop\":{THEIRS},}}"))]);
    assert_eq!(check(&host(comma.path()))[0].level, Level::Problem);
}

#[test]
fn the_switch_that_decides_is_named() {
    const ON: &str = r#"{"hooksDisabled":false}"#;
    const OFF: &str = r#"{"hooksDisabled":true}"#;
    let settings = |hooks: &str| format!(r#"{{"hooks":{hooks}}}"#);
    let everywhere = (Level::Problem, "hooksDisabled is true: Droid runs no hooks");
    let here = (Level::Warning, "hooksDisabled is true: in this folder Droid runs no hooks");
    for (hooks, general, project, expected) in [
        (OFF, "{}", "{}", Some(everywhere)),
        ("{}", OFF, "{}", Some(everywhere)),
        (ON, OFF, "{}", None),
        ("{}", "{}", OFF, Some(here)),
        (ON, "{}", OFF, None),
    ] {
        let home = home(&[("hooks.json", hooks), ("settings.json", &settings(general))]);
        write(&home.path().join("proj/.factory/hooks.json"), project);
        let findings = check(&host(home.path()));
        assert_eq!(texts(&findings), expected.into_iter().collect::<Vec<_>>(), "{hooks} {general} {project}");
    }
}

#[test]
fn the_administrator_may_forbid_them() {
    let home = home(&[]);
    let host = host(home.path());
    let policy = host.etc.join("factory/settings.json");
    write(&policy, r#"{"allowManagedHooksOnly":false}"#);
    assert_eq!(check(&host), []);
    write(&policy, r#"{"allowManagedHooksOnly":true}"#);
    let text = "allowManagedHooksOnly is true: Droid runs no hooks but those of the administrator";
    assert_eq!(texts(&check(&host)), [(Level::Problem, text)]);
}

#[test]
fn hooks_that_the_other_file_hides_are_named() {
    let trusted = r#""trustedFolders":{"/p":{"trustedAt":"2026-11-30T10:00:00Z"}}"#;
    let settings = |events: &str| format!(r#"{{"hooks":{{{events}}},{trusted}}}"#);
    let stop = format!(r#""Stop":{}"#, ours("Stop"));
    let hidden = "~/.factory/hooks.json holds the same events, so hooks of sessionpipe here are not run: Stop";
    for (hooks, events, expected) in [
        (format!(r#"{{"Stop":{THEIRS}}}"#), stop.clone(), vec![(Level::Problem, hidden)]),
        (
            r#"{"Stop":[]}"#.into(),
            format!(r#"{stop},"PreCompact":{}"#, ours("PreCompact")),
            vec![(Level::Warning, hidden)],
        ),
        (
            format!("{{{stop}}}"),
            format!(r#""Stop":{THEIRS}"#),
            vec![(
                Level::Note,
                "~/.factory/hooks.json holds the same events, so Droid does not run the hooks here for Stop",
            )],
        ),
        (format!(r#"{{"PreCompact":{THEIRS}}}"#), stop.clone(), vec![]),
    ] {
        let home = home(&[("hooks.json", &hooks), ("settings.json", &settings(&events))]);
        assert_eq!(texts(&check(&host(home.path()))), expected, "{hooks}");
    }
}

#[test]
fn the_shape_of_the_other_file_loads_nothing() {
    let text = "it has a key `hooks`, which Droid does not know here: its events stand at the top level of this file";
    for (groups, level) in [(THEIRS.to_owned(), Level::Warning), (ours("Stop"), Level::Problem)] {
        let home = home(&[("hooks.json", &format!(r#"{{"hooks":{{"Stop":{groups}}}}}"#))]);
        assert_eq!(texts(&check(&host(home.path()))), [(level, text)]);
    }
}

#[test]
fn hooks_in_a_file_that_the_version_does_not_read_are_named() {
    let stop = format!(r#"{{"Stop":{}}}"#, ours("Stop"));
    let trusted = r#"{"trustedFolders":{"/p":{"trustedAt":"2026-11-30T10:00:00Z"}}}"#;
    for (version, expected) in [
        (
            "0.186.0",
            vec![(
                Level::Problem,
                "version 0.186.0 is reported to read hooks from settings.json alone, not from hooks.json",
            )],
        ),
        ("0.215.0", vec![]),
    ] {
        let home = home(&[("hooks.json", &stop), ("settings.json", trusted), ("last-startup-version", version)]);
        assert_eq!(texts(&check(&host(home.path()))), expected);
    }
}

#[test]
fn without_trust_the_screen_is_silent() {
    let settings = format!(r#"{{"hooks":{{"Stop":{}}}}}"#, ours("Stop"));
    let home = home(&[("settings.json", &settings)]);
    let findings = check(&host(home.path()));
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].level, Level::Note, "droid exec runs them");
    assert!(findings[0].text.starts_with("no folder is trusted yet"), "{findings:?}");
}
