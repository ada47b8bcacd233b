//! `sessionpipe install`

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use insta::assert_snapshot;
use serde_json::Value;

use crate::environment::{TestEnvironment, commands};

#[test]
fn a_dry_run_shows_the_plan_and_touches_nothing() {
    let environment = TestEnvironment::new();
    environment.write(".codex/hooks.json", "{\n  \"hooks\": {}\n}\n");
    environment.write(".codex/config.toml", "model = \"gpt-5.5\"\nnotify = [\"/opt/guard/done\", \"--loud\"]\n");
    environment.write(".claude/settings.json", "{\n  \"hooks\": {\n    \"Stop\": [,]\n  }\n}\n");
    environment.write(".claude-mem/settings.json", "{\"memory\": true}\n");
    let before = environment.snapshot();
    let said = environment.expect(1, &["install", "--dry-run"]);
    assert_snapshot!(environment.tidy(&said.stdout), @r#"
    claude-code  found  ~/.claude/settings.json  refused: line 3, column 14: expected a value, found `,`
      |
    3 |     "Stop": [,]
      |              ^
    codex        found  ~/.codex/hooks.json      12 hooks to add
    --- ~/.codex/hooks.json
    +++ ~/.codex/hooks.json (planned)
    @@ -1,3 +1,16 @@
     {
    -  "hooks": {}
    +  "hooks": {
    +    "SessionStart": [{"hooks": [{"type": "command", "command": "'[HOME]/.cargo/bin/sessionpipe-hook' codex SessionStart", "timeout": 5}]}],
    +    "UserPromptSubmit": [{"hooks": [{"type": "command", "command": "'[HOME]/.cargo/bin/sessionpipe-hook' codex UserPromptSubmit", "timeout": 5}]}],
    +    "PreToolUse": [{"hooks": [{"type": "command", "command": "'[HOME]/.cargo/bin/sessionpipe-hook' codex PreToolUse", "timeout": 5}]}],
    +    "PermissionRequest": [{"hooks": [{"type": "command", "command": "'[HOME]/.cargo/bin/sessionpipe-hook' codex PermissionRequest", "timeout": 5}]}],
    +    "PostToolUse": [{"hooks": [{"type": "command", "command": "'[HOME]/.cargo/bin/sessionpipe-hook' codex PostToolUse", "timeout": 5}]}],
    +    "PreCompact": [{"hooks": [{"type": "command", "command": "'[HOME]/.cargo/bin/sessionpipe-hook' codex PreCompact", "timeout": 5}]}],
    +    "PostCompact": [{"hooks": [{"type": "command", "command": "'[HOME]/.cargo/bin/sessionpipe-hook' codex PostCompact", "timeout": 5}]}],
    +    "SubagentStart": [{"hooks": [{"type": "command", "command": "'[HOME]/.cargo/bin/sessionpipe-hook' codex SubagentStart", "timeout": 5}]}],
    +    "SubagentStop": [{"hooks": [{"type": "command", "command": "'[HOME]/.cargo/bin/sessionpipe-hook' codex SubagentStop", "timeout": 5}]}],
    +    "Stop": [{"hooks": [{"type": "command", "command": "'[HOME]/.cargo/bin/sessionpipe-hook' codex Stop", "timeout": 5}]}],
    +    "Interrupt": [{"hooks": [{"type": "command", "command": "'[HOME]/.cargo/bin/sessionpipe-hook' codex Interrupt", "timeout": 3}]}],
    +    "SessionEnd": [{"hooks": [{"type": "command", "command": "'[HOME]/.cargo/bin/sessionpipe-hook' codex SessionEnd", "timeout": 3}]}]
    +  }
     }
    codex        found  ~/.codex/config.toml     notify: ours first, yours chained after it
    --- ~/.codex/config.toml
    +++ ~/.codex/config.toml (planned)
    @@ -1,2 +1,2 @@
     model = "gpt-5.5"
    -notify = ["/opt/guard/done", "--loud"]
    +notify = ["[HOME]/.cargo/bin/sessionpipe-hook", "codex", "notify", "--previous-notify", "/opt/guard/done", "--loud", "--"]

    left alone  ~/.claude-mem  looks like another tool's folder

      ! claude-code: mend the file, or add the entries by hand: sessionpipe install --harness claude-code --print
      ! codex: start `codex`, choose "Review hooks" and trust the 12 hooks of sessionpipe (later: /hooks). Until then Codex runs none of them, and `codex exec` skips them without a word.

    2 files would change, 1 refused. Nothing was written. Apply with: sessionpipe install --yes
    "#);
    assert_eq!(environment.snapshot(), before);
}

#[test]
fn what_is_no_regular_file_is_never_opened() {
    let environment = TestEnvironment::new();
    let files = [".claude/settings.json", ".codex/hooks.json", ".codex/config.toml"];
    for file in files.into_iter().chain([".config/sessionpipe/config.toml"]) {
        environment.write(file, "");
        let path = environment.home().join(file);
        std::fs::remove_file(&path).expect("gone");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a FIFO");
    }
    // Opening one would wait for a writer for ever.
    for args in [&["install", "--yes"][..], &["uninstall", "--yes"]] {
        let said = environment.expect(1, args);
        assert_eq!(said.stdout.matches("refused: it is not a regular file").count(), files.len(), "{}", said.stdout);
    }
    environment.expect(0, &["status"]);
    let doctor = environment.json(1, &["doctor", "--json"]);
    assert_eq!(doctor["config_error"], "~/.config/sessionpipe/config.toml: it is not a regular file");
}

#[test]
fn what_only_reads_touches_nothing() {
    let environment = TestEnvironment::with_agents();
    let untouched = |when: &str| {
        let before = environment.snapshot();
        for args in [
            &["install", "--dry-run"][..],
            &["install", "--dry-run", "--json"],
            &["install", "--check"],
            &["install", "--print"],
            &["install"],
            &["uninstall", "--dry-run"],
            &["uninstall"],
            &["status"],
            &["status", "--json"],
            &["doctor"],
            &["completions", "bash"],
        ] {
            environment.run(args);
            assert_eq!(environment.snapshot(), before, "{when}: sessionpipe {args:?}");
        }
    };
    untouched("before an install");
    environment.expect(0, &["install", "--yes"]);
    untouched("after it");
}

#[test]
fn the_exit_code_tells() {
    let environment = TestEnvironment::with_agents();
    environment.expect(3, &["install", "--check"]);
    // Nobody can be asked.
    let said = environment.expect(2, &["install"]);
    let summary = "3 files would change. There is no terminal to ask on. Nothing was written. Apply with: \
                   sessionpipe install --yes\n";
    assert!(said.stdout.ends_with(summary), "{}", said.stdout);
    let said = environment.expect(0, &["install", "--dry-run", "--harness", "codex"]);
    let summary = "2 files would change. Nothing was written. Apply with: sessionpipe install --harness codex --yes\n";
    assert!(said.stdout.ends_with(summary), "{}", said.stdout);
    environment.expect(0, &["install", "--dry-run"]);
    environment.expect(0, &["install", "--yes"]);
    environment.expect(0, &["install", "--check"]);
    let before = environment.snapshot();
    let said = environment.expect(0, &["install"]);
    assert!(said.stdout.ends_with("\n3 up to date. Nothing to do.\n"), "{}", said.stdout);
    assert_eq!(environment.snapshot(), before, "a second install changes nothing");
}

#[test]
fn one_harness_of_two() {
    let environment = TestEnvironment::with_agents();
    let codex = environment.read(".codex/config.toml");
    environment.expect(0, &["install", "--yes", "--harness", "claude-code", "--harness", "claude-code"]);
    assert_eq!(commands(&serde_json::from_str(&environment.read(".claude/settings.json")).expect("JSON")).len(), 16);
    assert_eq!(environment.read(".codex/config.toml"), codex);
}

#[test]
fn a_harness_that_is_not_here() {
    let environment = TestEnvironment::new();
    environment.write(".codex/config.toml", "");
    let said = environment.expect(1, &["install", "--yes", "--harness", "claude-code"]);
    assert_snapshot!(said.stderr, @"
    error: not found here: claude-code
      = Claude Code: looked for ~/.claude
      = to wire it all the same, add --force
    ");
    environment.expect(0, &["install", "--yes", "--harness", "claude-code", "--force"]);
    assert!(environment.read(".claude/settings.json").contains("claude-code Stop"));

    let environment = TestEnvironment::new();
    // It could not be wired with --force either.
    let said = environment.expect(1, &["install", "--harness", "codex"]);
    assert_snapshot!(said.stderr, @"
    error: not found here: codex
      = Codex: looked for ~/.codex
      = start the agent once, so that it makes its own
    ");
    for args in
        [&["install", "--yes", "--harness", "codex", "--force"][..], &["install", "--print", "--harness", "codex"]]
    {
        let said = environment.expect(1, args);
        assert_eq!(
            said.stderr,
            "error: codex has no config folder here\n  = start the agent once, so that it makes its own\n"
        );
    }
}

#[test]
fn a_machine_without_agents() {
    let environment = TestEnvironment::new();
    let said = environment.expect(0, &["install", "--dry-run"]);
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert_eq!(lines[..2], ["No agent was found on this machine.", "  = Claude Code: looked for ~/.claude"]);
    let looked = lines.iter().filter(|line| line.contains(": looked for ~/")).count();
    assert_eq!(looked, sessionpipe::registry::HARNESSES.len());
    assert_eq!(lines[1 + looked..], ["Nothing to do. To see it work without one: sessionpipe demo"]);
    assert_eq!(environment.expect(0, &["install", "--print"]).stdout, said.stdout);
    assert_eq!(environment.expect(0, &["uninstall"]).stdout, "Nothing to do.\n");
    // A build tree would copy its programs first; not here.
    for args in [&["install", "--json"][..], &["install", "--check", "--json"], &["install", "--yes", "--json"]] {
        let output = environment.run_program(std::path::Path::new(env!("CARGO_BIN_EXE_sessionpipe")), args);
        assert_eq!((output.code, output.stdout.contains("\"copies\": []")), (0, true), "{}", output.stdout);
    }
    assert!(!environment.state().exists());
}

#[test]
fn a_refused_file_is_named_and_the_others_are_wired() {
    let environment = TestEnvironment::with_agents();
    let broken = "{\n  \"hooks\": {\n    \"Stop\": [,]\n  }\n}\n";
    environment.write(".claude/settings.json", broken);
    let said = environment.expect(1, &["install", "--yes"]);
    assert_eq!(environment.read(".claude/settings.json"), broken);
    assert!(environment.read(".codex/hooks.json").contains("codex Stop"));
    assert!(said.stdout.contains("  |\n3 |     \"Stop\": [,]\n  |              ^\n"), "{}", said.stdout);
    assert!(said.stdout.contains("by hand: sessionpipe install --harness claude-code --print"), "{}", said.stdout);
    // What there is to do stands last, below all that scrolled.
    let last = said.stdout.split("2 files changed, 1 not done. Undo with: sessionpipe uninstall\n").nth(1);
    let last = last.expect("the sum");
    assert!(
        last.contains("  ! claude-code: mend the file, or add") && last.contains("  ! codex: start `codex`"),
        "{last}"
    );
    let said = environment.expect(1, &["install"]);
    assert!(said.stdout.ends_with("\n2 up to date, 1 refused. Nothing else to do.\n"), "{}", said.stdout);
}

#[test]
fn for_a_read_only_file_the_entries_are_shown() {
    let environment = TestEnvironment::with_agents();
    let settings = environment.home().join(".claude/settings.json");
    std::fs::set_permissions(&settings, std::fs::Permissions::from_mode(0o444)).expect("a mode");
    let before = environment.read(".claude/settings.json");
    let said = environment.expect(1, &["install", "--yes"]);
    assert!(
        said.stdout.contains("refused: read-only (managed by your system configuration)\n    {\n"),
        "{}",
        said.stdout
    );
    let entry = format!("'{}/.cargo/bin/sessionpipe-hook' claude-code Stop", environment.home().display());
    assert!(said.stdout.contains(&entry), "{}", said.stdout);
    assert!(said.stdout.contains("! claude-code: add the entries by hand: sessionpipe install"), "{}", said.stdout);
    assert_eq!((environment.read(".claude/settings.json"), environment.mode(&settings)), (before, 0o444));
    assert!(environment.read(".codex/hooks.json").contains("codex Stop"));
}

#[test]
fn the_diffs_that_are_shown_are_what_is_done() {
    if Command::new("patch").arg("--version").stdout(Stdio::null()).status().is_err() {
        assert!(std::env::var_os("CI").is_none(), "patch is missing");
        return;
    }
    let (shown, done) = (TestEnvironment::with_agents(), TestEnvironment::with_agents());
    for environment in [&shown, &done] {
        environment.write(
            ".claude/settings.json",
            "\u{feff}{\r\n  \"hooks\": { \"Stop\": [ ] }, // mine\r\n  \"model\": \"opus\"\r\n}",
        );
        environment.write(".codex/config.toml", "# no newline at the end\nmodel = \"gpt-5.5\"");
    }
    let text = shown.run(&["install", "--dry-run"]).stdout;
    let mut diffs: Vec<String> = Vec::new();
    for line in text.split_inclusive('\n') {
        if line.starts_with("--- ") {
            diffs.push(String::new());
        }
        let is_diff = ["--- ", "+++ ", "@@ ", " ", "+", "-", "\\"].iter().any(|mark| line.starts_with(mark));
        if let Some(diff) = diffs.last_mut().filter(|_| is_diff && !line.starts_with("  ! ")) {
            diff.push_str(line);
        }
    }
    assert_eq!(diffs.len(), 3, "{text}");
    for diff in &diffs {
        let name = diff.lines().nth(1).and_then(|line| line.strip_prefix("+++ ~/")).expect("a name");
        let file = shown.home().join(name.trim_end_matches(" (planned)"));
        let mut patch = Command::new("patch")
            .args(["--binary", "--silent"])
            .arg(&file)
            .stdin(Stdio::piped())
            .spawn()
            .expect("patch");
        patch.stdin.take().expect("stdin").write_all(diff.as_bytes()).expect("it reads");
        assert!(patch.wait().expect("it ends").success(), "{diff}");
    }
    done.expect(0, &["install", "--yes"]);
    for (path, bytes) in done.files() {
        let path = path.strip_prefix(done.home()).expect("inside").to_owned();
        let expected = String::from_utf8(bytes).expect("UTF-8").replace(&done.home().display().to_string(), "[HOME]");
        assert_eq!(shown.tidy(&shown.read(&path.display().to_string())), expected, "{}", path.display());
    }
}

#[test]
fn entries_to_paste() {
    let environment = TestEnvironment::with_agents();
    let said = environment.expect(0, &["install", "--print", "--harness", "codex"]);
    let text = environment.tidy(&said.stdout);
    assert!(text.starts_with("# codex: into ~/.codex/hooks.json\n{"), "{text}");
    assert!(text.contains("'[HOME]/.cargo/bin/sessionpipe-hook' codex Stop"), "{text}");
    assert!(text.contains("# codex: into ~/.codex/config.toml\nnotify = [\"[HOME]/.cargo/bin/sessionpipe-hook\", \"codex\", \"notify\"]\n"), "{text}");
    let json = environment.json(0, &["install", "--print", "--json", "--harness", "codex"]);
    let entries: Value =
        serde_json::from_str(json["entries"][0]["text"].as_str().expect("a text")).expect("JSON to paste");
    assert_eq!(commands(&entries).len(), 12);

    // Whoever pastes must not lose what stands there.
    environment.write(".codex/config.toml", "notify = ['say', \"x\"]\n");
    let said = environment.expect(0, &["install", "--print", "--harness", "codex"]);
    let chained = "\"codex\", \"notify\", \"--previous-notify\", \"say\", \"x\", \"--\"]\n";
    assert!(said.stdout.contains(chained), "{}", said.stdout);
}

#[test]
fn no_umask_widens_or_narrows_a_config() {
    for umask in ["000", "002", "077"] {
        let environment = TestEnvironment::with_agents();
        let settings = environment.home().join(".claude/settings.json");
        let config = environment.home().join(".codex/config.toml");
        std::fs::set_permissions(&settings, std::fs::Permissions::from_mode(0o600)).expect("a mode");
        std::fs::set_permissions(&config, std::fs::Permissions::from_mode(0o640)).expect("a mode");
        let script = format!("umask {umask}; exec sessionpipe install --yes");
        let status = environment.command("/bin/sh").args(["-c", &script]).stdout(Stdio::null()).status();
        assert!(status.expect("a shell").success());
        let made = environment.home().join(".codex/hooks.json");
        let modes = [settings, config, made].map(|path| environment.mode(&path));
        assert_eq!(modes, [0o600, 0o640, 0o600], "umask {umask}");
    }
}

#[test]
fn modes_stay_and_our_own_are_narrow() {
    let environment = TestEnvironment::with_agents();
    let settings = environment.home().join(".claude/settings.json");
    std::fs::set_permissions(&settings, std::fs::Permissions::from_mode(0o600)).expect("a mode");
    // Made by somebody with a wide umask.
    for folder in ["", "spool", "backups"] {
        let folder = environment.state().join(folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    }
    environment.expect(0, &["install", "--yes"]);
    assert_eq!(environment.mode(&settings), 0o600);
    let command = commands(&serde_json::from_str(&environment.read(".claude/settings.json")).expect("JSON")).remove(0);
    environment.hook(&command, "{\"session_id\":\"s\"}");
    environment.expect(0, &["flush"]);
    for (path, _) in environment.snapshot().iter().filter(|(path, _)| path.starts_with(environment.state())) {
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(environment.mode(path), expected, "{}", path.display());
    }
}

#[test]
fn on_a_terminal_it_asks_once() {
    let environment = TestEnvironment::with_agents();
    let before = environment.files();
    let screen = on_a_terminal(&environment, &["install"], "n\n");
    assert!(
        screen.contains("\n3 files would change. Write these changes? [y/N]")
            && screen.contains("Nothing was written."),
        "{screen}"
    );
    assert_eq!(environment.files(), before);
    let screen = on_a_terminal(&environment, &["install"], "y\n");
    assert!(screen.contains("3 files changed. Undo with: sessionpipe uninstall"), "{screen}");
    assert_eq!(commands(&serde_json::from_str(&environment.read(".claude/settings.json")).expect("JSON")).len(), 16);
}

/// Runs it on a terminal of its own, and gives the screen.
fn on_a_terminal(environment: &TestEnvironment, args: &[&str], answer: &str) -> String {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&terminal).expect("granted");
    unlockpt(&terminal).expect("unlocked");
    let name = ptsname(&terminal, Vec::new()).expect("its name").into_string().expect("UTF-8");
    let open = || std::fs::OpenOptions::new().read(true).write(true).open(&name).expect("its other end");
    let mut child = environment
        .command(environment.home().join(".cargo/bin/sessionpipe"))
        .args(args)
        .env("TERM", "dumb")
        .stdin(open())
        .stdout(open())
        .stderr(open())
        .spawn()
        .expect("it starts");
    let mut terminal = std::fs::File::from(terminal);
    terminal.write_all(answer.as_bytes()).expect("typed");
    let mut screen = Vec::new();
    let mut buffer = [0; 4096];
    // The last end that closes ends the reading, with an error on Linux.
    while let Ok(read @ 1..) = terminal.read(&mut buffer) {
        screen.extend_from_slice(&buffer[..read]);
    }
    child.wait().expect("it ends");
    String::from_utf8_lossy(&screen).into_owned()
}
