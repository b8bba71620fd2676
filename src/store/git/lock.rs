//! Who may write: our own lock, and git's on its index.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::error::{Result, Shown, io_error, shown};
use super::platform::file_identity;
use super::refuse::refuse_link;
use super::{GitError, LOCK_FILE};

/// How long to wait for our own lock, whose holder needs milliseconds. One that takes longer hangs.
const WRITER_WAIT: Duration = Duration::from_secs(15);
/// How long to wait for a lock file of another git process.
pub(super) const FOREIGN_LOCK_WAIT: Duration = Duration::from_secs(1);
/// How far an empty lock file may be from its journal in time to have been made by the same process.
pub(super) const SAME_MOMENT: Duration = Duration::from_secs(2);

/// The right to write to a repository, which one thread of one process has at a time. The kernel gives it to those who
/// wait in the order they came, and takes it back from a dead process.
#[derive(Debug)]
pub(super) struct WriterLock {
    _file: File,
}

impl WriterLock {
    /// Waits for the other writers.
    pub(super) fn wait(git_dir: &Path) -> Result<WriterLock> {
        let (path, file) = open(git_dir)?;
        match file.try_lock() {
            Ok(()) => return Ok(WriterLock { _file: file }),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(source)) => return Err(io_error("lock", &path)(source)),
        }
        // A lock can't be waited for with a limit, and who asks again and again is served after all who wait. A thread
        // that comes too late finds nobody to give it to, and drops it.
        let (sender, receiver) = mpsc::channel();
        let wait = move || {
            let locked = file.lock();
            let _ = sender.send(locked.map(|()| WriterLock { _file: file }));
        };
        thread::Builder::new().spawn(wait).map_err(io_error("wait for", &path))?;
        match receiver.recv_timeout(WRITER_WAIT) {
            Ok(locked) => locked.map_err(io_error("lock", &path)),
            Err(_) => Err(GitError::Busy { path: shown(git_dir) }),
        }
    }

    /// Takes the lock if nobody has it.
    pub(super) fn if_free(git_dir: &Path) -> Result<Option<WriterLock>> {
        let (path, file) = open(git_dir)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(WriterLock { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(io_error("lock", &path)(source)),
        }
    }
}

fn open(git_dir: &Path) -> Result<(PathBuf, File)> {
    let path = git_dir.join(LOCK_FILE);
    refuse_link(&path)?;
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
    let file = file.map_err(io_error("open", &path))?;
    Ok((path, file))
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

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn one_has_the_lock_and_the_next_gets_it_when_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let first = WriterLock::wait(folder.path()).unwrap();
        assert!(WriterLock::if_free(folder.path()).unwrap().is_none());
        thread::scope(|scope| {
            let second = scope.spawn(|| WriterLock::wait(folder.path()).is_ok());
            thread::sleep(Duration::from_millis(20));
            drop(first);
            assert!(second.join().unwrap());
        });
        assert!(WriterLock::if_free(folder.path()).unwrap().is_some());
    }

    /// Whoever has just written and soon comes back stands behind those who wait.
    #[test]
    fn eight_writers_who_keep_coming_back_are_served_alike() {
        const WRITERS: usize = 8;
        const TIMES: usize = 30;
        let folder = tempfile::tempdir().unwrap();
        let served = Mutex::new(Vec::new());
        let start = WriterLock::wait(folder.path()).unwrap();
        thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (served, folder) = (&served, folder.path());
                scope.spawn(move || {
                    for _ in 0..TIMES {
                        let lock = WriterLock::wait(folder).unwrap();
                        served.lock().unwrap().push(writer);
                        // Time for the others to stand in line, and less than that for a reply and the next call.
                        thread::sleep(Duration::from_millis(3));
                        drop(lock);
                        thread::sleep(Duration::from_millis(1));
                    }
                });
            }
            thread::sleep(Duration::from_millis(50));
            drop(start);
        });
        let served = served.into_inner().unwrap();
        assert_eq!(served.len(), WRITERS * TIMES);
        // While all of them are at it, nobody is served five times as often as another.
        let first_done =
            (0..WRITERS).filter_map(|writer| served.iter().rposition(|other| *other == writer)).min();
        let busy = &served[..=first_done.unwrap()];
        for writer in 0..WRITERS {
            let times = busy.iter().filter(|other| **other == writer).count();
            assert!(times * 5 >= TIMES, "{writer} was served {times} times: {busy:?}");
        }
    }
}
