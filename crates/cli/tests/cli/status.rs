//! `sessionpipe status`

use insta::assert_snapshot;

use crate::environment::TestEnvironment;

/// What `status` says, without the line of those that are not here.
fn without_absent(environment: &TestEnvironment) -> String {
    let text = environment.expect(0, &["status"]).stdout;
    let (absent, here): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with("not found here: "));
    let others = sessionpipe::registry::HARNESSES.iter().map(|harness| harness.name);
    let others: Vec<_> = others.filter(|name| !["claude-code", "codex"].contains(name)).collect();
    assert_eq!(absent, [format!("not found here: {}", others.join(", "))]);
    here.join("\n")
}

#[test]
fn before_and_after_an_install() {
    let environment = TestEnvironment::with_agents();
    assert_snapshot!(without_absent(&environment), @"
    claude-code  2.1.328  ~/.claude/settings.json  not wired  no event yet
    codex        found    ~/.codex/hooks.json      not wired  no event yet
    codex        found    ~/.codex/config.toml     not wired

    To wire what is not: sessionpipe install
    ");
    environment.expect(0, &["install", "--yes"]);
    assert_snapshot!(without_absent(&environment), @r#"
    claude-code  2.1.328  ~/.claude/settings.json  wired, 16 hooks  no event yet
    codex        found    ~/.codex/hooks.json      wired, 12 hooks  no event yet
    codex        found    ~/.codex/config.toml     wired, 1 hook

      ! codex: 12 of 12 hooks are not trusted ([hooks.state] in ~/.codex/config.toml does not hold them); Codex skips them without a word: start `codex`, choose "Review hooks" and trust the hooks of sessionpipe (later: /hooks)

    Why an agent is silent: sessionpipe doctor
    "#);
}

#[test]
fn what_is_not_as_it_must_be() {
    let environment = TestEnvironment::with_agents();
    environment.expect(0, &["install", "--yes"]);
    let wired = environment.read(".claude/settings.json");
    environment.write(".claude/settings.json", &wired.replace(".cargo/bin/sessionpipe-hook", "old/sessionpipe-hook"));
    environment.write(".codex/hooks.json", "{\"hooks\": 7}");
    let text = environment.tidy(&environment.expect(0, &["status"]).stdout);
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].contains("stale: ") && lines[0].contains(" (and 15 more); [HOME]/old/sessionpipe-hook cannot be run"),
        "{text}"
    );
    assert!(lines[1].contains("refused: line 1, column 11: hooks must be an object, not a number"), "{text}");
    environment.write(".claude/settings.json", "{\n  \"model\": \"opus\"\n}\n");
    let text = environment.expect(0, &["status"]).stdout;
    assert!(
        text.contains("gone: the hooks were here on 20") && text.contains("the rest of the file is there"),
        "{text}"
    );
}

#[test]
fn when_it_was_last_heard_of() {
    let environment = TestEnvironment::with_agents();
    let hook = environment.home().join(".cargo/bin/sessionpipe-hook");
    environment
        .hook(&format!("{} claude-code Stop", hook.display()), "{\"session_id\":\"s\",\"hook_event_name\":\"Stop\"}");
    environment.expect(0, &["flush"]);
    let text = environment.expect(0, &["status"]).stdout;
    let line = text.lines().next().unwrap_or_default();
    assert!(line.contains("last event ") && line.ends_with(" s ago"), "{text}");
}
