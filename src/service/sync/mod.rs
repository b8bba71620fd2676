//! Shares investigations with a remote by merging fetched commits and pushing local ones. Neither side loses commits.
//!
//! [`Syncing::run`] syncs several investigations at once:
//!
//! 1. Reads the remote of each investigation from git's configuration.
//! 2. Lists the references of each remote once, regardless of how many investigations it has.
//! 3. `one` syncs one investigation: fetch, fast-forward or merge, check, push. After a lost race it retries with jitter, up to
//!    a maximum number of attempts. `notice` tells of changed rules and edits by hand.
//!
//! Guarantees: a failure of one investigation does not affect the others. A rewritten remote changes nothing locally.
//! If a push is refused, the remote's own words are reported, and the local commits are kept. A server may write at any
//! time, since merges are ordinary store transactions, and a push sends exactly the commit that was checked, by its id.

pub mod clone;
mod error;
mod guard;
pub mod import;
mod notice;
mod one;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub use error::SyncError;
pub use notice::{Notice, NoticeKind};

use crate::base::parallel;
use crate::base::world::World;
use crate::domain::SessionId;
use crate::service::remote::{
    Advertised, GitProgram, KEPT, LocalReferences, RemoteError, RemotePlace, Upstream, shown_address,
};
use crate::store::{CommitId, LeftOut, Store, StoreError};

/// The number of parallel syncs. Hosts refuse more than about ten connections per user.
const AT_ONCE: usize = 4;
/// The git setting for the default remote's address.
pub const REMOTE_SETTING: &str = "tot.remote";
/// The git settings for the name of the default remote and for the prefix of branches in a hub.
const NAME_SETTING: &str = "tot.remoteName";
const PREFIX_SETTING: &str = "tot.prefix";
/// The default name of the remote.
pub const DEFAULT_NAME: &str = "origin";
/// The prefix of branches in a hub.
pub const DEFAULT_PREFIX: &str = "tot";

/// Sync options.
#[derive(Clone, Copy, Debug, Default)]
pub struct SyncOptions {
    /// Report the planned transfer without making it.
    pub dry_run: bool,
    /// Merge even if the remote was rewritten.
    pub rejoin: bool,
    /// Push even if some text looks like a credential.
    pub allow_secrets: bool,
}

/// The context of a sync.
pub struct Syncing<'a> {
    /// The store that contains the investigations.
    pub store: &'a Store,
    /// The user's git.
    pub git: &'a GitProgram,
    /// The source of time and randomness.
    pub world: &'a World,
    /// The options.
    pub options: SyncOptions,
}

/// An investigation to sync, with its remote.
#[derive(Clone, Debug)]
struct SyncSubject {
    path: PathBuf,
    /// The local branch.
    branch: String,
    upstream: Upstream,
    here: LocalReferences,
    is_partial: bool,
    /// Says that what was sent is not where it is read, if the two addresses differ.
    sent_elsewhere: Option<String>,
    /// True if the remote has another address than at the last sync, or another to push to. It may lack what was sent.
    has_moved: bool,
}

/// The outcome for one investigation.
#[derive(Debug)]
pub struct SyncOutcome {
    /// Its folder.
    pub path: PathBuf,
    /// The investigation's remote and its branch there, if known.
    pub upstream: Option<Upstream>,
    /// The transferred commits, even if the sync failed later.
    pub done: Done,
    /// The error, if the sync is incomplete.
    pub error: Option<SyncError>,
}

/// The commits and tags that a sync has transferred.
#[derive(Debug, Default)]
pub struct Done {
    /// The number of fetched commits.
    pub came: usize,
    /// The number of pushed commits.
    pub went: usize,
    /// The fetched tags.
    pub tags_came: Vec<String>,
    /// The pushed tags.
    pub tags_went: Vec<String>,
    /// The merge commit, if any, with the merge decisions.
    pub joined: Option<(CommitId, Vec<crate::merge::MergeDecision>)>,
    /// Fetched changes that a person should know about.
    pub notices: Vec<Notice>,
    /// Messages that require action by a person.
    pub notes: Vec<String>,
}

impl Done {
    /// Returns whether there was nothing to do.
    pub fn is_nothing(&self) -> bool {
        self.came + self.went + self.tags_came.len() + self.tags_went.len() == 0 && self.joined.is_none()
    }
}

