//! Codex's session files ("rollouts"): where they lie, and their first line. Turns and usage are not read yet.

use std::fs::{self, DirEntry, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::Deserialize;
use serde_json::Value;
use sessionpipe_core::adapter::SessionFile;
use sessionpipe_core::host::Host;
use uuid::Uuid;

use crate::wiring::codex_home;

/// `YYYY/MM/DD` under `sessions`.
const DATE_FOLDERS: usize = 3;

/// The first line holds the base instructions, some 20 KB of text; ten times that is no first line of Codex's.
const MAX_FIRST_LINE: u64 = 256 * 1024;

pub(crate) fn roots(host: &Host) -> Vec<PathBuf> {
    let home = codex_home(host);
    vec![home.join("sessions"), home.join("archived_sessions")]
}

/// The person's threads on disk, newest first. Subagents' threads have files like any other; their first lines tell.
pub(crate) fn sessions(host: &Host) -> Vec<SessionFile> {
    let is_subagents = |path: &PathBuf| session_meta(path).is_some_and(|meta| meta.is_subagents());
    let mut files = threads(host);
    files.retain(|file| !file.paths.iter().any(is_subagents));
    files
}

/// All threads on disk, newest first, by names and times alone. Codex compresses old files and keeps both for a moment:
/// then the plain one counts.
pub(crate) fn threads(host: &Host) -> Vec<SessionFile> {
    let home = codex_home(host);
    let mut files = Vec::new();
    collect(&home.join("sessions"), DATE_FOLDERS, &mut files);
    collect(&home.join("archived_sessions"), 0, &mut files);
    files.sort_by(|a, b| (&a.id, a.compressed, b.modified_ms).cmp(&(&b.id, b.compressed, a.modified_ms)));
    files.dedup_by(|next, kept| next.id == kept.id);
    files.sort_by(|a, b| (b.modified_ms, &b.id).cmp(&(a.modified_ms, &a.id)));
    files
        .into_iter()
        .map(|file| SessionFile { id: file.id, paths: vec![file.path], modified_ms: file.modified_ms })
        .collect()
}

struct Rollout {
    id: String,
    path: PathBuf,
    compressed: bool,
    modified_ms: i64,
}

fn collect(dir: &Path, folders: usize, into: &mut Vec<Rollout>) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        if folders == 0 {
            into.extend(rollout(&entry));
        } else if entry.file_name().to_str().is_some_and(|name| name.bytes().all(|b| b.is_ascii_digit())) {
            collect(&entry.path(), folders - 1, into);
        }
    }
}

/// `rollout-<local time>-<thread id>.jsonl` or `….jsonl.zst`.
fn rollout(entry: &DirEntry) -> Option<Rollout> {
    let name = entry.file_name();
    let stem = name.to_str()?.strip_prefix("rollout-")?;
    let (stem, compressed) = match stem.strip_suffix(".jsonl.zst") {
        Some(stem) => (stem, true),
        None => (stem.strip_suffix(".jsonl")?, false),
    };
    let id = stem.get(stem.len().checked_sub(uuid::fmt::Hyphenated::LENGTH)?..)?;
    Uuid::try_parse(id).ok()?;
    let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
    let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(Rollout {
        id: id.to_owned(),
        path: entry.path(),
        compressed,
        modified_ms: i64::try_from(modified.as_millis()).ok()?,
    })
}

/// What the first line of a session file says. (A fork by 0.144.6 repeats its parent's line after its own.)
#[derive(Debug, Deserialize)]
pub(crate) struct SessionMeta {
    /// The version that began the session.
    pub(crate) cli_version: Option<String>,
    /// What began it: `"exec"`, `"cli"`, …, or an object.
    source: Option<Value>,
}

impl SessionMeta {
    fn is_subagents(&self) -> bool {
        self.source.as_ref().is_some_and(|source| source.get("subagent").is_some())
    }
}

/// Reads the first line; `None` where it cannot be read, as in a compressed file.
pub(crate) fn session_meta(path: &Path) -> Option<SessionMeta> {
    #[derive(Deserialize)]
    struct Line {
        #[serde(rename = "type")]
        kind: String,
        payload: SessionMeta,
    }
    let mut line = Vec::new();
    BufReader::new(File::open(path).ok()?.take(MAX_FIRST_LINE)).read_until(b'\n', &mut line).ok()?;
    let line: Line = serde_json::from_slice(&line).ok()?;
    (line.kind == "session_meta").then_some(line.payload)
}
