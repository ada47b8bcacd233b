//! The loop on a clock that goes when it is told to; nothing here waits for time to pass.

use std::sync::mpsc;
use std::time::Duration;

use serde_json::json;
use sessionpipe_core::job::FORMAT;

use super::*;
use crate as pipeline;
use crate::take::Clock as _;
use double::{Place, START_MS, header, session, with};

#[path = "../../tests/worker/double.rs"]
mod double;

fn rounds<T>(place: &Place, then: impl FnOnce(&mut Worker<'_>) -> T) -> T {
    place.with(|context| then(&mut Worker::new(context, place.spool())))
}

fn round(worker: &mut Worker<'_>) -> Taken {
    worker.round().expect("a round")
}

/// A session with an open turn: three events.
fn working(place: &Place, id: &str) {
    place.job("SessionStart", &with(id, json!({"source": "startup"})));
    place.job("Prompt", &with(id, json!({"prompt": "go"})));
}

#[test]
fn a_heartbeat_a_minute_while_a_turn_runs() {
    let place = Place::new();
    working(&place, "a");
    rounds(&place, |worker| {
        round(worker);
        assert_eq!(worker.pause(), TICK);
        for _ in 0..(10 * 60 / 5) {
            place.clock.advance(5_000);
            round(worker);
        }
        let beats: Vec<_> = place.events().into_iter().filter(|e| e.kind == "session.heartbeat").collect();
        assert_eq!(beats.len(), 10);
        for (minute, beat) in (1..).zip(&beats) {
            assert_eq!(beat.time, sessionpipe_core::event::rfc3339(START_MS + minute * 60_000));
        }
        place.job("Stop", &session("a"));
        round(worker);
        let before = place.events().len();
        for _ in 0..60 {
            place.clock.advance(5_000);
            round(worker);
        }
        assert_eq!(place.events().len(), before, "no turn, no heartbeat");
        assert_eq!(worker.watch, Watch::default(), "and nothing to stay for");
    });
}

#[test]
fn ticks_without_news_write_nothing() {
    let place = Place::new();
    working(&place, "a");
    rounds(&place, |worker| {
        round(worker);
        let updated = place.reader().sessions().expect("sessions")[0].updated_ms;
        place.clock.advance(5_000);
        round(worker);
        assert_eq!(place.reader().sessions().expect("sessions")[0].updated_ms, updated);
    });
}

#[test]
fn a_session_is_lost_once_after_its_grace() {
    let place = Place::new();
    working(&place, "a");
    rounds(&place, |worker| {
        round(worker);
        place.dead.borrow_mut().insert(700);
        place.clock.advance(5_000);
        round(worker);
        assert_eq!(place.events().len(), 2, "it may have left a word");
        assert_eq!((worker.watch.lost, worker.pause()), (true, Duration::from_secs(1)));
        place.clock.advance(LOST_GRACE_MS);
        round(worker);
        assert_eq!(place.lines(), ["a/0 session.started", "a/1 turn.started", "a/2 turn.ended", "a/3 session.ended"]);
        let end = place.events().pop().expect("an end");
        assert_eq!(end.data["reason"], "other");
        assert_eq!((&end.data["lost"], &end.data["derived"]), (&json!(true), &json!(true)));
        assert_eq!(end.harness.event, None);
    });
    // Neither this worker nor the next one says it again.
    rounds(&place, |worker| {
        for _ in 0..3 {
            place.clock.advance(60_000);
            round(worker);
        }
        assert_eq!(worker.watch, Watch::default());
    });
    assert_eq!(place.events().len(), 4);
}

#[test]
fn the_last_word_of_a_dead_process_counts() {
    let place = Place::new();
    working(&place, "a");
    rounds(&place, |worker| {
        round(worker);
        place.dead.borrow_mut().insert(700);
        round(worker);
        place.clock.advance(LOST_GRACE_MS);
        // It arrives at the same moment at which the grace ends.
        place.job("SessionEnd", &with("a", json!({"reason": "logout"})));
        round(worker);
    });
    let ends: Vec<_> = place.events().into_iter().filter(|e| e.kind == "session.ended").collect();
    assert_eq!(ends.len(), 1);
    assert_eq!((&ends[0].data["reason"], ends[0].data.get("lost")), (&json!("logout"), None));
}

#[test]
fn a_new_worker_looks_at_every_open_session() {
    let place = Place::new();
    working(&place, "a");
    place.job("Stop", &session("a"));
    rounds(&place, |worker| {
        round(worker);
        assert_eq!(worker.watch, Watch::default(), "an idle session keeps no worker");
    });
    place.dead.borrow_mut().insert(700);
    rounds(&place, |worker| {
        round(worker);
        place.clock.advance(LOST_GRACE_MS);
        round(worker);
    });
    assert_eq!(place.events().pop().expect("an end").kind, "session.ended");
}

#[test]
fn a_full_disk_loses_nothing() {
    let place = Place::new();
    rounds(&place, |worker| {
        working(&place, "a");
        round(worker);
        worker.outbox.as_ref().expect("open").fill_disk(true);
        let big = "x".repeat(100_000);
        let job = place.job("PreTool", &with("a", json!({"tool_name": "Write", "tool_input": {"text": big}})));
        assert!(matches!(worker.round(), Err(OutboxError::Full(_))));
        assert_eq!(place.spool().list().expect("jobs"), [job], "it waits");
        assert_eq!(round(worker).jobs, 0, "not before the wait is over");
        assert_eq!(worker.pause(), Duration::from_secs(1));
        place.clock.advance(FIRST_RETRY_MS);
        assert_eq!(round(worker).jobs, 1);
        assert_eq!(place.lines(), ["a/0 session.started", "a/1 turn.started", "a/2 tool.started"]);
        assert_eq!(place.reader().stats().expect("stats").write_failures, 1);
        assert_eq!(place.reader().losses().expect("losses"), []);
    });
}

#[test]
fn the_wait_after_a_failure_doubles() {
    let place = Place::new();
    std::fs::create_dir_all(place.host.dirs.outbox()).expect("a folder where the file should be");
    rounds(&place, |worker| {
        for wait in [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000] {
            assert!(worker.round().is_err());
            assert_eq!(worker.pause(), Duration::from_millis(wait));
            place.clock.advance(i64::try_from(wait).expect("small"));
        }
    });
}

#[test]
fn a_newer_outbox_ends_an_old_worker() {
    let place = Place::new();
    working(&place, "a");
    rounds(&place, round);
    let db = rusqlite::Connection::open(place.host.dirs.outbox()).expect("a database");
    db.execute_batch("PRAGMA user_version = 9").expect("a version");
    let job = place.job("Stop", &session("a"));
    place.with(|context| {
        let exit = serve(context, IDLE, &Stop::default(), &mut |_| ()).expect("it ends");
        assert_eq!(exit, Exit::Outdated);
    });
    assert_eq!(place.spool().list().expect("jobs"), [job]);
    let error = Reader::open(&place.host.dirs.outbox()).expect_err("too new");
    assert_eq!(error.to_string(), "the outbox has format 9, this program knows only 2: upgrade sessionpipe");
}

#[test]
fn a_newer_job_ends_an_old_worker() {
    let place = Place::new();
    place.job("SessionStart", &session("a"));
    let newer = place.job_of(&sessionpipe_core::job::Header { v: FORMAT + 1, ..header(START_MS) }, b"{}");
    let behind = place.job("Prompt", &session("a"));
    place.with(|context| {
        let exit = serve(context, IDLE, &Stop::default(), &mut |_| ()).expect("it ends");
        assert_eq!(exit, Exit::Outdated);
    });
    assert_eq!(place.lines(), ["a/0 session.started"]);
    assert_eq!(place.spool().list().expect("jobs"), [newer, behind]);
}

#[test]
fn it_stops_when_it_is_told_to_and_takes_what_is_there() {
    let place = Place::new();
    working(&place, "a");
    let stop = Stop::default();
    stop.asked.store(true, Ordering::Relaxed);
    place.with(|context| {
        let late = |step| {
            if step == Step::Closed {
                place.job("Stop", &session("a"));
            }
        };
        assert_eq!(serve(context, IDLE, &stop, &mut { late }).expect("it ends"), Exit::Stopped);
    });
    assert_eq!(place.lines(), ["a/0 session.started", "a/1 turn.started", "a/2 turn.ended"]);
}

#[test]
fn one_worker_per_folder() {
    let place = Place::new();
    place.spool();
    place.with(|context| {
        let _lock = Lock::try_take(&place.host.dirs).expect("a lock").expect("free");
        let _listener = Listener::open(&place.host.dirs).expect("a FIFO");
        assert_eq!(serve(context, IDLE, &Stop::default(), &mut |_| ()).expect("it ends"), Exit::Occupied);
    });
}

#[test]
fn a_job_whose_worker_gave_up_waiting_is_not_stranded() {
    let place = Place::new();
    place.job("SessionStart", &session("a"));
    place.with(|context| {
        let mut hook = |step| {
            if step == Step::Scanned && place.lines().len() == 1 {
                // Its hook found nobody listening; the worker that it started waited for the lock, and is gone.
                place.job("SessionEnd", &session("a"));
            }
        };
        assert_eq!(serve(context, Duration::ZERO, &Stop::default(), &mut hook).expect("it ends"), Exit::Idle);
    });
    assert_eq!(place.lines(), ["a/0 session.started", "a/1 session.ended"]);
    assert_eq!(place.spool().list().expect("jobs"), []);
}

#[test]
fn a_job_that_cannot_be_deleted_keeps_no_worker() {
    let place = Place::new();
    let job = place.job("SessionStart", &session("a"));
    // A folder of the job's name: it can be neither read nor deleted as a file.
    let file = place.host.dirs.spool().join(format!("{job}.job"));
    std::fs::remove_file(&file).expect("a job");
    std::fs::create_dir(&file).expect("a folder");
    place.with(|context| {
        let exit = serve(context, Duration::ZERO, &Stop::default(), &mut |_| ()).expect("it ends");
        assert_eq!(exit, Exit::Idle);
    });
    assert_eq!(place.reader().quarantine().expect("readable").len(), 1);
}

/// A clock that goes on at each look, and at the twentieth somebody mends the outbox.
struct Mending<'a> {
    looks: std::cell::Cell<i64>,
    obstacle: &'a std::path::Path,
}

