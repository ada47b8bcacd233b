//! What could keep Codex's hooks silent, beyond what the installer sees in the files itself.

use std::path::{Path, PathBuf};

use serde_json::Value;
use sessionpipe_core::adapter::{Finding, Level};
use sessionpipe_core::command::owned_argv;
use sessionpipe_core::host::Host;

use super::config::{Handler, handlers, read};
use super::trust::{Trust, trust};
use super::{CONFIG_TOML, HOOKS_JSON, codex_home};
use crate::HARNESS;
use crate::harness::NOTIFY;

const INSTALL: &str = "sessionpipe install --harness codex";

pub(super) const TRUST_STEPS: &str =
    "start `codex`, choose \"Review hooks\" and trust the hooks of sessionpipe (later: /hooks)";

/// What a handler of hooks.json may be; any other `type` makes Codex refuse the file.
const HANDLER_TYPES: [&str; 4] = ["command", "mcp_tool", "prompt", "agent"];

pub(crate) fn check(host: &Host) -> Vec<Finding> {
    let home = codex_home(host);
    let mut findings: Vec<Finding> = no_home(host, &home).into_iter().chain(policy(host)).collect();

    let config_file = home.join(CONFIG_TOML);
    let config = match read(&config_file) {
        Ok(config) => config.unwrap_or(Value::Null),
        Err(error) => {
            let text = format!("Codex does not start with this file: {error}");
            findings.push(problem(&config_file, text, "correct the file"));
            return findings;
        }
    };
    findings.extend(switch(host, &config, &config_file));

    let hooks_file = home.join(HOOKS_JSON);
    let dead = |why: &dyn std::fmt::Display| {
        problem(&hooks_file, format!("Codex runs no hook of this file: {why}"), "correct the file")
    };
    let document = read(&hooks_file).unwrap_or_else(|error| {
        findings.push(dead(&error));
        None
    });
    let document = document.unwrap_or(Value::Null);
    if let Some(why) = Some(&document).filter(|document| !document.is_null()).and_then(fault) {
        findings.push(dead(&why));
    }

    let ours: Vec<Handler<'_>> = handlers(document.get("hooks")).filter(Handler::is_ours).collect();
    let inline: Vec<Handler<'_>> = handlers(config.get("hooks")).collect();
    findings.extend(untrusted(host, &config, &config_file, &hooks_file, &ours));
    findings.extend(two_places(host, &config_file, &hooks_file, &document, &ours, &inline));
    let installed = !ours.is_empty() || inline.iter().any(Handler::is_ours);
    findings.extend(notify(&config, &config_file, installed));
    findings
}

fn finding(level: Level, file: &Path, text: String, fix: Option<&str>) -> Finding {
    Finding { level, file: Some(file.to_owned()), text, fix: fix.map(str::to_owned) }
}

fn problem(file: &Path, text: String, fix: &str) -> Finding {
    finding(Level::Problem, file, text, Some(fix))
}

/// Codex takes `CODEX_HOME` as it is and does not start where it names no folder.
fn no_home(host: &Host, home: &Path) -> Option<Finding> {
    let named = host.var("CODEX_HOME").filter(|dir| !dir.is_empty() && !home.is_dir())?;
    let text = format!("CODEX_HOME is {}, which is no folder: Codex does not start", Path::new(named).display());
    Some(problem(home, text, "make the folder, or correct the variable (Codex expands no ~)"))
}

/// An administrator may allow managed hooks only.
fn policy(host: &Host) -> Option<Finding> {
    const KEY: &str = "allow_managed_hooks_only";
    let file = host.etc.join("codex/requirements.toml");
    let requirements = read(&file).ok()??;
    (requirements.get(KEY) == Some(&Value::Bool(true))).then(|| {
        let text = format!("{KEY} = true: Codex runs no hooks but those of the administrator");
        problem(&file, text, "ask the administrator; the end of turns still arrives through notify")
    })
}

