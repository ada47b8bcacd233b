//! The pipeline: hook → spool → worker → outbox → sinks.

pub mod hook;
pub mod losses;
pub mod platform;
pub mod process;
pub mod spool;
pub mod wake;
