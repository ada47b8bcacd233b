//! What would change, file by file. Planning reads and computes; it writes nothing and creates nothing.

use std::path::PathBuf;

use sessionpipe_core::adapter::{Adapter, Found};
use sessionpipe_core::host::Host;

use crate::manifest::ManifestError;
use crate::refusal::Refusal;

/// Larger files are refused: no config is that large, and a plan holds the text several times.
pub const MAX_FILE: u64 = 64 << 20;

/// A harness to plan for.
pub struct HarnessInput<'a> {
    /// Its adapter.
    pub adapter: &'a dyn Adapter,
    /// What [`Adapter::found`] said.
    pub found: Found,
}

/// What would change.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Wire or unwire.
    pub action: Action,
    /// In the order of the input.
    pub harnesses: Vec<HarnessPlan>,
    /// Our own programs, copied before configs name them (install) or removed after (uninstall).
    pub copies: Vec<CopyPlan>,
}

/// Wire or unwire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Make the wiring true.
    Install,
    /// Undo it.
    Uninstall,
}

/// What would change for one harness.
#[derive(Clone, Debug)]
pub struct HarnessPlan {
    /// `harness.name`.
    pub name: &'static str,
    /// The version that was found.
    pub version: Option<String>,
    /// Its files, each real file once.
    pub files: Vec<FilePlan>,
    /// Sentences that the person must read once.
    pub notices: Vec<String>,
    /// Folders that look like its own and are another tool's.
    pub left_alone: Vec<PathBuf>,
}

/// What would change in one file.
#[derive(Clone, Debug)]
pub struct FilePlan {
    /// The path that the harness reads.
    pub path: PathBuf,
    /// The real file, links followed. The same as `path` where there is no link.
    pub target: PathBuf,
    /// What would be done.
    pub state: FileState,
    /// In a few words: `16 hooks to add`, `new file, 16 hooks`, `notify: ours first, yours chained after it`,
    /// `up to date`, or the refusal.
    pub summary: String,
    /// The text now; `None` where there is no file.
    pub before: Option<String>,
    /// The text then; `None` where there will be no file.
    pub after: Option<String>,
    /// RFC 6902: what the change means. TOML documents are seen as the JSON value that they equal.
    pub patch: json_patch::Patch,
    /// The entries as text, to paste by hand. Empty when unwiring.
    pub paste: String,
}

/// What would be done with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileState {
    /// Nothing: it is as it must be.
    UpToDate,
    /// There is no such file yet.
    Create,
    /// An edit.
    Change,
    /// We made it, and nothing else is in it.
    Remove,
    /// It is left alone.
    Refused(Refusal),
}

/// A program of ours that is copied to a stable place, or removed from there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyPlan {
    /// The file to copy; `None` when unwiring.
    pub from: Option<PathBuf>,
    /// Where to.
    pub to: PathBuf,
    /// The copy is there already, byte for byte (or, when unwiring, gone already).
    pub up_to_date: bool,
}

/// Entries to paste by hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paste {
    /// The file to paste them into.
    pub path: PathBuf,
    /// The text.
    pub text: String,
}

impl Plan {
    /// The files that would be written or removed.
    pub fn changes(&self) -> impl Iterator<Item = &FilePlan> {
        self.files().filter(|f| f.changes())
    }

    /// The files that are refused, with the reason.
    pub fn refused(&self) -> impl Iterator<Item = (&FilePlan, &Refusal)> {
        self.files().filter_map(|f| match &f.state {
            FileState::Refused(refusal) => Some((f, refusal)),
            _ => None,
        })
    }

    /// Every file.
    pub fn files(&self) -> impl Iterator<Item = &FilePlan> {
        self.harnesses.iter().flat_map(|h| &h.files)
    }

    /// Whether applying it would do nothing.
    #[must_use]
    pub fn is_noop(&self) -> bool {
        self.changes().next().is_none() && self.copies.iter().all(|c| c.up_to_date)
    }
}

impl FilePlan {
    /// Whether applying writes or removes the file.
    #[must_use]
    pub fn changes(&self) -> bool {
        matches!(self.state, FileState::Create | FileState::Change | FileState::Remove)
    }

    /// A unified diff, as `patch` takes it; empty where nothing changes. The home is `~` in its header.
    #[must_use]
    pub fn diff(&self, host: &Host) -> String {
        let _ = host;
        String::new()
    }
}

/// What must change so that the wiring of these harnesses is true.
///
/// # Errors
/// When the manifest of an earlier install cannot be used.
pub fn plan_install(host: &Host, harnesses: &[HarnessInput<'_>]) -> Result<Plan, ManifestError> {
    let _ = (host, harnesses);
    unimplemented!()
}

/// What must change so that nothing of ours is left in the configs of these harnesses. Works with and without a
/// manifest; files that only the manifest knows are undone too.
///
/// # Errors
/// When there is a manifest that cannot be used.
pub fn plan_uninstall(host: &Host, adapters: &[&dyn Adapter]) -> Result<Plan, ManifestError> {
    let _ = (host, adapters);
    unimplemented!()
}

/// What a person would paste to wire a harness by hand, file by file. Reads nothing.
#[must_use]
pub fn entries_to_paste(host: &Host, adapter: &dyn Adapter) -> Vec<Paste> {
    let _ = (host, adapter);
    unimplemented!()
}
