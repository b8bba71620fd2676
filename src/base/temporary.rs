//! Temporary folders that last no longer than their process, and files that are replaced as a whole.
//!
//! # Guarantees
//!
//! - [`replace_file`] leaves the old content or the new, and never a part.
//! - Dropping a [`TemporaryFolder`] removes the folder.
//! - [`remove_abandoned`] removes the folders of killed processes, but never a folder in use. Each process locks a file
//!   in its folder, and the lock is released when the process ends.
//!
//! # Limitations
//!
//! On a file system without locks, no folder counts as abandoned, so leftover folders remain. A file that only its folder
//! keeps from being replaced, such as one mounted into a container, is overwritten in place.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process;

use crate::base::platform::{private_folder, set_owner};

/// The name of the locked file in a folder.
const LOCK: &str = "lock";
/// The prefix of the folders for files that are about to replace others.
const REPLACEMENT: &str = ".tot-new-";

/// Writes a file next to its path and renames it, so that a full disk or a kill leaves the old content. A symbolic link stays
/// a link, and the file keeps its permissions and, if possible, its owner. Anything that isn't a file, such as a pipe or
/// `/dev/stdout`, is written to.
///
/// # Errors
///
/// Returns an error if the file is write-protected, or if the file system fails.
pub fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    // The file behind such a path is open in another process, which would go on with the old one.
    let streams = ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc"];
    let is_stream = streams.iter().any(|stream| path.starts_with(stream));
    let (old, target) = match fs::metadata(path) {
        Ok(about) if is_stream || !about.is_file() => {
            return File::options().append(true).open(path)?.write_all(content);
        }
        Ok(_) => {
            let target = fs::canonicalize(path)?;
            // A write-protected file is not replaced either.
            (Some(File::options().write(true).open(&target)?.metadata()?), target)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            // A link to a missing file has its target next to it, or names the whole path.
            let linked = fs::read_link(path).unwrap_or_else(|_| path.to_owned());
            (None, if linked == path { linked } else { path.with_file_name("").join(linked) })
        }
        Err(error) => return Err(error),
    };
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    let replaced = (|| {
        remove_abandoned(parent, REPLACEMENT, &|_| true);
        let folder = TemporaryFolder::new(parent, REPLACEMENT)?;
        let new = folder.path().join("new");
        let mut file = File::create_new(&new)?;
        if let Some(old) = &old {
            set_owner(&file, old);
            file.set_permissions(old.permissions())?;
        }
        file.write_all(content)?;
        file.sync_all()?;
        drop(file);
        fs::rename(&new, &target)
    })();
    match replaced {
        Err(error) if old.is_some() && is_kept_by_folder(error.kind()) => fs::write(&target, content),
        replaced => replaced,
    }
}

/// Returns true for the errors of a folder in which nothing can be created or replaced, although its files can be written.
fn is_kept_by_folder(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem | ErrorKind::ResourceBusy)
}

/// A temporary folder that is removed with its contents on drop. On systems with modes, only its owner can read it.
#[derive(Debug)]
#[must_use]
pub struct TemporaryFolder {
    path: PathBuf,
    /// The lock file, kept open and locked until the folder is removed.
    lock: Option<File>,
}

