//! The work of the server beside the calls: the remote of a new investigation, git's maintenance, and messages to the sync thread
//! about use.
//!
//! Guarantees: a start that was answered has its remote, or its reply says why not; nothing else here keeps a call waiting.
//! Limit: a call that commits while git's maintenance collects garbage waits for its end, as the store does beside any `git gc`:
//! it can't tell a run that spares new objects from one that does not.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Service;
use crate::domain::{Code, Diagnostic, SessionId, Timestamp};
use crate::remote::{GitProgram, RemoteError, shown_address};
use crate::store::Snapshot;
use crate::sync::{default_remote, remote_at};
use crate::text::{causes, sentence};

/// The least time between two runs of git's maintenance for one investigation, however much a run leaves.
const UPKEEP: Duration = Duration::from_secs(600);

/// The operator's settings for sharing, and the outcome of syncs so far.
#[derive(Default)]
pub struct Sharing {
    /// The address for new investigations; without it, the one in git's configuration.
    address: Option<String>,
    /// The channel to the sync thread.
    syncer: Option<Sender<Told>>,
    synced: Mutex<HashMap<SessionId, Synced>>,
    /// The last start of git's maintenance, by repository.
    maintained: Mutex<HashMap<PathBuf, Timestamp>>,
}

/// Messages to the sync thread.
#[derive(Clone, Debug)]
pub enum Told {
    /// A call has used an investigation.
    Used(Used),
    /// The server ends. No message follows.
    TheEnd,
}

/// A call has used an investigation.
#[derive(Clone, Debug)]
pub struct Used {
    /// The investigation.
    pub session: SessionId,
    /// Its folder.
    pub path: PathBuf,
    /// The kind of use.
    pub how: How,
}

/// The kind of use of an investigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It was read.
    Read,
    /// It was written to.
    Wrote,
    /// It has ended.
    Ended,
}

/// The outcome of the last sync of an investigation.
#[derive(Clone, Debug, Default)]
pub struct Synced {
    /// When the last complete sync ended.
    pub last: Option<Timestamp>,
    /// Why the last sync was not complete.
    pub error: Option<String>,
    /// The latest news for a person.
    pub notice: Option<String>,
}

/// An investigation compared with its remote.
#[derive(Clone, Debug)]
pub struct RemoteStanding {
    /// The address, without a password.
    pub remote: String,
    /// The number of commits only here and only there, when last seen.
    pub apart: Option<(usize, usize)>,
    /// The outcome of the last sync by this server.
    pub synced: Synced,
}

impl Sharing {
    /// Sends new investigations to that address, or else to the one in git's configuration.
    pub fn to(address: Option<String>) -> Self {
        Sharing { address, ..Sharing::default() }
    }

    /// Sets the channel to the sync thread.
    pub fn telling(self, syncer: Sender<Told>) -> Self {
        Sharing { syncer: Some(syncer), ..self }
    }
}

impl Service {
    /// Compares the investigation with its remote, if it has one.
    pub fn remote_standing(&self, snapshot: &Snapshot) -> Option<RemoteStanding> {
        let upstream = self.store.upstream(snapshot).ok().flatten()?;
        let synced = self
            .sharing
            .as_ref()
            .and_then(|sharing| lock(&sharing.synced).get(&snapshot.investigation.meta().id).cloned());
        Some(RemoteStanding {
            remote: shown_address(&upstream.address),
            apart: upstream.apart,
            synced: synced.unwrap_or_default(),
        })
    }

    /// Notes the outcome of a sync.
    pub fn note_synced(&self, session: SessionId, outcome: Result<Timestamp, String>) {
        let Some(sharing) = &self.sharing else { return };
        let mut synced = lock(&sharing.synced);
        let entry = synced.entry(session).or_default();
        match outcome {
            Ok(at) => (entry.last, entry.error) = (Some(at), None),
            Err(error) => entry.error = Some(error),
        }
    }

    /// Notes what a person should know of a sync.
    pub fn note_came(&self, session: SessionId, notice: String) {
        let Some(sharing) = &self.sharing else { return };
        lock(&sharing.synced).entry(session).or_default().notice = Some(notice);
    }

    /// Tells the sync thread that an investigation was used.
    pub(super) fn used(&self, snapshot: &Snapshot, how: How) {
        if let Some(syncer) = self.sharing.as_ref().and_then(|sharing| sharing.syncer.as_ref()) {
            let session = snapshot.investigation.meta().id;
            // While the server ends, nothing receives it.
            let _ = syncer.send(Told::Used(Used { session, path: snapshot.path.clone(), how }));
        }
    }

    /// Gives a new investigation its remote. A failure is a warning, since the investigation itself is stored.
    pub(super) fn give_remote(&self, snapshot: &Snapshot) -> Option<Diagnostic> {
        let sharing = self.sharing.as_ref()?;
        let given = GitProgram::find(false).and_then(|git| self.try_give_remote(sharing, &git, snapshot));
        let error = match given.err()? {
            // Without git, no setting can ask for a remote either.
            RemoteError::NoGit(_) | RemoteError::TooOld { .. } if sharing.address.is_none() => return None,
            error => error,
        };
        let message = format!("This investigation has no remote yet: {}", sentence(&causes(&error)));
        Some(
            Diagnostic::new(Code::StoreError, message).suggest("A person can add one with `tot remote add`."),
        )
    }

    fn try_give_remote(
        &self,
        sharing: &Sharing,
        git: &GitProgram,
        snapshot: &Snapshot,
    ) -> Result<(), RemoteError> {
        let root = self.store.root();
        let remote = match &sharing.address {
            Some(address) => Some(remote_at(git, root, address.clone())?),
            None => default_remote(git, root)?,
        };
        let branch = snapshot.branch.as_deref().and_then(|branch| branch.strip_prefix("refs/heads/"));
        match (remote, branch) {
            (Some(remote), Some(branch)) => {
                remote.add_to(git, &snapshot.path, branch, snapshot.investigation.meta().id)
            }
            _ => Ok(()),
        }
    }

    /// Starts git's maintenance of the repository in the background, at most once every ten minutes.
    pub fn maintain(&self, path: &Path) {
        let (Some(sharing), Ok(now)) = (&self.sharing, self.world.now()) else { return };
        let since = |last: &Timestamp| now.milliseconds().abs_diff(last.milliseconds());
        let is_soon = |last: &Timestamp| u128::from(since(last)) < UPKEEP.as_millis();
        let mut maintained = lock(&sharing.maintained);
        if maintained.get(path).is_some_and(is_soon) {
            return;
        }
        maintained.insert(path.to_owned(), now);
        drop(maintained);
        // If it can't be started, the repository only stays larger than necessary.
        if let Ok(git) = GitProgram::find(false) {
            let _ = git.maintain(&[path.to_owned()]);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
