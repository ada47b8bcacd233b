//! What a value looks like.

use super::names::{self, Name};
use super::{REDACTED, REDACTED_IN_URI};

/// A value is judged by its beginning: a longer one is no placeholder, and looking further could make the time quadratic.
pub const MAX_JUDGED: usize = 256;

/// Digits that a number needs to be a secret where the name says so.
const SECRET_DIGITS: usize = 6;

/// What a manual, a template or an earlier run puts in a secret's place.
#[must_use]
pub fn is_placeholder(value: &str) -> bool {
    let value = value.trim();
    let bytes = value.as_bytes();
    let second = bytes.get(1).copied().unwrap_or(b' ');
    let opens = match bytes.first() {
        None => true,
        // `<your-token>`, `{token}`, `[UNK]`; a bare value ends before what closes it.
        Some(b'<' | b'{' | b'[') => {
            bytes.iter().skip(1).all(|b| b.is_ascii_alphanumeric() || b" _-.:|/{$<>}]".contains(b))
        }
        Some(b'$') => second.is_ascii_alphabetic() || matches!(second, b'_' | b'{' | b'('),
        Some(b'#') => second == b'{',
        Some(b'%') => value.ends_with('%') || second == b'(' || value.len() == 2,
        // A parameter of a query.
        Some(b':' | b'@') => value.bytes().skip(1).all(|b| b.is_ascii_alphabetic() || b == b'_'),
        Some(_) => false,
    };
    opens
        || value.contains(REDACTED)
        || value.contains(REDACTED_IN_URI)
        || !value.contains(char::is_alphanumeric)
        || (value.len() >= 3 && value.chars().all(|c| !c.is_alphanumeric() || matches!(c, 'x' | 'X')))
        || (value.len() <= 24 && (value.ends_with("...") || value.ends_with('…')))
        || starts_with(value, "your")
        || ["xxxx", "XXXX", "****", "EXAMPLE", "YOUR_", "your-", "your_"].iter().any(|mark| value.contains(mark))
        || ["redacted", "placeholder", "example", "..."].iter().any(|word| value.eq_ignore_ascii_case(word))
}

/// Words that stand where a value would: types and the like.
const WORDS: [&str; 34] = [
    "string",
    "str",
    "text",
    "number",
    "int",
    "integer",
    "float",
    "bool",
    "boolean",
    "object",
    "array",
    "any",
    "unknown",
    "none",
    "null",
    "nil",
    "undefined",
    "true",
    "false",
    "void",
    "never",
    "required",
    "optional",
    "default",
    "env",
    "bytes",
    "yes",
    "no",
    "on",
    "off",
    "varchar",
    "char",
    "hidden",
    "missing",
];

/// A type, a constant of the language, or an identifier that only refers to a secret (`accessToken`).
#[must_use]
pub fn is_word(value: &str) -> bool {
    WORDS.iter().any(|word| value.eq_ignore_ascii_case(word))
        || (value.bytes().all(|b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'-' | b'.')) && names::mentions(value))
}

/// Names of algorithms, encodings and types with a number, and what may follow the number.
const NUMBERED: [&str; 27] = [
    "base", "sha", "md", "utf", "argon", "bcrypt", "pbkdf", "oauth", "http", "ipv", "x", "pkcs", "ed", "secp", "aes",
    "rs", "hs", "es", "ps", "uint", "int", "float", "k", "cl", "rfc", "v", "step",
];
const NUMBER_TAILS: [&str; 16] =
    ["", "id", "i", "d", "s", "k", "k1", "r1", "_t", "-gcm", "-cbc", "-encoded", "-bit", "array", "url", "th"];

fn is_numbered_word(value: &str) -> bool {
    let stem = value.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
    let (stem, rest) = value.split_at(value.len() - stem);
    let rest = rest.strip_prefix(['-', '_']).unwrap_or(rest);
    let tail = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = rest.len() - tail.len();
    if stem.is_empty() {
        // `32-byte`, `401-unauthorized`, `10mins`, `2.0`
        let tail = tail.strip_prefix('-').unwrap_or(tail);
        return tail.bytes().all(|b| b.is_ascii_lowercase());
    }
    (1..=5).contains(&digits)
        && NUMBERED.iter().any(|word| stem.eq_ignore_ascii_case(word))
        && NUMBER_TAILS.iter().any(|word| tail.eq_ignore_ascii_case(word))
}

/// `v1.2.3`, `0x8004400a`
fn is_number(value: &str) -> bool {
    let number = value.strip_prefix(['v', 'V']).unwrap_or(value);
    (number.contains('.') && number.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
        || (value.len() <= 18 && value.strip_prefix("0x").is_some_and(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit())))
}

