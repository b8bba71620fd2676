//! `verification`: who must confirm each answer that nobody has refuted. With `confirmed`: another agent, a person, or
//! someone in another session (`UNCONFIRMED_ANSWER`). With `independent`: a person, or someone in another session
//! (`NOT_INDEPENDENT`). Each is `"off"` (the default), `warn`, which warns when the investigation ends, or `reject`,
//! which keeps it from ending. A check by the author alone is not a confirmation. Callers choose the names of their
//! agents, clients and sessions, and nobody verifies them.
//!
//! ```yaml
//! verification: {confirmed: reject, independent: warn}
//! ```

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::agents::Enforcement;
use super::states::Role;
use super::{RuleKind, SILENT, Verb};
use crate::domain::node::says_nothing;
use crate::domain::{
    Amendment, Caller, Classification, Code, Diagnostic, Investigation, Node, NodeId, Person,
    Reclassification, StateName, Timestamp,
};
use crate::ruleset::corrections::{self, Corrections};
use crate::ruleset::effective::EffectiveRules;

/// Requirements for confirming each answer before the investigation ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Verification {
    /// `UNCONFIRMED_ANSWER`: not confirmed by another agent, session or person. Default: off.
    pub confirmed: Enforcement,
    /// `NOT_INDEPENDENT`: not confirmed by another session or person. Default: off.
    pub independent: Enforcement,
}

/// The strength of a confirmation, from weakest to strongest.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum Grade {
    /// Not confirmed: there is no confirmation, or it has empty findings, is of another text, depends on a refuted finding,
    /// or names an author that git contradicts.
    #[default]
    #[serde(rename = "none")]
    None,
    /// Confirmed by the same agent, or unsigned.
    #[serde(rename = "self")]
    SelfChecked,
    /// Confirmed by another agent in the same session or an unknown session.
    #[serde(rename = "second-agent")]
    SecondAgent,
    /// Confirmed like the next, by somebody who corrected a few passages of the findings.
    #[serde(rename = "with-corrections")]
    Corrected,
    /// Confirmed by another agent in another session, or with a person on either side.
    #[serde(rename = "independent")]
    Independent,
}

/// A node that confirms another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confirming {
    /// The confirming node.
    pub node: NodeId,
    /// The strength of the confirmation.
    pub grade: Grade,
    /// The confirming person's name, if no agent was involved.
    pub person: Option<String>,
    /// The corrections by the author of the confirmation, in short, or an empty list.
    pub corrected: String,
}

/// Reports `UNCONFIRMED_ANSWER` and `NOT_INDEPENDENT`.
pub(super) const KIND: RuleKind = RuleKind {
    key: "verification",
    errors: &[(Verb::End, Code::UnconfirmedAnswer), (Verb::End, Code::NotIndependent)],
    warnings: &[(Verb::End, Code::UnconfirmedAnswer), (Verb::End, Code::NotIndependent)],
    sentences,
    end_checks,
    ..SILENT
};

impl Grade {
    /// Returns whether someone else has confirmed the answer.
    pub fn is_confirmed(self) -> bool {
        self >= Grade::SecondAgent
    }

    /// Returns a human-readable description of an answer with this grade.
    pub fn label(self) -> &'static str {
        match self {
            Grade::None => "not checked",
            Grade::SelfChecked => "checked only by its author",
            Grade::SecondAgent => "confirmed by another agent, same session",
            Grade::Corrected => "confirmed with corrections",
            Grade::Independent => "confirmed in another session",
        }
    }
}

