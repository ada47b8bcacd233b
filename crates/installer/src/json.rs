//! Hook entries in a JSON(C) document.
//!
//! `jsonc-parser` tells where things are; its ranges are all that is used of it. An edit removes, updates in place and
//! appends, in that order, and records each step as an RFC 6902 operation. In the end the result is parsed again: it
//! must be the old value with exactly these operations applied, and each operation may concern nothing but handlers of
//! ours and containers that hold nothing else.

use std::borrow::Cow;
use std::collections::BTreeSet;

use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, Patch, PatchOperation, RemoveOperation, ReplaceOperation};
use jsonc_parser::ast::{Array, Object, ObjectProp, Value as Ast};
use jsonc_parser::common::Ranged;
use jsonc_parser::errors::ParseErrorKind;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, Value, json};
use sessionpipe_core::command::{self, Owned};
use sessionpipe_core::wiring::HookEntry;

use crate::edit::{Containers, Edited};
use crate::refusal::{Place, Refusal};
use crate::splice::{Comments, Container, Spacing, Splice, line_indent, newline_at, splice, split_bom};
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

/// What an entry wants: the group's own keys, and its one handler.
struct Wanted<'a> {
    event: &'a str,
    value: &'a Value,
    group: Vec<(&'a String, &'a Value)>,
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

/// A parsed document.
struct Doc<'a> {
    root: Option<Ast<'a>>,
}

const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

const LENIENT: ParseOptions = ParseOptions { allow_comments: true, allow_trailing_commas: true, ..STRICT };

/// Makes one edit of a text without a byte order mark.
pub(crate) fn edit(text: &str, hooks: &Hooks<'_>) -> Result<Edited, Refusal> {
    let sane = escape_lone_surrogates(text);
    let (before, _) = parse(&sane)?;
    let wanted: Vec<Wanted<'_>> = hooks.entries.iter().filter_map(wanted).collect();
    let mut edited = Edited { text: text.to_owned(), ..Edited::default() };
    let mut ops = Vec::new();

    let Some(map) = hooks.map(&sane, &before, !wanted.is_empty())? else {
        edited.faults = wanted.iter().map(|w| Fault::Missing(w.event.to_owned())).collect();
        if !wanted.is_empty() {
            let splices = hooks.create(&sane, &before, &wanted, &mut edited, &mut ops);
            return finish(text, &before, splices, edited, ops, hooks);
        }
        return Ok(edited);
    };

    let events = hooks.events(&sane, map, &wanted)?;
    hooks.survey(map, &events, &wanted, &mut edited);
    let removals = hooks.removals(&sane, &before, map, &events, &wanted, &mut edited, &mut ops);
    if removals.is_empty() {
        let splices = hooks.additions(&sane, &before, map, &events, &wanted, &mut edited, &mut ops);
        return finish(text, &before, splices, edited, ops, hooks);
    }
    // Positions have moved: parse again before the rest.
    let between = splice(text, removals).ok_or(Refusal::Unsafe("overlapping splices"))?;
    let sane = escape_lone_surrogates(&between);
    let (doc, _) = parse(&sane)?;
    let mut splices = Vec::new();
    if let Some(map) = hooks.map(&sane, &doc, false)? {
        let events = hooks.events(&sane, map, &wanted)?;
        splices = hooks.additions(&sane, &doc, map, &events, &wanted, &mut edited, &mut ops);
    }
    finish(&between, &before, splices, edited, ops, hooks)
}

/// The value of a document, for comparing. A blank one counts as an empty object.
pub(crate) fn value(text: &str) -> Option<Value> {
    let sane = escape_lone_surrogates(text);
    let (doc, _) = parse(&sane).ok()?;
    Some(doc.root.as_ref().map_or_else(|| json!({}), to_value))
}

/// Whether a document has neither comments nor trailing commas, as the strictest readers want it.
pub(crate) fn is_plain(text: &str) -> bool {
    let (_, text) = split_bom(text);
    parse(&escape_lone_surrogates(text)).is_ok_and(|(_, is_plain)| is_plain)
}

/// Whether nothing is left in a document: blank, or an empty object without comments.
pub(crate) fn is_empty(text: &str) -> bool {
    let compact: String = text.split_whitespace().collect();
    compact.is_empty() || compact == "{}"
}

/// The handlers of ours in a document: event and handler, for comparing and counting.
pub(crate) fn entries(text: &str, harness: &str, at: &[String]) -> Vec<(String, Value)> {
    let sane = escape_lone_surrogates(text);
    let Ok((doc, _)) = parse(&sane) else { return Vec::new() };
    let containers = Containers::All;
    let hooks = Hooks { harness, at, entries: &[], containers: &containers };
    let Ok(Some(map)) = hooks.map(&sane, &doc, false) else { return Vec::new() };
    let events = hooks.events(&sane, map, &[]).unwrap_or_default();
    let mut entries = Vec::new();
    for event in &events {
        for ours in &event.ours {
            if let Some(handler) = event.handler(ours) {
                entries.push((event.name.to_owned(), to_value(handler)));
            }
        }
    }
    entries
}

/// The document that a person would paste.
pub(crate) fn paste(at: &[String], entries: &[HookEntry]) -> String {
    let style = Style::default();
    let wanted: Vec<Wanted<'_>> = entries.iter().filter_map(wanted).collect();
    let value = nest(at, events_value(&wanted));
    let mut out = style.render(&value, &new_levels(at.len()), "", "\n");
    out.push('\n');
    out
}

