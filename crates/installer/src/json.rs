//! Hook entries in a JSON(C) document.
//!
//! `jsonc-parser` tells where things are; its ranges are all that is used of it. An edit removes, updates in place and
//! appends, in that order, and records each step as an RFC 6902 operation. (A general diff would not do: where an
//! element goes it rewrites all that follow.) In the end [`guard`] parses the result and compares.

mod document;
mod drop_in;
mod guard;
mod members;
mod style;

pub(crate) use drop_in::{DropIn, entries as drop_in_entries};
pub(crate) use members::Members;

use std::collections::BTreeSet;

use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, PatchOperation, RemoveOperation, ReplaceOperation};
use jsonc_parser::ast::{Array, Object, Value as Ast};
use jsonc_parser::common::Ranged;
use serde_json::{Map, Value, json};
use sessionpipe_core::command::{self, Owned};
use sessionpipe_core::wiring::HookEntry;

use self::document::{Doc, array, container, escape_lone_surrogates, get, kind, object, parse, to_value};
use self::style::{Style, levels, new_levels};
use crate::edit::{Containers, Edited};
use crate::refusal::{Place, Refusal};
use crate::splice::{Splice, newline_at, splice};
use crate::status::Fault;

/// Handlers of ours in one document.
pub(crate) struct Hooks<'a> {
    /// The harness that handlers of ours must name.
    pub(crate) harness: &'a str,
    /// The keys that lead to the map of events.
    pub(crate) at: &'a [String],
    /// What must be there; empty to take all of ours out.
    pub(crate) entries: &'a [HookEntry],
    /// Which containers go when the last handler in them goes.
    pub(crate) containers: &'a Containers,
}

/// The keys of a handler that hold a shell command.
const COMMANDS: [&str; 3] = ["command", "bash", "powershell"];

/// What an entry wants: a handler, alone or in a group.
struct Wanted<'a> {
    event: &'a str,
    value: &'a Value,
    /// The group's own keys; `None`: the handler stands in the event's array itself.
    group: Option<Vec<(&'a String, &'a Value)>>,
    handler: &'a Map<String, Value>,
}

/// A handler of ours in the array of an event.
struct Ours {
    /// The element of the array.
    group: usize,
    /// The element of the group's `hooks`; `None` where the array holds the handler without a group.
    handler: Option<usize>,
    owned: Owned,
}

/// The array of one event.
struct Event<'d, 'a> {
    name: &'d str,
    /// Its index in the map of events.
    prop: usize,
    array: &'d Array<'a>,
    ours: Vec<Ours>,
}

/// The map of events of a document.
struct Events<'d, 'a> {
    doc: &'d Doc<'a>,
    map: &'d Object<'a>,
    /// Those that hold handlers of ours, and those that are wanted.
    events: Vec<Event<'d, 'a>>,
}

/// An update in place of a handler that is kept, or of its group.
struct Update<'w> {
    /// The handler within its group; `None`: the group itself.
    handler: Option<usize>,
    key: &'w str,
    /// `None`: the key goes.
    value: Option<&'w Value>,
}

/// An edit that is being made.
#[derive(Default)]
struct Draft {
    edited: Edited,
    splices: Vec<Splice>,
    ops: Vec<PatchOperation>,
}

