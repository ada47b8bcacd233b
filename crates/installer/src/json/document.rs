//! A parsed JSON(C) document: what `jsonc-parser` says of it, and where it says that it is broken.

use std::borrow::Cow;

use jsonc_parser::ast::{Array, Object, ObjectProp, Value as Ast};
use jsonc_parser::common::Ranged;
use jsonc_parser::errors::ParseErrorKind;
use jsonc_parser::{CollectOptions, parse_to_ast};
use serde_json::Value;
use sessionpipe_core::jsonc;

use crate::refusal::{Place, Refusal};
use crate::splice::{Comments, Container};

/// A parsed document.
pub(super) struct Doc<'a> {
    pub(super) text: &'a str,
    /// `None`: nothing but white space and comments.
    pub(super) root: Option<Ast<'a>>,
    /// Neither comments nor trailing commas.
    pub(super) is_plain: bool,
}

impl Doc<'_> {
    /// Whether what is added to the document goes on lines of its own, where no neighbour tells.
    pub(super) fn is_on_lines(&self) -> bool {
        let root = self.root.as_ref().and_then(container);
        root.is_some_and(|root| root.is_expanded(self.text) || root.children.is_empty())
    }
}

pub(super) fn parse(text: &str) -> Result<Doc<'_>, Refusal> {
    let collect = CollectOptions::default();
    let (root, is_plain) = match parse_to_ast(text, &collect, &jsonc::STRICT) {
        Ok(result) => (result.value, true),
        Err(_) => match parse_to_ast(text, &collect, &jsonc::LENIENT) {
            Ok(result) => (result.value, false),
            Err(error) => return Err(syntax(text, error.range().start, error.kind())),
        },
    };
    if let Some(at) = root.as_ref().and_then(|root| control_character(text, root)) {
        let message = "a control character in a string must be escaped".to_owned();
        return Err(Refusal::Syntax { place: Place::of(text, at), message });
    }
    Ok(Doc { text, root, is_plain })
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
pub(super) fn escape_lone_surrogates(text: &str) -> Cow<'_, str> {
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
    let in_string =
        |start: usize, end: usize| text.as_bytes()[start..end].iter().position(|b| *b < b' ').map(|at| start + at);
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

/// The value of a key; where it is there twice the last one counts, as it does for the readers.
pub(super) fn get<'d, 'a>(object: &'d Object<'a>, key: &str) -> Option<(usize, &'d ObjectProp<'a>)> {
    object.properties.iter().enumerate().rev().find(|(_, p)| p.name.as_str() == key)
}

pub(super) fn to_value(ast: &Ast<'_>) -> Value {
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
pub(super) fn same(a: &Ast<'_>, b: &Ast<'_>) -> bool {
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

pub(super) fn kind(ast: &Ast<'_>) -> &'static str {
    match ast {
        Ast::StringLit(_) => "a string",
        Ast::NumberLit(_) => "a number",
        Ast::BooleanLit(_) => "a boolean",
        Ast::NullKeyword(_) => "null",
        Ast::Array(_) => "an array",
        Ast::Object(_) => "an object",
    }
}

pub(super) fn object(o: &Object<'_>) -> Container {
    Container {
        open: o.range.start,
        close: o.range.end - 1,
        children: o.properties.iter().map(|p| p.range.start..p.range.end).collect(),
        comments: Comments::Slashes,
    }
}

pub(super) fn array(a: &Array<'_>) -> Container {
    Container {
        open: a.range.start,
        close: a.range.end - 1,
        children: a.elements.iter().map(|e| e.start()..e.end()).collect(),
        comments: Comments::Slashes,
    }
}

pub(super) fn container(ast: &Ast<'_>) -> Option<Container> {
    match ast {
        Ast::Object(o) => Some(object(o)),
        Ast::Array(a) => Some(array(a)),
        _ => None,
    }
}
