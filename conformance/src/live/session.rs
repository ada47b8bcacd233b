//! One scenario of one harness, inside the namespace: without our hooks, then with them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use regex::Regex;
use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sessionpipe_core::host::Dirs;

use super::catalog::{Act, Scenario, ScreenStep, What, Words};
use super::check::{self, Files};
use super::expect::{self, Expected};
use super::hooks::{self, Hold, Watch};
use super::model::{Logged, Model, read_log};
use super::screen::Screen;
use super::{namespace, record};
use crate::fixtures::Schemas;

/// Free in every namespace of its own; known before the model runs, so that seeds can name it.
pub const PORT: u16 = 18099;

/// How long one turn may take.
const TURN: Duration = Duration::from_secs(120);

/// How long what a harness leaves behind may go on before it is ended.
const LINGER: Duration = Duration::from_secs(2);

/// How long the process that a plugin of ours writes to may: it reads on, also when it was stopped for [`STALL`].
const STREAM_LINGER: Duration = Duration::from_secs(15);

/// How long it is stopped.
const STALL: Duration = Duration::from_secs(5);

/// How often a running harness is looked at: the wall time is exact to this.
const LOOK: Duration = Duration::from_millis(5);

/// The hooks' share of a run's wall time that nobody notices.
const SHARE: f64 = 0.02;

/// Hooks that cost less than so many starts of `/bin/true` are not what takes too long.
const CHEAP: f64 = 1.5;

/// So often the hooks are timed while they seem to take too long, with a pause between.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_secs(2);

/// How many runs with and without hooks the medians are made of.
const TIMED_RUNS: usize = 5;

/// The project of every run: a file, and what makes a folder a git repository. Without one, Codex's sandbox puts a
/// placeholder of that name there while a command runs.
pub const PROJECT: [(&str, &str); 5] = [
    ("README.md", "# An example project\n"),
    (".git/HEAD", "ref: refs/heads/main\n"),
    (".git/config", "[core]\n\trepositoryformatversion = 0\n"),
    (".git/objects/info/packs", ""),
    (".git/refs/heads/.keep", ""),
];

/// Everything that a run needs to know.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Plan {
    /// `harness.name`.
    pub harness: String,
    /// Its version.
    pub version: String,
    /// The scenario, with its words filled in.
    pub scenario: Scenario,
    /// The `sessionpipe` under test.
    pub bin: PathBuf,
    /// A folder for this run alone.
    pub run: PathBuf,
    /// Where the program is installed.
    pub package: PathBuf,
    /// The whole environment of the harness.
    pub env: Vec<(String, String)>,
    /// Files to begin with.
    pub seed: BTreeMap<String, String>,
    /// The command of a first turn; `{prompt}` is still to be filled in.
    pub turn: Vec<String>,
    /// The command of a further turn.
    pub next: Vec<String>,
    /// The command on a screen.
    pub screen: Vec<String>,
    /// See [`super::catalog::Harness::ignore`].
    pub ignore: Vec<String>,
    /// Texts that no event may hold: the fake keys.
    pub secrets: Vec<String>,
    /// Also make the medians.
    pub timing: bool,
    /// Where to write a fixture.
    pub record: Option<PathBuf>,
}

/// What came of a run.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// What is not as it should be.
    pub problems: Vec<String>,
    /// The harness's wall time with hooks, in milliseconds.
    pub wall_ms: f64,
    /// Our hook calls.
    pub hooks: usize,
    /// The sum of their times from spawn to exit, in milliseconds.
    pub hooks_ms: f64,
    /// Other work kept the machine so busy that times say little: they are reported, not judged.
    pub busy: bool,
    /// The medians of several runs without and with hooks, in milliseconds.
    pub medians_ms: Option<(f64, f64)>,
}

impl Plan {
    /// The HOME of the run.
    #[must_use]
    pub fn home(run: &Path) -> PathBuf {
        run.join("home")
    }

