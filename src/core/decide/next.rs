//! What comes next: the next legal call, and the research tasks that lead to the end. Nothing is written. A plan is only
//! advice, and its proposals are validated like any other.
//!
//! One order holds everywhere: pending proposals, results that differ, objections, what the rules require, what would
//! overturn an answer, and what widens the search. `planner` turns this order into a [`NextStep`] and new nodes; `brief` words the
//! tasks; `states` knows the possible states.
//!
//! - [`outlook`] is what every reply tells: the blockers and the next step, for whoever reads it.
//! - [`next()`] is a plan for one agent: without the nodes that others have claimed, and with tasks. Only the claims
//!   depend on the time; the planner has none, so that a report does not change by itself.
//!
//! Guarantee: while the investigation can still end, the next call is legal, and an agent that follows the plans and
//! closes branches where it may comes to the end, regardless of what was committed before. The property test in
//! `next/tests.rs` checks this. Limitation: some rulesets can make ending impossible, and
//! [`validity`](crate::ruleset::validity) detects only some of these cases. The plan then names what prevents the end.

mod brief;
mod planner;
mod states;
#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;

use serde::Serialize;

use super::blockers::first_blockers;
use super::claim::{Claimant, claim};
use super::propose::{NewNode, Propose, propose};
use super::{Decision, Rejection};
use crate::domain::wording::command;
use crate::domain::{
    BoundAnswer, BoundAs, Caller, Claim, Code, CommentId, CommentKind, Diagnostic, Investigation, Node,
    NodeId, StateName, Timestamp, Wording,
};
use crate::ruleset::rules::verification::ClaimedAuthor;
use crate::ruleset::rules::{children, shortened};
use crate::ruleset::{EffectiveRules, Requirement, State};
use crate::text::{one_line, shorten};
pub use brief::needs;
use planner::{Planner, Slot};
use states::States;

/// The permitted number of tasks in a request.
pub const TASKS: RangeInclusive<u32> = 1..=20;
/// The default number of tasks.
pub const TASKS_DEFAULT: u32 = 8;

/// Maximum number of nodes that lack children among the blockers of an [`Outlook`].
const LACKING: usize = 3;

/// Maximum number of characters in the reason for a call, as agents read it.
const REASON_MAX: usize = 400;

/// Maximum number of characters in the name of an agent.
const AGENT_MAX: usize = 60;

/// A request for a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Next {
    /// Maximum number of tasks; defaults to [`TASKS_DEFAULT`].
    pub max_tasks: Option<u32>,
    /// The agent to plan for. The plan omits nodes claimed by other agents and objections that this agent may not
    /// handle.
    pub agent_id: Option<String>,
    /// The caller that requests the plan.
    pub caller: Caller,
}

/// The remaining requirements of an investigation, and its next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// The conditions that prevent ending; see [`blockers`](super::blockers::blockers). They include at most three nodes
    /// that lack children.
    pub blockers: Vec<Diagnostic>,
    /// The number of nodes that lack children.
    pub lacking: usize,
    /// The steps required in the next round; `None` if no nodes are missing or the investigation has ended.
    pub next_round: Option<NextRound>,
    /// The next step. In an outlook for no particular agent, that of somebody who may work on every node.
    pub next_step: NextStep,
}

/// The next steps of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What remains, with the agent's own next step.
    pub outlook: Outlook,
    /// Pending proposals to commit next.
    pub pending: Vec<Task>,
    /// Proposals that others have claimed.
    pub claimed: Vec<(NodeId, Claim)>,
    /// Nodes to propose and research. The batch is legal as is, even while other proposals are pending.
    pub tasks: Vec<Task>,
}

/// One node to research.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The node id: a new id, or the id of the pending proposal.
    pub id: NodeId,
    /// The parent node; `None` for a root.
    pub parent: Option<NodeId>,
    /// The ancestors with their titles, from the root to the parent.
    pub path: Vec<(NodeId, String)>,
    /// The title, in one line.
    pub title: String,
    /// The planned work.
    pub planned_action: String,
    /// The states in which the result would count, with their requirements.
    pub counts: String,
    /// The full brief for a research agent.
    pub prompt: String,
    /// True if the rules require the node.
    pub is_required: bool,
}

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// Make this call, which is legal now.
    Call(NextCall),
    /// Wait for the agent that has claimed a node until its claim expires.
    Wait(NodeId, Claim),
    /// Meet a condition that prevents ending. No proposal meets it, or only somebody else can.
    Settle(Diagnostic),
    /// The investigation has ended. A proposal with a reason would reopen it.
    Reopen,
}

