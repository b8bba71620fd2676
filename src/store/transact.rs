//! Transactions: load, decide, and publish the decisions as commits, one writer at a time.

use std::path::Path;
use std::sync::Arc;

use super::git::{CommitId, CommitText, Git, GitWriter, TagText};
use super::{Snapshot, Store, StoreError, StoreErrorKind, history, limits, read};
use crate::domain::{Change, Conclusion, Timestamp};
use crate::format::{FileChange, layout, message};

/// The prefix of the tags for conclusions.
const ENDED: &str = "ended/";

/// The maximum number of attempts at a transaction while other processes are committing with git.
pub(super) const ATTEMPTS: usize = 20;

/// A decision to be written as one commit.
pub struct Draft {
    /// The files to write or remove.
    pub files: Vec<FileChange>,
    /// The changes as domain values, used to update the snapshot without rereading it.
    pub changes: Vec<Change>,
    /// The commit message.
    pub message: String,
    /// The time of the decision.
    pub at: Timestamp,
}

/// The outcome of a transaction.
pub struct Transacted<T> {
    /// The state before the decision.
    pub before: Snapshot,
    /// The state after the transaction. Identical to `before` if nothing was written.
    pub after: Snapshot,
    /// The new commits, oldest first.
    pub commits: Vec<CommitId>,
    /// The tag for the conclusion, if the investigation is closed.
    pub tag: Option<String>,
    /// What went wrong although the commits exist.
    pub warnings: Vec<StoreError>,
    /// True if git's automatic maintenance has work to do.
    pub wants_upkeep: bool,
    /// The value returned by `decide`.
    pub decided: T,
}

impl Store {
    /// Runs a transaction.
    ///
    /// Waits for other writers, cleans up after a killed writer, loads the state and passes it to `decide`. Each draft
    /// then becomes one commit on top of the previous one, and all are published at once. If another process commits with
    /// git in the meantime, the transaction starts over.
    ///
    /// A conclusion is defined by its file, and its tag only points to it. A new conclusion is written only if its tag can
    /// be created too. If a previous writer was killed before it could create the tag, this method creates it.
    ///
    /// # Errors
    ///
    /// Returns an error if `decide`, git or the file system fails, or if a merge or similar operation is in progress.
    /// Nothing is written in these cases. Whatever fails later is a warning.
    pub fn transact<T, E: From<StoreError>>(
        &self,
        path: &Path,
        decide: impl Fn(&Snapshot) -> Result<(Vec<Draft>, T), E>,
    ) -> Result<Transacted<T>, E> {
        let git = self.open_to_write(path)?;
        for _ in 0..ATTEMPTS {
            let writer = git.writer()?;
            let before = self.load_from(&git, path, writer.head.clone())?;
            let (drafts, decided) = decide(&before)?;
            let mut warnings = Vec::new();
            // A conclusion must be tagged before the investigation is reopened, because nothing would tag it later.
            let mut tag = tag_end(&writer, &before);
            let (after, commits) = match self.publish(&writer, &before, &drafts, &mut warnings) {
                Err(error) if error.kind == StoreErrorKind::HeadMoved => continue,
                published => published?,
            };
            if !commits.is_empty() {
                tag = tag_end(&writer, &after);
            }
            let tag = tag.unwrap_or_else(|error| {
                warnings.push(error);
                None
            });
            let wants_upkeep = !commits.is_empty() && git.wants_upkeep();
            return Ok(Transacted { before, after, commits, tag, warnings, wants_upkeep, decided });
        }
        Err(StoreError::busy(path).into())
    }

    /// Loads and decides like [`Store::transact`]. Then checks that the drafts could be published, and publishes nothing.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Store::transact`], as far as they can be known without publishing.
    pub fn rehearse<T, E: From<StoreError>>(
        &self,
        path: &Path,
        decide: impl Fn(&Snapshot) -> Result<(Vec<Draft>, T), E>,
    ) -> Result<T, E> {
        self.refuse_read_only()?;
        let git = self.open(path)?;
        let writer = git.writer()?;
        let before = self.load_from(&git, path, writer.head.clone())?;
        let (drafts, decided) = decide(&before)?;
        for draft in &drafts {
            limits::after(&git, &before, &draft.files, self.max_size)?;
            writer.rehearse(before.head, &draft.files)?;
        }
        Ok(decided)
    }

