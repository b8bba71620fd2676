//! The wall around gix: a git repository as paths, bytes, ids and commits.
//!
//! Nothing here knows the meaning of the files, and no type of gix is visible outside.
//!
//! One concern per file: `open` (creating, opening), `refuse` (what is not touched), `read`, `ancestry` (descent, and
//! lost commits), `commit` (the steps below), `collector` (a concurrent `git gc`), `tree`, `worktree`, `index`,
//! `journal` (and recovery), `lock`, `merge` (with the commits of others), `in_progress` (when a commit is refused),
//! `shared` (remotes and maintenance), `durability`, `paths` (valid paths), `identity`, `error`.
//!
//! # Guarantees
//!
//! - A commit's tree is the old head's tree plus the given changes. It never comes from git's index, so nothing
//!   that the user has staged or left in the work tree is swept in.
//! - The head moves by compare-and-swap and as the last act that can fail: an error means that nothing was
//!   published, and the work tree is put back.
//! - A process killed at any instant leaves a repository that git calls sound. Its leftovers (lock files, an index or
//!   work tree files one step ahead or behind) are recovered by the next [`Git::writer`] or [`Git::recover`]. So are
//!   those of a power cut; `journal` says which lock files are removed, and why not git's.
//! - With [`Durability::Disk`], the default, an acknowledged commit survives a power cut if the disk honours flushes.
//! - Of all threads and processes one is the [`Writer`], by an advisory lock that the kernel releases when its holder
//!   dies. A commit by other means in between is detected: [`GitError::HeadMoved`].
//! - The user's own work is kept: a work tree file is written only where it holds exactly the old committed bytes,
//!   an index entry only where it is the old commit's. Nothing is written through a symbolic link.
//! - Nothing is executed: no hook, no filter, no signing program, no credential helper, whatever a repository's
//!   configuration says. Objects come from the repository's own object folder alone.
//! - No tree, however hostile, can exhaust the memory: entries, depth and bytes are capped.
//!
//! # Limits
//!
//! - With [`Durability::Git`] a commit survives a killed process and, unless git's settings say more, not a power cut in
//!   the seconds after it, which may tear the journal as well: work tree files that were written stay changed then.
//! - Between comparing a work tree file and replacing it are some microseconds in which an editor's save is lost, and
//!   a hostile process of the same machine can replace a folder with a link.
//! - `git prune` by itself, and a `git gc --prune=now` that takes more than ten seconds, may still collect the objects of a
//!   commit that was being made when they began, as they may with git's own; see `collector`.
//! - Work tree files are written as they are committed; a repository whose attributes convert line endings sees
//!   its files as the user's own and leaves them alone. `core.sharedRepository` is not applied.
//! - Not read: sha256 and reftable repositories, sparse indexes, linked work trees, alternates. Replacement objects
//!   are ignored.
//!
//! The cost of a commit is measured in `tests/bench/README.md`.
//!
//! # The steps of a commit
//!
//! 1. Take the lock `tot-lock` in the git folder: [`Git::writer`].
//! 2. Recover what a killed predecessor left, by its journal.
//! 3. [`Writer::commit`]: compare the head with the expected one.
//! 4. Write the objects: blobs, trees, the commit. Until step 9 nothing refers to them.
//! 5. Write the journal `tot-journal`: the new commit, and per path the old and the new blob, with a hash over it.
//! 6. Take git's `index.lock` and note in the journal which file it is.
//! 7. Write the work tree files, each beside its place and then renamed.
//! 8. Write the new index into `index.lock`.
//! 9. Move the head by compare-and-swap, with its reflog. The commit is published now.
//! 10. Rename the index into place.
//! 11. Empty the journal.
//!
//! A kill before step 9 is recovered to the old head, a kill after it to the new one. Both are one operation, which
//! takes the journal's paths to the state of the head. A bare repository skips 6, 7, 8 and 10.

mod ancestry;
mod collector;
mod commit;
mod durability;
mod error;
mod identity;
mod in_progress;
mod index;
mod journal;
mod lock;
mod merge;
mod open;
mod paths;
mod read;
mod refuse;
mod shared;
mod tag;
#[cfg(test)]
mod tests;
mod tree;
mod verify;
mod worktree;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use gix::ObjectId;

pub use ancestry::{Descent, Left, LostChain};
pub use commit::Writer;
use durability::Disk;
pub use durability::Durability;
use error::shown;
pub use error::{GitError, Shown};
use identity::Identity;
pub use paths::FILE_MAX;
pub use read::{MAX_CHANGES, head_at_a_glance};
pub use shared::Upstream;
pub use tag::{Annotated, TagContent};
pub use tree::{MAX_ENTRIES, MAX_TREE_BYTES};

/// A git repository, opened for one piece of work, so that its settings, such as the user's name, are up to date.
pub struct Git {
    repository: gix::Repository,
    git_dir: PathBuf,
    /// Absent in a bare repository.
    work_dir: Option<PathBuf>,
    author: Identity,
    committer: Identity,
    disk: Disk,
    /// The store for new objects.
    objects: gix::odb::loose::Store,
}

