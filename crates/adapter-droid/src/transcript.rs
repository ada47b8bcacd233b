//! Droid's session files: `~/.factory/sessions/<folder>/<session id>.jsonl`, where the folder is the session's with each `/`
//! written `-`, and beside each `<session id>.settings.json` (model, usage). They are not read yet.

use std::path::PathBuf;

use sessionpipe_core::adapter::SessionFile;
use sessionpipe_core::file::entries;
use sessionpipe_core::host::Host;
use sessionpipe_core::ids;

use crate::wiring::factory_home;

pub(crate) fn roots(host: &Host) -> Vec<PathBuf> {
    vec![factory_home(host).join("sessions")]
}

/// The sessions on disk, newest first.
pub(crate) fn sessions(host: &Host) -> Vec<SessionFile> {
    let folders = roots(host).into_iter().flat_map(|root| entries(&root));
    SessionFile::newest_first(folders.flat_map(|dir| entries(&dir)).filter_map(session))
}

fn session(path: PathBuf) -> Option<SessionFile> {
    let id = path.file_name()?.to_str()?.strip_suffix(".jsonl").filter(|id| ids::fits(id))?.to_owned();
    SessionFile::at(&id, path)
}
