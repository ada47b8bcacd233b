//! What holds for every document: arbitrary JSONC and TOML, with hooks of others and of older versions of ours.
#![allow(clippy::disallowed_methods)]
#![cfg(unix)]

mod support;

use json_patch::PatchOperation;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;
use sessionpipe_core::command;
use sessionpipe_installer::FileState;
use support::{Double, Home, argv, grouped, mixed};

const FILE: &str = ".claude/settings.json";
const TOML: &str = ".codex/config.toml";
const EVENTS: &[&str] = &["SessionStart", "Stop", "SessionEnd"];

const FOREIGN: &[&str] = &["say done", "/opt/guard/check.sh", "echo hook claude-code Stop", "logger sessionpipe done"];
const OURS: &[&str] = &[
    "'/opt/sp/bin/sessionpipe' hook claude-code Stop",
    "/old/bin/sessionpipe hook claude-code SessionStart",
    "\"/usr/bin/sessionpipe-hook\" claude-code Stop",
    "node /home/u/.sessionpipe/dist/hook.js claude-code Stop",
];

fn config() -> ProptestConfig {
    // Each case reads and writes real files. `PROPTEST_CASES` asks for more.
    let default = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { default.cases } else { 96 };
    ProptestConfig { cases, failure_persistence: None, ..default }
}

/// How a document is written. White space and comments are taken from here in turn.
#[derive(Clone, Debug)]
struct Writer {
    newline: &'static str,
    indent: &'static str,
    /// Per container: children on lines of their own.
    spread: Vec<bool>,
    colon: &'static str,
    comma: &'static str,
    pad: &'static str,
    /// After each child, on its line.
    comments: Vec<Option<&'static str>>,
    trailing_commas: Vec<bool>,
    bom: bool,
    final_newline: bool,
    turn: usize,
}

impl Writer {
    fn next<T: Copy>(&mut self, from: fn(&Self) -> &Vec<T>, default: T) -> T {
        self.turn += 1;
        let list = from(self);
        if list.is_empty() { default } else { list[self.turn % list.len()] }
    }

    fn document(mut self, value: &Tree) -> String {
        let mut out = String::from(if self.bom { "\u{feff}" } else { "" });
        self.value(&mut out, value, 0);
        if self.final_newline {
            out.push_str(self.newline);
        }
        out
    }

    fn value(&mut self, out: &mut String, value: &Tree, depth: usize) {
        let (open, close, children): (_, _, Vec<(Option<&str>, &Tree)>) = match value {
            Tree::Raw(raw) => return out.push_str(raw),
            Tree::Array(items) => ('[', ']', items.iter().map(|item| (None, item)).collect()),
            Tree::Object(members) => ('{', '}', members.iter().map(|(k, v)| (Some(k.as_str()), v)).collect()),
        };
        let spread = self.next(|w| &w.spread, false);
        out.push(open);
        let count = children.len();
        for (index, (key, child)) in children.into_iter().enumerate() {
            if spread {
                out.push_str(self.newline);
                out.push_str(&self.indent.repeat(depth + 1));
            } else if index == 0 {
                out.push_str(self.pad);
            } else {
                out.push_str(self.comma);
            }
            if let Some(key) = key {
                out.push_str(&Value::from(key).to_string());
                out.push_str(self.colon);
            }
            self.value(out, child, depth + 1);
            let comment = self.next(|w| &w.comments, None);
            let is_last = index + 1 == count;
            if !is_last || self.next(|w| &w.trailing_commas, false) {
                out.push(',');
            }
            match comment {
                Some(comment) if spread || comment.starts_with("/*") => out.push_str(comment),
                _ => {}
            }
        }
        if spread && count > 0 {
            out.push_str(self.newline);
            out.push_str(&self.indent.repeat(depth));
        } else if count > 0 {
            out.push_str(self.pad);
        } else if spread {
            out.push_str(self.newline);
        }
        out.push(close);
    }
}

