//! Investigations on disk, each an ordinary git repository in a folder of the store's root.
//!
//! 1. [`Store::create`] creates an investigation; [`Store::find`] finds it by its id or a part of it.
//! 2. [`Store::load`] reads the committed state: never the work tree, never git's index.
//! 3. [`Store::transact`] loads, decides and publishes as one transaction, which writers have one after the other.
//! 4. [`Store::join`] merges what others have committed: a fast-forward, or a merge by node.
//! 5. [`Store::history`] lists what each commit changed, from the difference of the trees.
//!
//! Guarantees: the committed state is the truth, and memory of it is dropped as soon as the head moves. What a writer
//! accepts, the next start can read. A fault in one file costs that file, not the investigation. Nothing in a repository
//! is executed, and no symbolic link in it is followed. The store does not know the rules of a method.
//!
//! Changes by hand: dirty and staged files stay so and are never part of a commit; an unmerged file stays unmerged.
//! Commits go to whatever HEAD is at: a branch, or (detached) a commit. During a merge, a rebase or their like, reading
//! goes on, and a commit is refused with what to do. Hooks and signing are not run. If HEAD moves in any direction but
//! forward, [`Store::moves`] reports it, and [`Store::lost`] finds the commits that no branch leads to any more.

mod authors;
mod calls;
mod catalog;
pub mod git;
mod hands;
mod history;
mod join;
mod limits;
pub mod list;
mod merges;
mod moved;
mod read;
mod resolve;
mod sign_off;
pub mod snapshot;
mod sweep;

use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use catalog::FindError;
pub use git::{CommitId, Durability, Left, LostChain};
use git::{Descent, Git, GitError, Options, Writer};
pub use join::{BY_HAND, JoinError, Joined, LeftOut};
pub use limits::Size;
pub use list::{ListEntry, ListFacts, ListFilter, ListState, Listing};
pub use moved::Moved;
pub use resolve::Resolved;
pub use sign_off::{Annotation, SIGN_OFFS, SignOffTag, SignOffTags, SignedFiles, Since};
pub use snapshot::{Fault, HistoryEntry, LostCommit, Relation, Snapshot, SourceFile};

use crate::domain::{Attached, Change, Investigation, Meta, SessionId, Timestamp};
use crate::format::{self, FileChange, layout, message};
use crate::ruleset::{EffectiveRules, RulesetFile};
use crate::yaml::YamlError;

/// The file in the root that names the default investigation. It is hidden, so that it is not listed as one.
pub const CHOSEN: &str = ".tot-use";

/// The maximum number of investigations in memory, and of bytes of their nodes and comments. Beyond that, the least
/// recently used are dropped, and read again when needed.
const HELD: usize = 64;
const HELD_BYTES: u64 = 256 << 20;

/// The maximum number of attempts at a transaction, if somebody commits with git in between.
const TRIES: usize = 20;

/// A folder of investigations.
pub struct Store {
    root: PathBuf,
    options: Options,
    read_only: bool,
    catalog: catalog::Catalog,
    /// The snapshots in memory, the last one first.
    held: Mutex<Vec<Snapshot>>,
    heads: moved::Heads,
    /// The maximum size of an investigation.
    most: Size,
    /// The most bytes in memory.
    most_held: u64,
    seen: list::Seen,
    /// The repositories whose objects were checked.
    checked: Mutex<HashSet<PathBuf>>,
    /// The repositories whose old leftovers were removed.
    swept: Mutex<HashSet<PathBuf>>,
}

