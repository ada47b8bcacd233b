//! What the lab knows of each harness, read from the data files in `conformance/live`: which package, how it is started,
//! which scenarios it plays and what must come out. No harness is named in the code.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

/// `versions.toml`: harness → package.
pub type Versions = BTreeMap<String, Package>;

/// Where a harness comes from.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// The npm package's name.
    pub package: String,
    /// The version that the default run takes.
    pub version: String,
    /// What runs it, where that shall not be the machine's own node.
    #[serde(default)]
    pub runtime: Option<Runtime>,
}

/// A runtime from npm; in its texts `{cpu}` is filled in.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Runtime {
    /// The npm package's name.
    pub package: String,
    /// Its version.
    pub version: String,
    /// The program, from the package's folder.
    pub program: String,
}

/// `HARNESS.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Harness {
    /// Commands that may start it; the first whose last word exists is taken.
    pub program: Vec<Vec<String>>,
    /// Variables that it needs, fake keys included.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Files that must exist before its first start, with their text.
    #[serde(default)]
    pub seed: BTreeMap<String, String>,
    /// Words for the other texts.
    #[serde(default)]
    pub vars: BTreeMap<String, String>,
    /// Lists of arguments: the word `@NAME` in a command stands for the list NAME.
    #[serde(default)]
    pub lists: BTreeMap<String, Vec<String>>,
    /// Arguments of a headless turn in a new session.
    pub turn: Vec<String>,
    /// Arguments of a headless turn that continues the newest session.
    pub next: Vec<String>,
    /// Arguments of the program on a screen.
    #[serde(default)]
    pub screen: Vec<String>,
    /// Lines that are no trace of ours, as regular expressions: what the program prints for anybody's hooks, and what it
    /// prints at one time and not at another.
    #[serde(default)]
    pub ignore: Vec<String>,
    /// What it plays.
    pub scenario: Vec<Scenario>,
}

/// One scenario of one harness.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scenario {
    /// As `--scenario` names it.
    pub name: String,
    /// Only with this version.
    pub version: Option<String>,
    /// The prompts of a headless session, one turn each.
    pub prompts: Vec<String>,
    /// How many such sessions run at once; 0 is one.
    pub at_once: usize,
    /// The prompts once more, in another session, with these variables too.
    pub again: BTreeMap<String, String>,
    /// Something that happens while a turn runs.
    pub act: Option<Act>,
    /// What to do on a screen, instead of headless turns.
    pub screen: Vec<ScreenStep>,
    /// More variables, for `install` and the program.
    pub env: BTreeMap<String, String>,
    /// More, or other, seeds.
    pub seed: BTreeMap<String, String>,
    /// Other words.
    pub vars: BTreeMap<String, String>,
    /// Other lists.
    pub lists: BTreeMap<String, Vec<String>>,
    /// How the program exits. Absent: by a signal.
    pub exit: Option<i32>,
    /// The event stream of each session, in the language of [`super::expect`].
    pub events: Vec<String>,
    /// How many sessions report; 0 is one.
    pub sessions: usize,
    /// After `install` the program that the configs name is removed.
    pub without_program: bool,
    /// Files and what they must hold afterwards, as regular expressions.
    pub leaves: BTreeMap<String, String>,
    /// What `doctor --json` must say, as a regular expression.
    pub doctor: Option<String>,
}

/// Something that happens while a turn runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Act {
    /// Once this file of the project exists: a command of the model's makes it.
    pub when: String,
    /// What.
    pub what: What,
}

/// What happens while a turn runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// SIGINT to the program's process group, as a terminal does.
    Interrupt,
    /// SIGTERM to the program itself.
    Terminate,
    /// Five seconds in which the process that a plugin of ours writes to does nothing. The model's command may go on at once.
    Stall,
    /// SIGKILL to the program and all that it started.
    Kill,
    /// `sessionpipe install`, and then the model's command may go on. The session begins without hooks.
    Install,
}

/// One step on a screen.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ScreenStep {
    /// Until the screen shows this regular expression.
    Wait(String),
    /// Answers these questions as they come up, until the screen shows the last of them.
    Answer(Vec<Question>),
    /// Types a text and presses Enter.
    Type(String),
    /// Presses a key, as tmux names it.
    Key(String),
    /// Lets time pass, in milliseconds: for what the program does by the clock.
    Pause(u64),
    /// `sessionpipe install`. The session begins without hooks.
    Install(bool),
}

