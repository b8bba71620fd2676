//! Resolves conflict markers in committed files. Git merges line by line, and committing an unfinished merge also
//! commits its markers.

use std::collections::BTreeSet;
use std::path::Path;

use super::git::{CommitId, FileKind, Git};
use super::join::{self, BlobContents, Flat, flat, merge_commits, render_page};
use super::{Draft, Snapshot, Store, StoreError, StoreErrorKind, history, read};
use crate::domain::Timestamp;
use crate::format::layout::{self, FileRole};
use crate::format::{FileChange, message};
use crate::merge::markers::{Sides, sides};
use crate::merge::{self, Conflict, MergeDecision, Trees};

/// The result of resolving conflict markers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The commit that removes the markers.
    pub commit: CommitId,
    /// The files that had markers.
    pub files: Vec<String>,
    /// The decisions made by the merge.
    pub decisions: Vec<MergeDecision>,
}

/// The changed files and the decisions.
type Resolution = (Vec<FileChange>, Vec<MergeDecision>);

impl Store {
    /// Merges committed files with conflict markers node by node and commits the result. Returns `None` if no file has
    /// markers. If a merge commit introduced the markers, its parents are merged again. Otherwise, both sides are taken
    /// from the markers.
    ///
    /// # Errors
    ///
    /// Returns [`StoreErrorKind::Unresolved`] if the markers cannot be resolved, and the same errors as
    /// [`Store::transact`].
    pub fn resolve(&self, path: &Path, at: Timestamp) -> Result<Option<Resolved>, StoreError> {
        let git = self.open(path)?;
        // During a merge, the markers are not committed yet.
        git.refuse_in_progress()?;
        let written = self.transact(path, |snapshot| -> Result<_, StoreError> {
            let Some((marked, (mut files, decisions))) = resolve_markers(&git, snapshot)? else {
                return Ok((Vec::new(), None));
            };
            files.extend(page(&git, snapshot, &files)?);
            let lines: Vec<String> = decisions.iter().map(ToString::to_string).collect();
            let message = message::resolved(&marked, &lines);
            // Some files were unreadable before, so the new state must be read from the commit.
            let draft = Draft { files, changes: Vec::new(), message, at };
            Ok((vec![draft], Some((marked, decisions))))
        })?;
        if let Some(warning) = written.warnings.into_iter().next() {
            return Err(warning);
        }
        let commit = written.after.head;
        Ok(written.decided.map(|(files, decisions)| Resolved { commit, files, decisions }))
    }

    /// Returns the committed files that cannot be read because of conflict markers.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Store::load`].
    pub fn marked(&self, path: &Path) -> Result<Vec<String>, StoreError> {
        let marked = marked(&self.open(path)?, &self.load(path)?)?;
        Ok(marked.into_iter().map(|(file, _)| file).collect())
    }
}

/// Regenerates the README for the snapshot with the changed files.
fn page(git: &Git, snapshot: &Snapshot, files: &[FileChange]) -> Result<Option<FileChange>, StoreError> {
    let before = flat(git, snapshot.head)?;
    let mut after = before.clone();
    for FileChange { path, content } in files {
        match content {
            Some(content) => drop(after.insert(path.clone(), (git.keep_blob(content)?, FileKind::File))),
            None => drop(after.remove(path)),
        }
    }
    let mut contents = BlobContents::new();
    render_page(git, [snapshot.head; 2], &mut after, &mut contents, snapshot)?;
    let page = after.get(layout::README).filter(|page| before.get(layout::README) != Some(page));
    let content = page.and_then(|(blob, _)| contents.remove(blob));
    Ok(content.map(|content| FileChange { path: layout::README.to_owned(), content: Some(content) }))
}

/// Returns the committed files that cannot be read because of conflict markers, with both sides, sorted by path.
pub(super) fn marked(git: &Git, snapshot: &Snapshot) -> Result<Vec<(String, Sides)>, StoreError> {
    if snapshot.all_faults().next().is_none() {
        return Ok(Vec::new());
    }
    let tree = flat(git, snapshot.head)?;
    let mut marked = Vec::new();
    for fault in snapshot.all_faults() {
        let Some((blob, _)) = tree.get(&fault.path) else { continue };
        let text = String::from_utf8(git.read(*blob, read::FILE_MAX)?).ok();
        marked.extend(text.and_then(|text| Some((fault.path.clone(), sides(&text)?))));
    }
    marked.sort_by(|(one, _), (other, _)| one.cmp(other));
    marked.dedup_by(|(one, _), (other, _)| one == other);
    Ok(marked)
}

