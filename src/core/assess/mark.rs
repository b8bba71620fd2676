//! What a node is, for display. All surfaces show the same label, sign and colour.

use super::{Assessment, Verdict};
use crate::domain::{Node, NodeId};
use crate::ruleset::rules::states;
use crate::ruleset::rules::verification::Confirming;
use crate::ruleset::{EffectiveRules, Role};

/// What a node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeMark<'n> {
    /// The role of its state. `None` for a proposal, or without rules.
    pub role: Option<Role>,
    /// The node that it refutes.
    pub refutes: Option<&'n NodeId>,
    /// The verdict on an answer or a refuted node.
    pub verdict: Option<Verdict>,
    /// What it is worth as a confirmation.
    pub confirms: Option<Verdict>,
    /// The label of its state, `Proposed`, or `refutes R1.A`.
    pub label: String,
}

impl<'n> NodeMark<'n> {
    /// Returns the mark of a node as it is or was, without a verdict.
    pub fn new(rules: Option<&EffectiveRules<'_>>, node: &'n Node) -> NodeMark<'n> {
        let refutes = rules.and_then(|rules| rules.refuting(node));
        NodeMark::of(rules, node, refutes)
    }

    fn of(rules: Option<&EffectiveRules<'_>>, node: &'n Node, refutes: Option<&'n NodeId>) -> NodeMark<'n> {
        let label = match (refutes, node.state()) {
            (Some(refuted), _) => format!("refutes {refuted}"),
            (None, Some(state)) => states::label(rules, state),
            (None, None) => "Proposed".to_owned(),
        };
        let role = rules.zip(node.state()).map(|(rules, state)| rules.role(state));
        NodeMark { role, refutes, verdict: None, confirms: None, label }
    }

    /// Returns the verdict that its colour follows.
    pub fn shade(&self) -> Option<Verdict> {
        self.verdict.or(self.confirms)
    }

    /// Returns a sign to accompany the colour. May be empty.
    pub fn sign(&self) -> &'static str {
        match (self.refutes, self.verdict) {
            (Some(_), _) => "✗",
            (None, verdict) => verdict.map_or("", Verdict::sign),
        }
    }

    /// Returns the label, and the verdict if that speaks against the node: `Answer, contested`.
    pub fn words(&self) -> String {
        match self.verdict.filter(|verdict| *verdict <= Verdict::Contested) {
            Some(verdict) => format!("{}, {}", self.label, verdict.label()),
            None => self.label.clone(),
        }
    }
}

impl Assessment<'_> {
    /// Returns what a node is.
    pub fn mark<'n>(&self, node: &'n Node) -> NodeMark<'n> {
        let above = node.parent.as_ref().and_then(|parent| self.answer(parent));
        // A refutation that only the author of the answer took back has another state, but still counts.
        let counts = above.is_some_and(|answer| answer.refuted_by.contains(&node.id));
        let rules = self.rules.as_ref();
        let refutes = rules.and_then(|rules| rules.refuting(node));
        let refutes = refutes.or_else(|| node.parent.as_ref().filter(|_| counts));
        let confirms = above.and_then(|answer| answer.confirming.iter().find(|by| by.node == node.id));
        NodeMark {
            verdict: self.verdict_of(&node.id),
            confirms: confirms.filter(|_| refutes.is_none()).map(Confirming::verdict),
            ..NodeMark::of(rules, node, refutes)
        }
    }
}
