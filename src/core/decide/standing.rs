//! The status of an investigation: required steps, conditions that prevent ending, and the next action.

use serde::Serialize;

use std::sync::Arc;

use super::next::NextCall;
use crate::domain::wording::command;
use crate::domain::{
    Classification, Code, Diagnostic, Investigation, Node, NodeClass, NodeId, StateName, Wording,
};
use crate::ruleset::rules::objections::{self, diagnostic};
use crate::ruleset::rules::{KINDS, children, misplaced, shortened};
use crate::ruleset::{EffectiveRules, Enforcement, Requirement, Role, effective::list};
use crate::text::shorten;

/// Maximum number of characters in the wording of a planned call for agents.
const REASON_MAX: usize = 400;

/// The remaining requirements of an investigation, for callers that report all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// The conditions that prevent ending; see [`blockers`]. They include at most three nodes that lack children.
    pub blockers: Vec<Diagnostic>,
    /// The number of nodes that lack children.
    pub lacking: usize,
    /// The steps required in the next round; `None` if no nodes are missing or the investigation has ended.
    pub next_round: Option<NextRound>,
    /// The next legal step.
    pub next_step: NextStep,
}

/// The next legal step, or the call that a plan chose for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// The investigation has ended. A node in an open state would reopen it.
    Reopen,
    /// Research the pending proposals, and commit them.
    Commit(Vec<NodeId>),
    /// Propose the only root that the ruleset allows.
    ProposeRoot(NodeId),
    /// Propose this number of roots.
    ProposeRoots(u32),
    /// Propose the children that nodes lack.
    ProposeChildren {
        /// The round of the children.
        round: u32,
        /// The numbers of children and their parents, in words.
        children: String,
    },
    /// Meet a condition that prevents ending.
    Settle(Diagnostic),
    /// Handle an open objection, although no required steps remain.
    SettleObjection(Diagnostic),
    /// Propose another approach: all answers are refuted.
    ProposeOther(Vec<NodeId>),
    /// End the investigation, or go deeper.
    End,
    /// Make this call.
    Call(NextCall),
}

impl NextStep {
    /// Words the step in one line. The commands for people name the investigation, if an id is given.
    pub fn wording(&self, investigation: Option<&str>) -> Wording {
        let command = |name: &str, rest: &str| format!("`{}`", command(name, investigation, rest));
        match self {
            NextStep::Reopen => Wording::both(
                "To reopen it, change a node to an open state with tot_reclassify.",
                format!("{} with an open state reopens it.", command("tot reclassify", "NODE STATE")),
            )
            .map(|how| format!("The investigation has ended. {how}")),
            NextStep::Commit(pending) => {
                let several = if pending.len() > 1 { " (if you have sub-agents, one each)" } else { "" };
                let nodes = shortened(pending, 5);
                Wording::both(
                    format!(
                        "Research {nodes}{several}, then call tot_commit with state, findings and agentId."
                    ),
                    format!("Research {nodes}, then {}.", command("tot commit", "")),
                )
            }
            NextStep::ProposeRoot(root) => Wording::both(
                format!("Propose the root {root} with tot_propose (parent: null)."),
                format!("{} for the root {root}.", command("tot propose", "--next")),
            ),
            NextStep::ProposeRoots(0 | 1) => Wording::both(
                "Propose a root with tot_propose (parent: null).",
                format!("{} for a root.", command("tot propose", "--next")),
            ),
            NextStep::ProposeRoots(number) => Wording::both(
                format!("Propose {number} roots (parent: null) in one tot_propose call."),
                format!("{} for {number} roots in one batch.", command("tot propose", "--next")),
            ),
            NextStep::ProposeChildren { round, children } => {
                Wording::both("Call tot_propose", command("tot propose", "--next"))
                    .map(|call| format!("{call} for round {round}: {children}."))
            }
            NextStep::Settle(blocker) => blocker.text(),
            NextStep::SettleObjection(objection) => objection
                .text()
                .map(|text| format!("No required steps remain, but an objection is open: {text}")),
            NextStep::ProposeOther(refuted) => {
                Wording::both("tot_propose", command("tot propose", "")).map(|call| {
                    let refuted = shortened(refuted, 5);
                    format!("No answer remains; refuted: {refuted}. Propose another approach with {call}.")
                })
            }
            NextStep::End => Wording::both("call tot_end", format!("run {}", command("tot end", "")))
                .map(|call| format!("No required steps remain: {call} with your conclusion, or go deeper.")),
            NextStep::Call(NextCall { call, reason }) => {
                let (tool, name, rest) = call.names();
                Wording::both(
                    shorten(&format!("Next: {tool}. {}", reason.agent()), REASON_MAX),
                    format!("{}. {}", command(name, &rest), reason.person()),
                )
            }
        }
    }
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

/// Nodes whose claims became weaker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Weakened {
    /// Newly refuted nodes.
    pub refuted: Vec<NodeId>,
    /// Nodes that lost their confirmation without being refuted.
    pub unconfirmed: Vec<NodeId>,
}

