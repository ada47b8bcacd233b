//! Waking the worker, without a lock on the hook's side.
//!
//! The worker holds a file lock for as long as it lives and listens on a FIFO. A hook, *after* its job is in the spool,
//! opens the FIFO for writing without blocking: somebody reads it, so one byte wakes the worker; nobody does, so the
//! hook starts one. No job is stranded:
//!
//! - The worker, in this order: takes the [`Lock`], opens the [`Listener`], scans the spool, waits; and to stop: drops
//!   the listener, scans once more, drops the lock.
//! - A hook that still found a reader wrote its job before the listener closed: the last scan finds it.
//! - A hook that found none starts a worker, which waits up to [`LOCK_WAIT`] for the lock, or sees that another one has
//!   begun to listen meanwhile (and so has yet to scan), wakes that, and exits.
//! - Should it have waited in vain, the old worker finds the job: it looks into the spool again after letting go of the
//!   lock.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{AtFlags, CWD, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use sessionpipe_core::host::Dirs;

use crate::spool::FILE_MODE;

/// How long a new worker waits for the one that is stopping: that only scans once more.
pub const LOCK_WAIT: Duration = Duration::from_secs(1);

/// How often a new worker tries.
const LOCK_TRY: Duration = Duration::from_millis(5);

/// The hook's side: wakes the worker that listens, else calls `start`. Never blocks.
pub fn wake(dirs: &Dirs, start: impl FnOnce()) {
    if !wake_listening(dirs) {
        start();
    }
}

/// Writes a byte to a worker that listens; false when nobody does.
fn wake_listening(dirs: &Dirs) -> bool {
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(fifo) = rustix::fs::openat(CWD, dirs.worker_fifo(), flags, Mode::empty()) else { return false };
    // A full FIFO has enough bytes in it to wake anyone; a reader that went away in between has not.
    is_fifo(&fifo) && !matches!(rustix::io::write(&fifo, b"\n"), Err(error) if error != Errno::AGAIN)
}

fn is_fifo(fd: &OwnedFd) -> bool {
    rustix::fs::fstat(fd).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Fifo)
}

/// The worker's side: the FIFO's reading end.
#[derive(Debug)]
pub struct Listener {
    reader: OwnedFd,
    /// Held so that the reader sees no end of file when the last hook closes its end.
    _writer: OwnedFd,
}

impl Listener {
    /// Makes the FIFO where it is missing (anything else of its name is replaced) and begins to listen. Hold the
    /// [`Lock`] before, scan the spool after.
    ///
    /// # Errors
    /// When the FIFO cannot be made or opened.
    pub fn open(dirs: &Dirs) -> io::Result<Self> {
        let path = dirs.worker_fifo();
        let open = |end| rustix::fs::openat(CWD, &path, end | FIFO_FLAGS, Mode::empty());
        let reader = match open(OFlags::RDONLY) {
            Ok(fd) if is_fifo(&fd) => fd,
            Ok(_) | Err(Errno::NOENT | Errno::LOOP) => {
                match rustix::fs::unlink(&path) {
                    Ok(()) | Err(Errno::NOENT) => {}
                    Err(error) => return Err(error.into()),
                }
                make_fifo(&path)?;
                open(OFlags::RDONLY)?
            }
            Err(error) => return Err(error.into()),
        };
        rustix::fs::fchmod(&reader, FILE_MODE)?;
        let writer = open(OFlags::WRONLY)?;
        Ok(Self { reader, _writer: writer })
    }