/// A call with its arguments and the reason for making it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextCall {
    /// The call.
    pub call: LegalCall,
    /// The reason, in one or two sentences. Empty if the call says it all.
    pub reason: Wording,
}

/// A call that is legal now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LegalCall {
    /// A `tot_propose` call with the tasks of the plan, which are described in a few words.
    Propose(Wording),
    /// A `tot_propose` call that only withdraws proposals.
    Withdraw(Vec<NodeId>),
    /// A `tot_commit` call for pending nodes. The agent fills in the state, the findings and the evidence.
    Commit(Vec<NodeId>),
    /// `tot_reclassify`.
    Reclassify(NextState),
    /// A `tot_comment` call in reply to an objection.
    Reply(ObjectionReply),
    /// A `tot_amend` call that accepts a correction.
    Accept(CommentId),
    /// `tot_end`. If there are several answers, the call lists those that the conclusion may rest on, with the
    /// best-confirmed one as the main answer. `None` if it ends with the draft.
    End(Option<Vec<BoundAnswer>>),
}

/// A reply to an objection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectionReply {
    /// The id of the objection.
    pub to: CommentId,
    /// An answer or a resolution. A resolution must not come from the node's author.
    pub kind: CommentKind,
}

/// A node and a state that lets the investigation go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextState {
    /// The node.
    pub node: NodeId,
    /// The state.
    pub state: StateName,
    /// The minimum length of the evidence in characters, if the state requires evidence.
    pub evidence: Option<u32>,
}

/// The steps required in the next round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NextRound {
    /// The lowest round in which nodes are missing.
    pub round: u32,
    /// The number of missing nodes.
    pub nodes_required: u32,
    /// The number of proposals needed for the missing nodes.
    pub total_batches: u32,
}

impl LegalCall {
    /// Returns the tool, the command that corresponds to it, and the command's arguments after the investigation's id. A
    /// step proposes the tasks that the reply lists.
    pub fn names(&self) -> (&'static str, &'static str, String) {
        match self {
            LegalCall::Propose(_) => ("tot_step", "tot propose", "--next".to_owned()),
            LegalCall::Withdraw(ids) => {
                let ids: Vec<&str> = ids.iter().map(NodeId::as_str).collect();
                ("tot_propose", "tot propose", format!("--withdraw {}", ids.join(" ")))
            }
            LegalCall::Commit(nodes) => {
                let only = if let [only] = nodes.as_slice() { only.to_string() } else { String::new() };
                ("tot_commit", "tot commit", only)
            }
            LegalCall::Reclassify(change) => {
                ("tot_reclassify", "tot amend", format!("{} --state STATE", change.node))
            }
            LegalCall::Reply(ObjectionReply { to, kind }) => match kind {
                CommentKind::Resolution => ("tot_comment", "tot resolve", to.to_string()),
                _ => ("tot_comment", "tot comment", format!("--reply-to {to}")),
            },
            LegalCall::Accept(id) => ("tot_amend", "tot amend", format!("--accept {id}")),
            LegalCall::End(answers) => {
                let bind = |it: &BoundAnswer| {
                    let option = if it.role == BoundAs::Rival { "--rival" } else { "--answer" };
                    format!("{option} {}", it.id)
                };
                ("tot_end", "tot end", answers.iter().flatten().map(bind).collect::<Vec<_>>().join(" "))
            }
        }
    }
}

impl NextCall {
    /// Words the call in one line.
    fn wording(&self, investigation: Option<&str>) -> Wording {
        let (tool, name, rest) = self.call.names();
        let command = format!("`{}`", command(name, investigation, &rest));
        let call = match &self.call {
            LegalCall::Propose(what) => Wording::both(
                format!("Call tot_step or tot_propose for {}.", what.agent()),
                format!("{command} for {}.", what.person()),
            ),
            LegalCall::Commit(nodes) => {
                let several = if nodes.len() > 1 { " (if you have sub-agents, one each)" } else { "" };
                let nodes = shortened(nodes, 5);
                Wording::both(
                    format!(
                        "Research {nodes}{several}, then call tot_commit with state, findings and agentId."
                    ),
                    format!("Research {nodes}, then {command}."),
                )
            }
            LegalCall::End(None) => Wording::both(
                "Call tot_end without any text: it ends with the draft of the report. Or change the draft, or go deeper."
                    .to_owned(),
                format!("Run {command}: it ends with the draft of the report. Or change the draft, or go deeper."),
            ),
            LegalCall::End(Some(answers)) => {
                let bind = if answers.is_empty() { "" } else { ", say in `answers` what it rests on" };
                Wording::both(
                    format!("Call tot_end with your conclusion{bind}, or go deeper."),
                    format!("Run {command} with your conclusion, or go deeper."),
                )
            }
            LegalCall::Withdraw(_)
            | LegalCall::Reclassify(_)
            | LegalCall::Reply(_)
            | LegalCall::Accept(_) => {
                return Wording::both(
                    shorten(&format!("Next: {tool}. {}", self.reason.agent()), REASON_MAX),
                    format!("{command}. {}", self.reason.person()),
                );
            }
        };
        if self.reason.agent().is_empty() { call } else { self.reason.then(&call) }
    }
}

