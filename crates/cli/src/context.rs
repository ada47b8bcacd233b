//! What taking jobs needs of the program.

use sessionpipe_core::adapter::Adapter;
use sessionpipe_core::host::Host;
use sessionpipe_installer::{WiredState, status};
use sessionpipe_pipeline::take::Context;

use crate::config::Config;
use crate::registry;

/// Calls `work` with the context of this program and this machine.
pub fn with_context<T>(host: &Host, work: impl FnOnce(&Context<'_>) -> T) -> T {
    let adapters = registry::adapters();
    // A broken config is for `doctor` to show; it does not stop events.
    let machine = Config::read(host).ok().and_then(|config| config.machine).or_else(host_name);
    let is_wired = |name: &str| is_wired(name, &adapters, host);
    work(&Context::new(host, &adapters, machine.as_deref(), &is_wired))
}

/// Whether a harness runs hooks of ours by its own config. Asked only of a call that came through another's.
fn is_wired(name: &str, adapters: &[&dyn Adapter], host: &Host) -> bool {
    let Some(adapter) = adapters.iter().find(|adapter| adapter.harness().name == name) else { return false };
    let wired = |state: &WiredState| matches!(state, WiredState::Wired | WiredState::Stale(_));
    status(host, &[*adapter]).is_ok_and(|s| s.iter().flat_map(|s| &s.files).any(|file| wired(&file.state)))
}

fn host_name() -> Option<String> {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    Some(name).filter(|name| !name.is_empty())
}
