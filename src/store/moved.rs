//! Detects commits that HEAD has moved away from. A `git reset`, a stash during a call, or a checkout of another branch
//! can
//! remove commits that this process has acknowledged, and git notifies nobody.
//!
//! Guarantee: for the lifetime of the process, the last loaded or written head of each investigation is known. A load
//! that
//! finds HEAD moved other than forward records this, and [`Store::moves`](super::Store::moves) reports it once.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Snapshot;
use super::git::{CommitId, Descent, Git, Left};
use crate::domain::SessionId;

/// The maximum number of unreported heads of one investigation.
const KEPT: usize = 5;

/// A commit that HEAD has moved away from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The folder of the repository.
    pub path: PathBuf,
    /// The former head.
    pub from: CommitId,
    /// What happened to the commit.
    pub left: Left,
}

/// The last known head of each investigation.
#[derive(Default)]
pub(super) struct Heads(Mutex<HashMap<PathBuf, KnownHead>>);

struct KnownHead {
    id: SessionId,
    head: CommitId,
    /// Earlier heads that are not ancestors of `head` and have not been reported.
    left: Vec<CommitId>,
}

impl Heads {
    /// Records the head of a loaded snapshot.
    pub(super) fn loaded(&self, git: &Git, snapshot: &Snapshot) {
        let mut heads = self.heads();
        let known = Heads::known(&mut heads, snapshot);
        if known.head == snapshot.head {
            return;
        }
        // Read HEAD again under the lock, because another thread may have written since.
        let Ok(Some(now)) = git.head().map(|head| head.commit) else { return };
        let is_left = now != known.head && !matches!(git.descent(known.head, now), Ok(Descent::Yes));
        if is_left && known.left.len() < KEPT && !known.left.contains(&known.head) {
            known.left.push(known.head);
        }
        known.head = now;
    }

    /// Records a head written on top of the known one.
    pub(super) fn wrote(&self, snapshot: &Snapshot) {
        Heads::known(&mut self.heads(), snapshot).head = snapshot.head;
    }

    /// Returns the unreported heads of the investigation with their folders, and marks them as reported.
    pub(super) fn left(&self, id: SessionId) -> Vec<(PathBuf, CommitId)> {
        let mut heads = self.heads();
        let known = heads.iter_mut().filter(|(_, known)| known.id == id);
        known.flat_map(|(path, known)| known.left.drain(..).map(|head| (path.clone(), head))).collect()
    }

    /// Returns the record of the snapshot's folder. It is reset if the folder contains a different investigation now.
    fn known<'a>(heads: &'a mut HashMap<PathBuf, KnownHead>, snapshot: &Snapshot) -> &'a mut KnownHead {
        let id = snapshot.investigation.meta().id;
        let new = || KnownHead { id, head: snapshot.head, left: Vec::new() };
        let known = heads.entry(snapshot.path.clone()).or_insert_with(new);
        if known.id != id {
            *known = new();
        }
        known
    }

    fn heads(&self) -> MutexGuard<'_, HashMap<PathBuf, KnownHead>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
