//! The live lab: the real programs of the harnesses, end to end, in a namespace that has loopback only, against a fake
//! model. `docs/live-lab.md` explains how to run it and how to add to it.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::{IsTerminal, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::Instant;

use anyhow::{Context, bail};

mod catalog;
mod check;
mod expect;
mod hooks;
mod model;
mod namespace;
mod record;
mod screen;
mod session;
mod setup;

use catalog::{Harness, Package, Scenario, Words};
use session::{Outcome, PORT, Plan};

use sessionpipe_core::testing::Fixture;

use crate::fixtures::{self, Schemas};
use crate::program::Program;

/// Runs the real agents against a fake model, with and without hooks, and compares.
#[derive(clap::Args)]
pub struct Args {
    /// Which harnesses (default: all)
    #[arg(value_name = "HARNESS")]
    harnesses: Vec<String>,
    /// Another version than the pinned one
    #[arg(long, value_name = "V")]
    version: Option<String>,
    /// Only these scenarios
    #[arg(long, value_name = "S")]
    scenario: Vec<String>,
    /// Write what was seen as fixtures into this folder
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// Leave out the scenarios that need a screen
    #[arg(long)]
    headless: bool,
    /// Also report the medians of five runs with and without hooks
    #[arg(long)]
    timing: bool,
    /// Play a scenario that fails again, so many times; the table names it
    #[arg(long, value_name = "N", default_value_t = 0)]
    retries: u32,
    /// Keep the folder of each run
    #[arg(long)]
    keep: bool,
    /// The sessionpipe to test (default: the workspace's own as it is shipped, built now: its speed is judged)
    #[arg(long, value_name = "PATH")]
    bin: Option<PathBuf>,
    /// Another folder of harness files
    #[arg(long, value_name = "DIR", hide = true)]
    data: Option<PathBuf>,
}

/// The part inside the namespace.
#[derive(clap::Args)]
pub struct InsideArgs {
    /// The folder of one run
    run: PathBuf,
}

/// What all runs share.
struct Lab<'a> {
    args: &'a Args,
    kind: namespace::Kind,
    data: PathBuf,
    bin: PathBuf,
}

/// One scenario of one version of one harness.
struct Case<'a> {
    name: &'a str,
    harness: &'a Harness,
    package: &'a Package,
    version: &'a str,
    scenario: &'a Scenario,
}

/// One line of the table.
struct Row {
    harness: String,
    version: String,
    scenario: String,
    outcome: Outcome,
    seconds: f64,
    /// What was wrong before, where it was played again.
    before: Vec<String>,
}

