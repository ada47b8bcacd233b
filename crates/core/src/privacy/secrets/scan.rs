//! Where in a text a secret stands.

use std::borrow::Cow;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};

use super::REDACTED;
use super::names::{self, MAX_NAME, Name};
use super::shapes::{SHAPES, Shape};
use super::values;

/// Which secrets are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Classes {
    /// What is one whatever stands around it: vendor tokens, key blocks, credentials in URLs.
    Tokens,
    /// Those, and what its context makes one.
    All,
}

/// A shorter text holds no secret with its name.
const MIN_TEXT: usize = 8;
/// Spaces that are skipped between a name, its operator and its value; more are no assignment.
const MAX_BLANK: usize = 64;
/// Spaces between the words of a sentence.
const MAX_PROSE_BLANK: usize = 8;
/// From a type's name to the value behind it: `token: Option<&'static str> = "…"`.
const MAX_ANNOTATION: usize = 48;
/// `RSA PRIVATE KEY`, `PGP PRIVATE KEY BLOCK`, … between the dashes.
const MAX_PEM_LABEL: usize = 48;
/// The name of an authentication scheme.
const MAX_SCHEME: usize = 32;
/// Characters of a token that stands in a URL without a user, and of one behind `Bearer` outside of a header.
const MIN_BARE_TOKEN: usize = 16;

/// What a literal of the automaton may be the beginning of.
#[derive(Clone, Copy, Debug)]
enum Trigger {
    Shape(&'static Shape),
    Url,
    PemBegin,
    PemEnd,
    /// The payload of a JSON Web Token whose header is too long for its [`Shape`].
    JwtPayload,
    Bearer,
    /// A piece of a secret's name.
    Name,
}

/// The pieces that every secret's name holds, in the three ways that names are written.
const NAME_PIECES: [[&str; 3]; 10] = [
    ["passw", "Passw", "PASSW"],
    ["passphrase", "Passphrase", "PASSPHRASE"],
    ["pass", "Pass", "PASS"],
    ["pwd", "Pwd", "PWD"],
    ["secret", "Secret", "SECRET"],
    ["token", "Token", "TOKEN"],
    ["key", "Key", "KEY"],
    ["auth", "Auth", "AUTH"],
    ["cred", "Cred", "CRED"],
    ["cookie", "Cookie", "COOKIE"],
];
const MORE_NAME_PIECES: [&str; 5] = ["jwt", "JWT", "sig=", "Signature=", "signature="];
const BEARERS: [&str; 3] = ["bearer ", "Bearer ", "BEARER "];

struct Scanner {
    automaton: AhoCorasick,
    triggers: Vec<Trigger>,
}

/// Built at the first use and shared by all threads.
static SCANNER: LazyLock<Option<Scanner>> = LazyLock::new(|| {
    let literals: Vec<(&str, Trigger)> = SHAPES
        .iter()
        .map(|shape| (shape.prefix, Trigger::Shape(shape)))
        .chain([
            ("://", Trigger::Url),
            ("-----BEGIN ", Trigger::PemBegin),
            ("-----END ", Trigger::PemEnd),
            (".eyJ", Trigger::JwtPayload),
        ])
        .chain(BEARERS.map(|bearer| (bearer, Trigger::Bearer)))
        .chain(NAME_PIECES.into_iter().flatten().chain(MORE_NAME_PIECES).map(|piece| (piece, Trigger::Name)))
        .collect();
    let automaton = AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .kind(Some(AhoCorasickKind::DFA))
        .build(literals.iter().map(|(literal, _)| literal))
        .ok()?;
    Some(Scanner { automaton, triggers: literals.into_iter().map(|(_, trigger)| trigger).collect() })
});

/// Replaces the secrets of these classes.
pub fn redact(text: &str, classes: Classes) -> Cow<'_, str> {
    if text.len() < MIN_TEXT {
        return Cow::Borrowed(text);
    }
    // Building fails only for more or longer literals than a machine can index. Then nothing can be told to be harmless.
    let Some(scanner) = SCANNER.as_ref() else { return Cow::Borrowed(REDACTED) };
    let mut redacted = String::new();
    let mut scan = Scan { text, bytes: text.as_bytes(), classes, floor: 0, named_until: 0 };
    let mut at = 0;
    while let Some(hit) = scanner.automaton.find(Input::new(text).range(at..)) {
        let trigger = scanner.triggers.get(hit.pattern().as_usize()).copied();
        match trigger.and_then(|trigger| scan.secret(trigger, hit.start(), hit.end())) {
            Some((start, end)) => {
                redacted.push_str(text.get(scan.floor..start).unwrap_or_default());
                redacted.push_str(REDACTED);
                scan.floor = end;
                at = end;
            }
            // Another literal may begin inside this one.
            None => at = hit.start() + 1,
        }
    }
    if scan.floor == 0 {
        return Cow::Borrowed(text);
    }
    redacted.push_str(text.get(scan.floor..).unwrap_or_default());
    Cow::Owned(redacted)
}

