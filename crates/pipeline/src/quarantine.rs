//! What is kept of a job that could not be used, for `doctor` to show: enough to see why, no conversation.

use std::any::Any;

use serde_json::{Map, Value};
use sessionpipe_core::adapter::MapError;
use sessionpipe_core::job::Header;
use sessionpipe_core::payload::Payload;
use sessionpipe_core::privacy::secrets::{redact_text, redact_value};

use crate::outbox::Quarantined;
use crate::spool::{JobId, ReadError};

/// Longer strings are replaced by their length: event names, ids and paths are shorter, prompts and outputs are longer.
const MAX_STRING: usize = 200;

/// Of a payload that is no JSON, this many characters are kept.
const MAX_RAW: usize = 400;

/// Of a payload that is no JSON, this many bytes are looked at: a secret that is cut here is cut away below.
const MAX_LOOK: usize = 16 * 1024;

/// Members beyond this are left out.
const MAX_MEMBERS: usize = 100;

/// Why a job could not be used.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// Its file cannot be read as one.
    #[error(transparent)]
    Job(#[from] ReadError),
    /// No adapter of that name is compiled in.
    #[error("no adapter for {0:?}")]
    UnknownHarness(String),
    /// The adapter cannot map it.
    #[error(transparent)]
    Map(#[from] MapError),
    /// Nothing can be read, and no open session is known to which it could belong.
    #[error("{0}, and it belongs to no open session")]
    Unreadable(String),
    /// Taking it panicked.
    #[error("taking it panicked: {0}")]
    Panic(String),
}

impl Reason {
    /// The reason for a caught panic.
    #[must_use]
    pub fn from_panic(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().copied();
        Self::Panic(
            text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message").to_owned(),
        )
    }
}

/// The entry for a job. Redacted, and shortened after that.
#[must_use]
pub fn entry(job: JobId, header: Option<&Header>, reason: &Reason, payload: &[u8]) -> Quarantined {
    let word = |text: &str| cut(&redact_text(text), MAX_STRING);
    Quarantined {
        job: job.to_string(),
        at_ms: header.map_or_else(|| job.at_ms(), |header| header.at_ms),
        harness: header.map(|header| word(&header.harness)).unwrap_or_default(),
        event: header.map(|header| word(&header.event)).unwrap_or_default(),
        reason: word(&reason.to_string()),
        payload: match sessionpipe_core::payload::parse(payload) {
            Ok(Payload { members, .. }) => outline(members).to_string(),
            Err(_) => {
                let head = payload.get(..MAX_LOOK).unwrap_or(payload);
                cut(&redact_text(&String::from_utf8_lossy(head)), MAX_RAW)
            }
        },
    }
}

/// Names, ids and short values as they are; long texts, lists and inner objects by their size only.
fn outline(members: Map<String, Value>) -> Value {
    // As a whole: a member's name may tell that its value is a secret.
    let mut whole = Value::Object(members);
    redact_value(&mut whole);
    let Value::Object(members) = whole else { return whole };
    let short = |value: Value| match value {
        Value::String(text) if text.chars().count() > MAX_STRING => {
            format!("[{} characters]", text.chars().count()).into()
        }
        Value::Array(items) => format!("[{} items]", items.len()).into(),
        Value::Object(inner) => format!("[{} members]", inner.len()).into(),
        plain => plain,
    };
    let members = members.into_iter().take(MAX_MEMBERS);
    members.map(|(name, value)| (cut(&redact_text(&name), MAX_STRING), short(value))).collect::<Map<_, _>>().into()
}

fn cut(text: &str, characters: usize) -> String {
    text.chars().take(characters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn payload_of(payload: &str) -> String {
        let reason = Reason::UnknownHarness("x".to_owned());
        entry(JobId::new(Duration::from_millis(7)), None, &reason, payload.as_bytes()).payload
    }

    #[test]
    fn an_outline_holds_no_conversation() {
        let long = "word ".repeat(50);
        let payload = format!(r#"{{"type":"done","turn":3,"said":["a","b"],"input":{{"k":1}},"answer":"{long}"}}"#);
        assert_eq!(
            payload_of(&payload),
            r#"{"type":"done","turn":3,"said":"[2 items]","input":"[1 members]","answer":"[250 characters]"}"#
        );
    }

    #[test]
    fn of_what_is_no_json_only_the_beginning_is_kept() {
        assert_eq!(payload_of("hello"), "hello");
        assert_eq!(payload_of(&"é".repeat(20_000)).chars().count(), MAX_RAW);
    }

    #[test]
    fn without_a_header_the_job_tells_its_time() {
        let reason = Reason::from_panic(&"index out of bounds");
        let kept = entry(JobId::new(Duration::from_millis(7)), None, &reason, b"");
        assert_eq!((kept.at_ms, kept.reason.as_str()), (7, "taking it panicked: index out of bounds"));
    }

    #[test]
    fn secrets_are_gone() {
        let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
        for payload in [format!(r#"{{"note":"use {secret} now"}}"#), format!("not json {secret}")] {
            let kept = payload_of(&payload);
            assert!(!kept.contains(secret), "{kept}");
            assert!(kept.contains("[redacted]"), "{kept}");
        }
        assert_eq!(payload_of(r#"{"password":"letmein"}"#), r#"{"password":"[redacted]"}"#);
    }
}
