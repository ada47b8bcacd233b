//! `sessionpipe flush`

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use sessionpipe_core::host::Host;
use sessionpipe_pipeline::hook::start_worker;
use sessionpipe_pipeline::worker::{self, Flushed};

use crate::context::with_context;
use crate::error::{CommandError, Exit, Outcome};
use crate::out::{Out, count};

/// Take all waiting hook calls into the outbox now.
///
/// Returns when the outbox holds them. Hooks do not need it: a worker takes their calls within moments.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sessionpipe flush && sessionpipe tail --json --since 1h > events.jsonl\n\n\
                        Exit codes: 0 all is taken, 1 something is left.")]
pub struct Args {
    /// Give up after so many seconds
    #[arg(long, value_name = "S", default_value = "10", value_parser = seconds, allow_negative_numbers = true)]
    pub timeout: Duration,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

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
}

/// Runs it.
///
/// # Errors
/// When the state folder or the outbox cannot be used.
pub fn run(args: &Args, host: &Host, out: &Out) -> Outcome {
    let Flushed { taken, left, .. } = drain(host, args.timeout)?;
    if args.json {
        out.json(&Document { version: 1, taken, left })?;
    } else {
        let rest = if left > 0 { format!(", {left} left") } else { String::new() };
        out.print(&format!("{} taken{rest}.\n", count(taken, "hook call")))?;
    }
    Ok(if left == 0 { Exit::Success } else { Exit::Attention })
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
    let flushed = with_context(host, |context| worker::flush(context, timeout)).map_err(CommandError::failed)?;
    if flushed.watch {
        start_worker();
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
