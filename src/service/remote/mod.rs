//! Runs the `git` program for fetching, pushing, cloning, remote configuration, signatures, and maintenance.
//!
//! gix cannot push, and users configure credentials, ssh aliases, proxies and rewritten addresses for git. Therefore,
//! the user's git handles everything that needs the network. The modules are `process` (running git), `place` (the
//! place of an investigation on a remote), `settings` (remotes in git's configuration), `transfer` (listing, fetching
//! and pushing), `objects` (local objects), `signature` (signed tags), `editor` (the user's editor and pager), and
//! `worktree` (a project and its work trees).
//!
//! # Guarantees
//!
//! - `--force`, `--mirror`, `--prune` and `--no-verify` are never used, and local references only move forward. A
//!   rewritten remote is detected but not followed. A fast-forward push itself acts as the compare-and-swap.
//! - A push counts only if the remote confirms it, reference by reference.
//! - Password prompts appear only if a person is present. A child that exceeds its time limit is ended with all its
//!   children.
//! - Data from a remote never starts a program: no hook runs on a fetch, no address runs a command, and no filter runs
//!   because a file names it.
//! - A repository cannot choose programs: neither those that sign and check signatures, nor filters, the editor or the
//!   pager. If its configuration names one that an exchange would start, the exchange is refused.
//! - Errors don't contain user names and passwords from addresses.
//! - Errors contain the remote's own words, without control characters or git's advice to force.
//!
//! # Limitations
//!
//! - Git commands that the user runs in a stranger's `.git` folder start what its configuration names. So do hooks of a
//!   remote that is a folder on this machine, which run as the user.
//! - There is no time limit if a person is at the terminal, because git may wait for a password. Ctrl-C ends
//!   everything.
//! - On systems without process groups (Windows), only git itself is ended at the time limit. Its children may remain.

mod editor;
mod objects;
mod place;
mod process;
mod settings;
mod signature;
mod transfer;
mod worktree;

use std::fmt;
use std::io;
use std::str::FromStr;

pub use objects::{KEPT, LocalReferences, SEEN, TextOrigin};
pub use place::{RemotePlace, is_address, shown_address, whole_address};
pub use process::{Deadline, GitProgram, LEAST_VERSION};
pub use settings::{Settings, Upstream};
pub use signature::{NewTag, Signature};
pub use transfer::{Advertised, Pushed};

use crate::store::CommitId;

/// An error from a remote or from git.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// git is missing, or can't be started.
    #[error("can't start the program git")]
    NoGit(#[source] io::Error),
    /// git is too old.
    #[error("git {found} is too old: {least} or later is needed", least = LEAST_VERSION)]
    TooOld {
        /// The version that git reports.
        found: String,
    },
    /// The address is invalid, or git could misinterpret it.
    #[error("`{address}` is not the address of a repository: {reason}")]
    Address {
        /// The rejected text.
        address: String,
        /// The problem.
        reason: &'static str,
    },
    /// The name is invalid for a remote or a branch.
    #[error("`{name}` can't be {what}")]
    Name {
        /// The rejected text.
        name: String,
        /// The purpose of the name.
        what: &'static str,
    },
    /// The remote already has another address.
    #[error("the remote {name} already exists, with the address {address}")]
    Taken {
        /// The name of the remote.
        name: String,
        /// The remote's current address, without a password.
        address: String,
    },
    /// The time limit was exceeded.
    #[error("{what} was stopped: it took longer than {seconds} s")]
    TimedOut {
        /// The action.
        what: String,
        /// The limit.
        seconds: u64,
    },
    /// The server shut down before the action finished.
    #[error("{what} was not finished before the server ended")]
    Ending {
        /// The action.
        what: String,
    },
    /// The output exceeded the limit.
    #[error("{what} printed too much output")]
    TooMuch {
        /// The action.
        what: String,
    },
    /// git or the remote refused the action.
    #[error("{what} failed: {said}")]
    Failed {
        /// The action.
        what: String,
        /// The messages from git and the remote.
        said: String,
    },
    /// A program would be started that only the configuration of the repository names.
    #[error("{folder} names a program that you have not chosen, in {named}; nothing was started")]
    StrangeProgram {
        /// The repository.
        folder: String,
        /// The key, or the path of a hook in the repository.
        named: String,
    },
    /// git printed unexpected output.
    #[error("{what} printed an unexpected answer: {answer}")]
    Unreadable {
        /// The action.
        what: String,
        /// The beginning of the output.
        answer: String,
    },
    /// A file or a process failed.
    #[error("cannot {action}")]
    Io {
        /// The action that failed.
        action: String,
        /// The cause.
        source: io::Error,
    },
}

impl RemoteError {
    /// Returns a hint for resolving the error, if there is one.
    pub fn hint(&self) -> Option<String> {
        let said = match self {
            RemoteError::NoGit(_) => return Some("Install git, or add it to PATH".to_owned()),
            RemoteError::TooOld { .. } => return Some("Install a newer version".to_owned()),
            RemoteError::Address { .. } => {
                return Some("An address is a URL, host:path or the path of a folder".to_owned());
            }
            RemoteError::Taken { name, .. } => {
                return Some(format!(
                    "Choose another name, or change that remote with `git remote set-url {name}`"
                ));
            }
            RemoteError::StrangeProgram { named, .. } => {
                return Some(match named.contains('/') {
                    true => {
                        "To run hooks, name their folder with `git config --global core.hooksPath FOLDER`; \
                             otherwise remove the file"
                            .to_owned()
                    }
                    false => format!(
                        "If you trust it, set the same value with `git config --global {named}`; otherwise remove it \
                         there with `git config --unset-all {named}`"
                    ),
                });
            }
            RemoteError::TimedOut { .. } => {
                return Some("Nothing changed here. Try again, or run `git fetch` there".to_owned());
            }
            RemoteError::Failed { said, .. } => said,
            _ => return None,
        };
        let advice = [
            (
                &["Authentication failed", "could not read Username", "unable to get password"][..],
                "Log in with a credential helper, or by running `git fetch` there",
            ),
            (
                &["Permission denied (publickey", "Host key verification failed"],
                "Check that `ssh` to that host works",
            ),
            (
                &["Could not resolve host", "Connection refused", "Connection timed out", "unreachable"],
                "Nothing changed here. Try again when the remote can be reached",
            ),
            (
                &["does not appear to be a git repository", "not found", "does not exist"],
                "Check the address; `tot remote` shows that of each investigation",
            ),
            (
                &["lazy fetching disabled", "promisor remote"],
                "That repository is incomplete itself: clone its source",
            ),
        ];
        let fits = |words: &&[&str]| words.iter().any(|word| said.contains(word));
        advice.iter().find(|(words, _)| fits(words)).map(|(_, advice)| (*advice).to_owned())
    }
}

pub(crate) type Result<T> = std::result::Result<T, RemoteError>;

/// An object id, as printed by git.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectName(String);

impl ObjectName {
    /// Returns the name as a commit id.
    pub fn commit(&self) -> Option<CommitId> {
        self.0.parse().ok()
    }
}

impl From<CommitId> for ObjectName {
    fn from(commit: CommitId) -> Self {
        ObjectName(commit.to_string())
    }
}

impl FromStr for ObjectName {
    type Err = ();

    fn from_str(text: &str) -> std::result::Result<Self, ()> {
        let is_id = [40, 64].contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_id.then(|| ObjectName(text.to_owned())).ok_or(())
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
