//! How a person writes a document, so that what is added looks like its neighbours.

use jsonc_parser::ast::Value as Ast;
use jsonc_parser::common::Ranged;
use serde_json::Value;

use super::document::{container, object};
use crate::splice::{Spacing, line_indent};

/// How the person spaces a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Style {
    /// Between key and value, with the colon.
    colon: String,
    /// After a comma, on one line.
    comma: String,
    /// Inside braces, on one line.
    pad: String,
    /// One step of indentation.
    pub(super) unit: String,
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
    pub(super) fn sample<'d, 'a: 'd>(text: &str, nearest: impl IntoIterator<Item = &'d Ast<'a>>) -> Self {
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

    pub(super) fn spacing(&self) -> Spacing<'_> {
        Spacing { inline: &self.comma, pad: &self.pad, unit: &self.unit }
    }

    pub(super) fn member(&self, key: &str, value: &Value, levels: &[bool], indent: &str, newline: &str) -> String {
        format!("{}{}{}", Value::from(key), self.colon, self.render(value, levels, indent, newline))
    }

    /// A value as text, `levels[n]` saying whether the children of the n-th level stand on lines of their own (the last
    /// one holds for all deeper levels).
    pub(super) fn render(&self, value: &Value, levels: &[bool], indent: &str, newline: &str) -> String {
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

/// A new document: one line per key on the way, and one per event.
pub(super) fn new_levels(depth: usize) -> Vec<bool> {
    let mut levels = vec![true; depth + 1];
    levels.push(false);
    levels
}

/// For each level of nesting in a value, along its last children: whether children stand on lines of their own.
pub(super) fn levels(text: &str, value: &Ast<'_>) -> Vec<bool> {
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
