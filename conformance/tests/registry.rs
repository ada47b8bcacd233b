//! What every adapter of the registry must bring along.

// A test reads and writes its own files.
#![allow(clippy::disallowed_methods)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use sessionpipe_core::adapter::Adapter;
use sessionpipe_core::harness::{NativeEvent, Wired};
use sessionpipe_core::host::Host;
use sessionpipe_core::testing::{self, Fixture};
use sessionpipe_installer::{HarnessInput, Wishes, apply, entries_to_paste, plan_install, plan_uninstall};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn each(check: impl Fn(&dyn Adapter, &str)) {
    let adapters = sessionpipe::registry::adapters();
    assert!(!adapters.is_empty());
    for adapter in adapters {
        check(adapter, adapter.harness().name);
    }
}

#[test]
fn the_constants_and_the_adapters_are_the_same_harnesses() {
    let constants: Vec<_> = sessionpipe::registry::HARNESSES.iter().map(|harness| harness.name).collect();
    let adapters: Vec<_> = sessionpipe::registry::adapters().iter().map(|a| a.harness().name).collect();
    assert_eq!(constants, adapters);
}

#[test]
fn every_adapter_has_fixtures_and_scenarios() {
    each(|_, name| {
        let fixtures = Fixture::load(&repository().join("conformance/harness").join(name));
        assert!(fixtures.iter().any(|fixture| fixture.input.is_some()), "{name} has no fixture of a single call");
        assert!(fixtures.iter().any(|fixture| fixture.inputs.len() > 1), "{name} has no scenario");
    });
}

#[test]
fn every_registered_event_has_a_fixture() {
    each(|adapter, name| {
        let fixtures = Fixture::load(&repository().join("conformance/harness").join(name));
        let calls = |event: &str| {
            fixtures
                .iter()
                .flat_map(|f| f.input.iter().chain(&f.inputs))
                .any(|i| i.argv.get(1).is_some_and(|e| e == event))
        };
        let newest = semver::Version::new(u64::MAX, 0, 0);
        let missing: Vec<_> = adapter.harness().wired(Some(&newest)).map(|e| e.name).filter(|e| !calls(e)).collect();
        assert!(missing.is_empty(), "{name}: no fixture for {missing:?}");
    });
}

#[test]
fn every_borrower_is_answered() {
    each(|adapter, name| {
        let harness = adapter.harness();
        for reply in harness.replies {
            let known = reply.caller == name || harness.borrowers.iter().any(|b| b.name == reply.caller);
            assert!(known, "{name}: a reply to {}, who is not known", reply.caller);
            assert!(!reply.stdout.contains('\n'), "{name}: {reply:?}");
        }
    });
}

#[test]
fn every_crate_documents_its_constants_as_they_are() {
    each(|adapter, name| {
        let harness = adapter.harness();
        let path = repository().join(format!("crates/adapter-{name}/src/lib.rs"));
        let text = fs::read_to_string(&path).expect("the crate's lib.rs");
        let rows: Vec<Vec<&str>> = text
            .lines()
            .filter_map(|line| line.strip_prefix("//! | `")?.strip_suffix(" |"))
            .map(|line| line.split(" | ").collect())
            .collect();
        let (row, events) = rows.split_first().expect("the registry row");

        let yes_or_no = |is| if is { "yes" } else { "no" };
        let id = format!("{name}`");
        let expected = [
            id.as_str(),
            harness.product,
            harness.wired_in,
            yes_or_no(harness.has_session_end),
            yes_or_no(harness.stop_can_block),
        ];
        assert_eq!(row.len(), 7, "{name}: {row:?}");
        for (cell, expected) in row.iter().zip(expected) {
            // More may be said than the constant does.
            assert!(cell.starts_with(expected), "{name}: {cell:?} does not begin with {expected:?}");
        }
        assert!(text.contains(&format!("<{}>", harness.docs)), "{name}: no link to {}", harness.docs);

        let documented: Vec<[&str; 3]> = events.iter().map(|row| [row[0], row[1], row[2]]).collect();
        let registered = |wired| match wired {
            Wired::Always => "always".to_owned(),
            Wired::Since(major, minor, patch) => format!("since {major}.{minor}.{patch}"),
            Wired::Never(_) => "never".to_owned(),
        };
        let constants =
            |event: &NativeEvent| [format!("{}`", event.name), format!("{:?}", event.means), registered(event.wired)];
        assert_eq!(documented, harness.events.iter().map(constants).collect::<Vec<_>>(), "{name}");
        for (row, event) in events.iter().zip(harness.events) {
            if let Wired::Never(why) = event.wired {
                assert!(row[3].starts_with(why), "{name}: {row:?} does not say: {why}");
            }
        }
    });
}

