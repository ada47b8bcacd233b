//! Pi's session files: `sessions/<folder>/<time>_<session id>.jsonl` below its agent folder, where a folder is the session's
//! own with each `/` written `-`; flat in a folder that the person named. They are not read yet.

use std::path::{Path, PathBuf};

use sessionpipe_core::adapter::SessionFile;
use sessionpipe_core::file::entries;
use sessionpipe_core::host::Host;
use sessionpipe_core::ids;

use crate::wiring::{agent_dir, expanded};

pub(crate) fn roots(host: &Host) -> Vec<PathBuf> {
    let named = host.var("PI_CODING_AGENT_SESSION_DIR").filter(|dir| !dir.is_empty());
    let named = named.map(|dir| expanded(host, Path::new(dir)));
    [agent_dir(host).join("sessions")].into_iter().chain(named).collect()
}

/// The sessions on disk, newest first.
pub(crate) fn sessions(host: &Host) -> Vec<SessionFile> {
    let there = roots(host).into_iter().flat_map(|root| entries(&root));
    let files = there.flat_map(|path| if path.is_dir() { entries(&path).collect() } else { vec![path] });
    SessionFile::newest_first(files.filter_map(session))
}

/// An id may be any text, with a `_` of its own: the time before it has none.
fn session(path: PathBuf) -> Option<SessionFile> {
    let (_, id) = path.file_name()?.to_str()?.strip_suffix(".jsonl")?.split_once('_')?;
    let id = Some(id).filter(|id| ids::fits(id))?.to_owned();
    SessionFile::at(&id, path)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use sessionpipe_core::testing::{host, write};
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn sessions_are_found_in_every_place() {
        let home = TempDir::new().expect("a folder");
        let mut host = host(home.path());
        let ours = home.path().join(".pi/agent/sessions/--home-dev-proj--");
        write(&ours.join("2026-11-30T08-17-33-986Z_01a22b87-dd21-7392-9c41-6484306e97d1.jsonl"), "");
        write(&ours.join("notes.txt"), "");
        write(&home.path().join("flat/2026-11-30T08-18-07-589Z_my_custom-id.jsonl"), "");
        host.env.insert("PI_CODING_AGENT_SESSION_DIR".into(), OsString::from("~/flat"));
        let mut ids: Vec<String> = sessions(&host).into_iter().map(|session| session.id).collect();
        ids.sort();
        assert_eq!(ids, ["01a22b87-dd21-7392-9c41-6484306e97d1", "my_custom-id"]);
    }
}
