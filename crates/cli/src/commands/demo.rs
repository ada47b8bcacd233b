//! `sessionpipe demo`

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde_json::Value;
use sessionpipe_core::event::MAX_TIER;
use sessionpipe_core::host::{Dirs, Host};
use sessionpipe_core::privacy::filter;
use sessionpipe_pipeline::outbox::{Query, Reader};
use sessionpipe_pipeline::spool::Spool;
use sessionpipe_pipeline::wake::{Listener, Lock};

use crate::commands::flush::drain;
use crate::error::{CommandError, Exit, Outcome};
use crate::latency::hook_source;
use crate::lines::Lines;
use crate::out::{Out, Role, count};
use crate::{registry, select};

/// Replay a recorded session in a throwaway home and show its events.
///
/// Needs no agent on this machine. Each recorded hook call starts the real hook with what the real agent sent; the events
/// are what `tail --tier 3` would show. Nothing of yours is read or written.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sessionpipe demo\n  sessionpipe demo --harness NAME --json")]
pub struct Args {
    /// Only the recording of this agent
    #[arg(long, value_name = "NAME")]
    pub harness: Vec<String>,
    /// Print the protocol's JSON, an event per line
    #[arg(long)]
    pub json: bool,
}

/// One recorded hook call; a line of a recording.
#[derive(Debug, Deserialize)]
struct Call {
    event: String,
    /// What the agent set in the hook's environment.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// What the agent sent.
    stdin: Value,
}

/// The recordings, by harness.
const RECORDINGS: &[(&str, &str)] = &[
    #[cfg(feature = "claude-code")]
    ("claude-code", include_str!("../demo/claude-code.jsonl")),
    #[cfg(feature = "codex")]
    ("codex", include_str!("../demo/codex.jsonl")),
];

/// How long to wait until the outbox holds all.
const DRAIN: Duration = Duration::from_secs(30);

/// Runs it.
///
/// # Errors
/// When a harness is unknown, a process cannot be started, or stdout cannot be written.
pub fn run(args: &Args, host: &Host, out: &Out) -> Outcome {
    let wanted: Vec<&str> = select::adapters(&args.harness)?.iter().map(|adapter| adapter.harness().name).collect();
    let root = tempfile::Builder::new().prefix("sessionpipe-demo-").tempdir()?;
    let dirs = Dirs { state: root.path().join("state"), config: root.path().join("config"), redirected: true };
    let throwaway = Host { home: root.path().to_owned(), dirs, env: BTreeMap::new(), ..host.clone() };
    let mut calls = 0;
    {
        Spool::open(&throwaway.dirs).map_err(CommandError::failed)?;
        // We are the worker that the hooks find: no process is left behind.
        let _lock = Lock::take(&throwaway.dirs)?;
        let _listener = Listener::open(&throwaway.dirs)?;
        for (harness, recording) in RECORDINGS.iter().filter(|(harness, _)| wanted.contains(harness)) {
            let recorded = replay(harness, recording, host, root.path())?;
            calls += recorded;
            if !args.json {
                let product = registry::HARNESSES.iter().find(|h| h.name == *harness).map_or(*harness, |h| h.product);
                let text =
                    format!("{product}: {} of a recorded session, through the real hook", count(recorded, "hook call"));
                out.print(&format!("{}\n", out.paint(Role::Faint, &text)))?;
            }
        }
    }
    drain(&throwaway, DRAIN)?;
    let events = show(&throwaway, args.json, out)?;
    root.close()?;
    if !args.json {
        let text = format!(
            "\n{}, {}. The throwaway home is gone; nothing of yours was touched.\n",
            count(calls, "hook call"),
            count(events, "event")
        );
        out.print(&text)?;
        out.print("Next: sessionpipe install --dry-run\n")?;
    }
    Ok(if events > 0 { Exit::Success } else { Exit::Attention })
}

/// Starts the hook once per recorded call, as the agent would, and says how often.
fn replay(harness: &str, recording: &str, host: &Host, root: &Path) -> Result<usize, CommandError> {
    let mut calls = 0;
    for line in recording.lines() {
        let call: Call = serde_json::from_str(line).map_err(CommandError::failed)?;
        start(harness, &call, host, root)?;
        calls += 1;
    }
    Ok(calls)
}

#[expect(clippy::disallowed_methods, reason = "the program may start processes")]
fn start(harness: &str, call: &Call, host: &Host, root: &Path) -> io::Result<()> {
    let hook: &[&str] = if host.program.is_hook { &[] } else { &["hook"] };
    let mut child = Command::new(hook_source(host))
        .args(hook)
        .args([harness, &call.event])
        .env_clear()
        .envs(&call.env)
        .env("HOME", root)
        .env("SESSIONPIPE_HOME", root)
        .current_dir(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(call.stdin.to_string().as_bytes())?;
    }
    child.wait()?;
    Ok(())
}

fn show(host: &Host, json: bool, out: &Out) -> Result<usize, CommandError> {
    let now = Timestamp::from_millisecond(host.now_ms).unwrap_or_default();
    let mut lines = Lines::new(now, TimeZone::system());
    let mut shown = 0;
    let Some(outbox) = Reader::open(&host.dirs.outbox()).map_err(CommandError::failed)? else { return Ok(0) };
    for entry in outbox.events(0, Query::default()).map_err(CommandError::failed)? {
        let entry = entry.map_err(CommandError::failed)?;
        let Some(event) = filter(&entry.event, MAX_TIER, None) else { continue };
        shown += 1;
        out.print(&if json {
            serde_json::to_string(&event).map_err(CommandError::failed)? + "\n"
        } else {
            lines.render(&event, out)
        })?;
    }
    Ok(shown)
}
