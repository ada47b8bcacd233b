//! Droid's session files: `~/.factory/sessions/<folder>/<session id>.jsonl`, where the folder is the session's with each `/`
//! written `-`, and beside each `<session id>.settings.json` (model, usage). They are not read yet.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use sessionpipe_core::adapter::SessionFile;
use sessionpipe_core::host::Host;
use sessionpipe_core::ids;

use crate::wiring::factory_home;

pub(crate) fn roots(host: &Host) -> Vec<PathBuf> {
    vec![factory_home(host).join("sessions")]
}

/// The sessions on disk, newest first.
pub(crate) fn sessions(host: &Host) -> Vec<SessionFile> {
    let folders = roots(host).into_iter().flat_map(|root| entries(&root));
    let mut sessions: Vec<SessionFile> = folders.flat_map(|dir| entries(&dir)).filter_map(session).collect();
    sessions.sort_by(|a, b| (b.modified_ms, &b.id).cmp(&(a.modified_ms, &a.id)));
    sessions
}

fn session(path: PathBuf) -> Option<SessionFile> {
    let id = path.file_name()?.to_str()?.strip_suffix(".jsonl").filter(|id| ids::fits(id))?.to_owned();
    let metadata = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
    let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(SessionFile { id, paths: vec![path], modified_ms: i64::try_from(modified.as_millis()).ok()? })
}

/// What a folder holds; nothing where it cannot be read.
fn entries(dir: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path())
}
