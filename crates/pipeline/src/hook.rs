//! The hook: what a harness starts, in the middle of its turn, for every event.
//!
//! It reads the payload, leaves one job in the [`spool`](crate::spool), prints what the harness needs to read (mostly
//! nothing), wakes the worker and is gone. It takes no lock, reads no config and no database, connects to nothing, syncs
//! nothing to disk, starts no thread, prints nothing else, and its caller exits 0 whatever happens: a failure is counted in
//! [`losses`].
//!
//! The order is such that a `SIGKILL` loses nothing once the payload has arrived: first the job, then the reply, then
//! the wake-up.
//!
//! # What it asks of the system
//!
//! With a small payload and a worker that listens, beside what the loader and the runtime do (a test sees to it with
//! `strace`):
//!
//! | calls | for |
//! |---|---|
//! | `rt_sigaction` | a limit of file sizes is no end |
//! | `getpid`, `getrandom` | the job's name |
//! | `openat`, `fstat`, `geteuid`, twice; `close` | the state folder and the spool in it: are they ours |
//! | `getcwd` | the working folder |
//! | `getppid`; `openat`, `read`, `close` per ancestor | the ancestors, from `/proc/PID/stat` |
//! | `fstat`, `poll`, `read` | stdin: no terminal, then the payload |
//! | `openat`, `writev`, `renameat`, `close` | the job |
//! | `openat`, `fstat`, `write`, `close` | the worker's FIFO |
//!
//! What it costs is measured by `cargo bench -p sessionpipe --bench hook`; the numbers stand in `docs/performance.md`.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::FileType;
use rustix::io::Errno;
use sessionpipe_core::command::{PREVIOUS_NOTIFY, STREAM, owned_argv};
use sessionpipe_core::harness::{Borrower, Harness, Mark};
use sessionpipe_core::host::{Dirs, may_touch};
use sessionpipe_core::job::{FORMAT, Header};
use sessionpipe_core::payload::{self, Scanner};

use crate::losses::{self, Reason};
use crate::platform;
use crate::process;
use crate::spool::{Draft, JobId, OpenError, Spool};
use crate::{stream, wake};

/// Set for the worker and all that it starts: a hook below it was caused by ourselves, and its event is dropped.
pub const WORKER_VAR: &str = "SESSIONPIPE_WORKER";

/// Set by a person for a shell of which nothing is to be kept; `0` and nothing are as if it were not set.
pub const OFF_VAR: &str = "SESSIONPIPE_OFF";

/// Set for the program that stood in a harness's config before us: should that call us again, it is not started again.
pub const PREVIOUS_VAR: &str = "SESSIONPIPE_PREVIOUS_NOTIFY";

/// How long a hook waits for its payload, in total. Harnesses that keep the pipe open without a word exist.
pub const DEADLINE: Duration = Duration::from_secs(1);

/// How much of a payload is searched for its end; what follows is taken until the pipe is closed.
pub const SCAN_CAP: usize = 8 << 20;

/// How much of a payload is kept. The rest is read, so that the harness's write does not fail, and counted as lost.
pub const PAYLOAD_CAP: usize = 64 << 20;

/// How much is held in memory: what fits becomes a job with one write, more is streamed. Payloads seen are below 200 KiB.
const BUFFER: usize = 256 << 10;

