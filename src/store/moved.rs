//! Detects commits that HEAD has moved away from. A `git reset`, a stash during a call, or a checkout of another branch
//! can remove commits that this process has acknowledged, and git does not notify anyone.
//!
//! Guarantee: for the lifetime of the process, the store remembers the last loaded or written head of each
//! investigation. If a load finds that HEAD has moved other than forward, [`Store::moves`](super::Store::moves) reports
//! the move once.

use std::path::PathBuf;

use super::git::{CommitId, Descent, Git, Left};
use super::{Snapshot, Store, StoreError, lock};
use crate::domain::SessionId;

/// The maximum number of unreported former heads per investigation.
const KEPT: usize = 5;

/// A commit that HEAD has moved away from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The folder of the repository.
    pub path: PathBuf,
    /// The former head.
    pub from: CommitId,
    /// The current state of the former head.
    pub left: Left,
}

/// The data that this process keeps in memory for a repository.
#[derive(Default)]
pub(super) struct KnownRepository {
    /// The investigation's id, or a guess from the folder name until the investigation is loaded.
    pub(super) id: Option<SessionId>,
    /// The last loaded or written head.
    head: Option<CommitId>,
    /// Earlier heads that are not ancestors of `head` and have not been reported.
    left: Vec<CommitId>,
    /// True if the repository's object store has been checked.
    pub(super) is_checked: bool,
    /// True if the repository's abandoned temporary files have been removed.
    pub(super) is_swept: bool,
}

impl KnownRepository {
    /// Returns the last known head of the snapshot's investigation. The folder may previously have contained a
    /// different investigation.
    fn last_head(&mut self, snapshot: &Snapshot) -> CommitId {
        let id = Some(snapshot.investigation.meta().id);
        if self.id != id {
            (self.id, self.head, self.left) = (id, None, Vec::new());
        }
        *self.head.get_or_insert(snapshot.head)
    }
}

impl Store {
    /// Records the id and head of a loaded snapshot.
    pub(super) fn loaded(&self, git: &Git, snapshot: &Snapshot) {
        self.known(&snapshot.path, |known| {
            let before = known.last_head(snapshot);
            if before == snapshot.head {
                return;
            }
            // Reread HEAD under the lock, because another thread may have written since.
            let Ok(Some(now)) = git.head().map(|head| head.commit) else { return };
            let is_left = now != before && !matches!(git.descent(before, now), Ok(Descent::Yes));
            if is_left && known.left.len() < KEPT && !known.left.contains(&before) {
                known.left.push(before);
            }
            known.head = Some(now);
        });
    }

    /// Records a head that was written on top of the known head.
    pub(super) fn wrote(&self, snapshot: &Snapshot) {
        self.known(&snapshot.path, |known| {
            known.last_head(snapshot);
            known.head = Some(snapshot.head);
        });
    }

    /// Returns the commits that HEAD has moved away from, as noticed when this process loaded or wrote the
    /// investigation. Each commit is returned once, and only if HEAD has not moved back to it.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails.
    pub fn moves(&self, id: SessionId) -> Result<Vec<Moved>, StoreError> {
        let left: Vec<(PathBuf, CommitId)> = lock(&self.known)
            .iter_mut()
            .filter(|(_, known)| known.id == Some(id))
            .flat_map(|(path, known)| known.left.drain(..).map(|head| (path.clone(), head)))
            .collect();
        let mut moves = Vec::new();
        for (path, from) in left {
            let left = self.open(&path)?.left_behind(from)?;
            moves.extend(left.map(|left| Moved { path, from, left }));
        }
        Ok(moves)
    }
}
