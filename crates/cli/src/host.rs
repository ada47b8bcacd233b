//! The one [`Host`] of the program: built here from the environment, the passwd entry and the clock, and handed down.

#![expect(clippy::disallowed_methods, reason = "this is where `Host` comes from")]

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use sessionpipe_core::command::is_runnable;
use sessionpipe_core::host::{Dirs, Host, Program, may_touch};

use crate::error::CommandError;

/// The file names of our programs, the better one for a hook first.
const NAMES: [(&str, bool); 2] = [("sessionpipe-hook", true), ("sessionpipe", false)];

/// Folders, relative to the home, in which package managers keep links that survive an upgrade.
const LINKS_OF_HOME: [&str; 5] =
    [".cargo/bin", ".local/bin", ".nix-profile/bin", ".local/state/nix/profile/bin", ".local/share/mise/shims"];

/// The same for the whole machine.
const LINKS: [&str; 5] = [
    "/opt/homebrew/bin",
    "/home/linuxbrew/.linuxbrew/bin",
    "/usr/local/bin",
    "/run/current-system/sw/bin",
    "/nix/var/nix/profiles/default/bin",
];

/// Links that stand beside the versions of a tool and follow its upgrades.
const MOVING: [&str; 2] = ["latest", "current"];

/// Where we are.
///
/// # Errors
/// When there is no home, or a test is about to run in a real one.
pub fn host() -> Result<Host, CommandError> {
    let env: BTreeMap<String, OsString> =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value))).collect();
    let home = home(env.get("HOME"))?;
    guard(&env, &home)?;
    let dirs = Dirs::new(|name| env.get(name).cloned(), &home);
    let cwd = std::env::current_dir().unwrap_or_else(|_| home.clone());
    let exe = std::env::current_exe().and_then(|exe| exe.canonicalize());
    let program = match exe {
        Ok(exe) => {
            let path = env.get("PATH").map(OsString::as_os_str).unwrap_or_default();
            program(&exe, std::env::args_os().next().as_deref(), path, &home, &dirs)
        }
        // Replaced or removed while it runs: what install would write is unknown, all else works.
        Err(_) => Program { path: dirs.bin().join("sessionpipe"), is_hook: false, copies: Vec::new() },
    };
    let now_ms = jiff::Timestamp::now().as_millisecond();
    Ok(Host { home, env, etc: PathBuf::from("/etc"), cwd, now_ms, dirs, program })
}

/// The home: `HOME`, else the passwd entry; never a guess.
fn home(var: Option<&OsString>) -> Result<PathBuf, CommandError> {
    let home = match var.filter(|home| !home.is_empty()) {
        Some(home) => Some(PathBuf::from(home)),
        None => dirs::home_dir(),
    };
    home.filter(|home| home.is_absolute()).ok_or_else(|| {
        CommandError::usage(anyhow::anyhow!("HOME is not an absolute path, and there is no other word on where it is"))
    })
}

fn guard(env: &BTreeMap<String, OsString>, home: &Path) -> Result<(), CommandError> {
    if may_touch(home, |name| env.get(name).cloned()) {
        return Ok(());
    }
    Err(CommandError::usage(anyhow::anyhow!("SESSIONPIPE_TEST=1, but HOME is not under the temporary folder")))
}

/// What hooks shall call: the path by which this program is still there after an upgrade, the small hook program if it
/// is beside us, else ourselves. Where there is no such path, a copy in our state folder.
#[must_use]
pub fn program(exe: &Path, argv0: Option<&OsStr>, path: &OsStr, home: &Path, dirs: &Dirs) -> Program {
    let here = exe.parent().unwrap_or(Path::new("/"));
    let both = NAMES.map(|(name, is_hook)| (here.join(name), is_hook));
    let ours = || both.iter().filter(|(file, is_hook)| !is_hook || is_runnable(&file.to_string_lossy()));
    // By another name the commands in the configs would not be known as ours.
    let is_named = exe.file_name().is_some_and(|name| NAMES.iter().any(|(own, _)| name == *own));
    if is_named && !is_build_tree(exe) {
        for (file, is_hook) in ours() {
            if let Some(path) = stable(file, argv0, path, home) {
                return Program { path, is_hook: *is_hook, copies: Vec::new() };
            }
        }
    }
    // Of a build the hook program may be missing: then we stand in under its name. So the configs hold the same command
    // whichever was built, and a harness that trusts a hook by its text goes on trusting it.
    let hook = ours().find(|(_, is_hook)| *is_hook).map_or(exe, |(file, _)| file);
    let [(hook_name, _), (name, _)] = NAMES;
    let to = |name: &str| dirs.bin().join(name);
    let copies = vec![(hook.to_owned(), to(hook_name)), (exe.to_owned(), to(name))];
    Program { path: to(hook_name), is_hook: true, copies }
}

