//! Finds manual edits in merge commits by comparing each commit with a merge of its parents.
//!
//! 1. If each file was changed on only one side and the merge commit contains that version, there are no manual edits.
//!    Git merges such files in the same way, so comparing trees is sufficient.
//! 2. Otherwise, the two parents are merged node by node, as in [`Store::join`](super::Store::join). Files that differ
//!    from the result were edited manually. If the parents cannot be merged, files that differ from every parent count
//!    as edited.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::StoreError;
use super::git::{BlobId, CommitId, CommitInfo};
use super::hands::{Ancestry, FileText, ManualEdit, is_judged, is_marked};
use super::join::{BlobContents, Flat, flat, merge_commits};
use crate::format::layout::{self, FileRole};
use crate::format::{comment_file, conclusion_file, node_file, run_file};
use crate::yaml::YamlError;

/// Returns the files in a merge commit that differ from a merge of its parents. Decrements `remakes`, the number of
/// merges that may still be repeated.
pub(super) fn edits(
    past: &Ancestry<'_>,
    commit: &CommitInfo,
    remakes: &mut usize,
) -> Result<Vec<ManualEdit>, StoreError> {
    let [first, others @ ..] = commit.parents.as_slice() else { return Ok(Vec::new()) };
    let git = past.git;
    // The files that differ between two commits, by path.
    let changed =
        |before: Option<CommitId>, after| -> Result<HashMap<String, [Option<BlobId>; 2]>, StoreError> {
            let files = git.diff(before, after)?.into_iter().filter(|file| is_judged(&file.path));
            Ok(files.map(|file| (file.path, [file.before, file.after])).collect())
        };
    let mut expected: BTreeMap<String, Option<BlobId>> = BTreeMap::new();
    let mut unclear: BTreeSet<String> = BTreeSet::new();
    let mut edits = Vec::new();
    for (number, side) in others.iter().enumerate() {
        let bases = git.merge_bases(*side, &commit.parents[..=number])?;
        if bases.is_empty() && !past.ends.is_empty() {
            return Ok(Vec::new());
        }
        if bases.is_empty() {
            // A second root commit, whose terms were never agreed on.
            let (before, after) = (FileText::Content(Vec::new()), FileText::Blob(None));
            edits.push(ManualEdit { path: layout::META.to_owned(), before, after, is_new: true });
        }
        let base = bases.first().copied();
        let own = changed(base, *first)?;
        for (path, [before, after]) in changed(base, *side)? {
            let stands = expected.get(&path).copied();
            let stands = stands.or_else(|| own.get(&path).map(|[_, after]| *after)).unwrap_or(before);
            // If there are several merge bases, the original version may be ambiguous.
            if bases.len() > 1 || (stands != before && stands != after) {
                unclear.insert(path);
            } else if stands == before {
                expected.insert(path, after);
            }
        }
    }
    let merged = changed(Some(*first), commit.id)?;
    for (path, [before, after]) in &merged {
        if expected.get(path).copied().unwrap_or(*before) != *after {
            unclear.insert(path.clone());
        }
    }
    unclear.extend(expected.into_keys().filter(|path| !merged.contains_key(path)));
    if unclear.is_empty() {
        return Ok(edits);
    }
    let remade = match others {
        [other] if *remakes > 0 => {
            *remakes -= 1;
            remade(past, commit.id, [*first, *other])?
        }
        _ => None,
    };
    for path in unclear {
        let blob = |commit: CommitId| git.blob_at(commit, &path);
        let sides = commit.parents.iter().map(|parent| blob(*parent)).collect::<Result<Vec<_>, _>>()?;
        let now = blob(commit.id)?;
        let after = past.text(&FileText::Blob(now));
        // The file contains conflict markers. The commit that resolves the conflict is judged instead.
        if after.as_deref().is_some_and(is_marked) {
            continue;
        }
        let before = match &remade {
            Some((files, contents)) => match files.get(&path) {
                Some((blob, _)) => {
                    contents.get(blob).map_or(FileText::Blob(Some(*blob)), |it| FileText::Content(it.clone()))
                }
                None => FileText::Blob(None),
            },
            None => FileText::Blob(sides.iter().copied().find(|side| *side != now).flatten()),
        };
        if !is_same(&path, past.text(&before).as_deref(), after.as_deref()) {
            let is_new = !sides.contains(&now);
            edits.push(ManualEdit { path, before, after: FileText::Blob(now), is_new });
        }
    }
    Ok(edits)
}

/// Merges two commits node by node for comparison with their merge `made`. Returns `None` if they cannot be merged.
fn remade(
    past: &Ancestry<'_>,
    made: CommitId,
    parents: [CommitId; 2],
) -> Result<Option<(Flat, BlobContents)>, StoreError> {
    // Conflicts in the user's own files are irrelevant here.
    let mut made = flat(past.git, made)?;
    made.retain(|path, _| is_judged(path));
    let merged = merge_commits(past.git, parents, is_judged, Some(&made))?;
    Ok(merged.ok().map(|(files, contents, _)| (files, contents)))
}

/// Returns whether two versions of a file's text have the same meaning.
pub(super) fn is_same(path: &str, one: Option<&str>, other: Option<&str>) -> bool {
    fn parses_same<T: PartialEq>(texts: [&str; 2], read: impl Fn(&str) -> Result<T, YamlError>) -> bool {
        let [one, other] = texts.map(|text| read(text).ok());
        one.is_some() && one == other
    }
    let (Some(a), Some(b)) = (one, other) else { return one == other };
    a == b
        || match layout::file_role(path) {
            FileRole::Node(_) => parses_same([a, b], node_file::read),
            FileRole::Comment(_) => parses_same([a, b], comment_file::read),
            FileRole::Run(_) => parses_same([a, b], run_file::read),
            FileRole::Conclusion => parses_same([a, b], conclusion_file::read),
            _ => false,
        }
}
