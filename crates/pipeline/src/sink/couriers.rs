//! Who carries: in the worker a thread for each sink, so that one that is dead or slow holds up nobody; in `flush` the
//! same until all is there or the time is over.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use sessionpipe_core::host::Host;

use super::config::Sink;
use super::delivery::{Delivery, Next, with_system};
use super::target::Target;
use crate::outbox::{OutboxError, Reader};
use crate::platform;

/// A worker with nothing else to do stays for a retry that is due within this, in milliseconds: all but the last step of
/// the back-off. A later one happens when the next hook starts a worker.
const STAY_MS: i64 = 6 * 60 * 1000;

/// How long to wait where another process delivers for the sink.
const ELSEWHERE: Duration = Duration::from_millis(100);

/// How long to wait when the outbox cannot be used; the worker sees to it meanwhile.
const OUTBOX_RETRY: Duration = Duration::from_secs(5);

/// The threads of a worker.
#[derive(Debug, Default)]
pub struct Couriers {
    threads: BTreeMap<String, Courier>,
}

#[derive(Debug)]
struct Courier {
    sink: Sink,
    wake: SyncSender<()>,
    status: Arc<Mutex<Status>>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// What a thread is at.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Status {
    /// It was woken and has not looked yet, or it delivers.
    Busy,
    Waiting(Next),
}

fn set(status: &Mutex<Status>, value: Status) {
    *status.lock().unwrap_or_else(PoisonError::into_inner) = value;
}

impl Courier {
    fn start(sink: Sink, host: &Host) -> std::io::Result<Self> {
        let (wake, woken) = mpsc::sync_channel(1);
        let status = Arc::new(Mutex::new(Status::Busy));
        let stop = Arc::new(AtomicBool::new(false));
        let (said, told) = (Arc::clone(&status), Arc::clone(&stop));
        let mut delivery = Delivery::new(sink.clone(), host);
        let thread = thread::Builder::new().name(format!("sink {}", sink.name)).spawn(move || {
            let is_told = || told.load(Ordering::Relaxed);
            loop {
                let turn = with_system(&is_told, |clocks| delivery.run(clocks, false));
                let wait = match turn {
                    Ok(turn) => {
                        let wait = match turn.next {
                            Next::Stopped => return,
                            Next::Idle | Next::Paused => None,
                            Next::Elsewhere => Some(ELSEWHERE),
                            Next::At(at_ms) => Some(until(at_ms)),
                        };
                        set(&said, Status::Waiting(turn.next));
                        wait
                    }
                    Err(_) => {
                        set(&said, Status::Waiting(Next::Idle));
                        Some(OUTBOX_RETRY)
                    }
                };
                let woken = match wait {
                    Some(wait) => woken.recv_timeout(wait),
                    None => woken.recv().map_err(|_| RecvTimeoutError::Disconnected),
                };
                if matches!(woken, Err(RecvTimeoutError::Disconnected)) {
                    return;
                }
                set(&said, Status::Busy);
            }
        })?;
        Ok(Self { sink, wake, status, stop, thread })
    }

    fn wake(&self) {
        // Said before it is woken: it must not seem idle until it has looked, nor busy after that.
        set(&self.status, Status::Busy);
        // One that is woken already looks all the same.
        let _ = self.wake.try_send(());
    }
}

/// How long it is until a time.
fn until(at_ms: i64) -> Duration {
    let now_ms = i64::try_from(platform::now().as_millis()).unwrap_or(i64::MAX);
    Duration::from_millis(u64::try_from(at_ms.saturating_sub(now_ms)).unwrap_or(0))
}

impl Couriers {
    /// Makes the threads those of these sinks, and lets each look for what is new.
    pub fn wake(&mut self, sinks: &[Sink], host: &Host) {
        let sinks: Vec<&Sink> = sinks.iter().filter(|sink| sink.target != Target::Stdout).collect();
        self.threads.retain(|_, courier| {
            let stays = sinks.contains(&&courier.sink) && !courier.thread.is_finished();
            if !stays {
                courier.stop.store(true, Ordering::Relaxed);
            }
            stays
        });
        for sink in sinks {
            match self.threads.get(&sink.name) {
                Some(courier) => courier.wake(),
                // No thread to be had is as bad as a receiver that is away: the next round tries again.
                None => {
                    if let Ok(courier) = Courier::start(sink.clone(), host) {
                        self.threads.insert(sink.name.clone(), courier);
                    }
                }
            }
        }
    }

    /// Whether something goes out now, or soon.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        let soon = |at_ms: i64| until(at_ms) <= Duration::from_millis(STAY_MS.unsigned_abs());
        self.threads.values().any(|courier| match &*courier.status.lock().unwrap_or_else(PoisonError::into_inner) {
            Status::Busy | Status::Waiting(Next::Elsewhere | Next::Stopped) => true,
            Status::Waiting(Next::At(at_ms)) => soon(*at_ms),
            Status::Waiting(Next::Idle | Next::Paused) => false,
        })
    }
}

impl Drop for Couriers {
    fn drop(&mut self) {
        for courier in self.threads.values() {
            courier.stop.store(true, Ordering::Relaxed);
        }
    }
}

/// What `flush` brought to one sink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brought {
    /// The sink's name.
    pub sink: String,
    /// Events that were accepted.
    pub sent: u64,
    /// Where it ended.
    pub next: Next,
}

/// Delivers for these sinks now, each in a thread of its own, until nothing waits or `end`. Where the worker delivers, it
/// waits for it.
///
/// # Errors
/// When the outbox cannot be used.
pub fn flush(sinks: &[Sink], host: &Host, end: Instant) -> Result<Vec<Brought>, OutboxError> {
    let one = |sink: &Sink| -> Result<Brought, OutboxError> {
        let mut delivery = Delivery::new(sink.clone(), host);
        let is_over = || Instant::now() >= end;
        let mut brought = Brought { sink: sink.name.clone(), sent: 0, next: Next::Idle };
        loop {
            let turn = with_system(&is_over, |clocks| delivery.run(clocks, true))?;
            brought.sent += turn.sent;
            brought.next = turn.next;
            if brought.next != Next::Elsewhere || is_over() {
                return Ok(brought);
            }
            thread::sleep(ELSEWHERE.min(end.saturating_duration_since(Instant::now())));
        }
    };
    thread::scope(|scope| {
        let threads: Vec<_> = sinks.iter().map(|sink| scope.spawn(move || one(sink))).collect();
        let joined =
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        joined.collect()
    })
}

/// Whether any of these sinks has something that it would send now or soon.
///
/// # Errors
/// When the outbox cannot be read.
pub fn is_due(sinks: &[Sink], host: &Host) -> Result<bool, OutboxError> {
    let Some(reader) = Reader::open(&host.dirs.outbox())? else { return Ok(false) };
    let rows = reader.sinks()?;
    let is_due = |sink: &&Sink| match rows.iter().find(|row| row.name == sink.name) {
        Some(row) => {
            let waits = row.state.retry.as_ref().is_some_and(|retry| until(retry.at_ms) > Duration::ZERO);
            row.waiting > 0 && row.state.paused.is_none() && !waits
        }
        None => true,
    };
    Ok(sinks.iter().filter(|sink| sink.target != Target::Stdout).any(|sink| is_due(&sink)))
}
