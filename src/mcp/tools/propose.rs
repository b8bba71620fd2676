//! `tot_propose` registers nodes to research, or withdraws proposals.

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::tool::About;
use super::{ToolOutcome, graph_of};
use crate::decide::propose::{self, Propose};
use crate::domain::Caller;
use crate::ruleset::rules::Verb;
use crate::service::Service;
use crate::service::reply::{self, GraphForm, ProposeAdvice, ProposeBody, ReplyFields};

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

pub(super) fn run(
    service: &Service,
    input: ProposeInput,
    caller: &Caller,
) -> ToolOutcome<ProposeBody, ProposeAdvice> {
    let written = service.propose(&input.session_id, input.request, caller)?;
    let (shared, body, advice) = reply::proposed(&written);
    Ok((ReplyFields { graph: graph_of(&written.loaded, input.graph), ..shared }, body, advice))
}
