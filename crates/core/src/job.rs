//! What the hook leaves in the spool: one file per hook call, a JSON header line and then the payload's raw bytes.
//!
//! The header holds what only the hook process can know. An old worker that meets a newer format leaves the job and exits.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::payload::Payload;

/// The format of a job file. Raise it when a field is added whose absence an old worker would take wrongly.
pub const FORMAT: u32 = 1;

/// A job file's first line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// [`FORMAT`].
    pub v: u32,
    /// When the hook started, milliseconds since the epoch.
    pub at_ms: i64,
    /// `HARNESS` of argv.
    pub harness: String,
    /// `EVENT` of argv.
    pub event: String,
    /// The hook's working folder: used where the payload has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The hook's ancestors, nearest first.
    #[serde(default)]
    pub parents: Vec<Process>,
    /// The variables that the harness's allowlist names.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// A process, identified so that a re-used pid is another one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// When it started: clock ticks since boot on Linux, seconds since the epoch elsewhere. Only compared for equality.
    pub start: u64,
    /// The program's short name.
    #[serde(default)]
    pub name: String,
}

/// One hook call, as the adapter maps it.
#[derive(Clone, Debug, PartialEq)]
pub struct Hook {
    /// What only the hook process could know.
    pub header: Header,
    /// Who really called ([`crate::payload::caller`]): differs from `header.harness` for a borrowed hook.
    pub caller: String,
    /// What the harness sent.
    pub payload: Payload,
}

/// Programs that only stand between the harness and the hook. Some harnesses run hooks by the person's login shell,
/// whichever that is.
const BETWEEN: [&str; 19] = [
    "sh", "bash", "dash", "zsh", "fish", "ksh", "mksh", "oksh", "yash", "ash", "busybox", "csh", "tcsh", "nu", "pwsh",
    "elvish", "xonsh", "env", "timeout",
];

impl Process {
    /// Whether it can be the agent itself: it is none of the programs that only stand between.
    #[must_use]
    pub fn may_be_agent(&self) -> bool {
        !BETWEEN.contains(&self.name.as_str())
    }
}

impl Header {
    /// The harness's own process: the ancestor that the harness names in `pid_var`, else the nearest that is no shell.
    #[must_use]
    pub fn agent(&self, pid_var: Option<&str>) -> Option<&Process> {
        let named = pid_var.and_then(|name| self.env.get(name)).and_then(|pid| pid.parse().ok());
        named
            .and_then(|pid: u32| self.parents.iter().find(|p| p.pid == pid))
            .or_else(|| self.parents.iter().find(|p| p.may_be_agent()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_is_the_nearest_that_is_no_shell() {
        let process = |pid, name: &str| Process { pid, start: 1, name: name.to_owned() };
        let agent = |parents: &[(u32, &str)]| {
            let parents = parents.iter().map(|(pid, name)| process(*pid, name)).collect();
            let header = Header { parents, env: [("PID".to_owned(), "9".to_owned())].into(), ..Header::default() };
            (header.agent(None).map(|p| p.pid), header.agent(Some("PID")).map(|p| p.pid))
        };
        for shell in ["sh", "zsh", "fish", "nu", "tcsh", "pwsh", "xonsh", "timeout"] {
            assert_eq!(agent(&[(7, shell), (8, "codex"), (9, "node")]), (Some(8), Some(9)), "{shell}");
        }
        assert_eq!(agent(&[(7, "sh"), (8, "codex")]), (Some(8), Some(8)), "the named one is no ancestor");
        assert_eq!(agent(&[(7, "sh")]), (None, None));
    }
}
