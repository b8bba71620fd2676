//! `verification`: the author of a confirmation, and what a ruleset requires of it. The word *confirmed* means: by another. A
//! check by the author alone is not a confirmation.
//!
//! Names of agents, clients and sessions are what callers say of themselves: they separate authors only as long as nobody lies.

use std::cmp::Reverse;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::agents::Enforcement;
use super::states::Role;
use super::{Blockers, Kind};
use crate::domain::node::says_nothing;
use crate::domain::{
    Caller, Classification, Code, Diagnostic, Investigation, Node, NodeId, Person, StateName, Timestamp,
};
use crate::ruleset::effective::EffectiveRules;

/// What is asked of the confirmation of each answer before the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Verification {
    /// `UNCONFIRMED_ANSWER`: no other agent, session or person has confirmed it. Off, where nothing is said.
    pub confirmed: Enforcement,
    /// `NOT_INDEPENDENT`: no other session or person has confirmed it. Off, where nothing is said.
    pub independent: Enforcement,
}

/// The confirmation of an answer: the better, the greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Grade {
    /// By nobody, by empty findings, before it was amended, or by an author whom git contradicts.
    #[default]
    #[serde(rename = "none")]
    None,
    /// By the same agent, or without a name.
    #[serde(rename = "self")]
    SelfChecked,
    /// By another agent of the same session, or of an unknown one.
    #[serde(rename = "second-agent")]
    SecondAgent,
    /// By another agent in another session, or between a person and anybody else.
    #[serde(rename = "independent")]
    Independent,
}

/// A node that confirms another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confirming {
    /// The node.
    pub node: NodeId,
    /// The worth of its confirmation.
    pub grade: Grade,
    /// The name of the confirming person, if no agent confirms it.
    pub person: Option<String>,
}

/// `UNCONFIRMED_ANSWER`, `NOT_INDEPENDENT`.
pub(super) const KIND: Kind = Kind { key: "verification", sentences, blockers, end_warnings, ..Kind::SILENT };

impl Grade {
    /// Whether another has confirmed it.
    pub fn is_confirmed(self) -> bool {
        self >= Grade::SecondAgent
    }

    /// Returns its verdict on an answer, for people.
    pub fn label(self) -> &'static str {
        match self {
            Grade::None => "not checked",
            Grade::SelfChecked => "checked only by its author",
            Grade::SecondAgent => "confirmed by another agent, same session",
            Grade::Independent => "confirmed in another session",
        }
    }
}

