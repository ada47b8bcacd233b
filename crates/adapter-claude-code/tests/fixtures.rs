//! The fixtures of `conformance/harness/claude-code`, against this crate alone.

use std::path::Path;

use sessionpipe_adapter_claude_code::ADAPTER;
use sessionpipe_core::testing;

#[test]
fn fixtures() {
    testing::run(&ADAPTER, &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/harness/claude-code"));
}
