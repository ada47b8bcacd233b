#![allow(clippy::disallowed_methods, reason = "tests make the files that the code reads")]

use std::fs;

use sessionpipe_core::adapter::{Finding, Level};
use sessionpipe_core::testing::{host, write};
use tempfile::TempDir;

use super::check::check;
use super::*;

fn texts(findings: &[Finding]) -> Vec<(Level, &str)> {
    findings.iter().map(|finding| (finding.level, finding.text.as_str())).collect()
}

fn command(event: &str) -> String {
    let program = "'/opt/sp/bin/sessionpipe-hook'";
    format!("[ -x {program} ] && {program} antigravity {event}; exit 0")
}

/// The findings about a hooks.json.
fn found_in(hooks: &str) -> Vec<Finding> {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    write(&hooks_file(&host), hooks);
    check(&host)
}

#[test]
fn what_is_wired() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    assert_eq!(wiring(&host), [], "Antigravity is not here");
    fs::create_dir_all(home.path().join(".gemini/antigravity-cli")).expect("a folder");
    let wiring = wiring(&host);
    let [Wiring::HookEntries { file, at, needs, entries, jsonc }, Wiring::Notice { when, text }] = wiring.as_slice()
    else {
        panic!("{wiring:?}")
    };
    assert_eq!(*file, home.path().join(".gemini/config/hooks.json"));
    assert_eq!((*at, *needs, *jsonc), (&["sessionpipe"][..], &[][..], false));
    let handler = |event| json!({"type": "command", "command": command(event), "timeout": 5});
    let written: Vec<_> = entries.iter().map(|entry| (entry.event, entry.value.clone())).collect();
    assert_eq!(
        written,
        [
            ("PreInvocation", handler("PreInvocation")),
            ("PostToolUse", json!({"matcher": "*", "hooks": [handler("PostToolUse")]})),
            ("Stop", handler("Stop")),
        ]
    );
    assert_eq!(*when, When::Changed);
    assert!(text.contains("restart"), "{text}");
}

#[test]
fn the_start_of_a_session_is_wired_where_the_version_has_it() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    let events = |version: (u64, u64, u64)| {
        let version = Version::new(version.0, version.1, version.2);
        entries(&host, Some(&version)).into_iter().map(|entry| entry.event).collect::<Vec<_>>()
    };
    assert_eq!(events((1, 1, 18)), ["PreInvocation", "PostToolUse", "Stop"]);
    assert_eq!(events((1, 1, 26)), ["SessionStart", "PreInvocation", "PostToolUse", "Stop"]);
    let start = &entries(&host, Some(&Version::new(1, 2, 7)))[0].value;
    assert_eq!(*start, json!({"type": "command", "command": command("SessionStart"), "timeout": 5}));
}

#[test]
fn what_install_writes_is_fine() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    let ours: serde_json::Map<_, _> =
        entries(&host, None).into_iter().map(|entry| (entry.event.to_owned(), json!([entry.value]))).collect();
    let document = json!({"lint": {"Stop": [{"command": "x"}], "enabled": false}, "sessionpipe": ours});
    assert_eq!(found_in(&document.to_string()), []);
    assert_eq!(check(&host), [], "no file, nothing to say");
}

#[test]
fn one_wrong_value_and_nobodys_hooks_run() {
    let cases = [
        ("{\"a\":{}} // ours", "it is not strict JSON (no comments, no trailing commas): trailing characters"),
        ("{\"a\":{},}", "it is not strict JSON (no comments, no trailing commas): trailing comma"),
        ("\u{feff}{}", "it begins with a byte order mark"),
        ("[]", "it is no object"),
        ("{\"version\":1}", "`version` is no object"),
        ("{\"hooks\":{\"Stop\":{}}}", "`hooks.Stop` is no array"),
        ("{\"a\":{\"enabled\":\"no\"}}", "`a.enabled` is neither true nor false"),
    ];
    for (document, fault) in cases {
        let findings = found_in(document);
        assert_eq!((findings.len(), findings[0].level), (1, Level::Problem), "{document}");
        let start = format!("Antigravity runs no hook of this file, whoever's: {fault}");
        assert!(findings[0].text.starts_with(&start), "{findings:?}");
    }
    for fine in ["", " \n", "{}", "{\"a\":{\"Unheard\":7,\"Stop\":[]}}"] {
        assert_eq!(found_in(fine), [], "{fine}");
    }
}

