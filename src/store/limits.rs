//! Size limits for investigations.
//!
//! Guarantee: everything that was written can be read back. Reads are limited because a repository may come from a
//! stranger. Before each write, an upper bound on the new size is calculated, and a write that would exceed a limit is
//! refused. A small reserve ensures that a full investigation can still be concluded.

use std::collections::HashSet;
use std::path::Path;

use super::git::{CommitId, Git, MAX_CHANGES, MAX_ENTRIES, MAX_TREE_BYTES, Tree, TreeFile};
use super::{Snapshot, StoreError, StoreErrorKind, read};
use crate::format::FileChange;
use crate::format::layout::{self, FileRole};

/// An investigation's size, or a limit on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// The number of files and folders, including the user's own.
    pub entries: usize,
    /// The total size of folders and paths, in bytes.
    pub tree_bytes: usize,
    /// The total size of nodes, comments and runs, in bytes.
    pub text: u64,
    /// The total size of attachments, in bytes.
    pub attached: u64,
}

/// The maximum total size of attachments, in bytes.
const ATTACHED_MAX: u64 = 512 << 20;
/// The maximum total size, in bytes, of the files that are checked out from an incoming commit.
pub(super) const CHECKOUT_MAX: u64 = read::TEXT_MAX + ATTACHED_MAX;

impl Size {
    /// The read limits.
    pub(super) const MAX: Size = Size {
        entries: MAX_ENTRIES,
        tree_bytes: MAX_TREE_BYTES,
        text: read::TEXT_MAX,
        attached: ATTACHED_MAX,
    };

    /// Returns an upper bound on the size after writing these files. Each file that is not there counts as new, along
    /// with its parent folders.
    fn with(self, files: &[FileChange], is_there: impl Fn(&str) -> bool) -> Size {
        let written = files.iter().filter_map(|file| Some((&file.path, file.content.as_ref()?)));
        written.fold(self, |size, (path, content)| {
            let parts = if is_there(path) { 0 } else { path.split('/').count() };
            Size {
                entries: size.entries + parts,
                // Each entry has a name, a path during the walk, an id and a mode.
                tree_bytes: size.tree_bytes + parts * (2 * path.len() + 32),
                text: size.text + if is_counted(path) { content.len() as u64 } else { 0 },
                attached: size.attached + if is_attachment(path) { content.len() as u64 } else { 0 },
            }
        })
    }

    /// Returns the limits minus the reserve, for calls that write nodes or comments.
    fn without_reserve(self) -> Size {
        Size {
            entries: self.entries - self.entries / 100,
            tree_bytes: self.tree_bytes - self.tree_bytes / 100,
            text: self.text - self.text / 100,
            attached: self.attached,
        }
    }

    /// Returns a description of the exceeded limit, if any.
    fn exceeded(self, limits: Size) -> Option<String> {
        [
            (self.entries > limits.entries, format!("{} files and folders", limits.entries)),
            (
                self.tree_bytes > limits.tree_bytes,
                format!("{} bytes of folders and paths", limits.tree_bytes),
            ),
            (self.text > limits.text, format!("{} bytes of nodes, comments and runs", limits.text)),
            (self.attached > limits.attached, format!("{} bytes of attachments", limits.attached)),
        ]
        .into_iter()
        .find_map(|(exceeds, what)| exceeds.then_some(what))
    }
}

/// Returns the size of a new investigation with these files.
pub(super) fn of_new(path: &Path, files: &[FileChange]) -> Result<Size, StoreError> {
    refuse_files(path, files)?;
    Ok(Size::default().with(files, |_| false))
}

/// Returns an upper bound on the size after writing these files. Fails if it exceeds a read limit.
pub(super) fn after(
    git: &Git,
    before: &Snapshot,
    files: &[FileChange],
    max_size: Size,
) -> Result<Size, StoreError> {
    refuse_files(&before.path, files)?;
    let writes = |is_it: fn(&str) -> bool| files.iter().any(|it| it.content.is_some() && is_it(&it.path));
    let max_size = if writes(is_counted) { max_size.without_reserve() } else { max_size };
    // Manually committed attachments must not block a call that adds none.
    let max_size = if writes(is_attachment) { max_size } else { Size { attached: u64::MAX, ..max_size } };
    let after = before.size.with(files, |_| false);
    if after.exceeded(max_size).is_none() {
        return Ok(after);
    }
    // The estimate still counts replaced and removed files, so measure before refusing.
    let after = measure(git, before.head, files)?;
    match after.exceeded(max_size) {
        None => Ok(after),
        Some(limit) => Err(StoreError::full(&before.path, &limit)),
    }
}

