//! `tot_next` suggests research tasks and the next legal call. It writes nothing. A plan is only advice, and its
//! proposals are validated like any other.
//!
//! 1. Collect the needs: required children of open nodes, checks of answers, breadth, missing combinations.
//! 2. Order the needs by strategy. The needs that fit into one proposal become tasks with new ids (`ids`).
//! 3. Give each task a state that leads toward the conclusion (`suggest`), wording from the ruleset, and a prompt
//!    (`brief`).
//! 4. Choose the next call: withdraw proposals that can't be committed, commit the others, change a state if no
//!    proposal helps, propose the tasks, or end the investigation.
//!
//! Guarantee: while the investigation can still end, the next call is legal, and following the plans ends it,
//! regardless of what was committed before. The property test in `next/tests.rs` checks this. Limitation: some rulesets
//! can make ending impossible, and [`validity`](crate::ruleset::validity) detects only some of these cases. The plan
//! then has no next call.

mod brief;
mod coverage;
mod suggest;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::ops::RangeInclusive;

use super::claim::{Claimant, claim};
use super::propose::{NewNode, Propose, propose};
use super::standing::{blockers, contested, refuted_alone};
use super::{Decision, Rejection};
use crate::domain::fresh::Ids;
use crate::domain::{
    BoundAnswer, BoundAs, Caller, Claim, Code, CommentId, CommentKind, Diagnostic, Investigation, Node,
    NodeId, StateName, Timestamp, Wording,
};
use crate::ruleset::effective::list;
use crate::ruleset::rules::confirmation::Confirmation;
use crate::ruleset::rules::objections::{self, Objection};
use crate::ruleset::rules::shortened;
use crate::ruleset::rules::verification::{ClaimedAuthor, writers};
use crate::ruleset::{EffectiveRules, Enforcement, Role, State};
pub use brief::needs;
use coverage::Grid;
pub use coverage::{Combination, Coverage, Dimension};
use suggest::{Advisor, KEPT_OPEN, NodePlace, Suggestion};

/// The permitted number of tasks in a request.
pub const TASKS: RangeInclusive<u32> = 1..=20;
/// The default number of tasks.
pub const TASKS_DEFAULT: u32 = 8;

/// Target number of children per open node in the exhaustive strategy.
const EXHAUSTIVE_CHILDREN: usize = 3;

/// Number of roots to propose if the ruleset does not set one.
const ROOTS: usize = 3;

/// Maximum number of tasks proposed at once just to raise the quality score.
const QUALITY_TASKS: usize = 5;

/// Maximum total size in bytes of the ids in a call, where each id appears twice.
const IDS: usize = 1_500;

/// Maximum number of answers to bind to a conclusion.
const MOST_BOUND: usize = 5;

/// Maximum number of proposals withdrawn by one call.
const WITHDRAWN: usize = 20;

/// The order in which needs become tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// Lowest round first, spread across the parents in that round.
    #[default]
    Balanced,
    /// Like [`Strategy::Balanced`], but with at least three children under every open node. If the ruleset limits
    /// closing, this applies only while few branches are open and until the required depth is reached.
    Exhaustive,
    /// Only unconfirmed answers and nodes that await confirmation. If nothing needs confirmation, like [`Strategy::Balanced`].
    Verify,
    /// Deepest branch first, answers before open work. Goes one level deeper even if no required steps remain.
    Deepen,
    /// Like [`Strategy::Balanced`], but limited to required steps.
    Owed,
}

/// A request for a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Next {
    /// The order of tasks.
    pub strategy: Strategy,
    /// Maximum number of tasks; defaults to [`TASKS_DEFAULT`].
    pub max_tasks: Option<u32>,
    /// The dimensions whose combinations should be covered, if any.
    pub dimensions: Vec<Dimension>,
    /// The agent to plan for. The plan omits nodes claimed by other agents and objections that this agent may not
    /// handle.
    pub agent_id: Option<String>,
    /// The caller that requests the plan.
    pub caller: Caller,
}

/// The next steps of an investigation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The next call. `None` for an ended investigation, or if the remaining work is claimed by others or requires a
    /// person. For example, only a person can resolve an objection to an unsigned node.
    pub next_call: Option<NextCall>,
    /// Pending proposals to commit next.
    pub pending: Vec<Task>,
    /// Proposals that others have claimed.
    pub claimed: Vec<(NodeId, Claim)>,
    /// Nodes to propose and research. The batch is legal as is, even while other proposals are pending.
    pub tasks: Vec<Task>,
    /// The coverage of combinations, if dimensions were given.
    pub coverage: Option<Coverage>,
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
    /// The dimension values that the task covers, such as `engine=gix`.
    pub covers: Vec<String>,
    /// The states in which the result would count, with their requirements.
    pub counts: String,
    /// The full brief for a research agent.
    pub prompt: String,
    /// A legal state that leads toward the conclusion if the whole batch is committed together. For planning only: the
    /// actual state depends on the findings.
    pub suggested_state: StateName,
}

/// A call with its arguments and the reason for making it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextCall {
    /// The call.
    pub call: LegalCall,
    /// The reason, in one or two sentences.
    pub reason: Wording,
}

