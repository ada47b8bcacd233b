//! The fixture runner that every adapter's own tests use.
