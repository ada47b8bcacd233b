//! What the standard library and `rustix` cannot do safely, and the hook's own door to its environment: the only
//! module with unsafe code.
//!
//! The hook does not build a [`Host`](sessionpipe_core::host::Host): that copies the whole environment, of which a
//! hook needs a handful of variables.

#![allow(unsafe_code)]
#![allow(clippy::disallowed_methods)]

use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{IntoRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::mm::{MapFlags, ProtFlags};

/// A variable of our own environment.
#[must_use]
pub fn var(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// The wall clock, since the epoch; zero before it.
#[must_use]
pub fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Random bits; zero where the system has none. One system call: the usual crates open devices in a static program.
#[must_use]
pub fn chance() -> u64 {
    let mut bytes = [0_u8; 8];
    // SAFETY: the buffer is as long as is said.
    #[cfg(target_os = "linux")]
    let filled = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), libc::GRND_NONBLOCK) } == 8;
    // SAFETY: the same.
    #[cfg(not(target_os = "linux"))]
    let filled = unsafe { libc::getentropy(bytes.as_mut_ptr().cast(), bytes.len()) } == 0;
    if filled { u64::from_ne_bytes(bytes) } else { 0 }
}

/// The working folder; none when it was deleted.
#[must_use]
pub fn cwd() -> Option<PathBuf> {
    std::env::current_dir().ok()
}

/// The running program, links resolved.
#[must_use]
pub fn exe() -> Option<PathBuf> {
    std::env::current_exe().ok()
}

/// The home: `$HOME` when it is an absolute path, else what the system's user database says. Never a made-up place.
#[must_use]
pub fn home() -> Option<PathBuf> {
    var("HOME").map(PathBuf::from).filter(|home| home.is_absolute()).or_else(home_of_user)
}

/// `/etc/passwd` is read by hand: a static glibc has no name service, and the C library's look-up may ask a network.
#[cfg(target_os = "linux")]
fn home_of_user() -> Option<PathBuf> {
    home_in(&std::fs::read("/etc/passwd").ok()?, rustix::process::geteuid().as_raw())
}

#[cfg(not(target_os = "linux"))]
fn home_of_user() -> Option<PathBuf> {
    /// What `sysconf(_SC_GETPW_R_SIZE_MAX)` says, and more: an entry is a line.
    const ENTRY: usize = 16 * 1024;

    let mut entry = std::mem::MaybeUninit::<libc::passwd>::uninit();
    let mut buffer = vec![0_u8; ENTRY];
    let mut found = ptr::null_mut();
    // SAFETY: all pointers are valid for the call, and the buffer's length is its own.
    let home = unsafe {
        let uid = libc::geteuid();
        libc::getpwuid_r(uid, entry.as_mut_ptr(), buffer.as_mut_ptr().cast(), buffer.len(), &raw mut found);
        let entry = found.as_ref()?;
        // SAFETY: a found entry points to strings in `buffer`, which still lives.
        std::ffi::CStr::from_ptr(entry.pw_dir)
    };
    absolute(home.to_bytes())
}

/// The home of a user in the format of passwd(5): `name:password:UID:GID:GECOS:directory:shell`.
#[cfg(target_os = "linux")]
fn home_in(passwd: &[u8], uid: u32) -> Option<PathBuf> {
    let uid = uid.to_string();
    passwd.split(|byte| *byte == b'\n').find_map(|line| {
        let mut fields = line.split(|byte| *byte == b':');
        let is_theirs = fields.nth(2)? == uid.as_bytes();
        let home = fields.nth(2)?;
        is_theirs.then(|| absolute(home)).flatten()
    })
}

fn absolute(path: &[u8]) -> Option<PathBuf> {
    Some(PathBuf::from(OsStr::from_bytes(path))).filter(|path| path.is_absolute())
}

/// What the start of a Rust program does that the hook needs, for one without it: descriptors 0 to 2 are open, so that no
/// file of ours becomes one of them, and a closed pipe is an error and not the end.
///
/// # Errors
/// When a descriptor cannot be opened.
pub fn begin() -> io::Result<()> {
    let stdio = [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()];
    let mut fds = stdio.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::empty()));
    let _ = rustix::event::poll(&mut fds, Some(&Timespec::default()));
    for fd in &fds {
        if fd.revents().contains(PollFlags::NVAL) {
            // The lowest that is free: that one. It stays open.
            let _ = File::options().read(true).write(true).open("/dev/null")?.into_raw_fd();
        }
    }
    // SAFETY: to ignore a signal runs nothing.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    Ok(())
}

