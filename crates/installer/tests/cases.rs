//! The directory cases: what must hold for each config that an installer was reported to have harmed.
#![allow(clippy::disallowed_methods)]
#![cfg(unix)]

mod support;

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

use serde_json::{Value, json};
use sessionpipe_core::adapter::Adapter;
use sessionpipe_core::command;
use sessionpipe_installer::{
    Fault, FileState, Outcome, Refusal, WiredState, apply, entries_to_paste, plan_uninstall, status,
};
use support::{Home, argv, case_dir, grouped};

const EVENTS: &[&str] = &["SessionStart", "Stop"];
const SETTINGS: &str = ".claude/settings.json";

fn ours(harness: &str, event: &str) -> Value {
    let command = format!("'/opt/sp/bin/sessionpipe' hook {harness} {event}");
    json!({"hooks": [{"type": "command", "command": command, "timeout": 5}]})
}

fn refusal(home: &Home, adapter: &support::Double, file: &str) -> Refusal {
    let plan = home.plan(&[adapter]);
    let found = plan.refused().find(|(f, _)| f.path == home.path(file));
    found.map_or_else(|| panic!("{file} is not refused"), |(_, refusal)| refusal.clone())
}

fn state(home: &Home, adapter: &support::Double, file: &str) -> WiredState {
    let statuses = status(&home.host, &[adapter as &dyn Adapter]).expect("a status");
    let files = statuses.into_iter().flat_map(|h| h.files);
    files.into_iter().find(|f| f.path == home.path(file)).expect("the file").state
}

#[test]
fn comments_trailing_commas_and_slashes_in_strings_stay() {
    let home = Home::case("jsonc-comments");
    let files = [SETTINGS, ".gemini/settings.json"];
    let adapter = grouped(&files, EVENTS);
    let before = files.map(|f| home.text(f));
    let plan = home.plan(&[&adapter]);
    let notices: Vec<_> = plan.harnesses[0].notices.iter().filter(|n| n.contains("ignores")).collect();
    assert_eq!(notices.len(), 2, "the strict reader is warned of for both: {notices:?}");
    assert!(home.install(&[&adapter]).is_complete());
    assert_eq!(
        home.text(SETTINGS),
        "{\n  // why: deny rm\n  \"permissions\": { \"deny\": [\"Bash(rm -rf *)\"] },\n  \"env\": {\"A\": \"1\"},\n  \
         \"hooks\": {\n    \"SessionStart\": [{ \"hooks\": [{ \"type\": \"command\", \"command\": \
         \"'/opt/sp/bin/sessionpipe' hook claude-code SessionStart\", \"timeout\": 5 }] }],\n    \"Stop\": [{ \
         \"hooks\": [{ \"type\": \"command\", \"command\": \"'/opt/sp/bin/sessionpipe' hook claude-code Stop\", \
         \"timeout\": 5 }] }]\n  }\n}\n"
            .replace("{ \"A\"", "{\"A\"")
    );
    for (file, before) in files.iter().zip(&before) {
        let after = home.text(file);
        let mut lines = after.lines();
        for line in before.lines() {
            let kept = lines.by_ref().any(|l| l == line || l == format!("{line},"));
            assert!(kept, "{file} lost {line:?}");
        }
    }
    assert!(home.text(files[1]).contains("\"https://proxy.example//x\", // trailing note"));
    assert!(home.text(files[1]).contains("\"// note\": "));
    assert!(home.plan(&[&adapter]).is_noop());
    assert!(home.uninstall(&[&adapter]).is_complete());
    assert_eq!(files.map(|f| home.text(f)), before);
}

#[test]
fn order_indentation_compactness_and_the_missing_newline_stay() {
    let home = Home::case("key-order-format");
    let files = [SETTINGS, ".claude-b/settings.json"];
    let adapter = grouped(&files, EVENTS);
    let before = files.map(|f| home.text(f));
    home.install(&[&adapter]);
    let tabs = home.text(SETTINGS);
    let lead = before[0].strip_suffix("\n}\n").expect("the end");
    assert!(tabs.starts_with(&format!("{lead},\n\t\"hooks\": {{\n\t\t\"SessionStart\": [{{\"hooks\": [")), "{tabs}");
    assert!(tabs.ends_with("}]}]\n\t}\n}\n"), "{tabs}");
    assert_eq!(
        home.text(files[1]),
        "{\n    \"z\": 1,\n    \"a\": {\"k\":[1,2,3]},\n    \"hooks\": {\"Stop\":[{\"hooks\":[{\"type\":\"command\",\
         \"command\":\"say done\"}]},{\"hooks\":[{\"type\":\"command\",\"command\":\
         \"'/opt/sp/bin/sessionpipe' hook claude-code Stop\",\"timeout\":5}]}],\"SessionStart\":[{\"hooks\":\
         [{\"type\":\"command\",\"command\":\"'/opt/sp/bin/sessionpipe' hook claude-code SessionStart\",\
         \"timeout\":5}]}]}\n}"
    );
    home.uninstall(&[&adapter]);
    assert_eq!(files.map(|f| home.text(f)), before);
}

