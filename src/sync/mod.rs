//! Sharing investigations with a remote: what came is taken in, what is here goes there, and nothing is lost on either side.
//!
//! [`Syncing::run`] does several at once:
//!
//! 1. Reads where each is synced with: git's own configuration.
//! 2. Asks each remote once what it has, however many investigations are on it.
//! 3. `one` does one investigation: fetch; go forward or join; check; push; and from the beginning on a lost race, with
//!    jitter, until it is done or out of tries.
//!
//! Guarantees: one that fails keeps no other from being done; a remote that was rewritten moves nothing here; what is not
//! accepted there is told in the remote's own words, and stays here; a server may write at any time, since the store joins
//! as it commits, and a push is what was read and checked, by its id.

pub mod clone;
mod error;
mod guard;
pub mod import;
pub mod index;
mod notice;
mod one;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub use error::SyncError;
pub use notice::{Notice, NoticeKind};

use crate::domain::SessionId;
use crate::parallel;
use crate::remote::{Advertised, GitProgram, Here, Place, RemoteError, Upstream};
use crate::store::{CommitId, LeftOut, Store, StoreError};
use crate::world::World;

/// How many are synced at once. Hosts refuse more connections of one user than some ten.
const AT_ONCE: usize = 4;
/// The settings of git for investigations without a remote: where they go, what the remote is called, and the prefix of
/// their branches.
pub const REMOTE_SETTING: &str = "tot.remote";
const NAME_SETTING: &str = "tot.remoteName";
const PREFIX_SETTING: &str = "tot.prefix";
/// What is taken where these say nothing.
pub const DEFAULT_NAME: &str = "origin";
/// The prefix of branches in a hub.
pub const DEFAULT_PREFIX: &str = "tot";

/// How it is done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Only say what would be done.
    pub dry_run: bool,
    /// Join with a remote that was rewritten, too.
    pub rejoin: bool,
    /// Push what looks like a credential, too.
    pub allow_secrets: bool,
}

/// What syncing works with.
pub struct Syncing<'a> {
    /// Where the investigations are.
    pub store: &'a Store,
    /// The user's git.
    pub git: &'a GitProgram,
    /// Where the time and chance come from.
    pub world: &'a World,
    /// How it is done.
    pub options: Options,
}

/// Where an investigation is synced with.
#[derive(Clone, Debug)]
struct Subject {
    path: PathBuf,
    /// The branch here.
    branch: String,
    upstream: Upstream,
    here: Here,
    is_partial: bool,
}

/// What was done for one investigation.
#[derive(Debug)]
pub struct Outcome {
    /// Its folder.
    pub path: PathBuf,
    /// Where it is synced with, as far as that is known.
    pub upstream: Option<Upstream>,
    /// What came and went; of a failure, until then.
    pub done: Done,
    /// Why it could not be done to the end.
    pub error: Option<SyncError>,
}

/// What came and went.
#[derive(Debug, Default)]
pub struct Done {
    /// How many commits came.
    pub came: usize,
    /// How many went.
    pub went: usize,
    /// The tags that came.
    pub tags_came: Vec<String>,
    /// The tags that went.
    pub tags_went: Vec<String>,
    /// The merge, where one was made, with each decision in it.
    pub joined: Option<(CommitId, Vec<crate::merge::Decision>)>,
    /// What came that a person should know of.
    pub notices: Vec<Notice>,
    /// What a person should look at.
    pub notes: Vec<String>,
}

impl Done {
    /// Whether nothing was to be done.
    pub fn is_nothing(&self) -> bool {
        self.came + self.went + self.tags_came.len() + self.tags_went.len() == 0 && self.joined.is_none()
    }
}

