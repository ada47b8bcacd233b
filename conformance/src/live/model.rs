//! A fake model on loopback: the wire formats that the harnesses speak, answered from a script, with token counts that
//! differ from request to request. No model and no vendor's text is in it.
//!
//! A prompt names its script by a marker, `[[lab:tool-ok]]` ([`script`]). Each request becomes one JSON line of a log.

use std::fs::File;
use std::io::{Cursor, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tiny_http::{Header, Method, Request, Response};

pub mod anthropic_messages;
pub mod gemini_generate_content;
pub mod openai_chat;
pub mod openai_responses;
pub mod script;
pub mod wire;

use wire::{Answer, Body, Usage, WIRES};

/// More threads than any scenario has requests at once: two sessions, each with a subagent and a side request.
const THREADS: usize = 6;

/// One request, as the log keeps it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Logged {
    /// Counts from 1; ids and token counts of the answer derive from it.
    pub n: u64,
    /// `POST`, …
    pub method: String,
    /// Without the query.
    pub path: String,
    /// The wire format's name; empty where none of them fits the path.
    pub wire: String,
    /// The model that was asked for.
    pub model: String,
    /// The script that answered; `side-request` for a question of the harness's own.
    pub script: String,
    /// The step of the script, from 0.
    pub step: usize,
    /// How many messages the harness sent: a hook that speaks into the conversation adds one.
    pub turns: usize,
    /// The status of the answer.
    pub status: u16,
    /// The tool that was called.
    pub tool: Option<String>,
    /// What was said.
    pub text: Option<String>,
    /// The tokens that were charged; absent where nothing was answered.
    pub usage: Option<Usage>,
}

/// The running server. It stops with the process.
pub struct Model {
    state: Arc<Mutex<State>>,
    #[cfg(test)]
    port: u16,
}

struct State {
    requests: u64,
    log: File,
    project: PathBuf,
}

impl Model {
    /// Listens on loopback; `port` 0 takes a free one.
    ///
    /// # Errors
    /// Where the port is taken or the log cannot be made.
    pub fn start(port: u16, log: &Path, project: &Path) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
        #[cfg(test)]
        let port = listener.local_addr()?.port();
        let server = tiny_http::Server::from_listener(listener, None).map_err(|e| anyhow::anyhow!(e))?;
        let server = Arc::new(server);
        let state = State { requests: 0, log: File::create(log)?, project: project.to_owned() };
        let state = Arc::new(Mutex::new(state));
        for _ in 0..THREADS {
            let (server, state) = (Arc::clone(&server), Arc::clone(&state));
            thread::spawn(move || {
                while let Ok(request) = server.recv() {
                    // A client that hung up is its own affair.
                    let _ = serve(request, &state);
                }
            });
        }
        Ok(Self {
            state,
            #[cfg(test)]
            port,
        })
    }

    /// Begins a new log and counts from 1 again, so that two runs of one scenario get the same answers.
    ///
    /// # Errors
    /// Where the log cannot be made.
    pub fn restart(&self, log: &Path) -> anyhow::Result<()> {
        let mut state = lock(&self.state);
        state.log = File::create(log)?;
        state.requests = 0;
        Ok(())
    }

    #[cfg(test)]
    fn port(&self) -> u16 {
        self.port
    }
}