impl NextStep {
    /// Returns the call, if the step is one.
    pub fn call(&self) -> Option<&LegalCall> {
        if let NextStep::Call(next) = self { Some(&next.call) } else { None }
    }

    /// Words the step in one line. The commands for people name the investigation, if an id is given.
    pub fn wording(&self, investigation: Option<&str>) -> Wording {
        match self {
            NextStep::Call(call) => call.wording(investigation),
            NextStep::Wait(node, claim) => {
                let agent = shorten(&one_line(&claim.agent_id), AGENT_MAX);
                let until = claim.until;
                Wording::both("call tot_next again", "`tot next` has more").map(|again| {
                    format!(
                        "Other agents have claimed all tasks: {again} when they have committed, or at {until}, when the \
                         claim of {agent} on {node} expires."
                    )
                })
            }
            NextStep::Settle(blocker) => blocker.text(),
            NextStep::Reopen => Wording::both(
                "tot_propose with `reopen` reopens it, as does tot_reclassify with an open state.",
                format!(
                    "`{}` reopens it.",
                    command("tot propose", investigation, "TITLE --reopen -m REASON")
                ),
            )
            .map(|how| format!("The investigation has ended. {how}")),
        }
    }
}

impl Plan {
    /// Returns the tasks as a proposal.
    pub fn proposal(&self) -> Propose {
        let nodes = self.tasks.iter().map(|task| NewNode {
            id: task.id.to_string(),
            parent: task.parent.as_ref().map(ToString::to_string),
            title: task.title.clone(),
            planned_action: task.planned_action.clone(),
            ..NewNode::default()
        });
        Propose { nodes: nodes.collect(), ..Propose::default() }
    }
}

/// Returns the investigation's outlook.
pub fn outlook(investigation: &Investigation, rules: &EffectiveRules) -> Outlook {
    let caller = Caller::default();
    let planner = Planner::new(investigation, rules, ClaimedAuthor::of(None, &caller), TASKS_DEFAULT);
    let pending: Vec<&Node> = investigation.pending().map(AsRef::as_ref).collect();
    planned(investigation, rules, &planner, &pending).0
}

/// Returns the outlook of the planner's agent, who may commit the pending nodes, and the nodes to propose.
fn planned<'a>(
    investigation: &Investigation,
    rules: &EffectiveRules,
    planner: &Planner<'a>,
    pending: &[&Node],
) -> (Outlook, Vec<Slot<'a>>) {
    if investigation.end_in_force().is_some() {
        let next_step = NextStep::Reopen;
        return (Outlook { blockers: Vec::new(), lacking: 0, next_round: None, next_step }, Vec::new());
    }
    let incomplete = planner.incomplete.iter().copied();
    let lacking: Vec<_> = incomplete.filter(|it| children::is_lacking(investigation, rules, it)).collect();
    let blockers = first_blockers(investigation, rules, &lacking[..lacking.len().min(LACKING)]);
    let next_round = next_round(investigation, rules, planner.first_incomplete());
    let (next_step, slots) = planner.plan(pending, &blockers);
    (Outlook { blockers, lacking: lacking.len(), next_round, next_step }, slots)
}

