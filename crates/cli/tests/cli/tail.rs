//! `sessionpipe tail` and `sessionpipe flush`

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::Value;

use crate::environment::TestEnvironment;

fn hook(environment: &TestEnvironment, harness: &str, event: &str, payload: &str) {
    let program = environment.home().join(".cargo/bin/sessionpipe-hook");
    let said = environment.hook(&format!("{} {harness} {event}", program.display()), payload);
    assert_eq!((said.code, said.stdout.as_str(), said.stderr.as_str()), (0, "", ""));
}

fn session(environment: &TestEnvironment) {
    let home = environment.home().display().to_string();
    let payload =
        |session: &str, rest: &str| format!("{{\"session_id\":\"{session}\",\"cwd\":\"{home}/src/app\"{rest}}}");
    hook(environment, "claude-code", "SessionStart", &payload("aaaa-1", ",\"source\":\"startup\""));
    hook(
        environment,
        "claude-code",
        "UserPromptSubmit",
        &payload("aaaa-1", ",\"prompt\":\"run it\",\"prompt_id\":\"p1\""),
    );
    let tool = ",\"tool_name\":\"Bash\",\"tool_use_id\":\"t1\",\"tool_input\":{\"command\":\"cargo test\"}";
    hook(environment, "claude-code", "PreToolUse", &payload("aaaa-1", tool));
    hook(
        environment,
        "claude-code",
        "PostToolUse",
        &payload("aaaa-1", &format!("{tool},\"tool_response\":{{}},\"duration_ms\":1200")),
    );
    hook(environment, "claude-code", "Stop", &payload("aaaa-1", ""));
    hook(environment, "codex", "SessionStart", &payload("bbbb-2", ",\"source\":\"startup\""));
}

fn types(environment: &TestEnvironment, args: &[&str]) -> Vec<String> {
    let said = environment.expect(0, &[&["tail", "--json"], args].concat());
    let kind =
        |line: &str| serde_json::from_str::<Value>(line).expect("JSON")["type"].as_str().expect("a type").to_owned();
    said.stdout.lines().map(kind).collect()
}

#[test]
fn lines_for_a_person() {
    let environment = TestEnvironment::new();
    session(&environment);
    let said = environment.expect(0, &["tail", "--tier", "3"]);
    let lines: Vec<&str> = said.stdout.lines().collect();
    let without_time: Vec<&str> = lines.iter().map(|line| line.split_at_checked(10).expect("a time").1).collect();
    assert_eq!(without_time[0], "claude-code  app                     session started   startup");
    assert_eq!(without_time[1], "claude-code  app                     turn started      6 chars");
    assert_eq!(
        without_time[2],
        "claude-code  app                     Bash              cargo test                          …"
    );
    assert_eq!(
        without_time[3],
        "claude-code  app                     Bash              ok                              1.2 s"
    );
    assert!(
        without_time[4].starts_with("claude-code  app                     turn ended        stop "),
        "{}",
        said.stdout
    );
    assert_eq!(without_time[5], "codex        app                     session started   startup");
    assert_eq!(without_time.len(), 6);
    for line in lines {
        let digits = |range: std::ops::Range<usize>| line[range].bytes().all(|b| b.is_ascii_digit());
        assert!(digits(0..2) && digits(3..5) && digits(6..8) && line[2..3] == *":", "{line}");
    }
}

#[test]
fn filters() {
    let environment = TestEnvironment::new();
    session(&environment);
    let all = ["session.started", "turn.started", "tool.started", "tool.ended", "turn.ended", "session.started"];
    assert_eq!(types(&environment, &[]), all);
    assert_eq!(
        types(&environment, &["--tier", "0"]),
        ["session.started", "turn.started", "turn.ended", "session.started"]
    );
    assert_eq!(types(&environment, &["--harness", "codex"]), ["session.started"]);
    assert_eq!(types(&environment, &["--session", "aaaa"]), all[..5]);
    assert_eq!(types(&environment, &["--since", "1h"]), all);
    assert_eq!(types(&environment, &["--since", "2099-01-01"]).len(), 0);
    environment.expect(2, &["tail", "--harness", "nobody"]);
}

