//! One module per command: its arguments, whose comments are the help, and the function that runs it.

pub mod completions;
pub mod demo;
pub mod doctor;
pub mod flush;
pub mod forget;
pub mod hook;
pub mod install;
pub mod replay;
pub mod sink;
pub mod status;
pub mod tail;
pub mod uninstall;
pub mod worker;

use std::ffi::OsString;

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::error::{CommandError, Exit, Outcome};
use crate::out::Out;

/// One stream of events from all your coding agents.
///
/// sessionpipe wires itself into the coding agents on this machine, turns what their hooks report into one stream of
/// events, and keeps it here until you point it somewhere. It never gets in the way of an agent, and takes back every
/// byte that it wrote.
#[derive(Debug, Parser)]
#[command(name = "sessionpipe", version, max_term_width = 100)]
#[command(after_help = "Exit codes: 0 done, 1 something needs attention, 2 wrong usage, 3 `install --check` found \
                        changes.\n\nStart with: sessionpipe install --dry-run")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Every command; what it is for stands with its arguments.
#[derive(Debug, Subcommand)]
#[expect(missing_docs, reason = "clap takes the help from the arguments only where the variant has none")]
pub enum Command {
    Install(install::Args),
    Uninstall(uninstall::Args),
    Tail(tail::Args),
    Status(status::Args),
    Doctor(doctor::Args),
    Sink(sink::Args),
    Flush(flush::Args),
    Replay(replay::Args),
    Forget(forget::Args),
    Demo(demo::Args),
    Completions(completions::Args),
    Hook(hook::Args),
    #[command(hide = true)]
    Worker(worker::Args),
}

/// Runs a command line (but for `hook`, which is dispatched before).
#[must_use]
pub fn run(args: Vec<OsString>) -> Exit {
    if let Some(help) = help(&args) {
        return printed(help.ansi().to_string().as_str());
    }
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        // Help and version are errors in clap's eyes.
        Err(error) => {
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Success };
            let _ = error.print();
            return exit;
        }
    };
    let host = match crate::host::host() {
        Ok(host) => host,
        Err(error) => return error.report(&Out::plain()),
    };
    let out = Out::new(&host.home);
    let outcome: Outcome = match cli.command {
        Command::Install(args) => install::run(&args, &host, &out),
        Command::Uninstall(args) => uninstall::run(&args, &host, &out),
        Command::Tail(args) => tail::run(&args, &host, &out),
        Command::Status(args) => status::run(&args, &host, &out),
        Command::Doctor(args) => doctor::run(&args, &host, &out),
        Command::Sink(args) => sink::run(&args, &host, &out),
        Command::Flush(args) => flush::run(&args, &host, &out),
        Command::Replay(args) => replay::run(&args, &host, &out),
        Command::Forget(args) => forget::run(&args, &host, &out),
        // Not reached: `main` runs the hook before any argument is parsed.
        Command::Hook(_) => Ok(Exit::Success),
        Command::Demo(args) => demo::run(&args, &host, &out),
        Command::Completions(args) => completions::run(&args, &out),
        Command::Worker(args) => worker::run(&args, &host),
    };
    outcome.unwrap_or_else(|error: CommandError| error.report(&out))
}

/// The help of the command that is named, when `--help` stands anywhere: whatever else the line says, it only asks.
fn help(args: &[OsString]) -> Option<clap::builder::StyledStr> {
    let words: Vec<&str> = args.iter().skip(1).map_while(|arg| arg.to_str().filter(|arg| *arg != "--")).collect();
    let long = words.contains(&"--help");
    if !long && !words.contains(&"-h") {
        return None;
    }
    let mut cli = Cli::command();
    cli.build();
    let mut command = &mut cli;
    for word in words.iter().filter(|word| !word.starts_with('-')) {
        match command.find_subcommand(word) {
            Some(_) => {}
            // An unknown command is an error all the same; behind one that has none come its arguments.
            None if command.has_subcommands() => return None,
            None => break,
        }
        command = command.find_subcommand_mut(word)?;
    }
    Some(if long { command.render_long_help() } else { command.render_help() })
}

fn printed(text: &str) -> Exit {
    use std::io::Write as _;
    // Nobody is left to tell when stdout is closed.
    let _ = anstream::stdout().write_all(text.as_bytes());
    Exit::Success
}
