//! The spool: one file per hook call, written by the hook and taken by the worker.
//!
//! A job file is a [`Header`] as one JSON line, then the payload's raw bytes. It is `ID.tmp` while it is being written and
//! becomes `ID.job` by a rename, so a job is there whole or not at all, whenever the hook is killed. [`JobId`]s sort
//! by the time at which their hooks started.
//!
//! The state folder must be ours: one that belongs to another user is neither read nor written, one that others can
//! enter is narrowed first.

use std::fmt;
use std::io::{self, IoSlice, Read as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags};
use rustix::io::Errno;
use sessionpipe_core::host::Dirs;
use sessionpipe_core::job::{FORMAT, Header};
use ulid::Ulid;

use crate::{losses, platform};

/// The mode of every folder of ours.
const DIR_MODE: Mode = Mode::RWXU;

/// The mode of every file of ours.
pub(crate) const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// The folder of the jobs inside the state folder, as [`Dirs::spool`] has it.
const SPOOL: &str = "spool";

/// A draft older than this has no writer any more: a hook lives for a second or two. What a killed one leaves is a part of
/// a raw payload, so it is not kept for longer than need be.
const STALE: Duration = Duration::from_secs(60);

/// Names one job: a ULID whose random part starts with the nanoseconds within the millisecond and the hook's pid, so that
/// jobs of one millisecond keep their order and two hooks never share a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(Ulid);

impl JobId {
    /// The id of a job whose hook started at `since_epoch`.
    #[must_use]
    pub fn new(since_epoch: Duration) -> Self {
        // 20 bits hold every nanosecond count below a million, 22 bits every pid that Linux gives.
        let nanos = u128::from(since_epoch.subsec_nanos() % 1_000_000);
        let pid = u128::from(std::process::id() & 0x3f_ffff);
        // Processes of two containers may share a pid and the folder.
        let chance = u128::from(platform::chance() >> 26);
        let ms = u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX);
        Self(Ulid::from_parts(ms, (nanos << 60) | (pid << 38) | chance))
    }

    /// When the hook started, milliseconds since the epoch.
    #[must_use]
    pub fn at_ms(self) -> i64 {
        i64::try_from(self.0.timestamp_ms()).unwrap_or(i64::MAX)
    }

    fn draft(self) -> String {
        format!("{self}.tmp")
    }

    fn job(self) -> String {
        format!("{self}.job")
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut buffer = [0; ulid::ULID_LEN];
        f.write_str(self.0.array_to_str(&mut buffer))
    }
}

/// A name that is no job id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a job id")]
pub struct NotAnId;

impl FromStr for JobId {
    type Err = NotAnId;

    /// Only the one spelling that [`Display`](fmt::Display) has.
    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let id = Self(Ulid::from_string(text).map_err(|_| NotAnId)?);
        if id.to_string() == text { Ok(id) } else { Err(NotAnId) }
    }
}

