//! The protocol and the seam: what every other crate of the workspace speaks.
//!
//! Data moves one way through these modules:
//!
//! | module | holds |
//! |---|---|
//! | [`harness`] | the constants of one harness: registry row, marks, replies, quirks, native events |
//! | [`adapter`] | the trait that a harness's crate implements |
//! | [`file`](mod@file), [`jsonc`], [`package`] | reading files that others own |
//! | [`host`] | the only door to the outside: home, environment, clock, state folder |
//! | [`command`] | the command that a config holds: how it is written, and how one of ours is recognised |
//! | [`wiring`] | what an adapter wants to be true of config files (data, not edits) |
//! | [`job`] | what the hook leaves in the spool |
//! | [`payload`] | reading what a harness sent: complete, cut, doubled or broken |
//! | [`plugin`] | the text of our plugins, for the harnesses that run plugins instead of commands |
//! | [`plugin_line`] | the lines that our own plugins write, mapped by the same table |
//! | [`patch`] | the patches that several editing tools take |
//! | [`stdin_hook`] | the table-driven mapper for Claude-shaped payloads |
//! | [`seen`] | the closed vocabulary of what hooks and transcripts can say |
//! | [`tracker`] | seen → events: starts, ends, durations and attention that no single hook says |
//! | [`event`] | the protocol's envelope, types and tiers |
//! | [`usage`] | tokens, counted disjointly |
//! | [`ids`] | session ids, event ids, attention ids |
//! | [`privacy`] | `filter` to a tier, `secrets@1` |
//! | [`testing`] | (feature `testing`) the fixture runner of the adapters' own tests |

pub mod adapter;
pub mod command;
pub mod event;
pub mod file;
pub mod harness;
pub mod host;
pub mod ids;
pub mod job;
pub mod jsonc;
pub mod package;
pub mod patch;
pub mod payload;
pub mod plugin;
pub mod plugin_line;
pub mod privacy;
pub mod seen;
pub mod stdin_hook;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod tracker;
pub mod usage;
pub mod wiring;
