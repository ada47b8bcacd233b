//! Which path the configs name.

use std::os::unix::fs::symlink;

use serde_json::Value;

use crate::environment::{TestEnvironment, commands};

fn command(environment: &TestEnvironment) -> String {
    let document: Value = serde_json::from_str(&environment.read(".claude/settings.json")).expect("JSON");
    environment.tidy(&commands(&document)[0])
}

/// Homebrew keeps versions apart and links the one in use.
#[test]
fn the_link_that_survives_an_upgrade() {
    let mut environment = TestEnvironment::with_agents();
    let home = environment.home();
    environment.put_programs(&home.join("brew/Cellar/sessionpipe/0.3.1/bin"), &["sessionpipe"]);
    std::fs::create_dir_all(home.join("brew/bin")).expect("a folder");
    let link = home.join("brew/bin/sessionpipe");
    symlink("../Cellar/sessionpipe/0.3.1/bin/sessionpipe", &link).expect("a link");
    environment.var("PATH", &format!("{}:/usr/bin:/bin", home.join("brew/bin").display()));
    let said = environment.run_program(&link, &["install", "--yes"]);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    assert_eq!(command(&environment), "'[HOME]/brew/bin/sessionpipe' hook claude-code Stop");
    let installed = environment.files();

    // The upgrade: another version behind the same link. Nothing is to change.
    environment.put_programs(&home.join("brew/Cellar/sessionpipe/0.4.0/bin"), &["sessionpipe"]);
    std::fs::remove_file(&link).expect("unlinked");
    symlink("../Cellar/sessionpipe/0.4.0/bin/sessionpipe", &link).expect("a link");
    std::fs::remove_dir_all(home.join("brew/Cellar/sessionpipe/0.3.1")).expect("removed");
    assert_eq!(environment.run_program(&link, &["install", "--check"]).code, 0);
    assert_eq!(
        environment.files().get(&home.join(".claude/settings.json")),
        installed.get(&home.join(".claude/settings.json"))
    );
}

#[test]
fn a_build_is_copied_first() {
    let environment = TestEnvironment::with_agents();
    let build = environment.home().join("src/target/release");
    environment.put_programs(&build, &["sessionpipe", "sessionpipe-hook"]);
    environment.write("src/Cargo.toml", "");
    let program = build.join("sessionpipe");
    let said = environment.run_program(&program, &["install", "--dry-run"]);
    assert!(said.stdout.contains("2 programs of ours would be copied"), "{}", said.stdout);
    assert!(!environment.state().exists());
    assert_eq!(environment.run_program(&program, &["install", "--yes"]).code, 0);
    assert_eq!(command(&environment), "'[HOME]/.local/state/sessionpipe/bin/sessionpipe-hook' claude-code Stop");
    assert_eq!(environment.run_program(&program, &["install", "--check"]).code, 0);
    std::fs::remove_dir_all(environment.home().join("src")).expect("cleaned away");
    let document: Value = serde_json::from_str(&environment.read(".claude/settings.json")).expect("JSON");
    environment.hook(&commands(&document)[0], "{\"session_id\":\"s\",\"hook_event_name\":\"Stop\"}");
    assert_ne!(environment.expect(0, &["tail", "--json"]).stdout, "");
}
