//! Protects the objects of a new commit from a concurrent `git gc`.
//!
//! `git gc --prune=now` first determines which objects are unreachable and deletes them later. In between, the head may
//! move to a commit that uses some of these objects, and they are deleted anyway. A collection that starts after the
//! head has moved is harmless. Therefore, a writer that has moved the head waits for any running collection and
//! rewrites missing objects before it acknowledges the commit.
//!
//! Limitations: the writer waits no longer than [`LONGEST`]. A separate `git prune` cannot be detected, so only objects
//! that it has already deleted are rewritten.

use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read as _};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use gix::ObjectId;
use gix::objs::{Exists as _, Kind};

use super::Git;
use super::commit::RACE_RETRIES;
use super::error::{StoreResult, io_error};
use super::worktree::optional_metadata;
use crate::base::platform::{file_identity, host_name, is_alive};

/// The maximum time to wait for a collection. Other writers wait a little longer than this.
const LONGEST: Duration = Duration::from_secs(10);
/// The age at which git considers `gc.pid` stale.
const FORGOTTEN: Duration = Duration::from_secs(12 * 60 * 60);

/// A written object, which the repository keeps in memory in case it must be rewritten.
#[derive(Clone, Copy)]
pub(super) struct WrittenObject {
    pub(super) id: ObjectId,
    pub(super) kind: Kind,
}

impl Git {
    /// Ensures that these objects, which are now reachable, are not lost to a collection.
    pub(super) fn protect(&self, objects: &[WrittenObject]) -> StoreResult<()> {
        let running = self.running_collection()?;
        let since = Instant::now();
        while running.is_some() && since.elapsed() < LONGEST && self.running_collection()? == running {
            // Keep the objects readable while waiting.
            self.write_missing(objects)?;
            thread::sleep(Duration::from_millis(5));
        }
        self.write_missing(objects)
    }

    /// Syncs unreferenced objects, and rewrites any that a collection has removed.
    pub(super) fn sync_new_objects(&self, objects: &[WrittenObject]) -> StoreResult<()> {
        self.sync_objects(objects)?;
        self.write_missing(objects)
    }

    /// Rewrites and syncs missing objects. Retries a few times, because a collection may remove them again.
    fn write_missing(&self, objects: &[WrittenObject]) -> StoreResult<()> {
        for _ in 0..RACE_RETRIES {
            let mut is_whole = true;
            for object in objects {
                if !self.objects.object_path(&object.id).exists() && !self.is_packed(&object.id)? {
                    self.write_bytes(object.kind, &self.object(object.id, object.kind)?)?;
                    is_whole = false;
                }
            }
            if is_whole {
                break;
            }
            self.sync_objects(objects)?;
        }
        Ok(())
    }

    /// Returns whether an existing pack contains the object.
    fn is_packed(&self, id: &ObjectId) -> StoreResult<bool> {
        let path = self.git_dir.join("objects");
        // An older handle would still see deleted packs.
        let objects = gix::odb::at(&path, gix::hash::Kind::Sha1).map_err(io_error("inspect", &path))?;
        Ok(objects.exists(id))
    }

    /// Identifies the running collection, if any, by git's `gc.pid` file.
    fn running_collection(&self) -> StoreResult<Option<(String, SystemTime)>> {
        let path = self.git_dir.join("gc.pid");
        let Some(metadata) = optional_metadata(&path)?.filter(Metadata::is_file) else { return Ok(None) };
        let since = metadata.modified().map_err(io_error("inspect", &path))?;
        let is_forgotten = since.elapsed().is_ok_and(|age| age > FORGOTTEN) || !is_running(&path);
        if is_forgotten {
            return Ok(None);
        }
        match file_identity(&path) {
            Ok(identity) => Ok(Some((identity, since))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error("inspect", &path)(error)),
        }
    }
}

/// Returns whether the process named in the file is alive. The file also names the machine, and a process on another
/// machine is assumed to be alive.
fn is_running(path: &Path) -> bool {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(1_000).read_to_string(&mut text));
    match (read, text.split_once(' ')) {
        (Ok(_), Some((process, host))) if host.trim() == host_name() => process.parse().is_ok_and(is_alive),
        (Err(error), _) => error.kind() != ErrorKind::NotFound,
        _ => true,
    }
}
