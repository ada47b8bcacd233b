//! OpenAI chat completions: `POST …/chat/completions`. <https://platform.openai.com/docs/api-reference/chat>

use serde_json::{Value, json};

use super::wire::{Body, Conversation, Reply, Role, Tool, Turn, Usage, Wire, list, push_event, string, text_of};

/// The format.
pub const WIRE: Wire =
    Wire { name: "openai-chat", matches: |path| path.ends_with("/chat/completions"), read, error, write };

fn read(_: &str, body: &Value) -> Conversation {
    let turns = list(body, "messages").map(|message| Turn {
        role: match message["role"].as_str() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("tool") => Role::Tool,
            _ => Role::System,
        },
        text: text_of(&message["content"]),
        calls: list(message, "tool_calls").next().is_some(),
    });
    let tools: Vec<_> = list(body, "tools")
        .map(|tool| match &tool["custom"] {
            Value::Null => Tool {
                name: string(&tool["function"], "name"),
                schema: tool["function"]["parameters"].clone(),
                ..Tool::default()
            },
            custom => Tool { name: string(custom, "name"), freeform: true, ..Tool::default() },
        })
        .collect();
    let side_answer = tools.is_empty().then(|| "Lab title".to_owned());
    Conversation {
        model: string(body, "model"),
        stream: body["stream"] == true,
        turns: turns.collect(),
        tools,
        side_answer,
    }
}

fn error(status: u16, message: &str) -> Value {
    let kind = if status == 400 { "invalid_request_error" } else { "server_error" };
    json!({"error": {"message": message, "type": kind, "code": null}})
}

fn call(id: &str, tool: &Tool, input: &Value) -> Value {
    if tool.freeform {
        json!({"id": id, "type": "custom", "custom": {"name": tool.name, "input": input}})
    } else {
        json!({"id": id, "type": "function", "function": {"name": tool.name, "arguments": input.to_string()}})
    }
}

fn write(n: u64, usage: &Usage, asked: &Conversation, reply: &Reply) -> Body {
    let counts = json!({
        "prompt_tokens": usage.prompt(), "prompt_tokens_details": {"cached_tokens": usage.cache_read},
        "completion_tokens": usage.output, "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.prompt() + usage.output,
    });
    let (finish, delta) = match reply {
        Reply::Call { tool, input } => {
            ("tool_calls", json!({"content": null, "tool_calls": [call(&format!("call_lab{n}"), tool, input)]}))
        }
        Reply::Batch { tool, input, times } => {
            let calls: Vec<_> = (0..*times).map(|nth| call(&format!("call_lab{n}x{nth}"), tool, input)).collect();
            ("tool_calls", json!({"content": null, "tool_calls": calls}))
        }
        Reply::Say(text) | Reply::Fail { message: text, .. } => ("stop", json!({"content": text})),
    };
    let head =
        |object: &str| json!({"id": format!("chatcmpl-lab{n}"), "object": object, "created": 0, "model": asked.model});
    if !asked.stream {
        let mut message = delta;
        message["role"] = "assistant".into();
        let mut completion = head("chat.completion");
        completion["choices"] = json!([{"index": 0, "message": message, "finish_reason": finish}]);
        completion["usage"] = counts;
        return Body::Json(completion);
    }
    let mut delta = delta;
    if let Some(calls) = delta["tool_calls"].as_array_mut() {
        for (index, call) in calls.iter_mut().enumerate() {
            call["index"] = index.into();
        }
    }
    let choice = |delta: Value, finish: Value| json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
    let mut text = String::new();
    for choices in [
        choice(json!({"role": "assistant", "content": ""}), Value::Null),
        choice(delta, Value::Null),
        choice(json!({}), json!(finish)),
        json!([]),
    ] {
        let mut chunk = head("chat.completion.chunk");
        if choices == json!([]) {
            chunk["usage"] = counts.clone();
        }
        chunk["choices"] = choices;
        push_event(&mut text, "", &chunk);
    }
    text.push_str("data: [DONE]\n\n");
    Body::Events(text)
}

#[cfg(test)]
mod tests {
    use super::super::wire::testing::{document, events};
    use super::*;

    #[test]
    fn reads_roles_and_tools() {
        let asked = json!({"model": "m", "tools": [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}],
            "messages": [{"role": "system", "content": "rules"}, {"role": "user", "content": [{"type": "text", "text": "go"}]},
                {"role": "assistant", "content": null, "tool_calls": [{"id": "c"}]}, {"role": "tool", "tool_call_id": "c", "content": "out"}]});
        let read = read("", &asked);
        let turns: Vec<_> = read.turns.iter().map(|t| (t.role, t.text.as_str(), t.calls)).collect();
        assert_eq!(
            turns,
            [
                (Role::System, "rules", false),
                (Role::User, "go", false),
                (Role::Assistant, "", true),
                (Role::Tool, "out", false)
            ]
        );
        assert_eq!((read.stream, read.tools[0].name.as_str(), read.side_answer), (false, "bash", None));
    }

    #[test]
    fn streams_a_tool_call_then_usage_then_the_end() {
        let asked = Conversation { model: "m".into(), stream: true, ..Conversation::default() };
        let call =
            Reply::Call { tool: Tool { name: "bash".into(), ..Tool::default() }, input: json!({"command": "ls"}) };
        let events = events(&write(4, &Usage::of(4), &asked, &call));
        assert_eq!(events.len(), 5);
        assert_eq!(
            events[1].1["choices"][0]["delta"]["tool_calls"][0],
            json!({"index": 0, "id": "call_lab4", "type": "function",
            "function": {"name": "bash", "arguments": r#"{"command":"ls"}"#}})
        );
        assert_eq!(events[2].1["choices"][0]["finish_reason"], "tool_calls");
        assert_eq!(events[3].1["usage"]["prompt_tokens"], 1304);
        assert_eq!(events[3].1["choices"], json!([]));
        assert_eq!(events[4].1, "[DONE]");
    }

    #[test]
    fn a_tool_that_takes_one_text_gets_it() {
        let tools = json!([{"type": "custom", "custom": {"name": "apply_patch", "format": {"type": "grammar"}}}]);
        let read = read("", &json!({"model": "m", "tools": tools}));
        let tool = Tool { name: "apply_patch".into(), freeform: true, ..Tool::default() };
        assert_eq!(read.tools, std::slice::from_ref(&tool));
        let call = Reply::Call { tool, input: json!("*** Begin Patch") };
        assert_eq!(
            document(&write(1, &Usage::of(1), &Conversation::default(), &call))["choices"][0]["message"]["tool_calls"]
                [0],
            json!({"id": "call_lab1", "type": "custom", "custom": {"name": "apply_patch", "input": "*** Begin Patch"}})
        );
    }

    #[test]
    fn answers_at_once_where_no_stream_is_asked_for() {
        let body = write(1, &Usage::of(1), &Conversation::default(), &Reply::Say("Hello.".into()));
        let completion = document(&body);
        assert_eq!(
            completion["choices"][0],
            json!({"index": 0, "message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"})
        );
        assert_eq!(completion["usage"]["total_tokens"], 1352);
    }
}
