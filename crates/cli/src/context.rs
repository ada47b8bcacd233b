//! What taking jobs needs of the program.

use std::cell::RefCell;
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;

use sessionpipe_core::adapter::Adapter;
use sessionpipe_core::host::Host;
use sessionpipe_installer::{WiredState, status};
use sessionpipe_pipeline::settings::Settings;
use sessionpipe_pipeline::take::Context;

use crate::config::Config;
use crate::registry;

/// Calls `work` with the context of this program and this machine.
pub fn with_context<T>(host: &Host, work: impl FnOnce(&Context<'_>) -> T) -> T {
    let adapters = registry::adapters();
    // A broken config is for `doctor` to show; it does not stop events.
    let machine = Config::read(host).ok().and_then(|config| config.machine).or_else(host_name);
    let is_wired = |name: &str| is_wired(name, &adapters, host);
    let watched = Watched::default();
    let settings = || watched.settings(host);
    work(&Context { settings: &settings, ..Context::new(host, &adapters, machine.as_deref(), &is_wired) })
}

/// The settings, read again when their file has changed.
#[derive(Default)]
struct Watched(RefCell<Option<Known>>);

/// The settings as they were last read, and of which file.
struct Known {
    file: Option<Signature>,
    settings: Option<Arc<Settings>>,
}

/// What tells one version of a file from another.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Signature {
    inode: u64,
    len: u64,
    modified: (i64, i64),
}

impl Watched {
    fn settings(&self, host: &Host) -> Option<Arc<Settings>> {
        let meta = std::fs::metadata(host.dirs.config_file()).ok();
        let signature = meta.map(|meta| Signature {
            inode: meta.ino(),
            len: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
        });
        let mut last = self.0.borrow_mut();
        match &*last {
            Some(known) if known.file == signature => known.settings.clone(),
            _ => {
                let settings = Config::settings(host).map(Arc::new);
                *last = Some(Known { file: signature, settings: settings.clone() });
                settings
            }
        }
    }
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
