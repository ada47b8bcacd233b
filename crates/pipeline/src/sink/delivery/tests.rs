//! What each answer means, on a clock that goes when it is told to.

use std::cell::Cell;
use std::sync::{Arc, Mutex};

use serde_json::json;
use sessionpipe_core::host::{Dirs, Host, Program};

use super::*;
use crate::outbox::{Outbox, Reader, SinkRow};
use crate::sink::transport::Rejected;
use crate::sink::{SessionIds, Target};
use crate::spool::Spool;

/// 2026-11-30T08:00:00Z.
const START_MS: i64 = 1_796_025_600_000;

/// What was sent: the batch's id, its events as `session/seq`, and whether it was said to come again.
type Sent = (String, Vec<String>, bool);

/// Answers as it was told, and "accepted" after that.
#[derive(Clone, Default)]
struct Script {
    answers: Arc<Mutex<Vec<Answer>>>,
    sent: Arc<Mutex<Vec<Sent>>>,
    tiers: Arc<Mutex<Vec<Tier>>>,
    limits: Option<Limits>,
}

impl Transport for Script {
    fn limits(&self) -> Limits {
        self.limits.unwrap_or(Limits { max_events: 50, max_bytes: 262_144 })
    }

    fn send(&mut self, batch: &Batch<'_>) -> Answer {
        let name = |event: &Outgoing| format!("{}/{}", event.event.session.id, event.event.session.seq);
        let events = batch.events.iter().map(name).collect();
        self.sent.lock().expect("one thread").push((batch.id.to_owned(), events, batch.again));
        self.tiers.lock().expect("one thread").extend(batch.events.iter().map(|event| event.event.tier));
        let mut answers = self.answers.lock().expect("one thread");
        if answers.is_empty() { accepted() } else { answers.remove(0) }
    }
}

fn accepted() -> Answer {
    Answer::Accepted(Receipt::default())
}

struct Place {
    _home: tempfile::TempDir,
    host: Host,
    sink: Sink,
    now_ms: Cell<i64>,
    script: Script,
}

fn host(home: &std::path::Path) -> Host {
    Host {
        home: home.to_owned(),
        env: std::collections::BTreeMap::new(),
        etc: home.join("etc"),
        cwd: home.to_owned(),
        now_ms: START_MS,
        dirs: Dirs::new(|_| None, home),
        program: Program { path: "/opt/sessionpipe".into(), is_hook: false, copies: Vec::new() },
    }
}

impl Place {
    fn new(events: u64) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let host = host(&home.path().canonicalize().expect("a folder"));
        Spool::open(&host.dirs).expect("folders");
        let sink = Sink { tier: 3, from: Begin::Start, ..Sink::new("team", Target::Stdout) };
        let place = Self { _home: home, host, sink, now_ms: Cell::new(START_MS), script: Script::default() };
        place.append(0..events);
        place
    }

    fn answering(self, answers: impl IntoIterator<Item = Answer>) -> Self {
        self.script.answers.lock().expect("one thread").extend(answers);
        self
    }

    fn append(&self, seqs: std::ops::Range<u64>) {
        self.append_as(seqs, "turn.started", &json!({}));
    }

    fn append_as(&self, seqs: std::ops::Range<u64>, kind: &str, data: &serde_json::Value) {
        let mut outbox = Outbox::open(&self.host.dirs.outbox()).expect("an outbox");
        let batch = outbox.batch().expect("a transaction");
        for seq in seqs {
            let event = serde_json::from_value(json!({
                "protocol": 1, "id": format!("{seq:026}"), "type": kind, "time": "2026-11-30T08:00:00.000Z", "tier": 3,
                "harness": {"name": "codex"}, "session": {"id": "s", "seq": seq},
                "privacy": {"rulesets": ["secrets@1"], "pii": false}, "data": data,
            }));
            assert!(batch.append(&event.expect("an event"), START_MS).expect("appended"));
        }
        batch.commit().expect("committed");
    }

    fn delivery(&self) -> Delivery {
        Delivery::new(self.sink.clone(), &self.host).over(Box::new(self.script.clone()))
    }

    fn turn(&self, delivery: &mut Delivery, ask: bool) -> Turn {
        let now_ms = || self.now_ms.get();
        // In the middle: neither up nor down.
        let chance = || u64::try_from(JITTER_PERCENT).expect("small");
        let clocks = Clocks { now_ms: &now_ms, chance: &chance, stop: &|| false };
        loop {
            match delivery.run(clocks, ask).expect("a turn") {
                // A process that another test starts holds our lock for the moment before it becomes another program.
                Turn { next: Next::Elsewhere, .. } => std::thread::yield_now(),
                turn => return turn,
            }
        }
    }

    fn run(&self) -> Turn {
        self.turn(&mut self.delivery(), false)
    }

    fn row(&self) -> SinkRow {
        let reader = Reader::open(&self.host.dirs.outbox()).expect("readable").expect("an outbox");
        reader.sinks().expect("rows").into_iter().find(|row| row.name == "team").expect("the sink")
    }

    /// How many events went in each batch.
    fn sizes(&self) -> Vec<usize> {
        self.script.sent.lock().expect("one thread").iter().map(|(_, events, _)| events.len()).collect()
    }

    fn set_aside(&self) -> Vec<(i64, String)> {
        let reader = Reader::open(&self.host.dirs.outbox()).expect("readable").expect("an outbox");
        reader.undelivered().expect("rows").into_iter().map(|event| (event.pos, event.reason)).collect()
    }
}