impl Syncing<'_> {
    /// Syncs the investigations in these folders, each on its own branch. If `all` is true, skips investigations without
    /// a remote. Reports
    /// progress to `tell`. Returns the outcomes in the order of the folders.
    pub fn run(&self, folders: &[PathBuf], all: bool, tell: &(dyn Fn(&str) + Sync)) -> Vec<SyncOutcome> {
        tell("reading the investigations");
        let subjects = at_once(folders, |path| self.subject(path, all));
        let mut groups: BTreeMap<&str, Vec<&SyncSubject>> = BTreeMap::new();
        for subject in subjects.iter().filter_map(|subject| subject.as_ref().ok()?.as_ref()) {
            groups.entry(&subject.upstream.address).or_default().push(subject);
        }
        let groups: Vec<_> = groups.into_iter().collect();
        let answers = at_once(&groups, |(address, group)| {
            tell(&format!("reading {}", shown_address(address)));
            ask(self.git, group)
        });
        let answers: BTreeMap<&str, _> = groups.iter().map(|(address, _)| *address).zip(answers).collect();
        let outcome = |(path, subject): (&PathBuf, &Result<Option<SyncSubject>, SyncError>)| {
            let outcome = |upstream: Option<&Upstream>, (done, error)| SyncOutcome {
                path: path.clone(),
                upstream: upstream.cloned(),
                done,
                error,
            };
            let subject = match subject {
                Ok(None) => return None,
                Err(error) => return Some(outcome(None, (Done::default(), Some(error.clone())))),
                Ok(Some(subject)) => subject,
            };
            let upstream = &subject.upstream;
            Some(match &answers[upstream.address.as_str()] {
                Err(error) => outcome(Some(upstream), (Done::default(), Some(error.clone()))),
                Ok(advertised) => {
                    tell(&format!("syncing {}", path.display()));
                    outcome(Some(upstream), self.one(subject, advertised))
                }
            })
        };
        let pairs: Vec<_> = folders.iter().zip(&subjects).collect();
        at_once(&pairs, |(path, subject)| outcome((path, subject))).into_iter().flatten().collect()
    }

    /// Returns the remote of the investigation, or `None` if it has no remote and `all` is set. Only its own branch is
    /// synced.
    fn subject(&self, path: &Path, all: bool) -> Result<Option<SyncSubject>, SyncError> {
        // Git passes over a branch that is damaged or missing, as if there were no remote either.
        if self.store.head(path)?.is_none() {
            self.store.id(path)?;
        }
        let here = self.git.references(path)?;
        let mut settings = self.git.settings(path)?;
        // An empty value keeps an investigation from getting one.
        let default = match settings.last(REMOTE_SETTING) {
            Some("") => None,
            _ => default_remote(self.git, self.store.root())?,
        };
        let is_shared =
            default.is_some() || here.branches().any(|branch| settings.upstream(branch).is_some());
        if all && !is_shared {
            return Ok(None);
        }
        self.store.check_references(path)?;
        let branch = here.branch.clone().unwrap_or_default();
        let own = settings.own_branch(&here);
        if own.is_none_or(|own| own != branch) {
            // A detached HEAD is on no branch.
            self.store.open(path)?.refuse_in_progress()?;
            let own = own.map(str::to_owned);
            return Err(SyncError::NotOwnBranch { path: path.to_owned(), branch, own });
        }
        if !self.options.dry_run {
            self.store.configure(path)?;
            if settings.upstream(&branch).is_none()
                && let Some(remote) = default
            {
                remote.add_to(self.git, path, &branch, self.id(path)?)?;
            }
            settings = self.git.settings(path)?;
        }
        match settings.upstream(&branch) {
            Some(upstream) => {
                let from = shown_address(&upstream.address);
                let sent_elsewhere = settings.other_push_address(&upstream).map(|to| {
                    let (remote, to) = (&upstream.remote, shown_address(&to));
                    format!("{remote} is pushed to {to}, but read from {from}, which lacks what was sent")
                });
                let has_moved = sent_elsewhere.is_some()
                    || settings.synced(&upstream.remote).is_some_and(|it| it != from);
                let (path, is_partial) = (path.to_owned(), settings.is_partial());
                Ok(Some(SyncSubject { path, branch, upstream, here, is_partial, sent_elsewhere, has_moved }))
            }
            None if all => Ok(None),
            None => Err(SyncError::NoRemote { path: path.to_owned(), branch }),
        }
    }

    fn id(&self, path: &Path) -> Result<SessionId, StoreError> {
        Ok(self.store.load(path)?.investigation.meta().id)
    }
}

