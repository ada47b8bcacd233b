//! The HTTP binding, line by line.

use std::cell::Cell;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use crate::double::{Place, START_MS, with};
use crate::pipeline::outbox::SinkRow;
use crate::pipeline::sink::delivery::{Clocks, Delivery, Next, Turn};
use crate::pipeline::sink::http::Http;
use crate::pipeline::sink::{Begin, Sink, Target};
use crate::pipeline::worker::flush;
use crate::receiver::{Act, Receiver, Request, say};

const TOKEN: &str = "tok-0123456789";

struct Sender {
    place: Place,
    sink: Sink,
    now_ms: Cell<i64>,
}

impl Sender {
    /// With this many events, all of one session.
    fn new(url: &str, events: usize) -> Self {
        let place = Place::new();
        for nr in 0..events {
            place.job("Prompt", &with("a", json!({"prompt": "go", "turn_id": format!("t{nr}")})));
            place.job("Stop", &with("a", json!({"turn_id": format!("t{nr}")})));
        }
        place.with(|context| flush(context, Duration::from_secs(60))).expect("flushed");
        let file = place.path("token");
        std::fs::write(&file, format!("{TOKEN}\n")).expect("a file");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("ours");
        let target: Target = url.parse().expect("a URL");
        let sink = Sink { tier: 3, token_file: Some(file), from: Begin::Start, ..Sink::new("team", target) };
        Self { place, sink, now_ms: Cell::new(START_MS) }
    }

    fn turn_of(&self, delivery: &mut Delivery) -> Turn {
        let now_ms = || self.now_ms.get();
        let clocks = Clocks { now_ms: &now_ms, chance: &|| 20, stop: &|| false };
        loop {
            match delivery.run(clocks, false).expect("a turn") {
                // A process that another test starts holds our lock for the moment before it becomes another program.
                Turn { next: Next::Elsewhere, .. } => std::thread::yield_now(),
                turn => return turn,
            }
        }
    }

    fn turn(&self) -> Turn {
        self.turn_of(&mut Delivery::new(self.sink.clone(), &self.place.host))
    }

    fn row(&self) -> SinkRow {
        self.place.reader().sinks().expect("rows").into_iter().next().expect("the sink")
    }

    fn events(&self) -> usize {
        self.place.events().len()
    }
}

fn at(ms: i64) -> Next {
    Next::At(START_MS + ms)
}

#[test]
fn a_batch_has_what_the_binding_asks_for() {
    let receiver = Receiver::start([]);
    let sender = Sender::new(&receiver.url, 30);
    let events = sender.events();
    assert_eq!(sender.turn(), Turn { sent: events as u64, next: Next::Idle });
    let requests = receiver.requests();
    assert_eq!(requests.iter().map(Request::events).collect::<Vec<_>>(), [50, events - 50]);
    let first = &requests[0];
    assert_eq!((first.method.as_str(), first.path.as_str()), ("POST", "/v1/events"));
    let header = |name: &str| first.headers.get(name).map(String::as_str);
    assert_eq!(header("content-type"), Some("application/json"));
    assert_eq!(header("sessionpipe-protocol"), Some("1"));
    assert_eq!(header("authorization"), Some("Bearer tok-0123456789"));
    assert_eq!(header("webhook-timestamp"), Some("1796025600"));
    assert_eq!(header("webhook-signature"), None, "no secret, no signature");
    assert!(header("webhook-id").is_some_and(|id| id.starts_with("msg_")));
    assert_ne!(requests[0].headers["webhook-id"], requests[1].headers["webhook-id"]);
    // What goes out is what the published schema of a batch says.
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../conformance/vectors/schemas/batch.json");
    let schema = serde_json::from_slice(&std::fs::read(folder).expect("the schema")).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    for request in &requests {
        let errors: Vec<String> = validator.iter_errors(&request.json()).map(|error| error.to_string()).collect();
        assert_eq!(errors, [""; 0]);
    }
    let seqs = requests.iter().flat_map(|request| {
        let events = request.json()["events"].as_array().expect("events").clone();
        events.into_iter().map(|event| event["session"]["seq"].as_u64().expect("a number"))
    });
    assert_eq!(seqs.collect::<Vec<_>>(), (0..events as u64).collect::<Vec<_>>());
}

