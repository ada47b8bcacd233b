#![allow(clippy::disallowed_methods, reason = "tests make the files that the code reads")]

use std::fs;
use std::path::Path;

use sessionpipe_core::adapter::{Finding, Level};
use sessionpipe_core::command::owned;
use sessionpipe_core::testing::host;
use tempfile::TempDir;

use super::check::check;
use super::*;

fn home() -> TempDir {
    let home = TempDir::new().expect("a folder");
    fs::create_dir(home.path().join(".cursor")).expect("a folder");
    home
}

fn hooks(home: &Path, text: &str) {
    fs::write(home.join(".cursor/hooks.json"), text).expect("a file");
}

/// A cursor-agent as its installer leaves it.
#[cfg(unix)]
fn agent(home: &Path, version: &str) {
    let program = home.join(".local/share/cursor-agent/versions").join(version).join("cursor-agent");
    fs::create_dir_all(program.parent().expect("a folder")).expect("a folder");
    fs::write(&program, "").expect("a file");
    fs::create_dir_all(home.join(".local/bin")).expect("a folder");
    std::os::unix::fs::symlink(program, home.join(".local/bin/cursor-agent")).expect("a link");
}

fn entries(wiring: &[Wiring]) -> &[HookEntry] {
    let [Wiring::HookEntries { entries, .. }, ..] = wiring else { panic!("{wiring:?}") };
    entries
}

fn texts(findings: &[Finding]) -> Vec<(Level, &str)> {
    findings.iter().map(|finding| (finding.level, finding.text.as_str())).collect()
}

#[test]
fn what_is_wired() {
    let home = home();
    let host = host(home.path());
    let wiring = wiring(&host);
    let [Wiring::HookEntries { file, at, needs, entries, jsonc }] = wiring.as_slice() else { panic!("{wiring:?}") };
    assert_eq!(*file, home.path().join(".cursor/hooks.json"));
    assert_eq!((*at, *needs, *jsonc), (&["hooks"][..], &[("version", 1)][..], false));
    assert_eq!(entries.len(), 9);
    for entry in entries {
        let command = format!("'/opt/sp/bin/sessionpipe-hook' cursor {}", entry.event);
        assert_eq!(entry.value, json!({"command": command, "timeout": 5}));
        assert_eq!(owned(&command).map(|owned| owned.harness).as_deref(), Some("cursor"));
        // For a URL in a command cursor-agent ignores the whole file.
        assert!(!command.contains("://"));
    }
}

#[test]
fn a_hook_never_stands_where_an_answer_that_fails_is_a_no() {
    let home = home();
    let gates = [
        "preToolUse",
        "beforeShellExecution",
        "beforeMCPExecution",
        "beforeReadFile",
        "beforeTabFileRead",
        "subagentStart",
    ];
    let wiring = wiring(&host(home.path()));
    assert!(entries(&wiring).iter().all(|entry| !gates.contains(&entry.event)));
    assert!(gates.iter().all(|gate| HARNESS.event(gate).is_some()));
}

#[test]
fn nothing_is_wired_where_cursor_is_not() {
    let home = TempDir::new().expect("a folder");
    assert_eq!(wiring(&host(home.path())), []);
}

#[test]
fn the_variable_moves_the_folder() {
    let home = home();
    let mut host = host(home.path());
    for (value, expected) in
        [("", home.path().join(".cursor")), ("/srv/c", "/srv/c".into()), ("~/x", host.cwd.join("~/x"))]
    {
        host.env.insert(DIR_VAR.into(), value.into());
        assert_eq!(config_dir(&host), expected);
    }
    let relative = "CURSOR_CONFIG_DIR is \"~/x\": it leads elsewhere in each folder";
    assert_eq!(texts(&check(&host)), [(Level::Warning, relative)]);
    assert_eq!(wiring(&host), [], "there is no such folder");
    let other = home.path().join("other");
    fs::create_dir(&other).expect("a folder");
    host.env.insert(DIR_VAR.into(), other.clone().into());
    assert_eq!(wiring(&host)[0].file(), Some(&other.join("hooks.json")));
    assert_eq!(check(&host), []);
}