#[test]
fn no_variable_that_may_hold_a_secret_or_what_somebody_wrote_is_carried() {
    const PARTS: [&str; 8] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "EMAIL", "PROMPT", "CONTENT"];
    each(|adapter, name| {
        for var in adapter.harness().env {
            assert!(!PARTS.iter().any(|part| var.to_uppercase().contains(part)), "{name}: {var}");
        }
    });
}

#[test]
fn every_adapter_has_an_install_case_and_its_way_back() {
    each(|adapter, name| {
        let cases = repository().join("conformance/install").join(name);
        let cases = fs::read_dir(&cases).unwrap_or_else(|e| panic!("{name} has no install case: {e}"));
        for case in cases {
            let case = case.expect("a case").path();
            let home = tempfile::tempdir().expect("a temporary folder");
            copy(&case.join("in"), home.path());
            let host = testing::host(home.path());
            let found = adapter.found(&host).unwrap_or_else(|| panic!("{} is not found", case.display()));
            let before = files(home.path());
            assert_eq!(before, files(&case.join("in")));

            let wishes = Wishes { options: wished(&case, adapter), ..Wishes::default() };
            let plan = plan_install(&host, &[HarnessInput { adapter, found: found.clone(), wishes }]).expect("a plan");
            assert!(apply(&host, &plan).expect("applied").is_complete());
            let mut after = files(home.path());
            after.retain(|path, _| !path.starts_with(".local"));
            assert_eq!(after, expected(&case, &host, adapter), "{}", case.display());

            let again =
                plan_install(&host, &[HarnessInput { adapter, found, wishes: Wishes::default() }]).expect("a plan");
            assert!(again.is_noop(), "{}: a second install changes something", case.display());

            let plan = plan_uninstall(&host, &[adapter], false).expect("a plan");
            assert!(apply(&host, &plan).expect("applied").is_complete());
            // What an older version of ours had left does not come back.
            let back = case.join("back");
            let expected = if back.is_dir() { files(&back) } else { before };
            assert_eq!(files(home.path()), expected, "{}: uninstall does not lead back", case.display());
        }
    });
}

/// The home that a case leads to. A plugin of ours is as long as it is: its file there says `{plugin}`.
fn expected(case: &Path, host: &Host, adapter: &dyn Adapter) -> BTreeMap<PathBuf, String> {
    let mut expected = files(&case.join("out"));
    for paste in entries_to_paste(host, adapter, &[]) {
        let path = paste.path.strip_prefix(&host.home).expect("below the home");
        if let Some(text) = expected.get_mut(path).filter(|text| *text == "{plugin}\n") {
            *text = paste.text;
        }
    }
    expected
}

/// The options that a case asks for, a name per line. What was wired stays wired without them.
fn wished(case: &Path, adapter: &dyn Adapter) -> Vec<&'static str> {
    let named = fs::read_to_string(case.join("options")).unwrap_or_default();
    let options = adapter.harness().options.iter().map(|option| option.name);
    options.filter(|option| named.lines().any(|line| line == *option)).collect()
}

/// Whether a line has a word that is no part of a longer one.
fn names(line: &str, word: &str) -> bool {
    let is_letter = |at: Option<char>| at.is_some_and(char::is_alphanumeric);
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        !is_letter(before.chars().next_back()) && !is_letter(after.chars().next())
    })
}

/// What a source file says before its tests.
fn untested(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().take_while(|(_, line)| *line != "#[cfg(test)]").map(|(at, line)| (at + 1, line))
}

#[test]
fn no_harness_is_named_outside_of_its_adapter() {
    // The registry, and the table of what `demo` replays.
    let tables = ["registry.rs", "commands/demo.rs"].map(Path::new);
    for name in ["core", "installer", "pipeline", "cli"] {
        let sources = files(&repository().join("crates").join(name).join("src"));
        let is_source = |path: &Path| path.extension().is_some_and(|e| e == "rs") && !path.ends_with("tests.rs");
        for (path, text) in sources.iter().filter(|(path, _)| is_source(path) && !tables.contains(&path.as_path())) {
            each(|adapter, harness| {
                let words = [adapter.harness().product.to_owned(), format!("\"{harness}\"")];
                let named = untested(text).find(|(_, line)| words.iter().any(|word| names(line, word)));
                assert_eq!(named, None, "crates/{name}/src/{}", path.display());
            });
        }
    }
}

/// Every file below a folder, by its path from there.
fn files(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(root).expect("below").to_owned();
                found.insert(name, String::from_utf8_lossy(&fs::read(&path).expect("a file")).into_owned());
            }
        }
    }
    found
}

fn copy(from: &Path, to: &Path) {
    for (path, text) in files(from) {
        let path = to.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
}
