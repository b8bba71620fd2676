//! git's index: one file, in which only the entries of a commit are changed.

use std::collections::HashSet;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::bstr::{BStr, ByteSlice};
use gix::objs::tree::EntryKind;

use super::commit::Step;
use super::error::{Result, io_error, shown};
use super::lock::IndexLock;
use super::tree::{Leaf, TreeWalk};
use super::worktree::{Placed, optional_metadata, refuse_link};
use super::{FileKind, Git, GitError, STAGING_FILE};

impl Git {
    /// Steps 7 and 8: brings the work tree to the steps' end, and writes the new index into the lock file.
    pub(super) fn prepare_index(
        &self,
        repository: &gix::Repository,
        work_dir: &Path,
        base_tree: ObjectId,
        steps: &[Step],
        lock: &mut IndexLock,
    ) -> Result<()> {
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

    /// git's index, or one that is in step with `base_tree` where there is none.
    pub(super) fn load_index(
        &self,
        repository: &gix::Repository,
        base_tree: ObjectId,
    ) -> Result<gix::index::File> {
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
    pub(super) fn index_of_tree(
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

/// Step 8: takes the entries that are ours from the steps' start to their end.
pub(super) fn update_index(index: &mut gix::index::File, steps: &[Step], placed: &[Placed]) {
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
pub(super) fn distrust_recent_entries(index: &mut gix::index::File) {
    let written = index.timestamp().unix_seconds();
    for entry in index.entries_mut() {
        if i64::from(entry.stat.mtime.secs) >= written {
            entry.stat.size = 0;
        }
    }
}

/// Whether the user has staged a file where a folder is needed, or the other way round.
pub(super) fn is_blocked(index: &gix::index::File, path: &str) -> bool {
    let mut folders = path.match_indices('/').map(|(at, _)| BStr::new(&path[..at]));
    folders.any(|folder| index.entry_range(folder).is_some()) || index.path_is_directory(BStr::new(path))
}

/// Marks the folders on the way to `path` as changed in git's cache of trees; the others stay quick.
pub(super) fn invalidate(tree: &mut gix::index::extension::Tree, path: &str) {
    tree.num_entries = None;
    if let Some((folder, rest)) = path.split_once('/')
        && let Some(child) = tree.children.iter_mut().find(|child| child.name.as_slice() == folder.as_bytes())
    {
        invalidate(child, rest);
    }
}

pub(super) fn index_mode(kind: EntryKind) -> gix::index::entry::Mode {
    use gix::index::entry::Mode;

    match kind {
        EntryKind::Blob => Mode::FILE,
        EntryKind::BlobExecutable => Mode::FILE_EXECUTABLE,
        EntryKind::Link => Mode::SYMLINK,
        EntryKind::Commit => Mode::COMMIT,
        EntryKind::Tree => Mode::DIR,
    }
}