/// Makes a write beyond the limit of file sizes (`ulimit -f`) an error; without this it ends the process.
pub fn outlive_file_size_limit() {
    // SAFETY: to ignore a signal runs nothing.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// For a process that stays as long as its agent: what is sent to end that one ends this one only when it has read what
/// was left for it, and the workers that it starts leave no zombies.
pub fn outlive_the_agent() {
    for signal in ENDS {
        // SAFETY: to ignore a signal runs nothing.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    // SAFETY: zeroes are a valid action: the default one, with an empty mask.
    unsafe {
        let mut reap = std::mem::zeroed::<libc::sigaction>();
        reap.sa_flags = libc::SA_NOCLDWAIT;
        libc::sigaction(libc::SIGCHLD, &raw const reap, ptr::null_mut());
    }
}

/// What a person, a terminal or a supervisor sends to end a program.
const ENDS: [libc::c_int; 4] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];

/// Starts a program that has nothing of ours but the environment: its own session, null stdio, no descriptors, default
/// signals. Nobody waits for it. `name` is looked up in PATH unless it holds a slash; `add` is added to the environment.
///
/// # Errors
/// When it cannot be started, or a string holds a NUL.
pub fn spawn_detached(name: &OsStr, args: &[OsString], add: (&str, &str)) -> io::Result<()> {
    let strings = |strings: &mut dyn Iterator<Item = &OsStr>| {
        strings.map(|s| CString::new(s.as_bytes())).collect::<Result<Vec<_>, _>>()
    };
    let argv = strings(&mut std::iter::once(name).chain(args.iter().map(OsString::as_os_str)))?;
    let environment: Vec<OsString> = std::env::vars_os()
        .filter(|(key, _)| key != add.0)
        .chain([(add.0.into(), add.1.into())])
        .map(|(key, value)| [key, value].join(OsStr::new("=")))
        .collect();
    let envp = strings(&mut environment.iter().map(OsString::as_os_str))?;
    let program = argv.first().ok_or(io::ErrorKind::InvalidInput)?;
    let pointers = |strings: &[CString]| {
        strings.iter().map(|s| s.as_ptr().cast_mut()).chain([ptr::null_mut()]).collect::<Vec<_>>()
    };

    close_on_exec();
    let mut attributes = SpawnAttributes::new()?;
    let mut actions = SpawnActions::new()?;
    attributes.detach()?;
    actions.null_stdio()?;
    let mut pid = 0;
    // SAFETY: the attributes and actions are initialised, both arrays end with a null pointer, and what they point to
    // outlives the call.
    ok(unsafe {
        libc::posix_spawnp(
            &raw mut pid,
            program.as_ptr(),
            &raw const actions.0,
            &raw const attributes.0,
            pointers(&argv).as_ptr(),
            pointers(&envp).as_ptr(),
        )
    })
}

/// An error number as the `posix_spawn` family returns it.
fn ok(error: i32) -> io::Result<()> {
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

struct SpawnAttributes(libc::posix_spawnattr_t);

impl SpawnAttributes {
    fn new() -> io::Result<Self> {
        let mut attributes = std::mem::MaybeUninit::uninit();
        // SAFETY: the call initialises what it is given, unless it fails.
        unsafe {
            ok(libc::posix_spawnattr_init(attributes.as_mut_ptr()))?;
            Ok(Self(attributes.assume_init()))
        }
    }

    /// Its own session, no signal blocked, and those as programs expect them that Rust and the hook ignore.
    fn detach(&mut self) -> io::Result<()> {
        #[cfg(not(target_vendor = "apple"))]
        let own = libc::POSIX_SPAWN_SETSID;
        // <spawn.h> of macOS; there, one flag also keeps all descriptors back.
        #[cfg(target_vendor = "apple")]
        let own = 0x0400 | libc::POSIX_SPAWN_CLOEXEC_DEFAULT as libc::c_short;
        let flags = own | (libc::POSIX_SPAWN_SETSIGDEF | libc::POSIX_SPAWN_SETSIGMASK) as libc::c_short;
        let mut signals = std::mem::MaybeUninit::uninit();
        // SAFETY: the attributes are initialised, and so is each set before its use.
        unsafe {
            libc::sigemptyset(signals.as_mut_ptr());
            ok(libc::posix_spawnattr_setsigmask(&raw mut self.0, signals.as_ptr()))?;
            for signal in [libc::SIGPIPE, libc::SIGXFSZ].into_iter().chain(ENDS) {
                libc::sigaddset(signals.as_mut_ptr(), signal);
            }
            ok(libc::posix_spawnattr_setsigdefault(&raw mut self.0, signals.as_ptr()))?;
            ok(libc::posix_spawnattr_setflags(&raw mut self.0, flags))
        }
    }
}

impl Drop for SpawnAttributes {
    fn drop(&mut self) {
        // SAFETY: initialised, and never used again.
        unsafe { libc::posix_spawnattr_destroy(&raw mut self.0) };
    }
}

struct SpawnActions(libc::posix_spawn_file_actions_t);

impl SpawnActions {
    fn new() -> io::Result<Self> {
        let mut actions = std::mem::MaybeUninit::uninit();
        // SAFETY: the call initialises what it is given, unless it fails.
        unsafe {
            ok(libc::posix_spawn_file_actions_init(actions.as_mut_ptr()))?;
            Ok(Self(actions.assume_init()))
        }
    }

    fn null_stdio(&mut self) -> io::Result<()> {
        for fd in 0..=2 {
            // SAFETY: the actions are initialised; the path is a C string that they copy.
            ok(unsafe {
                libc::posix_spawn_file_actions_addopen(&raw mut self.0, fd, c"/dev/null".as_ptr(), libc::O_RDWR, 0)
            })?;
        }
        Ok(())
    }
}

impl Drop for SpawnActions {
    fn drop(&mut self) {
        // SAFETY: initialised, and never used again.
        unsafe { libc::posix_spawn_file_actions_destroy(&raw mut self.0) };
    }
}

/// Lets no descriptor but the standard three survive an exec, whoever opened it.
#[cfg(target_os = "linux")]
fn close_on_exec() {
    /// The loop's end where no limit is set: descriptors beyond it are not seen in practice.
    const MOST: u64 = 65_536;

    // By number: a C library may be older than the call.
    // SAFETY: it only sets a flag on descriptors.
    if unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) } == 0 {
        return;
    }
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.map_or(MOST, |n| n.min(MOST));
    for fd in 3..i32::try_from(limit).unwrap_or(i32::MAX) {
        // SAFETY: it only sets a flag; a number that is no descriptor is an error that does not matter.
        unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

/// `POSIX_SPAWN_CLOEXEC_DEFAULT` does it there.
#[cfg(not(target_os = "linux"))]
fn close_on_exec() {}

/// Counters in a file that several processes share.
#[derive(Debug)]
pub struct SharedCounters {
    start: ptr::NonNull<AtomicU64>,
    counters: usize,
}

impl SharedCounters {
    /// Maps the file's first `len` bytes, which it must have.
    ///
    /// # Errors
    /// When it cannot be mapped.
    pub fn map(file: &OwnedFd, len: usize) -> io::Result<Self> {
        // SAFETY: a fresh mapping at an address that the kernel chooses aliases nothing.
        let start = unsafe {
            rustix::mm::mmap(ptr::null_mut(), len, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, file, 0)?
        };
        let start = ptr::NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, counters: len / size_of::<AtomicU64>() })
    }

    /// Adds to one. A file system may still refuse to store it (a copy-on-write one that is full) and answers with a
    /// signal; the process then ends as if all were well, so this is the last thing that a hook does.
    pub fn add(&self, index: usize, by: u64) {
        // SAFETY: the handler only leaves the process, which is allowed in one.
        unsafe { libc::signal(libc::SIGBUS, leave as extern "C" fn(i32) as libc::sighandler_t) };
        self.at(index).fetch_add(by, Ordering::Relaxed);
    }

    /// One counter's value.
    #[must_use]
    pub fn get(&self, index: usize) -> u64 {
        self.at(index).load(Ordering::Relaxed)
    }

    /// One counter's value, which becomes zero.
    #[must_use]
    pub fn take(&self, index: usize) -> u64 {
        self.at(index).swap(0, Ordering::Relaxed)
    }

    fn at(&self, index: usize) -> &AtomicU64 {
        assert!(index < self.counters, "a counter outside the file");
        // SAFETY: the mapping is page-aligned, lives as long as `self`, holds that many counters, and is only ever
        // touched atomically; any bits are a number.
        unsafe { self.start.add(index).as_ref() }
    }
}

