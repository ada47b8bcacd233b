//! The real programs, from npm, at a pinned version, in a cache outside the checkout.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

/// The variable that names the cache.
pub const CACHE_VAR: &str = "SESSIONPIPE_LIVE_CACHE";

/// Where the programs are kept: `$SESSIONPIPE_LIVE_CACHE`, else under `$XDG_CACHE_HOME`, else under the temporary folder.
/// Never under the person's home, which no program of the lab may see.
#[must_use]
pub fn cache() -> PathBuf {
    if let Some(cache) = env::var_os(CACHE_VAR) {
        return PathBuf::from(cache);
    }
    let parent = env::var_os("XDG_CACHE_HOME").map_or_else(env::temp_dir, PathBuf::from);
    parent.join("sessionpipe-live")
}

/// A program on the caller's PATH, or where some systems keep those of the administrator.
#[must_use]
pub fn which(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    env::split_paths(&path).chain(more).map(|dir| dir.join(name)).find(|file| file.is_file())
}

/// The folder that holds `node_modules` with a package of that version; installs it first where it is not there yet.
/// The package's own install scripts are not run: some start the program in the person's home.
///
/// # Errors
/// Where npm is missing or cannot install it.
pub fn installed(cache: &Path, package: &str, version: &str) -> anyhow::Result<PathBuf> {
    let folder = cache.join(format!("{}-{version}", package.trim_start_matches('@').replace('/', "-")));
    if folder.is_dir() {
        return Ok(folder);
    }
    let npm = which("npm").context("npm is needed")?;
    fs::create_dir_all(cache).with_context(|| format!("cannot make {}", cache.display()))?;
    // Complete or not there at all: installed beside it and then renamed.
    let part = tempfile::Builder::new().prefix(".part-").tempdir_in(cache)?;
    let log = fs::File::create(part.path().join("npm.log"))?;
    let status = Command::new(npm)
        .args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"])
        .arg(part.path())
        .arg(format!("{package}@{version}"))
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .status()?;
    if !status.success() {
        let log = fs::read_to_string(part.path().join("npm.log")).unwrap_or_default();
        bail!("npm could not install {package}@{version}: {}", log.trim());
    }
    match fs::rename(part.path(), &folder) {
        Ok(()) => drop(part.keep()),
        // Another run was faster.
        Err(_) if folder.is_dir() => {}
        Err(e) => return Err(e).with_context(|| format!("cannot make {}", folder.display())),
    }
    Ok(folder)
}

/// The name that packages give this machine's processor.
#[must_use]
pub fn cpu() -> &'static str {
    if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" }
}
