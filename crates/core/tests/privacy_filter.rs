//! The tier filter and the lengths, against the protocol's schemas.
#![allow(clippy::disallowed_methods)]

use jsonschema::Validator;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use sessionpipe_core::event::{Event, EventType, MAX_TIER, Privacy, Session, Tier};
use sessionpipe_core::privacy::bound::{fit, json_len, tool_name};
use sessionpipe_core::privacy::table::{EVERYWHERE, Form, MAX_CONTENT, MAX_ID, MAX_PATH, MAX_PATHS, RULES, rule_of};
use sessionpipe_core::privacy::{Pii, bound, filter, seal};

fn schema(name: &str) -> Value {
    let path = format!("{}/../../conformance/vectors/schemas/{name}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).expect("the schemas are part of the repository")).expect("JSON")
}

/// The one type that is an extension of ours.
fn usage_schema() -> Value {
    let path = format!("{}/../../docs/schema/usage.reported.v1.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).expect("the schemas are part of the repository")).expect("JSON")
}

fn validator(schema: &Value) -> Validator {
    jsonschema::options().should_validate_formats(true).build(schema).expect("a schema")
}

fn event(kind: &str, tier: Tier, data: Value) -> Event {
    let Value::Object(data) = data else { panic!("data is an object") };
    Event {
        protocol: 1,
        id: "01KB6G2M7R8Z9X0C1V2B3N4M5Q".to_owned(),
        kind: kind.to_owned(),
        time: "2026-11-30T08:02:35.960Z".to_owned(),
        tier,
        harness: serde_json::from_value(json!({"name": "fixture", "version": "1.2.3", "event": "Stop"}))
            .expect("a harness"),
        session: Session {
            id: "s".to_owned(),
            title: Some("a title".to_owned()),
            cwd: Some("~/src".to_owned()),
            ..Session::default()
        },
        privacy: Privacy { rulesets: vec!["secrets@1".to_owned()], pii: false },
        data,
    }
}

/// The protocol's table once more, in the words of its page: type, lowest tier, keys by tier.
const PROTOCOL_TABLE: &str = "
session.started    0  0:source
session.heartbeat  0
session.ended      0  0:reason,lost
session.backfill   0  0:started_at,last_at,turns
session.forgotten  0
turn.started       0  0:turn_id 1:prompt_chars
turn.ended         0  0:turn_id,reason,ms 1:error
turn.transcript    2  2:turn,user,assistant,at
tool.started       1  1:tool,call_id,turn_id,agent_id,mcp_server,tool_kind 3:input
tool.ended         1  1:tool,call_id,turn_id,agent_id,ms,ok,error,mcp_server,tool_kind 3:input,output
files.changed      1  1:paths
attention.needed   0  0:attention_id,kind 1:tool,message
attention.cleared  0  0:attention_id,how
subagent.started   1  1:agent_id,agent_type
subagent.ended     1  1:agent_id,agent_type
context.compacted  1  1:trigger
usage.reported     1  1:turn_id,agent_id,model,input,cache_read,cache_write,output,reasoning,consistent,cost_usd,cost_source
";

/// The keys of a line, each with its lowest tier.
fn keys_of<'l>(words: impl Iterator<Item = &'l str>) -> impl Iterator<Item = (Tier, &'l str)> {
    words
        .flat_map(|word| {
            let (tier, keys) = word.split_once(':').expect("keys by tier");
            keys.split(',').map(|key| (tier.parse().expect("a tier"), key))
        })
        .chain([(0, "derived"), (0, "partial"), (0, "id_made_up")])
}

/// Something of that form, with the text in it where it holds one.
fn value_of(form: Form, text: &str) -> Value {
    match form {
        Form::Count => json!(1),
        Form::Amount => json!(0.5),
        Form::Flag => json!(true),
        Form::Time => json!("2026-11-30T08:02:35.960Z"),
        Form::Word(words) => json!(words[0]),
        Form::Chars(_) | Form::Id | Form::Tool => json!(text),
        Form::Content => json!({"a": [{(text): text}, 1]}),
        Form::Paths => json!([text]),
    }
}

#[test]
fn each_tier_carries_what_the_protocol_says() {
    let lines: Vec<&str> = PROTOCOL_TABLE.trim().lines().collect();
    assert_eq!(lines.len(), EventType::ALL.len());
    for line in lines {
        let mut words = line.split_whitespace();
        let (kind, lowest) = (words.next().expect("a type"), words.next().expect("a tier"));
        let lowest: Tier = lowest.parse().expect("a tier");
        let keys: Vec<(Tier, &str)> = keys_of(words).collect();

        let rule = rule_of(kind).expect("in the table");
        let mut data: Map<String, Value> = keys
            .iter()
            .map(|(_, key)| ((*key).to_owned(), value_of(rule.key(key).expect("in the table").form, "x")))
            .collect();
        data.insert("unheard_of".to_owned(), json!("stays behind"));
        let whole = event(kind, MAX_TIER, Value::Object(data));
        for tier in 0..=MAX_TIER {
            let filtered = filter(&whole, tier, None);
            if tier < lowest || (kind == "session.heartbeat" && tier > 0) {
                assert_eq!(filtered, None, "{kind} at {tier}");
                continue;
            }
            let filtered = filtered.unwrap_or_else(|| panic!("{kind} at {tier}"));
            let mut kept: Vec<&str> = filtered.data.keys().map(String::as_str).collect();
            let mut wanted: Vec<&str> = keys.iter().filter(|(from, _)| *from <= tier).map(|(_, key)| *key).collect();
            kept.sort_unstable();
            wanted.sort_unstable();
            assert_eq!(kept, wanted, "{kind} at {tier}");
            // The envelope is whole but for the tier.
            assert_eq!(filtered, Event { tier, data: filtered.data.clone(), ..whole.clone() });
        }
    }
}

#[test]
fn a_type_that_is_not_in_the_table_goes_without_data_below_the_highest_tier() {
    let unknown = event("weather.changed", 3, json!({"wind": "north", "derived": true}));
    for tier in 0..3 {
        assert_eq!(filter(&unknown, tier, None), Some(Event { tier, data: Map::new(), ..unknown.clone() }));
    }
    assert_eq!(filter(&unknown, 3, None), Some(unknown.clone()));
    // What was thinned once stays thin.
    let thin = Event { tier: 2, ..unknown };
    assert_eq!(filter(&thin, 3, None).map(|event| (event.tier, event.data.len())), Some((2, 0)));
}

#[test]
fn no_event_rises_above_its_own_tier() {
    let started = event("tool.started", 1, json!({"tool": "Bash", "input": {"command": "ls"}}));
    let filtered = filter(&started, 3, None).expect("carried");
    assert_eq!(filtered.tier, 1);
    assert_eq!(filtered.data, *json!({"tool": "Bash"}).as_object().expect("an object"));
    assert_eq!(filter(&event("tool.started", 0, json!({"tool": "Bash"})), 3, None), None);
}

#[test]
fn the_table_agrees_with_the_schemas() {
    let mut data = schema("event-data.json");
    data["properties"]["usage.reported"] = usage_schema();
    for rule in &RULES {
        assert!(std::ptr::eq(rule, rule_of(rule.kind.name()).expect("found by its name")));
        assert_eq!(rule.keys.iter().filter(|key| key.tier < rule.tier).count(), 0, "{:?}", rule.kind);
        let of_type = &data["properties"][rule.kind.name()];
        for required in of_type["required"].as_array().into_iter().flatten() {
            let key = rule
                .key(required.as_str().expect("a name"))
                .unwrap_or_else(|| panic!("{:?} lacks {required}", rule.kind));
            assert_eq!(key.tier, rule.tier, "{:?} {required}", rule.kind);
        }
        for (name, property) in of_type["properties"].as_object().expect("properties") {
            let form = rule.key(name).unwrap_or_else(|| panic!("{:?} lacks {name}", rule.kind)).form;
            assert_eq!(form, form_of(name, property), "{:?} {name}", rule.kind);
        }
    }
    assert_eq!(EVERYWHERE.len(), 3);
}

/// What a schema says of a key. Lists of words are compared in full.
fn form_of(name: &str, property: &Value) -> Form {
    let length = property["maxLength"].as_u64();
    match property["type"].as_str() {
        None => Form::Content,
        Some("integer") => Form::Count,
        Some("number") => Form::Amount,
        Some("boolean") => Form::Flag,
        Some("array") => {
            assert_eq!(property["maxItems"], MAX_PATHS);
            assert_eq!(property["items"]["maxLength"], MAX_PATH);
            Form::Paths
        }
        Some("string") if property["format"] == "date-time" => Form::Time,
        Some("string") if property["enum"].is_array() => {
            let words = property["enum"].as_array().into_iter().flatten();
            let words: Vec<&'static str> =
                words.map(|word| &*word.as_str().expect("a word").to_owned().leak()).collect();
            Form::Word(words.leak())
        }
        Some("string") if property["pattern"] == "^[A-Za-z0-9_.:-]{1,120}$" => Form::Tool,
        Some("string") if name.ends_with("_id") => {
            assert_eq!(length, Some(MAX_ID as u64));
            Form::Id
        }
        Some("string") => Form::Chars(usize::try_from(length.expect("a length")).expect("small")),
        Some(other) => panic!("{other}"),
    }
}

/// Every text far too long, for every type: bounded, the event is valid.
#[test]
fn whatever_is_too_long_is_brought_within_the_schemas() {
    let (envelope, mut data_schema) = (validator(&schema("event.json")), schema("event-data.json"));
    data_schema["properties"]["usage.reported"] = usage_schema();
    let long = "é\"\n".repeat(50_000);
    for rule in &RULES {
        let of_type = &data_schema["properties"][rule.kind.name()];
        let data: Map<String, Value> = rule
            .keys
            .iter()
            .map(|key| {
                let value = match key.form {
                    Form::Content => json!({"short": "stays", "long": long, "list": [long, 1, null]}),
                    Form::Paths => Value::Array(vec![json!(long); MAX_PATHS + 1]),
                    form => value_of(form, &long),
                };
                (key.name.to_owned(), value)
            })
            .collect();
        let mut event = event(rule.kind.name(), MAX_TIER, Value::Object(data));
        event.harness.version = Some(long.clone());
        event.harness.event = Some(long.clone());
        let session = &mut event.session;
        for text in [
            &mut session.machine,
            &mut session.cwd,
            &mut session.repo,
            &mut session.branch,
            &mut session.model,
            &mut session.title,
            &mut session.url,
            &mut session.account_id,
            &mut session.parent_id,
        ] {
            *text = Some(long.clone());
        }
        bound(&mut event);
        assert_eq!(event.session.url, None, "half an address opens nothing");
        let value = serde_json::to_value(&event).expect("JSON");
        if let Some(error) = envelope.iter_errors(&value).next() {
            panic!("{:?}: {error}", rule.kind);
        }
        if of_type.is_object()
            && let Some(error) = validator(of_type).iter_errors(&value["data"]).next()
        {
            panic!("{:?}: {error}", rule.kind);
        }
        for key in rule.keys.iter().filter(|key| key.form == Form::Content) {
            let value = &event.data[key.name];
            assert_eq!(value["short"], "stays");
            let size = value.to_string().len();
            assert!((MAX_CONTENT - 64..=MAX_CONTENT).contains(&size), "{size}");
        }
        let once = event.clone();
        bound(&mut event);
        assert_eq!(event, once, "bounding twice changes nothing");
    }
}

/// Brackets stand nowhere in an address, and receivers check that.
#[test]
fn an_address_is_one_after_everything_that_is_done_to_it() {
    let envelope = validator(&schema("event.json"));
    let random = "a7Kq".repeat(6);
    for (url, expected) in [
        (
            format!("https://h.example/s?access_token={random}&to=a@example.com"),
            "https://h.example/s?access_token=%5Bredacted%5D&to=%5Bemail%5D",
        ),
        (format!("https://u:{random}@h.example/s"), "https://u:%5Bredacted%5D@h.example/s"),
        ("http://[::1]:3000/s/1".to_owned(), "http://[::1]:3000/s/1"),
    ] {
        let mut event = event("session.ended", 0, json!({"reason": "exit"}));
        event.session.url = Some(url);
        seal(&mut event);
        let sealed = event.clone();
        seal(&mut event);
        assert_eq!(event, sealed, "sealing twice changes nothing");
        let event = filter(&event, 0, Some(&Pii::default())).expect("carried");
        assert_eq!(event.session.url.as_deref(), Some(expected));
        let value = serde_json::to_value(&event).expect("JSON");
        assert_eq!(envelope.iter_errors(&value).next().map(|error| error.to_string()), None);
    }
}

#[test]
fn texts_are_cut_at_a_character_and_say_so() {
    let mut ended =
        event("turn.ended", 3, json!({"reason": "error", "error": "é".repeat(201), "turn_id": "t".repeat(129)}));
    bound(&mut ended);
    assert_eq!(ended.data["error"], json!("é".repeat(199) + "…"));
    // SHA-256 of 129 times `t`, by sha256sum.
    assert_eq!(ended.data["turn_id"], "274a580b94e9633dadb44e9968b890699edb543c6652762218e983910c9e25cc");
    let mut whole =
        event("turn.ended", 3, json!({"reason": "error", "error": "é".repeat(200), "turn_id": "t".repeat(128)}));
    let before = whole.clone();
    bound(&mut whole);
    assert_eq!(whole, before);
}

#[test]
fn tool_names_follow_the_pattern() {
    assert_eq!(tool_name("mcp__my-server__read.file:2"), "mcp__my-server__read.file:2");
    assert_eq!(tool_name("run command/é"), "run_command__");
    assert_eq!(tool_name(""), "_");
    assert_eq!(tool_name(&"x".repeat(200)), "x".repeat(120));
}

#[test]
fn long_strings_are_cut_all_to_one_length() {
    let mut value = json!({"a": "x".repeat(300), "b": "y".repeat(200), "c": "short"});
    // {"a":"","b":"","c":""} is 22 bytes; of 228 left, 5 go to `c`, and (228 - 5) / 2 = 111 to each of the others.
    fit(&mut value, 250);
    assert_eq!(value, json!({"a": "x".repeat(108) + "…", "b": "y".repeat(108) + "…", "c": "short"}));
    // Nothing but structure: the beginning of its JSON.
    let mut value = json!((0..1000).collect::<Vec<u32>>());
    fit(&mut value, 20);
    assert_eq!(value, json!("[0,1,2,3,4,5,6,…"));
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,400}".prop_map(Value::from),
        "[\"\\\\\n\t\u{1}é🦀]{0,200}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 64, 8, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            proptest::collection::vec(("[a-z]{1,8}", inner), 0..8)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// An event of any known type, or of one that is not, with some of its keys and one that is not its own, and a text for each.
fn any_event() -> impl Strategy<Value = Event> {
    let texts = proptest::collection::vec(proptest::option::weighted(0.8, "[a-z0-9é🦀 \"\\\\\n/]{4,20}"), 20);
    (0..=RULES.len(), 0..=MAX_TIER, texts).prop_map(|(index, tier, texts)| {
        let rule = RULES.get(index);
        let keys = rule.map_or(&[][..], |rule| rule.keys).iter().chain(EVERYWHERE);
        let mut texts = texts.into_iter().enumerate().map(|(i, text)| text.map(|text| format!("{text}-{i}-")));
        let mut data: Map<String, Value> = Map::new();
        for key in keys {
            if let Some(text) = texts.next().flatten() {
                data.insert(key.name.to_owned(), value_of(key.form, &text));
            }
        }
        // What no table knows; and a text where a number is due.
        for (key, text) in ["unheard_of", "ms", "turn"].into_iter().zip(texts.flatten()) {
            data.insert(key.to_owned(), json!([text]));
        }
        event(rule.map_or("weather.changed", |rule| rule.kind.name()), tier, Value::Object(data))
    })
}

/// All strings, keys of objects too.
fn strings(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, found)),
        Value::Object(members) => members.iter().for_each(|(key, member)| {
            found.push(key.clone());
            strings(member, found);
        }),
        _ => {}
    }
}

