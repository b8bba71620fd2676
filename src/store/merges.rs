//! What a merge holds otherwise than merging its parents gives: an edit by hand can hide there.
//!
//! 1. Where each file was changed on one side alone, and the merge has that side's, nothing is hidden: this is what git makes,
//!    and found by comparing trees.
//! 2. Else the parents of a merge of two are merged by node, as [`Store::join`](super::Store::join) does. What differs from
//!    that was put there by hand. So is what differs from each parent where that merge is not possible.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::StoreError;
use super::git::{BlobId, CommitId};
use super::hands::{Ancestor, Edit, FileText, Past, is_judged, is_marked};
use super::join::{Contents, Flat, common, flat, merge_flat};
use crate::format::layout::{self, Place};
use crate::format::{comment_file, conclusion_file, node_file, run_file};
use crate::yaml::YamlError;

/// The files of a merge that merging its parents does not give. So many more merges may be made anew.
pub(super) fn edits(
    past: &Past<'_>,
    commit: &Ancestor,
    remakes: &mut usize,
) -> Result<Vec<Edit>, StoreError> {
    let [first, others @ ..] = commit.parents.as_slice() else { return Ok(Vec::new()) };
    let git = past.git;
    // What is other than in the first parent, by path.
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
            // A second beginning, whose terms nobody agreed on.
            let (before, after) = (FileText::Content(Vec::new()), FileText::Blob(None));
            edits.push(Edit { path: layout::META.to_owned(), before, after, is_new: true });
        }
        let base = bases.first().copied();
        let own = changed(base, *first)?;
        for (path, [before, after]) in changed(base, *side)? {
            let stands = expected.get(&path).copied();
            let stands = stands.or_else(|| own.get(&path).map(|[_, after]| *after)).unwrap_or(before);
            // Several bases may say different things of what is common.
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
        // Nobody reads it: whoever resolves the conflict wrote what is read then.
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
            edits.push(Edit { path, before, after: FileText::Blob(now), is_new });
        }
    }
    Ok(edits)
}

/// What merging two commits by node gives, of which a merge was made; `None` where they can't be merged.
fn remade(
    past: &Past<'_>,
    made: CommitId,
    [first, other]: [CommitId; 2],
) -> Result<Option<(Flat, Contents)>, StoreError> {
    let git = past.git;
    let files = |commit| -> Result<Flat, StoreError> {
        let mut files = flat(git, commit)?;
        // Whoever resolves a conflict in a file of one's own has changed nothing that is graded.
        files.retain(|path, _| is_judged(path));
        Ok(files)
    };
    let mut kept = Contents::new();
    let base = common(git, &git.merge_bases(first, &[other])?, 0, &mut kept)?;
    let merged = merge_flat(git, &kept, &base, [&files(first)?, &files(other)?], Some(&files(made)?))?;
    Ok(merged.ok().map(|(files, contents, _)| (files, contents)))
}

/// Whether two texts of a file say the same.
fn is_same(path: &str, one: Option<&str>, other: Option<&str>) -> bool {
    fn says_same<T: PartialEq>(texts: [&str; 2], read: impl Fn(&str) -> Result<T, YamlError>) -> bool {
        let [one, other] = texts.map(|text| read(text).ok());
        one.is_some() && one == other
    }
    let (Some(a), Some(b)) = (one, other) else { return one == other };
    a == b
        || match layout::place(path) {
            Place::Node(_) => says_same([a, b], node_file::read),
            Place::Comment(_) => says_same([a, b], comment_file::read),
            Place::Run(_) => says_same([a, b], run_file::read),
            Place::Conclusion => says_same([a, b], conclusion_file::read),
            _ => false,
        }
}
