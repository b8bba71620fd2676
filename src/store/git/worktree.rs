//! Writes work tree files atomically, so that a killed process leaves either the old or the new content.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::objs::Kind;
use gix::objs::tree::EntryKind;

use super::Git;
use super::commit::PathUpdate;
use super::error::{StoreResult, io_error};
use super::open::ALLOCATION_LIMIT;
use super::tree::is_file;
use crate::base::platform::make_executable;

/// The state of a work tree path after a step.
pub(super) enum Placed {
    /// The file has the new content and this stat.
    There(gix::index::entry::Stat),
    /// The file does not exist, as intended.
    Gone,
    /// The path was changed by the user and left alone.
    Kept,
}

impl Git {
    /// Brings a work tree path to the step's final state, unless the user has changed the path.
    pub(super) fn place(&self, work_dir: &Path, staging: &Path, step: &PathUpdate) -> StoreResult<Placed> {
        // An entry that is not checked out counts as removed.
        let to = step.to.filter(|_| !step.unfit.1);
        let target = work_dir.join(&step.path);
        let Some(missing_folders) = missing_folders(work_dir, &step.path)? else { return Ok(Placed::Kept) };
        let metadata = if missing_folders.is_empty() { optional_metadata(&target)? } else { None };
        let there = match &metadata {
            None => None,
            Some(metadata) if metadata.is_file() && metadata.len() <= ALLOCATION_LIMIT => {
                Some(self.file_state(&target, step)?)
            }
            Some(_) => return Ok(Placed::Kept),
        };
        let already = match (there, to) {
            (None, None) => true,
            (Some(FileState::Of(id)), Some(to)) => is_file(to.kind) && id == to.id,
            _ => false,
        };
        if !already {
            let ours = there == Some(FileState::Torn)
                || step.from.iter().any(|from| match (there, from) {
                    (None, None) => !step.is_absence_kept,
                    (Some(FileState::Of(id)), Some(from)) => is_file(from.kind) && id == from.id,
                    _ => false,
                });
            match to {
                _ if !ours => return Ok(Placed::Kept),
                Some(to) if is_file(to.kind) => {
                    // Read one file at a time, because all files together may not fit into memory.
                    let content = self.object(to.id, Kind::Blob)?;
                    for folder in &missing_folders {
                        fs::create_dir(folder).map_err(io_error("create", folder))?;
                    }
                    write_file(staging, &target, &content, metadata.as_ref(), to.kind)?;
                }
                None => {
                    fs::remove_file(&target).map_err(io_error("remove", &target))?;
                    remove_empty_folders(work_dir, &target);
                }
                // A link or submodule. This program never creates one.
                _ => return Ok(Placed::Kept),
            }
        }
        if to.is_none() {
            return Ok(Placed::Gone);
        }
        let metadata =
            gix::index::fs::Metadata::from_path_no_follow(&target).map_err(io_error("inspect", &target))?;
        Ok(match gix::index::entry::Stat::from_fs(&metadata) {
            Ok(stat) => Placed::There(stat),
            // Times before 1970 are not representable. Git then compares the content.
            Err(_) => Placed::Kept,
        })
    }

    /// Returns the state of a file.
    fn file_state(&self, target: &Path, step: &PathUpdate) -> StoreResult<FileState> {
        let bytes = fs::read(target).map_err(io_error("read", target))?;
        if step.are_zeros_ours && bytes.iter().all(|byte| *byte == 0) {
            return Ok(FileState::Torn);
        }
        Ok(FileState::Of(self.blob_id(&bytes)?.0))
    }
}

/// The content of a work tree file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FileState {
    /// The content of this object.
    Of(ObjectId),
    /// Content that never reached the disk.
    Torn,
}

/// Returns the missing parent folders of `path`, outermost first. Returns `None` if the path leads through something
/// that is not a folder, such as a symbolic link.
pub(super) fn missing_folders(work_dir: &Path, path: &str) -> StoreResult<Option<Vec<PathBuf>>> {
    let mut missing = Vec::new();
    for (at, _) in path.match_indices('/') {
        let folder = work_dir.join(&path[..at]);
        match optional_metadata(&folder)? {
            Some(metadata) if metadata.is_dir() => {}
            Some(_) => return Ok(None),
            None => missing.push(folder),
        }
    }
    Ok(Some(missing))
}

/// Writes `content` to `staging` and renames it to `target`, so that a killed process leaves either the old or the new
/// content. Keeps the permissions of a replaced file.
pub(super) fn write_file(
    staging: &Path,
    target: &Path,
    content: &[u8],
    replaced: Option<&fs::Metadata>,
    kind: EntryKind,
) -> StoreResult<()> {
    remove_if_there(staging)?;
    let file = OpenOptions::new().write(true).create_new(true).open(staging);
    let mut file = file.map_err(io_error("create", staging))?;
    file.write_all(content).map_err(io_error("write", staging))?;
    match replaced {
        Some(replaced) => {
            file.set_permissions(replaced.permissions())
                .map_err(io_error("set the permissions of", staging))?;
        }
        None if kind == EntryKind::BlobExecutable => {
            make_executable(&file).map_err(io_error("make executable", staging))?
        }
        None => {}
    }
    drop(file);
    fs::rename(staging, target).map_err(io_error("replace", target))
}

/// Removes folders left empty by the removal of a file, as git does.
pub(super) fn remove_empty_folders(work_dir: &Path, removed: &Path) {
    for folder in removed.ancestors().skip(1).take_while(|folder| *folder != work_dir) {
        if fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

/// Returns the metadata of `path` without following links, or `None` if it does not exist.
pub(super) fn optional_metadata(path: &Path) -> StoreResult<Option<fs::Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(io_error("inspect", path)(error)),
    }
}

pub(super) fn remove_if_there(path: &Path) -> StoreResult<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(io_error("remove", path)(error)),
        _ => Ok(()),
    }
}
