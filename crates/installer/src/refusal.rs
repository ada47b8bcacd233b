//! Why a file is left alone, and where in it. Refused files are untouched, always.

use std::fmt;
use std::io::ErrorKind;

/// A place in a text file, for a message that shows the line and points into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// That line, without its ending (cut to [`Place::MAX_SOURCE`] characters around the column).
    pub source: String,
    /// Where in [`Self::source`] the column is, in characters, from 0.
    pub caret: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Why a file is left alone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It does not parse.
    #[error("{place}: {message}")]
    Syntax {
        /// Where.
        place: Place,
        /// What the parser wanted, as a lower-case fragment.
        message: String,
    },
    /// It parses, but holds another type where a container of hooks or an argv must be.
    #[error("{place}: {what} must be {expected}, not {found}")]
    WrongType {
        /// Where.
        place: Place,
        /// The key, e.g. `hooks.Stop`; `the document` for the root.
        what: String,
        /// e.g. `an object`.
        expected: &'static str,
        /// e.g. `an array`.
        found: &'static str,
    },
    /// Bytes that are no UTF-8.
    #[error("{place}: not UTF-8")]
    NotUtf8 {
        /// Where the first wrong byte is.
        place: Place,
    },
    /// The file, or the folder that a new file would go to, cannot be written.
    #[error("read-only (managed by your system configuration)")]
    ReadOnly,
    /// It belongs to another user. It is never chowned.
    #[error("it belongs to another user (uid {owner}, you are {you})")]
    ForeignOwner {
        /// The user id of the file's or folder's owner.
        owner: u32,
        /// Ours.
        you: u32,
    },
    /// A link to nowhere.
    #[error("link target does not exist: {target}")]
    DanglingLink {
        /// What the last link says.
        target: String,
    },
    /// Links that lead back to themselves.
    #[error("its links lead in a circle")]
    LinkLoop,
    /// A folder, or a link to one.
    #[error("it is a folder")]
    Folder,
    /// A pipe, socket or device.
    #[error("it is not a regular file")]
    NotRegular,
    /// Larger than [`sessionpipe_core::file::MAX_FILE`].
    #[error("{size} bytes are more than the {max} that are edited")]
    TooLarge {
        /// Its size in bytes.
        size: u64,
        /// The limit.
        max: u64,
    },
    /// A file of the name of ours that holds commands of others, or none.
    #[error("a file of this name that is not ours: move it away, or rename it")]
    Foreign,
    /// A file of ours that was edited by hand since, and would have to change.
    #[error("ours, but edited by hand: it is left as it is (--force replaces it)")]
    Edited,
    /// The edit would have touched more than our own entries, so it is not made.
    #[error("no edit was found that touches nothing but our own entries ({0})")]
    Unsafe(&'static str),
    /// It could not be read.
    #[error("cannot be read: {0}")]
    Unreadable(ErrorKind),
}

impl Refusal {
    /// Where in the file, where that is known.
    #[must_use]
    pub fn place(&self) -> Option<&Place> {
        match self {
            Self::Syntax { place, .. } | Self::WrongType { place, .. } | Self::NotUtf8 { place } => Some(place),
            _ => None,
        }
    }
}

impl Place {
    /// A longer source line is cut to this many characters: minified files have one line of megabytes.
    pub const MAX_SOURCE: usize = 120;

    /// The place of a byte offset in a text.
    #[must_use]
    pub fn of(text: &str, offset: usize) -> Self {
        let offset = (0..=offset.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let (before, after) = text.split_at(offset);
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let lead = &before[start..];
        let column = lead.chars().count();
        let tail = after.split('\n').next().unwrap_or_default();
        let tail = tail.strip_suffix('\r').unwrap_or(tail);
        let is_short = column + tail.chars().take(Self::MAX_SOURCE).count() <= Self::MAX_SOURCE;
        // Half of the window before the column, the rest behind it.
        let skip = if is_short { 0 } else { column.saturating_sub(Self::MAX_SOURCE / 2) };
        let source = lead.chars().skip(skip).chain(tail.chars()).take(Self::MAX_SOURCE).collect();
        Self { line: before.matches('\n').count() + 1, column: column + 1, source, caret: column - skip }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_counted_in_characters() {
        let place = Place::of("{\r\n  \"é\": [,]\r\n}", "{\r\n  \"é\": [".len());
        assert_eq!((place.line, place.column, place.caret), (2, 9, 8));
        assert_eq!(place.source, "  \"é\": [,]");
    }

    #[test]
    fn a_line_of_megabytes_is_cut_around_the_column() {
        let text = "x".repeat(5000);
        let place = Place::of(&text, 3000);
        assert_eq!((place.line, place.column), (1, 3001));
        assert_eq!((place.source.len(), place.caret), (120, 60));
    }
}
