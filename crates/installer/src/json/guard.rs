//! What keeps an edit honest: each operation may concern nothing but what is ours, and the result must mean what was
//! wanted.

use json_patch::{Patch, PatchOperation};
use jsonc_parser::ast::Object;
use serde_json::{Map, Value, json};

use super::document::{Doc, escape_lone_surrogates, get, parse, same, to_value};
use super::{Draft, Hooks, nest, owned_value_by, pointer};
use crate::edit::Edited;
use crate::refusal::Refusal;
use crate::splice::splice;

impl Hooks<'_> {
    /// Whether a value at a depth of the document holds nothing but what is ours.
    fn is_ours(&self, depth: usize, value: &Value) -> bool {
        match depth.checked_sub(self.at.len()) {
            // On the way to the map: an object with this one key.
            None => {
                let rest = &self.at[depth..];
                let map = rest.iter().try_fold(value, |here, key| {
                    here.as_object().filter(|object| object.len() == 1).and_then(|object| object.get(key))
                });
                map.is_some_and(|map| self.is_ours(self.at.len(), map))
            }
            Some(0) => non_empty(value.as_object().map(Map::values), |event| self.holds_only_ours(event)),
            Some(1) => self.holds_only_ours(value),
            Some(2) => self.is_group_of_ours(value),
            Some(_) => self.is_handler_of_ours(value),
        }
    }

    fn holds_only_ours(&self, event: &Value) -> bool {
        non_empty(event.as_array(), |group| self.is_group_of_ours(group))
    }

    fn is_group_of_ours(&self, group: &Value) -> bool {
        match group.get("hooks") {
            Some(handlers) => non_empty(handlers.as_array(), |h| self.is_handler_of_ours(h)),
            None => self.is_handler_of_ours(group),
        }
    }

    fn is_handler_of_ours(&self, handler: &Value) -> bool {
        handler.as_object().is_some_and(|handler| owned_value_by(self.harness, handler).is_some())
    }

    /// Whether an operation on a document touches only what is ours.
    pub(crate) fn may(&self, doc: &Value, op: &PatchOperation) -> bool {
        let path: Vec<String> = op.path().tokens().map(|token| token.decoded().into_owned()).collect();
        let depth = path.len();
        let on_the_way = path.iter().zip(self.at).all(|(a, b)| a == b);
        let there = op.path().resolve(doc).ok();
        // Below an event: 2 is a group (3: a key of it), 4 is a handler (5: a key of it).
        let owner = |levels: usize| pointer(&path[..self.at.len() + levels]);
        let is_key_of_ours = match depth.checked_sub(self.at.len()) {
            Some(3) if path.last().is_none_or(|key| key != "hooks") => {
                owner(2).resolve(doc).is_ok_and(|group| self.is_group_of_ours(group))
            }
            Some(5) => owner(4).resolve(doc).is_ok_and(|handler| self.is_handler_of_ours(handler)),
            _ => false,
        };
        on_the_way
            && match op {
                PatchOperation::Add(add) => is_key_of_ours || (there.is_none() && self.is_ours(depth, &add.value)),
                PatchOperation::Remove(_) => is_key_of_ours || there.is_some_and(|value| self.is_ours(depth, value)),
                PatchOperation::Replace(replace) => {
                    is_key_of_ours || (path.is_empty() && doc.is_null() && self.is_ours(depth, &replace.value))
                }
                _ => false,
            }
    }

    /// The document with nothing in it but the map of events: what an edit may touch.
    fn skeleton(&self, doc: &Doc<'_>) -> Value {
        let Some(mut here) = doc.root.as_ref() else { return Value::Null };
        for (depth, key) in self.at.iter().enumerate() {
            let Some((_, prop)) = here.as_object().and_then(|o| get(o, key)) else {
                return nest(&self.at[..depth], json!({}));
            };
            here = &prop.value;
        }
        nest(self.at, to_value(here))
    }

    /// Whether two documents are the same outside of the map of events.
    fn same_elsewhere(&self, before: &Doc<'_>, after: &Doc<'_>) -> bool {
        let (Some(after), before) = (after.root.as_ref(), before.root.as_ref()) else {
            return before.root.is_none();
        };
        let Some(mut a) = before else { return after.as_object().is_some_and(|o| o.properties.len() == 1) };
        let mut b = after;
        for key in self.at {
            let (Some(left), Some(right)) = (a.as_object(), b.as_object()) else { return false };
            let (in_left, in_right) = (get(left, key), get(right, key));
            let others = |object: &Object<'_>, skip: Option<usize>| {
                (0..object.properties.len()).filter(|i| Some(*i) != skip).collect::<Vec<_>>()
            };
            let (ls, rs) = (others(left, in_left.map(|l| l.0)), others(right, in_right.map(|r| r.0)));
            let equal = ls.len() == rs.len()
                && ls.iter().zip(&rs).all(|(l, r)| {
                    let (l, r) = (&left.properties[*l], &right.properties[*r]);
                    l.name.as_str() == r.name.as_str() && same(&l.value, &r.value)
                });
            if !equal {
                return false;
            }
            match (in_left, in_right) {
                (Some((_, l)), Some((_, r))) => (a, b) = (&l.value, &r.value),
                _ => return true,
            }
        }
        true
    }
}

fn non_empty<T>(values: Option<impl IntoIterator<Item = T>>, all: impl FnMut(T) -> bool) -> bool {
    let Some(values) = values else { return false };
    let mut values = values.into_iter().peekable();
    values.peek().is_some() && values.all(all)
}

/// Makes the splices in a text, and checks that the result means what was wanted and that this is ours alone.
pub(super) fn finish(hooks: &Hooks<'_>, before: &Doc<'_>, text: &str, draft: Draft) -> Result<Edited, Refusal> {
    let Draft { mut edited, splices, ops } = draft;
    if ops.is_empty() {
        return Ok(edited);
    }
    edited.text = splice(text, splices).ok_or(Refusal::Unsafe("overlapping splices"))?;
    let sane = escape_lone_surrogates(&edited.text);
    let after = parse(&sane).map_err(|_| Refusal::Unsafe("the result would not parse"))?;
    let mut expected = hooks.skeleton(before);
    for op in &ops {
        if !hooks.may(&expected, op) {
            return Err(Refusal::Unsafe("an operation on what is not ours"));
        }
        let one = std::slice::from_ref(op);
        json_patch::patch(&mut expected, one).map_err(|_| Refusal::Unsafe("an operation that does not apply"))?;
    }
    if hooks.skeleton(&after) != expected || !hooks.same_elsewhere(before, &after) {
        return Err(Refusal::Unsafe("the result would mean something else"));
    }
    edited.patch = Patch(ops);
    Ok(edited)
}
