//! What the files hold now, compared with what must be true and with the manifest.

use std::path::{Path, PathBuf};

use serde_json::Value;
use sessionpipe_core::adapter::Adapter;
use sessionpipe_core::command;
use sessionpipe_core::host::Host;

use crate::disk;
use crate::edit::{self, Containers, Step};
use crate::manifest::{Manifest, ManifestError, Record};
use crate::plan::{asked, by_file};
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
    let manifest = Manifest::read(host)?;
    let one = |adapter: &&dyn Adapter| {
        let name = adapter.harness().name;
        let mut files: Vec<FileStatus> = Vec::new();
        let is_kept = |_: &str, path: &Path| manifest.record(host, path).is_some_and(Record::is_wired);
        for (path, steps) in by_file(&asked(adapter.wiring(host), is_kept), false) {
            let file = file(host, name, path, &steps, manifest.record(host, path));
            if !files.iter().any(|known| known.target == file.target) {
                files.push(file);
            }
        }
        HarnessStatus { name, files }
    };
    Ok(adapters.iter().map(one).collect())
}

fn file(host: &Host, harness: &'static str, path: &Path, steps: &[Step], record: Option<&Record>) -> FileStatus {
    let mut status = FileStatus {
        path: path.to_owned(),
        target: path.to_owned(),
        state: WiredState::Missing,
        handlers: 0,
        installed_at: record.map(|r| r.at.clone()),
        dead: Vec::new(),
    };
    let looked = disk::locate(path).and_then(|real| {
        status.target.clone_from(&real.target);
        let text = disk::read(&real)?;
        let edited = edit::run(steps, harness, &Containers::All, text.as_deref())?;
        Ok((real, text, edited))
    });
    let (real, text, edited) = match looked {
        Ok(looked) => looked,
        Err(refusal) => {
            status.state = WiredState::Refused(refusal);
            return status;
        }
    };
    status.handlers = edited.handlers;
    status.dead = edited.programs.into_iter().filter(|program| !command::is_runnable(program)).collect();
    status.dead.sort();
    status.dead.dedup();
    let wired_before = record.filter(|r| r.is_wired());
    status.state = match (edited.patch.0.is_empty(), edited.handlers, wired_before) {
        (true, ..) => WiredState::Wired,
        (false, 1.., _) => WiredState::Stale(edited.faults),
        (false, 0, Some(record)) => WiredState::Gone {
            since: record.at.clone(),
            others_intact: text.is_some_and(|text| others_intact(host, steps, record, &text)),
        },
        (false, 0, None) => match disk::may_write(&real) {
            Err(refusal) => WiredState::Refused(refusal),
            Ok(()) => WiredState::Missing,
        },
    };
    status
}

/// Whether the keys that stood beside ours are still there as they were; where no backup tells how, whether any are.
fn others_intact(host: &Host, steps: &[Step], record: &Record, text: &str) -> bool {
    let Some(now) = edit::value(steps, text) else { return false };
    let Some(original) = record.backup(host).and_then(|original| edit::value(steps, &original)) else {
        return now.as_object().is_some_and(|object| !object.is_empty());
    };
    let is_ours = |key: &str| {
        steps.iter().any(|step| match step {
            // Where the document itself is the map, its lists are the events.
            Step::Hooks { at, .. } => match at.first() {
                Some(first) => first == key,
                None => now.get(key).or_else(|| original.get(key)).is_some_and(Value::is_array),
            },
            Step::Members { members, .. } => members.iter().any(|(ours, _)| ours == key),
            Step::DropIn { .. } | Step::Text { .. } => true,
            Step::TopLevel { key: ours, .. } => ours == key,
            Step::AbsentTomlHooks => key == "hooks",
        })
    };
    let mut others = original.as_object().into_iter().flatten().filter(|(key, _)| !is_ours(key));
    others.all(|(key, value)| now.get(key) == Some(value))
}
