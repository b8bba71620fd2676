//! Notices heads that were left behind. A reset of a branch, a stash during a call, or a checkout of another branch
//! removes what this process has acknowledged, and git notifies nobody.
//!
//! Guarantee: the head of each investigation that was loaded or written last is known for the lifetime of the process,
//! whatever else is dropped from memory. The first load that finds HEAD elsewhere than forward from it records this, and
//! [`Store::moves`](super::Store::moves) reports it once.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Snapshot;
use super::git::{CommitId, Descent, Git, Left};
use crate::domain::SessionId;

/// The maximum number of heads kept that were left behind: more than anybody reads.
const KEPT: usize = 5;

/// A commit that HEAD was at and has left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The folder of the repository.
    pub path: PathBuf,
    /// The commit.
    pub from: CommitId,
    /// The way it was left.
    pub left: Left,
}

/// The heads that this process knows.
#[derive(Default)]
pub(super) struct Heads(Mutex<HashMap<PathBuf, Known>>);

struct Known {
    id: SessionId,
    head: CommitId,
    /// Earlier heads that it does not descend from, not reported yet.
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
        // Read again under the lock: another thread may have written since.
        let Ok(Some(now)) = git.head().map(|head| head.commit) else { return };
        let is_left = now != known.head && !matches!(git.descent(known.head, now), Ok(Descent::Yes));
        if is_left && known.left.len() < KEPT && !known.left.contains(&known.head) {
            known.left.push(known.head);
        }
        known.head = now;
    }

    /// Records the head that was written on top of the known one.
    pub(super) fn wrote(&self, snapshot: &Snapshot) {
        Heads::known(&mut self.heads(), snapshot).head = snapshot.head;
    }

    /// The heads of that investigation that were left behind, each with its folder; each returned once.
    pub(super) fn left(&self, id: SessionId) -> Vec<(PathBuf, CommitId)> {
        let mut heads = self.heads();
        let known = heads.iter_mut().filter(|(_, known)| known.id == id);
        known.flat_map(|(path, known)| known.left.drain(..).map(|head| (path.clone(), head))).collect()
    }

    /// The record of the snapshot's investigation: at first, its own head. The folder may contain another one by now.
    fn known<'a>(heads: &'a mut HashMap<PathBuf, Known>, snapshot: &Snapshot) -> &'a mut Known {
        let id = snapshot.investigation.meta().id;
        let new = || Known { id, head: snapshot.head, left: Vec::new() };
        let known = heads.entry(snapshot.path.clone()).or_insert_with(new);
        if known.id != id {
            *known = new();
        }
        known
    }

    fn heads(&self) -> MutexGuard<'_, HashMap<PathBuf, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
