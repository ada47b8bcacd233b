//! A plan and its receipt, for `install` and `uninstall`: as text, as JSON, and the way from one to the other.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use sessionpipe_core::host::Host;
use sessionpipe_installer::{
    Action, CopyPlan, FilePlan, FileReceipt, FileState, HarnessPlan, Outcome as FileOutcome, Plan, Receipt, apply,
};

use crate::error::{CommandError, Exit, Outcome, source_line};
use crate::out::{Out, Role, Table, cell, count};

/// How far to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Show the plan; touch nothing.
    DryRun,
    /// Say by the exit code whether something would change; touch nothing.
    Check,
    /// Ask, then apply.
    Ask,
    /// Apply.
    Yes,
}

/// Shows a plan and, as far as `mode` says, applies it.
///
/// # Errors
/// When nothing could be applied, or stdout cannot be written.
pub fn carry_out(plan: &Plan, mode: Mode, json: bool, host: &Host, out: &Out) -> Outcome {
    let refused = plan.refused().next().is_some();
    let settled = |plan_exit| if refused { Exit::Attention } else { plan_exit };
    let applies = match mode {
        Mode::Yes => true,
        Mode::Ask => !json && out.is_interactive() || plan.is_noop(),
        Mode::DryRun | Mode::Check => false,
    };
    if !json {
        out.print(&render(plan, mode != Mode::Check, host, out))?;
    }
    if !applies {
        if json {
            out.json(&Document::plan(plan, host))?;
        } else {
            out.print(&format!("\n{}{}", total(plan, out), next(plan, out)))?;
        }
        return Ok(match mode {
            Mode::Check if !plan.is_noop() => Exit::WouldChange,
            Mode::Ask => Exit::Usage,
            _ => settled(Exit::Success),
        });
    }
    if plan.is_noop() {
        if json {
            out.json(&Document::plan(plan, host))?;
        } else {
            out.print(&format!("\n{}{}", total(plan, out), next(plan, out)))?;
        }
        return Ok(settled(Exit::Success));
    }
    if mode == Mode::Ask {
        let question = match plan.action {
            Action::Install => "Write these changes?",
            Action::Uninstall => "Remove these entries?",
        };
        if !out.ask(&format!("\n{}{question}", total(plan, out)))? {
            out.print("Nothing was written.\n")?;
            return Ok(Exit::Success);
        }
    }
    let receipt = apply(host, plan).map_err(|error| CommandError::failed(error).hint("no config was touched"))?;
    if json {
        out.json(&Document::receipt(plan, &receipt, host))?;
    } else {
        out.print(&render_receipt(plan, &receipt, host, out))?;
    }
    Ok(if receipt.is_complete() { Exit::Success } else { Exit::Attention })
}

fn render(plan: &Plan, diffs: bool, host: &Host, out: &Out) -> String {
    let mut table = Table::default();
    for (harness, file) in files(plan) {
        let version = harness.version.as_deref().unwrap_or("found");
        let (role, summary) = match &file.state {
            FileState::UpToDate => (Role::Faint, file.summary.clone()),
            FileState::Refused(refusal) => (Role::Bad, format!("refused: {refusal}")),
            _ => (Role::Good, file.summary.clone()),
        };
        table.row([
            cell(Role::Name, harness.name),
            cell(Role::Plain, version),
            cell(Role::Plain, out.path(&file.path)),
            cell(role, summary),
        ]);
    }
    for copy in plan.copies.iter().filter(|copy| !copy.up_to_date) {
        table.row([
            cell(Role::Name, "sessionpipe"),
            cell(Role::Plain, env!("CARGO_PKG_VERSION")),
            cell(Role::Plain, out.path(&copy.to)),
            cell(Role::Good, copy_summary(copy, out)),
        ]);
    }
    let mut text = String::new();
    let mut lines = table.lines(out).into_iter();
    for ((_, file), line) in files(plan).zip(lines.by_ref()) {
        let _ = writeln!(text, "{line}");
        match &file.state {
            FileState::Refused(refusal) => text.extend(refusal.place().map(|place| source_line(place, out))),
            _ if diffs && file.changes() => text.push_str(&out.diff(&file.diff(host))),
            _ => {}
        }
    }
    text.extend(lines.map(|line| line + "\n"));
    text + &beside(plan, out)
}

fn copy_summary(copy: &CopyPlan, out: &Out) -> String {
    copy.from.as_ref().map_or_else(|| "to remove".to_owned(), |from| format!("copy of {}", out.path(from)))
}

fn files(plan: &Plan) -> impl Iterator<Item = (&HarnessPlan, &FilePlan)> {
    plan.harnesses.iter().flat_map(|harness| harness.files.iter().map(move |file| (harness, file)))
}

/// What else the person must know: folders that are not touched, and notices.
fn beside(plan: &Plan, out: &Out) -> String {
    let mut text = String::new();
    let mut alone = Table::default();
    for dir in plan.harnesses.iter().flat_map(|harness| &harness.left_alone) {
        alone.row([
            cell(Role::Faint, "left alone"),
            cell(Role::Plain, out.path(dir)),
            cell(Role::Faint, "looks like another tool's folder"),
        ]);
    }
    if !alone.is_empty() {
        let _ = write!(text, "\n{}", alone.render(out));
    }
    let notices = notices(plan);
    if !notices.is_empty() {
        text.push('\n');
    }
    for (name, notice) in notices {
        let _ = writeln!(text, "  {} {}", out.paint(Role::Warn, "!"), out.wrap(&format!("{name}: {notice}"), 4));
    }
    text
}