/// Start and end of what is replaced. Both lie beside ASCII characters, so on character boundaries.
type Range = (usize, usize);

struct Scan<'t> {
    text: &'t str,
    bytes: &'t [u8],
    classes: Classes,
    /// The end of what was replaced last. What stands before it is `]` for everyone who reads on.
    floor: usize,
    /// The end of the name that was judged last: its other pieces need no second look.
    named_until: usize,
}

/// An opening quote: its character, how many backslashes stand before it (JSON inside JSON), where its content begins.
#[derive(Clone, Copy)]
struct Quote {
    mark: u8,
    depth: usize,
    content: usize,
}

impl<'t> Scan<'t> {
    fn secret(&mut self, trigger: Trigger, start: usize, end: usize) -> Option<Range> {
        match trigger {
            Trigger::Shape(shape) => shape.find(self.bytes, start, self.floor),
            Trigger::Url => self.url(start, end),
            Trigger::PemBegin => self.pem(start, end),
            Trigger::PemEnd => self.pem_tail(start, end),
            Trigger::JwtPayload => self.jwt(start, end),
            Trigger::Bearer => self.bearer(start, end),
            Trigger::Name => self.name(start, end),
        }
    }

    // What a secret is whatever stands around it.

    /// `scheme://user:password@host`, `scheme://token@host`
    fn url(&self, start: usize, end: usize) -> Option<Range> {
        if !self.before(start).is_some_and(|b| b.is_ascii_alphanumeric()) {
            return None;
        }
        let ends = |b: u8| b.is_ascii_whitespace() || b"/?#\"'`<>\\,()|".contains(&b);
        let authority = end + self.rest(end).bytes().take_while(|b| !ends(*b)).count();
        let user_end = end + self.slice(end, authority).rfind('@')?;
        let user = self.slice(end, user_end);
        match user.find(':') {
            Some(colon) => {
                let password = self.slice(end + colon + 1, user_end);
                (!values::is_placeholder(values::judged(password))).then_some((end + colon + 1, user_end))
            }
            None => values::looks_generated(user, MIN_BARE_TOKEN).then_some((end, user_end)),
        }
    }

    /// A private key, to its end or, where that is missing, to the end of the text.
    fn pem(&self, start: usize, end: usize) -> Option<Range> {
        let body = self.pem_label(end)?;
        let mut from = body;
        while let Some(found) = memchr::memmem::find(self.bytes.get(from..)?, b"-----END ") {
            let label = from + found + "-----END ".len();
            match self.pem_label(label) {
                Some(after) => return Some((start, after)),
                None => from = label,
            }
        }
        Some((start, self.bytes.len()))
    }

    /// A private key whose beginning was cut off: back over what can be its lines.
    fn pem_tail(&self, start: usize, end: usize) -> Option<Range> {
        let after = self.pem_label(end)?;
        let mut from = start;
        while self.before(from).is_some_and(|b| b.is_ascii_alphanumeric() || b"+/=\\\n\r".contains(&b)) {
            from -= 1;
        }
        let body = self.slice(from, start);
        // The end alone, in a sentence about keys, hides nothing.
        (body.len() >= MIN_BARE_TOKEN).then_some((from, after))
    }

