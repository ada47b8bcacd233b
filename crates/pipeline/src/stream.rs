//! `hook --stream HARNESS`: what a plugin of ours starts, once per process of the agent.
//!
//! A plugin runs inside the agent, where to start a process blocks everything for a millisecond and more. So it starts
//! this one alone, and writes a line of JSON per event into its stdin: `{"event":"…","t":1796029200000,…}`, with the native
//! event's name and its time in milliseconds since the epoch. Each line becomes a job, as if a hook had been called with it; the rest
//! of the line is the adapter's business. When the pipe closes the agent is gone, or has put the plugin away: one more
//! job, [`STREAM_END`], makes the worker look.
//!
//! It outlives what ends the agent, since it has a session of its own (the plugin sees to that) and ignores what is sent
//! to end it: the last lines are still in the pipe then. It prints nothing.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use sessionpipe_core::harness::{Harness, STREAM_END};
use sessionpipe_core::host::Dirs;
use sessionpipe_core::job::{FORMAT, Header};

use crate::losses::{self, Reason};
use crate::platform;
use crate::process;
use crate::spool::{JobId, OpenError, Spool};
use crate::{hook, wake};

/// The event by which a plugin says that it had to drop some: nothing read its lines for too long. It is counted, and makes no
/// job.
pub const DROPPED: &str = "stream.dropped";

/// The longest line that is kept, in bytes. A plugin cuts what it sends far below that.
pub const LINE_CAP: usize = 1 << 20;

/// How much is read at a time: what a pipe holds.
const CHUNK: usize = 64 << 10;

/// How long the agent's process may still be there after its end of the pipe was closed. A process that exits closes its
/// files a moment before it is gone, and the worker shall find it gone.
const LAST_MOMENTS: Duration = Duration::from_secs(1);

/// How often it is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(10);