fn turn(sent: u64, next: Next) -> Turn {
    Turn { sent, next }
}

#[test]
fn all_goes_out_in_order_and_once() {
    let place = Place::new(120);
    assert_eq!(place.run(), turn(120, Next::Idle));
    assert_eq!(place.sizes(), [50, 50, 20]);
    let sent: Vec<String> =
        place.script.sent.lock().expect("one thread").iter().flat_map(|(_, events, _)| events.clone()).collect();
    assert_eq!(sent, (0..120).map(|seq| format!("s/{seq}")).collect::<Vec<_>>());
    assert_eq!(place.run(), turn(0, Next::Idle));
    assert_eq!(place.sizes().len(), 3);
    let row = place.row();
    assert_eq!((row.pos, row.waiting, row.state.sent, row.state.last_ms), (120, 0, 120, Some(START_MS)));
}

#[test]
fn a_sink_begins_now_unless_told_otherwise() {
    let mut place = Place::new(3);
    place.sink.from = Begin::Now;
    assert_eq!(place.run(), turn(0, Next::Idle));
    place.append(3..5);
    assert_eq!(place.run(), turn(2, Next::Idle));
}

#[test]
fn in_an_outbox_that_replaced_a_damaged_one_all_is_new() {
    let mut place = Place::new(0);
    place.sink.from = Begin::Now;
    Outbox::replace(&place.host.dirs.outbox(), START_MS).expect("replaced");
    place.append(0..2);
    assert_eq!(place.run(), turn(2, Next::Idle));
}

#[test]
fn both_bounds_of_a_batch_hold() {
    let place = Place::new(10);
    let one = {
        let delivery = place.delivery();
        let ledger = Ledger::open(&place.host.dirs.outbox()).expect("opens").expect("there");
        let limits = Limits { max_events: 1, max_bytes: usize::MAX };
        let load = delivery.load(&ledger, 0, &SinkState::default(), 3, limits).expect("read").expect("an event");
        load.events[0].json.len()
    };
    // Three events with a comma each, and the frame; a byte less is room for two.
    for (max_bytes, expected) in [(3 * (one + 1) + 16, vec![3, 3, 3, 1]), (3 * (one + 1) + 15, vec![2; 5])] {
        let mut place = Place::new(10);
        place.script.limits = Some(Limits { max_events: 50, max_bytes });
        assert_eq!(place.run(), turn(10, Next::Idle));
        assert_eq!(place.sizes(), expected);
    }
}

