//! What a sign-off is worth.

use std::fmt;

use serde::Serialize;

use super::statement::{Decision, Statement};
use crate::domain::Timestamp;
use crate::remote::Signature;
use crate::store::{CommitId, SignOffTag, SignOffTags, SignedFiles, Since};

/// The sign-offs of an investigation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignOffs {
    /// The newest first, as far as their times are true.
    pub all: Vec<SignOff>,
    /// How many more there are, which nobody looked at.
    pub left_out: usize,
}

/// A sign-off, and what it is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignOff {
    /// The tag.
    pub tag: String,
    /// What was decided.
    pub decision: Decision,
    /// The commit that it covers.
    pub commit: CommitId,
    /// What it is worth.
    pub state: State,
    /// Why, where it is neither valid nor stale nor unsigned.
    pub reason: Option<String>,
    /// Whose the key is that signed it; known only where it was checked.
    pub signer: Option<String>,
    /// The tagger, as the tag names them.
    pub tagger: Option<String>,
    /// When, as they say.
    pub at: Option<Timestamp>,
    /// What its message says; absent where that is not in the form of `tot approve`.
    pub statement: Option<Statement>,
    /// What lies between its commit and the state that is shown.
    pub since: Since,
}

/// What a sign-off is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Its signature is good, and it covers the state that is shown.
    Valid,
    /// Its signature is good, and it covers an earlier state.
    Stale,
    /// Nobody signed it: anybody can have made it.
    Unsigned,
    /// Its signature was not checked, or there is nothing to check it with.
    Unchecked,
    /// It does not hold.
    Invalid,
}

impl State {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            State::Valid => "valid",
            State::Stale => "stale",
            State::Unsigned => "unsigned",
            State::Unchecked => "unchecked",
            State::Invalid => "invalid",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl SignOffs {
    /// Whether the state that is shown is approved: somebody did so validly, nobody validly rejected it, and none is
    /// invalid or unread.
    pub fn are_an_approval(&self) -> bool {
        let has = |decision| self.all.iter().any(|it| it.state == State::Valid && it.decision == decision);
        let is_sound = self.left_out == 0 && self.all.iter().all(|it| it.state != State::Invalid);
        is_sound && has(Decision::Approved) && !has(Decision::Rejected)
    }
}

/// Judges each tag by what git says of its signature.
pub fn judge(found: &SignOffTags, signatures: &[Signature]) -> SignOffs {
    let mut all: Vec<SignOff> =
        found.tags.iter().zip(signatures).filter_map(|(tag, signature)| one(tag, signature)).collect();
    all.sort_by(|one, other| other.at.cmp(&one.at).then_with(|| one.tag.cmp(&other.tag)));
    SignOffs { all, left_out: found.left_out }
}

fn one(tag: &SignOffTag, signature: &Signature) -> Option<SignOff> {
    let annotation = tag.annotation.as_ref();
    let statement = annotation.ok().and_then(|annotation| Statement::read(&annotation.message));
    let (state, reason) = match annotation {
        Err(reason) => (State::Invalid, Some(reason.clone())),
        Ok(annotation) if annotation.name != tag.name => {
            (State::Invalid, Some(format!("it was made with the name {}", annotation.name)))
        }
        Ok(_) if tag.since == Since::Elsewhere => {
            (State::Invalid, Some("this state did not come from its commit".to_owned()))
        }
        Ok(annotation) => {
            let contradiction =
                statement.as_ref().and_then(|statement| contradiction(&statement.files, &tag.files));
            match (contradiction, signature) {
                (Some(reason), _) => (State::Invalid, Some(reason.to_owned())),
                _ if !annotation.is_signed => (State::Unsigned, None),
                (_, Signature::Bad { why }) => (State::Invalid, Some(why.clone())),
                (_, Signature::Unchecked { why }) => (State::Unchecked, Some(why.clone())),
                (_, Signature::Good { .. })
                    if tag.committed_at.is_some_and(|commit| annotation.at < commit) =>
                {
                    (
                        State::Unchecked,
                        Some("it says that it was signed before its commit was made".to_owned()),
                    )
                }
                (_, Signature::Good { .. }) if tag.since == Since::Nothing => (State::Valid, None),
                (_, Signature::Good { .. }) => (State::Stale, None),
            }
        }
    };
    let is_good = matches!(state, State::Valid | State::Stale);
    let signer = match signature {
        Signature::Good { signer } if is_good => Some(signer.clone()),
        _ => None,
    };
    Some(SignOff {
        tag: tag.name.clone(),
        decision: Decision::of(&tag.name)?,
        commit: tag.commit,
        state,
        reason,
        signer,
        tagger: annotation.ok().map(|annotation| annotation.tagger.clone()),
        at: annotation.ok().map(|annotation| annotation.at),
        statement,
        since: tag.since.clone(),
    })
}

/// In what a message contradicts the commit.
fn contradiction(said: &SignedFiles, there: &SignedFiles) -> Option<&'static str> {
    if said.conclusion != there.conclusion {
        Some("it names another conclusion than its commit has")
    } else if said.ruleset != there.ruleset {
        Some("it names another ruleset than its commit has")
    } else {
        None
    }
}
