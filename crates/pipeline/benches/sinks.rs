//! Delivery to receivers on loopback: events per second, memory, and how long an event is on its way. Prints two tables:
//!
//! ```text
//! cargo bench -p sessionpipe-pipeline --bench sinks
//! ```
//!
//! The sender is a process of its own, so that its peak and its time on the cores are its own. First 100,000 events of 1 KB
//! that wait in the outbox go to one receiver. Then a worker is up and a job is left in the spool and the worker woken, as
//! a hook does it, one after the other: from there until the receiver has the event, with that receiver as the only
//! sink, and with one beside it that is dead and one that takes 300 ms for each request.

#![allow(clippy::disallowed_methods, clippy::disallowed_macros)]

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use serde_json::json;
use sessionpipe_pipeline as pipeline;

use crate::double::{Place, adapters, with};
use crate::pipeline::outbox::{Ledger, Outbox};
use crate::pipeline::settings::Settings;
use crate::pipeline::sink::delivery::Next;
use crate::pipeline::sink::{Begin, Sink, couriers};
use crate::pipeline::take::{Context, SystemClock};
use crate::pipeline::wake::wake;
use crate::pipeline::worker;
use crate::receiver::{Act, Receiver, Request};

#[path = "../tests/worker/double.rs"]
mod double;
#[path = "../tests/sink/receiver.rs"]
mod receiver;

/// Tells a child what it is to do, where, and to whom.
const ROLE: &str = "SESSIONPIPE_BENCH_ROLE";
const HOME: &str = "SESSIONPIPE_BENCH_HOME";
const URLS: &str = "SESSIONPIPE_BENCH_URLS";

const EVENTS: u32 = 100_000;
const SAMPLES: usize = 200;

fn main() {
    match std::env::var(ROLE).as_deref() {
        Ok("drain") => return drain(),
        Ok("worker") => return serve(),
        _ => {}
    }
    throughput();
    println!();
    println!("{:<32}  {:>9}  {:>9}", "from the job to the receiver", "p50", "p95");
    let alone = latency("alone", &[]);
    let slow = Receiver::start((0..1_000_000).map(|_| Act::Wait(300)));
    let beside = latency("beside a dead and a slow one", &["http://127.0.0.1:1/".to_owned(), slow.url.clone()]);
    println!("ratio {:.2}", beside.as_secs_f64() / alone.as_secs_f64());
}

fn sinks() -> Vec<Sink> {
    let urls = std::env::var(URLS).expect("URLs");
    let sink = |(nr, url): (usize, &str)| Sink {
        tier: 3,
        from: Begin::Start,
        ..Sink::new(format!("sink{nr}"), url.parse().expect("a URL"))
    };
    urls.split(' ').enumerate().map(sink).collect()
}

fn child(role: &str, place: &Place, urls: &[String]) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.env(ROLE, role).env(HOME, &place.host.home).env(URLS, urls.join(" ")).stdin(Stdio::null());
    command.spawn().expect("it starts")
}

fn throughput() {
    let place = Place::new();
    place.spool();
    let mut outbox = Outbox::open(&place.host.dirs.outbox()).expect("an outbox");
    let text = "a line of code, as tools write them; ".repeat(16);
    for part in 0..EVENTS / 1000 {
        let batch = outbox.batch().expect("a transaction");
        for nr in part * 1000..(part + 1) * 1000 {
            let (session, seq) = (nr % 20, nr / 20);
            let event = serde_json::from_value(json!({
                "protocol": 1, "id": format!("{nr:026}"), "type": "tool.ended", "time": "2026-11-30T08:00:00.000Z",
                "tier": 3, "harness": {"name": "double", "event": "PostTool", "version": "1.0.0"},
                "session": {"id": format!("s{session}"), "seq": seq, "cwd": "~/src/app", "branch": "main"},
                "privacy": {"rulesets": ["secrets@1"], "pii": false},
                "data": {"tool": "Write", "ok": true, "ms": 12, "call_id": format!("c{nr}"), "output": text},
            }));
            batch.append(&event.expect("an event"), double::START_MS).expect("appended");
        }
        batch.commit().expect("committed");
    }
    drop(outbox);
    let receiver = Receiver::start([]);
    println!("{:>8}  {:>8}  {:>9}  {:>14}  {:>9}", "events", "seconds", "events/s", "events/CPU s", "peak RSS");
    let mut sender = child("drain", &place, std::slice::from_ref(&receiver.url));
    assert!(sender.wait().expect("it ends").success());
    let got: usize = receiver.requests().iter().map(Request::events).sum();
    assert_eq!(got, EVENTS as usize);
}

