//! The wall behind which the `git` program lives: fetch, push, clone, the configuration of remotes, signatures, and maintenance.
//!
//! gix has no push, and a user's credentials, ssh aliases, proxies and rewritten addresses are set up for git. So whatever
//! goes over the network is done by the user's own git, as a child process. One concern per file: `process` (how it is
//! run), `place` (what an investigation is called on a remote), `settings` (git's own configuration of remotes), `transfer`
//! (what is there, fetch, push), `objects` (what is here), `signature` (signed tags), `editor` (the user's editor and pager,
//! as git finds them), `worktree` (a project as it is, and further work trees of it).
//!
//! # Guarantees
//!
//! - Never `--force`, `--mirror`, `--prune` or `--no-verify`, and no reference of ours moves otherwise than forward: a
//!   remote that was rewritten is noticed, not followed. A push that goes forward is itself the compare-and-swap.
//! - A push is believed when the remote says so, reference by reference.
//! - Nobody is asked for a password where nobody is there, and no child outlives its time: it ends with all that it started.
//! - What came from a remote starts nothing: no hook runs when something is fetched, and no address runs a command.
//! - What signs and checks signatures, and whose keys are allowed, no repository decides.
//! - Errors have the remote's own words, without control characters and without git's advice to force.
//!
//! # Limits
//!
//! - The configuration of a repository is trusted as git trusts it: `core.sshCommand`, credential helpers, the hook
//!   `pre-push`. Whoever unpacks a stranger's `.git` folder trusts the stranger with any git command.
//! - Where a person is at the terminal there is no limit of time, since git may wait for a password; Ctrl-C ends it all.
//! - Without process groups (Windows) only git itself is ended after its time, and what it started may stay.

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

pub use objects::{Here, SEEN, TextPlace};
pub use place::{Place, is_address, shown_address, whole_address};
pub use process::{Deadline, GitProgram, LEAST_VERSION};
pub use settings::{Settings, Upstream};
pub use signature::{NewTag, Signature};
pub use transfer::{Advertised, Fetched, Pushed};

use crate::store::CommitId;

/// What could not be done with a remote.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// There is no git, or it can't be started.
    #[error("the program git can't be started")]
    NoGit(#[source] io::Error),
    /// A git that lacks what is used here.
    #[error("git is of version {found}, and {least} is needed", least = LEAST_VERSION)]
    TooOld {
        /// What it says of itself.
        found: String,
    },
    /// Not an address, or one that could mean something else to git.
    #[error("`{address}` is not the address of a repository: {reason}")]
    Address {
        /// What was given.
        address: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Not the name of a remote or of a branch.
    #[error("`{name}` can't be {what}")]
    Name {
        /// What was given.
        name: String,
        /// What it was to be.
        what: &'static str,
    },
    /// The remote has another address already.
    #[error("the remote {name} has the address {address} already")]
    Taken {
        /// The name.
        name: String,
        /// The address that it has, without a password.
        address: String,
    },
    /// It took too long.
    #[error("{what} took longer than {seconds} s and was ended")]
    TimedOut {
        /// What was done.
        what: String,
        /// How long it may take.
        seconds: u64,
    },
    /// Whoever wanted it ends.
    #[error("{what} was not done before the server ended")]
    Ending {
        /// What was done.
        what: String,
    },
    /// It printed more than is read.
    #[error("{what} gave more than is read")]
    TooMuch {
        /// What was done.
        what: String,
    },
    /// git, or the remote, says no.
    #[error("{what} failed: {said}")]
    Failed {
        /// What was done.
        what: String,
        /// In the words of git and of the remote.
        said: String,
    },
    /// git answered something that is not known.
    #[error("{what} gave an answer that can't be read: {answer}")]
    Unreadable {
        /// What was done.
        what: String,
        /// The beginning of the answer.
        answer: String,
    },
    /// A file or a process.
    #[error("cannot {action}")]
    Io {
        /// What was tried.
        action: String,
        /// Why.
        source: io::Error,
    },
}

impl RemoteError {
    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        let said = match self {
            RemoteError::NoGit(_) => return Some("Install git, or put it on the PATH".to_owned()),
            RemoteError::TooOld { .. } => return Some("Install a newer one".to_owned()),
            RemoteError::Address { .. } => {
                return Some("An address is a URL, host:path or the path of a folder".to_owned());
            }
            RemoteError::Taken { name, .. } => {
                return Some(format!("Choose another name, or change it with `git remote set-url {name}`"));
            }
            RemoteError::TimedOut { .. } => {
                return Some("Nothing here has changed: try it again, or try `git fetch` there".to_owned());
            }
            RemoteError::Failed { said, .. } => said,
            _ => return None,
        };
        let advice = [
            (
                &["Authentication failed", "could not read Username", "unable to get password"][..],
                "Log in with a credential helper, or with `git fetch` there by hand",
            ),
            (&["Permission denied (publickey", "Host key verification failed"], "Try `ssh` to that host"),
            (
                &["Could not resolve host", "Connection refused", "Connection timed out", "unreachable"],
                "Nothing here has changed: try it again when the remote can be reached",
            ),
            (
                &["does not appear to be a git repository", "not found", "does not exist"],
                "Look at the address with `tot remote`",
            ),
            (
                &["lazy fetching disabled", "promisor remote"],
                "That repository lacks objects itself: take it from where it came from",
            ),
        ];
        let fits = |words: &&[&str]| words.iter().any(|word| said.contains(word));
        advice.iter().find(|(words, _)| fits(words)).map(|(_, advice)| (*advice).to_owned())
    }
}

pub(crate) type Result<T> = std::result::Result<T, RemoteError>;

/// The id of any object, as git prints it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectName(String);

impl ObjectName {
    /// Returns the name as the id of a commit.
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
        let is_id = text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_id.then(|| ObjectName(text.to_owned())).ok_or(())
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
