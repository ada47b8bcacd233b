//! A harness that exists only here, a state folder of its own, and hooks that leave their jobs in it.

// Each of the crates that include this file uses a part of it.
#![allow(dead_code)]

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use sessionpipe_core::adapter::{Adapter, Facts, Finding, Found, MapError, SessionFile};
use sessionpipe_core::event::Event;
use sessionpipe_core::harness::{Borrower, Harness, Mark, Means, NativeEvent, Quirks, SilentEnd, Wired};
use sessionpipe_core::host::{Dirs, Host, Program};
use sessionpipe_core::job::{FORMAT, Header, Hook, Process};
use sessionpipe_core::seen::Mapped;
use sessionpipe_core::stdin_hook::{self, FIELDS};
use sessionpipe_core::wiring::Wiring;
use tempfile::TempDir;

use super::pipeline::outbox::{Query, Reader};
use super::pipeline::spool::{Draft, JobId, Spool};
use super::pipeline::take::{Clock, Context};

const fn event(name: &'static str, means: Means) -> NativeEvent {
    NativeEvent { name, means, wired: Wired::Always }
}

const HARNESS: Harness = Harness {
    name: "double",
    has_session_end: true,
    stop_can_block: true,
    marks: &[Mark::Key("double_version")],
    borrowers: &[
        Borrower { name: "borrower", marks: &[Mark::Key("borrower_version")] },
        Borrower { name: "lodger", marks: &[Mark::Key("lodger_version")] },
    ],
    events: &[
        event("SessionStart", Means::SessionStart),
        event("SessionEnd", Means::SessionEnd),
        event("Prompt", Means::Prompt),
        event("Stop", Means::Stop),
        event("PreTool", Means::ToolStart),
        event("PostTool", Means::ToolEnd),
        event("Permission", Means::PermissionRequest),
        event("Compacted", Means::Compacted),
        event("SubagentStart", Means::SubagentStart),
        event("SubagentStop", Means::SubagentEnd),
        event("Nothing", Means::Ignored),
        event("Panic", Means::Ignored),
    ],
    quirks: Quirks { silent_end: SilentEnd::Interrupt, session_end_since: None },
    ..Harness::BLANK
};

static DOUBLE: Harness = HARNESS;
static BORROWER: Harness = Harness {
    name: "borrower",
    marks: &[],
    borrowers: &[Borrower { name: "lodger", marks: &[Mark::Key("lodger_version")] }],
    ..HARNESS
};

/// Maps by the table; its session files lie in `~/.double`, and their first line is the version.
pub struct Double(&'static Harness);

impl Adapter for Double {
    fn harness(&self) -> &'static Harness {
        self.0
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
        assert_ne!(hook.header.event, "Panic", "as it was told");
        let mut mapped = stdin_hook::map(self.0, &FIELDS, hook)?;
        if hook.header.event == "Nothing" {
            mapped.seen.clear();
        }
        Ok(mapped)
    }

    fn roots(&self, host: &Host) -> Vec<PathBuf> {
        vec![host.home.join(".double")]
    }

    fn sessions(&self, _: &Host) -> Vec<SessionFile> {
        Vec::new()
    }

    fn facts(&self, _: &Host, session: &SessionFile) -> Facts {
        let file = session.paths.first().and_then(|path| fs::File::open(path).ok());
        let line = file.and_then(|file| BufReader::new(file).lines().next()?.ok());
        Facts { version: line.filter(|line| !line.is_empty()), ..Facts::default() }
    }
}

static ADAPTERS: [&dyn Adapter; 2] = [&Double(&DOUBLE), &Double(&BORROWER)];

/// Its harness, and one that borrows its hooks and has an adapter of its own; the lodger borrows from both and has none.
pub fn adapters() -> &'static [&'static dyn Adapter] {
    &ADAPTERS
}

/// The beginning of the tests' time: 2026-11-30T08:00:00Z.
pub const START_MS: i64 = 1_796_025_600_000;

/// A clock that goes when it is told to.
#[derive(Debug)]
pub struct TestClock(pub Cell<i64>);

impl Default for TestClock {
    fn default() -> Self {
        Self(Cell::new(START_MS))
    }
}