#[derive(Clone, Debug)]
enum Tree {
    /// A scalar as it is written.
    Raw(String),
    Array(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

fn string(text: &str) -> Tree {
    Tree::Raw(Value::from(text).to_string())
}

fn scalars() -> impl Strategy<Value = Tree> {
    select(vec![
        "1",
        "-0.50",
        "1e400",
        "123456789012345678901234567890",
        "true",
        "null",
        "\"\"",
        "\"a // b\"",
        "\"/* x\"",
        "\"\\u00e9\\/\"",
        "\"\\ud800\"",
        "\"✓ [{,:\"",
    ])
    .prop_map(|raw| Tree::Raw(raw.to_owned()))
}

fn keys() -> impl Strategy<Value = String> {
    select(vec!["model", "env", "a", "b", "//", "é", "c d", "permissions", "z"]).prop_map(str::to_owned)
}

fn distinct<T>(members: Vec<(String, T)>) -> Vec<(String, T)> {
    let mut seen = std::collections::BTreeSet::new();
    members.into_iter().filter(|(key, _)| seen.insert(key.clone())).collect()
}

fn trees() -> impl Strategy<Value = Tree> {
    scalars().prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Tree::Array),
            vec((keys(), inner), 0..3).prop_map(|members| Tree::Object(distinct(members))),
        ]
    })
}

fn handler(commands: &'static [&'static str]) -> impl Strategy<Value = Tree> {
    (select(commands), option::of(1..9_u32)).prop_map(|(command, timeout)| {
        let mut members = vec![("type".to_owned(), string("command")), ("command".to_owned(), string(command))];
        members.extend(timeout.map(|t| ("timeout".to_owned(), Tree::Raw(t.to_string()))));
        Tree::Object(members)
    })
}

fn group(with_ours: bool) -> impl Strategy<Value = Tree> {
    let one = if with_ours { prop_oneof![handler(FOREIGN), handler(OURS)].boxed() } else { handler(FOREIGN).boxed() };
    (option::of(select(vec!["*", "", "Bash", "Edit|Write"])), vec(one, 0..4)).prop_map(|(matcher, handlers)| {
        let mut members = Vec::new();
        members.extend(matcher.map(|m| ("matcher".to_owned(), string(m))));
        members.push(("hooks".to_owned(), Tree::Array(handlers)));
        Tree::Object(members)
    })
}

/// A map of events, whose arrays also hold things that are no groups.
fn hooks(with_ours: bool) -> impl Strategy<Value = Tree> {
    let alone = if with_ours { prop_oneof![handler(FOREIGN), handler(OURS)].boxed() } else { handler(FOREIGN).boxed() };
    let element = prop_oneof![3 => group(with_ours), 1 => alone, 1 => trees()];
    let event = select(vec!["Stop", "SessionStart", "PreToolUse", "Odd"]).prop_map(str::to_owned);
    vec((event, vec(element, 0..4).prop_map(Tree::Array)), 0..4).prop_map(|events| Tree::Object(distinct(events)))
}

fn settings(with_ours: bool) -> impl Strategy<Value = Tree> {
    (vec((keys(), trees()), 0..4), option::of((0..4_usize, hooks(with_ours)))).prop_map(|(members, hooks)| {
        let mut members = distinct(members);
        if let Some((at, hooks)) = hooks {
            members.insert(at.min(members.len()), ("hooks".to_owned(), hooks));
        }
        Tree::Object(members)
    })
}

