//! Determines what each commit changed, along first parents. Changes are computed by diffing trees rather than taken
//! from messages, so manual commits and merges are covered as well.
//!
//! Current nodes are shared with the snapshot. Only earlier versions need to be read: proposals, and nodes before they
//! were reclassified or edited.
//!
//! The memory used by a history is limited, and the newest commits take precedence. [`HistoryEntry::gaps`] describes
//! what was left out, including parts that cannot be read because the clone is shallow or damaged.

use std::collections::HashSet;
use std::collections::hash_map::{Entry, HashMap};
use std::sync::Arc;

use super::checksum::{self, Checksum};
use super::edited::FalseNames;
use super::git::{BlobId, CommitInfo, Git, MAX_CHANGES, PathChange};
use super::{CommitId, Fault, HistoryEntry, Snapshot, StoreError, read};
use crate::domain::event::{comment_event, node_events, run_event};
use crate::domain::{Conclusion, Happening, Investigation, Node, NodeId};
use crate::format::layout::{self, FileRole};
use crate::format::record::Record;

/// The memory overhead per file, in bytes.
const FILE_COST: u64 = 1 << 10;
/// The maximum number of paths listed per commit that do not belong to the investigation.
const OTHER_PATHS: usize = 1_000;

/// The memory limits for a history, in bytes.
#[derive(Clone, Copy)]
pub(super) struct HistoryBudget {
    /// The remaining bytes for files read in addition to the snapshot.
    texts: u64,
    /// The remaining bytes for everything else, such as messages, paths and changes.
    entries: usize,
}

impl HistoryBudget {
    pub(super) const DEFAULT: HistoryBudget = HistoryBudget { texts: 64 << 20, entries: 128 << 20 };
}

/// Returns the history of a snapshot, newest first, back to the first entry for which `is_enough` returns true.
pub(super) fn history(
    git: &Git,
    snapshot: &Snapshot,
    budget: HistoryBudget,
    mut is_enough: impl FnMut(&HistoryEntry) -> bool,
) -> Result<Vec<HistoryEntry>, StoreError> {
    let mut tags: HashMap<CommitId, Vec<String>> = HashMap::new();
    for (name, commit) in git.tags()? {
        tags.entry(commit).or_default().push(name);
    }
    let nodes = current(git, snapshot.head, &snapshot.investigation)?;
    let (investigation, false_names) = (&*snapshot.investigation, &*snapshot.false_names);
    let mut files = HistoryFiles { git, investigation, budget, nodes, false_names };
    let mut entries: Vec<HistoryEntry> = Vec::new();
    let mut end = None;
    for commit in git.log(snapshot.head)? {
        let commit = match commit {
            Ok(commit) => commit,
            Err(error) if entries.is_empty() => return Err(error),
            Err(error) => {
                end = Some(error.with_hint());
                break;
            }
        };
        let mut entry = without_changes(commit);
        changes(&mut files, &mut entry);
        entry.tags = tags.remove(&entry.commit).unwrap_or_default();
        let is_last = is_enough(&entry);
        entries.push(entry);
        if is_last {
            return Ok(entries);
        }
        if files.budget.entries == 0 {
            end = Some(format!("the entries have more than {} bytes", budget.entries));
            break;
        }
    }
    if let Some(last) = entries.last_mut()
        && !last.parents.is_empty()
    {
        let why = end.unwrap_or_else(|| {
            "this is a shallow clone, and `git fetch --unshallow` fetches the rest".into()
        });
        last.gaps.push(format!("Earlier commits are not shown: {why}."));
    }
    Ok(entries)
}

/// Creates a commit's entry without its changes.
fn without_changes(commit: CommitInfo) -> HistoryEntry {
    // Times that this program cannot represent are replaced by the epoch.
    let at = commit.at().unwrap_or_default();
    let mut gaps = Vec::new();
    if commit.message_left_out > 0 {
        gaps.push(format!("The message was truncated: {} bytes were omitted.", commit.message_left_out));
    }
    HistoryEntry {
        commit: commit.id,
        parents: commit.parents,
        checksum: Checksum::Unchecked,
        author_name: commit.author_name,
        author_email: commit.author_email,
        at,
        message: commit.message,
        happenings: Vec::new(),
        paths: Vec::new(),
        tags: Vec::new(),
        faults: Vec::new(),
        gaps,
    }
}

