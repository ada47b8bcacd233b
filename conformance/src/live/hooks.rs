//! Our hook calls of a run: kept as they come, and timed.
//!
//! A hook leaves its call in the spool, as one file, until the worker has taken it. The lab links each file into a folder of
//! its own as soon as the system announces it, so the run goes on as it would without the lab. Afterwards each call is
//! made again, the same command of the same config with the same payload and environment, while nothing else runs: that
//! gives its time from spawn to exit without a tracer or a shim that would stand in its way. The shell that a harness puts
//! before every hook, whosever it is, is left out.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, OFlags, inotify, mknodat, openat};
use serde_json::Value;
use sessionpipe_core::command::{owned, owned_argv};
use sessionpipe_core::host::Dirs;
use sessionpipe_core::job::Header;

use super::namespace;

/// How often each call is made again at least, and at most. The fastest counts: what the others took longer, other work
/// on the machine took.
const ROUNDS: std::ops::RangeInclusive<usize> = 5..=25;

/// One hook call.
#[derive(Clone, Debug)]
pub struct Call {
    /// What only the hook process could know.
    pub header: Header,
    /// What the harness sent.
    pub payload: Vec<u8>,
}

impl Call {
    /// Whether a plugin of ours wrote it as a line: nothing was started for it.
    #[must_use]
    pub fn is_line(&self) -> bool {
        let line: Option<Value> = serde_json::from_slice(&self.payload).ok();
        line.and_then(|line| Some(line.get("event")?.as_str()? == self.header.event)).unwrap_or(false)
    }
}

/// Stands where the worker listens: hooks wake it in vain, and every call stays in the spool until it is gone.
pub struct Hold {
    _reader: OwnedFd,
}

impl Hold {
    /// Begins to listen, before any worker does.
    ///
    /// # Errors
    /// Where a worker is there already, or the system refuses.
    pub fn start(dirs: &Dirs) -> anyhow::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&dirs.state)?;
        let fifo = dirs.worker_fifo();
        mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
        // With a writer of its own it never sees an end.
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(Self { _reader: openat(CWD, &fifo, flags, Mode::empty())? })
    }
}

/// Keeps the calls while a run goes on.
pub struct Watch {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<anyhow::Result<usize>>,
    kept: PathBuf,
}

/// What a [`Watch`] saw.
#[derive(Debug, Default)]
pub struct Calls {
    /// In the order of their hooks' starts.
    pub kept: Vec<Call>,
    /// How many there were; more than were kept where the worker was faster than the lab.
    pub seen: usize,
}

impl Watch {
    /// Begins. The spool is made where it is not there yet, as the first hook would.
    ///
    /// # Errors
    /// Where the folders cannot be made or watched.
    pub fn start(spool: &Path, kept: PathBuf) -> anyhow::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(spool)?;
        fs::create_dir_all(&kept)?;
        let news = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
        inotify::add_watch(&news, spool, inotify::WatchFlags::MOVED_TO)?;
        let stop = Arc::new(AtomicBool::new(false));
        let (told, spool, into) = (Arc::clone(&stop), spool.to_owned(), kept.clone());
        let thread = thread::spawn(move || {
            let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
            let mut seen = BTreeSet::new();
            loop {
                // Asked before the last look, so that nothing written until then is missed.
                let last = told.load(Ordering::Acquire);
                let wait = Timespec { tv_sec: 0, tv_nsec: if last { 0 } else { 50_000_000 } };
                poll(&mut [PollFd::new(&news, PollFlags::IN)], Some(&wait))?;
                let mut reader = inotify::Reader::new(&news, &mut buffer);
                while let Ok(event) = reader.next() {
                    let Some(name) = event.file_name().and_then(|name| name.to_str().ok()) else { continue };
                    if name.ends_with(".job") && seen.insert(name.to_owned()) {
                        let _ = fs::hard_link(spool.join(name), into.join(name));
                    }
                }
                if last {
                    return Ok(seen.len());
                }
            }
        });
        Ok(Self { stop, thread, kept })
    }

    /// Ends, and reads what was kept.
    ///
    /// # Errors
    /// Where a file of the spool is no job.
    pub fn stop(self) -> anyhow::Result<Calls> {
        self.stop.store(true, Ordering::Release);
        let seen = self.thread.join().map_err(|_| anyhow::anyhow!("the watch on the spool broke"))??;
        let mut names: Vec<_> = fs::read_dir(&self.kept)?.collect::<Result<_, _>>()?;
        names.sort_by_key(fs::DirEntry::file_name);
        let kept = names.iter().map(|entry| read(&entry.path())).collect::<anyhow::Result<_>>()?;
        Ok(Calls { kept, seen })
    }
}

