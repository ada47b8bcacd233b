//! Session files: `tmp/<project>/chats/session-<start>-<first 8 of the id>.jsonl` (before April 2026: `.json`), and those of
//! its subagents in `chats/<session id>/`. Turns and usage are not read yet.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use sessionpipe_core::adapter::SessionFile;
use sessionpipe_core::file::{entries, modified_ms};
use sessionpipe_core::host::Host;
use sessionpipe_core::{ids, payload};

use crate::settings::gemini_dir;

/// How much of a file is searched for its session's id, which stands first.
const HEADER: u64 = 4 * 1024;

/// The folder of session files. Hooks of a resumed session name one that is not listed under its id, but lies there too.
pub(crate) fn roots(host: &Host) -> Vec<PathBuf> {
    vec![gemini_dir(host).join("tmp")]
}

/// All sessions, newest first. One that was resumed may have several files: those that are stubs were not written since.
pub(crate) fn sessions(host: &Host) -> Vec<SessionFile> {
    let mut sessions: Vec<SessionFile> = Vec::new();
    let chats = roots(host).into_iter().flat_map(|root| entries(&root)).map(|project| project.join("chats"));
    let mut files: Vec<_> = chats.flat_map(|chats| entries(&chats)).filter_map(session_file).collect();
    files.sort_by(|a, b| (b.modified_ms, &a.path).cmp(&(a.modified_ms, &b.path)));
    for ChatFile { id, path, modified_ms } in files {
        match sessions.iter_mut().find(|session| session.id == id) {
            Some(session) => session.paths.push(path),
            None => sessions.push(SessionFile { id, paths: vec![path], modified_ms }),
        }
    }
    for session in &mut sessions {
        let own = session.paths.first().map(|path| path.with_file_name(&session.id));
        let mut subagents: Vec<_> = own.iter().flat_map(|dir| entries(dir)).filter(|path| is_jsonl(path)).collect();
        subagents.sort();
        session.paths.append(&mut subagents);
    }
    sessions
}

struct ChatFile {
    id: String,
    path: PathBuf,
    modified_ms: i64,
}

fn session_file(path: PathBuf) -> Option<ChatFile> {
    let is_session = path.file_name()?.to_str()?.starts_with("session-");
    if !is_session || !(is_jsonl(&path) || path.extension()? == "json") {
        return None;
    }
    Some(ChatFile { modified_ms: modified_ms(&path)?, id: session_id(&path)?, path })
}

fn is_jsonl(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl")
}

/// The id in the first record; the older format is one record, of which the beginning is enough.
fn session_id(path: &Path) -> Option<String> {
    let mut header = Vec::new();
    File::open(path).ok()?.take(HEADER).read_to_end(&mut header).ok()?;
    let record = payload::parse(&header).ok()?;
    record.text(&["sessionId"]).filter(|id| ids::fits(id)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "tests make the files that the code reads")]

    use sessionpipe_core::testing::{host, write};
    use std::time::{Duration, SystemTime};

    use super::*;

    const ID: &str = "10d3f4e8-93a7-4a4c-9b2d-7cb0f3a1f001";

    fn chat(home: &Path, name: &str, seconds: u64, text: &str) -> PathBuf {
        let path = home.join(".gemini/tmp").join(name);
        write(&path, text);
        let file = File::options().write(true).open(&path).expect("a file");
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).expect("a time");
        path
    }

    fn header(id: &str) -> String {
        format!("{{\"sessionId\":\"{id}\",\"projectHash\":\"0\",\"kind\":\"main\"}}\n{{\"$set\":{{}}}}\n")
    }

    #[test]
    fn sessions_come_newest_first_with_all_their_files() {
        let home = tempfile::tempdir().expect("a folder");
        let main = chat(home.path(), "proj/chats/session-2026-11-30T08-03-10d3f4e8.jsonl", 3_000, &header(ID));
        let stub = chat(home.path(), "proj/chats/session-2026-11-30T08-09-10d3f4e8.jsonl", 2_000, &header(ID));
        let subagent = chat(home.path(), &format!("proj/chats/{ID}/abc123.jsonl"), 2_500, &header("abc123"));
        let long = "x".repeat(10_000);
        let old = format!(
            r#"{{"sessionId": "bbbb2222-0000-4000-8000-000000000000", "messages": [{{"content": "{long}"}}]}}"#
        );
        let old = chat(home.path(), "0a1b/chats/session-2026-01-01T10-00-bbbb2222.json", 1_000, &old);
        for other in
            ["proj/logs.json", "proj/chats/session-x.jsonl", "proj/chats/notes.jsonl", "proj/chats/session-y.txt"]
        {
            chat(home.path(), other, 5_000, "[]\n");
        }
        assert_eq!(
            sessions(&host(home.path())),
            [
                SessionFile { id: ID.to_owned(), paths: vec![main, stub, subagent], modified_ms: 3_000_000 },
                SessionFile {
                    id: "bbbb2222-0000-4000-8000-000000000000".to_owned(),
                    paths: vec![old],
                    modified_ms: 1_000_000
                },
            ]
        );
    }

    #[test]
    fn another_home_has_other_sessions() {
        let home = tempfile::tempdir().expect("a folder");
        chat(home.path(), "proj/chats/session-2026-11-30T08-03-10d3f4e8.jsonl", 3_000, &header(ID));
        let mut host = host(home.path());
        host.env.insert("GEMINI_CLI_HOME".to_owned(), home.path().join("other").into());
        assert_eq!(sessions(&host), []);
        assert_eq!(roots(&host), [home.path().join("other/.gemini/tmp")]);
    }
}