fn notices(plan: &Plan) -> Vec<(&'static str, String)> {
    let mut notices = Vec::new();
    for harness in &plan.harnesses {
        notices.extend(harness.notices.iter().map(|notice| (harness.name, notice.clone())));
        let refused = harness.files.iter().any(|file| matches!(file.state, FileState::Refused(_)));
        if refused && plan.action == Action::Install {
            let by_hand = format!("sessionpipe install --harness {} --print", harness.name);
            notices.push((harness.name, format!("mend the file, or add the entries by hand: {by_hand}")));
        }
    }
    notices
}

/// How many files are what, as a sentence; empty where there is no file.
fn total(plan: &Plan, out: &Out) -> String {
    let changes = plan.changes().count();
    let refused = plan.refused().count();
    let same = plan.files().filter(|file| file.state == FileState::UpToDate).count();
    let copies = plan.copies.iter().filter(|copy| !copy.up_to_date).count();
    let mut parts = Vec::new();
    if changes > 0 {
        parts.push(format!("{} would change", count(changes, "file")));
    }
    if copies > 0 {
        let verb = if plan.action == Action::Install { "copied" } else { "removed" };
        parts.push(format!("{} of ours would be {verb}", count(copies, "program")));
    }
    if same > 0 {
        parts.push(format!("{same} up to date"));
    }
    if refused > 0 {
        parts.push(out.paint(Role::Bad, &format!("{refused} refused")));
    }
    if parts.is_empty() { String::new() } else { format!("{}. ", parts.join(", ")) }
}

/// What to do with a plan that is only shown.
fn next(plan: &Plan, out: &Out) -> String {
    if plan.is_noop() {
        return "Nothing to do.\n".to_owned();
    }
    let command = if plan.action == Action::Install { "install" } else { "uninstall" };
    let yes = if out.is_interactive() { "" } else { " --yes" };
    format!("Nothing was written. Apply with: sessionpipe {command}{yes}\n")
}

fn render_receipt(plan: &Plan, receipt: &Receipt, host: &Host, out: &Out) -> String {
    let mut table = Table::default();
    for (name, file) in receipt.harnesses.iter().flat_map(|h| h.files.iter().map(move |file| (h.name, file))) {
        let (role, text) = outcome_text(file);
        table.row([cell(Role::Name, name), cell(Role::Plain, out.path(&file.path)), cell(role, text)]);
    }
    let outcomes = || receipt.harnesses.iter().flat_map(|h| &h.files).map(|file| &file.outcome);
    let done =
        outcomes().filter(|o| matches!(o, FileOutcome::Created | FileOutcome::Changed | FileOutcome::Removed)).count();
    let same = outcomes().filter(|o| matches!(o, FileOutcome::UpToDate)).count();
    let open = outcomes().count() - done - same;
    let mut text = format!("\n{}\n{} changed", table.render(out), count(done, "file"));
    if same > 0 {
        let _ = write!(text, ", {same} up to date");
    }
    if open > 0 {
        let _ = write!(text, ", {}", out.paint(Role::Bad, &format!("{open} not done")));
    }
    let after = match plan.action {
        Action::Install => "Undo with: sessionpipe uninstall".to_owned(),
        Action::Uninstall if host.dirs.outbox().is_file() => {
            format!("The events stay in {}", out.path(&host.dirs.outbox()))
        }
        Action::Uninstall => "Nothing of ours is left in these files.".to_owned(),
    };
    let _ = writeln!(text, ". {after}");
    text
}

fn outcome_text(file: &FileReceipt) -> (Role, String) {
    let hooks = || match file.handlers {
        0 => "nothing of ours in it".to_owned(),
        1 => "1 entry of ours".to_owned(),
        n => format!("{n} entries of ours"),
    };
    match &file.outcome {
        FileOutcome::UpToDate => (Role::Faint, format!("up to date, {}", hooks())),
        FileOutcome::Created => (Role::Good, format!("made, {}", hooks())),
        FileOutcome::Changed => (Role::Good, format!("changed, {}", hooks())),
        FileOutcome::Removed => (Role::Good, "removed".to_owned()),
        FileOutcome::Refused(refusal) => (Role::Bad, format!("refused: {refusal}")),
        FileOutcome::Failed(error) => (Role::Bad, format!("failed: {error}")),
        FileOutcome::RolledBack => (Role::Bad, "put back, since another file of this agent failed".to_owned()),
        FileOutcome::Skipped => (Role::Bad, "not tried, since another file of this agent failed".to_owned()),
    }
}

/// What `install --json` and `uninstall --json` print: the plan, or the receipt when it was applied.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "sessionpipe install --json, sessionpipe uninstall --json")]
pub struct Document {
    /// The version of this format.
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
    pub(crate) line: usize,
    /// From 1, in characters.
    pub(crate) column: usize,
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
    fn plan(plan: &Plan, host: &Host) -> Self {
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

    fn receipt(plan: &Plan, receipt: &Receipt, host: &Host) -> Self {
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
            place: place.map(|place| PlaceDocument { line: place.line, column: place.column }),
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
