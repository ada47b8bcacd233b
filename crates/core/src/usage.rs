//! Token usage, always disjoint.

use serde::{Deserialize, Serialize};

/// Tokens of one model call or a sum of calls. The parts do not overlap, but for `reasoning`, which is a part of
/// `output`. Vendors count differently (some include cached input in input, some leave thoughts out of output): a
/// harness's reader converts. No data is no `Usage`, never zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Uncached input tokens.
    pub input: u64,
    /// Input tokens read from a cache.
    pub cache_read: u64,
    /// Input tokens written to a cache.
    pub cache_write: u64,
    /// Output tokens, reasoning included.
    pub output: u64,
    /// Reasoning tokens, a part of `output`.
    pub reasoning: u64,
}
