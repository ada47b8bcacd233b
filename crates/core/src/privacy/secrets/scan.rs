//! Where in a text a secret stands.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};

use super::names::{self, MAX_NAME, Name};
use super::shapes::{SHAPES, Shape};
use super::values;
use super::{Class, REDACTED};

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
/// Letters of the longest word that makes a `key` one of those that open something.
const MAX_QUALIFIER: usize = 16;
/// From a type's name to the value behind it: `token: Option<&'static str> = "…"`.
const MAX_ANNOTATION: usize = 48;
/// `RSA PRIVATE KEY`, `PGP PRIVATE KEY BLOCK`, … between the dashes.
const MAX_PEM_LABEL: usize = 48;
/// Backslashes before a quote: JSON in JSON, three times over, has seven.
const MAX_ESCAPES: usize = 8;
/// Of a cookie: its name, and as much of its value as shows that it has one.
const MAX_COOKIE: usize = 80;
/// From a program's name to the option that is looked at.
const MAX_COMMAND: usize = 256;
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
    /// The program whose `-u` is looked at.
    Curl,
    /// The user of a `curl`, password and all.
    User,
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
const USERS: [&str; 6] = [" -u ", " -U ", " --user ", " --user=", " --proxy-user ", " --proxy-user="];
const BEARERS: [&str; 3] = ["bearer ", "Bearer ", "BEARER "];

struct Scanner {
    automaton: AhoCorasick,
    /// By pattern: what begins with it, each with the length of its literal, the longest first.
    triggers: Vec<Vec<(Trigger, usize)>>,
}

/// Built at the first use and shared by all threads.
static SCANNER: LazyLock<Option<Scanner>> = LazyLock::new(|| {
    let mut literals: Vec<(&str, Trigger)> = SHAPES
        .iter()
        .map(|shape| (shape.prefix, Trigger::Shape(shape)))
        .chain([
            ("://", Trigger::Url),
            ("-----BEGIN ", Trigger::PemBegin),
            ("-----END ", Trigger::PemEnd),
            (".eyJ", Trigger::JwtPayload),
            ("curl", Trigger::Curl),
        ])
        .chain(BEARERS.map(|bearer| (bearer, Trigger::Bearer)))
        .chain(USERS.map(|user| (user, Trigger::User)))
        .chain(NAME_PIECES.into_iter().flatten().chain(MORE_NAME_PIECES).map(|piece| (piece, Trigger::Name)))
        .collect();
    literals.sort_by_key(|(literal, _)| Reverse(literal.len()));
    let mut patterns: Vec<&str> = literals.iter().map(|(literal, _)| *literal).collect();
    patterns.dedup();
    let automaton = AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .kind(Some(AhoCorasickKind::DFA))
        .build(&patterns)
        .ok()?;
    // Where `sk-ant-` stands and is no token of Anthropic's, `sk-` stands too.
    let triggers = patterns.iter().map(|pattern| {
        let begin = literals.iter().filter(|(literal, _)| pattern.starts_with(literal));
        begin.map(|(literal, trigger)| (*trigger, literal.len())).collect()
    });
    Some(Scanner { automaton, triggers: triggers.collect() })
});

/// Passes until none of them finds anything. What follows a secret is judged anew once the secret is gone, so a second one may find
/// more; no text is known that needs more than three.
const MAX_PASSES: usize = 6;

/// Passes over something until one changes nothing; `false` when they do not end. What came out is then its own redaction, by
/// construction: redaction is idempotent.
pub fn settle(mut pass: impl FnMut() -> bool) -> bool {
    (0..MAX_PASSES).any(|_| !pass())
}

/// Replaces the secrets of these classes.
pub fn redact(text: &str, classes: Classes) -> Cow<'_, str> {
    let mut redacted = Cow::Borrowed(text);
    let settled = settle(|| {
        let after = pass(&redacted, classes);
        let changed = after.is_some();
        if let Some(after) = after {
            redacted = Cow::Owned(after);
        }
        changed
    });
    if settled { redacted } else { Cow::Borrowed(REDACTED) }
}

/// One pass; `None` when it changes nothing.
pub fn pass(text: &str, classes: Classes) -> Option<String> {
    let mut redacted = String::new();
    let mut kept = 0;
    find(text, classes, |_, (start, end)| {
        redacted.push_str(text.get(kept..start).unwrap_or_default());
        redacted.push_str(REDACTED);
        kept = end;
    });
    redacted.push_str(text.get(kept..).unwrap_or_default());
    (kept > 0 && redacted != text).then_some(redacted)
}

