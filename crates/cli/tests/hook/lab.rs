//! A throwaway home with the hook in it, under a path of its own, so that what lies beside the built one is never started.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use sessionpipe_core::host::Dirs;
use sessionpipe_core::job::Header;
use sessionpipe_pipeline::losses::{self, Losses, Reason};
use sessionpipe_pipeline::spool::Spool;

/// Longer than any hook may take, even on a machine that has other things to do.
pub const GENEROUS: Duration = Duration::from_secs(60);

/// A payload as every harness sends it.
pub const PAYLOAD: &[u8] = br#"{"session_id":"s1","hook_event_name":"Stop","x":"}\"{"}"#;

pub struct Lab {
    root: tempfile::TempDir,
}

impl Lab {
    pub fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary folder");
        let lab = Self { root };
        for folder in ["home", "bin", "work"] {
            std::fs::create_dir(lab.path(folder)).expect("a folder");
        }
        let built = env!("CARGO_BIN_EXE_sessionpipe-hook");
        if std::fs::hard_link(built, lab.program()).is_err() {
            // By a process of its own: what this one has open for writing, a child of another test inherits for a moment,
            // and the copy could not be started then.
            let copied = Command::new("cp").arg(built).arg(lab.program()).status().expect("cp");
            assert!(copied.success());
        }
        lab
    }

    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root.path().join(name)
    }

    pub fn program(&self) -> PathBuf {
        self.path("bin/sessionpipe-hook")
    }

    pub fn dirs(&self) -> Dirs {
        Dirs::new(|_| None, &self.path("home"))
    }

    /// The hook for `claude-code Stop`, in a clean environment.
    pub fn hook(&self) -> Command {
        self.clean(self.program(), ["claude-code", "Stop"])
    }

    /// A shell script that finds the hook in `$HOOK` and the lab in `$LAB`.
    pub fn shell(&self, script: &str) -> Command {
        let mut command = self.clean("sh", ["-c", script]);
        command.env("HOOK", self.program()).env("LAB", self.root.path());
        command
    }

    pub fn clean<A: AsRef<OsStr>>(&self, program: impl AsRef<OsStr>, args: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new(program);
        command.args(args).env_clear().env("HOME", self.path("home")).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command.current_dir(self.path("work"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// An executable script; written by a process of its own, as the copy of the hook is.
    pub fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        let mut writer = Command::new("sh");
        writer.args(["-c", r#"cat > "$0" && chmod 755 "$0""#]).arg(&path).stdin(Stdio::piped()).stdout(Stdio::piped());
        assert!(feed(writer, text.as_bytes()).status.success());
        path
    }

    /// A FIFO, and what will be written to it until its writer closes it.
    pub fn report(&self, name: &str) -> mpsc::Receiver<String> {
        let path = self.path(name);
        let made = Command::new("mkfifo").arg(&path).status().expect("mkfifo");
        assert!(made.success());
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || sender.send(std::fs::read_to_string(path).expect("a report")));
        receiver
    }

    pub fn jobs(&self) -> Vec<(Header, Vec<u8>)> {
        let spool = Spool::open(&self.dirs()).expect("a spool");
        let jobs = spool.list().expect("its jobs");
        jobs.into_iter().map(|id| spool.read(id).expect("a whole job")).collect()
    }

    pub fn job(&self) -> (Header, Vec<u8>) {
        let mut jobs = self.jobs();
        assert_eq!(jobs.len(), 1, "{jobs:?}");
        jobs.remove(0)
    }

    /// All names in the state folder, sorted.
    pub fn state(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.dirs().state)
            .expect("a state folder")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
            .collect();
        names.sort();
        names
    }

    pub fn lost(&self) -> Vec<(Reason, u64)> {
        list(losses::read(&self.dirs()).expect("counters"))
    }
}

pub fn list(losses: Losses) -> Vec<(Reason, u64)> {
    losses.iter().collect()
}

/// Starts it, writes the payload, and closes the pipe.
pub fn feed(mut command: Command, payload: &[u8]) -> Output {
    let mut child = command.spawn().expect("it starts");
    // It may have exited, or read enough.
    let _ = child.stdin.take().expect("a pipe").write_all(payload);
    finish(child)
}

/// Waits until it has exited and nobody holds its output any more.
pub fn finish(child: Child) -> Output {
    let pid = child.id();
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    let output = receiver.recv_timeout(GENEROUS).unwrap_or_else(|_| panic!("{pid} does not end"));
    output.expect("its output")
}

/// It exited 0 and printed nothing.
#[track_caller]
pub fn silent(output: &Output) {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(
        (output.status.code(), text(&output.stdout), text(&output.stderr)),
        (Some(0), String::new(), String::new())
    );
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Says why a test shows nothing on this machine.
pub fn skipped(why: &str) {
    use std::io::stderr;
    let _ = writeln!(stderr(), "skipped: {why}");
}
