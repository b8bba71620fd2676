//! Sync errors.

use std::path::PathBuf;
use std::sync::Arc;

use crate::domain::SessionId;
use crate::service::remote::RemoteError;
use crate::store::{Fault, LeftOut, StoreError, StoreErrorKind};

/// An error that prevented an investigation from being synced. Nothing is lost, and the local state is unchanged.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SyncError {
    /// The investigation has no remote.
    #[error("{path} has no remote for its branch {branch}")]
    NoRemote {
        /// The folder.
        path: PathBuf,
        /// The branch of HEAD.
        branch: String,
    },
    /// The remote does not have the investigation.
    #[error("{} has no investigation{}", crate::service::remote::shown_address(.address), of(.id))]
    NotThere {
        /// The address.
        address: String,
        /// The id or a part of it. Empty if the remote has no investigations at all.
        id: String,
    },
    /// The remote branch is named after another investigation.
    #[error("the branch {branch} on {remote} is named after another investigation; this one is {id}")]
    AnotherBranch {
        /// The name of the remote.
        remote: String,
        /// The branch on the remote.
        branch: String,
        /// The id of the local investigation.
        id: SessionId,
    },
    /// A branch contains a different investigation than its name indicates.
    #[error("the branch {branch} contains another investigation, {id}")]
    Misnamed {
        /// The branch on the remote.
        branch: String,
        /// The id of the investigation in the branch.
        id: SessionId,
    },
    /// HEAD is on another branch than the investigation's own, which alone is shared.
    #[error("{path} is on the branch {branch}, which is not synced{}", only(.own))]
    NotOwnBranch {
        /// The folder.
        path: PathBuf,
        /// The branch of HEAD.
        branch: String,
        /// The branch that is synced, if it is certain.
        own: Option<String>,
    },
    /// The remote's current history lacks earlier commits.
    #[error("{remote} was rewritten: {missing}. Nothing changed here")]
    Rewritten {
        /// The name of the remote.
        remote: String,
        /// The missing commits, and the local branch that keeps the new commits.
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
    /// Others pushed first at every attempt.
    #[error("gave up after {tries} attempts: others keep pushing to {remote}")]
    LostRaces {
        /// The name of the remote.
        remote: String,
        /// The number of attempts.
        tries: u32,
    },
    /// A push would contain a likely credential.
    #[error("not pushed: {} to contain {}", seems(.tags), .places.join(", "))]
    SecretSuspected {
        /// The location of each likely credential: node, file and line.
        places: Vec<String>,
        /// The tags that contain the credential. Empty if the branch contains it.
        tags: Vec<String>,
    },
    /// A push would contain unreadable files.
    #[error("not pushed: it can't be read: {}", .faults.join("; "))]
    Unreadable {
        /// The file, line and reason for each unreadable file.
        faults: Vec<String>,
    },
    /// A push would contain files that are left out of work trees.
    #[error("not pushed: a clone would not get {}", .files.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Unfit {
        /// The files, each with the reason.
        files: Vec<LeftOut>,
    },
    /// Another investigation has the same id.
    #[error("{path} already has the id {id}, with another history")]
    AlreadyHere {
        /// The folder of the other investigation.
        path: PathBuf,
        /// The id.
        id: SessionId,
    },
    /// A git or network error.
    #[error("{0}")]
    Remote(Arc<RemoteError>),
    /// Both sides changed a file that only a person can merge.
    #[error("{}\n  changed here:\n{here}\n  changed there:\n{there}", crate::text::causes(&**.error))]
    BothChanged {
        /// The error that names the files.
        error: Arc<StoreError>,
        /// The local changes since the common ancestor, as shown by git.
        here: String,
        /// The remote changes since the common ancestor, as shown by git.
        there: String,
    },
    /// The fetched commits can't be merged, or the investigation is unreadable.
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

fn only(own: &Option<String>) -> String {
    own.as_ref().map_or_else(String::new, |own| format!(": its own branch is {own}"))
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
    /// Returns the error code, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            SyncError::NoRemote { .. } => "NO_REMOTE",
            SyncError::NotThere { .. } => "NOT_THERE",
            SyncError::AnotherBranch { .. } | SyncError::Misnamed { .. } => "ANOTHER_BRANCH",
            SyncError::NotOwnBranch { .. } => "NOT_OWN_BRANCH",
            SyncError::Store(error) if error.kind == StoreErrorKind::Detached => "DETACHED_HEAD",
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

    /// Returns a hint for resolving the error, if there is one.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            SyncError::NoRemote { .. } => "Add one with `tot remote add origin URL`".to_owned(),
            SyncError::NotThere { .. } => "List its branches with `git ls-remote`".to_owned(),
            SyncError::AnotherBranch { remote, .. } => {
                format!("Nothing changed. `tot remote add {remote} URL` switches back to its own branch")
            }
            SyncError::Misnamed { .. } => {
                "Nothing was fetched. Ask its author to push it under its own id".to_owned()
            }
            SyncError::NotOwnBranch { branch, own: Some(own), .. } => format!(
                "Nothing was sent. `git switch {own}` goes back to its own branch, and `git merge {branch}` there adds \
                 the commits of {branch}"
            ),
            SyncError::NotOwnBranch { .. } => {
                "Nothing was sent. On its own branch, `git branch -m main` makes it known".to_owned()
            }
            SyncError::Rewritten { .. } => {
                "Find out who rewrote it and why. `tot sync --rejoin` merges both sides"
                    .to_owned()
            }
            SyncError::Refused { .. } => {
                "Local work can continue; the next `tot sync` tries again".to_owned()
            }
            SyncError::LostRaces { .. } => "Try again".to_owned(),
            SyncError::SecretSuspected { tags, .. } => {
                let delete = match tags.as_slice() {
                    [] => String::new(),
                    tags => format!(" `git tag -d {}` deletes tags that should not be shared.", tags.join(" ")),
                };
                format!(
                    "Everyone who can read the remote could read it, even after it is removed.{delete} If it is not a \
                     secret, push it with `tot sync --allow-secrets`"
                )
            }
            SyncError::Unreadable { faults } if faults.iter().all(|it| it.ends_with(Fault::CONFLICT)) => return None,
            SyncError::Unreadable { .. } => "Fix the file and commit it; `tot check` has details".to_owned(),
            SyncError::Unfit { .. } => {
                "Remove it with `git rm --cached` and commit that. It may stay in the history and in your folder".to_owned()
            }
            SyncError::AlreadyHere { .. } => {
                "Nothing changed. Import it into another folder with --root".to_owned()
            }
            SyncError::Remote(error) => return error.hint(),
            SyncError::BothChanged { error, .. } | SyncError::Store(error) => return error.hint(),
        })
    }
}
