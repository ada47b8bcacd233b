//! A text file that is wholly ours.
//!
//! Its first line is a comment, `// sessionpipe VERSION sha256:HEX`, with the hash of all that follows. So a file of any
//! version of ours is known without a record, and so is one that a person edited.

use json_patch::jsonptr::PointerBuf;
use json_patch::{Patch, PatchOperation, ReplaceOperation};
use serde_json::Value;
use sessionpipe_core::command::owned_argv;
use sessionpipe_core::ids;

use crate::edit::Edited;
use crate::refusal::Refusal;
use crate::status::Fault;

/// What follows the comment sign in the first line.
const MARK: &str = " sessionpipe ";

/// What precedes the hash.
const HASH: &str = "sha256:";

/// The file, and what becomes of it.
pub(crate) struct Text<'a> {
    /// The harness that the file must name.
    pub(crate) harness: &'a str,
    /// What makes the first line a comment.
    pub(crate) comment: &'a str,
    /// What it must hold below its first line; `None`: it must go.
    pub(crate) body: Option<&'a str>,
    /// Replace (or remove) it even when the person edited it.
    pub(crate) force: bool,
}

impl Text<'_> {
    /// Makes the edit in a text without a byte order mark; an empty text is no file.
    pub(crate) fn edit(&self, text: &str) -> Result<Edited, Refusal> {
        let mut edited = Edited { text: text.to_owned(), ..Edited::default() };
        if text.trim().is_empty() {
            if let Some(body) = self.body {
                edited.faults.push(Fault::Missing("the file".to_owned()));
                edited.tally.added = 1;
                edited.remarks.push("the plugin".to_owned());
                self.write(&mut edited, body);
            }
            return Ok(edited);
        }
        let Some(there) = Marked::read(self.comment, text) else {
            return if self.body.is_some() { Err(Refusal::Foreign) } else { Ok(edited) };
        };
        edited.programs = programs(self.harness, there.body);
        edited.handlers = 1;
        if !there.is_edited && self.body == Some(there.body) {
            return Ok(edited);
        }
        if there.is_edited && !self.force {
            return Err(Refusal::Edited);
        }
        match self.body {
            Some(body) => {
                let name = "the file".to_owned();
                let is_moved = edited.programs != programs(self.harness, body);
                edited.faults.push(if is_moved { Fault::OldPath(name) } else { Fault::Differs(name) });
                edited.tally.updated = 1;
                edited.remarks.push("the plugin to update".to_owned());
                self.write(&mut edited, body);
            }
            None => {
                edited.tally.removed = 1;
                edited.text = String::new();
                edited.patch = Patch(vec![replace(Value::Null)]);
            }
        }
        Ok(edited)
    }

    fn write(&self, edited: &mut Edited, body: &str) {
        edited.text = whole(self.comment, body);
        edited.patch = Patch(vec![replace(Value::String(edited.text.clone()))]);
    }
}

/// The whole file, its first line included.
pub(crate) fn whole(comment: &str, body: &str) -> String {
    format!("{comment}{MARK}{} {HASH}{}\n{body}", env!("CARGO_PKG_VERSION"), ids::hex(body.as_bytes()))
}

/// What is there of ours, for comparing.
pub(crate) fn entries(comment: &str, text: &str) -> Vec<(String, Value)> {
    Marked::read(comment, text).map(|there| (String::new(), there.body.into())).into_iter().collect()
}

fn replace(value: Value) -> PatchOperation {
    PatchOperation::Replace(ReplaceOperation { path: PointerBuf::new(), value })
}

/// A file of ours.
struct Marked<'t> {
    body: &'t str,
    is_edited: bool,
}

impl<'t> Marked<'t> {
    fn read(comment: &str, text: &'t str) -> Option<Self> {
        let (first, body) = text.split_once('\n')?;
        let (_version, hash) = first.trim_end().strip_prefix(comment)?.strip_prefix(MARK)?.split_once(' ')?;
        let hash = hash.strip_prefix(HASH)?;
        Some(Self { body, is_edited: hash != ids::hex(body.as_bytes()) })
    }
}

/// The programs that a text names, by the JSON lists in it that are an argv of ours.
fn programs(harness: &str, body: &str) -> Vec<String> {
    let lists = body.lines().filter_map(|line| line.get(line.find("[\"")?..=line.rfind(']')?));
    let argvs = lists.filter_map(|list| serde_json::from_str::<Vec<String>>(list).ok());
    argvs.filter_map(|argv| owned_argv(&argv)).filter(|ours| ours.harness == harness).map(|ours| ours.program).collect()
}
