//! What a hook costs the harness that starts it, as ratios to starting `/bin/true` in the same run.
//!
//! ```text
//! cargo bench -p sessionpipe --bench hook -- [--bin PATH]… [--runs N]
//! ```
//!
//! A path that does not end in `-hook` is called as `PATH hook …`. Both programs are started alternately, in the same
//! way: a pipe as stdin, the payload written into it, the pipe kept open until the program has exited.

#![allow(clippy::disallowed_methods, clippy::disallowed_macros)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sessionpipe_core::host::Dirs;
use sessionpipe_pipeline::hook::SCAN_CAP;
use sessionpipe_pipeline::platform::peak_of_children;
use sessionpipe_pipeline::spool::Spool;
use sessionpipe_pipeline::wake::Listener;

/// As many hooks as an agent with parallel tools starts at once.
const PARALLEL: usize = 8;

/// A payload as most are.
const SMALL: usize = 4 << 10;

/// A payload of a tool that read a whole log.
const BIG: usize = 32 << 20;

/// Runs that are thrown away: they fill the caches.
const WARM_UP: usize = 20;

/// Runs of the big payload.
const BIG_RUNS: usize = 10;

fn main() {
    let mut args = std::env::args().skip(1);
    let (mut programs, mut runs) = (Vec::new(), 1000);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--bin" => programs.extend(args.next().map(PathBuf::from)),
            "--runs" => runs = args.next().and_then(|n| n.parse().ok()).expect("--runs takes a number"),
            // What `cargo bench` adds.
            "--bench" => {}
            other => panic!("unknown argument {other}"),
        }
    }
    if programs.is_empty() {
        programs.push(env!("CARGO_BIN_EXE_sessionpipe-hook").into());
    }
    for program in programs {
        bench(&program, runs);
    }
}

fn bench(program: &Path, runs: usize) {
    let place = Place::new(program);
    println!("\n{}", program.display());
    println!(
        "{:28} {:>8} {:>8} {:>8} {:>8} {:>9} {:>9}",
        "milliseconds (× /bin/true)", "p10", "p50", "p95", "p99", "p10", "p50"
    );
    {
        let _worker = Listener::open(&place.dirs()).expect("a FIFO to listen on");
        place.compare("4 KB, worker up", SMALL, 1, runs);
        place.compare("4 KB, worker up, 8 parallel", SMALL, PARALLEL, runs);
    }
    // The whole program would start itself, and that worker would stay.
    if is_small(program) {
        place.compare("4 KB, starting a worker", SMALL, 1, runs);
    }
    println!("{:28} {:>8.1} MiB", "peak memory", mebibytes(peak_of_children()));
    let _worker = Listener::open(&place.dirs()).expect("a FIFO to listen on");
    place.compare("32 MiB, worker up", BIG, 1, BIG_RUNS);
    println!("{:28} {:>8.1} MiB", "peak memory", mebibytes(peak_of_children()));
}

#[allow(clippy::cast_precision_loss)]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Sends a tool's result of about that size. It is never held whole: a child's peak of memory counts from before its
/// exec, when it still shares this process's.
fn send(mut stdin: impl Write, size: usize) -> std::io::Result<()> {
    const HEAD: &[u8] = br#"{"session_id":"4f0c7f62-19a9-4a49-9a07-5d3e1b7a2d11","cwd":"/home/dev/app","hook_event_name":"PostToolUse","tool_name":"Read","tool_response":""#;
    // With a line end as often as source code has one.
    const LINE: &[u8] = br"    let value = source.next().unwrap();\n";
    let mut buffer = std::io::BufWriter::with_capacity(64 << 10, &mut stdin);
    buffer.write_all(HEAD)?;
    for _ in 0..(size - HEAD.len()) / LINE.len() {
        buffer.write_all(LINE)?;
    }
    buffer.write_all(b"\"}")?;
    buffer.flush()
}

/// A throwaway home, and a copy of the program with a stand-in for the worker beside it: the hook pays for the start of
/// that process only, whatever it is.
struct Place {
    root: tempfile::TempDir,
    program: PathBuf,
}

impl Place {
    fn new(program: &Path) -> Self {
        let root = tempfile::tempdir().expect("a temporary folder");
        let copy = root.path().join(program.file_name().expect("a program has a name"));
        std::fs::copy(program, &copy).expect("the program can be copied");
        if is_small(program) {
            std::fs::copy("/bin/true", root.path().join("sessionpipe")).expect("/bin/true can be copied");
        }
        Self { root, program: copy }
    }

    fn dirs(&self) -> Dirs {
        let dirs = Dirs::new(|_| None, self.root.path());
        drop(Spool::open(&dirs).expect("a state folder"));
        dirs
    }

    fn compare(&self, what: &str, payload: usize, at_once: usize, runs: usize) {
        let (mut hooks, mut trues) = (Vec::new(), Vec::new());
        for run in 0..WARM_UP.min(runs) + runs / at_once {
            let hook = self.round(at_once, payload, || self.hook());
            let reference = self.round(at_once, payload, || Command::new("/bin/true"));
            if run >= WARM_UP.min(runs) {
                hooks.extend(hook);
                trues.extend(reference);
            }
            if run % 100 == 0 {
                self.clear();
            }
        }
        self.clear();
        let (hook, reference) = (Times::new(hooks), Times::new(trues));
        let ratio = |percent| hook.at(percent) / reference.at(percent);
        // The tenth percentile is what a machine that does other things too still shows of the program itself.
        println!(
            "{what:28} {:8.3} {:8.3} {:8.3} {:8.3} {:8.2}× {:8.2}×",
            hook.at(10),
            hook.at(50),
            hook.at(95),
            hook.at(99),
            ratio(10),
            ratio(50)
        );
    }

    fn hook(&self) -> Command {
        let mut command = Command::new(&self.program);
        if !is_small(&self.program) {
            command.arg("hook");
        }
        command.args(["claude-code", "PostToolUse"]);
        command
    }

    /// Starts that many at once, and says how long each took.
    fn round(&self, at_once: usize, payload: usize, command: impl Fn() -> Command + Sync) -> Vec<Duration> {
        let one = || {
            let mut command = command();
            command.env_clear().env("HOME", self.root.path()).env("PATH", "/usr/bin:/bin");
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
            let start = Instant::now();
            let mut child = command.spawn().expect("the program starts");
            let stdin = child.stdin.take().expect("a pipe");
            // `/bin/true` does not read.
            let _ = send(&stdin, payload);
            // What is too long to be searched for its end is taken until the pipe is closed.
            let open = Some(stdin).filter(|_| payload < SCAN_CAP);
            child.wait().expect("it exits");
            drop(open);
            start.elapsed()
        };
        if at_once == 1 {
            return vec![one()];
        }
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..at_once).map(|_| scope.spawn(one)).collect();
            threads.into_iter().map(|thread| thread.join().expect("a run")).collect()
        })
    }

    fn clear(&self) {
        let spool = Spool::open(&self.dirs()).expect("a spool");
        for job in spool.list().expect("its jobs") {
            spool.remove(job).expect("removed");
        }
    }
}

fn is_small(program: &Path) -> bool {
    program.to_string_lossy().ends_with("-hook")
}

/// Sorted durations.
struct Times(Vec<Duration>);

impl Times {
    fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    /// A percentile, in milliseconds.
    fn at(&self, percent: usize) -> f64 {
        let index = (self.0.len() * percent / 100).min(self.0.len() - 1);
        self.0[index].as_secs_f64() * 1000.0
    }
}
