//! Seen → events.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::event::{Event, EventType, Session};
use crate::harness::Harness;
use crate::job::Process;
use crate::seen::Mapped;

/// What the tracker remembers of one session. Stored by the worker between runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionState {
    /// `session.id`
    pub id: String,
    x: BTreeMap<String, String>,
}

/// An event without its envelope.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// The type.
    pub kind: EventType,
    /// Milliseconds since the epoch.
    pub at_ms: i64,
    /// The native event's name; `None` where no hook said so.
    pub event: Option<String>,
    /// The data.
    pub data: Map<String, Value>,
}

/// The circumstances of a hook call.
pub struct Moment<'a> {
    /// Its harness.
    pub harness: &'a Harness,
    /// Its own time.
    pub at_ms: i64,
    /// The agent's process, where it is known.
    pub process: Option<&'a Process>,
    /// Whether a process still runs.
    pub alive: &'a dyn Fn(&Process) -> bool,
}

impl SessionState {
    /// A session that nothing was seen of yet.
    #[must_use]
    pub fn new(id: String) -> Self {
        Self { id, ..Self::default() }
    }

    /// Takes what one hook call says.
    pub fn apply(&mut self, mapped: &Mapped, moment: &Moment<'_>) -> Vec<Draft> {
        let _ = (mapped, moment);
        Vec::new()
    }

    /// Takes the passing of time.
    pub fn tick(&mut self, harness: &Harness, now_ms: i64, alive: &dyn Fn(&Process) -> bool) -> Vec<Draft> {
        let _ = (harness, now_ms, alive);
        Vec::new()
    }

    /// A turn is open and its process is known: the worker stays.
    #[must_use]
    pub fn needs_watching(&self) -> bool {
        false
    }

    /// The agent's process.
    #[must_use]
    pub fn process(&self) -> Option<&Process> {
        None
    }

    /// The session block as it is known now; `seq` is the outbox's.
    #[must_use]
    pub fn block(&self, home: &Path, machine: Option<&str>) -> Session {
        let _ = (home, machine);
        Session { id: self.id.clone(), ..Session::default() }
    }

    /// The event for a draft, at the highest tier, unredacted, `seq` 0. `identity` makes its id: the same report, the same id.
    #[must_use]
    pub fn event(&self, draft: Draft, harness: &str, block: Session, identity: &[&str]) -> Event {
        let _ = (harness, identity, block, draft);
        unimplemented!()
    }
}
