//! Which path the configs name.

use std::os::unix::fs::{PermissionsExt as _, symlink};

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

/// The shell that runs a hook expands nothing in the path and splits it nowhere.
#[test]
fn odd_paths_run_as_they_are() {
    for folder in ["Ann Lee", "o'neil", "a$HOME;b", "quo\"te", "émoji-✓", "star*?[x]", "tick`x`!"] {
        let environment = TestEnvironment::with_agents();
        let bin = environment.home().join(folder).join("bin");
        environment.put_programs(&bin, &["sessionpipe"]);
        let hook = environment.write(
            &format!("{folder}/bin/sessionpipe-hook"),
            "#!/bin/sh\nfor word in \"$0\" \"$@\"; do printf '%s\\n' \"$word\"; done\n",
        );
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).expect("a mode");
        assert_eq!(environment.run_program(&bin.join("sessionpipe"), &["install", "--yes"]).code, 0, "{folder}");
        let document: Value = serde_json::from_str(&environment.read(".claude/settings.json")).expect("JSON");
        let said = environment.hook(&commands(&document)[0], "");
        assert_eq!(said.stdout, format!("{}\nclaude-code\nStop\n", hook.display()), "{folder}");
    }
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
