//! Rejects dangerous or unsupported repositories before anything in them is read or written: links that lead out of the
//! repository, files that would block a reader, and unknown formats.
//!
//! Git creates no links, pipes or devices among its references, reflogs and objects. In a folder from an untrusted
//! source, such as an archive, they could redirect writes. References and reflogs are checked whenever a repository is
//! opened, and an object's folder before it is written. The objects themselves are numerous and are checked once per
//! process, by [`Git::check_objects`]. Links created after these checks are not detected.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use gix::config::Source;

use super::Git;
use super::error::{StoreResult, io_error};
use super::worktree::optional_metadata;
use crate::store::StoreError;

/// The repository format extensions that don't affect this program or whose values are checked elsewhere.
const KNOWN_EXTENSIONS: [&str; 8] = [
    "noop",
    "noop-v1",
    "objectformat",
    "partialclone",
    "preciousobjects",
    "refstorage",
    "relativeworktrees",
    "worktreeconfig",
];

/// Object store checks.
impl Git {
    /// Refuses any object that is not a regular file.
    pub fn check_objects(&self) -> StoreResult<()> {
        refuse_strange_entries(&self.git_dir.join("objects"))
    }
}

/// Refuses entries in and below `folder` that are neither files nor folders. A missing folder counts as empty.
pub(super) fn refuse_strange_entries(folder: &Path) -> StoreResult<()> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(io_error("list", folder)(error)),
    };
    for entry in entries {
        let entry = entry.map_err(io_error("list", folder))?;
        // An entry without a type has just been removed.
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            refuse_strange_entries(&entry.path())?;
        } else if !kind.is_file() {
            refuse_link(&entry.path())?;
        }
    }
    Ok(())
}

/// Refuses unknown format extensions, as git does, and ids that are not SHA-1.
pub(super) fn check_format(repository: &gix::Repository, git_dir: &Path) -> StoreResult<()> {
    if repository.object_hash() != gix::hash::Kind::Sha1 {
        let hint = "Make a repository with `git init --object-format=sha1` and copy the files";
        return Err(StoreError::unsupported(git_dir, "its object ids are SHA-256", hint));
    }
    let config = repository.config_snapshot();
    let sections =
        config.plumbing().sections_by_name_and_filter("extensions", |meta| meta.source == Source::Local);
    let mut names =
        sections.into_iter().flatten().flat_map(|section| section.value_names().collect::<Vec<_>>());
    let is_new = config.integer("core.repositoryFormatVersion").is_some_and(|version| version > 0);
    match names.find(|name| is_new && !KNOWN_EXTENSIONS.contains(&name.to_ascii_lowercase().as_str())) {
        None => Ok(()),
        Some(name) => {
            let reason =
                format!("its format has the extension {name:?}, which this program does not support");
            Err(StoreError::unsupported(git_dir, &reason, "Make a clone without it"))
        }
    }
}

pub(super) fn refuse_link(path: &Path) -> StoreResult<()> {
    let reason = match optional_metadata(path)? {
        Some(metadata) if metadata.is_symlink() => "is a symbolic link",
        // Opening a pipe would block until it has a writer.
        Some(metadata) if !metadata.is_file() && !metadata.is_dir() => "is neither a file nor a folder",
        _ => return Ok(()),
    };
    Err(StoreError::refused(path, reason, "Make a clone, which has no such link"))
}

/// Refuses links that could redirect reads or writes, and features that gix does not support.
pub(super) fn check_layout(git_dir: &Path) -> StoreResult<()> {
    for name in [
        "HEAD",
        "config",
        "index",
        "logs",
        "objects",
        "objects/info",
        "objects/pack",
        "packed-refs",
        "refs",
        "refs/heads",
        "refs/tags",
        "shallow",
    ] {
        refuse_link(&git_dir.join(name))?;
    }
    for (name, reason, hint) in [
        ("commondir", "points to another repository", "Open the main work tree, or make a clone"),
        (
            "objects/info/alternates",
            "points to the objects of another repository",
            "Run `git repack -ad` and delete the file, or make a clone",
        ),
    ] {
        let path = git_dir.join(name);
        if optional_metadata(&path)?.is_some() {
            return Err(StoreError::refused(&path, reason, hint));
        }
    }
    if optional_metadata(&git_dir.join("reftable"))?.is_some() {
        return Err(unsupported_references(git_dir));
    }
    Ok(())
}

/// Refuses a repository if gix would use unexpected folders.
pub(super) fn check_locations(
    local: &gix::Repository,
    dir: &Path,
    git_dir: &Path,
    has_work_tree: bool,
) -> StoreResult<()> {
    let storage = local.config_snapshot().string("extensions.refStorage");
    if storage.is_some_and(|storage| !storage.eq_ignore_ascii_case(b"files")) {
        return Err(unsupported_references(git_dir));
    }
    if !is_same_place(local.git_dir(), git_dir)? || !is_same_place(local.common_dir(), git_dir)? {
        let hint = "Open that repository, or make a clone";
        return Err(StoreError::refused(git_dir, "points to another repository", hint));
    }
    let leads_out = match local.workdir() {
        None => false,
        // A work tree that does not exist is not ours either.
        Some(work_dir) => !has_work_tree || !is_same_place(work_dir, dir).unwrap_or(false),
    };
    if leads_out {
        let hint = "Remove core.worktree from its configuration";
        return Err(StoreError::refused(git_dir, "has its work tree in another folder", hint));
    }
    Ok(())
}

/// Returns whether two paths refer to the same location.
fn is_same_place(one: &Path, other: &Path) -> StoreResult<bool> {
    let real = |path: &Path| fs::canonicalize(path).map_err(io_error("find", path));
    // The paths are nearly always identical, and resolving them takes a dozen system calls.
    Ok(one == other || real(one)? == real(other)?)
}

pub(super) fn unsupported_references(git_dir: &Path) -> StoreError {
    let hint = "Run `git refs migrate --ref-format=files` there";
    StoreError::unsupported(git_dir, "its references are stored in the reftable format", hint)
}
