//! The commit journal, and recovery from unfinished commits.
//!
//! # Stale lock files
//!
//! A stale git lock file blocks all writers. Recovery removes locks left by our own killed writers, but never a lock
//! held by a running git process. It runs under the writer lock and examines the locks on HEAD, its branch,
//! `packed-refs`, the index, and the references in the journal. A lock file is removed in these cases:
//!
//! - It begins with a zero byte. A power cut leaves such a file if its content had not reached the disk. Git itself
//!   writes text at the beginning of these files, and never extends a file before writing to it.
//! - It is empty and older than the last boot of this machine, so its creator is no longer running. The only exception
//!   would be a git process on another machine that holds an empty lock for that long over a network file system.
//! - It is older than an hour, and a lock on a reference or empty. Git holds the lock on a reference for milliseconds, and
//!   writes an index lock within seconds, but keeps that for as long as an editor is open.
//! - A journal exists and the lock belongs to its writer. The index lock is identified by the file recorded in the
//!   journal, and a reference lock by the id it contains. An empty lock belongs to the writer if it is at least a
//!   second old and was created within two seconds of the journal. Other git processes leave a lock file empty for
//!   longer than this only while they work on the index, and such a process would have to have started at the very
//!   moment our writer died.
//!
//! Any other lock file belongs to git, and only its owner or the user may remove it.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use gix::ObjectId;
use gix::bstr::ByteSlice;
use gix::objs::tree::EntryKind;
use gix::objs::{Kind, compute_hash};
use gix::refs::FullName;

use super::commit::{PathUpdate, TouchedPath, head_references};
use super::durability::EVERYTHING;
use super::error::{StoreResult, io_error};
use super::lock::{FOREIGN_LOCK_WAIT, IndexLock, SAME_MOMENT};
use super::paths::check_path;
use super::refuse::refuse_link;
use super::tree::{Leaf, MAX_TREE_BYTES};
use super::worktree::{optional_metadata, remove_if_there};
use super::{Git, Head, JOURNAL_FILE, STAGING_FILE};
use crate::base::platform::{file_identity, machine_start};
use crate::store::{StoreError, StoreErrorKind};

/// The age at which a lock on a reference is stale, and an empty lock.
const STALE: Duration = Duration::from_secs(3_600);

pub(super) const JOURNAL_FIRST_LINE: &str = "tot-journal 2";

/// A record of the paths that a commit is about to touch. The next writer uses it to recover if the process is killed.
///
/// The journal is a text file with one fact per line. The line `ready` contains a hash of the facts before it, which
/// detects a journal damaged by a power cut. No file is touched until this line has been written and, if syncing is
/// enabled, has reached the disk. An incomplete journal can therefore be ignored.
pub(super) struct Journal {
    path: PathBuf,
    file: File,
}

/// The journal left by a dead writer. Nothing is in it if it is incomplete, because its writer then touched nothing.
#[derive(Default)]
pub(super) struct Leftover {
    /// The ids in the writer's reference locks.
    pub(super) targets: Vec<ObjectId>,
    pub(super) references: Vec<String>,
    pub(super) paths: Vec<TouchedPath>,
    /// The identities of the writer's `index.lock` files.
    pub(super) index_locks: Vec<String>,
    pub(super) written: Option<SystemTime>,
}

impl Journal {
    pub(super) fn begin(
        git_dir: &Path,
        targets: &[ObjectId],
        references: &[String],
        steps: &[PathUpdate],
    ) -> StoreResult<Journal> {
        let mut facts = JOURNAL_FIRST_LINE.to_owned();
        for target in targets {
            facts.push_str(&format!("\ntarget {target}"));
        }
        for name in references {
            facts.push_str(&format!("\nreference {name}"));
        }
        // Paths with names that some systems reject are never checked out.
        for step in steps.iter().filter(|step| check_path(&step.path).is_ok()) {
            let old = step.from.first().copied().flatten();
            facts.push_str(&format!("\npath {} {} {}", leaf_text(old), leaf_text(step.to), step.path));
        }
        let path = git_dir.join(JOURNAL_FILE);
        refuse_link(&path)?;
        let file = OpenOptions::new().append(true).create(true).open(&path);
        let mut file = file.map_err(io_error("open", &path))?;
        file.write_all(journal_text(&facts)?.as_bytes()).map_err(io_error("write", &path))?;
        Ok(Journal { path, file })
    }

    /// Step 6: records the identity of the index lock.
    pub(super) fn note(&mut self, lock: &IndexLock) -> StoreResult<()> {
        self.add(&format!("index-lock {}", lock.identity()?))
    }

    pub(super) fn add(&mut self, line: &str) -> StoreResult<()> {
        self.file.write_all(format!("{line}\n").as_bytes()).map_err(io_error("write", &self.path))
    }