impl crate::take::Clock for Mending<'_> {
    fn now_ms(&self) -> i64 {
        self.looks.set(self.looks.get() + 1);
        if self.looks.get() == 20 {
            std::fs::remove_dir(self.obstacle).expect("it is there");
        }
        START_MS + self.looks.get() * 200
    }
}

#[test]
fn a_worker_stays_while_jobs_cannot_be_stored() {
    let place = Place::new();
    place.job("SessionStart", &session("a"));
    let outbox = place.host.dirs.outbox();
    std::fs::create_dir(&outbox).expect("a folder where the file should be");
    let clock = Mending { looks: std::cell::Cell::new(0), obstacle: &outbox };
    place.with(|context| {
        let context = Context {
            clock: &clock,
            alive: &|_| true,
            ..Context::new(context.host, context.adapters, None, &|_| false)
        };
        let exit = serve(&context, Duration::from_millis(5), &Stop::default(), &mut |_| ()).expect("it ends");
        assert_eq!(exit, Exit::Idle);
    });
    assert_eq!(place.lines(), ["a/0 session.started"]);
}

#[test]
fn a_clock_that_is_set_back_does_not_delay_the_next_try() {
    let place = Place::new();
    let job = place.job("SessionStart", &session("a"));
    let outbox = place.host.dirs.outbox();
    std::fs::create_dir(&outbox).expect("a folder where the file should be");
    rounds(&place, |worker| {
        assert!(worker.round().is_err());
        std::fs::remove_dir(&outbox).expect("it is there");
        assert_eq!(round(worker).jobs, 0, "too early");
        assert_eq!(place.spool().list().expect("jobs"), [job]);
        place.clock.advance(-3_600_000);
        assert_eq!(worker.pause(), Duration::ZERO);
        assert_eq!(round(worker).jobs, 1);
    });
}

