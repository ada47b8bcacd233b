//! The constants of one harness: a row of the registry, and what the hook and the tracker must know of it.
//!
//! Everything here is plain `const` data, so that the hook binary can hold it without linking an adapter's code.

/// One harness. An adapter crate has exactly one `const` (or `static`) of this type, in its `harness.rs`.
#[derive(Debug)]
pub struct Harness {
    /// `harness.name` of events, `[a-z][a-z0-9-]{0,39}`.
    pub name: &'static str,
    /// What people call it.
    pub product: &'static str,
    /// The page that documents its hooks.
    pub docs: &'static str,
    /// Where its hooks are wired, in words, the home as `~`.
    pub wired_in: &'static str,
    /// Things that `install` does only on request.
    pub options: &'static [InstallOption],
    /// What its session files tell.
    pub tells: Tells,
    /// What kind of thing each of its tools does; the first row that fits. A `*` in a name stands for any text.
    pub tools: &'static [(&'static str, ToolKind)],
    /// Whether a hook says that a session is over. Only then may a missing end be called `lost`.
    pub has_session_end: bool,
    /// Whether a hook may keep the agent from stopping (then a stop can come more than once per turn).
    pub stop_can_block: bool,
    /// Variables of its hooks' environment that the hook may carry along; never the whole environment, which holds secrets.
    pub env: &'static [&'static str],
    /// The variable that names the agent's own process, where there is one; it is also in `env`.
    pub pid_var: Option<&'static str>,
    /// What in a payload proves that this harness sent it, whatever argv says. Any one is proof.
    pub marks: &'static [Mark],
    /// Other programs that run the hooks found in this harness's config, with payloads of their own.
    pub borrowers: &'static [Borrower],
    /// What a hook must print, per caller and event; nothing where no row fits.
    pub replies: &'static [Reply],
    /// Every native event that the program knows.
    pub events: &'static [NativeEvent],
    /// What the tracker must know.
    pub quirks: Quirks,
}

impl Harness {
    /// One that says nothing of itself: what tests start from.
    pub const BLANK: Self = Self {
        name: "blank",
        product: "",
        docs: "",
        wired_in: "",
        options: &[],
        tells: Tells { transcript: Tell::Never(""), usage: Tell::Never(""), title: Tell::Never("") },
        tools: &[],
        has_session_end: false,
        stop_can_block: false,
        env: &[],
        pid_var: None,
        marks: &[],
        borrowers: &[],
        replies: &[],
        events: &[],
        quirks: Quirks { silent_end: SilentEnd::Interrupt, session_end_since: None },
    };

    /// The native event of that name.
    #[must_use]
    pub fn event(&self, name: &str) -> Option<&'static NativeEvent> {
        self.events.iter().find(|e| e.name == name)
    }

    /// What kind of thing a tool does; [`ToolKind::Other`] where no row of [`Self::tools`] fits.
    #[must_use]
    pub fn tool_kind(&self, tool: &str) -> ToolKind {
        self.tools.iter().find(|(pattern, _)| fits(pattern, tool)).map_or(ToolKind::Other, |(_, kind)| *kind)
    }

    /// Whether a plugin of ours hands its events on, a line each, to one process that stays as long as the agent
    /// (`hook --stream`): then the harness has an event for the end of that stream.
    #[must_use]
    pub fn streams(&self) -> bool {
        self.events.iter().any(|event| event.means == Means::StreamEnd)
    }

    /// The events that a version registers; `None` (unknown version) is taken as the oldest supported one.
    pub fn wired(&self, version: Option<&semver::Version>) -> impl Iterator<Item = &'static NativeEvent> {
        self.events.iter().filter(move |e| match e.wired {
            Wired::Always => true,
            Wired::Since(major, minor, patch) => {
                version.is_some_and(|v| (v.major, v.minor, v.patch) >= (major, minor, patch))
            }
            Wired::Never(_) => false,
        })
    }
}

/// Whether a name has the form of a pattern, in which `*` is any text.
#[must_use]
pub fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let (Some(first), last) = (parts.next(), parts.next_back()) else { return false };
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    // The first place that a part fits in leaves the most for those after it.
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    last.map_or(rest.is_empty(), |last| rest.ends_with(last))
}

/// What kind of thing a tool does: `tool_kind` of tool events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolKind {
    /// Runs a command, or reads what one prints.
    Shell,
    /// Reads a file or folder.
    Read,
    /// Writes, moves or deletes files.
    Edit,
    /// Looks for files or text.
    Search,
    /// Fetches or searches the web.
    Web,
    /// A tool of an MCP server.
    Mcp,
    /// Starts or steers a subagent.
    Agent,
    /// Anything else: questions, plans, to-do lists.
    Other,
}

/// Something that `install` does only on request: `install --NAME`.
#[derive(Debug)]
pub struct InstallOption {
    /// Without the dashes.
    pub name: &'static str,
    /// One sentence of help.
    pub help: &'static str,
}

/// What the session files of a harness tell, for the capability matrix.
#[derive(Debug)]
pub struct Tells {
    /// What was said.
    pub transcript: Tell,
    /// Tokens.
    pub usage: Tell,
    /// The session's title.
    pub title: Tell,
}

