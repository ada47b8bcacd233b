//! `sessionpipe doctor`

mod document;

use std::collections::BTreeMap;
use std::error::Error as _;
use std::io;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use sessionpipe_core::adapter::{Finding, Level};
use sessionpipe_core::event::rfc3339;
use sessionpipe_core::harness::Means;
use sessionpipe_core::host::{Dirs, Host};
use sessionpipe_installer::WiredState;
use sessionpipe_pipeline::losses::{self, Losses};
use sessionpipe_pipeline::outbox::{LossCount, OutboxError, Quarantined, Reader, Stats, Undelivered};

pub use self::document::Document;
use crate::commands::status::{absent_line, state_text};
use crate::config::Config;
use crate::error::{CommandError, Exit, Outcome, REPLACE_OUTBOX, causes};
use crate::health::{Health, Wired, health};
use crate::latency::{Latency, measure};
use crate::out::{Out, Role, bytes, cell, clean, count, span, thousands};
use crate::plan_view::by_hand;
use crate::registry;
use crate::sinks::{SinkHealth, look};

/// Find out why an agent is silent, and what to do.
///
/// For each agent: what is wired, whether the file still holds it, what switches its hooks off, whether its sessions go
/// on without a word of it here. Then how long a hook takes on this machine, what was lost, and what could not be read.
#[derive(Debug, Default, clap::Args)]
#[command(
    after_help = "Examples:\n  sessionpipe doctor\n  sessionpipe doctor --quarantine        what arrived and could not be used, and \
                        why\n  sessionpipe doctor --json | jq '.harnesses[] | select(.attention)'\n\n\
                        Exit codes: 0 all is well, 1 something needs attention."
)]
pub struct Args {
    /// Show what arrived and could not be used, and why
    #[arg(long)]
    pub quarantine: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Sessions that went on for so long after the last notice of a turn's end had turns that it did not tell, in milliseconds.
const DEAF_MS: i64 = 24 * 60 * 60 * 1000;

/// Session files are written a little after the last hook: so much later is no sign of silence, in milliseconds.
const GRACE_MS: i64 = 2 * 60 * 1000;

/// A hook call that waits longer than this for a worker has none, in milliseconds.
const WAITING_MS: u128 = 60 * 1000;

/// Runs it.
///
/// # Errors
/// When the manifest cannot be used, or stdout cannot be written.
pub fn run(args: &Args, host: &Host, out: &Out) -> Outcome {
    let outbox = Reader::open(&host.dirs.outbox());
    let reader = outbox.as_ref().ok().and_then(Option::as_ref);
    if args.quarantine && !args.json {
        let quarantine = reader.map(Reader::quarantine).transpose().map_err(CommandError::failed)?.unwrap_or_default();
        let undelivered =
            reader.map(Reader::undelivered).transpose().map_err(CommandError::failed)?.unwrap_or_default();
        out.print(&render_quarantine(&quarantine, &undelivered, out))?;
        return Ok(Exit::Success);
    }
    let diagnoses: Vec<Diagnosis> =
        health(&registry::adapters(), reader, host)?.iter().map(|health| diagnose(health, host, out)).collect();
    let store = Store::look(&outbox, host)?;
    let latency = measure(host);
    let uneasy: Vec<&str> = diagnoses.iter().filter(|d| d.attention).map(|d| d.harness).chain(store.uneasy()).collect();
    if args.json {
        out.json(&Document::new(&uneasy, diagnoses.iter().collect(), &store, latency.as_ref(), args.quarantine, host))?;
    } else {
        out.print(&render(&diagnoses, &store, latency.as_ref(), host, out))?;
        out.print(&match uneasy.as_slice() {
            [] if diagnoses.iter().all(|d| matches!(d.state, State::NotWired | State::NotFound)) => {
                "no agent is wired\n".to_owned()
            }
            [] => out.paint(Role::Good, "all is well") + "\n",
            uneasy => format!("{}\n", out.paint(Role::Warn, &format!("needs attention: {}", uneasy.join(", ")))),
        })?;
    }
    Ok(if uneasy.is_empty() { Exit::Success } else { Exit::Attention })
}

/// What is to say of one harness.
struct Diagnosis {
    harness: &'static str,
    state: State,
    /// Whether the person has to do something.
    attention: bool,
    /// One line.
    summary: String,
    /// The likely causes, the likeliest first.
    findings: Vec<Finding>,
    last_event_ms: Option<i64>,
}

/// How a harness does, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum State {
    /// Wired, and nothing speaks against it.
    Ok,
    /// Its hooks run, but not all or not as they should.
    Warning,
    /// Wired, and no event arrives, or none can.
    Silent,
    /// Our hooks were there and are gone.
    Gone,
    /// Something of ours is there, but not as it must be.
    Stale,
    /// A file cannot be read or edited.
    Refused,
    /// It is here and was never wired.
    NotWired,
    /// It is not on this machine.
    NotFound,
}

