//! `tot_commit`: what was found.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::tool::{About, Tool};
use super::super::wire::{Graph, GraphForm, IncompleteNode, Object, Shared, TransitionEntry, incomplete};
use super::{answer, graph_of};
use crate::decide::commit::{Finding, commit};
use crate::domain::{Event, Node};
use crate::service::{Refusal, Service};

const ABOUT: About = About {
    name: "tot_commit",
    title: "Commit what was found",
    description: "Stores what research of pending nodes found: a state of the method, findings in Markdown \
                  (sources as a list under `## References`), the agent's id. A state that comes too early is \
                  stored as another (`requestedState`, and a warning such as DEPTH_ENFORCED) or refused \
                  (STATE_LOCKED). All or nothing. Returns `committed`, `transitions` (parents that a child \
                  confirmed or refuted), `pendingExplore` (open nodes that lack children). Codes: NOT_PROPOSED, \
                  UNKNOWN_STATE, INVALID_CHILD_STATE (under this parent), TERMINAL_PARENT, MISSING_EVIDENCE, \
                  TERMINAL_RATIO_EXCEEDED (too many closed at once), DUPLICATE_IN_BATCH, EMPTY_BATCH, \
                  INVESTIGATION_ENDED; warnings SUSPICIOUS (too fast), MISSING_AGENT, REUSED_AGENT, \
                  EMPTY_FINDINGS, SECRET_SUSPECTED, INCOMPLETE_<STATE>.",
    read_only: false,
    idempotent: false,
};

/// A batch of results.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Input {
    /// Its id, or a unique beginning or ending.
    session_id: String,
    /// The results.
    results: Vec<ResultEntry>,
    /// A graph in the reply.
    #[serde(default = "GraphForm::none")]
    graph: GraphForm,
}

/// The result of one node.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct ResultEntry {
    /// A pending node.
    #[schemars(extend("examples" = ["R2.A1"]))]
    node_id: String,
    /// A state of the method.
    #[schemars(extend("examples" = ["EXPLORE"]))]
    state: String,
    /// What was found, in Markdown.
    #[schemars(extend("examples" = ["The plan changed.\n\n## References\n- logs/slow.log:120 - the query"]))]
    findings: String,
    /// Who did the research: another for each node.
    #[schemars(extend("examples" = ["agent-7"]))]
    agent_id: Option<String>,
    /// What proves it: measured, read, reproduced.
    evidence: Option<String>,
    /// How it was verified.
    verification_method: Option<String>,
    /// What else was considered.
    #[serde(default)]
    alternatives_considered: Vec<String>,
}

/// What was stored.
#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    #[serde(flatten)]
    shared: Shared,
    /// The nodes as they were stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    committed: Option<Vec<Committed>>,
    /// Parents whose state these results changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Object>")]
    transitions: Option<Vec<TransitionEntry>>,
    /// Open nodes that lack children.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Object>")]
    pending_explore: Option<Vec<IncompleteNode>>,
    #[serde(flatten)]
    graph: Graph,
}

/// One stored node.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub(super) struct Committed {
    /// The node.
    node_id: String,
    /// The state it has now.
    state: String,
    /// The state that was asked for, where another was stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    requested_state: Option<String>,
}

impl From<Shared> for Output {
    fn from(shared: Shared) -> Self {
        Output { shared, ..Output::default() }
    }
}

/// The tool.
pub(super) fn tool(service: Arc<Service>) -> Tool {
    Tool::new(ABOUT, move |input| answer(run(&service, input)))
}

fn run(service: &Service, input: Input) -> Result<Output, Refusal> {
    let graph = input.graph;
    let results: Vec<Finding> = input.results.into_iter().map(Into::into).collect();
    let written = service.write(&input.session_id, |investigation, rules, now| {
        commit(investigation, rules, results.clone(), now)
    })?;
    let standing = &written.standing;
    let mut output =
        Output::from(Shared::done(standing, Some(standing.snapshot.head), &written.decision.warnings));
    output.pending_explore = Some(incomplete(standing.investigation(), &standing.rules()));
    if let Some(Event::Committed { nodes, transitions }) = &written.decision.event {
        output.committed = Some(nodes.iter().filter_map(|node| committed(node)).collect());
        output.transitions = Some(transitions.iter().map(Into::into).collect());
    }
    output.graph = graph_of(standing, graph);
    Ok(output)
}

impl From<ResultEntry> for Finding {
    fn from(result: ResultEntry) -> Self {
        Finding {
            node_id: result.node_id,
            state: result.state,
            findings: result.findings,
            agent_id: result.agent_id,
            evidence: result.evidence,
            verification_method: result.verification_method,
            alternatives_considered: result.alternatives_considered,
        }
    }
}

/// A node as it was stored.
pub(super) fn committed(node: &Node) -> Option<Committed> {
    let classification = node.classification.as_ref()?;
    Some(Committed {
        node_id: node.id.to_string(),
        state: classification.current_state().to_string(),
        requested_state: classification.requested_state.as_ref().map(ToString::to_string),
    })
}
