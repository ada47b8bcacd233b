//! Whether Copilot CLI is here, and its version. Nothing is started: the files that it and its installers leave tell.
//! Titles, models and the like are not read yet.

use std::path::PathBuf;

use jiff::Timestamp;
use semver::Version;
use sessionpipe_core::adapter::{Facts, Found, SessionFile};
use sessionpipe_core::host::Host;
use sessionpipe_core::package;

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
    host.programs("copilot").find_map(|program| package::version_of(&program, is_package))
}

/// `@github/copilot`, `@github/copilot-linux-x64`; not the SDK's.
fn is_package(name: &str) -> bool {
    name.strip_prefix(PACKAGE).is_some_and(|rest| {
        rest.is_empty() || ["-linux", "-darwin", "-win32"].iter().any(|platform| rest.starts_with(platform))
    })
}

#[cfg(test)]
mod tests;
