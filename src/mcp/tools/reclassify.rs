//! `tot_reclassify`: a node is revived, corrected or given up.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::tool::{About, Tool};
use super::super::wire::{Graph, GraphForm, Object, Shared, TransitionEntry};
use super::{answer, graph_of};
use crate::decide::reclassify::Reclassify;
use crate::domain::{Event, NodeId};
use crate::service::{Refusal, Service};

const ABOUT: About = About {
    name: "tot_reclassify",
    title: "Change a node's state",
    description: "Changes the state of a committed node: revives a closed one, corrects or gives up one. The \
                  history keeps the former state and the reason. An open state reopens an ended investigation. \
                  Returns `previousState`, `newState`, `transitions`. Codes: NODE_NOT_FOUND, UNKNOWN_STATE, \
                  HAS_CHILDREN (can't be closed), INVALID_CHILD_STATE, INVESTIGATION_ENDED, TEXT_TOO_LONG; \
                  warnings EARLY_STATE and MISSING_EVIDENCE: a commit could not have done this.",
    read_only: false,
    idempotent: true,
};

/// A change of state.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Input {
    /// Its id, or a unique beginning or ending.
    session_id: String,
    /// A committed node.
    #[schemars(extend("examples" = ["R4.A1a1"]))]
    node_id: String,
    /// The state it shall have.
    #[schemars(extend("examples" = ["EXPLORE"]))]
    new_state: String,
    /// Why.
    reason: Option<String>,
    /// Who asks for it.
    agent_id: Option<String>,
    /// What proves it.
    evidence: Option<String>,
    /// How it was verified.
    verification_method: Option<String>,
    /// What else was considered.
    #[serde(default)]
    alternatives_considered: Vec<String>,
    /// A graph in the reply.
    #[serde(default = "GraphForm::none")]
    graph: GraphForm,
}

/// The change.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Body {
    /// The node.
    node_id: String,
    /// Its state before.
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_state: Option<String>,
    /// Its state now.
    #[serde(skip_serializing_if = "Option::is_none")]
    new_state: Option<String>,
    /// Parents whose state this changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Object>")]
    transitions: Option<Vec<TransitionEntry>>,
    #[serde(flatten)]
    graph: Graph,
}

/// The tool.
pub(super) fn tool(service: Arc<Service>) -> Tool {
    Tool::new(ABOUT, move |input| answer(run(&service, input)))
}

fn run(service: &Service, input: Input) -> Result<(Shared, Body), Refusal> {
    let request = Reclassify {
        node_id: input.node_id,
        new_state: input.new_state,
        reason: input.reason,
        agent_id: input.agent_id,
        evidence: input.evidence,
        verification_method: input.verification_method,
        alternatives_considered: input.alternatives_considered,
    };
    let id = request.node_id.clone();
    let written = service.reclassify(&input.session_id, request)?;
    let mut shared = Shared::written(&written);
    let (previous_state, new_state, transitions) = match &written.decision.event {
        Some(Event::Reclassified { transition, transitions, .. }) => (
            Some(transition.from.to_string()),
            Some(transition.to.to_string()),
            Some(transitions.iter().map(Into::into).collect()),
        ),
        _ => {
            let node = id.parse::<NodeId>().ok();
            let state = node.and_then(|id| written.before.node(&id)?.state().map(ToString::to_string));
            shared.message = format!("{id} had that state already; nothing was written. {}", shared.message);
            (state.clone(), state, None)
        }
    };
    let graph = graph_of(&written.standing, input.graph);
    Ok((shared, Body { node_id: id, previous_state, new_state, transitions, graph }))
}
