//! Cursor's transcripts: `~/.cursor/projects/<folder>/agent-transcripts/<id>/<id>.jsonl`, those of subagents in
//! `<id>/subagents`; older versions put `<id>.jsonl` or `<id>.txt` straight into `agent-transcripts`. (Reported; the layout of
//! 2026.09.26 was recorded.) What is in them is not read yet.

use std::path::{Path, PathBuf};

use sessionpipe_core::adapter::SessionFile;
use sessionpipe_core::file::entries;
use sessionpipe_core::host::Host;
use sessionpipe_core::ids;

use crate::wiring::config_dir;

const SUBAGENTS: &str = "subagents";

pub(crate) fn roots(host: &Host) -> Vec<PathBuf> {
    vec![config_dir(host).join("projects")]
}

/// All conversations on disk, newest first.
pub(crate) fn sessions(host: &Host) -> Vec<SessionFile> {
    let projects = roots(host).into_iter().flat_map(|root| entries(&root));
    let transcripts = projects.flat_map(|project| entries(&project.join("agent-transcripts")));
    let mut sessions: Vec<SessionFile> = transcripts.filter_map(|path| session(&path)).collect();
    sessions.sort_by(|a, b| (&a.id, b.modified_ms).cmp(&(&b.id, a.modified_ms)));
    sessions.dedup_by(|next, kept| next.id == kept.id);
    SessionFile::newest_first(sessions)
}

/// One entry of `agent-transcripts`: a folder named after the conversation, or an older version's file.
fn session(path: &Path) -> Option<SessionFile> {
    let (id, main) = if path.is_dir() {
        let id = path.file_name()?.to_str()?;
        (id, path.join(format!("{id}.jsonl")))
    } else {
        let is_transcript = path.extension().is_some_and(|e| e == "jsonl" || e == "txt");
        (path.file_stem().filter(|_| is_transcript)?.to_str()?, path.to_owned())
    };
    if !ids::fits(id) {
        return None;
    }
    let mut session = SessionFile::at(id, main)?;
    let mut subagents: Vec<PathBuf> = entries(&path.join(SUBAGENTS)).collect();
    subagents.retain(|path| path.extension().is_some_and(|e| e == "jsonl"));
    subagents.sort();
    session.paths.append(&mut subagents);
    Some(session)
}

/// The conversation that a transcript is of, by its path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Conversation {
    pub(crate) id: String,
    /// The conversation whose subagent it is.
    pub(crate) parent: Option<String>,
}

pub(crate) fn conversation(path: &str) -> Option<Conversation> {
    let path = Path::new(path);
    let id = path.file_stem()?.to_str()?;
    let folder = path.parent().filter(|folder| folder.file_name().is_some_and(|name| name == SUBAGENTS));
    let parent = folder.and_then(|folder| folder.parent()?.file_name()?.to_str());
    Some(Conversation { id: id.to_owned(), parent: parent.map(str::to_owned) })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "tests make the files that the code reads")]

    use std::fs;
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
    fn conversations_come_newest_first_with_their_subagents() {
        let home = tempfile::tempdir().expect("a folder");
        let mut host = host(home.path());
        assert_eq!(sessions(&host), []);
        let transcripts = home.path().join(".cursor/projects/srv-app/agent-transcripts");
        write(&transcripts.join("c1/c1.jsonl"), 3_000);
        write(&transcripts.join("c1/subagents/a2.jsonl"), 900);
        write(&transcripts.join("c1/subagents/a1.jsonl"), 900);
        write(&transcripts.join("c2.txt"), 1_000);
        write(&transcripts.join("c3.jsonl"), 2_000);
        // One that an older version began in the older place.
        write(&transcripts.join("c1.jsonl"), 500);
        // What is none: no main file, another kind of file, a name that is no id.
        write(&transcripts.join("c4/other.jsonl"), 900);
        write(&transcripts.join("c5.json"), 900);
        write(&transcripts.join("no id.jsonl"), 900);
        let file = |id: &str, paths: &[&str], modified_ms| SessionFile {
            id: id.to_owned(),
            paths: paths.iter().map(|path| transcripts.join(path)).collect(),
            modified_ms,
        };
        let expected = [
            file("c1", &["c1/c1.jsonl", "c1/subagents/a1.jsonl", "c1/subagents/a2.jsonl"], 3_000_000),
            file("c3", &["c3.jsonl"], 2_000_000),
            file("c2", &["c2.txt"], 1_000_000),
        ];
        assert_eq!(sessions(&host), expected);
        assert_eq!(roots(&host), [home.path().join(".cursor/projects")]);
        host.env.insert("CURSOR_CONFIG_DIR".into(), "/elsewhere".into());
        assert_eq!(roots(&host), [Path::new("/elsewhere/projects")]);
    }

    #[test]
    fn a_path_tells_the_conversation_and_its_parent() {
        let told = |path| conversation(path).map(|told| (told.id, told.parent));
        assert_eq!(told("/h/agent-transcripts/c1/c1.jsonl"), Some(("c1".to_owned(), None)));
        let child = told("/h/agent-transcripts/c1/subagents/a1.jsonl");
        assert_eq!(child, Some(("a1".to_owned(), Some("c1".to_owned()))));
        assert_eq!(told("/h/agent-transcripts/c1.txt"), Some(("c1".to_owned(), None)));
        assert_eq!(told("/"), None);
    }
}