/// Resolves all conflict markers. Returns the files that had markers, or `None` if there were none.
fn resolve_markers(git: &Git, snapshot: &Snapshot) -> Result<Option<(Vec<String>, Resolution)>, StoreError> {
    let marked = marked(git, snapshot)?;
    if marked.is_empty() {
        return Ok(None);
    }
    let tree = flat(git, snapshot.head)?;
    let paths: Vec<String> = marked.iter().map(|(path, _)| path.clone()).collect();
    let unresolved = |conflicts: Vec<Conflict>| {
        let (path, conflicts) = (snapshot.path.display(), join::list(&conflicts));
        let message = format!("{path} has conflict markers that can't be resolved: {conflicts}");
        StoreError::new(StoreErrorKind::Unresolved, message)
    };
    if let Some(changed) = remade(git, &tree, snapshot.head, &paths)? {
        return Ok(Some((paths, changed)));
    }
    let changed = from_markers(marked).map_err(unresolved)?;
    Ok(Some((paths, changed)))
}

/// A merge commit and its parents.
type MergeCommit = (CommitId, [CommitId; 2]);

/// Returns the merge commit that introduced the current versions of all these files.
fn merge_of(git: &Git, head: CommitId, paths: &[String]) -> Result<Option<MergeCommit>, StoreError> {
    let mut commits = BTreeSet::new();
    for path in paths {
        commits.extend(history::last_change(git, head, path)?);
    }
    let Some(commit) = commits.pop_first().filter(|_| commits.is_empty()) else { return Ok(None) };
    Ok(git.commit_info(commit)?.parents.try_into().ok().map(|parents| (commit, parents)))
}

/// Repeats the merge that introduced the markers, both for the marked files and for all other files in the
/// investigation. Returns `None` if there is no such merge, if its parents cannot be merged, or if its result was
/// changed later.
pub(super) fn remade(
    git: &Git,
    tree: &Flat,
    head: CommitId,
    marked: &[String],
) -> Result<Option<Resolution>, StoreError> {
    let Some((merge, parents)) = merge_of(git, head, marked)? else { return Ok(None) };
    let merged = merge_commits(git, parents, |_| true)?;
    let Ok((after, contents, decisions)) = merged else {
        return Ok(None);
    };
    // Git may have merged other files line by line, so every differing file is merged again.
    let came = flat(git, merge)?;
    let is_own = |path: &&String| {
        let is_list = *path == layout::WITHHELD;
        is_list
            || !matches!(
                layout::file_role(path),
                FileRole::Meta | FileRole::Ruleset | FileRole::Stray | FileRole::Other
            )
    };
    let differing = came.keys().chain(after.keys()).filter(|path| came.get(*path) != after.get(*path));
    let paths: BTreeSet<&String> = marked.iter().chain(differing.filter(is_own)).collect();
    let mut files = Vec::new();
    for path in paths {
        let merged = after.get(path);
        if tree.get(path) == merged {
            continue;
        }
        // Only files that are unchanged since the merge may be replaced.
        if !marked.contains(path) && tree.get(path) != came.get(path) {
            return Ok(None);
        }
        let path = path.clone();
        let content = match merged {
            None => None,
            Some((blob, _)) => Some(join::content(git, &contents, *blob)?),
        };
        files.push(FileChange { path, content });
    }
    Ok(Some((files, decisions)))
}

/// Merges the two sides contained in the markers.
fn from_markers(marked: Vec<(String, Sides)>) -> Result<Resolution, Vec<Conflict>> {
    let mut trees = Trees::default();
    for (path, Sides { base, ours, theirs }) in &marked {
        trees.base.extend(base.as_ref().map(|base| (path.clone(), base.clone().into_bytes())));
        trees.ours.insert(path.clone(), ours.clone().into_bytes());
        trees.theirs.insert(path.clone(), theirs.clone().into_bytes());
    }
    let mut merged = merge::merge(&trees)?;
    let mut files = Vec::new();
    for (path, _) in marked {
        let content = merged.files.remove(&path);
        files.push(FileChange { path, content });
    }
    Ok((files, merged.decisions))
}
