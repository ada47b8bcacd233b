//! The command that a config holds: how it is written, and how one of ours is recognised.

// The hook asks it too: nothing here may panic.
#![cfg_attr(not(test), deny(clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

use std::path::Path;

use serde_json::Value;

use crate::host::Program;

/// The file names of our programs.
pub const PROGRAMS: [&str; 2] = ["sessionpipe", "sessionpipe-hook"];

/// The script of the older client: any program running a path that ends in it is ours.
const OLD_CLIENT: &str = "/.sessionpipe/dist/hook.js";

/// The argument that keeps an argv that stood in a config before ours; it ends at `--`.
pub const PREVIOUS_NOTIFY: &str = "--previous-notify";

/// The argument in place of the event's name: the events come as lines on stdin, each with its name.
pub const STREAM: &str = "--stream";

/// Which shell a harness hands its hook commands to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostShell {
    /// `sh`, `bash`, `zsh`.
    Posix,
    /// Git Bash on Windows.
    GitBash,
    /// PowerShell.
    PowerShell,
    /// `cmd.exe`.
    Cmd,
}

/// The shell-form command for one hook: an absolute, quoted path, and the two names that it is called with.
#[must_use]
pub fn hook_command(program: &Program, harness: &str, event: &str) -> String {
    let hook = if program.is_hook { "" } else { " hook" };
    format!("{}{hook} {harness} {event}", quote(HostShell::Posix, &program.path.to_string_lossy()))
}

/// The same, for harnesses in which a hook that fails or is missing does harm: run only if it can be, and always a success.
#[must_use]
pub fn guarded_hook_command(program: &Program, harness: &str, event: &str) -> String {
    let path = quote(HostShell::Posix, &program.path.to_string_lossy());
    format!("[ -x {path} ] && {}; exit 0", hook_command(program, harness, event))
}

/// The same as an argv, for the configs that take one.
#[must_use]
pub fn hook_argv(program: &Program, harness: &str, event: &str) -> Vec<String> {
    let mut argv = vec![program.path.to_string_lossy().into_owned()];
    if !program.is_hook {
        argv.push("hook".to_owned());
    }
    argv.extend([harness.to_owned(), event.to_owned()]);
    argv
}

/// The argv of the process that a plugin of ours starts.
#[must_use]
pub fn stream_argv(program: &Program, harness: &str) -> Vec<String> {
    hook_argv(program, STREAM, harness)
}

/// A path as one word at the start of a command, such that no part of it is expanded.
#[must_use]
pub fn quote(shell: HostShell, path: &str) -> String {
    match shell {
        HostShell::Posix => format!("'{}'", path.replace('\'', r"'\''")),
        windows => {
            // The verbatim prefix means nothing to a shell, and backslashes are eaten by some: all three take slashes.
            let path = path.strip_prefix(r"\\?\").unwrap_or(path).replace('\\', "/");
            match windows {
                HostShell::GitBash => format!("\"{path}\""),
                _ if !path.contains(' ') => path,
                HostShell::PowerShell => format!("& \"{path}\""),
                _ => format!("\"{path}\""),
            }
        }
    }
}

/// What one of our commands reports, as far as it says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owned {
    /// The program or script that it runs.
    pub program: String,
    /// The harness that it names.
    pub harness: String,
    /// The event that it names.
    pub event: Option<String>,
}

/// A shell command of ours, of any version: `sessionpipe` or `sessionpipe-hook` by any path, naming a harness, or any
/// program running the older client. Never by substring: `echo sessionpipe hook x` is somebody else's.
#[must_use]
pub fn owned(command: &str) -> Option<Owned> {
    let command = command.trim();
    // `[ -x P ] && P …; exit 0`: the guarded form. (A path holds no `&&` outside quotes; ours are quoted.)
    let guarded = command.strip_prefix("[ -x ").and_then(|rest| {
        let (_, rest) = rest.split_once(" ] && ")?;
        rest.strip_suffix("; exit 0").or(Some(rest))
    });
    let command = guarded.unwrap_or(command);
    let command = command.strip_prefix("& ").unwrap_or(command);
    owned_argv(&shlex::split(command)?)
}