    /// The project of the run.
    #[must_use]
    pub fn project(run: &Path) -> PathBuf {
        run.join("home/proj")
    }
}

/// What the harness did and said.
#[derive(Debug, Default)]
struct Played {
    /// One per process of the harness; no code: ended by a signal.
    ends: Vec<End>,
    wall: Duration,
    asked: Vec<Logged>,
}

#[derive(Debug)]
struct End {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Plays a plan and judges it. Called once, inside the namespace.
///
/// # Errors
/// Where the lab itself cannot go on; what the harness or sessionpipe do wrong is in the outcome.
pub fn play(plan: &Plan) -> anyhow::Result<Outcome> {
    namespace::settle()?;
    let stage = Stage::new(plan)?;
    let outcome = stage.judge();
    namespace::end_all();
    outcome
}

/// What `install` did to the HOME.
struct Installed {
    before: Files,
    written: Files,
}

struct Stage<'a> {
    plan: &'a Plan,
    home: PathBuf,
    project: PathBuf,
    model: Model,
    dirs: Dirs,
}

impl<'a> Stage<'a> {
    fn new(plan: &'a Plan) -> anyhow::Result<Self> {
        let (home, project) = (Plan::home(&plan.run), Plan::project(&plan.run));
        let model = Model::start(PORT, &plan.run.join("model.jsonl"), &project)?;
        Ok(Self { plan, dirs: Dirs::new(|_| None, &home), home, project, model })
    }

