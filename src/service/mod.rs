//! The service that every tool works with: the store, the clock, the rulesets, and the two ways of using them.
//!
//! - [`Service::read`] loads an investigation as it is committed.
//! - [`Service::write`] decides and commits in one transaction of the store, so that a decision is never published on a state
//!   other than the one it was made on.
//!
//! Both repair what a killed writer left in the repository, even a call that only reads.

mod calls;
pub mod changes;
mod moved;
pub mod sharing;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::assess::Assessment;
use crate::decide::{Decision, Rejection};
use crate::domain::{
    Caller, Change, CitedPath, Code, Diagnostic, Event, Investigation, LookedUpPaths, SessionId, Timestamp,
};
use crate::format::layout::{self, Place};
use crate::format::{self, FileChange, message, node_file, readme};
use crate::project::Project;
use crate::ruleset::{ATTACHMENT_MAX, EffectiveRules, Enforcement, Library, Ruleset, RulesetFile};
use crate::store::git::GitError;
use crate::store::{CommitId, Draft, Durability, FindError, Snapshot, Store, StoreError, Transacted};
use crate::text::{causes, sentence, shorten};
use crate::world::{World, WorldError};
use changes::{Changed, Changes, Listener};
use sharing::{How, Sharing};

/// The most candidates listed for an ambiguous id.
const CANDIDATES: usize = 10;

/// The store, the clock and the settings that the tools share.
pub struct Service {
    store: Store,
    world: World,
    /// The operator's lower bound for minimum rounds.
    min_rounds: Option<u32>,
    rulesets: Library,
    /// Whether the operator refuses texts that look like credentials.
    reject_secrets: bool,
    /// The folder for reports.
    site: PathBuf,
    changes: Changes,
    /// The work beside the calls; `None` without sharing.
    sharing: Option<Sharing>,
    /// The project that the investigations are about, if it is known: cited files are looked up there.
    project: Option<Project>,
    /// The size limit of an attachment, in bytes.
    attachment_max: u64,
}

/// An investigation with its rules.
pub struct Standing {
    /// The committed state.
    pub snapshot: Snapshot,
    /// The ruleset that judges it.
    pub ruleset: Arc<RulesetFile>,
}

/// An investigation whose ruleset can't be used.
pub struct Unjudged {
    /// The committed state.
    pub snapshot: Snapshot,
    /// The fault of the rules, and how to mend it.
    pub error: Diagnostic,
}

/// The outcome of a write.
pub struct Written {
    /// The state afterwards.
    pub standing: Standing,
    /// The state that the decision was made on.
    pub before: Arc<Investigation>,
    /// The decision. Without an event, nothing was written.
    pub decision: Decision,
    /// The tag of the investigation's end, if it has ended.
    pub tag: Option<String>,
}

/// The outcome of a turn: up to two writes.
pub struct Turn {
    /// The state afterwards.
    pub standing: Standing,
    /// The state before.
    pub before: Arc<Investigation>,
    /// The decisions, in order.
    pub decisions: Vec<Decision>,
    /// The commits.
    pub commits: Vec<CommitId>,
}

/// Why a call is refused, with the state of the investigation if that is known.
pub struct Refusal {
    /// All errors, at least one.
    pub errors: Vec<Diagnostic>,
    /// The state that the call was judged on.
    pub standing: Option<Box<Standing>>,
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

    /// Returns the rules in force.
    pub fn rules(&self) -> EffectiveRules<'_> {
        EffectiveRules::new(&self.ruleset.ruleset, self.snapshot.investigation.meta())
    }
}

impl Service {
    /// Returns a service on the investigations in `root`, with the built-in rulesets.
    pub fn new(root: PathBuf, world: World, min_rounds: Option<u32>) -> Self {
        Service {
            site: root.join("site"),
            changes: Changes::default(),
            store: Store::new(root),
            world,
            min_rounds,
            rulesets: Library::built_in(),
            reject_secrets: false,
            sharing: None,
            project: None,
            attachment_max: ATTACHMENT_MAX,
        }
    }

    /// Sets the rulesets for new investigations. Existing ones are judged by their own copy.
    pub fn with_rulesets(self, rulesets: Library) -> Self {
        Service { rulesets, ..self }
    }

    /// Sets the durability level.
    pub fn with_durability(self, durability: Durability) -> Self {
        Service { store: self.store.with_durability(durability), ..self }
    }

    /// Makes the store read-only if `read_only`: then not even what a killed writer left is repaired.
    pub fn reading_only(self, read_only: bool) -> Self {
        Service { store: self.store.reading_only(read_only), ..self }
    }

    /// Refuses texts that look like credentials if `reject`, whatever a ruleset says.
    pub fn rejecting_secrets(self, reject: bool) -> Self {
        Service { reject_secrets: reject, ..self }
    }

    /// Gives new investigations a remote, starts git's maintenance, and reports to the sync thread.
    pub fn with_sharing(self, sharing: Sharing) -> Self {
        Service { sharing: Some(sharing), ..self }
    }

