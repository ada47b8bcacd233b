//! What must be true of Kiro's config files: a hook file that is ours alone for the IDE and `--v3`, and, where the person
//! asked for it, hooks in their agents for kiro-cli 2.x.
//!
//! Both engines load the person's hook files and the workspace's, and run them all: ours stand in the person's alone.

pub(crate) mod check;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sessionpipe_core::command::guarded_hook_command;
use sessionpipe_core::file;
use sessionpipe_core::host::Host;
use sessionpipe_core::wiring::{HookEntry, When, Wiring};

use crate::HARNESS;
use crate::facts::{is_here, program};
use crate::harness::{AGENTS_OPTION, is_agents};

/// Seconds that a hook of ours may take; it needs milliseconds. Kiro waits for it.
const TIMEOUT_S: u64 = 5;

/// The format of hook files.
const VERSION: &str = "v1";

const HOOKS_JSON: &str = "sessionpipe.json";

/// `$KIRO_HOME`, else `~/.kiro`. An empty value counts as unset.
pub(crate) fn kiro_home(host: &Host) -> PathBuf {
    host.path_var("KIRO_HOME").unwrap_or_else(|| host.home.join(".kiro"))
}

pub(crate) fn wiring(host: &Host) -> Vec<Wiring> {
    if !is_here(host) {
        return Vec::new();
    }
    let home = kiro_home(host);
    let hooks = Wiring::OwnedFile { file: hooks_file(&home), document: document(host) };
    let agents = agents(&home).into_iter().filter(|file| takes_entries(file)).map(|file| {
        let entries = HARNESS.wired(None).filter(|event| is_agents(event.name)).map(|event| entry(host, event.name));
        let wiring = Wiring::HookEntries { file, at: &["hooks"], needs: &[], entries: entries.collect(), jsonc: false };
        Wiring::OnRequest { option: AGENTS_OPTION, wiring: Box::new(wiring) }
    });
    let notices = notices(host).into_iter().map(|text| Wiring::Notice { when: When::Changed, text });
    std::iter::once(hooks).chain(agents).chain(notices).collect()
}

fn hooks_file(home: &Path) -> PathBuf {
    home.join("hooks").join(HOOKS_JSON)
}

/// The hook file. No matcher: one that is no regular expression drops its hook without a word.
fn document(host: &Host) -> Value {
    let hooks = HARNESS.wired(None).filter(|event| !is_agents(event.name)).map(|event| {
        json!({
            "name": format!("sessionpipe {}", event.name),
            "trigger": event.name,
            "action": {"type": "command", "command": command(host, event.name)},
            "timeout": TIMEOUT_S,
        })
    });
    json!({"version": VERSION, "hooks": hooks.collect::<Vec<_>>()})
}

/// A handler in an agent: flat. One with `hooks` of its own would make kiro-cli fall back to its built-in agent.
fn entry(host: &Host, event: &'static str) -> HookEntry {
    HookEntry { event, value: json!({"command": command(host, event), "timeout_ms": TIMEOUT_S * 1_000}) }
}

/// Guarded: an older page of the documentation says that any failure of a hook blocks a prompt.
fn command(host: &Host, event: &str) -> String {
    guarded_hook_command(&host.program, HARNESS.name, event)
}

/// The configs of the person's agents, by name. (Agents written in Markdown are known to the new engine alone.)
fn agents(home: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(home.join("agents")).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut agents: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|ext| ext == "json")).collect();
    agents.sort();
    agents
}

/// Only one that kiro-cli 2.x loads. It reads strict JSON; a list of `hooks`, as a hook file has it, is for the new engine,
/// which runs the hook file.
fn takes_entries(agent: &Path) -> bool {
    read(agent).is_some_and(|agent| agent.is_object() && !agent.get("hooks").is_some_and(Value::is_array))
}

/// A file's value, where it can be read.
fn read(file: &Path) -> Option<Value> {
    serde_json::from_slice(&file::read(file).ok()?).ok()
}

/// Whether kiro-cli is used here: it is on PATH, or has written sessions.
fn has_cli(host: &Host) -> bool {
    program(host).is_some() || kiro_home(host).join("sessions/cli").is_dir()
}

fn notices(host: &Host) -> Vec<String> {
    let mut notices = vec![
        "Kiro reads hooks when a session starts: open a new one. (The IDE reads no hooks from the home before 1.0, and \
         1.0.52 was reported not to: update it.)"
            .to_owned(),
    ];
    if has_cli(host) {
        let agents = host.tilde(&kiro_home(host).join("agents"));
        notices.push(format!(
            "kiro-cli runs these hooks only with --v3. Without it the agents in {agents} need hooks of their own: sessionpipe \
             install --{AGENTS_OPTION}. Only the agent that runs fires them, and the built-in one has no file: kiro-cli agent \
             create NAME --from kiro_default, then kiro-cli agent set-default NAME."
        ));
    }
    notices
}

#[cfg(test)]
mod tests;
