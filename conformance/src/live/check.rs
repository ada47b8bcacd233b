//! What must hold of a run beside its event stream.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;
use sessionpipe_core::command::{owned, owned_argv, previous_argv};

use super::model::Logged;

/// The protocol's cap for the input and the output of a tool, each.
const CONTENT_CAP: usize = 64 * 1024;

/// Every event of a run, whatever the scenario: schema-independent rules of the protocol, and that the lab's own key never
/// shows.
#[must_use]
pub fn events(events: &[Value], harness: &str, version: &str, secrets: &[&str]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut next: BTreeMap<&str, u64> = BTreeMap::new();
    let mut ids: Vec<&str> = Vec::new();
    for event in events {
        let mut say = |what: String| wrong.push(format!("{}: {what}", event["type"].as_str().unwrap_or("?")));
        let session = event["session"]["id"].as_str().unwrap_or_default();
        // A session that began before its first event counts from another number on: a receiver may know earlier ones.
        let continued = event["data"]["source"] != "startup" && event["type"] == "session.started";
        let first = event["session"]["seq"].as_u64().filter(|_| continued).unwrap_or_default();
        let seq = next.entry(session).or_insert(first);
        if event["session"]["seq"].as_u64() != Some(*seq) {
            say(format!("seq {} of {session}, expected {seq}", event["session"]["seq"]));
        }
        *seq += 1;
        let id = event["id"].as_str().unwrap_or_default();
        if ids.contains(&id) {
            say(format!("the id {id} was there before"));
        }
        ids.push(id);
        if event["harness"]["name"] != harness {
            say(format!("reported by {}", event["harness"]["name"]));
        }
        if event["harness"].get("version").is_some_and(|known| known != version) {
            say(format!("version {}, expected {version}", event["harness"]["version"]));
        }
        if !event["privacy"]["rulesets"].as_array().is_some_and(|sets| sets.iter().any(|set| set == "secrets@1")) {
            say("not redacted".to_owned());
        }
        for part in ["input", "output"] {
            let length = match &event["data"][part] {
                Value::String(text) => text.len(),
                Value::Null => 0,
                value => value.to_string().len(),
            };
            if length > CONTENT_CAP {
                say(format!("{part} has {length} bytes"));
            }
        }
        let text = event.to_string();
        if let Some(secret) = secrets.iter().find(|secret| text.contains(**secret)) {
            say(format!("it holds {secret}"));
        }
    }
    wrong
}

/// Ids, numbers and times change from run to run.
static CHANGING: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\b[0-9a-f]*[0-9][0-9a-f-]{7,}\b|[0-9]+").ok());

/// A text without what changes from run to run, and without the lines to ignore.
#[must_use]
pub fn normal(text: &str, ignore: &[Regex]) -> Vec<String> {
    text.lines()
        .filter(|line| !ignore.iter().any(|pattern| pattern.is_match(line)))
        .map(|line| match &*CHANGING {
            Some(changing) => changing.replace_all(line, "#").into_owned(),
            None => line.to_owned(),
        })
        .collect()
}

/// Two texts that must be the same but for what changes from run to run.
#[must_use]
pub fn same_text(what: &str, without: &str, with: &str, ignore: &[Regex]) -> Vec<String> {
    let (without, with) = (normal(without, ignore), normal(with, ignore));
    if without == with {
        return Vec::new();
    }
    let only = |a: &[String], b: &[String], sign: &str| {
        a.iter().filter(|line| !b.contains(line)).map(|line| format!("    {sign}{line}")).collect::<Vec<_>>()
    };
    let mut wrong = vec![format!("{what} differs with hooks")];
    wrong.extend(only(&without, &with, "-"));
    wrong.extend(only(&with, &without, "+"));
    wrong
}

/// The model must have been asked the same: a hook that speaks into the conversation adds a message to it.
#[must_use]
pub fn same_requests(without: &[Logged], with: &[Logged]) -> Vec<String> {
    let asked = |log: &[Logged]| {
        // Requests of the harness's own come at their own times.
        let own = |request: &&Logged| !request.wire.is_empty() && request.script != "side-request";
        let mut asked: Vec<_> = log.iter().filter(own).map(|r| (r.script.clone(), r.step, r.turns, r.status)).collect();
        // Sessions at once interleave.
        asked.sort();
        asked
    };
    let (without, with) = (asked(without), asked(with));
    if without == with { Vec::new() } else { vec![format!("the model was asked {with:?}, without hooks {without:?}")] }
}

/// Files by their path under a folder.
pub type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Every file below `root`, but for the folders `except`.
#[must_use]
pub fn snapshot(root: &Path, except: &[PathBuf]) -> Files {
    let mut files = Files::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if except.contains(&path) {
                continue;
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path),
                Ok(kind) if kind.is_file() => {
                    if let Ok(bytes) = fs::read(&path) {
                        files.insert(path, bytes);
                    }
                }
                _ => {}
            }
        }
    }
    files
}

