//! Session files: `<config dir>/projects/<folder>/<session id>.jsonl`, and those of its subagents in
//! `<session id>/subagents/`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use sessionpipe_core::adapter::SessionFile;
use sessionpipe_core::file::{entries, modified_ms};
use sessionpipe_core::host::Host;
use sessionpipe_core::ids;

use crate::wiring;

/// The folders of session files, each once.
pub(crate) fn roots(host: &Host) -> Vec<PathBuf> {
    let mut known = BTreeSet::new();
    let roots = wiring::config_dirs(host).dirs.into_iter().map(|dir| dir.join("projects"));
    roots.filter(|root| known.insert(fs::canonicalize(root).unwrap_or_else(|_| root.clone()))).collect()
}

/// All sessions, newest first.
pub(crate) fn sessions(host: &Host) -> Vec<SessionFile> {
    let files = newest_first(roots(host).iter().flat_map(|root| session_files(root)).collect());
    files.into_iter().filter_map(|(modified_ms, path)| session(path, modified_ms)).collect()
}

/// The main files of the sessions below one `projects` folder, newest first, with the time of their last change.
pub(crate) fn recent_files(root: &Path) -> Vec<(i64, PathBuf)> {
    newest_first(session_files(root).collect())
}

fn newest_first(mut files: Vec<(i64, PathBuf)>) -> Vec<(i64, PathBuf)> {
    files.sort_by(|(a, a_path), (b, b_path)| b.cmp(a).then_with(|| a_path.cmp(b_path)));
    files
}

fn session_files(root: &Path) -> impl Iterator<Item = (i64, PathBuf)> + use<> {
    let files = entries(root).flat_map(|project| entries(&project)).filter(|path| session_id(path).is_some());
    files.filter_map(|path| Some((modified_ms(&path)?, path)))
}

/// The session that a file belongs to by its name.
fn session_id(path: &Path) -> Option<&str> {
    let id = path.file_name()?.to_str()?.strip_suffix(".jsonl")?;
    // 2.0.60 keeps the files of subagents beside their session's.
    (ids::fits(id) && !id.starts_with("agent-")).then_some(id)
}

fn session(path: PathBuf, modified_ms: i64) -> Option<SessionFile> {
    let id = session_id(&path)?.to_owned();
    let subagents = entries(&path.with_extension("").join("subagents"));
    let mut others: Vec<_> = subagents.filter(|path| path.extension().is_some_and(|e| e == "jsonl")).collect();
    others.sort();
    let mut paths = vec![path];
    paths.append(&mut others);
    Some(SessionFile { id, paths, modified_ms })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods)]

    use std::time::{Duration, SystemTime};

    use sessionpipe_core::testing::{self, host};

    use super::*;

    /// Writes a file that was last changed so many seconds after the epoch.
    fn write(path: &Path, seconds: u64) {
        testing::write(path, "{}\n");
        let file = fs::File::options().write(true).open(path).expect("a file");
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).expect("a time");
    }

    #[test]
    fn sessions_come_newest_first_with_their_subagents() {
        let home = tempfile::tempdir().expect("a folder");
        let project = home.path().join(".claude/projects/-srv-app");
        let (old, new) = ("11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222");
        write(&project.join(format!("{old}.jsonl")), 1_000);
        write(&home.path().join(format!(".claude-work/projects/-w/{new}.jsonl")), 2_000);
        write(&project.join(old).join("subagents/agent-a1.jsonl"), 900);
        write(&project.join(old).join("subagents/agent-a1.meta.json"), 900);
        write(&project.join(old).join("custom-title.json"), 900);
        // What is no session: a subagent of 2.0.60, a name that is no id, another kind of file, a folder.
        write(&project.join("agent-a9.jsonl"), 900);
        write(&project.join("not an id.jsonl"), 900);
        write(&project.join("sessions-index.json"), 900);
        fs::create_dir(project.join("folder.jsonl")).expect("a folder");

        let sessions = sessions(&host(home.path()));
        assert_eq!(
            sessions,
            [
                SessionFile {
                    id: new.to_owned(),
                    paths: vec![home.path().join(format!(".claude-work/projects/-w/{new}.jsonl"))],
                    modified_ms: 2_000_000,
                },
                SessionFile {
                    id: old.to_owned(),
                    paths: vec![
                        project.join(format!("{old}.jsonl")),
                        project.join(old).join("subagents/agent-a1.jsonl"),
                    ],
                    modified_ms: 1_000_000,
                },
            ]
        );
        assert_eq!(
            roots(&host(home.path())),
            [home.path().join(".claude/projects"), home.path().join(".claude-work/projects")]
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_shared_folder_of_sessions_is_one_root() {
        let home = tempfile::tempdir().expect("a folder");
        write(&home.path().join(".claude/projects/-w/s1.jsonl"), 1_000);
        fs::create_dir(home.path().join(".claude-b")).expect("a folder");
        std::os::unix::fs::symlink(home.path().join(".claude/projects"), home.path().join(".claude-b/projects"))
            .expect("a link");
        assert_eq!(roots(&host(home.path())), [home.path().join(".claude/projects")]);
        assert_eq!(sessions(&host(home.path())).len(), 1);
    }

    #[test]
    fn nothing_there_is_no_session() {
        let home = tempfile::tempdir().expect("a folder");
        assert_eq!(sessions(&host(home.path())), []);
    }
}
