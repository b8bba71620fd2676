//! The bytes of git's index, changed without decoding it: runs of unchanged entries are copied as they are.
//!
//! An index is one file: a header, all entries in the order of their paths, extensions, and a SHA-1 over all of that. So
//! a commit of three files in an investigation of 10,000 rewrites a megabyte; this is as little work as that allows: one
//! copy in memory, and one pass of SHA-1 by a second thread while it goes to the file. Whoever keeps what it wrote doesn't
//! read it again, as long as the file ends with the same hash.
//!
//! Of the extensions, the cache of trees (`TREE`) is kept with the folders of the changed paths marked as changed; the
//! others are aids that git makes again, and are left out. Only versions 2 and 3 are read; whatever else there is goes
//! through gix first, which writes one of these.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use gix::ObjectId;
use gix::index::entry::Stat;
use gix::objs::tree::EntryKind;
use sha1::{Digest, Sha1};

use super::tree::{Leaf, MAX_DEPTH};

/// Header: signature, version, number of entries.
const HEADER: usize = 12;
/// The hash of an id, and of the file at its end.
pub(super) const HASH: usize = 20;
/// From the start of an entry to its size, mode, id, flags and path.
const MODE: usize = 24;
const SIZE: usize = 36;
const ID: usize = 40;
const FLAGS: usize = 60;
const PATH: usize = 62;
const MTIME: usize = 8;

/// An index of so many bytes is worth a second thread; in tests every one is that has some entries.
pub(super) const LARGE: usize = if cfg!(test) { 1 << 10 } else { 256 << 10 };

const EXTENDED: u16 = 0x4000;
const STAGE: u16 = 0x3000;
const LENGTH: u16 = 0x0fff;
const INTENT_TO_ADD: u16 = 0x2000;

/// An index as it stands in its file.
pub(super) struct Index {
    bytes: Vec<u8>,
    /// Where each entry begins, and behind the last one where the entries end.
    starts: Vec<usize>,
    /// The cache of trees.
    tree: Option<Range<usize>>,
}

/// What the index has at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Staged {
    /// Nothing.
    Nothing,
    /// One entry, of a file or the like.
    Entry(Leaf),
    /// A conflict of a merge, or a file announced with `git add -N`.
    Unfinished,
}

/// What is to become of a path; `None` removes it.
pub(super) type Edits<'a> = BTreeMap<&'a str, Option<(Leaf, Stat)>>;

impl Index {
    /// Reads the places of the entries; `None` where the form is another one, or damaged.
    pub(super) fn parse(bytes: Vec<u8>) -> Option<Index> {
        let end = bytes.len().checked_sub(HASH)?;
        let version = number(&bytes, 4)?;
        if !bytes.starts_with(b"DIRC") || !matches!(version, 2 | 3) {
            return None;
        }
        let count = number(&bytes, 8)? as usize;
        let mut starts = Vec::with_capacity(count.min(end / PATH) + 1);
        let mut at = HEADER;
        let mut previous: (&[u8], u16) = (&[], 0);
        for _ in 0..count {
            let flags = half(&bytes, at + FLAGS)?;
            if flags & EXTENDED != 0 && version == 2 {
                return None;
            }
            let path_at = at + path_offset(flags);
            let length = match flags & LENGTH {
                LENGTH => bytes.get(path_at..end)?.iter().position(|byte| *byte == 0)?,
                length => usize::from(length),
            };
            let path = bytes.get(path_at..path_at + length)?;
            let key = (path, flags & STAGE);
            if path.is_empty() || previous >= key {
                return None;
            }
            previous = key;
            starts.push(at);
            // One to eight zero bytes end an entry at a multiple of eight.
            at += (path_offset(flags) + length + 8) & !7;
            if at > end {
                return None;
            }
        }
        starts.push(at);
        let tree = extensions(&bytes, at, end)?;
        Some(Index { bytes, starts, tree })
    }

    /// What is staged at the path.
    pub(super) fn staged(&self, path: &str) -> Staged {
        let range = self.entries_at(path.as_bytes());
        match range.len() {
            0 => Staged::Nothing,
            1 => self.leaf(range.start).map_or(Staged::Unfinished, Staged::Entry),
            _ => Staged::Unfinished,
        }
    }

    /// Whether a file is staged where a folder is needed for the path, or the other way round.
    pub(super) fn is_blocked(&self, path: &str) -> bool {
        let mut folders = path.match_indices('/').map(|(at, _)| &path[..at]);
        if folders.any(|folder| !self.entries_at(folder.as_bytes()).is_empty()) {
            return true;
        }
        let inside = format!("{path}/");
        let first = self.first(|other| other >= inside.as_bytes());
        first < self.len() && self.path(first).starts_with(inside.as_bytes())
    }