/// A call that is legal now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LegalCall {
    /// A `tot_propose` call with all tasks in the plan.
    Propose,
    /// A `tot_propose` call that only withdraws proposals.
    Withdraw(Vec<NodeId>),
    /// A `tot_commit` call for pending nodes. The agent fills in the findings and evidence.
    Commit(Vec<SuggestedState>),
    /// `tot_reclassify`.
    Reclassify(SuggestedState),
    /// A `tot_comment` call in reply to an objection.
    Reply(ObjectionReply),
    /// `tot_end`. If there are several answers, the call lists those that the conclusion may rest on, with the
    /// best-confirmed one as the main answer.
    End(Vec<BoundAnswer>),
}

impl LegalCall {
    /// Returns the tool, the command that corresponds to it, and the command's arguments after the investigation's id. A
    /// step proposes the tasks that the reply lists.
    pub fn names(&self) -> (&'static str, &'static str, String) {
        match self {
            LegalCall::Propose => ("tot_step", "tot propose", "--next".to_owned()),
            LegalCall::Withdraw(ids) => {
                let ids: Vec<&str> = ids.iter().map(NodeId::as_str).collect();
                ("tot_propose", "tot propose", format!("--withdraw {}", ids.join(" ")))
            }
            LegalCall::Commit(steps) => {
                let first = steps.first().map(|step| step.node.to_string());
                ("tot_commit", "tot commit", first.unwrap_or_default())
            }
            LegalCall::Reclassify(step) => {
                ("tot_reclassify", "tot reclassify", format!("{} STATE", step.node))
            }
            LegalCall::Reply(ObjectionReply { to, kind }) => match kind {
                CommentKind::Resolution => ("tot_comment", "tot resolve", to.to_string()),
                _ => ("tot_comment", "tot comment", format!("--reply-to {to}")),
            },
            LegalCall::End(answers) => {
                let bind = |it: &BoundAnswer| {
                    let option = if it.role == BoundAs::Rival { "--rival" } else { "--answer" };
                    format!("{option} {}", it.id)
                };
                ("tot_end", "tot end", answers.iter().map(bind).collect::<Vec<_>>().join(" "))
            }
        }
    }
}

/// A reply to an objection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectionReply {
    /// The id of the objection.
    pub to: CommentId,
    /// An answer or a resolution. A resolution must not come from the node's author.
    pub kind: CommentKind,
}

/// A node and its suggested state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuggestedState {
    /// The node.
    pub node: NodeId,
    /// The state.
    pub state: StateName,
    /// The minimum length of the evidence in characters, if the state requires evidence.
    pub evidence: Option<u32>,
    /// The minimum number of alternatives, if the state requires alternatives.
    pub alternatives: Option<u32>,
}

impl Plan {
    /// Returns the tasks as a proposal.
    pub fn proposal(&self) -> Propose {
        let nodes = self.tasks.iter().map(|task| NewNode {
            id: task.id.to_string(),
            parent: task.parent.as_ref().map(ToString::to_string),
            title: task.title.clone(),
            planned_action: task.planned_action.clone(),
            covers: task.covers.clone(),
        });
        Propose { nodes: nodes.collect(), withdraw: Vec::new() }
    }
}

