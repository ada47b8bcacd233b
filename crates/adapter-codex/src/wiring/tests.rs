#![allow(clippy::disallowed_methods, reason = "tests make the files that the code reads")]

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use sessionpipe_core::adapter::{Finding, Level};
use sessionpipe_core::testing::{host, write};
use sessionpipe_core::wiring::Wiring;
use tempfile::TempDir;

use super::check::{TRUST_STEPS, check};
use super::*;

/// hooks.json as `install` makes it.
fn installed(host: &Host) -> String {
    let hooks: serde_json::Map<_, _> =
        HARNESS.wired(None).map(|event| (event.name.to_owned(), json!([entry(host, event.name).value]))).collect();
    json!({"hooks": hooks}).to_string()
}

const NOTIFY_LINE: &str = "notify = [\"/opt/sp/bin/sessionpipe-hook\", \"codex\", \"notify\"]\n";

fn texts(findings: &[Finding]) -> Vec<(Level, &str)> {
    findings.iter().map(|finding| (finding.level, finding.text.as_str())).collect()
}

#[test]
fn what_is_wired() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    assert_eq!(wiring(&host), [], "Codex is not here");
    write(&home.path().join(".codex/config.toml"), "");
    let wiring = wiring(&host);
    let [
        Wiring::HookEntries { file, at, entries, jsonc, .. },
        Wiring::TopLevelToml { file: toml, key, argv },
        Wiring::AbsentTomlHooks { file: inline },
        Wiring::Notice { when, text },
    ] = wiring.as_slice()
    else {
        panic!("{wiring:?}")
    };
    assert_eq!(*file, home.path().join(".codex/hooks.json"));
    assert_eq!((*at, *jsonc), (&["hooks"][..], false));
    let names: Vec<_> = entries.iter().map(|entry| entry.event).collect();
    assert_eq!(names.len(), 12);
    assert!(!names.contains(&"notify"));
    for entry in entries {
        let timeout = if ["SessionEnd", "Interrupt"].contains(&entry.event) { 3 } else { 5 };
        let command = format!("'/opt/sp/bin/sessionpipe-hook' codex {}", entry.event);
        assert_eq!(entry.value, json!({"hooks": [{"type": "command", "command": command, "timeout": timeout}]}));
    }
    assert_eq!((toml, *key), (&home.path().join(".codex/config.toml"), "notify"));
    assert_eq!(argv, &["/opt/sp/bin/sessionpipe-hook", "codex", "notify"]);
    assert_eq!(inline, toml);
    assert_eq!(*when, When::Changed);
    assert!(text.contains("trust the 12 hooks"), "{text}");
}

#[test]
fn codex_home_is_literal() {
    let home = TempDir::new().expect("a folder");
    let mut host = host(home.path());
    for (value, expected) in
        [("", home.path().join(".codex")), ("/srv/codex", "/srv/codex".into()), ("~/x", host.cwd.join("~/x"))]
    {
        host.env.insert("CODEX_HOME".into(), OsString::from(value));
        assert_eq!(codex_home(&host), expected);
    }
    let findings = check(&host);
    assert_eq!(texts(&findings), [(Level::Problem, "CODEX_HOME is ~/x, which is no folder: Codex does not start")]);
}

#[test]
fn nothing_of_ours_nothing_to_say() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    assert_eq!(check(&host), []);
    write(
        &home.path().join(".codex/hooks.json"),
        r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"true"}]}]}}"#,
    );
    write(&home.path().join(".codex/config.toml"), "notify = [\"say\"]\n[features]\nhooks = true\n");
    assert_eq!(check(&host), []);
}

/// Our hooks with the trust that Codex itself wrote (see [`super::trust`]'s tests), moved to a home.
fn trusted(home: &Path) -> String {
    let hooks = include_str!("../../tests/trust/hooks.json");
    let config = include_str!("../../tests/trust/config.toml").replace("/home/dev", &home.display().to_string());
    write(&home.join(".codex/hooks.json"), hooks);
    let config = format!("notify = [\"/home/dev/.cargo/bin/sessionpipe-hook\", \"codex\", \"notify\"]\n{config}");
    write(&home.join(".codex/config.toml"), &config);
    config
}

#[test]
fn trusted_hooks_are_fine() {
    let home = TempDir::new().expect("a folder");
    trusted(home.path());
    assert_eq!(check(&host(home.path())), []);
}

#[cfg(unix)]
#[test]
fn a_linked_home_is_known_by_its_real_name() {
    let home = TempDir::new().expect("a folder");
    let real = home.path().canonicalize().expect("a path");
    trusted(&real);
    std::os::unix::fs::symlink(real.join(".codex"), real.join("link")).expect("a link");
    let mut host = host(&real);
    host.env.insert("CODEX_HOME".into(), real.join("link").into());
    assert_eq!(check(&host), []);
}

