//! The worker: one detached process per state folder, started by a hook that finds none, gone when there is nothing left
//! to watch.
//!
//! It takes what waits in the spool, lets time pass for the sessions that it watches, and waits: for a hook's byte in the
//! FIFO, or for the next tick. It watches sessions with an open turn whose process is known. [`wake`] tells
//! how it stops without stranding a job. The sinks have threads of their own ([`couriers`](crate::sink::couriers)), which
//! it wakes after each round; it stays while one of them has something to send soon.

use std::cell::OnceCell;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, OFlags};
use sessionpipe_core::host::Dirs;
use sessionpipe_core::tracker::LOST_GRACE_MS;
use signal_hook::consts::SIGTERM;

use crate::losses;
use crate::outbox::{OpenProcess, Outbox, OutboxError, Reader};
use crate::platform;
use crate::sink::couriers::Couriers;
use crate::spool::{JobId, OpenError, Spool};
use crate::take::{Context, Taken, Taker};
use crate::wake::{self, Listener, Lock};

/// With nothing to watch, the worker exits after this long without a job: long enough that a busy session does not start
/// one per hook, short enough that it is not there when nobody works.
pub const IDLE: Duration = Duration::from_secs(30);

/// How often time passes for the sessions that are watched.
const TICK: Duration = Duration::from_secs(5);

/// How often the outbox is kept within its bounds, and the spool and the marks of done jobs are cleaned.
const HOUSEKEEPING_MS: u64 = 60_000;

/// So many steps of pruning at one time: the rest is for the next.
const PRUNE_STEPS: usize = 16;

/// After a failure to write the outbox the worker waits this long, then twice as long each time.
const FIRST_RETRY_MS: i64 = 1_000;

/// And never longer than this.
const LAST_RETRY_MS: i64 = 60_000;

/// Longer than anybody waits, and within what the clock can add.
const LONGEST_FLUSH: Duration = Duration::from_secs(24 * 60 * 60);

/// How often `flush` looks whether another worker is done.
const FLUSH_LOOK: Duration = Duration::from_millis(10);

/// Why a worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Nothing to do for [`IDLE`], and nothing to watch.
    Idle,
    /// Another worker is there.
    Occupied,
    /// It was told to (SIGTERM).
    Stopped,
    /// A newer program has written a job, or the outbox: its own worker goes on.
    Outdated,
    /// The state folder was deleted or moved: what is at its place now has a worker of its own.
    Displaced,
}

/// Why a worker or a flush cannot run.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The state folder cannot be used.
    #[error("cannot use the spool")]
    Spool(#[from] OpenError),
    /// The outbox cannot be used.
    #[error(transparent)]
    Outbox(#[from] OutboxError),
    /// The lock, the FIFO or the signal handler fails.
    #[error("cannot wait for jobs")]
    Wait(#[from] io::Error),
}

/// What `flush` did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flushed {
    /// Jobs that are done.
    pub taken: usize,
    /// Jobs that were there when it began, and still are.
    pub left: usize,
    /// A turn is open and no worker may be there to watch it: the caller starts one.
    pub watch: bool,
}

/// What the sessions want of the worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Watch {
    /// A turn is open, and its process lives.
    turns: bool,
    /// A process is gone, and its session has not been told to be lost yet.
    lost: bool,
}

/// Runs a worker until it has nothing to do. It changes the working folder to `/`, so that it keeps no file system busy.
///
/// # Errors
/// When the state folder, the lock or the FIFO cannot be used. An outbox that cannot be written is no error: the jobs
/// wait, and it is tried again.
pub fn run(context: &Context<'_>) -> Result<Exit, WorkerError> {
    let stop = Stop::on_sigterm()?;
    platform::outlive_file_size_limit();
    std::env::set_current_dir("/")?;
    serve(context, IDLE, &stop, &mut |_| ())
}

/// Where a worker is on its way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing more to do: it is about to close the FIFO.
    Closing,
    /// The FIFO is closed.
    Closed,
    /// It has scanned once more, and is about to let go of the lock.
    Scanned,
}

