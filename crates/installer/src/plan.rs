//! What would change, file by file. Planning reads and computes; it writes nothing and creates nothing.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use json_patch::Patch;
use sessionpipe_core::adapter::{Adapter, Found};
use sessionpipe_core::file::MAX_FILE;
use sessionpipe_core::host::Host;
use sessionpipe_core::ids;
use sessionpipe_core::wiring::{When, Wiring};
use similar::TextDiff;

use crate::disk::{self, Real};
use crate::edit::{self, Containers, Edited, Step};
use crate::manifest::{Manifest, ManifestError, Original, Record, path_of};
use crate::refusal::Refusal;

/// A harness to plan for.
pub struct HarnessInput<'a> {
    /// Its adapter.
    pub adapter: &'a dyn Adapter,
    /// What [`Adapter::found`] said.
    pub found: Found,
    /// What the person asked for beyond that.
    pub wishes: Wishes,
}

/// What `install` does only when it is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// [Options](sessionpipe_core::harness::InstallOption) of harnesses, by name.
    pub options: Vec<&'static str>,
    /// Replace also a file of ours that was edited by hand.
    pub force: bool,
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
    /// `up to date`, `nothing of ours in it`, or the refusal.
    pub summary: String,
    /// The text now; `None` where there is no file.
    pub before: Option<String>,
    /// The text then; `None` where there will be no file.
    pub after: Option<String>,
    /// RFC 6902: what the change means. TOML documents are seen as the JSON value that they equal.
    pub patch: Patch,
    /// The entries as text, to paste by hand. Empty when unwiring.
    pub paste: String,
    /// What must be true of it: enough to plan again where someone else wrote it in between.
    pub(crate) goal: Goal,
    /// Containers that the edit makes or empties; they are ours.
    pub(crate) created: Vec<String>,
    /// See [`Edited::is_loose`].
    is_loose: bool,
}

/// What must be true of one file.
#[derive(Clone, Debug)]
pub(crate) struct Goal {
    pub(crate) harness: &'static str,
    pub(crate) action: Action,
    pub(crate) steps: Vec<Step>,
    /// What an earlier install did to it.
    pub(crate) record: Option<Record>,
}

/// What reaching a [`Goal`] makes of a text.
#[derive(Debug)]
pub(crate) struct Outlook {
    pub(crate) edited: Edited,
    /// `None`: the file goes.
    pub(crate) after: Option<String>,
    /// Containers that are ours, as JSON pointers.
    pub(crate) created: Vec<String>,
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

    /// A unified diff, as `patch` takes it; empty where nothing changes. The home is `~` in its header. Of a file that is
    /// refused since it was edited by hand: what `--force` would do.
    #[must_use]
    pub fn diff(&self, host: &Host) -> String {
        if !self.changes() && self.state != FileState::Refused(Refusal::Edited) {
            return String::new();
        }
        let name = host.tilde(&self.path);
        let side = |text: &Option<String>, suffix: &str| match text {
            Some(_) => format!("{name}{suffix}"),
            None => "/dev/null".to_owned(),
        };
        let (old, new) = (side(&self.before, ""), side(&self.after, " (planned)"));
        let (before, after) = (self.before.as_deref().unwrap_or_default(), self.after.as_deref().unwrap_or_default());
        TextDiff::from_lines(before, after).unified_diff().header(&old, &new).to_string()
    }
}

/// What must change so that the wiring of these harnesses is true.
///
/// # Errors
/// When the manifest of an earlier install cannot be used.
pub fn plan_install(host: &Host, harnesses: &[HarnessInput<'_>]) -> Result<Plan, ManifestError> {
    let manifest = Manifest::read(host)?;
    let plan = |input: &HarnessInput<'_>| {
        let wiring = asked(input.adapter.wiring(host), |option, path| {
            input.wishes.options.contains(&option) || manifest.record(host, path).is_some_and(Record::is_wired)
        });
        let mut plan = HarnessPlan::new(input.adapter, &input.found);
        for (path, steps) in by_file(&wiring, input.wishes.force) {
            let record = manifest.record(host, path).cloned();
            plan.add(host, path, Goal { harness: plan.name, action: Action::Install, steps, record });
        }
        plan.notices.extend(sayings(host, input.adapter, &plan.files, &wiring));
        plan
    };
    let copy = |(from, to): &(PathBuf, PathBuf)| CopyPlan {
        from: Some(from.clone()),
        to: to.clone(),
        up_to_date: same_bytes(from, to),
    };
    let harnesses: Vec<HarnessPlan> = harnesses.iter().map(plan).collect();
    // Where nothing is wired nobody calls them.
    let copies = if harnesses.is_empty() { &[][..] } else { &host.program.copies };
    Ok(Plan { action: Action::Install, harnesses, copies: copies.iter().map(copy).collect() })
}

