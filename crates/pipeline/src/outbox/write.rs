//! The worker's side: batches, and keeping the file within its bounds.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Params, Transaction, TransactionBehavior, params};
use sessionpipe_core::event::Event;
use sessionpipe_core::job::Process;

use super::{Loss, MAX_AGE_MS, MAX_BYTES, MAX_QUARANTINED, OutboxError, PRUNE_STEP, Quarantined, Tracked, schema};

/// How often writing failed, told when it works again.
pub(super) const FAILURES: &str = "write_failures";

/// Set when this file replaced a damaged one: what its predecessor numbered is not known any more.
pub(super) const REPLACED: &str = "replaced_ms";

/// The outbox, open for writing. Only who holds the worker's lock may have one.
#[derive(Debug)]
pub struct Outbox {
    db: Connection,
    max_bytes: u64,
}

/// A session whose process is to be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenProcess {
    /// `harness.name`
    pub harness: String,
    /// `session.id`
    pub session: String,
    /// The agent's process; its name is not stored here.
    pub process: Process,
    /// A turn is open, or the process was seen to be gone.
    pub watched: bool,
}

impl Outbox {
    /// Opens the file, and makes it when there is none.
    ///
    /// # Errors
    /// When it is damaged, of a newer format, or cannot be written.
    pub fn open(path: &Path) -> Result<Self, OutboxError> {
        Ok(Self { db: schema::open(path)?, max_bytes: MAX_BYTES })
    }

    /// Moves a damaged file aside and starts a new one. Its counters start at Unix seconds, above any that the old one
    /// gave.
    ///
    /// # Errors
    /// When the files cannot be moved or made.
    pub fn replace(path: &Path, now_ms: i64) -> Result<Self, OutboxError> {
        schema::move_aside(path, now_ms)?;
        let mut outbox = Self::open(path)?;
        let batch = outbox.batch()?;
        batch.tx.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)", params![REPLACED, now_ms])?;
        batch.lose(Loss::DamagedOutbox.name(), 1, now_ms)?;
        batch.commit()?;
        Ok(outbox)
    }

    /// The same outbox with another bound on its size.
    #[must_use]
    pub fn bounded(mut self, max_bytes: u64) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// Begins a transaction; dropped without [`Batch::commit`], nothing of it has happened.
    ///
    /// # Errors
    /// When the database is locked or unusable.
    pub fn batch(&mut self) -> Result<Batch<'_>, OutboxError> {
        Ok(Batch { tx: self.db.transaction_with_behavior(TransactionBehavior::Immediate)? })
    }

    /// Every open session whose process is known.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn open_processes(&self) -> Result<Vec<OpenProcess>, OutboxError> {
        super::read::open_processes(&self.db)
    }

    /// Whether any job is marked as done.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn has_done(&self) -> Result<bool, OutboxError> {
        Ok(self.db.prepare_cached("SELECT 1 FROM jobs_done")?.exists(())?)
    }

    /// Forgets the marks of jobs whose files are gone: those before the oldest that is there. The caller makes sure that
    /// a deleted file cannot come back (it syncs the spool's directory first).
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn forget_done(&mut self, oldest: Option<&str>) -> Result<usize, OutboxError> {
        Ok(self.db.execute("DELETE FROM jobs_done WHERE ?1 IS NULL OR job < ?1", [oldest])?)
    }

    /// One step back into the bounds of age and size; how many events went. 0: all is within bounds.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn prune(&mut self, now_ms: i64) -> Result<u64, OutboxError> {
        let too_big = self.bytes()? > self.max_bytes;
        let oldest = now_ms - MAX_AGE_MS;
        let batch = self.batch()?;
        let old = "SELECT pos FROM events WHERE time_ms < ?1 ORDER BY time_ms LIMIT ?2";
        let mut gone = batch.drop_events(old, params![oldest, PRUNE_STEP])?;
        if too_big && gone == 0 {
            gone = batch.drop_events("SELECT pos FROM events ORDER BY pos LIMIT ?1", [PRUNE_STEP])?;
        }
        batch.tx.execute("DELETE FROM sessions WHERE updated_ms < ?1", [oldest])?;
        let quarantined = batch.tx.execute("DELETE FROM quarantine WHERE at_ms < ?1", [oldest])?;
        let undelivered = batch.tx.execute("DELETE FROM undelivered WHERE at_ms < ?1", [oldest])?;
        batch.lose(Loss::Pruned.name(), gone, now_ms)?;
        batch.lose(Loss::Quarantine.name(), quarantined as u64, now_ms)?;
        batch.lose(Loss::Undelivered.name(), undelivered as u64, now_ms)?;
        batch.commit()?;
        if gone > 0 {
            // It gives one page back per step.
            let mut vacuum = self.db.prepare("PRAGMA incremental_vacuum")?;
            let mut pages = vacuum.query(())?;
            while pages.next()?.is_some() {}
        }
        Ok(gone)
    }

    /// Bytes that the database uses, free pages not counted.
    fn bytes(&self) -> Result<u64, OutboxError> {
        let number = |pragma| self.db.query_row(pragma, (), |row| row.get::<_, u64>(0));
        let pages = number("PRAGMA page_count")?.saturating_sub(number("PRAGMA freelist_count")?);
        Ok(pages * number("PRAGMA page_size")?)
    }

    /// Makes the pages that a batch may use not grow any more: every further one fails as on a full disk.
    #[cfg(test)]
    pub(crate) fn fill_disk(&self, full: bool) {
        let pages: u32 = self.db.query_row("PRAGMA page_count", (), |row| row.get(0)).expect("a count");
        let most = if full { pages } else { u32::MAX - 1 };
        self.db.query_row(&format!("PRAGMA max_page_count = {most}"), (), |_| Ok(())).expect("a pragma");
    }
}

