#![allow(clippy::disallowed_methods, reason = "tests make the files that the code reads")]

use std::ffi::OsString;

use sessionpipe_core::adapter::{Finding, Level};
use sessionpipe_core::testing::{host, write};
use tempfile::TempDir;

use super::check::check;
use super::*;

fn here() -> (TempDir, Host) {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    write(&home.path().join(".copilot/config.json"), "// User settings belong in settings.json.\n{}\n");
    (home, host)
}

/// With our file as `install` writes it.
fn installed() -> (TempDir, Host) {
    let (home, host) = here();
    write(&home.path().join(".copilot/hooks/sessionpipe.json"), &document(&host).to_string());
    (home, host)
}

fn texts(findings: &[Finding]) -> Vec<(Level, &str)> {
    findings.iter().map(|finding| (finding.level, finding.text.as_str())).collect()
}

#[test]
fn what_is_wired() {
    let home = TempDir::new().expect("a folder");
    assert_eq!(wiring(&host(home.path())), [], "Copilot CLI is not here");
    let (home, host) = here();
    let wiring = wiring(&host);
    let [Wiring::OwnedFile { file, document }, Wiring::Notice { when, text }] = wiring.as_slice() else {
        panic!("{wiring:?}")
    };
    assert_eq!(*file, home.path().join(".copilot/hooks/sessionpipe.json"));
    assert_eq!(document["version"], 1);
    let hooks = document["hooks"].as_object().expect("hooks");
    assert_eq!(hooks.len(), 12);
    for (event, handlers) in hooks {
        let command = format!(
            "[ -x '/opt/sp/bin/sessionpipe-hook' ] && '/opt/sp/bin/sessionpipe-hook' copilot-cli {event}; exit 0"
        );
        assert_eq!(*handlers, json!([{"type": "command", "bash": command, "timeoutSec": 5}]), "{event}");
    }
    assert_eq!((*when, text.contains("start them again")), (When::Changed, true));
}

#[cfg(unix)]
#[test]
fn a_program_that_is_gone_or_fails_denies_no_tool() {
    let (home, mut host) = here();
    for program in [home.path().join("gone/sessionpipe-hook"), "/bin/false".into()] {
        host.program.path = program;
        let document = document(&host);
        let command = document["hooks"]["preToolUse"][0]["bash"].as_str().expect("a command");
        let ran = std::process::Command::new("bash").args(["-c", command]).output().expect("bash");
        assert_eq!((ran.status.code(), ran.stdout.as_slice(), ran.stderr.as_slice()), (Some(0), &b""[..], &b""[..]));
    }
}

#[test]
fn copilot_home_is_literal() {
    let (home, mut host) = here();
    for (value, expected) in [
        ("", home.path().join(".copilot")),
        ("/srv/copilot", "/srv/copilot".into()),
        ("~/x", home.path().join("proj/~/x")),
    ] {
        host.env.insert("COPILOT_HOME".into(), OsString::from(value));
        assert_eq!(copilot_home(&host), expected);
    }
    let elsewhere = home.path().join("elsewhere");
    std::fs::create_dir_all(&elsewhere).expect("a folder");
    host.env.insert("COPILOT_HOME".into(), elsewhere.clone().into());
    assert_eq!(wiring(&host)[0].file(), Some(&elsewhere.join("hooks/sessionpipe.json")));
}

