//! Locks: this program's writer lock, and git's lock on its index.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{process, thread};

use super::error::{StoreResult, io_error};
use super::refuse::refuse_link;
use super::{LOCK_FILE, TURN_FILE};
use crate::base::platform::{file_identity, hide_from_readers, host_name};
use crate::store::{StoreError, StoreErrorKind};

/// The maximum time to wait for the writer lock. Its holder needs only milliseconds unless it hangs or is stopped.
const WRITER_WAIT: Duration = Duration::from_secs(15);
/// The retry intervals for the writer whose turn is next, and for all other writers.
const NEXT: Duration = Duration::from_millis(1);
const OTHERS: Duration = Duration::from_millis(4);
/// The time after which a writer tries the lock out of turn, because the holder of the turn may have been stopped.
const COURTESY: Duration = Duration::from_secs(1);
/// The prefix of the note that names the lock's holder.
const HOLDER: &str = "process ";
/// The maximum time to wait for a lock file held by another git process.
pub(super) const FOREIGN_LOCK_WAIT: Duration = Duration::from_secs(1);
/// The maximum time between a process creating a journal and creating an empty lock file.
pub(super) const SAME_MOMENT: Duration = Duration::from_secs(2);

/// The exclusive right to write to a repository. The kernel releases it when the process dies.
///
/// No system supports waiting for a file lock with a timeout, so a waiting writer polls. A second lock, the turn,
/// ensures fairness: only its holder polls the first lock, so a returning writer queues behind those already waiting.
/// Waiting writers are served in random order.
///
/// Anyone who can open the lock file can lock it, so only users with write permission may read it. While locked, the
/// file names its holder.
#[derive(Debug)]
pub(super) struct WriterLock {
    file: File,
}

impl WriterLock {
    /// Waits for other writers and takes the lock.
    pub(super) fn wait(git_dir: &Path) -> StoreResult<WriterLock> {
        WriterLock::wait_for(git_dir, WRITER_WAIT)
    }

    fn wait_for(git_dir: &Path, limit: Duration) -> StoreResult<WriterLock> {
        let since = Instant::now();
        let (path, file) = open(git_dir, LOCK_FILE)?;
        let (turn_path, turn) = open(git_dir, TURN_FILE)?;
        let mut is_next = false;
        loop {
            is_next = is_next || try_lock(&turn, &turn_path)?;
            if (is_next || since.elapsed() >= COURTESY) && try_lock(&file, &path)? {
                return Ok(WriterLock::of(file));
            }
            if since.elapsed() >= limit {
                let (path, holder) = (git_dir.display(), holder(&path));
                let message = format!("another process is writing to {path}: {holder}");
                return Err(StoreError::new(StoreErrorKind::Held, message));
            }
            thread::sleep(if is_next { NEXT } else { OTHERS });
        }
    }

    /// Takes the lock if it is free.
    pub(super) fn if_free(git_dir: &Path) -> StoreResult<Option<WriterLock>> {
        let (path, file) = open(git_dir, LOCK_FILE)?;
        Ok(try_lock(&file, &path)?.then(|| WriterLock::of(file)))
    }

    /// Writes a note about the holder into the file that was just locked. Failures are ignored.
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

fn try_lock(file: &File, path: &Path) -> StoreResult<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(source)) => Err(io_error("lock", path)(source)),
    }
}

fn open(git_dir: &Path, name: &str) -> StoreResult<(PathBuf, File)> {
    let path = git_dir.join(name);
    refuse_link(&path)?;
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
    let file = file.map_err(io_error("open", &path))?;
    // Fails if the lock file belongs to another user.
    let _ = hide_from_readers(&file);
    Ok((path, file))
}

/// Returns the holder named in the lock file.
fn holder(path: &Path) -> String {
    let mut note = String::new();
    // Another process wrote this text, so it can contain anything.
    let read = File::open(path).and_then(|file| file.take(300).read_to_string(&mut note));
    let is_note =
        |line: &&str| line.starts_with(HOLDER) && line.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let line = read.ok().and_then(|_| note.lines().next()).filter(is_note);
    let Some(line) = line else { return "an unknown process".to_owned() };
    let since = fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    match since.and_then(|since| since.elapsed().ok()) {
        Some(since) => format!("{line}, for {} s now", since.as_secs()),
        None => line.to_owned(),
    }
}

/// Git's lock on its index, which all git programs respect. Released on drop.
pub(super) struct IndexLock {
    pub(super) path: PathBuf,
    pub(super) index: PathBuf,
    pub(super) file: File,
    pub(super) is_done: bool,
}

