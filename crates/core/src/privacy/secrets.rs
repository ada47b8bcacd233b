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

#[cfg(test)]
mod hostile;
mod names;
mod scan;
mod shapes;
mod values;

use std::borrow::Cow;
use std::ops::Range;

use serde_json::{Map, Value};

use crate::event::Event;
use names::Name;
use scan::Classes;

/// The ruleset's name in `privacy.rulesets`.
pub const RULESET: &str = "secrets@1";

/// What stands in a secret's place.
pub const REDACTED: &str = "[redacted]";
/// The same in an address: brackets stand nowhere in one, and receivers check that.
pub(super) const REDACTED_IN_URI: &str = "%5Bredacted%5D";

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

/// What kind of secret it is: a row of the tables in `docs/privacy.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A token whose shape only one vendor uses, a JSON Web Token.
    VendorToken,
    /// A private key block, also one that was cut.
    PrivateKey,
    /// `scheme://user:password@host`
    UrlCredential,
    /// What follows in an `Authorization` or `Cookie` header.
    Header,
    /// What is assigned to a secret's name, in any notation.
    Assignment,
    /// What a sentence tells: `the password is …`.
    Prose,
}

impl Class {
    /// All classes.
    pub const ALL: [Self; 6] =
        [Self::VendorToken, Self::PrivateKey, Self::UrlCredential, Self::Header, Self::Assignment, Self::Prose];

    /// Its name in tables and lists.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::VendorToken => "vendor token",
            Self::PrivateKey => "private key",
            Self::UrlCredential => "credential in a URL",
            Self::Header => "header",
            Self::Assignment => "assignment",
            Self::Prose => "prose",
        }
    }
}

/// Where the secrets stand that a first pass over the text replaces, in order: class, and range in bytes. What
/// [`redact_text`] replaces can be more.
#[must_use]
pub fn find(text: &str) -> Vec<(Class, Range<usize>)> {
    let mut found = Vec::new();
    scan::find(text, Classes::All, |class, (start, end)| found.push((class, start..end)));
    found
}

/// Runs the ruleset over an event in place and names it in `privacy.rulesets`. Idempotent.
///
/// Never rewritten: what identifies (`id`, `type`, `time`, `harness`, session ids, `account_id`, every `*_id` of the
/// data) and `model`. Folders, the repository, branch, address and paths lose tokens only.
pub fn redact(event: &mut Event) {
    let session = &mut event.session;
    for text in [&mut session.cwd, &mut session.repo, &mut session.branch, &mut session.url].into_iter().flatten() {
        replace(text, Classes::Tokens);
    }
    if let Some(url) = &mut session.url {
        *url = url.replace(REDACTED, REDACTED_IN_URI);
    }
    for text in [&mut session.machine, &mut session.title].into_iter().flatten() {
        replace(text, Classes::All);
    }
    for (key, value) in &mut event.data {
        match key.as_str() {
            "model" => {}
            id if id.ends_with("_id") => {}
            "paths" => each_text(value, &mut |text| replace(text, Classes::Tokens)),
            _ => until_settled(value, |value| redact_member(key, value)),
        }
    }
    redact_keys(&mut event.data);
    if !event.privacy.rulesets.iter().any(|ruleset| ruleset == RULESET) {
        event.privacy.rulesets.push(RULESET.to_owned());
    }
}

/// Runs every class over a JSON value in place, at any depth. A member whose name is a secret's loses its value; so does
/// the `value` beside such a `name` (header lists, environment lists), and what follows such a word in a list of
/// arguments. Idempotent.
pub fn redact_value(value: &mut Value) {
    until_settled(value, redact_once);
}

