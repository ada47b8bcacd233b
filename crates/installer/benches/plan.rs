//! How long a plan takes over a large config: `cargo bench -p sessionpipe-installer`.
#![allow(clippy::disallowed_methods, missing_docs)]

#[path = "../tests/support/mod.rs"]
mod support;

use support::{Home, grouped};

const FILE: &str = ".claude/settings.json";
const EVENTS: &[&str] = &[
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "PermissionRequest",
    "Notification",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "SessionEnd",
    "Elicitation",
];

fn main() {
    divan::main();
}

/// A settings file of one megabyte: permissions, and hooks of others.
fn home() -> Home {
    let home = Home::new();
    let rules: Vec<String> = (0..20_000).map(|n| format!("      \"Bash(tool-{n} --flag *)\"")).collect();
    let others: Vec<String> = (0..2_000)
        .map(|n| format!("      {{\"matcher\": \"T{n}\", \"hooks\": [{{\"type\": \"command\", \"command\": \"/opt/{n}/x.sh\"}}]}}"))
        .collect();
    let text = format!(
        "{{\n  \"permissions\": {{\n    \"allow\": [\n{}\n    ]\n  }},\n  \"hooks\": {{\n    \"PreToolUse\": [\n{}\n    ]\n  }}\n}}\n",
        rules.join(",\n"),
        others.join(",\n"),
    );
    home.write(FILE, text);
    home
}

#[divan::bench]
fn plan_of_a_megabyte(bencher: divan::Bencher<'_, '_>) {
    let (home, adapter) = (home(), grouped(&[FILE], EVENTS));
    bencher.bench_local(|| home.plan(&[&adapter]));
}

#[divan::bench]
fn plan_and_diff_of_a_megabyte(bencher: divan::Bencher<'_, '_>) {
    let (home, adapter) = (home(), grouped(&[FILE], EVENTS));
    bencher.bench_local(|| home.plan(&[&adapter]).files().map(|f| f.diff(&home.host).len()).sum::<usize>());
}

#[divan::bench]
fn plan_of_nothing_to_do(bencher: divan::Bencher<'_, '_>) {
    let (home, adapter) = (home(), grouped(&[FILE], EVENTS));
    home.install(&[&adapter]);
    bencher.bench_local(|| home.plan(&[&adapter]));
}
