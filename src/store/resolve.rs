//! Putting right what a merge by git has left: committed files with conflict markers in them. git merges by lines, and
//! whoever commits what it could not decide commits the markers.

use std::collections::BTreeSet;
use std::path::Path;

use super::git::{CommitId, Git};
use super::join::{Contents, Flat, JoinError, common, flat, merge_flat};
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
            let Some((marked, (files, decisions))) = mend(&git, snapshot)? else {
                return Ok((Vec::new(), None));
            };
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

/// The files that have markers, and what puts them right; `None` where there are none.
fn mend(git: &Git, snapshot: &Snapshot) -> Result<Option<(Vec<String>, Changed)>, StoreError> {
    let marked = marked(git, snapshot)?;
    if marked.is_empty() {
        return Ok(None);
    }
    let tree = flat(git, snapshot.head)?;
    let paths: Vec<String> = marked.iter().map(|(path, _)| path.clone()).collect();
    let unresolved =
        |conflicts| StoreError::from(JoinError::Unresolved { path: snapshot.path.clone(), conflicts });
    if let Some(changed) = remade(git, &tree, snapshot.head, &paths)? {
        return Ok(Some((paths, changed)));
    }
    let list = tree.get(layout::WITHHELD).map(|(blob, _)| git.read(*blob, read::FILE_MAX)).transpose()?;
    let changed = from_markers(&tree, list, marked).map_err(unresolved)?;
    Ok(Some((paths, changed)))
}

/// What puts these files with markers right, where they came with a merge: that is made anew.
pub(super) fn remade(
    git: &Git,
    tree: &Flat,
    head: CommitId,
    paths: &[String],
) -> Result<Option<Changed>, StoreError> {
    match merge_of(git, head, paths)? {
        Some(merge) => again(git, tree, head, &merge, paths),
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

/// What that merge, made anew, says of these files, and of nodes that it gives another id. `None` where that has been changed
/// since, or can't be merged.
fn again(
    git: &Git,
    tree: &Flat,
    head: CommitId,
    (merge, [one, other]): &Merge,
    marked: &[String],
) -> Result<Option<Changed>, StoreError> {
    let mut kept = Contents::new();
    let base = common(git, &git.merge_bases(*one, &[*other])?, 0, &mut kept)?;
    let merged = merge_flat(git, &kept, &base, &flat(git, *one)?, &flat(git, *other)?)?;
    let Ok((after, contents, decisions)) = merged else {
        return Ok(None);
    };
    let mut paths: BTreeSet<String> = marked.iter().cloned().collect();
    let mut moved = BTreeSet::new();
    for decision in &decisions {
        if let Decision::Renamed { from, to, .. } = decision {
            paths.extend([layout::node(from), layout::node(to)]);
            moved.extend([from.clone(), to.clone()]);
        }
    }
    // What names these nodes, or stands beside them, goes with them.
    let goes_along = |path: &String| match layout::place(path) {
        Place::Attachment(node, _) => moved.contains(&node),
        Place::Comment(_) => after.contains_key(path) && tree.contains_key(path),
        _ => path == layout::WITHHELD,
    };
    if !moved.is_empty() {
        paths.extend(after.keys().chain(tree.keys()).filter(|path| goes_along(path)).cloned());
    }
    let mut files = Vec::new();
    for path in paths {
        let merged = after.get(&path);
        if tree.get(&path) == merged {
            continue;
        }
        // A file that is moved must stand as the merge brought it.
        let is_as_it_came = marked.contains(&path)
            || history::last_change(git, head, &path)? == Some(*merge)
            || tree.get(&path).is_none();
        if !is_as_it_came {
            return Ok(None);
        }
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
