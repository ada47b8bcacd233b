//! The worker: jobs per second from the spool to the outbox on one core, and resident memory. Prints a table:
//!
//! ```text
//! cargo bench -p sessionpipe-pipeline --bench worker
//! ```
//!
//! Each row is a process of its own, so that its peak is its own. The payloads have 4 KB: tool calls with their input,
//! of twenty sessions at once, through mapping, tracker, redaction and bounds, and every batch synced to disk. The spool
//! is filled beforehand and not measured. RSS is that of a worker that has taken its jobs and waits.

#![allow(clippy::disallowed_methods, clippy::disallowed_macros)]

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::json;
use sessionpipe_core::job::Header;
use sessionpipe_pipeline as pipeline;

use crate::pipeline::outbox::Outbox;
use crate::pipeline::spool::Spool;
use crate::pipeline::take::{Context, Taker};

#[path = "../tests/worker/double.rs"]
mod double;

/// Tells a child how many jobs are its own.
const JOBS: &str = "SESSIONPIPE_BENCH_JOBS";

fn main() {
    if let Ok(jobs) = std::env::var(JOBS) {
        return row(jobs.parse().expect("a number"));
    }
    println!("{:>8}  {:>8}  {:>8}  {:>12}  {:>9}  {:>9}", "jobs", "seconds", "jobs/s", "jobs/CPU s", "RSS", "peak RSS");
    for jobs in ["100", "10000", "50000", "100000"] {
        let status = Command::new(std::env::current_exe().expect("this program")).env(JOBS, jobs).status();
        assert!(status.is_ok_and(|status| status.success()), "{jobs} jobs");
    }
}

fn row(jobs: u32) {
    let home = tempfile::tempdir().expect("a folder");
    let host = double::host(home.path().canonicalize().expect("a folder"));
    let spool = Spool::open(&host.dirs).expect("a spool");
    for nr in 0..jobs {
        leave(&spool, nr);
    }
    let alive = |_: &_| true;
    let context = Context { alive: &alive, ..Context::new(&host, double::adapters(), None, &|_| false) };
    let mut outbox = Outbox::open(&host.dirs.outbox()).expect("an outbox");
    let mut taker = Taker::new(&context);
    let (start, cpu) = (Instant::now(), cpu_seconds());
    let taken = taker.take_all(&spool, &mut outbox).expect("taken");
    let (seconds, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    assert_eq!(taken.jobs, jobs as usize);
    let (rss, peak) = memory();
    let (by_clock, by_cpu) = (f64::from(jobs) / seconds, f64::from(jobs) / cpu);
    println!("{jobs:>8}  {seconds:>8.2}  {by_clock:>8.0}  {by_cpu:>12.0}  {rss:>6.1} MB  {peak:>6.1} MB");
}

/// The calls of a session in pairs, as a harness makes them.
fn leave(spool: &Spool, nr: u32) {
    let (session, step) = (nr % 20, nr / 20);
    let event = if step % 2 == 0 { "PreTool" } else { "PostTool" };
    let text = "fn main() { println!(\"a line of code, as tools write them\"); } // and so on\n".repeat(48);
    let payload = json!({
        "session_id": format!("0195f1c0-7b1e-7c7a-9a4c-0000000000{session:02}"),
        "cwd": "/src",
        "tool_name": "Write",
        "tool_use_id": format!("call_{}", step / 2),
        "turn_id": "turn-1",
        "tool_input": {"file_path": "/src/main.rs", "content": text},
    });
    let header = Header { event: event.to_owned(), ..double::header(double::START_MS + i64::from(nr)) };
    double::leave(spool, &header, nr % 1_000_000, payload.to_string().as_bytes());
}

/// Time that this thread was on a core, by `/proc/self/schedstat`; zero where there is none. On a busy machine it tells
/// more than the clock.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    stat.split_ascii_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or_default() / 1e9
}

/// Resident memory now and at its peak, in MB, by `/proc/self/status`; zeros where there is none.
fn memory() -> (f64, f64) {
    let status = std::fs::read_to_string(Path::new("/proc/self/status")).unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|line| line.split_ascii_whitespace().next()?.parse::<f64>().ok());
        kib.unwrap_or_default() / 1024.0
    };
    (field("VmRSS:"), field("VmHWM:"))
}
