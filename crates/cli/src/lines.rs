//! An event as a line for a person: when, who, which session, what, how long.

use std::collections::BTreeMap;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ZonedDateTime};
use serde_json::{Map, Value};
use sessionpipe_core::event::{Event, EventType};
use unicode_width::UnicodeWidthStr as _;

use crate::out::{Out, Role, clean, count, cut, thousands};
use crate::registry;

/// Columns of a session's title; a longer one is cut. On a narrow terminal it has less.
const TITLE: usize = 22;
/// And no less than this.
const TITLE_MIN: usize = 10;
/// A terminal of this width is wide enough for a whole title.
const WIDE: usize = 100;
/// Columns of what happened: the longest of ours is `subagent started`.
const WHAT: usize = 16;
/// Columns of the detail where there is no terminal to fill.
const DETAIL: usize = 28;
/// And at most: a tool's input may be kilobytes.
const DETAIL_MAX: usize = 100;
/// What a terminal leaves for the detail at least.
const DETAIL_MIN: usize = 12;
/// Columns of a duration.
const DURATION: usize = 7;

/// Members of a tool's input that say best what it does, the best first.
const TELLING: [&str; 10] =
    ["command", "cmd", "file_path", "path", "pattern", "query", "url", "description", "prompt", "question"];

/// Writes events as lines, and remembers what the lines before said: the titles and the day.
#[derive(Debug)]
pub struct Lines {
    zone: TimeZone,
    day: Date,
    harness: usize,
    titles: BTreeMap<(String, String), String>,
}

/// What one event says.
struct Line {
    role: Role,
    what: String,
    detail: String,
    duration: String,
}

impl Lines {
    /// Times are shown in `zone`; a line says the day where it is not the day of `now`.
    #[must_use]
    pub fn new(now: Timestamp, zone: TimeZone) -> Self {
        let harness = registry::HARNESSES.iter().map(|harness| harness.name.len()).max().unwrap_or(0);
        Self { day: now.to_zoned_datetime(zone.clone()).date(), zone, harness, titles: BTreeMap::new() }
    }

    /// The line of an event, ended; before it a line with the day where that is another one than before.
    pub fn render(&mut self, event: &Event, out: &Out) -> String {
        let mut text = String::new();
        let time = event.time.parse::<Timestamp>().ok().map(|time| time.to_zoned_datetime(self.zone.clone()));
        if let Some(day) = time.as_ref().map(ZonedDateTime::date).filter(|day| *day != self.day) {
            self.day = day;
            text.push_str(&out.paint(Role::Faint, &day.strftime("%a %d %b %Y").to_string()));
            text.push('\n');
        }
        let time = time.map_or_else(|| "        ".to_owned(), |time| time.strftime("%H:%M:%S").to_string());
        let title = self.title(event);
        let line = describe(event);
        let titled = out.width().map_or(TITLE, |width| TITLE.saturating_sub(WIDE.saturating_sub(width)).max(TITLE_MIN));
        let before = 8 + 2 + self.harness + 2 + titled + 2 + WHAT + 2;
        let detail = match out.width() {
            Some(width) => width.saturating_sub(before + 2 + DURATION).max(DETAIL_MIN),
            None => line.detail.width().clamp(DETAIL, DETAIL_MAX),
        };
        let columns = [
            out.paint(Role::Faint, &time),
            padded(out, Role::Plain, &event.harness.name, self.harness),
            padded(out, Role::Name, &title, titled),
            padded(out, line.role, &line.what, WHAT),
            padded(out, Role::Plain, &line.detail, detail),
            format!("{:>DURATION$}", line.duration),
        ];
        text.push_str(columns.join("  ").trim_end());
        text.push('\n');
        text
    }

    /// The session's title; before it has one, the folder it runs in, else the start of its id.
    fn title(&mut self, event: &Event) -> String {
        let session = &event.session;
        let key = (event.harness.name.clone(), session.id.clone());
        let folder = || session.cwd.as_deref().and_then(|cwd| cwd.rsplit('/').find(|part| !part.is_empty()));
        if let Some(title) = session.title.as_deref().filter(|title| !title.is_empty()) {
            self.titles.insert(key.clone(), title.to_owned());
        } else if let Some(folder) = folder().filter(|_| !self.titles.contains_key(&key)) {
            self.titles.insert(key.clone(), folder.to_owned());
        }
        self.titles.get(&key).cloned().unwrap_or_else(|| session.id.chars().take(8).collect())
    }
}

