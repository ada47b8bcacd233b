use std::ffi::OsString;
use std::path::PathBuf;

use sessionpipe_core::adapter::{Finding, Level};
use sessionpipe_core::testing::{host, write};
use tempfile::TempDir;

use super::check::check;
use super::*;

fn files(wiring: &[Wiring]) -> Vec<PathBuf> {
    let file = |wiring: &Wiring| match wiring {
        Wiring::OwnedText { file, comment: "//", .. } => Some(file.clone()),
        _ => None,
    };
    wiring.iter().filter_map(file).collect()
}

fn texts(findings: &[Finding]) -> Vec<(Level, &str)> {
    findings.iter().map(|finding| (finding.level, finding.text.as_str())).collect()
}

#[test]
fn an_extension_in_every_profile() {
    let home = TempDir::new().expect("a folder");
    let mut host = host(home.path());
    assert_eq!(wiring(&host), [], "OMP is not here");
    write(&home.path().join(".omp/agent/config.yml"), "");
    write(&home.path().join(".omp/profiles/office/agent/config.yml"), "");
    let [agent, office] =
        [".omp/agent", ".omp/profiles/office/agent"].map(|dir| home.path().join(dir).join("extensions/sessionpipe.ts"));
    let wired = wiring(&host);
    assert_eq!(files(&wired), [agent.clone(), office.clone()]);
    let Some(Wiring::OwnedText { text, .. }) = wired.first() else { panic!("{wired:?}") };
    assert!(text.contains(r#"["/opt/sp/bin/sessionpipe-hook","--stream","omp"]"#), "{text}");
    assert!(!text.contains("@ARGV"), "nothing is left to fill in");

    host.env.insert("PI_CODING_AGENT_DIR".into(), OsString::from("/srv/agent"));
    let named = PathBuf::from("/srv/agent/extensions/sessionpipe.ts");
    assert_eq!(files(&wiring(&host)), [named, agent, office]);
}

#[test]
fn a_switch_of_the_persons_is_reported_and_stays() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    let config = home.path().join(".omp/agent/config.yml");
    let off = |text: &str| {
        write(&config, text);
        !check(&host).is_empty()
    };
    for text in [
        "disabledExtensions: [extension-module:sessionpipe]\n",
        "theme: x\ndisabledExtensions:\n  - \"extension-module:other\"\n\n  - 'extension-module:sessionpipe' # noisy\nx: 1\n",
        "disabledExtensions:\n- extension-module:sessionpipe\n",
    ] {
        assert!(off(text), "{text}");
    }
    for text in [
        "",
        "disabledExtensions: []\nother: [extension-module:sessionpipe]\n",
        "disabledExtensions:\n  # - extension-module:sessionpipe\n  - extension-module:sessionpipe2\n",
        "{{{\n",
    ] {
        assert!(!off(text), "{text}");
    }
    assert!(off("disabledExtensions: [extension-module:sessionpipe]\n"));
    let found = check(&host);
    let text =
        "`disabledExtensions` holds extension-module:sessionpipe: OMP does not load the extension of sessionpipe";
    assert_eq!(texts(&found), [(Level::Problem, text)]);
    let kept = wiring(&host)
        .into_iter()
        .filter(|w| matches!(w, Wiring::Notice { text, .. } if text.contains("left as it is")));
    assert_eq!(kept.count(), 1);
}

#[test]
fn the_bridge_and_the_extension_together_tell_twice() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    let agent = home.path().join(".omp/agent");
    let hooks = |command: &str| {
        let handler =
            format!(r#"{{"hooks": {{"Stop": [{{"hooks": [{{"type": "command", "command": {command:?}}}]}}]}}}}"#);
        write(&agent.join("settings.json"), &handler);
    };
    hooks("'/opt/sp/bin/sessionpipe-hook' omp Stop");
    assert_eq!(check(&host), [], "the bridge alone is an alternative");
    write(&agent.join(EXTENSION), "// ours");
    let found = check(&host);
    let text = "omp-hooks runs hooks of sessionpipe that stand here, and the extension is there, too: what happens is told twice";
    assert_eq!(texts(&found), [(Level::Warning, text)]);
    hooks("/opt/guard/check.sh");
    assert_eq!(check(&host), [], "hooks of others");
    write(&agent.join("settings.json"), "[{]");
    assert_eq!(check(&host), []);
}

#[test]
fn what_is_no_profile_is_said() {
    let home = TempDir::new().expect("a folder");
    let mut host = host(home.path());
    host.env.insert("OMP_PROFILE".into(), OsString::from("a/b"));
    let text = "OMP_PROFILE is \"a/b\", which is no name of a profile: OMP does not start";
    assert_eq!(texts(&check(&host)), [(Level::Problem, text)]);
    host.env.insert("OMP_PROFILE".into(), OsString::from("office"));
    assert_eq!(check(&host), []);
}

#[test]
fn a_projects_copy_is_named() {
    let home = TempDir::new().expect("a folder");
    let host = host(home.path());
    write(&host.cwd.join(".omp/extensions/sessionpipe.ts"), "");
    let text = "this project has a copy of the extension; only one of the two speaks";
    assert_eq!(texts(&check(&host)), [(Level::Note, text)]);
}
