//! Whether Droid is here, and its version. Nothing is started: the files that it and npm leave tell. Titles, models and the
//! like are not read yet.

use std::path::{Path, PathBuf};

use semver::Version;
use sessionpipe_core::adapter::{Facts, Found, SessionFile};
use sessionpipe_core::file;
use sessionpipe_core::host::Host;
use sessionpipe_core::package;

use crate::wiring::factory_home;

/// In `~/.factory`: the version that was started last, before any of its hooks ran.
const LAST_VERSION: &str = "last-startup-version";

/// The package that npm installs, and how the names of the programs for each platform begin.
const PACKAGE: &str = "droid";
const PLATFORM_PACKAGE: &str = "@factory/cli";

/// The version that runs a session: its files name none, but its folder is `~/.factory/sessions/<folder>`.
pub(crate) fn facts(session: &SessionFile) -> Facts {
    let home = session.paths.first().and_then(|path| path.ancestors().nth(3));
    Facts { version: home.and_then(last_version).map(|version| version.to_string()), ..Facts::default() }
}

pub(crate) fn found(host: &Host) -> Option<Found> {
    let home = factory_home(host);
    let program = program(host);
    let dirs: Vec<PathBuf> = Some(home).filter(|home| home.is_dir()).into_iter().collect();
    if dirs.is_empty() && program.is_none() {
        return None;
    }
    let version = version(host).map(|version| version.to_string());
    Some(Found { version, dirs, left_alone: Vec::new() })
}

/// Whether Droid is on this machine: its folder, or its program on PATH.
pub(crate) fn is_here(host: &Host) -> bool {
    factory_home(host).is_dir() || program(host).is_some()
}

/// The lower of the version that was started last and the one that a start would run.
pub(crate) fn version(host: &Host) -> Option<Version> {
    let installed = program(host).and_then(|program| package::version_of(&program, is_package));
    last_version(&factory_home(host)).into_iter().chain(installed).min()
}

fn last_version(home: &Path) -> Option<Version> {
    let text = String::from_utf8(file::read(&home.join(LAST_VERSION)).ok()?).ok()?;
    Version::parse(text.trim()).ok()
}

fn program(host: &Host) -> Option<PathBuf> {
    host.programs("droid").next()
}

fn is_package(name: &str) -> bool {
    name == PACKAGE || name.starts_with(PLATFORM_PACKAGE)
}

#[cfg(test)]
mod tests;
