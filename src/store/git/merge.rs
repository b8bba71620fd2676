//! Merge bases, merge commits and fast-forwards.
//!
//! A merge commit depends only on its two parents. The parents are sorted by id, and the author and time are copied
//! from the later parent. Two clones that merge the same commits therefore create the same commit.

use std::collections::HashMap;

use gix::ObjectId;
use gix::objs::tree::EntryKind;
use gix::objs::{CommitRef, Kind};

use super::commit::{CommitDraft, PathUpdate, clean_message};
use super::error::StoreResult;
use super::paths::check_changes;
use super::tree::Leaf;
use super::{BlobId, CommitId, Descent, FileKind, Git, GitWriter};
use crate::format::FileChange;

/// Read-only operations.
impl Git {
    /// Returns the best common ancestors of one commit and several others, sorted by id. The list is empty if the
    /// histories are unrelated.
    pub fn merge_bases(&self, one: CommitId, others: &[CommitId]) -> StoreResult<Vec<CommitId>> {
        let others: Vec<ObjectId> = others.iter().map(|other| other.0).collect();
        let bases = self.repository.merge_bases_many(one.0, &others);
        let bases = bases.map_err(self.library("find the merge base"))?;
        let mut bases: Vec<CommitId> = bases.into_iter().map(|base| CommitId(base.detach())).collect();
        bases.sort();
        bases.dedup();
        // gix 0.90 follows only the first parent of a merge here, so the result may contain ancestors of other bases.
        let mut best = Vec::new();
        for base in &bases {
            let mut is_best = true;
            for later in bases.iter().filter(|later| *later != base) {
                is_best = is_best && self.descent(*base, *later)? != Descent::Yes;
            }
            best.extend(is_best.then_some(*base));
        }
        Ok(best)
    }

    /// Makes content readable as an object until the repository is closed. Nothing is written to disk.
    pub fn keep_blob(&self, content: &[u8]) -> StoreResult<BlobId> {
        let id = self.repository.write_blob(content).map_err(self.library("store a file in memory"))?;
        Ok(BlobId(id.detach()))
    }

    /// Returns the blob id for this content.
    pub fn blob_id(&self, content: &[u8]) -> StoreResult<BlobId> {
        let id = gix::objs::compute_hash(gix::hash::Kind::Sha1, Kind::Blob, content);
        id.map(BlobId).map_err(self.library("hash a file"))
    }
}

/// Moving the head to an existing commit or to a merge with it.
impl GitWriter<'_> {
    /// Moves the head from `expected` to its descendant `to`, and updates the index and work tree.
    pub fn fast_forward(&self, expected: CommitId, to: CommitId) -> StoreResult<()> {
        let git = self.git();
        let mut steps = Vec::new();
        for change in git.changed(Some(expected), to)?.iter().filter(|change| change.is_safe()) {
            steps.push(git.step(change.path.to_string(), change.before, change.after)?);
        }
        // Removals come first, because an added file may need the path of a removed folder.
        steps.sort_by_key(|step| step.to.is_some());
        let parent_tree = git.tree_of(expected.0)?;
        let draft = CommitDraft {
            commit: to.0,
            parent: Some(expected.0),
            parent_tree,
            objects: Vec::new(),
            steps,
            action: "merge",
            subject: "fast-forward\n".to_owned(),
            time: super::commit::raw_time(git.commit_info(to)?.seconds),
        };
        self.publish_draft(expected, None, |_| Ok(Some(draft)))?
    }

    /// Commits `changes` on top of `expected` as a merge with `theirs`, and moves the head to the new commit.
    /// `executables` contains new executable bits, and files not listed there keep their bit. The entries in `unfit`
    /// exist as objects and are not checked out.
    pub fn merge(
        &self,
        expected: CommitId,
        theirs: CommitId,
        changes: &[FileChange],
        executables: &HashMap<String, bool>,
        unfit: &[(String, Option<(BlobId, FileKind)>)],
        message: &str,
    ) -> StoreResult<CommitId> {
        check_changes(changes)?;
        let mut parents = [expected.0, theirs.0];
        parents.sort();
        let of = |id| self.git().object(id, Kind::Commit);
        let (one, other) = (of(parents[0])?, of(parents[1])?);
        let failed = self.git().library("read a commit");
        let read = |data| CommitRef::from_bytes(data, gix::hash::Kind::Sha1);
        let (one, other) = (read(&one).map_err(&failed)?, read(&other).map_err(&failed)?);
        let seconds =
            |commit: &CommitRef<'_>| commit.committer().and_then(|it| it.time()).unwrap_or_default().seconds;
        let later = if seconds(&other) > seconds(&one) { other } else { one };
        let author = later.committer().map_err(|error| failed(gix::Error::from_error(error)))?;
        let author = author.to_owned().map_err(&failed)?;
        let kind = |path: &str, old: EntryKind| match executables.get(path) {
            Some(true) => EntryKind::BlobExecutable,
            Some(false) => EntryKind::Blob,
            None => old,
        };
        let (time, mut commit) = (seconds(&later), expected);
        let published = self.publish_draft(expected, None, |git| {
            let parent_tree = git.tree_of(expected.0)?;
            let step = |(path, to): &(String, Option<(BlobId, FileKind)>)| {
                let to = to.and_then(|(blob, kind)| Leaf::of(blob, kind));
                git.step(path.clone(), git.leaf(parent_tree, path)?, to)
            };
            let unfit = unfit.iter().map(step).collect::<StoreResult<_>>()?;
            let draft = git.draft_of(Some(expected.0), changes, unfit, kind, |tree| gix::objs::Commit {
                tree,
                parents: parents.into_iter().collect(),
                author: author.clone(),
                committer: author.clone(),
                encoding: None,
                message: clean_message(message).into(),
                extra_headers: Vec::new(),
            })?;
            commit = CommitId(draft.commit);
            Ok(Some(CommitDraft {
                action: "merge",
                subject: clean_message(message),
                time: super::commit::raw_time(time),
                ..draft
            }))
        })?;
        published.map(|()| commit)
    }
}

impl Git {
    /// Returns the step from one entry at a path to another.
    fn step(&self, path: String, before: Option<Leaf>, after: Option<Leaf>) -> StoreResult<PathUpdate> {
        let unfit = (self.is_unfit(&path, before)?, self.is_unfit(&path, after)?);
        let mut step = PathUpdate { unfit, ..PathUpdate::plain(path, before, after) };
        step.from.extend(unfit.0.then_some(None));
        Ok(step)
    }
}

impl Leaf {
    /// Returns the tree entry of a blob, or `None` for an unsafe entry.
    fn of(blob: BlobId, kind: FileKind) -> Option<Leaf> {
        Some(Leaf { kind: kind.entry_kind()?, id: blob.0 })
    }
}

impl PathUpdate {
    /// Returns a step from one state to another.
    pub(super) fn plain(path: String, from: Option<Leaf>, to: Option<Leaf>) -> PathUpdate {
        let unfit = (false, false);
        PathUpdate { path, from: vec![from], to, unfit, is_absence_kept: false, are_zeros_ours: false }
    }
}
