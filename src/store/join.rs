//! Integrates the commits of others: a fast-forward, or a merge by node.
//!
//! 1. Anything but a plain file, a name that not every system accepts, and a file above the read limit is kept in the
//!    commit and left out of the work tree. [`Store::left_out`] names it, both for incoming and for removed files. All
//!    other files of the commit together have a limit of bytes.
//! 2. Both sides must be the same investigation, with a commit in common.
//! 3. If our commit is an ancestor of theirs, HEAD is fast-forwarded to theirs.
//! 4. Otherwise their trees are merged by [`crate::merge`] against the merge base. Several merge bases are merged first, in
//!    turn against their own base: against one of them alone, a reverted change would come back.
//! 5. The page for forges is regenerated from the merge.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};

use super::git::{self, BlobId, CommitId, Descent, FileKind, Git, GitError, Tree, TreeFile};
use super::{Snapshot, Store, StoreError, TRIES, limits, read, resolve};
use crate::format::layout::{self, Place};
use crate::format::{FileChange, message, readme};
use crate::merge::{self, Conflict, Decision, Reason, Trees};

/// The maximum depth of merging merge bases, beyond which one of them is taken.
const MAX_DEPTH: usize = 16;

/// The outcome of joining a commit of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Joined {
    /// The commit was already part of the history.
    Unchanged,
    /// HEAD was fast-forwarded.
    FastForwarded {
        /// The previous commit.
        from: CommitId,
        /// The new commit.
        to: CommitId,
    },
    /// The commit was merged.
    Merged {
        /// The merge commit, where HEAD is now.
        commit: CommitId,
        /// The decisions of the merge.
        decisions: Vec<Decision>,
    },
}

/// Why a commit of others can't be joined. Nothing has moved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// The histories have no commit in common.
    #[error("{path} and the commit {theirs} have no commit in common")]
    Unrelated {
        /// The repository.
        path: PathBuf,
        /// Their commit.
        theirs: CommitId,
    },
    /// The commit belongs to another investigation.
    #[error("{path} is the investigation {ours}, but the commit {commit} belongs to {theirs}")]
    Another {
        /// The repository.
        path: PathBuf,
        /// Their commit.
        commit: CommitId,
        /// The id of ours.
        ours: String,
        /// The id of theirs.
        theirs: String,
    },
    /// A tree to be merged contains a name that git itself does not accept.
    #[error("the commit {theirs} contains {file:?}, a name that git refuses to check out")]
    Refused {
        /// Their commit.
        theirs: CommitId,
        /// The path in its tree.
        file: String,
    },
    /// Its files exceed the limit of bytes together.
    #[error("the files of the commit {commit} have {bytes} bytes; the limit is {}", limits::CHECKOUT_MAX)]
    TooLarge {
        /// The commit.
        commit: CommitId,
        /// The bytes.
        bytes: u64,
    },
    /// Committed files with conflict markers that only a person can put right.
    #[error("{path} has conflict markers that can't be resolved: {}", list(.conflicts))]
    Unresolved {
        /// The repository.
        path: PathBuf,
        /// The files.
        conflicts: Vec<Conflict>,
    },
    /// Committed files with conflict markers, which the other side has changed as well.
    #[error("{path} has conflict markers in committed files that the commit {theirs} has changed: {}", .files.join(", "))]
    Marked {
        /// The repository.
        path: PathBuf,
        /// Their commit.
        theirs: CommitId,
        /// The files.
        files: Vec<String>,
    },
    /// Files that both sides have changed, and that only a person can merge.
    #[error("{path} and the commit {theirs} can't be merged: {}", list(.conflicts))]
    Conflicts {
        /// The repository.
        path: PathBuf,
        /// Their commit.
        theirs: CommitId,
        /// The files.
        conflicts: Vec<Conflict>,
    },
}