    /// Waits until a hook wakes us (true) or the time is over (false). Wakes that came before count as one.
    ///
    /// # Errors
    /// When waiting fails.
    pub fn wait(&self, timeout: Duration) -> io::Result<bool> {
        let end = Instant::now() + timeout;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left).unwrap_or(Timespec { tv_sec: i64::from(i32::MAX), tv_nsec: 0 });
            match poll(&mut [PollFd::new(&self.reader, PollFlags::IN)], Some(&left)) {
                Ok(0) => return Ok(false),
                Ok(_) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let mut bytes = [0_u8; 4096];
        loop {
            match rustix::io::read(&self.reader, &mut bytes) {
                Ok(n) if n == bytes.len() => {}
                Ok(_) | Err(Errno::AGAIN) => return Ok(true),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Stops listening: from now on a hook starts a new worker. Scan the spool once more, then drop the lock.
    pub fn close(self) {}
}

/// How both ends are opened.
const FIFO_FLAGS: OFlags = OFlags::NONBLOCK.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

#[cfg(not(target_vendor = "apple"))]
fn make_fifo(path: &std::path::Path) -> rustix::io::Result<()> {
    rustix::fs::mknodat(CWD, path, FileType::Fifo, FILE_MODE, 0)
}

#[cfg(target_vendor = "apple")]
fn make_fifo(path: &std::path::Path) -> rustix::io::Result<()> {
    rustix::fs::mkfifoat(CWD, path, FILE_MODE)
}

/// The one worker of a state folder holds this; the system frees it when the process dies.
#[derive(Debug)]
pub struct Lock {
    file: OwnedFd,
}

impl Lock {
    /// Takes the lock, waiting up to [`LOCK_WAIT`]. `None`: another worker has it; it was woken if it listens.
    ///
    /// # Errors
    /// When the lock file cannot be opened or locked.
    pub fn take(dirs: &Dirs) -> io::Result<Option<Self>> {
        let end = Instant::now() + LOCK_WAIT;
        let file = Self::file(dirs)?;
        while !try_lock(&file)? {
            if wake_listening(dirs) || Instant::now() >= end {
                return Ok(None);
            }
            std::thread::sleep(LOCK_TRY);
        }
        Ok(Some(Self { file }))
    }

    /// Whether the locked file is still the one in the state folder: who deletes or moves that folder leaves us with a lock
    /// that nobody else asks for.
    #[must_use]
    pub fn is_in_place(&self, dirs: &Dirs) -> bool {
        let id = |stat: rustix::fs::Stat| (stat.st_dev, stat.st_ino);
        let there = rustix::fs::statat(CWD, dirs.worker_lock(), AtFlags::SYMLINK_NOFOLLOW).map(id);
        there.is_ok_and(|there| rustix::fs::fstat(&self.file).map(id) == Ok(there))
    }

    /// Takes the lock if it is free at this moment.
    ///
    /// # Errors
    /// When the lock file cannot be opened or locked.
    pub fn try_take(dirs: &Dirs) -> io::Result<Option<Self>> {
        let file = Self::file(dirs)?;
        Ok(try_lock(&file)?.then_some(Self { file }))
    }

    fn file(dirs: &Dirs) -> io::Result<OwnedFd> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(CWD, dirs.worker_lock(), flags, FILE_MODE)?;
        // It may have been made wider.
        rustix::fs::fchmod(&file, FILE_MODE)?;
        Ok(file)
    }
}

fn try_lock(file: &OwnedFd) -> io::Result<bool> {
    match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::thread;

    use super::*;
    use crate::spool::Spool;

    fn place() -> (tempfile::TempDir, Dirs) {
        let home = tempfile::tempdir().expect("a temporary folder");
        let dirs = Dirs::new(|_| None, home.path());
        Spool::open(&dirs).expect("folders");
        (home, dirs)
    }

    fn starts(dirs: &Dirs) -> bool {
        let started = Cell::new(false);
        wake(dirs, || started.set(true));
        started.get()
    }

    /// More than any wake-up takes.
    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn who_listens_is_woken_and_else_a_worker_is_started() {
        let (_home, dirs) = place();
        assert!(starts(&dirs), "there is no FIFO");
        let listener = Listener::open(&dirs).expect("listens");
        assert!(!listener.wait(Duration::ZERO).expect("waits"));
        assert!(!starts(&dirs));
        assert!(!starts(&dirs));
        assert!(listener.wait(LONG).expect("waits"));
        assert!(!listener.wait(Duration::ZERO).expect("waits"), "both wakes were one");
        listener.close();
        assert!(starts(&dirs), "nobody reads the FIFO");
        assert!(!Listener::open(&dirs).expect("listens").wait(Duration::ZERO).expect("waits"), "nothing is left in it");
    }

    #[test]
    fn a_full_fifo_does_not_block_a_hook() {
        let (_home, dirs) = place();
        let listener = Listener::open(&dirs).expect("listens");
        // More than a FIFO holds.
        for _ in 0..70_000 {
            assert!(!starts(&dirs));
        }
        assert!(listener.wait(LONG).expect("waits"));
        assert!(!listener.wait(Duration::ZERO).expect("waits"));
    }

    #[test]
    #[allow(clippy::disallowed_methods)]
    fn what_is_no_fifo_is_replaced() {
        let (_home, dirs) = place();
        std::fs::write(dirs.worker_fifo(), b"").expect("a file");
        assert!(starts(&dirs));
        let listener = Listener::open(&dirs).expect("listens");
        assert!(!starts(&dirs));
        assert!(listener.wait(LONG).expect("waits"));
    }

    #[test]
    fn files_that_are_too_wide_are_narrowed() {
        let (_home, dirs) = place();
        drop((Lock::take(&dirs).expect("locks"), Listener::open(&dirs).expect("listens")));
        for path in [dirs.worker_lock(), dirs.worker_fifo()] {
            rustix::fs::chmod(&path, Mode::from_raw_mode(0o666)).expect("ours");
        }
        drop((Lock::take(&dirs).expect("locks"), Listener::open(&dirs).expect("listens")));
        for path in [dirs.worker_lock(), dirs.worker_fifo()] {
            let mode = rustix::fs::stat(&path).expect("there").st_mode & 0o777;
            assert_eq!(mode, 0o600, "{}", path.display());
        }
    }

    #[test]
    fn one_worker_and_the_next_waits_for_it_to_stop() {
        let (_home, dirs) = place();
        let lock = Lock::take(&dirs).expect("locks").expect("free");
        assert!(Lock::try_take(&dirs).expect("locks").is_none());
        let listener = Listener::open(&dirs).expect("listens");
        assert!(Lock::take(&dirs).expect("locks").is_none());
        assert!(listener.wait(LONG).expect("waits"), "the other one woke us before it gave up");
        // Stopping: no longer listening, still locked.
        listener.close();
        let next = thread::spawn({
            let dirs = dirs.clone();
            move || Lock::take(&dirs).expect("locks").is_some()
        });
        drop(lock);
        assert!(next.join().expect("joins"));
    }

    #[test]
    fn a_lock_that_stays_is_waited_for_no_longer_than_said() {
        let (_home, dirs) = place();
        let _lock = Lock::take(&dirs).expect("locks").expect("free");
        let start = Instant::now();
        assert!(Lock::take(&dirs).expect("locks").is_none());
        assert!(start.elapsed() >= LOCK_WAIT);
    }
}
