//! The ways beside groups in which harnesses take hooks: handlers alone, lists, files of ours, and what is done on request.
#![allow(clippy::disallowed_methods)]
#![cfg(unix)]

mod support;

use std::path::PathBuf;

use serde_json::{Value, json};
use sessionpipe_core::adapter::Adapter;
use sessionpipe_core::command::{guarded_hook_command, hook_command, stream_argv};
use sessionpipe_core::host::Host;
use sessionpipe_core::wiring::Wiring;
use sessionpipe_installer::{
    Fault, FileState, Refusal, WiredState, Wishes, apply, entries_to_paste, plan_uninstall, status,
};
use support::{Double, Home, flat_entries, wired};

const HOOKS: &str = ".tool/hooks.json";

/// Handlers alone, in a document that wants a version.
fn flat() -> Double {
    wired(|host| {
        vec![Wiring::HookEntries {
            file: host.home.join(HOOKS),
            at: &["hooks"],
            needs: &[("version", 1)],
            entries: flat_entries(host, &["start", "stop"]),
            jsonc: false,
        }]
    })
}

fn state(home: &Home, adapter: &Double) -> Option<WiredState> {
    let statuses = status(&home.host, &[adapter as &dyn Adapter]).expect("a status");
    statuses.into_iter().flat_map(|harness| harness.files).map(|file| file.state).next()
}

