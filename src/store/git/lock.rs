//! Taking turns: our own lock, and git's on its index.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::error::{Result, Shown, io_error};
use super::worktree::refuse_link;
use super::{Git, GitError, LOCK_FILE};

/// How long to wait for our own lock, whose holder needs milliseconds.
pub(super) const OWN_LOCK_WAIT: Duration = Duration::from_secs(10);
/// How long to wait for a lock file of another git process.
pub(super) const FOREIGN_LOCK_WAIT: Duration = Duration::from_secs(1);
/// How far an empty lock file may be from its journal in time to have been made by the same process.
pub(super) const SAME_MOMENT: Duration = Duration::from_secs(2);

impl Git {
    /// Waits for the other writers of this repository. The lock ends with the returned file.
    pub(super) fn take_turn(&self) -> Result<File> {
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
}

/// Our hold on git's index, by the file that all git programs use for it. Dropped, it gives up.
pub(super) struct IndexLock {
    pub(super) path: PathBuf,
    pub(super) index: PathBuf,
    pub(super) file: File,
    pub(super) is_done: bool,
}

impl IndexLock {
    pub(super) fn take(git_dir: &Path) -> Result<IndexLock> {
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

    pub(super) fn identity(&self) -> Result<String> {
        let metadata = self.file.metadata().map_err(io_error("look at", &self.path))?;
        Ok(file_identity(&metadata))
    }

    pub(super) fn put_into_place(mut self) -> Result<()> {
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

/// Tells one file from another of the same name, while its content changes.
pub(super) fn file_identity(metadata: &fs::Metadata) -> String {
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
