//! What the hook starts: the worker, and the program that stood in Codex's `notify` before us.

use std::collections::BTreeMap;
use std::io::Write;

use sessionpipe_core::job::Process;
use sessionpipe_pipeline::process;
use sessionpipe_pipeline::wake::Listener;

use crate::lab::{GENEROUS, Lab, PAYLOAD, feed, silent};

/// Stands for the worker: reports how it was started, then stays until it is let go.
const WORKER: &str = r#"#!/bin/sh
{
    echo "args $*"
    echo "stat $(cat /proc/$$/stat)"
    echo "marker $SESSIONPIPE_WORKER"
    echo "home $HOME"
    ls -l /proc/$$/fd | sed -n 's/.* \([0-9]*\) -> /fd \1 /p'
} > "$LAB/report"
read -r _ < "$LAB/hold"
"#;

fn lines(report: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut lines = BTreeMap::<_, Vec<_>>::new();
    for (key, value) in report.lines().filter_map(|line| line.split_once(' ')) {
        lines.entry(key).or_default().push(value);
    }
    lines
}

#[cfg(target_os = "linux")]
#[test]
fn the_worker_inherits_nothing_and_holds_nobody_up() {
    let lab = Lab::new();
    let script = lab.script("bin/sessionpipe", WORKER);
    let report = lab.report("report");
    let hold = lab.path("hold");
    assert!(std::process::Command::new("mkfifo").arg(&hold).status().expect("mkfifo").success());
    let mut command = lab.shell(r#"exec 7<"$HOOK" 8>>"$LAB/leak"; exec "$HOOK" claude-code Stop"#);
    command.env("LAB", lab.path(""));
    // `feed` returns when the hook's stdout and stderr are closed, which the worker must not hold open.
    silent(&feed(command, PAYLOAD));
    let report = report.recv_timeout(GENEROUS).expect("the worker runs");
    let lines = lines(&report);

    assert_eq!(lines["args"], ["worker"]);
    assert_eq!(lines["marker"], ["1"]);
    assert_eq!(lines["home"], [lab.path("home").to_str().expect("UTF-8")], "the environment is ours");
    let (pid, rest) = lines["stat"][0].split_once(' ').expect("proc_pid_stat(5)");
    let fields: Vec<&str> = rest.rsplit_once(')').expect("a name").1.split_whitespace().collect();
    assert_eq!((fields[2], fields[3]), (pid, pid), "its own process group and session");
    // A shell reads its script through a descriptor of its own, and has the report as stdout here.
    let own = [script, lab.path("report")].map(|path| path.canonicalize().expect("there"));
    let foreign: Vec<&&str> = lines["fd"]
        .iter()
        .filter(|fd| !fd.ends_with(" /dev/null") && !own.iter().any(|own| fd.ends_with(own.to_str().expect("UTF-8"))))
        .collect();
    assert_eq!(foreign, Vec::<&&str>::new());
    for fd in ["0 /dev/null", "2 /dev/null"] {
        assert!(lines["fd"].contains(&fd), "{report}");
    }

    let start = fields[19].parse().expect("a number");
    let worker = Process { pid: pid.parse().expect("a pid"), start, name: String::new() };
    assert!(process::alive(&worker), "it outlives the hook");
    std::fs::OpenOptions::new().write(true).open(hold).expect("somebody reads").write_all(b"\n").expect("let go");
}

#[test]
fn a_listening_worker_is_woken_and_none_is_started() {
    let lab = Lab::new();
    lab.script("bin/sessionpipe", "#!/bin/sh\n: > \"$LAB/started\"\n");
    silent(&feed(lab.hook(), PAYLOAD));
    std::fs::remove_file(lab.dirs().worker_fifo()).unwrap_or_default();
    let listener = Listener::open(&lab.dirs()).expect("a FIFO");
    assert!(!listener.wait(std::time::Duration::ZERO).expect("waits"));
    let mut command = lab.hook();
    command.env("LAB", lab.path("work"));
    silent(&feed(command, PAYLOAD));
    assert!(listener.wait(GENEROUS).expect("waits"), "woken");
    assert!(!lab.path("work/started").exists());
    assert_eq!(lab.jobs().len(), 2);
}

#[test]
fn without_a_worker_the_job_waits() {
    let lab = Lab::new();
    silent(&feed(lab.hook(), PAYLOAD));
    assert_eq!(lab.jobs().len(), 1);
}

/// Stands for the program that was in `notify`: calls us again, as one that was installed twice would.
const PREVIOUS: &str = r#"#!/bin/sh
"$HOOK" codex notify --previous-notify "$0" again -- "$2"
echo "$*|$SESSIONPIPE_PREVIOUS_NOTIFY|$PWD" >> "$LAB/runs"
cat "$LAB/runs" > "$LAB/report"
"#;

#[test]
fn the_previous_notify_runs_once_with_the_same_payload() {
    let lab = Lab::new();
    let previous = lab.script("bin/previous program", PREVIOUS);
    let report = lab.report("report");
    let payload = r#"{"type":"agent-turn-complete","turn-id":"t1"}"#;
    let args = ["codex", "notify", "--previous-notify", previous.to_str().expect("UTF-8"), "turn", "--", payload];
    let mut command = lab.clean(lab.program(), args);
    command.env("HOOK", lab.program()).env("LAB", lab.path(""));
    silent(&feed(command, b""));
    let report = report.recv_timeout(GENEROUS).expect("it runs");
    let work = lab.path("work").canonicalize().expect("there");
    assert_eq!(report, format!("turn {payload}|1|{}\n", work.display()));
    let payloads: Vec<_> = lab.jobs().into_iter().map(|(_, payload)| payload).collect();
    assert_eq!(payloads, [payload.as_bytes(), payload.as_bytes()], "ours, and the one that it caused");
}