/// The files that `install` made or changed, with what they hold now.
#[must_use]
pub fn installed(before: &Files, after: &Files) -> Files {
    after.iter().filter(|(path, bytes)| before.get(*path) != Some(bytes)).map(|(p, b)| (p.clone(), b.clone())).collect()
}

/// What `uninstall` must have left of the files that `install` changed: the bytes from before where nobody touched a file
/// since; else the file as the harness left it, without our entries.
#[must_use]
pub fn uninstalled(before: &Files, installed: &Files, ran: &Files, after: &Files) -> Vec<String> {
    let mut wrong = Vec::new();
    for (path, written) in installed {
        let name = path.display();
        let (was, is) = (before.get(path), after.get(path));
        match ran.get(path) {
            Some(touched) if touched != written => {
                let without = document(path, touched).map(without_ours);
                let now = is.and_then(|bytes| document(path, bytes));
                if without != now && !(now.is_none() && without.as_ref().is_some_and(is_empty)) {
                    wrong.push(format!("{name}: the harness rewrote it; not just our entries are gone"));
                }
            }
            _ if was != is => {
                wrong.push(format!("{name}: not as before: {}", differ(was, is)));
            }
            _ => {}
        }
    }
    wrong
}

/// Where two contents part.
fn differ(was: Option<&Vec<u8>>, is: Option<&Vec<u8>>) -> String {
    let (Some(was), Some(is)) = (was, is) else {
        return if is.is_some() { "it was not there" } else { "it is gone" }.to_owned();
    };
    let at = was.iter().zip(is).take_while(|(a, b)| a == b).count();
    let from = |bytes: &[u8]| {
        String::from_utf8_lossy(bytes.get(at..).unwrap_or_default()).chars().take(60).collect::<String>()
    };
    format!("from byte {at} on it was {:?}, is {:?}", from(was), from(is))
}