/// The source of a repository's settings and of its user's name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Configuration {
    /// As in git itself: the machine's, the user's and the repository's files, and the environment.
    #[default]
    User,
    /// The repository's own file alone, so that the outcome depends on nothing else.
    Isolated,
}

/// Options for opening a repository.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The source of settings.
    pub configuration: Configuration,
    /// The durability level.
    pub durability: Durability,
}

impl Options {
    /// Options that use only the repository's own settings, those of syncing among them.
    pub const ISOLATED: Options =
        Options { configuration: Configuration::Isolated, durability: Durability::Git };
}

/// The state of `HEAD`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The full name of the branch, such as `refs/heads/main`; absent when the head is detached.
    pub branch: Option<String>,
    /// Absent while the branch is unborn.
    pub commit: Option<CommitId>,
}

/// A commit without its files. Invalid UTF-8 is replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitInfo {
    /// The commit itself.
    pub id: CommitId,
    /// Its parents, the first hundred of them; [`Git::log`] follows the first.
    pub parents: Vec<CommitId>,
    /// The author's name.
    pub author_name: String,
    /// The author's address.
    pub author_email: String,
    /// The commit time, in seconds since 1970; 0 if unreadable.
    pub seconds: i64,
    /// The message; of a long one, its beginning and its end.
    pub message: String,
    /// The number of bytes left out of the message; 0 if it is complete.
    pub message_left_out: usize,
}

/// The files of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// All files, in the order of the tree.
    pub files: Vec<TreeFile>,
    /// The number of files and folders; at most [`MAX_ENTRIES`].
    pub entries: usize,
    /// The number of bytes of the folders and all paths; at most [`MAX_TREE_BYTES`].
    pub bytes: usize,
}

impl CommitInfo {
    /// Whether it names no author: it was made without a configured name, or by an import.
    pub fn is_nobodys(&self) -> bool {
        (self.author_name.as_str(), self.author_email.as_str())
            == (identity::FALLBACK_NAME, identity::FALLBACK_EMAIL)
    }
}

/// One file of a commit's tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeFile {
    /// The path from the root, with `/` between its parts.
    pub path: String,
    /// The content; for a [`FileKind::Submodule`] the other repository's commit, which is not in this one.
    pub blob: BlobId,
    /// The kind of the entry.
    pub kind: FileKind,
}

/// The kind of a tree entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// An ordinary file.
    File,
    /// A file with the executable bit.
    Executable,
    /// A symbolic link; the blob is its target.
    Symlink,
    /// Another repository.
    Submodule,
    /// An entry that no checkout accepts, such as `..` or `.git/config`, or whose name is not UTF-8. Its path is for
    /// messages only: it may be altered, and equal to that of another entry.
    Unsafe,
}

impl TreeFile {
    /// Whether it is an ordinary or executable file.
    pub fn is_plain(&self) -> bool {
        self.kind.is_plain()
    }
}

impl FileKind {
    /// Whether it is an ordinary or executable file.
    pub fn is_plain(self) -> bool {
        matches!(self, FileKind::File | FileKind::Executable)
    }
}

/// A file that differs between two commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathChange {
    /// The path from the root. Invalid UTF-8 is replaced.
    pub path: String,
    /// The old content; absent where there was no file.
    pub before: Option<BlobId>,
    /// The new content; absent where the file was removed.
    pub after: Option<BlobId>,
}

/// An invalid object id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an object id: an id has 40 hexadecimal digits")]
pub struct ParseIdError(String);

/// The id of a commit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommitId(ObjectId);

/// The id of a file's content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobId(ObjectId);

/// Files of this program in the git folder, under names that git does not use.
const LOCK_FILE: &str = "tot-lock";
const TURN_FILE: &str = "tot-turn";
const JOURNAL_FILE: &str = "tot-journal";
const STAGING_FILE: &str = "tot-file";

/// Paths of the repository, and its user.
impl Git {
    /// The git folder, with git's own files.
    pub fn path(&self) -> &Path {
        &self.git_dir
    }

    /// The root of the work tree; absent in a bare repository.
    pub fn work_dir(&self) -> Option<&Path> {
        self.work_dir.as_deref()
    }

    /// The author of commits here; `None` if git knows none.
    pub fn author(&self) -> Option<String> {
        self.author.name()
    }

    /// The author's name, or the program's own if not configured, and address.
    pub fn identity(&self) -> (String, Option<String>) {
        self.author.parts()
    }

    fn shown(&self) -> Shown {
        shown(self.work_dir.as_ref().unwrap_or(&self.git_dir))
    }
}

macro_rules! id {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> std::result::Result<Self, ParseIdError> {
                let id =
                    ObjectId::from_hex(text.as_bytes()).ok().filter(|id| id.kind() == gix::hash::Kind::Sha1);
                id.map($name).ok_or_else(|| ParseIdError(text.to_owned()))
            }
        }
    };
}

id!(CommitId);
id!(BlobId);

impl CommitId {
    /// The null id, which no commit has.
    pub const NONE: CommitId = CommitId(ObjectId::Sha1([0; 20]));
}
