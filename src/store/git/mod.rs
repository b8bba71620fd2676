//! An abstraction over gix that presents a git repository as paths, bytes, ids and commits.
//!
//! This module does not interpret files, and no gix type is visible outside it.
//!
//! Each file covers one topic: `open` (creating and opening), `refuse` (repositories that are rejected), `read`,
//! `ancestry` (descent and lost commits), `commit` (the steps below), `collector` (concurrent `git gc`), `tree`,
//! `worktree`, `linked` (work trees of a repository elsewhere), `index`, `journal` (and recovery), `lock`, `merge` (commits from elsewhere), `tag`, `in_progress`
//! (unfinished merges and similar operations), `settings` (of git), `shared` (remotes and maintenance), `durability`, `paths` (valid paths),
//! `identity`, `verify` and `error`.
//!
//! # Guarantees
//!
//! - A commit's tree is the old head's tree plus the given changes. It is independent of git's index, so the user's
//!   staged and uncommitted work never becomes part of a commit.
//! - The head moves by compare-and-swap. After an error, nothing has been published and the work tree is restored. What
//!   fails after that is a [`Confirmation`], not an error: the commit exists.
//! - A process killed at any time leaves a valid git repository. Its leftovers (lock files, and an index or work tree
//!   one step ahead or behind) are cleaned up by the next [`Git::writer`] or [`Git::recover`]. The same applies to a
//!   power cut. `journal` documents which lock files are removed.
//! - With [`Durability::Disk`], the default, an acknowledged commit survives a power cut if the disk honours flushes.
//! - Across all threads and processes, only one [`GitWriter`] per repository exists at a time. It holds an advisory
//!   lock that the kernel releases when the process dies. Commits by other programs are detected and reported as
//!   [`HeadMoved`](super::StoreErrorKind::HeadMoved).
//! - The user's own work is preserved. A work tree file is replaced only if it contains exactly the old committed
//!   bytes, and an index entry only if it is identical to the old commit's entry. Nothing is written through a symbolic
//!   link.
//! - Nothing is executed, regardless of a repository's configuration: no hook, filter, signing program or credential
//!   helper. Objects are read only from the repository's own object folder.
//! - A malicious tree cannot exhaust memory, because its depth, size and number of entries are limited.
//!
//! # Limitations
//!
//! - With [`Durability::Git`], a commit survives a killed process. Unless git is configured to sync, it may not survive
//!   a power cut within a few seconds. The journal may be lost as well, and changed work tree files then stay changed.
//! - A work tree file is compared and then replaced. If an editor saves the file within the microseconds in between,
//!   that version is lost. A malicious process can also replace a folder with a link within that time.
//! - A separate `git prune`, or a `git gc --prune=now` that takes more than ten seconds, can remove objects from a
//!   commit that was being created when the command started. Git itself has the same problem. See `collector`.
//! - Work tree files are written as committed. If attributes convert line endings, the files count as modified by the
//!   user and are left alone. `core.sharedRepository` is not applied.
//! - Not supported: sha256 and reftable repositories, sparse indexes, linked work trees, alternates. Replacement
//!   objects are ignored.
//!
//! See `tests/bench/README.md` for commit measurements.
//!
//! # Commit steps
//!
//! 1. Take the lock `tot-lock` in the git folder: [`Git::writer`].
//! 2. Clean up after a killed writer, using its journal.
//! 3. Compare the head with the expected commit: [`GitWriter::commit`].
//! 4. Write the objects: blobs, trees, the commit. Nothing refers to them until step 9.
//! 5. Write the journal `tot-journal`: the new commit and tag, the old and new blob of each path, and a hash.
//! 6. Take git's `index.lock` and record the identity of this file in the journal. Lock the tag, if there is one.
//! 7. Write each work tree file under a temporary name and rename it.
//! 8. Write the new index into `index.lock`.
//! 9. Move the head by compare-and-swap, along with its reflog. This publishes the commit.
//! 10. Rename the new index and the tag into place.
//! 11. Empty the journal.
//!
//! If the process is killed before step 9, recovery restores the old head's state. If it is killed after step 9,
//! recovery completes the new head's state. In both cases, the paths in the journal are brought to the state of the
//! current head. A bare repository skips steps 6, 7, 8 and 10.

mod ancestry;
mod collector;
mod commit;
mod durability;
mod error;
mod identity;
mod in_progress;
mod index;
mod journal;
mod linked;
mod lock;
mod merge;
mod open;
mod paths;
mod read;
mod refuse;
mod settings;
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

pub(super) use ancestry::Lineage;
pub use ancestry::{Descent, Left, LostChain};
pub use commit::{CommitText, Confirmation, GitWriter, TagText};
use durability::Disk;
pub use durability::Durability;
use identity::Identity;
pub use linked::WorkTree;
pub use paths::FILE_MAX;
pub(super) use read::{EntryChange, RawCommit};
pub use read::{LeftOut, MAX_CHANGES};
pub use settings::{MERGE_DRIVER, configure};
pub use shared::TrackedRemote;
pub use tag::{Annotation, TagInfo};
pub(super) use tree::Leaf;
pub use tree::{MAX_ENTRIES, MAX_TREE_BYTES};

use crate::domain::Timestamp;

