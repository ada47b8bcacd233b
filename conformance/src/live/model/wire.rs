//! What all wire formats have in common: a conversation in, a reply out.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{anthropic_messages, gemini_generate_content, openai_chat, openai_responses};

/// One wire format.
pub struct Wire {
    /// As the log names it.
    pub name: &'static str,
    /// Whether a path (without its query) is one of its model calls.
    pub matches: fn(&str) -> bool,
    /// What was asked. Whatever is missing or of another shape reads as empty.
    pub read: fn(&str, &Value) -> Conversation,
    /// The body of an error.
    pub error: fn(u16, &str) -> Value,
    /// The body of an answer to the `n`th request.
    pub write: fn(u64, &Usage, &Conversation, &Reply) -> Body,
}

/// All of them.
pub const WIRES: [Wire; 4] =
    [anthropic_messages::WIRE, openai_responses::WIRE, openai_chat::WIRE, gemini_generate_content::WIRE];

/// What a harness asked, independent of the wire format.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conversation {
    /// The model's name.
    pub model: String,
    /// The answer has to come as a stream.
    pub stream: bool,
    /// Oldest first.
    pub turns: Vec<Turn>,
    /// What the model may call.
    pub tools: Vec<Tool>,
    /// The request is the harness's own (a title, a routing question): what to answer.
    pub side_answer: Option<String>,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub text: String,
    /// It calls a tool.
    pub calls: bool,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The person, or a parent agent.
    User,
    /// The model.
    Assistant,
    /// A tool's result.
    Tool,
    /// Instructions of the harness.
    System,
}

/// A tool that the harness offers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// The group that a call has to name beside it.
    pub namespace: Option<String>,
    /// The JSON Schema of its arguments.
    pub schema: Value,
    /// It takes one text instead of arguments.
    pub freeform: bool,
}

/// What the model does.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// Says something and ends its turn.
    Say(String),
    /// Calls a tool.
    Call {
        /// Which.
        tool: Tool,
        /// An object, or a string for a free-form tool.
        input: Value,
    },
    /// Calls a tool many times in one answer. (Only OpenAI chat completions can say so here; in the others it is one call.)
    Batch {
        /// Which.
        tool: Tool,
        /// Of each call.
        input: Value,
        /// How many calls.
        times: usize,
    },
    /// Refuses.
    Fail {
        /// The HTTP status.
        status: u16,
        /// Why.
        message: String,
    },
}

/// An HTTP answer.
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The body.
    pub body: Body,
}

/// The body of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// One document.
    Json(Value),
    /// Server-sent events, as they go over the wire.
    Events(String),
}

/// Tokens of one request, disjoint but for `reasoning`, which is a part of `output`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Not cached.
    pub input: u64,
    /// Read from the cache.
    pub cache_read: u64,
    /// Written to the cache.
    pub cache_write: u64,
    /// With reasoning.
    pub output: u64,
    /// A part of output.
    pub reasoning: u64,
}

impl Usage {
    /// The tokens of the `n`th request: they differ, so that a request counted twice or left out shows in a sum.
    #[must_use]
    pub fn of(n: u64) -> Self {
        Self { input: 1000 + n, cache_read: 300, cache_write: 10, output: 50 + n, reasoning: 5 }
    }

    /// How OpenAI and Google count a prompt: with what came from the cache.
    #[must_use]
    pub fn prompt(&self) -> u64 {
        self.input + self.cache_read
    }
}

/// One server-sent event; `name` is left out where it is empty.
pub fn push_event(text: &mut String, name: &str, data: &Value) {
    if !name.is_empty() {
        text.push_str("event: ");
        text.push_str(name);
        text.push('\n');
    }
    text.push_str("data: ");
    text.push_str(&data.to_string());
    text.push_str("\n\n");
}

/// The text of a message's content: a string, or parts that have one.
#[must_use]
pub fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let text = |part: &Value| part["text"].as_str().or(part["encrypted_content"].as_str()).map(str::to_owned);
            parts.iter().filter_map(text).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// A member that is a list; nothing where it is none.
pub fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value[key].as_array().into_iter().flatten()
}

/// A member that is a text; empty where it is none.
#[must_use]
pub fn string(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
pub mod testing {
    use serde_json::Value;

    use super::Body;

    /// The events of a stream: name (empty where there is none) and data.
    pub fn events(body: &Body) -> Vec<(String, Value)> {
        let Body::Events(text) = body else { panic!("not a stream: {body:?}") };
        text.split_terminator("\n\n")
            .map(|event| {
                let line = |field| event.lines().find_map(|l| l.strip_prefix(field)).unwrap_or_default();
                let data = line("data: ");
                (line("event: ").to_owned(), serde_json::from_str(data).unwrap_or(Value::String(data.to_owned())))
            })
            .collect()
    }

    /// The one document.
    pub fn document(body: &Body) -> &Value {
        let Body::Json(value) = body else { panic!("not a document: {body:?}") };
        value
    }
}