impl EffectiveRules<'_> {
    /// Whether the method can confirm answers at all.
    pub fn confirms_answers(&self) -> bool {
        let ruleset = self.ruleset();
        !ruleset.confirmations.is_empty()
            || ruleset.states.iter().any(|state| state.role == Role::Confirmation)
    }

    /// Returns the answers in force: nodes in an answer's state that nobody has refuted, by round and suffix.
    pub fn answers<'i>(&self, investigation: &'i Investigation) -> impl Iterator<Item = &'i Arc<Node>> {
        let answers = investigation.committed().filter(|(_, state)| self.role(state) == Role::Solution);
        answers.map(|(node, _)| node).filter(|node| self.refuted_by(investigation, node).is_empty())
    }

    /// The nodes that confirm an answer, the best first.
    pub fn confirming(&self, investigation: &Investigation, node: &Node) -> Vec<Confirming> {
        let Some(answer) = &node.classification else { return Vec::new() };
        let confirming = self.verified_by(investigation, node).into_iter().filter_map(|id| {
            let child = investigation.committed_node(&id)?;
            let own = child.classification.as_ref()?;
            let stands = !self.refutes(child) && self.refuted_by(investigation, child).is_empty();
            // A change by hand has no known author, and a later text is not the confirmed one.
            let by_hand = investigation.by_hand();
            let before = by_hand.confirmed_before.get(&node.id);
            let is_void = by_hand.nodes.contains(&id) || before.is_some_and(|before| before.contains(&id));
            let grade = match is_void || self.has_refuted(own) {
                true => Grade::None,
                false => grade(answer, &writers(investigation, node, None), own),
            };
            let person = author(own).0.person_alone().map(|person| person.name.clone());
            stands.then_some(Confirming { node: id, grade, person })
        });
        let mut confirming: Vec<Confirming> = confirming.collect();
        confirming.sort_by_key(|it| Reverse(it.grade));
        confirming
    }

    /// Returns the best confirmation of an answer.
    pub fn grade(&self, investigation: &Investigation, node: &Node) -> Grade {
        self.confirming(investigation, node).first().map_or(Grade::None, |it| it.grade)
    }

    /// The children that refute the node, and say why.
    pub fn refuted_by(&self, investigation: &Investigation, node: &Node) -> Vec<NodeId> {
        let children = investigation.committed_children(&node.id).map(|(child, _)| child);
        let refuting = children.filter(|child| {
            // Emptying a refutation does not take it back.
            let says_why = |it: &Classification| {
                let first = it.amended.iter().find_map(|amendment| amendment.findings.as_deref());
                !says_nothing(&it.findings) || first.is_some_and(|first| !says_nothing(first))
            };
            self.refutes(child) && child.classification.as_ref().is_some_and(says_why)
        });
        refuting.map(|child| child.id.clone()).collect()
    }

    /// Whether the ruleset has the end wait for a confirmation of this answer, or of a better one than there is.
    pub fn lacks_confirmation(&self, investigation: &Investigation, node: &Node) -> bool {
        let Some(asked) = &self.ruleset().verification else { return false };
        self.lacks(asked, Enforcement::Reject, investigation, node).is_some()
    }

    /// Returns the confirmation that an answer lacks under that enforcement, with the one it has, and who could give it.
    /// Refuted answers need none, and no other node does.
    fn lacks(
        &self,
        asked: &Verification,
        enforcement: Enforcement,
        investigation: &Investigation,
        node: &Node,
    ) -> Option<(Code, Grade, &'static str)> {
        let is_answer = node.state().is_some_and(|state| self.role(state) == Role::Solution);
        if !is_answer || !self.refuted_by(investigation, node).is_empty() {
            return None;
        }
        let grade = self.grade(investigation, node);
        if asked.confirmed == enforcement && !grade.is_confirmed() {
            Some((Code::UnconfirmedAnswer, grade, "another agent, or a person,"))
        } else if asked.independent == enforcement && grade != Grade::Independent {
            Some((Code::NotIndependent, grade, "an agent in another session, or a person,"))
        } else {
            None
        }
    }

    /// Whether it ever said that its parent is wrong. Turning that round is not an attack on the answer: a new child is.
    fn has_refuted(&self, classification: &Classification) -> bool {
        let later = classification.reclassified.iter().map(|change| &change.to);
        let mut states = std::iter::once(&classification.state).chain(later);
        let refutes = |state| self.ruleset().state(state).is_some_and(|state| state.refutes);
        classification.refutes || states.any(refutes)
    }

    /// Whether the state is a dead end of its own, and not the end of the answer above.
    pub fn is_dead_end(&self, state: &StateName) -> bool {
        self.ruleset().state(state).is_some_and(|state| state.role == Role::DeadEnd && !state.refutes)
    }

    /// Whether the node has a state in which others confirm their parents, and says that its own is wrong.
    pub fn is_refutation(&self, node: &Node) -> bool {
        node.state().is_some_and(|state| self.role(state) == Role::Confirmation) && self.refutes(node)
    }

    /// Whether the node says that its parent is wrong: by its state, or closed and with `refutes`.
    fn refutes(&self, node: &Node) -> bool {
        let Some(classification) = &node.classification else { return false };
        let Some(state) = self.ruleset().state(classification.current_state()) else { return false };
        state.refutes || (classification.refutes && state.terminal)
    }
}

/// Returns the worth of one confirmation of an answer. It applies to the text of that time: an answer amended since is not
/// confirmed. And an author who changes the text of a confirmation confirms as well.
fn grade(answer: &Classification, others: &[Who<'_>], confirmation: &Classification) -> Grade {
    let (by, text) = author(confirmation);
    if answer.amended.last().is_some_and(|amendment| confirmation.current_since() <= amendment.at) {
        return Grade::None;
    }
    match text {
        Text::Findings(findings) if says_nothing(findings) => return Grade::None,
        // Making a node a confirmation with no more than a reason is not a check.
        Text::Change(evidence) if evidence.is_none_or(says_nothing) => return Grade::SelfChecked,
        Text::Findings(_) | Text::Change(_) => {}
    }
    let of_findings = |part| !matches!(part, "title" | "headline");
    let amended = confirmation.amended.iter().filter(|amendment| amendment.parts().any(of_findings));
    let also = amended.map(|amendment| Who::of(amendment.agent_id.as_deref(), &amendment.caller));
    std::iter::once(by).chain(also).map(|who| who.apart_from(others)).min().unwrap_or_default()
}

/// Returns all authors of a node's claims, up to a moment if one is given: of its commit, of its last state set by hand, of
/// amendments of more than the title, and of changes to its file by hand, at whatever moment.
pub(crate) fn writers<'a>(
    investigation: &'a Investigation,
    node: &'a Node,
    until: Option<Timestamp>,
) -> Vec<Who<'a>> {
    let Some(classification) = &node.classification else { return Vec::new() };
    let by_hand = investigation.by_hand().writers.get(&node.id).into_iter().flatten();
    let is_before = |at: Timestamp| until.is_none_or(|until| at <= until);
    let given =
        classification.reclassified.iter().rev().find(|it| it.by.child().is_none() && is_before(it.at));
    let amended = classification.amended.iter();
    let amended = amended.filter(|it| is_before(it.at) && it.parts().any(|part| part != "title"));
    std::iter::once(Who::of(classification.agent_id.as_deref(), &classification.caller))
        .chain(given.map(|change| Who::of(change.by.agent(), &change.caller)))
        .chain(amended.map(|it| Who::of(it.agent_id.as_deref(), &it.caller)))
        .chain(by_hand.map(|caller| Who::of(None, caller)))
        .collect()
}

