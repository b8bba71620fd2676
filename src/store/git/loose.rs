//! Objects that are files of their own, as the latest always are: read and written by hand.
//!
//! A commit writes some ten small ones. For each gix sets up a compressor, which is 300 KB to fill with zeros and more than
//! to compress 3 KB. Here a few compressors are kept.
//!
//! Thousands are read, by several threads. gix maps each such file into memory and sets up a new decompressor for it. Mapping is what threads of one process
//! wait for each other with, so that four of them are no faster than one. Here a file is read into a buffer that each
//! thread keeps, with a decompressor that it keeps as well.
//!
//! What is not such a file, or not one as git writes them, is left to gix, which finds it in a pack or says what is
//! wrong with it.

use std::cell::RefCell;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use gix::ObjectId;
use gix::objs::Kind;
use gix::zlib::stream::deflate::{Compress, FlushCompress};
use gix::zlib::{Compression, Inflate, Status};

use super::commit::RACE_RETRIES;
use super::error::{Result, io_error};

/// The most bytes of a header that are looked at: `commit`, a length, and a zero byte have less.
const HEADER: usize = 64;

/// The most bytes a buffer keeps from one object to the next.
const KEPT: usize = 1 << 20;

#[derive(Default)]
struct Buffers {
    inflate: Inflate,
    file: Vec<u8>,
}

thread_local! {
    static BUFFERS: RefCell<Buffers> = RefCell::default();
}

/// Where the object is in the folder `objects`, if it is a file of its own.
pub(super) fn path(objects: &Path, id: ObjectId) -> PathBuf {
    let name = id.to_string();
    let mut path = objects.join(&name[..2]);
    path.push(&name[2..]);
    path
}

/// The object in the folder `objects`, if it is a file of its own and has at most `max_len` bytes.
pub(super) fn read(objects: &Path, id: ObjectId, max_len: u64) -> Option<(Kind, Vec<u8>)> {
    BUFFERS.with_borrow_mut(|buffers| {
        let object = buffers.read(objects, id, max_len);
        if buffers.file.capacity() > KEPT {
            buffers.file = Vec::new();
        }
        object
    })
}

impl Buffers {
    fn read(&mut self, objects: &Path, id: ObjectId, max_len: u64) -> Option<(Kind, Vec<u8>)> {
        let path = path(objects, id);
        // What is no plain file is not even opened: a pipe would wait for its writer.
        let metadata = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?;
        // Compressed, nothing is much longer than it was.
        let len = usize::try_from(metadata.len()).ok().filter(|_| metadata.len() / 2 <= max_len + 512)?;
        self.file.resize(len, 0);
        File::open(&path).ok()?.read_exact(&mut self.file).ok()?;

        self.inflate.reset();
        let mut start = [0; HEADER];
        let (_, consumed, written) = self.inflate.prefix(&self.file, &mut start).ok()?;
        let start = start.get(..written)?;
        let (kind, len, header) = gix::objs::decode::loose_header(start).ok()?;
        let len = usize::try_from(len).ok().filter(|_| len <= max_len)?;
        if start.len().checked_sub(header)? > len {
            return None;
        }
        let mut bytes = Vec::new();
        let read = self.inflate.rest(self.file.get(consumed..)?, start, header, &mut bytes, len).ok()?;
        (read == len).then_some((kind, bytes))
    }
}

/// What the name of an object begins with until it is whole. `git gc` collects old ones that start with `tmp_`.
pub(in super::super) const UNFINISHED: &str = "tmp_obj_tot_";

/// How many compressors wait for the next object.
const COMPRESSORS: usize = 4;

static COMPRESSORS_KEPT: Mutex<Vec<(Compression, Compress)>> = Mutex::new(Vec::new());

/// Which file of this process it is that an object is written to.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// How much an object is compressed: as git, the least unless the settings say otherwise.
pub(super) fn compression(config: &gix::config::Snapshot<'_>) -> Compression {
    let level = ["core.looseCompression", "core.compression"].iter().find_map(|name| config.integer(*name));
    match level {
        None => Compression::BEST_SPEED,
        Some(level) => i32::try_from(level).ok().and_then(Compression::new).unwrap_or_default(),
    }
}

