//! The fixtures of `conformance/harness/opencode`, against this crate alone.

use std::path::Path;

#[test]
fn every_fixture_gives_its_events() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/harness/opencode");
    sessionpipe_core::testing::run(&sessionpipe_adapter_opencode::ADAPTER, &fixtures);
}
