//! `sessionpipe worker`: what a hook starts when nobody takes its call.

use sessionpipe_core::host::Host;
use sessionpipe_pipeline::worker;

use crate::context::with_context;
use crate::error::{CommandError, Exit, Outcome};

/// Take waiting hook calls into the outbox until there is nothing to do.
///
/// Hooks start it, one per state folder; there is no need to run it by hand. It stays while a turn is open, and exits
/// when nothing came for half a minute.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs it.
///
/// # Errors
/// When the state folder cannot be used.
pub fn run(_: &Args, host: &Host) -> Outcome {
    with_context(host, worker::run).map_err(CommandError::failed)?;
    Ok(Exit::Success)
}
