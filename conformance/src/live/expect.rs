//! The event stream that a scenario must yield, one line per event:
//!
//! ```text
//! tool.ended tool=Bash call_id=$call ok=false error=~"code 3" ms=* output=-
//! ```
//!
//! First the type, then what must hold of it. A key is a member of `data`, or of `session` or `harness` where it begins
//! so (`session.model`). A value is `$name` (the same text wherever the name stands, another one for another name), `*`
//! (there, whatever it is), `-` (not there), `~` and a regular expression, JSON without spaces, or else a plain word. Keys that a
//! line does not name may hold anything, but for the marks that an event is not what it seems ([`MARKS`]): those must
//! be named.
//!
//! Where parts of a session run side by side, a line begins with the name of its strand, `@child tool.started …`: of
//! consecutive such lines only the order within each strand counts. A line that begins with `? ` may be missing: for what
//! a harness reports at one time and not at another.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, bail};
use regex::Regex;
use serde_json::Value;

/// Members of `data` that must be absent where a line does not name them.
pub const MARKS: [&str; 4] = ["derived", "id_made_up", "lost", "partial"];

/// One expected event.
#[derive(Clone, Debug)]
pub struct Expected {
    optional: bool,
    strand: Option<String>,
    kind: String,
    members: Vec<(String, Wanted)>,
}

#[derive(Clone, Debug)]
enum Wanted {
    Same(String),
    Anything,
    Absent,
    Pattern(Regex),
    Exactly(Value),
}

impl Expected {
    /// Reads a line.
    ///
    /// # Errors
    /// Where a member has no value or a regular expression is none.
    pub fn parse(line: &str) -> anyhow::Result<Self> {
        let mut words = words(line).into_iter().peekable();
        let optional = words.next_if_eq("?").is_some();
        let strand = words.next_if(|word| word.starts_with('@'));
        let kind = words.next().with_context(|| format!("no event: {line:?}"))?;
        let members = words.map(|word| {
            let (key, value) = word.split_once('=').with_context(|| format!("no value: {word}"))?;
            Ok((key.to_owned(), Wanted::parse(value)?))
        });
        Ok(Self { optional, strand, kind, members: members.collect::<anyhow::Result<_>>()? })
    }

    /// What is wrong with an event; `names` are the texts that `$names` stood for so far.
    fn check(&self, event: &Value, names: &mut BTreeMap<String, String>) -> Result<(), String> {
        if event["type"] != self.kind.as_str() {
            return Err(format!("expected {}", self.kind));
        }
        for (key, wanted) in &self.members {
            let found = member(event, key);
            if !wanted.fits(found, names) {
                return Err(format!("{key} is {}, expected {}", found.unwrap_or(&Value::Null), wanted.show(names)));
            }
        }
        for mark in MARKS {
            if event["data"].get(mark).is_some() && !self.members.iter().any(|(key, _)| key == mark) {
                return Err(format!("it is marked {mark}"));
            }
        }
        Ok(())
    }
}

/// Splits at spaces that stand in no quoted string.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted, mut escaped) = (Vec::new(), String::new(), false, false);
    for c in line.chars() {
        match c {
            ' ' if !quoted => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                continue;
            }
            '"' if !escaped => quoted = !quoted,
            _ => {}
        }
        escaped = c == '\\' && !escaped;
        word.push(c);
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

impl Wanted {
    fn parse(text: &str) -> anyhow::Result<Self> {
        let scalar = |text: &str| match serde_json::from_str(text) {
            Ok(value @ (Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Array(_))) => value,
            _ => Value::String(text.to_owned()),
        };
        Ok(match text {
            "" => bail!("an empty value"),
            "*" => Self::Anything,
            "-" => Self::Absent,
            _ => match (text.strip_prefix('$'), text.strip_prefix('~')) {
                (Some(name), _) => Self::Same(name.to_owned()),
                (_, Some(pattern)) => Self::Pattern(Regex::new(scalar(pattern).as_str().unwrap_or(pattern))?),
                _ => Self::Exactly(scalar(text)),
            },
        })
    }

