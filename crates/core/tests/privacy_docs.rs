//! `docs/privacy.md`, generated from the table, the frozen list of secrets and what `cargo xtask secrets` counted last. `cargo xtask
//! schema` writes it again.
#![allow(clippy::disallowed_methods)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use serde_json::Value;
use sessionpipe_core::event::MAX_TIER;
use sessionpipe_core::privacy::secrets::Class;
use sessionpipe_core::privacy::table::{
    EVERYWHERE, Form, Key, MAX_CONTENT, MAX_ID, MAX_PATH, MAX_PATHS, MAX_TOOL, RULES,
};

mod secrets;

/// Of a hundred secrets so many are found, at least.
const LEAST_RECALL: usize = 95;

const HEAD: &str = "\
<!-- Generated from the code: cargo xtask schema -->

# What leaves this machine

Nothing, until you add a sink. Then each event is cut down to the sink's tier: an allowlist per type, below. What the list does not
name stays here; so does a value that is not of the form that the list says. A type that the list does not know goes as an envelope with
empty data below tier 3. The session block belongs to tier 0: id, `seq`, machine, folder, repository, branch, model, title, address.

| tier | a receiver learns |
|:-:|---|
| 0 | that a session runs, turns begin and end, and someone is waited for; its title, folder and branch |
| 1 | which tools ran how long and how they ended, which files changed, error texts, tokens used |
| 2 | what was said |
| 3 | what tools were given and gave back |

";

const RULESETS: &str = "
## Secrets: `secrets@1`

Runs on every event before it is stored, at every tier; it cannot be switched off. The value is replaced by `[redacted]` and the
sentence stays. It runs before any length is cut, and what comes out is its own redaction: running it again changes nothing.

- Vendor tokens, key blocks and credentials in URLs go everywhere, also out of `cwd`, `repo`, `branch`, `url` and paths.
- Everything else goes out of titles, texts and tool content: `Authorization` and `Cookie` headers, `curl -u`, what is assigned to a name
  that is a secret's (`DB_PASSWORD=…`, YAML, JSON at any depth and inside strings, `{\"name\": …, \"value\": …}`, elements, connection
  strings, arguments behind `--token`), and sentences that tell one, when the value looks generated.
- Never rewritten: `protocol`, `id`, `type`, `time`, `harness`, `session.id`, `seq`, `parent_id`, `model`, `account_id`, every `*_id`.
- Placeholders stay: `<your-token>`, `$TOKEN`, `xxxx`, `process.env.TOKEN`. A short password that nothing announces is not found.

In an address `[redacted]` is written `%5Bredacted%5D`.

";

const PII: &str = "
## Persons: `pii@1`

For a sink added with `--pii`. Emails become `[email]`, phone numbers `[phone]` (international ones and those of North America), home
folders `~` in every string, `machine` the first eight hex digits of its SHA-256; `account_id` is dropped. Ids and `model` stay.

## What lies on the disk

Stored events are redacted first. A hook's raw payload lies in the spool, readable by you alone, until the worker has taken it; one that
could not be read is quarantined, redacted and bounded, and expires.
";

#[test]
fn the_page_is_what_the_code_says() {
    let path = secrets::repository().join("docs/privacy.md");
    let page = page();
    if std::env::var_os("SESSIONPIPE_BLESS").is_some() {
        fs::write(&path, &page).expect("written");
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page, "{} is stale: run `cargo xtask schema`", path.display());
}

#[test]
fn secrets_are_found() {
    let all = secrets::positives();
    let found = all.iter().filter(|positive| positive.is_found()).count();
    assert!(found * 100 >= all.len() * LEAST_RECALL, "{found} of {}", all.len());
}

/// Of ten thousand lines at most one; where it is counted anew, `cargo xtask secrets` says so too.
#[test]
fn alarms_are_rare() {
    for what in ["sources", "recorded"] {
        let counted = &measured()[what];
        let alarms: u64 = alarms(counted).values().sum();
        let lines = counted["lines"].as_u64().expect("a number");
        assert!(lines > 50_000 && alarms * 10_000 <= lines, "{what}: {alarms} in {lines}");
    }
}

fn measured() -> Value {
    let text =
        fs::read_to_string(secrets::repository().join("conformance/secrets/measured.json")).expect("was measured");
    serde_json::from_str(&text).expect("JSON")
}

