//! The sinks' side: how far each is, what keeps it from going on, what it would not take.
//!
//! Whoever delivers for a sink has a [`Ledger`] of its own beside the worker's [`Outbox`](super::Outbox): each write is one
//! small transaction on rows that belong to sinks alone. Such a commit is not forced to the disk: after a power cut a sink
//! may stand where it stood some batches ago, and sends them again.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use serde::{Deserialize, Serialize};
use sessionpipe_core::event::Tier;

use super::write::REPLACED;
use super::{Loss, OutboxError, schema};

/// At most this many events of a sink are kept that its receiver would not take; the oldest goes first.
pub const MAX_UNDELIVERED: u32 = 1_000;

/// What is remembered of a sink from one delivery to the next. Members may be added: an older program drops what it does
/// not know, and each has a default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SinkState {
    /// The batch that was last begun and not answered for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flight: Option<Flight>,
    /// Nothing is sent until the person says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<Pause>,
    /// Nothing is sent before a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// The highest tier that the receiver takes, when it has said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tier: Option<Tier>,
    /// What the receiver says of itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver: Option<ReceiverInfo>,
    /// When a batch last arrived, milliseconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_ms: Option<i64>,
    /// Events that were accepted, those that it had before among them.
    pub sent: u64,
    /// Events that it had before.
    pub duplicates: u64,
    /// Events that it did not want.
    pub rejected: u64,
}

/// A batch that was begun: what must be the same when it is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flight {
    /// Position of its last event.
    pub last: i64,
    /// The tier that its events were filtered to.
    pub tier: Tier,
}

/// Why and since when a sink is paused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// Milliseconds since the epoch.
    pub at_ms: i64,
    /// What the receiver said, or that the person asked for it.
    pub reason: String,
}

/// When a sink is tried again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    /// Milliseconds since the epoch.
    pub at_ms: i64,
    /// How long the wait was when it was set, in milliseconds.
    pub wait_ms: i64,
    /// Failures in a row.
    pub failures: u32,
    /// The other side named the time: it holds even when the person asks to send now.
    pub told: bool,
    /// What failed.
    pub reason: String,
    /// When it first failed, milliseconds since the epoch.
    pub since_ms: i64,
}

impl Retry {
    /// How long there is to wait, in milliseconds; nothing when the clock was set back meanwhile.
    #[must_use]
    pub fn left_ms(&self, now_ms: i64) -> i64 {
        let left = self.at_ms - now_ms;
        if left > self.wait_ms { 0 } else { left.max(0) }
    }
}

/// What a receiver says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiverInfo {
    /// When it was asked, milliseconds since the epoch.
    pub read_ms: i64,
    /// Where events go: a URL of its own origin.
    pub events: String,
    /// Events in a batch.
    pub max_events: usize,
    /// Bytes of a batch.
    pub max_bytes: usize,
    /// The highest tier that it takes.
    pub max_tier: Tier,
}

/// A sink and where it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SinkRow {
    /// Its name.
    pub name: String,
    /// Every event up to here is answered for.
    pub pos: i64,
    /// Events that left the outbox, for their age or its size, before the sink got them.
    pub missed: u64,
    /// Its state.
    pub state: SinkState,
    /// Events behind its position; not all of them are for it.
    pub waiting: u64,
    /// Events that are set aside.
    pub undelivered: u64,
}

/// An event of the outbox, unread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its position.
    pub pos: i64,
    /// `harness.name`
    pub harness: String,
    /// Its type.
    pub kind: String,
    /// Its JSON.
    pub body: String,
}

/// An event that a receiver would not take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undelivered {
    /// The sink's name.
    pub sink: String,
    /// Its position in the outbox.
    pub pos: i64,
    /// When it was set aside, milliseconds since the epoch.
    pub at_ms: i64,
    /// Why.
    pub reason: String,
    /// The event as it would have left.
    pub body: String,
}

/// The sinks' rows, open for writing.
#[derive(Debug)]
pub struct Ledger {
    db: Connection,
}

impl Ledger {
    /// Opens the outbox for one who delivers; `None` when there is none yet.
    ///
    /// # Errors
    /// When it is damaged, of another format, or cannot be written.
    pub fn open(path: &Path) -> Result<Option<Self>, OutboxError> {
        Ok(schema::open_to_deliver(path)?.map(|db| Self { db }))
    }

    /// The same, and makes the outbox when there is none.
    ///
    /// # Errors
    /// When it is damaged, of a newer format, or cannot be written.
    pub fn create(path: &Path) -> Result<Self, OutboxError> {
        Ok(Self { db: schema::open(path)? })
    }

