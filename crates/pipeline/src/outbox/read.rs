//! The reader's side: `tail`, `status`, `doctor`.

use std::collections::VecDeque;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, params};
use sessionpipe_core::event::Event;
use sessionpipe_core::job::Process;

use super::ledger::{self, SinkRow, Undelivered};
use super::write::FAILURES;
use super::{OpenProcess, OutboxError, Tracked, schema};

/// Events are fetched so many at a time: a reader never holds the database for long, nor many events in memory.
const PAGE: u32 = 128;

/// The outbox, open for reading only.
#[derive(Debug)]
pub struct Reader {
    db: Connection,
}

/// Which events to read; the default is all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Of this harness.
    pub harness: Option<String>,
    /// Of sessions whose id begins so.
    pub session: Option<String>,
    /// Not older than this, milliseconds since the epoch.
    pub since_ms: Option<i64>,
    /// Only the newest so many.
    pub limit: Option<u32>,
}

/// One event and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its position: grows with every event, never used twice.
    pub pos: i64,
    /// The event, redacted, at the highest tier.
    pub event: Event,
}

/// A session that the worker keeps.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionRow {
    /// `harness.name`
    pub harness: String,
    /// What is known of it.
    pub tracked: Tracked,
    /// When it was last stored, milliseconds since the epoch.
    pub updated_ms: i64,
}

/// When a harness was last heard of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HarnessActivity {
    /// `harness.name`
    pub harness: String,
    /// Time of its latest event, milliseconds since the epoch; known also when the event is not kept any more.
    pub last_ms: i64,
    /// How many of its sessions were ever seen.
    pub sessions: u64,
}

/// How much of something was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LossCount {
    /// [`Loss::name`](super::Loss::name)
    pub kind: String,
    /// How often.
    pub count: u64,
    /// The last time, milliseconds since the epoch.
    pub last_ms: i64,
}

/// A job that could not be used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quarantined {
    /// The job's id.
    pub job: String,
    /// Its time, milliseconds since the epoch.
    pub at_ms: i64,
    /// `HARNESS` of the hook's argv.
    pub harness: String,
    /// `EVENT` of the hook's argv.
    pub event: String,
    /// Why.
    pub reason: String,
    /// What is left of the payload: redacted, long texts and lists replaced by their size.
    pub payload: String,
}

/// The size of the outbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Events.
    pub events: u64,
    /// Bytes of the database.
    pub bytes: u64,
    /// Time of the oldest event, milliseconds since the epoch.
    pub oldest_ms: Option<i64>,
    /// Payloads in quarantine.
    pub quarantined: u64,
    /// How often the worker could not write for a while (a full disk, most of all); the jobs waited.
    pub write_failures: u64,
}

impl Reader {
    /// Opens the file; `None` when nothing was stored yet.
    ///
    /// # Errors
    /// When it is damaged, of a newer format, or cannot be read.
    pub fn open(path: &Path) -> Result<Option<Self>, OutboxError> {
        Ok(schema::open_to_read(path)?.map(|db| Self { db }))
    }

