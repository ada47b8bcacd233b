//! `pii@1`, for sinks that ask for it: who it was is taken out, what was done stays. Emails become `[email]`, phone numbers
//! `[phone]`, home folders `~`, the machine the beginning of its hash; the account is dropped.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::event::Event;
use crate::ids;
use crate::privacy::secrets::{REDACTED, REDACTED_IN_URI};

/// The ruleset's name in `privacy.rulesets`.
pub const RULESET: &str = "pii@1";

const EMAIL: &str = "[email]";
const PHONE: &str = "[phone]";
const HOME: &str = "~";
/// Hex digits that are left of a machine's hash.
const MACHINE_DIGITS: usize = 8;

/// Of RFC 5321: characters before the `@`, and behind it.
const MAX_LOCAL: usize = 64;
const MAX_DOMAIN: usize = 255;
/// Of a folder's name in `/home`.
const MAX_NAME: usize = 64;
/// Of an international number. E.164 allows fifteen; fewer than eight are too often something else.
const PHONE_DIGITS: std::ops::RangeInclusive<usize> = 8..=15;

/// What the ruleset has to know of this machine.
#[derive(Clone, Debug, Default)]
pub struct Pii {
    /// The home folder as it is written: as it is, as JSON escapes it, with the other slashes.
    homes: Vec<String>,
    /// The home folder in the name that a harness gives to a project's folder: `-home-dev1`.
    dashed: Option<String>,
}

impl Pii {
    /// With the home folder of this machine. Those of other machines are known by where they lie: `/home/NAME`, `/Users/NAME`,
    /// `C:\Users\NAME`.
    #[must_use]
    pub fn new(home: &str) -> Self {
        let home = home.trim_end_matches(['/', '\\']);
        let is_folder = home.starts_with(['/', '\\']) || home.get(1..2) == Some(":");
        if home.len() < 3 || !is_folder {
            return Self::default();
        }
        let mut homes = vec![home.to_owned(), home.replace('\\', "\\\\"), home.replace('\\', "/")];
        homes.dedup();
        let dashed: String = home.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
        // `-root` is an option of many a program.
        Self { homes, dashed: (dashed.matches('-').count() > 1).then_some(dashed) }
    }

    /// Runs the ruleset over an event in place, once. What identifies (`*_id`) stays.
    pub fn redact(&self, event: &mut Event) {
        if event.privacy.pii {
            return;
        }
        let session = &mut event.session;
        session.account_id = None;
        if let Some(machine) = &mut session.machine {
            *machine = ids::hex(machine.as_bytes());
            machine.truncate(MACHINE_DIGITS);
        }
        for text in [&mut session.cwd, &mut session.repo, &mut session.branch, &mut session.title].into_iter().flatten()
        {
            self.replace(text);
        }
        if let Some(url) = &mut session.url {
            // `%5Bredacted%5D@host` reads like an email.
            let mut plain = url.replace(REDACTED_IN_URI, REDACTED);
            self.replace(&mut plain);
            *url = plain.replace(REDACTED, REDACTED_IN_URI).replace(EMAIL, "%5Bemail%5D").replace(PHONE, "%5Bphone%5D");
        }
        for (key, value) in &mut event.data {
            if key != "model" && !key.ends_with("_id") {
                self.redact_value(value);
            }
        }
        event.privacy.pii = true;
        event.privacy.rulesets.push(RULESET.to_owned());
    }

