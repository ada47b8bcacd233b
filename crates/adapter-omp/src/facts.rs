//! Whether OMP is here, and its version. Nothing is started: the package that its program belongs to tells.

use std::path::PathBuf;

use sessionpipe_core::adapter::Found;
use sessionpipe_core::host::Host;
use sessionpipe_core::package;

use crate::dirs::{agent_dirs, root};

const PACKAGE: &str = "@oh-my-pi/pi-coding-agent";

pub(crate) fn found(host: &Host) -> Option<Found> {
    if !is_here(host) {
        return None;
    }
    let dirs = agent_dirs(host).into_iter().filter(|dir| dir.is_dir()).collect();
    let version = program(host).and_then(|program| package::version_of(&program, |name| name == PACKAGE));
    Some(Found { version: version.map(|version| version.to_string()), dirs, left_alone: Vec::new() })
}

/// Whether OMP is on this machine: its folder, or its program on PATH. (A folder that `PI_CODING_AGENT_DIR` names may be
/// another program's.)
pub(crate) fn is_here(host: &Host) -> bool {
    root(host).is_dir() || program(host).is_some()
}

fn program(host: &Host) -> Option<PathBuf> {
    host.programs("omp").next()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::fs::symlink;

    use sessionpipe_core::testing::{host, write};
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn the_package_of_the_program_tells_the_version() {
        let home = TempDir::new().expect("a folder");
        let mut host = host(home.path());
        assert_eq!(found(&host), None);
        let agent = home.path().join("agent");
        write(&agent.join("x"), "");
        host.env.insert("PI_CODING_AGENT_DIR".into(), OsString::from(&agent));
        assert_eq!(found(&host), None, "the folder may be another program's");

        let package = home.path().join("lib/node_modules").join(PACKAGE);
        write(&package.join("package.json"), r#"{"name": "@oh-my-pi/pi-coding-agent", "version": "18.2.3"}"#);
        write(&package.join("dist/cli.js"), "");
        let bin = home.path().join("bin");
        write(&bin.join("x"), "");
        symlink(package.join("dist/cli.js"), bin.join("omp")).expect("a link");
        host.env.insert("PATH".into(), OsString::from(&bin));
        let there = found(&host).expect("found");
        assert_eq!((there.version.as_deref(), there.dirs), (Some("18.2.3"), vec![agent]));
    }
}
