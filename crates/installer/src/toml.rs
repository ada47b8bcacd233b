//! One top-level key of a TOML document, and handlers of ours in its hook tables.
//!
//! `toml_edit` tells where things are; what it would print is never used. The result is parsed again, and must be the
//! old value with exactly the recorded operations applied.

use std::ops::Range;

use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, Patch, PatchOperation, RemoveOperation, ReplaceOperation};
use serde_json::{Map, Value};
use sessionpipe_core::command::{self, PREVIOUS_NOTIFY};
use toml_edit::{Array, Document, Item, Key, Table, TableLike, TomlError};

use crate::edit::{Containers, Edited};
use crate::json::Hooks;
use crate::refusal::{Place, Refusal};
use crate::splice::{Comments, Container, Splice, line_end, line_start, newline_at, splice, split_bom};
use crate::status::Fault;

/// The table that holds hooks, and the key of a group that holds its handlers.
const HOOKS: &str = "hooks";

/// Ends an argv that stands behind [`PREVIOUS_NOTIFY`].
const END: &str = "--";

type Doc<'a> = Document<&'a str>;

/// A key that holds an argv of ours, in a table where it is not the top-level one.
struct Misplaced {
    path: Vec<String>,
    lines: Range<usize>,
    argv: Vec<String>,
}

/// A top-level key that is to hold an argv of ours.
pub(crate) struct TopKey<'a> {
    /// The harness that an argv of ours must name.
    pub(crate) harness: &'a str,
    /// The key.
    pub(crate) key: &'a str,
    /// Ours; `None` to take it out and give back what it chained.
    pub(crate) argv: Option<&'a [String]>,
    /// Whether the key goes when ours goes.
    pub(crate) containers: &'a Containers,
}

/// Makes one edit of a text without a byte order mark.
pub(crate) fn edit_key(text: &str, top: &TopKey<'_>) -> Result<Edited, Refusal> {
    let doc = parse(text)?;
    let root = doc.as_table();
    let mut draft = Draft::new(text);

    let mut misplaced = Vec::new();
    top.find_misplaced(text, root, &mut Vec::new(), &mut misplaced);
    draft.edited.handlers += misplaced.len();
    if top.argv.is_none() {
        draft.edited.tally.removed += misplaced.len();
    }
    for found in &misplaced {
        draft.edited.programs.extend(found.argv.first().cloned());
        draft.edited.faults.push(Fault::Misplaced(found.path.join(".")));
        draft.splices.push(Splice::delete(found.lines.clone()));
        draft.ops.push(remove_op(pointer(&found.path)));
    }

    match (root.get_key_value(top.key), top.argv) {
        (Some((at, item)), _) => {
            let there = item.as_array().and_then(|array| Some((container(array)?, strings(array)?)));
            match there {
                Some((array, words)) => top.edit(&mut draft, at, &array, &words)?,
                None if top.argv.is_some() => {
                    let place = Place::of(text, at.span().unwrap_or_default().start);
                    let (what, expected) = (top.key.to_owned(), "an array of strings");
                    return Err(Refusal::WrongType { place, what, expected, found: kind(item) });
                }
                // Not of our type, so not ours.
                None => {}
            }
        }
        (None, Some(argv)) => {
            let mut previous = misplaced.iter().filter_map(|found| command::previous_argv(&found.argv));
            let argv = chained(argv, previous.find(|argv| !argv.is_empty()));
            draft.insert(root, top.key, &argv);
            let what = if misplaced.is_empty() { "ours" } else { "ours, moved before the first table" };
            draft.edited.remarks.push(format!("{}: {what}", top.key));
            if misplaced.is_empty() {
                draft.edited.faults.push(Fault::Missing(top.key.to_owned()));
            }
        }
        (None, None) => {}
    }
    draft.finish(&doc, |before, op| top.may(before, op))
}

/// Takes handlers of ours out of the hook tables, with the tables that hold nothing else.
pub(crate) fn remove_hooks(text: &str, harness: &str) -> Result<Edited, Refusal> {
    let doc = parse(text)?;
    let mut draft = Draft::new(text);
    if let Some(events) = doc.as_table().get(HOOKS).and_then(Item::as_table) {
        draft.remove_hooks(harness, events);
    }
    let removed = draft.edited.tally.removed;
    if removed > 0 {
        draft.edited.remarks.push(format!("inline hooks to remove: {removed}"));
    }
    let at = [HOOKS.to_owned()];
    let hooks = Hooks { harness, at: &at, entries: &[], containers: &Containers::All };
    draft.finish(&doc, |before, op| hooks.may(before, op))
}