fn parse(text: &str) -> Result<(Doc<'_>, bool), Refusal> {
    let collect = CollectOptions::default();
    let (root, is_plain) = match parse_to_ast(text, &collect, &STRICT) {
        Ok(result) => (result.value, true),
        Err(_) => match parse_to_ast(text, &collect, &LENIENT) {
            Ok(result) => (result.value, false),
            Err(error) => return Err(syntax(text, error.range().start, error.kind())),
        },
    };
    if let Some(at) = root.as_ref().and_then(|root| control_character(text, root)) {
        let message = "a control character in a string must be escaped".to_owned();
        return Err(Refusal::Syntax { place: Place::of(text, at), message });
    }
    Ok((Doc { root }, is_plain))
}

fn syntax(text: &str, at: usize, kind: &ParseErrorKind) -> Refusal {
    let found = |expected: &str| match text.get(at..).and_then(|rest| rest.chars().next()) {
        Some(c) => format!("expected {expected}, found `{c}`"),
        None => format!("expected {expected}, found the end of the file"),
    };
    let message = match kind {
        ParseErrorKind::UnexpectedComma
        | ParseErrorKind::UnexpectedColon
        | ParseErrorKind::UnexpectedCloseBrace
        | ParseErrorKind::UnexpectedCloseBracket
        | ParseErrorKind::UnexpectedWord
        | ParseErrorKind::UnexpectedToken
        | ParseErrorKind::ExpectedObjectValue => found("a value"),
        ParseErrorKind::UnexpectedTokenInObject | ParseErrorKind::ExpectedStringObjectProperty => {
            found("a key in double quotes or `}`")
        }
        ParseErrorKind::ExpectedColonAfterObjectKey => found("`:` after the key"),
        ParseErrorKind::ExpectedComma => "expected `,` or the end of the container after this value".to_owned(),
        ParseErrorKind::MultipleRootJsonValues => found("the end of the file"),
        ParseErrorKind::UnterminatedObject => "this `{` is never closed".to_owned(),
        ParseErrorKind::UnterminatedArray => "this `[` is never closed".to_owned(),
        ParseErrorKind::SingleQuotedStringsNotAllowed => "strings need double quotes".to_owned(),
        ParseErrorKind::NestingDepthExceeded => "nested deeper than 512 levels".to_owned(),
        other => {
            let text = other.to_string();
            let mut chars = text.chars();
            chars.next().map_or_else(String::new, |c| c.to_lowercase().chain(chars).collect())
        }
    };
    Refusal::Syntax { place: Place::of(text, at), message }
}

/// JSON allows `"\ud800"` alone; the parser does not. The escapes are replaced by others of the same length, so that
/// all ranges hold for the person's text.
fn escape_lone_surrogates(text: &str) -> Cow<'_, str> {
    let mut out: Option<Vec<u8>> = None;
    let bytes = text.as_bytes();
    let unit = |at: usize| -> Option<u16> {
        let hex = text.get(at..at + 6)?.strip_prefix("\\u")?;
        hex.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u16::from_str_radix(hex, 16).ok())?
    };
    let mut at = 0;
    while let Some(found) = bytes[at..].iter().position(|b| *b == b'\\') {
        at += found;
        match unit(at) {
            Some(0xd800..=0xdbff) if matches!(unit(at + 6), Some(0xdc00..=0xdfff)) => at += 12,
            Some(0xd800..=0xdfff) => {
                out.get_or_insert_with(|| bytes.to_vec())[at..at + 6].copy_from_slice(b"\\ufffd");
                at += 6;
            }
            _ => at = (at + 2).min(bytes.len()),
        }
    }
    match out.map(String::from_utf8) {
        Some(Ok(text)) => Cow::Owned(text),
        _ => Cow::Borrowed(text),
    }
}

fn control_character(text: &str, value: &Ast<'_>) -> Option<usize> {
    let in_string = |start: usize, end: usize| {
        text.as_bytes()[start..end].iter().position(|b| *b < b' ').map(|at| start + at)
    };
    match value {
        Ast::StringLit(s) => in_string(s.range.start, s.range.end),
        Ast::Array(a) => a.elements.iter().find_map(|v| control_character(text, v)),
        Ast::Object(o) => o.properties.iter().find_map(|p| {
            let name = p.name.range();
            in_string(name.start, name.end).or_else(|| control_character(text, &p.value))
        }),
        _ => None,
    }
}

fn wanted(entry: &HookEntry) -> Option<Wanted<'_>> {
    let group = entry.value.as_object()?;
    let handler = group.get("hooks")?.as_array()?.first()?.as_object()?;
    let group = group.iter().filter(|(key, _)| *key != "hooks").collect();
    Some(Wanted { event: entry.event, value: &entry.value, group, handler })
}

/// The value of a key; where it is there twice the last one counts, as it does for the readers.
fn get<'d, 'a>(object: &'d Object<'a>, key: &str) -> Option<(usize, &'d ObjectProp<'a>)> {
    object.properties.iter().enumerate().rev().find(|(_, p)| p.name.as_str() == key)
}

