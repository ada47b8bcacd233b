//! A plan and its receipt, for `install` and `uninstall`: as text, as JSON, and the way from one to the other.

mod document;

use std::fmt::Write as _;
use std::io;

use sessionpipe_core::host::Host;
use sessionpipe_installer::{
    Action, ApplyError, CopyPlan, FilePlan, FileReceipt, FileState, HarnessPlan, Outcome as FileOutcome, Plan, Receipt,
    Refusal, apply,
};

pub use self::document::Document;
pub(crate) use self::document::PlaceDocument;
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

/// Shows a plan and, as far as `mode` says, applies it. `command` is what the person typed, so far as it says what to
/// plan for.
///
/// # Errors
/// When nothing could be applied, or stdout cannot be written.
pub fn carry_out(plan: &Plan, command: &str, mode: Mode, json: bool, host: &Host, out: &Out) -> Outcome {
    let refused = plan.refused().next().is_some();
    let settled = |plan_exit| if refused { Exit::Attention } else { plan_exit };
    let applies = match mode {
        Mode::Yes => true,
        Mode::Ask => !json && out.is_interactive() || plan.is_noop(),
        Mode::DryRun | Mode::Check => false,
    };
    let mut end = format!("{}{}", total(plan, out), next(plan, command, mode, out));
    if !json {
        let text = render(plan, mode != Mode::Check, host, out);
        if !text.is_empty() {
            end.insert(0, '\n');
        }
        said(out.print(&text))?;
    }
    if !applies {
        if json {
            said(out.json(&Document::plan(plan, host)))?;
        } else {
            said(out.print(&end))?;
        }
        return Ok(match mode {
            Mode::Check if !plan.is_noop() => Exit::WouldChange,
            Mode::Ask => Exit::Usage,
            _ => settled(Exit::Success),
        });
    }
    if plan.is_noop() {
        if plan.action == Action::Uninstall {
            // A run that was killed may have left its record.
            apply(host, plan).map_err(CommandError::failed)?;
        }
        if json {
            said(out.json(&Document::plan(plan, host)))?;
        } else {
            said(out.print(&end))?;
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
    let receipt = apply(host, plan).map_err(|error| {
        let hint = match error {
            ApplyError::Untidy(_) => "to see what is wired: sessionpipe status",
            _ => "no config was touched",
        };
        CommandError::failed(error).hint(hint)
    })?;
    if json {
        said(out.json(&Document::receipt(plan, &receipt, host)))?;
    } else {
        said(out.print(&render_receipt(plan, &receipt, host, out)))?;
    }
    Ok(if receipt.is_complete() { Exit::Success } else { Exit::Attention })
}

/// A reader that has had enough changes neither what is done nor the exit code.
fn said(printed: io::Result<()>) -> io::Result<()> {
    match printed {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed,
    }
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
            // Somebody else writes this file: here is what to give them.
            FileState::Refused(Refusal::ReadOnly) if diffs => {
                text.extend(file.paste.lines().map(|line| format!("    {line}\n")));
            }
            FileState::Refused(Refusal::Edited) if diffs => text.push_str(&out.diff(&file.diff(host))),
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
    let all = plan.harnesses.iter().flat_map(|harness| harness.files.iter().map(move |file| (harness, file)));
    all.filter(|(_, file)| concerns(plan, file))
}

/// Nothing can be removed from a file that is not there.
fn concerns(plan: &Plan, file: &FilePlan) -> bool {
    plan.action == Action::Install || file.before.is_some() || file.state != FileState::UpToDate
}

/// What else the person must know: folders that are not touched, and notices.
fn beside(plan: &Plan, out: &Out) -> String {
    let mut text = String::new();
    let mut alone = Table::default();
    let dirs = plan.harnesses.iter().flat_map(|harness| &harness.left_alone);
    for dir in dirs.filter(|_| plan.action == Action::Install) {
        alone.row([
            cell(Role::Faint, "left alone"),
            cell(Role::Plain, out.path(dir)),
            cell(Role::Faint, "looks like another tool's folder"),
        ]);
    }
    if !alone.is_empty() {
        let _ = write!(text, "\n{}", alone.render(out));
    }
    text + &sayings(plan, out)
}

/// What the person must do or know, each a paragraph.
fn sayings(plan: &Plan, out: &Out) -> String {
    let mut text = String::new();
    for (name, notice) in notices(plan) {
        let _ = writeln!(text, "  {} {}", out.paint(Role::Warn, "!"), out.wrap(&format!("{name}: {notice}"), 4));
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// What a person can do about a file that is left alone.
pub(crate) fn by_hand(refusal: &Refusal, harness: &str) -> String {
    let mend = if refusal.place().is_some() { "mend the file, or " } else { "" };
    format!("{mend}add the entries by hand: sessionpipe install --harness {harness} --print")
}

fn notices(plan: &Plan) -> Vec<(&'static str, String)> {
    let mut notices = Vec::new();
    for harness in &plan.harnesses {
        notices.extend(harness.notices.iter().map(|notice| (harness.name, notice.clone())));
        let mut refusals = harness.files.iter().filter_map(|file| match &file.state {
            FileState::Refused(refusal) => Some(refusal),
            _ => None,
        });
        if plan.action == Action::Install
            && let Some(refusal) = refusals.next()
        {
            notices.push((harness.name, by_hand(refusal, harness.name)));
        }
    }
    notices
}

/// How many files are what, as a sentence; empty where there is no file.
fn total(plan: &Plan, out: &Out) -> String {
    let changes = plan.changes().count();
    let refused = plan.refused().count();
    let same = files(plan).filter(|(_, file)| file.state == FileState::UpToDate).count();
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
        parts.push(format!("{same} {}", unchanged(plan.action)));
    }
    if refused > 0 {
        parts.push(out.paint(Role::Bad, &format!("{refused} refused")));
    }
    if parts.is_empty() { String::new() } else { format!("{}. ", parts.join(", ")) }
}

/// What is so of a file that needs no change.
fn unchanged(action: Action) -> &'static str {
    if action == Action::Install { "up to date" } else { "without anything of ours" }
}

/// What to do with a plan that is only shown.
fn next(plan: &Plan, command: &str, mode: Mode, out: &Out) -> String {
    if plan.is_noop() {
        let rest = if plan.refused().next().is_some() { " else" } else { "" };
        return format!("Nothing{rest} to do.\n");
    }
    let yes = if out.is_interactive() { "" } else { " --yes" };
    let why = if mode == Mode::Ask { "There is no terminal to ask on. " } else { "" };
    format!("{why}Nothing was written. Apply with: sessionpipe {command}{yes}\n")
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
        let _ = write!(text, ", {same} {}", unchanged(plan.action));
    }
    if open > 0 {
        let _ = write!(text, ", {}", out.paint(Role::Bad, &format!("{open} not done")));
    }
    let after = match plan.action {
        Action::Install => "Undo with: sessionpipe uninstall".to_owned(),
        Action::Uninstall if open == 0 && host.dirs.outbox().is_file() => {
            format!("The events stay in {}", out.path(&host.dirs.outbox()))
        }
        Action::Uninstall if open > 0 => "What was not done may still hold something of ours.".to_owned(),
        Action::Uninstall => "Nothing of ours is left in these files.".to_owned(),
    };
    let _ = writeln!(text, ". {after}");
    if plan.action == Action::Install {
        // Again: above them scrolled a whole plan.
        text += &sayings(plan, out);
    }
    text
}

fn outcome_text(file: &FileReceipt) -> (Role, String) {
    let hooks = || match file.handlers {
        0 => "nothing of ours in it".to_owned(),
        1 => "1 entry of ours".to_owned(),
        n => format!("{n} entries of ours"),
    };
    match &file.outcome {
        FileOutcome::UpToDate if file.handlers == 0 => (Role::Faint, hooks()),
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
