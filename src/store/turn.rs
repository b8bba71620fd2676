//! Whose turn it is to write to a repository, and what writers that were killed have left there.
//!
//! The wall behind `git` needs none of this: its own lock, its journal and compare-and-swap keep a repository whole. But
//! who loads, decides and only then competes loses to whoever is faster, again and again. So a writer takes its turn
//! before it loads: the kernel serves those who wait in the order they came, and releases the turn of a dead process.
//! That is a courtesy, not a guarantee: whoever can't have the turn goes on without it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::git::UNFINISHED;

/// The file in the git folder that is locked.
const FILE: &str = "tot-turn";

/// How long to wait for a holder that needs milliseconds. One that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(5);

/// How old a temporary file or folder is that no living process can be at work on.
const ABANDONED: Duration = Duration::from_secs(60 * 60);

/// The turn, until it is dropped.
#[derive(Debug)]
pub struct Turn {
    _file: File,
}

impl Turn {
    /// Waits for the turn on the repository in that folder.
    pub(super) fn wait(repository: &Path) -> Option<Turn> {
        let file = open(repository)?;
        match file.try_lock() {
            Ok(()) => return Some(Turn { _file: file }),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(_)) => return None,
        }
        // A lock can't be waited for with a limit. A thread that comes too late finds nobody to give it to, and drops it.
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            if file.lock().is_ok() {
                let _ = sender.send(Turn { _file: file });
            }
        });
        receiver.recv_timeout(PATIENCE).ok()
    }

    /// Takes the turn if nobody has it.
    pub(super) fn if_free(repository: &Path) -> Option<Turn> {
        let file = open(repository)?;
        file.try_lock().is_ok().then_some(Turn { _file: file })
    }
}

fn open(repository: &Path) -> Option<File> {
    let path = git_folder(repository)?.join(FILE);
    // Nothing is created at the other end of a link.
    if fs::symlink_metadata(&path).is_ok_and(|metadata| !metadata.is_file()) {
        return None;
    }
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).ok()
}

fn git_folder(repository: &Path) -> Option<PathBuf> {
    let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
    let inner = repository.join(".git");
    if is_folder(&inner) {
        return Some(inner);
    }
    is_folder(&repository.join("objects")).then(|| repository.to_owned())
}

/// Removes what killed writers of objects left in the repository. `git gc` would as well, but who calls that?
pub(super) fn sweep_objects(repository: &Path) {
    if let Some(git_folder) = git_folder(repository) {
        sweep(
            &git_folder.join("objects"),
            |name| name.starts_with(UNFINISHED),
            |path, is_folder| {
                if !is_folder {
                    let _ = fs::remove_file(path);
                }
            },
        );
    }
}

/// Removes the folders in which killed processes were building an investigation.
pub(super) fn sweep_root(root: &Path) {
    sweep(
        root,
        |name| name.starts_with(".tmp-"),
        |path, is_folder| {
            if is_folder {
                let _ = fs::remove_dir_all(path);
            }
        },
    );
}

/// What can't be removed is left: it is in nobody's way.
fn sweep(folder: &Path, is_ours: impl Fn(&str) -> bool, remove: impl Fn(&Path, bool)) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if !entry.file_name().to_str().is_some_and(&is_ours) {
            continue;
        }
        // Of the entry itself, not of what a link leads to.
        let Ok(metadata) = entry.metadata() else { continue };
        let age = metadata.modified().ok().and_then(|modified| modified.elapsed().ok());
        if age.is_some_and(|age| age >= ABANDONED) {
            remove(&entry.path(), metadata.is_dir());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Instant, SystemTime};

    use super::*;

    fn repository() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join(".git/objects")).unwrap();
        folder
    }

    #[test]
    fn one_has_the_turn_and_the_next_gets_it() {
        let folder = repository();
        let first = Turn::wait(folder.path()).unwrap();
        assert!(Turn::if_free(folder.path()).is_none());
        thread::scope(|scope| {
            let second = scope.spawn(|| Turn::wait(folder.path()).is_some());
            thread::sleep(Duration::from_millis(20));
            drop(first);
            assert!(second.join().unwrap());
        });
        assert!(Turn::if_free(folder.path()).is_some());
    }

    #[test]
    fn those_who_wait_are_served_before_those_who_come_back() {
        let folder = repository();
        let longest: Duration = thread::scope(|scope| {
            let writers: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        let turns = (0..20).map(|_| {
                            let since = Instant::now();
                            let _turn = Turn::wait(folder.path()).unwrap();
                            thread::sleep(Duration::from_millis(1));
                            since.elapsed()
                        });
                        turns.max().unwrap_or_default()
                    })
                })
                .collect();
            writers.into_iter().map(|writer| writer.join().unwrap()).max().unwrap_or_default()
        });
        assert!(longest < Duration::from_secs(2), "{longest:?}");
    }

    #[test]
    fn only_what_is_ours_and_abandoned_is_swept() {
        let folder = repository();
        let objects = folder.path().join(".git/objects");
        for name in ["tmp_obj_tot_1_2", "tmp_obj_tot_new", "tmp_obj_x"] {
            fs::write(objects.join(name), "x").unwrap();
        }
        fs::create_dir(folder.path().join(".tmp-0")).unwrap();
        let long_ago = SystemTime::UNIX_EPOCH;
        for path in [objects.join("tmp_obj_tot_1_2"), objects.join("tmp_obj_x"), folder.path().join(".tmp-0")]
        {
            File::open(path).unwrap().set_modified(long_ago).unwrap();
        }
        sweep_objects(folder.path());
        sweep_root(folder.path());
        let mut left: Vec<_> = fs::read_dir(objects)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, ["tmp_obj_tot_new", "tmp_obj_x"]);
        assert!(!folder.path().join(".tmp-0").exists());
    }
}