/// The value of a document, for comparing.
pub(crate) fn value(text: &str) -> Option<Value> {
    parse(text).ok().map(|doc| table_value(doc.as_table()))
}

/// The key and its value, where it is there.
pub(crate) fn entries(text: &str, key: &str) -> Vec<(String, Value)> {
    let doc = parse(text).ok();
    let item = doc.as_ref().and_then(|doc| doc.as_table().get(key));
    item.map(|item| (key.to_owned(), item_value(item))).into_iter().collect()
}

/// The key's line for a person to put in the place of the one that is there: an argv of somebody else's is chained.
pub(crate) fn paste(text: &str, key: &str, argv: &[String]) -> String {
    let there = value(split_bom(text).1).and_then(|doc| doc.get(key).and_then(value_strings)).unwrap_or_default();
    let previous = match command::owned_argv(&there) {
        Some(_) => command::previous_argv(&there),
        None => Some(there.as_slice()).filter(|argv| !argv.is_empty()),
    };
    line(key, &chained(argv, previous), "\n")
}

/// The line that sets a key to an argv.
pub(crate) fn line(key: &str, argv: &[String], newline: &str) -> String {
    format!("{key} = [{}]{newline}", words(argv))
}

fn words(argv: &[String]) -> String {
    argv.iter().map(|word| toml_edit::Value::from(word.as_str()).to_string()).collect::<Vec<_>>().join(", ")
}

fn parse(text: &str) -> Result<Doc<'_>, Refusal> {
    Document::parse(text).map_err(|error| syntax(text, &error))
}

fn syntax(text: &str, error: &TomlError) -> Refusal {
    let place = Place::of(text, error.span().unwrap_or_default().start);
    let message = error.message().lines().next().unwrap_or_default().to_owned();
    Refusal::Syntax { place, message }
}

fn pointer(path: &[String]) -> PointerBuf {
    PointerBuf::from_tokens(path.iter().map(String::as_str))
}

fn add_op(path: PointerBuf, value: Value) -> PatchOperation {
    PatchOperation::Add(AddOperation { path, value })
}

fn remove_op(path: PointerBuf) -> PatchOperation {
    PatchOperation::Remove(RemoveOperation { path })
}

fn kind(item: &Item) -> &'static str {
    match item.type_name() {
        "string" => "a string",
        "integer" => "an integer",
        "float" => "a float",
        "boolean" => "a boolean",
        "array" => "an array of other things",
        "datetime" => "a date",
        _ => "a table",
    }
}

fn strings(array: &Array) -> Option<Vec<String>> {
    array.iter().map(|v| v.as_str().map(str::to_owned)).collect()
}

fn chained(argv: &[String], previous: Option<&[String]>) -> Vec<String> {
    let mut all = argv.to_vec();
    if let Some(previous) = previous {
        all.push(PREVIOUS_NOTIFY.to_owned());
        all.extend(previous.iter().cloned());
        all.push(END.to_owned());
    }
    all
}

/// The whole lines of a member of a table: from its key to the ending of the line that its value ends in.
fn member_lines(text: &str, key: &Key, value_end: usize) -> Option<Range<usize>> {
    let start = line_start(text, key.span()?.start);
    let end = line_end(text, value_end);
    // The last line of a text without a final newline takes the ending before it along.
    if end == text.len() && !text.ends_with('\n') && start > 0 {
        let start = start - 1;
        return Some(start - usize::from(text[..start].ends_with('\r'))..end);
    }
    Some(start..end)
}

/// The end of the last value of a table, without the tables below it that have headers of their own.
fn content_end(table: &Table) -> Option<usize> {
    let end = |item: &Item| match item {
        Item::Value(value) => value.span().map(|span| span.end),
        Item::Table(inner) if inner.is_dotted() => content_end(inner),
        _ => None,
    };
    table.iter().filter_map(|(_, item)| end(item)).max()
}

