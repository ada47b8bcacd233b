use std::path::Path;

use sessionpipe_core::adapter::{Finding, Level};
use sessionpipe_core::testing::{host, write};
use tempfile::TempDir;

use super::check::check;
use super::*;

/// A home with these settings, in which folders need no trust.
fn home(settings: &str) -> (TempDir, Host) {
    let home = TempDir::new().expect("a folder");
    let mut host = host(home.path());
    write(&home.path().join(".gemini/settings.json"), settings);
    host.env.insert("GEMINI_CLI_TRUST_WORKSPACE".to_owned(), "true".into());
    (home, host)
}

fn entries(host: &Host) -> Vec<HookEntry> {
    match wiring(host).into_iter().next() {
        Some(Wiring::HookEntries { entries, .. }) => entries,
        other => panic!("{other:?}"),
    }
}

fn notices(host: &Host) -> Vec<(When, String)> {
    let notice = |wiring| match wiring {
        Wiring::Notice { when, text } => Some((when, text)),
        _ => None,
    };
    wiring(host).into_iter().filter_map(notice).collect()
}

fn texts(host: &Host) -> Vec<(Level, String)> {
    check(host).into_iter().map(|Finding { level, text, .. }| (level, text)).collect()
}

#[test]
fn what_is_wired() {
    let (home, host) = home("{}");
    let Some(Wiring::HookEntries { file, at, needs, jsonc, .. }) = wiring(&host).into_iter().next() else {
        panic!("{:?}", wiring(&host))
    };
    assert_eq!(file, home.path().join(".gemini/settings.json"));
    assert_eq!((at, needs, jsonc), (&["hooks"][..], &[][..], true));
    let entries = entries(&host);
    let names: Vec<_> = entries.iter().map(|entry| entry.event).collect();
    assert_eq!(
        names,
        [
            "SessionStart",
            "BeforeAgent",
            "BeforeTool",
            "Notification",
            "AfterTool",
            "PreCompress",
            "AfterAgent",
            "SessionEnd"
        ]
    );
    for entry in entries {
        let command = format!("'/opt/sp/bin/sessionpipe-hook' gemini-cli {}", entry.event);
        // Milliseconds: 5 would kill it.
        let hooks = json!([{"name": "sessionpipe", "type": "command", "command": command, "timeout": 5000}]);
        let group = match entry.event {
            "PreCompress" => json!({"matcher": "manual", "hooks": hooks}),
            _ => json!({"hooks": hooks}),
        };
        assert_eq!(entry.value, group);
    }
}

#[test]
fn nothing_is_wired_where_it_is_not() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    assert_eq!(wiring(&host), []);
    assert_eq!(check(&host), []);
}

#[test]
fn a_dollar_in_the_path_names_no_variable() {
    let (_home, mut host) = home("{}");
    host.program.path = "/srv/a$HOME;b/${X}/sessionpipe-hook".into();
    let command = entries(&host)[0].value["hooks"][0]["command"].as_str().expect("a command").to_owned();
    assert_eq!(command, "'/srv/a$''HOME;b/$''{X}/sessionpipe-hook' gemini-cli SessionStart");
    let ours = sessionpipe_core::command::owned(&command).expect("ours");
    assert_eq!(ours.program, "/srv/a$HOME;b/${X}/sessionpipe-hook", "the shell reads it as it was");
}

#[test]
fn another_home_is_taken_literally() {
    let (home, mut host) = home("{}");
    for (value, file) in [
        ("", home.path().join(".gemini/settings.json")),
        ("/srv/person", "/srv/person/.gemini/settings.json".into()),
        ("~/x", host.cwd.join("~/x/.gemini/settings.json")),
    ] {
        host.env.insert("GEMINI_CLI_HOME".to_owned(), value.into());
        assert_eq!(user_settings(&host), file);
    }
    write(&host.cwd.join("~/x/.gemini/settings.json"), "{}");
    let text = "GEMINI_CLI_HOME is \"~/x\": Gemini CLI takes that literally, expands no ~, and looks in the folder where \
                it is started";
    assert_eq!(texts(&host), [(Level::Warning, text.to_owned())]);
}

