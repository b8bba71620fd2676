//! Refusals before anything in a repository is read or written: links out of it, files that would block a reader, and
//! unknown formats.
//!
//! git creates no link, pipe or device among its references, reflogs and objects. In a folder from strangers, such as an
//! archive, one there would redirect writes. So references and reflogs are checked completely when a repository is opened, and
//! the folders of objects before something is written; the objects themselves, which are many, by [`Git::check_objects`], once
//! per process. A process that puts a link there afterwards is not guarded against.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use gix::config::Source;

use super::error::{Result, io_error, shown};
use super::worktree::optional_metadata;
use super::{Git, GitError, Shown};

/// The extensions of the repository format that do not affect reading or writing here, or whose values are checked
/// elsewhere.
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

/// Complete checks.
impl Git {
    /// Refuses anything but files among the objects.
    pub fn check_objects(&self) -> Result<()> {
        refuse_strange_entries(&self.git_dir.join("objects"), usize::MAX)
    }

    /// Checks only the folders of objects, before something is written there.
    pub(super) fn check_object_folders(&self) -> Result<()> {
        refuse_strange_entries(&self.git_dir.join("objects"), 0)
    }
}

/// Refuses anything but files and folders in `folder`, and in its folders down to that depth. An absent folder counts
/// as empty.
pub(super) fn refuse_strange_entries(folder: &Path, depth: usize) -> Result<()> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(io_error("list", folder)(error)),
    };
    for entry in entries {
        let entry = entry.map_err(io_error("list", folder))?;
        // An entry without a type was removed in between.
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && depth > 0 {
            refuse_strange_entries(&entry.path(), depth - 1)?;
        } else if !kind.is_dir() && !kind.is_file() {
            refuse_link(&entry.path())?;
        }
    }
    Ok(())
}

/// Refuses a repository format that is newer than supported, as git does.
pub(super) fn check_format(repository: &gix::Repository, git_dir: &Path) -> Result<()> {
    let config = repository.config_snapshot();
    let sections =
        config.plumbing().sections_by_name_and_filter("extensions", |meta| meta.source == Source::Local);
    let mut names =
        sections.into_iter().flatten().flat_map(|section| section.value_names().collect::<Vec<_>>());
    let is_new = config.integer("core.repositoryFormatVersion").is_some_and(|version| version > 0);
    match names.find(|name| is_new && !KNOWN_EXTENSIONS.contains(&name.to_ascii_lowercase().as_str())) {
        None => Ok(()),
        Some(name) => Err(GitError::Unsupported {
            path: shown(git_dir),
            reason: format!("its format has the extension {name:?}, which this program does not support"),
            hint: "Make a clone without it",
        }),
    }
}

pub(super) fn refuse_link(path: &Path) -> Result<()> {
    match optional_metadata(path)? {
        Some(metadata) if metadata.is_symlink() => Err(GitError::Refused {
            path: shown(path),
            reason: "is a symbolic link",
            hint: "Make a clone: it has no such link",
        }),
        // Reading a pipe would wait for its writer.
        Some(metadata) if !metadata.is_file() && !metadata.is_dir() => Err(GitError::Refused {
            path: shown(path),
            reason: "is neither a file nor a folder",
            hint: "Make a clone: it has no such link",
        }),
        _ => Ok(()),
    }
}

/// Refuses links that would make git read or write outside of `git_dir`, and features that gix does not read.
pub(super) fn check_layout(git_dir: &Path) -> Result<()> {
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
            return Err(GitError::Refused { path: Shown(path), reason, hint });
        }
    }
    if optional_metadata(&git_dir.join("reftable"))?.is_some() {
        return Err(unsupported_references(git_dir));
    }
    Ok(())
}

/// Compares the locations that gix would read and write with the expected ones.
pub(super) fn check_where_it_leads(
    local: &gix::Repository,
    dir: &Path,
    git_dir: &Path,
    has_work_tree: bool,
) -> Result<()> {
    let storage = local.config_snapshot().string("extensions.refStorage");
    if storage.is_some_and(|storage| !storage.eq_ignore_ascii_case(b"files")) {
        return Err(unsupported_references(git_dir));
    }
    if !is_same_place(local.git_dir(), git_dir)? || !is_same_place(local.common_dir(), git_dir)? {
        return Err(GitError::Refused {
            path: shown(git_dir),
            reason: "points to another repository",
            hint: "Open that repository, or make a clone",
        });
    }
    let leads_out = match local.workdir() {
        None => false,
        // A work tree that does not exist is not ours either.
        Some(work_dir) => !has_work_tree || !is_same_place(work_dir, dir).unwrap_or(false),
    };
    if leads_out {
        return Err(GitError::Refused {
            path: shown(git_dir),
            reason: "has its work tree in another folder",
            hint: "Remove core.worktree from its configuration and GIT_WORK_TREE from the environment",
        });
    }
    Ok(())
}

/// Whether two paths lead to the same location.
fn is_same_place(one: &Path, other: &Path) -> Result<bool> {
    let real = |path: &Path| fs::canonicalize(path).map_err(io_error("find", path));
    // Nearly always they are spelled alike, and resolving them costs a dozen system calls.
    Ok(one == other || real(one)? == real(other)?)
}

pub(super) fn unsupported_references(git_dir: &Path) -> GitError {
    GitError::Unsupported {
        path: shown(git_dir),
        reason: "its references are stored in the reftable format".into(),
        hint: "Run `git refs migrate --ref-format=files` there",
    }
}
