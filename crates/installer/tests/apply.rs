//! Applying: the compare-and-swap, the rollback, the manifest, and what is refused.
#![allow(clippy::disallowed_methods)]
#![cfg(unix)]

mod support;

use std::fs;
use std::path::PathBuf;

use serde_json::json;
use sessionpipe_core::adapter::Adapter;
use sessionpipe_installer::{
    ApplyError, Fault, ManifestError, Outcome, Refusal, WiredState, apply, plan_install, plan_uninstall, status,
};
use support::{Home, argv, grouped};

const SETTINGS: &str = ".claude/settings.json";
const EVENTS: &[&str] = &["SessionStart", "Stop"];

#[test]
fn a_file_that_others_wrote_since_is_planned_again() {
    let home = Home::new();
    home.write(SETTINGS, "{\"model\":\"opus\"}\n");
    let adapter = grouped(&[SETTINGS], EVENTS);
    let plan = home.plan(&[&adapter]);
    home.write(SETTINGS, "{\"model\":\"haiku\",\"env\":{}}\n");
    let receipt = apply(&home.host, &plan).expect("applied");
    assert!(receipt.is_complete());
    assert_eq!(receipt.harnesses[0].files[0].handlers, 2);
    let now = home.json(SETTINGS);
    assert_eq!((&now["model"], &now["env"]), (&json!("haiku"), &json!({})));
    home.uninstall(&[&adapter]);
    assert_eq!(home.text(SETTINGS), "{\"model\":\"haiku\",\"env\":{}}\n");
}

#[test]
fn where_another_edit_is_needed_the_harness_is_put_back_and_the_others_go_on() {
    let home = Home::new();
    home.write(".codex/config.toml", "model = \"m\"\n");
    let (toml, json) = (argv(EVENTS), grouped(&[SETTINGS], EVENTS));
    let plan = home.plan(&[&toml, &json]);
    // Someone puts a notify there: chaining it is not what was shown.
    home.write(".codex/config.toml", "notify = [\"say\"]\n");
    let receipt = apply(&home.host, &plan).expect("applied");
    assert!(!receipt.is_complete());
    let outcomes: Vec<_> = receipt.harnesses[0].files.iter().map(|f| &f.outcome).collect();
    assert!(matches!(outcomes[..], [Outcome::RolledBack, Outcome::Failed(ApplyError::Changed)]), "{outcomes:?}");
    assert_eq!(receipt.harnesses[0].files[0].handlers, 0);
    assert!(!home.exists(".codex/hooks.json"), "put back: it was not there before");
    assert_eq!(home.text(".codex/config.toml"), "notify = [\"say\"]\n");
    assert!(matches!(receipt.harnesses[1].files[0].outcome, Outcome::Created));
    home.uninstall(&[&json]);
    assert_eq!(home.files(), [".codex/config.toml"]);
    assert!(!home.exists(".local/state/sessionpipe"), "no record of what was put back is left");
}

#[test]
fn a_file_that_breaks_after_the_plan_is_left_alone() {
    let home = Home::new();
    home.write(SETTINGS, "{}\n");
    let adapter = grouped(&[SETTINGS], EVENTS);
    let plan = home.plan(&[&adapter]);
    home.write(SETTINGS, "{\n");
    let receipt = apply(&home.host, &plan).expect("applied");
    let outcome = &receipt.harnesses[0].files[0].outcome;
    assert!(matches!(outcome, Outcome::Failed(ApplyError::Refused(Refusal::Syntax { .. }))), "{outcome:?}");
    assert_eq!(home.text(SETTINGS), "{\n");
}

#[test]
fn several_at_once_wire_each_event_once() {
    let home = Home::new();
    home.write(SETTINGS, "{\"model\":\"opus\"}\n");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let adapter = grouped(&[SETTINGS], EVENTS);
                assert!(apply(&home.host, &home.plan(&[&adapter])).expect("applied").is_complete());
            });
        }
    });
    let adapter = grouped(&[SETTINGS], EVENTS);
    assert!(home.plan(&[&adapter]).is_noop());
    home.uninstall(&[&adapter]);
    assert_eq!(home.text(SETTINGS), "{\"model\":\"opus\"}\n");
}

