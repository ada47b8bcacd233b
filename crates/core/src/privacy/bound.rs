//! The protocol's lengths. Runs after [redaction](super::secrets): half a secret would not be recognised.

use std::io;

use serde_json::Value;

use crate::event::Event;
use crate::ids;
use crate::privacy::table::{Form, MAX_CONTENT, MAX_ID, MAX_PATH, MAX_PATHS, MAX_TOOL, rule_of};

/// Ends a text that was cut.
pub const CUT: &str = "…";

/// Strings of a tool's content are not cut below this many bytes, so that something of each is left to read; what does
/// not fit then is all structure, and becomes one text.
const MIN_CONTENT_STRING: usize = 64;

/// Characters of the session block's and the harness's texts, by the protocol's schema.
const MAX_MACHINE: usize = 80;
const MAX_REPO: usize = 512;
const MAX_BRANCH: usize = 256;
const MAX_MODEL: usize = 128;
const MAX_TITLE: usize = 200;
const MAX_URL: usize = 1024;
const MAX_HARNESS: usize = 64;

/// Brings every text of the event within the protocol's lengths, in place. What is short enough stays as it is; an
/// event of a type that the table does not know is bounded as tool content is, member by member.
pub fn bound(event: &mut Event) {
    for (text, max) in [(&mut event.harness.version, MAX_HARNESS), (&mut event.harness.event, MAX_HARNESS)] {
        cut_optional(text, max);
    }
    let session = &mut event.session;
    for (text, max) in [
        (&mut session.machine, MAX_MACHINE),
        (&mut session.cwd, MAX_PATH),
        (&mut session.repo, MAX_REPO),
        (&mut session.branch, MAX_BRANCH),
        (&mut session.model, MAX_MODEL),
        (&mut session.title, MAX_TITLE),
    ] {
        cut_optional(text, max);
    }
    session.account_id = session.account_id.take().map(short_id);
    // A piece of an address opens nothing.
    session.url = session.url.take().filter(|url| url.chars().count() <= MAX_URL && is_uri(url));
    session.parent_id = session.parent_id.take().map(|parent| ids::session_id(&event.harness.name, &parent));

    let rule = rule_of(&event.kind);
    for (name, value) in &mut event.data {
        let form = rule.map_or(Some(Form::Content), |rule| rule.key(name).map(|key| key.form));
        // A key that the table does not name never leaves, but it is stored.
        bound_value(value, form.unwrap_or(Form::Content));
    }
}

fn bound_value(value: &mut Value, form: Form) {
    match (form, value) {
        (Form::Chars(max), Value::String(text)) => cut_chars(text, max),
        (Form::Id, Value::String(text)) => *text = short_id(std::mem::take(text)),
        (Form::Tool, Value::String(text)) => *text = tool_name(text),
        (Form::Paths, Value::Array(paths)) => {
            paths.truncate(MAX_PATHS);
            for path in paths {
                bound_value(path, Form::Chars(MAX_PATH));
            }
        }
        (Form::Content, value) => fit(value, MAX_CONTENT),
        _ => {}
    }
}

/// The tool's name as the protocol allows it: `[A-Za-z0-9_.:-]{1,120}`.
#[must_use]
pub fn tool_name(native: &str) -> String {
    let name: String = native
        .chars()
        .take(MAX_TOOL)
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':' | '-') { c } else { '_' })
        .collect();
    if name.is_empty() { "_".to_owned() } else { name }
}

/// Cuts a text to at most `max` characters, the last of which says that it was cut.
pub fn cut_chars(text: &mut String, max: usize) {
    // As many bytes are never more characters.
    if text.len() <= max || text.char_indices().nth(max).is_none() {
        return;
    }
    let end = text.char_indices().nth(max.saturating_sub(1)).map_or(0, |(at, _)| at);
    text.truncate(end);
    text.push_str(CUT);
}

fn cut_optional(text: &mut Option<String>, max: usize) {
    if let Some(text) = text {
        cut_chars(text, max);
    }
}

fn short_id(id: String) -> String {
    if id.len() <= MAX_ID || id.chars().count() <= MAX_ID { id } else { ids::hex(id.as_bytes()) }
}

/// A scheme, a colon, and nothing that a URI may not hold.
fn is_uri(url: &str) -> bool {
    url.split_once(':').is_some_and(|(scheme, rest)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
            && !rest.is_empty()
            && rest.bytes().all(|b| b.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&b))
    })
}

/// Makes the value serialise to at most `max` bytes. The longest strings are cut, all to the same length and no more
/// than is needed, so that short members survive beside a long one. Where that is not enough (very many members), the
/// value becomes a text: the beginning of its JSON.
pub fn fit(value: &mut Value, max: usize) {
    let size = json_len(value);
    if size <= max {
        return;
    }
    let mut lengths = Vec::new();
    each_string(value, &mut |text| lengths.push(escaped_len(text)));
    let structure = size.saturating_sub(lengths.iter().sum());
    match water_level(lengths, max.saturating_sub(structure)) {
        Some(level) if level >= MIN_CONTENT_STRING => each_string(value, &mut |text| cut_escaped(text, level)),
        _ => {
            let mut text = value.to_string();
            // The quotes around it.
            cut_escaped(&mut text, max.saturating_sub(2));
            *value = Value::String(text);
        }
    }
}

/// The greatest length to which all may be cut so that their sum is within `room`; `None` when there is nothing to cut.
fn water_level(mut lengths: Vec<usize>, mut room: usize) -> Option<usize> {
    lengths.sort_unstable();
    let mut left = lengths.len();
    for length in lengths {
        if length > room / left {
            return Some(room / left);
        }
        room -= length;
        left -= 1;
    }
    None
}

fn each_string(value: &mut Value, visit: &mut impl FnMut(&mut String)) {
    match value {
        Value::String(text) => visit(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_string(item, visit)),
        Value::Object(members) => members.values_mut().for_each(|member| each_string(member, visit)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Cuts a text so that it takes at most `max` bytes inside a JSON string.
fn cut_escaped(text: &mut String, max: usize) {
    if escaped_len(text) <= max {
        return;
    }
    let mut room = max.saturating_sub(CUT.len());
    let end = text
        .char_indices()
        .find(|(_, c)| match room.checked_sub(escaped_char_len(*c)) {
            Some(rest) => {
                room = rest;
                false
            }
            None => true,
        })
        .map_or(text.len(), |(at, _)| at);
    text.truncate(end);
    text.push_str(CUT);
}

fn escaped_len(text: &str) -> usize {
    text.bytes().map(escaped_byte_len).sum()
}

fn escaped_char_len(c: char) -> usize {
    u8::try_from(c).map_or(c.len_utf8(), |b| if b.is_ascii() { escaped_byte_len(b) } else { c.len_utf8() })
}

/// As `serde_json` writes it: two-letter escapes where JSON has one, `\u00XX` for other control characters.
fn escaped_byte_len(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        0..0x20 => 6,
        _ => 1,
    }
}

/// The length of the value's compact JSON, without building it.
#[must_use]
pub fn json_len(value: &Value) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Counting cannot fail, and a `Value` has only string keys.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}