    fn judge(&self) -> anyhow::Result<Outcome> {
        let scenario = &self.plan.scenario;
        let ignore = self.plan.ignore.iter().map(|p| Regex::new(p)).collect::<Result<Vec<_>, _>>()?;
        let mut outcome = Outcome::default();

        self.fresh()?;
        let without = self.perform(&mut || Ok(()))?;
        self.fresh()?;
        let mut installed = None;
        if !scenario.installs_late() {
            installed = Some(self.install()?);
        }
        if scenario.without_program {
            fs::remove_dir_all(self.dirs.bin()).context("the program is no copy")?;
        }
        // The worker may take a call before the lab has seen it: for a recording it waits.
        let hold = self.plan.record.is_some().then(|| Hold::start(&self.dirs)).transpose()?;
        let watch = Watch::start(&self.dirs.spool(), self.plan.run.join("calls"))?;
        let with = self.perform(&mut || {
            installed = Some(self.install()?);
            Ok(())
        })?;
        drop(hold);
        let flush = self.ours(&["flush", "--timeout", "20"])?;
        let problems = &mut outcome.problems;
        said_well("flush", &flush, problems);
        let calls = watch.stop()?;
        let events = self.events()?;

        for end in with.ends.iter().filter(|end| end.code != scenario.exit) {
            problems.push(format!("exit code {:?}, expected {:?}", end.code, scenario.exit));
            problems.extend(end.stdout.lines().chain(end.stderr.lines()).map(|line| format!("    | {line}")));
        }
        problems.extend(invisible(&without, &with, &ignore, scenario));
        let expected = scenario.events.iter().map(|line| Expected::parse(line)).collect::<anyhow::Result<Vec<_>>>()?;
        problems.extend(expect::compare(&expected, scenario.sessions.max(1), &events));
        let secrets: Vec<_> = self.plan.secrets.iter().map(String::as_str).collect();
        problems.extend(check::events(&events, &self.plan.harness, &self.plan.version, &secrets));
        let schemas = Schemas::load()?;
        problems.extend(events.iter().filter_map(|event| schemas.check(event).err()).map(|e| format!("{e:#}")));
        if let Some(wanted) = &scenario.doctor {
            let doctor = self.ours(&["doctor", "--json"])?;
            let said = String::from_utf8_lossy(&doctor.stdout);
            if !Regex::new(wanted)?.is_match(&said) {
                problems.push(format!("doctor does not say {wanted:?}: {said}"));
            }
        }
        for (path, wanted) in &scenario.leaves {
            let text = fs::read_to_string(path).unwrap_or_default();
            if !Regex::new(wanted)?.is_match(&text) {
                problems.push(format!("{path} does not hold {wanted:?}: {text:?}"));
            }
        }

        // Of sessions at once each waits for its own hooks alone: what they take is a share of what all of them ran.
        outcome.wall_ms = ms(with.wall) * self.plan.scenario.at_once.max(1) as f64;
        outcome.hooks = calls.seen;
        let Installed { before, written } = installed.context("nothing was installed")?;
        let commands: Vec<_> = written
            .iter()
            .filter_map(|(path, bytes)| check::document(path, bytes))
            .flat_map(|config| hooks::commands(&config))
            .collect();
        // One that the worker took before it could be kept costs as much as the others.
        let missed = calls.seen as f64 / calls.kept.len().max(1) as f64;
        // A line of a plugin starts nothing.
        let timed: Vec<_> = calls.kept.iter().filter(|call| !call.is_line()).cloned().collect();
        let (again, enough) = (self.plan.run.join("again"), with.wall.mul_f64(SHARE / 2.0));
        outcome.hooks_ms = f64::INFINITY;
        for attempt in 1..=ATTEMPTS {
            let again = again.join(attempt.to_string());
            let (time, least) = hooks::time_all(&timed, &commands, &self.plan.env, &again, enough)?;
            outcome.hooks_ms = outcome.hooks_ms.min(ms(time) * missed.max(1.0));
            outcome.busy = is_busy() || time < least.mul_f64(CHEAP);
            if outcome.hooks_ms <= SHARE * outcome.wall_ms || attempt == ATTEMPTS {
                break;
            }
            // A slow moment of the machine passes; a slow hook does not.
            thread::sleep(PAUSE);
        }
        if outcome.hooks_ms > SHARE * outcome.wall_ms && !outcome.busy {
            outcome.problems.push(format!(
                "hooks took {:.1} ms of {:.0} ms: more than {} %",
                outcome.hooks_ms,
                outcome.wall_ms,
                SHARE * 100.0
            ));
        }

        let ran = self.files();
        let uninstall = self.ours(&["uninstall", "--yes"])?;
        said_well("uninstall", &uninstall, &mut outcome.problems);
        outcome.problems.extend(check::uninstalled(&before, &written, &ran, &self.files()));

        if let Some(folder) = &self.plan.record
            && outcome.problems.is_empty()
        {
            record::write(folder, self.plan, &calls, &commands, &events)?;
        }
        if self.plan.timing {
            outcome.medians_ms = Some(self.medians()?);
        }
        Ok(outcome)
    }

