//! The only door to the outside. The program builds one [`Host`]; tests build it by hand. Nothing below the program
//! reads the environment, the home or the clock in another way (`clippy.toml` forbids it).

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Where we are.
#[derive(Clone, Debug)]
pub struct Host {
    /// The person's home.
    pub home: PathBuf,
    /// The environment of the program.
    pub env: BTreeMap<String, OsString>,
    /// Where system-wide configuration lies: `/etc`.
    pub etc: PathBuf,
    /// The working folder: project settings are looked for here.
    pub cwd: PathBuf,
    /// Milliseconds since the epoch, when the program started.
    pub now_ms: i64,
    /// Our own folders.
    pub dirs: Dirs,
    /// What hooks call.
    pub program: Program,
}

impl Host {
    /// A variable of the environment; empty counts as set.
    #[must_use]
    pub fn var(&self, name: &str) -> Option<&OsStr> {
        self.env.get(name).map(OsString::as_os_str)
    }

    /// The path that a variable names, from the working folder; empty counts as unset. No tilde is expanded.
    #[must_use]
    pub fn path_var(&self, name: &str) -> Option<PathBuf> {
        self.var(name).filter(|value| !value.is_empty()).map(|value| self.cwd.join(value))
    }

    /// The programs of a name on PATH, the one that a shell would run first, links followed.
    pub fn programs(&self, name: &str) -> impl Iterator<Item = PathBuf> {
        self.programs_in(name, None)
    }

    /// The same, and then in one more folder.
    pub fn programs_in(&self, name: &str, folder: impl IntoIterator<Item = PathBuf>) -> impl Iterator<Item = PathBuf> {
        let path = self.var("PATH").map(std::env::split_paths).into_iter().flatten();
        path.chain(folder)
            .filter(|dir| dir.is_absolute())
            .filter_map(move |dir| dir.join(name).canonicalize().ok())
            .filter(|program| program.is_file())
    }

    /// A path as people read it: the home is `~`.
    #[must_use]
    pub fn tilde(&self, path: &Path) -> String {
        tilde(&self.home, path)
    }
}

/// A path with the home written `~`.
#[must_use]
pub fn tilde(home: &Path, path: &Path) -> String {
    match path.strip_prefix(home) {
        Ok(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Ok(rest) if home.parent().is_some() => format!("~/{}", rest.display()),
        _ => path.display().to_string(),
    }
}

/// Whether a home may be touched. With `SESSIONPIPE_TEST=1` only one under the temporary folder may: no test reaches a
/// real one, whatever it forgets to set.
#[must_use]
pub fn may_touch(home: &Path, var: impl Fn(&str) -> Option<OsString>) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    var("SESSIONPIPE_TEST").is_none_or(|value| value != "1") || real(home).starts_with(real(&std::env::temp_dir()))
}

/// Our own folders. 0700 each, files in them 0600.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dirs {
    /// `$XDG_STATE_HOME/sessionpipe`, or `~/.local/state/sessionpipe`.
    pub state: PathBuf,
    /// `$XDG_CONFIG_HOME/sessionpipe`, or `~/.config/sessionpipe`.
    pub config: PathBuf,
    /// `SESSIONPIPE_HOME` is set: both folders lie under it.
    pub redirected: bool,
}

impl Dirs {
    /// The folders, given the environment and the home. A relative or empty XDG variable is ignored, as its
    /// specification says.
    pub fn new(var: impl Fn(&str) -> Option<OsString>, home: &Path) -> Self {
        let absolute = |name| var(name).map(PathBuf::from).filter(|p| p.is_absolute());
        if let Some(root) = absolute("SESSIONPIPE_HOME") {
            return Self { state: root.join("state"), config: root.join("config"), redirected: true };
        }
        let under = |name, default: &str| absolute(name).unwrap_or_else(|| home.join(default)).join("sessionpipe");
        Self {
            state: under("XDG_STATE_HOME", ".local/state"),
            config: under("XDG_CONFIG_HOME", ".config"),
            redirected: false,
        }
    }

    /// Jobs that wait for the worker.
    #[must_use]
    pub fn spool(&self) -> PathBuf {
        self.state.join("spool")
    }

    /// The outbox database.
    #[must_use]
    pub fn outbox(&self) -> PathBuf {
        self.state.join("outbox.db")
    }

    /// Locked by the one worker of this folder.
    #[must_use]
    pub fn worker_lock(&self) -> PathBuf {
        self.state.join("worker.lock")
    }

    /// The FIFO that wakes the worker.
    #[must_use]
    pub fn worker_fifo(&self) -> PathBuf {
        self.state.join("worker.fifo")
    }

