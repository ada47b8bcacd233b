//! What may leave: [`secrets`] removed and lengths [bounded](bound()) before anything is stored, then [`filter()`] to a
//! sink's tier, and [`pii`] for a sink that asks for it.
//!
//! The order is [`seal`] → outbox → `filter`.

use crate::event::Event;

pub mod bound;
pub mod filter;
pub mod pii;
pub mod secrets;
pub mod table;

pub use bound::bound;
pub use filter::filter;
pub use pii::Pii;

/// What every event goes through before it is stored: `secrets@1`, then the lengths. A secret that is cut in two would
/// not be recognised any more, so redaction comes before truncation.
pub fn seal(event: &mut Event) {
    secrets::redact(event);
    bound(event);
}
