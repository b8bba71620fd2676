//! Reads heads, revisions, files, differences, commits and tags.

use std::cmp::Ordering;
use std::{fmt, fs, iter};

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::objs::tree::EntryRef;
use gix::objs::{Find as _, FindHeader as _, Kind};
use gix::revision::spec::parse::{ObjectKindHint, Options};

use super::commit::RACE_RETRIES;
use super::error::StoreResult;
use super::paths::is_safe_name;
use super::tree::{Leaf, MAX_DEPTH, MAX_ENTRIES, MAX_TREE_BYTES, TreeWalk, entries, is_file};
use super::{BlobId, CommitId, CommitInfo, FileKind, Git, Head, PathChange, Tree, TreeFile};
use crate::store::{StoreError, StoreErrorKind};

/// The maximum size of a commit in bytes. Commits can only be read as a whole.
const MAX_COMMIT_BYTES: u64 = 256 << 20;
/// The number of bytes kept at the beginning of a long message, and at its end, which contains the trailers.
const MESSAGE_END: usize = 32 << 10;
/// The maximum length of a name or address in bytes, and the maximum number of parents.
const MAX_NAME: usize = 1_000;
const MAX_PARENTS: usize = 100;
/// The maximum number of differing files between two trees. This is several times the size of the largest
/// investigation.
pub const MAX_CHANGES: usize = 50_000;

/// Read-only operations. They take no lock and see only committed data.
impl Git {
    /// Returns the current state of `HEAD`.
    ///
    /// A concurrent `git pack-refs` moves the branch from its own file to the packed file. If the packed file is read
    /// before the move and the branch's own file is looked up after it, the value is outdated. A second read fixes
    /// this.
    pub fn head(&self) -> StoreResult<Head> {
        let mut found = self.head_once()?;
        for _ in 0..RACE_RETRIES {
            let own_file = found.branch.as_ref().map(|branch| self.git_dir.join(branch));
            if own_file.is_none_or(|file| fs::symlink_metadata(file).is_ok()) {
                break;
            }
            let again = self.head_once()?;
            if again == found {
                break;
            }
            found = again;
        }
        Ok(found)
    }

    fn head_once(&self) -> StoreResult<Head> {
        let head = self.repository.head().map_err(|source| self.unreadable_head(source))?;
        let branch = head.referent_name().map(|name| name.as_bstr().to_str_lossy().into_owned());
        if head.is_unborn() {
            return Ok(Head { branch, commit: None });
        }
        let id = head.into_peeled_id().map_err(|source| self.unreadable_head(source))?.detach();
        Ok(Head { branch, commit: Some(CommitId(id)) })
    }

    /// Resolves a revision in git's syntax. Returns `None` if it does not exist.
    pub fn resolve(&self, rev: &str) -> StoreResult<Option<CommitId>> {
        let options = Options { object_kind_hint: Some(ObjectKindHint::Committish), ..Default::default() };
        match gix::revision::Spec::from_bstr(rev, &self.repository, options) {
            Ok(spec) => Ok(spec.single().and_then(|id| self.peel(id.detach()))),
            Err(error) => match error.downcast_any_ref::<gix::revision::spec::parse::Error>() {
                Some(gix::revision::spec::parse::Error::AmbiguousPrefix { .. }) => {
                    let path = self.location();
                    let message =
                        format!("{rev:?} is ambiguous in {}: several ids begin with it", path.display());
                    Err(StoreError::new(StoreErrorKind::Ambiguous, message))
                }
                _ => Ok(None),
            },
        }
    }

    /// Iterates over the commits from `from` along first parents, newest first, up to the boundary of a shallow clone.
    pub fn log(&self, from: CommitId) -> StoreResult<impl Iterator<Item = StoreResult<CommitInfo>>> {
        let ends = self.shallow_boundary()?;
        let mut next = Some(from);
        Ok(iter::from_fn(move || {
            let id = next.take()?;
            let commit = self.commit_info(id);
            if let Ok(commit) = &commit
                && !ends.contains(&id)
            {
                next = commit.parents.first().copied();
            }
            Some(commit)
        }))
    }

