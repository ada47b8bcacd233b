//! A network namespace with nothing but loopback, and the processes in it.
//!
//! The lab starts itself once more inside (`live-inside`). That process adopts whatever is orphaned below it, so that
//! everything a run started is a descendant of it, also what has gone into a session or namespace of its own. Its stdin
//! is a pipe from the lab: when that closes, because the lab ended in whatever way, it ends all of them.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use super::setup::which;

/// How often a state that nothing announces is looked at.
pub const POLL: Duration = Duration::from_millis(20);

/// How long processes get between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);

/// How a namespace can be made here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// By root.
    Root,
    /// By anybody, together with a user namespace.
    User,
}

impl Kind {
    /// Tries what works here.
    ///
    /// # Errors
    /// A program is missing, or the system does not allow it.
    pub fn find() -> anyhow::Result<Self> {
        for tool in ["unshare", "ip", "setpriv"] {
            which(tool).with_context(|| format!("{tool} is needed (util-linux, iproute2)"))?;
        }
        let works = |kind: &Self| {
            let tried = kind.command(Path::new("true")).stdout(Stdio::null()).stderr(Stdio::null()).status();
            tried.is_ok_and(|status| status.success())
        };
        match [Self::Root, Self::User].into_iter().find(works) {
            Some(kind) => Ok(kind),
            None => bail!("no network namespace can be made here: run as root, or allow unprivileged user namespaces"),
        }
    }

    /// A command for a program in a new namespace.
    #[must_use]
    pub fn command(self, program: &Path) -> Command {
        let mut command = Command::new("unshare");
        match self {
            Self::Root => command.arg("--net"),
            Self::User => command.args(["--user", "--map-current-user", "--keep-caps", "--net"]),
        };
        command.arg("--").arg(program);
        command
    }

    /// What stands before a harness's command inside. A user namespace comes with capabilities, which the sandboxes of some
    /// harnesses refuse to start with: they are dropped.
    #[must_use]
    pub fn drops(self) -> &'static [&'static str] {
        match self {
            Self::Root => &[],
            Self::User => &["setpriv", "--ambient-caps=-all", "--inh-caps=-all"],
        }
    }
}

/// Brings loopback up and adopts orphans. Called once, inside.
///
/// # Errors
/// Where the system refuses.
pub fn settle() -> anyhow::Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).context("cannot adopt orphans")?;
    let ip = which("ip").context("ip is needed")?;
    let status = Command::new(ip).args(["link", "set", "lo", "up"]).stdin(Stdio::null()).status()?;
    if !status.success() {
        bail!("cannot bring up loopback");
    }
    // Whoever called this by hand is stopped before anything starts.
    let routes = fs::read_to_string("/proc/net/route").unwrap_or_default();
    if routes.lines().count() > 1 {
        bail!("this namespace has a way out");
    }
    Ok(())
}

/// A process, as `/proc` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: i32,
    /// Its parent's.
    pub parent: i32,
    /// It has ended and waits to be collected.
    pub ended: bool,
    /// The program's short name.
    pub name: String,
}

/// Every process below `root`, the nearest first.
#[must_use]
pub fn descendants(root: i32) -> Vec<Process> {
    let mut children: BTreeMap<i32, Vec<Process>> = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let stat = fs::read_to_string(entry.path().join("stat")).ok();
        if let Some(process) = stat.as_deref().and_then(parse_stat) {
            children.entry(process.parent).or_default().push(process);
        }
    }
    let mut found = children.remove(&root).unwrap_or_default();
    let mut next = 0;
    while let Some(process) = found.get(next) {
        let below = children.remove(&process.pid).unwrap_or_default();
        found.extend(below);
        next += 1;
    }
    found
}

/// `PID (NAME) STATE PARENT …`; a name may hold anything, parentheses included.
fn parse_stat(stat: &str) -> Option<Process> {
    let (pid, rest) = stat.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let state = fields.next()?;
    Some(Process {
        pid: pid.parse().ok()?,
        parent: fields.next()?.parse().ok()?,
        ended: matches!(state, "Z" | "X"),
        name: name.to_owned(),
    })
}

/// This process.
#[must_use]
pub fn me() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

/// Collects adopted processes that have ended, as init does; `own` are those that somebody here waits for.
pub fn collect(own: &[u32]) {
    let own = |pid: i32| own.iter().any(|own| i64::from(*own) == i64::from(pid));
    for process in descendants(me()) {
        if process.ended
            && process.parent == me()
            && !own(process.pid)
            && let Some(pid) = Pid::from_raw(process.pid)
        {
            let _ = waitpid(Some(pid), WaitOptions::NOHANG);
        }
    }
}

/// Sends a signal to a process. One that is gone has had it.
pub fn signal(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, signal);
    }
}

/// Ends every process of this run: asks first, then does not ask.
pub fn end_all() {
    end(Signal::TERM, GRACE);
    // One that was being born while the list was read is found now.
    end(Signal::KILL, GRACE);
}

/// Ends every process of this run at once, and lets none start any more.
pub fn abort() {
    *CLOSED.lock().unwrap_or_else(PoisonError::into_inner) = true;
    end(Signal::KILL, GRACE);
}

/// The run is being aborted.
static CLOSED: Mutex<bool> = Mutex::new(false);

/// Starts a process of this run.
///
/// # Errors
/// Where it cannot start, or the run is being aborted.
pub fn spawn(command: &mut Command) -> io::Result<Child> {
    let closed = CLOSED.lock().unwrap_or_else(PoisonError::into_inner);
    if *closed { Err(io::Error::other("the run is being aborted")) } else { command.spawn() }
}

fn end(kind: Signal, within: Duration) {
    let deadline = Instant::now() + within;
    let mut told = Vec::new();
    loop {
        collect(&[]);
        let running: Vec<_> = descendants(me()).into_iter().filter(|p| !p.ended).collect();
        if running.is_empty() || Instant::now() > deadline {
            return;
        }
        for process in running {
            if kind == Signal::KILL || !told.contains(&process.pid) {
                signal(process.pid, kind);
                told.push(process.pid);
            }
        }
        thread::sleep(POLL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_line_with_an_odd_name_is_read() {
        let process = Process { pid: 12, parent: 3, ended: false, name: "a) Z (b".into() };
        assert_eq!(parse_stat("12 (a) Z (b) S 3 12 12 0 -1"), Some(process));
        assert_eq!(parse_stat("12 (a) Z 3 12").map(|p| p.ended), Some(true));
        assert_eq!(parse_stat("12 (a"), None);
    }

    #[test]
    fn a_grandchild_is_a_descendant() {
        let mut child =
            Command::new("sh").args(["-c", "sleep 60 & echo; wait"]).stdout(Stdio::piped()).spawn().expect("sh");
        let mut line = [0];
        io::Read::read_exact(child.stdout.as_mut().expect("a pipe"), &mut line).expect("the word that it runs");
        let below = descendants(i32::try_from(child.id()).expect("a pid"));
        let names: Vec<_> = below.iter().map(|p| p.name.as_str()).collect();
        assert!(matches!(names.as_slice(), ["sleep" | "sh"]), "{names:?}");
        for process in &below {
            signal(process.pid, Signal::KILL);
        }
        let _ = child.wait();
    }
}
