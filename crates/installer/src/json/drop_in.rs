//! A JSON file that is wholly ours.

use json_patch::jsonptr::PointerBuf;
use json_patch::{Patch, PatchOperation, ReplaceOperation};
use serde_json::{Map, Value};

use super::document::{escape_lone_surrogates, parse, to_value};
use super::{COMMANDS, all_owned, is_empty, owned_value_by};
use crate::edit::Edited;
use crate::refusal::Refusal;
use crate::status::Fault;

/// The file, and what becomes of it.
pub(crate) struct DropIn<'a> {
    /// The harness that every command in it must name.
    pub(crate) harness: &'a str,
    /// What it must hold.
    pub(crate) document: &'a Value,
    /// It must go instead.
    pub(crate) gone: bool,
    /// Replace (or remove) it even when the person edited it.
    pub(crate) force: bool,
}

impl DropIn<'_> {
    /// Makes the edit in a text without a byte order mark; an empty text is no file.
    pub(crate) fn edit(&self, text: &str) -> Result<Edited, Refusal> {
        let mut edited = Edited { text: text.to_owned(), ..Edited::default() };
        let wanted = programs(self.harness, self.document);
        if is_empty(text) {
            if !self.gone {
                edited.faults.push(Fault::Missing("the file".to_owned()));
                edited.tally.added = wanted.len();
                self.write(&mut edited);
            }
            return Ok(edited);
        }
        let sane = escape_lone_surrogates(text);
        let doc = parse(&sane)?;
        let there = doc.root.as_ref().map_or(Value::Null, to_value);
        if !is_ours(self.harness, &there) {
            return if self.gone { Ok(edited) } else { Err(Refusal::Foreign) };
        }
        edited.programs = programs(self.harness, &there);
        edited.handlers = edited.programs.len();
        edited.is_loose = !doc.is_plain;
        if there == *self.document && !self.gone {
            return Ok(edited);
        }
        let is_edited = edited.is_loose || is_edited(self.harness, self.document, &there);
        if is_edited && !self.force {
            // What the person changed stays as long as our commands are what they must be.
            let is_right = !self.gone && !edited.is_loose && programs(self.harness, &there) == wanted;
            return if is_right { Ok(edited) } else { Err(Refusal::Edited) };
        }
        if self.gone {
            edited.tally.removed = edited.handlers;
            edited.text = String::new();
            edited.patch = Patch(vec![replace(Value::Null)]);
        } else {
            let name = || "the file".to_owned();
            let is_moved = edited.programs.len() == wanted.len() && edited.programs != wanted;
            edited.faults.push(if is_moved { Fault::OldPath(name()) } else { Fault::Differs(name()) });
            edited.tally.updated = wanted.len();
            self.write(&mut edited);
        }
        Ok(edited)
    }

    fn write(&self, edited: &mut Edited) {
        edited.text = super::whole_text(self.document);
        edited.patch = Patch(vec![replace(self.document.clone())]);
    }
}

/// Our commands in a document, for comparing.
pub(crate) fn entries(text: &str, harness: &str) -> Vec<(String, Value)> {
    let value = super::value(text).unwrap_or_default();
    programs(harness, &value).into_iter().map(|program| (String::new(), Value::String(program))).collect()
}

fn replace(value: Value) -> PatchOperation {
    PatchOperation::Replace(ReplaceOperation { path: PointerBuf::new(), value })
}

/// Every object that holds a command.
fn commands<'v>(value: &'v Value, found: &mut Vec<&'v Map<String, Value>>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| commands(item, found)),
        Value::Object(members) => {
            if COMMANDS.iter().any(|key| members.get(*key).is_some_and(Value::is_string)) {
                found.push(members);
            }
            members.values().for_each(|member| commands(member, found));
        }
        _ => {}
    }
}

/// Whether every command in a document is ours, and there is one.
fn is_ours(harness: &str, value: &Value) -> bool {
    let mut found = Vec::new();
    commands(value, &mut found);
    !found.is_empty() && found.iter().all(|handler| owned_value_by(harness, handler).is_some())
}

/// The programs that the commands of ours name, in order, one per handler.
fn programs(harness: &str, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    commands(value, &mut found);
    found.iter().filter_map(|handler| owned_value_by(harness, handler)).map(|owned| owned.program).collect()
}

/// Whether something stands in a document of ours that no version of ours wrote: a member, or another value.
fn is_edited(harness: &str, ours: &Value, there: &Value) -> bool {
    let owned = |value: &Value| value.as_str().is_some_and(|text| all_owned(harness, [text].into_iter()).is_some());
    match (ours, there) {
        (Value::Object(ours), Value::Object(there)) => there.iter().any(|(key, value)| match ours.get(key) {
            Some(known) => is_edited(harness, known, value),
            // An event that is wired no more.
            None => !is_ours(harness, value),
        }),
        (Value::Array(ours), Value::Array(there)) => there.iter().any(|value| {
            let event = |value: &Value| {
                let mut found = Vec::new();
                commands(value, &mut found);
                owned_value_by(harness, found.first()?)?.event
            };
            match ours.iter().find(|known| event(known).is_some() && event(known) == event(value)) {
                Some(known) => is_edited(harness, known, value),
                None => !is_ours(harness, value),
            }
        }),
        _ => ours != there && !(owned(ours) && owned(there)),
    }
}
