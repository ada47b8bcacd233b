//! What a person sees: stdout and stderr, colours, aligned tables, wrapped text. Everything that came from elsewhere is
//! [cleaned](clean) first, so that no title or path can speak to the terminal.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

/// Where a command writes to.
#[derive(Clone, Debug)]
pub struct Out {
    color: bool,
    /// Columns of the terminal; `None` when stdout is none, then nothing is wrapped or cut.
    width: Option<usize>,
    /// A person can be asked.
    interactive: bool,
    home: PathBuf,
}

/// What a piece of text means. Colour never carries it alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// As it should be; an added line.
    Good,
    /// The person should look.
    Warn,
    /// Wrong; a removed line.
    Bad,
    /// Beside the point.
    Faint,
    /// A name.
    Name,
    /// Where a diff has a hunk.
    Hunk,
    /// Nothing special.
    Plain,
}

impl Role {
    const fn style(self) -> Style {
        match self {
            Self::Good => AnsiColor::Green.on_default(),
            Self::Warn => AnsiColor::Yellow.on_default(),
            Self::Bad => AnsiColor::Red.on_default(),
            Self::Faint => Style::new().dimmed(),
            Self::Name => Style::new().bold(),
            Self::Hunk => AnsiColor::Cyan.on_default(),
            Self::Plain => Style::new(),
        }
    }
}

impl Out {
    /// The program's own streams. Colours follow `NO_COLOR`, `CLICOLOR`, `CLICOLOR_FORCE` and `TERM`.
    #[must_use]
    pub fn new(home: &Path) -> Self {
        let stdout = io::stdout();
        let color = !matches!(anstream::AutoStream::choice(&stdout), anstream::ColorChoice::Never);
        let terminal = stdout.is_terminal();
        let width = terminal.then(terminal_size::terminal_size).flatten().map(|(width, _)| usize::from(width.0));
        Self { color, width, interactive: terminal && io::stdin().is_terminal(), home: home.to_owned() }
    }

    /// No colours, no width, nobody to ask.
    #[must_use]
    pub fn plain() -> Self {
        Self { color: false, width: None, interactive: false, home: PathBuf::new() }
    }

    /// Whether somebody sits at the terminal who can answer.
    #[must_use]
    pub fn is_interactive(&self) -> bool {
        self.interactive
    }

    /// Columns, when there is a terminal.
    #[must_use]
    pub fn width(&self) -> Option<usize> {
        self.width
    }

    /// A path with the home written `~`.
    #[must_use]
    pub fn path(&self, path: &Path) -> String {
        sessionpipe_core::host::tilde(&self.home, path)
    }

    /// The same for every path below the home in a text.
    #[must_use]
    pub fn tildes(&self, text: &str) -> String {
        match self.home.to_str().filter(|home| home.len() > 1) {
            Some(home) => text.replace(&format!("{home}/"), "~/"),
            None => text.to_owned(),
        }
    }

    /// Text in the colour of its role, where colours are shown.
    #[must_use]
    pub fn paint(&self, role: Role, text: &str) -> String {
        if !self.color || role == Role::Plain || text.is_empty() {
            return text.to_owned();
        }
        let style = role.style();
        format!("{style}{text}{style:#}")
    }