/// Plans the next steps.
///
/// # Errors
///
/// Returns `INVALID_ARGUMENT` if the number of tasks is out of range, if a dimension is empty, or if there are too many
/// dimensions.
pub fn next(
    investigation: &Investigation,
    rules: &EffectiveRules,
    request: &Next,
    now: Timestamp,
) -> Result<Plan, Rejection> {
    let most = number_of_tasks(request.max_tasks)?;
    let grid = Grid::new(investigation, &request.dimensions)?;
    let coverage = grid.as_ref().map(Grid::coverage);
    if investigation.end_in_force().is_some() {
        let (pending, claimed, tasks) = Default::default();
        return Ok(Plan { next_call: None, pending, claimed, tasks, coverage });
    }
    let agent = request.agent_id.as_deref().map(str::trim);
    let of_other = |node: &Node| node.claim.clone().filter(|claim| claim.is_of_other(agent, now));
    let claimed: Vec<(NodeId, Claim)> =
        investigation.pending().filter_map(|node| Some((node.id.clone(), of_other(node)?))).collect();
    let mut pending: Vec<&Node> =
        investigation.pending().map(AsRef::as_ref).filter(|node| of_other(node).is_none()).collect();
    // The agent's own claims come first.
    pending.sort_by_key(|node| node.claim.as_ref().is_none_or(|claim| now >= claim.until));
    let planner = Planner {
        investigation,
        rules,
        advisor: Advisor::new(investigation, rules),
        strategy: request.strategy,
        who: ClaimedAuthor::of(agent, &request.caller),
        most: most as usize,
        limit: (most as usize).min(rules.ruleset().batch_limit.map_or(usize::MAX, |limit| limit as usize)),
    };
    let (next_call, tasks) = planner.plan(grid, &pending);
    let pending = match &next_call {
        Some(NextCall { call: LegalCall::Commit(steps), .. }) => {
            let ids: Vec<NodeId> = steps.iter().map(|step| step.node.clone()).collect();
            briefs(investigation, rules, &ids)
        }
        _ => Vec::new(),
    };
    Ok(Plan { next_call, pending, claimed, tasks, coverage })
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
    now: Timestamp,
) -> Result<Decision, Rejection> {
    let request = match nodes {
        Some(nodes) => {
            // The reply contains a plan, which must not fail once the nodes are stored.
            number_of_tasks(plan.max_tasks)?;
            Grid::new(investigation, &plan.dimensions)?;
            Propose { nodes: nodes.to_vec(), withdraw: Vec::new() }
        }
        None => {
            let plan = next(investigation, rules, plan, now)?;
            // Once the investigation can end, only the agent may choose to go deeper. Otherwise a loop of turns would
            // never end.
            let may_end = plan.next_call.as_ref().is_some_and(|next| matches!(next.call, LegalCall::End(_)));
            if may_end { Propose::default() } else { plan.proposal() }
        }
    };
    if request.nodes.is_empty() {
        return Ok(Decision { event: None, warnings: Vec::new() });
    }
    propose(investigation, rules, request, now)
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

/// Returns the briefs for pending proposals, with states suited to committing them all together.
pub fn briefs(investigation: &Investigation, rules: &EffectiveRules, pending: &[NodeId]) -> Vec<Task> {
    let advisor = Advisor::new(investigation, rules);
    let nodes: Vec<&Node> = pending
        .iter()
        .filter_map(|id| investigation.node(id))
        .map(AsRef::as_ref)
        .filter(|node| node.is_pending())
        .collect();
    let suggested = advisor.suggest(&places(investigation, &nodes));
    let length = brief::prompt_length(nodes.len());
    nodes
        .iter()
        .zip(suggested)
        .filter_map(|(node, suggestion)| {
            let parent =
                node.parent.as_ref().and_then(|parent| investigation.node(parent)).map(AsRef::as_ref);
            let words = (node.title.clone(), node.planned_action.clone());
            Some(advisor.task(&node.id, parent, words, suggestion?.state.name.clone(), length))
        })
        .collect()
}

/// Returns the full brief for the agent that researches a node.
pub fn brief(investigation: &Investigation, rules: &EffectiveRules, node: &Node) -> String {
    let parent = node.parent.as_ref().and_then(|parent| investigation.node(parent)).map(AsRef::as_ref);
    let words = (&node.id, parent, node.title.as_str(), node.planned_action.as_str());
    brief::prompt(&Advisor::new(investigation, rules), words, brief::prompt_length(1))
}

/// Returns a task for a new child that checks a committed node, or `None` if the node can't have another child.
pub fn check(investigation: &Investigation, rules: &EffectiveRules, node: &Node) -> Option<Task> {
    let advisor = Advisor::new(investigation, rules);
    advisor.committable(Some(node)).first()?;
    let id = Ids::new(investigation).child(&node.id)?;
    let suggestion = advisor.suggest(&[NodePlace { parent: Some(node), keep_open: false }]).pop()??;
    let number = investigation.children(&node.id).count() + 1;
    let words = brief::title_and_action(investigation, rules, Some(node), number, 0, None);
    Some(advisor.task(&id, Some(node), words, suggestion.state.name.clone(), brief::prompt_length(1)))
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
    let mut states = Advisor::new(investigation, rules).committable(parent);
    states.retain(|option| may_close || rules.counts_as_closed(&option.name, round, state) != Some(true));
    states
}

/// Returns the parent for a node that was given without a parent. `Some(None)` means the root level.
///
/// The parent is the first node that needs a child, or otherwise the parent of the newest node. If a state is given,
/// returns the first suitable parent that accepts the state, or `None`.
///
/// # Errors
///
/// Returns an error if [`next`] fails.
pub fn place_of_next(
    investigation: &Investigation,
    rules: &EffectiveRules,
    state: Option<&StateName>,
    now: Timestamp,
) -> Result<Option<Option<NodeId>>, Rejection> {
    let request = Next { strategy: Strategy::Owed, max_tasks: Some(*TASKS.end()), ..Next::default() };
    let owed = next(investigation, rules, &request, now)?.tasks.into_iter().map(|task| task.parent);
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
        let owed = parent.and_then(|parent| rules.requirement(investigation, parent));
        let of = owed.filter(|owed| owed.missing() > 0).and_then(|owed| owed.of);
        let states = states_that_count(investigation, rules, parent);
        states.iter().any(|option| {
            state.is_none_or(|state| option.name == *state && of.as_ref().is_none_or(|of| of.contains(state)))
        })
    };
    Ok(owed.chain(pending).chain(around).find(takes))
}

struct Planner<'a> {
    investigation: &'a Investigation,
    rules: &'a EffectiveRules<'a>,
    advisor: Advisor<'a>,
    strategy: Strategy,
    /// The requesting agent.
    who: ClaimedAuthor<'a>,
    /// The requested maximum number of tasks.
    most: usize,
    /// The maximum number of nodes in one proposal: `most`, capped by the ruleset's batch limit.
    limit: usize,
}

/// A node to be proposed.
struct Slot<'a> {
    id: NodeId,
    parent: Option<&'a Node>,
    keep_open: bool,
    /// True if the node can be assigned a combination of values. Always false for nodes that check an answer.
    explores: bool,
}

/// Children wanted under a node.
struct Want<'a> {
    parent: &'a Node,
    number: usize,
    /// True if the children check an answer.
    checks: bool,
}

