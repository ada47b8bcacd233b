//! Whether Cursor is here, and the version of its command line. Nothing is started: the folders that it and its installer
//! leave tell. (The IDE has versions of its own, which no file in the home tells; it skips event names that it does not know.)

use std::path::{Path, PathBuf};

use sessionpipe_core::adapter::Found;
use sessionpipe_core::host::Host;

use crate::wiring::config_dir;

/// The names of the command line; the second is its newer one, and also other programs'.
const PROGRAMS: [&str; 2] = ["cursor-agent", "agent"];

pub(crate) fn found(host: &Host) -> Option<Found> {
    let dirs: Vec<PathBuf> = Some(config_dir(host)).filter(|dir| dir.is_dir()).into_iter().collect();
    let agents = agents(host);
    if dirs.is_empty() && agents.is_empty() {
        return None;
    }
    Some(Found { version: lowest(agents).map(|agent| agent.version), dirs, left_alone: Vec::new() })
}

/// Whether Cursor is on this machine.
pub(crate) fn is_here(host: &Host) -> bool {
    config_dir(host).is_dir() || !agents(host).is_empty()
}

/// The lowest version of the command line that is installed; `None` where no path tells one.
pub(crate) fn agent(host: &Host) -> Option<Agent> {
    lowest(agents(host))
}

fn lowest(agents: Vec<Agent>) -> Option<Agent> {
    agents.into_iter().min_by_key(|agent| agent.number)
}

/// A version of the command line: `2026.09.26-dd393fe`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Agent {
    /// As it is written.
    pub(crate) version: String,
    /// Its day.
    pub(crate) number: (u64, u64, u64),
}

/// The command lines on PATH and where the installer puts their link.
fn agents(host: &Host) -> Vec<Agent> {
    let programs = PROGRAMS.iter().flat_map(|name| host.programs_in(name, [host.home.join(".local/bin")]));
    programs.filter_map(|program| installed(&program)).collect()
}

/// The version in `…/cursor-agent/versions/2026.09.26-dd393fe/cursor-agent`, where the installer's link leads (reported).
fn installed(program: &Path) -> Option<Agent> {
    let names: Vec<&str> = program.iter().filter_map(|name| name.to_str()).collect();
    names.windows(3).find_map(|names| match *names {
        ["cursor-agent", "versions", version] => Some(Agent { version: version.to_owned(), number: number(version)? }),
        _ => None,
    })
}

/// The day of a version: year, month, day.
fn number(version: &str) -> Option<(u64, u64, u64)> {
    let mut parts = version.split('-').next()?.split('.').map(str::parse);
    match (parts.next()?, parts.next()?, parts.next()?, parts.next()) {
        (Ok(year), Ok(month), Ok(day), None) => Some((year, month, day)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