/// Adds the commit's changes to its entry, within the budget.
fn changes(files: &mut HistoryFiles<'_>, entry: &mut HistoryEntry) {
    let texts = entry.message.len() + entry.author_name.len() + entry.author_email.len();
    files.cost(size_of::<HistoryEntry>() + texts);
    let changes = match files.git.raw_commit(entry.commit) {
        Ok(commit) if commit.changes.len() > MAX_CHANGES => {
            entry.gaps.push(format!(
                "The changes in this commit can't be read: it changed more than {MAX_CHANGES} files."
            ));
            return;
        }
        Ok(commit) => {
            entry.checksum = checksum::checksum(&commit);
            commit.changes.into_iter().filter_map(|change| change.path_change())
        }
        Err(error) => {
            entry.gaps.push(format!("The changes in this commit can't be read: {}.", error.with_hint()));
            return;
        }
    };
    let (mut unread, mut other_paths) = (0, 0);
    for change in changes {
        if files.budget.entries == 0 {
            entry.gaps.push("Only some changes in this commit were read.".to_owned());
            break;
        }
        let mut place = layout::file_role(&change.path);
        if let FileRole::Attachment(node, _) = &mut place {
            files.investigation.show_id(node);
        }
        let known = (entry.happenings.len(), entry.faults.len());
        match &place {
            FileRole::Meta if change.before.is_none() => entry.happenings.push(Happening::Started),
            FileRole::Node(id) => {
                let before = files.node(&change.path, change.before, id, &mut entry.faults);
                let after = files.node(&change.path, change.after, id, &mut entry.faults);
                match (before, after) {
                    (Ok(before), Ok(after)) => {
                        entry.happenings.extend(node_events(before.as_ref(), after.as_ref()));
                    }
                    (Err(NoRoom), _) | (_, Err(NoRoom)) => unread += 1,
                }
            }
            FileRole::Conclusion => match change.after {
                None => entry.happenings.push(Happening::Reopened),
                Some(blob) => match files.conclusion(&change.path, blob) {
                    Ok(Ok(conclusion)) if conclusion.reopened.is_some() => {
                        entry.happenings.push(Happening::Reopened);
                    }
                    Ok(Ok(conclusion)) => entry.happenings.push(Happening::Ended(conclusion)),
                    Ok(Err(fault)) => entry.faults.push(fault),
                    Err(NoRoom) => unread += 1,
                },
            },
            FileRole::Comment(id) => match files.records(&change, *id, &mut entry.faults) {
                Ok([before, after]) => entry.happenings.extend(comment_event(before, after)),
                Err(NoRoom) => unread += 1,
            },
            FileRole::Run(id) => match files.records(&change, *id, &mut entry.faults) {
                Ok([before, after]) => entry.happenings.extend(run_event(before, after)),
                Err(NoRoom) => unread += 1,
            },
            FileRole::Attachment(node, name) => entry.happenings.push(match (change.before, change.after) {
                (None, _) => Happening::Attached(node.clone(), name.clone()),
                (Some(_), Some(_)) => Happening::AttachmentChanged(node.clone(), name.clone()),
                (Some(_), None) => Happening::AttachmentRemoved(node.clone(), name.clone()),
            }),
            FileRole::Meta | FileRole::Ruleset | FileRole::Stray | FileRole::Other => {}
        }
        let happenings = entry.happenings[known.0..].iter().map(size_of_happening).sum::<usize>();
        let faults = entry.faults[known.1..].iter();
        let faults =
            faults.map(|fault| size_of::<Fault>() + fault.path.len() + fault.reason.len()).sum::<usize>();
        files.cost(happenings + faults);
        if matches!(place, FileRole::Stray | FileRole::Other) {
            other_paths += 1;
            if other_paths > OTHER_PATHS {
                continue;
            }
        }
        files.cost(size_of::<String>() + change.path.len());
        entry.paths.push(change.path);
    }
    if let Some(more @ 1..) = other_paths.checked_sub(OTHER_PATHS) {
        entry.gaps.push(format!("Other changed files, not listed: {more}."));
    }
    if unread > 0 {
        let why = "because earlier versions are too large to keep in memory";
        entry.gaps.push(format!("Changed files that were not read {why}: {unread}."));
    }
}

/// Returns the in-memory size of a change, excluding the node, which is shared.
fn size_of_happening(happening: &Happening) -> usize {
    let texts = match happening {
        // About the size of its texts.
        Happening::Reclassified(_, change) => format!("{change:?}").len(),
        _ => 0,
    };
    size_of::<Happening>() + texts
}

