//! `confirmations`: a node in `state` (role `awaitingConfirmation`) changes when a child reaches a state listed as
//! `child` in `outcomes`: in the same commit, the node `becomes` the state given there. The first such child decides.
//! Children older than the node's current wait don't count. Who may confirm an answer is the rule of `verification`.
//!
//! ```yaml
//! confirmations:
//! - {state: ROOT_CAUSE, outcomes: [{child: EVIDENCE, becomes: CONFIRMED}, {child: REFUTED, becomes: HYPOTHESIS}]}
//! ```

use std::collections::HashSet;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::children::Lacking;
use super::states::{Role, State};
use super::{RuleKind, SILENT, StoredFact, Verb, Violation, committed};
use crate::domain::{
    Author, Change, ClaimHash, Classification, Code, Diagnostic, Investigation, Node, NodeId,
    Reclassification, StateName, Timestamp, Transition, Wording,
};
use crate::ruleset::Ruleset;
use crate::ruleset::effective::{EffectiveRules, list};
use crate::ruleset::validity::Problems;

/// A state that waits for a child to confirm or refute it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Confirmation {
    /// The waiting state.
    pub state: StateName,
    /// The effects of child states on the waiting state. The first such child decides.
    pub outcomes: Vec<ConfirmationOutcome>,
}

/// The effect of a child's state on a waiting parent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Outcome")]
pub struct ConfirmationOutcome {
    /// The child's state.
    pub child: StateName,
    /// The parent's new state.
    pub becomes: StateName,
}

/// Reports `AWAITING_CONFIRMATION`.
pub(super) const KIND: RuleKind = RuleKind {
    key: "confirmations",
    errors: &[(Verb::End, Code::AwaitingConfirmation)],
    problems,
    of_state,
    end,
    blockers,
    stored_checks,
    ..SILENT
};

impl<'a> EffectiveRules<'a> {
    /// Returns the confirmation rule for a waiting state.
    pub fn confirmation(&self, state: &StateName) -> Option<&'a Confirmation> {
        self.ruleset.confirmations.iter().find(|confirmation| &confirmation.state == state)
    }

    /// Returns the parent's claim, for the author of a state that may confirm it, now or once a child has changed it.
    pub fn seen(&self, investigation: &Investigation, node: &Node, state: &StateName) -> Option<ClaimHash> {
        let mut confirmations = self.ruleset.confirmations.iter();
        let is_outcome = |it: &Confirmation| {
            it.outcomes.iter().any(|outcome| outcome.child == *state) || it.state == *state
        };
        let may_confirm = self.role(state) == Role::Confirmation || confirmations.any(is_outcome);
        let parent = node.parent.as_ref().filter(|_| may_confirm)?;
        investigation.node(parent)?.claim_hash()
    }

    /// Returns the nodes that verify a solution: children in a confirming role, and the child that promoted the
    /// solution.
    pub fn verified_by(&self, investigation: &Investigation, node: &Node) -> Vec<NodeId> {
        let confirming = investigation
            .committed_children(&node.id)
            .filter(|(_, state)| self.role(state) == Role::Confirmation)
            .map(|(child, _)| child.id.clone());
        let promoted = self.promoted_by(investigation, node);
        let mut by: Vec<NodeId> = confirming.chain(promoted).collect();
        by.sort();
        by.dedup();
        by
    }

    /// Returns the child that promoted the node, if that child's state still has this effect.
    fn promoted_by(&self, investigation: &Investigation, node: &Node) -> Option<NodeId> {
        let classification = node.classification.as_ref()?;
        let last = classification.reclassified.last()?;
        let child = classification.promoted_by()?;
        let state = investigation.committed_node(child)?.state()?;
        let outcomes = &self.confirmation(&last.from)?.outcomes;
        outcomes.iter().any(|it| it.becomes == last.to && &it.child == state).then(|| child.clone())
    }
}