#[test]
fn a_file_that_does_not_parse_is_never_rewritten() {
    let home = Home::case("malformed-refused");
    let files = [SETTINGS, ".cursor/hooks.json", ".gemini/settings.json"];
    let adapter = grouped(&files, EVENTS);
    let before = files.map(|f| home.bytes(f));
    let Refusal::Syntax { place, message } = refusal(&home, &adapter, SETTINGS) else { panic!("syntax") };
    // The cut file opens two braces; the inner one is the innermost that is never closed.
    assert_eq!((place.line, place.column, message.as_str()), (3, 18, "this `{` is never closed"));
    let Refusal::Syntax { place, message } = refusal(&home, &adapter, ".cursor/hooks.json") else { panic!("syntax") };
    assert_eq!((place.line, place.column), (1, 68));
    assert_eq!(message, "expected the end of the file, found `}`");
    assert_eq!((place.caret, place.source.as_str()), (67, std::str::from_utf8(&before[1]).expect("text").trim_end()));

    let receipt = home.install(&[&adapter]);
    assert!(!receipt.is_complete());
    let outcomes: Vec<_> = receipt.harnesses[0].files.iter().map(|f| &f.outcome).collect();
    assert!(matches!(outcomes[..], [Outcome::Refused(_), Outcome::Refused(_), Outcome::Changed]), "{outcomes:?}");
    home.uninstall(&[&adapter]);
    assert_eq!(files.map(|f| home.bytes(f)), before);
    assert_eq!(home.files(), [SETTINGS, ".cursor/hooks.json", ".gemini/settings.json"]);
}

#[test]
fn a_root_that_is_no_object_is_refused_and_a_blank_one_is_a_document() {
    let adapter = grouped(&[SETTINGS], EVENTS);
    for (variant, found) in [("array", "an array"), ("null", "null"), ("number", "a number"), ("string", "a string")] {
        let home = Home::new();
        let bytes = fs::read(case_dir("root-not-object").join(format!("variants/{variant}.json"))).expect("variant");
        home.write(SETTINGS, &bytes);
        let refusal = refusal(&home, &adapter, SETTINGS);
        assert_eq!(refusal.to_string(), format!("line 1, column 1: the document must be an object, not {found}"));
        home.install(&[&adapter]);
        home.uninstall(&[&adapter]);
        assert_eq!(home.bytes(SETTINGS), bytes);
    }
    for variant in ["empty", "spaces", "bom-only"] {
        let home = Home::new();
        let bytes = fs::read(case_dir("root-not-object").join(format!("variants/{variant}.json"))).expect("variant");
        home.write(SETTINGS, &bytes);
        assert!(home.install(&[&adapter]).is_complete());
        let text = home.text(SETTINGS);
        assert_eq!(text.starts_with('\u{feff}'), variant == "bom-only");
        let value: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).expect("JSON");
        assert_eq!(
            value,
            json!({"hooks": {"SessionStart": [ours("claude-code", "SessionStart")], "Stop": [ours("claude-code", "Stop")]}})
        );
        home.uninstall(&[&adapter]);
        assert_eq!(home.bytes(SETTINGS), bytes, "{variant}");
    }
}

#[test]
fn a_byte_order_mark_is_kept_and_never_added() {
    let home = Home::case("utf8-bom");
    let (json, toml) = (grouped(&[SETTINGS], EVENTS), argv(EVENTS));
    let before = [SETTINGS, ".codex/config.toml"].map(|f| home.bytes(f));
    assert!(home.install(&[&json, &toml]).is_complete());
    for file in [SETTINGS, ".codex/config.toml"] {
        assert!(home.bytes(file).starts_with(b"\xef\xbb\xbf"), "{file}");
        assert_eq!(home.text(file).matches('\u{feff}').count(), 1, "{file}");
    }
    assert!(!home.bytes(".codex/hooks.json").starts_with(b"\xef\xbb\xbf"), "a new file has none");
    home.uninstall(&[&json, &toml]);
    assert_eq!([SETTINGS, ".codex/config.toml"].map(|f| home.bytes(f)), before);
    assert!(!home.exists(".codex/hooks.json"));
}

