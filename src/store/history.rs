//! What each commit changed, read from the difference of the trees along first parents, not from messages: commits by
//! hand and merges are part of the history too.
//!
//! A node as it is now is the snapshot's own, neither read nor held twice; so what a history holds beside the snapshot
//! is what was there once and is another now: proposals, and nodes from before they were reclassified or edited.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::git::{BlobId, Git};
use super::{CommitId, Fault, HistoryEntry, Snapshot, StoreError, read};
use crate::domain::event::what_happened;
use crate::domain::{Happening, Node, NodeId, Timestamp};
use crate::format::layout::{self, Place};

/// The history up to a snapshot, newest first.
pub(super) fn history(git: &Git, snapshot: &Snapshot) -> Result<Vec<HistoryEntry>, StoreError> {
    let mut tags: HashMap<CommitId, Vec<String>> = HashMap::new();
    for (name, commit) in git.tags()? {
        tags.entry(commit).or_default().push(name);
    }
    let mut nodes = Nodes { git, read: current(git, snapshot)? };
    let mut entries = Vec::new();
    for commit in git.log(snapshot.head)? {
        let commit = commit?;
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
        let at = Timestamp::from_milliseconds(commit.seconds.saturating_mul(1_000));
        entries.push(HistoryEntry {
            commit: commit.id,
            parents: commit.parents,
            author_name: commit.author_name,
            author_email: commit.author_email,
            // A time that can't be written is a stranger's: the beginning of time says so as well as any.
            at: at.unwrap_or_default(),
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
    let mut last = head;
    for commit in git.log(head)? {
        let commit = commit?;
        last = commit.id;
        let changes = git.diff(commit.parents.first().copied(), commit.id)?;
        if changes.iter().any(|change| change.path == path) {
            break;
        }
    }
    Ok(last)
}

/// The nodes of a snapshot by their blobs.
fn current(git: &Git, snapshot: &Snapshot) -> Result<HashMap<(BlobId, NodeId), Read>, StoreError> {
    let mut seen = HashSet::new();
    let mut nodes = HashMap::new();
    for file in git.files(snapshot.head)? {
        let Place::Node(id) = layout::place(&file.path) else { continue };
        // A tree that names a file twice is read by its first entry.
        if let Some(node) = snapshot.investigation.node(&id).filter(|_| seen.insert(id.clone())) {
            nodes.insert((file.blob, id), Ok(Arc::clone(node)));
        }
    }
    Ok(nodes)
}

type Read = Result<Arc<Node>, Fault>;

/// The nodes of the history, each read once: what one commit changed is what an earlier one wrote.
struct Nodes<'a> {
    git: &'a Git,
    read: HashMap<(BlobId, NodeId), Read>,
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
        let read = entry.or_insert_with(|| read::node(self.git, path, blob, id).map(Arc::new));
        read.clone().map_err(|fault| faults.push(fault)).ok()
    }
}