impl<'a> Planner<'a> {
    /// Returns the next call and the tasks, given the available pending proposals. An objection comes first, but the
    /// tasks are still returned.
    fn plan(&self, grid: Option<Grid>, pending: &[&Node]) -> (Option<NextCall>, Vec<Task>) {
        let idle = pending.is_empty();
        if let Some(call) = self.contested().filter(|_| idle) {
            return (Some(call), Vec::new());
        }
        let (call, tasks) = self.work(grid, pending);
        let Some(reply) = self.objected().filter(|_| idle) else { return (call, tasks) };
        let is_wanted = call.is_some_and(|call| call.call == LegalCall::Propose);
        (Some(reply), if is_wanted { tasks } else { Vec::new() })
    }

    /// Returns the next call and the tasks, ignoring objections.
    fn work(&self, mut grid: Option<Grid>, pending: &[&Node]) -> (Option<NextCall>, Vec<Task>) {
        let mut ids = Ids::new(self.investigation);
        let idle = pending.is_empty();
        let combinations = grid.as_ref().map_or(0, Grid::left);
        let mut slots = self.roots(&mut ids, combinations);
        slots.extend(self.spread(&self.wants(combinations), &mut ids));
        if idle && let Some(call) = self.instead_of_children(&slots) {
            return (Some(call), Vec::new());
        }
        let leaves = self.leaves_to_close(&slots);
        if idle && let Some(call) = leaves.first().and_then(|leaf| self.close(leaf)) {
            return (Some(call), Vec::new());
        }
        // Leaves are closed once the pending nodes are committed, so no children are proposed below them.
        slots.retain(|slot| slot.parent.is_none_or(|parent| !leaves.iter().any(|leaf| leaf.id == parent.id)));
        let blockers = blockers(self.investigation, self.rules);
        if idle && slots.is_empty() {
            // Nodes claimed by others may change the requirements.
            if self.investigation.pending().next().is_some() {
                return (None, Vec::new());
            }
            if blockers.is_empty()
                && let Some((slot, reason)) = self.other_way(&mut ids)
            {
                let call = NextCall { call: LegalCall::Propose, reason: reason.into() };
                return (Some(call), self.tasks(vec![slot], &mut grid));
            }
            if blockers.is_empty() {
                let deeper = self.deeper(&mut ids).filter(|_| self.strategy == Strategy::Deepen);
                let answers = self.bindable();
                let bind = match answers.len() {
                    0 => "".into(),
                    _ => Wording::both(
                        ", and say in `answers` which it rests on: `part` of it, or `rival`",
                        ", and name with --answer what it rests on, and with --rival what is only possible",
                    ),
                };
                let only = if deeper.is_some() { "; the tasks only go deeper" } else { "" };
                let reason = bind
                    .map(|bind| format!("No required steps remain: end with your conclusion{bind}{only}."));
                let call = NextCall { call: LegalCall::End(answers), reason };
                return (Some(call), self.tasks(deeper.into_iter().collect(), &mut grid));
            }
            if blockers.iter().all(|blocker| blocker.code == Code::ObjectionOpen) {
                return (None, Vec::new());
            }
            let shallow = self.investigation.current_round() < self.advisor.goal;
            slots =
                if shallow { self.deeper(&mut ids).into_iter().collect() } else { self.broader(&mut ids) };
            if slots.is_empty() {
                return (self.revive(&blockers), Vec::new());
            }
        }
        let reason = self.why(&slots, &blockers);
        let tasks = self.tasks(slots, &mut grid);
        let call = if idle {
            (!tasks.is_empty()).then_some(NextCall { call: LegalCall::Propose, reason })
        } else {
            Some(self.settle(pending))
        };
        (call, tasks)
    }

    /// Returns the answers to bind to the conclusion if there are several. The list is capped because most answers are
    /// rivals.
    fn bindable(&self) -> Vec<BoundAnswer> {
        let mut answers: Vec<_> = self.rules.answers(self.investigation).collect();
        answers.sort_by_key(|node| Reverse(self.rules.grade(self.investigation, node)));
        let roles = std::iter::once(BoundAs::Main).chain(std::iter::repeat(BoundAs::Rival));
        let bound = answers.iter().zip(roles).map(|(node, role)| BoundAnswer { id: node.id.clone(), role });
        if answers.len() > 1 { bound.take(MOST_BOUND).collect() } else { Vec::new() }
    }

    /// Returns the call that settles pending proposals: first withdraw those that can't be committed, then commit the
    /// others.
    fn settle(&self, pending: &[&Node]) -> NextCall {
        let lost: Vec<NodeId> =
            pending.iter().filter(|node| self.is_lost(node)).map(|node| node.id.clone()).collect();
        if !lost.is_empty() {
            let reason = format!(
                "{} can't be committed any more: no state is allowed there now.",
                list(lost.iter().take(5))
            );
            let lost = lost.into_iter().take(WITHDRAWN).collect();
            return NextCall { call: LegalCall::Withdraw(lost), reason: reason.into() };
        }
        // The reply has a size limit, and ids may be long.
        let mut room = IDS;
        let fits = |node: &&Node| {
            let needs = node.id.as_str().len();
            let fits = room >= needs;
            room = room.saturating_sub(needs);
            fits
        };
        let batch: Vec<&Node> = pending.iter().copied().take(self.most).take_while(fits).collect();
        let suggested = self.advisor.suggest(&places(self.investigation, &batch));
        let steps: Vec<SuggestedState> = batch
            .iter()
            .zip(suggested)
            .filter_map(|(node, suggestion)| Some(self.step(&node.id, &suggestion?.state.name)))
            .collect();
        let more = pending.len() - batch.len();
        let more = if more > 0 { format!(" And {more} more after them.") } else { String::new() };
        let what = match steps.len() {
            1 => {
                "This node is proposed but not committed: research it, then commit it in the state that its findings \
                  call for."
            }
            _ => {
                "These nodes are proposed but not committed: research them, then commit them together, each in the \
                  state that its findings call for."
            }
        };
        let reason = format!("{what}{more}");
        NextCall { call: LegalCall::Commit(steps), reason: reason.into() }
    }

