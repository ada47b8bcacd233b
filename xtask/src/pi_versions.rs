//! Loads the extension of Pi in versions of Pi: one that does not load ends the program.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};

/// What came of each version.
const TABLE: &str = "docs/pi-versions.md";

/// Tries these versions (`all`: every one that the registry serves; none: the oldest, the pinned and the newest) and writes
/// the table.
pub(crate) fn run(root: &Path, versions: &[String]) -> anyhow::Result<()> {
    super::cargo(&["build", "--quiet", "--package", "sessionpipe"])?;
    let metadata = super::metadata()?;
    let target = metadata["target_directory"].as_str().context("no target folder")?;
    let home = Path::new(target).join("pi-versions-home");
    let agent = home.join(".pi/agent");
    std::fs::create_dir_all(&agent)?;
    super::run(
        Command::new(Path::new(target).join("debug/sessionpipe"))
            .args(["install", "--yes", "--harness", "pi"])
            .env_clear()
            .env("HOME", &home)
            .env("PATH", "/usr/bin:/bin")
            .stdout(std::process::Stdio::null()),
    )?;
    let mut script = Command::new("node");
    script.current_dir(root).arg("xtask/pi-versions.mjs").arg(agent.join("extensions/sessionpipe.ts"));
    super::run(script.args([TABLE, &pinned(root)?]).args(versions))
}

/// The version that the live lab takes.
fn pinned(root: &Path) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(root.join("conformance/live/versions.toml"))?;
    let of_pi = text.split("\n[").find_map(|table| table.strip_prefix("pi]\n")).context("Pi has no pinned version")?;
    let version = of_pi.lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    match version {
        Some(version) => Ok(version.to_owned()),
        None => bail!("Pi has no pinned version"),
    }
}
