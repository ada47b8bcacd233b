//! One step from the spool to the outbox: the worker, `flush` and `tail` all take jobs this way.
//!
//! A batch of jobs is one transaction: their events, the marks that they are done, the sessions' states and counters.
//! Then the files are deleted. Whoever dies in between leaves jobs that are marked: the next one only deletes them.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sessionpipe_core::adapter::{Adapter, SessionFile};
use sessionpipe_core::event::{Event, EventHarness, EventType, MAX_TIER, PROTOCOL, Privacy, Session, rfc3339};
use sessionpipe_core::harness::Harness;
use sessionpipe_core::host::Host;
use sessionpipe_core::ids;
use sessionpipe_core::job::{FORMAT, Header, Hook, Process};
use sessionpipe_core::payload::{self, Payload};
use sessionpipe_core::privacy::seal;
use sessionpipe_core::privacy::secrets::redact_tokens;
use sessionpipe_core::seen::{Mapped, Seen, StartSource};
use sessionpipe_core::tracker::{Draft, Moment, SessionState};

use crate::outbox::{Batch, Loss, Outbox, OutboxError, Tracked};
use crate::quarantine::{self, Reason};
use crate::settings::{Keep, Policy, Settings, stored};
use crate::spool::{JobId, ReadError, Spool};
use crate::{platform, process};

/// At most this many jobs are one transaction: enough that the commit's two syncs cost little per job, few enough that
/// nobody waits long for the database.
pub const BATCH: usize = 256;

/// At most this many sessions stay in memory between two batches; the others are read from the outbox when needed.
const CACHED_SESSIONS: usize = 128;

/// A session's files are read at most so often for facts that they do not tell.
const MAX_FACT_READS: u8 = 5;

/// What time it is. Tests bring their own.
pub trait Clock {
    /// Milliseconds since the epoch.
    fn now_ms(&self) -> i64;
}

/// The system's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> i64 {
        i64::try_from(platform::now().as_millis()).unwrap_or(i64::MAX)
    }
}

/// What taking jobs needs of the program.
pub struct Context<'a> {
    /// Where we are.
    pub host: &'a Host,
    /// Every adapter that is compiled in.
    pub adapters: &'a [&'a dyn Adapter],
    /// `session.machine`: the configured name, else the host name.
    pub machine: Option<&'a str>,
    /// Whether a harness runs hooks of ours by its own config: then a copy that reaches us through another's is dropped.
    pub is_wired: &'a dyn Fn(&str) -> bool,
    /// The person's settings as they are now; `None` while they cannot be read: then nothing is taken, since what may be
    /// kept is not known.
    pub settings: &'a dyn Fn() -> Option<Arc<Settings>>,
    /// The clock.
    pub clock: &'a dyn Clock,
    /// Whether a process lives.
    pub alive: &'a dyn Fn(&Process) -> bool,
}

impl<'a> Context<'a> {
    /// With the system's clock and processes, and no settings.
    #[must_use]
    pub fn new(
        host: &'a Host,
        adapters: &'a [&'a dyn Adapter],
        machine: Option<&'a str>,
        is_wired: &'a dyn Fn(&str) -> bool,
    ) -> Self {
        Self { host, adapters, machine, is_wired, settings: &no_settings, clock: &SystemClock, alive: &process::alive }
    }

    fn adapter(&self, name: &str) -> Option<&'a dyn Adapter> {
        self.adapters.iter().copied().find(|adapter| adapter.harness().name == name)
    }

    /// Who maps what `caller` sends, and the caller's name: its own adapter, else that of the harness whose config it
    /// borrows.
    fn mapper(&self, caller: &str, named: &str) -> Option<(&'a dyn Adapter, &'static str)> {
        if let Some(own) = self.adapter(caller) {
            return Some((own, own.harness().name));
        }
        let lender = self.adapter(named)?;
        Some((lender, borrower(lender, caller)?))
    }

    /// The same, where only the caller is known: a stored session. `None`: no adapter of its is compiled in any more.
    pub(crate) fn mapper_of(&self, caller: &str) -> Option<(&'a dyn Adapter, &'static str)> {
        let lent = || self.adapters.iter().find_map(|lender| Some((*lender, borrower(*lender, caller)?)));
        self.mapper(caller, caller).or_else(lent)
    }

    /// Whether what `caller` sends through the config of `named` comes another way too: by hooks of its own, or through
    /// another config that it borrows. Of several the first one counts.
    fn comes_twice(&self, caller: &str, named: &str) -> bool {
        let lends =
            |lender: &&&dyn Adapter| borrower(**lender, caller).is_some() && (self.is_wired)(lender.harness().name);
        (self.is_wired)(caller) || self.adapters.iter().find(lends).is_some_and(|first| first.harness().name != named)
    }
}