fn padded(out: &Out, role: Role, text: &str, columns: usize) -> String {
    let text = clean(text);
    let text = cut(&text, columns);
    let space = " ".repeat(columns.saturating_sub(text.width()));
    out.paint(role, &text) + &space
}

fn describe(event: &Event) -> Line {
    let data = &event.data;
    let text = |key: &str| data.get(key).and_then(Value::as_str).unwrap_or_default();
    let (role, what, detail) = match EventType::from_name(&event.kind) {
        Some(EventType::SessionStarted) => (Role::Plain, "session started".to_owned(), text("source").to_owned()),
        Some(EventType::SessionHeartbeat) => (Role::Faint, "working".to_owned(), String::new()),
        Some(EventType::SessionEnded) => {
            let lost = data.get("lost").and_then(Value::as_bool) == Some(true);
            (Role::Plain, "session ended".to_owned(), if lost { "lost" } else { text("reason") }.to_owned())
        }
        Some(EventType::SessionBackfill) => (Role::Faint, "found on disk".to_owned(), text("started_at").to_owned()),
        Some(EventType::SessionForgotten) => (Role::Plain, "forgotten".to_owned(), String::new()),
        Some(EventType::TurnStarted) => {
            let chars = data.get("prompt_chars").and_then(Value::as_u64);
            (
                Role::Plain,
                "turn started".to_owned(),
                chars.map(|n| format!("{} chars", thousands(n))).unwrap_or_default(),
            )
        }
        Some(EventType::TurnEnded) => {
            let role = if text("reason") == "stop" { Role::Good } else { Role::Warn };
            (role, "turn ended".to_owned(), joined(text("reason"), text("error")))
        }
        Some(EventType::TurnTranscript) => (Role::Plain, "exchange".to_owned(), text("user").to_owned()),
        Some(EventType::ToolStarted) => {
            (Role::Plain, text("tool").to_owned(), data.get("input").map(gist).unwrap_or_default())
        }
        Some(EventType::ToolEnded) => match data.get("ok").and_then(Value::as_bool) {
            Some(false) => (Role::Bad, text("tool").to_owned(), joined("failed", text("error"))),
            _ => (Role::Good, text("tool").to_owned(), "ok".to_owned()),
        },
        Some(EventType::FilesChanged) => (Role::Plain, "files changed".to_owned(), paths(data)),
        Some(EventType::AttentionNeeded) => {
            let why = if text("tool").is_empty() { text("message") } else { text("tool") };
            (Role::Warn, "needs you".to_owned(), joined(text("kind"), why))
        }
        Some(EventType::AttentionCleared) => (Role::Good, cleared(text("how")).to_owned(), String::new()),
        Some(EventType::SubagentStarted) => (Role::Plain, "subagent started".to_owned(), text("agent_type").to_owned()),
        Some(EventType::SubagentEnded) => (Role::Plain, "subagent ended".to_owned(), text("agent_type").to_owned()),
        Some(EventType::ContextCompacted) => (Role::Plain, "compacted".to_owned(), text("trigger").to_owned()),
        Some(EventType::UsageReported) => (Role::Faint, "usage".to_owned(), usage(data)),
        None => (Role::Faint, event.kind.clone(), String::new()),
    };
    let duration = match data.get("ms").and_then(Value::as_u64) {
        Some(ms) => duration(ms),
        None if event.kind == EventType::ToolStarted.name() => "…".to_owned(),
        None => String::new(),
    };
    Line { role, what, detail, duration }
}

fn joined(first: &str, second: &str) -> String {
    if second.is_empty() { first.to_owned() } else { format!("{first}: {second}") }
}

fn cleared(how: &str) -> &str {
    match how {
        "answered" | "cancelled" => how,
        "timeout" => "timed out",
        _ => "no longer needed",
    }
}

