//! As the harness does it: the command is read from the config that `install` wrote and run by a shell in a clean
//! environment, for whole recorded sessions.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use sessionpipe_core::testing::{Call, Fixture};

use crate::environment::TestEnvironment;

fn scenario(harness: &str, name: &str) -> Fixture {
    let folder =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../conformance/harness").join(harness).join("scenarios");
    Fixture::load(&folder).into_iter().find(|fixture| fixture.path.ends_with(name)).expect("the scenario")
}

/// The command of an event, as the harness finds it.
fn command(hooks: &Value, event: &str) -> Option<String> {
    let groups = hooks["hooks"][event].as_array()?;
    let handlers = groups.iter().flat_map(|group| group["hooks"].as_array().into_iter().flatten());
    handlers
        .filter_map(|handler| handler["command"].as_str())
        .find(|command| command.contains("sessionpipe"))
        .map(str::to_owned)
}

/// The `notify` argv with its payload behind it, as words of a shell.
fn notify(config: &str, payload: &str) -> String {
    let document: toml_edit::DocumentMut = config.parse().expect("TOML");
    let argv =
        document["notify"].as_array().expect("notify").iter().filter_map(|word| word.as_str().map(str::to_owned));
    let quoted = |word: String| format!("'{}'", word.replace('\'', r"'\''"));
    argv.chain([payload.to_owned()]).map(quoted).collect::<Vec<_>>().join(" ")
}

fn play(environment: &TestEnvironment, fixture: &Fixture, config: &str) {
    let hooks: Value = serde_json::from_str(&environment.read(config)).expect("JSON");
    let mut printed = Vec::new();
    let calls: Vec<Call> = fixture.calls(&environment.home());
    for call in &calls {
        for (path, text) in &call.files {
            environment.write(&path.display().to_string(), text);
        }
        let cwd = call.cwd.as_deref().map(Path::new);
        std::fs::create_dir_all(cwd.unwrap_or(&environment.home())).expect("its folder");
        let command = match call.argv.get(2) {
            Some(payload) => notify(&environment.read(".codex/config.toml"), payload),
            None => command(&hooks, &call.argv[1]).unwrap_or_else(|| panic!("no hook of ours for {}", call.argv[1])),
        };
        let said = environment.hook_with(&command, &call.stdin, &call.env, cwd);
        assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{command}");
        printed.push(said.stdout);
    }
    environment.expect(0, &["flush"]);
    let said = environment.expect(0, &["tail", "--json", "--tier", "3"]);
    let events: Vec<Value> = said.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    fixture
        .check(&environment.home(), &printed, &events)
        .unwrap_or_else(|why| panic!("{}: {why}", fixture.path.display()));
    gap_free(&events);
}

fn gap_free(events: &[Value]) {
    let mut next: BTreeMap<&str, u64> = BTreeMap::new();
    for event in events {
        let seq = next.entry(event["session"]["id"].as_str().expect("an id")).or_default();
        assert_eq!(event["session"]["seq"], *seq);
        *seq += 1;
    }
}

#[test]
fn a_session_of_claude_code() {
    let environment = TestEnvironment::with_agents();
    let before = environment.files();
    environment.expect(0, &["install", "--yes"]);
    play(&environment, &scenario("claude-code", "2.1.328-parallel-tools.json"), ".claude/settings.json");
    environment.expect(0, &["uninstall", "--yes"]);
    let after = environment.files();
    assert!(before.iter().all(|(path, bytes)| after.get(path) == Some(bytes)), "every byte is back");
}

#[test]
fn a_session_of_codex() {
    let environment = TestEnvironment::with_agents();
    let before = environment.files();
    environment.expect(0, &["install", "--yes"]);
    play(&environment, &scenario("codex", "0.171.0-shell.json"), ".codex/hooks.json");
    environment.expect(0, &["uninstall", "--yes"]);
    let after = environment.files();
    assert!(before.iter().all(|(path, bytes)| after.get(path) == Some(bytes)), "every byte is back");
}

#[test]
fn two_hundred_hooks_at_once() {
    const SESSIONS: usize = 20;
    const CALLS: usize = 10;
    let environment = TestEnvironment::new();
    let hook = environment.home().join(".cargo/bin/sessionpipe-hook");
    let call = |session: usize, call: usize| {
        let payload = json!({"session_id": format!("s{session}"), "hook_event_name": "PreToolUse", "cwd": "/",
            "tool_name": "Bash", "tool_use_id": format!("c{call}"), "tool_input": {"command": "ls"}});
        let file = environment.write(&format!("payloads/{session}-{call}"), &payload.to_string());
        let mut command = environment.command(&hook);
        command.args(["claude-code", "PreToolUse"]).stdin(File::open(file).expect("its payload"));
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts")
    };
    // The first of them starts the worker, which takes while the others come.
    std::thread::scope(|scope| {
        for session in 0..SESSIONS {
            let call = &call;
            scope.spawn(move || {
                let hooks: Vec<_> = (0..CALLS).map(|nr| call(session, nr)).collect();
                hooks.into_iter().for_each(|mut hook| assert!(hook.wait().expect("it ends").success()));
            });
        }
    });
    environment.expect(0, &["flush"]);
    let said = environment.expect(0, &["tail", "--json", "--tier", "3"]);
    let events: Vec<Value> = said.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    gap_free(&events);
    let seen: BTreeSet<(&str, &str)> = events
        .iter()
        .map(|event| {
            let what = event["data"]["call_id"].as_str().or(event["type"].as_str()).expect("a type");
            (event["session"]["id"].as_str().expect("an id"), what)
        })
        .collect();
    assert_eq!(seen.len(), SESSIONS * (CALLS + 1), "each call of each session, and its start");
    assert_eq!(events.len(), seen.len(), "each once");
    assert!(seen.iter().all(|(_, what)| *what == "session.started" || what.starts_with('c')));
}
