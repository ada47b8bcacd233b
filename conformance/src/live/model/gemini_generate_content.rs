//! Gemini: `POST …/models/MODEL:generateContent` and `:streamGenerateContent`. <https://ai.google.dev/api/generate-content>

use serde_json::{Value, json};

use super::wire::{Body, Conversation, Reply, Role, Tool, Turn, Usage, Wire, list, push_event, string, text_of};

/// The format.
pub const WIRE: Wire = Wire {
    name: "gemini-generate-content",
    matches: |path| path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent"),
    read,
    error,
    write,
};

fn read(path: &str, body: &Value) -> Conversation {
    let turns = list(body, "contents").map(|content| {
        let has = |key: &str| list(content, "parts").any(|part| part.get(key).is_some());
        let role = match content["role"].as_str() {
            Some("model") => Role::Assistant,
            _ if has("functionResponse") => Role::Tool,
            _ => Role::User,
        };
        Turn { role, text: text_of(&content["parts"]), calls: has("functionCall") }
    });
    let tools: Vec<_> = list(body, "tools")
        .flat_map(|group| list(group, "functionDeclarations"))
        .map(|tool| {
            let schema = tool.get("parametersJsonSchema").or(tool.get("parameters")).cloned().unwrap_or_default();
            Tool { name: string(tool, "name"), schema, ..Tool::default() }
        })
        .collect();
    let side_answer = side_answer(body, &tools);
    // The model stands in the path: …/models/MODEL:method
    let model = path.rsplit('/').next().and_then(|last| last.split(':').next()).unwrap_or_default().to_owned();
    Conversation { model, stream: path.ends_with(":streamGenerateContent"), turns: turns.collect(), tools, side_answer }
}

/// Questions of the harness's own (routing, who speaks next) name the wanted answer in a response schema.
fn side_answer(body: &Value, tools: &[Tool]) -> Option<String> {
    let config = &body["generationConfig"];
    let schema = config.get("responseJsonSchema").or(config.get("responseSchema")).unwrap_or(&Value::Null);
    let wants = |key: &str| schema["properties"].get(key).is_some();
    let answer = if wants("next_speaker") {
        json!({"reasoning": "complete", "next_speaker": "user"})
    } else if wants("model_choice") {
        json!({"reasoning": "simple", "model_choice": "flash"})
    } else if wants("complexity_score") {
        json!({"complexity_reasoning": "simple", "complexity_score": 10})
    } else {
        return tools.is_empty().then(|| "Lab title".to_owned());
    };
    Some(answer.to_string())
}

fn error(status: u16, message: &str) -> Value {
    let kind = if status == 400 { "INVALID_ARGUMENT" } else { "INTERNAL" };
    json!({"error": {"code": status, "status": kind, "message": message}})
}

fn write(n: u64, usage: &Usage, asked: &Conversation, reply: &Reply) -> Body {
    // Thoughts are not a part of the candidates here.
    let counts = json!({
        "promptTokenCount": usage.prompt(), "cachedContentTokenCount": usage.cache_read,
        "candidatesTokenCount": usage.output - usage.reasoning, "thoughtsTokenCount": usage.reasoning,
        "totalTokenCount": usage.prompt() + usage.output,
    });
    let chunk = |part: Value, last: bool| {
        let mut candidate = json!({"content": {"role": "model", "parts": [part]}, "index": 0});
        if last {
            candidate["finishReason"] = "STOP".into();
        }
        json!({"candidates": [candidate], "usageMetadata": counts, "modelVersion": asked.model, "responseId": format!("lab{n}")})
    };
    let chunks = match reply {
        Reply::Call { tool, input } | Reply::Batch { tool, input, .. } => {
            vec![chunk(json!({"functionCall": {"name": tool.name, "args": input}}), true)]
        }
        Reply::Say(text) | Reply::Fail { message: text, .. } => match text.split_once(' ') {
            // Two chunks, so that a reader has to put them together.
            Some((first, rest)) if asked.stream => {
                vec![chunk(json!({"text": format!("{first} ")}), false), chunk(json!({"text": rest}), true)]
            }
            _ => vec![chunk(json!({"text": text}), true)],
        },
    };
    if !asked.stream {
        return Body::Json(chunks.into_iter().next().unwrap_or_default());
    }
    let mut text = String::new();
    for chunk in &chunks {
        push_event(&mut text, "", chunk);
    }
    Body::Events(text)
}

#[cfg(test)]
mod tests {
    use super::super::wire::testing::{document, events};
    use super::*;

    const STREAM: &str = "/v1beta/models/gemini-x:streamGenerateContent";

    #[test]
    fn reads_contents_tools_and_the_model_of_the_path() {
        let asked = json!({"tools": [{"functionDeclarations": [{"name": "run_shell_command", "parametersJsonSchema": {"type": "object"}}]}],
            "contents": [{"role": "user", "parts": [{"text": "go"}]}, {"role": "model", "parts": [{"functionCall": {"name": "x"}}]},
                {"role": "user", "parts": [{"functionResponse": {"name": "x"}}]}]});
        let read = read(STREAM, &asked);
        let turns: Vec<_> = read.turns.iter().map(|t| (t.role, t.text.as_str(), t.calls)).collect();
        assert_eq!(turns, [(Role::User, "go", false), (Role::Assistant, "", true), (Role::Tool, "", false)]);
        assert_eq!((read.model.as_str(), read.stream, read.side_answer), ("gemini-x", true, None));
        assert_eq!(read.tools[0].schema, json!({"type": "object"}));
    }

    #[test]
    fn answers_the_harnesss_own_questions_in_their_schema() {
        let asked = json!({"tools": [{"functionDeclarations": [{"name": "x"}]}],
            "generationConfig": {"responseJsonSchema": {"properties": {"next_speaker": {}}}}});
        assert_eq!(
            read(STREAM, &asked).side_answer.as_deref(),
            Some(r#"{"reasoning":"complete","next_speaker":"user"}"#)
        );
    }

    #[test]
    fn streams_text_in_two_chunks_and_counts_thoughts_apart() {
        let asked = Conversation { model: "gemini-x".into(), stream: true, ..Conversation::default() };
        let events = events(&write(1, &Usage::of(1), &asked, &Reply::Say("Hello there all.".into())));
        let texts: Vec<_> =
            events.iter().map(|(_, e)| string(&e["candidates"][0]["content"]["parts"][0], "text")).collect();
        assert_eq!(texts, ["Hello ", "there all."]);
        assert_eq!(events[0].1["candidates"][0].get("finishReason"), None);
        assert_eq!(events[1].1["candidates"][0]["finishReason"], "STOP");
        assert_eq!(
            events[1].1["usageMetadata"],
            json!({"promptTokenCount": 1301, "cachedContentTokenCount": 300,
            "candidatesTokenCount": 46, "thoughtsTokenCount": 5, "totalTokenCount": 1352})
        );
    }

    #[test]
    fn calls_a_function() {
        let call =
            Reply::Call { tool: Tool { name: "write_file".into(), ..Tool::default() }, input: json!({"content": "x"}) };
        let body = write(1, &Usage::of(1), &Conversation::default(), &call);
        assert_eq!(
            document(&body)["candidates"][0]["content"]["parts"],
            json!([{"functionCall": {"name": "write_file", "args": {"content": "x"}}}])
        );
    }
}