impl State {
    const fn text(self) -> (Role, &'static str) {
        match self {
            Self::Ok => (Role::Good, "ok"),
            Self::Warning => (Role::Warn, "warning"),
            Self::Silent => (Role::Bad, "silent"),
            Self::Gone => (Role::Bad, "gone"),
            Self::Stale => (Role::Warn, "stale"),
            Self::Refused => (Role::Bad, "refused"),
            Self::NotWired => (Role::Faint, "not wired"),
            Self::NotFound => (Role::Faint, "not found"),
        }
    }
}

fn diagnose(health: &Health, host: &Host, out: &Out) -> Diagnosis {
    let harness = health.adapter.harness().name;
    let install = format!("sessionpipe install --harness {harness}");
    let plain = |state, summary: String, fix: Option<String>| Diagnosis {
        harness,
        state,
        attention: false,
        summary,
        findings: fix.map(|fix| finding(Level::Note, None, String::new(), Some(fix))).into_iter().collect(),
        last_event_ms: health.last_heard_ms(),
    };
    if health.wired() == Wired::Not {
        return match health.found {
            None => {
                plain(State::NotFound, format!("{} is not on this machine", health.adapter.harness().product), None)
            }
            Some(_) => plain(State::NotWired, "no hook of ours is in its config".to_owned(), Some(install)),
        };
    }
    let of_files = files(health, &install, out);
    let silence = silence(health, host);
    let mut checked = health.adapter.check(host);
    checked.sort_by_key(|finding| std::cmp::Reverse(finding.level));
    let mut findings: Vec<Finding> = silence.clone().into_iter().collect();
    findings.extend(of_files.iter().map(|(_, finding)| finding.clone()));
    findings.extend(checked);
    findings.extend(deaf(health, host));
    if silence.is_some() && findings.len() == 1 {
        let text = "sessions that were open before the install keep the hooks that they began with".to_owned();
        findings.push(finding(
            Level::Note,
            None,
            text,
            Some(format!("close and restart {}", health.adapter.harness().product)),
        ));
    }
    let worst = findings.iter().map(|finding| finding.level).max().unwrap_or(Level::Note);
    let state = match (of_files.first(), worst) {
        (Some((state, _)), _) => *state,
        // What is said to silence it lets at least something through.
        (None, Level::Problem) if silence.is_none() && heard_since_install(health) => State::Warning,
        (None, Level::Problem) => State::Silent,
        (None, Level::Warning) => State::Warning,
        (None, Level::Note) => State::Ok,
    };
    let places = count(health.files.iter().filter(|file| file.handlers > 0).count(), "file");
    let last = match health.last_heard_ms() {
        Some(ms) => format!("last event {} ago", span(host.now_ms - ms)),
        None => "no event yet".to_owned(),
    };
    let summary = format!("{} in {places}, {last}", count(health.handlers(), "hook"));
    Diagnosis {
        harness,
        state,
        attention: worst > Level::Note,
        summary,
        findings,
        last_event_ms: health.last_heard_ms(),
    }
}

fn heard_since_install(health: &Health) -> bool {
    health.last_heard_ms().zip(health.installed_ms()).is_some_and(|(heard, installed)| heard > installed)
}

fn finding(level: Level, file: Option<&Path>, text: String, fix: Option<String>) -> Finding {
    Finding { level, file: file.map(Path::to_owned), text, fix }
}

/// What is wrong with the files, the worst first.
fn files(health: &Health, install: &str, out: &Out) -> Vec<(State, Finding)> {
    let product = health.adapter.harness().product;
    let mut found = Vec::new();
    for file in &health.files {
        let (state, level, fix) = match &file.state {
            WiredState::Wired if file.dead.is_empty() => continue,
            WiredState::Wired => (State::Silent, Level::Problem, install.to_owned()),
            WiredState::Gone { .. } => (State::Gone, Level::Problem, format!("close {product}, then: {install}")),
            WiredState::Refused(refusal) => {
                (State::Refused, Level::Problem, by_hand(refusal, health.adapter.harness().name))
            }
            WiredState::Stale(_) if !file.dead.is_empty() => (State::Silent, Level::Problem, install.to_owned()),
            WiredState::Stale(_) | WiredState::Missing => (State::Stale, Level::Warning, install.to_owned()),
        };
        let text = format!("{}: {}", out.path(&file.path), state_text(file).1);
        found.push((state, finding(level, Some(&file.path), text, Some(fix))));
    }
    found.sort_by_key(|(_, finding)| std::cmp::Reverse(finding.level));
    found
}