/// Makes one edit of a text without a byte order mark.
pub(crate) fn edit(text: &str, hooks: &Hooks<'_>) -> Result<Edited, Refusal> {
    let sane = escape_lone_surrogates(text);
    let before = parse(&sane)?;
    let wanted: Vec<Wanted<'_>> = hooks.entries.iter().filter_map(wanted).collect();
    let edited = Edited { text: text.to_owned(), is_loose: !before.is_plain, ..Edited::default() };
    let mut draft = Draft { edited, ..Draft::default() };

    let Some(map) = hooks.map(&before, !wanted.is_empty())? else {
        if !wanted.is_empty() {
            draft.edited.faults.extend(wanted.iter().map(|w| Fault::Missing(w.event.to_owned())));
            hooks.create(&before, &wanted, &mut draft);
        }
        return guard::finish(hooks, &before, text, draft);
    };
    let events = hooks.events(&before, map, &wanted)?;
    hooks.survey(&events, &wanted, &mut draft.edited);
    hooks.removals(&events, &wanted, &mut draft);
    if draft.splices.is_empty() {
        hooks.additions(&events, &wanted, &mut draft);
        return guard::finish(hooks, &before, text, draft);
    }
    // Positions have moved: parse again before the rest.
    let between = splice(text, std::mem::take(&mut draft.splices)).ok_or(Refusal::Unsafe("overlapping splices"))?;
    let sane = escape_lone_surrogates(&between);
    let doc = parse(&sane).map_err(|_| Refusal::Unsafe("the result would not parse"))?;
    match hooks.map(&doc, false)? {
        Some(map) => hooks.additions(&hooks.events(&doc, map, &wanted)?, &wanted, &mut draft),
        None if !wanted.is_empty() => hooks.create(&doc, &wanted, &mut draft),
        None => {}
    }
    guard::finish(hooks, &before, &between, draft)
}

/// The value of a document, for comparing. A blank one counts as an empty object.
pub(crate) fn value(text: &str) -> Option<Value> {
    let sane = escape_lone_surrogates(text);
    let doc = parse(&sane).ok()?;
    Some(doc.root.as_ref().map_or_else(|| json!({}), to_value))
}

/// Whether nothing is left in a document: blank, or an empty object without comments.
pub(crate) fn is_empty(text: &str) -> bool {
    let mut rest = text.chars().filter(|c| !c.is_whitespace()).take(3);
    matches!((rest.next(), rest.next(), rest.next()), (None, ..) | (Some('{'), Some('}'), None))
}

/// The handlers of ours in a document: event and handler, for comparing.
pub(crate) fn entries(text: &str, harness: &str, at: &[String]) -> Vec<(String, Value)> {
    let sane = escape_lone_surrogates(text);
    let hooks = Hooks { harness, at, entries: &[], containers: &Containers::All };
    let Ok(doc) = parse(&sane) else { return Vec::new() };
    let Ok(Some(map)) = hooks.map(&doc, false) else { return Vec::new() };
    let Ok(events) = hooks.events(&doc, map, &[]) else { return Vec::new() };
    let of_event = |event: &Event<'_, '_>| {
        let values = event.ours.iter().filter_map(|ours| event.handler(ours)).map(to_value);
        values.map(|value| (event.name.to_owned(), value)).collect::<Vec<_>>()
    };
    events.events.iter().flat_map(of_event).collect()
}

/// A document of ours, one line per event.
pub(crate) fn whole_text(value: &Value) -> String {
    format!("{}\n", Style::default().render(value, &new_levels(1), "", "\n"))
}

/// The document that a person would paste.
pub(crate) fn paste(members: &[(String, u64)], at: &[String], entries: &[HookEntry]) -> String {
    let wanted: Vec<Wanted<'_>> = entries.iter().filter_map(wanted).collect();
    let mut value: Map<String, Value> = members.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
    if let Value::Object(hooks) = nest(at, events_value(&wanted)) {
        value.extend(hooks);
    }
    format!("{}\n", Style::default().render(&value.into(), &new_levels(at.len()), "", "\n"))
}

fn wanted(entry: &HookEntry) -> Option<Wanted<'_>> {
    let value = entry.value.as_object()?;
    let (group, handler) = match value.get("hooks") {
        Some(handlers) => {
            let group = value.iter().filter(|(key, _)| *key != "hooks").collect();
            (Some(group), handlers.as_array()?.first()?.as_object()?)
        }
        None => (None, value),
    };
    Some(Wanted { event: entry.event, value: &entry.value, group, handler })
}

/// The handlers of a group.
fn handlers<'d, 'a>(group: &'d Ast<'a>) -> Option<&'d Array<'a>> {
    get(group.as_object()?, "hooks")?.1.value.as_array()
}

fn owned_by(harness: &str, handler: &Ast<'_>) -> Option<Owned> {
    let handler = handler.as_object()?;
    let commands = COMMANDS.iter().filter_map(|key| get(handler, key)?.1.value.as_string_lit());
    all_owned(harness, commands.map(|command| &*command.value))
}