#[test]
fn the_back_off_of_the_protocol_survives_a_restart() {
    let place = Place::new(1).answering((0..7).map(|_| Answer::later("500")));
    for wait_ms in [2_000, 10_000, 60_000, 300_000, 1_800_000, 1_800_000, 1_800_000] {
        let due = place.now_ms.get() + wait_ms;
        // Each time by another process.
        assert_eq!(place.run(), turn(0, Next::At(due)));
        place.now_ms.set(due - 1);
        let tries = place.sizes().len();
        assert_eq!(place.run(), turn(0, Next::At(due)));
        assert_eq!(place.sizes().len(), tries, "not before it is due");
        place.now_ms.set(due);
    }
    let since = place.row().state.retry.expect("a retry").since_ms;
    assert_eq!(since, START_MS);
    assert_eq!(place.run(), turn(1, Next::Idle));
    assert_eq!(place.row().state.retry, None);
    let sent = place.script.sent.lock().expect("one thread");
    assert!(sent.iter().all(|(id, ..)| *id == sent[0].0), "the same batch, the same id");
    assert_eq!(sent.iter().map(|(_, _, again)| *again).collect::<Vec<_>>(), [vec![false], vec![true; 7]].concat());
}

#[test]
fn a_clock_that_was_set_back_is_no_reason_to_wait_for_an_hour() {
    let place = Place::new(1).answering([Answer::later("500")]);
    assert_eq!(place.run(), turn(0, Next::At(START_MS + 2_000)));
    place.now_ms.set(START_MS - 3_600_000);
    assert_eq!(place.run(), turn(1, Next::Idle));
}

#[test]
fn jitter_is_a_fifth_up_or_down() {
    let wait = |chance, after_ms| retry(None, String::new(), after_ms, 0, chance).wait_ms;
    assert_eq!((wait(0, None), wait(40, None), wait(41, None)), (1_600, 2_400, 1_600));
    let told: Vec<i64> = (0..21).map(|chance| wait(chance, Some(10_000))).collect();
    assert_eq!((told.iter().min(), told.iter().max()), (Some(&10_000), Some(&12_000)), "never sooner than told");
    assert_eq!(wait(20, Some(LONGEST_WAIT_MS)), LONGEST_WAIT_MS);
}

#[test]
fn who_asks_does_not_wait_for_us_but_for_the_receiver() {
    let told = Answer::Later { reason: "429".to_owned(), after_ms: Some(30_000) };
    let place = Place::new(1).answering([Answer::later("500"), Answer::later("500"), told]);
    let mut delivery = place.delivery();
    assert_eq!(place.turn(&mut delivery, false), turn(0, Next::At(START_MS + 2_000)));
    assert_eq!(place.turn(&mut delivery, true), turn(0, Next::At(START_MS + 10_000)), "once, not again and again");
    // Jitter in the middle of 0 to 20 is 20 % of the span's 21 steps: the chance is 20.
    assert_eq!(place.turn(&mut delivery, true), turn(0, Next::At(START_MS + 36_000)));
    assert_eq!(place.turn(&mut delivery, true), turn(0, Next::At(START_MS + 36_000)), "it named the time");
    assert_eq!(place.sizes().len(), 3);
}

#[test]
fn too_large_is_halved_down_to_one_and_then_set_aside() {
    let large = || Answer::TooLarge("413".to_owned());
    let place = Place::new(8).answering([large(), large(), large(), large()]);
    assert_eq!(place.run(), turn(7, Next::Idle));
    assert_eq!(place.sizes(), [8, 4, 2, 1, 1, 1, 1, 1, 1, 1, 1]);
    assert_eq!(place.set_aside(), [(1, "413".to_owned())]);
    let ids: std::collections::BTreeSet<String> =
        place.script.sent.lock().expect("one thread").iter().map(|(id, ..)| id.clone()).collect();
    assert_eq!(ids.len(), 11, "other events, another id");
}

#[test]
fn what_is_refused_is_kept_and_not_sent_again() {
    let place = Place::new(3).answering([Answer::Refused("400: bad".to_owned())]);
    assert_eq!(place.run(), turn(0, Next::Idle));
    let bad = |pos| (pos, "400: bad".to_owned());
    assert_eq!(place.set_aside(), [bad(1), bad(2), bad(3)]);
    place.append(3..4);
    assert_eq!(place.run(), turn(1, Next::Idle));
    assert_eq!(place.sizes(), [3, 1]);
    assert_eq!((place.row().state.rejected, place.row().undelivered), (3, 3));
}