fn handler(event: &str) -> String {
    format!(r#"{{"type": "command", "command": "'/opt/sp/bin/sessionpipe' hook claude-code {event}", "timeout": 5}}"#)
}

#[test]
fn a_new_document_gets_its_version_and_one_line_per_event() {
    let home = Home::new();
    assert!(home.install(&[&flat()]).is_complete());
    let expected = format!(
        "{{\n  \"version\": 1,\n  \"hooks\": {{\n    \"start\": [{}],\n    \"stop\": [{}]\n  }}\n}}\n",
        handler("start"),
        handler("stop")
    );
    assert_eq!(home.text(HOOKS), expected);
    assert_eq!(entries_to_paste(&home.host, &flat(), &[])[0].text, expected);
    assert_eq!(state(&home, &flat()), Some(WiredState::Wired));
    assert!(home.plan(&[&flat()]).is_noop());
    home.uninstall(&[&flat()]);
    assert!(!home.exists(HOOKS) && !home.exists(".tool"));
}

#[test]
fn without_a_manifest_a_document_that_is_ours_is_emptied() {
    let home = Home::new();
    home.install(&[&flat()]);
    home.lose_manifest();
    home.uninstall(&[&flat()]);
    assert_eq!(home.text(HOOKS), "{}\n");
}

#[test]
fn handlers_of_others_keep_their_place_and_a_version_its_value() {
    let home = Home::new();
    let before = "{\"version\": 2, \"hooks\": {\"stop\": [{\"command\": \"say done\"}, {\"matcher\": \"x\"}]}}";
    home.write(HOOKS, before);
    home.install(&[&flat()]);
    let after: Value = serde_json::from_str(&home.text(HOOKS)).expect("JSON");
    let ours = |event: &str| serde_json::from_str::<Value>(&handler(event)).expect("JSON");
    assert_eq!(
        after,
        json!({"version": 2, "hooks": {
            "stop": [{"command": "say done"}, {"matcher": "x"}, ours("stop")], "start": [ours("start")]
        }})
    );
    home.uninstall(&[&flat()]);
    assert_eq!(home.text(HOOKS), before);
}

#[test]
fn a_version_that_is_missing_is_added_and_taken_back() {
    let home = Home::new();
    let before = "{\n\t\"hooks\": {\n\t\t\"stop\": [\n\t\t\t{ \"command\": \"say done\" }\n\t\t]\n\t}\n}";
    home.write(HOOKS, before);
    home.install(&[&flat()]);
    let after: Value = serde_json::from_str(&home.text(HOOKS)).expect("JSON");
    assert_eq!(after["version"], 1);
    home.uninstall(&[&flat()]);
    assert_eq!(home.text(HOOKS), before);

    // Touched since: the version that we put there goes, too.
    home.install(&[&flat()]);
    home.write(HOOKS, home.text(HOOKS).replace("say done", "say so"));
    home.uninstall(&[&flat()]);
    assert_eq!(home.text(HOOKS), before.replace("say done", "say so"));
    // Without a record nobody knows whose it is: it stays.
    home.install(&[&flat()]);
    home.lose_manifest();
    home.uninstall(&[&flat()]);
    let left: Value = serde_json::from_str(&home.text(HOOKS)).expect("JSON");
    assert_eq!(left, json!({"hooks": {"stop": [{"command": "say so"}]}, "version": 1}));
}

#[test]
fn ours_in_a_group_where_none_belongs_moves_out_of_it() {
    let home = Home::new();
    let ours = handler("stop");
    home.write(
        HOOKS,
        format!(
            "{{\"version\": 1, \"hooks\": {{\"stop\": [{{\"hooks\": [{ours}]}}], \"start\": [{}, {0}]}}}}",
            handler("start")
        ),
    );
    assert_eq!(
        state(&home, &flat()),
        Some(WiredState::Stale(vec![Fault::Misplaced("stop".into()), Fault::Duplicate("start".into())]))
    );
    home.install(&[&flat()]);
    let after: Value = serde_json::from_str(&home.text(HOOKS)).expect("JSON");
    let value = |event: &str| serde_json::from_str::<Value>(&handler(event)).expect("JSON");
    assert_eq!(after["hooks"], json!({"stop": [value("stop")], "start": [value("start")]}));
}

#[test]
fn a_matcher_that_silences_a_handler_of_ours_goes_and_what_else_the_person_added_stays() {
    let home = Home::new();
    home.install(&[&flat()]);
    let edited = home.text(HOOKS).replacen("\"timeout\": 5", "\"timeout\": 5, \"matcher\": \"x\", \"note\": 1", 1);
    home.write(HOOKS, edited);
    assert_eq!(state(&home, &flat()), Some(WiredState::Stale(vec![Fault::Differs("start".into())])));
    home.install(&[&flat()]);
    let after: Value = serde_json::from_str(&home.text(HOOKS)).expect("JSON");
    let mut expected: Value = serde_json::from_str(&handler("start")).expect("JSON");
    expected["note"] = 1.into();
    assert_eq!(after["hooks"]["start"], json!([expected]));
}

#[test]
fn a_document_can_itself_be_the_map_of_events() {
    let bare = wired(|host| {
        let entries = support::entries(host, "claude-code", &["Stop"]);
        vec![Wiring::HookEntries { file: host.home.join(HOOKS), at: &[], needs: &[], entries, jsonc: true }]
    });
    let home = Home::new();
    let before = "{\n  // mine\n  \"off\": false,\n  \"Stop\": [{\"hooks\": [{\"command\": \"say\"}]}]\n}\n";
    home.write(HOOKS, before);
    home.install(&[&bare]);
    let group = format!("{{\"hooks\": [{}]}}", handler("Stop"));
    assert_eq!(home.text(HOOKS), before.replace("}]}]", &format!("}}]}}, {group}]")));
    assert!(home.plan(&[&bare]).is_noop());
    home.uninstall(&[&bare]);
    assert_eq!(home.text(HOOKS), before);

    let home = Home::new();
    home.install(&[&bare]);
    assert_eq!(home.text(HOOKS), format!("{{\n  \"Stop\": [{group}]\n}}\n"));
    assert_eq!(state(&home, &bare), Some(WiredState::Wired));
    // All of ours go where none is wanted any more.
    let none = wired(|host| {
        vec![Wiring::HookEntries { file: host.home.join(HOOKS), at: &[], needs: &[], entries: vec![], jsonc: true }]
    });
    home.install(&[&none]);
    assert_eq!(home.text(HOOKS), "{}\n");
    assert!(home.plan(&[&none]).is_noop());
}

#[test]
fn commands_under_other_keys_are_ours_only_when_all_are() {
    let none = wired(|host| {
        vec![Wiring::HookEntries { file: host.home.join(HOOKS), at: &["h"], needs: &[], entries: vec![], jsonc: true }]
    });
    let home = Home::new();
    let command = "sessionpipe hook claude-code stop";
    let document = json!({"h": {"stop": [
        {"bash": command},
        {"bash": command, "powershell": "say"},
        {"bash": command, "powershell": command},
        {"bash": "say"},
    ]}});
    home.write(HOOKS, document.to_string());
    home.install(&[&none]);
    let after: Value = serde_json::from_str(&home.text(HOOKS)).expect("JSON");
    assert_eq!(after, json!({"h": {"stop": [{"bash": command, "powershell": "say"}, {"bash": "say"}]}}));
}

const DROP_IN: &str = ".tool/hooks/sessionpipe.json";

/// A file of ours: a list, with guarded commands.
fn drop_in(events: &'static [&'static str]) -> Double {
    wired(move |host| vec![Wiring::OwnedFile { file: host.home.join(DROP_IN), document: document(host, events) }])
}

