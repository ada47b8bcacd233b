//! Kiro's session files: where they lie. Turns are not read yet.
//!
//! - `kiro-cli` 2.x, TUI: `sessions/cli/ID.jsonl`, with a sidecar `ID.json`. `--classic` and `--no-interactive` write to a
//!   database in the data folder instead.
//! - The IDE since 1.0 and `--v3`: `sessions/HASH/sess_ID/messages.jsonl`, with `session.json` beside it.
//!
//! IDEs before 1.0 keep theirs in VS Code's global storage.

use std::path::PathBuf;

use sessionpipe_core::adapter::SessionFile;
use sessionpipe_core::file::entries;
use sessionpipe_core::host::Host;

use crate::wiring::kiro_home;

/// The folder of kiro-cli 2.x; every other one is a workspace's.
const CLI: &str = "cli";

pub(crate) fn roots(host: &Host) -> Vec<PathBuf> {
    vec![kiro_home(host).join("sessions")]
}

/// All sessions on disk, newest first, by names and times alone.
pub(crate) fn sessions(host: &Host) -> Vec<SessionFile> {
    let root = kiro_home(host).join("sessions");
    let of_cli = entries(&root.join(CLI)).filter_map(|file| {
        let id = file.file_stem().filter(|_| file.extension().is_some_and(|ext| ext == "jsonl"))?.to_str()?;
        session(id, file.clone(), file.with_extension("json"))
    });
    let workspaces = entries(&root).filter(|dir| !dir.ends_with(CLI));
    let of_workspaces = workspaces.flat_map(|dir| entries(&dir)).filter_map(|dir| {
        let id = dir.file_name()?.to_str().filter(|id| id.starts_with("sess_"))?;
        session(id, dir.join("messages.jsonl"), dir.join("session.json"))
    });
    SessionFile::newest_first(of_cli.chain(of_workspaces))
}

/// A session, if its log is a file; `facts` is what lies beside it, where it is there.
fn session(id: &str, log: PathBuf, facts: PathBuf) -> Option<SessionFile> {
    let mut session = SessionFile::at(id, log)?;
    session.paths.extend(Some(facts).filter(|facts| facts.is_file()));
    Some(session)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "tests make the files that the code reads")]

    use std::fs;
    use std::time::{Duration, UNIX_EPOCH};

    use sessionpipe_core::testing::{NOW_MS, host, write};
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn sessions_of_both_engines_are_listed_newest_first() {
        let home = TempDir::new().expect("a folder");
        let sessions_dir = home.path().join(".kiro/sessions");
        let make = |name: &str, seconds_ago: u64| {
            let path = sessions_dir.join(name);
            write(&path, "{}\n");
            let at = UNIX_EPOCH + Duration::from_millis(u64::try_from(NOW_MS).expect("a time") - 1_000 * seconds_ago);
            fs::File::options().write(true).open(&path).expect("a file").set_modified(at).expect("a time");
            path
        };
        let cli = make("cli/e36d6e16-bf0a-4982-91e1-68e63be0fa60.jsonl", 20);
        let sidecar = make("cli/e36d6e16-bf0a-4982-91e1-68e63be0fa60.json", 1);
        make("cli/e36d6e16-bf0a-4982-91e1-68e63be0fa60.lock", 1);
        let ide = make("9f3a/sess_0f0f0f0f-1111-4222-8333-444444444444/messages.jsonl", 10);
        make("9f3a/index/messages.jsonl", 1);
        let expected = |id: &str, paths: &[&PathBuf], seconds_ago: i64| SessionFile {
            id: id.to_owned(),
            paths: paths.iter().map(|path| (*path).clone()).collect(),
            modified_ms: NOW_MS - 1_000 * seconds_ago,
        };
        let host = host(home.path());
        assert_eq!(
            sessions(&host),
            [
                expected("sess_0f0f0f0f-1111-4222-8333-444444444444", &[&ide], 10),
                expected("e36d6e16-bf0a-4982-91e1-68e63be0fa60", &[&cli, &sidecar], 20),
            ]
        );
        assert_eq!(roots(&host), [sessions_dir]);
    }
}
