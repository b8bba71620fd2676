//! Sign-offs: people sign a commit of an investigation with git's own tags, which any git can check.
//!
//! 1. [`statement`] writes what is signed, and [`name`] says what the tag is called; `tot approve` has git sign it.
//! 2. [`read()`] gathers what the tags say, what git says of their signatures and what has changed since.
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

use std::path::Path;

pub use judge::{SignOff, SignOffs, State, judge};
pub use shown::SignOffView;
pub use statement::{Decision, Statement, name, open, statement};

use crate::remote::{GitProgram, RemoteError, Signature};
use crate::store::{Snapshot, Store, StoreError};

/// With what signatures are checked.
pub struct Checking<'a> {
    /// The user's git.
    pub git: &'a GitProgram,
    /// A file of allowed signers, in the place of the one in git's configuration.
    pub allowed_signers: Option<&'a Path>,
}

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

/// The sign-offs of an investigation, as they stand to that state. Without a way to check them none is found valid.
///
/// # Errors
///
/// References that can't be read, and a git that can't be started.
pub fn read(store: &Store, snapshot: &Snapshot, by: Option<&Checking<'_>>) -> Result<SignOffs, ReadError> {
    let found = store.sign_offs(snapshot)?;
    let mut signatures = Vec::new();
    for tag in &found.tags {
        let is_signed = tag.annotation.as_ref().is_ok_and(|annotation| annotation.is_signed);
        signatures.push(match by.filter(|_| is_signed) {
            Some(by) => by.git.signature(&snapshot.path, &tag.object, by.allowed_signers)?,
            None => Signature::Unchecked { why: "its signature was not checked".to_owned() },
        });
    }
    Ok(judge(&found, &signatures))
}
