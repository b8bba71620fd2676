//! The service behind all tools: the store, the clock and the rulesets.
//!
//! - [`Service::read`] loads the committed state of an investigation.
//! - [`Service::write`] decides and commits in one store transaction, so every decision is committed on top of the
//!   state it was based on.
//!
//! Both repair damage left in the repository by a killed writer, even in calls that only read.
//!
//! `arguments` turns JSON into typed input, and `calls` has the calls that write. `reply` says what a call that
//! writes replies. `background` syncs in servers, and `changes` tells listeners of writes.

pub mod address;
pub mod arguments;
pub mod background;
mod calls;
pub mod changes;
pub mod check;
mod loaded;
mod moved;
pub mod project;
mod refusal;
pub mod remote;
pub mod reply;
pub mod runs;
pub mod sharing;
pub mod signoff;
pub mod sync;
pub mod withhold;
mod writing;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::assess::ProjectInputs;
use crate::base::world::World;
use crate::domain::{
    CitedPath, Code, Diagnostic, Investigation, LookedUp, LookedUpPaths, SessionId, Timestamp, Wording,
};
use crate::ruleset::{ATTACHMENT_MAX, EffectiveRules, Enforcement, Library, Ruleset, RulesetFile, builtin};
use crate::service::project::Project;
use crate::store::{FindError, Snapshot, Store};
use crate::text::shorten;
use address::ResourceAddress;
use changes::{BEHIND, Changes, Listener, ServiceChange};
pub use loaded::{Loaded, Turn, Written};
pub use refusal::Refusal;
use sharing::{Sharing, UseKind};

/// The store, the clock and the settings.
pub struct Service {
    /// The investigations.
    pub store: Store,
    world: World,
    /// The operator's minimum for the required number of rounds.
    min_rounds: Option<u32>,
    /// The rulesets for new investigations. Existing investigations keep their own copies.
    pub(crate) rulesets: Library,
    /// True if text that looks like a credential is refused, regardless of the ruleset.
    pub(crate) reject_secrets: bool,
    /// The folder for reports.
    pub(crate) site: PathBuf,
    pub(crate) changes: Changes,
    /// The settings for sharing: remotes for new investigations, git maintenance, and syncs. `None` disables it.
    pub(crate) sharing: Option<Sharing>,
    /// The project that the investigations are about, if known. Cited files are looked up in it.
    pub(crate) project: Option<Project>,
    /// The maximum size of an attachment, in bytes.
    pub(crate) attachment_max: u64,
    /// What agents should know about the root, and whether a reply has said so.
    pub(crate) root_note: Option<String>,
    has_noted_root: AtomicBool,
}

impl Service {
    /// Returns a service for the investigations in `root`, with the built-in rulesets and `site` in the root for reports.
    pub fn new(root: PathBuf, world: World, min_rounds: Option<u32>) -> Self {
        Service {
            site: root.join("site"),
            changes: Changes::new(BEHIND),
            store: Store::new(root),
            world,
            min_rounds,
            rulesets: Library::default(),
            reject_secrets: false,
            sharing: None,
            project: None,
            attachment_max: ATTACHMENT_MAX,
            root_note: None,
            has_noted_root: AtomicBool::new(false),
        }
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

    /// Returns what became of the inputs of an investigation's commands in the project, if there is one.
    pub fn inputs(&self, investigation: &Investigation) -> Option<ProjectInputs> {
        Some(self.project.as_ref()?.files(None)?.inputs(investigation))
    }

    /// Looks up cited paths in the project, if there is one, and addresses of other investigations among those here. Called
    /// before a transaction, to keep the transaction short.
    pub fn look_up(&self, cited: impl FnOnce() -> Vec<CitedPath>) -> LookedUpPaths {
        /// The maximum number of addresses looked up.
        const ADDRESSES: usize = 20;
        let is_address = |cited: &CitedPath| cited.path.starts_with(address::SCHEME);
        let (addresses, paths): (Vec<_>, Vec<_>) = cited().into_iter().partition(is_address);
        let project = self.project.as_ref();
        let mut known = project.map(|project| project.look_up(&paths)).unwrap_or_default();
        known.extend(addresses.into_iter().take(ADDRESSES).filter_map(|cited| {
            let missing = self.missing_address(&cited.path)?;
            Some((cited, LookedUp::Missing(missing)))
        }));
        known
    }

    /// Says what is wrong with an address of an investigation or a node. Returns `None` if it is right, or if the
    /// investigation is not here.
    fn missing_address(&self, address: &str) -> Option<String> {
        let (session, node) = match ResourceAddress::parse(address) {
            Some(ResourceAddress::Node(session, node)) => (session, node),
            Some(_) => return None,
            None => return Some(format!("write {}ID/nodes/NODE", address::SCHEME)),
        };
        let snapshot = self.store.load(&self.store.find(&session).ok()?).ok()?;
        snapshot.investigation.find(&node).is_err().then(|| format!("it has no node {node}"))
    }

    /// Returns the folder for reports.
    pub fn site(&self) -> &Path {
        &self.site
    }

    /// Returns a listener for all later writes by this service.
    pub fn listen(&self) -> Listener {
        self.changes.subscribe()
    }

    /// Sends a change to all listeners. Does not block.
    pub fn tell(&self, change: ServiceChange) {
        // Sending fails only if there are no listeners.
        let _ = self.changes.send(change);
    }

    /// Returns the rules for this investigation, with the operator's settings.
    pub fn rules<'a>(&self, loaded: &'a Loaded) -> EffectiveRules<'a> {
        let mut rules = loaded.rules();
        rules.secrets = self.secrets(rules.ruleset());
        rules.attachment_max = self.attachment_max;
        rules
    }

    /// Returns the enforcement level for suspected credentials under a ruleset.
    fn secrets(&self, ruleset: &Ruleset) -> Enforcement {
        if self.reject_secrets { Enforcement::Reject } else { ruleset.checks.secret_suspected }
    }

    /// Returns the store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the named or the default ruleset.
    ///
    /// # Errors
    ///
    /// Returns `UNKNOWN_RULESET`.
    pub fn ruleset(&self, name: Option<&str>) -> Result<&RulesetFile, Diagnostic> {
        let name = name.map_or(builtin::DEFAULT, str::trim);
        self.rulesets.get(name).ok_or_else(|| {
            let message = format!("Unknown ruleset `{}`.", shorten(name, 60));
            Diagnostic::new(Code::UnknownRuleset, message)
                .suggest(format!("The rulesets are {}.", self.rulesets.name_list()))
        })
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
    pub fn read(&self, session: &str) -> Result<Loaded, Refusal> {
        Ok(Loaded::of(&self.look(session)?)?)
    }

    /// Returns the committed state of an investigation, even if its ruleset is unusable.
    ///
    /// # Errors
    ///
    /// Returns `SESSION_NOT_FOUND`, `AMBIGUOUS_SESSION`, or a store error.
    pub fn look(&self, session: &str) -> Result<Snapshot, Refusal> {
        let snapshot = self.recovered(session)?;
        self.used(&snapshot, UseKind::Read);
        Ok(snapshot)
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
        let part = SessionId::part(session);
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
}