    /// Returns the metadata of a commit.
    pub fn commit_info(&self, id: CommitId) -> StoreResult<CommitInfo> {
        let header = self.repository.try_find_header(id.0).map_err(self.library("read a commit"))?;
        if header.is_some_and(|header| header.size() > MAX_COMMIT_BYTES) {
            return Err(self.too_much(&format!("the commit {id}"), &format!("{MAX_COMMIT_BYTES} bytes")));
        }
        let data = self.object(id.0, Kind::Commit)?;
        let commit = gix::objs::CommitRef::from_bytes(&data, gix::hash::Kind::Sha1)
            .map_err(self.library("read a commit"))?;
        let author = commit.author().unwrap_or_default();
        let committed = commit.committer().and_then(|person| person.time()).unwrap_or_default();
        let short = |text: &BStr| text[..text.len().min(MAX_NAME)].to_str_lossy().into_owned();
        let (message, message_left_out) = abbreviate(commit.message);
        Ok(CommitInfo {
            id,
            parents: commit.parents().take(MAX_PARENTS).map(CommitId).collect(),
            author_name: short(author.name),
            author_email: short(author.email),
            seconds: committed.seconds,
            message,
            message_left_out,
        })
    }

    /// Returns all tags with their stored ids, sorted by name. Does not read any objects.
    pub fn tag_objects(&self) -> StoreResult<Vec<(String, String)>> {
        let platform = self.repository.references().map_err(self.library("list the references"))?;
        let mut tags = Vec::new();
        for mut reference in platform.tags().map_err(self.library("list the tags"))?.flatten() {
            let name = reference.name().shorten().to_str_lossy().into_owned();
            // A symbolic tag has the id of its target. Symbolic tags can form a cycle.
            for _ in 0..MAX_PARENTS {
                match reference.follow() {
                    Some(Ok(next)) => reference = next,
                    _ => break,
                }
            }
            tags.push((name, reference.try_id().map(|id| id.to_string()).unwrap_or_default()));
        }
        tags.sort();
        Ok(tags)
    }

    /// Returns the boundary commits of a shallow clone, sorted by id.
    pub fn shallow_boundary(&self) -> StoreResult<Vec<CommitId>> {
        let shallow = self.repository.shallow_commits();
        let shallow = shallow.map_err(|_| self.damaged_file("shallow"))?;
        let mut ends: Vec<CommitId> =
            shallow.iter().flat_map(|ends| ends.iter()).map(|end| CommitId(*end)).collect();
        ends.sort();
        Ok(ends)
    }

    /// Returns the tags that point to a commit, without `refs/tags/`, sorted by name.
    pub fn tags(&self) -> StoreResult<Vec<(String, CommitId)>> {
        let tags = self.references_under(&["refs/tags/"])?;
        Ok(tags.into_iter().map(|(name, tag)| (name, CommitId(tag))).collect())
    }

    /// Returns all files of `commit` in tree order.
    pub fn files(&self, commit: CommitId) -> StoreResult<Vec<TreeFile>> {
        Ok(self.tree(commit)?.files)
    }

    /// Returns all files of `commit`, and the size of its tree.
    pub fn tree(&self, commit: CommitId) -> StoreResult<Tree> {
        TreeWalk::collect(self, self.tree_of(commit.0)?)
    }

    /// Returns the content of `blob`. Fails if it has more than `max_len` bytes, before anything is decompressed.
    pub fn read(&self, blob: BlobId, max_len: u64) -> StoreResult<Vec<u8>> {
        let size = self.blob_size(blob.0)?;
        if size > max_len {
            let path = self.location();
            let message =
                format!("the file {blob} in {} has {size} bytes; the limit is {max_len}", path.display());
            return Err(StoreError::new(StoreErrorKind::TooLarge, message));
        }
        self.object(blob.0, Kind::Blob)
    }

