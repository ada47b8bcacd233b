//! The fixture runner: the same data run in each adapter's own tests (here, in process) and, by the conformance
//! program, through the real hook path of a built program.
//!
//! A fixture is a JSON file:
//!
//! ```json
//! { "provenance": { "kind": "recorded", "harness_version": "1.2.3", "how": "…" },
//!   "input":  { "argv": ["some-harness", "Stop"], "env": {}, "cwd": "/home/dev/proj", "stdin": {}, "files": {} },
//!   "expect": { "stdout": "", "events": [ { "type": "turn.ended", "data": { "reason": "stop", "ms": "*" } } ] } }
//! ```
//!
//! A *scenario* has `inputs` (a sequence of calls, in order) in place of `input`. `stdin` is an object or the raw text; the
//! payload of a harness that passes it as an argument is the third word of `argv`. A line that a plugin of ours writes is a
//! call whose payload names its `event`, the same as `argv` does. `files` are texts by their path.
//! Fixtures live in the home `/home/dev`: [`Fixture::calls`] moves it to the test's own.
//!
//! Of an expected event, `type` and `data` are compared whole, `harness` and `session` by the members that are named.
//! In any place `"*"` is any value but null, and `"$name"` any string, the same wherever the name stands again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::adapter::{Adapter, SessionFile};
use crate::host::{Dirs, Host, Program};
use crate::job::{FORMAT, Header, Hook, Process};
use crate::tracker::{Moment, SessionState};
use crate::{ids, payload, privacy};

/// The home that fixtures are written for.
pub const FIXTURE_HOME: &str = "/home/dev";

/// A fixture or a scenario.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fixture {
    /// What it rests on.
    pub provenance: Provenance,
    /// One call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Input>,
    /// A sequence of calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Input>,
    /// What must come of it.
    pub expect: Expect,
    /// Where it lies.
    #[serde(skip)]
    pub path: PathBuf,
}

/// What a fixture rests on.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// How good the evidence is.
    pub kind: Evidence,
    /// The version of the harness.
    pub harness_version: String,
    /// How it was come by.
    pub how: String,
}

/// How good the evidence is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Evidence {
    /// Seen on the real program.
    Recorded,
    /// From the harness's documentation.
    Documented,
    /// From a report by others.
    Reported,
}

/// One hook call.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// `HARNESS`, `EVENT`, and the payload where it is an argument.
    pub argv: Vec<String>,
    /// What the harness sets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The hook's working folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// An object, or the text as it is.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub stdin: Value,
    /// Files that lie there before the call.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// What this call prints, where it is something else than [`Expect::stdout`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
}

/// What must come of a fixture.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// What each call prints.
    #[serde(default)]
    pub stdout: String,
    /// The events, in order.
    pub events: Vec<Value>,
}

/// A call with the test's home in place of the fixture's.
#[derive(Clone, Debug)]
pub struct Call {
    /// `HARNESS`, `EVENT`, and the payload where it is an argument.
    pub argv: Vec<String>,
    /// What the harness sets.
    pub env: BTreeMap<String, String>,
    /// The hook's working folder.
    pub cwd: Option<String>,
    /// The bytes on stdin.
    pub stdin: Vec<u8>,
    /// Files to write before the call: path and text.
    pub files: Vec<(PathBuf, String)>,
}

impl Call {
    /// Whether it is a line that a plugin of ours writes: one that names its event itself, as argv does.
    #[must_use]
    pub fn is_line(&self) -> bool {
        let event = serde_json::from_slice::<Value>(&self.stdin).ok().and_then(|line| line.get("event").cloned());
        event.as_ref().and_then(Value::as_str).is_some_and(|event| self.argv.get(1).is_some_and(|named| named == event))
    }
}

