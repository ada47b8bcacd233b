//! What an adapter wants to be true of config files: data, not edits. The installer makes it true and can undo it.

use std::path::PathBuf;

use serde_json::Value;

/// One thing that must be true.
#[derive(Clone, Debug, PartialEq)]
pub enum Wiring {
    /// In a JSON(C) document, one handler of ours per event. Handlers of ours that are not in `entries` go.
    HookEntries {
        /// The document.
        file: PathBuf,
        /// The keys that lead to the map of events, e.g. `["hooks"]`.
        at: &'static [&'static str],
        /// How an event's handlers are written.
        shape: Shape,
        /// In the order in which a new file lists them.
        entries: Vec<HookEntry>,
        /// Whether the harness itself reads comments and trailing commas; where not, such a file gets a notice.
        jsonc: bool,
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
    /// The file it is about.
    #[must_use]
    pub fn file(&self) -> Option<&PathBuf> {
        match self {
            Self::HookEntries { file, .. } | Self::TopLevelToml { file, .. } | Self::AbsentTomlHooks { file } => {
                Some(file)
            }
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

/// How an event's handlers are written in a JSON document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `{"EVENT": [{"matcher": "…", "hooks": [handler, …]}, …]}`
    Grouped,
}

/// One handler of ours.
#[derive(Clone, Debug, PartialEq)]
pub struct HookEntry {
    /// The native event.
    pub event: &'static str,
    /// The whole group (or handler, by [`Shape`]) to write, in its order of keys. Every command in it is ours.
    pub value: Value,
}
