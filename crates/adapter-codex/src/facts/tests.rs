#![allow(clippy::disallowed_methods, reason = "tests make the files that the code reads")]

use std::fs::{self, File};
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use sessionpipe_core::testing::{NOW_MS, host, write};
use tempfile::TempDir;

use super::*;
use crate::transcript::sessions;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Written so many days ago, with the first line of 0.171.0 (its members in their order, the long text as long as it was).
fn rollout(home: &Path, file: &str, version: &str, days_ago: i64) -> PathBuf {
    let path = home.join(".codex").join(file);
    let text = "x".repeat(21_459);
    let meta = format!(
        r#"{{"timestamp":"2026-11-30T08:16:04.438Z","ordinal":0,"type":"session_meta","payload":{{"session_id":"s","id":"s","timestamp":"2026-11-30T08:16:04.315Z","cwd":"/home/dev/proj","originator":"codex_exec","cli_version":"{version}","source":"exec","thread_source":"user","model_provider":"lab","base_instructions":{{"text":"{text}"}},"history_mode":"paginated"}}}}"#
    );
    write(&path, &format!("{meta}\n{{\"type\":\"event_msg\",\"payload\":{{}}}}\n"));
    touch(&path, days_ago);
    path
}

fn touch(path: &Path, days_ago: i64) {
    let at = UNIX_EPOCH + Duration::from_millis(u64::try_from(NOW_MS - days_ago * DAY_MS).expect("a time"));
    File::options().write(true).open(path).expect("a file").set_modified(at).expect("a time");
}

fn name(day: &str, id: u32) -> String {
    format!("sessions/2026/11/{day}/rollout-2026-11-{day}T08-16-04-01a22b86-7ece-75a2-b6d6-0649b75{id:05}.jsonl")
}

#[test]
fn sessions_are_listed_newest_first() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    let old = rollout(home.path(), &name("20", 1), "0.171.0", 10);
    let new = rollout(home.path(), &name("29", 2), "0.171.0", 1);
    let archived = rollout(
        home.path(),
        "archived_sessions/rollout-2026-11-25T08-15-30-01a22b85-fac4-7da3-9ae2-53f565184ac5.jsonl",
        "0.171.0",
        5,
    );
    // A subagent's thread, its first line as 0.157.1 writes it (cut).
    let child = home.path().join(".codex").join(name("29", 9));
    let source =
        r#"{"subagent":{"thread_spawn":{"parent_thread_id":"01a22b8d-f0ad-7202-a002-2ebef6bace94","depth":1}}}"#;
    let meta = format!(r#"{{"type":"session_meta","payload":{{"id":"s","cli_version":"0.157.1","source":{source}}}}}"#);
    write(&child, &meta);
    // Compressed, with and without the plain one beside it.
    let both = home.path().join(".codex").join(name("20", 1) + ".zst");
    write(&both, "(\u{b5}/");
    let packed = home.path().join(".codex").join(name("20", 3) + ".zst");
    write(&packed, "(\u{b5}/");
    touch(&packed, 9);
    for other in ["sessions/2026/11/29/notes.jsonl", "sessions/2026/11/29/rollout-é.jsonl", "sessions/tmp/x/y/z.jsonl"]
    {
        write(&home.path().join(".codex").join(other), "");
    }
    let listed: Vec<_> = sessions(&host).into_iter().map(|session| (session.id, session.paths)).collect();
    assert_eq!(
        listed,
        [
            ("01a22b86-7ece-75a2-b6d6-0649b7500002".to_owned(), vec![new]),
            ("01a22b85-fac4-7da3-9ae2-53f565184ac5".to_owned(), vec![archived]),
            ("01a22b86-7ece-75a2-b6d6-0649b7500003".to_owned(), vec![packed]),
            ("01a22b86-7ece-75a2-b6d6-0649b7500001".to_owned(), vec![old]),
        ]
    );
    assert_eq!(sessions(&host)[0].modified_ms, NOW_MS - DAY_MS);
    assert_eq!(facts(&sessions(&host)[0]).version.as_deref(), Some("0.171.0"));
    assert_eq!(facts(&sessions(&host)[2]), Facts::default(), "a compressed file is not read");
}

