//! What becomes of a job.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use sessionpipe_core::ids;
use sessionpipe_core::job::Header;
use sessionpipe_core::tracker::LOST_GRACE_MS;

use crate::double::{Place, START_MS, header, leave, process, session, with};
use crate::pipeline::outbox::{Outbox, Quarantined};
use crate::pipeline::take::{Taken, Taker};
use crate::pipeline::worker::flush;

/// Takes all that waits.
fn take(place: &Place) -> Taken {
    place.with(|context| {
        let mut outbox = Outbox::open(&place.host.dirs.outbox()).expect("an outbox");
        Taker::new(context).take_all(&place.spool(), &mut outbox).expect("taken")
    })
}

fn quarantine(place: &Place) -> Vec<Quarantined> {
    place.reader().quarantine().expect("readable")
}

/// The reasons in quarantine, the latest first.
fn reasons(place: &Place) -> Vec<String> {
    quarantine(place).into_iter().map(|entry| entry.reason).collect()
}

#[test]
fn an_event_holds_what_is_known() {
    let place = Place::new();
    place.job("Prompt", &with("a", json!({"prompt": "go", "model": "m-1", "cwd": place.path("src")})));
    assert_eq!(take(&place), Taken { jobs: 1, newer: false });
    let events = place.events();
    let event = events.last().expect("a turn");
    assert_eq!((event.kind.as_str(), event.time.as_str()), ("turn.started", "2026-11-30T08:00:00.000Z"));
    assert_eq!((event.harness.name.as_str(), event.harness.event.as_deref()), ("double", Some("Prompt")));
    assert_eq!((event.session.id.as_str(), event.session.seq), ("a", 1));
    assert_eq!(event.session.machine.as_deref(), Some("box"));
    assert_eq!((event.session.cwd.as_deref(), event.session.model.as_deref()), (Some("~/src"), Some("m-1")));
    assert_eq!(event.privacy.rulesets, ["secrets@1"]);
    assert_eq!(event.data["prompt_chars"], 2);
}

#[test]
fn jobs_are_taken_by_their_own_time() {
    let place = Place::new();
    let at = |ms, event: &str| Header { event: event.to_owned(), ..header(START_MS + ms) };
    place.job_of(&at(20, "Stop"), session("a").to_string().as_bytes());
    place.job_of(&at(10, "Prompt"), session("a").to_string().as_bytes());
    place.job_of(&at(0, "SessionStart"), session("a").to_string().as_bytes());
    take(&place);
    assert_eq!(place.lines(), ["a/0 session.started", "a/1 turn.started", "a/2 turn.ended"]);
    assert_eq!(place.events()[2].data["ms"], 10);
}

#[test]
fn secrets_and_raw_payloads_are_not_stored() {
    let place = Place::new();
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let input = json!({"command": format!("curl -H 'Authorization: Bearer {secret}'")});
    place.job("PreTool", &with("a", json!({"tool_name": "Bash", "tool_input": input, "input-messages": ["by heart"]})));
    take(&place);
    let event = place.events().pop().expect("a tool call");
    // A folder of that name is in the session's stored state too, and still the same one.
    let folder = format!("/src/{secret}");
    let started = json!({"session_id": "b", "cwd": &folder, "transcript_path": format!("{folder}/b.jsonl")});
    place.job("SessionStart", &started);
    place.job("Prompt", &json!({"cwd": &folder}));
    take(&place);
    assert_eq!(place.lines().last().expect("a turn"), "b/1 turn.started");
    assert!(event.data["input"]["command"].as_str().expect("a command").contains("[redacted]"));
    for file in fs::read_dir(&place.host.dirs.state).expect("the state folder") {
        let path = file.expect("a file").path();
        // The database, its journal, and whatever else there may be.
        if path.is_file() && path.file_name().is_some_and(|name| name != "worker.fifo") {
            let bytes = fs::read(&path).expect("readable");
            for text in [secret, "by heart"] {
                let found = bytes.windows(text.len()).any(|window| window == text.as_bytes());
                assert!(!found, "{text} in {}", path.display());
            }
        }
    }
}

