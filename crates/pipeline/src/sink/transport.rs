//! The seam between delivery and what it delivers to: a [`Batch`] goes out, an [`Answer`] comes back. A transport knows
//! how to talk to one kind of target; what follows from an answer (retries, positions, quarantine)
//! is the delivery's.

use sessionpipe_core::event::{Event, Tier};

use crate::outbox::ReceiverInfo;

/// One event on its way.
#[derive(Clone, Debug, PartialEq)]
pub struct Outgoing {
    /// Its position in the outbox.
    pub pos: i64,
    /// The event as it leaves: filtered, its session named as the sink wants it.
    pub event: Event,
    /// The same as compact JSON.
    pub json: String,
}

/// Events that go together, in the order of their positions; at least one.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// Names this batch; the same when it is sent again.
    pub id: &'a str,
    /// The events.
    pub events: &'a [Outgoing],
    /// It may have arrived before, whole or in part.
    pub again: bool,
    /// The time, milliseconds since the epoch.
    pub now_ms: i64,
}

/// What a transport takes at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Events in a batch.
    pub max_events: usize,
    /// Bytes of a batch: the events' JSON, a byte between two, and 16 around them.
    pub max_bytes: usize,
}

/// What became of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is there. Single events may have been rejected.
    Accepted(Receipt),
    /// It is too large: less at once may do.
    TooLarge(String),
    /// It is not acceptable, and will not be when it is sent again. It is set aside.
    Refused(String),
    /// Events carry more than the receiver takes; what it does take, where it says so.
    TierTooHigh(Option<Tier>),
    /// It makes no sense to go on before the person has looked: the sink is paused.
    Pause(String),
    /// Not now.
    Later {
        /// Why.
        reason: String,
        /// How long the other side asked to wait, in milliseconds.
        after_ms: Option<i64>,
    },
}

impl Answer {
    /// [`Answer::Later`], by our own back-off.
    pub fn later(reason: impl Into<String>) -> Self {
        Self::Later { reason: reason.into(), after_ms: None }
    }
}

/// What a receiver says of an accepted batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Receipt {
    /// Events that it had before.
    pub duplicates: u64,
    /// Events that it does not want, one by one.
    pub rejected: Vec<Rejected>,
    /// Events that it lost without saying which (OTLP's partial success).
    pub lost: u64,
    /// The highest tier that it takes now.
    pub max_tier: Option<Tier>,
}

/// An event that a receiver does not want.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// The event's id.
    pub id: String,
    /// Why, in its words.
    pub reason: String,
}

/// Talks to one target.
pub trait Transport: Send {
    /// Called before the first batch and then before every other: finds out what must be known of the other side.
    /// `known` is what was found out last; `Some` replaces it.
    ///
    /// # Errors
    /// The answer, when nothing can be sent now.
    fn prepare(&mut self, _known: Option<&ReceiverInfo>, _now_ms: i64) -> Result<Option<ReceiverInfo>, Answer> {
        Ok(None)
    }

    /// What it takes at once.
    fn limits(&self) -> Limits;

    /// Sends a batch. It must come back within [`DEADLINE`](super::client::DEADLINE) or so, whatever the other side does.
    fn send(&mut self, batch: &Batch<'_>) -> Answer;
}
