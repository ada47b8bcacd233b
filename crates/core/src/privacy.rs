//! What may leave: [`secrets`] removed and lengths [bounded](bound()) before anything is stored, then [`filter()`] to a
//! sink's tier.
//!
//! The order is `secrets::redact` → `bound` → outbox → `filter`: a secret that is cut in two would not be recognised
//! any more, so redaction comes before truncation.

pub mod bound;
pub mod filter;
pub mod secrets;
pub mod table;

pub use bound::bound;
pub use filter::filter;
