//! What each commit changed, read from the difference of the trees along first parents, not from messages: commits by
//! hand and merges are part of the history too.

use std::collections::HashMap;
use std::sync::Arc;

use super::git::{BlobId, Git};
use super::{CommitId, Fault, HistoryEntry, StoreError, read};
use crate::domain::event::what_happened;
use crate::domain::{Happening, Node, NodeId, Timestamp};
use crate::format::layout::{self, Place};

/// The history up to a commit, newest first.
pub(super) fn history(git: &Git, head: CommitId) -> Result<Vec<HistoryEntry>, StoreError> {
    let mut tags: HashMap<CommitId, Vec<String>> = HashMap::new();
    for (name, commit) in git.tags()? {
        tags.entry(commit).or_default().push(name);
    }
    let mut nodes = Nodes { git, read: HashMap::new() };
    let commits = git.log(head, None)?;
    let mut entries = Vec::with_capacity(commits.len());
    for commit in commits {
        let mut happenings = Vec::new();
        let mut faults = Vec::new();
        let mut paths = Vec::new();
        for change in git.diff(commit.parents.first().copied(), commit.id)? {
            paths.push(change.path.clone());
            match layout::place(&change.path) {
                Place::Meta if change.before.is_none() => happenings.push(Happening::Started),
                Place::Node(id) => {
                    let before = nodes.get(&change.path, change.before, &id, &mut faults);
                    let after = nodes.get(&change.path, change.after, &id, &mut faults);
                    happenings.extend(what_happened(before.as_ref(), after.as_ref()));
                }
                Place::Conclusion => match change.after {
                    None => happenings.push(Happening::Reopened),
                    Some(blob) => match read::conclusion(git, &change.path, blob) {
                        Ok(conclusion) => happenings.push(Happening::Ended(Arc::new(conclusion))),
                        Err(fault) => faults.push(fault),
                    },
                },
                Place::Meta | Place::Ruleset | Place::Stray | Place::Other => {}
            }
        }
        let at = Timestamp::from_milliseconds(commit.committer.seconds.saturating_mul(1_000));
        entries.push(HistoryEntry {
            commit: commit.id,
            parents: commit.parents,
            author_name: commit.author.name,
            author_email: commit.author.email,
            // A time that can't be written is a stranger's: the beginning of time says so as well as any.
            at: at.or_else(|| Timestamp::from_milliseconds(0)).ok_or_else(|| {
                StoreError::NotAnInvestigation {
                    path: git.path().to_owned(),
                    reason: format!("the time of commit {} can't be read", commit.id),
                }
            })?,
            message: commit.message,
            happenings,
            paths,
            tags: tags.remove(&commit.id).unwrap_or_default(),
            faults,
        });
    }
    Ok(entries)
}

/// The last commit along first parents that changed the path; the first one where none did.
pub(super) fn last_change(git: &Git, head: CommitId, path: &str) -> Result<CommitId, StoreError> {
    let mut commit = head;
    for entry in git.log(head, None)? {
        commit = entry.id;
        if git.diff(entry.parents.first().copied(), entry.id)?.iter().any(|change| change.path == path) {
            break;
        }
    }
    Ok(commit)
}

/// The nodes of the history, each blob read once: what one commit wrote is what a later one changed.
struct Nodes<'a> {
    git: &'a Git,
    read: HashMap<(BlobId, NodeId), Result<Arc<Node>, Fault>>,
}

impl Nodes<'_> {
    fn get(
        &mut self,
        path: &str,
        blob: Option<BlobId>,
        id: &NodeId,
        faults: &mut Vec<Fault>,
    ) -> Option<Arc<Node>> {
        let blob = blob?;
        let entry = self.read.entry((blob, id.clone()));
        let read = entry.or_insert_with(|| read::read_node(self.git, path, blob, id).map(Arc::new));
        match read {
            Ok(node) => Some(Arc::clone(node)),
            Err(fault) => {
                faults.push(fault.clone());
                None
            }
        }
    }
}