/// Runs `HARNESS EVENT [--previous-notify ARGV… --] [ARG]`, or [`--stream HARNESS`](stream). It never panics and always
/// returns; the caller then exits 0. Of arguments that name no harness nothing comes.
pub fn run(args: impl IntoIterator<Item = OsString>, harnesses: &[&'static Harness]) {
    // No panic is known; one that is not must neither print nor fail the harness.
    std::panic::set_hook(Box::new(|_| std::process::exit(0)));
    platform::outlive_file_size_limit();
    let mut args = args.into_iter().peekable();
    if args.peek().is_some_and(|first| first == STREAM) {
        return stream::run(args.skip(1), harnesses);
    }
    let deadline = Instant::now() + DEADLINE;
    let id = JobId::new(platform::now());
    let Some(call) = Call::parse(args) else { return };

    let dirs = folders();
    // Before the payload is waited for: it is usually on its way.
    let spool = dirs.as_ref().map(Spool::open);
    let mut header = Header {
        v: FORMAT,
        at_ms: id.at_ms(),
        harness: call.harness.clone(),
        event: call.event.clone(),
        ..Header::default()
    };
    if spool.is_some() {
        header.cwd = platform::cwd().map(|cwd| cwd.to_string_lossy().into_owned());
        let pid_var = harnesses.iter().find(|h| h.name == call.harness).and_then(|h| h.pid_var);
        let named = pid_var.and_then(platform::var).and_then(|pid| pid.to_str()?.parse().ok());
        header.parents = process::ancestry(|p| named.map_or_else(|| p.may_be_agent(), |pid: u32| p.pid == pid));
    }

    let mut input = Input::new(&call, deadline);
    let mut buffer = Vec::new();
    input.fill(&mut buffer);
    let caller = input.caller(harnesses, &call.harness);
    header.env = environment(harnesses, [&call.harness, caller]);
    let kept = match &spool {
        Some(Ok(spool)) => {
            keep(spool.begin(id, &header, &buffer), &mut input, &mut buffer).map_err(|e| Some((&e).into()))
        }
        Some(Err(OpenError::Io { source, .. })) => Err(Some(source.into())),
        // Nothing of another user's is touched, not even to count.
        Some(Err(OpenError::Foreign(_))) | None => Err(None),
    };
    if kept.is_err() {
        input.drain(&mut buffer);
    }

    // Asked again: a long payload may have named its sender late.
    let caller = input.caller(harnesses, &call.harness);
    let event = input.scanner.event().unwrap_or(&call.event);
    print(payload::reply(harnesses, caller, event), deadline);

    if let (Ok(()), Some(dirs)) = (kept, &dirs) {
        wake::wake(dirs, start_worker);
    }
    call.start_previous();
    // A state folder stays open for the job alone: the last descriptor may be needed to count.
    drop(spool);
    if let Some(dirs) = &dirs {
        let cut = input.cut.then_some(Reason::TooLarge);
        for reason in kept.err().flatten().into_iter().chain(cut) {
            losses::count(dirs, reason);
        }
    }
}

/// Our folders; none where nothing may be left: in a process that our own worker caused, and where the person said so.
pub(crate) fn folders() -> Option<Dirs> {
    let is_off = platform::var(OFF_VAR).is_some_and(|value| !value.is_empty() && value != "0");
    let is_ours = is_off || platform::var(WORKER_VAR).is_some();
    // Where there is neither a home nor a variable there is no place to write: never a made-up one.
    let home = platform::home().unwrap_or_default();
    let dirs = Some(Dirs::new(platform::var, &home));
    dirs.filter(|dirs| !is_ours && dirs.state.is_absolute() && may_touch(&home, platform::var))
}

/// Writes what is left of the input behind what the draft has, and finishes the job.
fn keep(draft: io::Result<Draft<'_>>, input: &mut Input<'_>, buffer: &mut Vec<u8>) -> io::Result<()> {
    let mut draft = draft?;
    while !input.ended {
        buffer.clear();
        input.fill(buffer);
        draft.append(buffer)?;
    }
    draft.finish()
}

/// The variables that the harnesses' allowlists name, and those that prove a sender.
fn environment(harnesses: &[&'static Harness], names: [&str; 2]) -> std::collections::BTreeMap<String, String> {
    let own = harnesses.iter().filter(|h| names.contains(&h.name)).flat_map(|h| h.env.iter().copied());
    let marks = |marks: &'static [Mark]| {
        marks.iter().filter_map(|mark| match mark {
            Mark::Env(name) | Mark::EnvAndKey(name, _) => Some(*name),
            Mark::Key(_) => None,
        })
    };
    // Only the borrowers of the harness that argv names are ever looked for.
    let named = harnesses.iter().filter(|h| h.name == names[0]);
    let borrowers = named.flat_map(|h| h.borrowers).flat_map(move |b: &Borrower| marks(b.marks));
    own.chain(harnesses.iter().flat_map(|h| marks(h.marks)))
        .chain(borrowers)
        .filter_map(|name| platform::var(name).map(|value| (name.to_owned(), value.to_string_lossy().into_owned())))
        .collect()
}

/// Prints a reply, if the pipe takes it: a harness that does not read must not stop us.
fn print(reply: &str, deadline: Instant) {
    let stdout = rustix::stdio::stdout();
    if !reply.is_empty() && ready(PollFd::new(&stdout, PollFlags::OUT), deadline) {
        let _ = rustix::io::write(stdout, reply.as_bytes());
    }
}

/// Waits for a descriptor until the deadline.
fn ready(fd: PollFd<'_>, deadline: Instant) -> bool {
    let mut fds = [fd];
    loop {
        let left = Timespec::try_from(deadline.saturating_duration_since(Instant::now())).unwrap_or_default();
        match poll(&mut fds, Some(&left)) {
            Err(Errno::INTR) => {}
            polled => return polled.is_ok_and(|ready| ready > 0),
        }
    }
}

/// Starts a worker, detached, with nothing of ours but the environment.
pub fn start_worker() {
    if let Some(program) = platform::exe().map(|exe| worker_of(&exe)) {
        // Where it is missing the job waits for whoever looks next.
        let _ = platform::spawn_detached(program.as_os_str(), &["worker".into()], (WORKER_VAR, "1"));
    }
}

/// The program that holds the worker: `sessionpipe` beside the small hook, else the running one itself.
fn worker_of(exe: &Path) -> PathBuf {
    let name = exe.file_name().unwrap_or_default().to_string_lossy();
    // What Linux says of a program that was replaced while it ran: the new one is the right one.
    let name = name.strip_suffix(" (deleted)").unwrap_or(&name);
    exe.with_file_name(if name == "sessionpipe-hook" { "sessionpipe" } else { name })
}

/// The arguments of one hook call.
#[derive(Debug, Default, PartialEq, Eq)]
struct Call {
    harness: String,
    event: String,
    /// The payload, where the harness hands it over as an argument.
    argument: Option<OsString>,
    /// What stood in the harness's config before us, and wants the same payload.
    previous: Vec<OsString>,
}

impl Call {
    fn parse(args: impl IntoIterator<Item = OsString>) -> Option<Self> {
        let mut args = args.into_iter();
        let text = |arg: OsString| arg.to_string_lossy().into_owned();
        let harness = text(args.next()?);
        if harness.is_empty() || harness.starts_with('-') {
            return None;
        }
        let event = args.next().map(text).unwrap_or_default();
        let mut rest: Vec<OsString> = args.collect();
        let mut previous = Vec::new();
        if rest.first().is_some_and(|arg| arg == PREVIOUS_NOTIFY) {
            // The argv may hold a `--` of its own: ours is the last.
            if let Some(end) = rest.iter().rposition(|arg| arg == "--") {
                let argument = rest.split_off(end + 1);
                previous = rest.drain(1..end).collect();
                rest = argument;
            }
        }
        Some(Self { harness, event, argument: rest.pop(), previous })
    }

    /// Starts what stood in the config before us, with the same payload.
    fn start_previous(&self) {
        if platform::var(PREVIOUS_VAR).is_some() {
            return;
        }
        if let Some((program, args)) = self.previous() {
            let _ = platform::spawn_detached(program, &args, (PREVIOUS_VAR, "1"));
        }
    }

    /// The program that stood in the config before us and its arguments, the payload last; none where it is one of ours.
    fn previous(&self) -> Option<(&OsStr, Vec<OsString>)> {
        let (argument, (program, args)) = (self.argument.as_ref()?, self.previous.split_first()?);
        let argv: Vec<String> = self.previous.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
        owned_argv(&argv).is_none().then(|| (program.as_os_str(), args.iter().chain([argument]).cloned().collect()))
    }
}

/// The payload as it arrives.
struct Input<'a> {
    /// Taken instead of stdin, which is left alone then.
    argument: Option<&'a OsStr>,
    deadline: Instant,
    scanner: Scanner,
    /// Bytes that arrived.
    taken: usize,
    /// Nothing more comes.
    ended: bool,
    /// There was more than [`PAYLOAD_CAP`].
    cut: bool,
}

