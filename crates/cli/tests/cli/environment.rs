//! Where a test runs.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// The programs under test, as cargo built them.
const BUILT: [(&str, &str); 2] =
    [("sessionpipe", env!("CARGO_BIN_EXE_sessionpipe")), ("sessionpipe-hook", env!("CARGO_BIN_EXE_sessionpipe-hook"))];

/// A home of its own, with both programs in `~/.cargo/bin`, as `cargo install` would put them.
pub struct TestEnvironment {
    root: tempfile::TempDir,
    vars: BTreeMap<String, String>,
}

/// What a program said.
#[derive(Debug)]
pub struct Said {
    pub stdout: String,
    pub stderr: String,
    pub code: i32,
}

impl TestEnvironment {
    pub fn new() -> Self {
        let root = tempfile::Builder::new().prefix("sp-").tempdir().expect("a temporary folder");
        let environment = Self { root, vars: BTreeMap::new() };
        std::fs::create_dir_all(environment.home()).expect("a home");
        environment.put_programs(&environment.home().join(".cargo/bin"), &["sessionpipe", "sessionpipe-hook"]);
        environment
    }

    /// One with both agents, each with a config that has something in it.
    pub fn with_agents() -> Self {
        let environment = Self::new();
        environment.write(
            ".claude/settings.json",
            "{\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"/opt/guard/check.sh\"}]}\n    ]\n  }\n}\n",
        );
        environment.write_session("2.1.328");
        environment.write(".codex/config.toml", "model = \"gpt-5.5\"\n\n[tui]\nnotifications = true\n");
        environment
    }

    /// A session file of Claude Code, from which its version is known.
    pub fn write_session(&self, version: &str) {
        let id = "22222222-2222-4222-8222-222222222222";
        self.write(
            &format!(".claude/projects/-w/{id}.jsonl"),
            &format!("{{\"type\":\"user\",\"version\":\"{version}\",\"sessionId\":\"{id}\"}}\n"),
        );
    }

    /// Puts programs into a folder: linked where the file system can, since they are large.
    pub fn put_programs(&self, folder: &Path, names: &[&str]) {
        std::fs::create_dir_all(folder).expect("a folder");
        for (name, built) in BUILT.iter().filter(|(name, _)| names.contains(name)) {
            let to = folder.join(name);
            std::fs::hard_link(built, &to).or_else(|_| std::fs::copy(built, &to).map(|_| ())).expect("a program");
        }
    }

    pub fn home(&self) -> PathBuf {
        self.root.path().canonicalize().expect("the root").join("home")
    }

    pub fn state(&self) -> PathBuf {
        self.home().join(".local/state/sessionpipe")
    }

    pub fn var(&mut self, name: &str, value: &str) {
        self.vars.insert(name.to_owned(), value.to_owned());
    }

