//! Errors of git repositories, with hints on how to fix them.

use std::path::Path;
use std::{error, fs, io};

use gix::ObjectId;
use gix::objs::Kind;

use super::{CommitId, Git};

pub(super) type GitResult<T> = Result<T, GitError>;

/// An error of a git repository.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct GitError {
    /// The kind of error.
    pub kind: GitErrorKind,
    message: String,
    /// Overrides the hint of the kind.
    hint: Option<String>,
    source: Option<Box<dyn error::Error + Send + Sync>>,
}

/// The kind of a [`GitError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GitErrorKind {
    /// The folder is not a repository.
    NotARepository,
    /// The repository cannot be opened.
    Unopenable,
    /// The repository's layout could lead reads or writes outside of it.
    Refused,
    /// The repository uses an unsupported format.
    Unsupported,
    /// The location of a new repository is taken.
    AlreadyExists,
    /// The path cannot be committed.
    InvalidPath,
    /// The path needs a folder where the commit has a file, or the other way around.
    PathConflict,
    /// HEAD changed since the state was loaded.
    HeadMoved,
    /// An operation by the user is in progress, and a commit would become part of it.
    InProgress,
    /// Every attempt failed because other processes committed in between.
    Busy,
    /// Another writer did not release the lock in time.
    Held,
    /// A lock file of git is held by another process.
    Locked,
    /// A tag with this name exists.
    TagExists,
    /// Several objects have an id with this prefix.
    Ambiguous,
    /// An object is missing or of a different kind.
    Missing,
    /// A file exceeds the caller's limit.
    TooLarge,
    /// A tree exceeds the limits, which are far above those of an investigation.
    TooMuch,
    /// A tree violates git's rules.
    Damaged,
    /// The change was made, but the disk did not confirm it. A power cut may undo it.
    Unconfirmed,
    /// Git's index cannot be read.
    Index,
    /// A file system operation failed.
    Io,
    /// The git library reported an error.
    Library,
}

impl GitErrorKind {
    fn hint(self) -> &'static str {
        match self {
            GitErrorKind::NotARepository
            | GitErrorKind::Unopenable
            | GitErrorKind::Refused
            | GitErrorKind::Unsupported => "Check the path",
            GitErrorKind::AlreadyExists => "Choose another name, or remove it first",
            GitErrorKind::InvalidPath => "Use plain names with '/' between them",
            GitErrorKind::PathConflict => "Rename one of the two with git",
            GitErrorKind::HeadMoved => "Load the new head and decide again",
            GitErrorKind::InProgress | GitErrorKind::Busy => "Try again",
            GitErrorKind::Held => {
                "Try again; if that process hangs, end it to release the lock. Do not delete the lock file: without it, \
                 two processes could write at once"
            }
            GitErrorKind::Locked => "Try again; if no git process is running there, delete this file",
            GitErrorKind::TagExists => "Choose another name",
            GitErrorKind::Ambiguous => "Use more digits",
            GitErrorKind::Missing => "Run `git fsck` there; in a partial or shallow clone, fetch the rest",
            GitErrorKind::TooLarge => "Make it smaller",
            GitErrorKind::TooMuch => "Inspect it with `git ls-tree`",
            GitErrorKind::Damaged | GitErrorKind::Library => "Run `git fsck` there",
            GitErrorKind::Unconfirmed => "Check the disk, then load the new head",
            GitErrorKind::Index => "Delete it and run `git reset` there; your files are kept",
            GitErrorKind::Io => "Check that the folder exists and is writable, and that the disk has space",
        }
    }
}

impl GitError {
    pub(super) fn new(kind: GitErrorKind, message: String) -> GitError {
        GitError { kind, message, hint: None, source: None }
    }

    pub(super) fn hinting(self, hint: impl Into<String>) -> GitError {
        GitError { hint: Some(hint.into()), ..self }
    }

    pub(super) fn caused_by(self, source: impl Into<Box<dyn error::Error + Send + Sync>>) -> GitError {
        GitError { source: Some(source.into()), ..self }
    }

    /// Creates the error of a writer that has given up.
    pub(crate) fn busy(path: &Path) -> GitError {
        let message = format!("gave up on {}: other processes keep committing to it", path.display());
        GitError::new(GitErrorKind::Busy, message)
    }

    pub(super) fn refused(path: &Path, reason: &str, hint: &str) -> GitError {
        let message = format!("the repository was not opened: {} {reason}", path.display());
        GitError::new(GitErrorKind::Refused, message).hinting(hint)
    }