fn writers() -> impl Strategy<Value = Writer> {
    let comments = vec(option::weighted(0.3, select(vec![" // note", " /* a, b */", " // \"x\": [", "/**/"])), 0..7);
    let spacing = (select(vec!["\n", "\r\n"]), select(vec!["  ", "\t", "    ", ""]), select(vec![": ", ":", " : "]));
    let inline = (select(vec![" ", "", "  "]), select(vec!["", " "]));
    let lists = (vec(any::<bool>(), 0..7), comments, vec(any::<bool>(), 0..5), any::<bool>());
    (spacing, inline, lists, any::<bool>(), any::<bool>()).prop_map(
        |((newline, indent, colon), (comma, pad), (spread, comments, trailing_commas, plain), bom, final_newline)| {
            Writer {
                newline,
                indent,
                spread,
                colon,
                comma,
                pad,
                comments: if plain { Vec::new() } else { comments },
                trailing_commas: if plain { Vec::new() } else { trailing_commas },
                bom,
                final_newline,
                turn: 0,
            }
        },
    )
}

fn documents(with_ours: bool) -> impl Strategy<Value = String> {
    (settings(with_ours), writers()).prop_map(|(tree, writer)| writer.document(&tree))
}

/// The value of a document; lone surrogates are read as U+FFFD.
fn value(text: &str) -> Value {
    let text = text.trim_start_matches('\u{feff}').replace("\\ud800", "\\ufffd");
    let parsed = parse_to_ast(&text, &CollectOptions::default(), &ParseOptions::default()).expect("a document");
    parsed.value.expect("no blank one").into()
}

fn is_ours(handler: &Value) -> bool {
    let command = handler.get("command").and_then(Value::as_str).and_then(command::owned);
    command.is_some_and(|owned| owned.harness == "claude-code")
}

/// A document without our handlers, and without the containers that only they filled: written apart from the code
/// under test.
fn without_ours(mut doc: Value) -> Value {
    let Some(events) = doc.get_mut("hooks").and_then(Value::as_object_mut) else { return doc };
    let mut emptied = Vec::new();
    for (name, groups) in events.iter_mut() {
        let Some(groups) = groups.as_array_mut() else { continue };
        let before = groups.len();
        groups.retain_mut(|group| {
            if is_ours(group) {
                return false;
            }
            let Some(handlers) = group.get_mut("hooks").and_then(Value::as_array_mut) else { return true };
            let before = handlers.len();
            handlers.retain(|handler| !is_ours(handler));
            handlers.len() == before || !handlers.is_empty()
        });
        if groups.is_empty() && before > 0 {
            emptied.push(name.clone());
        }
    }
    events.retain(|name, _| !emptied.contains(name));
    if events.is_empty() && !emptied.is_empty() {
        doc.as_object_mut().expect("an object").shift_remove("hooks");
    }
    doc
}

/// What is not ours, also where ours fill a container that was empty.
fn foreign(doc: &Value) -> Value {
    let mut doc = without_ours(doc.clone());
    if let Some(events) = doc.get_mut("hooks").and_then(Value::as_object_mut) {
        events.retain(|_, groups| groups.as_array().is_none_or(|groups| !groups.is_empty()));
    }
    if doc["hooks"].as_object().is_some_and(serde_json::Map::is_empty) {
        doc.as_object_mut().expect("an object").shift_remove("hooks");
    }
    doc
}

/// What an operation puts in or takes out concerns our handlers alone.
fn touches_only_ours(before: &Value, patch: &[PatchOperation]) -> Result<(), TestCaseError> {
    let mut doc = before.clone();
    for op in patch {
        let path = op.path().to_string();
        prop_assert!(path.is_empty() || path.starts_with("/hooks"), "{path}");
        let others = foreign(&doc);
        json_patch::patch(&mut doc, std::slice::from_ref(op)).expect("it applies");
        prop_assert_eq!(foreign(&doc), others, "{} touches what is not ours", op);
    }
    Ok(())
}

/// Handlers in groups, or some of them without.
fn adapters() -> impl Strategy<Value = Shape> {
    prop_oneof![Just(Shape::Grouped), Just(Shape::Mixed)]
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    Grouped,
    Mixed,
}

impl Shape {
    fn adapter(self) -> Double {
        match self {
            Self::Grouped => grouped(&[FILE], EVENTS),
            Self::Mixed => mixed(FILE),
        }
    }

