//! Every event is one by the published schemas.

use std::fs;
use std::path::Path;

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::double::{Place, session, with};
use crate::pipeline::worker::flush;

fn schema(name: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/vectors/schemas");
    serde_json::from_slice(&fs::read(folder.join(name)).expect("a schema")).expect("JSON")
}

fn validator(schema: &Value) -> Validator {
    jsonschema::validator_for(schema).expect("a schema")
}

#[test]
fn events_validate() {
    let place = Place::new();
    let long = "long ".repeat(20_000);
    let tool = |more: Value| {
        let mut payload = with("a", json!({"tool_name": "Bash (in a box)", "tool_use_id": "c1", "turn_id": "t1"}));
        payload.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        payload
    };
    place.job("SessionStart", &with("a", json!({"source": "startup", "model": &long, "cwd": format!("/{long}")})));
    place.job("Prompt", &with("a", json!({"prompt": &long, "turn_id": "t1"})));
    place.job("PreTool", &tool(json!({"tool_input": {"text": &long}})));
    place.job("Permission", &tool(json!({"message": &long})));
    place.job("PostTool", &tool(json!({"tool_response": [&long, {"deep": &long}], "duration_ms": 12})));
    place.job("SubagentStart", &with("a", json!({"agent_id": "g1", "agent_type": &long})));
    place.job("SubagentStop", &with("a", json!({"agent_id": "g1", "agent_type": &long})));
    place.job("Compacted", &with("a", json!({"trigger": "auto"})));
    place.job("Stop", &with("a", json!({"turn_id": "t1"})));
    place.job("SessionEnd", &with("a", json!({"reason": "logout"})));
    place.job("Prompt", &json!({"cwd": "/elsewhere"}));
    place.job("Stop", &session(&long));
    place.with(|context| flush(context, std::time::Duration::from_secs(1))).expect("flushed");

    let envelope = validator(&schema("event.json"));
    let data = schema("event-data.json");
    let mut kinds = Vec::new();
    for event in place.events() {
        let value = serde_json::to_value(&event).expect("JSON");
        let errors: Vec<String> = envelope.iter_errors(&value).map(|error| error.to_string()).collect();
        assert_eq!(errors, [""; 0], "{}", event.kind);
        let rules = validator(&data["properties"][&event.kind]);
        let errors: Vec<String> = rules.iter_errors(&value["data"]).map(|error| error.to_string()).collect();
        assert_eq!(errors, [""; 0], "{}", event.kind);
        kinds.push(event.kind);
    }
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(
        kinds,
        [
            "attention.cleared",
            "attention.needed",
            "context.compacted",
            "session.ended",
            "session.started",
            "subagent.ended",
            "subagent.started",
            "tool.ended",
            "tool.started",
            "turn.ended",
            "turn.started"
        ]
    );
}
