//! `doctor --json`

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use sessionpipe_core::adapter::{Finding, Level};
use sessionpipe_core::event::rfc3339;
use sessionpipe_core::host::Host;
use sessionpipe_pipeline::outbox::{Quarantined, Undelivered};

use super::{Diagnosis, State, Store};
use crate::latency::Latency;
use crate::sinks::SinkDocument;

/// What `doctor --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "sessionpipe doctor --json")]
pub struct Document {
    /// The version of this format.
    #[schemars(extend("const" = 1))]
    version: u32,
    /// What needs attention; empty when all is well.
    attention: Vec<String>,
    /// How long a hook takes here; null when it could not be measured.
    hook: Option<LatencyDocument>,
    harnesses: Vec<HarnessDocument>,
    outbox: OutboxDocument,
    sinks: Vec<SinkDocument>,
    /// Why `config.toml` cannot be used; null when it can.
    config_error: Option<String>,
    /// Whether `SESSIONPIPE_HOME` moves our folders.
    redirected: bool,
    /// With `--quarantine`: what arrived and could not be used.
    quarantine: Vec<QuarantinedDocument>,
    /// With `--quarantine`: events that sinks would not take.
    undelivered: Vec<UndeliveredDocument>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct LatencyDocument {
    runs: usize,
    /// Microseconds.
    p50_us: u64,
    /// Microseconds.
    p95_us: u64,
    /// The same for starting `/bin/true`.
    baseline_p50_us: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct HarnessDocument {
    /// `harness.name`
    name: &'static str,
    state: State,
    attention: bool,
    summary: String,
    /// When anything of it last arrived, RFC 3339; null when never.
    last_event: Option<String>,
    findings: Vec<FindingDocument>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FindingDocument {
    level: LevelDocument,
    /// The file that it is about.
    file: Option<String>,
    text: String,
    /// What the person can do.
    fix: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum LevelDocument {
    /// Good to know.
    Note,
    /// Hooks run, but not all or not as they should.
    Warning,
    /// Hooks are silent.
    Problem,
}

#[derive(Debug, Serialize, JsonSchema)]
struct OutboxDocument {
    /// Why it cannot be read; null when it can.
    error: Option<String>,
    events: u64,
    bytes: u64,
    /// RFC 3339; null when there is no event.
    oldest: Option<String>,
    quarantined: usize,
    /// Hook calls that no worker has taken yet.
    waiting: usize,
    /// How often it could not be written for a while; the hook calls waited.
    write_failures: u64,
    /// Why nothing tells what hooks could not keep; null when the counters can be read.
    counters_error: Option<String>,
    /// What was lost, and why.
    losses: Vec<LossDocument>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct LossDocument {
    kind: String,
    count: u64,
    /// RFC 3339; null when it is not known.
    last: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct QuarantinedDocument {
    job: String,
    /// RFC 3339.
    at: String,
    harness: String,
    event: String,
    reason: String,
    /// Redacted; long texts are replaced by their size.
    payload: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct UndeliveredDocument {
    sink: String,
    /// RFC 3339.
    at: String,
    reason: String,
    /// The event as it would have left: JSON.
    event: String,
}

impl From<&Undelivered> for UndeliveredDocument {
    fn from(event: &Undelivered) -> Self {
        Self {
            sink: event.sink.clone(),
            at: rfc3339(event.at_ms),
            reason: event.reason.clone(),
            event: event.body.clone(),
        }
    }
}

impl From<&Quarantined> for QuarantinedDocument {
    fn from(payload: &Quarantined) -> Self {
        Self {
            job: payload.job.clone(),
            at: rfc3339(payload.at_ms),
            harness: payload.harness.clone(),
            event: payload.event.clone(),
            reason: payload.reason.clone(),
            payload: payload.payload.clone(),
        }
    }
}

impl From<&Diagnosis> for HarnessDocument {
    fn from(diagnosis: &Diagnosis) -> Self {
        let finding = |finding: &Finding| FindingDocument {
            level: match finding.level {
                Level::Note => LevelDocument::Note,
                Level::Warning => LevelDocument::Warning,
                Level::Problem => LevelDocument::Problem,
            },
            file: finding.file.as_ref().map(|file| file.display().to_string()),
            text: finding.text.clone(),
            fix: finding.fix.clone(),
        };
        Self {
            name: diagnosis.harness,
            state: diagnosis.state,
            attention: diagnosis.attention,
            summary: diagnosis.summary.clone(),
            last_event: diagnosis.last_event_ms.map(rfc3339),
            findings: diagnosis.findings.iter().map(finding).collect(),
        }
    }
}

impl Document {
    pub(super) fn new(
        attention: &[&str],
        diagnoses: Vec<&Diagnosis>,
        store: &Store,
        latency: Option<&Latency>,
        with_quarantine: bool,
        host: &Host,
    ) -> Self {
        let undelivered = if with_quarantine { store.undelivered.as_slice() } else { &[] };
        let quarantine = if with_quarantine { store.quarantine.as_slice() } else { &[] };
        let micros = |duration: Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let stored = store.losses.iter().map(|loss| LossDocument {
            kind: loss.kind.clone(),
            count: loss.count,
            last: Some(rfc3339(loss.last_ms)),
        });
        let untaken = store.untaken.iter().map(|(kind, count)| LossDocument {
            kind: (*kind).to_owned(),
            count: *count,
            last: None,
        });
        let stats = store.stats.clone().unwrap_or_default();
        Self {
            version: 1,
            attention: attention.iter().map(|what| (*what).to_owned()).collect(),
            hook: latency.map(|latency| LatencyDocument {
                runs: latency.runs,
                p50_us: micros(latency.p50),
                p95_us: micros(latency.p95),
                baseline_p50_us: micros(latency.baseline),
            }),
            harnesses: diagnoses.into_iter().map(HarnessDocument::from).collect(),
            outbox: OutboxDocument {
                error: store.error.clone(),
                events: stats.events,
                bytes: stats.bytes,
                oldest: stats.oldest_ms.map(rfc3339),
                quarantined: store.quarantine.len(),
                waiting: store.waiting.0,
                write_failures: stats.write_failures,
                counters_error: store.uncounted.clone(),
                losses: stored.chain(untaken).collect(),
            },
            config_error: store.config.clone(),
            redirected: host.dirs.redirected,
            sinks: store.sinks.iter().map(SinkDocument::from).collect(),
            quarantine: quarantine.iter().map(QuarantinedDocument::from).collect(),
            undelivered: undelivered.iter().map(UndeliveredDocument::from).collect(),
        }
    }
}
