//! The wall behind which gix lives: a git repository as paths, bytes, ids and commits.
//!
//! Nothing here knows what the files mean, and no type of gix is seen outside.
//!
//! # Guarantees
//!
//! - A commit's tree is the old head's tree plus the given changes. It never comes from git's index, so nothing
//!   that the user has staged or left in the work tree is swept in.
//! - The head moves by compare-and-swap and as the last act that can fail: an error means that nothing was
//!   published, and the work tree is put back.
//! - A process killed at any instant leaves a repository that git calls sound. What it left behind (lock files, an
//!   index or work tree files one step ahead or behind) is put right by the next [`Git::commit`], [`Git::tag`] or
//!   [`Git::recover`].
//! - Threads and processes writing at once take turns by an advisory lock that the kernel releases when its holder
//!   dies. The loser of a race gets [`GitError::HeadMoved`].
//! - The user's own work is kept: a work tree file is written only where it holds exactly the old committed bytes,
//!   an index entry only where it is the old commit's. Nothing is written through a symbolic link.
//! - Nothing is executed: no hook, no filter, no signing program, no credential helper, whatever a repository's
//!   configuration says. Objects come from the repository's own object folder alone.
//! - No tree, however hostile, can exhaust the memory: entries, depth and bytes are capped.
//!
//! # Limits
//!
//! - There is no fsync yet (`core.fsync`): a commit survives a killed process, not a power cut in the second after
//!   it. `Git::write_object` and `Git::move_head` are the two places that need one.
//! - Between comparing a work tree file and replacing it lie some microseconds in which an editor's save is lost,
//!   and a hostile process of the same machine can put a link where a folder was.
//! - `git gc --prune=now` may collect the objects of a commit that is being made in that instant, as it may with
//!   git's own.
//! - Work tree files are written as they are committed; a repository whose attributes convert line endings sees
//!   its files as the user's own and leaves them alone. `core.sharedRepository` is not applied.
//! - Not read: sha256 and reftable repositories, sparse indexes, linked work trees, alternates. Replacement objects
//!   are ignored.
//!
//! # The steps of a commit
//!
//! 1. Take the lock `tot-lock` in the git folder.
//! 2. Recover what a killed predecessor left, by its journal.
//! 3. Compare the head with the expected one.
//! 4. Write the objects: blobs, trees, the commit. Until step 9 nothing refers to them.
//! 5. Write the journal `tot-journal`: the new commit, and per path the old and the new blob.
//! 6. Take git's `index.lock` and note in the journal which file it is.
//! 7. Write the work tree files, each beside its place and then renamed.
//! 8. Write the new index into `index.lock`.
//! 9. Move the head by compare-and-swap, with its reflog. The commit is published now.
//! 10. Rename the index into place.
//! 11. Empty the journal.
//!
//! A kill before 9 is recovered to the old head, a kill after it to the new one; both are one operation, which
//! brings the journal's paths to whatever the head says. A bare repository skips 6, 7, 8 and 10.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, ErrorKind, Read, Write as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::objs::tree::{EntryKind, EntryRef};
use gix::objs::{Kind, TreeRefIter, Write as _, WriteTo};
use gix::refs::file::transaction::prepare::ReferenceOutOfDate;
use gix::refs::transaction::{PreviousValue, RefEdit};
use gix::refs::{FullName, Target};

/// A git repository, shared by any number of threads.
pub struct Git {
    repository: gix::ThreadSafeRepository,
    git_dir: PathBuf,
    /// Absent in a bare repository.
    work_dir: Option<PathBuf>,
    author: Identity,
    committer: Identity,
}

/// Where a repository's settings and the name of its user come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Configuration {
    /// As git itself does: the machine's, the user's and the repository's files, and the environment.
    User,
    /// The repository's own file alone, so that the outcome depends on nothing else.
    Isolated,
}

/// One file of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// The path from the root of the work tree, with `/` between its parts.
    pub path: String,
    /// The new bytes, or `None` to remove the file; removing an absent file changes nothing.
    pub content: Option<Vec<u8>>,
}

/// What `HEAD` is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The full name of the branch, such as `refs/heads/main`; absent when the head is detached.
    pub branch: Option<String>,
    /// Absent while the branch is unborn.
    pub commit: Option<CommitId>,
}

/// A commit without its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitInfo {
    /// The commit itself.
    pub id: CommitId,
    /// All parents; [`Git::log`] follows the first.
    pub parents: Vec<CommitId>,
    /// Who made the change.
    pub author: Signature,
    /// Who made the commit.
    pub committer: Signature,
    /// The whole message. Bytes that are not UTF-8 are replaced.
    pub message: String,
}

/// A name and a time in a commit. Bytes that are not UTF-8 are replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The person's name.
    pub name: String,
    /// The person's address.
    pub email: String,
    /// Seconds since 1970, or 0 where the commit has no readable time.
    pub seconds: i64,
    /// The person's distance from UTC in seconds.
    pub offset: i32,
}

/// One file of a commit's tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeFile {
    /// The path from the root, with `/` between its parts.
    pub path: String,
    /// The content; for a [`FileKind::Submodule`] the other repository's commit, which is not in this one.
    pub blob: BlobId,
    /// What the entry is.
    pub kind: FileKind,
}

/// What an entry of a tree is.
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

/// A file that differs between two commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathChange {
    /// The path from the root. Bytes that are not UTF-8 are replaced.
    pub path: String,
    /// The old content; absent where there was no file.
    pub before: Option<BlobId>,
    /// The new content; absent where there is no file any more.
    pub after: Option<BlobId>,
}

/// Why something could not be done with a repository.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// There is no repository.
    #[error(
        "{path} is not a git repository that can be opened. Check the path, and look at it with `git -C {path} status`"
    )]
    NotARepository {
        /// The folder that was to be opened.
        path: Shown,
        /// What is missing.
        #[source]
        source: Option<Box<gix::Error>>,
    },
    /// The repository is laid out so that it would read or write somewhere else.
    #[error("the repository is not opened: {path} {reason}. {hint}")]
    Refused {
        /// The file or folder in question.
        path: Shown,
        /// What is wrong with it.
        reason: &'static str,
        /// What to do.
        hint: &'static str,
    },
    /// The repository uses a format that cannot be read.
    #[error("the repository {path} cannot be used: {reason}. {hint}")]
    Unsupported {
        /// The repository.
        path: Shown,
        /// The format.
        reason: &'static str,
        /// What to do.
        hint: &'static str,
    },
    /// A new repository's place is taken.
    #[error("{path} exists already. Choose another name, or remove it first")]
    AlreadyExists {
        /// The place.
        path: Shown,
    },
    /// A path that is not written.
    #[error("the path {path:?} cannot be committed: {reason}. Use plain names with '/' between them")]
    InvalidPath {
        /// The path as given.
        path: String,
        /// The rule it breaks.
        reason: String,
    },
    /// A file is to be where the commit has a folder, or the other way round.
    #[error(
        "the path {path:?} cannot be committed: {blocker:?} is {is} in the commit. Move one of them with git"
    )]
    PathConflict {
        /// The path as given.
        path: String,
        /// What is in its way.
        blocker: String,
        /// `a folder` or `a file`.
        is: &'static str,
    },
    /// Someone else has committed, or the head was set elsewhere.
    #[error("the head of {path} is {} and no longer {expected}. Load the new head and decide again", shown_head(.actual))]
    HeadMoved {
        /// The repository.
        path: Shown,
        /// The commit that the caller had loaded.
        expected: CommitId,
        /// The commit that the head is now.
        actual: Option<CommitId>,
    },
    /// A lock of another process.
    #[error(
        "{path} is held by another process. Try again; if no git process is running there, delete this file"
    )]
    Locked {
        /// The lock file.
        path: Shown,
    },
    /// The tag is there already.
    #[error("the tag {name:?} exists in {path}. Choose another name")]
    TagExists {
        /// The repository.
        path: Shown,
        /// The tag without `refs/tags/`.
        name: String,
    },
    /// The name is none that git accepts.
    #[error("{name:?} is no name for a tag. See `git check-ref-format --help`")]
    InvalidTagName {
        /// The name as given.
        name: String,
    },
    /// More than one object has an id that begins so.
    #[error("{rev:?} is the beginning of several ids in {path}. Give more digits")]
    Ambiguous {
        /// The repository.
        path: Shown,
        /// The revision as given.
        rev: String,
    },
    /// An object is not there or is not what it should be.
    #[error(
        "{path} has no {wanted} {id}. Run `git fsck` there; in a partial or shallow clone, fetch the rest"
    )]
    Missing {
        /// The repository.
        path: Shown,
        /// `commit`, `tree`, `file` or `tag`.
        wanted: &'static str,
        /// The id.
        id: String,
    },
    /// A file is larger than the caller wants.
    #[error("the file {blob} in {path} has {size} bytes and at most {limit} are read. Make it smaller")]
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
    /// A tree with more than any investigation has.
    #[error("{what} in {path} has more than {limit}. It is not read; look at it with `git ls-tree`")]
    TooMuch {
        /// The repository.
        path: Shown,
        /// The commit or tree.
        what: String,
        /// The limit that was met.
        limit: String,
    },
    /// A tree that breaks git's rules.
    #[error("the tree {id} in {path} is damaged: {reason}. Run `git fsck` there")]
    Damaged {
        /// The repository.
        path: Shown,
        /// The tree.
        id: String,
        /// The rule it breaks.
        reason: String,
    },
    /// git's index cannot be read.
    #[error("git's index {path} cannot be read. Delete it and run `git reset` there, which keeps your files")]
    Index {
        /// The index.
        path: Shown,
        /// What is wrong with it.
        #[source]
        source: Box<gix::Error>,
    },
    /// The file system refused.
    #[error("could not {action} {path}. Check that the folder is there, writable and not full")]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        path: Shown,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// The git library refused.
    #[error("could not {action} in {path}. Run `git fsck` there")]
    Library {
        /// What was tried.
        action: &'static str,
        /// The repository.
        path: Shown,
        /// Why it failed.
        #[source]
        source: Box<gix::Error>,
    },
}

/// A path that prints itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown(pub PathBuf);

/// A text that is no object id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no object id. It has 40 hexadecimal digits")]
pub struct ParseIdError(String);

/// The id of a commit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommitId(ObjectId);

/// The id of a file's content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobId(ObjectId);

type Result<T> = std::result::Result<T, GitError>;

/// How many entries of trees one call looks at: twenty times the largest investigation.
const MAX_ENTRIES: usize = 200_000;
/// How many bytes of trees and paths one call reads.
const MAX_TREE_BYTES: usize = 64 << 20;
/// How deep folders are nested.
const MAX_DEPTH: usize = 64;
/// The largest object that is decompressed at all, for gix.
const ALLOCATION_LIMIT: &str = "gitoxide.objects.allocLimit=268435456";
/// How long to wait for our own lock, whose holder needs milliseconds.
const OWN_LOCK_WAIT: Duration = Duration::from_secs(10);
/// How long to wait for a lock file of another git process.
const FOREIGN_LOCK_WAIT: Duration = Duration::from_secs(1);
/// How far an empty lock file may be from its journal in time to have been made by the same process.
const SAME_MOMENT: Duration = Duration::from_secs(2);

/// How often to try again after a race with git that cannot last.
const RACE_RETRIES: usize = 5;

const LOCK_FILE: &str = "tot-lock";
const JOURNAL_FILE: &str = "tot-journal";
const STAGING_FILE: &str = "tot-file";
const JOURNAL_FIRST_LINE: &str = "tot-journal 1";

const FALLBACK_NAME: &str = "Tree of Thoughts";
const FALLBACK_EMAIL: &str = "tot@localhost";

/// Creating and opening.
impl Git {
    /// Creates the repository `dir` on branch `main`, with `files` as its first commit.
    ///
    /// It is built aside, in `.tmp-<suffix>` next to it, and renamed into place, so that it is there whole or not at
    /// all. `at` is the commit's time in seconds since 1970.
    pub fn init(
        dir: &Path,
        suffix: &str,
        files: &[FileChange],
        message: &str,
        at: i64,
    ) -> Result<(Git, CommitId)> {
        Git::init_with(Configuration::User, dir, suffix, files, message, at)
    }

    /// Like [`Git::init`], with settings from `configuration`.
    pub fn init_with(
        configuration: Configuration,
        dir: &Path,
        suffix: &str,
        files: &[FileChange],
        message: &str,
        at: i64,
    ) -> Result<(Git, CommitId)> {
        check_changes(files)?;
        if fs::symlink_metadata(dir).is_ok() {
            return Err(GitError::AlreadyExists { path: shown(dir) });
        }
        let parent = match dir.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        fs::create_dir_all(parent).map_err(io_error("create", parent))?;
        let aside = parent.join(format!(".tmp-{suffix}"));
        fs::create_dir(&aside).map_err(io_error("create", &aside))?;
        let built = build_aside(configuration, &aside, files, message, at).and_then(|commit| {
            fs::rename(&aside, dir).map_err(|source| match fs::symlink_metadata(dir) {
                Ok(_) => GitError::AlreadyExists { path: shown(dir) },
                Err(_) => GitError::Io { action: "rename the new repository to", path: shown(dir), source },
            })?;
            Ok(commit)
        });
        match built {
            Ok(commit) => Ok((Git::open_with(configuration, dir)?, CommitId(commit))),
            Err(error) => {
                // The error to report is the first one; what remains is a hidden folder that nothing reads.
                let _ = fs::remove_dir_all(&aside);
                Err(error)
            }
        }
    }

    /// Opens the repository `dir`, which has a work tree or is bare. Parents of `dir` are not searched.
    ///
    /// Whoever owns it, it can be read; what would lead out of it is refused.
    pub fn open(dir: &Path) -> Result<Git> {
        Git::open_with(Configuration::User, dir)
    }

    /// Like [`Git::open`], with settings from `configuration`.
    pub fn open_with(configuration: Configuration, dir: &Path) -> Result<Git> {
        let (git_dir, has_work_tree) = locate(dir)?;
        check_layout(&git_dir)?;
        let repository = open_options(configuration)
            .open_path_as_is(true)
            .open(git_dir.clone())
            .map_err(|source| open_error(dir, &git_dir, source))?;
        let local = repository.to_thread_local();
        check_where_it_leads(&local, dir, &git_dir, has_work_tree)?;
        let work_dir = (has_work_tree && local.workdir().is_some()).then(|| dir.to_owned());
        let author = identity(&local, "author");
        let committer = identity(&local, "committer");
        Ok(Git { repository, git_dir, work_dir, author, committer })
    }

    /// The folder that holds git's own files.
    pub fn path(&self) -> &Path {
        &self.git_dir
    }

    /// The root of the work tree; absent in a bare repository.
    pub fn work_dir(&self) -> Option<&Path> {
        self.work_dir.as_deref()
    }
}

/// Reading. It takes no lock and sees only what is committed.
impl Git {
    /// What `HEAD` is now.
    pub fn head(&self) -> Result<Head> {
        self.head_in(&self.local())
    }

    /// The commit that `rev` names: `HEAD`, a full id, a branch or tag, its full name, or the beginning of an id.
    /// `None` when there is none.
    pub fn resolve(&self, rev: &str) -> Result<Option<CommitId>> {
        let repository = self.local();
        if let Ok(id) = CommitId::from_str(rev) {
            return Ok(peel(&repository, id.0).map(CommitId));
        }
        let full_names = match rev {
            "HEAD" => vec![rev.to_owned()],
            _ if rev.starts_with("refs/") => vec![rev.to_owned()],
            _ => ["tags", "heads", "remotes"].map(|kind| format!("refs/{kind}/{rev}")).to_vec(),
        };
        for name in full_names {
            // A text that is no reference name may still be the beginning of an id.
            let Ok(name) = FullName::try_from(name) else { continue };
            let found = repository.try_find_reference(&name);
            if let Some(mut reference) = found.map_err(self.library("look up a reference"))? {
                return Ok(reference
                    .peel_to_id()
                    .ok()
                    .and_then(|id| peel(&repository, id.detach()))
                    .map(CommitId));
            }
        }
        let Ok(prefix) = gix::hash::Prefix::from_hex(rev) else { return Ok(None) };
        match repository.objects.lookup_prefix(prefix, None).map_err(self.library("look up an id"))? {
            None => Ok(None),
            Some(Ok(id)) => Ok(peel(&repository, id).map(CommitId)),
            Some(Err(())) => Err(GitError::Ambiguous { path: self.shown(), rev: rev.to_owned() }),
        }
    }

