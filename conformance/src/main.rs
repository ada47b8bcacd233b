//! Conformance: the fixtures through the real hook path of a built program, and the live lab.

// A program of the workspace's own: it prints, starts processes and reads the environment by design.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros)]

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod fixtures;
mod live;
mod program;

/// Runs every fixture through the real hook path and prints a table; `live` runs the real agents.
#[derive(Parser)]
#[command(name = "sessionpipe-conformance", version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    fixtures: fixtures::Args,
}

#[derive(Subcommand)]
enum Command {
    Live(live::Args),
    #[command(hide = true)]
    LiveInside(live::InsideArgs),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        Some(Command::Live(args)) => live::run(&args),
        Some(Command::LiveInside(args)) => live::run_inside(&args),
        None => fixtures::run(&cli.fixtures),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
