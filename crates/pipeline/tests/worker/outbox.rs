//! The outbox by itself: damage, bounds, counters, readers.

use std::fs::{self, OpenOptions};
use std::io::{Seek as _, SeekFrom, Write as _};

use serde_json::json;
use sessionpipe_core::job::Header;

use crate::double::{Place, START_MS, header, session, with};
use crate::pipeline::outbox::{
    MAX_AGE_MS, MAX_QUARANTINED, Outbox, OutboxError, PRUNE_STEP, Quarantined, Query, Reader,
};
use crate::pipeline::take::Taker;
use crate::pipeline::worker::flush;

const SECOND: std::time::Duration = std::time::Duration::from_secs(1);

fn take(place: &Place) {
    place.with(|context| flush(context, SECOND)).expect("flushed");
}

/// `seq` starts at this where an older number may have been given: Unix seconds.
const LATE: i64 = START_MS / 1000;

fn damaged(place: &Place) -> Vec<String> {
    let names = fs::read_dir(&place.host.dirs.state).expect("the state folder");
    let mut names: Vec<String> =
        names.map(|file| file.expect("a file").file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| name.contains("damaged"));
    names.sort_unstable();
    names
}

#[test]
fn a_damaged_outbox_is_moved_aside() {
    let place = Place::new();
    place.job("SessionStart", &session("a"));
    take(&place);
    let rubbish = "this is no database, and was never one ".repeat(100);
    fs::write(place.host.dirs.outbox(), &rubbish).expect("a file");
    assert!(matches!(Reader::open(&place.host.dirs.outbox()), Err(OutboxError::Damaged(_))));
    place.job("Prompt", &session("a"));
    take(&place);
    assert_eq!(place.lines(), [format!("a/{LATE} session.started"), format!("a/{} turn.started", LATE + 1)]);
    let name = format!("outbox.db.damaged-{START_MS}");
    assert_eq!(damaged(&place), [name.as_str()]);
    assert_eq!(fs::read_to_string(place.host.dirs.state.join(name)).expect("kept"), rubbish);
    let losses = place.reader().losses().expect("losses");
    assert_eq!((losses[0].kind.as_str(), losses[0].count), ("outbox damaged", 1));

    // Its own counters go on as usual.
    place.job("Stop", &session("a"));
    take(&place);
    assert_eq!(place.lines()[2], format!("a/{} turn.ended", LATE + 2));
}

#[test]
fn damage_in_the_middle_is_found_when_it_is_met() {
    let place = Place::new();
    for nr in 0..200 {
        place.job("Permission", &with("a", json!({"tool_name": "Bash", "tool_use_id": format!("c{nr}")})));
    }
    take(&place);
    let db = rusqlite::Connection::open(place.host.dirs.outbox()).expect("a database");
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(())).expect("checkpointed");
    drop(db);
    let len = fs::metadata(place.host.dirs.outbox()).expect("a file").len();
    let mut file = OpenOptions::new().write(true).open(place.host.dirs.outbox()).expect("a file");
    // All but the first page, which says that it is a database.
    file.seek(SeekFrom::Start(4096)).expect("a place");
    file.write_all(&vec![0xa5; usize::try_from(len - 4096).expect("small")]).expect("written");
    drop(file);
    place.job("Prompt", &session("a"));
    take(&place);
    assert_eq!(place.lines(), [format!("a/{LATE} session.started"), format!("a/{} turn.started", LATE + 1)]);
    assert_eq!(damaged(&place), [format!("outbox.db.damaged-{START_MS}")]);
}

#[test]
fn a_resumed_session_without_a_counter_starts_late() {
    let place = Place::new();
    place.job("SessionStart", &with("a", json!({"source": "resume"})));
    place.job("SessionStart", &with("b", json!({"source": "startup"})));
    place.job("Prompt", &session("c"));
    take(&place);
    assert_eq!(
        place.lines(),
        [
            format!("a/{LATE} session.started"),
            "b/0 session.started".to_owned(),
            "c/0 session.started".to_owned(),
            "c/1 turn.started".to_owned()
        ]
    );
    // With a counter it goes on where it was.
    place.job("SessionEnd", &session("b"));
    place.job("SessionStart", &with("b", json!({"source": "resume"})));
    take(&place);
    assert_eq!(place.lines()[4..], ["b/1 session.ended", "b/2 session.started"]);
}

