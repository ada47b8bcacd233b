//! The protocol's envelope: what an event is. The published schema is the reference.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The protocol version that every event carries.
pub const PROTOCOL: u8 = 1;

/// What an event carries at most: 0 presence, 1 activity, 2 conversation, 3 content of tools.
pub type Tier = u8;

/// The highest tier.
pub const MAX_TIER: Tier = 3;

/// The published event types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EventType {
    /// `session.started`
    SessionStarted,
    /// `session.heartbeat`: at most one a minute while a turn runs, for sinks below tier 1.
    SessionHeartbeat,
    /// `session.ended`
    SessionEnded,
    /// `session.backfill`: a session found in local files.
    SessionBackfill,
    /// `session.forgotten`: receivers delete all they hold of it.
    SessionForgotten,
    /// `turn.started`
    TurnStarted,
    /// `turn.ended`
    TurnEnded,
    /// `turn.transcript`: one completed exchange.
    TurnTranscript,
    /// `tool.started`
    ToolStarted,
    /// `tool.ended`
    ToolEnded,
    /// `files.changed`
    FilesChanged,
    /// `attention.needed`: a person has to act.
    AttentionNeeded,
    /// `attention.cleared`
    AttentionCleared,
    /// `subagent.started`
    SubagentStarted,
    /// `subagent.ended`
    SubagentEnded,
    /// `context.compacted`
    ContextCompacted,
    /// `usage.reported` (an extension of ours)
    UsageReported,
}

impl EventType {
    /// All types, in the order of the protocol's table.
    pub const ALL: [Self; 17] = [
        Self::SessionStarted,
        Self::SessionHeartbeat,
        Self::SessionEnded,
        Self::SessionBackfill,
        Self::SessionForgotten,
        Self::TurnStarted,
        Self::TurnEnded,
        Self::TurnTranscript,
        Self::ToolStarted,
        Self::ToolEnded,
        Self::FilesChanged,
        Self::AttentionNeeded,
        Self::AttentionCleared,
        Self::SubagentStarted,
        Self::SubagentEnded,
        Self::ContextCompacted,
        Self::UsageReported,
    ];

    /// The name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SessionStarted => "session.started",
            Self::SessionHeartbeat => "session.heartbeat",
            Self::SessionEnded => "session.ended",
            Self::SessionBackfill => "session.backfill",
            Self::SessionForgotten => "session.forgotten",
            Self::TurnStarted => "turn.started",
            Self::TurnEnded => "turn.ended",
            Self::TurnTranscript => "turn.transcript",
            Self::ToolStarted => "tool.started",
            Self::ToolEnded => "tool.ended",
            Self::FilesChanged => "files.changed",
            Self::AttentionNeeded => "attention.needed",
            Self::AttentionCleared => "attention.cleared",
            Self::SubagentStarted => "subagent.started",
            Self::SubagentEnded => "subagent.ended",
            Self::ContextCompacted => "context.compacted",
            Self::UsageReported => "usage.reported",
        }
    }

    /// The type of that name, if it is one of ours.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|t| t.name() == name)
    }
}

/// One event, exactly the members of the protocol's envelope.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// [`PROTOCOL`].
    pub protocol: u8,
    /// ULID, unique per event.
    pub id: String,
    /// Dotted lowercase; see [`EventType`].
    #[serde(rename = "type")]
    pub kind: String,
    /// UTC, RFC 3339 with milliseconds and `Z`.
    pub time: String,
    /// The tier that the event was filtered to.
    pub tier: Tier,
    /// Who reported it.
    pub harness: EventHarness,
    /// The session block: what the sender knows at that moment.
    pub session: Session,
    /// Which rulesets ran.
    pub privacy: Privacy,
    /// Per type; unknown keys are kept.
    pub data: Map<String, Value>,
}

/// `harness` of an event. Each string has at most 64 characters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EventHarness {
    /// `[a-z][a-z0-9-]{0,39}`
    pub name: String,
    /// The harness's version; absent when unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The native event name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
}

/// `session` of an event. Receivers merge it: an absent field never blanks an earlier one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// At most 128 of `[A-Za-z0-9._:-]`.
    pub id: String,
    /// From 0, gap-free per harness and session, given by the outbox.
    pub seq: u64,
    /// At most 80 characters; the configured name, else the host name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// At most 1024 characters; home written `~`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// At most 512 characters; the `origin` remote without any credential.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// At most 256 characters; absent on a detached HEAD.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// At most 128 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// At most 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// `custom` > `harness` > `first-ask`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title_source: Option<String>,
    /// Opens the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Opaque, never an email.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
    /// A subagent's own events name their parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
}

/// `privacy` of an event. No event names a ruleset that did not run on it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Privacy {
    /// `secrets@1` always above tier 0.
    pub rulesets: Vec<String>,
    /// Whether `pii@1` ran.
    pub pii: bool,
}

/// UTC, RFC 3339 with milliseconds and `Z`, from milliseconds since the epoch.
#[must_use]
pub fn rfc3339(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms)
        .unwrap_or(jiff::Timestamp::UNIX_EPOCH)
        .strftime("%Y-%m-%dT%H:%M:%S%.3fZ")
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_has_three_digits_of_milliseconds() {
        assert_eq!(rfc3339(1_796_025_755_960), "2026-11-30T08:02:35.960Z");
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn type_names_go_back_and_forth() {
        for kind in EventType::ALL {
            assert_eq!(EventType::from_name(kind.name()), Some(kind));
        }
        assert_eq!(EventType::from_name("native"), None);
    }
}