impl Fixture {
    /// Reads every fixture below a folder, in the order of their paths.
    ///
    /// # Panics
    /// When a file cannot be read or is no fixture: a broken test.
    #[must_use]
    pub fn load(dir: &Path) -> Vec<Self> {
        let mut found = Vec::new();
        let mut folders = vec![dir.to_owned()];
        while let Some(folder) = folders.pop() {
            let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
            for entry in entries {
                let path = entry.expect("a folder entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|ext| ext == "json") {
                    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
                    let fixture = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
                    found.push(Self { path, ..fixture });
                }
            }
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        found
    }

    /// The calls, moved to a home.
    #[must_use]
    pub fn calls(&self, home: &Path) -> Vec<Call> {
        let here = |text: &str| text.replace(FIXTURE_HOME, &home.to_string_lossy());
        self.input
            .iter()
            .chain(&self.inputs)
            .map(|input| Call {
                argv: input.argv.iter().map(|word| here(word)).collect(),
                env: input.env.iter().map(|(name, value)| (name.clone(), here(value))).collect(),
                cwd: input.cwd.as_deref().map(here),
                stdin: match &input.stdin {
                    Value::Null => Vec::new(),
                    Value::String(text) => here(text).into_bytes(),
                    payload => here(&payload.to_string()).into_bytes(),
                },
                files: input.files.iter().map(|(path, text)| (PathBuf::from(here(path)), here(text))).collect(),
            })
            .collect()
    }

    /// Compares what came with what must come.
    ///
    /// # Errors
    /// The difference, for a person.
    pub fn check(&self, home: &Path, stdout: &[String], events: &[Value]) -> Result<(), String> {
        for (input, out) in self.input.iter().chain(&self.inputs).zip(stdout) {
            let expected = input.stdout.as_ref().unwrap_or(&self.expect.stdout);
            if out != expected {
                return Err(format!("stdout of {:?} is {out:?}, expected {expected:?}", input.argv));
            }
        }
        let back = |event: &Value| {
            let text = event.to_string().replace(&*home.to_string_lossy(), FIXTURE_HOME);
            serde_json::from_str::<Value>(&text).expect("still JSON")
        };
        let events: Vec<Value> = events.iter().map(back).collect();
        let mut names = BTreeMap::new();
        for (at, expected) in self.expect.events.iter().enumerate() {
            let Some(event) = events.get(at) else {
                return Err(format!("event {at} is missing: {expected}\n{}", listing(&events)));
            };
            matches_event(expected, event, &mut names).map_err(|why| {
                format!("event {at}: {why}\nexpected {expected}\ngot      {event}\n{}", listing(&events))
            })?;
        }
        match events.get(self.expect.events.len()) {
            Some(extra) => Err(format!("not expected: {extra}\n{}", listing(&events))),
            None => Ok(()),
        }
    }
}

fn listing(events: &[Value]) -> String {
    let lines = events.iter().map(|event| format!("  {} {}\n", event["type"].as_str().unwrap_or("?"), event["data"]));
    format!("all events:\n{}", lines.collect::<String>())
}

fn matches_event(expected: &Value, event: &Value, names: &mut BTreeMap<String, String>) -> Result<(), String> {
    matches(&expected["type"], &event["type"], names, "type")?;
    matches(expected.get("data").unwrap_or(&json!({})), &event["data"], names, "data")?;
    for block in ["harness", "session"] {
        for (key, value) in expected.get(block).and_then(Value::as_object).into_iter().flatten() {
            matches(value, &event[block][key], names, &format!("{block}.{key}"))?;
        }
    }
    Ok(())
}

fn matches(expected: &Value, got: &Value, names: &mut BTreeMap<String, String>, at: &str) -> Result<(), String> {
    match (expected, got) {
        (Value::String(any), got) if any == "*" => {
            if got.is_null() {
                Err(format!("{at} is missing"))
            } else {
                Ok(())
            }
        }
        (Value::String(name), Value::String(got)) if name.len() > 1 && name.starts_with('$') => {
            let known = names.entry(name.clone()).or_insert_with(|| got.clone());
            if known == got { Ok(()) } else { Err(format!("{at} is {got:?}, but {name} was {known:?}")) }
        }
        (Value::Object(expected), Value::Object(got)) => {
            if let Some(extra) = got.keys().find(|key| !expected.contains_key(*key)) {
                return Err(format!("{at}.{extra} is {}, expected to be absent", got[extra]));
            }
            expected.iter().try_for_each(|(key, value)| {
                matches(value, got.get(key).unwrap_or(&Value::Null), names, &format!("{at}.{key}"))
            })
        }
        (Value::Array(expected), Value::Array(got)) if expected.len() == got.len() => expected
            .iter()
            .zip(got)
            .enumerate()
            .try_for_each(|(i, (expected, got))| matches(expected, got, names, &format!("{at}[{i}]"))),
        _ if expected == got => Ok(()),
        _ => Err(format!("{at} is {got}, expected {expected}")),
    }
}

/// A host whose home and system folders all lie in a test's own folder, at a fixed time.
#[must_use]
pub fn host(home: &Path) -> Host {
    Host {
        home: home.to_owned(),
        env: BTreeMap::new(),
        etc: home.join("etc"),
        cwd: home.join("proj"),
        now_ms: NOW_MS,
        dirs: Dirs::new(|_| None, home),
        program: Program { path: "/opt/sp/bin/sessionpipe-hook".into(), is_hook: true, copies: Vec::new() },
    }
}

/// The time of [`host`]: 2026-11-30T09:00:00Z.
pub const NOW_MS: i64 = 1_796_029_200_000;

/// Writes a file, its folders included.
///
/// # Panics
/// When that fails: a broken test.
pub fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    #[expect(clippy::disallowed_methods, reason = "a test writes its own files")]
    std::fs::write(path, text).expect("a file");
}

/// Runs every fixture below a folder against one adapter, in process: map, track, redact, bound.
///
/// # Panics
/// With all differences, or when there is no fixture.
pub fn run(adapter: &'static dyn Adapter, dir: &Path) {
    let fixtures = Fixture::load(dir);
    assert!(!fixtures.is_empty(), "no fixtures in {}", dir.display());
    let failures: Vec<String> = fixtures
        .iter()
        .filter_map(|fixture| {
            let home = tempfile::tempdir().expect("a temporary folder");
            let home = home.path();
            let (stdout, events) = play(adapter, fixture, home);
            fixture.check(home, &stdout, &events).err().map(|why| format!("{}: {why}", fixture.path.display()))
        })
        .collect();
    assert!(failures.is_empty(), "{} of {} fixtures fail:\n{}", failures.len(), fixtures.len(), failures.join("\n"));
}

