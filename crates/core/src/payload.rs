//! Reading what a harness sent: whole, cut, doubled or broken.
//!
//! [`Scanner`] runs in the hook: it finds the end of the first JSON value and the few keys that prove the sender,
//! without building anything. [`parse`] runs in the worker and makes the most of what arrived.

// A part of it runs in the hook, the rest on whatever a harness sends: nothing here may panic.
#![cfg_attr(not(test), deny(clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

use serde_json::{Map, Value};

use crate::harness::{Harness, Mark};

/// What a harness sent, as far as it could be read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Payload {
    /// The payload's members; empty where nothing could be read.
    pub members: Map<String, Value>,
    /// It was cut, or not all of it could be read.
    pub partial: bool,
}

impl Payload {
    /// A member that is a non-empty string, by the first of these names that has one.
    #[must_use]
    pub fn text(&self, names: &[&str]) -> Option<&str> {
        names.iter().filter_map(|name| self.members.get(*name)?.as_str()).find(|s| !s.is_empty())
    }

    /// A member that is not null, by the first of these names that has one.
    #[must_use]
    pub fn value(&self, names: &[&str]) -> Option<&Value> {
        names.iter().filter_map(|name| self.members.get(*name)).find(|v| !v.is_null())
    }
}

/// The UTF-8 byte order mark.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// Reads a payload: a BOM and anything after the first value are skipped, invalid UTF-8, lone surrogates and raw control
/// characters are replaced, and of a cut value the members that arrived whole are kept.
///
/// # Errors
/// A sentence for the quarantine, when there is no JSON object in it.
pub fn parse(bytes: &[u8]) -> Result<Payload, String> {
    let bytes = bytes.strip_prefix(BOM).unwrap_or(bytes);
    let trimmed = bytes.trim_ascii_start();
    if trimmed.is_empty() {
        return Err("nothing arrived on stdin".to_owned());
    }
    let mut scanner = Scanner::default();
    let end = scanner.feed(trimmed);
    let whole = end.and_then(|end| trimmed.get(..end)).unwrap_or(trimmed);
    if end.is_some() {
        if let Ok(value) = serde_json::from_slice::<Value>(whole) {
            return object(value, false);
        }
        let mended = mend(whole);
        if let Ok(value) = serde_json::from_slice::<Value>(&mended) {
            return object(value, false);
        }
    }
    // A number or a word has no end of its own.
    if let Ok(value) = serde_json::from_slice::<Value>(whole) {
        return object(value, true);
    }
    let closed = close(&mend(whole));
    match serde_json::from_slice::<Value>(&closed) {
        Ok(value) => object(value, true),
        Err(error) => Err(format!("it is not JSON: {error}")),
    }
}

fn object(value: Value, partial: bool) -> Result<Payload, String> {
    match value {
        Value::Object(members) => Ok(Payload { members, partial }),
        _ => Err("it is JSON, but no object".to_owned()),
    }
}

/// Replaces what strict JSON does not allow inside strings: invalid UTF-8, lone surrogates, raw control characters.
fn mend(bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut in_string = false;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => in_string = !in_string,
            b'\\' if in_string => {
                let (taken, written) = escape(bytes.get(at..).unwrap_or_default());
                out.extend_from_slice(written);
                at += taken;
                continue;
            }
            0..=0x1f if in_string => {
                out.extend_from_slice(format!("\\u{byte:04x}").as_bytes());
                at += 1;
                continue;
            }
            _ => {}
        }
        out.push(byte);
        at += 1;
    }
    out
}

