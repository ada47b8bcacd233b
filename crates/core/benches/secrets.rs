//! How much `secrets@1` finds and how often it is wrong: `cargo xtask secrets`. With `--list` every alarm and every miss is printed,
//! with `--bless` the counts are written to `conformance/secrets/measured.json`.

// It reads files and prints.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sessionpipe_core::privacy::secrets::{Class, find, redact_text};

#[path = "../tests/secrets/mod.rs"]
mod secrets;

/// What was read, and what was found in it.
#[derive(Default)]
struct Count {
    files: usize,
    lines: usize,
    alarms: BTreeMap<Class, usize>,
}

fn main() {
    let (list, bless) = (has("--list"), has("--bless"));
    let root = secrets::repository();
    let mut missed = 0;
    let positives = secrets::positives();
    for positive in positives.iter().filter(|positive| !positive.is_found()) {
        missed += 1;
        if list {
            println!("missed: {} ({}): {}", positive.class.name(), positive.source, redact_text(&positive.text));
        }
    }
    println!("found {} of {}", positives.len() - missed, positives.len());

    let (mut crates, mut absent) = (Count::default(), Vec::new());
    let packages = locked(&fs::read_to_string(root.join("Cargo.lock")).expect("Cargo.lock"));
    for package in &packages {
        match folder_of(package) {
            Some(folder) => crates.read(&folder, list),
            None => absent.push(package.as_str()),
        }
    }
    crates.print(&format!("{} packages", packages.len() - absent.len()));
    if !absent.is_empty() {
        println!("not on this machine (run `cargo fetch`): {}", absent.join(", "));
    }
    let mut recorded = Count::default();
    recorded.read(&root.join("conformance/harness"), list);
    recorded.print("recorded payloads and transcripts");
    if bless && absent.is_empty() {
        let measured = json!({"packages": packages.len(), "sources": crates.json(), "recorded": recorded.json()});
        let text = serde_json::to_string_pretty(&measured).expect("JSON") + "\n";
        fs::write(root.join("conformance/secrets/measured.json"), text).expect("written");
    }
}

fn has(option: &str) -> bool {
    std::env::args().any(|arg| arg == option)
}

/// `name-version` of each package in the lock file that comes from a registry.
fn locked(lock: &str) -> Vec<String> {
    let value = |package: &str, key: &str| {
        let line = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""))?;
        Some(line.trim_end_matches('"').to_owned())
    };
    let packages = lock.split("[[package]]").skip(1).filter(|package| package.contains("\nsource = \"registry"));
    packages.filter_map(|package| Some(format!("{}-{}", value(package, "name")?, value(package, "version")?))).collect()
}

/// Where cargo unpacked it.
fn folder_of(package: &str) -> Option<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")))?;
    let registries = fs::read_dir(home.join("registry/src")).ok()?;
    registries.flatten().map(|registry| registry.path().join(package)).find(|folder| folder.is_dir())
}

impl Count {
    /// Every file that is a text.
    fn read(&mut self, path: &Path, list: bool) {
        let Ok(entries) = fs::read_dir(path) else { return self.read_file(path, list) };
        let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        entries.sort_unstable();
        for entry in entries {
            self.read(&entry, list);
        }
    }

    fn read_file(&mut self, path: &Path, list: bool) {
        let Some(text) = fs::read(path).ok().and_then(|bytes| String::from_utf8(bytes).ok()) else { return };
        self.files += 1;
        self.lines += text.lines().count();
        for (class, range) in find(&text) {
            *self.alarms.entry(class).or_default() += 1;
            if list {
                let before = text.get(..range.start).unwrap_or_default();
                let line = before.lines().count().max(1);
                let start = before.rfind('\n').map_or(0, |at| at + 1).max(range.start.saturating_sub(100));
                let start = (start..=range.start).find(|at| text.is_char_boundary(*at)).unwrap_or(range.start);
                let shown: String = text.get(start..).unwrap_or_default().chars().take(180).collect();
                let value: String = text.get(range).unwrap_or_default().chars().take(60).collect();
                println!(
                    "{}:{line}: {}: {value:?} in {:?}",
                    path.display(),
                    class.name(),
                    shown.lines().next().unwrap_or_default()
                );
            }
        }
    }

    fn print(&self, what: &str) {
        let alarms: usize = self.alarms.values().sum();
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let rate = alarms as f64 * 10_000.0 / self.lines.max(1) as f64;
        println!("{what}: {alarms} alarms in {} lines of {} files: {rate:.2} in 10,000", self.lines, self.files);
        for (class, alarms) in &self.alarms {
            println!("  {}: {alarms}", class.name());
        }
    }

    fn json(&self) -> Value {
        let alarms: BTreeMap<&str, usize> = self.alarms.iter().map(|(class, alarms)| (class.name(), *alarms)).collect();
        json!({"files": self.files, "lines": self.lines, "alarms": alarms})
    }
}
