//! `tot_propose` registers nodes to research, or withdraws proposals.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::tool::About;
use super::super::wire::{GraphForm, ReplyFields, pending};
use super::{ToolOutcome, graph_of};
use crate::decide::propose::{self, NewNode, Propose};
use crate::domain::{Caller, Code, Event};
use crate::ruleset::rules::Verb;
use crate::service::Service;

pub(super) const ABOUT: About = About {
    name: "tot_propose",
    title: "Propose nodes to research",
    description: "Registers nodes to research, or withdraws proposals. R1.A is a root, R2.A1 its child, R3.A1a a \
                  child of that. The parent must be committed and open. Proposing a pending id again replaces it. \
                  All or nothing.",
    verb: Some(Verb::Propose),
    codes: propose::CODES,
    ..About::PLAIN
};

/// A batch of proposals.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("examples" = [{"sessionId": "01a19b7c", "nodes": [{
    "id": "R2.A1", "parent": "R1.A", "title": "Read the slow query log", "plannedAction": "Look for plans that changed."
}]}]))]
pub(super) struct ProposeInput {
    /// From tot_start.
    session_id: String,
    #[serde(flatten)]
    request: Propose,
    /// A graph in the reply.
    #[serde(default = "GraphForm::none")]
    graph: GraphForm,
}

/// The result of a proposal.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProposeBody {
    /// The ids of the proposed nodes.
    approved_nodes: Vec<String>,
    /// The ids of the withdrawn nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    withdrawn: Vec<String>,
}

/// The advice that accompanies a proposal.
#[derive(Serialize)]
pub(super) struct ProposeAdvice {
    /// All proposed nodes without a result.
    pending: Vec<String>,
}

pub(super) fn run(
    service: &Service,
    input: ProposeInput,
    caller: &Caller,
) -> ToolOutcome<ProposeBody, ProposeAdvice> {
    let request = Propose { nodes: without_null_parents(input.request.nodes), ..input.request };
    let written = service.propose(&input.session_id, request, caller)?;
    let (approved, withdrawn) = match &written.decision.event {
        Some(Event::Proposed { nodes, withdrawn }) => (nodes.as_slice(), withdrawn.as_slice()),
        _ => Default::default(),
    };
    let body = ProposeBody {
        approved_nodes: approved.iter().map(|node| node.id.to_string()).collect(),
        withdrawn: withdrawn.iter().map(ToString::to_string).collect(),
    };
    let advice = ProposeAdvice { pending: pending(written.standing.investigation()) };
    let graph = graph_of(&written.standing, input.graph);
    let mut shared = ReplyFields { graph, ..ReplyFields::written(&written) };
    // `pending` already lists these nodes.
    shared.owed.retain(|debt| debt.code != Code::PendingProposals);
    Ok((shared, body, advice))
}

/// Removes the various parent values that agents write to mean "no parent".
pub(super) fn without_null_parents(mut nodes: Vec<NewNode>) -> Vec<NewNode> {
    for node in &mut nodes {
        node.parent.take_if(|parent| matches!(parent.trim(), "" | "null" | "none" | "None"));
    }
    nodes
}
