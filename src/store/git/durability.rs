//! Durability levels, which determine the data that reaches the disk before a call returns.
//!
//! Killing the process loses no data at any level. A power cut can lose data that the system has not yet written,
//! usually from the last few seconds.
//!
//! # Git's settings
//!
//! [`Durability::Git`] applies git's own settings for the repository, user and machine. These components of
//! `core.fsync` affect a commit: `loose-object` (or `objects`), `index`, `reference`, and the groups `committed`
//! (objects and references), `added` (also the index) and `all`. The components `pack`, `pack-metadata`, `commit-graph`
//! and `derived-metadata` are irrelevant because no such files are written here. `none` and `default` do not sync any
//! of our files. A component prefixed with `-` is removed from git's default, which has no effect here: like git, we
//! treat `committed,-loose-object` as `committed`. `core.fsyncObjectFiles` is an older name for `loose-object`.
//! `core.fsyncMethod` is ignored because `batch` and `writeout-only` are weaker than the fsync used here.
//!
//! Git never syncs folders. Even with `core.fsync=all`, a power cut can remove the directory entry of an object or a
//! moved branch that git has acknowledged. [`Durability::Disk`] syncs folders too.
//!
//! # Implementation
//!
//! On Linux, several files are synced by a single `syncfs` if the file system supports it (ext, XFS, Btrfs, F2FS,
//! tmpfs), and otherwise by one fsync each. `syncfs` also waits for other programs' writes to the file system. Since
//! Linux 5.8, it reports failed writes. See `tests/bench/README.md` for measurements.
//!
//! At full durability, a commit waits four times:
//!
//! 1. for the objects and the journal, before any lock file exists;
//! 2. for the journal's record of the index lock, before the lock file has content;
//! 3. for the work tree files, the index and the new value of the reference, before the reference moves;
//! 4. for the directory entries of all these files, before the call returns.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::error::{StoreResult, io_error};
use crate::base::platform;
use crate::store::{StoreError, StoreErrorKind};

/// The durability level: which data is on disk before a write returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Everything: objects, index, work tree files, references, and their folders.
    #[default]
    Disk,
    /// Only the files selected by git's own settings. By default, none are selected.
    Git,
}

/// Loose objects, before a reference points to them.
pub(super) const OBJECTS: u8 = 1;
/// The index, before it is renamed into place.
pub(super) const INDEX: u8 = 2;
/// A reference, before it moves.
pub(super) const REFERENCES: u8 = 4;
/// All files and folders.
pub(super) const EVERYTHING: u8 = 8;

/// Syncs files according to the settings.
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

    /// Returns whether these files are synced.
    pub(super) fn syncs(&self, files: u8) -> bool {
        self.wanted & files != 0
    }

    /// Syncs these files and then these folders.
    pub(super) fn sync(&self, files: &[PathBuf], folders: &[PathBuf]) -> StoreResult<()> {
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

    /// Syncs `files`, and the folders that contain `files` and `others`, up to and including `top`.
    pub(super) fn sync_with_names(
        &self,
        top: &Path,
        files: &[PathBuf],
        others: &[PathBuf],
    ) -> StoreResult<()> {
        let mut folders = BTreeSet::new();
        for file in files.iter().chain(others) {
            folders.extend(file.ancestors().skip(1).take_while(|folder| folder.starts_with(top)));
        }
        // `others` may have been removed together with their folders.
        let folders = folders.into_iter().filter(|folder| others.is_empty() || folder.is_dir());
        self.sync(files, &folders.map(Path::to_owned).collect::<Vec<_>>())
    }

    /// Syncs a folder with all its contents.
    pub(super) fn sync_tree(&self, top: &Path) -> StoreResult<()> {
        let (mut files, mut folders) = (Vec::new(), vec![top.to_owned()]);
        let mut next = 0;
        while let Some(folder) = folders.get(next).cloned() {
            next += 1;
            for entry in std::fs::read_dir(&folder).map_err(io_error("list", &folder))? {
                let entry = entry.map_err(io_error("list", &folder))?;
                let kind = entry.file_type().map_err(io_error("list", &folder))?;
                if kind.is_dir() { folders.push(entry.path()) } else { files.push(entry.path()) }
            }
        }
        self.sync(&files, &folders)
    }
}

/// Parses the relevant components of `core.fsync` as git does. A named component counts even if a group that contains
/// it is removed.
fn components(value: &str) -> u8 {
    // Git's default contains none of these components, so removing some has no effect.
    value.split(',').map(str::trim).fold(0, |named, name| {
        named
            | match name {
                "loose-object" | "objects" => OBJECTS,
                "index" => INDEX,
                "reference" => REFERENCES,
                "committed" => OBJECTS | REFERENCES,
                "added" | "all" => OBJECTS | REFERENCES | INDEX,
                // `none` and `default` reset the list, and `-name` removes from it. Git warns about unknown names.
                _ => 0,
            }
    })
}

/// Wraps an error that occurred after a reference moved: the commit or tag exists, but may not be on disk, or git's index
/// does not show it.
pub(super) fn unconfirmed(path: &Path, what: String) -> impl FnOnce(StoreError) -> StoreError {
    let message =
        format!("{what} in {} was created, but not everything that follows it was written", path.display());
    move |error| StoreError::new(StoreErrorKind::Unconfirmed, message).caused_by(error)
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

    /// The files that `git add` and `git commit` sync with these settings, as observed in git 2.47 with strace.
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
