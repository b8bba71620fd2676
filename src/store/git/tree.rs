//! Trees: looked up, walked under caps, and written.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use gix::ObjectId;
use gix::bstr::{BStr, ByteSlice};
use gix::objs::tree::{EntryKind, EntryRef};
use gix::objs::{Kind, TreeRefIter};

use super::commit::Object;
use super::error::{Result, Shown};
use super::paths::is_safe_name;
use super::{BlobId, FileKind, Git, GitError, TreeFile};

/// How many entries of trees one call looks at: twenty times the largest investigation.
pub(super) const MAX_ENTRIES: usize = 200_000;
/// How many bytes of trees and paths one call reads.
pub(super) const MAX_TREE_BYTES: usize = 64 << 20;
/// How deep folders are nested.
pub(super) const MAX_DEPTH: usize = 64;

/// An entry of a tree that is no folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leaf {
    pub(super) kind: EntryKind,
    pub(super) id: ObjectId,
}

impl Git {
    /// Makes the folder `base` with `changes` and every changed folder below it, and says what it is now: `None` when
    /// nothing is left in it. The changes are sorted; their paths go on in this folder from the byte `start`.
    ///
    /// gix's editor would read and decode each tree a second time, and panics where one is out of order.
    pub(super) fn write_tree(
        &self,
        trees: &mut TreeCache<'_, '_>,
        base: Option<ObjectId>,
        start: usize,
        changes: &[(&str, Option<Leaf>)],
    ) -> Result<Option<ObjectId>> {
        let mut replaced = HashSet::with_capacity(changes.len());
        let mut added: Vec<(&str, EntryKind, ObjectId)> = Vec::with_capacity(changes.len());
        let mut rest = changes;
        while let Some((path, leaf)) = rest.first() {
            let name = &path[start..];
            let (name, entry) = match name.split_once('/') {
                None => {
                    rest = &rest[1..];
                    (name, leaf.map(|leaf| (leaf.kind, leaf.id)))
                }
                Some((folder, _)) => {
                    let next = start + folder.len() + 1;
                    let (below, after) =
                        rest.split_at(rest.partition_point(|(other, _)| other.starts_with(&path[..next])));
                    rest = after;
                    let old = match base {
                        Some(base) => trees.entry(base, folder)?.filter(|(kind, _)| *kind == EntryKind::Tree),
                        None => None,
                    };
                    let new = self.write_tree(trees, old.map(|(_, id)| id), next, below)?;
                    (folder, new.map(|id| (EntryKind::Tree, id)))
                }
            };
            replaced.insert(name.as_bytes());
            added.extend(entry.map(|(kind, id)| (name, kind, id)));
        }
        let is_tree = |kind: EntryKind| kind == EntryKind::Tree;
        added.sort_by(|a, b| {
            gix::objs::tree::name_order(a.0.as_bytes(), is_tree(a.1), b.0.as_bytes(), is_tree(b.1))
        });
        let mut bytes = Vec::new();
        let mut add = |mode: &[u8], name: &[u8], id: &[u8]| {
            for part in [mode, b" ", name, b"\0", id] {
                bytes.extend_from_slice(part);
            }
        };
        let mut added = added.into_iter().peekable();
        let old = match base {
            Some(base) => trees.load(base)?,
            None => &[],
        };
        for entry in entries(old).flatten().filter(|entry| !replaced.contains(entry.filename.as_bytes())) {
            let comes_first = |(name, kind, _): &(&str, EntryKind, ObjectId)| {
                let name = name.as_bytes();
                gix::objs::tree::name_order(name, is_tree(*kind), entry.filename, entry.mode.is_tree())
                    .is_lt()
            };
            while let Some((name, kind, id)) = added.next_if(comes_first) {
                add(kind.as_octal_str(), name.as_bytes(), id.as_slice());
            }
            add(entry.mode.as_bytes(&mut [0; 6]), entry.filename, entry.oid.as_bytes());
        }
        for (name, kind, id) in added {
            add(kind.as_octal_str(), name.as_bytes(), id.as_slice());
        }
        if bytes.is_empty() && start > 0 {
            return Ok(None);
        }
        trees.add(Kind::Tree, Cow::Owned(bytes)).map(Some)
    }
}

/// Trees read once, to look up the paths of a commit in, and what is to be written on top of them.
pub(super) struct TreeCache<'a, 'c> {
    pub(super) git: &'a Git,
    pub(super) repository: &'a gix::Repository,
    pub(super) trees: HashMap<ObjectId, Vec<u8>>,
    /// What is to be written.
    pub(super) objects: Vec<Object<'c>>,
}

impl<'a, 'c> TreeCache<'a, 'c> {
    pub(super) fn new(git: &'a Git, repository: &'a gix::Repository) -> Self {
        TreeCache { git, repository, trees: HashMap::new(), objects: Vec::new() }
    }

    /// Adds an object to those that are to be written.
    pub(super) fn add(&mut self, kind: Kind, bytes: Cow<'c, [u8]>) -> Result<ObjectId> {
        let object = self.git.object_with(kind, bytes)?;
        let id = object.id;
        self.objects.push(object);
        Ok(id)
    }