/// The receipt check: sessions were written since the install, but nothing arrived.
fn silence(health: &Health, host: &Host) -> Option<Finding> {
    let installed = health.installed_ms()?;
    let heard = health.last_heard_ms();
    let silent_since = heard.map_or(installed, |heard| heard.max(installed));
    let sessions = health.adapter.sessions(host);
    let written = sessions.iter().filter(|session| session.modified_ms > silent_since + GRACE_MS).count();
    // One session may be running without its hooks; two are a pattern. One is enough where nothing ever arrived.
    if written < if heard.is_some() { 2 } else { 1 } {
        return None;
    }
    let day = rfc3339(installed).split('T').next().unwrap_or_default().to_owned();
    let written = format!("{} written since", count(written, "session"));
    let text = match heard.filter(|heard| *heard > installed) {
        Some(heard) => format!("the last event arrived {} ago; {written}", span(host.now_ms - heard)),
        None => format!("{} wired on {day}; {written}, no event arrived", count(health.handlers(), "hook")),
    };
    Some(finding(Level::Problem, None, text, None))
}

/// Whether the notices of a turn's end have stopped, though sessions go on. They are what is left where hooks do not run.
fn deaf(health: &Health, host: &Host) -> Option<Finding> {
    let last = health.last_notice_ms?;
    let newest = health.adapter.sessions(host).iter().map(|session| session.modified_ms).max()?;
    if newest - last < DEAF_MS {
        return None;
    }
    let harness = health.adapter.harness();
    let name = harness.events.iter().find(|event| event.means == Means::TurnNotice)?.name;
    let text = format!(
        "the last {name} was {} ago, although its sessions have newer turns: of a long session its argument grows beyond \
         what the system allows, and then it is not run",
        span(host.now_ms - last)
    );
    Some(finding(Level::Note, None, text, Some("let the hooks run, which do not depend on it".to_owned())))
}

/// What the state folder holds.
struct Store {
    /// Why the outbox cannot be read.
    error: Option<String>,
    /// Why the person's settings cannot be read.
    config: Option<String>,
    stats: Option<Stats>,
    losses: Vec<LossCount>,
    /// What hooks could not keep, not taken by a worker yet.
    untaken: Vec<(&'static str, u64)>,
    /// Why nothing tells what hooks could not keep.
    uncounted: Option<String>,
    quarantine: Vec<Quarantined>,
    /// What sinks would not take.
    undelivered: Vec<Undelivered>,
    sinks: Vec<SinkHealth>,
    /// Hook calls that wait, and for how long the oldest, in milliseconds.
    waiting: (usize, u128),
}

impl Store {
    fn look(outbox: &Result<Option<Reader>, OutboxError>, host: &Host) -> Result<Self, CommandError> {
        let reader = outbox.as_ref().ok().and_then(Option::as_ref);
        let counters = losses::read(&host.dirs);
        let file = host.tilde(&host.dirs.losses());
        Ok(Self {
            error: outbox.as_ref().err().map(unreadable),
            config: Config::read(host).err().map(|error| causes(&error.source)),
            stats: reader.map(Reader::stats).transpose().map_err(CommandError::failed)?,
            losses: reader.map(Reader::losses).transpose().map_err(CommandError::failed)?.unwrap_or_default(),
            untaken: counters.iter().flat_map(Losses::iter).map(|(reason, n)| (reason.as_str(), n)).collect(),
            uncounted: counters.err().map(|error| {
                let fix = if error.kind() == io::ErrorKind::InvalidData { ": remove it" } else { "" };
                format!("{file} counts no losses ({error}){fix}")
            }),
            quarantine: reader.map(Reader::quarantine).transpose().map_err(CommandError::failed)?.unwrap_or_default(),
            undelivered: reader.map(Reader::undelivered).transpose().map_err(CommandError::failed)?.unwrap_or_default(),
            sinks: look(&Config::read(host).map(|config| config.settings.sinks).unwrap_or_default(), reader)?,
            waiting: waiting(&host.dirs).unwrap_or_default(),
        })
    }