#[test]
fn only_the_owner_can_read_the_outbox() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    place.spool();
    fs::write(place.host.dirs.outbox(), "").expect("a file");
    fs::set_permissions(place.host.dirs.outbox(), fs::Permissions::from_mode(0o644)).expect("a mode");
    place.job("Prompt", &session("a"));
    let outbox = Outbox::open(&place.host.dirs.outbox()).expect("an outbox");
    for name in ["outbox.db", "outbox.db-wal", "outbox.db-shm"] {
        let meta = fs::metadata(place.host.dirs.state.join(name)).expect(name);
        assert_eq!(meta.permissions().mode() & 0o777, 0o600, "{name}");
    }
    drop(outbox);
}

#[test]
fn what_says_nothing_is_dropped() {
    let place = Place::new();
    place.job("Nothing", &session("a"));
    assert_eq!(take(&place).jobs, 1);
    assert_eq!(place.events(), []);
    assert_eq!(reasons(&place), [""; 0]);
}

#[test]
fn two_hundred_jobs_of_twenty_sessions_in_any_order() {
    let place = Place::new();
    let spool = place.spool();
    let events = ["SessionStart", "Prompt", "PreTool", "PostTool", "PreTool", "PostTool", "Stop", "Prompt", "Stop"];
    let mut jobs = Vec::new();
    for session in 0..20 {
        for (nr, event) in events.into_iter().chain(["SessionEnd"]).enumerate() {
            let at_ms = START_MS + i64::try_from(nr * 10).expect("small") + session % 7;
            let call =
                json!({"tool_name": "Bash", "tool_use_id": format!("c{}", nr / 2), "turn_id": format!("t{}", nr / 7)});
            jobs.push((Header { event: event.to_owned(), ..header(at_ms) }, with(&format!("s{session}"), call)));
        }
    }
    // A fixed permutation: 77 and 200 have no common factor.
    for nr in 0..jobs.len() {
        let (header, payload) = &jobs[nr * 77 % 200];
        leave(&spool, header, u32::try_from(nr).expect("small"), payload.to_string().as_bytes());
    }
    assert_eq!(take(&place), Taken { jobs: 200, newer: false });

    let mut streams: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for event in place.events() {
        let stream = streams.entry(event.session.id).or_default();
        assert_eq!(event.session.seq, stream.len() as u64, "gap-free from 0, in the order of the outbox");
        stream.push(event.kind);
    }
    assert_eq!(streams.len(), 20);
    for (session, stream) in streams {
        assert_eq!(
            stream,
            [
                "session.started",
                "turn.started",
                "tool.started",
                "tool.ended",
                "tool.started",
                "tool.ended",
                "turn.ended",
                "turn.started",
                "turn.ended",
                "session.ended"
            ],
            "{session}"
        );
    }
}