fn refuse_files(path: &Path, files: &[FileChange]) -> Result<(), StoreError> {
    let is_too_long =
        |file: &FileChange| file.content.as_ref().is_some_and(|text| text.len() as u64 > read::FILE_MAX);
    let limit = if files.len() > MAX_CHANGES {
        format!("{MAX_CHANGES} files changed in one call")
    } else if files.iter().any(is_too_long) {
        format!("{} bytes in one file", read::FILE_MAX)
    } else {
        return Ok(());
    };
    Err(StoreError::full(path, &limit))
}

fn is_counted(path: &str) -> bool {
    matches!(layout::file_role(path), FileRole::Node(_) | FileRole::Comment(_) | FileRole::Run(_))
}

fn is_attachment(path: &str) -> bool {
    matches!(layout::file_role(path), FileRole::Attachment(..))
}

/// Measures the size at a commit, after writing these files.
fn measure(git: &Git, commit: CommitId, files: &[FileChange]) -> Result<Size, StoreError> {
    let Tree { files: there, entries, bytes } = git.tree(commit)?;
    let changed: HashSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let (replaced, kept): (Vec<_>, Vec<_>) = there.iter().partition(|it| changed.contains(it.path.as_str()));
    let replaced: HashSet<&str> = replaced.iter().map(|it| it.path.as_str()).collect();
    let sum = |is_it: fn(&str) -> bool| bytes_of(git, kept.iter().copied().filter(|it| is_it(&it.path)));
    let (text, attached) = (sum(is_counted), sum(is_attachment));
    let size = Size { entries, tree_bytes: bytes, text, attached };
    Ok(size.with(files, |path| replaced.contains(path)))
}

/// Fails if the total size of the commit's files exceeds the checkout limit.
pub(super) fn refuse_large(git: &Git, commit: CommitId) -> Result<(), StoreError> {
    // Files above the read limit are not checked out.
    let is_written = |file: &&TreeFile| git.size(file.blob).is_ok_and(|size| size <= read::FILE_MAX);
    let files = git.files(commit)?;
    let bytes = bytes_of(git, files.iter().filter(is_written));
    if bytes <= CHECKOUT_MAX {
        return Ok(());
    }
    let message = format!("the files of the commit {commit} have {bytes} bytes; the limit is {CHECKOUT_MAX}");
    Err(StoreError::new(StoreErrorKind::CheckoutTooLarge, message).hinting(format!(
        "`git ls-tree -r -l {commit}` shows the sizes; ask its author to remove the large files in a new commit"
    )))
}

