//! Why something could not be done with a repository, and what to do about it.

use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use gix::ObjectId;
use gix::objs::Kind;

use super::{BlobId, CommitId, Git};

pub(super) type Result<T> = std::result::Result<T, GitError>;

/// Why something could not be done with a repository.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// There is no repository.
    #[error("{path} is not a git repository that can be opened")]
    NotARepository {
        /// The folder that was to be opened.
        path: Shown,
        /// The underlying error.
        #[source]
        source: Option<Box<gix::Error>>,
    },
    /// The repository's layout would lead reads or writes outside of it.
    #[error("the repository was not opened: {path} {reason}")]
    Refused {
        /// The file or folder in question.
        path: Shown,
        /// The fault.
        reason: &'static str,
        /// The hint.
        hint: &'static str,
    },
    /// The repository uses a format that cannot be read.
    #[error("the repository {path} cannot be used: {reason}")]
    Unsupported {
        /// The repository.
        path: Shown,
        /// The format.
        reason: String,
        /// The hint.
        hint: &'static str,
    },
    /// The location of a new repository is occupied.
    #[error("{path} already exists")]
    AlreadyExists {
        /// The location.
        path: Shown,
    },
    /// A path that can't be committed.
    #[error("the path {path:?} cannot be committed: {reason}")]
    InvalidPath {
        /// The path as given.
        path: String,
        /// The rule it breaks.
        reason: String,
    },
    /// A file was requested where the commit has a folder, or the other way round.
    #[error("the path {path:?} cannot be committed: {blocker:?} is {is} in the commit")]
    PathConflict {
        /// The path as given.
        path: String,
        /// The path that blocks it.
        blocker: String,
        /// `a folder` or `a file`.
        is: &'static str,
    },
    /// Someone else has committed, or the head was set elsewhere.
    #[error("the head of {path} has moved: it is {}, not {expected}", shown_head(.actual))]
    HeadMoved {
        /// The repository.
        path: Shown,
        /// The commit that the caller had loaded.
        expected: CommitId,
        /// The commit that the head is now.
        actual: Option<CommitId>,
    },
    /// A user's operation is in progress, and a commit would become part of it.
    #[error("{what} is in progress in {path}: a commit now would become part of it")]
    InProgress {
        /// The repository.
        path: Shown,
        /// The operation: `a merge`.
        what: &'static str,
        /// How to finish it.
        hint: &'static str,
    },
    /// Other writers keep committing.
    #[error("others are writing to {path} all the time")]
    Busy {
        /// The repository.
        path: Shown,
    },
    /// Another writer has held the right to write for too long.
    #[error("another process is writing to {path}: {holder}")]
    Held {
        /// The git folder.
        path: Shown,
        /// The process, as named in the lock file.
        holder: String,
    },
    /// Another process holds a lock.
    #[error("{path} is locked by another process")]
    Locked {
        /// The lock file.
        path: Shown,
    },
    /// The tag exists already.
    #[error("the tag {name:?} already exists in {path}")]
    TagExists {
        /// The repository.
        path: Shown,
        /// The tag without `refs/tags/`.
        name: String,
    },
    /// Several objects have ids with this prefix.
    #[error("{rev:?} is ambiguous in {path}: several ids begin with it")]
    Ambiguous {
        /// The repository.
        path: Shown,
        /// The revision as given.
        rev: String,
    },
    /// An object is missing, or not of the expected kind.
    #[error("{path} has no {wanted} {id}")]
    Missing {
        /// The repository.
        path: Shown,
        /// `commit`, `tree`, `file` or `tag`.
        wanted: &'static str,
        /// The id.
        id: String,
    },
    /// A file is larger than the caller's limit.
    #[error("the file {blob} in {path} has {size} bytes; the limit is {limit}")]
    TooLarge {
        /// The repository.
        path: Shown,
        /// The file.
        blob: BlobId,
        /// Its size.
        size: u64,
        /// The caller's limit.
        limit: u64,
    },
    /// A tree exceeds the limits, which no investigation does.
    #[error("{what} in {path} was not read: it has more than {limit}")]
    TooMuch {
        /// The repository.
        path: Shown,
        /// The commit or tree.
        what: String,
        /// The limit that is exceeded.
        limit: String,
    },
    /// A tree that breaks git's rules.
    #[error("the tree {id} in {path} is damaged: {reason}")]
    Damaged {
        /// The repository.
        path: Shown,
        /// The tree.
        id: String,
        /// The rule it breaks.
        reason: String,
    },
    /// The change is made and visible, but the disk did not confirm it: a power cut may undo it.
    #[error("{what} in {path} was created, but the disk did not confirm it")]
    Unconfirmed {
        /// The repository.
        path: Shown,
        /// The change.
        what: String,
        /// Why it is not confirmed.
        #[source]
        source: Box<GitError>,
    },
    /// git's index cannot be read.
    #[error("git's index {path} cannot be read")]
    Index {
        /// The index.
        path: Shown,
        /// The fault.
        #[source]
        source: Box<gix::Error>,
    },
    /// An error of the file system.
    #[error("could not {action} {path}")]
    Io {
        /// The action that failed.
        action: &'static str,
        /// The file or folder.
        path: Shown,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// An error of the git library.
    #[error("could not {action} in {path}")]
    Library {
        /// The action that failed.
        action: &'static str,
        /// The repository.
        path: Shown,
        /// Why it failed.
        #[source]
        source: Box<gix::Error>,
    },
}

