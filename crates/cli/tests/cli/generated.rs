//! What is generated from the code and kept in `docs`. `cargo xtask schema` writes it again.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Command, CommandFactory as _};
use sessionpipe::commands::Cli;

/// Compares a page with what the code says now; writes it where that is asked for.
fn current(path: &str, expected: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(path);
    if std::env::var_os("SESSIONPIPE_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, expected).expect("a page");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{} is stale: run `cargo xtask schema`", path.display());
}

#[test]
fn schemas() {
    for (name, schema) in sessionpipe::schema::all() {
        current(&format!("schema/{name}"), &sessionpipe::schema::text(&schema));
    }
}

#[test]
fn the_reference_of_the_command_line() {
    let mut cli = Cli::command().term_width(100);
    cli.build();
    let mut page = "<!-- Generated from the code: cargo xtask schema -->\n\n# Commands\n".to_owned();
    section(&mut page, &mut cli, "sessionpipe");
    current("cli.md", &page);
}

fn section(page: &mut String, command: &mut Command, title: &str) {
    let help = command.render_long_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = write!(page, "\n## {title}\n\n```text\n{}\n```\n", help.join("\n").trim_end());
    for command in
        command.get_subcommands_mut().filter(|command| !command.is_hide_set() && command.get_name() != "help")
    {
        let title = format!("{title} {}", command.get_name());
        section(page, command, &title);
    }
}
