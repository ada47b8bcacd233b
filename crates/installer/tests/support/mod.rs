//! A home of its own for each test, and adapters made by hand.
#![allow(clippy::disallowed_methods, dead_code)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sessionpipe_core::adapter::{Adapter, Facts, Finding, Found, MapError, SessionFile};
use sessionpipe_core::command::{hook_argv, hook_command};
use sessionpipe_core::harness::Harness;
use sessionpipe_core::host::{Dirs, Host, Program};
use sessionpipe_core::job::Hook;
use sessionpipe_core::seen::Mapped;
use sessionpipe_core::wiring::{HookEntry, When, Wiring};
use sessionpipe_installer::{HarnessInput, Plan, Receipt, Wishes, apply, plan_install, plan_uninstall};
use tempfile::TempDir;

const fn harness(name: &'static str, product: &'static str) -> Harness {
    Harness { name, product, has_session_end: true, ..Harness::BLANK }
}

static GROUPED: Harness = harness("claude-code", "Grouped");
static ARGV: Harness = harness("codex", "Argv");

type MakeWiring = dyn Fn(&Host) -> Vec<Wiring> + Send + Sync;

/// An adapter whose wiring is given.
pub struct Double {
    harness: &'static Harness,
    wiring: Box<MakeWiring>,
}

impl Adapter for Double {
    fn harness(&self) -> &'static Harness {
        self.harness
    }

    fn found(&self, _: &Host) -> Option<Found> {
        Some(Found::default())
    }

    fn wiring(&self, host: &Host) -> Vec<Wiring> {
        (self.wiring)(host)
    }

    fn check(&self, _: &Host) -> Vec<Finding> {
        Vec::new()
    }

    fn map(&self, _: &Hook) -> Result<Mapped, MapError> {
        Err(MapError::Unusable("a double".into()))
    }

    fn roots(&self, _: &Host) -> Vec<PathBuf> {
        Vec::new()
    }

    fn sessions(&self, _: &Host) -> Vec<SessionFile> {
        Vec::new()
    }

    fn facts(&self, _: &Host, _: &SessionFile) -> Facts {
        Facts::default()
    }
}

/// The groups that the doubles want, for the program of a host.
pub fn entries(host: &Host, harness: &str, events: &[&'static str]) -> Vec<HookEntry> {
    let entry = |event: &&'static str| HookEntry {
        event,
        value: serde_json::json!({"hooks": [
            {"type": "command", "command": hook_command(&host.program, harness, event), "timeout": 5}
        ]}),
    };
    events.iter().map(entry).collect()
}

/// A harness with grouped hooks in JSON files below the home, which reads plain JSON only.
pub fn grouped(files: &[&str], events: &'static [&'static str]) -> Double {
    let files: Vec<String> = files.iter().map(|f| (*f).to_owned()).collect();
    let wiring = move |host: &Host| {
        let mut wiring: Vec<Wiring> = files
            .iter()
            .map(|file| Wiring::HookEntries {
                file: host.home.join(file),
                at: &["hooks"],
                needs: &[],
                entries: entries(host, "claude-code", events),
                jsonc: false,
            })
            .collect();
        wiring.push(Wiring::Notice { when: When::Changed, text: "restart it".into() });
        wiring
    };
    Double { harness: &GROUPED, wiring: Box::new(wiring) }
}

/// A harness with these wirings.
pub fn wired(wiring: impl Fn(&Host) -> Vec<Wiring> + Send + Sync + 'static) -> Double {
    Double { harness: &GROUPED, wiring: Box::new(wiring) }
}

/// The handlers that the doubles want, without groups.
pub fn flat_entries(host: &Host, events: &[&'static str]) -> Vec<HookEntry> {
    let mut entries = entries(host, "claude-code", events);
    for entry in &mut entries {
        entry.value = entry.value["hooks"][0].take();
    }
    entries
}

/// A harness that takes `Stop` and `SessionEnd` without groups.
pub fn mixed(file: &'static str) -> Double {
    wired(move |host| {
        let mut entries = entries(host, "claude-code", &["SessionStart"]);
        entries.extend(flat_entries(host, &["Stop", "SessionEnd"]));
        vec![Wiring::HookEntries { file: host.home.join(file), at: &["hooks"], needs: &[], entries, jsonc: true }]
    })
}

/// A harness with hooks in `.codex/hooks.json`, none in `.codex/config.toml`, and a `notify` there.
pub fn argv(events: &'static [&'static str]) -> Double {
    let wiring = move |host: &Host| {
        let config = host.home.join(".codex/config.toml");
        vec![
            Wiring::HookEntries {
                file: host.home.join(".codex/hooks.json"),
                at: &["hooks"],
                needs: &[],
                entries: entries(host, "codex", events),
                jsonc: false,
            },
            Wiring::AbsentTomlHooks { file: config.clone() },
            Wiring::TopLevelToml { file: config, key: "notify", argv: hook_argv(&host.program, "codex", "notify") },
            Wiring::Notice { when: When::Always, text: "trust the hooks".into() },
        ]
    };
    Double { harness: &ARGV, wiring: Box::new(wiring) }
}

fn input(adapter: &Double, wishes: Wishes) -> HarnessInput<'_> {
    HarnessInput { adapter, found: Found::default(), wishes }
}

/// A home in a temporary folder.
pub struct Home {
    dir: TempDir,
    pub host: Host,
}