fn alarms(counted: &Value) -> BTreeMap<&str, u64> {
    let classes = counted["alarms"].as_object().into_iter().flatten();
    classes.map(|(class, alarms)| (class.as_str(), alarms.as_u64().expect("a number"))).collect()
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    page.push_str("## Events\n\n");
    let tiers: Vec<String> = (0..=MAX_TIER).map(|tier| format!("tier {tier}")).collect();
    let _ = writeln!(page, "| type | {} |\n|---|{}", tiers.join(" | "), "---|".repeat(tiers.len()));
    for rule in &RULES {
        let cells: Vec<String> = (0..=MAX_TIER)
            .map(|tier| match keys(rule.keys, tier) {
                _ if tier < rule.tier => String::new(),
                _ if tier > rule.highest => "not sent".to_owned(),
                keys if keys.is_empty() && tier == rule.tier => "is sent".to_owned(),
                keys => keys,
            })
            .collect();
        let _ = writeln!(page, "| `{}` | {} |", rule.kind.name(), cells.join(" | "));
    }
    let _ = writeln!(
        page,
        "\nA tier carries what the ones before it do. Any type may say {}, when true.\n",
        keys(EVERYWHERE, 0)
    );
    let _ = writeln!(
        page,
        "Ids have at most {MAX_ID} characters, names of tools {MAX_TOOL}, lists of paths {MAX_PATHS} of {MAX_PATH} each; `input` and `output` \
         {} KB as JSON. Numbers, flags, times and words from a closed list are checked to be that. Texts:\n",
        MAX_CONTENT / 1024
    );
    for rule in &RULES {
        let texts = rule.keys.iter().filter_map(|key| match key.form {
            Form::Chars(max) => Some(format!("`{}` {max}", key.name)),
            _ => None,
        });
        let texts: Vec<String> = texts.collect();
        if !texts.is_empty() {
            let _ = writeln!(page, "- `{}`: {}", rule.kind.name(), texts.join(", "));
        }
    }
    page.push_str(RULESETS);
    page.push_str(&measures());
    page.push_str(PII);
    page
}

/// The keys that begin at a tier.
fn keys(keys: &[Key], tier: u8) -> String {
    let names: Vec<String> = keys.iter().filter(|key| key.tier == tier).map(|key| format!("`{}`", key.name)).collect();
    names.join(", ")
}

fn measures() -> String {
    let (all, measured) = (secrets::positives(), measured());
    let (sources, recorded) = (&measured["sources"], &measured["recorded"]);
    let mut table = format!(
        "How much of it works, measured by `cargo xtask secrets`. *Found*: of {} secrets written down before a rule was made for them \
         (`conformance/secrets` says where they are from), those of which nothing is left; \
         it says nothing of a vendor whose tokens nobody has described. *False alarms*: what is replaced in the sources of \
         the {} packages that this program is built from, {} lines, and in {} lines of recorded payloads and transcripts. All of it is counted, \
         also the private keys and passwords of their tests and examples.\n\n",
        all.len(),
        measured["packages"],
        sources["lines"],
        recorded["lines"],
    );
    table.push_str(
        "| class | found | false alarms in sources | in 10,000 lines | in recordings |\n|---|--:|--:|--:|--:|\n",
    );
    let (in_sources, in_recorded) = (alarms(sources), alarms(recorded));
    let lines = sources["lines"].as_u64().expect("a number");
    let mut row = |name: &str, of: usize, found: usize, alarms: u64, recorded: u64| {
        // Two digits, rounded, without a float.
        let hundredths = (alarms * 1_000_000 + lines / 2) / lines;
        let share = found * 1000 / of.max(1);
        let _ = writeln!(
            table,
            "| {name} | {found} of {of} ({}.{} %) | {alarms} | {}.{:02} | {recorded} |",
            share / 10,
            share % 10,
            hundredths / 100,
            hundredths % 100
        );
    };
    for class in Class::ALL {
        let of = all.iter().filter(|positive| positive.class == class);
        let found = of.clone().filter(|positive| positive.is_found()).count();
        let count = |alarms: &BTreeMap<&str, u64>| alarms.get(class.name()).copied().unwrap_or_default();
        row(class.name(), of.count(), found, count(&in_sources), count(&in_recorded));
    }
    let found = all.iter().filter(|positive| positive.is_found()).count();
    row("**all**", all.len(), found, in_sources.values().sum(), in_recorded.values().sum());
    let missed: Vec<String> =
        all.iter().filter(|positive| !positive.is_found()).map(|positive| positive.source.clone()).collect();
    let _ = writeln!(table, "\nNot found: {}.", missed.join(", "));
    table
}
