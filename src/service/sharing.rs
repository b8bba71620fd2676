//! The server's sharing tasks: remotes for new investigations, git maintenance, and messages to the sync thread.
//!
//! Guarantees: the reply to `tot_start` reports a failure to add the remote to the new investigation. No other task in
//! this module delays a call.
//!
//! Limitation: a call that commits during git's garbage collection waits until the collection has finished, as with any
//! `git gc`. The store cannot know whether the garbage collection will spare new objects.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;

use super::Service;
use crate::domain::{Code, Diagnostic, SessionId, Timestamp};
use crate::service::remote::{GitProgram, RemoteError, shown_address};
use crate::service::sync::{REMOTE_SETTING, default_remote, remote_at};
use crate::store::Snapshot;
use crate::text::{causes, sentence};

/// The minimum time between two maintenance runs for one investigation.
const UPKEEP: Duration = Duration::from_secs(600);

/// The operator's settings for sharing, and the outcomes of syncs.
#[derive(Default)]
pub struct Sharing {
    /// The address for new investigations. If empty, they get no remote, and `tot sync` gives them none. If `None`, the
    /// address in git's configuration is used.
    address: Option<String>,
    /// The channel to the sync thread.
    pub(crate) syncer: Option<Sender<SyncMessage>>,
    synced: Mutex<HashMap<SessionId, Synced>>,
    /// The time at which maintenance was last started, by repository.
    maintained: Mutex<HashMap<PathBuf, Timestamp>>,
}

/// A message to the sync thread.
#[derive(Clone, Debug)]
pub enum SyncMessage {
    /// A call used an investigation.
    Used {
        /// The investigation.
        session: SessionId,
        /// The folder of the investigation.
        path: PathBuf,
        /// The kind of access.
        kind: UseKind,
    },
    /// The server is shutting down. No message follows.
    Shutdown,
}

/// The kind of access to an investigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UseKind {
    /// A call read the investigation.
    Read,
    /// A call wrote to the investigation.
    Wrote,
    /// A call ended the investigation.
    Ended,
}

/// The outcome of an investigation's last sync.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Synced {
    /// The time of the last complete sync.
    #[serde(rename = "lastSynced")]
    pub last: Option<Timestamp>,
    /// The error, if the last sync was incomplete. The sync is retried.
    pub error: Option<String>,
    /// The latest notice for people: changed rules, manual edits, forged names.
    pub notice: Option<String>,
}

/// An investigation compared with its remote.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SyncStatus {
    /// The address, without a password.
    pub remote: String,
    /// The number of local commits that the remote lacked when last seen. Absent before the first sync.
    pub ahead: Option<usize>,
    /// The number of remote commits that are missing locally.
    pub behind: Option<usize>,
    /// The outcome of the last sync by this server.
    #[serde(flatten)]
    pub synced: Synced,
}

impl Sharing {
    /// Gives new investigations a remote at `address`, or at the address in git's configuration if `address` is `None`.
    pub fn to(address: Option<String>) -> Self {
        Sharing { address, ..Sharing::default() }
    }
}

impl Service {
    /// Compares the investigation with its remote, if it has one.
    pub fn remote_standing(&self, snapshot: &Snapshot) -> Option<SyncStatus> {
        let upstream = self.store.upstream(snapshot).ok().flatten()?;
        let synced = self
            .sharing
            .as_ref()
            .and_then(|sharing| lock(&sharing.synced).get(&snapshot.investigation.meta().id).cloned());
        Some(SyncStatus {
            remote: shown_address(&upstream.address),
            ahead: upstream.apart.map(|(ahead, _)| ahead),
            behind: upstream.apart.map(|(_, behind)| behind),
            synced: synced.unwrap_or_default(),
        })
    }

    /// Records the outcome of a sync.
    pub fn note_synced(&self, session: SessionId, outcome: Result<Timestamp, String>) {
        let Some(sharing) = &self.sharing else { return };
        let mut synced = lock(&sharing.synced);
        let entry = synced.entry(session).or_default();
        match outcome {
            Ok(at) => (entry.last, entry.error) = (Some(at), None),
            Err(error) => entry.error = Some(error),
        }
    }

    /// Records a notice about a sync, for people.
    pub fn note_came(&self, session: SessionId, notice: String) {
        let Some(sharing) = &self.sharing else { return };
        lock(&sharing.synced).entry(session).or_default().notice = Some(notice);
    }

    /// Notifies the sync thread that an investigation was used.
    pub(super) fn used(&self, snapshot: &Snapshot, kind: UseKind) {
        if let Some(syncer) = self.sharing.as_ref().and_then(|sharing| sharing.syncer.as_ref()) {
            let session = snapshot.investigation.meta().id;
            // During shutdown, nobody receives the message.
            let _ = syncer.send(SyncMessage::Used { session, path: snapshot.path.clone(), kind });
        }
    }

    /// Adds the remote to a new investigation. Returns any failure as a warning, since the investigation itself is
    /// stored.
    pub(super) fn give_remote(&self, snapshot: &Snapshot) -> Option<Diagnostic> {
        let sharing = self.sharing.as_ref()?;
        let given = GitProgram::find(false).and_then(|git| self.try_give_remote(sharing, &git, snapshot));
        let error = match given.err()? {
            // If there is no git, no configuration can require a remote.
            RemoteError::NoGit(_) | RemoteError::TooOld { .. }
                if sharing.address.as_deref().is_none_or(str::is_empty) =>
            {
                return None;
            }
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
            Some(address) if address.is_empty() => {
                return git.set(&snapshot.path, REMOTE_SETTING, "").map(drop);
            }
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

    /// Starts git maintenance for the repository in the background, at most once every ten minutes.
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
        // Failure is harmless: the repository only remains larger than necessary.
        if let Ok(git) = GitProgram::find(false) {
            let _ = git.maintain(&[path.to_owned()]);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