/// Names what one pass replaces, in order.
pub fn find(text: &str, classes: Classes, mut found: impl FnMut(Class, Range)) {
    if text.len() < MIN_TEXT {
        return;
    }
    // Building fails only for more or longer literals than a machine can index. Then nothing can be told to be harmless.
    let Some(scanner) = SCANNER.as_ref() else {
        if text != REDACTED {
            found(Class::VendorToken, (0, text.len()));
        }
        return;
    };
    let mut scan = Scan { text, bytes: text.as_bytes(), classes, floor: 0, named_until: 0, curl: None };
    let mut at = 0;
    while let Some(hit) = scanner.automaton.find(Input::new(text).range(at..)) {
        let triggers = scanner.triggers.get(hit.pattern().as_usize());
        let start = hit.start();
        match triggers.into_iter().flatten().find_map(|(trigger, length)| scan.secret(*trigger, start, start + length))
        {
            Some((class, range)) => {
                found(class, range);
                scan.floor = range.1;
                at = range.1;
            }
            // Another literal may begin inside this one.
            None => {
                work(hit.len());
                at = start + 1;
            }
        }
    }
}

/// Start and end of what is replaced. Both lie beside ASCII characters, so on character boundaries.
pub type Range = (usize, usize);

struct Scan<'t> {
    text: &'t str,
    bytes: &'t [u8],
    classes: Classes,
    /// The end of what was replaced last. What stands before it is `]` for everyone who reads on.
    floor: usize,
    /// The end of the name that was judged last: its other pieces need no second look.
    named_until: usize,
    /// Where the last `curl` stands.
    curl: Option<usize>,
}

/// An opening quote: its character, how many backslashes stand before it (JSON inside JSON), where its content begins.
#[derive(Clone, Copy)]
struct Quote {
    mark: u8,
    depth: usize,
    content: usize,
}

impl<'t> Scan<'t> {
    fn secret(&mut self, trigger: Trigger, start: usize, end: usize) -> Option<(Class, Range)> {
        let (class, range) = match trigger {
            Trigger::Shape(shape) => (Class::VendorToken, shape.find(self.bytes, start, self.floor)),
            Trigger::Url => (Class::UrlCredential, self.url(start, end)),
            Trigger::PemBegin => (Class::PrivateKey, self.pem(start, end)),
            Trigger::PemEnd => (Class::PrivateKey, self.pem_tail(start, end)),
            Trigger::JwtPayload => (Class::VendorToken, self.jwt(start, end)),
            Trigger::Bearer => (Class::Header, self.bearer(start, end)),
            Trigger::Curl => {
                self.curl = Some(start);
                return None;
            }
            Trigger::User => (Class::Header, self.user(start, end)),
            Trigger::Name => return self.name(start, end),
        };
        Some((class, range?))
    }

    // What a secret is whatever stands around it.

