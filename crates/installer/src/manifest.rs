//! What `install` did, so that `uninstall` can give back the bytes. Written before any config is.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sessionpipe_core::host::Host;

/// The format that this program writes. Bumped whenever a field is added, so that an older program does not drop it.
pub const VERSION: u32 = 1;

/// `installed.json` in the state folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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

/// What was done to one config.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// `harness.name`.
    #[serde(default)]
    pub harness: String,
    /// When, RFC 3339.
    #[serde(default)]
    pub at: String,
    /// The native events that were wired.
    #[serde(default)]
    pub events: Vec<String>,
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

fn first_version() -> u32 {
    1
}

impl Manifest {
    /// The manifest of this state folder; an empty one where there is none.
    ///
    /// # Errors
    /// See [`ManifestError`].
    pub fn read(host: &Host) -> Result<Self, ManifestError> {
        let _ = host;
        unimplemented!()
    }
}
