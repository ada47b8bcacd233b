//! One sink's turn: what waits for it goes out batch by batch, and each answer has its consequence. No threads and no
//! waiting here: [`Delivery::run`] says when there is something to do again.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use rustix::fs::FlockOperation;
use sessionpipe_core::event::{Event, Tier};
use sessionpipe_core::host::Host;
use sessionpipe_core::ids;
use sessionpipe_core::privacy::pii::Pii;

use super::client::LONGEST_WAIT_MS;
use super::config::{Begin, Sink};
use super::exec::Exec;
use super::file::Lines;
use super::http::Http;
use super::stdout::Stdout;
use super::target::Target;
use super::transport::{Answer, Batch, Limits, Outgoing, Receipt, Transport};
use crate::outbox::{Flight, Ledger, OutboxError, Pause, Retry, SinkState, Undelivered};
use crate::platform;

/// The protocol's back-off after the first, second, … failure in a row, in milliseconds; the last one for ever.
const BACK_OFF_MS: [i64; 5] = [2_000, 10_000, 60_000, 300_000, 1_800_000];

/// Up or down by this part of it, so that not all machines come back at once.
const JITTER_PERCENT: i64 = 20;

/// Events are read so many at a time.
const PAGE: usize = 128;

/// So many events that are not for the sink are passed over before its position is written down.
const SKIP: usize = 4_096;

/// Where a turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing waits.
    Idle,
    /// The sink is paused.
    Paused,
    /// Another process delivers for it.
    Elsewhere,
    /// It is tried again at this time, milliseconds since the epoch.
    At(i64),
    /// It was told to stop; more waits.
    Stopped,
}

/// What came of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Events that were accepted.
    pub sent: u64,
    /// Where it ended.
    pub next: Next,
}

/// What a turn needs of the program.
#[derive(Clone, Copy)]
pub struct Clocks<'a> {
    /// Milliseconds since the epoch.
    pub now_ms: &'a dyn Fn() -> i64,
    /// Random bits.
    pub chance: &'a dyn Fn() -> u64,
    /// Whether to stop before the next batch.
    pub stop: &'a dyn Fn() -> bool,
}

impl std::fmt::Debug for Clocks<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clocks")
    }
}

/// Delivers for one sink. Its connection is kept from turn to turn.
pub struct Delivery {
    sink: Sink,
    outbox: PathBuf,
    lock: PathBuf,
    pii: Pii,
    transport: Option<Box<dyn Transport>>,
    /// After "too large": so many events at once, until nothing waits any more.
    at_once: usize,
}

impl std::fmt::Debug for Delivery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Delivery").field("sink", &self.sink).finish_non_exhaustive()
    }
}

/// What goes out next.
struct Load {
    events: Vec<Outgoing>,
    /// Every event up to here is in it or not for the sink.
    last: i64,
    tier: Tier,
    /// Events that cannot be read any more.
    broken: Vec<Undelivered>,
}

/// How a batch ended.
enum Step {
    /// Nothing was sent yet.
    Ready,
    /// There may be more.
    On(u64),
    End(Next),
}

/// A connection for a sink's target.
///
/// # Errors
/// The answer, when there can be none now.
pub fn connect(sink: &Sink) -> Result<Box<dyn Transport>, Answer> {
    Ok(match &sink.target {
        Target::File(path) => Box::new(Lines::new(path.clone())),
        Target::Stdout => Box::new(Stdout),
        Target::Http(uri) => Box::new(Http::new(sink, uri)?),
        Target::Otlp(_) => return Err(Answer::Pause("this program has no OTLP".to_owned())),
        Target::Exec(command) => Box::new(Exec::new(command.clone())),
    })
}

impl Delivery {
    /// Delivers for this sink; nothing happens yet.
    #[must_use]
    pub fn new(sink: Sink, host: &Host) -> Self {
        let lock = host.dirs.state.join(format!("sink-{}.lock", sink.name));
        let pii = Pii::new(&host.home.to_string_lossy());
        Self { sink, outbox: host.dirs.outbox(), lock, pii, transport: None, at_once: usize::MAX }
    }

    /// The same with a transport of the caller's.
    #[must_use]
    pub fn over(mut self, transport: Box<dyn Transport>) -> Self {
        self.transport = Some(transport);
        self
    }

