//! Whether Antigravity is here, and its version, as far as files tell. Nothing is started.

use std::path::PathBuf;

use semver::Version;
use sessionpipe_core::adapter::Found;
use sessionpipe_core::host::Host;

use crate::wiring::hooks_file;

/// Where the command line keeps its things, from `~/.gemini`.
pub(crate) const CLI: &str = "antigravity-cli";

/// Where the app and the IDE keep theirs.
pub(crate) const APPS: [&str; 2] = ["antigravity", "antigravity-ide"];

pub(crate) fn found(host: &Host) -> Option<Found> {
    if !is_here(host) {
        return None;
    }
    let version = version(host).map(|version| version.to_string());
    Some(Found { version, dirs: dirs(host), left_alone: Vec::new() })
}

/// Its folders that exist.
fn dirs(host: &Host) -> Vec<PathBuf> {
    let dirs = [CLI].into_iter().chain(APPS).map(|name| host.home.join(".gemini").join(name));
    dirs.filter(|dir| dir.is_dir()).collect()
}

/// Whether it is on this machine: a folder of its own, its program, or hooks that wait for it.
pub(crate) fn is_here(host: &Host) -> bool {
    !dirs(host).is_empty() || program(host).is_some() || hooks_file(host).is_file()
}

/// The version of `agy`, where its path tells and nothing else reads the file: the app and the IDE, which count their
/// versions in another way, may be older. It updates itself in place, so it is this one or a later one.
pub(crate) fn version(host: &Host) -> Option<Version> {
    if APPS.iter().any(|name| host.home.join(".gemini").join(name).is_dir()) {
        return None;
    }
    let program = program(host)?;
    let names: Vec<_> = program.iter().filter_map(|name| name.to_str()).collect();
    names.windows(2).find_map(|names| match *names {
        // Homebrew: `…/Caskroom/antigravity-cli/1.2.7,5481893274877952/agy`.
        [CLI, version] => Version::parse(version.split(',').next()?).ok(),
        _ => None,
    })
}

/// The `agy` on PATH or where its installer puts it, links followed.
fn program(host: &Host) -> Option<PathBuf> {
    host.programs_in("agy", [host.home.join(".local/bin")]).next()
}

#[cfg(test)]
mod tests;