fn no_settings() -> Option<Arc<Settings>> {
    Some(Arc::default())
}

/// The name of a borrower, if it is one of the adapter's harness.
fn borrower(lender: &dyn Adapter, name: &str) -> Option<&'static str> {
    lender.harness().borrowers.iter().find(|borrower| borrower.name == name).map(|borrower| borrower.name)
}

impl std::fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let adapters: Vec<_> = self.adapters.iter().map(|adapter| adapter.harness().name).collect();
        f.debug_struct("Context").field("host", self.host).field("adapters", &adapters).finish_non_exhaustive()
    }
}

/// What became of a scan of the spool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Jobs that are done and gone.
    pub jobs: usize,
    /// A newer program's job was met: it and all behind it are left for that program.
    pub newer: bool,
}

/// Takes jobs, and remembers the sessions that it has just seen.
#[derive(Debug)]
pub struct Taker<'a> {
    context: &'a Context<'a>,
    policy: Policy,
    sessions: BTreeMap<Key, Loaded>,
}

/// `harness.name`, `session.id`
type Key = (&'static str, String);

#[derive(Debug)]
struct Loaded {
    tracked: Tracked,
    next_seq: u64,
    /// Time of its latest event.
    last_ms: i64,
    changed: bool,
}

/// What became of one job.
enum Outcome {
    Done,
    Newer,
}

impl<'a> Taker<'a> {
    /// Nothing is read yet.
    #[must_use]
    pub fn new(context: &'a Context<'a>) -> Self {
        Self { context, policy: Policy::default(), sessions: BTreeMap::new() }
    }

    /// Takes what waits in the spool, batch after batch, until a scan finds nothing.
    ///
    /// # Errors
    /// When the spool cannot be listed or the outbox cannot be written. What was not committed is still in the spool.
    pub fn take_all(&mut self, spool: &Spool, outbox: &mut Outbox) -> Result<Taken, OutboxError> {
        let mut taken = Taken::default();
        let Some(settings) = (self.context.settings)() else { return Ok(taken) };
        self.policy.clone_from(&settings.policy);
        loop {
            let jobs = spool.list()?;
            let before = taken.jobs;
            for batch in jobs.chunks(BATCH) {
                let part = self.take(batch, spool, outbox)?;
                taken.jobs += part.jobs;
                if part.newer {
                    return Ok(Taken { newer: true, ..taken });
                }
            }
            // A job that stays (its file cannot be deleted) must not keep us here.
            if taken.jobs == before {
                return Ok(taken);
            }
        }
    }

    /// Takes these jobs, in this order, in one transaction.
    ///
    /// # Errors
    /// When the outbox cannot be written: then nothing of it has happened.
    pub fn take(&mut self, jobs: &[JobId], spool: &Spool, outbox: &mut Outbox) -> Result<Taken, OutboxError> {
        let mut panics = BTreeMap::new();
        loop {
            match self.commit(jobs, spool, outbox, &panics) {
                Ok(Committed { done, newer }) => {
                    // A file that cannot be deleted is deleted next time; its mark keeps it from being taken twice.
                    let deleted = done.iter().filter(|job| spool.remove(**job).is_ok()).count();
                    return Ok(Taken { jobs: deleted, newer });
                }
                // The states are those of an unfinished batch.
                Err(Failed::Panicked(job, reason)) => {
                    self.sessions.clear();
                    panics.insert(job, reason);
                }
                Err(Failed::Outbox(error)) => {
                    self.sessions.clear();
                    return Err(error);
                }
            }
        }
    }

    fn commit(
        &mut self,
        jobs: &[JobId],
        spool: &Spool,
        outbox: &mut Outbox,
        panics: &BTreeMap<JobId, Reason>,
    ) -> Result<Committed, Failed> {
        let batch = outbox.batch()?;
        let mut committed = Committed { done: Vec::with_capacity(jobs.len()), newer: false };
        for &job in jobs {
            let outcome = match panics.get(&job) {
                Some(reason) => self.refuse(&batch, job, spool, reason),
                // One bad payload must not stop all that come after it.
                None => catch_unwind(AssertUnwindSafe(|| self.job(&batch, job, spool)))
                    .map_err(|panic| Failed::Panicked(job, Reason::from_panic(&*panic)))?,
            };
            match outcome? {
                Outcome::Done => committed.done.push(job),
                Outcome::Newer => {
                    committed.newer = true;
                    break;
                }
            }
        }
        self.save(&batch)?;
        batch.commit()?;
        self.settle();
        Ok(committed)
    }

    /// A job whose taking panicked.
    fn refuse(&self, batch: &Batch<'_>, job: JobId, spool: &Spool, reason: &Reason) -> Result<Outcome, OutboxError> {
        let (header, payload) = spool.read(job).unwrap_or_default();
        self.quarantine(batch, job, Some(&header), reason, &payload)
    }

    fn quarantine(
        &self,
        batch: &Batch<'_>,
        job: JobId,
        header: Option<&Header>,
        reason: &Reason,
        payload: &[u8],
    ) -> Result<Outcome, OutboxError> {
        batch.quarantine(&quarantine::entry(job, header, reason, payload), self.context.clock.now_ms())?;
        batch.done(&job.to_string())?;
        Ok(Outcome::Done)
    }

    fn job(&mut self, batch: &Batch<'_>, job: JobId, spool: &Spool) -> Result<Outcome, OutboxError> {
        let name = job.to_string();
        if batch.is_done(&name)? {
            return Ok(Outcome::Done);
        }
        let (header, bytes) = match spool.read(job) {
            Ok(read) => read,
            Err(ReadError::Newer(_)) => return Ok(Outcome::Newer),
            Err(ReadError::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(Outcome::Done),
            Err(error) => return self.quarantine(batch, job, None, &error.into(), &[]),
        };
        if header.harness == FORGET {
            self.forget_session(batch, &name, &header, &bytes)?;
            batch.done(&name)?;
            return Ok(Outcome::Done);
        }
        let is_off = |cwd: Option<&str>| self.policy.keep(cwd) == Keep::Off;
        let elsewhere = is_off(header.cwd.as_deref());
        match self.map(header, &bytes) {
            // Of what cannot be read only the hook's folder is known.
            Said::Rubbish(..) if elsewhere => {}
            Said::Call(call) if call.unreadable.is_some() && elsewhere => {}
            Said::Call(call) => {
                if call.mapped.endless {
                    batch.noticed(call.name, call.hook.header.at_ms)?;
                }
                match self.resolve(batch, &call)? {
                    Ok(session) => self.apply(batch, &name, *call, &session)?,
                    Err(reason) => return self.quarantine(batch, job, Some(&call.hook.header), &reason, &bytes),
                }
            }
            Said::Nothing => {}
            Said::Rubbish(header, reason) => return self.quarantine(batch, job, Some(&header), &reason, &bytes),
        }
        batch.done(&name)?;
        Ok(Outcome::Done)
    }

    fn map(&self, header: Header, bytes: &[u8]) -> Said<'a> {
        let (payload, unreadable) = match payload::parse(bytes) {
            Ok(payload) => (payload, None),
            // The command line and the environment may still tell what happened, and to whom.
            Err(reason) => (Payload { partial: true, ..Payload::default() }, Some(reason)),
        };
        let harnesses: Vec<&'static Harness> = self.context.adapters.iter().map(|adapter| adapter.harness()).collect();
        let has_key = |key: &str| payload.members.contains_key(key);
        let caller =
            payload::caller(&harnesses, &header.harness, has_key, |name| header.env.contains_key(name)).to_owned();
        if caller != header.harness && self.context.comes_twice(&caller, &header.harness) {
            return Said::Nothing;
        }
        let Some((adapter, name)) = self.context.mapper(&caller, &header.harness) else {
            return Said::Rubbish(header, Reason::UnknownHarness(caller));
        };
        let hook = Hook { header, caller, payload };
        match adapter.map(&hook) {
            Ok(mapped) if mapped.seen.is_empty() => Said::Nothing,
            Ok(mapped) => Said::Call(Box::new(Call { adapter, name, hook, mapped, unreadable })),
            Err(error) => Said::Rubbish(hook.header, unreadable.map_or(Reason::Map(error), Reason::Unreadable)),
        }
    }

    /// Whose job it is: the session that it names; else the open one of its process and folder; else one that is made
    /// up, the same for every job of that process and folder.
    fn resolve(&mut self, batch: &Batch<'_>, call: &Call<'_>) -> Result<Result<SessionName, Reason>, OutboxError> {
        let harness = call.name;
        if let Some(own) = &call.mapped.session {
            return Ok(Ok(SessionName { id: ids::session_id(harness, own), made_up: false }));
        }
        let process = call.process();
        let cwd = call.mapped.cwd.as_deref().unwrap_or_default();
        if let Some(process) = process {
            // It may have begun in this batch.
            self.save(batch)?;
            if let Some(id) = batch.session_of(harness, process, &redact_tokens(cwd))? {
                return Ok(Ok(SessionName { id, made_up: false }));
            }
        }
        if let Some(reason) = &call.unreadable {
            return Ok(Err(Reason::Unreadable(reason.clone())));
        }
        let (pid, start) = process.map_or((0, 0), |process| (process.pid, process.start));
        Ok(Ok(SessionName { id: ids::made_up_session_id(harness, cwd, pid, start), made_up: true }))
    }

    fn apply(&mut self, batch: &Batch<'_>, job: &str, call: Call<'_>, name: &SessionName) -> Result<(), OutboxError> {
        let Call { adapter, name: harness_name, hook, mut mapped, .. } = call;
        let harness = adapter.harness();
        let context = self.context;
        let keep = self.policy.keep(mapped.cwd.as_deref().or(hook.header.cwd.as_deref()));
        if keep == Keep::Off {
            // For good: a later call of the session may come from another folder, or name none.
            self.sessions.remove(&(harness_name, name.id.clone()));
            return batch.let_go(harness_name, &name.id, context.clock.now_ms());
        }
        if batch.is_forgotten(harness_name, &name.id)? {
            return Ok(());
        }
        let loaded = self.load(batch, harness_name, &name.id, resumes(&mapped))?;
        loaded.changed = true;
        let tracked = &mut loaded.tracked;
        tracked.state.id_made_up |= name.made_up;
        if mapped.version.is_none() && tracked.state.version.is_none() {
            read_facts(context, adapter, &mapped, tracked);
        }
        if mapped.cwd.is_some() && mapped.cwd != tracked.state.cwd {
            tracked.state.root = mapped.cwd.as_deref().and_then(|cwd| repository(&context.host.home, cwd));
        }
        let moment = Moment {
            harness,
            at_ms: hook.header.at_ms,
            home: &context.host.home,
            process: hook.header.agent(harness.pid_var),
            alive: context.alive,
        };
        mapped.partial |= hook.payload.partial;
        let mut drafts = tracked.state.apply(&mapped, &moment);
        if drafts.iter().any(|draft| matches!(draft.kind, EventType::TurnEnded | EventType::SessionEnded)) {
            let damage = read_transcript(context, adapter, tracked, &moment, &mut drafts);
            batch.lose(Loss::Transcript.name(), damage, context.clock.now_ms())?;
        }
        loaded.append(context, batch, harness_name, drafts, job, keep)
    }

    /// Forgets a session, and leaves the one event that tells receivers to do the same. Its number is above all that they
    /// have.
    fn forget_session(
        &mut self,
        batch: &Batch<'_>,
        job: &str,
        header: &Header,
        bytes: &[u8],
    ) -> Result<(), OutboxError> {
        let Ok(Forgotten { harness, session }) = serde_json::from_slice(bytes) else { return Ok(()) };
        let now_ms = self.context.clock.now_ms();
        let key = self.sessions.keys().find(|(name, id)| *name == harness && *id == session).cloned();
        let cached = key.and_then(|key| self.sessions.remove(&key)).map(|loaded| loaded.next_seq);
        let seq = match cached {
            Some(next) => next,
            None => batch.next_seq(&harness, &session, false, now_ms)?,
        };
        batch.forget(&harness, &session, now_ms)?;
        let kind = EventType::SessionForgotten.name();
        let mut event = Event {
            protocol: PROTOCOL,
            id: ids::event_id(header.at_ms, &[&harness, &session, kind, job]),
            kind: kind.to_owned(),
            time: rfc3339(header.at_ms),
            tier: MAX_TIER,
            harness: EventHarness { name: harness.clone(), ..EventHarness::default() },
            session: Session { id: session.clone(), seq, ..Session::default() },
            privacy: Privacy::default(),
            data: serde_json::Map::new(),
        };
        seal(&mut event);
        batch.append(&event, header.at_ms)?;
        // It says nothing of the harness itself.
        batch.save_counter(&harness, &session, seq + 1, 0)
    }

    /// Lets time pass for a session: heartbeats, and whether its process is gone.
    ///
    /// # Errors
    /// When the outbox cannot be used.
    pub(crate) fn tick(&mut self, batch: &Batch<'_>, harness: &str, session: &str) -> Result<(), OutboxError> {
        let Some((adapter, name)) = self.context.mapper_of(harness) else { return Ok(()) };
        let context = self.context;
        if batch.is_forgotten(name, session)? {
            return Ok(());
        }
        let policy = self.policy.clone();
        let loaded = self.load(batch, name, session, false)?;
        let keep = policy.keep(loaded.tracked.state.cwd.as_deref());
        let before = loaded.tracked.state.clone();
        let drafts = loaded.tracked.state.tick(adapter.harness(), context.clock.now_ms(), context.alive);
        loaded.changed |= loaded.tracked.state != before;
        let tick = format!("tick {}", loaded.next_seq);
        loaded.append(context, batch, name, drafts, &tick, keep)
    }

    fn load(
        &mut self,
        batch: &Batch<'_>,
        harness: &'static str,
        session: &str,
        resumed: bool,
    ) -> Result<&mut Loaded, OutboxError> {
        use std::collections::btree_map::Entry;
        match self.sessions.entry((harness, session.to_owned())) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(free) => {
                let next_seq = batch.next_seq(harness, session, resumed, self.context.clock.now_ms())?;
                let stored = match batch.session(harness, session) {
                    // A state that does not read is as good as none: the session goes on as one seen late.
                    Err(OutboxError::Row(_)) => None,
                    stored => stored?,
                };
                let changed = stored.is_none();
                let new = || Tracked { state: SessionState::new(session.to_owned()), ..Tracked::default() };
                let tracked = stored.unwrap_or_else(new);
                Ok(free.insert(Loaded { tracked, next_seq, last_ms: 0, changed }))
            }
        }
    }

    /// Writes the sessions that changed.
    pub(crate) fn save(&mut self, batch: &Batch<'_>) -> Result<(), OutboxError> {
        let now_ms = self.context.clock.now_ms();
        for ((harness, session), loaded) in &mut self.sessions {
            if loaded.changed {
                batch.save_session(harness, &loaded.tracked, now_ms)?;
                batch.save_counter(harness, session, loaded.next_seq, loaded.last_ms)?;
                loaded.changed = false;
            }
        }
        Ok(())
    }

    /// After a commit: keeps memory bounded.
    pub(crate) fn settle(&mut self) {
        if self.sessions.len() > CACHED_SESSIONS {
            self.sessions.clear();
        }
    }

    /// After a failure: what is remembered may never have been written.
    pub(crate) fn forget(&mut self) {
        self.sessions.clear();
    }
}