/// A job: a header line, then the payload.
fn read(path: &Path) -> anyhow::Result<Call> {
    let bytes = fs::read(path)?;
    let end = bytes.iter().position(|byte| *byte == b'\n').context("a job without a header")?;
    let (header, payload) = bytes.split_at(end);
    Ok(Call { header: serde_json::from_slice(header)?, payload: payload.get(1..).unwrap_or_default().to_vec() })
}

/// How a harness starts our hook for an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Started {
    /// By a shell, with the payload on stdin.
    Shell(String),
    /// As an argv, with the payload as its last word.
    Argv(Vec<String>),
}

impl Started {
    /// The program and its arguments. A line that is more than one command needs the shell.
    fn words(&self) -> Vec<String> {
        match self {
            Self::Argv(words) => words.clone(),
            Self::Shell(line) => shlex::split(line)
                .filter(|words| owned_argv(words).is_some())
                .unwrap_or_else(|| vec!["/bin/sh".to_owned(), "-c".to_owned(), line.clone()]),
        }
    }
}

/// Every command of ours in a config: harness, event and how it is started.
#[must_use]
pub fn commands(config: &Value) -> Vec<(String, String, Started)> {
    let mut found = Vec::new();
    match config {
        Value::String(text) => {
            if let Some(ours) = owned(text) {
                found.push((ours.harness, ours.event.unwrap_or_default(), Started::Shell(text.clone())));
            }
        }
        Value::Array(items) => {
            let words: Option<Vec<String>> = items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
            match words.and_then(|words| Some((owned_argv(&words)?, words))) {
                Some((ours, words)) => {
                    found.push((ours.harness, ours.event.unwrap_or_default(), Started::Argv(words)));
                }
                None => found.extend(items.iter().flat_map(commands)),
            }
        }
        Value::Object(members) => found.extend(members.values().flat_map(commands)),
        _ => {}
    }
    found
}

/// The sum of the calls' times from spawn to exit, each the fastest of some rounds. A round begins without a worker, as a
/// session does. `env` is the environment of the harness; `state` is for the rounds' own events. On a busy machine
/// there are more rounds, until the sum is below `enough`. The second time is what as many starts of `/bin/true` took in
/// the same rounds: what any program costs on this machine at this moment.
///
/// # Errors
/// Where a call's command is not in the configs, or it cannot be started, or does not exit 0.
pub fn time_all(
    calls: &[Call],
    commands: &[(String, String, Started)],
    env: &[(String, String)],
    state: &Path,
    enough: Duration,
) -> anyhow::Result<(Duration, Duration)> {
    let mut fastest = vec![Duration::MAX; calls.len()];
    let mut least = Duration::MAX;
    for round in 1..=*ROUNDS.end() {
        let state = state.join(round.to_string());
        for (call, fastest) in calls.iter().zip(&mut fastest) {
            *fastest = time(call, commands, env, &state)?.min(*fastest);
        }
        let start = Instant::now();
        namespace::spawn(Command::new("/bin/true").stdin(Stdio::null()).stdout(Stdio::null()))?.wait()?;
        least = least.min(start.elapsed());
        if round >= *ROUNDS.start() && fastest.iter().sum::<Duration>() < enough {
            break;
        }
    }
    Ok((fastest.iter().sum(), least * u32::try_from(calls.len())?))
}