fn document(host: &Host, events: &[&str]) -> Value {
    let hook = |event: &&str| {
        let command = guarded_hook_command(&host.program, "claude-code", event);
        json!({"trigger": event, "action": {"type": "command", "command": command}, "timeout": 5})
    };
    json!({"version": "v1", "hooks": events.iter().map(hook).collect::<Vec<_>>()})
}

#[test]
fn a_file_of_ours_is_made_updated_and_removed() {
    let adapter = drop_in(&["start", "stop"]);
    let mut home = Home::new();
    assert_eq!(state(&home, &adapter), Some(WiredState::Missing));
    assert_eq!(home.plan(&[&adapter]).files().next().expect("a file").summary, "new file, 2 hooks");
    home.install(&[&adapter]);
    let command = "[ -x '/opt/sp/bin/sessionpipe' ] && '/opt/sp/bin/sessionpipe' hook claude-code";
    let line = |event: &str| {
        format!(
            "    {{\"trigger\": \"{event}\", \"action\": {{\"type\": \"command\", \"command\": \"{command} {event}; \
             exit 0\"}}, \"timeout\": 5}}"
        )
    };
    let text = format!("{{\n  \"version\": \"v1\",\n  \"hooks\": [\n{},\n{}\n  ]\n}}\n", line("start"), line("stop"));
    assert_eq!(home.text(DROP_IN), text);
    assert_eq!(state(&home, &adapter), Some(WiredState::Wired));
    assert!(home.plan(&[&adapter]).is_noop());
    // Formatted by a tool: the same.
    let value: Value = serde_json::from_str(&text).expect("JSON");
    home.write(DROP_IN, value.to_string());
    assert!(home.plan(&[&adapter]).is_noop());

    // The program moved, and an event went out of use.
    home.host.program.path = PathBuf::from("/new/sessionpipe");
    assert_eq!(state(&home, &adapter), Some(WiredState::Stale(vec![Fault::OldPath("the file".into())])));
    let fewer = drop_in(&["stop"]);
    home.install(&[&fewer]);
    let after: Value = serde_json::from_str(&home.text(DROP_IN)).expect("JSON");
    assert_eq!(after, document(&home.host, &["stop"]));
    // Deleted by hand.
    std::fs::remove_file(home.path(DROP_IN)).expect("it is there");
    assert!(matches!(state(&home, &fewer), Some(WiredState::Gone { .. })));
    home.install(&[&fewer]);
    home.lose_manifest();
    home.uninstall(&[&fewer]);
    assert!(!home.exists(DROP_IN));
}

#[test]
fn a_blank_file_of_our_name_comes_back() {
    let home = Home::new();
    home.write(DROP_IN, "\n");
    home.install(&[&drop_in(&["stop"])]);
    home.uninstall(&[&drop_in(&["stop"])]);
    assert_eq!(home.text(DROP_IN), "\n");
}