    /// What the tree `root` has at `path`.
    pub(super) fn leaf(&mut self, root: ObjectId, path: &str) -> Result<Option<Leaf>> {
        let conflict = |blocker: &str, is| GitError::PathConflict {
            path: path.to_owned(),
            blocker: blocker.to_owned(),
            is,
        };
        let mut folder = root;
        let mut end = 0;
        for part in path.split('/') {
            end += part.len();
            let is_last = end == path.len();
            let Some((kind, id)) = self.entry(folder, part)? else { return Ok(None) };
            match (kind, is_last) {
                (EntryKind::Tree, false) => folder = id,
                (EntryKind::Tree, true) => return Err(conflict(path, "a folder")),
                (_, true) => return Ok(Some(Leaf { kind, id })),
                (_, false) => return Err(conflict(&path[..end], "a file")),
            }
            end += 1;
        }
        Ok(None)
    }

    pub(super) fn entry(&mut self, tree: ObjectId, name: &str) -> Result<Option<(EntryKind, ObjectId)>> {
        let found = entries(self.load(tree)?).flatten().find(|entry| entry.filename == name);
        Ok(found.map(|entry| (entry.mode.kind(), entry.oid.to_owned())))
    }

    /// The bytes of a tree whose entries are in order.
    pub(super) fn load(&mut self, tree: ObjectId) -> Result<&[u8]> {
        if !self.trees.contains_key(&tree) {
            let data = self.git.object(self.repository, tree, Kind::Tree)?;
            check_order(&data).map_err(|reason| GitError::Damaged {
                path: self.git.shown(),
                id: tree.to_string(),
                reason,
            })?;
            self.trees.insert(tree, data);
        }
        Ok(self.trees.get(&tree).map(Vec::as_slice).unwrap_or_default())
    }
}

/// The collection of a commit's files, under the caps.
pub(super) struct TreeWalk<'a> {
    /// Reads a tree.
    read: &'a dyn Fn(ObjectId) -> Result<Vec<u8>>,
    path: Shown,
    what: String,
    entries: usize,
    bytes: usize,
    files: Vec<TreeFile>,
}

impl<'a> TreeWalk<'a> {
    pub(super) fn files(
        path: Shown,
        tree: ObjectId,
        read: &'a dyn Fn(ObjectId) -> Result<Vec<u8>>,
    ) -> Result<Vec<TreeFile>> {
        let what = format!("the tree {tree}");
        let mut walk = TreeWalk { read, path, what, entries: 0, bytes: 0, files: Vec::new() };
        walk.folder(tree, "", 0, true)?;
        Ok(walk.files)
    }

    pub(super) fn folder(&mut self, tree: ObjectId, prefix: &str, depth: usize, is_safe: bool) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(self.too_much(format!("{MAX_DEPTH} levels of folders")));
        }
        let data = (self.read)(tree)?;
        self.bytes += data.len();
        for entry in entries(&data) {
            let entry = entry.map_err(|source| GitError::Damaged {
                path: self.path.clone(),
                id: tree.to_string(),
                reason: source.to_string(),
            })?;
            let path = format!("{prefix}{}", entry.filename.to_str_lossy());
            self.entries += 1;
            self.bytes += path.len();
            if self.entries > MAX_ENTRIES {
                return Err(self.too_much(format!("{MAX_ENTRIES} entries")));
            }
            if self.bytes > MAX_TREE_BYTES {
                return Err(self.too_much(format!("{MAX_TREE_BYTES} bytes of folders and paths")));
            }
            let is_safe = is_safe && is_safe_name(entry.filename);
            let kind = match entry.mode.kind() {
                EntryKind::Tree => {
                    self.folder(entry.oid.to_owned(), &format!("{path}/"), depth + 1, is_safe)?;
                    continue;
                }
                _ if !is_safe => FileKind::Unsafe,
                EntryKind::Blob => FileKind::File,
                EntryKind::BlobExecutable => FileKind::Executable,
                EntryKind::Link => FileKind::Symlink,
                EntryKind::Commit => FileKind::Submodule,
            };
            self.files.push(TreeFile { path, blob: BlobId(entry.oid.to_owned()), kind });
        }
        Ok(())
    }

    pub(super) fn too_much(&self, limit: String) -> GitError {
        GitError::TooMuch { path: self.path.clone(), what: self.what.clone(), limit }
    }
}

pub(super) fn entries(data: &[u8]) -> impl Iterator<Item = std::result::Result<EntryRef<'_>, gix::Error>> {
    TreeRefIter::from_bytes(data, gix::hash::Kind::Sha1)
}

/// Checks the order of a tree's entries, on which writing a changed one relies.
pub(super) fn check_order(tree: &[u8]) -> std::result::Result<(), String> {
    let mut previous: Option<(&BStr, bool)> = None;
    for entry in entries(tree) {
        let entry = entry.map_err(|source| source.to_string())?;
        let is_tree = entry.mode.is_tree();
        if let Some((name, was_tree)) = previous
            && gix::objs::tree::name_order(name, was_tree, entry.filename, is_tree).is_ge()
        {
            return Err(format!("{:?} is out of order", entry.filename.to_str_lossy()));
        }
        if entry.filename.is_empty() {
            return Err("a name is empty".to_owned());
        }
        previous = Some((entry.filename, is_tree));
    }
    Ok(())
}

pub(super) fn is_file(kind: EntryKind) -> bool {
    matches!(kind, EntryKind::Blob | EntryKind::BlobExecutable)
}