    /// The events behind a position, in order of position (the order in which they were accepted). Lazy; those that are
    /// appended meanwhile are read too.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn events(&self, after: i64, query: Query) -> Result<Events<'_>, OutboxError> {
        let mut after = after;
        if let Some(since) = query.since_ms {
            let mut first = self.db.prepare_cached("SELECT min(pos) FROM events WHERE time_ms >= ?1")?;
            match first.query_row([since], |row| row.get::<_, Option<i64>>(0))? {
                Some(pos) => after = after.max(pos - 1),
                None => after = after.max(self.last_pos()?),
            }
        }
        if let Some(limit) = query.limit {
            let mut first = self.db.prepare_cached(
                "SELECT min(pos), count(*) FROM (
                     SELECT pos FROM events
                     WHERE pos > ?1 AND (?2 IS NULL OR harness = ?2)
                         AND (?3 IS NULL OR substr(session, 1, length(?3)) = ?3) AND (?4 IS NULL OR time_ms >= ?4)
                     ORDER BY pos DESC LIMIT ?5)",
            )?;
            let parameters = params![after, query.harness, query.session, query.since_ms, limit];
            match first.query_row(parameters, |row| row.get::<_, Option<i64>>(0))? {
                Some(pos) => after = pos - 1,
                None => after = after.max(self.last_pos()?),
            }
        }
        Ok(Events { reader: self, query, after, page: VecDeque::new() })
    }

    /// The position of the newest event; 0 when there is none.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn last_pos(&self) -> Result<i64, OutboxError> {
        Ok(self.db.query_row("SELECT coalesce(max(pos), 0) FROM events", (), |row| row.get(0))?)
    }

    /// The sessions that the worker keeps, the latest first.
    ///
    /// # Errors
    /// When the database cannot be read, or a row does not read as a session.
    pub fn sessions(&self) -> Result<Vec<SessionRow>, OutboxError> {
        let mut select =
            self.db.prepare("SELECT harness, state, updated_ms FROM sessions ORDER BY updated_ms DESC, session")?;
        let rows = select.query_map((), |row| Ok((row.get(0)?, row.get::<_, String>(1)?, row.get(2)?)))?;
        rows.map(|row| {
            let (harness, state, updated_ms) = row?;
            Ok(SessionRow { harness, tracked: serde_json::from_str(&state)?, updated_ms })
        })
        .collect()
    }

    /// Every open session whose process is known.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn open_processes(&self) -> Result<Vec<OpenProcess>, OutboxError> {
        open_processes(&self.db)
    }

    /// When each harness was last heard of.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn last_event_per_harness(&self) -> Result<Vec<HarnessActivity>, OutboxError> {
        let mut select = self
            .db
            .prepare("SELECT harness, max(last_ms), count(*) FROM counters GROUP BY harness ORDER BY harness")?;
        let rows = select.query_map((), |row| {
            Ok(HarnessActivity { harness: row.get(0)?, last_ms: row.get(1)?, sessions: row.get(2)? })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// When the channel that a harness has beside its hooks last spoke, whether it said anything new or not.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn last_notice(&self, harness: &str) -> Result<Option<i64>, OutboxError> {
        let mut select = self.db.prepare("SELECT value FROM meta WHERE key = 'noticed ' || ?1")?;
        Ok(select.query_row([harness], |row| row.get(0)).optional()?)
    }

    /// What was lost on the worker's side.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn losses(&self) -> Result<Vec<LossCount>, OutboxError> {
        let mut select = self.db.prepare("SELECT kind, count, last_ms FROM losses ORDER BY kind")?;
        let rows = select
            .query_map((), |row| Ok(LossCount { kind: row.get(0)?, count: row.get(1)?, last_ms: row.get(2)? }))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// What could not be used, the latest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn quarantine(&self) -> Result<Vec<Quarantined>, OutboxError> {
        let mut select =
            self.db.prepare("SELECT job, at_ms, harness, event, reason, payload FROM quarantine ORDER BY nr DESC")?;
        let rows = select.query_map((), |row| {
            Ok(Quarantined {
                job: row.get(0)?,
                at_ms: row.get(1)?,
                harness: row.get(2)?,
                event: row.get(3)?,
                reason: row.get(4)?,
                payload: row.get(5)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Every sink that was ever met, by name.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn sinks(&self) -> Result<Vec<SinkRow>, OutboxError> {
        if schema::has_sinks(&self.db)? { ledger::sinks(&self.db) } else { Ok(Vec::new()) }
    }

    /// Every session that was ever seen and whose id begins so, as (`harness.name`, `session.id`).
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn sessions_named(&self, prefix: &str) -> Result<Vec<(String, String)>, OutboxError> {
        let mut select = self.db.prepare(
            "SELECT harness, session FROM counters WHERE substr(session, 1, length(?1)) = ?1 ORDER BY harness, session",
        )?;
        let rows = select.query_map([prefix], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The position before the first event that is not older than this, milliseconds since the epoch; 0 without a time.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn position_before(&self, since_ms: Option<i64>) -> Result<i64, OutboxError> {
        let Some(since_ms) = since_ms else { return Ok(0) };
        let first = "SELECT min(pos) FROM events WHERE time_ms >= ?1";
        match self.db.query_row(first, [since_ms], |row| row.get::<_, Option<i64>>(0))? {
            Some(pos) => Ok(pos - 1),
            None => self.last_pos(),
        }
    }

    /// The events that sinks' receivers would not take.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn undelivered(&self) -> Result<Vec<Undelivered>, OutboxError> {
        if schema::has_sinks(&self.db)? { ledger::undelivered(&self.db) } else { Ok(Vec::new()) }
    }

    /// The size of the outbox.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn stats(&self) -> Result<Stats, OutboxError> {
        Ok(self.db.query_row(
            "SELECT (SELECT count(*) FROM events), (SELECT min(time_ms) FROM events),
                    (SELECT count(*) FROM quarantine),
                    (SELECT page_count * page_size FROM pragma_page_count, pragma_page_size),
                    (SELECT coalesce(max(value), 0) FROM meta WHERE key = ?1)",
            [FAILURES],
            |row| {
                Ok(Stats {
                    events: row.get(0)?,
                    oldest_ms: row.get(1)?,
                    quarantined: row.get(2)?,
                    bytes: row.get(3)?,
                    write_failures: row.get(4)?,
                })
            },
        )?)
    }
}

/// See [`Reader::events`].
#[derive(Debug)]
pub struct Events<'a> {
    reader: &'a Reader,
    query: Query,
    after: i64,
    page: VecDeque<(i64, String)>,
}

impl Events<'_> {
    fn fetch(&mut self) -> Result<(), OutboxError> {
        let mut select = self.reader.db.prepare_cached(
            "SELECT pos, body FROM events
             WHERE pos > ?1 AND (?2 IS NULL OR harness = ?2)
                 AND (?3 IS NULL OR substr(session, 1, length(?3)) = ?3) AND (?4 IS NULL OR time_ms >= ?4)
             ORDER BY pos LIMIT ?5",
        )?;
        let Query { harness, session, since_ms, limit: _ } = &self.query;
        let rows = select
            .query_map(params![self.after, harness, session, since_ms, PAGE], |row| Ok((row.get(0)?, row.get(1)?)))?;
        self.page = rows.collect::<Result<_, _>>()?;
        Ok(())
    }
}

impl Iterator for Events<'_> {
    type Item = Result<Entry, OutboxError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.page.is_empty()
            && let Err(error) = self.fetch()
        {
            return Some(Err(error));
        }
        let (pos, body) = self.page.pop_front()?;
        self.after = pos;
        Some(serde_json::from_str(&body).map(|event| Entry { pos, event }).map_err(OutboxError::from))
    }
}

pub(super) fn open_processes(db: &Connection) -> Result<Vec<OpenProcess>, OutboxError> {
    let mut select = db.prepare_cached(
        "SELECT harness, session, pid, pid_start, watched FROM sessions WHERE open AND pid IS NOT NULL",
    )?;
    let rows = select.query_map((), |row| {
        let start: i64 = row.get(3)?;
        let process = Process { pid: row.get(2)?, start: start.cast_unsigned(), name: String::new() };
        Ok(OpenProcess { harness: row.get(0)?, session: row.get(1)?, process, watched: row.get(4)? })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