/// The same for a value.
fn owned_value_by(harness: &str, handler: &Map<String, Value>) -> Option<Owned> {
    all_owned(harness, COMMANDS.iter().filter_map(|key| handler.get(*key)?.as_str()))
}

/// The first of a handler's commands, when all of them are ours.
fn all_owned<'a>(harness: &str, commands: impl Iterator<Item = &'a str>) -> Option<Owned> {
    let mut first = None;
    for command in commands {
        let owned = command::owned(command).filter(|owned| owned.harness == harness)?;
        first.get_or_insert(owned);
    }
    first
}

/// Whether a key stands there more than once: without its last place the one before it would count.
fn is_double(object: &Object<'_>, key: &str) -> bool {
    object.properties.iter().filter(|prop| prop.name.as_str() == key).count() > 1
}

/// What a matcher lets through; none, `""`, `*` and `.*` are all the same to the harnesses.
fn matcher(value: Option<Value>) -> Option<Value> {
    value.filter(|v| !matches!(v.as_str(), Some("" | "*" | ".*")))
}

fn group_matcher(group: &Object<'_>) -> Option<Value> {
    matcher(get(group, "matcher").map(|(_, prop)| to_value(&prop.value)))
}

fn pointer(keys: &[String]) -> PointerBuf {
    PointerBuf::from_tokens(keys.iter().map(String::as_str))
}

fn add_op(path: PointerBuf, value: Value) -> PatchOperation {
    PatchOperation::Add(AddOperation { path, value })
}

fn remove_op(path: PointerBuf) -> PatchOperation {
    PatchOperation::Remove(RemoveOperation { path })
}

fn events_value(wanted: &[Wanted<'_>]) -> Value {
    Value::Object(wanted.iter().map(|w| (w.event.to_owned(), json!([w.value]))).collect())
}

/// A value below the keys that lead to it.
fn nest(keys: &[String], value: Value) -> Value {
    keys.iter().rev().fold(value, |inner, key| Value::Object(Map::from_iter([(key.clone(), inner)])))
}

impl<'a> Wanted<'a> {
    fn group_value(&self, key: &str) -> Option<&'a Value> {
        self.group.iter().flatten().find(|(known, _)| *known == key).map(|(_, value)| *value)
    }
}

impl<'d, 'a> Event<'d, 'a> {
    fn group(&self, ours: &Ours) -> Option<&'d Ast<'a>> {
        self.array.elements.get(ours.group)
    }

    fn handler(&self, ours: &Ours) -> Option<&'d Ast<'a>> {
        let group = self.group(ours)?;
        match ours.handler {
            Some(index) => handlers(group)?.elements.get(index),
            None => Some(group),
        }
    }

    /// Whether every handler in a group is ours.
    fn is_group_ours(&self, group: usize) -> bool {
        let all = self.array.elements.get(group).and_then(handlers).map_or(0, |handlers| handlers.elements.len());
        let ours = self.ours.iter().filter(|o| o.group == group && o.handler.is_some()).count();
        ours > 0 && ours == all
    }

    /// The handler that is kept and made as wanted: the first in a group that lets through what is wanted, or that can
    /// be made to since nobody else is in it. Without a group: the first without one.
    fn keeper(&self, wanted: &Wanted<'_>) -> Option<&Ours> {
        if wanted.group.is_none() {
            return self.ours.iter().find(|ours| ours.handler.is_none());
        }
        let want = matcher(wanted.group_value("matcher").cloned());
        self.ours.iter().find(|ours| {
            let group = self.group(ours).and_then(Ast::as_object).filter(|_| ours.handler.is_some());
            group.is_some_and(|group| self.is_group_ours(ours.group) || group_matcher(group) == want)
        })
    }

