//! `tot_reclassify` revives, corrects or gives up a node, with a reason.

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::tool::About;
use super::{ToolOutcome, graph_of, with_model};
use crate::decide::reclassify::{self, Reclassify};
use crate::domain::Caller;
use crate::ruleset::rules::Verb;
use crate::service::Service;
use crate::service::reply::{self, GraphForm, ReclassifyBody, ReplyFields};

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
#[schemars(extend("examples" = [{"sessionId": "01a19b7c", "nodeId": "R4.A1a1", "newState": "open", "reason": "It was measured on the wrong machine."}]))]
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

pub(super) fn run(service: &Service, input: ReclassifyInput, caller: &Caller) -> ToolOutcome<ReclassifyBody> {
    let id = input.request.node_id.clone();
    let written = service.reclassify(&input.session_id, input.request, &with_model(caller, input.model))?;
    let (shared, body) = reply::reclassified(&written, id);
    Ok((ReplyFields { graph: graph_of(&written.loaded, input.graph), ..shared }, body, ()))
}
