use std::ffi::OsString;

use sessionpipe_core::adapter::{Finding, Level};
use sessionpipe_core::testing::{host, write};
use tempfile::TempDir;

use super::check::check;
use super::*;

fn extension(wiring: &[Wiring]) -> (&PathBuf, &str) {
    match wiring.first() {
        Some(Wiring::OwnedText { file, comment: "//", text }) => (file, text),
        other => panic!("{other:?}"),
    }
}

fn texts(findings: &[Finding]) -> Vec<(Level, &str)> {
    findings.iter().map(|finding| (finding.level, finding.text.as_str())).collect()
}

#[test]
fn one_extension_that_names_our_program() {
    let home = TempDir::new().expect("a folder");
    let mut host = host(home.path());
    assert_eq!(wiring(&host), [], "Pi is not here");
    write(&home.path().join(".pi/agent/settings.json"), "{}");
    host.program.path = "/home/o'neil/\"b\"\\/sessionpipe".into();
    host.program.is_hook = false;
    let wiring = wiring(&host);
    let (file, text) = extension(&wiring);
    assert_eq!(*file, home.path().join(".pi/agent/extensions/sessionpipe.ts"));
    assert!(text.contains(r#"["/home/o'neil/\"b\"\\/sessionpipe","hook","--stream","pi"]"#), "{text}");
    assert!(!text.contains("@ARGV"), "nothing is left to fill in");
    assert_eq!(wiring.len(), 2, "and a notice");
}

#[test]
fn the_agent_folder_is_where_pi_looks() {
    let home = TempDir::new().expect("a folder");
    let mut host = host(home.path());
    for (value, expected) in [
        ("", home.path().join(".pi/agent")),
        ("/srv/pi", "/srv/pi".into()),
        ("~/pi", home.path().join("pi")),
        ("~", home.path().to_owned()),
        ("x/y", host.cwd.join("x/y")),
    ] {
        host.env.insert("PI_CODING_AGENT_DIR".into(), OsString::from(value));
        assert_eq!(agent_dir(&host), expected, "{value}");
    }
}

#[test]
fn a_switch_of_the_persons_is_reported_and_stays() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    let settings = home.path().join(".pi/agent/settings.json");
    let off = |entries: &str| {
        write(&settings, &format!("{{\"extensions\": {entries}}}"));
        !check(&host).is_empty()
    };
    for entries in [
        r#"["-extensions/sessionpipe.ts"]"#,
        r#"["-./extensions/sessionpipe.ts"]"#,
        r#"["+extensions/sessionpipe.ts", "-extensions/sessionpipe.ts"]"#,
        r#"["!extensions/*"]"#,
        r#"["!sessionpipe.ts"]"#,
        r#"["/other.ts", "!*"]"#,
    ] {
        assert!(off(entries), "{entries}");
    }
    for entries in [
        "[]",
        r#"["-extensions/other.ts", "!other*"]"#,
        r#"["!extensions/*", "+extensions/sessionpipe.ts"]"#,
        r#"["extensions/sessionpipe.ts"]"#,
        "7",
        r#"["-builtin:mcp", 3]"#,
    ] {
        assert!(!off(entries), "{entries}");
    }
    assert!(off(r#"["-extensions/sessionpipe.ts"]"#));
    let found = check(&host);
    let text = "`extensions` holds \"-extensions/sessionpipe.ts\": Pi does not load the extension of sessionpipe";
    assert_eq!(texts(&found), [(Level::Problem, text)]);
    assert_eq!(found[0].file.as_ref(), Some(&settings));
    let notices = wiring(&host)
        .into_iter()
        .filter(|w| matches!(w, Wiring::Notice { text, .. } if text.contains("left as it is")));
    assert_eq!(notices.count(), 1);
}

#[test]
fn nothing_that_a_file_may_hold_is_an_error() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    for text in ["", "{", "[]", "null", "{\"extensions\": {}}", "\u{feff}{}"] {
        write(&home.path().join(".pi/agent/settings.json"), text);
        assert_eq!(check(&host), [], "{text:?}");
    }
}

#[test]
fn a_projects_copy_is_named() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    write(&host.cwd.join(".pi/extensions/sessionpipe.ts"), "");
    let text = "this project has a copy of the extension; only one of the two speaks";
    assert_eq!(texts(&check(&host)), [(Level::Note, text)]);
}
