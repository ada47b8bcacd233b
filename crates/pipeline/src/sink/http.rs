//! A receiver that speaks the protocol's HTTP binding: one POST per batch, and what each answer means.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Deserialize;
use sessionpipe_core::event::{PROTOCOL, Tier};
use sessionpipe_core::privacy::secrets::redact_text;
use sha2::Sha256;
use ureq::http::{HeaderMap, HeaderName, HeaderValue, Uri};

use super::client::{Client, NoReply, Reply, origin, resolve};
use super::config::{Secret, Sink};
use super::transport::{Answer, Batch, Limits, Receipt, Rejected, Transport};
use crate::outbox::ReceiverInfo;

/// Where a receiver says what it takes, at its origin.
const WELL_KNOWN: &str = "/.well-known/sessionpipe";

/// It is asked again after this long, in milliseconds (a day).
const ASK_EVERY_MS: i64 = 24 * 60 * 60 * 1000;

/// A receiver that we know, and that does not say more just now, is asked again after this long, in milliseconds.
const ASK_AGAIN_MS: i64 = 60 * 60 * 1000;

/// The protocol's bounds of a batch.
const MAX_EVENTS: usize = 50;
const MAX_BYTES: usize = 262_144;

/// What a receiver says is cut to this many characters.
const MAX_REASON: usize = 200;

/// A connection to one receiver.
#[derive(Debug)]
pub struct Http {
    uri: Uri,
    client: Client,
    token: Option<Secret>,
    key: Option<Vec<u8>>,
    info: Option<(ReceiverInfo, Uri)>,
    ask_again_ms: i64,
}

/// What the well-known file says.
#[derive(Debug, Deserialize)]
struct WellKnown {
    protocol: Vec<u64>,
    max_tier: Tier,
    endpoints: Endpoints,
    batch: BatchLimits,
}

#[derive(Debug, Deserialize)]
struct Endpoints {
    events: String,
}

#[derive(Debug, Deserialize)]
struct BatchLimits {
    max_events: usize,
    max_bytes: usize,
}

/// What is answered to a batch.
#[derive(Debug, Deserialize)]
struct Accepted {
    accepted: u64,
    duplicates: u64,
    rejected: Vec<RejectedEvent>,
    max_tier: Option<Tier>,
}

#[derive(Debug, Deserialize)]
struct RejectedEvent {
    id: String,
    reason: String,
}

/// What an error says.
#[derive(Debug, Default, Deserialize)]
struct Refusal {
    #[serde(default)]
    reason: String,
    #[serde(default)]
    max_tier: Option<Tier>,
}

impl Http {
    /// A connection for a sink. Nothing is sent yet.
    ///
    /// # Errors
    /// When the token or the secret cannot be had here. Another process may have it: the sink waits.
    pub fn new(sink: &Sink, uri: &Uri) -> Result<Self, Answer> {
        let read = |source: super::config::Source<'_>| source.read().map_err(|error| Answer::later(error.to_string()));
        let token = sink.token().map(read).transpose()?;
        let key = sink.secret().map(read).transpose()?.map(|secret| key(&secret)).transpose()?;
        Ok(Self { uri: uri.clone(), client: Client::new(uri), token, key, info: None, ask_again_ms: 0 })
    }

    /// The same with another deadline for each request.
    #[must_use]
    pub fn within(mut self, deadline: Duration) -> Self {
        self.client = Client::within(&self.uri, deadline);
        self
    }

