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

mod pi_versions;

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
    /// Write again what is generated from the code: docs/schema, docs/cli.md, docs/harnesses.md and docs/privacy.md
    Schema,
    /// Measure what the redaction of secrets finds and how often it is wrong, and write it to docs/privacy.md
    Secrets {
        /// Print every miss and every false alarm
        #[arg(long)]
        list: bool,
    },
    /// Compare what one hook costs in a program with all harnesses and in one with a single harness: instructions (by
    /// `valgrind`) and system calls (by `strace`)
    HookCost,
    /// Check, lint and test the plugins in crates/*/plugin, with node and npm
    Plugins,
    /// Load the extension in versions of Pi, from npm, and write docs/pi-versions.md: the oldest that is supported, the pinned and
    /// the newest, unless some are named
    PiVersions {
        /// Versions, or `all`
        versions: Vec<String>,
    },
    /// Run every benchmark
    Bench {
        /// Only benchmarks whose name contains this
        name: Option<String>,
    },
}

fn main() -> anyhow::Result<()> {
    match Task::parse() {
        Task::Check => check(),
        Task::Features => each_alone(),
        Task::Dist => dist(),
        Task::Schema => schema(),
        Task::Secrets { list } => secrets(list),
        Task::Plugins => plugins(),
        Task::PiVersions { versions } => pi_versions::run(root(), &versions),
        Task::HookCost => hook_cost(),
        Task::Bench { name } => bench(name.as_deref().unwrap_or_default()),
    }
}