/// One escape sequence at the start of `bytes`: how many bytes it takes, and what to write for it.
fn escape(bytes: &[u8]) -> (usize, &[u8]) {
    const REPLACEMENT: &[u8] = b"\\ufffd";
    let unit = |from: usize| {
        let hex = bytes.get(from..from + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()
    };
    let head = |len: usize| bytes.get(..len).unwrap_or(REPLACEMENT);
    match bytes.get(1) {
        Some(b'u') => match unit(0) {
            Some(0xd800..=0xdbff) => match unit(6) {
                Some(0xdc00..=0xdfff) => (12, head(12)),
                _ => (6, REPLACEMENT),
            },
            Some(0xdc00..=0xdfff) => (6, REPLACEMENT),
            Some(_) => (6, head(6)),
            None => (2, REPLACEMENT),
        },
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => (2, head(2)),
        Some(_) => (1, b"\\\\"),
        None => (1, b""),
    }
}

/// Deeper nesting than this is cut off: `serde_json` stops at 128 itself.
const MAX_DEPTH: usize = 120;

/// Makes a cut value whole again: drops what comes after the last complete member and closes what is open.
fn close(bytes: &[u8]) -> Vec<u8> {
    let mut open: Vec<u8> = Vec::new();
    let mut safe = (0, Vec::new());
    let mut at = 0;
    // In an object, a string may be a key: only after its value is a member complete.
    let mut value_next = vec![true];
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => {
                let Some(len) = string_end(bytes.get(at..).unwrap_or_default()) else { break };
                at += len;
                if value_next.last() == Some(&true) {
                    safe = (at, open.clone());
                }
            }
            b'{' | b'[' => {
                if open.len() == MAX_DEPTH {
                    break;
                }
                open.push(if byte == b'{' { b'}' } else { b']' });
                value_next.push(byte == b'[');
                safe = (at, open.clone());
            }
            b'}' | b']' => {
                if open.pop() != Some(byte) {
                    break;
                }
                value_next.pop();
                safe = (at, open.clone());
            }
            b':' => {
                if let Some(next) = value_next.last_mut() {
                    *next = true;
                }
            }
            b',' => {
                // A number or literal before the comma is whole.
                safe = (at - 1, open.clone());
                if let Some(next) = value_next.last_mut() {
                    *next = open.last() == Some(&b']');
                }
            }
            _ => {}
        }
    }
    let (end, open) = safe;
    let mut out = bytes.get(..end).unwrap_or(bytes).to_vec();
    out.extend(open.into_iter().rev());
    out
}

