//! One file's edits, in order: what must be true of it, applied to its text.

use std::path::Path;

use json_patch::Patch;
use json_patch::jsonptr::PointerBuf;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sessionpipe_core::file;
use sessionpipe_core::wiring::{HookEntry, Wiring};

use crate::json::{self, Hooks};
use crate::refusal::Refusal;
use crate::splice::split_bom;
use crate::status::Fault;
use crate::text::{self, Text};
use crate::toml::{self, TopKey};

/// One thing that must be true of a file, or no longer be true.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// See [`Wiring::HookEntries`]; no entries: all of ours go.
    Hooks { at: Vec<String>, entries: Vec<HookEntry>, jsonc: bool },
    /// Members that [`Wiring::HookEntries`] needs; `gone`: those that we put there go.
    Members { members: Vec<(String, u64)>, gone: bool },
    /// See [`Wiring::OwnedFile`]; `gone`: it must not be there.
    DropIn { document: Value, gone: bool, force: bool },
    /// See [`Wiring::OwnedText`]; no body: it must not be there.
    Text { comment: String, body: Option<String>, force: bool },
    /// See [`Wiring::TopLevelToml`]; no argv: ours goes, and what it chained comes back.
    TopLevel { key: String, argv: Option<Vec<String>> },
    /// See [`Wiring::AbsentTomlHooks`].
    AbsentTomlHooks,
}

/// How to undo a step without its adapter; a part of the manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum Undo {
    /// Handlers of ours in a JSON document.
    Hooks {
        /// The keys that lead to the map of events.
        at: Vec<String>,
    },
    /// Members of a JSON document.
    Members {
        /// Name and value.
        members: Vec<(String, u64)>,
    },
    /// A JSON file of ours.
    DropIn {
        /// What it held.
        document: Value,
    },
    /// A text file of ours.
    Text {
        /// What makes its first line a comment.
        comment: String,
    },
    /// A key of a TOML document.
    TopLevel {
        /// The key.
        key: String,
    },
}

/// Which containers go when the last handler of ours in them goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Containers {
    /// Every one.
    All,
    /// Those that we made, as JSON pointers.
    Only(Vec<String>),
}

impl Containers {
    pub(crate) fn may_remove(&self, pointer: &PointerBuf) -> bool {
        match self {
            Self::All => true,
            Self::Only(ours) => ours.iter().any(|p| p == pointer.as_str()),
        }
    }
}

/// How many handlers an edit concerns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) added: usize,
    pub(crate) updated: usize,
    pub(crate) removed: usize,
}

/// What an edit makes of a text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Edited {
    pub(crate) text: String,
    pub(crate) patch: Patch,
    pub(crate) tally: Tally,
    /// What else to say, e.g. that an argv is chained.
    pub(crate) remarks: Vec<String>,
    /// Containers that the edit made, as JSON pointers.
    pub(crate) created: Vec<String>,
    /// Containers that held nothing but handlers of ours that go.
    pub(crate) emptied: Vec<String>,
    /// What was not as it must be.
    pub(crate) faults: Vec<Fault>,
    /// The programs that handlers of ours named before.
    pub(crate) programs: Vec<String>,
    /// How many handlers of ours there were before.
    pub(crate) handlers: usize,
    /// JSON with comments or trailing commas, which the strictest readers do not take.
    pub(crate) is_loose: bool,
}