    fn is_flat(self, event: &str) -> bool {
        matches!(self, Self::Mixed) && event != "SessionStart"
    }
}

/// Event, command, and whether it stands without a group.
fn handlers_of_ours(doc: &Value) -> Vec<(String, String, bool)> {
    let mut found = Vec::new();
    for (event, groups) in doc["hooks"].as_object().into_iter().flatten() {
        for group in groups.as_array().into_iter().flatten() {
            let command = |handler: &Value| handler["command"].as_str().unwrap_or_default().to_owned();
            if is_ours(group) {
                found.push((event.clone(), command(group), true));
            }
            for handler in group["hooks"].as_array().into_iter().flatten().filter(|h| is_ours(h)) {
                found.push((event.clone(), command(handler), false));
            }
        }
    }
    found.sort();
    found
}

proptest! {
    #![proptest_config(config())]

    /// Nothing valid is refused, exactly one handler per event is there afterwards, and a second run changes nothing.
    #[test]
    fn install_twice_is_install(text in documents(true), shape in adapters()) {
        let adapter = shape.adapter();
        let home = Home::new();
        home.write(FILE, &text);
        let plan = home.plan(&[&adapter]);
        let file = plan.files().next().expect("a file");
        prop_assert!(!matches!(file.state, FileState::Refused(_)), "{}", file.summary);
        touches_only_ours(&value(&text), &file.patch.0)?;
        prop_assert!(home.install(&[&adapter]).is_complete());
        let after = home.text(FILE);
        let mut wanted: Vec<_> = EVENTS
            .iter()
            .map(|e| {
                let command = format!("'/opt/sp/bin/sessionpipe' hook claude-code {e}");
                ((*e).to_owned(), command, shape.is_flat(e))
            })
            .collect();
        wanted.sort();
        prop_assert_eq!(handlers_of_ours(&value(&after)), wanted);
        prop_assert_eq!(foreign(&value(&after)), foreign(&value(&text)));
        prop_assert_eq!(after.starts_with('\u{feff}'), text.starts_with('\u{feff}'));
        let lone = |t: &str| t.matches('\n').count() - t.matches("\r\n").count();
        prop_assert!(lone(&text) > 0 || !text.contains('\n') || lone(&after) == 0, "mixed endings");
        let second = home.plan(&[&adapter]);
        prop_assert!(second.is_noop(), "{}", second.files().next().expect("a file").diff(&home.host));
    }

    /// With the manifest, and nothing of ours there before: the identical bytes.
    #[test]
    fn uninstall_gives_back_the_bytes(text in documents(false), shape in adapters()) {
        let adapter = shape.adapter();
        let home = Home::new();
        home.write(FILE, &text);
        home.install(&[&adapter]);
        prop_assert_ne!(home.text(FILE), text.clone());
        let plan = home.plan_uninstall(&[&adapter]);
        home.assert_diffs_apply(&plan);
        touches_only_ours(&value(&home.text(FILE)), &plan.files().next().expect("a file").patch.0)?;
        home.uninstall(&[&adapter]);
        prop_assert_eq!(home.text(FILE), text);
        prop_assert!(!home.exists(".local/state/sessionpipe"));
    }

    /// Without a manifest: our handlers of every version go, with what only they filled; nothing else.
    #[test]
    fn uninstall_without_a_manifest_takes_exactly_ours(text in documents(true), shape in adapters()) {
        let adapter = shape.adapter();
        let home = Home::new();
        home.write(FILE, &text);
        let plan = home.plan_uninstall(&[&adapter]);
        touches_only_ours(&value(&text), &plan.files().next().expect("a file").patch.0)?;
        prop_assert!(home.uninstall(&[&adapter]).is_complete());
        let after = home.text(FILE);
        prop_assert_eq!(value(&after), without_ours(value(&text)));
        if handlers_of_ours(&value(&text)).is_empty() && value(&text) == without_ours(value(&text)) {
            prop_assert_eq!(after, text);
        }
    }

    /// Touched since, behind ours or before it: exactly ours go, and the containers that we made.
    #[test]
    fn uninstall_after_others_wrote(text in documents(false), at_end in any::<bool>(), shape in adapters()) {
        let adapter = shape.adapter();
        let home = Home::new();
        home.write(FILE, &text);
        home.install(&[&adapter]);
        let touch = |text: &str| {
            let brace = text.find('{').expect("a root") + 1;
            let (head, tail) = text.split_at(brace);
            let comma = if tail.trim_start().starts_with('}') { "" } else { "," };
            if at_end { format!("{text}\n") } else { format!("{head}\"new\":1{comma}{tail}") }
        };
        home.write(FILE, touch(&home.text(FILE)));
        home.uninstall(&[&adapter]);
        let expected = value(&touch(&text));
        let after = home.text(FILE);
        prop_assert_eq!(value(&after), expected);
    }
}