/// The length of the rest of a string, its closing quote included.
fn string_end(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes.get(at) == Some(&b'"') {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// How much of a top-level key or event name is kept: no mark and no native event name is longer.
const WORD: usize = 64;

/// Finds the end of the first JSON value in a stream, and notes its top-level keys and its event name. It holds no
/// more than a few words, whatever the size of the payload.
#[derive(Debug, Default)]
pub struct Scanner {
    depth: u32,
    string: bool,
    escaped: bool,
    started: bool,
    done: bool,
    /// Collecting the current top-level string; `None` while a string is of no interest.
    word: Option<Vec<u8>>,
    /// The last top-level string was a key, and this is it.
    key: Option<Vec<u8>>,
    keys: Vec<Vec<u8>>,
    event: Option<String>,
}

/// The payload's member that names the native event.
const EVENT_KEY: &[u8] = b"hook_event_name";

/// More top-level keys than this are not remembered: no payload seen has more than 40.
const MAX_KEYS: usize = 256;

impl Scanner {
    /// Takes more bytes. `Some(n)`: the first value ends after `n` of them.
    pub fn feed(&mut self, chunk: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < chunk.len() {
            if self.string && !self.escaped && self.word.is_none() {
                // The long way through a string that nobody asks for.
                at += memchr::memchr2(b'"', b'\\', chunk.get(at..)?)?;
            }
            let byte = *chunk.get(at)?;
            at += 1;
            if self.step(byte) {
                self.done = true;
                // A number has no end of its own: the byte that ended it is not part of it.
                return Some(if self.depth == 0 && !matches!(byte, b'}' | b']' | b'"') { at - 1 } else { at });
            }
        }
        None
    }

    /// The value has ended.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Whether the value has this top-level key (as far as it was read).
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.keys.iter().any(|k| k == key.as_bytes())
    }

    /// The value's own `hook_event_name`.
    #[must_use]
    pub fn event(&self) -> Option<&str> {
        self.event.as_deref()
    }

    /// One byte; true when the value is complete.
    fn step(&mut self, byte: u8) -> bool {
        if self.string {
            if self.escaped {
                self.escaped = false;
                self.push(byte);
            } else if byte == b'\\' {
                self.escaped = true;
            } else if byte == b'"' {
                self.string = false;
                self.end_of_word();
                return self.depth == 0;
            } else {
                self.push(byte);
            }
            return false;
        }
        match byte {
            b'"' => {
                self.string = true;
                self.started = true;
                // Keys, and the value of the event's name.
                let wanted = self.depth == 1 && self.key.as_deref().is_none_or(|key| key == EVENT_KEY);
                self.word = wanted.then(Vec::new);
            }
            b'{' | b'[' => {
                self.started = true;
                self.depth += 1;
                if self.depth == 1 && byte == b'[' {
                    // No keys in an array: make every string one of no interest.
                    self.key = Some(Vec::new());
                }
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                return self.depth == 0;
            }
            b',' if self.depth == 1 => self.key = None,
            b' ' | b'\t' | b'\r' | b'\n' => return self.started && self.depth == 0,
            0xef | 0xbb | 0xbf if !self.started => {}
            _ => self.started = true,
        }
        false
    }

    fn push(&mut self, byte: u8) {
        if let Some(word) = &mut self.word {
            if word.len() == WORD {
                // Too long to be of interest.
                self.word = None;
            } else {
                word.push(byte);
            }
        }
    }

    fn end_of_word(&mut self) {
        if self.depth != 1 {
            return;
        }
        match (&self.key, self.word.take()) {
            (None, word) => {
                let word = word.unwrap_or_default();
                if self.keys.len() < MAX_KEYS {
                    self.keys.push(word.clone());
                }
                self.key = Some(word);
            }
            (Some(_), Some(word)) => self.event = String::from_utf8(word).ok(),
            (Some(_), None) => {}
        }
    }
}

/// Who really called: the first whose mark is in the payload or the environment, else whom argv names. Borrowers of
/// the named harness come first, since their payloads may look like anything.
#[must_use]
pub fn caller<'a>(
    harnesses: &[&'static Harness],
    named: &'a str,
    has_key: impl Fn(&str) -> bool,
    has_env: impl Fn(&str) -> bool,
) -> &'a str {
    let proves = |marks: &[Mark]| {
        marks.iter().any(|mark| match mark {
            Mark::Key(key) => has_key(key),
            Mark::Env(name) => has_env(name),
            // The keys are at hand; to look for a variable is a walk through the environment.
            Mark::EnvAndKey(name, key) => has_key(key) && has_env(name),
        })
    };
    let own = harnesses.iter().find(|h| h.name == named);
    let borrower = own.and_then(|h| h.borrowers.iter().find(|b| proves(b.marks))).map(|b| b.name);
    borrower.or_else(|| harnesses.iter().find(|h| h.name != named && proves(h.marks)).map(|h| h.name)).unwrap_or(named)
}