#[test]
fn the_first_original_survives_later_installs() {
    let mut home = Home::new();
    home.write(SETTINGS, "{ }\n");
    let adapter = grouped(&[SETTINGS], EVENTS);
    home.install(&[&adapter]);
    home.host.program.path = "/new/bin/sessionpipe".into();
    let plan = home.plan(&[&adapter]);
    assert_eq!(plan.files().next().expect("a file").summary, "2 hooks to update");
    home.install(&[&adapter]);
    assert!(!home.text(SETTINGS).contains("/opt/sp/bin"));
    home.uninstall(&[&adapter]);
    assert_eq!(home.text(SETTINGS), "{ }\n");
}

#[test]
fn a_file_that_we_made_goes_also_when_others_wrote_it_unless_they_added_something() {
    for (added, gone) in [("\n", true), ("{\"model\":\"opus\"}", false)] {
        let home = Home::new();
        let adapter = grouped(&[SETTINGS], EVENTS);
        home.install(&[&adapter]);
        let text = home.text(SETTINGS);
        let touched = match added.strip_prefix('{').and_then(|a| a.strip_suffix('}')) {
            Some(member) => text.replacen('{', &format!("{{{member},"), 1),
            None => format!("{text}{added}"),
        };
        home.write(SETTINGS, touched);
        home.uninstall(&[&adapter]);
        assert_eq!(home.exists(SETTINGS), !gone, "{added:?}");
        if !gone {
            assert_eq!(home.json(SETTINGS), json!({"model": "opus"}));
        }
    }
}

#[test]
fn a_run_that_died_between_manifest_and_config_leaves_nothing_to_fear() {
    let home = Home::new();
    home.write(SETTINGS, "{\"model\":\"opus\"}\n");
    let adapter = grouped(&[SETTINGS], EVENTS);
    home.install(&[&adapter]);
    home.write(SETTINGS, "{\"model\":\"opus\"}\n");
    assert!(home.uninstall(&[&adapter]).is_complete());
    assert_eq!(home.text(SETTINGS), "{\"model\":\"opus\"}\n");
    assert!(!home.exists(".local/state/sessionpipe"));
}

#[test]
fn installs_and_uninstalls_at_once_wait_for_each_other() {
    let home = Home::new();
    home.write(SETTINGS, "{\"model\":\"opus\"}\n");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let adapter = grouped(&[SETTINGS], EVENTS);
                for _ in 0..8 {
                    // Whether each finds what it planned for is a matter of luck; that it gets its turn is not.
                    apply(&home.host, &home.plan(&[&adapter])).expect("a turn");
                    let plan = plan_uninstall(&home.host, &[&adapter], false).expect("a plan");
                    apply(&home.host, &plan).expect("a turn");
                }
            });
        }
    });
    home.uninstall(&[&grouped(&[SETTINGS], EVENTS)]);
    assert_eq!(home.text(SETTINGS), "{\"model\":\"opus\"}\n");
    assert!(!home.exists(".local/state/sessionpipe"));
}

#[test]
fn what_a_killed_run_left_goes_with_the_next() {
    let home = Home::new();
    home.write(SETTINGS, "{\"model\":\"opus\"}\n");
    let adapter = grouped(&[SETTINGS], EVENTS);
    home.install(&[&adapter]);
    let left = [".claude/.sessionpipe-a1B2c3", ".local/state/sessionpipe/.sessionpipe-a1B2c3"];
    left.iter().for_each(|path| home.write(path, "half"));
    home.uninstall(&[&adapter]);
    assert_eq!(left.map(|path| home.exists(path)), [false, false]);
    assert!(!home.exists(".local/state/sessionpipe"));

    // Killed with nothing but the lock left.
    home.write(".local/state/sessionpipe/install.lock", "");
    home.uninstall(&[&adapter]);
    assert!(!home.exists(".local/state/sessionpipe"));
}

#[test]
fn without_its_backup_a_file_is_undone_by_structure() {
    let home = Home::new();
    home.write(SETTINGS, "{\"model\":\"opus\"}\n");
    let adapter = grouped(&[SETTINGS], EVENTS);
    home.install(&[&adapter]);
    fs::remove_dir_all(home.host.dirs.backups()).expect("gone");
    home.uninstall(&[&adapter]);
    assert_eq!(home.text(SETTINGS), "{\"model\":\"opus\"}\n");
}

