//! The token shapes of vendors: a prefix that only they use, and what follows it.

use super::values;

/// What may follow a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Body {
    /// Letters and digits.
    Alnum,
    /// Letters, digits, `_`.
    Word,
    /// Letters, digits, `_`, `-`.
    Dashed,
    /// Letters, digits, `_`, `-`, `.`.
    Dotted,
    /// Letters, digits, `+`, `/`, `=`.
    Base64,
    /// Hexadecimal digits, lower case.
    Hex,
    /// Letters, digits, `_`, `-`, `/`.
    Path,
}

use Body::{Alnum, Base64, Dashed, Dotted, Hex, Path, Word};

/// How much of an address is the secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Prefix and body.
    Whole,
    /// The body: the prefix is an address.
    Body,
}

/// One shape.
#[derive(Debug)]
pub struct Shape {
    /// The literal that it begins with.
    pub prefix: &'static str,
    body: Body,
    /// Characters of the body: at least, at most.
    min: usize,
    max: usize,
    part: Part,
    /// Digits before the prefix that belong to it: at least, at most.
    lead: Option<(usize, usize)>,
    /// What more must be true of the body.
    also: fn(&[u8]) -> bool,
}

const UNBOUNDED: usize = usize::MAX;
/// Characters of a body without an end that are judged.
const MAX_JUDGED: usize = 64;

const fn shape(prefix: &'static str, body: Body, min: usize) -> Shape {
    // A body that may hold separators could be an identifier or a file name.
    let also = match body {
        Word | Dashed | Dotted | Path => is_no_identifier,
        Alnum | Base64 | Hex => anything,
    };
    Shape { prefix, body, min, max: UNBOUNDED, part: Part::Whole, lead: None, also }
}

const fn exactly(prefix: &'static str, body: Body, length: usize) -> Shape {
    Shape { max: length, ..shape(prefix, body, length) }
}

const fn address(prefix: &'static str, min: usize) -> Shape {
    Shape { part: Part::Body, ..shape(prefix, Path, min) }
}

/// The beginning of a bot's id in base64, as Discord's tokens have it: the digits of its first two places.
const fn discord(prefix: &'static str) -> Shape {
    Shape { also: is_discord, ..shape(prefix, Dotted, 56) }
}

