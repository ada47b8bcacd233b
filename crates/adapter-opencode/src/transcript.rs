//! Where OpenCode keeps its sessions: `opencode.db`, a database that is not read yet. Beside it lies, for sessions that changed
//! files, `storage/session_diff/<session id>.json`: that tells when such a session was last worked on.

use std::path::PathBuf;

use sessionpipe_core::adapter::SessionFile;
use sessionpipe_core::file::entries;
use sessionpipe_core::host::Host;
use sessionpipe_core::ids;

use crate::facts::data_dir;

pub(crate) fn roots(host: &Host) -> Vec<PathBuf> {
    vec![data_dir(host)]
}

/// The sessions that left a file of their own, newest first.
pub(crate) fn sessions(host: &Host) -> Vec<SessionFile> {
    SessionFile::newest_first(entries(&data_dir(host).join("storage/session_diff")).filter_map(session))
}

fn session(path: PathBuf) -> Option<SessionFile> {
    let id = path.file_name()?.to_str()?.strip_suffix(".json").filter(|id| ids::fits(id))?.to_owned();
    SessionFile::at(&id, path)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, UNIX_EPOCH};

    use sessionpipe_core::testing::{host, write};
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn sessions_are_listed_newest_first() {
        let home = TempDir::new().expect("a folder");
        let host = host(home.path());
        assert_eq!(sessions(&host), []);
        let folder = roots(&host)[0].join("storage/session_diff");
        for (name, age) in [("ses_a.json", 20), ("ses_b.json", 10), ("notes.txt", 0), ("no id!.json", 0)] {
            write(&folder.join(name), "[]");
            let file = fs::File::options().write(true).open(folder.join(name)).expect("a file");
            file.set_modified(UNIX_EPOCH + Duration::from_secs(1000 - age)).expect("set");
        }
        let listed: Vec<_> = sessions(&host).into_iter().map(|s| (s.id, s.modified_ms)).collect();
        assert_eq!(listed, [("ses_b".to_owned(), 990_000), ("ses_a".to_owned(), 980_000)]);
    }
}