#[test]
fn late_jobs_are_neither_lost_nor_doubled() {
    let place = Place::new();
    let spool = place.spool();
    // Ten calls in each of twenty sessions, in no order at all, and taken seven at a time.
    let mut jobs: Vec<(i64, String, String)> = Vec::new();
    for nr in 0..200_i64 {
        let shuffled = nr * 77 % 200;
        jobs.push((shuffled, format!("s{}", shuffled % 20), format!("c{}", shuffled / 20)));
    }
    for chunk in jobs.chunks(7) {
        for (nr, session, call) in chunk {
            let header = Header { event: "PreTool".to_owned(), ..header(START_MS + nr) };
            let payload = with(session, json!({"tool_name": "Bash", "tool_use_id": call}));
            leave(&spool, &header, 0, payload.to_string().as_bytes());
        }
        assert_eq!(take(&place).jobs, chunk.len());
    }
    let mut streams: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for event in place.events() {
        let stream = streams.entry(event.session.id).or_default();
        assert_eq!(event.session.seq, stream.len() as u64);
        stream.push(event.data.get("call_id").map_or(event.kind, |call| call.as_str().expect("an id").to_owned()));
    }
    assert_eq!(streams.len(), 20);
    for (session, mut stream) in streams {
        assert_eq!(stream.remove(0), "session.started");
        stream.sort_unstable();
        assert_eq!(stream, ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9"], "{session}");
    }
}

#[test]
fn a_job_that_was_not_deleted_is_not_taken_again() {
    let place = Place::new();
    let job = place.job("Prompt", &session("a"));
    let file = place.host.dirs.spool().join(format!("{job}.job"));
    let bytes = fs::read(&file).expect("a job");
    take(&place);
    let before = place.lines();
    assert_eq!(before, ["a/0 session.started", "a/1 turn.started"]);
    // As if we had died between the commit and the deletion.
    fs::write(&file, &bytes).expect("back");
    assert_eq!(take(&place).jobs, 1);
    assert_eq!(place.lines(), before);
    assert!(!file.exists());

    // Even without its mark it yields the same ids.
    let mut outbox = Outbox::open(&place.host.dirs.outbox()).expect("an outbox");
    assert!(outbox.has_done().expect("readable"));
    assert_eq!(outbox.forget_done(None).expect("forgotten"), 1);
    fs::write(&file, &bytes).expect("back");
    assert_eq!(take(&place).jobs, 1);
    assert_eq!(place.lines(), before);
}

#[test]
fn a_mark_stays_as_long_as_its_file_may() {
    let place = Place::new();
    let first = place.job("Prompt", &session("a"));
    let second = place.job("Stop", &session("a"));
    take(&place);
    let mut outbox = Outbox::open(&place.host.dirs.outbox()).expect("an outbox");
    assert_eq!(outbox.forget_done(Some(&first.to_string())).expect("forgotten"), 0);
    assert_eq!(outbox.forget_done(Some(&second.to_string())).expect("forgotten"), 1);
    assert_eq!(outbox.forget_done(None).expect("forgotten"), 1);
    assert!(!outbox.has_done().expect("readable"));
}

#[test]
fn without_an_id_it_belongs_to_the_open_session_of_its_process_and_folder() {
    let place = Place::new();
    let nameless = json!({"cwd": "/src"});
    place.job("SessionStart", &session("a"));
    place.job("Prompt", &nameless);
    place.job_of(
        &Header { event: "Prompt".to_owned(), parents: vec![process(701)], ..header(START_MS) },
        nameless.to_string().as_bytes(),
    );
    take(&place);
    let made_up = ids::made_up_session_id("double", "/src", 701, 7010);
    assert_eq!(
        place.lines(),
        [
            "a/0 session.started".to_owned(),
            "a/1 turn.started".to_owned(),
            format!("{made_up}/0 session.started"),
            format!("{made_up}/1 turn.started"),
        ]
    );
    let marked: Vec<bool> = place.events().iter().map(|e| e.data.contains_key("id_made_up")).collect();
    assert_eq!(marked, [false, false, true, true]);

    // The next one of that process, and one in another folder.
    place.clock.advance(1);
    place.job_of(
        &Header { event: "Stop".to_owned(), parents: vec![process(701)], ..header(START_MS + 1) },
        nameless.to_string().as_bytes(),
    );
    place.job("Stop", &json!({"cwd": "/elsewhere"}));
    take(&place);
    let lines = place.lines();
    assert_eq!(lines[4], format!("{made_up}/2 turn.ended"));
    let other = ids::made_up_session_id("double", "/elsewhere", 700, 7000);
    assert_eq!(lines[5], format!("{other}/0 session.started"));
}

#[test]
fn an_id_that_does_not_fit_becomes_one_that_does() {
    let place = Place::new();
    place.job("SessionStart", &session("a session"));
    take(&place);
    let id = ids::uuid_of("double", "a session").to_string();
    assert_eq!(place.lines(), [format!("{id}/0 session.started")]);
    assert!(!place.events()[0].data.contains_key("id_made_up"), "it is the harness's own");
}

#[test]
fn a_borrowed_copy_is_dropped_where_the_sender_is_wired_itself() {
    for (wired, expected) in [(&["borrower"][..], &[][..]), (&[], &["borrower"])] {
        let place = Place::new();
        place.job("SessionStart", &with("a", json!({"borrower_version": "1.0"})));
        place.job("SessionStart", &session("b"));
        place.with_wired(wired, |context| {
            let mut outbox = Outbox::open(&place.host.dirs.outbox()).expect("an outbox");
            Taker::new(context).take_all(&place.spool(), &mut outbox).expect("taken");
        });
        let senders: Vec<String> = place.events().into_iter().map(|e| e.harness.name).collect();
        assert_eq!(senders, [expected, &["double"]].concat(), "{wired:?}");
        assert_eq!(place.spool().list().expect("jobs"), []);
    }
}

#[test]
fn one_that_borrows_from_two_configs_is_told_once() {
    for (wired, expected) in [(&["double", "borrower"][..], 1), (&["borrower"], 1), (&[], 2)] {
        let place = Place::new();
        for harness in ["double", "borrower"] {
            let header = Header { event: "Prompt".to_owned(), harness: harness.to_owned(), ..header(START_MS) };
            place.job_of(&header, with("a", json!({"lodger_version": "1.0"})).to_string().as_bytes());
        }
        place.with_wired(wired, |context| {
            let mut outbox = Outbox::open(&place.host.dirs.outbox()).expect("an outbox");
            Taker::new(context).take_all(&place.spool(), &mut outbox).expect("taken");
        });
        let told = place.events().into_iter().filter(|e| e.harness.name == "lodger" && e.kind == "turn.started");
        assert_eq!(told.count(), expected, "{wired:?}");
    }
}

#[test]
fn a_borrower_without_an_adapter_is_told_under_its_own_name() {
    let place = Place::new();
    place.job("Prompt", &with("a", json!({"lodger_version": "1.0"})));
    place.dead.borrow_mut().insert(700);
    for _ in 0..2 {
        place.with(|context| flush(context, Duration::ZERO)).expect("flushed");
        place.clock.advance(LOST_GRACE_MS);
    }
    let told: Vec<_> = place.events().into_iter().map(|e| (e.harness.name, e.kind)).collect();
    let kinds = ["session.started", "turn.started", "turn.ended", "session.ended"];
    assert_eq!(told, kinds.map(|kind| ("lodger".to_owned(), kind.to_owned())));
}

#[test]
fn a_cut_payload_is_marked() {
    let place = Place::new();
    let header = Header { event: "Prompt".to_owned(), ..header(START_MS) };
    place.job_of(&header, br#"{"session_id":"a","cwd":"/src","prompt":"half of i"#);
    take(&place);
    let partial: Vec<_> = place.events().iter().map(|e| e.data.get("partial").cloned()).collect();
    assert_eq!(partial, [Some(json!(true)), Some(json!(true))]);
}

#[test]
fn nothing_on_stdin_is_an_event_where_the_session_is_known() {
    let place = Place::new();
    let stop = Header { event: "Stop".to_owned(), ..header(START_MS) };
    place.job_of(&stop, b"");
    take(&place);
    assert_eq!(place.events(), []);
    assert_eq!(reasons(&place), ["nothing arrived on stdin, and it belongs to no open session"]);

    place.job("Prompt", &session("a"));
    place.job_of(&Header { at_ms: START_MS + 5, ..stop }, b"");
    take(&place);
    assert_eq!(place.lines(), ["a/0 session.started", "a/1 turn.started", "a/2 turn.ended"]);
    assert_eq!(place.events()[2].data["partial"], true);
    assert_eq!(reasons(&place).len(), 1);
}

#[test]
fn what_cannot_be_used_goes_to_quarantine() {
    let place = Place::new();
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let of = |harness: &str, event: &str| Header {
        harness: harness.to_owned(),
        event: event.to_owned(),
        ..header(START_MS)
    };
    place.job_of(&of("other", "Stop"), format!(r#"{{"session_id":"a","key":"{secret}"}}"#).as_bytes());
    place.job_of(&of("double", "Unheard"), br#"{"session_id":"a","said":["one","two"]}"#);
    place.job_of(&of("double", "Panic"), br#"{"session_id":"a"}"#);
    place.job("SessionStart", &session("b"));
    assert_eq!(take(&place), Taken { jobs: 4, newer: false });
    assert_eq!(place.lines(), ["b/0 session.started"], "the others go on");
    assert_eq!(place.spool().list().expect("jobs"), []);

    let entries = quarantine(&place);
    let reasons: Vec<&str> = entries.iter().map(|e| e.reason.as_str()).collect();
    assert_eq!(
        reasons[1..],
        ["the native event \"Unheard\" is not one that this harness has", "no adapter for \"other\"",]
    );
    assert!(reasons[0].starts_with("taking it panicked: ") && reasons[0].contains("as it was told"), "{}", reasons[0]);
    assert_eq!((entries[2].harness.as_str(), entries[2].event.as_str()), ("other", "Stop"));
    assert_eq!(entries[2].at_ms, START_MS);
    assert_eq!(entries[2].payload, r#"{"session_id":"a","key":"[redacted]"}"#);
    assert_eq!(entries[1].payload, r#"{"session_id":"a","said":"[2 items]"}"#);
}

#[test]
fn a_file_that_is_no_job_goes_to_quarantine() {
    let place = Place::new();
    let job = place.job("Stop", &session("a"));
    fs::write(place.host.dirs.spool().join(format!("{job}.job")), "rubbish").expect("a file");
    assert_eq!(take(&place).jobs, 1);
    assert_eq!(reasons(&place), ["the job's header is broken"]);
    assert_eq!(quarantine(&place)[0].at_ms, START_MS, "by its name");
}

#[test]
fn the_version_is_read_from_a_transcript_inside_the_roots() {
    let place = Place::new();
    let inside = place.path(".double/a.jsonl");
    let outside = place.path("outside.jsonl");
    fs::create_dir(place.path(".double")).expect("a folder");
    fs::write(&outside, "9.9\n").expect("a file");
    symlink(&outside, place.path(".double/link.jsonl")).expect("a link");
    let version_of = |id: &str, path: &Path| {
        place.job("Stop", &with(id, json!({"transcript_path": path})));
        take(&place);
        place.events().pop().expect("an event").harness.version
    };
    assert_eq!(version_of("a", &inside), None, "not there yet");
    fs::write(&inside, "").expect("a file");
    place.job("Prompt", &session("a"));
    assert_eq!(version_of("a", &inside), None, "nothing in it yet");
    fs::write(&inside, "2.1\n").expect("a file");
    place.job("Prompt", &session("a"));
    assert_eq!(version_of("a", &inside).as_deref(), Some("2.1"));
    assert_eq!(version_of("b", &outside), None);
    assert_eq!(version_of("c", &place.path(".double/link.jsonl")), None);
    assert_eq!(version_of("d", &place.path(".double/../outside.jsonl")), None);
    assert_eq!(version_of("e", &place.path(".double")), None, "a folder is no file");
}

#[test]
fn files_are_not_read_for_ever_for_what_they_do_not_tell() {
    let place = Place::new();
    let transcript = place.path(".double/a.jsonl");
    fs::create_dir(place.path(".double")).expect("a folder");
    for reads in [1, 1, 2, 3, 4, 5, 5] {
        // It grows but for the second time; its first line stays empty.
        if reads > 1 || !transcript.exists() {
            let text = fs::read_to_string(&transcript).unwrap_or_default();
            fs::write(&transcript, text + "\n").expect("a file");
        }
        place.job("Permission", &with("a", json!({"transcript_path": &transcript, "tool_name": "Bash"})));
        take(&place);
        assert_eq!(place.reader().sessions().expect("sessions")[0].tracked.fact_reads, reads);
    }
}
