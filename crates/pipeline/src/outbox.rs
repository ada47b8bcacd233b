//! The outbox: every event of this machine in the order in which it was accepted, in one SQLite file.
//!
//! The one worker writes ([`Outbox`], [`Batch`]); anybody reads ([`Reader`]). It also holds what the worker must find
//! again after a crash: the sessions' state, the jobs that are done, the counters, what was lost and what could not be
//! used. A batch of jobs is one transaction, so that all of these agree at any moment.

mod ledger;
mod read;
mod schema;
mod write;

use sessionpipe_core::adapter::Position;
use sessionpipe_core::tracker::SessionState;

pub use ledger::{
    Flight, Ledger, MAX_UNDELIVERED, Pause, ReceiverInfo, Retry, SinkRow, SinkState, Stored, Undelivered,
};
pub use read::{Entry, Events, HarnessActivity, LossCount, Quarantined, Query, Reader, SessionRow, Stats};
pub use schema::FORMAT;
pub use write::{Batch, OpenProcess, Outbox};

/// Events older than this are dropped, in milliseconds (30 days): a receiver that was away for longer reads local
/// history instead.
pub const MAX_AGE_MS: i64 = 30 * 24 * 60 * 60 * 1000;

/// The database is kept below this many bytes (512 MB), the oldest events go first: about 200,000 with their content.
pub const MAX_BYTES: u64 = 512 * 1024 * 1024;

/// At most this many events are dropped in one step, so that no job waits long for the database.
pub const PRUNE_STEP: u32 = 1_000;

/// At most this many payloads are kept in quarantine; the oldest goes first.
pub const MAX_QUARANTINED: u32 = 1_000;

/// A session as the worker keeps it: what the tracker remembers, and how far its own files were read.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Tracked {
    /// What the tracker remembers.
    pub state: SessionState,
    /// How often the session's files were read for facts that are still missing.
    pub fact_reads: u8,
    /// The size of its transcript at the last of these reads, in bytes.
    pub fact_len: u64,
    /// How far its transcript was read.
    pub position: Position,
}

/// What can be lost on the worker's side. The hook's own losses are counted in [`crate::losses`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Loss {
    /// An event was dropped for its age or for the size of the outbox.
    Pruned,
    /// A quarantined payload was dropped for its age, or because there were too many.
    Quarantine,
    /// The outbox was damaged: it was moved aside and a new one started.
    DamagedOutbox,
    /// A record of a transcript could not be read.
    Transcript,
    /// An event that a sink's receiver would not take was dropped for its age, or because there were too many.
    Undelivered,
}

impl Loss {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Pruned, Self::Quarantine, Self::DamagedOutbox, Self::Transcript, Self::Undelivered];

    /// As it is stored, and shown.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pruned => "pruned",
            Self::Quarantine => "quarantine pruned",
            Self::DamagedOutbox => "outbox damaged",
            Self::Transcript => "transcript unreadable",
            Self::Undelivered => "undelivered pruned",
        }
    }
}

/// Why the outbox cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OutboxError {
    /// A newer program wrote it; an older one would lose what it does not know.
    #[error("the outbox has format {found}, this program knows only {known}: upgrade sessionpipe")]
    Newer {
        /// In the file.
        found: i64,
        /// [`FORMAT`].
        known: i64,
    },
    /// It is no database, or not any more.
    #[error("the outbox is damaged")]
    Damaged(#[source] rusqlite::Error),
    /// The disk is full.
    #[error("there is no space left for the outbox")]
    Full(#[source] rusqlite::Error),
    /// Anything else that SQLite says: locked, read-only, an I/O error.
    #[error("the outbox cannot be used")]
    Sqlite(#[source] rusqlite::Error),
    /// Its file cannot be made, narrowed or moved.
    #[error("the outbox's file cannot be used")]
    File(#[from] std::io::Error),
    /// A stored event or state does not read as one.
    #[error("a row of the outbox cannot be read")]
    Row(#[from] serde_json::Error),
}

impl From<rusqlite::Error> for OutboxError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{DatabaseCorrupt, DiskFull, NotADatabase};
        match error.sqlite_error_code() {
            Some(DatabaseCorrupt | NotADatabase) => Self::Damaged(error),
            Some(DiskFull) => Self::Full(error),
            _ => Self::Sqlite(error),
        }
    }
}