impl TestClock {
    pub fn advance(&self, ms: i64) {
        self.0.set(self.0.get() + ms);
    }
}

impl Clock for TestClock {
    fn now_ms(&self) -> i64 {
        self.0.get()
    }
}

/// A machine of its own.
pub struct Place {
    pub home: TempDir,
    pub host: Host,
    pub clock: TestClock,
    /// Pids that do not live any more; all others do.
    pub dead: RefCell<BTreeSet<u32>>,
    pub nanos: Cell<u32>,
}

impl Place {
    pub fn new() -> Self {
        let home = TempDir::new().expect("a folder");
        let root = home.path().canonicalize().expect("a folder");
        Self { host: host(root), home, clock: TestClock::default(), dead: RefCell::default(), nanos: Cell::new(0) }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.host.home.join(name)
    }

    pub fn spool(&self) -> Spool {
        Spool::open(&self.host.dirs).expect("a spool")
    }

    /// Leaves a job now, as a hook would.
    pub fn job(&self, event: &str, payload: &Value) -> JobId {
        let header = Header { event: event.to_owned(), ..header(self.clock.now_ms()) };
        self.job_of(&header, payload.to_string().as_bytes())
    }

    /// Leaves a job. Jobs of one millisecond keep their order.
    pub fn job_of(&self, header: &Header, payload: &[u8]) -> JobId {
        self.nanos.set(self.nanos.get() + 1);
        leave(&self.spool(), header, self.nanos.get(), payload)
    }

    /// All that the tests need to vary is in `self`.
    pub fn with<T>(&self, then: impl FnOnce(&Context<'_>) -> T) -> T {
        self.with_wired(&[], then)
    }

    pub fn with_wired<T>(&self, wired: &[&str], then: impl FnOnce(&Context<'_>) -> T) -> T {
        let is_wired = |name: &str| wired.contains(&name);
        let alive = |process: &Process| !self.dead.borrow().contains(&process.pid);
        let context = Context::new(&self.host, adapters(), Some("box"), &is_wired);
        then(&Context { clock: &self.clock, alive: &alive, ..context })
    }

    pub fn reader(&self) -> Reader {
        Reader::open(&self.host.dirs.outbox()).expect("readable").expect("an outbox")
    }

    pub fn events(&self) -> Vec<Event> {
        let reader = self.reader();
        let events = reader.events(0, Query::default()).expect("readable");
        events.map(|entry| entry.expect("an event").event).collect()
    }

    /// `<session>/<seq> <type>` of all events, in their order.
    pub fn lines(&self) -> Vec<String> {
        self.events().iter().map(|e| format!("{}/{} {}", e.session.id, e.session.seq, e.kind)).collect()
    }
}

pub fn host(home: PathBuf) -> Host {
    let dirs = Dirs { state: home.join("state"), config: home.join("config"), redirected: false };
    Host {
        env: BTreeMap::new(),
        etc: home.join("etc"),
        cwd: home.clone(),
        now_ms: START_MS,
        dirs,
        program: Program { path: "/opt/sessionpipe".into(), is_hook: false, copies: Vec::new() },
        home,
    }
}

/// A hook of the harness with pid 700, in `/src`.
pub fn header(at_ms: i64) -> Header {
    Header {
        v: FORMAT,
        at_ms,
        harness: "double".to_owned(),
        cwd: Some("/src".to_owned()),
        parents: vec![process(700)],
        ..Header::default()
    }
}

pub fn process(pid: u32) -> Process {
    Process { pid, start: u64::from(pid) * 10, name: "double".to_owned() }
}

pub fn leave(spool: &Spool, header: &Header, nanos: u32, payload: &[u8]) -> JobId {
    let at = Duration::from_millis(header.at_ms.unsigned_abs()) + Duration::from_nanos(nanos.into());
    let id = JobId::new(at);
    spool.begin(id, header, payload).and_then(Draft::finish).expect("a job");
    id
}

pub fn session(id: &str) -> Value {
    json!({"session_id": id, "cwd": "/src"})
}

/// `session(id)` with more members.
pub fn with(id: &str, more: Value) -> Value {
    let mut payload = session(id);
    if let (Value::Object(payload), Value::Object(more)) = (&mut payload, more) {
        payload.extend(more);
    }
    payload
}
