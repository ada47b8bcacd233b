//! The extension's text. Pi and OMP may share a folder of extensions (`PI_CODING_AGENT_DIR` names that of both), so one text
//! serves both: whichever was installed last, nothing changes.

use sessionpipe_core::command::stream_argv;
use sessionpipe_core::host::Program;
use sessionpipe_core::plugin;

/// The two programs that the text serves. The first stands in the argv; the extension puts its own name there.
const HARNESSES: [&str; 2] = ["pi", "omp"];

/// In their order: what both share, each program's events, and what tells the programs apart.
const PARTS: [&str; 4] = [
    include_str!("../../adapter-pi/plugin/reporter.ts"),
    include_str!("../../adapter-pi/plugin/pi.ts"),
    include_str!("../../adapter-omp/plugin/omp.ts"),
    include_str!("../../adapter-pi/plugin/extension.ts"),
];

/// The whole extension, without the first line that the installer adds.
pub(crate) fn text(program: &Program) -> String {
    let [first, second] = HARNESSES;
    let other = format!("// The same for the other program: {}\n", serde_json::json!(stream_argv(program, second)));
    let [reporter, rest @ ..] = PARTS;
    let mut parts = vec![other.as_str(), reporter];
    parts.extend(rest);
    plugin::text(program, first, &parts)
}
