//! A receiver that misbehaves on command.

// Each of the crates that include this file uses a part of it.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::io::{BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, OnceLock};

use serde_json::{Value, json};

/// One request.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }

    pub fn events(&self) -> usize {
        self.json()["events"].as_array().map_or(0, Vec::len)
    }
}

/// What it does with a POST.
#[derive(Clone, Debug)]
pub enum Act {
    /// Answers 202: all is accepted.
    Accept,
    /// Answers with this status, header lines and body.
    Say(u16, &'static str, String),
    /// Reads all and hangs up without a word.
    HangUp,
    /// Accepts after so many milliseconds.
    Wait(u64),
    /// Reads all and says nothing until the sender goes.
    Hang,
}

pub fn say(status: u16, reason: &str) -> Act {
    Act::Say(status, "", json!({"reason": reason}).to_string())
}

#[derive(Clone)]
pub struct Receiver {
    pub url: String,
    /// All POSTs, in their order.
    pub requests: Arc<Mutex<Vec<Request>>>,
    /// What it does next.
    pub acts: Arc<Mutex<Vec<Act>>>,
    /// What the well-known file is, and how often it was read.
    pub well_known: Arc<Mutex<(Value, usize)>>,
    hook: Arc<OnceLock<Box<dyn Fn() + Send + Sync>>>,
}

impl Receiver {
    /// It acts as told, and then accepts.
    pub fn start(acts: impl IntoIterator<Item = Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/", listener.local_addr().expect("an address"));
        let well_known = json!({
            "protocol": [1], "max_tier": 3, "capabilities": ["events"], "auth": ["bearer"],
            "endpoints": {"events": "/v1/events"}, "batch": {"max_events": 50, "max_bytes": 262_144},
        });
        let receiver = Self {
            url,
            requests: Arc::default(),
            acts: Arc::new(Mutex::new(acts.into_iter().collect())),
            well_known: Arc::new(Mutex::new((well_known, 0))),
            hook: Arc::default(),
        };
        let serving = receiver.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let serving = serving.clone();
                std::thread::spawn(move || serving.serve(stream.expect("a connection")));
            }
        });
        receiver
    }

    fn serve(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
        let mut stream = stream;
        while let Some(request) = read(&mut reader) {
            if request.method == "GET" {
                let mut well_known = self.well_known.lock().expect("not poisoned");
                well_known.1 += 1;
                let found = request.path == "/.well-known/sessionpipe" && !well_known.0.is_null();
                let answer = if found { (200, well_known.0.to_string()) } else { (404, String::new()) };
                drop(well_known);
                write(&mut stream, answer.0, "", &answer.1);
                continue;
            }
            let events = request.events();
            self.requests.lock().expect("not poisoned").push(request);
            if let Some(hook) = self.hook.get() {
                hook();
            }
            let act = {
                let mut acts = self.acts.lock().expect("not poisoned");
                if acts.is_empty() { Act::Accept } else { acts.remove(0) }
            };
            if let Act::Wait(ms) = act {
                std::thread::sleep(std::time::Duration::from_millis(ms));
            }
            match act {
                Act::Accept | Act::Wait(_) => {
                    let body = json!({"accepted": events, "duplicates": 0, "rejected": [], "max_tier": 3});
                    write(&mut stream, 202, "", &body.to_string());
                }
                Act::Say(status, headers, body) => write(&mut stream, status, headers, &body),
                Act::HangUp => return,
                Act::Hang => {
                    let _ = reader.read_to_end(&mut Vec::new());
                    return;
                }
            }
        }
    }

    /// Calls this for each POST, after it was noted and before it is answered.
    pub fn on_request(&self, hook: impl Fn() + Send + Sync + 'static) {
        assert!(self.hook.set(Box::new(hook)).is_ok(), "once");
    }

    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().expect("not poisoned").clone()
    }
}

fn read(reader: &mut impl std::io::BufRead) -> Option<Request> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.insert(name.to_ascii_lowercase(), value.trim().to_owned()),
            None => break,
        };
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { method, path, headers, body })
}

fn write(stream: &mut TcpStream, status: u16, headers: &str, body: &str) {
    let length = body.len();
    // In one piece: the rest of several would wait for the other side's delayed acknowledgement.
    let answer = format!("HTTP/1.1 {status} x\r\ncontent-length: {length}\r\n{headers}\r\n{body}");
    let _ = stream.write_all(answer.as_bytes());
}
