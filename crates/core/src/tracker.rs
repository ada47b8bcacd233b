//! Seen → events: what no single hook says. Starts that no hook announced, ends that never came, one request where a
//! harness reports it twice, durations, heartbeats, lost sessions.
//!
//! The tracker is pure: it knows no clock, no disk and no harness by name, only [`Quirks`](crate::harness::Quirks). One
//! [`SessionState`] per session; the worker stores it between runs. Every event that no hook stated says so
//! (`data.derived`) and carries no native event name.

use std::collections::VecDeque;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::adapter::Facts;
use crate::event::{Event, EventHarness, EventType, MAX_TIER, PROTOCOL, Privacy, Session, rfc3339};
use crate::harness::{Harness, SilentEnd, ToolKind};
use crate::host::tilde;
use crate::ids;
use crate::job::Process;
use crate::privacy::secrets::{redact_text, redact_tokens};
use crate::seen::{
    AttentionKind, Cleared, CompactTrigger, EndReason, Mapped, Need, PromptBy, Seen, StartSource, StopKind,
    TitleSource, ToolCall, ToolResult, WorkEnd,
};

/// While a turn runs, a heartbeat at most this often, in milliseconds.
pub const HEARTBEAT_MS: i64 = 60_000;

/// How long a process must have been gone before its session counts as lost, in milliseconds: the hooks of its last
/// moments may outlive it.
pub const LOST_GRACE_MS: i64 = 1_000;

/// A hook that is taken so much later than one that started after it is late, in milliseconds: none lives for longer than
/// its deadline and the write of a large payload. Beyond that the clock was set back.
const LATE_MS: i64 = 5_000;

/// Ended turns that are remembered to recognise a second report, and ids of one turn. No harness reports a turn, or
/// names it by an id, again after more than a few.
const REMEMBERED_TURNS: usize = 16;

/// Closed tool calls, and ended subagents, that are remembered to recognise a second report: more than a batch has.
const REMEMBERED_CALLS: usize = 128;

/// Open tool calls, requests and subagents per session. More than this means ends that never come: the oldest is closed.
const MAX_OPEN: usize = 256;

/// What the tracker remembers of one session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionState {
    /// `session.id`
    pub id: String,
    /// The id is ours: no hook named one.
    pub id_made_up: bool,
    /// The parent session.
    pub parent: Option<String>,
    /// The folder, as the harness writes it, without secrets.
    pub cwd: Option<String>,
    /// The root of the repository that `cwd` lies in, set by who can look.
    pub root: Option<String>,
    /// The transcript file, without secrets.
    pub transcript: Option<String>,
    /// What is known beside the hooks.
    pub version: Option<String>,
    model: Option<String>,
    title: Option<(String, TitleSource)>,
    account_id: Option<String>,
    url: Option<String>,
    phase: Phase,
    /// The process that the person left, which ended the session.
    left: Option<Process>,
    /// A channel that would say that the session is over has spoken.
    told_by_hooks: bool,
    process: Option<Process>,
    /// Since when the process is known to be gone.
    gone_ms: Option<i64>,
    turn: Option<Turn>,
    ended_turns: VecDeque<String>,
    /// A turn has ended since the session began, and no prompt came since: what names no turn goes on with it.
    turn_ended: bool,
    tools: Vec<OpenTool>,
    closed_calls: VecDeque<String>,
    requests: Vec<Request>,
    agents: Vec<String>,
    ended_agents: VecDeque<String>,
    compaction: Compaction,
    /// The last heartbeat, or the start of the turn.
    beat_ms: i64,
    /// The last hook's time.
    last_ms: i64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Phase {
    #[default]
    New,
    Open,
    Ended,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Turn {
    /// Its id, then those of the prompts by which the harness continued it.
    ids: Vec<String>,
    /// When it started; `None` where that was not seen.
    started_ms: Option<i64>,
    /// Since when only background work goes on.
    paused_ms: Option<i64>,
    /// Its end is told already: a blocking stop hook made it go on.
    told: bool,
    /// The last call of the model failed, with this error (without secrets), and nothing came of another since.
    failed: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct OpenTool {
    tool: String,
    call: Option<String>,
    turn: Option<String>,
    agent: Option<String>,
    /// SHA-256 of the input.
    input: String,
    mcp_server: Option<String>,
    started_ms: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Request {
    id: String,
    kind: AttentionKind,
    tool: Option<String>,
    /// SHA-256 of the input.
    input: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Compaction {
    #[default]
    None,
    /// Begun; it may fail.
    Pending(CompactTrigger),
    /// Reported: the second hook about it says nothing new.
    Told,
}

/// An event without its envelope.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// The type.
    pub kind: EventType,
    /// Milliseconds since the epoch.
    pub at_ms: i64,
    /// The native event's name; `None` where no hook said so.
    pub event: Option<String>,
    /// The data.
    pub data: Map<String, Value>,
}

/// The circumstances of a hook call.
pub struct Moment<'a> {
    /// Its harness.
    pub harness: &'a Harness,
    /// Its own time, milliseconds since the epoch.
    pub at_ms: i64,
    /// The person's home: paths outside the repository are written from it.
    pub home: &'a Path,
    /// The agent's process, where it is known.
    pub process: Option<&'a Process>,
    /// Whether a process still runs.
    pub alive: &'a dyn Fn(&Process) -> bool,
}

/// How a turn ends.
#[derive(Clone, Debug, PartialEq)]
enum TurnEnd {
    Stop,
    Interrupt,
    Error(Option<String>),
}

impl From<WorkEnd> for TurnEnd {
    fn from(end: WorkEnd) -> Self {
        match end {
            WorkEnd::Stop => Self::Stop,
            WorkEnd::Interrupt => Self::Interrupt,
            WorkEnd::Error => Self::Error(None),
        }
    }
}

impl SessionState {
    /// A session that nothing was seen of yet.
    #[must_use]
    pub fn new(id: String) -> Self {
        Self { id, ..Self::default() }
    }

    /// Takes what one hook call says.
    pub fn apply(&mut self, mapped: &Mapped, moment: &Moment<'_>) -> Vec<Draft> {
        let mut steps = Steps {
            state: self,
            drafts: Vec::new(),
            at_ms: moment.at_ms,
            event: &mapped.event,
            opens: opens(&mapped.seen),
            anywhere: mapped.anywhere,
        };
        steps.learn(mapped, moment);
        for seen in &mapped.seen {
            steps.take(seen, moment);
        }
        let mut drafts = steps.drafts;
        if mapped.partial {
            for draft in &mut drafts {
                draft.data.insert("partial".to_owned(), true.into());
            }
        }
        self.mark(moment.harness, &mut drafts);
        drafts
    }

    /// Takes the passing of time: heartbeats, and sessions whose process is gone.
    pub fn tick(&mut self, harness: &Harness, now_ms: i64, alive: &dyn Fn(&Process) -> bool) -> Vec<Draft> {
        if self.phase != Phase::Open {
            return Vec::new();
        }
        let gone = self.process.as_ref().is_some_and(|process| !alive(process));
        let mut steps =
            Steps { state: self, drafts: Vec::new(), at_ms: now_ms, event: "", opens: false, anywhere: false };
        if gone {
            let since = *steps.state.gone_ms.get_or_insert(now_ms);
            if is_over(since, now_ms, LOST_GRACE_MS) {
                steps.lost(harness);
            }
        } else {
            steps.state.gone_ms = None;
            if steps.state.turn.is_some() && is_over(steps.state.beat_ms, now_ms, HEARTBEAT_MS) {
                steps.state.beat_ms = now_ms;
                steps.said(EventType::SessionHeartbeat, json!({}));
            }
        }
        let mut drafts = steps.drafts;
        for draft in &mut drafts {
            draft.event = None;
        }
        self.mark(harness, &mut drafts);
        drafts
    }

    /// A turn is open and its process is known: the worker stays, and ticks.
    #[must_use]
    pub fn needs_watching(&self) -> bool {
        self.phase == Phase::Open && self.process.is_some() && (self.turn.is_some() || self.gone_ms.is_some())
    }

    /// The session has begun and not ended.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// The agent's process.
    #[must_use]
    pub fn process(&self) -> Option<&Process> {
        self.process.as_ref()
    }

    /// Takes what the harness's files say. A better title is never replaced by a worse one.
    pub fn facts(&mut self, facts: Facts) {
        let keep = |old: &mut Option<String>, new: Option<String>| {
            if new.is_some() {
                *old = new;
            }
        };
        keep(&mut self.version, facts.version);
        keep(&mut self.model, facts.model);
        keep(&mut self.account_id, facts.account_id);
        keep(&mut self.url, facts.url);
        self.take_title(facts.title);
    }

    /// Without secrets, since the state lies on the disk, as events do.
    fn take_title(&mut self, title: Option<(String, TitleSource)>) {
        if let Some((text, source)) = title.filter(|(text, _)| !text.is_empty())
            && self.title.as_ref().is_none_or(|(_, old)| source >= *old)
        {
            self.title = Some((redact_text(&text).into_owned(), source));
        }
    }

    /// The session block as it is known now; `seq` is the outbox's.
    #[must_use]
    pub fn block(&self, home: &Path, machine: Option<&str>) -> Session {
        Session {
            id: self.id.clone(),
            machine: machine.map(str::to_owned),
            cwd: self.cwd.as_ref().map(|cwd| tilde(home, Path::new(cwd))),
            model: self.model.clone(),
            title: self.title.as_ref().map(|(text, _)| text.clone()),
            title_source: self.title.as_ref().map(|(_, source)| name_of(source)),
            url: self.url.clone(),
            account_id: self.account_id.clone(),
            parent_id: self.parent.clone(),
            ..Session::default()
        }
    }

    /// The event for a draft: at the highest tier, unredacted, `seq` 0. `identity` makes its id: the same report, the
    /// same id.
    #[must_use]
    pub fn event(&self, draft: Draft, harness: &str, block: Session, identity: &[&str]) -> Event {
        Event {
            protocol: PROTOCOL,
            id: ids::event_id(draft.at_ms, identity),
            kind: draft.kind.name().to_owned(),
            time: rfc3339(draft.at_ms),
            tier: MAX_TIER,
            harness: EventHarness { name: harness.to_owned(), version: self.version.clone(), event: draft.event },
            session: block,
            privacy: Privacy::default(),
            data: draft.data,
        }
    }

    /// A path as `files.changed` writes it: from the root of the repository, else from the home.
    fn path_from(&self, home: &Path, path: &str) -> String {
        let mut whole = PathBuf::from(self.cwd.as_deref().unwrap_or_default());
        for part in Path::new(path).components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir => {
                    whole.pop();
                }
                part => whole.push(part),
            }
        }
        match self.root.as_ref().and_then(|root| whole.strip_prefix(root).ok()) {
            Some(inside) => inside.display().to_string(),
            None => tilde(home, &whole),
        }
    }

    /// What is said in every event of a kind.
    fn mark(&self, harness: &Harness, drafts: &mut [Draft]) {
        for Draft { kind, data, .. } in drafts {
            if self.id_made_up {
                data.insert("id_made_up".to_owned(), true.into());
            }
            if matches!(kind, EventType::ToolStarted | EventType::ToolEnded)
                && let Some(tool) = data.get("tool").and_then(Value::as_str)
            {
                let is_mcp = data.get("mcp_server").is_some();
                let kind = if is_mcp { ToolKind::Mcp } else { harness.tool_kind(tool) };
                // Beside the name.
                data.shift_insert(1, "tool_kind".to_owned(), json!(kind));
            }
        }
    }
}