pub(crate) fn serve(
    context: &Context<'_>,
    idle: Duration,
    stop: &Stop,
    at: &mut dyn FnMut(Step),
) -> Result<Exit, WorkerError> {
    let dirs = &context.host.dirs;
    let spool = Spool::open(dirs)?;
    let Some(mut lock) = Lock::take(dirs)? else { return Ok(Exit::Occupied) };
    let mut worker = Worker::new(context, spool);
    let mut looked_again = None;
    loop {
        let listener = Listener::open(dirs)?;
        stop.wake_through_fifo(dirs)?;
        let exit = worker.listen(&lock, &listener, idle, stop)?;
        at(Step::Closing);
        listener.close();
        at(Step::Closed);
        if matches!(exit, Exit::Outdated | Exit::Displaced) {
            return Ok(exit);
        }
        if worker.round().is_ok() && exit == Exit::Idle {
            worker.carry();
            if worker.watch != Watch::default() || worker.couriers.is_busy() {
                // The last scan found the beginning of a turn, or something to send.
                continue;
            }
        }
        at(Step::Scanned);
        drop(lock);
        // A worker that was started meanwhile may have waited in vain for a round as long as that of a slow disk.
        if exit != Exit::Idle || worker.spool.list()?.is_empty() || looked_again == Some(worker.taken) {
            return Ok(exit);
        }
        looked_again = Some(worker.taken);
        match Lock::try_take(dirs)? {
            Some(again) => lock = again,
            None => return Ok(exit),
        }
    }
}

/// Takes all that waits. Without a worker it does so itself; else it wakes the worker, and waits until the jobs that were
/// there at the beginning are gone. Sessions whose process is gone are told to be lost, as far as `timeout` allows.
///
/// # Errors
/// When the state folder or the outbox cannot be used.
pub fn flush(context: &Context<'_>, timeout: Duration) -> Result<Flushed, WorkerError> {
    let dirs = &context.host.dirs;
    let end = Instant::now() + timeout.min(LONGEST_FLUSH);
    let spool = Spool::open(dirs)?;
    let waiting = spool.list()?;
    let mut woken = false;
    loop {
        let left = left_of(&waiting, &spool)?;
        if let Some(lock) = Lock::try_take(dirs)? {
            let mut worker = Worker::new(context, spool);
            let result = worker.flush(end);
            drop(lock);
            result?;
            let left_now = left_of(&waiting, &worker.spool)?;
            let elsewhere = waiting.len() - left;
            return Ok(Flushed { taken: elsewhere + worker.taken, left: left_now, watch: worker.watch.turns });
        }
        let lost = || Ok::<_, WorkerError>(has_lost(context)?);
        if (left == 0 && !lost()?) || Instant::now() >= end {
            return Ok(Flushed { taken: waiting.len() - left, left, watch: false });
        }
        // One that does not listen any more is about to let go of the lock.
        if !woken {
            woken = true;
            wake::wake(dirs, || ());
        }
        std::thread::sleep(FLUSH_LOOK.min(end.saturating_duration_since(Instant::now())));
    }
}

fn left_of(waiting: &[JobId], spool: &Spool) -> io::Result<usize> {
    let there = spool.list()?;
    Ok(waiting.iter().filter(|job| there.binary_search(job).is_ok()).count())
}

/// Whether a session is open whose process is gone.
fn has_lost(context: &Context<'_>) -> Result<bool, OutboxError> {
    let Some(reader) = Reader::open(&context.host.dirs.outbox())? else { return Ok(false) };
    let is_lost = |open: &OpenProcess| !(context.alive)(&open.process) && context.mapper_of(&open.harness).is_some();
    Ok(reader.open_processes()?.iter().any(is_lost))
}

/// Whether the worker was told to stop: a flag, and a byte in the FIFO, so that it does not sleep on.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    asked: Arc<AtomicBool>,
    by_signal: bool,
    wakes: OnceCell<()>,
}

impl Stop {
    fn on_sigterm() -> io::Result<Self> {
        let stop = Self { by_signal: true, ..Self::default() };
        signal_hook::flag::register(SIGTERM, Arc::clone(&stop.asked))?;
        Ok(stop)
    }

