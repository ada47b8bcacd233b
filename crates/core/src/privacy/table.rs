//! The protocol's events table as data: which type and which key a tier carries, and how long a value may be. The one
//! place that [`filter`](super::filter()) and [`bound`](super::bound()) read.

use serde_json::Value;

use crate::event::{EventType, MAX_TIER, Tier};

/// What a value is, and how long it may be. Lengths count characters (code points), as JSON Schema's `maxLength` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A whole number from 0.
    Count,
    /// A number.
    Amount,
    /// True or false.
    Flag,
    /// UTC, RFC 3339 with milliseconds and `Z`.
    Time,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A text.
    Chars(usize),
    /// An opaque id: one longer than [`MAX_ID`] becomes its SHA-256, so that the same id stays the same everywhere.
    Id,
    /// A tool's name: `[A-Za-z0-9_.:-]{1,120}`, any other character becomes `_`.
    Tool,
    /// Any JSON, at most [`MAX_CONTENT`] bytes when serialised.
    Content,
    /// A list of at most [`MAX_PATHS`] paths.
    Paths,
}

impl Form {
    /// Whether the value is of this form, its length aside. What is not could be anything, and stays behind.
    #[must_use]
    pub fn holds(self, value: &Value) -> bool {
        match self {
            Self::Count => value.is_u64(),
            Self::Amount => value.is_number(),
            Self::Flag => value.is_boolean(),
            Self::Time => value.as_str().is_some_and(is_time),
            Self::Word(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Self::Chars(_) | Self::Id | Self::Tool => value.is_string(),
            Self::Content => true,
            Self::Paths => value.as_array().is_some_and(|paths| paths.iter().all(Value::is_string)),
        }
    }
}

/// `2026-11-30T08:02:35.960Z`, by its shape.
fn is_time(text: &str) -> bool {
    const SHAPE: &[u8] = b"0000-00-00T00:00:00.000Z";
    text.len() == SHAPE.len()
        && text
            .bytes()
            .zip(SHAPE)
            .all(|(byte, shape)| if *shape == b'0' { byte.is_ascii_digit() } else { byte == *shape })
}

/// Characters of an id.
pub const MAX_ID: usize = 128;
/// Characters of a tool's name.
pub const MAX_TOOL: usize = 120;
/// Bytes of a tool's input, and of its output, as compact JSON.
pub const MAX_CONTENT: usize = 64 * 1024;
/// Paths of one `files.changed`.
pub const MAX_PATHS: usize = 500;
/// Characters of a path or a folder.
pub const MAX_PATH: usize = 1024;

/// One key of an event's data.
#[derive(Debug)]
pub struct Key {
    /// The name.
    pub name: &'static str,
    /// The lowest tier that carries it.
    pub tier: Tier,
    /// What its value is.
    pub form: Form,
}

/// One event type.
#[derive(Debug)]
pub struct Rule {
    /// The type.
    pub kind: EventType,
    /// The lowest tier that carries it.
    pub tier: Tier,
    /// The highest tier that carries it.
    pub highest: Tier,
    /// All that its data may hold, beside [`EVERYWHERE`].
    pub keys: &'static [Key],
}

const fn key(name: &'static str, tier: Tier, form: Form) -> Key {
    Key { name, tier, form }
}

const fn rule(kind: EventType, tier: Tier, keys: &'static [Key]) -> Rule {
    Rule { kind, tier, highest: MAX_TIER, keys }
}

use Form::{Amount, Chars, Content, Count, Flag, Id, Paths, Time, Tool, Word};

/// What a tool does: [`ToolKind`](crate::harness::ToolKind), as it is written.
const TOOL_KIND: Form = Word(&["shell", "read", "edit", "search", "web", "mcp", "agent", "other"]);

/// What any event may say of itself, when true: no hook said so, the payload was cut, its session id is made up.
pub static EVERYWHERE: &[Key] = &[key("derived", 0, Flag), key("partial", 0, Flag), key("id_made_up", 0, Flag)];

/// The events of the protocol, in its order.
pub static RULES: [Rule; EventType::ALL.len()] = [
    rule(
        EventType::SessionStarted,
        0,
        &[key("source", 0, Word(&["startup", "resume", "clear", "compact", "fork", "unknown"]))],
    ),
    // A sign of life for those who see nothing else of a running turn.
    Rule { kind: EventType::SessionHeartbeat, tier: 0, highest: 0, keys: &[] },
    rule(
        EventType::SessionEnded,
        0,
        &[key("reason", 0, Word(&["clear", "logout", "exit", "other"])), key("lost", 0, Flag)],
    ),
    rule(EventType::SessionBackfill, 0, &[key("started_at", 0, Time), key("last_at", 0, Time), key("turns", 0, Count)]),
    rule(EventType::SessionForgotten, 0, &[]),
    rule(EventType::TurnStarted, 0, &[key("turn_id", 0, Id), key("prompt_chars", 1, Count)]),
    rule(
        EventType::TurnEnded,
        0,
        &[
            key("turn_id", 0, Id),
            key("reason", 0, Word(&["stop", "interrupt", "error"])),
            key("ms", 0, Count),
            key("error", 1, Chars(200)),
        ],
    ),
    rule(
        EventType::TurnTranscript,
        2,
        &[key("turn", 2, Count), key("user", 2, Chars(20_000)), key("assistant", 2, Chars(20_000)), key("at", 2, Time)],
    ),
    rule(
        EventType::ToolStarted,
        1,
        &[
            key("tool", 1, Tool),
            key("tool_kind", 1, TOOL_KIND),
            key("mcp_server", 1, Chars(128)),
            key("call_id", 1, Id),
            key("turn_id", 1, Id),
            key("agent_id", 1, Id),
            key("input", 3, Content),
        ],
    ),
    rule(
        EventType::ToolEnded,
        1,
        &[
            key("tool", 1, Tool),
            key("tool_kind", 1, TOOL_KIND),
            key("mcp_server", 1, Chars(128)),
            key("call_id", 1, Id),
            key("turn_id", 1, Id),
            key("agent_id", 1, Id),
            key("ms", 1, Count),
            key("ok", 1, Flag),
            key("error", 1, Chars(2000)),
            key("input", 3, Content),
            key("output", 3, Content),
        ],
    ),
    rule(EventType::FilesChanged, 1, &[key("paths", 1, Paths)]),
    rule(
        EventType::AttentionNeeded,
        0,
        &[
            key("attention_id", 0, Id),
            key("kind", 0, Word(&["permission", "question", "elicitation", "idle", "error"])),
            key("tool", 1, Tool),
            key("message", 1, Chars(200)),
        ],
    ),
    rule(
        EventType::AttentionCleared,
        0,
        &[key("attention_id", 0, Id), key("how", 0, Word(&["answered", "cancelled", "timeout", "unknown"]))],
    ),
    rule(EventType::SubagentStarted, 1, &[key("agent_id", 1, Id), key("agent_type", 1, Chars(128))]),
    rule(EventType::SubagentEnded, 1, &[key("agent_id", 1, Id), key("agent_type", 1, Chars(128))]),
    rule(EventType::ContextCompacted, 1, &[key("trigger", 1, Word(&["manual", "auto"]))]),
    rule(
        EventType::UsageReported,
        1,
        &[
            key("turn_id", 1, Id),
            key("agent_id", 1, Id),
            key("model", 1, Chars(128)),
            key("input", 1, Count),
            key("cache_read", 1, Count),
            key("cache_write", 1, Count),
            key("output", 1, Count),
            key("reasoning", 1, Count),
            key("consistent", 1, Flag),
            key("cost_usd", 1, Amount),
            key("cost_source", 1, Word(&["harness"])),
        ],
    ),
];

/// The rule of a type; `None` for one that the protocol's table does not know.
#[must_use]
pub fn rule_of(kind: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.kind.name() == kind)
}

impl Rule {
    /// What the table says of a key; `None` when this type's data may not hold it.
    #[must_use]
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().chain(EVERYWHERE).find(|key| key.name == name)
    }
}
