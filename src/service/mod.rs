//! The service behind all tools: the store, the clock and the rulesets.
//!
//! - [`Service::read`] loads the committed state of an investigation.
//! - [`Service::write`] decides and commits in one store transaction, so every decision is committed on top of the
//!   state it was based on.
//!
//! Both repair damage left in the repository by a killed writer, even in calls that only read.

pub mod address;
pub mod arguments;
pub mod background;
mod calls;
pub mod changes;
pub mod check;
mod moved;
pub mod project;
pub mod remote;
pub mod reply;
pub mod runs;
pub mod sharing;
pub mod signoff;
pub mod sync;
pub mod withhold;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::assess::Assessment;
use crate::base::world::{World, WorldError};
use crate::decide::{Decision, Rejection};
use crate::domain::{
    Caller, Change, CitedPath, Code, Diagnostic, Event, Investigation, LookedUpPaths, SessionId, Timestamp,
    Wording,
};
use crate::format::layout::{self, Place};
use crate::format::{self, FileChange, message, node_file, readme};
use crate::ruleset::rules::shortened;
use crate::ruleset::{ATTACHMENT_MAX, EffectiveRules, Enforcement, Library, Ruleset, RulesetFile};
use crate::service::project::Project;
use crate::store::{
    CommitId, Draft, Durability, FindError, RootRemoved, Snapshot, Store, StoreError, StoreErrorKind,
    Transacted,
};
use crate::text::{causes, sentence, shorten};
use changes::{BEHIND, Changes, Listener, ServiceChange};
use sharing::{Sharing, UseKind};

/// The maximum number of candidates to list for an ambiguous id.
const CANDIDATES: usize = 10;

/// The store, the clock and the settings.
pub struct Service {
    store: Store,
    world: World,
    /// The operator's minimum for the required number of rounds.
    min_rounds: Option<u32>,
    rulesets: Library,
    /// True if text that looks like a credential is refused.
    reject_secrets: bool,
    /// The folder for reports.
    site: PathBuf,
    pub(crate) changes: Changes,
    /// The settings for sharing; `None` disables it.
    sharing: Option<Sharing>,
    /// The project that the investigations are about, if known. Cited files are looked up in it.
    project: Option<Project>,
    /// The maximum size of an attachment, in bytes.
    attachment_max: u64,
    /// What agents should know about the root, and whether a reply has said so.
    root_note: Option<String>,
    has_noted_root: AtomicBool,
}

/// An investigation with its rules.
pub struct Standing {
    /// The committed state.
    pub snapshot: Snapshot,
    /// The ruleset that applies to the investigation.
    pub ruleset: Arc<RulesetFile>,
}

/// An investigation whose ruleset is unusable.
pub struct Unjudged {
    /// The committed state.
    pub snapshot: Snapshot,
    /// The error in the ruleset, and how to fix it.
    pub error: Diagnostic,
}

/// The outcome of a write.
pub struct Written {
    /// The new state.
    pub standing: Standing,
    /// The state that the decision was based on.
    pub before: Arc<Investigation>,
    /// The decision. If the decision has no event, nothing was written.
    pub decision: Decision,
    /// The conclusion tag, if the investigation has ended.
    pub tag: Option<String>,
}

/// The outcome of a turn, which makes up to two writes.
pub struct Turn {
    /// The new state.
    pub standing: Standing,
    /// The previous state.
    pub before: Arc<Investigation>,
    /// The decisions, in order.
    pub decisions: Vec<Decision>,
    /// The commits.
    pub commits: Vec<CommitId>,
}

impl Turn {
    /// Returns the warnings of all decisions.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        self.decisions.iter().flat_map(|decision| decision.warnings.clone()).collect()
    }
}

/// The reasons for refusing a call, with the state of the investigation if known.
pub struct Refusal {
    /// The errors. At least one error.
    pub errors: Vec<Diagnostic>,
    /// The state against which the call was judged.
    pub standing: Option<Box<Standing>>,
}

impl Refusal {
    /// Formats the errors on one line, each with its suggestion.
    pub fn line(&self) -> String {
        let texts = self.errors.iter().map(|error| error.text().agent().to_owned());
        texts.collect::<Vec<_>>().join(" ")
    }
}

impl Standing {
    /// Returns the assessment of the investigation.
    pub fn assessment(&self) -> Assessment<'_> {
        Assessment::new(self.investigation(), Some(self.rules()))
    }

    /// Returns the investigation.
    pub fn investigation(&self) -> &Investigation {
        &self.snapshot.investigation
    }

    /// Returns the rules for this investigation.
    pub fn rules(&self) -> EffectiveRules<'_> {
        EffectiveRules::new(&self.ruleset.ruleset, self.snapshot.investigation.meta())
    }
}