impl Drop for SharedCounters {
    fn drop(&mut self) {
        // SAFETY: it is the mapping made in `map`, and nothing refers to it any more.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.counters * size_of::<AtomicU64>()) };
    }
}

extern "C" fn leave(_: i32) {
    // SAFETY: async-signal-safe.
    unsafe { libc::_exit(0) };
}

/// The greatest peak of resident memory, in bytes, of all children waited for so far. For benchmarks.
#[must_use]
pub fn peak_of_children() -> u64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the call fills what it is given; zeroes are a valid value should it fail.
    let peak = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init().ru_maxrss
    };
    // Linux counts in kibibytes, macOS in bytes.
    u64::try_from(peak).unwrap_or(0) * if cfg!(target_vendor = "apple") { 1 } else { 1024 }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn homes_of_the_passwd_file() {
        let passwd = b"root:x:0:0:root:/root:/bin/sh\n# comment\n\nbroken:x\ndev:x:1000:1000:A, B:/home/dev:/bin/zsh\nnone:x:65534:65534::nowhere:\n";
        assert_eq!(home_in(passwd, 0), Some("/root".into()));
        assert_eq!(home_in(passwd, 1000), Some("/home/dev".into()));
        assert_eq!(home_in(passwd, 65_534), None, "a relative home is none");
        assert_eq!(home_in(passwd, 7), None);
    }
}
