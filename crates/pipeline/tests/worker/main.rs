//! From the spool to the outbox, with a harness that exists only here.

#![allow(clippy::disallowed_methods)]

use sessionpipe_pipeline as pipeline;

mod crash;
mod double;
mod flush;
mod outbox;
mod schema;
mod take;
