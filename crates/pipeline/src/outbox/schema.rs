//! The tables, and opening the file.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::OutboxError;

/// The format of the file (`user_version`). Raise it when a table or the stored state gains what an older writer would
/// lose.
pub const FORMAT: i64 = 2;

/// How long to wait for a reader that holds the database: a checkpoint is the only thing that ever needs to.
const BUSY: Duration = Duration::from_secs(5);

/// `body` is the event's JSON. A counter outlives its events and its session, whatever is pruned: a receiver must never
/// take a new event for an old one.
const TABLES: &str = "
CREATE TABLE IF NOT EXISTS events (
    pos INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    harness TEXT NOT NULL,
    session TEXT NOT NULL,
    seq INTEGER NOT NULL,
    type TEXT NOT NULL,
    time_ms INTEGER NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (harness, session, seq)
);
CREATE INDEX IF NOT EXISTS events_time ON events (time_ms);
CREATE TABLE IF NOT EXISTS counters (
    harness TEXT NOT NULL,
    session TEXT NOT NULL,
    next INTEGER NOT NULL,
    last_ms INTEGER NOT NULL,
    PRIMARY KEY (harness, session)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sessions (
    harness TEXT NOT NULL,
    session TEXT NOT NULL,
    state TEXT NOT NULL,
    open INTEGER NOT NULL,
    watched INTEGER NOT NULL,
    pid INTEGER,
    pid_start INTEGER,
    cwd TEXT,
    updated_ms INTEGER NOT NULL,
    PRIMARY KEY (harness, session)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS sessions_process ON sessions (pid) WHERE open AND pid IS NOT NULL;
CREATE TABLE IF NOT EXISTS jobs_done (job TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS losses (kind TEXT PRIMARY KEY, count INTEGER NOT NULL, last_ms INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS quarantine (
    nr INTEGER PRIMARY KEY AUTOINCREMENT,
    job TEXT NOT NULL UNIQUE,
    at_ms INTEGER NOT NULL,
    harness TEXT NOT NULL,
    event TEXT NOT NULL,
    reason TEXT NOT NULL,
    payload TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS sinks (
    name TEXT PRIMARY KEY,
    pos INTEGER NOT NULL,
    missed INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS undelivered (
    sink TEXT NOT NULL,
    pos INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    reason TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (sink, pos)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS forgotten (
    harness TEXT NOT NULL,
    session TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (harness, session)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
";

/// Opens the file for writing, and makes it when there is none. 0600, also when it was wider.
pub(super) fn open(path: &Path) -> Result<Connection, OutboxError> {
    let file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
    narrow(&file)?;
    drop(file);
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    db.busy_timeout(BUSY)?;
    let format = check_format(&db)?;
    // Pages that pruning frees go back to the file system; it must be said before the first table is made.
    db.execute_batch("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;")?;
    // FULL: a job is deleted only when its events survive a power cut. The page cache and the journal are bounded, so
    // that an idle worker stays small. What is deleted is overwritten, so that what is forgotten is gone.
    db.execute_batch(
        "PRAGMA synchronous = FULL; PRAGMA cache_size = -4096; PRAGMA journal_size_limit = 8388608;
         PRAGMA secure_delete = ON;",
    )?;
    db.set_prepared_statement_cache_capacity(32);
    if format < FORMAT {
        db.execute_batch(&format!("BEGIN IMMEDIATE; {TABLES} PRAGMA user_version = {FORMAT}; COMMIT;"))?;
    }
    Ok(db)
}

/// Opens the file for one who delivers to a sink; `None` when there is none that holds what sinks need: the worker makes it.
pub(super) fn open_to_deliver(path: &Path) -> Result<Option<Connection>, OutboxError> {
    if !path.try_exists()? {
        return Ok(None);
    }
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    db.busy_timeout(BUSY)?;
    let format = check_format(&db)?;
    // Its commits need not survive a power cut, and it has no use for a large cache.
    db.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA cache_size = -1024; PRAGMA journal_size_limit = 8388608;")?;
    Ok((format == FORMAT).then_some(db))
}

/// Opens the file for reading; `None` when there is none.
pub(super) fn open_to_read(path: &Path) -> Result<Option<Connection>, OutboxError> {
    if !path.try_exists()? {
        return Ok(None);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    db.busy_timeout(BUSY)?;
    let (db, format) = match check_format(&db) {
        // On a read-only file system no journal can be made, and where there is none nothing is missing.
        Err(OutboxError::Sqlite(error)) if error.sqlite_error_code() == Some(ErrorCode::CannotOpen) => {
            let db = Connection::open_with_flags(unchanging(path), flags | OpenFlags::SQLITE_OPEN_URI)?;
            let format = check_format(&db)?;
            (db, format)
        }
        format => (db, format?),
    };
    // A worker that has just made the file has not made the tables yet.
    Ok((format != 0).then_some(db))
}

/// The URI of a file that nobody writes (<https://www.sqlite.org/uri.html>).
fn unchanging(path: &Path) -> OsString {
    let mut uri = b"file:".to_vec();
    for &byte in path.as_os_str().as_bytes() {
        if matches!(byte, b'%' | b'?' | b'#') {
            uri.extend_from_slice(format!("%{byte:02x}").as_bytes());
        } else {
            uri.push(byte);
        }
    }
    uri.extend_from_slice(b"?immutable=1");
    OsString::from_vec(uri)
}

/// Whether the tables of the sinks are there: those of an earlier format come with the next worker.
pub(super) fn has_sinks(db: &Connection) -> Result<bool, OutboxError> {
    Ok(check_format(db)? >= 2)
}

fn check_format(db: &Connection) -> Result<i64, OutboxError> {
    let found = db.query_row("PRAGMA user_version", (), |row| row.get(0))?;
    if found > FORMAT { Err(OutboxError::Newer { found, known: FORMAT }) } else { Ok(found) }
}

fn narrow(file: &File) -> io::Result<()> {
    let mode = file.metadata()?.permissions().mode();
    if mode & 0o077 != 0 { file.set_permissions(Permissions::from_mode(0o600)) } else { Ok(()) }
}

/// Moves a damaged file and its journal aside: `outbox.db.damaged-<ms>`. Nothing is deleted; a person may still get
/// something out of it.
pub(super) fn move_aside(path: &Path, now_ms: i64) -> io::Result<PathBuf> {
    let suffixed = |tail: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(tail);
        PathBuf::from(name)
    };
    for tail in ["", "-wal", "-shm"] {
        match fs::rename(suffixed(tail), suffixed(&format!(".damaged-{now_ms}{tail}"))) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(suffixed(&format!(".damaged-{now_ms}")))
}