impl EffectiveRules<'_> {
    /// Returns whether the method can confirm answers at all.
    pub fn confirms_answers(&self) -> bool {
        let ruleset = self.ruleset();
        !ruleset.confirmations.is_empty()
            || ruleset.states.iter().any(|state| state.role == Role::Confirmation)
    }

    /// Returns the current answers, ordered by round and suffix: nodes in a solution state that nobody has refuted.
    pub fn answers<'i>(&self, investigation: &'i Investigation) -> impl Iterator<Item = &'i Arc<Node>> {
        let answers = investigation.committed().filter(|(_, state)| self.role(state) == Role::Solution);
        answers.map(|(node, _)| node).filter(|node| self.refuted_by(investigation, node).is_empty())
    }

    /// Returns the nodes that confirm an answer, strongest confirmation first.
    pub fn confirming(&self, investigation: &Investigation, node: &Node) -> Vec<Confirming> {
        let corrections = Corrections::of(investigation, node);
        let confirming = self.verified_by(investigation, node).into_iter().filter_map(|id| {
            let child = investigation.committed_node(&id)?;
            let own = child.classification.as_ref()?;
            let stands = !self.refutes(child) && self.refuted_by(investigation, child).is_empty();
            // Manual edits have no known author, and a confirmation does not cover later text.
            let by_hand = investigation.by_hand();
            let before = by_hand.confirmed_before.get(&node.id);
            let is_void = by_hand.nodes.contains(&id) || before.is_some_and(|before| before.contains(&id));
            let (by, _) = author(own);
            let grade = match is_void
                || self.has_refuted(own)
                || self.depends_on_refuted(investigation, own)
                || !corrections.are_covered((own.saw(), own.current_since()), &by)
            {
                true => Grade::None,
                false => grade(&corrections.others(&by), own),
            };
            let (corrected, best) = corrections.by(&by).unwrap_or((String::new(), Grade::Independent));
            let person = by.person_alone().map(|person| person.name.clone());
            stands.then_some(Confirming { node: id, grade: grade.min(best), person, corrected })
        });
        let mut confirming: Vec<Confirming> = confirming.collect();
        confirming.sort_by_key(|it| Reverse(it.grade));
        confirming
    }

    /// Returns whether the node confirms its parent, by its state.
    pub fn confirms(&self, node: &Node) -> bool {
        node.state().is_some_and(|state| self.role(state) == Role::Confirmation)
    }

    /// Returns whether a confirmation counts for nothing, but would if its author gave its state again.
    pub fn may_renew(&self, investigation: &Investigation, id: &NodeId) -> bool {
        let confirmation = investigation.committed_node(id);
        let answer = confirmation.and_then(|it| investigation.committed_node(it.parent.as_ref()?));
        let (Some(answer), Some(result)) = (answer, confirmation.and_then(|it| it.classification.as_ref()))
        else {
            return false;
        };
        let (by, _) = author(result);
        let is_lapsed = |it: &Confirming| {
            it.node == *id && it.grade == Grade::None && !self.depends_on_refuted(investigation, result)
        };
        let others = Corrections::of(investigation, answer).others(&by);
        self.confirming(investigation, answer).iter().any(is_lapsed)
            && by.independence_from(&others).is_confirmed()
    }

    /// Returns the grade of an answer's strongest confirmation.
    pub fn grade(&self, investigation: &Investigation, node: &Node) -> Grade {
        self.confirming(investigation, node).first().map_or(Grade::None, |it| it.grade)
    }

    /// Returns the children that refute the node and give reasons.
    pub fn refuted_by(&self, investigation: &Investigation, node: &Node) -> Vec<NodeId> {
        let children = investigation.committed_children(&node.id);
        children
            .filter(|(child, _)| self.refutes_with_reason(investigation, child))
            .map(|(child, _)| child.id.clone())
            .collect()
    }

    /// Returns whether the result depends on a refuted finding. How far that one reaches is not followed, because confirmations
    /// are looked up for each premise of each answer.
    fn depends_on_refuted(&self, investigation: &Investigation, result: &Classification) -> bool {
        let mut targets = result.depends().filter_map(|link| investigation.node(&link.to));
        targets.any(|target| !self.refuted_by(investigation, target).is_empty())
    }

    /// Returns all refuted nodes, ordered by id, each with the children that refute it and give reasons.
    pub fn refutations<'i>(&self, investigation: &'i Investigation) -> BTreeMap<&'i NodeId, Vec<NodeId>> {
        let mut refuted: BTreeMap<_, Vec<NodeId>> = BTreeMap::new();
        let refutes = |child: &Node| self.refutes_with_reason(investigation, child);
        for (child, _) in investigation.committed().filter(|(child, _)| refutes(child)) {
            let parent = child.parent.as_ref().and_then(|parent| investigation.committed_node(parent));
            if let Some(parent) = parent {
                refuted.entry(&parent.id).or_default().push(child.id.clone());
            }
        }
        refuted
    }

    /// Returns whether this answer needs a confirmation, or a stronger one, before the investigation can end.
    pub fn lacks_confirmation(&self, investigation: &Investigation, node: &Node) -> bool {
        self.missing_confirmation(Enforcement::Reject, investigation, node).is_some()
    }

    /// Returns the code for the confirmation that an answer lacks at this enforcement level, the answer's current
    /// grade, and a description of possible confirmers. Refuted answers need no confirmation.
    fn missing_confirmation(
        &self,
        enforcement: Enforcement,
        investigation: &Investigation,
        node: &Node,
    ) -> Option<(Code, Grade, &'static str)> {
        let asked = self.ruleset().verification.as_ref()?;
        let is_answer = node.state().is_some_and(|state| self.role(state) == Role::Solution);
        if !is_answer || !self.refuted_by(investigation, node).is_empty() {
            return None;
        }
        let grade = self.grade(investigation, node);
        if asked.confirmed == enforcement && !grade.is_confirmed() {
            Some((Code::UnconfirmedAnswer, grade, "another agent, or a person,"))
        } else if asked.independent == enforcement && grade < Grade::Corrected {
            Some((Code::NotIndependent, grade, "an agent in another session, or a person,"))
        } else {
            None
        }
    }

    /// Returns whether a result ever refuted its parent. Reversing that refutation does not confirm the answer; only a
    /// new child can.
    pub fn has_refuted(&self, classification: &Classification) -> bool {
        let later = classification.reclassified.iter().map(|change| &change.to);
        let mut states = std::iter::once(&classification.state).chain(later);
        let refutes = |state| self.ruleset().state(state).is_some_and(|state| state.refutes);
        classification.refutes || states.any(refutes)
    }

    /// Returns the state change that took back a refutation and does not count: it takes the refuter, or somebody in
    /// another session than the authors of what was refuted.
    pub fn taken_back<'i>(
        &self,
        investigation: &'i Investigation,
        child: &'i Node,
    ) -> Option<&'i Reclassification> {
        let result = child.classification.as_ref()?;
        let last = result.reclassified.iter().rposition(|change| self.is_refuting(result, &change.to));
        let (refuter, since) = match last {
            None if self.is_refuting(result, &result.state) => (committed(result), 0),
            None => return None,
            Some(at) => {
                let change = &result.reclassified[at];
                let given = change.caller().map(|caller| ClaimedAuthor::of(change.agent(), caller));
                (given.unwrap_or(committed(result)), at + 1)
            }
        };
        let refuted = investigation.node(child.parent.as_ref()?)?;
        let counts = |change: &Reclassification| {
            let Some(caller) = change.caller() else { return true };
            let by = ClaimedAuthor::of(change.agent(), caller);
            let others = writers(investigation, refuted, Some(change.at));
            by.is_same_as(&refuter) || by.independence_from(&others) == Grade::Independent
        };
        let later = &result.reclassified[since..];
        later.first().filter(|_| !later.iter().any(counts))
    }

    /// Returns whether the state marks a dead end rather than a refutation of the parent.
    pub fn is_dead_end(&self, state: &StateName) -> bool {
        self.ruleset().state(state).is_some_and(|state| state.role == Role::DeadEnd && !state.refutes)
    }

    /// Returns the parent that the node refutes, with or without a reason.
    pub fn refuting<'n>(&self, node: &'n Node) -> Option<&'n NodeId> {
        node.parent.as_ref().filter(|_| self.refutes(node))
    }

    /// Returns whether the node refutes its parent and gives reasons.
    fn refutes_with_reason(&self, investigation: &Investigation, node: &Node) -> bool {
        // Emptying a refutation afterwards does not withdraw it.
        let says_why = |it: &Classification| {
            let first = it.amended.iter().find_map(|amendment| amendment.findings.as_deref());
            !says_nothing(&it.findings) || first.is_some_and(|first| !says_nothing(first))
        };
        (self.refutes(node) || self.taken_back(investigation, node).is_some())
            && node.classification.as_ref().is_some_and(says_why)
    }

    /// Returns whether the node refutes its parent: by its state, or by `refutes` with a terminal state.
    pub(in crate::ruleset) fn refutes(&self, node: &Node) -> bool {
        node.classification.as_ref().is_some_and(|result| self.is_refuting(result, result.current_state()))
    }

    /// Returns whether a result refutes its parent while it is in this state.
    fn is_refuting(&self, result: &Classification, state: &StateName) -> bool {
        let state = self.ruleset().state(state);
        state.is_some_and(|state| state.refutes || (result.refutes && state.terminal))
    }
}