/// The middle of some durations.
#[must_use]
pub fn median(times: &mut [Duration]) -> Option<Duration> {
    times.sort_unstable();
    times.get(times.len() / 2).copied()
}

fn time(
    call: &Call,
    commands: &[(String, String, Started)],
    env: &[(String, String)],
    state: &Path,
) -> anyhow::Result<Duration> {
    let header = &call.header;
    let started = commands
        .iter()
        .find_map(|(harness, event, started)| (*harness == header.harness && *event == header.event).then_some(started))
        .with_context(|| format!("no config calls us for {}", header.event))?;
    let mut words = started.words();
    let on_stdin = matches!(started, Started::Shell(_));
    if !on_stdin {
        words.push(String::from_utf8_lossy(&call.payload).into_owned());
    }
    let (program, rest) = words.split_first().context("an empty command")?;
    let mut command = Command::new(program);
    command.args(rest);
    command
        .env_clear()
        .envs(env.iter().map(|(name, value)| (name, value)))
        .envs(&header.env)
        // Its events must not be taken for the run's.
        .env("SESSIONPIPE_HOME", state)
        .stdin(if on_stdin { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if let Some(cwd) = header.cwd.as_ref().filter(|cwd| Path::new(cwd).is_dir()) {
        command.current_dir(cwd);
    }
    let start = Instant::now();
    let mut child = namespace::spawn(&mut command)?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(&call.payload)?;
    }
    let status = child.wait()?;
    let time = start.elapsed();
    anyhow::ensure!(status.success(), "the hook for {} ended with {status}", header.event);
    Ok(time)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn commands_of_ours_are_found_wherever_they_stand() {
        let config = json!({"hooks": {"Stop": [
            {"hooks": [{"command": "/opt/guard.sh"}, {"command": "'/b/sessionpipe-hook' some-agent Stop", "timeout": 5}]}]},
            "notify": ["/b/sessionpipe-hook", "some-agent", "notify", "--previous-notify", "say", "--"],
            "words": ["sessionpipe", "is", "a", "program"]});
        let found: Vec<_> = commands(&config)
            .into_iter()
            .map(|(harness, event, started)| (harness, event, matches!(started, Started::Shell(_))))
            .collect();
        assert_eq!(
            found,
            [("some-agent".to_owned(), "Stop".to_owned(), true), ("some-agent".to_owned(), "notify".to_owned(), false)]
        );
    }

    #[test]
    fn only_a_line_of_several_commands_needs_the_shell() {
        let words = |line: &str| Started::Shell(line.to_owned()).words();
        assert_eq!(words("'/b b/sessionpipe-hook' some-agent Stop"), ["/b b/sessionpipe-hook", "some-agent", "Stop"]);
        let guarded = "[ -x '/b/sessionpipe-hook' ] && '/b/sessionpipe-hook' some-agent Stop; exit 0";
        assert_eq!(words(guarded), ["/bin/sh", "-c", guarded]);
    }

    #[test]
    fn every_job_is_seen_and_kept_also_when_it_goes_at_once() {
        let dir = tempfile::tempdir().expect("a folder");
        let spool = dir.path().join("spool");
        let watch = Watch::start(&spool, dir.path().join("kept")).expect("a watch");
        for n in 0..20 {
            let draft = spool.join(format!("{n:02}.tmp"));
            let header = json!({"v": 1, "at_ms": n, "harness": "h", "event": "Stop"});
            fs::write(&draft, format!("{header}\n{{\"n\":{n}}}")).expect("a draft");
            fs::rename(&draft, spool.join(format!("{n:02}.job"))).expect("a job");
        }
        let calls = watch.stop().expect("jobs");
        assert_eq!((calls.seen, calls.kept.len()), (20, 20));
        assert_eq!(calls.kept[7].payload, br#"{"n":7}"#);
        assert_eq!(calls.kept[7].header.at_ms, 7);
    }

    #[test]
    fn the_median_is_the_middle() {
        let ms = Duration::from_millis;
        assert_eq!(median(&mut [ms(9), ms(1), ms(2)]), Some(ms(2)));
        assert_eq!(median(&mut []), None);
    }
}
