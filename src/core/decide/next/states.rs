//! The states that a node can get: those allowed at its place, and those that a plan proposes to change it to.

use crate::domain::{Investigation, Node, StateName};
use crate::ruleset::{EffectiveRules, Role, State};

/// The states that one investigation allows.
#[derive(Clone, Copy)]
pub(super) struct States<'a> {
    pub(super) investigation: &'a Investigation,
    pub(super) rules: &'a EffectiveRules<'a>,
}

impl<'a> States<'a> {
    /// Returns the states in which a child of `parent` (or a root) can be committed, in ruleset order.
    pub(super) fn committable(self, parent: Option<&Node>) -> Vec<&'a State> {
        let round = parent.map_or(1, |parent| parent.round().saturating_add(1));
        committable(self.rules, parent.and_then(Node::state), round).collect()
    }

    /// Returns whether the missing children of an open node could be committed in a state that counts.
    pub(super) fn can_be_completed(self, node: &Node) -> bool {
        let of = self.rules.requirement(self.investigation, node).and_then(|requirement| requirement.of);
        self.committable(Some(node)).iter().any(|state| of.is_none_or(|of| of.contains(&state.name)))
    }

    /// Returns whether a limit on closing applies to every closed state of a child of `parent`.
    pub(super) fn is_closing_limited(self, parent: &Node) -> bool {
        let round = parent.round().saturating_add(1);
        let counts = |state: &State| self.rules.counts_as_closed(&state.name, round, parent.state());
        let mut closed = self.committable(Some(parent)).into_iter().filter(|state| state.terminal);
        closed.all(|state| counts(state) == Some(true))
    }

    /// Returns the closed state to which a leaf could be reclassified.
    pub(super) fn closing(self, node: &Node) -> Option<&'a State> {
        let states = self.rules.ruleset().states.iter().filter(|state| state.terminal);
        states.filter(|state| self.is_allowed(state, node)).min_by_key(|state| rank(state.role))
    }

    /// Returns another state that leads toward the conclusion. If that state is open, the node's children can be
    /// committed. Prefers the state that the ruleset would have stored, then open work.
    pub(super) fn instead(self, node: &Node, only_open: bool) -> Option<&'a State> {
        let current = node.state()?;
        let has_children = self.investigation.children(&node.id).next().is_some();
        let early = self.rules.early_rule(current, node.round());
        let stored_as = early.and_then(|rule| rule.store_as.as_ref());
        let states = self.rules.ruleset().states.iter();
        states
            .filter(|state| &state.name != current && state.role != Role::AwaitingConfirmation)
            .filter(|state| !(state.terminal && (has_children || only_open)))
            .filter(|state| self.is_allowed(state, node) && self.can_be_closed(state, node.round()))
            .min_by_key(|state| {
                let is_stored = Some(&state.name) == stored_as;
                (!is_stored, state.role != Role::Open, state.terminal, rank(state.role))
            })
    }

    /// Returns whether a node may have this state, given its parent and children.
    fn is_allowed(self, state: &State, node: &Node) -> bool {
        let parent = node.parent.as_ref().and_then(|parent| self.investigation.node(parent)?.state());
        let mut children = self.investigation.committed_children(&node.id);
        parent.is_none_or(|parent| self.rules.allows_child(parent, &state.name))
            && children.all(|(_, child)| self.rules.allows_child(&state.name, child))
    }

    /// Returns whether a node in this state needs no children, or children that can be committed.
    fn can_be_closed(self, state: &State, round: u32) -> bool {
        let needed = self.rules.required_children(&state.name, round).filter(|(least, _)| *least > 0);
        needed.is_none_or(|(_, of)| {
            let mut children = committable(self.rules, Some(&state.name), round.saturating_add(1));
            children.any(|child| of.is_none_or(|of| of.contains(&child.name)))
        })
    }
}

/// Ranks states for nodes without findings, weakest claim first.
fn rank(role: Role) -> u8 {
    match role {
        Role::DeadEnd => 1,
        Role::Open => 2,
        Role::Exhausted => 3,
        Role::Theory => 4,
        Role::Solution => 5,
        Role::Confirmation => 6,
        Role::AwaitingConfirmation => 7,
    }
}

/// Returns the states in which a child of a node in state `parent` (or a root) can be committed, in ruleset order.
fn committable<'r>(
    rules: &EffectiveRules<'r>,
    parent: Option<&StateName>,
    round: u32,
) -> impl Iterator<Item = &'r State> {
    rules
        .ruleset()
        .states
        .iter()
        .filter(move |state| rules.early_rule(&state.name, round).is_none())
        .filter(move |state| parent.is_none_or(|parent| rules.allows_child(parent, &state.name)))
}