/// Returns whether a child's author saw the claim as it is now but for his own corrections, and not an earlier text or
/// another result.
pub fn covers(investigation: &Investigation, node: &Node, child: &Classification) -> bool {
    let saw = (child.saw(), child.current_since());
    Corrections::of(investigation, node).are_covered(saw, &author(child).0)
}

/// Returns the grade of a single confirmation. One that somebody else amended confirms nothing until its author sets its
/// state or amends it again.
fn grade(others: &[ClaimedAuthor<'_>], confirmation: &Classification) -> Grade {
    let (by, text) = author(confirmation);
    match text {
        StateText::Findings(findings) if says_nothing(findings) => return Grade::None,
        // Reclassifying a node as a confirmation counts as a check only with new evidence or the author's own findings.
        StateText::Change(evidence)
            if evidence.is_none_or(says_nothing)
                && (says_nothing(&confirmation.findings) || !committed(confirmation).is_same_as(&by)) =>
        {
            return Grade::SelfChecked;
        }
        StateText::Findings(_) | StateText::Change(_) => {}
    }
    let said = confirmation.last_given().map_or(confirmation.committed_at, |change| change.at);
    let is_by_other = |it: &&Amendment| {
        it.at >= said && !ClaimedAuthor::of(it.agent_id.as_deref(), &it.caller).is_same_as(&by)
    };
    if confirmation.amended.last().filter(is_by_other).is_some() {
        return Grade::None;
    }
    // Who wrote the findings counts, too, if somebody else gave the state.
    let authors = [by, committed(confirmation)].into_iter();
    authors.map(|who| who.independence_from(others)).min().unwrap_or_default()
}

/// Returns all authors of a node's claims, optionally up to a point in time: the authors of its commit, its last
/// explicit state change, its amendments, and the corrections that these accept. Authors of manual edits to its file are
/// always included.
pub(crate) fn writers<'a>(
    investigation: &'a Investigation,
    node: &'a Node,
    until: Option<Timestamp>,
) -> Vec<ClaimedAuthor<'a>> {
    writers_but(investigation, node, until, |_, _| false)
}

