//! `sessionpipe forget`

use std::time::{Duration, Instant};

use sessionpipe_core::host::Host;
use sessionpipe_pipeline::hook::start_worker;
use sessionpipe_pipeline::outbox::{Ledger, Reader};
use sessionpipe_pipeline::spool::Spool;
use sessionpipe_pipeline::take;
use sessionpipe_pipeline::wake::wake;

use crate::commands::flush::drain;
use crate::config::Config;
use crate::error::{CommandError, Exit, Outcome};
use crate::out::{Out, clean, count};

/// Delete all that is kept of a session, and tell every sink to do the same.
///
/// Its events go from the outbox, for good; nothing that the session does later is kept. Receivers are sent one event,
/// `session.forgotten`, that says nothing but which session. Lines that are in a file already stay there.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  sessionpipe tail --json | jq -r .session.id | sort -u       which sessions there are\n  \
                        sessionpipe forget 01a2\n\nExit codes: 0 it is forgotten, 1 it could not be, 2 no such session, more than one, or nobody \
                        could be asked."
)]
pub struct Args {
    /// The session: its id, or the beginning of it
    #[arg(value_name = "SESSION")]
    pub session: String,
    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,
}

/// How long to wait for a worker that takes what hooks left before.
const DRAIN: Duration = Duration::from_secs(30);

/// How often to look whether it is done.
const LOOK: Duration = Duration::from_millis(20);

/// Runs it.
///
/// # Errors
/// When the session is not known or not the only one, nobody can be asked, or the outbox cannot be used.
pub fn run(args: &Args, host: &Host, out: &Out) -> Outcome {
    let unreadable = |error| CommandError::outbox(host, error);
    // What a hook has just left may be of this session.
    drain(host, DRAIN)?;
    let open = || Reader::open(&host.dirs.outbox()).map_err(unreadable);
    let known = match open()? {
        Some(reader) => reader.sessions_named(&args.session).map_err(unreadable)?,
        None => Vec::new(),
    };
    let (harness, session) = match known.as_slice() {
        [] => return Err(CommandError::usage(anyhow::anyhow!("no session begins with {:?}", args.session))),
        [one] => one,
        several => match several.iter().find(|(_, id)| *id == args.session) {
            Some(exact) if several.iter().filter(|(_, id)| *id == args.session).count() == 1 => exact,
            _ => {
                let error = anyhow::anyhow!("{} begin with {:?}", count(several.len(), "session"), args.session);
                let names = several.iter().map(|(harness, id)| format!("{harness} {}", clean(id)));
                return Err(names.fold(CommandError::usage(error), CommandError::hint));
            }
        },
    };
    let what = format!("{harness} {}", clean(session));
    if !args.yes {
        if !out.is_interactive() {
            let error = anyhow::anyhow!("{what} would be forgotten for good, and nobody can be asked");
            return Err(CommandError::usage(error).hint("to do it without a question: --yes"));
        }
        if !out.ask(&format!("Forget {what} for good?"))? {
            out.print("Nothing was changed.\n")?;
            return Ok(Exit::Success);
        }
    }
    let spool = Spool::open(&host.dirs).map_err(CommandError::failed)?;
    let job = take::forget(&spool, harness, session)?;
    let end = Instant::now() + DRAIN;
    while spool.list()?.contains(&job) {
        if Instant::now() >= end {
            return Err(CommandError::failed(anyhow::anyhow!("the wish waits behind what hooks left"))
                .hint("it is carried out as soon as that is taken: sessionpipe flush"));
        }
        drain(host, DRAIN)?;
        std::thread::sleep(LOOK);
    }
    if let Some(ledger) = Ledger::open(&host.dirs.outbox()).map_err(unreadable)? {
        ledger.empty_journal().map_err(unreadable)?;
    }
    let sinks = Config::read(host)?.settings.sinks;
    if !sinks.is_empty() {
        wake(&host.dirs, start_worker);
    }
    let told = if sinks.is_empty() { String::new() } else { format!(" {} will be told.", count(sinks.len(), "sink")) };
    out.print(&format!("{what} is forgotten.{told}\n"))?;
    Ok(Exit::Success)
}
