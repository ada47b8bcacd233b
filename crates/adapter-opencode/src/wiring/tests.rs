use std::ffi::OsString;

use sessionpipe_core::adapter::Level;
use sessionpipe_core::testing::{host, write};
use tempfile::TempDir;

use super::check::check;
use super::*;

/// The files that must be ours, and those that must not be there.
fn files(host: &Host) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let wirings = wiring(host);
    let ours = wirings.iter().filter_map(|wiring| match wiring {
        Wiring::OwnedText { file, .. } => Some(file.clone()),
        _ => None,
    });
    let gone = wirings.iter().filter_map(|wiring| match wiring {
        Wiring::AbsentText { file, .. } => Some(file.clone()),
        _ => None,
    });
    (ours.collect(), gone.collect())
}

#[test]
fn nothing_where_opencode_is_not() {
    let home = TempDir::new().expect("a folder");
    assert_eq!(wiring(&host(home.path())), []);
}

#[test]
fn the_plugin_lies_in_the_config_folder() {
    let home = TempDir::new().expect("a folder");
    let mut host = host(home.path());
    write(&home.path().join(".config/opencode/opencode.jsonc"), "{}");
    assert_eq!(files(&host), (vec![home.path().join(".config/opencode/plugins/sessionpipe.ts")], vec![]));
    host.env.insert("XDG_CONFIG_HOME".into(), home.path().join("xdg").into());
    assert_eq!(files(&host).0, Vec::<PathBuf>::new(), "nothing of OpenCode's is there");
    write(&home.path().join("xdg/opencode/opencode.json"), "{}");
    assert_eq!(files(&host).0, [home.path().join("xdg/opencode/plugins/sessionpipe.ts")]);
    host.env.insert("XDG_CONFIG_HOME".into(), OsString::from("relative"));
    assert_eq!(files(&host).0, [home.path().join(".config/opencode/plugins/sessionpipe.ts")]);
}

#[test]
fn copies_in_other_places_go() {
    let home = TempDir::new().expect("a folder");
    let mut host = host(home.path());
    let old = home.path().join(".config/opencode/plugin/sessionpipe.ts");
    let added = home.path().join("added");
    for path in [&old, &added.join("plugins/sessionpipe.ts"), &added.join("plugin/sessionpipe.js")] {
        write(path, "");
    }
    assert_eq!(files(&host).1, std::slice::from_ref(&old));
    host.env.insert("OPENCODE_CONFIG_DIR".into(), added.clone().into());
    let expected = [old, added.join("plugin/sessionpipe.js"), added.join("plugins/sessionpipe.ts")];
    assert_eq!(files(&host).1, expected);
    // The same folder, said twice.
    host.env.insert("OPENCODE_CONFIG_DIR".into(), config_dir(&host).into());
    assert_eq!(files(&host).1.len(), 1);
}

/// OpenCode takes each export for a plugin, and runs the top level of the file even where no plugins are called.
#[test]
fn the_plugin_is_one_file_with_one_export_and_nothing_at_its_top_level() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    write(&home.path().join(".config/opencode/opencode.json"), "{}");
    let Some(Wiring::OwnedText { text, comment: "//", .. }) = wiring(&host).into_iter().next() else {
        panic!("a plugin")
    };
    let exports: Vec<_> = text.lines().filter(|line| line.trim_start().starts_with("export ")).collect();
    assert_eq!(exports, ["export const Sessionpipe: Plugin = (input) => {"]);
    let beginnings =
        ["import ", "const ", "class ", "interface ", "type ", "function ", "export const ", "//", "/**", " *", "}"];
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with("  ")) {
        assert!(beginnings.iter().any(|beginning| line.starts_with(beginning)), "{line}");
    }
    let calls = text.lines().filter(|line| line.starts_with("const ") && line.contains('('));
    assert_eq!(
        calls.collect::<Vec<_>>(),
        [
            r#"const SHARED = Symbol.for("sessionpipe.opencode");"#,
            r"const NO_TITLE = /^(New|Child) session - \d{4}-/;",
            r"const FORK = /\(fork #\d+\)$/;"
        ]
    );
    assert!(text.contains("[\"/opt/sp/bin/sessionpipe-hook\",\"--stream\",\"opencode\"];"));
    for import in text.lines().filter(|line| line.starts_with("import ")) {
        assert!(import.starts_with("import type ") || import.contains("\"node:"), "{import}");
    }
}

#[test]
fn doctor_names_what_keeps_it_silent_and_other_copies() {
    let home = TempDir::new().expect("a folder");
    let mut host = host(home.path());
    assert_eq!(check(&host), []);
    host.env.insert("OPENCODE_PURE".into(), OsString::from("1"));
    let findings = check(&host);
    assert_eq!((findings.len(), findings[0].level), (1, Level::Problem));
    host.env.insert("OPENCODE_PURE".into(), OsString::from("0"));
    assert_eq!(check(&host), []);
    let old = home.path().join(".config/opencode/plugin/sessionpipe.ts");
    let project = home.path().join("proj/.opencode/plugins/sessionpipe.ts");
    write(&old, "export const mine = 1;\n");
    write(&project, "");
    let found: Vec<_> = check(&host).into_iter().map(|finding| (finding.level, finding.file)).collect();
    assert_eq!(found, [(Level::Note, Some(old)), (Level::Note, Some(project))]);
}