    /// All files of `commit`, in the order of the tree.
    pub fn files(&self, commit: CommitId) -> Result<Vec<TreeFile>> {
        let repository = self.local();
        let tree = self.tree_of(&repository, commit.0)?;
        TreeWalk::files(self, &repository, tree)
    }

    /// The content of `blob`, which may have at most `max_len` bytes. The size is known before anything is
    /// decompressed.
    pub fn read(&self, blob: BlobId, max_len: u64) -> Result<Vec<u8>> {
        let repository = self.local();
        if !self.is_surely_below(blob.0, max_len) {
            let size = self.blob_size(&repository, blob.0)?;
            if size > max_len {
                return Err(GitError::TooLarge { path: self.shown(), blob, size, limit: max_len });
            }
        }
        let bytes = self.object(&repository, blob.0, Kind::Blob)?;
        match bytes.len() as u64 {
            size if size > max_len => {
                Err(GitError::TooLarge { path: self.shown(), blob, size, limit: max_len })
            }
            _ => Ok(bytes),
        }
    }

    /// The files that differ between `before` and `after`, in order of their paths; `None` is the empty tree.
    ///
    /// Files only: a symbolic link or submodule counts as no file, and a changed executable bit as no change.
    pub fn diff(&self, before: Option<CommitId>, after: CommitId) -> Result<Vec<PathChange>> {
        let repository = self.local();
        let before = match before {
            Some(commit) => self.tree_of(&repository, commit.0)?,
            None => ObjectId::empty_tree(gix::hash::Kind::Sha1),
        };
        let after = self.tree_of(&repository, after.0)?;
        if before == after {
            return Ok(Vec::new());
        }
        let old = self.object(&repository, before, Kind::Tree)?;
        let new = self.object(&repository, after, Kind::Tree)?;
        let mut changes = FileChanges::default();
        let outcome = gix::diff::tree(
            TreeRefIter::from_bytes(&old, gix::hash::Kind::Sha1),
            TreeRefIter::from_bytes(&new, gix::hash::Kind::Sha1),
            gix::diff::tree::State::default(),
            &repository.objects,
            &mut changes,
        );
        match outcome {
            Ok(()) => {}
            Err(gix::diff::tree::Error::Cancelled) => {
                return Err(GitError::TooMuch {
                    path: self.shown(),
                    what: format!("the difference of the trees {before} and {after}"),
                    limit: format!("{MAX_ENTRIES} entries or {MAX_DEPTH} levels"),
                });
            }
            Err(gix::diff::tree::Error::Failure(source)) => {
                return Err(self.library("compare two trees")(source));
            }
        }
        let mut found = changes.found;
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    /// The commits from `from` along first parents, newest first, at most `limit`. In a shallow clone it ends where
    /// the clone does.
    pub fn log(&self, from: CommitId, limit: Option<usize>) -> Result<Vec<CommitInfo>> {
        let repository = self.local();
        let shallow =
            repository.shallow_commits().map_err(self.library("read the ends of a shallow clone"))?;
        let mut commits = Vec::new();
        let mut next = Some(from.0);
        while let Some(id) = next.filter(|_| limit.is_none_or(|limit| commits.len() < limit)) {
            let data = self.object(&repository, id, Kind::Commit)?;
            let commit = gix::objs::CommitRef::from_bytes(&data, gix::hash::Kind::Sha1)
                .map_err(self.library("read a commit"))?;
            let parents: Vec<CommitId> = commit.parents().map(CommitId).collect();
            let ends_here = shallow.as_ref().is_some_and(|ends| ends.iter().any(|end| *end == id));
            next = parents.first().map(|parent| parent.0).filter(|_| !ends_here);
            commits.push(CommitInfo {
                id: CommitId(id),
                parents,
                author: signature(commit.author().ok()),
                committer: signature(commit.committer().ok()),
                message: commit.message.to_str_lossy().into_owned(),
            });
        }
        Ok(commits)
    }

    /// All tags that lead to a commit, without `refs/tags/`, with that commit.
    pub fn tags(&self) -> Result<Vec<(String, CommitId)>> {
        let repository = self.local();
        let platform = repository.references().map_err(self.library("list the references"))?;
        let mut tags = Vec::new();
        for reference in platform.tags().map_err(self.library("list the tags"))? {
            // A broken tag must not hide the others.
            let Ok(mut reference) = reference else { continue };
            let name = reference.name().as_bstr().to_str_lossy().into_owned();
            let Some(short) = name.strip_prefix("refs/tags/") else { continue };
            let Ok(id) = reference.peel_to_id().map(|id| id.detach()) else { continue };
            if let Some(commit) = peel(&repository, id) {
                tags.push((short.to_owned(), CommitId(commit)));
            }
        }
        Ok(tags)
    }
}

/// Writing.
impl Git {
    /// Commits `changes` on top of `expected` and moves the head there, on whatever branch it is.
    ///
    /// The module describes the steps. `at` is in seconds since 1970.
    pub fn commit(
        &self,
        expected: CommitId,
        changes: &[FileChange],
        message: &str,
        at: i64,
    ) -> Result<CommitId> {
        check_changes(changes)?;
        let repository = self.local();
        let _turn = self.take_turn()?;
        self.recover_in(&repository)?;
        let head = self.head_in(&repository)?;
        if head.commit != Some(expected) {
            return Err(GitError::HeadMoved { path: self.shown(), expected, actual: head.commit });
        }
        let draft = self.draft(&repository, Some(expected.0), changes, message, at)?;
        let mut journal = Journal::begin(&self.git_dir, draft.commit, &head_references(&head), &draft.steps)?;
        let lock = match self.work_dir.as_ref().map(|_| IndexLock::take(&self.git_dir)).transpose() {
            Ok(lock) => lock,
            Err(error) => {
                journal.finish();
                return Err(error);
            }
        };
        match self.publish(&repository, &draft, lock, Some(&mut journal)) {
            // A step after publication that failed is the next recovery's, not the caller's.
            Ok(false) => {}
            Ok(true) => journal.finish(),
            Err(error) => {
                // Should this fail too, the journal waits for the next recovery. The first error is the caller's.
                if self.bring_to_head(&repository, draft.paths(), &mut journal).is_ok() {
                    journal.finish();
                }
                return Err(error);
            }
        }
        Ok(CommitId(draft.commit))
    }

    /// Creates the annotated tag `name` on the commit `target`.
    pub fn tag(&self, name: &str, target: CommitId, message: &str, at: i64) -> Result<()> {
        let invalid = || GitError::InvalidTagName { name: name.to_owned() };
        let full_name = FullName::try_from(format!("refs/tags/{name}")).map_err(|_| invalid())?;
        if name.starts_with('-') {
            return Err(invalid());
        }
        let repository = self.local();
        let _turn = self.take_turn()?;
        self.recover_in(&repository)?;
        self.object(&repository, target.0, Kind::Commit)?;
        let exists = || GitError::TagExists { path: self.shown(), name: name.to_owned() };
        if repository.try_find_reference(&full_name).map_err(self.library("look up a tag"))?.is_some() {
            return Err(exists());
        }
        let time = raw_time(at);
        let tagger = self.committer.signature(&time);
        let tag = gix::objs::Tag {
            target: target.0,
            target_kind: Kind::Commit,
            name: name.into(),
            tagger: Some(tagger.to_owned().map_err(self.library("write a tag"))?),
            message: clean_message(message).into(),
            signature: None,
        };
        let id = self.write_object(&repository, &tag)?;
        let references = [full_name.as_bstr().to_string()];
        let journal = Journal::begin(&self.git_dir, id, &references, &[])?;
        let edit = RefEdit::update(full_name, id, PreviousValue::MustNotExist, "");
        let outcome = repository.edit_references_as(Some(edit), Some(tagger));
        let failure = outcome.err().map(|source| self.reference_error("create a tag", &references, source));
        journal.finish();
        match failure {
            None => Ok(()),
            Some(GitError::Library { source, .. }) if source.is_conflict() => Err(exists()),
            Some(error) => Err(error),
        }
    }

    /// Puts right what a killed process left behind: its lock files, the index, work tree files. Says whether there
    /// was anything. The next write does the same by itself.
    pub fn recover(&self) -> Result<bool> {
        if !self.is_unfinished()? {
            return Ok(false);
        }
        let _turn = self.take_turn()?;
        self.recover_in(&self.local())
    }

    /// Whether somebody is writing right now, or was killed at it.
    pub fn is_unfinished(&self) -> Result<bool> {
        Ok(optional_metadata(&self.git_dir.join(JOURNAL_FILE))?.is_some_and(|metadata| metadata.len() > 0))
    }
}

/// A commit whose objects are written, and what it means for the index and the work tree.
struct Draft {
    commit: ObjectId,
    parent: Option<ObjectId>,
    parent_tree: ObjectId,
    steps: Vec<Step>,
    subject: String,
    time: String,
}

/// How one path of the index and the work tree gets from a known state to another.
struct Step {
    path: String,
    /// States in which the path is not the user's: it is taken from any of them to `to`.
    from: Vec<Option<Leaf>>,
    to: Option<Leaf>,
    /// The bytes of `to`, where it is a file.
    content: Option<Vec<u8>>,
    /// Whether a file that is absent in the work tree was deleted by the user, though it is a state of `from`.
    is_absence_kept: bool,
}

/// A path, its entry in the old commit and in the new one.
type TouchedPath = (String, Option<Leaf>, Option<Leaf>);

impl Draft {
    fn paths(&self) -> Vec<TouchedPath> {
        let steps = self.steps.iter();
        steps.map(|step| (step.path.clone(), step.from.first().copied().flatten(), step.to)).collect()
    }
}

/// An entry of a tree that is no folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Leaf {
    kind: EntryKind,
    id: ObjectId,
}

/// What became of a path in the work tree.
enum Placed {
    /// The file holds the new bytes, and this is its stat.
    There(gix::index::entry::Stat),
    /// There is no file, as there should not be.
    Gone,
    /// The user has something else there, and keeps it.
    Kept,
}

/// The steps of a commit, in the order of the module's description.
impl Git {
    /// A handle for this thread.
    fn local(&self) -> gix::Repository {
        let mut repository = self.repository.to_thread_local();
        // A namespace from the environment or the configuration would hide the branch that git shows.
        repository.clear_namespace();
        repository
    }

