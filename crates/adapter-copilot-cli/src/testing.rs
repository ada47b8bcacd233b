//! What the tests of this crate share.
#![allow(clippy::disallowed_methods, reason = "tests make the files that the code reads")]

use std::fs;
use std::path::Path;

pub(crate) use sessionpipe_core::testing::{NOW_MS, host};

/// Writes a file, its folders included.
pub(crate) fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
}