/// The lines of a table and of all tables below it: each from its header to its last value.
fn sections(text: &str, table: &Table, ranges: &mut Vec<Range<usize>>) {
    if let Some(span) = table.span().filter(|_| !table.is_implicit() && !table.is_dotted()) {
        let end = content_end(table).unwrap_or(span.end).max(span.end);
        ranges.push(line_start(text, span.start)..line_end(text, end));
    }
    for (_, item) in table {
        match item {
            Item::Table(inner) => sections(text, inner, ranges),
            Item::ArrayOfTables(inner) => inner.iter().for_each(|inner| sections(text, inner, ranges)),
            _ => {}
        }
    }
}

/// Puts stretches together that only blank lines keep apart, and takes along the blank lines behind each (before it,
/// at the end of the text).
fn without_blank_lines(text: &str, mut ranges: Vec<Range<usize>>) -> Vec<Splice> {
    ranges.sort_by_key(|r| r.start);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if text[last.end.min(range.start)..range.start].trim().is_empty() => {
                last.end = last.end.max(range.end);
            }
            _ => merged.push(range),
        }
    }
    for range in &mut merged {
        let rest = &text[range.end..];
        if rest.trim().is_empty() {
            range.end = text.len();
            let kept = text[..range.start].trim_end().len();
            range.start = if kept == 0 { 0 } else { line_end(text, kept).min(range.start) };
        } else {
            range.end += line_start(rest, rest.len() - rest.trim_start().len());
        }
    }
    merged.into_iter().map(Splice::delete).collect()
}

fn container(array: &Array) -> Option<Container> {
    let span = array.span()?;
    let children = array.iter().map(toml_edit::Value::span).collect::<Option<_>>()?;
    Some(Container { open: span.start, close: span.end - 1, children, comments: Comments::Hash })
}

/// The elements of an array of tables, or of an array of inline tables.
fn tables(item: &Item) -> Vec<Option<&dyn TableLike>> {
    match item {
        Item::ArrayOfTables(tables) => tables.iter().map(|t| Some(t as &dyn TableLike)).collect(),
        Item::Value(toml_edit::Value::Array(array)) => {
            array.iter().map(|v| v.as_inline_table().map(|t| t as &dyn TableLike)).collect()
        }
        _ => Vec::new(),
    }
}

fn item_value(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => scalar_value(value),
        Item::Table(table) => table_value(table),
        Item::ArrayOfTables(tables) => Value::Array(tables.iter().map(table_value).collect()),
    }
}

fn table_value(table: &Table) -> Value {
    Value::Object(table.iter().map(|(key, item)| (key.to_owned(), item_value(item))).collect())
}

fn scalar_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(s) => Value::String(s.value().clone()),
        toml_edit::Value::Integer(i) => Value::from(*i.value()),
        toml_edit::Value::Boolean(b) => Value::from(*b.value()),
        toml_edit::Value::Float(f) => {
            serde_json::Number::from_f64(*f.value()).map_or_else(|| Value::String(f.value().to_string()), Value::Number)
        }
        toml_edit::Value::Datetime(d) => Value::String(d.value().to_string()),
        toml_edit::Value::Array(array) => Value::Array(array.iter().map(scalar_value).collect()),
        toml_edit::Value::InlineTable(table) => {
            Value::Object(table.iter().map(|(k, v)| (k.to_owned(), scalar_value(v))).collect::<Map<_, _>>())
        }
    }
}

fn value_strings(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|v| v.as_str().map(str::to_owned)).collect()
}

/// An edit that is being made.
struct Draft<'a> {
    text: &'a str,
    edited: Edited,
    splices: Vec<Splice>,
    ops: Vec<PatchOperation>,
}

