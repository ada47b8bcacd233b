//! Which names are a secret's. A name is judged by its words (`dbPassword`, `DB_PASSWORD`, `db.password`), from the last
//! one back: `password_hash_algo` and `max_tokens` only sound like one.

/// What a name says of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// A person chose it: even a short number or a plain word can be one.
    Password,
    /// A machine made it, or should have.
    Secret,
    /// Holds a secret only when the value looks generated.
    Maybe,
    /// A key of something: holds a secret only when the value is nothing but random.
    Key,
    /// The header: a scheme, then the credential.
    Authorization,
    /// The header: pairs, all of one piece.
    Cookie,
}

/// A longer name than this is none.
pub const MAX_NAME: usize = 128;
/// Of a name's words the last ones decide.
const MAX_WORDS: usize = 6;

const PASSWORDS: [&str; 5] = ["password", "passwd", "passphrase", "passcode", "pwd"];
/// Words that are names of secrets by themselves; also as the end of a word written without a break (`authtoken`).
const SECRETS: [&str; 3] = ["secret", "token", "apikey"];
/// `key` alone is a key of a map; with one of these before it, it opens something. Also written without a break.
const KEYS: [&str; 19] = [
    "api",
    "secret",
    "access",
    "private",
    "signing",
    "encryption",
    "auth",
    "account",
    "shared",
    "master",
    "service",
    "ssh",
    "app",
    "subscription",
    "admin",
    "consumer",
    "license",
    "deploy",
    "storage",
];
/// What is told to everyone.
const PUBLIC_KEYS: [&str; 6] = ["public", "pub", "host", "publishable", "cache", "hash"];
/// What stands before `pass` when it is short for a password.
const PASS_OF: [&str; 18] = [
    "db", "user", "smtp", "mail", "email", "ftp", "root", "admin", "mysql", "pg", "postgres", "redis", "mongo",
    "login", "ssh", "basic", "proxy", "http",
];
const MAYBE: [&str; 8] = ["pass", "auth", "credential", "credentials", "creds", "jwt", "signature", "sig"];
/// What a model's or a parser's token is called, or a page's.
const TOKEN_OF: [&str; 16] = [
    "page",
    "continuation",
    "eos",
    "bos",
    "pad",
    "unk",
    "sep",
    "cls",
    "mask",
    "stop",
    "special",
    "max",
    "per",
    "sync",
    "cancellation",
    "next",
];
/// Words after the secret's that change nothing.
const SUFFIXES: [&str; 22] = [
    "value",
    "val",
    "prod",
    "production",
    "dev",
    "development",
    "staging",
    "test",
    "live",
    "old",
    "new",
    "current",
    "default",
    "b64",
    "base64",
    "hex",
    "raw",
    "plain",
    "primary",
    "secondary",
    "main",
    "backup",
];
/// Words after the secret's that make the value something about it.
const ABOUT: [&str; 46] = [
    "id",
    "ids",
    "name",
    "names",
    "type",
    "types",
    "hash",
    "algo",
    "algorithm",
    "path",
    "file",
    "files",
    "dir",
    "url",
    "uri",
    "endpoint",
    "length",
    "len",
    "size",
    "count",
    "counts",
    "limit",
    "budget",
    "usage",
    "max",
    "min",
    "expiry",
    "expires",
    "expiration",
    "ttl",
    "at",
    "prefix",
    "suffix",
    "field",
    "label",
    "hint",
    "policy",
    "manager",
    "provider",
    "store",
    "version",
    "format",
    "required",
    "enabled",
    "env",
    "index",
];

/// What the name says of its value; `None` when it is no secret's.
#[must_use]
pub fn classify(name: &str) -> Option<Name> {
    // The folders of a shell.
    if name.len() > MAX_NAME || matches!(name, "PWD" | "OLDPWD") {
        return None;
    }
    let (words, count) = words(name);
    let mut words = words.get(..count)?;
    while let [rest @ .., last] = words {
        let suffix = !rest.is_empty() && (is_one_of(last, &SUFFIXES) || last.bytes().all(|b| b.is_ascii_digit()));
        if !suffix {
            break;
        }
        words = rest;
    }
    let [.., last] = words else { return None };
    by_last_word(words).or_else(|| {
        // A vendor or a place behind it: `API_KEY_STRIPE`.
        let about = is_one_of(last, &ABOUT);
        let inner = (1..words.len()).any(|n| {
            words.get(..n).and_then(by_last_word).is_some_and(|name| matches!(name, Name::Password | Name::Secret))
        });
        (inner && !about).then_some(Name::Maybe)
    })
}

/// Whether one of the words of an identifier is a secret's: then it refers to a secret and is none.
#[must_use]
pub fn mentions(identifier: &str) -> bool {
    let (words, count) = words(identifier);
    words.iter().take(count).any(|word| {
        is_one_of(word, &PASSWORDS)
            || is_one_of(word, &SECRETS)
            || is_one_of(word, &["key", "pass", "auth", "credentials"])
    })
}

