//! What the person decided about one sink: a `[[sink]]` of the settings.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sessionpipe_core::event::{Event, EventType, Tier};
use sessionpipe_core::ids;
use sessionpipe_core::privacy::filter;
use sessionpipe_core::privacy::pii::Pii;

use super::target::{Encoding, Target};
use crate::platform;

/// One sink. A secret is never a part of it: only where to find it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sink {
    /// How the person calls it; no two have the same.
    pub name: String,
    /// Where it goes.
    pub target: Target,
    /// What an event carries at most.
    #[serde(default)]
    pub tier: Tier,
    /// Whether `pii@1` runs on what leaves.
    #[serde(default, skip_serializing_if = "is_default")]
    pub pii: bool,
    /// The variable that holds the bearer token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_env: Option<String>,
    /// The file that holds the bearer token; nobody else may read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
    /// The variable that holds the secret of the signature (`whsec_…`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_env: Option<String>,
    /// How sessions are named.
    #[serde(default, skip_serializing_if = "is_default")]
    pub session_ids: SessionIds,
    /// Of an OTLP target: how the request is written.
    #[serde(default, skip_serializing_if = "is_default")]
    pub encoding: Encoding,
    /// Only events of these harnesses; empty means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub harnesses: Vec<String>,
    /// Only events of these types; empty means all. `attention.*` stands for all that begin so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// Where it begins.
    #[serde(default, skip_serializing_if = "is_default")]
    pub from: Begin,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// How a sink's events name their sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionIds {
    /// By the harness's own ids.
    #[default]
    Native,
    /// By UUIDs: [`ids::uuid_of`].
    Uuid,
}

/// Where a new sink begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Begin {
    /// With the next event.
    #[default]
    Now,
    /// With the oldest event that the outbox holds.
    Start,
}

/// Where a secret is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'a> {
    /// In a variable of the environment.
    Env(&'a str),
    /// In a file.
    File(&'a PathBuf),
}

/// Why a secret cannot be had. Its text never holds any of it.
#[derive(Debug, thiserror::Error)]
pub enum NoSecret {
    /// The variable is not set where we run.
    #[error("${0} is not set in the environment of this process")]
    Unset(String),
    /// It holds what no header can.
    #[error("what {0} holds cannot be a token")]
    Unusable(String),
    /// The file can be read by others.
    #[error("{} can be read by others: chmod 600", .0.display())]
    Exposed(PathBuf),
    /// The file cannot be read.
    #[error("{}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
}

/// A secret, which no debug output shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The secret itself.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// No token is longer.
const MAX_SECRET: u64 = 16 * 1024;

impl Source<'_> {
    /// Reads the secret.
    ///
    /// # Errors
    /// When there is none, or others can read its file.
    pub fn read(self) -> Result<Secret, NoSecret> {
        let (text, place) = match self {
            Self::Env(name) => {
                let value = platform::var(name).filter(|value| !value.is_empty());
                let value = value.ok_or_else(|| NoSecret::Unset(name.to_owned()))?;
                let place = format!("${name}");
                (value.into_string().map_err(|_| NoSecret::Unusable(place.clone()))?, place)
            }
            Self::File(path) => {
                let unreadable = |error| NoSecret::Unreadable { path: path.clone(), error };
                let file = File::open(path).map_err(unreadable)?;
                let meta = file.metadata().map_err(unreadable)?;
                if meta.permissions().mode() & 0o077 != 0 {
                    return Err(NoSecret::Exposed(path.clone()));
                }
                let mut text = String::new();
                file.take(MAX_SECRET).read_to_string(&mut text).map_err(unreadable)?;
                (text, path.display().to_string())
            }
        };
        let text = text.trim();
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(NoSecret::Unusable(place));
        }
        Ok(Secret(text.to_owned()))
    }
}

impl Sink {
    /// A sink with nothing decided but where it goes.
    #[must_use]
    pub fn new(name: impl Into<String>, target: Target) -> Self {
        Self {
            name: name.into(),
            target,
            tier: 0,
            pii: false,
            token_env: None,
            token_file: None,
            secret_env: None,
            session_ids: SessionIds::default(),
            encoding: Encoding::default(),
            harnesses: Vec::new(),
            types: Vec::new(),
            from: Begin::default(),
        }
    }

