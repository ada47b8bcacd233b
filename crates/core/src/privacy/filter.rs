//! The tier filter: an allowlist per event type.

use serde_json::Map;

use crate::event::{Event, MAX_TIER, Tier};
use crate::privacy::table::rule_of;

/// The event as a sink of this tier may have it; `None` when its type is not for the tier.
///
/// Pure, and driven by [`table`](crate::privacy::table) alone: what the table does not name stays behind. A type that
/// it does not know goes as an envelope with empty data, whole at the highest tier only. The session block belongs to
/// tier 0 and is never thinned. The result's `tier` is the one asked for, but never above the event's own, so filtering
/// twice gives what filtering once to the lower tier gives (`session.heartbeat` aside, which only tier 0 carries).
#[must_use]
pub fn filter(event: &Event, tier: Tier) -> Option<Event> {
    let carried = tier.min(event.tier);
    let data = match rule_of(&event.kind) {
        // `highest` is about the sink, not about what is left of the event.
        Some(rule) if carried < rule.tier || tier > rule.highest => return None,
        Some(rule) => event
            .data
            .iter()
            .filter(|(name, _)| rule.key(name).is_some_and(|key| key.tier <= carried))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
        None if carried < MAX_TIER => Map::new(),
        None => event.data.clone(),
    };
    Some(Event {
        protocol: event.protocol,
        id: event.id.clone(),
        kind: event.kind.clone(),
        time: event.time.clone(),
        tier: carried,
        harness: event.harness.clone(),
        session: event.session.clone(),
        privacy: event.privacy.clone(),
        data,
    })
}
