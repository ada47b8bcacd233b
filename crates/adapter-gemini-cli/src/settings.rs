//! Gemini CLI's settings files, as it reads them: JSON and comments, no trailing comma, no byte order mark. One that it
//! cannot read keeps it from starting at all.

use std::fs;
use std::path::{Path, PathBuf};

use jsonc_parser::errors::ParseError;
use jsonc_parser::parse_to_serde_value;
use serde_json::Value;
use sessionpipe_core::file;
use sessionpipe_core::host::Host;
use sessionpipe_core::jsonc;

/// Why Gemini CLI cannot read a file.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error("it cannot be read: {0}")]
    Io(#[from] std::io::Error),
    #[error("it is empty")]
    Empty,
    #[error("it begins with a byte order mark")]
    Bom,
    #[error("it is not JSON with comments: {0}")]
    Syntax(#[from] ParseError),
    #[error("it is no object")]
    NotObject,
}

/// A file's value; `None` where there is no file.
pub(crate) fn read(path: &Path) -> Option<Result<Value, ReadError>> {
    path.exists().then(|| parse(&file::read(path)?))
}

fn parse(bytes: &[u8]) -> Result<Value, ReadError> {
    let text = String::from_utf8_lossy(bytes);
    if text.starts_with('\u{feff}') {
        return Err(ReadError::Bom);
    }
    if text.trim().is_empty() {
        return Err(ReadError::Empty);
    }
    let value: Value = parse_to_serde_value(&text, &jsonc::COMMENTS)?;
    if value.is_object() { Ok(value) } else { Err(ReadError::NotObject) }
}

/// Whose settings a file holds, those that count less first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    /// The machine's defaults.
    Defaults,
    /// The person's.
    User,
    /// The folder's, where it is trusted.
    Workspace,
    /// The machine's, which nobody overrides.
    System,
}

/// One settings file that is there.
#[derive(Debug)]
pub(crate) struct Layer {
    pub(crate) scope: Scope,
    pub(crate) file: PathBuf,
    pub(crate) value: Result<Value, ReadError>,
}

impl Layer {
    /// What it says at a JSON pointer.
    pub(crate) fn at(&self, pointer: &str) -> Option<&Value> {
        self.value.as_ref().ok()?.pointer(pointer)
    }
}

/// What the layer that counts most says, of those that say yes or no.
pub(crate) fn last<'a>(layers: impl IntoIterator<Item = &'a Layer>, pointer: &str) -> Option<bool> {
    layers.into_iter().filter_map(|layer| layer.at(pointer)?.as_bool()).last()
}

/// The settings files that are there, those that count less first.
pub(crate) fn layers(host: &Host) -> Vec<Layer> {
    let system = system_settings(host);
    let defaults = match host.path_var("GEMINI_CLI_SYSTEM_DEFAULTS_PATH") {
        Some(file) => file,
        None => system.with_file_name("system-defaults.json"),
    };
    let user = user_settings(host);
    let workspace = host.cwd.join(".gemini").join(SETTINGS);
    let mut files = vec![(Scope::Defaults, defaults), (Scope::User, user), (Scope::System, system)];
    if !is_home(host, &host.cwd) {
        files.insert(2, (Scope::Workspace, workspace));
    }
    files.into_iter().filter_map(|(scope, file)| read(&file).map(|value| Layer { scope, file, value })).collect()
}

/// The name of every settings file.
const SETTINGS: &str = "settings.json";

/// The person's settings.
pub(crate) fn user_settings(host: &Host) -> PathBuf {
    gemini_dir(host).join(SETTINGS)
}

/// `.gemini` in `$GEMINI_CLI_HOME`, which stands for the home as it is (no tilde is expanded; an empty value counts as
/// unset), else in the home.
pub(crate) fn gemini_dir(host: &Host) -> PathBuf {
    host.path_var(HOME_VAR).unwrap_or_else(|| host.home.clone()).join(".gemini")
}

/// The variable that stands for the home.
pub(crate) const HOME_VAR: &str = "GEMINI_CLI_HOME";

/// In the home the folder's settings are the person's.
fn is_home(host: &Host, dir: &Path) -> bool {
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    gemini_dir(host).parent().is_some_and(|home| real(home) == real(dir))
}

/// Under /etc, on macOS under /Library.
fn system_settings(host: &Host) -> PathBuf {
    let library = host.etc.with_file_name("Library").join("Application Support/GeminiCli");
    let dir = if library.is_dir() { library } else { host.etc.join("gemini-cli") };
    host.path_var("GEMINI_CLI_SYSTEM_SETTINGS_PATH").unwrap_or_else(|| dir.join(SETTINGS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_read_and_all_else_is_json() {
        let value = parse(b"// a\n{ \"a\": \"//x\", /* b */ \"c\": [1] }").expect("a value");
        assert_eq!(value, serde_json::json!({"a": "//x", "c": [1]}));
        for (text, why) in [
            ("", "it is empty"),
            ("\u{feff}{}", "it begins with a byte order mark"),
            ("[]", "it is no object"),
            ("{\n \"a\": 1,\n}", "it is not JSON with comments: Trailing commas are not allowed on line 2 column 8"),
        ] {
            assert_eq!(parse(text.as_bytes()).expect_err(text).to_string(), why);
        }
        for text in ["{'a':1}", "{a:1}", "{\"a\":0x1}", "{\"a\":1 \"b\":2}", "{} {}", "{"] {
            assert!(matches!(parse(text.as_bytes()), Err(ReadError::Syntax(_))), "{text}");
        }
    }
}
