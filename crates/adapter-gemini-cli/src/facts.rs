//! Whether Gemini CLI is here, and its version. Nothing is started: the files that it and its installers leave tell.

use std::path::Path;

use semver::Version;
use sessionpipe_core::adapter::Found;
use sessionpipe_core::host::Host;
use sessionpipe_core::package;

use crate::settings::gemini_dir;

/// Files and folders of its own in `~/.gemini`, which it shares with another program of its vendor.
const OWN: [&str; 5] = ["settings.json", "projects.json", "trustedFolders.json", "state.json", "tmp"];

/// The package that npm installs.
const PACKAGE: &str = "@google/gemini-cli";

/// Whether Gemini CLI is here: something of its own in its folder, or its program on PATH.
pub(crate) fn found(host: &Host) -> Option<Found> {
    let dir = gemini_dir(host);
    let version = version(host);
    if version.is_none() && !OWN.iter().any(|name| dir.join(name).exists()) {
        return None;
    }
    let dirs = Some(dir).filter(|dir| dir.is_dir()).into_iter().collect();
    Some(Found { version: version.map(|version| version.to_string()), dirs, left_alone: Vec::new() })
}

/// The version of the `gemini` on PATH, links followed. One that does not tell it is another program of the name.
pub(crate) fn version(host: &Host) -> Option<Version> {
    let program = host.programs("gemini").next()?;
    package::version_of(&program, |name| name == PACKAGE).or_else(|| version_of_folder(&program))
}

/// `…/gemini-cli/0.61.0/bin/gemini`, as Homebrew and mise have it.
fn version_of_folder(program: &Path) -> Option<Version> {
    let names: Vec<_> = program.iter().filter_map(|name| name.to_str()).collect();
    names.windows(2).find_map(|names| match *names {
        ["gemini-cli", version] => Version::parse(version).ok(),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use sessionpipe_core::testing::{host, write};

    use super::*;

    fn installed(home: &Path, folder: &str, package: Option<&str>) -> Host {
        let program = home.join(folder).join("gemini");
        write(&program, "#!/usr/bin/env node\n");
        if let Some(package) = package {
            write(&home.join(folder).join("../package.json"), package);
        }
        let mut host = host(home);
        host.env.insert("PATH".to_owned(), home.join(folder).into());
        host
    }

    #[test]
    fn the_package_tells_the_version() {
        let home = tempfile::tempdir().expect("a folder");
        let package = r#"{"name":"@google/gemini-cli","version":"0.61.0","bin":{"gemini":"bundle/gemini.js"}}"#;
        let host = installed(home.path(), "lib/node_modules/@google/gemini-cli/bundle", Some(package));
        assert_eq!(found(&host), Some(Found { version: Some("0.61.0".to_owned()), ..Found::default() }));
    }

    #[test]
    fn the_folder_of_a_package_manager_tells_it() {
        let home = tempfile::tempdir().expect("a folder");
        let host = installed(home.path(), "Cellar/gemini-cli/0.60.1/bin", None);
        assert_eq!(version(&host), Some(Version::new(0, 60, 1)));
    }

    #[test]
    fn another_program_of_the_name_is_not_it() {
        let home = tempfile::tempdir().expect("a folder");
        let host = installed(home.path(), "bin", Some(r#"{"name":"gemini","version":"1.0.0"}"#));
        assert_eq!(found(&host), None);
    }

    #[test]
    fn the_folder_alone_may_be_another_programs() {
        let home = tempfile::tempdir().expect("a folder");
        let host = host(home.path());
        write(&home.path().join(".gemini/config/hooks.json"), "{}");
        assert_eq!(found(&host), None);
        write(&home.path().join(".gemini/settings.json"), "{}");
        let dirs = vec![home.path().join(".gemini")];
        assert_eq!(found(&host), Some(Found { version: None, dirs, left_alone: Vec::new() }));
    }
}