/// Why an operation on an investigation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A git repository that is not an investigation.
    #[error("{path} is a git repository but not an investigation: {reason}")]
    NotAnInvestigation {
        /// The repository.
        path: PathBuf,
        /// The missing or wrong part.
        reason: String,
    },
    /// The owner has opened the store read-only.
    #[error("this store is read-only")]
    ReadOnly,
    /// No commit goes by that name.
    #[error("{path} has no commit `{rev}`")]
    UnknownRevision {
        /// The repository.
        path: PathBuf,
        /// The requested revision.
        rev: String,
    },
    /// An invalid cursor: no list returned it.
    #[error("`{cursor}` is not a valid cursor")]
    UnknownCursor {
        /// The cursor, shortened.
        cursor: String,
    },
    /// The write would make the investigation larger than what can be read.
    #[error(
        "the investigation in {path} is full: it would have more than {limit}, which could not be read again"
    )]
    Full {
        /// The repository.
        path: PathBuf,
        /// The limit that is exceeded.
        limit: String,
    },
    /// A commit of others that can't be merged.
    #[error(transparent)]
    Join(#[from] JoinError),
    /// An error of git or the file system.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A value can't be written as YAML.
    #[error("cannot be written as YAML: {0}")]
    Yaml(#[from] YamlError),
    /// The folder of the investigations, or the store's own file in it, failed.
    #[error("cannot {action} {path}")]
    Io {
        /// The action that failed.
        action: &'static str,
        /// The folder or file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl StoreError {
    /// Returns the hint, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            StoreError::Git(error) => Some(error.hint()),
            StoreError::Join(error) => Some(error.hint()),
            StoreError::UnknownRevision { path, .. } => {
                Some(format!("`git -C {} log` lists them", path.display()))
            }
            StoreError::UnknownCursor { .. } => {
                Some("Leave out the cursor to begin at the first page".to_owned())
            }
            StoreError::Full { .. } => {
                Some("End it with tot_end, and start another one for the open questions".to_owned())
            }
            StoreError::NotAnInvestigation { .. }
            | StoreError::ReadOnly
            | StoreError::Yaml(_)
            | StoreError::Io { .. } => None,
        }
    }
}

/// The pointers of a repository. Equal pointers mean equal state, history and sign-offs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The branch that HEAD is on.
    pub branch: Option<String>,
    /// The id of the commit at HEAD; absent before the first commit.
    pub head: Option<String>,
    /// The tags, each with the id of its object.
    pub tags: Vec<(String, String)>,
    /// The commits at which a shallow clone ends.
    pub ends: Vec<CommitId>,
}

/// The result of a decision, written as one commit.
pub struct Draft {
    /// The files.
    pub files: Vec<FileChange>,
    /// Their meaning, so that the state afterwards need not be read again.
    pub changes: Vec<Change>,
    /// The commit's message.
    pub message: String,
    /// The time of the decision.
    pub at: Timestamp,
}

/// The outcome of a transaction.
pub struct Transacted<T> {
    /// The state before the decision.
    pub before: Snapshot,
    /// The state afterwards: unchanged if nothing was to be written.
    pub after: Snapshot,
    /// The new commits, in their order.
    pub commits: Vec<CommitId>,
    /// The tag of the conclusion, if the investigation has ended.
    pub tag: Option<String>,
    /// Whether git's own maintenance would find something to do.
    pub wants_upkeep: bool,
    /// The result of the decision.
    pub decided: T,
}