impl JoinError {
    /// Returns the hint on what to do.
    pub fn hint(&self) -> String {
        match self {
            JoinError::Unrelated { .. } => {
                "If they are two investigations, import one of them with a new id; in a shallow clone, `git fetch \
                 --unshallow` gets the rest of the history"
                    .to_owned()
            }
            JoinError::Another { .. } => "Check the address and the branch".to_owned(),
            JoinError::Refused { theirs, .. } => {
                format!("List its files with `git ls-tree -r {theirs}`, and ask its author to remove this one")
            }
            JoinError::TooLarge { commit, .. } => format!(
                "`git ls-tree -r -l {commit}` shows the sizes; ask its author to remove the large files in a new commit"
            ),
            JoinError::Unresolved { .. } => "Fix the file by hand and commit it".to_owned(),
            JoinError::Marked { .. } => {
                "Merge both sides of the markers with `tot merge --resolve`, then call again".to_owned()
            }
            JoinError::Conflicts { path, theirs, .. } => {
                format!("Merge it by hand: `git -C {} merge {theirs}`. {BY_HAND}", path.display())
            }
        }
    }
}

/// How to finish a merge by hand that has begun.
pub const BY_HAND: &str = "Fix these files and commit everything with `git commit -a`; `tot merge --resolve` then merges \
                           the files that still have conflict markers";