#[test]
fn single_events_that_are_rejected_are_counted_and_kept() {
    let rejected = vec![Rejected { id: format!("{:026}", 1), reason: "no".to_owned() }];
    let receipt = Receipt { duplicates: 1, rejected, ..Receipt::default() };
    let place = Place::new(3).answering([Answer::Accepted(receipt)]);
    assert_eq!(place.run(), turn(2, Next::Idle));
    assert_eq!(place.set_aside(), [(2, "no".to_owned())]);
    let state = place.row().state;
    assert_eq!((state.sent, state.duplicates, state.rejected), (2, 1, 1));
}

#[test]
fn a_pause_lasts_until_the_person_ends_it_and_keeps_everything() {
    let place = Place::new(2).answering([Answer::Pause("401".to_owned())]);
    let mut delivery = place.delivery();
    assert_eq!(place.turn(&mut delivery, false), turn(0, Next::Paused));
    place.now_ms.set(START_MS + 14 * 24 * 3_600_000);
    assert_eq!(place.turn(&mut place.delivery(), true), turn(0, Next::Paused));
    assert_eq!(place.sizes().len(), 1, "nobody asks again");
    let row = place.row();
    assert_eq!((row.state.paused, row.waiting), (Some(Pause { at_ms: START_MS, reason: "401".to_owned() }), 2));
    let mut ledger = Ledger::open(&place.host.dirs.outbox()).expect("opens").expect("there");
    ledger.update("team", |_, state| state.paused = None).expect("resumed");
    assert_eq!(place.run(), turn(2, Next::Idle));
}

#[test]
fn a_tier_above_what_the_receiver_takes_is_lowered() {
    let place = Place::new(0).answering([Answer::TierTooHigh(Some(1)), accepted(), Answer::TierTooHigh(None)]);
    place.append_as(0..1, "tool.ended", &json!({"tool": "Bash", "ok": true, "output": "text"}));
    assert_eq!(place.run(), turn(1, Next::Idle));
    assert_eq!(*place.script.tiers.lock().expect("one thread"), [3, 1]);
    assert_eq!(place.row().state.max_tier, Some(1));
    let ids: Vec<String> = place.script.sent.lock().expect("one thread").iter().map(|(id, ..)| id.clone()).collect();
    assert_ne!(ids[0], ids[1], "other content, another id");
    // It does not say what it takes: one less each time. Of tier 0 a tool's end has nothing.
    place.append_as(1..2, "tool.ended", &json!({"tool": "Bash", "ok": true}));
    assert_eq!(place.run(), turn(0, Next::Idle));
    assert_eq!((place.row().state.max_tier, place.row().pos), (Some(0), 2));
}

#[test]
fn a_receiver_that_takes_no_tier_at_all_pauses() {
    let mut place = Place::new(1).answering([Answer::TierTooHigh(Some(0))]);
    place.sink.tier = 0;
    assert_eq!(place.run(), turn(0, Next::Paused));
}

#[test]
fn an_accepted_batch_may_lower_and_raise_the_tier() {
    let receipt = |max_tier| Answer::Accepted(Receipt { max_tier: Some(max_tier), ..Receipt::default() });
    let place = Place::new(0).answering([receipt(1), receipt(3)]);
    for seq in 0..3 {
        place.append_as(seq..seq + 1, "tool.ended", &json!({"tool": "Bash", "ok": true, "output": "text"}));
        assert_eq!(place.run(), turn(1, Next::Idle));
    }
    assert_eq!(*place.script.tiers.lock().expect("one thread"), [3, 1, 3]);
}

#[test]
fn who_dies_in_flight_sends_the_very_same_batch_again() {
    let place = Place::new(3).answering([Answer::later("timeout")]);
    assert_eq!(place.run(), turn(0, Next::At(START_MS + 2_000)));
    // More has come meanwhile, and still the same three go first.
    place.append(3..6);
    place.now_ms.set(START_MS + 2_000);
    assert_eq!(place.run(), turn(6, Next::Idle));
    let sent = place.script.sent.lock().expect("one thread");
    assert_eq!(
        sent.iter().map(|(_, events, again)| (events.len(), *again)).collect::<Vec<_>>(),
        [(3, false), (3, true), (3, false)]
    );
    assert_eq!(sent[0].0, sent[1].0);
}