fn to_value(ast: &Ast<'_>) -> Value {
    match ast {
        Ast::StringLit(s) => Value::String(s.value.clone().into_owned()),
        Ast::NumberLit(n) => serde_json::from_str(n.value).unwrap_or_else(|_| Value::String(n.value.to_owned())),
        Ast::BooleanLit(b) => Value::Bool(b.value),
        Ast::NullKeyword(_) => Value::Null,
        Ast::Array(a) => Value::Array(a.elements.iter().map(to_value).collect()),
        Ast::Object(o) => {
            Value::Object(o.properties.iter().map(|p| (p.name.as_str().to_owned(), to_value(&p.value))).collect())
        }
    }
}

/// Whether two documents are the same but for their places.
fn same(a: &Ast<'_>, b: &Ast<'_>) -> bool {
    match (a, b) {
        (Ast::StringLit(a), Ast::StringLit(b)) => a.value == b.value,
        (Ast::NumberLit(a), Ast::NumberLit(b)) => a.value == b.value,
        (Ast::BooleanLit(a), Ast::BooleanLit(b)) => a.value == b.value,
        (Ast::NullKeyword(_), Ast::NullKeyword(_)) => true,
        (Ast::Array(a), Ast::Array(b)) => {
            a.elements.len() == b.elements.len() && a.elements.iter().zip(&b.elements).all(|(a, b)| same(a, b))
        }
        (Ast::Object(a), Ast::Object(b)) => {
            a.properties.len() == b.properties.len()
                && a.properties
                    .iter()
                    .zip(&b.properties)
                    .all(|(a, b)| a.name.as_str() == b.name.as_str() && same(&a.value, &b.value))
        }
        _ => false,
    }
}

fn kind(ast: &Ast<'_>) -> &'static str {
    match ast {
        Ast::StringLit(_) => "a string",
        Ast::NumberLit(_) => "a number",
        Ast::BooleanLit(_) => "a boolean",
        Ast::NullKeyword(_) => "null",
        Ast::Array(_) => "an array",
        Ast::Object(_) => "an object",
    }
}

fn object(o: &Object<'_>) -> Container {
    Container {
        open: o.range.start,
        close: o.range.end - 1,
        children: o.properties.iter().map(|p| p.range.start..p.range.end).collect(),
        comments: Comments::Slashes,
    }
}

fn array(a: &Array<'_>) -> Container {
    Container {
        open: a.range.start,
        close: a.range.end - 1,
        children: a.elements.iter().map(|e| e.start()..e.end()).collect(),
        comments: Comments::Slashes,
    }
}

fn container(ast: &Ast<'_>) -> Option<Container> {
    match ast {
        Ast::Object(o) => Some(object(o)),
        Ast::Array(a) => Some(array(a)),
        _ => None,
    }
}

fn group_handlers<'d, 'a>(group: &'d Ast<'a>) -> Option<(usize, &'d Array<'a>)> {
    let (index, prop) = get(group.as_object()?, "hooks")?;
    Some((index, prop.value.as_array()?))
}

fn owned_by(harness: &str, handler: &Ast<'_>) -> Option<Owned> {
    let (_, prop) = get(handler.as_object()?, "command")?;
    command::owned(&prop.value.as_string_lit()?.value).filter(|owned| owned.harness == harness)
}

/// What a group's matcher lets through; none, `""`, `*` and `.*` are all the same to the harnesses.
fn matcher(value: Option<Value>) -> Option<Value> {
    value.filter(|v| !matches!(v.as_str(), Some("" | "*" | ".*")))
}

fn pointer<'a>(segments: impl IntoIterator<Item = &'a str>) -> PointerBuf {
    PointerBuf::from_tokens(segments)
}

impl<'d, 'a> Event<'d, 'a> {
    fn handler(&self, ours: &Ours) -> Option<&'d Ast<'a>> {
        let group = self.array.elements.get(ours.group)?;
        match ours.handler {
            Some(index) => group_handlers(group)?.1.elements.get(index),
            None => Some(group),
        }
    }

    /// Whether every handler in a group is ours.
    fn is_group_ours(&self, group: usize) -> bool {
        let handlers = self.array.elements.get(group).and_then(group_handlers).map_or(0, |(_, a)| a.elements.len());
        let ours = self.ours.iter().filter(|o| o.group == group && o.handler.is_some()).count();
        ours > 0 && ours == handlers
    }

    /// The handler that is kept and made as wanted: the first in a group that lets through what is wanted, or that can
    /// be made to since nobody else is in it.
    fn keeper(&self, wanted: &Wanted<'_>) -> Option<&Ours> {
        let want = matcher(wanted.group.iter().find(|(k, _)| *k == "matcher").map(|(_, v)| (*v).clone()));
        self.ours.iter().find(|ours| {
            let group = self.array.elements.get(ours.group).and_then(Ast::as_object);
            ours.handler.is_some()
                && group.is_some_and(|g| {
                    self.is_group_ours(ours.group)
                        || matcher(get(g, "matcher").map(|(_, p)| to_value(&p.value))) == want
                })
        })
    }
}