/// A path or an address: what it leads to may be secret, it is not.
#[must_use]
pub fn is_path(value: &str) -> bool {
    let first = value.strip_prefix('/').and_then(|rest| rest.split_once('/')).map(|(first, _)| first);
    value.contains("://")
        || ["./", "../", "~/", "\\\\"].iter().any(|start| value.starts_with(start))
        || value.get(1..3).is_some_and(|drive| drive == ":\\" || drive == ":/")
        || first.is_some_and(|first| {
            !first.is_empty() && first.len() <= 12 && first.bytes().all(|b| b.is_ascii_lowercase())
        })
        || value.strip_prefix('/').is_some_and(|rest| {
            !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_lowercase() || matches!(b, b'/' | b'-' | b'_'))
        })
}

/// An expression of a programming language: a call, an index, or members of something (`form.password`). In a `shell`,
/// `abc(123` is none.
#[must_use]
pub fn is_code(value: &str, shell: bool) -> bool {
    let head = value.split(['(', '[', '<', '{']).next().unwrap_or_default();
    let chain = head.contains('.') || head.contains("::") || head.contains("->");
    let plain = |b: u8| b.is_ascii_alphabetic() || matches!(b, b'_' | b'.' | b'(');
    let called = value.len() > head.len() && (!shell || value.bytes().skip(head.len() + 1).all(plain));
    let mut parts = head.split(['.', ':', '-', '>', '?', '&', '!']);
    (chain || called)
        && !head.starts_with(|c: char| c.is_ascii_digit())
        && parts.all(|part| {
            // `self.0`
            let index = part.len() <= 2 && part.bytes().all(|b| b.is_ascii_digit());
            let identifier = !part.starts_with(|c: char| c.is_ascii_digit())
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$'));
            index || (identifier && !is_random(part))
        })
}

/// A constant's name: `D3DKMT_PRESENTHISTORYTOKEN`.
fn is_constant(value: &str) -> bool {
    value.contains('_')
        && value.starts_with(|c: char| c.is_ascii_uppercase())
        && value.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
        && value.split('_').all(|word| word.bytes().filter(u8::is_ascii_digit).count() <= 2)
}

/// An identifier whose words may end in a small number: `__u32`, `color_token_2`.
fn is_snake_case(value: &str) -> bool {
    value.contains('_')
        && value.split('_').all(|word| {
            let number = word.trim_start_matches(|c: char| c.is_ascii_alphabetic());
            number.len() <= 2 && number.bytes().all(|b| b.is_ascii_digit()) && !is_mixed(word)
        })
}

/// Letters and digits in turns, as no name has them.
fn is_random(word: &str) -> bool {
    let turns = word
        .as_bytes()
        .windows(2)
        .filter(|pair| matches!(pair, [a, b] if a.is_ascii_digit() != b.is_ascii_digit()))
        .count();
    // `sqlite3WhereOkOnePass`
    turns >= 4 || (word.len() >= 20 && turns > 2) || (word.len() >= 32 && turns > 0) || is_mixed(word)
}

/// Upper and lower case in turns, as no `camelCase` has them.
fn is_mixed(word: &str) -> bool {
    let upper = word.bytes().filter(u8::is_ascii_uppercase).count();
    let lower = word.bytes().filter(u8::is_ascii_lowercase).count();
    word.len() >= 16 && upper * 4 >= word.len() && lower * 4 >= word.len()
}

/// At least `min` characters without a space, letters and digits mixed (or both cases, at random), and neither a path, a version,
/// code nor the name of an algorithm.
#[must_use]
pub fn looks_generated(value: &str, min: usize) -> bool {
    let value = judged(value);
    let digits = value.bytes().any(|b| b.is_ascii_digit());
    let letters = value.bytes().any(|b| b.is_ascii_alphabetic());
    value.len() >= min
        && !value.bytes().any(|b| b.is_ascii_whitespace())
        && ((digits && letters) || is_mixed(value))
        && !is_placeholder(value)
        && !is_numbered_word(value)
        && !is_number(value)
        && !is_path(value)
        && !is_code(value, false)
}

/// Nothing but letters and digits in no order, as keys are and no id with a prefix or a dash is.
fn is_opaque(value: &str) -> bool {
    let count = |is: fn(&u8) -> bool| value.bytes().filter(is).count();
    let (digits, upper, lower) =
        (count(u8::is_ascii_digit), count(u8::is_ascii_uppercase), count(u8::is_ascii_lowercase));
    let is_plain = value.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='));
    let is_hex = value.len() >= 64 && value.bytes().all(|b| b.is_ascii_hexdigit());
    is_plain
        && value.len() >= 20
        && !is_path(value)
        && ((digits >= 2 && upper >= 4 && lower >= 4) || (is_hex && digits > 0 && digits < value.len()))
}

