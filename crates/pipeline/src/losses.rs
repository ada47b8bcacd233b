//! What the hook could not keep, counted where nothing else can be written: a small file whose blocks are there before
//! the disk is full.
//!
//! One native-endian 64-bit counter per [`Reason`], at `index × 8`; the file is [`LEN`] bytes long. Hooks add without a
//! lock, on a shared mapping; the worker takes the counts and reports them once.

use std::io;

use rustix::fs::{CWD, FileType, Mode, OFlags};
use sessionpipe_core::host::Dirs;

use crate::platform::SharedCounters;
use crate::spool::FILE_MODE;

/// The file's size: room for more reasons than there are, and still one block.
pub const LEN: usize = 512;

/// Why something was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Reason {
    /// No room on the disk, or no quota.
    DiskFull = 0,
    /// The state folder may not be written, or is on a read-only file system.
    NoPermission = 1,
    /// No file descriptors were left.
    NoDescriptors = 2,
    /// The end of a payload above the cap; its job was kept.
    TooLarge = 3,
    /// Any other failure of the system.
    System = 4,
    /// Events that a plugin of ours could not hand on: nobody read them for too long.
    Unread = 5,
}

impl Reason {
    /// All of them, in the file's order.
    pub const ALL: [Self; 6] =
        [Self::DiskFull, Self::NoPermission, Self::NoDescriptors, Self::TooLarge, Self::System, Self::Unread];

    /// As reports name it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DiskFull => "disk full",
            Self::NoPermission => "no permission",
            Self::NoDescriptors => "no file descriptors",
            Self::TooLarge => "payload too large",
            Self::System => "system failure",
            Self::Unread => "handed on too slowly",
        }
    }
}

impl From<&io::Error> for Reason {
    fn from(error: &io::Error) -> Self {
        use rustix::io::Errno;
        match Errno::from_io_error(error) {
            Some(Errno::NOSPC | Errno::DQUOT) => Self::DiskFull,
            Some(Errno::ACCESS | Errno::PERM | Errno::ROFS) => Self::NoPermission,
            Some(Errno::MFILE | Errno::NFILE) => Self::NoDescriptors,
            _ => Self::System,
        }
    }
}

/// How often each [`Reason`] occurred, in the order of [`Reason::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses([u64; Reason::ALL.len()]);

impl Losses {
    /// The reasons that occurred, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (Reason, u64)> {
        Reason::ALL.into_iter().zip(self.0).filter(|(_, count)| *count > 0)
    }

    /// Nothing was lost.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|count| *count == 0)
    }
}

/// Makes the counter file where it is missing. A failure is not reported: there is nowhere to count it.
pub fn preallocate(dirs: &Dirs) {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if let Ok(file) = rustix::fs::openat(CWD, dirs.losses(), flags, FILE_MODE) {
        // Written, not extended: a hole would need a block when the disk is full.
        let _ = rustix::io::write(&file, &[0; LEN]);
    }
}

/// Counts one loss. Nothing happens where the counter file is missing and cannot be made.
pub fn count(dirs: &Dirs, reason: Reason) {
    count_many(dirs, reason, 1);
}

/// Counts so many losses.
pub fn count_many(dirs: &Dirs, reason: Reason, losses: u64) {
    let counters = open(dirs).or_else(|_| {
        preallocate(dirs);
        open(dirs)
    });
    if let Ok(counters) = counters {
        counters.add(reason as usize, losses);
    }
}

/// What was lost since the last [`take`]; nothing where there is no counter file.
///
/// # Errors
/// When the file cannot be opened or is none of ours.
pub fn read(dirs: &Dirs) -> io::Result<Losses> {
    gather(dirs, SharedCounters::get)
}

/// The same, and sets the counters back to zero. A loss counted meanwhile is in this result or the next, never in none.
///
/// # Errors
/// When the file cannot be opened or is none of ours.
pub fn take(dirs: &Dirs) -> io::Result<Losses> {
    gather(dirs, SharedCounters::take)
}

