//! The sinks and how they do, for `sink list`, `status` and `doctor`.

use schemars::JsonSchema;
use serde::Serialize;
use sessionpipe_core::event::rfc3339;
use sessionpipe_core::host::Host;
use sessionpipe_pipeline::outbox::{Reader, SinkRow};
use sessionpipe_pipeline::sink::{Sink, Target};

use crate::error::CommandError;
use crate::out::{Cell, Out, Role, Table, cell, count, span, thousands};

/// A sink of the settings, and where it stands.
pub struct SinkHealth {
    /// What the person decided.
    pub sink: Sink,
    /// Where it stands; one that nothing was ever tried for has a blank row.
    pub row: SinkRow,
}

/// How a sink does, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SinkState {
    /// It has all that there is.
    UpToDate,
    /// Something waits for it.
    Waiting,
    /// What was tried last failed; it is tried again.
    Retrying,
    /// Nothing is sent until the person says so.
    Paused,
}

/// The sinks of the settings, in their order.
///
/// # Errors
/// When the outbox cannot be read.
pub fn look(sinks: &[Sink], outbox: Option<&Reader>) -> Result<Vec<SinkHealth>, CommandError> {
    let rows = outbox.map(Reader::sinks).transpose().map_err(CommandError::failed)?.unwrap_or_default();
    let row = |name: &str| rows.iter().find(|row| row.name == name).cloned().unwrap_or_default();
    Ok(sinks.iter().map(|sink| SinkHealth { row: row(&sink.name), sink: sink.clone() }).collect())
}

impl SinkHealth {
    /// How it does.
    #[must_use]
    pub fn state(&self) -> SinkState {
        let state = &self.row.state;
        match (&state.paused, &state.retry) {
            (Some(_), _) => SinkState::Paused,
            (None, Some(_)) => SinkState::Retrying,
            (None, None) if self.row.waiting > 0 => SinkState::Waiting,
            (None, None) => SinkState::UpToDate,
        }
    }

    /// Whether the person has to do something, or has lost something.
    #[must_use]
    pub fn needs_attention(&self) -> bool {
        matches!(self.state(), SinkState::Paused | SinkState::Retrying)
            || self.row.missed > 0
            || self.row.undelivered > 0
    }

    /// The same in a few words.
    #[must_use]
    pub fn text(&self, host: &Host) -> (Role, String) {
        let state = &self.row.state;
        let name = &self.sink.name;
        let waiting = format!("{} waiting", events(self.row.waiting));
        let (role, mut text) = match (&state.paused, &state.retry) {
            (Some(pause), _) => (
                Role::Bad,
                format!(
                    "paused for {}, {}; {waiting} → sessionpipe sink resume {name}",
                    span(host.now_ms - pause.at_ms),
                    pause.reason
                ),
            ),
            (None, Some(retry)) => (
                Role::Warn,
                format!(
                    "failing for {}, {}; {waiting}, next try in {}",
                    span(host.now_ms - retry.since_ms),
                    retry.reason,
                    span(retry.left_ms(host.now_ms))
                ),
            ),
            (None, None) if self.row.waiting > 0 && self.sink.target == Target::Stdout => {
                (Role::Plain, format!("{waiting} → sessionpipe flush"))
            }
            (None, None) if self.row.waiting > 0 => (Role::Plain, waiting),
            (None, None) => (Role::Good, "up to date".to_owned()),
        };
        if let Some(tier) = state.max_tier.filter(|tier| *tier < self.sink.tier) {
            text.push_str(&format!("; it takes tier {tier} only"));
        }
        if self.row.missed > 0 {
            text.push_str(&format!("; {} left the outbox before it got them", events(self.row.missed)));
        }
        if self.row.undelivered > 0 {
            let many = events(self.row.undelivered);
            text.push_str(&format!("; {many} not taken by it (sessionpipe doctor --quarantine)"));
        }
        (role, text)
    }

    /// A row of a table: name, target, tier, state.
    #[must_use]
    pub fn cells(&self, host: &Host, out: &Out) -> Vec<Cell> {
        let (role, text) = self.text(host);
        let target = match &self.sink.target {
            Target::File(path) => out.path(path),
            target => target.to_string(),
        };
        vec![
            cell(Role::Name, &self.sink.name),
            cell(Role::Plain, target),
            cell(Role::Plain, format!("tier {}{}", self.sink.tier, if self.sink.pii { ", pii" } else { "" })),
            cell(role, text),
        ]
    }
}

fn events(n: u64) -> String {
    if n == 1 { count(1, "event") } else { format!("{} events", thousands(n)) }
}

/// The sinks, a line each.
#[must_use]
pub fn table(sinks: &[SinkHealth], host: &Host, out: &Out) -> String {
    let mut table = Table::default();
    for sink in sinks {
        table.row(sink.cells(host, out));
    }
    table.render(out)
}

/// A sink as `--json` shows it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SinkDocument {
    name: String,
    target: String,
    /// What an event carries at most.
    tier: u8,
    /// Whether `pii@1` runs on what leaves.
    pii: bool,
    state: SinkState,
    /// Why it is paused or what failed last; null when nothing did.
    reason: Option<String>,
    /// When it is tried again, RFC 3339; null when it is not failing.
    retry_at: Option<String>,
    /// When it last took something, RFC 3339; null when never.
    last_delivery: Option<String>,
    /// Events behind its position. Not all of them are for it.
    waiting: u64,
    /// Events that it took.
    sent: u64,
    /// Events among them that it had before.
    duplicates: u64,
    /// Events that it did not take.
    rejected: u64,
    /// Events that it did not take and that are still kept.
    undelivered: u64,
    /// Events that left the outbox, for their age or its size, before it got them.
    missed: u64,
    /// The highest tier that the receiver takes; null when it has not said so.
    max_tier: Option<u8>,
}

impl From<&SinkHealth> for SinkDocument {
    fn from(health: &SinkHealth) -> Self {
        let SinkHealth { sink, row } = health;
        let state = &row.state;
        let paused = state.paused.as_ref().map(|pause| pause.reason.clone());
        Self {
            name: sink.name.clone(),
            target: sink.target.to_string(),
            tier: sink.tier,
            pii: sink.pii,
            state: health.state(),
            reason: paused.or_else(|| state.retry.as_ref().map(|retry| retry.reason.clone())),
            retry_at: state.retry.as_ref().map(|retry| rfc3339(retry.at_ms)),
            last_delivery: state.last_ms.map(rfc3339),
            waiting: row.waiting,
            sent: state.sent,
            duplicates: state.duplicates,
            rejected: state.rejected,
            undelivered: row.undelivered,
            missed: row.missed,
            max_tier: state.max_tier,
        }
    }
}
