//! Every `--json` is what its schema says.

use serde_json::Value;

use crate::environment::TestEnvironment;

fn valid(schema: &str, document: &Value) {
    let (_, schema) = sessionpipe::schema::all().into_iter().find(|(name, _)| *name == schema).expect("the schema");
    let validator = jsonschema::validator_for(schema.as_value()).expect("a schema");
    let errors: Vec<String> = validator.iter_errors(document).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}\n{document:#}");
    assert_eq!(document["version"], 1);
}

#[test]
fn plans_and_receipts() {
    let environment = TestEnvironment::with_agents();
    environment.write(".codex/hooks.json", "[]");
    let plan = environment.json(1, &["install", "--dry-run", "--json"]);
    valid("install.v1.json", &plan);
    assert_eq!((&plan["action"], &plan["applied"]), (&"install".into(), &false.into()));
    let claude = &plan["harnesses"][0]["files"][0];
    assert_eq!(claude["state"], "change");
    assert_eq!(claude["path"], environment.home().join(".claude/settings.json").display().to_string());
    assert!(claude["diff"].as_str().is_some_and(|diff| diff.contains("\n@@ ")));
    let ops: Vec<&str> =
        claude["patch"].as_array().expect("a patch").iter().filter_map(|op| op["op"].as_str()).collect();
    assert!(!ops.is_empty() && ops.iter().all(|op| *op == "add"), "{ops:?}");
    let refused = &plan["harnesses"][1]["files"][0];
    assert_eq!((&refused["state"], &refused["place"]["line"]), (&"refused".into(), &1.into()));
    assert_eq!(environment.json(2, &["install", "--json"]), plan, "nobody can be asked");

    let receipt = environment.json(1, &["install", "--yes", "--json"]);
    valid("install.v1.json", &receipt);
    assert_eq!(receipt["applied"], true);
    assert_eq!(receipt["harnesses"][0]["files"][0]["outcome"], "changed");
    assert_eq!(receipt["harnesses"][0]["files"][0]["handlers"], 16);
    assert_eq!(receipt["harnesses"][1]["files"][0]["outcome"], "refused");

    let plan = environment.json(0, &["uninstall", "--dry-run", "--json"]);
    valid("uninstall.v1.json", &plan);
    assert_eq!((&plan["action"], &plan["applied"]), (&"uninstall".into(), &false.into()));
    valid("uninstall.v1.json", &environment.json(0, &["uninstall", "--yes", "--json"]));
}

#[test]
fn what_reads() {
    let environment = TestEnvironment::with_agents();
    valid("install-print.v1.json", &environment.json(0, &["install", "--print", "--json"]));
    for _ in 0..2 {
        valid("status.v1.json", &environment.json(0, &["status", "--json"]));
        let doctor = environment.run(&["doctor", "--json"]);
        valid("doctor.v1.json", &serde_json::from_str(&doctor.stdout).expect("JSON"));
        environment.expect(0, &["install", "--yes"]);
        let hook = environment.home().join(".cargo/bin/sessionpipe-hook");
        environment.hook(&format!("{} codex Stop", hook.display()), "{\"session_id\":\"s\"}");
        valid("flush.v1.json", &environment.json(0, &["flush", "--json"]));
    }
    environment.expect(0, &["sink", "add", "agents.jsonl", "--from", "start"]);
    environment.expect(0, &["flush"]);
    valid("sink-list.v1.json", &environment.json(0, &["sink", "list", "--json"]));
    valid("flush.v1.json", &environment.json(0, &["flush", "--json"]));
    let status = environment.json(0, &["status", "--json"]);
    valid("status.v1.json", &status);
    assert_eq!((&status["harnesses"][1]["name"], &status["harnesses"][1]["sessions"]), (&"codex".into(), &1.into()));
    assert!(status["harnesses"][1]["last_event"].is_string());
    assert_eq!(status["harnesses"][1]["files"][0]["state"], "wired");
}
