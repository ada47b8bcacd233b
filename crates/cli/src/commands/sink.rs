//! `sessionpipe sink`

use clap::Subcommand;
use schemars::JsonSchema;
use serde::Serialize;
use sessionpipe_core::event::{Event, EventHarness, EventType, MAX_TIER, PROTOCOL, Privacy, Session, Tier, rfc3339};
use sessionpipe_core::host::Host;
use sessionpipe_core::ids;
use sessionpipe_core::privacy::pii::Pii;
use sessionpipe_core::privacy::table::rule_of;
use sessionpipe_pipeline::hook::start_worker;
use sessionpipe_pipeline::outbox::{Ledger, Pause, Query, Reader};
use sessionpipe_pipeline::sink::delivery::connect;
use sessionpipe_pipeline::sink::http::Http;
use sessionpipe_pipeline::sink::{Answer, Batch, Begin, Encoding, Outgoing, SessionIds, Sink, Target, Uri};
use sessionpipe_pipeline::spool::Spool;
use sessionpipe_pipeline::wake::wake;

use crate::config::{Config, absolute, add_sink, remove_sink};
use crate::error::{CommandError, Exit, Outcome};
use crate::out::{Out, Role, clean};
use crate::select;
use crate::sinks::{SinkDocument, look, table};

/// Point the stream somewhere: a file, a receiver, a program.
///
/// Nothing leaves this machine before a sink is added. A sink gets no more than its tier, with secrets removed; each event
/// once, in order, whatever fails in between.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sessionpipe sink add ~/agents.jsonl --tier 3\n  \
                        sessionpipe sink add https://pipe.example.com --tier 1 --token-env PIPE_TOKEN\n  \
                        sessionpipe sink add 'exec:notify-send \"an agent needs you\"' --type attention.needed\n  \
                        sessionpipe sink list")]
pub struct Args {
    /// What to do
    #[command(subcommand)]
    pub command: SinkCommand,
}

/// What can be done with sinks.
#[derive(Debug, Subcommand)]
#[expect(missing_docs, reason = "clap takes the help from the arguments only where the variant has none")]
pub enum SinkCommand {
    Add(Box<Add>),
    List(List),
    Remove(Remove),
    Test(Test),
    Pause(PauseArgs),
    Resume(Resume),
}

/// Add a sink.
///
/// Says what the tier sends, and shows an event of this machine as it would leave.
#[derive(Debug, clap::Args)]
#[command(after_help = "Targets:\n  PATH                 a file of JSON lines, rotated at 64 MB\n  \
                        stdout               what `sessionpipe flush` prints\n  \
                        https://HOST         a receiver of the protocol; http:// only on this machine\n  \
                        otlp+https://HOST    an OpenTelemetry endpoint\n  \
                        exec:COMMAND         a command of the shell per event, the event on its stdin; exit 75: try again\n\n\
                        Tiers: 0 who is there and needs you, 1 what is done, 2 what is said, 3 what tools are given and \
                        give back.")]
pub struct Add {
    /// Where to: PATH, stdout, http(s)://…, otlp+http(s)://… or exec:COMMAND
    #[arg(value_name = "TARGET")]
    pub target: String,
    /// What an event carries at most
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=i64::from(MAX_TIER)))]
    pub tier: Tier,
    /// Also take out emails, phone numbers, home folders, the machine's name and the account
    #[arg(long)]
    pub pii: bool,
    /// What to call it; by default the host or the file's name
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// The variable that holds the bearer token; agents must be started with it
    #[arg(long, value_name = "VAR", conflicts_with = "token_file")]
    pub token_env: Option<String>,
    /// The file that holds the bearer token; nobody else may read it
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<String>,
    /// The variable that holds the secret of the signature (`whsec_…`)
    #[arg(long, value_name = "VAR")]
    pub secret_env: Option<String>,
    /// How sessions are named: by the agent's own ids, or by UUIDs
    #[arg(long, value_name = "KIND", default_value = "native", value_parser = ["native", "uuid"])]
    pub session_ids: String,
    /// How an OTLP request is written
    #[arg(long, value_name = "KIND", default_value = "protobuf", value_parser = ["protobuf", "json"])]
    pub encoding: String,
    /// Only events of this agent (can be given more than once)
    #[arg(long, value_name = "NAME")]
    pub harness: Vec<String>,
    /// Only events of this type, or `attention.*` (can be given more than once)
    #[arg(long = "type", value_name = "TYPE")]
    pub types: Vec<String>,
    /// Begin with the next event, or with the oldest that is kept
    #[arg(long, value_name = "WHEN", default_value = "now", value_parser = ["now", "start"])]
    pub from: String,
}