    fn uneasy(&self) -> impl Iterator<Item = &'static str> {
        let stuck = self.waiting.1 > WAITING_MS;
        let outbox = self.error.is_some() || stuck || !self.untaken.is_empty() || self.uncounted.is_some();
        let sinks = self.sinks.iter().any(SinkHealth::needs_attention).then_some("the sinks");
        outbox.then_some("the outbox").into_iter().chain(self.config.as_ref().map(|_| "the settings")).chain(sinks)
    }
}

/// Why the outbox cannot be read, and what helps.
fn unreadable(error: &OutboxError) -> String {
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    let fix = matches!(error, OutboxError::Damaged(_)).then(|| format!("; {REPLACE_OUTBOX}")).unwrap_or_default();
    format!("{error}{cause}{fix}")
}

/// Hook calls that wait in the spool, and for how long the oldest. Looks, and makes nothing.
fn waiting(dirs: &Dirs) -> io::Result<(usize, u128)> {
    let mut jobs = 0;
    let mut oldest = 0;
    for entry in std::fs::read_dir(dirs.spool())? {
        let entry = entry?;
        if entry.path().extension().is_some_and(|extension| extension == "job") {
            jobs += 1;
            let age = entry.metadata()?.modified()?.elapsed().unwrap_or_default();
            oldest = oldest.max(age.as_millis());
        }
    }
    Ok((jobs, oldest))
}

fn render(diagnoses: &[Diagnosis], store: &Store, latency: Option<&Latency>, host: &Host, out: &Out) -> String {
    let (absent, here): (Vec<_>, Vec<_>) = diagnoses.iter().partition(|d| d.state == State::NotFound);
    let name = here.iter().map(|d| d.harness.len()).max().unwrap_or(0).max("outbox".len());
    let row = |title: &str, text: &str| {
        format!("{}{}  {}\n", out.paint(Role::Name, title), " ".repeat(name - title.len()), out.wrap(text, name + 2))
    };
    let mut text = String::new();
    text.push_str(&row("hook", &latency.map_or_else(|| "could not be measured here".to_owned(), Latency::to_string)));
    for diagnosis in here {
        text.push_str(&diagnosis.render(name, host, out));
    }
    if !absent.is_empty() {
        let names: Vec<&str> = absent.iter().map(|diagnosis| diagnosis.harness).collect();
        text.push_str(&absent_line(&names, out));
    }
    text.push_str(&row("outbox", &store.text(host)));
    for (index, sink) in store.sinks.iter().enumerate() {
        let (role, state) = sink.text(host);
        let state = format!("{}: {}", sink.sink.name, out.paint(role, &clean(&state)));
        text.push_str(&row(if index == 0 { "sinks" } else { "" }, &state));
    }
    if let Some(error) = &store.config {
        text.push_str(&row("config", error));
    }
    if host.dirs.redirected {
        let note = format!(
            "SESSIONPIPE_HOME moves our folders to {}; hooks of an agent that was started without it write elsewhere",
            out.path(&host.dirs.state)
        );
        text.push_str(&row("state", &note));
    }
    text
}

impl Diagnosis {
    fn render(&self, name: usize, host: &Host, out: &Out) -> String {
        /// Columns of the longest word for a state.
        const STATE: usize = 9;
        let (role, word) = self.state.text();
        let indent = name + 2 + STATE + 2;
        let space = " ".repeat(indent);
        let mut text = format!(
            "{}{}  {}{}  {}\n",
            out.paint(Role::Name, self.harness),
            " ".repeat(name - self.harness.len()),
            out.paint(role, word),
            " ".repeat(STATE - word.len()),
            out.wrap(&clean(&self.summary), indent),
        );
        for finding in &self.findings {
            if !finding.text.is_empty() {
                text.push_str(&format!("{space}{}\n", out.wrap(&clean(&located(finding, host)), indent)));
            }
            if let Some(fix) = &finding.fix {
                text.push_str(&format!(
                    "{space}{} {}\n",
                    out.paint(Role::Warn, "→"),
                    out.wrap(&clean(fix), indent + 2)
                ));
            }
        }
        text
    }
}

/// What was found, with its file where the sentence does not say it.
fn located(finding: &Finding, host: &Host) -> String {
    match &finding.file {
        Some(file) => {
            let path = host.tilde(file);
            let said = finding.text.contains(&path) || finding.text.contains(&file.display().to_string());
            if said { finding.text.clone() } else { format!("{path}: {}", finding.text) }
        }
        None => finding.text.clone(),
    }
}