    fn fits(&self, found: Option<&Value>, names: &mut BTreeMap<String, String>) -> bool {
        match (self, found) {
            (Self::Absent, None) | (Self::Anything, Some(_)) => true,
            (Self::Exactly(wanted), Some(found)) => wanted == found,
            (Self::Pattern(pattern), Some(found)) => {
                found.as_str().map_or_else(|| pattern.is_match(&found.to_string()), |text| pattern.is_match(text))
            }
            (Self::Same(name), Some(Value::String(found))) => match names.get(name) {
                Some(known) => known == found,
                None => {
                    let taken = names.values().any(|known| known == found);
                    names.insert(name.clone(), found.clone());
                    !taken
                }
            },
            _ => false,
        }
    }

    fn show(&self, names: &BTreeMap<String, String>) -> String {
        match self {
            Self::Same(name) => match names.get(name) {
                Some(known) => format!("${name} ({known})"),
                None => format!("${name}"),
            },
            Self::Anything => "anything".to_owned(),
            Self::Absent => "nothing".to_owned(),
            Self::Pattern(pattern) => format!("~{pattern}"),
            Self::Exactly(value) => value.to_string(),
        }
    }
}

fn member<'a>(event: &'a Value, key: &str) -> Option<&'a Value> {
    match key.split_once('.') {
        Some((block @ ("session" | "harness"), key)) => event[block].get(key),
        _ => event["data"].get(key),
    }
}

/// What is wrong with a stream of several sessions, each of which must yield `expected`. Nothing: it is as it should be.
#[must_use]
pub fn compare(expected: &[Expected], sessions: usize, events: &[Value]) -> Vec<String> {
    let mut by_session: Vec<(&str, Vec<&Value>)> = Vec::new();
    for event in events {
        let id = event["session"]["id"].as_str().unwrap_or_default();
        match by_session.iter_mut().find(|(known, _)| *known == id) {
            Some((_, events)) => events.push(event),
            None => by_session.push((id, vec![event])),
        }
    }
    let mut wrong = Vec::new();
    // Where nothing at all is expected, no session reports.
    let sessions = if expected.is_empty() { 0 } else { sessions };
    if by_session.len() != sessions {
        wrong.push(format!("events of {} sessions, expected {sessions}", by_session.len()));
    }
    for (id, mut events) in by_session {
        events.sort_by_key(|event| event["session"]["seq"].as_u64());
        let mut stream = Stream { left: expected, side_by_side: Vec::new(), names: BTreeMap::new() };
        let mut taken = events.iter().map(|event| (event, stream.take(event)));
        let misfit = taken.find_map(|(event, fits)| Some((event, fits.err()?)));
        match misfit {
            Some((event, problem)) => {
                wrong.push(format!("session {id}: event {}: {problem}", event["session"]["seq"]));
            }
            None if stream.is_over() => continue,
            None => wrong.push(format!("session {id}: {} events, expected {}", events.len(), expected.len())),
        }
        wrong.extend(events.iter().map(|event| format!("    {}", show(event))));
    }
    wrong
}

/// What is still expected of one session.
struct Stream<'a> {
    left: &'a [Expected],
    /// The strands that run now, each with what is left of it.
    side_by_side: Vec<Vec<&'a Expected>>,
    names: BTreeMap<String, String>,
}

impl<'a> Stream<'a> {
    fn is_over(&self) -> bool {
        self.left.iter().chain(self.side_by_side.iter().flatten().copied()).all(|line| line.optional)
    }

