//! `sessionpipe uninstall`

use sessionpipe_core::host::Host;
use sessionpipe_installer::plan_uninstall;

use crate::error::{CommandError, Outcome};
use crate::out::Out;
use crate::plan_view::{Mode, carry_out};
use crate::select;

/// Take everything back out of the agents' configs.
///
/// A file that nobody touched since gets its bytes back exactly; from one that was touched exactly our entries go. It
/// works without the record of the install too. The events that were collected stay.
#[derive(Debug, Default, clap::Args)]
#[command(
    after_help = "Examples:\n  sessionpipe uninstall --dry-run            see what would change; nothing is touched\n  \
                        sessionpipe uninstall --yes                without a question\n  \
                        sessionpipe uninstall --harness NAME       only this agent\n\n\
                        Exit codes: 0 done, 1 a file was refused or failed while the others were done, 2 nobody could be \
                        asked, or SESSIONPIPE_HOME is set."
)]
pub struct Args {
    /// Show the plan and touch nothing at all
    #[arg(long)]
    pub dry_run: bool,
    /// Only this agent (can be given more than once)
    #[arg(long, value_name = "NAME")]
    pub harness: Vec<String>,
    /// Print JSON: the plan, or with --yes the receipt
    #[arg(long)]
    pub json: bool,
    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,
    /// Go on although SESSIONPIPE_HOME redirects our folders, and remove a file of ours that was edited by hand
    #[arg(long)]
    pub force: bool,
}

/// Runs it.
///
/// # Errors
/// When a harness is unknown, our folders are redirected, the manifest cannot be used, or nothing could be written.
pub fn run(args: &Args, host: &Host, out: &Out) -> Outcome {
    let adapters = select::adapters(&args.harness)?;
    if host.dirs.redirected && !args.force && !args.dry_run {
        let error = anyhow::anyhow!("SESSIONPIPE_HOME is set, so the record of the install may be another one");
        return Err(CommandError::usage(error)
            .hint("unset SESSIONPIPE_HOME, or say that it is meant so: sessionpipe uninstall --force"));
    }
    let plan = plan_uninstall(host, &adapters, args.force).map_err(CommandError::failed)?;
    let mode = match args {
        Args { dry_run: true, .. } => Mode::DryRun,
        Args { yes: true, .. } => Mode::Yes,
        _ => Mode::Ask,
    };
    // A dry run may go without it.
    let force = if args.force || host.dirs.redirected { " --force" } else { "" };
    let command = format!("uninstall{}{force}", select::options(&args.harness));
    carry_out(&plan, &command, mode, args.json, host, out)
}