    /// The end of `RSA PRIVATE KEY-----`.
    fn pem_label(&self, at: usize) -> Option<usize> {
        let label =
            self.rest(at).bytes().take(MAX_PEM_LABEL).take_while(|b| b.is_ascii_alphanumeric() || *b == b' ').count();
        let end = at + label;
        (self.slice(at, end).contains("PRIVATE KEY") && self.rest(end).starts_with("-----")).then_some(end + 5)
    }

    /// A JSON Web Token, from the beginning of its payload.
    fn jwt(&self, start: usize, end: usize) -> Option<Range> {
        let is_part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        let mut from = start;
        while self.before(from).is_some_and(is_part) {
            from -= 1;
        }
        let payload = self.rest(end).bytes().take_while(|b| is_part(*b)).count();
        if !self.slice(from, start).starts_with("eyJ") || payload < MIN_BARE_TOKEN {
            return None;
        }
        let end = end + payload;
        let signature = self.rest(end).bytes().take_while(|b| is_part(*b) || *b == b'.').count();
        // A sentence may end behind it.
        Some((from, end + self.slice(end, end + signature).trim_end_matches('.').len()))
    }

    // What its context makes a secret.

    /// `Bearer …` outside of a header.
    fn bearer(&self, start: usize, end: usize) -> Option<Range> {
        if self.classes != Classes::All || self.before(start).is_some_and(|b| b.is_ascii_alphanumeric()) {
            return None;
        }
        let value = self.blank(end, MAX_PROSE_BLANK);
        self.bare(value, false, |value| values::looks_generated(value, MIN_BARE_TOKEN))
    }

    /// A piece of a name: the whole name, and what is assigned to it, said of it, or paired with it.
    fn name(&mut self, hit: usize, hit_end: usize) -> Option<Range> {
        if hit < self.named_until {
            return None;
        }
        // `sig=` brings its operator along.
        let hit_end = if self.bytes.get(hit_end - 1) == Some(&b'=') { hit_end - 1 } else { hit_end };
        let mut start = hit;
        while hit - start < MAX_NAME && self.before(start).is_some_and(is_name_byte) {
            start -= 1;
        }
        let more = self.rest(hit_end).bytes().take(MAX_NAME).take_while(|b| is_name_byte(*b)).count();
        let end = hit_end + more;
        self.named_until = end;

        // Most names in a text have nothing behind them that could be their value.
        let possible = match self.at(end) {
            b'=' | b':' | b'?' => self.operator(end).is_some(),
            next => next.is_ascii_whitespace() || b"\"'`\\],".contains(&next),
        };
        if !possible {
            return None;
        }
        let query = matches!(self.before(start), Some(b'?' | b'&'));
        if self.classes == Classes::Tokens && !(query && self.at(end) == b'=') {
            return None;
        }
        // What a parser says of its input.
        if self.slice(0, start).ends_with("nexpected ") {
            return None;
        }
        let name = self.slice(start, end);
        let kind = match names::classify(name) {
            Some(kind) => kind,
            None if name.eq_ignore_ascii_case("key") && self.is_qualified(start) => Name::Secret,
            None => return None,
        };
        // `sig` is one only in an address.
        if query && self.at(end) == b'=' {
            let kind = if kind == Name::Maybe { Name::Secret } else { kind };
            return self.bare(end + 1, true, |value| values::is_secret_bare(kind, value, true));
        }

        let closed = self.closing(end);
        let blank = self.blank(closed, MAX_BLANK);
        if let Some(operator) = self.operator(blank) {
            let spaced = blank > closed || self.at(operator).is_ascii_whitespace() || self.at(blank) != b'=';
            let upper = !name.bytes().any(|b| b.is_ascii_lowercase());
            // `f(password=value, …)` passes on, `user=a password=value` tells.
            let told = || kind == Name::Password && !b",)(}]".contains(&self.at(self.run(operator, false, MAX_NAME)));
            let shell = !spaced && (upper || name.starts_with('-') || told());
            return self.assigned(kind, operator, shell);
        }
        if closed > end {
            return self.paired(kind, closed);
        }
        if blank > end && name.starts_with('-') {
            return self
                .bare(blank, false, |value| !value.starts_with('-') && values::is_secret_bare(kind, value, false));
        }
        self.paired(kind, closed).or_else(|| self.told(kind, end))
    }