    fn redact_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.replace(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_value(item)),
            Value::Object(members) => {
                members.values_mut().for_each(|member| self.redact_value(member));
                if members.keys().any(|key| matches!(self.redact_text(key), Cow::Owned(_))) {
                    let renamed = std::mem::take(members).into_iter();
                    *members =
                        renamed.map(|(key, value)| (self.redact_text(&key).into_owned(), value)).collect::<Map<_, _>>();
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn replace(&self, text: &mut String) {
        if let Cow::Owned(redacted) = self.redact_text(text) {
            *text = redacted;
        }
    }

    /// Replaces home folders, emails and phone numbers. Linear in the text.
    #[must_use]
    pub fn redact_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut redacted = String::new();
        let mut kept = 0;
        let mut at = 0;
        while let Some(found) = text.as_bytes().get(at..).and_then(|rest| rest.iter().position(|b| is_mark(*b))) {
            at += found;
            match self.found(text, kept, at) {
                Some((start, end, mark)) => {
                    redacted.push_str(text.get(kept..start).unwrap_or_default());
                    redacted.push_str(mark);
                    kept = end;
                    at = end;
                }
                None => at += 1,
            }
        }
        if kept == 0 {
            return Cow::Borrowed(text);
        }
        redacted.push_str(text.get(kept..).unwrap_or_default());
        Cow::Owned(redacted)
    }

    /// What stands at this mark: start, end, and what takes its place. Nothing before `floor` is part of it.
    fn found(&self, text: &str, floor: usize, at: usize) -> Option<(usize, usize, &'static str)> {
        let bytes = text.as_bytes();
        match *bytes.get(at)? {
            b'@' => email(text, floor, at).map(|(start, end)| (start, end, EMAIL)),
            b'+' => international(bytes, floor, at).map(|end| (at, end, PHONE)),
            b'(' | b'0'..=b'9' => national(bytes, floor, at).map(|end| (at, end, PHONE)),
            // Behind a drive's letter.
            b':' if at > floor => self.home(text, floor, at - 1).map(|end| (at - 1, end, HOME)),
            _ => self.home(text, floor, at).map(|end| (at, end, HOME)),
        }
    }

    /// The end of a home folder.
    fn home(&self, text: &str, floor: usize, at: usize) -> Option<usize> {
        let rest = text.get(at..)?;
        let before = before(text.as_bytes(), floor, at);
        let known = self.homes.iter().find(|home| {
            rest.strip_prefix(home.as_str()).is_some_and(|after| !after.starts_with(|c: char| is_name(c) && c != '.'))
        });
        if let Some(home) = known {
            return Some(at + home.len());
        }
        if let Some(dashed) = &self.dashed
            && matches!(before, Some(b'/' | b'\\'))
            && let Some(after) = rest.strip_prefix(dashed.as_str())
        {
            return (!after.starts_with(char::is_alphanumeric)).then_some(at + dashed.len());
        }
        other_home(text, before, at)
    }
}

/// What a home, an email or a phone number has in it.
fn is_mark(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'@' | b'+' | b'(' | b'/' | b'\\' | b'-' | b':')
}

/// What a folder's name, and the part of an email before its `@`, is made of.
fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '_' | '-')
}

/// The byte before, if it was not replaced.
fn before(bytes: &[u8], floor: usize, at: usize) -> Option<u8> {
    if at > floor { bytes.get(at - 1).copied() } else { None }
}

/// The end of a home that is known by its place alone. A name before it makes it a part of something else (`/mnt/home/x`,
/// `example.com/home/x`).
fn other_home(text: &str, before: Option<u8>, at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let folder = ["/home/", "/Users/"].into_iter().find_map(|folder| rest.strip_prefix(folder));
    let name = match folder {
        // An escaped line break ends in a letter.
        Some(_) if before.is_some_and(|b| is_name(char::from(b))) && !is_escape(text, at) => return None,
        Some(name) => name,
        None => {
            let drive = rest.strip_prefix(|c: char| c.is_ascii_alphabetic())?.strip_prefix(':')?;
            if before.is_some_and(|b| b.is_ascii_alphanumeric()) && !is_escape(text, at) {
                return None;
            }
            let users = ["\\\\", "\\", "/"]
                .into_iter()
                .find_map(|separator| drive.strip_prefix(separator)?.strip_prefix("Users")?.strip_prefix(separator));
            users?
        }
    };
    let start = text.len() - name.len();
    let length =
        name.char_indices().take(MAX_NAME).take_while(|(_, c)| is_name(*c)).map(|(i, c)| i + c.len_utf8()).last()?;
    // A sentence may end behind it.
    let length = name.get(..length)?.trim_end_matches('.').len();
    (length > 0).then_some(start + length)
}

/// Whether `\n`, `\r` or `\t`, written out, ends here.
fn is_escape(text: &str, at: usize) -> bool {
    at.checked_sub(2)
        .and_then(|start| text.as_bytes().get(start..at))
        .is_some_and(|two| matches!(two, [b'\\', b'n' | b'r' | b't']))
}

