//! Whether Codex is here, and its version. Nothing is started: the files that it and its installers leave tell.
//! Titles, models and the like are not read yet.

use std::path::{Path, PathBuf};

use semver::Version;
use sessionpipe_core::adapter::{Facts, Found, SessionFile};
use sessionpipe_core::host::Host;
use sessionpipe_core::package;
use uuid::Uuid;

use crate::transcript::{session_meta, threads};
use crate::wiring::codex_home;

/// A version that began no session for this long is taken to be gone.
const RECENT_MS: i64 = 30 * 24 * 60 * 60 * 1000;

/// The newest sessions tell the versions in use; each costs the read of a line of some 20 KB.
const MAX_SESSIONS_READ: usize = 100;

/// The package that npm installs; the programs of each platform have names that begin like it.
const PACKAGE: &str = "@openai/codex";

pub(crate) fn facts(session: &SessionFile) -> Facts {
    let version = session.paths.first().and_then(|path| session_meta(path)).and_then(|meta| meta.cli_version);
    Facts { version, ..Facts::default() }
}

pub(crate) fn found(host: &Host) -> Option<Found> {
    let home = codex_home(host);
    let program = program(host);
    let dirs: Vec<PathBuf> = Some(home).filter(|home| home.is_dir()).into_iter().collect();
    if dirs.is_empty() && program.is_none() {
        return None;
    }
    let of_sessions = threads(host)
        .into_iter()
        .filter(|session| began_ms(&session.id).is_some_and(|began| host.now_ms - began <= RECENT_MS))
        .take(MAX_SESSIONS_READ)
        .filter_map(|session| Version::parse(&facts(&session).version?).ok());
    let version = of_sessions.chain(program.as_deref().and_then(program_version)).min();
    Some(Found { version: version.map(|version| version.to_string()), dirs, left_alone: Vec::new() })
}

/// When a thread began, which its id (a UUIDv7) tells. A file that was written today may be resumed, and years old.
fn began_ms(id: &str) -> Option<i64> {
    let (seconds, nanos) = Uuid::try_parse(id).ok()?.get_timestamp()?.to_unix();
    i64::try_from(seconds).ok()?.checked_mul(1000)?.checked_add(i64::from(nanos / 1_000_000))
}

/// Whether Codex is on this machine: its folder, or its program on PATH.
pub(crate) fn is_here(host: &Host) -> bool {
    codex_home(host).is_dir() || program(host).is_some()
}

fn program(host: &Host) -> Option<PathBuf> {
    host.programs("codex").next()
}

/// The version of a program: that of the package it is a part of (npm's `codex` is a script inside it), or the name of
/// its folder, where that is `…/codex/VERSION/…` (Homebrew, mise).
fn program_version(program: &Path) -> Option<Version> {
    program.ancestors().skip(1).find_map(|dir| {
        let name = |dir: &Path| dir.file_name().and_then(|name| name.to_str()).map(str::to_owned);
        let in_codex = dir.parent().and_then(name).is_some_and(|parent| parent == "codex");
        package_version(dir).or_else(|| Version::parse(&name(dir).filter(|_| in_codex)?).ok())
    })
}

fn package_version(dir: &Path) -> Option<Version> {
    let mut version = package::version(dir, |name| name.starts_with(PACKAGE))?;
    // The package of a platform is published as `0.171.0-linux-x64`: that is no pre-release.
    if ["linux-", "darwin-", "win32-"].iter().any(|platform| version.pre.starts_with(platform)) {
        version.pre = semver::Prerelease::EMPTY;
    }
    Some(version)
}

#[cfg(test)]
mod tests;