impl Store {
    fn text(&self, host: &Host) -> String {
        if let Some(error) = &self.error {
            return error.clone();
        }
        let mut parts = Vec::new();
        match &self.stats {
            Some(stats) => {
                let oldest =
                    stats.oldest_ms.map(|ms| format!(", oldest {} ago", span(host.now_ms - ms))).unwrap_or_default();
                let events = if stats.events == 1 {
                    "1 event".to_owned()
                } else {
                    format!("{} events", thousands(stats.events))
                };
                parts.push(format!("{events}, {}{oldest}", bytes(stats.bytes)));
            }
            None => parts.push("empty".to_owned()),
        }
        // What the hooks counted is in the outbox as soon as a worker has taken it.
        let mut lost: BTreeMap<&str, u64> = BTreeMap::new();
        let taken = self.losses.iter().map(|loss| (loss.kind.as_str(), loss.count));
        for (kind, n) in taken.chain(self.untaken.iter().copied()) {
            *lost.entry(kind).or_default() += n;
        }
        let lost: Vec<String> = lost.iter().map(|(kind, n)| format!("{} lost ({kind})", thousands(*n))).collect();
        let known = if self.uncounted.is_some() { "nothing known to be lost" } else { "nothing lost" };
        parts.push(if lost.is_empty() { known.to_owned() } else { lost.join(", ") });
        parts.extend(self.uncounted.clone());
        let failures = self.stats.as_ref().map_or(0, |stats| stats.write_failures);
        if failures > 0 {
            let tries = if failures == 1 { "once".to_owned() } else { format!("{} times", thousands(failures)) };
            parts.push(format!("it could not be written {tries}, and the calls waited"));
        }
        if !self.quarantine.is_empty() {
            let payloads = count(self.quarantine.len(), "payload");
            parts.push(format!("{payloads} in quarantine (sessionpipe doctor --quarantine)"));
        }
        if self.waiting.0 > 0 {
            parts.push(format!("{} waiting → sessionpipe flush", count(self.waiting.0, "hook call")));
        }
        parts.join("; ")
    }
}

fn render_quarantine(quarantine: &[Quarantined], undelivered: &[Undelivered], out: &Out) -> String {
    if quarantine.is_empty() && undelivered.is_empty() {
        return "Nothing is in quarantine.\n".to_owned();
    }
    let mut table = crate::out::Table::default();
    for payload in quarantine {
        table.row([
            cell(Role::Faint, rfc3339(payload.at_ms)),
            cell(Role::Name, &payload.harness),
            cell(Role::Plain, &payload.event),
            cell(Role::Warn, &payload.reason),
            cell(Role::Faint, &payload.payload),
        ]);
    }
    for event in undelivered {
        table.row([
            cell(Role::Faint, rfc3339(event.at_ms)),
            cell(Role::Name, &event.sink),
            cell(Role::Plain, "not taken"),
            cell(Role::Warn, &event.reason),
            cell(Role::Faint, &event.body),
        ]);
    }
    table.render(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_says_what_was_lost_and_what_only_waited() {
        let host = sessionpipe_core::testing::host(Path::new("/home/dev"));
        let stats = Stats {
            events: 18_204,
            bytes: 31 << 20,
            oldest_ms: Some(host.now_ms - 30 * 24 * 60 * 60 * 1000),
            quarantined: 1,
            write_failures: 2,
        };
        let mut store = Store {
            error: None,
            config: None,
            stats: Some(stats),
            losses: [("disk full", 1), ("pruned", 1_500)]
                .map(|(kind, count)| LossCount { kind: kind.to_owned(), count, last_ms: 0 })
                .to_vec(),
            untaken: vec![("disk full", 2)],
            uncounted: None,
            quarantine: vec![Quarantined::default()],
            undelivered: Vec::new(),
            sinks: Vec::new(),
            waiting: (1, 0),
        };
        assert_eq!(
            store.text(&host),
            "18,204 events, 31 MB, oldest 30 days ago; 3 lost (disk full), 1,500 lost (pruned); it could not be \
             written 2 times, and the calls waited; 1 payload in quarantine (sessionpipe doctor --quarantine); 1 hook \
             call waiting → sessionpipe flush"
        );
        store.error = Some("the outbox is damaged".to_owned());
        assert_eq!(store.text(&host), "the outbox is damaged");
    }
}
