//! Integrates commits from elsewhere by fast-forwarding or by merging node by node.
//!
//! 1. Links, submodules, names that are invalid on some systems, and files above the read limit stay in the commit but
//!    are not checked out. [`Store::left_out`] lists them. The total size of all other files is limited.
//! 2. Both sides must be the same investigation and have a commit in common.
//! 3. If our commit is an ancestor of theirs, HEAD is fast-forwarded to theirs.
//! 4. Otherwise, [`crate::merge`] merges both trees against their merge base. If there are several merge bases, they
//!    are merged first, each step against its own base. Using only one of them could bring back a reverted change.
//! 5. The README of the merged investigation is regenerated.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use super::edited::Past;
pub use super::git::LeftOut;
use super::git::{BlobId, CommitId, Descent, FileKind, Git, Tree, TreeFile};
use super::transact::ATTEMPTS;
use super::{Snapshot, Store, StoreError, StoreErrorKind, limits, read};
use crate::domain::ShortId;
use crate::format::layout::{self, FileRole};
use crate::format::{FileChange, message, readme};
use crate::merge::{self, Conflict, ConflictReason, FileMap, MergeDecision};

/// The maximum recursion depth when merging merge bases. Beyond this depth, only the first base is used.
const MAX_DEPTH: usize = 16;

/// The result of integrating a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Joined {
    /// The commit was already part of our history.
    Unchanged,
    /// HEAD was fast-forwarded.
    FastForwarded {
        /// The commit that HEAD pointed to before.
        from: CommitId,
        /// The commit that HEAD points to now.
        to: CommitId,
    },
    /// A merge commit was created.
    Merged {
        /// The merge commit, now at HEAD.
        commit: CommitId,
        /// The decisions made by the merge.
        decisions: Vec<MergeDecision>,
    },
}

/// A path with the content of its file, and whether the file is executable. `None` if the file is removed.
pub type ResolvedFile = (String, Option<(Vec<u8>, bool)>);

/// What becomes of the files in conflict of a stopped git command.
#[derive(Debug, Default)]
pub struct Resolution {
    /// The git command that has stopped, such as `rebase`.
    pub in_progress: Option<&'static str>,
    /// The commits that a stopped `git merge` is merging.
    pub heads: Vec<CommitId>,
    /// The files that were in conflict.
    pub files: Vec<ResolvedFile>,
    /// The decisions made by the merge.
    pub decisions: Vec<MergeDecision>,
}

/// Creates an error for two commits with conflicting changes.
fn both_changed(path: &Path, theirs: CommitId, conflicts: &[Conflict]) -> StoreError {
    let (path, conflicting) = (path.display(), list(conflicts));
    let message = format!("{path} and the commit {theirs} can't be merged: {conflicting}");
    let files = conflicts.iter().map(|conflict| conflict.path.clone()).collect();
    StoreError::new(StoreErrorKind::Conflicts(files), message)
        .hinting(format!(
            "Merge it by hand: `git -C {path} merge {theirs}`. Fix these files, `git add` them, and finish with `tot merge \
             --resolve`"
        ))
}

