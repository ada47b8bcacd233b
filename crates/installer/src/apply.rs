//! Doing what a plan says: a compare-and-swap per file, a rollback per harness, and a receipt of what is on disk.

use std::path::PathBuf;

use sessionpipe_core::host::Host;

use crate::plan::{Action, Plan};
use crate::refusal::Refusal;

/// What applying came to, read back from disk.
#[derive(Debug)]
pub struct Receipt {
    /// Wire or unwire.
    pub action: Action,
    /// In the order of the plan.
    pub harnesses: Vec<HarnessReceipt>,
    /// Copies of our programs that were written or removed.
    pub copies: Vec<PathBuf>,
}

impl Receipt {
    /// Whether everything that the plan wanted is on disk. A refused file makes it false.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.harnesses
            .iter()
            .flat_map(|h| &h.files)
            .all(|f| !matches!(f.outcome, Outcome::Refused(_) | Outcome::Failed(_) | Outcome::RolledBack))
    }
}

/// One harness.
#[derive(Debug)]
pub struct HarnessReceipt {
    /// `harness.name`.
    pub name: &'static str,
    /// Its files.
    pub files: Vec<FileReceipt>,
}

/// One file, as it is on disk now.
#[derive(Debug)]
pub struct FileReceipt {
    /// The path that the harness reads.
    pub path: PathBuf,
    /// The real file.
    pub target: PathBuf,
    /// What was done.
    pub outcome: Outcome,
    /// How many handlers of ours the file on disk holds now (a `notify` counts as one).
    pub handlers: usize,
}

/// What was done with a file.
#[derive(Debug)]
pub enum Outcome {
    /// Nothing was to do.
    UpToDate,
    /// It was made.
    Created,
    /// It was edited.
    Changed,
    /// It was removed.
    Removed,
    /// The plan refused it.
    Refused(Refusal),
    /// It could not be done. The file is as it was.
    Failed(ApplyError),
    /// It was done, and undone since another file of the harness failed.
    RolledBack,
}

/// Why applying failed.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// Only Linux and macOS for now.
    #[error("installing is not supported on this system yet")]
    Unsupported,
    /// Something could not be written.
    #[error("{path}: {source}")]
    Io {
        /// What.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Someone else wrote the file since it was planned, and now another edit is needed than the one that was shown.
    #[error("it changed since the plan was made, and needs another edit now: run the command again")]
    Changed,
    /// Someone else keeps writing the file.
    #[error("another program keeps writing it: close it and run the command again")]
    Busy,
    /// What was read back is not what was written.
    #[error("what is on disk is not what was written: another program wrote it at the same time")]
    ReadBack,
}

/// Does what the plan says, and nothing else. Files that are refused are skipped; where one file of a harness fails,
/// the others of that harness are put back, and the other harnesses go on.
///
/// # Errors
/// When the state folder, the lock, the backups or the manifest cannot be written: then no config was touched.
pub fn apply(host: &Host, plan: &Plan) -> Result<Receipt, ApplyError> {
    let _ = (host, plan);
    unimplemented!()
}