/// Who leaves a job that is no hook's: the person wants a session to be forgotten.
const FORGET: &str = "sessionpipe forget";

/// What such a job says.
#[derive(serde::Serialize, serde::Deserialize)]
struct Forgotten {
    harness: String,
    session: String,
}

/// Leaves the wish that a session be forgotten in the spool, behind all that hooks have left there: whoever takes the jobs
/// carries it out.
///
/// # Errors
/// When it cannot be written.
pub fn forget(spool: &Spool, harness: &str, session: &str) -> io::Result<JobId> {
    let id = JobId::new(platform::now());
    let header = Header { v: FORMAT, at_ms: id.at_ms(), harness: FORGET.to_owned(), ..Header::default() };
    let wish = Forgotten { harness: harness.to_owned(), session: session.to_owned() };
    spool.begin(id, &header, &serde_json::to_vec(&wish)?)?.finish()?;
    Ok(id)
}

struct Committed {
    done: Vec<JobId>,
    newer: bool,
}

enum Failed {
    Outbox(OutboxError),
    Panicked(JobId, Reason),
}

impl<E: Into<OutboxError>> From<E> for Failed {
    fn from(error: E) -> Self {
        Self::Outbox(error.into())
    }
}

/// What a job says.
enum Said<'a> {
    Call(Box<Call<'a>>),
    /// Nothing of ours, or the copy of what its sender reports itself.
    Nothing,
    Rubbish(Header, Reason),
}

