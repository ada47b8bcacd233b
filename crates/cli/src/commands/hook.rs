//! `sessionpipe hook`: only its help; the hook path itself is dispatched before any argument is parsed.

use std::ffi::OsString;

/// What an agent runs at each of its events.
///
/// It reads the agent's payload from stdin, leaves it for the worker and exits 0, whatever happens. It prints nothing but
/// what the agent needs to read. `install` writes it into the agents' configs; there is no need to run it by hand.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub struct Args {
    /// The agent's name
    #[arg(value_name = "HARNESS")]
    pub harness: String,
    /// The agent's own name of the event
    #[arg(value_name = "EVENT")]
    pub event: String,
    /// `--previous-notify ARGV… --` keeps the program that was notified before; the payload may follow as an argument
    #[arg(value_name = "ARG", trailing_var_arg = true, allow_hyphen_values = true)]
    pub rest: Vec<OsString>,
}
