//! What is known of each harness: its files, its sessions, when it was last heard of.

use sessionpipe_core::adapter::{Adapter, Found};
use sessionpipe_core::host::Host;
use sessionpipe_installer::{FileStatus, HarnessStatus, WiredState, status};
use sessionpipe_pipeline::outbox::{HarnessActivity, Quarantined, Reader};

use crate::error::CommandError;

/// One harness.
pub struct Health {
    /// Its adapter.
    pub adapter: &'static dyn Adapter,
    /// Whether it is on this machine.
    pub found: Option<Found>,
    /// Its files.
    pub files: Vec<FileStatus>,
    /// When it was last heard of; `None` when never.
    pub activity: Option<HarnessActivity>,
    /// When a payload of it that could not be used last arrived, milliseconds since the epoch.
    pub last_quarantined_ms: Option<i64>,
    /// When the channel that it has beside its hooks last spoke; `None` when never, or when it has none.
    pub last_notice_ms: Option<i64>,
}

/// Whether and how a harness's files are wired, all of them together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wired {
    /// No file holds anything of ours, and none ever did.
    Not,
    /// Every file is as it must be.
    Fully,
    /// At least one is not.
    Partly,
}

impl Health {
    /// Whether and how its files are wired.
    #[must_use]
    pub fn wired(&self) -> Wired {
        let all = |wanted: fn(&WiredState) -> bool| self.files.iter().all(|file| wanted(&file.state));
        if all(|state| matches!(state, WiredState::Missing)) {
            Wired::Not
        } else if all(|state| matches!(state, WiredState::Wired)) && self.files.iter().all(|file| file.dead.is_empty())
        {
            Wired::Fully
        } else {
            Wired::Partly
        }
    }

    /// How many entries of ours its files hold.
    #[must_use]
    pub fn handlers(&self) -> usize {
        self.files.iter().map(|file| file.handlers).sum()
    }

    /// When it was last wired, milliseconds since the epoch; the oldest of its files counts.
    #[must_use]
    pub fn installed_ms(&self) -> Option<i64> {
        let parsed = |at: &String| Some(at.parse::<jiff::Timestamp>().ok()?.as_millisecond());
        self.files.iter().filter_map(|file| parsed(file.installed_at.as_ref()?)).min()
    }

    /// When anything of it last arrived, whether it could be used or not.
    #[must_use]
    pub fn last_heard_ms(&self) -> Option<i64> {
        self.activity.as_ref().map(|activity| activity.last_ms).max(self.last_quarantined_ms)
    }
}

/// The health of these harnesses.
///
/// # Errors
/// When the manifest or the outbox cannot be used.
pub fn health(
    adapters: &[&'static dyn Adapter],
    outbox: Option<&Reader>,
    host: &Host,
) -> Result<Vec<Health>, CommandError> {
    let statuses: Vec<HarnessStatus> = status(host, adapters).map_err(CommandError::failed)?;
    let activity =
        outbox.map(Reader::last_event_per_harness).transpose().map_err(CommandError::failed)?.unwrap_or_default();
    let quarantine = outbox.map(Reader::quarantine).transpose().map_err(CommandError::failed)?.unwrap_or_default();
    let one = |adapter: &'static dyn Adapter| {
        let name = adapter.harness().name;
        let theirs = |payload: &&Quarantined| payload.harness == name;
        let last_notice_ms = outbox.map(|outbox| outbox.last_notice(name)).transpose().map_err(CommandError::failed)?;
        Ok(Health {
            adapter,
            last_notice_ms: last_notice_ms.flatten(),
            found: adapter.found(host),
            files: statuses
                .iter()
                .filter(|status| status.name == name)
                .flat_map(|status| status.files.clone())
                .collect(),
            activity: activity.iter().find(|activity| activity.harness == name).cloned(),
            last_quarantined_ms: quarantine.iter().filter(theirs).map(|payload| payload.at_ms).max(),
        })
    };
    adapters.iter().map(|adapter| one(*adapter)).collect()
}
