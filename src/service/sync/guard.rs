//! Refuses to push credentials, unreadable files, and files that are left out of work trees.

use std::collections::BTreeSet;

use super::{SyncError, SyncSubject, Syncing};
use crate::format::layout::{self, FileRole};
use crate::secrets::suspects;
use crate::service::remote::{ObjectName, TextOrigin};
use crate::store::{CommitId, Snapshot};

/// The maximum number of places to list.
const NAMED: usize = 10;

impl Syncing<'_> {
    /// Refuses to push the branch at `tip` if it must not be shared. `known` lists the remote's commits, and `theirs`
    /// is the commit of its branch.
    pub(super) fn guard(
        &self,
        subject: &SyncSubject,
        tip: CommitId,
        theirs: Option<CommitId>,
        known: &[ObjectName],
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
        let files = self.store.open(&subject.path)?.left_out(theirs, tip)?;
        if !files.is_empty() {
            return Err(SyncError::Unfit { files });
        }
        self.refuse_secrets(subject, &[tip.into()], known)
    }

    /// Refuses to push if these branch or tag tips would add credentials to the remote, in files or in commit or tag
    /// messages.
    pub(super) fn refuse_secrets(
        &self,
        subject: &SyncSubject,
        tips: &[ObjectName],
        known: &[ObjectName],
    ) -> Result<(), SyncError> {
        if self.options.allow_secrets {
            return Ok(());
        }
        let mut places = BTreeSet::new();
        self.git.each_text(&subject.path, tips, known, |place, text| {
            for suspect in suspects(text) {
                let place = match place {
                    TextOrigin::File(path) => match layout::file_role(path) {
                        FileRole::Node(id) => format!("{id}, {path}:{}", suspect.line),
                        _ => format!("{path}:{}", suspect.line),
                    },
                    TextOrigin::Commit(id) => {
                        format!("the message of commit {id:.10}, line {}", suspect.line)
                    }
                    TextOrigin::Tag(name) => format!("the message of the tag {name}, line {}", suspect.line),
                };
                places.insert(format!("{} ({place})", suspect.kind));
                if places.len() > NAMED {
                    places.pop_last();
                }
            }
        })?;
        match places.is_empty() {
            true => Ok(()),
            false => {
                Err(SyncError::SecretSuspected { places: places.into_iter().collect(), tags: Vec::new() })
            }
        }
    }
}

fn faults(snapshot: &Snapshot) -> BTreeSet<String> {
    snapshot.all_faults().filter(|fault| fault.is_unreadable()).map(ToString::to_string).collect()
}