#[cfg(unix)]
#[test]
fn an_old_command_line_gets_the_names_that_it_knows() {
    let home = home();
    agent(home.path(), "2026.07.22-a");
    let host = host(home.path());
    let wired = wiring(&host);
    let names: Vec<_> = entries(&wired).iter().map(|entry| entry.event).collect();
    assert_eq!(names, ["beforeSubmitPrompt", "stop"]);
    let [_, Wiring::Notice { when: When::Changed, text }] = wired.as_slice() else { panic!("{wired:?}") };
    assert!(text.starts_with("cursor-agent 2026.07.22-a may ignore a whole hooks.json"), "{text}");

    hooks(home.path(), r#"{"version":1,"hooks":{"stop":[{"command":"x"}],"sessionEnd":[{"command":"x"}]}}"#);
    let expected = "cursor-agent 2026.07.22-a may not know hooks.sessionEnd: then it ignores the whole file";
    assert_eq!(texts(&check(&host)), [(Level::Warning, expected)]);
}

#[cfg(unix)]
#[test]
fn the_oldest_that_knows_all_gets_all() {
    let home = home();
    agent(home.path(), "2026.07.23-a");
    let wiring = wiring(&host(home.path()));
    assert_eq!((entries(&wiring).len(), wiring.len()), (9, 1));
}

#[test]
fn a_file_that_cursor_reads_is_fine() {
    let home = home();
    let host = host(home.path());
    assert_eq!(check(&host), []);
    for text in [
        "",
        " \n",
        "\u{feff}{\"version\":1}",
        r#"{"version":1,"hooks":{}}"#,
        r#"{"version":1,"hooks":{"preToolUse":[{"command":"./gate.sh","matcher":"Shell","failClosed":true}],
            "stop":[{"type":"prompt","prompt":"Look at http://localhost once more."},{"type":"command","command":"x"}],
            "workspaceOpen":[]},"other":{}}"#,
    ] {
        hooks(home.path(), text);
        assert_eq!(check(&host), [], "{text}");
    }
}

#[test]
fn what_makes_cursor_ignore_the_file() {
    let home = home();
    let host = host(home.path());
    let problem = |text: &str, expected: &str| {
        hooks(home.path(), text);
        let findings = check(&host);
        let [finding] = findings.as_slice() else { panic!("{text}: {findings:?}") };
        assert_eq!(finding.level, Level::Problem);
        assert_eq!(finding.file, Some(home.path().join(".cursor/hooks.json")));
        assert!(finding.text.starts_with(expected) && finding.fix.is_some(), "{finding:?}");
    };
    problem(
        "{\"version\":1,}",
        "Cursor runs no hook of this file: it is not strict JSON (no comments, no trailing commas): ",
    );
    problem("// mine\n{\"version\":1}", "Cursor runs no hook of this file: it is not strict JSON");
    problem("[]", "Cursor runs no hook of this file: it is no JSON object");
    problem(r#"{"version":1,"hooks":[]}"#, "Cursor runs no hook of this file: hooks is no object");
    let ignores = "cursor-agent ignores the whole file for it";
    let entry = |event: &str, value: &str| format!(r#"{{"version":1,"hooks":{{"{event}":{value}}}}}"#);
    problem(&entry("notification", "[]"), &format!("hooks.notification is no event of Cursor's: {ignores}"));
    problem(&entry("stop", "{}"), &format!("hooks.stop is no list: {ignores}"));
    problem(&entry("stop", r#"[{"command":"x"},{}]"#), &format!("hooks.stop[1] has no command: {ignores}"));
    problem(&entry("stop", r#"[{"type":"prompt","command":"x"}]"#), &format!("hooks.stop[0] has no prompt: {ignores}"));
    problem(
        &entry("stop", r#"[{"command":"curl http://localhost:1"}]"#),
        &format!("hooks.stop[0] has a URL in its command: {ignores}"),
    );
}

#[test]
fn the_format_has_a_version() {
    let home = home();
    let host = host(home.path());
    let warning = |text: &str, expected: &str| {
        hooks(home.path(), text);
        assert_eq!(texts(&check(&host)), [(Level::Warning, expected)]);
    };
    warning("{}", "there is no \"version\": 1 in it: Cursor may refuse the file");
    warning(r#"{"version":2}"#, "\"version\" is 2: Cursor knows 1 only");
    warning(r#"{"version":"1"}"#, "\"version\" is \"1\": Cursor knows 1 only");
}