impl Service {
    /// Returns a service for the investigations in `root`, with the built-in rulesets.
    pub fn new(root: PathBuf, world: World, min_rounds: Option<u32>) -> Self {
        Service {
            site: root.join("site"),
            changes: Changes::new(BEHIND),
            store: Store::new(root),
            world,
            min_rounds,
            rulesets: Library::built_in(),
            reject_secrets: false,
            sharing: None,
            project: None,
            attachment_max: ATTACHMENT_MAX,
            root_note: None,
            has_noted_root: AtomicBool::new(false),
        }
    }

    /// Sets the rulesets for new investigations. Existing investigations keep their own copies.
    pub fn with_rulesets(self, rulesets: Library) -> Self {
        Service { rulesets, ..self }
    }

    /// Sets the durability level.
    pub fn with_durability(self, durability: Durability) -> Self {
        Service { store: self.store.with_durability(durability), ..self }
    }

    /// Sets the author of all commits, whatever git's configuration says.
    pub fn with_author(self, name: &'static str, email: &'static str) -> Self {
        Service { store: self.store.with_author(name, email), ..self }
    }

    /// Makes the store read-only if `read_only` is true. A read-only store does not even repair damage left by a killed
    /// writer.
    pub fn reading_only(self, read_only: bool) -> Self {
        Service { store: self.store.reading_only(read_only), ..self }
    }

    /// Sets whether to refuse text that looks like a credential, regardless of the ruleset.
    pub fn rejecting_secrets(self, reject: bool) -> Self {
        Service { reject_secrets: reject, ..self }
    }

    /// Enables sharing: remotes for new investigations, git maintenance, and syncs.
    pub fn with_sharing(self, sharing: Sharing) -> Self {
        Service { sharing: Some(sharing), ..self }
    }

    /// Sets the folder for reports. The default is `site` in the root.
    pub fn with_site(self, site: PathBuf) -> Self {
        Service { site, ..self }
    }

    /// Sets the project in which cited files are looked up.
    pub fn with_project(self, project: Option<Project>) -> Self {
        Service { project, ..self }
    }

    /// Sets the maximum size of an attachment, in bytes.
    pub fn with_attachment_max(self, bytes: u64) -> Self {
        Service { attachment_max: bytes, ..self }
    }

    /// Sets what agents should know about the root.
    pub fn with_root_note(self, root_note: Option<String>) -> Self {
        Service { root_note, ..self }
    }

    /// Returns a warning about the root, if there is one: the first time, or always if `again` is true.
    pub fn root_note(&self, again: bool) -> Option<Diagnostic> {
        let note = self.root_note.as_ref()?;
        let is_new = !self.has_noted_root.swap(true, Ordering::Relaxed);
        (is_new || again).then(|| Diagnostic::new(Code::RootFolder, note.clone()))
    }

    /// Returns the project that the investigations are about.
    pub fn project(&self) -> Option<&Project> {
        self.project.as_ref()
    }

    /// Looks up cited paths in the project, if there is one. Called before a transaction, to keep the transaction short.
    fn look_up(&self, cited: impl FnOnce() -> Vec<CitedPath>) -> LookedUpPaths {
        self.project.as_ref().map(|project| project.look_up(&cited())).unwrap_or_default()
    }

    /// Returns the folder for reports.
    pub fn site(&self) -> &Path {
        &self.site
    }

    /// Returns a listener for all later writes by this service.
    pub fn listen(&self) -> Listener {
        Listener(self.changes.subscribe())
    }

    /// Sends a change to all listeners. Does not block.
    pub fn tell(&self, change: ServiceChange) {
        // Sending fails only if there are no listeners.
        let _ = self.changes.send(change);
    }

