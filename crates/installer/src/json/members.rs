//! Top-level members of a document that a harness wants beside the map of events, such as `"version": 1`.

use json_patch::jsonptr::PointerBuf;
use json_patch::{Patch, PatchOperation, ReplaceOperation};
use serde_json::{Map, Value, json};

use super::document::{Doc, escape_lone_surrogates, get, object, parse, to_value};
use super::style::Style;
use super::{add_op, is_double, remove_op, whole_document};
use crate::edit::{Containers, Edited};
use crate::refusal::Refusal;
use crate::splice::{Splice, splice};
use crate::status::Fault;

/// Members of one document.
pub(crate) struct Members<'a> {
    /// Name and value.
    pub(crate) members: &'a [(String, u64)],
    /// Take out those that we put there.
    pub(crate) gone: bool,
    /// Which of them we put there.
    pub(crate) containers: &'a Containers,
}

/// What one edit comes to.
#[derive(Default)]
struct Draft {
    splices: Vec<Splice>,
    ops: Vec<PatchOperation>,
}

impl Members<'_> {
    /// Makes the edit in a text without a byte order mark. A member that is there keeps its value: it is the person's.
    pub(crate) fn edit(&self, text: &str) -> Result<Edited, Refusal> {
        let sane = escape_lone_surrogates(text);
        let doc = parse(&sane)?;
        let mut edited = Edited { text: text.to_owned(), is_loose: !doc.is_plain, ..Edited::default() };
        let draft = if self.gone { self.removals(&doc, &mut edited) } else { self.additions(&doc, &mut edited) };
        if draft.ops.is_empty() {
            return Ok(edited);
        }
        edited.text = splice(text, draft.splices).ok_or(Refusal::Unsafe("overlapping splices"))?;
        edited.patch = Patch(draft.ops);
        let mut expected = doc.root.as_ref().map_or(Value::Null, to_value);
        json_patch::patch(&mut expected, &edited.patch)
            .map_err(|_| Refusal::Unsafe("an operation that does not apply"))?;
        let sane = escape_lone_surrogates(&edited.text);
        let after = parse(&sane).map_err(|_| Refusal::Unsafe("the result would not parse"))?;
        if after.root.as_ref().map(to_value) != Some(expected) {
            return Err(Refusal::Unsafe("the result would mean something else"));
        }
        Ok(edited)
    }

    fn additions(&self, doc: &Doc<'_>, edited: &mut Edited) -> Draft {
        let text = doc.text;
        let mut draft = Draft::default();
        let Some(root) = doc.root.as_ref() else {
            let value: Map<_, _> = self.members.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
            draft.splices.push(whole_document(text, &value.clone().into(), 1));
            draft.ops.push(PatchOperation::Replace(ReplaceOperation { path: PointerBuf::new(), value: value.into() }));
            edited.created.extend(self.members.iter().map(|(key, _)| pointer(key).to_string()));
            return draft;
        };
        // What else stands there in place of an object is refused by the edit of the hooks.
        let Some(map) = root.as_object() else { return draft };
        let (style, here) = (Style::sample(text, [root]), object(map));
        let on_lines = here.appends_on_lines(text, doc.is_on_lines());
        let (indent, newline) = (here.item_indent(text, on_lines, &style.unit), here.newline(text));
        let mut items = Vec::new();
        for (key, value) in self.members.iter().filter(|(key, _)| get(map, key).is_none()) {
            items.push(style.member(key, &json!(value), &[false], &indent, newline));
            draft.ops.push(add_op(pointer(key), json!(value)));
            edited.created.push(pointer(key).to_string());
            edited.faults.push(Fault::Missing(key.clone()));
        }
        if !items.is_empty() {
            draft.splices.extend(here.append(text, &items, on_lines, &style.spacing()));
        }
        draft
    }

    fn removals(&self, doc: &Doc<'_>, edited: &mut Edited) -> Draft {
        let mut draft = Draft::default();
        let Some(map) = doc.root.as_ref().and_then(|root| root.as_object()) else { return draft };
        let there = |key: &str| get(map, key).map(|(index, _)| index);
        // Where no record tells who put it there, it is ours when nothing else is left.
        let is_all = map.properties.len() == self.members.iter().filter(|(key, _)| there(key).is_some()).count();
        let mut indices = Vec::new();
        for (key, _) in self.members {
            let Some(index) = there(key).filter(|_| !is_double(map, key)) else { continue };
            if matches!(self.containers, Containers::All) && !is_all || !self.containers.may_remove(&pointer(key)) {
                continue;
            }
            indices.push(index);
            draft.ops.push(remove_op(pointer(key)));
            edited.emptied.push(pointer(key).to_string());
        }
        indices.sort_unstable();
        if !indices.is_empty() {
            draft.splices.extend(object(map).remove(doc.text, &indices));
        }
        draft
    }
}

fn pointer(key: &str) -> PointerBuf {
    PointerBuf::from_tokens([key])
}