    /// Returns whether a pending node can no longer be committed.
    fn is_lost(&self, node: &Node) -> bool {
        let parent =
            node.parent.as_ref().and_then(|parent| self.investigation.node(parent)).map(AsRef::as_ref);
        let closed = parent.and_then(Node::state).is_some_and(|state| self.rules.is_terminal(state));
        closed || self.advisor.committable(parent).is_empty()
    }

    /// Returns the roots to propose: the first batch, or an additional root if no branch can continue.
    fn roots(&self, ids: &mut Ids, combinations: usize) -> Vec<Slot<'a>> {
        let investigation = self.investigation;
        if investigation.roots().any(|root| root.is_pending()) {
            return Vec::new();
        }
        let roots = &self.rules.ruleset().roots;
        let recovery = self.rules.recovery_required(investigation);
        let existing = investigation.roots().count();
        let least = (self.rules.min_roots() as usize).saturating_sub(existing);
        let most = roots.max.map_or(usize::MAX, |max| max as usize);
        let number = if recovery {
            let room = most.max(existing + 1) - existing;
            Some(least.max(1)).filter(|number| *number <= room)
        } else if existing == 0 {
            // The first roots are proposed as one batch, even if fewer tasks were requested.
            let asked = if self.strategy == Strategy::Owed { 1 } else { ROOTS };
            Some(asked.max(combinations).min(self.limit).max(least).min(most))
        } else {
            None
        };
        let allowed = roots.ids.as_deref().filter(|_| !recovery);
        let ids: Vec<NodeId> = (0..number.unwrap_or(0)).map_while(|_| ids.root(allowed)).collect();
        if ids.len() < least {
            return Vec::new();
        }
        let slot = |id| Slot { id, parent: None, keep_open: recovery, explores: true };
        let several = ids.len() > 1;
        ids.into_iter().map(|id| Slot { explores: several, ..slot(id) }).collect()
    }

    /// Returns the children wanted under open nodes, ordered by strategy.
    fn wants(&self, combinations: usize) -> Vec<Want<'a>> {
        let (investigation, rules) = (self.investigation, self.rules);
        let asked = if self.strategy == Strategy::Exhaustive { EXHAUSTIVE_CHILDREN } else { 0 };
        let is_asked = self.strategy != Strategy::Owed;
        let asked = if is_asked { asked.max(rules.children_asked() as usize) } else { 0 };
        let open = self.advisor.open_by_round();
        let mut wants: Vec<Want<'a>> = Vec::new();
        for (node, state) in investigation.committed() {
            if rules.is_terminal(state) || !self.advisor.can_be_completed(node) {
                continue;
            }
            let children = investigation.children(&node.id).count();
            let pending = children - investigation.committed_children(&node.id).count();
            let missing =
                rules.requirement(investigation, node).map_or(0, |requirement| requirement.missing());
            // If a limit keeps some of the children open, requesting more than required would let the tree grow with
            // every round. Extra children are then requested only while few branches are open and the required depth
            // has not been reached.
            let below = node.round().saturating_add(1);
            let limited = rules.closing_limit(below).is_some_and(|percent| percent < 100);
            let many = open.get(&below).is_some_and(|open| *open >= KEPT_OPEN);
            let endless = limited && (node.round() >= self.advisor.goal || many);
            let asked = if endless { 0 } else { asked };
            let mut number = (missing as usize).saturating_sub(pending).max(asked.saturating_sub(children));
            let must_be_checked =
                rules.role(state) == Role::Solution && rules.lacks_confirmation(investigation, node);
            let checks = match rules.role(state) {
                Role::AwaitingConfirmation => true,
                Role::Solution => {
                    let is_unchecked = rules.confirming(investigation, node).is_empty()
                        && rules.refuted_by(investigation, node).is_empty();
                    (is_unchecked || must_be_checked)
                        && self
                            .advisor
                            .committable(Some(node))
                            .iter()
                            .any(|state| state.role == Role::Confirmation)
                }
                _ => false,
            };
            let awaits = must_be_checked
                || rules.role(state) == Role::AwaitingConfirmation
                || self.strategy == Strategy::Verify;
            if checks && awaits && pending == 0 {
                number = number.max(1);
            }
            wants.push(Want { parent: node, number, checks });
        }
        if self.strategy == Strategy::Verify && wants.iter().any(|want| want.checks && want.number > 0) {
            wants.retain(|want| want.checks);
        }
        self.widen(&mut wants, combinations);
        wants.retain(|want| want.number > 0);
        let promise = |want: &Want<'_>| match want.parent.state().map(|state| rules.role(state)) {
            Some(Role::AwaitingConfirmation) => 0,
            Some(Role::Solution) => 1,
            Some(Role::Open) => 2,
            _ => 3,
        };
        match self.strategy {
            Strategy::Deepen => wants.sort_by_key(|want| (Reverse(want.parent.round()), promise(want))),
            Strategy::Verify => wants.sort_by_key(|want| (promise(want), want.parent.round())),
            Strategy::Balanced | Strategy::Exhaustive | Strategy::Owed => {}
        }
        wants
    }

    /// Adds children to reach a round's recommended breadth until a later round begins, and to cover missing
    /// combinations.
    fn widen(&self, wants: &mut [Want<'a>], combinations: usize) {
        let breadth = self.rules.breadth().filter(|(round, _)| {
            self.strategy != Strategy::Owed && self.investigation.current_round() <= *round
        });
        if let Some((round, recommended)) = breadth {
            let there = self.investigation.nodes().filter(|node| node.round() == round).count();
            let lacking = (recommended as usize).saturating_sub(there);
            self.raise(wants, lacking, |want| want.parent.round() + 1 == round);
        }
        self.raise(wants, combinations.min(self.limit), |want| self.explores(want.parent));
    }

    /// Adds children to the matching wants until their total is `sum`, preferring parents with the fewest children.
    fn raise(&self, wants: &mut [Want<'a>], sum: usize, fits: impl Fn(&Want<'a>) -> bool) {
        let planned: usize = wants.iter().filter(|want| fits(want)).map(|want| want.number).sum();
        for _ in planned..sum {
            let fewest = wants
                .iter_mut()
                .filter(|want| fits(want))
                .min_by_key(|want| self.investigation.children(&want.parent.id).count() + want.number);
            let Some(want) = fewest else { return };
            want.number += 1;
        }
    }

    /// Returns whether a node's children explore further rather than check the node.
    fn explores(&self, parent: &Node) -> bool {
        parent.state().is_some_and(|state| self.rules.role(state) == Role::Open)
    }

    /// Turns wants into slots up to the limit, either branch by branch or in turn under each parent.
    fn spread(&self, wants: &[Want<'a>], ids: &mut Ids) -> Vec<Slot<'a>> {
        let mut slots = Vec::new();
        let mut rest: Vec<(&'a Node, usize)> = wants.iter().map(|want| (want.parent, want.number)).collect();
        while slots.len() < self.limit && !rest.is_empty() {
            // One pass: a child for each parent in the first remaining round, or all children of the first parent.
            let first = rest[0].0.round();
            let in_turn = self.strategy != Strategy::Deepen;
            let members =
                rest.iter().take_while(|(parent, _)| in_turn && parent.round() == first).count().max(1);
            for (parent, number) in &mut rest[..members] {
                if slots.len() == self.limit {
                    break;
                }
                let id = ids.child(&parent.id);
                *number = if id.is_some() { *number - 1 } else { 0 };
                slots.extend(id.map(|id| self.slot(id, parent, false)));
            }
            rest.retain(|(_, number)| *number > 0);
        }
        slots
    }

    fn slot(&self, id: NodeId, parent: &'a Node, keep_open: bool) -> Slot<'a> {
        Slot { id, parent: Some(parent), keep_open, explores: self.explores(parent) }
    }

    fn suggest(&self, slots: &[Slot<'a>]) -> Vec<Option<Suggestion<'_>>> {
        let places: Vec<NodePlace<'_>> =
            slots.iter().map(|slot| NodePlace { parent: slot.parent, keep_open: slot.keep_open }).collect();
        self.advisor.suggest(&places)
    }

    /// Returns a state change for a node that is waiting for children that can't be committed.
    fn instead_of_children(&self, slots: &[Slot<'a>]) -> Option<NextCall> {
        let served: HashSet<&NodeId> = slots.iter().filter_map(|slot| Some(&slot.parent?.id)).collect();
        self.investigation.committed().find_map(|(node, state)| {
            let lacks = self
                .rules
                .requirement(self.investigation, node)
                .is_some_and(|requirement| requirement.missing() > 0);
            let waits = self.rules.role(state) == Role::AwaitingConfirmation;
            let decided = |confirmation: &Confirmation| {
                self.advisor
                    .committable(Some(node))
                    .iter()
                    .any(|state| confirmation.outcomes.iter().any(|outcome| outcome.child == state.name))
            };
            let hopeless = (lacks && !self.advisor.can_be_completed(node))
                || (waits && !self.rules.confirmation(state).is_some_and(decided));
            let no_id_left = (lacks || waits) && !served.contains(&node.id) && node.id.child("1").is_none();
            let other = match no_id_left {
                true if self.investigation.children(&node.id).next().is_none() => self.advisor.closing(node)?,
                _ if hopeless => self.advisor.instead(node, false)?,
                _ => return None,
            };
            let reason = format!(
                "{} is {state}, but no child that it needs can be committed in round {}; reclassify it to {} to continue.",
                node.id,
                node.round().saturating_add(1),
                other.name
            );
            Some(NextCall {
                call: LegalCall::Reclassify(self.step(&node.id, &other.name)),
                reason: reason.into(),
            })
        })
    }

    /// Returns the sufficiently deep open leaves whose children could not be closed in one commit. The limit on closing
    /// would keep their branches open forever.
    fn leaves_to_close(&self, slots: &[Slot<'a>]) -> Vec<&'a Node> {
        // By round: whether any task has a closed state. By parent: whether all of its tasks are kept open.
        let mut closes: BTreeMap<u32, bool> = BTreeMap::new();
        let mut held: BTreeMap<&NodeId, (&'a Node, bool)> = BTreeMap::new();
        for (slot, suggestion) in slots.iter().zip(self.suggest(slots)) {
            let (Some(parent), Some(suggestion)) = (slot.parent, suggestion) else { continue };
            *closes.entry(slot.id.round()).or_default() |= suggestion.state.terminal;
            held.entry(&parent.id).or_insert((parent, true)).1 &= suggestion.held_open;
        }
        held.into_values()
            .filter(|(parent, all_held)| {
                *all_held
                    && parent.round() >= self.advisor.goal
                    && !closes.get(&(parent.round() + 1)).copied().unwrap_or_default()
                    && self.investigation.children(&parent.id).next().is_none()
                    && self.advisor.closing(parent).is_some()
            })
            .map(|(parent, _)| parent)
            .collect()
    }

    fn close(&self, leaf: &Node) -> Option<NextCall> {
        let closed = self.advisor.closing(leaf)?;
        let reason = format!(
            "{} is an open leaf, and the limit on closing keeps all its children open: reclassify it to a closed state,  \
             {} or the one its findings call for.",
            leaf.id, closed.name
        );
        Some(NextCall {
            call: LegalCall::Reclassify(self.step(&leaf.id, &closed.name)),
            reason: reason.into(),
        })
    }

    /// Returns the call that reopens a node once every node is closed, preferring nodes with children, then the
    /// deepest.
    fn revive(&self, blockers: &[Diagnostic]) -> Option<NextCall> {
        let has_children = |node: &Node| self.investigation.children(&node.id).next().is_some();
        let mut closed: Vec<&Node> = self.investigation.committed().map(|(node, _)| node.as_ref()).collect();
        closed.sort_by_key(|node| (has_children(node), node.round(), Reverse(node.id.clone())));
        closed.into_iter().rev().find_map(|node| {
            let open = self.advisor.instead(node, true)?;
            let why = blockers.first().map_or_else(|| "".into(), |blocker| blocker.message.clone());
            let reason = why.map(|why| format!("{why} No open node is left: go on from {}.", node.id));
            Some(NextCall { call: LegalCall::Reclassify(self.step(&node.id, &open.name)), reason })
        })
    }

    /// Returns a new child of the deepest open node that can have another.
    fn deeper(&self, ids: &mut Ids) -> Option<Slot<'a>> {
        self.investigation
            .committed()
            .rev()
            .filter(|(_, state)| !self.rules.is_terminal(state))
            .map(|(node, _)| node.as_ref())
            .find_map(|node| {
                let keep_open = node.round().saturating_add(1) < self.advisor.goal;
                let fits = |state: &&State| !keep_open || !state.terminal;
                self.advisor.committable(Some(node)).iter().find(|state| fits(state))?;
                let id = ids.child(&node.id)?;
                Some(self.slot(id, node, keep_open))
            })
    }

    /// Returns new children that can be closed to raise the quality score. Their parent is the open node nearest to the
    /// root that is deep enough. In that position, the children increase branching and need few descendants.
    fn broader(&self, ids: &mut Ids) -> Vec<Slot<'a>> {
        let deep_enough = |node: &Node| node.round().saturating_add(1) >= self.advisor.goal;
        let parent = self
            .investigation
            .committed()
            .filter(|(_, state)| !self.rules.is_terminal(state))
            .map(|(node, _)| node.as_ref())
            .filter(|node| self.advisor.committable(Some(node)).iter().any(|state| state.terminal))
            .min_by_key(|node| match deep_enough(node) {
                true => (false, node.round()),
                false => (true, u32::MAX - node.round()),
            });
        let Some(parent) = parent else { return Vec::new() };
        (0..self.limit.min(QUALITY_TASKS))
            .map_while(|_| ids.child(&parent.id))
            .map(|id| self.slot(id, parent, false))
            .collect()
    }

    fn why(&self, slots: &[Slot<'a>], blockers: &[Diagnostic]) -> Wording {
        let about = |blocker: &&Diagnostic| {
            slots.iter().any(|slot| {
                slot.parent.is_some_and(|parent| blocker.node.as_deref() == Some(parent.id.as_str()))
            })
        };
        let others = blockers.len().saturating_sub(1);
        let others = if others > 0 { format!(" Other blockers: {others}.") } else { String::new() };
        match blockers.iter().find(about).or_else(|| blockers.first()) {
            Some(blocker) => {
                blocker.message.map(|why| format!("{why}{others} Propose the tasks, then research them."))
            }
            None => "The rules ask for nothing more; the strategy, the mode or the dimensions do.".into(),
        }
    }

    /// Returns the call that chooses between conflicting results after a merge.
    fn contested(&self) -> Option<NextCall> {
        let contested = contested(self.investigation).into_iter().next()?;
        let node = self.investigation.node(&contested.node?.parse().ok()?)?;
        let call = LegalCall::Reclassify(self.step(&node.id, node.state()?));
        let read = Wording::both("tot_read", "`tot show`");
        let how = read.map(|call| format!("Read both with {call}, and decide."));
        Some(NextCall { call, reason: contested.message.then(&how) })
    }

    /// Returns the reply to an objection: an answer first, then a resolution if the investigation can't end without
    /// one.
    fn objected(&self) -> Option<NextCall> {
        let is_waited_for = self.rules.ruleset().objections == Enforcement::Reject;
        objections::open(self.investigation).iter().find_map(|objection| {
            let (kind, how) = match objection.is_answered() {
                _ if !self.is_for_who_asks(objection) => return None,
                false => (CommentKind::Answer, "Check it, fix what is wrong, and answer it."),
                true if is_waited_for => (
                    CommentKind::Resolution,
                    "It is answered: judge that, and resolve it or answer again. The node's author can't.",
                ),
                true => return None,
            };
            let reason = format!("{}. {how}", objection.message());
            Some(NextCall {
                call: LegalCall::Reply(ObjectionReply { to: objection.comment.id, kind }),
                reason: reason.into(),
            })
        })
    }

    /// Returns whether the requesting agent may answer or resolve an objection. The objection's author may not answer
    /// it, and the node's authors may not resolve it. An unnamed agent may speak for others in its session.
    fn is_for_who_asks(&self, objection: &Objection) -> bool {
        let Objection { comment, .. } = objection;
        let about = comment.node.as_ref().and_then(|id| self.investigation.committed_node(id));
        let writers = about.map_or_else(Vec::new, |node| writers(self.investigation, node, None));
        let has_name = writers.is_empty() || writers.iter().any(ClaimedAuthor::has_name);
        let by = ClaimedAuthor::of(comment.author.agent_id.as_deref(), &comment.author.caller);
        match objection.is_answered() {
            false if self.who.has_name() => !self.who.is_same_as(&by),
            false => !self.who.shares_session(&by) || writers.iter().any(|who| self.who.shares_session(who)),
            true if self.who.has_name() => self.who.independence_from(&writers).is_confirmed(),
            true => has_name,
        }
    }

    /// Returns another approach (a new root, or a child of the deepest open node) if the last answer was refuted and
    /// nothing has been tried since.
    fn other_way(&self, ids: &mut Ids) -> Option<(Slot<'a>, String)> {
        let refuted = refuted_alone(self.investigation, self.rules);
        let at = |node: &Node| node.classification.as_ref().map(|result| result.committed_at);
        let last = self.investigation.committed().filter_map(|(node, _)| at(node)).max();
        let mut by = refuted.iter().filter_map(|id| self.investigation.node(id));
        by.find(|node| {
            let refuting = self.rules.refuted_by(self.investigation, node).into_iter();
            refuting.filter_map(|id| at(self.investigation.node(&id)?)).max() == last
        })?;
        let roots = &self.rules.ruleset().roots;
        let has_room = roots.max.is_none_or(|max| self.investigation.roots().count() < max as usize);
        let root = if has_room { ids.root(roots.ids.as_deref()) } else { None };
        let root = root.map(|id| Slot { id, parent: None, keep_open: false, explores: true });
        let slot = root.or_else(|| self.deeper(ids))?;
        let reason = format!(
            "No answer remains; refuted: {}. Propose another approach, then research it.",
            shortened(&refuted, 5)
        );
        Some((slot, reason))
    }

    fn step(&self, node: &NodeId, state: &StateName) -> SuggestedState {
        SuggestedState {
            node: node.clone(),
            state: state.clone(),
            evidence: self.rules.evidence(state),
            alternatives: self.rules.alternatives(state),
        }
    }

    fn tasks(&self, slots: Vec<Slot<'a>>, grid: &mut Option<Grid>) -> Vec<Task> {
        let length = brief::prompt_length(slots.len());
        let roots = slots.iter().filter(|slot| slot.parent.is_none()).count();
        let mut numbers: BTreeMap<Option<&NodeId>, usize> = BTreeMap::new();
        let mut tasks = Vec::with_capacity(slots.len());
        let suggested = self.suggest(&slots);
        for (slot, suggestion) in slots.into_iter().zip(suggested) {
            let Some(suggestion) = suggestion else { continue };
            let parent = slot.parent.map(|parent| &parent.id);
            let number = numbers.entry(parent).or_insert_with(|| match parent {
                Some(parent) => self.investigation.children(parent).count(),
                None => self.investigation.roots().count(),
            });
            *number += 1;
            let combination = grid.as_mut().filter(|_| slot.explores).and_then(Grid::take);
            let words = brief::title_and_action(
                self.investigation,
                self.rules,
                slot.parent,
                *number,
                roots.max(*number),
                combination.as_ref(),
            );
            let covers = combination.into_iter().flatten().map(|(name, value)| format!("{name}={value}"));
            let task = self.advisor.task(&slot.id, slot.parent, words, suggestion.state.name.clone(), length);
            tasks.push(Task { covers: covers.collect(), ..task });
        }
        tasks
    }
}

/// Returns the places for pending nodes.
fn places<'a>(investigation: &'a Investigation, nodes: &[&'a Node]) -> Vec<NodePlace<'a>> {
    nodes
        .iter()
        .map(|node| NodePlace {
            parent: node.parent.as_ref().and_then(|parent| investigation.node(parent)).map(AsRef::as_ref),
            keep_open: false,
        })
        .collect()
}