/// One hook call, mapped.
struct Call<'a> {
    adapter: &'a dyn Adapter,
    /// `harness.name` of its events: the caller's.
    name: &'static str,
    hook: Hook,
    mapped: Mapped,
    /// Why nothing of the payload could be read.
    unreadable: Option<String>,
}

impl Call<'_> {
    fn harness(&self) -> &'static Harness {
        self.adapter.harness()
    }

    fn process(&self) -> Option<&Process> {
        self.hook.header.agent(self.harness().pid_var)
    }
}

struct SessionName {
    id: String,
    made_up: bool,
}

impl Loaded {
    /// Gives the drafts their `seq` and appends them. `source` tells one report from another: the same gives the same ids.
    fn append(
        &mut self,
        context: &Context<'_>,
        batch: &Batch<'_>,
        harness: &str,
        drafts: Vec<Draft>,
        source: &str,
        keep: Keep,
    ) -> Result<(), OutboxError> {
        let Keep::Tier(tier) = keep else { return Ok(()) };
        if drafts.is_empty() {
            return Ok(());
        }
        let state = &self.tracked.state;
        let block = state.block(&context.host.home, context.machine);
        for (index, draft) in drafts.into_iter().enumerate() {
            let at_ms = draft.at_ms;
            let identity = [harness, &state.id, source, &index.to_string()];
            let mut event = state.event(draft, harness, block.clone(), &identity);
            seal(&mut event);
            let Some(mut event) = stored(event, tier) else { continue };
            event.session.seq = self.next_seq;
            if batch.append(&event, at_ms)? {
                self.next_seq += 1;
                self.last_ms = self.last_ms.max(at_ms);
            }
        }
        Ok(())
    }
}

