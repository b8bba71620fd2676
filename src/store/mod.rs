//! Investigations on disk, each an ordinary git repository in a folder of the store's root.
//!
//! 1. [`Store::create`] creates an investigation. [`Store::find`] looks one up by its id or part of its id.
//! 2. [`Store::load`] reads the committed state. It never reads the work tree or git's index.
//! 3. [`Store::transact`] loads, decides and publishes in one transaction. Writers take turns.
//! 4. [`Store::join`] integrates commits from elsewhere by fast-forwarding or by merging node by node. A merge commit depends
//!    only on its parents, so two clones make the same one. `checksum` seals each commit of ours.
//! 5. [`Store::history`] lists the changes in each commit, computed by diffing trees.
//!
//! # Guarantees
//!
//! - The committed state is the only source of truth. A snapshot in memory is discarded when the head moves.
//! - Every accepted write can be read back after a restart.
//! - An error in one file affects only that file, not the rest of the investigation.
//! - Nothing in a repository is executed, and symbolic links in it are not followed.
//! - The store does not evaluate rules.
//!
//! # Manual changes
//!
//! - Modified and staged files are left alone and never become part of a commit. An unmerged file stays unmerged.
//! - Commits are added to the current branch.
//! - While a merge, a rebase or a similar operation is in progress, or HEAD is detached, reads still work, but writes are
//!   refused with a hint.
//! - Hooks are not run, and commits are not signed.
//! - If HEAD moves other than forward, [`Store::moves`] reports it. [`Git::lost`](git::Git::lost) finds commits that are not
//!   reachable from any branch.

mod catalog;
mod checksum;
mod edited;
mod error;
pub mod git;
mod history;
mod join;
mod limits;
pub mod list;
mod moved;
mod read;
mod sign_off;
pub mod snapshot;
mod sweep;
mod terms;
mod transact;
mod withheld;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub use catalog::{FindError, RootRemoved};
pub use checksum::{CHECKSUM, Checksum, ManualEdit};
pub use edited::FalseNames;
pub(crate) use error::io_error;
pub use error::{StoreError, StoreErrorKind};
pub use git::{CommitId, Durability, Left, LostChain, MERGE_DRIVER, WorkTree};
use git::{Descent, Git, GitOptions, Head};
pub use join::{Joined, LeftOut, Resolution, ResolvedFile};
pub use limits::Size;
pub use list::{ListEntry, ListFacts, ListFilter, ListState, Listing};
use moved::KnownRepository;
pub use moved::Moved;
pub use sign_off::{Annotation, SIGN_OFFS, SignOffTag, SignOffTags, SignedFiles, Since};
pub use snapshot::{CommittedList, Fault, HistoryEntry, LostCommit, Relation, Snapshot, SourceFile};

pub use transact::{Draft, Transacted};

use crate::domain::{Attached, Investigation, Meta, SessionId};
use crate::format::{self, FileChange, StoredFile, layout};
use crate::ruleset::{EffectiveRules, RulesetFile};

/// The maximum number of snapshots in memory, and the maximum total size of their nodes and comments, in bytes. The
/// least recently used snapshots are dropped first.
const CACHED: usize = 64;
const CACHED_BYTES: u64 = 256 << 20;

/// A folder of investigations.
pub struct Store {
    root: PathBuf,
    /// True if the root has been seen by this program.
    was_there: AtomicBool,
    options: GitOptions,
    read_only: bool,
    /// The data kept in memory for each repository.
    known: Mutex<HashMap<PathBuf, KnownRepository>>,
    /// The snapshots in memory, most recently used first.
    cached: Mutex<Vec<Snapshot>>,
    /// The maximum size of an investigation.
    max_size: Size,
    /// The maximum total size of the snapshots in memory, in bytes.
    max_cached_bytes: u64,
}

/// A repository's refs. Identical refs imply identical state, history and sign-offs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refs {
    /// The branch that HEAD points to.
    pub branch: Option<String>,
    /// The id of the commit at HEAD, or `None` before the first commit.
    pub head: Option<CommitId>,
    /// The tags and the ids of their objects.
    pub tags: Vec<(String, String)>,
    /// The boundary commits of a shallow clone.
    pub ends: Vec<CommitId>,
}