/// Runs `HARNESS` until stdin ends.
pub(crate) fn run(mut args: impl Iterator<Item = OsString>, harnesses: &[&'static Harness]) {
    let name = args.next().unwrap_or_default().to_string_lossy().into_owned();
    if name.is_empty() || name.starts_with('-') {
        return;
    }
    platform::outlive_the_agent();
    let harness = harnesses.iter().copied().find(|harness| harness.name == name);
    let env = harness.map_or(&[][..], |harness| harness.env).iter();
    let env = env.filter_map(|name| Some(((*name).to_owned(), platform::var(name)?.to_string_lossy().into_owned())));
    let header = Header {
        v: FORMAT,
        harness: name,
        cwd: platform::cwd().map(|cwd| cwd.to_string_lossy().into_owned()),
        parents: process::ancestry(sessionpipe_core::job::Process::may_be_agent),
        env: env.collect(),
        ..Header::default()
    };
    let mut stream = Stream { dirs: hook::folders(), header, last: Duration::ZERO };
    stream.read(rustix::stdio::stdin(), hook::start_worker);
    stream.end(hook::start_worker);
}

/// What the child itself must know of a line.
#[derive(Default, serde::Deserialize)]
struct Line {
    #[serde(default)]
    event: String,
    #[serde(default)]
    t: Option<u64>,
    /// Of [`DROPPED`]: how many.
    #[serde(default)]
    count: Option<u64>,
}

struct Stream {
    /// Where jobs go; nowhere for a child that our own worker caused.
    dirs: Option<Dirs>,
    header: Header,
    /// The time in the last job's name.
    last: Duration,
}

impl Stream {
    /// Makes a job of each line, until the pipe is closed. The worker is woken once for all that was read together.
    fn read(&mut self, input: BorrowedFd<'_>, start_worker: impl Fn()) {
        let mut buffer = Vec::with_capacity(CHUNK);
        let mut too_long = false;
        loop {
            buffer.reserve(CHUNK);
            match rustix::io::read(input.as_fd(), rustix::buffer::spare_capacity(&mut buffer)) {
                Ok(0) => break,
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => {
                    let _ = poll(&mut [PollFd::new(&input, PollFlags::IN)], None);
                    continue;
                }
                Err(_) => break,
            }
            let Some(end) = memchr::memrchr(b'\n', &buffer) else {
                if buffer.len() > LINE_CAP {
                    self.lose(Reason::TooLarge, too_long);
                    too_long = true;
                    buffer.clear();
                }
                continue;
            };
            let rest = buffer.split_off(end + 1);
            let lines = buffer.split(|byte| *byte == b'\n').skip(usize::from(too_long));
            too_long = false;
            self.keep(lines, &start_worker);
            buffer = rest;
        }
        if !too_long {
            // Cut in the middle of its last word.
            self.keep(std::iter::once(buffer.as_slice()), &start_worker);
        }
    }

    /// Says that nothing comes any more, as soon as the agent is gone.
    fn end(&mut self, start_worker: impl Fn()) {
        let deadline = Instant::now() + LAST_MOMENTS;
        while let Some(agent) = self.header.agent(None)
            && process::alive(agent)
            && Instant::now() < deadline
        {
            std::thread::sleep(LOOK);
        }
        let line = format!("{{\"event\":\"{STREAM_END}\"}}");
        self.keep(std::iter::once(line.as_bytes()), start_worker);
    }

    /// Leaves the jobs. The spool is opened each time: whoever deletes the state folder meanwhile gets a new one.
    fn keep<'l>(&mut self, lines: impl Iterator<Item = &'l [u8]>, start_worker: impl Fn()) {
        let Some(dirs) = self.dirs.clone() else { return };
        let mut lines = lines.map(<[u8]>::trim_ascii).filter(|line| !line.is_empty()).peekable();
        if lines.peek().is_none() {
            return;
        }
        let spool = Spool::open(&dirs);
        for line in lines {
            // Of one that was cut the adapter may still make something.
            let known: Line = serde_json::from_slice(line).unwrap_or_default();
            if known.event == DROPPED {
                losses::count_many(&dirs, Reason::Unread, known.count.unwrap_or(1));
                continue;
            }
            let kept = match &spool {
                Ok(spool) => self.job(spool, known, line).map_err(|error| Some((&error).into())),
                Err(OpenError::Io { source, .. }) => Err(Some(source.into())),
                // Nothing of another user's is touched, not even to count.
                Err(OpenError::Foreign(_)) => Err(None),
            };
            if let Err(Some(reason)) = kept {
                losses::count(&dirs, reason);
            }
        }
        wake::wake(&dirs, start_worker);
    }

    fn job(&mut self, spool: &Spool, Line { event, t, .. }: Line, line: &[u8]) -> io::Result<()> {
        let at = t.map_or_else(platform::now, Duration::from_millis);
        // Jobs are taken in the order of their names: behind the last one, also within a millisecond and whatever the
        // clock did.
        self.last = at.max(self.last.saturating_add(Duration::from_nanos(1)));
        self.header.event = event;
        self.header.at_ms = i64::try_from(at.as_millis()).unwrap_or(i64::MAX);
        spool.begin(JobId::new(self.last), &self.header, line)?.finish()
    }

    fn lose(&self, reason: Reason, known: bool) {
        if let (Some(dirs), false) = (&self.dirs, known) {
            losses::count(dirs, reason);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::io::Write as _;

    fn stream() -> (tempfile::TempDir, Stream) {
        let home = tempfile::tempdir().expect("a temporary folder");
        let dirs = Some(Dirs::new(|_| None, home.path()));
        let header = Header { v: FORMAT, harness: "codex".into(), cwd: Some("/w".into()), ..Header::default() };
        (home, Stream { dirs, header, last: Duration::ZERO })
    }

    /// What a stream makes of these bytes: of each job its time, event and payload; and how often it looked for a worker.
    fn jobs(stream: &mut Stream, bytes: &[u8]) -> (Vec<(i64, String, String)>, u32) {
        let (reader, mut writer) = io::pipe().expect("a pipe");
        let starts = std::cell::Cell::new(0);
        std::thread::scope(|scope| {
            scope.spawn(move || writer.write_all(bytes).expect("written"));
            stream.read(reader.as_fd(), || starts.set(starts.get() + 1));
        });
        let spool = Spool::open(stream.dirs.as_ref().expect("folders")).expect("a spool");
        let read = |id: &JobId| {
            let (header, payload) = spool.read(*id).expect("a job");
            assert_eq!((header.harness.as_str(), header.cwd.as_deref()), ("codex", Some("/w")));
            (header.at_ms, header.event, String::from_utf8_lossy(&payload).into_owned())
        };
        (spool.list().expect("a list").iter().map(read).collect(), starts.get())
    }

    fn line(event: &str, t: &str, rest: &str) -> String {
        format!("{{\"event\":\"{event}\",\"t\":{t}{rest}}}")
    }

    #[test]
    fn each_line_is_a_job_in_order() {
        let (_home, mut stream) = stream();
        let lines = [line("a", "1000", ""), line("b", "1000", ",\"x\":\"\\n\""), line("c", "1001", "")];
        // An empty line, a second stream that was set back, and one that says no time.
        let text = format!("{}\r\n\n{}\n{}\n{}\n", lines[0], lines[1], lines[2], line("d", "5", ""));
        let (jobs, starts) = jobs(&mut stream, text.as_bytes());
        let expected = [
            (1000, "a".to_owned(), lines[0].clone()),
            (1000, "b".to_owned(), lines[1].clone()),
            (1001, "c".to_owned(), lines[2].clone()),
            (5, "d".to_owned(), line("d", "5", "")),
        ];
        assert_eq!(jobs, expected);
        assert!((1..=4).contains(&starts), "{starts}");
    }

    #[test]
    fn thousands_within_a_millisecond_keep_their_order() {
        let (_home, mut stream) = stream();
        let lines: Vec<String> = (0..3000).map(|n| line(&n.to_string(), "7", "")).collect();
        let (jobs, _) = jobs(&mut stream, lines.join("\n").as_bytes());
        assert_eq!(jobs.len(), 3000, "the last one without its line end is one, too");
        assert!(jobs.iter().enumerate().all(|(n, (_, event, _))| *event == n.to_string()));
    }

    #[test]
    fn a_line_that_does_not_end_is_dropped_and_counted() {
        let (_home, mut stream) = stream();
        let mut text = line("a", "1", "").into_bytes();
        text.push(b'\n');
        text.extend(vec![b'x'; 3 * LINE_CAP]);
        text.push(b'\n');
        text.extend(line("b", "2", "").into_bytes());
        let (jobs, _) = jobs(&mut stream, &text);
        assert_eq!(jobs.iter().map(|(_, event, _)| event.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        let lost = losses::take(stream.dirs.as_ref().expect("folders")).expect("counters");
        assert_eq!(lost.iter().collect::<Vec<_>>(), [(Reason::TooLarge, 1)]);
    }

    #[test]
    fn what_a_plugin_had_to_drop_is_counted() {
        let (_home, mut stream) = stream();
        let text = [line("a", "1", ""), line(DROPPED, "2", ",\"count\":7"), line("b", "3", "")].join("\n");
        let (jobs, _) = jobs(&mut stream, text.as_bytes());
        assert_eq!(jobs.iter().map(|(_, event, _)| event.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        let lost = losses::take(stream.dirs.as_ref().expect("folders")).expect("counters");
        assert_eq!(lost.iter().collect::<Vec<_>>(), [(Reason::Unread, 7)]);
    }

    #[test]
    fn what_is_no_json_is_kept_for_the_quarantine() {
        let (_home, mut stream) = stream();
        let before = i64::try_from(platform::now().as_millis()).expect("small");
        let (jobs, _) = jobs(&mut stream, b"{\"event\":\"a\",\"t\":1,\"text\":\"cu");
        assert_eq!(jobs.len(), 1);
        assert!(jobs[0].0 >= before);
        assert_eq!((jobs[0].1.as_str(), jobs[0].2.as_str()), ("", "{\"event\":\"a\",\"t\":1,\"text\":\"cu"));
    }

    #[test]
    fn the_end_is_a_job_of_its_own() {
        let (_home, mut stream) = stream();
        stream.end(|| ());
        let (jobs, _) = jobs(&mut stream, b"");
        assert_eq!((jobs[0].1.as_str(), jobs[0].2.as_str()), ("stream.end", "{\"event\":\"stream.end\"}"));
    }

    #[test]
    fn a_child_of_our_own_worker_leaves_nothing() {
        let (home, mut stream) = stream();
        stream.dirs = None;
        let (reader, writer) = io::pipe().expect("a pipe");
        drop(writer);
        stream.read(reader.as_fd(), || ());
        stream.end(|| ());
        assert_eq!(std::fs::read_dir(home.path()).expect("a folder").count(), 0);
    }
}