#[test]
fn a_file_of_our_name_that_others_wrote_is_refused_and_never_removed() {
    let adapter = drop_in(&["stop"]);
    let ours = "sessionpipe hook claude-code stop";
    for foreign in [
        json!({"version": 1, "hooks": {"stop": [{"type": "command", "bash": "say"}]}}),
        json!({"version": "v1", "hooks": [
            {"trigger": "stop", "action": {"type": "command", "command": ours}},
            {"trigger": "stop", "action": {"type": "command", "command": "say"}},
        ]}),
        json!({"hooks": {"stop": [{"type": "http", "url": "x"}]}}),
        json!(["notes"]),
    ] {
        let home = Home::new();
        home.write(DROP_IN, foreign.to_string());
        let plan = home.plan(&[&adapter]);
        assert_eq!(plan.refused().map(|(_, refusal)| refusal.clone()).collect::<Vec<_>>(), [Refusal::Foreign]);
        let forced = home.plan_with(&adapter, Wishes { force: true, ..Wishes::default() });
        assert_eq!(forced.refused().count(), 1, "not by force either");
        home.install(&[&adapter]);
        assert_eq!(state(&home, &adapter), Some(WiredState::Refused(Refusal::Foreign)));
        home.uninstall(&[&adapter]);
        assert_eq!(home.text(DROP_IN), foreign.to_string());
    }
    let home = Home::new();
    home.write(DROP_IN, "{\"hooks\": [\n  nope\n]}");
    let plan = home.plan(&[&adapter]);
    let (_, refusal) = plan.refused().next().expect("refused");
    assert_eq!(refusal.place().map(|place| (place.line, place.column)), Some((2, 3)));
}

#[test]
fn what_the_person_changed_in_a_file_of_ours_stays() {
    let adapter = drop_in(&["start", "stop"]);
    let mut home = Home::new();
    home.install(&[&adapter]);
    let edited = home.text(DROP_IN).replacen("\"timeout\": 5", "\"timeout\": 5, \"enabled\": false", 1);
    home.write(DROP_IN, &edited);
    // As long as nothing must change.
    assert!(home.plan(&[&adapter]).is_noop());
    assert_eq!(state(&home, &adapter), Some(WiredState::Wired));

    home.host.program.path = PathBuf::from("/new/sessionpipe");
    let plan = home.plan(&[&adapter]);
    let (file, refusal) = plan.refused().next().expect("refused");
    assert_eq!(refusal, &Refusal::Edited);
    let diff = file.diff(&home.host);
    assert!(diff.contains("\"enabled\": false") && diff.contains("/new/sessionpipe"), "{diff}");
    home.install(&[&adapter]);
    assert_eq!(home.text(DROP_IN), edited);
    home.uninstall(&[&adapter]);
    assert_eq!(home.text(DROP_IN), edited);

    let plan = home.plan_with(&adapter, Wishes { force: true, ..Wishes::default() });
    apply(&home.host, &plan).expect("applied");
    let after: Value = serde_json::from_str(&home.text(DROP_IN)).expect("JSON");
    assert_eq!(after, document(&home.host, &["start", "stop"]));
    // A copy is kept until it is undone.
    let backups = std::fs::read_dir(home.host.dirs.backups()).expect("the store");
    let texts: Vec<_> = backups.map(|e| std::fs::read_to_string(e.expect("an entry").path()).expect("text")).collect();
    assert_eq!(texts, std::slice::from_ref(&edited));
    home.uninstall(&[&adapter]);
    assert!(!home.exists(DROP_IN));

    home.write(DROP_IN, &edited);
    let plan = plan_uninstall(&home.host, &[&adapter], true).expect("a plan");
    apply(&home.host, &plan).expect("applied");
    assert!(!home.exists(DROP_IN));
}

const PLUGIN: &str = ".tool/plugins/ours.ts";
const OLD_PLUGIN: &str = ".tool/plugin/ours.ts";

/// A plugin of ours, and where an older version of ours put it.
fn plugin() -> Double {
    wired(|host| {
        vec![
            Wiring::OwnedText { file: host.home.join(PLUGIN), comment: "//", text: plugin_text(host) },
            Wiring::AbsentText { file: host.home.join(OLD_PLUGIN), comment: "//" },
        ]
    })
}

fn plugin_text(host: &Host) -> String {
    let argv = serde_json::to_string(&stream_argv(&host.program, "claude-code")).expect("JSON");
    format!("const COMMAND: string[] = {argv};\nexport const ours = [\"none\"];\n")
}

/// The same with its first line, as `version` wrote it.
fn marked(version: &str, body: &str) -> String {
    format!("// sessionpipe {version} sha256:{}\n{body}", sessionpipe_core::ids::hex(body.as_bytes()))
}

