//! Which harnesses a command is about.

use sessionpipe_core::adapter::{Adapter, Found};
use sessionpipe_core::host::Host;

use crate::error::CommandError;
use crate::registry;

/// The adapters that are named, each once, in the registry's order; all of them where none is named.
///
/// # Errors
/// When a name is none that this program knows.
pub fn adapters(names: &[String]) -> Result<Vec<&'static dyn Adapter>, CommandError> {
    let all = registry::adapters();
    let known = |name: &str| all.iter().any(|adapter| adapter.harness().name == name);
    if let Some(name) = names.iter().find(|name| !known(name)) {
        return Err(unknown(name, &all));
    }
    let wanted = |adapter: &&dyn Adapter| names.is_empty() || names.iter().any(|name| name == adapter.harness().name);
    Ok(all.into_iter().filter(wanted).collect())
}

/// The names as they were given, to be typed again.
#[must_use]
pub fn options(names: &[String]) -> String {
    names.iter().map(|name| format!(" --harness {name}")).collect()
}

fn unknown(name: &str, all: &[&dyn Adapter]) -> CommandError {
    let known: Vec<&str> = all.iter().map(|adapter| adapter.harness().name).collect();
    CommandError::usage(anyhow::anyhow!("no harness is called {name:?}")).hint(format!("known: {}", known.join(", ")))
}

/// The adapters whose harness is on this machine, and the names of the others.
#[must_use]
pub fn found(
    adapters: &[&'static dyn Adapter],
    host: &Host,
) -> (Vec<(&'static dyn Adapter, Found)>, Vec<&'static str>) {
    let mut here = Vec::new();
    let mut missing = Vec::new();
    for adapter in adapters {
        match adapter.found(host) {
            Some(found) => here.push((*adapter, found)),
            None => missing.push(adapter.harness().name),
        }
    }
    (here, missing)
}

/// Every name that an event may carry: the harnesses, and the programs that run their hooks.
#[must_use]
pub fn event_names() -> Vec<&'static str> {
    let borrowers = registry::HARNESSES.iter().flat_map(|harness| harness.borrowers).map(|borrower| borrower.name);
    registry::HARNESSES.iter().map(|harness| harness.name).chain(borrowers).collect()
}