fn bytes_of<'f>(git: &Git, files: impl Iterator<Item = &'f TreeFile>) -> u64 {
    // Missing objects count as empty because they can't be read.
    files.filter(|file| file.kind.is_plain()).map(|file| git.size(file.blob).unwrap_or(0)).sum()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::super::git::GitOptions;
    use super::super::{Draft, Durability, Store, StoreErrorKind};
    use super::*;
    use crate::decide::TEXT_MAX;
    use crate::domain::{Change, Conclusion, Meta, Node, NodeId, SessionId, Timestamp};
    use crate::format::StoredFile;
    use crate::ruleset::builtin;

    fn meta(query: &str) -> Meta {
        Meta {
            id: SessionId::new(1_767_603_600_000, [0; 10]),
            title: "A".into(),
            query: query.into(),
            context: Some(query.into()),
            ruleset: "drill".into(),
            mode: "smoke".into(),
            min_rounds: 1,
            min_roots: 1,
            allow_early_terminal: false,
            started_at: Timestamp::default(),
        }
    }

    #[test]
    fn the_longest_texts_of_any_kind_are_read_back() {
        for part in ["\u{7f}", "\u{85}", "\n", "a\n", "a", "- ", "*a ", "😀"] {
            let text = part.repeat(TEXT_MAX / part.len());
            let end = Conclusion { conclusion: Some(text.clone()), ..Conclusion::new(Timestamp::default()) };
            let file = end.write().unwrap();
            assert!(file.len() as u64 <= read::FILE_MAX, "{part:?}");
            assert!(Conclusion::read(&file).as_ref() == Ok(&end), "{part:?}");
        }
        let meta = meta(&"\u{7f}".repeat(TEXT_MAX));
        let file = meta.write().unwrap();
        assert!(file.len() as u64 <= read::FILE_MAX);
        assert!(Meta::read(&file).as_ref() == Ok(&meta));
    }

    /// Writes a file of this length for the node, or removes it.
    fn draft(id: &NodeId, length: Option<usize>) -> Draft {
        let node = Node {
            planned_action: "x".repeat(length.unwrap_or_default()),
            ..Node::new(id.clone(), None, "A", Timestamp::default())
        };
        let content = length.map(|_| node.write().unwrap());
        let change = match length {
            Some(_) => Change::Node(Arc::new(node)),
            None => Change::NodeRemoved(id.clone()),
        };
        Draft {
            files: vec![FileChange { path: layout::node(id), content: content.map(String::into_bytes) }],
            changes: vec![change],
            message: "Change".into(),
            at: Timestamp::default(),
        }
    }

    #[test]
    fn what_is_held_in_memory_is_bounded_by_its_bytes() {
        let folder = crate::testing::folder();
        let store =
            Store { max_cached_bytes: 10_000, ..Store::new(folder.path()).with_durability(Durability::Git) };
        for number in 0..8 {
            let meta = Meta { id: SessionId::new(1_767_603_600_000, [number; 10]), ..meta("Why?") };
            let path = store.create(meta, &builtin::all()[0], "Start").unwrap().path;
            let id: NodeId = "R1.A".parse().unwrap();
            store.transact(&path, |_| Ok::<_, StoreError>((vec![draft(&id, Some(2_300))], ()))).unwrap();
            let held = store.cached.lock().unwrap();
            assert_eq!(
                held.len(),
                usize::from(number + 1).min(4),
                "the last ones that have 10,000 bytes together"
            );
            assert_eq!(held[0].path, path);
        }
        // A snapshot above the cache limit is cached alone.
        let path = store.cached.lock().unwrap()[0].path.clone();
        let id: NodeId = "R1.B".parse().unwrap();
        store.transact(&path, |_| Ok::<_, StoreError>((vec![draft(&id, Some(20_000))], ()))).unwrap();
        assert_eq!(store.cached.lock().unwrap().len(), 1);
    }

    proptest! {
        #![proptest_config(crate::testing::sampled(12))]

        /// Uses low limits. Every other state is read by a new store.
        #[test]
        fn what_is_accepted_is_never_more_than_is_read(
            calls in prop::collection::vec((1..40_u32, prop::option::weighted(0.8, 1..2_000_usize)), 1..40)
        ) {
            let folder = crate::testing::folder();
            let max_size = Size { entries: 30, tree_bytes: 4_000, text: 12_000, attached: 0 };
            let store = || Store { max_size, ..Store::new(folder.path()).with_durability(Durability::Git) };
            let mut known = store();
            let path = known.create(meta("Why?"), &builtin::all()[0], "Start").unwrap().path;
            for (at, (number, length)) in calls.into_iter().enumerate() {
                if at % 5 == 0 {
                    known = store();
                }
                let id: NodeId = format!("R1.A{number}").parse().unwrap();
                let before = known.load(&path).unwrap();
                let done = known.transact(&path, |_| Ok::<_, StoreError>((vec![draft(&id, length)], ())));
                let git = Git::open(&path, GitOptions::ISOLATED).unwrap();
                match done {
                    Ok(done) => {
                        let size = measure(&git, done.after.head, &[]).unwrap();
                        prop_assert!(size.exceeded(max_size).is_none(), "{size:?}");
                        prop_assert!(size.exceeded(done.after.size).is_none(), "{size:?} {:?}", done.after.size);
                    }
                    Err(StoreError { kind: StoreErrorKind::Full, .. }) => {
                        prop_assert!(length.is_some(), "what removes a node is no more");
                        prop_assert_eq!(git.head().unwrap().commit, Some(before.head));
                    }
                    Err(error) => return Err(TestCaseError::fail(format!("{error:?}"))),
                }
            }
        }
    }
}
