//! Files of the work tree, written so that a kill leaves the old bytes or the new ones.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::objs::Kind;
use gix::objs::tree::EntryKind;

use super::Git;
use super::commit::Step;
use super::error::{Result, io_error};
use super::open::ALLOCATION_LIMIT;
use super::tree::is_file;
use crate::platform::make_executable;

/// The outcome for a path in the work tree.
pub(super) enum Placed {
    /// The file has the new bytes, and this stat.
    There(gix::index::entry::Stat),
    /// There is no file, as expected.
    Gone,
    /// The user has changed the path, and it is kept.
    Kept,
}

impl Git {
    /// Takes one path of the work tree to the step's end, if it is in one of the states that the step starts from.
    pub(super) fn place(&self, work_dir: &Path, staging: &Path, step: &Step) -> Result<Placed> {
        // For the work tree, an entry left out of it counts as removed.
        let to = step.to.filter(|_| !step.unfit.1);
        let target = work_dir.join(&step.path);
        let Some(missing_folders) = missing_folders(work_dir, &step.path)? else { return Ok(Placed::Kept) };
        let metadata = if missing_folders.is_empty() { optional_metadata(&target)? } else { None };
        let there = match &metadata {
            None => None,
            Some(metadata) if metadata.is_file() => Some(self.file_state(&target, metadata, step)?),
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
                    // Read only now: all files of a step together may exceed the memory.
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
                // The head has a link or a submodule there, which this program never creates.
                _ => return Ok(Placed::Kept),
            }
        }
        if to.is_none() {
            return Ok(Placed::Gone);
        }
        let metadata =
            gix::index::fs::Metadata::from_path_no_follow(&target).map_err(io_error("look at", &target))?;
        Ok(match gix::index::entry::Stat::from_fs(&metadata) {
            Ok(stat) => Placed::There(stat),
            // A time before 1970: git compares the content instead.
            Err(_) => Placed::Kept,
        })
    }

    /// The content of the file, if it may be a state of `step`. A file of another length is not read.
    fn file_state(&self, target: &Path, metadata: &fs::Metadata, step: &Step) -> Result<FileState> {
        let mut possible = step.are_zeros_ours;
        for leaf in step.from.iter().flatten().chain(&step.to).filter(|leaf| is_file(leaf.kind)) {
            // A missing object is the new one of a commit that was killed before writing it.
            possible = possible || self.blob_size(leaf.id).map_or(true, |size| size == metadata.len());
        }
        if !possible || metadata.len() > ALLOCATION_LIMIT {
            return Ok(FileState::Other);
        }
        let bytes = fs::read(target).map_err(io_error("read", target))?;
        if step.are_zeros_ours && bytes.iter().all(|byte| *byte == 0) {
            return Ok(FileState::Torn);
        }
        let id = gix::objs::compute_hash(gix::hash::Kind::Sha1, Kind::Blob, &bytes);
        id.map(FileState::Of).map_err(self.library("hash a file"))
    }
}

/// The content of a file of the work tree.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FileState {
    /// The bytes of this object.
    Of(ObjectId),
    /// Bytes that never reached the disk.
    Torn,
    /// The user's own content.
    Other,
}

/// The missing folders on the way to `path`, outermost first; `None` if anything but a folder is in the way, above
/// all a symbolic link.
pub(super) fn missing_folders(work_dir: &Path, path: &str) -> Result<Option<Vec<PathBuf>>> {
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

/// Writes `content` to another file and renames it to `target`, so that a kill leaves the old bytes or the new ones.
/// The permissions of a replaced file are kept.
pub(super) fn write_file(
    staging: &Path,
    target: &Path,
    content: &[u8],
    replaced: Option<&fs::Metadata>,
    kind: EntryKind,
) -> Result<()> {
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

/// Removes empty folders, as git does after removing the last file of a folder.
pub(super) fn remove_empty_folders(work_dir: &Path, removed: &Path) {
    for folder in removed.ancestors().skip(1).take_while(|folder| *folder != work_dir) {
        if fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

/// The metadata of `path`, without following a link.
pub(super) fn optional_metadata(path: &Path) -> Result<Option<fs::Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(io_error("look at", path)(error)),
    }
}

pub(super) fn remove_if_there(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(io_error("remove", path)(error)),
        _ => Ok(()),
    }
}
