//! What could keep the plugin silent, beyond what the installer sees in the file itself.

use std::path::Path;

use sessionpipe_core::adapter::{Finding, Level};
use sessionpipe_core::host::Host;

use super::{ELSEWHERE, PLUGIN, copies};

pub(crate) fn check(host: &Host) -> Vec<Finding> {
    pure(host).into_iter().chain(copies(host).map(|path| second_copy(&path))).chain(in_project(host)).collect()
}

/// `--pure` sets this variable: no plugin is called.
fn pure(host: &Host) -> Option<Finding> {
    let value = host.var("OPENCODE_PURE")?.to_str()?;
    ["1", "true"].contains(&value.to_lowercase().as_str()).then(|| Finding {
        level: Level::Problem,
        file: None,
        text: format!("OPENCODE_PURE={value}: OpenCode calls no plugins"),
        fix: Some("unset OPENCODE_PURE".to_owned()),
    })
}

/// One of ours goes with the next `install`; another's of that name stays, and so does one that was edited.
fn second_copy(path: &Path) -> Finding {
    Finding {
        level: Level::Note,
        file: Some(path.to_owned()),
        text: "OpenCode loads this file, too; only one copy of the plugin of sessionpipe speaks".to_owned(),
        fix: Some("run `sessionpipe install`, which removes an old copy; if it is not one, rename it".to_owned()),
    }
}

/// A project's own copy, as somebody may have put there by hand.
fn in_project(host: &Host) -> impl Iterator<Item = Finding> {
    let dir = host.cwd.join(".opencode");
    let copies = ELSEWHERE.iter().chain(&[PLUGIN]).map(move |name| dir.join(name)).filter(|path| path.is_file());
    copies.map(|path| Finding {
        level: Level::Note,
        file: Some(path),
        text: "this project has a copy of the plugin; only one of them speaks".to_owned(),
        fix: Some("remove the project's copy".to_owned()),
    })
}
