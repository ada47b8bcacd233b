//! Which harnesses this program was built with: one cargo feature each.

use sessionpipe_core::adapter::Adapter;
use sessionpipe_core::harness::Harness;

/// The constants of each harness: all that the hook needs, without the adapters' code.
pub const HARNESSES: &[&Harness] = &[
    #[cfg(feature = "claude-code")]
    &sessionpipe_adapter_claude_code::HARNESS,
    #[cfg(feature = "codex")]
    &sessionpipe_adapter_codex::HARNESS,
    #[cfg(feature = "gemini-cli")]
    &sessionpipe_adapter_gemini_cli::HARNESS,
    #[cfg(feature = "antigravity")]
    &sessionpipe_adapter_antigravity::HARNESS,
    #[cfg(feature = "cursor")]
    &sessionpipe_adapter_cursor::HARNESS,
    #[cfg(feature = "copilot-cli")]
    &sessionpipe_adapter_copilot_cli::HARNESS,
    #[cfg(feature = "droid")]
    &sessionpipe_adapter_droid::HARNESS,
    #[cfg(feature = "kiro")]
    &sessionpipe_adapter_kiro::HARNESS,
    #[cfg(feature = "opencode")]
    &sessionpipe_adapter_opencode::HARNESS,
    #[cfg(feature = "pi")]
    &sessionpipe_adapter_pi::HARNESS,
    #[cfg(feature = "omp")]
    &sessionpipe_adapter_omp::HARNESS,
];

/// The adapter of each harness, in the same order.
#[must_use]
pub fn adapters() -> Vec<&'static dyn Adapter> {
    vec![
        #[cfg(feature = "claude-code")]
        &sessionpipe_adapter_claude_code::ADAPTER,
        #[cfg(feature = "codex")]
        &sessionpipe_adapter_codex::ADAPTER,
        #[cfg(feature = "gemini-cli")]
        &sessionpipe_adapter_gemini_cli::ADAPTER,
        #[cfg(feature = "antigravity")]
        &sessionpipe_adapter_antigravity::ADAPTER,
        #[cfg(feature = "cursor")]
        &sessionpipe_adapter_cursor::ADAPTER,
        #[cfg(feature = "copilot-cli")]
        &sessionpipe_adapter_copilot_cli::ADAPTER,
        #[cfg(feature = "droid")]
        &sessionpipe_adapter_droid::ADAPTER,
        #[cfg(feature = "kiro")]
        &sessionpipe_adapter_kiro::ADAPTER,
        #[cfg(feature = "opencode")]
        &sessionpipe_adapter_opencode::ADAPTER,
        #[cfg(feature = "pi")]
        &sessionpipe_adapter_pi::ADAPTER,
        #[cfg(feature = "omp")]
        &sessionpipe_adapter_omp::ADAPTER,
    ]
}
