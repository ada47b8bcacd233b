//! The token shapes of vendors: a prefix that only they use, and what follows it.

use super::{scan, values};

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
    /// Letters, digits, `_`, `-`, `/`, `@`.
    Path,
    /// Letters, digits, `:`.
    Colon,
    /// Digits.
    Digits,
}

use Body::{Alnum, Base64, Colon, Dashed, Digits, Dotted, Hex, Path, Word};

/// How much of it is the secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Prefix and body.
    Whole,
    /// The body: the prefix is an address or a name.
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
    /// What stands before the prefix and belongs to it: at least, at most so many.
    lead: Option<(Body, usize, usize)>,
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
        Alnum | Base64 | Hex | Colon | Digits => anything,
    };
    Shape { prefix, body, min, max: UNBOUNDED, part: Part::Whole, lead: None, also }
}

/// Behind a prefix that could begin a word too: with a digit, as hardly a word has.
const fn numbered(prefix: &'static str, body: Body, min: usize) -> Shape {
    Shape { also: has_digit, ..shape(prefix, body, min) }
}

/// Behind a prefix of two or three letters: as only a machine writes.
const fn random(prefix: &'static str, body: Body, min: usize) -> Shape {
    Shape { also: is_random, ..shape(prefix, body, min) }
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
    Shape { lead: Some((Digits, 8, 12)), ..shape(":AA", Dashed, 32) },
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
    // What remains, by name: 1Password, Adobe, Aikido, Airtable, Alibaba Cloud, Apify, Artifactory, Asaas, Atlassian
    Shape { also: is_upper, ..shape("A3-", Dashed, 36) },
    shape("ops_eyJ", Base64, 100),
    shape("p8e-", Alnum, 32),
    shape("AIK_CI_", Alnum, 20),
    shape("AIK_SECRET_", Alnum, 40),
    Shape { also: is_airtable, ..exactly("pat", Dotted, 79) },
    numbered("LTAI", Alnum, 16),
    numbered("STS.", Alnum, 16),
    shape("apify_api_", Alnum, 30),
    numbered("AKCp", Alnum, 60),
    random("cmVmd", Alnum, 55),
    shape("aact_prod_", Dashed, 20),
    shape("aact_hmlg_", Dashed, 20),
    shape("ATAT", Dotted, 80),
    numbered("ATBB", Alnum, 28),
    // Authress, Amazon Bedrock, Bitbucket, Brave, Buildkite, Canva, Cartesia, CircleCI, ClickHouse, Clojars, Cloudflare
    Shape { also: is_authress, ..shape("ext_", Dotted, 60) },
    shape("bedrock-api-key-", Base64, 20),
    numbered("BBDC-", Base64, 30),
    random("BSA", Alnum, 28),
    numbered("bkaa_", Dashed, 40),
    numbered("bkaj_", Dashed, 40),
    numbered("bkar_", Dashed, 40),
    numbered("bkct_", Dashed, 40),
    numbered("bkpt_", Dashed, 40),
    numbered("bkua_", Dashed, 40),
    numbered("cnvca", Alnum, 48),
    numbered("sk_car_", Alnum, 20),
    shape("CCIPAT_", Dashed, 40),
    shape("CCIPRJ_", Dashed, 40),
    Shape { also: is_random, ..exactly("4b1d", Alnum, 38) },
    shape("CLOJARS_", Alnum, 60),
    shape("cfat_", Alnum, 40),
    shape("cfut_", Alnum, 40),
    numbered("v1.0-", Dashed, 100),
    // Cloudsmith, CockroachDB, ConfigCat, DataStax, Deno, DevCycle, Devin, Docker Swarm, Duffel, Dynatrace, EasyPost, Elastic
    numbered("csa_", Alnum, 30),
    shape("CCDB1_", Word, 40),
    shape("configcat-sdk-1/", Path, 40),
    shape("AstraCS:", Colon, 20),
    numbered("ddp_", Alnum, 36),
    numbered("ddo_", Alnum, 36),
    numbered("dvc_server_", Dashed, 12),
    numbered("apk_", Word, 60),
    numbered("cog_", Alnum, 40),
    numbered("SWMTKN-1-", Dashed, 60),
    shape("SWMKEY-1-", Base64, 40),
    shape("duffel_live_", Dashed, 40),
    shape("duffel_test_", Dashed, 40),
    numbered("dt0c01.", Dotted, 80),
    numbered("dt0s01.", Dotted, 80),
    numbered("EZAK", Alnum, 54),
    numbered("EZTK", Alnum, 54),
    numbered("essu_", Base64, 40),
    // Exoscale, Facebook, Flutterwave, Frame.io, Gemini, GitLab's other kinds, Harness, Heroku, Infracost, 42, Ionic
    numbered("EXO", Alnum, 24),
    numbered("EAAC", Alnum, 80),
    numbered("EAAM", Alnum, 80),
    numbered("FLWSECK_TEST-", Dashed, 12),
    numbered("FLWSECK-", Dashed, 32),
    numbered("fio-u-", Dashed, 60),
    random("AQ.", Dashed, 45),
    shape("glffct-", Dashed, 20),
    shape("GR1348941", Dashed, 20),
    Shape { also: is_harness, ..exactly("pat.", Dotted, 68) },
    Shape { also: is_harness, ..exactly("sat.", Dotted, 68) },
    Shape { part: Part::Body, ..numbered("_gitlab_session=", Alnum, 20) },
    shape("HRKU-", Dashed, 50),
    numbered("ico-", Alnum, 32),
    shape("s-s4t2ud-", Hex, 64),
    shape("s-s4t2af-", Hex, 64),
    numbered("ion_", Alnum, 42),
    // The tokens of Grafana and Miro are JSON in base64; a JSON Web Token in base64 once more
    shape("eyJrIjoi", Base64, 40),
    shape("eyJtaXJv", Dashed, 30),
    numbered("ZXlK", Base64, 60),
    // Kimi, Labelbox, Lichess, LlamaIndex, Mailchimp, MailerSend, Mercury, Mergify, Microsoft Teams, MongoDB Atlas, Neon, NuGet
    random("sk-", Dashed, 48),
    numbered("lbx_", Alnum, 40),
    numbered("rma_", Alnum, 40),
    numbered("lip_", Alnum, 17),
    numbered("llx-", Alnum, 40),
    Shape { lead: Some((Hex, 32, 32)), ..exactly("-us", Digits, 2) },
    shape("mlsn.", Alnum, 32),
    shape("mercury_production_", Word, 50),
    shape("mergify_application_key_", Alnum, 40),
    address("webhook.office.com/webhookb2/", 60),
    shape("mdb_sa_sk_", Dashed, 40),
    numbered("napi_", Alnum, 60),
    Shape { also: has_digit, ..exactly("oy2", Alnum, 43) },
    // Nylas, Octopus Deploy, OneSignal, Onfido, OpenShift, Paddle, Persona, Pinterest, Polar, Prefect, Proof, Pulumi
    numbered("nyk_", Word, 50),
    Shape { also: is_upper, ..exactly("API-", Alnum, 26) },
    shape("os_v2_org_", Alnum, 100),
    shape("os_v2_app_", Alnum, 100),
    numbered("api_live.", Dotted, 20),
    numbered("api_live_ca.", Dotted, 20),
    numbered("api_live_us.", Dotted, 20),
    shape("sha256~", Dashed, 43),
    shape("pdl_live_apikey_", Word, 50),
    shape("pdl_sdbx_apikey_", Word, 50),
    shape("persona_production_", Alnum, 24),
    shape("persona_sandbox_", Alnum, 24),
    numbered("pina_", Alnum, 20),
    numbered("polar_at_", Word, 20),
    numbered("polar_oat_", Word, 20),
    numbered("polar_pat_", Word, 20),
    numbered("pnu_", Alnum, 36),
    random("prf_", Alnum, 20),
    numbered("pul-", Hex, 40),
    // Ramp, ReadMe, redirect.pizza, Render, Resend, Rootly, RunPod, Samsara, Scalingo, Brevo, SettleMint, Shippo, Square
    numbered("ramp_sec_", Alnum, 40),
    numbered("rdme_", Alnum, 70),
    numbered("rpa_", Alnum, 30),
    random("rnd_", Alnum, 28),
    Shape { also: is_resend, ..exactly("re_", Word, 33) },
    shape("rootly_", Hex, 64),
    shape("samsara_api_", Alnum, 28),
    numbered("tk-us-", Dashed, 48),
    shape("xkeysib-", Dashed, 60),
    shape("xsmtpsib-", Dashed, 60),
    numbered("sm_aat_", Alnum, 16),
    numbered("sm_pat_", Alnum, 16),
    numbered("sm_sat_", Alnum, 16),
    shape("shippo_test_", Alnum, 40),
    shape("shippo_live_", Alnum, 40),
    shape("sq0idk-", Dashed, 22),
    // Sourcegraph, Thunderstore, Twilio, Unkey, UpCloud, Val Town, Vercel, Voyage, WakaTime, Weights & Biases, Workato, Xendit, Zuplo
    numbered("sgp_", Word, 40),
    random("tss_", Dashed, 22),
    Shape { also: has_digit, ..exactly("SK", Hex, 32) },
    random("unkey_", Alnum, 22),
    numbered("ucat_", Alnum, 30),
    random("vtwn_", Alnum, 24),
    random("vck_", Dashed, 50),
    random("vca_", Dashed, 50),
    random("vcr_", Dashed, 50),
    random("vci_", Dashed, 50),
    random("vcp_", Dashed, 50),
    random("pa-", Dashed, 43),
    random("al-", Dashed, 43),
    numbered("waka_", Dashed, 36),
    numbered("wandb_v1_", Word, 60),
    numbered("wrka-eyJ", Dotted, 60),
    shape("xnd_production_", Alnum, 50),
    shape("xnd_development_", Alnum, 50),
    numbered("zpka_", Word, 40),
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
            Some((lead, least, most)) => {
                while prefix_at - start < most && before(start).is_some_and(|b| lead.holds(b)) {
                    start -= 1;
                }
                if prefix_at - start < least || before(start).is_some_and(|b| lead.holds(b)) {
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
        scan::work(run);
        let begin = trim_dots(body.get(..run)?);
        if !(self.min..=self.max).contains(&begin.len()) || !(self.also)(begin) || is_placeholder(begin) {
            return None;
        }
        let run = body.iter().take_while(|b| self.body.holds(**b)).count();
        scan::work(run);
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
static BODIES: [u16; 256] = {
    let mut bodies = [0; 256];
    let mut byte: u8 = 0;
    while byte < 128 {
        let hex = byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
        let alnum = byte.is_ascii_alphanumeric();
        let word = alnum || byte == b'_';
        let dashed = word || byte == b'-';
        bodies[byte as usize] = (hex as u16) << Hex as u16
            | (alnum as u16) << Alnum as u16
            | (word as u16) << Word as u16
            | (dashed as u16) << Dashed as u16
            | ((dashed || byte == b'.') as u16) << Dotted as u16
            | ((dashed || matches!(byte, b'/' | b'@')) as u16) << Path as u16
            | ((alnum || matches!(byte, b'+' | b'/' | b'=')) as u16) << Base64 as u16
            | ((alnum || byte == b':') as u16) << Colon as u16
            | (byte.is_ascii_digit() as u16) << Digits as u16;
        byte += 1;
    }
    bodies
};

impl Body {
    fn holds(self, byte: u8) -> bool {
        BODIES.get(usize::from(byte)).is_some_and(|bodies| bodies >> self as u16 & 1 == 1)
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

fn has_digit(body: &[u8]) -> bool {
    body.iter().any(u8::is_ascii_digit) && is_no_identifier(body)
}

fn is_random(body: &[u8]) -> bool {
    let (mut digits, mut upper, mut lower) = (0, 0, 0);
    for byte in body {
        digits += usize::from(byte.is_ascii_digit());
        upper += usize::from(byte.is_ascii_uppercase());
        lower += usize::from(byte.is_ascii_lowercase());
    }
    digits >= 2 && upper * 5 >= body.len() && lower * 5 >= body.len()
}

/// Octopus Deploy writes capitals.
fn is_upper(body: &[u8]) -> bool {
    has_digit(body) && !body.iter().any(u8::is_ascii_lowercase)
}

/// Parts of these lengths with a separator between them.
fn has_parts(body: &[u8], separator: u8, lengths: &[usize]) -> bool {
    body.split(|b| *b == separator).map(<[u8]>::len).eq(lengths.iter().copied()) && has_digit(body)
}

fn is_airtable(body: &[u8]) -> bool {
    has_parts(body, b'.', &[14, 64])
}

fn is_harness(body: &[u8]) -> bool {
    has_parts(body, b'.', &[22, 24, 20])
}

fn is_resend(body: &[u8]) -> bool {
    has_parts(body, b'_', &[8, 24])
}

fn is_authress(body: &[u8]) -> bool {
    body.windows(5).any(|piece| piece == b".acc_")
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
    body.iter().position(|b| *b == b'.').is_some_and(|dot| dot >= 10) && is_no_identifier(body)
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