    /// Waits for the other writers of this repository. The lock ends with the returned file.
    fn take_turn(&self) -> Result<File> {
        let path = self.git_dir.join(LOCK_FILE);
        refuse_link(&path)?;
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(io_error("open", &path))?;
        let since = Instant::now();
        let mut pause = Duration::from_micros(200);
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if since.elapsed() < OWN_LOCK_WAIT => {
                    thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_millis(5));
                }
                Err(TryLockError::WouldBlock) => return Err(GitError::Locked { path: Shown(path) }),
                Err(TryLockError::Error(source)) => return Err(io_error("lock", &path)(source)),
            }
        }
    }

    /// Reads the head so that a `git pack-refs` in the same instant cannot turn it into an older one.
    ///
    /// It moves the branch from its own file to the common one. Who has read the common file before that, and looks
    /// for the branch's own file after it, finds the state of the last packing. Reading once more finds the new one.
    fn head_in(&self, repository: &gix::Repository) -> Result<Head> {
        let mut head = self.head_once(repository)?;
        for _ in 0..RACE_RETRIES {
            let own_file = head.branch.as_ref().map(|branch| self.git_dir.join(branch));
            if own_file.is_none_or(|file| fs::symlink_metadata(file).is_ok()) {
                break;
            }
            let again = self.head_once(repository)?;
            if again == head {
                break;
            }
            head = again;
        }
        Ok(head)
    }

    fn head_once(&self, repository: &gix::Repository) -> Result<Head> {
        let head = repository.head().map_err(self.library("read the head"))?;
        let branch = head.referent_name().map(|name| name.as_bstr().to_str_lossy().into_owned());
        if head.is_unborn() {
            return Ok(Head { branch, commit: None });
        }
        let id = head.into_peeled_id().map_err(self.library("read the head"))?.detach();
        Ok(Head { branch, commit: Some(CommitId(id)) })
    }

    /// Step 4: writes blobs, trees and the commit, and plans the steps of its paths.
    fn draft(
        &self,
        repository: &gix::Repository,
        parent: Option<ObjectId>,
        changes: &[FileChange],
        message: &str,
        at: i64,
    ) -> Result<Draft> {
        let parent_tree = match parent {
            Some(parent) => self.tree_of(repository, parent)?,
            None => ObjectId::empty_tree(gix::hash::Kind::Sha1),
        };
        let mut trees = TreeCache::new(self, repository);
        let mut steps = Vec::with_capacity(changes.len());
        for change in changes {
            let old = trees.leaf(parent_tree, &change.path)?;
            let to = match &change.content {
                None => None,
                Some(content) => {
                    let executable = old.is_some_and(|old| old.kind == EntryKind::BlobExecutable);
                    let kind = if executable { EntryKind::BlobExecutable } else { EntryKind::Blob };
                    Some(Leaf { kind, id: self.write_bytes(repository, Kind::Blob, content)? })
                }
            };
            let content = change.content.clone();
            steps.push(Step {
                path: change.path.clone(),
                from: vec![old],
                to,
                content,
                is_absence_kept: false,
            });
        }
        let mut changed: Vec<_> = steps.iter().filter(|step| !step.from.contains(&step.to)).collect();
        changed.sort_by(|a, b| a.path.cmp(&b.path));
        let changed: Vec<_> = changed.into_iter().map(|step| (step.path.as_str(), step.to)).collect();
        let tree = match changed.as_slice() {
            [] if parent.is_some() => parent_tree,
            changed => self.write_tree(&mut trees, Some(parent_tree), 0, changed)?.unwrap_or(parent_tree),
        };
        let message = clean_message(message);
        let time = raw_time(at);
        let commit = gix::objs::Commit {
            tree,
            parents: parent.into_iter().collect(),
            author: self.author.signature(&time).into(),
            committer: self.committer.signature(&time).into(),
            encoding: None,
            message: message.as_str().into(),
            extra_headers: Vec::new(),
        };
        let commit = self.write_object(repository, &commit)?;
        Ok(Draft { commit, parent, parent_tree, steps, subject: message, time })
    }

    /// Writes the folder `base` with `changes` and every changed folder below it, and says what it is now: `None` when
    /// nothing is left in it. The changes are sorted; their paths go on in this folder from the byte `start`.
    ///
    /// gix's editor would read and decode each tree a second time, and panics where one is out of order.
    fn write_tree(
        &self,
        trees: &mut TreeCache<'_>,
        base: Option<ObjectId>,
        start: usize,
        changes: &[(&str, Option<Leaf>)],
    ) -> Result<Option<ObjectId>> {
        let mut replaced = HashSet::with_capacity(changes.len());
        let mut added: Vec<(&str, EntryKind, ObjectId)> = Vec::with_capacity(changes.len());
        let mut rest = changes;
        while let Some((path, leaf)) = rest.first() {
            let name = &path[start..];
            let (name, entry) = match name.split_once('/') {
                None => {
                    rest = &rest[1..];
                    (name, leaf.map(|leaf| (leaf.kind, leaf.id)))
                }
                Some((folder, _)) => {
                    let next = start + folder.len() + 1;
                    let (below, after) =
                        rest.split_at(rest.partition_point(|(other, _)| other.starts_with(&path[..next])));
                    rest = after;
                    let old = match base {
                        Some(base) => trees.entry(base, folder)?.filter(|(kind, _)| *kind == EntryKind::Tree),
                        None => None,
                    };
                    let new = self.write_tree(trees, old.map(|(_, id)| id), next, below)?;
                    (folder, new.map(|id| (EntryKind::Tree, id)))
                }
            };
            replaced.insert(name.as_bytes());
            added.extend(entry.map(|(kind, id)| (name, kind, id)));
        }
        let is_tree = |kind: EntryKind| kind == EntryKind::Tree;
        added.sort_by(|a, b| {
            gix::objs::tree::name_order(a.0.as_bytes(), is_tree(a.1), b.0.as_bytes(), is_tree(b.1))
        });
        let mut bytes = Vec::new();
        let mut add = |mode: &[u8], name: &[u8], id: &[u8]| {
            for part in [mode, b" ", name, b"\0", id] {
                bytes.extend_from_slice(part);
            }
        };
        let mut added = added.into_iter().peekable();
        let old = match base {
            Some(base) => trees.load(base)?,
            None => &[],
        };
        for entry in entries(old).flatten().filter(|entry| !replaced.contains(entry.filename.as_bytes())) {
            let comes_first = |(name, kind, _): &(&str, EntryKind, ObjectId)| {
                let name = name.as_bytes();
                gix::objs::tree::name_order(name, is_tree(*kind), entry.filename, entry.mode.is_tree())
                    .is_lt()
            };
            while let Some((name, kind, id)) = added.next_if(comes_first) {
                add(kind.as_octal_str(), name.as_bytes(), id.as_slice());
            }
            add(entry.mode.as_bytes(&mut [0; 6]), entry.filename, entry.oid.as_bytes());
        }
        for (name, kind, id) in added {
            add(kind.as_octal_str(), name.as_bytes(), id.as_slice());
        }
        if bytes.is_empty() && start > 0 {
            return Ok(None);
        }
        self.write_bytes(trees.repository, Kind::Tree, &bytes).map(Some)
    }

    fn write_object(&self, repository: &gix::Repository, object: &dyn WriteTo) -> Result<ObjectId> {
        let mut bytes = Vec::with_capacity(1024);
        let written = object.write_to(&mut bytes);
        written.map_err(|source| io_error("write an object to", &self.git_dir)(io::Error::other(source)))?;
        self.write_bytes(repository, object.kind(), &bytes)
    }

    /// Writes without asking whether the object exists: a handle from before a `git gc` still sees objects of packs
    /// that are gone, and would leave out one that the new commit needs.
    fn write_bytes(&self, repository: &gix::Repository, kind: Kind, bytes: &[u8]) -> Result<ObjectId> {
        let mut attempts = 0;
        loop {
            match repository.objects.write_buf(kind, bytes) {
                Ok(id) => return Ok(id),
                // A `git gc` has removed the empty folder between its creation and the object's.
                Err(_) if attempts < RACE_RETRIES => attempts += 1,
                Err(source) => return Err(self.library("write an object")(source)),
            }
        }
    }

    /// Steps 6 to 10, with the lock of git's index taken. An error means that the head has not moved; `false` that it
    /// has, but the index was not put into place.
    fn publish(
        &self,
        repository: &gix::Repository,
        draft: &Draft,
        lock: Option<IndexLock>,
        mut journal: Option<&mut Journal>,
    ) -> Result<bool> {
        let mut lock = lock;
        if let (Some(work_dir), Some(lock)) = (&self.work_dir, &mut lock) {
            self.prepare_index(
                repository,
                work_dir,
                draft.parent_tree,
                &draft.steps,
                lock,
                journal.as_deref_mut(),
            )?;
        }
        if let Some(journal) = journal {
            // The journal's time is what tells our empty lock files from those of others.
            journal.add("publish")?;
        }
        self.move_head(repository, draft)?;
        Ok(lock.is_none_or(|lock| lock.put_into_place().is_ok()))
    }

    /// Steps 6 to 8: notes in the journal which file the lock of git's index is, brings the work tree to the steps'
    /// end, and writes the new index into the lock file.
    fn prepare_index(
        &self,
        repository: &gix::Repository,
        work_dir: &Path,
        base_tree: ObjectId,
        steps: &[Step],
        lock: &mut IndexLock,
        journal: Option<&mut Journal>,
    ) -> Result<()> {
        if let Some(journal) = journal {
            journal.add(&format!("index-lock {}", lock.identity()?))?;
        }
        let mut index = self.load_index(repository, base_tree)?;
        let staging = self.git_dir.join(STAGING_FILE);
        let mut placed = Vec::with_capacity(steps.len());
        for step in steps {
            placed.push(self.place(repository, work_dir, &staging, step)?);
        }
        update_index(&mut index, steps, &placed);
        let skip_hash = repository.config_snapshot().boolean("index.skipHash").unwrap_or(false);
        let options = gix::index::write::Options { skip_hash, ..Default::default() };
        let mut out = BufWriter::with_capacity(64 * 1024, &mut lock.file);
        let written = index.write_to(&mut out, options);
        written.map_err(|source| GitError::Index { path: shown(&lock.path), source: Box::new(source) })?;
        out.flush().map_err(io_error("write", &lock.path))
    }

    /// Step 9.
    fn move_head(&self, repository: &gix::Repository, draft: &Draft) -> Result<()> {
        let name = FullName::try_from("HEAD").map_err(|source| GitError::Library {
            action: "name the head",
            path: self.shown(),
            source: Box::new(gix::Error::from_error(source)),
        })?;
        let expected = match draft.parent {
            Some(parent) => PreviousValue::MustExistAndMatch(Target::Object(parent)),
            None => PreviousValue::MustNotExist,
        };
        let parents = usize::from(draft.parent.is_some());
        let log = gix::reference::log::message("commit", BStr::new(&draft.subject), parents);
        // Through HEAD and not by the branch's name, so that both get their line in the reflog.
        let edit = RefEdit::update(name, draft.commit, expected, log).with_deref(true);
        let signature = self.committer.signature(&draft.time);
        let mut attempts = 0;
        loop {
            let moved = repository.edit_references_as(Some(edit.clone()), Some(signature));
            let Err(source) = moved else { return Ok(()) };
            let head = self.head_in(repository)?;
            let now = head.commit.map(|commit| commit.0);
            if now == Some(draft.commit) {
                return Ok(());
            }
            if let Some(parent) = draft.parent.filter(|parent| now != Some(*parent)) {
                return Err(GitError::HeadMoved {
                    path: self.shown(),
                    expected: CommitId(parent),
                    actual: head.commit,
                });
            }
            // The head is what it should be, and gix saw another: see `head_in`.
            let saw_older =
                source.downcast_any_ref::<ReferenceOutOfDate>().is_some() || source.is_not_found();
            attempts += 1;
            if !saw_older || attempts > RACE_RETRIES {
                return Err(self.reference_error("move the head", &head_references(&head), source));
            }
        }
    }

    /// Recovers what the writer of a journal left. The caller holds the lock, so that writer is dead.
    fn recover_in(&self, repository: &gix::Repository) -> Result<bool> {
        let Some((mut journal, leftover)) = Journal::read(&self.git_dir)? else { return Ok(false) };
        for name in leftover.references.iter().map(String::as_str).chain(["packed-refs", "index"]) {
            leftover.remove_stale(&self.git_dir.join(format!("{name}.lock")))?;
        }
        remove_if_there(&self.git_dir.join(STAGING_FILE))?;
        self.bring_to_head(repository, leftover.paths, &mut journal)?;
        journal.finish();
        Ok(true)
    }

    /// Brings the paths of a commit that did not end to what the head says.
    ///
    /// With the head still at the old commit, files that hold the new bytes go back to the old ones; with the head at
    /// the new commit, files and entries that are still the old ones follow it.
    fn bring_to_head(
        &self,
        repository: &gix::Repository,
        paths: Vec<TouchedPath>,
        journal: &mut Journal,
    ) -> Result<()> {
        let Some(work_dir) = self.work_dir.as_ref().filter(|_| !paths.is_empty()) else { return Ok(()) };
        let tree = match self.head_in(repository)?.commit {
            Some(commit) => self.tree_of(repository, commit.0)?,
            None => ObjectId::empty_tree(gix::hash::Kind::Sha1),
        };
        let mut trees = TreeCache::new(self, repository);
        let mut steps = Vec::with_capacity(paths.len());
        for (path, old, new) in paths {
            let to = match trees.leaf(tree, &path) {
                Ok(to) => to,
                // Someone has since made a folder of the file. It is theirs.
                Err(GitError::PathConflict { .. }) => continue,
                Err(error) => return Err(error),
            };
            let content = match to {
                Some(leaf) if is_file(leaf.kind) => Some(self.object(repository, leaf.id, Kind::Blob)?),
                _ => None,
            };
            // Files are written before the head moves: with the head at the new commit, one that is absent was
            // deleted by the user.
            steps.push(Step { path, from: vec![old, new], to, content, is_absence_kept: to == new });
        }
        let mut lock = IndexLock::take(&self.git_dir)?;
        self.prepare_index(repository, work_dir, tree, &steps, &mut lock, Some(journal))?;
        lock.put_into_place()
    }

    /// Brings one path of the work tree to the step's end, if it is in one of the states the step starts from.
    fn place(
        &self,
        repository: &gix::Repository,
        work_dir: &Path,
        staging: &Path,
        step: &Step,
    ) -> Result<Placed> {
        let target = work_dir.join(&step.path);
        let Some(missing_folders) = missing_folders(work_dir, &step.path)? else { return Ok(Placed::Kept) };
        let metadata = if missing_folders.is_empty() { optional_metadata(&target)? } else { None };
        let is_there = match &metadata {
            None => None,
            Some(metadata) if metadata.is_file() => {
                Some(self.file_state(repository, &target, metadata, step)?)
            }
            Some(_) => return Ok(Placed::Kept),
        };
        // `is_there` is None for no file, and otherwise the known state it is in, if any.
        let already = match (is_there, step.to) {
            (None, None) => true,
            (Some(Some(id)), Some(to)) => is_file(to.kind) && id == to.id,
            _ => false,
        };
        if !already {
            let ours = step.from.iter().any(|from| match (is_there, from) {
                (None, None) => !step.is_absence_kept,
                (Some(Some(id)), Some(from)) => is_file(from.kind) && id == from.id,
                _ => false,
            });
            match (&step.content, step.to) {
                _ if !ours => return Ok(Placed::Kept),
                (Some(content), Some(to)) if is_file(to.kind) => {
                    for folder in &missing_folders {
                        fs::create_dir(folder).map_err(io_error("create", folder))?;
                    }
                    write_file(staging, &target, content, metadata.as_ref(), to.kind)?;
                }
                (None, None) => {
                    fs::remove_file(&target).map_err(io_error("remove", &target))?;
                    remove_empty_folders(work_dir, &target);
                }
                // The head has a link or a submodule there, which is not ours to make.
                _ => return Ok(Placed::Kept),
            }
        }
        if step.to.is_none() {
            return Ok(Placed::Gone);
        }
        let metadata =
            gix::index::fs::Metadata::from_path_no_follow(&target).map_err(io_error("look at", &target))?;
        Ok(match gix::index::entry::Stat::from_fs(&metadata) {
            Ok(stat) => Placed::There(stat),
            // A time before 1970: git looks at the content instead.
            Err(_) => Placed::Kept,
        })
    }

    /// The id of the file's bytes if they can be those of a state of `step`. A file of another length is not read.
    fn file_state(
        &self,
        repository: &gix::Repository,
        target: &Path,
        metadata: &fs::Metadata,
        step: &Step,
    ) -> Result<Option<ObjectId>> {
        let mut possible =
            step.content.as_ref().is_some_and(|content| content.len() as u64 == metadata.len());
        for leaf in step.from.iter().flatten().filter(|leaf| is_file(leaf.kind)) {
            possible = possible || self.blob_size(repository, leaf.id)? == metadata.len();
        }
        if !possible {
            return Ok(None);
        }
        let bytes = fs::read(target).map_err(io_error("read", target))?;
        let id = gix::objs::compute_hash(gix::hash::Kind::Sha1, Kind::Blob, &bytes);
        id.map(Some).map_err(self.library("hash a file"))
    }

    /// git's index, or one that is in step with `base_tree` where there is none.
    fn load_index(&self, repository: &gix::Repository, base_tree: ObjectId) -> Result<gix::index::File> {
        let path = self.git_dir.join("index");
        refuse_link(&path)?;
        let failed = |source| GitError::Index { path: shown(&path), source: Box::new(source) };
        if optional_metadata(&path)?.is_none() {
            return self.index_of_tree(repository, base_tree, path.clone());
        }
        // As git does, without hashing the whole file first; one thread, since starting more costs more than it saves.
        let options = gix::index::decode::Options { thread_limit: Some(1), ..Default::default() };
        let index = gix::index::File::at(&path, gix::hash::Kind::Sha1, true, options).map_err(failed)?;
        if index.is_sparse() {
            return Err(GitError::Unsupported {
                path: self.shown(),
                reason: "its index is sparse",
                hint: "Run `git sparse-checkout disable` there",
            });
        }
        Ok(index)
    }

    /// An index in step with `tree`. Not by gix, which trusts a tree's shape.
    fn index_of_tree(
        &self,
        repository: &gix::Repository,
        tree: ObjectId,
        path: PathBuf,
    ) -> Result<gix::index::File> {
        use gix::index::entry::{Flags, Mode, Stat};

        let mut state = gix::index::State::new(gix::hash::Kind::Sha1);
        let mut paths = HashSet::new();
        for file in TreeWalk::files(self, repository, tree)? {
            let mode = match file.kind {
                FileKind::File => Mode::FILE,
                FileKind::Executable => Mode::FILE_EXECUTABLE,
                FileKind::Symlink => Mode::SYMLINK,
                FileKind::Submodule => Mode::COMMIT,
                FileKind::Unsafe => continue,
            };
            if !paths.contains(&file.path) {
                state.dangerously_push_entry(
                    Stat::default(),
                    file.blob.0,
                    Flags::empty(),
                    mode,
                    BStr::new(&file.path),
                );
                paths.insert(file.path);
            }
        }
        state.sort_entries();
        Ok(gix::index::File::from_state(state, path))
    }
}

/// Reading objects.
impl Git {
    /// The bytes of an object that must be there and of `kind`.
    fn object(&self, repository: &gix::Repository, id: ObjectId, kind: Kind) -> Result<Vec<u8>> {
        match repository.try_find_object(id).map_err(self.library("read an object"))? {
            Some(object) if object.kind == kind => Ok(object.detach().data),
            _ => Err(self.missing(kind, id)),
        }
    }

    fn blob_size(&self, repository: &gix::Repository, id: ObjectId) -> Result<u64> {
        match repository.try_find_header(id).map_err(self.library("read the size of an object"))? {
            Some(header) if header.kind() == Kind::Blob => Ok(header.size()),
            _ => Err(self.missing(Kind::Blob, id)),
        }
    }

    /// Whether the object is a file of its own, so small that it cannot decompress to more than `max_len` bytes. That
    /// saves opening it twice.
    fn is_surely_below(&self, id: ObjectId, max_len: u64) -> bool {
        const MAX_COMPRESSION: u64 = 1032;
        let name = id.to_string();
        let path = self.git_dir.join("objects").join(&name[..2]).join(&name[2..]);
        fs::symlink_metadata(path).is_ok_and(|file| file.len().saturating_mul(MAX_COMPRESSION) <= max_len)
    }

    fn tree_of(&self, repository: &gix::Repository, commit: ObjectId) -> Result<ObjectId> {
        let data = self.object(repository, commit, Kind::Commit)?;
        let mut fields = gix::objs::CommitRefIter::from_bytes(&data, gix::hash::Kind::Sha1);
        fields.tree_id().map_err(self.library("read a commit"))
    }

    fn shown(&self) -> Shown {
        shown(self.work_dir.as_ref().unwrap_or(&self.git_dir))
    }

    fn missing(&self, kind: Kind, id: ObjectId) -> GitError {
        let wanted = match kind {
            Kind::Blob => "file",
            Kind::Tree => "tree",
            Kind::Commit => "commit",
            Kind::Tag => "tag",
        };
        GitError::Missing { path: self.shown(), wanted, id: id.to_string() }
    }

