//! Three sinks of which one is dead for two weeks and one is slow; a worker that is killed while it delivers.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::double::{self, Place, START_MS, adapters, with};
use crate::pipeline::settings::Settings;
use crate::pipeline::sink::couriers;
use crate::pipeline::sink::delivery::{Clocks, Delivery, Next};
use crate::pipeline::sink::{Begin, Sink};
use crate::pipeline::take::Context;
use crate::pipeline::worker::{self, flush};
use crate::receiver::{Act, Receiver, Request};

fn sink(name: &str, target: &str) -> Sink {
    Sink { tier: 3, from: Begin::Start, ..Sink::new(name, target.parse().expect("a target")) }
}

fn leave_turn(place: &Place, session: &str) {
    for event in ["SessionStart", "Prompt", "PreTool", "PostTool", "Stop"] {
        let call = json!({"tool_name": "Bash", "tool_use_id": "c1", "turn_id": "t1"});
        place.job(event, &with(session, call));
    }
}

/// `session/seq` of each event of a request.
fn names(request: &Request) -> Vec<String> {
    let events = request.json()["events"].as_array().expect("events").clone();
    let name =
        |event: &Value| format!("{}/{}", event["session"]["id"].as_str().expect("an id"), event["session"]["seq"]);
    events.iter().map(name).collect()
}

fn all(place: &Place) -> BTreeSet<String> {
    place.events().iter().map(|event| format!("{}/{}", event.session.id, event.session.seq)).collect()
}

#[test]
fn one_that_is_dead_for_two_weeks_gets_everything_once_and_holds_up_nobody() {
    const HOUR_MS: i64 = 3_600_000;
    let place = Place::new();
    let (healthy, slow) = (Receiver::start([]), Receiver::start((0..1000).map(|_| Act::Wait(2))));
    let dead = Receiver::start((0..1000).map(|_| Act::HangUp));
    let sinks = [sink("dead", &dead.url), sink("healthy", &healthy.url), sink("slow", &slow.url)];
    let mut deliveries: Vec<Delivery> = sinks.iter().map(|sink| Delivery::new(sink.clone(), &place.host)).collect();
    let now_ms = Cell::new(START_MS);
    let mut tries = 0;
    let turn = |delivery: &mut Delivery, now_ms: &Cell<i64>| {
        let now = || now_ms.get();
        let clocks = Clocks { now_ms: &now, chance: &|| 20, stop: &|| false };
        loop {
            match delivery.run(clocks, false).expect("a turn").next {
                // A process that another test starts holds our lock for the moment before it becomes another program.
                Next::Elsewhere => std::thread::yield_now(),
                next => return next,
            }
        }
    };
    let end = START_MS + 14 * 24 * HOUR_MS;
    let mut session = 0;
    while now_ms.get() < end {
        if session * 8 * HOUR_MS <= now_ms.get() - START_MS {
            leave_turn(&place, &format!("s{session}"));
            place.clock.0.set(now_ms.get());
            place.with(|context| flush(context, Duration::from_secs(60))).expect("flushed");
            session += 1;
            assert_eq!(turn(&mut deliveries[1], &now_ms), Next::Idle);
            assert_eq!(turn(&mut deliveries[2], &now_ms), Next::Idle);
        }
        let next = turn(&mut deliveries[0], &now_ms);
        let Next::At(due) = next else { panic!("{next:?} at try {tries}: it is dead") };
        tries += 1;
        now_ms.set(due);
    }
    // Four steps of the back-off, and then every half hour.
    assert!((14 * 48..14 * 48 + 6).contains(&tries), "{tries}");
    let there = all(&place);
    assert_eq!(there.len(), usize::try_from(session).expect("small") * 5);
    // It comes back, and knows nothing of what it was sent.
    dead.acts.lock().expect("not poisoned").clear();
    dead.requests.lock().expect("not poisoned").clear();
    assert_eq!(turn(&mut deliveries[0], &now_ms), Next::Idle);
    for receiver in [&dead, &healthy, &slow] {
        let got: Vec<String> = receiver.requests().iter().flat_map(names).collect();
        assert_eq!(got.len(), there.len(), "each once");
        assert_eq!(got.into_iter().collect::<BTreeSet<_>>(), there);
    }
}

