//! Decides whether a sign-off is valid.

use std::fmt;

use regex_lite::Regex;
use schemars::JsonSchema;
use serde::Serialize;

use super::statement::{SignOffDecision, Statement};
use crate::domain::Timestamp;
use crate::service::remote::Signature;
use crate::store::{CommitId, SignOffTag, SignOffTags, SignedFiles, Since};

/// The sign-offs of an investigation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignOffs {
    /// The sign-offs, newest first by the times in their tags.
    pub all: Vec<SignOff>,
    /// The number of unread sign-offs beyond the limit.
    pub left_out: usize,
}

/// A sign-off, with its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignOff {
    /// The name of the tag.
    pub tag: String,
    /// The decision.
    pub decision: SignOffDecision,
    /// The signed commit.
    pub commit: CommitId,
    /// The state of the sign-off.
    pub state: SignOffState,
    /// The reason, unless the state is valid, stale or unsigned.
    pub reason: Option<String>,
    /// The owner of the signing key, if the signature is good.
    pub signer: Option<String>,
    /// The tagger named in the tag.
    pub tagger: Option<String>,
    /// The time in the tag.
    pub at: Option<Timestamp>,
    /// The parsed message. Absent if `tot approve` did not write the tag.
    pub statement: Option<Statement>,
    /// The changes from the signed commit to the state shown.
    pub since: Since,
}

/// The state of a sign-off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SignOffState {
    /// The signature is good and covers the state shown.
    Valid,
    /// The signature is good but covers an earlier state.
    Stale,
    /// The tag has no signature, so anyone may have created it.
    Unsigned,
    /// The signature was not checked or can't be checked.
    Unchecked,
    /// The signature is bad, or the tag contradicts the commit.
    Invalid,
}

impl SignOffState {
    /// Returns the word for the state.
    pub fn word(self) -> &'static str {
        match self {
            SignOffState::Valid => "valid",
            SignOffState::Stale => "stale",
            SignOffState::Unsigned => "unsigned",
            SignOffState::Unchecked => "unchecked",
            SignOffState::Invalid => "invalid",
        }
    }
}

impl fmt::Display for SignOffState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl SignOffs {
    /// Returns whether the state shown is approved. This requires a valid approval, no valid rejection, and no invalid or
    /// unread sign-off.
    pub fn is_approved(&self) -> bool {
        let has =
            |decision| self.all.iter().any(|it| it.state == SignOffState::Valid && it.decision == decision);
        let is_sound = self.left_out == 0 && self.all.iter().all(|it| it.state != SignOffState::Invalid);
        is_sound && has(SignOffDecision::Approved) && !has(SignOffDecision::Rejected)
    }
}

/// Derives the sign-offs from the tags and git's verdicts on their signatures.
pub fn sign_offs(found: &SignOffTags, signatures: &[Signature]) -> SignOffs {
    let mut all: Vec<SignOff> =
        found.tags.iter().zip(signatures).filter_map(|(tag, signature)| sign_off(tag, signature)).collect();
    all.sort_by(|one, other| other.at.cmp(&one.at).then_with(|| one.tag.cmp(&other.tag)));
    SignOffs { all, left_out: found.left_out }
}

fn sign_off(tag: &SignOffTag, signature: &Signature) -> Option<SignOff> {
    let annotation = tag.annotation.as_ref();
    let statement = annotation.ok().and_then(|annotation| Statement::read(&annotation.message));
    let (state, reason) = match annotation {
        Err(reason) => (SignOffState::Invalid, Some(reason.clone())),
        Ok(annotation) if annotation.name != tag.name => {
            (SignOffState::Invalid, Some(format!("the tag was created with the name {}", annotation.name)))
        }
        Ok(_) if tag.since == Since::Elsewhere => {
            (SignOffState::Invalid, Some("the current state does not descend from its commit".to_owned()))
        }
        Ok(annotation) => {
            let contradiction =
                statement.as_ref().and_then(|statement| contradiction(&statement.files, &tag.files));
            match (contradiction, signature) {
                (Some(reason), _) => (SignOffState::Invalid, Some(reason.to_owned())),
                _ if !annotation.is_signed => (SignOffState::Unsigned, None),
                (_, Signature::Bad { why }) => (SignOffState::Invalid, Some(why.clone())),
                (_, Signature::Unchecked { why }) => (SignOffState::Unchecked, Some(why.clone())),
                (_, Signature::Good { .. })
                    if tag.committed_at.is_some_and(|commit| annotation.at < commit) =>
                {
                    (SignOffState::Unchecked, Some("its date is earlier than its commit's".to_owned()))
                }
                (_, Signature::Good { .. }) if tag.since == Since::Nothing => (SignOffState::Valid, None),
                (_, Signature::Good { .. }) => (SignOffState::Stale, None),
            }
        }
    };
    let is_good = matches!(state, SignOffState::Valid | SignOffState::Stale);
    let signer = match signature {
        Signature::Good { signer } if is_good => {
            Some(named(signer, annotation.ok().map(|it| it.tagger.as_str())))
        }
        _ => None,
    };
    Some(SignOff {
        tag: tag.name.clone(),
        decision: SignOffDecision::of(&tag.name)?,
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

/// Returns the address of the tagger instead of an allowed signer's pattern that it matches, such as `*@example.org`.
fn named(signer: &str, tagger: Option<&str>) -> String {
    let address = tagger.and_then(|tagger| tagger.rsplit_once('<')?.1.strip_suffix('>'));
    let matches = |address: &str| {
        let (excluded, allowed): (Vec<_>, Vec<_>) = signer.split(',').partition(|part| part.starts_with('!'));
        (allowed.is_empty() || allowed.iter().any(|part| is_like(part, address)))
            && !excluded.iter().any(|part| is_like(&part[1..], address))
    };
    let is_pattern = signer.contains(['*', '?', '!']);
    address.filter(|address| is_pattern && matches(address)).unwrap_or(signer).to_owned()
}

/// Returns whether a name matches a pattern with `*` and `?`, as in ssh.
fn is_like(pattern: &str, name: &str) -> bool {
    let pattern = regex_lite::escape(pattern).replace(r"\*", ".*").replace(r"\?", ".");
    Regex::new(&format!("(?s)^{pattern}$")).is_ok_and(|pattern| pattern.is_match(name))
}

/// Returns the contradiction between a message and the commit, if any.
fn contradiction(stated: &SignedFiles, actual: &SignedFiles) -> Option<&'static str> {
    if stated.conclusion != actual.conclusion {
        Some("it names a different conclusion than its commit contains")
    } else if stated.ruleset != actual.ruleset {
        Some("it names a different ruleset than its commit contains")
    } else {
        None
    }
}
