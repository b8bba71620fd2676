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
//! The checksum of a merge is valid only with the two parents whose ids its message begins with.
//!
//! `git rebase` and `git cherry-pick` keep a checksum valid unless another commit changed one of its files. `--amend`,
//! a squash and an edit of the message break it. A commit without a valid checksum was edited by hand ([`edits`]). A merge
//! commit by git has none, so its files are compared with those of its parents ([`merged_by_hand`]). What a squash took over
//! from calls is known once both are merged (`edited::find_taken_over`).

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

use super::git::{BlobId, CommitId, EntryChange, Git, Leaf, RawCommit, TreeFile};
use super::join::{self, merge_commits};
use super::{StoreError, snapshot::trailers};
use crate::domain::{Caller, Comment, Conclusion, Node, Person, Run};
use crate::format::layout::{self, FileRole};
use crate::format::{StoredFile, message};
use crate::yaml::YamlError;

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

/// A change to a file that affects the verdict, by a commit that is not as `tot` made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManualEdit {
    /// The commit.
    pub commit: CommitId,
    /// Its author, or `None` if git had no name for them.
    pub author: Option<Person>,
    /// The path of the file.
    pub path: String,
    /// The file in each parent of the commit.
    pub(super) before: Vec<Option<BlobId>>,
    /// The file in the commit.
    pub(super) after: Option<BlobId>,
}

impl ManualEdit {
    /// Returns whether the content is new, and not that of a parent of a merge.
    pub(super) fn is_new(&self) -> bool {
        self.before.len() < 2 || !self.before.contains(&self.after)
    }

    /// Returns whether this person is the author.
    pub(super) fn is_by(&self, person: &Person) -> bool {
        let is_address = |email: &String, own: &Person| {
            own.email.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(email))
        };
        let is_it = |own: &Person| {
            own.name == person.name && person.email.as_ref().is_none_or(|email| is_address(email, own))
        };
        self.author.as_ref().is_some_and(is_it)
    }

    /// Returns the author as a caller.
    pub(super) fn caller(&self) -> Option<Caller> {
        self.author.clone().map(|person| Caller { person: Some(person), ..Caller::default() })
    }
}

/// Returns the changes by hand in a commit. In a shallow clone, a merge whose sides have no common commit is unchecked.
pub(super) fn edits(git: &Git, commit: CommitId, is_shallow: bool) -> Result<Vec<ManualEdit>, StoreError> {
    let raw = git.raw_commit(commit)?;
    if checksum(&raw) == Checksum::Valid {
        return Ok(Vec::new());
    }
    let is_ours = |change: &&EntryChange| is_judged(&change.path.to_string());
    let mut files = Vec::new();
    match raw.parents.as_slice() {
        [] | [_] => files.extend(raw.changes.iter().filter(is_ours).map(|change| {
            let [before, after] = change.blobs();
            (change.path.to_string(), vec![before], after)
        })),
        parents => {
            for path in merged_by_hand(git, commit, parents, is_shallow)? {
                let before = parents.iter().map(|it| git.blob_at(*it, &path)).collect::<Result<_, _>>()?;
                let after = git.blob_at(commit, &path)?;
                files.push((path, before, after));
            }
        }
    }
    let info = git.commit_info(commit)?;
    let email = Some(info.author_email.clone()).filter(|email| !email.is_empty());
    let author = (!info.has_no_author()).then_some(Person { name: info.author_name, email });
    let edit = |(path, before, after)| ManualEdit { commit, author: author.clone(), path, before, after };
    Ok(files.into_iter().map(edit).collect())
}