/// Lists the references of a remote once for all given investigations.
fn ask(git: &GitProgram, group: &[&SyncSubject]) -> Result<Advertised, SyncError> {
    let Some(first) = group.first() else { return Ok(Advertised::default()) };
    let mut patterns: Vec<String> =
        group.iter().flat_map(|subject| subject.upstream.place.patterns()).collect();
    patterns.sort();
    patterns.dedup();
    Ok(git.ls_remote(&first.path, &first.upstream.remote, &patterns)?)
}

/// Returns the message about a fetched file that is left out of the work tree.
pub fn note(left_out: &LeftOut) -> String {
    format!("{} is left out of the work tree: {}", left_out.file, left_out.reason)
}

/// Creates a branch at the commit, named after today's date, and returns its name. If a branch at the commit already
/// exists, reuses it.
///
/// # Errors
///
/// Returns an error if git fails.
pub fn keep(git: &GitProgram, world: &World, path: &Path, commit: CommitId) -> Result<String, RemoteError> {
    let here = git.references(path)?;
    let kept = here.refs.iter().find(|(name, object)| {
        name.starts_with(&format!("refs/heads/{KEPT}/")) && object.commit() == Some(commit)
    });
    if let Some((name, _)) = kept {
        return Ok(name["refs/heads/".len()..].to_owned());
    }
    let today = world.now().map(|now| now.to_string()).unwrap_or_default();
    let day = format!("{KEPT}/{}", today.get(..10).unwrap_or("unknown"));
    let names = std::iter::once(day.clone()).chain((2..).map(|number| format!("{day}-{number}")));
    for name in names.take(100) {
        if git.create_branch(path, &name, commit)? {
            return Ok(name);
        }
    }
    Ok(commit.to_string())
}

/// A remote for investigations that have none.
#[derive(Clone, Debug)]
pub struct DefaultRemote {
    /// The name of the remote.
    pub name: String,
    /// The address of the remote.
    pub address: String,
    /// The prefix of investigation branches on the remote.
    pub prefix: String,
}

impl DefaultRemote {
    /// Adds this remote to an investigation, for its local branch.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`GitProgram::add_remote`].
    pub fn add_to(
        &self,
        git: &GitProgram,
        path: &Path,
        branch: &str,
        id: SessionId,
    ) -> Result<(), RemoteError> {
        git.add_remote(path, branch, &self.name, &self.address, &RemotePlace::in_hub(&self.prefix, id))
    }
}

/// Returns the default remote for investigations in the root, if one is set in git's configuration.
///
/// # Errors
///
/// Returns an error if git fails.
pub fn default_remote(git: &GitProgram, root: &Path) -> Result<Option<DefaultRemote>, RemoteError> {
    let settings = git.settings(root)?;
    let address = settings.last(REMOTE_SETTING).filter(|address| !address.is_empty());
    address.map(|address| remote_at(git, root, address.to_owned())).transpose()
}

/// Returns the default remote at this address, with the name and the prefix from git's configuration.
///
/// # Errors
///
/// Returns an error if git fails.
pub fn remote_at(git: &GitProgram, root: &Path, address: String) -> Result<DefaultRemote, RemoteError> {
    let settings = git.settings(root)?;
    let or = |key: &str, default: &str| settings.last(&key.to_lowercase()).unwrap_or(default).to_owned();
    Ok(DefaultRemote {
        name: or(NAME_SETTING, DEFAULT_NAME),
        address,
        prefix: or(PREFIX_SETTING, DEFAULT_PREFIX),
    })
}

/// Sets the default remote for new investigations in the root. Returns false if no repository around the root can store
/// the setting.
///
/// # Errors
///
/// Returns an error if git fails.
pub fn set_default_remote(
    git: &GitProgram,
    root: &Path,
    name: &str,
    address: &str,
    prefix: &str,
) -> Result<bool, RemoteError> {
    for (key, value) in [(NAME_SETTING, name), (PREFIX_SETTING, prefix), (REMOTE_SETTING, address)] {
        if !git.set(root, key, value)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Calls `each` on the items in parallel and returns the results in order.
pub fn at_once<T: Sync, R: Send>(items: &[T], each: impl Fn(&T) -> R + Sync) -> Vec<R> {
    parallel::each(items, AT_ONCE, each)
}
