//! The small hook program as a harness runs it: pipes, kills, broken environments. Every test has its own home.

#![allow(clippy::disallowed_methods)]

mod arguments;
mod environment;
mod killed;
mod lab;
mod stdin;
mod stream;
mod system_calls;
mod worker;