/// Plans the next steps of an agent.
///
/// # Errors
///
/// Returns `INVALID_ARGUMENT` if the number of tasks is out of range.
pub fn next(
    investigation: &Investigation,
    rules: &EffectiveRules,
    request: &Next,
    now: Timestamp,
) -> Result<Plan, Rejection> {
    let most = number_of_tasks(request.max_tasks)?;
    let agent = request.agent_id.as_deref().map(str::trim).filter(|agent| !agent.is_empty());
    let of_other = |node: &Node| node.claim.clone().filter(|claim| claim.is_of_other(agent, now));
    let claimed: Vec<(NodeId, Claim)> =
        investigation.pending().filter_map(|node| Some((node.id.clone(), of_other(node)?))).collect();
    let mut pending: Vec<&Node> =
        investigation.pending().map(AsRef::as_ref).filter(|node| of_other(node).is_none()).collect();
    // The agent's own claims come first.
    pending.sort_by_key(|node| node.claim.as_ref().is_none_or(|claim| now >= claim.until));
    let planner = Planner::new(investigation, rules, ClaimedAuthor::of(agent, &request.caller), most);
    let (mut outlook, slots) = planned(investigation, rules, &planner, &pending);
    let has_ended = outlook.next_step == NextStep::Reopen;
    let slots = if pending.is_empty() || has_ended { slots } else { planner.beside_pending() };
    let pending = match outlook.next_step.call() {
        Some(LegalCall::Commit(nodes)) => briefs(investigation, rules, nodes),
        _ => Vec::new(),
    };
    if let (NextStep::Settle(_), Some((node, claim))) =
        (&outlook.next_step, claimed.iter().min_by_key(|(_, claim)| claim.until))
    {
        // Nodes claimed by others may change the requirements.
        outlook.next_step = NextStep::Wait(node.clone(), claim.clone());
    }
    Ok(Plan { outlook, pending, claimed, tasks: planner.tasks(slots) })
}

/// Claims the nodes that a plan for the current state would commit next. Writes nothing if there are no such nodes.
///
/// # Errors
///
/// Returns an error if [`next`] or [`claim`] fails.
pub fn claim_next(
    investigation: &Investigation,
    rules: &EffectiveRules,
    plan: &Next,
    minutes: Option<u32>,
    now: Timestamp,
) -> Result<Decision, Rejection> {
    let pending = next(investigation, rules, plan, now)?.pending;
    let nodes: Vec<NodeId> = pending.into_iter().map(|task| task.id).collect();
    if nodes.is_empty() {
        return Ok(Decision { event: None, warnings: Vec::new() });
    }
    claim(investigation, rules, &nodes, &Claimant { agent_id: plan.agent_id.clone(), minutes }, now)
}

/// Proposes the given nodes or, if `nodes` is `None`, the tasks from a plan for the current state. Writes nothing if
/// there are no nodes to propose.
///
/// # Errors
///
/// Returns an error if [`next`] or [`propose`] fails.
pub fn propose_next(
    investigation: &Investigation,
    rules: &EffectiveRules,
    nodes: Option<&[NewNode]>,
    plan: &Next,
    caller: &Caller,
    now: Timestamp,
) -> Result<Decision, Rejection> {
    let request = match nodes {
        Some(nodes) => {
            // The reply contains a plan, which must not fail once the nodes are stored.
            number_of_tasks(plan.max_tasks)?;
            Propose { nodes: nodes.to_vec(), ..Propose::default() }
        }
        None => {
            let plan = next(investigation, rules, plan, now)?;
            // Once the investigation can end, only the agent may choose to go deeper. Otherwise a loop of turns would
            // never end.
            let may_end = matches!(plan.outlook.next_step.call(), Some(LegalCall::End(_)));
            if may_end { Propose::default() } else { plan.proposal() }
        }
    };
    if request.nodes.is_empty() {
        return Ok(Decision { event: None, warnings: Vec::new() });
    }
    propose(investigation, rules, request, caller, now)
}

/// Returns the requested number of tasks, or the default.
///
/// # Errors
///
/// Returns `INVALID_ARGUMENT` if the number is outside [`TASKS`].
pub fn number_of_tasks(asked: Option<u32>) -> Result<u32, Rejection> {
    let most = asked.unwrap_or(TASKS_DEFAULT);
    if TASKS.contains(&most) {
        return Ok(most);
    }
    Err(Diagnostic::new(Code::InvalidArgument, format!("maxTasks is {most}."))
        .suggest(format!("Ask for {} to {} tasks.", TASKS.start(), TASKS.end()))
        .into())
}

/// Returns the briefs for pending proposals.
pub fn briefs(investigation: &Investigation, rules: &EffectiveRules, pending: &[NodeId]) -> Vec<Task> {
    let states = States { investigation, rules };
    let length = brief::prompt_length(pending.len());
    let nodes = pending.iter().filter_map(|id| investigation.node(id)).filter(|node| node.is_pending());
    nodes
        .map(|node| {
            let words = (node.title.clone(), node.planned_action.clone());
            states.task(&node.id, parent(investigation, node), words, length)
        })
        .collect()
}

