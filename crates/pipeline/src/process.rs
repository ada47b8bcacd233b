//! Who started the hook, and whether it still lives. Only the few processes asked for are looked at, never all.

use sessionpipe_core::job::Process;

/// How many ancestors a job carries: shells and launchers stand between a harness and its hook, seldom more than four.
pub const ANCESTORS: usize = 6;

/// The ancestors of this process, nearest first, [`ANCESTORS`] at most, up to the one that is looked for: each costs three
/// system calls. It ends where a process cannot be looked at. The first process of all is one of them: in a container it
/// may well be the agent.
#[must_use]
pub fn ancestry(is_wanted: impl Fn(&Process) -> bool) -> Vec<Process> {
    let mut found = Vec::with_capacity(ANCESTORS);
    let mut next = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs());
    while let Some(pid) = next.filter(|pid| *pid > 0 && found.len() < ANCESTORS) {
        let Some((process, parent)) = look(pid) else { break };
        next = parent.filter(|_| !is_wanted(&process));
        found.push(process);
    }
    found
}

/// Whether that very process still lives. A zombie does not, nor does another process that got its pid.
#[must_use]
pub fn alive(process: &Process) -> bool {
    look(process.pid).is_some_and(|(now, _)| now.start == process.start)
}

/// A living process and its parent's pid.
#[cfg(target_os = "linux")]
fn look(pid: u32) -> Option<(Process, Option<u32>)> {
    use rustix::fs::{CWD, Mode, OFlags};

    let path = format!("/proc/{pid}/stat");
    let file = rustix::fs::openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    // 52 numbers and a name of at most 64 bytes.
    let mut buffer = [0; 1536];
    let len = rustix::io::read(&file, &mut buffer).ok()?;
    parse(pid, buffer.get(..len)?)
}

/// Reads `/proc/PID/stat` (proc_pid_stat(5)): the name is in parentheses and may itself hold spaces and parentheses, so
/// the numbers begin after the last one.
#[cfg(target_os = "linux")]
fn parse(pid: u32, stat: &[u8]) -> Option<(Process, Option<u32>)> {
    /// Fields after the name: state (3 in the manual's count), ppid (4), starttime (22).
    const STATE: usize = 0;
    const PPID: usize = 1;
    const START: usize = 19;

    let open = memchr::memchr(b'(', stat)?;
    let close = memchr::memrchr(b')', stat)?;
    let name = String::from_utf8_lossy(stat.get(open + 1..close)?).into_owned();
    let numbers = std::str::from_utf8(stat.get(close + 1..)?).ok()?;
    let mut fields = numbers.split_ascii_whitespace();
    let state = fields.nth(STATE)?;
    let parent: u32 = fields.nth(PPID - STATE - 1)?.parse().ok()?;
    let start = fields.nth(START - PPID - 1)?.parse().ok()?;
    if matches!(state, "Z" | "X" | "x") {
        return None;
    }
    Some((Process { pid, start, name }, Some(parent)))
}

/// A living process and its parent's pid.
#[cfg(not(target_os = "linux"))]
fn look(pid: u32) -> Option<(Process, Option<u32>)> {
    use sysinfo::{Pid, ProcessRefreshKind, ProcessStatus, ProcessesToUpdate, System};

    let pid_of = Pid::from_u32(pid);
    let mut system = System::new();
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid_of]), false, ProcessRefreshKind::nothing());
    let process = system.process(pid_of)?;
    if matches!(process.status(), ProcessStatus::Zombie | ProcessStatus::Dead) {
        return None;
    }
    let name = process.name().to_string_lossy().into_owned();
    Some((Process { pid, start: process.start_time(), name }, process.parent().map(Pid::as_u32)))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    const REST: &str = "34560 1 34816 -1 4194304 100 0 0 0 1 2 0 0 20 0 9 0 8531 1000000 200";

    #[test]
    fn names_with_spaces_and_parentheses() {
        for name in ["node", "tmux: server", "a) S 1 (b", ")", ""] {
            let stat = format!("77 ({name}) S 42 {REST}\n");
            let expected = Process { pid: 77, start: 8531, name: name.to_owned() };
            assert_eq!(parse(77, stat.as_bytes()), Some((expected, Some(42))), "{name}");
        }
    }

    #[test]
    fn zombies_and_rubbish_are_no_process() {
        assert_eq!(parse(77, format!("77 (x) Z 42 {REST}").as_bytes()), None);
        assert_eq!(parse(77, b"77 (x) S 42 1"), None);
        assert_eq!(parse(77, b""), None);
    }

    #[test]
    fn the_nearest_ancestor_is_the_parent_and_lives() {
        let ancestors = ancestry(|_| false);
        let parent = ancestors.first().expect("tests have a parent");
        assert_eq!(parent.pid, std::os::unix::process::parent_id());
        assert!(alive(parent));
        assert!(!alive(&Process { start: parent.start + 1, ..parent.clone() }), "the pid was given away");
        assert!(ancestors.len() <= ANCESTORS);
        assert_eq!(ancestry(|_| true), ancestors.get(..1).expect("the parent"));
    }

    #[test]
    #[allow(clippy::disallowed_methods)]
    fn a_zombie_is_gone() {
        let mut child = std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().expect("cat");
        let (process, parent) = look(child.id()).expect("it waits for its stdin");
        assert_eq!(parent, Some(std::process::id()));
        assert!(alive(&process));
        drop(child.stdin.take());
        let pid = rustix::process::Pid::from_child(&child);
        // Waits for the exit, but leaves the zombie.
        let keep = rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT;
        rustix::process::waitid(rustix::process::WaitId::Pid(pid), keep).expect("waits");
        assert!(!alive(&process));
        child.wait().expect("reaped");
    }
}