    /// Gives all entries that were changed at this second of the index's own time, or later, a size that cannot be
    /// right, so that git compares their content.
    pub(super) fn distrust_since(&mut self, written: i64) {
        for entry in 0..self.len() {
            let start = self.starts[entry];
            if number(&self.bytes, start + MTIME).is_some_and(|seconds| i64::from(seconds) >= written)
                && let Some(size) = self.bytes.get_mut(start + SIZE..start + SIZE + 4)
            {
                size.fill(0);
            }
        }
    }

    /// The index with these edits, and without a hash until it is written.
    pub(super) fn edited(&self, edits: &Edits<'_>) -> Index {
        let mut bytes = Vec::with_capacity(self.bytes.len() + edits.len() * 2 * PATH);
        let mut starts = Vec::with_capacity(self.starts.len() + edits.len());
        bytes.extend_from_slice(&self.bytes[..HEADER]);
        // Copies a run of entries.
        let copy = |run: Range<usize>, bytes: &mut Vec<u8>, starts: &mut Vec<usize>| {
            let (from, at) = (self.starts[run.start], bytes.len());
            starts.extend(self.starts[run.clone()].iter().map(|start| start - from + at));
            bytes.extend_from_slice(&self.bytes[from..self.starts[run.end]]);
        };
        let mut next = 0;
        for (path, edit) in edits {
            let range = self.entries_at(path.as_bytes());
            copy(next..range.start, &mut bytes, &mut starts);
            if let Some((leaf, stat)) = edit {
                let replaced = (!range.is_empty()).then(|| &self.bytes[self.starts[range.start]..]);
                starts.push(bytes.len());
                bytes.extend_from_slice(&entry_bytes(path, *leaf, stat, replaced));
            }
            next = range.end;
        }
        copy(next..self.len(), &mut bytes, &mut starts);
        let count = u32::try_from(starts.len()).unwrap_or(u32::MAX);
        bytes[8..HEADER].copy_from_slice(&count.to_be_bytes());
        starts.push(bytes.len());
        let tree = self.tree.clone().and_then(|tree| changed_tree(&self.bytes[tree], edits)).map(|tree| {
            bytes.extend_from_slice(b"TREE");
            bytes.extend_from_slice(&u32::try_from(tree.len()).unwrap_or(u32::MAX).to_be_bytes());
            bytes.extend_from_slice(&tree);
            bytes.len() - tree.len()..bytes.len()
        });
        bytes.extend_from_slice(&[0; HASH]);
        Index { bytes, starts, tree }
    }

    /// Writes the index, with its hash unless that is to be left out.
    pub(super) fn write(&mut self, skip_hash: bool, to: &mut impl io::Write) -> io::Result<()> {
        let end = self.bytes.len() - HASH;
        let (content, hash_at_end) = self.bytes.split_at_mut(end);
        let hash = || <[u8; HASH]>::from(Sha1::digest(&*content));
        let hash = if skip_hash {
            to.write_all(content)?;
            [0; HASH]
        } else if content.len() < LARGE {
            to.write_all(content)?;
            hash()
        } else {
            // A thread that panicked has no hash: it is made here, and panics here.
            std::thread::scope(|scope| {
                let hashing = scope.spawn(hash);
                to.write_all(content).map(|()| hashing.join().unwrap_or_else(|_| hash()))
            })?
        };
        hash_at_end.copy_from_slice(&hash);
        to.write_all(&hash)
    }

    /// Whether it is the index in a file of so many bytes, which has this hash at its end.
    pub(super) fn is_in_file(&self, len: u64, hash: &[u8; HASH]) -> bool {
        self.bytes.len() as u64 == len && self.bytes.ends_with(hash) && *hash != [0; HASH]
    }

    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The entries of the path, one for each side of a conflict; where there are none, the place for one.
    fn entries_at(&self, path: &[u8]) -> Range<usize> {
        self.first(|other| other >= path)..self.first(|other| other > path)
    }

