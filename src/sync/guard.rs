//! What is not pushed: credentials, and files that nobody can read.

use std::collections::BTreeSet;

use super::{Subject, SyncError, Syncing};
use crate::format::layout::{self, Place};
use crate::secrets::suspects;
use crate::store::{CommitId, Snapshot};

/// How many places are named.
const NAMED: usize = 10;

impl Syncing<'_> {
    /// Refuses what must not go there, of the commits of `tip` that the remote has not.
    pub(super) fn guard(
        &self,
        subject: &Subject,
        tip: CommitId,
        theirs: Option<CommitId>,
    ) -> Result<(), SyncError> {
        let faults =
            |rev: CommitId| Ok::<_, SyncError>(faults(&self.store.load_at(&subject.path, &rev.to_string())?));
        let ours = faults(tip)?;
        if !ours.is_empty() {
            let known = theirs.map(faults).transpose()?.unwrap_or_default();
            let new: Vec<String> = ours.difference(&known).take(NAMED).cloned().collect();
            if !new.is_empty() {
                return Err(SyncError::Unreadable { faults: new });
            }
        }
        if self.options.allow_secrets {
            return Ok(());
        }
        let mut places = BTreeSet::new();
        for file in self.git.texts(&subject.path, tip, theirs)? {
            for suspect in suspects(&file.text) {
                let node = match layout::place(&file.path) {
                    Place::Node(id) => format!("{id}, "),
                    _ => String::new(),
                };
                places.insert(format!("{} ({node}{}:{})", suspect.kind, file.path, suspect.line));
            }
        }
        match places.is_empty() {
            true => Ok(()),
            false => Err(SyncError::SecretSuspected { places: places.into_iter().take(NAMED).collect() }),
        }
    }
}

fn faults(snapshot: &Snapshot) -> BTreeSet<String> {
    snapshot.all_faults().filter(|fault| fault.is_unreadable()).map(ToString::to_string).collect()
}