/// Returns the authors of a node's claims, except those of an amendment, or of the correction that it accepts, for whom
/// `is_exempt` holds.
pub(crate) fn writers_but<'a>(
    investigation: &'a Investigation,
    node: &'a Node,
    until: Option<Timestamp>,
    is_exempt: impl Fn(&Amendment, &ClaimedAuthor<'_>) -> bool,
) -> Vec<ClaimedAuthor<'a>> {
    let Some(classification) = &node.classification else { return Vec::new() };
    let by_hand = investigation.by_hand().writers.get(&node.id).into_iter().flatten();
    let is_before = |at: Timestamp| until.is_none_or(|until| at <= until);
    let given = classification.reclassified.iter().rev().find(|it| it.child().is_none() && is_before(it.at));
    let amended = classification.amended.iter();
    let amended = amended.filter(|it| is_before(it.at));
    std::iter::once(committed(classification))
        .chain(given.and_then(|change| Some(ClaimedAuthor::of(change.agent(), change.caller()?))))
        .chain(amended.flat_map(|it| {
            let accepted = it.correction.and_then(|id| investigation.comment(id));
            let both = [
                Some(ClaimedAuthor::of(it.agent_id.as_deref(), &it.caller)),
                accepted.map(|it| corrections::author(it)),
            ];
            let is_exempt = &is_exempt;
            both.into_iter().flatten().filter(move |who| !is_exempt(it, who))
        }))
        .chain(by_hand.map(|caller| ClaimedAuthor::of(None, caller)))
        .collect()
}

/// An author as identified by the caller.
#[derive(Clone, Copy)]
pub(crate) struct ClaimedAuthor<'a> {
    agent: Option<&'a str>,
    /// The caller, even if a person acts on behalf of an agent.
    pub(crate) caller: &'a Caller,
}

impl<'a> ClaimedAuthor<'a> {
    pub(crate) fn of(agent: Option<&'a str>, caller: &'a Caller) -> Self {
        ClaimedAuthor { agent, caller }
    }