    fn library(&self, action: &'static str) -> impl Fn(gix::Error) -> GitError + '_ {
        move |source| GitError::Library { action, path: self.shown(), source: Box::new(source) }
    }

    /// Tells a lock from other failures of changing a reference.
    fn reference_error(&self, action: &'static str, references: &[String], source: gix::Error) -> GitError {
        if source.is_retryable() {
            let names = references.iter().map(String::as_str).chain(["packed-refs"]);
            let locks = names.map(|name| self.git_dir.join(format!("{name}.lock")));
            let held = locks.into_iter().find(|lock| fs::symlink_metadata(lock).is_ok());
            return GitError::Locked { path: Shown(held.unwrap_or_else(|| self.git_dir.join("HEAD.lock"))) };
        }
        self.library(action)(source)
    }
}

/// The note of what a commit is about to touch, for whoever comes after a kill.
///
/// It is text, one fact per line. The line `ready` says that it is whole; nothing is touched before that.
struct Journal {
    path: PathBuf,
    file: File,
}

/// A journal whose writer is dead.
struct Leftover {
    /// The id that its reference locks hold.
    target: ObjectId,
    references: Vec<String>,
    paths: Vec<TouchedPath>,
    /// Which files named `index.lock` were its own.
    index_locks: Vec<String>,
    written: SystemTime,
}

impl Journal {
    fn begin(git_dir: &Path, target: ObjectId, references: &[String], steps: &[Step]) -> Result<Journal> {
        let mut text = format!("{JOURNAL_FIRST_LINE}\ntarget {target}\n");
        for name in references {
            text.push_str(&format!("reference {name}\n"));
        }
        for step in steps {
            let old = step.from.first().copied().flatten();
            text.push_str(&format!("path {} {} {}\n", leaf_text(old), leaf_text(step.to), step.path));
        }
        text.push_str("ready\n");
        let path = git_dir.join(JOURNAL_FILE);
        refuse_link(&path)?;
        let file = OpenOptions::new().append(true).create(true).open(&path);
        let mut file = file.map_err(io_error("open", &path))?;
        file.write_all(text.as_bytes()).map_err(io_error("write", &path))?;
        Ok(Journal { path, file })
    }

    fn add(&mut self, line: &str) -> Result<()> {
        self.file.write_all(format!("{line}\n").as_bytes()).map_err(io_error("write", &self.path))
    }

    /// Empties the journal. It is not deleted: file systems are slow where files come and go. One that cannot be
    /// emptied is recovered from again, which does nothing.
    fn finish(self) {
        let _ = self.file.set_len(0);
    }

    /// The journal of a dead process, if it touched anything.
    fn read(git_dir: &Path) -> Result<Option<(Journal, Leftover)>> {
        let path = git_dir.join(JOURNAL_FILE);
        let Some(metadata) = optional_metadata(&path)?.filter(|metadata| metadata.len() > 0) else {
            return Ok(None);
        };
        refuse_link(&path)?;
        let file = OpenOptions::new().read(true).append(true).open(&path);
        let mut journal = Journal { file: file.map_err(io_error("open", &path))?, path };
        let mut bytes = Vec::new();
        let read = (&mut journal.file).take(MAX_TREE_BYTES as u64).read_to_end(&mut bytes);
        read.map_err(io_error("read", &journal.path))?;
        let written = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        match std::str::from_utf8(&bytes).ok().and_then(|text| Leftover::parse(text, written)) {
            Some(leftover) => Ok(Some((journal, leftover))),
            None => {
                // Cut off before `ready`.
                journal.finish();
                Ok(None)
            }
        }
    }
}

impl Leftover {
    /// Whoever may have written the text, no path leads out of the repository.
    fn parse(text: &str, written: SystemTime) -> Option<Leftover> {
        let (facts, rest) = text.split_once("\nready\n")?;
        let mut lines = facts.lines();
        if lines.next() != Some(JOURNAL_FIRST_LINE) {
            return None;
        }
        let target = ObjectId::from_hex(lines.next()?.strip_prefix("target ")?.as_bytes()).ok()?;
        let mut leftover =
            Leftover { target, references: Vec::new(), paths: Vec::new(), index_locks: Vec::new(), written };
        for line in lines {
            match line.split_once(' ')? {
                ("reference", name) if name == "HEAD" || name.starts_with("refs/") => {
                    leftover.references.push(FullName::try_from(name).ok()?.as_bstr().to_string());
                }
                ("path", fact) => {
                    let mut parts = fact.splitn(3, ' ');
                    let (old, new) = (parse_leaf(parts.next()?)?, parse_leaf(parts.next()?)?);
                    let path = parts.next()?;
                    check_path(path).ok()?;
                    leftover.paths.push((path.to_owned(), old, new));
                }
                _ => return None,
            }
        }
        // The last line may be cut off; an identity that is not whole matches nothing.
        let locks = rest
            .split_inclusive('\n')
            .filter_map(|line| line.strip_suffix('\n')?.strip_prefix("index-lock "));
        leftover.index_locks = locks.map(str::to_owned).collect();
        Some(leftover)
    }

    /// Removes the lock file at `path` if the dead process made it; otherwise waits a little for its holder.
    fn remove_stale(&self, path: &Path) -> Result<()> {
        let since = Instant::now();
        loop {
            let Some(metadata) = optional_metadata(path)? else { return Ok(()) };
            let waited = since.elapsed() >= FOREIGN_LOCK_WAIT;
            if self.made(path, &metadata, waited) {
                return remove_if_there(path);
            }
            if waited {
                return Err(GitError::Locked { path: shown(path) });
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Whether the dead process made this lock file: the index's by its identity, a reference's by the id in it. Both
    /// are empty for an instant after their creation; one that is still empty after waiting, and as old as the
    /// journal, is ours too. So is one for the index, if the journal says that we had it.
    fn made(&self, path: &Path, metadata: &fs::Metadata, waited: bool) -> bool {
        if !metadata.is_file() {
            return false;
        }
        if self.index_locks.contains(&file_identity(metadata)) {
            return true;
        }
        let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        let apart = modified.duration_since(self.written).unwrap_or_else(|error| error.duration());
        let is_of_that_moment = waited && apart <= SAME_MOMENT;
        if metadata.len() == 0 {
            return is_of_that_moment;
        }
        // In a copy of the folder, and where a restart renumbers the devices, our lock has another identity.
        if is_of_that_moment && !self.index_locks.is_empty() && path.ends_with("index.lock") {
            return true;
        }
        // An id and a line feed; an index is longer.
        metadata.len() <= 41
            && fs::read(path).is_ok_and(|bytes| bytes.trim() == self.target.to_string().as_bytes())
    }
}

/// Our hold on git's index, by the file that all git programs use for it. Dropped, it gives up.
struct IndexLock {
    path: PathBuf,
    index: PathBuf,
    file: File,
    is_done: bool,
}

impl IndexLock {
    fn take(git_dir: &Path) -> Result<IndexLock> {
        let path = git_dir.join("index.lock");
        let since = Instant::now();
        loop {
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => {
                    return Ok(IndexLock { path, index: git_dir.join("index"), file, is_done: false });
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    if since.elapsed() >= FOREIGN_LOCK_WAIT {
                        return Err(GitError::Locked { path: Shown(path) });
                    }
                    thread::sleep(Duration::from_millis(5));
                }
                Err(error) => return Err(io_error("create", &path)(error)),
            }
        }
    }

    fn identity(&self) -> Result<String> {
        let metadata = self.file.metadata().map_err(io_error("look at", &self.path))?;
        Ok(file_identity(&metadata))
    }

    fn put_into_place(mut self) -> Result<()> {
        fs::rename(&self.path, &self.index).map_err(io_error("replace", &self.index))?;
        self.is_done = true;
        Ok(())
    }
}

impl Drop for IndexLock {
    fn drop(&mut self) {
        if !self.is_done {
            // A lock that cannot be removed is known by the journal.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Trees read once, to look up the paths of a commit in.
struct TreeCache<'a> {
    git: &'a Git,
    repository: &'a gix::Repository,
    trees: HashMap<ObjectId, Vec<u8>>,
}

impl<'a> TreeCache<'a> {
    fn new(git: &'a Git, repository: &'a gix::Repository) -> Self {
        TreeCache { git, repository, trees: HashMap::new() }
    }

    /// What the tree `root` has at `path`.
    fn leaf(&mut self, root: ObjectId, path: &str) -> Result<Option<Leaf>> {
        let conflict = |blocker: &str, is| GitError::PathConflict {
            path: path.to_owned(),
            blocker: blocker.to_owned(),
            is,
        };
        let mut folder = root;
        let mut end = 0;
        for part in path.split('/') {
            end += part.len();
            let is_last = end == path.len();
            let Some((kind, id)) = self.entry(folder, part)? else { return Ok(None) };
            match (kind, is_last) {
                (EntryKind::Tree, false) => folder = id,
                (EntryKind::Tree, true) => return Err(conflict(path, "a folder")),
                (_, true) => return Ok(Some(Leaf { kind, id })),
                (_, false) => return Err(conflict(&path[..end], "a file")),
            }
            end += 1;
        }
        Ok(None)
    }

    fn entry(&mut self, tree: ObjectId, name: &str) -> Result<Option<(EntryKind, ObjectId)>> {
        let found = entries(self.load(tree)?).flatten().find(|entry| entry.filename == name);
        Ok(found.map(|entry| (entry.mode.kind(), entry.oid.to_owned())))
    }

    /// The bytes of a tree whose entries are in order.
    fn load(&mut self, tree: ObjectId) -> Result<&[u8]> {
        if !self.trees.contains_key(&tree) {
            let data = self.git.object(self.repository, tree, Kind::Tree)?;
            check_order(&data).map_err(|reason| GitError::Damaged {
                path: self.git.shown(),
                id: tree.to_string(),
                reason,
            })?;
            self.trees.insert(tree, data);
        }
        Ok(self.trees.get(&tree).map(Vec::as_slice).unwrap_or_default())
    }
}

/// The collection of a commit's files, under the caps.
struct TreeWalk<'a> {
    git: &'a Git,
    repository: &'a gix::Repository,
    what: String,
    entries: usize,
    bytes: usize,
    files: Vec<TreeFile>,
}

impl<'a> TreeWalk<'a> {
    fn files(git: &'a Git, repository: &'a gix::Repository, tree: ObjectId) -> Result<Vec<TreeFile>> {
        let mut walk = TreeWalk {
            git,
            repository,
            what: format!("the tree {tree}"),
            entries: 0,
            bytes: 0,
            files: Vec::new(),
        };
        walk.folder(tree, "", 0, true)?;
        Ok(walk.files)
    }

    fn folder(&mut self, tree: ObjectId, prefix: &str, depth: usize, is_safe: bool) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(self.too_much(format!("{MAX_DEPTH} levels of folders")));
        }
        let data = self.git.object(self.repository, tree, Kind::Tree)?;
        self.bytes += data.len();
        for entry in entries(&data) {
            let entry = entry.map_err(|source| GitError::Damaged {
                path: self.git.shown(),
                id: tree.to_string(),
                reason: source.to_string(),
            })?;
            let path = format!("{prefix}{}", entry.filename.to_str_lossy());
            self.entries += 1;
            self.bytes += path.len();
            if self.entries > MAX_ENTRIES {
                return Err(self.too_much(format!("{MAX_ENTRIES} entries")));
            }
            if self.bytes > MAX_TREE_BYTES {
                return Err(self.too_much(format!("{MAX_TREE_BYTES} bytes of folders and paths")));
            }
            let is_safe = is_safe && is_safe_name(entry.filename);
            let kind = match entry.mode.kind() {
                EntryKind::Tree => {
                    self.folder(entry.oid.to_owned(), &format!("{path}/"), depth + 1, is_safe)?;
                    continue;
                }
                _ if !is_safe => FileKind::Unsafe,
                EntryKind::Blob => FileKind::File,
                EntryKind::BlobExecutable => FileKind::Executable,
                EntryKind::Link => FileKind::Symlink,
                EntryKind::Commit => FileKind::Submodule,
            };
            self.files.push(TreeFile { path, blob: BlobId(entry.oid.to_owned()), kind });
        }
        Ok(())
    }

    fn too_much(&self, limit: String) -> GitError {
        GitError::TooMuch { path: self.git.shown(), what: self.what.clone(), limit }
    }
}

/// Collects the files of a difference, under the caps.
#[derive(Default)]
struct FileChanges {
    /// It keeps the current path.
    recorder: gix::diff::tree::Recorder,
    seen: usize,
    bytes: usize,
    found: Vec<PathChange>,
}

impl gix::diff::tree::Visit for FileChanges {
    fn pop_front_tracked_path_and_set_current(&mut self) {
        self.recorder.pop_front_tracked_path_and_set_current();
    }

    fn push_back_tracked_path_component(&mut self, component: &BStr) {
        self.recorder.push_back_tracked_path_component(component);
    }

    fn push_path_component(&mut self, component: &BStr) {
        self.recorder.push_path_component(component);
    }

    fn pop_path_component(&mut self) {
        self.recorder.pop_path_component();
    }

