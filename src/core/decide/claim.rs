//! Claims: an agent reserves a pending proposal to keep other agents from researching it too.
//!
//! A claim is an expiring note, not a lock. If another agent commits the node, that agent only gets a warning, and no
//! research is discarded.

use std::ops::RangeInclusive;
use std::sync::Arc;

use super::{Decision, Rejection, check_texts, quoted, refuse_if_ended};
use crate::domain::{Claim, Code, Diagnostic, Event, Investigation, Node, NodeId, Timestamp, Wording};
use crate::ruleset::EffectiveRules;
use crate::ruleset::rules::CallDiagnostics;

/// The permitted duration of a claim in minutes.
pub const MINUTES: RangeInclusive<u32> = 1..=10_080;
/// The default duration of a claim in minutes.
pub const MINUTES_DEFAULT: u32 = 60;

/// The claiming agent and the duration of the claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claimant {
    /// The name under which the agent will sign the results.
    pub agent_id: Option<String>,
    /// The duration in minutes; defaults to [`MINUTES_DEFAULT`].
    pub minutes: Option<u32>,
}

/// Validates a claim on pending proposals. Renews the agent's existing claims once half of their duration has passed.
///
/// # Errors
///
/// Returns `INVALID_ARGUMENT`, `NOT_PROPOSED`, `CLAIMED_BY_OTHER`, `INVESTIGATION_ENDED`, `TEXT_TOO_LONG` or
/// `SECRET_SUSPECTED`, and claims nothing.
pub fn claim(
    investigation: &Investigation,
    rules: &EffectiveRules,
    nodes: &[NodeId],
    claimant: &Claimant,
    now: Timestamp,
) -> Result<Decision, Rejection> {
    refuse_if_ended(investigation)?;
    let minutes = claimant.minutes.unwrap_or(MINUTES_DEFAULT);
    if !MINUTES.contains(&minutes) {
        return Err(Diagnostic::new(Code::InvalidArgument, format!("A claim can't last {minutes} minutes."))
            .suggest(format!("Claim for {} to {} minutes.", MINUTES.start(), MINUTES.end()))
            .into());
    }
    let Some(agent_id) = claimant.agent_id.as_deref().map(str::trim).filter(|agent| !agent.is_empty()) else {
        return Err(Diagnostic::new(
            Code::InvalidArgument,
            Wording::both("The claim has no agentId.", "The claim has no name."),
        )
        .suggest("Give the agentId that the result will have.")
        .for_people("Name with --as who will do the research.")
        .into());
    };
    let mut diagnostics = CallDiagnostics::default();
    check_texts(rules, "", [("agentId", agent_id)], &mut diagnostics);
    let CallDiagnostics { mut errors, warnings } = diagnostics;
    let mut claimed = Vec::new();
    for id in nodes {
        let node = match pending(investigation, id) {
            Ok(node) => node,
            Err(error) => {
                errors.push(error);
                continue;
            }
        };
        let held = node.claim.as_ref().filter(|claim| now < claim.until);
        match held {
            Some(claim) if claim.agent_id != agent_id => errors.push(of_other(id, claim)),
            // Renewing on every poll would write a commit each time.
            Some(claim) if claim.until.seconds_since(now) >= 30.0 * f64::from(minutes) => {}
            held => {
                let at = held.map_or(now, |claim| claim.at);
                let earlier = node.claim.as_ref().map_or(0, |claim| match held {
                    Some(held) => held.earlier,
                    None => claim.earlier.saturating_add(1),
                });
                let until = now.plus_minutes(minutes);
                let claim = Claim { at, agent_id: agent_id.to_owned(), until, earlier };
                claimed.push(Arc::new(Node { claim: Some(claim), ..Node::clone(node) }));
            }
        }
    }
    Rejection::unless_empty(errors)?;
    let event = (!claimed.is_empty()).then_some(Event::Claimed { nodes: claimed });
    Ok(Decision { event, warnings })
}

/// Validates the release of pending proposals, regardless of the claimant. Unclaimed proposals stay unchanged.
///
/// # Errors
///
/// Returns `NOT_PROPOSED` if a node is not pending, and releases nothing.
pub fn release(investigation: &Investigation, nodes: &[NodeId]) -> Result<Decision, Rejection> {
    let mut errors = Vec::new();
    let mut released = Vec::new();
    for id in nodes {
        match pending(investigation, id) {
            Ok(node) if node.claim.is_some() => {
                released.push(Arc::new(Node { claim: None, ..Node::clone(node) }));
            }
            Ok(_) => {}
            Err(error) => errors.push(error),
        }
    }
    Rejection::unless_empty(errors)?;
    let event = (!released.is_empty()).then_some(Event::Released { nodes: released });
    Ok(Decision { event, warnings: Vec::new() })
}

fn pending<'i>(investigation: &'i Investigation, id: &NodeId) -> Result<&'i Node, Diagnostic> {
    let ambiguous = match investigation.find(id.whole()) {
        Ok(node) if node.is_pending() => return Ok(node),
        found => found.err().and_then(|error| error.ambiguous(id.as_str())),
    };
    Err(ambiguous.unwrap_or_else(|| {
        Diagnostic::new(Code::NotProposed, format!("{} is not a pending proposal.", quoted(id.as_str())))
            .about(id)
            .suggest("Only pending proposals can be claimed: tot_status lists them.")
            .for_people("Only pending proposals can be claimed: `tot show` lists them.")
    }))
}

/// Returns a warning that another agent has claimed the node.
pub(super) fn of_other(id: &NodeId, claim: &Claim) -> Diagnostic {
    let Claim { agent_id, until, .. } = claim;
    let message = format!("{id} is claimed by {} until {until}.", quoted(agent_id));
    Diagnostic::new(Code::ClaimedByOther, message).about(id)
}