#[test]
fn crlf_stays_crlf() {
    let home = Home::case("crlf");
    let (json, toml) = (grouped(&[SETTINGS], EVENTS), argv(EVENTS));
    let files = [SETTINGS, ".codex/config.toml"];
    let before = files.map(|f| home.bytes(f));
    assert!(home.install(&[&json, &toml]).is_complete());
    for (file, before) in files.iter().zip(&before) {
        let text = home.text(file);
        assert_eq!(text.matches('\r').count(), text.matches('\n').count(), "{file}");
        assert_eq!(text.matches("\r\n").count(), text.matches('\n').count(), "{file}");
        assert_ne!(text.as_bytes(), before, "{file}");
    }
    home.uninstall(&[&json, &toml]);
    assert_eq!(files.map(|f| home.bytes(f)), before);
}

#[test]
fn mixed_endings_get_the_ending_of_the_line_before() {
    let home = Home::new();
    let adapter = grouped(&[SETTINGS], &["Stop"]);
    home.write(SETTINGS, "{\n  \"a\": 1,\r\n  \"b\": 2\r\n}\n");
    home.install(&[&adapter]);
    let text = home.text(SETTINGS);
    assert!(text.starts_with("{\n  \"a\": 1,\r\n  \"b\": 2,\r\n  \"hooks\": {\r\n    \"Stop\": ["), "{text:?}");
    assert!(text.ends_with("]\r\n  }\r\n}\n"), "{text:?}");
}

#[test]
fn links_stay_links_and_their_targets_are_edited() {
    let home = Home::new();
    home.write("dotfiles/claude/settings.json", "{\n  \"model\": \"opus\"\n}\n");
    home.write("dotfiles/cursor.json", "{\"version\":1,\"hooks\":{}}\n");
    for dir in [".claude", ".cursor", ".gemini", ".factory", ".loop", "dotfiles/dir.json"] {
        fs::create_dir_all(home.path(dir)).expect("a folder");
    }
    symlink("../dotfiles/claude/settings.json", home.path(".claude/settings.json")).expect("relative");
    symlink(home.path("dotfiles/cursor.json"), home.path("dotfiles/hop.json")).expect("absolute");
    symlink(home.path("dotfiles/hop.json"), home.path(".cursor/hooks.json")).expect("two hops");
    symlink(home.path("dotfiles/nowhere.json"), home.path(".gemini/settings.json")).expect("dangling");
    symlink(home.path("dotfiles/dir.json"), home.path(".factory/settings.json")).expect("a folder");
    symlink("settings.json", home.path(".loop/settings.json")).expect("a loop");
    let links =
        [SETTINGS, ".cursor/hooks.json", ".gemini/settings.json", ".factory/settings.json", ".loop/settings.json"];
    let adapter = grouped(&links, EVENTS);
    let before = ["dotfiles/claude/settings.json", "dotfiles/cursor.json"].map(|f| home.bytes(f));

    let dangling = home.path("dotfiles/nowhere.json").display().to_string();
    assert_eq!(refusal(&home, &adapter, links[2]), Refusal::DanglingLink { target: dangling });
    assert_eq!(refusal(&home, &adapter, links[3]), Refusal::Folder);
    assert_eq!(refusal(&home, &adapter, links[4]), Refusal::LinkLoop);
    home.install(&[&adapter]);
    for link in links {
        assert!(fs::symlink_metadata(home.path(link)).expect("there").is_symlink(), "{link}");
    }
    assert!(home.text("dotfiles/claude/settings.json").contains("hook claude-code Stop"));
    assert!(home.text("dotfiles/cursor.json").contains("hook claude-code Stop"));
    assert!(!home.exists("dotfiles/nowhere.json"));
    home.uninstall(&[&adapter]);
    assert_eq!(["dotfiles/claude/settings.json", "dotfiles/cursor.json"].map(|f| home.bytes(f)), before);
    for link in links {
        assert!(fs::symlink_metadata(home.path(link)).expect("there").is_symlink(), "{link}");
    }
}

