//! Reads and updates git's index. Only the entries for a commit's paths are changed.
//!
//! gix reads and writes all index formats except sparse ones. No extensions are written, because git recreates these
//! caches and the tree cache would be outdated.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::io::Write as _;
use std::path::Path;

use gix::ObjectId;
use gix::bstr::{BStr, ByteSlice as _};
use gix::index::entry::{Flags, Mode, Stat};
use gix::index::{File, State};
use gix::objs::tree::EntryKind;

use super::commit::PathUpdate;
use super::error::{StoreResult, io_error};
use super::lock::IndexLock;
use super::refuse::refuse_link;
use super::tree::{Leaf, TreeWalk};
use super::worktree::{Placed, optional_metadata};
use super::{BlobId, FileKind, Git, STAGING_FILE};
use crate::store::{StoreError, StoreErrorKind};

impl Git {
    /// Performs steps 7 and 8: updates the work tree and writes the new index into the lock file.
    pub(super) fn prepare_index(
        &self,
        work_dir: &Path,
        base_tree: ObjectId,
        steps: &[PathUpdate],
        lock: &mut IndexLock,
    ) -> StoreResult<()> {
        let mut index = self.load_index(base_tree)?;
        let staging = self.git_dir.join(STAGING_FILE);
        let mut placed = Vec::with_capacity(steps.len());
        for step in steps {
            placed.push(self.place(work_dir, &staging, step)?);
        }
        update(&mut index, steps, &placed);
        let mut bytes = Vec::new();
        State::write_to(&index, &mut bytes, Default::default()).map_err(self.library("write git's index"))?;
        // `File::write_to` would hash each field on its own, which takes twice as long.
        let mut checksum = ObjectId::null(gix::hash::Kind::Sha1);
        if !self.repository.config_snapshot().boolean("index.skipHash").unwrap_or(false) {
            let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha1);
            hasher.update(&bytes);
            checksum = hasher.try_finalize().map_err(self.library("hash git's index"))?;
        }
        bytes.extend_from_slice(checksum.as_slice());
        lock.file.write_all(&bytes).map_err(io_error("write", &lock.path))
    }

    /// Reads git's index. If there is none, creates one that matches `base_tree`. Like git, does not verify the
    /// checksum.
    pub(super) fn load_index(&self, base_tree: ObjectId) -> StoreResult<File> {
        let path = self.git_dir.join("index");
        refuse_link(&path)?;
        if optional_metadata(&path)?.is_none() {
            let index = self.index_of_tree(base_tree)?;
            return Ok(File::from_state(index, path));
        }
        let failed = |source: gix::Error| {
            let message = format!("git's index {} cannot be read", path.display());
            StoreError::new(StoreErrorKind::Index, message).caused_by(source)
        };
        let mut index = File::at(&path, gix::hash::Kind::Sha1, true, Default::default()).map_err(failed)?;
        if index.is_sparse() {
            let hint = "Run `git sparse-checkout disable` there";
            return Err(StoreError::unsupported(&self.location(), "its index is sparse", hint));
        }
        let key = |entry: &gix::index::Entry| (entry.path(&index), entry.stage_raw());
        if !index.entries().is_sorted_by(|a, b| key(a) < key(b)) {
            return Err(failed(gix::Error::from_error(io::Error::other("its entries are out of order"))));
        }
        // A file as recent as the index itself may have changed later without a change in its stat. Git detects this by
        // comparing the two times, but the rewritten index will be newer. An impossible size makes git compare the
        // content.
        let written = index.timestamp().unix_seconds();
        for entry in
            index.entries_mut().iter_mut().filter(|entry| i64::from(entry.stat.mtime.secs) >= written)
        {
            entry.stat.size = 0;
        }
        index.remove_tree();
        Ok(index)
    }

    /// Returns the files in git's index by path: those without a conflict, and for those in conflict the version of the base,
    /// ours and theirs.
    pub fn stages(&self) -> StoreResult<[BTreeMap<String, (BlobId, FileKind)>; 4]> {
        let index = self.load_index(self.tree_or_empty(self.head()?.commit)?)?;
        let mut stages = <[BTreeMap<_, _>; 4]>::default();
        for entry in index.entries() {
            let kind =
                entry.mode.to_tree_entry_mode().map_or(FileKind::Unsafe, |mode| FileKind::of(mode.kind()));
            let path = entry.path(&index);
            let kind = if path.to_str().is_ok() { kind } else { FileKind::Unsafe };
            let stage = usize::try_from(entry.stage_raw()).unwrap_or_default();
            stages[stage & 3].insert(path.to_string(), (BlobId(entry.id), kind));
        }
        Ok(stages)
    }

    /// Creates an index that matches `tree`. gix has a function for this, but it trusts the tree to be well-formed.
    fn index_of_tree(&self, tree: ObjectId) -> StoreResult<State> {
        let mut state = State::new(gix::hash::Kind::Sha1);
        let mut paths = HashSet::new();
        for file in TreeWalk::collect(self, tree)?.files {
            let Some(kind) = file.kind.entry_kind() else { continue };
            let mode = mode_of(kind);
            if !paths.contains(&file.path) {
                let path = BStr::new(&file.path);
                state.dangerously_push_entry(Stat::default(), file.blob.0, Flags::empty(), mode, path);
                paths.insert(file.path);
            }
        }
        state.sort_entries();
        Ok(state)
    }
}