/// An open git repository. It is opened for a single operation, so settings such as the user's name are up to date.
pub struct Git {
    repository: gix::Repository,
    git_dir: PathBuf,
    /// `None` in a bare repository.
    work_dir: Option<PathBuf>,
    author: Identity,
    committer: Identity,
    disk: Disk,
    /// The store to which new objects are written.
    objects: gix::odb::loose::Store,
}

/// The source of git settings, including the user's name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Configuration {
    /// All settings that git uses: machine, user, repository and environment.
    #[default]
    User,
    /// Only the repository's own settings, for reproducible results.
    Isolated,
}

/// Options for opening a repository.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GitOptions {
    /// The source of git settings.
    pub configuration: Configuration,
    /// The durability level.
    pub durability: Durability,
    /// The name and address of the author of each commit, instead of the configured ones.
    pub author: Option<(&'static str, &'static str)>,
}

impl GitOptions {
    /// Uses only the repository's own settings, including those for syncing.
    pub const ISOLATED: GitOptions =
        GitOptions { configuration: Configuration::Isolated, durability: Durability::Git, author: None };
}

/// The state of `HEAD`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The full name of the branch, such as `refs/heads/main`, or `None` if HEAD is detached.
    pub branch: Option<String>,
    /// The commit, or `None` while the branch is unborn.
    pub commit: Option<CommitId>,
}

/// The metadata of a commit. Invalid UTF-8 is replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitInfo {
    /// The id.
    pub id: CommitId,
    /// The parents, at most one hundred. [`Git::log`] follows the first.
    pub parents: Vec<CommitId>,
    /// The author's name.
    pub author_name: String,
    /// The author's address.
    pub author_email: String,
    /// The commit time in seconds since 1970, or 0 if unreadable.
    pub seconds: i64,
    /// The message. Only the beginning and end of a long message are kept.
    pub message: String,
    /// The number of bytes omitted from the message.
    pub message_left_out: usize,
}

/// The files in a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// All files in tree order.
    pub files: Vec<TreeFile>,
    /// The number of files and folders, at most [`MAX_ENTRIES`].
    pub entries: usize,
    /// The total size of folders and paths in bytes, at most [`MAX_TREE_BYTES`].
    pub bytes: usize,
}

impl CommitInfo {
    /// Returns the first line of the message.
    pub fn subject(&self) -> &str {
        self.message.lines().next().unwrap_or_default()
    }

    /// Returns the commit time, or `None` if it is out of range.
    pub fn at(&self) -> Option<Timestamp> {
        timestamp(self.seconds)
    }

    /// Returns whether the commit has no personal author because no name was configured or because it is an import.
    pub fn has_no_author(&self) -> bool {
        (self.author_name.as_str(), self.author_email.as_str())
            == (identity::FALLBACK_NAME, identity::FALLBACK_EMAIL)
    }
}

/// A file in a commit's tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeFile {
    /// The path from the root, with `/` as the separator.
    pub path: String,
    /// The content, or the other repository's commit for a [`FileKind::Submodule`].
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
    /// A symbolic link. The blob contains its target.
    Symlink,
    /// A submodule.
    Submodule,
    /// An entry that cannot be checked out because its name is not UTF-8 or is unsafe, such as `..` or `.git/config`.
    /// The path is only for messages, because it may be altered and identical to another entry's path.
    Unsafe,
}

impl FileKind {
    /// Returns whether this is an ordinary or executable file.
    pub fn is_plain(self) -> bool {
        matches!(self, FileKind::File | FileKind::Executable)
    }
}

/// A file that differs between two commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathChange {
    /// The path from the root. Invalid UTF-8 is replaced.
    pub path: String,
    /// The old content, or `None` if the file is new.
    pub before: Option<BlobId>,
    /// The new content, or `None` if the file was removed.
    pub after: Option<BlobId>,
}

/// An invalid object id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an object id: an id has 40 hexadecimal digits")]
pub struct ParseIdError(String);

/// Converts git's seconds since 1970. Returns `None` if the time is out of range.
fn timestamp(seconds: i64) -> Option<Timestamp> {
    Timestamp::from_milliseconds(seconds.saturating_mul(1_000))
}

/// The id of a commit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommitId(ObjectId);

/// The id of a file's content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobId(ObjectId);

/// This program's files in the git folder. Git does not use these names.
const LOCK_FILE: &str = "tot-lock";
const TURN_FILE: &str = "tot-turn";
const JOURNAL_FILE: &str = "tot-journal";
const STAGING_FILE: &str = "tot-file";

/// Paths and identity.
impl Git {
    /// Returns the git folder.
    pub fn path(&self) -> &Path {
        &self.git_dir
    }

    /// Returns the author's name for new commits, or `None` if not configured.
    pub fn author(&self) -> Option<String> {
        self.author.name()
    }

    /// Returns the author's name for new commits, with a fallback if not configured, and the configured address.
    pub fn identity(&self) -> (String, Option<String>) {
        self.author.parts()
    }

    /// Returns the path shown in errors.
    fn location(&self) -> PathBuf {
        self.work_dir.as_ref().unwrap_or(&self.git_dir).clone()
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

            fn from_str(text: &str) -> Result<Self, ParseIdError> {
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
