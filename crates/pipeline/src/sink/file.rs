//! A file of JSON lines, an event each. It is rotated by size, and may be rotated by others: it is opened for each batch.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::transport::{Answer, Batch, Limits, Receipt, Transport};

/// A file that has grown to this size is set aside before the next batch, in bytes (64 MB).
pub const MAX_FILE: u64 = 64 * 1024 * 1024;

/// So many files that were set aside are kept: `NAME.1` is the newest.
pub const MAX_ROTATED: u32 = 7;

/// Lines are written and synced so many at a time.
const LIMITS: Limits = Limits { max_events: 500, max_bytes: 1024 * 1024 };

/// A batch that was begun is looked for in the last bytes of the file.
const LOOK_BACK: u64 = 2 * LIMITS.max_bytes as u64;

/// Appends to one file.
#[derive(Debug)]
pub struct Lines {
    path: PathBuf,
    max_file: u64,
}

impl Lines {
    /// Appends to this file; it is made, readable by its owner alone, when there is none.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self { path, max_file: MAX_FILE }
    }

    fn append(&self, batch: &Batch<'_>) -> io::Result<()> {
        let mut file = self.open()?;
        let meta = file.metadata()?;
        if !meta.is_file() {
            if !(meta.file_type().is_fifo() || meta.file_type().is_char_device()) {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
            }
            return file.write_all(lines(batch, "").as_bytes());
        }
        let there = if batch.again { arrived(&self.path, &file)? } else { String::new() };
        // Not between two halves of a batch.
        if meta.len() >= self.max_file && there.is_empty() {
            drop(file);
            rotate(&self.path)?;
            file = self.open()?;
        }
        file.write_all(lines(batch, &there).as_bytes())?;
        file.sync_data()
    }

    fn open(&self) -> io::Result<File> {
        // Without blocking: a FIFO that nobody reads must not keep us.
        let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOCTTY).bits()).unwrap_or(0);
        OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags).open(&self.path)
    }
}

/// The batch's lines, but for those that are there.
fn lines(batch: &Batch<'_>, there: &str) -> String {
    let mut text = String::new();
    for event in batch.events {
        if !there.lines().any(|line| line == event.json) {
            text.push_str(&event.json);
            text.push('\n');
        }
    }
    text
}

/// The whole lines at the end of the file. What a writer that was killed left of a line is cut off.
fn arrived(path: &Path, appending: &File) -> io::Result<String> {
    let mut file = File::open(path)?;
    let len = file.metadata()?.len();
    let start = len.saturating_sub(LOOK_BACK);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(LOOK_BACK).read_to_end(&mut bytes)?;
    let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |end| end + 1);
    let torn = bytes.len() - whole;
    if torn > 0 && (whole > 0 || start == 0) {
        appending.set_len(len - torn as u64)?;
        bytes.truncate(whole);
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// `NAME` becomes `NAME.1`, that `NAME.2`, and so on; the oldest goes.
fn rotate(path: &Path) -> io::Result<()> {
    let numbered = |nr: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{nr}"));
        PathBuf::from(name)
    };
    for nr in (1..MAX_ROTATED).rev() {
        match fs::rename(numbered(nr), numbered(nr + 1)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    fs::rename(path, numbered(1))
}

impl Transport for Lines {
    fn limits(&self) -> Limits {
        LIMITS
    }

    fn send(&mut self, batch: &Batch<'_>) -> Answer {
        match self.append(batch) {
            Ok(()) => Answer::Accepted(Receipt::default()),
            Err(error) => Answer::later(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods)]

    use std::os::unix::fs::PermissionsExt as _;

    use sessionpipe_core::event::{Event, EventHarness, Privacy, Session};

    use super::super::transport::Outgoing;
    use super::*;

    fn event(nr: i64) -> Outgoing {
        let event = Event {
            protocol: 1,
            id: format!("{nr:026}"),
            kind: "turn.started".to_owned(),
            time: String::new(),
            tier: 0,
            harness: EventHarness::default(),
            session: Session::default(),
            privacy: Privacy::default(),
            data: serde_json::Map::new(),
        };
        Outgoing { pos: nr, json: format!("{{\"id\":\"{}\"}}", event.id), event }
    }

    fn send(lines: &mut Lines, events: &[Outgoing], again: bool) -> Answer {
        lines.send(&Batch { id: "b", events, again, now_ms: 0 })
    }

    fn place() -> (tempfile::TempDir, Lines) {
        let dir = tempfile::tempdir().expect("a folder");
        let lines = Lines::new(dir.path().join("events.jsonl"));
        (dir, lines)
    }

    fn text(lines: &Lines) -> String {
        fs::read_to_string(&lines.path).expect("a file")
    }

    fn done() -> Answer {
        Answer::Accepted(Receipt::default())
    }

    #[test]
    fn a_line_for_each_event_in_a_file_of_ones_own() {
        let (_dir, mut lines) = place();
        assert_eq!(send(&mut lines, &[event(1), event(2)], false), done());
        assert_eq!(send(&mut lines, &[event(3)], false), done());
        let expected: String = (1..=3).map(|nr| format!("{{\"id\":\"{nr:026}\"}}\n")).collect();
        assert_eq!(text(&lines), expected);
        assert_eq!(fs::metadata(&lines.path).expect("a file").permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn what_a_killed_writer_left_is_finished_once() {
        let events = [event(1), event(2), event(3)];
        let whole: String = events.iter().map(|event| format!("{}\n", event.json)).collect();
        for cut in 0..=whole.len() {
            let (_dir, mut lines) = place();
            fs::write(&lines.path, format!("{{\"before\":1}}\n{}", &whole[..cut])).expect("a file");
            assert_eq!(send(&mut lines, &events, true), done());
            assert_eq!(text(&lines), format!("{{\"before\":1}}\n{whole}"), "cut at {cut}");
        }
    }

    #[test]
    fn a_large_file_is_set_aside() {
        let (dir, lines) = place();
        let mut lines = Lines { max_file: 30, ..lines };
        for nr in 1..=10 {
            assert_eq!(send(&mut lines, &[event(nr)], false), done());
        }
        let file = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap_or_default();
        assert_eq!(file("events.jsonl"), format!("{}\n", event(10).json));
        assert_eq!(file("events.jsonl.1"), format!("{}\n", event(9).json));
        assert_eq!(file("events.jsonl.7"), format!("{}\n", event(3).json));
        assert_eq!(file("events.jsonl.8"), "", "the oldest are gone");
    }

    #[test]
    fn what_cannot_be_written_waits() {
        let (dir, lines) = place();
        let mut folder = Lines::new(dir.path().to_owned());
        assert!(matches!(send(&mut folder, &[event(1)], false), Answer::Later { .. }));
        let mut nowhere = Lines::new(lines.path.join("under/a/file"));
        assert!(matches!(send(&mut nowhere, &[event(1)], false), Answer::Later { .. }));
        rustix::fs::mkfifoat(rustix::fs::CWD, dir.path().join("fifo"), 0o600.into()).ok();
        let mut fifo = Lines::new(dir.path().join("fifo"));
        assert!(matches!(send(&mut fifo, &[event(1)], false), Answer::Later { .. }), "nobody reads it");
    }
}