/// One thing that session files tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tell {
    /// Read, from there.
    Read(&'static str),
    /// It is there, and not read yet.
    NotRead(&'static str),
    /// The harness does not say it, and why.
    Never(&'static str),
}

/// Proof of the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A top-level key of the payload.
    Key(&'static str),
    /// A variable in the hook's environment.
    Env(&'static str),
    /// A variable and a top-level key: agents that a hook starts inherit the variable, but not both.
    EnvAndKey(&'static str, &'static str),
}

/// A program that runs the hooks of another harness's config.
#[derive(Debug)]
pub struct Borrower {
    /// Its `harness.name`.
    pub name: &'static str,
    /// What proves that it sent a payload. Any one is proof.
    pub marks: &'static [Mark],
}

/// One line of the replies table.
#[derive(Debug)]
pub struct Reply {
    /// `harness.name` of who really called.
    pub caller: &'static str,
    /// The native event as the caller names it; `*` is any other event of that caller.
    pub event: &'static str,
    /// What to print, without a newline.
    pub stdout: &'static str,
}

/// One native event: what it means and whether we register it.
#[derive(Debug)]
pub struct NativeEvent {
    /// As the harness spells it.
    pub name: &'static str,
    /// What it says.
    pub means: Means,
    /// Whether `install` registers it.
    pub wired: Wired,
}

/// An event that `install` registers, whatever the version.
#[must_use]
pub const fn registered(name: &'static str, means: Means) -> NativeEvent {
    NativeEvent { name, means, wired: Wired::Always }
}

/// An event that `install` does not register, and that means something where it comes nevertheless.
#[must_use]
pub const fn unregistered(name: &'static str, means: Means, why: &'static str) -> NativeEvent {
    NativeEvent { name, means, wired: Wired::Never(why) }
}

/// An event that is nothing of ours.
#[must_use]
pub const fn ignored(name: &'static str, why: &'static str) -> NativeEvent {
    unregistered(name, Means::Ignored, why)
}

/// The event that `hook --stream` itself adds when the stream has ended. It says nothing of any session: it makes the worker
/// look which processes are gone.
pub const STREAM_END: &str = "stream.end";

/// Whether `install` registers an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wired {
    /// In every supported version.
    Always,
    /// From this version on: older ones break on a name that they do not know.
    Since(u64, u64, u64),
    /// Never, and why.
    Never(&'static str),
}

/// What a native event means, for the table-driven mapper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    /// The session begins (source `compact`: the context was compacted).
    SessionStart,
    /// The session is over.
    SessionEnd,
    /// A prompt.
    Prompt,
    /// The agent stopped.
    Stop,
    /// The turn ended with an error.
    StopFailure,
    /// The turn was interrupted.
    Interrupt,
    /// A call of the model failed; it may be tried again.
    CallFailure,
    /// The agent works on its turn.
    Working,
    /// A tool call begins.
    ToolStart,
    /// A tool call worked.
    ToolEnd,
    /// A tool call failed.
    ToolFailure,
    /// A batch of tool calls is done.
    ToolBatch,
    /// A tool waits for a permission.
    PermissionRequest,
    /// Something to tell the person; the adapter says which of them need one.
    Notification,
    /// An MCP server asks the person.
    Elicitation,
    /// A subagent begins.
    SubagentStart,
    /// A subagent is over.
    SubagentEnd,
    /// A compaction begins.
    CompactStart,
    /// The context was compacted.
    Compacted,
    /// A file was written, moved or deleted.
    FileChanged,
    /// The turn ended, said by a second channel.
    TurnNotice,
    /// The agent's process is gone, or has put away the plugin: [`STREAM_END`].
    StreamEnd,
    /// Nothing of ours.
    Ignored,
}

/// What the tracker must know of a harness.
#[derive(Clone, Copy, Debug)]
pub struct Quirks {
    /// How a turn that ended without a word most probably ended.
    pub silent_end: SilentEnd,
    /// The first version with a session-end hook, where older ones lack it: their sessions are never called lost.
    pub session_end_since: Option<(u64, u64, u64)>,
}

/// See [`Quirks::silent_end`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SilentEnd {
    /// A person's interrupt fires no hook.
    Interrupt,
    /// An error fires no hook.
    Error,
    /// Neither fires a hook: where a call is open or a request waits it was an interrupt, else an error.
    InterruptInCall,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_row_that_fits_says_what_a_tool_is() {
        let harness = Harness {
            tools: &[
                ("sh", ToolKind::Shell),
                ("web_*", ToolKind::Web),
                ("*-*", ToolKind::Mcp),
                ("*_file", ToolKind::Read),
                ("x*y*y", ToolKind::Edit),
            ],
            ..Harness::BLANK
        };
        for (tool, kind) in [
            ("sh", ToolKind::Shell),
            ("shell", ToolKind::Other),
            ("web_", ToolKind::Web),
            ("web_a-b", ToolKind::Web),
            ("lab-shout", ToolKind::Mcp),
            ("é-é", ToolKind::Mcp),
            ("read_file", ToolKind::Read),
            ("read_files", ToolKind::Other),
            ("xyy", ToolKind::Edit),
            ("x-y-yy", ToolKind::Mcp),
            ("x y yy", ToolKind::Edit),
            ("xy", ToolKind::Other),
            ("", ToolKind::Other),
        ] {
            assert_eq!(harness.tool_kind(tool), kind, "{tool}");
        }
    }
}