/// Returns the most recent commit that changed the path, or the oldest commit if none did. Merges are passed over: to the side
/// that they took the path from, or to their first parent. Returns `None` if a commit along the way cannot be read.
pub(super) fn last_change(git: &Git, head: CommitId, path: &str) -> Result<Option<CommitId>, StoreError> {
    let mut last = head;
    let mut log = git.log(head)?;
    while let Some(commit) = log.next() {
        let Ok(commit) = commit else { return Ok(None) };
        last = commit.id;
        let is_same = |parent: Option<CommitId>| {
            git.diff(parent, commit.id).map(|changes| changes.iter().all(|change| change.path != path))
        };
        let Ok(is_unchanged) = is_same(commit.parents.first().copied()) else { return Ok(None) };
        let from = commit.parents.iter().skip(1).find(|it| matches!(is_same(Some(**it)), Ok(true)));
        match from.filter(|_| !is_unchanged) {
            Some(side) => log = git.log(*side)?,
            None if is_unchanged || commit.parents.len() > 1 => {}
            None => break,
        }
    }
    Ok(Some(last))
}

/// Returns the nodes at a commit, keyed by blob and id.
fn current(
    git: &Git,
    head: CommitId,
    investigation: &Investigation,
) -> Result<HashMap<(BlobId, NodeId), ReadResult<Node>>, StoreError> {
    let mut seen = HashSet::new();
    let mut nodes = HashMap::new();
    for file in git.files(head)? {
        let FileRole::Node(id) = layout::file_role(&file.path) else { continue };
        // If a tree contains a file twice, the first entry is used.
        if let Some(node) = investigation.node(&id).filter(|_| seen.insert(id.clone())) {
            nodes.insert((file.blob, id), Ok(Arc::clone(node)));
        }
    }
    Ok(nodes)
}

type ReadResult<T> = Result<Arc<T>, Fault>;

/// The budget for files is used up.
struct NoRoom;

/// Reads and caches the files in a history. Each version of a node is read only once, although two commits refer to it.
struct HistoryFiles<'a> {
    git: &'a Git,
    investigation: &'a Investigation,
    budget: HistoryBudget,
    nodes: HashMap<(BlobId, NodeId), ReadResult<Node>>,
    /// The people disowned in the snapshot, and therefore also in its history.
    false_names: &'a FalseNames,
}

impl HistoryFiles<'_> {
    fn cost(&mut self, bytes: usize) {
        self.budget.entries = self.budget.entries.saturating_sub(bytes);
    }

    fn node(
        &mut self,
        path: &str,
        blob: Option<BlobId>,
        id: &NodeId,
        faults: &mut Vec<Fault>,
    ) -> Result<Option<Arc<Node>>, NoRoom> {
        let Some(blob) = blob else { return Ok(None) };
        let read = match self.nodes.entry((blob, id.clone())) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                reserve(self.git, &mut self.budget.texts, blob)?;
                let mut node = read::node(self.git, path, blob, id).map(|mut node| {
                    node.visit_ids(&mut |id| self.investigation.show_id(id));
                    Arc::new(node)
                });
                node.iter_mut().for_each(|node| drop(self.false_names.disown_in_node(node)));
                new.insert(node)
            }
        };
        Ok(read.clone().map_err(|fault| faults.push(fault)).ok())
    }

    /// Returns a comment or run before and after a change. A version identical to the snapshot's is shared with it.
    fn records<T: Record>(
        &mut self,
        change: &PathChange,
        id: T::Id,
        faults: &mut Vec<Fault>,
    ) -> Result<[Option<Arc<T>>; 2], NoRoom> {
        let before = self.record(&change.path, change.before, id, faults);
        let after = self.record(&change.path, change.after, id, faults);
        Ok([before?, after?])
    }

    fn record<T: Record>(
        &mut self,
        path: &str,
        blob: Option<BlobId>,
        id: T::Id,
        faults: &mut Vec<Fault>,
    ) -> Result<Option<Arc<T>>, NoRoom> {
        let Some(blob) = blob else { return Ok(None) };
        reserve(self.git, &mut self.budget.texts, blob)?;
        let mut read = read::record::<T>(self.git, path, blob, id).map(|mut record| {
            record.node_mut().iter_mut().for_each(|id| self.investigation.show_id(id));
            Arc::new(record)
        });
        read.iter_mut().for_each(|read| drop(self.false_names.disown_in_record(read)));
        let read = read.map_err(|fault| faults.push(fault)).ok();
        let known = T::known(self.investigation, id);
        Ok(read.map(|read| known.filter(|known| **known == read).map_or(read, Arc::clone)))
    }

    fn conclusion(&mut self, path: &str, blob: BlobId) -> Result<ReadResult<Conclusion>, NoRoom> {
        reserve(self.git, &mut self.budget.texts, blob)?;
        let mut end = read::conclusion(self.git, path, blob);
        end.iter_mut().for_each(|end| {
            end.visit_ids(&mut |id| self.investigation.show_id(id));
            self.false_names.disown_in_conclusion(end);
        });
        Ok(end.map(Arc::new))
    }
}

