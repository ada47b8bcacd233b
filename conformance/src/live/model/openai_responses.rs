//! OpenAI Responses: `POST …/responses`. <https://platform.openai.com/docs/api-reference/responses>

use serde_json::{Value, json};

use super::wire::{Body, Conversation, Reply, Role, Tool, Turn, Usage, Wire, list, push_event, string, text_of};

/// The format.
pub const WIRE: Wire =
    Wire { name: "openai-responses", matches: |path| path.ends_with("/responses"), read, error, write };

/// A tool of this group is called without the group's name.
const ROOT_GROUP: &str = "functions";

/// How a request for a title begins: it offers the same tools as any other.
const TITLE: &str = "Generate a concise, single-line task title";

fn read(_: &str, body: &Value) -> Conversation {
    let turns: Vec<_> = match &body["input"] {
        Value::String(text) => vec![Turn { role: Role::User, text: text.clone(), calls: false }],
        _ => list(body, "input").map(turn).collect(),
    };
    // Newer models get their tools as an item of the input.
    let more =
        list(body, "input").filter(|item| item["type"] == "additional_tools").flat_map(|item| list(item, "tools"));
    let tools = list(body, "tools").chain(more).flat_map(tools).collect();
    let newest = turns.iter().rev().find(|turn| turn.role == Role::User);
    let title = newest.is_some_and(|turn| turn.text.starts_with(TITLE));
    Conversation {
        model: string(body, "model"),
        stream: body["stream"] == true,
        turns,
        tools,
        side_answer: title.then(|| json!({"title": "Lab title"}).to_string()),
    }
}

fn turn(item: &Value) -> Turn {
    let (role, calls) = match item["type"].as_str().unwrap_or("message") {
        "message" => match item["role"].as_str() {
            Some("user") => (Role::User, false),
            Some("assistant") => (Role::Assistant, false),
            _ => (Role::System, false),
        },
        // A parent's task for its subagent.
        "agent_message" => (Role::User, false),
        "function_call" | "custom_tool_call" => (Role::Assistant, true),
        "function_call_output" | "custom_tool_call_output" => (Role::Tool, false),
        _ => (Role::System, false),
    };
    Turn { role, text: text_of(&item["content"]), calls }
}

/// A tool, or those of a group.
fn tools(offered: &Value) -> Vec<Tool> {
    if offered["type"] == "namespace" {
        let group = string(offered, "name");
        let namespace = (group != ROOT_GROUP).then_some(group);
        let named = |tool| Tool { namespace: namespace.clone(), ..tool };
        return list(offered, "tools").flat_map(tools).map(named).collect();
    }
    let name = string(offered, "name");
    let freeform = offered["type"] == "custom";
    let tool = Tool { name, namespace: None, schema: offered["parameters"].clone(), freeform };
    // Those of the vendor's own servers have no name and cannot be called.
    if tool.name.is_empty() { Vec::new() } else { vec![tool] }
}

fn error(status: u16, message: &str) -> Value {
    let kind = if status == 400 { "invalid_request_error" } else { "server_error" };
    json!({"error": {"message": message, "type": kind, "code": null}})
}

