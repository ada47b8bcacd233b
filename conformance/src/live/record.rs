//! A run as a fixture in the project's own format: every hook call in order, and the events that came of them.
//!
//! Only a run that passed is written, so what is expected was judged against the scenario's hand-made stream. The home is
//! the one that fixtures live in, ids are numbered, times are wildcards.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use regex::Regex;
use serde_json::Value;
use sessionpipe_core::testing::{Evidence, Expect, FIXTURE_HOME, Fixture, Input, Provenance};

use super::hooks::{Call, Calls, Started};
use super::session::{PROJECT, Plan};

/// Longer texts are no fixture: the scenario with large results is not recorded.
const LONGEST: usize = 16 * 1024;

/// Variables that hold a secret of the run.
const SECRET: [&str; 4] = ["TOKEN", "SECRET", "PASSWORD", "_KEY"];

/// Where a run's fixture goes.
#[must_use]
pub fn path(folder: &Path, plan: &Plan) -> PathBuf {
    let name = format!("{}-{}.json", plan.version, plan.scenario.name);
    folder.join(&plan.harness).join("scenarios").join(name)
}

/// Writes a run that can be one as a fixture. `commands` are those of the configs.
///
/// # Errors
/// Where it cannot be written, or a call is missing.
pub fn write(
    folder: &Path,
    plan: &Plan,
    calls: &Calls,
    commands: &[(String, String, Started)],
    events: &[Value],
) -> anyhow::Result<()> {
    anyhow::ensure!(calls.seen == calls.kept.len(), "not every call could be kept");
    // That a process died is nothing that a fixture can hold.
    let lost = events.iter().any(|event| event["data"].get("lost").is_some());
    if lost || calls.kept.is_empty() || calls.kept.iter().any(|call| call.payload.len() > LONGEST) {
        return Ok(());
    }
    let mut inputs: Vec<_> = calls.kept.iter().map(|call| input(call, commands, plan)).collect();
    if let Some(first) = inputs.first_mut() {
        let project = Plan::project(&plan.run);
        let file =
            |(name, text): &(&str, &str)| (project.join(name).to_string_lossy().into_owned(), (*text).to_owned());
        first.files = PROJECT.iter().map(file).collect();
    }
    let fixture = Fixture {
        provenance: Provenance {
            kind: Evidence::Recorded,
            harness_version: plan.version.clone(),
            how: format!(
                "the real program against a fake model on loopback, an empty environment and a HOME of its own; \
                 live scenario {}",
                plan.scenario.name
            ),
        },
        input: None,
        inputs,
        expect: Expect { stdout: String::new(), events: events.iter().map(expected).collect() },
        path: Default::default(),
    };
    let text = scrub(&serde_json::to_string_pretty(&fixture)?, plan)?;
    let path = path(folder, plan);
    fs::create_dir_all(path.parent().context("a fixture without a folder")?)?;
    fs::write(&path, text + "\n").with_context(|| format!("cannot write {}", path.display()))
}

fn input(call: &Call, commands: &[(String, String, Started)], plan: &Plan) -> Input {
    let text = String::from_utf8_lossy(&call.payload).into_owned();
    let payload = serde_json::from_str(&text).unwrap_or(Value::String(text));
    let header = &call.header;
    let mut argv = vec![header.harness.clone(), header.event.clone()];
    // What every process of the run has is not the hook's own.
    let own = |(name, value): &(&String, &String)| !plan.env.contains(&((*name).clone(), (*value).clone()));
    let env = header.env.iter().filter(own).map(|(name, value)| {
        let secret = SECRET.iter().any(|end| name.ends_with(end));
        (name.clone(), if secret { "LAB-REMOVED".to_owned() } else { value.clone() })
    });
    let as_argument = commands.iter().any(|(harness, event, started)| {
        (harness, event) == (&header.harness, &header.event) && matches!(started, Started::Argv(_))
    });
    let stdin = if as_argument {
        argv.push(payload.to_string());
        Value::Null
    } else {
        payload
    };
    Input { argv, env: env.collect(), cwd: header.cwd.clone(), stdin, stdout: None, files: BTreeMap::new() }
}

/// What a fixture compares of an event.
fn expected(event: &Value) -> Value {
    let mut data = event["data"].clone();
    if let Some(ms) = data.get_mut("ms") {
        *ms = "*".into();
    }
    // Made from the turn's id, which is numbered here, or from the time.
    if let Some(id) = data.get_mut("attention_id")
        && let Some((made @ ("perm" | "notif"), from)) = id.as_str().and_then(|id| id.split_once('-'))
    {
        *id = format!("${made}{from}").into();
    }
    let mut harness = serde_json::json!({"name": event["harness"]["name"]});
    if let Some(native) = event["harness"].get("event") {
        harness["event"] = native.clone();
    }
    serde_json::json!({"type": event["type"], "data": data, "harness": harness, "session": {"id": event["session"]["id"]}})
}

/// Puts the fixtures' home in place of the run's, also where a harness spells a path with dashes, and numbers the UUIDs;
/// their version and variant stay.
fn scrub(text: &str, plan: &Plan) -> anyhow::Result<String> {
    let dashes = |path: &str| path.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let home = Plan::home(&plan.run);
    let mut text = text.to_owned();
    for (real, shown) in [(&home, FIXTURE_HOME), (&plan.run, "/opt/lab/run"), (&plan.package, "/opt/lab/npm")] {
        let real = real.to_string_lossy();
        text = text.replace(&*real, shown).replace(&dashes(&real), &dashes(shown));
    }
    let uuid = Regex::new(r"[0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{12}")?;
    let mut known: Vec<String> = Vec::new();
    let numbered = uuid.replace_all(&text, |found: &regex::Captures<'_>| {
        let number = known.iter().position(|id| *id == found[0]).unwrap_or_else(|| {
            known.push(found[0].to_owned());
            known.len() - 1
        }) + 1;
        format!("00000000-0000-{}000-{}000-{number:012}", &found[1], &found[2])
    });
    Ok(numbered.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn home_and_ids_are_scrubbed_and_stay_apart() {
        let plan = Plan { run: "/tmp/r1".into(), package: "/c/agent-1".into(), ..Plan::default() };
        let text = r#""/tmp/r1/home/proj" "-tmp-r1-home-proj" "/tmp/r1/tmp" "/c/agent-1/node_modules" 01a22b7c-9949-72e1-9862-16510da6ef79 9a6fbd55-74c3-4cbe-8ed8-2bbe5a7383ba 01a22b7c-9949-72e1-9862-16510da6ef79"#;
        assert_eq!(
            scrub(text, &plan).expect("a text"),
            r#""/home/dev/proj" "-home-dev-proj" "/opt/lab/run/tmp" "/opt/lab/npm/node_modules" 00000000-0000-7000-9000-000000000001 00000000-0000-4000-8000-000000000002 00000000-0000-7000-9000-000000000001"#
        );
    }

    #[test]
    fn an_expected_event_has_no_times() {
        let event = serde_json::json!({"id": "x", "time": "t", "type": "tool.ended", "harness": {"name": "h", "version": "1", "event": "E"},
            "session": {"id": "s", "seq": 3}, "data": {"ms": 12, "ok": true, "attention_id": "notif-1796047871870"}});
        assert_eq!(
            expected(&event),
            serde_json::json!({"type": "tool.ended", "data": {"ms": "*", "ok": true, "attention_id": "$notif1796047871870"},
            "harness": {"name": "h", "event": "E"}, "session": {"id": "s"}})
        );
    }
}