    /// A HOME and a project as after the harness's own first start.
    fn fresh(&self) -> anyhow::Result<()> {
        namespace::end_all();
        for folder in [&self.home, &self.plan.run.join("tmp")] {
            if folder.exists() {
                fs::remove_dir_all(folder).with_context(|| format!("cannot empty {}", folder.display()))?;
            }
            fs::create_dir_all(folder)?;
        }
        fs::create_dir_all(&self.project)?;
        for (file, text) in PROJECT {
            let path = self.project.join(file);
            fs::create_dir_all(path.parent().context("a file without a folder")?)?;
            fs::write(path, text)?;
        }
        for (path, text) in &self.plan.seed {
            let path = Path::new(path);
            fs::create_dir_all(path.parent().context("a seed without a folder")?)?;
            fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }

    fn files(&self) -> Files {
        check::snapshot(&self.home, &[self.dirs.state.clone(), self.dirs.config.clone(), self.project.clone()])
    }

    /// Installs, and tells what that changed.
    fn install(&self) -> anyhow::Result<Installed> {
        let before = self.files();
        let done = self.ours(&["install", "--yes", "--harness", &self.plan.harness])?;
        if !done.status.success() {
            let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            bail!("install ended with {}: {}{}", done.status, said(&done.stdout), said(&done.stderr));
        }
        let mut written = check::installed(&before, &self.files());
        if self.plan.scenario.installs_late() {
            // The running harness writes files of its own meanwhile.
            written.retain(|path, bytes| {
                check::document(path, bytes).is_some_and(|config| !hooks::commands(&config).is_empty())
            });
        }
        if written.is_empty() {
            bail!("install changed nothing: {}", String::from_utf8_lossy(&done.stdout));
        }
        Ok(Installed { before, written })
    }

    /// One of our own commands, in the environment of the harness.
    fn ours(&self, args: &[&str]) -> anyhow::Result<Output> {
        let mut command = Command::new(&self.plan.bin);
        command.args(args).current_dir(&self.project).stdin(Stdio::null()).env_clear();
        command.envs(self.plan.env.iter().map(|(name, value)| (name, value)));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = namespace::spawn(&mut command);
        Ok(child.with_context(|| format!("cannot start {}", self.plan.bin.display()))?.wait_with_output()?)
    }

    fn events(&self) -> anyhow::Result<Vec<Value>> {
        let tail = self.ours(&["tail", "--json", "--tier", "3"])?;
        if !tail.status.success() {
            bail!("tail ended with {}: {}", tail.status, String::from_utf8_lossy(&tail.stderr));
        }
        let text = String::from_utf8(tail.stdout).context("tail --json is not UTF-8")?;
        text.lines().map(|line| serde_json::from_str(line).with_context(|| format!("tail printed {line}"))).collect()
    }

    fn medians(&self) -> anyhow::Result<(f64, f64)> {
        let (mut without, mut with) = (Vec::new(), Vec::new());
        // In turns, so that whatever else the machine does meets both.
        for _ in 0..TIMED_RUNS {
            self.fresh()?;
            without.push(self.perform(&mut || Ok(()))?.wall);
            self.fresh()?;
            self.install()?;
            with.push(self.perform(&mut || Ok(()))?.wall);
        }
        let median = |times: &mut [Duration]| hooks::median(times).map_or(0.0, ms);
        Ok((median(&mut without), median(&mut with)))
    }

    /// Lets the harness play the scenario, in the HOME as it is. `install` is what an act of that name does.
    fn perform(&self, install: &mut dyn FnMut() -> anyhow::Result<()>) -> anyhow::Result<Played> {
        let log = self.plan.run.join("model.jsonl");
        self.model.restart(&log)?;
        let mut played = Played::default();
        let start = Instant::now();
        if self.plan.scenario.on_a_screen() {
            played.ends.push(self.on_a_screen(install)?);
        } else {
            let mut act = self.plan.scenario.act.as_ref();
            let again = &self.plan.scenario.again;
            for env in std::iter::once(None).chain((!again.is_empty()).then_some(Some(again))) {
                for (nth, prompt) in self.plan.scenario.prompts.iter().enumerate() {
                    let argv = if nth == 0 { &self.plan.turn } else { &self.plan.next };
                    let ends = self.turn(argv, prompt, env, &mut act, install)?;
                    let failed = ends.iter().any(|end| end.code != Some(0));
                    played.ends.extend(ends);
                    if failed {
                        break;
                    }
                }
            }
        }
        played.wall = start.elapsed();
        self.linger();
        played.asked = read_log(&log)?;
        Ok(played)
    }

    fn turn(
        &self,
        argv: &[String],
        prompt: &str,
        more: Option<&BTreeMap<String, String>>,
        act: &mut Option<&Act>,
        install: &mut dyn FnMut() -> anyhow::Result<()>,
    ) -> anyhow::Result<Vec<End>> {
        let words = Words([("prompt".to_owned(), prompt.to_owned())].into());
        let argv = words.command(argv, &BTreeMap::new())?;
        let mut running = Vec::new();
        for nth in 0..self.plan.scenario.at_once.max(1) {
            running.push(Running::start(&argv, &self.plan.env, more, &self.project, &self.plan.run, nth)?);
        }
        let deadline = Instant::now() + TURN;
        let mut looks = 0_u32;
        while running.iter_mut().any(|one| one.end.is_none()) {
            for one in &mut running {
                one.look()?;
            }
            if act.is_some_and(|act| self.project.join(&act.when).exists()) {
                let what = act.take().map(|act| act.what);
                for one in &running {
                    match what {
                        Some(What::Interrupt) => one.interrupt(),
                        Some(What::Kill) => one.kill(),
                        Some(What::Terminate) => namespace::signal(one.pid(), Signal::TERM),
                        Some(What::Stall) => stall(),
                        Some(What::Install) => install()?,
                        None => {}
                    }
                }
                if matches!(what, Some(What::Install | What::Stall)) {
                    fs::write(self.project.join("lab-go"), "")?;
                }
            }
            if Instant::now() > deadline {
                let screens: Vec<_> = running.iter().map(Running::said).collect();
                bail!("the turn takes longer than {} s: {screens:?}", TURN.as_secs());
            }
            looks += 1;
            if looks.is_multiple_of(20) {
                let own: Vec<_> = running.iter().map(|one| one.child.id()).collect();
                namespace::collect(&own);
            }
            thread::sleep(LOOK);
        }
        Ok(running.into_iter().map(Running::finish).collect())
    }

    fn on_a_screen(&self, install: &mut dyn FnMut() -> anyhow::Result<()>) -> anyhow::Result<End> {
        let screen = Screen::start(&self.plan.screen, &self.plan.env, &self.project, &self.plan.run)?;
        for step in &self.plan.scenario.screen {
            match step {
                ScreenStep::Install(true) => install()?,
                step => screen.step(step)?,
            }
        }
        let stdout = screen.text();
        let code = screen.end()?;
        Ok(End { code: Some(code), stdout, stderr: String::new() })
    }

    /// Waits for what the harness left behind, and ends what does not end. The worker is ours, and stays.
    fn linger(&self) {
        let deadline = Instant::now() + LINGER;
        loop {
            namespace::collect(&[]);
            let left: Vec<_> =
                namespace::descendants(namespace::me()).into_iter().filter(|p| !p.ended && !is_worker(p.pid)).collect();
            if left.is_empty() {
                return;
            }
            for process in left {
                let more = if is_stream(process.pid) { STREAM_LINGER } else { Duration::ZERO };
                if Instant::now() > deadline + more {
                    namespace::signal(process.pid, Signal::KILL);
                }
            }
            thread::sleep(namespace::POLL);
        }
    }
}

/// More than two processes have been waiting for each processor, over the last minute.
fn is_busy() -> bool {
    let load = fs::read_to_string("/proc/loadavg").ok().and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    let processors = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    load.is_some_and(|load| load > 2.0 * processors as f64)
}

/// Our own worker, by its command.
fn is_worker(pid: i32) -> bool {
    runs(pid, b"/sessionpipe", b"worker")
}

/// The process that a plugin of ours writes to.
fn is_stream(pid: i32) -> bool {
    runs(pid, b"/sessionpipe-hook", b"--stream")
}

fn runs(pid: i32, program: &[u8], argument: &[u8]) -> bool {
    let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut words = command.split(|byte| *byte == 0);
    words.next().is_some_and(|word| word.ends_with(program)) && words.next() == Some(argument)
}

/// Stops the process that a plugin of ours writes to for a while.
fn stall() {
    let streams: Vec<i32> = namespace::descendants(namespace::me()).iter().map(|process| process.pid).collect();
    let streams: Vec<i32> = streams.into_iter().filter(|pid| is_stream(*pid)).collect();
    for pid in &streams {
        namespace::signal(*pid, Signal::STOP);
    }
    thread::spawn(move || {
        thread::sleep(STALL);
        for pid in streams {
            namespace::signal(pid, Signal::CONT);
        }
    });
}

/// One process of the harness.
struct Running {
    child: Child,
    end: Option<ExitStatus>,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Running {
    fn start(
        argv: &[String],
        env: &[(String, String)],
        more: Option<&BTreeMap<String, String>>,
        cwd: &Path,
        run: &Path,
        nth: usize,
    ) -> anyhow::Result<Self> {
        let (program, args) = argv.split_first().context("an empty command")?;
        let (stdout, stderr) = (run.join(format!("stdout-{nth}")), run.join(format!("stderr-{nth}")));
        let mut command = Command::new(program);
        command.args(args).current_dir(cwd).process_group(0);
        command.env_clear().envs(env.iter().map(|(name, value)| (name, value)));
        command.envs(more.into_iter().flatten());
        command.stdin(Stdio::null()).stdout(File::create(&stdout)?).stderr(File::create(&stderr)?);
        let child = namespace::spawn(&mut command).with_context(|| format!("cannot start {program}"))?;
        Ok(Self { child, end: None, stdout, stderr })
    }

    fn look(&mut self) -> anyhow::Result<()> {
        if self.end.is_none() {
            self.end = self.child.try_wait()?;
        }
        Ok(())
    }

    fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap_or(0)
    }