/// What must change so that nothing of ours is left in the configs of these harnesses. Works with and without a
/// manifest; files that only the manifest knows are undone too. `force`: also a file of ours that was edited by hand goes.
///
/// # Errors
/// When there is a manifest that cannot be used.
pub fn plan_uninstall(host: &Host, adapters: &[&dyn Adapter], force: bool) -> Result<Plan, ManifestError> {
    let manifest = Manifest::read(host)?;
    let plan = |adapter: &&dyn Adapter| {
        let wiring = asked(adapter.wiring(host), |_, _| true);
        let mut plan = HarnessPlan::new(*adapter, &adapter.found(host).unwrap_or_default());
        let mut files: Vec<(PathBuf, Vec<Step>)> = by_file(&wiring, force)
            .into_iter()
            .map(|(path, steps)| (path.to_owned(), steps.iter().rev().map(Step::inverse).collect()))
            .collect();
        for (key, record) in manifest.files.iter().filter(|(_, r)| r.harness == plan.name) {
            let path = path_of(host, key);
            if !files.iter().any(|(known, _)| *known == path) {
                files.push((path, record.undo.iter().map(Step::from).collect()));
            }
        }
        for (path, steps) in files {
            let record = manifest.record(host, &path).cloned();
            plan.add(host, &path, Goal { harness: plan.name, action: Action::Uninstall, steps, record });
        }
        plan
    };
    let harnesses: Vec<HarnessPlan> = adapters.iter().map(plan).collect();
    // A harness that stays wired needs the program.
    let others = manifest.files.values().any(|r| !harnesses.iter().any(|h| h.name == r.harness));
    let copies = if others { BTreeSet::new() } else { manifest.copies.iter().cloned().collect::<BTreeSet<_>>() };
    let copy = |to: PathBuf| CopyPlan { from: None, up_to_date: fs::symlink_metadata(&to).is_err(), to };
    Ok(Plan { action: Action::Uninstall, harnesses, copies: copies.into_iter().map(copy).collect() })
}

/// What a person would paste to wire a harness by hand, file by file; with the options of the harness that are named.
#[must_use]
pub fn entries_to_paste(host: &Host, adapter: &dyn Adapter, options: &[&str]) -> Vec<Paste> {
    let wiring = asked(adapter.wiring(host), |option, _| options.contains(&option));
    let pastes = by_file(&wiring, false)
        .into_iter()
        .map(|(path, steps)| Paste { path: path.to_owned(), text: edit::paste(&steps, path) });
    pastes.filter(|paste| !paste.text.is_empty()).collect()
}

/// What is true without being asked for, and of what needs to be asked for, that which `keep` takes.
pub(crate) fn asked(wiring: Vec<Wiring>, keep: impl Fn(&str, &Path) -> bool) -> Vec<Wiring> {
    let is_asked = |wiring: &Wiring| match (wiring, wiring.file()) {
        (Wiring::OnRequest { option, .. }, Some(path)) => keep(option, path),
        _ => true,
    };
    wiring.into_iter().filter(is_asked).collect()
}

/// What must be true of each file, in the order in which an adapter names them. What must go comes last: until then it
/// tells how the lines of the document end.
pub(crate) fn by_file(wiring: &[Wiring], force: bool) -> Vec<(&Path, Vec<Step>)> {
    let mut files: Vec<(&Path, Vec<Step>)> = Vec::new();
    for wiring in wiring {
        let Some(path) = wiring.file() else { continue };
        for step in Step::install(wiring, force) {
            match files.iter_mut().find(|(known, _)| known == path) {
                Some((_, steps)) if steps.contains(&step) => {}
                Some((_, steps)) => steps.push(step),
                None => files.push((path, vec![step])),
            }
        }
    }
    for (_, steps) in &mut files {
        steps.sort_by_key(|step| *step == Step::AbsentTomlHooks);
    }
    files
}