    /// `api key`, `secret-key`: the word before decides.
    fn is_qualified(&self, start: usize) -> bool {
        if self.before(start) != Some(b' ') {
            return false;
        }
        let word_end = start - 1;
        let mut word = word_end;
        while word_end - word < MAX_PROSE_BLANK + 8 && self.before(word).is_some_and(|b| b.is_ascii_alphabetic()) {
            word -= 1;
        }
        names::qualifies_key(self.slice(word, word_end))
    }

    /// What is assigned behind an operator.
    fn assigned(&self, kind: Name, operator: usize, shell: bool) -> Option<Range> {
        let mut at = self.blank(operator, MAX_BLANK);
        // **Password:** …
        at += self.rest(at).bytes().take(2).take_while(|b| *b == b'*').count();
        at = self.blank(at, MAX_BLANK);
        match kind {
            Name::Authorization => return self.header(at),
            // `cookie = "a=b"` is code.
            Name::Cookie if self.at(operator - 1) != b':' => return None,
            Name::Cookie => return self.cookie(at),
            Name::Password | Name::Secret | Name::Maybe => {}
        }
        if let Some(quote) = self.quote(at)
            && let Some(end) = self.close(quote)
        {
            let value = self.slice(quote.content, end);
            return values::is_secret_quoted(kind, value).then_some((quote.content, end));
        }
        let at = self.quote(at).map_or(at, |quote| quote.content);
        if let Some(value) = self.bare(at, false, |value| values::is_secret_bare(kind, value, shell)) {
            return Some(value);
        }
        // A type, and the value behind it. (What was replaced is no type.)
        let line = self.rest(at);
        if line.starts_with(REDACTED) {
            return None;
        }
        let line = line.as_bytes();
        let line = line.get(..line.len().min(MAX_ANNOTATION)).unwrap_or(line);
        let equals = line.iter().take_while(|b| !b"\n;{}\"\\".contains(b)).position(|b| *b == b'=')?;
        let quote = self.quote(self.blank(at + equals + 1, MAX_BLANK))?;
        let end = self.close(quote)?;
        values::is_secret_quoted(kind, self.slice(quote.content, end)).then_some((quote.content, end))
    }

    /// `Bearer …`, `Basic …`, or the credential alone; other schemes have parameters to the end of the header.
    fn header(&self, at: usize) -> Option<Range> {
        let at = self.quote(at).map_or(at, |quote| quote.content);
        let scheme_end = self.run(at, false, MAX_SCHEME);
        let scheme = self.slice(at, scheme_end);
        let next = self.blank(scheme_end, MAX_PROSE_BLANK);
        let is = |list: &[&str]| next > scheme_end && list.iter().any(|known| scheme.eq_ignore_ascii_case(known));
        if is(&["bearer", "basic", "token", "apikey", "api-key", "key", "jwt", "oauth", "splunk"]) {
            self.bare(next, false, |value| values::is_credential(value, true))
        } else if is(&["digest", "negotiate", "ntlm", "hawk", "aws4-hmac-sha256", "hmac"]) {
            self.line(next, |value| values::is_credential(value, true))
        } else {
            self.bare(at, false, |value| values::is_credential(value, false))
        }
    }

    /// All pairs of a `Cookie:` header.
    fn cookie(&self, at: usize) -> Option<Range> {
        self.line(self.quote(at).map_or(at, |quote| quote.content), values::is_cookie)
    }