impl Store {
    /// Returns the store in that folder. The folder is made with the first investigation.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Store {
            root: root.into(),
            options: Options::default(),
            read_only: false,
            catalog: catalog::Catalog::default(),
            held: Mutex::default(),
            heads: moved::Heads::default(),
            most: Size::MOST,
            most_held: HELD_BYTES,
            seen: list::Seen::default(),
            checked: Mutex::default(),
            swept: Mutex::default(),
        }
    }

    /// Sets the durability level.
    pub fn with_durability(self, durability: Durability) -> Self {
        Store { options: Options { durability, ..self.options }, ..self }
    }

    /// Makes commits depend on the arguments alone: no name or setting of the user goes into them.
    pub fn reproducible(self) -> Self {
        Store { options: Options::ISOLATED, ..self }
    }

    /// Makes the store read-only if `read_only`: no commit, no lock, no recovery.
    pub fn reading_only(self, read_only: bool) -> Self {
        Store { read_only, ..self }
    }

    /// The folder of the investigations.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Creates the root, and keeps it out of `git status` of an enclosing project. [`Store::create`] does so itself; call this
    /// before you move an existing investigation there.
    ///
    /// # Errors
    ///
    /// The root can't be created, or the store is read-only.
    pub fn prepare(&self) -> Result<(), StoreError> {
        self.refuse_read_only()?;
        self.ignore_investigations()?;
        sweep::root(&self.root);
        Ok(())
    }

    /// Creates an investigation, with its first commit.
    ///
    /// # Errors
    ///
    /// Any error of git or the file system; then nothing is left behind but the root folder.
    pub fn create(&self, meta: Meta, ruleset: &RulesetFile, message: &str) -> Result<Snapshot, StoreError> {
        self.prepare()?;
        let file = |path: &str, text: &str| FileChange::text(path, text.into());
        let investigation = Investigation::new(meta);
        let (meta, rules) =
            (investigation.meta(), EffectiveRules::new(&ruleset.ruleset, investigation.meta()));
        let files = [
            file(layout::ATTRIBUTES, layout::ATTRIBUTES_TEXT),
            file(layout::README, &format::readme::readme(&investigation, &rules)),
            file(layout::META, &format::meta_file::write(meta)?),
            file(layout::RULESET, &ruleset.text),
        ];
        let id = meta.id.to_string();
        let path = self.root.join(&id);
        let size = limits::of_new(&path, &files)?;
        let (git, head) = Git::init(self.options, &path, &id, &files, message, meta.started_at.seconds())?;
        let snapshot = Snapshot {
            path: path.clone(),
            head,
            branch: git.head()?.branch,
            investigation: Arc::new(investigation),
            ruleset: Ok(Arc::new(ruleset.clone())),
            faults: Vec::new(),
            size,
            first: Some(head),
        };
        self.heads.wrote(&snapshot);
        self.hold(&snapshot);
        Ok(snapshot)
    }

    /// The folder of the investigation with that id, or with a unique prefix or suffix of it.
    ///
    /// # Errors
    ///
    /// No match, several matches, or one id in two folders.
    pub fn find(&self, id: &str) -> Result<PathBuf, FindError> {
        self.catalog.find(&self.root, id)
    }

    /// Records the actual id of a folder whose name or earlier contents said another.
    pub fn correct(&self, path: &Path, id: SessionId) {
        self.catalog.correct(path, id);
    }

    /// The folders in the root that contain an investigation, by id.
    pub fn folders(&self) -> Vec<PathBuf> {
        self.catalog.folders(&self.root).into_iter().map(|(_, path)| path).collect()
    }

    /// The investigations in the root, newest first, a page at a time. Damaged ones are included, with their fault.
    ///
    /// # Errors
    ///
    /// An unreadable root, and an invalid cursor. A root that does not exist yet is empty.
    pub fn list(&self, filter: &ListFilter) -> Result<Listing, StoreError> {
        let failed = |source| StoreError::Io { action: "list", path: self.root.clone(), source };
        let folders = catalog::entries(&self.root).map_err(failed)?;
        self.seen.list(&folders, filter)
    }

    /// The newest investigations, by the names of their folders: ids sort by time. Reads at most so many folders,
    /// however many exist.
    pub fn newest(&self, number: usize) -> Vec<ListEntry> {
        let mut folders = catalog::entries(&self.root).unwrap_or_default();
        // A folder with another name, which does not tell its time, comes last.
        folders.sort_by_cached_key(|path| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            std::cmp::Reverse(name.parse::<SessionId>().ok())
        });
        let looked_at = folders.iter().take(number).filter_map(|path| list::look_at(path, None));
        looked_at.map(|found| found.entry).collect()
    }

    /// The committed state of the investigation in that folder.
    ///
    /// # Errors
    ///
    /// No repository, no commit yet, or no readable `investigation.yaml`. Other faults are part of the snapshot.
    pub fn load(&self, path: &Path) -> Result<Snapshot, StoreError> {
        self.load_from(&self.open(path)?, path)
    }

    fn load_from(&self, git: &Git, path: &Path) -> Result<Snapshot, StoreError> {
        let head = git.head()?;
        let commit = head.commit.ok_or_else(|| StoreError::NotAnInvestigation {
            path: path.to_owned(),
            reason: "it has no commit yet".into(),
        })?;
        let held = lock(&self.held).iter().find(|held| held.path == path).cloned();
        let snapshot = match held {
            Some(held) if held.head == commit => Snapshot { branch: head.branch, ..held },
            before => read::snapshot(git, path, commit, head.branch, before.as_ref())?,
        };
        self.heads.loaded(git, &snapshot);
        self.hold(&snapshot);
        Ok(snapshot)
    }

    /// Runs one transaction: waits for the other writers, recovers what a killed one left, loads, calls `decide` with that
    /// state, and publishes each draft as one commit on the one before. If somebody commits by git in between, it loads and
    /// decides again. Limit: a commit by git between two drafts, or a failing disk, fails the second draft and keeps the
    /// first. The file of a conclusion is the truth and its tag a pointer to it; if a kill came between the two, the tag is
    /// written here.
    ///
    /// # Errors
    ///
    /// Refusals of `decide`, a merge or its like in progress, and any error of git or the file system: then nothing is
    /// written.
    pub fn transact<T, E: From<StoreError>>(
        &self,
        path: &Path,
        decide: impl Fn(&Snapshot) -> Result<(Vec<Draft>, T), E>,
    ) -> Result<Transacted<T>, E> {
        self.refuse_read_only()?;
        let git = self.open(path).map_err(StoreError::from)?;
        if lock(&self.swept).insert(path.to_owned()) {
            sweep::objects(git.path());
        }
        'tries: for _ in 0..TRIES {
            let writer = git.writer().map_err(StoreError::from)?;
            let before = self.load_from(&git, path)?;
            let (drafts, decided) = decide(&before)?;
            // Before it is reopened: nothing would write the tag afterwards.
            let mut tag = tag_end(&writer, &before)?;
            if drafts.len() > 1 {
                // Before the first write: all drafts must fit.
                let files: Vec<FileChange> = drafts.iter().flat_map(|draft| draft.files.clone()).collect();
                limits::after(writer.git(), &before, &files, self.most)?;
            }
            let (mut after, mut commits) = (before.clone(), Vec::new());
            for draft in &drafts {
                after = match self.publish(&writer, &after, draft) {
                    Err(StoreError::Git(GitError::HeadMoved { .. })) if commits.is_empty() => continue 'tries,
                    published => published?,
                };
                commits.push(after.head);
            }
            if !commits.is_empty() {
                tag = tag_end(&writer, &after)?;
            }
            let wants_upkeep = !commits.is_empty() && git.wants_upkeep();
            return Ok(Transacted { before, after, commits, tag, wants_upkeep, decided });
        }
        Err(StoreError::from(GitError::Busy { path: git::Shown(path.to_owned()) }).into())
    }

    /// Recovers what a killed writer left behind, such as a lock file that would block git, unless another writer is
    /// active. [`Store::transact`] does so itself; this is for calls that write nothing.
    pub fn recover(&self, path: &Path) {
        if !self.read_only
            && let Ok(git) = self.open(path)
        {
            // A failure here occurs again, and is reported, at the next write.
            let _ = git.recover();
        }
    }

    /// The state of the investigation in that folder at any revision, in git's syntax: an id, its prefix, a branch, a
    /// tag, `HEAD~2`.
    ///
    /// # Errors
    ///
    /// As [`Store::load`], and an unknown revision.
    pub fn load_at(&self, path: &Path, rev: &str) -> Result<Snapshot, StoreError> {
        let git = self.open(path)?;
        let unknown = || StoreError::UnknownRevision { path: path.to_owned(), rev: rev.to_owned() };
        let commit = git.resolve(rev)?.ok_or_else(unknown)?;
        read::snapshot(&git, path, commit, None, None)
    }

    /// The changes of each commit up to the snapshot's, newest first, along first parents, within a budget of memory.
    /// An entry says what is left out of it or before it.
    ///
    /// # Errors
    ///
    /// Any error of git for the snapshot's own commit. An unreadable file is a fault of its commit, and an unreadable
    /// earlier commit a gap.
    pub fn history(&self, snapshot: &Snapshot) -> Result<Vec<HistoryEntry>, StoreError> {
        self.history_until(snapshot, |_| false)
    }

    /// Returns the history as far back as the first entry that `is_enough`.
    ///
    /// # Errors
    ///
    /// As [`Store::history`].
    pub fn history_until(
        &self,
        snapshot: &Snapshot,
        is_enough: impl FnMut(&HistoryEntry) -> bool,
    ) -> Result<Vec<HistoryEntry>, StoreError> {
        history::history(&self.open(&snapshot.path)?, snapshot, history::Budget::DEFAULT, is_enough)
    }

    /// The relation of two snapshots of one repository, as far as their history can be read.
    ///
    /// # Errors
    ///
    /// Any error of git.
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

    /// Returns the commit that HEAD is at now; `None` before the first. To watch an investigation, this is much cheaper than
    /// [`Store::load`].
    ///
    /// # Errors
    ///
    /// No repository, or any error of git.
    pub fn head(&self, path: &Path) -> Result<Option<CommitId>, StoreError> {
        Ok(self.open(path)?.head()?.commit)
    }

    /// Returns the pointers that determine everything a reader sees, as long as no object is missing or damaged. Cheap, like
    /// [`Store::head`].
    ///
    /// # Errors
    ///
    /// No repository, or any error of git.
    pub fn standing(&self, path: &Path) -> Result<Standing, StoreError> {
        // Reads no object, so none need be checked.
        let git = Git::open(path, self.options)?;
        let (branch, head) = git.head_as_stored()?;
        Ok(Standing { branch, head, tags: git.tag_objects()?, ends: git.ends()? })
    }

    /// The id of the investigation in that folder: cheaper than [`Store::load`].
    ///
    /// # Errors
    ///
    /// As [`Store::load`].
    pub fn id(&self, path: &Path) -> Result<SessionId, StoreError> {
        let not_one = |reason: String| StoreError::NotAnInvestigation { path: path.to_owned(), reason };
        let git = self.open(path)?;
        let head = git.head()?.commit.ok_or_else(|| not_one("it has no commit yet".into()))?;
        let files = git.files(head)?;
        let meta = files.iter().find(|file| layout::place(&file.path) == layout::Place::Meta);
        let meta = meta.ok_or_else(|| not_one(format!("{} is missing", layout::META)))?;
        Ok(read::meta(&git, meta).map_err(|fault| not_one(fault.to_string()))?.id)
    }

    /// The commits of that investigation that HEAD has left other than forward, as noticed by loads and writes of this
    /// process. Returns each once; a commit that HEAD has returned to is left out.
    ///
    /// # Errors
    ///
    /// Any error of git.
    pub fn moves(&self, id: SessionId) -> Result<Vec<Moved>, StoreError> {
        let mut moves = Vec::new();
        for (path, from) in self.heads.left(id) {
            let left = self.open(&path)?.left_behind(from)?;
            moves.extend(left.map(|left| Moved { path, from, left }));
        }
        Ok(moves)
    }

    /// The commits of calls that no branch leads to: removed by `git reset` or the like, and still in the repository.
    /// Reads every object.
    ///
    /// # Errors
    ///
    /// Unreadable objects, references or reflog.
    pub fn lost(&self, path: &Path) -> Result<Vec<LostChain<LostCommit>>, StoreError> {
        Ok(self.open(path)?.lost(|commit| LostCommit::of_call(&commit.message))?)
    }

    /// Returns the committed files of the snapshot, byte for byte.
    ///
    /// # Errors
    ///
    /// Any error of git. An unreadable file is left out: it is a fault of the snapshot.
    pub fn sources(&self, snapshot: &Snapshot) -> Result<Vec<SourceFile>, StoreError> {
        read::sources(&self.open(&snapshot.path)?, snapshot.head)
    }

    /// The contents of the snapshot's attachments, by node and name, up to 64 MiB in all.
    ///
    /// # Errors
    ///
    /// Any error of git. An unreadable attachment is left out.
    pub fn attachments(&self, snapshot: &Snapshot) -> Result<Vec<Attached>, StoreError> {
        if snapshot.investigation.attachments().is_empty() {
            return Ok(Vec::new());
        }
        read::attachments(&self.open(&snapshot.path)?, snapshot)
    }

    /// The text of the newest commit's [`layout::WITHHELD`]; `None` where there is none.
    ///
    /// # Errors
    ///
    /// Any error of git, and anything but a file in its place: an unreadable list must not lead to publishing everything.
    pub fn withheld(&self, path: &Path) -> Result<Option<String>, StoreError> {
        let git = self.open(path)?;
        let Some(head) = git.head()?.commit else { return Ok(None) };
        read::withheld(&git, path, head)
    }

    /// Whether [`layout::WITHHELD`] in the work tree differs from the newest commit. A list that is not checked out does
    /// not count.
    ///
    /// # Errors
    ///
    /// As [`Store::withheld`], and any error of the file system.
    pub fn has_uncommitted_list(&self, path: &Path) -> Result<bool, StoreError> {
        let file = path.join(layout::WITHHELD);
        match fs::symlink_metadata(&file) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Ok(about) if !about.is_file() || about.len() > read::FILE_MAX => Ok(true),
            Ok(_) => {
                let text = fs::read(&file);
                let text = text.map_err(|source| StoreError::Io { action: "read", path: file, source })?;
                Ok(self.withheld(path)?.is_none_or(|committed| committed.as_bytes() != text))
            }
            Err(source) => Err(StoreError::Io { action: "read", path: file, source }),
        }
    }

    /// The damaged objects of the repository, unreadable or not matching their ids: each id with the reason. Reads
    /// every object.
    ///
    /// # Errors
    ///
    /// The objects can't be listed.
    pub fn damaged_objects(&self, path: &Path) -> Result<Vec<(String, String)>, StoreError> {
        Ok(self.open(path)?.verify_objects()?)
    }

    /// Whether the repository's or the user's settings ask for signed commits, which this program does not make.
    ///
    /// # Errors
    ///
    /// No repository.
    pub fn wants_signatures(&self, path: &Path) -> Result<bool, StoreError> {
        Ok(self.open(path)?.wants_signatures())
    }

    /// The author of commits there, by git's settings and environment; `None` if these name no author.
    ///
    /// # Errors
    ///
    /// No repository.
    pub fn author(&self, path: &Path) -> Result<Option<String>, StoreError> {
        Ok(self.open(path)?.author())
    }

    /// The name and address of the author of commits there; `None` if git knows no name.
    ///
    /// # Errors
    ///
    /// No repository.
    pub fn person(&self, path: &Path) -> Result<Option<(String, Option<String>)>, StoreError> {
        let git = self.open(path)?;
        Ok(git.author().map(|name| (name, git.identity().1)))
    }

    /// The name that commits there get, even if git knows none, and the address that git knows.
    ///
    /// # Errors
    ///
    /// No repository.
    pub fn identity(&self, path: &Path) -> Result<(String, Option<String>), StoreError> {
        Ok(self.open(path)?.identity())
    }

    /// The remote that the investigation is synced with, and how far apart the two were when last seen. Contacts no remote.
    ///
    /// # Errors
    ///
    /// No repository.
    pub fn upstream(&self, snapshot: &Snapshot) -> Result<Option<git::Upstream>, StoreError> {
        let git = self.open(&snapshot.path)?;
        Ok(snapshot.branch.as_ref().and_then(|branch| git.upstream(branch, snapshot.head)))
    }

    /// Whether git's own maintenance would find something to do there, and is not switched off.
    ///
    /// # Errors
    ///
    /// No repository.
    pub fn wants_upkeep(&self, path: &Path) -> Result<bool, StoreError> {
        Ok(self.open(path)?.wants_upkeep())
    }

    fn publish(&self, writer: &Writer<'_>, before: &Snapshot, draft: &Draft) -> Result<Snapshot, StoreError> {
        let size = limits::after(writer.git(), before, &draft.files, self.most)?;
        let head = writer.commit(before.head, &draft.files, &draft.message, draft.at.seconds())?;
        let after = if before.faults.is_empty() {
            let investigation = Arc::new(before.investigation.with(&draft.changes));
            Snapshot { head, investigation, size, ..before.clone() }
        } else {
            // A file that did not fit the tree may fit now, and a fault may be gone: read the state from the commit.
            read::snapshot(writer.git(), &before.path, head, before.branch.clone(), Some(before))?
        };
        self.heads.wrote(&after);
        self.hold(&after);
        Ok(after)
    }

    /// Refuses while a merge, a rebase or the like is in progress.
    ///
    /// # Errors
    ///
    /// [`GitError::InProgress`], and no repository.
    pub fn refuse_in_progress(&self, path: &Path) -> Result<(), StoreError> {
        Ok(self.open(path)?.refuse_in_progress()?)
    }

    fn refuse_read_only(&self) -> Result<(), StoreError> {
        if self.read_only { Err(StoreError::ReadOnly) } else { Ok(()) }
    }

    fn open(&self, path: &Path) -> Result<Git, GitError> {
        let git = Git::open(path, self.options)?;
        if !lock(&self.checked).contains(path) {
            git.check_objects()?;
            lock(&self.checked).insert(path.to_owned());
        }
        Ok(git)
    }

    /// Keeps the snapshot in memory as the one used last, however large it is.
    fn hold(&self, snapshot: &Snapshot) {
        let mut held = lock(&self.held);
        held.retain(|other| other.path != snapshot.path);
        let mut bytes = snapshot.size.text;
        let fits = |other: &&Snapshot| {
            bytes += other.size.text;
            bytes <= self.most_held
        };
        let kept = held.iter().take(HELD - 1).take_while(fits).count();
        held.truncate(kept);
        held.insert(0, snapshot.clone());
    }

    /// Keeps the repositories in the root out of `git status` of an enclosing project.
    fn ignore_investigations(&self) -> Result<(), StoreError> {
        let path = self.root.join(".gitignore");
        let io = |source| StoreError::Io { action: "write", path: path.clone(), source };
        fs::create_dir_all(&self.root).map_err(io)?;
        let is_there = || fs::symlink_metadata(&path).is_ok();
        let before =
            "# Written by tot-mcp: each folder here is a git repository of its own.\n/*/\n/.gitignore\n";
        // A file that the user has changed is left alone.
        if is_there() && fs::read_to_string(&path).ok().as_deref() != Some(before) {
            return Ok(());
        }
        let text = format!("{before}/{}\n", CHOSEN);
        // Written to another name first, so that a kill leaves no empty file that would count as the user's.
        let aside = self.root.join(".gitignore.new");
        fs::write(&aside, text).map_err(io)?;
        match fs::rename(&aside, &path) {
            // Another process was faster.
            Err(_) if is_there() => Ok(()),
            outcome => outcome.map_err(io),
        }
    }
}

/// The value behind the lock, even if its holder panicked: it is consistent at any time.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the annotated tag `ended/1`, or the next number after a reopening, on the commit that wrote the snapshot's
/// conclusion. Creates it if missing. `None` without a conclusion, or if that commit is unknown.
fn tag_end(writer: &Writer<'_>, snapshot: &Snapshot) -> Result<Option<String>, StoreError> {
    let Some(end) = snapshot.investigation.conclusion() else { return Ok(None) };
    let Some(target) = history::last_change(writer.git(), snapshot.head, layout::CONCLUSION)? else {
        return Ok(None);
    };
    let mut last = 0;
    for (name, commit) in writer.git().tags()? {
        let Some(number) = name.strip_prefix("ended/").and_then(|number| number.parse::<u32>().ok()) else {
            continue;
        };
        if commit == target {
            return Ok(Some(name));
        }
        last = last.max(number);
    }
    let name = format!("ended/{}", last.saturating_add(1));
    let message = message::ended(snapshot.investigation.meta(), end.conclusion.as_deref());
    writer.tag(&name, target, &message, end.ended_at.seconds())?;
    Ok(Some(name))
}