    /// Returns the grade of a confirmation by this author for work by `others`.
    pub(crate) fn independence_from(self, others: &[ClaimedAuthor<'_>]) -> Grade {
        if self.is_disowned() || others.iter().any(ClaimedAuthor::is_disowned) {
            Grade::None
        } else if !self.has_name() || others.iter().any(|other| self.is_same_as(other)) {
            Grade::SelfChecked
        } else if others.iter().all(|other| self.is_independent_of(other)) {
            Grade::Independent
        } else if others.iter().any(ClaimedAuthor::has_name) {
            Grade::SecondAgent
        } else {
            Grade::SelfChecked
        }
    }

    /// Returns whether git contradicts the stated author, in which case the real author is unknown.
    fn is_disowned(&self) -> bool {
        self.caller.disowned.is_some()
    }

    /// Returns whether an agent or a person is named.
    pub(crate) fn has_name(&self) -> bool {
        self.agent.is_some() || self.caller.person.is_some()
    }

    /// Returns the person if no agent was involved.
    pub(crate) fn person_alone(&self) -> Option<&'a Person> {
        self.caller.person.as_ref().filter(|_| self.agent.is_none())
    }

    /// Returns whether the two authors are the same.
    pub(crate) fn is_same_as(&self, other: &ClaimedAuthor<'_>) -> bool {
        Caller::is_same_author((self.agent, self.caller), (other.agent, other.caller))
    }

    /// Returns whether the two authors may be the same, as in [`Caller::may_be_same_author`].
    pub(crate) fn may_be(&self, other: &ClaimedAuthor<'_>) -> bool {
        Caller::may_be_same_author((self.agent, self.caller), (other.agent, other.caller))
    }

    /// Returns whether both authors belong to the same known session.
    pub(crate) fn shares_session(&self, other: &ClaimedAuthor<'_>) -> bool {
        self.caller.session.is_some() && self.caller.session == other.caller.session
    }

    /// Returns whether neither author could have dictated the other's work: their sessions differ, or one is a person.
    pub(crate) fn is_independent_of(&self, other: &ClaimedAuthor<'_>) -> bool {
        let sessions = (&self.caller.session, &other.caller.session);
        self.person_alone().is_some()
            || other.person_alone().is_some()
            || matches!(sessions, (Some(own), Some(other)) if own != other)
    }
}

/// The text given with a state.
pub(crate) enum StateText<'a> {
    Findings(&'a str),
    /// The evidence given for a later state change.
    Change(Option<&'a str>),
}

/// Returns the author of the node's current state and the accompanying text. If a child changed the state, these are
/// the author and findings of the node's commit.
pub(crate) fn author(classification: &Classification) -> (ClaimedAuthor<'_>, StateText<'_>) {
    let changed = classification.reclassified.last().and_then(|change| Some((change, change.caller()?)));
    match changed {
        None => (committed(classification), StateText::Findings(&classification.findings)),
        Some((change, caller)) => {
            (ClaimedAuthor::of(change.agent(), caller), StateText::Change(change.evidence.as_deref()))
        }
    }
}

/// Returns the author of the commit.
fn committed(classification: &Classification) -> ClaimedAuthor<'_> {
    ClaimedAuthor::of(classification.agent_id.as_deref(), &classification.caller)
}

fn sentences(rules: &EffectiveRules) -> Vec<String> {
    let asked = rules.ruleset().verification.clone().unwrap_or_default();
    let each = [
        (
            asked.confirmed,
            "Each answer must be confirmed by another agent, by a person or in another session",
        ),
        (asked.independent, "Each answer must be confirmed in another session or by a person"),
    ];
    let sentence = |(enforcement, what): (Enforcement, &str)| match enforcement {
        Enforcement::Off => None,
        Enforcement::Warn => Some(format!("{what}; otherwise, ending triggers a warning.")),
        Enforcement::Reject => Some(format!("{what} before the investigation ends.")),
    };
    each.into_iter().filter_map(sentence).collect()
}

/// Returns a diagnostic for each answer that lacks a confirmation required at this enforcement level.
fn end_checks(investigation: &Investigation, rules: &EffectiveRules, asked: Enforcement) -> Vec<Diagnostic> {
    let lacking = investigation.committed().filter_map(|(node, _)| {
        let (code, grade, by) = rules.missing_confirmation(asked, investigation, node)?;
        let message = format!("The answer {} is {}.", node.id, grade.label());
        let how = format!("Let {by} try to refute it, and commit a child with the result.");
        Some(Diagnostic::new(code, message).about(&node.id).suggest(how))
    });
    lacking.collect()
}