/// A resumed session has a history, whether we hold any of it or not.
fn resumes(mapped: &Mapped) -> bool {
    mapped.seen.iter().any(|seen| matches!(seen, Seen::SessionStart { source: StartSource::Resume }))
}

/// The root of the repository that a folder lies in, as it may be stored. What lies in the home is in no repository above it.
fn repository(home: &Path, cwd: &str) -> Option<String> {
    let dirs = Path::new(cwd).ancestors().filter(|dir| dir.is_absolute());
    let root = dirs.take_while(|dir| Some(*dir) != home.parent()).find(|dir| is_repository(&dir.join(".git")))?;
    Some(redact_tokens(&root.to_string_lossy()).into_owned())
}

/// A repository's own folder, or the file that a worktree has in its place. Sandboxes of agents put an empty `.git` there.
fn is_repository(git: &Path) -> bool {
    git.join("HEAD").is_file() || fs::metadata(git).is_ok_and(|meta| meta.is_file() && meta.len() > 0)
}

/// What the session's own files tell, as long as the version is missing: each time that its transcript has grown, and
/// not more than [`MAX_FACT_READS`] times.
fn read_facts(context: &Context<'_>, adapter: &dyn Adapter, mapped: &Mapped, tracked: &mut Tracked) {
    let path = mapped.transcript.as_ref().or(tracked.state.transcript.as_ref());
    let Some(path) = path.filter(|_| tracked.fact_reads < MAX_FACT_READS) else { return };
    let Some((session, len)) = session_file(context.host, adapter, &tracked.state.id, path) else { return };
    if tracked.fact_reads > 0 && tracked.fact_len == len {
        return;
    }
    tracked.fact_reads += 1;
    tracked.fact_len = len;
    tracked.state.facts(adapter.facts(context.host, &session));
}