/// Returns an edit of each file at `head`, for a commit with too many changes to check.
pub(super) fn all_edits(git: &Git, commit: CommitId, head: CommitId) -> Vec<ManualEdit> {
    let files = git.files(head).unwrap_or_default().into_iter().filter(|file| is_judged(&file.path));
    let edit = |file: TreeFile| {
        let TreeFile { path, blob, .. } = file;
        ManualEdit { commit, author: None, path, before: Vec::new(), after: Some(blob) }
    };
    files.map(edit).collect()
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

/// Checks the checksum of a commit. It covers the files of the first parent, and the message names both parents of a merge,
/// so with others, or with fewer, it is wrong.
pub(super) fn checksum(commit: &RawCommit) -> Checksum {
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
    let named = message::merged_ids(&String::from_utf8_lossy(&message));
    let are_parents_as_named = match commit.parents[..] {
        [] | [_] => named.is_none(),
        [one, other] => named == Some(join::ids(one, other)),
        _ => false,
    };
    match are_parents_as_named && value == digest(commit, &message).as_bytes() {
        true => Checksum::Valid,
        false => Checksum::Wrong,
    }
}

fn digest(commit: &RawCommit, message: &[u8]) -> String {
    let mut hash = Sha256::new();
    let mut add = |field: &[u8]| {
        hash.update((field.len() as u64).to_be_bytes());
        hash.update(field);
    };
    commit.author.iter().for_each(|part| add(part));
    add(message);
    for EntryChange { path, before, after } in &commit.changes {
        add(path);
        for leaf in [before, after].map(Option::as_ref) {
            add(leaf.map_or(b"", |Leaf { kind, .. }| kind.as_octal_str()));
            add(leaf.map_or(b"", |Leaf { id, .. }| id.as_bytes()));
        }
    }
    let digits = hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect::<String>();
    format!("1-{digits}")
}

/// Returns the files in a merge commit by git that are neither as in the only parents that changed them nor as the merge of
/// the parents by node.
fn merged_by_hand(
    git: &Git,
    commit: CommitId,
    parents: &[CommitId],
    is_shallow: bool,
) -> Result<Vec<String>, StoreError> {
    let [first, others @ ..] = parents else { return Ok(Vec::new()) };
    let (mut paths, mut bases) = (BTreeSet::new(), BTreeSet::new());
    for parent in parents {
        let changes = git.diff(Some(*parent), commit)?.into_iter().map(|change| change.path);
        paths.extend(changes.filter(|path| is_judged(path)));
    }
    for (number, other) in others.iter().enumerate() {
        let common = git.merge_bases(*other, &parents[..=number])?;
        if common.is_empty() && is_shallow {
            return Ok(Vec::new());
        }
        bases.extend(common);
    }
    let mut unlike = BTreeMap::new();
    for path in paths {
        let blob = |commit: &CommitId| git.blob_at(*commit, &path);
        let now = blob(&commit)?;
        let mut before = bases.iter().map(blob).collect::<Result<BTreeSet<_>, _>>()?;
        if before.is_empty() {
            before.insert(None);
        }
        // If the common commits differ, nobody knows who changed the file.
        let is_changed = |side: &Option<BlobId>| before.len() > 1 || !before.contains(side);
        let sides = parents.iter().map(blob).collect::<Result<BTreeSet<_>, _>>()?;
        if !sides.into_iter().filter(is_changed).eq([now]) {
            unlike.insert(path, now);
        }
    }
    if unlike.is_empty() {
        return Ok(Vec::new());
    }
    // A merge that can't be done again, because a file is missing for example, may have been made by hand.
    let merged = match others {
        [other] => merge_commits(git, [*first, *other], is_judged).ok().and_then(Result::ok),
        _ => None,
    };
    let Some((files, contents, _)) = merged else { return Ok(unlike.into_keys().collect()) };
    let text = |blob| String::from_utf8(join::content(git, &contents, blob).ok()?).ok();
    let is_joined = |path: &str, now: Option<BlobId>| match (files.get(path).map(|(blob, _)| *blob), now) {
        (Some(then), Some(now)) if then != now => {
            text(then).zip(text(now)).is_some_and(|(then, now)| is_same(path, &then, &now))
        }
        (then, now) => then == now,
    };
    Ok(unlike.into_iter().filter(|(path, now)| !is_joined(path, *now)).map(|(path, _)| path).collect())
}

/// Returns whether the file affects the verdict on an investigation.
fn is_judged(path: &str) -> bool {
    use FileRole::{Comment, Conclusion, Meta, Node, Ruleset, Run};
    matches!(layout::file_role(path), Node(_) | Comment(_) | Run(_) | Conclusion | Meta | Ruleset)
}

/// Returns whether two versions of a file's text have the same meaning.
fn is_same(path: &str, one: &str, other: &str) -> bool {
    fn parses_same<T: PartialEq>(texts: [&str; 2], read: impl Fn(&str) -> Result<T, YamlError>) -> bool {
        let [one, other] = texts.map(|text| read(text).ok());
        one.is_some() && one == other
    }
    let texts = [one, other];
    match layout::file_role(path) {
        FileRole::Node(_) => parses_same(texts, Node::read),
        FileRole::Comment(_) => parses_same(texts, Comment::read),
        FileRole::Run(_) => parses_same(texts, Run::read),
        FileRole::Conclusion => parses_same(texts, Conclusion::read),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_in_the_documentation_is_the_one_that_is_computed() {
        let id = gix::ObjectId::from_hex(b"8b137891791fe96927ad78e64b0aad7bded08bdc").unwrap();
        let after = Some(Leaf { kind: gix::objs::tree::EntryKind::Blob, id });
        let commit = RawCommit {
            author: ["Ada", "ada@example.org", "1767603600 +0000"].map(|part| part.as_bytes().to_vec()),
            message: b"Start: Why?\n\nTool: tot_start\n".to_vec(),
            parents: Vec::new(),
            changes: vec![EntryChange { path: "a".into(), before: None, after }],
        };
        let message = sealed(&commit);
        let line = String::from_utf8(message[commit.message.len()..].to_vec()).unwrap();
        let documentation = include_str!("checksum.rs");
        assert!(documentation.contains(&format!("//! {line}")), "{line}");
        assert_eq!(checksum(&RawCommit { message, ..commit }), Checksum::Valid);
    }

    #[test]
    fn the_checksum_of_a_merge_covers_its_parents() {
        let [one, other, third] = ["1", "2", "3"].map(|digit| digit.repeat(40).parse().unwrap());
        let commit = |message, parents| RawCommit {
            author: Default::default(),
            message,
            parents,
            changes: Vec::new(),
        };
        let merged = message::merged(&join::ids(one, other), &[]);
        let merged = sealed(&commit(merged.into_bytes(), vec![one, other]));
        for (parents, expected) in [
            (vec![one, other], Checksum::Valid),
            (vec![one, third], Checksum::Wrong),
            (vec![one, other, third], Checksum::Wrong),
            // `git cherry-pick -m 1`
            (vec![one], Checksum::Wrong),
        ] {
            assert_eq!(checksum(&commit(merged.clone(), parents.clone())), expected, "{parents:?}");
        }
    }
}
