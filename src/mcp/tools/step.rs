//! `tot_step`: a whole turn of the loop. It is `tot_commit`, then `tot_propose`, then `tot_next`, in this order, and the
//! one tool that may write two commits: what was committed stands, whatever becomes of the proposal.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::tool::{About, Answer, Tool};
use super::super::wire::{Object, Shared, first_error, pending};
use super::commit::Stored;
use super::next::{Asked, NextCallEntry, TaskEntry, next_call, tasks};
use super::propose::meant;
use super::{answer, commit, propose, warned, with_model};
use crate::decide::commit::NodeResult;
use crate::decide::next::{briefs, next, number_of_tasks};
use crate::decide::propose::NewNode;
use crate::domain::{Caller, Event, NodeId};
use crate::service::{Refusal, Service, Written};

const ABOUT: About = About {
    name: "tot_step",
    title: "Do a turn of the loop",
    description: "A whole turn in one call: commits `results` (as tot_commit), proposes `nodes` (as tot_propose; \
                  when absent, the fresh tasks of tot_next, but nothing once the end is open; [] for none), and \
                  returns `tasks` with prompts and `nextCall` as tot_next does. May write two commits (`commits`). \
                  If the results are rejected, nothing is written; if only the proposal is, the status is REJECTED \
                  but `committed` stands.",
    codes: &[],
    warnings: &[],
    also: &[&commit::ABOUT, &propose::ABOUT],
    read_only: false,
    idempotent: false,
};

/// A turn.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Input {
    /// Its id, or a unique beginning or ending.
    session_id: String,
    /// As in tot_commit.
    #[serde(default)]
    #[schemars(extend("x-elsewhere" = true))]
    results: Vec<NodeResult>,
    /// As in tot_propose.
    #[schemars(extend("x-elsewhere" = true))]
    nodes: Option<Vec<NewNode>>,
    #[serde(flatten)]
    asked: Asked,
    /// The model that does the work.
    model: Option<String>,
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
    Tool::writing(ABOUT, move |input, caller| match run(&service, input, caller) {
        Ok(done) => warned(&service, done),
        Err(refusal) => answer(&service, Err(refusal)),
    })
}

fn run(service: &Service, input: Input, caller: &Caller) -> Result<Answer<Body>, Refusal> {
    let Input { session_id, results, nodes, asked, model } = input;
    let caller = &with_model(caller, model);
    let plan = asked.plan();
    // Before anything is written.
    number_of_tasks(plan.max_tasks)?;
    let nodes = nodes.map(meant);
    let first = if results.is_empty() { None } else { Some(service.commit(&session_id, results, caller)?) };
    match (first, service.propose_next(&session_id, nodes.as_deref(), &plan, caller)) {
        (first, Ok(second)) => done(first.as_ref(), &second, &asked),
        (None, Err(refusal)) => Err(refusal),
        (Some(first), Err(refusal)) => Ok(half_done(&first, &refusal)),
    }
}

fn done(first: Option<&Written>, second: &Written, asked: &Asked) -> Result<Answer<Body>, Refusal> {
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
    let what_now = next(investigation, &rules, &asked.plan())?;
    let to_research = match approved.is_empty() {
        // Nothing is new: what is still pending is to be researched.
        true => what_now.pending.clone(),
        false => briefs(investigation, &rules, &approved),
    };
    let next_call = next_call(investigation, &what_now, asked);
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
    shared.warnings = first.decision.warnings.clone();
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
