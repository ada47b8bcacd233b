//! `sessionpipe replay`

use jiff::Timestamp;
use jiff::tz::TimeZone;
use sessionpipe_core::host::Host;
use sessionpipe_pipeline::hook::start_worker;
use sessionpipe_pipeline::outbox::Reader;
use sessionpipe_pipeline::sink::Target;
use sessionpipe_pipeline::wake::wake;

use crate::commands::sink::{ledger, named};
use crate::error::{CommandError, Exit, Outcome};
use crate::out::{Out, count};
use crate::when::since;

/// Send a sink again what the outbox holds.
///
/// Also what it did not take before. A receiver drops what it has; a file gets its lines a second time.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sessionpipe replay --sink team\n  sessionpipe replay --sink team --since 2h")]
pub struct Args {
    /// The sink
    #[arg(long, value_name = "NAME")]
    pub sink: String,
    /// Only events since then: 10m, 2h, 3d ago, or a time such as 2026-11-30T14:00:00Z
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub since: Option<String>,
}

/// Runs it.
///
/// # Errors
/// When the sink is not known, the time makes no sense, or the outbox cannot be used.
pub fn run(args: &Args, host: &Host, out: &Out) -> Outcome {
    let unusable = |error| CommandError::outbox(host, error);
    let sink = named(&args.sink, host)?;
    let now = Timestamp::from_millisecond(host.now_ms).unwrap_or_default();
    let since_ms = args.since.as_ref().map(|text| since(text, now, &TimeZone::system())).transpose();
    let since_ms = since_ms.map_err(CommandError::usage)?.map(Timestamp::as_millisecond);
    let mut ledger = ledger(host)?;
    let Some(reader) = Reader::open(&host.dirs.outbox()).map_err(unusable)? else { return Ok(Exit::Success) };
    let first = reader.position_before(since_ms).map_err(unusable)?;
    ledger.enter(&sink.name, true).map_err(unusable)?;
    let aside = ledger.clear_undelivered(&sink.name, first).map_err(unusable)?;
    ledger
        .update(&sink.name, |pos, state| {
            *pos = (*pos).min(first);
            state.flight = None;
            state.retry = None;
        })
        .map_err(unusable)?;
    let waiting = reader.sinks().map_err(unusable)?.into_iter().find(|row| row.name == sink.name);
    let waiting = waiting.map_or(0, |row| row.waiting);
    let aside = if aside > 0 { format!(", {aside} of them that it did not take before") } else { String::new() };
    let how = match sink.target {
        Target::Stdout => "; print them with: sessionpipe flush",
        _ => "",
    };
    let events = count(usize::try_from(waiting).unwrap_or(usize::MAX), "event");
    out.print(&format!("{events} on the way to {}{aside}{how}.\n", sink.name))?;
    wake(&host.dirs, start_worker);
    Ok(Exit::Success)
}