    /// Empties the journal, which is faster than deleting it. If this fails, the next recovery runs again and changes
    /// nothing.
    pub(super) fn finish(self) {
        let _ = self.file.set_len(0);
    }

    /// Reads the journal left by a dead process, if there is one.
    pub(super) fn read(git_dir: &Path) -> StoreResult<Option<(Journal, Leftover)>> {
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
        // If the conversion replaces a byte, either the hash does not match or the byte is in an ignored line after
        // `ready`.
        let leftover = Leftover::parse(&String::from_utf8_lossy(&bytes)).unwrap_or_default();
        Ok(Some((journal, Leftover { written: metadata.modified().ok(), ..leftover })))
    }
}

/// Returns the complete journal text, including the hash of the facts.
pub(super) fn journal_text(facts: &str) -> StoreResult<String> {
    let hash = compute_hash(gix::hash::Kind::Sha1, Kind::Blob, facts.as_bytes());
    let failed = io_error("hash", Path::new(JOURNAL_FILE));
    let hash = hash.map_err(|source| failed(std::io::Error::other(source)))?;
    Ok(format!("{facts}\nready {hash}\n"))
}

impl Leftover {
    /// Parses a journal. Paths that lead out of the repository are rejected, because the text is untrusted.
    pub(super) fn parse(text: &str) -> Option<Leftover> {
        let (facts, _) = text.split_once("\nready ")?;
        let rest = text.strip_prefix(&journal_text(facts).ok()?)?;
        let mut lines = facts.lines();
        if lines.next() != Some(JOURNAL_FIRST_LINE) {
            return None;
        }
        let mut leftover = Leftover::default();
        for line in lines {
            match line.split_once(' ')? {
                ("target", id) => leftover.targets.push(ObjectId::from_hex(id.as_bytes()).ok()?),
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
        // The last line may be truncated, and a truncated identity must not match.
        let locks = rest
            .split_inclusive('\n')
            .filter_map(|line| line.strip_suffix('\n')?.strip_prefix("index-lock "));
        leftover.index_locks = locks.map(str::to_owned).collect();
        Some(leftover)
    }

    /// Removes the lock file at `path` if the dead process created it. Otherwise, waits briefly for its holder. If
    /// `patient` is false, waits only for recently created locks.
    pub(super) fn remove_stale(&self, path: &Path, patient: bool) -> StoreResult<()> {
        let since = Instant::now();
        loop {
            let Some(metadata) = optional_metadata(path)? else { return Ok(()) };
            let waited = since.elapsed() >= FOREIGN_LOCK_WAIT;
            let age = metadata.modified().ok().and_then(|modified| modified.elapsed().ok());
            let settled = waited || age.is_some_and(|age| age >= FOREIGN_LOCK_WAIT);
            if self.is_ours(path, &metadata, settled) {
                return remove_if_there(path);
            }
            if waited || (settled && !patient) {
                return Err(StoreError::locked(path));
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Returns whether the dead process created this lock file. An index lock is recognized by its file identity, and a
    /// reference lock by the id it contains. Both are briefly empty after creation, so an empty file that does not
    /// change and is as old as the journal also counts. So does an index lock of the same age if the journal records
    /// one.
    pub(super) fn is_ours(&self, path: &Path, metadata: &fs::Metadata, settled: bool) -> bool {
        if !metadata.is_file() {
            return false;
        }
        if file_identity(path).is_ok_and(|identity| self.index_locks.contains(&identity)) {
            return true;
        }
        let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        let apart = |written| modified.duration_since(written).unwrap_or_else(|error| error.duration());
        let is_of_that_moment = settled && self.written.is_some_and(|written| apart(written) <= SAME_MOMENT);
        if metadata.len() == 0 {
            return is_of_that_moment;
        }
        // The identity differs in a copied folder, and after a restart that renumbers the devices.
        if is_of_that_moment && !self.index_locks.is_empty() && path.ends_with("index.lock") {
            return true;
        }
        // A reference lock contains an id and a line feed. An index is longer.
        metadata.len() <= 41
            && fs::read(path).is_ok_and(|bytes| {
                self.targets.iter().any(|target| bytes.trim() == target.to_string().as_bytes())
            })
    }
}

/// Recovery.
impl Git {
    /// Cleans up after a dead writer and returns whether it left a journal. The caller must hold the writer lock, which
    /// proves that the writer is dead.
    pub(super) fn recover_in(&self, head: &Head, patient: bool) -> StoreResult<bool> {
        let journal = Journal::read(&self.git_dir)?;
        let mut names = head_references(head);
        names.extend(["packed-refs".to_owned(), "index".to_owned()]);
        names.extend(journal.iter().flat_map(|(_, leftover)| leftover.references.iter().cloned()));
        let locks: Vec<PathBuf> =
            names.iter().map(|name| self.git_dir.join(format!("{name}.lock"))).collect();
        for lock in &locks {
            remove_if_orphaned(lock)?;
        }
        let Some((mut journal, leftover)) = journal else { return Ok(false) };
        for lock in &locks {
            leftover.remove_stale(lock, patient)?;
        }
        // The writer may have been killed before it synced the journal.
        self.sync_journal()?;
        remove_if_there(&self.git_dir.join(STAGING_FILE))?;
        let touched: Vec<String> = leftover.paths.iter().map(|(path, ..)| path.clone()).collect();
        self.bring_to_head(leftover.paths, &mut journal)?;
        self.sync_recovered(&touched)?;
        journal.finish();
        Ok(true)
    }

    /// At full durability, syncs the index and these work tree files before the journal is emptied.
    fn sync_recovered(&self, paths: &[String]) -> StoreResult<()> {
        let Some(work_dir) = self.work_dir.as_ref().filter(|_| self.disk.syncs(EVERYTHING)) else {
            return Ok(());
        };
        let files = paths.iter().map(|path| work_dir.join(path)).chain([self.git_dir.join("index")]);
        let (there, gone): (Vec<_>, Vec<_>) = files.partition(|file| file.is_file());
        self.disk.sync_with_names(work_dir, &there, &gone)
    }

    /// Brings the paths in an unfinished commit to the state at the head.
    ///
    /// If the head is the old commit, new files are reverted. If it is the new commit, old files and index entries are
    /// updated.
    pub(super) fn bring_to_head(&self, paths: Vec<TouchedPath>, journal: &mut Journal) -> StoreResult<()> {
        let Some(work_dir) = self.work_dir.as_ref().filter(|_| !paths.is_empty()) else { return Ok(()) };
        let tree = self.tree_or_empty(self.head()?.commit)?;
        let mut steps = Vec::with_capacity(paths.len());
        for (path, old, new) in paths {
            let to = match self.leaf(tree, &path) {
                Ok(to) => to,
                // The user has since replaced the file with a folder.
                Err(error) if error.kind == StoreErrorKind::PathConflict => continue,
                Err(error) => return Err(error),
            };
            // If an object is missing, the head does not use this state.
            let unfit = (self.is_unfit(&path, old).unwrap_or(false), self.is_unfit(&path, to)?);
            // Files are written before the head moves. If the head is the new commit and a file is missing, the user
            // has deleted it.
            let mut from = vec![old, new];
            from.extend(unfit.0.then_some(None));
            let is_absence_kept = to == new && !unfit.0;
            steps.push(PathUpdate { path, from, to, unfit, is_absence_kept, are_zeros_ours: true });
        }
        let mut lock = IndexLock::take(&self.git_dir)?;
        journal.note(&lock)?;
        self.sync_journal()?;
        self.prepare_index(work_dir, tree, &steps, &mut lock)?;
        lock.put_into_place()
    }
}

/// Removes a lock file that cannot belong to a running process.
pub(super) fn remove_if_orphaned(path: &Path) -> StoreResult<()> {
    if is_orphaned(path)? { remove_if_there(path) } else { Ok(()) }
}

fn is_orphaned(path: &Path) -> StoreResult<bool> {
    let Some(metadata) = optional_metadata(path)?.filter(fs::Metadata::is_file) else { return Ok(false) };
    let modified = metadata.modified().map_err(io_error("inspect", path))?;
    let age = modified.elapsed().unwrap_or_default();
    let is_empty = metadata.len() == 0;
    if age >= STALE && (is_empty || !path.ends_with("index.lock")) {
        return Ok(true);
    }
    if is_empty {
        return Ok(machine_start().is_some_and(|start| modified < start));
    }
    let mut first = [0xff];
    Ok(File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok() && first == [0])
}

pub(super) fn leaf_text(leaf: Option<Leaf>) -> String {
    match leaf {
        Some(leaf) => format!("{}:{}", leaf.kind.as_octal_str(), leaf.id),
        None => "-".to_owned(),
    }
}

pub(super) fn parse_leaf(text: &str) -> Option<Option<Leaf>> {
    if text == "-" {
        return Some(None);
    }
    let (kind, id) = text.split_once(':')?;
    let kinds = [EntryKind::Blob, EntryKind::BlobExecutable, EntryKind::Link, EntryKind::Commit];
    let kind = kinds.into_iter().find(|known| known.as_octal_str() == kind)?;
    Some(Some(Leaf { kind, id: ObjectId::from_hex(id.as_bytes()).ok()? }))
}
