//! Notices a head that was left behind. Whoever resets a branch, stashes while a call writes, or checks out another one
//! takes away what this process has acknowledged, and git tells nobody.
//!
//! Guarantee: of each investigation, the head that was loaded or written last is known for as long as the process lives,
//! whatever else is dropped from memory; the first load that finds HEAD elsewhere than forward from it notes it, and
//! [`Store::moves`](super::Store::moves) tells it once.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Snapshot;
use super::git::{CommitId, Descent, Git, Left};
use crate::domain::SessionId;

/// How many heads that were left behind are kept: more than anybody reads.
const KEPT: usize = 5;

/// A commit that HEAD was at and has left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The folder of the repository.
    pub path: PathBuf,
    /// The commit.
    pub from: CommitId,
    /// What became of it.
    pub left: Left,
}

/// The heads that this process knows.
#[derive(Default)]
pub(super) struct Heads(Mutex<HashMap<PathBuf, Known>>);

struct Known {
    id: SessionId,
    head: CommitId,
    /// Heads before it that it did not come from, and that nobody was told of yet.
    left: Vec<CommitId>,
}

impl Heads {
    /// Notes the head of what was loaded.
    pub(super) fn loaded(&self, git: &Git, snapshot: &Snapshot) {
        let mut heads = self.heads();
        let known = Heads::known(&mut heads, snapshot);
        if known.head == snapshot.head {
            return;
        }
        // Once more, while nobody else notes anything: another thread may have written since.
        let Ok(Some(now)) = git.head().map(|head| head.commit) else { return };
        let is_left = now != known.head && !matches!(git.descent(known.head, now), Ok(Descent::Yes));
        if is_left && known.left.len() < KEPT && !known.left.contains(&known.head) {
            known.left.push(known.head);
        }
        known.head = now;
    }

    /// Notes the head that was written on top of the known one.
    pub(super) fn wrote(&self, snapshot: &Snapshot) {
        Heads::known(&mut self.heads(), snapshot).head = snapshot.head;
    }

    /// The heads of that investigation that were left behind, each with its folder; once.
    pub(super) fn left(&self, id: SessionId) -> Vec<(PathBuf, CommitId)> {
        let mut heads = self.heads();
        let known = heads.iter_mut().filter(|(_, known)| known.id == id);
        known.flat_map(|(path, known)| known.left.drain(..).map(|head| (path.clone(), head))).collect()
    }

    /// What is known of the snapshot's investigation: at first, its own head. A folder may hold another one by now.
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
