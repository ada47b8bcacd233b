//! Whether Kiro is here. Nothing is started, and no file that it leaves tells its version: none of what is wired depends
//! on it.

use std::path::PathBuf;

use sessionpipe_core::adapter::Found;
use sessionpipe_core::host::Host;

use crate::wiring::kiro_home;

/// The CLI. `kiro` itself is the IDE's launcher on some machines and the CLI on others.
const PROGRAM: &str = "kiro-cli";

pub(crate) fn found(host: &Host) -> Option<Found> {
    is_here(host).then(|| Found {
        version: None,
        dirs: Some(kiro_home(host)).filter(|home| home.is_dir()).into_iter().collect(),
        left_alone: Vec::new(),
    })
}

/// Whether Kiro is on this machine: its folder, or its CLI on PATH.
pub(crate) fn is_here(host: &Host) -> bool {
    kiro_home(host).is_dir() || program(host).is_some()
}

/// The `kiro-cli` on PATH, links followed.
pub(crate) fn program(host: &Host) -> Option<PathBuf> {
    host.programs(PROGRAM).next()
}

#[cfg(test)]
mod tests {
    use sessionpipe_core::testing::{host, write};
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn its_folder_or_its_cli_tell() {
        let home = TempDir::new().expect("a folder");
        let mut host = host(home.path());
        host.env.insert("PATH".into(), home.path().join("bin").into());
        write(&home.path().join("bin/kiro"), "");
        assert_eq!(found(&host), None, "that may be anything");
        write(&home.path().join("bin/kiro-cli"), "");
        assert_eq!(found(&host), Some(Found::default()));
        write(&home.path().join(".kiro/settings/cli.json"), "{}");
        assert_eq!(found(&host), Some(Found { dirs: vec![home.path().join(".kiro")], ..Found::default() }));
        host.env.insert("KIRO_HOME".into(), home.path().join("none").into());
        host.env.remove("PATH");
        assert_eq!(found(&host), None);
    }
}