fn list(conflicts: &[Conflict]) -> String {
    conflicts.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// The blob and kind of each file in a tree, by path.
type Flat = BTreeMap<String, (BlobId, FileKind)>;

/// The contents of files that are not stored as objects, by blob id.
pub(super) type BlobContents = HashMap<BlobId, Vec<u8>>;

impl Store {
    /// Returns the state at a commit that is about to be integrated into a new clone without local commits.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Store::load_at`], and an error if the commit is too large.
    pub fn inspect(&self, path: &Path, theirs: CommitId) -> Result<Snapshot, StoreError> {
        let git = self.open(path)?;
        limits::refuse_large(&git, theirs)?;
        read::snapshot(&git, path, theirs, None, None)
    }

    /// Integrates a commit whose objects are already in the repository. Moves HEAD to that commit or to a merge with
    /// it.
    ///
    /// # Errors
    ///
    /// Returns an error if git or the file system fails, if the commits cannot be merged, or if a merge or similar
    /// operation is in progress. HEAD does not move in these cases.
    pub fn join(&self, path: &Path, theirs: CommitId) -> Result<Joined, StoreError> {
        let git = self.open_to_write(path)?;
        for _ in 0..ATTEMPTS {
            let writer = git.writer()?;
            let before = self.load_from(&git, path, writer.head.clone())?;
            let ours = before.head;
            if git.descent(theirs, ours)? == Descent::Yes {
                return Ok(Joined::Unchanged);
            }
            // Report an operation in progress first. Until it is finished, git would refuse the commands suggested by
            // any other hint.
            git.refuse_in_progress()?;
            let joined = match self.plan(&git, &before, theirs)? {
                None => writer
                    .fast_forward(ours, theirs)
                    .map(|()| Joined::FastForwarded { from: ours, to: theirs }),
                Some(MergePlan { changes, executables, unfit, decisions }) => {
                    // Like all trailers, these hold whole ids.
                    let line = |mut decision: MergeDecision| {
                        decision.node_mut().into_iter().for_each(|id| id.show_whole(true));
                        decision.to_string()
                    };
                    let lines: Vec<String> = decisions.iter().cloned().map(line).collect();
                    let message = message::merged(&ids(ours, theirs), &lines);
                    let commit = writer.merge(ours, theirs, &changes, &executables, &unfit, &message);
                    commit.map(|commit| Joined::Merged { commit, decisions })
                }
            };
            match joined {
                Err(error) if error.kind == StoreErrorKind::HeadMoved => continue,
                joined => {
                    let joined = joined?;
                    self.load_from(&git, path, git.head()?)?;
                    return Ok(joined);
                }
            }
        }
        Err(StoreError::busy(path))
    }

    /// Merges the files that git has left in conflict, node by node, and writes nothing. A file that a person has resolved
    /// and added to git's index is in conflict no more.
    ///
    /// # Errors
    ///
    /// Returns an error if a file in conflict can't be merged, during a revert, or if git or the file system fails.
    pub fn resolve(&self, path: &Path) -> Result<Resolution, StoreError> {
        self.refuse_read_only()?;
        let git = self.open(path)?;
        let before = self.load_from(&git, path, git.head()?)?;
        let (in_progress, heads) = (git.in_progress(), git.merged_heads());
        if matches!(in_progress, Some("bisect" | "revert")) {
            git.refuse_in_progress()?;
        }
        let [mut tree, base, mut ours, theirs] = git.stages()?;
        let mut paths: BTreeSet<String> =
            base.keys().chain(ours.keys()).chain(theirs.keys()).cloned().collect();
        if paths.is_empty() {
            return Ok(Resolution { in_progress, ..Resolution::default() });
        }
        // Git sees no conflict in attachments whose names differ only in letter case.
        for path in alike(&tree) {
            ours.extend(tree.remove(&path).map(|file| (path.clone(), file)));
            paths.insert(path);
        }
        let merged = merge_flat(&git, &BlobContents::new(), &base, [&ours, &theirs])?;
        let (merged, mut contents, decisions) = merged.map_err(|conflicts| {
            let message =
                format!("{} has conflicts that only you can resolve: {}", path.display(), list(&conflicts));
            let files = conflicts.into_iter().map(|conflict| conflict.path).collect();
            StoreError::new(StoreErrorKind::Conflicts(files), message)
                .hinting("Fix these files, `git add` them, and run `tot merge --resolve` again")
        })?;
        paths.extend(merged.keys().cloned());
        tree.extend(merged);
        if paths.contains(layout::README) {
            let theirs = heads.first().copied().unwrap_or(before.head);
            render_page(&git, [before.head, theirs], &mut tree, &mut contents, &before)?;
        }
        let file = |path: String| {
            let Some((blob, kind)) = tree.get(&path).copied() else { return Ok((path, None)) };
            Ok((path, Some((content(&git, &contents, blob)?, kind == FileKind::Executable))))
        };
        let files = paths.into_iter().map(file).collect::<Result<_, StoreError>>()?;
        Ok(Resolution { in_progress, heads, files, decisions })
    }

    /// Plans a merge. Returns `None` if a fast-forward suffices.
    fn plan(&self, git: &Git, before: &Snapshot, theirs: CommitId) -> Result<Option<MergePlan>, StoreError> {
        let (path, ours) = (&before.path, before.head);
        let other = read::snapshot(git, path, theirs, None, Some(before))?.investigation.meta().id;
        if other != before.investigation.meta().id {
            let (path, ours) = (path.display(), before.investigation.meta().id);
            let message =
                format!("{path} is the investigation {ours}, but the commit {theirs} belongs to {other}");
            return Err(StoreError::new(StoreErrorKind::OtherInvestigation, message));
        }
        let bases = git.merge_bases(ours, &[theirs])?;
        if bases.is_empty() {
            let message = format!("{} and the commit {theirs} have no commit in common", path.display());
            return Err(StoreError::new(StoreErrorKind::Unrelated, message));
        }
        limits::refuse_large(git, theirs)?;
        if bases == [ours] {
            return Ok(None);
        }
        let mut kept = BlobContents::new();
        let base = common(git, &bases, 0, &mut kept)?;
        let (ours_flat, theirs_flat) = (flat(git, ours)?, flat(git, theirs)?);
        let (mut after, mut contents, decisions) =
            match merge_flat(git, &kept, &base, [&ours_flat, &theirs_flat])? {
                Ok(merged) => merged,
                Err(conflicts) => return Err(both_changed(path, theirs, &conflicts)),
            };
        if [&ours_flat, &theirs_flat].iter().any(|flat| flat.contains_key(layout::CONCLUSION)) {
            let mut heads = [ours, theirs];
            heads.sort();
            render_page(git, heads, &mut after, &mut contents, before)?;
        }
        let (changes, unfit) = changes(&ours_flat, &after, git, &contents)?;
        if let Some((file, _)) = unfit.iter().find(|(_, to)| to.is_some_and(|to| to.1 == FileKind::Unsafe)) {
            let message =
                format!("the commit {theirs} contains {file:?}, a name that git refuses to check out");
            let hint = format!(
                "List its files with `git ls-tree -r {theirs}`, and ask its author to remove this one"
            );
            return Err(StoreError::new(StoreErrorKind::UnsafeName, message).hinting(hint));
        }
        let counted = unfit.iter().filter_map(|(path, to)| to.map(|_| path.clone()));
        let counted = counted.map(|path| FileChange { path, content: Some(Vec::new()) });
        let counted: Vec<_> = changes.iter().cloned().chain(counted).collect();
        limits::after(git, before, &counted, self.max_size)?;
        let executables =
            after.into_iter().map(|(path, (_, kind))| (path, kind == FileKind::Executable)).collect();
        Ok(Some(MergePlan { changes, executables, unfit, decisions }))
    }
}

/// Returns the attachments whose names differ from another one's only in letter case.
fn alike(tree: &Flat) -> Vec<String> {
    let mut named: BTreeMap<_, Vec<&String>> = BTreeMap::new();
    for path in tree.keys() {
        if let FileRole::Attachment(node, name) = layout::file_role(path) {
            named.entry((node, name.without_case())).or_default().push(path);
        }
    }
    named.into_values().filter(|paths| paths.len() > 1).flatten().cloned().collect()
}

/// A merge that is ready to be committed.
struct MergePlan {
    changes: Vec<FileChange>,
    executables: HashMap<String, bool>,
    unfit: Vec<Unfit>,
    decisions: Vec<MergeDecision>,
}

/// A path that is not checked out, with its new tree entry.
type Unfit = (String, Option<(BlobId, FileKind)>);

/// Returns both parent ids, shortened and sorted.
pub(super) fn ids(ours: CommitId, theirs: CommitId) -> [String; 2] {
    let mut ids = [ours.to_string(), theirs.to_string()];
    ids.sort();
    ids.map(|id| id.chars().take(10).collect())
}

fn flat(git: &Git, commit: CommitId) -> Result<Flat, StoreError> {
    Ok(git.files(commit)?.into_iter().map(|file| (file.path, (file.blob, file.kind))).collect())
}

/// Merges several merge bases into one tree. If they conflict, uses their own merge base instead. Adds contents that
/// are not stored as objects to `kept`.
fn common(
    git: &Git,
    commits: &[CommitId],
    depth: usize,
    kept: &mut BlobContents,
) -> Result<Flat, StoreError> {
    let [first, rest @ ..] = commits else { return Ok(Flat::new()) };
    let mut tree = flat(git, *first)?;
    if depth == MAX_DEPTH {
        return Ok(tree);
    }
    let mut merged = vec![*first];
    for commit in rest {
        let base = common(git, &git.merge_bases(*commit, &merged)?, depth + 1, kept)?;
        tree = match merge_flat(git, kept, &base, [&tree, &flat(git, *commit)?])? {
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

/// A merged tree, the file contents that are not stored as objects, and the decisions.
pub(super) type MergedFlat = (Flat, BlobContents, Vec<MergeDecision>);

/// Merges two commits node by node. On both sides, considers only files for which `is_merged` returns true.
pub(super) fn merge_commits(
    git: &Git,
    [one, other]: [CommitId; 2],
    is_merged: fn(&str) -> bool,
) -> Result<Result<MergedFlat, Vec<Conflict>>, StoreError> {
    let mut kept = BlobContents::new();
    let base = common(git, &git.merge_bases(one, &[other])?, 0, &mut kept)?;
    let (mut one, mut other) = (flat(git, one)?, flat(git, other)?);
    one.retain(|path, _| is_merged(path));
    other.retain(|path, _| is_merged(path));
    merge_flat(git, &kept, &base, [&one, &other])
}

/// Merges two trees against their base.
fn merge_flat(
    git: &Git,
    kept: &BlobContents,
    base: &Flat,
    [ours, theirs]: [&Flat; 2],
) -> Result<Result<MergedFlat, Vec<Conflict>>, StoreError> {
    let paths: BTreeSet<&String> = base.keys().chain(ours.keys()).chain(theirs.keys()).collect();
    let (mut trees, mut tree, mut touched) = (<[FileMap; 3]>::default(), Flat::new(), Vec::new());
    // Files that both sides removed may have been larger than any existing file.
    let mut room = limits::CHECKOUT_MAX;
    let mut known = HashSet::new();
    for path in paths {
        let [base, ours, theirs] = [base, ours, theirs].map(|side| side.get(path));
        if base == ours && ours == theirs {
            tree.extend(ours.map(|entry| (path.clone(), *entry)));
            continue;
        }
        if is_unfit(git, kept, path, [base, ours, theirs])? {
            let entry = match (ours == base, theirs == base) {
                (true, _) => theirs,
                (_, true) => ours,
                _ if ours == theirs => ours,
                _ => {
                    let conflict = Conflict { path: path.clone(), reason: ConflictReason::BothChanged };
                    return Ok(Err(vec![conflict]));
                }
            };
            tree.extend(entry.map(|entry| (path.clone(), *entry)));
            continue;
        }
        touched.push((path.clone(), [base, ours, theirs].map(|entry| entry.map(|(_, kind)| *kind))));
        for (side, entry) in trees.iter_mut().zip([base, ours, theirs]) {
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
    let mut decisions = merged.decisions;
    let mut shorts = HashMap::<ShortId, usize>::new();
    for path in tree.keys().filter(|_| !decisions.is_empty()) {
        if let FileRole::Node(id) = layout::file_role(path) {
            *shorts.entry(id.short().clone()).or_default() += 1;
        }
    }
    for id in decisions.iter_mut().filter_map(MergeDecision::node_mut) {
        id.show_whole(shorts.get(id.short()).is_some_and(|number| *number > 1));
    }
    Ok(Ok((tree, contents, decisions)))
}

/// Returns whether any of the entries cannot be checked out. Contents that are not stored as objects were written by
/// the merge itself and can always be checked out.
fn is_unfit<const N: usize>(
    git: &Git,
    contents: &BlobContents,
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

/// Regenerates the README for the merge of two commits, given in parent order. Leaves a README edited by the user
/// alone.
fn render_page(
    git: &Git,
    heads: [CommitId; 2],
    tree: &mut Flat,
    contents: &mut BlobContents,
    before: &Snapshot,
) -> Result<(), StoreError> {
    let Some((blob, kind)) = tree.get(layout::README).filter(|(_, kind)| kind.is_plain()).copied() else {
        return Ok(());
    };
    let text = content(git, contents, blob)?;
    if !std::str::from_utf8(&text).is_ok_and(readme::is_ours) {
        return Ok(());
    }
    // The README is generated from stored objects.
    contents.values().try_for_each(|content| git.keep_blob(content).map(drop))?;
    let file = |(path, (blob, kind)): (&String, &(BlobId, FileKind))| TreeFile {
        path: path.clone(),
        blob: *blob,
        kind: *kind,
    };
    let files = Tree { files: tree.iter().map(file).collect(), entries: tree.len(), bytes: 0 };
    let past = Past::read(git, heads, Some(before))?;
    let after = read::of_tree(git, &before.path, past, heads, files, None, Some(before))?;
    let Some(rules) = after.rules() else { return Ok(()) };
    let page = readme::readme(&after.investigation, &rules).into_bytes();
    let blob = git.blob_id(&page)?;
    contents.insert(blob, page);
    tree.insert(layout::README.to_owned(), (blob, kind));
    Ok(())
}

/// Returns the content of a blob that may not be stored as an object.
pub(super) fn content(git: &Git, contents: &BlobContents, blob: BlobId) -> Result<Vec<u8>, StoreError> {
    contents.get(&blob).cloned().map_or_else(|| git.read(blob, read::FILE_MAX), Ok)
}

/// Returns the changes that turn the tree `before` into `after`.
fn changes(
    before: &Flat,
    after: &Flat,
    git: &Git,
    contents: &BlobContents,
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
        let content = content(git, contents, entry.0)?;
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
