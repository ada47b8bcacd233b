//! `sessionpipe status`

use schemars::JsonSchema;
use serde::Serialize;
use sessionpipe_core::adapter::{Finding, Level};
use sessionpipe_core::event::rfc3339;
use sessionpipe_core::host::Host;
use sessionpipe_installer::{FileStatus, WiredState};
use sessionpipe_pipeline::outbox::{LossCount, Reader};

use crate::config::Config;
use crate::error::{CommandError, Exit, Outcome};
use crate::health::{Health, Wired, health};
use crate::out::{Cell, Out, Role, Table, cell, count, span, thousands};
use crate::plan_view::PlaceDocument;
use crate::registry;
use crate::sinks::{SinkDocument, SinkHealth, look, table};

/// Show what is wired, when each agent was last heard of, and how the sinks do.
///
/// It only reads. To find out why an agent is silent, ask `sessionpipe doctor`.
#[derive(Debug, Default, clap::Args)]
#[command(
    after_help = "Examples:\n  sessionpipe status\n  sessionpipe status --json | jq '.harnesses[] | {name, last_event}'"
)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Runs it.
///
/// # Errors
/// When the manifest or the outbox cannot be used, or stdout cannot be written.
pub fn run(args: &Args, host: &Host, out: &Out) -> Outcome {
    let outbox = Reader::open(&host.dirs.outbox()).map_err(|error| CommandError::outbox(host, error))?;
    let harnesses = health(&registry::adapters(), outbox.as_ref(), host)?;
    // Settings that cannot be read are `doctor`'s to show.
    let sinks = Config::read(host).map(|config| config.settings.sinks).unwrap_or_default();
    let sinks = look(&sinks, outbox.as_ref())?;
    let losses = outbox.as_ref().map(Reader::losses).transpose().map_err(CommandError::failed)?.unwrap_or_default();
    if args.json {
        out.json(&Document::new(&harnesses, &sinks, &losses, host))?;
    } else {
        out.print(&render(&harnesses, host, out))?;
        if !sinks.is_empty() {
            out.print(&format!("\nsinks\n{}", table(&sinks, host, out)))?;
        }
        if !losses.is_empty() {
            let lost: Vec<String> = losses.iter().map(|l| format!("{} ({})", thousands(l.count), l.kind)).collect();
            let text = format!("lost so far: {}; more: sessionpipe doctor", lost.join(", "));
            out.print(&format!("\n{}\n", out.paint(Role::Warn, &text)))?;
        }
    }
    Ok(Exit::Success)
}

fn render(harnesses: &[Health], host: &Host, out: &Out) -> String {
    let mut table = Table::default();
    let (absent, here): (Vec<_>, Vec<_>) =
        harnesses.iter().partition(|health| health.found.is_none() && health.wired() == Wired::Not);
    for health in here {
        let name = cell(Role::Name, health.adapter.harness().name);
        let version = health.found.as_ref().and_then(|found| found.version.clone());
        for (index, file) in health.files.iter().enumerate() {
            let (role, text) = state_text(file);
            let mut row = vec![
                name.clone(),
                cell(Role::Plain, version.as_deref().unwrap_or("found")),
                cell(Role::Plain, out.path(&file.path)),
                cell(role, text),
            ];
            if index == 0 {
                row.push(heard(health, host));
            }
            table.row(row);
        }
    }
    let mut text = table.render(out);
    if !absent.is_empty() {
        let names: Vec<&str> = absent.iter().map(|health| health.adapter.harness().name).collect();
        text.push_str(&absent_line(&names, out));
    }
    text.push_str(&silenced(harnesses, host, out));
    let uneasy =
        |health: &&Health| health.wired() == Wired::Partly || (health.wired() == Wired::Not && health.found.is_some());
    if harnesses.iter().any(|health| uneasy(&health)) {
        text.push_str("\nTo wire what is not: sessionpipe install\n");
    }
    if harnesses.iter().any(|health| health.wired() != Wired::Not && health.last_heard_ms().is_none()) {
        text.push_str("\nWhy an agent is silent: sessionpipe doctor\n");
    }
    text
}

/// The harnesses that are not on this machine, in one line.
pub(crate) fn absent_line(names: &[&str], out: &Out) -> String {
    let line = out.wrap(&format!("not found here: {}", names.join(", ")), 0);
    format!("{}\n", out.paint(Role::Faint, &line))
}