    /// The first entry whose path is so; the entries are in the order of their paths.
    fn first(&self, is_so: impl Fn(&[u8]) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if is_so(self.path(middle)) { high = middle } else { low = middle + 1 }
        }
        low
    }

    fn path(&self, entry: usize) -> &[u8] {
        let start = self.starts[entry];
        let padded = &self.bytes[start..self.starts[entry + 1]];
        let path = &padded[path_offset(self.flags(entry)).min(padded.len())..];
        &path[..path.iter().position(|byte| *byte == 0).unwrap_or(path.len())]
    }

    fn flags(&self, entry: usize) -> u16 {
        half(&self.bytes, self.starts[entry] + FLAGS).unwrap_or_default()
    }

    /// The entry as a commit has it; `None` for one that no commit can have.
    fn leaf(&self, entry: usize) -> Option<Leaf> {
        let (start, flags) = (self.starts[entry], self.flags(entry));
        let is_announced = flags & EXTENDED != 0
            && half(&self.bytes, start + PATH).is_none_or(|more| more & INTENT_TO_ADD != 0);
        if is_announced || flags & STAGE != 0 {
            return None;
        }
        let mode = number(&self.bytes, start + MODE)?;
        let kinds = [EntryKind::Blob, EntryKind::BlobExecutable, EntryKind::Link, EntryKind::Commit];
        let kind = kinds.into_iter().find(|kind| mode_of(*kind) == mode)?;
        let id = self.bytes.get(start + ID..start + ID + HASH)?;
        Some(Leaf { kind, id: ObjectId::try_from(id).ok()? })
    }
}

/// An entry; one that replaces another, which begins these bytes, keeps its flags.
fn entry_bytes(path: &str, leaf: Leaf, stat: &Stat, replaced: Option<&[u8]>) -> Vec<u8> {
    let mut out = Vec::with_capacity(PATH + path.len() + 10);
    let (ctime, mtime) = (stat.ctime, stat.mtime);
    for number in [ctime.secs, ctime.nsecs, mtime.secs, mtime.nsecs, stat.dev, stat.ino, mode_of(leaf.kind)] {
        out.extend_from_slice(&number.to_be_bytes());
    }
    for number in [stat.uid, stat.gid, stat.size] {
        out.extend_from_slice(&number.to_be_bytes());
    }
    out.extend_from_slice(leaf.id.as_slice());
    match replaced.and_then(|entry| Some((entry, half(entry, FLAGS)?))) {
        Some((entry, flags)) => out.extend_from_slice(&entry[FLAGS..path_offset(flags)]),
        None => {
            let length = u16::try_from(path.len()).unwrap_or(LENGTH).min(LENGTH);
            out.extend_from_slice(&length.to_be_bytes());
        }
    }
    out.extend_from_slice(path.as_bytes());
    out.resize((out.len() + 8) & !7, 0);
    out
}

/// The place of the cache of trees among the extensions; `None` where there is an extension that changes what the
/// entries mean.
#[allow(clippy::option_option, reason = "no cache is as good as one")]
fn extensions(bytes: &[u8], mut at: usize, end: usize) -> Option<Option<Range<usize>>> {
    let mut tree = None;
    while at < end {
        let name = bytes.get(at..at + 4)?;
        let length = number(bytes, at + 4)? as usize;
        let range = at + 8..at.checked_add(8 + length).filter(|next| *next <= end)?;
        match name {
            b"TREE" => tree = Some(range.clone()),
            // git calls those optional that begin with a capital.
            [b'A'..=b'Z', ..] => {}
            _ => return None,
        }
        at = range.end;
    }
    Some(tree)
}

/// The cache of trees with the folders of the edits marked as changed; `None` where it is damaged.
fn changed_tree(cache: &[u8], edits: &Edits<'_>) -> Option<Vec<u8>> {
    let paths: Vec<&str> = edits.keys().copied().collect();
    let mut out = Vec::with_capacity(cache.len());
    let rest = changed_folder(cache, &paths, 0, 0, &mut out)?;
    rest.is_empty().then_some(out)
}

/// One folder and those below it: name, zero, number of entries or -1, blank, number of folders in it, line feed, and
/// with its number known, its id. `paths` are the edits in it, whose paths go on here from the byte `start`.
fn changed_folder<'a>(
    cache: &'a [u8],
    paths: &[&str],
    start: usize,
    depth: usize,
    out: &mut Vec<u8>,
) -> Option<&'a [u8]> {
    if depth > MAX_DEPTH {
        return None;
    }
    let name_end = cache.iter().position(|byte| *byte == 0)?;
    let line_end = name_end + cache[name_end..].iter().position(|byte| *byte == b'\n')?;
    let counts = std::str::from_utf8(&cache[name_end + 1..line_end]).ok()?;
    let (entries, folders) = counts.split_once(' ')?;
    let entries: i64 = entries.parse().ok()?;
    let folders: usize = folders.parse().ok()?;
    let header_end = line_end + 1 + if entries >= 0 { HASH } else { 0 };
    let header = cache.get(..header_end)?;
    if paths.is_empty() {
        out.extend_from_slice(header);
    } else {
        out.extend_from_slice(&header[..=name_end]);
        out.extend_from_slice(format!("-1 {folders}\n").as_bytes());
    }
    let mut rest = &cache[header_end..];
    for _ in 0..folders {
        let name = &rest[..rest.iter().position(|byte| *byte == 0)?];
        let inside = |path: &&str| {
            path.as_bytes()[start..].strip_prefix(name).is_some_and(|path| path.starts_with(b"/"))
        };
        let first = paths.iter().position(inside).unwrap_or(paths.len());
        let below = &paths[first..];
        let below = &below[..below.iter().take_while(|path| inside(path)).count()];
        rest = changed_folder(rest, below, start + name.len() + 1, depth + 1, out)?;
    }
    Some(rest)
}

