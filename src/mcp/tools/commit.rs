//! `tot_commit` stores results: a state, findings in Markdown, evidence.

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::tool::About;
use super::{ToolOutcome, graph_of, with_model};
use crate::decide::citing;
use crate::decide::commit::{self, NodeResult};
use crate::domain::Caller;
use crate::ruleset::rules::Verb;
use crate::service::Service;
use crate::service::reply::{GraphForm, ReplyFields, StoredResults};

pub(super) const ABOUT: About = About {
    name: "tot_commit",
    title: "Commit results",
    description: "Stores results for pending nodes. Findings list sources under `## References`. A premature state is \
                  stored as another (`requestedState`) or refused. Leaves out faulty results (`rejected`); a misplaced \
                  state or terminal ratio refuses all.",
    verb: Some(Verb::Commit),
    codes: commit::CODES,
    warnings: &[commit::WARNINGS, citing::WARNINGS],
    ..About::PLAIN
};

/// A batch of results.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("examples" = [{"sessionId": "01a19b7c", "results": [{
    "nodeId": "R2.A1", "state": "open", "agentId": "agent-7",
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
    /// Your model.
    model: Option<String>,
}

pub(super) fn run(service: &Service, input: CommitInput, caller: &Caller) -> ToolOutcome<StoredResults> {
    let written = service.commit(&input.session_id, input.results, &with_model(caller, input.model))?;
    let graph = graph_of(&written.loaded, input.graph);
    let (mut shared, stored) = (ReplyFields::written(&written), StoredResults::of(&written.decision));
    shared.message.notes.splice(0..0, stored.not_stored());
    Ok((ReplyFields { graph, ..shared }, stored, ()))
}
