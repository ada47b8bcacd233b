//! Edits as splices in the person's own bytes. Whatever is not spliced is identical by construction.

use std::ops::Range;

/// One replacement: these bytes go, that text comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Splice {
    pub(crate) range: Range<usize>,
    pub(crate) insert: String,
}

impl Splice {
    pub(crate) fn insert(at: usize, insert: impl Into<String>) -> Self {
        Self { range: at..at, insert: insert.into() }
    }

    pub(crate) fn delete(range: Range<usize>) -> Self {
        Self { range, insert: String::new() }
    }

    pub(crate) fn replace(range: Range<usize>, insert: impl Into<String>) -> Self {
        Self { range, insert: insert.into() }
    }
}

/// The text with all splices made; `None` when two of them overlap or one cuts a character.
pub(crate) fn splice(text: &str, mut splices: Vec<Splice>) -> Option<String> {
    splices.sort_by_key(|s| (s.range.start, s.range.end));
    let mut out = String::with_capacity(text.len() + splices.iter().map(|s| s.insert.len()).sum::<usize>());
    let mut done = 0;
    for Splice { range, insert } in &splices {
        out.push_str(text.get(done..range.start)?);
        out.push_str(insert);
        text.get(range.clone())?;
        done = range.end;
    }
    out.push_str(text.get(done..)?);
    Some(out)
}

/// The byte order mark, where there is one, and the rest. Parsers take none.
pub(crate) fn split_bom(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 })
}

/// The ending of the line that holds `at`; of the line before, where that one has none.
pub(crate) fn newline_at(text: &str, at: usize) -> &'static str {
    let end = text[at..].find('\n').map(|i| at + i).or_else(|| text[..at].rfind('\n'));
    match end {
        Some(end) if text[..end].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// The start of the line that holds `at`.
pub(crate) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |i| i + 1)
}

/// Behind the ending of the line that holds `at`; the end of the text where it has none.
pub(crate) fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |i| at + i + 1)
}

/// The white space that the line of `at` begins with.
pub(crate) fn line_indent(text: &str, at: usize) -> &str {
    let line = &text[line_start(text, at)..at];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// How comments look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comments {
    /// `//` to the end of the line, and `/* */`.
    Slashes,
    /// `#` to the end of the line.
    Hash,
}

/// What lies between two children of a container: white space, comments and at most one comma.
#[derive(Debug)]
struct Gap {
    comma: Option<usize>,
    /// Behind the last comma or comment; the start of the gap where there is none.
    end: usize,
    /// The last of them is a comment that only a line ending ends.
    line_comment: bool,
    comments: bool,
}

impl Comments {
    fn gap(self, text: &str, range: Range<usize>) -> Gap {
        let bytes = text.as_bytes();
        let mut gap = Gap { comma: None, end: range.start, line_comment: false, comments: false };
        let mut at = range.start;
        while at < range.end {
            let rest = &text[at..range.end];
            let len = match (self, bytes[at]) {
                (_, b',') => {
                    gap.comma = Some(at);
                    gap.line_comment = false;
                    1
                }
                (Self::Slashes, b'/') if rest.starts_with("/*") => {
                    gap.comments = true;
                    gap.line_comment = false;
                    rest.find("*/").map_or(rest.len(), |i| i + 2)
                }
                (Self::Slashes, b'/') | (Self::Hash, b'#') => {
                    gap.comments = true;
                    gap.line_comment = true;
                    rest.find(['\n', '\r']).unwrap_or(rest.len())
                }
                _ => {
                    at += rest.chars().next().map_or(1, char::len_utf8);
                    continue;
                }
            };
            at += len;
            gap.end = at;
        }
        gap
    }
}

/// An object or array in a text: where its brackets are, and its children.
#[derive(Clone, Debug)]
pub(crate) struct Container {
    /// The opening bracket.
    pub(crate) open: usize,
    /// The closing bracket.
    pub(crate) close: usize,
    /// Members or elements, in order.
    pub(crate) children: Vec<Range<usize>>,
    pub(crate) comments: Comments,
}

/// How children are set apart where they are added.
pub(crate) struct Spacing<'a> {
    /// What follows a comma where children share a line.
    pub(crate) inline: &'a str,
    /// What stands inside the brackets of a container whose children share their line.
    pub(crate) pad: &'a str,
    /// One step of indentation.
    pub(crate) unit: &'a str,
}

impl Container {
    fn gap_before(&self, text: &str, child: usize) -> Gap {
        let from = child.checked_sub(1).map_or(self.open + 1, |before| self.children[before].end);
        let to = self.children.get(child).map_or(self.close, |c| c.start);
        self.comments.gap(text, from..to)
    }