fn problems(ruleset: &Ruleset, problems: &mut Problems) {
    let mut waiting = HashSet::new();
    for (at, confirmation) in ruleset.confirmations.iter().enumerate() {
        let name = &confirmation.state;
        problems.item = Some(at);
        if !waiting.insert(name) {
            problems.add(name, format!("{name} has two rules"), "put all its outcomes into one rule");
        }
        if confirmation.outcomes.is_empty() {
            let reason = format!("{name} waits for an outcome, but none is named");
            problems.add("outcomes", reason, "add `{child: …, becomes: …}`");
        }
        let state = ruleset.state(name);
        if state.is_some_and(|state| state.terminal) {
            let reason = format!("{name} is terminal and takes no child that could confirm it");
            problems.add(name, reason, "leave `terminal: true` out of that state");
        }
        if let Some(state) = state.filter(|state| state.role != Role::AwaitingConfirmation) {
            let reason = format!("{name} awaits confirmation, but its role is {}", state.role.label());
            problems.add(name, reason, "give that state `role: awaitingConfirmation`");
        }
        for outcome in &confirmation.outcomes {
            let (child, becomes) = (&outcome.child, &outcome.becomes);
            if becomes == name {
                let reason = format!("{name} would not change");
                problems.add("outcomes", reason, "name another state under becomes");
            }
            let allowed = state.and_then(|state| state.child_states.as_ref()).filter(|some| !some.is_empty());
            if allowed.is_some_and(|allowed| !allowed.contains(child)) {
                let reason = format!("{name} allows no {child} child that could make it {becomes}");
                problems.add(child, reason, "add it to that state's childStates");
            }
            // A parent that allows the waiting state must also allow the states that replace it. The replacement states
            // must allow the children that exist by then.
            for parent in &ruleset.states {
                let allows = |one| parent.child_states.as_ref().is_none_or(|allowed| allowed.contains(one));
                if allows(name) && !allows(becomes) {
                    let reason =
                        format!("{name} may become {becomes} below {}, which does not allow it", parent.name);
                    problems.add(becomes, reason, "add it to the childStates of that parent");
                }
            }
            if let Some(after) = ruleset.state(becomes).and_then(|state| state.child_states.as_ref()) {
                let had = ruleset.states.iter().map(|state| &state.name);
                let had = had.filter(|one| allowed.is_none_or(|allowed| allowed.contains(one)));
                if let Some(child) = had.into_iter().find(|one| !after.contains(one)) {
                    let reason = format!("{name} may have a {child} child, which {becomes} does not allow");
                    problems.add(becomes, reason, "give both states the same childStates");
                }
            }
        }
        let named = confirmation.outcomes.iter().flat_map(|outcome| [&outcome.child, &outcome.becomes]);
        problems.check_states(ruleset, std::iter::once(name).chain(named));
    }
    problems.key = "states";
    for (at, state) in ruleset.states.iter().enumerate() {
        if state.role == Role::AwaitingConfirmation && !waiting.contains(&state.name) {
            let reason = format!("{} awaits confirmation, but has no rule under `confirmations`", state.name);
            problems.item = Some(at);
            problems.add("role", reason, "add one, or give it another role");
        }
    }
}

fn of_state(rules: &EffectiveRules, state: &State) -> Vec<String> {
    let outcomes = rules.confirmation(&state.name).into_iter().flat_map(|it| &it.outcomes);
    outcomes.map(|outcome| format!("A child in {} makes it {}.", outcome.child, outcome.becomes)).collect()
}

fn end(rules: &EffectiveRules) -> Option<String> {
    let any = !rules.ruleset().confirmations.is_empty();
    any.then(|| "No node awaits confirmation.".to_owned())
}

fn blockers(investigation: &Investigation, rules: &EffectiveRules, _: &[Lacking]) -> Vec<Diagnostic> {
    let blocker = |(node, state): (&Arc<Node>, &StateName)| {
        let outcomes = rules.confirmation(state)?.outcomes.iter();
        let outcomes = list(outcomes.map(|it| format!("{} makes it {}", it.child, it.becomes)));
        let message = format!("{} is {state}: no child has confirmed or refuted it.", node.id);
        let how = Wording::both("reclassify it", "change its state with `tot amend --state`")
            .map(|or| format!("Commit a child below it ({outcomes}), or {or}."));
        Some(Diagnostic::new(Code::AwaitingConfirmation, message).about(&node.id).suggest(how))
    };
    investigation.committed().filter_map(blocker).collect()
}

/// Returns all state changes that children cause in waiting parents, deepest first. A changed parent may in turn change
/// its own parent.
pub fn confirmations(
    investigation: &Investigation,
    rules: &EffectiveRules,
    now: Timestamp,
) -> Vec<Transition> {
    let mut transitions = Vec::new();
    if rules.ruleset().confirmations.is_empty() {
        return transitions;
    }
    let mut current = investigation.clone();
    // Each waiting node is visited once, from the deepest round up, so children change before their parents.
    let waiting = investigation.committed().rev().filter(|(_, state)| rules.confirmation(state).is_some());
    let ids: Vec<_> = waiting.map(|(node, _)| node.id.clone()).collect();
    for id in ids {
        let moved = current.committed_node(&id).and_then(|node| decided(&current, rules, node, now));
        if let Some(transition) = moved {
            current = current.with(&[Change::Node(Arc::clone(&transition.node))]);
            transitions.push(transition);
        }
    }
    transitions
}