    pub(super) fn unsupported(path: &Path, reason: &str, hint: &str) -> GitError {
        let message = format!("the repository {} cannot be used: {reason}", path.display());
        GitError::new(GitErrorKind::Unsupported, message).hinting(hint)
    }

    pub(super) fn invalid_path(path: &str, reason: &str) -> GitError {
        GitError::new(GitErrorKind::InvalidPath, format!("the path {path:?} cannot be committed: {reason}"))
    }

    /// Creates an error for a path that needs a folder where there is a file, or the other way around.
    pub(super) fn path_conflict(path: &str, blocker: &str, is: &str) -> GitError {
        let message = format!("the path {path:?} cannot be committed: {blocker:?} is {is} in the commit");
        GitError::new(GitErrorKind::PathConflict, message)
    }

    pub(super) fn locked(path: &Path) -> GitError {
        GitError::new(GitErrorKind::Locked, format!("{} is locked by another process", path.display()))
    }

    /// Returns a hint on how to fix the error.
    pub fn hint(&self) -> String {
        self.hint.clone().unwrap_or_else(|| self.kind.hint().to_owned())
    }

    /// Returns the error and its hint as one line.
    pub fn with_hint(&self) -> String {
        format!("{self}. {}", self.hint())
    }

    /// Returns whether a file does not exist.
    pub(super) fn is_not_found(&self) -> bool {
        let source = self.source.as_ref().and_then(|source| source.downcast_ref::<io::Error>());
        source.is_some_and(|source| source.kind() == io::ErrorKind::NotFound)
    }
}

impl Git {
    pub(super) fn missing(&self, kind: Kind, id: ObjectId) -> GitError {
        let wanted = match kind {
            Kind::Blob => "file",
            Kind::Tree => "tree",
            Kind::Commit => "commit",
            Kind::Tag => "tag",
        };
        let message = format!("{} has no {wanted} {id}", self.location().display());
        GitError::new(GitErrorKind::Missing, message)
    }

    pub(super) fn head_moved(&self, expected: CommitId, actual: Option<CommitId>) -> GitError {
        let actual = actual.map_or_else(|| "without a commit".to_owned(), |commit| commit.to_string());
        let path = self.location();
        let message = format!("the head of {} has moved: it is {actual}, not {expected}", path.display());
        GitError::new(GitErrorKind::HeadMoved, message)
    }

    pub(super) fn too_much(&self, what: &str, limit: &str) -> GitError {
        let path = self.location();
        let message = format!("{what} in {} was not read: it has more than {limit}", path.display());
        GitError::new(GitErrorKind::TooMuch, message)
    }

    pub(super) fn damaged(&self, tree: ObjectId, reason: &str) -> GitError {
        let message = format!("the tree {tree} in {} is damaged: {reason}", self.location().display());
        GitError::new(GitErrorKind::Damaged, message)
    }

    pub(super) fn library(&self, action: &'static str) -> impl Fn(gix::Error) -> GitError + '_ {
        move |source| library_error(action, &self.location())(source)
    }

    /// Reports a held lock file as [`GitErrorKind::Locked`], and any other error as [`GitErrorKind::Library`].
    pub(super) fn reference_error(
        &self,
        action: &'static str,
        references: &[String],
        source: gix::Error,
    ) -> GitError {
        if source.is_retryable() {
            let names = references.iter().map(String::as_str).chain(["packed-refs"]);
            let locks = names.map(|name| self.git_dir.join(format!("{name}.lock")));
            let held = locks.into_iter().find(|lock| fs::symlink_metadata(lock).is_ok());
            return GitError::locked(&held.unwrap_or_else(|| self.git_dir.join("HEAD.lock")));
        }
        self.library(action)(source)
    }
}

pub(super) fn library_error<'a>(
    action: &'static str,
    path: &'a Path,
) -> impl Fn(gix::Error) -> GitError + 'a {
    move |source| {
        let message = format!("could not {action} in {}", path.display());
        GitError::new(GitErrorKind::Library, message).caused_by(source)
    }
}

pub(super) fn io_error<'a>(action: &'static str, path: &'a Path) -> impl Fn(io::Error) -> GitError + 'a {
    move |source| {
        GitError::new(GitErrorKind::Io, format!("could not {action} {}", path.display())).caused_by(source)
    }
}