/// Why the state folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It belongs to another user: nothing in it can be believed.
    #[error("{} belongs to another user", .0.display())]
    Foreign(PathBuf),
    /// It can be neither opened nor made.
    #[error("cannot open {}", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// Why a job cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be read.
    #[error("cannot read the job")]
    Io(#[from] io::Error),
    /// Its first line is no header.
    #[error("the job's header is broken")]
    Header(#[from] serde_json::Error),
    /// A newer program wrote it: leave it there and exit.
    #[error("the job has format {0}, newer than this program")]
    Newer(u32),
}

/// The jobs of one state folder.
#[derive(Debug)]
pub struct Spool {
    dir: OwnedFd,
}

impl Spool {
    /// Opens the spool; folders that are missing are made, together with the counters of [`losses`].
    ///
    /// # Errors
    /// When the state folder is not ours or cannot be used.
    pub fn open(dirs: &Dirs) -> Result<Self, OpenError> {
        let state = match open_own(CWD, &dirs.state, OFlags::empty(), &dirs.state) {
            Err(OpenError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                make_dir(&dirs.state)
                    .map_err(|source| OpenError::Io { path: dirs.state.clone(), source: source.into() })?;
                open_own(CWD, &dirs.state, OFlags::empty(), &dirs.state)?
            }
            opened => opened?,
        };
        let path = dirs.spool();
        // A link may stand for the state folder, which the person can move; never inside it.
        let dir = match open_own(state.as_fd(), Path::new(SPOOL), OFlags::NOFOLLOW, &path) {
            Err(OpenError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                match rustix::fs::mkdirat(&state, SPOOL, DIR_MODE) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(OpenError::Io { path, source: error.into() }),
                }
                // While there is still room for them.
                losses::preallocate(dirs);
                open_own(state.as_fd(), Path::new(SPOOL), OFlags::NOFOLLOW, &path)?
            }
            opened => opened?,
        };
        Ok(Self { dir })
    }

    /// Starts a job: its header, and the payload's first bytes. One write; [`Draft::append`] adds more.
    ///
    /// # Errors
    /// When the file cannot be made or written; nothing of it is left then.
    pub fn begin(&self, id: JobId, header: &Header, payload: &[u8]) -> io::Result<Draft<'_>> {
        let mut line = serde_json::to_vec(header)?;
        line.push(b'\n');
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.dir, id.draft(), flags, FILE_MODE)?;
        let draft = Draft { spool: self, id, file, finished: false };
        draft.write_all(&line, payload)?;
        Ok(draft)
    }

    /// The finished jobs, oldest first. Files of any other name are passed over.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn list(&self) -> io::Result<Vec<JobId>> {
        let mut jobs = self.ids(".job")?;
        jobs.sort_unstable();
        Ok(jobs)
    }

    /// A job's header and payload.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn read(&self, id: JobId) -> Result<(Header, Vec<u8>), ReadError> {
        #[derive(serde::Deserialize)]
        struct Version {
            v: u32,
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.dir, id.job(), flags, Mode::empty()).map_err(io::Error::from)?;
        let mut bytes = Vec::new();
        std::fs::File::from(file).read_to_end(&mut bytes)?;
        let end = memchr::memchr(b'\n', &bytes).unwrap_or(bytes.len());
        let payload = bytes.split_off(bytes.len().min(end + 1));
        match serde_json::from_slice::<Version>(&bytes)? {
            Version { v } if v > FORMAT => Err(ReadError::Newer(v)),
            Version { .. } => Ok((serde_json::from_slice(&bytes)?, payload)),
        }
    }

    /// Deletes a job.
    ///
    /// # Errors
    /// When it cannot be deleted; one that is gone already is no error.
    pub fn remove(&self, id: JobId) -> io::Result<()> {
        self.unlink(&id.job())
    }

    /// Deletes drafts that no hook writes any more.
    ///
    /// # Errors
    /// When the folder cannot be read or a draft not deleted.
    pub fn clean(&self, now_ms: i64) -> io::Result<()> {
        let stale = i64::try_from(STALE.as_millis()).unwrap_or(i64::MAX);
        self.ids(".tmp")?
            .into_iter()
            .filter(|id| now_ms.saturating_sub(id.at_ms()) > stale)
            .try_for_each(|id| self.unlink(&id.draft()))
    }

    fn ids(&self, suffix: &str) -> io::Result<Vec<JobId>> {
        let id = |name: &std::ffi::CStr| name.to_str().ok()?.strip_suffix(suffix)?.parse().ok();
        Dir::read_from(&self.dir)?
            .filter_map(|entry| entry.map(|entry| id(entry.file_name())).transpose())
            .collect::<Result<_, _>>()
            .map_err(io::Error::from)
    }

    fn unlink(&self, name: &str) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.dir, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// A job that is being written. Dropped before [`Draft::finish`] it leaves nothing.
#[derive(Debug)]
pub struct Draft<'a> {
    spool: &'a Spool,
    id: JobId,
    file: OwnedFd,
    finished: bool,
}

impl Draft<'_> {
    /// Adds payload.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn append(&mut self, payload: &[u8]) -> io::Result<()> {
        self.write_all(payload, &[])
    }

    /// Makes the job visible to the worker.
    ///
    /// # Errors
    /// When it cannot be renamed.
    pub fn finish(mut self) -> io::Result<()> {
        rustix::fs::renameat(&self.spool.dir, self.id.draft(), &self.spool.dir, self.id.job())?;
        self.finished = true;
        Ok(())
    }

    fn write_all(&self, mut first: &[u8], mut second: &[u8]) -> io::Result<()> {
        while !(first.is_empty() && second.is_empty()) {
            let written = match rustix::io::writev(&self.file, &[IoSlice::new(first), IoSlice::new(second)]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => written,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            let of_first = written.min(first.len());
            first = first.get(of_first..).unwrap_or_default();
            second = second.get(written - of_first..).unwrap_or_default();
        }
        Ok(())
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if !self.finished {
            // What cannot be deleted now is cleaned by the worker.
            let _ = self.spool.unlink(&self.id.draft());
        }
    }
}

/// Opens a folder if it is ours, and narrows it to its owner if it is wider.
fn open_own(at: impl AsFd, name: &Path, extra: OFlags, path: &Path) -> Result<OwnedFd, OpenError> {
    let failed = |error: Errno| OpenError::Io { path: path.to_owned(), source: error.into() };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | extra;
    let dir = rustix::fs::openat(at, name, flags, Mode::empty()).map_err(failed)?;
    let stat = rustix::fs::fstat(&dir).map_err(failed)?;
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(OpenError::Foreign(path.to_owned()));
    }
    let mode = Mode::from_raw_mode(stat.st_mode);
    if !DIR_MODE.contains(mode) {
        rustix::fs::fchmod(&dir, mode.intersection(DIR_MODE)).map_err(failed)?;
    }
    Ok(dir)
}

