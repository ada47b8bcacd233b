//! The trait that a harness's crate implements. Adapters describe; they write no file and start no process.

use std::path::{Path, PathBuf};

use crate::file;
use crate::harness::Harness;
use crate::host::Host;
use crate::job::Hook;
use crate::seen::{Mapped, TitleSource};
use crate::usage::Usage;
use crate::wiring::Wiring;

/// One harness, as the program sees it.
pub trait Adapter: Send + Sync {
    /// Its constants.
    fn harness(&self) -> &'static Harness;

    /// Whether it is on this machine. Reads config folders and package files, starts nothing.
    fn found(&self, host: &Host) -> Option<Found>;

    /// What must be true of its config files. Read by `install`, `uninstall`, `status` and `doctor`.
    fn wiring(&self, host: &Host) -> Vec<Wiring>;

    /// What could keep its hooks silent, beyond what the installer sees in the files of [`Self::wiring`].
    fn check(&self, host: &Host) -> Vec<Finding>;

    /// One hook call in the words of [`crate::seen`]. Pure: no clock, no disk.
    ///
    /// # Errors
    /// When neither payload, argv nor environment say which session it is about and what happened.
    fn map(&self, hook: &Hook) -> Result<Mapped, MapError>;

    /// Folders that hold its session files. A path named by a payload is opened only inside one of them.
    fn roots(&self, host: &Host) -> Vec<PathBuf>;

    /// Local sessions, newest first.
    fn sessions(&self, host: &Host) -> Vec<SessionFile>;

    /// What its own files say of a session. Never credentials.
    fn facts(&self, host: &Host, session: &SessionFile) -> Facts;

    /// Turns and usage that a session file holds beyond `from`. Harnesses whose transcripts are not read yet have none.
    ///
    /// # Errors
    /// When the file cannot be opened.
    fn read(&self, session: &SessionFile, from: Position) -> std::io::Result<Read> {
        let _ = session;
        Ok(Read { turns: Vec::new(), usage: Vec::new(), seen: Vec::new(), damage: 0, next: from })
    }
}

/// A harness on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The lowest version that is certainly in use; `None` when no file tells.
    pub version: Option<String>,
    /// Its config folders.
    pub dirs: Vec<PathBuf>,
    /// Folders that look like its own and belong to another tool: reported, never touched.
    pub left_alone: Vec<PathBuf>,
}

/// What `doctor` has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Whether hooks are silent because of it.
    pub level: Level,
    /// The file and key it is about.
    pub file: Option<PathBuf>,
    /// One sentence.
    pub text: String,
    /// What the person can do.
    pub fix: Option<String>,
}

impl Finding {
    /// One about a file.
    #[must_use]
    pub fn of(level: Level, file: &Path, text: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { level, file: Some(file.to_owned()), text: text.into(), fix: Some(fix.into()) }
    }
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Good to know.
    Note,
    /// Hooks run, but not all or not as they should.
    Warning,
    /// Hooks are silent.
    Problem,
}

/// A payload that cannot be used. The job goes to quarantine with this reason.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum MapError {
    /// Nothing says which event it is.
    #[error("the native event {0:?} is not one that this harness has")]
    UnknownEvent(String),
    /// The payload is no JSON object, and nothing else tells the session.
    #[error("the payload is unusable: {0}")]
    Unusable(String),
}

/// A session on disk. It may be several files: the first is the one that grows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionFile {
    /// The harness's own session id.
    pub id: String,
    /// Its files.
    pub paths: Vec<PathBuf>,
    /// When it was last written, milliseconds since the epoch.
    pub modified_ms: i64,
}

impl SessionFile {
    /// A session that is one file so far; `None` where that is no regular file.
    #[must_use]
    pub fn at(id: &str, path: PathBuf) -> Option<Self> {
        let modified_ms = file::modified_ms(&path)?;
        Some(Self { id: id.to_owned(), paths: vec![path], modified_ms })
    }

    /// Sessions in the order in which [`Adapter::sessions`] gives them.
    #[must_use]
    pub fn newest_first(sessions: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut sessions: Vec<Self> = sessions.into_iter().collect();
        sessions.sort_by(|a, b| (b.modified_ms, &b.id).cmp(&(a.modified_ms, &a.id)));
        sessions
    }
}

/// What a harness's own files say of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The harness's version that wrote the session.
    pub version: Option<String>,
    /// The title and its source.
    pub title: Option<(String, TitleSource)>,
    /// The model.
    pub model: Option<String>,
    /// An opaque account id.
    pub account_id: Option<String>,
    /// Opens the session.
    pub url: Option<String>,
}

/// A reader's place in a session's files: opaque, given back as it came. (A database has no offset.)
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Position(pub String);

/// What a read found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Read {
    /// Completed exchanges, in order.
    pub turns: Vec<Turn>,
    /// Usage, each with the key that de-duplicates it across files.
    pub usage: Vec<(String, Usage)>,
    /// What hooks did not say.
    pub seen: Vec<Mapped>,
    /// Records that could not be read.
    pub damage: u64,
    /// Where to go on.
    pub next: Position,
}

/// One completed exchange.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// Index in the session, from 0.
    pub index: u64,
    /// What the person wrote.
    pub user: String,
    /// What the assistant answered.
    pub assistant: String,
    /// Milliseconds since the epoch.
    pub at_ms: i64,
}
