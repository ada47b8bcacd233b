//! What could keep the extension silent, beyond what the installer sees in the file itself.

use std::path::Path;

use serde_json::Value;
use sessionpipe_core::adapter::{Finding, Level};
use sessionpipe_core::file;
use sessionpipe_core::harness::fits;
use sessionpipe_core::host::Host;

use super::{EXTENSION, agent_dir};

const SETTINGS: &str = "settings.json";

pub(crate) fn check(host: &Host) -> Vec<Finding> {
    switched_off(host).into_iter().chain(second_copy(host)).collect()
}

/// `pi config` switches an extension off by an entry of `extensions` in settings.json: `-PATH`, or `!PATTERN`. The last word
/// is an exact `-PATH`'s, then `+PATH`'s. (Pi's patterns can say more than `*`: what they say beyond that is not looked
/// for.)
pub(super) fn switched_off(host: &Host) -> Option<Finding> {
    let settings = agent_dir(host).join(SETTINGS);
    let document: Value = serde_json::from_slice(&file::read(&settings).ok()?).ok()?;
    let entries: Vec<&str> = document.get("extensions")?.as_array()?.iter().filter_map(Value::as_str).collect();
    let full = agent_dir(host).join(EXTENSION);
    let is_ours = |entry: &str, sign: char| {
        entry.strip_prefix(sign).is_some_and(|path| {
            Path::new(path.trim_start_matches("./")) == Path::new(EXTENSION) || Path::new(path) == full
        })
    };
    let excludes = |entry: &str| {
        let name = full.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let paths = [EXTENSION, name, full.to_str().unwrap_or_default()];
        entry.strip_prefix('!').is_some_and(|pattern| paths.iter().any(|path| fits(pattern, path)))
    };
    let exact = entries.iter().find(|entry| is_ours(entry, '-'));
    let kept = entries.iter().any(|entry| is_ours(entry, '+'));
    let entry = exact.or_else(|| entries.iter().find(|entry| !kept && excludes(entry)))?;
    Some(Finding {
        level: Level::Problem,
        file: Some(settings),
        text: format!("`extensions` holds {entry:?}: Pi does not load the extension of sessionpipe"),
        fix: Some("switch it on in `pi config`, or remove the entry".to_owned()),
    })
}

/// A project's own copy, as somebody may have put there by hand. Of two, the one that loads first speaks.
fn second_copy(host: &Host) -> Option<Finding> {
    let copy = host.cwd.join(".pi").join(EXTENSION);
    copy.is_file().then(|| Finding {
        level: Level::Note,
        file: Some(copy),
        text: "this project has a copy of the extension; only one of the two speaks".to_owned(),
        fix: Some("remove the project's copy".to_owned()),
    })
}