fn list(conflicts: &[Conflict]) -> String {
    conflicts.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// The files of a tree by path, each with its blob and kind.
pub(super) type Flat = BTreeMap<String, (BlobId, FileKind)>;

/// Contents that are not stored as objects, by their ids.
pub(super) type Contents = HashMap<BlobId, Vec<u8>>;

impl Store {
    /// The state at a commit of a new clone that has no commit of its own yet, if it can be joined.
    ///
    /// # Errors
    ///
    /// [`JoinError`], and as [`Store::load_at`].
    pub fn inspect(&self, path: &Path, theirs: CommitId) -> Result<Snapshot, StoreError> {
        let git = self.open(path)?;
        refuse_large(&git, theirs)?;
        read::snapshot(&git, path, theirs, None, None)
    }

    /// The files at a commit that are left out of the work tree, and were not so at another commit: each file, and why.
    ///
    /// # Errors
    ///
    /// Any error of git.
    pub fn left_out(
        &self,
        path: &Path,
        before: Option<CommitId>,
        after: CommitId,
    ) -> Result<Vec<LeftOut>, StoreError> {
        let left_out = self.open(path)?.left_out(before, after)?;
        Ok(left_out.into_iter().map(|(file, reason)| LeftOut { file, reason }).collect())
    }

    /// Joins a commit whose objects are in the repository: HEAD moves to it, or to a merge with it.
    ///
    /// # Errors
    ///
    /// [`JoinError`], a merge or its like in progress, and any error of git or the file system. Nothing has moved then.
    pub fn join(&self, path: &Path, theirs: CommitId) -> Result<Joined, StoreError> {
        self.refuse_read_only()?;
        let git = self.open(path)?;
        for _ in 0..TRIES {
            let writer = git.writer()?;
            let before = self.load_from(&git, path)?;
            let ours = before.head;
            if git.descent(theirs, ours)? == Descent::Yes {
                return Ok(Joined::Unchanged);
            }
            // Checked before any advice that git would refuse now.
            git.refuse_in_progress()?;
            let joined = match self.plan(&git, &before, theirs)? {
                None => writer
                    .fast_forward(ours, theirs)
                    .map(|()| Joined::FastForwarded { from: ours, to: theirs }),
                Some(Merge { changes, executables, unfit, decisions }) => {
                    let lines: Vec<String> = decisions.iter().map(ToString::to_string).collect();
                    let message = message::merged(&ids(ours, theirs), &lines);
                    let commit = writer.merge(ours, theirs, &changes, &executables, &unfit, &message);
                    commit.map(|commit| Joined::Merged { commit, decisions })
                }
            };
            match joined {
                Err(GitError::HeadMoved { .. }) => continue,
                joined => {
                    let joined = joined?;
                    let after = self.load_from(&git, path)?;
                    self.heads.wrote(&after);
                    return Ok(joined);
                }
            }
        }
        Err(GitError::Busy { path: git::Shown(path.to_owned()) }.into())
    }

    /// The commits of a stopped merge by git, if each could be joined by [`Store::join`] after that merge is aborted;
    /// empty without a merge. Writes nothing.
    ///
    /// # Errors
    ///
    /// As [`Store::join`].
    pub fn stopped_merge(&self, path: &Path) -> Result<Vec<CommitId>, StoreError> {
        self.refuse_read_only()?;
        let git = self.open(path)?;
        let stopped = git.stopped_merge()?;
        if !stopped.is_empty() {
            let before = self.load_from(&git, path)?;
            for theirs in &stopped {
                if git.descent(*theirs, before.head)? != Descent::Yes {
                    self.plan(&git, &before, *theirs)?;
                }
            }
        }
        Ok(stopped)
    }

    /// Plans the merge of a commit that is not in our history; `None` for a fast-forward.
    fn plan(&self, git: &Git, before: &Snapshot, theirs: CommitId) -> Result<Option<Merge>, StoreError> {
        let (path, ours) = (&before.path, before.head);
        let other = read::snapshot(git, path, theirs, None, Some(before))?.investigation.meta().id;
        if other != before.investigation.meta().id {
            let (ours, theirs, commit) =
                (before.investigation.meta().id.to_string(), other.to_string(), theirs);
            return Err(JoinError::Another { path: path.to_owned(), commit, ours, theirs }.into());
        }
        let bases = git.merge_bases(ours, &[theirs])?;
        if bases.is_empty() {
            return Err(JoinError::Unrelated { path: path.to_owned(), theirs }.into());
        }
        refuse_large(git, theirs)?;
        if bases == [ours] {
            return Ok(None);
        }
        let mut kept = Contents::new();
        let base = common(git, &bases, 0, &mut kept)?;
        let (ours_flat, theirs_flat) = (flat(git, ours)?, flat(git, theirs)?);
        let (mut after, mut contents, decisions) =
            match merge_flat(git, &kept, &base, [&ours_flat, &theirs_flat], None)? {
                Ok(merged) => merged,
                Err(conflicts) => {
                    let mut files: Vec<String> =
                        resolve::marked(git, before)?.into_iter().map(|(file, _)| file).collect();
                    files.retain(|file| conflicts.iter().any(|conflict| conflict.path == *file));
                    let path = path.to_owned();
                    return Err(match files.is_empty() {
                        true => JoinError::Conflicts { path, theirs, conflicts }.into(),
                        false => JoinError::Marked { path, theirs, files }.into(),
                    });
                }
            };
        if [&ours_flat, &theirs_flat].iter().any(|flat| flat.contains_key(layout::CONCLUSION)) {
            let mut heads = [ours, theirs];
            heads.sort();
            render_page(git, heads, &mut after, &mut contents, before)?;
        }
        let (changes, unfit) = changes(&ours_flat, &after, git, &contents)?;
        if let Some((file, _)) = unfit.iter().find(|(_, to)| to.is_some_and(|to| to.1 == FileKind::Unsafe)) {
            return Err(JoinError::Refused { theirs, file: file.clone() }.into());
        }
        let counted = unfit.iter().filter_map(|(path, to)| to.map(|_| path.clone()));
        let counted = counted.map(|path| FileChange { path, content: Some(Vec::new()) });
        let counted: Vec<_> = changes.iter().cloned().chain(counted).collect();
        limits::after(git, before, &counted, self.most)?;
        let executables =
            after.into_iter().map(|(path, (_, kind))| (path, kind == FileKind::Executable)).collect();
        Ok(Some(Merge { changes, executables, unfit, decisions }))
    }
}

/// Refuses a commit whose files together exceed the limit.
fn refuse_large(git: &Git, commit: CommitId) -> Result<(), StoreError> {
    match limits::beyond_a_checkout(git, commit)? {
        Some(bytes) => Err(JoinError::TooLarge { commit, bytes }.into()),
        None => Ok(()),
    }
}

/// A merge that can be made.
struct Merge {
    changes: Vec<FileChange>,
    executables: HashMap<String, bool>,
    unfit: Vec<Unfit>,
    decisions: Vec<Decision>,
}

/// A path that is left out of the work tree, with its present entry in the tree.
type Unfit = (String, Option<(BlobId, FileKind)>);

/// A file that is left out of the work tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its path.
    pub file: String,
    /// Why.
    pub reason: String,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.reason)
    }
}

