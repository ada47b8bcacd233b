//! `sessionpipe tail`

use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use sessionpipe_core::event::{Event, MAX_TIER, Tier};
use sessionpipe_core::host::Host;
use sessionpipe_core::privacy::filter;
use sessionpipe_pipeline::outbox::{Query, Reader};

use crate::commands::flush::drain;
use crate::error::{CommandError, Exit, Outcome, causes};
use crate::lines::Lines;
use crate::out::{Out, Role};
use crate::select;
use crate::when::since;

/// Show events.
///
/// First takes what hooks left and no worker has taken yet, then shows the events that are kept, the oldest first.
/// `--tier` says how much of each: 0 is who is there and needs you, 1 adds what is done, 2 what is said, 3 what tools are
/// given and give back.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sessionpipe tail -f                        watch what happens\n  \
                        sessionpipe tail --since 2h --tier 3       the last two hours, with commands\n  \
                        sessionpipe tail --json | jq -r .type      as JSON lines of the protocol\n  \
                        sessionpipe tail --harness NAME --session 01a2")]
pub struct Args {
    /// Go on with new events; begins with those of the last hour unless --since says otherwise
    #[arg(short, long)]
    pub follow: bool,
    /// What an event shows at most: 0 presence, 1 activity, 2 conversation, 3 content of tools
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=i64::from(MAX_TIER)))]
    pub tier: Tier,
    /// Only events of this agent
    #[arg(long, value_name = "NAME")]
    pub harness: Option<String>,
    /// Only events of sessions whose id begins so; --json shows it
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Only events since then: 10m, 2h, 3d ago, or a time such as 2026-11-30T14:00:00Z
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub since: Option<String>,
    /// Print the protocol's JSON, an event per line
    #[arg(long)]
    pub json: bool,
}

/// How long to wait for hook calls that are being taken.
const DRAIN: Duration = Duration::from_secs(5);

/// With `--follow` and no `--since`, events older than this are not shown, in milliseconds: a screen of them is context,
/// a month of them is not.
const FOLLOW_FROM_MS: i64 = 60 * 60 * 1000;

/// How often `--follow` looks: soon enough for a person, and cheap.
const LOOK: Duration = Duration::from_millis(200);

/// This many bytes are written at once.
const CHUNK: usize = 64 * 1024;

/// Runs it.
///
/// # Errors
/// When an argument makes no sense, the outbox cannot be read, or stdout cannot be written.
pub fn run(args: &Args, host: &Host, out: &Out) -> Outcome {
    let names = select::event_names();
    if let Some(name) = args.harness.as_deref().filter(|name| !names.contains(name)) {
        let error = CommandError::usage(anyhow::anyhow!("no harness is called {name:?}"));
        return Err(error.hint(format!("known: {}", names.join(", "))));
    }
    let zone = TimeZone::system();
    let now = Timestamp::from_millisecond(host.now_ms).unwrap_or_default();
    let since_ms = match &args.since {
        Some(text) => Some(since(text, now, &zone).map_err(CommandError::usage)?.as_millisecond()),
        None => args.follow.then_some(host.now_ms - FOLLOW_FROM_MS),
    };
    if let Err(error) = drain(host, DRAIN) {
        // What is kept can be shown all the same.
        out.complain(&format!(
            "{} what waits could not be taken: {}\n",
            out.paint(Role::Warn, "note:"),
            causes(&error.source)
        ));
    }
    let query = Query { harness: args.harness.clone(), session: args.session.clone(), since_ms, limit: None };
    let mut view =
        View { tier: args.tier, json: args.json, lines: Lines::new(now, zone), text: String::new(), shown: 0 };
    let mut after = 0;
    loop {
        after = show(after, &query, &mut view, host, out)?;
        if !args.follow {
            if view.shown == 0 && !args.json {
                out.complain("No event to show. When each agent was last heard of: sessionpipe status\n");
            }
            return Ok(Exit::Success);
        }
        if !is_wanted_after(LOOK) {
            return Ok(Exit::Success);
        }
    }
}

/// Waits, and says whether anybody still reads stdout: `tail -f | head` shall not stay behind until the next event.
fn is_wanted_after(pause: Duration) -> bool {
    let stdout = std::io::stdout();
    let nothing_but_errors = PollFlags::empty();
    let pause = Timespec { tv_sec: 0, tv_nsec: pause.subsec_nanos().into() };
    !matches!(poll(&mut [PollFd::new(&stdout, nothing_but_errors)], Some(&pause)), Ok(1..))
}

/// How events are shown.
struct View {
    tier: Tier,
    json: bool,
    lines: Lines,
    text: String,
    /// How many so far.
    shown: usize,
}

impl View {
    fn push(&mut self, event: &Event, out: &Out) -> Result<(), CommandError> {
        let Some(event) = filter(event, self.tier, None) else { return Ok(()) };
        self.shown += 1;
        if self.json {
            self.text.push_str(&serde_json::to_string(&event).map_err(CommandError::failed)?);
            self.text.push('\n');
        } else {
            self.text.push_str(&self.lines.render(&event, out));
        }
        if self.text.len() >= CHUNK { self.write(out) } else { Ok(()) }
    }

    fn write(&mut self, out: &Out) -> Result<(), CommandError> {
        out.print(&self.text)?;
        self.text.clear();
        Ok(())
    }
}

/// Shows the events behind a position and says where it came to. The outbox is opened each time: it may not be there
/// yet, or be another one than before.
fn show(after: i64, query: &Query, view: &mut View, host: &Host, out: &Out) -> Result<i64, CommandError> {
    let unreadable = |error| CommandError::outbox(host, error);
    let Some(outbox) = Reader::open(&host.dirs.outbox()).map_err(unreadable)? else { return Ok(after) };
    let last = outbox.last_pos().map_err(unreadable)?;
    // Positions only grow: a smaller one is that of a new outbox.
    let mut after = if last < after { 0 } else { after };
    if last > after {
        for entry in outbox.events(after, query.clone()).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            view.push(&entry.event, out)?;
            after = after.max(entry.pos);
        }
        // Events of others are not asked for again.
        after = after.max(last);
        view.write(out)?;
    }
    Ok(after)
}