/// An author, as far as callers identify themselves.
#[derive(Clone, Copy)]
pub(crate) struct Who<'a> {
    agent: Option<&'a str>,
    /// The client or command of the call, also where a person acts for an agent.
    pub(crate) caller: &'a Caller,
}

impl<'a> Who<'a> {
    pub(crate) fn of(agent: Option<&'a str>, caller: &'a Caller) -> Self {
        Who { agent, caller }
    }

    /// The distance of a caller from the authors of a text.
    pub(crate) fn apart_from(self, others: &[Who<'_>]) -> Grade {
        if self.is_disowned() || others.iter().any(Who::is_disowned) {
            Grade::None
        } else if !self.has_name() || others.iter().any(|other| self.is(other)) {
            Grade::SelfChecked
        } else if others.iter().all(|other| self.is_elsewhere(other)) {
            Grade::Independent
        } else if others.iter().any(Who::has_name) {
            Grade::SecondAgent
        } else {
            Grade::SelfChecked
        }
    }

    /// Whether git contradicts the stated author: it may be anybody.
    fn is_disowned(&self) -> bool {
        self.caller.disowned.is_some()
    }

    /// Whether any author is stated.
    pub(crate) fn has_name(&self) -> bool {
        self.agent.is_some() || self.caller.person.is_some()
    }

    /// The person, where no agent did it.
    pub(crate) fn person_alone(&self) -> Option<&'a Person> {
        self.caller.person.as_ref().filter(|_| self.agent.is_none())
    }

    /// Whether both are one author. A person who names an agent stays that person. An address, if known, decides: a name is
    /// written in many ways.
    pub(crate) fn is(&self, other: &Who<'_>) -> bool {
        let is_same = |a: &str, b: &str| a.trim().eq_ignore_ascii_case(b.trim());
        match (self.agent, other.agent, &self.caller.person, &other.caller.person) {
            (Some(a), Some(b), ..) => is_same(a, b),
            (.., Some(a), Some(b)) => match (&a.email, &b.email) {
                (Some(a), Some(b)) => is_same(a, b),
                _ => is_same(&a.name, &b.name),
            },
            _ => false,
        }
    }

    /// Whether both are of one known session.
    pub(crate) fn shares_session(&self, other: &Who<'_>) -> bool {
        self.caller.session.is_some() && self.caller.session == other.caller.session
    }

    /// Whether neither can have dictated the other's work: they are in different sessions, or one is a person.
    fn is_elsewhere(&self, other: &Who<'_>) -> bool {
        let sessions = (&self.caller.session, &other.caller.session);
        self.person_alone().is_some()
            || other.person_alone().is_some()
            || matches!(sessions, (Some(own), Some(other)) if own != other)
    }
}

/// The text that came with a state.
pub(crate) enum Text<'a> {
    Findings(&'a str),
    /// The evidence of a later change of state.
    Change(Option<&'a str>),
}

/// The author of the node's state in force, and the text that came with it. A child that changed the state gave no text: then the
/// author is the one who committed the node.
pub(crate) fn author(classification: &Classification) -> (Who<'_>, Text<'_>) {
    let committed = Who::of(classification.agent_id.as_deref(), &classification.caller);
    let Some(change) = classification.reclassified.last() else {
        return (committed, Text::Findings(&classification.findings));
    };
    if change.by.child().is_some() {
        return (committed, Text::Findings(&classification.findings));
    }
    let text = Text::Change(change.evidence.as_deref());
    (Who::of(change.by.agent(), &change.caller), text)
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
        Enforcement::Warn => Some(format!("{what}; an end without that triggers a warning.")),
        Enforcement::Reject => Some(format!("{what} before the end.")),
    };
    each.into_iter().filter_map(sentence).collect()
}

fn blockers(investigation: &Investigation, rules: &EffectiveRules, blockers: &mut Blockers) {
    blockers.extend(missing(investigation, rules, Enforcement::Reject));
}

fn end_warnings(investigation: &Investigation, rules: &EffectiveRules) -> Vec<Diagnostic> {
    missing(investigation, rules, Enforcement::Warn)
}

/// The answers that lack a confirmation for which the ruleset has that enforcement.
fn missing(investigation: &Investigation, rules: &EffectiveRules, asked: Enforcement) -> Vec<Diagnostic> {
    let Some(verification) = &rules.ruleset().verification else { return Vec::new() };
    let lacking = investigation.committed().filter_map(|(node, state)| {
        let (code, grade, by) = rules.lacks(verification, asked, investigation, node)?;
        let message = format!("{} is {state} and {}.", node.id, grade.label());
        let how = format!("Let {by} try to refute it, and commit a child with the result.");
        Some(Diagnostic::new(code, message).about(&node.id).suggest(how))
    });
    lacking.collect()
}
