//! What must be true of OpenCode's files: one plugin of ours in its config folder.

pub(crate) mod check;

use std::path::PathBuf;

use sessionpipe_core::host::Host;
use sessionpipe_core::plugin;
use sessionpipe_core::wiring::{When, Wiring};

use crate::HARNESS;
use crate::facts::{is_here, xdg};

/// What makes a line of the plugin a comment.
const COMMENT: &str = "//";

/// Below the config folder. OpenCode loads `{plugin,plugins}/*.{ts,js}`; nothing below that, and no `*.mjs`.
pub(crate) const PLUGIN: &str = "plugins/sessionpipe.ts";

/// Other places below a config folder from which a copy of it would be loaded, too.
pub(crate) const ELSEWHERE: [&str; 3] = ["plugin/sessionpipe.ts", "plugin/sessionpipe.js", "plugins/sessionpipe.js"];

/// `$XDG_CONFIG_HOME/opencode`, else `~/.config/opencode`. `$OPENCODE_CONFIG_DIR` is read beside it, not instead.
pub(crate) fn config_dir(host: &Host) -> PathBuf {
    xdg(host, "XDG_CONFIG_HOME", ".config")
}

/// The folder that the person adds, if it is another.
pub(crate) fn added_dir(host: &Host) -> Option<PathBuf> {
    host.path_var("OPENCODE_CONFIG_DIR").filter(|dir| *dir != config_dir(host))
}

/// Every other place that a copy of the plugin is loaded from, and lies in.
pub(crate) fn copies(host: &Host) -> impl Iterator<Item = PathBuf> {
    let dir = config_dir(host);
    let here = ELSEWHERE.iter().map(move |name| dir.join(name));
    let added =
        added_dir(host).into_iter().flat_map(|dir| ELSEWHERE.iter().chain(&[PLUGIN]).map(move |name| dir.join(name)));
    here.chain(added).filter(|path| path.is_file())
}

pub(crate) fn wiring(host: &Host) -> Vec<Wiring> {
    if !is_here(host) {
        return Vec::new();
    }
    let running = "an `opencode` that runs takes the plugin up when it starts again".to_owned();
    let mut wirings = vec![Wiring::OwnedText {
        file: config_dir(host).join(PLUGIN),
        comment: COMMENT,
        text: plugin::text(&host.program, HARNESS.name, &[include_str!("../plugin/opencode.ts")]),
    }];
    wirings.extend(copies(host).map(|file| Wiring::AbsentText { file, comment: COMMENT }));
    wirings.push(Wiring::Notice { when: When::Changed, text: running });
    wirings
}

#[cfg(test)]
mod tests;