/// The switch of all hooks, in the layer that decides: the project's, the person's, the system's.
fn switch(host: &Host, config: &Value, config_file: &Path) -> Vec<Finding> {
    /// The name of today, and the older one that still works.
    const SWITCHES: [&str; 2] = ["hooks", "codex_hooks"];
    let other = |file: PathBuf| {
        let value = read(&file).ok().flatten().unwrap_or(Value::Null);
        (file, value)
    };
    let project = host.cwd.join(".codex").join(CONFIG_TOML);
    let mut layers = vec![(config_file.to_owned(), config.clone()), other(host.etc.join("codex").join(CONFIG_TOML))];
    if project != config_file {
        layers.insert(0, other(project));
    }
    let features = |layer: &'_ Value, name: &str| layer.get("features")?.get(name)?.as_bool();
    let mut findings = Vec::new();
    for (file, layer) in &layers {
        if features(layer, "codex_hooks").is_some() {
            let text = "features.codex_hooks is the deprecated name of features.hooks; Codex says so at every start";
            findings.push(finding(Level::Note, file, text.to_owned(), Some("rename the key to `hooks`")));
        }
    }
    let decides = layers
        .iter()
        .find_map(|(file, layer)| SWITCHES.iter().find_map(|name| Some((file, *name, features(layer, name)?))));
    if let Some((file, name, false)) = decides {
        let text =
            format!("features.{name} = false: Codex runs no hooks; only the end of turns arrives, through notify");
        findings.insert(0, problem(file, text, "set it to true, or remove it: `hooks` is on by default"));
    }
    findings
}

/// Why Codex cannot read hooks.json. One wrong value makes it skip the whole file.
fn fault(document: &Value) -> Option<String> {
    let Some(members) = document.as_object() else { return Some("it is no object".to_owned()) };
    if let Some(name) = members.keys().find(|name| !["hooks", "description"].contains(&name.as_str())) {
        return Some(format!("the top-level key `{name}` is neither `hooks` nor `description`"));
    }
    let hooks = members.get("hooks")?;
    let Some(events) = hooks.as_object() else { return Some("`hooks` is no object".to_owned()) };
    // Codex looks at no value of an event that it does not know.
    events.iter().filter(|(event, _)| HARNESS.event(event).is_some()).find_map(|(event, groups)| {
        let Some(groups) = groups.as_array() else { return Some(format!("`{event}` is no array")) };
        groups.iter().enumerate().find_map(|(at, group)| Some(format!("{} in `{event}` {at}", group_fault(group)?)))
    })
}

fn group_fault(group: &Value) -> Option<String> {
    let Some(members) = group.as_object() else { return Some("a group that is no object".to_owned()) };
    if members.get("matcher").is_some_and(|matcher| !matcher.is_string() && !matcher.is_null()) {
        return Some("a `matcher` that is no string".to_owned());
    }
    match members.get("hooks") {
        None => None,
        Some(Value::Array(handlers)) => handlers.iter().find_map(handler_fault),
        Some(_) => Some("`hooks` that is no array".to_owned()),
    }
}

fn handler_fault(handler: &Value) -> Option<String> {
    let kind = handler.get("type").and_then(Value::as_str);
    if !kind.is_some_and(|kind| HANDLER_TYPES.contains(&kind)) {
        return Some("a handler of no known `type`".to_owned());
    }
    let is =
        |name: &str, fits: fn(&Value) -> bool| handler.get(name).is_none_or(|value| value.is_null() || fits(value));
    let command = kind != Some("command") || handler.get("command").is_some_and(Value::is_string);
    [
        (command, "a `command` that is no string"),
        (is("timeout", Value::is_u64), "a `timeout` that is no whole number of seconds"),
        (is("async", Value::is_boolean), "an `async` that is neither true nor false"),
        (is("statusMessage", Value::is_string), "a `statusMessage` that is no string"),
    ]
    .iter()
    .find_map(|(fits, what)| (!fits).then(|| (*what).to_owned()))
}