    /// Sends what waits, until nothing does or something keeps it. `ask` looks also where our own back-off would have it
    /// wait; a time that the receiver named holds.
    ///
    /// # Errors
    /// When the outbox cannot be used.
    pub fn run(&mut self, clocks: Clocks<'_>, ask: bool) -> Result<Turn, OutboxError> {
        let mut turn = Turn { sent: 0, next: Next::Idle };
        let Some(mut ledger) = Ledger::open(&self.outbox)? else { return Ok(turn) };
        let lock = OpenOptions::new().create(true).append(true).mode(0o600).open(&self.lock)?;
        if rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(Turn { next: Next::Elsewhere, ..turn });
        }
        let mut ask = ask;
        let mut limits = None;
        loop {
            if (clocks.stop)() {
                return Ok(Turn { next: Next::Stopped, ..turn });
            }
            match self.step(&mut ledger, clocks, ask, &mut limits)? {
                Step::Ready => {}
                Step::On(sent) => {
                    turn.sent += sent;
                    // Only once: what fails then has to wait.
                    ask = false;
                }
                Step::End(next) => return Ok(Turn { next, ..turn }),
            }
        }
    }

    /// One batch, or what is to be known before it. `ready`: what the transport takes, once it was asked in this turn.
    fn step(
        &mut self,
        ledger: &mut Ledger,
        clocks: Clocks<'_>,
        ask: bool,
        ready: &mut Option<Limits>,
    ) -> Result<Step, OutboxError> {
        let now_ms = (clocks.now_ms)();
        let (pos, state) = ledger.enter(&self.sink.name, self.sink.from == Begin::Start)?;
        if state.paused.is_some() {
            return Ok(Step::End(Next::Paused));
        }
        if let Some(retry) = &state.retry
            && retry.left_ms(now_ms) > 0
            && (retry.told || !ask)
        {
            return Ok(Step::End(Next::At(now_ms + retry.left_ms(now_ms))));
        }
        let tier = state.max_tier.unwrap_or(self.sink.tier).min(self.sink.tier);
        // Nothing is asked of a receiver for which there is nothing.
        let limits = ready.unwrap_or(Limits { max_events: 1, max_bytes: usize::MAX });
        let limits = Limits { max_events: limits.max_events.min(self.at_once).max(1), ..limits };
        let Some(load) = self.load(ledger, pos, &state, tier, limits)? else {
            self.at_once = usize::MAX;
            return Ok(Step::End(Next::Idle));
        };
        if load.events.is_empty() {
            return self.pass_over(ledger, &load, now_ms);
        }
        if ready.is_none() {
            return match self.prepare(ledger, &state, now_ms)? {
                Ok(limits) => {
                    *ready = Some(limits);
                    Ok(Step::Ready)
                }
                Err(answer) => self.settle(ledger, &load, answer, clocks),
            };
        }
        let flight = Flight { last: load.last, tier: load.tier };
        let again = state.flight == Some(flight);
        if !again {
            ledger.update(&self.sink.name, |_, state| state.flight = Some(flight))?;
        }
        let id = self.batch_id(&load);
        let batch = Batch { id: &id, events: &load.events, again, now_ms };
        let transport = self.transport.as_mut();
        // One that panics has to wait, like one that fails; it must not take the others with it.
        let sent = catch_unwind(AssertUnwindSafe(|| transport.map(|transport| transport.send(&batch))));
        let answer = match sent {
            Ok(Some(Answer::TooLarge(reason))) if load.events.len() == 1 => Answer::Refused(reason),
            Ok(answer) => answer.unwrap_or_else(|| Answer::later("not connected")),
            Err(_) => {
                self.transport = None;
                Answer::later("the transport panicked")
            }
        };
        self.settle(ledger, &load, answer, clocks)
    }

    /// What the transport takes, or the answer that keeps it from sending.
    fn prepare(
        &mut self,
        ledger: &mut Ledger,
        state: &SinkState,
        now_ms: i64,
    ) -> Result<Result<Limits, Answer>, OutboxError> {
        let transport = match &mut self.transport {
            Some(transport) => transport,
            none => match connect(&self.sink) {
                Ok(transport) => none.insert(transport),
                Err(answer) => return Ok(Err(answer)),
            },
        };
        let found = match transport.prepare(state.receiver.as_ref(), now_ms) {
            Ok(found) => found,
            Err(answer) => return Ok(Err(answer)),
        };
        let limits = transport.limits();
        if let Some(found) = found {
            ledger.update(&self.sink.name, |_, state| {
                state.max_tier = Some(found.max_tier);
                state.receiver = Some(found);
            })?;
        }
        Ok(Ok(limits))
    }

    /// The next batch: the one that was begun, as it was, or as much as fits; `None` when nothing is behind the position.
    fn load(
        &self,
        ledger: &Ledger,
        pos: i64,
        state: &SinkState,
        tier: Tier,
        limits: Limits,
    ) -> Result<Option<Load>, OutboxError> {
        let begun = state.flight.filter(|flight| flight.last > pos && flight.tier <= tier);
        let tier = begun.map_or(tier, |flight| flight.tier);
        let mut load = Load { events: Vec::new(), last: pos, tier, broken: Vec::new() };
        let mut bytes = 0;
        let mut passed = 0;
        loop {
            let page = ledger.after(load.last, PAGE)?;
            let ends = page.len() < PAGE;
            for stored in page {
                if begun.is_some_and(|flight| stored.pos > flight.last) {
                    return Ok(Some(load));
                }
                if passed >= SKIP {
                    return Ok(Some(load));
                }
                if !self.sink.wants(&stored.harness, &stored.kind) {
                    load.last = stored.pos;
                    passed += 1;
                    continue;
                }
                let event: Event = match serde_json::from_str(&stored.body) {
                    Ok(event) => event,
                    Err(error) => {
                        let reason = format!("the stored event cannot be read: {error}");
                        let broken =
                            Undelivered { pos: stored.pos, reason, body: stored.body, ..Undelivered::default() };
                        load.broken.push(broken);
                        load.last = stored.pos;
                        continue;
                    }
                };
                let Some(event) = self.sink.outgoing(&event, tier, &self.pii) else {
                    load.last = stored.pos;
                    passed += 1;
                    continue;
                };
                let json = serde_json::to_string(&event)?;
                // The frame of a batch, and a comma for each event.
                let more = json.len() + 1;
                let is_full = bytes + more + 16 > limits.max_bytes;
                // One that is too large for all that is sent alone: the receiver has the last word.
                if begun.is_none() && is_full && !load.events.is_empty() {
                    return Ok(Some(load));
                }
                bytes += more;
                load.last = stored.pos;
                load.events.push(Outgoing { pos: stored.pos, event, json });
                if begun.is_none() && load.events.len() >= limits.max_events {
                    return Ok(Some(load));
                }
            }
            if ends {
                return Ok((load.last > pos).then_some(load));
            }
        }
    }

    /// The same for the same events at the same tier: their ids, and what the person calls the sink.
    fn batch_id(&self, load: &Load) -> String {
        let mut identity = self.sink.name.clone();
        for event in &load.events {
            identity.push('\n');
            identity.push_str(&event.event.id);
        }
        identity.push_str(&format!("\n{} {} {:?}", load.tier, self.sink.pii, self.sink.session_ids));
        let mut hash = ids::hex(identity.as_bytes());
        hash.truncate(32);
        format!("msg_{hash}")
    }

    /// Nothing of it is for the sink.
    fn pass_over(&self, ledger: &mut Ledger, load: &Load, now_ms: i64) -> Result<Step, OutboxError> {
        ledger.set_aside(&self.sink.name, &load.broken, now_ms, |pos, state| {
            *pos = load.last;
            state.flight = None;
        })?;
        Ok(Step::Ready)
    }

    /// What follows from an answer.
    fn settle(
        &mut self,
        ledger: &mut Ledger,
        load: &Load,
        answer: Answer,
        clocks: Clocks<'_>,
    ) -> Result<Step, OutboxError> {
        let now_ms = (clocks.now_ms)();
        let name = &self.sink.name;
        match answer {
            Answer::Accepted(receipt) => {
                let sent = (load.events.len() as u64).saturating_sub(receipt.rejected.len() as u64 + receipt.lost);
                let aside: Vec<Undelivered> = load.broken.iter().cloned().chain(rejected(load, &receipt)).collect();
                ledger.set_aside(name, &aside, now_ms, |pos, state| {
                    *pos = load.last;
                    state.flight = None;
                    state.retry = None;
                    state.last_ms = Some(now_ms);
                    state.sent += sent;
                    state.duplicates += receipt.duplicates;
                    state.rejected += receipt.rejected.len() as u64 + receipt.lost;
                    if receipt.max_tier.is_some() {
                        state.max_tier = receipt.max_tier;
                    }
                })?;
                Ok(Step::On(sent))
            }
            Answer::TooLarge(_) => {
                self.at_once = (load.events.len() / 2).max(1);
                ledger.update(name, |_, state| state.flight = None)?;
                Ok(Step::On(0))
            }
            Answer::Refused(reason) => {
                let refused = load.events.iter().map(|event| Undelivered {
                    pos: event.pos,
                    reason: reason.clone(),
                    body: event.json.clone(),
                    ..Undelivered::default()
                });
                let aside: Vec<Undelivered> = load.broken.iter().cloned().chain(refused).collect();
                ledger.set_aside(name, &aside, now_ms, |pos, state| {
                    *pos = load.last;
                    state.flight = None;
                    state.retry = None;
                    state.rejected += load.events.len() as u64;
                })?;
                Ok(Step::On(0))
            }
            Answer::TierTooHigh(max_tier) if load.tier > 0 => {
                let lower = max_tier.filter(|tier| *tier < load.tier).unwrap_or(load.tier - 1);
                ledger.update(name, |_, state| {
                    state.max_tier = Some(lower);
                    state.flight = None;
                })?;
                Ok(Step::On(0))
            }
            Answer::TierTooHigh(_) => {
                self.settle(ledger, load, Answer::Pause("403: it takes no tier at all".to_owned()), clocks)
            }
            Answer::Pause(reason) => {
                // Whatever is changed by the person before it goes on is read then.
                self.transport = None;
                ledger.update(&self.sink.name, |_, state| state.paused = Some(Pause { at_ms: now_ms, reason }))?;
                Ok(Step::End(Next::Paused))
            }
            Answer::Later { reason, after_ms } => {
                let chance = (clocks.chance)();
                let at_ms = ledger.update(name, |_, state| {
                    let retry = retry(state.retry.take(), reason, after_ms, now_ms, chance);
                    let at_ms = retry.at_ms;
                    state.retry = Some(retry);
                    at_ms
                })?;
                Ok(Step::End(at_ms.map_or(Next::Idle, Next::At)))
            }
        }
    }
}

