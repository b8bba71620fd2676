//! Detects unfinished git operations, such as merges and rebases, and a detached HEAD. Nothing is committed then.

use std::fs;
use std::io::ErrorKind;

use super::error::{StoreResult, io_error};
use super::{CommitId, Descent, Git, Head};
use crate::store::{StoreError, StoreErrorKind};

/// The branch that each investigation begins with.
const MAIN: &str = "main";

/// The file in which git lists the commits being merged, one per line.
const MERGE: &str = "MERGE_HEAD";

/// Git operations, each with its marker file or folder and a hint on how to finish it. A new commit would become part
/// of the operation: a rebase could move or drop it, and a merge would be concluded without review. The rebase entries
/// come first because a rebase may contain merges.
const IN_PROGRESS: [(&str, &str, &str); 6] = [
    ("rebase-merge", "a rebase", REBASE),
    ("rebase-apply", "a rebase", REBASE),
    (
        MERGE,
        "a merge",
        "Merge node by node with `tot merge --resolve`, finish it with `git merge --continue`, or abort it with `git merge \
         --abort`",
    ),
    (
        "CHERRY_PICK_HEAD",
        "a cherry-pick",
        "Finish it with `git cherry-pick --continue`, or abort it with `git cherry-pick --abort`",
    ),
    (
        "REVERT_HEAD",
        "a revert",
        "Finish it with `git revert --continue`, or abort it with `git revert --abort`",
    ),
    ("BISECT_LOG", "a bisect", "End it with `git bisect reset`"),
];
const REBASE: &str = "Abort it with `git rebase --abort` (`tot sync` merges both sides node by node and keeps all commit \
                      ids), or finish it with `git rebase --continue`";

impl Git {
    /// Fails while a git operation is in progress, or if HEAD is detached.
    pub fn refuse_in_progress(&self) -> StoreResult<()> {
        self.refuse_all_but("")
    }

    /// Returns the commits that a stopped `git merge` was merging, if any. Fails while any other operation is in
    /// progress.
    pub fn stopped_merge(&self) -> StoreResult<Vec<CommitId>> {
        self.refuse_all_but(MERGE)?;
        let path = self.git_dir.join(MERGE);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(text.lines().filter_map(|line| line.parse().ok()).collect()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(io_error("read", &path)(error)),
        }
    }

    fn refuse_all_but(&self, accepted: &str) -> StoreResult<()> {
        let is_there = |name: &str| name != accepted && self.git_dir.join(name).symlink_metadata().is_ok();
        match IN_PROGRESS.iter().find(|(name, ..)| is_there(name)) {
            None => self.refuse_detached(),
            Some((_, what, hint)) => {
                let path = self.location();
                let message = format!(
                    "{what} is in progress in {}: a commit now would become part of it",
                    path.display()
                );
                let error = StoreError::new(StoreErrorKind::InProgress, message);
                Err(error.hinting(format!("{hint}, then try again")))
            }
        }
    }

    /// Fails if HEAD is detached, because a commit would then be on no branch. The hint never leaves commits behind.
    fn refuse_detached(&self) -> StoreResult<()> {
        let Head { branch: None, commit: Some(commit) } = self.head()? else { return Ok(()) };
        let mut branches = self.references_under(&["refs/heads/"])?;
        branches.sort_by_key(|(name, _)| name != MAIN);
        let has = |tip| matches!(self.descent(commit, CommitId(tip)), Ok(Descent::Yes));
        let short = commit.to_string()[..10].to_owned();
        let hint = match branches.into_iter().find(|(_, tip)| has(*tip)) {
            Some((name, _)) => format!("Go back to its branch with `git switch {name}`"),
            None => format!("No branch has this commit yet. Keep it with `git switch -c kept-{short}`"),
        };
        let message = format!(
            "HEAD of {} is detached at {short}: a commit now would be on no branch",
            self.location().display()
        );
        Err(StoreError::new(StoreErrorKind::Detached, message).hinting(hint))
    }
}