    /// Writes text to stdout as it is.
    ///
    /// # Errors
    /// When stdout cannot be written; a broken pipe among them.
    pub fn print(&self, text: &str) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        stdout.flush()
    }

    /// Writes one JSON document, indented, to stdout.
    ///
    /// # Errors
    /// When stdout cannot be written.
    pub fn json(&self, value: &impl Serialize) -> io::Result<()> {
        let mut text = serde_json::to_string_pretty(value).map_err(io::Error::other)?;
        text.push('\n');
        self.print(&text)
    }

    /// Writes text to stderr; where that cannot be written there is nobody left to tell.
    pub fn complain(&self, text: &str) {
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    /// Asks a question that only `y` or `yes` answers with yes.
    ///
    /// # Errors
    /// When the terminal cannot be read or written.
    pub fn ask(&self, question: &str) -> io::Result<bool> {
        self.print(&format!("{question} [y/N] "))?;
        let mut answer = String::new();
        if io::stdin().read_line(&mut answer)? == 0 {
            // No answer, and so no end of the line either.
            self.print("\n")?;
        }
        Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
    }

    /// A unified diff with its lines coloured. Its text stays as it is, so that `patch` takes it, but for a terminal
    /// escapes in it are made visible.
    #[must_use]
    pub fn diff(&self, diff: &str) -> String {
        let mut text = String::with_capacity(diff.len());
        for line in diff.split_inclusive('\n') {
            let role = match line.as_bytes() {
                [b'+', ..] => Role::Good,
                [b'-', ..] => Role::Bad,
                [b'@', b'@', ..] => Role::Hunk,
                _ => Role::Plain,
            };
            let end = line.len() - line.trim_end_matches(['\r', '\n']).len();
            let (body, end) = line.split_at(line.len() - end);
            let body: Cow<'_, str> =
                if self.width.is_some() { body.replace('\u{1b}', "␛").into() } else { body.into() };
            text.push_str(&self.paint(role, &body));
            text.push_str(end);
        }
        text
    }

    /// Words of a paragraph, wrapped to the terminal, each further line `indent` columns to the right.
    #[must_use]
    pub fn wrap(&self, text: &str, indent: usize) -> String {
        /// Text is not squeezed into less than this.
        const NARROWEST: usize = 30;
        let Some(width) = self.width.map(|w| w.saturating_sub(indent).max(NARROWEST)) else {
            return text.to_owned();
        };
        let mut wrapped = String::new();
        let mut column = 0;
        for word in text.split(' ') {
            let len = word.width();
            if column > 0 && column + 1 + len > width {
                let _ = write!(wrapped, "\n{}", " ".repeat(indent));
                column = 0;
            } else if column > 0 {
                wrapped.push(' ');
                column += 1;
            }
            wrapped.push_str(word);
            column += len;
        }
        wrapped
    }
}

/// Text from elsewhere, on one line: control characters and what turns the direction of writing cannot reach the terminal.
#[must_use]
pub fn clean(text: &str) -> Cow<'_, str> {
    let hostile = |c: char| {
        c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(hostile) {
        return text.into();
    }
    let shown = |c: char| if matches!(c, '\n' | '\r' | '\t') { ' ' } else { '\u{fffd}' };
    text.chars().map(|c| if hostile(c) { shown(c) } else { c }).collect::<String>().into()
}

/// At most so many columns; `…` where something was cut.
#[must_use]
pub fn cut(text: &str, columns: usize) -> Cow<'_, str> {
    if text.width() <= columns {
        return text.into();
    }
    let mut kept = String::new();
    for c in text.chars() {
        if kept.width() + c.to_string().width() + 1 > columns {
            break;
        }
        kept.push(c);
    }
    kept.push('…');
    kept.into()
}

/// One cell of a [`Table`].
#[derive(Clone, Debug)]
pub struct Cell {
    text: String,
    role: Role,
}

/// A cell in the colour of its role.
#[must_use]
pub fn cell(role: Role, text: impl AsRef<str>) -> Cell {
    Cell { text: clean(text.as_ref()).into_owned(), role }
}

/// Rows with aligned columns, two spaces apart.
#[derive(Clone, Debug, Default)]
pub struct Table {
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// Adds a row.
    pub fn row(&mut self, cells: impl Into<Vec<Cell>>) {
        self.rows.push(cells.into());
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The width of each column.
    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width =
            |column: usize| self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.text.width()).max();
        (0..columns).map(|column| width(column).unwrap_or(0)).collect()
    }

    /// The rows, each a line without its end.
    #[must_use]
    pub fn lines(&self, out: &Out) -> Vec<String> {
        let widths = self.widths();
        let line = |row: &Vec<Cell>| {
            let mut line = String::new();
            for (index, (cell, width)) in row.iter().zip(&widths).enumerate() {
                line.push_str(&out.paint(cell.role, &cell.text));
                if index + 1 < row.len() {
                    line.push_str(&" ".repeat(width - cell.text.width() + 2));
                }
            }
            line.truncate(line.trim_end().len());
            line
        };
        self.rows.iter().map(line).collect()
    }

    /// The rows as one text.
    #[must_use]
    pub fn render(&self, out: &Out) -> String {
        self.lines(out).into_iter().map(|line| line + "\n").collect()
    }
}