    /// After the flag, since what is registered first runs first.
    fn wake_through_fifo(&self, dirs: &Dirs) -> io::Result<()> {
        if self.by_signal && self.wakes.set(()).is_ok() {
            let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let fifo = rustix::fs::openat(CWD, dirs.worker_fifo(), flags, Mode::empty())?;
            signal_hook::low_level::pipe::register(SIGTERM, fifo)?;
        }
        Ok(())
    }

    fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }
}

/// A worker at work, without its lock and its FIFO.
#[derive(Debug)]
pub(crate) struct Worker<'a> {
    context: &'a Context<'a>,
    spool: Spool,
    outbox: Option<Outbox>,
    taker: Taker<'a>,
    watch: Watch,
    /// Jobs taken in all.
    taken: usize,
    retry: Option<Retry>,
    /// When it last did its housekeeping.
    housekept_ms: Option<i64>,
    /// Losses of hooks that are taken from their counters and not yet in the outbox.
    losses: Vec<(losses::Reason, u64)>,
    couriers: Couriers,
}

/// The outbox cannot be written.
#[derive(Clone, Copy, Debug)]
struct Retry {
    at_ms: i64,
    wait_ms: i64,
    failures: u32,
}

impl Retry {
    /// How long there is to wait; nothing when the clock was set back meanwhile.
    fn left_ms(self, now_ms: i64) -> i64 {
        let left = self.at_ms - now_ms;
        if left > self.wait_ms { 0 } else { left.max(0) }
    }
}

impl<'a> Worker<'a> {
    pub(crate) fn new(context: &'a Context<'a>, spool: Spool) -> Self {
        Self {
            context,
            spool,
            outbox: None,
            taker: Taker::new(context),
            watch: Watch::default(),
            taken: 0,
            retry: None,
            housekept_ms: None,
            losses: Vec::new(),
            couriers: Couriers::default(),
        }
    }

    /// Takes and ticks until there is nothing to do.
    fn listen(&mut self, lock: &Lock, listener: &Listener, idle: Duration, stop: &Stop) -> Result<Exit, WorkerError> {
        let mut idle_since = Instant::now();
        loop {
            if !lock.is_in_place(&self.context.host.dirs) {
                return Ok(Exit::Displaced);
            }
            let before = self.taken;
            match self.round() {
                Ok(Taken { newer: true, .. }) | Err(OutboxError::Newer { .. }) => return Ok(Exit::Outdated),
                _ => {}
            }
            if stop.is_asked() {
                return Ok(Exit::Stopped);
            }
            self.carry();
            // Jobs that cannot be stored yet are tried again, though no hook comes any more.
            let retries = self.retry.is_some() && self.spool.list().is_ok_and(|jobs| !jobs.is_empty());
            if self.taken > before || retries || self.watch != Watch::default() || self.couriers.is_busy() {
                idle_since = Instant::now();
            }
            let left = idle.saturating_sub(idle_since.elapsed());
            if left.is_zero() {
                return Ok(Exit::Idle);
            }
            listener.wait(left.min(self.pause()))?;
        }
    }

    /// Lets the sinks' threads look for what is new.
    fn carry(&mut self) {
        if let Some(settings) = (self.context.settings)() {
            self.couriers.wake(&settings.sinks, self.context.host);
        }
    }

    /// `flush` under the lock. It listens like a worker: a hook that comes meanwhile must find somebody.
    fn flush(&mut self, end: Instant) -> Result<(), WorkerError> {
        let listener = Listener::open(&self.context.host.dirs)?;
        loop {
            self.round()?;
            let left = end.saturating_duration_since(Instant::now());
            if !self.watch.lost || left.is_zero() {
                break;
            }
            listener.wait(left.min(self.pause()))?;
        }
        listener.close();
        self.round()?;
        Ok(())
    }

    /// How long to wait for a hook.
    fn pause(&self) -> Duration {
        match self.retry {
            Some(retry) => ms(retry.left_ms(self.context.clock.now_ms())),
            None if self.watch.lost => ms(LOST_GRACE_MS),
            None if self.watch.turns => TICK,
            None => Duration::MAX,
        }
    }