#[test]
fn a_plugin_is_made_updated_and_removed() {
    let mut home = Home::new();
    assert_eq!(state(&home, &plugin()), Some(WiredState::Missing));
    assert_eq!(home.plan(&[&plugin()]).files().next().expect("a file").summary, "new file, the plugin");
    home.install(&[&plugin()]);
    let text = marked(env!("CARGO_PKG_VERSION"), &plugin_text(&home.host));
    assert!(text.contains(r#"const COMMAND: string[] = ["/opt/sp/bin/sessionpipe","hook","--stream","claude-code"];"#));
    assert_eq!(home.text(PLUGIN), text);
    assert_eq!(entries_to_paste(&home.host, &plugin(), &[])[0].text, text);
    assert_eq!(state(&home, &plugin()), Some(WiredState::Wired));
    assert!(home.plan(&[&plugin()]).is_noop());
    // Of another version, but the same: nothing to do.
    home.write(PLUGIN, marked("0.0.1", &plugin_text(&home.host)));
    assert!(home.plan(&[&plugin()]).is_noop());

    home.host.program.path = PathBuf::from("/new/sessionpipe");
    assert_eq!(state(&home, &plugin()), Some(WiredState::Stale(vec![Fault::OldPath("the file".into())])));
    let statuses = status(&home.host, &[&plugin() as &dyn Adapter]).expect("a status");
    assert_eq!(
        (&statuses[0].files[0].dead, statuses[0].files[0].handlers),
        (&vec!["/opt/sp/bin/sessionpipe".into()], 1)
    );
    home.install(&[&plugin()]);
    assert_eq!(home.text(PLUGIN), marked(env!("CARGO_PKG_VERSION"), &plugin_text(&home.host)));
    // An older one with another text.
    home.write(
        PLUGIN,
        marked("0.0.1", "const COMMAND = [\"/new/sessionpipe\", \"hook\", \"--stream\", \"claude-code\"]\n"),
    );
    assert_eq!(state(&home, &plugin()), Some(WiredState::Stale(vec![Fault::Differs("the file".into())])));
    home.lose_manifest();
    home.uninstall(&[&plugin()]);
    assert!(!home.exists(PLUGIN));
    let home = Home::new();
    home.install(&[&plugin()]);
    home.uninstall(&[&plugin()]);
    assert!(!home.exists(".tool"));
}

#[test]
fn a_plugin_of_our_name_that_others_wrote_is_refused_and_never_removed() {
    for foreign in [
        "export const ours = 1;\n",
        "// sessionpipe is great\nexport const ours = 1;\n",
        "# sessionpipe 0.1.0 sha256:00\n",
        "//sessionpipe 0.1.0 sha256:00\n",
    ] {
        let home = Home::new();
        home.write(PLUGIN, foreign);
        home.write(OLD_PLUGIN, foreign);
        let refused =
            |plan: &sessionpipe_installer::Plan| plan.refused().map(|(_, why)| why.clone()).collect::<Vec<_>>();
        assert_eq!(refused(&home.plan(&[&plugin()])), [Refusal::Foreign], "what must go stays without a word");
        assert_eq!(
            refused(&home.plan_with(&plugin(), Wishes { force: true, ..Wishes::default() })),
            [Refusal::Foreign]
        );
        home.install(&[&plugin()]);
        home.uninstall(&[&plugin()]);
        assert_eq!((home.text(PLUGIN), home.text(OLD_PLUGIN)), (foreign.to_owned(), foreign.to_owned()));
    }
}

#[test]
fn a_plugin_that_was_edited_shows_its_difference_and_stays_unless_forced() {
    let home = Home::new();
    home.install(&[&plugin()]);
    let edited = format!("{}// mine\n", home.text(PLUGIN));
    home.write(PLUGIN, &edited);
    let plan = home.plan(&[&plugin()]);
    let (file, refusal) = plan.refused().next().expect("refused");
    assert_eq!(refusal, &Refusal::Edited);
    let diff = file.diff(&home.host);
    let changed: Vec<_> = diff.lines().skip(2).filter(|line| line.starts_with(['-', '+'])).collect();
    assert_eq!(changed, ["-// mine"]);
    home.install(&[&plugin()]);
    home.uninstall(&[&plugin()]);
    assert_eq!(home.text(PLUGIN), edited);

    let plan = home.plan_with(&plugin(), Wishes { force: true, ..Wishes::default() });
    assert!(apply(&home.host, &plan).expect("applied").is_complete());
    assert_eq!(state(&home, &plugin()), Some(WiredState::Wired));
    let backups = std::fs::read_dir(home.host.dirs.backups()).expect("the store");
    let texts: Vec<_> = backups.map(|e| std::fs::read_to_string(e.expect("an entry").path()).expect("text")).collect();
    assert_eq!(texts, std::slice::from_ref(&edited));
    home.write(PLUGIN, &edited);
    let plan = plan_uninstall(&home.host, &[&plugin()], true).expect("a plan");
    apply(&home.host, &plan).expect("applied");
    assert!(!home.exists(PLUGIN));
}

#[test]
fn an_old_copy_goes_when_it_is_ours_and_unedited() {
    let home = Home::new();
    let old = marked("0.0.1", "export const old = 1;\n");
    home.write(OLD_PLUGIN, &old);
    let plan = home.plan(&[&plugin()]);
    let states: Vec<_> = plan.files().map(|file| file.state.clone()).collect();
    assert_eq!(states, [FileState::Create, FileState::Remove]);
    assert!(home.install(&[&plugin()]).is_complete());
    assert!(home.exists(PLUGIN) && !home.exists(OLD_PLUGIN));
    assert!(home.plan(&[&plugin()]).is_noop());

    home.write(OLD_PLUGIN, format!("{old}// mine\n"));
    let plan = home.plan(&[&plugin()]);
    assert_eq!(plan.refused().map(|(_, why)| why.clone()).collect::<Vec<_>>(), [Refusal::Edited]);
    home.install(&[&plugin()]);
    home.uninstall(&[&plugin()]);
    assert!(home.exists(OLD_PLUGIN) && !home.exists(PLUGIN));
}

#[test]
fn a_blank_plugin_comes_back() {
    let home = Home::new();
    home.write(PLUGIN, "\n");
    home.install(&[&plugin()]);
    home.uninstall(&[&plugin()]);
    assert_eq!(home.text(PLUGIN), "\n");
}

#[test]
fn what_needs_to_be_asked_for_is_done_when_asked_and_kept_from_then_on() {
    const OPTION: &str = "also-agents";
    const AGENT: &str = ".tool/agents/dev.json";
    let adapter = wired(|host| {
        let hooks = Wiring::HookEntries {
            file: host.home.join(AGENT),
            at: &["hooks"],
            needs: &[],
            entries: flat_entries(host, &["stop"]),
            jsonc: false,
        };
        vec![Wiring::OnRequest { option: OPTION, wiring: Box::new(hooks) }]
    });
    let mut home = Home::new();
    let before = "{\"name\": \"dev\"}";
    home.write(AGENT, before);
    assert_eq!(home.plan(&[&adapter]).files().count(), 0);
    assert_eq!(state(&home, &adapter), None);
    assert_eq!(entries_to_paste(&home.host, &adapter, &[]), []);
    assert_eq!(entries_to_paste(&home.host, &adapter, &[OPTION]).len(), 1);

    let plan = home.plan_with(&adapter, Wishes { options: vec![OPTION], ..Wishes::default() });
    apply(&home.host, &plan).expect("applied");
    let command = hook_command(&home.host.program, "claude-code", "stop");
    let after: Value = serde_json::from_str(&home.text(AGENT)).expect("JSON");
    assert_eq!(after["hooks"], json!({"stop": [{"type": "command", "command": command, "timeout": 5}]}));
    assert_eq!(state(&home, &adapter), Some(WiredState::Wired));
    home.host.program.path = PathBuf::from("/new/sessionpipe");
    let plan = home.plan(&[&adapter]);
    assert_eq!(plan.files().map(|file| file.state.clone()).collect::<Vec<_>>(), [FileState::Change]);
    home.uninstall(&[&adapter]);
    assert_eq!(home.text(AGENT), before);
    assert_eq!(home.plan(&[&adapter]).files().count(), 0);
}
