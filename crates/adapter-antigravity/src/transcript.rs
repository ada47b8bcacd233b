//! Session files: `~/.gemini/<folder>/brain/<conversation>/.system_generated/logs/transcript_full.jsonl`, and the
//! conversation's database in `conversations/`. Turns and usage are not read yet.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sessionpipe_core::adapter::SessionFile;
use sessionpipe_core::file::entries;
use sessionpipe_core::host::Host;
use sessionpipe_core::ids;

use crate::facts::{APPS, CLI};

/// The transcript: whole, else with long texts cut.
const TRANSCRIPTS: [&str; 2] = ["transcript_full.jsonl", "transcript.jsonl"];

fn stores(host: &Host) -> impl Iterator<Item = PathBuf> {
    [CLI].into_iter().chain(APPS).map(|name| host.home.join(".gemini").join(name))
}

pub(crate) fn roots(host: &Host) -> Vec<PathBuf> {
    stores(host).flat_map(|store| [store.join("brain"), store.join("conversations")]).collect()
}

/// All sessions, newest first. One that `agy` handed over to the app is in both stores: the newer counts.
pub(crate) fn sessions(host: &Host) -> Vec<SessionFile> {
    let mut files = SessionFile::newest_first(stores(host).flat_map(|store| of_store(&store)));
    let mut known = BTreeSet::new();
    files.retain(|file| known.insert(file.id.clone()));
    files
}

fn of_store(store: &Path) -> Vec<SessionFile> {
    entries(&store.join("brain")).filter_map(|dir| session(store, dir.file_name()?.to_str()?)).collect()
}

fn session(store: &Path, id: &str) -> Option<SessionFile> {
    if !ids::fits(id) {
        return None;
    }
    let logs = store.join("brain").join(id).join(".system_generated/logs");
    let mut session = TRANSCRIPTS.iter().find_map(|name| SessionFile::at(id, logs.join(name)))?;
    let database = store.join("conversations").join(format!("{id}.db"));
    session.paths.extend(Some(database).filter(|path| path.is_file()));
    Some(session)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "tests make the files that the code reads")]

    use sessionpipe_core::testing::{host, write};
    use std::fs;
    use std::time::{Duration, SystemTime};

    use super::*;

    fn write_at(path: &Path, seconds: u64) {
        write(path, "{}\n");
        let file = fs::File::options().write(true).open(path).expect("a file");
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).expect("a time");
    }

    #[test]
    fn conversations_come_newest_first_from_every_store() {
        let home = tempfile::tempdir().expect("a folder");
        let store = |name: &str| home.path().join(".gemini").join(name);
        let logs = |name: &str, id: &str| store(name).join("brain").join(id).join(".system_generated/logs");
        write_at(&logs("antigravity-cli", "a").join("transcript.jsonl"), 9_000);
        write_at(&logs("antigravity-cli", "a").join("transcript_full.jsonl"), 1_000);
        write_at(&store("antigravity-cli").join("conversations/a.db"), 9_000);
        write_at(&logs("antigravity-ide", "b").join("transcript.jsonl"), 3_000);
        write_at(&logs("antigravity-cli", "c").join("transcript_full.jsonl"), 1_500);
        write_at(&logs("antigravity", "c").join("transcript_full.jsonl"), 2_000);
        // What is no conversation.
        write_at(&store("antigravity").join("brain/notes.md"), 9_000);
        write_at(&logs("antigravity", "not an id").join("transcript.jsonl"), 9_000);
        fs::create_dir_all(logs("antigravity", "d").join("transcript.jsonl")).expect("a folder");

        let file = |id: &str, paths: Vec<PathBuf>, seconds: i64| SessionFile {
            id: id.to_owned(),
            paths,
            modified_ms: seconds * 1_000,
        };
        assert_eq!(
            sessions(&host(home.path())),
            [
                file("b", vec![logs("antigravity-ide", "b").join("transcript.jsonl")], 3_000),
                file("c", vec![logs("antigravity", "c").join("transcript_full.jsonl")], 2_000),
                file(
                    "a",
                    vec![
                        logs("antigravity-cli", "a").join("transcript_full.jsonl"),
                        store("antigravity-cli").join("conversations/a.db"),
                    ],
                    1_000
                ),
            ]
        );
        for session in sessions(&host(home.path())) {
            for path in session.paths {
                assert!(roots(&host(home.path())).iter().any(|root| path.starts_with(root)), "{}", path.display());
            }
        }
    }

    #[test]
    fn nothing_there_is_no_session() {
        let home = tempfile::tempdir().expect("a folder");
        assert_eq!(sessions(&host(home.path())), []);
    }
}