#[test]
fn a_worker_whose_state_folder_was_moved_away_leaves_the_new_one_alone() {
    let place = Place::new();
    working(&place, "a");
    place.with(|context| {
        let mut is_there = true;
        let mut at = |step| {
            if step == Step::Closing && std::mem::take(&mut is_there) {
                std::fs::rename(&place.host.dirs.state, place.path("moved")).expect("a folder");
                place.job("Stop", &session("a"));
            }
        };
        assert_eq!(serve(context, Duration::ZERO, &Stop::default(), &mut at).expect("it ends"), Exit::Displaced);
    });
    assert_eq!(place.spool().list().expect("jobs").len(), 1, "for the worker of the new one");
}

/// A job that comes at any step of a worker's end is taken: by its last scan, or by the worker that the hook starts.
#[test]
fn a_job_written_while_the_worker_stops_is_not_stranded() {
    for at in [Step::Closing, Step::Closed, Step::Scanned] {
        let place = Place::new();
        place.job("SessionStart", &session("a"));
        let (start, started) = mpsc::channel();
        let next = std::thread::scope(|scope| {
            let host = &place.host;
            // The next worker, as a hook would start it: in a process of its own, with the system's clock.
            let second = scope.spawn(move || {
                started.recv().ok().map(|()| {
                    let context = Context::new(host, double::adapters(), None, &|_| false);
                    let context = Context { alive: &|_| true, ..context };
                    serve(&context, Duration::ZERO, &Stop::default(), &mut |_| ()).expect("it ends")
                })
            });
            place.with(|context| {
                let mut comes = true;
                let mut hook = |step| {
                    if step == at && std::mem::take(&mut comes) {
                        place.job("SessionEnd", &session("a"));
                        wake::wake(&place.host.dirs, || start.send(()).expect("somebody waits"));
                    }
                };
                serve(context, Duration::ZERO, &Stop::default(), &mut hook).expect("it ends")
            });
            drop(start);
            second.join().expect("no panic")
        });
        assert_eq!(place.lines(), ["a/0 session.started", "a/1 session.ended"], "{at:?}");
        assert_eq!(place.spool().list().expect("jobs"), [], "{at:?}");
        let woken = matches!(at, Step::Closing);
        assert_eq!(next.is_none(), woken, "{at:?}: a hook that finds nobody starts a worker");
    }
}

