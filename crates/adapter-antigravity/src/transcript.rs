//! Session files: `~/.gemini/<folder>/brain/<conversation>/.system_generated/logs/transcript_full.jsonl`, and the
//! conversation's database in `conversations/`. Turns and usage are not read yet.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use sessionpipe_core::adapter::SessionFile;
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
    let mut files: Vec<_> = stores(host).flat_map(|store| of_store(&store)).collect();
    files.sort_by(|a, b| (b.modified_ms, &a.id).cmp(&(a.modified_ms, &b.id)));
    let mut known = BTreeSet::new();
    files.retain(|file| known.insert(file.id.clone()));
    files
}

fn of_store(store: &Path) -> Vec<SessionFile> {
    let conversations = fs::read_dir(store.join("brain")).into_iter().flatten().flatten();
    conversations.filter_map(|entry| session(store, entry.file_name().to_str()?)).collect()
}

fn session(store: &Path, id: &str) -> Option<SessionFile> {
    if !ids::fits(id) {
        return None;
    }
    let logs = store.join("brain").join(id).join(".system_generated/logs");
    let (transcript, modified_ms) = TRANSCRIPTS.iter().find_map(|name| {
        let path = logs.join(name);
        let modified_ms = modified_ms(&path)?;
        Some((path, modified_ms))
    })?;
    let database = store.join("conversations").join(format!("{id}.db"));
    let paths = [transcript].into_iter().chain(Some(database).filter(|path| path.is_file())).collect();
    Some(SessionFile { id: id.to_owned(), paths, modified_ms })
}

/// When a regular file was last written, milliseconds since the epoch.
fn modified_ms(path: &Path) -> Option<i64> {
    let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let since = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "tests make the files that the code reads")]

    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::testing::{host, write};

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