/// The flags for an entry whose file is deliberately not checked out.
const LEFT_OUT: Flags = Flags::SKIP_WORKTREE.union(Flags::EXTENDED);

/// The index entries for a path.
#[derive(Debug, PartialEq, Eq)]
enum Staged {
    Nothing,
    /// One entry and its position.
    Entry(Leaf, usize),
    /// A merge conflict, or a file added with `git add -N`.
    Unfinished,
}

/// Updates the entries that are in a known state.
fn update(index: &mut State, steps: &[PathUpdate], placed: &[Placed]) {
    let mut added = Vec::new();
    for (step, placed) in steps.iter().zip(placed) {
        let (current, at) = match staged(index, &step.path) {
            Staged::Nothing => (None, None),
            Staged::Entry(leaf, at) => (Some(leaf), Some(at)),
            Staged::Unfinished => continue,
        };
        if current != step.to && !step.from.contains(&current) {
            continue;
        }
        // An empty stat makes git compare the content.
        let stat = match placed {
            Placed::There(stat) => *stat,
            Placed::Gone | Placed::Kept => Stat::default(),
        };
        // Mark the entry as in a sparse checkout, so that git does not report the file as missing.
        let is_left_out = step.unfit.1 && matches!(placed, Placed::Gone);
        let Some(at) = at else {
            let leaf = step.to.filter(|_| !is_blocked(index, &step.path));
            added.extend(leaf.map(|leaf| (step, leaf, stat, is_left_out)));
            continue;
        };
        let entry = &mut index.entries_mut()[at];
        match step.to {
            // Entries with this flag are not written.
            None => entry.flags.insert(Flags::REMOVE),
            Some(leaf) => (entry.id, entry.mode, entry.stat) = (leaf.id, mode_of(leaf.kind), stat),
        }
        if step.unfit.0 || is_left_out {
            entry.flags.set(LEFT_OUT, is_left_out);
        }
    }
    for (step, leaf, stat, is_left_out) in added {
        let path = BStr::new(&step.path);
        let flags = if is_left_out { LEFT_OUT } else { Flags::empty() };
        index.dangerously_push_entry(stat, leaf.id, flags, mode_of(leaf.kind), path);
    }
    index.sort_entries();
}

fn staged(index: &State, path: &str) -> Staged {
    let Some(range) = index.entry_range(BStr::new(path)) else { return Staged::Nothing };
    let at = range.start;
    match index.entries().get(range) {
        Some([entry]) if entry.stage_raw() == 0 && !entry.flags.contains(Flags::INTENT_TO_ADD) => {
            let mode = entry.mode.to_tree_entry_mode();
            mode.map_or(Staged::Unfinished, |mode| {
                Staged::Entry(Leaf { kind: mode.kind(), id: entry.id }, at)
            })
        }
        _ => Staged::Unfinished,
    }
}

/// Returns whether the index has a file where the path needs a folder, or vice versa.
fn is_blocked(index: &State, path: &str) -> bool {
    let stays = |entry: &gix::index::Entry| !entry.flags.contains(Flags::REMOVE);
    let mut folders = path.match_indices('/').filter_map(|(at, _)| index.entry_range(BStr::new(&path[..at])));
    if folders.any(|range| index.entries()[range].iter().any(stays)) {
        return true;
    }
    let inside = format!("{path}/");
    let first = index.entries().partition_point(|entry| entry.path(index) < BStr::new(&inside));
    let mut within =
        index.entries()[first..].iter().take_while(|entry| entry.path(index).starts_with(inside.as_bytes()));
    within.any(stays)
}

fn mode_of(kind: EntryKind) -> Mode {
    gix::objs::tree::EntryMode::from(kind).into()
}
