//! `sessionpipe completions`

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::commands::Cli;
use crate::error::{Exit, Outcome};
use crate::out::Out;

/// Print a completion script for a shell.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  sessionpipe completions bash > ~/.local/share/bash-completion/completions/sessionpipe\n  \
                        sessionpipe completions zsh > ~/.zfunc/_sessionpipe\n  \
                        sessionpipe completions fish > ~/.config/fish/completions/sessionpipe.fish"
)]
pub struct Args {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Runs it.
///
/// # Errors
/// When stdout cannot be written.
pub fn run(args: &Args, out: &Out) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "sessionpipe", &mut script);
    out.print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}
