//! Durability: what has reached the disk, beyond the system's memory, before a call returns.
//!
//! A killed process loses nothing either way. A power cut can take what the system has not written yet: usually the
//! last seconds.
//!
//! git's settings are read as git reads them, from the repository, the user and the machine. These components of
//! `core.fsync` concern a commit: `loose-object` (and `objects`), `index`, `reference`, and the groups `committed`
//! (objects, references), `added` (these and the index), `all`. `pack`, `pack-metadata`, `commit-graph` and
//! `derived-metadata` name files that are never written here. `none` and `default` both mean nothing for the others. A
//! component with `-` before it is removed from the default, so from nothing; git too reads `committed,-loose-object`
//! as `committed`. `core.fsyncObjectFiles` is git's older name for `loose-object`. `core.fsyncMethod` is not needed:
//! `batch` and `writeout-only` promise less than the fsync that is done.
//!
//! git syncs files and never folders, so even with `core.fsync=all` a file system may forget the name of an object
//! or a moved branch that git has reported. [`Durability::Disk`] does both.
//!
//! # How
//!
//! Several files are synced by one `syncfs` on Linux, on a file system that is known to support it (ext, XFS, Btrfs,
//! F2FS, tmpfs); elsewhere by an fsync each. `syncfs` also waits for writes of other programs to that file system,
//! and reports a failed write since Linux 5.8; `tests/bench/README.md` has the savings.
//!
//! At full durability, a commit waits four times: for its objects and its journal before any lock file exists; for
//! the journal's note of the index's lock before that has content; for the files of the work tree, the index and the
//! reference's new value before that takes effect; and for the names of all of them before the call returns.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::GitError;
use super::error::{Result, io_error};
use crate::platform;

/// The durability level: what is on the disk before a writing call returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Everything: objects, index, work tree files, references, and the folders they are in.
    #[default]
    Disk,
    /// The files that git's own settings name; without settings, none, as with git itself.
    Git,
}

const OBJECTS: u8 = 1;
const INDEX: u8 = 2;
const REFERENCES: u8 = 4;
const EVERYTHING: u8 = 8;

/// The files to be synced, and the means to sync them.
pub(super) struct Disk {
    wanted: u8,
    /// The synced files, for tests.
    #[cfg(test)]
    pub(super) synced: std::sync::Mutex<Vec<PathBuf>>,
}

impl Disk {
    pub(super) fn new(durability: Durability, config: &gix::config::Snapshot<'_>) -> Disk {
        let wanted = match durability {
            Durability::Disk => OBJECTS | INDEX | REFERENCES | EVERYTHING,
            Durability::Git => {
                let components = config.string("core.fsync").map(|value| components(&value.to_string()));
                let object_files = config.boolean("core.fsyncObjectFiles").unwrap_or(false);
                components.unwrap_or(0) | if object_files { OBJECTS } else { 0 }
            }
        };
        Disk {
            wanted,
            #[cfg(test)]
            synced: Default::default(),
        }
    }

    /// Whether loose objects are synced before a reference leads to them.
    pub(super) fn objects(&self) -> bool {
        self.wanted & OBJECTS != 0
    }

    /// Whether the index is synced before it is put into place.
    pub(super) fn index(&self) -> bool {
        self.wanted & INDEX != 0
    }

    /// Whether a reference is synced before it moves.
    pub(super) fn references(&self) -> bool {
        self.wanted & REFERENCES != 0
    }

    /// Whether all files and their folders are synced.
    pub(super) fn everything(&self) -> bool {
        self.wanted & EVERYTHING != 0
    }

    /// Waits until these files are on the disk, and then these folders, which contain their names.
    pub(super) fn sync(&self, files: &[PathBuf], folders: &[PathBuf]) -> Result<()> {
        #[cfg(test)]
        if let Ok(mut synced) = self.synced.lock() {
            synced.extend(files.iter().chain(folders).cloned());
        }
        let mut paths = files.iter().chain(folders);
        let failed = |(path, error): (&PathBuf, _)| io_error("sync", path)(error);
        if files.len() + folders.len() > 1 && platform::sync_file_systems(paths.clone()).map_err(failed)? {
            return Ok(());
        }
        paths.try_for_each(|path| platform::sync(path).map_err(io_error("sync", path)))
    }