/// The sender of the first table.
fn drain() {
    let host = double::host(std::env::var_os(HOME).expect("a home").into());
    let start = Instant::now();
    let end = start + Duration::from_secs(600);
    let brought = couriers::flush(&sinks(), &host, end).expect("delivered");
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!((brought[0].sent, &brought[0].next), (u64::from(EVENTS), &Next::Idle));
    let (cpu, peak) = usage();
    let (by_clock, by_cpu) = (f64::from(EVENTS) / seconds, f64::from(EVENTS) / cpu);
    println!("{EVENTS:>8}  {seconds:>8.2}  {by_clock:>9.0}  {by_cpu:>14.0}  {peak:>6.1} MB");
}

/// The worker of the second table.
fn serve() {
    let host = double::host(std::env::var_os(HOME).expect("a home").into());
    let settings = Arc::new(Settings { sinks: sinks(), ..Settings::default() });
    let given = || Some(Arc::clone(&settings));
    let context = Context { settings: &given, alive: &|_| true, ..Context::new(&host, adapters(), None, &|_| false) };
    let context = Context { clock: &SystemClock, ..context };
    worker::run(&context).expect("it ends");
}

fn latency(name: &str, beside: &[String]) -> Duration {
    let place = Place::new();
    place.spool();
    let receiver = Receiver::start([]);
    let (arrived, arrivals) = channel();
    receiver.on_request(move || arrived.send(Instant::now()).expect("heard"));
    let urls = [std::slice::from_ref(&receiver.url), beside].concat();
    // It begins with an outbox: the sinks are there before the first event.
    drop(Ledger::create(&place.host.dirs.outbox()).expect("an outbox"));
    let mut worker = child("worker", &place, &urls);
    let mut took = Vec::new();
    for nr in 0..SAMPLES + 20 {
        let start = Instant::now();
        place.job("Prompt", &with("a", json!({"prompt": "go", "turn_id": format!("t{nr}")})));
        wake(&place.host.dirs, || ());
        let at = arrivals.recv_timeout(Duration::from_secs(60)).expect("it arrives");
        // A turn that begins ends the one before: two events may come in two batches.
        while arrivals.recv_timeout(Duration::from_millis(20)).is_ok() {}
        // The first ones find the worker on its way up.
        if nr >= 20 {
            took.push(at - start);
        }
    }
    let pid = rustix::process::Pid::from_child(&worker);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("told");
    worker.wait().expect("it ends");
    took.sort_unstable();
    let ms = |part: usize| took[took.len() * part / 100].as_secs_f64() * 1000.0;
    println!("{name:<32}  {:>6.1} ms  {:>6.1} ms", ms(50), ms(95));
    took[took.len() / 2]
}

/// Seconds on the cores of all threads, and the peak of resident memory in MB, by `/proc`; zeros where there is none.
fn usage() -> (f64, f64) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace().collect();
    // The 14th and the 15th field, in hundredths of a second; the name's end was the 2nd.
    let ticks: f64 = [11, 12].iter().filter_map(|nr| fields.get(*nr)?.parse::<f64>().ok()).sum();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_ascii_whitespace().next()?.parse::<f64>().ok());
    (ticks / 100.0, kib.unwrap_or_default() / 1024.0)
}
