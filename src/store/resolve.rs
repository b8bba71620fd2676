//! Putting right what a merge by git has left: committed files with conflict markers in them. git merges by lines, and
//! whoever commits what it could not decide commits the markers.

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

/// What was put right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The commit that did it.
    pub commit: CommitId,
    /// The files that had markers.
    pub files: Vec<String>,
    /// What was decided for that.
    pub decisions: Vec<Decision>,
}

/// The files to be written, and what was decided.
type Changed = (Vec<FileChange>, Vec<Decision>);

impl Store {
    /// Merges by node what committed files with conflict markers hold, as one commit on top. `None` where there is no such
    /// file. If the markers came with a merge, its parents are merged anew; else both sides are read from the markers.
    ///
    /// # Errors
    ///
    /// [`JoinError::Unresolved`], and as [`Store::transact`].
    pub fn resolve(&self, path: &Path, at: Timestamp) -> Result<Option<Resolved>, StoreError> {
        let git = self.open(path)?;
        // Who stands in the middle of something has not committed the markers yet.
        git.refuse_in_progress()?;
        let written = self.transact(path, |snapshot| -> Result<_, StoreError> {
            let Some((marked, (mut files, decisions))) = mend(&git, snapshot)? else {
                return Ok((Vec::new(), None));
            };
            files.extend(page(&git, snapshot, &files)?);
            let lines: Vec<String> = decisions.iter().map(ToString::to_string).collect();
            let message = message::resolved(&marked, &lines);
            // The state after is read again, since files of the one before could not be read.
            let draft = Draft { files, changes: Vec::new(), message, at };
            Ok((vec![draft], Some((marked, decisions))))
        })?;
        let commit = written.after.head;
        Ok(written.decided.map(|(files, decisions)| Resolved { commit, files, decisions }))
    }

    /// The committed files that can't be read for the conflict markers in them.
    ///
    /// # Errors
    ///
    /// As [`Store::load`].
    pub fn marked(&self, path: &Path) -> Result<Vec<String>, StoreError> {
        let marked = marked(&self.open(path)?, &self.load(path)?)?;
        Ok(marked.into_iter().map(|(file, _)| file).collect())
    }
}

/// The page for forges, as it follows from these files and all others.
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

/// The committed files that can't be read for the conflict markers in them, with both sides, in their order.
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

/// Returns the files that have markers, and what puts them right; `None` if no file has any.
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

/// What puts these files with markers right, where they came with a merge: that is made anew. `made`: what was made of it already.
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

/// The merge that brought all of these files as they are.
fn merge_of(git: &Git, head: CommitId, paths: &[String]) -> Result<Option<Merge>, StoreError> {
    let mut commits = BTreeSet::new();
    for path in paths {
        commits.extend(history::last_change(git, head, path)?);
    }
    let Some(commit) = commits.pop_first().filter(|_| commits.is_empty()) else { return Ok(None) };
    let info = git.log(commit)?.next().transpose()?;
    Ok(info.and_then(|info| Some((commit, info.parents.try_into().ok()?))))
}

/// What that merge, made anew, says of these files, and of all others of the investigation. `None` where that has been changed
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
    // git may have put what one side changed into a file that the other has moved: all that differs is made anew.
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
        // It must stand as the merge brought it.
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

/// What a merge of both sides of the markers says.
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
        // From which side it came, and so which of two nodes it means, is not known: both.
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
