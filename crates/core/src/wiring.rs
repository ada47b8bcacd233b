//! What an adapter wants to be true of config files: data, not edits. The installer makes it true and can undo it.

use std::path::PathBuf;

use serde_json::Value;

use crate::adapter::Finding;
use crate::host::Host;

/// One thing that must be true.
#[derive(Clone, Debug, PartialEq)]
pub enum Wiring {
    /// In a JSON(C) document, one handler of ours per event. Handlers of ours that are not in `entries` go; with no
    /// entries, all of them.
    HookEntries {
        /// The document.
        file: PathBuf,
        /// The keys that lead to the map of events, e.g. `["hooks"]`; none where the document itself is the map.
        at: &'static [&'static str],
        /// Top-level members that the harness wants in the document beside the map; one that is there stays as it is.
        needs: &'static [(&'static str, u64)],
        /// In the order in which a new file lists them.
        entries: Vec<HookEntry>,
        /// Whether the harness itself reads comments and trailing commas; where not, such a file gets a notice.
        jsonc: bool,
    },
    /// A JSON file that is wholly ours. It is ours when every command in it is; another's of that name is refused.
    OwnedFile {
        /// The file.
        file: PathBuf,
        /// All that is in it.
        document: Value,
    },
    /// A text file that is wholly ours, a plugin: below a first line that holds a hash of the rest. So any version of ours is
    /// known, and whether a person edited it; another's of that name is refused.
    OwnedText {
        /// The file.
        file: PathBuf,
        /// What makes the first line a comment: `//`.
        comment: &'static str,
        /// All that is in it, but the first line.
        text: String,
    },
    /// A text file of ours that must not be there: it moved. One that is not ours, or edited, stays.
    AbsentText {
        /// The file.
        file: PathBuf,
        /// What makes the first line a comment.
        comment: &'static str,
    },
    /// Made true only when the person asked for it by an [option](crate::harness::InstallOption) of `install`; kept true
    /// from then on.
    OnRequest {
        /// The option's name.
        option: &'static str,
        /// What must be true.
        wiring: Box<Self>,
    },
    /// One top-level key of a TOML document, before the first table, whose value is the argv of ours followed, where
    /// there was an argv before, by `--previous-notify`, that argv and `--`.
    TopLevelToml {
        /// The document.
        file: PathBuf,
        /// The key.
        key: &'static str,
        /// Our argv.
        argv: Vec<String>,
    },
    /// Handlers of ours that must not be in a TOML document's `[[hooks.EVENT]]` tables: they moved to another file.
    /// Entries of others stay.
    AbsentTomlHooks {
        /// The document.
        file: PathBuf,
    },
    /// A sentence that the person must read once.
    Notice {
        /// What must hold for it to be said.
        when: When,
        /// The sentence, with what to do.
        text: String,
    },
}

impl Wiring {
    /// A notice of what keeps the hooks silent, where the person (or an administrator) wanted it so.
    #[must_use]
    pub fn left_as_it_is(host: &Host, finding: Finding) -> Self {
        let file = finding.file.as_deref().map(|file| format!("{}: ", host.tilde(file))).unwrap_or_default();
        let text = format!("{file}{}. This is left as it is: {}.", finding.text, finding.fix.unwrap_or_default());
        Self::Notice { when: When::Changed, text }
    }

    /// The file it is about.
    #[must_use]
    pub fn file(&self) -> Option<&PathBuf> {
        match self {
            Self::HookEntries { file, .. }
            | Self::OwnedFile { file, .. }
            | Self::OwnedText { file, .. }
            | Self::AbsentText { file, .. }
            | Self::TopLevelToml { file, .. }
            | Self::AbsentTomlHooks { file } => Some(file),
            Self::OnRequest { wiring, .. } => wiring.file(),
            Self::Notice { .. } => None,
        }
    }
}

/// When a notice is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// When a file of this harness changes.
    Changed,
    /// Always.
    Always,
}

/// One handler of ours.
#[derive(Clone, Debug, PartialEq)]
pub struct HookEntry {
    /// The native event.
    pub event: &'static str,
    /// What to write into the event's array, in its order of keys: a group, `{"matcher": "…", "hooks": [handler]}`, or
    /// the handler itself, as the harness reads it. Every command in it is ours.
    pub value: Value,
}
