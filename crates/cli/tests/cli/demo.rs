//! `sessionpipe demo`

use serde_json::Value;

use crate::environment::TestEnvironment;

#[test]
fn it_shows_a_session_and_leaves_nothing() {
    let mut environment = TestEnvironment::with_agents();
    let temporary = environment.home().join("tmp");
    std::fs::create_dir_all(&temporary).expect("a folder");
    environment.var("TMPDIR", &environment.home().join("tmp").display().to_string());
    // The guard wants the home under the temporary folder, so this one is left out.
    environment.var("SESSIONPIPE_TEST", "0");
    let before = environment.files();
    let said = environment.expect(0, &["demo"]);
    assert!(
        said.stdout.starts_with("Claude Code: 23 hook calls of a recorded session, through the real hook\n"),
        "{}",
        said.stdout
    );
    assert!(
        said.stdout.contains("needs you         permission: Bash")
            && said.stdout.contains("turn ended        interrupt"),
        "{}",
        said.stdout
    );
    assert!(
        said.stdout.ends_with(
            "The throwaway home is gone; nothing of yours was touched.\nNext: sessionpipe install --dry-run\n"
        ),
        "{}",
        said.stdout
    );
    assert_eq!(environment.files(), before);
    assert_eq!(std::fs::read_dir(temporary).expect("a folder").count(), 0);
    assert!(!environment.state().exists());
}

#[test]
fn its_events_are_the_protocols() {
    let environment = TestEnvironment::new();
    let said = environment.expect(0, &["demo", "--harness", "codex", "--json"]);
    let events: Vec<Value> = said.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let kinds: Vec<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    assert_eq!(kinds.first(), Some(&"session.started"));
    assert_eq!(kinds.last(), Some(&"session.ended"));
    assert_eq!(kinds.iter().filter(|kind| **kind == "attention.needed").count(), 2);
    for (seq, event) in events.iter().enumerate() {
        assert_eq!(event["session"]["seq"].as_u64(), u64::try_from(seq).ok());
        assert_eq!(event["harness"]["name"], "codex");
    }
}