fn mode_of(kind: EntryKind) -> u32 {
    match kind {
        EntryKind::Blob => 0o100_644,
        EntryKind::BlobExecutable => 0o100_755,
        EntryKind::Link => 0o120_000,
        EntryKind::Commit => 0o160_000,
        EntryKind::Tree => 0o040_000,
    }
}

fn path_offset(flags: u16) -> usize {
    if flags & EXTENDED != 0 { PATH + 2 } else { PATH }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use gix::bstr::{BStr, ByteSlice};
    use gix::index::entry::stat::Time;
    use gix::index::entry::{Flags, Mode};
    use proptest::prelude::*;

    use super::*;

    /// Paths around `/` in the order of bytes, one that begins another, and ones of 8 lengths for the padding.
    const PATHS: [&str; 14] = [
        "a",
        "a-b",
        "a.b",
        "a/c",
        "a0",
        "b",
        "b-",
        "nodes/R1/R1.A.yaml",
        "nodes/R1/R1.A1.yaml",
        "nodes/R10/x",
        "nodes/R1-x",
        "nodesx",
        "ü/ß",
        "z",
    ];

    type Entries = BTreeMap<&'static str, (Leaf, Stat)>;

    /// The index that gix writes for these entries.
    fn written_by_gix(entries: &Entries, skip_hash: bool) -> Vec<u8> {
        let mut state = gix::index::State::new(gix::hash::Kind::Sha1);
        for (path, (leaf, stat)) in entries {
            let mode = Mode::from_bits(mode_of(leaf.kind)).unwrap();
            state.dangerously_push_entry(*stat, leaf.id, Flags::empty(), mode, BStr::new(path));
        }
        state.sort_entries();
        let options =
            gix::index::write::Options { skip_hash, extensions: gix::index::write::Extensions::None };
        let mut bytes = Vec::new();
        gix::index::File::from_state(state, "index").write_to(&mut bytes, options).unwrap();
        bytes
    }

    fn written(index: &Index, edits: &Edits<'_>, skip_hash: bool) -> Vec<u8> {
        let mut bytes = Vec::new();
        index.edited(edits).write(skip_hash, &mut bytes).unwrap();
        bytes
    }

    fn entry(seed: u8) -> (Leaf, Stat) {
        let n = u32::from(seed);
        let kind = [EntryKind::Blob, EntryKind::BlobExecutable, EntryKind::Link][usize::from(seed % 3)];
        let time = Time { secs: n * 77_777, nsecs: n * 999 };
        let stat = Stat { mtime: time, ctime: time, dev: n, ino: n * 3, uid: 1_000, gid: 7, size: n * 100 };
        (Leaf { kind, id: ObjectId::from([seed; HASH]) }, stat)
    }

    proptest! {
        #[test]
        fn every_sequence_of_edits_gives_the_bytes_that_gix_writes(
            batches in prop::collection::vec(
                prop::collection::btree_map(0..PATHS.len(), prop::option::of(any::<u8>()), 0..6), 1..8),
            skip_hash: bool,
        ) {
            let mut entries = Entries::new();
            let mut bytes = written_by_gix(&entries, skip_hash);
            for batch in batches {
                let edits: Edits<'_> =
                    batch.iter().map(|(path, seed)| (PATHS[*path], seed.map(entry))).collect();
                let mut edited = Index::parse(bytes).unwrap().edited(&edits);
                bytes = Vec::new();
                edited.write(skip_hash, &mut bytes).unwrap();
                let read = Index::parse(bytes.clone()).unwrap();
                prop_assert_eq!((&edited.bytes, &edited.starts), (&read.bytes, &read.starts));
                prop_assert_eq!(&edited.tree, &read.tree);
                for (path, edit) in edits {
                    match edit {
                        Some(edit) => entries.insert(PATHS.into_iter().find(|p| *p == path).unwrap(), edit),
                        None => entries.remove(path),
                    };
                }
                prop_assert_eq!(&bytes, &written_by_gix(&entries, skip_hash));
                let index = Index::parse(bytes.clone()).unwrap();
                for path in PATHS {
                    let expected = entries.get(path).map_or(Staged::Nothing, |(leaf, _)| Staged::Entry(*leaf));
                    prop_assert_eq!(index.staged(path), expected);
                    let folder = format!("{path}/");
                    let above = path.match_indices('/').any(|(at, _)| entries.contains_key(&path[..at]));
                    let blocked = above || entries.keys().any(|other| other.starts_with(&folder));
                    prop_assert_eq!(index.is_blocked(path), blocked);
                }
            }
        }

        #[test]
        fn damaged_bytes_are_refused_or_read_and_never_panic(
            at in 0usize..600, to: u8, cut in 0usize..700,
        ) {
            let entries: Entries = PATHS.iter().zip(1..).map(|(path, seed)| (*path, entry(seed))).collect();
            let mut bytes = written_by_gix(&entries, false);
            let at = at % bytes.len();
            bytes[at] = to;
            bytes.truncate(cut.max(at));
            if let Some(mut index) = Index::parse(bytes) {
                index.distrust_since(0);
                let edits: Edits<'_> = [("a", None), ("nodes/R1/new", Some(entry(9)))].into();
                let _ = (index.staged("b"), index.is_blocked("nodes"), written(&index, &edits, false));
            }
        }
    }

    #[test]
    fn a_long_path_has_its_own_length() {
        let long = "x".repeat(5_000);
        let empty = Index::parse(written_by_gix(&Entries::new(), true)).unwrap();
        let edits: Edits<'_> = [(long.as_str(), Some(entry(1))), ("y", Some(entry(2)))].into();
        let index = Index::parse(written(&empty, &edits, true)).unwrap();
        assert_eq!(index.path(0), long.as_bytes());
        assert_eq!((index.len(), index.staged("y")), (2, Staged::Entry(entry(2).0)));
    }

    #[test]
    fn a_large_index_is_hashed_as_a_small_one() {
        let empty = Index::parse(written_by_gix(&Entries::new(), true)).unwrap();
        let paths: Vec<String> = (0..LARGE / PATH).map(|number| format!("{number:05}")).collect();
        let edits: Edits<'_> = paths.iter().map(|path| (path.as_str(), Some(entry(1)))).collect();
        let index = Index::parse(written(&empty, &edits, true)).unwrap();
        assert!(index.bytes.len() > LARGE);
        let bytes = written(&index, &Edits::new(), false);
        let (content, hash) = bytes.split_at(bytes.len() - HASH);
        assert_eq!(hash, &*Sha1::digest(content));
    }

    #[test]
    fn young_entries_are_distrusted() {
        let entries: Entries = [("a", entry(1)), ("b", entry(2))].into();
        let mut index = Index::parse(written_by_gix(&entries, true)).unwrap();
        index.distrust_since(i64::from(entry(2).1.mtime.secs));
        let index = Index::parse(written(&index, &Edits::new(), false)).unwrap();
        let sizes: Vec<u32> =
            (0..2).map(|entry| number(&index.bytes, index.starts[entry] + SIZE).unwrap()).collect();
        assert_eq!(sizes, [100, 0]);
    }

    #[test]
    fn the_cache_of_trees_loses_the_changed_folders_and_no_other() {
        let id = [7; HASH];
        let folder = |name: &str, entries: i32, folders: u32| {
            let mut bytes = format!("{name}\0{entries} {folders}\n").into_bytes();
            bytes.extend_from_slice(if entries < 0 { &[] } else { &id });
            bytes
        };
        let cache =
            [folder("", 9, 2), folder("n", 6, 2), folder("R1", 3, 0), folder("R10", 3, 0), folder("o", 3, 0)];
        let edits: Edits<'_> = [("n/R1/x", None), ("z", None)].into();
        let changed = changed_tree(&cache.concat(), &edits).unwrap();
        let expected = [
            folder("", -1, 2),
            folder("n", -1, 2),
            folder("R1", -1, 0),
            folder("R10", 3, 0),
            folder("o", 3, 0),
        ];
        assert_eq!(changed.as_bstr(), expected.concat().as_bstr());
        assert_eq!(changed_tree(&cache[..4].concat(), &edits), None);
    }
}