/// What the hook must print: the row of the caller and event, else of the caller and any event, else nothing. The row may be
/// in the table of any harness: whose config the caller borrows knows it, too, when the caller's own adapter is not built in.
#[must_use]
pub fn reply(harnesses: &[&'static Harness], caller: &str, event: &str) -> &'static str {
    let mut any = "";
    for row in harnesses.iter().flat_map(|h| h.replies).filter(|row| row.caller == caller) {
        if row.event == event {
            return row.stdout;
        }
        if row.event == "*" && any.is_empty() {
            any = row.stdout;
        }
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn members(bytes: &[u8]) -> (Value, bool) {
        let payload = parse(bytes).expect("readable");
        (Value::Object(payload.members), payload.partial)
    }

    #[test]
    fn a_variable_that_is_inherited_proves_nothing_without_its_key() {
        static INNER: Harness =
            Harness { name: "inner", marks: &[Mark::EnvAndKey("OUTER_HOOKS", "stamp")], ..Harness::BLANK };
        let who = |key: &str, env: &str| caller(&[&INNER], "named", |k| k == key, |e| e == env).to_owned();
        assert_eq!(who("stamp", "OUTER_HOOKS"), "inner");
        assert_eq!(who("stamp", "PATH"), "named");
        assert_eq!(who("cwd", "OUTER_HOOKS"), "named");
    }

    #[test]
    fn whole_values() {
        assert_eq!(members(br#"{"a":1}"#), (json!({"a":1}), false));
        assert_eq!(members(b"\xef\xbb\xbf{\"a\":1}\n"), (json!({"a":1}), false));
        assert_eq!(members(br#"{"a":1}{"a":2}"#), (json!({"a":1}), false), "doubled: the first counts");
        assert_eq!(members(br#"  {"a":"}\"{"} trailing"#), (json!({"a":"}\"{"}), false));
    }

    #[test]
    fn broken_strings_are_mended() {
        assert_eq!(members(br#"{"a":"x\ud800y"}"#), (json!({"a":"x\u{fffd}y"}), false));
        assert_eq!(members(br#"{"a":"\ud83d\ude00\udc00"}"#), (json!({"a":"😀\u{fffd}"}), false));
        assert_eq!(members(b"{\"a\":\"x\xffy\"}"), (json!({"a":"x\u{fffd}y"}), false));
        assert_eq!(members(b"{\"a\":\"x\0y\nz\"}"), (json!({"a":"x\0y\nz"}), false));
        assert_eq!(members(br#"{"a":"C:\dir\x"}"#), (json!({"a":"C:\\dir\\x"}), false));
    }

    #[test]
    fn of_a_cut_value_the_whole_members_stay() {
        assert_eq!(members(br#"{"session_id":"s1","prompt":"half of i"#), (json!({"session_id":"s1"}), true));
        assert_eq!(members(br#"{"session_id":"s1","cwd"#), (json!({"session_id":"s1"}), true));
        assert_eq!(members(br#"{"s":"s1","n":12"#), (json!({"s":"s1"}), true), "the number may go on");
        assert_eq!(members(br#"{"s":"s1","t":{"a":[1,{"b":"c"},"#), (json!({"s":"s1","t":{"a":[1,{"b":"c"}]}}), true));
        assert_eq!(members(br#"{"s":"s1","t":{"a":"#), (json!({"s":"s1","t":{}}), true));
        assert_eq!(members(br#"{"s":"a\"#), (json!({}), true));
    }

    #[test]
    fn what_is_no_object_says_so() {
        assert_eq!(parse(b"").unwrap_err(), "nothing arrived on stdin");
        assert_eq!(parse(b"\xef\xbb\xbf \n").unwrap_err(), "nothing arrived on stdin");
        for other in ["[1]", "null", "true", "12", "\"x\""] {
            assert_eq!(parse(other.as_bytes()).unwrap_err(), "it is JSON, but no object", "{other}");
        }
        assert!(parse(b"hello").unwrap_err().starts_with("it is not JSON"));
        let deep = "[".repeat(100_000);
        assert!(parse(deep.as_bytes()).is_err());
        let deep = format!("{{\"s\":\"x\",\"a\":{}", "[".repeat(100_000));
        assert_eq!(parse(deep.as_bytes()).expect("cut").members["s"], "x");
    }

    #[test]
    fn the_scanner_finds_the_end_in_any_pieces() {
        let text = br#" {"hook_event_name":"Stop","cursor_version":"1","x":{"inner":"}"},"y":["a","b"]} {"#;
        let end = text.len() - 2;
        for cut in 0..end {
            let mut scanner = Scanner::default();
            assert_eq!(scanner.feed(&text[..cut]), None, "{cut}");
            assert_eq!(scanner.feed(&text[cut..]), Some(end - cut), "{cut}");
            assert_eq!(scanner.event(), Some("Stop"));
            assert!(scanner.has("cursor_version") && scanner.has("y"));
            assert!(!scanner.has("inner") && !scanner.has("Stop") && !scanner.has("a"));
        }
    }

    #[test]
    fn the_scanner_takes_any_value() {
        assert_eq!(Scanner::default().feed(b"\xef\xbb\xbf{}"), Some(5));
        assert_eq!(Scanner::default().feed(b"\"a\" "), Some(3));
        assert_eq!(Scanner::default().feed(b"12\n"), Some(2));
        assert_eq!(Scanner::default().feed(b"12"), None);
        assert_eq!(Scanner::default().feed(b"[\"a\",{}]"), Some(8));
    }
}
