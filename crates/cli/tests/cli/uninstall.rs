//! `sessionpipe uninstall`

use insta::assert_snapshot;

use crate::environment::TestEnvironment;

#[test]
fn every_byte_comes_back() {
    let environment = TestEnvironment::with_agents();
    environment.write(".claude/settings.json", "{ \"a\" : 1.50,\r\n\t\"hooks\":{ } /* mine */ }");
    environment.write(".codex/config.toml", "notify = [ 'x' , \"y\" ] # mine\n[hooks.state]\n");
    let before = environment.files();
    environment.expect(0, &["install", "--yes"]);
    assert_ne!(environment.files(), before);
    environment.expect(0, &["uninstall", "--yes"]);
    assert_eq!(environment.files(), before);
    let said = environment.expect(0, &["uninstall", "--yes"]);
    assert_snapshot!(said.stdout, @"
    claude-code  2.1.328  ~/.claude/settings.json  nothing of ours in it
    codex        found    ~/.codex/config.toml     nothing of ours in it

    2 without anything of ours. Nothing to do.
    ");
}

#[test]
fn without_a_record_too() {
    let environment = TestEnvironment::with_agents();
    let before = environment.files();
    environment.expect(0, &["install", "--yes"]);
    std::fs::remove_dir_all(environment.state()).expect("removed");
    environment.expect(0, &["uninstall", "--yes"]);
    let after = environment.files();
    for (path, bytes) in before {
        assert_eq!(after.get(&path), Some(&bytes), "{}", path.display());
    }
    // Whose file it was is not known any more: it stays, without anything of ours.
    assert!(!environment.read(".codex/hooks.json").contains("sessionpipe"));
}

#[test]
fn what_a_killed_run_left_goes_too() {
    let environment = TestEnvironment::with_agents();
    environment.expect(0, &["install", "--yes"]);
    let record = environment.read(".local/state/sessionpipe/installed.json");
    environment.expect(0, &["uninstall", "--yes"]);
    assert!(!environment.state().exists());
    // The configs are done, their record is still there.
    environment.write(".local/state/sessionpipe/installed.json", &record);
    environment.expect(0, &["uninstall", "--yes"]);
    assert!(!environment.state().exists());
    // The record is gone too, the lock is still there.
    environment.write(".local/state/sessionpipe/install.lock", "");
    environment.expect(0, &["uninstall", "--yes"]);
    assert!(!environment.state().exists());
}

#[test]
fn what_was_not_done_is_not_called_clean() {
    let environment = TestEnvironment::with_agents();
    environment.expect(0, &["install", "--yes"]);
    let settings = environment.home().join(".claude/settings.json");
    std::fs::set_permissions(&settings, std::os::unix::fs::PermissionsExt::from_mode(0o400)).expect("read-only");
    let said = environment.expect(1, &["uninstall", "--yes"]);
    let last = said.stdout.lines().last().unwrap_or_default();
    assert!(last.ends_with("What was not done may still hold something of ours."), "{}", said.stdout);
    assert!(environment.read(".claude/settings.json").contains("sessionpipe"));
}

#[test]
fn not_while_our_folders_are_redirected() {
    let mut environment = TestEnvironment::with_agents();
    environment.expect(0, &["install", "--yes"]);
    let installed = environment.files();
    let elsewhere = environment.home().join("elsewhere").display().to_string();
    environment.var("SESSIONPIPE_HOME", &elsewhere);
    let said = environment.expect(2, &["uninstall", "--yes"]);
    assert_snapshot!(said.stderr, @"
    error: SESSIONPIPE_HOME is set, so the record of the install may be another one
      = unset SESSIONPIPE_HOME, or say that it is meant so: sessionpipe uninstall --force
    ");
    assert_eq!(environment.files(), installed);
    let said = environment.expect(0, &["uninstall", "--dry-run"]);
    assert!(said.stdout.ends_with("Apply with: sessionpipe uninstall --force --yes\n"), "{}", said.stdout);
    environment.expect(0, &["uninstall", "--yes", "--force"]);
    assert!(!environment.read(".claude/settings.json").contains("sessionpipe"));
}

#[test]
fn nobody_asked_nothing_done() {
    let environment = TestEnvironment::with_agents();
    environment.expect(0, &["install", "--yes"]);
    let installed = environment.snapshot();
    environment.expect(2, &["uninstall"]);
    environment.expect(0, &["uninstall", "--dry-run"]);
    assert_eq!(environment.snapshot(), installed);
}