/// Returns the nodes whose claims became weaker between two states of an investigation.
pub fn weakened(before: &Investigation, after: &Investigation, rules: &EffectiveRules) -> Weakened {
    let mut turned = Weakened::default();
    for (node, state) in after.committed() {
        if !matches!(rules.role(state), Role::Solution | Role::Theory | Role::AwaitingConfirmation) {
            continue;
        }
        let Some(earlier) = before.committed_node(&node.id) else { continue };
        if !rules.refuted_by(after, node).is_empty() {
            turned.refuted.extend(rules.refuted_by(before, earlier).is_empty().then(|| node.id.clone()));
        } else if rules.grade(before, earlier).is_confirmed() && !rules.grade(after, node).is_confirmed() {
            turned.unconfirmed.push(node.id.clone());
        }
    }
    turned
}

/// Returns the investigation's outlook.
pub fn outlook(investigation: &Investigation, rules: &EffectiveRules) -> Outlook {
    if investigation.end_in_force().is_some() {
        return Outlook { blockers: Vec::new(), lacking: 0, next_round: None, next_step: NextStep::Reopen };
    }
    let mut blockers = steps(investigation, rules, 3);
    blockers.extend(file_problems(investigation, rules));
    let lacking = children::lacking(investigation, rules).count();
    let parents = rules.incomplete_rounds(investigation).next().unwrap_or_default();
    let next_round = next_round(investigation, rules, &parents);
    let next_step = next_step(investigation, rules, next_round.as_ref(), &parents, blockers.first());
    Outlook { blockers, lacking, next_round, next_step }
}

/// Returns the conditions that prevent ending. Empty for an investigation that has already ended.
pub fn blockers(investigation: &Investigation, rules: &EffectiveRules) -> Vec<Diagnostic> {
    if investigation.end_in_force().is_some() {
        return Vec::new();
    }
    let mut blockers = missing_steps(investigation, rules);
    blockers.extend(file_problems(investigation, rules));
    blockers
}

/// Returns the file problems that no call can fix.
pub fn file_problems(investigation: &Investigation, rules: &EffectiveRules) -> Vec<Diagnostic> {
    let unreadable = investigation.unreadable().iter().map(|id| {
        let message = format!("The file of {id} can't be read or has no place in the tree.");
        Diagnostic::new(Code::UnreadableNode, message).about(id).suggest(
            Wording::both("tot_status", "`tot check`")
                .map(|call| format!("Fix it by hand and commit it; {call} names the problem.")),
        )
    });
    unreadable.chain(at_odds(investigation, rules)).collect()
}

/// Returns all missing required steps, even for an ended investigation, because a merge or a manual commit can leave it
/// in conflict with its rules.
pub fn missing_steps(investigation: &Investigation, rules: &EffectiveRules) -> Vec<Diagnostic> {
    steps(investigation, rules, usize::MAX)
}

/// Returns the missing required steps, including at most `most` nodes that lack children.
fn steps(investigation: &Investigation, rules: &EffectiveRules, most: usize) -> Vec<Diagnostic> {
    let pending: Vec<&NodeId> = investigation.pending().map(|node| &node.id).collect();
    let mut blockers: Vec<Diagnostic> = nothing_committed(investigation).into_iter().collect();
    for kind in &KINDS {
        blockers.extend((kind.blockers)(investigation, rules, most));
        blockers.extend((kind.end_checks)(investigation, rules, Enforcement::Reject));
    }
    blockers.extend(contested(investigation));
    if !pending.is_empty() {
        let message = format!("Proposed, but not committed: {}.", shortened(&pending, 10));
        let them = if pending.len() == 1 { "it" } else { "them" };
        let how = Wording::both("tot_propose (`withdraw`)", "`tot propose --withdraw`")
            .map(|call| format!("Commit {them}, or withdraw {them} with {call}."));
        blockers.push(Diagnostic::new(Code::PendingProposals, message).suggest(how));
    }
    blockers
}

/// Returns the blocker for an investigation without committed nodes.
pub(super) fn nothing_committed(investigation: &Investigation) -> Option<Diagnostic> {
    let is_empty = investigation.committed().next().is_none();
    is_empty.then(|| {
        Diagnostic::new(Code::NoNodes, "Nothing is committed yet.").suggest(
            match investigation.pending().next() {
                Some(_) => "Research what is pending, and commit it.".into(),
                None => Wording::both("tot_propose", "`tot propose`")
                    .map(|call| format!("Propose a root with {call}, research it, and commit it.")),
            },
        )
    })
}

/// Returns the blockers for nodes with unresolved conflicting results.
pub fn contested(investigation: &Investigation) -> Vec<Diagnostic> {
    let is_contested =
        |node: &&Arc<Node>| node.classification.as_ref().is_some_and(Classification::is_contested);
    let blocker = |node: &Arc<Node>| {
        let states: Vec<String> = node.results().map(|result| result.current_state().to_string()).collect();
        let message = format!("{} has differing results: {}.", node.id, states.join(" and "));
        Diagnostic::new(Code::Contested, message)
            .about(&node.id)
            .suggest(
                "Read both results with tot_read, then use tot_reclassify to set the correct state, even if it is \
                 the current one.",
            )
            .for_people(
                "Read both results with `tot show`, then set the correct state with `tot reclassify`, even if it is \
                 the current one.",
            )
    };
    investigation.nodes().filter(is_contested).map(blocker).collect()
}