    /// What the receiver says of itself.
    ///
    /// # Errors
    /// The answer for a sink that cannot go on without.
    pub fn discover(&self, now_ms: i64) -> Result<ReceiverInfo, Answer> {
        let page = resolve(&self.uri, WELL_KNOWN).ok_or_else(|| Answer::Pause("its URL has no origin".to_owned()))?;
        let reply = self.client.get(&page, now_ms).map_err(|error| no_reply(&error))?;
        if reply.status != 200 {
            return Err(match self.refusal(&reply) {
                // What these say of a batch they cannot say of a page.
                Answer::Refused(reason) | Answer::TooLarge(reason) => Answer::Pause(reason),
                other => other,
            });
        }
        let odd = |why: String| Answer::Pause(format!("{WELL_KNOWN}: {why}"));
        let said: WellKnown = serde_json::from_slice(&reply.body).map_err(|error| odd(error.to_string()))?;
        if !said.protocol.contains(&u64::from(PROTOCOL)) {
            return Err(odd(format!("the receiver speaks protocol {:?}, this program {PROTOCOL}", said.protocol)));
        }
        let events = resolve(&self.uri, &said.endpoints.events).filter(|uri| origin(uri) == origin(&self.uri));
        let events = events.ok_or_else(|| odd("its endpoint is at another origin".to_owned()))?;
        Ok(ReceiverInfo {
            read_ms: now_ms,
            events: events.to_string(),
            max_events: said.batch.max_events.clamp(1, MAX_EVENTS),
            max_bytes: said.batch.max_bytes.clamp(1, MAX_BYTES),
            max_tier: said.max_tier,
        })
    }

    fn headers(&self, batch: &Batch<'_>, body: &[u8]) -> Result<HeaderMap, Answer> {
        let seconds = (batch.now_ms / 1000).to_string();
        let mut headers = HeaderMap::new();
        let mut set = |name: &'static str, value: &str, is_secret: bool| {
            let mut value = HeaderValue::from_str(value).map_err(|_| Answer::Pause(format!("no such {name}")))?;
            value.set_sensitive(is_secret);
            headers.insert(HeaderName::from_static(name), value);
            Ok::<_, Answer>(())
        };
        set("content-type", "application/json", false)?;
        set("sessionpipe-protocol", &PROTOCOL.to_string(), false)?;
        set("webhook-id", batch.id, false)?;
        set("webhook-timestamp", &seconds, false)?;
        if let Some(key) = &self.key {
            set("webhook-signature", &signature(key, batch.id, &seconds, body), false)?;
        }
        if let Some(token) = &self.token {
            set("authorization", &format!("Bearer {}", token.expose()), true)?;
        }
        Ok(headers)
    }

    /// The protocol's table, but for 202.
    fn refusal(&self, reply: &Reply) -> Answer {
        let Refusal { reason: code, max_tier } = serde_json::from_slice(&reply.body).unwrap_or_default();
        let reason = match code.as_str() {
            "" => reply.status.to_string(),
            said => format!("{}: {}", reply.status, self.quoted(said)),
        };
        match reply.status {
            400 if code == "unsupported_protocol" => Answer::Pause(reason),
            400 | 422 => Answer::Refused(reason),
            403 if code == "tier_above_max" => Answer::TierTooHigh(max_tier),
            413 => Answer::TooLarge(reason),
            429 | 503 => Answer::Later { reason, after_ms: reply.retry_after_ms },
            500..=599 => Answer::later(reason),
            _ => Answer::Pause(reason),
        }
    }

    /// What a receiver says, as it may be kept and shown: it may repeat what it was sent.
    fn quoted(&self, said: &str) -> String {
        let said = match &self.token {
            Some(token) => said.replace(token.expose(), "[redacted]"),
            None => said.to_owned(),
        };
        redact_text(&said).chars().filter(|c| !c.is_control()).take(MAX_REASON).collect()
    }
}

impl Transport for Http {
    fn prepare(&mut self, known: Option<&ReceiverInfo>, now_ms: i64) -> Result<Option<ReceiverInfo>, Answer> {
        let parsed = |info: &ReceiverInfo| {
            let uri: Option<Uri> = info.events.parse().ok();
            uri.filter(|uri| origin(uri) == origin(&self.uri)).map(|uri| (info.clone(), uri))
        };
        let known = known.and_then(parsed);
        let is_fresh = |(info, _): &(ReceiverInfo, Uri)| (0..ASK_EVERY_MS).contains(&(now_ms - info.read_ms));
        if known.as_ref().is_some_and(is_fresh) || (known.is_some() && now_ms < self.ask_again_ms) {
            self.info = known;
            return Ok(None);
        }
        match self.discover(now_ms) {
            Ok(found) => {
                self.info = parsed(&found);
                Ok(Some(found))
            }
            Err(_) if known.is_some() => {
                self.ask_again_ms = now_ms + ASK_AGAIN_MS;
                self.info = known;
                Ok(None)
            }
            Err(answer) => Err(answer),
        }
    }

