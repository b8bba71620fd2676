//! The journal of a commit, and the recovery of one that did not end.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use gix::ObjectId;
use gix::bstr::ByteSlice;
use gix::objs::Kind;
use gix::objs::tree::EntryKind;
use gix::refs::FullName;

use super::commit::{Step, TouchedPath};
use super::error::{Result, io_error, shown};
use super::lock::{FOREIGN_LOCK_WAIT, IndexLock, SAME_MOMENT};
use super::paths::check_path;
use super::platform::file_identity;
use super::tree::{Leaf, MAX_TREE_BYTES, is_file};
use super::worktree::{optional_metadata, refuse_link, remove_if_there};
use super::{Git, GitError, JOURNAL_FILE, STAGING_FILE};

pub(super) const JOURNAL_FIRST_LINE: &str = "tot-journal 1";

/// The note of what a commit is about to touch, for the next writer after a kill.
///
/// It is text, one fact per line. The line `ready` says that it is whole; nothing is touched before that.
pub(super) struct Journal {
    path: PathBuf,
    file: File,
}

/// A journal whose writer is dead.
pub(super) struct Leftover {
    /// The id that its reference locks hold.
    pub(super) target: ObjectId,
    pub(super) references: Vec<String>,
    pub(super) paths: Vec<TouchedPath>,
    /// Which files named `index.lock` were its own.
    pub(super) index_locks: Vec<String>,
    pub(super) written: SystemTime,
}

impl Journal {
    pub(super) fn begin(
        git_dir: &Path,
        target: ObjectId,
        references: &[String],
        steps: &[Step],
    ) -> Result<Journal> {
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

    /// Step 6: which file the lock of git's index is.
    pub(super) fn note(&mut self, lock: &IndexLock) -> Result<()> {
        self.add(&format!("index-lock {}", lock.identity()?))
    }

    pub(super) fn add(&mut self, line: &str) -> Result<()> {
        self.file.write_all(format!("{line}\n").as_bytes()).map_err(io_error("write", &self.path))
    }

    /// Empties the journal. It is not deleted: file systems are slow where files come and go. One that cannot be
    /// emptied is recovered from again, which does nothing.
    pub(super) fn finish(self) {
        let _ = self.file.set_len(0);
    }

    /// The journal of a dead process, if it touched anything.
    pub(super) fn read(git_dir: &Path) -> Result<Option<(Journal, Leftover)>> {
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
    pub(super) fn parse(text: &str, written: SystemTime) -> Option<Leftover> {
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
    pub(super) fn remove_stale(&self, path: &Path) -> Result<()> {
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
    pub(super) fn made(&self, path: &Path, metadata: &fs::Metadata, waited: bool) -> bool {
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

/// Recovery.
impl Git {
    /// Recovers what the writer of a journal left. The caller holds the lock, so that writer is dead.
    pub(super) fn recover_in(&self) -> Result<bool> {
        let Some((mut journal, leftover)) = Journal::read(&self.git_dir)? else { return Ok(false) };
        for name in leftover.references.iter().map(String::as_str).chain(["packed-refs", "index"]) {
            leftover.remove_stale(&self.git_dir.join(format!("{name}.lock")))?;
        }
        remove_if_there(&self.git_dir.join(STAGING_FILE))?;
        self.bring_to_head(leftover.paths, &mut journal)?;
        journal.finish();
        Ok(true)
    }

    /// Brings the paths of a commit that did not end to what the head says.
    ///
    /// With the head still at the old commit, files that hold the new bytes go back to the old ones; with the head at
    /// the new commit, files and entries that are still the old ones follow it.
    pub(super) fn bring_to_head(&self, paths: Vec<TouchedPath>, journal: &mut Journal) -> Result<()> {
        let Some(work_dir) = self.work_dir.as_ref().filter(|_| !paths.is_empty()) else { return Ok(()) };
        let tree = match self.head()?.commit {
            Some(commit) => self.tree_of(commit.0)?,
            None => ObjectId::empty_tree(gix::hash::Kind::Sha1),
        };
        let mut steps = Vec::with_capacity(paths.len());
        for (path, old, new) in paths {
            let to = match self.leaf(tree, &path) {
                Ok(to) => to,
                // Someone has since made a folder of the file. It is theirs.
                Err(GitError::PathConflict { .. }) => continue,
                Err(error) => return Err(error),
            };
            let content = match to {
                Some(leaf) if is_file(leaf.kind) => Some(self.object(leaf.id, Kind::Blob)?),
                _ => None,
            };
            // Files are written before the head moves: with the head at the new commit, one that is absent was
            // deleted by the user.
            steps.push(Step { path, from: vec![old, new], to, content, is_absence_kept: to == new });
        }
        let mut lock = IndexLock::take(&self.git_dir)?;
        journal.note(&lock)?;
        self.prepare_index(work_dir, tree, &steps, &mut lock)?;
        lock.put_into_place()
    }
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