    fn take(&mut self, event: &Value) -> Result<(), String> {
        if self.side_by_side.is_empty() {
            self.open();
        }
        let mut problem = "nothing more is expected".to_owned();
        for at in 0..self.side_by_side.len() {
            let Some(expected) = self.side_by_side[at].first() else { continue };
            // What a line that does not fit has named is not named.
            let mut names = self.names.clone();
            match expected.check(event, &mut names) {
                Ok(()) => {
                    self.names = names;
                    self.side_by_side[at].remove(0);
                    self.side_by_side.retain(|strand| !strand.is_empty());
                    return Ok(());
                }
                Err(why) => problem = why,
            }
        }
        if self.side_by_side.iter().flatten().any(|line| line.optional) {
            self.side_by_side.iter_mut().for_each(|strand| strand.retain(|line| !line.optional));
            self.side_by_side.retain(|strand| !strand.is_empty());
            return self.take(event);
        }
        Err(problem)
    }

    /// The next line, or all consecutive lines that have strands.
    fn open(&mut self) {
        let block = match self.left.iter().position(|line| line.strand.is_none()) {
            Some(0) => 1,
            Some(end) => end,
            None => self.left.len(),
        };
        let (block, left) = self.left.split_at(block);
        self.left = left;
        for line in block {
            match self.side_by_side.iter_mut().find(|strand| strand[0].strand == line.strand) {
                Some(strand) => strand.push(line),
                None => self.side_by_side.push(vec![line]),
            }
        }
    }
}