    fn limits(&self) -> Limits {
        let (max_events, max_bytes) =
            self.info.as_ref().map_or((MAX_EVENTS, MAX_BYTES), |(info, _)| (info.max_events, info.max_bytes));
        Limits { max_events, max_bytes }
    }

    fn send(&mut self, batch: &Batch<'_>) -> Answer {
        let Some((_, uri)) = &self.info else { return Answer::later("the receiver was not asked yet") };
        let body = body(batch);
        let headers = match self.headers(batch, &body) {
            Ok(headers) => headers,
            Err(answer) => return answer,
        };
        let reply = match self.client.post(uri, &headers, &body, batch.now_ms) {
            Ok(reply) => reply,
            Err(error) => return no_reply(&error),
        };
        if reply.status != 202 {
            return self.refusal(&reply);
        }
        let Ok(said) = serde_json::from_slice::<Accepted>(&reply.body) else {
            return Answer::Pause("202 without what the protocol says".to_owned());
        };
        let told = said.accepted.saturating_add(said.duplicates).saturating_add(said.rejected.len() as u64);
        Answer::Accepted(Receipt {
            duplicates: said.duplicates,
            lost: (batch.events.len() as u64).saturating_sub(told),
            rejected: said
                .rejected
                .into_iter()
                .map(|RejectedEvent { id, reason }| Rejected { id, reason: self.quoted(&reason) })
                .collect(),
            max_tier: said.max_tier,
        })
    }
}

fn no_reply(error: &NoReply) -> Answer {
    match error {
        NoReply::Unreachable(_) => Answer::later(error.to_string()),
        NoReply::OtherOrigin(_) | NoReply::Lost => Answer::Pause(error.to_string()),
    }
}

/// `{"events":[…]}`
fn body(batch: &Batch<'_>) -> Vec<u8> {
    let bytes: usize = batch.events.iter().map(|event| event.json.len() + 1).sum();
    let mut body = Vec::with_capacity(bytes + 16);
    body.extend_from_slice(br#"{"events":["#);
    for (index, event) in batch.events.iter().enumerate() {
        if index > 0 {
            body.push(b',');
        }
        body.extend_from_slice(event.json.as_bytes());
    }
    body.extend_from_slice(b"]}");
    body
}

/// The bytes of a secret: base64 behind `whsec_`, as Standard Webhooks has it.
fn key(secret: &Secret) -> Result<Vec<u8>, Answer> {
    let odd = || Answer::Pause("the secret of the signature is not whsec_ and base64".to_owned());
    let text = secret.expose().strip_prefix("whsec_").ok_or_else(odd)?;
    let decoded = BASE64_STANDARD.decode(text).or_else(|_| BASE64_STANDARD_NO_PAD.decode(text));
    decoded.ok().filter(|key| !key.is_empty()).ok_or_else(odd)
}

/// `v1,` and the base64 of the HMAC-SHA256 over `id.timestamp.body`.
fn signature(key: &[u8], id: &str, timestamp: &str, body: &[u8]) -> String {
    // HMAC takes a key of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return String::new() };
    for part in [id.as_bytes(), b".", timestamp.as_bytes(), b".", body] {
        mac.update(part);
    }
    format!("v1,{}", BASE64_STANDARD.encode(mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_that_of_standard_webhooks() {
        // The example of the specification's reference libraries.
        let key = BASE64_STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").expect("base64");
        assert_eq!(
            signature(&key, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", br#"{"test": 2432232314}"#),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
    }
}