/// Runs what was asked for; false where something is not as it should be.
///
/// # Errors
/// Where the lab itself cannot run.
pub fn run(args: &Args) -> anyhow::Result<bool> {
    let needs = ["node", "npm"]
        .into_iter()
        .try_for_each(|tool| setup::which(tool).map(drop).with_context(|| format!("{tool} is needed")));
    let kind = match needs.and_then(|()| namespace::Kind::find()) {
        Ok(kind) => kind,
        Err(missing) => {
            // A person may work without them; the machine that guards the project may not.
            println!("The live lab cannot run here: {missing:#}.");
            return Ok(!in_ci());
        }
    };
    let data = args.data.clone().unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("live"));
    let versions = catalog::versions(&data)?;
    if let Some(unknown) = args.harnesses.iter().find(|name| !versions.contains_key(*name)) {
        let known: Vec<_> = versions.keys().map(String::as_str).collect();
        bail!("no harness is named {unknown}; there are {}", known.join(", "));
    }
    if args.bin.is_none() {
        progress("building …");
    }
    let program = match &args.bin {
        Some(path) => Program::at(Some(path))?,
        None => Program::shipped()?,
    };
    let lab = Lab { args, kind, data, bin: program.path().to_owned() };
    let chosen = |name: &&String| args.harnesses.is_empty() || args.harnesses.contains(name);
    let no_screen = args.headless || setup::which("tmux").is_none();
    if no_screen && !args.headless {
        if in_ci() {
            bail!("tmux is needed for the scenarios on a screen");
        }
        println!("tmux is missing: the scenarios on a screen are left out.");
    }
    let mut rows = Vec::new();
    for name in versions.keys().filter(chosen) {
        let harness = &catalog::harness(&lab.data, name)?;
        let package = &versions[name];
        for scenario in &harness.scenario {
            let version = scenario.version.as_ref().or(args.version.as_ref()).unwrap_or(&package.version);
            let other = args.version.as_ref().is_some_and(|asked| asked != version);
            let unasked = !args.scenario.is_empty() && !args.scenario.contains(&scenario.name);
            if other || unasked || (no_screen && scenario.on_a_screen()) {
                continue;
            }
            let case = Case { name, harness, package, version, scenario };
            let mut row = lab.run(&case)?;
            for _ in 0..args.retries {
                if row.outcome.problems.is_empty() {
                    break;
                }
                let before = [row.before, row.outcome.problems].concat();
                row = Row { before, ..lab.run(&case)? };
            }
            rows.push(row);
        }
    }
    if rows.is_empty() {
        bail!("no scenario fits");
    }
    Ok(report(&rows))
}

fn in_ci() -> bool {
    env::var_os("CI").is_some_and(|ci| ci == "true")
}

fn progress(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let _ = match (stderr.is_terminal(), text.ends_with('\n')) {
        (true, _) => write!(stderr, "\r\x1b[K{text}"),
        (false, true) => write!(stderr, "{text}"),
        (false, false) => Ok(()),
    };
    let _ = stderr.flush();
}

