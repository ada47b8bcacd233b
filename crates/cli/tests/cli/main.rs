//! The program, run as a person runs it. One binary for all: each test has its own home, an empty environment and a
//! fixed PATH.

#![allow(clippy::disallowed_methods, missing_docs)]

mod borrowed;
mod demo;
mod doctor;
mod end_to_end;
mod environment;
mod generated;
mod install;
mod json;
mod paths;
mod sinks;
mod status;
mod surface;
mod tail;
mod uninstall;

#[path = "../../../pipeline/tests/sink/receiver.rs"]
mod receiver;