impl Syncing<'_> {
    /// Syncs the investigations in these folders; with `all`, leaves out those without a remote. `tell` hears what is being
    /// done. The outcomes stand in the order of the folders.
    pub fn run(&self, folders: &[PathBuf], all: bool, tell: &(dyn Fn(&str) + Sync)) -> Vec<Outcome> {
        tell("looking at the investigations");
        let subjects = at_once(folders, |path| self.subject(path, all));
        let mut groups: BTreeMap<&str, Vec<&Subject>> = BTreeMap::new();
        for subject in subjects.iter().filter_map(|subject| subject.as_ref().ok()?.as_ref()) {
            groups.entry(&subject.upstream.address).or_default().push(subject);
        }
        let groups: Vec<_> = groups.into_iter().collect();
        let answers = at_once(&groups, |(address, group)| {
            tell(&format!("asking {}", crate::remote::shown_address(address)));
            ask(self.git, group)
        });
        let answers: BTreeMap<&str, _> = groups.iter().map(|(address, _)| *address).zip(answers).collect();
        let outcome = |(path, subject): (&PathBuf, &Result<Option<Subject>, SyncError>)| {
            let outcome = |upstream: Option<&Upstream>, (done, error)| Outcome {
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

    /// Where the investigation is synced with. `None`: nowhere, and nobody asked for this one.
    fn subject(&self, path: &Path, all: bool) -> Result<Option<Subject>, SyncError> {
        let here = self.git.references(path)?;
        let Some(branch) = here.branch.clone() else {
            // In the middle of a rebase, HEAD is on no branch, and git lets nobody switch.
            self.store.refuse_in_progress(path)?;
            return Err(SyncError::Detached { path: path.to_owned() });
        };
        let mut settings = self.git.settings(path)?;
        if settings.upstream(&branch).is_none()
            && !self.options.dry_run
            && let Some(remote) = default_remote(self.git, self.store.root())?
        {
            remote.add_to(self.git, path, &branch, self.id(path)?)?;
            settings = self.git.settings(path)?;
        }
        match settings.upstream(&branch) {
            Some(upstream) => Ok(Some(Subject {
                path: path.to_owned(),
                branch,
                upstream,
                here,
                is_partial: settings.is_partial(),
            })),
            None if all => Ok(None),
            None => Err(SyncError::NoRemote { path: path.to_owned(), branch }),
        }
    }

    fn id(&self, path: &Path) -> Result<SessionId, StoreError> {
        Ok(self.store.load(path)?.investigation.meta().id)
    }
}

/// Asks a remote once for all that these are to know.
fn ask(git: &GitProgram, group: &[&Subject]) -> Result<Advertised, SyncError> {
    let Some(first) = group.first() else { return Ok(Advertised::default()) };
    let mut patterns: Vec<String> =
        group.iter().flat_map(|subject| subject.upstream.place.patterns()).collect();
    patterns.sort();
    patterns.dedup();
    Ok(git.ls_remote(&first.path, &first.upstream.remote, &patterns)?)
}

/// The message about a file that came and is left out of the work tree.
pub fn note(left_out: &LeftOut) -> String {
    format!("{} is left out of the work tree: {}", left_out.file, left_out.reason)
}

/// What the branches are called that keep what nothing else would lead to.
const KEPT: &str = "tot-kept";

/// A branch at that commit, by the name of today; the one that is there already, where there is one.
///
/// # Errors
///
/// Whatever git says.
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

/// Where investigations go that have no remote yet.
#[derive(Clone, Debug)]
pub struct DefaultRemote {
    /// What it is called.
    pub name: String,
    /// Its address.
    pub address: String,
    /// What their branches there begin with.
    pub prefix: String,
}

impl DefaultRemote {
    /// Has an investigation go there, from its branch here.
    ///
    /// # Errors
    ///
    /// As [`GitProgram::add_remote`].
    pub fn add_to(
        &self,
        git: &GitProgram,
        path: &Path,
        branch: &str,
        id: SessionId,
    ) -> Result<(), RemoteError> {
        git.add_remote(path, branch, &self.name, &self.address, &Place::in_hub(&self.prefix, id))
    }
}

/// Where investigations of the root go that have no remote yet, by git's configuration.
///
/// # Errors
///
/// Whatever git says.
pub fn default_remote(git: &GitProgram, root: &Path) -> Result<Option<DefaultRemote>, RemoteError> {
    let settings = git.settings(root)?;
    let address = settings.last(&REMOTE_SETTING.to_lowercase());
    address.map(|address| remote_at(git, root, address.to_owned())).transpose()
}

/// The default remote at this address, with the name and the prefix of git's configuration.
///
/// # Errors
///
/// Whatever git says.
pub fn remote_at(git: &GitProgram, root: &Path, address: String) -> Result<DefaultRemote, RemoteError> {
    let settings = git.settings(root)?;
    let or = |key: &str, default: &str| settings.last(&key.to_lowercase()).unwrap_or(default).to_owned();
    Ok(DefaultRemote {
        name: or(NAME_SETTING, DEFAULT_NAME),
        address,
        prefix: or(PREFIX_SETTING, DEFAULT_PREFIX),
    })
}

/// Has new investigations of the root go there. Says whether there is a repository around the root that can say so.
///
/// # Errors
///
/// Whatever git says.
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

/// Does it for each, a few at once, and gives the results in their order.
pub fn at_once<T: Sync, R: Send>(items: &[T], each: impl Fn(&T) -> R + Sync) -> Vec<R> {
    parallel::each(items, AT_ONCE, each)
}
