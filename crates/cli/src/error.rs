//! How a command ends: the documented exit codes, and the one place where the libraries' errors become a person's.

use std::fmt::Write as _;
use std::io;

use sessionpipe_core::host::Host;
use sessionpipe_installer::Place;
use sessionpipe_pipeline::outbox::OutboxError;
use unicode_width::UnicodeWidthStr as _;

use crate::out::{Out, Role, clean};

/// The exit codes, as `docs/exit-codes.md` lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// All was done, or there was nothing to do.
    Success = 0,
    /// Something failed, was refused, is left over or needs the person; what could be done was done.
    Attention = 1,
    /// The command line is wrong, or a question could not be asked. Nothing was changed.
    Usage = 2,
    /// `--check`: `install` would change something.
    WouldChange = 3,
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// What a command gives back: how it ended, or why it could not go on.
pub type Outcome = Result<Exit, CommandError>;

/// Why a command could not go on.
#[derive(Debug)]
pub struct CommandError {
    /// The exit code.
    pub exit: Exit,
    /// What went wrong, with its causes.
    pub source: anyhow::Error,
    /// The line of the file that it is about.
    pub place: Option<Place>,
    /// What the person can do, one sentence each.
    pub hints: Vec<String>,
}

/// What helps when the outbox is damaged.
pub(crate) const REPLACE_OUTBOX: &str = "to put it aside and begin a new one: sessionpipe flush";

/// The line of a file with a caret under the place that an error is about.
#[must_use]
pub fn source_line(place: &Place, out: &Out) -> String {
    let number = place.line.to_string();
    let gutter = " ".repeat(number.len());
    let bar = |left: &str| out.paint(Role::Faint, &format!("{left} |"));
    let before: String = place.source.chars().take(place.caret).collect();
    format!(
        "{empty}\n{numbered} {source}\n{empty} {space}{caret}\n",
        empty = bar(&gutter),
        numbered = bar(&number),
        source = clean(&place.source),
        space = " ".repeat(before.width()),
        caret = out.paint(Role::Bad, "^"),
    )
}

impl CommandError {
    /// The command line asks for something that there is not.
    pub fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self { exit: Exit::Usage, ..Self::failed(error) }
    }

    /// Something failed.
    pub fn failed(error: impl Into<anyhow::Error>) -> Self {
        Self { exit: Exit::Attention, source: error.into(), place: None, hints: Vec::new() }
    }

    /// The outbox cannot be read: which file, and what helps.
    pub fn outbox(host: &Host, error: OutboxError) -> Self {
        let hint = matches!(error, OutboxError::Damaged(_)).then_some(REPLACE_OUTBOX);
        let failed = Self::failed(anyhow::Error::from(error).context(host.tilde(&host.dirs.outbox())));
        hint.into_iter().fold(failed, Self::hint)
    }

    /// The same with one more thing to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Whoever reads our output has had enough: that is no error to report.
    fn is_broken_pipe(&self) -> bool {
        let broken = |e: &io::Error| e.kind() == io::ErrorKind::BrokenPipe;
        self.source.chain().any(|cause| cause.downcast_ref::<io::Error>().is_some_and(broken))
    }

    /// Says it on stderr, and how the program ends.
    #[must_use]
    pub fn report(&self, out: &Out) -> Exit {
        if self.is_broken_pipe() {
            return Exit::Success;
        }
        out.complain(&self.render(out));
        self.exit
    }

    fn render(&self, out: &Out) -> String {
        let what = out.tildes(&causes(&self.source));
        let mut text = format!("{} {}\n", out.paint(Role::Bad, "error:"), clean(&what));
        if let Some(place) = &self.place {
            text.push_str(&source_line(place, out));
        }
        for hint in &self.hints {
            let _ = writeln!(text, "  {} {}", out.paint(Role::Faint, "="), clean(hint));
        }
        text
    }
}

/// An error with its causes, each said once: some messages hold their cause already.
#[must_use]
pub fn causes(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        Self::failed(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_shows_its_causes_the_line_and_what_to_do() {
        let cause = io::Error::other("expected a value, found `,`");
        let source = anyhow::Error::from(cause).context("~/.claude/settings.json: line 7, column 12");
        let place = Place { line: 7, column: 12, source: "  \"stop\": [,]".to_owned(), caret: 11 };
        let error =
            CommandError { place: Some(place), ..CommandError::failed(source) }.hint("the file was not touched");
        assert_eq!(
            error.render(&Out::plain()),
            "error: ~/.claude/settings.json: line 7, column 12: expected a value, found `,`\n  \
             |\n7 |   \"stop\": [,]\n  |            ^\n  = the file was not touched\n"
        );
    }

    #[test]
    fn each_cause_is_said_once() {
        let error = anyhow::anyhow!("no space").context("x is damaged (no space)").context("cannot read");
        assert_eq!(causes(&error), "cannot read: x is damaged (no space)");
    }

    #[test]
    fn a_broken_pipe_is_quiet() {
        let broken = CommandError::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!(broken.report(&Out::plain()), Exit::Success);
    }
}
