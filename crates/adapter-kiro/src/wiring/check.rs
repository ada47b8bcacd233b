//! What could keep Kiro's hooks silent, beyond what the installer sees in the files itself.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sessionpipe_core::adapter::{Finding, Level};
use sessionpipe_core::command;
use sessionpipe_core::host::Host;

use super::{VERSION, agents, has_cli, hooks_file, kiro_home, read};
use crate::HARNESS;
use crate::harness::{AGENTS_OPTION, is_agents};

pub(crate) fn check(host: &Host) -> Vec<Finding> {
    let home = kiro_home(host);
    let file = hooks_file(&home);
    let document = read(&file).filter(holds_ours);
    let wired: Vec<PathBuf> =
        agents(&home).into_iter().filter(|agent| read(agent).is_some_and(|a| holds_ours(&a))).collect();
    let mut findings = Vec::new();
    if let Some(document) = &document {
        findings.extend(hook_file(&file, document));
        findings.extend(copies(host, &home, &file));
        if wired.is_empty() && has_cli(host) {
            let text = "kiro-cli runs the hooks of this file only with --v3, and no agent holds ours";
            let fix = format!("sessionpipe install --{AGENTS_OPTION}");
            findings.push(Finding::of(Level::Note, &file, text, fix));
        }
    }
    findings.extend(wired.iter().filter_map(|agent| rejected(agent)));
    findings.extend(wired.iter().filter_map(|agent| shadowed(host, &home, agent)));
    findings.extend(default_agent(&home, &wired));
    findings
}

fn holds_ours(document: &Value) -> bool {
    command::is_in(document, HARNESS.name)
}

/// What the person, or Kiro's panel of hooks, changed in our file.
fn hook_file(file: &Path, document: &Value) -> Vec<Finding> {
    let hooks = document.get("hooks").and_then(Value::as_array);
    let (Some(hooks), Some(VERSION)) = (hooks, document.get("version").and_then(Value::as_str)) else {
        let text = format!("Kiro runs no hook of this file: it needs `version` \"{VERSION}\" and a list of `hooks`");
        return vec![Finding::of(Level::Problem, file, text, "sessionpipe install --harness kiro")];
    };
    let ours: Vec<&Value> = hooks.iter().filter(|hook| holds_ours(hook)).collect();
    let off = |hook: &Value| hook.get("enabled") == Some(&Value::Bool(false));
    let dropped = |hook: &Value| hook.get("matcher").and_then(Value::as_str) == Some("*");
    let said = |is: &dyn Fn(&Value) -> bool, what: &str, fix: &str| {
        let triggers: Vec<&str> = ours.iter().filter(|hook| is(hook)).map(|hook| trigger(hook)).collect();
        let level = if triggers.len() == ours.len() { Level::Problem } else { Level::Warning };
        let text = format!("{} of {} hooks {what}: {}", triggers.len(), ours.len(), triggers.join(", "));
        (!triggers.is_empty()).then(|| Finding::of(level, file, text, fix))
    };
    [
        said(&off, "are switched off (enabled: false)", "switch them on in Kiro's panel of hooks, or remove the key"),
        said(&dropped, "are dropped by Kiro (matcher: \"*\" is no regular expression)", "remove the matcher"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn trigger(hook: &Value) -> &str {
    hook.get("trigger").and_then(Value::as_str).unwrap_or("?")
}

/// Hooks of ours in other hook files: Kiro runs those of all, in the home and in the workspace. `kiro-cli agent migrate`
/// makes such a file of the hooks in an agent.
fn copies(host: &Host, home: &Path, ours: &Path) -> Vec<Finding> {
    let dirs = [home.join("hooks"), host.cwd.join(".kiro/hooks")];
    let files = dirs.iter().flat_map(|dir| fs::read_dir(dir).into_iter().flatten().flatten()).map(|entry| entry.path());
    let mut files: Vec<PathBuf> = files
        .filter(|file| file != ours && file.extension().is_some_and(|ext| ext == "json"))
        .filter(|file| read(file).is_some_and(|document| holds_ours(&document)))
        .collect();
    files.sort();
    files.dedup();
    let text = format!("hooks of sessionpipe stand here and in {}: Kiro runs them twice", host.tilde(ours));
    let say = |file: PathBuf| Finding::of(Level::Warning, &file, text.clone(), "remove them from this file");
    files.into_iter().map(say).collect()
}

/// An agent with ours that kiro-cli does not load. (`kiro-cli agent validate` finds no fault in it.)
fn rejected(agent: &Path) -> Option<Finding> {
    let fault = fault(&read(agent)?)?;
    let text = format!("kiro-cli does not load this agent and runs its built-in one without a word: {fault}");
    Some(Finding::of(Level::Problem, agent, text, "correct the file"))
}

fn fault(agent: &Value) -> Option<String> {
    let events = agent.get("hooks")?.as_object()?;
    let known = |name: &str| is_agents(name) && HARNESS.event(name).is_some();
    events.iter().find_map(|(name, entries)| {
        if !known(name) {
            return Some(format!("`{name}` is no event of an agent's"));
        }
        let Some(entries) = entries.as_array() else { return Some(format!("`{name}` is no list")) };
        let is_flat = |entry: &Value| entry.get("command").is_some_and(Value::is_string);
        (!entries.iter().all(is_flat)).then(|| format!("an entry of `{name}` has no `command` of its own"))
    })
}

/// The workspace's agent of the same name runs instead.
fn shadowed(host: &Host, home: &Path, agent: &Path) -> Option<Finding> {
    let other = host.cwd.join(".kiro/agents").join(agent.file_name()?);
    let is_other = !other.starts_with(home) && !read(&other).is_none_or(|agent| holds_ours(&agent));
    let text = || format!("in this folder it runs instead of {}, and holds no hook of ours", host.tilde(agent));
    is_other.then(|| Finding { level: Level::Warning, file: Some(other.clone()), text: text(), fix: None })
}

/// Only the agent that runs fires its hooks.
fn default_agent(home: &Path, wired: &[PathBuf]) -> Option<Finding> {
    let name = |agent: &PathBuf| -> Option<String> {
        let given = read(agent)?.get("name").and_then(Value::as_str).map(str::to_owned);
        given.or_else(|| Some(agent.file_stem()?.to_str()?.to_owned()))
    };
    let names: Vec<String> = wired.iter().filter_map(name).collect();
    let first = names.first()?;
    let settings = home.join("settings/cli.json");
    let default = read(&settings).and_then(|s| s.get(DEFAULT_AGENT).and_then(Value::as_str).map(str::to_owned));
    let text = match default {
        Some(default) if names.contains(&default) => return None,
        Some(default) => format!("{DEFAULT_AGENT} is {default}, an agent without hooks of ours"),
        None => format!("{DEFAULT_AGENT} is not set: kiro-cli runs its built-in agent, which has no hooks"),
    };
    let fix = format!("kiro-cli agent set-default {first}, or start it with --agent {first}");
    Some(Finding::of(Level::Warning, &settings, text, fix))
}

const DEFAULT_AGENT: &str = "chat.defaultAgent";
