//! toml