#[test]
fn hooks_that_nobody_trusted_are_silent() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    write(&home.path().join(".codex/hooks.json"), &installed(&host));
    write(&home.path().join(".codex/config.toml"), NOTIFY_LINE);
    let findings = check(&host);
    let expected = "12 of 12 hooks are not trusted ([hooks.state] in ~/.codex/config.toml does not hold them); Codex \
                    skips them without a word";
    assert_eq!(texts(&findings), [(Level::Problem, expected)]);
    assert_eq!(findings[0].fix.as_deref(), Some(TRUST_STEPS));
}

#[test]
fn trust_is_lost_by_a_shift_an_edit_or_a_switch() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    let config = trusted(home.path());
    let file = home.path().join(".codex/hooks.json");
    let hooks = fs::read_to_string(&file).expect("text");
    let mut document: serde_json::Value = serde_json::from_str(&hooks).expect("JSON");
    // A group put in front of ours; another path in the command; and one switched off in /hooks.
    document["hooks"]["PostCompact"].as_array_mut().expect("groups").insert(0, json!({"hooks": []}));
    document["hooks"]["Stop"][1]["hooks"][0]["command"] = json!("'/elsewhere/sessionpipe-hook' codex Stop");
    write(&file, &document.to_string());
    let table = "hooks.json:interrupt:1:0\"]\n";
    write(&home.path().join(".codex/config.toml"), &config.replace(table, &format!("{table}enabled = false\n")));
    let tail = "Codex skips them without a word";
    assert_eq!(
        texts(&check(&host)),
        [
            (
                Level::Warning,
                format!("1 of 12 hooks are not trusted ([hooks.state] in ~/.codex/config.toml does not hold them); {tail}: PostCompact").as_str()
            ),
            (Level::Warning, format!("1 of 12 hooks are changed since they were trusted; {tail}: Stop").as_str()),
            (
                Level::Warning,
                format!("1 of 12 hooks are switched off (enabled = false in [hooks.state] of ~/.codex/config.toml); {tail}: Interrupt").as_str()
            ),
        ]
    );
}

#[test]
fn hooks_in_both_files_run_twice_and_the_old_flag_is_named() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    let command = r#"\"/opt/sp/bin/sessionpipe\" hook codex Stop"#;
    write(
        &home.path().join(".codex/hooks.json"),
        &format!(r#"{{"hooks":{{"Stop":[{{"hooks":[{{"type":"command","command":"{command}","timeout":5}}]}}]}}}}"#),
    );
    let inline =
        |command: &str| format!("[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"{command}\"\n");
    let foreign = inline("/home/u/lint.sh");
    let config = format!("{NOTIFY_LINE}[features]\ncodex_hooks = true\n\n{}\n{foreign}", inline(command));
    write(&home.path().join(".codex/config.toml"), &config);
    let untrusted = "1 of 1 hooks are not trusted ([hooks.state] in ~/.codex/config.toml does not hold them); Codex skips \
                     them without a word";
    let alias = "features.codex_hooks is the deprecated name of features.hooks; Codex says so at every start";
    assert_eq!(
        texts(&check(&host)),
        [
            (Level::Note, alias),
            (Level::Problem, untrusted),
            (Level::Warning, "hooks of sessionpipe stand here and in hooks.json: Codex runs each of them twice"),
        ]
    );
    // Only others' stay inline: both run, which is all right.
    write(&home.path().join(".codex/config.toml"), &format!("{NOTIFY_LINE}{foreign}"));
    let findings = check(&host);
    let both = "it holds hooks, as ~/.codex/hooks.json does: both run, and Codex warns at every start";
    assert_eq!(texts(&findings)[1], (Level::Note, both));
}