/// The lines of a log.
///
/// # Errors
/// Where it cannot be read, or is none.
pub fn read_log(path: &Path) -> anyhow::Result<Vec<Logged>> {
    let text = std::fs::read_to_string(path)?;
    Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(mut request: Request, state: &Mutex<State>) -> anyhow::Result<()> {
    let mut raw = Vec::new();
    request.as_reader().read_to_end(&mut raw)?;
    let asked = serde_json::from_slice(&raw).unwrap_or(Value::Null);
    let path = request.url().split('?').next().unwrap_or_default().to_owned();
    let (n, answer) = {
        let mut state = lock(state);
        state.requests += 1;
        let n = state.requests;
        let (mut logged, answer) = answer(n, request.method(), &path, &asked, &state.project);
        logged.n = n;
        logged.method = request.method().to_string();
        logged.path = path;
        logged.status = answer.status;
        writeln!(state.log, "{}", serde_json::to_string(&logged)?)?;
        (n, answer)
    };
    let (kind, body, length) = match answer.body {
        Body::Json(value) => {
            let text = value.to_string();
            let length = text.len();
            ("application/json", text, Some(length))
        }
        // Without a length it goes out in chunks, as a stream does.
        Body::Events(text) => ("text/event-stream", text, None),
    };
    let header = |name: &str, value: &str| Header::from_bytes(name, value).ok();
    let headers = [
        header("content-type", kind),
        header("cache-control", "no-cache"),
        header("request-id", &format!("req_lab{n}")),
        header("x-request-id", &format!("req_lab{n}")),
    ];
    let headers = headers.into_iter().flatten().collect();
    request.respond(Response::new(answer.status.into(), headers, Cursor::new(body), length, None))?;
    Ok(())
}

fn answer(n: u64, method: &Method, path: &str, asked: &Value, project: &Path) -> (Logged, Answer) {
    let mut logged = Logged::default();
    let wire = WIRES.iter().find(|wire| *method == Method::Post && (wire.matches)(path));
    let Some(wire) = wire else { return (logged, beside(path)) };
    let conversation = (wire.read)(path, asked);
    let played = script::answer(&conversation, project);
    logged.wire = wire.name.to_owned();
    logged.model.clone_from(&conversation.model);
    logged.script = played.script;
    logged.step = played.step;
    logged.turns = conversation.turns.len();
    match &played.reply {
        wire::Reply::Fail { status, message } => {
            let body = Body::Json((wire.error)(*status, message));
            return (logged, Answer { status: *status, body });
        }
        wire::Reply::Say(text) => logged.text = Some(text.clone()),
        wire::Reply::Call { tool, .. } | wire::Reply::Batch { tool, .. } => logged.tool = Some(tool.name.clone()),
    }
    let usage = Usage::of(n);
    logged.usage = Some(usage);
    (logged, Answer { status: 200, body: (wire.write)(n, &usage, &conversation, &played.reply) })
}

/// What programs ask for beside the conversation.
fn beside(path: &str) -> Answer {
    let (status, body) = if path.ends_with("/models") {
        (200, json!({"object": "list", "data": [{"id": "lab-model", "object": "model", "owned_by": "lab"}]}))
    } else if path.ends_with("/count_tokens") {
        (200, json!({"input_tokens": 1234}))
    } else if path.ends_with(":countTokens") {
        (200, json!({"totalTokens": 1234}))
    } else {
        (404, json!({"error": {"type": "not_found_error", "message": "lab: no such path"}}))
    };
    Answer { status, body: Body::Json(body) }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpStream;

    use super::*;

    /// The status, the headers and the unchunked body of one request.
    fn ask(model: &Model, method: &str, path: &str, body: &str) -> (u16, String, String) {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, model.port())).expect("connect");
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: lab\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .expect("send");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("an answer");
        let (head, body) = text.split_once("\r\n\r\n").expect("head and body");
        let status = head.split(' ').nth(1).and_then(|s| s.parse().ok()).expect("a status");
        let body =
            if head.to_lowercase().contains("transfer-encoding: chunked") { unchunk(body) } else { body.to_owned() };
        (status, head.to_lowercase(), body)
    }

    fn unchunk(mut rest: &str) -> String {
        let mut body = String::new();
        while let Some((size, after)) = rest.split_once("\r\n") {
            let size = usize::from_str_radix(size, 16).expect("a chunk's size");
            body.push_str(&after[..size]);
            rest = after[size..].strip_prefix("\r\n").unwrap_or("");
        }
        body
    }

    #[test]
    fn serves_streams_errors_and_counts_and_logs_each_request() {
        let dir = tempfile::tempdir().expect("a folder");
        let log = dir.path().join("model.jsonl");
        let model = Model::start(0, &log, Path::new("/p")).expect("a server");
        let prompt = |marker| {
            json!({"model": "m", "stream": true, "tools": [{"name": "Bash", "input_schema": {}}],
            "messages": [{"role": "user", "content": format!("go [[lab:{marker}]]")}]})
        };

        let (status, head, body) = ask(&model, "POST", "/v1/messages?beta=true", &prompt("text").to_string());
        assert_eq!(status, 200);
        assert!(head.contains("content-type: text/event-stream"), "{head}");
        assert!(body.contains("Hello from the fake model."), "{body}");

        let (status, head, body) = ask(&model, "POST", "/v1/messages", &prompt("api-error").to_string());
        assert_eq!(status, 400);
        assert!(head.contains("content-type: application/json"), "{head}");
        let error: Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!(error["error"]["type"], "invalid_request_error");

        assert_eq!(ask(&model, "POST", "/v1/messages/count_tokens", "{}").2, r#"{"input_tokens":1234}"#);
        assert_eq!(ask(&model, "GET", "/nowhere", "").0, 404);

        let lines = read_log(&log).expect("a log");
        let seen: Vec<_> = lines.iter().map(|l| (l.n, l.script.as_str(), l.status, l.turns)).collect();
        assert_eq!(seen, [(1, "text", 200, 1), (2, "api-error", 400, 1), (3, "", 200, 0), (4, "", 404, 0)]);
        assert_eq!(
            lines[0].usage,
            Some(Usage { input: 1001, cache_read: 300, cache_write: 10, output: 51, reasoning: 5 })
        );
        assert_eq!(lines[1].usage, None);

        model.restart(&log).expect("a new log");
        ask(&model, "POST", "/v1/messages", &prompt("text").to_string());
        assert_eq!(read_log(&log).expect("a log")[0].n, 1);
    }
}