impl IndexLock {
    pub(super) fn take(git_dir: &Path) -> StoreResult<IndexLock> {
        let path = git_dir.join("index.lock");
        let since = Instant::now();
        loop {
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => {
                    return Ok(IndexLock { path, index: git_dir.join("index"), file, is_done: false });
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    if since.elapsed() >= FOREIGN_LOCK_WAIT {
                        return Err(StoreError::locked(&path));
                    }
                    thread::sleep(Duration::from_millis(5));
                }
                Err(error) => return Err(io_error("create", &path)(error)),
            }
        }
    }

    pub(super) fn identity(&self) -> StoreResult<String> {
        file_identity(&self.path).map_err(io_error("inspect", &self.path))
    }

    pub(super) fn put_into_place(mut self) -> StoreResult<()> {
        fs::rename(&self.path, &self.index).map_err(io_error("replace", &self.index))?;
        self.is_done = true;
        Ok(())
    }
}

impl Drop for IndexLock {
    fn drop(&mut self) {
        if !self.is_done {
            // If the lock file cannot be removed, recovery identifies it from the journal.
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
            (error.to_string(), error.hint().unwrap())
        };
        let (error, hint) = refused();
        assert!(
            error.contains(&format!("process {} on {}, for 0 s now", process::id(), host_name())),
            "{error}"
        );
        assert!(hint.contains("Do not delete the lock file"), "{hint}");
        drop(lock);
        let path = folder.path().join(LOCK_FILE);
        assert!(fs::read(&path).unwrap().is_empty(), "nobody has it");
        // A holder that left no note, or a note with control characters.
        let file = File::options().write(true).open(&path).unwrap();
        file.lock().unwrap();
        for note in [&b""[..], b"process 1\x1b[31m\n", b"\0\0\0", b"\xff"] {
            fs::write(&path, note).unwrap();
            assert!(refused().0.ends_with("an unknown process"), "{note:?}");
        }
    }

    /// A stopped process that holds a file lock.
    #[cfg(unix)]
    struct StoppedProcess(process::Child);

    #[cfg(unix)]
    impl StoppedProcess {
        fn holding(path: &Path) -> StoppedProcess {
            let file = File::options().write(true).create(true).truncate(false).open(path).unwrap();
            file.lock().unwrap();
            // The lock belongs to the open file, which the child inherits as its standard input.
            let mut child = process::Command::new("sh");
            let child = child.args(["-c", "kill -STOP $$"]).stdin(file).spawn().unwrap();
            let state = || {
                let ps =
                    process::Command::new("ps").args(["-o", "stat=", "-p", &child.id().to_string()]).output();
                String::from_utf8(ps.unwrap().stdout).unwrap()
            };
            while !state().starts_with('T') {
                thread::sleep(Duration::from_millis(1));
            }
            StoppedProcess(child)
        }
    }

    #[cfg(unix)]
    impl Drop for StoppedProcess {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[cfg(unix)]
    #[test]
    fn those_who_wait_for_a_stopped_holder_keep_neither_a_thread_nor_a_file() {
        let folder = crate::testing::folder();
        let path = folder.path().join(LOCK_FILE);
        let stopped = StoppedProcess::holding(&path);
        let since = Instant::now();
        thread::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| {
                    let error = WriterLock::wait_for(folder.path(), Duration::from_millis(300)).unwrap_err();
                    assert!(matches!(error, StoreError { kind: StoreErrorKind::Held, .. }), "{error}");
                });
            }
        });
        assert!(since.elapsed() < Duration::from_secs(10), "{:?}", since.elapsed());
        // A waiting thread would have the file open.
        if let Ok(open) = fs::read_dir("/proc/self/fd") {
            let open = open.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
            let left: Vec<PathBuf> = open.filter(|file| file.starts_with(folder.path())).collect();
            assert!(left.is_empty(), "{left:?}");
        }
        drop(stopped);
        assert!(WriterLock::if_free(folder.path()).unwrap().is_some());
    }

    #[cfg(unix)]
    #[test]
    fn a_writer_that_was_stopped_while_it_waits_holds_up_nobody_for_long() {
        let folder = crate::testing::folder();
        let _stopped = StoppedProcess::holding(&folder.path().join(TURN_FILE));
        for _ in 0..2 {
            assert!(WriterLock::wait_for(folder.path(), COURTESY * 10).is_ok());
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

    /// A returning writer does not overtake those already waiting.
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
                        // Give the others time to queue.
                        thread::sleep(Duration::from_millis(3));
                        drop(lock);
                        // On a busy machine, a shorter pause would let this writer return
                        // before the others wake up.
                        thread::sleep(Duration::from_millis(10));
                    }
                });
            }
            thread::sleep(Duration::from_millis(50));
            drop(start);
        });
        let served = served.into_inner().unwrap();
        assert_eq!(served.len(), WRITERS * TIMES);
        // While all are active, no writer is served five times as often as another.
        let first_done =
            (0..WRITERS).filter_map(|writer| served.iter().rposition(|other| *other == writer)).min();
        let busy = &served[..=first_done.unwrap()];
        for writer in 0..WRITERS {
            let times = busy.iter().filter(|other| **other == writer).count();
            assert!(times * 5 >= TIMES, "{writer} was served {times} times: {busy:?}");
        }
    }
}