/// What a tool's input comes to in a few words.
fn gist(input: &Value) -> String {
    let telling =
        |members: &Map<String, Value>| TELLING.iter().find_map(|key| members.get(*key)?.as_str().map(str::to_owned));
    match input {
        Value::String(text) => text.clone(),
        Value::Object(members) => telling(members).unwrap_or_else(|| input.to_string()),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn paths(data: &Map<String, Value>) -> String {
    /// More paths than this are counted.
    const SHOWN: usize = 3;
    let paths: Vec<&str> =
        data.get("paths").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    if paths.len() > SHOWN { count(paths.len(), "file") } else { paths.join(", ") }
}

fn usage(data: &Map<String, Value>) -> String {
    let tokens = |keys: &[&str]| keys.iter().filter_map(|key| data.get(*key)?.as_u64()).sum::<u64>();
    let input = tokens(&["input", "cache_read", "cache_write"]);
    format!("{} in, {} out", thousands(input), thousands(tokens(&["output"])))
}

/// Milliseconds as a person reads them: `85 ms`, `11.2 s`, `4 m 05 s`, `2 h 10 m`.
#[must_use]
pub fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        60_000..3_600_000 => format!("{} m {:02} s", ms / 60_000, ms % 60_000 / 1_000),
        _ => format!("{} h {:02} m", ms / 3_600_000, ms % 3_600_000 / 60_000),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(time: &str, kind: &str, session: &Value, data: &Value) -> Event {
        serde_json::from_value(json!({
            "protocol": 1, "id": "01KQW1N2XZ0000000000000000", "type": kind, "time": time, "tier": 3,
            "harness": {"name": "codex"}, "session": session, "privacy": {"rulesets": [], "pii": false}, "data": data,
        }))
        .expect("an event")
    }

    fn lines() -> Lines {
        let now = "2026-11-30T16:00:00Z".parse().expect("a time");
        Lines { harness: "claude-code".len(), ..Lines::new(now, TimeZone::UTC) }
    }

    #[test]
    fn each_line_says_who_what_and_how_long() {
        let mut lines = lines();
        let named = json!({"id": "s1", "seq": 0, "title": "fix the resolver", "cwd": "~/src/app"});
        let later = json!({"id": "s1", "seq": 1});
        let mut render = |kind: &str, session: &Value, data: Value| {
            lines.render(&event("2026-11-30T14:02:19.120Z", kind, session, &data), &Out::plain())
        };
        assert_eq!(
            render("turn.started", &named, json!({"prompt_chars": 1470})),
            "14:02:19  codex        fix the resolver        turn started      1,470 chars\n"
        );
        assert_eq!(
            render(
                "tool.started",
                &later,
                json!({"tool": "Bash", "input": {"description": "x", "command": "cargo test"}})
            ),
            "14:02:19  codex        fix the resolver        Bash              cargo test                          …\n"
        );
        assert_eq!(
            render("tool.ended", &later, json!({"tool": "Bash", "ok": true, "ms": 11_240})),
            "14:02:19  codex        fix the resolver        Bash              ok                             11.2 s\n"
        );
        assert_eq!(
            render("attention.needed", &later, json!({"kind": "permission", "tool": "apply_patch", "message": "m"})),
            "14:02:19  codex        fix the resolver        needs you         permission: apply_patch\n"
        );
        assert_eq!(
            render("attention.cleared", &later, json!({"how": "answered"})),
            "14:02:19  codex        fix the resolver        answered\n"
        );
    }

    #[test]
    fn a_session_without_a_title_goes_by_its_folder_or_id() {
        let mut lines = lines();
        let mut title =
            |session: Value| lines.title(&event("2026-11-30T14:02:19.120Z", "session.heartbeat", &session, &json!({})));
        assert_eq!(title(json!({"id": "0123456789ab", "seq": 0})), "01234567");
        assert_eq!(title(json!({"id": "0123456789ab", "seq": 1, "cwd": "~/src/app/"})), "app");
        assert_eq!(title(json!({"id": "0123456789ab", "seq": 2, "title": "named"})), "named");
        assert_eq!(title(json!({"id": "0123456789ab", "seq": 3, "cwd": "~/elsewhere"})), "named");
    }

    #[test]
    fn another_day_is_said() {
        let mut lines = lines();
        let old = event("2026-11-28T09:00:00.000Z", "session.heartbeat", &json!({"id": "s", "seq": 0}), &json!({}));
        assert_eq!(
            lines.render(&old, &Out::plain()),
            "Sat 28 Nov 2026\n09:00:00  codex        s                       working\n"
        );
    }

    #[test]
    fn an_unknown_type_and_a_hostile_title_are_harmless() {
        let mut lines = lines();
        let session = json!({"id": "s", "seq": 0, "title": "\u{1b}]0;x\u{7}y"});
        let line = lines.render(&event("2026-11-30T09:00:00.000Z", "native", &session, &json!({})), &Out::plain());
        assert_eq!(line, "09:00:00  codex        \u{fffd}]0;x\u{fffd}y                 native\n");
    }

    #[test]
    fn durations() {
        assert_eq!(
            [duration(85), duration(11_240), duration(245_000), duration(7_800_000)],
            ["85 ms", "11.2 s", "4 m 05 s", "2 h 10 m"]
        );
    }
}
