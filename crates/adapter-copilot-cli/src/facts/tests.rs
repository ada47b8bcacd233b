#![allow(clippy::disallowed_methods, reason = "tests make the files that the code reads")]

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use sessionpipe_core::event::rfc3339;
use sessionpipe_core::testing::{NOW_MS, host, write};
use tempfile::TempDir;

use super::*;
use crate::transcript::roots;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// A session that began and was written last so many days ago; the first line as 1.0.102 writes it.
fn session(home: &Path, n: u32, version: &str, days_ago: i64) -> String {
    let id = format!("934397b4-ae91-4dbc-8888-{n:012}");
    let at_ms = NOW_MS - days_ago * DAY_MS;
    let (path, began) = (home.join("session-state").join(&id).join("events.jsonl"), rfc3339(at_ms));
    let first = format!(
        r#"{{"type":"session.start","data":{{"sessionId":"{id}","version":1,"producer":"copilot-agent","copilotVersion":"{version}","startTime":"{began}","selectedModel":"gpt-4.1","contextTier":null,"context":{{"cwd":"/home/dev/proj"}},"alreadyInUse":false,"remoteSteerable":false}},"id":"11e13c95-9cb8-45f8-bd74-891456172bf3","timestamp":"{began}","parentId":null}}"#
    );
    write(&path, &format!("{first}\n{{\"type\":\"hook.start\",\"data\":{{}}}}\n"));
    let at = UNIX_EPOCH + Duration::from_millis(u64::try_from(at_ms).expect("a time"));
    File::options().write(true).open(&path).expect("a file").set_modified(at).expect("a time");
    id
}

#[test]
fn sessions_are_listed_newest_first() {
    let home = TempDir::new().expect("a folder");
    let mut host = host(home.path());
    let dir = home.path().join(".copilot");
    let old = session(&dir, 1, "1.0.101", 9);
    let new = session(&dir, 2, "1.0.102", 1);
    write(&dir.join("session-state/notes/events.jsonl"), "{}");
    write(&dir.join("session-state/934397b4-ae91-4dbc-8888-000000000003/workspace.yaml"), "id: x\n");
    let ids: Vec<_> = sessions(&host).into_iter().map(|session| session.id).collect();
    assert_eq!(ids, [new, old]);
    let newest = sessions(&host).remove(0);
    assert_eq!(newest.modified_ms, NOW_MS - DAY_MS);
    assert_eq!(facts(&newest), Facts { version: Some("1.0.102".into()), ..Facts::default() });
    host.env.insert("COPILOT_HOME".into(), home.path().join("other").into());
    assert_eq!(roots(&host), [home.path().join("other/session-state")]);
    assert_eq!(sessions(&host), []);
}

#[test]
fn the_lowest_version_of_the_last_month_counts() {
    let home = TempDir::new().expect("a folder");
    let mut host = host(home.path());
    let dir = home.path().join(".copilot");
    assert_eq!(found(&host), None);
    write(&dir.join("config.json"), "// This file is managed automatically.\n{}\n");
    assert_eq!(found(&host), Some(Found { dirs: vec![dir.clone()], ..Found::default() }));
    session(&dir, 1, "1.0.20", 31);
    session(&dir, 2, "1.0.99", 29);
    session(&dir, 3, "1.0.102", 1);
    let version = |host: &Host| found(host).and_then(|found| found.version);
    assert_eq!(version(&host).as_deref(), Some("1.0.99"), "and 1.0.99 is lower than 1.0.102");
    write(&home.path().join("lib/node_modules/@github/copilot/npm-loader.js"), "");
    write(
        &home.path().join("lib/node_modules/@github/copilot/package.json"),
        r#"{"name":"@github/copilot","version":"1.0.98"}"#,
    );
    fs::create_dir_all(home.path().join("bin")).expect("a folder");
    #[cfg(unix)]
    {
        let program = home.path().join("lib/node_modules/@github/copilot/npm-loader.js");
        std::os::unix::fs::symlink(program, home.path().join("bin/copilot")).expect("a link");
        host.env.insert("PATH".into(), home.path().join("bin").into());
        assert_eq!(version(&host).as_deref(), Some("1.0.98"));
    }
}

#[test]
fn another_vendors_copilot_is_not_this_one() {
    let home = TempDir::new().expect("a folder");
    let mut host = host(home.path());
    host.env.insert("PATH".into(), home.path().join("bin").into());
    write(&home.path().join("bin/copilot"), "");
    assert_eq!(found(&host), None);
    for (name, here) in [
        ("copilot", false),
        ("@github/copilot-sdk", false),
        ("@github/copilot-language-server", false),
        ("@github/copilot-linux-x64", true),
        ("@github/copilot", true),
    ] {
        write(&home.path().join("bin/package.json"), &format!(r#"{{"name":"{name}","version":"1.0.102"}}"#));
        assert_eq!(is_here(&host), here, "{name}");
    }
}

#[test]
fn a_first_line_that_is_none_tells_nothing() {
    let home = TempDir::new().expect("a folder");
    let path = home.path().join("events.jsonl");
    for text in ["", "\n", "{", r#"{"type":"session.resume","data":{"copilotVersion":"1.0.1"}}"#, "[]"] {
        write(&path, text);
        assert!(session_start(&path).is_none(), "{text:?}");
    }
    assert!(session_start(home.path()).is_none());
}
