//! `sessionpipe`: the hook first, since it must cost nothing; then everything for people.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    if args.next().is_some_and(|command| command == "hook") {
        sessionpipe_pipeline::hook::run(args, sessionpipe::registry::HARNESSES);
        return ExitCode::SUCCESS;
    }
    sessionpipe::commands::run(std::env::args_os().collect()).into()
}