/// Returns the full brief for the agent that researches a node.
pub fn brief(investigation: &Investigation, rules: &EffectiveRules, node: &Node) -> String {
    let words = (&node.id, parent(investigation, node), node.title.as_str(), node.planned_action.as_str());
    brief::prompt(States { investigation, rules }, words, brief::prompt_length(1))
}

/// Returns a task for a new child that checks a committed node, or `None` if the node can't have another child.
pub fn check(investigation: &Investigation, rules: &EffectiveRules, node: &Node) -> Option<Task> {
    let states = States { investigation, rules };
    states.committable(Some(node)).first()?;
    let id = crate::domain::fresh::Ids::new(investigation).child(node.id.short())?.into();
    let number = investigation.children(&node.id).count() + 1;
    let words = brief::title_and_action(investigation, rules, Some(node), number, 0);
    Some(states.task(&id, Some(node), words, brief::prompt_length(1)))
}

/// Returns the states that would be stored exactly as requested if a single node were committed below `parent` or as a
/// root.
pub fn states_that_count<'r>(
    investigation: &'r Investigation,
    rules: &'r EffectiveRules<'r>,
    parent: Option<&Node>,
) -> Vec<&'r State> {
    let state = parent.and_then(Node::state);
    if state.is_some_and(|state| rules.is_terminal(state)) {
        return Vec::new();
    }
    let round = parent.map_or(1, |parent| parent.round().saturating_add(1));
    let may_close = rules.closing_limit(round).is_none_or(|percent| percent >= 100);
    let mut states = States { investigation, rules }.committable(parent);
    states.retain(|option| may_close || rules.counts_as_closed(&option.name, round, state) != Some(true));
    states
}

/// Returns the parent for a node that was given without a parent. `Some(None)` means the root level.
///
/// The parent is the first node that needs a child, or otherwise the parent of the newest node. If a state is given,
/// returns the first suitable parent that accepts the state, or `None`.
pub fn place_of_next(
    investigation: &Investigation,
    rules: &EffectiveRules,
    state: Option<&StateName>,
) -> Option<Option<NodeId>> {
    let caller = Caller::default();
    let planner = Planner::new(investigation, rules, ClaimedAuthor::of(None, &caller), *TASKS.end());
    let required = planner.required_places();
    let existing = investigation.roots().count();
    let has_room = rules.ruleset().roots.max.is_none_or(|most| existing < most as usize);
    let pending = investigation.pending().map(|node| node.parent.clone());
    let pending = pending.filter(|parent| parent.is_some() || has_room).last();
    let newest = investigation.committed().map(|(node, _)| node).max_by_key(|node| node.last_research());
    let around = newest.map(|node| investigation.path(&node.id)).unwrap_or_default();
    let around = around.iter().rev().map(|node| Some(node.id.clone()));
    // The newest node's ancestors, nearest first, then the node itself.
    let around = around.clone().skip(1).chain(around.take(1));
    let takes = |place: &Option<NodeId>| {
        let parent = place.as_ref().and_then(|id| investigation.node(id)).map(AsRef::as_ref);
        let required = parent.and_then(|parent| rules.requirement(investigation, parent));
        let of = required.filter(|required| required.missing() > 0).and_then(|required| required.of);
        let states = states_that_count(investigation, rules, parent);
        states.iter().any(|option| {
            state.is_none_or(|state| option.name == *state && of.as_ref().is_none_or(|of| of.contains(state)))
        })
    };
    required.into_iter().chain(pending).chain(around).find(takes)
}

/// Returns the lowest round with missing nodes, if any. `parents` are the nodes that need more children in that round.
fn next_round(
    investigation: &Investigation,
    rules: &EffectiveRules,
    parents: &[(&Node, Requirement)],
) -> Option<NextRound> {
    let (round, nodes_required) = match parents {
        _ if investigation.committed().next().is_none() => (1, rules.min_roots),
        [] => return None,
        [(first, _), ..] => (
            first.round().saturating_add(1),
            parents.iter().map(|(_, requirement)| requirement.missing()).sum(),
        ),
    };
    let limit = rules.ruleset().batch_limit;
    let total_batches = limit.map_or(1, |limit| nodes_required.div_ceil(limit.max(1)));
    Some(NextRound { round, nodes_required, total_batches })
}

/// Returns a node's parent.
fn parent<'a>(investigation: &'a Investigation, node: &Node) -> Option<&'a Node> {
    node.parent.as_ref().and_then(|parent| investigation.node(parent)).map(AsRef::as_ref)
}
