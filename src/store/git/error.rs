//! Errors of git repositories, with hints on how to fix them.

use std::path::{Path, PathBuf};
use std::{fs, io};

use gix::ObjectId;
use gix::objs::Kind;

use super::{BlobId, CommitId, Git};

pub(super) type GitResult<T> = Result<T, GitError>;

/// An error of a git repository.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// The folder is not a repository, or it cannot be opened.
    #[error("{path} is not a git repository that can be opened")]
    NotARepository {
        /// The folder.
        path: PathBuf,
        /// The underlying error.
        #[source]
        source: Option<Box<gix::Error>>,
    },
    /// The repository's layout could lead reads or writes outside of it.
    #[error("the repository was not opened: {path} {reason}")]
    Refused {
        /// The offending file or folder.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
        /// How to fix it.
        hint: &'static str,
    },
    /// The repository uses an unsupported format.
    #[error("the repository {path} cannot be used: {reason}")]
    Unsupported {
        /// The repository.
        path: PathBuf,
        /// The unsupported format.
        reason: String,
        /// How to fix it.
        hint: &'static str,
    },
    /// The location of a new repository is taken.
    #[error("{path} already exists")]
    AlreadyExists {
        /// The location.
        path: PathBuf,
    },
    /// The path cannot be committed.
    #[error("the path {path:?} cannot be committed: {reason}")]
    InvalidPath {
        /// The path as given.
        path: String,
        /// The violated rule.
        reason: String,
    },
    /// The path needs a folder where the commit has a file, or the other way around.
    #[error("the path {path:?} cannot be committed: {blocker:?} is {is} in the commit")]
    PathConflict {
        /// The path as given.
        path: String,
        /// The conflicting path.
        blocker: String,
        /// The kind of the conflicting entry: `a folder` or `a file`.
        is: &'static str,
    },
    /// HEAD changed since the state was loaded.
    #[error("the head of {path} has moved: it is {}, not {expected}", shown_head(.actual))]
    HeadMoved {
        /// The repository.
        path: PathBuf,
        /// The loaded commit.
        expected: CommitId,
        /// The commit at HEAD now.
        actual: Option<CommitId>,
    },
    /// An operation by the user is in progress, and a commit would become part of it.
    #[error("{what} is in progress in {path}: a commit now would become part of it")]
    InProgress {
        /// The repository.
        path: PathBuf,
        /// The operation: `a merge`.
        what: &'static str,
        /// How to finish the operation.
        hint: &'static str,
    },
    /// Every attempt failed because other processes committed in between.
    #[error("gave up on {path}: other processes keep committing to it")]
    Busy {
        /// The repository.
        path: PathBuf,
    },
    /// Another writer did not release the lock in time.
    #[error("another process is writing to {path}: {holder}")]
    Held {
        /// The git folder.
        path: PathBuf,
        /// The other process, as recorded in the lock file.
        holder: String,
    },
    /// A lock file of git is held by another process.
    #[error("{path} is locked by another process")]
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    /// A tag with this name exists.
    #[error("the tag {name:?} already exists in {path}")]
    TagExists {
        /// The repository.
        path: PathBuf,
        /// The tag's name without `refs/tags/`.
        name: String,
    },
    /// Several objects have an id with this prefix.
    #[error("{rev:?} is ambiguous in {path}: several ids begin with it")]
    Ambiguous {
        /// The repository.
        path: PathBuf,
        /// The revision as given.
        rev: String,
    },
    /// An object is missing or of a different kind.
    #[error("{path} has no {wanted} {id}")]
    Missing {
        /// The repository.
        path: PathBuf,
        /// `commit`, `tree`, `file` or `tag`.
        wanted: &'static str,
        /// The id.
        id: String,
    },
    /// A file exceeds the caller's limit.
    #[error("the file {blob} in {path} has {size} bytes; the limit is {limit}")]
    TooLarge {
        /// The repository.
        path: PathBuf,
        /// The file's blob.
        blob: BlobId,
        /// The size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// A tree exceeds the limits, which are far above those of an investigation.
    #[error("{what} in {path} was not read: it has more than {limit}")]
    TooMuch {
        /// The repository.
        path: PathBuf,
        /// The commit or tree.
        what: String,
        /// The exceeded limit.
        limit: String,
    },
    /// A tree violates git's rules.
    #[error("the tree {id} in {path} is damaged: {reason}")]
    Damaged {
        /// The repository.
        path: PathBuf,
        /// The tree.
        id: String,
        /// The violated rule.
        reason: String,
    },
    /// The change was made, but the disk did not confirm it. A power cut may undo it.
    #[error("{what} in {path} was created, but the disk did not confirm it")]
    Unconfirmed {
        /// The repository.
        path: PathBuf,
        /// The unconfirmed change.
        what: String,
        /// The cause.
        #[source]
        source: Box<GitError>,
    },
    /// Git's index cannot be read.
    #[error("git's index {path} cannot be read")]
    Index {
        /// The index file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Box<gix::Error>,
    },
    /// A file system operation failed.
    #[error("could not {action} {path}")]
    Io {
        /// The failed action.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The git library reported an error.
    #[error("could not {action} in {path}")]
    Library {
        /// The failed action.
        action: &'static str,
        /// The repository.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Box<gix::Error>,
    },
}

impl GitError {
    /// Returns a hint on how to fix the error.
    pub fn hint(&self) -> String {
        let plain = match self {
            GitError::NotARepository { path, .. } => {
                return format!("Check the path, or run `git -C {} status`", path.display());
            }
            GitError::InProgress { hint, .. } => return format!("{hint}, then try again"),
            GitError::Refused { hint, .. } | GitError::Unsupported { hint, .. } => hint,
            GitError::AlreadyExists { .. } => "Choose another name, or remove it first",
            GitError::InvalidPath { .. } => "Use plain names with '/' between them",
            GitError::PathConflict { .. } => "Rename one of the two with git",
            GitError::HeadMoved { .. } => "Load the new head and decide again",
            GitError::Busy { .. } => "Try again",
            GitError::Held { .. } => {
                "Try again; if that process hangs, end it to release the lock. Do not delete the lock file: without it, \
                 two processes could write at once"
            }
            GitError::Locked { .. } => "Try again; if no git process is running there, delete this file",
            GitError::TagExists { .. } => "Choose another name",
            GitError::Ambiguous { .. } => "Use more digits",
            GitError::Missing { .. } => "Run `git fsck` there; in a partial or shallow clone, fetch the rest",
            GitError::TooLarge { .. } => "Make it smaller",
            GitError::TooMuch { .. } => "Inspect it with `git ls-tree`",
            GitError::Damaged { .. } | GitError::Library { .. } => "Run `git fsck` there",
            GitError::Unconfirmed { .. } => "Check the disk, then load the new head",
            GitError::Index { .. } => "Delete it and run `git reset` there; your files are kept",
            GitError::Io { .. } => {
                "Check that the folder exists and is writable, and that the disk has space"
            }
        };
        plain.to_owned()
    }

    /// Returns the error and its hint as one line.
    pub fn with_hint(&self) -> String {
        format!("{self}. {}", self.hint())
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
        GitError::Missing { path: self.location(), wanted, id: id.to_string() }
    }

    pub(super) fn library(&self, action: &'static str) -> impl Fn(gix::Error) -> GitError + '_ {
        move |source| GitError::Library { action, path: self.location(), source: Box::new(source) }
    }

    /// Reports a held lock file as [`GitError::Locked`], and any other error as [`GitError::Library`].
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
            return GitError::Locked { path: held.unwrap_or_else(|| self.git_dir.join("HEAD.lock")) };
        }
        self.library(action)(source)
    }
}

pub(super) fn io_error<'a>(action: &'static str, path: &'a Path) -> impl Fn(io::Error) -> GitError + 'a {
    move |source| GitError::Io { action, path: path.to_owned(), source }
}

pub(super) fn shown_head(head: &Option<CommitId>) -> String {
    head.map_or_else(|| "without a commit".to_owned(), |commit| commit.to_string())
}