/// TOML documents: top-level keys, tables, hook tables, and a `notify` in one of many spellings.
fn toml_documents(with_ours: bool) -> impl Strategy<Value = String> {
    let top = vec(
        select(vec![
            "model = \"m\"",
            "# [not a table]",
            "tui.theme = \"dark\"",
            "x = \"\"\"\n[no.table]\nnotify = [\"no\"]\n\"\"\"",
            "allow = [\n  \"a\", # [x]\n]",
            "",
            "d = 1979-05-27T07:32:00Z",
            "f = 1e3",
            "inline = { a = [1, 2], b = 'c' }",
        ]),
        0..5,
    );
    let notify = if with_ours {
        select(vec![
            "",
            "notify = [\"/old/sessionpipe-hook\", \"codex\", \"notify\"]",
            "notify = [\n  '/old/sessionpipe', \"hook\", # ours\n  \"codex\", \"notify\", \"--previous-notify\", \"say\", \"--\",\n]",
        ])
    } else {
        select(vec![
            "",
            "notify = []",
            "notify = [ ]",
            "notify = [\"say\"]",
            "\"notify\" = [ 'say', \"a]b#c\" ] # keep",
            "'notify' = [\n  \"p\", # mine\n\n  \"n.py\",\n]",
            "notify = [\n# first\n\"p\"\n# last\n]",
            "notify=[\"a\",\"b\"]",
        ])
    };
    let foreign =
        "[[hooks.Stop]]\nmatcher = \"x\"\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"/home/u/lint.sh\"";
    let old =
        "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"/old/sessionpipe hook codex Stop\"";
    let mixed = "[[hooks.SessionStart]]\nhooks = [ { type = \"command\", command = \"x\" }, { command = \"/old/sessionpipe hook codex SessionStart\" } ] # two";
    let misplaced = "[projects.\"/p\"]\ntrust_level = \"trusted\"\nnotify = [\"/old/sessionpipe\", \"hook\", \"codex\", \"notify\"]";
    let mut pool =
        vec!["[features]\nhooks = true", "[hooks.state]", "[profiles.x]\nnotify = [\"bell\"]", foreign, "# a comment"];
    if with_ours {
        pool.extend([old, mixed, misplaced, old]);
    }
    let tables = vec(select(pool), 0..6);
    (top, notify, tables, any::<usize>(), select(vec!["\n", "\r\n"]), any::<(bool, bool, bool)>()).prop_map(
        |(top, notify, tables, at, newline, (bom, blank_lines, final_newline))| {
            let mut lines: Vec<&str> = Vec::new();
            for line in top {
                // Each key once.
                if line.is_empty() || line.starts_with('#') || !lines.contains(&line) {
                    lines.push(line);
                }
            }
            lines.insert(at % (lines.len() + 1), notify);
            for table in tables {
                if table.starts_with("[[") || table.starts_with('#') || !lines.contains(&table) {
                    if blank_lines {
                        lines.push("");
                    }
                    lines.push(table);
                }
            }
            let mut text = lines.join("\n");
            if final_newline && !text.is_empty() {
                text.push('\n');
            }
            format!("{}{}", if bom { "\u{feff}" } else { "" }, text.replace('\n', newline))
        },
    )
}