/// The stdout of each call and all events of a fixture.
fn play(adapter: &'static dyn Adapter, fixture: &Fixture, home: &Path) -> (Vec<String>, Vec<Value>) {
    let harness = adapter.harness();
    let host = host(home);
    let agent = Process { pid: 4242, start: 1, name: "agent".to_owned() };
    let mut sessions: Vec<SessionState> = Vec::new();
    let mut events = Vec::new();
    let mut stdout = Vec::new();
    for (nth, call) in fixture.calls(home).into_iter().enumerate() {
        for (path, text) in &call.files {
            write(path, text);
        }
        let env = harness.env.iter().filter_map(|name| Some(((*name).to_owned(), call.env.get(*name)?.clone())));
        let header = Header {
            v: FORMAT,
            at_ms: NOW_MS + 1_000 * i64::try_from(nth).expect("small"),
            harness: call.argv[0].clone(),
            event: call.argv[1].clone(),
            cwd: call.cwd.clone(),
            parents: vec![agent.clone()],
            env: env.collect(),
        };
        let payload = payload::parse(call.argv.get(2).map_or(&call.stdin, |arg| arg.as_bytes()))
            .unwrap_or_else(|_| payload::Payload { partial: true, ..payload::Payload::default() });
        let caller = payload::caller(
            &[harness],
            &header.harness,
            |key| payload.members.contains_key(key),
            |name| call.env.contains_key(name),
        )
        .to_owned();
        let event = payload.text(&["hook_event_name"]).unwrap_or(&header.event).to_owned();
        stdout.push(payload::reply(&[harness], &caller, &event).to_owned());
        let at_ms = header.at_ms;
        let hook = Hook { header, caller, payload };
        let Ok(mapped) = adapter.map(&hook) else { continue };
        if mapped.seen.is_empty() {
            continue;
        }
        let cwd = mapped.cwd.clone().unwrap_or_default();
        let (id, made_up) = match &mapped.session {
            Some(id) => (ids::session_id(&hook.caller, id), false),
            None => match sessions.iter().find(|s| s.is_open() && s.cwd.as_deref() == Some(&cwd)) {
                Some(open) => (open.id.clone(), false),
                None => (ids::made_up_session_id(&hook.caller, &cwd, agent.pid, agent.start), true),
            },
        };
        let at = sessions.iter().position(|session| session.id == id).unwrap_or_else(|| {
            let mut session = SessionState::new(id.clone());
            session.id_made_up = made_up;
            sessions.push(session);
            sessions.len() - 1
        });
        let state = &mut sessions[at];
        let moment = Moment { harness, at_ms, home, process: Some(&agent), alive: &|_| true };
        let drafts = state.apply(&mapped, &moment);
        if let (None, Some(path)) = (&state.version, &state.transcript) {
            let file = SessionFile { id: id.clone(), paths: vec![path.into()], modified_ms: at_ms };
            state.facts(adapter.facts(&host, &file));
        }
        for (index, draft) in drafts.into_iter().enumerate() {
            let block = state.block(home, None);
            let mut event = state.event(draft, &hook.caller, block, &[&nth.to_string(), &index.to_string()]);
            privacy::seal(&mut event);
            events.push(serde_json::to_value(&event).expect("an event is JSON"));
        }
    }
    (stdout, events)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(expected: &Value, got: &Value) -> Result<(), String> {
        matches_event(expected, got, &mut BTreeMap::new())
    }

    #[test]
    fn expectations_can_fail() {
        let event = json!({"type": "tool.ended", "harness": {"name": "h"}, "session": {"id": "s"},
            "data": {"ok": true, "ms": 3, "a": "x", "b": "x"}});
        let expected = |data: Value| json!({"type": "tool.ended", "data": data});
        assert_eq!(compare(&expected(json!({"ok": true, "ms": "*", "a": "$i", "b": "$i"})), &event), Ok(()));
        for wrong in [
            json!({"ok": false, "ms": "*", "a": "$i", "b": "$i"}),
            json!({"ok": true, "ms": "*", "a": "$i"}),
            json!({"ok": true, "ms": "*", "a": "$i", "b": "$i", "c": "*"}),
            json!({"ok": true, "ms": "*", "a": "$i", "b": "y"}),
        ] {
            assert!(compare(&expected(wrong.clone()), &event).is_err(), "{wrong}");
        }
        let other = json!({"type": "tool.ended", "data": {"p": "1", "q": "2"}});
        assert!(compare(&expected(json!({"p": "$i", "q": "$i"})), &other).is_err());
        assert!(
            compare(&json!({"type": "tool.ended", "data": event["data"], "harness": {"name": "z"}}), &event).is_err()
        );
    }
}