#[test]
fn a_file_that_the_adapter_no_longer_names_is_undone_too() {
    let home = Home::new();
    home.write(".old/settings.json", "{}\n");
    home.install(&[&grouped(&[".old/settings.json"], EVENTS)]);
    home.uninstall(&[&grouped(&[SETTINGS], EVENTS)]);
    assert_eq!(home.text(".old/settings.json"), "{}\n");
    assert!(!home.exists(SETTINGS));
}

#[test]
fn one_harness_can_be_undone_while_another_stays() {
    let mut home = Home::new();
    let program = home.path("build/sessionpipe");
    home.write("build/sessionpipe", "a program");
    let to = home.host.dirs.bin().join("sessionpipe");
    home.host.program.copies = vec![(program, to.clone())];
    home.host.program.path = to.clone();
    let (json, toml) = (grouped(&[SETTINGS], EVENTS), argv(EVENTS));
    assert_eq!(home.install(&[&json, &toml]).copies, std::slice::from_ref(&to));
    assert_eq!(home.mode(".local/state/sessionpipe/bin/sessionpipe"), 0o700);
    assert!(home.plan(&[&json, &toml]).is_noop());
    home.write("build/sessionpipe", "a newer program");
    assert!(!home.plan(&[&json, &toml]).is_noop());
    home.install(&[&json, &toml]);
    assert_eq!(fs::read_to_string(&to).expect("a copy"), "a newer program");

    home.uninstall(&[&json]);
    assert!(to.exists(), "the other one needs it");
    assert!(home.plan(&[&toml]).is_noop());
    home.uninstall(&[&toml]);
    assert!(!home.exists(".local/state/sessionpipe"));
    assert_eq!(home.files(), ["build/sessionpipe"]);
}

#[test]
fn a_manifest_that_cannot_be_used_stops_before_anything_is_touched() {
    let home = Home::new();
    home.write(SETTINGS, "{}\n");
    let adapter = grouped(&[SETTINGS], EVENTS);
    let adapters = [&adapter as &dyn Adapter];
    for (text, newer) in [("{\"version\": 99, \"files\": []}", true), ("{", false)] {
        home.write(".local/state/sessionpipe/installed.json", text);
        let install = plan_install(&home.host, &[]).expect_err("unusable");
        let uninstall = plan_uninstall(&home.host, &adapters, false).expect_err("unusable");
        for error in [install, uninstall] {
            match error {
                ManifestError::Newer { found, .. } => assert!(newer && found == 99),
                ManifestError::Damaged { .. } => assert!(!newer),
                ManifestError::Read { .. } => panic!("{error}"),
            }
        }
    }
}

#[test]
fn a_file_of_another_user_is_refused_and_never_chowned() {
    let home = Home::new();
    home.write(SETTINGS, "{}\n");
    home.write(".theirs/x", "");
    // Only root can give files away.
    let give = |path: PathBuf| std::os::unix::fs::chown(path, Some(12345), Some(12345)).is_ok();
    if !give(home.path(SETTINGS)) || !give(home.path(".theirs")) {
        return;
    }
    let adapter = grouped(&[SETTINGS, ".theirs/settings.json"], EVENTS);
    let plan = home.plan(&[&adapter]);
    let refusals: Vec<_> = plan.refused().map(|(_, refusal)| refusal.clone()).collect();
    assert_eq!(refusals, vec![Refusal::ForeignOwner { owner: 12345, you: 0 }; 2]);
}

