//! The checksum of a commit: it shows whether a commit is as `tot` made it. It is no signature, because anybody can compute it.
//!
//! Every commit that `tot` makes ends with the trailer `Tot-Checksum: 1-` and 32 hexadecimal digits: the first 16 bytes of
//! the SHA-256 of these fields, in this order.
//!
//! 1. The author's name, without white space at its ends.
//! 2. The author's address.
//! 3. The author's time as in the commit object, such as `1767603600 +0000`.
//! 4. The message without the line of the checksum. Nothing else is left out, so it ends with a line feed, and an empty line
//!    before the checksum belongs to it.
//! 5. For each path that differs from the first parent, or from the empty tree in a first commit, in the order of their
//!    bytes: the path, then its mode and the id of its blob before the commit, then both after it. Folders and renames are
//!    no paths of their own. A mode has six octal digits, as in `git diff-tree`. An id has 20 bytes. The mode and the id of
//!    a path that does not exist are empty.
//!
//! Each field is raw bytes, and its length as eight bytes, big-endian, precedes it. For the first commit of `Ada
//! <ada@example.org>` at `1767603600 +0000` with the message `Start: Why?`, an empty line and `Tool: tot_start`, with the
//! line feed `a` as the only file (blob `8b137891791fe96927ad78e64b0aad7bded08bdc`, mode 100644):
//!
//! ```text
//! Tot-Checksum: 1-38683bc93f5c1f4ed48caf68285f7f8a
//! ```
//!
//! `git rebase` and `git cherry-pick` keep a checksum valid unless another commit changed one of its files. `--amend`,
//! a squash and an edit of the message break it. A commit without a valid checksum was edited by hand. A merge commit by
//! git has none, so its files are compared with those of its parents: [`merged_by_hand`].

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::git::{CommitId, Git, RawChange, RawCommit};
use super::hands::{is_judged, is_marked};
use super::join::{self, flat, merge_commits};
use super::{Store, StoreError, merges};
use crate::store::snapshot::trailers;

/// The key of the trailer.
pub const CHECKSUM: &str = "Tot-Checksum";

/// Whether a commit is as `tot` made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// The checksum fits.
    Valid,
    /// The commit has no checksum.
    Missing,
    /// The checksum does not fit.
    Wrong,
    /// The first parent is not in this shallow clone.
    Unchecked,
}

/// A commit and its checksum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedCommit {
    /// The commit.
    pub commit: CommitId,
    /// Whether the commit is as `tot` made it.
    pub checksum: Checksum,
    /// The files that affect the verdict and that the commit changed by hand.
    pub by_hand: Vec<String>,
}

impl Store {
    /// Checks the checksums of a commit and its ancestors. Unreadable commits are omitted.
    ///
    /// # Errors
    ///
    /// Returns an error if `path` is not a repository.
    pub fn checksums(&self, path: &Path, head: CommitId) -> Result<Vec<CheckedCommit>, StoreError> {
        let git = self.open(path)?;
        let ends: HashSet<CommitId> = git.shallow_boundary()?.into_iter().collect();
        let (mut checked, mut seen, mut next) = (Vec::new(), HashSet::new(), vec![head]);
        while let Some(commit) = next.pop() {
            if !seen.insert(commit) {
                continue;
            }
            if ends.contains(&commit) {
                checked.push(CheckedCommit { commit, checksum: Checksum::Unchecked, by_hand: Vec::new() });
                continue;
            }
            let Ok(raw) = git.raw_commit(commit) else { continue };
            next.extend(&raw.parents);
            let checksum = checksum(&raw);
            let by_hand = match raw.parents.as_slice() {
                _ if checksum == Checksum::Valid => Vec::new(),
                [] | [_] => judged(&raw).collect(),
                parents => merged_by_hand(&git, commit, parents)?,
            };
            checked.push(CheckedCommit { commit, checksum, by_hand });
        }
        Ok(checked)
    }
}

/// Returns the message of a new commit with its checksum as the last trailer.
pub(super) fn sealed(commit: &RawCommit) -> Vec<u8> {
    let mut message = commit.message.clone();
    let text = String::from_utf8_lossy(&message);
    if !text.trim_end().contains("\n\n") || trailers(&text).is_empty() {
        message.push(b'\n');
    }
    let line = format!("{CHECKSUM}: {}\n", digest(commit, &message));
    message.extend(line.into_bytes());
    message
}

