//! SIGKILL at any point: nothing lost, nothing twice.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use sessionpipe_core::adapter::{Adapter, Facts, Finding, Found, MapError, SessionFile};
use sessionpipe_core::harness::Harness;
use sessionpipe_core::host::Host;
use sessionpipe_core::job::Hook;
use sessionpipe_core::seen::Mapped;
use sessionpipe_core::wiring::Wiring;

use crate::double::{self, Place, adapters, with};
use crate::pipeline::take::{Clock, Context, SystemClock};
use crate::pipeline::wake::wake;
use crate::pipeline::worker::{Exit, IDLE, flush, run};

/// Tells the child which home is its own, and at which step it dies.
const HOME: &str = "SESSIONPIPE_TEST_CRASH_HOME";
const STEP: &str = "SESSIONPIPE_TEST_CRASH_STEP";

/// It stays as a worker.
const STAYS: &str = "SESSIONPIPE_TEST_CRASH_STAYS";

const EVENTS: [&str; 6] = ["SessionStart", "Prompt", "PreTool", "PostTool", "Stop", "SessionEnd"];
const KINDS: [&str; 6] =
    ["session.started", "turn.started", "tool.started", "tool.ended", "turn.ended", "session.ended"];

/// Steps that are left. Every look at the clock, at a process and at a payload is one.
static STEPS: AtomicU32 = AtomicU32::new(u32::MAX);

fn step() {
    if STEPS.fetch_sub(1, Ordering::Relaxed) == 0 {
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
}

struct Dying;

impl Clock for Dying {
    fn now_ms(&self) -> i64 {
        step();
        SystemClock.now_ms()
    }
}

impl Adapter for Dying {
    fn harness(&self) -> &'static Harness {
        adapters()[0].harness()
    }
    fn found(&self, _: &Host) -> Option<Found> {
        None
    }
    fn wiring(&self, _: &Host) -> Vec<Wiring> {
        Vec::new()
    }
    fn check(&self, _: &Host) -> Vec<Finding> {
        Vec::new()
    }
    fn map(&self, hook: &Hook) -> Result<Mapped, MapError> {
        step();
        adapters()[0].map(hook)
    }
    fn roots(&self, _: &Host) -> Vec<PathBuf> {
        Vec::new()
    }
    fn sessions(&self, _: &Host) -> Vec<SessionFile> {
        Vec::new()
    }
    fn facts(&self, _: &Host, _: &SessionFile) -> Facts {
        Facts::default()
    }
}

/// Not a test of its own: what the children of the tests below run.
#[test]
fn child() {
    let Some(home) = std::env::var_os(HOME) else { return };
    let steps = std::env::var(STEP).expect("a number").parse().expect("a number");
    STEPS.store(steps, Ordering::Relaxed);
    let host = double::host(home.into());
    let alive = |_: &_| {
        step();
        true
    };
    let context = Context::new(&host, &[&Dying], None, &|_| false);
    let context = Context { clock: &Dying, alive: &alive, ..context };
    if std::env::var_os(STAYS).is_some() {
        assert_eq!(run(&context).expect("it ends"), Exit::Stopped);
    } else {
        flush(&context, Duration::from_secs(20)).expect("flushed");
    }
}

fn start(home: &Path, steps: u32) -> Child {
    command(home, steps).spawn().expect("a child")
}

fn command(home: &Path, steps: u32) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command
        .args(["--exact", "crash::child"])
        .env(HOME, home)
        .env(STEP, steps.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

fn leave_sessions(place: &Place, round: u32) -> usize {
    for event in EVENTS {
        for session in ["a", "b"] {
            let call = json!({"tool_name": "Bash", "tool_use_id": "c1", "turn_id": "t1"});
            place.job(event, &with(&format!("{session}{round}"), call));
        }
    }
    2 * EVENTS.len()
}

fn check(place: &Place, sessions: usize) {
    let mut streams: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for event in place.events() {
        let stream = streams.entry(event.session.id).or_default();
        assert_eq!(event.session.seq, stream.len() as u64, "gap-free");
        stream.push(event.kind);
    }
    assert_eq!(streams.len(), sessions);
    for (session, stream) in streams {
        assert_eq!(stream, KINDS, "{session}");
    }
    assert_eq!(place.reader().quarantine().expect("readable"), []);
    assert_eq!(place.spool().list().expect("jobs"), []);
}

#[test]
fn killed_at_any_step() {
    use std::os::unix::process::ExitStatusExt as _;
    let place = Place::new();
    let mut killed = 0;
    for round in 0..50 {
        leave_sessions(&place, round);
        let status = start(&place.host.home, round).wait().expect("it ends");
        if status.signal() == Some(9) {
            killed += 1;
        } else {
            assert!(status.success());
        }
    }
    assert!(killed > 40, "{killed}");
    assert!(start(&place.host.home, u32::MAX).wait().expect("it ends").success());
    check(&place, 100);
}

#[test]
fn killed_between_the_commit_and_the_deletions() {
    let place = Place::new();
    let spool = place.spool();
    for round in 0..10 {
        let jobs = (0..10).map(|part| leave_sessions(&place, round * 10 + part)).sum::<usize>();
        assert_eq!(spool.list().expect("jobs").len(), jobs);
        let mut child = start(&place.host.home, u32::MAX);
        // The first file that is gone proves the commit.
        while spool.list().expect("jobs").len() == jobs {}
        child.kill().expect("a living child, or a zombie");
        child.wait().expect("it ends");
        assert!(start(&place.host.home, u32::MAX).wait().expect("it ends").success());
    }
    check(&place, 200);
}

#[test]
fn a_worker_that_is_told_to_stop_does_so_at_once() {
    let place = Place::new();
    place.spool();
    let mut child = command(&place.host.home, u32::MAX).env(STAYS, "1").spawn().expect("a child");
    // It listens when a hook would not start another one.
    let mut listens = false;
    while !listens {
        listens = true;
        wake(&place.host.dirs, || listens = false);
        assert!(child.try_wait().expect("a child").is_none(), "it stays");
    }
    leave_sessions(&place, 0);
    let told = Instant::now();
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("told");
    assert!(child.wait().expect("it ends").success());
    assert!(told.elapsed() < IDLE, "not by itself");
    check(&place, 2);
}
