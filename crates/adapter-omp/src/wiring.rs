//! What must be true of OMP's files: one extension of ours in the agent folder of every profile. The person's own switches
//! are reported, never changed.

pub(crate) mod check;

use sessionpipe_core::host::Host;
use sessionpipe_core::wiring::{When, Wiring};

use crate::dirs::agent_dirs;
use crate::facts::is_here;
use crate::plugin;

/// Below an agent folder.
pub(crate) const EXTENSION: &str = "extensions/sessionpipe.ts";

pub(crate) fn wiring(host: &Host) -> Vec<Wiring> {
    if !is_here(host) {
        return Vec::new();
    }
    let text = plugin::text(&host.program);
    let files = agent_dirs(host).into_iter().map(|dir| dir.join(EXTENSION));
    let restart = "an `omp` that runs takes the extension up when it starts again".to_owned();
    let off = check::switched_off(host).into_iter().map(|finding| Wiring::left_as_it_is(host, finding));
    files
        .map(|file| Wiring::OwnedText { file, comment: "//", text: text.clone() })
        .chain([Wiring::Notice { when: When::Changed, text: restart }])
        .chain(off)
        .collect()
}

#[cfg(test)]
mod tests;
