//! Agents that run the hooks of another's config: whether their own adapter is built in or not, they are known, and answered
//! alike.

use sessionpipe::registry::HARNESSES;
use sessionpipe_core::harness::{Harness, Mark, Reply};
use sessionpipe_core::payload;

/// Each lender with a borrower that has an adapter of its own.
fn pairs() -> Vec<(&'static Harness, &'static Harness)> {
    let borrowers = |lender: &'static Harness| lender.borrowers.iter().map(move |borrower| (lender, borrower.name));
    let own = |name: &str| HARNESSES.iter().copied().find(|harness| harness.name == name);
    let pairs: Vec<_> =
        HARNESSES.iter().flat_map(|l| borrowers(l)).filter_map(|(lender, name)| Some((lender, own(name)?))).collect();
    assert!(!pairs.is_empty());
    pairs
}

fn answers(harness: &'static Harness, caller: &str) -> Vec<(&'static str, &'static str)> {
    let rows = harness.replies.iter().filter(|row| row.caller == caller);
    rows.map(|Reply { event, stdout, .. }| (*event, *stdout)).collect()
}

#[test]
fn lender_and_borrower_give_the_same_answers() {
    for (lender, borrower) in pairs() {
        assert_eq!(answers(lender, borrower.name), answers(borrower, borrower.name), "{}", borrower.name);
    }
}

#[test]
fn a_borrower_is_known_and_answered_with_and_without_its_own_adapter() {
    for (lender, borrower) in pairs() {
        let without: Vec<_> = HARNESSES.iter().copied().filter(|harness| harness.name != borrower.name).collect();
        for mark in borrower.marks {
            let Mark::Key(mark) = mark else { panic!("{}: {mark:?}", borrower.name) };
            let has_key = |key: &str| key == *mark;
            let caller =
                |harnesses: &[&'static Harness]| payload::caller(harnesses, lender.name, has_key, |_| false).to_owned();
            assert_eq!([caller(HARNESSES), caller(&without)], [borrower.name, borrower.name]);
        }
        let names = borrower.events.iter().map(|event| event.name).chain(lender.events.iter().map(|event| event.name));
        for event in names {
            let reply = |harnesses: &[&'static Harness]| payload::reply(harnesses, borrower.name, event);
            assert_eq!(reply(HARNESSES), reply(&without), "{event}");
        }
    }
}
