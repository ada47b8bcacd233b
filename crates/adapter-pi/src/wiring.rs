//! What must be true of Pi's files: one extension of ours in its agent folder. The person's own switches are reported, never
//! changed.

pub(crate) mod check;

use std::path::{Path, PathBuf};

use sessionpipe_core::host::Host;
use sessionpipe_core::wiring::{When, Wiring};

use crate::facts::is_here;
use crate::plugin;

/// Below the agent folder; a folder below it would have to hold an `index.ts`.
pub(crate) const EXTENSION: &str = "extensions/sessionpipe.ts";

/// `$PI_CODING_AGENT_DIR` (an empty value counts as unset), else `~/.pi/agent`.
pub(crate) fn agent_dir(host: &Host) -> PathBuf {
    match host.var("PI_CODING_AGENT_DIR") {
        Some(dir) if !dir.is_empty() => expanded(host, Path::new(dir)),
        _ => host.home.join(".pi/agent"),
    }
}

/// A path as Pi reads it from a variable: it expands `~`, and starts a relative one at the working folder.
pub(crate) fn expanded(host: &Host, path: &Path) -> PathBuf {
    match path.strip_prefix("~") {
        Ok(rest) => host.home.join(rest),
        Err(_) => host.cwd.join(path),
    }
}

pub(crate) fn wiring(host: &Host) -> Vec<Wiring> {
    if !is_here(host) {
        return Vec::new();
    }
    let running = "a `pi` that runs takes the extension up with /reload, or when it starts again".to_owned();
    let mut wirings = vec![
        Wiring::OwnedText { file: agent_dir(host).join(EXTENSION), comment: "//", text: plugin::text(&host.program) },
        Wiring::Notice { when: When::Changed, text: running },
    ];
    wirings.extend(check::switched_off(host).map(|finding| Wiring::left_as_it_is(host, finding)));
    wirings
}

#[cfg(test)]
mod tests;