/// Returns nodes in a state that the ruleset does not define or the parent's state does not allow. Only a manual edit
/// or a merge can cause this, in a node's file or in the pinned ruleset.
pub fn at_odds(investigation: &Investigation, rules: &EffectiveRules) -> Vec<Diagnostic> {
    let problem =
        |(node, state): (&Arc<Node>, &StateName)| impossible_state(investigation, rules, node, state);
    let has_problem = |class: &NodeClass| {
        let takes_none = rules.is_terminal(&class.state) && !class.is_promoted;
        rules.ruleset().state(&class.state).is_none()
            || class.children.iter().any(|(below, _)| takes_none || !rules.allows_child(&class.state, below))
    };
    // There are few classes but many nodes.
    match investigation.node_classes().any(has_problem) {
        true => investigation.committed().filter_map(problem).collect(),
        false => Vec::new(),
    }
}

fn impossible_state(
    investigation: &Investigation,
    rules: &EffectiveRules,
    node: &Node,
    state: &StateName,
) -> Option<Diagnostic> {
    let (id, ruleset) = (&node.id, rules.ruleset());
    let problem =
        |code, message: String, how: String| Some(Diagnostic::new(code, message).about(id).suggest(how));
    if ruleset.state(state).is_none() {
        let message = format!("{id} is {state}, which is not a state of {}.", ruleset.name);
        let how = format!("Reclassify it to one of {}.", ruleset.state_list());
        return problem(Code::UnknownState, message, how);
    }
    let parent = investigation.committed_node(node.parent.as_ref()?)?;
    let code = misplaced(rules, node, parent)?.diagnostic.code;
    let (above, parent) = (parent.state()?, &parent.id);
    if code == Code::TerminalParent {
        let message = format!("{id} is below {parent}, which is {above} and takes no children.");
        return problem(code, message, format!("Reclassify {parent} to an open state."));
    }
    let allowed = list(rules.child_states(above).unwrap_or_default());
    let message = format!("{id} is {state} under {parent}, which is {above} and does not allow it.");
    problem(code, message, format!("Reclassify one of the two; allowed under {above}: {allowed}."))
}

/// Returns the lowest round with missing nodes, if any. `parents` are the nodes that need more children in that round.
fn next_round(
    investigation: &Investigation,
    rules: &EffectiveRules,
    parents: &[(&Node, Requirement)],
) -> Option<NextRound> {
    let (round, nodes_required) = match parents {
        _ if investigation.committed().next().is_none() => (1, rules.min_roots()),
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

/// Returns the next legal step for an open investigation.
fn next_step(
    investigation: &Investigation,
    rules: &EffectiveRules,
    next: Option<&NextRound>,
    parents: &[(&Node, Requirement)],
    blocker: Option<&Diagnostic>,
) -> NextStep {
    let pending: Vec<NodeId> = investigation.pending().map(|node| node.id.clone()).collect();
    if !pending.is_empty() {
        return NextStep::Commit(pending);
    }
    // What a node needs depends on which of its results holds.
    if let Some(contested) = contested(investigation).into_iter().next() {
        return NextStep::Settle(contested);
    }
    if let Some(next) = next {
        if next.round == 1 {
            return match rules.ruleset().roots.ids.as_deref() {
                Some([only]) => NextStep::ProposeRoot(only.clone()),
                _ => NextStep::ProposeRoots(next.nodes_required),
            };
        }
        let shown = parents.iter().take(4).map(|(node, requirement)| {
            let state = node.state().map(ToString::to_string).unwrap_or_default();
            format!(
                "{} below {} ({state})",
                children::children(requirement.missing(), requirement.of),
                node.id
            )
        });
        let more = match parents.len().saturating_sub(4) {
            0 => String::new(),
            more => format!(", and below {more} more"),
        };
        let children = format!("{}{more}", list(shown));
        return NextStep::ProposeChildren { round: next.round, children };
    }
    blocker.map_or_else(|| settled(investigation, rules), |blocker| NextStep::Settle(blocker.clone()))
}

/// Returns the next step when no required steps remain: end the investigation, unless an optional point is still open.
fn settled(investigation: &Investigation, rules: &EffectiveRules) -> NextStep {
    if let Some(objection) = objections::open(investigation).first() {
        return NextStep::SettleObjection(diagnostic(objection));
    }
    match refuted_alone(investigation, rules) {
        none if none.is_empty() => NextStep::End,
        refuted => NextStep::ProposeOther(refuted),
    }
}

/// Returns the refuted nodes if no current answer remains.
pub(super) fn refuted_alone(investigation: &Investigation, rules: &EffectiveRules) -> Vec<NodeId> {
    if rules.answers(investigation).next().is_some() {
        return Vec::new();
    }
    rules.refutations(investigation).into_keys().cloned().collect()
}