    /// What must change in a handler that is kept, and in its group. Other keys in them are the person's.
    fn updates<'w>(&self, keeper: &Ours, want: &'w Wanted<'_>) -> Vec<Update<'w>> {
        let mut updates = Vec::new();
        let Some(handler) = self.handler(keeper).and_then(Ast::as_object) else { return updates };
        let Some(group) = self.group(keeper).and_then(Ast::as_object) else { return updates };
        let there = |object: &Object<'_>, key: &str| get(object, key).map(|(_, prop)| to_value(&prop.value));
        for (key, value) in want.handler {
            if there(handler, key).as_ref() != Some(value) {
                updates.push(Update { handler: keeper.handler, key, value: Some(value) });
            }
        }
        let Some(keys) = &want.group else {
            if !want.handler.contains_key("matcher") && group_matcher(handler).is_some() {
                updates.push(Update { handler: None, key: "matcher", value: None });
            }
            return updates;
        };
        if !self.is_group_ours(keeper.group) {
            return updates;
        }
        for (key, value) in keys {
            let is_equal = *key == "matcher" && group_matcher(group) == matcher(Some((*value).clone()));
            if !is_equal && there(group, key).as_ref() != Some(*value) {
                updates.push(Update { handler: None, key, value: Some(value) });
            }
        }
        if want.group_value("matcher").is_none() && group_matcher(group).is_some() {
            updates.push(Update { handler: None, key: "matcher", value: None });
        }
        updates
    }
}