    /// As a terminal does: to the whole group.
    fn interrupt(&self) {
        if let Some(pid) = Pid::from_raw(self.pid()) {
            let _ = kill_process_group(pid, Signal::INT);
        }
    }

    fn kill(&self) {
        let below = namespace::descendants(self.pid());
        for pid in std::iter::once(self.pid()).chain(below.iter().map(|process| process.pid)) {
            namespace::signal(pid, Signal::KILL);
        }
    }

    fn said(&self) -> (String, String) {
        let read = |path: &Path| {
            let mut bytes = Vec::new();
            let _ = File::open(path).and_then(|mut file| file.read_to_end(&mut bytes));
            String::from_utf8_lossy(&bytes).into_owned()
        };
        (read(&self.stdout), read(&self.stderr))
    }

    fn finish(self) -> End {
        let (stdout, stderr) = self.said();
        let code = self.end.and_then(|status| if status.signal().is_some() { None } else { status.code() });
        End { code, stdout, stderr }
    }
}

/// The harness must behave the same with our hooks: what it prints, how it exits, what it asks the model.
fn invisible(without: &Played, with: &Played, ignore: &[Regex], scenario: &Scenario) -> Vec<String> {
    let codes = |played: &Played| played.ends.iter().map(|end| end.code).collect::<Vec<_>>();
    let mut wrong = Vec::new();
    if codes(without) != codes(with) {
        wrong.push(format!("exit codes {:?}, without hooks {:?}", codes(with), codes(without)));
    }
    for (without, with) in without.ends.iter().zip(&with.ends) {
        if scenario.does(What::Kill) {
            // Cut off in the middle of a word.
            break;
        }
        if scenario.on_a_screen() {
            // What a screen shows last depends on the moment: only a word about hooks counts.
            let speaks = |line: &&str| line.to_lowercase().contains("hook") && !ignore.iter().any(|p| p.is_match(line));
            let about = |text: &str| text.lines().filter(speaks).count();
            if about(&with.stdout) > about(&without.stdout) {
                wrong.push(format!("the screen speaks of hooks:\n{}", with.stdout));
            }
            continue;
        }
        wrong.extend(check::same_text("stdout", &without.stdout, &with.stdout, ignore));
        wrong.extend(check::same_text("stderr", &without.stderr, &with.stderr, ignore));
    }
    wrong.extend(check::same_requests(&without.asked, &with.asked));
    wrong
}

fn said_well(what: &str, done: &Output, problems: &mut Vec<String>) {
    if !done.status.success() {
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        problems.push(format!("{what} ended with {}: {}{}", done.status, said(&done.stdout), said(&done.stderr)));
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
