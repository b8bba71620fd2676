//! `tot_propose`: nodes to be researched next.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::tool::{About, Tool};
use super::super::wire::{Graph, GraphForm, Shared, pending};
use super::{answer, graph_of};
use crate::decide::propose::{NewNode, Propose};
use crate::domain::Event;
use crate::service::{Refusal, Service};

const ABOUT: About = About {
    name: "tot_propose",
    title: "Propose nodes to research",
    description: "Registers nodes to research next, or takes proposals back. An id is R<round>.<suffix>: R1.A is a \
                  root, R2.A1 its child, R3.A1a a child of that: the suffix extends the parent's. The parent must \
                  be committed and open. Proposing a pending id again replaces it. All or nothing. Returns \
                  `approvedNodes`, `withdrawn`, `pending`. Codes: INVALID_ID_FORMAT, DUPLICATE_ID (is committed), \
                  DUPLICATE_IN_BATCH, ID_CASE_COLLISION, PARENT_NOT_FOUND, TERMINAL_PARENT (closed), \
                  ROUND_MISMATCH, ID_PARENT_MISMATCH, MISSING_TITLE, BATCH_OVERFLOW, INSUFFICIENT_ROOTS, \
                  TOO_MANY_ROOTS, INVALID_ROOT_ID, NOT_PROPOSED (withdraw), EMPTY_BATCH, INVESTIGATION_ENDED; \
                  warning R2_BREADTH: round 2 is narrow.",
    read_only: false,
    idempotent: false,
};

/// A batch of proposals.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("examples" = [{"sessionId": "01a19b7c", "nodes": [{
    "id": "R2.A1", "parent": "R1.A", "title": "Read the slow query log", "plannedAction": "Look for plans that changed."
}]}]))]
struct Input {
    /// Its id, or a unique beginning or ending.
    session_id: String,
    /// The nodes.
    #[serde(default)]
    nodes: Vec<Node>,
    /// Pending ids to take back.
    #[serde(default)]
    withdraw: Vec<String>,
    /// A graph in the reply.
    #[serde(default = "GraphForm::none")]
    graph: GraphForm,
}

/// One node to research.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct Node {
    /// R<round>.<suffix>
    #[schemars(extend("examples" = ["R2.A1"]))]
    id: String,
    /// A committed node; null for a root.
    #[schemars(extend("examples" = ["R1.A"]))]
    parent: Option<String>,
    /// One line.
    #[schemars(extend("examples" = ["Read the slow query log"]))]
    title: String,
    /// What is to be done.
    #[serde(default)]
    planned_action: String,
}

/// What is proposed now.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Body {
    /// The ids that were proposed.
    approved_nodes: Vec<String>,
    /// The ids that were taken back.
    withdrawn: Vec<String>,
    /// All proposals that are not committed yet.
    pending: Vec<String>,
    #[serde(flatten)]
    graph: Graph,
}

/// The tool.
pub(super) fn tool(service: Arc<Service>) -> Tool {
    Tool::new(ABOUT, move |input| answer(run(&service, input)))
}

fn run(service: &Service, input: Input) -> Result<(Shared, Body), Refusal> {
    let request =
        Propose { nodes: input.nodes.into_iter().map(Into::into).collect(), withdraw: input.withdraw };
    let written = service.propose(&input.session_id, request)?;
    let (approved, withdrawn) = match &written.decision.event {
        Some(Event::Proposed { nodes, withdrawn }) => (nodes.as_slice(), withdrawn.as_slice()),
        _ => Default::default(),
    };
    let body = Body {
        approved_nodes: approved.iter().map(|node| node.id.to_string()).collect(),
        withdrawn: withdrawn.iter().map(ToString::to_string).collect(),
        pending: pending(written.standing.investigation()),
        graph: graph_of(&written.standing, input.graph),
    };
    Ok((Shared::written(&written), body))
}

impl From<Node> for NewNode {
    fn from(node: Node) -> Self {
        NewNode {
            id: node.id,
            // An agent that means no parent writes it in one of these ways.
            parent: node.parent.filter(|parent| !matches!(parent.trim(), "" | "null" | "none" | "None")),
            title: node.title,
            planned_action: node.planned_action,
        }
    }
}
