//! HTTP as the transports need it: one deadline for all of a request, no redirect to another origin, and what
//! `retry-after` says.

use std::time::Duration;

use ureq::Agent;
use ureq::http::{HeaderMap, Uri};
use ureq::tls::{RootCerts, TlsConfig};

use super::target::is_loopback;

/// For the whole of a request: the name, the connection, the body, the answer.
pub const DEADLINE: Duration = Duration::from_secs(15);

/// A longer wait is not accepted from any receiver, in milliseconds.
pub const LONGEST_WAIT_MS: i64 = 60 * 60 * 1000;

/// A shorter one neither: `retry-after: 0` makes no hot loop.
const SHORTEST_WAIT_MS: i64 = 1_000;

/// So much of an answer is read.
const MAX_ANSWER: u64 = 256 * 1024;

/// Redirects within the origin that are followed.
const MAX_REDIRECTS: usize = 3;

/// What the other side answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// How long it asks to wait, in milliseconds, within our bounds.
    pub retry_after_ms: Option<i64>,
    /// The body.
    pub body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum NoReply {
    /// The network, TLS, the deadline. It may have arrived all the same.
    #[error("{0}")]
    Unreachable(String),
    /// It points to another origin, where no token of ours goes.
    #[error("it redirects to another origin: {0}")]
    OtherOrigin(String),
    /// It redirects and does not say where to, or again and again.
    #[error("it redirects, and that leads nowhere")]
    Lost,
}

/// A client for one origin. It keeps its connection.
#[derive(Debug)]
pub struct Client {
    agent: Agent,
}

impl Client {
    /// A client for the origin of a URL. This machine is asked without any proxy.
    #[must_use]
    pub fn new(uri: &Uri) -> Self {
        Self::within(uri, DEADLINE)
    }

    /// The same with another deadline.
    #[must_use]
    pub fn within(uri: &Uri, deadline: Duration) -> Self {
        let builder = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_global(Some(deadline))
            .user_agent(concat!("sessionpipe/", env!("CARGO_PKG_VERSION")))
            .tls_config(TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build());
        let builder = if is_loopback(uri) { builder.proxy(None) } else { builder };
        Self { agent: builder.build().into() }
    }

    /// Asks for a page.
    ///
    /// # Errors
    /// When there is no answer, or only a redirect to elsewhere.
    pub fn get(&self, uri: &Uri, now_ms: i64) -> Result<Reply, NoReply> {
        self.follow(uri, now_ms, |uri| self.agent.get(uri).call())
    }

    /// Sends a body.
    ///
    /// # Errors
    /// When there is no answer, or only a redirect to elsewhere.
    pub fn post(&self, uri: &Uri, headers: &HeaderMap, body: &[u8], now_ms: i64) -> Result<Reply, NoReply> {
        self.follow(uri, now_ms, |uri| {
            let mut request = self.agent.post(uri);
            if let Some(own) = request.headers_mut() {
                own.extend(headers.clone());
            }
            request.send(body)
        })
    }

    fn follow(
        &self,
        uri: &Uri,
        now_ms: i64,
        ask: impl Fn(&Uri) -> Result<ureq::http::Response<ureq::Body>, ureq::Error>,
    ) -> Result<Reply, NoReply> {
        let unreachable = |error: ureq::Error| NoReply::Unreachable(error.to_string());
        let mut uri = uri.clone();
        for _ in 0..=MAX_REDIRECTS {
            let mut response = ask(&uri).map_err(unreachable)?;
            let status = response.status().as_u16();
            if !response.status().is_redirection() {
                let retry_after_ms = header(response.headers(), "retry-after").and_then(|v| retry_after(v, now_ms));
                let body = response.body_mut().with_config().limit(MAX_ANSWER).read_to_vec().map_err(unreachable)?;
                return Ok(Reply { status, retry_after_ms, body });
            }
            let location = header(response.headers(), "location").ok_or(NoReply::Lost)?;
            let next = resolve(&uri, location).ok_or(NoReply::Lost)?;
            if origin(&next) != origin(&uri) {
                return Err(NoReply::OtherOrigin(next.host().unwrap_or_default().to_owned()));
            }
            // The others would turn a POST into a GET.
            if !matches!(status, 307 | 308) {
                return Err(NoReply::Lost);
            }
            uri = next;
        }
        Err(NoReply::Lost)
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Scheme, host and port: what a token may not leave.
#[must_use]
pub fn origin(uri: &Uri) -> Option<(String, String, u16)> {
    let scheme = uri.scheme_str()?.to_ascii_lowercase();
    let port = uri.port_u16().unwrap_or(if scheme == "https" { 443 } else { 80 });
    Some((scheme, uri.host()?.to_ascii_lowercase(), port))
}

/// A reference as a receiver gives it: a URL, or a path at the same origin.
#[must_use]
pub fn resolve(base: &Uri, reference: &str) -> Option<Uri> {
    if !reference.starts_with('/') {
        return reference.parse().ok().filter(|uri: &Uri| uri.host().is_some() && uri.scheme().is_some());
    }
    if reference.starts_with("//") {
        return format!("{}:{reference}", base.scheme_str()?).parse().ok();
    }
    let authority = base.authority()?.clone();
    Uri::builder().scheme(base.scheme()?.clone()).authority(authority).path_and_query(reference).build().ok()
}

/// Seconds or an HTTP date, within our bounds.
fn retry_after(value: &str, now_ms: i64) -> Option<i64> {
    let value = value.trim();
    let wait_ms = if value.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than fit are a very long time.
        value.parse::<i64>().map_or(LONGEST_WAIT_MS, |seconds| seconds.saturating_mul(1000))
    } else {
        jiff::fmt::rfc2822::parse(value).ok()?.timestamp().as_millisecond() - now_ms
    };
    Some(wait_ms.clamp(SHORTEST_WAIT_MS, LONGEST_WAIT_MS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(text: &str) -> Uri {
        text.parse().expect(text)
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now_ms = 1_796_025_600_000;
        assert_eq!(retry_after("2", now_ms), Some(2_000));
        assert_eq!(retry_after("0", now_ms), Some(1_000));
        assert_eq!(retry_after("999999999999999999999", now_ms), Some(LONGEST_WAIT_MS));
        assert_eq!(retry_after("Mon, 30 Nov 2026 08:00:30 GMT", now_ms), Some(30_000));
        assert_eq!(retry_after("Wed, 21 Oct 2099 07:28:00 GMT", now_ms), Some(LONGEST_WAIT_MS));
        assert_eq!(retry_after("Mon, 30 Nov 2026 07:00:00 GMT", now_ms), Some(1_000), "it is over");
        assert_eq!(retry_after("soon", now_ms), None);
        assert_eq!(retry_after("-1", now_ms), None);
    }

    #[test]
    fn origins() {
        assert_eq!(origin(&uri("https://A.example/x")), origin(&uri("https://a.example:443/y")));
        assert_ne!(origin(&uri("https://a.example")), origin(&uri("http://a.example:443")));
        assert_ne!(origin(&uri("http://localhost:1")), origin(&uri("http://localhost:2")));
    }

    #[test]
    fn references_stay_or_leave() {
        let base = uri("https://a.example/x/y");
        let resolved = |reference: &str| resolve(&base, reference).map(|uri| uri.to_string());
        assert_eq!(resolved("/v1/events?a=b"), Some("https://a.example/v1/events?a=b".to_owned()));
        assert_eq!(resolved("//b.example/z"), Some("https://b.example/z".to_owned()));
        assert_eq!(resolved("http://c.example/"), Some("http://c.example/".to_owned()));
        assert_eq!(resolved("events"), None);
    }
}