#[test]
fn each_tier_shows_what_it_may() {
    let environment = TestEnvironment::new();
    session(&environment);
    let third = |tier: &str, index: usize| -> Value {
        let said = environment.expect(0, &["tail", "--json", "--tier", tier]);
        serde_json::from_str(said.stdout.lines().nth(index).expect("a line")).expect("JSON")
    };
    assert_eq!(third("1", 2)["data"].get("input"), None);
    assert_eq!(third("3", 2)["data"]["input"]["command"], "cargo test");
    assert_eq!(third("0", 1)["data"].get("prompt_chars"), None);
    assert_eq!(third("1", 1)["data"]["prompt_chars"], 6);
    assert_eq!((third("0", 0)["tier"].clone(), third("2", 0)["tier"].clone()), (0.into(), 2.into()));
}

#[test]
fn it_follows_from_before_there_is_an_outbox() {
    let environment = TestEnvironment::new();
    let mut tail = environment
        .command(environment.home().join(".cargo/bin/sessionpipe"))
        .args(["tail", "-f", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(tail.stdout.take().expect("stdout")).lines();
    session(&environment);
    let expected = ["session.started", "turn.started", "tool.started", "tool.ended", "turn.ended", "session.started"];
    for (seq, kind) in [0, 1, 2, 3, 4, 0].into_iter().zip(expected) {
        let event: Value = serde_json::from_str(&lines.next().expect("a line").expect("UTF-8")).expect("JSON");
        assert_eq!((event["type"].as_str(), event["session"]["seq"].as_u64()), (Some(kind), Some(seq)));
    }
    tail.kill().expect("it runs still");
    tail.wait().expect("it ends");
}

#[test]
fn it_stops_when_nobody_reads_any_more() {
    let environment = TestEnvironment::new();
    session(&environment);
    let mut tail = environment
        .command(environment.home().join(".cargo/bin/sessionpipe"))
        .args(["tail", "-f", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(tail.stdout.take().expect("stdout")).lines();
    for _ in 0..6 {
        lines.next().expect("a line").expect("UTF-8");
    }
    // As `head` does; no further event comes.
    drop(lines);
    let said = tail.wait_with_output().expect("it ends");
    assert_eq!((said.status.code(), String::from_utf8_lossy(&said.stderr).as_ref()), (Some(0), ""));
}

#[test]
fn a_spool_that_is_none_is_said() {
    let environment = TestEnvironment::new();
    session(&environment);
    environment.expect(0, &["flush"]);
    std::fs::remove_dir_all(environment.state().join("spool")).expect("a spool");
    std::fs::write(environment.state().join("spool"), "").expect("a file");
    let said = environment.expect(1, &["flush"]);
    assert!(said.stderr.starts_with("error: cannot use the spool: cannot open "), "{}", said.stderr);
    assert_eq!(types(&environment, &[]).len(), 6, "what is kept is shown all the same");
}

#[test]
fn no_event_is_said_beside_the_output() {
    let environment = TestEnvironment::new();
    for args in [&["tail"][..], &["tail", "--since", "-10m"]] {
        let said = environment.expect(0, args);
        let text = "No event to show. When each agent was last heard of: sessionpipe status\n";
        assert_eq!((said.stdout.as_str(), said.stderr.as_str()), ("", text));
    }
    let said = environment.expect(0, &["tail", "--json"]);
    assert_eq!((said.stdout.as_str(), said.stderr.as_str()), ("", ""));
}

#[test]
fn flush_says_what_it_took() {
    let environment = TestEnvironment::new();
    assert_eq!(environment.expect(0, &["flush"]).stdout, "0 hook calls taken.\n");
    assert!(!environment.state().exists(), "nothing is made for nothing");
    session(&environment);
    let flushed = environment.json(0, &["flush", "--json"]);
    assert_eq!(flushed["left"], 0);
    assert_eq!(types(&environment, &[]).len(), 6);
}

#[test]
fn the_machine_is_called_as_the_person_says() {
    let environment = TestEnvironment::new();
    environment.write(".config/sessionpipe/config.toml", "machine = \"laptop\"\n");
    hook(&environment, "codex", "SessionStart", "{\"session_id\":\"s\"}");
    let said = environment.expect(0, &["tail", "--json"]);
    let event: Value = serde_json::from_str(said.stdout.trim()).expect("one event");
    assert_eq!(event["session"]["machine"], "laptop");
}