    /// Returns the blob at `path`, or `None` if there is no such file.
    pub fn blob_at(&self, commit: CommitId, path: &str) -> StoreResult<Option<BlobId>> {
        let leaf = match self.leaf(self.tree_of(commit.0)?, path) {
            // It is a folder, or a folder of its path is a file.
            Err(error) if error.kind == StoreErrorKind::PathConflict => None,
            leaf => leaf?,
        };
        Ok(leaf.filter(|leaf| is_file(leaf.kind)).map(|leaf| BlobId(leaf.id)))
    }

    /// Returns the size of `blob` in bytes.
    pub fn size(&self, blob: BlobId) -> StoreResult<u64> {
        self.blob_size(blob.0)
    }

    /// Returns the files that differ between `before` and `after`, sorted by path. `None` is the empty tree.
    ///
    /// Symbolic links and submodules count as missing files. The executable bit is ignored.
    pub fn diff(&self, before: Option<CommitId>, after: CommitId) -> StoreResult<Vec<PathChange>> {
        Ok(self.changed(before, after)?.iter().filter_map(EntryChange::path_change).collect())
    }

    /// Returns the entries of `after` that differ from `before` and are not checked out, each with the reason.
    pub fn left_out(&self, before: Option<CommitId>, after: CommitId) -> StoreResult<Vec<LeftOut>> {
        let entries: Vec<(String, (BlobId, FileKind))> = match before {
            None => self.files(after)?.into_iter().map(|file| (file.path, (file.blob, file.kind))).collect(),
            Some(_) => {
                let entry = |change: EntryChange| {
                    let Leaf { kind, id } = change.after?;
                    let kind = if change.is_safe() { FileKind::of(kind) } else { FileKind::Unsafe };
                    Some((change.path.to_string(), (BlobId(id), kind)))
                };
                self.changed(before, after)?.into_iter().filter_map(entry).collect()
            }
        };
        let mut left_out = Vec::new();
        for (file, entry) in entries {
            let reason = self.unfit(&file, entry)?;
            left_out.extend(reason.map(|reason| LeftOut { file, reason }));
        }
        Ok(left_out)
    }

    /// Returns all differing entries except folders, sorted by path.
    pub(super) fn changed(&self, before: Option<CommitId>, after: CommitId) -> StoreResult<Vec<EntryChange>> {
        let [before, after] = [before, Some(after)].map(|commit| self.tree_or_empty(commit));
        let (before, after) = (before?, after?);
        let changes = self.changed_leaves(before, after)?;
        if changes.len() > MAX_CHANGES {
            let limit = format!("{MAX_CHANGES} files");
            return Err(self.too_much(&format!("the diff between trees {before} and {after}"), &limit));
        }
        Ok(changes)
    }

    /// Returns the parts of a commit that its checksum covers, as git stores them.
    pub(in crate::store) fn raw_commit(&self, id: CommitId) -> StoreResult<RawCommit> {
        self.raw_commit_of(&self.object(id.0, Kind::Commit)?)
    }

    pub(super) fn raw_commit_of(&self, data: &[u8]) -> StoreResult<RawCommit> {
        let failed = self.library("read a commit");
        let commit = gix::objs::CommitRef::from_bytes(data, gix::hash::Kind::Sha1).map_err(&failed)?;
        let author = commit.author().map_err(&failed)?;
        let author = [author.name.as_bytes(), author.email.as_bytes(), author.time.as_bytes()];
        let parents: Vec<CommitId> = commit.parents().map(CommitId).collect();
        let before = self.tree_or_empty(parents.first().copied())?;
        Ok(RawCommit {
            author: author.map(<[u8]>::to_vec),
            message: commit.message.to_vec(),
            parents,
            changes: self.changed_leaves(before, commit.tree())?,
        })
    }

    pub(super) fn tree_or_empty(&self, commit: Option<CommitId>) -> StoreResult<ObjectId> {
        let empty = ObjectId::empty_tree(gix::hash::Kind::Sha1);
        commit.map_or(Ok(empty), |commit| self.tree_of(commit.0))
    }

