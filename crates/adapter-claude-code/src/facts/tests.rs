#![allow(clippy::disallowed_methods)]

use std::fmt::Write;
use std::fs;
use std::time::{Duration, SystemTime};

use sessionpipe_core::testing::{NOW_MS, host, write};

use super::*;

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

fn version_of(path: &Path) -> Option<String> {
    let paths = vec![path.to_owned()];
    facts(&SessionFile { id: "s".into(), paths, modified_ms: 0 }).version
}

#[test]
fn the_last_version_of_a_session_counts() {
    let home = tempfile::tempdir().expect("a folder");
    let file = home.path().join("s.jsonl");
    write(&file, &session("2.1.258"));
    assert_eq!(version_of(&file).as_deref(), Some("2.1.258"));
    write(&file, &(session("2.1.258") + &session("2.1.328") + "{\"type\":\"mode\",\"mode\":\"default\"}\n{\"cut"));
    assert_eq!(version_of(&file).as_deref(), Some("2.1.328"));
    assert_eq!(first_version(&file), Some(Version::new(2, 1, 258)));
    // The end is one large record: the beginning tells.
    write(&file, &(session("2.1.258") + &format!("{{\"type\":\"user\",\"message\":\"{}\"}}\n", "x".repeat(200_000))));
    assert_eq!(version_of(&file).as_deref(), Some("2.1.258"));
    write(&file, "no json\n\n[]\n{\"version\":7}\n{\"version\":\"seven\"}\n");
    assert_eq!(version_of(&file), None);
    assert_eq!(version_of(&home.path().join("none.jsonl")), None);
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
