//! What the files hold now, compared with what must be true and with the manifest.

use std::path::PathBuf;

use sessionpipe_core::adapter::Adapter;
use sessionpipe_core::host::Host;

use crate::manifest::ManifestError;
use crate::refusal::Refusal;

/// One harness.
#[derive(Clone, Debug)]
pub struct HarnessStatus {
    /// `harness.name`.
    pub name: &'static str,
    /// Its files.
    pub files: Vec<FileStatus>,
}

/// One file.
#[derive(Clone, Debug)]
pub struct FileStatus {
    /// The path that the harness reads.
    pub path: PathBuf,
    /// The real file.
    pub target: PathBuf,
    /// How it is wired.
    pub state: WiredState,
    /// How many handlers of ours it holds.
    pub handlers: usize,
    /// When `install` last wired it, RFC 3339.
    pub installed_at: Option<String>,
    /// Programs that handlers of ours name and that cannot be run.
    pub dead: Vec<String>,
}

/// How a file is wired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WiredState {
    /// As it must be.
    Wired,
    /// Something of ours is there, but not as it must be.
    Stale(Vec<Fault>),
    /// Nothing of ours is there, and nothing ever was.
    Missing,
    /// Ours were there and are gone.
    Gone {
        /// When they were put there, RFC 3339.
        since: String,
        /// Whether the file's other keys are still there.
        others_intact: bool,
    },
    /// It cannot be read or edited.
    Refused(Refusal),
}

/// What is not as it must be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A handler of ours names another program than the one that must be named.
    #[error("{0} names an old path")]
    OldPath(String),
    /// More than one handler of ours.
    #[error("{0} has more than one handler of ours")]
    Duplicate(String),
    /// A handler of ours at a place where it does not run, or runs too often.
    #[error("{0} is in the wrong place")]
    Misplaced(String),
    /// No handler of ours.
    #[error("{0} is missing")]
    Missing(String),
    /// A handler of ours for an event that is not wired any more.
    #[error("{0} is not wired any more")]
    Obsolete(String),
    /// A handler of ours that differs in something else than the program.
    #[error("{0} differs")]
    Differs(String),
}

/// What the files of these harnesses hold now.
///
/// # Errors
/// When there is a manifest that cannot be used.
pub fn status(host: &Host, adapters: &[&dyn Adapter]) -> Result<Vec<HarnessStatus>, ManifestError> {
    let _ = (host, adapters);
    unimplemented!()
}