    /// Returns the rules for this investigation, with the operator's settings.
    pub fn rules<'a>(&self, standing: &'a Standing) -> EffectiveRules<'a> {
        let rules = standing.rules().with_attachment_max(self.attachment_max);
        if self.reject_secrets { rules.refusing_secrets() } else { rules }
    }

    /// Returns the enforcement level for suspected credentials under a ruleset.
    fn secrets(&self, ruleset: &Ruleset) -> Enforcement {
        if self.reject_secrets { Enforcement::Reject } else { ruleset.checks.secret_suspected }
    }

    /// Returns the store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the rulesets available to `tot_start`.
    pub fn rulesets(&self) -> &Library {
        &self.rulesets
    }

    /// Returns the current time.
    ///
    /// # Errors
    ///
    /// Returns `INTERNAL_ERROR` if the clock cannot be read.
    pub fn now(&self) -> Result<Timestamp, Refusal> {
        self.world.now().map_err(Refusal::from)
    }

    /// Returns the source of time and randomness.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Returns the committed state of the investigation with the given full or partial id.
    ///
    /// # Errors
    ///
    /// Returns `SESSION_NOT_FOUND`, `AMBIGUOUS_SESSION`, `INVALID_RULESET`, or a store error.
    pub fn read(&self, session: &str) -> Result<Standing, Refusal> {
        self.look(session)?.map_err(|unjudged| unjudged.error.into())
    }

    /// Like [`Service::read`], but also returns the state of an investigation with an unusable ruleset.
    ///
    /// # Errors
    ///
    /// Returns `SESSION_NOT_FOUND`, `AMBIGUOUS_SESSION`, or a store error.
    pub fn look(&self, session: &str) -> Result<Result<Standing, Unjudged>, Refusal> {
        let snapshot = self.recovered(session)?;
        self.used(&snapshot, UseKind::Read);
        Ok(with_rules(snapshot))
    }

    /// Returns the committed state of an investigation, even if its ruleset is unusable.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Service::look`].
    pub fn snapshot(&self, session: &str) -> Result<Snapshot, Refusal> {
        self.look(session)
            .map(|seen| seen.map_or_else(|unjudged| unjudged.snapshot, |standing| standing.snapshot))
    }

    /// Returns warnings about known commits of an investigation that HEAD no longer contains. Each warning is returned
    /// once.
    pub fn moves(&self, session: SessionId) -> Vec<Diagnostic> {
        // If the repository cannot be read, the next call reports the error.
        self.store.moves(session).unwrap_or_default().iter().map(moved::warning).collect()
    }

    /// Returns the committed state of an investigation, after cleaning up after a killed writer.
    fn recovered(&self, session: &str) -> Result<Snapshot, Refusal> {
        self.find(session, |path, is_it| Ok(Some(self.store.recover(path)?).filter(is_it)))
    }

    /// Returns the outcome of `access` to an investigation's folder. The folder may now contain a different investigation
    /// than the store remembers: `access` then returns `None`, and the id is looked up again.
    fn find<T>(
        &self,
        session: &str,
        access: impl Fn(&Path, &dyn Fn(&Snapshot) -> bool) -> Result<Option<T>, Refusal>,
    ) -> Result<T, Refusal> {
        /// The minimum length of a partial id. Shorter ids soon become ambiguous.
        const SHORTEST: usize = 4;
        let part = session.trim().to_ascii_lowercase();
        let is_it = |snapshot: &Snapshot| snapshot.investigation.meta().id.matches(&part);
        let lookups = if part.len() < SHORTEST { 0 } else { 3 };
        for _ in 0..lookups {
            let path = self.store.find(session).map_err(|error| self.not_found(error))?;
            // Loading corrects the id that the store remembers for this folder.
            if let Some(found) = access(&path, &is_it)? {
                return Ok(found);
            }
        }
        let root = self.store.root().to_owned();
        Err(self.not_found(FindError::NotFound { id: part, root }))
    }

    /// Returns the refusal for an unknown id. It names the newest investigations, since callers often mean one of them.
    fn not_found(&self, error: FindError) -> Refusal {
        /// The number of investigations to name.
        const NAMED: usize = 3;
        let is_unknown = matches!(error, FindError::NotFound { .. });
        let mut refusal = Refusal::from(error);
        if is_unknown {
            let newest = self.store.newest(NAMED);
            let named: Vec<String> = newest
                .iter()
                .filter_map(|entry| {
                    let title = entry.facts.as_ref().map_or("", |facts| facts.title.as_str());
                    Some(format!("{} (“{}”)", entry.id?, shorten(title, 60)))
                })
                .collect();
            if let Some(error) = refusal.errors.first_mut().filter(|_| !named.is_empty()) {
                let how = Wording::both(
                    "tot_list lists all, tot_start starts a new one",
                    "`tot list` lists all, `tot start` starts a new one",
                );
                error.suggestion =
                    Some(how.map(|how| format!("The newest are {}; {how}.", named.join(", "))));
            }
        }
        refusal
    }

    /// Decides on the committed state and writes the decision as one commit.
    ///
    /// # Errors
    ///
    /// Returns the rejection by `decide` with the state it judged, the same errors as [`Service::read`], or a store
    /// error.
    pub fn write(
        &self,
        session: &str,
        caller: &Caller,
        decide: impl Fn(&Investigation, &EffectiveRules, Timestamp) -> Result<Decision, Rejection>,
    ) -> Result<Written, Refusal> {
        let written = self.transact(session, caller, |investigation, rules, now| {
            decide(investigation, rules, now).map(|decision| (decision, None))
        })?;
        let Transacted { before, after, tag, decided, .. } = written;
        let standing = Standing { snapshot: after, ruleset: decided.ruleset };
        Ok(Written { standing, before: before.investigation, decision: decided.first, tag })
    }

    /// Decides on the committed state and writes each decision as one commit.
    fn transact(
        &self,
        session: &str,
        caller: &Caller,
        decide: impl Fn(&Investigation, &EffectiveRules, Timestamp) -> Decisions,
    ) -> Result<Transacted<Decided>, Refusal> {
        let mut written = self.find(session, |path, is_it| {
            let Transacted { before, after, commits, tag, warnings, wants_upkeep, decided } =
                self.store.transact(path, |snapshot| match is_it(snapshot) {
                    true => self.decided(snapshot, caller, &decide),
                    false => Ok((Vec::new(), None)),
                })?;
            let transacted =
                |decided| Transacted { before, after, commits, tag, warnings, wants_upkeep, decided };
            Ok(decided.map(transacted))
        })?;
        let failures = written.warnings.drain(..).flat_map(|error| Refusal::from(error).errors);
        written.decided.first.warnings.extend(failures);
        let decisions = [Some(&written.decided.first), written.decided.second.as_ref()];
        let changes: Vec<Change> = decisions
            .into_iter()
            .flatten()
            .filter_map(|decision| decision.event.as_ref())
            .flat_map(Event::changes)
            .collect();
        if !changes.is_empty() {
            self.tell(ServiceChange::by(&written.before.investigation, &changes));
            let has_ended = changes.iter().any(|change| matches!(change, Change::Concluded(_)));
            self.used(&written.after, if has_ended { UseKind::Ended } else { UseKind::Wrote });
        }
        if written.wants_upkeep {
            self.maintain(&written.after.path);
        }
        Ok(written)
    }

    /// Decides on the committed state. Returns the drafts of the commits and the decisions.
    fn decided(
        &self,
        snapshot: &Snapshot,
        caller: &Caller,
        decide: impl Fn(&Investigation, &EffectiveRules, Timestamp) -> Decisions,
    ) -> Result<(Vec<Draft>, Option<Decided>), Refusal> {
        let standing = with_rules(snapshot.clone()).map_err(|unjudged| Refusal::from(unjudged.error))?;
        if let Some(fault) =
            snapshot.faults.iter().find(|fault| fault.is_unreadable() && fault.path == layout::CONCLUSION)
        {
            return Err(Diagnostic::new(
                Code::StoreError,
                format!("Cannot tell whether this investigation has ended: {fault}."),
            )
            .suggest(format!(
                "Fix or remove {} in {} and commit the change.",
                fault.path,
                snapshot.path.display()
            ))
            .into());
        }
        let at = self.now()?;
        let (mut first, mut second) = match decide(standing.investigation(), &self.rules(&standing), at) {
            Ok(decisions) => decisions,
            Err(rejection) => {
                return Err(Refusal { errors: rejection.errors, standing: Some(Box::new(standing)) });
            }
        };
        let mut drafts = Vec::new();
        let mut investigation = Arc::clone(&standing.snapshot.investigation);
        for decision in [Some(&mut first), second.as_mut()].into_iter().flatten() {
            let Some(event) = decision.event.take() else { continue };
            let event = decision.event.insert(event.called_by(caller));
            let after = Arc::new(investigation.with(&event.changes()));
            let states = [investigation.as_ref(), after.as_ref()];
            drafts.push(draft(states, &standing.rules(), event, &decision.warnings, caller, at)?);
            investigation = after;
        }
        Ok((drafts, Some(Decided { first, second, ruleset: standing.ruleset })))
    }
}