impl Store {
    /// Creates a store for the folder `root`. The folder is created along with the first investigation.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        Store {
            was_there: AtomicBool::new(root.is_dir()),
            root,
            options: GitOptions::default(),
            read_only: false,
            known: Mutex::default(),
            cached: Mutex::default(),
            max_size: Size::MAX,
            max_cached_bytes: CACHED_BYTES,
        }
    }

    /// Sets the durability level.
    pub fn with_durability(self, durability: Durability) -> Self {
        Store { options: GitOptions { durability, ..self.options }, ..self }
    }

    /// Sets the author of all commits, whatever git's configuration says.
    pub fn with_author(self, name: &'static str, email: &'static str) -> Self {
        Store { options: GitOptions { author: Some((name, email)), ..self.options }, ..self }
    }

    /// Disables all writes if `read_only` is true, including commits, locks and recovery.
    pub fn reading_only(self, read_only: bool) -> Self {
        Store { read_only, ..self }
    }

    /// Returns the folder that contains the investigations.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Creates the root and hides its investigations from an enclosing git repository.
    ///
    /// [`Store::create`] calls this. Call it yourself before moving an existing investigation into the root.
    ///
    /// # Errors
    ///
    /// Returns an error if the root cannot be created or the store is read-only.
    pub fn prepare(&self) -> Result<(), StoreError> {
        self.refuse_read_only()?;
        self.is_root_there()?;
        self.refuse_strange_root()?;
        self.ignore_investigations()?;
        self.was_there.store(true, Ordering::Relaxed);
        sweep::root(&self.root);
        Ok(())
    }

    /// Creates an investigation with its first commit.
    ///
    /// # Errors
    ///
    /// Returns an error if git or the file system fails. Only the root folder is left behind in that case.
    pub fn create(&self, meta: Meta, ruleset: &RulesetFile, message: &str) -> Result<Snapshot, StoreError> {
        self.prepare()?;
        let file = |path: &str, text: &str| FileChange::text(path, text.into());
        let investigation = Investigation::new(meta);
        let (meta, rules) =
            (investigation.meta(), EffectiveRules::new(&ruleset.ruleset, investigation.meta()));
        let files = [
            file(layout::ATTRIBUTES, layout::ATTRIBUTES_TEXT),
            file(layout::README, &format::readme::readme(&investigation, &rules)),
            file(layout::META, &meta.write()?),
            file(layout::RULESET, &ruleset.text),
        ];
        let id = meta.id.to_string();
        let path = self.root.join(&id);
        let size = limits::of_new(&path, &files)?;
        let (git, head) = Git::init(self.options, &path, &id, &files, message, meta.started_at.seconds())?;
        let (branch, first) = (git.head()?.branch, Some(head));
        let alone = Snapshot::without_repository(investigation, ruleset.clone());
        let snapshot = Snapshot { path, head, branch, size, first, ..alone };
        self.wrote(&snapshot);
        self.cache(&snapshot);
        Ok(snapshot)
    }

    /// Lists the investigations, newest first, one page at a time. Damaged investigations are listed with their error.
    ///
    /// # Errors
    ///
    /// Returns an error if the root cannot be read or the cursor is invalid, or if the root was removed while this program was
    /// running. A root that never existed is treated as empty.
    pub fn list(&self, filter: &ListFilter) -> Result<Listing, StoreError> {
        self.is_root_there()?;
        self.refuse_strange_root()?;
        let folders = catalog::entries(&self.root).map_err(io_error("list", &self.root))?;
        list::list(&folders, filter)
    }

    /// Returns the folders of the investigations that a question is related to, the closest first.
    pub fn related_to(&self, question: &str) -> Vec<PathBuf> {
        list::related_to(&catalog::entries(&self.root).unwrap_or_default(), question)
    }

    /// Returns the newest investigations according to their folder names, which sort by time. At most `number` folders
    /// are read.
    pub fn newest(&self, number: usize) -> Vec<ListEntry> {
        let mut folders = catalog::entries(&self.root).unwrap_or_default();
        // Other folder names contain no time, so these folders are listed last.
        folders.sort_by_cached_key(|path| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            std::cmp::Reverse(name.parse::<SessionId>().ok())
        });
        let contents = folders.iter().take(number).filter_map(|path| list::read_folder(path));
        contents.map(|found| found.entry).collect()
    }

    /// Loads the committed state of an investigation.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no repository, no commit or no readable `investigation.yaml`. Problems in other
    /// files are recorded in the snapshot.
    pub fn load(&self, path: &Path) -> Result<Snapshot, StoreError> {
        let git = self.open(path)?;
        self.load_from(&git, path, git.head()?)
    }

    /// Loads the committed state without reading the history. So who changed what by hand is unknown, and no verdict of this state
    /// counts.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Store::load`].
    pub fn load_tip(&self, path: &Path) -> Result<Snapshot, StoreError> {
        let git = self.open(path)?;
        let unborn = || StoreError::not_an_investigation(path, "it has no commit yet");
        read::tip(&git, path, git.head()?.commit.ok_or_else(unborn)?)
    }

    fn load_from(&self, git: &Git, path: &Path, head: Head) -> Result<Snapshot, StoreError> {
        let unborn = || StoreError::not_an_investigation(path, "it has no commit yet");
        let commit = head.commit.ok_or_else(unborn)?;
        let held = lock(&self.cached).iter().find(|held| held.path == path).cloned();
        // `git fetch --unshallow` moves the boundary without moving the head.
        let boundary = git.shallow_boundary()?;
        let is_current = |held: &Snapshot| {
            held.head == commit && held.boundary.as_ref().is_none_or(|then| *then == boundary)
        };
        let snapshot = match held {
            Some(held) if is_current(&held) => Snapshot { branch: head.branch, ..held },
            before => read::snapshot(git, path, commit, head.branch, before.as_ref())?,
        };
        self.loaded(git, &snapshot);
        self.cache(&snapshot);
        Ok(snapshot)
    }

    /// Cleans up after a killed writer, for example by removing a lock file that blocks git, unless another writer is
    /// active. Then loads the committed state. [`Store::transact`] does the same.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Store::load`].
    pub fn recover(&self, path: &Path) -> Result<Snapshot, StoreError> {
        let git = self.open(path)?;
        if !self.read_only {
            // The next write fails with the same error and reports it.
            let _ = git.recover();
        }
        self.load_from(&git, path, git.head()?)
    }

    /// Loads the state at a revision in git's syntax, such as an id or its prefix, a branch, a tag or `HEAD~2`.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Store::load`], and an error if the revision does not exist.
    pub fn load_at(&self, path: &Path, rev: &str) -> Result<Snapshot, StoreError> {
        let git = self.open(path)?;
        let unknown = || {
            let path = path.display();
            StoreError::new(StoreErrorKind::UnknownRevision, format!("{path} has no commit `{rev}`"))
                .hinting(format!("`git -C {path} log` lists the commits"))
        };
        let commit = git.resolve(rev)?.ok_or_else(unknown)?;
        read::snapshot(&git, path, commit, None, None)
    }

    /// Returns the changes in each commit up to the snapshot's, newest first, along first parents. Memory use is
    /// limited, and each entry records what was left out.
    ///
    /// # Errors
    ///
    /// Returns an error if git cannot read the snapshot's own commit. Unreadable files become faults in their entry,
    /// and unreadable earlier commits become gaps.
    pub fn history(&self, snapshot: &Snapshot) -> Result<Vec<HistoryEntry>, StoreError> {
        self.history_until(snapshot, |_| false)
    }

    /// Returns the history back to the first entry for which `is_enough` returns true.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Store::history`].
    pub fn history_until(
        &self,
        snapshot: &Snapshot,
        is_enough: impl FnMut(&HistoryEntry) -> bool,
    ) -> Result<Vec<HistoryEntry>, StoreError> {
        history::history(&self.open(&snapshot.path)?, snapshot, history::HistoryBudget::DEFAULT, is_enough)
    }

    /// Returns the relation between two snapshots of one repository, based on the readable history.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails.
    pub fn relation(&self, before: &Snapshot, after: &Snapshot) -> Result<Relation, StoreError> {
        if before.head == after.head {
            return Ok(Relation::Same);
        }
        let git = self.open(&after.path)?;
        let forward = git.descent(before.head, after.head)?;
        if forward == Descent::Yes {
            return Ok(Relation::Forward);
        }
        Ok(match (git.descent(after.head, before.head)?, forward) {
            (Descent::Yes, _) => Relation::Backward,
            (Descent::Unknown(end), _) | (_, Descent::Unknown(end)) => Relation::Unknown { end },
            _ => Relation::Diverged,
        })
    }

    /// Returns the subject of a commit, or `None` if the repository does not contain the commit.
    ///
    /// # Errors
    ///
    /// Returns an error if `path` is not a repository.
    pub fn subject(&self, path: &Path, commit: CommitId) -> Result<Option<String>, StoreError> {
        Ok(self.open(path)?.commit_info(commit).ok().map(|commit| commit.subject().to_owned()))
    }

    /// Returns whether `later` is known to descend from `earlier`.
    ///
    /// # Errors
    ///
    /// Returns an error if `path` is not a repository or if git fails.
    pub fn is_ancestor(&self, path: &Path, earlier: CommitId, later: CommitId) -> Result<bool, StoreError> {
        Ok(self.open(path)?.descent(earlier, later)? == Descent::Yes)
    }

    /// Returns the commit at HEAD, or `None` before the first commit. This is much cheaper than [`Store::load`] and
    /// suitable for polling.
    ///
    /// # Errors
    ///
    /// Returns an error if `path` is not a repository or if git fails.
    pub fn head(&self, path: &Path) -> Result<Option<CommitId>, StoreError> {
        Ok(self.open(path)?.head()?.commit)
    }

    /// Returns the refs that determine the state, provided that no object is missing or damaged. This is as cheap as
    /// [`Store::head`].
    ///
    /// # Errors
    ///
    /// Returns an error if `path` is not a repository or if git fails.
    pub fn refs(&self, path: &Path) -> Result<Refs, StoreError> {
        let git = self.open(path)?;
        let Head { branch, commit } = git.head()?;
        Ok(Refs { branch, head: commit, tags: git.tag_objects()?, ends: git.shallow_boundary()? })
    }

    /// Returns the id of the investigation in a folder. This is cheaper than [`Store::load`].
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Store::load`].
    pub fn id(&self, path: &Path) -> Result<SessionId, StoreError> {
        let not_one = |reason: String| StoreError::not_an_investigation(path, &reason);
        let git = self.open(path)?;
        let head = git.head()?.commit.ok_or_else(|| not_one("it has no commit yet".into()))?;
        let files = git.files(head)?;
        let meta = files.iter().find(|file| layout::file_role(&file.path) == layout::FileRole::Meta);
        let meta = meta.ok_or_else(|| not_one(format!("{} is missing", layout::META)))?;
        Ok(read::meta(&git, meta).map_err(|fault| not_one(fault.to_string()))?.id)
    }

    /// Returns the committed files of the snapshot, byte for byte.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails. Unreadable files are omitted because the snapshot lists them as faults.
    pub fn sources(&self, snapshot: &Snapshot) -> Result<Vec<SourceFile>, StoreError> {
        read::sources(&self.open(&snapshot.path)?, snapshot.head)
    }

    /// Returns the contents of the snapshot's attachments by node and name, up to 64 MiB in total.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails. Unreadable attachments are omitted.
    pub fn attachments(&self, snapshot: &Snapshot) -> Result<Vec<Attached>, StoreError> {
        if snapshot.investigation.attachments().is_empty() {
            return Ok(Vec::new());
        }
        read::attachments(&self.open(&snapshot.path)?, snapshot)
    }

    /// Returns what git, or this program, can't use in the git folder, each with the command that removes it.
    ///
    /// # Errors
    ///
    /// Returns an error if `path` is not a repository.
    pub fn faults(&self, path: &Path) -> Result<Vec<StoreError>, StoreError> {
        Ok(self.open(path)?.faults(&[SIGN_OFFS[0], SIGN_OFFS[1], "ended/"]))
    }

    /// Returns an error if git would refuse an exchange with a remote because of a broken reference.
    ///
    /// # Errors
    ///
    /// Returns that error, which names the file and the command that removes it.
    pub fn check_references(&self, path: &Path) -> Result<(), StoreError> {
        self.open(path)?.broken_references().into_iter().next().map_or(Ok(()), Err)
    }

    /// Returns the configured remote and the number of commits ahead and behind, as of the last fetch. Does not use the
    /// network.
    ///
    /// # Errors
    ///
    /// Returns an error if the repository cannot be opened.
    pub fn upstream(&self, snapshot: &Snapshot) -> Result<Option<git::TrackedRemote>, StoreError> {
        let git = self.open(&snapshot.path)?;
        Ok(snapshot.branch.as_ref().and_then(|branch| git.upstream(branch, snapshot.head)))
    }

    /// Writes the settings with which plain git commands merge by node and keep tags, unless the repository has them.
    ///
    /// # Errors
    ///
    /// Returns an error if git's configuration can't be read or written.
    pub fn configure(&self, path: &Path) -> Result<(), StoreError> {
        self.refuse_read_only()?;
        git::configure(self.open(path)?.path()).map_err(io_error("configure", path))
    }

    /// Returns whether a plain git command merges by node there.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no commit, or if git fails.
    pub fn merges_by_node(&self, path: &Path) -> Result<bool, StoreError> {
        let git = self.open(path)?;
        let named = git.blob_at(self.load(path)?.head, layout::ATTRIBUTES)?;
        let named = named.map(|blob| git.read(blob, read::FILE_MAX)).transpose()?.unwrap_or_default();
        let is_named = |line: &str| String::from_utf8_lossy(&named).lines().any(|own| own.trim() == line);
        Ok(git.is_configured() && layout::ATTRIBUTES_TEXT.lines().all(is_named))
    }

    fn refuse_read_only(&self) -> Result<(), StoreError> {
        match self.read_only {
            true => Err(StoreError::new(StoreErrorKind::ReadOnly, "this store is read-only".to_owned())),
            false => Ok(()),
        }
    }

    /// Opens a repository to write to it. The first time, removes abandoned files and writes the settings that are missing, as
    /// in a clone made with plain git.
    fn open_to_write(&self, path: &Path) -> Result<Git, StoreError> {
        self.refuse_read_only()?;
        let git = self.open(path)?;
        if !self.known(path, |known| std::mem::replace(&mut known.is_swept, true)) {
            sweep::objects(git.path());
            // Calls don't need the settings. `tot setup --check` says if they are missing.
            let _ = git::configure(git.path());
        }
        Ok(git)
    }

    /// Opens a repository to read it.
    ///
    /// # Errors
    ///
    /// Returns an error if `path` is not a repository that can be opened.
    pub(crate) fn open(&self, path: &Path) -> Result<Git, StoreError> {
        let git = Git::open(path, self.options)?;
        if !self.known(path, |known| known.is_checked) {
            git.check_objects()?;
            self.known(path, |known| known.is_checked = true);
        }
        Ok(git)
    }

    /// Reads or updates the data kept in memory for a repository.
    fn known<T>(&self, path: &Path, access: impl FnOnce(&mut KnownRepository) -> T) -> T {
        access(lock(&self.known).entry(path.to_owned()).or_default())
    }

    /// Caches the snapshot as the most recently used one, regardless of its size.
    fn cache(&self, snapshot: &Snapshot) {
        let mut held = lock(&self.cached);
        held.retain(|other| other.path != snapshot.path);
        let mut bytes = snapshot.size.text;
        let fits = |other: &&Snapshot| {
            bytes += other.size.text;
            bytes <= self.max_cached_bytes
        };
        let kept = held.iter().take(CACHED - 1).take_while(fits).count();
        held.truncate(kept);
        held.insert(0, snapshot.clone());
    }

    /// Returns an error if the root is there, but is not a folder.
    fn refuse_strange_root(&self) -> Result<(), StoreError> {
        let refused = |it| StoreError::new(StoreErrorKind::Io, it).hinting(ROOT_HINT);
        strange_root(&self.root).map_or(Ok(()), |it| Err(refused(it)))
    }

    /// Hides the investigations in the root from `git status` in an enclosing repository.
    fn ignore_investigations(&self) -> Result<(), StoreError> {
        let path = self.root.join(".gitignore");
        let io = |fault| io_error("write", &path)(fault).hinting(ROOT_HINT);
        fs::create_dir_all(&self.root).map_err(io)?;
        let is_there = || fs::symlink_metadata(&path).is_ok();
        // The user may have changed the file.
        if is_there() {
            return Ok(());
        }
        let text =
            "# Written by tot-mcp: each folder here is a git repository of its own.\n/*/\n/.gitignore\n";
        // Rename the file into place, so that a process killed here does not leave an empty file that would count as
        // the user's own.
        let aside = self.root.join(".gitignore.new");
        fs::write(&aside, text).map_err(io)?;
        match fs::rename(&aside, &path) {
            // Another process was faster.
            Err(_) if is_there() => Ok(()),
            outcome => outcome.map_err(io),
        }
    }
}

const ROOT_HINT: &str = "Investigations are kept in a folder that you may write to: name one with --root DIR or TOT_ROOT, \
                         for a server in the client's configuration";

/// Says what a root is, if it is there but is not a folder.
pub fn strange_root(root: &Path) -> Option<String> {
    fs::symlink_metadata(root).ok().filter(|_| !root.is_dir())?;
    let what = if root.exists() { "a file" } else { "a link that leads nowhere" };
    Some(format!("the root {} is {what}", root.display()))
}

/// Locks the mutex even if a previous holder panicked. The values are consistent at all times.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
