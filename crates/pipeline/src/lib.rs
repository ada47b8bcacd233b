//! The pipeline: hook → spool → worker → outbox → sinks.
//!
//! # The way of the data
//!
//! ```text
//! harness ─stdin─▶ hook ─▶ spool/<id>.job ─▶ take ─▶ outbox.db ─▶ tail, status, sinks
//!                   │                         ▲
//!                   └─ wake ─▶ worker ────────┘
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`hook`] | what a harness starts: reads stdin, leaves a job, prints the reply, wakes the worker |
//! | [`stream`] | what a plugin of ours starts: a job for each line on stdin |
//! | [`spool`] | the jobs: one file per hook call, whole or not at all |
//! | [`process`] | who started the hook, and whether a process still lives |
//! | [`wake`] | the worker's lock and FIFO, and why no job is stranded between two workers |
//! | [`losses`] | counters of what was lost where nothing else could be written |
//! | [`worker`] | the loop: scan, take, tick, wait; and `flush` |
//! | [`take`] | one batch of jobs: payload → adapter → tracker → facts → redact → bound → outbox |
//! | [`quarantine`] | what is kept of a job that could not be used |
//! | [`outbox`] | the events in the order in which they were accepted, and all that must agree with them |
//! | [`settings`] | what the person decided: what is kept, and where it goes |
//! | [`sink`] | where the person points the stream, and how it gets there |
//! | [`platform`] | what needs unsafe code or the process's own environment |
//!
//! # Nothing lost, nothing twice
//!
//! - A job becomes visible by a rename: it is there whole, or the hook has not returned.
//! - A batch's events, the marks of its jobs, the sessions' states and the counters are one transaction, on disk
//!   (`synchronous = FULL`) before the first file of the batch is deleted. Whoever dies before the commit has done
//!   nothing; who dies after it leaves files whose marks say that they only need deleting. A mark goes when its file is
//!   gone for good.
//! - An event's id derives from its job and its place in it. Even a job that is taken again (by a new outbox in place of
//!   a damaged one, say) yields the same ids.
//! - What cannot be used goes to quarantine, what is dropped is counted.
//!
//! A raw payload is stored nowhere but in the spool, and there only until its job is taken.

// The hook must not fail its harness, nor one job the worker: nothing here panics of its own accord.
#![cfg_attr(not(test), deny(clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

pub mod hook;
pub mod losses;
pub mod outbox;
pub mod platform;
pub mod process;
pub mod quarantine;
pub mod settings;
pub mod sink;
pub mod spool;
pub mod stream;
pub mod take;
pub mod wake;
pub mod worker;
