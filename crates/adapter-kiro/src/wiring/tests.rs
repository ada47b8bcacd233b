#![allow(clippy::disallowed_methods, reason = "tests make the files that the code reads")]

use std::ffi::OsString;

use sessionpipe_core::adapter::{Finding, Level};
use sessionpipe_core::testing::{host, write};
use tempfile::TempDir;

use super::check::check;
use super::*;

fn command(event: &str) -> String {
    format!("[ -x '/opt/sp/bin/sessionpipe-hook' ] && '/opt/sp/bin/sessionpipe-hook' kiro {event}; exit 0")
}

fn texts(findings: &[Finding]) -> Vec<(Level, &str)> {
    findings.iter().map(|finding| (finding.level, finding.text.as_str())).collect()
}

/// The hook file as `install` makes it.
fn install(host: &Host) -> PathBuf {
    let file = host.home.join(".kiro/hooks/sessionpipe.json");
    write(&file, &document(host).to_string());
    file
}

/// An agent with a hook of ours.
fn agent(host: &Host, name: &str) -> PathBuf {
    let file = host.home.join(format!(".kiro/agents/{name}.json"));
    write(&file, &json!({"name": name, "hooks": {"stop": [{"command": command("stop")}]}}).to_string());
    file
}

#[test]
fn one_file_of_ours_and_nothing_else_without_a_wish() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    assert_eq!(wiring(&host), [], "Kiro is not here");
    write(&home.path().join(".kiro/agents/b.json"), r#"{"name":"b"}"#);
    write(&home.path().join(".kiro/agents/a.json"), "{");
    write(&home.path().join(".kiro/agents/c.md"), "---\nname: c\n---\n");
    write(&home.path().join(".kiro/agents/example.json.bak"), "{}");
    write(&home.path().join(".kiro/agents/new.json"), r#"{"name":"new","hooks":[]}"#);
    let wiring = wiring(&host);
    let [
        Wiring::OwnedFile { file, document },
        Wiring::OnRequest { option: "kiro-agents", wiring: agent },
        Wiring::Notice { when: When::Changed, text },
    ] = wiring.as_slice()
    else {
        panic!("{wiring:?}")
    };
    assert_eq!(*file, home.path().join(".kiro/hooks/sessionpipe.json"));
    let hook = |event: &str| {
        json!({"name": format!("sessionpipe {event}"), "trigger": event,
            "action": {"type": "command", "command": command(event)}, "timeout": 5})
    };
    let events =
        ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "PostFileCreate", "PostFileSave", "PostFileDelete"];
    assert_eq!(*document, json!({"version": "v1", "hooks": events.map(hook)}));
    let Wiring::HookEntries { file, at, needs, entries, jsonc } = agent.as_ref() else { panic!("{agent:?}") };
    assert_eq!(*file, home.path().join(".kiro/agents/b.json"));
    assert_eq!((*at, *needs, *jsonc), (&["hooks"][..], &[][..], false));
    let entry = |event| HookEntry { event, value: json!({"command": command(event), "timeout_ms": 5000}) };
    assert_eq!(*entries, ["agentSpawn", "userPromptSubmit", "postToolUse", "stop"].map(entry));
    assert!(text.starts_with("Kiro reads hooks when a session starts"), "{text}");
}

#[cfg(unix)]
#[test]
fn a_missing_program_does_no_harm() {
    // Where ours is not: any output would go into the model's context, any failure would be shown or block a prompt.
    let mut host = host(Path::new("/home/dev"));
    host.program.path = "/nowhere/it's/sessionpipe-hook".into();
    for event in HARNESS.wired(None) {
        let command = super::command(&host, event.name);
        let done = std::process::Command::new("sh").args(["-c", &command]).output().expect("a shell");
        assert!(done.status.success() && done.stdout.is_empty() && done.stderr.is_empty(), "{command}: {done:?}");
    }
}

#[test]
fn who_uses_the_cli_is_told_of_its_agents() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    write(&home.path().join(".kiro/sessions/cli/x.jsonl"), "");
    let Some(Wiring::Notice { text, .. }) = wiring(&host).pop() else { panic!("no notice") };
    let way = "the agents in ~/.kiro/agents need hooks of their own: sessionpipe install --kiro-agents.";
    assert!(text.contains(way), "{text}");
}

#[test]
fn kiro_home_moves_everything() {
    let home = TempDir::new().expect("a folder");
    let mut host = host(home.path());
    for (value, expected) in
        [("", home.path().join(".kiro")), ("/srv/kiro", "/srv/kiro".into()), ("~/x", host.cwd.join("~/x"))]
    {
        host.env.insert("KIRO_HOME".into(), OsString::from(value));
        assert_eq!(kiro_home(&host), expected);
    }
    let other = home.path().join("other");
    host.env.insert("KIRO_HOME".into(), other.clone().into());
    write(&other.join("settings/cli.json"), "{}");
    assert_eq!(wiring(&host)[0].file(), Some(&other.join("hooks/sessionpipe.json")));
}

#[test]
fn nothing_of_ours_nothing_to_say() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    assert_eq!(check(&host), []);
    write(
        &home.path().join(".kiro/hooks/lint.json"),
        r#"{"version":"v1","hooks":[{"name":"l","trigger":"Stop","matcher":"*","action":{"type":"command","command":"true"},"enabled":false}]}"#,
    );
    write(&home.path().join(".kiro/agents/dev.json"), r#"{"name":"dev","hooks":{"Stop":[{"hooks":[]}]}}"#);
    write(&home.path().join(".kiro/agents/broken.json"), "{");
    write(&home.path().join(".kiro/sessions/cli/x.jsonl"), "");
    assert_eq!(check(&host), []);
}