    /// Publishes the drafts and returns the new state and the commits.
    fn publish(
        &self,
        writer: &GitWriter<'_>,
        before: &Snapshot,
        drafts: &[Draft],
        warnings: &mut Vec<StoreError>,
    ) -> Result<(Snapshot, Vec<CommitId>), StoreError> {
        if drafts.is_empty() {
            return Ok((before.clone(), Vec::new()));
        }
        let files: Vec<FileChange> = drafts.iter().flat_map(|draft| draft.files.clone()).collect();
        let changes: Vec<Change> = drafts.iter().flat_map(|draft| draft.changes.clone()).collect();
        let size = limits::after(writer.git(), before, &files, self.max_size)?;
        let mut after = Snapshot { size, ..before.clone() };
        after.investigation = Arc::new(before.investigation.with(&changes));
        let end = changes.iter().rev().find_map(|change| match change {
            Change::Concluded(conclusion) if !conclusion.draft => Some(conclusion),
            _ => None,
        });
        let tag = end.map(|end| next_tag(writer.git(), before, end)).transpose()?;
        let texts: Vec<CommitText> = drafts
            .iter()
            .map(|draft| CommitText {
                changes: &draft.files,
                message: &draft.message,
                at: draft.at.seconds(),
            })
            .collect();
        let (commits, confirmed) = writer.commit(before.head, &texts, tag.as_ref(), |head| {
            after.head = head;
            // This commit may fix earlier faults or replace a conclusion or terms edited by hand, so reread the state.
            let is_end = |change: &Change| matches!(change, Change::Concluded(_) | Change::Reopened(_));
            if !before.faults.is_empty() || !before.edits.is_empty() && changes.iter().any(is_end) {
                let branch = before.branch.clone();
                after = read::snapshot(writer.git(), &before.path, head, branch, Some(before))?;
            }
            Ok(())
        })?;
        warnings.extend(confirmed.err());
        self.wrote(&after);
        self.cache(&after);
        Ok((after, commits))
    }
}

/// Tags the commit that wrote the snapshot's conclusion with `ended/1`, or with the next free number if the
/// investigation was reopened, and returns the tag. Reuses an existing tag. Returns `None` if there is no conclusion or
/// if its commit is unknown.
fn tag_end(writer: &GitWriter<'_>, snapshot: &Snapshot) -> Result<Option<String>, StoreError> {
    // A draft hides the commit of an earlier end.
    let end = snapshot.investigation.end().filter(|_| snapshot.investigation.draft().is_none());
    let Some(end) = end else { return Ok(None) };
    let Some(target) = history::last_change(writer.git(), snapshot.head, layout::CONCLUSION)? else {
        return Ok(None);
    };
    let git = writer.git();
    let is_of_end = |(name, commit): &(String, CommitId)| *commit == target && end_number(name).is_some();
    if let Some((name, _)) = git.tags()?.into_iter().find(is_of_end) {
        return Ok(Some(name));
    }
    let tag = next_tag(git, snapshot, end)?;
    writer.tag(&tag, target)?;
    Ok(Some(tag.name))
}

/// Returns the tag for a new conclusion, with the next free name.
fn next_tag(git: &Git, snapshot: &Snapshot, end: &Conclusion) -> Result<TagText, StoreError> {
    /// The maximum number of locked names to pass over.
    const LOCKED_MAX: u32 = 8;
    let tags = git.tag_objects()?;
    let last = tags.iter().filter_map(|(name, _)| end_number(name)).max().unwrap_or(0);
    let name = |number: u32| format!("{ENDED}{}", last.saturating_add(number));
    // A killed git may have left a lock. Any free name will do.
    let free = (1..LOCKED_MAX).map(name).find(|name| !git.is_tag_locked(name));
    Ok(TagText {
        name: free.unwrap_or_else(|| name(LOCKED_MAX)),
        message: message::ended(snapshot.investigation.meta(), end),
        at: end.ended_at.seconds(),
    })
}

/// Returns the number in the name of a tag for a conclusion, such as `ended/1`, or in that of a tag below it.
fn end_number(name: &str) -> Option<u32> {
    name.strip_prefix(ENDED)?.split('/').next()?.parse().ok()
}