/// The events of a batch that the receiver does not want.
fn rejected<'a>(load: &'a Load, receipt: &'a Receipt) -> impl Iterator<Item = Undelivered> + 'a {
    receipt.rejected.iter().filter_map(|rejected| {
        let event = load.events.iter().find(|event| event.event.id == rejected.id)?;
        let reason = rejected.reason.clone();
        Some(Undelivered { pos: event.pos, reason, body: event.json.clone(), ..Undelivered::default() })
    })
}

/// When to try again: as long as the other side asks, else the next step of the back-off.
fn retry(before: Option<Retry>, reason: String, after_ms: Option<i64>, now_ms: i64, chance: u64) -> Retry {
    let (failures, since_ms) = before.map_or((0, now_ms), |retry| (retry.failures, retry.since_ms));
    let step = usize::try_from(failures).unwrap_or(usize::MAX).min(BACK_OFF_MS.len() - 1);
    let wait_ms = match after_ms {
        // Never sooner than told.
        Some(told) => (told + told * part(chance, 0) / 100).min(LONGEST_WAIT_MS),
        None => {
            let wait = BACK_OFF_MS.get(step).copied().unwrap_or(LONGEST_WAIT_MS);
            wait + wait * part(chance, -JITTER_PERCENT) / 100
        }
    };
    let failures = failures.saturating_add(1);
    Retry { at_ms: now_ms + wait_ms, wait_ms, failures, told: after_ms.is_some(), reason, since_ms }
}

/// A percentage from `least` to [`JITTER_PERCENT`].
fn part(chance: u64, least: i64) -> i64 {
    let span = u64::try_from(JITTER_PERCENT - least + 1).unwrap_or(1);
    least + i64::try_from(chance % span).unwrap_or(0)
}

/// The clock and the chance of the system, until `stop`.
pub fn with_system<T>(stop: &dyn Fn() -> bool, then: impl FnOnce(Clocks<'_>) -> T) -> T {
    let now_ms = || i64::try_from(platform::now().as_millis()).unwrap_or(i64::MAX);
    then(Clocks { now_ms: &now_ms, chance: &platform::chance, stop })
}

#[cfg(test)]
mod tests;
