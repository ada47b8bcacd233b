//! What `install` did, so that `uninstall` can give back the bytes. Written before any config is.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sessionpipe_core::file;
use sessionpipe_core::host::Host;
use sessionpipe_core::ids;

use crate::edit::Undo;

/// The format that this program writes. Bumped whenever a field is added, so that an older program does not drop it.
pub const VERSION: u32 = 1;

/// `installed.json` in the state folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The format; a file without one is of the first.
    #[serde(default = "first_version")]
    pub version: u32,
    /// What was done to each config, by the path that the harness reads; the home is written `~`.
    #[serde(default)]
    pub files: BTreeMap<String, Record>,
    /// Copies of our programs.
    #[serde(default)]
    pub copies: Vec<PathBuf>,
}

/// What was done to one config. Every field may be missing: then undoing goes by structure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// `harness.name`.
    #[serde(default)]
    pub harness: String,
    /// When, RFC 3339.
    #[serde(default)]
    pub at: String,
    /// The native events that were wired; a key of a TOML document counts as one.
    #[serde(default)]
    pub events: Vec<String>,
    /// SHA-256 of what was written. As long as the file is this, its original bytes can be given back.
    #[serde(default)]
    pub after: Option<String>,
    /// What stood there before.
    #[serde(default)]
    pub original: Option<Original>,
    /// There was no file before the first install.
    #[serde(default)]
    pub made: bool,
    /// Containers that hold nothing but ours, as JSON pointers.
    #[serde(default)]
    pub created: Vec<String>,
    /// Folders that were made for the file, the outermost first.
    #[serde(default)]
    pub dirs: Vec<PathBuf>,
    /// How to undo it without its adapter.
    #[serde(default)]
    pub(crate) undo: Vec<Undo>,
}

impl Record {
    /// Whether the last install left something of ours in the file.
    pub(crate) fn is_wired(&self) -> bool {
        !self.events.is_empty()
    }
}

/// What stood in a file before `install`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Original {
    /// There was no file.
    Absent,
    /// These bytes: their SHA-256 in hex, which is also their name in the backup store.
    Backup(String),
}

/// Why the manifest cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// It cannot be read.
    #[error("{path}: {source}")]
    Read {
        /// The manifest.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is damaged. Removing it is safe: then `uninstall` removes by structure.
    #[error("{path} is damaged ({source}); remove it to go on without it")]
    Damaged {
        /// The manifest.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// A newer program wrote it.
    #[error("{path} was written by a newer sessionpipe (format {found}, this one knows {VERSION}); use that one")]
    Newer {
        /// The manifest.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
}

/// Read first: a newer format may differ in everything else.
#[derive(Deserialize)]
struct Header {
    #[serde(default = "first_version")]
    version: u32,
}

fn first_version() -> u32 {
    1
}

impl Default for Manifest {
    fn default() -> Self {
        Self { version: VERSION, files: BTreeMap::new(), copies: Vec::new() }
    }
}

impl Manifest {
    /// The manifest of this state folder; an empty one where there is none.
    ///
    /// # Errors
    /// See [`ManifestError`].
    pub fn read(host: &Host) -> Result<Self, ManifestError> {
        let path = host.dirs.manifest();
        let bytes = match file::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => return Err(ManifestError::Read { path, source }),
        };
        let damaged = |source| ManifestError::Damaged { path: path.clone(), source };
        let Header { version: found } = serde_json::from_slice(&bytes).map_err(damaged)?;
        if found > VERSION {
            return Err(ManifestError::Newer { path, found });
        }
        serde_json::from_slice(&bytes).map_err(damaged)
    }

    /// What was done to a config.
    #[must_use]
    pub fn record(&self, host: &Host, path: &Path) -> Option<&Record> {
        self.files.get(&host.tilde(path))
    }

    /// Whether nothing is left to undo.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.copies.is_empty()
    }
}

impl Record {
    /// The original text, where it is known, is a file, and its backup is whole.
    pub(crate) fn backup(&self, host: &Host) -> Option<String> {
        let Some(Original::Backup(sha256)) = &self.original else { return None };
        // Never a path: only what could be a name in the store.
        if !sha256.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let bytes = file::read(&host.dirs.backups().join(sha256)).ok()?;
        (ids::hex(&bytes) == *sha256).then(|| String::from_utf8(bytes).ok())?
    }
}

/// The path of a key of [`Manifest::files`].
pub(crate) fn path_of(host: &Host, key: &str) -> PathBuf {
    match key.strip_prefix("~/") {
        Some(rest) => host.home.join(rest),
        None => PathBuf::from(key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_without_most_fields_is_read() {
        let old = r#"{"files":{"~/.x/settings.json":{"events":["Stop"],"at":"2026-11-30T08:00:00Z"}}}"#;
        let manifest: Manifest = serde_json::from_str(old).expect("the first format");
        assert_eq!(manifest.version, 1);
        let record = &manifest.files["~/.x/settings.json"];
        assert_eq!((record.events.as_slice(), record.original.as_ref()), (&["Stop".to_owned()][..], None));
    }

    #[test]
    fn fields_of_a_newer_writer_do_not_hurt() {
        let new = r#"{"version":1,"files":{"/x":{"harness":"h","later":[1]}},"later":{}}"#;
        assert!(serde_json::from_str::<Manifest>(new).is_ok());
    }
}