impl Step {
    /// What an adapter wants of a file; nothing for what is no edit. `force`: also of a file of ours that the person edited.
    pub(crate) fn install(wiring: &Wiring, force: bool) -> Vec<Self> {
        match wiring {
            Wiring::HookEntries { at, needs, entries, jsonc, .. } => {
                let members = needs.iter().map(|(key, value)| ((*key).to_owned(), *value)).collect();
                let hooks = Self::Hooks {
                    at: at.iter().map(|key| (*key).to_owned()).collect(),
                    entries: entries.clone(),
                    jsonc: *jsonc,
                };
                if needs.is_empty() { vec![hooks] } else { vec![Self::Members { members, gone: false }, hooks] }
            }
            Wiring::OwnedFile { document, .. } => vec![Self::DropIn { document: document.clone(), gone: false, force }],
            Wiring::OwnedText { comment, text, .. } => {
                vec![Self::Text { comment: (*comment).to_owned(), body: Some(text.clone()), force }]
            }
            Wiring::AbsentText { comment, .. } => {
                vec![Self::Text { comment: (*comment).to_owned(), body: None, force }]
            }
            Wiring::TopLevelToml { key, argv, .. } => {
                vec![Self::TopLevel { key: (*key).to_owned(), argv: Some(argv.clone()) }]
            }
            Wiring::AbsentTomlHooks { .. } => vec![Self::AbsentTomlHooks],
            Wiring::OnRequest { wiring, .. } => Self::install(wiring, force),
            Wiring::Notice { .. } => Vec::new(),
        }
    }

    /// The inverse.
    pub(crate) fn inverse(&self) -> Self {
        match self {
            Self::Hooks { at, jsonc, .. } => Self::Hooks { at: at.clone(), entries: Vec::new(), jsonc: *jsonc },
            Self::Members { members, .. } => Self::Members { members: members.clone(), gone: true },
            Self::DropIn { document, force, .. } => {
                Self::DropIn { document: document.clone(), gone: true, force: *force }
            }
            Self::Text { comment, force, .. } => Self::Text { comment: comment.clone(), body: None, force: *force },
            Self::TopLevel { key, .. } => Self::TopLevel { key: key.clone(), argv: None },
            Self::AbsentTomlHooks => Self::AbsentTomlHooks,
        }
    }

    /// What the manifest keeps of it.
    pub(crate) fn undo(&self) -> Option<Undo> {
        match self {
            Self::Hooks { at, .. } => Some(Undo::Hooks { at: at.clone() }),
            Self::Members { members, .. } => Some(Undo::Members { members: members.clone() }),
            Self::DropIn { document, .. } => Some(Undo::DropIn { document: document.clone() }),
            Self::Text { comment, body: Some(_), .. } => Some(Undo::Text { comment: comment.clone() }),
            Self::TopLevel { key, .. } => Some(Undo::TopLevel { key: key.clone() }),
            Self::Text { body: None, .. } | Self::AbsentTomlHooks => None,
        }
    }

    /// The events that it wires; a key counts as one, and so does a file.
    pub(crate) fn events(&self) -> Vec<String> {
        match self {
            Self::Hooks { entries, .. } => entries.iter().map(|e| e.event.to_owned()).collect(),
            Self::DropIn { gone: false, .. } | Self::Text { body: Some(_), .. } => vec!["*".to_owned()],
            Self::TopLevel { key, argv: Some(_) } => vec![key.clone()],
            _ => Vec::new(),
        }
    }

    fn edit(&self, text: &str, harness: &str, containers: &Containers) -> Result<Edited, Refusal> {
        match self {
            Self::Hooks { at, entries, .. } => json::edit(text, &Hooks { harness, at, entries, containers }),
            Self::Members { members, gone } => json::Members { members, gone: *gone, containers }.edit(text),
            Self::DropIn { document, gone, force } => {
                json::DropIn { harness, document, gone: *gone, force: *force }.edit(text)
            }
            Self::Text { comment, body, force } => {
                Text { harness, comment, body: body.as_deref(), force: *force }.edit(text)
            }
            Self::TopLevel { key, argv } => {
                toml::edit_key(text, &TopKey { harness, key, argv: argv.as_deref(), containers })
            }
            Self::AbsentTomlHooks => toml::remove_hooks(text, harness),
        }
    }