/// One transaction.
#[derive(Debug)]
pub struct Batch<'a> {
    tx: Transaction<'a>,
}

impl Batch<'_> {
    /// Makes it all true at once.
    ///
    /// # Errors
    /// When it cannot be written: then none of it has happened.
    pub fn commit(self) -> Result<(), OutboxError> {
        Ok(self.tx.commit()?)
    }

    /// Deletes the events at these positions, and counts for each sink those that it has not got; how many went.
    fn drop_events(&self, positions: &str, parameters: impl Params + Copy) -> Result<u64, OutboxError> {
        let missed = format!(
            "UPDATE sinks SET missed = missed + (
                 SELECT count(*) FROM events WHERE pos IN ({positions}) AND events.pos > sinks.pos)"
        );
        self.tx.prepare_cached(&missed)?.execute(parameters)?;
        let delete = format!("DELETE FROM events WHERE pos IN ({positions})");
        Ok(self.tx.prepare_cached(&delete)?.execute(parameters)? as u64)
    }

    /// Whether a job's events are in already: the worker died before it could delete the file.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn is_done(&self, job: &str) -> Result<bool, OutboxError> {
        Ok(self.tx.prepare_cached("SELECT 1 FROM jobs_done WHERE job = ?1")?.exists([job])?)
    }

    /// Marks a job as done.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn done(&self, job: &str) -> Result<(), OutboxError> {
        self.tx.prepare_cached("INSERT OR IGNORE INTO jobs_done (job) VALUES (?1)")?.execute([job])?;
        Ok(())
    }

    /// Appends an event, whose `seq` is the session's next; false when its id is in already.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn append(&self, event: &Event, at_ms: i64) -> Result<bool, OutboxError> {
        let body = serde_json::to_string(event)?;
        let mut insert = self.tx.prepare_cached(
            "INSERT INTO events (id, harness, session, seq, type, time_ms, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (id) DO NOTHING",
        )?;
        let Event { id, kind, harness, session, .. } = event;
        Ok(insert.execute(params![id, harness.name, session.id, session.seq, kind, at_ms, body])? == 1)
    }

    /// Whether nothing of a session is kept any more: it was forgotten, or lies in a folder of which nothing is kept.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn is_forgotten(&self, harness: &str, session: &str) -> Result<bool, OutboxError> {
        let mut select = self.tx.prepare_cached("SELECT 1 FROM forgotten WHERE harness = ?1 AND session = ?2")?;
        Ok(select.exists([harness, session])?)
    }

    /// From now on nothing of a session is kept. What is there of its events stays; its counter stays for ever.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn let_go(&self, harness: &str, session: &str, now_ms: i64) -> Result<(), OutboxError> {
        self.tx.execute("DELETE FROM sessions WHERE harness = ?1 AND session = ?2", [harness, session])?;
        let mut insert =
            self.tx.prepare_cached("INSERT OR IGNORE INTO forgotten (harness, session, at_ms) VALUES (?1, ?2, ?3)")?;
        insert.execute(params![harness, session, now_ms])?;
        Ok(())
    }

    /// [`let_go`](Self::let_go), and deletes all that is there of it, also what was set aside.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn forget(&self, harness: &str, session: &str, now_ms: i64) -> Result<(), OutboxError> {
        let key = [harness, session];
        self.tx.execute(
            "DELETE FROM undelivered WHERE pos IN (SELECT pos FROM events WHERE harness = ?1 AND session = ?2)
                 OR (body ->> '$.harness.name' = ?1 AND body ->> '$.session.id' = ?2)",
            key,
        )?;
        self.tx.execute("DELETE FROM quarantine WHERE instr(payload, ?1)", [session])?;
        self.tx.execute("DELETE FROM events WHERE harness = ?1 AND session = ?2", key)?;
        self.let_go(harness, session, now_ms)
    }

    /// What is stored of a session.
    ///
    /// # Errors
    /// When the database cannot be read, or the row does not read as a session.
    pub fn session(&self, harness: &str, id: &str) -> Result<Option<Tracked>, OutboxError> {
        let mut select = self.tx.prepare_cached("SELECT state FROM sessions WHERE harness = ?1 AND session = ?2")?;
        let state: Option<String> = select.query_row([harness, id], |row| row.get(0)).optional()?;
        Ok(state.map(|state| serde_json::from_str(&state)).transpose()?)
    }

    /// The open session of a process in a folder, the latest if there are several.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn session_of(&self, harness: &str, process: &Process, cwd: &str) -> Result<Option<String>, OutboxError> {
        let mut select = self.tx.prepare_cached(
            "SELECT session FROM sessions WHERE open AND pid = ?2 AND pid_start = ?3 AND harness = ?1 AND cwd = ?4
             ORDER BY updated_ms DESC LIMIT 1",
        )?;
        let process = params![harness, process.pid, process.start.cast_signed(), cwd];
        Ok(select.query_row(process, |row| row.get(0)).optional()?)
    }

    /// Stores a session.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn save_session(&self, harness: &str, tracked: &Tracked, now_ms: i64) -> Result<(), OutboxError> {
        let mut insert = self.tx.prepare_cached(
            "INSERT OR REPLACE INTO sessions (harness, session, state, open, watched, pid, pid_start, cwd, updated_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?;
        let state = &tracked.state;
        let process = state.process();
        insert.execute(params![
            harness,
            state.id,
            serde_json::to_string(tracked)?,
            state.is_open(),
            state.needs_watching(),
            process.map(|p| p.pid),
            process.map(|p| p.start.cast_signed()),
            state.cwd,
            now_ms,
        ])?;
        Ok(())
    }

    /// The next `seq` of a session. Without a counter it starts at 0; but at Unix seconds where there is a history that
    /// no counter tells of (`resumed`, a session that we hold something of, a damaged predecessor), so that a receiver
    /// never takes a new event for an old one.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn next_seq(&self, harness: &str, session: &str, resumed: bool, now_ms: i64) -> Result<u64, OutboxError> {
        let key = [harness, session];
        let mut highest = self.tx.prepare_cached("SELECT max(seq) FROM events WHERE harness = ?1 AND session = ?2")?;
        let after_events = highest.query_row(key, |row| row.get::<_, Option<u64>>(0))?.map_or(0, |seq| seq + 1);
        let mut counter = self.tx.prepare_cached("SELECT next FROM counters WHERE harness = ?1 AND session = ?2")?;
        if let Some(next) = counter.query_row(key, |row| row.get::<_, u64>(0)).optional()? {
            return Ok(next.max(after_events));
        }
        let history = resumed
            || after_events > 0
            || self.tx.prepare_cached("SELECT 1 FROM sessions WHERE harness = ?1 AND session = ?2")?.exists(key)?
            || self.tx.prepare_cached("SELECT 1 FROM meta WHERE key = ?1")?.exists([REPLACED])?;
        let seconds = if history { u64::try_from(now_ms / 1000).unwrap_or(0) } else { 0 };
        Ok(seconds.max(after_events))
    }

    /// Stores the next `seq` of a session, and the time of its latest event.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn save_counter(&self, harness: &str, session: &str, next: u64, last_ms: i64) -> Result<(), OutboxError> {
        let mut upsert = self.tx.prepare_cached(
            "INSERT INTO counters (harness, session, next, last_ms) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO UPDATE SET next = excluded.next, last_ms = max(last_ms, excluded.last_ms)",
        )?;
        upsert.execute(params![harness, session, next, last_ms])?;
        Ok(())
    }

    /// Keeps a payload that could not be used, redacted by the caller. The oldest goes when there are too many.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn quarantine(&self, entry: &Quarantined, now_ms: i64) -> Result<(), OutboxError> {
        let mut insert = self.tx.prepare_cached(
            "INSERT OR IGNORE INTO quarantine (job, at_ms, harness, event, reason, payload)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?;
        let Quarantined { job, at_ms, harness, event, reason, payload } = entry;
        insert.execute(params![job, at_ms, harness, event, reason, payload])?;
        let mut trim = self.tx.prepare_cached(
            "DELETE FROM quarantine WHERE nr <= (SELECT nr FROM quarantine ORDER BY nr DESC LIMIT 1 OFFSET ?1)",
        )?;
        let gone = trim.execute([MAX_QUARANTINED])? as u64;
        self.lose(Loss::Quarantine.name(), gone, now_ms)
    }

    /// Counts attempts to write that failed before this one. Nothing was lost: the jobs waited.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn count_failures(&self, count: u32) -> Result<(), OutboxError> {
        let mut upsert = self.tx.prepare_cached(
            "INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = value + excluded.value",
        )?;
        upsert.execute(params![FAILURES, count])?;
        Ok(())
    }

    /// Counts what was lost, by [`Loss::name`] or the hook's [`Reason`](crate::losses::Reason); 0 is nothing.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn lose(&self, kind: &str, count: u64, now_ms: i64) -> Result<(), OutboxError> {
        lose(&self.tx, kind, count, now_ms)
    }

    /// Notes that the channel that a harness has beside its hooks has spoken.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn noticed(&self, harness: &str, at_ms: i64) -> Result<(), OutboxError> {
        let mut upsert = self.tx.prepare_cached(
            "INSERT INTO meta (key, value) VALUES ('noticed ' || ?1, ?2)
             ON CONFLICT DO UPDATE SET value = max(value, excluded.value)",
        )?;
        upsert.execute(params![harness, at_ms])?;
        Ok(())
    }
}

pub(super) fn lose(db: &Connection, kind: &str, count: u64, now_ms: i64) -> Result<(), OutboxError> {
    if count > 0 {
        let mut upsert = db.prepare_cached(
            "INSERT INTO losses (kind, count, last_ms) VALUES (?1, ?2, ?3)
             ON CONFLICT DO UPDATE SET count = count + excluded.count, last_ms = excluded.last_ms",
        )?;
        upsert.execute(params![kind, count, now_ms])?;
    }
    Ok(())
}