/// The decisions of a transaction: one or two.
type Decisions = Result<(Decision, Option<Decision>), Rejection>;

/// The decisions of a transaction, and the ruleset that applied.
struct Decided {
    first: Decision,
    second: Option<Decision>,
    ruleset: Arc<RulesetFile>,
}

/// Returns the files and the commit message of an event.
fn draft(
    [before, after]: [&Investigation; 2],
    rules: &EffectiveRules,
    event: &Event,
    warnings: &[Diagnostic],
    caller: &Caller,
    at: Timestamp,
) -> Result<Draft, Refusal> {
    let mut files = format::files(event).map_err(StoreError::from)?;
    files.extend(readme::change(before, after, rules));
    check_sizes(&files)?;
    let message = message::message(before, rules, event, warnings, caller);
    Ok(Draft { files, changes: event.changes(), message, at })
}

/// Combines a snapshot with its rules, or with the error in them.
#[expect(clippy::result_large_err, reason = "both variants contain the large snapshot")]
fn with_rules(snapshot: Snapshot) -> Result<Standing, Unjudged> {
    let error = match &snapshot.ruleset {
        Ok(ruleset) => return Ok(Standing { ruleset: Arc::clone(ruleset), snapshot }),
        Err(fault) => Diagnostic::new(
            Code::InvalidRuleset,
            format!("The rules of this investigation are unusable: {fault}."),
        )
        .suggest(Wording::both("tot_status and tot-report", "`tot show` and `tot report`").map(|readers| {
            let file = &fault.path;
            format!(
                "Fix {file} in {} and commit it (git log -p {file} shows earlier versions); until then {readers} omit \
                 everything that needs rules.",
                snapshot.path.display()
            )
        })),
    };
    Err(Unjudged { snapshot, error })
}

