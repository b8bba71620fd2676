//! `tot_commit` stores results: a state, findings in Markdown, evidence.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::tool::About;
use super::super::wire::{GraphForm, ReplyFields, TransitionEntry};
use super::{ToolOutcome, graph_of, with_model};
use crate::decide::Decision;
use crate::decide::commit::{self, NodeResult};
use crate::domain::{Caller, Event, Node};
use crate::ruleset::rules::Verb;
use crate::service::Service;

pub(super) const ABOUT: About = About {
    name: "tot_commit",
    title: "Commit results",
    description: "Stores results for pending nodes. Findings list their sources under `## References`. A premature \
                  state is stored as another (`requestedState`) or refused. All or nothing.",
    verb: Some(Verb::Commit),
    codes: commit::CODES,
    warnings: commit::WARNINGS,
    ..About::PLAIN
};

/// A batch of results.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("examples" = [{"sessionId": "01a19b7c", "results": [{
    "nodeId": "R2.A1", "state": "EXPLORE", "agentId": "agent-7",
    "findings": "The plan changed.\n\n## References\n- logs/slow.log:120 - the query"
}]}]))]
pub(super) struct CommitInput {
    /// From tot_start.
    session_id: String,
    /// The results.
    results: Vec<NodeResult>,
    /// A graph in the reply.
    #[serde(default = "GraphForm::none")]
    graph: GraphForm,
    /// Your model, stored with your confirmations.
    model: Option<String>,
}

/// The outcome of storing a batch of results.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredResults {
    /// The stored nodes.
    committed: Vec<StoredNode>,
    /// The parents whose state the results changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    transitions: Vec<TransitionEntry>,
}

/// A stored node.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StoredNode {
    /// The node's id.
    node_id: String,
    /// The node's current state.
    state: String,
    /// The requested state, if a different state was stored.
    requested_state: Option<String>,
}

pub(super) fn run(service: &Service, input: CommitInput, caller: &Caller) -> ToolOutcome<StoredResults> {
    let written = service.commit(&input.session_id, input.results, &with_model(caller, input.model))?;
    let graph = graph_of(&written.standing, input.graph);
    Ok((ReplyFields { graph, ..ReplyFields::written(&written) }, StoredResults::of(&written.decision), ()))
}

impl StoredResults {
    /// Returns the outcome of storing results.
    pub(super) fn of(decision: &Decision) -> Self {
        let (nodes, transitions) = match &decision.event {
            Some(Event::Committed { nodes, transitions, .. }) => (nodes.as_slice(), transitions.as_slice()),
            _ => Default::default(),
        };
        StoredResults {
            committed: nodes.iter().filter_map(|node| committed(node)).collect(),
            transitions: transitions.iter().map(Into::into).collect(),
        }
    }
}

/// Describes a stored node. Returns `None` if the node has no result.
fn committed(node: &Node) -> Option<StoredNode> {
    let classification = node.classification.as_ref()?;
    let newest = classification.newest();
    let state = classification.current_state();
    // If another agent's result is also stored, the newest result's own state is reported too.
    let requested = newest
        .requested_state
        .as_ref()
        .or(Some(&newest.state).filter(|own| !classification.other_results.is_empty() && *own != state));
    Some(StoredNode {
        node_id: node.id.to_string(),
        state: state.to_string(),
        requested_state: requested.map(ToString::to_string),
    })
}
