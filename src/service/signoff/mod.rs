//! Sign-offs: people sign a commit of an investigation with signed git tags, which any git client can verify.
//!
//! 1. [`statement`] writes the text to sign, and [`tag_name`] creates the tag name. `tot approve` has git sign the tag.
//! 2. [`checked`] collects the tags, git's verdicts on their signatures, and the later changes.
//! 3. [`sign_offs()`] derives the state of each sign-off from these facts.
//!
//! # Guarantees
//!
//! - A sign-off is [`SignOffState::Valid`] only if git accepts its signature, the reader allows the key, and the tag
//!   has its signed name and covers the state shown.
//! - This program never signs on its own. A person signs with `tot approve` or `git tag -s`.

mod judge;
mod shown;
mod statement;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

pub use judge::{SignOff, SignOffState, SignOffs, sign_offs};
pub use shown::SignOffView;
pub use statement::{SignOffDecision, Statement, open_points, statement, tag_name};

use crate::service::remote::{GitProgram, Signature};
use crate::store::{SignOffTag, Snapshot, Store, StoreError};

/// Returns the sign-offs of an investigation without checking signatures, so none is [`SignOffState::Valid`].
///
/// # Errors
///
/// Returns an error if the references can't be read.
pub fn unchecked(store: &Store, snapshot: &Snapshot) -> Result<SignOffs, StoreError> {
    let found = store.sign_offs(snapshot)?;
    let signatures: Vec<Signature> = found.tags.iter().map(|_| not_checked()).collect();
    Ok(sign_offs(&found, &signatures))
}

/// The settings for checking signatures.
#[derive(Clone, Debug)]
pub struct Signers {
    /// The git program that checks signatures.
    pub git: GitProgram,
    /// A file of allowed signers that replaces the one in git's configuration.
    pub allowed: Option<PathBuf>,
}

/// Returns the sign-offs of an investigation, with signatures checked by git.
///
/// # Errors
///
/// Returns an error if the references can't be read. A signature that git can't check is [`Signature::Unchecked`].
pub fn checked(store: &Store, snapshot: &Snapshot, signers: &Signers) -> Result<SignOffs, StoreError> {
    // The allowed keys may have changed since the last check.
    let (git, allowed) = (signers.git.anew(), signers.allowed.as_deref());
    let found = store.sign_offs(snapshot)?;
    let is_signed = |tag: &&SignOffTag| tag.annotation.as_ref().is_ok_and(|annotation| annotation.is_signed);
    let repository = store.open(&snapshot.path)?;
    let signed = found.tags.iter().filter(is_signed).map(|tag| repository.tag_data(&tag.object));
    let mut signatures =
        git.signatures(&snapshot.path, &signed.collect::<Result<Vec<_>, _>>()?, allowed).into_iter();
    let of = |tag| Some(tag).filter(is_signed).and_then(|_| signatures.next()).unwrap_or_else(not_checked);
    let signatures: Vec<Signature> = found.tags.iter().map(of).collect();
    Ok(sign_offs(&found, &signatures))
}

/// Returns the sign-offs for a reader. git checks the signatures only if there are any, because that starts a process.
pub fn looked_up(store: &Store, snapshot: &Snapshot, is_person: bool) -> SignOffs {
    let found = unchecked(store, snapshot).unwrap_or_default();
    match GitProgram::find(is_person) {
        Ok(git) if !found.all.is_empty() => {
            checked(store, snapshot, &Signers { git, allowed: None }).unwrap_or(found)
        }
        _ => found,
    }
}

fn not_checked() -> Signature {
    Signature::Unchecked { why: "its signature was not checked".to_owned() }
}
