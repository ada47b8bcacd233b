//! The closed vocabulary of what a hook or a transcript can say. Adapters translate into it; the
//! [tracker](crate::tracker) turns it into events and knows no harness by name.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What one hook call (or one transcript record) says: whose it is, and what was seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mapped {
    /// The harness's own session id, as it came; [`crate::ids`] makes it fit. `None`: the tracker finds the open
    /// session of the same process and folder.
    pub session: Option<String>,
    /// The parent session, where the payload names one.
    pub parent: Option<String>,
    /// The session's folder, as the payload says it.
    pub cwd: Option<String>,
    /// The session's transcript file.
    pub transcript: Option<String>,
    /// The model's name.
    pub model: Option<String>,
    /// The session's title, with its source.
    pub title: Option<(String, TitleSource)>,
    /// The harness's version.
    pub version: Option<String>,
    /// The native event's name (`harness.event`).
    pub event: String,
    /// The payload was cut: what could be read was read.
    pub partial: bool,
    /// It came by a channel that never says that a session is over: a session known by that alone cannot be lost.
    pub endless: bool,
    /// The end that it says holds wherever the session runs: another program says it than the one that worked.
    pub anywhere: bool,
    /// In order.
    pub seen: Vec<Seen>,
}

/// Where a title comes from; a better source is never replaced by a worse one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TitleSource {
    /// The first ask of the person.
    FirstAsk,
    /// Made by the harness.
    Harness,
    /// Set by the person.
    Custom,
}

/// One thing seen.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    /// The session begins, or begins again (resume).
    SessionStart {
        /// Why.
        source: StartSource,
    },
    /// The session is over.
    SessionEnd {
        /// Why.
        reason: EndReason,
    },
    /// A prompt was handed to the agent.
    Prompt {
        /// The turn it belongs to. The same id as the running turn: the prompt steers it and opens none.
        turn: Option<String>,
        /// Characters of the prompt.
        chars: Option<u64>,
        /// Who wrote it: only a person's prompt answers anything.
        by: PromptBy,
    },
    /// The agent stopped.
    Stop {
        /// The turn.
        turn: Option<String>,
        /// Final, or only for now.
        kind: StopKind,
    },
    /// The turn ended with an error.
    Failed {
        /// The turn.
        turn: Option<String>,
        /// What the harness says of it.
        error: Option<String>,
    },
    /// A call of the model failed; it may be tried again. A turn that then ends without a word ended with this error.
    CallFailed {
        /// What the harness says of it; may be empty.
        error: String,
    },
    /// A run is over: with it the turn that is open, or, where none is, the session. Some versions of a harness say so after
    /// every prompt, others once.
    RunEnd {
        /// Why, where it is the session's end.
        reason: EndReason,
    },
    /// The turn was interrupted.
    Aborted {
        /// The turn.
        turn: Option<String>,
    },
    /// The agent works. Where no turn is open and none has ended since the last prompt, one began that no hook announces: its
    /// start is derived. Nothing in a session whose end no hook tells: nothing else would end the turn.
    Working {
        /// The turn.
        turn: Option<String>,
    },
    /// How the turn ended that no hook announced and that has none for its end, said where the session ends. Nothing if none
    /// is open.
    WorkEnds {
        /// How.
        how: WorkEnd,
    },
    /// A tool call begins.
    ToolStart(ToolCall),
    /// A tool call is over.
    ToolEnd {
        /// Which.
        call: ToolCall,
        /// What came of it.
        result: ToolResult,
    },
    /// The harness is done with a batch of calls: those of them that are still open had no end of their own.
    ToolsSettled {
        /// The agent that made the calls; `None` is the main one.
        agent: Option<String>,
        /// The calls of the batch, with the text that the model got.
        calls: Vec<(ToolCall, Option<String>)>,
    },
    /// A person has to act.
    NeedsYou(Need),
    /// What a person was asked is answered (or dismissed).
    Answered {
        /// The kind of request; `None` answers all.
        kind: Option<AttentionKind>,
        /// The request, where it is named.
        id: Option<String>,
        /// How.
        how: Cleared,
    },
    /// A subagent begins.
    SubagentStart {
        /// Its id.
        agent: String,
        /// Its type.
        agent_type: Option<String>,
    },
    /// A subagent is over. One that was never seen to start and has no type is an inner helper: ignored.
    SubagentEnd {
        /// Its id.
        agent: String,
        /// Its type.
        agent_type: Option<String>,
    },
    /// A subagent has done its work: nothing else is told of it.
    SubagentRan {
        /// Its id.
        agent: String,
    },
    /// A compaction begins; it may fail.
    CompactStart {
        /// What started it.
        trigger: CompactTrigger,
    },
    /// The context was compacted.
    Compacted {
        /// What started it, where it is said.
        trigger: Option<CompactTrigger>,
    },
    /// Files were written.
    FilesChanged {
        /// As the harness names them.
        paths: Vec<String>,
    },
    /// Proof of life, nothing else: it closes and opens nothing.
    Activity,
}

