//! Confirmation: nodes that wait for a child to confirm or refute them.

use std::sync::Arc;

use crate::domain::{
    Author, Change, Classification, Investigation, Node, Reclassification, StateName, Timestamp, Transition,
};
use crate::ruleset::EffectiveRules;

/// Every change of a waiting parent that its children's states bring about, deepest first; a parent that moves may
/// itself move its own parent.
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
    // From the deepest round up, each node that waits is looked at once: a child has moved before its parent is asked.
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

/// The change of one waiting node that the first deciding child brings about.
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
    after.classification.as_mut()?.reclassified.push(Reclassification {
        from: from.clone(),
        to: becomes.clone(),
        at,
        by: Author::Child(child.clone()),
        reason: None,
        evidence: None,
        verification_method: None,
        alternatives_considered: Vec::new(),
        warnings: Vec::new(),
    });
    Some(Transition { node: Arc::new(after), from, to: becomes, by: Some(child) })
}

/// The time to write beside a new state of a node: now, or later where the clock has been set back. What came first
/// decides whether a child confirms its parent, so a state is never older than the one that it follows, or than its
/// children's; and always younger than that of a parent that was changed before.
pub(super) fn stamp(investigation: &Investigation, node: &Node, now: Timestamp) -> Timestamp {
    let since = |node: &Node| node.classification.as_ref().map(Classification::current_since);
    let children = investigation.committed_children(&node.id).filter_map(|(child, _)| since(child));
    let parent = node.parent.as_ref().and_then(|parent| investigation.committed_node(parent));
    let parent = parent.and_then(|parent| parent.classification.as_ref());
    let parent = parent.filter(|parent| !parent.reclassified.is_empty());
    let after_parent = parent.map(|parent| parent.current_since().next());
    children.chain(since(node)).chain(after_parent).fold(now, Timestamp::max)
}

/// Whether the child was classified since its parent last became pending. A child of a node that was committed as
/// pending always was; one of a node that came back to it must be later than that.
fn since_pending(parent: &Classification, child: &Classification) -> bool {
    parent.reclassified.is_empty() || child.current_since() > parent.current_since()
}