/// From the vendors' documentation and the rules of public secret scanners.
pub const SHAPES: &[Shape] = &[
    // GitHub
    shape("ghp_", Alnum, 36),
    shape("gho_", Alnum, 36),
    shape("ghu_", Alnum, 36),
    shape("ghs_", Alnum, 36),
    shape("ghr_", Alnum, 36),
    shape("github_pat_", Word, 22),
    // GitLab
    shape("glpat-", Dotted, 20),
    shape("gldt-", Dashed, 20),
    shape("glrt-", Dotted, 20),
    shape("glcbt-", Dashed, 20),
    shape("glptt-", Dashed, 20),
    shape("glft-", Dashed, 20),
    shape("glsoat-", Dashed, 20),
    shape("glimt-", Dashed, 20),
    shape("glagent-", Dashed, 20),
    shape("gloas-", Dashed, 20),
    // Slack
    shape("xoxa-", Dashed, 10),
    shape("xoxb-", Dashed, 10),
    shape("xoxc-", Dashed, 10),
    shape("xoxd-", Dashed, 10),
    shape("xoxe-", Dashed, 10),
    shape("xoxe.", Dotted, 10),
    shape("xoxo-", Dashed, 10),
    shape("xoxp-", Dashed, 10),
    shape("xoxr-", Dashed, 10),
    shape("xoxs-", Dashed, 10),
    shape("xapp-", Dashed, 10),
    address("hooks.slack.com/services/", 20),
    // OpenAI, and vendors that follow its `sk-`
    shape("sk-", Alnum, 32),
    shape("sk-proj-", Dashed, 20),
    shape("sk-svcacct-", Dashed, 20),
    shape("sk-admin-", Dashed, 20),
    shape("sk-or-v1-", Hex, 40),
    shape("sk-lf-", Dashed, 32),
    // Anthropic
    shape("sk-ant-", Dashed, 20),
    // Stripe
    shape("sk_live_", Alnum, 16),
    shape("sk_test_", Alnum, 16),
    shape("rk_live_", Alnum, 16),
    shape("rk_test_", Alnum, 16),
    // Webhook signing secrets: Stripe, and the Standard Webhooks
    shape("whsec_", Base64, 24),
    // Google
    shape("AIza", Dashed, 35),
    shape("ya29.", Dotted, 20),
    shape("GOCSPX-", Dashed, 24),
    shape("1//0", Dashed, 40),
    // AWS
    exactly("AKIA", Alnum, 16),
    exactly("ASIA", Alnum, 16),
    exactly("ABIA", Alnum, 16),
    exactly("ACCA", Alnum, 16),
    shape("ABSK", Base64, 100),
    // xAI, Groq, Hugging Face, Perplexity, Replicate, Together, Cerebras, NVIDIA, Pinecone, Fireworks, LangSmith, Tavily
    shape("xai-", Alnum, 40),
    shape("gsk_", Alnum, 40),
    shape("hf_", Alnum, 30),
    shape("api_org_", Alnum, 30),
    shape("pplx-", Alnum, 40),
    shape("r8_", Alnum, 37),
    shape("tgp_v1_", Dashed, 40),
    shape("csk-", Alnum, 40),
    shape("nvapi-", Dashed, 60),
    shape("pcsk_", Word, 40),
    shape("fw_", Alnum, 22),
    shape("lsv2_pt_", Word, 32),
    shape("lsv2_sk_", Word, 32),
    shape("tvly-", Dashed, 28),
    // Package registries
    shape("npm_", Alnum, 36),
    shape("pypi-", Dashed, 50),
    shape("rubygems_", Hex, 48),
    shape("dckr_pat_", Dashed, 20),
    shape("dckr_oat_", Dashed, 20),
    // SendGrid
    shape("SG.", Dotted, 60),
    // Shopify
    shape("shpat_", Alnum, 32),
    shape("shpca_", Alnum, 32),
    shape("shppa_", Alnum, 32),
    shape("shpss_", Alnum, 32),
    // DigitalOcean
    shape("dop_v1_", Hex, 40),
    shape("doo_v1_", Hex, 40),
    shape("dor_v1_", Hex, 40),
    // Linear, Notion, Supabase, Figma
    shape("lin_api_", Alnum, 32),
    shape("lin_oauth_", Alnum, 32),
    shape("secret_", Alnum, 40),
    shape("ntn_", Alnum, 40),
    shape("sbp_", Alnum, 40),
    shape("sb_secret_", Dashed, 20),
    shape("figd_", Dashed, 30),
    shape("figo_", Dashed, 30),
    shape("figu_", Dashed, 30),
    // Telegram: the bot's id, a colon, the token
    Shape { lead: Some((8, 10)), ..shape(":AA", Dashed, 32) },
    // Discord
    discord("MT"),
    discord("Mj"),
    discord("Mz"),
    discord("ND"),
    discord("NT"),
    discord("Nj"),
    discord("Nz"),
    discord("OD"),
    discord("OT"),
    address("/api/webhooks/", 60),
    // Atlassian, Postman, Square, PlanetScale, Netlify
    shape("ATATT3", Dotted, 60),
    shape("ATCTT3", Dotted, 60),
    shape("PMAK-", Dashed, 50),
    shape("sq0atp-", Dashed, 22),
    shape("sq0csp-", Dashed, 40),
    shape("pscale_tkn_", Dashed, 32),
    shape("pscale_pw_", Dashed, 32),
    shape("pscale_oauth_", Dashed, 32),
    shape("nfp_", Alnum, 36),
    // Databricks, Vault, Doppler, Grafana, Sentry, New Relic, Tailscale, age, PostHog, spacesheep
    shape("dapi", Hex, 32),
    shape("hvs.", Dashed, 24),
    shape("hvb.", Dashed, 24),
    shape("dp.pt.", Alnum, 40),
    shape("dp.st.", Dotted, 40),
    shape("glsa_", Word, 32),
    shape("glc_", Base64, 40),
    shape("sntrys_", Base64, 40),
    shape("sntryu_", Hex, 40),
    shape("NRAK-", Alnum, 27),
    shape("tskey-", Dashed, 20),
    shape("AGE-SECRET-KEY-1", Alnum, 50),
    shape("phx_", Alnum, 40),
    shape("ss_", Hex, 48),
    // JSON Web Tokens, signed or encrypted
    Shape { also: is_jwt, ..shape("eyJ", Dotted, 90) },
];