#[test]
fn the_switch_is_reported_and_left_alone() {
    let (home, host) =
        home(r#"{"hooksConfig": {"enabled": false, "disabled": ["sessionpipe"]}, "ui": {"theme": "x"}}"#);
    assert_eq!(
        texts(&host),
        [
            (Level::Problem, "hooksConfig.enabled is false: Gemini CLI runs no hooks".to_owned()),
            (
                Level::Problem,
                "hooksConfig.disabled names the hooks of sessionpipe: Gemini CLI does not run them".to_owned()
            ),
        ]
    );
    let finding = check(&host).remove(0);
    assert_eq!(finding.file, Some(home.path().join(".gemini/settings.json")));
    assert_eq!(finding.fix.as_deref(), Some("set hooksConfig.enabled to true, or remove it"));
    let notice = "~/.gemini/settings.json: hooksConfig.enabled is false: Gemini CLI runs no hooks. This is left as it \
                  is: set hooksConfig.enabled to true, or remove it.";
    assert!(notices(&host).contains(&(When::Changed, notice.to_owned())), "{:?}", notices(&host));
}

#[test]
fn the_layer_that_switches_hooks_off_is_named() {
    let off = r#"{"hooksConfig": {"enabled": false}}"#;
    let on = r#"{"hooksConfig": {"enabled": true}}"#;
    let (home, host) = home("{}");
    let user = home.path().join(".gemini/settings.json");
    let defaults = host.etc.join("gemini-cli/system-defaults.json");
    let system = host.etc.join("gemini-cli/settings.json");
    let workspace = host.cwd.join(".gemini/settings.json");
    let named = |host: &Host| {
        check(host).into_iter().map(|finding| (finding.level, finding.file.expect("a file"))).collect::<Vec<_>>()
    };
    write(&defaults, off);
    assert_eq!(named(&host), [(Level::Problem, defaults)]);
    write(&user, on);
    assert_eq!(named(&host), [], "the person's counts more");
    write(&workspace, off);
    assert_eq!(named(&host), [(Level::Warning, workspace)], "there alone");
    write(&system, on);
    assert_eq!(named(&host), [], "the machine's counts most");
    write(&system, off);
    assert_eq!(named(&host), [(Level::Problem, system)]);
}

#[test]
fn the_machines_settings_may_lie_elsewhere() {
    let (home, mut host) = home("{}");
    let system = home.path().join("policy/gemini.json");
    write(&system, r#"{"hooksConfig": {"enabled": false}}"#);
    host.env.insert("GEMINI_CLI_SYSTEM_SETTINGS_PATH".to_owned(), system.clone().into());
    assert_eq!(check(&host)[0].file, Some(system));
}

#[test]
fn hooks_that_are_switched_off_by_name_or_command_are_reported() {
    let ours = "'/old/sessionpipe-hook' gemini-cli BeforeTool";
    let (_home, host) = home(&format!(r#"{{"hooksConfig": {{"disabled": ["other", "{ours}"]}}}}"#));
    let text = "hooksConfig.disabled names the hooks of sessionpipe: Gemini CLI does not run them";
    assert_eq!(texts(&host), [(Level::Problem, text.to_owned())]);
    let (_home, host) = home(r#"{"hooksConfig": {"disabled": ["other", 7, "echo sessionpipe"]}}"#);
    assert_eq!(texts(&host), []);
    // `/hooks disable` writes into the folder's settings.
    write(&host.cwd.join(".gemini/settings.json"), r#"{"hooksConfig": {"disabled": ["sessionpipe"]}}"#);
    let text = "hooksConfig.disabled names the hooks of sessionpipe: in this folder Gemini CLI does not run them";
    assert_eq!(texts(&host), [(Level::Warning, text.to_owned())]);
    let (_home, host) = home(r#"{"hooks": {"disabled": ["sessionpipe"]}}"#);
    let text = "hooks.disabled names the hooks of sessionpipe: versions before 0.26.0 do not run them";
    assert_eq!(texts(&host), [(Level::Note, text.to_owned())]);
}

#[test]
fn an_old_version_has_hooks_off_by_default() {
    let (home, mut host) = home("{}");
    let package = home.path().join("lib/node_modules/@google/gemini-cli");
    write(&package.join("package.json"), r#"{"name":"@google/gemini-cli","version":"0.20.2"}"#);
    write(&package.join("bundle/gemini"), "");
    host.env.insert("PATH".to_owned(), package.join("bundle").into());
    let text = "version 0.20.2 runs hooks only where tools.enableHooks is true; from 0.26.0 on they run by default";
    assert_eq!(texts(&host), [(Level::Warning, text.to_owned())]);
    write(&package.join("package.json"), r#"{"name":"@google/gemini-cli","version":"0.61.0"}"#);
    assert_eq!(texts(&host), []);
}

#[test]
fn comments_are_fine_and_what_keeps_it_from_starting_is_said() {
    let (_home, host) = home("// mine\n{ /* empty */ }\n");
    assert_eq!(texts(&host), []);
    assert!(notices(&host).iter().all(|(when, _)| *when == When::Changed));
    for (settings, why) in [
        ("{\n \"ui\": {},\n}\n", "it is not JSON with comments: Trailing commas are not allowed on line 2 column 10"),
        ("\u{feff}{}", "it begins with a byte order mark"),
    ] {
        let (_home, host) = home(settings);
        let text = format!("Gemini CLI does not start before this file is mended: {why}");
        assert_eq!(texts(&host), [(Level::Problem, text)]);
        let notice = format!("~/.gemini/settings.json: {why}. Gemini CLI does not start before that is mended.");
        assert_eq!(notices(&host).last(), Some(&(When::Always, notice)));
    }
    // An empty one is mended by the install itself.
    let (_home, host) = home(" \n");
    let text = "Gemini CLI does not start before this file is mended: it is empty";
    assert_eq!(texts(&host), [(Level::Problem, text.to_owned())]);
    assert!(notices(&host).iter().all(|(when, _)| *when == When::Changed));
}

#[test]
fn the_notice_on_telemetry_says_what_is_true() {
    let said = |settings: &str| {
        let (_home, host) = home(settings);
        let notices = notices(&host).into_iter().map(|(_, text)| text);
        notices.filter(|text| text.contains("telemetry")).collect::<Vec<_>>()
    };
    let off = "Gemini CLI's own telemetry is off. Where it is switched on (telemetry.enabled), it holds your prompts unless \
               telemetry.logPrompts is false. sessionpipe changes neither.";
    let on = "Gemini CLI's own telemetry is on (telemetry.enabled), and holds your prompts: telemetry.logPrompts is not \
              false. sessionpipe changes neither.";
    assert_eq!(said("{}"), [off]);
    assert_eq!(said(r#"{"telemetry": {"logPrompts": true}}"#), [off]);
    assert_eq!(said(r#"{"telemetry": {"enabled": true}}"#), [on]);
    let without = "Gemini CLI's own telemetry is on (telemetry.enabled), without your prompts.";
    assert_eq!(said(r#"{"telemetry": {"enabled": true, "logPrompts": false}}"#), [without]);
}

/// A home in which folders have to be trusted, with three that Gemini CLI worked in.
fn untrusted(settings: &str, trusted: &str) -> (TempDir, Host, Vec<(Level, String)>) {
    let (home, mut host) = home(settings);
    host.env.clear();
    let folder = |name: &str| home.path().join("src").join(name).display().to_string();
    for name in ["a", "b", "c"] {
        write(&home.path().join("src").join(name).join("x"), "");
    }
    let registry = format!(
        r#"{{"projects": {{"{}": "a", "{}": "b", "{}": "c", "/nowhere/any/more": "d"}}}}"#,
        folder("a"),
        folder("b"),
        folder("c")
    );
    write(&home.path().join(".gemini/projects.json"), &registry);
    let trusted = trusted.replace('~', &home.path().display().to_string());
    write(&home.path().join(".gemini/trustedFolders.json"), &trusted);
    let texts = texts(&host);
    (home, host, texts)
}

#[test]
fn folders_without_trust_are_silent() {
    let silent = |n: usize, names: &str| {
        format!(
            "{n} of 3 folders that Gemini CLI worked in are not trusted: there it runs no hooks of settings.json: {names}"
        )
    };
    let (home, host, texts) = untrusted("{}", "{}");
    assert_eq!(texts, [(Level::Problem, silent(3, "~/src/a, ~/src/b, ~/src/c"))]);
    assert_eq!(check(&host)[0].file, Some(home.path().join(".gemini/trustedFolders.json")));
    assert!(notices(&host)[0].1.contains("only in folders that you trust"));
    let (_home, _host, texts) = untrusted("{}", r#"{"~/src": "TRUST_FOLDER", "~/src/b": "DO_NOT_TRUST"}"#);
    assert_eq!(texts, [(Level::Warning, silent(1, "~/src/b"))]);
    let (_home, _host, texts) = untrusted("{}", r#"{"~/src/a": "TRUST_PARENT"}"#);
    assert_eq!(texts, []);
    let off = r#"{"security": {"folderTrust": {"enabled": false}}}"#;
    let (_home, host, texts) = untrusted(off, "{}");
    assert_eq!(texts, [], "nothing has to be trusted");
    assert!(!notices(&host)[0].1.contains("only in folders that you trust"));
    // A folder does not decide about itself.
    let (_home, host, _) = untrusted("{}", "{}");
    write(&host.cwd.join(".gemini/settings.json"), off);
    assert_eq!(self::texts(&host).len(), 1);
}

#[test]
fn the_environment_may_decide_on_trust() {
    let (_home, mut host, _) = untrusted("{}", "{}");
    host.env.insert("GEMINI_CLI_TRUST_WORKSPACE".to_owned(), "true".into());
    assert_eq!(texts(&host), []);
    host.env.insert("GEMINI_RESTRICTED_MODE".to_owned(), "true".into());
    let text = "GEMINI_RESTRICTED_MODE or GEMINI_CLI_TRUST_WORKSPACE says that no folder is trusted: Gemini CLI runs no \
                hooks of settings.json";
    assert_eq!(texts(&host), [(Level::Problem, text.to_owned())]);
}

#[test]
fn a_broken_list_of_trusted_folders_is_named() {
    let (_home, _host, texts) = untrusted("{}", "[]");
    let text = "Gemini CLI does not start before this file is mended: it is no object";
    assert_eq!(texts, [(Level::Problem, text.to_owned())]);
}

#[test]
fn in_the_home_itself_the_folders_settings_are_the_persons() {
    let (home, mut host) = home(r#"{"hooksConfig": {"enabled": false}}"#);
    host.cwd = home.path().to_owned();
    assert_eq!(texts(&host).len(), 1);
    assert_eq!(check(&host)[0].level, Level::Problem);
    assert_eq!(layers(&host).len(), 1);
    assert!(Path::new(&layers(&host)[0].file).starts_with(home.path()));
}