    /// Waits until these files are on the disk, and the names of these and of `others`: their folders, up to and
    /// including `top`.
    pub(super) fn sync_with_names(&self, top: &Path, files: &[PathBuf], others: &[PathBuf]) -> Result<()> {
        let mut folders = BTreeSet::new();
        for file in files.iter().chain(others) {
            let above = file.ancestors().skip(1).take_while(|folder| folder.starts_with(top));
            folders.extend(above.filter(|folder| folder.is_dir()).map(Path::to_owned));
        }
        self.sync(files, &folders.into_iter().collect::<Vec<_>>())
    }

    /// Waits until a whole folder is on the disk, with its name.
    pub(super) fn sync_tree(&self, top: &Path) -> Result<()> {
        let (mut files, mut folders) = (Vec::new(), vec![top.to_owned()]);
        let mut next = 0;
        while let Some(folder) = folders.get(next).cloned() {
            next += 1;
            for entry in std::fs::read_dir(&folder).map_err(io_error("list", &folder))? {
                let entry = entry.map_err(io_error("list", &folder))?;
                let kind = entry.file_type().map_err(io_error("list", &folder))?;
                match kind.is_dir() {
                    true => folders.push(entry.path()),
                    false => files.push(entry.path()),
                }
            }
        }
        self.sync(&files, &folders)
    }
}

/// The components of `core.fsync` that concern us, as git reads them: a named component counts even where a group that
/// contains it is removed.
fn components(value: &str) -> u8 {
    // git's default contains none of these components, so removing some has no effect.
    value.split(',').map(str::trim).fold(0, |named, name| {
        named
            | match name {
                "loose-object" | "objects" => OBJECTS,
                "index" => INDEX,
                "reference" => REFERENCES,
                "committed" => OBJECTS | REFERENCES,
                "added" | "all" => OBJECTS | REFERENCES | INDEX,
                // `none` and `default` reset the list, `-name` removes from it; git warns of an unknown name.
                _ => 0,
            }
    })
}

/// Makes an error after the head has moved: the commit exists, but perhaps not on the disk.
pub(super) fn unconfirmed(path: &Path, what: String) -> impl FnOnce(GitError) -> GitError {
    let path = path.to_owned();
    move |error| GitError::Unconfirmed { path: super::Shown(path), what, source: Box::new(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_of_syncing_works_on_files_and_folders() {
        let folder = crate::testing::folder();
        let names = |n: usize| -> Vec<PathBuf> {
            let files = (0..n).map(|n| folder.path().join(n.to_string()));
            files
                .inspect(|file| std::fs::write(file, "x").unwrap())
                .chain([folder.path().to_owned()])
                .collect()
        };
        for paths in [names(0), names(1), names(19)] {
            paths.iter().for_each(|path| platform::sync(path).unwrap());
            platform::sync_file_systems(paths.iter()).unwrap();
        }
        assert!(platform::sync(&folder.path().join("absent")).is_err());
    }

    /// The files that `git add` and `git commit` sync with these settings, as in git 2.47 (observed with strace).
    #[test]
    fn components_are_read_as_git_reads_them() {
        for (value, expected) in [
            ("", 0),
            ("none", 0),
            ("default", 0),
            ("committed", OBJECTS | REFERENCES),
            ("added", OBJECTS | REFERENCES | INDEX),
            ("all", OBJECTS | REFERENCES | INDEX),
            ("reference", REFERENCES),
            ("index", INDEX),
            ("loose-object", OBJECTS),
            ("objects", OBJECTS),
            ("committed,-loose-object", OBJECTS | REFERENCES),
            ("-reference", 0),
            ("none,reference", REFERENCES),
            ("loose-object,none", OBJECTS),
            ("pack, pack-metadata,commit-graph", 0),
            ("nonsense, index", INDEX),
        ] {
            assert_eq!(components(value), expected, "{value}");
        }
    }
}
