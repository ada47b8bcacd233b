#![allow(clippy::disallowed_methods, reason = "tests make the files that the code reads")]

use std::fs;
use std::path::Path;

use sessionpipe_core::testing::{host, write};
use tempfile::TempDir;

use super::*;

#[test]
fn one_folder_of_its_own_is_enough() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    let gemini = home.path().join(".gemini");
    write(&gemini.join("settings.json"), "{}");
    assert_eq!(found(&host), None, "that is Gemini CLI");
    fs::create_dir(gemini.join("antigravity-ide")).expect("a folder");
    fs::create_dir(gemini.join("antigravity-cli")).expect("a folder");
    let dirs = vec![gemini.join("antigravity-cli"), gemini.join("antigravity-ide")];
    assert_eq!(found(&host), Some(Found { version: None, dirs, left_alone: Vec::new() }));
}

#[test]
fn hooks_that_wait_for_it_are_its() {
    let home = TempDir::new().expect("a folder");
    write(&home.path().join(".gemini/config/hooks.json"), "{}");
    assert_eq!(found(&host(home.path())), Some(Found::default()));
}

/// A program that Homebrew installed, and the folder of its link.
#[cfg(unix)]
fn homebrew(home: &Path, cask: &str) -> PathBuf {
    let program = home.join("brew/Caskroom").join(cask).join("agy");
    write(&program, "");
    let bin = home.join("brew/bin");
    fs::create_dir_all(&bin).expect("a folder");
    std::os::unix::fs::symlink(program, bin.join("agy")).expect("a link");
    bin
}

#[cfg(unix)]
#[test]
fn the_path_of_the_program_tells_the_version() {
    for (cask, version) in [
        ("antigravity-cli/1.2.7", Some("1.2.7")),
        ("antigravity-cli/1.2.7,5481893274877952", Some("1.2.7")),
        ("antigravity-cli/latest", None),
        // The app's own `agy`, whose versions are others.
        ("antigravity/1.23.2,4781536860569600", None),
    ] {
        let home = TempDir::new().expect("a folder");
        let mut host = host(home.path());
        host.env.insert("PATH".into(), homebrew(home.path(), cask).into());
        let found = found(&host).expect("its program is here");
        assert_eq!(found.version.as_deref(), version, "{cask}");
    }
}

#[cfg(unix)]
#[test]
fn no_version_is_certain_where_an_app_reads_the_same_file() {
    for app in APPS {
        let home = TempDir::new().expect("a folder");
        let mut host = host(home.path());
        host.env.insert("PATH".into(), homebrew(home.path(), "antigravity-cli/1.2.7").into());
        fs::create_dir_all(home.path().join(".gemini").join(app)).expect("a folder");
        assert_eq!(version(&host), None, "{app}");
    }
}

#[test]
fn the_installers_place_needs_no_path() {
    let home = TempDir::new().expect("a folder");
    write(&home.path().join(".local/bin/agy"), "");
    assert_eq!(found(&host(home.path())), Some(Found::default()));
}