/// Hooks of ours that Codex skips, by what the person did not do or did.
fn untrusted(host: &Host, config: &Value, config_file: &Path, hooks_file: &Path, ours: &[Handler<'_>]) -> Vec<Finding> {
    let state = config.get("hooks").and_then(|hooks| hooks.get("state"));
    // A CODEX_HOME that is a link is resolved by Codex.
    let real = std::fs::canonicalize(hooks_file).unwrap_or_else(|_| hooks_file.to_owned());
    let verdicts: Vec<Trust> = ours.iter().map(|handler| trust(state, &[hooks_file, &real], handler)).collect();
    let level = if verdicts.contains(&Trust::Trusted) { Level::Warning } else { Level::Problem };
    let file = host.tilde(config_file);
    [
        (Trust::Unknown, format!("not trusted ([hooks.state] in {file} does not hold them)"), TRUST_STEPS),
        (Trust::Changed, "changed since they were trusted".to_owned(), TRUST_STEPS),
        (
            Trust::Off,
            format!("switched off (enabled = false in [hooks.state] of {file})"),
            "start `codex`, switch them on in /hooks",
        ),
    ]
    .into_iter()
    .filter_map(|(verdict, what, fix)| {
        let events: Vec<&str> =
            ours.iter().zip(&verdicts).filter(|(_, v)| **v == verdict).map(|(handler, _)| handler.event).collect();
        let which = if events.len() == ours.len() { String::new() } else { format!(": {}", events.join(", ")) };
        let text =
            format!("{} of {} hooks are {what}; Codex skips them without a word{which}", events.len(), ours.len());
        (!events.is_empty()).then(|| finding(level, config_file, text, Some(fix)))
    })
    .collect()
}

/// Codex runs the hooks of both files.
fn two_places(
    host: &Host,
    config_file: &Path,
    hooks_file: &Path,
    document: &Value,
    ours: &[Handler<'_>],
    inline: &[Handler<'_>],
) -> Option<Finding> {
    if inline.iter().any(Handler::is_ours) {
        let (text, fix) = if ours.is_empty() {
            ("hooks of sessionpipe stand inline in this file; they belong into hooks.json", INSTALL)
        } else {
            ("hooks of sessionpipe stand here and in hooks.json: Codex runs each of them twice", INSTALL)
        };
        return Some(finding(Level::Warning, config_file, text.to_owned(), Some(fix)));
    }
    let both = !inline.is_empty() && handlers(document.get("hooks")).next().is_some();
    both.then(|| {
        let text =
            format!("it holds hooks, as {} does: both run, and Codex warns at every start", host.tilde(hooks_file));
        finding(Level::Note, config_file, text, None)
    })
}

/// The fallback for turn ends. Codex takes it from the top level of the person's file alone.
fn notify(config: &Value, config_file: &Path, installed: bool) -> Vec<Finding> {
    let warning = |text: String| finding(Level::Warning, config_file, text, Some(INSTALL));
    let top = config.get(NOTIFY);
    let misplaced = misplaced(config, "");
    let is_argv = |value: &Value| value.as_array().is_some_and(|argv| argv.iter().all(Value::is_string));
    let first = match top {
        Some(value) if !is_argv(value) => {
            let text = "notify is no list of strings: Codex does not start with this file";
            Some(problem(config_file, text.to_owned(), "write it as `notify = [\"program\", \"argument\"]`"))
        }
        Some(_) if installed && !is_ours(top) => {
            Some(warning("notify starts another program, and not ours before it".to_owned()))
        }
        None if installed && misplaced.is_empty() => {
            Some(warning("notify, the fallback for the end of turns, is not set".to_owned()))
        }
        _ => None,
    };
    let misplaced =
        misplaced.into_iter().map(|table| format!("notify of ours stands in [{table}], where Codex ignores it"));
    first.into_iter().chain(misplaced.map(warning)).collect()
}

fn is_ours(argv: Option<&Value>) -> bool {
    let words = argv.and_then(Value::as_array).into_iter().flatten().map(|word| word.as_str().map(str::to_owned));
    let words: Option<Vec<String>> = words.collect();
    words.and_then(|words| owned_argv(&words)).is_some_and(|ours| ours.harness == HARNESS.name)
}

/// The tables that hold a `notify` of ours.
fn misplaced(table: &Value, path: &str) -> Vec<String> {
    let members = table.as_object().into_iter().flatten();
    members
        .filter(|(_, value)| value.is_object())
        .flat_map(|(name, inner)| {
            let is_bare = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
            let name = if is_bare { name.clone() } else { format!("{name:?}") };
            let path = if path.is_empty() { name } else { format!("{path}.{name}") };
            let here = is_ours(inner.get(NOTIFY)).then(|| path.clone());
            here.into_iter().chain(misplaced(inner, &path))
        })
        .collect()
}
