//! Sinks over real connections: a receiver on loopback that answers as it is told.

#![allow(clippy::disallowed_methods)]

mod faults;
mod http;
mod policy;
mod receiver;

#[path = "../worker/double.rs"]
mod double;

use sessionpipe_pipeline as pipeline;