#[test]
fn old_events_go_and_their_numbers_do_not_come_back() {
    let place = Place::new();
    place.job("SessionStart", &session("a"));
    place.job("SessionEnd", &session("a"));
    take(&place);
    place.clock.advance(MAX_AGE_MS);
    place.job("SessionStart", &session("b"));
    take(&place);
    assert_eq!(place.events().len(), 3, "not older than the bound");
    place.clock.advance(1);
    take(&place);
    assert_eq!(place.lines(), ["b/0 session.started"]);
    let losses = place.reader().losses().expect("losses");
    assert_eq!((losses[0].kind.as_str(), losses[0].count, losses[0].last_ms), ("pruned", 2, START_MS + MAX_AGE_MS + 1));
    assert_eq!(place.reader().sessions().expect("sessions").len(), 1);

    place.job("SessionStart", &session("a"));
    take(&place);
    assert_eq!(place.lines()[1], "a/2 session.started");
    let activity = place.reader().last_event_per_harness().expect("readable");
    assert_eq!((activity.len(), activity[0].sessions), (1, 2));
    assert_eq!((activity[0].harness.as_str(), activity[0].last_ms), ("double", place.clock.0.get()));
}

#[test]
fn the_oldest_go_when_it_grows_too_big() {
    let place = Place::new();
    let text = "x".repeat(2_000);
    for nr in 0..2_500 {
        let call = json!({"tool_name": "Bash", "tool_use_id": format!("c{nr}"), "tool_input": {"text": text}});
        place.job("PreTool", &with(&format!("s{}", nr / 100), call));
    }
    take(&place);
    // A start and a hundred calls in each of 25 sessions. A call takes a page of 4,096 bytes: 2,500 are above 8 MB,
    // and 1,500 are below it, indexes included.
    assert_eq!(place.reader().stats().expect("stats").events, 2_525);
    let mut outbox = Outbox::open(&place.host.dirs.outbox()).expect("an outbox").bounded(8_000_000);
    assert_eq!(outbox.prune(START_MS).expect("pruned"), u64::from(PRUNE_STEP));
    assert_eq!(outbox.prune(START_MS).expect("pruned"), 0);
    let lines = place.lines();
    assert_eq!((lines.len(), lines[0].as_str()), (1_525, "s9/91 tool.started"));
    assert!(place.reader().stats().expect("stats").bytes < 8_000_000, "the file shrinks");
}

#[test]
fn the_quarantine_is_bounded() {
    let place = Place::new();
    place.spool();
    let mut outbox = Outbox::open(&place.host.dirs.outbox()).expect("an outbox");
    let batch = outbox.batch().expect("a batch");
    for nr in 0..=MAX_QUARANTINED {
        let entry = Quarantined { job: nr.to_string(), at_ms: START_MS, ..Quarantined::default() };
        batch.quarantine(&entry, START_MS).expect("kept");
    }
    batch.commit().expect("committed");
    let kept = place.reader().quarantine().expect("readable");
    assert_eq!(kept.len(), MAX_QUARANTINED as usize);
    assert_eq!(kept.last().expect("the oldest").job, "1");
    let lost = || place.reader().losses().expect("losses").into_iter().map(|l| (l.kind, l.count)).collect::<Vec<_>>();
    assert_eq!(lost(), [("quarantine pruned".to_owned(), 1)]);

    outbox.prune(START_MS + MAX_AGE_MS).expect("pruned");
    assert_eq!(place.reader().stats().expect("stats").quarantined, u64::from(MAX_QUARANTINED));
    outbox.prune(START_MS + MAX_AGE_MS + 1).expect("pruned");
    assert_eq!(place.reader().stats().expect("stats").quarantined, 0);
    assert_eq!(lost(), [("quarantine pruned".to_owned(), 1 + u64::from(MAX_QUARANTINED))]);
}

