//! `sessionpipe`: the hook first, since it must cost nothing; then everything for people.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args_os();
    let called_as = args.next();
    // A copy that stands in for the hook program.
    let is_hook = called_as.is_some_and(|path| Path::new(&path).file_name() == Some("sessionpipe-hook".as_ref()));
    if is_hook || args.next().is_some_and(|command| command == "hook") {
        sessionpipe_pipeline::hook::run(args, sessionpipe::registry::HARNESSES);
        return ExitCode::SUCCESS;
    }
    sessionpipe::commands::run(std::env::args_os().collect()).into()
}
