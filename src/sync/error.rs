//! Errors that need a person.

use std::path::PathBuf;
use std::sync::Arc;

use crate::domain::SessionId;
use crate::remote::RemoteError;
use crate::store::{LeftOut, StoreError};

/// Why an investigation could not be synced. Nothing is lost, and the local state is unchanged.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SyncError {
    /// It has no remote.
    #[error("{path} has no remote for its branch {branch}")]
    NoRemote {
        /// The folder.
        path: PathBuf,
        /// The branch that HEAD is on.
        branch: String,
    },
    /// The remote has no such investigation.
    #[error("{} has no investigation{}", crate::remote::shown_address(.address), of(.id))]
    NotThere {
        /// The address.
        address: String,
        /// The id, or a part of one; empty if there is none at all.
        id: String,
    },
    /// The remote branch has the name of another investigation.
    #[error("{branch} on {remote} is named after another investigation, and this one is {id}")]
    AnotherBranch {
        /// The name of the remote.
        remote: String,
        /// The branch on the remote.
        branch: String,
        /// The id of the local investigation.
        id: SessionId,
    },
    /// A branch contains another investigation than its name says.
    #[error("the branch {branch} holds the investigation {id}, which has another name")]
    Misnamed {
        /// The branch on the remote.
        branch: String,
        /// The id of its investigation.
        id: SessionId,
    },
    /// HEAD is on no branch.
    #[error("HEAD of {path} is on no branch")]
    Detached {
        /// The folder.
        path: PathBuf,
    },
    /// The remote's earlier commits are missing from its present ones.
    #[error("{remote} was rewritten: {missing}. Nothing here was moved")]
    Rewritten {
        /// The name of the remote.
        remote: String,
        /// The missing commits, and the local branch that keeps the new ones.
        missing: String,
    },
    /// The remote refused the push.
    #[error("{remote} did not accept the push: {said}")]
    Refused {
        /// The name of the remote.
        remote: String,
        /// The remote's own message.
        said: String,
    },
    /// Others were faster at each attempt.
    #[error("others pushed to {remote} in between, {tries} times")]
    LostRaces {
        /// The name of the remote.
        remote: String,
        /// The number of attempts.
        tries: u32,
    },
    /// A push would contain what looks like a credential.
    #[error("not pushed, since {} to hold {}", seems(.tags), .places.join(", "))]
    SecretSuspected {
        /// The places: node, file and line.
        places: Vec<String>,
        /// The tags that contain it; empty if the branch does.
        tags: Vec<String>,
    },
    /// A push would contain unreadable files.
    #[error("not pushed, since it can't be read: {}", .faults.join("; "))]
    Unreadable {
        /// File, line and reason.
        faults: Vec<String>,
        /// Whether some of them have conflict markers.
        is_marked: bool,
    },
    /// A push would contain files that are left out of work trees.
    #[error("not pushed, since no clone would get {}", .files.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Unfit {
        /// The files, and why.
        files: Vec<LeftOut>,
    },
    /// Another investigation has the id.
    #[error("{path} has the id {id} already, and not this history")]
    AlreadyHere {
        /// Its folder.
        path: PathBuf,
        /// The id.
        id: SessionId,
    },
    /// An error of git or of the network.
    #[error("{0}")]
    Remote(Arc<RemoteError>),
    /// Both sides have changed a file that only a person can merge.
    #[error("{}\n  what was changed here:\n{here}\n  what was changed there:\n{there}", crate::text::causes(&**.error))]
    BothChanged {
        /// The error that names the files.
        error: Arc<StoreError>,
        /// The difference from the common ancestor to ours, as git shows it.
        here: String,
        /// The difference from the common ancestor to theirs.
        there: String,
    },
    /// The fetched commits can't be joined, or the investigation is unreadable.
    #[error("{}", crate::text::causes(&**.0))]
    Store(Arc<StoreError>),
}

fn seems(tags: &[String]) -> String {
    match tags {
        [] => "it seems".to_owned(),
        [tag] => format!("the tag {tag} seems"),
        several => format!("the tags {} seem", several.join(", ")),
    }
}

fn of(id: &str) -> String {
    if id.is_empty() { String::new() } else { format!(" {id}") }
}

impl From<RemoteError> for SyncError {
    fn from(error: RemoteError) -> Self {
        SyncError::Remote(Arc::new(error))
    }
}

impl From<StoreError> for SyncError {
    fn from(error: StoreError) -> Self {
        SyncError::Store(Arc::new(error))
    }
}

impl SyncError {
    /// The code of the error, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            SyncError::NoRemote { .. } => "NO_REMOTE",
            SyncError::NotThere { .. } => "NOT_THERE",
            SyncError::AnotherBranch { .. } | SyncError::Misnamed { .. } => "ANOTHER_BRANCH",
            SyncError::Detached { .. } => "DETACHED_HEAD",
            SyncError::Rewritten { .. } => "REMOTE_REWRITTEN",
            SyncError::Refused { .. } => "PUSH_REFUSED",
            SyncError::LostRaces { .. } => "LOST_RACES",
            SyncError::SecretSuspected { .. } => "SECRET_SUSPECTED",
            SyncError::Unreadable { .. } => "UNREADABLE",
            SyncError::Unfit { .. } => "UNFIT",
            SyncError::AlreadyHere { .. } => "ALREADY_HERE",
            SyncError::Remote(_) => "REMOTE_FAILED",
            SyncError::BothChanged { .. } | SyncError::Store(_) => "NOT_JOINED",
        }
    }

    /// Returns the hint, if there is one.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            SyncError::NoRemote { .. } => "Add one with `tot remote add origin URL`".to_owned(),
            SyncError::NotThere { .. } => "`git ls-remote` there lists its branches".to_owned(),
            SyncError::AnotherBranch { remote, .. } => {
                format!("Nothing was moved. `tot remote add {remote} URL` goes back to the branch of its own name")
            }
            SyncError::Misnamed { .. } => {
                "Nothing was taken from it. Ask who pushed it to push it under its own name".to_owned()
            }
            SyncError::Detached { .. } => "Go back to its branch with `git switch main`".to_owned(),
            SyncError::Rewritten { .. } => {
                "Find out who did it and why. `tot sync --rejoin` joins what is there with what is here"
                    .to_owned()
            }
            SyncError::Refused { .. } => {
                "Work goes on here, and the next `tot sync` tries it again".to_owned()
            }
            SyncError::LostRaces { .. } => "Try it again".to_owned(),
            SyncError::SecretSuspected { tags, .. } => {
                let delete = match tags.as_slice() {
                    [] => String::new(),
                    tags => format!(" `git tag -d {}` deletes what should not go there.", tags.join(" ")),
                };
                format!(
                    "Whoever can read the remote can read it, also after it was removed.{delete} \
                     If it is not a credential, or may be known, `tot sync --allow-secrets` pushes it"
                )
            }
            SyncError::Unreadable { is_marked: true, .. } => {
                "`tot merge --resolve` merges both sides of the conflict markers by node".to_owned()
            }
            SyncError::Unreadable { .. } => "Mend the file and commit it; `tot check` tells more".to_owned(),
            SyncError::Unfit { .. } => {
                "Take it out with `git rm --cached` and commit that. It may stay in the history and in your folder".to_owned()
            }
            SyncError::AlreadyHere { .. } => {
                "Nothing was moved. Import it into another folder with --root; a JSON file can become another \
                 investigation with --as-new"
                    .to_owned()
            }
            SyncError::Remote(error) => return error.hint(),
            SyncError::BothChanged { error, .. } | SyncError::Store(error) => return error.hint(),
        })
    }
}
