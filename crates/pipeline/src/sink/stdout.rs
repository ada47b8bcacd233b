//! The standard output of `sessionpipe flush`: a line for each event that is new since the last time.

use std::io::{self, Write as _};

use super::transport::{Answer, Batch, Limits, Receipt, Transport};

/// Writes to our own standard output.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stdout;

impl Transport for Stdout {
    fn limits(&self) -> Limits {
        Limits { max_events: 500, max_bytes: 1024 * 1024 }
    }

    fn send(&mut self, batch: &Batch<'_>) -> Answer {
        let lines: String = batch.events.iter().map(|event| format!("{}\n", event.json)).collect();
        let mut stdout = io::stdout().lock();
        match stdout.write_all(lines.as_bytes()).and_then(|()| stdout.flush()) {
            Ok(()) => Answer::Accepted(Receipt::default()),
            Err(error) => Answer::later(error.to_string()),
        }
    }
}