    /// What is there of ours after the step: name and value. Two edits that agree in this mean the same.
    fn entries(&self, text: &str, harness: &str) -> Vec<(String, Value)> {
        match self {
            Self::Hooks { at, .. } => json::entries(text, harness, at),
            Self::DropIn { .. } => json::drop_in_entries(text, harness),
            Self::Text { comment, .. } => text::entries(comment, text),
            Self::TopLevel { key, .. } => toml::entries(text, key),
            Self::Members { .. } | Self::AbsentTomlHooks => Vec::new(),
        }
    }

    fn is_toml(&self) -> bool {
        matches!(self, Self::TopLevel { .. } | Self::AbsentTomlHooks)
    }
}

impl From<&Undo> for Step {
    fn from(undo: &Undo) -> Self {
        match undo {
            Undo::Hooks { at } => Self::Hooks { at: at.clone(), entries: Vec::new(), jsonc: true },
            Undo::Members { members } => Self::Members { members: members.clone(), gone: true },
            Undo::DropIn { document } => Self::DropIn { document: document.clone(), gone: true, force: false },
            Undo::Text { comment } => Self::Text { comment: comment.clone(), body: None, force: false },
            Undo::TopLevel { key } => Self::TopLevel { key: key.clone(), argv: None },
        }
    }
}

/// Takes all steps, in order. No file is a blank one.
pub(crate) fn run(
    steps: &[Step],
    harness: &str,
    containers: &Containers,
    before: Option<&str>,
) -> Result<Edited, Refusal> {
    let (bom, text) = split_bom(before.unwrap_or_default());
    let mut all = Edited { text: text.to_owned(), ..Edited::default() };
    for step in steps {
        let one = step.edit(&all.text, harness, containers)?;
        all.text = one.text;
        all.patch.0.extend(one.patch.0);
        all.tally.added += one.tally.added;
        all.tally.updated += one.tally.updated;
        all.tally.removed += one.tally.removed;
        all.remarks.extend(one.remarks);
        all.created.extend(one.created);
        all.emptied.extend(one.emptied);
        all.faults.extend(one.faults);
        all.programs.extend(one.programs);
        all.handlers += one.handlers;
        all.is_loose |= one.is_loose;
    }
    all.text.insert_str(0, bom);
    Ok(all)
}

/// What is there of ours, by name.
pub(crate) fn entries(steps: &[Step], harness: &str, text: Option<&str>) -> Vec<(String, Value)> {
    let (_, text) = split_bom(text.unwrap_or_default());
    steps.iter().flat_map(|step| step.entries(text, harness)).collect()
}

/// The value of a whole document, for comparing. A text has none but itself.
pub(crate) fn value(steps: &[Step], text: &str) -> Option<Value> {
    let (_, text) = split_bom(text);
    match steps.iter().any(|step| matches!(step, Step::Text { .. })) {
        true => Some(text.into()),
        false if steps.iter().any(Step::is_toml) => toml::value(text),
        false => json::value(text),
    }
}

/// Whether nothing is left in a document that we made.
pub(crate) fn is_empty(steps: &[Step], text: &str) -> bool {
    let (_, text) = split_bom(text);
    if steps.iter().any(Step::is_toml) { text.trim().is_empty() } else { json::is_empty(text) }
}

/// What a person would paste into a file: a key that stands there already is written with what it holds.
pub(crate) fn paste(steps: &[Step], path: &Path) -> String {
    let there = || file::read(path).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    let members = steps.iter().find_map(|step| match step {
        Step::Members { members, .. } => Some(members.as_slice()),
        _ => None,
    });
    let one = |step: &Step| match step {
        Step::Hooks { at, entries, .. } if !entries.is_empty() => json::paste(members.unwrap_or_default(), at, entries),
        Step::DropIn { document, .. } => json::whole_text(document),
        Step::Text { comment, body: Some(body), .. } => text::whole(comment, body),
        Step::TopLevel { key, argv: Some(argv) } => toml::paste(&there(), key, argv),
        _ => String::new(),
    };
    steps.iter().map(one).collect()
}