/// The sentences for the person: the adapter's, and one for each file that the harness itself cannot read.
fn sayings(host: &Host, adapter: &dyn Adapter, files: &[FilePlan], wiring: &[Wiring]) -> Vec<String> {
    let mut sayings = Vec::new();
    for file in files {
        let is_strict = file.goal.steps.iter().any(|s| matches!(s, Step::Hooks { jsonc: false, .. }));
        if is_strict && file.is_loose {
            sayings.push(format!(
                "{} ignores {}, since it holds comments or trailing commas: remove those for any of its settings to count",
                adapter.harness().product,
                host.tilde(&file.path)
            ));
        }
    }
    let is_changed = files.iter().any(FilePlan::changes);
    for wiring in wiring {
        match wiring {
            Wiring::Notice { when: When::Always, text } => sayings.push(text.clone()),
            Wiring::Notice { when: When::Changed, text } if is_changed => sayings.push(text.clone()),
            _ => {}
        }
    }
    sayings
}

fn same_bytes(a: &Path, b: &Path) -> bool {
    let len = |path: &Path| fs::metadata(path).map(|meta| meta.len()).ok();
    len(a).is_some_and(|length| len(b) == Some(length))
        && fs::read(a).ok().is_some_and(|bytes| fs::read(b).is_ok_and(|other| other == bytes))
}

impl HarnessPlan {
    fn new(adapter: &dyn Adapter, found: &Found) -> Self {
        Self {
            name: adapter.harness().name,
            version: found.version.clone(),
            files: Vec::new(),
            notices: Vec::new(),
            left_alone: found.left_alone.clone(),
        }
    }

    /// Plans one file; a second path to the same real file is left out.
    fn add(&mut self, host: &Host, path: &Path, goal: Goal) {
        let file = FilePlan::new(host, path, goal);
        if !self.files.iter().any(|known| known.target == file.target) {
            self.files.push(file);
        }
    }
}

impl FilePlan {
    fn new(host: &Host, path: &Path, goal: Goal) -> Self {
        let mut plan = Self {
            path: path.to_owned(),
            target: path.to_owned(),
            state: FileState::UpToDate,
            summary: String::new(),
            before: None,
            after: None,
            patch: Patch(Vec::new()),
            paste: edit::paste(&goal.steps, path),
            goal,
            created: Vec::new(),
            is_loose: false,
        };
        if let Err(refusal) = plan.look(host) {
            plan.summary = format!("refused: {refusal}");
            plan.after = match refusal {
                Refusal::Edited => plan.goal.forced().outlook(host, plan.before.as_deref()).map_or(None, |o| o.after),
                _ => plan.before.clone(),
            };
            plan.state = FileState::Refused(refusal);
        }
        plan
    }

    fn look(&mut self, host: &Host) -> Result<(), Refusal> {
        let real = disk::locate(&self.path)?;
        self.target.clone_from(&real.target);
        self.before = disk::read(&real)?;
        let outlook = self.goal.outlook(host, self.before.as_deref())?;
        self.is_loose = outlook.edited.is_loose;
        self.state = match (&self.before, &outlook.after) {
            (before, after) if before == after => FileState::UpToDate,
            (None, _) => FileState::Create,
            (Some(_), Some(_)) => FileState::Change,
            (Some(_), None) => FileState::Remove,
        };
        if self.changes() {
            disk::may_write(&real)?;
        }
        // It must be readable again.
        let size = outlook.after.as_ref().map_or(0, |after| after.len() as u64);
        if size > MAX_FILE {
            return Err(Refusal::TooLarge { size, max: MAX_FILE });
        }
        self.summary = summary(self.goal.action, &self.state, &outlook.edited);
        self.after = outlook.after;
        self.patch = outlook.edited.patch;
        self.created = outlook.created;
        Ok(())
    }

    /// Where the path leads now, and what is there.
    pub(crate) fn reread(&self) -> Result<(Real, Option<String>), Refusal> {
        let real = disk::locate(&self.path)?;
        let text = disk::read(&real)?;
        Ok((real, text))
    }
}

impl Goal {
    /// What reaching it makes of a text.
    pub(crate) fn outlook(&self, host: &Host, before: Option<&str>) -> Result<Outlook, Refusal> {
        match self.action {
            Action::Install => self.install(before),
            Action::Uninstall => self.uninstall(host, before),
        }
    }