impl TopKey<'_> {
    /// Keys of that name below the root, in tables with a header or dotted ones, whose argv is ours.
    fn find_misplaced(&self, text: &str, table: &Table, path: &mut Vec<String>, found: &mut Vec<Misplaced>) {
        for (name, item) in table {
            path.push(name.to_owned());
            match item {
                Item::Table(inner) => self.find_misplaced(text, inner, path, found),
                Item::ArrayOfTables(inner) => {
                    for (index, inner) in inner.iter().enumerate() {
                        path.push(index.to_string());
                        self.find_misplaced(text, inner, path, found);
                        path.pop();
                    }
                }
                Item::Value(value) if name == self.key && path.len() > 1 => {
                    let argv = value.as_array().and_then(strings).filter(|argv| self.owns(argv));
                    let place = table.key(name).zip(value.span());
                    let lines = place.and_then(|(key, span)| member_lines(text, key, span.end));
                    found.extend(argv.zip(lines).map(|(argv, lines)| Misplaced { path: path.clone(), lines, argv }));
                }
                _ => {}
            }
            path.pop();
        }
    }

    fn owns(&self, argv: &[String]) -> bool {
        command::owned_argv(argv).is_some_and(|owned| owned.harness == self.harness)
    }

    /// The key is there, with these words.
    fn edit(&self, draft: &mut Draft<'_>, at: &Key, array: &Container, there: &[String]) -> Result<(), Refusal> {
        let path = PointerBuf::from_tokens([self.key]);
        let previous = command::previous_argv(there);
        let is_ours = self.owns(there);
        if is_ours {
            draft.edited.handlers += 1;
            draft.edited.programs.extend(there.first().cloned());
        }
        let (remark, value) = match self.argv {
            Some(argv) if is_ours => {
                let want = chained(argv, previous);
                if want == there {
                    return Ok(());
                }
                let fault = if there.first() == want.first() { Fault::Differs } else { Fault::OldPath };
                draft.edited.faults.push(fault(self.key.to_owned()));
                draft.edited.tally.updated += 1;
                draft.replace_words(array, there, &want);
                ("ours brought up to date", want)
            }
            // Another program that chains ours: it is wired, through that one.
            Some(_) if previous.is_some_and(|argv| self.owns(argv)) => {
                draft.edited.handlers += 1;
                return Ok(());
            }
            Some(argv) => {
                draft.edited.faults.push(Fault::Missing(self.key.to_owned()));
                draft.edited.tally.added += 1;
                if there.is_empty() {
                    draft.splices.push(Splice::insert(array.open + 1, words(argv)));
                    ("ours", argv.to_vec())
                } else {
                    draft.chain(array, argv);
                    ("ours first, yours chained after it", chained(argv, Some(there)))
                }
            }
            None if !is_ours => return Ok(()),
            None => {
                draft.edited.tally.removed += 1;
                match previous {
                    Some(previous) if !previous.is_empty() => {
                        draft.unchain(array, there);
                        ("yours alone again", previous.to_vec())
                    }
                    _ if self.containers.may_remove(&path) => {
                        draft.edited.remarks.push(format!("{}: ours removed", self.key));
                        draft.edited.emptied.push(path.to_string());
                        let lines = member_lines(draft.text, at, array.close);
                        draft.splices.push(Splice::delete(lines.ok_or(Refusal::Unsafe("a key without a place"))?));
                        draft.ops.push(remove_op(path));
                        return Ok(());
                    }
                    _ => {
                        draft.splices.extend(array.remove(draft.text, &(0..there.len()).collect::<Vec<_>>()));
                        ("empty again", Vec::new())
                    }
                }
            }
        };
        draft.edited.remarks.push(format!("{}: {remark}", self.key));
        draft.ops.push(PatchOperation::Replace(ReplaceOperation { path, value: Value::from(value) }));
        Ok(())
    }

    /// Whether an operation sets the key to ours with the old argv whole in it, gives the old one back, or takes ours
    /// out.
    fn may(&self, doc: &Value, op: &PatchOperation) -> bool {
        let is_top = op.path().count() == 1;
        let there = op.path().resolve(doc).ok().and_then(value_strings);
        let was_ours = there.as_deref().is_some_and(|argv| self.owns(argv));
        op.path().last().is_some_and(|token| token.decoded() == self.key)
            && match op {
                PatchOperation::Add(add) => {
                    is_top && there.is_none() && value_strings(&add.value).is_some_and(|argv| self.owns(&argv))
                }
                PatchOperation::Remove(_) => was_ours,
                PatchOperation::Replace(replace) => {
                    let (Some(old), Some(new)) = (there, value_strings(&replace.value)) else { return false };
                    let kept = |argv: &[String]| command::previous_argv(argv).unwrap_or_default().to_vec();
                    is_top
                        && match (was_ours, self.owns(&new)) {
                            (true, true) => kept(&old) == kept(&new),
                            (true, false) => kept(&old) == new,
                            (false, true) => kept(&new) == old,
                            (false, false) => false,
                        }
                }
                _ => false,
            }
    }
}