/// Refuses files that exceed the limits for reading, so that every stored file remains readable.
fn check_sizes(files: &[FileChange]) -> Result<(), Refusal> {
    /// The maximum size of a file, which is half of the limit for reading.
    const MOST: usize = 8 << 20;
    /// Smaller files never exceed the limits.
    const SMALL: usize = 64 << 10;
    for file in files {
        let Some(content) = file.content.as_deref().filter(|content| content.len() > SMALL) else { continue };
        let Place::Node(id) = layout::place(&file.path) else { continue };
        let is_read = std::str::from_utf8(content).is_ok_and(|text| node_file::read(text).is_ok());
        if content.len() > MOST || !is_read {
            let message = format!("{id} has {} bytes of text; the limit is {MOST}.", content.len());
            return Err(Diagnostic::new(Code::TextTooLong, message)
                .about(&id)
                .suggest("Shorten them, or put long material into a file and cite its path.")
                .into());
        }
    }
    Ok(())
}

impl From<Diagnostic> for Refusal {
    fn from(error: Diagnostic) -> Self {
        Refusal { errors: vec![error], standing: None }
    }
}

impl From<Rejection> for Refusal {
    fn from(rejection: Rejection) -> Self {
        Refusal { errors: rejection.errors, standing: None }
    }
}

impl From<FindError> for Refusal {
    fn from(error: FindError) -> Self {
        let message = sentence(&causes(&error));
        match error {
            FindError::NotFound { .. } => Diagnostic::new(Code::SessionNotFound, message)
                .suggest("Use the sessionId from tot_start, or start an investigation with tot_start.")
                .for_people("`tot list` lists the ids, and `tot start` starts an investigation."),
            FindError::Ambiguous { candidates, .. } => {
                let matches = shortened(&candidates, CANDIDATES);
                Diagnostic::new(Code::AmbiguousSession, message)
                    .suggest(format!("Give more characters; the matches are {matches}."))
            }
            FindError::RootRemoved(_) => Diagnostic::new(Code::RootFolder, message)
                .suggest(format!("A person must act. {}.", RootRemoved::HINT)),
            FindError::Twice { .. } => Diagnostic::new(Code::AmbiguousSession, message)
                .suggest("Move one of the two folders out of the server's root."),
        }
        .into()
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        let code = match error.kind {
            StoreErrorKind::InProgress | StoreErrorKind::Detached => Code::OperationInProgress,
            StoreErrorKind::Busy | StoreErrorKind::Held => Code::Busy,
            StoreErrorKind::NotAnInvestigation => Code::InvalidInvestigation,
            StoreErrorKind::ReadOnly => Code::ReadOnly,
            StoreErrorKind::RootRemoved => Code::RootFolder,
            StoreErrorKind::Full => Code::InvestigationFull,
            _ => Code::StoreError,
        };
        let diagnostic = Diagnostic::new(code, sentence(&causes(&error)));
        match error.hint().map(|hint| format!("{hint}.")) {
            Some(hint) if error.kind == StoreErrorKind::Full => diagnostic
                .suggest("Conclude it with tot_end, then start another one for the open questions.")
                .for_people(hint),
            Some(hint) => diagnostic.suggest(hint),
            None => diagnostic,
        }
        .into()
    }
}

impl From<WorldError> for Refusal {
    fn from(error: WorldError) -> Self {
        Diagnostic::new(Code::InternalError, sentence(&causes(&error))).into()
    }
}