fn checksum(commit: &RawCommit) -> Checksum {
    let lines = commit.message.split_inclusive(|byte| *byte == b'\n');
    let (mut at, mut last) = (0, None);
    for line in lines {
        if let Some(value) = line.strip_prefix(CHECKSUM.as_bytes()).and_then(|line| line.strip_prefix(b": "))
        {
            last = Some((at, line.len(), value.trim_ascii_end()));
        }
        at += line.len();
    }
    let Some((at, len, value)) = last else { return Checksum::Missing };
    let message = [&commit.message[..at], &commit.message[at + len..]].concat();
    if value == digest(commit, &message).as_bytes() { Checksum::Valid } else { Checksum::Wrong }
}

fn digest(commit: &RawCommit, message: &[u8]) -> String {
    let mut hash = Sha256::new();
    let mut add = |field: &[u8]| {
        hash.update((field.len() as u64).to_be_bytes());
        hash.update(field);
    };
    commit.author.iter().for_each(|part| add(part));
    add(message);
    for RawChange { path, before, after } in &commit.changes {
        add(path);
        for (mode, id) in [before, after] {
            add(mode);
            add(id);
        }
    }
    let digits = hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect::<String>();
    format!("1-{digits}")
}

fn judged(commit: &RawCommit) -> impl Iterator<Item = String> {
    let paths = commit.changes.iter().map(|change| String::from_utf8_lossy(&change.path).into_owned());
    paths.filter(|path| is_judged(path))
}

/// Returns the files in a merge commit by git that neither are as in a parent nor as the merge of the parents by node.
/// A file as in a parent that had not changed it takes back the change of the other.
fn merged_by_hand(git: &Git, commit: CommitId, parents: &[CommitId]) -> Result<Vec<String>, StoreError> {
    let mut paths = BTreeSet::new();
    for parent in parents {
        let changes = git.diff(Some(*parent), commit)?.into_iter().map(|change| change.path);
        paths.extend(changes.filter(|path| is_judged(path)));
    }
    let mut bases = BTreeSet::new();
    let [first, others @ ..] = parents else { return Ok(Vec::new()) };
    for (number, other) in others.iter().enumerate() {
        bases.extend(git.merge_bases(*other, &parents[..=number])?);
    }
    let mut unlike = Vec::new();
    for path in paths {
        let blob = |commit: &CommitId| git.blob_at(*commit, &path);
        let now = blob(&commit)?;
        let mut is_taken = false;
        for parent in parents {
            let mut is_new = false;
            for base in &bases {
                is_new |= blob(base)? != now;
            }
            is_taken |= blob(parent)? == now && is_new;
        }
        if !is_taken {
            unlike.push(path);
        }
    }
    if unlike.is_empty() {
        return Ok(unlike);
    }
    let mut made = flat(git, commit)?;
    made.retain(|path, _| is_judged(path));
    let merged = match others {
        [other] => merge_commits(git, [*first, *other], is_judged, Some(&made))?.ok(),
        _ => None,
    };
    let Some((files, contents, _)) = merged else { return Ok(unlike) };
    let text = |content: Vec<u8>| String::from_utf8(content).ok();
    let mut by_hand = Vec::new();
    for path in unlike {
        let now = match made.get(&path) {
            Some((blob, _)) => text(join::content(git, &contents, *blob)?),
            None => None,
        };
        let then = match files.get(&path) {
            Some((blob, _)) => text(join::content(git, &contents, *blob)?),
            None => None,
        };
        // The commit that resolves a conflict is judged instead.
        if !now.as_deref().is_some_and(is_marked) && !merges::is_same(&path, then.as_deref(), now.as_deref())
        {
            by_hand.push(path);
        }
    }
    Ok(by_hand)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_in_the_documentation_is_the_one_that_is_computed() {
        let id =
            |hex: &str| (0..20).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect();
        let after = (b"100644".to_vec(), id("8b137891791fe96927ad78e64b0aad7bded08bdc"));
        let commit = RawCommit {
            author: ["Ada", "ada@example.org", "1767603600 +0000"].map(|part| part.as_bytes().to_vec()),
            message: b"Start: Why?\n\nTool: tot_start\n".to_vec(),
            parents: Vec::new(),
            changes: vec![RawChange { path: b"a".to_vec(), before: Default::default(), after }],
        };
        let message = sealed(&commit);
        let line = String::from_utf8(message[commit.message.len()..].to_vec()).unwrap();
        let documentation = include_str!("checksum.rs");
        assert!(documentation.contains(&format!("//! {line}")), "{line}");
        assert_eq!(checksum(&RawCommit { message, ..commit }), Checksum::Valid);
    }
}