    /// `scheme://user:password@host`, `scheme://token@host`
    fn url(&self, start: usize, end: usize) -> Option<Range> {
        if !self.before(start).is_some_and(|b| b.is_ascii_alphanumeric()) {
            return None;
        }
        let ends = |b: u8| b.is_ascii_whitespace() || b"/?#\"'`<>\\,()|".contains(&b);
        let authority = end + self.span(end, usize::MAX, |b| !ends(b));
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
            work(found);
            match self.pem_label(label) {
                Some(after) => return Some((start, after)),
                None => from = label,
            }
        }
        work(self.bytes.len() - from);
        Some((start, self.bytes.len()))
    }

    /// A private key whose beginning was cut off: back over what can be its lines.
    fn pem_tail(&self, start: usize, end: usize) -> Option<Range> {
        let after = self.pem_label(end)?;
        let from =
            start - self.span_back(start, usize::MAX, |b| b.is_ascii_alphanumeric() || b"+/=\\\n\r".contains(&b));
        let body = self.slice(from, start);
        // The end alone, in a sentence about keys, hides nothing.
        (body.len() >= MIN_BARE_TOKEN).then_some((from, after))
    }

    /// The end of `RSA PRIVATE KEY-----`.
    fn pem_label(&self, at: usize) -> Option<usize> {
        let end = at + self.span(at, MAX_PEM_LABEL, |b| b.is_ascii_alphanumeric() || b == b' ');
        (self.slice(at, end).contains("PRIVATE KEY") && self.rest(end).starts_with("-----")).then_some(end + 5)
    }

    /// A JSON Web Token, from the beginning of its payload.
    fn jwt(&self, start: usize, end: usize) -> Option<Range> {
        let is_part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        let from = start - self.span_back(start, usize::MAX, is_part);
        let payload = self.span(end, usize::MAX, is_part);
        if !self.slice(from, start).starts_with("eyJ") || payload < MIN_BARE_TOKEN {
            return None;
        }
        let end = end + payload;
        let signature = self.span(end, usize::MAX, |b| is_part(b) || b == b'.');
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

    /// `curl -u user:password`
    fn user(&self, start: usize, end: usize) -> Option<Range> {
        let curl = self.curl.filter(|curl| start - curl <= MAX_COMMAND)?;
        let line = self.span(curl, start - curl, |b| b != b'\n');
        if self.classes != Classes::All || curl + line < start {
            return None;
        }
        let at = self.blank(end, MAX_BLANK);
        let (at, end) = match self.quote(at).and_then(|quote| Some((quote.content, self.close(quote)?))) {
            Some(quoted) => quoted,
            None => (at, self.run(at, false, usize::MAX)),
        };
        let colon = at + values::judged(self.slice(at, end)).find(':')?;
        (!values::is_placeholder(values::judged(self.slice(colon + 1, end)))).then_some((colon + 1, end))
    }

    /// A piece of a name: the whole name, and what is assigned to it, said of it, or paired with it.
    fn name(&mut self, hit: usize, hit_end: usize) -> Option<(Class, Range)> {
        if hit < self.named_until {
            return None;
        }
        // `sig=` brings its operator along.
        let hit_end = if self.bytes.get(hit_end - 1) == Some(&b'=') { hit_end - 1 } else { hit_end };
        let start = hit - self.span_back(hit, MAX_NAME, is_name_byte);
        let end = hit_end + self.span(hit_end, MAX_NAME, is_name_byte);
        self.named_until = end;

        // Most names in a text have nothing behind them that could be their value.
        let possible = match self.at(end) {
            b'=' | b':' | b'?' => self.operator(end).is_some(),
            // `<password>…</password>`
            b'>' => self.is_element(start),
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
            Some(Name::Key) if name.eq_ignore_ascii_case("key") && self.is_qualified(start) => Name::Secret,
            Some(kind) => kind,
            None => return None,
        };
        // `sig` is one only in an address.
        if query && self.at(end) == b'=' {
            let kind = if kind == Name::Maybe { Name::Secret } else { kind };
            let value = self.bare(end + 1, true, |value| values::is_secret_bare(kind, value, true))?;
            return Some((Class::Assignment, value));
        }

        let assignment = match kind {
            Name::Authorization | Name::Cookie => Class::Header,
            Name::Password | Name::Secret | Name::Maybe | Name::Key => Class::Assignment,
        };
        let closed = self.closing(end);
        let blank = self.blank(closed, MAX_BLANK);
        let range = if self.at(end) == b'>' {
            self.element(kind, end + 1)
        } else if let Some(operator) = self.operator(blank) {
            let spaced = blank > closed || self.at(operator).is_ascii_whitespace() || self.at(blank) != b'=';
            let upper = !name.bytes().any(|b| b.is_ascii_lowercase());
            // `f(password=value, …)` passes on, `user=a password=value` tells.
            let told = || kind == Name::Password && !b",)(}]".contains(&self.at(self.run(operator, false, MAX_NAME)));
            let shell = !spaced && (upper || name.starts_with('-') || told());
            self.assigned(kind, operator, shell)
        } else if closed > end {
            self.paired(kind, closed)
        } else if blank > end && name.starts_with('-') {
            self.bare(blank, false, |value| !value.starts_with('-') && values::is_secret_bare(kind, value, false))
        } else if let Some(value) = self.paired(kind, closed) {
            Some(value)
        } else {
            return Some((Class::Prose, self.told(kind, end)?));
        };
        Some((assignment, range?))
    }

    /// Whether the name of an element begins here, behind `<` or `<ns:`.
    fn is_element(&self, start: usize) -> bool {
        self.before(start - self.span_back(start, MAX_NAME, |b| b == b':' || is_name_byte(b))) == Some(b'<')
    }

    /// The content of an element, if it is a secret.
    fn element(&self, kind: Name, start: usize) -> Option<Range> {
        let length = |max| self.span(start, max, |b| !b"<\n".contains(&b));
        let judged = self.slice(start, start + length(values::MAX_JUDGED));
        // Behind it is the end of the element; `Vec<Token>` opens none.
        let end = start + length(usize::MAX);
        let closed = judged.len() == values::MAX_JUDGED || self.rest(end).starts_with("</");
        (closed && values::is_secret_quoted(kind, judged)).then_some((start, end))
    }

    /// `api key`, `secret-key`: the word before decides.
    fn is_qualified(&self, start: usize) -> bool {
        if self.before(start) != Some(b' ') {
            return false;
        }
        let word_end = start - 1;
        let word = word_end - self.span_back(word_end, MAX_QUALIFIER, |b| b.is_ascii_alphabetic());
        names::qualifies_key(self.slice(word, word_end))
    }

    /// What is assigned behind an operator.
    fn assigned(&self, kind: Name, operator: usize, shell: bool) -> Option<Range> {
        let mut at = self.blank(operator, MAX_BLANK);
        // **Password:** …
        at += self.span(at, 2, |b| b == b'*');
        at = self.blank(at, MAX_BLANK);
        match kind {
            Name::Authorization => return self.header(at),
            // `cookie = "a=b"` is code.
            Name::Cookie if self.at(operator - 1) != b':' => return None,
            Name::Cookie => return self.cookie(at),
            Name::Password | Name::Secret | Name::Maybe | Name::Key => {}
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
            self.line(next, values::MAX_JUDGED, |value| values::is_credential(value, true))
        } else {
            self.bare(at, false, |value| values::is_credential(value, false))
        }
    }

    /// All pairs of a `Cookie:` header.
    fn cookie(&self, at: usize) -> Option<Range> {
        self.line(self.quote(at).map_or(at, |quote| quote.content), MAX_COOKIE, values::is_cookie)
    }

    /// `"name": "DB_PASSWORD", "value": "…"`, also as YAML and as attributes of an element.
    fn paired(&self, kind: Name, at: usize) -> Option<Range> {
        let skipped = self.span(at, MAX_BLANK, |b| b.is_ascii_whitespace() || b == b',');
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
        let word = at + self.span(at, usize::MAX, |b| !b.is_ascii_whitespace() && !b"\"'`\\".contains(&b));
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

    /// How many bytes from here on are so, of at most `max`.
    fn span(&self, at: usize, max: usize, is: impl Fn(u8) -> bool) -> usize {
        let length = self.rest(at).bytes().take(max).take_while(|b| is(*b)).count();
        work(length);
        length
    }

    /// How many bytes before this place are so, of at most `max`, down to what was replaced.
    fn span_back(&self, at: usize, max: usize, is: impl Fn(u8) -> bool) -> usize {
        let length = self
            .bytes
            .get(self.floor.min(at)..at)
            .unwrap_or_default()
            .iter()
            .rev()
            .take(max)
            .take_while(|b| is(**b))
            .count();
        work(length);
        length
    }

    fn rest(&self, at: usize) -> &'t str {
        self.text.get(at..).unwrap_or_default()
    }

    fn slice(&self, start: usize, end: usize) -> &'t str {
        self.text.get(start.max(self.floor.min(end))..end).unwrap_or_default()
    }

    /// Behind at most `max` spaces and tabs.
    fn blank(&self, at: usize, max: usize) -> usize {
        at + self.span(at, max, |b| matches!(b, b' ' | b'\t'))
    }

    /// Behind the quote and bracket that close a name.
    fn closing(&self, at: usize) -> usize {
        let end = at + self.span(at, MAX_ESCAPES, |b| b == b'\\');
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
        let depth = self.span(at, MAX_ESCAPES, |b| b == b'\\');
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
            work(found - from);
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

    /// The rest of a line, if its first `max` bytes are those of a secret.
    fn line(&self, start: usize, max: usize, is_secret: impl Fn(&str) -> bool) -> Option<Range> {
        let judged = self.slice(start, self.line_end(start, max));
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
        work(i);
        let end = start + self.slice(start, start + i).trim_end_matches('.').len();
        // `...` is a value of its own, and says that a value was cut.
        if end == start || self.slice(end, start + i).len() > 1 { start + i } else { end }
    }

    /// `name=` behind an `&`.
    fn is_parameter(&self, at: usize) -> bool {
        let name = self.span(at, MAX_BLANK, is_name_byte);
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
        let length = rest.iter().enumerate().position(|(i, b)| ends(i, *b)).unwrap_or(rest.len());
        work(length);
        at + length
    }
}

