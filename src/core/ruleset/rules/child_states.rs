//! `states.childStates`: all states that a child of a node in this state may have.
//!
//! ```yaml
//! - {name: ROOT_CAUSE, meaning: It fits, role: awaitingConfirmation, colour: orange, children: [{min: 1}], childStates: [EVIDENCE, REFUTED, HYPOTHESIS]}
//! ```

use std::fmt;

use super::states::State;
use super::{
    CallDiagnostics, ReclassificationCheck, ResultCheck, RuleKind, SILENT, StoredFact, Verb, Violation,
};
use crate::domain::{Code, Node, StateName};
use crate::ruleset::Ruleset;
use crate::ruleset::effective::{EffectiveRules, list};
use crate::ruleset::validity::Problems;

/// The allowed states of children.
pub type ChildStates = Vec<StateName>;

/// Reports `INVALID_CHILD_STATE`.
pub(super) const KIND: RuleKind = RuleKind {
    key: "states.childStates",
    errors: &[(Verb::Commit, Code::InvalidChildState), (Verb::Reclassify, Code::InvalidChildState)],
    problems,
    of_state,
    commit,
    reclassify,
    placement,
    ..SILENT
};

impl<'a> EffectiveRules<'a> {
    /// Returns whether a child in state `child` is allowed below a parent in state `parent`.
    pub fn allows_child(&self, parent: &StateName, child: &StateName) -> bool {
        self.child_states(parent).is_none_or(|allowed| allowed.contains(child))
    }

    /// Returns the allowed states for children of a parent in this state; `None` if all states are allowed.
    pub fn child_states(&self, parent: &StateName) -> Option<&'a [StateName]> {
        self.ruleset.state(parent)?.child_states.as_deref()
    }
}

fn problems(ruleset: &Ruleset, problems: &mut Problems) {
    for (at, state) in ruleset.states.iter().enumerate() {
        let Some(allowed) = &state.child_states else { continue };
        let name = &state.name;
        problems.item = Some(at);
        if state.terminal {
            let reason = format!("{name} is terminal and can't have children");
            problems.add("childStates", reason, "leave childStates out, or terminal");
        }
        if allowed.is_empty() {
            let reason = format!("{name} allows no child at all");
            problems.add("childStates", reason, "leave childStates out to allow any");
        }
        for of in state.children.iter().filter_map(|children| children.of.as_ref()) {
            if !of.iter().any(|one| allowed.contains(one)) {
                let reason = format!("{name} requires children in states that its childStates do not allow");
                problems.add("childStates", reason, "add them to childStates");
            }
        }
        problems.check_states(ruleset, allowed);
    }
}

fn of_state(_: &EffectiveRules, state: &State) -> Vec<String> {
    let sentence = |allowed| format!("Its children may be {}.", list(allowed));
    state.child_states.as_ref().map(sentence).into_iter().collect()
}

/// Describes that a node can't be in a state below this parent.
fn not_under(node: &Node, state: impl fmt::Display, parent: &Node, above: &StateName) -> String {
    format!("{} can't be {state} under {}, which is {above}.", node.id, parent.id)
}

/// Lists the states allowed below `parent`: `Allowed under FOUND: VERIFY.`
fn allowed_under(rules: &EffectiveRules, parent: &StateName) -> String {
    format!("Allowed under {parent}: {}.", list(rules.child_states(parent).unwrap_or_default()))
}

/// Rechecks the state, because the parent may have changed since the proposal.
fn commit(result: &ResultCheck, diagnostics: &mut CallDiagnostics) {
    let (rules, node, state) = (result.rules, result.node, &result.stored.state);
    let Some(parent) = node.parent.as_ref().and_then(|parent| result.investigation.node(parent)) else {
        return;
    };
    if let Some(above) = parent.state().filter(|above| !rules.allows_child(above, state)) {
        let stored = match &result.stored.requested_state {
            None => String::new(),
            Some(asked) => format!(" (stored for {asked} in round {})", node.round()),
        };
        let message = not_under(node, format_args!("{state}{stored}"), parent, above);
        diagnostics.refuse(Code::InvalidChildState, &node.id, message, allowed_under(rules, above));
    }
}

/// Checks the new state against the node's children and its parent.
fn reclassify(change: &ReclassificationCheck, diagnostics: &mut CallDiagnostics) {
    let (investigation, rules, node, to) =
        (change.investigation, change.rules, change.node, &change.stored.to);
    let mut refuse = |message: String, allowing: &StateName| {
        diagnostics.refuse(Code::InvalidChildState, &node.id, message, allowed_under(rules, allowing));
    };
    for (child, state) in investigation.committed_children(&node.id) {
        if !rules.allows_child(to, state) {
            refuse(format!("{} can't be {to} above {}, which is {state}.", node.id, child.id), to);
        }
    }
    let parent = node.parent.as_ref().and_then(|parent| investigation.node(parent));
    if let Some(parent) = parent
        && let Some(state) = parent.state()
        && !rules.allows_child(state, to)
    {
        refuse(not_under(node, to, parent, state), state);
    }
}

fn placement(rules: &EffectiveRules, node: &Node, parent: &Node) -> Option<Violation> {
    let own = node.state()?;
    let above = parent.state().filter(|above| !rules.allows_child(above, own))?;
    let place = StoredFact::Node(node.id.clone(), "state");
    let message = not_under(node, own, parent, above);
    let violation = Violation::error(place, Code::InvalidChildState, message).unless_merged();
    Some(violation.suggest(allowed_under(rules, above)))
}
