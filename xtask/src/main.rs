//! The chores of the workspace. `cargo xtask` is an alias to this program; CI calls the same.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a tool of the workspace, not a part of the program"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use clap::Parser;
use serde_json::Value;

/// The chores of the workspace.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask")]
enum Task {
    /// Format, lints and tests: what must pass before a change lands
    Check,
    /// Check the program with each harness alone, and with none
    Features,
    /// Build what is given to people: `sessionpipe`, and a small `sessionpipe-hook` (static on Linux)
    Dist,
    /// Write again what is generated from the code: docs/schema, docs/cli.md and docs/harnesses.md
    Schema,
    /// Run every benchmark
    Bench {
        /// Only benchmarks whose name contains this
        name: Option<String>,
    },
}

fn main() -> anyhow::Result<()> {
    match Task::parse() {
        Task::Check => check(),
        Task::Features => features(),
        Task::Dist => dist(),
        Task::Schema => schema(),
        Task::Bench { name } => bench(name.as_deref().unwrap_or_default()),
    }
}

fn check() -> anyhow::Result<()> {
    cargo(&["fmt", "--all", "--check"])?;
    cargo(&["clippy", "--quiet", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"])?;
    cargo(&["test", "--workspace"])
}

fn features() -> anyhow::Result<()> {
    let metadata = metadata()?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let program =
        packages.into_iter().find(|package| package["name"] == "sessionpipe").context("no package sessionpipe")?;
    let features = program["features"].as_object().into_iter().flat_map(|features| features.keys());
    for feature in features.map(String::as_str).filter(|feature| *feature != "default").chain([""]) {
        cargo(&["check", "--quiet", "--package", "sessionpipe", "--no-default-features", "--features", feature])?;
    }
    Ok(())
}

fn dist() -> anyhow::Result<()> {
    let package = ["--profile", "dist", "--package", "sessionpipe", "--bin"];
    cargo(&[&["build"], &package[..], &["sessionpipe"]].concat())?;
    // Static, at a fixed address: it starts without the dynamic linker and relocates nothing. It needs neither name resolution nor other users' homes.
    let flags: &[&str] = if cfg!(target_os = "linux") {
        &["--", "-C", "target-feature=+crt-static", "-C", "relocation-model=static"]
    } else {
        &[]
    };
    cargo(&[&["rustc"], &package[..], &["sessionpipe-hook"], flags].concat())?;
    let folder = PathBuf::from(metadata()?["target_directory"].as_str().context("no target folder")?).join("dist");
    for program in ["sessionpipe", "sessionpipe-hook"] {
        let path = folder.join(program);
        let size = path.metadata().with_context(|| format!("{} was not built", path.display()))?.len();
        println!("{}  {} KB", path.display(), size / 1024);
    }
    Ok(())
}

fn schema() -> anyhow::Result<()> {
    for (package, test, filter) in
        [("sessionpipe", "cli", "generated"), ("sessionpipe-conformance", "matrix", "the_matrix")]
    {
        let mut tests = command(&["test", "--quiet", "--package", package, "--test", test, filter]);
        run(tests.env("SESSIONPIPE_BLESS", "1"))?;
    }
    Ok(())
}

fn bench(name: &str) -> anyhow::Result<()> {
    let metadata = metadata()?;
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let targets = package["targets"].as_array().into_iter().flatten();
        for target in
            targets.filter(|target| target["kind"].as_array().is_some_and(|kinds| kinds.contains(&"bench".into())))
        {
            let (package, target) =
                (package["name"].as_str().unwrap_or_default(), target["name"].as_str().unwrap_or_default());
            if target.contains(name) {
                cargo(&["bench", "--package", package, "--bench", target])?;
            }
        }
    }
    Ok(())
}

fn metadata() -> anyhow::Result<Value> {
    let output = command(&["metadata", "--no-deps", "--format-version", "1"]).output().context("cargo metadata")?;
    if !output.status.success() {
        bail!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn cargo(args: &[&str]) -> anyhow::Result<()> {
    run(&mut command(args))
}

fn command(args: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    command.args(args).current_dir(root);
    command
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let words: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy()).collect();
    let line = format!("cargo {}", words.join(" "));
    eprintln!("+ {line}");
    if !command.status().with_context(|| line.clone())?.success() {
        bail!("{line} failed");
    }
    Ok(())
}