impl Shape {
    /// Where a token of this shape stands, given where its prefix does; `floor` is where the text that still stands begins.
    #[must_use]
    pub fn find(&self, bytes: &[u8], prefix_at: usize, floor: usize) -> Option<(usize, usize)> {
        let before = |at: usize| if at > floor { bytes.get(at - 1).copied() } else { None };
        let mut start = prefix_at;
        match self.lead {
            Some((least, most)) => {
                while prefix_at - start < most && before(start).is_some_and(|b| b.is_ascii_digit()) {
                    start -= 1;
                }
                if prefix_at - start < least {
                    return None;
                }
            }
            None if self.part == Part::Whole && before(start).is_some_and(|b| b.is_ascii_alphanumeric()) => {
                return None;
            }
            None => {}
        }
        let body_at = prefix_at + self.prefix.len();
        let body = bytes.get(body_at..)?;
        // The beginning decides, so that a long run of what is no token costs little: but one more than allowed is too long.
        let judged = if self.max == UNBOUNDED { self.min.max(MAX_JUDGED) } else { self.max + 1 };
        let run = body.iter().take(judged).take_while(|b| self.body.holds(**b)).count();
        let begin = trim_dots(body.get(..run)?);
        if !(self.min..=self.max).contains(&begin.len()) || !(self.also)(begin) || is_placeholder(begin) {
            return None;
        }
        let run = body.iter().take_while(|b| self.body.holds(**b)).count();
        let mut end = body_at + trim_dots(body.get(..run)?).len();
        if self.max == UNBOUNDED {
            // Two tokens without a space between them, or a longer token than was known.
            end += bytes.get(end..)?.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
        } else if bytes.get(end) == Some(&b'_') {
            return None;
        }
        Some((if self.part == Part::Body { body_at } else { start }, end))
    }
}

/// Which bodies hold a byte: one bit for each, so that a long run is read a look-up a byte.
static BODIES: [u8; 256] = {
    let mut bodies = [0; 256];
    let mut byte: u8 = 0;
    while byte < 128 {
        let hex = byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
        let alnum = byte.is_ascii_alphanumeric();
        let word = alnum || byte == b'_';
        let dashed = word || byte == b'-';
        bodies[byte as usize] = (hex as u8) << Hex as u8
            | (alnum as u8) << Alnum as u8
            | (word as u8) << Word as u8
            | (dashed as u8) << Dashed as u8
            | ((dashed || byte == b'.') as u8) << Dotted as u8
            | ((dashed || byte == b'/') as u8) << Path as u8
            | ((alnum || matches!(byte, b'+' | b'/' | b'=')) as u8) << Base64 as u8;
        byte += 1;
    }
    bodies
};

impl Body {
    fn holds(self, byte: u8) -> bool {
        BODIES.get(usize::from(byte)).is_some_and(|bodies| bodies >> self as u8 & 1 == 1)
    }
}

fn anything(_: &[u8]) -> bool {
    true
}

fn is_no_identifier(body: &[u8]) -> bool {
    let (mut upper, mut lower) = (false, false);
    body.iter().any(|b| {
        upper |= b.is_ascii_uppercase();
        lower |= b.is_ascii_lowercase();
        b.is_ascii_digit() || (upper && lower)
    })
}

fn is_placeholder(body: &[u8]) -> bool {
    std::str::from_utf8(body).is_ok_and(values::is_placeholder)
}

/// A sentence may end behind a token.
fn trim_dots(body: &[u8]) -> &[u8] {
    let dots = body.iter().rev().take_while(|b| **b == b'.').count();
    body.get(..body.len() - dots).unwrap_or(body)
}

/// A header, a dot, and a payload or an encrypted key; the rest may be cut off.
fn is_jwt(body: &[u8]) -> bool {
    body.iter().position(|b| *b == b'.').is_some_and(|dot| dot >= 12) && is_no_identifier(body)
}

fn is_discord(body: &[u8]) -> bool {
    let mut parts = body.split(|b| *b == b'.').map(<[u8]>::len);
    let (id, time, mac) = (parts.next(), parts.next(), parts.next());
    // The prefix took two of the id's characters.
    id.is_some_and(|n| (20..=28).contains(&n))
        && time.is_some_and(|n| (5..=7).contains(&n))
        && mac.is_some_and(|n| n >= 27)
        && parts.next().is_none()
        && is_no_identifier(body)
}