/// One hook call (or tick) at work on a session.
struct Steps<'a> {
    state: &'a mut SessionState,
    drafts: Vec<Draft>,
    at_ms: i64,
    event: &'a str,
    /// Something begins with it: only that opens a session again after its end.
    opens: bool,
    /// See [`Mapped::anywhere`].
    anywhere: bool,
}

impl Steps<'_> {
    /// An event that the hook states.
    fn said(&mut self, kind: EventType, data: Value) {
        self.push(kind, data, Some(self.event.to_owned()));
    }

    /// An event that no hook states.
    fn derived(&mut self, kind: EventType, mut data: Value) {
        data["derived"] = true.into();
        self.push(kind, data, None);
    }

    fn push(&mut self, kind: EventType, data: Value, event: Option<String>) {
        let Value::Object(mut data) = data else { return };
        data.retain(|_, value| !value.is_null());
        self.drafts.push(Draft { kind, at_ms: self.at_ms, event, data });
    }

    fn learn(&mut self, mapped: &Mapped, moment: &Moment<'_>) {
        let keep = |old: &mut Option<String>, new: &Option<String>| {
            if new.is_some() {
                old.clone_from(new);
            }
        };
        let state = &mut *self.state;
        // The state lies on the disk, as events do.
        let path = |path: &String| redact_tokens(path).into_owned();
        keep(&mut state.cwd, &mapped.cwd.as_ref().map(path));
        keep(&mut state.transcript, &mapped.transcript.as_ref().map(path));
        keep(&mut state.model, &mapped.model);
        keep(&mut state.version, &mapped.version);
        keep(&mut state.parent, &mapped.parent);
        state.take_title(mapped.title.clone());
        state.told_by_hooks |= !mapped.endless;
        state.last_ms = state.last_ms.max(moment.at_ms);
        let Some(process) = moment.process else { return };
        match &state.process {
            Some(old) if old == process => state.gone_ms = None,
            Some(old) if (moment.alive)(old) => {
                // A second program on the same session: the one that starts it, or works on it, is the one to watch.
                let takes_over = |seen: &Seen| match seen {
                    Seen::SessionStart { .. } => true,
                    Seen::Prompt { .. } | Seen::Working { .. } => (moment.alive)(process),
                    _ => false,
                };
                if mapped.seen.iter().any(takes_over) {
                    state.process = Some(process.clone());
                }
            }
            Some(_) if state.phase == Phase::Open && self.opens => {
                // It goes on in a new process, and the old one never said goodbye.
                self.lost(moment.harness);
                self.state.process = Some(process.clone());
            }
            Some(_) if state.phase == Phase::Open => {}
            _ => state.process = Some(process.clone()),
        }
    }

    fn take(&mut self, seen: &Seen, moment: &Moment<'_>) {
        let starts = matches!(seen, Seen::SessionStart { .. });
        let is_late = (1..=LATE_MS).contains(&(self.state.last_ms - moment.at_ms));
        match self.state.phase {
            Phase::Open => {}
            // What closes something after the end comes late: it says nothing new. Nor does what began before the end,
            // and was only taken after it.
            Phase::Ended if is_late || !self.opens => return,
            Phase::Ended if self.is_leaving(seen, moment) => return,
            _ if starts => {}
            Phase::New | Phase::Ended => {
                self.open();
                self.derived(EventType::SessionStarted, json!({"source": StartSource::Unknown}));
            }
        }
        let silent = self.silent_end(moment.harness);
        match seen {
            Seen::SessionStart { source } => {
                if self.state.phase != Phase::Open {
                    self.open();
                    self.said(EventType::SessionStarted, json!({"source": source}));
                }
            }
            // It goes on in another program: a daemon may say a minute later that a session is closed there.
            Seen::SessionEnd { .. } | Seen::RunEnd { .. } if self.is_elsewhere(moment) => {}
            Seen::RunEnd { .. } if self.state.turn.is_some() => self.end_turn(TurnEnd::Stop, true),
            Seen::SessionEnd { reason } | Seen::RunEnd { reason } => {
                self.end_turn(silent, false);
                self.clear_requests(|_| true, Cleared::Cancelled);
                self.said(EventType::SessionEnded, json!({"reason": reason}));
                self.state.phase = Phase::Ended;
                self.state.left = self.state.process.clone().filter(|_| *reason == EndReason::Exit);
            }
            Seen::Prompt { turn, chars, by } => self.prompt(turn.as_deref(), *chars, *by, silent),
            Seen::Stop { kind: StopKind::Retry, .. } | Seen::Activity => {}
            Seen::Stop { kind: StopKind::Pause, .. } => {
                if let Some(turn) = &mut self.state.turn {
                    turn.paused_ms = Some(moment.at_ms);
                }
            }
            Seen::Stop { turn, kind: StopKind::Final } => self.stop(turn.as_deref(), TurnEnd::Stop, silent),
            Seen::Stop { turn, kind: StopKind::First } => {
                // What was taken for the rest of an ended turn was one of its own.
                self.state.turn_ended = false;
                if let Some(open) = &mut self.state.turn {
                    open.told = false;
                }
                self.stop(turn.as_deref(), TurnEnd::Stop, silent);
            }
            Seen::Failed { turn, error } => {
                let error = error.clone().or_else(|| self.failure());
                self.stop(turn.as_deref(), TurnEnd::Error(error), silent);
            }
            Seen::CallFailed { error } => {
                if let Some(turn) = &mut self.state.turn {
                    turn.failed = Some(redact_text(error).into_owned());
                }
            }
            Seen::Aborted { turn } => self.stop(turn.as_deref(), TurnEnd::Interrupt, silent),
            Seen::Working { turn } => self.working(turn.as_deref()),
            Seen::WorkEnds { .. } if self.is_elsewhere(moment) => {}
            Seen::WorkEnds { how } => {
                // A turn whose start was told has a hook for its end: without that it ended without a word.
                if self.state.turn.as_ref().is_some_and(|turn| turn.started_ms.is_none()) {
                    self.end_turn((*how).into(), true);
                }
            }
            Seen::ToolStart(call) => self.tool_start(call),
            Seen::ToolEnd { call, result } => self.tool_end(call, result),
            Seen::ToolsSettled { calls, .. } => {
                for (call, text) in calls {
                    self.settle(call, text.as_deref());
                }
            }
            Seen::NeedsYou(need) => self.needs(need, silent),
            Seen::Answered { kind, id, how } => {
                let answered = |request: &Request| {
                    kind.is_none_or(|kind| request.kind == kind) && id.as_ref().is_none_or(|id| request.id == *id)
                };
                for request in self.state.requests.extract_if(.., |r| answered(r)).collect::<Vec<_>>() {
                    self.said(EventType::AttentionCleared, json!({"attention_id": request.id, "how": how}));
                }
            }
            Seen::SubagentStart { agent, agent_type } => {
                if !self.state.agents.contains(agent) {
                    self.state.ended_agents.retain(|ended| ended != agent);
                    if self.state.agents.len() == MAX_OPEN {
                        let oldest = self.state.agents.remove(0);
                        self.close_tools(|tool| tool.agent.as_ref() == Some(&oldest));
                        self.derived(EventType::SubagentEnded, json!({"agent_id": oldest}));
                    }
                    self.state.agents.push(agent.clone());
                    self.said(EventType::SubagentStarted, json!({"agent_id": agent, "agent_type": named(agent_type)}));
                }
            }
            Seen::SubagentEnd { agent, agent_type } => {
                let known = self.state.agents.iter().position(|a| a == agent).map(|at| self.state.agents.remove(at));
                if known.is_some() || named(agent_type).is_some() {
                    self.close_tools(|tool| tool.agent.as_ref() == Some(agent));
                    // A hook that keeps it from stopping makes it stop again.
                    if self.state.ended_agents.contains(agent) {
                        return;
                    }
                    remember(&mut self.state.ended_agents, agent.clone(), REMEMBERED_CALLS);
                    self.said(EventType::SubagentEnded, json!({"agent_id": agent, "agent_type": named(agent_type)}));
                }
            }
            Seen::SubagentRan { agent } => {
                self.derived(EventType::SubagentStarted, json!({"agent_id": agent}));
                self.said(EventType::SubagentEnded, json!({"agent_id": agent}));
            }
            Seen::CompactStart { trigger } => self.state.compaction = Compaction::Pending(*trigger),
            Seen::Compacted { trigger } => {
                let pending = match std::mem::replace(&mut self.state.compaction, Compaction::Told) {
                    Compaction::Told => return,
                    Compaction::Pending(pending) => Some(pending),
                    Compaction::None => None,
                };
                let trigger = trigger.or(pending).unwrap_or(CompactTrigger::Auto);
                self.said(EventType::ContextCompacted, json!({"trigger": trigger}));
            }
            Seen::FilesChanged { paths } => {
                let paths: Vec<String> = paths.iter().map(|path| self.state.path_from(moment.home, path)).collect();
                self.said(EventType::FilesChanged, json!({"paths": paths}));
            }
        }
    }

    /// How a turn ends now that no hook said how.
    fn silent_end(&self, harness: &Harness) -> TurnEnd {
        if self.state.turn.as_ref().is_some_and(|turn| turn.failed.is_some()) {
            return TurnEnd::Error(self.failure());
        }
        let in_call = !self.state.tools.is_empty() || !self.state.requests.is_empty();
        match harness.quirks.silent_end {
            SilentEnd::Interrupt => TurnEnd::Interrupt,
            SilentEnd::InterruptInCall if in_call => TurnEnd::Interrupt,
            SilentEnd::Error | SilentEnd::InterruptInCall => TurnEnd::Error(None),
        }
    }

    /// What the harness said of the call that failed last.
    fn failure(&self) -> Option<String> {
        self.state.turn.as_ref()?.failed.clone().filter(|error| !error.is_empty())
    }

    /// Whether a program that was told to go still says what it does until it is gone. Only a new beginning is no such thing.
    fn is_leaving(&self, seen: &Seen, moment: &Moment<'_>) -> bool {
        let begins = matches!(seen, Seen::SessionStart { .. } | Seen::Prompt { by: PromptBy::Person, .. });
        !begins && self.state.left.is_some() && moment.process == self.state.left.as_ref()
    }

    /// Whether the program to watch is another than the one that speaks, and lives.
    fn is_elsewhere(&self, moment: &Moment<'_>) -> bool {
        let watched = self.state.process.as_ref();
        let is_other = |(here, watched): (&Process, &Process)| here != watched && (moment.alive)(watched);
        !self.anywhere && moment.process.zip(watched).is_some_and(is_other)
    }

    fn open(&mut self) {
        self.state.phase = Phase::Open;
        self.state.turn = None;
        self.state.turn_ended = false;
        self.state.tools.clear();
        self.state.requests.clear();
        self.state.agents.clear();
        self.state.compaction = Compaction::None;
        self.state.gone_ms = None;
    }

    fn prompt(&mut self, turn: Option<&str>, chars: Option<u64>, by: PromptBy, silent: TurnEnd) {
        let named = |open: &Turn| turn.is_some_and(|id| open.ids.iter().any(|known| known == id));
        match by {
            PromptBy::Person => {
                self.clear_requests(|request| request.kind == AttentionKind::Idle, Cleared::Answered);
                if self.state.turn.is_none() {
                    // Asked between two turns, by a helper in the background: whoever can prompt has no dialog before them.
                    self.clear_requests(|_| true, Cleared::Unknown);
                }
            }
            // It works again: it does not wait for a prompt.
            _ => self.clear_requests(|r| r.kind == AttentionKind::Idle, Cleared::Unknown),
        }
        let ended = turn.is_some_and(|id| self.has_ended(id));
        match &mut self.state.turn {
            // It steers the running turn, or the harness goes on with it: but not with one that had failed.
            Some(open) if named(open) || by == PromptBy::Harness && open.failed.is_none() => {
                open.paused_ms = None;
                if let Some(id) = turn.filter(|_| !named(open)) {
                    if open.ids.len() == REMEMBERED_TURNS {
                        // The first is the one by which the turn is told.
                        open.ids.remove(1);
                    }
                    open.ids.push(id.to_owned());
                }
                return;
            }
            Some(_) => self.end_turn(silent, false),
            None if ended => return,
            None => {}
        }
        self.state.turn = Some(Turn {
            ids: turn.map(str::to_owned).into_iter().collect(),
            started_ms: Some(self.at_ms),
            ..Turn::default()
        });
        self.state.turn_ended = false;
        self.state.beat_ms = self.at_ms;
        let chars = chars.filter(|_| by == PromptBy::Person);
        self.said(EventType::TurnStarted, json!({"turn_id": turn, "prompt_chars": chars}));
    }

    /// The main agent has stopped: whatever turn is open is over.
    fn stop(&mut self, turn: Option<&str>, end: TurnEnd, silent: TurnEnd) {
        let Some(open) = &self.state.turn else {
            let again = turn.map_or(self.state.turn_ended, |id| self.has_ended(id));
            if !again {
                self.state.turn = Some(Turn { ids: turn.map(str::to_owned).into_iter().collect(), ..Turn::default() });
                self.end_turn(end, true);
            }
            return;
        };
        let same = turn.is_none_or(|id| open.ids.is_empty() || open.ids.iter().any(|known| known == id));
        if same || open.paused_ms.is_some() {
            self.end_turn(end, true);
        } else if turn.is_some_and(|id| !self.has_ended(id)) {
            // It began unseen, after the open one had ended without a word.
            self.end_turn(silent, false);
            self.stop(turn, end, TurnEnd::Interrupt);
        }
    }

    /// Closes what is open, and tells the end of the turn if it was not told. `said`: a hook states it.
    fn end_turn(&mut self, end: TurnEnd, said: bool) {
        // The agent had stopped: what went on in the background is not what its end is called after.
        let paused = self.state.turn.as_ref().is_some_and(|turn| turn.paused_ms.is_some());
        let end = if paused && !said { TurnEnd::Stop } else { end };
        let how = if end == TurnEnd::Stop { Cleared::Answered } else { Cleared::Cancelled };
        let agents = self.state.agents.clone();
        let all = !said;
        self.close_tools(|tool| all || tool.agent.as_ref().is_none_or(|agent| !agents.contains(agent)));
        self.clear_requests(|request| request.kind != AttentionKind::Idle, how);
        let Some(turn) = self.state.turn.take() else { return };
        for id in &turn.ids {
            if !self.has_ended(id) {
                remember(&mut self.state.ended_turns, id.clone(), REMEMBERED_TURNS);
            }
        }
        self.state.turn_ended = true;
        if turn.told {
            return;
        }
        let (reason, error) = match end {
            TurnEnd::Stop => ("stop", None),
            TurnEnd::Interrupt => ("interrupt", None),
            TurnEnd::Error(error) => ("error", error),
        };
        // When a turn ended without a word is not known, but for one that only waited for background work.
        let ended_ms = if said { Some(self.at_ms) } else { turn.paused_ms };
        let ms = ended_ms.zip(turn.started_ms).map(|(end, start)| (end - start).max(0));
        let data = json!({"turn_id": turn.ids.first(), "reason": reason, "ms": ms, "error": error});
        if said {
            self.said(EventType::TurnEnded, data);
        } else {
            self.derived(EventType::TurnEnded, data);
        }
    }

    fn lost(&mut self, harness: &Harness) {
        self.end_turn(TurnEnd::Interrupt, false);
        self.clear_requests(|_| true, Cleared::Unknown);
        self.state.process = None;
        self.state.gone_ms = None;
        let version = self.state.version.as_ref().and_then(|version| semver::Version::parse(version).ok());
        let tells = match (harness.quirks.session_end_since, version) {
            (Some(since), Some(version)) => (version.major, version.minor, version.patch) >= since,
            _ => true,
        };
        if harness.has_session_end && self.state.told_by_hooks && tells {
            self.derived(EventType::SessionEnded, json!({"reason": EndReason::Other, "lost": true}));
            self.state.phase = Phase::Ended;
        }
    }

    fn working(&mut self, turn: Option<&str>) {
        let ended = turn.map_or(self.state.turn_ended, |id| self.has_ended(id));
        if self.state.turn.is_none() && !ended && self.state.told_by_hooks {
            self.state.turn = Some(Turn { ids: turn.map(str::to_owned).into_iter().collect(), ..Turn::default() });
            self.state.beat_ms = self.at_ms;
            self.derived(EventType::TurnStarted, json!({"turn_id": turn}));
        }
    }

    fn tool_start(&mut self, call: &ToolCall) {
        if let Some(id) = &call.call
            && (self.has_closed(&call.tool, id) || self.state.tools.iter().any(|t| t.call.as_ref() == Some(id)))
        {
            return;
        }
        if call.agent.is_none() {
            self.clear_requests(|request| request.kind == AttentionKind::Idle, Cleared::Unknown);
        }
        if call.agent.is_none()
            && let Some(turn) = &mut self.state.turn
        {
            turn.failed = None;
        }
        if call.agent.is_none() && self.state.turn.is_none() {
            // It goes on after a stop that somebody's hook blocked, or began before the hooks were there: what announces a
            // turn of this harness came for none.
            self.state.turn = Some(Turn {
                ids: call.turn.clone().into_iter().collect(),
                told: call.turn.as_ref().map_or(self.state.turn_ended, |id| self.has_ended(id)),
                ..Turn::default()
            });
            self.state.beat_ms = self.at_ms;
        }
        if self.state.tools.len() == MAX_OPEN {
            let oldest = self.state.tools.first().cloned();
            self.close_tools(|tool| Some(tool) == oldest.as_ref());
        }
        let turn = self.turn_of(call);
        self.state.tools.push(OpenTool {
            tool: call.tool.clone(),
            call: call.call.clone(),
            turn: turn.clone(),
            agent: call.agent.clone(),
            input: digest(call.input.as_ref()),
            mcp_server: call.mcp_server.clone(),
            started_ms: self.at_ms,
        });
        self.said(
            EventType::ToolStarted,
            json!({"tool": call.tool, "call_id": call.call, "turn_id": turn, "agent_id": call.agent,
                "mcp_server": call.mcp_server, "input": call.input}),
        );
    }

    fn tool_end(&mut self, call: &ToolCall, result: &ToolResult) {
        let open = self.find_tool(call).map(|at| self.state.tools.remove(at));
        match &call.call {
            Some(id) if open.is_none() && self.has_closed(&call.tool, id) => return,
            Some(id) => remember(&mut self.state.closed_calls, closed_call(&call.tool, id), REMEMBERED_CALLS),
            // Closed with its turn, its own end comes late: each such end is dropped once.
            None if open.is_none() => {
                let unnamed = closed_call(&call.tool, &digest(call.input.as_ref()));
                if let Some(at) = self.state.closed_calls.iter().position(|closed| *closed == unnamed) {
                    self.state.closed_calls.remove(at);
                    return;
                }
            }
            None => {}
        }
        let measured = open.as_ref().map(|open| u64::try_from(self.at_ms - open.started_ms).unwrap_or(0));
        let id = call.call.clone().or_else(|| open.as_ref()?.call.clone());
        let turn = self.turn_of(call).or_else(|| open.as_ref()?.turn.clone());
        if open.is_none() {
            // Not every harness has a hook for it; and hooks may be wired while a tool runs.
            self.derived(
                EventType::ToolStarted,
                json!({"tool": call.tool, "call_id": id, "turn_id": turn, "agent_id": call.agent,
                    "mcp_server": call.mcp_server, "input": call.input}),
            );
        }
        self.answer_requests_of(call);
        self.said(
            EventType::ToolEnded,
            json!({"tool": call.tool, "call_id": id, "turn_id": turn, "agent_id": call.agent,
                "mcp_server": call.mcp_server, "ms": result.ms.or(measured), "ok": result.ok, "error": result.error,
                "input": call.input, "output": result.output}),
        );
    }

    /// A call of a finished batch: if it is still open, it was refused.
    fn settle(&mut self, call: &ToolCall, text: Option<&str>) {
        let Some(at) = self.find_tool(call) else { return };
        let open = self.state.tools.remove(at);
        self.answer_requests_of(call);
        self.close_tool(&open, text);
    }

    fn close_tools(&mut self, which: impl Fn(&OpenTool) -> bool) {
        for tool in self.state.tools.extract_if(.., |tool| which(tool)).collect::<Vec<_>>() {
            self.close_tool(&tool, None);
        }
    }

    fn close_tool(&mut self, tool: &OpenTool, error: Option<&str>) {
        let closed = closed_call(&tool.tool, tool.call.as_ref().unwrap_or(&tool.input));
        remember(&mut self.state.closed_calls, closed, REMEMBERED_CALLS);
        self.derived(
            EventType::ToolEnded,
            json!({"tool": tool.tool, "call_id": tool.call, "turn_id": tool.turn, "agent_id": tool.agent,
                "mcp_server": tool.mcp_server, "ok": false, "error": error}),
        );
    }

    /// The open call that is meant: by id, else by tool and input.
    fn find_tool(&self, call: &ToolCall) -> Option<usize> {
        let tools = &self.state.tools;
        if let Some(id) = &call.call {
            let named = |tool: &OpenTool| tool.call.as_ref() == Some(id);
            let exact = tools.iter().position(|tool| named(tool) && tool.tool == call.tool);
            // A payload that was cut names no tool.
            return exact.or_else(|| tools.iter().position(named).filter(|_| !self.has_closed(&call.tool, id)));
        }
        let same = |tool: &OpenTool| tool.tool == call.tool && tool.agent == call.agent;
        let input = digest(call.input.as_ref());
        tools.iter().position(|tool| same(tool) && tool.input == input)
    }

    fn needs(&mut self, need: &Need, silent: TurnEnd) {
        let open = |request: &Request| match need.kind {
            AttentionKind::Permission | AttentionKind::Question => {
                matches!(request.kind, AttentionKind::Permission | AttentionKind::Question)
            }
            kind => request.kind == kind,
        };
        if need.reminder && self.state.requests.iter().any(open) {
            return;
        }
        if need.kind == AttentionKind::Idle && self.state.turn.as_ref().is_some_and(|turn| turn.paused_ms.is_none()) {
            // It waits for a prompt: the turn is over, and no hook said so.
            self.end_turn(silent, false);
        }
        let id = need.id.clone().unwrap_or_else(|| match &need.tool {
            Some(tool) => {
                let turn = need.turn.as_deref().unwrap_or_default();
                ids::permission_id(turn, tool, need.input.as_ref().unwrap_or(&Value::Null))
            }
            None => format!("notif-{}", self.at_ms),
        });
        let repeated = |request: &Request| {
            request.id == id || need.kind == AttentionKind::Idle && request.kind == AttentionKind::Idle
        };
        if self.state.requests.iter().any(repeated) {
            return;
        }
        let mut request = Request {
            id: id.clone(),
            kind: need.kind,
            tool: need.tool.clone(),
            input: need.input.as_ref().map(|input| digest(Some(input))),
        };
        // A notice names no call: it is about the newest that is open.
        if need.tool.is_none()
            && matches!(need.kind, AttentionKind::Permission | AttentionKind::Question | AttentionKind::Elicitation)
            && let Some(about) = self.state.tools.last()
        {
            request.tool = Some(about.tool.clone());
            request.input = Some(about.input.clone());
        }
        if self.state.requests.len() == MAX_OPEN {
            let oldest = self.state.requests.first().cloned();
            self.clear_requests(|request| Some(request) == oldest.as_ref(), Cleared::Unknown);
        }
        self.state.requests.push(request);
        self.said(
            EventType::AttentionNeeded,
            json!({"attention_id": id, "kind": need.kind, "tool": need.tool, "message": need.message}),
        );
    }

    /// A tool that is over does not wait for a permission any more.
    fn answer_requests_of(&mut self, call: &ToolCall) {
        let input = digest(call.input.as_ref());
        let of_tool = |request: &Request| request.tool.as_ref() == Some(&call.tool);
        let exact = |request: &Request| {
            Some(&request.id) == call.call.as_ref() || of_tool(request) && request.input.as_ref() == Some(&input)
        };
        let requests = &self.state.requests;
        // A harness may write the request's input in another way than the call's.
        let of_others: Vec<_> = self.state.tools.iter().map(|tool| Some(tool.input.clone())).collect();
        let alike = |request: &Request| of_tool(request) && !of_others.contains(&request.input);
        let only = !requests.iter().any(exact) && requests.iter().filter(|r| of_tool(r)).count() == 1;
        self.clear_requests(|request| exact(request) || only && alike(request), Cleared::Answered);
    }

    fn clear_requests(&mut self, which: impl Fn(&Request) -> bool, how: Cleared) {
        for request in self.state.requests.extract_if(.., |request| which(request)).collect::<Vec<_>>() {
            self.derived(EventType::AttentionCleared, json!({"attention_id": request.id, "how": how}));
        }
    }

    /// The turn's id as its start told it: prompts by which the harness continued it have ids of their own.
    fn turn_of(&self, call: &ToolCall) -> Option<String> {
        let id = call.turn.as_ref()?;
        let open = self.state.turn.as_ref().filter(|turn| turn.ids.contains(id));
        Some(open.and_then(|turn| turn.ids.first()).unwrap_or(id).clone())
    }

    fn has_closed(&self, tool: &str, id: &str) -> bool {
        self.state.closed_calls.contains(&closed_call(tool, id))
    }

    fn has_ended(&self, turn: &str) -> bool {
        self.state.ended_turns.iter().any(|ended| ended == turn)
    }
}

