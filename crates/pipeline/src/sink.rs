//! Sinks: where the person points the stream. A file, a receiver's URL, a program: each gets the events that it may have,
//! in their order, until it has said yes to each.
//!
//! ```text
//! outbox ─▶ choose (harness, type) ─▶ filter (tier) ─▶ batch ─▶ transport ─▶ answer ─▶ position
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`config`] | what the person decided about one sink |
//! | [`target`] | where a sink goes, as it is typed and stored |
//! | [`transport`] | the seam: a batch goes out, an [`Answer`] comes back; one implementation per kind of target |
//! | [`client`] | HTTP as the transports need it: deadlines, origins, `retry-after` |
//! | [`http`], [`file`], [`exec`], [`stdout`] | the transports |
//! | [`delivery`] | one sink's turn: what each answer means, back-off, positions |
//! | [`couriers`] | the threads of the worker, and `flush` |
//!
//! # Nothing lost, nothing twice
//!
//! - A sink's position moves when its transport has said yes, never before.
//! - The batch that is about to go is noted first. Who dies in between sends the very same one again, with the same id;
//!   receivers drop what they have by (harness, session, seq).
//! - Whoever delivers for a sink holds its lock file, which the system frees when the process dies.

pub mod client;
pub mod config;
pub mod couriers;
pub mod delivery;
pub mod exec;
pub mod file;
pub mod http;
pub mod stdout;
pub mod target;
pub mod transport;

pub use config::{Begin, SessionIds, Sink, Source};
pub use target::{BadTarget, Encoding, Target};
/// The URL of a target.
pub use ureq::http::Uri;

pub use transport::{Answer, Batch, Limits, Outgoing, Receipt, Rejected, Transport};
