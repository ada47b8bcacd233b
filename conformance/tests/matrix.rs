//! The capability matrix, generated from the crates and the fixtures into `docs/harnesses.md`. `cargo xtask schema` writes it
//! again.

// A test reads and writes its own files.
#![allow(clippy::disallowed_methods)]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use sessionpipe_core::harness::{Harness, Means, NativeEvent, Tell, Wired};
use sessionpipe_core::testing::{Evidence, Fixture};

const HEAD: &str = "\
<!-- Generated from the code: cargo xtask schema -->

# The harnesses

What each harness tells, where it is wired, and what that knowledge rests on. The crates say more: the documentation of
`crates/adapter-NAME` has a row for each native event.

";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn the_matrix_is_what_the_crates_say() {
    let page = page();
    let path = repository().join("docs/harnesses.md");
    if std::env::var_os("SESSIONPIPE_BLESS").is_some() {
        fs::write(&path, &page).expect("written");
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page, "{} is stale: run `cargo xtask schema`", path.display());
}

fn page() -> String {
    let harnesses = sessionpipe::registry::HARNESSES;
    let mut page = HEAD.to_owned();
    table(
        &mut page,
        "What hooks tell",
        &["harness", "wired in", "session end", "stop can block", "turn end", "attention", "tools", "subagents"],
        harnesses.iter().map(|harness| {
            let cell = |means: &[Means]| names(harness, means);
            vec![
                format!("[{}]({})", harness.product, harness.docs),
                harness.wired_in.to_owned(),
                yes(harness.has_session_end),
                yes(harness.stop_can_block),
                cell(&[Means::Stop, Means::StopFailure, Means::Interrupt, Means::TurnNotice]),
                cell(&[Means::PermissionRequest, Means::Notification, Means::Elicitation]),
                cell(&[Means::ToolStart, Means::ToolEnd, Means::ToolFailure, Means::ToolBatch]),
                cell(&[Means::SubagentStart, Means::SubagentEnd]),
            ]
        }),
    );
    page.push_str(
        "\nA turn or tool call whose end no hook tells is closed by what comes after it, and says so (`derived`). Sessions of a \
         harness without a session end never end by themselves.\n\n",
    );
    table(
        &mut page,
        "What session files tell",
        &["harness", "transcript", "usage", "title"],
        harnesses.iter().map(|harness| {
            let tells = &harness.tells;
            vec![harness.name.to_owned(), tell(tells.transcript), tell(tells.usage), tell(tells.title)]
        }),
    );
    page.push('\n');
    let versions = versions();
    table(
        &mut page,
        "What it rests on",
        &["harness", "recorded", "documented", "reported", "recorded versions", "live-tested"],
        harnesses.iter().map(|harness| {
            let fixtures = Fixture::load(&repository().join("conformance/harness").join(harness.name));
            let count = |kind| fixtures.iter().filter(|fixture| fixture.provenance.kind == kind).count();
            let recorded = fixtures.iter().filter(|fixture| fixture.provenance.kind == Evidence::Recorded);
            let recorded: BTreeSet<&str> =
                recorded.map(|fixture| fixture.provenance.harness_version.as_str()).collect();
            let live = versions.get(harness.name).and_then(|row| row.get("version")?.as_str());
            vec![
                harness.name.to_owned(),
                count(Evidence::Recorded).to_string(),
                count(Evidence::Documented).to_string(),
                count(Evidence::Reported).to_string(),
                if recorded.is_empty() {
                    "*recording pending*".to_owned()
                } else {
                    recorded.into_iter().collect::<Vec<_>>().join(", ")
                },
                live.map_or_else(|| "no: the program cannot be had from npm".to_owned(), str::to_owned),
            ]
        }),
    );
    page.push_str(
        "\nNumbers are fixtures in `conformance/harness`. *Recorded* payloads come from the real program, *documented* ones from its \
         documentation, *reported* ones from what others published. Where nothing was recorded, the tests of the mapping and of \
         the installer are all there is.\n\n## Mapped events\n\nRegistered by `install`, in the newest version.\n\n",
    );
    for harness in harnesses {
        let _ = writeln!(page, "- **{}**: {}", harness.name, names_of(registered(harness)));
        let never = harness
            .events
            .iter()
            .filter(|event| matches!(event.wired, Wired::Never(_)) && event.means != Means::TurnNotice);
        let never = names_of(never.map(|event| event.name));
        if never != "–" {
            let _ = writeln!(page, "  Never: {never}");
        }
    }
    page
}

fn table(page: &mut String, title: &str, head: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    let _ = writeln!(page, "## {title}\n\n| {} |\n|{}", head.join(" | "), "---|".repeat(head.len()));
    for row in rows {
        assert_eq!(row.len(), head.len());
        let _ = writeln!(page, "| {} |", row.join(" | "));
    }
}

/// Those that the newest version registers.
fn registered(harness: &'static Harness) -> impl Iterator<Item = &'static str> {
    harness.events.iter().filter(|event| !matches!(event.wired, Wired::Never(_))).map(|event| event.name)
}

/// The events that say one of these things; what is not registered by us but comes all the same counts.
fn names(harness: &'static Harness, means: &[Means]) -> String {
    let is_told = |event: &&NativeEvent| {
        means.contains(&event.means) && (!matches!(event.wired, Wired::Never(_)) || event.means == Means::TurnNotice)
    };
    names_of(harness.events.iter().filter(is_told).map(|event| event.name))
}

fn names_of(names: impl Iterator<Item = &'static str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    if names.is_empty() { "–".to_owned() } else { names.join(", ") }
}

fn yes(is: bool) -> String {
    if is { "yes" } else { "no" }.to_owned()
}

fn tell(tell: Tell) -> String {
    match tell {
        Tell::Read(place) => place.to_owned(),
        Tell::NotRead(place) => format!("not read yet: {place}"),
        Tell::Never(why) => format!("no: {why}"),
    }
}

fn versions() -> toml_edit::DocumentMut {
    let text = fs::read_to_string(repository().join("conformance/live/versions.toml")).expect("the versions");
    text.parse().expect("TOML")
}