fn write(n: u64, usage: &Usage, asked: &Conversation, reply: &Reply) -> Body {
    let counts = json!({
        "input_tokens": usage.prompt(), "input_tokens_details": {"cached_tokens": usage.cache_read},
        "output_tokens": usage.output, "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.prompt() + usage.output,
    });
    let item = match reply {
        Reply::Call { tool, input } | Reply::Batch { tool, input, .. } => call(n, tool, input),
        Reply::Say(text) | Reply::Fail { message: text, .. } => json!({
            "type": "message", "id": format!("msg_lab{n}"), "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }),
    };
    let response = |status: &str, output: Value, usage: &Value| {
        json!({"id": format!("resp_lab{n}"), "object": "response", "created_at": 0, "status": status,
            "model": asked.model, "output": output, "usage": usage})
    };
    let completed = response("completed", json!([item]), &counts);
    if !asked.stream {
        return Body::Json(completed);
    }
    let mut events = vec![
        json!({"type": "response.created", "response": response("in_progress", json!([]), &Value::Null)}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": opening(&item)}),
    ];
    if let Reply::Say(text) = reply {
        events.push(json!({"type": "response.output_text.delta", "output_index": 0, "item_id": item["id"],
            "content_index": 0, "delta": text}));
    }
    events.push(json!({"type": "response.output_item.done", "output_index": 0, "item": item}));
    events.push(json!({"type": "response.completed", "response": completed}));
    let mut text = String::new();
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = number.into();
        push_event(&mut text, &string(event, "type"), event);
    }
    Body::Events(text)
}

fn call(n: u64, tool: &Tool, input: &Value) -> Value {
    let mut item = json!({"call_id": format!("call_lab{n}"), "name": tool.name, "status": "completed"});
    if let Some(namespace) = &tool.namespace {
        item["namespace"] = namespace.as_str().into();
    }
    if tool.freeform {
        item["type"] = "custom_tool_call".into();
        item["id"] = format!("ctc_lab{n}").into();
        item["input"] = input.clone();
    } else {
        item["type"] = "function_call".into();
        item["id"] = format!("fc_lab{n}").into();
        item["arguments"] = input.to_string().into();
    }
    item
}

/// An item as it is announced: a message without its text.
fn opening(item: &Value) -> Value {
    let mut item = item.clone();
    if item["type"] == "message" {
        item["status"] = "in_progress".into();
        item["content"] = json!([]);
    }
    item
}

#[cfg(test)]
mod tests {
    use super::super::wire::testing::{document, events};
    use super::*;

    #[test]
    fn reads_items_and_grouped_tools() {
        let asked = json!({"model": "m", "stream": true,
            "tools": [{"type": "function", "name": "exec_command", "parameters": {"type": "object"}}, {"type": "web_search"},
                {"type": "custom", "name": "apply_patch"},
                {"type": "namespace", "name": "collaboration", "tools": [{"type": "function", "name": "spawn_agent"}]}],
            "input": [
                {"type": "additional_tools", "tools": [{"type": "namespace", "name": "functions", "tools": [{"type": "custom", "name": "exec"}]}]},
                {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "rules"}]},
                {"role": "user", "content": [{"type": "input_text", "text": "go"}]},
                {"type": "function_call", "name": "exec_command", "call_id": "c", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c", "output": "out"},
                {"type": "agent_message", "content": [{"type": "x", "encrypted_content": "look"}]}]});
        let read = read("/v1/responses", &asked);
        let turns: Vec<_> = read.turns.iter().map(|t| (t.role, t.text.as_str(), t.calls)).collect();
        assert_eq!(
            turns,
            [
                (Role::System, "", false),
                (Role::System, "rules", false),
                (Role::User, "go", false),
                (Role::Assistant, "", true),
                (Role::Tool, "", false),
                (Role::User, "look", false)
            ]
        );
        let tools: Vec<_> = read.tools.iter().map(|t| (t.name.as_str(), t.namespace.as_deref(), t.freeform)).collect();
        assert_eq!(
            tools,
            [
                ("exec_command", None, false),
                ("apply_patch", None, true),
                ("spawn_agent", Some("collaboration"), false),
                ("exec", None, true)
            ]
        );
        assert_eq!(read.side_answer, None);
    }

    #[test]
    fn knows_the_request_for_a_title() {
        let asked = json!({"input": format!("{TITLE} for: x")});
        assert_eq!(read("", &asked).side_answer.as_deref(), Some(r#"{"title":"Lab title"}"#));
    }

    #[test]
    fn streams_a_text_with_usage_that_includes_the_cache() {
        let asked = Conversation { model: "m".into(), stream: true, ..Conversation::default() };
        let events = events(&write(2, &Usage::of(2), &asked, &Reply::Say("Hello.".into())));
        let names: Vec<_> = events.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "response.created",
                "response.output_item.added",
                "response.output_text.delta",
                "response.output_item.done",
                "response.completed"
            ]
        );
        assert_eq!(
            events.iter().map(|(_, e)| e["sequence_number"].as_u64()).collect::<Vec<_>>(),
            (0..5).map(Some).collect::<Vec<_>>()
        );
        assert_eq!(events[2].1["delta"], "Hello.");
        assert_eq!(
            events[4].1["response"]["usage"],
            json!({"input_tokens": 1302, "input_tokens_details": {"cached_tokens": 300},
            "output_tokens": 52, "output_tokens_details": {"reasoning_tokens": 5}, "total_tokens": 1354})
        );
    }

    #[test]
    fn calls_functions_and_free_form_tools() {
        let call = |tool, input| {
            let body = write(3, &Usage::of(3), &Conversation::default(), &Reply::Call { tool, input });
            document(&body)["output"][0].clone()
        };
        let grouped = Tool { name: "spawn_agent".into(), namespace: Some("collaboration".into()), ..Tool::default() };
        assert_eq!(
            call(grouped, json!({"message": "x"})),
            json!({"type": "function_call", "id": "fc_lab3", "call_id": "call_lab3",
            "name": "spawn_agent", "namespace": "collaboration", "status": "completed", "arguments": r#"{"message":"x"}"#})
        );
        let patch = Tool { name: "apply_patch".into(), freeform: true, ..Tool::default() };
        assert_eq!(
            call(patch, json!("*** Begin Patch")),
            json!({"type": "custom_tool_call", "id": "ctc_lab3", "call_id": "call_lab3",
            "name": "apply_patch", "status": "completed", "input": "*** Begin Patch"})
        );
    }
}