/// Makes a folder and those above it, each for its owner only, as the XDG specification wants it.
fn make_dir(path: &Path) -> rustix::io::Result<()> {
    match rustix::fs::mkdirat(CWD, path, DIR_MODE) {
        Err(Errno::NOENT) => {
            make_dir(path.parent().ok_or(Errno::NOENT)?)?;
            make_dir(path)
        }
        // Another hook may have been faster.
        Err(Errno::EXIST) => Ok(()),
        made => made,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> (tempfile::TempDir, Dirs) {
        let home = tempfile::tempdir().expect("a temporary folder");
        let dirs = Dirs::new(|_| None, home.path());
        (home, dirs)
    }

    fn header(event: &str) -> Header {
        Header { v: FORMAT, harness: "codex".into(), event: event.into(), ..Header::default() }
    }

    /// 2026-11-30T12:00:00Z.
    const NOON: Duration = Duration::from_secs(1_796_040_000);

    #[test]
    fn ids_sort_by_time_to_the_nanosecond() {
        let at = |nanos| JobId::new(NOON + Duration::from_nanos(nanos));
        let sorted = [at(0), at(1), at(999_999), at(1_000_000), at(2_500_000), at(3_000_000_000)];
        assert!(sorted.is_sorted());
        assert_eq!(sorted.map(JobId::at_ms).map(|ms| ms - 1_796_040_000_000), [0, 0, 0, 1, 2, 3000]);
        assert_ne!(at(0), at(0), "two hooks of one process and one nanosecond");
    }

    #[test]
    fn ids_have_one_spelling() {
        let id = JobId::new(NOON);
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(id.to_string().len(), 26);
        for other in ["", "x", "01M8P1R18YAHPR02YVP9WYD7K", "../../etc/passwd"] {
            assert_eq!(other.parse::<JobId>(), Err(NotAnId), "{other}");
        }
        assert_eq!(id.to_string().to_lowercase().parse::<JobId>(), Err(NotAnId));
    }

    #[test]
    fn jobs_come_back_as_they_were_oldest_first() {
        let (_home, dirs) = place();
        let spool = Spool::open(&dirs).expect("opens");
        let (first, second) = (JobId::new(NOON), JobId::new(NOON + Duration::from_millis(1)));
        // A payload may hold any byte; the header ends at the first line end.
        spool.begin(second, &header("b"), b"\xff\n\n{").expect("begins").finish().expect("finishes");
        let mut draft = spool.begin(first, &header("a\nb"), b"").expect("begins");
        draft.append(b"one").expect("appends");
        draft.append(b"two").expect("appends");
        assert_eq!(spool.list().expect("lists"), [second], "a draft is no job");
        draft.finish().expect("finishes");
        assert_eq!(spool.list().expect("lists"), [first, second]);
        assert_eq!(spool.read(first).expect("reads"), (header("a\nb"), b"onetwo".to_vec()));
        assert_eq!(spool.read(second).expect("reads"), (header("b"), b"\xff\n\n{".to_vec()));
        spool.remove(first).expect("removes");
        spool.remove(first).expect("gone already");
        assert_eq!(spool.list().expect("lists"), [second]);
    }

    #[test]
    fn drafts_that_nobody_finishes_are_cleaned_after_a_minute() {
        let (_home, dirs) = place();
        let spool = Spool::open(&dirs).expect("opens");
        let id = JobId::new(NOON);
        drop(spool.begin(id, &header("a"), b"x").expect("begins"));
        assert_eq!(std::fs::read_dir(dirs.spool()).expect("a folder").count(), 0, "dropped: nothing stays");
        // Killed: the file stays.
        std::mem::forget(spool.begin(id, &header("a"), b"x").expect("begins"));
        spool.clean(id.at_ms() + 60_000).expect("cleans");
        assert!(dirs.spool().join(id.draft()).exists());
        spool.clean(id.at_ms() + 60_001).expect("cleans");
        assert!(!dirs.spool().join(id.draft()).exists());
    }

    #[test]
    #[allow(clippy::disallowed_methods)]
    fn broken_newer_and_missing_jobs() {
        let (_home, dirs) = place();
        let spool = Spool::open(&dirs).expect("opens");
        let id = JobId::new(NOON);
        assert!(matches!(spool.read(id), Err(ReadError::Io(error)) if error.kind() == io::ErrorKind::NotFound));
        let put = |text: &str| std::fs::write(dirs.spool().join(id.job()), text).expect("a file");
        put("");
        assert!(matches!(spool.read(id), Err(ReadError::Header(_))));
        put("{\"v\":1}\n{}");
        assert!(matches!(spool.read(id), Err(ReadError::Header(_))), "members are missing");
        put("{\"v\":2,\"harness\":{\"name\":\"codex\"}}\n{}");
        assert!(matches!(spool.read(id), Err(ReadError::Newer(2))), "whatever else it holds");
        put("{\"v\":1,\"at_ms\":5,\"harness\":\"codex\",\"event\":\"Stop\",\"later\":true}");
        let (read, payload) = spool.read(id).expect("unknown members are passed over");
        assert_eq!((read.at_ms, read.event.as_str(), payload.as_slice()), (5, "Stop", &b""[..]));
        std::fs::write(dirs.spool().join("notes.txt"), "x").expect("a file");
        std::fs::write(dirs.spool().join("x.job"), "x").expect("a file");
        assert_eq!(spool.list().expect("lists"), [id], "other names are passed over");
    }
}
