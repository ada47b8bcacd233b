//! `sessionpipe sink`, `forget` and `replay`, and what `flush`, `status` and `doctor` say of sinks.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::environment::TestEnvironment;
use crate::receiver::{Act, Receiver, say};

const TOKEN: &str = "tok-0123456789";

/// A hook call in a folder of the home.
fn call(environment: &TestEnvironment, session: &str, folder: &str, event: &str, more: &Value) {
    let cwd = environment.home().join(folder);
    let mut payload = json!({"session_id": session, "hook_event_name": event, "cwd": cwd});
    payload.as_object_mut().expect("members").extend(more.as_object().expect("members").clone());
    let program = environment.home().join(".cargo/bin/sessionpipe-hook");
    let said = environment.hook(&format!("{} claude-code {event}", program.display()), &payload.to_string());
    assert_eq!((said.code, said.stdout.as_str(), said.stderr.as_str()), (0, "", ""));
}

/// Four events: session and turn begin, a tool, the end of the turn.
fn turn(environment: &TestEnvironment, session: &str, folder: &str) {
    let tool = json!({"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "cargo test"}});
    call(environment, session, folder, "SessionStart", &json!({"source": "startup"}));
    call(environment, session, folder, "UserPromptSubmit", &json!({"prompt": "run it", "prompt_id": "p1"}));
    call(environment, session, folder, "PreToolUse", &tool);
    call(
        environment,
        session,
        folder,
        "PostToolUse",
        &json!({"tool_name": "Bash", "tool_use_id": "t1", "tool_response": {}}),
    );
    call(environment, session, folder, "Stop", &json!({}));
}

const TURN: usize = 5;

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

fn events(environment: &TestEnvironment) -> Vec<Value> {
    lines(&environment.expect(0, &["tail", "--json", "--tier", "3"]).stdout)
}

#[test]
fn a_file_gets_every_event_at_its_tier() {
    let environment = TestEnvironment::new();
    turn(&environment, "s1", "app");
    let said = environment.expect(0, &["sink", "add", "~/agents.jsonl", "--tier", "1", "--from", "start"]);
    let head = "agents.jsonl → [HOME]/agents.jsonl\nTier 1 sends which agent works where";
    assert!(environment.tidy(&said.stdout).starts_with(head), "{}", said.stdout);
    assert!(said.stdout.contains("nothing of what tools are given or give back"), "{}", said.stdout);
    assert!(said.stdout.contains("An event of this machine as it leaves:\n{\n"), "{}", said.stdout);
    assert!(said.stdout.contains("\"type\": \"tool."), "the one that tells most: {}", said.stdout);
    assert!(!said.stdout.contains("cargo test"), "but no more than the tier: {}", said.stdout);
    turn(&environment, "s2", "app");
    environment.expect(0, &["flush"]);
    let got = lines(&environment.read("agents.jsonl"));
    assert_eq!(got.len(), 2 * TURN);
    assert!(got.iter().all(|event| event["tier"] == 1 && event["data"].get("input").is_none()));
    let said = environment.expect(0, &["sink", "list"]);
    assert_eq!(said.stdout, "agents.jsonl  ~/agents.jsonl  tier 1  up to date\n");
    assert!(environment.expect(0, &["status"]).stdout.ends_with(&format!("\nsinks\n{}", said.stdout)));
    environment.expect(0, &["flush"]);
    assert_eq!(lines(&environment.read("agents.jsonl")).len(), 2 * TURN, "each once");
    let config = environment.home().join(".config/sessionpipe/config.toml");
    assert_eq!((environment.mode(&config), environment.mode(config.parent().expect("a folder"))), (0o600, 0o700));
    environment.expect(0, &["sink", "remove", "agents.jsonl"]);
    assert_eq!(environment.read(".config/sessionpipe/config.toml"), "");
    assert_eq!(environment.expect(2, &["sink", "pause", "agents.jsonl"]).stdout, "");
}

#[test]
fn a_new_sink_begins_with_the_next_event_and_the_file_keeps_its_comments() {
    let environment = TestEnvironment::new();
    environment.write(".config/sessionpipe/config.toml", "# mine\nmachine = \"laptop\"  # short\n");
    turn(&environment, "s1", "app");
    environment.expect(0, &["flush"]);
    environment.expect(0, &["sink", "add", "a.jsonl"]);
    environment.expect(0, &["sink", "add", "b.jsonl", "--name", "b", "--tier", "3"]);
    turn(&environment, "s2", "app");
    environment.expect(0, &["flush"]);
    assert!(
        lines(&environment.read("a.jsonl")).iter().all(|event| event["session"]["id"] == "s2" && event["tier"] == 0)
    );
    assert_eq!(lines(&environment.read("b.jsonl")).len(), TURN);
    let config = environment.read(".config/sessionpipe/config.toml");
    assert!(config.starts_with("# mine\nmachine = \"laptop\"  # short\n"), "{config}");
    let taken = environment.expect(2, &["sink", "add", "/x/a.jsonl"]);
    assert!(taken.stderr.starts_with("error: there is a sink called \"a.jsonl\" already\n"), "{}", taken.stderr);
}

#[test]
fn stdout_is_what_flush_prints() {
    let environment = TestEnvironment::new();
    environment.expect(0, &["sink", "add", "stdout", "--tier", "3", "--type", "turn.*"]);
    turn(&environment, "s1", "app");
    let said = environment.expect(0, &["flush"]);
    let types: Vec<Value> = lines(&said.stdout).into_iter().map(|event| event["type"].clone()).collect();
    assert_eq!(types, ["turn.started", "turn.ended"]);
    assert!(said.stderr.ends_with("stdout: 2 events sent\n"), "{}", said.stderr);
    assert_eq!(environment.expect(0, &["flush"]).stdout, "");
}

#[test]
fn a_command_runs_for_each_event_that_it_wants() {
    let environment = TestEnvironment::new();
    environment.expect(0, &["sink", "add", "exec:cat >> ~/needs-you", "--type", "attention.needed"]);
    turn(&environment, "s1", "app");
    call(
        &environment,
        "s1",
        "app",
        "PermissionRequest",
        &json!({"tool_name": "Bash", "tool_input": {"command": "rm x"}}),
    );
    environment.expect(0, &["flush"]);
    let got = lines(&environment.read("needs-you"));
    assert_eq!(got.len(), 1);
    assert_eq!((&got[0]["type"], &got[0]["data"]["kind"]), (&json!("attention.needed"), &json!("permission")));
}

#[test]
fn a_receiver_is_asked_what_it_takes_and_its_token_is_never_shown() {
    let mut environment = TestEnvironment::new();
    let receiver = Receiver::start([]);
    receiver.well_known.lock().expect("not poisoned").0["max_tier"] = json!(1);
    environment.var("PIPE_TOKEN", TOKEN);
    let add = ["sink", "add", &receiver.url, "--name", "team", "--tier", "2", "--token-env", "PIPE_TOKEN"];
    let mut said = environment.expect(0, &add).stdout;
    assert!(said.contains("It takes tier 1 at most"), "{said}");
    turn(&environment, "s1", "app");
    said.push_str(&environment.expect(0, &["flush"]).stdout);
    assert_eq!(receiver.requests()[0].headers["authorization"], format!("Bearer {TOKEN}"));
    // A receiver that says yes to tier 3 later is sent what the sink is for.
    said.push_str(&environment.read(".config/sessionpipe/config.toml"));
    for args in [
        &["sink", "list"][..],
        &["sink", "list", "--json"],
        &["status", "--json"],
        &["doctor"],
        &["sink", "test", "team"],
    ] {
        let output = environment.run(args);
        said.push_str(&output.stdout);
        said.push_str(&output.stderr);
    }
    assert!(said.contains("team took a test event."), "{said}");
    assert!(!said.contains(TOKEN), "{said}");
    let test = receiver.requests().pop().expect("a request").json();
    let kinds: Vec<&Value> = test["events"].as_array().expect("events").iter().map(|event| &event["type"]).collect();
    assert_eq!(kinds, ["session.heartbeat", "session.forgotten"]);
}

#[test]
fn what_is_no_receiver_is_not_added() {
    let environment = TestEnvironment::new();
    let receiver = Receiver::start([]);
    receiver.well_known.lock().expect("not poisoned").0 = json!(null);
    let said = environment.expect(1, &["sink", "add", &receiver.url]);
    assert!(said.stderr.contains("404") && said.stderr.contains("nothing was added"), "{}", said.stderr);
    let said = environment.expect(2, &["sink", "add", "http://pipe.example.com"]);
    assert!(said.stderr.contains("use https://"), "{}", said.stderr);
    assert_eq!(
        environment.expect(0, &["sink", "list"]).stdout,
        "No sink: nothing leaves this machine. To add one: sessionpipe sink add TARGET\n"
    );
}

#[test]
fn a_sink_that_is_paused_says_why_and_goes_on_when_told() {
    let mut environment = TestEnvironment::new();
    let receiver = Receiver::start([say(401, "who are you")]);
    environment.var("PIPE_TOKEN", TOKEN);
    environment
        .expect(0, &["sink", "add", &receiver.url, "--name", "team", "--token-env", "PIPE_TOKEN", "--from", "start"]);
    turn(&environment, "s1", "app");
    // The worker that the hooks started has no token, so it waits for this.
    environment.expect(1, &["flush"]);
    let said = environment.expect(0, &["sink", "list"]).stdout;
    assert!(said.contains("401: who are you; ") && said.contains("→ sessionpipe sink resume team"), "{said}");
    let doctor = environment.expect(1, &["doctor"]).stdout;
    assert!(doctor.contains("401: who are you") && doctor.contains("needs attention: the sinks"), "{doctor}");
    environment.expect(0, &["sink", "resume", "team"]);
    environment.expect(0, &["flush"]);
    assert!(environment.expect(0, &["sink", "list"]).stdout.ends_with("up to date\n"));
    environment.expect(0, &["sink", "pause", "team"]);
    assert!(environment.expect(0, &["sink", "list"]).stdout.contains("paused for 0 s, by you"));
}

#[test]
fn what_a_receiver_does_not_take_is_shown_and_can_be_sent_again() {
    let environment = TestEnvironment::new();
    let receiver = Receiver::start([say(400, "no such thing")]);
    environment.expect(0, &["sink", "add", &receiver.url, "--name", "team", "--tier", "1"]);
    turn(&environment, "s1", "app");
    environment.expect(0, &["flush"]);
    // The worker may have sent them in several batches, of which the first was refused.
    let quarantine = environment.expect(0, &["doctor", "--quarantine"]).stdout;
    assert!(quarantine.contains("team  not taken  400: no such thing"), "{quarantine}");
    assert!(environment.expect(0, &["replay", "--sink", "team"]).stdout.contains("that it did not take before"));
    environment.expect(0, &["flush"]);
    let mut ids: Vec<Value> = receiver
        .requests()
        .iter()
        .skip(1)
        .flat_map(|request| request.json()["events"].as_array().expect("events").clone())
        .map(|event| event["id"].clone())
        .collect();
    ids.sort_unstable_by_key(Value::to_string);
    ids.dedup();
    assert_eq!(ids.len(), TURN);
    assert_eq!(environment.expect(0, &["doctor", "--quarantine"]).stdout, "Nothing is in quarantine.\n");
}

#[test]
fn a_session_is_forgotten_here_and_there() {
    let environment = TestEnvironment::new();
    let receiver = Receiver::start([]);
    environment.expect(0, &["sink", "add", &receiver.url, "--name", "team", "--tier", "3"]);
    turn(&environment, "aaaa-1", "nuclear");
    turn(&environment, "bbbb-2", "app");
    environment.expect(0, &["flush"]);
    assert_eq!(environment.expect(2, &["forget", "cccc", "--yes"]).stderr, "error: no session begins with \"cccc\"\n");
    assert!(environment.expect(2, &["forget", "aaaa"]).stderr.contains("nobody can be asked"));
    let said = environment.expect(0, &["forget", "aaaa", "--yes"]);
    assert_eq!(said.stdout, "claude-code aaaa-1 is forgotten. 1 sink will be told.\n");
    environment.expect(0, &["flush"]);
    let left: Vec<Value> =
        events(&environment).into_iter().filter(|event| event["session"]["id"] == "aaaa-1").collect();
    assert_eq!(left.len(), 1);
    assert_eq!(
        (&left[0]["type"], &left[0]["session"]),
        (&json!("session.forgotten"), &json!({"id": "aaaa-1", "seq": TURN}))
    );
    let last = receiver.requests().pop().expect("a request").json();
    assert_eq!(last["events"].as_array().and_then(|events| events.last()), Some(&left[0]));
    for file in ["outbox.db", "outbox.db-wal"] {
        let bytes = std::fs::read(environment.state().join(file)).unwrap_or_default();
        assert!(!bytes.windows(7).any(|window| window == b"nuclear"), "{file}");
    }
    turn(&environment, "aaaa-1", "nuclear");
    environment.expect(0, &["flush"]);
    assert_eq!(events(&environment).len(), TURN + 1, "nothing that it does later is kept");
}

#[test]
fn folders_and_shells_that_are_off() {
    let environment = TestEnvironment::new();
    let config =
        "keep_tier = 1\n\n[[folder]]\npath = \"~/secret\"\nkeep = \"off\"\n\n[[folder]]\npath = \"~/play\"\nkeep = 3\n";
    environment.write(".config/sessionpipe/config.toml", config);
    turn(&environment, "s1", "app");
    turn(&environment, "s2", "secret/nuclear");
    turn(&environment, "s3", "play");
    let program = environment.home().join(".cargo/bin/sessionpipe-hook");
    let off = format!("SESSIONPIPE_OFF=1 {} claude-code Stop", program.display());
    environment.hook(&off, "{\"session_id\":\"s4\",\"cwd\":\"/nuclear\"}");
    environment.expect(0, &["flush"]);
    let kept = events(&environment);
    let of = |session: &str| kept.iter().filter(|event| event["session"]["id"] == session).collect::<Vec<_>>();
    assert_eq!((of("s1").len(), of("s2").len(), of("s3").len(), of("s4").len()), (TURN, 0, TURN, 0));
    let has_input = |event: &&&Value| event["data"].get("input").is_some();
    assert_eq!((of("s1").iter().filter(has_input).count(), of("s3").iter().filter(has_input).count() > 0), (0, true));
    let bytes = std::fs::read(environment.state().join("outbox.db")).expect("the outbox");
    assert!(!bytes.windows(7).any(|window| window == b"nuclear"));
}

#[test]
fn settings_with_a_fault() {
    let environment = TestEnvironment::new();
    environment
        .write(".config/sessionpipe/config.toml", "[[sink]]\nname = \"a\"\ntarget = \"http://pipe.example.com\"\n");
    turn(&environment, "s1", "app");
    assert_eq!(events(&environment).len(), TURN, "a fault in the sinks stops no event");
    let doctor = environment.expect(1, &["doctor"]).stdout;
    assert!(doctor.contains("line 3, column 10") && doctor.contains("use https://"), "{doctor}");
    // What may be kept cannot be told: nothing is taken until it can.
    environment.write(".config/sessionpipe/config.toml", "[[folder]]\npath = \"~/secret\"\nkeep = \"of\"\n");
    turn(&environment, "s2", "secret");
    let said = environment.expect(2, &["flush"]);
    assert!(said.stderr.contains("`keep` must be \"off\" or a tier"), "{}", said.stderr);
    environment.write(".config/sessionpipe/config.toml", "[[folder]]\npath = \"~/secret\"\nkeep = \"off\"\n");
    environment.expect(0, &["flush"]);
    assert_eq!(events(&environment).len(), TURN);
}

#[test]
fn three_flushes_beside_a_worker_send_each_event_once() {
    let environment = TestEnvironment::new();
    // Each request takes a moment, so that they overlap.
    let receiver = Receiver::start((0..1000).map(|_| Act::Wait(20)));
    receiver.well_known.lock().expect("not poisoned").0["batch"]["max_events"] = json!(5);
    for nr in 0..12 {
        turn(&environment, &format!("s{nr}"), "app");
    }
    environment.expect(0, &["flush"]);
    environment.expect(0, &["sink", "add", &receiver.url, "--name", "team", "--from", "start", "--tier", "1"]);
    let flush = || {
        let mut command = environment.command(environment.home().join(".cargo/bin/sessionpipe"));
        command
            .args(["flush", "--timeout", "60"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts")
    };
    let flushes: Vec<_> = (0..3).map(|_| flush()).collect();
    for mut flush in flushes {
        assert!(flush.wait().expect("it ends").success());
    }
    let sent: Vec<String> = receiver
        .requests()
        .iter()
        .flat_map(|request| request.json()["events"].as_array().expect("events").clone())
        .map(|event| format!("{}/{}", event["session"]["id"], event["session"]["seq"]))
        .collect();
    assert_eq!(sent.len(), 12 * TURN);
    assert_eq!(sent.iter().collect::<std::collections::BTreeSet<_>>().len(), sent.len(), "each once");
}
