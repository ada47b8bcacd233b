//! A program on a screen, through tmux.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use regex::Regex;

use super::catalog::{Question, ScreenStep};
use super::namespace::{self, POLL};

/// How long a screen may take to show what is waited for.
const PATIENCE: Duration = Duration::from_secs(40);

/// A program that gets a text and the Enter key at once takes them for a paste.
const TYPING: Duration = Duration::from_millis(500);

/// A screen with one program on it.
pub struct Screen<'a> {
    socket: PathBuf,
    exit: PathBuf,
    env: &'a [(String, String)],
}

impl<'a> Screen<'a> {
    /// Starts a program on a screen. `run` is a folder for the socket and the exit code.
    ///
    /// # Errors
    /// Where tmux cannot start.
    pub fn start(command: &[String], env: &'a [(String, String)], cwd: &Path, run: &Path) -> anyhow::Result<Self> {
        let screen = Self { socket: run.join("tmux"), exit: run.join("exit"), env };
        let _ = fs::remove_file(&screen.exit);
        let words = command.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''")));
        let line = words.collect::<Vec<_>>().join(" ");
        let line = format!("{line}; echo $? > '{}'", screen.exit.display());
        let mut tmux = screen.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", "150", "-y", "50", &line]);
        let started = namespace::spawn(tmux.current_dir(cwd)).context("tmux is needed for a screen")?.wait()?;
        if !started.success() {
            bail!("tmux cannot start");
        }
        Ok(screen)
    }

    fn tmux(&self, args: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&self.socket).args(args).env_clear();
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn tell(&self, args: &[&str]) -> anyhow::Result<()> {
        namespace::spawn(&mut self.tmux(args))?.wait()?;
        Ok(())
    }

    /// What it shows.
    #[must_use]
    pub fn text(&self) -> String {
        let shown = namespace::spawn(self.tmux(&["capture-pane", "-p"]).stdout(Stdio::piped()));
        let shown = shown.and_then(Child::wait_with_output);
        shown.map_or_else(|_| String::new(), |shown| String::from_utf8_lossy(&shown.stdout).into_owned())
    }

    /// Does one step.
    ///
    /// # Errors
    /// Where the screen does not show what is waited for; with what it shows.
    pub fn step(&self, step: &ScreenStep) -> anyhow::Result<()> {
        match step {
            ScreenStep::Wait(pattern) => {
                let pattern = Regex::new(pattern)?;
                self.until(pattern.as_str(), |text| pattern.is_match(text))
            }
            ScreenStep::Answer(questions) => self.answer(questions),
            ScreenStep::Type(text) => {
                thread::sleep(TYPING);
                self.tell(&["send-keys", "-l", text])?;
                thread::sleep(TYPING);
                self.tell(&["send-keys", "Enter"])
            }
            ScreenStep::Key(key) => {
                thread::sleep(TYPING);
                self.tell(&["send-keys", key])
            }
            ScreenStep::Pause(ms) => {
                thread::sleep(Duration::from_millis(*ms));
                Ok(())
            }
            // Not of the screen.
            ScreenStep::Install(_) => Ok(()),
        }
    }

    fn answer(&self, questions: &[Question]) -> anyhow::Result<()> {
        let shows = questions.iter().map(|q| Regex::new(&q.shows)).collect::<Result<Vec<_>, _>>()?;
        loop {
            let mut asked = None;
            self.until("any known question", |text| {
                asked = shows.iter().position(|shows| shows.is_match(text));
                asked.is_some()
            })?;
            let Some(question) = asked.and_then(|at| questions.get(at)) else { return Ok(()) };
            if question.keys.is_empty() {
                return Ok(());
            }
            for key in &question.keys {
                self.step(&ScreenStep::Key(key.clone()))?;
            }
            // Until the answer shows, the question would be taken for a new one.
            thread::sleep(TYPING * 2);
        }
    }

    fn until(&self, what: &str, mut shows: impl FnMut(&str) -> bool) -> anyhow::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let text = self.text();
            if shows(&text) {
                return Ok(());
            }
            if Instant::now() > deadline || self.exit_code().is_some() {
                bail!("the screen never showed {what}:\n{}", text.trim_end());
            }
            thread::sleep(POLL * 5);
        }
    }

    /// How the program exited; nothing while it runs.
    #[must_use]
    pub fn exit_code(&self) -> Option<i32> {
        fs::read_to_string(&self.exit).ok()?.trim().parse().ok()
    }

    /// Waits for the program to end by itself.
    ///
    /// # Errors
    /// Where it does not.
    pub fn end(&self) -> anyhow::Result<i32> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(code) = self.exit_code() {
                return Ok(code);
            }
            if Instant::now() > deadline {
                bail!("the program does not end; its screen:\n{}", self.text().trim_end());
            }
            thread::sleep(POLL);
        }
    }
}

impl Drop for Screen<'_> {
    fn drop(&mut self) {
        let _ = self.tell(&["kill-server"]);
    }
}