impl Hooks<'_> {
    fn path<'p>(&'p self, rest: &[&'p str]) -> PointerBuf {
        pointer(self.at.iter().map(String::as_str).chain(rest.iter().copied()))
    }

    /// The map of events; `None` where it, or something on the way to it, is not there.
    fn map<'d, 'a>(&self, text: &str, doc: &'d Doc<'a>, must: bool) -> Result<Option<&'d Object<'a>>, Refusal> {
        let Some(root) = &doc.root else { return Ok(None) };
        let mut here = root;
        for depth in 0..=self.at.len() {
            let Ast::Object(object) = here else {
                // Where nothing is to be added, a document without room for hooks is one without ours.
                return if must { Err(self.wrong_type(text, here, &self.at[..depth], "an object")) } else { Ok(None) };
            };
            let Some(key) = self.at.get(depth) else { return Ok(Some(object)) };
            let Some((_, prop)) = get(object, key) else { return Ok(None) };
            here = &prop.value;
        }
        Ok(None)
    }

    fn wrong_type(&self, text: &str, found: &Ast<'_>, path: &[String], expected: &'static str) -> Refusal {
        let what = if path.is_empty() { "the document".to_owned() } else { path.join(".") };
        Refusal::WrongType { place: Place::of(text, found.start()), what, expected, found: kind(found) }
    }

    /// The events that hold handlers of ours, and those that are wanted.
    fn events<'d, 'a>(
        &self,
        text: &str,
        map: &'d Object<'a>,
        wanted: &[Wanted<'_>],
    ) -> Result<Vec<Event<'d, 'a>>, Refusal> {
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
                    return Err(self.wrong_type(text, &member.value, &path, "an array"));
                }
                continue;
            };
            let ours = self.ours(array);
            if is_wanted || !ours.is_empty() {
                events.push(Event { name, prop, array, ours });
            }
        }
        Ok(events)
    }

    fn ours(&self, array: &Array<'_>) -> Vec<Ours> {
        let mut ours = Vec::new();
        for (group, element) in array.elements.iter().enumerate() {
            match group_handlers(element) {
                Some((_, handlers)) => {
                    let found = handlers.elements.iter().enumerate();
                    ours.extend(found.filter_map(|(index, handler)| {
                        Some(Ours { group, handler: Some(index), owned: owned_by(self.harness, handler)? })
                    }));
                }
                None => ours.extend(
                    owned_by(self.harness, element).map(|owned| Ours { group, handler: None, owned }),
                ),
            }
        }
        ours
    }

    /// What is there, and what is wrong with it.
    fn survey(&self, map: &Object<'_>, events: &[Event<'_, '_>], wanted: &[Wanted<'_>], edited: &mut Edited) {
        for event in events {
            edited.handlers += event.ours.len();
            edited.programs.extend(event.ours.iter().map(|o| o.owned.program.clone()));
            let name = || event.name.to_owned();
            let Some(want) = wanted.iter().find(|w| w.event == event.name) else {
                edited.faults.push(Fault::Obsolete(name()));
                continue;
            };
            if event.ours.len() > 1 {
                edited.faults.push(Fault::Duplicate(name()));
            }
            match event.keeper(want) {
                None if event.ours.is_empty() => edited.faults.push(Fault::Missing(name())),
                None => edited.faults.push(Fault::Misplaced(name())),
                Some(keeper) => {
                    let command = want.handler.get("command").and_then(Value::as_str).and_then(command::owned);
                    if command.is_some_and(|c| c.program != keeper.owned.program) {
                        edited.faults.push(Fault::OldPath(name()));
                    } else if !self.updates(event, keeper, want).is_empty() {
                        edited.faults.push(Fault::Differs(name()));
                    }
                }
            }
        }
        let missing = wanted.iter().filter(|w| get(map, w.event).is_none());
        edited.faults.extend(missing.map(|w| Fault::Missing(w.event.to_owned())));
    }

    /// Takes out what is not kept, with the containers that this empties.
    fn removals(
        &self,
        text: &str,
        doc: &Doc<'_>,
        map: &Object<'_>,
        events: &[Event<'_, '_>],
        wanted: &[Wanted<'_>],
        edited: &mut Edited,
        ops: &mut Vec<PatchOperation>,
    ) -> Vec<Splice> {
        let mut splices = Vec::new();
        let mut empty_events = Vec::new();
        for event in events {
            let want = wanted.iter().find(|w| w.event == event.name);
            let keeper = want.and_then(|w| event.keeper(w)).map(|k| (k.group, k.handler));
            let gone: Vec<&Ours> = event.ours.iter().filter(|o| Some((o.group, o.handler)) != keeper).collect();
            if gone.is_empty() {
                continue;
            }
            edited.tally.removed += gone.len();
            let groups: BTreeSet<usize> = gone.iter().map(|o| o.group).collect();
            let is_whole = |group: usize| {
                gone.iter().any(|o| o.group == group && o.handler.is_none())
                    || (event.is_group_ours(group) && keeper.is_none_or(|(kept, _)| kept != group))
            };
            let whole: Vec<usize> = groups.iter().copied().filter(|g| is_whole(*g)).collect();
            let is_emptied = whole.len() == event.array.elements.len();
            if is_emptied && want.is_none() && self.containers.may_remove(&self.path(&[event.name])) {
                empty_events.push(event.prop);
                continue;
            }
            splices.extend(array(event.array).remove(text, &whole));
            for group in groups.iter().rev().copied() {
                let index = group.to_string();
                if whole.contains(&group) {
                    ops.push(remove_op(self.path(&[event.name, &index])));
                    continue;
                }
                let Some((_, handlers)) = event.array.elements.get(group).and_then(group_handlers) else { continue };
                let inner: Vec<usize> = gone.iter().filter(|o| o.group == group).filter_map(|o| o.handler).collect();
                splices.extend(array(handlers).remove(text, &inner));
                for handler in inner.iter().rev() {
                    ops.push(remove_op(self.path(&[event.name, &index, "hooks", &handler.to_string()])));
                }
            }
        }
        if empty_events.is_empty() {
            return splices;
        }
        for event in events.iter().filter(|e| empty_events.contains(&e.prop)) {
            edited.emptied.push(self.path(&[event.name]).to_string());
        }
        if let Some((parent, prop, depth)) = self.emptied_ancestor(doc, map, empty_events.len()) {
            splices.extend(object(parent).remove(text, &[prop]));
            for depth in depth..=self.at.len() {
                edited.emptied.push(pointer(self.at[..depth].iter().map(String::as_str)).to_string());
            }
            ops.push(remove_op(pointer(self.at[..depth].iter().map(String::as_str))));
        } else {
            splices.extend(object(map).remove(text, &empty_events));
            for event in events.iter().filter(|e| empty_events.contains(&e.prop)) {
                ops.push(remove_op(self.path(&[event.name])));
            }
        }
        splices
    }

    /// The outermost container on the way to the map of events that may go when so many events go: its parent, its
    /// index there, and its depth.
    fn emptied_ancestor<'d, 'a>(
        &self,
        doc: &'d Doc<'a>,
        map: &Object<'_>,
        events: usize,
    ) -> Option<(&'d Object<'a>, usize, usize)> {
        let mut parents = Vec::new();
        let mut here = doc.root.as_ref()?.as_object()?;
        for key in self.at {
            let (index, prop) = get(here, key)?;
            parents.push((here, index));
            here = prop.value.as_object()?;
        }
        let mut found = None;
        let mut is_empty = map.properties.len() == events;
        for depth in (1..=self.at.len()).rev() {
            let may = self.containers.may_remove(&pointer(self.at[..depth].iter().map(String::as_str)));
            if !is_empty || !may {
                break;
            }
            let (parent, index) = *parents.get(depth - 1)?;
            found = Some((parent, index, depth));
            is_empty = parent.properties.len() == 1;
        }
        found
    }

    /// What must change in a handler that is kept, and in its group: pointer below the event, and the new value
    /// (`None`: the key goes).
    fn updates<'w>(
        &self,
        event: &Event<'_, '_>,
        keeper: &Ours,
        want: &'w Wanted<'_>,
    ) -> Vec<(Vec<String>, Option<&'w Value>)> {
        let mut updates = Vec::new();
        let Some(handler) = event.handler(keeper).and_then(Ast::as_object) else { return updates };
        let Some(group) = event.array.elements.get(keeper.group).and_then(Ast::as_object) else { return updates };
        let at = keeper.group.to_string();
        let differs = |object: &Object<'_>, key: &str, value: &Value| {
            get(object, key).is_none_or(|(_, prop)| to_value(&prop.value) != *value)
        };
        let index = keeper.handler.unwrap_or_default().to_string();
        for (key, value) in want.handler {
            if differs(handler, key, value) {
                updates.push((vec![at.clone(), "hooks".to_owned(), index.clone(), key.clone()], Some(value)));
            }
        }
        if !event.is_group_ours(keeper.group) {
            return updates;
        }
        for (key, value) in &want.group {
            let there = get(group, key).map(|(_, p)| to_value(&p.value));
            let equal = *key == "matcher" && matcher(there.clone()) == matcher(Some((*value).clone()));
            if there.as_ref() != Some(*value) && !equal {
                updates.push((vec![at.clone(), (*key).clone()], Some(*value)));
            }
        }
        let there = get(group, "matcher").map(|(_, p)| to_value(&p.value));
        if matcher(there).is_some() && !want.group.iter().any(|(key, _)| *key == "matcher") {
            updates.push((vec![at, "matcher".to_owned()], None));
        }
        updates
    }

    /// Updates in place what is kept, and appends what is missing.
    fn additions(
        &self,
        text: &str,
        doc: &Doc<'_>,
        map: &Object<'_>,
        events: &[Event<'_, '_>],
        wanted: &[Wanted<'_>],
        edited: &mut Edited,
        ops: &mut Vec<PatchOperation>,
    ) -> Vec<Splice> {
        let mut splices = Vec::new();
        let mut new_events: Vec<&Wanted<'_>> = Vec::new();
        for want in wanted {
            let Some(event) = events.iter().find(|e| e.name == want.event) else {
                new_events.push(want);
                continue;
            };
            if let Some(keeper) = event.keeper(want) {
                let updates = self.updates(event, keeper, want);
                edited.tally.updated += usize::from(!updates.is_empty());
                for (path, value) in updates {
                    let segments: Vec<&str> = [event.name].into_iter().chain(path.iter().map(String::as_str)).collect();
                    let op = self.update(text, doc, event, &path, value, self.path(&segments), &mut splices);
                    ops.extend(op);
                }
                continue;
            }
            let here = array(event.array);
            let sibling = event.array.elements.last();
            let style = Style::sample(text, sibling.into_iter().chain(doc.root.as_ref()));
            let on_lines = here.appends_on_lines(text, object(map).is_expanded(text));
            let levels = sibling.map_or_else(|| vec![false], |s| levels(text, s));
            let indent =
                if on_lines { here.child_indent(text, &style.unit) } else { line_indent(text, here.close).to_owned() };
            let item = style.render(want.value, &levels, &indent, newline_at(text, here.close));
            splices.extend(here.append(text, &[item], on_lines, &style.spacing()));
            let index = event.array.elements.len().to_string();
            ops.push(add_op(self.path(&[event.name, &index]), want.value.clone()));
            edited.tally.added += 1;
        }
        if new_events.is_empty() {
            return splices;
        }
        let here = object(map);
        let sibling = map.properties.iter().rev().map(|p| &p.value).find(|v| v.as_array().is_some_and(|a| !a.elements.is_empty()));
        let style = Style::sample(text, sibling.into_iter().chain(doc.root.as_ref()));
        let root_on_lines = doc.root.as_ref().and_then(container).is_some_and(|c| c.is_expanded(text) || c.children.is_empty());
        let on_lines = here.appends_on_lines(text, root_on_lines);
        let levels = sibling.map_or_else(|| vec![false], |s| levels(text, s));
        let indent =
            if on_lines { here.child_indent(text, &style.unit) } else { line_indent(text, here.close).to_owned() };
        let newline = newline_at(text, here.close);
        let mut items = Vec::new();
        for want in new_events {
            let value = json!([want.value]);
            items.push(style.member(want.event, &value, &levels, &indent, newline));
            edited.created.push(self.path(&[want.event]).to_string());
            ops.push(add_op(self.path(&[want.event]), value));
            edited.tally.added += 1;
        }
        splices.extend(here.append(text, &items, on_lines, &style.spacing()));
        splices
    }

    /// One update of [`Self::updates`] as splices and an operation.
    fn update(
        &self,
        text: &str,
        doc: &Doc<'_>,
        event: &Event<'_, '_>,
        path: &[String],
        value: Option<&Value>,
        pointer: PointerBuf,
        splices: &mut Vec<Splice>,
    ) -> Option<PatchOperation> {
        let (key, way) = path.split_last()?;
        let mut here = event.array.elements.get(way.first()?.parse::<usize>().ok()?)?;
        if let Some(index) = way.get(2) {
            here = group_handlers(here)?.1.elements.get(index.parse::<usize>().ok()?)?;
        }
        let owner = here.as_object()?;
        let there = get(owner, key);
        let Some(value) = value else {
            let (index, _) = there?;
            splices.extend(object(owner).remove(text, &[index]));
            return Some(remove_op(pointer));
        };
        let style = Style::sample(text, [here].into_iter().chain(doc.root.as_ref()));
        match there {
            Some((_, prop)) => {
                let range = prop.value.start()..prop.value.end();
                splices.push(Splice::replace(range, style.render(value, &[false], "", "\n")));
                Some(PatchOperation::Replace(ReplaceOperation { path: pointer, value: value.clone() }))
            }
            None => {
                let here = object(owner);
                let on_lines = here.appends_on_lines(text, false);
                let item = style.member(key, value, &[false], "", "\n");
                splices.extend(here.append(text, &[item], on_lines, &style.spacing()));
                Some(add_op(pointer, value.clone()))
            }
        }
    }

    /// Makes the map of events, with what is missing on the way to it.
    fn create(
        &self,
        text: &str,
        doc: &Doc<'_>,
        wanted: &[Wanted<'_>],
        edited: &mut Edited,
        ops: &mut Vec<PatchOperation>,
    ) -> Vec<Splice> {
        edited.tally.added += wanted.len();
        let events = events_value(wanted);
        for depth in 1..=self.at.len() {
            edited.created.push(pointer(self.at[..depth].iter().map(String::as_str)).to_string());
        }
        edited.created.extend(wanted.iter().map(|w| self.path(&[w.event]).to_string()));
        let Some(root) = doc.root.as_ref() else {
            let value = nest(self.at, events);
            let newline = newline_at(text, text.len());
            let rendered = Style::default().render(&value, &new_levels(self.at.len()), "", newline);
            ops.push(PatchOperation::Replace(ReplaceOperation { path: PointerBuf::new(), value }));
            // Only white space, or comments: those stay in front.
            return if text.trim().is_empty() {
                let ending = if text.contains('\n') { "" } else { newline };
                vec![Splice::insert(0, format!("{rendered}{ending}"))]
            } else {
                let lead = if text.ends_with('\n') { "" } else { newline };
                vec![Splice::insert(text.len(), format!("{lead}{rendered}{newline}"))]
            };
        };
        // As far as the way is there, then one member that holds the rest of it.
        let mut here = root;
        let mut depth = 0;
        while let Some((_, prop)) = self.at.get(depth).and_then(|key| get(here.as_object()?, key)) {
            here = &prop.value;
            depth += 1;
        }
        edited.created.retain(|p| p.matches('/').count() > depth);
        let (Some(parent), Some(key)) = (here.as_object(), self.at.get(depth)) else { return Vec::new() };
        let value = nest(&self.at[depth + 1..], events);
        let style = Style::sample(text, doc.root.iter());
        let at = object(parent);
        let root_on_lines = container(root).is_some_and(|c| c.is_expanded(text) || c.children.is_empty());
        let on_lines = at.appends_on_lines(text, root_on_lines);
        // One line per event, unless the neighbours are spread out further (or the document is one line).
        let mut levels = vec![on_lines; self.at.len() - depth];
        let neighbour = parent.properties.iter().rev().map(|p| &p.value).find(|v| {
            container(v).is_some_and(|c| !c.children.is_empty())
        });
        match neighbour {
            Some(neighbour) if on_lines => {
                let chain = crate::json::levels(text, neighbour);
                levels.extend(if chain.len() > 1 { &chain[1..] } else { &[false] });
            }
            _ => levels.push(false),
        }
        let indent =
            if on_lines { at.child_indent(text, &style.unit) } else { line_indent(text, at.close).to_owned() };
        let item = style.member(key, &value, &levels, &indent, newline_at(text, at.close));
        ops.push(add_op(pointer(self.at[..=depth].iter().map(String::as_str)), value));
        at.append(text, &[item], on_lines, &style.spacing())
    }

    /// Whether an operation concerns nothing but what is ours, given the value that it puts in or takes out.
    fn is_ours(&self, path: &[Cow<'_, str>], value: &Value) -> bool {
        match path.len().checked_sub(self.at.len()) {
            // On the way to the map: an object with this one key.
            None => {
                let key = self.at.get(path.len());
                value.as_object().is_some_and(|o| o.len() == 1).then_some(()).is_some()
                    && key.and_then(|k| value.get(k)).is_some_and(|inner| {
                        let mut path = path.to_vec();
                        path.extend(key.map(|k| Cow::Borrowed(k.as_str())));
                        self.is_ours(&path, inner)
                    })
            }
            Some(0) => non_empty(value.as_object().map(|o| o.values()), |v| self.holds_only_ours(v)),
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
        let command = handler.get("command").and_then(Value::as_str).and_then(command::owned);
        command.is_some_and(|owned| owned.harness == self.harness)
    }

    /// Whether an operation on a document touches only what is ours.
    pub(crate) fn may(&self, doc: &Value, op: &PatchOperation) -> bool {
        let path: Vec<_> = op.path().tokens().map(|t| t.decoded().into_owned()).map(Cow::<str>::Owned).collect();
        let on_the_way = path.iter().zip(self.at).all(|(a, b)| a == b);
        let there = op.path().resolve(doc).ok();
        // Below an event: 2 is a group (3: a key of it), 4 is a handler (5: a key of it).
        let owner = |levels: usize| pointer(path[..self.at.len() + levels].iter().map(AsRef::as_ref));
        let is_key_of_ours = match path.len().checked_sub(self.at.len()) {
            Some(3) if path.last().is_none_or(|key| key != "hooks") => {
                owner(2).resolve(doc).is_ok_and(|group| self.is_group_of_ours(group))
            }
            Some(5) => owner(4).resolve(doc).is_ok_and(|handler| self.is_handler_of_ours(handler)),
            _ => false,
        };
        on_the_way
            && match op {
                PatchOperation::Add(add) => is_key_of_ours || (there.is_none() && self.is_ours(&path, &add.value)),
                PatchOperation::Remove(_) => is_key_of_ours || there.is_some_and(|value| self.is_ours(&path, value)),
                PatchOperation::Replace(replace) => {
                    is_key_of_ours || (path.is_empty() && doc.is_null() && self.is_ours(&path, &replace.value))
                }
                _ => false,
            }
    }

    /// The document with nothing in it but the map of events: what an edit may touch.
    fn skeleton(&self, doc: &Doc<'_>) -> Value {
        let Some(mut here) = doc.root.as_ref() else { return Value::Null };
        let mut depth = 0;
        for key in self.at {
            let Some((_, prop)) = here.as_object().and_then(|o| get(o, key)) else {
                return nest(&self.at[..depth], json!({}));
            };
            here = &prop.value;
            depth += 1;
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

/// Makes the splices, and checks that the result means what was wanted and that this is ours alone.
fn finish(
    text: &str,
    before: &Doc<'_>,
    splices: Vec<Splice>,
    mut edited: Edited,
    ops: Vec<PatchOperation>,
    hooks: &Hooks<'_>,
) -> Result<Edited, Refusal> {
    if ops.is_empty() {
        return Ok(edited);
    }
    edited.text = splice(text, splices).ok_or(Refusal::Unsafe("overlapping splices"))?;
    let sane = escape_lone_surrogates(&edited.text);
    let (after, _) = parse(&sane).map_err(|_| Refusal::Unsafe("the result would not parse"))?;
    let mut expected = hooks.skeleton(before);
    for op in &ops {
        if !hooks.may(&expected, op) {
            return Err(Refusal::Unsafe("an operation on what is not ours"));
        }
        let one = Patch(vec![op.clone()]);
        json_patch::patch(&mut expected, &one).map_err(|_| Refusal::Unsafe("an operation that does not apply"))?;
    }
    if hooks.skeleton(&after) != expected || !hooks.same_elsewhere(before, &after) {
        return Err(Refusal::Unsafe("the result would mean something else"));
    }
    edited.patch = Patch(ops);
    Ok(edited)
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

/// A new document: one line per key on the way, and one per event.
fn new_levels(depth: usize) -> Vec<bool> {
    let mut levels = vec![true; depth + 1];
    levels.push(false);
    levels
}

/// For each level of nesting in a value, along its last children: whether children stand on lines of their own.
fn levels(text: &str, value: &Ast<'_>) -> Vec<bool> {
    let mut levels = Vec::new();
    let mut here = Some(value);
    while let Some(ast) = here {
        let Some(container) = container(ast).filter(|c| !c.children.is_empty()) else { break };
        levels.push(container.is_expanded(text));
        here = match ast {
            Ast::Object(o) => o.properties.iter().rev().map(|p| &p.value).find(|v| container_len(v) > 0),
            Ast::Array(a) => a.elements.iter().rev().find(|v| container_len(v) > 0),
            _ => None,
        };
    }
    if levels.is_empty() {
        levels.push(false);
    }
    levels
}

fn container_len(ast: &Ast<'_>) -> usize {
    container(ast).map_or(0, |c| c.children.len())
}

/// How the person spaces a document.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Style {
    /// Between key and value, with the colon.
    colon: String,
    /// After a comma, on one line.
    comma: String,
    /// Inside braces, on one line.
    pad: String,
    /// One step of indentation.
    unit: String,
}

impl Default for Style {
    fn default() -> Self {
        Self { colon: ": ".into(), comma: " ".into(), pad: String::new(), unit: "  ".into() }
    }
}

/// How many values are looked at for a style.
const SAMPLE: usize = 256;

impl Style {
    /// The style of what is nearest, else of the document. The last node is the document.
    fn sample<'d, 'a: 'd>(text: &str, nearest: impl IntoIterator<Item = &'d Ast<'a>>) -> Self {
        let (mut colon, mut comma, mut pad) = (None, None, None);
        let mut unit = None;
        for node in nearest {
            if let Some(object) = node.as_object().map(object).filter(|c| c.is_expanded(text)) {
                let indent = line_indent(text, object.children[0].start);
                let own = line_indent(text, object.open);
                unit = indent.strip_prefix(own).filter(|unit| !unit.is_empty()).map(str::to_owned).or(unit);
            }
            let mut stack = vec![node];
            let mut left = SAMPLE;
            while let Some(value) = stack.pop() {
                left -= 1;
                if left == 0 || (colon.is_some() && comma.is_some() && pad.is_some()) {
                    break;
                }
                let Some(container) = container(value) else { continue };
                if let Ast::Object(o) = value {
                    if let (None, Some(p)) = (&colon, o.properties.first()) {
                        colon = blank(&text[p.name.end()..p.value.start()], ":");
                    }
                    if let (None, Some(first)) = (&pad, container.children.first()) {
                        pad = blank(&text[container.open + 1..first.start], "");
                    }
                }
                if let (None, [a, b, ..]) = (&comma, container.children.as_slice()) {
                    comma = blank(&text[a.end..b.start], ",").map(|c| c[1..].to_owned());
                }
                match value {
                    Ast::Object(o) => stack.extend(o.properties.iter().rev().take(left).map(|p| &p.value)),
                    Ast::Array(a) => stack.extend(a.elements.iter().rev().take(left)),
                    _ => {}
                }
            }
        }
        let colon = colon.unwrap_or_else(|| ": ".to_owned());
        let comma = comma.unwrap_or_else(|| if colon == ":" { String::new() } else { " ".to_owned() });
        Self { colon, comma, pad: pad.unwrap_or_default(), unit: unit.unwrap_or_else(|| "  ".to_owned()) }
    }

    fn spacing(&self) -> Spacing<'_> {
        Spacing { inline: &self.comma, pad: &self.pad, unit: &self.unit }
    }

    fn member(&self, key: &str, value: &Value, levels: &[bool], indent: &str, newline: &str) -> String {
        format!("{}{}{}", Value::from(key), self.colon, self.render(value, levels, indent, newline))
    }

    /// A value as text, `levels[n]` saying whether the children of the n-th level stand on lines of their own (the last
    /// one holds for all deeper levels).
    fn render(&self, value: &Value, levels: &[bool], indent: &str, newline: &str) -> String {
        let (on_lines, deeper) = match levels {
            [] => (false, levels),
            [last] => (*last, levels),
            [first, rest @ ..] => (*first, rest),
        };
        let inner = if on_lines { format!("{indent}{}", self.unit) } else { indent.to_owned() };
        let (open, close, pad, items): (_, _, _, Vec<String>) = match value {
            Value::Object(o) if !o.is_empty() => {
                let members = o.iter().map(|(k, v)| self.member(k, v, deeper, &inner, newline));
                ('{', '}', self.pad.as_str(), members.collect())
            }
            Value::Array(a) if !a.is_empty() => {
                ('[', ']', "", a.iter().map(|v| self.render(v, deeper, &inner, newline)).collect())
            }
            scalar => return scalar.to_string(),
        };
        if on_lines {
            let separator = format!(",{newline}{inner}");
            format!("{open}{newline}{inner}{}{newline}{indent}{close}", items.join(&separator))
        } else {
            let separator = format!(",{}", self.comma);
            format!("{open}{pad}{}{pad}{close}", items.join(&separator))
        }
    }
}

/// A stretch of text, when it is only this mark (or nothing) among spaces.
fn blank(between: &str, mark: &str) -> Option<String> {
    (between.trim_matches([' ', '\t']) == mark).then(|| between.to_owned())
}
