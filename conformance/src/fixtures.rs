//! Every fixture through the real hook path: hook processes with the recorded argv, environment and stdin, or the one
//! that a plugin of ours writes its lines to, then `flush`, then `tail --json --tier 3`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use sessionpipe_core::command::STREAM;
use sessionpipe_core::harness::STREAM_END;
use sessionpipe_core::testing::{Call, Evidence, Fixture};

use crate::program::Program;

/// What to run.
#[derive(clap::Args)]
pub struct Args {
    /// Another program that speaks the protocol (default: the workspace's own, built now)
    #[arg(long, value_name = "PATH")]
    bin: Option<PathBuf>,
    /// Only fixtures whose path contains this
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Print the table as JSON
    #[arg(long)]
    json: bool,
}

/// How many fixtures are played at once: they mostly wait for processes.
const AT_ONCE: usize = 4;

/// The fixtures of one harness.
#[derive(Default, serde::Serialize)]
struct Row {
    fixtures: usize,
    passed: usize,
    recorded: usize,
    documented: usize,
    reported: usize,
    versions: Vec<String>,
}

/// Runs them all; false when one fails.
pub fn run(args: &Args) -> Result<bool> {
    let program = Program::at(args.bin.as_deref())?;
    let schemas = Schemas::load()?;
    let mut fixtures = Fixture::load(&folder("harness"));
    if let Some(only) = &args.only {
        fixtures.retain(|fixture| name_of(fixture).contains(only.as_str()));
    }
    if fixtures.is_empty() {
        bail!("no fixture fits");
    }
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(fixture) = fixtures.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(why) = play(&program, fixture, &schemas)
                        && let Ok(mut failures) = failures.lock()
                    {
                        failures.insert(name_of(fixture), format!("{why:#}"));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap_or_default();
    report(&fixtures, &failures, args.json)?;
    Ok(failures.is_empty())
}

fn report(fixtures: &[Fixture], failures: &BTreeMap<String, String>, json: bool) -> Result<()> {
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    for fixture in fixtures {
        let name = name_of(fixture);
        let row = rows.entry(name.split('/').next().unwrap_or_default().to_owned()).or_default();
        row.fixtures += 1;
        row.passed += usize::from(!failures.contains_key(&name));
        *match fixture.provenance.kind {
            Evidence::Recorded => &mut row.recorded,
            Evidence::Documented => &mut row.documented,
            Evidence::Reported => &mut row.reported,
        } += 1;
        let version = &fixture.provenance.harness_version;
        if fixture.provenance.kind == Evidence::Recorded && !row.versions.contains(version) {
            row.versions.push(version.clone());
        }
    }
    if json {
        println!("{}", serde_json::to_string_pretty(&serde_json::json!({"rows": rows, "failures": failures}))?);
        return Ok(());
    }
    for (name, why) in failures {
        println!("FAIL {name}\n{why}\n");
    }
    println!("{:<14} {:>8} {:>6} {:>6}   evidence", "harness", "fixtures", "pass", "fail");
    for (name, row) in &rows {
        println!(
            "{name:<14} {:>8} {:>6} {:>6}   {} recorded ({}), {} documented, {} reported",
            row.fixtures,
            row.passed,
            row.fixtures - row.passed,
            row.recorded,
            row.versions.join(", "),
            row.documented,
            row.reported
        );
    }
    println!("{} passed, {} failed", fixtures.len() - failures.len(), failures.len());
    Ok(())
}

/// Plays one fixture, and tells what is wrong with it.
pub fn play(program: &Program, fixture: &Fixture, schemas: &Schemas) -> Result<()> {
    let home = tempfile::tempdir()?;
    let home = home.path().canonicalize()?;
    let mut stdout = Vec::new();
    let mut lines = Vec::new();
    let calls = fixture.calls(&home);
    for (nth, call) in calls.iter().enumerate() {
        for (path, text) in &call.files {
            std::fs::create_dir_all(path.parent().context("a file without a folder")?)?;
            std::fs::write(path, text)?;
        }
        if let Some(cwd) = call.cwd.as_ref().filter(|cwd| Path::new(cwd).starts_with(&home)) {
            std::fs::create_dir_all(cwd)?;
        }
        let (argv, stdin) = if call.is_line() {
            let is_last = event_of(call) == Some(STREAM_END) || !calls.get(nth + 1).is_some_and(Call::is_line);
            if event_of(call) != Some(STREAM_END) {
                lines.extend(line(&call.stdin)?);
            }
            stdout.push(String::new());
            if !is_last {
                continue;
            }
            let harness = call.argv.first().context("no harness")?;
            (vec![STREAM.to_owned(), harness.clone()], std::mem::take(&mut lines))
        } else {
            (call.argv.clone(), call.stdin.clone())
        };
        let done = program.hook(&home, &argv, &call.env, call.cwd.as_deref().map(Path::new), &stdin)?;
        if !done.status.success() || !done.stderr.is_empty() {
            bail!("the hook: {}, stderr {:?}", done.status, String::from_utf8_lossy(&done.stderr));
        }
        let printed = String::from_utf8(done.stdout).context("stdout is not UTF-8")?;
        if call.is_line() && !printed.is_empty() {
            bail!("the process that a plugin writes to printed {printed:?}");
        }
        if !call.is_line() {
            stdout.push(printed);
        }
    }
    let events = program.events(&home)?;
    for (at, event) in events.iter().enumerate() {
        schemas.check(event)?;
        let same = |e: &&Value| e["session"]["id"] == event["session"]["id"];
        if let Some(last) = events[..at].iter().rev().find(same)
            && event["session"]["seq"].as_u64() != last["session"]["seq"].as_u64().map(|seq| seq + 1)
        {
            bail!("seq is not gap-free: {event} after {last}");
        }
    }
    fixture.check(&home, &stdout, &events).map_err(anyhow::Error::msg)
}

/// The native event that a call names.
fn event_of(call: &Call) -> Option<&str> {
    call.argv.get(1).map(String::as_str)
}

/// A plugin's line, as if it were written now: what is old is not kept.
fn line(stdin: &[u8]) -> Result<Vec<u8>> {
    let mut line: Value = serde_json::from_slice(stdin)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
    line["t"] = u64::try_from(now)?.into();
    Ok((line.to_string() + "\n").into_bytes())
}

/// The protocol's published schemas.
pub struct Schemas {
    event: jsonschema::Validator,
    data: BTreeMap<String, jsonschema::Validator>,
}

impl Schemas {
    /// Reads them from the repository.
    pub fn load() -> Result<Self> {
        let read = |name: &str| -> Result<Value> {
            let path = folder("vectors/schemas").join(name);
            let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            Ok(serde_json::from_str(&text)?)
        };
        let compile = |schema: &Value| jsonschema::validator_for(schema).map_err(|e| anyhow::anyhow!("a schema: {e}"));
        let types = read("event-data.json")?;
        let types = types["properties"].as_object().context("event-data.json has no properties")?;
        let data = types.iter().map(|(name, schema)| Ok((name.clone(), compile(schema)?))).collect::<Result<_>>()?;
        Ok(Self { event: compile(&read("event.json")?)?, data })
    }

    /// Validates an event, and its data by its type.
    pub fn check(&self, event: &Value) -> Result<()> {
        if let Err(error) = self.event.validate(event) {
            bail!("{error} in {event}");
        }
        if let Some(data) = event["type"].as_str().and_then(|kind| self.data.get(kind))
            && let Err(error) = data.validate(&event["data"])
        {
            bail!("{error} in the data of {event}");
        }
        Ok(())
    }
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The fixture's path below the folder of fixtures.
fn name_of(fixture: &Fixture) -> String {
    let path = fixture.path.strip_prefix(folder("harness")).unwrap_or(&fixture.path);
    path.with_extension("").to_string_lossy().into_owned()
}