    fn visit(&mut self, change: gix::diff::tree::visit::Change) -> gix::diff::tree::visit::Action {
        use gix::diff::tree::visit::Change;

        let path = self.recorder.path();
        self.seen += 1;
        self.bytes += path.len();
        let depth = path.find_iter("/").count();
        if self.seen > MAX_ENTRIES || self.bytes > MAX_TREE_BYTES || depth > MAX_DEPTH {
            return std::ops::ControlFlow::Break(());
        }
        let file = |mode: gix::objs::tree::EntryMode, id| is_file(mode.kind()).then_some(BlobId(id));
        let (before, after) = match change {
            Change::Addition { entry_mode, oid, .. } => (None, file(entry_mode, oid)),
            Change::Deletion { entry_mode, oid, .. } => (file(entry_mode, oid), None),
            Change::Modification { previous_entry_mode, previous_oid, entry_mode, oid } => {
                (file(previous_entry_mode, previous_oid), file(entry_mode, oid))
            }
        };
        if before != after {
            self.found.push(PathChange { path: path.to_str_lossy().into_owned(), before, after });
        }
        std::ops::ControlFlow::Continue(())
    }
}

/// A person as commits name them.
struct Identity {
    name: String,
    email: String,
}

impl Identity {
    fn signature<'a>(&'a self, time: &'a str) -> gix::actor::SignatureRef<'a> {
        gix::actor::SignatureRef { name: BStr::new(&self.name), email: BStr::new(&self.email), time }
    }
}

/// Who `role` (`author` or `committer`) is: the environment, then the configuration for the role, then the user's.
fn identity(repository: &gix::Repository, role: &str) -> Identity {
    let snapshot = repository.config_snapshot();
    let value = |key: &str| {
        // A stranger's repository does not say who we are.
        let value = snapshot.plumbing().string_filter(key, gix::config::section::is_trusted)?;
        Some(clean_name(&value)).filter(|value| !value.is_empty())
    };
    let either = |part: &str| value(&format!("{role}.{part}")).or_else(|| value(&format!("user.{part}")));
    let email = either("email").or_else(|| value("gitoxide.user.emailFallback"));
    Identity {
        name: either("name").unwrap_or_else(|| FALLBACK_NAME.to_owned()),
        email: email.unwrap_or_else(|| FALLBACK_EMAIL.to_owned()),
    }
}

/// A name without what would end it in a commit, and without the same characters at its ends as git.
fn clean_name(value: &BString) -> String {
    let text = value.to_str_lossy();
    let kept: String = text.chars().filter(|c| !c.is_control() && !matches!(c, '<' | '>')).collect();
    kept.trim_matches(|c: char| c.is_whitespace() || matches!(c, '.' | ',' | ':' | ';' | '"' | '\\' | '\''))
        .to_owned()
}

/// A message as git stores it: without the zero byte, which `git fsck` rejects, and with a line feed at its end.
fn clean_message(message: &str) -> String {
    let mut message = message.replace('\0', "\u{fffd}");
    if !message.ends_with('\n') {
        message.push('\n');
    }
    message
}

/// git has no times before 1970.
fn raw_time(at: i64) -> String {
    format!("{} +0000", at.max(0))
}

/// Builds a repository in the empty folder `aside`.
fn build_aside(
    configuration: Configuration,
    aside: &Path,
    files: &[FileChange],
    message: &str,
    at: i64,
) -> Result<ObjectId> {
    let created = gix::ThreadSafeRepository::init_opts(
        aside,
        gix::create::Kind::WithWorktree,
        gix::create::Options::default(),
        open_options(configuration),
    );
    created.map_err(|source| GitError::Library {
        action: "create a repository",
        path: shown(aside),
        source: Box::new(source),
    })?;
    // Sample hooks are only in the way of a reader.
    let hooks = aside.join(".git").join("hooks");
    fs::remove_dir_all(&hooks).map_err(io_error("remove", &hooks))?;
    let git = Git::open_with(configuration, aside)?;
    let repository = git.local();
    let draft = git.draft(&repository, None, files, message, at)?;
    // No journal: a kill leaves a hidden folder that is no repository yet.
    let lock = IndexLock::take(&git.git_dir)?;
    match git.publish(&repository, &draft, Some(lock), None)? {
        true => Ok(draft.commit),
        false => Err(GitError::Io {
            action: "replace",
            path: shown(&git.git_dir.join("index")),
            source: io::Error::other("the index could not be renamed"),
        }),
    }
}

fn open_options(configuration: Configuration) -> gix::open::Options {
    use gix::open::permissions::{Attributes, Config, Environment};
    use gix::sec::Permission::{Allow, Deny};

    let permissions = match configuration {
        Configuration::Isolated => gix::open::Permissions::isolated(),
        Configuration::User => gix::open::Permissions {
            config: Config::all(),
            attributes: Attributes::isolated(),
            // `git_prefix` holds GIT_CONFIG_GLOBAL and its like; what else it lets in is undone or refused.
            env: Environment {
                xdg_config_home: Allow,
                home: Allow,
                identity: Allow,
                git_prefix: Allow,
                objects: Deny,
                http_transport: Deny,
                ssh_prefix: Deny,
                other: Deny,
            },
        },
    };
    gix::open::Options::default().permissions(permissions).lossy_config(true).config_overrides([
        "init.defaultBranch=main",
        // What an id names must be what is stored under it.
        "core.useReplaceRefs=false",
        // In milliseconds: as long as for git's index.
        "core.filesRefLockTimeout=1000",
        "core.packedRefsTimeout=1000",
        ALLOCATION_LIMIT,
    ])
}

/// The git folder of `dir`, and whether `dir` is its work tree.
fn locate(dir: &Path) -> Result<(PathBuf, bool)> {
    let inner = dir.join(".git");
    match optional_metadata(&inner)? {
        Some(metadata) if metadata.is_dir() => Ok((inner, true)),
        Some(metadata) if metadata.is_symlink() => Err(GitError::Refused {
            path: Shown(inner),
            reason: "is a symbolic link",
            hint: "Open the repository it leads to, or make a clone",
        }),
        Some(_) => Err(GitError::Refused {
            path: Shown(inner),
            reason: "is a file that leads to another folder",
            hint: "Open the main work tree, or make a clone",
        }),
        None if dir.join("HEAD").is_file() && dir.join("objects").is_dir() => Ok((dir.to_owned(), false)),
        None => Err(GitError::NotARepository { path: shown(dir), source: None }),
    }
}

/// Refuses what would make git read or write outside of `git_dir`, and what gix does not read.
fn check_layout(git_dir: &Path) -> Result<()> {
    for name in [
        "HEAD",
        "index",
        "logs",
        "objects",
        "objects/info",
        "objects/pack",
        "packed-refs",
        "refs",
        "refs/heads",
        "refs/tags",
    ] {
        refuse_link(&git_dir.join(name))?;
    }
    for (name, reason, hint) in [
        ("commondir", "leads to another repository", "Open the main work tree, or make a clone"),
        (
            "objects/info/alternates",
            "leads to the objects of another repository",
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

/// Compares where gix would read and write with where it should.
fn check_where_it_leads(
    local: &gix::Repository,
    dir: &Path,
    git_dir: &Path,
    has_work_tree: bool,
) -> Result<()> {
    let storage = local.config_snapshot().string("extensions.refStorage");
    if storage.is_some_and(|storage| !storage.eq_ignore_ascii_case(b"files")) {
        return Err(unsupported_references(git_dir));
    }
    let real = |path: &Path| fs::canonicalize(path).map_err(io_error("find", path));
    let expected = real(git_dir)?;
    if real(local.git_dir())? != expected || real(local.common_dir())? != expected {
        return Err(GitError::Refused {
            path: shown(git_dir),
            reason: "leads to another repository",
            hint: "Open that one, or make a clone",
        });
    }
    let leads_out = match local.workdir() {
        None => false,
        // A work tree that does not even exist is not ours either.
        Some(work_dir) => !has_work_tree || fs::canonicalize(work_dir).ok() != Some(real(dir)?),
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

fn unsupported_references(git_dir: &Path) -> GitError {
    GitError::Unsupported {
        path: shown(git_dir),
        reason: "its references are stored in the reftable format",
        hint: "Run `git refs migrate --ref-format=files` there",
    }
}

fn open_error(dir: &Path, git_dir: &Path, source: gix::Error) -> GitError {
    // The format is looked up only now: most repositories open.
    let config = fs::read_to_string(git_dir.join("config")).unwrap_or_default().to_ascii_lowercase();
    let formats = config.lines().filter_map(|line| line.trim().strip_prefix("objectformat"));
    if formats.into_iter().any(|value| value.contains("sha256")) {
        return GitError::Unsupported {
            path: shown(dir),
            reason: "its object ids are sha256",
            hint: "Make a repository with `git init --object-format=sha1` and copy the files",
        };
    }
    GitError::NotARepository { path: shown(dir), source: Some(Box::new(source)) }
}

fn check_changes(changes: &[FileChange]) -> Result<()> {
    let mut paths = HashSet::with_capacity(changes.len());
    for change in changes {
        check_path(&change.path)?;
        if !paths.insert(change.path.as_str()) {
            let reason = "it is changed twice".to_owned();
            return Err(GitError::InvalidPath { path: change.path.clone(), reason });
        }
    }
    for change in changes.iter().filter(|change| change.content.is_some()) {
        let folders = change.path.match_indices('/').map(|(at, _)| &change.path[..at]);
        if let Some(blocker) = folders.into_iter().find(|folder| paths.contains(folder)) {
            return Err(GitError::PathConflict {
                path: change.path.clone(),
                blocker: blocker.to_owned(),
                is: "a file",
            });
        }
    }
    Ok(())
}

/// Accepts only what every platform's git can check out.
fn check_path(path: &str) -> Result<()> {
    let invalid = |reason: String| GitError::InvalidPath { path: path.to_owned(), reason };
    if path.split('/').count() > MAX_DEPTH {
        return Err(invalid(format!("it has more than {MAX_DEPTH} parts")));
    }
    for part in path.split('/') {
        if part.chars().any(|c| c == '\\' || c.is_control()) {
            return Err(invalid("it has a backslash or a control character".to_owned()));
        }
        gix::validate::path::component(BStr::new(part), None, Default::default())
            .map_err(|error| invalid(error.to_string()))?;
    }
    Ok(())
}

/// Whether a name of a stranger's tree can be a file's: not what is only bad on another platform.
fn is_safe_name(name: &BStr) -> bool {
    let options = gix::validate::path::component::Options { protect_windows: false, ..Default::default() };
    name.to_str().is_ok()
        && !name.contains(&0)
        && !name.contains(&b'\\')
        && gix::validate::path::component(name, None, options).is_ok()
}

fn entries(data: &[u8]) -> impl Iterator<Item = std::result::Result<EntryRef<'_>, gix::Error>> {
    TreeRefIter::from_bytes(data, gix::hash::Kind::Sha1)
}

/// Checks the order of a tree's entries, on which writing a changed one relies.
fn check_order(tree: &[u8]) -> std::result::Result<(), String> {
    let mut previous: Option<(&BStr, bool)> = None;
    for entry in entries(tree) {
        let entry = entry.map_err(|source| source.to_string())?;
        let is_tree = entry.mode.is_tree();
        if let Some((name, was_tree)) = previous
            && gix::objs::tree::name_order(name, was_tree, entry.filename, is_tree).is_ge()
        {
            return Err(format!("{:?} is out of order", entry.filename.to_str_lossy()));
        }
        if entry.filename.is_empty() {
            return Err("a name is empty".to_owned());
        }
        previous = Some((entry.filename, is_tree));
    }
    Ok(())
}

fn is_file(kind: EntryKind) -> bool {
    matches!(kind, EntryKind::Blob | EntryKind::BlobExecutable)
}

/// The commit that `id` is, or that the tag `id` leads to.
fn peel(repository: &gix::Repository, id: ObjectId) -> Option<ObjectId> {
    let object = repository.try_find_object(id).ok()??;
    Some(object.peel_to_kind(Kind::Commit).ok()?.id)
}

fn signature(signature: Option<gix::actor::SignatureRef<'_>>) -> Signature {
    let signature = signature.unwrap_or_default();
    let time = signature.time().unwrap_or_default();
    Signature {
        name: signature.name.to_str_lossy().into_owned(),
        email: signature.email.to_str_lossy().into_owned(),
        seconds: time.seconds,
        offset: time.offset,
    }
}

/// The references that a commit locks.
fn head_references(head: &Head) -> Vec<String> {
    ["HEAD".to_owned()].into_iter().chain(head.branch.clone()).collect()
}

fn leaf_text(leaf: Option<Leaf>) -> String {
    match leaf {
        Some(leaf) => format!("{}:{}", leaf.kind.as_octal_str(), leaf.id),
        None => "-".to_owned(),
    }
}

fn parse_leaf(text: &str) -> Option<Option<Leaf>> {
    if text == "-" {
        return Some(None);
    }
    let (kind, id) = text.split_once(':')?;
    let kinds = [EntryKind::Blob, EntryKind::BlobExecutable, EntryKind::Link, EntryKind::Commit];
    let kind = kinds.into_iter().find(|known| known.as_octal_str() == kind)?;
    Some(Some(Leaf { kind, id: ObjectId::from_hex(id.as_bytes()).ok()? }))
}

/// Tells one file from another of the same name, while its content changes.
fn file_identity(metadata: &fs::Metadata) -> String {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        format!("{}:{}", metadata.dev(), metadata.ino())
    }
    #[cfg(not(unix))]
    {
        let created = metadata.created().unwrap_or(SystemTime::UNIX_EPOCH);
        let since = created.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        format!("created:{}", since.as_nanos())
    }
}

/// The folders on the way to `path` that are not there, outermost first; `None` when something that is no folder is
/// in the way, above all a symbolic link.
fn missing_folders(work_dir: &Path, path: &str) -> Result<Option<Vec<PathBuf>>> {
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

/// Writes `content` aside and renames it to `target`, so that a kill leaves the old bytes or the new ones. A file
/// that is replaced passes on its permissions.
fn write_file(
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

/// Adds the executable bit for all who may read, as git does. Other platforms have none.
fn make_executable(file: &File) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = file.metadata()?.permissions().mode();
        file.set_permissions(fs::Permissions::from_mode(mode | ((mode & 0o444) >> 2)))?;
    }
    #[cfg(not(unix))]
    let _ = file;
    Ok(())
}

/// As git does after removing the last file of a folder.
fn remove_empty_folders(work_dir: &Path, removed: &Path) {
    for folder in removed.ancestors().skip(1).take_while(|folder| *folder != work_dir) {
        if fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

/// Step 8: takes the entries that are ours from the steps' start to their end.
fn update_index(index: &mut gix::index::File, steps: &[Step], placed: &[Placed]) {
    use gix::index::entry::{Flags, Mode, Stage, Stat};

    distrust_recent_entries(index);
    let mut added = Vec::new();
    let mut removed = HashSet::new();
    for (step, placed) in steps.iter().zip(placed) {
        let path = BStr::new(&step.path);
        let range = index.entry_range(path);
        let current = match range.clone() {
            None => None,
            Some(range) => {
                let entry = &index.entries()[range.start];
                let is_plain = range.len() == 1 && entry.stage() == Stage::Unconflicted;
                let kind = match entry.mode {
                    Mode::FILE => Some(EntryKind::Blob),
                    Mode::FILE_EXECUTABLE => Some(EntryKind::BlobExecutable),
                    Mode::SYMLINK => Some(EntryKind::Link),
                    Mode::COMMIT => Some(EntryKind::Commit),
                    _ => None,
                };
                match kind.filter(|_| is_plain && !entry.flags.contains(Flags::INTENT_TO_ADD)) {
                    Some(kind) => Some(Leaf { kind, id: entry.id }),
                    // A conflict of a merge, or a file announced with `git add -N`.
                    None => continue,
                }
            }
        };
        if current != step.to && !step.from.contains(&current) {
            continue;
        }
        // With an empty stat git compares the content.
        let stat = match placed {
            Placed::There(stat) => *stat,
            Placed::Gone | Placed::Kept => Stat::default(),
        };
        match (range, step.to) {
            (Some(range), Some(leaf)) => {
                if let Some(entry) = index.entries_mut().get_mut(range.start) {
                    entry.id = leaf.id;
                    entry.mode = index_mode(leaf.kind);
                    entry.stat = stat;
                }
            }
            (Some(_), None) => {
                removed.insert(step.path.as_bytes());
            }
            (None, Some(leaf)) if !is_blocked(index, &step.path) => added.push((step, leaf, stat)),
            (None, _) => continue,
        }
        if let Some(tree) = index.tree_mut() {
            invalidate(tree, &step.path);
        }
    }
    if !removed.is_empty() {
        index.remove_entries(|_, path, _| removed.contains(path.as_bytes()));
    }
    if !added.is_empty() {
        for (step, leaf, stat) in added {
            index.dangerously_push_entry(
                stat,
                leaf.id,
                Flags::empty(),
                index_mode(leaf.kind),
                BStr::new(&step.path),
            );
        }
        index.sort_entries();
    }
}

/// An entry that is as young as the index itself may have changed since without a trace in its stat. git knows by
/// comparing the two times, which writing the index anew makes impossible; so, as git does, those entries get a size
/// that cannot be right, and git compares their content.
fn distrust_recent_entries(index: &mut gix::index::File) {
    let written = index.timestamp().unix_seconds();
    for entry in index.entries_mut() {
        if i64::from(entry.stat.mtime.secs) >= written {
            entry.stat.size = 0;
        }
    }
}

/// Whether the user has staged a file where a folder is needed, or the other way round.
fn is_blocked(index: &gix::index::File, path: &str) -> bool {
    let mut folders = path.match_indices('/').map(|(at, _)| BStr::new(&path[..at]));
    folders.any(|folder| index.entry_range(folder).is_some()) || index.path_is_directory(BStr::new(path))
}

/// Marks the folders on the way to `path` as changed in git's cache of trees; the others stay quick.
fn invalidate(tree: &mut gix::index::extension::Tree, path: &str) {
    tree.num_entries = None;
    if let Some((folder, rest)) = path.split_once('/')
        && let Some(child) = tree.children.iter_mut().find(|child| child.name.as_slice() == folder.as_bytes())
    {
        invalidate(child, rest);
    }
}

fn index_mode(kind: EntryKind) -> gix::index::entry::Mode {
    use gix::index::entry::Mode;

    match kind {
        EntryKind::Blob => Mode::FILE,
        EntryKind::BlobExecutable => Mode::FILE_EXECUTABLE,
        EntryKind::Link => Mode::SYMLINK,
        EntryKind::Commit => Mode::COMMIT,
        EntryKind::Tree => Mode::DIR,
    }
}

fn refuse_link(path: &Path) -> Result<()> {
    match optional_metadata(path)? {
        Some(metadata) if metadata.is_symlink() => Err(GitError::Refused {
            path: shown(path),
            reason: "is a symbolic link",
            hint: "Make a clone, which has none",
        }),
        _ => Ok(()),
    }
}

/// What is at `path`, without following a link.
fn optional_metadata(path: &Path) -> Result<Option<fs::Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(io_error("look at", path)(error)),
    }
}

fn remove_if_there(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(io_error("remove", path)(error)),
        _ => Ok(()),
    }
}

fn io_error<'a>(action: &'static str, path: &'a Path) -> impl Fn(io::Error) -> GitError + 'a {
    move |source| GitError::Io { action, path: shown(path), source }
}

fn shown(path: &Path) -> Shown {
    Shown(path.to_owned())
}

fn shown_head(head: &Option<CommitId>) -> String {
    head.map_or_else(|| "without a commit".to_owned(), |commit| commit.to_string())
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::process::{Command, Output};
    use std::sync::atomic::{AtomicBool, Ordering};

    use tempfile::TempDir;

    use super::*;

    const AT: i64 = 1_795_000_000;

    /// A repository in a folder that vanishes, and the `git` command on it.
    struct Bench {
        folder: TempDir,
        git: Git,
        first: CommitId,
    }

    impl Bench {
        fn new() -> Bench {
            Bench::with(&[change("investigation.yaml", "id: 1\n"), change("nodes/R1/R1.A.yaml", "one\n")])
        }

        fn with(files: &[FileChange]) -> Bench {
            let folder = tempfile::tempdir().unwrap();
            let dir = folder.path().join("it");
            let (git, first) =
                Git::init_with(Configuration::Isolated, &dir, "x", files, "Start", AT).unwrap();
            Bench { folder, git, first }
        }

        fn dir(&self) -> PathBuf {
            self.folder.path().join("it")
        }

        fn file(&self, path: &str) -> PathBuf {
            self.dir().join(path)
        }

        fn text(&self, path: &str) -> String {
            fs::read_to_string(self.file(path)).unwrap()
        }

        fn run(&self, arguments: &[&str]) -> String {
            run_in(&self.dir(), arguments)
        }

        fn status(&self) -> String {
            self.run(&["status", "--porcelain"])
        }

        fn head(&self) -> CommitId {
            self.git.head().unwrap().commit.unwrap()
        }

        fn commit(&self, changes: &[FileChange]) -> CommitId {
            self.git.commit(self.head(), changes, "Change", AT + 1).unwrap()
        }

        /// git itself finds nothing wrong, and nothing of ours is left over.
        fn assert_sound(&self) {
            assert_eq!(self.run(&["fsck", "--strict", "--no-dangling"]), "");
            let leftovers = fs::read_dir(self.git.path()).unwrap().filter_map(|entry| {
                let entry = entry.unwrap();
                let name = entry.file_name().into_string().unwrap();
                let is_journal = name == JOURNAL_FILE && entry.metadata().unwrap().len() > 0;
                (name.ends_with(".lock") || is_journal || name == STAGING_FILE).then_some(name)
            });
            assert_eq!(leftovers.collect::<Vec<_>>(), Vec::<String>::new());
        }

        fn assert_clean(&self) {
            self.assert_sound();
            assert_eq!(self.status(), "");
        }

        /// The journal of a commit that was killed before it touched anything but objects.
        fn begin(&self, changes: &[FileChange]) -> (gix::Repository, Draft, Journal) {
            let repository = self.git.local();
            let head = self.git.head().unwrap();
            let parent = head.commit.map(|commit| commit.0);
            let draft = self.git.draft(&repository, parent, changes, "Killed", AT).unwrap();
            let references = head_references(&head);
            let journal = Journal::begin(self.git.path(), draft.commit, &references, &draft.steps).unwrap();
            (repository, draft, journal)
        }

        fn prepare(&self, repository: &gix::Repository, draft: &Draft, journal: &mut Journal) -> IndexLock {
            let mut lock = IndexLock::take(self.git.path()).unwrap();
            let (dir, tree) = (self.dir(), draft.parent_tree);
            self.git.prepare_index(repository, &dir, tree, &draft.steps, &mut lock, Some(journal)).unwrap();
            lock
        }
    }

    fn change(path: &str, content: &str) -> FileChange {
        FileChange { path: path.to_owned(), content: Some(content.as_bytes().to_vec()) }
    }

    fn removal(path: &str) -> FileChange {
        FileChange { path: path.to_owned(), content: None }
    }

    fn command(dir: &Path, arguments: &[&str]) -> Output {
        let mut command = Command::new("git");
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GIT_")) {
            command.env_remove(name);
        }
        command
            .env("HOME", dir)
            .env("XDG_CONFIG_HOME", dir)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("LC_ALL", "C")
            .arg("-C")
            .arg(dir)
            .args(["-c", "user.name=A Person", "-c", "user.email=person@example.com", "-c", "gc.auto=0"])
            .args(["-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main"])
            .args(arguments)
            .output()
            .unwrap()
    }

    fn run_in(dir: &Path, arguments: &[&str]) -> String {
        let output = command(dir, arguments);
        let text =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {text}");
        text
    }

    fn open(dir: &Path) -> Result<Git> {
        Git::open_with(Configuration::Isolated, dir)
    }

    #[test]
    fn a_new_repository_is_clean_and_whole() {
        let bench = Bench::new();
        bench.assert_clean();
        assert_eq!(bench.run(&["branch", "--show-current"]), "main\n");
        assert_eq!(bench.run(&["ls-files"]), "investigation.yaml\nnodes/R1/R1.A.yaml\n");
        assert_eq!(
            bench.run(&["log", "--format=%s %an <%ae> %cn <%ce> %ad", "--date=raw"]),
            format!("Start Tree of Thoughts <tot@localhost> Tree of Thoughts <tot@localhost> {AT} +0000\n")
        );
        assert_eq!(bench.run(&["reflog", "--format=%gs"]), "commit (initial): Start\n");
        assert!(!bench.file(".git/hooks").exists());
        assert_eq!(
            bench.git.head().unwrap(),
            Head { branch: Some("refs/heads/main".to_owned()), commit: Some(bench.first) }
        );
        // Nothing is left beside it.
        assert_eq!(fs::read_dir(bench.folder.path()).unwrap().count(), 1);
        let again = Git::init_with(Configuration::Isolated, &bench.dir(), "y", &[], "Start", AT);
        assert!(matches!(again, Err(GitError::AlreadyExists { .. })));
    }

    #[test]
    fn a_failed_init_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let blocked = [change("a", "1"), change("a/b", "2")];
        let made =
            Git::init_with(Configuration::Isolated, &folder.path().join("it"), "x", &blocked, "Start", AT);
        assert!(matches!(made, Err(GitError::PathConflict { .. })));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_commit_adds_modifies_and_removes() {
        let bench = Bench::new();
        let second = bench
            .commit(&[change("nodes/R2/R2.A1.yaml", "two\n"), change("nodes/R1/R1.A.yaml", "one more\n")]);
        bench.assert_clean();
        assert_eq!(bench.text("nodes/R1/R1.A.yaml"), "one more\n");
        let third = bench.commit(&[removal("nodes/R2/R2.A1.yaml"), change("conclusion.yaml", "done\n")]);
        bench.assert_clean();
        assert!(!bench.file("nodes/R2").exists(), "a folder without files is removed");
        assert_eq!(
            bench.run(&["log", "--format=%H %s", "--name-status"]),
            format!(
                "{third} Change\n\nA\tconclusion.yaml\nD\tnodes/R2/R2.A1.yaml\n{second} Change\n\nM\tnodes/R1/R1.A.yaml\n\
                 A\tnodes/R2/R2.A1.yaml\n{} Start\n\nA\tinvestigation.yaml\nA\tnodes/R1/R1.A.yaml\n",
                bench.first
            )
        );
        assert_eq!(
            bench.run(&["reflog", "--format=%gs"]),
            "commit: Change\ncommit: Change\ncommit (initial): Start\n"
        );
        assert_eq!(bench.run(&["reflog", "main", "--format=%gs"]).lines().count(), 3);
        // The cached trees of the index are right: git builds the same tree from it.
        assert_eq!(bench.run(&["write-tree"]), bench.run(&["rev-parse", "HEAD^{tree}"]));
    }

    #[test]
    fn the_cache_of_trees_that_git_made_is_kept_right() {
        let bench = Bench::new();
        bench.run(&["read-tree", "HEAD"]);
        bench.run(&["status"]);
        bench.commit(&[change("nodes/R1/R1.B.yaml", "b\n"), change("nodes/R7/x/y", "deep\n")]);
        assert_eq!(bench.run(&["write-tree"]), bench.run(&["rev-parse", "HEAD^{tree}"]));
        bench.commit(&[removal("nodes/R7/x/y")]);
        bench.commit(&[change("nodes/R7/x", "now a file\n")]);
        assert_eq!(bench.run(&["write-tree"]), bench.run(&["rev-parse", "HEAD^{tree}"]));
        bench.assert_clean();
    }

    #[test]
    fn trees_are_the_ones_git_would_write() {
        // Names around `/` in the order of bytes, folders that come and go, and a name that begins another.
        let names = [
            "a", "a-b", "a.b", "a0", "b/a", "b/a-b", "b-a/x", "b.a", "b0/x/y", "b0/x-y", "c/d/e", "c/d-e",
            "ü/ß", "z",
        ];
        let bench = Bench::with(&names.map(|name| change(name, name)));
        let all = names.len();
        for round in 0..60 {
            // The bits of a multiplied number: enough disorder, and the same each time.
            let bits = (round + 1usize).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 17;
            let picked = (0..all).filter(|n| bits >> n & 1 == 1).map(|n| names[n]);
            let changes: Vec<_> = picked
                .map(|name| match bits >> 20 & 1 {
                    0 => removal(name),
                    _ => change(name, &format!("{round}")),
                })
                .collect();
            bench.commit(&changes);
            assert_eq!(bench.run(&["write-tree"]), bench.run(&["rev-parse", "HEAD^{tree}"]));
            assert_eq!(bench.status(), "");
        }
        bench.assert_clean();
        bench.commit(&names.map(removal));
        assert_eq!(bench.git.files(bench.head()).unwrap(), []);
        bench.commit(&[change("b/a", "back")]);
        bench.assert_clean();
    }

    #[test]
    fn removing_an_absent_file_changes_nothing() {
        let bench = Bench::new();
        bench.commit(&[removal("nodes/R9/none.yaml")]);
        assert_eq!(bench.run(&["diff", "--stat", "HEAD~1", "HEAD"]), "");
        bench.assert_clean();
    }

    #[test]
    fn a_moved_head_is_told_and_nothing_is_written() {
        let bench = Bench::new();
        let second = bench.commit(&[change("a", "1\n")]);
        let error = bench.git.commit(bench.first, &[change("b", "2\n")], "Late", AT).unwrap_err();
        assert!(matches!(error, GitError::HeadMoved { expected, actual, .. }
            if expected == bench.first && actual == Some(second)));
        assert!(error.to_string().contains(&format!("is {second} and no longer {}", bench.first)), "{error}");
        assert!(!bench.file("b").exists());
        assert_eq!(bench.head(), second);
        bench.assert_clean();
    }

    #[test]
    fn a_head_that_moves_during_the_commit_puts_the_files_back() {
        let bench = Bench::new();
        let (repository, draft, mut journal) =
            bench.begin(&[change("investigation.yaml", "id: 2\n"), change("new", "n\n")]);
        bench.run(&["commit", "--allow-empty", "-m", "Meanwhile"]);
        let error = {
            let lock = IndexLock::take(bench.git.path()).unwrap();
            bench.git.publish(&repository, &draft, Some(lock), Some(&mut journal)).unwrap_err()
        };
        assert!(matches!(error, GitError::HeadMoved { .. }), "{error}");
        assert_eq!(bench.text("new"), "n\n");
        assert!(bench.git.recover().unwrap());
        assert_eq!(bench.text("investigation.yaml"), "id: 1\n");
        bench.assert_clean();
    }

    #[test]
    fn the_users_changes_are_kept_and_not_committed() {
        let bench = Bench::new();
        bench.commit(&[change("b", "b\n"), change("gone", "g\n"), change("staged", "s\n")]);
        fs::write(bench.file("investigation.yaml"), "mine\n").unwrap();
        fs::write(bench.file("b"), "also mine\n").unwrap();
        fs::write(bench.file("new"), "my new\n").unwrap();
        fs::remove_file(bench.file("gone")).unwrap();
        fs::write(bench.file("staged"), "staged by me\n").unwrap();
        bench.run(&["add", "staged"]);
        bench.commit(&[
            change("b", "theirs\n"),
            change("new", "their new\n"),
            change("gone", "back?\n"),
            change("staged", "theirs\n"),
            change("c", "c\n"),
        ]);
        assert_eq!(bench.text("investigation.yaml"), "mine\n");
        assert_eq!(bench.text("b"), "also mine\n");
        assert_eq!(bench.text("new"), "my new\n");
        assert_eq!(bench.text("staged"), "staged by me\n");
        assert!(!bench.file("gone").exists());
        assert_eq!(bench.run(&["show", ":staged"]), "staged by me\n");
        assert_eq!(bench.run(&["show", "HEAD:b"]), "theirs\n");
        assert_eq!(bench.run(&["show", "HEAD:investigation.yaml"]), "id: 1\n");
        assert_eq!(bench.status(), " M b\n D gone\n M investigation.yaml\n M new\nM  staged\n");
        bench.assert_sound();
    }

    #[test]
    fn an_edit_of_the_same_size_right_after_a_commit_is_seen() {
        let bench = Bench::new();
        for round in 0..20 {
            bench.commit(&[change("a", &format!("{round:02}\n")), change("b", "b\n")]);
            fs::write(bench.file("a"), "xx\n").unwrap();
            bench.commit(&[change("c", &format!("{round:02}\n"))]);
            assert_eq!(bench.status(), " M a\n");
            bench.run(&["checkout", "a"]);
            fs::write(bench.file("a"), format!("{round:02}\n")).unwrap();
        }
    }

    #[test]
    fn a_staged_removal_and_a_conflict_stay_the_users() {
        let bench = Bench::new();
        bench.run(&["rm", "--cached", "-q", "investigation.yaml"]);
        bench.commit(&[change("investigation.yaml", "id: 2\n")]);
        assert_eq!(bench.run(&["ls-files", "investigation.yaml"]), "");
        bench.run(&["reset", "-q", "--hard"]);
        bench.run(&["checkout", "-q", "-b", "other"]);
        bench.commit(&[change("investigation.yaml", "id: other\n")]);
        bench.run(&["checkout", "-q", "main"]);
        bench.commit(&[change("investigation.yaml", "id: main\n")]);
        assert!(!command(&bench.dir(), &["merge", "other"]).status.success());
        let conflict = bench.text("investigation.yaml");
        bench.commit(&[change("investigation.yaml", "id: server\n"), change("z", "z\n")]);
        assert_eq!(bench.text("investigation.yaml"), conflict);
        assert_eq!(bench.run(&["ls-files", "-u"]).lines().count(), 3);
        bench.assert_sound();
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_written_through_a_link() {
        use std::os::unix::fs::symlink;

        let bench = Bench::new();
        let outside = bench.folder.path().join("outside");
        fs::create_dir_all(outside.join("R1")).unwrap();
        fs::write(outside.join("R1/R1.A.yaml"), "one\n").unwrap();
        fs::remove_dir_all(bench.file("nodes")).unwrap();
        symlink(&outside, bench.file("nodes")).unwrap();
        symlink(outside.join("made"), bench.file("link")).unwrap();
        bench.commit(&[
            change("nodes/R1/R1.A.yaml", "changed\n"),
            change("nodes/R1/R1.B.yaml", "new\n"),
            change("link", "x\n"),
        ]);
        bench.commit(&[removal("nodes/R1/R1.A.yaml")]);
        assert_eq!(fs::read_to_string(outside.join("R1/R1.A.yaml")).unwrap(), "one\n");
        assert!(!outside.join("R1/R1.B.yaml").exists() && !outside.join("made").exists());
        assert!(fs::symlink_metadata(bench.file("link")).unwrap().is_symlink());
        assert_eq!(bench.run(&["show", "HEAD:nodes/R1/R1.B.yaml"]), "new\n");
        bench.assert_sound();
    }

    #[cfg(unix)]
    #[test]
    fn an_executable_stays_one() {
        use std::os::unix::fs::PermissionsExt;

        let bench = Bench::new();
        fs::write(bench.file("run"), "1\n").unwrap();
        fs::set_permissions(bench.file("run"), fs::Permissions::from_mode(0o755)).unwrap();
        bench.run(&["add", "run"]);
        bench.run(&["commit", "-q", "-m", "By hand"]);
        bench.commit(&[change("run", "2\n")]);
        bench.assert_clean();
        assert_eq!(fs::metadata(bench.file("run")).unwrap().permissions().mode() & 0o111, 0o111);
        let files = bench.git.files(bench.head()).unwrap();
        assert_eq!(files.last().unwrap().kind, FileKind::Executable);
    }

    #[test]
    fn paths_that_lead_out_or_are_gits_own_are_refused() {
        let bench = Bench::new();
        for path in [
            "",
            "/etc/x",
            "a//b",
            "a/",
            "../x",
            "a/../b",
            ".",
            ".git/config",
            "a/.GIT/x",
            "a\\b",
            "git~1/x",
            "CON.yaml",
            "a\nb",
            "C:x",
            ".g\u{200c}it/x",
            "a\0b",
        ] {
            let error = bench.git.commit(bench.first, &[change(path, "x")], "Bad", AT).unwrap_err();
            assert!(matches!(error, GitError::InvalidPath { .. }), "{path:?}: {error}");
        }
        let twice = bench.git.commit(bench.first, &[change("a", "1"), change("a", "2")], "Bad", AT);
        assert!(matches!(twice, Err(GitError::InvalidPath { .. })));
        for path in ["nodes", "nodes/R1", "investigation.yaml/x"] {
            let error = bench.git.commit(bench.first, &[change(path, "x")], "Bad", AT).unwrap_err();
            assert!(matches!(error, GitError::PathConflict { .. }), "{path:?}: {error}");
        }
        bench.assert_clean();
        assert_eq!(bench.head(), bench.first);
    }

    #[test]
    fn threads_lose_no_commit() {
        let bench = Bench::new();
        let git = &bench.git;
        let other = &open(&bench.dir()).unwrap();
        thread::scope(|scope| {
            for worker in 0..4 {
                scope.spawn(move || {
                    let git = if worker % 2 == 0 { git } else { other };
                    for round in 0..25 {
                        let path = format!("nodes/R{worker}/n{round}");
                        loop {
                            let head = git.head().unwrap().commit.unwrap();
                            match git.commit(
                                head,
                                &[change(&path, "x\n"), change("shared", &path)],
                                &path,
                                AT,
                            ) {
                                Ok(_) => break,
                                Err(GitError::HeadMoved { .. }) => {}
                                Err(error) => panic!("{error}"),
                            }
                        }
                    }
                });
            }
        });
        assert_eq!(bench.git.log(bench.head(), None).unwrap().len(), 101);
        assert_eq!(bench.git.files(bench.head()).unwrap().len(), 103);
        bench.assert_clean();
    }

    #[test]
    fn a_commit_killed_at_any_step_is_recovered() {
        for step in 0..8 {
            for by_commit in [true, false] {
                let bench = Bench::new();
                bench.commit(&[change("old", "old\n")]);
                bench.run(&["pack-refs", "--all"]);
                let head = bench.head();
                let changes =
                    [change("investigation.yaml", "id: 2\n"), change("nodes/R5/n", "n\n"), removal("old")];
                let (repository, draft, mut journal) = bench.begin(&changes);
                let mut published = false;
                let git_dir = bench.git.path();
                if step == 1 {
                    // Killed before the index lock was noted.
                    std::mem::forget(IndexLock::take(git_dir).unwrap());
                }
                if step >= 2 {
                    let lock = bench.prepare(&repository, &draft, &mut journal);
                    if step == 3 {
                        fs::write(git_dir.join("HEAD.lock"), format!("{}\n", draft.commit)).unwrap();
                        fs::write(git_dir.join("refs/heads/main.lock"), format!("{}\n", draft.commit))
                            .unwrap();
                    }
                    if step == 4 {
                        fs::write(git_dir.join("packed-refs.lock"), "").unwrap();
                    }
                    if step >= 5 {
                        bench.git.move_head(&repository, &draft).unwrap();
                        published = true;
                    }
                    match step {
                        6.. => lock.put_into_place().unwrap(),
                        _ => std::mem::forget(lock),
                    }
                }
                if step == 7 {
                    // The user removes what was published, before anyone recovers.
                    fs::remove_file(bench.file("nodes/R5/n")).unwrap();
                }
                drop(journal);
                let expected = if published { CommitId(draft.commit) } else { head };
                assert_eq!(bench.head(), expected);
                if by_commit {
                    bench.git.commit(expected, &[change("after", "a\n")], "After", AT).unwrap();
                } else {
                    assert!(bench.git.recover().unwrap());
                    assert!(!bench.git.recover().unwrap());
                }
                bench.assert_sound();
                let status = if step == 7 { " D nodes/R5/n\n" } else { "" };
                assert_eq!(bench.status(), status, "step {step}");
                assert_eq!(bench.text("investigation.yaml"), if published { "id: 2\n" } else { "id: 1\n" });
                assert_eq!(bench.file("old").exists(), !published);
            }
        }
    }

    #[test]
    fn the_index_lock_of_a_killed_process_is_known_in_a_copy_of_the_folder() {
        let bench = Bench::new();
        let (repository, draft, mut journal) = bench.begin(&[change("n", "n\n")]);
        std::mem::forget(bench.prepare(&repository, &draft, &mut journal));
        drop(journal);
        // The same bytes in another file.
        let (lock, copy) = (bench.git.path().join("index.lock"), bench.git.path().join("copy"));
        fs::copy(&lock, &copy).unwrap();
        fs::rename(&copy, &lock).unwrap();
        bench.commit(&[change("after", "a\n")]);
        bench.assert_clean();
        bench.assert_sound();
    }

    #[test]
    fn recovery_keeps_what_the_user_did_since() {
        let bench = Bench::new();
        let (repository, draft, mut journal) =
            bench.begin(&[change("investigation.yaml", "id: 2\n"), change("n", "n\n")]);
        std::mem::forget(bench.prepare(&repository, &draft, &mut journal));
        fs::write(bench.file("investigation.yaml"), "mine\n").unwrap();
        bench.commit(&[change("after", "a\n")]);
        assert_eq!(bench.text("investigation.yaml"), "mine\n");
        assert_eq!(bench.status(), " M investigation.yaml\n");
        bench.assert_sound();
    }

    #[test]
    fn a_journal_cut_short_or_forged_does_no_harm() {
        let bench = Bench::new();
        let outside = bench.folder.path().join("outside.lock");
        fs::write(&outside, "").unwrap();
        let id = bench.first;
        for text in [
            String::new(),
            format!("{JOURNAL_FIRST_LINE}\ntarget {id}\nreference HEAD\n"),
            format!("{JOURNAL_FIRST_LINE}\ntarget {id}\nreference refs/../../../outside\nready\n"),
            format!("{JOURNAL_FIRST_LINE}\ntarget {id}\npath - - ../outside.lock\nready\n"),
            format!("{JOURNAL_FIRST_LINE}\ntarget {id}\npath 100644:{id} 100644:{id} .git/config\nready\n"),
        ] {
            fs::write(bench.file(".git").join(JOURNAL_FILE), text).unwrap();
            bench.git.recover().unwrap();
            bench.assert_clean();
        }
        assert!(outside.exists());
    }

    #[test]
    fn the_lock_of_a_living_git_is_respected() {
        let bench = Bench::new();
        for name in ["index.lock", "HEAD.lock", "refs/heads/main.lock"] {
            let lock = bench.git.path().join(name);
            fs::write(&lock, "someone else").unwrap();
            let error =
                bench.git.commit(bench.first, &[change("investigation.yaml", "2\n")], "x", AT).unwrap_err();
            assert!(matches!(&error, GitError::Locked { path } if path.0 == lock), "{name}: {error}");
            assert_eq!(fs::read_to_string(&lock).unwrap(), "someone else");
            fs::remove_file(&lock).unwrap();
            bench.assert_clean();
        }
        // One that goes away in time is only waited for.
        let lock = bench.git.path().join("index.lock");
        fs::write(&lock, "").unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(100));
                fs::remove_file(&lock).unwrap();
            });
            bench.commit(&[change("investigation.yaml", "2\n")]);
        });
        bench.assert_clean();
    }

    /// Not a test by itself: the process that [`a_killed_process_leaves_a_sound_repository`] kills.
    #[test]
    #[ignore]
    fn writes_until_killed() {
        let Some(dir) = std::env::var_os("TOT_TEST_KILLED_DIR") else { return };
        let git = open(Path::new(&dir)).unwrap();
        let acknowledged = Path::new(&dir).with_extension("acknowledged");
        let mut log = OpenOptions::new().append(true).create(true).open(acknowledged).unwrap();
        for round in 0.. {
            let head = git.head().unwrap().commit.unwrap();
            let text = format!("{head}\n").repeat(50);
            let path = format!("nodes/R{}/n{round}", round % 3);
            let changes = [change(&path, &text), change("investigation.yaml", &text), removal("flip")];
            let commit = git.commit(head, &changes, "Round", AT).unwrap();
            let commit = git.commit(commit, &[change("flip", &text)], "Flip", AT).unwrap();
            log.write_all(format!("{commit}\n").as_bytes()).unwrap();
        }
    }

    #[test]
    fn a_killed_process_leaves_a_sound_repository() {
        let bench = Bench::new();
        let kills: u64 =
            std::env::var("TOT_TEST_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(12);
        for kill in 0..kills {
            if kill == kills / 2 {
                bench.run(&["gc", "-q", "--prune=now"]);
            }
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "store::git::tests::writes_until_killed", "--ignored", "--quiet"])
                .env("TOT_TEST_KILLED_DIR", bench.dir())
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap();
            thread::sleep(Duration::from_micros(30_000 + (kill * 7_919) % 20_000));
            child.kill().unwrap();
            child.wait().unwrap();
            bench.git.recover().unwrap();
            bench.assert_clean();
        }
        let acknowledged = fs::read_to_string(bench.dir().with_extension("acknowledged")).unwrap();
        let history = bench.git.log(bench.head(), None).unwrap();
        let history: HashSet<String> = history.iter().map(|commit| commit.id.to_string()).collect();
        assert!(acknowledged.lines().count() > 0);
        // The last line may be cut off.
        assert!(acknowledged.lines().filter(|line| line.len() == 40).all(|line| history.contains(line)));
    }

    #[test]
    fn commits_go_on_while_git_collects_garbage() {
        let bench = Bench::new();
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    bench.run(&["gc", "-q"]);
                    bench.run(&["pack-refs", "--all"]);
                }
            });
            // A panic in here would leave the other thread going for ever.
            let outcome: Result<Vec<_>> = (0..60)
                .map(|round| {
                    let head = bench.git.head()?.commit.unwrap();
                    let path = format!("n{}", round % 7);
                    match bench.git.commit(head, &[change(&path, &format!("{round}\n"))], "x", AT) {
                        Err(GitError::Locked { .. }) => Ok(head),
                        other => other,
                    }
                })
                .collect();
            done.store(true, Ordering::Relaxed);
            outcome.unwrap();
        });
        bench.assert_clean();
    }

    #[test]
    fn an_object_that_git_has_pruned_is_written_again() {
        let bench = Bench::new();
        let lost = bench.commit(&[change("a", "the same\n")]);
        bench.run(&["gc", "-q", "--prune=now"]);
        // The handle knows the pack that holds the file.
        let files = bench.git.files(lost).unwrap();
        bench.git.read(files[0].blob, 100).unwrap();
        bench.run(&["reset", "-q", "--hard", "HEAD~1"]);
        bench.run(&["reflog", "expire", "--expire=now", "--all"]);
        bench.run(&["gc", "-q", "--prune=now"]);
        bench.commit(&[change("a", "the same\n")]);
        bench.assert_clean();
    }

    #[test]
    fn a_detached_head_and_another_branch_are_followed() {
        let bench = Bench::new();
        bench.run(&["checkout", "-q", "--detach"]);
        let detached = bench.commit(&[change("a", "1\n")]);
        assert_eq!(bench.git.head().unwrap(), Head { branch: None, commit: Some(detached) });
        assert_eq!(bench.run(&["rev-parse", "main"]).trim(), bench.first.to_string());
        bench.assert_clean();
        bench.run(&["checkout", "-q", "-b", "side/branch"]);
        let side = bench.commit(&[change("a", "2\n")]);
        assert_eq!(bench.run(&["rev-parse", "side/branch"]).trim(), side.to_string());
        bench.assert_clean();
        bench.run(&["checkout", "-q", "--orphan", "unborn"]);
        assert_eq!(
            bench.git.head().unwrap(),
            Head { branch: Some("refs/heads/unborn".to_owned()), commit: None }
        );
        let error = bench.git.commit(side, &[], "x", AT).unwrap_err();
        assert!(matches!(error, GitError::HeadMoved { actual: None, .. }));
    }

    #[test]
    fn a_missing_index_is_made_again() {
        let bench = Bench::new();
        fs::remove_file(bench.file(".git/index")).unwrap();
        bench.commit(&[change("a", "1\n")]);
        bench.assert_clean();
    }

    #[test]
    fn revisions_are_resolved() {
        let bench = Bench::new();
        let second = bench.commit(&[change("a", "1\n")]);
        bench.git.tag("ended/1", bench.first, "Ended", AT).unwrap();
        bench.run(&["tag", "light", "HEAD"]);
        let resolve = |rev: &str| bench.git.resolve(rev).unwrap();
        for rev in ["HEAD", "main", "refs/heads/main", "light", &second.to_string(), &second.to_string()[..8]]
        {
            assert_eq!(resolve(rev), Some(second), "{rev}");
        }
        assert_eq!(resolve("ended/1"), Some(bench.first));
        let tag = bench.run(&["rev-parse", "refs/tags/ended/1"]);
        assert_eq!(resolve(tag.trim()), Some(bench.first), "a tag object leads to its commit");
        for rev in [
            "",
            "none",
            "config",
            "../config",
            "HEAD~1",
            "0000000",
            &"0".repeat(40),
            "refs/heads",
            "-x",
            "a b",
        ] {
            assert_eq!(resolve(rev), None, "{rev:?}");
        }
        let tree = bench.run(&["rev-parse", "HEAD^{tree}"]);
        assert_eq!(resolve(tree.trim()), None, "a tree is no commit");
    }

    #[test]
    fn tags_are_made_once_and_listed() {
        let bench = Bench::new();
        let second = bench.commit(&[change("a", "1\n")]);
        bench.git.tag("ended/1", bench.first, "It ended.", AT).unwrap();
        bench.git.tag("ended/2", second, "It ended again.\n", AT + 5).unwrap();
        bench.run(&["tag", "light"]);
        bench.run(&["tag", "on-a-tree", "HEAD^{tree}"]);
        let error = bench.git.tag("ended/1", second, "Again", AT).unwrap_err();
        assert!(matches!(error, GitError::TagExists { .. }));
        for name in ["", "a b", "a..b", "-x", "x.lock", "a//b", "x/"] {
            assert!(
                matches!(bench.git.tag(name, second, "x", AT), Err(GitError::InvalidTagName { .. })),
                "{name:?}"
            );
        }
        let unknown = CommitId::from_str(&"1".repeat(40)).unwrap();
        assert!(matches!(bench.git.tag("x", unknown, "x", AT), Err(GitError::Missing { .. })));
        let tags = [("ended/1", bench.first), ("ended/2", second), ("light", second)];
        assert_eq!(bench.git.tags().unwrap(), tags.map(|(name, id)| (name.to_owned(), id)));
        assert_eq!(bench.run(&["cat-file", "-t", "ended/1"]), "tag\n");
        assert_eq!(
            bench.run(&[
                "for-each-ref",
                "--format=%(taggername) %(taggerdate:raw) %(contents:subject)",
                "refs/tags/ended"
            ]),
            format!(
                "Tree of Thoughts {AT} +0000 It ended.\nTree of Thoughts {} +0000 It ended again.\n",
                AT + 5
            )
        );
        bench.assert_clean();
    }

    #[test]
    fn a_tag_killed_halfway_is_recovered() {
        let bench = Bench::new();
        let references = ["refs/tags/ended/1".to_owned()];
        drop(Journal::begin(bench.git.path(), bench.first.0, &references, &[]).unwrap());
        fs::create_dir_all(bench.file(".git/refs/tags/ended")).unwrap();
        fs::write(bench.file(".git/refs/tags/ended/1.lock"), format!("{}\n", bench.first)).unwrap();
        bench.git.tag("ended/1", bench.first, "Ended", AT).unwrap();
        assert_eq!(bench.git.tags().unwrap().len(), 1);
        assert!(!bench.file(".git/refs/tags/ended/1.lock").exists());
        bench.assert_clean();
    }

    #[test]
    fn the_log_follows_first_parents() {
        let bench = Bench::new();
        bench.run(&["checkout", "-q", "-b", "side"]);
        let side = bench.commit(&[change("side", "1\n")]);
        bench.run(&["checkout", "-q", "main"]);
        let main = bench
            .git
            .commit(bench.first, &[change("main", "1\n")], "On main\n\nNode: R1.A", AT + 60)
            .unwrap();
        bench.run(&["merge", "-q", "-m", "Merge", "side"]);
        let log = bench.git.log(bench.head(), None).unwrap();
        assert_eq!(log.iter().map(|commit| commit.id).collect::<Vec<_>>(), [bench.head(), main, bench.first]);
        assert_eq!(log[0].parents, [main, side]);
        assert_eq!(log[0].author.email, "person@example.com");
        assert_eq!(log[1].message, "On main\n\nNode: R1.A\n");
        assert_eq!((log[1].author.seconds, log[1].author.offset), (AT + 60, 0));
        assert_eq!(bench.git.log(bench.head(), Some(2)).unwrap().len(), 2);
        let unknown = CommitId::from_str(&"1".repeat(40)).unwrap();
        assert!(matches!(bench.git.log(unknown, None), Err(GitError::Missing { .. })));
    }

    #[test]
    fn a_shallow_clone_ends_quietly() {
        let bench = Bench::new();
        bench.commit(&[change("a", "1\n")]);
        let url = format!("file://{}", bench.dir().display());
        run_in(bench.folder.path(), &["clone", "-q", "--depth", "1", &url, "shallow"]);
        let git = open(&bench.folder.path().join("shallow")).unwrap();
        assert_eq!(git.log(bench.head(), None).unwrap().len(), 1);
        git.commit(bench.head(), &[change("a", "2\n")], "x", AT).unwrap();
        assert_eq!(run_in(&bench.folder.path().join("shallow"), &["status", "--porcelain"]), "");
    }

    #[test]
    fn a_diff_names_files_only() {
        let bench = Bench::new();
        let second = bench.commit(&[
            change("nodes/R2/b", "b\n"),
            change("nodes/R2/a", "a\n"),
            removal("nodes/R1/R1.A.yaml"),
            change("investigation.yaml", "id: 2\n"),
        ]);
        let shape = |before, after| -> Vec<(String, bool, bool)> {
            let changes = bench.git.diff(before, after).unwrap();
            changes.into_iter().map(|c| (c.path, c.before.is_some(), c.after.is_some())).collect()
        };
        assert_eq!(
            shape(Some(bench.first), second),
            [
                ("investigation.yaml".to_owned(), true, true),
                ("nodes/R1/R1.A.yaml".to_owned(), true, false),
                ("nodes/R2/a".to_owned(), false, true),
                ("nodes/R2/b".to_owned(), false, true),
            ]
        );
        assert_eq!(
            shape(None, bench.first),
            [("investigation.yaml".to_owned(), false, true), ("nodes/R1/R1.A.yaml".to_owned(), false, true),]
        );
        assert_eq!(shape(Some(second), second), []);
        let blob = bench.git.diff(None, second).unwrap()[0].after.unwrap();
        assert_eq!(bench.git.read(blob, 6).unwrap(), b"id: 2\n");
    }

    #[test]
    fn a_file_over_the_limit_is_not_read() {
        let bench = Bench::with(&[change("big", &"x".repeat(100_000))]);
        let blob = bench.git.files(bench.first).unwrap()[0].blob;
        let error = bench.git.read(blob, 99_999).unwrap_err();
        assert!(matches!(error, GitError::TooLarge { size: 100_000, limit: 99_999, .. }));
        assert_eq!(bench.git.read(blob, 100_000).unwrap().len(), 100_000);
        assert!(matches!(bench.git.read(BlobId(bench.first.0), 10), Err(GitError::Missing { .. })));
    }

    #[test]
    fn a_bare_clone_is_read_and_written() {
        let bench = Bench::new();
        let second = bench.commit(&[change("a", "1\n")]);
        run_in(bench.folder.path(), &["clone", "-q", "--bare", "it", "bare.git"]);
        let dir = bench.folder.path().join("bare.git");
        let git = open(&dir).unwrap();
        assert_eq!(git.work_dir(), None);
        assert_eq!(git.head().unwrap().commit, Some(second));
        assert_eq!(git.files(second).unwrap(), bench.git.files(second).unwrap());
        let third = git.commit(second, &[change("b", "2\n")], "Bare", AT).unwrap();
        assert_eq!(run_in(&dir, &["log", "--format=%H", "-1"]).trim(), third.to_string());
        assert!(!dir.join("index").exists());
        assert_eq!(run_in(&dir, &["fsck", "--strict"]), "");
    }

    #[test]
    fn the_identity_is_the_repositorys_users() {
        let bench = Bench::new();
        bench.run(&["config", "user.name", " Ada <Lovelace>. "]);
        bench.run(&["config", "user.email", "ada@example.com"]);
        bench.run(&["config", "committer.name", "The Committer"]);
        bench.run(&["config", "commit.gpgSign", "true"]);
        bench.run(&["config", "gpg.program", "/bin/false"]);
        let git = open(&bench.dir()).unwrap();
        git.commit(bench.first, &[change("a", "1\n")], "x", AT).unwrap();
        assert_eq!(
            bench.run(&["log", "-1", "--format=%an <%ae>, %cn <%ce>"]),
            "Ada Lovelace <ada@example.com>, The Committer <ada@example.com>\n"
        );
        bench.assert_clean();
    }

    #[test]
    fn the_identity_of_the_environment_and_the_user_is_taken() {
        let bench = Bench::new();
        // A process of its own, since its environment is the matter.
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "store::git::tests::commits_as_the_environment_says", "--ignored"])
            .env("TOT_TEST_IDENTITY_DIR", bench.dir())
            .env("HOME", bench.folder.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", bench.folder.path().join("config"))
            .env("GIT_AUTHOR_NAME", "From the environment")
            .env("GIT_AUTHOR_DATE", "2001-01-01T00:00:00Z")
            .env("GIT_INDEX_FILE", bench.folder.path().join("elsewhere"))
            .env("GIT_NAMESPACE", "space")
            .env("GIT_OBJECT_DIRECTORY", bench.folder.path())
            .output();
        fs::write(bench.folder.path().join("config"), "").unwrap();
        assert!(output.unwrap().status.success());
        assert_eq!(
            bench.run(&["log", "-1", "--format=%an <%ae>, %cn <%ce> %at"]),
            format!("From the environment <tot@localhost>, Tree of Thoughts <tot@localhost> {AT}\n")
        );
        bench.assert_clean();
        assert!(!bench.folder.path().join("elsewhere").exists());
    }

    /// Not a test by itself: see [`the_identity_of_the_environment_and_the_user_is_taken`].
    #[test]
    #[ignore]
    fn commits_as_the_environment_says() {
        let Some(dir) = std::env::var_os("TOT_TEST_IDENTITY_DIR") else { return };
        let git = Git::open(Path::new(&dir)).unwrap();
        let head = git.head().unwrap().commit.unwrap();
        git.commit(head, &[change("a", "1\n")], "x", AT).unwrap();
    }

    #[test]
    fn a_repository_that_leads_elsewhere_is_refused() {
        let bench = Bench::new();
        let refused = |dir: &Path| match open(dir).err() {
            Some(GitError::Refused { reason, .. }) => reason,
            other => panic!("{other:?}"),
        };
        bench.run(&["config", "core.worktree", "/etc"]);
        assert_eq!(refused(&bench.dir()), "has its work tree in another folder");
        bench.run(&["config", "--unset", "core.worktree"]);
        open(&bench.dir()).unwrap();

        run_in(bench.folder.path(), &["clone", "-q", "--shared", "it", "shared"]);
        assert_eq!(
            refused(&bench.folder.path().join("shared")),
            "leads to the objects of another repository"
        );

        bench.run(&["worktree", "add", "-q", "../linked"]);
        assert_eq!(refused(&bench.folder.path().join("linked")), "is a file that leads to another folder");

        let empty = bench.folder.path().join("empty");
        fs::create_dir(&empty).unwrap();
        assert!(matches!(open(&empty), Err(GitError::NotARepository { .. })));
        assert!(matches!(open(&bench.file("nodes")), Err(GitError::NotARepository { .. })));
        #[cfg(unix)]
        {
            use std::os::unix::fs::symlink;
            symlink(bench.file(".git"), empty.join(".git")).unwrap();
            assert_eq!(refused(&empty), "is a symbolic link");
            fs::rename(bench.file(".git/objects"), bench.folder.path().join("objects")).unwrap();
            symlink(bench.folder.path().join("objects"), bench.file(".git/objects")).unwrap();
            assert_eq!(refused(&bench.dir()), "is a symbolic link");
        }
    }

    #[test]
    fn formats_that_cannot_be_read_are_named() {
        let folder = tempfile::tempdir().unwrap();
        for (option, reason) in [("--object-format=sha256", "sha256"), ("--ref-format=reftable", "reftable")]
        {
            let name = option.split('=').next_back().unwrap();
            run_in(folder.path(), &["init", "-q", option, name]);
            let error = open(&folder.path().join(name)).err().unwrap();
            assert!(matches!(error, GitError::Unsupported { .. }), "{error}");
            assert!(error.to_string().contains(reason), "{error}");
        }
    }

    #[test]
    fn hostile_trees_are_capped_and_marked() {
        let bench = Bench::new();
        let repository = bench.git.local();
        let blob = bench.git.write_bytes(&repository, Kind::Blob, b"x\n").unwrap();
        let raw = |entries: &[(&str, &str, ObjectId)]| {
            let mut bytes = Vec::new();
            for (mode, name, id) in entries {
                bytes.extend_from_slice(format!("{mode} {name}\0").as_bytes());
                bytes.extend_from_slice(id.as_slice());
            }
            bench.git.write_bytes(&repository, Kind::Tree, &bytes).unwrap()
        };
        let commit_of = |tree: ObjectId| {
            let id = run_in(&bench.dir(), &["commit-tree", &tree.to_string(), "-m", "x"]);
            CommitId::from_str(id.trim()).unwrap()
        };
        // Ten folders in ten folders, twelve times over: 10^12 files.
        let mut bomb = raw(&[("100644", "f", blob)]);
        for _ in 0..12 {
            let names: Vec<String> = (0..10).map(|n| n.to_string()).collect();
            let entries: Vec<_> = names.iter().map(|name| ("40000", name.as_str(), bomb)).collect();
            bomb = raw(&entries);
        }
        let bomb = commit_of(bomb);
        assert!(matches!(bench.git.files(bomb), Err(GitError::TooMuch { .. })));
        assert!(matches!(bench.git.diff(None, bomb), Err(GitError::TooMuch { .. })));
        let mut deep = raw(&[("100644", "f", blob)]);
        for _ in 0..200 {
            deep = raw(&[("40000", "d", deep)]);
        }
        let deep = commit_of(deep);
        assert!(matches!(bench.git.files(deep), Err(GitError::TooMuch { .. })));
        assert!(matches!(bench.git.diff(None, deep), Err(GitError::TooMuch { .. })));

        let inner = raw(&[("100644", "config", blob)]);
        let odd = raw(&[
            ("100644", "..", blob),
            ("40000", ".GIT", inner),
            ("120000", "link", blob),
            ("160000", "module", blob),
        ]);
        let kinds = bench.git.files(commit_of(odd)).unwrap();
        let kinds: Vec<_> = kinds.iter().map(|file| (file.path.as_str(), file.kind)).collect();
        assert_eq!(
            kinds,
            [
                ("..", FileKind::Unsafe),
                (".GIT/config", FileKind::Unsafe),
                ("link", FileKind::Symlink),
                ("module", FileKind::Submodule)
            ]
        );

        // Out of order: committing on it is an error and no panic.
        let unsorted = raw(&[("100644", "z", blob), ("40000", "nodes", inner), ("100644", "a", blob)]);
        let unsorted = commit_of(unsorted);
        bench.run(&["update-ref", "HEAD", &unsorted.to_string()]);
        for path in ["a", "nodes/x", "q"] {
            let error = bench.git.commit(unsorted, &[change(path, "1")], "x", AT).unwrap_err();
            assert!(matches!(error, GitError::Damaged { .. }), "{error}");
        }
    }

    #[test]
    fn ids_are_read_and_shown() {
        let text = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(CommitId::from_str(text).unwrap().to_string(), text);
        assert_eq!(format!("{:?}", BlobId::from_str(text).unwrap()), format!("BlobId({text})"));
        for bad in ["", "0123", "x123456789abcdef0123456789abcdef01234567", &text.repeat(2)] {
            assert!(BlobId::from_str(bad).is_err());
        }
    }

    #[test]
    fn a_handle_is_shared_between_threads() {
        fn assert_shared<T: Send + Sync>() {}
        assert_shared::<Git>();
        assert_shared::<GitError>();
    }

    /// Run it with `--release -- --ignored --nocapture` and read the numbers.
    #[test]
    #[ignore]
    fn time_a_commit() {
        for (nodes, in_a_round) in [(10, 100), (100, 100), (1_000, 100), (1_000, 1_000), (10_000, 1_000)] {
            let text = "findings of a node, one line of many\n".repeat(80);
            let files: Vec<_> = (0..nodes)
                .map(|n| {
                    let round = n / in_a_round;
                    change(&format!("nodes/R{round}/R{round}.A{n}.yaml"), &format!("{n}\n{text}"))
                })
                .collect();
            let bench = Bench::with(&files);
            let mut head = bench.first;
            let rounds = 40;
            // Processor time, since the machine may be busy; Linux has it per thread.
            let processor = || -> Duration {
                let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
                Duration::from_nanos(text.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0))
            };
            let busy = processor();
            let since = Instant::now();
            for round in 0..rounds {
                let changes = [
                    change(&format!("nodes/R0/R0.B{round}.yaml"), &format!("b{round}\n{text}")),
                    change(&format!("nodes/R0/R0.C{round}.yaml"), &format!("c{round}\n{text}")),
                    change(&format!("nodes/R0/R0.A{}.yaml", round % 10), &format!("again {round}\n{text}")),
                ];
                head = bench.git.commit(head, &changes, "Round", AT).unwrap();
            }
            let commit = since.elapsed() / rounds;
            let busy = (processor() - busy) / rounds;
            let since = Instant::now();
            for _ in 0..10 {
                open(&bench.dir()).unwrap();
            }
            let opened = since.elapsed() / 10;
            let since = Instant::now();
            for _ in 0..100 {
                bench.git.local();
            }
            let local = since.elapsed() / 100;
            let since = Instant::now();
            let files = bench.git.files(head).unwrap();
            let listed = since.elapsed();
            let since = Instant::now();
            for file in &files {
                bench.git.read(file.blob, 1 << 20).unwrap();
            }
            let read = since.elapsed();
            let since = Instant::now();
            let log = bench.git.log(head, None).unwrap();
            for pair in log.windows(2) {
                bench.git.diff(Some(pair[1].id), pair[0].id).unwrap();
            }
            let history = since.elapsed();
            eprintln!(
                "{nodes} nodes, {in_a_round} a round: commit {commit:?} ({busy:?} of processor), open {opened:?}, local {local:?}, files {listed:?}, read all {read:?}, \
                 log and diff of 40 {history:?}"
            );
            bench.assert_clean();
        }
    }
}