/// Subtracts a file's size from the budget. A file above the read limit counts as empty because it is not read.
fn reserve(git: &Git, room: &mut u64, blob: BlobId) -> Result<(), NoRoom> {
    let size = git.size(blob).ok().filter(|size| *size <= read::FILE_MAX).unwrap_or_default();
    *room = room.checked_sub(size + FILE_COST).ok_or(NoRoom)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::git::{CommitText, GitOptions};
    use super::*;
    use crate::format::FileChange;

    const START: i64 = 1_767_603_600;

    /// Returns the history of a node that was proposed `number` times with different wording.
    fn proposals(number: usize, budget: HistoryBudget) -> Vec<HistoryEntry> {
        let folder = crate::testing::folder();
        let dir = folder.path().join("it");
        let file = |path: &str, text: String| FileChange { path: path.into(), content: Some(text.into()) };
        let meta = "version: 2\nid: 01890a5d-ac96-774b-bcce-b302099a8057\ntitle: A\nquery: A\nruleset: x\nmode: x\n\
                    minRounds: 1\nminRoots: 1\nallowEarlyTerminal: false\nstartedAt: 2026-01-05T09:00:00.000Z\n";
        let meta = file(layout::META, meta.into());
        let (git, mut head) = Git::init(GitOptions::ISOLATED, &dir, "x", &[meta], "Start", START).unwrap();
        for version in 0..number {
            let text = format!(
                "version: 2\nid: R1.A\ntitle: A\nplannedAction: {version} {}\nproposedAt: 2026-01-05T09:00:00.000Z\n",
                "word ".repeat(2_000)
            );
            let writer = git.writer().unwrap();
            let node = file(&layout::node(&"R1.A".parse().unwrap()), text);
            let commit = CommitText { changes: &[node], message: "Propose R1.A", at: START };
            head = writer.commit(head, &[commit], None, |_| Ok(())).unwrap().0[0];
        }
        let snapshot = read::snapshot(&git, &dir, head, None, None).unwrap();
        history(&git, &snapshot, budget, |_| false).unwrap()
    }

    #[test]
    fn versions_of_a_large_node_do_not_fill_the_memory() {
        let entries = proposals(8, HistoryBudget { texts: 40_000, ..HistoryBudget::DEFAULT });
        let told: Vec<(usize, usize)> =
            entries.iter().map(|entry| (entry.happenings.len(), entry.gaps.len())).collect();
        // The newest version is shared with the snapshot, and three more fit into the budget.
        assert_eq!(told, [(1, 0), (1, 0), (1, 0), (0, 1), (0, 1), (0, 1), (0, 1), (0, 1), (1, 0)]);
        assert!(entries[3].gaps[0].starts_with("Changed files that were not read "), "{:?}", entries[3]);
        let whole = proposals(8, HistoryBudget::DEFAULT);
        assert!(whole.iter().all(|entry| entry.happenings.len() == 1 && entry.gaps.is_empty()), "{whole:?}");
    }

    #[test]
    fn a_history_ends_where_its_entries_fill_their_budget() {
        let entries = proposals(8, HistoryBudget { entries: 3_000, ..HistoryBudget::DEFAULT });
        assert!((2..8).contains(&entries.len()), "{}", entries.len());
        let (last, newer) = entries.split_last().unwrap();
        assert!(newer.iter().all(|entry| entry.gaps.is_empty()));
        let end = "Earlier commits are not shown: the entries have more than 3000 bytes.";
        assert_eq!(last.gaps.last().map(String::as_str), Some(end));
    }
}