/// A build can be cleaned away at any time. Cargo marks its target folder as a cache.
fn is_build_tree(exe: &Path) -> bool {
    exe.ancestors().skip(1).any(|dir| {
        let named = dir.file_name().is_some_and(|name| name.to_string_lossy().starts_with("target"));
        dir.join("CACHEDIR.TAG").is_file() || (named && dir.with_file_name("Cargo.toml").is_file())
    })
}

/// The first path that leads to `file` and survives upgrades.
fn stable(file: &Path, argv0: Option<&OsStr>, path: &OsStr, home: &Path) -> Option<PathBuf> {
    let name = file.file_name()?;
    let called_as = argv0.map(Path::new).filter(|p| p.is_absolute()).and_then(Path::parent);
    let dirs = std::env::split_paths(path)
        .chain(called_as.map(Path::to_owned))
        .chain(cellar_links(file))
        .chain(LINKS_OF_HOME.map(|dir| home.join(dir)))
        .chain(LINKS.map(PathBuf::from))
        .chain(file.parent().map(Path::to_owned));
    // A path that is no text cannot stand in a config.
    let mut candidates = dirs.filter(|dir| dir.is_absolute() && dir.to_str().is_some()).map(|dir| dir.join(name));
    candidates.find_map(|candidate| {
        if !leads_to(&candidate, file) {
            None
        } else if !is_versioned(&candidate) {
            Some(candidate)
        } else {
            moving(&candidate, file)
        }
    })
}

/// Whether a path is this file, by links or by a small `sh` script that runs it (the shim of a package manager).
fn leads_to(candidate: &Path, file: &Path) -> bool {
    /// No shim is larger.
    const LARGEST_SHIM: u64 = 16 << 10;
    match candidate.canonicalize() {
        Ok(real) if real == file => return true,
        Ok(_) => {}
        Err(_) => return false,
    }
    if std::fs::metadata(candidate).map_or(true, |meta| meta.len() > LARGEST_SHIM) {
        return false;
    }
    let Ok(script) = std::fs::read_to_string(candidate) else { return false };
    // One that needs another interpreter than `sh` would not find it in the minimal PATH of a hook.
    let dir = candidate.parent().unwrap_or(Path::new("/"));
    script.starts_with("#!/bin/sh")
        && script.lines().filter_map(|line| line.trim().strip_prefix("exec \"")).any(|rest| {
            let target = rest.split('"').next().unwrap_or_default();
            let target = target.strip_prefix("$basedir/").map_or_else(|| PathBuf::from(target), |rest| dir.join(rest));
            target.canonicalize().is_ok_and(|real| real == file)
        })
}

/// Whether a path names a version (or a content hash): the next upgrade leaves it behind.
fn is_versioned(path: &Path) -> bool {
    let store = path.starts_with("/nix/store") || path.starts_with("/gnu/store");
    store || path.components().any(|part| part.as_os_str().to_str().is_some_and(is_version))
}