    /// The same, whatever the person did to a file of ours.
    fn forced(&self) -> Self {
        let mut goal = self.clone();
        for step in &mut goal.steps {
            if let Step::DropIn { force, .. } | Step::Text { force, .. } = step {
                *force = true;
            }
        }
        goal
    }

    /// How many handlers of ours a text holds.
    pub(crate) fn handlers(&self, text: Option<&str>) -> usize {
        let inverse: Vec<Step> = self.steps.iter().rev().map(Step::inverse).collect();
        edit::run(&inverse, self.harness, &Containers::All, text).map_or(0, |edited| edited.handlers)
    }

    fn install(&self, before: Option<&str>) -> Result<Outlook, Refusal> {
        let edited = edit::run(&self.steps, self.harness, &Containers::All, before)?;
        let is_noop = edited.patch.0.is_empty();
        let goes = self.steps.iter().all(|step| matches!(step, Step::Text { body: None, .. }));
        let after = match is_noop {
            true => before.map(str::to_owned),
            false => Some(edited.text.clone()).filter(|_| !goes),
        };
        let mut created = edited.created.clone();
        if !is_noop && edited.handlers > 0 {
            // What holds nothing but ours already is ours, unless an earlier install knows better.
            let known = self.record.as_ref().map_or(Containers::All, |r| Containers::Only(r.created.clone()));
            let inverse: Vec<Step> = self.steps.iter().rev().map(Step::inverse).collect();
            let undone = edit::run(&inverse, self.harness, &known, before)?;
            created.extend(undone.emptied.into_iter().filter(|p| !edited.created.contains(p)));
        }
        Ok(Outlook { edited, after, created })
    }

    fn uninstall(&self, host: &Host, before: Option<&str>) -> Result<Outlook, Refusal> {
        let containers = self.record.as_ref().filter(|r| r.after.is_some());
        let containers = containers.map_or(Containers::All, |r| Containers::Only(r.created.clone()));
        let undo = |text: Option<&str>| edit::run(&self.steps, self.harness, &containers, text);
        let edited = undo(before)?;
        let mut after = before.map(|_| edited.text.clone());
        let is_whole = |step: &Step| matches!(step, Step::DropIn { .. } | Step::Text { .. });
        if self.steps.iter().any(is_whole) && !edited.patch.0.is_empty() {
            // The file was ours; a blank one that stood there before comes back.
            let blank = self.record.as_ref().and_then(|record| record.backup(host));
            after = blank.filter(|text| text.trim().is_empty());
            return Ok(Outlook { edited, after, created: Vec::new() });
        }
        if let (Some(record), Some(before)) = (&self.record, before) {
            if record.after.as_deref() == Some(&ids::hex(before.as_bytes())) {
                // Untouched since. What an even older version of ours left in the original does not come back.
                match (&record.original, record.backup(host)) {
                    (Some(Original::Absent), _) => after = None,
                    (_, Some(original)) => {
                        let original = undo(Some(&original))?.text;
                        if edit::value(&self.steps, &original) == edit::value(&self.steps, &edited.text) {
                            after = Some(original);
                        }
                    }
                    _ => {}
                }
            }
            if record.made && !edited.patch.0.is_empty() && edit::is_empty(&self.steps, &edited.text) {
                after = None;
            }
        }
        Ok(Outlook { edited, after, created: Vec::new() })
    }
}

fn count(n: usize, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") }
}

fn summary(action: Action, state: &FileState, edited: &Edited) -> String {
    let tally = edited.tally;
    match state {
        FileState::UpToDate if action == Action::Uninstall => return "nothing of ours in it".to_owned(),
        FileState::UpToDate => return "up to date".to_owned(),
        FileState::Remove => return "ours alone: the file goes".to_owned(),
        FileState::Create if edited.remarks.is_empty() => return format!("new file, {}", count(tally.added, "hook")),
        _ => {}
    }
    let mut parts: Vec<String> = edited.remarks.clone();
    if parts.is_empty() {
        for (n, what) in [(tally.added, "to add"), (tally.updated, "to update"), (tally.removed, "to remove")] {
            if n > 0 {
                let things = if parts.is_empty() { count(n, "hook") } else { n.to_string() };
                parts.push(format!("{things} {what}"));
            }
        }
    } else if matches!(state, FileState::Create) {
        parts.insert(0, "new file".to_owned());
    }
    if parts.is_empty() { "to be put in order".to_owned() } else { parts.join(", ") }
}
