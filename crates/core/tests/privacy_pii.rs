//! `pii@1` against the published vectors, and what they leave open.
#![allow(clippy::disallowed_methods)]

use proptest::prelude::*;
use serde_json::{Value, json};
use sessionpipe_core::event::Event;
use sessionpipe_core::privacy::{Pii, filter, pii};

fn vectors() -> Value {
    let path = format!("{}/../../conformance/vectors/redaction/pii.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).expect("the vectors are part of the repository")).expect("JSON")
}

fn event(session: &Value, data: &Value) -> Event {
    let mut event = json!({
        "protocol": 1, "id": "01KB6G2M7R8Z9X0C1V2B3N4M5Q", "type": "tool.ended", "time": "2026-11-30T08:02:35.960Z", "tier": 3,
        "harness": {"name": "fixture"}, "session": {"id": "s", "seq": 0}, "privacy": {"rulesets": ["secrets@1"], "pii": false},
    });
    event["data"] = data.clone();
    for (key, value) in session.as_object().into_iter().flatten() {
        event["session"][key] = value.clone();
    }
    serde_json::from_value(event).expect("an event")
}

#[test]
fn published_vectors_come_out_exactly() {
    let file = vectors();
    assert_eq!(file["ruleset"], pii::RULESET);
    let cases = file["cases"].as_array().expect("cases");
    assert_eq!(cases.len(), 10, "the file is whole");
    for case in cases {
        let (text, out) = (case["in"].as_str().expect("a text"), case["out"].as_str().expect("a text"));
        let pii = Pii::new(case["home"].as_str().unwrap_or_default());
        assert_eq!(pii.redact_text(text), out, "{}", case["name"]);
        assert_eq!(pii.redact_text(out), out, "idempotent: {}", case["name"]);
    }
    for case in file["session"].as_array().expect("session") {
        let filtered = filter(&event(&case["in"], &json!({})), 3, Some(&Pii::default())).expect("carried");
        let mut session = serde_json::to_value(&filtered.session).expect("JSON");
        session.as_object_mut().expect("an object").retain(|key, _| key != "id" && key != "seq");
        assert_eq!(session, case["out"], "{}", case["name"]);
        assert!(filtered.privacy.pii);
        assert_eq!(filtered.privacy.rulesets, ["secrets@1", "pii@1"]);
    }
}

#[test]
fn homes_go_however_they_are_written() {
    let unix = Pii::new("/home/dev1/");
    let windows = Pii::new("C:\\Users\\Dev One");
    for (pii, text, out) in [
        (&unix, "/home/dev1", "~"),
        (&unix, "PATH=/usr/bin:/home/dev1/bin -I/home/dev1/include", "PATH=/usr/bin:~/bin -I~/include"),
        (&unix, "file:///home/dev1/a and see /home/dev1.", "file://~/a and see ~."),
        (&unix, "a\\n/home/dev1/b", "a\\n~/b"),
        (&unix, "~/.claude/projects/-home-dev1-my-app/x.jsonl", "~/.claude/projects/~-my-app/x.jsonl"),
        (&unix, "/home/dev1app is another's: /home/dev1-old too", "~ is another's: ~ too"),
        (&unix, "/Users/someone/x C:\\Users\\someone\\x c:/Users/someone/x", "~/x ~\\x ~/x"),
        (&unix, "{\"path\":\"C:\\\\Users\\\\someone\\\\x\"}", "{\"path\":\"~\\\\x\"}"),
        (
            &unix,
            "https://example.com/home/feed /mnt/home/x/y /homes/a/b",
            "https://example.com/home/feed /mnt/home/x/y /homes/a/b",
        ),
        (&windows, "C:\\Users\\Dev One\\a C:\\\\Users\\\\Dev One\\\\a C:/Users/Dev One/a", "~\\a ~\\\\a ~/a"),
        (&Pii::new("/root"), "cd /root/x; chmod -root /rootfs", "cd ~/x; chmod -root /rootfs"),
        (&Pii::new("/"), "/a/b", "/a/b"),
    ] {
        assert_eq!(pii.redact_text(text), out);
    }
}

#[test]
fn emails_and_phones_are_told_from_what_looks_like_them() {
    let pii = Pii::default();
    for (text, out) in [
        ("<a.b@example.co.uk>,\\nc_d@example.org.", "<[email]>,\\n[email]."),
        ("jürgen@bücher.example wrote", "[email] wrote"),
        ("https://bob@example.com/x", "https://[email]/x"),
        ("git clone git@github.com:org/repo.git", "git clone git@github.com:org/repo.git"),
        (
            "npm i lodash@4.17.21 x@1.0.0-beta.rc icon@2x.png @scope/pkg",
            "npm i lodash@4.17.21 x@1.0.0-beta.rc icon@2x.png @scope/pkg",
        ),
        ("user@host and a@b and @app.get(\"/\")", "user@host and a@b and @app.get(\"/\")"),
        ("mail a@163.com", "mail [email]"),
        ("call 415-555-1234 or 415.555.1234 or 1-415-555-1234.", "call [phone] or [phone] or [phone]."),
        ("tel:+49 (30) 1234-5678", "tel:[phone]"),
        (
            "2026-11-30T10:00:00+0200 1+14155551234 +1234567 +1234567890123456",
            "2026-11-30T10:00:00+0200 1+14155551234 +1234567 +1234567890123456",
        ),
        (
            "115-555-1234 415-555-12345 415-55-1234 123415-555-1234",
            "115-555-1234 415-555-12345 415-55-1234 123415-555-1234",
        ),
        (
            "550e8400-e29b-41d4-a716-446655440000 1789000000007 10.0.0.1:8080",
            "550e8400-e29b-41d4-a716-446655440000 1789000000007 10.0.0.1:8080",
        ),
    ] {
        assert_eq!(pii.redact_text(text), out);
    }
}

#[test]
fn an_event_loses_whom_it_is_about_and_keeps_what_identifies_it() {
    let whole = event(
        &json!({
            "machine": "dev-air", "account_id": "a1b2c3", "cwd": "/home/dev1/src", "branch": "a@example.com/fix", "title": "ask a@example.com",
            "repo": "git@github.com:org/repo.git", "url": "https://h.example/?who=a@example.com", "parent_id": "p", "model": "m@example.com",
        }),
        &json!({
            "tool": "Bash", "ok": true, "call_id": "c@example.com", "ms": 4_155_551_234u64,
            "input": {"/home/dev1/x": ["mail a@example.com"]}, "output": "+14155551234",
        }),
    );
    let pii = Pii::new("/home/dev1");
    let filtered = filter(&whole, 3, Some(&pii)).expect("carried");
    assert_eq!(
        serde_json::to_value(&filtered.session).expect("JSON"),
        json!({
            "id": "s", "seq": 0, "machine": "ef72db37", "cwd": "~/src", "branch": "[email]/fix", "title": "ask [email]",
            "repo": "git@github.com:org/repo.git", "url": "https://h.example/?who=%5Bemail%5D", "parent_id": "p", "model": "m@example.com",
        })
    );
    assert_eq!(
        Value::Object(filtered.data.clone()),
        json!({
            "tool": "Bash", "ok": true, "call_id": "c@example.com", "ms": 4_155_551_234u64,
            "input": {"~/x": ["mail [email]"]}, "output": "[phone]",
        })
    );
    assert_eq!(filter(&filtered, 3, Some(&pii)).as_ref(), Some(&filtered), "a machine is hashed once");
}

/// What takes a place can be longer than what stood there.
#[test]
fn lengths_hold_afterwards_too() {
    let whole = event(
        &json!({"title": "a@b.co ".repeat(28)}),
        &json!({"tool": "Bash", "ok": false, "error": "a@b.co ".repeat(285)}),
    );
    let filtered = filter(&whole, 3, Some(&Pii::default())).expect("carried");
    assert_eq!(filtered.session.title.expect("a title").chars().count(), 200);
    assert_eq!(filtered.data["error"].as_str().expect("a text").chars().count(), 2000);
}

fn pieces() -> impl Strategy<Value = String> {
    let fixed = [
        "a",
        "é",
        "1",
        "415",
        "555",
        "1234",
        "+",
        "(",
        ")",
        "-",
        ".",
        " ",
        "@",
        "/",
        "\\",
        "\\n",
        ":",
        "home",
        "/home/",
        "/home/dev1",
        "-home-dev1",
        "Users",
        "C:",
        "~",
        "[email]",
        "[phone]",
        "a@b.co",
        "+14155551234",
        "_",
        "%",
        "x",
        "\"",
    ];
    proptest::collection::vec(proptest::sample::select(fixed.to_vec()), 0..16).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn redacting_twice_changes_nothing(text in pieces()) {
        let pii = Pii::new("/home/dev1");
        let once = pii.redact_text(&text).into_owned();
        prop_assert_eq!(pii.redact_text(&once), once.as_str());
    }

    #[test]
    fn an_email_between_spaces_never_survives(before in pieces(), after in pieces()) {
        let text = format!("{before} dev1@example.com {after}");
        prop_assert!(!Pii::new("/home/dev1").redact_text(&text).contains("dev1@example.com"));
    }
}
