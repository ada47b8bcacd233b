//! The protocol's events table as data: which type and which key a tier carries, and how long a value may be. The one
//! place that [`filter`](super::filter()) and [`bound`](super::bound()) read.

use crate::event::{EventType, MAX_TIER, Tier};

/// How a value is bounded. Lengths count characters (code points), as JSON Schema's `maxLength` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cap {
    /// A number, a flag, a time or a word from a closed list: it has no length of its own.
    Fixed,
    /// A text.
    Chars(usize),
    /// An opaque id: a longer one becomes its SHA-256, so that the same id stays the same everywhere.
    Id,
    /// A tool's name: `[A-Za-z0-9_.:-]{1,120}`, any other character becomes `_`.
    Tool,
    /// Any JSON, at most [`MAX_CONTENT`] bytes when serialised.
    Content,
    /// A list of at most [`MAX_PATHS`] paths.
    Paths,
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
    /// How its value is bounded.
    pub cap: Cap,
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

const fn key(name: &'static str, tier: Tier, cap: Cap) -> Key {
    Key { name, tier, cap }
}

const fn rule(kind: EventType, tier: Tier, keys: &'static [Key]) -> Rule {
    Rule { kind, tier, highest: MAX_TIER, keys }
}

use Cap::{Chars, Content, Fixed, Id, Paths, Tool};

/// What any event may say of itself, when true: no hook said so, the payload was cut, its session id is made up.
pub static EVERYWHERE: &[Key] = &[key("derived", 0, Fixed), key("partial", 0, Fixed), key("id_made_up", 0, Fixed)];

/// The events of the protocol, in its order.
pub static RULES: [Rule; EventType::ALL.len()] = [
    rule(EventType::SessionStarted, 0, &[key("source", 0, Fixed)]),
    // A sign of life for those who see nothing else of a running turn.
    Rule { kind: EventType::SessionHeartbeat, tier: 0, highest: 0, keys: &[] },
    rule(EventType::SessionEnded, 0, &[key("reason", 0, Fixed), key("lost", 0, Fixed)]),
    rule(
        EventType::SessionBackfill,
        0,
        &[key("started_at", 0, Fixed), key("last_at", 0, Fixed), key("turns", 0, Fixed)],
    ),
    rule(EventType::SessionForgotten, 0, &[]),
    rule(EventType::TurnStarted, 0, &[key("turn_id", 0, Id), key("prompt_chars", 1, Fixed)]),
    rule(
        EventType::TurnEnded,
        0,
        &[key("turn_id", 0, Id), key("reason", 0, Fixed), key("ms", 0, Fixed), key("error", 1, Chars(200))],
    ),
    rule(
        EventType::TurnTranscript,
        2,
        &[
            key("turn", 2, Fixed),
            key("user", 2, Chars(20_000)),
            key("assistant", 2, Chars(20_000)),
            key("at", 2, Fixed),
        ],
    ),
    rule(
        EventType::ToolStarted,
        1,
        &[
            key("tool", 1, Tool),
            key("tool_kind", 1, Fixed),
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
            key("tool_kind", 1, Fixed),
            key("mcp_server", 1, Chars(128)),
            key("call_id", 1, Id),
            key("turn_id", 1, Id),
            key("agent_id", 1, Id),
            key("ms", 1, Fixed),
            key("ok", 1, Fixed),
            key("error", 1, Chars(2000)),
            key("input", 3, Content),
            key("output", 3, Content),
        ],
    ),
    rule(EventType::FilesChanged, 1, &[key("paths", 1, Paths)]),
    rule(
        EventType::AttentionNeeded,
        0,
        &[key("attention_id", 0, Id), key("kind", 0, Fixed), key("tool", 1, Tool), key("message", 1, Chars(200))],
    ),
    rule(EventType::AttentionCleared, 0, &[key("attention_id", 0, Id), key("how", 0, Fixed)]),
    rule(EventType::SubagentStarted, 1, &[key("agent_id", 1, Id), key("agent_type", 1, Chars(128))]),
    rule(EventType::SubagentEnded, 1, &[key("agent_id", 1, Id), key("agent_type", 1, Chars(128))]),
    rule(EventType::ContextCompacted, 1, &[key("trigger", 1, Fixed)]),
    rule(
        EventType::UsageReported,
        1,
        &[
            key("turn_id", 1, Id),
            key("agent_id", 1, Id),
            key("model", 1, Chars(128)),
            key("input", 1, Fixed),
            key("cache_read", 1, Fixed),
            key("cache_write", 1, Fixed),
            key("output", 1, Fixed),
            key("reasoning", 1, Fixed),
            key("consistent", 1, Fixed),
            key("cost_usd", 1, Fixed),
            key("cost_source", 1, Fixed),
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
