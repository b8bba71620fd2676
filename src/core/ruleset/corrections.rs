//! Corrections: changes of a few passages that one author proposes and another accepts. Whoever corrects an answer may
//! confirm the rest of it.
//!
//! The comment stores the edits, and the amendment stores which correction it accepts. What follows is computed:
//!
//! 1. A correction is accepted by an amendment that makes exactly its edits, by an author other than its own.
//! 2. It is a small one while all corrections by its author together change at most a quarter of the findings, as they were
//!    when the corrections were proposed. What happens to the text later makes none larger.
//! 3. The author of small corrections is no author of the claim for his own confirmation, which covers the claim but for
//!    these passages; who accepted them is none for his own. For everybody else, both are.
//!
//! Whoever names nobody counts as anybody in the same known session. Any other amendment counts as before, whatever it says
//! that it accepts. All this also holds for the report.

use std::sync::Arc;

use super::rules::objections;
use super::rules::verification::{ClaimedAuthor, Grade, writers_but};
use crate::domain::edit::{self, TextEdit};
use crate::domain::{
    Amendment, Caller, ClaimHash, Comment, CommentKind, Commenter, Conclusion, Investigation, Node, NodeId,
    Timestamp,
};

/// The part of the findings that an author's corrections may change: one in four characters.
const PART: usize = 4;

/// The corrections of a node's findings.
pub(crate) struct Corrections<'i> {
    node: &'i Node,
    investigation: &'i Investigation,
    /// The accepted and the open ones.
    all: Vec<Correction<'i>>,
    /// The amendments, newest first, each with the claim before it. Empty if none accepts a correction.
    past: Vec<AmendedClaim<'i>>,
    /// The length of the findings in characters.
    length: usize,
}

struct Correction<'i> {
    comment: &'i Arc<Comment>,
    /// The amendment that accepts it. `None` while it is open.
    amendment: Option<&'i Amendment>,
}

struct AmendedClaim<'i> {
    amendment: &'i Amendment,
    before: Option<ClaimHash>,
    /// The length of the findings before it, in characters.
    length: usize,
    /// Two clones may accept the same correction.
    changes_nothing: bool,
}

impl<'i> Corrections<'i> {
    /// Returns the corrections of a node.
    pub(crate) fn of(investigation: &'i Investigation, node: &'i Node) -> Corrections<'i> {
        Corrections::about(investigation, Some(&node.id), node)
    }

    /// Returns the corrections of the [report as a node](Conclusion::as_node).
    pub(crate) fn of_report(investigation: &'i Investigation, report: &'i Node) -> Corrections<'i> {
        Corrections::about(investigation, None, report)
    }

    fn about(investigation: &'i Investigation, about: Option<&'i NodeId>, node: &'i Node) -> Corrections<'i> {
        let length = |node: &Node| node.classification.as_ref().map_or(0, |it| it.findings.chars().count());
        let mut corrections =
            Corrections { node, investigation, all: Vec::new(), past: Vec::new(), length: length(node) };
        let is_correction =
            |it: &&Arc<Comment>| it.kind == CommentKind::Correction && it.node.as_ref() == about;
        let on_node = || investigation.comments().filter(is_correction);
        if on_node().next().is_none() {
            return corrections;
        }
        let amended = node.classification.as_ref().map_or(&[][..], |result| &result.amended);
        let mut after = node.clone();
        for amendment in amended.iter().rev() {
            let mut before = after.clone();
            amendment.clone().swap(&mut before);
            let (then, now) = (before.claim_hash(), after.claim_hash());
            let mut corrected = before.clone();
            let length = length(&before);
            let changes_nothing = then == now;
            corrections.past.push(AmendedClaim { amendment, before: then, length, changes_nothing });
            let accepted = on_node().find(|it| Some(it.id) == amendment.correction);
            if let Some(comment) = accepted.filter(|it| may_accept(author(it), accepter(amendment))) {
                let is_made = corrected.classification.as_mut().is_some_and(|result| {
                    edit::apply(&result.findings, &comment.edits).map(|it| result.findings = it).is_ok()
                });
                if then == now || (is_made && corrected.claim_hash() == now) {
                    corrections.all.push(Correction { comment, amendment: Some(amendment) });
                }
            }
            after = before;
        }
        let open = objections::open(investigation);
        let is_open = |it: &&Arc<Comment>| open.iter().any(|objection| objection.comment.id == it.id);
        let open = on_node().filter(is_open).map(|comment| Correction { comment, amendment: None });
        corrections.all.extend(open);
        corrections
    }

    /// Returns whether somebody accepted the correction.
    pub(crate) fn is_accepted(&self, comment: &Comment) -> bool {
        self.all.iter().any(|it| it.comment.id == comment.id && it.amendment.is_some())
    }

    /// Returns the length of the findings when a correction was proposed, in characters.
    fn length_then(&self, comment: &Comment) -> usize {
        let next = self.past.iter().rev().find(|past| past.amendment.at >= comment.at);
        next.map_or(self.length, |past| past.length)
    }

    /// Returns the edits of an author in short, and the best grade that a confirmation by the author can have. `None` if the
    /// author corrected nothing.
    pub(crate) fn by(&self, who: &ClaimedAuthor<'_>) -> Option<(String, Grade)> {
        // One that was accepted and undone since is open again, so it is there twice.
        let is_last =
            |at: usize| self.all[at + 1..].iter().all(|it| it.comment.id != self.all[at].comment.id);
        let own =
            self.all.iter().enumerate().filter(|(at, it)| author(it.comment).may_be(who) && is_last(*at));
        let own: Vec<_> = own.map(|(_, it)| it).collect();
        let edits: Vec<TextEdit> = own.iter().flat_map(|it| it.comment.edits.iter().cloned()).collect();
        let is_known = own.iter().all(|it| !it.comment.edits.is_empty());
        let changed: usize = edits.iter().map(TextEdit::changed).sum();
        let open = own.iter().filter(|it| it.amendment.is_none()).count();
        let least = own.iter().map(|it| self.length_then(it.comment)).min();
        let best = match is_known && least.is_some_and(|least| changed * PART <= least) {
            true => Grade::Corrected,
            false if open == 0 => Grade::SelfChecked,
            // Whoever wants to change this much confirms nothing.
            false => Grade::None,
        };
        let open = match open {
            0 => None,
            open if open == own.len() => Some("not accepted yet".to_owned()),
            open => Some(format!("{open} of {} not accepted yet", own.len())),
        };
        let short = Some(edit::in_short(&edits)).filter(|short| !short.is_empty());
        let words = short.into_iter().chain(open).collect::<Vec<_>>().join("; ");
        (!own.is_empty()).then_some((words, best))
    }

    /// Returns whether the author's corrections are few enough for a confirmation of the rest.
    fn are_few(&self, who: &ClaimedAuthor<'_>) -> bool {
        self.by(who).is_some_and(|(_, best)| best == Grade::Corrected)
    }

    /// Returns whether a confirmation's author saw the claim as it is now, but for his own small corrections. Without a
    /// stored claim, the time of the confirmation decides.
    pub(crate) fn are_covered(
        &self,
        (saw, since): (Option<ClaimHash>, Timestamp),
        by: &ClaimedAuthor<'_>,
    ) -> bool {
        let saw = |claim: Option<ClaimHash>, amended: Option<Timestamp>| match saw {
            Some(saw) => claim == Some(saw),
            None => amended.is_none_or(|at| at < since),
        };
        let amended = self.node.classification.as_ref().and_then(|result| result.amended.last());
        if saw(self.node.claim_hash(), amended.map(|it| it.at)) {
            return true;
        }
        let is_small = self.are_few(by);
        for (at, past) in self.past.iter().enumerate() {
            let is_own = self.all.iter().any(|it| {
                author(it.comment).may_be(by)
                    && it.amendment.is_some_and(|own| std::ptr::eq(own, past.amendment))
            });
            if !(past.changes_nothing || is_small && is_own) {
                return false;
            }
            if saw(past.before, self.past.get(at + 1).map(|it| it.amendment.at)) {
                return true;
            }
        }
        false
    }

    /// Returns the authors of the claim whom a confirmation by `by` must be independent of.
    pub(crate) fn others(&self, by: &ClaimedAuthor<'_>) -> Vec<ClaimedAuthor<'i>> {
        let is_exempt = |amendment: &Amendment, who: &ClaimedAuthor<'_>| {
            let small = self.all.iter().find(|it| {
                it.amendment.is_some_and(|own| std::ptr::eq(own, amendment))
                    && self.are_few(&author(it.comment))
            });
            small.is_some() && who.may_be(by)
        };
        writers_but(self.investigation, self.node, None, is_exempt)
    }
}