impl GitError {
    /// Returns the hint on what to do.
    pub fn hint(&self) -> String {
        let plain = match self {
            GitError::NotARepository { path, .. } => {
                return format!("Check the path, and look at it with `git -C {path} status`");
            }
            GitError::InProgress { hint, .. } => return format!("{hint}, then call again"),
            GitError::Refused { hint, .. } | GitError::Unsupported { hint, .. } => hint,
            GitError::AlreadyExists { .. } => "Choose another name, or remove it first",
            GitError::InvalidPath { .. } => "Use plain names with '/' between them",
            GitError::PathConflict { .. } => "Rename one of the two with git",
            GitError::HeadMoved { .. } => "Load the new head and decide again",
            GitError::Busy { .. } => "Call again",
            GitError::Held { .. } => {
                "Call again; if that process hangs, end it to release the lock. Do not delete the lock file: without it, \
                 two processes could write at once"
            }
            GitError::Locked { .. } => "Try again; if no git process is running there, delete this file",
            GitError::TagExists { .. } => "Choose another name",
            GitError::Ambiguous { .. } => "Give more digits",
            GitError::Missing { .. } => "Run `git fsck` there; in a partial or shallow clone, fetch the rest",
            GitError::TooLarge { .. } => "Make it smaller",
            GitError::TooMuch { .. } => "Look at it with `git ls-tree`",
            GitError::Damaged { .. } | GitError::Library { .. } => "Run `git fsck` there",
            GitError::Unconfirmed { .. } => "Check the disk, then load the new head",
            GitError::Index { .. } => "Delete it and run `git reset` there; your files are kept",
            GitError::Io { .. } => {
                "Check that the folder exists and is writable, and that the disk has space"
            }
        };
        plain.to_owned()
    }

    /// The error with its hint, for output of a single line.
    pub fn with_hint(&self) -> String {
        format!("{self}. {}", self.hint())
    }
}

/// A path that implements `Display`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown(pub PathBuf);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
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
        GitError::Missing { path: self.shown(), wanted, id: id.to_string() }
    }

    pub(super) fn library(&self, action: &'static str) -> impl Fn(gix::Error) -> GitError + '_ {
        move |source| GitError::Library { action, path: self.shown(), source: Box::new(source) }
    }

    /// Distinguishes a lock from other failures of changing a reference.
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
            return GitError::Locked { path: Shown(held.unwrap_or_else(|| self.git_dir.join("HEAD.lock"))) };
        }
        self.library(action)(source)
    }
}

pub(super) fn io_error<'a>(action: &'static str, path: &'a Path) -> impl Fn(io::Error) -> GitError + 'a {
    move |source| GitError::Io { action, path: shown(path), source }
}

pub(super) fn shown(path: &Path) -> Shown {
    Shown(path.to_owned())
}

pub(super) fn shown_head(head: &Option<CommitId>) -> String {
    head.map_or_else(|| "without a commit".to_owned(), |commit| commit.to_string())
}