/// Returns the state change that the first deciding child causes in a waiting node.
fn decided(
    investigation: &Investigation,
    rules: &EffectiveRules,
    node: &Node,
    now: Timestamp,
) -> Option<Transition> {
    let classification = node.classification.as_ref()?;
    let state = classification.current_state();
    let confirmation = rules.confirmation(state)?;
    let mut children: Vec<(&Node, &Classification, &StateName)> = investigation
        .committed_children(&node.id)
        .filter_map(|(child, state)| Some((child.as_ref(), child.classification.as_ref()?, state)))
        .filter(|(_, child, _)| since_pending(classification, child))
        .collect();
    children.sort_by_key(|(child, classified, _)| (classified.committed_at, &child.id));
    let (child, becomes) = children.iter().find_map(|(child, _, state)| {
        let outcome = confirmation.outcomes.iter().find(|outcome| &outcome.child == *state)?;
        Some((child.id.clone(), outcome.becomes.clone()))
    })?;
    let mut after = node.clone();
    let from = state.clone();
    let at = stamp(investigation, node, now);
    let by = Author::Child(child.clone());
    let change = Reclassification { by, ..Reclassification::new(from.clone(), becomes.clone(), at) };
    after.classification.as_mut()?.reclassified.push(change);
    Some(Transition { node: Arc::new(after), from, to: becomes, by: Some(child) })
}

/// Returns the timestamp for a new state: `now`, or later if the clock was set back.
///
/// The order of timestamps decides whether a child confirms its parent. A state is therefore never older than the
/// node's previous state or its children's states, and always newer than earlier changes to its parent's state.
pub fn stamp(investigation: &Investigation, node: &Node, now: Timestamp) -> Timestamp {
    let since = |node: &Node| node.classification.as_ref().map(Classification::current_since);
    let children = investigation.committed_children(&node.id).filter_map(|(child, _)| since(child));
    let parent = node.parent.as_ref().and_then(|parent| investigation.committed_node(parent));
    let parent = parent.and_then(|parent| parent.classification.as_ref());
    let after_parent = parent.and_then(|parent| parent.reclassified.last()).map(|change| change.at.next());
    // Other results count too, because their amendments are ordered together with the node's own.
    let amended = node.results().filter_map(|it| it.amended.last()).map(|amendment| amendment.at);
    children.chain(since(node)).chain(after_parent).chain(amended).fold(now, Timestamp::max)
}

/// Returns whether the child was classified since its parent last became pending. This always holds if the parent was
/// committed as pending. If the parent returned to that state, the child must be newer.
fn since_pending(parent: &Classification, child: &Classification) -> bool {
    parent.reclassified.is_empty() || child.current_since() > parent.current_since()
}

/// Checks for state changes that the child does not support, and for missing ones, which a merge of two clones can cause.
fn stored_checks(investigation: &Investigation, rules: &EffectiveRules, violations: &mut Vec<Violation>) {
    for (node, result) in committed(investigation) {
        for (number, change) in result.reclassified.iter().enumerate() {
            let Some(child) = change.child() else { continue };
            let is_child = child.round() == node.round().saturating_add(1)
                && investigation.children(&node.id).any(|other| &other.id == child);
            let rule = rules.confirmation(&change.from);
            let is_outcome = rule.is_some_and(|rule| rule.outcomes.iter().any(|it| it.becomes == change.to));
            if !is_child || !is_outcome {
                let why = if is_child { "no rule allows this" } else { "that is not its child" };
                let message = format!("{} became {} by {child}, but {why}.", node.id, change.to);
                let place = StoredFact::Change(node.id.clone(), number);
                violations.push(Violation::error(place, Code::NoConfirmation, message));
            }
        }
    }
    for missed in confirmations(investigation, rules, investigation.meta().started_at) {
        let by = missed.by.map(|child| format!(", by {child}")).unwrap_or_default();
        let message = format!("{} is {}, but should be {}{by}.", missed.node.id, missed.from, missed.to);
        let violation = Violation::warning(
            StoredFact::Node(missed.node.id.clone(), "state"),
            Code::ConfirmationDue,
            message,
        );
        let how = "The next `tot commit` or `tot amend --state` corrects it.";
        violations.push(violation.suggest(how.to_owned()));
    }
}