    /// The preallocated counters of what was lost where nothing else could be written.
    #[must_use]
    pub fn losses(&self) -> PathBuf {
        self.state.join("losses")
    }

    /// What `install` did.
    #[must_use]
    pub fn manifest(&self) -> PathBuf {
        self.state.join("installed.json")
    }

    /// The original bytes of the configs that `install` changed.
    #[must_use]
    pub fn backups(&self) -> PathBuf {
        self.state.join("backups")
    }

    /// Copies of our programs, where they were started from a build tree.
    #[must_use]
    pub fn bin(&self) -> PathBuf {
        self.state.join("bin")
    }

    /// The person's settings.
    #[must_use]
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }
}

/// The program that the configs name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Absolute and stable over upgrades.
    pub path: PathBuf,
    /// `sessionpipe-hook` (called as `PATH HARNESS EVENT`), or `sessionpipe` (called as `PATH hook HARNESS EVENT`).
    pub is_hook: bool,
    /// The files to copy there before the path can be named (from, to): a program started from a build tree.
    pub copies: Vec<(PathBuf, PathBuf)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dirs(vars: &[(&str, &str)]) -> Dirs {
        Dirs::new(|n| vars.iter().find(|(k, _)| *k == n).map(|(_, v)| OsString::from(v)), Path::new("/home/dev"))
    }

    #[test]
    fn programs_are_looked_for_where_a_shell_would() {
        let home = tempfile::tempdir().expect("a folder");
        let mut host = crate::testing::host(home.path());
        assert_eq!(host.programs("agent").count(), 0);
        let [first, second, more] = ["bin", "sbin", "more"].map(|dir| home.path().join(dir));
        for dir in [&second, &more] {
            crate::testing::write(&dir.join("agent"), "");
        }
        let real = |dir: &Path| dir.join("agent").canonicalize().expect("a path");
        host.env.insert("PATH".to_owned(), std::env::join_paths([Path::new("."), &first, &second]).expect("a list"));
        assert_eq!(host.programs("agent").collect::<Vec<_>>(), [real(&second)]);
        let all: Vec<_> = host.programs_in("agent", [more.clone()]).collect();
        assert_eq!(all, [real(&second), real(&more)]);
    }

    #[test]
    fn a_variable_names_a_path() {
        let mut host = crate::testing::host(Path::new("/home/dev"));
        for (value, path) in
            [("", None), ("/x", Some("/x")), ("x", Some("/home/dev/proj/x")), ("~/x", Some("/home/dev/proj/~/x"))]
        {
            host.env.insert("DIR".to_owned(), value.into());
            assert_eq!(host.path_var("DIR").as_deref(), path.map(Path::new), "{value:?}");
        }
        assert_eq!(host.path_var("OTHER"), None);
    }

    #[test]
    fn xdg_then_home() {
        assert_eq!(dirs(&[]).state, Path::new("/home/dev/.local/state/sessionpipe"));
        assert_eq!(dirs(&[("XDG_STATE_HOME", "/s")]).state, Path::new("/s/sessionpipe"));
        assert_eq!(dirs(&[("XDG_STATE_HOME", "s")]).state, Path::new("/home/dev/.local/state/sessionpipe"));
        assert_eq!(dirs(&[("XDG_CONFIG_HOME", "")]).config, Path::new("/home/dev/.config/sessionpipe"));
    }

    #[test]
    fn one_folder_moves_both() {
        let dirs = dirs(&[("SESSIONPIPE_HOME", "/sp"), ("XDG_STATE_HOME", "/s")]);
        assert_eq!((dirs.state.as_path(), dirs.config.as_path()), (Path::new("/sp/state"), Path::new("/sp/config")));
        assert!(dirs.redirected);
    }

    #[test]
    fn tests_never_reach_a_real_home() {
        let set = |value: &'static str| move |_: &str| Some(OsString::from(value));
        assert!(may_touch(&std::env::temp_dir().join("x"), set("0")));
        assert!(may_touch(&std::env::temp_dir(), set("1")));
        assert!(!may_touch(Path::new("/home/dev"), set("1")));
        assert!(may_touch(Path::new("/home/dev"), set("0")));
        assert!(may_touch(Path::new("/home/dev"), |_| None));
    }

    #[test]
    fn tilde_only_for_the_home_itself() {
        let home = Path::new("/home/dev");
        assert_eq!(tilde(home, Path::new("/home/dev/a b")), "~/a b");
        assert_eq!(tilde(home, Path::new("/home/dev")), "~");
        assert_eq!(tilde(home, Path::new("/home/developer/x")), "/home/developer/x");
        assert_eq!(tilde(Path::new("/"), Path::new("/etc/x")), "/etc/x");
    }
}
