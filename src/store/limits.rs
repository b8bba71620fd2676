//! How large an investigation may be.
//!
//! Guarantee: what a writer has written, the next start reads. A reader takes so much and no more, since a repository may
//! come from strangers; a writer counts as the reader does, on the safe side, and refuses before that. A last part of the
//! room is kept for the end: a full investigation can be ended.

use std::path::Path;

use super::git::{CommitId, Git, MAX_CHANGES, MAX_ENTRIES, MAX_TREE_BYTES, Tree};
use super::{Snapshot, StoreError, read};
use crate::format::FileChange;
use crate::format::layout::{self, Place};

/// How much there is of what a reader takes only so much of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Files and folders, also those that are the user's own.
    pub entries: usize,
    /// Bytes of folders and paths.
    pub tree_bytes: usize,
    /// Bytes of the files of nodes and comments.
    pub text: u64,
}

impl Size {
    /// The most that is read.
    pub(super) const MOST: Size =
        Size { entries: MAX_ENTRIES, tree_bytes: MAX_TREE_BYTES, text: read::TEXT_MAX };

    /// The size with these files written, at most: as if each were new, with all folders above it.
    fn with(self, files: &[FileChange]) -> Size {
        let written = files.iter().filter_map(|file| Some((&file.path, file.content.as_ref()?)));
        written.fold(self, |size, (path, content)| {
            let parts = path.split('/').count();
            Size {
                entries: size.entries + parts,
                // An entry is its name, its path in the walk, an id and a mode.
                tree_bytes: size.tree_bytes + parts * (2 * path.len() + 32),
                text: size.text + if is_counted(path) { content.len() as u64 } else { 0 },
            }
        })
    }

    /// What is left for calls that write nodes or comments.
    fn without_the_last_part(self) -> Size {
        Size {
            entries: self.entries - self.entries / 100,
            tree_bytes: self.tree_bytes - self.tree_bytes / 100,
            text: self.text - self.text / 100,
        }
    }

    /// Which limit is exceeded.
    fn beyond(self, most: Size) -> Option<String> {
        [
            (self.entries > most.entries, format!("{} files and folders", most.entries)),
            (self.tree_bytes > most.tree_bytes, format!("{} bytes of folders and paths", most.tree_bytes)),
            (self.text > most.text, format!("{} bytes of nodes and comments", most.text)),
        ]
        .into_iter()
        .find_map(|(exceeds, what)| exceeds.then_some(what))
    }
}

/// The size of a new investigation of these files; refused where not all of it would be read.
pub(super) fn of_new(path: &Path, files: &[FileChange]) -> Result<Size, StoreError> {
    refuse_files(path, files)?;
    Ok(Size::default().with(files))
}

/// The size once these files are written, at most; refused where not all of it would be read.
pub(super) fn after(
    git: &Git,
    before: &Snapshot,
    files: &[FileChange],
    most: Size,
) -> Result<Size, StoreError> {
    refuse_files(&before.path, files)?;
    let writes_more = files.iter().any(|file| file.content.is_some() && is_counted(&file.path));
    let most = if writes_more { most.without_the_last_part() } else { most };
    let after = before.size.with(files);
    if after.beyond(most).is_none() {
        return Ok(after);
    }
    // What was replaced or removed may be counted still.
    let after = measure(git, before.head)?.with(files);
    match after.beyond(most) {
        None => Ok(after),
        Some(limit) => Err(StoreError::Full { path: before.path.clone(), limit }),
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
    Err(StoreError::Full { path: path.to_owned(), limit })
}

fn is_counted(path: &str) -> bool {
    matches!(layout::place(path), Place::Node(_) | Place::Comment(_))
}

/// The size at a commit.
fn measure(git: &Git, commit: CommitId) -> Result<Size, StoreError> {
    let Tree { files, entries, bytes } = git.tree(commit)?;
    let mut text = 0;
    for file in files.iter().filter(|file| is_counted(&file.path) && file.is_plain()) {
        // One that is not there isn't read either.
        text += git.size(file.blob).unwrap_or(0);
    }
    Ok(Size { entries, tree_bytes: bytes, text })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::super::git::Options;
    use super::super::{Draft, Durability, Store};
    use super::*;
    use crate::decide::TEXT_MAX;
    use crate::domain::{Change, Conclusion, Meta, Node, NodeId, SessionId, Timestamp};
    use crate::format::{conclusion_file, meta_file, node_file};
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
            let file = conclusion_file::write(&end).unwrap();
            assert!(file.len() as u64 <= read::FILE_MAX, "{part:?}");
            assert!(conclusion_file::read(&file).as_ref() == Ok(&end), "{part:?}");
        }
        let meta = meta(&"\u{7f}".repeat(TEXT_MAX));
        let file = meta_file::write(&meta).unwrap();
        assert!(file.len() as u64 <= read::FILE_MAX);
        assert!(meta_file::read(&file).as_ref() == Ok(&meta));
    }

    /// What a call does to a node's file: writes so many bytes, or removes it.
    fn draft(id: &NodeId, length: Option<usize>) -> Draft {
        let node = Node {
            planned_action: "x".repeat(length.unwrap_or_default()),
            ..Node::new(id.clone(), None, "A", Timestamp::default())
        };
        let content = length.map(|_| node_file::write(&node).unwrap());
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

    proptest! {
        #![proptest_config(crate::testing::sampled(12))]

        /// With limits that are soon met. Every other state is read by a store that knows nothing yet.
        #[test]
        fn what_is_accepted_is_never_more_than_is_read(
            calls in prop::collection::vec((1..40_u32, prop::option::weighted(0.8, 1..2_000_usize)), 1..40)
        ) {
            let folder = crate::testing::folder();
            let most = Size { entries: 30, tree_bytes: 4_000, text: 12_000 };
            let store = || Store { most, ..Store::new(folder.path()).with_durability(Durability::Git) };
            let mut known = store();
            let path = known.create(meta("Why?"), &builtin::all()[0], "Start").unwrap().path;
            for (at, (number, length)) in calls.into_iter().enumerate() {
                if at % 5 == 0 {
                    known = store();
                }
                let id: NodeId = format!("R1.A{number}").parse().unwrap();
                let before = known.load(&path).unwrap();
                let done = known.transact(&path, |_| Ok::<_, StoreError>((vec![draft(&id, length)], ())));
                let git = Git::open(&path, Options::ISOLATED).unwrap();
                match done {
                    Ok(done) => {
                        let size = measure(&git, done.after.head).unwrap();
                        prop_assert!(size.beyond(most).is_none(), "{size:?}");
                        prop_assert!(size.beyond(done.after.size).is_none(), "{size:?} {:?}", done.after.size);
                    }
                    Err(StoreError::Full { .. }) => {
                        prop_assert!(length.is_some(), "what removes a node is no more");
                        prop_assert_eq!(git.head().unwrap().commit, Some(before.head));
                    }
                    Err(error) => return Err(TestCaseError::fail(format!("{error:?}"))),
                }
            }
        }
    }
}
