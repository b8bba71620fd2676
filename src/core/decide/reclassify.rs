//! `tot_reclassify` changes the state of a committed node to revive, correct or abandon it.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::backing::seen;
use super::commit::NewVerification;
use super::{
    Decision, Rejection, check_texts, given, not_blank, refuse_ambiguous, reopened, to_warning, trimmed,
};
use crate::domain::{
    Change, Code, Diagnostic, Event, Investigation, Node, Reclassification, Timestamp, Transition, Wording,
};
use crate::ruleset::EffectiveRules;
use crate::ruleset::rules::confirmation::{confirmations, stamp};
use crate::ruleset::rules::{CallDiagnostics, KINDS, ReclassificationCheck};

/// The unvalidated input of `tot_reclassify`. Agents see the field docs in the schema.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reclassify {
    /// A committed node.
    #[schemars(extend("examples" = ["R4.A1a1"]))]
    pub node_id: String,
    /// The new state.
    pub new_state: String,
    /// The reason.
    pub reason: Option<String>,
    /// The agent that changes it.
    pub agent_id: Option<String>,
    /// The proof.
    pub evidence: Option<String>,
    /// The fields that a result has too.
    #[serde(flatten)]
    pub verification: NewVerification,
}

/// Error codes for rejected state changes, besides those common to all calls and those of the rule kinds.
pub const CODES: &[Code] = &[Code::NodeNotFound, Code::InvestigationEnded];

/// Validates a state change.
///
/// If the node is already in the new state, the decision has an event only if the change settles a contested result, the node
/// depends on a finding or confirms an answer that changed since, or an author took back a refutation of his work.
///
/// # Errors
///
/// Returns `NODE_NOT_FOUND`, `UNKNOWN_STATE`, `HAS_CHILDREN`, `INVALID_CHILD_STATE` or `TEXT_TOO_LONG`. Returns
/// `INVESTIGATION_ENDED` if the change would not reopen an ended investigation.
pub fn reclassify(
    investigation: &Investigation,
    rules: &EffectiveRules,
    request: Reclassify,
    now: Timestamp,
) -> Result<Decision, Rejection> {
    let about = request.node_id.clone();
    refuse_ambiguous(investigation, [about.as_str()])?;
    let found = investigation.find(&about).ok();
    let (Some(node), Some((from, result))) =
        (found, found.and_then(|node| node.state().zip(node.classification.as_ref())))
    else {
        let message = match found {
            Some(_) => format!("{about} is only proposed; it has no state yet."),
            None => investigation.missing(&about),
        };
        return Err(Diagnostic::new(Code::NodeNotFound, message)
            .about(&about)
            .suggest(Wording::both("tot_commit", "`tot commit`").map(|call| {
                format!("Use the id of a committed node; a pending proposal is committed with {call}.")
            }))
            .into());
    };
    let about = node.id.to_string();
    let to = rules.ruleset().state_meant(&request.new_state, &about)?;
    // Whoever depends on a finding that changed since says so again, or confirms an answer that did. What an author took
    // back in vain, others can agree to.
    let is_again = || {
        rules.changed_link(investigation, node).is_some()
            || rules.taken_back(investigation, node).is_some()
            || rules.may_renew(investigation, &node.id)
    };
    if &to == from && !result.is_contested() && !is_again() {
        return Ok(Decision { event: None, warnings: Vec::new() });
    }
    let mut diagnostics = CallDiagnostics::default();
    let ended = investigation.end_in_force().is_some();
    if ended && rules.is_terminal(&to) {
        let message = format!("This investigation has ended; {to} would not reopen it.");
        let how = "Reclassify a node to an open state first.";
        diagnostics.refuse(Code::InvestigationEnded, &about, message, how);
    }
    let at = stamp(investigation, node, now);
    let mut stored = request.verification.clone().of_change(Reclassification {
        agent_id: trimmed(request.agent_id.clone()),
        reason: not_blank(request.reason.clone()),
        evidence: not_blank(request.evidence.clone()),
        saw: rules.seen(investigation, node, &to),
        links: result.depends().map(|link| seen(investigation, &link.to, link.kind)).collect(),
        settles: result.other_results.len(),
        ..Reclassification::new(from.clone(), to.clone(), at)
    });
    let change = ReclassificationCheck { investigation, rules, node, stored: &stored };
    for kind in &KINDS {
        (kind.reclassify)(&change, &mut diagnostics);
    }
    check_texts(rules, &about, texts(&request), &mut diagnostics);
    Rejection::unless_empty(diagnostics.errors)?;
    let warnings = diagnostics.warnings;
    stored.warnings = warnings.iter().map(to_warning).collect();
    let reopened = reopened(investigation, at, stored.agent_id.clone(), stored.reason.clone());
    let from = from.clone();
    let mut after = Node::clone(node);
    if let Some(result) = &mut after.classification {
        result.reclassified.push(stored);
    }
    let after = Arc::new(after);
    let next = investigation.with(&[Change::Node(Arc::clone(&after))]);
    let transitions = confirmations(&next, rules, now);
    let transition = Transition { node: after, from, to, by: None };
    Ok(Decision { event: Some(Event::Reclassified { transition, transitions, reopened }), warnings })
}

/// Returns the text fields of the request with their names.
fn texts(request: &Reclassify) -> impl Iterator<Item = (&str, &str)> {
    let optional = [("reason", &request.reason), ("evidence", &request.evidence)];
    optional.into_iter().filter_map(given).chain(request.verification.texts(&request.agent_id))
}
