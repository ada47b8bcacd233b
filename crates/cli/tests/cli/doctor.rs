//! `sessionpipe doctor`

use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::environment::TestEnvironment;

fn harness<'a>(doctor: &'a Value, name: &str) -> &'a Value {
    let harnesses = doctor["harnesses"].as_array().expect("harnesses");
    harnesses.iter().find(|harness| harness["name"] == name).expect("the harness")
}

/// A session of Claude Code, written so many minutes from now.
fn session(environment: &TestEnvironment, id: u32, minutes: u64) {
    let path = environment.write(
        &format!(".claude/projects/-w/{id:08}-2222-4222-8222-222222222222.jsonl"),
        &format!(
            "{{\"type\":\"user\",\"version\":\"2.1.328\",\"sessionId\":\"{id:08}-2222-4222-8222-222222222222\"}}\n"
        ),
    );
    let file = std::fs::File::options().append(true).open(path).expect("the session");
    file.set_modified(SystemTime::now() + Duration::from_secs(60 * minutes)).expect("a time");
}

#[test]
fn all_is_well() {
    let environment = TestEnvironment::with_agents();
    assert!(environment.expect(0, &["doctor"]).stdout.ends_with("\nno agent is wired\n"));
    environment.expect(0, &["install", "--yes", "--harness", "claude-code"]);
    let said = environment.expect(0, &["doctor"]);
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert!(
        lines[0].starts_with("hook         ")
            && lines[0].contains(" ms p50, ")
            && lines[0].contains("(20 runs); /bin/true is "),
        "{}",
        said.stdout
    );
    assert_eq!(lines[1], "claude-code  ok         16 hooks in 1 file, no event yet");
    assert_eq!(lines[2], "codex        not wired  no hook of ours is in its config");
    assert_eq!(lines[3], "                        → sessionpipe install --harness codex");
    assert!(lines[4].starts_with("not found here: ") && !lines[4].contains("codex"), "{}", lines[4]);
    assert_eq!(lines[5], "outbox       empty; nothing lost");
    assert_eq!(lines[6..], ["all is well"]);
}

#[test]
fn sessions_go_on_and_nothing_arrives() {
    let environment = TestEnvironment::with_agents();
    environment.expect(0, &["install", "--yes", "--harness", "claude-code"]);
    session(&environment, 1, 10);
    session(&environment, 2, 11);
    let doctor = environment.json(1, &["doctor", "--json"]);
    let claude = harness(&doctor, "claude-code");
    assert_eq!((&claude["state"], &claude["attention"]), (&"silent".into(), &true.into()));
    let text = claude["findings"][0]["text"].as_str().expect("a sentence");
    assert!(
        text.starts_with("16 hooks wired on 20") && text.ends_with("; 2 sessions written since, no event arrived"),
        "{text}"
    );
    assert_eq!(doctor["attention"], Value::from(vec!["claude-code"]));

    // Anything that arrives shows that the channel works, even what cannot be used.
    let hook = environment.home().join(".cargo/bin/sessionpipe-hook");
    environment.hook(&format!("{} claude-code NoSuchEvent", hook.display()), "{\"session_id\":\"s\"}");
    environment.expect(0, &["flush"]);
    session(&environment, 1, 1);
    session(&environment, 2, 1);
    let doctor = environment.json(0, &["doctor", "--json", "--quarantine"]);
    assert_eq!(harness(&doctor, "claude-code")["state"], "ok");
    assert_eq!(doctor["outbox"]["quarantined"], 1);
    assert_eq!(doctor["quarantine"][0]["event"], "NoSuchEvent");
    let said = environment.expect(0, &["doctor", "--quarantine"]);
    assert!(
        said.stdout
            .contains("claude-code  NoSuchEvent  the native event \"NoSuchEvent\" is not one that this harness has"),
        "{}",
        said.stdout
    );
}

#[test]
fn notices_of_a_turns_end_that_have_stopped() {
    let environment = TestEnvironment::with_agents();
    environment.expect(0, &["install", "--yes", "--harness", "codex"]);
    let thread = "01a22b7a-b376-7283-bb91-8cdae1a00b78";
    let notice = serde_json::json!({"type": "agent-turn-complete", "thread-id": thread, "turn-id": "t", "cwd": "/w", "client": "codex_exec", "input-messages": []});
    let hook = environment.home().join(".cargo/bin/sessionpipe-hook");
    environment.hook(&format!("{} codex notify '{notice}'", hook.display()), "");
    environment.expect(0, &["flush"]);
    let rollout = environment.write(
        &format!(".codex/sessions/2026/11/30/rollout-2026-11-30T08-03-11-{thread}.jsonl"),
        &format!("{{\"type\":\"session_meta\",\"payload\":{{\"id\":\"{thread}\",\"cli_version\":\"0.171.0\"}}}}\n"),
    );
    let said = || {
        let doctor = environment.run(&["doctor", "--json"]).stdout;
        let doctor: Value = serde_json::from_str(&doctor).expect("JSON");
        harness(&doctor, "codex")["findings"].to_string().contains("the last notify was")
    };
    assert!(!said());
    let later = SystemTime::now() + Duration::from_secs(25 * 60 * 60);
    std::fs::File::options().append(true).open(rollout).and_then(|file| file.set_modified(later)).expect("a time");
    assert!(said());
}

