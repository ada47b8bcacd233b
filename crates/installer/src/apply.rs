//! Doing what a plan says: a compare-and-swap per file, a rollback per harness, and a receipt of what is on disk.

use std::path::{Path, PathBuf};

use sessionpipe_core::event::rfc3339;
use sessionpipe_core::host::Host;
use sessionpipe_core::ids;

use crate::disk;
use crate::edit;
use crate::manifest::{Manifest, ManifestError, Original, Record, VERSION};
use crate::plan::{Action, FilePlan, FileState, HarnessPlan, Plan};
use crate::refusal::Refusal;
use crate::swap::{
    Lock, SwapError, ensure_private_dir, remove_dirs, remove_file, remove_leftovers, swap, write_private,
};

/// How often a file is planned again when others write it at the same moment.
const MAX_TRIES: usize = 5;

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
            .all(|f| matches!(f.outcome, Outcome::UpToDate | Outcome::Created | Outcome::Changed | Outcome::Removed))
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
    /// It was not tried, since another file of the harness failed.
    Skipped,
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
    /// An earlier manifest cannot be used.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The file can no longer be edited as planned.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Someone else wrote the file since it was planned, and now another edit is needed than the one that was shown.
    #[error("it changed since the plan was made, and needs another edit now: run the command again")]
    Changed,
    /// Someone else keeps writing the file.
    #[error("another program keeps writing it: close it and run the command again")]
    Busy,
    /// What was read back is not what was written.
    #[error("what is on disk is not what was written: another program wrote it at the same time")]
    ReadBack,
    /// Every config is as its receipt would say, but our own record or copies could not be put in order after it. The
    /// record then says more than is true, which the next run sets right.
    #[error("the configs are done, but our own files are not in order: {0}")]
    Untidy(#[source] Box<ApplyError>),
}

/// Does what the plan says, and nothing else. Files that are refused are skipped; where one file of a harness fails,
/// the others of that harness are put back, and the other harnesses go on.
///
/// # Errors
/// [`ApplyError::Untidy`] after the configs are done. Any other when the state folder, the lock, a copy of our programs
/// or the manifest cannot be used: then no config was touched.
pub fn apply(host: &Host, plan: &Plan) -> Result<Receipt, ApplyError> {
    let lock = host.dirs.state.join("install.lock");
    // A killed uninstall may have left its lock.
    let is_gone = || Ok::<_, ManifestError>(Manifest::read(host)?.is_empty() && !lock.exists());
    if plan.is_noop() && (plan.action == Action::Install || is_gone()?) {
        let harnesses = plan.harnesses.iter().map(untouched).collect();
        return Ok(Receipt { action: plan.action, harnesses, copies: Vec::new() });
    }
    let lock = Lock::take(&lock)?;
    [&host.dirs.state, &host.dirs.backups(), &host.dirs.bin()].into_iter().for_each(|folder| remove_leftovers(folder));
    let mut run = Run { host, manifest: Manifest::read(host)?, late: Ok(()) };
    run.manifest.version = VERSION;
    let mut copies = Vec::new();
    if plan.action == Action::Install {
        copies.extend(run.copy(plan)?);
    }
    let harnesses = plan.harnesses.iter().map(|harness| run.harness(plan.action, harness)).collect();
    let untidy = |error| ApplyError::Untidy(Box::new(error));
    std::mem::replace(&mut run.late, Ok(())).map_err(untidy)?;
    if plan.action == Action::Uninstall {
        copies.extend(run.remove_copies(plan).map_err(untidy)?);
    }
    run.tidy(lock).map_err(untidy)?;
    Ok(Receipt { action: plan.action, harnesses, copies })
}

/// The receipt of a harness for which nothing is to be done.
fn untouched(harness: &HarnessPlan) -> HarnessReceipt {
    let file = |file: &FilePlan| match &file.state {
        FileState::Refused(refusal) => receipt(file, Outcome::Refused(refusal.clone())),
        _ => receipt(file, Outcome::UpToDate),
    };
    HarnessReceipt { name: harness.name, files: harness.files.iter().map(file).collect() }
}

/// What is on disk now, whatever was meant to be.
fn receipt(file: &FilePlan, outcome: Outcome) -> FileReceipt {
    let text = file.reread().ok().and_then(|(_, text)| text);
    let handlers = file.goal.handlers(text.as_deref());
    FileReceipt { path: file.path.clone(), target: file.target.clone(), outcome, handlers }
}

/// A change that was made, to be taken back if need be.
struct Done {
    index: usize,
    path: PathBuf,
    before: Option<String>,
    after: Option<String>,
    dirs: Vec<PathBuf>,
}

