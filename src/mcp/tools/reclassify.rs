//! `tot_reclassify` revives, corrects or gives up a node, with a reason.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::tool::About;
use super::super::wire::{GraphForm, ReplyFields, TransitionEntry};
use super::{ToolOutcome, graph_of, with_model};
use crate::decide::reclassify::{self, Reclassify};
use crate::domain::{Caller, Event, NodeId};
use crate::ruleset::rules::Verb;
use crate::service::Service;

pub(super) const ABOUT: About = About {
    name: "tot_reclassify",
    title: "Change a node's state",
    description: "Changes a committed node's state: revives, corrects or gives it up. An open state reopens an \
                  ended investigation.",
    verb: Some(Verb::Reclassify),
    codes: reclassify::CODES,
    idempotent: true,
    ..About::PLAIN
};

/// A change of state.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("examples" = [{"sessionId": "01a19b7c", "nodeId": "R4.A1a1", "newState": "EXPLORE", "reason": "It was measured on the wrong machine."}]))]
pub(super) struct ReclassifyInput {
    /// From tot_start.
    session_id: String,
    #[serde(flatten)]
    request: Reclassify,
    /// A graph in the reply.
    #[serde(default = "GraphForm::none")]
    graph: GraphForm,
    /// Your model.
    model: Option<String>,
}

/// The result of a state change.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReclassifyBody {
    /// The node's id.
    node_id: String,
    /// The node's previous state.
    previous_state: Option<String>,
    /// The node's current state.
    new_state: Option<String>,
    /// The parents whose state also changed as a result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    transitions: Vec<TransitionEntry>,
}

pub(super) fn run(service: &Service, input: ReclassifyInput, caller: &Caller) -> ToolOutcome<ReclassifyBody> {
    let id = input.request.node_id.clone();
    let written = service.reclassify(&input.session_id, input.request, &with_model(caller, input.model))?;
    let mut shared = ReplyFields::written(&written);
    let (previous_state, new_state, transitions) = match &written.decision.event {
        Some(Event::Reclassified { transition, transitions, .. }) => (
            Some(transition.from.to_string()),
            Some(transition.to.to_string()),
            transitions.iter().map(Into::into).collect(),
        ),
        _ => {
            let node = id.parse::<NodeId>().ok();
            let state = node.and_then(|id| written.before.node(&id)?.state().map(ToString::to_string));
            let note = format!("{id} already has that state; nothing was written.");
            shared.message.notes.insert(0, note.into());
            (state.clone(), state, Vec::new())
        }
    };
    shared.graph = graph_of(&written.standing, input.graph);
    Ok((shared, ReclassifyBody { node_id: id, previous_state, new_state, transitions }, ()))
}