/// Writes an object into the folder `objects`, whether or not there is one already. It has its name when it is whole.
pub(super) fn write(
    objects: &Path,
    id: ObjectId,
    kind: Kind,
    bytes: &[u8],
    level: Compression,
) -> Result<()> {
    let compressed = compressed(kind, bytes, level).map_err(io_error("write an object to", objects))?;
    let mut attempts = 0;
    loop {
        let (unfinished, mut file) = create_unfinished(objects)?;
        let written = file.write_all(&compressed);
        drop(file);
        let Err(error) = written.and_then(|()| give_name(objects, id, &unfinished)) else { return Ok(()) };
        let _ = fs::remove_file(&unfinished);
        // A `git gc` has removed the empty folder, or with `--prune=now` the unfinished file.
        if error.kind() != ErrorKind::NotFound || attempts == RACE_RETRIES {
            return Err(io_error("write an object to", objects)(error));
        }
        attempts += 1;
    }
}

fn create_unfinished(objects: &Path) -> Result<(PathBuf, File)> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // As git's are: an object never changes.
        options.mode(0o444);
    }
    loop {
        let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
        let path = objects.join(format!("{UNFINISHED}{}_{number}", std::process::id()));
        match options.open(&path) {
            Ok(file) => return Ok((path, file)),
            // Of a process that was killed, and had the same id.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(io_error("create", &path)(error)),
        }
    }
}

fn give_name(objects: &Path, id: ObjectId, unfinished: &Path) -> io::Result<()> {
    let path = path(objects, id);
    match fs::rename(unfinished, &path) {
        // Windows does not replace what may not be written to. The same object is there, then.
        Err(_) if cfg!(windows) && path.is_file() => fs::remove_file(unfinished),
        // The folder is missing at first.
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let created = path.parent().map_or(Ok(()), fs::create_dir);
            created.or_else(|error| match error.kind() {
                ErrorKind::AlreadyExists => Ok(()),
                _ => Err(error),
            })?;
            fs::rename(unfinished, &path)
        }
        outcome => outcome,
    }
}

/// The bytes of an object's file.
fn compressed(kind: Kind, bytes: &[u8], level: Compression) -> io::Result<Vec<u8>> {
    let kept = || COMPRESSORS_KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let mut compressors = kept();
    let found = compressors.iter().position(|(of, _)| *of == level).map(|at| compressors.swap_remove(at).1);
    drop(compressors);
    let mut compress = found.unwrap_or_else(|| Compress::new(level));
    let outcome = compress_object(&mut compress, kind, bytes);
    compress.reset();
    let mut compressors = kept();
    if compressors.len() < COMPRESSORS {
        compressors.push((level, compress));
    }
    outcome
}

