//! Looks up, walks and edits trees.

use gix::ObjectId;
use gix::bstr::{BStr, ByteSlice};
use gix::objs::tree::{Editor, EntryKind, EntryRef};
use gix::objs::{Kind, TreeRef, TreeRefIter, WriteTo};

use super::commit::PathUpdate;
use super::error::StoreResult;
use super::paths::is_safe_name;
use super::{BlobId, FileKind, Git, Tree, TreeFile};
use crate::store::StoreError;

/// The maximum number of tree entries read by one call. This is twenty times the size of the largest investigation.
pub const MAX_ENTRIES: usize = 200_000;
/// The maximum total size of trees and paths read by one call, in bytes.
pub const MAX_TREE_BYTES: usize = 64 << 20;
/// The maximum nesting depth of folders.
pub(super) const MAX_DEPTH: usize = 64;

/// A tree entry that is not a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) struct Leaf {
    pub(in crate::store) kind: EntryKind,
    pub(in crate::store) id: ObjectId,
}

impl Git {
    /// Applies the steps to the tree `base`. The caller must have checked the folders in each path with [`Git::leaf`],
    /// because gix's editor panics if entries are out of order.
    pub(super) fn edit_tree(
        &self,
        base: ObjectId,
        steps: &[&PathUpdate],
        write: &mut dyn FnMut(&dyn WriteTo) -> StoreResult<ObjectId>,
    ) -> StoreResult<ObjectId> {
        let failed = self.library("edit a tree");
        let root = self.object(base, Kind::Tree)?;
        let root = TreeRef::from_bytes(&root, gix::hash::Kind::Sha1).map_err(&failed)?.into();
        let mut editor = Editor::new(root, &self.repository.objects, gix::hash::Kind::Sha1);
        for step in steps {
            let parts = step.path.split('/').map(BStr::new);
            match step.to {
                Some(leaf) => editor.upsert(parts, leaf.kind, leaf.id).map_err(&failed)?,
                None => editor.remove_leaf(parts).map_err(&failed)?,
            };
        }
        editor.write(|tree| write(tree))
    }

    /// Returns the entry at `path` in the tree `root`. Fails if a folder along the path has entries that are out of
    /// order.
    pub(super) fn leaf(&self, root: ObjectId, path: &str) -> StoreResult<Option<Leaf>> {
        let conflict = |blocker: &str, is| StoreError::path_conflict(path, blocker, is);
        let mut folder = root;
        let mut end = 0;
        for part in path.split('/') {
            end += part.len();
            let is_last = end == path.len();
            let tree = self.object(folder, Kind::Tree)?;
            check_order(&tree).map_err(|reason| self.damaged(folder, &reason))?;
            let found = entries(&tree).flatten().find(|entry| entry.filename == part);
            let Some(EntryRef { mode, oid, .. }) = found else { return Ok(None) };
            match (mode.kind(), is_last) {
                (EntryKind::Tree, false) => folder = oid.to_owned(),
                (EntryKind::Tree, true) => return Err(conflict(path, "a folder")),
                (kind, true) => return Ok(Some(Leaf { kind, id: oid.to_owned() })),
                (_, false) => return Err(conflict(&path[..end], "a file")),
            }
            end += 1;
        }
        Ok(None)
    }
}

/// Collects the files of a tree within the limits.
pub(super) struct TreeWalk<'a> {
    git: &'a Git,
    what: String,
    entries: usize,
    bytes: usize,
    files: Vec<TreeFile>,
}

impl<'a> TreeWalk<'a> {
    pub(super) fn collect(git: &'a Git, tree: ObjectId) -> StoreResult<Tree> {
        let what = format!("the tree {tree}");
        let mut walk = TreeWalk { git, what, entries: 0, bytes: 0, files: Vec::new() };
        walk.folder(tree, "", 0, true)?;
        Ok(Tree { files: walk.files, entries: walk.entries, bytes: walk.bytes })
    }

    fn folder(&mut self, tree: ObjectId, prefix: &str, depth: usize, is_safe: bool) -> StoreResult<()> {
        if depth > MAX_DEPTH {
            return Err(self.too_much(format!("{MAX_DEPTH} levels of folders")));
        }
        let data = self.git.object(tree, Kind::Tree)?;
        self.bytes += data.len();
        for entry in entries(&data) {
            let entry = entry.map_err(|source| self.git.damaged(tree, &source.to_string()))?;
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
                kind => FileKind::of(kind),
            };
            self.files.push(TreeFile { path, blob: BlobId(entry.oid.to_owned()), kind });
        }
        Ok(())
    }

    fn too_much(&self, limit: String) -> StoreError {
        self.git.too_much(&self.what, &limit)
    }
}

pub(super) fn entries(data: &[u8]) -> impl Iterator<Item = Result<EntryRef<'_>, gix::Error>> {
    TreeRefIter::from_bytes(data, gix::hash::Kind::Sha1)
}

/// Checks that a tree's entries are in order. Writing a changed tree relies on this.
fn check_order(tree: &[u8]) -> Result<(), String> {
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
