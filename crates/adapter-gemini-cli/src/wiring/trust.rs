//! Which folders Gemini CLI trusts. It keeps what the person said in `trustedFolders.json`:
//!
//! ```json
//! {"/home/dev/proj": "TRUST_FOLDER", "/home/dev/src/app": "TRUST_PARENT", "/tmp": "DO_NOT_TRUST"}
//! ```
//!
//! The longest path that a folder lies in decides.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sessionpipe_core::host::Host;

use crate::settings::{self, Layer, ReadError, Scope, gemini_dir};

/// Whether folders have to be trusted at all. A folder's own settings have no say in it.
pub(super) fn is_asked_for(layers: &[Layer]) -> bool {
    let layers = layers.iter().filter(|layer| layer.scope != Scope::Workspace);
    settings::last(layers, "/security/folderTrust/enabled") != Some(false)
}

/// What the environment says of every folder.
pub(super) fn by_environment(host: &Host) -> Option<bool> {
    let is = |name: &str, value: &str| host.var(name).is_some_and(|given| given == value);
    if is("GEMINI_RESTRICTED_MODE", "true") || is("GEMINI_CLI_TRUST_WORKSPACE", "false") {
        return Some(false);
    }
    is("GEMINI_CLI_TRUST_WORKSPACE", "true").then_some(true)
}

/// The file of trusted folders.
pub(super) fn file(host: &Host) -> PathBuf {
    host.path_var("GEMINI_CLI_TRUSTED_FOLDERS_PATH").unwrap_or_else(|| gemini_dir(host).join("trustedFolders.json"))
}

/// What the person said of folders.
#[derive(Debug, Default)]
pub(super) struct Trusted {
    /// The folder as it is written, the folder that is meant, and whether it is trusted.
    rules: Vec<(String, PathBuf, bool)>,
}

impl Trusted {
    /// Reads the file; nothing is trusted where there is none.
    pub(super) fn read(host: &Host) -> Result<Self, ReadError> {
        Ok(settings::read(&file(host)).transpose()?.as_ref().map(Self::new).unwrap_or_default())
    }

    fn new(document: &Value) -> Self {
        let rules = document.as_object().into_iter().flatten().filter_map(|(path, level)| {
            let folder = Path::new(path);
            let (folder, trusted) = match level.as_str()? {
                "TRUST_FOLDER" => (folder, true),
                "TRUST_PARENT" => (folder.parent().unwrap_or(folder), true),
                "DO_NOT_TRUST" => (folder, false),
                _ => return None,
            };
            Some((path.clone(), real(folder), trusted))
        });
        Self { rules: rules.collect() }
    }

    /// Whether the person trusts a folder; `None` where nothing was said.
    pub(super) fn is_trusted(&self, folder: &Path) -> Option<bool> {
        let folder = real(folder);
        let rules = self.rules.iter().filter(|(_, of, _)| folder.starts_with(of));
        rules.max_by_key(|(path, ..)| path.len()).map(|(_, _, trusted)| *trusted)
    }
}

fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// The folders that Gemini CLI worked in and that are still there.
pub(super) fn projects(host: &Host) -> Vec<PathBuf> {
    let Some(Ok(registry)) = settings::read(&gemini_dir(host).join("projects.json")) else { return Vec::new() };
    let projects = registry.get("projects").and_then(Value::as_object).into_iter().flatten();
    projects.map(|(path, _)| PathBuf::from(path)).filter(|path| path.is_dir()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_longest_rule_decides() {
        let trusted = Trusted::new(&json!({
            "/srv": "DO_NOT_TRUST", "/srv/app": "TRUST_FOLDER", "/opt/a/b": "TRUST_PARENT", "/x": "trust", "/y": 1,
        }));
        for (folder, expected) in [
            ("/srv/other", Some(false)),
            ("/srv/app/src", Some(true)),
            ("/srv/application", Some(false)),
            ("/opt/a/c", Some(true)),
            ("/opt/x", None),
            ("/x", None),
        ] {
            assert_eq!(trusted.is_trusted(Path::new(folder)), expected, "{folder}");
        }
    }
}
