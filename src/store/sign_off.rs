//! Reads sign-off tags. Their signatures are checked elsewhere.

use schemars::JsonSchema;
use serde::Serialize;

pub use super::git::Annotation;
use super::git::{CommitId, Descent, Git, TagInfo};
use super::{Snapshot, Store, StoreError, read};
use crate::domain::{NodeId, Timestamp};
use crate::format::layout::{self, FileRole};

/// The tag prefixes for approvals and rejections.
pub const SIGN_OFFS: [&str; 2] = ["approved/", "rejected/"];
/// The maximum number of tags to read. Tags are limited because checking each signature starts a process.
const MAX_TAGS: usize = 200;

/// An investigation's sign-offs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignOffTags {
    /// The tags, sorted by name.
    pub tags: Vec<SignOffTag>,
    /// The number of tags omitted because of the limit.
    pub left_out: usize,
}

/// A tag that signs off a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignOffTag {
    /// The tag's name without `refs/tags/`.
    pub name: String,
    /// The id of the tag object.
    pub object: String,
    /// The commit that the tag points to.
    pub commit: CommitId,
    /// The content of the tag object, or the reason why the tag is not an annotated tag on a commit.
    pub annotation: Result<Annotation, String>,
    /// The time of the tagged commit, if readable.
    pub committed_at: Option<Timestamp>,
    /// The blob ids of the signed files at the tagged commit.
    pub files: SignedFiles,
    /// The changes since the tagged commit.
    pub since: Since,
}

/// The git blob ids of the files that a sign-off covers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignedFiles {
    /// The conclusion, if there is one.
    pub conclusion: Option<String>,
    /// The ruleset, if there is one.
    pub ruleset: Option<String>,
}

/// The changes between a signed commit and a state of the investigation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Since {
    /// The signed commit is the current state.
    Nothing,
    /// The signed commit is an ancestor of the current state.
    Later {
        /// The number of commits since the signed commit, along all parents.
        commits: usize,
        /// The changed nodes.
        nodes: Vec<NodeId>,
        /// The changed files that are not nodes.
        files: Vec<String>,
    },
    /// According to the readable history, the signed commit is not an ancestor of the current state.
    Elsewhere,
}

impl Store {
    /// Returns the sign-off tags, compared with the snapshot.
    ///
    /// # Errors
    ///
    /// Returns an error if git cannot list the references. An error in one tag is stored with that tag.
    pub fn sign_offs(&self, snapshot: &Snapshot) -> Result<SignOffTags, StoreError> {
        let git = self.open(&snapshot.path)?;
        let found = git.tags_under(&SIGN_OFFS)?;
        let left_out = found.len().saturating_sub(MAX_TAGS);
        let tags = found.into_iter().take(MAX_TAGS).map(|tag| read(&git, tag, snapshot));
        Ok(SignOffTags { tags: tags.collect(), left_out })
    }

    /// Returns the blob ids of the files that signing off the snapshot would cover.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails, or if a merge or similar operation is in progress, because that operation may
    /// abandon the commit.
    pub fn files_to_sign(&self, snapshot: &Snapshot) -> Result<SignedFiles, StoreError> {
        let git = self.open(&snapshot.path)?;
        git.refuse_in_progress()?;
        signed_files(&git, snapshot.head)
    }
}

fn signed_files(git: &Git, commit: CommitId) -> Result<SignedFiles, StoreError> {
    let mut signed = SignedFiles::default();
    for file in git.files(commit)? {
        match layout::file_role(&file.path) {
            FileRole::Conclusion if !read::is_open(git, &file) => {
                signed.conclusion = Some(file.blob.to_string())
            }
            FileRole::Ruleset => signed.ruleset = Some(file.blob.to_string()),
            _ => {}
        }
    }
    Ok(signed)
}

fn read(git: &Git, tag: TagInfo, snapshot: &Snapshot) -> SignOffTag {
    let TagInfo { name, object, commit, annotation } = tag;
    let facts = || -> Result<_, StoreError> {
        let committed_at = git.commit_info(commit)?.at();
        Ok((committed_at, signed_files(git, commit)?, between(git, commit, snapshot)?))
    };
    let (annotation, (committed_at, files, since)) = match facts() {
        Ok(facts) => (annotation, facts),
        // A broken tag must not hide the others.
        Err(_) => {
            let unreadable = Err("its commit can't be read".to_owned());
            (unreadable, (None, SignedFiles::default(), Since::Elsewhere))
        }
    };
    SignOffTag { name, object, commit, annotation, committed_at, files, since }
}

fn between(git: &Git, commit: CommitId, snapshot: &Snapshot) -> Result<Since, StoreError> {
    if commit == snapshot.head {
        return Ok(Since::Nothing);
    }
    if git.descent(commit, snapshot.head)? != Descent::Yes {
        return Ok(Since::Elsewhere);
    }
    let commits = git.count_beyond(Some(commit), snapshot.head)?;
    let (mut nodes, mut files) = (Vec::new(), Vec::new());
    // Compare the two states instead of the history between them. This includes changes made by merges and excludes
    // reverted changes.
    for change in git.diff(Some(commit), snapshot.head)? {
        match layout::file_role(&change.path) {
            FileRole::Node(id) => nodes.push(id),
            // Generated from the other files.
            FileRole::Other if change.path == layout::README => {}
            _ => files.push(change.path),
        }
    }
    nodes.sort();
    Ok(Since::Later { commits, nodes, files })
}