/// Show the sinks and how they do.
#[derive(Debug, clap::Args)]
pub struct List {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Remove a sink. What was sent stays where it is.
#[derive(Debug, clap::Args)]
pub struct Remove {
    /// Its name
    pub name: String,
}

/// Send a sink two events of a session that there is not, and say what it answers.
///
/// The second one asks it to forget that session.
#[derive(Debug, clap::Args)]
pub struct Test {
    /// Its name
    pub name: String,
}

/// Send nothing to a sink until `resume`. What happens meanwhile waits for it.
#[derive(Debug, clap::Args)]
pub struct PauseArgs {
    /// Its name
    pub name: String,
}

/// Go on with a sink that was paused, by you or by what it answered, and with one that is failing: at once.
#[derive(Debug, clap::Args)]
pub struct Resume {
    /// Its name
    pub name: String,
}

/// Runs it.
///
/// # Errors
/// When the settings or the outbox cannot be used, a sink is unknown or none, or stdout cannot be written.
pub fn run(args: &Args, host: &Host, out: &Out) -> Outcome {
    match &args.command {
        SinkCommand::Add(args) => add(args, host, out),
        SinkCommand::List(args) => list(args, host, out),
        SinkCommand::Remove(args) => remove(&args.name, host, out),
        SinkCommand::Test(args) => test(&args.name, host, out),
        SinkCommand::Pause(args) => pause(&args.name, host, out),
        SinkCommand::Resume(args) => resume(&args.name, host, out),
    }
}

/// The sink of that name.
///
/// # Errors
/// When there is none, or the settings cannot be read.
pub fn named(name: &str, host: &Host) -> Result<Sink, CommandError> {
    let sinks = Config::read(host)?.settings.sinks;
    let known: Vec<&str> = sinks.iter().map(|sink| sink.name.as_str()).collect();
    let known =
        if known.is_empty() { "there is no sink yet".to_owned() } else { format!("known: {}", known.join(", ")) };
    let found = sinks.iter().find(|sink| sink.name == name).cloned();
    found.ok_or_else(|| CommandError::usage(anyhow::anyhow!("no sink is called {name:?}")).hint(known))
}

/// The rows of the sinks, in an outbox that is made where there is none.
///
/// # Errors
/// When it cannot be used.
pub fn ledger(host: &Host) -> Result<Ledger, CommandError> {
    // Its folders, as ours must be.
    Spool::open(&host.dirs).map_err(CommandError::failed)?;
    Ledger::create(&host.dirs.outbox()).map_err(|error| CommandError::outbox(host, error))
}

fn add(args: &Add, host: &Host, out: &Out) -> Outcome {
    let sink = decided(args, host)?;
    let takes = match &sink.target {
        Target::Http(uri) => meet(&sink, uri, host)?,
        _ => None,
    };
    // In this order: a worker that meets the sink in the settings finds where it begins.
    let from_start = sink.from == Begin::Start;
    let mut ledger = ledger(host)?;
    if !Config::read(host)?.settings.sinks.iter().any(|other| other.name == sink.name) {
        ledger.remove(&sink.name).map_err(CommandError::failed)?;
        ledger.enter(&sink.name, from_start).map_err(CommandError::failed)?;
    }
    add_sink(&sink, host)?;
    let mut text = format!("{} → {}\n", out.paint(Role::Name, &sink.name), clean(&sink.target.to_string()));
    text.push_str(&format!("{}\n", out.wrap(&what_leaves(&sink), 0)));
    if let Some(takes) = takes {
        text.push_str(&format!("{}\n", out.wrap(&takes, 0)));
    }
    match sample(&sink, host)? {
        Some(event) => {
            let json = serde_json::to_string_pretty(&event).map_err(CommandError::failed)?;
            text.push_str(&format!("\nAn event of this machine as it leaves:\n{json}\n"));
        }
        None => text.push_str("\nNo event is kept here yet that it would get.\n"),
    }
    let next = match sink.target {
        Target::Stdout => "What is new since then is printed by: sessionpipe flush".to_owned(),
        _ => format!("Try it: sessionpipe sink test {}", sink.name),
    };
    out.print(&format!("{text}\n{next}\n"))?;
    if from_start {
        wake(&host.dirs, start_worker);
    }
    Ok(Exit::Success)
}

/// What the arguments say.
fn decided(args: &Add, host: &Host) -> Result<Sink, CommandError> {
    let names = select::event_names();
    if let Some(name) = args.harness.iter().find(|name| !names.contains(&name.as_str())) {
        let error = CommandError::usage(anyhow::anyhow!("no harness is called {name:?}"));
        return Err(error.hint(format!("known: {}", names.join(", "))));
    }
    let is_path = !args.target.contains(':') && args.target != "stdout" && !args.target.is_empty();
    let path = |text: &str| absolute(text, &host.home).unwrap_or_else(|| host.cwd.join(text));
    let target = if is_path { Ok(Target::File(path(&args.target))) } else { args.target.parse() };
    let target = target.map_err(CommandError::usage)?;
    let name = args.name.clone().unwrap_or_else(|| target.suggested_name());
    Ok(Sink {
        tier: args.tier,
        pii: args.pii,
        token_env: args.token_env.clone(),
        token_file: args.token_file.as_deref().map(path),
        secret_env: args.secret_env.clone(),
        session_ids: if args.session_ids == "uuid" { SessionIds::Uuid } else { SessionIds::Native },
        encoding: if args.encoding == "json" { Encoding::Json } else { Encoding::Protobuf },
        harnesses: args.harness.clone(),
        types: args.types.clone(),
        from: if args.from == "start" { Begin::Start } else { Begin::Now },
        ..Sink::new(name, target)
    })
}

/// Asks a receiver what it takes. One that cannot be reached now may be later; one that is none will not.
fn meet(sink: &Sink, uri: &Uri, host: &Host) -> Result<Option<String>, CommandError> {
    // The token is not needed to ask.
    let bare = Sink { token_env: None, token_file: None, secret_env: None, ..sink.clone() };
    let asked = Http::new(&bare, uri).and_then(|http| http.discover(host.now_ms));
    let missing = [sink.token(), sink.secret()].into_iter().flatten().find_map(|source| source.read().err());
    let missing = missing.map(|error| format!(" Note: {error}; it is needed where agents run.")).unwrap_or_default();
    match asked {
        Ok(receiver) if receiver.max_tier < sink.tier => {
            Ok(Some(format!("It takes tier {} at most, and gets no more.{missing}", receiver.max_tier)))
        }
        Ok(_) => Ok(Some(missing.trim_start().to_owned()).filter(|note| !note.is_empty())),
        Err(Answer::Later { reason, .. }) => {
            Ok(Some(format!("It could not be reached just now ({reason}); it is tried again.{missing}")))
        }
        Err(answer) => {
            let reason = reason_of(answer);
            let error = anyhow::anyhow!("{}: {reason}", sink.target);
            Err(CommandError::failed(error).hint("nothing was added"))
        }
    }
}

fn reason_of(answer: Answer) -> String {
    match answer {
        Answer::Accepted(_) => "accepted".to_owned(),
        Answer::TooLarge(reason) | Answer::Refused(reason) | Answer::Pause(reason) | Answer::Later { reason, .. } => {
            reason
        }
        Answer::TierTooHigh(tier) => match tier {
            Some(tier) => format!("it takes tier {tier} at most"),
            None => "it does not take this tier".to_owned(),
        },
    }
}

/// In plain words.
fn what_leaves(sink: &Sink) -> String {
    let mut parts = vec![
        "which agent works where (folder, repository, branch, machine, title), when turns begin and end, when it needs you",
        "which tools run, for how long and whether they succeed, the names of changed files, tokens used, what an agent asks you",
        "what you and the agents write",
        "what tools are given and give back: commands, contents of files, output",
    ];
    parts.truncate(usize::from(sink.tier) + 1);
    let never = match sink.tier {
        0 => " Nothing of what is said or done.",
        1 => " Nothing of what is said, and nothing of what tools are given or give back.",
        2 => " Nothing of what tools are given or give back.",
        _ => "",
    };
    let only = match (sink.harnesses.as_slice(), sink.types.as_slice()) {
        ([], []) => String::new(),
        (harnesses, types) => format!(" Only events of: {}.", [harnesses, types].concat().join(", ")),
    };
    let pii = if sink.pii {
        " Emails, phone numbers, home folders, the machine's name and the account are taken out."
    } else {
        ""
    };
    format!("Tier {} sends {}.{never}{only} Secrets are removed at every tier.{pii}", sink.tier, parts.join("; "))
}

/// The latest event that tells most of what this sink gets, as it leaves.
fn sample(sink: &Sink, host: &Host) -> Result<Option<Event>, CommandError> {
    /// So many of the latest events are looked at.
    const LATEST: u32 = 500;
    let unreadable = |error| CommandError::outbox(host, error);
    let Some(reader) = Reader::open(&host.dirs.outbox()).map_err(unreadable)? else { return Ok(None) };
    let pii = Pii::new(&host.home.to_string_lossy());
    let mut best: Option<(Tier, Event)> = None;
    for entry in reader.events(0, Query { limit: Some(LATEST), ..Query::default() }).map_err(unreadable)? {
        let Some(event) = sink.outgoing(&entry.map_err(unreadable)?.event, sink.tier, &pii) else { continue };
        let telling = rule_of(&event.kind).map_or(0, |rule| rule.tier);
        if best.as_ref().is_none_or(|(tier, _)| telling >= *tier) {
            best = Some((telling, event));
        }
    }
    Ok(best.map(|(_, event)| event))
}

/// What `sink list --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "sessionpipe sink list --json")]
pub struct Document {
    /// The version of this format.
    #[schemars(extend("const" = 1))]
    version: u32,
    sinks: Vec<SinkDocument>,
}

fn list(args: &List, host: &Host, out: &Out) -> Outcome {
    let sinks = Config::read(host)?.settings.sinks;
    let reader = Reader::open(&host.dirs.outbox()).map_err(|error| CommandError::outbox(host, error))?;
    let sinks = look(&sinks, reader.as_ref())?;
    if args.json {
        out.json(&Document { version: 1, sinks: sinks.iter().map(SinkDocument::from).collect() })?;
    } else if sinks.is_empty() {
        out.print("No sink: nothing leaves this machine. To add one: sessionpipe sink add TARGET\n")?;
    } else {
        out.print(&table(&sinks, host, out))?;
    }
    Ok(Exit::Success)
}

fn remove(name: &str, host: &Host, out: &Out) -> Outcome {
    named(name, host)?;
    remove_sink(name, host)?;
    ledger(host)?.remove(name).map_err(CommandError::failed)?;
    out.print(&format!("{name} is removed.\n"))?;
    Ok(Exit::Success)
}

fn pause(name: &str, host: &Host, out: &Out) -> Outcome {
    let sink = named(name, host)?;
    let mut ledger = ledger(host)?;
    ledger.enter(name, sink.from == Begin::Start).map_err(CommandError::failed)?;
    let pause = Pause { at_ms: host.now_ms, reason: "by you".to_owned() };
    ledger.update(name, |_, state| state.paused = Some(pause)).map_err(CommandError::failed)?;
    out.print(&format!(
        "{name} is paused; what happens meanwhile waits for it. Go on with: sessionpipe sink resume {name}\n"
    ))?;
    Ok(Exit::Success)
}

fn resume(name: &str, host: &Host, out: &Out) -> Outcome {
    let sink = named(name, host)?;
    let mut ledger = ledger(host)?;
    ledger.enter(name, sink.from == Begin::Start).map_err(CommandError::failed)?;
    ledger
        .update(name, |_, state| {
            state.paused = None;
            state.retry = None;
        })
        .map_err(CommandError::failed)?;
    wake(&host.dirs, start_worker);
    out.print(&format!("{name} goes on.\n"))?;
    Ok(Exit::Success)
}

fn test(name: &str, host: &Host, out: &Out) -> Outcome {
    let sink = named(name, host)?;
    let failed = |answer: Answer| CommandError::failed(anyhow::anyhow!("{}: {}", sink.target, reason_of(answer)));
    let mut transport = connect(&sink).map_err(failed)?;
    transport.prepare(None, host.now_ms).map_err(failed)?;
    let pii = Pii::new(&host.home.to_string_lossy());
    let events = [EventType::SessionHeartbeat, EventType::SessionForgotten];
    let events: Vec<Outgoing> = (0..)
        .zip(events)
        .filter_map(|(nr, kind)| {
            let all = Sink { tier: 0, harnesses: Vec::new(), types: Vec::new(), ..sink.clone() };
            let event = all.outgoing(&trial(kind, nr, host), 0, &pii)?;
            let json = serde_json::to_string(&event).ok()?;
            Some(Outgoing { pos: 0, event, json })
        })
        .collect();
    let id = format!("msg_{}", ids::event_id(host.now_ms, &["sink test", name]));
    match transport.send(&Batch { id: &id, events: &events, again: false, now_ms: host.now_ms }) {
        Answer::Accepted(receipt) if receipt.rejected.is_empty() && receipt.lost == 0 => {
            out.print(&format!("{name} took a test event.\n"))?;
            Ok(Exit::Success)
        }
        Answer::Accepted(receipt) => {
            let reason =
                receipt.rejected.into_iter().next().map_or_else(|| "it did not say why".to_owned(), |r| r.reason);
            Err(CommandError::failed(anyhow::anyhow!(
                "{}: it took the batch but not its events: {reason}",
                sink.target
            )))
        }
        answer => Err(failed(answer)),
    }
}

/// An event of a session that there is not.
fn trial(kind: EventType, nr: u64, host: &Host) -> Event {
    let session = format!("sink-test-{}", ids::event_id(host.now_ms, &["session"]));
    Event {
        protocol: PROTOCOL,
        id: ids::event_id(host.now_ms, &[&session, kind.name()]),
        kind: kind.name().to_owned(),
        time: rfc3339(host.now_ms),
        tier: 0,
        harness: EventHarness { name: "sessionpipe".to_owned(), event: Some("sink test".to_owned()), version: None },
        session: Session { id: session, seq: nr, ..Session::default() },
        privacy: Privacy::default(),
        data: serde_json::Map::new(),
    }
}
