//! The sign-offs for display. A forged tag must not look like a valid one.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::Time;
use crate::report::history::{History, SHORT};
use crate::service::signoff::{SignOff, SignOffDecision, SignOffState, SignOffs};
use crate::text::{made_visible, shorten};

/// The maximum length of a comment, in characters.
const TEXT: usize = 2_000;

/// The sign-offs.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct SignOffsView {
    /// The sign-offs, sorted by claimed time, newest first.
    pub all: Vec<SignOffCard>,
    /// The number of sign-offs that were not checked.
    pub left_out: usize,
}

/// A sign-off and its validity.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct SignOffCard {
    pub mark: SignOffMark,
    /// The owner of the key, or the author named in the tag if the key was not checked.
    pub by: String,
    /// The time stated in the tag.
    pub at: Option<Time>,
    pub commit_short: String,
    /// The address of the commit, if the history shows it.
    pub href: Option<String>,
    pub tag: String,
    /// The reason why the sign-off does not count, in one sentence.
    pub reason: Option<String>,
    /// The person's comment.
    pub text: String,
    /// The changes since the sign-off, in one sentence.
    pub since: Option<String>,
    /// The points that were open at the time of the sign-off, in one sentence. `None` if the tag does not list them.
    pub open: Option<String>,
}

/// The validity of a sign-off, in a word or two.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::report) struct SignOffMark {
    /// `Approved`, `Rejected`, or the reason why it does not count: `Approval, not checked`.
    pub label: Cow<'static, str>,
    /// The CSS class: `valid`, `rejected`, `stale`, `unsigned`, `unchecked` or `invalid`.
    pub class: Cow<'static, str>,
}

impl SignOffMark {
    pub(in crate::report) fn of(it: &SignOff) -> SignOffMark {
        let class = match (it.state, it.decision) {
            (SignOffState::Valid, SignOffDecision::Rejected) => "rejected",
            (state, _) => state.word(),
        };
        SignOffMark { label: Cow::Borrowed(it.label()), class: Cow::Borrowed(class) }
    }
}

impl SignOffsView {
    pub(super) fn of(sign_offs: &SignOffs, history: &History) -> SignOffsView {
        let card = |it: &SignOff| {
            let commit = it.commit.to_string();
            let text = it.statement.as_ref().map_or("", |statement| &statement.text);
            SignOffCard {
                mark: SignOffMark::of(it),
                by: it.by(),
                at: it.at.map(Time::of),
                commit_short: commit.chars().take(SHORT).collect(),
                href: history.address(&commit),
                tag: it.tag.clone(),
                reason: it.reason.clone(),
                text: made_visible(&shorten(text, TEXT)),
                since: it.changed_since(),
                open: it.open_then(),
            }
        };
        SignOffsView { all: sign_offs.all.iter().map(card).collect(), left_out: sign_offs.left_out }
    }
}
