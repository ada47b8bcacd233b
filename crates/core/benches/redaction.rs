//! How fast `secrets@1` reads. Run with `cargo bench -p sessionpipe-core --bench redaction`.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use serde_json::{Value, json};
use sessionpipe_core::privacy::secrets::{redact_text, redact_value};

#[path = "../src/privacy/secrets/hostile.rs"]
mod hostile;

fn main() {
    divan::main();
}

/// Source text as tools read and write it: this module's own, secrets' names and all.
fn code(bytes: usize) -> String {
    let source = concat!(
        include_str!("../src/event.rs"),
        include_str!("../src/stdin_hook.rs"),
        include_str!("../src/privacy/secrets/names.rs"),
        include_str!("../src/privacy/secrets/values.rs"),
    );
    let mut text = source.repeat(bytes / source.len() + 1);
    let mut end = bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    text
}

#[divan::bench(args = [4 * 1024, 1024 * 1024])]
fn code_like_text(bencher: Bencher<'_, '_>, bytes: usize) {
    let text = code(bytes);
    bencher.counter(BytesCount::new(text.len())).bench(|| redact_text(black_box(&text)).len());
}

/// A hook's payload of about 4 KB.
#[divan::bench]
fn payload(bencher: Bencher<'_, '_>) {
    let lines: Vec<Value> = code(3 * 1024).lines().map(Value::from).collect();
    let payload = json!({"command": code(512), "description": "reads a file", "output": {"lines": lines, "code": 0}});
    bencher
        .counter(BytesCount::new(payload.to_string().len()))
        .with_inputs(|| payload.clone())
        .bench_refs(|payload| redact_value(black_box(payload)));
}

/// Texts that make a careless scanner slow, 1 MB and 16 MB: the time per byte has to be the same.
#[divan::bench(args = hostile(), sample_count = 3, sample_size = 1)]
fn hostile_text(bencher: Bencher<'_, '_>, (piece, bytes): &(&str, usize)) {
    let text = format!("credential=x {}", piece.repeat(bytes / piece.len() + 1));
    bencher.counter(BytesCount::new(text.len())).bench(|| redact_text(black_box(&text)).len());
}

fn hostile() -> impl Iterator<Item = (&'static str, usize)> {
    const MEGABYTE: usize = 1024 * 1024;
    hostile::HOSTILE.into_iter().flat_map(|piece| [(piece, MEGABYTE), (piece, 16 * MEGABYTE)])
}