/// The same for an argv.
#[must_use]
pub fn owned_argv(argv: &[String]) -> Option<Owned> {
    let (program, rest) = argv.split_first()?;
    let name = file_name(program);
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    let (program, rest) = if PROGRAMS.contains(&name) {
        match (name, rest.as_slice()) {
            (_, ["hook", rest @ ..]) => (program.as_str(), rest.to_vec()),
            ("sessionpipe-hook", rest) => (program.as_str(), rest.to_vec()),
            _ => return None,
        }
    } else if program.replace('\\', "/").ends_with(OLD_CLIENT) {
        (program.as_str(), rest)
    } else {
        let at = rest.iter().position(|arg| arg.replace('\\', "/").ends_with(OLD_CLIENT))?;
        let (options, [script, rest @ ..]) = rest.split_at_checked(at)? else { return None };
        // Only options may stand between the program and its script.
        if !options.iter().all(|arg| arg.starts_with('-')) {
            return None;
        }
        (*script, rest.to_vec())
    };
    let (harness, event) = match rest.as_slice() {
        [STREAM, harness, ..] => (*harness, None),
        [harness, rest @ ..] => (*harness, rest.first()),
        [] => return None,
    };
    if harness.starts_with('-') {
        return None;
    }
    Some(Owned {
        program: program.to_owned(),
        harness: harness.to_owned(),
        event: event.map(|event| (*event).to_owned()),
    })
}

/// The argv that one of ours keeps behind [`PREVIOUS_NOTIFY`].
#[must_use]
pub fn previous_argv(argv: &[String]) -> Option<&[String]> {
    let start = argv.iter().position(|arg| arg == PREVIOUS_NOTIFY)? + 1;
    let end = argv.iter().rposition(|arg| arg == "--").filter(|end| *end >= start).unwrap_or(argv.len());
    argv.get(start..end)
}

fn file_name(program: &str) -> &str {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    name.strip_suffix(".exe").unwrap_or(name)
}

/// Whether the program of a command of ours can be run.
#[must_use]
pub fn is_runnable(program: &str) -> bool {
    let path = Path::new(program);
    if !path.is_absolute() {
        return false;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
    }
    #[cfg(not(unix))]
    {
        path.is_file()
    }
}

