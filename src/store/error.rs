//! Store errors, with hints on how to fix them.

use std::path::Path;
use std::{error, io};

use super::catalog::RootRemoved;
use crate::format::layout;
use crate::text::shell_line;
use crate::yaml::YamlError;

pub(super) type StoreResult<T> = Result<T, StoreError>;

/// An error in an investigation's repository, from git, or from the file system.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct StoreError {
    /// The kind of error.
    pub kind: StoreErrorKind,
    message: String,
    /// Overrides the usual hint for `kind`.
    hint: Option<String>,
    source: Option<Box<dyn error::Error + Send + Sync>>,
}

/// The kind of a [`StoreError`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// The folder is a git repository, but not an investigation.
    NotAnInvestigation,
    /// The store was opened read-only.
    ReadOnly,
    /// The revision does not exist.
    UnknownRevision,
    /// The root was removed while this program was running.
    RootRemoved,
    /// The cursor was not returned by a previous listing.
    UnknownCursor,
    /// The write would make the investigation too large to read.
    Full,
    /// A value cannot be serialized as YAML.
    Yaml,
    /// The histories of two commits have no commit in common.
    Unrelated,
    /// A commit belongs to another investigation.
    OtherInvestigation,
    /// A file to be merged has a name that git refuses to check out.
    UnsafeName,
    /// The total size of the files in an incoming commit exceeds the limit.
    CheckoutTooLarge,
    /// Both sides have changed the listed files in ways that cannot be merged automatically.
    Conflicts(Vec<String>),
    /// The folder is not a repository.
    NotARepository,
    /// The repository cannot be opened.
    Unopenable,
    /// The repository's layout could direct reads or writes outside it.
    Refused,
    /// The repository uses an unsupported format.
    Unsupported,
    /// The location for a new repository is already taken.
    AlreadyExists,
    /// The path cannot be committed.
    InvalidPath,
    /// The path needs a folder where the commit has a file, or vice versa.
    PathConflict,
    /// HEAD changed since the state was loaded.
    HeadMoved,
    /// A git operation started by the user is in progress, and a commit would become part of it.
    InProgress,
    /// HEAD is detached, and no branch would have a commit.
    Detached,
    /// Every attempt failed because other processes kept committing.
    Busy,
    /// Another writer did not release the lock in time.
    Held,
    /// Another process holds one of git's lock files.
    Locked,
    /// A tag with this name already exists, or its name is a folder of this one.
    TagExists,
    /// Several object ids have this prefix.
    Ambiguous,
    /// An object is missing or of a different kind.
    Missing,
    /// A file exceeds the caller's limit.
    TooLarge,
    /// A tree exceeds the limits, which are far above those for an investigation.
    TooMuch,
    /// A tree violates git's rules.
    Damaged,
    /// The change was made, but what follows it failed: the disk did not confirm it, so that a power cut may undo it, or
    /// git's index could not be replaced.
    Unconfirmed,
    /// Git's index cannot be read.
    Index,
    /// A file system operation failed.
    Io,
    /// The git library reported an error.
    Library,
}

impl StoreErrorKind {
    /// Returns the usual hint, or an empty string.
    fn hint(&self) -> &'static str {
        match self {
            StoreErrorKind::RootRemoved => RootRemoved::HINT,
            StoreErrorKind::UnknownCursor => "Omit the cursor to start at the first page",
            StoreErrorKind::Full => {
                "Conclude it with `tot end`, then start another one for the open questions"
            }
            StoreErrorKind::Unrelated => {
                "If they are two investigations, import one of them with a new id; in a shallow clone, `git fetch \
                 --unshallow` fetches the rest of the history"
            }
            StoreErrorKind::OtherInvestigation => "Check the address and the branch",
            StoreErrorKind::AlreadyExists => "Choose another name, or remove it first",
            StoreErrorKind::InvalidPath => "Use plain names with '/' between them",
            StoreErrorKind::PathConflict => "Rename one of the two with git",
            StoreErrorKind::HeadMoved => "Load the new head and decide again",
            StoreErrorKind::InProgress | StoreErrorKind::Busy => "Try again",
            StoreErrorKind::Held => {
                "Try again; if that process hangs, end it to release the lock. Do not delete the lock file: without it, \
                 two processes could write at once"
            }
            StoreErrorKind::Locked => "Try again; if no git process is running there, delete this file",
            StoreErrorKind::Ambiguous => "Use more digits",
            StoreErrorKind::Missing => "Run `git fsck` there; in a partial or shallow clone, fetch the rest",
            StoreErrorKind::TooLarge => "Make it smaller",
            StoreErrorKind::TooMuch => "Inspect it with `git ls-tree`",
            StoreErrorKind::Damaged | StoreErrorKind::Library => "Run `git fsck` there",
            StoreErrorKind::Unconfirmed => "Check the disk; the next call completes what is missing",
            StoreErrorKind::Index => "Delete it and run `git reset` there; your files are kept",
            StoreErrorKind::Io => "Check that the folder exists and is writable, and that the disk has space",
            // Other kinds have no usual hint.
            _ => "",
        }
    }
}

impl StoreError {
    pub(in crate::store) fn new(kind: StoreErrorKind, message: String) -> StoreError {
        StoreError { kind, message, hint: None, source: None }
    }