#[test]
fn the_table_of_answers() {
    let kept = |answer: Act, expected: Next| {
        let receiver = Receiver::start([answer.clone()]);
        let sender = Sender::new(&receiver.url, 1);
        let turn = sender.turn();
        assert_eq!((turn.sent, &turn.next), (0, &expected), "{answer:?}");
        let row = sender.row();
        assert_eq!((row.pos, row.undelivered), (0, 0), "{answer:?}: everything is kept");
        assert_eq!(sender.turn().next, expected, "{answer:?}");
        assert_eq!(receiver.requests().len(), 1, "{answer:?}: no loop");
        row
    };
    for status in [401, 403, 404, 405, 410, 200, 418, 402] {
        let row = kept(say(status, "because"), Next::Paused);
        assert_eq!(row.state.paused.expect("a pause").reason, format!("{status}: because"));
    }
    kept(say(400, "unsupported_protocol"), Next::Paused);
    kept(Act::Say(202, "", "hello".to_owned()), Next::Paused);
    for status in [500, 502, 504, 429, 503] {
        kept(say(status, "because"), at(2_000));
    }
    for status in [429, 503] {
        // Jitter adds 20 %: it is never sooner than told.
        kept(Act::Say(status, "retry-after: 30\r\n", String::new()), at(36_000));
        kept(Act::Say(status, "retry-after: Mon, 30 Nov 2026 08:00:10 GMT\r\n", String::new()), at(12_000));
        kept(Act::Say(status, "retry-after: Wed, 21 Oct 2099 07:28:00 GMT\r\n", String::new()), at(3_600_000));
    }
    // Only these two name a time.
    kept(Act::Say(500, "retry-after: 30\r\n", String::new()), at(2_000));
    kept(Act::HangUp, at(2_000));
}

#[test]
fn what_will_never_be_acceptable_is_set_aside() {
    for status in [400, 422] {
        let receiver = Receiver::start([say(status, "no such thing")]);
        let sender = Sender::new(&receiver.url, 1);
        let events = sender.events() as u64;
        assert_eq!(sender.turn(), Turn { sent: 0, next: Next::Idle });
        assert_eq!((sender.row().undelivered, sender.row().waiting), (events, 0));
        let kept = sender.place.reader().undelivered().expect("rows");
        assert_eq!(kept[0].reason, format!("{status}: no such thing"));
        assert!(kept[0].body.contains("session.started"), "{}", kept[0].body);
        assert_eq!(sender.turn().next, Next::Idle);
        assert_eq!(receiver.requests().len(), 1, "never again by itself");
    }
}

#[test]
fn too_large_is_halved() {
    let receiver = Receiver::start([say(413, "too large"), say(413, "too large")]);
    let sender = Sender::new(&receiver.url, 4);
    assert_eq!((sender.events(), sender.turn()), (9, Turn { sent: 9, next: Next::Idle }));
    let sizes: Vec<usize> = receiver.requests().iter().map(Request::events).collect();
    assert_eq!(sizes, [9, 4, 2, 2, 2, 2, 1]);
}

#[test]
fn a_tier_that_is_not_taken_is_lowered() {
    let refusal = json!({"reason": "tier_above_max", "max_tier": 0}).to_string();
    let receiver = Receiver::start([Act::Say(403, "", refusal)]);
    let sender = Sender::new(&receiver.url, 1);
    assert_eq!(sender.turn(), Turn { sent: 3, next: Next::Idle });
    let tiers: Vec<_> = receiver.requests().iter().map(|request| request.json()["events"][1]["tier"].clone()).collect();
    assert_eq!(tiers, [json!(3), json!(0)]);
    assert_eq!(sender.row().state.max_tier, Some(3), "its last word counts");
}

#[test]
fn the_same_id_when_nobody_knows_whether_it_arrived() {
    let receiver = Receiver::start([Act::HangUp]);
    let sender = Sender::new(&receiver.url, 1);
    assert_eq!(sender.turn().next, at(2_000));
    sender.now_ms.set(START_MS + 2_000);
    assert_eq!(sender.turn(), Turn { sent: 3, next: Next::Idle });
    let requests = receiver.requests();
    assert_eq!(requests[0].headers["webhook-id"], requests[1].headers["webhook-id"]);
    assert_eq!(requests[0].body, requests[1].body);
}

#[test]
fn one_deadline_for_the_whole_request() {
    let receiver = Receiver::start([Act::Hang]);
    let sender = Sender::new(&receiver.url, 1);
    let uri = receiver.url.parse().expect("a URL");
    let http = Http::new(&sender.sink, &uri).expect("a token").within(Duration::from_millis(300));
    let mut delivery = Delivery::new(sender.sink.clone(), &sender.place.host).over(Box::new(http));
    assert_eq!(sender.turn_of(&mut delivery).next, at(2_000));
    let reason = sender.row().state.retry.expect("a retry").reason;
    assert!(reason.contains("timeout"), "{reason}");
}