impl TemporaryFolder {
    /// Creates a folder in `parent` with a name that begins with `prefix`.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder or its lock file can't be created.
    pub fn new(parent: &Path, prefix: &str) -> io::Result<TemporaryFolder> {
        let builder = private_folder();
        let mut number = 0;
        loop {
            let path = parent.join(format!("{prefix}{}-{number}", process::id()));
            let made = builder.create(&path).and_then(|()| File::create_new(path.join(LOCK)));
            match made {
                Ok(lock) => {
                    // If locking is not supported, other processes can't lock the file either, so they leave the
                    // folder alone.
                    let _ = lock.lock();
                    // Another process may have removed the folder before the lock file was locked.
                    if path.join(LOCK).exists() {
                        return Ok(TemporaryFolder { path, lock: Some(lock) });
                    }
                    number += 1;
                }
                // A process on another machine or in another container is using the name, or the folder has just been
                // removed.
                Err(error)
                    if matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::NotFound)
                        && parent.is_dir()
                        && number < 100 =>
                {
                    number += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // Some systems can't remove an open file.
        self.lock = None;
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes the folders with this prefix whose processes have ended and for which `may_be_removed` returns true. Skips
/// folders that can't be removed, since they may belong to another user.
pub fn remove_abandoned(parent: &Path, prefix: &str, may_be_removed: &dyn Fn(&Path) -> bool) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let is_named =
            entry.file_name().to_str().and_then(|name| name.strip_prefix(prefix)).is_some_and(is_ours);
        if is_named && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_if_abandoned(&entry.path(), may_be_removed);
        }
    }
}

/// Returns true if the rest of a folder name consists of two numbers.
fn is_ours(end: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    end.split_once('-').is_some_and(|(process, number)| is_number(process) && is_number(number))
}

fn remove_if_abandoned(folder: &Path, may_be_removed: &dyn Fn(&Path) -> bool) {
    let lock = folder.join(LOCK);
    match fs::symlink_metadata(&lock) {
        Ok(about) if about.is_file() => {
            let Ok(file) = File::open(&lock) else { return };
            if file.try_lock().is_ok() && may_be_removed(folder) {
                // The lock is held during the removal. A process that has just created the folder waits for the lock
                // and then creates another folder.
                let _ = fs::remove_dir_all(folder);
                drop(file);
                // Some systems can't remove open files, so try again.
                let _ = fs::remove_dir_all(folder);
            }
        }
        Ok(_) => {}
        // The process was killed before it created the lock file, so the folder is empty.
        Err(_) => {
            let _ = fs::remove_dir(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_abandoned_folders_are_removed() -> io::Result<()> {
        let parent = tempfile::tempdir()?;
        let held = TemporaryFolder::new(parent.path(), "a-")?;
        let killed = parent.path().join("a-0-0");
        fs::create_dir(&killed)?;
        fs::write(killed.join(LOCK), "")?;
        fs::write(killed.join("text"), "withheld")?;
        fs::create_dir(parent.path().join("a-0-1"))?;
        fs::create_dir(parent.path().join("b-0-0"))?;
        // A user's own folder.
        fs::create_dir(parent.path().join("a-backup"))?;
        remove_abandoned(parent.path(), "a-", &|_| false);
        assert!(killed.exists());
        remove_abandoned(parent.path(), "a-", &|_| true);
        let mut left: Vec<_> =
            fs::read_dir(parent.path())?.map(|it| it.map(|it| it.path())).collect::<Result<_, _>>()?;
        left.sort();
        let mut expected =
            vec![held.path().to_owned(), parent.path().join("b-0-0"), parent.path().join("a-backup")];
        expected.sort();
        assert_eq!(left, expected);
        drop(held);
        assert_eq!(fs::read_dir(parent.path())?.count(), 2);
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn a_replaced_file_keeps_its_permissions_and_a_link_stays_one() -> io::Result<()> {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let parent = tempfile::tempdir()?;
        let [file, new, link, dangling] =
            ["file", "new", "link", "dangling"].map(|name| parent.path().join(name));
        fs::write(&file, "a longer text")?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o604))?;
        symlink("file", &link)?;
        symlink("new", &dangling)?;
        // Left by a killed process.
        fs::create_dir(parent.path().join(".tot-new-0-0"))?;
        for (path, target) in [(&link, &file), (&dangling, &new)] {
            replace_file(path, b"text")?;
            assert!(fs::symlink_metadata(path)?.is_symlink());
            assert_eq!(fs::read(target)?, b"text");
        }
        assert_eq!(fs::metadata(&file)?.permissions().mode() & 0o777, 0o604);
        assert_eq!(fs::read_dir(parent.path())?.count(), 4);
        replace_file(Path::new("/dev/null"), b"text")?;
        assert!(replace_file(parent.path(), b"text").is_err());
        Ok(())
    }

    #[test]
    fn a_missing_parent_is_an_error() {
        assert!(TemporaryFolder::new(Path::new("/does/not/exist"), "a-").is_err());
    }
}