    pub(in crate::store) fn hinting(self, hint: impl Into<String>) -> StoreError {
        StoreError { hint: Some(hint.into()), ..self }
    }

    pub(in crate::store) fn caused_by(
        self,
        source: impl Into<Box<dyn error::Error + Send + Sync>>,
    ) -> StoreError {
        StoreError { source: Some(source.into()), ..self }
    }

    /// Creates an error for a writer that has given up.
    pub(in crate::store) fn busy(path: &Path) -> StoreError {
        let message = format!("gave up on {}: other processes keep committing to it", path.display());
        StoreError::new(StoreErrorKind::Busy, message)
    }

    pub(in crate::store) fn refused(path: &Path, reason: &str, hint: &str) -> StoreError {
        let message = format!("the repository was not opened: {} {reason}", path.display());
        StoreError::new(StoreErrorKind::Refused, message).hinting(hint)
    }

    pub(in crate::store) fn unsupported(path: &Path, reason: &str, hint: &str) -> StoreError {
        let message = format!("the repository {} cannot be used: {reason}", path.display());
        StoreError::new(StoreErrorKind::Unsupported, message).hinting(hint)
    }

    pub(in crate::store) fn invalid_path(path: &str, reason: &str) -> StoreError {
        StoreError::new(
            StoreErrorKind::InvalidPath,
            format!("the path {path:?} cannot be committed: {reason}"),
        )
    }

    /// Creates an error for a path that needs a folder where there is a file, or vice versa.
    pub(in crate::store) fn path_conflict(path: &str, blocker: &str, is: &str) -> StoreError {
        let message = format!("the path {path:?} cannot be committed: {blocker:?} is {is} in the commit");
        StoreError::new(StoreErrorKind::PathConflict, message)
    }

    pub(in crate::store) fn locked(path: &Path) -> StoreError {
        StoreError::new(StoreErrorKind::Locked, format!("{} is locked by another process", path.display()))
    }

    /// Creates an error for a folder without an investigation.
    pub(in crate::store) fn not_an_investigation(path: &Path, reason: &str) -> StoreError {
        let message = format!("{} is a git repository but not an investigation: {reason}", path.display());
        StoreError::new(StoreErrorKind::NotAnInvestigation, message)
    }

    /// Creates an error for a write that exceeds a read limit.
    pub(in crate::store) fn full(path: &Path, limit: &str) -> StoreError {
        let message = format!(
            "the investigation in {} is full: it would exceed {limit} and could not be read back",
            path.display()
        );
        StoreError::new(StoreErrorKind::Full, message)
    }

    /// Wraps a file system error about a path.
    pub(in crate::store) fn of_files(message: String, path: &Path, source: io::Error) -> StoreError {
        let error = StoreError::new(StoreErrorKind::Io, message);
        let error = match source.kind() {
            // For example what `sudo tot` has written.
            io::ErrorKind::PermissionDenied => {
                let own = path.ancestors().find(|it| it.join(layout::META).is_file());
                let own = own.map(|own| shell_line(&[own.display().to_string()]));
                let back = own.map(|own| format!(", `sudo chown -R \"$USER\" {own}` gives it back"));
                error.hinting(format!(
                    "Check that the folder is writable, and with `ls -l` whose it is: after `sudo`, it may be another's{}",
                    back.unwrap_or_default()
                ))
            }
            _ => error,
        };
        error.caused_by(source)
    }

    /// Names a place instead of a temporary folder.
    pub fn instead_of(self, folder: &Path, place: &str) -> StoreError {
        StoreError { message: self.message.replace(&folder.display().to_string(), place), ..self }
    }

    /// Returns a hint on how to fix the error, if there is one.
    pub fn hint(&self) -> Option<String> {
        let hint = self.hint.clone().unwrap_or_else(|| self.kind.hint().to_owned());
        Some(hint).filter(|hint| !hint.is_empty())
    }

    /// Returns the files that both sides have changed, for [`StoreErrorKind::Conflicts`].
    pub fn conflicts(&self) -> &[String] {
        match &self.kind {
            StoreErrorKind::Conflicts(files) => files,
            _ => &[],
        }
    }

    /// Returns the error and its hint as one line.
    pub fn with_hint(&self) -> String {
        self.hint().map_or_else(|| self.to_string(), |hint| format!("{self}. {hint}"))
    }

    /// Returns whether the error means that a file does not exist.
    pub(in crate::store) fn is_not_found(&self) -> bool {
        let source = self.source.as_ref().and_then(|source| source.downcast_ref::<io::Error>());
        source.is_some_and(|source| source.kind() == io::ErrorKind::NotFound)
    }
}

/// Wraps a file system error.
pub(crate) fn io_error<'a>(action: &'static str, path: &'a Path) -> impl Fn(io::Error) -> StoreError + 'a {
    move |source| StoreError::of_files(format!("could not {action} {}", path.display()), path, source)
}

impl From<RootRemoved> for StoreError {
    fn from(error: RootRemoved) -> StoreError {
        StoreError::new(StoreErrorKind::RootRemoved, error.to_string())
    }
}

impl From<YamlError> for StoreError {
    fn from(error: YamlError) -> StoreError {
        StoreError::new(StoreErrorKind::Yaml, format!("cannot be written as YAML: {error}"))
    }
}