/// What keeps the hooks of agents silent that are wired and were never heard of: trust that is missing, a switch.
fn silenced(harnesses: &[Health], host: &Host, out: &Out) -> String {
    let mut text = String::new();
    for health in harnesses.iter().filter(|h| h.wired() == Wired::Fully && h.last_heard_ms().is_none()) {
        let problems = health.adapter.check(host).into_iter().filter(|finding| finding.level == Level::Problem);
        for Finding { text: what, fix, .. } in problems {
            let fix = fix.map(|fix| format!(": {fix}")).unwrap_or_default();
            let line = out.wrap(&format!("{}: {what}{fix}", health.adapter.harness().name), 4);
            text.push_str(&format!("  {} {line}\n", out.paint(Role::Warn, "!")));
        }
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

fn heard(health: &Health, host: &Host) -> Cell {
    match health.last_heard_ms() {
        Some(ms) => cell(Role::Plain, format!("last event {} ago", span(host.now_ms - ms))),
        None => cell(Role::Faint, "no event yet"),
    }
}

/// What a file's state comes to in a few words.
pub(crate) fn state_text(file: &FileStatus) -> (Role, String) {
    let hooks = count(file.handlers, "hook");
    let (role, mut text) = match &file.state {
        WiredState::Wired => (Role::Good, format!("wired, {hooks}")),
        WiredState::Stale(faults) => {
            let first = faults.first().map(ToString::to_string).unwrap_or_default();
            let more = if faults.len() > 1 { format!(" (and {} more)", faults.len() - 1) } else { String::new() };
            (Role::Warn, format!("stale: {first}{more}"))
        }
        WiredState::Missing => (Role::Faint, "not wired".to_owned()),
        WiredState::Gone { since, others_intact } => {
            let rest = if *others_intact { "; the rest of the file is there" } else { "" };
            (Role::Bad, format!("gone: the hooks were here on {} and are not any more{rest}", day(since)))
        }
        WiredState::Refused(refusal) => (Role::Bad, format!("refused: {refusal}")),
    };
    if let Some(program) = file.dead.first() {
        text.push_str(&format!("; {program} cannot be run"));
        return (Role::Bad, text);
    }
    (role, text)
}

/// The day of an RFC 3339 time.
fn day(time: &str) -> &str {
    time.split('T').next().unwrap_or(time)
}

/// What `status --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "sessionpipe status --json")]
pub struct Document {
    /// The version of this format.
    #[schemars(extend("const" = 1))]
    version: u32,
    /// What the configs call.
    program: String,
    /// The state folder.
    state: String,
    /// Whether `SESSIONPIPE_HOME` moves our folders.
    redirected: bool,
    harnesses: Vec<HarnessDocument>,
    sinks: Vec<SinkDocument>,
    /// What was lost so far, and why.
    losses: Vec<LossDocument>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct LossDocument {
    kind: String,
    count: u64,
    /// RFC 3339
    last: String,
}

impl From<&LossCount> for LossDocument {
    fn from(loss: &LossCount) -> Self {
        Self { kind: loss.kind.clone(), count: loss.count, last: rfc3339(loss.last_ms) }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct HarnessDocument {
    /// `harness.name`
    name: &'static str,
    /// Whether it is on this machine.
    found: bool,
    /// Its version, where a file tells.
    harness_version: Option<String>,
    /// When anything of it last arrived, RFC 3339; null when never.
    last_event: Option<String>,
    /// How many of its sessions were ever seen.
    sessions: u64,
    files: Vec<FileDocument>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FileDocument {
    /// The path that the harness reads.
    path: String,
    /// The real file, links followed.
    target: String,
    state: StateDocument,
    /// What is not as it must be, a sentence each.
    faults: Vec<String>,
    /// The place that a refusal is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<PlaceDocument>,
    /// How many entries of ours it holds.
    handlers: usize,
    /// When it was last wired, RFC 3339.
    installed_at: Option<String>,
    /// Programs that entries of ours name and that cannot be run.
    dead: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum StateDocument {
    /// As it must be.
    Wired,
    /// Something of ours is there, but not as it must be.
    Stale,
    /// Nothing of ours is there, and nothing ever was.
    Missing,
    /// Ours were there and are gone.
    Gone,
    /// It cannot be read or edited.
    Refused,
}

impl Document {
    fn new(harnesses: &[Health], sinks: &[SinkHealth], losses: &[LossCount], host: &Host) -> Self {
        let harness = |health: &Health| HarnessDocument {
            name: health.adapter.harness().name,
            found: health.found.is_some(),
            harness_version: health.found.as_ref().and_then(|found| found.version.clone()),
            last_event: health.last_heard_ms().map(rfc3339),
            sessions: health.activity.as_ref().map_or(0, |activity| activity.sessions),
            files: health.files.iter().map(FileDocument::from).collect(),
        };
        Self {
            version: 1,
            program: host.program.path.display().to_string(),
            state: host.dirs.state.display().to_string(),
            redirected: host.dirs.redirected,
            harnesses: harnesses.iter().map(harness).collect(),
            sinks: sinks.iter().map(SinkDocument::from).collect(),
            losses: losses.iter().map(LossDocument::from).collect(),
        }
    }
}

impl From<&FileStatus> for FileDocument {
    fn from(file: &FileStatus) -> Self {
        let place = match &file.state {
            WiredState::Refused(refusal) => refusal.place(),
            _ => None,
        };
        let (state, faults) = match &file.state {
            WiredState::Wired => (StateDocument::Wired, Vec::new()),
            WiredState::Stale(faults) => (StateDocument::Stale, faults.iter().map(ToString::to_string).collect()),
            WiredState::Missing => (StateDocument::Missing, Vec::new()),
            WiredState::Gone { .. } => (StateDocument::Gone, vec![state_text(file).1]),
            WiredState::Refused(refusal) => (StateDocument::Refused, vec![refusal.to_string()]),
        };
        Self {
            path: file.path.display().to_string(),
            target: file.target.display().to_string(),
            state,
            faults,
            place: place.map(PlaceDocument::from),
            handlers: file.handlers,
            installed_at: file.installed_at.clone(),
            dead: file.dead.clone(),
        }
    }
}