    pub fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.home().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        std::fs::write(&path, text).expect("a file");
        path
    }

    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.home().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// The environment that every program gets here.
    pub fn environment(&self) -> BTreeMap<String, String> {
        let home = self.home().display().to_string();
        let mut vars = BTreeMap::from([
            ("HOME".to_owned(), home.clone()),
            ("PATH".to_owned(), format!("{home}/.cargo/bin:/usr/bin:/bin")),
            ("TMPDIR".to_owned(), std::env::temp_dir().display().to_string()),
            ("TZ".to_owned(), "UTC".to_owned()),
            ("SESSIONPIPE_TEST".to_owned(), "1".to_owned()),
        ]);
        vars.extend(self.vars.clone());
        vars
    }

    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.environment()).current_dir(self.home()).stdin(Stdio::null());
        command
    }

    /// Runs `sessionpipe`. What is different in each run is written by its name.
    pub fn run(&self, args: &[&str]) -> Said {
        self.run_program(&self.home().join(".cargo/bin/sessionpipe"), args)
    }

    pub fn run_program(&self, program: &Path, args: &[&str]) -> Said {
        let output = self.command(program).args(args).output().expect("it starts");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        Said {
            stdout: text(output.stdout),
            stderr: text(output.stderr),
            code: output.status.code().expect("an exit code"),
        }
    }

    /// The same, and it must exit with that code.
    pub fn expect(&self, code: i32, args: &[&str]) -> Said {
        let said = self.run(args);
        assert_eq!(said.code, code, "sessionpipe {args:?}\n{}{}", said.stdout, said.stderr);
        said
    }

    /// What it prints with `--json`.
    pub fn json(&self, code: i32, args: &[&str]) -> Value {
        let said = self.expect(code, args);
        serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{args:?}: {error}\n{}", said.stdout))
    }

    /// Text with the home written `[HOME]`.
    pub fn tidy(&self, text: &str) -> String {
        text.replace(&self.home().display().to_string(), "[HOME]")
    }

    /// Runs a hook as a harness would: a shell, a minimal environment, the payload on stdin.
    pub fn hook(&self, command: &str, stdin: &str) -> Said {
        self.hook_with(command, stdin.as_bytes(), &BTreeMap::new(), None)
    }

    pub fn hook_with(&self, command: &str, stdin: &[u8], env: &BTreeMap<String, String>, cwd: Option<&Path>) -> Said {
        use std::io::Write as _;
        let mut child = Command::new("/bin/sh")
            .args(["-c", command])
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.home())
            .envs(env)
            .current_dir(cwd.unwrap_or(&self.home()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a shell");
        child.stdin.take().expect("stdin").write_all(stdin).expect("it reads");
        let output = child.wait_with_output().expect("it ends");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        Said {
            stdout: text(output.stdout),
            stderr: text(output.stderr),
            code: output.status.code().expect("an exit code"),
        }
    }

    /// Everything in the home, with modes, times and contents: equal when nothing at all was touched.
    pub fn snapshot(&self) -> BTreeMap<PathBuf, String> {
        let mut entries = BTreeMap::new();
        let mut folders = vec![self.home()];
        while let Some(folder) = folders.pop() {
            let mut paths: Vec<_> =
                std::fs::read_dir(&folder).expect("a folder").map(|e| e.expect("an entry").path()).collect();
            paths.push(folder.clone());
            for path in paths {
                let meta = path.symlink_metadata().expect("metadata");
                let content = if meta.is_file() && !path.starts_with(self.home().join(".cargo")) {
                    String::from_utf8_lossy(&std::fs::read(&path).expect("a file")).into_owned()
                } else {
                    String::new()
                };
                if meta.is_dir() && path != folder {
                    folders.push(path.clone());
                }
                let facts = format!("{:o} {}.{:09} {content}", meta.mode(), meta.mtime(), meta.mtime_nsec());
                entries.insert(path, facts);
            }
        }
        entries
    }

    /// The bytes of every file outside our own folders.
    pub fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let own = self.home().join(".local");
        let is_file =
            |path: &PathBuf| path.is_file() && !path.starts_with(&own) && !path.starts_with(self.home().join(".cargo"));
        let read = |path: PathBuf| {
            let bytes = std::fs::read(&path).expect("a file");
            (path, bytes)
        };
        self.snapshot().into_keys().filter(is_file).map(read).collect()
    }

    pub fn mode(&self, path: &Path) -> u32 {
        path.metadata().unwrap_or_else(|error| panic!("{}: {error}", path.display())).permissions().mode() & 0o777
    }
}

/// Every command of ours in a document, in its order.
pub fn commands(document: &Value) -> Vec<String> {
    match document {
        Value::Object(members) => {
            let own =
                members.get("command").and_then(Value::as_str).filter(|c| c.contains("sessionpipe")).map(str::to_owned);
            own.into_iter().chain(members.values().flat_map(commands)).collect()
        }
        Value::Array(items) => items.iter().flat_map(commands).collect(),
        _ => Vec::new(),
    }
}