/// Start and end of the email whose `@` stands here.
fn email(text: &str, floor: usize, at: usize) -> Option<(usize, usize)> {
    let is_local = |c: char| is_name(c) || matches!(c, '+' | '%');
    let local = text.get(floor..at)?;
    let mut start = at;
    for (i, c) in local.char_indices().rev().take(MAX_LOCAL) {
        if !is_local(c) {
            break;
        }
        start = floor + i;
    }
    if start > floor
        && text.as_bytes().get(start - 1) == Some(&b'\\')
        && text.get(start..at)?.starts_with(['n', 'r', 't'])
    {
        start += 1;
    }
    let local = text.get(start..at)?;
    start = at - local.trim_start_matches(['.', '-', '+', '%']).len();
    let domain = text.get(at + 1..)?;
    let length =
        domain.char_indices().take(MAX_DOMAIN).take_while(|(_, c)| c.is_alphanumeric() || matches!(c, '.' | '-'));
    let domain = domain.get(..length.map(|(i, c)| i + c.len_utf8()).last()?)?.trim_end_matches(['.', '-']);
    let (labels, last) = domain.rsplit_once('.')?;
    // `lodash@4.17.21-beta.x`, `icon@2x.png`
    let first = labels.split('.').next()?.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_version = domain.starts_with(|c: char| c.is_ascii_digit())
        && (first == "x" || (first.is_empty() && labels.contains('.')));
    let is_email = start < at
        // How every repository is addressed.
        && text.get(start..at)? != "git"
        && last.chars().count() >= 2
        && last.chars().all(char::is_alphabetic)
        && labels.split('.').all(|label| !label.is_empty())
        && !is_version;
    is_email.then_some((start, at + 1 + domain.len()))
}

/// The end of `+44 20 7946 0958`.
fn international(bytes: &[u8], floor: usize, at: usize) -> Option<usize> {
    if before(bytes, floor, at).is_some_and(|b| b.is_ascii_alphanumeric() || b == b'+') || bytes.get(at + 1)? == &b'0' {
        return None;
    }
    let mut digits = 0;
    let mut end = at + 1;
    let mut i = at + 1;
    while let Some(byte) = bytes.get(i) {
        if byte.is_ascii_digit() {
            digits += 1;
            end = i + 1;
        } else if i - end >= 2 || !b" -.()".contains(byte) {
            break;
        }
        if digits > *PHONE_DIGITS.end() {
            return None;
        }
        i += 1;
    }
    let goes_on = bytes.get(end).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    (PHONE_DIGITS.contains(&digits) && !goes_on).then_some(end)
}

/// The end of a number of the North American plan: `(415) 555-1234`, `415-555-1234`, `1-415.555.1234`.
fn national(bytes: &[u8], floor: usize, at: usize) -> Option<usize> {
    if before(bytes, floor, at).is_some_and(|b| b.is_ascii_alphanumeric() || b"_-+./:@#=".contains(&b)) {
        return None;
    }
    let byte = |i: usize| bytes.get(i).copied().unwrap_or(0);
    let is_separator = |b: u8| matches!(b, b' ' | b'-' | b'.');
    let digits =
        |from: usize, count: usize| (from..from + count).all(|i| byte(i).is_ascii_digit()).then_some(from + count);
    // Neither an area nor an exchange begins with 0 or 1.
    let three = |from: usize| if matches!(byte(from), b'2'..=b'9') { digits(from, 3) } else { None };
    let start = if byte(at) == b'1' && is_separator(byte(at + 1)) { at + 2 } else { at };
    let (exchange, separator) = if byte(start) == b'(' {
        let close = three(start + 1)?;
        if byte(close) != b')' {
            return None;
        }
        (close + 1 + usize::from(byte(close + 1) == b' '), None)
    } else {
        let area = three(start)?;
        (area + 1, Some(byte(area)))
    };
    let line = three(exchange)?;
    let same = separator.is_none_or(|separator| separator == byte(line)) && is_separator(byte(line));
    let end = digits(line + 1, 4)?;
    let goes_on = byte(end).is_ascii_alphanumeric()
        || byte(end) == b'_'
        || (is_separator(byte(end)) && byte(end + 1).is_ascii_digit());
    (same && !goes_on).then_some(end)
}