impl Seen {
    /// The end of a tool call and, where it worked, the files that it wrote.
    #[must_use]
    pub fn tool_end(call: ToolCall, result: ToolResult, files: impl IntoIterator<Item = String>) -> Vec<Self> {
        let paths: Vec<String> = files.into_iter().collect();
        let changed = (result.ok && !paths.is_empty()).then_some(Self::FilesChanged { paths });
        [Self::ToolEnd { call, result }].into_iter().chain(changed).collect()
    }
}

/// `source` of `session.started`. `compact` is no start of ours: see [`Seen::Compacted`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StartSource {
    /// A new session.
    Startup,
    /// An old one goes on.
    Resume,
    /// After clearing.
    Clear,
    /// A copy of another.
    Fork,
    /// Not said.
    Unknown,
}

/// `reason` of `session.ended`; everything else that a harness says is `other`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EndReason {
    /// Cleared for a new one.
    Clear,
    /// Logged out.
    Logout,
    /// The person left.
    Exit,
    /// Anything else.
    Other,
}

/// Who wrote a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptBy {
    /// A person (or the script in their place).
    Person,
    /// The harness itself: a finished background task, a system notice. It opens a turn only when none is open.
    Harness,
}

/// What a stop means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopKind {
    /// The turn is over. Said again for a turn that has ended (after a blocking stop hook, or by a second channel), it is dropped.
    Final,
    /// The turn is over, and the harness says that this is the first stop of it: of one that no hook announced, if need be.
    First,
    /// Work goes on in the background; a later prompt by the harness continues the same turn.
    Pause,
    /// The call failed and is tried again: nothing ends.
    Retry,
}

/// See [`Seen::WorkEnds`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkEnd {
    /// It was done.
    Stop,
    /// It was broken off.
    Interrupt,
    /// It failed.
    Error,
}

/// A tool call, as far as one hook names it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolCall {
    /// The native tool name.
    pub tool: String,
    /// The harness's call id.
    pub call: Option<String>,
    /// The turn.
    pub turn: Option<String>,
    /// The subagent that makes the call; `None` is the main agent.
    pub agent: Option<String>,
    /// What the tool is called with.
    pub input: Option<Value>,
    /// The MCP server, where the payload says it.
    pub mcp_server: Option<String>,
}

/// What came of a tool call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolResult {
    /// Whether it worked.
    pub ok: bool,
    /// What went wrong.
    pub error: Option<String>,
    /// What came back.
    pub output: Option<Value>,
    /// Milliseconds, where the harness measured them itself.
    pub ms: Option<u64>,
}

/// A request to a person.
#[derive(Clone, Debug, PartialEq)]
pub struct Need {
    /// What is asked for.
    pub kind: AttentionKind,
    /// The request's own id (a tool-use id), where the payload has one.
    pub id: Option<String>,
    /// The turn.
    pub turn: Option<String>,
    /// The tool that waits.
    pub tool: Option<String>,
    /// The tool's input: pairs the request with its call.
    pub input: Option<Value>,
    /// For the person.
    pub message: Option<String>,
    /// A reminder repeats a request that is already open: then it says nothing new.
    pub reminder: bool,
}

/// `kind` of `attention.needed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AttentionKind {
    /// May a tool run?
    Permission,
    /// A question to answer.
    Question,
    /// A form of an MCP server.
    Elicitation,
    /// The agent waits for the next prompt.
    Idle,
    /// Something failed and a person must act.
    Error,
}

/// `how` of `attention.cleared`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cleared {
    /// The person answered.
    Answered,
    /// It was withdrawn.
    Cancelled,
    /// Nobody answered in time.
    Timeout,
    /// It is over; how is not known.
    Unknown,
}

/// `trigger` of `context.compacted`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CompactTrigger {
    /// The person asked for it.
    Manual,
    /// The context was full.
    Auto,
}