#[test]
fn what_is_no_text_file_of_sane_size_is_refused() {
    let home = Home::new();
    home.write("latin1.json", b"{\n  \"name\": \"\xe9\"\n}\n");
    home.write("huge.json", "");
    fs::File::options()
        .write(true)
        .open(home.path("huge.json"))
        .expect("open")
        .set_len((64 << 20) + 1)
        .expect("sparse");
    home.write("full.json", format!("{{\"a\":\"{}\"}}", "x".repeat((64 << 20) - 8)));
    home.write("deep.json", format!("{{\"hooks\":{}", "[".repeat(100_000)));
    home.write("deep.toml", format!("a = {}", "[".repeat(100_000)));
    home.write("control.json", "{\"a\": \"x\ty\"}");
    home.write("under/file", "");
    let files = ["latin1.json", "huge.json", "deep.json", "control.json", "under/file/settings.json", "full.json"];
    let plan = home.plan(&[&grouped(&files, EVENTS)]);
    let reasons: Vec<String> = plan.refused().map(|(_, refusal)| refusal.to_string()).collect();
    assert_eq!(reasons.len(), files.len());
    assert_eq!(reasons[0], "line 2, column 12: not UTF-8");
    assert_eq!(reasons[1], "67108865 bytes are more than the 67108864 that are edited");
    assert!(reasons[2].ends_with("nested deeper than 512 levels"), "{}", reasons[2]);
    assert_eq!(reasons[3], "line 1, column 9: a control character in a string must be escaped");

    assert_eq!(reasons[4], "cannot be read: not a directory");
    assert!(reasons[5].ends_with("are more than the 67108864 that are edited"), "with ours in it: {}", reasons[5]);

    let nested = format!("{{\"a\": {}{}}}\n", "[".repeat(500), "]".repeat(500));
    home.write(SETTINGS, &nested);
    home.install(&[&grouped(&[SETTINGS], EVENTS)]);
    assert!(home.text(SETTINGS).contains("hook claude-code Stop"), "deep, but no bomb");

    home.write(".codex/config.toml", home.text("deep.toml"));
    let plan = home.plan(&[&argv(EVENTS)]);
    assert!(matches!(plan.refused().next(), Some((_, Refusal::Syntax { .. }))));
}

#[test]
fn the_last_of_a_double_key_counts() {
    let home = Home::new();
    let text = "{\"hooks\":{\"Stop\":1},\"hooks\":{\"Stop\":[],\"Stop\":[{\"hooks\":[]}]}}\n";
    home.write(SETTINGS, text);
    let adapter = grouped(&[SETTINGS], &["Stop"]);
    assert!(home.install(&[&adapter]).is_complete());
    let now = home.json(SETTINGS);
    assert_eq!(now["hooks"]["Stop"][0], json!({"hooks": []}));
    assert_eq!(now["hooks"]["Stop"].as_array().map(Vec::len), Some(2));
    home.uninstall(&[&adapter]);
    assert_eq!(home.text(SETTINGS), text);

    // Without a record the map that is emptied stays: else the one before it would count.
    for text in ["{\"hooks\":5,\"hooks\":{}}\n", "{\"hooks\":{\"Stop\":1,\"Stop\":[]}}\n"] {
        home.write(SETTINGS, text);
        assert!(home.install(&[&adapter]).is_complete());
        fs::remove_dir_all(&home.host.dirs.state).expect("no record");
        assert!(home.uninstall(&[&adapter]).is_complete());
        assert_eq!(home.text(SETTINGS), text);
    }
}

#[test]
fn a_group_that_others_share_keeps_them_and_gives_ours_back_its_own() {
    let home = Home::new();
    let old = "/old/bin/sessionpipe hook claude-code Stop";
    home.write(
        SETTINGS,
        format!(
            "{{\"hooks\":{{\"Stop\":[{{\"matcher\":\"Bash\",\"hooks\":[{{\"type\":\"command\",\"command\":\"{old}\"}},\
             {{\"type\":\"command\",\"command\":\"theirs\"}}]}}]}}}}\n"
        ),
    );
    let adapter = grouped(&[SETTINGS], &["Stop"]);
    let states = status(&home.host, &[&adapter as &dyn Adapter]).expect("a status");
    let file = &states[0].files[0];
    assert_eq!(file.state, WiredState::Stale(vec![Fault::Misplaced("Stop".into())]));
    assert_eq!(file.dead, ["/old/bin/sessionpipe"]);
    home.install(&[&adapter]);
    assert_eq!(
        home.text(SETTINGS),
        "{\"hooks\":{\"Stop\":[{\"matcher\":\"Bash\",\"hooks\":[{\"type\":\"command\",\"command\":\"theirs\"}]},\
         {\"hooks\":[{\"type\":\"command\",\"command\":\"'/opt/sp/bin/sessionpipe' hook claude-code Stop\",\
         \"timeout\":5}]}]}}\n"
    );
}