struct Run<'a> {
    host: &'a Host,
    manifest: Manifest,
    /// Whether the manifest could be written after a config was.
    late: Result<(), ApplyError>,
}

impl Run<'_> {
    fn harness(&mut self, action: Action, plan: &HarnessPlan) -> HarnessReceipt {
        let mut done: Vec<Done> = Vec::new();
        let mut outcomes: Vec<Outcome> = Vec::new();
        let earlier = self.manifest.clone();
        for (index, file) in plan.files.iter().enumerate() {
            file.target.parent().into_iter().for_each(remove_leftovers);
            let outcome = match &file.state {
                FileState::Refused(refusal) => Outcome::Refused(refusal.clone()),
                FileState::UpToDate => Outcome::UpToDate,
                _ => match self.file(action, file) {
                    Ok(None) => Outcome::UpToDate,
                    Ok(Some(change)) => {
                        let outcome = match (&change.before, &change.after) {
                            (None, _) => Outcome::Created,
                            (_, None) => Outcome::Removed,
                            _ => Outcome::Changed,
                        };
                        done.push(Done { index, ..change });
                        outcome
                    }
                    Err(error) => Outcome::Failed(error),
                },
            };
            let failed = matches!(outcome, Outcome::Failed(_));
            outcomes.push(outcome);
            if failed {
                self.roll_back(done, &mut outcomes);
                outcomes.resize_with(plan.files.len(), || Outcome::Skipped);
                self.manifest.clone_from(&earlier);
                self.save_late();
                break;
            }
        }
        if action == Action::Uninstall {
            let is_done =
                |outcome: &Outcome| matches!(outcome, Outcome::UpToDate | Outcome::Changed | Outcome::Removed);
            for (file, _) in plan.files.iter().zip(&outcomes).filter(|(_, outcome)| is_done(outcome)) {
                self.manifest.files.remove(&self.host.tilde(&file.path));
            }
            if self.manifest != earlier {
                self.save_late();
            }
        }
        let files = plan.files.iter().zip(outcomes).map(|(file, outcome)| receipt(file, outcome)).collect();
        HarnessReceipt { name: plan.name, files }
    }

    fn save_late(&mut self) {
        let saved = self.save();
        if self.late.is_ok() {
            self.late = saved;
        }
    }

    /// Puts back what was changed, last first. What someone else wrote since is left as it is.
    fn roll_back(&self, done: Vec<Done>, outcomes: &mut [Outcome]) {
        for change in done.into_iter().rev() {
            let undone = swap(&change.path, change.after.as_deref(), change.before.as_deref());
            if undone.is_ok() {
                remove_dirs(&change.dirs);
                if let Some(outcome) = outcomes.get_mut(change.index) {
                    *outcome = Outcome::RolledBack;
                }
            }
        }
    }

    /// The compare-and-swap of one file; `None` where nothing is to be done (any more).
    fn file(&mut self, action: Action, file: &FilePlan) -> Result<Option<Done>, ApplyError> {
        for _ in 0..MAX_TRIES {
            let (real, current) = file.reread()?;
            let (after, created) = if current == file.before && real.target == file.target {
                (file.after.clone(), file.created.clone())
            } else {
                let outlook = file.goal.outlook(self.host, current.as_deref())?;
                if meaning(file, outlook.after.as_deref()) != meaning(file, file.after.as_deref()) {
                    return Err(ApplyError::Changed);
                }
                (outlook.after, outlook.created)
            };
            if after == current {
                return Ok(None);
            }
            disk::may_write(&real)?;
            if action == Action::Install {
                self.record(file, current.as_deref(), after.as_deref(), created, &real.new_dirs)?;
            }
            match swap(&file.path, current.as_deref(), after.as_deref()) {
                Ok(()) => {}
                Err(SwapError::Changed) => continue,
                Err(SwapError::Refused(refusal)) => return Err(refusal.into()),
                Err(SwapError::Io(source)) => {
                    return Err(ApplyError::Io { path: real.target, source });
                }
            }
            let change = Done { index: 0, path: file.path.clone(), before: current, after, dirs: real.new_dirs };
            let (_, now) = file.reread()?;
            if now != change.after {
                return Err(ApplyError::ReadBack);
            }
            if action == Action::Uninstall && change.after.is_none() {
                let made = file.goal.record.as_ref().map_or(&[][..], |record| &record.dirs);
                remove_dirs(made);
            }
            return Ok(Some(change));
        }
        Err(ApplyError::Busy)
    }

    /// Keeps the original bytes and says in the manifest what will be done, before it is.
    fn record(
        &mut self,
        file: &FilePlan,
        before: Option<&str>,
        after: Option<&str>,
        created: Vec<String>,
        dirs: &[PathBuf],
    ) -> Result<(), ApplyError> {
        let key = self.host.tilde(&file.path);
        let hash = before.map(|text| ids::hex(text.as_bytes()));
        let earlier = self.manifest.files.remove(&key).unwrap_or_default();
        // As long as nobody touched the file, the original stays the one from before the first install.
        let is_ours = hash.is_some() && hash == earlier.after && earlier.original.is_some();
        let original = match (&hash, before) {
            _ if is_ours => earlier.original,
            (Some(hash), Some(text)) => {
                let store = self.host.dirs.backups();
                ensure_private_dir(&store)?;
                write_private(&store.join(hash), text.as_bytes(), 0o600)?;
                Some(Original::Backup(hash.clone()))
            }
            _ => Some(Original::Absent),
        };
        let mut all_dirs = earlier.dirs;
        all_dirs.extend(dirs.iter().filter(|dir| !all_dirs.contains(dir)).cloned().collect::<Vec<_>>());
        let mut all_created = if is_ours { earlier.created } else { Vec::new() };
        all_created.extend(created.into_iter().filter(|p| !all_created.contains(p)).collect::<Vec<_>>());
        let record = Record {
            harness: file.goal.harness.to_owned(),
            at: rfc3339(self.host.now_ms),
            events: file.goal.steps.iter().flat_map(edit::Step::events).collect(),
            after: after.map(|text| ids::hex(text.as_bytes())),
            original,
            made: earlier.made || before.is_none(),
            created: all_created,
            dirs: all_dirs,
            undo: file.goal.steps.iter().filter_map(edit::Step::undo).collect(),
        };
        self.manifest.files.insert(key, record);
        self.save()
    }

    fn save(&self) -> Result<(), ApplyError> {
        let path = self.host.dirs.manifest();
        let mut bytes = serde_json::to_vec_pretty(&self.manifest)
            .map_err(|error| ApplyError::Io { path: path.clone(), source: error.into() })?;
        bytes.push(b'\n');
        write_private(&path, &bytes, 0o600)
    }

    /// Copies our programs to where the configs will name them.
    fn copy(&mut self, plan: &Plan) -> Result<Vec<PathBuf>, ApplyError> {
        let mut made = Vec::new();
        for copy in &plan.copies {
            let Some(from) = &copy.from else { continue };
            if !self.manifest.copies.contains(&copy.to) {
                self.manifest.copies.push(copy.to.clone());
                self.save()?;
            }
            if copy.up_to_date {
                continue;
            }
            if let Some(folder) = copy.to.parent() {
                ensure_private_dir(folder)?;
            }
            let bytes = std::fs::read(from).map_err(|source| ApplyError::Io { path: from.clone(), source })?;
            write_private(&copy.to, &bytes, 0o700)?;
            made.push(copy.to.clone());
        }
        Ok(made)
    }

    fn remove_copies(&mut self, plan: &Plan) -> Result<Vec<PathBuf>, ApplyError> {
        let mut gone = Vec::new();
        // As long as a config may still name it, it stays.
        if self.manifest.files.is_empty() {
            for copy in &plan.copies {
                remove_file(&copy.to)?;
                self.manifest.copies.retain(|known| *known != copy.to);
                gone.push(copy.to.clone());
            }
            if !gone.is_empty() {
                remove_dirs(&[self.host.dirs.bin()]);
                self.save()?;
            }
        }
        Ok(gone)
    }

    /// Drops backups that no record names, and everything once nothing is left to undo.
    fn tidy(self, lock: Lock) -> Result<(), ApplyError> {
        let store = self.host.dirs.backups();
        let is_named = |name: &str| {
            let backup = Original::Backup(name.to_owned());
            self.manifest.files.values().any(|record| record.original.as_ref() == Some(&backup))
        };
        for entry in std::fs::read_dir(&store).into_iter().flatten().flatten() {
            if !entry.file_name().to_str().is_some_and(is_named) {
                remove_file(&entry.path())?;
            }
        }
        if self.manifest.is_empty() {
            remove_file(&self.host.dirs.manifest())?;
            remove_dirs(&[store]);
            lock.remove();
            remove_dirs(std::slice::from_ref(&self.host.dirs.state));
        }
        Ok(())
    }
}

/// What of ours a text holds, in an order of its own.
fn meaning(file: &FilePlan, text: Option<&str>) -> Vec<(String, String)> {
    let entries = edit::entries(&file.goal.steps, file.goal.harness, text);
    let mut entries: Vec<_> = entries.into_iter().map(|(name, value)| (name, value.to_string())).collect();
    entries.sort();
    entries
}

impl ApplyError {
    /// An [`ApplyError::Io`] about a path.
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        |source| Self::Io { path, source }
    }
}
