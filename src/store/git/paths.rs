//! Rules for paths: valid paths for writes, safe names in untrusted trees, and files that are not checked out.

use std::collections::HashSet;

use gix::bstr::{BStr, ByteSlice};
use gix::objs::tree::EntryKind;

use super::error::StoreResult;
use super::tree::{Leaf, MAX_DEPTH};
use super::{BlobId, FileKind, Git};
use crate::format::FileChange;
use crate::store::StoreError;

/// The maximum size of a file that is read or checked out, in bytes. This is enough for several fields of 1 MiB each.
pub const FILE_MAX: u64 = 16 << 20;

impl Git {
    /// Returns the reason why a file is not checked out, or `None` if it is checked out. A file that is not checked out
    /// remains in commits, and its index entry tells git that it is missing on purpose.
    pub fn unfit(&self, path: &str, (blob, kind): (BlobId, FileKind)) -> StoreResult<Option<String>> {
        Ok(match kind {
            FileKind::Symlink => Some("a symbolic link".to_owned()),
            FileKind::Submodule => Some("another repository".to_owned()),
            FileKind::File | FileKind::Executable if check_path(path).is_ok() => {
                let size = self.size(blob)?;
                (size > FILE_MAX).then(|| format!("{size} bytes, the limit is {FILE_MAX}"))
            }
            _ => Some("a name that some systems do not accept".to_owned()),
        })
    }

    /// Returns whether an entry is not checked out.
    pub(super) fn is_unfit(&self, path: &str, leaf: Option<Leaf>) -> StoreResult<bool> {
        let Some(leaf) = leaf else { return Ok(false) };
        Ok(self.unfit(path, (BlobId(leaf.id), FileKind::of(leaf.kind)))?.is_some())
    }
}

impl FileKind {
    /// Returns the kind of an entry with a safe name. The entry must not be a folder.
    pub(super) fn of(kind: EntryKind) -> FileKind {
        match kind {
            EntryKind::BlobExecutable => FileKind::Executable,
            EntryKind::Link => FileKind::Symlink,
            EntryKind::Commit => FileKind::Submodule,
            EntryKind::Blob | EntryKind::Tree => FileKind::File,
        }
    }

    /// Returns the kind of the tree entry, or `None` for an unsafe entry.
    pub(super) fn entry_kind(self) -> Option<EntryKind> {
        Some(match self {
            FileKind::File => EntryKind::Blob,
            FileKind::Executable => EntryKind::BlobExecutable,
            FileKind::Symlink => EntryKind::Link,
            FileKind::Submodule => EntryKind::Commit,
            FileKind::Unsafe => return None,
        })
    }
}

pub(super) fn check_changes(changes: &[FileChange]) -> StoreResult<()> {
    let mut paths = HashSet::with_capacity(changes.len());
    for change in changes {
        check_path(&change.path)?;
        if !paths.insert(change.path.as_str()) {
            return Err(StoreError::invalid_path(&change.path, "it is changed twice"));
        }
    }
    for change in changes.iter().filter(|change| change.content.is_some()) {
        let folders = change.path.match_indices('/').map(|(at, _)| &change.path[..at]);
        if let Some(blocker) = folders.into_iter().find(|folder| paths.contains(folder)) {
            return Err(StoreError::path_conflict(&change.path, blocker, "a file"));
        }
    }
    Ok(())
}

/// Accepts only paths that can be checked out on every platform.
pub(super) fn check_path(path: &str) -> StoreResult<()> {
    let invalid = |reason: &str| StoreError::invalid_path(path, reason);
    if path.split('/').count() > MAX_DEPTH {
        return Err(invalid(&format!("it has more than {MAX_DEPTH} parts")));
    }
    for part in path.split('/') {
        if part.chars().any(|c| c == '\\' || c.is_control()) {
            return Err(invalid("it has a backslash or a control character"));
        }
        gix::validate::path::component(BStr::new(part), None, Default::default())
            .map_err(|error| invalid(&error.to_string()))?;
    }
    Ok(())
}

/// Returns whether a name in an untrusted tree is a safe file name. Names that are invalid only on other platforms are
/// accepted.
pub(super) fn is_safe_name(name: &BStr) -> bool {
    let options = gix::validate::path::component::Options { protect_windows: false, ..Default::default() };
    name.to_str().is_ok()
        && !name.contains(&0)
        && !name.contains(&b'\\')
        && gix::validate::path::component(name, None, options).is_ok()
}