impl<'a> Draft<'a> {
    fn new(text: &'a str) -> Self {
        let edited = Edited { text: text.to_owned(), ..Edited::default() };
        Self { text, edited, splices: Vec::new(), ops: Vec::new() }
    }

    /// Puts ours before the person's words, and the end mark behind them.
    fn chain(&mut self, at: &Container, argv: &[String]) {
        let (Some(first), Some(last)) = (at.children.first(), at.children.last()) else { return };
        let ours = format!("{}, {}", words(argv), words(&[PREVIOUS_NOTIFY.to_owned()]));
        if self.text[at.open + 1..first.start].trim_matches([' ', '\t']).is_empty() {
            self.splices.push(Splice::insert(first.start, format!("{ours}, ")));
        } else {
            self.splices.push(Splice::insert(at.open + 1, format!("{ours},")));
        }
        self.splices.push(Splice::insert(last.end, format!(", {}", words(&[END.to_owned()]))));
    }

    /// The inverse of [`Self::chain`].
    fn unchain(&mut self, at: &Container, argv: &[String]) {
        let Some(mark) = argv.iter().position(|word| word == PREVIOUS_NOTIFY) else { return };
        let (Some(ours), Some(mark_at), Some(first)) =
            (at.children.first(), at.children.get(mark), at.children.get(mark + 1))
        else {
            return;
        };
        let between = &self.text[mark_at.end..first.start];
        let is_inline = between.trim_matches([' ', '\t', ',']).is_empty();
        let end = if is_inline { first.start } else { mark_at.end + between.find(',').map_or(0, |comma| comma + 1) };
        self.splices.push(Splice::delete(ours.start..end));
        let end_mark = argv.iter().rposition(|word| word == END).filter(|end| *end > mark + 1);
        if let (Some(end), Some(last)) = (end_mark, at.children.last()) {
            self.splices.push(Splice::delete(at.children[end - 1].end..last.end));
        }
    }

    /// Replaces the words that differ, from the first to the last.
    fn replace_words(&mut self, at: &Container, old: &[String], new: &[String]) {
        let shorter = old.len().min(new.len());
        let front = (0..shorter).take_while(|i| old[*i] == new[*i]).count();
        let back = (0..shorter - front).take_while(|i| old[old.len() - 1 - i] == new[new.len() - 1 - i]).count();
        let (gone, come) = (front..old.len() - back, &new[front..new.len() - back]);
        match (gone.is_empty(), come.is_empty()) {
            (false, false) => {
                let range = at.children[gone.start].start..at.children[gone.end - 1].end;
                self.splices.push(Splice::replace(range, words(come)));
            }
            (true, false) if front > 0 => {
                self.splices.push(Splice::insert(at.children[front - 1].end, format!(", {}", words(come))));
            }
            _ => self.splices.push(Splice::replace(at.open + 1..at.close, words(new))),
        }
    }

    /// Puts a new key behind the last top-level one, so before the first table whatever precedes it.
    fn insert(&mut self, root: &Table, key: &str, argv: &[String]) {
        let text = self.text;
        let has_tables = root.iter().any(|(_, item)| !item.is_value());
        let at = match content_end(root) {
            Some(end) => line_end(text, end),
            None if has_tables => 0,
            None => text.len(),
        };
        let has_ending = text[..at].ends_with('\n');
        let newline = newline_at(text, if has_ending { at - 1 } else { at });
        let splice = if at > 0 && !has_ending {
            // The last line has no ending, and the new last line gets none.
            Splice::insert(at, format!("{newline}{}", line(key, argv, "")))
        } else {
            Splice::insert(at, line(key, argv, newline))
        };
        self.splices.push(splice);
        self.ops.push(add_op(PointerBuf::from_tokens([key]), Value::from(argv.to_vec())));
        self.edited.created.push(format!("/{key}"));
        self.edited.tally.added += 1;
    }

