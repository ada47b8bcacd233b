//! Codex's config files as it reads them. Both formats become JSON values, so that the hooks of either look alike.

use std::io::ErrorKind;
use std::path::Path;

use serde_json::Value;
use sessionpipe_core::command::owned;
use sessionpipe_core::file;

use crate::HARNESS;

/// Why a file is of no use to Codex.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    #[error("it cannot be read: {0}")]
    Io(#[from] std::io::Error),
    #[error("it is not UTF-8")]
    NotUtf8,
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    #[error("{message}{}", line.map(|line| format!(" at line {line}")).unwrap_or_default())]
    Toml { message: String, line: Option<usize> },
}

/// A file's value; `None` where there is no file, or a blank one.
pub(super) fn read(path: &Path) -> Result<Option<Value>, ReadError> {
    let bytes = match file::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let text = String::from_utf8(bytes).map_err(|_| ReadError::NotUtf8)?;
    if text.trim().is_empty() {
        return Ok(None);
    }
    if path.extension().is_some_and(|extension| extension == "toml") {
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let value = toml_edit::de::from_str(text).map_err(|error| ReadError::Toml {
            message: error.message().to_owned(),
            line: error.span().and_then(|span| Some(text.get(..span.start)?.matches('\n').count() + 1)),
        })?;
        return Ok(Some(value));
    }
    Ok(Some(serde_json::from_str(&text)?))
}

/// One handler, with its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handler<'a> {
    pub(super) event: &'a str,
    pub(super) group_at: usize,
    pub(super) group: &'a Value,
    pub(super) handler_at: usize,
    pub(super) handler: &'a Value,
}

impl Handler<'_> {
    pub(super) fn command(&self) -> Option<&str> {
        self.handler.get("command")?.as_str()
    }

    pub(super) fn is_ours(&self) -> bool {
        self.command().and_then(owned).is_some_and(|ours| ours.harness == HARNESS.name)
    }
}

/// The handlers of `hooks`, the member of that name in either file. What else stands there (`state`) has none.
pub(super) fn handlers(hooks: Option<&Value>) -> impl Iterator<Item = Handler<'_>> {
    let events = hooks.and_then(Value::as_object).into_iter().flatten();
    events.flat_map(move |(event, groups)| {
        items(Some(groups)).enumerate().flat_map(move |(group_at, group)| {
            items(group.get("hooks")).enumerate().map(move |(handler_at, handler)| Handler {
                event,
                group_at,
                group,
                handler_at,
                handler,
            })
        })
    })
}

fn items(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}
