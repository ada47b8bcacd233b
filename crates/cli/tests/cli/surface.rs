//! What holds for every command: help, unknown words, the hook that never complains, the guard of the tests.

use insta::assert_snapshot;

use crate::environment::TestEnvironment;

const COMMANDS: [&str; 12] = [
    "install",
    "uninstall",
    "tail",
    "sink",
    "flush",
    "replay",
    "forget",
    "status",
    "doctor",
    "demo",
    "completions",
    "worker",
];

#[test]
fn help_wins_and_touches_nothing() {
    let environment = TestEnvironment::with_agents();
    let before = environment.snapshot();
    for command in COMMANDS {
        for args in
            [&[command, "--help"][..], &[command, "-h"], &[command, "--nonsense", "--help"], &["--help", command]]
        {
            let said = environment.expect(0, args);
            assert!(said.stdout.contains(&format!("Usage: sessionpipe {command}")), "{args:?}\n{}", said.stdout);
            assert_eq!(said.stderr, "", "{args:?}");
        }
    }
    environment.expect(0, &["install", "--yes", "--harness", "nobody", "--help"]);
    assert!(environment.expect(0, &["help", "tail"]).stdout.contains("Usage: sessionpipe tail"));
    assert_eq!(environment.snapshot(), before);
}

#[test]
fn the_long_help_of_a_command_has_examples() {
    let environment = TestEnvironment::new();
    for command in COMMANDS.iter().filter(|command| **command != "worker") {
        let help = environment.expect(0, &[command, "--help"]).stdout;
        assert!(help.contains("Examples:\n  sessionpipe "), "{help}");
    }
}

#[test]
fn unknown_words_exit_2() {
    let environment = TestEnvironment::new();
    for args in
        [&[][..], &["instal"], &["install", "--nonsense"], &["tail", "--tier", "4"], &["flush", "--timeout", "soon"]]
    {
        let said = environment.expect(2, args);
        assert_eq!(said.stdout, "", "{args:?}");
        assert!(!said.stderr.is_empty(), "{args:?}");
    }
    environment.expect(2, &["instal", "--help"]);
    let said = environment.expect(2, &["tail", "--since", "yesterday"]);
    assert_snapshot!(said.stderr, @r#"error: "yesterday" is no time: say how long ago (10m, 2h, 3d) or when (2026-11-30T14:00:00Z, 2026-11-30)"#);
    let said = environment.expect(2, &["install", "--harness", "cortex"]);
    let known: Vec<_> = sessionpipe::registry::HARNESSES.iter().map(|harness| harness.name).collect();
    assert_eq!(said.stderr, format!("error: no harness is called \"cortex\"\n  = known: {}\n", known.join(", ")));
}

#[test]
fn whatever_follows_hook_it_exits_0_and_prints_nothing() {
    let environment = TestEnvironment::new();
    for args in [
        &["hook"][..],
        &["hook", "--help"],
        &["hook", "-h"],
        &["hook", "--version"],
        &["hook", "nobody", "Nothing"],
        &["hook", "claude-code"],
        &["hook", "codex", "Stop", "--help"],
        &["hook", "--", "--nonsense"],
    ] {
        let said = environment.run(args);
        assert_eq!((said.code, said.stdout.as_str(), said.stderr.as_str()), (0, "", ""), "{args:?}");
    }
}

#[test]
fn a_test_never_runs_in_a_real_home() {
    let mut environment = TestEnvironment::with_agents();
    let before = environment.snapshot();
    environment.var("TMPDIR", "/nonexistent");
    for args in [&["install", "--yes"][..], &["status"], &["tail"]] {
        let said = environment.expect(2, args);
        assert_eq!(said.stderr, "error: SESSIONPIPE_TEST=1, but HOME is not under the temporary folder\n");
    }
    assert_eq!(environment.snapshot(), before);
}

#[test]
fn no_home_is_an_error_and_never_a_guess() {
    let mut environment = TestEnvironment::new();
    environment.var("HOME", "relative");
    let said = environment.run_program(&environment.home().join(".cargo/bin/sessionpipe"), &["status"]);
    assert_eq!((said.code, said.stdout.as_str()), (2, ""));
}

#[test]
fn a_reader_that_has_had_enough_is_no_error() {
    let environment = TestEnvironment::new();
    let program = environment.home().join(".cargo/bin/sessionpipe");
    let shell = |script: &str| {
        let output = environment.command("/bin/sh").args(["-c", script, "sh"]).arg(&program).output().expect("a shell");
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    assert_eq!(shell("\"$1\" completions bash | head -c 12"), "_sessionpipe");
    // What was asked for is done all the same.
    environment.write(".claude/settings.json", "{}\n");
    assert_eq!(shell("\"$1\" install --yes | :"), "");
    assert!(environment.read(".claude/settings.json").contains("sessionpipe-hook"));
    // A full disk is one.
    if cfg!(target_os = "linux") {
        let text = shell("\"$1\" completions bash 2>&1 >/dev/full");
        assert!(text.starts_with("error: No space left on device"), "{text}");
    }
}

#[test]
fn completions_for_every_shell() {
    let environment = TestEnvironment::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(environment.expect(0, &["completions", shell]).stdout.contains("uninstall"), "{shell}");
    }
}

#[test]
fn colours_only_where_they_are_wanted() {
    let mut environment = TestEnvironment::with_agents();
    assert!(!environment.run(&["install", "--dry-run"]).stdout.contains('\u{1b}'));
    environment.var("CLICOLOR_FORCE", "1");
    assert!(environment.run(&["install", "--dry-run"]).stdout.contains("\u{1b}[32m"));
    environment.var("NO_COLOR", "1");
    assert!(!environment.run(&["install", "--dry-run"]).stdout.contains('\u{1b}'));
}