/// The ids of both parents, shortened, in order.
fn ids(ours: CommitId, theirs: CommitId) -> [String; 2] {
    let mut ids = [ours.to_string(), theirs.to_string()];
    ids.sort();
    ids.map(|id| id.chars().take(10).collect())
}

pub(super) fn flat(git: &Git, commit: CommitId) -> Result<Flat, StoreError> {
    Ok(git.files(commit)?.into_iter().map(|file| (file.path, (file.blob, file.kind))).collect())
}

/// The merge base of these commits as one tree; of files that can't be merged, the older common ones. Contents that are not
/// stored as objects are added to `kept`.
pub(super) fn common(
    git: &Git,
    commits: &[CommitId],
    depth: usize,
    kept: &mut Contents,
) -> Result<Flat, StoreError> {
    let [first, rest @ ..] = commits else { return Ok(Flat::new()) };
    let mut tree = flat(git, *first)?;
    if depth == MAX_DEPTH {
        return Ok(tree);
    }
    let mut merged = vec![*first];
    for commit in rest {
        let base = common(git, &git.merge_bases(*commit, &merged)?, depth + 1, kept)?;
        tree = match merge_flat(git, kept, &base, [&tree, &flat(git, *commit)?], None)? {
            Ok((tree, contents, _)) => {
                kept.extend(contents);
                tree
            }
            Err(_) => base,
        };
        merged.push(*commit);
    }
    Ok(tree)
}

/// A merged tree, the contents that are not stored as objects, and the decisions.
pub(super) type MergedFlat = (Flat, Contents, Vec<Decision>);

/// Merges two trees against their base. Proposals that make way keep the ids of an earlier merge, if one was `made` and is
/// judged.
pub(super) fn merge_flat(
    git: &Git,
    kept: &Contents,
    base: &Flat,
    [ours, theirs]: [&Flat; 2],
    made: Option<&Flat>,
) -> Result<Result<MergedFlat, Vec<Conflict>>, StoreError> {
    let paths: BTreeSet<&String> = base.keys().chain(ours.keys()).chain(theirs.keys()).collect();
    let (mut trees, mut tree, mut touched) = (Trees::default(), Flat::new(), Vec::new());
    // A file that both sides have removed may have been larger than either present one.
    let mut room = limits::CHECKOUT_MAX;
    let mut known = HashSet::new();
    for path in paths {
        let [base, ours, theirs] = [base, ours, theirs].map(|side| side.get(path));
        // The list names nodes, which may move although the list is unchanged.
        if base == ours && ours == theirs && path != layout::WITHHELD {
            tree.extend(ours.map(|entry| (path.clone(), *entry)));
            if let Place::Node(id) = layout::place(path) {
                trees.untouched.insert(id);
            }
            continue;
        }
        if is_unfit(git, kept, path, [base, ours, theirs])? {
            let entry = match (ours == base, theirs == base) {
                (true, _) => theirs,
                (_, true) => ours,
                _ if ours == theirs => ours,
                _ => {
                    let conflict = Conflict { path: path.clone(), reason: Reason::BothChanged };
                    return Ok(Err(vec![conflict]));
                }
            };
            tree.extend(entry.map(|entry| (path.clone(), *entry)));
            continue;
        }
        touched.push((path.clone(), [base, ours, theirs].map(|entry| entry.map(|(_, kind)| *kind))));
        let Trees { base: base_files, ours: our_files, theirs: their_files, .. } = &mut trees;
        for (side, entry) in [(base_files, base), (our_files, ours), (their_files, theirs)] {
            if let Some((blob, _)) = entry {
                let content = match kept.get(blob) {
                    Some(content) => content.clone(),
                    None => {
                        known.insert(*blob);
                        git.read(*blob, room.min(read::FILE_MAX))?
                    }
                };
                room = room.saturating_sub(content.len() as u64);
                side.insert(path.clone(), content);
            }
        }
    }
    for (path, (blob, _)) in made.into_iter().flatten() {
        if matches!(layout::place(path), Place::Node(id) if !trees.untouched.contains(&id)) {
            // An unreadable file is reported elsewhere.
            let content = git.read(*blob, room.min(read::FILE_MAX)).unwrap_or_default();
            room = room.saturating_sub(content.len() as u64);
            trees.made.insert(path.clone(), content);
        }
    }
    let merged = match merge::merge(&trees) {
        Ok(merged) => merged,
        Err(conflicts) => return Ok(Err(conflicts)),
    };
    let kinds: HashMap<String, [Option<FileKind>; 3]> = touched.into_iter().collect();
    let mut contents = HashMap::new();
    for (path, content) in merged.files {
        let [base, ours, theirs] = kinds.get(&path).copied().unwrap_or_default();
        let is_executable = match (ours == base, theirs == base) {
            (true, _) => theirs == Some(FileKind::Executable),
            (_, true) => ours == Some(FileKind::Executable),
            _ => [ours, theirs].contains(&Some(FileKind::Executable)),
        };
        let kind = if is_executable { FileKind::Executable } else { FileKind::File };
        let blob = git.blob_id(&content)?;
        if !known.contains(&blob) {
            contents.insert(blob, content);
        }
        tree.insert(path, (blob, kind));
    }
    Ok(Ok((tree, contents, merged.decisions)))
}

