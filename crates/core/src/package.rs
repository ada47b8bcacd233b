//! What the package of a program tells of it. Most agents come from npm: beside their program, or above it, lies the
//! `package.json` of the package that it is a part of.

use std::path::Path;

use semver::Version;
use serde::Deserialize;

use crate::file;

/// The version in the `package.json` of a folder, if the package has one of the names that are meant.
#[must_use]
pub fn version(dir: &Path, is_meant: impl Fn(&str) -> bool) -> Option<Version> {
    #[derive(Deserialize)]
    struct Package {
        name: String,
        version: String,
    }
    let package: Package = serde_json::from_slice(&file::read(&dir.join("package.json")).ok()?).ok()?;
    if is_meant(&package.name) { Version::parse(&package.version).ok() } else { None }
}

/// The same of the package that a program is a part of, at whatever depth.
#[must_use]
pub fn version_of(program: &Path, is_meant: impl Fn(&str) -> bool) -> Option<Version> {
    program.ancestors().skip(1).find_map(|dir| version(dir, &is_meant))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods)]

    use super::*;

    #[test]
    fn the_package_above_a_program_tells_its_version() {
        let dir = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).expect("a file");
        std::fs::create_dir_all(dir.path().join("dist/bin")).expect("a folder");
        write("package.json", r#"{"name": "@x/agent", "version": "1.2.3", "bin": {}}"#);
        // A part of it, without a version.
        write("dist/package.json", r#"{"type": "module"}"#);
        let of = |name: &'static str| version_of(&dir.path().join("dist/bin/agent"), move |known| known == name);
        assert_eq!(of("@x/agent"), Some(Version::new(1, 2, 3)));
        assert_eq!(of("other"), None);
        write("package.json", r#"{"name": "@x/agent", "version": "latest"}"#);
        assert_eq!(of("@x/agent"), None);
    }
}
