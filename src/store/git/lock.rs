//! Who may write: our own lock, and git's on its index.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use std::{process, thread};

use super::error::{Result, Shown, io_error, shown};
use super::refuse::refuse_link;
use super::{GitError, LOCK_FILE};
use crate::platform::{file_identity, hide_from_readers, host_name};

/// How long to wait for our own lock, whose holder needs milliseconds. One that takes longer hangs.
const WRITER_WAIT: Duration = Duration::from_secs(15);
/// How the note of the lock's holder begins.
const HOLDER: &str = "process ";
/// How long to wait for a lock file of another git process.
pub(super) const FOREIGN_LOCK_WAIT: Duration = Duration::from_secs(1);
/// How far an empty lock file may be from its journal in time to have been made by the same process.
pub(super) const SAME_MOMENT: Duration = Duration::from_secs(2);

/// The right to write to a repository, which one thread of one process has at a time. The kernel gives it to those who
/// wait in the order they came, and takes it back from a dead process.
///
/// Whoever can open the file can lock it, so only those may read it who may also write it. While it is held it says by whom.
#[derive(Debug)]
pub(super) struct WriterLock {
    file: File,
}

impl WriterLock {
    /// Waits for the other writers.
    pub(super) fn wait(git_dir: &Path) -> Result<WriterLock> {
        WriterLock::wait_for(git_dir, WRITER_WAIT)
    }

    fn wait_for(git_dir: &Path, limit: Duration) -> Result<WriterLock> {
        let since = Instant::now();
        if let Some(lock) = WriterLock::if_free(git_dir)? {
            return Ok(lock);
        }
        // A lock can't be waited for with a limit, and who asks again and again is served after all who wait. A thread
        // that comes too late finds nobody to give it to, and drops it.
        let (path, file) = open(git_dir)?;
        let (sender, receiver) = mpsc::channel();
        let wait = move || {
            let locked = file.lock();
            let _ = sender.send(locked.map(|()| WriterLock::of(file)));
        };
        if thread::Builder::new().spawn(wait).is_ok() {
            if let Ok(locked) = receiver.recv_timeout(limit) {
                return locked.map_err(io_error("lock", &path));
            }
        } else {
            // The process has no thread left.
            while since.elapsed() < limit {
                thread::sleep(Duration::from_millis(5));
                if let Some(lock) = WriterLock::if_free(git_dir)? {
                    return Ok(lock);
                }
            }
        }
        Err(GitError::Held { path: shown(git_dir), holder: holder(&path) })
    }

    /// Takes the lock if nobody has it.
    pub(super) fn if_free(git_dir: &Path) -> Result<Option<WriterLock>> {
        let (path, file) = open(git_dir)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(WriterLock::of(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(io_error("lock", &path)(source)),
        }
    }

    /// The lock of a file that was just locked, with a note of who has it. Without room for the note it is held all the same.
    fn of(mut file: File) -> WriterLock {
        let note = format!("{HOLDER}{} on {}\n", process::id(), host_name());
        let _ = file.set_len(0).and_then(|()| file.write_all(note.as_bytes()));
        WriterLock { file }
    }
}

impl Drop for WriterLock {
    fn drop(&mut self) {
        let _ = self.file.set_len(0);
    }
}

fn open(git_dir: &Path) -> Result<(PathBuf, File)> {
    let path = git_dir.join(LOCK_FILE);
    refuse_link(&path)?;
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
    let file = file.map_err(io_error("open", &path))?;
    // A lock of an earlier version may be another user's, who alone can change this.
    let _ = hide_from_readers(&file);
    Ok((path, file))
}

/// Who has the lock, as far as the lock file says so.
fn holder(path: &Path) -> String {
    let mut note = String::new();
    // It is somebody else's text, and may be anything.
    let read = File::open(path).and_then(|file| file.take(300).read_to_string(&mut note));
    let is_note =
        |line: &&str| line.starts_with(HOLDER) && line.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let line = read.ok().and_then(|_| note.lines().next()).filter(is_note);
    let Some(line) = line else { return "a process that does not say which it is".to_owned() };
    let since = fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    match since.and_then(|since| since.elapsed().ok()) {
        Some(since) => format!("{line}, for {} s now", since.as_secs()),
        None => line.to_owned(),
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
        file_identity(&self.path).map_err(io_error("look at", &self.path))
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
        let folder = crate::testing::folder();
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

    #[test]
    fn a_holder_that_does_not_end_is_named_and_its_note_is_not_trusted() {
        let folder = crate::testing::folder();
        let lock = WriterLock::wait(folder.path()).unwrap();
        let refused = || {
            let error = WriterLock::wait_for(folder.path(), Duration::from_millis(20)).unwrap_err();
            (error.to_string(), error.hint())
        };
        let (error, hint) = refused();
        assert!(
            error.contains(&format!("process {} on {}, for 0 s now", process::id(), host_name())),
            "{error}"
        );
        assert!(hint.contains("Leave the lock file") && !hint.contains("delete"), "{hint}");
        drop(lock);
        let path = folder.path().join(LOCK_FILE);
        // The thread that came too late has it for a moment, with a note.
        let is_empty = |_| {
            thread::sleep(Duration::from_millis(5));
            fs::read(&path).is_ok_and(|note| note.is_empty())
        };
        assert!((0..1_000).any(is_empty));
        // Somebody who holds it without a word, or with words that a terminal would obey.
        let file = File::options().write(true).open(&path).unwrap();
        file.lock().unwrap();
        for note in [&b""[..], b"process 1\x1b[31m\n", b"\0\0\0", b"\xff"] {
            fs::write(&path, note).unwrap();
            assert!(refused().0.ends_with("a process that does not say which it is"), "{note:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn who_may_only_read_cannot_open_the_lock() {
        use std::os::unix::fs::PermissionsExt;

        let folder = crate::testing::folder();
        let path = folder.path().join(LOCK_FILE);
        for (before, after) in [(0o644, 0o600), (0o664, 0o660), (0o600, 0o600), (0o666, 0o666)] {
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(before)).unwrap();
            drop(WriterLock::wait(folder.path()).unwrap());
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, after);
        }
    }

    /// Whoever has just written and soon comes back stands behind those who wait.
    #[test]
    fn eight_writers_who_keep_coming_back_are_served_alike() {
        const WRITERS: usize = 8;
        const TIMES: usize = 15;
        let folder = crate::testing::folder();
        let served = Mutex::new(Vec::new());
        let start = WriterLock::wait(folder.path()).unwrap();
        thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (served, folder) = (&served, folder.path());
                scope.spawn(move || {
                    for _ in 0..TIMES {
                        let lock = WriterLock::wait(folder).unwrap();
                        served.lock().unwrap().push(writer);
                        // Time for the others to stand in line.
                        thread::sleep(Duration::from_millis(3));
                        drop(lock);
                        // A reply and the next call take longer. With less, whoever is woken on a busy machine comes too
                        // late.
                        thread::sleep(Duration::from_millis(10));
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
