//! What Claude Code's own files say: for now, versions. No program is started to find one.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use semver::Version;
use serde::Deserialize;
use sessionpipe_core::adapter::{Facts, SessionFile};
use sessionpipe_core::host::Host;

use crate::transcript::{self, entries};

/// How much of a session file's start, and of its end, is searched: records of attachments come first, and are large.
const WINDOW: u64 = 64 * 1024;

/// Files that were not written in this time say nothing of what is in use.
const IN_USE_MS: i64 = 30 * 24 * 60 * 60 * 1000;

/// At most so many session files are opened for a version, the newest first.
const MAX_FILES: usize = 500;

/// What a session's files say of it.
pub(crate) fn of_session(session: &SessionFile) -> Facts {
    // A session that is resumed may have gone over to another version: the last one counts.
    let version = session.paths.first().and_then(|path| last_version(path).or_else(|| first_version(path)));
    Facts { version: version.map(|v| v.to_string()), ..Facts::default() }
}

/// The lowest version that is in use with a config dir: in its session files of the last 30 days (an IDE may bring an
/// older copy of the program), in its registry of running sessions, and installed.
pub(crate) fn lowest_version(host: &Host, dir: &Path, installed: &[Version]) -> Option<Version> {
    let since = host.now_ms - IN_USE_MS;
    let recent = transcript::sessions_of(&dir.join("projects")).into_iter().take_while(|s| s.modified_ms >= since);
    let sessions = recent.take(MAX_FILES).filter_map(|s| first_version(s.paths.first()?));
    let registry = entries(&dir.join("sessions"))
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .filter(|path| transcript::modified_ms(path).is_some_and(|ms| ms >= since))
        .filter_map(|path| version_in(&fs::read(path).ok()?));
    sessions.chain(registry).chain(installed.iter().cloned()).min()
}

/// The programs called `claude` on PATH and where the native installer puts it, links followed.
pub(crate) fn programs(host: &Host) -> Vec<PathBuf> {
    let path = host.var("PATH").map(std::env::split_paths).into_iter().flatten();
    let mut programs: Vec<_> = path
        .chain([host.home.join(".local/bin")])
        .filter(|dir| dir.is_absolute())
        .filter_map(|dir| fs::canonicalize(dir.join("claude")).ok())
        .filter(|program| program.is_file())
        .collect();
    programs.sort();
    programs.dedup();
    programs
}

/// The versions that are installed, as far as paths and package files tell.
pub(crate) fn installed(host: &Host) -> Vec<Version> {
    let local = host.home.join(".claude/local/node_modules/@anthropic-ai/claude-code");
    let mut versions: Vec<_> = programs(host).iter().filter_map(|program| program_version(program)).collect();
    versions.extend(package_version(&local));
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
    in_path.or_else(|| program.ancestors().skip(1).find_map(package_version))
}

