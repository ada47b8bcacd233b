//! What could keep Cursor's hooks silent, beyond what the installer sees in the file itself.

use std::path::Path;

use serde_json::{Map, Value};
use sessionpipe_core::adapter::{Finding, Level};
use sessionpipe_core::file;
use sessionpipe_core::host::Host;

use super::{DIR_VAR, FORMAT, HOOKS_JSON, config_dir, is_old, knows};
use crate::facts::{self, Agent};
use crate::harness::HARNESS;

pub(crate) fn check(host: &Host) -> Vec<Finding> {
    let path = config_dir(host).join(HOOKS_JSON);
    let mut findings: Vec<Finding> = relative_dir(host).into_iter().collect();
    match read(&path) {
        None => {}
        Some(Ok(document)) => {
            findings.extend(format_version(&path, &document));
            findings.extend(faults(&path, &document, facts::agent(host).as_ref()));
        }
        Some(Err(error)) => {
            let text = format!("Cursor runs no hook of this file: {error}");
            findings.push(Finding::of(Level::Problem, &path, text, "correct the file"));
        }
    }
    findings
}

/// The hooks file; `None` where there is none, or it is blank.
fn read(path: &Path) -> Option<Result<Map<String, Value>, String>> {
    let bytes = file::read(path).ok()?;
    let bytes = bytes.strip_prefix(BOM).unwrap_or(&bytes);
    if bytes.trim_ascii().is_empty() {
        return None;
    }
    Some(match serde_json::from_slice(bytes) {
        Ok(Value::Object(document)) => Ok(document),
        Ok(_) => Err("it is no JSON object".to_owned()),
        Err(error) => Err(format!("it is not strict JSON (no comments, no trailing commas): {error}")),
    })
}

/// The UTF-8 byte order mark.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// A variable that leads elsewhere in each folder.
fn relative_dir(host: &Host) -> Option<Finding> {
    let value = host.var(DIR_VAR).filter(|value| !value.is_empty())?;
    let text = format!("{DIR_VAR} is {:?}: it leads elsewhere in each folder", value.to_string_lossy());
    let fix = Some("set it to an absolute path, or unset it".to_owned());
    (!Path::new(value).is_absolute()).then_some(Finding { level: Level::Warning, file: None, text, fix })
}

/// Without its version some versions refuse the file, others run its hooks and do not show them (reported).
fn format_version(path: &Path, document: &Map<String, Value>) -> Option<Finding> {
    let text = match document.get("version") {
        Some(version) if version.as_u64() == Some(FORMAT) => return None,
        Some(version) => format!("\"version\" is {version}: Cursor knows {FORMAT} only"),
        None => format!("there is no \"version\": {FORMAT} in it: Cursor may refuse the file"),
    };
    Some(Finding::of(Level::Warning, path, text, "correct the file"))
}

/// All for which cursor-agent ignores the whole file, without a word (reported of 2026.09.10).
fn faults(path: &Path, document: &Map<String, Value>, agent: Option<&Agent>) -> Vec<Finding> {
    const FIX: &str = "correct or remove the entry";
    let problem = |text: String| Finding::of(Level::Problem, path, text, FIX);
    let hooks = match document.get("hooks") {
        None => return Vec::new(),
        Some(Value::Object(hooks)) => hooks,
        Some(_) => return vec![problem("Cursor runs no hook of this file: hooks is no object".to_owned())],
    };
    let mut findings = Vec::new();
    for (event, handlers) in hooks {
        if HARNESS.event(event).is_none() {
            findings.push(problem(format!("hooks.{event} is no event of Cursor's: {IGNORES}")));
        } else if let Some(agent) = agent.filter(|agent| is_old(agent) && !knows(Some(agent), event)) {
            let text =
                format!("cursor-agent {} may not know hooks.{event}: then it ignores the whole file", agent.version);
            findings.push(Finding::of(
                Level::Warning,
                path,
                text,
                "update cursor-agent; if the entry is ours: sessionpipe install",
            ));
        }
        let Some(handlers) = handlers.as_array() else {
            findings.push(problem(format!("hooks.{event} is no list: {IGNORES}")));
            continue;
        };
        findings.extend(
            handlers
                .iter()
                .enumerate()
                .filter_map(|(n, handler)| Some(problem(format!("hooks.{event}[{n}] {}: {IGNORES}", fault(handler)?)))),
        );
    }
    findings
}

const IGNORES: &str = "cursor-agent ignores the whole file for it";

/// What is wrong with one handler.
fn fault(handler: &Value) -> Option<&'static str> {
    let is_prompt = handler.get("type").and_then(Value::as_str) == Some("prompt");
    let member = if is_prompt { "prompt" } else { "command" };
    match handler.get(member).and_then(Value::as_str) {
        None => Some(if is_prompt { "has no prompt" } else { "has no command" }),
        Some(command) if !is_prompt && command.contains("://") => Some("has a URL in its command"),
        Some(_) => None,
    }
}