    /// Sets the folder of reports; by default, `site` in the root.
    pub fn with_site(self, site: PathBuf) -> Self {
        Service { site, ..self }
    }

    /// Sets the project in which cited places are looked up.
    pub fn with_project(self, project: Option<Project>) -> Self {
        Service { project, ..self }
    }

    /// Sets the limit of attachments, in bytes.
    pub fn with_attachment_max(self, bytes: u64) -> Self {
        Service { attachment_max: bytes, ..self }
    }

    /// Returns the project that the investigations are about.
    pub fn project(&self) -> Option<&Project> {
        self.project.as_ref()
    }

    /// Looks up these paths. This precedes the transaction, to keep that short.
    fn look_up(&self, cited: &[CitedPath]) -> LookedUpPaths {
        self.project.as_ref().map(|project| project.look_up(cited)).unwrap_or_default()
    }

    /// Returns the folder that reports are written to.
    pub fn site(&self) -> &Path {
        &self.site
    }

    /// Returns a listener to everything that this service writes from now on.
    pub fn listen(&self) -> Listener {
        self.changes.listen()
    }

    /// Returns the number of listeners.
    #[cfg(test)]
    pub(crate) fn listeners(&self) -> usize {
        self.changes.listeners()
    }

    /// Sends a change to all listeners.
    pub fn tell(&self, change: Changed) {
        self.changes.tell(change);
    }