/// The part of a value that is judged: its beginning.
pub fn judged(value: &str) -> &str {
    let mut end = value.len().min(MAX_JUDGED);
    while !value.is_char_boundary(end) {
        end -= 1;
    }
    value.get(..end).unwrap_or(value)
}

/// A value between quotes, in a text.
#[must_use]
pub fn is_secret_quoted(name: Name, value: &str) -> bool {
    let value = judged(value);
    let sentence = value.contains([' ', '\t']);
    match name {
        Name::Password | Name::Secret if sentence => {
            // A label or a message, unless one of its words cannot be one.
            !value.starts_with([' ', '"', '\'', '`']) && value.split_whitespace().any(|word| looks_generated(word, 6))
        }
        Name::Password | Name::Secret => {
            // What opens like the next string is one, unless it is long.
            (!value.starts_with(['"', '\'', '`']) || looks_generated(value, 12))
                && !is_placeholder(value)
                && !is_word(value)
                && !is_path(value)
                && !is_number(value)
                && !value.contains("::")
                && value != ","
        }
        Name::Maybe => looks_generated(value, 12),
        Name::Key => is_opaque(value),
        Name::Authorization | Name::Cookie => false,
    }
}

/// A value without quotes. `shell`: as a shell, a flag or a query string assigns (`NAME=value`), where a plain word is a value
/// and not an identifier.
#[must_use]
pub fn is_secret_bare(name: Name, value: &str, shell: bool) -> bool {
    let value = judged(value);
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    let symbols = value.bytes().any(|b| matches!(b, b'@' | b'!' | b'#' | b'%' | b'^' | b'*' | b'+' | b'$'));
    let looks = match name {
        Name::Password | Name::Secret if shell => {
            value.len() >= 3
                && (letters > 0 || digits >= 4)
                && (name == Name::Password || letters > 0 || digits >= SECRET_DIGITS)
        }
        Name::Password => {
            digits >= 4
                || (digits > 0 && letters > 0 && value.len() >= 4 && !is_numbered_word(value) && !is_snake_case(value))
                || (letters > 2 && symbols)
                || is_mixed(value)
        }
        Name::Secret => {
            digits >= 2 * SECRET_DIGITS
                || (digits > 0 && letters > 0 && value.len() >= 8 && !is_numbered_word(value) && !is_snake_case(value))
                || is_mixed(value)
        }
        Name::Maybe => looks_generated(value, 12),
        Name::Key => is_opaque(value),
        Name::Authorization | Name::Cookie => false,
    };
    // Asked last: it costs most, and most values are none by their letters alone.
    looks
        && !is_placeholder(value)
        && !is_word(value)
        && !is_path(value)
        && !is_code(value, shell)
        && !is_number(value)
        && (shell || !is_constant(value))
}

/// A value that a sentence tells (`the password is …`): only what looks generated.
#[must_use]
pub fn is_secret_told(name: Name, value: &str, with_verb: bool) -> bool {
    match (name, with_verb) {
        (Name::Password, true) => looks_generated(value, 6),
        (Name::Password, false) => looks_generated(value, 8),
        (Name::Secret, true) => looks_generated(value, 8),
        (Name::Secret, false) => looks_generated(value, 16),
        _ => false,
    }
}

/// The credential of an Authorization header, behind its scheme or alone.
#[must_use]
pub fn is_credential(value: &str, with_scheme: bool) -> bool {
    let value = judged(value);
    if with_scheme {
        value.len() >= 4 && !is_placeholder(value) && !is_word(value) && !is_code(value, false)
    } else {
        looks_generated(value, 8)
    }
}

/// The string member of a JSON object whose name is a secret's: the name is certain here, so everything but a placeholder goes.
#[must_use]
pub fn is_secret_member(name: Name, value: &str) -> bool {
    match name {
        Name::Password | Name::Secret => !is_placeholder(judged(value)) && !is_path(judged(value)),
        Name::Maybe => looks_generated(value, 12),
        Name::Key => is_opaque(value),
        Name::Cookie => is_cookie(value),
        Name::Authorization => false,
    }
}

/// A number under a secret's name.
#[must_use]
pub fn is_secret_number(digits: &str) -> bool {
    digits.len() >= SECRET_DIGITS
}

/// Pairs with a value worth hiding.
#[must_use]
pub fn is_cookie(value: &str) -> bool {
    // `SO_COOKIE: c_int = 0x003b` is none.
    let pair = judged(value).split_once('=').filter(|(name, _)| !name.ends_with(' '));
    pair.is_some_and(|(_, rest)| rest.len() >= 6 && !is_placeholder(rest))
}

fn starts_with(value: &str, start: &str) -> bool {
    value.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
}