#[test]
fn two_paths_to_one_file_are_edited_once() {
    let home = Home::new();
    home.write("shared.json", "{}\n");
    for dir in [".claude", ".claude-work"] {
        fs::create_dir_all(home.path(dir)).expect("a folder");
        symlink(home.path("shared.json"), home.path(dir).join("settings.json")).expect("a link");
    }
    let adapter = grouped(&[SETTINGS, ".claude-work/settings.json"], EVENTS);
    assert_eq!(home.plan(&[&adapter]).files().count(), 1);
    home.install(&[&adapter]);
    assert_eq!(home.json("shared.json")["hooks"]["Stop"], json!([ours("claude-code", "Stop")]));
    home.uninstall(&[&adapter]);
    assert_eq!(home.text("shared.json"), "{}\n");
}

#[test]
fn a_file_with_several_names_keeps_them() {
    let home = Home::new();
    home.write(SETTINGS, "{}\n");
    fs::hard_link(home.path(SETTINGS), home.path("other.json")).expect("a hard link");
    let inode = fs::metadata(home.path(SETTINGS)).expect("there").ino();
    let adapter = grouped(&[SETTINGS], EVENTS);
    home.install(&[&adapter]);
    assert_eq!(fs::metadata(home.path(SETTINGS)).expect("there").ino(), inode);
    assert_eq!(home.text("other.json"), home.text(SETTINGS));
    assert!(home.text("other.json").contains("hook claude-code Stop"));
    home.uninstall(&[&adapter]);
    assert_eq!(home.text("other.json"), "{}\n");
}

#[test]
fn modes_stay_and_new_files_are_private() {
    let home = Home::new();
    home.write(SETTINGS, "{\"env\":{\"K\":\"v\"}}\n");
    home.chmod(SETTINGS, 0o600);
    home.write(".codex/config.toml", "model = \"m\"\n");
    home.chmod(".codex/config.toml", 0o640);
    let (json, toml) = (grouped(&[SETTINGS, ".claude-new/deep/settings.json"], EVENTS), argv(EVENTS));
    assert!(home.install(&[&json, &toml]).is_complete());
    assert_eq!(home.mode(SETTINGS), 0o600);
    assert_eq!(home.mode(".codex/config.toml"), 0o640);
    assert_eq!(home.mode(".codex/hooks.json"), 0o600);
    assert_eq!(home.mode(".claude-new/deep/settings.json"), 0o600);
    assert_eq!((home.mode(".claude-new"), home.mode(".claude-new/deep")), (0o700, 0o700));
    let state = ".local/state/sessionpipe";
    assert_eq!((home.mode(state), home.mode(&format!("{state}/backups"))), (0o700, 0o700));
    assert_eq!(home.mode(&format!("{state}/installed.json")), 0o600);
    let backups: Vec<_> = fs::read_dir(home.host.dirs.backups()).expect("backups").collect();
    assert_eq!(backups.len(), 2, "one for each file that was there");
    for backup in backups {
        assert_eq!(backup.expect("an entry").metadata().expect("there").mode() & 0o7777, 0o600);
    }
    home.uninstall(&[&json, &toml]);
    assert_eq!((home.mode(SETTINGS), home.mode(".codex/config.toml")), (0o600, 0o640));
    assert!(!home.exists(".claude-new"), "folders that we made go");
    assert!(!home.exists(state), "nothing of ours is left");
}

