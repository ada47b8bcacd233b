//! OMP's session files: `sessions/<folder>/<time>_<session id>.jsonl`, whose first line holds the title. Beside each lies a
//! folder of its name with the files of its subagents. They are not read yet.

use std::path::{Path, PathBuf};

use sessionpipe_core::adapter::SessionFile;
use sessionpipe_core::file::entries;
use sessionpipe_core::host::Host;
use sessionpipe_core::ids;

use crate::dirs::session_dirs;

pub(crate) fn roots(host: &Host) -> Vec<PathBuf> {
    session_dirs(host)
}

/// The sessions on disk, newest first; none of subagents.
pub(crate) fn sessions(host: &Host) -> Vec<SessionFile> {
    let folders = roots(host).into_iter().flat_map(|root| entries(&root));
    SessionFile::newest_first(folders.flat_map(|dir| entries(&dir)).filter_map(session))
}

fn session(path: PathBuf) -> Option<SessionFile> {
    let id = session_id(path.file_name()?.to_str()?.strip_suffix(".jsonl")?)?.to_owned();
    SessionFile::at(&id, path)
}

/// The id in a name of the form `2026-11-30T08-17-33-986Z_ID`; a subagent's file has none of that form.
fn session_id(name: &str) -> Option<&str> {
    let (time, id) = name.split_once('_')?;
    let is_time = time.len() == "2026-11-30T08-17-33-986Z".len()
        && time.ends_with('Z')
        && time.bytes().all(|b| b.is_ascii_digit() || b"-TZ".contains(&b));
    Some(id).filter(|id| is_time && ids::fits(id))
}

/// The id of the session whose subagent writes this file, at whatever depth; `None` for a file of a session's own.
pub(crate) fn root_of_subagent(file: &Path) -> Option<&str> {
    if session_id(file.file_stem()?.to_str()?).is_some() {
        return None;
    }
    file.ancestors().skip(1).find_map(|dir| session_id(dir.file_name()?.to_str()?))
}

#[cfg(test)]
mod tests {
    use sessionpipe_core::testing::{host, write};
    use tempfile::TempDir;

    use super::*;

    const STEM: &str = "2026-11-30T08-27-22-686Z_01a22b90-d8be-7000-a21a-624715d72394";
    const ID: &str = "01a22b90-d8be-7000-a21a-624715d72394";

    #[test]
    fn subagents_are_none_of_the_sessions() {
        let home = TempDir::new().expect("a folder");
        let host = host(home.path());
        let dir = home.path().join(".omp/agent/sessions/-proj");
        write(&dir.join(format!("{STEM}.jsonl")), "");
        write(&dir.join(STEM).join("SubJob.jsonl"), "");
        write(&dir.join("notes.jsonl"), "");
        let ids: Vec<String> = sessions(&host).into_iter().map(|session| session.id).collect();
        assert_eq!(ids, [ID]);
    }

    #[test]
    fn a_subagents_file_names_its_root() {
        let root = |path: &str| {
            root_of_subagent(Path::new(&format!("/home/dev/.omp/agent/sessions/-proj/{path}"))).map(str::to_owned)
        };
        assert_eq!(root(&format!("{STEM}.jsonl")), None);
        assert_eq!(root(&format!("{STEM}/SubJob.jsonl")).as_deref(), Some(ID));
        assert_eq!(root(&format!("{STEM}/SubJob/Inner_1.jsonl")).as_deref(), Some(ID));
        assert_eq!(root("my-own.jsonl"), None, "a file that the person named");
    }
}
