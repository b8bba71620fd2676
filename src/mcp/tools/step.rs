//! `tot_step` commits results and proposes the next nodes, in one call. It combines `tot_commit`, `tot_propose` and
//! `tot_next`, in this order, and is the only tool that may write two commits. Both commits are decided before either is
//! written, so a step is all or nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::tool::About;
use super::{ToolOutcome, commit, graph_of, propose, with_model};
use crate::decide::commit::NodeResult;
use crate::decide::next::{briefs, next};
use crate::decide::propose::NewNode;
use crate::domain::{Caller, Event, NodeId};
use crate::service::Service;
use crate::service::reply::plan::{NextCallEntry, PlanRequest, TaskEntry, next_call, tasks};
use crate::service::reply::sent;
use crate::service::reply::{GraphForm, ReplyFields, StoredResults};

/// The size of the reply without its body, in bytes as sent.
const REST: usize = 700;

pub(super) const ABOUT: About = About {
    name: "tot_step",
    title: "Do one step of the loop",
    description: "A whole turn: commits `results`, proposes `nodes` (absent: the new tasks of tot_next, unless \
                  `canEnd`; []: none), and returns what tot_next does. All or nothing.",
    also: &[&commit::ABOUT, &propose::ABOUT],
    budget: 3_000,
    ..About::PLAIN
};

/// A turn: results, proposals, and the options for the next plan.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct StepInput {
    /// From tot_start.
    session_id: String,
    /// As in tot_commit.
    #[serde(default)]
    #[schemars(extend("x-elsewhere" = true))]
    results: Vec<NodeResult>,
    /// As in tot_propose.
    #[schemars(extend("x-elsewhere" = true))]
    nodes: Option<Vec<NewNode>>,
    #[serde(flatten)]
    asked: PlanRequest,
    /// A graph in the reply.
    #[serde(default = "GraphForm::none")]
    graph: GraphForm,
    /// Your model.
    model: Option<String>,
}

/// The result of a turn.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StepBody {
    /// All git commits that were written, in order. The last commit is also in `commit`.
    commits: Vec<String>,
    #[serde(flatten)]
    stored: Option<StoredResults>,
    /// The ids of the proposed nodes.
    approved_nodes: Vec<String>,
    /// The proposed nodes, with the information that the researching agents need.
    tasks: Vec<TaskEntry>,
    /// A call that is legal now and makes progress.
    next_call: Option<NextCallEntry>,
}

pub(super) fn run(service: &Service, input: StepInput, caller: &Caller) -> ToolOutcome<StepBody> {
    let StepInput { session_id, results, nodes, asked, graph, model } = input;
    let caller = &with_model(caller, model);
    let agent_id = results.iter().find_map(|result| result.agent_id.clone());
    let plan = asked.plan(agent_id, caller);
    let done = service.step(&session_id, results, nodes, &plan, caller)?;
    let loaded = &done.loaded;
    let (investigation, rules) = (loaded.investigation(), loaded.rules());
    let mut stored = None;
    let mut approved: Vec<NodeId> = Vec::new();
    for decision in &done.decisions {
        match &decision.event {
            Some(Event::Committed { .. }) => stored = Some(StoredResults::of(decision)),
            Some(Event::Proposed { nodes, .. }) => {
                approved = nodes.iter().map(|node| node.id.clone()).collect()
            }
            _ => {}
        }
    }
    let what_now = next(investigation, &rules, &plan, service.now()?)?;
    let to_research = match approved.is_empty() {
        // If there are no new nodes, the pending nodes are researched.
        true => what_now.pending.clone(),
        false => briefs(investigation, &rules, &approved),
    };
    let next_call = next_call(investigation, &what_now, &asked, plan.agent_id.as_deref());
    let graph = graph_of(loaded, graph);
    let shared = ReplyFields::planned(loaded, &what_now, done.commits.last().copied(), &done.warnings());
    let mut shared = ReplyFields { graph, ..shared.after_what_changed(&done.before, loaded) };
    shared.message.notes.splice(0..0, stored.as_ref().and_then(StoredResults::not_stored));
    let mut body = StepBody {
        commits: done.commits.iter().map(ToString::to_string).collect(),
        stored,
        approved_nodes: approved.iter().map(ToString::to_string).collect(),
        tasks: Vec::new(),
        next_call,
    };
    let room = (ABOUT.budget - REST).saturating_sub(sent(&body));
    body.tasks = tasks(&[], &to_research, room, asked.brief);
    Ok((shared, body, ()))
}
