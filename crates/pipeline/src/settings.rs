//! What the person decided about the stream: what is kept of it, and where it goes.

use std::fs;
use std::path::{Path, PathBuf};

use sessionpipe_core::event::{Event, MAX_TIER, Tier};
use sessionpipe_core::privacy::filter;

use crate::sink::Sink;

/// The settings that the pipeline goes by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// What is kept.
    pub policy: Policy,
    /// Where it goes.
    pub sinks: Vec<Sink>,
}

/// What the outbox keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The highest tier that is stored.
    pub tier: Tier,
    /// Folders of which something else holds.
    pub folders: Vec<Folder>,
}

impl Default for Policy {
    fn default() -> Self {
        Self { tier: MAX_TIER, folders: Vec::new() }
    }
}

/// A folder and all below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// Absolute.
    pub path: PathBuf,
    /// What is kept of sessions in it.
    pub keep: Keep,
}

/// What is kept of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Nothing at all.
    Off,
    /// Up to this tier.
    Tier(Tier),
}

impl Policy {
    /// What is kept of a session in a folder: the rule of the innermost folder that holds it, by either of their names
    /// where links lead there.
    #[must_use]
    pub fn keep(&self, cwd: Option<&str>) -> Keep {
        let general = Keep::Tier(self.tier);
        let Some(cwd) = cwd.map(Path::new).filter(|_| !self.folders.is_empty()) else { return general };
        let real = fs::canonicalize(cwd).ok();
        let holds = |folder: &&Folder| {
            let real_folder = fs::canonicalize(&folder.path).ok();
            let lies_in =
                |folder: &Path| cwd.starts_with(folder) || real.as_ref().is_some_and(|real| real.starts_with(folder));
            lies_in(&folder.path) || real_folder.is_some_and(|folder| lies_in(&folder))
        };
        let innermost = self.folders.iter().filter(holds).max_by_key(|folder| folder.path.components().count());
        innermost.map_or(general, |folder| folder.keep)
    }
}

/// The event as it is stored under a tier; `None` when its type is not for it.
#[must_use]
pub fn stored(event: Event, tier: Tier) -> Option<Event> {
    if tier >= MAX_TIER {
        return Some(event);
    }
    // Some types are for the lowest tiers only.
    (0..=tier).rev().find_map(|tier| filter(&event, tier, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(path: &Path, keep: Keep) -> Folder {
        Folder { path: path.to_owned(), keep }
    }

    #[test]
    fn the_innermost_folder_rules() {
        let policy = Policy {
            tier: 2,
            folders: vec![
                folder(Path::new("/desk"), Keep::Off),
                folder(Path::new("/desk/open"), Keep::Tier(3)),
                folder(Path::new("/desk/open/secret"), Keep::Off),
            ],
        };
        assert_eq!(policy.keep(Some("/home/dev")), Keep::Tier(2));
        assert_eq!(policy.keep(None), Keep::Tier(2));
        assert_eq!(policy.keep(Some("/desk")), Keep::Off);
        assert_eq!(policy.keep(Some("/desktop")), Keep::Tier(2));
        assert_eq!(policy.keep(Some("/desk/open/x")), Keep::Tier(3));
        assert_eq!(policy.keep(Some("/desk/open/secret/x")), Keep::Off);
    }

    #[test]
    fn a_link_is_no_way_around_it() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().canonicalize().expect("a folder");
        let (real, link) = (root.join("real"), root.join("link"));
        fs::create_dir(&real).expect("a folder");
        std::os::unix::fs::symlink(&real, &link).expect("a link");
        for (ruled, cwd) in [(&real, &link), (&link, &real)] {
            let policy = Policy { folders: vec![folder(ruled, Keep::Off)], ..Policy::default() };
            assert_eq!(policy.keep(cwd.to_str()), Keep::Off);
        }
    }
}