#[test]
fn the_layer_that_switches_hooks_off_is_named() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    let user = home.path().join(".codex/config.toml");
    let system = host.etc.join("codex/config.toml");
    let policy = host.etc.join("codex/requirements.toml");
    let off = |name: &str| {
        format!("features.{name} = false: Codex runs no hooks; only the end of turns arrives, through notify")
    };
    let first = |host: &Host| {
        let finding = check(host).into_iter().next().expect("a finding");
        (finding.level, finding.file.expect("a file"), finding.text)
    };
    write(&system, "[features]\nhooks = false\n");
    write(&user, "");
    assert_eq!(first(&host), (Level::Problem, system, off("hooks")));
    let Some(Wiring::Notice { text, .. }) = wiring(&host).pop() else { panic!("no notice") };
    assert!(text.contains("features.hooks = false"), "{text}");
    write(&user, "[features]\nhooks = true\n");
    assert_eq!(check(&host), [], "the person's file decides");
    assert_eq!(wiring(&host).len(), 4, "and there is nothing to notice but the trust");
    write(&user, "[features]\ncodex_hooks = false\n");
    assert_eq!(first(&host), (Level::Problem, user.clone(), off("codex_hooks")));
    assert_eq!(check(&host).len(), 2, "and the name is old");
    write(&policy, "[features]\nhooks = false\n");
    assert_eq!(first(&host), (Level::Problem, policy.clone(), off("hooks")));
    write(&policy, "allow_managed_hooks_only = true\n");
    let text = "allow_managed_hooks_only = true: Codex runs no hooks but those of the administrator";
    assert_eq!(first(&host), (Level::Problem, policy.clone(), text.to_owned()));
    write(&policy, "allow_managed_hooks_only = \"true\"\n");
    write(&user, "");
    let project = host.cwd.join(".codex/config.toml");
    write(&project, "features = { hooks = false }\n");
    write(&host.etc.join("codex/config.toml"), "");
    let text = "features.hooks = false: in this folder Codex runs no hooks";
    assert_eq!(first(&host), (Level::Warning, project, text.to_owned()));
}

#[test]
fn one_wrong_value_and_no_hook_of_the_file_runs() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    let group = |handler: &str| format!(r#"{{"hooks":{{"Stop":[{{"hooks":[{handler}]}}]}}}}"#);
    let cases = [
        ("[]".to_owned(), Some("it is no object")),
        (r#"{"hooks":{},"extra":1}"#.into(), Some("the top-level key `extra` is neither `hooks` nor `description`")),
        (r#"{"hooks":[]}"#.into(), Some("`hooks` is no object")),
        (r#"{"hooks":{"Stop":{}}}"#.into(), Some("`Stop` is no array")),
        (r#"{"hooks":{"Stop":[{"matcher":1}]}}"#.into(), Some("a `matcher` that is no string in `Stop` 0")),
        (group(r#"{"type":"http"}"#), Some("a handler of no known `type` in `Stop` 0")),
        (group(r#"{"type":"command","command":["a"]}"#), Some("a `command` that is no string in `Stop` 0")),
        (
            group(r#"{"type":"command","command":"a","timeout":"5"}"#),
            Some("a `timeout` that is no whole number of seconds in `Stop` 0"),
        ),
        (group(r#"{"type":"command","command":"a","timeout":5,"mine":[]}"#), None),
        (r#"{"description":"d","hooks":{"Unheard":7,"Stop":[{"note":1,"hooks":[]}]}}"#.into(), None),
    ];
    for (document, fault) in cases {
        write(&home.path().join(".codex/hooks.json"), &document);
        let findings = check(&host);
        let expected = fault.map(|fault| format!("Codex runs no hook of this file: {fault}"));
        assert_eq!(findings.first().map(|finding| finding.text.clone()), expected, "{document}");
    }
    write(&home.path().join(".codex/hooks.json"), " \n");
    assert_eq!(check(&host), [], "a blank file holds nothing");
    write(&home.path().join(".codex/hooks.json"), "{\"hooks\":{},}");
    assert!(check(&host)[0].text.contains("line 1"), "{:?}", check(&host));
}

#[test]
fn notify_must_be_ours_and_at_the_top() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    write(&home.path().join(".codex/hooks.json"), &installed(&host));
    let misplaced = "[projects.\"/home/dev/proj\"]\ntrust_level = \"trusted\"\n";
    let cases = [
        ("model = \"m\"\n".to_owned(), Some((Level::Warning, "notify, the fallback for the end of turns, is not set"))),
        (
            "notify = [\"say\", \"x\"]\n".into(),
            Some((Level::Warning, "notify starts another program, and not ours before it")),
        ),
        (
            "notify = \"say\"\n".into(),
            Some((Level::Problem, "notify is no list of strings: Codex does not start with this file")),
        ),
        (
            format!("{misplaced}{NOTIFY_LINE}"),
            Some((Level::Warning, "notify of ours stands in [projects.\"/home/dev/proj\"], where Codex ignores it")),
        ),
        (NOTIFY_LINE.to_owned(), None),
        (NOTIFY_LINE.replace("\"]", "\", \"--previous-notify\", \"say\", \"--\"]"), None),
    ];
    for (config, expected) in cases {
        write(&home.path().join(".codex/config.toml"), &config);
        let findings = check(&host);
        assert_eq!(texts(&findings).get(1).copied(), expected, "{config}");
    }
    write(&home.path().join(".codex/config.toml"), "a = 1\nb = [,]\n");
    let findings = check(&host);
    assert_eq!(findings.len(), 1);
    assert!(findings[0].text.starts_with("Codex does not start with this file: "), "{findings:?}");
    assert!(findings[0].text.ends_with(" at line 2"), "{findings:?}");
}