    /// Where its bearer token is found, if it has one.
    #[must_use]
    pub fn token(&self) -> Option<Source<'_>> {
        let env = self.token_env.as_deref().map(Source::Env);
        env.or_else(|| self.token_file.as_ref().map(Source::File))
    }

    /// Where the secret of its signature is found, if it has one.
    #[must_use]
    pub fn secret(&self) -> Option<Source<'_>> {
        self.secret_env.as_deref().map(Source::Env)
    }

    /// Whether it wants events of this harness and type at all. That a session is to be forgotten is told to all that may
    /// hold something of it, whichever types they asked for; a command holds nothing.
    #[must_use]
    pub fn wants(&self, harness: &str, kind: &str) -> bool {
        let is_of = |pattern: &String| match pattern.strip_suffix(".*") {
            Some(family) => kind.strip_prefix(family).is_some_and(|rest| rest.starts_with('.')),
            None => pattern == kind,
        };
        let must_know =
            kind == EventType::SessionForgotten.name() && !matches!(self.target, Target::Exec(_) | Target::Stdout);
        (self.harnesses.is_empty() || self.harnesses.iter().any(|name| name == harness))
            && (self.types.is_empty() || must_know || self.types.iter().any(is_of))
    }

    /// The event as it leaves: filtered to `tier` (the sink's own, or less where the receiver takes less); `None` when
    /// it is not for this sink. `pii` is used where the sink asks for it.
    #[must_use]
    pub fn outgoing(&self, event: &Event, tier: Tier, pii: &Pii) -> Option<Event> {
        if !self.wants(&event.harness.name, &event.kind) {
            return None;
        }
        let mut event = filter(event, tier.min(self.tier), self.pii.then_some(pii))?;
        if self.session_ids == SessionIds::Uuid {
            let uuid = |id: &String| ids::uuid_of(&event.harness.name, id).to_string();
            let (id, parent_id) = (uuid(&event.session.id), event.session.parent_id.as_ref().map(uuid));
            event.session.id = id;
            event.session.parent_id = parent_id;
        }
        Some(event)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods)]

    use super::*;

    #[test]
    fn harnesses_and_types() {
        let mut sink = Sink::new("a", Target::Stdout);
        assert!(sink.wants("codex", "tool.ended"));
        sink.harnesses = vec!["codex".to_owned()];
        assert!(sink.wants("codex", "tool.ended") && !sink.wants("kiro", "tool.ended"));
        sink.types = vec!["attention.*".to_owned(), "turn.ended".to_owned()];
        assert!(sink.wants("codex", "attention.needed") && sink.wants("codex", "turn.ended"));
        assert!(!sink.wants("codex", "turn.started") && !sink.wants("codex", "attentions.x"));
        assert!(!sink.wants("codex", "session.forgotten"), "what was printed is gone");
        sink.target = Target::File("/a".into());
        assert!(sink.wants("codex", "session.forgotten") && !sink.wants("kiro", "session.forgotten"));
    }

    #[test]
    fn a_secret_is_read_from_a_file_that_only_its_owner_reads() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("token");
        std::fs::write(&path, "abc\n").expect("a file");
        let mode = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("ours");
        mode(0o644);
        assert!(matches!(Source::File(&path).read(), Err(NoSecret::Exposed(_))));
        mode(0o600);
        let secret = Source::File(&path).read().expect("a secret");
        assert_eq!((secret.expose(), format!("{secret:?}")), ("abc", "Secret(…)".to_owned()));
        std::fs::write(&path, "a\r\nb: c").expect("a file");
        assert!(matches!(Source::File(&path).read(), Err(NoSecret::Unusable(_))), "no header is smuggled in");
        let unset = Source::Env("SESSIONPIPE_TEST_NO_SUCH_VARIABLE").read();
        assert!(matches!(unset, Err(NoSecret::Unset(_))));
    }
}
