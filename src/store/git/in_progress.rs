//! Merges, rebases and their like, into which nothing is committed.

use super::error::Result;
use super::{Git, GitError};

/// What git itself is in the middle of, by the file or folder that says so, and how it is brought to an end. A commit
/// then would land inside of it: a rebase would carry it along or leave it behind, a merge would be concluded on a
/// state that nobody has looked at.
const IN_PROGRESS: [(&str, &str, &str); 6] = [
    (
        "MERGE_HEAD",
        "a merge",
        "Have it joined by node with `tot merge --resolve`, or finish it with `git merge --continue`, or give it up with \
         `git merge --abort`",
    ),
    (
        "rebase-merge",
        "a rebase",
        "Finish it with `git rebase --continue`, or give it up with `git rebase --abort`",
    ),
    (
        "rebase-apply",
        "a rebase",
        "Finish it with `git rebase --continue`, or give it up with `git rebase --abort`",
    ),
    (
        "CHERRY_PICK_HEAD",
        "a cherry-pick",
        "Finish it with `git cherry-pick --continue`, or give it up with `git cherry-pick --abort`",
    ),
    (
        "REVERT_HEAD",
        "a revert",
        "Finish it with `git revert --continue`, or give it up with `git revert --abort`",
    ),
    ("BISECT_LOG", "a bisect", "End it with `git bisect reset`"),
];

impl Git {
    /// Refuses while git is in the middle of something.
    pub fn refuse_in_progress(&self) -> Result<()> {
        let found = IN_PROGRESS.iter().find(|(name, ..)| self.git_dir.join(name).symlink_metadata().is_ok());
        match found {
            None => Ok(()),
            Some((_, what, hint)) => Err(GitError::InProgress { path: self.shown(), what, hint }),
        }
    }
}