/// The version in the package.json of a folder, if it is Claude Code's (`…-linux-x64` and its like are parts of it).
fn package_version(dir: &Path) -> Option<Version> {
    #[derive(Deserialize)]
    struct Package {
        name: String,
        version: Version,
    }
    let package: Package = serde_json::from_slice(&fs::read(dir.join("package.json")).ok()?).ok()?;
    let rest = package.name.strip_prefix("@anthropic-ai/claude-code")?;
    (rest.is_empty() || rest.starts_with('-')).then_some(package.version)
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
mod tests {
    #![allow(clippy::disallowed_methods)]

    use std::fmt::Write;
    use std::time::{Duration, SystemTime};

    use sessionpipe_core::testing::{NOW_MS, host};

    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn age(path: &Path, days: u64) {
        let now = Duration::from_millis(u64::try_from(NOW_MS).expect("after the epoch"));
        let then = SystemTime::UNIX_EPOCH + now - Duration::from_secs(days * 24 * 60 * 60);
        File::options().write(true).open(path).expect("a file").set_modified(then).expect("a time");
    }

    /// The first records of a session of 2.1.328, cut.
    fn session(version: &str) -> String {
        let mut text = concat!(
            r#"{"type":"queue-operation","operation":"enqueue","sessionId":"9ca15320","content":"\"version\":\"0.0.1\""}"#,
            "\n",
        )
        .to_owned();
        writeln!(text, r#"{{"parentUuid":null,"type":"user","message":{{"content":"{{\"version\":\"0.0.2\"}}"}},"version":"{version}"}}"#)
            .expect("a string");
        text
    }

    fn facts(path: &Path) -> Option<String> {
        let paths = vec![path.to_owned()];
        of_session(&SessionFile { id: "s".into(), paths, modified_ms: 0 }).version
    }

    #[test]
    fn the_last_version_of_a_session_counts() {
        let home = tempfile::tempdir().expect("a folder");
        let file = home.path().join("s.jsonl");
        write(&file, &session("2.1.258"));
        assert_eq!(facts(&file).as_deref(), Some("2.1.258"));
        write(&file, &(session("2.1.258") + &session("2.1.328") + "{\"type\":\"mode\",\"mode\":\"default\"}\n{\"cut"));
        assert_eq!(facts(&file).as_deref(), Some("2.1.328"));
        assert_eq!(first_version(&file), Some(Version::new(2, 1, 258)));
        // The end is one large record: the beginning tells.
        write(
            &file,
            &(session("2.1.258") + &format!("{{\"type\":\"user\",\"message\":\"{}\"}}\n", "x".repeat(200_000))),
        );
        assert_eq!(facts(&file).as_deref(), Some("2.1.258"));
        write(&file, "no json\n\n[]\n{\"version\":7}\n{\"version\":\"seven\"}\n");
        assert_eq!(facts(&file), None);
        assert_eq!(facts(&home.path().join("none.jsonl")), None);
    }

    #[test]
    fn the_lowest_version_in_use_counts() {
        let home = tempfile::tempdir().expect("a folder");
        let (host, dir) = (host(home.path()), home.path().join(".claude"));
        assert_eq!(lowest_version(&host, &dir, &[]), None);
        let installed = [Version::new(2, 1, 328)];
        assert_eq!(lowest_version(&host, &dir, &installed), Some(Version::new(2, 1, 328)));

        let old = dir.join("projects/-w/old.jsonl");
        write(&old, &session("2.0.60"));
        age(&old, 31);
        let ide = dir.join("projects/-w/ide.jsonl");
        write(&ide, &session("2.1.90"));
        age(&ide, 29);
        assert_eq!(lowest_version(&host, &dir, &installed), Some(Version::new(2, 1, 90)), "2.0.60 is long ago");

        // The registry of a running session: 2.1.258, cut.
        let running = dir.join("sessions/18637.json");
        write(&running, r#"{"pid":18637,"version":"2.1.9","kind":"interactive","status":"idle"}"#);
        age(&running, 0);
        write(&dir.join("sessions/18637.0123.key"), r#"{"version":"1.0.0"}"#);
        assert_eq!(lowest_version(&host, &dir, &installed), Some(Version::new(2, 1, 9)), "9 is less than 90");
    }

    #[cfg(unix)]
    #[test]
    fn installed_programs_are_found_by_links_and_package_files() {
        let home = tempfile::tempdir().expect("a folder");
        let mut host = host(home.path());
        let real_home = fs::canonicalize(home.path()).expect("a path");
        let link = |target: &Path, link: &Path| {
            fs::create_dir_all(link.parent().expect("a parent")).expect("a folder");
            std::os::unix::fs::symlink(target, link).expect("a link");
        };
        assert!(programs(&host).is_empty() && installed(&host).is_empty());

        // npm: bin/claude leads into the package. The version of Node in the path is not the program's.
        let node = home.path().join("installs/node/20.1.0");
        let package = node.join("lib/node_modules/@anthropic-ai/claude-code");
        write(&package.join("cli.js"), "");
        write(&package.join("package.json"), r#"{"name":"@anthropic-ai/claude-code","version":"2.1.120","bin":{}}"#);
        write(&node.join("lib/package.json"), r#"{"name":"another","version":"9.9.9"}"#);
        link(&package.join("cli.js"), &node.join("bin/claude"));
        let path = format!("relative:{}:{}", home.path().join("empty").display(), node.join("bin").display());
        host.env.insert("PATH".into(), path.into());
        let cli = real_home.join("installs/node/20.1.0/lib/node_modules/@anthropic-ai/claude-code/cli.js");
        assert_eq!(programs(&host), [cli]);
        assert_eq!(installed(&host), [Version::new(2, 1, 120)]);

        // The native installer. An older version that its link does not name is not in use.
        let versions = home.path().join(".local/share/claude/versions");
        write(&versions.join("2.1.300"), "");
        write(&versions.join("2.1.328"), "");
        link(&versions.join("2.1.328"), &home.path().join(".local/bin/claude"));
        let mut found = installed(&host);
        found.sort();
        assert_eq!(found, [Version::new(2, 1, 120), Version::new(2, 1, 328)]);

        // Without any link both may be.
        host.env.clear();
        fs::remove_file(home.path().join(".local/bin/claude")).expect("removed");
        let mut found = installed(&host);
        found.sort();
        assert_eq!(found, [Version::new(2, 1, 300), Version::new(2, 1, 328)]);

        // The older local installation, whose `claude` is a script.
        let local = home.path().join(".claude/local/node_modules/@anthropic-ai/claude-code/package.json");
        write(&local, r#"{"name":"@anthropic-ai/claude-code","version":"2.0.60"}"#);
        assert_eq!(installed(&host), [Version::new(2, 0, 60)]);
    }
}
