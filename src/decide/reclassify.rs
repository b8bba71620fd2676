//! `tot_reclassify`: a committed node's state is revived, corrected or given up.

use std::sync::Arc;

use super::commit::known_state;
use super::confirm::{confirmations, stamp};
use super::secrets::Findings;
use super::{Decision, Rejection, check_lengths, not_blank, quoted, stored};
use crate::domain::{
    Author, Change, Code, Diagnostic, Event, Investigation, Node, NodeId, Reclassification, StateName,
    Timestamp, Transition,
};
use crate::ruleset::{EffectiveRules, effective};

/// What an agent asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reclassify {
    /// The node, not yet checked.
    pub node_id: String,
    /// The state it shall have, not yet checked.
    pub new_state: String,
    /// Why.
    pub reason: Option<String>,
    /// Who asks.
    pub agent_id: Option<String>,
    /// What proves it.
    pub evidence: Option<String>,
    /// How it was verified.
    pub verification_method: Option<String>,
    /// What else was considered.
    pub alternatives_considered: Vec<String>,
}

/// Judges a change of state. A node that already has the state is left as it is: a decision without an event.
///
/// # Errors
///
/// `NODE_NOT_FOUND`, `UNKNOWN_STATE`, `HAS_CHILDREN`, `INVALID_CHILD_STATE`, `TEXT_TOO_LONG`, and
/// `INVESTIGATION_ENDED` where the change would not open an ended investigation again.
pub fn reclassify(
    investigation: &Investigation,
    rules: &EffectiveRules,
    request: Reclassify,
    now: Timestamp,
) -> Result<Decision, Rejection> {
    let about = request.node_id.clone();
    let found = about.parse::<NodeId>().ok().and_then(|id| investigation.node(&id));
    let Some((node, from)) = found.and_then(|node| Some((node, node.state()?))) else {
        let message = match found {
            Some(_) => format!("{about} is only proposed; it has no state yet."),
            None => format!("There is no node {}.", quoted(&about)),
        };
        return Err(Diagnostic::new(Code::NodeNotFound, message)
            .about(&about)
            .suggest("Use the id of a committed node; a pending proposal is committed with tot_commit.")
            .into());
    };
    let to = known_state(rules, &request.new_state, &about)?;
    if &to == from {
        return Ok(Decision { event: None, warnings: Vec::new() });
    }
    let mut errors = Vec::new();
    let ended = investigation.conclusion().is_some();
    if ended && rules.is_terminal(&to) {
        errors.push(
            Diagnostic::new(
                Code::InvestigationEnded,
                format!("This investigation has ended; {to} would not open it again."),
            )
            .about(&about)
            .suggest("Reclassify a node to an open state first."),
        );
    }
    check_tree(investigation, rules, node, &to, &mut errors);
    check_lengths(&about, texts(&request), &mut errors);
    let mut secrets = Findings::default();
    secrets.check(rules.secrets(), &about, texts(&request));
    errors.append(&mut secrets.errors);
    Rejection::unless_empty(errors)?;
    let mut warnings = around_the_rules(rules, node, &to, request.evidence.as_deref());
    warnings.append(&mut secrets.warnings);
    let from = from.clone();
    let mut after = Node::clone(node);
    if let Some(classification) = &mut after.classification {
        classification.reclassified.push(Reclassification {
            from: from.clone(),
            to: to.clone(),
            at: stamp(investigation, node, now),
            by: not_blank(request.agent_id).map_or(Author::Unknown, Author::Agent),
            reason: not_blank(request.reason),
            evidence: not_blank(request.evidence),
            verification_method: not_blank(request.verification_method),
            alternatives_considered: request.alternatives_considered,
            warnings: warnings.iter().map(stored).collect(),
        });
    }
    let after = Arc::new(after);
    let next = investigation.with(&[Change::Node(Arc::clone(&after))]);
    let transitions = confirmations(&next, rules, now);
    let transition = Transition { node: after, from, to, by: None };
    Ok(Decision { event: Some(Event::Reclassified { transition, transitions, reopened: ended }), warnings })
}