impl Home {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        // Links above it (macOS's /tmp) are not what is tested.
        let home = dir.path().canonicalize().expect("it is there").join("home");
        fs::create_dir(&home).expect("a home");
        let state = home.join(".local/state/sessionpipe");
        let host = Host {
            env: BTreeMap::new(),
            etc: home.join("etc"),
            cwd: home.clone(),
            // 2026-11-30T08:00:00Z
            now_ms: 1_796_025_600_000,
            dirs: Dirs { state, config: home.join(".config/sessionpipe"), redirected: false },
            program: Program { path: "/opt/sp/bin/sessionpipe".into(), is_hook: false, copies: Vec::new() },
            home,
        };
        Self { dir, host }
    }

    /// A home that starts as the directory case of that name.
    pub fn case(slug: &str) -> Self {
        let home = Self::new();
        copy_tree(&case_dir(slug).join("home"), &home.host.home);
        home
    }

    pub fn root(&self) -> &Path {
        self.dir.path()
    }

    pub fn path(&self, file: &str) -> PathBuf {
        self.host.home.join(file)
    }

    pub fn write(&self, file: &str, text: impl AsRef<[u8]>) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect("written");
    }

    pub fn bytes(&self, file: &str) -> Vec<u8> {
        fs::read(self.path(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    pub fn text(&self, file: &str) -> String {
        String::from_utf8(self.bytes(file)).expect("UTF-8")
    }

    pub fn json(&self, file: &str) -> serde_json::Value {
        serde_json::from_str(&self.text(file)).expect("plain JSON")
    }

    pub fn exists(&self, file: &str) -> bool {
        fs::symlink_metadata(self.path(file)).is_ok()
    }

    pub fn chmod(&self, file: &str, mode: u32) {
        fs::set_permissions(self.path(file), fs::Permissions::from_mode(mode)).expect("chmod");
    }

    pub fn mode(&self, file: &str) -> u32 {
        fs::metadata(self.path(file)).expect("it is there").permissions().mode() & 0o7777
    }

    pub fn plan(&self, adapters: &[&Double]) -> Plan {
        let inputs: Vec<HarnessInput<'_>> = adapters.iter().map(|a| input(a, Wishes::default())).collect();
        plan_install(&self.host, &inputs).expect("a plan")
    }

    pub fn plan_with(&self, adapter: &Double, wishes: Wishes) -> Plan {
        plan_install(&self.host, &[input(adapter, wishes)]).expect("a plan")
    }

    pub fn install(&self, adapters: &[&Double]) -> Receipt {
        let plan = self.plan(adapters);
        self.assert_diffs_apply(&plan);
        apply(&self.host, &plan).expect("applied")
    }

    pub fn plan_uninstall(&self, adapters: &[&Double]) -> Plan {
        let adapters: Vec<&dyn Adapter> = adapters.iter().map(|a| *a as &dyn Adapter).collect();
        plan_uninstall(&self.host, &adapters, false).expect("a plan")
    }

    pub fn uninstall(&self, adapters: &[&Double]) -> Receipt {
        apply(&self.host, &self.plan_uninstall(adapters)).expect("applied")
    }

    /// Forgets what was installed.
    pub fn lose_manifest(&self) {
        let _ = fs::remove_dir_all(&self.host.dirs.state);
    }

    /// `patch` makes of each file what the plan says, given the diff that the plan shows.
    pub fn assert_diffs_apply(&self, plan: &Plan) {
        for file in plan.changes() {
            let (diff, after) = (file.diff(&self.host), file.after.as_deref().unwrap_or_default());
            let scratch = tempfile::tempdir().expect("a temporary folder");
            let (target, patch) = (scratch.path().join("file"), scratch.path().join("patch"));
            if let Some(before) = &file.before {
                fs::write(&target, before).expect("written");
            }
            fs::write(&patch, &diff).expect("written");
            let ran = Command::new("patch")
                .args(["--binary", "--silent"])
                .arg(&target)
                .arg(&patch)
                .stdin(Stdio::null())
                .status();
            let Ok(status) = ran else {
                assert!(std::env::var_os("CI").is_none(), "no `patch` program here");
                return;
            };
            assert!(status.success(), "{diff}");
            assert_eq!(fs::read_to_string(&target).unwrap_or_default(), after, "{diff}");
        }
    }

    /// Names, modes, times and contents of everything below the home.
    pub fn snapshot(&self) -> BTreeMap<PathBuf, (u32, std::time::SystemTime, Vec<u8>)> {
        let mut all = BTreeMap::new();
        let mut stack = vec![self.host.home.clone()];
        while let Some(path) = stack.pop() {
            let meta = fs::symlink_metadata(&path).expect("it is there");
            let bytes = if meta.is_file() { fs::read(&path).expect("readable") } else { Vec::new() };
            if meta.is_dir() {
                stack.extend(fs::read_dir(&path).expect("readable").map(|e| e.expect("an entry").path()));
            }
            all.insert(path, (meta.permissions().mode(), meta.modified().expect("a time"), bytes));
        }
        all
    }

    /// Names of all files below the home, without our own state.
    pub fn files(&self) -> Vec<String> {
        let home = &self.host.home;
        let names = self.snapshot().into_keys().filter(|p| !p.is_dir() && !p.starts_with(&self.host.dirs.state));
        names.map(|p| p.strip_prefix(home).expect("below").display().to_string()).collect()
    }
}

pub fn case_dir(slug: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(slug)
}

pub fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("folders");
    for entry in fs::read_dir(from).expect("readable") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("copied");
        }
    }
}