    /// Whether the first child stands on a line of its own.
    pub(crate) fn is_expanded(&self, text: &str) -> bool {
        self.children.first().is_some_and(|c| text[self.open..c.start].contains('\n'))
    }

    /// Whether the next child goes on a line of its own, given the ones that are there. An empty container does as told.
    pub(crate) fn appends_on_lines(&self, text: &str, if_empty: bool) -> bool {
        match self.children.len() {
            0 => if_empty,
            n => {
                let gap = self.gap_before(text, n);
                let from = n.checked_sub(2).map_or(self.open, |before| self.children[before].end);
                gap.line_comment || text[from..self.children[n - 1].start].contains('\n')
            }
        }
    }

    /// The ending of the line that [`Self::append`] inserts after.
    pub(crate) fn newline(&self, text: &str) -> &'static str {
        newline_at(text, self.gap_before(text, self.children.len()).end)
    }

    /// The indentation of the lines of what is appended.
    pub(crate) fn item_indent(&self, text: &str, on_lines: bool, unit: &str) -> String {
        if on_lines { self.child_indent(text, unit) } else { line_indent(text, self.close).to_owned() }
    }

    fn child_indent(&self, text: &str, unit: &str) -> String {
        match self.children.last() {
            Some(last) => line_indent(text, last.start).to_owned(),
            None => format!("{}{unit}", line_indent(text, self.open)),
        }
    }

    /// Adds children behind the last one. `on_lines` as [`Self::appends_on_lines`] says.
    pub(crate) fn append(&self, text: &str, items: &[String], on_lines: bool, spacing: &Spacing<'_>) -> Vec<Splice> {
        let count = self.children.len();
        let gap = self.gap_before(text, count);
        let newline = newline_at(text, gap.end);
        let separator = if on_lines {
            format!("{newline}{}", self.child_indent(text, spacing.unit))
        } else {
            spacing.inline.into()
        };
        let joined = items.join(&format!(",{separator}"));
        let Some(last) = self.children.last() else {
            let (before, after) = if on_lines {
                (separator, format!("{newline}{}", line_indent(text, self.open)))
            } else {
                (spacing.pad.to_owned(), spacing.pad.to_owned())
            };
            if !gap.comments {
                return vec![Splice::replace(self.open + 1..self.close, format!("{before}{joined}{after}"))];
            }
            // The comments stay first; a line comment must not swallow what follows.
            let after = if text[gap.end..self.close].contains('\n') { String::new() } else { after };
            let before = if gap.line_comment && !on_lines { newline.to_owned() } else { before };
            return vec![Splice::insert(gap.end, format!("{before}{joined}{after}"))];
        };
        match gap.comma {
            Some(_) => vec![Splice::insert(gap.end, format!("{separator}{joined},"))],
            None if gap.end == last.end => vec![Splice::insert(last.end, format!(",{separator}{joined}"))],
            None => vec![Splice::insert(last.end, ","), Splice::insert(gap.end, format!("{separator}{joined}"))],
        }
    }

    /// Whether nothing stays on the line behind a run of children that go.
    fn is_line_free_behind(&self, text: &str, index: usize, gone: &[usize]) -> bool {
        let last = (index..self.children.len()).take_while(|i| gone.binary_search(i).is_ok()).last().unwrap_or(index);
        let next = self.children.get(last + 1).map_or(self.close, |c| c.start);
        let stays = text[self.children[last].end..next].split_once('\n');
        stays.is_some_and(|(rest, _)| rest.trim_matches([' ', '\t', '\r', ',']).is_empty())
    }

    /// Takes children out: the inverse of [`Self::append`] for the last ones. `gone` is sorted.
    pub(crate) fn remove(&self, text: &str, gone: &[usize]) -> Vec<Splice> {
        let count = self.children.len();
        let all_gone = gone.len() == count;
        if all_gone && !(0..=count).any(|i| self.gap_before(text, i).comments) {
            return vec![Splice::delete(self.open + 1..self.close)];
        }
        let last_kept = (0..count).rev().find(|i| gone.binary_search(i).is_err());
        let trailing_comma = self.gap_before(text, count).comma.is_some();
        let mut splices = Vec::new();
        for &index in gone {
            let child = &self.children[index];
            let (before, after) = (self.gap_before(text, index), self.gap_before(text, index + 1));
            let is_tail = last_kept.is_none_or(|kept| kept < index);
            let lead = &text[before.end..child.start];
            let mut from = before.end;
            let mut to = child.end;
            if is_tail && !trailing_comma {
                match before.comma {
                    Some(comma) if comma + 1 == before.end => from = comma,
                    Some(comma) => splices.push(Splice::delete(comma..comma + 1)),
                    None => {}
                }
            } else if let Some(comma) = after.comma {
                if text[child.end..comma].trim().is_empty() {
                    to = comma + 1;
                } else {
                    splices.push(Splice::delete(comma..comma + 1));
                }
                if !is_tail && !lead.contains('\n') {
                    // The first on its line, or between others on one line: what follows moves to its place.
                    from = child.start;
                    to += text[to..].len() - text[to..].trim_start_matches([' ', '\t']).len();
                }
            }
            if before.line_comment && !self.is_line_free_behind(text, index, gone) {
                // The comment keeps the line ending that ends it.
                from = child.start;
            }
            splices.push(Splice::delete(from..to));
        }
        splices
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An array of one-letter elements in a text.
    fn container(text: &str) -> Container {
        let (open, close) = (text.find('[').expect("open"), text.rfind(']').expect("close"));
        let mut children = Vec::new();
        let mut in_comment = false;
        let bytes = text.as_bytes();
        for (at, byte) in bytes.iter().enumerate().take(close).skip(open) {
            match byte {
                b'/' if bytes[at + 1] == b'/' => in_comment = true,
                b'\n' => in_comment = false,
                b'a'..=b'z' if !in_comment => children.push(at..at + 1),
                _ => {}
            }
        }
        Container { open, close, children, comments: Comments::Slashes }
    }

    fn append(text: &str, items: &[&str]) -> String {
        let c = container(text);
        let items: Vec<String> = items.iter().map(|i| (*i).to_owned()).collect();
        let on_lines = c.appends_on_lines(text, text.contains('\n'));
        let spacing = Spacing { inline: " ", pad: "", unit: "  " };
        splice(text, c.append(text, &items, on_lines, &spacing)).expect("no overlap")
    }

    fn remove(text: &str, gone: &[usize]) -> String {
        splice(text, container(text).remove(text, gone)).expect("no overlap")
    }

    #[test]
    fn appended_as_the_neighbours_are_and_taken_out_again() {
        for (before, after) in [
            ("[]", "[x, y]"),
            ("[a]", "[a, x, y]"),
            ("[ a ]", "[ a, x, y ]"),
            ("[a,]", "[a, x, y,]"),
            ("[\n  a\n]", "[\n  a,\n  x,\n  y\n]"),
            ("[\r\n\ta,\r\n]", "[\r\n\ta,\r\n\tx,\r\n\ty,\r\n]"),
            ("[\n  a // note\n]", "[\n  a, // note\n  x,\n  y\n]"),
            ("[\n  a, // note\n]", "[\n  a, // note\n  x,\n  y,\n]"),
            ("[a // note\n]", "[a, // note\nx,\ny\n]"),
        ] {
            assert_eq!(append(before, &["x", "y"]), after);
            let n = container(before).children.len();
            assert_eq!(remove(after, &[n, n + 1]), before);
        }
    }

    #[test]
    fn an_empty_container_keeps_its_comments() {
        assert_eq!(append("[\n]", &["x"]), "[\n  x\n]");
        assert_eq!(append("[ // note\n]", &["x"]), "[ // note\n  x\n]");
        assert_eq!(remove("[ // note\n  x\n]", &[0]), "[ // note\n]");
    }

    #[test]
    fn removed_from_the_middle_and_the_front() {
        for (before, gone, after) in [
            ("[a, b, c]", &[1][..], "[a, c]"),
            ("[a, b, c]", &[0, 1], "[c]"),
            ("[a,b,c]", &[0], "[b,c]"),
            ("[a, b, c]", &[0, 2], "[b]"),
            ("[\n  a,\n  b,\n  c\n]", &[0], "[\n  b,\n  c\n]"),
            ("[\n  a,\n  b,\n  c\n]", &[1, 2], "[\n  a\n]"),
            ("[\n  a, // of a\n  b\n]", &[0], "[ // of a\n  b\n]"),
            ("[a, b, c]", &[0, 1, 2], "[]"),
        ] {
            assert_eq!(remove(before, gone), after, "{before}");
        }
    }

    #[test]
    fn splices_that_overlap_or_cut_a_character_are_refused() {
        assert_eq!(splice("abc", vec![Splice::delete(0..2), Splice::delete(1..3)]), None);
        assert_eq!(splice("é", vec![Splice::delete(0..1)]), None);
        assert_eq!(splice("abc", vec![Splice::insert(3, "d"), Splice::delete(0..1)]).as_deref(), Some("bcd"));
    }

    #[test]
    fn the_ending_of_the_line_that_is_inserted_after() {
        let text = "a\r\nb\nc";
        assert_eq!([0, 3, 5].map(|at| newline_at(text, at)), ["\r\n", "\n", "\n"]);
    }
}