#[test]
fn a_first_line_that_never_ends_is_not_read_through() {
    let home = TempDir::new().expect("a folder");
    let path = home.path().join("r.jsonl");
    let line =
        format!(r#"{{"type":"session_meta","payload":{{"cli_version":"0.1.0","x":"{}"}}}}"#, "x".repeat(300_000));
    write(&path, &line);
    assert!(session_meta(&path).is_none());
    write(&path, "not JSON\n");
    assert!(session_meta(&path).is_none());
    write(&path, r#"{"type":"event_msg","payload":{"cli_version":"0.1.0"}}"#);
    assert!(session_meta(&path).is_none(), "another record");
}

#[test]
fn a_threads_id_tells_when_it_began() {
    // Recorded with the first line's timestamp 2026-11-30T08:16:04.315Z, some milliseconds after.
    assert_eq!(began_ms("01a22b86-7ece-75a2-b6d6-0649b7522c85"), Some(1_796_026_564_302));
    assert_eq!(began_ms("faa6eadb-7f1e-426b-a780-2aae9c66146e"), None, "no UUIDv7");
}

#[test]
fn the_lowest_version_of_the_last_thirty_days_counts() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    assert_eq!(found(&host), None);
    fs::create_dir_all(home.path().join(".codex")).expect("a folder");
    let dirs = vec![home.path().join(".codex")];
    assert_eq!(found(&host), Some(Found { version: None, dirs, left_alone: vec![] }));
    rollout(home.path(), &name("30", 1), "0.171.0", 0);
    rollout(home.path(), &name("30", 2), "0.169.0", 0);
    // Written today, but by resuming a thread of 2026-10-30 (its id says so).
    let old = "sessions/2026/10/30/rollout-2026-10-30T10-00-00-01a18c40-8100-7000-8000-000000000000.jsonl";
    rollout(home.path(), old, "0.130.0", 0);
    assert_eq!(found(&host).and_then(|found| found.version).as_deref(), Some("0.169.0"));
}

#[cfg(unix)]
#[test]
fn the_program_on_path_tells_its_version() {
    use std::os::unix::fs::symlink;

    let home = TempDir::new().expect("a folder");
    let root = home.path().canonicalize().expect("a path");
    let mut host = host(&root);
    let with_path = |host: &mut Host, dir: &Path| {
        host.env.insert("PATH".into(), format!("/nowhere:relative:{}", dir.display()).into());
        found(host).map(|found| (found.version, found.dirs))
    };

    // npm: a link to a script inside the package
    let package = root.join("npm/lib/node_modules/@openai/codex");
    write(
        &package.join("package.json"),
        r#"{"name":"@openai/codex","version":"0.171.0","bin":{"codex":"bin/codex.js"}}"#,
    );
    write(&package.join("bin/codex.js"), "#!/usr/bin/env node\n");
    fs::create_dir_all(root.join("npm/bin")).expect("a folder");
    symlink("../lib/node_modules/@openai/codex/bin/codex.js", root.join("npm/bin/codex")).expect("a link");
    assert_eq!(with_path(&mut host, &root.join("npm/bin")), Some((Some("0.171.0".into()), vec![])));

    // the native program inside the package of its platform
    let platform = root.join("npm/lib/node_modules/@openai/codex-linux-x64");
    write(&platform.join("package.json"), r#"{"name":"@openai/codex","version":"0.170.2-linux-x64"}"#);
    write(&platform.join("vendor/x86_64-unknown-linux-musl/bin/codex"), "");
    let bin = platform.join("vendor/x86_64-unknown-linux-musl/bin");
    assert_eq!(with_path(&mut host, &bin), Some((Some("0.170.2".into()), vec![])));

    // Homebrew: the folder is the version
    write(&root.join("brew/Cellar/codex/0.168.1/bin/codex"), "");
    fs::create_dir_all(root.join("brew/bin")).expect("a folder");
    symlink("../Cellar/codex/0.168.1/bin/codex", root.join("brew/bin/codex")).expect("a link");
    assert_eq!(with_path(&mut host, &root.join("brew/bin")), Some((Some("0.168.1".into()), vec![])));

    // another tool's package around it says nothing, nor does the version of node
    write(&root.join("node/v22.1.0/package.json"), r#"{"name":"other","version":"9.9.9"}"#);
    write(&root.join("node/v22.1.0/bin/codex"), "");
    assert_eq!(with_path(&mut host, &root.join("node/v22.1.0/bin")), Some((None, vec![])));

    assert_eq!(with_path(&mut host, &root.join("empty")), None);
}