#[test]
fn an_entry_before_every_tool_is_a_danger() {
    let gate = |name: &str| {
        let group = r#"{"matcher":"*","hooks":[{"type":"command","command":"\"/opt/sp/bin/sessionpipe\" hook antigravity PreToolUse","timeout":5}]}"#;
        format!(
            r#"{{"{name}":{{"enabled":true,"PreToolUse":[{group}]}},"other":{{"PreToolUse":[{{"matcher":"*","hooks":[{{"command":"x"}}]}}]}}}}"#
        )
    };
    let text = |name: &str| {
        format!(
            "`{name}.PreToolUse` holds a hook of sessionpipe: Antigravity asks it before every tool, and denies the tool when it fails"
        )
    };
    let findings = found_in(&gate("sessionpipe"));
    assert_eq!(texts(&findings), [(Level::Warning, text("sessionpipe").as_str())]);
    assert_eq!(findings[0].fix.as_deref(), Some("sessionpipe install --harness antigravity"));
    let findings = found_in(&gate("mine"));
    let elsewhere = "hooks of sessionpipe stand below `mine`; they belong below `sessionpipe`";
    assert_eq!(texts(&findings), [(Level::Warning, elsewhere), (Level::Warning, text("mine").as_str())]);
    assert_eq!(findings[1].fix.as_deref(), Some("remove the hooks of sessionpipe there"), "install leaves it");
}

#[test]
fn a_hook_in_the_wrong_shape_is_dropped_without_a_word() {
    let handler = |event: &str| json!({"type": "command", "command": command(event)});
    let document = json!({"sessionpipe": {
        "PreInvocation": [{"matcher": "*", "hooks": [handler("PreInvocation")]}],
        "PostToolUse": [handler("PostToolUse")],
        "Stop": [handler("Stop"), {"hooks": [{"command": "x"}]}],
    }});
    let text = |event: &str, shape: &str| {
        format!("`sessionpipe.{event}` holds a hook of sessionpipe that is not {shape}: it is dropped")
    };
    assert_eq!(
        texts(&found_in(&document.to_string())),
        [
            (Level::Warning, text("PreInvocation", "a plain handler").as_str()),
            (Level::Warning, text("PostToolUse", "a group with a matcher").as_str()),
        ]
    );
}

#[test]
fn a_name_that_is_switched_off_is_silent() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    let notices = || wiring(&host).into_iter().filter(|wiring| matches!(wiring, Wiring::Notice { .. })).count();
    write(&hooks_file(&host), r#"{"sessionpipe":{},"other":{"enabled":false}}"#);
    assert_eq!(notices(), 1, "only the restart");
    let document = json!({"sessionpipe": {"enabled": false, "Stop": [{"command": command("Stop")}]}});
    write(&hooks_file(&host), &document.to_string());
    assert_eq!(
        texts(&check(&host)),
        [(Level::Problem, "`sessionpipe.enabled` is false: Antigravity runs none of the hooks below it")]
    );
    let Some(Wiring::Notice { text, .. }) = wiring(&host).pop() else { panic!("no notice") };
    let expected = "~/.gemini/config/hooks.json: `sessionpipe.enabled` is false: Antigravity runs none of the hooks below it. \
                    This is left as it is: set it to true, or remove it.";
    assert_eq!(text, expected);
}

#[test]
fn hooks_in_files_that_it_does_not_read_are_named() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    let hooks = |harness: &str| {
        let command = command("Stop").replace("antigravity", harness);
        json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}}).to_string()
    };
    let settings = home.path().join(".gemini/settings.json");
    write(&settings, &hooks("another-harness"));
    assert_eq!(check(&host), [], "those are another's");
    write(&settings, &hooks("antigravity"));
    write(&home.path().join(".gemini/antigravity/hooks.json"), &hooks("antigravity"));
    write(&home.path().join(".gemini/antigravity-cli/hooks.json"), "{ // no JSON");
    let text = "hooks of sessionpipe stand here; Antigravity reads ~/.gemini/config/hooks.json";
    let findings = check(&host);
    assert_eq!(texts(&findings), [(Level::Note, text), (Level::Note, text)]);
    assert_eq!(findings[0].file, Some(settings));
}

#[test]
fn a_projects_own_hooks_run_beside_ours_unless_they_have_our_name() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    let file = host.cwd.join(".agents/hooks.json");
    let hooks = |name: &str| json!({name: {"Stop": [{"command": command("Stop")}]}}).to_string();
    write(&file, &hooks("sessionpipe"));
    assert_eq!(check(&host), []);
    write(&file, &hooks("mine"));
    let text = "hooks of sessionpipe stand here, too: in this project they run twice";
    assert_eq!(texts(&check(&host)), [(Level::Warning, text)]);
}

#[test]
fn with_an_api_key_hooks_may_be_silent() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    let settings = home.path().join(".gemini/antigravity-cli/settings.json");
    write(&settings, r#"{"modelProvider":"vertex"}"#);
    assert_eq!(check(&host), []);
    write(&settings, r#"{"modelProvider":"gemini"}"#);
    let text = "modelProvider is gemini: with an API key, agy was seen to run no hooks (1.1.22)";
    assert_eq!(texts(&check(&host)), [(Level::Warning, text)]);
}
