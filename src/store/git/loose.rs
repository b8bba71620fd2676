//! Objects that are files of their own, as the latest always are: read by hand, thousands of them by several threads.
//!
//! gix maps each such file into memory and sets up a new decompressor for it. Mapping is what threads of one process
//! wait for each other with, so that four of them are no faster than one. Here a file is read into a buffer that each
//! thread keeps, with a decompressor that it keeps as well.
//!
//! What is not such a file, or not one as git writes them, is left to gix, which finds it in a pack or says what is
//! wrong with it.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use gix::ObjectId;
use gix::objs::Kind;
use gix::zlib::Inflate;

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
        let name = id.to_string();
        let mut path = objects.join(&name[..2]);
        path.push(&name[2..]);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn blob_id(content: &[u8]) -> ObjectId {
        gix::objs::compute_hash(gix::hash::Kind::Sha1, Kind::Blob, content).unwrap()
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
        let name = id.to_string();
        let path = folder.path().join(&name[..2]).join(&name[2..]);
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