#[test]
fn a_token_never_goes_to_another_origin() {
    let elsewhere = Receiver::start([]);
    let location: &'static str = Box::leak(format!("location: {}v1/events\r\n", elsewhere.url).into_boxed_str());
    for status in [301, 302, 303, 307, 308] {
        let receiver = Receiver::start([Act::Say(status, location, String::new())]);
        let sender = Sender::new(&receiver.url, 1);
        assert_eq!(sender.turn().next, Next::Paused, "{status}");
        let reason = sender.row().state.paused.expect("a pause").reason;
        assert!(reason.contains("another origin"), "{reason}");
    }
    assert_eq!(elsewhere.requests().len(), 0);
    // Nor by what the receiver says of itself.
    let receiver = Receiver::start([]);
    receiver.well_known.lock().expect("not poisoned").0["endpoints"]["events"] =
        json!(format!("{}v1/events", elsewhere.url));
    let sender = Sender::new(&receiver.url, 1);
    assert_eq!(sender.turn().next, Next::Paused);
    assert_eq!(elsewhere.requests().len(), 0);
}

#[test]
fn a_redirect_within_the_origin_is_followed() {
    let receiver = Receiver::start([Act::Say(307, "location: /v2/events\r\n", String::new())]);
    let sender = Sender::new(&receiver.url, 1);
    assert_eq!(sender.turn(), Turn { sent: 3, next: Next::Idle });
    let paths: Vec<String> = receiver.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(paths, ["/v1/events", "/v2/events"]);
    // One that goes round does not keep us.
    let acts = (0..9).map(|_| Act::Say(308, "location: /v1/events\r\n", String::new()));
    let receiver = Receiver::start(acts);
    let sender = Sender::new(&receiver.url, 1);
    assert_eq!(sender.turn().next, Next::Paused);
    assert_eq!(receiver.requests().len(), 4);
}

#[test]
fn nobody_there_and_no_tls() {
    // No port of a test, nor of anybody.
    let sender = Sender::new("http://127.0.0.1:1/", 1);
    assert_eq!(sender.turn().next, at(2_000));
    let receiver = Receiver::start([]);
    let sender = Sender::new(&receiver.url.replace("http://", "https://"), 1);
    assert_eq!(sender.turn().next, at(2_000), "a certificate may be renewed");
    assert_eq!(receiver.requests().len(), 0);
}

#[test]
fn the_well_known_file_is_read_at_most_daily() {
    const DAY_MS: i64 = 24 * 3_600_000;
    let receiver = Receiver::start([]);
    receiver.well_known.lock().expect("not poisoned").0["batch"]["max_events"] = json!(2);
    let sender = Sender::new(&receiver.url, 1);
    let reads = || receiver.well_known.lock().expect("not poisoned").1;
    assert_eq!(sender.turn(), Turn { sent: 3, next: Next::Idle });
    assert_eq!(receiver.requests().iter().map(Request::events).collect::<Vec<_>>(), [2, 1]);
    let more = |nr: i64| {
        sender.now_ms.set(START_MS + nr);
        sender.place.clock.0.set(START_MS + nr);
        sender.place.job("Prompt", &with("a", json!({"prompt": "go", "turn_id": format!("later {nr}")})));
        sender.place.with(|context| flush(context, Duration::from_secs(60))).expect("flushed");
    };
    more(DAY_MS - 1);
    sender.turn();
    assert_eq!(reads(), 1);
    // It is gone for now: what was known holds.
    receiver.well_known.lock().expect("not poisoned").0 = json!(null);
    more(DAY_MS);
    assert!(sender.turn().sent > 0);
    assert_eq!(reads(), 2);
}

#[test]
fn a_server_that_is_no_receiver() {
    let receiver = Receiver::start([]);
    receiver.well_known.lock().expect("not poisoned").0 = json!(null);
    assert_eq!(Sender::new(&receiver.url, 1).turn().next, Next::Paused);
    receiver.well_known.lock().expect("not poisoned").0 = json!({"protocol": [1]});
    assert_eq!(Sender::new(&receiver.url, 1).turn().next, Next::Paused);
    assert_eq!(receiver.requests().len(), 0);
}

#[test]
fn a_token_is_never_told() {
    let echo = format!("bad token {TOKEN}");
    let receiver = Receiver::start([say(401, &echo)]);
    let sender = Sender::new(&receiver.url, 1);
    assert_eq!(sender.turn().next, Next::Paused);
    assert_eq!(sender.row().state.paused.expect("a pause").reason, "401: bad token [redacted]");
    let database = std::fs::read(sender.place.host.dirs.outbox()).expect("the outbox");
    assert!(!database.windows(TOKEN.len()).any(|window| window == TOKEN.as_bytes()));
    // Without one the sink waits: another process may have it.
    std::fs::remove_file(sender.place.path("token")).expect("there");
    let other = Sender { sink: Sink { name: "other".to_owned(), ..sender.sink.clone() }, ..sender };
    assert_eq!(other.turn().next, at(2_000));
}