/// An event as a line of this language; long texts are cut.
#[must_use]
pub fn show(event: &Value) -> String {
    let mut line = event["type"].as_str().unwrap_or("?").to_owned();
    for (key, value) in event["data"].as_object().into_iter().flatten() {
        let value = match value {
            Value::String(word) if !word.is_empty() && !word.contains([' ', '"', '\n']) => word.clone(),
            value => value.to_string(),
        };
        let short: String = value.chars().take(80).collect();
        let _ = write!(line, " {key}={short}");
    }
    line
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(session: &str, seq: u64, kind: &str, data: &Value) -> Value {
        json!({"type": kind, "session": {"id": session, "seq": seq, "model": "m"}, "data": data})
    }

    fn wrong(lines: &[&str], sessions: usize, events: &[Value]) -> Vec<String> {
        let expected: Vec<_> = lines.iter().map(|line| Expected::parse(line).expect("a line")).collect();
        compare(&expected, sessions, events)
    }

    #[test]
    fn a_stream_that_fits_is_fine() {
        let lines = [
            "turn.started turn_id=$t session.model=m",
            r#"tool.ended turn_id=$t call_id=$c ok=false error=~"code \\d" ms=* output=-"#,
        ];
        let events = [
            event("s", 0, "turn.started", &json!({"turn_id": "1"})),
            event(
                "s",
                1,
                "tool.ended",
                &json!({"turn_id": "1", "call_id": "2", "ok": false, "error": "exit code 3", "ms": 4, "more": 1}),
            ),
        ];
        assert_eq!(wrong(&lines, 1, &events), Vec::<String>::new());
        // The order of arrival does not count, the session's own does.
        let events: Vec<_> = events.into_iter().rev().collect();
        assert_eq!(wrong(&lines, 1, &events), Vec::<String>::new());
    }

    #[test]
    fn every_kind_of_difference_is_one() {
        for (line, data) in [
            ("turn.started turn_id=$t", json!({})),
            ("turn.started a=$x b=$x", json!({"a": "1", "b": "2"})),
            ("turn.started a=$x b=$y", json!({"a": "1", "b": "1"})),
            ("turn.started ok=true", json!({"ok": false})),
            ("turn.started ok=true", json!({"ok": "true"})),
            ("turn.started n=-", json!({"n": 1})),
            ("turn.started n=*", json!({})),
            ("turn.started e=~^a$", json!({"e": "ab"})),
            ("turn.started", json!({"derived": true})),
            ("turn.ended", json!({})),
        ] {
            assert!(!wrong(&[line], 1, &[event("s", 0, "turn.started", &data)]).is_empty(), "{line}");
        }
        assert!(!wrong(&["turn.started"], 1, &[]).is_empty());
        assert!(!wrong(&[], 1, &[event("s", 0, "turn.started", &json!({}))]).is_empty());
        let twice = [event("s", 0, "turn.started", &json!({})), event("s", 1, "turn.started", &json!({}))];
        assert!(!wrong(&["turn.started"], 1, &twice).is_empty());
    }

    #[test]
    fn each_session_yields_the_stream_with_names_of_its_own() {
        let events = [
            event("a", 0, "turn.started", &json!({"turn_id": "1"})),
            event("b", 0, "turn.started", &json!({"turn_id": "2"})),
            event("b", 1, "turn.ended", &json!({"turn_id": "2"})),
            event("a", 1, "turn.ended", &json!({"turn_id": "1"})),
        ];
        let lines = ["turn.started turn_id=$t", "turn.ended turn_id=$t"];
        assert_eq!(wrong(&lines, 2, &events), Vec::<String>::new());
        assert!(!wrong(&lines, 1, &events).is_empty());
    }

    #[test]
    fn strands_keep_only_their_own_order() {
        let lines = [
            "turn.started",
            "@a tool.started call_id=$a",
            "@a tool.ended call_id=$a",
            "@b tool.started call_id=$b",
            "@b tool.ended call_id=$b",
            "turn.ended",
        ];
        let stream = |order: &[(&str, &str)]| {
            let data = |call: &str| if call.is_empty() { json!({}) } else { json!({"call_id": call}) };
            let events: Vec<_> =
                order.iter().zip(0..).map(|((kind, call), seq)| event("s", seq, kind, &data(call))).collect();
            wrong(&lines, 1, &events)
        };
        let (start, end) = (("turn.started", ""), ("turn.ended", ""));
        let (s, e) = ("tool.started", "tool.ended");
        for order in [
            [(s, "1"), (e, "1"), (s, "2"), (e, "2")],
            [(s, "1"), (s, "2"), (e, "2"), (e, "1")],
            [(s, "1"), (s, "2"), (e, "1"), (e, "2")],
        ] {
            assert_eq!(stream(&[&[start], &order[..], &[end]].concat()), Vec::<String>::new(), "{order:?}");
        }
        assert!(!stream(&[start, (e, "1"), (s, "1"), (s, "2"), (e, "2"), end]).is_empty());
        assert!(!stream(&[start, (s, "1"), (e, "1"), (s, "2"), end]).is_empty());
        assert!(!stream(&[start, (s, "1"), (e, "1"), (s, "2"), (e, "2")]).is_empty());
    }

    #[test]
    fn an_optional_line_may_be_missing() {
        let (start, end) = (event("s", 0, "turn.started", &json!({})), event("s", 2, "turn.ended", &json!({})));
        let middle = event("s", 1, "tool.started", &json!({}));
        let lines = ["turn.started", "? tool.started", "turn.ended", "? session.ended"];
        assert_eq!(wrong(&lines, 1, &[start.clone(), middle.clone(), end.clone()]), Vec::<String>::new());
        assert_eq!(wrong(&lines, 1, &[start.clone(), end]), Vec::<String>::new());
        assert!(!wrong(&lines, 1, &[start.clone(), middle.clone(), middle]).is_empty());
        assert!(!wrong(&lines, 1, &[start]).is_empty());
    }

    #[test]
    fn an_event_is_shown_in_the_language_itself() {
        let event = event("s", 0, "tool.ended", &json!({"ok": true, "tool": "Bash", "error": "a b"}));
        let mut shown = words(&show(&event));
        shown.sort_unstable();
        assert_eq!(shown, [r#"error="a b""#, "ok=true", "tool.ended", "tool=Bash"]);
        assert!(Expected::parse(&show(&event)).is_ok());
    }

    #[test]
    fn lines_without_meaning_are_refused() {
        for line in ["", "turn.started turn_id", "turn.started a=", "turn.started a=~("] {
            assert!(Expected::parse(line).is_err(), "{line}");
        }
    }
}