/// Whether a command of ours for a harness stands anywhere in a document.
#[must_use]
pub fn is_in(document: &Value, harness: &str) -> bool {
    match document {
        Value::String(text) => owned(text).is_some_and(|ours| ours.harness == harness),
        Value::Array(items) => items.iter().any(|item| is_in(item, harness)),
        Value::Object(members) => members.values().any(|member| is_in(member, harness)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(path: &str, is_hook: bool) -> Program {
        Program { path: path.into(), is_hook, copies: Vec::new() }
    }

    #[test]
    fn written_commands_are_one_quoted_word_and_recognised() {
        for path in [
            "/Users/Ann Lee/bin/sessionpipe",
            "/home/o'neil/bin/sessionpipe",
            "/srv/a$HOME;b/bin/sessionpipe",
            "/srv/quo\"te/bin/sessionpipe",
            "/srv/émoji-✓/bin/sessionpipe",
            "/srv/star*?[x]/bin/sessionpipe",
        ] {
            let command = hook_command(&program(path, false), "claude-code", "Stop");
            assert_eq!(shlex::split(&command).expect("words"), [path, "hook", "claude-code", "Stop"]);
            assert_eq!(owned(&command).map(|o| o.program), Some(path.to_owned()));
        }
        let command = hook_command(&program("/b/sessionpipe-hook", true), "codex", "Stop");
        assert_eq!(command, "'/b/sessionpipe-hook' codex Stop");
        let owned_by_codex =
            Some(Owned { program: "/b/sessionpipe-hook".into(), harness: "codex".into(), event: Some("Stop".into()) });
        assert_eq!(owned(&command), owned_by_codex);
        let guarded = guarded_hook_command(&program("/b/sessionpipe-hook", true), "codex", "Stop");
        assert_eq!(guarded, "[ -x '/b/sessionpipe-hook' ] && '/b/sessionpipe-hook' codex Stop; exit 0");
        assert_eq!(owned(&guarded), owned_by_codex);
    }

    #[test]
    fn commands_for_the_shells_of_windows() {
        let row = |shell, path: &str, harness: &str| format!("{} hook {harness}", quote(shell, path));
        let me = r"\\?\C:\Users\me\bin\sessionpipe.exe";
        assert_eq!(
            row(HostShell::GitBash, me, "claude-code Stop"),
            "\"C:/Users/me/bin/sessionpipe.exe\" hook claude-code Stop"
        );
        assert_eq!(row(HostShell::PowerShell, me, "codex Stop"), "C:/Users/me/bin/sessionpipe.exe hook codex Stop");
        assert_eq!(
            row(HostShell::Cmd, me, "gemini-cli AfterAgent"),
            "C:/Users/me/bin/sessionpipe.exe hook gemini-cli AfterAgent"
        );
        let ann = r"C:\Users\Ann Lee\bin\sessionpipe.exe";
        let command = row(HostShell::PowerShell, ann, "codex Stop");
        assert_eq!(command, "& \"C:/Users/Ann Lee/bin/sessionpipe.exe\" hook codex Stop");
        assert_eq!(owned(&command).map(|o| o.harness), Some("codex".into()));
    }

    #[test]
    fn ours_of_every_version_and_nobody_elses() {
        for ours in [
            "\"/usr/local/Cellar/sessionpipe/0.1.0/bin/sessionpipe\" hook claude-code Stop",
            "sessionpipe hook claude-code Stop",
            "/old/node /home/u/.sessionpipe/dist/hook.js claude-code Stop",
            "node --no-warnings '/home/u/.sessionpipe/dist/hook.js' claude-code Stop",
            "[ -x '/b/sessionpipe-hook' ] && '/b/sessionpipe-hook' claude-code Stop; exit 0",
        ] {
            assert_eq!(
                owned(ours).map(|o| (o.harness, o.event)),
                Some(("claude-code".into(), Some("Stop".into()))),
                "{ours}"
            );
        }
        for foreign in [
            "logger sessionpipe done",
            "/opt/sessionpipe-notes/run.sh",
            "echo hook claude-code Stop",
            "echo sessionpipe hook claude-code Stop",
            "sessionpipe",
            "sessionpipe tail -f",
            "cat /home/u/.sessionpipe/dist/hook.js.bak claude-code Stop",
            "cp x /home/u/.sessionpipe/dist/hook.js",
            "'unclosed sessionpipe hook x y",
            "",
        ] {
            assert_eq!(owned(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn a_plugins_argv_is_one_of_ours() {
        for (is_hook, words) in [(true, "/b/sp --stream opencode"), (false, "/b/sp hook --stream opencode")] {
            assert_eq!(stream_argv(&program("/b/sp", is_hook), "opencode").join(" "), words);
        }
        let argv = stream_argv(&program("/b/sessionpipe-hook", true), "opencode");
        let expected = Owned { program: "/b/sessionpipe-hook".to_owned(), harness: "opencode".to_owned(), event: None };
        assert_eq!(owned_argv(&argv), Some(expected));
        assert_eq!(owned("/b/sessionpipe-hook --stream"), None);
        assert_eq!(owned("/b/sessionpipe-hook --stream --help"), None);
    }

    #[test]
    fn a_command_of_ours_is_found_wherever_it_stands() {
        let document =
            serde_json::json!({"hooks": {"Stop": [{"hooks": [{"bash": "/b/sessionpipe-hook codex Stop"}]}]}});
        assert!(is_in(&document, "codex"));
        assert!(!is_in(&document, "claude-code"), "another harness's");
        assert!(!is_in(&serde_json::json!({"/b/sessionpipe-hook codex Stop": [1, null]}), "codex"), "a key");
    }

    #[test]
    fn the_previous_argv_comes_back() {
        let argv = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
        let ours = argv(&["/b/sessionpipe-hook", "codex", "notify", "--previous-notify", "say", "--", "x", "--"]);
        assert_eq!(previous_argv(&ours), Some(argv(&["say", "--", "x"]).as_slice()));
        assert_eq!(previous_argv(&ours[..3]), None);
    }
}