#[test]
fn a_batch_is_whole_or_not_at_all() {
    let place = Place::new();
    let job = place.job("Prompt", &session("a"));
    place.with(|context| {
        let mut outbox = Outbox::open(&place.host.dirs.outbox()).expect("an outbox");
        // Somebody else holds the database: SQLite gives up after its patience.
        let other = rusqlite::Connection::open(place.host.dirs.outbox()).expect("a database");
        other.execute_batch("BEGIN IMMEDIATE").expect("held");
        let mut taker = Taker::new(context);
        let error = taker.take(&[job], &place.spool(), &mut outbox).expect_err("busy");
        assert!(matches!(error, OutboxError::Sqlite(_)), "{error}");
        other.execute_batch("ROLLBACK").expect("free");
        assert_eq!(place.spool().list().expect("jobs"), [job]);
        assert_eq!(taker.take(&[job], &place.spool(), &mut outbox).expect("taken").jobs, 1);
    });
    assert_eq!(place.lines(), ["a/0 session.started", "a/1 turn.started"]);
}

#[test]
fn readers_get_what_they_ask_for() {
    let place = Place::new();
    for (nr, id) in ["aa", "ab", "b"].into_iter().cycle().take(300).enumerate() {
        let at_ms = START_MS + i64::try_from(nr).expect("small");
        let payload = with(id, json!({"tool_name": "Bash", "tool_use_id": format!("{nr}")}));
        place.job_of(&Header { event: "PreTool".to_owned(), ..header(at_ms) }, payload.to_string().as_bytes());
    }
    take(&place);
    let reader = place.reader();
    let read = |after, query: Query| -> Vec<(i64, String)> {
        let events = reader.events(after, query).expect("readable").map(|entry| entry.expect("an event"));
        events.map(|entry| (entry.pos, format!("{}/{}", entry.event.session.id, entry.event.session.seq))).collect()
    };
    let query = Query::default;
    // 300 calls, and three starts that no hook said.
    let all = read(0, query());
    assert_eq!((all.len(), reader.last_pos().expect("a position")), (303, 303));
    assert!(all.iter().map(|(pos, _)| *pos).eq(1..=303));
    assert_eq!(read(300, query()), all[300..]);
    assert_eq!(read(303, query()), []);
    assert_eq!(read(0, Query { session: Some("a".to_owned()), ..query() }).len(), 202);
    assert_eq!(read(0, Query { session: Some("ab".to_owned()), ..query() }).len(), 101);
    assert_eq!(read(0, Query { harness: Some("double".to_owned()), ..query() }), all);
    assert_eq!(read(0, Query { harness: Some("other".to_owned()), ..query() }), []);
    assert_eq!(read(0, Query { since_ms: Some(START_MS + 298), ..query() }), all[301..]);
    assert_eq!(read(0, Query { since_ms: Some(START_MS + 300), ..query() }), []);
    assert_eq!(read(0, Query { limit: Some(2), ..query() }), all[301..]);
    assert_eq!(read(302, Query { limit: Some(2), ..query() }), all[302..]);
    assert_eq!(read(0, Query { limit: Some(0), ..query() }), []);
    let last_of_b = Query { session: Some("b".to_owned()), limit: Some(1), ..query() };
    assert_eq!(read(0, last_of_b), [(303, "b/100".to_owned())]);

    let stats = reader.stats().expect("stats");
    assert_eq!((stats.events, stats.oldest_ms, stats.quarantined), (303, Some(START_MS), 0));
    assert_eq!(stats.bytes, fs::metadata(place.host.dirs.outbox()).expect("a file").len());
    let sessions = reader.sessions().expect("sessions");
    let mut ids: Vec<&str> = sessions.iter().map(|row| row.tracked.state.id.as_str()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["aa", "ab", "b"]);
}

#[test]
fn a_reader_sees_what_comes_meanwhile() {
    let place = Place::new();
    place.job("SessionStart", &session("a"));
    take(&place);
    let reader = place.reader();
    let mut events = reader.events(0, Query::default()).expect("readable");
    assert_eq!(events.next().expect("one").expect("an event").event.kind, "session.started");
    assert!(events.next().is_none());
    place.job("Prompt", &session("a"));
    take(&place);
    assert_eq!(events.next().expect("one more").expect("an event").event.kind, "turn.started");
}

#[test]
fn where_nothing_was_stored_there_is_no_reader() {
    let place = Place::new();
    assert!(Reader::open(&place.host.dirs.outbox()).expect("no error").is_none());
    place.spool();
    fs::write(place.host.dirs.outbox(), "").expect("a file");
    assert!(Reader::open(&place.host.dirs.outbox()).expect("no error").is_none());
}