    /// `"name": "DB_PASSWORD", "value": "…"`, also as YAML and as attributes of an element.
    fn paired(&self, kind: Name, at: usize) -> Option<Range> {
        let skipped =
            self.rest(at).bytes().take(MAX_BLANK).take_while(|b| b.is_ascii_whitespace() || *b == b',').count();
        let mut at = at + skipped;
        if let Some(quote) = self.quote(at) {
            at = quote.content;
        }
        let word = ["value", "Value", "val"].into_iter().find(|word| self.rest(at).starts_with(word))?;
        if skipped == 0 {
            return None;
        }
        let operator = self.operator(self.blank(self.closing(at + word.len()), MAX_BLANK))?;
        self.assigned(kind, operator, true)
    }

    /// `the password is …`, `password …`
    fn told(&self, kind: Name, end: usize) -> Option<Range> {
        let blank = self.blank(end, MAX_PROSE_BLANK);
        if blank == end {
            return None;
        }
        let verb = ["is", "was", "to", "are", "="].into_iter().find_map(|verb| {
            let after = blank + verb.len();
            let value = self.blank(after + usize::from(self.at(after) == b':'), MAX_PROSE_BLANK);
            (self.rest(blank).starts_with(verb) && value > after).then_some(value)
        });
        let at = verb.unwrap_or(blank);
        if let Some(quote) = self.quote(at)
            && let Some(close) = self.close(quote)
        {
            let value = self.slice(quote.content, close);
            return values::is_secret_told(kind, value, true).then_some((quote.content, close));
        }
        let word =
            at + self.rest(at).bytes().take_while(|b| !b.is_ascii_whitespace() && !b"\"'`\\".contains(b)).count();
        let word = at + self.slice(at, word).trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '>']).len();
        values::is_secret_told(kind, self.slice(at, word), verb.is_some()).then_some((at, word))
    }

    // Places in the text.

    fn at(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    /// The byte before, unless it was replaced.
    fn before(&self, at: usize) -> Option<u8> {
        if at > self.floor { self.bytes.get(at - 1).copied() } else { None }
    }

    fn rest(&self, at: usize) -> &'t str {
        self.text.get(at..).unwrap_or_default()
    }

    fn slice(&self, start: usize, end: usize) -> &'t str {
        self.text.get(start.max(self.floor.min(end))..end).unwrap_or_default()
    }

    /// Behind at most `max` spaces and tabs.
    fn blank(&self, at: usize, max: usize) -> usize {
        at + self.rest(at).bytes().take(max).take_while(|b| matches!(b, b' ' | b'\t')).count()
    }

    /// Behind the quote and bracket that close a name.
    fn closing(&self, at: usize) -> usize {
        let end = at + self.rest(at).bytes().take(8).take_while(|b| *b == b'\\').count();
        let end = if b"\"'`".contains(&self.at(end)) { end + 1 } else { at };
        if self.at(end) == b']' { end + 1 } else { end }
    }

    /// Behind an operator that assigns: `=`, `:`, `:=`, `=>`; none that compares or opens a path.
    fn operator(&self, at: usize) -> Option<usize> {
        match (self.at(at), self.at(at + 1)) {
            (b'=', b'=' | b'~') | (b':', b':') => None,
            (b'=', b'>') | (b':', b'=') => Some(at + 2),
            // `password?: string`
            (b'?', b':') => Some(at + 2),
            (b'=' | b':', _) => Some(at + 1),
            _ => None,
        }
    }

    /// The quote that opens here, a string's prefix (`b"…"`, `f'…'`) included.
    fn quote(&self, at: usize) -> Option<Quote> {
        let prefix = usize::from(
            matches!(self.at(at), b'b' | b'f' | b'r' | b'u' | b'@' | b'$') && b"\"'".contains(&self.at(at + 1)),
        );
        let at = at + prefix;
        let depth = self.rest(at).bytes().take(MAX_BLANK).take_while(|b| *b == b'\\').count();
        let mark = self.at(at + depth);
        b"\"'`".contains(&mark).then_some(Quote { mark, depth, content: at + depth + 1 })
    }

    /// Where the content ends: at the same mark behind as many backslashes, or fewer (then an outer string ends), on the same
    /// line.
    fn close(&self, quote: Quote) -> Option<usize> {
        let content = self.bytes.get(quote.content..)?;
        let mut from = 0;
        loop {
            let found = from + memchr::memchr2(quote.mark, b'\n', content.get(from..)?)?;
            if content.get(found) != Some(&quote.mark) {
                return None;
            }
            let slashes = content.get(..found)?.iter().rev().take_while(|b| **b == b'\\').count();
            // `"C:\\"`: pairs of backslashes are text.
            if slashes <= quote.depth || (quote.depth == 0 && slashes % 2 == 0) {
                return Some(quote.content + found - slashes.min(quote.depth));
            }
            from = found + 1;
        }
    }

    /// A value without quotes, if it is a secret. Its beginning decides: what is none is read no further, so that many of
    /// them in one run cost no more than their number.
    fn bare(&self, start: usize, query: bool, is_secret: impl Fn(&str) -> bool) -> Option<Range> {
        let judged = self.slice(start, self.run(start, query, values::MAX_JUDGED));
        is_secret(judged).then(|| (start, self.run(start, query, usize::MAX)))
    }

    /// The rest of a line, if it is a secret; judged likewise.
    fn line(&self, start: usize, is_secret: impl Fn(&str) -> bool) -> Option<Range> {
        let judged = self.slice(start, self.line_end(start, values::MAX_JUDGED));
        is_secret(judged).then(|| (start, self.line_end(start, usize::MAX)))
    }

    /// Where a value without quotes ends. In a query string it ends at `&` and `#` too.
    fn run(&self, start: usize, query: bool, max: usize) -> usize {
        let rest = self.rest(start).as_bytes();
        let mut i = 0;
        while let Some(byte) = rest.get(i).copied()
            && (i < max || byte >= 0x80)
        {
            if byte == b'[' && rest.get(i..).is_some_and(|rest| rest.starts_with(REDACTED.as_bytes())) {
                i += REDACTED.len();
                continue;
            }
            let next = rest.get(i + 1).copied().unwrap_or(b' ');
            let ends = match byte {
                b'"' | b'\'' | b'`' | b',' | b';' | b')' | b'}' | b'>' | b'|' | b']' => true,
                b'<' => i > 0,
                b'\\' => b"nrt\"'`\\".contains(&next),
                b'&' if query => true,
                b'#' => query,
                b'&' => !next.is_ascii_graphic() || next == b'&' || self.is_parameter(start + i + 1),
                _ => byte.is_ascii_whitespace() || byte.is_ascii_control(),
            };
            if ends {
                break;
            }
            i += 1;
        }
        let end = start + self.slice(start, start + i).trim_end_matches('.').len();
        // `...` is a value of its own, and says that a value was cut.
        if end == start || self.slice(end, start + i).len() > 1 { start + i } else { end }
    }

    /// `name=` behind an `&`.
    fn is_parameter(&self, at: usize) -> bool {
        let name = self.rest(at).bytes().take(MAX_BLANK).take_while(|b| is_name_byte(*b)).count();
        name > 0 && self.at(at + name) == b'='
    }

    /// The end of the line, or of the string that it stands in.
    fn line_end(&self, at: usize, max: usize) -> usize {
        let rest = self.rest(at).as_bytes();
        let ends = |i: usize, b: u8| {
            b"\n\r\"'`".contains(&b)
                || (b == b'\\' && rest.get(i + 1).is_some_and(|next| b"nr\"'".contains(next)))
                || (i >= max && b < 0x80)
        };
        at + rest.iter().enumerate().position(|(i, b)| ends(i, *b)).unwrap_or(rest.len())
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An idle worker may take 20 MB in all.
    #[test]
    fn the_automaton_stays_small() {
        let scanner = SCANNER.as_ref().expect("builds");
        let bytes = scanner.automaton.memory_usage();
        assert!(bytes < 1024 * 1024, "{bytes}");
    }
}
