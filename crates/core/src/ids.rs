//! Ids: of sessions, events and requests. One module, so that live events, backfill and sinks agree.

use sha2::{Digest, Sha256};
use ulid::Ulid;
use uuid::Uuid;

/// The namespace of [`uuid_of`]: UUIDv5 of `https://sessionpipe.org/session` in the URL namespace. Published; never changes.
pub const NAMESPACE: Uuid = Uuid::from_u128(0xb0b8_5bd8_308f_5c53_9c6b_c20b_901b_ff7d);

/// The most characters that a session id may have.
pub const MAX_SESSION_ID: usize = 128;

/// Whether an id can be `session.id` as it is: 1 to 128 of `[A-Za-z0-9._:-]`.
#[must_use]
pub fn fits(id: &str) -> bool {
    (1..=MAX_SESSION_ID).contains(&id.len())
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b':' | b'-'))
}

/// The id itself when it is a UUID by RFC 9562 (version 1 to 8, variant `10`), else a UUIDv5 over `<harness>:<id>`.
#[must_use]
pub fn uuid_of(harness: &str, id: &str) -> Uuid {
    match Uuid::try_parse(id) {
        Ok(uuid) if (1..=8).contains(&uuid.get_version_num()) && uuid.get_variant() == uuid::Variant::RFC4122 => uuid,
        _ => Uuid::new_v5(&NAMESPACE, format!("{harness}:{id}").as_bytes()),
    }
}

/// `session.id` for a harness's own id.
#[must_use]
pub fn session_id(harness: &str, id: &str) -> String {
    if fits(id) { id.to_owned() } else { uuid_of(harness, id).to_string() }
}

/// A stable id for a session whose hooks name none: same folder, process and start of the process, same id.
#[must_use]
pub fn made_up_session_id(harness: &str, cwd: &str, pid: u32, start: u64) -> String {
    Uuid::new_v5(&NAMESPACE, format!("{harness}:{pid}:{start}:{cwd}").as_bytes()).to_string()
}

/// An event id that the same report always gets: 48 bits of its time, and 80 bits of the SHA-256 over its identity.
#[must_use]
pub fn event_id(time_ms: i64, identity: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in identity {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    let digest = hash.finalize();
    let mut random = [0; 16];
    random[6..].copy_from_slice(&digest[..10]);
    Ulid::from_parts(u64::try_from(time_ms).unwrap_or(0), u128::from_be_bytes(random)).to_string()
}

/// `attention_id` of a request for a tool without an id of its own: `perm-` and the first 16 hex digits of the SHA-256
/// over `<turn id>|<tool>|<input as compact JSON>`.
#[must_use]
pub fn permission_id(turn: &str, tool: &str, input: &serde_json::Value) -> String {
    format!("perm-{}", &hex(format!("{turn}|{tool}|{input}").as_bytes())[..16])
}

/// The SHA-256 in hex.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_namespace_is_the_published_one() {
        assert_eq!(NAMESPACE, Uuid::new_v5(&Uuid::NAMESPACE_URL, b"https://sessionpipe.org/session"));
    }

    #[test]
    fn only_real_uuids_are_taken_as_they_are() {
        let v4 = "faa6eadb-7f1e-426b-a780-2aae9c66146e";
        assert_eq!(uuid_of("claude-code", v4).to_string(), v4);
        let v7 = "01a22b7a-b376-7283-bb91-8cdae1a00b78";
        assert_eq!(uuid_of("codex", v7).to_string(), v7);
        for odd in [
            "00000000-0000-0000-0000-000000000000",
            "faa6eadb-7f1e-026b-a780-2aae9c66146e",
            "faa6eadb-7f1e-426b-c780-2aae9c66146e",
            "ses_1",
        ] {
            let uuid = uuid_of("x", odd);
            assert_ne!(uuid.to_string(), odd);
            assert_eq!(uuid.get_version_num(), 5);
            assert_eq!(uuid, uuid_of("x", odd));
            assert_ne!(uuid, uuid_of("y", odd));
        }
    }

    #[test]
    fn session_ids_fit() {
        assert_eq!(session_id("x", "ses_1.a:b-C"), "ses_1.a:b-C");
        for odd in ["", "a b", "é", &"x".repeat(129)] {
            assert!(fits(&session_id("x", odd)), "{odd}");
            assert_ne!(session_id("x", odd), odd);
        }
    }

    #[test]
    fn event_ids_are_ulids_by_time_and_identity() {
        let id = event_id(1_796_025_755_960, &["claude-code", "s", "turn.ended", "7"]);
        assert_eq!(id.len(), 26);
        assert_eq!(id, event_id(1_796_025_755_960, &["claude-code", "s", "turn.ended", "7"]));
        assert_ne!(id, event_id(1_796_025_755_960, &["claude-code", "s", "turn.ended", "8"]));
        assert_ne!(event_id(0, &["ab", "c"]), event_id(0, &["a", "bc"]));
        assert_eq!(Ulid::from_string(&id).expect("a ULID").timestamp_ms(), 1_796_025_755_960);
    }

    #[test]
    fn permission_ids_follow_the_protocol() {
        // sha256('t1|Bash|{"command":"ls"}'), worked out with sha256sum.
        assert_eq!(permission_id("t1", "Bash", &json!({"command": "ls"})), "perm-eee79d072bc16dc4");
    }
}
