//! Reads the tags by which people sign commits off. Their signatures are checked elsewhere.

use std::collections::BTreeMap;

use super::git::{Annotated, CommitId, Descent, Git};
use super::{Snapshot, Store, StoreError};
use crate::domain::{NodeId, Timestamp};
use crate::format::layout::{self, Place};

/// The prefixes of the tags: for approval and for rejection.
pub const SIGN_OFFS: [&str; 2] = ["approved/", "rejected/"];
/// The maximum number of tags read: checking each signature starts programs.
const MOST: usize = 200;

/// The sign-offs of an investigation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignOffTags {
    /// The tags, by name.
    pub tags: Vec<SignOffTag>,
    /// The number of tags beyond the limit.
    pub left_out: usize,
}

/// A tag by which somebody signs a commit off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignOffTag {
    /// Its name here, without `refs/tags/`.
    pub name: String,
    /// The id of its object.
    pub object: String,
    /// The commit that it leads to.
    pub commit: CommitId,
    /// The content of the object, or why it is not the annotated tag of a commit.
    pub annotation: Result<Annotation, String>,
    /// The commit's own time; absent where it can't be read.
    pub committed_at: Option<Timestamp>,
    /// The ids of the files of that commit that a sign-off refers to.
    pub files: SignedFiles,
    /// The changes between that commit and the state.
    pub since: Since,
}

/// The content of an annotated tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// The name in the tag object.
    pub name: String,
    /// The tagger, as the tag names them.
    pub tagger: String,
    /// The tagger's time.
    pub at: Timestamp,
    /// The signed part of its message: everything before the signature.
    pub message: String,
    /// Whether it has a signature.
    pub is_signed: bool,
}

/// The ids of the files that a sign-off refers to. They are git blob ids, so that any git can check them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignedFiles {
    /// The conclusion's; absent without one.
    pub conclusion: Option<String>,
    /// The ruleset's.
    pub ruleset: Option<String>,
}

/// The changes between the commit of a sign-off and a state of the investigation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Since {
    /// The commit is that state.
    Nothing,
    /// Later commits.
    Later {
        /// Their number, of all parents.
        commits: usize,
        /// The changed nodes.
        nodes: Vec<NodeId>,
        /// The other changed files.
        files: Vec<String>,
    },
    /// The state does not descend from that commit, as far as the history can be read.
    Elsewhere,
}

impl Store {
    /// The sign-off tags, each with its relation to that state.
    ///
    /// # Errors
    ///
    /// Any error of git for the references. An error of one tag is stored in that tag.
    pub fn sign_offs(&self, snapshot: &Snapshot) -> Result<SignOffTags, StoreError> {
        let git = self.open(&snapshot.path)?;
        let mut found = git.annotated(&SIGN_OFFS)?;
        found.sort_by(|one, other| one.name.cmp(&other.name));
        let left_out = found.len().saturating_sub(MOST);
        found.truncate(MOST);
        let mut known: BTreeMap<CommitId, Result<Signed, StoreError>> = BTreeMap::new();
        let tags = found.into_iter().map(|tag| {
            let signed = known.entry(tag.commit).or_insert_with(|| signed(&git, tag.commit, snapshot));
            read(tag, signed)
        });
        Ok(SignOffTags { tags: tags.collect(), left_out })
    }

    /// The ids of the files of a snapshot that a sign-off refers to.
    ///
    /// # Errors
    ///
    /// A merge or its like in progress, since it may leave the commit behind; and any error of git.
    pub fn files_to_sign(&self, snapshot: &Snapshot) -> Result<SignedFiles, StoreError> {
        let git = self.open(&snapshot.path)?;
        git.refuse_in_progress()?;
        signed_files(&git, snapshot.head)
    }
}

/// The facts about a commit that was signed off.
type Signed = (SignedFiles, Since, Option<Timestamp>);

fn signed(git: &Git, commit: CommitId, snapshot: &Snapshot) -> Result<Signed, StoreError> {
    let seconds = git.commit_info(commit)?.seconds;
    let at = Timestamp::from_milliseconds(seconds.saturating_mul(1_000));
    Ok((signed_files(git, commit)?, between(git, commit, snapshot)?, at))
}

fn signed_files(git: &Git, commit: CommitId) -> Result<SignedFiles, StoreError> {
    let mut signed = SignedFiles::default();
    for file in git.files(commit)? {
        match layout::place(&file.path) {
            Place::Conclusion => signed.conclusion = Some(file.blob.to_string()),
            Place::Ruleset => signed.ruleset = Some(file.blob.to_string()),
            _ => {}
        }
    }
    Ok(signed)
}

fn read(tag: Annotated, signed: &Result<Signed, StoreError>) -> SignOffTag {
    let annotation = tag.content.map(|content| Annotation {
        name: content.name,
        tagger: content.tagger,
        at: Timestamp::from_milliseconds(content.seconds.saturating_mul(1_000)).unwrap_or_default(),
        message: content.message,
        is_signed: content.is_signed,
    });
    let Annotated { name, object, commit, .. } = tag;
    match signed {
        Ok((files, since, committed_at)) => SignOffTag {
            name,
            object,
            commit,
            annotation,
            committed_at: *committed_at,
            files: files.clone(),
            since: since.clone(),
        },
        // A broken tag of another program must not hide the others.
        Err(_) => SignOffTag {
            name,
            object,
            commit,
            annotation: Err("its commit can't be read".to_owned()),
            committed_at: None,
            files: SignedFiles::default(),
            since: Since::Elsewhere,
        },
    }
}

fn between(git: &Git, commit: CommitId, snapshot: &Snapshot) -> Result<Since, StoreError> {
    if commit == snapshot.head {
        return Ok(Since::Nothing);
    }
    if git.descent(commit, snapshot.head)? != Descent::Yes {
        return Ok(Since::Elsewhere);
    }
    let (commits, _) = git.apart(snapshot.head, commit)?;
    let (mut nodes, mut files) = (Vec::new(), Vec::new());
    // The difference of the two states, not the happenings on the way: changes of a merge are in it, and reverted
    // changes are not.
    for change in git.diff(Some(commit), snapshot.head)? {
        match layout::place(&change.path) {
            Place::Node(id) => nodes.push(id),
            // It is generated from the others.
            Place::Other if change.path == layout::README => {}
            _ => files.push(change.path),
        }
    }
    nodes.sort();
    Ok(Since::Later { commits, nodes, files })
}