#[test]
fn read_only_is_refused_with_the_entries_to_paste() {
    let home = Home::new();
    home.write("store/settings.json", "{\"model\":\"opus\"}\n");
    home.chmod("store/settings.json", 0o444);
    home.chmod("store", 0o555);
    home.write(".claude-plain/settings.json", "{}\n");
    home.chmod(".claude-plain/settings.json", 0o400);
    fs::create_dir(home.path(".claude")).expect("a folder");
    symlink(home.path("store/settings.json"), home.path(SETTINGS)).expect("a link");
    home.write("locked/keep", "");
    home.chmod("locked", 0o555);
    let files = [SETTINGS, ".claude-plain/settings.json", "locked/settings.json", ".gemini/settings.json"];
    let adapter = grouped(&files, EVENTS);
    let plan = home.plan(&[&adapter]);
    assert_eq!(plan.refused().map(|(_, r)| r.clone()).collect::<Vec<_>>(), vec![Refusal::ReadOnly; 3]);
    let (file, refusal) = plan.refused().next().expect("refused");
    assert_eq!(refusal.to_string(), "read-only (managed by your system configuration)");
    let pasted: Value = serde_json::from_str(&file.paste).expect("JSON to paste");
    assert_eq!(pasted["hooks"]["Stop"], json!([ours("claude-code", "Stop")]));
    assert_eq!(entries_to_paste(&home.host, &adapter, &[])[0].text, file.paste);

    let receipt = home.install(&[&adapter]);
    assert!(!receipt.is_complete());
    assert!(home.exists(".gemini/settings.json"), "the other one is wired");
    assert_eq!(home.text("store/settings.json"), "{\"model\":\"opus\"}\n");
    assert_eq!(fs::read_dir(home.path("store")).expect("readable").count(), 1, "no litter");
    assert!(matches!(state(&home, &adapter, SETTINGS), WiredState::Refused(Refusal::ReadOnly)));

    // The entries arrive by the system configuration: then all is well.
    home.chmod("store/settings.json", 0o644);
    home.write("store/settings.json", &file.paste);
    home.chmod("store/settings.json", 0o444);
    assert_eq!(state(&home, &adapter, SETTINGS), WiredState::Wired);
    assert!(home.plan(&[&adapter]).files().any(|f| f.state == FileState::UpToDate));
    home.chmod("store", 0o755);
    home.chmod("locked", 0o755);
}

#[test]
fn old_paths_and_duplicates_become_one_and_lookalikes_stay() {
    let home = Home::case("upgrade-dedupe");
    let adapter = grouped(&[SETTINGS], &["Stop"]);
    assert_eq!(
        state(&home, &adapter, SETTINGS),
        WiredState::Stale(vec![Fault::Duplicate("Stop".into()), Fault::OldPath("Stop".into())])
    );
    let plan = home.plan(&[&adapter]);
    assert_eq!(plan.files().next().expect("a file").summary, "1 hook to update, 3 to remove");
    home.install(&[&adapter]);
    assert_eq!(
        home.text(SETTINGS),
        r#"{
  "hooks": {
    "Stop": [
      {"hooks":[{"type":"command","command":"'/opt/sp/bin/sessionpipe' hook claude-code Stop","timeout":5}]},
      {"hooks":[{"type":"command","command":"logger sessionpipe done"}]},
      {"hooks":[{"type":"command","command":"/opt/sessionpipe-notes/run.sh"}]},
      {"hooks":[{"type":"command","command":"echo hook claude-code Stop"}]}
    ]
  }
}
"#
    );
    assert_eq!(state(&home, &adapter, SETTINGS), WiredState::Wired);
    home.uninstall(&[&adapter]);
    let commands: Vec<_> = home.json(SETTINGS)["hooks"]["Stop"]
        .as_array()
        .expect("an array")
        .iter()
        .map(|group| group["hooks"][0]["command"].as_str().expect("a command").to_owned())
        .collect();
    let lookalikes = ["logger sessionpipe done", "/opt/sessionpipe-notes/run.sh", "echo hook claude-code Stop"];
    assert_eq!(commands, lookalikes, "what an older version left does not come back either");
}

#[test]
fn notify_goes_before_the_first_table() {
    let home = Home::case("toml-first-table");
    let file = ".codex/config.toml";
    let adapter = argv(EVENTS);
    let before = home.text(file);
    assert!(home.install(&[&adapter]).is_complete());
    let line = "notify = [\"/opt/sp/bin/sessionpipe\", \"hook\", \"codex\", \"notify\"]\n";
    let (head, tail) = before.split_once("tui.theme = \"dark\"\n").expect("the last top-level key");
    assert_eq!(home.text(file), format!("{head}tui.theme = \"dark\"\n{line}{tail}"));
    home.uninstall(&[&adapter]);
    assert_eq!(home.text(file), before);
}