proptest! {
    #[test]
    fn filtering_twice_is_filtering_to_the_lower_tier(event in any_event(), a in 0..=MAX_TIER, b in 0..=MAX_TIER) {
        // A heartbeat is for sinks of tier 0 alone.
        prop_assume!(event.kind != "session.heartbeat");
        prop_assert_eq!(filter(&event, a, None).and_then(|event| filter(&event, b, None)), filter(&event, a.min(b), None));
    }

    /// No string of the whole event that the protocol's page does not allow at a tier is in what goes to that tier.
    #[test]
    fn nothing_of_a_higher_tier_is_in_a_lower_form(event in any_event(), tier in 0..=MAX_TIER, pii in any::<bool>()) {
        let pii = pii.then(|| Pii::new("/home/dev1"));
        let Some(filtered) = filter(&event, tier, pii.as_ref()) else { return Ok(()) };
        prop_assert!(filtered.tier <= tier && filtered.tier <= event.tier);
        let line = PROTOCOL_TABLE.lines().find_map(|line| line.strip_prefix(event.kind.as_str()));
        let allowed: Vec<&str> = line
            .map(|line| keys_of(line.split_whitespace().skip(1)).filter(|(from, _)| *from <= tier).map(|(_, key)| key).collect())
            .unwrap_or_default();
        let (mut left, mut hidden) = (Vec::new(), Vec::new());
        strings(&Value::Object(filtered.data), &mut left);
        for (key, value) in &event.data {
            let is_misplaced = ["unheard_of", "ms", "turn"].contains(&key.as_str()) && value.is_array();
            if is_misplaced || !allowed.contains(&key.as_str()) {
                strings(value, &mut hidden);
            }
        }
        let whole = line.is_none() && tier.min(event.tier) == MAX_TIER;
        for text in hidden.iter().filter(|text| text.contains('-') && !whole) {
            prop_assert!(!left.iter().any(|left| left.contains(text.as_str())), "{text:?} at {tier}");
        }
    }

    #[test]
    fn content_fits_whatever_it_is(value in json_value(), max in 16usize..3000) {
        prop_assert_eq!(json_len(&value), value.to_string().len());
        let mut fitted = value.clone();
        fit(&mut fitted, max);
        prop_assert!(fitted.to_string().len() <= max);
        if value.to_string().len() <= max {
            prop_assert_eq!(fitted, value);
        }
    }
}
