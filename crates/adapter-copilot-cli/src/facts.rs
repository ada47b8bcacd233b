//! Whether Copilot CLI is here, and its version. Nothing is started: the files that it and its installers leave tell.
//! Titles, models and the like are not read yet.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use semver::Version;
use serde::Deserialize;
use sessionpipe_core::adapter::{Facts, Found, SessionFile};
use sessionpipe_core::file;
use sessionpipe_core::host::Host;

use crate::transcript::{session_start, sessions};
use crate::wiring::copilot_home;

/// A version that began no session for this long is taken to be gone.
const RECENT_MS: i64 = 30 * 24 * 60 * 60 * 1000;

/// The newest sessions tell the versions in use; each costs the read of a line.
const MAX_SESSIONS_READ: usize = 100;

/// The package that npm installs; the programs of each platform have names that begin like it.
const PACKAGE: &str = "@github/copilot";

pub(crate) fn facts(session: &SessionFile) -> Facts {
    let version = session.paths.first().and_then(|path| session_start(path)).and_then(|start| start.copilot_version);
    Facts { version, ..Facts::default() }
}

pub(crate) fn found(host: &Host) -> Option<Found> {
    let dirs: Vec<PathBuf> = Some(copilot_home(host)).filter(|home| home.is_dir()).into_iter().collect();
    let program = program_version(host);
    if dirs.is_empty() && program.is_none() {
        return None;
    }
    let recent = |start: &Option<String>| {
        let began: Option<Timestamp> = start.as_ref().and_then(|start| start.parse().ok());
        began.is_some_and(|began| host.now_ms.saturating_sub(began.as_millisecond()) <= RECENT_MS)
    };
    let of_sessions = sessions(host)
        .into_iter()
        .take(MAX_SESSIONS_READ)
        .filter_map(|session| session_start(session.paths.first()?))
        .filter(|start| recent(&start.start_time))
        .filter_map(|start| Version::parse(&start.copilot_version?).ok());
    let version = of_sessions.chain(program).min();
    Some(Found { version: version.map(|version| version.to_string()), dirs, left_alone: Vec::new() })
}

/// Whether Copilot CLI is on this machine: its folder, or its program on PATH.
pub(crate) fn is_here(host: &Host) -> bool {
    copilot_home(host).is_dir() || program_version(host).is_some()
}

/// The version of the `copilot` on PATH, links followed. Only npm's package proves that it is this program: another
/// vendor's tool has the same name.
fn program_version(host: &Host) -> Option<Version> {
    env::split_paths(host.var("PATH")?)
        .filter(|dir| dir.is_absolute())
        .filter_map(|dir| fs::canonicalize(dir.join("copilot")).ok())
        .filter(|program| program.is_file())
        .find_map(|program| program.ancestors().skip(1).find_map(|dir| package_version(&dir.join("package.json"))))
}

fn package_version(path: &Path) -> Option<Version> {
    #[derive(Deserialize)]
    struct Package {
        name: String,
        version: String,
    }
    let package: Package = serde_json::from_slice(&file::read(path).ok()?).ok()?;
    let rest = package.name.strip_prefix(PACKAGE)?;
    // `@github/copilot`, `@github/copilot-linux-x64`; not the SDK's.
    let is_program =
        rest.is_empty() || ["-linux", "-darwin", "-win32"].iter().any(|platform| rest.starts_with(platform));
    if is_program { Version::parse(&package.version).ok() } else { None }
}

#[cfg(test)]
mod tests;