/// Whether any of it begins something.
fn opens(seen: &[Seen]) -> bool {
    seen.iter().any(|seen| {
        matches!(
            seen,
            Seen::SessionStart { .. }
                | Seen::Prompt { .. }
                | Seen::ToolStart(_)
                | Seen::NeedsYou(_)
                | Seen::SubagentStart { .. }
                | Seen::CompactStart { .. }
        )
    })
}

/// Whether so much time has passed. A clock that was set back by more than that does not stop it.
fn is_over(since_ms: i64, now_ms: i64, most_ms: i64) -> bool {
    now_ms.abs_diff(since_ms) >= most_ms.unsigned_abs()
}

fn digest(input: Option<&Value>) -> String {
    input.map_or_else(String::new, |input| ids::hex(input.to_string().as_bytes()))
}

/// What stands for a call among those that are closed: its tool, since a harness may run two under one id, and its id,
/// else what it was called with.
fn closed_call(tool: &str, id: &str) -> String {
    format!("{tool} {id}")
}

fn named(text: &Option<String>) -> Option<&String> {
    text.as_ref().filter(|text| !text.is_empty())
}

fn name_of(source: &TitleSource) -> String {
    match source {
        TitleSource::FirstAsk => "first-ask",
        TitleSource::Harness => "harness",
        TitleSource::Custom => "custom",
    }
    .to_owned()
}

