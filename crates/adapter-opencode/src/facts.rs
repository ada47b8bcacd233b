//! Whether OpenCode is here, and its version. Nothing is started.

use std::env;
use std::path::{Path, PathBuf};

use semver::Version;
use serde_json::Value;
use sessionpipe_core::adapter::Found;
use sessionpipe_core::file;
use sessionpipe_core::host::Host;

use crate::wiring::config_dir;

/// What OpenCode installs into its config folder when it starts, in its own version.
const PLUGIN_PACKAGE: &str = "@opencode-ai/plugin";

/// `$XDG_DATA_HOME/opencode`, else `~/.local/share/opencode`.
pub(crate) fn data_dir(host: &Host) -> PathBuf {
    xdg(host, "XDG_DATA_HOME", ".local/share")
}

/// A folder of OpenCode's under one of the XDG folders; a relative or empty variable is ignored, as their specification says.
pub(crate) fn xdg(host: &Host, var: &str, default: &str) -> PathBuf {
    let set = host.var(var).map(PathBuf::from).filter(|path| path.is_absolute());
    set.unwrap_or_else(|| host.home.join(default)).join("opencode")
}

pub(crate) fn found(host: &Host) -> Option<Found> {
    if !is_here(host) {
        return None;
    }
    let dirs = [config_dir(host), data_dir(host)].into_iter().filter(|dir| dir.is_dir()).collect();
    Some(Found { version: version(host).map(|version| version.to_string()), dirs, left_alone: Vec::new() })
}

/// Whether OpenCode is on this machine: one of its folders, or its program.
pub(crate) fn is_here(host: &Host) -> bool {
    let on_path =
        || host.var("PATH").is_some_and(|path| env::split_paths(path).any(|dir| is_program(&dir.join("opencode"))));
    config_dir(host).is_dir()
        || data_dir(host).is_dir()
        || is_program(&host.home.join(".opencode/bin/opencode"))
        || on_path()
}

fn is_program(path: &Path) -> bool {
    path.is_absolute() && path.is_file()
}

fn version(host: &Host) -> Option<Version> {
    let package = file::read(&config_dir(host).join("package.json")).ok()?;
    let package: Value = serde_json::from_slice(&package).ok()?;
    let wanted = package.get("dependencies")?.get(PLUGIN_PACKAGE)?.as_str()?;
    Version::parse(wanted.trim_start_matches(['^', '~', '='])).ok()
}

#[cfg(test)]
mod tests {
    use sessionpipe_core::testing::{host, write};
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn a_folder_or_the_program_is_enough() {
        let home = TempDir::new().expect("a folder");
        let mut host = host(home.path());
        assert_eq!(found(&host), None);
        write(&home.path().join("bin/opencode"), "");
        host.env.insert("PATH".into(), home.path().join("bin").into());
        assert_eq!(found(&host), Some(Found::default()));
        host.env.clear();
        write(&home.path().join(".opencode/bin/opencode"), "");
        assert_eq!(found(&host), Some(Found::default()));
        write(&home.path().join(".local/share/opencode/opencode.db"), "");
        assert_eq!(found(&host).expect("found").dirs, [home.path().join(".local/share/opencode")]);
    }

    #[test]
    fn the_package_that_it_installs_for_plugins_tells_the_version() {
        let home = TempDir::new().expect("a folder");
        let host = host(home.path());
        let package = config_dir(&host).join("package.json");
        for (text, version) in [
            (r#"{"dependencies": {"@opencode-ai/plugin": "1.18.33"}}"#, Some("1.18.33")),
            (r#"{"dependencies": {"@opencode-ai/plugin": "^1.2.3", "x": "9.9.9"}}"#, Some("1.2.3")),
            (r#"{"dependencies": {"@opencode-ai/plugin": "latest"}}"#, None),
            ("{", None),
        ] {
            write(&package, text);
            assert_eq!(found(&host).expect("found").version.as_deref(), version, "{text}");
        }
    }
}
