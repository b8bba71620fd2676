//! Sign-offs: people sign a commit of an investigation with git's own tags, which any git can check.
//!
//! 1. [`statement`] writes what is signed, and [`name`] says what the tag is called; `tot approve` has git sign it.
//! 2. [`checked`] gathers what the tags say, what git says of their signatures and what has changed since.
//! 3. [`judge()`] makes of these facts what each sign-off is worth.
//!
//! # Guarantees
//!
//! - A sign-off is [`State::Valid`] only where git has called its signature good, by a key that whoever asks allows, and
//!   its tag stands as it was signed, on the very commit that is shown.
//! - Nothing here signs: a person does, by `tot approve` or by `git tag -s`, and no server.

mod judge;
mod shown;
mod statement;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

pub use judge::{SignOff, SignOffs, State, judge};
pub use shown::SignOffView;
pub use statement::{Decision, Statement, name, open, statement};

use crate::remote::{GitProgram, RemoteError, Signature};
use crate::store::{Snapshot, Store, StoreError};

/// Why sign-offs could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The tags.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// git.
    #[error(transparent)]
    Git(#[from] RemoteError),
}

/// The sign-offs of an investigation, as they stand to that state; none is valid, since none is checked.
///
/// # Errors
///
/// References that can't be read.
pub fn unchecked(store: &Store, snapshot: &Snapshot) -> Result<SignOffs, StoreError> {
    let found = store.sign_offs(snapshot)?;
    let signatures: Vec<Signature> = found.tags.iter().map(|_| not_checked()).collect();
    Ok(judge(&found, &signatures))
}

/// With what signatures are checked.
#[derive(Clone, Debug)]
pub struct Signers {
    /// The program that checks them.
    pub git: GitProgram,
    /// A file of allowed signers, in the place of the one in git's configuration.
    pub allowed: Option<PathBuf>,
}

/// The sign-offs of an investigation, with their signatures checked by git.
///
/// # Errors
///
/// References that can't be read, and a git that can't be started.
pub fn checked(store: &Store, snapshot: &Snapshot, signers: &Signers) -> Result<SignOffs, ReadError> {
    // Whose keys are allowed may have changed since the last time.
    let (git, allowed) = (signers.git.anew(), &signers.allowed);
    let found = store.sign_offs(snapshot)?;
    let mut signatures = Vec::new();
    for tag in &found.tags {
        let is_signed = tag.annotation.as_ref().is_ok_and(|annotation| annotation.is_signed);
        signatures.push(match is_signed {
            true => git.signature(&snapshot.path, &tag.object, allowed.as_deref())?,
            false => not_checked(),
        });
    }
    Ok(judge(&found, &signatures))
}

fn not_checked() -> Signature {
    Signature::Unchecked { why: "its signature was not checked".to_owned() }
}
