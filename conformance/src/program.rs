//! The program under test: found or built, and called as a harness or a person would.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// A built `sessionpipe`.
#[derive(Clone, Debug)]
pub struct Program {
    path: PathBuf,
}

impl Program {
    /// The program at that path, or, without one, the workspace's own: built now, beside this program.
    pub fn at(path: Option<&Path>) -> Result<Self> {
        if let Some(path) = path {
            let path = path.canonicalize().with_context(|| format!("no program at {}", path.display()))?;
            return Ok(Self { path });
        }
        let (target, profile) = Self::target()?;
        let mut build = Self::cargo(&target);
        build.args(["build", "--quiet", "--package", "sessionpipe", "--bins", "--profile"]);
        build.arg(if profile == "debug" { "dev" } else { &profile });
        if !build.status().context("cargo cannot be started")?.success() {
            bail!("sessionpipe does not build");
        }
        Ok(Self { path: target.join(profile).join("sessionpipe") })
    }

    /// The workspace's own as it is given to people, built now.
    pub fn shipped() -> Result<Self> {
        let (target, _) = Self::target()?;
        let mut build = Self::cargo(&target);
        build.args(["run", "--quiet", "--package", "xtask", "--", "dist"]).stdout(Stdio::null());
        if !build.status().context("cargo cannot be started")?.success() {
            bail!("sessionpipe does not build");
        }
        Ok(Self { path: target.join("dist/sessionpipe") })
    }

    /// The target folder that this program lies in, and its profile's folder there.
    fn target() -> Result<(PathBuf, String)> {
        let own = std::env::current_exe().context("this program has no path")?;
        let folder = own.parent().context("this program has no folder")?;
        let target = folder.parent().context("this program lies in no target folder")?;
        let profile = folder.file_name().context("this program lies in no target folder")?;
        Ok((target.to_owned(), profile.to_string_lossy().into_owned()))
    }

    /// Cargo in the workspace, building into that folder.
    fn cargo(target: &Path) -> Command {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).env("CARGO_TARGET_DIR", target);
        cargo
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A call in an environment of nothing but these variables and a minimal PATH.
    pub fn command(&self, home: &Path) -> Command {
        let mut command = Command::new(&self.path);
        command.env_clear().env("HOME", home).env("PATH", "/usr/bin:/bin").current_dir(home);
        command
    }

    /// One hook call, as a harness makes it.
    pub fn hook(
        &self,
        home: &Path,
        argv: &[String],
        env: &BTreeMap<String, String>,
        cwd: Option<&Path>,
        stdin: &[u8],
    ) -> Result<Output> {
        let mut command = self.command(home);
        command.arg("hook").args(argv).envs(env).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(cwd) = cwd.filter(|cwd| cwd.is_dir()) {
            command.current_dir(cwd);
        }
        let mut child = command.spawn().with_context(|| format!("{} cannot be started", self.path.display()))?;
        let mut pipe = child.stdin.take().context("the hook has no stdin")?;
        // A hook that takes its payload from argv may be gone before it reads.
        pipe.write_all(stdin).or_else(|e| if e.kind() == std::io::ErrorKind::BrokenPipe { Ok(()) } else { Err(e) })?;
        drop(pipe);
        Ok(child.wait_with_output()?)
    }

    /// All events that the program holds, after taking what waits, at the highest tier.
    pub fn events(&self, home: &Path) -> Result<Vec<Value>> {
        let flushed = self.command(home).args(["flush", "--timeout", "20"]).output()?;
        if !flushed.status.success() {
            bail!("flush: {}{}", flushed.status, String::from_utf8_lossy(&flushed.stderr));
        }
        let tail = self.command(home).args(["tail", "--json", "--tier", "3"]).output()?;
        if !tail.status.success() {
            bail!("tail: {}{}", tail.status, String::from_utf8_lossy(&tail.stderr));
        }
        let text = String::from_utf8(tail.stdout).context("tail --json is not UTF-8")?;
        text.lines().map(|line| serde_json::from_str(line).with_context(|| format!("tail printed {line}"))).collect()
    }
}