fn check() -> anyhow::Result<()> {
    cargo(&["fmt", "--all", "--check"])?;
    cargo(&["clippy", "--quiet", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"])?;
    cargo(&["test", "--workspace"])
}

/// One feature per harness, in the order of the names.
fn features(metadata: &Value) -> anyhow::Result<Vec<String>> {
    let mut packages = metadata["packages"].as_array().into_iter().flatten();
    let program = packages.find(|package| package["name"] == "sessionpipe").context("no package sessionpipe")?;
    let features = program["features"].as_object().into_iter().flat_map(|features| features.keys());
    Ok(features.filter(|feature| *feature != "default").cloned().collect())
}

fn each_alone() -> anyhow::Result<()> {
    let features = features(&metadata()?)?;
    for feature in features.iter().map(String::as_str).chain([""]) {
        cargo(&["check", "--quiet", "--package", "sessionpipe", "--no-default-features", "--features", feature])?;
    }
    Ok(())
}

/// The programs that are given to people.
const PACKAGE: [&str; 5] = ["--profile", "dist", "--package", "sessionpipe", "--bin"];

/// Static, at a fixed address: it starts without the dynamic linker and relocates nothing. It needs neither name resolution nor other users' homes.
const HOOK_FLAGS: &[&str] = if cfg!(target_os = "linux") {
    &["--", "-C", "target-feature=+crt-static", "-C", "relocation-model=static"]
} else {
    &[]
};

fn dist() -> anyhow::Result<()> {
    cargo(&[&["build"], &PACKAGE[..], &["sessionpipe"]].concat())?;
    cargo(&[&["rustc"], &PACKAGE[..], &["sessionpipe-hook"], HOOK_FLAGS].concat())?;
    let folder = PathBuf::from(metadata()?["target_directory"].as_str().context("no target folder")?).join("dist");
    for program in ["sessionpipe", "sessionpipe-hook"] {
        let path = folder.join(program);
        let size = path.metadata().with_context(|| format!("{} was not built", path.display()))?.len();
        println!("{}  {} KB", path.display(), size / 1024);
    }
    Ok(())
}

/// How much more a hook may cost with all harnesses than with one, in percent of its instructions.
const MOST_GROWTH: f64 = 5.0;

fn hook_cost() -> anyhow::Result<()> {
    let metadata = metadata()?;
    let target = PathBuf::from(metadata["target_directory"].as_str().context("no target folder")?).join("hook-cost");
    // Both as the harness that the program with all of them finds last: the longest way.
    let all = features(&metadata)?;
    let last = all.last().context("no harness")?.clone();
    let mut costs = Vec::new();
    for (name, features) in [("one", vec![last.clone()]), ("all", all)] {
        let features = features.join(",");
        let only = ["--no-default-features", "--features", &features];
        let mut build = command(&[&["rustc"], &PACKAGE[..], &["sessionpipe-hook"], &only, HOOK_FLAGS].concat());
        run(build.env("CARGO_TARGET_DIR", &target))?;
        let program = target.join(format!("sessionpipe-hook-{name}"));
        std::fs::copy(target.join("dist/sessionpipe-hook"), &program)?;
        costs.push(Cost::of(&program, &last)?);
    }
    let [one, all] = costs.as_slice() else { bail!("two programs were to be measured") };
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let growth = (all.instructions as f64 / one.instructions as f64 - 1.0) * 100.0;
    println!(
        "instructions of one hook: {} with one harness, {} with all: {growth:+.2} %",
        one.instructions, all.instructions
    );
    println!("system calls: {} with one harness, {} with all", one.calls.len(), all.calls.len());
    if growth > MOST_GROWTH {
        bail!("a hook costs {growth:.2} % more instructions with all harnesses; {MOST_GROWTH} % are allowed");
    }
    if one.calls != all.calls {
        bail!("the system calls differ:\n{}\n{}", one.calls.join(" "), all.calls.join(" "));
    }
    Ok(())
}

/// What one hook costs.
struct Cost {
    instructions: u64,
    /// Their names, in order.
    calls: Vec<String>,
}

impl Cost {
    /// Of a hook that finds its folders there and a worker that listens.
    fn of(program: &Path, harness: &str) -> anyhow::Result<Self> {
        let home = tempfile::tempdir()?;
        let payload = home.path().join("payload.json");
        std::fs::write(&payload, r#"{"session_id":"s","cwd":"/","hook_event_name":"Stop"}"#)?;
        let hook = |tool: &str, options: &[&str]| -> anyhow::Result<String> {
            let output = Command::new(tool)
                .args(options)
                .arg(program)
                .args([harness, "Stop"])
                .env_clear()
                .env("HOME", home.path())
                .env("PATH", "/usr/bin:/bin")
                .env("SESSIONPIPE_HOME", home.path().join("state"))
                .current_dir(home.path())
                .stdin(std::fs::File::open(&payload)?)
                .output()
                .with_context(|| format!("{tool} cannot be started"))?;
            Ok(String::from_utf8_lossy(&output.stderr).into_owned())
        };
        // The first one makes the folders.
        hook("/usr/bin/env", &[])?;
        let told = hook("valgrind", &["--tool=callgrind", "--callgrind-out-file=/dev/null"])?;
        let instructions = told
            .lines()
            .find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
            .with_context(|| format!("valgrind counted nothing:\n{told}"))?;
        let calls = hook("strace", &["-qq"])?;
        let calls = calls.lines().filter_map(|line| Some(line.split_once('(')?.0.to_owned())).collect();
        Ok(Self { instructions, calls })
    }
}

fn schema() -> anyhow::Result<()> {
    bless("sessionpipe", "cli", "generated")?;
    bless("sessionpipe-conformance", "matrix", "the_matrix")?;
    bless("sessionpipe-core", "privacy_docs", "the_page")
}

/// Lets a test write what it would compare.
fn bless(package: &str, test: &str, filter: &str) -> anyhow::Result<()> {
    let mut tests = command(&["test", "--quiet", "--package", package, "--test", test, filter]);
    run(tests.env("SESSIONPIPE_BLESS", "1"))
}

fn secrets(list: bool) -> anyhow::Result<()> {
    // The sources of every package, of other platforms too.
    cargo(&["fetch"])?;
    let list: &[&str] = if list { &["--list"] } else { &[] };
    cargo(&[&["bench", "--package", "sessionpipe-core", "--bench", "secrets", "--", "--bless"], list].concat())?;
    bless("sessionpipe-core", "privacy_docs", "the_page")
}

/// Where the plugins lie as JavaScript, to be tested: below the package.json that says that they are modules.
const BUILT_PLUGINS: &str = "target/plugins";

fn plugins() -> anyhow::Result<()> {
    // What is installed is named with its exact version, and none of its install scripts is run. Of the agents only the types
    // are wanted, not what they would need to run.
    let install =
        "install --no-save --no-package-lock --no-audit --no-fund --ignore-scripts --omit=optional --loglevel=error";
    run(&mut tool("npm", install))?;
    run(&mut tool("node", "node_modules/typescript/bin/tsc"))?;
    run(&mut tool("node", "node_modules/eslint/bin/eslint.js --max-warnings=0 crates"))?;
    let mut tests = tool("node", "--test");
    for plugin in std::fs::read_dir(root().join("crates"))? {
        let plugin = plugin?;
        for source in std::fs::read_dir(plugin.path().join("plugin")).into_iter().flatten() {
            let name = source?.file_name();
            if let Some(test) = name.to_str().and_then(|name| name.strip_suffix(".test.ts")) {
                tests.arg(Path::new(BUILT_PLUGINS).join(plugin.file_name()).join(format!("plugin/{test}.test.js")));
            }
        }
    }
    run(&mut tests)
}

fn tool(program: &str, args: &str) -> Command {
    let mut command = Command::new(program);
    command.args(args.split(' ')).current_dir(root());
    command
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
    command.args(args).current_dir(root());
    command
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let words: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy()).collect();
    let program = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy();
    let line = format!("{program} {}", words.join(" "));
    eprintln!("+ {line}");
    if !command.status().with_context(|| line.clone())?.success() {
        bail!("{line} failed");
    }
    Ok(())
}
