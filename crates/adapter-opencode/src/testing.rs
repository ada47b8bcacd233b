//! What the tests of this crate share.
#![allow(clippy::disallowed_methods, reason = "tests make the files that the code reads")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use sessionpipe_core::host::{Dirs, Host, Program};

/// 2026-11-30T10:00:00Z
pub(crate) const NOW_MS: i64 = 1_796_032_800_000;

/// A host whose home and system folders all lie in one folder.
pub(crate) fn host(home: &Path) -> Host {
    Host {
        home: home.to_owned(),
        env: BTreeMap::new(),
        etc: home.join("etc"),
        cwd: home.join("proj"),
        now_ms: NOW_MS,
        dirs: Dirs::new(|_| None, home),
        program: Program { path: "/opt/sp/bin/sessionpipe-hook".into(), is_hook: true, copies: Vec::new() },
    }
}

/// Writes a file, its folders included.
pub(crate) fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
}