/// A question that a program may ask at its first start.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// How it is recognised, as a regular expression.
    pub shows: String,
    /// The keys that answer it; none: nothing is asked any more.
    #[serde(default)]
    pub keys: Vec<String>,
}

impl Scenario {
    /// It needs a screen.
    #[must_use]
    pub fn on_a_screen(&self) -> bool {
        !self.screen.is_empty()
    }

    /// `install` comes while the program runs.
    #[must_use]
    pub fn installs_late(&self) -> bool {
        self.does(What::Install) || self.screen.iter().any(|step| matches!(step, ScreenStep::Install(true)))
    }

    /// That happens while a turn runs.
    #[must_use]
    pub fn does(&self, what: What) -> bool {
        self.act.as_ref().is_some_and(|act| act.what == what)
    }
}

/// The table of packages.
///
/// # Errors
/// Where it is missing or not well-formed.
pub fn versions(data: &Path) -> anyhow::Result<Versions> {
    read(&data.join("versions.toml"))
}

/// What is known of one harness.
///
/// # Errors
/// Where there is no such harness, or its file is not well-formed.
pub fn harness(data: &Path, name: &str) -> anyhow::Result<Harness> {
    read(&data.join(format!("{name}.toml")))
}

fn read<T: for<'de> Deserialize<'de>>(path: &Path) -> anyhow::Result<T> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    toml_edit::de::from_str(&text).with_context(|| format!("{} is not well-formed", path.display()))
}

/// The words that stand for facts of one run: `{home}`, `{project}`, …
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Words(pub BTreeMap<String, String>);

impl Words {
    /// A text with its words filled in. A brace that encloses no known word stays, as texts may be JSON.
    #[must_use]
    pub fn fill(&self, text: &str) -> String {
        let mut filled = text.to_owned();
        for (name, value) in &self.0 {
            filled = filled.replace(&format!("{{{name}}}"), value);
        }
        filled
    }

    /// A map with the words of keys and values filled in.
    #[must_use]
    pub fn fill_map(&self, map: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        map.iter().map(|(key, value)| (self.fill(key), self.fill(value))).collect()
    }

    /// A command with its lists put in and its words filled in.
    ///
    /// # Errors
    /// Where it names a list that is not there.
    pub fn command(&self, words: &[String], lists: &BTreeMap<String, Vec<String>>) -> anyhow::Result<Vec<String>> {
        let mut command = Vec::new();
        for word in words {
            match word.strip_prefix('@') {
                Some(name) => {
                    let Some(list) = lists.get(name) else { bail!("no list is named {name}") };
                    command.extend(list.iter().map(|word| self.fill(word)));
                }
                None => command.push(self.fill(word)),
            }
        }
        Ok(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::expect::Expected;

    #[test]
    fn words_and_lists_are_filled_in_and_other_braces_stay() {
        let words = Words([("home", "/h"), ("model", "m")].map(|(k, v)| (k.to_owned(), v.to_owned())).into());
        assert_eq!(words.fill(r#"{"path": "{home}/x", "o": {}}"#), r#"{"path": "/h/x", "o": {}}"#);
        let lists = [("set".to_owned(), vec!["-c".to_owned(), "model={model}".to_owned()])].into();
        let command = words.command(&["exec".into(), "@set".into(), "{home}".into()], &lists).expect("a command");
        assert_eq!(command, ["exec", "-c", "model=m", "/h"]);
        assert!(words.command(&["@none".into()], &lists).is_err());
    }

    #[test]
    fn every_data_file_is_well_formed() {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("live");
        let versions = versions(&data).expect("versions.toml");
        assert!(!versions.is_empty());
        for name in versions.keys() {
            let harness = harness(&data, name).expect(name);
            let mut names: Vec<_> = harness.scenario.iter().map(|s| s.name.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), harness.scenario.len(), "{name}: scenarios have names of their own");
            for scenario in &harness.scenario {
                let events: Result<Vec<_>, _> = scenario.events.iter().map(|line| Expected::parse(line)).collect();
                assert!(events.is_ok(), "{name} {}: {events:?}", scenario.name);
                assert_ne!(scenario.on_a_screen(), !scenario.prompts.is_empty(), "{name} {}", scenario.name);
            }
        }
    }
}
