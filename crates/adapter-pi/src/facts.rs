//! Whether Pi is here, and its version. Nothing is started: the package that its program belongs to tells.

use std::path::PathBuf;

use sessionpipe_core::adapter::Found;
use sessionpipe_core::host::Host;
use sessionpipe_core::package;

use crate::wiring::agent_dir;

/// The names that npm knows it by; the second until 0.73.1.
const PACKAGES: [&str; 2] = ["@earendil-works/pi-coding-agent", "@mariozechner/pi-coding-agent"];

pub(crate) fn found(host: &Host) -> Option<Found> {
    let dir = agent_dir(host);
    let program = program(host);
    let dirs: Vec<PathBuf> = Some(dir).filter(|dir| dir.is_dir()).into_iter().collect();
    if dirs.is_empty() && program.is_none() {
        return None;
    }
    let version = program.and_then(|program| package::version_of(&program, is_package));
    Some(Found { version: version.map(|version| version.to_string()), dirs, left_alone: Vec::new() })
}

/// Whether Pi is on this machine: its folder, or its program on PATH.
pub(crate) fn is_here(host: &Host) -> bool {
    agent_dir(host).is_dir() || program(host).is_some()
}

/// The `pi` on PATH that is Pi's, links followed: other programs have that name, too.
fn program(host: &Host) -> Option<PathBuf> {
    host.programs("pi").find(|program| package::version_of(program, is_package).is_some())
}

/// (A compiled program lies beside its package.json.)
fn is_package(name: &str) -> bool {
    PACKAGES.contains(&name)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::fs;
    use std::os::unix::fs::symlink;

    use sessionpipe_core::testing::{host, write};
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn the_package_of_the_program_tells_the_version() {
        let home = TempDir::new().expect("a folder");
        let mut host = host(home.path());
        assert_eq!(found(&host), None);
        let bin = home.path().join("bin");
        host.env.insert("PATH".into(), OsString::from(&bin));
        write(&bin.join("x"), "");
        for (name, version) in [(PACKAGES[0], "1.6.0"), (PACKAGES[1], "0.73.1")] {
            let package = home.path().join("lib").join(version);
            write(&package.join("package.json"), &format!(r#"{{"name": "{name}", "version": "{version}", "x": 1}}"#));
            write(&package.join("dist/cli.js"), "");
            let _ = fs::remove_file(bin.join("pi"));
            symlink(package.join("dist/cli.js"), bin.join("pi")).expect("a link");
            let there = found(&host).expect("found");
            assert_eq!((there.version.as_deref(), there.dirs), (Some(version), Vec::new()));
        }
        write(&home.path().join("lib/0.73.1/package.json"), r#"{"name": "raspberry", "version": "9.0.0"}"#);
        assert_eq!(found(&host), None, "another program of that name");
        write(&home.path().join(".pi/agent/settings.json"), "{}");
        let there = found(&host).expect("found");
        assert_eq!((there.version, there.dirs), (None, vec![home.path().join(".pi/agent")]));
    }
}