/// Tells the child which home is its own, and where its receiver is.
const HOME: &str = "SESSIONPIPE_TEST_SINK_HOME";
const URL: &str = "SESSIONPIPE_TEST_SINK_URL";

/// How often the worker is killed.
const KILLS: usize = 200;

fn settings(home: &Path, url: &str) -> Settings {
    let file = home.join("events.jsonl");
    Settings { sinks: vec![sink("receiver", url), sink("file", &file.display().to_string())], ..Settings::default() }
}

/// Not a test of its own: the worker that is killed below.
#[test]
fn child() {
    let Some(home) = std::env::var_os(HOME) else { return };
    let url = std::env::var(URL).expect("a URL");
    let host = double::host(home.into());
    let settings = Arc::new(settings(&host.home, &url));
    let given = || Some(Arc::clone(&settings));
    let alive = |_: &_| true;
    let context = Context { settings: &given, alive: &alive, ..Context::new(&host, adapters(), None, &|_| false) };
    worker::run(&context).expect("it ends");
}

fn start(place: &Place, url: &str) -> Child {
    Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "faults::child"])
        .env(HOME, &place.host.home)
        .env(URL, url)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a child")
}

#[test]
fn a_worker_that_is_killed_while_it_delivers_loses_nothing_and_repeats_one_batch() {
    let place = Place::new();
    place.spool();
    // It tells when a request is there, and answers only after that was heard: then the child is dead.
    let (arrived, arrivals) = std::sync::mpsc::sync_channel::<()>(0);
    let killing = Arc::new(AtomicUsize::new(0));
    let receiver = Receiver::start([]);
    receiver.well_known.lock().expect("not poisoned").0["batch"]["max_events"] = json!(3);
    let seen = Arc::clone(&killing);
    receiver.on_request(move || {
        // Every second or third request is the last of its sender.
        if seen.fetch_add(1, Ordering::Relaxed) % 5 % 2 == 1 {
            let _ = arrived.send(());
        }
    });
    for round in 0..KILLS {
        leave_turn(&place, &format!("s{round}"));
        leave_turn(&place, &format!("t{round}"));
        let mut child = start(&place, &receiver.url);
        arrivals.recv_timeout(Duration::from_secs(60)).expect("it delivers");
        child.kill().expect("a living child");
        child.wait().expect("it ends");
    }
    drop(arrivals);
    // The last one is not killed.
    let host = &place.host;
    let settings = settings(&host.home, &receiver.url);
    place.with(|context| flush(context, Duration::from_secs(60))).expect("flushed");
    let end = std::time::Instant::now() + Duration::from_secs(60);
    let brought = couriers::flush(&settings.sinks, host, end).expect("delivered");
    assert!(brought.iter().all(|brought| brought.next == Next::Idle), "{brought:?}");

    let there = all(&place);
    assert_eq!(there.len(), KILLS * 2 * 5);
    let mut batches: BTreeMap<String, (Vec<u8>, usize)> = BTreeMap::new();
    let mut got: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for request in receiver.requests() {
        let id = request.headers["webhook-id"].clone();
        for name in names(&request) {
            got.entry(name).or_default().insert(id.clone());
        }
        let (body, times) = batches.entry(id).or_insert_with(|| (request.body.clone(), 0));
        assert_eq!(*body, request.body, "the same id, the same batch");
        *times += 1;
    }
    assert_eq!(got.keys().cloned().collect::<BTreeSet<_>>(), there, "nothing is lost");
    assert!(got.values().all(|ids| ids.len() == 1), "what came again came as the same batch");
    let again: usize = batches.values().map(|(_, times)| times - 1).sum();
    assert!(again <= KILLS, "{again}: at most the one that was on its way");
    assert!(again > 0);

    // A file is written by one process, so there nothing is doubled at all.
    let file = std::fs::read_to_string(place.path("events.jsonl")).expect("the file");
    let lines: Vec<Value> = file.lines().map(|line| serde_json::from_str(line).expect("a whole line")).collect();
    let name =
        |event: &Value| format!("{}/{}", event["session"]["id"].as_str().expect("an id"), event["session"]["seq"]);
    assert_eq!(lines.len(), there.len());
    assert_eq!(lines.iter().map(name).collect::<BTreeSet<_>>(), there);
}
