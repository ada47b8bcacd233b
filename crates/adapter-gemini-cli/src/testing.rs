//! What the tests of this crate share.
#![allow(clippy::disallowed_methods, reason = "tests make the files that the code reads")]

use std::fs;
use std::path::Path;

use sessionpipe_core::host::Host;

/// A host whose home and system folders all lie in one folder.
pub(crate) fn host(home: &Path) -> Host {
    Host { cwd: home.join("proj"), ..sessionpipe_core::testing::host(home) }
}

/// Writes a file, its folders included.
pub(crate) fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
}