/// Whether `api key`, written as two words, is a secret's name.
#[must_use]
pub fn qualifies_key(word: &str) -> bool {
    is_one_of(word, &KEYS)
}

fn by_last_word(words: &[&str]) -> Option<Name> {
    let [before @ .., last] = words else { return None };
    let before = before.last().copied().unwrap_or_default();
    // `password2`, `token1`
    let last = last.trim_end_matches(|c: char| c.is_ascii_digit());
    if PASSWORDS.iter().any(|word| ends_with(last, word)) || (is(last, "pass") && is_one_of(before, &PASS_OF)) {
        Some(Name::Password)
    } else if SECRETS.iter().any(|word| ends_with(last, word)) {
        (!is(last, "token") || !is_one_of(before, &TOKEN_OF)).then_some(Name::Secret)
    } else if ends_with(last, "key") {
        let written_apart = is(last, "key") && is_one_of(before, &KEYS);
        let together = last.get(..last.len() - 3).is_some_and(|start| is_one_of(start, &KEYS));
        let public = is(last, "key") && is_one_of(before, &PUBLIC_KEYS);
        (!public).then_some(if written_apart || together { Name::Secret } else { Name::Key })
    } else if is(last, "authorization") {
        Some(Name::Authorization)
    } else if is(last, "cookie") {
        Some(Name::Cookie)
    } else {
        is_one_of(last, &MAYBE).then_some(Name::Maybe)
    }
}

fn is(word: &str, other: &str) -> bool {
    word.eq_ignore_ascii_case(other)
}

fn is_one_of(word: &str, list: &[&str]) -> bool {
    list.iter().any(|other| is(word, other))
}

fn ends_with(word: &str, end: &str) -> bool {
    word.len().checked_sub(end.len()).and_then(|at| word.get(at..)).is_some_and(|tail| is(tail, end))
}

/// The last words of a name, in order, and how many there are: parted by anything but letters and digits, and where the case
/// says so (`apiKey`, `APIKey`).
fn words(name: &str) -> ([&str; MAX_WORDS], usize) {
    let bytes = name.as_bytes();
    let at = |i: usize| bytes.get(i).copied().unwrap_or(b' ');
    let mut all = [""; MAX_WORDS];
    let mut count = 0;
    let mut start = 0;
    for end in 1..=bytes.len() {
        let (last, next) = (at(end - 1), at(end));
        let parted = !next.is_ascii_alphanumeric()
            || !last.is_ascii_alphanumeric()
            || (!last.is_ascii_uppercase() && next.is_ascii_uppercase())
            || (last.is_ascii_uppercase() && next.is_ascii_uppercase() && at(end + 1).is_ascii_lowercase());
        if !parted {
            continue;
        }
        if last.is_ascii_alphanumeric()
            && let Some(word) = name.get(start..end)
        {
            if count == MAX_WORDS {
                all.rotate_left(1);
                count -= 1;
            }
            if let Some(free) = all.get_mut(count) {
                *free = word;
                count += 1;
            }
        }
        start = end;
    }
    (all, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_judged_by_their_words() {
        for (name, kind) in [
            ("password", Some(Name::Password)),
            ("DB_PASSWORD", Some(Name::Password)),
            ("db.password", Some(Name::Password)),
            ("userPassword2", Some(Name::Password)),
            ("dbpasswd", Some(Name::Password)),
            ("SMTP_PASS", Some(Name::Password)),
            ("authToken", Some(Name::Secret)),
            ("authtoken", Some(Name::Secret)),
            ("_authToken", Some(Name::Secret)),
            ("x-api-key", Some(Name::Secret)),
            ("APIKey", Some(Name::Secret)),
            ("OPENAI_API_KEY_2", Some(Name::Secret)),
            ("STRIPE_SECRET_KEY", Some(Name::Secret)),
            ("aws_secret_access_key", Some(Name::Secret)),
            ("AccountKey", Some(Name::Secret)),
            ("client_secret_value", Some(Name::Secret)),
            ("API_KEY_STRIPE", Some(Name::Maybe)),
            ("pass", Some(Name::Maybe)),
            ("Proxy-Authorization", Some(Name::Authorization)),
            ("Set-Cookie", Some(Name::Cookie)),
            ("PWD", None),
            ("key", Some(Name::Key)),
            ("dict_key", Some(Name::Key)),
            ("monkey", Some(Name::Key)),
            ("hostKey", None),
            ("public_key", None),
            ("password_hash_algo", None),
            ("max_tokens", None),
            ("next_page_token", None),
            ("tokenizer", None),
            ("access_key_id", None),
            ("secretName", None),
            ("render_pass_count", None),
            ("", None),
            ("é", None),
        ] {
            assert_eq!(classify(name), kind, "{name}");
        }
    }
}
