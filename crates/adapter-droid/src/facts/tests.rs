#![allow(clippy::disallowed_methods, reason = "tests make the files that the code reads")]

use std::fs::{self, File};
use std::time::{Duration, UNIX_EPOCH};

use sessionpipe_core::testing::{NOW_MS, host, write};
use tempfile::TempDir;

use super::*;
use crate::transcript::{roots, sessions};

fn package(dir: &Path, name: &str, version: &str) {
    write(&dir.join("package.json"), &format!(r#"{{"name":"{name}","version":"{version}","bin":{{}}}}"#));
}

#[test]
fn droid_is_here_by_its_folder_or_its_program() {
    let home = TempDir::new().expect("a folder");
    let mut host = host(home.path());
    assert_eq!(found(&host), None);
    fs::create_dir(home.path().join(".factory")).expect("a folder");
    let dirs = vec![home.path().join(".factory")];
    assert_eq!(found(&host), Some(Found { dirs: dirs.clone(), ..Found::default() }), "no version is known");
    write(&home.path().join(".factory/last-startup-version"), "0.215.0\n");
    let version = |version: &str| Some(version.to_owned());
    assert_eq!(found(&host), Some(Found { version: version("0.215.0"), dirs, left_alone: Vec::new() }));
    write(&home.path().join(".factory/last-startup-version"), "soon");
    assert_eq!(found(&host).and_then(|found| found.version), None);
    host.env.insert("FACTORY_HOME_OVERRIDE".into(), home.path().join("elsewhere").into());
    assert_eq!(found(&host), None, "there is nothing there");
}

#[cfg(unix)]
#[test]
fn of_what_ran_and_what_would_run_the_lower_version_counts() {
    let home = TempDir::new().expect("a folder");
    let mut host = host(home.path());
    let module = home.path().join("lib/node_modules/droid");
    write(&module.join("bin/droid"), "#!/usr/bin/env node\n");
    fs::create_dir(home.path().join("bin")).expect("a folder");
    std::os::unix::fs::symlink("../lib/node_modules/droid/bin/droid", home.path().join("bin/droid")).expect("a link");
    host.env.insert("PATH".into(), home.path().join("bin").into());
    let found_version = |host: &Host| found(host).expect("found").version;
    assert_eq!(found_version(&host), None);
    package(&module, "droid", "0.217.0");
    assert_eq!(found_version(&host).as_deref(), Some("0.217.0"));
    write(&home.path().join(".factory/last-startup-version"), "0.215.0");
    assert_eq!(found_version(&host).as_deref(), Some("0.215.0"), "it was not started since the update");
    package(&module, "droid-notes", "0.1.0");
    assert_eq!(found_version(&host).as_deref(), Some("0.215.0"), "another package of that program's name");
}

#[test]
fn sessions_are_listed_newest_first_with_the_version_that_ran_them() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    let folder = home.path().join(".factory/sessions/-home-dev-proj");
    let file = |name: &str, ago_s: u64| {
        let path = folder.join(name);
        write(&path, "{}\n");
        let at = UNIX_EPOCH + Duration::from_millis(NOW_MS.unsigned_abs()) - Duration::from_secs(ago_s);
        File::options().write(true).open(&path).expect("a file").set_modified(at).expect("a time");
        path
    };
    let old = file("05e4b7ad-080f-4ba1-a613-60920bf6c6b5.jsonl", 60);
    let new = file("470ca290-303f-47cd-a5cf-1de8b4ef3219.jsonl", 1);
    // What stands beside them.
    file("470ca290-303f-47cd-a5cf-1de8b4ef3219.settings.json", 0);
    file("470ca290-303f-47cd-a5cf-1de8b4ef3219.settings.json.bak", 0);
    file("not an id.jsonl", 0);
    fs::create_dir(folder.join("x.jsonl")).expect("a folder");
    write(&home.path().join(".factory/last-startup-version"), "0.215.0");
    assert_eq!(roots(&host), [home.path().join(".factory/sessions")]);
    let sessions = sessions(&host);
    assert_eq!(
        sessions,
        [
            SessionFile {
                id: "470ca290-303f-47cd-a5cf-1de8b4ef3219".into(),
                paths: vec![new],
                modified_ms: NOW_MS - 1_000
            },
            SessionFile {
                id: "05e4b7ad-080f-4ba1-a613-60920bf6c6b5".into(),
                paths: vec![old],
                modified_ms: NOW_MS - 60_000
            },
        ]
    );
    assert_eq!(facts(&sessions[0]).version.as_deref(), Some("0.215.0"));
    assert_eq!(facts(&SessionFile { paths: vec!["/x".into()], ..sessions[0].clone() }), Facts::default());
}