    /// Takes handlers of ours out of `[[hooks.EVENT]]` tables, and of arrays of inline tables.
    fn remove_hooks(&mut self, harness: &str, events: &Table) {
        let mut lines = Vec::new();
        let mut emptied = 0;
        for (event, item) in events {
            let mut whole = Vec::new();
            let mut parts = Vec::new();
            let groups = tables(item);
            for (group, table) in groups.iter().enumerate() {
                let Some(handlers) = table.and_then(|t| t.get(HOOKS)) else { continue };
                let all = tables(handlers);
                let owned = |handler: &Option<&dyn TableLike>| {
                    let command = handler.and_then(|h| h.get("command")).and_then(Item::as_str);
                    command.and_then(command::owned).filter(|owned| owned.harness == harness)
                };
                let ours: Vec<usize> = (0..all.len()).filter(|i| owned(&all[*i]).is_some()).collect();
                self.edited.programs.extend(all.iter().filter_map(owned).map(|owned| owned.program));
                self.edited.handlers += ours.len();
                self.edited.tally.removed += ours.len();
                match ours.len() {
                    0 => {}
                    n if n == all.len() => whole.push(group),
                    _ => parts.push((group, handlers, ours)),
                }
            }
            if whole.is_empty() && parts.is_empty() {
                continue;
            }
            self.edited.faults.push(Fault::Misplaced(format!("{HOOKS}.{event}")));
            let path = |rest: &[String]| {
                let head = [HOOKS.to_owned(), event.to_owned()];
                pointer(&head.into_iter().chain(rest.iter().cloned()).collect::<Vec<_>>())
            };
            let is_emptied = whole.len() == groups.len();
            if is_emptied {
                emptied += 1;
                self.ops.push(remove_op(path(&[])));
            }
            for (group, handlers, ours) in parts.iter().rev() {
                self.remove(handlers, ours, &mut lines);
                let step = |index: &usize| path(&[group.to_string(), HOOKS.to_owned(), index.to_string()]);
                self.ops.extend(ours.iter().rev().map(|index| remove_op(step(index))));
            }
            match (item, events.key(event)) {
                (Item::Value(value), Some(key)) if is_emptied => {
                    lines.extend(value.span().and_then(|span| member_lines(self.text, key, span.end)));
                }
                _ => self.remove(item, &whole, &mut lines),
            }
            if !is_emptied {
                self.ops.extend(whole.iter().rev().map(|group| remove_op(path(&[group.to_string()]))));
            }
        }
        // A table without a header is there only as long as something is in it.
        if emptied > 0 && emptied == events.len() && events.is_implicit() {
            self.ops.retain(|op| op.path().first().is_none_or(|token| token.decoded() != HOOKS));
            self.ops.push(remove_op(PointerBuf::from_tokens([HOOKS])));
        }
        self.splices.extend(without_blank_lines(self.text, lines));
    }

    fn remove(&mut self, item: &Item, gone: &[usize], lines: &mut Vec<Range<usize>>) {
        match item {
            Item::ArrayOfTables(tables) => {
                for table in gone.iter().filter_map(|index| tables.get(*index)) {
                    sections(self.text, table, lines);
                }
            }
            Item::Value(toml_edit::Value::Array(array)) => {
                self.splices.extend(container(array).iter().flat_map(|at| at.remove(self.text, gone)));
            }
            _ => {}
        }
    }

    fn finish(self, doc: &Doc<'_>, may: impl Fn(&Value, &PatchOperation) -> bool) -> Result<Edited, Refusal> {
        let Self { text, mut edited, splices, ops } = self;
        if ops.is_empty() {
            return Ok(edited);
        }
        edited.text = splice(text, splices).ok_or(Refusal::Unsafe("overlapping splices"))?;
        let after = parse(&edited.text).map_err(|_| Refusal::Unsafe("the result would not parse"))?;
        let mut expected = table_value(doc.as_table());
        for op in &ops {
            if !may(&expected, op) {
                return Err(Refusal::Unsafe("an operation on what is not ours"));
            }
            let one = Patch(vec![op.clone()]);
            json_patch::patch(&mut expected, &one).map_err(|_| Refusal::Unsafe("an operation that does not apply"))?;
        }
        if table_value(after.as_table()) != expected {
            return Err(Refusal::Unsafe("the result would mean something else"));
        }
        edited.patch = Patch(ops);
        Ok(edited)
    }
}
