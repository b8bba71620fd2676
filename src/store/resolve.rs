//! Resolves conflict markers in committed files after a merge by git. git merges by lines, and committing an undecided
//! merge commits the markers.

use std::collections::BTreeSet;
use std::path::Path;

use super::git::{CommitId, FileKind, Git};
use super::join::{Contents, Flat, JoinError, common, flat, merge_flat, render_page};
use super::{Draft, Snapshot, Store, StoreError, history, read};
use crate::domain::Timestamp;
use crate::format::layout::{self, Place};
use crate::format::{FileChange, message};
use crate::merge::markers::{Sides, sides};
use crate::merge::{self, Conflict, Decision, Trees};

/// The result of a resolution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The commit that resolves the markers.
    pub commit: CommitId,
    /// The files that had markers.
    pub files: Vec<String>,
    /// The decisions of the merge.
    pub decisions: Vec<Decision>,
}

/// The files to be written, and the decisions.
type Changed = (Vec<FileChange>, Vec<Decision>);

impl Store {
    /// Merges committed files with conflict markers by node, as one commit on top; `None` without such files. If the
    /// markers came with a merge, its parents are merged again; else both sides are read from the markers.
    ///
    /// # Errors
    ///
    /// [`JoinError::Unresolved`], and as [`Store::transact`].
    pub fn resolve(&self, path: &Path, at: Timestamp) -> Result<Option<Resolved>, StoreError> {
        let git = self.open(path)?;
        // During a merge in progress, the markers are not committed yet.
        git.refuse_in_progress()?;
        let written = self.transact(path, |snapshot| -> Result<_, StoreError> {
            let Some((marked, (mut files, decisions))) = mend(&git, snapshot)? else {
                return Ok((Vec::new(), None));
            };
            files.extend(page(&git, snapshot, &files)?);
            let lines: Vec<String> = decisions.iter().map(ToString::to_string).collect();
            let message = message::resolved(&marked, &lines);
            // The state afterwards is read from the commit, since some files of the previous one were unreadable.
            let draft = Draft { files, changes: Vec::new(), message, at };
            Ok((vec![draft], Some((marked, decisions))))
        })?;
        let commit = written.after.head;
        Ok(written.decided.map(|(files, decisions)| Resolved { commit, files, decisions }))
    }

    /// The committed files that are unreadable because of conflict markers.
    ///
    /// # Errors
    ///
    /// As [`Store::load`].
    pub fn marked(&self, path: &Path) -> Result<Vec<String>, StoreError> {
        let marked = marked(&self.open(path)?, &self.load(path)?)?;
        Ok(marked.into_iter().map(|(file, _)| file).collect())
    }
}

/// The page for forges, generated from these files and all others.
fn page(git: &Git, snapshot: &Snapshot, files: &[FileChange]) -> Result<Option<FileChange>, StoreError> {
    let before = flat(git, snapshot.head)?;
    let mut after = before.clone();
    for FileChange { path, content } in files {
        match content {
            Some(content) => drop(after.insert(path.clone(), (git.keep_blob(content)?, FileKind::File))),
            None => drop(after.remove(path)),
        }
    }
    let mut contents = Contents::new();
    render_page(git, [snapshot.head; 2], &mut after, &mut contents, snapshot)?;
    let page = after.get(layout::README).filter(|page| before.get(layout::README) != Some(page));
    let content = page.and_then(|(blob, _)| contents.remove(blob));
    Ok(content.map(|content| FileChange { path: layout::README.to_owned(), content: Some(content) }))
}

/// The committed files that are unreadable because of conflict markers, with both sides, in order.
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

/// Returns the files that have markers, and their resolution; `None` if no file has any.
fn mend(git: &Git, snapshot: &Snapshot) -> Result<Option<(Vec<String>, Changed)>, StoreError> {
    let marked = marked(git, snapshot)?;
    if marked.is_empty() {
        return Ok(None);
    }
    let tree = flat(git, snapshot.head)?;
    let paths: Vec<String> = marked.iter().map(|(path, _)| path.clone()).collect();
    let unresolved =
        |conflicts| StoreError::from(JoinError::Unresolved { path: snapshot.path.clone(), conflicts });
    if let Some(changed) = remade(git, &tree, snapshot.head, &paths, None)? {
        return Ok(Some((paths, changed)));
    }
    let list = tree.get(layout::WITHHELD).map(|(blob, _)| git.read(*blob, read::FILE_MAX)).transpose()?;
    let changed = from_markers(&tree, list, marked).map_err(unresolved)?;
    Ok(Some((paths, changed)))
}