fn toml(text: &str) -> toml_edit::DocumentMut {
    text.trim_start_matches('\u{feff}').parse().unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn notify(text: &str) -> Option<Vec<String>> {
    let doc = toml(text);
    let array = doc.get("notify")?.as_array()?;
    Some(array.iter().map(|word| word.as_str().expect("a string").to_owned()).collect())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn toml_install_twice_is_install(text in prop_oneof![toml_documents(true), toml_documents(false)]) {
        let home = Home::new();
        home.write(TOML, &text);
        let before = notify(&text);
        let plan = home.plan(&[&argv(EVENTS)]);
        for file in plan.files() {
            prop_assert!(!matches!(file.state, FileState::Refused(_)), "{}", file.summary);
        }
        prop_assert!(home.install(&[&argv(EVENTS)]).is_complete());
        let after = home.text(TOML);
        let now = notify(&after).expect("a notify at the top level");
        prop_assert_eq!(&now[..4], ["/opt/sp/bin/sessionpipe", "hook", "codex", "notify"]);
        let was_ours = before.as_deref().and_then(command::owned_argv).is_some();
        let kept = match &before {
            Some(words) if was_ours => command::previous_argv(words).map(<[String]>::to_vec),
            other => other.clone().filter(|words| !words.is_empty()),
        };
        prop_assert_eq!(command::previous_argv(&now).map(<[String]>::to_vec), kept);
        prop_assert!(!after.contains("/old/sessionpipe"), "{}", after);
        prop_assert_eq!(after.matches("/home/u/lint.sh").count(), text.matches("/home/u/lint.sh").count());
        prop_assert_eq!(after.matches("bell").count(), text.matches("bell").count());
        prop_assert_eq!(after.starts_with('\u{feff}'), text.starts_with('\u{feff}'));
        if text.contains("\r\n") {
            prop_assert_eq!(after.matches('\n').count(), after.matches("\r\n").count());
        }
        prop_assert!(home.plan(&[&argv(EVENTS)]).is_noop());
    }

    #[test]
    fn toml_uninstall_gives_back_the_bytes(text in toml_documents(false)) {
        let home = Home::new();
        home.write(TOML, &text);
        home.install(&[&argv(EVENTS)]);
        home.uninstall(&[&argv(EVENTS)]);
        prop_assert_eq!(home.text(TOML), text);
    }

    /// The splices of the uninstall are the inverse of those of the install, so the bytes come back without a backup
    /// too; only an empty array leaves no trace in what is chained.
    #[test]
    fn toml_uninstall_without_a_manifest(text in toml_documents(false)) {
        prop_assume!(notify(&text).is_none_or(|words| !words.is_empty()));
        let home = Home::new();
        home.write(TOML, &text);
        home.install(&[&argv(EVENTS)]);
        home.lose_manifest();
        home.uninstall(&[&argv(EVENTS)]);
        prop_assert_eq!(home.text(TOML), text);
    }

    #[test]
    fn toml_uninstall_of_older_versions(text in toml_documents(true)) {
        let home = Home::new();
        home.write(TOML, &text);
        prop_assert!(home.uninstall(&[&argv(EVENTS)]).is_complete());
        let after = home.text(TOML);
        prop_assert!(!after.contains("sessionpipe"), "{}", after);
        let expected = notify(&text).as_deref().and_then(command::previous_argv).map(<[String]>::to_vec);
        prop_assert_eq!(notify(&after), expected);
        prop_assert_eq!(after.matches("lint.sh").count(), text.matches("lint.sh").count());
    }
}