impl<'a> Input<'a> {
    fn new(call: &'a Call, deadline: Instant) -> Self {
        let argument = call.argument.as_deref();
        // A terminal is nobody's payload, /dev/null has none; a closed stdin is the latter.
        let silent = argument.is_none()
            && rustix::fs::fstat(rustix::stdio::stdin())
                .map_or(true, |stat| FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice);
        Self { argument, deadline, scanner: Scanner::default(), taken: 0, ended: silent, cut: false }
    }

    /// Reads until the payload ends or the buffer is full.
    fn fill(&mut self, buffer: &mut Vec<u8>) {
        use std::os::unix::ffi::OsStrExt;

        if let Some(argument) = self.argument {
            buffer.extend_from_slice(argument.as_bytes());
            self.accept(buffer, 0);
            self.ended = true;
            return;
        }
        if !self.ended {
            buffer.reserve_exact(BUFFER - buffer.len());
        }
        let stdin = rustix::stdio::stdin();
        while !self.ended && buffer.len() < BUFFER {
            let before = buffer.len();
            let read = if ready(PollFd::new(&stdin, PollFlags::IN), self.deadline) {
                rustix::io::read(stdin.as_fd(), rustix::buffer::spare_capacity(buffer))
            } else {
                Ok(0)
            };
            match read {
                Ok(0) => self.ended = true,
                Ok(_) => self.accept(buffer, before),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => self.ended = true,
            }
        }
    }