#[test]
fn a_turn_that_begins_in_the_last_scan_keeps_the_worker() {
    let place = Place::new();
    let mut closings = 0;
    place.with(|context| {
        let mut at = |step| match step {
            Step::Closing => closings += 1,
            Step::Closed if closings == 1 => working(&place, "a"),
            // Only a worker that listens again is here a second time.
            Step::Closed => {
                place.job("Stop", &session("a"));
            }
            Step::Scanned => {}
        };
        serve(context, Duration::ZERO, &Stop::default(), &mut at).expect("it ends")
    });
    assert_eq!(closings, 2);
    assert_eq!(place.lines(), ["a/0 session.started", "a/1 turn.started", "a/2 turn.ended"]);
}

#[test]
fn losses_of_hooks_are_told_once() {
    let place = Place::new();
    place.spool();
    losses::count(&place.host.dirs, losses::Reason::DiskFull);
    losses::count(&place.host.dirs, losses::Reason::DiskFull);
    for _ in 0..2 {
        rounds(&place, round);
    }
    let told = place.reader().losses().expect("losses");
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].kind.as_str(), told[0].count, told[0].last_ms), ("disk full", 2, place.clock.now_ms()));
    assert!(losses::read(&place.host.dirs).expect("counters").is_empty());
}

#[test]
fn flush_takes_all_and_waits_for_the_grace() {
    let place = Place::new();
    working(&place, "a");
    working(&place, "b");
    // The system's clock: the grace is a second of real time.
    let host = &place.host;
    let context = Context { alive: &|_| false, ..Context::new(host, double::adapters(), None, &|_| false) };
    let flushed = flush(&context, Duration::from_secs(20)).expect("flushed");
    assert_eq!(flushed, Flushed { taken: 4, left: 0, watch: false });
    let ends = place.lines().into_iter().filter(|line| line.ends_with("session.ended")).count();
    assert_eq!(ends, 2);
}

#[test]
fn flush_says_when_a_turn_is_left_to_watch() {
    let place = Place::new();
    working(&place, "a");
    let flushed = place.with(|context| flush(context, Duration::from_secs(20))).expect("flushed");
    assert_eq!(flushed, Flushed { taken: 2, left: 0, watch: true });
}

#[test]
fn flush_waits_for_the_worker_that_is_there() {
    let place = Place::new();
    place.job("SessionStart", &session("a"));
    place.job("SessionEnd", &session("a"));
    let host = &place.host;
    let context = || Context { alive: &|_| true, ..Context::new(host, double::adapters(), None, &|_| false) };
    let (woken, wakes) = mpsc::channel();
    let flushed = std::thread::scope(|scope| {
        let _lock = Lock::try_take(&host.dirs).expect("a lock").expect("free");
        let listener = Listener::open(&host.dirs).expect("a FIFO");
        scope.spawn(move || {
            let context = context();
            let mut worker = Worker::new(&context, Spool::open(&host.dirs).expect("a spool"));
            assert!(listener.wait(Duration::from_secs(20)).expect("waits"), "flush wakes the worker");
            woken.send(()).expect("somebody asks");
            round(&mut worker)
        });
        flush(&context(), Duration::from_secs(20)).expect("flushed")
    });
    assert!(wakes.try_recv().is_ok());
    assert_eq!(flushed, Flushed { taken: 2, left: 0, watch: false });
    assert_eq!(place.lines(), ["a/0 session.started", "a/1 session.ended"]);
}

#[test]
fn flush_does_not_wait_for_ever() {
    let place = Place::new();
    place.job("SessionStart", &session("a"));
    let _lock = Lock::try_take(&place.host.dirs).expect("a lock").expect("free");
    let flushed = place.with(|context| flush(context, Duration::from_millis(30))).expect("flushed");
    assert_eq!(flushed, Flushed { taken: 0, left: 1, watch: false });
}

#[test]
fn what_a_newer_program_left_is_left() {
    let place = Place::new();
    place.job_of(&sessionpipe_core::job::Header { v: FORMAT + 1, ..header(START_MS) }, b"{}");
    place.job("Prompt", &session("a"));
    let flushed = place.with(|context| flush(context, Duration::from_secs(20))).expect("flushed");
    assert_eq!(flushed, Flushed { taken: 0, left: 2, watch: false });
}