#[test]
fn only_the_value_that_differs_is_updated() {
    let home = Home::new();
    let adapter = grouped(&[SETTINGS], &["Stop"]);
    let handler = |timeout| {
        format!(
            "{{\n  \"hooks\": {{ \"Stop\": [\n    {{ \"hooks\": [ {{ \"timeout\":{timeout}, \"type\": \"command\",\n      \
             \"command\": \"'/opt/sp/bin/sessionpipe' hook claude-code Stop\" }} ] }} // ours\n  ] }}\n}}\n"
        )
    };
    home.write(SETTINGS, handler(" 99"));
    home.install(&[&adapter]);
    assert_eq!(home.text(SETTINGS), handler(" 5"));
}

#[test]
fn an_event_that_is_no_array_is_refused_with_its_place() {
    let home = Home::new();
    home.write(SETTINGS, "{\n  \"hooks\": {\n    \"Stop\": {\"hooks\": []}\n  }\n}\n");
    home.write(".b/settings.json", "{\"hooks\": []}");
    let plan = home.plan(&[&grouped(&[SETTINGS, ".b/settings.json"], EVENTS)]);
    let reasons: Vec<String> = plan.refused().map(|(_, refusal)| refusal.to_string()).collect();
    assert_eq!(
        reasons,
        [
            "line 3, column 13: hooks.Stop must be an array, not an object",
            "line 1, column 11: hooks must be an object, not an array"
        ]
    );
}

#[test]
fn an_empty_document_gets_one_line_per_event() {
    let home = Home::new();
    home.install(&[&grouped(&[SETTINGS], EVENTS)]);
    assert_eq!(
        home.text(SETTINGS),
        r#"{
  "hooks": {
    "SessionStart": [{"hooks": [{"type": "command", "command": "'/opt/sp/bin/sessionpipe' hook claude-code SessionStart", "timeout": 5}]}],
    "Stop": [{"hooks": [{"type": "command", "command": "'/opt/sp/bin/sessionpipe' hook claude-code Stop", "timeout": 5}]}]
  }
}
"#
    );
}

#[test]
fn what_is_spread_out_stays_spread_out() {
    let home = Home::new();
    let group = |command: &str, timeout: &str| {
        format!(
            "      {{\n        \"hooks\": [\n          {{\n            \"type\": \"command\",\n            \
             \"command\": \"{command}\"{timeout}\n          }}\n        ]\n      }}"
        )
    };
    let theirs = group("theirs", "");
    home.write(SETTINGS, format!("{{\n  \"hooks\": {{\n    \"Stop\": [\n{theirs}\n    ]\n  }}\n}}\n"));
    home.install(&[&grouped(&[SETTINGS], EVENTS)]);
    let ours =
        |event| group(&format!("'/opt/sp/bin/sessionpipe' hook claude-code {event}"), ",\n            \"timeout\": 5");
    let (stop, start) = (ours("Stop"), ours("SessionStart"));
    assert_eq!(
        home.text(SETTINGS),
        format!(
            "{{\n  \"hooks\": {{\n    \"Stop\": [\n{theirs},\n{stop}\n    ],\n    \"SessionStart\": [\n{start}\n    ]\n  }}\n}}\n"
        )
    );
}

#[test]
fn what_fails_after_the_configs_does_not_say_that_none_was_touched() {
    let home = Home::new();
    home.write(SETTINGS, "{}\n");
    let adapter = grouped(&[SETTINGS], EVENTS);
    home.install(&[&adapter]);
    // It is no backup of ours, and no file to remove.
    fs::create_dir(home.host.dirs.backups().join("folder")).expect("a folder");
    let plan = plan_uninstall(&home.host, &[&adapter], false).expect("a plan");
    assert!(matches!(apply(&home.host, &plan), Err(ApplyError::Untidy(_))));
    assert_eq!(home.text(SETTINGS), "{}\n");
}