/// What the transcript says beyond what hooks said; how many of its records could not be read.
fn read_transcript(
    context: &Context<'_>,
    adapter: &dyn Adapter,
    tracked: &mut Tracked,
    moment: &Moment<'_>,
    drafts: &mut Vec<Draft>,
) -> u64 {
    let Some(path) = &tracked.state.transcript else { return 0 };
    let Some((session, _)) = session_file(context.host, adapter, &tracked.state.id, path) else { return 0 };
    let Ok(read) = adapter.read(&session, tracked.position.clone()) else { return 0 };
    for mapped in &read.seen {
        drafts.extend(tracked.state.apply(mapped, moment));
    }
    tracked.position = read.next;
    read.damage
}

/// The session's file and its size, if it is a regular file inside one of the adapter's roots once all links are
/// followed: a payload can name any path.
fn session_file(host: &Host, adapter: &dyn Adapter, id: &str, path: &str) -> Option<(SessionFile, u64)> {
    let path = Path::new(path).is_absolute().then(|| fs::canonicalize(path).ok())??;
    let inside = |root: &PathBuf| fs::canonicalize(root).is_ok_and(|root| path.starts_with(root));
    adapter.roots(host).iter().any(inside).then_some(())?;
    let meta = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
    let modified = meta.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    let modified_ms = i64::try_from(modified.as_millis()).ok()?;
    Some((SessionFile { id: id.to_owned(), paths: vec![path], modified_ms }, meta.len()))
}
