//! Investigations of a hub for one run: cloned into a folder of this run's own, which is gone afterwards.

use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::{env, process};

use super::sync::shown;
use super::{Progress, is_person};
use crate::remote::GitProgram;
use crate::report::Unreadable;
use crate::store::Store;
use crate::sync::clone::clone;
use crate::text::one_line;

/// The clones. They are removed when it is dropped.
pub(super) struct Hub {
    /// Where they are.
    pub folder: PathBuf,
    /// What could not be cloned.
    pub failed: Vec<Unreadable>,
}

impl Hub {
    /// Clones all investigations of that address.
    pub(super) fn clone(address: &str, progress: &Progress) -> Result<Hub, Box<dyn std::error::Error>> {
        let git = GitProgram::find(is_person())?;
        let mut hub = Hub { folder: own_folder(&env::temp_dir())?, failed: Vec::new() };
        let store = Store::new(&hub.folder);
        let cloned = clone(&store, &git, address, &[], &|what| progress.count(|| what.to_owned()));
        for one in cloned.map_err(|error| shown(&error))? {
            if let Err(error) = one.outcome {
                // A site says nothing of the machine that it was made on.
                let reason = error.to_string().replace(&hub.folder.display().to_string(), "the hub");
                hub.failed.push(Unreadable { name: one_line(&one.branch), reason: one_line(&reason) });
            }
        }
        Ok(hub)
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        // What remains lies where the system keeps what may be deleted.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A new folder that nobody else can look into.
fn own_folder(parent: &Path) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    for number in 0..100 {
        let folder = parent.join(format!("tot-hub-{}-{number}", process::id()));
        match builder.create(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(format!("can't create {}: {error}", folder.display()).into()),
        }
    }
    Err(format!("{} is full of folders of earlier runs, tot-hub-…: delete them", parent.display()).into())
}
