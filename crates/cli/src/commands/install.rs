//! `sessionpipe install`

use clap::{Arg, ArgAction, ArgMatches, FromArgMatches};
use schemars::JsonSchema;
use serde::Serialize;
use sessionpipe_core::adapter::Adapter;
use sessionpipe_core::harness::{Harness, InstallOption};
use sessionpipe_core::host::Host;
use sessionpipe_installer::{HarnessInput, Wishes, entries_to_paste, plan_install};

use crate::error::{CommandError, Exit, Outcome};
use crate::out::{Out, Role};
use crate::plan_view::{Mode, carry_out};
use crate::{registry, select};

/// Wire the agents on this machine.
///
/// Shows what would change in which file, as a diff, asks once, and then does exactly that. Whatever is not ours stays
/// as it is, byte for byte. A file that cannot be edited safely is left alone and named; the others are wired all the
/// same. Run it again at any time: it changes nothing that is right.
#[derive(Debug, Default, clap::Args)]
#[command(
    after_help = "Examples:\n  sessionpipe install --dry-run              see what would change; nothing is touched\n  \
                        sessionpipe install --yes                  without a question, as in a script\n  \
                        sessionpipe install --harness NAME         only this agent\n  \
                        sessionpipe install --check                in a script: 0 is up to date, 3 is not\n  \
                        sessionpipe install --print                the entries, to paste by hand\n\n\
                        Exit codes: 0 done, 1 a file was refused or failed while the others were done, 2 nobody could be \
                        asked, 3 --check found changes."
)]
pub struct Args {
    /// Show the plan and touch nothing at all
    #[arg(long)]
    pub dry_run: bool,
    /// Only say whether something would change: exit 0 when not, 3 when so
    #[arg(long)]
    pub check: bool,
    /// Print the entries, to paste them by hand
    #[arg(long)]
    pub print: bool,
    /// Only this agent (can be given more than once)
    #[arg(long, value_name = "NAME")]
    pub harness: Vec<String>,
    /// Print JSON: the plan, or with --yes the receipt
    #[arg(long)]
    pub json: bool,
    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,
    /// Wire the named agents even where they are not found, and replace a file of ours that was edited by hand
    #[arg(long, requires = "harness")]
    pub force: bool,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the command")]
    pub options: Options,
}