/// Returns whether an agent or a caller who saw this claim of a node saw it as it is now, but for his own small corrections.
pub fn has_seen(
    investigation: &Investigation,
    node: &Node,
    saw: ClaimHash,
    (agent, caller): (Option<&str>, &Caller),
) -> bool {
    let by = ClaimedAuthor::of(agent, caller);
    Corrections::of(investigation, node).are_covered((Some(saw), Timestamp::default()), &by)
}

/// Returns whether a correction is one of those that leave its author a confirmation of the rest. `None` if nobody is known
/// to have written it.
pub fn is_small(investigation: &Investigation, comment: &Comment) -> Option<bool> {
    let report = investigation.report().and_then(Conclusion::as_node);
    let node = match &comment.node {
        Some(id) => investigation.node(id).map(AsRef::as_ref),
        None => report.as_ref(),
    };
    let corrections = Corrections::about(investigation, comment.node.as_ref(), node?);
    let is_there = corrections.all.iter().any(|it| it.comment.id == comment.id);
    let (_, best) = corrections.by(&author(comment))?;
    Some(is_there && best == Grade::Corrected)
}

/// Returns whether the second author may accept a correction by the first: an author of another name, or an unnamed one in
/// another session.
pub(crate) fn may_accept(corrector: ClaimedAuthor<'_>, accepter: ClaimedAuthor<'_>) -> bool {
    let are_named = corrector.has_name() && accepter.has_name();
    !corrector.is_same_as(&accepter) && (are_named || corrector.is_independent_of(&accepter))
}

/// Returns the author of a comment.
pub(crate) fn author(comment: &Comment) -> ClaimedAuthor<'_> {
    author_of(&comment.author)
}

/// Returns a commenter as an author.
pub(crate) fn author_of(commenter: &Commenter) -> ClaimedAuthor<'_> {
    ClaimedAuthor::of(commenter.agent_id.as_deref(), &commenter.caller)
}

/// Returns the author of an amendment.
pub(crate) fn accepter(amendment: &Amendment) -> ClaimedAuthor<'_> {
    ClaimedAuthor::of(amendment.agent_id.as_deref(), &amendment.caller)
}
