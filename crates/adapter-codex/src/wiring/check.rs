//! What could keep Codex's hooks silent, beyond what the installer sees in the files itself.

use std::path::Path;

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
    let mut findings: Vec<Finding> = no_home(host, &home).into_iter().chain(all_off(host)).collect();

    let config_file = home.join(CONFIG_TOML);
    let config = match read(&config_file) {
        Ok(config) => config.unwrap_or(Value::Null),
        Err(error) => {
            let text = format!("Codex does not start with this file: {error}");
            findings.push(problem(&config_file, text, "correct the file"));
            return findings;
        }
    };
    findings.extend(switches(host, &config, &config_file));

    let hooks_file = home.join(HOOKS_JSON);
    let (document, fault) = match read(&hooks_file) {
        Ok(None) => (Value::Null, None),
        Ok(Some(document)) => {
            let fault = fault(&document);
            (document, fault)
        }
        Err(error) => (Value::Null, Some(error.to_string())),
    };
    if let Some(fault) = fault {
        findings.push(problem(&hooks_file, format!("Codex runs no hook of this file: {fault}"), "correct the file"));
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

/// What keeps Codex from running any hook of the person's.
pub(super) fn all_off(host: &Host) -> Option<Finding> {
    let requirements = host.etc.join("codex/requirements.toml");
    let policy = value(&requirements);
    let ask = "ask the administrator; the end of turns still arrives through notify";
    if policy.get(MANAGED_ONLY) == Some(&Value::Bool(true)) {
        let text = format!("{MANAGED_ONLY} = true: Codex runs no hooks but those of the administrator");
        return Some(problem(&requirements, text, ask));
    }
    if let Some((name, false)) = switch(&policy) {
        return Some(problem(&requirements, switched_off(name), ask));
    }
    // The person's file decides, then the system's.
    let layers = [codex_home(host), host.etc.join("codex")].map(|dir| dir.join(CONFIG_TOML));
    let decides = layers.iter().find_map(|file| Some((file, switch(&value(file))?)));
    decides.and_then(|(file, (name, on))| (!on).then(|| problem(file, switched_off(name), SWITCH_ON)))
}

const MANAGED_ONLY: &str = "allow_managed_hooks_only";
const SWITCH_ON: &str = "set it to true, or remove it: hooks are on by default";

fn switched_off(name: &str) -> String {
    format!("features.{name} = false: Codex runs no hooks; only the end of turns arrives, through notify")
}

/// The switch of all hooks, as a file has it: its name of today, or the older one that still works.
fn switch(config: &Value) -> Option<(&'static str, bool)> {
    ["hooks", OLD_SWITCH].into_iter().find_map(|name| Some((name, config.get("features")?.get(name)?.as_bool()?)))
}

const OLD_SWITCH: &str = "codex_hooks";

/// The switch of the folder's own config, and the old name wherever it stands.
fn switches(host: &Host, config: &Value, config_file: &Path) -> Vec<Finding> {
    let project = host.cwd.join(".codex").join(CONFIG_TOML);
    let of_project = if project == config_file { Value::Null } else { value(&project) };
    let mut findings = Vec::new();
    if let Some((name, false)) = switch(&of_project) {
        let text = format!("features.{name} = false: in this folder Codex runs no hooks");
        findings.push(finding(Level::Warning, &project, text, Some(SWITCH_ON)));
    }
    for (file, config) in [(config_file, config), (&project, &of_project)] {
        if config.get("features").is_some_and(|features| features.get(OLD_SWITCH).is_some()) {
            let text =
                format!("features.{OLD_SWITCH} is the deprecated name of features.hooks; Codex says so at every start");
            findings.push(finding(Level::Note, file, text, Some("rename the key to `hooks`")));
        }
    }
    findings
}

/// A file's value; null where there is none to be read.
fn value(file: &Path) -> Value {
    read(file).ok().flatten().unwrap_or(Value::Null)
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
    let known = |event: &str| HARNESS.wired(None).any(|known| known.name == event);
    events.iter().filter(|(event, _)| known(event)).find_map(|(event, groups)| {
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