impl Lab<'_> {
    /// Plays one scenario, with progress for whoever watches.
    fn run(&self, case: &Case<'_>) -> anyhow::Result<Row> {
        let title = format!("{} {} {}", case.name, case.version, case.scenario.name);
        progress(&format!("{title} …"));
        let start = Instant::now();
        let run = tempfile::Builder::new().prefix("sessionpipe-live-").tempdir()?;
        let outcome = self
            .plan(case, &run.path().canonicalize()?)
            .and_then(|plan| {
                let mut outcome = inside(self.kind, &plan)?;
                if let Some(folder) = &self.args.record {
                    outcome.problems.extend(replay(&record::path(folder, &plan), &self.bin)?);
                }
                Ok(outcome)
            })
            // A lab that cannot go on is a failure of this scenario; the others still tell something.
            .unwrap_or_else(|error| Outcome { problems: vec![format!("{error:#}")], ..Outcome::default() });
        let seconds = start.elapsed().as_secs_f64();
        let result = if outcome.problems.is_empty() { "ok" } else { "FAILED" };
        progress(&format!("{title} {result} {seconds:.1} s\n"));
        if self.args.keep {
            eprintln!("  kept: {}", run.keep().display());
        }
        Ok(Row {
            harness: case.name.to_owned(),
            version: case.version.to_owned(),
            scenario: case.scenario.name.clone(),
            outcome,
            seconds,
            before: Vec::new(),
        })
    }

    /// Puts together all that a run needs, in its folder.
    fn plan(&self, case: &Case<'_>, run: &Path) -> anyhow::Result<Plan> {
        let (harness, scenario) = (case.harness, case.scenario);
        let node = setup::which("node").context("node is needed")?;
        let folder = setup::installed(&setup::cache(), &case.package.package, case.version)?;
        let modules = folder.join("node_modules");
        let (home, project) = (Plan::home(run), Plan::project(run));
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let mut words = Words(
            [
                ("node", text(&node)),
                ("package", text(&modules.join(&case.package.package))),
                ("cpu", setup::cpu().to_owned()),
                ("data", text(&self.data)),
                ("home", text(&home)),
                ("project", text(&project)),
                ("base", format!("http://127.0.0.1:{PORT}")),
                ("version", case.version.to_owned()),
            ]
            .map(|(key, value)| (key.to_owned(), value))
            .into(),
        );
        if let Some(runtime) = &case.package.runtime {
            let package = words.fill(&runtime.package);
            let folder =
                setup::installed(&setup::cache(), &package, &runtime.version)?.join("node_modules").join(package);
            words.0.insert("runtime".to_owned(), text(&folder.join(words.fill(&runtime.program))));
        }
        words.0.extend(harness.vars.clone());
        words.0.extend(scenario.vars.clone());
        let mut lists = harness.lists.clone();
        lists.extend(scenario.lists.clone());

        let programs = harness.program.iter().map(|program| words.command(program, &lists));
        let programs = programs.collect::<anyhow::Result<Vec<_>>>()?;
        let there = |program: &&Vec<String>| program.last().is_some_and(|file| Path::new(file).is_file());
        let program = programs.iter().find(there).with_context(|| format!("{} has no program", folder.display()))?;
        let command = |arguments: &[String]| -> anyhow::Result<Vec<String>> {
            let drops = self.kind.drops().iter().map(|word| (*word).to_owned());
            Ok(drops.chain(program.iter().cloned()).chain(words.command(arguments, &lists)?).collect())
        };
        let node_folder = node.parent().context("node lies in no folder")?;
        // The program's own folder first: its package says which version it is.
        let bin_folder = text(&modules.join(".bin"));
        let path = format!("{bin_folder}:{}:/usr/local/bin:/usr/bin:/bin", node_folder.display());
        let mut env: BTreeMap<String, String> = [
            ("HOME", text(&home)),
            ("USER", "dev".to_owned()),
            ("LOGNAME", "dev".to_owned()),
            ("SHELL", "/bin/sh".to_owned()),
            ("TERM", "xterm-256color".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("TMPDIR", text(&run.join("tmp"))),
            ("PATH", path),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into();
        env.extend(words.fill_map(&harness.env));
        env.extend(words.fill_map(&scenario.env));
        let mut seed = words.fill_map(&harness.seed);
        seed.extend(words.fill_map(&scenario.seed));
        let secrets = env.iter().filter(|(name, _)| name.ends_with("_KEY")).map(|(_, value)| value.clone()).collect();
        Ok(Plan {
            harness: case.name.to_owned(),
            version: case.version.to_owned(),
            scenario: Scenario {
                again: words.fill_map(&scenario.again),
                leaves: words.fill_map(&scenario.leaves),
                events: scenario.events.iter().map(|line| words.fill(line)).collect(),
                ..scenario.clone()
            },
            bin: self.bin.clone(),
            env: env.into_iter().collect(),
            seed,
            turn: command(&harness.turn)?,
            next: command(&harness.next)?,
            screen: command(&harness.screen)?,
            ignore: harness.ignore.clone(),
            secrets,
            package: folder,
            timing: self.args.timing,
            record: self.args.record.as_ref().map(std::path::absolute).transpose()?,
            run: run.to_owned(),
        })
    }
}

/// Plays a plan in a namespace of its own.
fn inside(kind: namespace::Kind, plan: &Plan) -> anyhow::Result<Outcome> {
    fs::write(plan.run.join("plan.json"), serde_json::to_vec(plan)?)?;
    // The running program itself, also when a build has replaced its file.
    let own = format!("/proc/{}/exe", std::process::id());
    let mut child = kind
        .command(Path::new(&own))
        .arg("live-inside")
        .arg(&plan.run)
        .env_clear()
        .env("PATH", env::var_os("PATH").unwrap_or_default())
        // Ctrl-C is for the lab: it ends, the pipe closes, and the part inside ends what it started.
        .process_group(0)
        .stdin(Stdio::piped())
        .spawn()?;
    // Waiting would close it.
    let pipe = child.stdin.take();
    let status = child.wait()?;
    drop(pipe);
    let outcome = fs::read(plan.run.join("outcome.json")).ok();
    match outcome {
        Some(outcome) if status.success() => Ok(serde_json::from_slice(&outcome)?),
        _ => bail!("the part inside the namespace ended with {status}"),
    }
}

/// What is wrong with a recorded fixture, played as every other.
fn replay(path: &Path, bin: &Path) -> anyhow::Result<Option<String>> {
    let folder = path.parent().context("a fixture without a folder")?;
    if !path.is_file() {
        return Ok(None);
    }
    let recorded = Fixture::load(folder).into_iter().find(|fixture| fixture.path == path);
    let recorded = recorded.context("the fixture is gone")?;
    let played = fixtures::play(&Program::at(Some(bin))?, &recorded, &Schemas::load()?);
    Ok(played.err().map(|error| format!("the recorded fixture: {error:#}")))
}

/// The part inside the namespace.
///
/// # Errors
/// Where the plan cannot be read, or the outcome not be written.
pub fn run_inside(args: &InsideArgs) -> anyhow::Result<bool> {
    let plan: Plan = serde_json::from_slice(&fs::read(args.run.join("plan.json"))?)?;
    let run = args.run.clone();
    thread::spawn(move || {
        // Nothing ever comes; the end comes when the lab has gone.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        namespace::abort();
        let _ = fs::remove_dir_all(&run);
        std::process::exit(1);
    });
    let outcome = session::play(&plan).unwrap_or_else(|error| {
        namespace::end_all();
        Outcome { problems: vec![format!("{error:#}")], ..Outcome::default() }
    });
    fs::write(args.run.join("outcome.json"), serde_json::to_vec(&outcome)?)?;
    Ok(true)
}

/// Prints the table and what is wrong; true where nothing is.
fn report(rows: &[Row]) -> bool {
    for row in rows.iter().filter(|row| !row.outcome.problems.is_empty()) {
        println!("\n{} {} {}:", row.harness, row.version, row.scenario);
        for problem in &row.outcome.problems {
            println!("  {problem}");
        }
    }
    for row in rows.iter().filter(|row| !row.before.is_empty()) {
        println!("\n{} {} {}, before it was played again:", row.harness, row.version, row.scenario);
        for problem in &row.before {
            println!("  {problem}");
        }
    }
    println!();
    let header = ["harness", "version", "scenario", "result", "time", "harness ran", "hooks"];
    println!(
        "{:<14} {:<10} {:<16} {:<7} {:>7} {:>12}  {}",
        header[0], header[1], header[2], header[3], header[4], header[5], header[6]
    );
    for Row { harness, version, scenario, outcome, seconds, before } in rows {
        let result = match (outcome.problems.is_empty(), before.is_empty()) {
            (true, true) => "pass",
            (true, false) => "again",
            (false, _) => "FAIL",
        };
        let share = if outcome.wall_ms > 0.0 { 100.0 * outcome.hooks_ms / outcome.wall_ms } else { 0.0 };
        let busy = if outcome.busy && share > 2.0 { " (not judged: the machine is busy or slow)" } else { "" };
        let hooks = format!("{} in {:.0} ms, {share:.1} %{busy}", outcome.hooks, outcome.hooks_ms);
        let medians = outcome.medians_ms.map_or_else(String::new, |(without, with)| {
            format!("; medians {without:.0} ms without, {with:.0} ms with")
        });
        let wall = outcome.wall_ms / 1000.0;
        println!(
            "{harness:<14} {version:<10} {scenario:<16} {result:<7} {seconds:>5.1} s {wall:>10.2} s  {hooks}{medians}"
        );
    }
    let failed = rows.iter().filter(|row| !row.outcome.problems.is_empty()).count();
    println!("{} passed, {failed} failed", rows.len() - failed);
    failed == 0
}