    /// Looks through what arrived behind `from`, and takes away what is behind the payload's end or above the cap.
    fn accept(&mut self, buffer: &mut Vec<u8>, from: usize) {
        let news = buffer.get(from..).unwrap_or_default();
        if self.taken < SCAN_CAP
            && let Some(end) = self.scanner.feed(news)
        {
            self.ended = true;
            buffer.truncate(from + end);
        }
        let room = PAYLOAD_CAP.saturating_sub(self.taken);
        self.taken += buffer.len() - from;
        if buffer.len() - from > room {
            self.cut = true;
            buffer.truncate(from + room);
        }
    }

    /// Reads what nobody keeps: the harness's write shall not fail, and the sender be known.
    fn drain(&mut self, buffer: &mut Vec<u8>) {
        while !self.ended {
            buffer.clear();
            self.fill(buffer);
        }
    }

    /// Who really called, as far as can be told by now.
    fn caller<'b>(&self, harnesses: &[&'static Harness], named: &'b str) -> &'b str {
        payload::caller(harnesses, named, |key| self.scanner.has(key), |name| platform::var(name).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Option<Call> {
        Call::parse(args.iter().map(OsString::from))
    }

    fn strings(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn arguments() {
        let call = || Call { harness: "codex".into(), event: "notify".into(), ..Call::default() };
        assert_eq!(parse(&[]), None);
        assert_eq!(parse(&["--help"]), None);
        assert_eq!(parse(&["codex"]), Some(Call { harness: "codex".into(), ..Call::default() }));
        assert_eq!(parse(&["codex", "notify"]), Some(call()));
        assert_eq!(parse(&["codex", "notify", "{}"]), Some(Call { argument: Some("{}".into()), ..call() }));
        assert_eq!(
            parse(&["codex", "notify", "--previous-notify", "say", "--", "x", "--", "{}"]),
            Some(Call { argument: Some("{}".into()), previous: strings(&["say", "--", "x"]), ..call() })
        );
        assert_eq!(
            parse(&["codex", "notify", "--previous-notify", "say", "--"]),
            Some(Call { previous: strings(&["say"]), ..call() }),
            "no payload among the arguments: stdin has it"
        );
        assert_eq!(
            parse(&["codex", "notify", "--previous-notify", "{}"]),
            Some(Call { argument: Some("{}".into()), ..call() }),
            "never closed: nobody to start"
        );
    }

    #[test]
    fn the_previous_program_unless_it_is_one_of_ours() {
        let call = |previous: &[&str], argument: Option<&str>| Call {
            previous: strings(previous),
            argument: argument.map(OsString::from),
            ..Call::default()
        };
        assert_eq!(call(&["say", "done"], Some("{}")).previous(), Some((OsStr::new("say"), strings(&["done", "{}"]))));
        assert_eq!(call(&["say"], None).previous(), None);
        assert_eq!(call(&[], Some("{}")).previous(), None);
        assert_eq!(call(&["/b/sessionpipe-hook", "codex", "notify"], Some("{}")).previous(), None);
        assert_eq!(call(&["/b/sessionpipe", "hook", "codex", "notify"], Some("{}")).previous(), None);
        assert_eq!(call(&["node", "/h/.sessionpipe/dist/hook.js", "codex"], Some("{}")).previous(), None);
    }

    #[test]
    fn the_worker_is_beside_the_hook() {
        for (exe, worker) in [
            ("/b/sessionpipe-hook", "/b/sessionpipe"),
            ("/b/sessionpipe-hook (deleted)", "/b/sessionpipe"),
            ("/b/sessionpipe", "/b/sessionpipe"),
            ("/b/sessionpipe-dev (deleted)", "/b/sessionpipe-dev"),
        ] {
            assert_eq!(worker_of(Path::new(exe)), Path::new(worker));
        }
    }
}