fn remember(ring: &mut VecDeque<String>, item: String, most: usize) {
    if ring.len() == most {
        ring.pop_front();
    }
    ring.push_back(item);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::Quirks;

    const HARNESS: Harness = Harness {
        name: "test",
        has_session_end: true,
        stop_can_block: true,
        tools: &[("Bash", ToolKind::Shell), ("mcp__*", ToolKind::Mcp)],
        quirks: Quirks { silent_end: SilentEnd::Interrupt, session_end_since: Some((2, 0, 0)) },
        ..Harness::BLANK
    };

    /// A session under test, with a clock and one process.
    struct Bench {
        state: SessionState,
        now: i64,
        process: Process,
        dead: bool,
    }

    impl Bench {
        fn new() -> Self {
            let process = Process { pid: 7, start: 1, name: "agent".to_owned() };
            Self { state: SessionState::new("s".to_owned()), now: 0, process, dead: false }
        }

        /// One hook, a second after the last; the events as short lines.
        fn hook(&mut self, seen: Seen) -> Vec<String> {
            self.now += 1_000;
            let mapped = Mapped { event: "Native".to_owned(), seen: vec![seen], ..Mapped::default() };
            let process = self.process.clone();
            let dead = self.dead;
            let moment = Moment {
                harness: &HARNESS,
                at_ms: self.now,
                home: Path::new("/home/dev"),
                process: Some(&process),
                alive: &|p| !dead && *p == process,
            };
            lines(self.state.apply(&mapped, &moment))
        }

        fn tick(&mut self, after_ms: i64) -> Vec<String> {
            self.now += after_ms;
            let dead = self.dead;
            lines(self.state.tick(&HARNESS, self.now, &|_| !dead))
        }

        fn started() -> Self {
            let mut bench = Self::new();
            let lines = bench.hook(Seen::SessionStart { source: StartSource::Startup });
            assert_eq!(lines, [r#"session.started {"source":"startup"}"#]);
            bench
        }

        /// A session with turn `t1` open.
        fn working() -> Self {
            let mut bench = Self::started();
            assert_eq!(bench.hook(prompt("t1")), [r#"turn.started {"turn_id":"t1","prompt_chars":5}"#]);
            bench
        }
    }

    fn lines(drafts: Vec<Draft>) -> Vec<String> {
        drafts
            .into_iter()
            .map(|draft| {
                let derived = draft.data.contains_key("derived");
                let hookless = derived || draft.kind == EventType::SessionHeartbeat;
                assert_eq!(draft.event.is_none(), hookless, "{draft:?}");
                format!("{} {}", draft.kind.name(), Value::Object(draft.data))
            })
            .collect()
    }

    fn prompt(turn: &str) -> Seen {
        Seen::Prompt { turn: Some(turn.to_owned()), chars: Some(5), by: PromptBy::Person }
    }

    fn by_harness(turn: &str) -> Seen {
        Seen::Prompt { turn: Some(turn.to_owned()), chars: Some(5), by: PromptBy::Harness }
    }

    fn stop(turn: &str, kind: StopKind) -> Seen {
        Seen::Stop { turn: Some(turn.to_owned()), kind }
    }

    fn call(id: &str) -> ToolCall {
        ToolCall {
            tool: "Bash".to_owned(),
            call: Some(id.to_owned()),
            turn: Some("t1".to_owned()),
            input: Some(json!({"command": id})),
            ..ToolCall::default()
        }
    }

    fn ok() -> ToolResult {
        ToolResult { ok: true, ..ToolResult::default() }
    }

    fn permission(input: Value) -> Need {
        Need {
            kind: AttentionKind::Permission,
            id: None,
            turn: Some("t1".to_owned()),
            tool: Some("Bash".to_owned()),
            input: Some(input),
            message: None,
            reminder: false,
        }
    }

    fn reminder(kind: AttentionKind) -> Seen {
        Seen::NeedsYou(Need {
            kind,
            id: None,
            turn: None,
            tool: None,
            input: None,
            message: Some("?".to_owned()),
            reminder: true,
        })
    }

    const ENDED_T1: &str = r#"turn.ended {"turn_id":"t1","reason":"interrupt","derived":true}"#;

    #[test]
    fn a_turn_has_a_start_an_end_and_a_duration() {
        let mut bench = Bench::working();
        assert_eq!(
            bench.hook(stop("t1", StopKind::Final)),
            [r#"turn.ended {"turn_id":"t1","reason":"stop","ms":1000}"#]
        );
        assert_eq!(bench.hook(Seen::SessionEnd { reason: EndReason::Exit }), [r#"session.ended {"reason":"exit"}"#]);
        assert!(bench.hook(Seen::SessionEnd { reason: EndReason::Other }).is_empty(), "ends are said once");
    }

    #[test]
    fn a_second_report_of_a_turns_end_is_dropped() {
        let mut bench = Bench::working();
        bench.hook(stop("t1", StopKind::Final));
        assert!(bench.hook(stop("t1", StopKind::Final)).is_empty());
        bench.hook(prompt("t2"));
        assert!(bench.hook(stop("t1", StopKind::Final)).is_empty(), "t2 still runs");
        assert_eq!(bench.hook(stop("t2", StopKind::Final)).len(), 1);
    }

    #[test]
    fn a_turn_that_goes_on_after_a_blocked_stop_ends_once() {
        let mut bench = Bench::working();
        bench.hook(stop("t1", StopKind::Final));
        assert_eq!(bench.hook(Seen::ToolStart(call("c1"))).len(), 1);
        assert!(bench.state.needs_watching());
        bench.hook(Seen::ToolEnd { call: call("c1"), result: ok() });
        assert!(bench.hook(stop("t1", StopKind::Final)).is_empty());
        assert!(!bench.state.needs_watching());
    }

    #[test]
    fn turns_that_no_hook_announces_end_by_their_first_stops() {
        let unseen = || Seen::Working { turn: None };
        let stop = |kind| Seen::Stop { turn: None, kind };
        let unnamed = || Seen::ToolStart(ToolCall { call: None, turn: None, ..call("a") });
        let ended = [r#"turn.ended {"reason":"stop"}"#];

        let mut bench = Bench::started();
        assert_eq!(bench.hook(unseen()), [r#"turn.started {"derived":true}"#]);
        assert!(bench.hook(unseen()).is_empty());
        assert_eq!(bench.hook(stop(StopKind::First)), ended);
        assert!(bench.hook(stop(StopKind::Final)).is_empty(), "the same turn again");
        assert_eq!(bench.hook(stop(StopKind::First)), ended, "another");
        // It may go on with that one: nothing is told before it is certain.
        assert!(bench.hook(unseen()).is_empty());
        bench.hook(unnamed());
        assert_eq!(bench.hook(stop(StopKind::First))[1..], ended);
        bench.hook(unnamed());
        assert_eq!(bench.hook(stop(StopKind::Final)).len(), 1, "the call's end, not the turn's");

        let mut bench = Bench::working();
        assert!(bench.hook(unseen()).is_empty(), "its start was told");
        assert_eq!(bench.hook(stop(StopKind::First)), [r#"turn.ended {"turn_id":"t1","reason":"stop","ms":2000}"#]);
        assert!(bench.hook(unseen()).is_empty());
        bench.hook(unnamed());
        assert_eq!(bench.hook(stop(StopKind::Final)).len(), 1);
        assert!(!bench.state.needs_watching());
    }

    #[test]
    fn an_end_that_holds_anywhere_ends_the_session_of_a_program_that_lives() {
        let mut bench = Bench::working();
        let process = Process { pid: 8, ..bench.process.clone() };
        let home = Path::new("/home/dev");
        let moment = Moment { harness: &HARNESS, at_ms: 3_000, home, process: Some(&process), alive: &|_| true };
        let mut end = Mapped {
            event: "Native".to_owned(),
            seen: vec![Seen::SessionEnd { reason: EndReason::Exit }],
            ..Mapped::default()
        };
        assert!(bench.state.apply(&end, &moment).is_empty(), "closed there only");
        end.anywhere = true;
        assert_eq!(lines(bench.state.apply(&end, &moment)), [ENDED_T1, r#"session.ended {"reason":"exit"}"#]);
    }

    #[test]
    fn a_steering_prompt_opens_no_turn() {
        let mut bench = Bench::working();
        assert!(bench.hook(prompt("t1")).is_empty());
    }

    #[test]
    fn a_turn_without_an_end_is_closed_by_the_next_prompt() {
        let mut bench = Bench::working();
        bench.hook(Seen::ToolStart(call("c1")));
        bench.hook(Seen::NeedsYou(permission(json!({"command": "c1"}))));
        let id = ids::permission_id("t1", "Bash", &json!({"command": "c1"}));
        assert_eq!(
            bench.hook(prompt("t2")),
            [
                r#"tool.ended {"tool":"Bash","tool_kind":"shell","call_id":"c1","turn_id":"t1","ok":false,"derived":true}"#.to_owned(),
                format!(r#"attention.cleared {{"attention_id":"{id}","how":"cancelled","derived":true}}"#),
                ENDED_T1.to_owned(),
                r#"turn.started {"turn_id":"t2","prompt_chars":5}"#.to_owned(),
            ]
        );
    }

    #[test]
    fn background_work_keeps_the_turn() {
        let mut bench = Bench::working();
        assert!(bench.hook(stop("t1", StopKind::Pause)).is_empty());
        assert!(bench.hook(by_harness("n1")).is_empty(), "the harness goes on with it");
        let later = ToolCall { turn: Some("n1".to_owned()), ..call("c1") };
        assert_eq!(
            bench.hook(Seen::ToolStart(later)),
            [
                r#"tool.started {"tool":"Bash","tool_kind":"shell","call_id":"c1","turn_id":"t1","input":{"command":"c1"}}"#
            ]
        );
        bench.hook(Seen::ToolEnd { call: call("c1"), result: ok() });
        assert_eq!(
            bench.hook(stop("n1", StopKind::Final)),
            [r#"turn.ended {"turn_id":"t1","reason":"stop","ms":5000}"#]
        );
    }

    #[test]
    fn a_turn_that_the_harness_continues_for_ever_keeps_its_name_and_a_few_ids() {
        let mut bench = Bench::working();
        for n in 0..100 {
            bench.hook(stop("t1", StopKind::Pause));
            assert!(bench.hook(by_harness(&format!("n{n}"))).is_empty());
        }
        assert_eq!(bench.state.turn.as_ref().map(|turn| turn.ids.len()), Some(REMEMBERED_TURNS));
        assert_eq!(
            bench.hook(stop("n99", StopKind::Final)),
            [r#"turn.ended {"turn_id":"t1","reason":"stop","ms":201000}"#]
        );
    }

    #[test]
    fn of_too_much_that_never_ends_the_oldest_is_closed() {
        let mut bench = Bench::working();
        let agent = |n: usize| Seen::SubagentStart { agent: format!("a{n}"), agent_type: None };
        let need = |n: usize| Seen::NeedsYou(Need { id: Some(format!("r{n}")), ..permission(json!(n)) });
        for n in 0..MAX_OPEN {
            assert_eq!(bench.hook(agent(n)).len(), 1);
            assert_eq!(bench.hook(need(n)).len(), 1);
        }
        assert_eq!(
            bench.hook(agent(MAX_OPEN)),
            [r#"subagent.ended {"agent_id":"a0","derived":true}"#, r#"subagent.started {"agent_id":"a256"}"#]
        );
        assert_eq!(
            bench.hook(need(MAX_OPEN)),
            [
                r#"attention.cleared {"attention_id":"r0","how":"unknown","derived":true}"#,
                r#"attention.needed {"attention_id":"r256","kind":"permission","tool":"Bash"}"#,
            ]
        );
    }

    #[test]
    fn a_prompt_ends_a_paused_turn_at_its_pause() {
        let mut bench = Bench::working();
        bench.hook(stop("t1", StopKind::Pause));
        bench.now += 50_000;
        assert_eq!(
            bench.hook(prompt("t2"))[0],
            r#"turn.ended {"turn_id":"t1","reason":"stop","ms":1000,"derived":true}"#
        );
    }

    #[test]
    fn a_session_that_ends_while_background_work_goes_on_was_not_interrupted() {
        let mut bench = Bench::working();
        bench.hook(stop("t1", StopKind::Pause));
        bench.now += 50_000;
        assert_eq!(
            bench.hook(Seen::SessionEnd { reason: EndReason::Exit }),
            [
                r#"turn.ended {"turn_id":"t1","reason":"stop","ms":1000,"derived":true}"#,
                r#"session.ended {"reason":"exit"}"#,
            ]
        );
    }

    #[test]
    fn a_tool_call_is_paired_by_id_and_told_once() {
        let mut bench = Bench::working();
        bench.hook(Seen::ToolStart(call("c1")));
        bench.hook(Seen::ToolStart(call("c2")));
        assert!(bench.hook(Seen::ToolStart(call("c1"))).is_empty());
        assert_eq!(
            bench.hook(Seen::ToolEnd { call: call("c1"), result: ok() }),
            [
                r#"tool.ended {"tool":"Bash","tool_kind":"shell","call_id":"c1","turn_id":"t1","ms":3000,"ok":true,"input":{"command":"c1"}}"#
            ]
        );
        assert!(bench.hook(Seen::ToolEnd { call: call("c1"), result: ok() }).is_empty());
    }

    #[test]
    fn an_end_without_a_start_tells_both() {
        let mut bench = Bench::working();
        let unnamed = ToolCall { call: None, turn: None, ..call("a") };
        assert_eq!(
            bench.hook(Seen::ToolEnd { call: unnamed, result: ok() }),
            [
                r#"tool.started {"tool":"Bash","tool_kind":"shell","input":{"command":"a"},"derived":true}"#,
                r#"tool.ended {"tool":"Bash","tool_kind":"shell","ok":true,"input":{"command":"a"}}"#,
            ]
        );
        assert_eq!(bench.hook(Seen::ToolEnd { call: call("c1"), result: ok() }).len(), 2);
        assert!(bench.hook(Seen::ToolStart(call("c1"))).is_empty(), "its own start comes late: it is told");
        bench.hook(stop("t1", StopKind::Final));
        assert_eq!(bench.hook(Seen::ToolEnd { call: call("c2"), result: ok() }).len(), 2);
        assert!(!bench.state.needs_watching(), "what ends after the turn opens none");
    }

    #[test]
    fn two_tools_under_one_id_are_two_calls() {
        let mut bench = Bench::working();
        let read = || Seen::ToolEnd { call: ToolCall { tool: "Read".to_owned(), ..call("c1") }, result: ok() };
        assert_eq!(bench.hook(read()).len(), 2, "its start and its end");
        assert_eq!(bench.hook(Seen::ToolStart(call("c1"))).len(), 1);
        assert!(bench.hook(read()).is_empty(), "told, and not the end of the other");
        assert_eq!(bench.hook(Seen::ToolEnd { call: call("c1"), result: ok() }).len(), 1);
        // A payload that was cut may name the call alone.
        bench.hook(Seen::ToolStart(call("c2")));
        let cut = ToolCall { tool: "unknown".to_owned(), ..call("c2") };
        assert_eq!(bench.hook(Seen::ToolEnd { call: cut, result: ok() }).len(), 1);
    }

    #[test]
    fn work_on_a_turn_that_no_hook_announced() {
        const STOPPED: &str = r#"turn.ended {"reason":"stop"}"#;
        const ENDED: &str = r#"session.ended {"reason":"other"}"#;
        let working = |turn: Option<&str>| Seen::Working { turn: turn.map(str::to_owned) };
        let ends = |how| Seen::WorkEnds { how };
        let over = || Seen::SessionEnd { reason: EndReason::Other };

        let mut bench = Bench::started();
        assert!(bench.hook(ends(WorkEnd::Stop)).is_empty(), "nothing was done");
        assert_eq!(bench.hook(working(None)), [r#"turn.started {"derived":true}"#]);
        assert!(bench.hook(working(None)).is_empty() && bench.state.needs_watching());
        assert_eq!(bench.hook(ends(WorkEnd::Stop)), [STOPPED]);
        assert!(bench.hook(working(None)).is_empty() && !bench.state.needs_watching(), "late");
        assert_eq!(bench.hook(over()), [ENDED]);
        // The session goes on.
        bench.hook(Seen::SessionStart { source: StartSource::Resume });
        bench.hook(working(None));
        assert_eq!(bench.hook(ends(WorkEnd::Error)), [r#"turn.ended {"reason":"error"}"#]);

        let mut bench = Bench::working();
        bench.hook(working(Some("t1")));
        assert!(bench.hook(ends(WorkEnd::Stop)).is_empty(), "its start was told: its end has a hook");
        bench.hook(stop("t1", StopKind::Final));
        for late in [Some("t1"), None] {
            bench.hook(working(late));
            assert!(!bench.state.needs_watching(), "{late:?} has ended");
        }
        assert_eq!(bench.hook(working(Some("t2"))), [r#"turn.started {"turn_id":"t2","derived":true}"#]);
        assert_eq!(bench.hook(over()), [ENDED_T1.replace("t1", "t2"), ENDED.to_owned()]);
    }

    #[test]
    fn nothing_would_end_a_turn_of_a_session_without_an_end() {
        let mut bench = Bench::new();
        let mapped = Mapped { endless: true, seen: vec![Seen::Working { turn: None }], ..Mapped::default() };
        let process = bench.process.clone();
        let home = Path::new("/home/dev");
        let moment = Moment { harness: &HARNESS, at_ms: 1, home, process: Some(&process), alive: &|_| true };
        bench.state.apply(&mapped, &moment);
        assert!(bench.state.is_open() && !bench.state.needs_watching());
    }

    #[test]
    fn a_call_without_an_id_that_ends_after_its_turn_is_told_once() {
        let mut bench = Bench::working();
        let unnamed = || ToolCall { call: None, turn: None, ..call("a") };
        bench.hook(Seen::ToolStart(unnamed()));
        assert_eq!(bench.hook(stop("t1", StopKind::Final)).len(), 2, "the call is closed with the turn");
        assert!(bench.hook(Seen::ToolEnd { call: unnamed(), result: ok() }).is_empty());
        assert_eq!(bench.hook(Seen::ToolEnd { call: unnamed(), result: ok() }).len(), 2, "that is another call");
        bench.hook(prompt("t2"));
        bench.hook(Seen::ToolStart(unnamed()));
        assert_eq!(bench.hook(Seen::ToolEnd { call: unnamed(), result: ok() }).len(), 1);
    }

    #[test]
    fn without_a_word_a_turn_was_interrupted_in_a_call_and_failed_elsewhere() {
        let harness =
            Harness { quirks: Quirks { silent_end: SilentEnd::InterruptInCall, session_end_since: None }, ..HARNESS };
        let ended = |seen: &[Seen]| {
            let mut bench = Bench::working();
            for seen in seen {
                bench.hook(seen.clone());
            }
            let mapped = Mapped { seen: vec![prompt("t2")], ..Mapped::default() };
            let home = Path::new("/home/dev");
            let moment = Moment { harness: &harness, at_ms: bench.now, home, process: None, alive: &|_| true };
            let lines = lines(bench.state.apply(&mapped, &moment));
            lines.into_iter().find(|line| line.starts_with("turn.ended")).expect("the turn's end")
        };
        assert_eq!(ended(&[Seen::ToolStart(call("c1"))]), ENDED_T1);
        assert_eq!(ended(&[Seen::NeedsYou(permission(json!({})))]), ENDED_T1);
        let failed = ENDED_T1.replace("interrupt", "error");
        assert_eq!(ended(&[]), failed);
        assert_eq!(ended(&[Seen::ToolStart(call("c1")), Seen::ToolEnd { call: call("c1"), result: ok() }]), failed);
    }

    #[test]
    fn calls_without_ids_are_paired_by_tool_and_input() {
        let mut bench = Bench::working();
        let unnamed = |id: &str| ToolCall { call: None, ..call(id) };
        bench.hook(Seen::ToolStart(unnamed("a")));
        bench.hook(Seen::ToolStart(unnamed("b")));
        let end = bench.hook(Seen::ToolEnd { call: unnamed("a"), result: ok() });
        assert!(end[0].contains(r#""ms":2000"#), "{end:?}");
        assert_eq!(bench.state.tools.len(), 1);
    }

    #[test]
    fn a_settled_batch_names_the_refused_calls() {
        let mut bench = Bench::working();
        bench.hook(Seen::ToolStart(call("c1")));
        bench.hook(Seen::ToolStart(call("c2")));
        bench.hook(Seen::ToolEnd { call: call("c1"), result: ok() });
        let calls = ["c1", "c2", "c3"].map(|id| (call(id), Some("denied".to_owned()))).to_vec();
        assert_eq!(
            bench.hook(Seen::ToolsSettled { agent: None, calls }),
            [
                r#"tool.ended {"tool":"Bash","tool_kind":"shell","call_id":"c2","turn_id":"t1","ok":false,"error":"denied","derived":true}"#
            ]
        );
    }

    #[test]
    fn one_attention_for_a_request_and_its_reminder() {
        let mut bench = Bench::working();
        bench.hook(Seen::ToolStart(call("c1")));
        let id = ids::permission_id("t1", "Bash", &json!({"command": "c1"}));
        let need = permission(json!({"command": "c1"}));
        assert_eq!(
            bench.hook(Seen::NeedsYou(need.clone())),
            [format!(r#"attention.needed {{"attention_id":"{id}","kind":"permission","tool":"Bash"}}"#)]
        );
        assert!(bench.hook(Seen::NeedsYou(need)).is_empty());
        assert!(bench.hook(reminder(AttentionKind::Permission)).is_empty());
        assert_eq!(
            bench.hook(Seen::ToolEnd { call: call("c1"), result: ok() })[0],
            format!(r#"attention.cleared {{"attention_id":"{id}","how":"answered","derived":true}}"#)
        );
        assert_eq!(
            bench.hook(reminder(AttentionKind::Permission)),
            [format!(r#"attention.needed {{"attention_id":"notif-{}","kind":"permission","message":"?"}}"#, bench.now)],
            "without a request before it, it is one"
        );
    }

    #[test]
    fn a_notice_that_names_no_call_is_about_the_newest() {
        let mut bench = Bench::working();
        bench.hook(Seen::ToolStart(call("c1")));
        bench.hook(Seen::ToolStart(call("c2")));
        bench.hook(Seen::NeedsYou(Need { tool: None, input: None, ..permission(json!({})) }));
        assert_eq!(bench.hook(Seen::ToolEnd { call: call("c1"), result: ok() }).len(), 1, "it is not about that one");
        let lines = bench.hook(Seen::ToolEnd { call: call("c2"), result: ok() });
        assert!(lines[0].contains(r#""how":"answered""#), "{lines:?}");
        assert_eq!(lines.len(), 2);
    }

    #[test]
    fn a_turn_that_ends_without_a_word_after_a_failed_call_ended_with_its_error() {
        let failed = |error: &str| Seen::CallFailed { error: error.to_owned() };
        let error = ENDED_T1.replace(r#""interrupt""#, r#""error","error":"no quota""#);
        let mut bench = Bench::working();
        assert!(bench.hook(failed("busy")).is_empty() && bench.hook(failed("no quota")).is_empty());
        assert_eq!(bench.hook(prompt("t2"))[0], error);
        let mut bench = Bench::working();
        bench.hook(failed("no quota"));
        assert_eq!(bench.hook(by_harness("n1"))[0], error, "the harness goes on with no turn that failed");
        let mut bench = Bench::working();
        bench.hook(failed("no quota"));
        bench.hook(Seen::ToolStart(call("c1")));
        assert_eq!(bench.hook(prompt("t2"))[1], ENDED_T1, "it was tried again, and the agent worked on");
        let mut bench = Bench::working();
        bench.hook(failed("no quota"));
        assert_eq!(
            bench.hook(Seen::Failed { turn: None, error: None }),
            [r#"turn.ended {"turn_id":"t1","reason":"error","ms":2000,"error":"no quota"}"#]
        );
        assert!(bench.hook(failed("late")).is_empty());
        assert_eq!(bench.hook(Seen::SessionEnd { reason: EndReason::Exit }).len(), 1);
    }

    #[test]
    fn the_end_of_a_run_ends_the_turn_else_the_session() {
        let run_end = || Seen::RunEnd { reason: EndReason::Other };
        let mut bench = Bench::working();
        assert_eq!(bench.hook(run_end()), [r#"turn.ended {"turn_id":"t1","reason":"stop","ms":1000}"#]);
        assert_eq!(bench.hook(prompt("t2")).len(), 1, "the session goes on");
        bench.hook(stop("t2", StopKind::Final));
        assert_eq!(bench.hook(run_end()), [r#"session.ended {"reason":"other"}"#]);
        assert!(bench.hook(run_end()).is_empty());
    }

    #[test]
    fn a_request_written_in_another_way_is_still_the_calls() {
        let mut bench = Bench::working();
        bench.hook(Seen::ToolStart(call("c1")));
        bench.hook(Seen::NeedsYou(permission(json!({"command": "c1", "description": "why"}))));
        assert_eq!(bench.hook(Seen::ToolEnd { call: call("c1"), result: ok() }).len(), 2);
        assert!(bench.state.requests.is_empty());
    }

    #[test]
    fn waiting_for_a_prompt_proves_that_the_turn_is_over() {
        let mut bench = Bench::working();
        let lines = bench.hook(reminder(AttentionKind::Idle));
        assert_eq!(lines[0], ENDED_T1);
        assert!(lines[1].starts_with("attention.needed"), "{lines:?}");
        assert!(bench.hook(reminder(AttentionKind::Idle)).is_empty());
        assert!(bench.hook(prompt("t2"))[0].contains(r#""how":"answered""#));
    }

    #[test]
    fn an_agent_that_works_again_does_not_wait_for_a_prompt() {
        let cleared = |bench: &Bench| {
            format!(r#"attention.cleared {{"attention_id":"notif-{}","how":"unknown","derived":true}}"#, bench.now)
        };
        let mut bench = Bench::working();
        bench.hook(stop("t1", StopKind::Pause));
        bench.hook(reminder(AttentionKind::Idle));
        let line = cleared(&bench);
        assert_eq!(bench.hook(by_harness("n1")), [line]);
        bench.hook(stop("n1", StopKind::Pause));
        bench.hook(reminder(AttentionKind::Idle));
        let line = cleared(&bench);
        let inner = ToolCall { agent: Some("a1".to_owned()), ..call("c1") };
        assert_eq!(bench.hook(Seen::ToolStart(inner)).len(), 1, "a helper's work proves nothing");
        assert_eq!(bench.hook(Seen::ToolStart(call("c2")))[0], line);
    }

    #[test]
    fn a_prompt_clears_what_was_asked_between_two_turns() {
        let mut bench = Bench::working();
        bench.hook(stop("t1", StopKind::Final));
        bench.hook(reminder(AttentionKind::Permission));
        let line =
            format!(r#"attention.cleared {{"attention_id":"notif-{}","how":"unknown","derived":true}}"#, bench.now);
        assert_eq!(bench.hook(prompt("t2"))[0], line);
        assert!(bench.state.requests.is_empty());
    }

    #[test]
    fn a_subagent_that_is_kept_from_stopping_ends_once() {
        let mut bench = Bench::working();
        let agent = || "a1".to_owned();
        let start = || Seen::SubagentStart { agent: agent(), agent_type: Some("Explore".to_owned()) };
        let end = || Seen::SubagentEnd { agent: agent(), agent_type: Some("Explore".to_owned()) };
        bench.hook(start());
        assert_eq!(bench.hook(end()).len(), 1);
        bench.hook(Seen::ToolStart(ToolCall { agent: Some(agent()), ..call("c1") }));
        assert_eq!(
            bench.hook(end()),
            [
                r#"tool.ended {"tool":"Bash","tool_kind":"shell","call_id":"c1","turn_id":"t1","agent_id":"a1","ok":false,"derived":true}"#
            ]
        );
        assert_eq!(bench.hook(start()).len(), 1, "it is sent for again");
        assert_eq!(bench.hook(end()).len(), 1);
    }

    #[test]
    fn subagents_end_themselves_only() {
        let mut bench = Bench::working();
        let agent = || "a1".to_owned();
        let lines = bench.hook(Seen::SubagentStart { agent: agent(), agent_type: Some("Explore".to_owned()) });
        assert_eq!(lines, [r#"subagent.started {"agent_id":"a1","agent_type":"Explore"}"#]);
        let inner = ToolCall { agent: Some(agent()), ..call("c1") };
        bench.hook(Seen::ToolStart(inner));
        assert_eq!(bench.hook(stop("t1", StopKind::Final)).len(), 1, "its call goes on in the background");
        assert_eq!(
            bench.hook(Seen::SubagentEnd { agent: agent(), agent_type: None }),
            [
                r#"tool.ended {"tool":"Bash","tool_kind":"shell","call_id":"c1","turn_id":"t1","agent_id":"a1","ok":false,"derived":true}"#,
                r#"subagent.ended {"agent_id":"a1"}"#,
            ]
        );
        let inner_helper = Seen::SubagentEnd { agent: "x".to_owned(), agent_type: Some(String::new()) };
        assert!(bench.hook(inner_helper).is_empty());
    }

    #[test]
    fn a_subagent_of_which_only_the_end_is_told_began_too() {
        let mut bench = Bench::working();
        assert_eq!(
            bench.hook(Seen::SubagentRan { agent: "a1".to_owned() }),
            [r#"subagent.started {"agent_id":"a1","derived":true}"#, r#"subagent.ended {"agent_id":"a1"}"#]
        );
    }

    #[test]
    fn a_compaction_is_told_once_and_only_when_it_worked() {
        let mut bench = Bench::working();
        let compacted = |trigger| Seen::Compacted { trigger };
        assert!(bench.hook(Seen::CompactStart { trigger: CompactTrigger::Manual }).is_empty());
        assert_eq!(bench.hook(compacted(None)), [r#"context.compacted {"trigger":"manual"}"#]);
        assert!(bench.hook(compacted(Some(CompactTrigger::Manual))).is_empty());
        bench.hook(Seen::CompactStart { trigger: CompactTrigger::Auto });
        assert_eq!(bench.hook(compacted(Some(CompactTrigger::Auto))), [r#"context.compacted {"trigger":"auto"}"#]);
    }

    #[test]
    fn a_session_whose_start_was_not_seen_gets_one() {
        let mut bench = Bench::new();
        assert_eq!(
            bench.hook(prompt("t1")),
            [
                r#"session.started {"source":"unknown","derived":true}"#,
                r#"turn.started {"turn_id":"t1","prompt_chars":5}"#,
            ]
        );
        assert!(bench.hook(Seen::SessionStart { source: StartSource::Startup }).is_empty(), "it is open already");
    }

    #[test]
    fn what_comes_after_the_end_opens_nothing_but_a_new_beginning() {
        let mut bench = Bench::working();
        assert_eq!(bench.hook(Seen::SessionEnd { reason: EndReason::Other })[0], ENDED_T1);
        assert!(bench.hook(stop("t1", StopKind::Final)).is_empty());
        assert!(bench.hook(stop("t9", StopKind::Final)).is_empty());
        assert!(bench.hook(Seen::ToolEnd { call: call("c9"), result: ok() }).is_empty());
        assert!(bench.hook(Seen::Activity).is_empty());
        assert_eq!(
            bench.hook(Seen::SessionStart { source: StartSource::Resume }),
            [r#"session.started {"source":"resume"}"#]
        );
    }

    #[test]
    fn what_a_program_does_that_was_told_to_go_opens_nothing() {
        let ended = |reason| {
            let mut bench = Bench::working();
            bench.hook(Seen::SessionEnd { reason });
            bench
        };
        let mut bench = ended(EndReason::Exit);
        assert!(bench.hook(Seen::ToolStart(call("c1"))).is_empty());
        assert_eq!(bench.hook(prompt("t2")).len(), 2, "the person came back");
        let mut bench = ended(EndReason::Exit);
        bench.process.pid = 8;
        assert_eq!(bench.hook(Seen::ToolStart(call("c1"))).len(), 2, "it goes on in another program");
        assert_eq!(ended(EndReason::Other).hook(Seen::ToolStart(call("c1"))).len(), 2);
    }

    #[test]
    fn what_began_before_the_end_and_was_taken_after_it_opens_nothing() {
        let mut bench = Bench::working();
        bench.now += 10_000;
        bench.hook(Seen::SessionEnd { reason: EndReason::Exit });
        let late = bench.now - 1_000 - 10;
        bench.now = late;
        assert!(bench.hook(Seen::ToolStart(call("c1"))).is_empty());
        bench.now = late;
        assert!(bench.hook(Seen::SessionStart { source: StartSource::Startup }).is_empty());
        bench.now = late - 2 * LATE_MS;
        assert_eq!(
            bench.hook(Seen::SessionStart { source: StartSource::Resume }),
            [r#"session.started {"source":"resume"}"#],
            "no hook is as late as that: the clock was set back"
        );
    }

    #[test]
    fn a_clock_that_is_set_back_stops_no_heartbeat() {
        let mut bench = Bench::working();
        assert_eq!(bench.tick(-3_600_000), ["session.heartbeat {}"]);
        assert!(bench.tick(HEARTBEAT_MS - 1).is_empty());
        assert_eq!(bench.tick(1), ["session.heartbeat {}"]);
        bench.dead = true;
        assert!(bench.tick(0).is_empty());
        assert_eq!(bench.tick(-3_600_000).len(), 2, "the turn's and the session's end");
    }

    #[test]
    fn a_heartbeat_a_minute_while_a_turn_runs() {
        let mut bench = Bench::working();
        let mut beats = Vec::new();
        for _ in 0..60 {
            for line in bench.tick(5_000) {
                assert_eq!(line, "session.heartbeat {}");
                beats.push(bench.now);
            }
        }
        assert_eq!(beats, [62_000, 122_000, 182_000, 242_000, 302_000], "300 s, from the turn's start at 2 s");
        bench.hook(stop("t1", StopKind::Final));
        assert!(bench.tick(600_000).is_empty());
    }

    #[test]
    fn a_session_is_lost_once_when_its_process_is_gone() {
        let mut bench = Bench::working();
        bench.hook(Seen::ToolStart(call("c1")));
        bench.dead = true;
        assert!(bench.tick(0).is_empty());
        assert!(bench.tick(LOST_GRACE_MS - 1).is_empty(), "its last hooks may still arrive");
        assert_eq!(
            bench.tick(1),
            [
                r#"tool.ended {"tool":"Bash","tool_kind":"shell","call_id":"c1","turn_id":"t1","ok":false,"derived":true}"#,
                ENDED_T1,
                r#"session.ended {"reason":"other","lost":true,"derived":true}"#,
            ]
        );
        assert!(bench.tick(60_000).is_empty());
    }

    #[test]
    fn a_version_without_a_session_end_hook_loses_no_session() {
        let mut bench = Bench::working();
        bench.state.version = Some("1.9.9".to_owned());
        bench.dead = true;
        bench.tick(0);
        assert_eq!(bench.tick(LOST_GRACE_MS), [ENDED_T1]);
        assert!(bench.tick(60_000).is_empty());
        bench.dead = false;
        assert_eq!(bench.hook(prompt("t2")).len(), 1, "and goes on without a new start");
    }

    #[test]
    fn a_session_that_only_an_endless_channel_told_of_is_not_lost() {
        let mut bench = Bench::new();
        let mapped =
            Mapped { event: "Native".to_owned(), endless: true, seen: vec![prompt("t1")], ..Mapped::default() };
        let process = bench.process.clone();
        let moment = Moment {
            harness: &HARNESS,
            at_ms: 0,
            home: Path::new("/home/dev"),
            process: Some(&process),
            alive: &|_| true,
        };
        bench.state.apply(&mapped, &moment);
        bench.dead = true;
        bench.tick(0);
        assert_eq!(bench.tick(LOST_GRACE_MS), [ENDED_T1]);
    }

    #[test]
    fn a_session_that_goes_on_in_a_new_process_was_lost_before() {
        let mut bench = Bench::working();
        bench.process.pid = 8;
        let lines = bench.hook(Seen::SessionStart { source: StartSource::Resume });
        assert_eq!(
            lines,
            [
                ENDED_T1,
                r#"session.ended {"reason":"other","lost":true,"derived":true}"#,
                r#"session.started {"source":"resume"}"#,
            ]
        );
    }

    #[test]
    fn of_two_programs_on_a_session_the_one_that_works_is_watched() {
        let mut state = SessionState::new("s".to_owned());
        let mut hook = |pid, dead: &[u32], at_ms, seen| {
            let process = Process { pid, start: 1, name: "agent".to_owned() };
            let mapped = Mapped { event: "Native".to_owned(), seen: vec![seen], ..Mapped::default() };
            let moment = Moment {
                harness: &HARNESS,
                at_ms,
                home: Path::new("/home/dev"),
                process: Some(&process),
                alive: &|p| !dead.contains(&p.pid),
            };
            let lines = lines(state.apply(&mapped, &moment));
            (lines, state.process().map(|p| p.pid))
        };
        hook(1, &[], 1_000, Seen::SessionStart { source: StartSource::Startup });
        assert_eq!(hook(2, &[2], 2_000, prompt("t1")).1, Some(1), "what is gone already only stood in between");
        assert_eq!(hook(2, &[], 3_000, prompt("t2")).1, Some(2), "unannounced, but it works");
        assert_eq!(hook(1, &[], 4_000, Seen::SessionEnd { reason: EndReason::Other }).0, [""; 0], "closed there only");
        assert_eq!(
            hook(2, &[1], 5_000, stop("t2", StopKind::Final)).0,
            [r#"turn.ended {"turn_id":"t2","reason":"stop","ms":2000}"#]
        );
        assert_eq!(
            hook(1, &[2], 6_000, Seen::SessionEnd { reason: EndReason::Other }).0,
            [r#"session.ended {"reason":"other"}"#],
            "nobody else is there"
        );
    }

    #[test]
    fn changed_files_are_named_from_the_repository_else_from_the_home() {
        let mut bench = Bench::started();
        bench.state.cwd = Some("/home/dev/proj/sub".to_owned());
        let changed =
            || Seen::FilesChanged { paths: ["a.rs", "../b.rs", "/home/dev/c", "/etc/d"].map(str::to_owned).to_vec() };
        assert_eq!(
            bench.hook(changed()),
            [r#"files.changed {"paths":["~/proj/sub/a.rs","~/proj/b.rs","~/c","/etc/d"]}"#]
        );
        bench.state.root = Some("/home/dev/proj".to_owned());
        assert_eq!(bench.hook(changed()), [r#"files.changed {"paths":["sub/a.rs","b.rs","~/c","/etc/d"]}"#]);
    }

    #[test]
    fn what_is_known_is_said_in_the_block() {
        let mut bench = Bench::started();
        bench.state.cwd = Some("/home/dev/proj".to_owned());
        bench.state.facts(Facts { title: Some(("mine".to_owned(), TitleSource::Custom)), ..Facts::default() });
        bench.state.facts(Facts { title: Some(("theirs".to_owned(), TitleSource::Harness)), ..Facts::default() });
        let secret = format!("use {}", ["ghp", "_0123456789abcdefghijABCDEFGHIJ012345"].concat());
        bench.state.facts(Facts { title: Some((secret, TitleSource::Custom)), ..Facts::default() });
        let stored = serde_json::to_value(&bench.state).expect("a state");
        assert_eq!(stored["title"][0], "use [redacted]", "before it is stored");
        bench.state.facts(Facts { title: Some(("mine".to_owned(), TitleSource::Custom)), ..Facts::default() });
        let block = bench.state.block(Path::new("/home/dev"), Some("box"));
        assert_eq!(block.cwd.as_deref(), Some("~/proj"));
        assert_eq!((block.title.as_deref(), block.title_source.as_deref()), (Some("mine"), Some("custom")));
    }

    #[test]
    fn a_state_from_an_older_writer_is_read() {
        let state: SessionState =
            serde_json::from_value(json!({"id": "s", "phase": "Open", "later": 1})).expect("read");
        assert!(state.is_open());
    }
}