    /// Returns all entries except folders that differ between two trees, sorted by path.
    fn changed_leaves(&self, before: ObjectId, after: ObjectId) -> StoreResult<Vec<EntryChange>> {
        let (mut found, mut bytes) = (Vec::new(), 0);
        let mut folders = vec![(BString::default(), [Some(before), Some(after)])];
        while let Some((folder, trees)) = folders.pop() {
            if trees[0] == trees[1] {
                continue;
            }
            let read = |tree: Option<ObjectId>| tree.map_or(Ok(Vec::new()), |id| self.object(id, Kind::Tree));
            let (old, new) = (read(trees[0])?, read(trees[1])?);
            let malformed =
                || self.damaged(trees[1].unwrap_or(after), "it or its earlier state is malformed");
            for entries in differing_entries(&old, &new).ok_or_else(malformed)? {
                let mut path = folder.clone();
                path.extend_from_slice(entries.iter().flatten().next().map_or(b"", |entry| entry.filename));
                bytes += path.len();
                let leaf = |entry: Option<EntryRef<'_>>| {
                    let EntryRef { mode, oid, .. } = entry.filter(|entry| !entry.mode.is_tree())?;
                    Some(Leaf { kind: mode.kind(), id: oid.to_owned() })
                };
                let tree = |entry: Option<EntryRef<'_>>| {
                    Some(entry.filter(|entry| entry.mode.is_tree())?.oid.to_owned())
                };
                let [before, after] = entries.map(leaf);
                if before != after {
                    found.push(EntryChange { path: path.clone(), before, after });
                }
                let is_deep = path.find_iter("/").count() > MAX_DEPTH;
                if is_deep || bytes > MAX_TREE_BYTES || found.len() + folders.len() > MAX_ENTRIES {
                    let limit = format!("{MAX_ENTRIES} entries or {MAX_DEPTH} levels");
                    return Err(
                        self.too_much(&format!("the diff between trees {before:?} and {after:?}"), &limit)
                    );
                }
                let trees = entries.map(tree);
                if trees != [None, None] {
                    path.push(b'/');
                    folders.push((path, trees));
                }
            }
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }
}

/// Returns the entries that differ between two trees, old and new, or `None` if one is malformed. A folder and a file of one
/// name are two entries.
fn differing_entries<'t>(old: &'t [u8], new: &'t [u8]) -> Option<Vec<[Option<EntryRef<'t>>; 2]>> {
    let entries = |tree| entries(tree).collect::<Result<Vec<_>, _>>().ok();
    let (mut old, mut new) = (entries(old)?.into_iter().peekable(), entries(new)?.into_iter().peekable());
    let mut found = Vec::new();
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return Some(found),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(old), Some(new)) => old.cmp(new),
        };
        let before = if order.is_le() { old.next() } else { None };
        let after = if order.is_ge() { new.next() } else { None };
        if before != after {
            found.push([before, after]);
        }
    }
}

/// Reading objects.
impl Git {
    /// Returns the content of an object. Fails if it does not exist or is of another kind.
    pub(super) fn object(&self, id: ObjectId, kind: Kind) -> StoreResult<Vec<u8>> {
        let found = self.repository.try_find_object(id).map_err(self.library("read an object"))?;
        let found = found.map(|object| (object.kind, object.detach().data));
        let again = |objects: &gix::odb::Handle| {
            let mut data = Vec::new();
            let kind = objects.try_find(&id, &mut data).ok()??.kind;
            Some((kind, data))
        };
        match found.or_else(|| self.find_after_gc(again)) {
            Some((found, data)) if found == kind => Ok(data),
            _ => Err(self.missing(kind, id)),
        }
    }