/// Counts bytes that were looked at, in tests of how many that are.
#[cfg_attr(not(test), expect(unused_variables, reason = "counted in tests alone"))]
pub fn work(bytes: usize) {
    #[cfg(test)]
    tests::WORK.set(tests::WORK.get() + bytes);
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::super::hostile::HOSTILE;
    use super::*;

    thread_local! {
        /// Bytes that were looked at beside the automaton's one pass.
        pub static WORK: Cell<usize> = const { Cell::new(0) };
    }

    fn work_of(text: &str) -> usize {
        WORK.set(0);
        let _ = redact(text, Classes::All);
        WORK.get()
    }

    /// Linear, by what is counted and not by a clock: sixteen times the text takes at most twenty times the work (and not 256 times). Beside
    /// the automaton's pass no byte is looked at more than a few dozen times.
    #[test]
    fn work_is_linear_in_hostile_text() {
        const SHORT: usize = 2 * 1024;
        let before =
            ["", "credential=x ", "key -----BEGIN RSA PRIVATE KEY-----\\n", "token=\"", "{\"secret\": \"", "Cookie: "];
        for (piece, before) in HOSTILE.iter().flat_map(|piece| before.map(|before| (piece, before))) {
            let text = |bytes: usize| before.to_owned() + &piece.repeat(bytes / piece.len());
            let (short, long) = (work_of(&text(SHORT)), work_of(&text(16 * SHORT)));
            assert!(long <= 20 * short, "{before}{piece}: {short} for {SHORT} bytes, {long} for 16 times as many");
            assert!(long <= 16 * SHORT * MAX_LOOKS, "{before}{piece}: {long}");
        }
    }

    fn pieces() -> impl Strategy<Value = String> {
        let pieces = [
            "password",
            "SECRET",
            "token",
            "api key",
            "key",
            "Authorization",
            "Bearer ",
            "Basic ",
            "Cookie",
            "--",
            "=",
            ":",
            ": ",
            " = ",
            " ",
            "\n",
            "\\n",
            "\"",
            "'",
            "\\\"",
            "is ",
            " to ",
            "name",
            "value",
            ",",
            "&",
            "?",
            "://",
            "@",
            "/",
            "<",
            ">",
            "</",
            "${",
            "(",
            "[redacted]",
            "...",
            "é",
            "1",
            "hunter2",
            "a00AAaAA",
            "curl -u ",
            "a:",
            "-----BEGIN RSA PRIVATE KEY-----",
            "-----END RSA PRIVATE KEY-----",
            "eyJ",
            ".eyJ",
            "sk-",
            "ant-",
            "MTA",
            ":AA",
            "AKIA",
            "IOSFODNN7ABCDEFG",
            "string",
            "0x1F",
            "_",
            "-",
            ".",
            "abcdEFGH1234abcdEFGH1234abcdEFGH1234abcd",
        ];
        proptest::collection::vec(proptest::sample::select(pieces.to_vec()), 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        /// The bound on the passes is far from what is needed, so no text is given up for it.
        #[test]
        fn a_text_settles_in_few_passes(text in pieces()) {
            let mut text = text;
            let mut passes = 1;
            while let Some(after) = pass(&text, Classes::All) {
                text = after;
                passes += 1;
            }
            prop_assert!(passes <= MAX_PASSES / 2, "{passes} passes");
        }
    }

    /// A value is judged by its first 256 bytes, at most once for each of the names before it, of which none has fewer than three.
    const MAX_LOOKS: usize = 400;

    /// An idle worker may take 20 MB in all.
    #[test]
    fn the_automaton_stays_small() {
        let scanner = SCANNER.as_ref().expect("builds");
        let bytes = scanner.automaton.memory_usage();
        assert!(bytes < 1024 * 1024, "{bytes}");
    }
}