    /// The position and state of a sink. One that was never met begins behind all events, or with `from_start` before
    /// them; in an outbox that replaced a damaged one always before, since all that is there is new.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub fn enter(&mut self, name: &str, from_start: bool) -> Result<(i64, SinkState), OutboxError> {
        if let Some(known) = row(&self.db, name)? {
            return Ok(known);
        }
        let tx = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let replaced = tx.prepare_cached("SELECT 1 FROM meta WHERE key = ?1")?.exists([REPLACED])?;
        let begins_before = from_start || replaced;
        let last = "SELECT coalesce(max(pos), 0) FROM events";
        let pos = if begins_before { 0 } else { tx.query_row(last, (), |row| row.get(0))? };
        // Who met it in the meantime has decided.
        tx.execute("INSERT OR IGNORE INTO sinks (name, pos, state) VALUES (?1, ?2, '{}')", params![name, pos])?;
        let entered = row(&tx, name)?.unwrap_or((pos, SinkState::default()));
        tx.commit()?;
        Ok(entered)
    }

    /// Changes the position and the state of a sink; `None` when it is not there (any more).
    ///
    /// # Errors
    /// When the database cannot be used: then nothing has changed.
    pub fn update<T>(
        &mut self,
        name: &str,
        change: impl FnOnce(&mut i64, &mut SinkState) -> T,
    ) -> Result<Option<T>, OutboxError> {
        let tx = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let Some((mut pos, mut state)) = row(&tx, name)? else { return Ok(None) };
        let result = change(&mut pos, &mut state);
        write(&tx, name, pos, &state)?;
        tx.commit()?;
        Ok(Some(result))
    }

    /// Sets events aside and moves the sink behind them, in one step.
    ///
    /// # Errors
    /// When the database cannot be used: then nothing has changed.
    pub fn set_aside(
        &mut self,
        name: &str,
        events: &[Undelivered],
        now_ms: i64,
        change: impl FnOnce(&mut i64, &mut SinkState),
    ) -> Result<(), OutboxError> {
        let tx = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let Some((mut pos, mut state)) = row(&tx, name)? else { return Ok(()) };
        {
            let mut insert = tx.prepare_cached(
                "INSERT OR REPLACE INTO undelivered (sink, pos, at_ms, reason, body) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?;
            for event in events {
                insert.execute(params![name, event.pos, now_ms, event.reason, event.body])?;
            }
            let mut trim = tx.prepare_cached(
                "DELETE FROM undelivered WHERE sink = ?1 AND pos <= (
                     SELECT pos FROM undelivered WHERE sink = ?1 ORDER BY pos DESC LIMIT 1 OFFSET ?2)",
            )?;
            let gone = trim.execute(params![name, MAX_UNDELIVERED])? as u64;
            super::write::lose(&tx, Loss::Undelivered.name(), gone, now_ms)?;
        }
        change(&mut pos, &mut state);
        write(&tx, name, pos, &state)?;
        tx.commit()?;
        Ok(())
    }

    /// The next events behind a position, at most so many.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn after(&self, pos: i64, limit: usize) -> Result<Vec<Stored>, OutboxError> {
        let mut select = self
            .db
            .prepare_cached("SELECT pos, harness, type, body FROM events WHERE pos > ?1 ORDER BY pos LIMIT ?2")?;
        let rows = select.query_map(params![pos, limit], |row| {
            Ok(Stored { pos: row.get(0)?, harness: row.get(1)?, kind: row.get(2)?, body: row.get(3)? })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Forgets a sink and what was set aside for it.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn remove(&mut self, name: &str) -> Result<(), OutboxError> {
        let tx = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        tx.execute("DELETE FROM sinks WHERE name = ?1", [name])?;
        tx.execute("DELETE FROM undelivered WHERE sink = ?1", [name])?;
        Ok(tx.commit()?)
    }

    /// Takes back what was set aside for a sink behind a position, since it is to be sent again; how many.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn clear_undelivered(&mut self, name: &str, after: i64) -> Result<usize, OutboxError> {
        let still = "pos IN (SELECT pos FROM events)";
        let clear = format!("DELETE FROM undelivered WHERE sink = ?1 AND pos > ?2 AND {still}");
        Ok(self.db.execute(&clear, params![name, after])?)
    }

    /// Writes the journal into the database and empties it, so that nothing deleted is left in it. A reader that is at
    /// work may keep it from that.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn empty_journal(&self) -> Result<(), OutboxError> {
        Ok(self.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(()))?)
    }
}

/// What was set aside, by sink.
pub(super) fn undelivered(db: &Connection) -> Result<Vec<Undelivered>, OutboxError> {
    let mut select = db.prepare("SELECT sink, pos, at_ms, reason, body FROM undelivered ORDER BY sink, pos")?;
    let rows = select.query_map((), |row| {
        Ok(Undelivered {
            sink: row.get(0)?,
            pos: row.get(1)?,
            at_ms: row.get(2)?,
            reason: row.get(3)?,
            body: row.get(4)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// All sinks that were ever met, by name.
pub(super) fn sinks(db: &Connection) -> Result<Vec<SinkRow>, OutboxError> {
    let mut select = db.prepare(
        "SELECT name, pos, missed, state, (SELECT count(*) FROM events WHERE events.pos > sinks.pos),
             (SELECT count(*) FROM undelivered WHERE sink = name)
         FROM sinks ORDER BY name",
    )?;
    let rows = select.query_map((), |row| {
        let row = SinkRow {
            name: row.get(0)?,
            pos: row.get(1)?,
            missed: row.get(2)?,
            state: read_state(&row.get::<_, String>(3)?),
            waiting: row.get(4)?,
            undelivered: row.get(5)?,
        };
        Ok(row)
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn row(db: &Connection, name: &str) -> Result<Option<(i64, SinkState)>, OutboxError> {
    let mut select = db.prepare_cached("SELECT pos, state FROM sinks WHERE name = ?1")?;
    let row = select.query_row([name], |row| Ok((row.get(0)?, row.get::<_, String>(1)?))).optional()?;
    Ok(row.map(|(pos, state)| (pos, read_state(&state))))
}

/// A state that does not read is as good as none: what matters, the position, has a column of its own.
fn read_state(text: &str) -> SinkState {
    serde_json::from_str(text).unwrap_or_default()
}

fn write(db: &Connection, name: &str, pos: i64, state: &SinkState) -> Result<(), OutboxError> {
    let mut upsert = db.prepare_cached(
        "INSERT INTO sinks (name, pos, state) VALUES (?1, ?2, ?3)
         ON CONFLICT DO UPDATE SET pos = excluded.pos, state = excluded.state",
    )?;
    upsert.execute(params![name, pos, serde_json::to_string(state)?])?;
    Ok(())
}