fn compress_object(compress: &mut Compress, kind: Kind, bytes: &[u8]) -> io::Result<Vec<u8>> {
    let header = gix::objs::encode::loose_header(kind, bytes.len() as u64);
    let mut compressed = vec![0; bytes.len() + bytes.len() / 8 + 2 * HEADER];
    for (part, flush) in [(header.as_slice(), FlushCompress::None), (bytes, FlushCompress::Finish)] {
        let (before, mut consumed) = (compress.total_in(), 0);
        loop {
            let written = usize::try_from(compress.total_out()).map_err(io::Error::other)?;
            if written == compressed.len() {
                compressed.resize(2 * written, 0);
            }
            let status = compress
                .compress(&part[consumed..], &mut compressed[written..], flush)
                .map_err(|source| io::Error::other(source.to_string()))?;
            consumed = usize::try_from(compress.total_in() - before).map_err(io::Error::other)?;
            let is_done = match flush {
                FlushCompress::Finish => status == Status::StreamEnd,
                _ => consumed == part.len(),
            };
            if is_done {
                break;
            }
        }
    }
    compressed.truncate(usize::try_from(compress.total_out()).map_err(io::Error::other)?);
    Ok(compressed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blob_id(content: &[u8]) -> ObjectId {
        gix::objs::compute_hash(gix::hash::Kind::Sha1, Kind::Blob, content).unwrap()
    }

    /// Of which nothing can be made shorter.
    fn noise(len: usize) -> Vec<u8> {
        let mut state = 88_172_645_463_325_252_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[3]
        };
        (0..len).map(|_| next()).collect()
    }

    #[test]
    fn what_is_written_is_read_again_at_every_level() {
        let folder = tempfile::tempdir().unwrap();
        let contents =
            [Vec::new(), b"x".to_vec(), vec![b'x'; 70_000], noise(100), noise(3_000), noise(300_000)];
        for level in 0..=9 {
            for content in &contents {
                let id = blob_id(content);
                let level = Compression::new(level).unwrap();
                write(folder.path(), id, Kind::Blob, content, level).unwrap();
                assert_eq!(read(folder.path(), id, 1 << 20), Some((Kind::Blob, content.clone())));
            }
        }
        let left = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        assert!(left.into_iter().all(|name| name.len() == 2), "nothing unfinished");
    }

    #[test]
    fn the_file_of_an_object_is_like_one_of_gix() {
        let content = noise(3_000);
        let (ours, theirs) = (tempfile::tempdir().unwrap(), objects(&[&content]));
        let id = blob_id(&content);
        write(ours.path(), id, Kind::Blob, &content, Compression::BEST_SPEED).unwrap();
        let metadata = |objects: &Path| fs::metadata(path(objects, id)).unwrap();
        let (ours, theirs) = (metadata(ours.path()), metadata(theirs.path()));
        assert_eq!(ours.permissions(), theirs.permissions());
        assert!(ours.len().abs_diff(theirs.len()) < 16, "{} of {} bytes", ours.len(), theirs.len());
    }

    #[test]
    fn an_object_that_cannot_be_written_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let id = blob_id(b"x");
        // In the place of its folder.
        fs::write(folder.path().join(&id.to_string()[..2]), "").unwrap();
        write(folder.path(), id, Kind::Blob, b"x", Compression::BEST_SPEED).unwrap_err();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    fn objects(contents: &[&[u8]]) -> tempfile::TempDir {
        use gix::objs::Write;

        let folder = tempfile::tempdir().unwrap();
        let store = gix::odb::loose::Store::at(folder.path(), gix::hash::Kind::Sha1);
        for content in contents {
            store.write_buf(Kind::Blob, content).unwrap();
        }
        folder
    }

    #[test]
    fn an_object_of_any_length_is_read_and_none_over_the_limit() {
        let contents: Vec<Vec<u8>> = [0, 1, 55, 56, 57, 64, 3_000, 70_000]
            .map(|len| (0..len).map(|n| (n * 7 % 251) as u8).collect())
            .into();
        let folder = objects(&contents.iter().map(Vec::as_slice).collect::<Vec<_>>());
        for content in &contents {
            let len = content.len() as u64;
            assert_eq!(read(folder.path(), blob_id(content), len), Some((Kind::Blob, content.clone())));
            if len > 0 {
                assert_eq!(read(folder.path(), blob_id(content), len - 1), None);
            }
        }
    }

    #[test]
    fn what_is_not_as_git_writes_it_is_left_to_gix() {
        let content = [b'x'; 5_000];
        let folder = objects(&[&content]);
        let id = blob_id(&content);
        let path = path(folder.path(), id);
        let whole = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        for bytes in [&whole[..whole.len() / 2], &whole[..3], b"", b"not compressed at all"] {
            fs::write(&path, bytes).unwrap();
            assert_eq!(read(folder.path(), id, 10_000), None);
            fs::remove_file(&path).unwrap();
        }
        fs::create_dir(&path).unwrap();
        assert_eq!(read(folder.path(), id, 10_000), None);
    }
}