/// Every text of a request, with the name of its field.
fn texts(request: &Reclassify) -> impl Iterator<Item = (&str, &str)> {
    let optional = [
        ("reason", &request.reason),
        ("evidence", &request.evidence),
        ("verificationMethod", &request.verification_method),
        ("agentId", &request.agent_id),
    ];
    let alternatives = request.alternatives_considered.iter();
    optional
        .into_iter()
        .filter_map(|(field, text)| Some((field, text.as_deref()?)))
        .chain(alternatives.map(|text| ("alternativesConsidered", text.as_str())))
}

/// Whether the tree can hold the state: below its parent, and above its children.
fn check_tree(
    investigation: &Investigation,
    rules: &EffectiveRules,
    node: &Node,
    to: &StateName,
    errors: &mut Vec<Diagnostic>,
) {
    if rules.is_terminal(to) {
        let children: Vec<&NodeId> = investigation.children(&node.id).map(|child| &child.id).collect();
        let pending = investigation.children(&node.id).filter(|child| child.is_pending()).count();
        if !children.is_empty() {
            let shown = effective::list(children.iter().take(5));
            let more = match children.len() {
                0..=5 => String::new(),
                many => format!(" and {} more", many - 5),
            };
            let suggestion = match pending == children.len() {
                true => "They are only proposed: take them back first, with tot_propose's `withdraw`.",
                false => "A node with committed children stays open: close its last descendants instead.",
            };
            errors.push(
                Diagnostic::new(
                    Code::HasChildren,
                    format!("{} has children ({shown}{more}), and {to} takes none.", node.id),
                )
                .about(&node.id)
                .suggest(suggestion),
            );
        }
    } else {
        for (child, state) in
            investigation.committed_children(&node.id).filter(|(_, state)| !rules.allows_child(to, state))
        {
            errors.push(
                Diagnostic::new(
                    Code::InvalidChildState,
                    format!("{} can't be {to} above {}, which is {state}.", node.id, child.id),
                )
                .about(&node.id)
                .suggest(format!(
                    "Allowed under {to}: {}.",
                    effective::list(rules.child_states(to).unwrap_or_default())
                )),
            );
        }
    }
    let parent = node.parent.as_ref().and_then(|parent| investigation.node(parent));
    if let Some(parent) = parent
        && let Some(state) = parent.state()
        && !rules.allows_child(state, to)
    {
        errors.push(
            Diagnostic::new(
                Code::InvalidChildState,
                format!("{} can't be {to} under {}, which is {state}.", node.id, parent.id),
            )
            .about(&node.id)
            .suggest(format!(
                "Allowed under {state}: {}.",
                effective::list(rules.child_states(state).unwrap_or_default())
            )),
        );
    }
}

/// A reclassify may go around the depth and evidence rules, but not unseen.
fn around_the_rules(
    rules: &EffectiveRules,
    node: &Node,
    to: &StateName,
    evidence: Option<&str>,
) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    if rules.early_rule(to, node.round()).is_some() {
        warnings.push(
            Diagnostic::new(
                Code::EarlyState,
                match rules.first_round_from(to, node.round()) {
                    Some(first) => format!(
                        "{} became {to} in round {}; a commit could have had it from round {first}.",
                        node.id,
                        node.round()
                    ),
                    None => format!("{} became {to}, which no commit could have had.", node.id),
                },
            )
            .about(&node.id),
        );
    }
    if let Some(least) = rules.evidence(to) {
        let held = node.classification.iter().flat_map(|classification| {
            classification
                .evidence
                .iter()
                .chain(classification.reclassified.iter().filter_map(|change| change.evidence.as_ref()))
        });
        let enough = |text: &str| text.trim().chars().count() >= least as usize;
        if !evidence.is_some_and(enough) && !held.into_iter().any(|text| enough(text)) {
            warnings.push(
                Diagnostic::new(
                    Code::MissingEvidence,
                    format!(
                        "{} became {to} without the {least} characters of evidence that a commit needs.",
                        node.id
                    ),
                )
                .about(&node.id)
                .suggest("Give `evidence` with the reclassify."),
            );
        }
    }
    warnings
}