fn until_settled(value: &mut Value, mut pass: impl FnMut(&mut Value) -> bool) {
    if !scan::settle(|| pass(value)) {
        *value = Value::String(REDACTED.to_owned());
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

// One pass over a value, for `until_settled`: each says whether it changed anything.

fn redact_once(value: &mut Value) -> bool {
    match value {
        Value::String(text) => redact_string(text),
        Value::Array(items) => redact_list(items),
        Value::Object(members) => redact_members(members),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn redact_string(text: &mut String) -> bool {
    let redacted = scan::pass(text, Classes::All);
    redacted.map(|redacted| *text = redacted).is_some()
}

/// The members that name what a `value` beside them is.
const NAME_KEYS: [&str; 6] = ["name", "key", "header", "variable", "field", "env"];
/// The members that hold it.
const VALUE_KEYS: [&str; 2] = ["value", "val"];

fn redact_members(members: &mut Map<String, Value>) -> bool {
    let named = NAME_KEYS.iter().find_map(|key| members.get(*key)?.as_str()).and_then(names::classify);
    let mut changed = false;
    for (key, value) in members.iter_mut() {
        changed |= match named {
            Some(name) if VALUE_KEYS.contains(&key.as_str()) => redact_named(name, value),
            _ => redact_member(key, value),
        };
    }
    redact_keys(members) || changed
}

/// A key can be a token itself. Rare: the members are rebuilt only then.
fn redact_keys(members: &mut Map<String, Value>) -> bool {
    let holds_token = members.keys().any(|key| matches!(redact_tokens(key), Cow::Owned(_)));
    if holds_token {
        *members =
            std::mem::take(members).into_iter().map(|(key, value)| (redact_tokens(&key).into_owned(), value)).collect();
    }
    holds_token
}

fn redact_member(key: &str, value: &mut Value) -> bool {
    match names::classify(key) {
        Some(name) => redact_named(name, value),
        None => redact_once(value),
    }
}

/// The value of a secret's name: strings and long numbers go, in lists too. An object says more than a value and is
/// looked at member by member; what it calls its value is the secret's.
fn redact_named(name: Name, value: &mut Value) -> bool {
    match value {
        Value::String(text) if values::is_secret_member(name, text) => {
            *text = REDACTED.to_owned();
            true
        }
        Value::String(text) if name == Name::Authorization => {
            // The scheme stays.
            const HEADER: &str = "Authorization: ";
            let redacted = scan::pass(&format!("{HEADER}{text}"), Classes::All);
            let redacted = redacted.and_then(|header| header.strip_prefix(HEADER).map(str::to_owned));
            redacted.map(|redacted| *text = redacted).is_some()
        }
        Value::String(text) => redact_string(text),
        Value::Number(number) => {
            let secret = matches!(name, Name::Password | Name::Secret) && values::is_secret_number(&number.to_string());
            if secret {
                *value = Value::String(REDACTED.to_owned());
            }
            secret
        }
        Value::Array(items) => {
            let mut changed = false;
            for item in items {
                changed |= redact_named(name, item);
            }
            changed
        }
        Value::Object(members) => {
            let mut changed = false;
            for (key, member) in members.iter_mut() {
                let is_value = VALUE_KEYS.contains(&key.as_str());
                changed |= if is_value { redact_named(name, member) } else { redact_member(key, member) };
            }
            changed
        }
        Value::Null | Value::Bool(_) => false,
    }
}

/// A list of arguments (`["--token", "…"]`) or a pair (`["Authorization", "…"]`).
fn redact_list(items: &mut [Value]) -> bool {
    let pair = items.len() == 2;
    let mut changed = false;
    let mut named: Option<Name> = None;
    for item in items {
        let Value::String(text) = item else {
            named = None;
            changed |= redact_once(item);
            continue;
        };
        let before = named.take();
        let bare = text.strip_prefix('-').unwrap_or(text);
        if (pair || bare.len() < text.len()) && !bare.contains([' ', '=', ':']) {
            named = names::classify(bare);
        }
        changed |= match before {
            // A list of names (`["password", "token"]`) is no pair.
            Some(name)
                if !text.starts_with('-')
                    && named.is_none()
                    && (name == Name::Authorization || values::looks_generated(text, 6)) =>
            {
                redact_named(name, item)
            }
            _ => redact_string(text),
        };
    }
    changed
}
