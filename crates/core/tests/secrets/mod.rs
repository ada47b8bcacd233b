//! The frozen list of secrets that must be found: `conformance/secrets/positives.tsv`.

use std::path::{Path, PathBuf};

use sessionpipe_core::privacy::secrets::{Class, redact_text};
use sha2::{Digest, Sha256};

/// Of the file, as it was written down before any rule was made for it.
const FROZEN: &str = "35e8752ebb0a3941bf70957abec591cd5dccbae7b07c6a1ace7d42521e99a74e";

/// Shorter pieces of a secret say nothing.
const MIN_PIECE: usize = 8;

/// The repository's folder.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// One line of the list.
pub struct Positive {
    pub class: Class,
    pub source: String,
    pub text: String,
    pub secrets: Vec<String>,
}

/// The whole list; its README says how it is written.
pub fn positives() -> Vec<Positive> {
    let path = repository().join("conformance/secrets/positives.tsv");
    let list = std::fs::read(&path).expect("the list is part of the repository");
    let hash: String = Sha256::digest(&list).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hash, FROZEN, "{} was changed", path.display());
    String::from_utf8(list).expect("UTF-8").lines().map(positive).collect()
}

fn positive(line: &str) -> Positive {
    let [class, source, text] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("three columns: {line}") };
    let text = unescaped(&text.replace('·', ""));
    Positive {
        class: Class::ALL.into_iter().find(|known| known.name() == class).expect("a class"),
        source: source.to_owned(),
        secrets: text.split('«').skip(1).map(|part| part.split('»').next().unwrap_or_default().to_owned()).collect(),
        text: text.replace(['«', '»'], ""),
    }
}

fn unescaped(text: &str) -> String {
    let mut chars = text.chars();
    let mut out = String::new();
    while let Some(c) = chars.next() {
        out.push(match c {
            '\\' => match chars.next() {
                Some('n') => '\n',
                Some('r') => '\r',
                other => other.unwrap_or('\\'),
            },
            c => c,
        });
    }
    out
}

impl Positive {
    /// Whether no piece of the secret is left.
    pub fn is_found(&self) -> bool {
        let left = redact_text(&self.text);
        self.secrets.iter().all(|secret| {
            let chars: Vec<char> = secret.chars().collect();
            let mut pieces = chars.windows(chars.len().min(MIN_PIECE)).map(|piece| piece.iter().collect::<String>());
            !pieces.any(|piece| left.contains(&piece))
        })
    }
}
