//! The tier filter: an allowlist per event type.

use serde_json::Map;

use crate::event::{Event, MAX_TIER, Tier};
use crate::privacy::bound;
use crate::privacy::pii::Pii;
use crate::privacy::table::rule_of;

/// The event as a sink of this tier may have it, with `pii@1` when it asks for that; `None` when its type is not for the tier.
///
/// Pure, and driven by [`table`](crate::privacy::table) alone: what the table does not name, and what is not of the form that
/// it says, stays behind. A type that it does not know goes as an envelope with empty data, whole at the highest tier only. The session block belongs to
/// tier 0 and is never thinned. The result's `tier` is the one asked for, but never above the event's own, so filtering
/// twice gives what filtering once to the lower tier gives (`session.heartbeat` aside, which only tier 0 carries).
#[must_use]
pub fn filter(event: &Event, tier: Tier, pii: Option<&Pii>) -> Option<Event> {
    let carried = tier.min(event.tier);
    let data = match rule_of(&event.kind) {
        // `highest` is about the sink, not about what is left of the event.
        Some(rule) if carried < rule.tier || tier > rule.highest => return None,
        Some(rule) => event
            .data
            .iter()
            .filter(|(name, value)| rule.key(name).is_some_and(|key| key.tier <= carried && key.form.holds(value)))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
        None if carried < MAX_TIER => Map::new(),
        None => event.data.clone(),
    };
    let mut filtered = Event {
        protocol: event.protocol,
        id: event.id.clone(),
        kind: event.kind.clone(),
        time: event.time.clone(),
        tier: carried,
        harness: event.harness.clone(),
        session: event.session.clone(),
        privacy: event.privacy.clone(),
        data,
    };
    if let Some(pii) = pii {
        pii.redact(&mut filtered);
        // What takes a place can be longer than what stood there.
        bound(&mut filtered);
    }
    Some(filtered)
}
