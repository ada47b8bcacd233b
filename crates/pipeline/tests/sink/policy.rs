//! What is kept: folders that are off, tiers, sessions that are forgotten.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::double::{Place, with};
use crate::pipeline::settings::{Folder, Keep, Policy, Settings};
use crate::pipeline::take::{Context, forget};
use crate::pipeline::worker::flush;

fn flush_with(place: &Place, policy: Policy) {
    let settings = Arc::new(Settings { policy, sinks: Vec::new() });
    let given = || Some(Arc::clone(&settings));
    let run = |context: &Context<'_>| flush(&Context { settings: &given, ..copied(context) }, Duration::from_secs(60));
    place.with(run).expect("flushed");
}

fn copied<'a>(context: &Context<'a>) -> Context<'a> {
    let Context { host, adapters, machine, is_wired, settings, clock, alive } = *context;
    Context { host, adapters, machine, is_wired, settings, clock, alive }
}

fn off(path: &str) -> Policy {
    Policy { folders: vec![Folder { path: path.into(), keep: Keep::Off }], ..Policy::default() }
}

/// Five events: the end of the turn ends the call too.
fn turn(place: &Place, session: &str, cwd: &str) {
    place.job("SessionStart", &with(session, json!({"source": "startup", "cwd": cwd})));
    place.job("Prompt", &with(session, json!({"prompt": "the plan", "cwd": cwd})));
    place.job("PreTool", &with(session, json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "cwd": cwd})));
    place.job("Stop", &with(session, json!({"cwd": cwd})));
}

/// Whether a word is anywhere in the database or its journal.
fn holds(place: &Place, word: &str) -> bool {
    let outbox = place.host.dirs.outbox();
    let journal = outbox.with_extension("db-wal");
    [outbox, journal].iter().any(|path| {
        let bytes = std::fs::read(path).unwrap_or_default();
        bytes.windows(word.len()).any(|window| window == word.as_bytes())
    })
}

#[test]
fn nothing_is_kept_of_a_folder_that_is_off() {
    let place = Place::new();
    turn(&place, "open", "/src/app");
    turn(&place, "hidden", "/secret/nuclear");
    // It moves on, and what it does there is its too.
    turn(&place, "hidden", "/src/app");
    place.job_of(
        &sessionpipe_core::job::Header { cwd: Some("/secret/nuclear".to_owned()), ..crate::double::header(1) },
        b"rubbish of nuclear",
    );
    flush_with(&place, off("/secret"));
    assert_eq!(place.lines().len(), 5);
    assert!(place.events().iter().all(|event| event.session.id == "open"));
    assert!(!holds(&place, "nuclear"));
    assert_eq!(place.reader().quarantine().expect("readable"), []);
    assert_eq!(place.spool().list().expect("jobs"), [], "they are taken all the same");
}

#[test]
fn a_session_that_enters_a_folder_that_is_off_is_kept_until_then() {
    let place = Place::new();
    turn(&place, "a", "/src/app");
    turn(&place, "a", "/secret");
    flush_with(&place, off("/secret"));
    assert_eq!(place.lines().len(), 5);
    // Its process is not watched for ever either.
    assert_eq!(place.reader().open_processes().expect("readable"), []);
}

#[test]
fn no_more_than_the_tier_is_stored() {
    let place = Place::new();
    turn(&place, "a", "/src/app");
    flush_with(&place, Policy { tier: 0, ..Policy::default() });
    assert_eq!(place.lines(), ["a/0 session.started", "a/1 turn.started", "a/2 turn.ended"], "gap-free");
    assert!(place.events().iter().all(|event| event.tier == 0));
    let place = Place::new();
    turn(&place, "a", "/src/app");
    flush_with(&place, Policy { tier: 1, ..Policy::default() });
    assert_eq!(place.lines().len(), 5);
    let tool = place.events().into_iter().find(|event| event.kind == "tool.started").expect("a tool");
    assert_eq!((tool.tier, tool.data.get("input")), (1, None));
}

#[test]
fn settings_that_cannot_be_read_leave_the_jobs_where_they_are() {
    let place = Place::new();
    turn(&place, "a", "/src/app");
    let run = |context: &Context<'_>| flush(&Context { settings: &|| None, ..copied(context) }, Duration::ZERO);
    let flushed = place.with(run).expect("flushed");
    assert_eq!((flushed.taken, flushed.left), (0, 4));
    flush_with(&place, Policy::default());
    assert_eq!(place.lines().len(), 5);
}

#[test]
fn a_forgotten_session_leaves_one_event_and_nothing_else() {
    let place = Place::new();
    turn(&place, "secret-session", "/src/nuclear");
    turn(&place, "b", "/src/app");
    flush_with(&place, Policy::default());
    assert!(holds(&place, "nuclear"));
    forget(&place.spool(), "double", "secret-session").expect("left");
    flush_with(&place, Policy::default());
    // Its agent goes on, and a late hook comes.
    turn(&place, "secret-session", "/src/nuclear");
    flush_with(&place, Policy::default());
    let events = place.events();
    let left: Vec<_> = events.iter().filter(|event| event.session.id == "secret-session").collect();
    assert_eq!(left.len(), 1);
    assert_eq!((left[0].kind.as_str(), left[0].session.seq), ("session.forgotten", 5), "above all that receivers have");
    assert_eq!((left[0].data.len(), &left[0].session.cwd), (0, &None));
    assert_eq!(events.iter().filter(|event| event.session.id == "b").count(), 5);
    let ledger = crate::pipeline::outbox::Ledger::open(&place.host.dirs.outbox()).expect("opens").expect("there");
    ledger.empty_journal().expect("emptied");
    assert!(!holds(&place, "nuclear"), "not even in what is free of the file");
}
