//! `secrets@1`: what would open a door is replaced by `[redacted]`, the sentence around it stays.
//!
//! One pass over a text, driven by an automaton of literals (`scan`): a vendor's prefix, a secret's name, `://`,
//! `-----BEGIN`. Only where one of them occurs is anything looked at, and no further than a bounded stretch or the end of what
//! is then replaced. So the time is linear in the text whatever it says, and ordinary text costs one table look-up a byte.
//!
//! | file | holds |
//! |---|---|
//! | `shapes` | the table of vendor token shapes |
//! | `names` | which names are a secret's, and which only sound so |
//! | `values` | what a value looks like: a placeholder, code, something generated |
//! | `scan` | where in a text a secret stands |

mod names;
mod scan;
mod shapes;
mod values;

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::event::Event;
use names::Name;
use scan::Classes;

/// The ruleset's name in `privacy.rulesets`.
pub const RULESET: &str = "secrets@1";

/// What stands in a secret's place.
pub const REDACTED: &str = "[redacted]";

/// Replaces secrets of every class: vendor tokens, key blocks, credentials in URLs, Authorization headers, assignments
/// to a secret's name, and prose that tells one. Linear in the text, idempotent.
#[must_use]
pub fn redact_text(text: &str) -> Cow<'_, str> {
    scan::redact(text, Classes::All)
}

/// Replaces only what is a secret whatever stands around it: vendor tokens, key blocks and credentials in URLs. For
/// folders, paths, branches and addresses.
#[must_use]
pub fn redact_tokens(text: &str) -> Cow<'_, str> {
    scan::redact(text, Classes::Tokens)
}

/// Runs the ruleset over an event in place and names it in `privacy.rulesets`.
///
/// Never rewritten: what identifies (`id`, `type`, `time`, `harness`, session ids, `account_id`, every `*_id` of the
/// data) and `model`. Folders, the repository, branch, address and paths lose tokens only.
pub fn redact(event: &mut Event) {
    let session = &mut event.session;
    for text in [&mut session.cwd, &mut session.repo, &mut session.branch, &mut session.url].into_iter().flatten() {
        replace(text, Classes::Tokens);
    }
    for text in [&mut session.machine, &mut session.title].into_iter().flatten() {
        replace(text, Classes::All);
    }
    for (key, value) in &mut event.data {
        match key.as_str() {
            "model" => {}
            id if id.ends_with("_id") => {}
            "paths" => each_text(value, &mut |text| replace(text, Classes::Tokens)),
            _ => redact_member(key, value),
        }
    }
    if !event.privacy.rulesets.iter().any(|ruleset| ruleset == RULESET) {
        event.privacy.rulesets.push(RULESET.to_owned());
    }
}

/// Runs every class over a JSON value in place, at any depth. A member whose name is a secret's loses its value; so does
/// the `value` beside such a `name` (header lists, environment lists), and what follows such a word in a list of
/// arguments.
pub fn redact_value(value: &mut Value) {
    match value {
        Value::String(text) => replace(text, Classes::All),
        Value::Array(items) => redact_list(items),
        Value::Object(members) => redact_members(members),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn replace(text: &mut String, classes: Classes) {
    if let Cow::Owned(redacted) = scan::redact(text, classes) {
        *text = redacted;
    }
}

fn each_text(value: &mut Value, visit: &mut impl FnMut(&mut String)) {
    match value {
        Value::String(text) => visit(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_text(item, visit)),
        Value::Object(members) => members.values_mut().for_each(|member| each_text(member, visit)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The members that name what a `value` beside them is.
const NAME_KEYS: [&str; 6] = ["name", "key", "header", "variable", "field", "env"];
/// The members that hold it.
const VALUE_KEYS: [&str; 2] = ["value", "val"];

fn redact_members(members: &mut Map<String, Value>) {
    let named = NAME_KEYS.iter().find_map(|key| members.get(*key)?.as_str()).and_then(names::classify);
    for (key, value) in members.iter_mut() {
        match named {
            Some(name) if VALUE_KEYS.contains(&key.as_str()) => redact_named(name, value),
            _ => redact_member(key, value),
        }
    }
    // A key can be a token itself. Rare: the members are rebuilt only then.
    if members.keys().any(|key| matches!(redact_tokens(key), Cow::Owned(_))) {
        *members =
            std::mem::take(members).into_iter().map(|(key, value)| (redact_tokens(&key).into_owned(), value)).collect();
    }
}

fn redact_member(key: &str, value: &mut Value) {
    match names::classify(key) {
        Some(name) => redact_named(name, value),
        None => redact_value(value),
    }
}

/// The value of a secret's name: strings and long numbers go, in lists too. An object says more than a value and is
/// looked at member by member; what it calls its value is the secret's.
fn redact_named(name: Name, value: &mut Value) {
    match value {
        Value::String(text) => {
            if values::is_secret_member(name, text) {
                *text = REDACTED.to_owned();
            } else if name == Name::Authorization {
                // The scheme stays.
                let header = format!("Authorization: {text}");
                if let Cow::Owned(redacted) = redact_text(&header) {
                    *text = redacted.trim_start_matches("Authorization: ").to_owned();
                }
            } else {
                replace(text, Classes::All);
            }
        }
        Value::Number(number) => {
            if matches!(name, Name::Password | Name::Secret) && values::is_secret_number(&number.to_string()) {
                *value = Value::String(REDACTED.to_owned());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redact_named(name, item)),
        Value::Object(members) => {
            for (key, member) in members.iter_mut() {
                if VALUE_KEYS.contains(&key.as_str()) { redact_named(name, member) } else { redact_member(key, member) }
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

/// A list of arguments (`["--token", "…"]`) or a pair (`["Authorization", "…"]`).
fn redact_list(items: &mut [Value]) {
    let pair = items.len() == 2;
    let mut named: Option<Name> = None;
    for item in items {
        let text = match item {
            Value::String(text) => text,
            other => {
                named = None;
                redact_value(other);
                continue;
            }
        };
        let before = named.take();
        let bare = text.strip_prefix('-').unwrap_or(text);
        if (pair || bare.len() < text.len()) && !bare.contains([' ', '=', ':']) {
            named = names::classify(bare);
        }
        match before {
            // A list of names (`["password", "token"]`) is no pair.
            Some(name) if !text.starts_with('-') && named.is_none() => {
                let looks = name == Name::Authorization || values::looks_generated(text, 6);
                if looks { redact_named(name, item) } else { replace(text, Classes::All) }
            }
            _ => replace(text, Classes::All),
        }
    }
}
