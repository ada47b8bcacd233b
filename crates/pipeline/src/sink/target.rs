//! Where a sink goes, as the person types it and the settings keep it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use ureq::http::Uri;

/// Where a sink goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Target {
    /// A file of JSON lines; absolute.
    File(PathBuf),
    /// The standard output of `sessionpipe flush`.
    Stdout,
    /// A receiver that speaks the protocol's HTTP binding.
    Http(Uri),
    /// An OTLP endpoint, by its HTTP URL without the `otlp+`.
    Otlp(Uri),
    /// A command of the shell, run once per event with the event on its stdin.
    Exec(String),
}

/// How the requests of an OTLP sink are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Encoding {
    /// Protobuf, compressed.
    #[default]
    Protobuf,
    /// JSON, by the mapping of OTLP.
    Json,
}

/// Why a text is no target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTarget {
    /// It is no URL.
    #[error("{0:?} is no URL")]
    Url(String),
    /// A token would cross the network in the clear.
    #[error("http:// only reaches this machine (localhost, 127.0.0.1, [::1]); use https://")]
    Plain,
    /// A user and a password are no part of a URL here, nor anything behind a `#`.
    #[error("a URL here holds no user, no password and no fragment: give the token by --token-env or --token-file")]
    Credentials,
    /// No such scheme.
    #[error("{0:?} is no kind of target: a path, stdout, http(s)://…, otlp+http(s)://… or exec:COMMAND")]
    Scheme(String),
    /// Relative to what?
    #[error("a file is named by an absolute path")]
    Relative,
    /// Nothing is named.
    #[error("there is no target")]
    Empty,
}

impl FromStr for Target {
    type Err = BadTarget;

    fn from_str(text: &str) -> Result<Self, BadTarget> {
        if let Some(command) = text.strip_prefix("exec:") {
            let command = command.trim();
            return if command.is_empty() { Err(BadTarget::Empty) } else { Ok(Self::Exec(command.to_owned())) };
        }
        if text == "stdout" {
            return Ok(Self::Stdout);
        }
        match text.split_once("://") {
            Some(("http" | "https", _)) => Ok(Self::Http(url(text)?)),
            Some(("otlp+http" | "otlp+https", _)) => Ok(Self::Otlp(url(text.trim_start_matches("otlp+"))?)),
            Some(("file", path)) if Path::new(path).is_absolute() => Ok(Self::File(path.into())),
            Some((scheme, _)) => Err(BadTarget::Scheme(scheme.to_owned())),
            None if text.is_empty() => Err(BadTarget::Empty),
            None if Path::new(text).is_absolute() => Ok(Self::File(text.into())),
            None => Err(BadTarget::Relative),
        }
    }
}

/// A URL that a token may be sent to.
fn url(text: &str) -> Result<Uri, BadTarget> {
    let uri: Uri = text.parse().map_err(|_| BadTarget::Url(text.to_owned()))?;
    let authority = uri.authority().ok_or_else(|| BadTarget::Url(text.to_owned()))?;
    if authority.as_str().contains('@') || text.contains('#') {
        return Err(BadTarget::Credentials);
    }
    if uri.scheme_str() != Some("https") && !is_loopback(&uri) {
        return Err(BadTarget::Plain);
    }
    Ok(uri)
}

/// Whether a URL names this machine: by the three names that the protocol allows without TLS.
#[must_use]
pub fn is_loopback(uri: &Uri) -> bool {
    matches!(uri.host(), Some("localhost" | "127.0.0.1" | "[::1]"))
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Stdout => f.write_str("stdout"),
            Self::Http(uri) => uri.fmt(f),
            Self::Otlp(uri) => write!(f, "otlp+{uri}"),
            Self::Exec(command) => write!(f, "exec:{command}"),
        }
    }
}

impl From<Target> for String {
    fn from(target: Target) -> Self {
        target.to_string()
    }
}

impl TryFrom<String> for Target {
    type Error = BadTarget;

    fn try_from(text: String) -> Result<Self, BadTarget> {
        text.parse()
    }
}

impl Target {
    /// A name for a sink of which the person gave none: the host, the file's name, the program's.
    #[must_use]
    pub fn suggested_name(&self) -> String {
        let name = match self {
            Self::File(path) => path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            Self::Stdout => "stdout".to_owned(),
            Self::Http(uri) | Self::Otlp(uri) => uri.host().unwrap_or_default().to_owned(),
            Self::Exec(command) => {
                let program = command.split_whitespace().next().unwrap_or_default();
                program.rsplit('/').next().unwrap_or_default().to_owned()
            }
        };
        let fits = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' };
        let name: String = name.chars().map(fits).collect();
        let name = name.trim_matches('-').to_owned();
        if name.is_empty() { "sink".to_owned() } else { name }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_comes_back() {
        for text in [
            "/var/log/agents.jsonl",
            "stdout",
            "https://pipe.example.com/v1",
            "http://127.0.0.1:8080/",
            "otlp+http://localhost:4318/",
            "otlp+https://collector.example.com:4318/",
            "exec:notify-send agent",
        ] {
            assert_eq!(text.parse::<Target>().expect(text).to_string(), text);
        }
    }

    #[test]
    fn what_cannot_be_a_target() {
        let plain =
            ["http://pipe.example.com", "http://127.0.0.1.example.com", "http://127.0.0.2", "otlp+http://x:4318"];
        for text in plain {
            assert_eq!(text.parse::<Target>(), Err(BadTarget::Plain), "{text}");
        }
        assert_eq!("https://me:secret@x.example".parse::<Target>(), Err(BadTarget::Credentials));
        assert_eq!("https://x.example/#a".parse::<Target>(), Err(BadTarget::Credentials));
        assert_eq!("ftp://x".parse::<Target>(), Err(BadTarget::Scheme("ftp".to_owned())));
        assert_eq!("events.jsonl".parse::<Target>(), Err(BadTarget::Relative));
        assert_eq!("exec: ".parse::<Target>(), Err(BadTarget::Empty));
        assert_eq!("".parse::<Target>(), Err(BadTarget::Empty));
        assert!(matches!("https://".parse::<Target>(), Err(BadTarget::Url(_))));
    }

    #[test]
    fn names_that_are_suggested() {
        let name = |text: &str| text.parse::<Target>().expect(text).suggested_name();
        assert_eq!(name("/var/log/agents.jsonl"), "agents.jsonl");
        assert_eq!(name("https://pipe.example.com/v1"), "pipe.example.com");
        assert_eq!(name("exec:/usr/bin/notify-send 'hi there'"), "notify-send");
        assert_eq!(name("http://[::1]:8080/"), "1");
    }
}