fn gather(dirs: &Dirs, counter: impl Fn(&SharedCounters, usize) -> u64) -> io::Result<Losses> {
    match open(dirs) {
        Ok(counters) => Ok(Losses(Reason::ALL.map(|reason| counter(&counters, reason as usize)))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Losses::default()),
        Err(error) => Err(error),
    }
}

fn open(dirs: &Dirs) -> io::Result<SharedCounters> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::openat(CWD, dirs.losses(), flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&file)?;
    let ours = stat.st_uid == rustix::process::geteuid().as_raw()
        && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
        && usize::try_from(stat.st_size) == Ok(LEN);
    if !ours {
        return Err(io::ErrorKind::InvalidData.into());
    }
    if Mode::from_raw_mode(stat.st_mode) != FILE_MODE {
        rustix::fs::fchmod(&file, FILE_MODE)?;
    }
    SharedCounters::map(&file, LEN)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    fn place() -> (tempfile::TempDir, Dirs) {
        let home = tempfile::tempdir().expect("a temporary folder");
        let dirs = Dirs::new(|_| None, home.path());
        std::fs::create_dir_all(&dirs.state).expect("a folder");
        (home, dirs)
    }

    #[test]
    fn counted_read_and_taken_once() {
        let (_home, dirs) = place();
        assert!(read(&dirs).expect("no file is no loss").is_empty());
        count(&dirs, Reason::DiskFull);
        count(&dirs, Reason::TooLarge);
        count(&dirs, Reason::DiskFull);
        let lost = [(Reason::DiskFull, 2), (Reason::TooLarge, 1)];
        assert_eq!(read(&dirs).expect("reads").iter().collect::<Vec<_>>(), lost);
        assert_eq!(take(&dirs).expect("takes").iter().collect::<Vec<_>>(), lost);
        assert!(take(&dirs).expect("takes").is_empty());
    }

    #[test]
    fn many_at_once_lose_no_count() {
        let (_home, dirs) = place();
        preallocate(&dirs);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..500).for_each(|_| count(&dirs, Reason::System)));
            }
        });
        assert_eq!(read(&dirs).expect("reads").iter().collect::<Vec<_>>(), [(Reason::System, 4000)]);
    }

    #[test]
    fn the_file_has_its_blocks_and_keeps_its_counts() {
        let (_home, dirs) = place();
        preallocate(&dirs);
        let file = std::fs::metadata(dirs.losses()).expect("a file");
        assert_eq!((file.len(), file.mode() & 0o777), (LEN as u64, 0o600));
        rustix::fs::chmod(dirs.losses(), Mode::from_raw_mode(0o666)).expect("ours");
        count(&dirs, Reason::NoPermission);
        assert_eq!(std::fs::metadata(dirs.losses()).expect("a file").mode() & 0o777, 0o600, "also when it was wider");
        preallocate(&dirs);
        assert_eq!(read(&dirs).expect("reads").iter().collect::<Vec<_>>(), [(Reason::NoPermission, 1)]);
    }

    #[test]
    #[allow(clippy::disallowed_methods)]
    fn a_file_that_is_none_of_ours_is_not_touched() {
        let (_home, dirs) = place();
        for other in [&b""[..], &[0; LEN - 1], &[0; LEN + 1]] {
            std::fs::write(dirs.losses(), other).expect("a file");
            count(&dirs, Reason::System);
            assert_eq!(std::fs::read(dirs.losses()).expect("a file"), other);
            assert!(read(&dirs).is_err());
        }
    }

    #[test]
    fn reasons_of_the_system() {
        for (errno, reason) in [
            (libc::ENOSPC, Reason::DiskFull),
            (libc::EDQUOT, Reason::DiskFull),
            (libc::EROFS, Reason::NoPermission),
            (libc::EACCES, Reason::NoPermission),
            (libc::EMFILE, Reason::NoDescriptors),
            (libc::EIO, Reason::System),
        ] {
            assert_eq!(Reason::from(&io::Error::from_raw_os_error(errno)), reason);
        }
        assert_eq!(Reason::from(&io::Error::from(io::ErrorKind::WriteZero)), Reason::System);
        for (index, reason) in Reason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, index, "the file's order");
        }
    }
}
