//! `install --json` and `uninstall --json`

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use sessionpipe_core::host::Host;
use sessionpipe_installer::{
    Action, CopyPlan, FilePlan, FileReceipt, FileState, HarnessPlan, Outcome as FileOutcome, Place, Plan, Receipt,
};

/// What `install --json` and `uninstall --json` print: the plan, or the receipt when it was applied.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "sessionpipe install --json, sessionpipe uninstall --json")]
pub struct Document {
    /// The version of this format.
    #[schemars(extend("const" = 1))]
    version: u32,
    /// What it is about.
    action: &'static str,
    /// Whether it was applied: then each file says what came of it.
    applied: bool,
    /// Every harness.
    harnesses: Vec<HarnessDocument>,
    /// Programs of ours that are copied to a stable place, or removed from there.
    copies: Vec<CopyDocument>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct HarnessDocument {
    /// `harness.name`
    name: &'static str,
    /// Its version, where a file tells.
    harness_version: Option<String>,
    files: Vec<FileDocument>,
    /// Sentences that the person must read once.
    notices: Vec<String>,
    /// Folders that look like its own and belong to another tool.
    left_alone: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FileDocument {
    /// The path that the harness reads.
    path: String,
    /// The real file, links followed.
    target: String,
    /// What is planned.
    state: PlannedState,
    /// Why, in a few words.
    reason: String,
    /// The place that a refusal is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<PlaceDocument>,
    /// A unified diff, as `patch` takes it; empty where nothing changes.
    diff: String,
    /// RFC 6902: what the change means. A TOML document is seen as the JSON value that it equals.
    patch: Vec<Value>,
    /// What came of it, read back from disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<DoneState>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// How many entries of ours are in the file now.
    #[serde(skip_serializing_if = "Option::is_none")]
    handlers: Option<usize>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PlaceDocument {
    /// From 1.
    line: usize,
    /// From 1, in characters.
    column: usize,
}

impl From<&Place> for PlaceDocument {
    fn from(place: &Place) -> Self {
        Self { line: place.line, column: place.column }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct CopyDocument {
    /// The file that is copied; absent when it is removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    to: String,
    up_to_date: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum PlannedState {
    UpToDate,
    Create,
    Change,
    Remove,
    Refused,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum DoneState {
    UpToDate,
    Created,
    Changed,
    Removed,
    Refused,
    Failed,
    RolledBack,
    Skipped,
}

impl Document {
    pub(super) fn plan(plan: &Plan, host: &Host) -> Self {
        let harness = |harness: &HarnessPlan| HarnessDocument {
            name: harness.name,
            harness_version: harness.version.clone(),
            files: harness.files.iter().map(|file| FileDocument::planned(file, host)).collect(),
            notices: harness.notices.clone(),
            left_alone: harness.left_alone.iter().map(|dir| dir.display().to_string()).collect(),
        };
        Self {
            version: 1,
            action: if plan.action == Action::Install { "install" } else { "uninstall" },
            applied: false,
            harnesses: plan.harnesses.iter().map(harness).collect(),
            copies: plan.copies.iter().map(CopyDocument::from).collect(),
        }
    }

    pub(super) fn receipt(plan: &Plan, receipt: &Receipt, host: &Host) -> Self {
        let mut document = Self { applied: true, ..Self::plan(plan, host) };
        for harness in &mut document.harnesses {
            let receipts =
                receipt.harnesses.iter().filter(|done| done.name == harness.name).flat_map(|done| &done.files);
            for done in receipts {
                let path = done.path.display().to_string();
                if let Some(file) = harness.files.iter_mut().find(|file| file.path == path) {
                    file.done(done);
                }
            }
        }
        document
    }
}

impl FileDocument {
    fn planned(file: &FilePlan, host: &Host) -> Self {
        let (state, reason, place) = match &file.state {
            FileState::UpToDate => (PlannedState::UpToDate, file.summary.clone(), None),
            FileState::Create => (PlannedState::Create, file.summary.clone(), None),
            FileState::Change => (PlannedState::Change, file.summary.clone(), None),
            FileState::Remove => (PlannedState::Remove, file.summary.clone(), None),
            FileState::Refused(refusal) => (PlannedState::Refused, refusal.to_string(), refusal.place()),
        };
        Self {
            path: file.path.display().to_string(),
            target: file.target.display().to_string(),
            state,
            reason,
            place: place.map(PlaceDocument::from),
            diff: file.diff(host),
            patch: file.patch.0.iter().filter_map(|step| serde_json::to_value(step).ok()).collect(),
            outcome: None,
            error: None,
            handlers: None,
        }
    }

    fn done(&mut self, done: &FileReceipt) {
        self.handlers = Some(done.handlers);
        self.outcome = Some(match &done.outcome {
            FileOutcome::UpToDate => DoneState::UpToDate,
            FileOutcome::Created => DoneState::Created,
            FileOutcome::Changed => DoneState::Changed,
            FileOutcome::Removed => DoneState::Removed,
            FileOutcome::Refused(_) => DoneState::Refused,
            FileOutcome::RolledBack => DoneState::RolledBack,
            FileOutcome::Skipped => DoneState::Skipped,
            FileOutcome::Failed(error) => {
                self.error = Some(error.to_string());
                DoneState::Failed
            }
        });
    }
}

impl From<&CopyPlan> for CopyDocument {
    fn from(copy: &CopyPlan) -> Self {
        Self {
            from: copy.from.as_ref().map(|from| from.display().to_string()),
            to: copy.to.display().to_string(),
            up_to_date: copy.up_to_date,
        }
    }
}
