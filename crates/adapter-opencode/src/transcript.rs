//! Where OpenCode keeps its sessions: `opencode.db`, a database that is not read yet. Beside it lies, for sessions that changed
//! files, `storage/session_diff/<session id>.json`: that tells when such a session was last worked on.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use sessionpipe_core::adapter::SessionFile;
use sessionpipe_core::host::Host;
use sessionpipe_core::ids;

use crate::facts::data_dir;

pub(crate) fn roots(host: &Host) -> Vec<PathBuf> {
    vec![data_dir(host)]
}

/// The sessions that left a file of their own, newest first.
pub(crate) fn sessions(host: &Host) -> Vec<SessionFile> {
    let entries = fs::read_dir(data_dir(host).join("storage/session_diff")).into_iter().flatten().flatten();
    let mut sessions: Vec<SessionFile> = entries.filter_map(|entry| session(&entry.path())).collect();
    sessions.sort_by(|a, b| (b.modified_ms, &b.id).cmp(&(a.modified_ms, &a.id)));
    sessions
}

fn session(path: &Path) -> Option<SessionFile> {
    let id = path.file_name()?.to_str()?.strip_suffix(".json").filter(|id| ids::fits(id))?.to_owned();
    let modified = fs::metadata(path).ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(SessionFile { id, paths: vec![path.to_owned()], modified_ms: i64::try_from(modified.as_millis()).ok()? })
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::testing::{host, write};

    #[test]
    fn sessions_are_listed_newest_first() {
        let home = TempDir::new().expect("a folder");
        let host = host(home.path());
        assert_eq!(sessions(&host), []);
        let folder = roots(&host)[0].join("storage/session_diff");
        for (name, age) in [("ses_a.json", 20), ("ses_b.json", 10), ("notes.txt", 0), ("no id!.json", 0)] {
            write(&folder.join(name), "[]");
            let file = fs::File::options().write(true).open(folder.join(name)).expect("a file");
            file.set_modified(UNIX_EPOCH + std::time::Duration::from_secs(1000 - age)).expect("set");
        }
        let listed: Vec<_> = sessions(&host).into_iter().map(|s| (s.id, s.modified_ms)).collect();
        assert_eq!(listed, [("ses_b".to_owned(), 990_000), ("ses_a".to_owned(), 980_000)]);
    }
}