/// `0.3.1`, `v22.1.0`, `sessionpipe@0.3.1`, `sessionpipe-0.3.1`: digits, a dot, digits, at the end of a name.
fn is_version(name: &str) -> bool {
    let version = name.rsplit(['@', '-', '_']).next().unwrap_or(name);
    let version = version.strip_prefix('v').unwrap_or(version);
    version.contains('.') && version.split('.').all(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// The same path through a link beside the version that moves with it.
fn moving(path: &Path, file: &Path) -> Option<PathBuf> {
    let parts: Vec<_> = path.components().collect();
    let version = parts.iter().position(|part| part.as_os_str().to_str().is_some_and(is_version))?;
    MOVING.iter().find_map(|link| {
        let before = parts.iter().take(version).map(|part| part.as_os_str());
        let after = parts.iter().skip(version + 1).map(|part| part.as_os_str());
        let path: PathBuf = before.chain([OsStr::new(link)]).chain(after).collect();
        (leads_to(&path, file) && !is_versioned(&path)).then_some(path)
    })
}

/// The folders in which Homebrew links what lies in its Cellar.
fn cellar_links(file: &Path) -> Vec<PathBuf> {
    let Some(cellar) = file.ancestors().find(|dir| dir.file_name().is_some_and(|name| name == "Cellar")) else {
        return Vec::new();
    };
    let formula = file.strip_prefix(cellar).ok().and_then(|rest| rest.components().next());
    let prefix = cellar.parent().unwrap_or(cellar);
    let mut links = vec![prefix.join("bin")];
    links.extend(formula.map(|formula| prefix.join("opt").join(formula).join("bin")));
    links
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    struct Tree {
        root: tempfile::TempDir,
    }

    impl Tree {
        fn new() -> Self {
            Self { root: tempfile::tempdir().expect("a temporary folder") }
        }

        fn path(&self, path: &str) -> PathBuf {
            self.root.path().canonicalize().expect("root").join(path)
        }

        fn file(&self, path: &str, text: &str) -> PathBuf {
            let file = self.path(path);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("folders");
            std::fs::write(&file, text).expect("a file");
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("a mode");
            file
        }

        fn link(&self, path: &str, target: &str) {
            let link = self.path(path);
            std::fs::create_dir_all(link.parent().expect("a folder")).expect("folders");
            symlink(target, link).expect("a link");
        }

        fn program(&self, exe: &Path, path: &[&str]) -> Program {
            let path = std::env::join_paths(path.iter().map(|dir| self.path(dir))).expect("a PATH");
            program(exe, None, &path, &self.path("home"), &self.dirs())
        }

        fn dirs(&self) -> Dirs {
            Dirs { state: self.path("state"), config: self.path("config"), redirected: false }
        }

        fn relative(&self, program: &Program) -> String {
            program.path.strip_prefix(self.path("")).expect("inside").display().to_string()
        }
    }

    #[test]
    fn homebrew_links_not_the_cellar() {
        let tree = Tree::new();
        let exe = tree.file("brew/Cellar/sessionpipe/0.3.1/bin/sessionpipe", "");
        tree.link("brew/bin/sessionpipe", "../Cellar/sessionpipe/0.3.1/bin/sessionpipe");
        // By PATH, and where PATH says nothing (started by its full name).
        for path in [&["brew/bin"][..], &[]] {
            let program = tree.program(&exe, path);
            assert_eq!((tree.relative(&program).as_str(), program.is_hook), ("brew/bin/sessionpipe", false));
            assert!(program.copies.is_empty());
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_path_that_is_no_text_is_not_named() {
        use std::os::unix::ffi::OsStrExt as _;

        let tree = Tree::new();
        let odd = tree.path("").join(OsStr::from_bytes(b"b\xff"));
        std::fs::rename(tree.file("b/sessionpipe", "").parent().expect("a folder"), &odd).expect("renamed");
        let program = tree.program(&odd.join("sessionpipe"), &[]);
        assert_eq!(program.path.parent(), Some(tree.path("state/bin").as_path()));
        assert!(program.copies.iter().any(|(_, to)| *to == program.path));
    }

    #[test]
    fn the_small_program_beside_us_is_preferred() {
        let tree = Tree::new();
        let exe = tree.file("brew/Cellar/sessionpipe/0.3.1/bin/sessionpipe", "");
        tree.file("brew/Cellar/sessionpipe/0.3.1/bin/sessionpipe-hook", "");
        tree.link("brew/bin/sessionpipe", "../Cellar/sessionpipe/0.3.1/bin/sessionpipe");
        assert_eq!(tree.relative(&tree.program(&exe, &["brew/bin"])), "brew/bin/sessionpipe");
        tree.link("brew/bin/sessionpipe-hook", "../Cellar/sessionpipe/0.3.1/bin/sessionpipe-hook");
        let program = tree.program(&exe, &["brew/bin"]);
        assert_eq!((tree.relative(&program).as_str(), program.is_hook), ("brew/bin/sessionpipe-hook", true));
    }

    #[test]
    fn another_program_of_our_name_is_not_ours() {
        let tree = Tree::new();
        let exe = tree.file("opt/sp/bin/sessionpipe", "");
        tree.file("elsewhere/sessionpipe", "");
        assert_eq!(tree.relative(&tree.program(&exe, &["elsewhere"])), "opt/sp/bin/sessionpipe");
    }

    #[test]
    fn mise_by_its_latest() {
        let tree = Tree::new();
        let exe = tree.file("mise/installs/sessionpipe/0.3.1/bin/sessionpipe", "");
        tree.link("mise/installs/sessionpipe/latest", "./0.3.1");
        let program = tree.program(&exe, &["mise/installs/sessionpipe/0.3.1/bin"]);
        assert_eq!(tree.relative(&program), "mise/installs/sessionpipe/latest/bin/sessionpipe");
    }

    #[test]
    fn cargo_bin_as_it_is() {
        let tree = Tree::new();
        let exe = tree.file("home/.cargo/bin/sessionpipe", "");
        assert_eq!(tree.relative(&tree.program(&exe, &[])), "home/.cargo/bin/sessionpipe");
    }

    #[test]
    fn nix_by_the_profile() {
        let tree = Tree::new();
        let exe = tree.file("store/0123-sessionpipe-0.3.1/bin/sessionpipe", "");
        tree.link("profiles/profile-7-link", tree.path("store/0123-sessionpipe-0.3.1").to_str().expect("text"));
        tree.link("home/.nix-profile", tree.path("profiles/profile-7-link").to_str().expect("text"));
        assert_eq!(tree.relative(&tree.program(&exe, &[])), "home/.nix-profile/bin/sessionpipe");
    }

    #[test]
    fn npm_links_and_pnpm_shims() {
        let tree = Tree::new();
        let exe = tree.file("npm/lib/node_modules/sessionpipe/bin/sessionpipe", "");
        tree.link("npm/bin/sessionpipe", "../lib/node_modules/sessionpipe/bin/sessionpipe");
        assert_eq!(tree.relative(&tree.program(&exe, &["npm/bin"])), "npm/bin/sessionpipe");

        let exe = tree.file("pnpm/global/5/.pnpm/sessionpipe@0.3.1/node_modules/sessionpipe/bin/sessionpipe", "");
        let shim = "#!/bin/sh\nbasedir=$(dirname \"$0\")\n\
                    exec \"$basedir/global/5/.pnpm/sessionpipe@0.3.1/node_modules/sessionpipe/bin/sessionpipe\" \"$@\"\n";
        tree.file("pnpm/sessionpipe", shim);
        assert_eq!(tree.relative(&tree.program(&exe, &["pnpm"])), "pnpm/sessionpipe");
    }

    #[test]
    fn what_only_a_version_names_is_copied() {
        let tree = Tree::new();
        let exe = tree.file("cache/sessionpipe@0.3.1/bin/sessionpipe", "");
        let hook = tree.file("cache/sessionpipe@0.3.1/bin/sessionpipe-hook", "");
        let program = tree.program(&exe, &["cache/sessionpipe@0.3.1/bin"]);
        let bin = tree.dirs().bin();
        assert_eq!((program.path, program.is_hook), (bin.join("sessionpipe-hook"), true));
        assert_eq!(program.copies, [(hook, bin.join("sessionpipe-hook")), (exe, bin.join("sessionpipe"))]);
    }

    #[test]
    fn a_build_is_copied_even_when_it_is_on_the_path() {
        let tree = Tree::new();
        let exe = tree.file("src/target-b/debug/sessionpipe", "");
        tree.file("src/Cargo.toml", "");
        let program = tree.program(&exe, &["src/target-b/debug"]);
        // Only one was built: it stands in for the hook program, too.
        let bin = tree.dirs().bin();
        assert_eq!((program.path, program.is_hook), (bin.join("sessionpipe-hook"), true));
        assert_eq!(program.copies, [(exe.clone(), bin.join("sessionpipe-hook")), (exe, bin.join("sessionpipe"))]);
        let tagged = tree.file("builds/x/release/sessionpipe", "");
        tree.file("builds/x/CACHEDIR.TAG", "");
        assert_eq!(tree.program(&tagged, &[]).copies.len(), 2);
    }

    #[test]
    fn a_renamed_program_is_copied_under_its_own_name() {
        let tree = Tree::new();
        let exe = tree.file("home/.cargo/bin/sp", "");
        let program = tree.program(&exe, &["home/.cargo/bin"]);
        let bin = tree.dirs().bin();
        assert_eq!((program.path, program.is_hook), (bin.join("sessionpipe-hook"), true));
        assert_eq!(program.copies, [(exe.clone(), bin.join("sessionpipe-hook")), (exe, bin.join("sessionpipe"))]);
    }

    #[test]
    fn versions_in_names() {
        for versioned in ["0.3.1", "v22.1.0", "sessionpipe@0.3.1", "sessionpipe-0.3.1", "1.2"] {
            assert!(is_version(versioned), "{versioned}");
        }
        for plain in ["bin", "latest", ".local", "5", "python3.", "v1", "node_modules", "a.b", ""] {
            assert!(!is_version(plain), "{plain}");
        }
    }
}
