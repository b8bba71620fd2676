//! `tot_step`: a whole turn of the loop. It is `tot_commit`, then `tot_propose`, then `tot_next`, in this order, and the
//! one tool that may write two commits: what was committed stands, whatever becomes of the proposal.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::tool::{About, Answer, Tool};
use super::super::wire::{Object, Shared, first_error, notices, pending};
use super::commit::{ResultEntry, Stored};
use super::next::{NextCallEntry, StrategyName, TaskEntry, next_call, plan, tasks};
use super::propose::Node;
use super::refused;
use crate::decide::commit::NodeResult;
use crate::decide::next::{Call, Next, briefs, next, number_of_tasks};
use crate::decide::propose::{NewNode, Propose, propose};
use crate::decide::{Decision, Rejection};
use crate::domain::{Event, Investigation, NodeId, Timestamp};
use crate::ruleset::EffectiveRules;
use crate::service::{Refusal, Service, Written};

const ABOUT: About = About {
    name: "tot_step",
    title: "Do a turn of the loop",
    description: "A whole turn in one call: commits `results` (as tot_commit), proposes `nodes` (as tot_propose; \
                  when absent, the fresh tasks of tot_next, but nothing once the end is open; [] for none), and \
                  returns `tasks` with prompts and `nextCall` as tot_next does. May write two commits (`commits`). \
                  If the results are rejected, nothing is written; if only the proposal is, the status is REJECTED \
                  but `committed` stands. Codes: those of tot_commit and tot_propose.",
    read_only: false,
    idempotent: false,
};

/// A turn.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Input {
    /// Its id, or a unique beginning or ending.
    session_id: String,
    /// As in tot_commit.
    #[serde(default)]
    #[schemars(extend("x-elsewhere" = true))]
    results: Vec<ResultEntry>,
    /// As in tot_propose.
    #[schemars(extend("x-elsewhere" = true))]
    nodes: Option<Vec<Node>>,
    /// As in tot_next.
    #[serde(default)]
    strategy: StrategyName,
    /// The most tasks; else 8.
    #[schemars(range(min = 1, max = 20))]
    max_tasks: Option<u32>,
    /// As in tot_next.
    #[serde(default)]
    dimensions: BTreeMap<String, Vec<String>>,
}

/// What was done, and what is next.
#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Body {
    /// All git commits that were written, in their order; `commit` is the last.
    commits: Vec<String>,
    #[serde(flatten)]
    stored: Option<Stored>,
    /// The ids that were proposed.
    #[serde(skip_serializing_if = "Option::is_none")]
    approved_nodes: Option<Vec<String>>,
    /// All proposals that are not committed yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pending: Option<Vec<String>>,
    /// The one call that is legal now and makes progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Object", extend("x-keep" = "whole"))]
    next_call: Option<NextCallEntry>,
    /// The proposed nodes, each with a brief for the agent that researches it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Object>", extend("x-keep" = "last"))]
    tasks: Option<Vec<TaskEntry>>,
}

/// The tool.
pub(super) fn tool(service: Arc<Service>) -> Tool {
    Tool::new(ABOUT, move |input| run(&service, input).unwrap_or_else(|refusal| refused(&refusal)))
}

fn run(service: &Service, input: Input) -> Result<Answer<Body>, Refusal> {
    // Before anything is written.
    number_of_tasks(input.max_tasks)?;
    let plan = plan(input.strategy, input.max_tasks, input.dimensions);
    let results: Vec<NodeResult> = input.results.into_iter().map(Into::into).collect();
    let nodes = input.nodes.map(|nodes| nodes.into_iter().map(NewNode::from).collect::<Vec<_>>());
    let first = if results.is_empty() { None } else { Some(service.commit(&input.session_id, results)?) };
    let second = service.write(&input.session_id, |investigation, rules, now| {
        what_is_next(investigation, rules, &plan, nodes.as_deref(), now)
    });
    match (first, second) {
        (first, Ok(second)) => done(first.as_ref(), &second, &plan),
        (None, Err(refusal)) => Err(refusal),
        (Some(first), Err(refusal)) => Ok(half_done(&first, &refusal)),
    }
}

/// The proposal of a turn: the given nodes, or the tasks of a plan on this very state.
fn what_is_next(
    investigation: &Investigation,
    rules: &EffectiveRules,
    plan: &Next,
    nodes: Option<&[NewNode]>,
    now: Timestamp,
) -> Result<Decision, Rejection> {
    let request = match nodes {
        Some(nodes) => Propose { nodes: nodes.to_vec(), withdraw: Vec::new() },
        None => {
            let plan = next(investigation, rules, plan)?;
            // Where the end is open, going deeper is for the agent to choose: else a loop of turns would not end.
            let may_end = plan.next_call.as_ref().is_some_and(|next| next.call == Call::End);
            if may_end { Propose::default() } else { plan.proposal() }
        }
    };
    if request.nodes.is_empty() {
        return Ok(Decision { event: None, warnings: Vec::new() });
    }
    propose(investigation, rules, request, now)
}

fn done(first: Option<&Written>, second: &Written, plan: &Next) -> Result<Answer<Body>, Refusal> {
    let standing = &second.standing;
    let (investigation, rules) = (standing.investigation(), standing.rules());
    let commits: Vec<_> = first.into_iter().chain([second]).filter_map(commit_of).collect();
    let warnings: Vec<_> =
        first.into_iter().chain([second]).flat_map(|written| written.decision.warnings.clone()).collect();
    let mut shared = Shared::done(standing, None, &warnings);
    shared.commit = commits.last().cloned();
    let approved: Vec<NodeId> = match &second.decision.event {
        Some(Event::Proposed { nodes, .. }) => nodes.iter().map(|node| node.id.clone()).collect(),
        _ => Vec::new(),
    };
    let what_now = next(investigation, &rules, plan)?;
    let to_research = match approved.is_empty() {
        // Nothing is new: what is still pending is to be researched.
        true => what_now.pending.clone(),
        false => briefs(investigation, &rules, &approved),
    };
    let next_call = next_call(investigation, &what_now, plan);
    if let Some(call) = &next_call {
        shared.message = call.message();
    }
    let body = Body {
        commits,
        stored: first.map(|first| Stored::of(first, standing)),
        approved_nodes: Some(approved.iter().map(ToString::to_string).collect()),
        pending: Some(pending(investigation)),
        next_call,
        tasks: Some(tasks(to_research, Vec::new())),
    };
    Ok(Answer::Done { shared, body })
}

/// The results were committed and the proposal was refused.
fn half_done(first: &Written, refusal: &Refusal) -> Answer<Body> {
    let mut shared = Shared::refused(refusal);
    shared.message = format!(
        "The results were committed and stand; only the proposal was refused. {}",
        first_error(&refusal.errors)
    );
    shared.warnings = notices(&first.decision.warnings);
    shared.commit = commit_of(first);
    let body = Body {
        commits: shared.commit.iter().cloned().collect(),
        stored: Some(Stored::of(first, &first.standing)),
        ..Body::default()
    };
    Answer::HalfDone { shared, body }
}

/// The commit that a write made, if it made one.
fn commit_of(written: &Written) -> Option<String> {
    written.decision.event.as_ref().map(|_| written.standing.snapshot.head.to_string())
}