/// What single harnesses do only on request: a flag for each.
#[derive(Debug, Default)]
pub struct Options(Vec<&'static str>);

impl Options {
    fn known() -> impl Iterator<Item = (&'static Harness, &'static InstallOption)> {
        registry::HARNESSES.iter().flat_map(|harness| harness.options.iter().map(|option| (*harness, option)))
    }
}

impl clap::Args for Options {
    fn augment_args(command: clap::Command) -> clap::Command {
        Self::known().fold(command, |command, (harness, option)| {
            let help = format!("{}: {}", harness.product, option.help);
            command.arg(Arg::new(option.name).long(option.name).help(help).action(ArgAction::SetTrue))
        })
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Options {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self(Self::known().map(|(_, option)| option.name).filter(|name| matches.get_flag(name)).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Runs it.
///
/// # Errors
/// When a harness is unknown or not there, the manifest cannot be used, or nothing could be written.
pub fn run(args: &Args, host: &Host, out: &Out) -> Outcome {
    let adapters = select::adapters(&args.harness)?;
    let (found, missing) = select::found(&adapters, host);
    if args.print {
        let here: Vec<_> = found.iter().map(|(adapter, _)| *adapter).collect();
        if args.harness.is_empty() && here.is_empty() && !args.json {
            return nothing_found(&adapters, &missing, host, out);
        }
        return print(if args.harness.is_empty() { here } else { adapters }, args, host, out);
    }
    if !args.harness.is_empty() && !missing.is_empty() && !args.force {
        let error = CommandError::failed(anyhow::anyhow!("not found here: {}", missing.join(", ")));
        return Err(looked_for(&adapters, &missing, host, out)
            .into_iter()
            .fold(error, CommandError::hint)
            .hint(all_the_same(&adapters, &missing, host)));
    }
    if found.is_empty() && !args.force && !args.json {
        return nothing_found(&adapters, &missing, host, out);
    }
    let input = |adapter, found| {
        let wishes = Wishes { options: args.options.0.clone(), force: args.force };
        HarnessInput { adapter, found, wishes }
    };
    let mut inputs: Vec<_> = found.into_iter().map(|(adapter, found)| input(adapter, found)).collect();
    if args.force {
        let absent = adapters.iter().filter(|adapter| missing.contains(&adapter.harness().name));
        inputs.extend(absent.map(|adapter| input(*adapter, Default::default())));
    }
    let plan = plan_install(host, &inputs).map_err(CommandError::failed)?;
    if let Some(bare) = plan.harnesses.iter().find(|harness| harness.files.is_empty()) {
        return Err(nothing_to_write(bare.name));
    }
    let mode = match args {
        Args { check: true, .. } => Mode::Check,
        Args { dry_run: true, .. } => Mode::DryRun,
        Args { yes: true, .. } => Mode::Yes,
        _ => Mode::Ask,
    };
    let force = if args.force { " --force" } else { "" };
    let options: String = args.options.0.iter().map(|option| format!(" --{option}")).collect();
    let command = format!("install{}{options}{force}", select::options(&args.harness));
    carry_out(&plan, &command, mode, args.json, host, out)
}

/// What helps where an agent has no folder to write to.
const START_IT: &str = "start the agent once, so that it makes its own";

/// An agent that is wanted all the same, but has no folder to write to.
fn nothing_to_write(name: &str) -> CommandError {
    CommandError::failed(anyhow::anyhow!("{name} has no config folder here")).hint(START_IT)
}

/// How agents that are not found can be wired.
fn all_the_same(adapters: &[&dyn Adapter], missing: &[&str], host: &Host) -> &'static str {
    let mut wanted = adapters.iter().filter(|adapter| missing.contains(&adapter.harness().name));
    let has_folder = |adapter: &&dyn Adapter| !entries_to_paste(host, *adapter, &[]).is_empty();
    if wanted.all(has_folder) { "to wire it all the same, add --force" } else { START_IT }
}

fn nothing_found(adapters: &[&dyn Adapter], missing: &[&str], host: &Host, out: &Out) -> Outcome {
    let mut text = "No agent was found on this machine.\n".to_owned();
    for place in looked_for(adapters, missing, host, out) {
        text.push_str(&format!("  {} {place}\n", out.paint(Role::Faint, "=")));
    }
    text.push_str("Nothing to do. To see it work without one: sessionpipe demo\n");
    out.print(&text)?;
    Ok(Exit::Success)
}

/// For each harness that is not there, where it was looked for.
fn looked_for(adapters: &[&dyn Adapter], missing: &[&str], host: &Host, out: &Out) -> Vec<String> {
    let one = |adapter: &&dyn Adapter| {
        // Its session files lie in a folder of its own.
        let mut dirs: Vec<String> =
            adapter.roots(host).iter().filter_map(|root| Some(out.path(root.parent()?))).collect();
        dirs.dedup();
        format!("{}: looked for {}", adapter.harness().product, dirs.join(", "))
    };
    adapters.iter().filter(|adapter| missing.contains(&adapter.harness().name)).map(one).collect()
}

/// What `install --print --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "sessionpipe install --print --json")]
pub struct Pastes {
    /// The version of this format.
    #[schemars(extend("const" = 1))]
    version: u32,
    /// What to paste where.
    entries: Vec<PasteDocument>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct PasteDocument {
    /// `harness.name`
    harness: &'static str,
    /// The file to paste it into.
    path: String,
    /// The entries.
    text: String,
}

fn print(adapters: Vec<&dyn Adapter>, args: &Args, host: &Host, out: &Out) -> Outcome {
    let mut entries = Vec::new();
    let copies = if adapters.is_empty() { &[][..] } else { &host.program.copies };
    for adapter in adapters {
        let harness = adapter.harness().name;
        let pastes = entries_to_paste(host, adapter, &args.options.0);
        if pastes.is_empty() {
            return Err(nothing_to_write(harness));
        }
        entries.extend(pastes.into_iter().map(|paste| (harness, paste)));
    }
    if args.json {
        let entries = entries
            .into_iter()
            .map(|(harness, paste)| PasteDocument { harness, path: paste.path.display().to_string(), text: paste.text })
            .collect();
        out.json(&Pastes { version: 1, entries })?;
    } else {
        for (index, (harness, paste)) in entries.iter().enumerate() {
            let before = if index > 0 { "\n" } else { "" };
            let title = out.paint(Role::Name, &format!("# {harness}: into {}", out.path(&paste.path)));
            out.print(&format!("{before}{title}\n{}\n", paste.text.trim_end()))?;
        }
    }
    for (from, to) in copies {
        out.complain(&format!("note: first copy {} to {}\n", out.path(from), out.path(to)));
    }
    Ok(Exit::Success)
}