    pub(super) fn blob_size(&self, id: ObjectId) -> StoreResult<u64> {
        let found =
            self.repository.try_find_header(id).map_err(self.library("read the size of an object"))?;
        let found = found.map(|header| (header.kind(), header.size()));
        let again = |objects: &gix::odb::Handle| {
            let header = objects.try_header(&id).ok()??;
            Some((header.kind, header.size))
        };
        match found.or_else(|| self.find_after_gc(again)) {
            Some((Kind::Blob, size)) => Ok(size),
            _ => Err(self.missing(Kind::Blob, id)),
        }
    }

    /// Looks up an object again with a new handle. A `git gc` may have moved the object since the repository was opened
    /// and removed the pack that contained it.
    fn find_after_gc<T>(&self, look: impl Fn(&gix::odb::Handle) -> Option<T>) -> Option<T> {
        let path = self.git_dir.join("objects");
        (0..RACE_RETRIES).find_map(|_| look(&gix::odb::at(&path, gix::hash::Kind::Sha1).ok()?))
    }

    pub(super) fn tree_of(&self, commit: ObjectId) -> StoreResult<ObjectId> {
        let data = self.object(commit, Kind::Commit)?;
        let mut fields = gix::objs::CommitRefIter::from_bytes(&data, gix::hash::Kind::Sha1);
        fields.tree_id().map_err(self.library("read a commit"))
    }

    /// Returns the commit with this id, or the commit that the tag with this id points to.
    pub(super) fn peel(&self, id: ObjectId) -> Option<CommitId> {
        let object = self.repository.try_find_object(id).ok()??;
        Some(CommitId(object.peel_to_kind(Kind::Commit).ok()?.id))
    }
}

/// Returns the message and the number of omitted bytes. If the message is long, its middle part is omitted, and the end
/// begins on a new line.
fn abbreviate(message: &BStr) -> (String, usize) {
    if message.len() <= 2 * MESSAGE_END {
        return (message.to_str_lossy().into_owned(), 0);
    }
    let begin = &message[..MESSAGE_END];
    let end = &message[message.len() - MESSAGE_END..];
    let end = end.find_byte(b'\n').map_or(end, |at| &end[at..]);
    let left_out = message.len() - begin.len() - end.len();
    (format!("{}\n\n[{left_out} bytes omitted]\n{}", begin.to_str_lossy(), end.to_str_lossy()), left_out)
}

/// A committed file that is not checked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The path.
    pub file: String,
    /// The reason why the file is not checked out.
    pub reason: String,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.reason)
    }
}

/// The parts of a commit that its checksum covers, as git stores them.
pub(in crate::store) struct RawCommit {
    /// The author's name, address and time.
    pub(in crate::store) author: [Vec<u8>; 3],
    pub(in crate::store) message: Vec<u8>,
    pub(in crate::store) parents: Vec<CommitId>,
    /// The entries that differ from the first parent, sorted by path.
    pub(in crate::store) changes: Vec<EntryChange>,
}

/// A difference between two trees.
pub(in crate::store) struct EntryChange {
    /// The bytes of the path.
    pub(in crate::store) path: BString,
    /// The old entry, or `None` if there was no entry or it was a folder.
    pub(in crate::store) before: Option<Leaf>,
    /// The new entry, or `None` if there is no entry or it is a folder.
    pub(in crate::store) after: Option<Leaf>,
}

impl EntryChange {
    /// Returns whether git accepts the path in its index.
    pub(super) fn is_safe(&self) -> bool {
        self.path.split_str("/").all(|part| is_safe_name(BStr::new(part)))
    }

    /// Returns the file before and after the change. Symbolic links and submodules count as missing files.
    pub(in crate::store) fn blobs(&self) -> [Option<BlobId>; 2] {
        let blob = |leaf: Option<Leaf>| Some(BlobId(leaf.filter(|leaf| is_file(leaf.kind))?.id));
        [blob(self.before), blob(self.after)]
    }

    /// Returns the change to the file's content, as in [`Git::diff`].
    pub(in crate::store) fn path_change(&self) -> Option<PathChange> {
        let [before, after] = if self.is_safe() { self.blobs() } else { [None, None] };
        (before != after).then(|| PathChange { path: self.path.to_string(), before, after })
    }
}
