//! Detects unfinished git operations, such as merges and rebases, and a detached HEAD. Nothing is committed then.

use std::fs;

use super::error::StoreResult;
use super::{CommitId, Descent, Git, Head};
use crate::store::{StoreError, StoreErrorKind};

/// The branch that each investigation begins with.
const MAIN: &str = "main";

/// The file in which git lists the commits being merged, one per line.
const MERGE: &str = "MERGE_HEAD";

/// Git operations, each with its marker file or folder and the git command that finishes or aborts it. A new commit would
/// become part of the operation: a rebase could move or drop it, and a merge would be concluded without review. The rebase
/// entries come first because a rebase may contain merges.
const IN_PROGRESS: [(&str, &str); 6] = [
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    (MERGE, "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
];

impl Git {
    /// Returns the git command that has stopped before its end, if any.
    pub fn in_progress(&self) -> Option<&'static str> {
        let is_there = |name: &str| self.git_dir.join(name).symlink_metadata().is_ok();
        IN_PROGRESS.iter().find(|(name, _)| is_there(name)).map(|(_, command)| *command)
    }

    /// Returns the commits that a stopped `git merge` is merging.
    pub fn merged_heads(&self) -> Vec<CommitId> {
        let text = fs::read_to_string(self.git_dir.join(MERGE)).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// Fails while a git operation is in progress, or if HEAD is detached.
    pub fn refuse_in_progress(&self) -> StoreResult<()> {
        let Some(command) = self.in_progress() else { return self.refuse_detached() };
        let path = self.location();
        let message =
            format!("a {command} is in progress in {}: a commit now would become part of it", path.display());
        let by_hand =
            format!("finish it with `git {command} --continue`, or abort it with `git {command} --abort`");
        let hint = match command {
            "bisect" => "End it with `git bisect reset`".to_owned(),
            "revert" => format!("A merge by node would keep what it removes: {by_hand}"),
            "rebase" => format!(
                "Merge node by node with `tot merge --resolve`, {by_hand} (`tot sync` merges both sides and keeps all \
                 commit ids)"
            ),
            _ => format!("Merge node by node with `tot merge --resolve`, {by_hand}"),
        };
        Err(StoreError::new(StoreErrorKind::InProgress, message).hinting(format!("{hint}, then try again")))
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
