//! Anthropic Messages: `POST …/v1/messages`. <https://docs.claude.com/en/api/messages>

use serde_json::{Value, json};

use super::wire::{Body, Conversation, Reply, Role, Tool, Turn, Usage, Wire, list, push_event, string, text_of};

/// The format.
pub const WIRE: Wire =
    Wire { name: "anthropic-messages", matches: |path| path.ends_with("/messages"), read, error, write };

/// How texts begin that a harness puts beside the person's prompt.
const INJECTED: [&str; 3] = ["<system-reminder", "<local-command", "<bash-"];

fn read(_: &str, body: &Value) -> Conversation {
    let turns = list(body, "messages").map(|message| {
        let has = |kind: &str| list(message, "content").any(|block| block["type"] == kind);
        let role = match message["role"].as_str() {
            _ if has("tool_result") => Role::Tool,
            Some("assistant") => Role::Assistant,
            _ => Role::User,
        };
        let text = match &message["content"] {
            Value::Array(blocks) => {
                let said = |b: &&Value| b["type"] == "text" && !INJECTED.iter().any(|i| text_starts(b, i));
                text_of(&blocks.iter().filter(said).cloned().collect())
            }
            content => text_of(content),
        };
        Turn { role, text, calls: has("tool_use") }
    });
    let tools: Vec<_> = list(body, "tools")
        .map(|tool| Tool { name: string(tool, "name"), schema: tool["input_schema"].clone(), ..Tool::default() })
        .collect();
    // The agent's own requests always offer tools; a request without any is for a title or a summary.
    let side_answer = tools.is_empty().then(|| json!({"title": "Lab title"}).to_string());
    Conversation {
        model: string(body, "model"),
        stream: body["stream"] == true,
        turns: turns.collect(),
        tools,
        side_answer,
    }
}

fn text_starts(block: &Value, start: &str) -> bool {
    block["text"].as_str().is_some_and(|text| text.trim_start().starts_with(start))
}

fn error(status: u16, message: &str) -> Value {
    let kind = if status == 400 { "invalid_request_error" } else { "api_error" };
    json!({"type": "error", "error": {"type": kind, "message": message}})
}

fn write(n: u64, usage: &Usage, asked: &Conversation, reply: &Reply) -> Body {
    let counts = |output: u64| {
        json!({"input_tokens": usage.input, "cache_creation_input_tokens": usage.cache_write,
            "cache_read_input_tokens": usage.cache_read, "output_tokens": output})
    };
    let (block, opening, delta, stop) = match reply {
        Reply::Call { tool, input } | Reply::Batch { tool, input, .. } => {
            let block = |input: &Value| json!({"type": "tool_use", "id": format!("toolu_lab{n:06}"), "name": tool.name, "input": input});
            let delta = json!({"type": "input_json_delta", "partial_json": input.to_string()});
            (block(input), block(&json!({})), delta, "tool_use")
        }
        Reply::Say(text) | Reply::Fail { message: text, .. } => {
            let block = |text: &str| json!({"type": "text", "text": text});
            (block(text), block(""), json!({"type": "text_delta", "text": text}), "end_turn")
        }
    };
    let message = |content: Value, stop: Value, output| {
        json!({"id": format!("msg_lab{n:06}"), "type": "message", "role": "assistant", "model": asked.model,
            "content": content, "stop_reason": stop, "stop_sequence": null, "usage": counts(output)})
    };
    if !asked.stream {
        return Body::Json(message(json!([block]), json!(stop), usage.output));
    }
    let mut text = String::new();
    for event in [
        json!({"type": "message_start", "message": message(json!([]), Value::Null, 1)}),
        json!({"type": "content_block_start", "index": 0, "content_block": opening}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null},
            "usage": {"output_tokens": usage.output}}),
        json!({"type": "message_stop"}),
    ] {
        push_event(&mut text, &string(&event, "type"), &event);
    }
    Body::Events(text)
}

#[cfg(test)]
mod tests {
    use super::super::wire::testing::{document, events};
    use super::*;

    #[test]
    fn reads_roles_texts_and_tools() {
        let asked = json!({"model": "m-1", "stream": true, "tools": [{"name": "Bash", "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "<system-reminder>x</system-reminder>"}, {"type": "text", "text": "hi"}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "out"}]},
            {"role": "user", "content": "again"}]});
        let read = read("/v1/messages", &asked);
        let turns: Vec<_> = read.turns.iter().map(|t| (t.role, t.text.as_str(), t.calls)).collect();
        assert_eq!(
            turns,
            [
                (Role::User, "hi", false),
                (Role::Assistant, "", true),
                (Role::Tool, "", false),
                (Role::User, "again", false)
            ]
        );
        assert_eq!((read.model.as_str(), read.stream, read.side_answer), ("m-1", true, None));
        assert_eq!((read.tools[0].name.as_str(), &read.tools[0].schema), ("Bash", &json!({"type": "object"})));
    }

    #[test]
    fn a_request_without_tools_is_the_harnesss_own() {
        assert_eq!(read("", &json!({"messages": []})).side_answer.as_deref(), Some(r#"{"title":"Lab title"}"#));
    }

    #[test]
    fn streams_a_tool_call() {
        let asked = Conversation { model: "m-1".into(), stream: true, ..Conversation::default() };
        let call =
            Reply::Call { tool: Tool { name: "Bash".into(), ..Tool::default() }, input: json!({"command": "ls"}) };
        let events = events(&write(7, &Usage::of(7), &asked, &call));
        let names: Vec<_> = events.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "message_start",
                "content_block_start",
                "content_block_delta",
                "content_block_stop",
                "message_delta",
                "message_stop"
            ]
        );
        assert!(events.iter().all(|(name, data)| data["type"] == name.as_str()));
        assert_eq!(
            events[0].1["message"]["usage"],
            json!({"input_tokens": 1007, "cache_creation_input_tokens": 10,
            "cache_read_input_tokens": 300, "output_tokens": 1})
        );
        assert_eq!(
            events[1].1["content_block"],
            json!({"type": "tool_use", "id": "toolu_lab000007", "name": "Bash", "input": {}})
        );
        assert_eq!(events[2].1["delta"]["partial_json"], r#"{"command":"ls"}"#);
        assert_eq!(events[4].1["delta"]["stop_reason"], "tool_use");
        assert_eq!(events[4].1["usage"]["output_tokens"], 57);
    }

    #[test]
    fn answers_at_once_where_no_stream_is_asked_for() {
        let body = write(1, &Usage::of(1), &Conversation::default(), &Reply::Say("Hello.".into()));
        let message = document(&body);
        assert_eq!(message["content"], json!([{"type": "text", "text": "Hello."}]));
        assert_eq!((&message["stop_reason"], &message["usage"]["output_tokens"]), (&json!("end_turn"), &json!(51)));
    }
}