#[test]
fn every_spelling_of_notify_is_chained_and_given_back() {
    let file = ".codex/config.toml";
    let adapter = argv(EVENTS);
    for (variant, previous) in [
        ("empty", None),
        ("in-table", None),
        ("inline-comment", Some(vec!["say", "a]b#c"])),
        ("literal", Some(vec!["bash", "-c", "say \"hi\""])),
        ("multiline", Some(vec!["python3", "/home/u/n.py"])),
        ("quotedkey", Some(vec!["say", "x"])),
    ] {
        let before = fs::read_to_string(case_dir("toml-existing-notify").join(format!("variants/{variant}.toml")))
            .expect("text");
        for with_manifest in [true, false] {
            let home = Home::new();
            home.write(file, &before);
            let plan = home.plan(&[&adapter]);
            let summary = &plan.files().find(|f| f.path.ends_with("config.toml")).expect("it").summary;
            if previous.is_some() {
                assert_eq!(summary, "notify: ours first, yours chained after it", "{variant}");
            }
            assert!(home.install(&[&adapter]).is_complete(), "{variant}");
            let after = home.text(file);
            let doc: toml_edit::DocumentMut = after.parse().unwrap_or_else(|e| panic!("{variant}: {e}\n{after}"));
            let words: Vec<String> = doc["notify"]
                .as_array()
                .expect("an array")
                .iter()
                .map(|v| v.as_str().expect("a string").to_owned())
                .collect();
            assert_eq!(words[..4], ["/opt/sp/bin/sessionpipe", "hook", "codex", "notify"], "{variant}");
            let kept = command::previous_argv(&words).map(<[String]>::to_vec);
            assert_eq!(kept, previous.as_ref().map(|p| p.iter().map(|w| (*w).to_owned()).collect()), "{variant}");
            assert!(home.plan(&[&adapter]).is_noop(), "{variant}: no second wrapping");
            if !with_manifest {
                home.lose_manifest();
            }
            home.uninstall(&[&adapter]);
            // Without a manifest nobody knows that there was an empty array.
            let expected = if variant == "empty" && !with_manifest { "" } else { before.as_str() };
            assert_eq!(home.text(file), expected, "{variant}, manifest: {with_manifest}");
        }
    }
    let home = Home::new();
    home.write(file, "notify = \"say\"\n");
    assert_eq!(
        refusal(&home, &adapter, file).to_string(),
        "line 1, column 1: notify must be an array of strings, not a string"
    );
}

#[test]
fn ours_in_a_table_is_moved_and_a_profile_of_others_stays() {
    let home = Home::new();
    let file = ".codex/config.toml";
    let adapter = argv(EVENTS);
    home.write(
        file,
        "model = \"m\"\n\n[profiles.x]\nnotify = [\"bell\"]\n\n[projects.\"/p\"]\ntrust_level = \"trusted\"\n\
         notify = [\"/old/bin/sessionpipe\", \"hook\", \"codex\", \"notify\", \"--previous-notify\", \"say\", \"--\"]\n",
    );
    assert_eq!(state(&home, &adapter, file), WiredState::Stale(vec![Fault::Misplaced("projects./p.notify".into())]));
    home.install(&[&adapter]);
    assert_eq!(
        home.text(file),
        "model = \"m\"\nnotify = [\"/opt/sp/bin/sessionpipe\", \"hook\", \"codex\", \"notify\", \"--previous-notify\", \
         \"say\", \"--\"]\n\n[profiles.x]\nnotify = [\"bell\"]\n\n[projects.\"/p\"]\ntrust_level = \"trusted\"\n"
    );
}

#[test]
fn a_new_path_in_notify_replaces_only_the_words_that_differ() {
    let home = Home::new();
    let file = ".codex/config.toml";
    home.write(
        file,
        "notify = [\n  \"/old/bin/sessionpipe\", 'hook', # ours\n  \"codex\", \"notify\",\n  \"--previous-notify\", 'say', \"--\"\n]\n",
    );
    home.install(&[&argv(EVENTS)]);
    assert_eq!(
        home.text(file),
        "notify = [\n  \"/opt/sp/bin/sessionpipe\", 'hook', # ours\n  \"codex\", \"notify\",\n  \"--previous-notify\", 'say', \"--\"\n]\n"
    );
}

