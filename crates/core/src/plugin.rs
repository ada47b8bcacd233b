//! The text of our plugins: real TypeScript, checked as such (`cargo xtask plugins`), put together into one file that needs
//! nothing but the agent's own runtime.

use crate::command::stream_argv;
use crate::host::Program;

/// How a plugin hands on what it sees: the same in every harness.
const BRIDGE: &str = include_str!("../plugin/bridge.ts");

/// The line that names the program, but for its value.
const COMMAND: &str = "const COMMAND: readonly string[] = ";

/// One plugin: the bridge, then the harness's own `parts`, with the program's path in it. What a part imports from another
/// is in the same file here, so these imports go, and only the last part exports anything: some harnesses take every
/// export for a plugin.
#[must_use]
pub fn text(program: &Program, harness: &str, parts: &[&str]) -> String {
    let argv = serde_json::Value::from(stream_argv(program, harness)).to_string();
    let mut text = String::new();
    let last = parts.len();
    for (at, part) in std::iter::once(&BRIDGE).chain(parts).enumerate() {
        for line in part.lines().filter(|line| !is_inner_import(line)) {
            let line = if at < last { line.strip_prefix("export ").unwrap_or(line) } else { line };
            match line.starts_with(COMMAND) {
                true => text.extend([COMMAND, &argv, ";"]),
                false => text.push_str(line),
            }
            text.push('\n');
        }
    }
    text
}

fn is_inner_import(line: &str) -> bool {
    line.starts_with("import ") && [" from \"./", " from \"../"].iter().any(|inner| line.contains(inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program() -> Program {
        Program { path: "/o p/\"sp\"/sessionpipe-hook".into(), is_hook: true, copies: Vec::new() }
    }

    #[test]
    fn one_file_with_the_programs_path_and_one_export() {
        let shared = "import { Bridge } from \"../../core/plugin/bridge.ts\";\nexport function shared() {}\n";
        let face =
            "import type { Api } from \"api\";\nimport { shared } from \"./shared.ts\";\nexport const face = shared;\n";
        let text = text(&program(), "tool", &[shared, face]);
        let command = r#"const COMMAND: readonly string[] = ["/o p/\"sp\"/sessionpipe-hook","--stream","tool"];"#;
        assert_eq!(text.lines().filter(|line| line.contains("COMMAND:")).collect::<Vec<_>>(), [command]);
        let lines = |beginning| text.lines().filter(|line| line.starts_with(beginning)).collect::<Vec<_>>();
        assert_eq!(lines("export"), ["export const face = shared;"]);
        let imports = [
            "import { spawn } from \"node:child_process\";",
            "import type { Writable } from \"node:stream\";",
            "import type { Api } from \"api\";",
        ];
        assert_eq!(lines("import"), imports);
        assert!(text.contains("\nclass Bridge {\n") && text.contains("\nfunction shared() {}\n"));
    }
}
