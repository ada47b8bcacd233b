//! Copilot CLI's session files: where they lie, and their first line. Turns and usage are not read yet.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sessionpipe_core::adapter::SessionFile;
use sessionpipe_core::file::entries;
use sessionpipe_core::host::Host;
use uuid::Uuid;

use crate::wiring::copilot_home;

/// The first line holds ids and the repository: some 600 bytes.
const MAX_FIRST_LINE: u64 = 64 * 1024;

pub(crate) fn roots(host: &Host) -> Vec<PathBuf> {
    vec![copilot_home(host).join("session-state")]
}

/// The sessions on disk, newest first. What subagents did stands in their parents' files.
pub(crate) fn sessions(host: &Host) -> Vec<SessionFile> {
    let folders = roots(host).into_iter().flat_map(|root| entries(&root));
    SessionFile::newest_first(folders.filter_map(|folder| session(&folder)))
}

/// `<session id>/events.jsonl`.
fn session(folder: &Path) -> Option<SessionFile> {
    let id = folder.file_name()?.to_str()?;
    Uuid::try_parse(id).ok()?;
    SessionFile::at(id, folder.join("events.jsonl"))
}

/// What the first line of a session file says.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionStart {
    /// The version that began the session.
    pub(crate) copilot_version: Option<String>,
    /// When it began: RFC 3339.
    pub(crate) start_time: Option<String>,
}

/// Reads the first line; `None` where it cannot be read.
pub(crate) fn session_start(path: &Path) -> Option<SessionStart> {
    #[derive(Deserialize)]
    struct Line {
        #[serde(rename = "type")]
        kind: String,
        data: SessionStart,
    }
    if !path.is_file() {
        return None;
    }
    let mut line = Vec::new();
    BufReader::new(File::open(path).ok()?.take(MAX_FIRST_LINE)).read_until(b'\n', &mut line).ok()?;
    let line: Line = serde_json::from_slice(&line).ok()?;
    (line.kind == "session.start").then_some(line.data)
}