#[test]
fn a_sink_gets_what_it_wants_and_passes_over_the_rest() {
    let mut place = Place::new(5_000);
    place.append_as(5_000..5_001, "attention.needed", &json!({"attention_id": "a", "kind": "permission"}));
    place.append(5_001..5_010);
    place.sink.types = vec!["attention.*".to_owned()];
    place.sink.session_ids = SessionIds::Uuid;
    assert_eq!(place.run(), turn(1, Next::Idle));
    assert_eq!(place.row().pos, 5_010);
    // UUIDv5 over `codex:s` in the published namespace.
    let uuid = ids::uuid_of("codex", "s");
    assert_eq!(place.script.sent.lock().expect("one thread")[0].1, [format!("{uuid}/5000")]);
}

#[test]
fn two_at_once_send_once() {
    let place = Place::new(1);
    let mut other = place.delivery();
    let lock = OpenOptions::new().create(true).append(true).open(&other.lock).expect("a lock file");
    rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).expect("free");
    let clocks = Clocks { now_ms: &|| START_MS, chance: &|| 0, stop: &|| false };
    assert_eq!(other.run(clocks, true).expect("a turn"), turn(0, Next::Elsewhere));
    // The system frees it when its holder dies, however it dies.
    drop(lock);
    assert_eq!(place.turn(&mut other, true), turn(1, Next::Idle));
}

#[test]
fn what_was_pruned_before_it_went_is_counted() {
    let place = Place::new(5).answering([Answer::later("away")]);
    place.run();
    let mut outbox = Outbox::open(&place.host.dirs.outbox()).expect("an outbox");
    assert_eq!(outbox.prune(START_MS + crate::outbox::MAX_AGE_MS + 1).expect("pruned"), 5);
    assert_eq!((place.row().missed, place.row().waiting), (5, 0));
    // What it got is none of its losses.
    place.append(5..7);
    place.now_ms.set(START_MS + 2_000);
    assert_eq!(place.run(), turn(2, Next::Idle));
    outbox.prune(START_MS + crate::outbox::MAX_AGE_MS + 1).expect("pruned");
    assert_eq!(place.row().missed, 5);
}

#[test]
fn what_is_set_aside_is_bounded_and_its_loss_counted() {
    let events = u64::from(crate::outbox::MAX_UNDELIVERED) + 10;
    let refused = || Answer::Refused("400".to_owned());
    let place = Place::new(events).answering((0..=events / 50).map(|_| refused()));
    place.run();
    assert_eq!(place.row().undelivered, u64::from(crate::outbox::MAX_UNDELIVERED));
    assert_eq!(place.set_aside()[0].0, 11, "the oldest went");
    let reader = Reader::open(&place.host.dirs.outbox()).expect("readable").expect("an outbox");
    let losses = reader.losses().expect("losses");
    assert_eq!((losses[0].kind.as_str(), losses[0].count), ("undelivered pruned", 10));
}

#[test]
fn a_panicking_transport_has_to_wait() {
    struct Panics;
    impl Transport for Panics {
        fn limits(&self) -> Limits {
            Limits { max_events: 1, max_bytes: 1 }
        }
        fn send(&mut self, _: &Batch<'_>) -> Answer {
            panic!("as it was told")
        }
    }
    let place = Place::new(1);
    let mut delivery = Delivery::new(place.sink.clone(), &place.host).over(Box::new(Panics));
    assert_eq!(place.turn(&mut delivery, false), turn(0, Next::At(START_MS + 2_000)));
}

#[test]
fn an_outbox_from_before_there_were_sinks() {
    let place = Place::new(2);
    let path = place.host.dirs.outbox();
    let db = rusqlite::Connection::open(&path).expect("a database");
    db.execute_batch("DROP TABLE sinks; DROP TABLE undelivered; DROP TABLE forgotten; PRAGMA user_version = 1;")
        .expect("old");
    drop(db);
    let reader = Reader::open(&path).expect("readable").expect("an outbox");
    assert_eq!((reader.sinks().expect("none"), reader.last_pos().expect("readable")), (Vec::new(), 2));
    assert_eq!(place.run(), turn(0, Next::Idle), "it waits for the worker");
    drop(Outbox::open(&path).expect("brought up to date"));
    assert_eq!(place.run(), turn(2, Next::Idle));
}