#[test]
fn what_is_installed_is_fine() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    install(&host);
    assert_eq!(check(&host), [], "the IDE alone");
    agent(&host, "dev");
    write(&home.path().join(".kiro/sessions/cli/x.jsonl"), "");
    write(&home.path().join(".kiro/settings/cli.json"), r#"{"chat.defaultAgent":"dev"}"#);
    assert_eq!(check(&host), [], "the CLI, too");
}

#[test]
fn a_cli_whose_agents_are_not_wired_is_silent_without_v3() {
    let home = TempDir::new().expect("a folder");
    let mut host = host(home.path());
    install(&host);
    write(&home.path().join("bin/kiro-cli"), "");
    host.env.insert("PATH".into(), home.path().join("bin").into());
    let findings = check(&host);
    let text = "kiro-cli runs the hooks of this file only with --v3, and no agent holds ours";
    assert_eq!(texts(&findings), [(Level::Note, text)]);
    assert_eq!(findings[0].fix.as_deref(), Some("sessionpipe install --kiro-agents"));
}

#[test]
fn hooks_that_were_switched_off_or_given_a_matcher() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    let file = install(&host);
    let mut changed = document(&host);
    changed["hooks"][3]["enabled"] = json!(false);
    changed["hooks"][2]["matcher"] = json!("*");
    write(&file, &changed.to_string());
    assert_eq!(
        texts(&check(&host)),
        [
            (Level::Warning, "1 of 7 hooks are switched off (enabled: false): Stop"),
            (Level::Warning, "1 of 7 hooks are dropped by Kiro (matcher: \"*\" is no regular expression): PostToolUse"),
        ]
    );
    for hook in changed["hooks"].as_array_mut().expect("hooks") {
        hook["enabled"] = json!(false);
    }
    write(&file, &changed.to_string());
    assert_eq!(check(&host)[0].level, Level::Problem);
    changed["version"] = json!(1);
    write(&file, &changed.to_string());
    let text = "Kiro runs no hook of this file: it needs `version` \"v1\" and a list of `hooks`";
    assert_eq!(texts(&check(&host)), [(Level::Problem, text)]);
}

#[test]
fn hooks_of_ours_in_two_files_run_twice() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    install(&host);
    let old = home.path().join(".kiro/hooks/old.json");
    let workspace = host.cwd.join(".kiro/hooks/team.json");
    for file in [&old, &workspace] {
        write(file, &document(&host).to_string());
    }
    let findings = check(&host);
    let text = "hooks of sessionpipe stand here and in ~/.kiro/hooks/sessionpipe.json: Kiro runs them twice";
    assert_eq!(texts(&findings), [(Level::Warning, text); 2]);
    let files: Vec<_> = findings.iter().filter_map(|finding| finding.file.clone()).collect();
    assert_eq!(files, [old, workspace]);
}

#[test]
fn an_agent_that_the_cli_does_not_load() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    let file = agent(&host, "dev");
    write(&home.path().join(".kiro/settings/cli.json"), r#"{"chat.defaultAgent":"dev"}"#);
    let ours = json!({"command": command("stop")});
    for (hooks, fault) in [
        (json!({"stop": [{"hooks": [ours]}]}), "an entry of `stop` has no `command` of its own"),
        (json!({"stop": [ours], "Stop": []}), "`Stop` is no event of an agent's"),
        (json!({"stop": [ours], "sessionStart": []}), "`sessionStart` is no event of an agent's"),
        (json!({"stop": [ours], "agentSpawn": {}}), "`agentSpawn` is no list"),
    ] {
        write(&file, &json!({"name": "dev", "hooks": hooks}).to_string());
        let text = format!("kiro-cli does not load this agent and runs its built-in one without a word: {fault}");
        assert_eq!(texts(&check(&host)), [(Level::Problem, text.as_str())]);
    }
}

#[test]
fn only_the_agent_that_runs_fires() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    agent(&host, "dev");
    let settings = home.path().join(".kiro/settings/cli.json");
    let findings = check(&host);
    let text = "chat.defaultAgent is not set: kiro-cli runs its built-in agent, which has no hooks";
    assert_eq!(texts(&findings), [(Level::Warning, text)]);
    assert_eq!(findings[0].fix.as_deref(), Some("kiro-cli agent set-default dev, or start it with --agent dev"));
    write(&settings, r#"{"chat.defaultAgent":"other"}"#);
    let text = "chat.defaultAgent is other, an agent without hooks of ours";
    assert_eq!(texts(&check(&host)), [(Level::Warning, text)]);
    write(&settings, r#"{"chat.defaultAgent":"dev"}"#);
    write(&host.cwd.join(".kiro/agents/dev.json"), r#"{"name":"dev"}"#);
    let findings = check(&host);
    let text = "in this folder it runs instead of ~/.kiro/agents/dev.json, and holds no hook of ours";
    assert_eq!(texts(&findings), [(Level::Warning, text)]);
    assert_eq!(findings[0].file, Some(host.cwd.join(".kiro/agents/dev.json")));
}
