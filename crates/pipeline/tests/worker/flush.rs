//! Many hooks at once, while somebody takes.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use sessionpipe_core::job::Header;

use crate::double::{Place, adapters, header, leave, with};
use crate::pipeline::spool::Spool;
use crate::pipeline::take::{Clock as _, Context, SystemClock};
use crate::pipeline::worker::{Flushed, flush};

#[test]
fn hooks_that_come_while_it_takes_are_neither_lost_nor_doubled() {
    let place = Place::new();
    let host = &place.host;
    let context = || Context { alive: &|_| true, ..Context::new(host, adapters(), None, &|_| false) };
    let done = AtomicBool::new(false);
    let now_ms = SystemClock.now_ms();
    std::thread::scope(|scope| {
        let hooks: Vec<_> = (0..20)
            .map(|session| {
                scope.spawn(move || {
                    let spool = Spool::open(&host.dirs).expect("a spool");
                    for call in 0..10 {
                        let header = Header { event: "PreTool".to_owned(), ..header(now_ms + i64::from(call)) };
                        let ids = json!({"tool_name": "Bash", "tool_use_id": format!("c{call}")});
                        let payload = with(&format!("s{session}"), ids).to_string();
                        leave(&spool, &header, session * 100 + call, payload.as_bytes());
                    }
                })
            })
            .collect();
        // Two that take: one has the lock, the other waits for it.
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    flush(&context(), Duration::from_secs(20)).expect("flushed");
                }
            });
        }
        for hook in hooks {
            hook.join().expect("no panic");
        }
        done.store(true, Ordering::Relaxed);
    });
    let last = flush(&context(), Duration::from_secs(20)).expect("flushed");
    assert_eq!(last.left, 0);
    let mut streams: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for event in place.events() {
        let stream = streams.entry(event.session.id).or_default();
        assert_eq!(event.session.seq, stream.len() as u64);
        stream.push(event.data.get("call_id").map_or(event.kind, |call| call.as_str().expect("an id").to_owned()));
    }
    assert_eq!(streams.len(), 20);
    for (session, mut stream) in streams {
        assert_eq!(stream.remove(0), "session.started");
        stream.sort_unstable();
        assert_eq!(stream, ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9"], "{session}");
    }
}

#[test]
fn nothing_to_do_is_done_at_once() {
    let place = Place::new();
    let flushed = place.with(|context| flush(context, Duration::ZERO)).expect("flushed");
    assert_eq!(flushed, Flushed::default());
}