    /// One round: the spool first, so that a process that is gone has had its last word; then time passes.
    pub(crate) fn round(&mut self) -> Result<Taken, OutboxError> {
        let now_ms = self.context.clock.now_ms();
        if self.retry.is_some_and(|retry| retry.left_ms(now_ms) > 0) {
            return Ok(Taken::default());
        }
        let mut result = self.work(now_ms);
        if let Err(OutboxError::Damaged(_)) = result {
            self.taker.forget();
            self.outbox = None;
            result = Outbox::replace(&self.context.host.dirs.outbox(), now_ms).and_then(|outbox| {
                self.outbox = Some(outbox);
                self.work(now_ms)
            });
        }
        match &result {
            Ok(_) => self.retry = None,
            Err(_) => {
                self.taker.forget();
                // Opened anew: a connection that failed may be in any state.
                self.outbox = None;
                let wait_ms = self.retry.map_or(FIRST_RETRY_MS, |retry| (retry.wait_ms * 2).min(LAST_RETRY_MS));
                let failures = self.retry.map_or(0, |retry| retry.failures) + 1;
                self.retry = Some(Retry { at_ms: now_ms + wait_ms, wait_ms, failures });
            }
        }
        result
    }

    fn work(&mut self, now_ms: i64) -> Result<Taken, OutboxError> {
        let outbox = match &mut self.outbox {
            Some(outbox) => outbox,
            none => none.insert(Outbox::open(&self.context.host.dirs.outbox())?),
        };
        let taken = self.taker.take_all(&self.spool, outbox)?;
        self.taken += taken.jobs;
        if taken.newer {
            return Ok(taken);
        }
        self.watch = tick(self.context, &mut self.taker, outbox)?;
        let is_due = self.housekept_ms.is_none_or(|last| now_ms.abs_diff(last) >= HOUSEKEEPING_MS);
        if is_due || self.retry.is_some() {
            self.housekept_ms = Some(now_ms);
            if self.losses.is_empty() {
                // Not being able to read the counters is no reason not to work.
                self.losses.extend(losses::take(&self.context.host.dirs).unwrap_or_default().iter());
            }
            let failures = self.retry.map_or(0, |retry| retry.failures);
            housekeeping(self.context, &self.spool, outbox, &self.losses, failures, now_ms)?;
            self.losses.clear();
        }
        Ok(taken)
    }
}

/// Lets time pass for every session that needs it.
fn tick(context: &Context<'_>, taker: &mut Taker<'_>, outbox: &mut Outbox) -> Result<Watch, OutboxError> {
    let is_gone = |process: &_| !(context.alive)(process);
    let mut due = outbox.open_processes()?;
    due.retain(|open| (open.watched || is_gone(&open.process)) && context.mapper_of(&open.harness).is_some());
    if due.is_empty() {
        return Ok(Watch::default());
    }
    let batch = outbox.batch()?;
    for open in &due {
        taker.tick(&batch, &open.harness, &open.session)?;
    }
    taker.save(&batch)?;
    batch.commit()?;
    taker.settle();
    let mut watch = Watch::default();
    let known = |open: &&OpenProcess| open.watched && context.mapper_of(&open.harness).is_some();
    for open in outbox.open_processes()?.iter().filter(known) {
        if is_gone(&open.process) {
            watch.lost = true;
        } else {
            watch.turns = true;
        }
    }
    Ok(watch)
}

fn housekeeping(
    context: &Context<'_>,
    spool: &Spool,
    outbox: &mut Outbox,
    lost: &[(losses::Reason, u64)],
    failures: u32,
    now_ms: i64,
) -> Result<(), OutboxError> {
    if failures > 0 || !lost.is_empty() {
        let batch = outbox.batch()?;
        for (reason, count) in lost {
            batch.lose(reason.as_str(), *count, now_ms)?;
        }
        batch.count_failures(failures)?;
        batch.commit()?;
    }
    spool.clean(now_ms)?;
    if outbox.has_done()? {
        // A mark may go only when its job's file cannot come back after a power cut.
        File::open(context.host.dirs.spool())?.sync_all()?;
        outbox.forget_done(spool.list()?.first().map(JobId::to_string).as_deref())?;
    }
    for _ in 0..PRUNE_STEPS {
        if outbox.prune(now_ms)? == 0 {
            break;
        }
    }
    Ok(())
}

fn ms(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}

#[cfg(test)]
mod tests;