impl Hooks<'_> {
    /// The path of something in the map of events.
    fn path(&self, rest: &[&str]) -> PointerBuf {
        PointerBuf::from_tokens(self.at.iter().map(String::as_str).chain(rest.iter().copied()))
    }

    /// The map of events; `None` where it, or something on the way to it, is not there.
    fn map<'d, 'a>(&self, doc: &'d Doc<'a>, must: bool) -> Result<Option<&'d Object<'a>>, Refusal> {
        let Some(mut here) = doc.root.as_ref() else { return Ok(None) };
        for depth in 0..=self.at.len() {
            let Ast::Object(object) = here else {
                // Where nothing is to be added, a document without room for hooks is one without ours.
                return if must { Err(wrong_type(doc, here, &self.at[..depth], "an object")) } else { Ok(None) };
            };
            let Some(key) = self.at.get(depth) else { return Ok(Some(object)) };
            let Some((_, prop)) = get(object, key) else { return Ok(None) };
            here = &prop.value;
        }
        Ok(None)
    }

    fn events<'d, 'a>(
        &self,
        doc: &'d Doc<'a>,
        map: &'d Object<'a>,
        wanted: &[Wanted<'_>],
    ) -> Result<Events<'d, 'a>, Refusal> {
        let mut events = Vec::new();
        for (prop, member) in map.properties.iter().enumerate() {
            let name = member.name.as_str();
            if get(map, name).is_none_or(|(last, _)| last != prop) {
                continue;
            }
            let is_wanted = wanted.iter().any(|w| w.event == name);
            let Ast::Array(array) = &member.value else {
                if is_wanted {
                    let path: Vec<String> = self.at.iter().cloned().chain([name.to_owned()]).collect();
                    return Err(wrong_type(doc, &member.value, &path, "an array"));
                }
                continue;
            };
            let ours = self.ours(array);
            if is_wanted || !ours.is_empty() {
                events.push(Event { name, prop, array, ours });
            }
        }
        Ok(Events { doc, map, events })
    }

    fn ours(&self, array: &Array<'_>) -> Vec<Ours> {
        let mut ours = Vec::new();
        for (group, element) in array.elements.iter().enumerate() {
            let mut find = |handler: Option<usize>, value: &Ast<'_>| {
                ours.extend(owned_by(self.harness, value).map(|owned| Ours { group, handler, owned }));
            };
            match handlers(element) {
                Some(handlers) => handlers.elements.iter().enumerate().for_each(|(i, value)| find(Some(i), value)),
                None => find(None, element),
            }
        }
        ours
    }

    /// What is there, and what is wrong with it.
    fn survey(&self, events: &Events<'_, '_>, wanted: &[Wanted<'_>], edited: &mut Edited) {
        for event in &events.events {
            edited.handlers += event.ours.len();
            edited.programs.extend(event.ours.iter().map(|ours| ours.owned.program.clone()));
            let name = || event.name.to_owned();
            let Some(want) = wanted.iter().find(|w| w.event == event.name) else {
                edited.faults.push(Fault::Obsolete(name()));
                continue;
            };
            if event.ours.len() > 1 {
                edited.faults.push(Fault::Duplicate(name()));
            }
            let Some(keeper) = event.keeper(want) else {
                let is_missing = event.ours.is_empty();
                edited.faults.push(if is_missing { Fault::Missing(name()) } else { Fault::Misplaced(name()) });
                continue;
            };
            let command = owned_value_by(self.harness, want.handler);
            if command.is_some_and(|command| command.program != keeper.owned.program) {
                edited.faults.push(Fault::OldPath(name()));
            } else if !event.updates(keeper, want).is_empty() {
                edited.faults.push(Fault::Differs(name()));
            }
        }
        let missing = wanted.iter().filter(|w| get(events.map, w.event).is_none());
        edited.faults.extend(missing.map(|w| Fault::Missing(w.event.to_owned())));
    }

    /// Takes out what is not kept, with the containers that this empties.
    fn removals(&self, events: &Events<'_, '_>, wanted: &[Wanted<'_>], draft: &mut Draft) {
        let text = events.doc.text;
        let mut emptied: Vec<&Event<'_, '_>> = Vec::new();
        for event in &events.events {
            let want = wanted.iter().find(|w| w.event == event.name);
            let keeper = want.and_then(|w| event.keeper(w)).map(|kept| (kept.group, kept.handler));
            let gone: Vec<&Ours> = event.ours.iter().filter(|o| Some((o.group, o.handler)) != keeper).collect();
            draft.edited.tally.removed += gone.len();
            let groups: BTreeSet<usize> = gone.iter().map(|ours| ours.group).collect();
            let is_whole = |group: &usize| {
                gone.iter().any(|ours| ours.group == *group && ours.handler.is_none())
                    || (event.is_group_ours(*group) && keeper.is_none_or(|(kept, _)| kept != *group))
            };
            let whole: Vec<usize> = groups.iter().copied().filter(is_whole).collect();
            let is_emptied = !whole.is_empty() && whole.len() == event.array.elements.len();
            let may_go = !is_double(events.map, event.name) && self.containers.may_remove(&self.path(&[event.name]));
            if is_emptied && want.is_none() && may_go {
                emptied.push(event);
                continue;
            }
            draft.splices.extend(array(event.array).remove(text, &whole));
            for group in groups.iter().rev() {
                let index = group.to_string();
                if whole.contains(group) {
                    draft.ops.push(remove_op(self.path(&[event.name, &index])));
                    continue;
                }
                let Some(handlers) = event.array.elements.get(*group).and_then(handlers) else { continue };
                let inner: Vec<usize> = gone.iter().filter(|o| o.group == *group).filter_map(|o| o.handler).collect();
                draft.splices.extend(array(handlers).remove(text, &inner));
                let path = |handler: &usize| self.path(&[event.name, &index, "hooks", &handler.to_string()]);
                draft.ops.extend(inner.iter().rev().map(|handler| remove_op(path(handler))));
            }
        }
        if emptied.is_empty() {
            return;
        }
        draft.edited.emptied.extend(emptied.iter().map(|event| self.path(&[event.name]).to_string()));
        if let Some((parent, prop, depth)) = self.emptied_ancestor(events, emptied.len()) {
            draft.splices.extend(object(parent).remove(text, &[prop]));
            draft.edited.emptied.extend((depth..=self.at.len()).map(|depth| pointer(&self.at[..depth]).to_string()));
            draft.ops.push(remove_op(pointer(&self.at[..depth])));
        } else {
            let props: Vec<usize> = emptied.iter().map(|event| event.prop).collect();
            draft.splices.extend(object(events.map).remove(text, &props));
            draft.ops.extend(emptied.iter().map(|event| remove_op(self.path(&[event.name]))));
        }
    }

    /// The outermost container on the way to the map of events that may go when so many events go: its parent, its
    /// index there, and its depth.
    fn emptied_ancestor<'d, 'a>(
        &self,
        events: &Events<'d, 'a>,
        emptied: usize,
    ) -> Option<(&'d Object<'a>, usize, usize)> {
        let mut parents = Vec::new();
        let mut here = events.doc.root.as_ref()?.as_object()?;
        for key in self.at {
            let (index, prop) = get(here, key)?;
            parents.push((here, index));
            here = prop.value.as_object()?;
        }
        let mut found = None;
        let mut is_empty = events.map.properties.len() == emptied;
        for (depth, (parent, index)) in parents.into_iter().enumerate().rev() {
            let may_go =
                !is_double(parent, &self.at[depth]) && self.containers.may_remove(&pointer(&self.at[..=depth]));
            if !is_empty || !may_go {
                break;
            }
            found = Some((parent, index, depth + 1));
            is_empty = parent.properties.len() == 1;
        }
        found
    }

    /// Updates in place what is kept, and appends what is missing.
    fn additions(&self, events: &Events<'_, '_>, wanted: &[Wanted<'_>], draft: &mut Draft) {
        let (text, root) = (events.doc.text, events.doc.root.as_ref());
        let mut new_events: Vec<&Wanted<'_>> = Vec::new();
        for want in wanted {
            let Some(event) = events.events.iter().find(|event| event.name == want.event) else {
                new_events.push(want);
                continue;
            };
            if let Some(keeper) = event.keeper(want) {
                let updates = event.updates(keeper, want);
                draft.edited.tally.updated += usize::from(!updates.is_empty());
                for update in &updates {
                    self.update(events, event, keeper, update, draft);
                }
                continue;
            }
            let here = array(event.array);
            let sibling = event.array.elements.last();
            let style = Style::sample(text, sibling.into_iter().chain(root));
            let on_lines = here.appends_on_lines(text, object(events.map).is_expanded(text));
            let levels = sibling.map_or_else(|| vec![false], |sibling| levels(text, sibling));
            let newline = here.newline(text);
            let item = style.render(want.value, &levels, &here.item_indent(text, on_lines, &style.unit), newline);
            draft.splices.extend(here.append(text, &[item], on_lines, &style.spacing()));
            let index = event.array.elements.len().to_string();
            draft.ops.push(add_op(self.path(&[event.name, &index]), want.value.clone()));
            draft.edited.tally.added += 1;
        }
        if new_events.is_empty() {
            return;
        }
        let here = object(events.map);
        let arrays =
            events.map.properties.iter().rev().map(|prop| &prop.value).filter(|value| value.as_array().is_some());
        let sibling = arrays.clone().find(|value| container(value).is_some_and(|c| !c.children.is_empty()));
        let style = Style::sample(text, sibling.into_iter().chain(root));
        let on_lines = here.appends_on_lines(text, events.doc.is_on_lines());
        let levels = sibling.map_or_else(|| vec![false], |sibling| levels(text, sibling));
        let (indent, newline) = (here.item_indent(text, on_lines, &style.unit), here.newline(text));
        let mut items = Vec::new();
        for want in new_events {
            let value = json!([want.value]);
            items.push(style.member(want.event, &value, &levels, &indent, newline));
            draft.edited.created.push(self.path(&[want.event]).to_string());
            draft.ops.push(add_op(self.path(&[want.event]), value));
            draft.edited.tally.added += 1;
        }
        draft.splices.extend(here.append(text, &items, on_lines, &style.spacing()));
    }

    /// One update in place.
    fn update(
        &self,
        events: &Events<'_, '_>,
        event: &Event<'_, '_>,
        keeper: &Ours,
        update: &Update<'_>,
        draft: &mut Draft,
    ) {
        let text = events.doc.text;
        let owner = if update.handler.is_some() { event.handler(keeper) } else { event.group(keeper) };
        let Some((node, owner)) = owner.and_then(|node| Some((node, node.as_object()?))) else { return };
        let group = keeper.group.to_string();
        let path = match update.handler {
            Some(handler) => self.path(&[event.name, &group, "hooks", &handler.to_string(), update.key]),
            None => self.path(&[event.name, &group, update.key]),
        };
        let style = Style::sample(text, [node].into_iter().chain(events.doc.root.as_ref()));
        match (get(owner, update.key), update.value) {
            (Some((_, prop)), Some(value)) => {
                let range = prop.value.start()..prop.value.end();
                draft.splices.push(Splice::replace(range, style.render(value, &[false], "", "\n")));
                draft.ops.push(PatchOperation::Replace(ReplaceOperation { path, value: value.clone() }));
            }
            (None, Some(value)) => {
                let here = object(owner);
                let item = style.member(update.key, value, &[false], "", "\n");
                let on_lines = here.appends_on_lines(text, false);
                draft.splices.extend(here.append(text, &[item], on_lines, &style.spacing()));
                draft.ops.push(add_op(path, value.clone()));
            }
            (Some((index, _)), None) => {
                draft.splices.extend(object(owner).remove(text, &[index]));
                draft.ops.push(remove_op(path));
            }
            (None, None) => {}
        }
    }

    /// Makes the map of events, with what is missing on the way to it.
    fn create(&self, doc: &Doc<'_>, wanted: &[Wanted<'_>], draft: &mut Draft) {
        let text = doc.text;
        draft.edited.tally.added += wanted.len();
        let events = events_value(wanted);
        let Some(root) = doc.root.as_ref() else {
            draft.edited.created.extend((1..=self.at.len()).map(|depth| pointer(&self.at[..depth]).to_string()));
            draft.edited.created.extend(wanted.iter().map(|w| self.path(&[w.event]).to_string()));
            let value = nest(self.at, events);
            draft.splices.push(whole_document(text, &value, self.at.len()));
            draft.ops.push(PatchOperation::Replace(ReplaceOperation { path: PointerBuf::new(), value }));
            return;
        };
        // As far as the way is there, then one member that holds the rest of it.
        let mut here = root;
        let mut depth = 0;
        while let Some((_, prop)) = self.at.get(depth).zip(here.as_object()).and_then(|(key, object)| get(object, key))
        {
            here = &prop.value;
            depth += 1;
        }
        let (Some(parent), Some(key)) = (here.as_object(), self.at.get(depth)) else { return };
        let missing = depth + 1..=self.at.len();
        draft.edited.created.extend(missing.map(|depth| pointer(&self.at[..depth]).to_string()));
        draft.edited.created.extend(wanted.iter().map(|w| self.path(&[w.event]).to_string()));
        let style = Style::sample(text, [root]);
        let at = object(parent);
        let on_lines = at.appends_on_lines(text, doc.is_on_lines());
        // One line per event, unless the neighbours are spread out further (or the document is one line).
        let mut spread = vec![on_lines; self.at.len() - depth];
        let mut neighbours = parent.properties.iter().rev().map(|prop| &prop.value);
        let neighbour = neighbours.find(|value| container(value).is_some_and(|c| !c.children.is_empty()));
        match neighbour.map(|neighbour| levels(text, neighbour)) {
            Some(chain) if on_lines && chain.len() > 1 => spread.extend(&chain[1..]),
            _ => spread.push(false),
        }
        let (indent, newline) = (at.item_indent(text, on_lines, &style.unit), at.newline(text));
        let value = nest(&self.at[depth + 1..], events);
        let item = style.member(key, &value, &spread, &indent, newline);
        draft.splices.extend(at.append(text, &[item], on_lines, &style.spacing()));
        draft.ops.push(add_op(pointer(&self.at[..=depth]), value));
    }
}

/// A value where there is no document yet: blank, or comments alone.
fn whole_document(text: &str, value: &Value, depth: usize) -> Splice {
    let newline = newline_at(text, text.len());
    let rendered = Style::default().render(value, &new_levels(depth), "", newline);
    if text.trim().is_empty() {
        let ending = if text.contains('\n') { "" } else { newline };
        Splice::insert(0, format!("{rendered}{ending}"))
    } else {
        // The comments stay in front.
        let lead = if text.ends_with('\n') { "" } else { newline };
        Splice::insert(text.len(), format!("{lead}{rendered}{newline}"))
    }
}

fn wrong_type(doc: &Doc<'_>, found: &Ast<'_>, path: &[String], expected: &'static str) -> Refusal {
    let what = if path.is_empty() { "the document".to_owned() } else { path.join(".") };
    Refusal::WrongType { place: Place::of(doc.text, found.start()), what, expected, found: kind(found) }
}
