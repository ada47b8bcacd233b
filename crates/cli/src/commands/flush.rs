//! `sessionpipe flush`

use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;
use sessionpipe_core::host::Host;
use sessionpipe_pipeline::hook::start_worker;
use sessionpipe_pipeline::settings::Settings;
use sessionpipe_pipeline::sink::Target;
use sessionpipe_pipeline::sink::couriers::{self, Brought};
use sessionpipe_pipeline::sink::delivery::Next;
use sessionpipe_pipeline::wake::wake;
use sessionpipe_pipeline::worker::{self, Flushed};

use crate::config::Config;
use crate::context::with_context;
use crate::error::{CommandError, Exit, Outcome};
use crate::out::{Out, count};

/// Take all waiting hook calls into the outbox now, and send what waits for the sinks.
///
/// Returns when the outbox holds them and the sinks have them. Hooks do not need it: a worker does both within moments.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sessionpipe flush && sessionpipe tail --json --since 1h > events.jsonl\n\n\
                        Exit codes: 0 all is taken and sent, 1 something is left.")]
pub struct Args {
    /// Give up after so many seconds
    #[arg(long, value_name = "S", default_value = "10", value_parser = seconds, allow_negative_numbers = true)]
    pub timeout: Duration,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Longer than anybody waits, and within what the clock can add.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Seconds, with or without a fraction.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|_| "not a possible number of seconds".to_owned())
}

/// What `flush --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "sessionpipe flush --json")]
pub struct Document {
    /// The version of this format.
    #[schemars(extend("const" = 1))]
    version: u32,
    /// Hook calls that the outbox holds now.
    taken: usize,
    /// Hook calls that still wait.
    left: usize,
    /// What each sink got.
    sinks: Vec<SinkDocument>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SinkDocument {
    name: String,
    /// Events that it took.
    sent: u64,
    /// Whether it has all that there is.
    done: bool,
    /// Why it has not; null when it has.
    reason: Option<String>,
}

/// Runs it.
///
/// # Errors
/// When the state folder or the outbox cannot be used.
pub fn run(args: &Args, host: &Host, out: &Out) -> Outcome {
    let end = Instant::now() + args.timeout.min(LONGEST);
    let Flushed { taken, left, .. } = drain(host, args.timeout)?;
    let sinks = Config::read(host)?.settings.sinks;
    let brought = couriers::flush(&sinks, host, end).map_err(|error| CommandError::outbox(host, error))?;
    let sent: Vec<SinkDocument> = brought.iter().map(SinkDocument::from).collect();
    let done = left == 0 && sent.iter().all(|sink| sink.done);
    if args.json {
        out.json(&Document { version: 1, taken, left, sinks: sent })?;
    } else {
        let rest = if left > 0 { format!(", {left} left") } else { String::new() };
        let mut text = format!("{} taken{rest}.\n", count(taken, "hook call"));
        for SinkDocument { name, sent, reason, .. } in &sent {
            let reason = reason.as_ref().map(|reason| format!("; {reason}")).unwrap_or_default();
            let events = count(usize::try_from(*sent).unwrap_or(usize::MAX), "event");
            text.push_str(&format!("{name}: {events} sent{reason}\n"));
        }
        if sinks.iter().any(|sink| sink.target == Target::Stdout) {
            // Stdout is for the events.
            out.complain(&text);
        } else {
            out.print(&text)?;
        }
    }
    Ok(if done { Exit::Success } else { Exit::Attention })
}

impl From<&Brought> for SinkDocument {
    fn from(brought: &Brought) -> Self {
        let name = &brought.sink;
        let reason = match brought.next {
            Next::Idle => None,
            Next::Paused => Some(format!("it is paused → sessionpipe sink resume {name}")),
            Next::At(_) => Some("it could not take all; it is tried again → sessionpipe sink list".to_owned()),
            Next::Elsewhere | Next::Stopped => Some("there was no time for all of it".to_owned()),
        };
        Self { name: name.clone(), sent: brought.sent, done: reason.is_none(), reason }
    }
}

/// Takes what waits, and leaves a worker behind where a turn is open that must be watched.
///
/// # Errors
/// When the state folder or the outbox cannot be used.
pub fn drain(host: &Host, timeout: Duration) -> Result<Flushed, CommandError> {
    if !host.dirs.spool().exists() {
        // No hook ever ran here: nothing waits, and nothing is made.
        return Ok(Flushed::default());
    }
    let Some(Settings { sinks, .. }) = Config::settings(host) else {
        // Nothing is taken as long as it cannot be told what may be kept.
        return Err(Config::read(host).err().unwrap_or_else(|| CommandError::failed(anyhow::anyhow!("no settings"))));
    };
    let flushed = with_context(host, |context| worker::flush(context, timeout)).map_err(CommandError::failed)?;
    if flushed.watch || (!sinks.is_empty() && couriers::is_due(&sinks, host).unwrap_or(false)) {
        wake(&host.dirs, start_worker);
    }
    Ok(flushed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_of_any_sensible_size() {
        assert_eq!(seconds("0"), Ok(Duration::ZERO));
        assert_eq!(seconds("2.5"), Ok(Duration::from_millis(2500)));
        assert!(seconds("-1").is_err() && seconds("soon").is_err() && seconds("1e300").is_err());
    }
}