#[test]
fn nothing_to_say() {
    let (_home, host) = here();
    assert_eq!(check(&host), []);
    let (home, host) = installed();
    write(&home.path().join(".copilot/hooks/other.json"), r#"{"hooks":{"agentStop":[{"bash":"echo sessionpipe"}]}}"#);
    write(&home.path().join(".copilot/settings.json"), "{\n  // mine\n  \"disableAllHooks\": false,\n}\n");
    write(&home.path().join("etc/github-copilot/managed-settings.json"), r#"{"allowManagedHooksOnly": false}"#);
    assert_eq!(check(&host), []);
}

#[test]
fn a_file_of_ours_that_the_program_does_not_run() {
    let ours = |text: &str| {
        let (home, host) = here();
        let file = home.path().join(".copilot/hooks/sessionpipe.json");
        write(&file, text);
        let findings = check(&host);
        assert!(findings.iter().all(|f| f.level == Level::Problem && f.file.as_ref() == Some(&file)), "{findings:?}");
        findings.iter().map(|finding| finding.text.clone()).collect::<Vec<_>>()
    };
    let silent = |why: &str| vec![format!("Copilot CLI runs no hook of this file: {why}")];
    assert_eq!(ours(r#"{"version":2,"hooks":{}}"#), silent("its version is 2, not 1"));
    assert_eq!(ours(r#"{"version":1}"#), silent("`hooks` is no object"));
    assert_eq!(ours("[]"), silent("`hooks` is no object"));
    assert_eq!(ours("// a comment\n{}"), silent("it is not JSON: expected value at line 1 column 1"));
    assert_eq!(
        ours(r#"{"disableAllHooks":true,"hooks":{}}"#),
        ["disableAllHooks = true: Copilot CLI runs no hook of this file"]
    );
    assert_eq!(ours(r#"{"hooks":{}}"#), [""; 0], "the version may be left out");
}

#[test]
fn switches_of_the_person_and_of_the_folder() {
    let (home, host) = installed();
    write(&home.path().join(".copilot/settings.json"), "{\"disableAllHooks\": true, /* off */}");
    write(&home.path().join("proj/.github/copilot/settings.local.json"), r#"{"disableAllHooks": true}"#);
    let findings = check(&host);
    assert_eq!(
        texts(&findings),
        [
            (
                Level::Warning,
                "disableAllHooks = true: in this folder Copilot CLI runs no hooks, once the folder is trusted"
            ),
            (
                Level::Warning,
                "disableAllHooks = true is documented to switch off all hooks (1.0.102 was seen to run them anyway)"
            ),
        ]
    );
    assert!(findings.iter().all(|finding| finding.fix.as_deref() == Some("set it to false, or remove it")));
}

#[test]
fn the_administrators_hooks_alone() {
    let (home, host) = installed();
    write(&home.path().join("etc/github-copilot/managed-settings.json"), r#"{"allowManagedHooksOnly": true}"#);
    let off = "allowManagedHooksOnly = true: Copilot CLI runs no hooks but those of the administrator";
    assert_eq!(texts(&check(&host)), [(Level::Problem, off)]);
    let wiring = wiring(&host);
    let Some(Wiring::Notice { text, .. }) = wiring.last() else { panic!("{wiring:?}") };
    assert!(text.ends_with(&format!("{off}. This is left as it is: ask the administrator.")), "{text}");
}

#[test]
fn a_version_without_hooks_of_the_home() {
    let (home, host) = installed();
    let session = home.path().join(".copilot/session-state/934397b4-ae91-4dbc-8888-3d46f31a97d1/events.jsonl");
    let first = |version: &str| {
        format!(
            r#"{{"type":"session.start","data":{{"copilotVersion":"{version}","startTime":"2026-11-29T08:02:37.470Z"}}}}"#
        )
    };
    write(&session, &first("0.0.421"));
    let old = "Copilot CLI 0.0.421 is in use; before 0.0.422 it runs no hooks of the home";
    assert_eq!(texts(&check(&host)), [(Level::Problem, old)]);
    write(&session, &first("0.0.422"));
    assert_eq!(check(&host), []);
}

#[test]
fn hooks_of_ours_in_other_files() {
    const OURS: &str = "'/b/sessionpipe-hook' copilot-cli agentStop";
    let stop = |command: &str| json!({"hooks": {"agentStop": [{"bash": command}]}}).to_string();
    let twice =
        "it holds hooks of sessionpipe, as ~/.copilot/hooks/sessionpipe.json does: Copilot CLI runs each of them twice";
    let silent = "it holds hooks of sessionpipe, and Copilot CLI runs no hooks of this file";
    for (file, text) in [
        (".copilot/hooks/a/b.json", twice),
        (".copilot/settings.json", twice),
        ("proj/.github/hooks/x.json", twice),
        ("proj/.github/copilot/settings.local.json", twice),
        ("proj/.claude/settings.json", twice),
        (".copilot/config.json", silent),
        (".copilot/hooks.json", silent),
        (".copilot/settings.local.json", silent),
    ] {
        let (home, host) = installed();
        write(&home.path().join(file), &stop("'/b/sessionpipe-hook' claude-code Stop"));
        assert_eq!(check(&host), [], "{file}: another harness's");
        write(&home.path().join(file), &stop(OURS));
        let findings = check(&host);
        assert_eq!(texts(&findings), [(Level::Warning, text)], "{file}");
        assert_eq!(findings[0].file, Some(home.path().join(file)));
    }
    // The program reads none of these.
    let (home, host) = installed();
    for file in [".copilot/hooks/.x.json", ".copilot/hooks/x.jsonc", "proj/.copilot/hooks/x.json"] {
        write(&home.path().join(file), &stop(OURS));
    }
    assert_eq!(check(&host), []);
    let (home, host) = here();
    write(&home.path().join(".copilot/settings.json"), &stop(OURS));
    let only = "it holds hooks of sessionpipe; they belong into ~/.copilot/hooks/sessionpipe.json";
    assert_eq!(texts(&check(&host)), [(Level::Warning, only)]);
}

#[cfg(unix)]
#[test]
fn odd_files_end_no_check() {
    let (home, host) = here();
    let hooks = home.path().join(".copilot/hooks");
    std::fs::create_dir_all(hooks.join("sessionpipe.json")).expect("a folder in its place");
    std::os::unix::fs::symlink(&hooks, hooks.join("loop")).expect("a link");
    write(&home.path().join(".copilot/settings.json"), "{");
    std::fs::write(home.path().join(".copilot/hooks.json"), b"\xff\xfe").expect("a file");
    assert_eq!(
        texts(&check(&host)),
        [(Level::Problem, "Copilot CLI runs no hook of this file: it cannot be read: it is not a regular file")]
    );
}