/// Whether one of these entries is left out of the work tree. Content that is not stored as an object is the investigation's own.
fn is_unfit<const N: usize>(
    git: &Git,
    contents: &Contents,
    path: &str,
    entries: [Option<&(BlobId, FileKind)>; N],
) -> Result<bool, StoreError> {
    for entry in entries.into_iter().flatten().filter(|(blob, _)| !contents.contains_key(blob)) {
        if git.unfit(path, *entry)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Regenerates the page for forges of the merge of two commits, in the order of its parents. A page that somebody has written
/// by hand is left alone.
pub(super) fn render_page(
    git: &Git,
    heads: [CommitId; 2],
    tree: &mut Flat,
    contents: &mut Contents,
    before: &Snapshot,
) -> Result<(), StoreError> {
    let Some((blob, kind)) = tree.get(layout::README).filter(|(_, kind)| kind.is_plain()).copied() else {
        return Ok(());
    };
    let text = contents.get(&blob).cloned().map_or_else(|| git.read(blob, read::FILE_MAX), Ok)?;
    if !std::str::from_utf8(&text).is_ok_and(readme::is_ours) {
        return Ok(());
    }
    // The page is generated from stored objects.
    contents.values().try_for_each(|content| git.keep_blob(content).map(drop))?;
    let file = |(path, (blob, kind)): (&String, &(BlobId, FileKind))| TreeFile {
        path: path.clone(),
        blob: *blob,
        kind: *kind,
    };
    let files = Tree { files: tree.iter().map(file).collect(), entries: tree.len(), bytes: 0 };
    let after = read::of_tree(git, &before.path, heads, files, None, Some(before))?;
    let Some(rules) = after.rules() else { return Ok(()) };
    let page = readme::readme(&after.investigation, &rules).into_bytes();
    let blob = git.blob_id(&page)?;
    contents.insert(blob, page);
    tree.insert(layout::README.to_owned(), (blob, kind));
    Ok(())
}

/// The changes that turn the tree `before` into `after`.
fn changes(
    before: &Flat,
    after: &Flat,
    git: &Git,
    contents: &Contents,
) -> Result<(Vec<FileChange>, Vec<Unfit>), StoreError> {
    let (mut changes, mut unfit) = (Vec::new(), Vec::new());
    for (path, entry) in after {
        if before.get(path) == Some(entry) {
            continue;
        }
        if is_unfit(git, contents, path, [before.get(path), Some(entry)])? {
            unfit.push((path.clone(), Some(*entry)));
            continue;
        }
        let content = match contents.get(&entry.0) {
            Some(content) => content.clone(),
            None => git.read(entry.0, read::FILE_MAX)?,
        };
        changes.push(FileChange { path: path.clone(), content: Some(content) });
    }
    for (path, entry) in before.iter().filter(|(path, _)| !after.contains_key(*path)) {
        match is_unfit(git, contents, path, [Some(entry)])? {
            true => unfit.push((path.clone(), None)),
            false => changes.push(FileChange { path: path.clone(), content: None }),
        }
    }
    Ok((changes, unfit))
}
