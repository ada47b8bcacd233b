//! The lines that our own plugins write, for the harnesses that run plugins instead of commands.
//!
//! A plugin names what it tells as Claude-shaped payloads do, so [`stdin_hook`] maps its lines; the native event's name is in
//! the job's header. It also says what no stdin payload has to, since it sees the agent from within:
//!
//! | member | of | holds |
//! |---|---|---|
//! | `version` | every line | the harness's version |
//! | `title`, `title_by` | any line | the session's title; `person` where a person set it |
//! | `prompt_chars` | a prompt | its length: the text itself is never sent |
//! | `prompt_by` | a prompt | `harness` where no person wrote it |
//! | `failed` | a tool's end | `true`: the call did not work, and its output is the reason |
//! | `outcome`, `error` | the end of a turn | `aborted`, or `error` and its reason; anything else is a plain stop |

use serde_json::Value;

use crate::adapter::MapError;
use crate::harness::Harness;
use crate::job::Hook;
use crate::payload::Payload;
use crate::seen::{Mapped, PromptBy, Seen, TitleSource};
use crate::stdin_hook::{self, FIELDS, plain_text};

/// Maps one line by the table.
///
/// # Errors
/// As [`stdin_hook::map`].
pub fn map(harness: &Harness, hook: &Hook) -> Result<Mapped, MapError> {
    let mut mapped = stdin_hook::map(harness, &FIELDS, hook)?;
    let line = &hook.payload;
    mapped.version = text(line, "version");
    let by = if line.text(&["title_by"]) == Some("person") { TitleSource::Custom } else { TitleSource::Harness };
    mapped.title = text(line, "title").map(|title| (title, by));
    mapped.seen = mapped.seen.into_iter().map(|seen| refine(seen, line)).collect();
    Ok(mapped)
}

/// How a turn ended, as a line says it.
#[must_use]
pub fn turn_end(line: &Payload, stop: Seen) -> Seen {
    let turn = text(line, "turn_id");
    match line.text(&["outcome"]) {
        Some("aborted") => Seen::Aborted { turn },
        Some("error") => Seen::Failed { turn, error: text(line, "error") },
        _ => stop,
    }
}

fn refine(seen: Seen, line: &Payload) -> Seen {
    match seen {
        Seen::Prompt { turn, .. } => {
            let by_harness = line.text(&["prompt_by"]) == Some("harness");
            let by = if by_harness { PromptBy::Harness } else { PromptBy::Person };
            Seen::Prompt { turn, chars: line.value(&["prompt_chars"]).and_then(Value::as_u64), by }
        }
        Seen::ToolEnd { call, mut result } if line.value(&["failed"]) == Some(&Value::Bool(true)) => {
            result.ok = false;
            result.error = text(line, "error").or_else(|| result.output.as_ref().map(plain_text));
            Seen::ToolEnd { call, result }
        }
        stop @ Seen::Stop { .. } => turn_end(line, stop),
        other => other,
    }
}

fn text(line: &Payload, name: &str) -> Option<String> {
    line.text(&[name]).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::harness::{Means, NativeEvent, Wired};
    use crate::job::Header;
    use crate::payload;
    use crate::seen::{StopKind, ToolCall, ToolResult};

    static HARNESS: Harness = Harness {
        name: "plugged",
        events: &[
            NativeEvent { name: "prompt", means: Means::Prompt, wired: Wired::Always },
            NativeEvent { name: "tool_end", means: Means::ToolEnd, wired: Wired::Always },
            NativeEvent { name: "settled", means: Means::Stop, wired: Wired::Always },
        ],
        ..Harness::BLANK
    };

    fn mapped(event: &str, mut line: Value) -> Mapped {
        line["session_id"] = "s1".into();
        let header = Header { harness: "plugged".to_owned(), event: event.to_owned(), ..Header::default() };
        let payload = payload::parse(line.to_string().as_bytes()).expect("a line");
        map(&HARNESS, &Hook { header, caller: "plugged".to_owned(), payload }).expect("mapped")
    }

    #[test]
    fn a_prompt_is_a_length() {
        let all =
            mapped("prompt", json!({"prompt_chars": 7, "version": "1.2.3", "title": "mine", "title_by": "person"}));
        assert_eq!(all.version.as_deref(), Some("1.2.3"));
        assert_eq!(all.title, Some(("mine".to_owned(), TitleSource::Custom)));
        assert_eq!(all.seen, [Seen::Prompt { turn: None, chars: Some(7), by: PromptBy::Person }]);
        let other = mapped("prompt", json!({"prompt_by": "harness", "title": "theirs", "title_by": "harness"}));
        assert_eq!(other.title, Some(("theirs".to_owned(), TitleSource::Harness)));
        assert_eq!(other.seen, [Seen::Prompt { turn: None, chars: None, by: PromptBy::Harness }]);
    }

    #[test]
    fn a_call_that_failed_gave_its_reason() {
        let end = |line| mapped("tool_end", line).seen;
        let call = ToolCall { tool: "bash".to_owned(), call: Some("c1".to_owned()), ..ToolCall::default() };
        let output = Some(json!("code 3"));
        let worked = ToolResult { ok: true, error: None, output: output.clone(), ms: Some(11) };
        let line = json!({"tool_name": "bash", "tool_use_id": "c1", "tool_response": "code 3", "duration_ms": 11});
        assert_eq!(end(line.clone()), [Seen::ToolEnd { call: call.clone(), result: worked.clone() }]);
        let mut failed = line;
        failed["failed"] = true.into();
        let result = ToolResult { ok: false, error: Some("code 3".to_owned()), ..worked };
        assert_eq!(end(failed), [Seen::ToolEnd { call, result }]);
    }

    #[test]
    fn a_turn_stops_is_aborted_or_fails() {
        let end = |line| mapped("settled", line).seen;
        assert_eq!(end(json!({})), [Seen::Stop { turn: None, kind: StopKind::Final }]);
        assert_eq!(end(json!({"outcome": "completed"})), [Seen::Stop { turn: None, kind: StopKind::Final }]);
        assert_eq!(end(json!({"outcome": "aborted"})), [Seen::Aborted { turn: None }]);
        let failed = Seen::Failed { turn: None, error: Some("400".to_owned()) };
        assert_eq!(end(json!({"outcome": "error", "error": "400"})), [failed]);
    }
}