/// `1 file`, `2 files`.
#[must_use]
pub fn count(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// A number with its thousands apart.
#[must_use]
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Bytes in the largest unit that leaves a whole number.
#[must_use]
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 4] = ["B", "KB", "MB", "GB"];
    let mut value = n;
    let mut unit = 0;
    while value >= 1024 && unit + 1 < UNITS.len() {
        value = (value + 512) / 1024;
        unit += 1;
    }
    format!("{value} {}", UNITS.get(unit).unwrap_or(&""))
}

/// How long ago, in the largest whole unit: `3 s`, `12 m`, `5 h`, `30 days`.
#[must_use]
pub fn span(ms: i64) -> String {
    const SECOND: i64 = 1000;
    const MINUTE: i64 = 60 * SECOND;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    match ms.max(0) {
        ms if ms < MINUTE => format!("{} s", ms / SECOND),
        ms if ms < HOUR => format!("{} m", ms / MINUTE),
        ms if ms < 2 * DAY => format!("{} h", ms / HOUR),
        ms => format!("{} days", ms / DAY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_by_what_is_seen() {
        let mut table = Table::default();
        table.row([cell(Role::Plain, "a"), cell(Role::Plain, "日本"), cell(Role::Plain, "x")]);
        table.row([cell(Role::Good, "abc"), cell(Role::Plain, "é"), cell(Role::Plain, "")]);
        assert_eq!(table.render(&Out::plain()), "a    日本  x\nabc  é\n");
    }

    #[test]
    fn the_home_is_a_tilde() {
        let out = Out { home: PathBuf::from("/home/dev"), ..Out::plain() };
        assert_eq!(out.tildes("/home/dev/x: not /home/developer/y"), "~/x: not /home/developer/y");
        assert_eq!(Out::plain().tildes("/x"), "/x");
    }

    #[test]
    fn nothing_from_elsewhere_reaches_the_terminal_raw() {
        assert_eq!(clean("fine ✓"), "fine ✓");
        assert_eq!(clean("a\u{1b}[2J\u{7}b\nc\u{202e}d"), "a\u{fffd}[2J\u{fffd}b c\u{fffd}d");
    }

    #[test]
    fn cut_counts_columns() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("日本語", 4), "日…");
    }

    #[test]
    fn numbers_for_people() {
        assert_eq!(
            (thousands(7), thousands(18_204), thousands(1_234_567)),
            ("7".into(), "18,204".into(), "1,234,567".into())
        );
        assert_eq!((bytes(0), bytes(2048), bytes(31 << 20)), ("0 B".into(), "2 KB".into(), "31 MB".into()));
        assert_eq!((span(3_999), span(720_000), span(90_000_000)), ("3 s".into(), "12 m".into(), "25 h".into()));
        assert_eq!(span(30 * 86_400_000), "30 days");
        assert_eq!((count(1, "file"), count(0, "file")), ("1 file".into(), "0 files".into()));
    }

    #[test]
    fn words_are_wrapped_with_an_indent() {
        let out = Out { width: Some(44), ..Out::plain() };
        assert_eq!(
            out.wrap("0123456789 0123456789 0123456789 0123456789", 4),
            "0123456789 0123456789 0123456789\n    0123456789"
        );
    }

    #[test]
    fn a_diff_stays_as_it_is_without_colours() {
        let diff = "--- a\n+++ b\n@@ -1 +1 @@\n-old\r\n+new\r\n\\ No newline at end of file\n";
        assert_eq!(Out::plain().diff(diff), diff);
        let colored = Out { color: true, ..Out::plain() }.diff("+new\r\n");
        assert_eq!(colored, "\u{1b}[32m+new\u{1b}[0m\r\n");
    }
}
