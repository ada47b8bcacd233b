#![allow(clippy::disallowed_methods, reason = "tests make the files that the code reads")]

use std::fs;

use sessionpipe_core::testing::{host, write};
use tempfile::TempDir;

use super::*;

/// A program as the installer leaves it, and its link.
#[cfg(unix)]
fn install(home: &Path, version: &str, link: &str) {
    let program = home.join(".local/share/cursor-agent/versions").join(version).join("cursor-agent");
    write(&program, "");
    let link = home.join(link);
    fs::create_dir_all(link.parent().expect("a folder")).expect("a folder");
    std::os::unix::fs::symlink(program, link).expect("a link");
}

#[test]
fn a_folder_is_enough() {
    let home = TempDir::new().expect("a folder");
    let mut host = host(home.path());
    assert_eq!(found(&host), None);
    assert!(!is_here(&host));
    let dir = home.path().join(".cursor");
    fs::create_dir(&dir).expect("a folder");
    assert_eq!(found(&host), Some(Found { version: None, dirs: vec![dir], left_alone: Vec::new() }));
    assert!(is_here(&host));
    host.env.insert("CURSOR_CONFIG_DIR".into(), home.path().join("other").into());
    assert_eq!(found(&host), None, "it is looked for where the variable says");
}

#[cfg(unix)]
#[test]
fn the_lowest_version_counts() {
    let home = TempDir::new().expect("a folder");
    let mut host = host(home.path());
    install(home.path(), "2026.09.26-dd393fe", ".local/bin/agent");
    assert_eq!(found(&host).and_then(|found| found.version).as_deref(), Some("2026.09.26-dd393fe"));
    install(home.path(), "2026.08.11-e1", "bin/cursor-agent");
    host.env.insert("PATH".into(), format!("relative:{}", home.path().join("bin").display()).into());
    assert_eq!(found(&host).and_then(|found| found.version).as_deref(), Some("2026.08.11-e1"));
    assert_eq!(agent(&host).map(|agent| agent.number), Some((2026, 8, 11)));
}

#[cfg(unix)]
#[test]
fn other_programs_of_the_name_are_none() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    fs::create_dir_all(home.path().join(".local/bin")).expect("a folder");
    fs::write(home.path().join(".local/bin/agent"), "").expect("a file");
    assert_eq!(found(&host), None);
}

#[test]
fn days_are_numbers() {
    assert_eq!(number("2026.09.26-dd393fe"), Some((2026, 9, 26)));
    assert_eq!(number("2026.9.6"), Some((2026, 9, 6)));
    for other in ["", "latest", "2026.09", "2026.09.26.1", "2026.x.1"] {
        assert_eq!(number(other), None, "{other}");
    }
}
