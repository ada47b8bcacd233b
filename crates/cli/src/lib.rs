//! The program: arguments, output, and one module per command. All behaviour below it lies in the libraries.
//!
//! | module | holds |
//! |---|---|
//! | [`registry`] | the harnesses that it was built with |
//! | [`host`] | the one `Host`: home, environment, clock, and the path that hooks shall call |
//! | [`commands`] | one module per command: its arguments, whose comments are the help, and its function |
//! | [`config`] | the person's settings |
//! | [`context`] | what taking jobs needs of the program |
//! | [`select`] | which harnesses a command is about |
//! | [`plan_view`] | a plan and its receipt, as text and as JSON |
//! | [`health`] | what is known of each harness: its files, its sessions, when it was last heard of |
//! | [`sinks`] | the sinks and how they do |
//! | [`latency`] | how long a hook takes on this machine |
//! | [`lines`] | an event as a line for a person |
//! | [`out`], [`error`], [`when`] | what a person sees, the exit codes, the times that a person types |
//! | [`schema`] | the schemas of every `--json` |

pub mod commands;
pub mod config;
pub mod context;
pub mod error;
pub mod health;
pub mod host;
pub mod latency;
pub mod lines;
pub mod out;
pub mod plan_view;
pub mod registry;
pub mod schema;
pub mod select;
pub mod sinks;
pub mod when;
