//! What may leave: [`filter()`] to a tier, and [`secrets`] removed before anything is stored.

pub mod filter;
pub mod secrets;

pub use filter::filter;