#[test]
fn hooks_that_are_gone_dead_or_switched_off() {
    let environment = TestEnvironment::with_agents();
    environment.expect(0, &["install", "--yes", "--harness", "claude-code"]);
    let wired = environment.read(".claude/settings.json");
    let state = |text: &str| {
        environment.write(".claude/settings.json", text);
        let doctor = environment.json(1, &["doctor", "--json"]);
        let claude = harness(&doctor, "claude-code");
        (claude["state"].as_str().expect("a state").to_owned(), claude["findings"].to_string())
    };
    let (word, findings) = state("{\"model\": \"opus\"}\n");
    assert!(
        word == "gone" && findings.contains("close Claude Code, then: sessionpipe install --harness claude-code"),
        "{findings}"
    );
    let (word, findings) = state(&wired.replace(".cargo/bin/sessionpipe-hook", "gone/sessionpipe-hook"));
    assert!(word == "silent" && findings.contains("cannot be run"), "{findings}");
    let (word, findings) = state(&wired.replacen('{', "{\"disableAllHooks\": true,", 1));
    assert!(word == "silent" && findings.contains("disableAllHooks"), "{findings}");
    let (word, findings) = state("{\"hooks\": [");
    assert!(word == "refused" && findings.contains("mend the file"), "{findings}");
}

#[test]
fn hooks_that_are_not_trusted() {
    let environment = TestEnvironment::with_agents();
    environment.expect(0, &["install", "--yes", "--harness", "codex"]);
    let codex = || harness(&environment.json(1, &["doctor", "--json"]), "codex").clone();
    let untrusted = codex();
    assert_eq!(untrusted["state"], "silent");
    let text = untrusted["findings"][0]["text"].as_str().expect("a sentence");
    assert!(text.starts_with("12 of 12 hooks are not trusted"), "{text}");
    // `notify` needs no trust: something arrives, but not all.
    let hook = environment.home().join(".cargo/bin/sessionpipe-hook");
    environment.hook(&format!("{} codex Stop", hook.display()), "{\"session_id\":\"s\"}");
    environment.expect(0, &["flush"]);
    assert_eq!(codex()["state"], "warning");
}

#[test]
fn a_broken_outbox_and_broken_settings_are_said() {
    let environment = TestEnvironment::new();
    std::fs::create_dir_all(environment.state()).expect("a folder");
    std::fs::write(
        environment.state().join("outbox.db"),
        "no database, but long enough to be taken for one ".repeat(40),
    )
    .expect("a file");
    environment.write(".config/sessionpipe/config.toml", "machine = 7\n");
    let said = environment.expect(1, &["doctor"]);
    assert!(said.stdout.contains(
            "outbox  the outbox is damaged: file is not a database; to put it aside and begin a new one: sessionpipe flush\n"
        ), "{}", said.stdout);
    assert!(
        said.stdout.contains(
            "config  ~/.config/sessionpipe/config.toml: line 1, column 11: `machine` must be a string, not an integer\n"
        ),
        "{}",
        said.stdout
    );
    assert!(said.stdout.ends_with("needs attention: the outbox, the settings\n"), "{}", said.stdout);
}

#[test]
fn counters_that_cannot_count_are_said() {
    let environment = TestEnvironment::new();
    std::fs::create_dir_all(environment.state()).expect("a folder");
    std::fs::write(environment.state().join("losses"), "x").expect("a file");
    let said = environment.expect(1, &["doctor"]);
    let line = "outbox  empty; nothing known to be lost; ~/.local/state/sessionpipe/losses counts no losses (invalid data): remove it\n";
    assert!(said.stdout.contains(line), "{}", said.stdout);
    assert!(said.stdout.ends_with("needs attention: the outbox\n"), "{}", said.stdout);
}

#[test]
fn a_redirected_state_is_said() {
    let mut environment = TestEnvironment::new();
    let elsewhere = environment.home().join("elsewhere").display().to_string();
    environment.var("SESSIONPIPE_HOME", &elsewhere);
    let said = environment.run(&["doctor"]);
    assert!(said.stdout.contains("state   SESSIONPIPE_HOME moves our folders to ~/elsewhere/state"), "{}", said.stdout);
}
