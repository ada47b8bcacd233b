//! How long a hook takes on this machine, measured as a harness would feel it: from the start of the process to its end.

use std::fmt;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sessionpipe_core::harness::{Harness, Wired};
use sessionpipe_core::host::{Dirs, Host};
use sessionpipe_pipeline::spool::Spool;
use sessionpipe_pipeline::wake::{Listener, Lock};

use crate::registry;

/// Calls of each program: enough for a 95th percentile to mean something, done within a tenth of a second.
const RUNS: usize = 20;

/// Where a program that does nothing lies.
const TRUE: [&str; 2] = ["/bin/true", "/usr/bin/true"];

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    /// Calls of each program.
    pub runs: usize,
    /// Half of the hooks took at most this.
    pub p50: Duration,
    /// 95 of 100 hooks took at most this.
    pub p95: Duration,
    /// The p50 of starting a program that does nothing.
    pub baseline: Duration,
}

impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |duration: Duration| duration.as_secs_f64() * 1000.0;
        let (p50, p95, baseline) = (ms(self.p50), ms(self.p95), ms(self.baseline));
        write!(f, "{p50:.1} ms p50, {p95:.1} ms p95 ({} runs); {} is {baseline:.1} ms", self.runs, TRUE[0])
    }
}

/// Runs the hook in a throwaway state folder whose worker is up; `None` where that cannot be done.
#[must_use]
pub fn measure(host: &Host) -> Option<Latency> {
    let state = tempfile::tempdir().ok()?;
    try_measure(host, state.path()).ok()
}

fn try_measure(host: &Host, root: &Path) -> io::Result<Latency> {
    let dirs = Dirs { state: root.join("state"), config: root.join("config"), redirected: true };
    Spool::open(&dirs).map_err(io::Error::other)?;
    // We are the worker that the hooks find: none is started.
    let _lock = Lock::take(&dirs)?;
    let _listener = Listener::open(&dirs)?;
    let harness = registry::HARNESSES.first().ok_or(io::ErrorKind::NotFound)?;
    let baseline = TRUE.iter().map(Path::new).find(|path| path.is_file()).ok_or(io::ErrorKind::NotFound)?;
    let (program, args) = hook_program(host, harness);
    let mut hooks = Vec::with_capacity(RUNS);
    let mut nothings = Vec::with_capacity(RUNS);
    // By turns, so that both feel the same machine.
    for _ in 0..RUNS {
        hooks.push(time(&program, &args, root)?);
        nothings.push(time(baseline, &[], root)?);
    }
    hooks.sort_unstable();
    nothings.sort_unstable();
    let at = |times: &[Duration], percent: usize| times.get(times.len() * percent / 100).copied().unwrap_or_default();
    Ok(Latency { runs: RUNS, p50: at(&hooks, 50), p95: at(&hooks, 95), baseline: at(&nothings, 50) })
}

/// The program that hooks call, or, where it would be a copy of ours, what it would be copied from; and its arguments.
#[must_use]
pub fn hook_program(host: &Host, harness: &Harness) -> (PathBuf, Vec<String>) {
    let event = harness.events.iter().find(|event| event.wired == Wired::Always).map_or("Stop", |event| event.name);
    let program = hook_source(host);
    let mut args = Vec::new();
    if !host.program.is_hook {
        args.push("hook".to_owned());
    }
    args.extend([harness.name.to_owned(), event.to_owned()]);
    (program, args)
}

/// The hook's program as it is now: the path that configs name, or what would be copied there.
#[must_use]
pub fn hook_source(host: &Host) -> PathBuf {
    let copied = host.program.copies.iter().find(|(_, to)| *to == host.program.path);
    copied.map_or_else(|| host.program.path.clone(), |(from, _)| from.clone())
}

#[expect(clippy::disallowed_methods, reason = "the program may start processes")]
fn time(program: &Path, args: &[String], root: &Path) -> io::Result<Duration> {
    let payload = br#"{"session_id":"00000000-0000-4000-8000-000000000000","cwd":"/"}"#;
    let start = Instant::now();
    let mut child = Command::new(program)
        .args(args)
        .env_clear()
        .env("HOME", root)
        .env("SESSIONPIPE_HOME", root)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that reads nothing closes the pipe.
        let _ = stdin.write_all(payload);
    }
    child.wait()?;
    Ok(start.elapsed())
}
