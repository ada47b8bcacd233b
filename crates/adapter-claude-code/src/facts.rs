//! Whether Claude Code is here, and its version. Nothing is started: the files that it and its installers leave tell.
//! Titles, models and the like are not read yet.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use semver::Version;
use serde::Deserialize;
use sessionpipe_core::adapter::{Facts, Found, SessionFile};
use sessionpipe_core::file::{self, entries};
use sessionpipe_core::host::Host;
use sessionpipe_core::package;

use crate::transcript;
use crate::wiring::{self, ConfigDirs};

/// How much of a session file's start, and of its end, is searched: records of attachments come first, and are large.
const WINDOW: u64 = 64 * 1024;

/// Files that were not written in this time say nothing of what is in use.
const IN_USE_MS: i64 = 30 * 24 * 60 * 60 * 1000;

/// At most so many session files are opened for a version, the newest first.
const MAX_FILES: usize = 500;

/// Whether Claude Code is here: one of its config dirs, or its program.
pub(crate) fn found(host: &Host) -> Option<Found> {
    let ConfigDirs { dirs, left_alone } = wiring::config_dirs(host);
    if !dirs.iter().any(|dir| dir.is_dir()) && programs(host).is_empty() {
        return None;
    }
    let installed = installed(host);
    let version = dirs.iter().filter_map(|dir| lowest_version(host, dir, &installed)).min();
    Some(Found { version: version.map(|v| v.to_string()), dirs, left_alone })
}

/// What a session's files say of it.
pub(crate) fn facts(session: &SessionFile) -> Facts {
    // A session that is resumed may have gone over to another version: the last one counts.
    let version = session.paths.first().and_then(|path| last_version(path).or_else(|| first_version(path)));
    Facts { version: version.map(|v| v.to_string()), ..Facts::default() }
}

/// The lowest version that is in use with a config dir: in its session files of the last 30 days (an IDE may bring an
/// older copy of the program), in its registry of running sessions, and installed.
pub(crate) fn lowest_version(host: &Host, dir: &Path, installed: &[Version]) -> Option<Version> {
    let since = host.now_ms - IN_USE_MS;
    let files = transcript::recent_files(&dir.join("projects")).into_iter();
    let recent = files.take_while(|(modified_ms, _)| *modified_ms >= since);
    let sessions = recent.take(MAX_FILES).filter_map(|(_, path)| first_version(&path));
    let registry = entries(&dir.join("sessions"))
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .filter(|path| file::modified_ms(path).is_some_and(|ms| ms >= since))
        .filter_map(|path| version_in(&file::read(&path).ok()?));
    sessions.chain(registry).chain(installed.iter().cloned()).min()
}

/// The programs called `claude` on PATH and where the native installer puts it, links followed.
pub(crate) fn programs(host: &Host) -> Vec<PathBuf> {
    let mut programs: Vec<_> = host.programs_in("claude", [host.home.join(".local/bin")]).collect();
    programs.sort();
    programs.dedup();
    programs
}

/// The versions that are installed, as far as paths and package files tell.
pub(crate) fn installed(host: &Host) -> Vec<Version> {
    let local = host.home.join(".claude/local/node_modules/@anthropic-ai/claude-code");
    let mut versions: Vec<_> = programs(host).iter().filter_map(|program| program_version(program)).collect();
    versions.extend(package::version(&local, is_package));
    if versions.is_empty() {
        // The native installer keeps old versions for a while; without its link nobody knows which one is used.
        versions.extend(
            entries(&host.home.join(".local/share/claude/versions"))
                .filter_map(|path| Version::parse(path.file_name()?.to_str()?).ok()),
        );
    }
    versions
}

/// The version of a program by its real path: `…/claude/versions/2.1.328`, `…/claude-code/2.1.328/claude`, or by the
/// package.json of the npm package that it lies in.
fn program_version(program: &Path) -> Option<Version> {
    let names: Vec<_> = program.iter().filter_map(|name| name.to_str()).collect();
    let in_path = names.windows(3).find_map(|names| match *names {
        ["claude", "versions", version] | [_, "claude-code", version] => Version::parse(version).ok(),
        _ => None,
    });
    in_path.or_else(|| package::version_of(program, is_package))
}

/// `…-linux-x64` and its like are parts of it.
fn is_package(name: &str) -> bool {
    name.strip_prefix("@anthropic-ai/claude-code").is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// The first version that a session file names.
fn first_version(path: &Path) -> Option<Version> {
    let mut reader = BufReader::new(File::open(path).ok()?.take(WINDOW));
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line).ok()? == 0 {
            return None;
        }
        if let Some(version) = version_in(&line) {
            return Some(version);
        }
    }
}

/// The last version that a session file names.
fn last_version(path: &Path) -> Option<Version> {
    let mut file = File::open(path).ok()?;
    let len = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(len.saturating_sub(WINDOW))).ok()?;
    let mut tail = Vec::new();
    file.take(WINDOW).read_to_end(&mut tail).ok()?;
    // The first line may have lost its beginning: then it is no JSON.
    tail.split(|byte| *byte == b'\n').rev().find_map(version_in)
}

/// The record's own `version`.
fn version_in(record: &[u8]) -> Option<Version> {
    #[derive(Deserialize)]
    struct Record {
        version: Version,
    }
    serde_json::from_slice::<Record>(record).ok().map(|record| record.version)
}

#[cfg(test)]
mod tests;