/// The resolution of files whose markers came with a merge: a repeated merge. `made`: the outcome of an earlier one.
pub(super) fn remade(
    git: &Git,
    tree: &Flat,
    head: CommitId,
    paths: &[String],
    made: Option<&Flat>,
) -> Result<Option<Changed>, StoreError> {
    match merge_of(git, head, paths)? {
        Some(merge) => again(git, tree, &merge, paths, made),
        None => Ok(None),
    }
}

/// A merge, and its parents.
type Merge = (CommitId, [CommitId; 2]);

/// The merge that brought all of these files in their present form.
fn merge_of(git: &Git, head: CommitId, paths: &[String]) -> Result<Option<Merge>, StoreError> {
    let mut commits = BTreeSet::new();
    for path in paths {
        commits.extend(history::last_change(git, head, path)?);
    }
    let Some(commit) = commits.pop_first().filter(|_| commits.is_empty()) else { return Ok(None) };
    let info = git.log(commit)?.next().transpose()?;
    Ok(info.and_then(|info| Some((commit, info.parents.try_into().ok()?))))
}

/// Repeats that merge for these files, and for all others of the investigation. `None` where its result has been changed
/// since, or can't be merged.
fn again(
    git: &Git,
    tree: &Flat,
    (merge, [one, other]): &Merge,
    marked: &[String],
    made: Option<&Flat>,
) -> Result<Option<Changed>, StoreError> {
    let mut kept = Contents::new();
    let base = common(git, &git.merge_bases(*one, &[*other])?, 0, &mut kept)?;
    let merged = merge_flat(git, &kept, &base, [&flat(git, *one)?, &flat(git, *other)?], made)?;
    let Ok((after, contents, decisions)) = merged else {
        return Ok(None);
    };
    // git may have put a change of one side into a file that the other has moved: all that differs is merged again.
    let came = flat(git, *merge)?;
    let is_own = |path: &&String| {
        let is_list = *path == layout::WITHHELD;
        is_list || !matches!(layout::place(path), Place::Meta | Place::Ruleset | Place::Stray | Place::Other)
    };
    let differing = came.keys().chain(after.keys()).filter(|path| came.get(*path) != after.get(*path));
    let paths: BTreeSet<&String> = marked.iter().chain(differing.filter(is_own)).collect();
    let mut files = Vec::new();
    for path in paths {
        let merged = after.get(path);
        if tree.get(path) == merged {
            continue;
        }
        // The file must be unchanged since the merge.
        if !marked.contains(path) && tree.get(path) != came.get(path) {
            return Ok(None);
        }
        let path = path.clone();
        let content = match merged {
            None => None,
            Some((blob, _)) => {
                let content = contents.get(blob).cloned();
                Some(content.map_or_else(|| git.read(*blob, read::FILE_MAX), Ok)?)
            }
        };
        files.push(FileChange { path, content });
    }
    Ok(Some((files, decisions)))
}

/// Merges both sides of the markers.
fn from_markers(
    tree: &Flat,
    list: Option<Vec<u8>>,
    marked: Vec<(String, Sides)>,
) -> Result<Changed, Vec<Conflict>> {
    let mut trees = Trees::default();
    let is_marked = |path: &String| marked.iter().any(|(marked, _)| marked == path);
    for path in tree.keys().filter(|path| !is_marked(path)) {
        if let Place::Node(id) = layout::place(path) {
            trees.untouched.insert(id);
        }
    }
    if let Some(list) = list.as_ref().filter(|_| !is_marked(&layout::WITHHELD.to_owned())) {
        // The side of the file, and so which of two nodes it means, is unknown: both sides have it.
        for side in [&mut trees.ours, &mut trees.theirs] {
            side.insert(layout::WITHHELD.to_owned(), list.clone());
        }
    }
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
    let more = merged.files.into_iter();
    files.extend(more.map(|(path, content)| FileChange { path, content: Some(content) }));
    Ok((files, merged.decisions))
}
