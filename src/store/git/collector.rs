//! Keeps what a commit needs from a `git gc` that runs beside it.
//!
//! `git gc --prune=now` first finds out which objects nothing leads to, and later deletes them. What a commit has written
//! before its head moves may be among them, and is deleted although the head leads to it by then. Only a collection that
//! begins after the head has moved finds it. So once the head has moved, whoever moved it waits for the collection that
//! runs, and writes again what is missing: nothing is acknowledged before.
//!
//! Limits: a collection that takes longer than [`LONGEST`] is not waited for; and `git prune`, run by itself, does not say
//! that it runs, so that only what it has deleted by then is written again.

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

/// How long a collection is waited for. Others who wait to write wait for a little longer than this.
const LONGEST: Duration = Duration::from_secs(10);
/// How old the note of a collection is that git itself takes for forgotten.
const FORGOTTEN: Duration = Duration::from_secs(12 * 60 * 60);

/// An object that was written, with what it needs to be written again.
pub(super) struct Written {
    pub(super) id: ObjectId,
    pub(super) kind: Kind,
    pub(super) data: Vec<u8>,
}

impl Git {
    /// Sees to it that these objects, to which a reference leads by now, stay.
    pub(super) fn keep(&self, objects: &[Written]) -> Result<()> {
        let running = self.collection()?;
        let since = Instant::now();
        while running.is_some() && since.elapsed() < LONGEST && self.collection()? == running {
            // Readers must find them meanwhile.
            self.write_missing(objects)?;
            thread::sleep(Duration::from_millis(5));
        }
        self.write_missing(objects)
    }

    /// Waits until objects are on the disk to which nothing leads yet.
    pub(super) fn settle(&self, objects: &[Written]) -> Result<()> {
        self.sync_objects(objects)?;
        self.write_missing(objects)
    }

    /// Writes those again that are not there, and waits for them as for the others. A collection may take away what it has
    /// not found anything to lead to, but not for long.
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

    /// Whether a pack that is there now has the object.
    fn is_packed(&self, id: &ObjectId) -> Result<bool> {
        let path = self.git_dir.join("objects");
        // A new look: one from before the collection knows packs that are gone.
        let objects = gix::odb::at(&path, gix::hash::Kind::Sha1).map_err(io_error("look at", &path))?;
        Ok(objects.exists(id))
    }

    /// Which collection runs, if one does, told from the next one. git notes it in a file while it lasts.
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

/// Whether the process lives that the file names, behind which the name of its machine stands. One on another machine
/// can't be asked.
fn is_running(path: &Path) -> bool {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(1_000).read_to_string(&mut text));
    match (read, text.split_once(' ')) {
        (Ok(_), Some((process, host))) if host.trim() == host_name() => process.parse().is_ok_and(is_alive),
        (Err(error), _) => error.kind() != ErrorKind::NotFound,
        _ => true,
    }
}
