//! Protects the objects of a commit from a concurrent `git gc`.
//!
//! `git gc --prune=now` first finds the unreachable objects, and later deletes them. These may include objects that a
//! commit has written before its head moves, and they are deleted although the head leads to them by then. Only a
//! collection that begins after the head has moved finds them reachable. So the writer that moved the head waits for the
//! running collection and writes missing objects again, before it acknowledges anything.
//!
//! Limits: a collection that takes longer than [`LONGEST`] is not waited for. `git prune`, run by itself, leaves no note,
//! so only objects that it has deleted by then are written again.

use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read as _};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use gix::ObjectId;
use gix::objs::{Exists as _, Kind};

use super::Git;
use super::commit::RACE_RETRIES;
use super::error::{Result, io_error};
use super::worktree::optional_metadata;
use crate::platform::{file_identity, host_name, is_alive};

/// The maximum wait for a collection. Other writers wait for a little longer than this.
const LONGEST: Duration = Duration::from_secs(10);
/// The age at which git itself considers the note of a collection forgotten.
const FORGOTTEN: Duration = Duration::from_secs(12 * 60 * 60);

/// A written object, with the data to write it again.
pub(super) struct Written {
    pub(super) id: ObjectId,
    pub(super) kind: Kind,
    pub(super) data: Vec<u8>,
}

impl Git {
    /// Ensures that these objects, now reachable, are kept.
    pub(super) fn keep(&self, objects: &[Written]) -> Result<()> {
        let running = self.collection()?;
        let since = Instant::now();
        while running.is_some() && since.elapsed() < LONGEST && self.collection()? == running {
            // Readers must find them in the meantime.
            self.write_missing(objects)?;
            thread::sleep(Duration::from_millis(5));
        }
        self.write_missing(objects)
    }

    /// Waits until unreferenced objects are on the disk.
    pub(super) fn settle(&self, objects: &[Written]) -> Result<()> {
        self.sync_objects(objects)?;
        self.write_missing(objects)
    }

    /// Writes missing objects again, and syncs them like the others. A collection may remove objects that it found
    /// unreachable, but not for long.
    fn write_missing(&self, objects: &[Written]) -> Result<()> {
        for _ in 0..RACE_RETRIES {
            let mut is_whole = true;
            for object in objects {
                if !self.objects.object_path(&object.id).exists() && !self.is_packed(&object.id)? {
                    self.write_bytes(object.kind, &object.data)?;
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

    /// Whether an existing pack contains the object.
    fn is_packed(&self, id: &ObjectId) -> Result<bool> {
        let path = self.git_dir.join("objects");
        // A new handle: an older one still knows packs that are gone.
        let objects = gix::odb::at(&path, gix::hash::Kind::Sha1).map_err(io_error("look at", &path))?;
        Ok(objects.exists(id))
    }

    /// Identifies the running collection, if any. git notes it in a file while it runs.
    fn collection(&self) -> Result<Option<(String, SystemTime)>> {
        let path = self.git_dir.join("gc.pid");
        let Some(metadata) = optional_metadata(&path)?.filter(Metadata::is_file) else { return Ok(None) };
        let since = metadata.modified().map_err(io_error("look at", &path))?;
        let is_forgotten = since.elapsed().is_ok_and(|age| age > FORGOTTEN) || !is_running(&path);
        if is_forgotten {
            return Ok(None);
        }
        match file_identity(&path) {
            Ok(identity) => Ok(Some((identity, since))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error("look at", &path)(error)),
        }
    }
}

/// Whether the process named in the file is alive. The name of its machine follows; a process on another machine
/// can't be checked.
fn is_running(path: &Path) -> bool {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(1_000).read_to_string(&mut text));
    match (read, text.split_once(' ')) {
        (Ok(_), Some((process, host))) if host.trim() == host_name() => process.parse().is_ok_and(is_alive),
        (Err(error), _) => error.kind() != ErrorKind::NotFound,
        _ => true,
    }
}