    /// The rules in force, with the operator's additions.
    pub fn rules<'a>(&self, standing: &'a Standing) -> EffectiveRules<'a> {
        let rules = standing.rules().with_attachment_max(self.attachment_max);
        if self.reject_secrets { rules.refusing_secrets() } else { rules }
    }

    /// The reaction to what looks like a credential under a ruleset.
    fn secrets(&self, ruleset: &Ruleset) -> Enforcement {
        if self.reject_secrets { Enforcement::Reject } else { ruleset.checks.secret_suspected }
    }

    /// Returns the store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the rulesets that `tot_start` may choose.
    pub fn rulesets(&self) -> &Library {
        &self.rulesets
    }

    /// Returns the current time, from which new session ids are made.
    ///
    /// # Errors
    ///
    /// `INTERNAL_ERROR` if the time can't be read.
    pub fn now(&self) -> Result<Timestamp, Refusal> {
        self.world.now().map_err(Refusal::from)
    }

    /// Returns the world.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Returns the committed state of the investigation with this id or part of an id.
    ///
    /// # Errors
    ///
    /// `SESSION_NOT_FOUND`, `AMBIGUOUS_SESSION`, `INVALID_RULESET`, and the errors of the store.
    pub fn read(&self, session: &str) -> Result<Standing, Refusal> {
        self.look(session)?.map_err(|unjudged| unjudged.error.into())
    }

    /// As [`Service::read`], but returns what is stored if the pinned ruleset can't be used.
    ///
    /// # Errors
    ///
    /// `SESSION_NOT_FOUND`, `AMBIGUOUS_SESSION`, and the errors of the store.
    pub fn look(&self, session: &str) -> Result<Result<Standing, Unjudged>, Refusal> {
        let (path, snapshot) = self.find(session)?;
        let snapshot = match snapshot {
            Some(snapshot) => snapshot,
            None => self.store.load(&path)?,
        };
        self.store.recover(&path);
        self.used(&snapshot, How::Read);
        Ok(judged(&path, snapshot))
    }

    /// The warnings for a reply about that investigation: commits of its known history that HEAD has left behind. Each is
    /// reported once.
    pub fn moves(&self, session: SessionId) -> Vec<Diagnostic> {
        // If the repository can't be read, the next call reports it.
        self.store.moves(session).unwrap_or_default().iter().map(moved::warning).collect()
    }

    /// The folder of the investigation, and what was read there. By now the folder may contain another investigation than its
    /// name, or an earlier read, said.
    fn find(&self, session: &str) -> Result<(PathBuf, Option<Snapshot>), Refusal> {
        /// The shortest part of an id that agents may give: anything shorter soon matches another id.
        const SHORTEST: usize = 4;
        let part = session.trim().to_ascii_lowercase();
        if part.len() < SHORTEST {
            let root = self.store.root().to_owned();
            return Err(self.not_found(FindError::NotFound { id: part, root }));
        }
        for _ in 0..2 {
            let path = self.store.find(session).map_err(|error| self.not_found(error))?;
            // An error of loading is reported where the folder is read.
            let Ok(snapshot) = self.store.load(&path) else { return Ok((path, None)) };
            let id = snapshot.investigation.meta().id;
            let text = id.to_string();
            if text.starts_with(&part) || text.ends_with(&part) {
                return Ok((path, Some(snapshot)));
            }
            // Loading has corrected the id of this folder.
        }
        Ok((self.store.find(session).map_err(|error| self.not_found(error))?, None))
    }

    /// Why no investigation fits the id, with the newest ones: one of them is often meant.
    fn not_found(&self, error: FindError) -> Refusal {
        /// How many investigations are named.
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
                error.suggestion = Some(format!(
                    "The newest are {}; tot_list lists all, tot_start begins a new one.",
                    named.join(", ")
                ));
            }
        }
        refusal
    }

    /// Decides on the committed state and writes the decision as one commit, with its caller.
    ///
    /// # Errors
    ///
    /// The refusals of `decide`, with the state it judged; and the errors of [`Service::read`] and of the store.
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
        decide: impl Fn(
            &Investigation,
            &EffectiveRules,
            Timestamp,
        ) -> Result<(Decision, Option<Decision>), Rejection>,
    ) -> Result<Transacted<Decided>, Refusal> {
        let (path, _) = self.find(session)?;
        let written = self.store.transact(&path, |snapshot| {
            let standing =
                judged(&path, snapshot.clone()).map_err(|unjudged| Refusal::from(unjudged.error))?;
            if let Some(fault) =
                snapshot.faults.iter().find(|fault| fault.is_unreadable() && fault.path == layout::CONCLUSION)
            {
                return Err(Diagnostic::new(
                    Code::StoreError,
                    format!("Can't tell whether this investigation has ended: {fault}."),
                )
                .suggest(format!(
                    "Fix or remove {} in {} by hand, and commit that.",
                    fault.path,
                    path.display()
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
            Ok((drafts, Decided { first, second, ruleset: standing.ruleset }))
        })?;
        let decisions = [Some(&written.decided.first), written.decided.second.as_ref()];
        let changes: Vec<Change> = decisions
            .into_iter()
            .flatten()
            .filter_map(|decision| decision.event.as_ref())
            .flat_map(Event::changes)
            .collect();
        if !changes.is_empty() {
            self.tell(Changed::by(&written.before.investigation, &changes));
            let has_ended = changes.iter().any(|change| matches!(change, Change::Concluded(_)));
            self.used(&written.after, if has_ended { How::Ended } else { How::Wrote });
        }
        if written.wants_upkeep {
            self.maintain(&path);
        }
        Ok(written)
    }
}

/// The decisions of a transaction, and the rules they were made by.
struct Decided {
    first: Decision,
    second: Option<Decision>,
    ruleset: Arc<RulesetFile>,
}

/// The files and the message of an event that leads from one state to the other.
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

/// Returns the snapshot with its rules, or with their fault.
#[expect(clippy::result_large_err, reason = "either holds the snapshot, which is what is large")]
fn judged(path: &Path, snapshot: Snapshot) -> Result<Standing, Unjudged> {
    let error = match &snapshot.ruleset {
        Ok(ruleset) => return Ok(Standing { ruleset: Arc::clone(ruleset), snapshot }),
        Err(fault) => Diagnostic::new(
            Code::InvalidRuleset,
            format!("This investigation can't be judged: {fault}."),
        )
        .suggest(format!(
            "Fix {} in {} and commit it (git log -p {} shows earlier versions); until then tot_status and tot-report show \
             only what needs no rules.",
            fault.path,
            path.display(),
            fault.path
        )),
    };
    Err(Unjudged { snapshot, error })
}

/// Every acknowledged file must be readable by everybody: a file beyond a reader's limits is not written.
fn check_sizes(files: &[FileChange]) -> Result<(), Refusal> {
    /// Half of a reader's limit.
    const MOST: usize = 8 << 20;
    /// Files below this are within every limit.
    const SMALL: usize = 64 << 10;
    for file in files {
        let Some(content) = file.content.as_deref().filter(|content| content.len() > SMALL) else { continue };
        let Place::Node(id) = layout::place(&file.path) else { continue };
        let is_read = std::str::from_utf8(content).is_ok_and(|text| node_file::read(text).is_ok());
        if content.len() > MOST || !is_read {
            let message =
                format!("The texts of {id} have {} bytes in total; the limit is {MOST}.", content.len());
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
                .suggest("Use the sessionId from tot_start, or start an investigation with tot_start."),
            FindError::Ambiguous { candidates, .. } => {
                let shown: Vec<String> =
                    candidates.iter().take(CANDIDATES).map(ToString::to_string).collect();
                let more = candidates.len().saturating_sub(CANDIDATES);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                Diagnostic::new(Code::AmbiguousSession, message)
                    .suggest(format!("Give more characters; the matches are {}{more}.", shown.join(", ")))
            }
            FindError::Twice { .. } => Diagnostic::new(Code::AmbiguousSession, message)
                .suggest("Move one of the two folders out of the server's root."),
        }
        .into()
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        let code = match error {
            StoreError::Git(GitError::InProgress { .. }) => Code::OperationInProgress,
            StoreError::Git(GitError::Busy { .. } | GitError::Held { .. }) => Code::Busy,
            StoreError::NotAnInvestigation { .. } => Code::InvalidInvestigation,
            StoreError::ReadOnly => Code::ReadOnly,
            StoreError::Full { .. } => Code::InvestigationFull,
            _ => Code::StoreError,
        };
        let diagnostic = Diagnostic::new(code, sentence(&causes(&error)));
        match error.hint() {
            Some(hint) => diagnostic.suggest(format!("{hint}.")),
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