#[test]
fn positions_that_trust_is_keyed_by_never_shift() {
    let home = Home::case("codex-trust-positions");
    let adapter = argv(EVENTS);
    let files = [".codex/hooks.json", ".codex/config.toml"];
    let before = files.map(|f| home.text(f));
    home.install(&[&adapter]);
    let hooks = home.json(files[0]);
    assert_eq!(hooks.as_object().expect("an object").len(), 1, "no other top-level key");
    assert_eq!(hooks["hooks"]["Stop"][0]["hooks"][0]["command"], "/home/u/lint.sh");
    assert_eq!(hooks["hooks"]["Stop"][1], ours("codex", "Stop"));
    assert_eq!(hooks["hooks"]["SessionStart"][0]["hooks"][0]["command"], "/home/u/hello.sh");
    assert_eq!(hooks["hooks"]["SessionStart"][1], ours("codex", "SessionStart"));
    let state_table = before[1].split_once("[hooks.state]").expect("the trust").1;
    assert!(home.text(files[1]).ends_with(state_table), "the trust of others is byte-identical");
    assert_eq!(home.text(files[1]).matches("[hooks.state]").count(), 1);

    // Another path: in place, at the same index.
    let mut moved = Home::new();
    moved.write(files[0], home.text(files[0]));
    moved.host.program.path = "/new/bin/sessionpipe".into();
    moved.install(&[&adapter]);
    assert_eq!(moved.text(files[0]), home.text(files[0]).replace("/opt/sp/bin", "/new/bin"));
    home.uninstall(&[&adapter]);
    assert_eq!(files.map(|f| home.text(f)), before);
}

#[test]
fn ours_in_both_places_is_kept_in_one() {
    let home = Home::case("codex-two-places");
    let adapter = argv(&["Stop"]);
    home.install(&[&adapter]);
    assert_eq!(
        home.text(".codex/config.toml"),
        "notify = [\"/opt/sp/bin/sessionpipe\", \"hook\", \"codex\", \"notify\"]\n[features]\ncodex_hooks = true\n\n\
         [[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"/home/u/lint.sh\"\n"
    );
    assert_eq!(home.json(".codex/hooks.json")["hooks"]["Stop"], json!([ours("codex", "Stop")]));
}

#[test]
fn entries_that_the_harness_rejects_are_left_alone() {
    let home = Home::case("one-bad-entry");
    let adapter = grouped(&[SETTINGS], EVENTS);
    let before = home.text(SETTINGS);
    assert!(home.install(&[&adapter]).is_complete());
    let hooks = &home.json(SETTINGS)["hooks"];
    assert_eq!(hooks["PreToolUse"][0]["matcher"], json!({"type": "always"}));
    assert_eq!(hooks["Stop"][0], json!({"type": "command", "command": "no inner hooks array"}));
    assert_eq!(hooks["Stop"][1], ours("claude-code", "Stop"));
    home.uninstall(&[&adapter]);
    assert_eq!(home.text(SETTINGS), before);
}

#[test]
fn hooks_that_another_program_wiped_are_told_of_and_repaired() {
    let home = Home::case("clobbered-after-install");
    let adapter = grouped(&[SETTINGS], EVENTS);
    let gone = WiredState::Gone { since: "2026-11-30T08:00:00Z".into(), others_intact: true };
    assert_eq!(state(&home, &adapter, SETTINGS), gone);
    home.install(&[&adapter]);
    assert_eq!(state(&home, &adapter, SETTINGS), WiredState::Wired);
    home.write(SETTINGS, "{\"permissions\":{\"allow\":[\"Bash(ls)\"]}}\n");
    let gone = WiredState::Gone { since: "2026-11-30T08:00:00.000Z".into(), others_intact: false };
    assert_eq!(state(&home, &adapter, SETTINGS), gone, "the model went too");
}

#[test]
fn planning_changes_nothing_at_all() {
    let home = Home::case("dry-run-is-pure");
    let adapter = grouped(&[SETTINGS, ".claude-new/settings.json"], EVENTS);
    let before = home.snapshot();
    let plan = home.plan(&[&adapter]);
    home.assert_diffs_apply(&plan);
    let adapters = [&adapter as &dyn Adapter];
    plan_uninstall(&home.host, &adapters, false).expect("a plan");
    status(&home.host, &adapters).expect("a status");
    assert_eq!(entries_to_paste(&home.host, &adapter, &[]).len(), 2);
    assert_eq!(home.snapshot(), before);
    assert!(!plan.is_noop());
    let receipt = apply(&home.host, &plan).expect("applied");
    for (file, done) in plan.files().zip(&receipt.harnesses[0].files) {
        let now = fs::read_to_string(&done.target).expect("written");
        assert_eq!(Some(&now), file.after.as_ref(), "what was shown is what was done");
        assert_eq!(done.handlers, 2);
    }
    assert!(home.plan(&[&adapter]).is_noop());
}