/// A config as a value, by the ending of its name.
#[must_use]
pub fn document(path: &Path, bytes: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(bytes).ok()?;
    match path.extension()?.to_str()? {
        // Some harnesses allow comments.
        "json" => jsonc_parser::parse_to_serde_value(text, &jsonc_parser::ParseOptions::default()).ok(),
        "toml" => toml_edit::de::from_str(text).ok(),
        _ => None,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// A config without our entries and the containers that this empties, and with a chained command in its old place.
fn without_ours(config: Value) -> Value {
    match config {
        Value::Array(items) => {
            let kept = items.into_iter().filter(|item| !is_ours(item));
            let kept = kept.filter_map(|item| {
                let was_empty = is_empty(&item);
                let item = without_ours(item);
                (was_empty || !is_empty(&item)).then_some(item)
            });
            Value::Array(kept.collect())
        }
        Value::Object(members) => {
            let kept = members.into_iter().filter_map(|(key, value)| {
                if let Some(argv) = words(&value)
                    && owned_argv(&argv).is_some()
                {
                    return previous_argv(&argv).map(|previous| (key, previous.to_vec().into()));
                }
                let was_empty = is_empty(&value);
                let value = without_ours(value);
                // A group of hooks goes with its last one, whatever else it says.
                (was_empty || !is_empty(&value)).then_some((key, value))
            });
            Value::Object(kept.collect())
        }
        value => value,
    }
}

/// A handler with a command of ours, or a group of only such handlers.
fn is_ours(item: &Value) -> bool {
    let handler = |item: &Value| item["command"].as_str().is_some_and(|command| owned(command).is_some());
    let group = item["hooks"].as_array().is_some_and(|hooks| !hooks.is_empty() && hooks.iter().all(handler));
    handler(item) || group
}

fn words(value: &Value) -> Option<Vec<String>> {
    let items = value.as_array().filter(|items| !items.is_empty())?;
    items.iter().map(|item| item.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(seq: u64, id: &str) -> Value {
        json!({"id": id, "type": "turn.started", "harness": {"name": "h", "version": "1"}, "session": {"id": "s", "seq": seq},
            "privacy": {"rulesets": ["secrets@1"]}, "data": {}})
    }

    #[test]
    fn rules_that_hold_for_every_event() {
        let check = |list: &[Value]| events(list, "h", "1", &["sk-fake"]);
        assert_eq!(check(&[event(0, "a"), event(1, "b")]), Vec::<String>::new());
        let with = |change: &dyn Fn(&mut Value)| {
            let mut changed = event(0, "a");
            change(&mut changed);
            check(&[changed]).len()
        };
        assert_eq!(check(&[event(0, "a"), event(2, "b")]).len(), 1);
        assert_eq!(check(&[event(5, "a"), event(6, "b")]).len(), 2);
        let mut resumed = event(5, "a");
        resumed["type"] = "session.started".into();
        resumed["data"]["source"] = "resume".into();
        assert_eq!(check(&[resumed, event(6, "b")]), Vec::<String>::new());
        assert_eq!(check(&[event(0, "a"), event(1, "a")]).len(), 1);
        assert_eq!(with(&|e| e["harness"]["name"] = "x".into()), 1);
        assert_eq!(with(&|e| e["harness"]["version"] = "2".into()), 1);
        assert_eq!(with(&|e| e["privacy"]["rulesets"] = json!([])), 1);
        assert_eq!(with(&|e| e["data"]["output"] = "x".repeat(CONTENT_CAP + 1).into()), 1);
        assert_eq!(with(&|e| e["data"]["output"] = "x".repeat(CONTENT_CAP).into()), 0);
        assert_eq!(with(&|e| e["data"]["input"] = "key sk-fake".into()), 1);
    }

    #[test]
    fn ids_and_numbers_may_differ_words_may_not() {
        let ignore = [Regex::new("^hook: ").expect("a pattern")];
        let text = "session 01a22c01-6a46-7f72-9825-1b8b24d6da91\nran in 12ms, 2,106 tokens\n";
        let other = "session 01a22c02-0000-7f72-9825-1b8b24d6da92\nran in 0ms, 998 tokens\nhook: Stop\n";
        assert_eq!(normal("ran in 12ms", &[]), ["ran in #ms"]);
        assert_eq!(same_text("stdout", text, &other.replace("998", "2,998"), &ignore), Vec::<String>::new());
        let wrong = same_text("stdout", "The command ran.\n", "Hook failed.\nThe command ran.\n", &ignore);
        assert_eq!(wrong, ["stdout differs with hooks", "    +Hook failed."]);
    }

    #[test]
    fn one_more_message_to_the_model_shows() {
        let request =
            |turns| Logged { wire: "w".into(), script: "text".into(), turns, status: 200, ..Logged::default() };
        assert_eq!(same_requests(&[request(1), request(3)], &[request(3), request(1)]), Vec::<String>::new());
        assert_eq!(same_requests(&[request(1)], &[request(2)]).len(), 1);
        let side = Logged { script: "side-request".into(), ..request(1) };
        assert_eq!(same_requests(&[request(1)], &[request(1), side]), Vec::<String>::new());
    }

    const OURS: &str = "'/b/sessionpipe-hook' some-agent Stop";

    fn files(text: &str) -> Files {
        [(PathBuf::from("/h/a.json"), text.as_bytes().to_vec())].into()
    }

    #[test]
    fn untouched_configs_must_come_back_in_bytes() {
        let (before, written) = (files("{ }"), files("{\"x\":1}"));
        let changed = installed(&before, &written);
        assert_eq!(changed, written);
        assert_eq!(uninstalled(&before, &changed, &written, &before), Vec::<String>::new());
        assert_eq!(uninstalled(&before, &changed, &written, &files("{}")).len(), 1);
        assert_eq!(uninstalled(&Files::new(), &changed, &written, &Files::new()), Vec::<String>::new());
        assert_eq!(uninstalled(&Files::new(), &changed, &written, &before).len(), 1);
    }

    #[test]
    fn rewritten_configs_lose_only_our_entries() {
        let guard = json!({"hooks": [{"type": "command", "command": "/opt/guard.sh"}]});
        let ours = json!({"hooks": [{"type": "command", "command": OURS, "timeout": 5}]});
        let ran = json!({"model": "m", "hooks": {"Stop": [guard, ours], "Start": [ours]}}).to_string();
        let good = json!({"hooks": {"Stop": [guard]}, "model": "m"}).to_string();
        let written = files("{}");
        let commented = format!("// mine\n{ran}");
        for ran in [&ran, &commented] {
            assert_eq!(uninstalled(&Files::new(), &written, &files(ran), &files(&good)), Vec::<String>::new());
        }
        for bad in [
            json!({"hooks": {"Stop": [guard]}}),
            json!({"model": "m", "hooks": {"Stop": [guard, ours]}}),
            json!({"model": "m"}),
        ] {
            assert_eq!(uninstalled(&Files::new(), &written, &files(&ran), &files(&bad.to_string())).len(), 1, "{bad}");
        }
    }

    #[test]
    fn a_chained_command_comes_back() {
        let config = json!({"notify": ["/b/sessionpipe-hook", "some-agent", "notify", "--previous-notify", "say", "x", "--"], "model": "m"});
        assert_eq!(without_ours(config), json!({"notify": ["say", "x"], "model": "m"}));
        assert_eq!(without_ours(json!({"notify": ["/b/sessionpipe-hook", "some-agent", "notify"]})), json!({}));
    }
}
