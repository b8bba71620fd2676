//! git's index, in which only the entries of a commit are changed. How is in [`super::splice`].

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{MutexGuard, PoisonError};
use std::time::SystemTime;

use gix::ObjectId;
use gix::bstr::BStr;
use gix::index::entry::Stat;
use gix::objs::Kind;

use super::commit::Step;
use super::error::{Result, io_error, shown};
use super::lock::IndexLock;
use super::splice::{Edits, HASH, Index, Staged};
use super::tree::TreeWalk;
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
        let index = self.load_index(repository, base_tree)?;
        let staging = self.git_dir.join(STAGING_FILE);
        let mut placed = Vec::with_capacity(steps.len());
        for step in steps {
            placed.push(self.place(repository, work_dir, &staging, step)?);
        }
        let skip_hash = repository.config_snapshot().boolean("index.skipHash").unwrap_or(false);
        let mut index = index.edited(&edits(&index, steps, &placed));
        index.write(skip_hash, &mut lock.file).map_err(io_error("write", &lock.path))?;
        *self.kept_index() = Some(index);
        Ok(())
    }

    /// The index that was written last, for the time when it is the one in the file. A commit takes it, so that at most
    /// one is kept.
    fn kept_index(&self) -> MutexGuard<'_, Option<Index>> {
        self.kept_index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// git's index, or one that is in step with `base_tree` where there is none. Its hash is not checked: git doesn't
    /// either.
    pub(super) fn load_index(&self, repository: &gix::Repository, base_tree: ObjectId) -> Result<Index> {
        let path = self.git_dir.join("index");
        refuse_link(&path)?;
        if optional_metadata(&path)?.is_none() {
            let index = self.index_of_tree(repository, base_tree, path.clone())?;
            return self.plain_index(&index, &path);
        }
        let failed = io_error("read", &path);
        let mut file = File::open(&path).map_err(&failed)?;
        let metadata = file.metadata().map_err(&failed)?;
        let kept = self.kept_index().take();
        let mut hash = [0; HASH];
        // A shorter file has no hash to read.
        let has_hash = kept.is_some()
            && metadata.len() >= HASH as u64
            && file.seek(SeekFrom::End(-(HASH as i64))).and_then(|_| file.read_exact(&mut hash)).is_ok();
        let kept = kept.filter(|kept| has_hash && kept.is_in_file(metadata.len(), &hash));
        let mut index = match kept {
            Some(kept) => kept,
            None => {
                file.rewind().map_err(&failed)?;
                let mut bytes =
                    Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0).saturating_add(1));
                file.read_to_end(&mut bytes).map_err(&failed)?;
                match Index::parse(bytes) {
                    Some(index) => index,
                    None => self.foreign_index(&path)?,
                }
            }
        };
        // An entry that is as young as the index itself may have changed since without a trace in its stat. git knows
        // by comparing the two times, which writing the index anew makes impossible.
        let written = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        let written = written.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        index.distrust_since(i64::try_from(written).unwrap_or(i64::MAX));
        Ok(index)
    }

    /// An index in a form that only gix reads: version 4, split, or one with more to it.
    fn foreign_index(&self, path: &Path) -> Result<Index> {
        let failed = |source| GitError::Index { path: shown(path), source: Box::new(source) };
        let options = gix::index::decode::Options { thread_limit: Some(1), ..Default::default() };
        let index = gix::index::File::at(path, gix::hash::Kind::Sha1, true, options).map_err(failed)?;
        if index.is_sparse() {
            return Err(GitError::Unsupported {
                path: self.shown(),
                reason: "its index is sparse",
                hint: "Run `git sparse-checkout disable` there",
            });
        }
        self.plain_index(&index, path)
    }

    /// The same index in the form that is spliced here.
    fn plain_index(&self, index: &gix::index::File, path: &Path) -> Result<Index> {
        let failed = |source| GitError::Index { path: shown(path), source: Box::new(source) };
        let mut bytes = Vec::new();
        let options = gix::index::write::Options { skip_hash: true, ..Default::default() };
        index.write_to(&mut bytes, options).map_err(failed)?;
        Index::parse(bytes)
            .ok_or_else(|| failed(gix::Error::from_error(io::Error::other("its entries are out of order"))))
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
        for file in TreeWalk::files(self.shown(), tree, &|tree| self.object(repository, tree, Kind::Tree))? {
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
fn edits<'a>(index: &Index, steps: &'a [Step], placed: &[Placed]) -> Edits<'a> {
    let mut edits = Edits::new();
    for (step, placed) in steps.iter().zip(placed) {
        let current = match index.staged(&step.path) {
            Staged::Nothing => None,
            Staged::Entry(leaf) => Some(leaf),
            Staged::Unfinished => continue,
        };
        if current != step.to && !step.from.contains(&current) {
            continue;
        }
        // With an empty stat git compares the content.
        let stat = match placed {
            Placed::There(stat) => *stat,
            Placed::Gone | Placed::Kept => Stat::default(),
        };
        match (current, step.to) {
            (None, None) => {}
            (None, Some(_)) if index.is_blocked(&step.path) => {}
            (_, to) => {
                edits.insert(&step.path, to.map(|leaf| (leaf, stat)));
            }
        }
    }
    edits
}
