//! What two histories have in common, what a new one brings, and the head brought to it.
//!
//! A merge commit follows from its two parents alone: they stand in the order of their ids, and its author and time are
//! those of the later one. So two clones that merge the same two commits make one and the same commit.

use std::collections::HashMap;

use gix::ObjectId;
use gix::objs::tree::EntryKind;
use gix::objs::{CommitRef, Kind};

use super::ancestry::Walk;
use super::commit::{Draft, Step, clean_message};
use super::error::Result;
use super::paths::check_changes;
use super::read::Differences;
use super::tree::Leaf;
use super::{BlobId, CommitId, Descent, Git, Writer};
use crate::format::FileChange;

/// Reading.
impl Git {
    /// The best common ancestors of one commit and some others, in the order of their ids; none of unrelated histories.
    pub fn merge_bases(&self, one: CommitId, others: &[CommitId]) -> Result<Vec<CommitId>> {
        let others: Vec<ObjectId> = others.iter().map(|other| other.0).collect();
        let bases = self.repository.merge_bases_many(one.0, &others);
        let bases = bases.map_err(self.library("find what two histories have in common"))?;
        let mut bases: Vec<CommitId> = bases.into_iter().map(|base| CommitId(base.detach())).collect();
        bases.sort();
        bases.dedup();
        // gix 0.90 leaves some in that others came from: it follows only the first parent of a merge there.
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

    /// The commits that `theirs` came from and `ours` did not; without ours, all of them.
    pub fn new_commits(&self, ours: Option<CommitId>, theirs: CommitId) -> Result<Vec<CommitId>> {
        let mut walk = Walk::new(self)?;
        if let Some(ours) = ours {
            walk.find(ours.0, |_| false);
        }
        let mut new = Vec::new();
        walk.find(theirs.0, |id| {
            new.push(CommitId(id));
            false
        });
        Ok(new)
    }

    /// What a commit has put into its tree that is not a plain file of at most so many bytes with a name that every
    /// checkout accepts: the path, and what is wrong with it. Looks at what differs from the first parent.
    pub fn strange_file(&self, commit: CommitId, max_len: u64) -> Result<Option<(String, String)>> {
        // None where a shallow clone ends.
        let parent = Walk::new(self)?.parents(commit.0).first().copied().map(CommitId);
        let Differences { found, strange } = self.differences(parent, commit)?;
        if let Some(found) = strange {
            return Ok(Some(found));
        }
        for change in found {
            let size = change.after.map(|blob| self.size(blob)).transpose()?.unwrap_or(0);
            if size > max_len {
                return Ok(Some((
                    change.path,
                    format!("it has {size} bytes, and at most {max_len} are read"),
                )));
            }
        }
        Ok(None)
    }

    /// The id that a file of these bytes has.
    pub fn blob_id(&self, content: &[u8]) -> Result<BlobId> {
        let id = gix::objs::compute_hash(gix::hash::Kind::Sha1, Kind::Blob, content);
        id.map(BlobId).map_err(self.library("hash a file"))
    }
}

/// Bringing the head to a commit of others.
impl Writer<'_> {
    /// Moves the head from `expected` to `to`, which came from it, with index and work tree as a commit does.
    pub fn fast_forward(&self, expected: CommitId, to: CommitId) -> Result<()> {
        let git = self.git();
        let (parent_tree, tree) = (git.tree_of(expected.0)?, git.tree_of(to.0)?);
        let mut steps = Vec::new();
        for change in git.diff(Some(expected), to)? {
            let (before, after) = (git.leaf(parent_tree, &change.path)?, git.leaf(tree, &change.path)?);
            steps.push(Step::plain(change.path, before, after));
        }
        // The paths alone count.
        let content = |step: &Step| step.to.map(|_| Vec::new());
        let changes: Vec<FileChange> =
            steps.iter().map(|step| FileChange { path: step.path.clone(), content: content(step) }).collect();
        check_changes(&changes)?;
        let draft = Draft {
            commit: to.0,
            parent: Some(expected.0),
            parent_tree,
            objects: Vec::new(),
            steps,
            action: "merge",
            subject: "fast-forward\n".to_owned(),
            time: super::commit::raw_time(git.commit_info(to)?.seconds),
        };
        self.land(expected, |_| Ok(draft)).map(drop)
    }

    /// Commits `changes` on top of `expected` as a merge with `theirs`, and moves the head there. A file of `executables` is
    /// one if that says so, and else stays what it was.
    pub fn merge(
        &self,
        expected: CommitId,
        theirs: CommitId,
        changes: &[FileChange],
        executables: &HashMap<String, bool>,
        message: &str,
    ) -> Result<CommitId> {
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
        let time = seconds(&later);
        self.land(expected, |git| {
            let draft = git.draft_of(Some(expected.0), changes, kind, |tree| gix::objs::Commit {
                tree,
                parents: parents.into_iter().collect(),
                author: author.clone(),
                committer: author.clone(),
                encoding: None,
                message: clean_message(message).into(),
                extra_headers: Vec::new(),
            })?;
            Ok(Draft {
                action: "merge",
                subject: clean_message(message),
                time: super::commit::raw_time(time),
                ..draft
            })
        })
    }
}

impl Step {
    /// A step between two states that nothing else stands between.
    pub(super) fn plain(path: String, from: Option<Leaf>, to: Option<Leaf>) -> Step {
        Step { path, from: vec![from], to, is_absence_kept: false, are_zeros_ours: false }
    }
}
