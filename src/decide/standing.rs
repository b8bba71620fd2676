//! How an investigation stands: what is owed, what blocks the end, what to do next.

use super::quality::quality;
use crate::domain::{Code, Diagnostic, Investigation, Kin, Node, NodeId, StateName};
use crate::ruleset::effective::Requirement;
use crate::ruleset::{EffectiveRules, effective};

/// All of it, for who tells it whole: the nodes are gone through once for what several parts need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// See [`blockers`].
    pub blockers: Vec<Diagnostic>,
    /// What is owed in the next round; nothing in an investigation that has ended.
    pub next_round: Option<NextRound>,
    /// The next legal step, in one line.
    pub next_action: String,
}

/// What is owed in the next round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextRound {
    /// The lowest round in which nodes are missing.
    pub round: u32,
    /// How many are missing there.
    pub nodes_required: u32,
    /// In how many proposals they fit.
    pub total_batches: u32,
    /// What each parent lacks.
    pub parents: Vec<Owed>,
}

/// What one parent lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owed {
    /// The parent.
    pub parent: NodeId,
    /// Its state.
    pub state: StateName,
    /// How many children are missing.
    pub children_needed: u32,
}

/// How the investigation stands.
pub fn outlook(investigation: &Investigation, rules: &EffectiveRules) -> Outlook {
    if investigation.conclusion().is_some() {
        let next_action =
            "The investigation has ended. tot_reclassify of a node to another, open state reopens it.".into();
        return Outlook { blockers: Vec::new(), next_round: None, next_action };
    }
    let incomplete = rules.incomplete(investigation);
    let blockers = all_blockers(investigation, rules, &incomplete);
    let next_round = next_round(investigation, rules, &incomplete);
    let next_action = next_action(investigation, rules, next_round.as_ref(), blockers.first());
    Outlook { blockers, next_round, next_action }
}

/// Everything that blocks the end. Nothing blocks an investigation that has ended.
pub fn blockers(investigation: &Investigation, rules: &EffectiveRules) -> Vec<Diagnostic> {
    if investigation.conclusion().is_some() {
        return Vec::new();
    }
    all_blockers(investigation, rules, &rules.incomplete(investigation))
}

fn all_blockers(
    investigation: &Investigation,
    rules: &EffectiveRules,
    incomplete: &[(&Node, Requirement)],
) -> Vec<Diagnostic> {
    let mut blockers = owed_by(investigation, rules, incomplete);
    for id in investigation.unreadable() {
        blockers.push(
            Diagnostic::new(
                Code::UnreadableNode,
                format!("The file of {id} can't be read or has no place in the tree."),
            )
            .about(id)
            .suggest("Mend it by hand and commit it; tot_status names the fault."),
        );
    }
    blockers.extend(at_odds(investigation, rules));
    blockers
}

/// Everything that the rules ask for and that is not there, whether the investigation has ended or not: a merge or a
/// commit by hand can leave an ended one at odds with its rules.
pub fn owed(investigation: &Investigation, rules: &EffectiveRules) -> Vec<Diagnostic> {
    owed_by(investigation, rules, &rules.incomplete(investigation))
}

fn owed_by(
    investigation: &Investigation,
    rules: &EffectiveRules,
    incomplete: &[(&Node, Requirement)],
) -> Vec<Diagnostic> {
    let mut blockers = Vec::new();
    let round = investigation.current_round();
    let least = rules.min_rounds();
    let is_pending = investigation.pending().next().is_some();
    if investigation.committed().next().is_none() {
        blockers.push(Diagnostic::new(Code::NoNodes, "Nothing is committed yet.").suggest(
            match is_pending {
                true => "Research what is pending, and commit it.",
                false => "Propose a root with tot_propose, research it, and commit it.",
            },
        ));
    }
    if rules.recovery_required(investigation) {
        blockers.push(
            Diagnostic::new(
                Code::RecoveryRequired,
                format!("Every node is closed, but round {least} has not been reached."),
            )
            .suggest(match is_pending {
                true => "Commit what is pending; if that is closed too, propose a new root.",
                false => "Propose a new root, or reclassify a closed node to an open state.",
            }),
        );
    }
    if round < least {
        let mut blocker = Diagnostic::new(
            Code::MinRounds,
            format!("Round {least} must be reached; the deepest committed node is in round {round}."),
        );
        // Where no node is open, the blocker before this one says what to do.
        if investigation.committed().any(|(_, state)| !rules.is_terminal(state)) {
            let deep_enough = investigation.pending().any(|node| node.round() >= least);
            blocker = blocker.suggest(match deep_enough {
                true => format!("Commit what is pending in round {least} or deeper."),
                false => {
                    format!("Propose further nodes below open ones, until one of round {least} is committed.")
                }
            });
        }
        blockers.push(blocker);
    }
    if let Some(depth) = rules.min_depth().filter(|depth| round < *depth) {
        blockers.push(
            Diagnostic::new(
                Code::DepthTooShallow,
                format!("The depth is too shallow: the deepest node is in round {round}, not {depth}."),
            )
            .suggest("Go deeper on the most promising branch."),
        );
    }
    for (node, requirement) in incomplete {
        let Some(state) = node.state() else { continue };
        blockers.push(
            Diagnostic::new(
                Code::InsufficientChildren,
                format!(
                    "{} is {state} and needs {}; it has {}.",
                    node.id,
                    requirement.describe(),
                    requirement.has
                ),
            )
            .about(&node.id)
            .suggest(how_to_complete(investigation, node, requirement)),
        );
    }
    let waiting = match rules.ruleset().confirmations.is_empty() {
        true => None,
        false => Some(investigation.committed()),
    };
    for (node, state) in waiting.into_iter().flatten() {
        if let Some(confirmation) = rules.confirmation(state) {
            let outcomes = effective::list(
                confirmation
                    .outcomes
                    .iter()
                    .map(|outcome| format!("{} makes it {}", outcome.child, outcome.becomes)),
            );
            blockers.push(
                Diagnostic::new(
                    Code::AwaitingConfirmation,
                    format!("{} is {state}: no child has confirmed or refuted it.", node.id),
                )
                .about(&node.id)
                .suggest(format!("Commit a child below it ({outcomes}), or reclassify it.")),
            );
        }
    }
    let pending: Vec<&NodeId> = investigation.pending().map(|node| &node.id).collect();
    if !pending.is_empty() {
        let shown = effective::list(pending.iter().take(10));
        let more =
            if pending.len() > 10 { format!(" and {} more", pending.len() - 10) } else { String::new() };
        blockers.push(
            Diagnostic::new(Code::PendingProposals, format!("Proposed, but not committed: {shown}{more}."))
                .suggest(match pending.len() {
                    1 => "Commit it, or take it back with tot_propose's `withdraw`.",
                    _ => "Commit them, or take them back with tot_propose's `withdraw`.",
                }),
        );
    }
    if let Some(percent) = rules.ruleset().end.min_quality_percent {
        let figures = quality(investigation, rules);
        let least = f64::from(percent) / 100.0;
        // The figures are sums of thirds and fifths: a hair below the limit is the limit.
        if figures.composite_score + 1e-9 < least {
            blockers.push(
                Diagnostic::new(
                    Code::QualityTooLow,
                    format!(
                        "The quality is {:.2}, below {least:.2}: depth {:.2}, breadth {:.2}, balance {:.2}, exploration {:.2}.",
                        figures.composite_score,
                        figures.depth_score,
                        figures.breadth_score,
                        figures.balance_score,
                        figures.exploration_score
                    ),
                )
                .suggest(weakest(&figures)),
            );
        }
    }
    blockers
}

/// What to do about missing children: what is proposed already needs no proposal.
fn how_to_complete(investigation: &Investigation, node: &Node, requirement: &Requirement) -> String {
    let of = requirement.of.as_deref();
    let pending: Vec<&NodeId> =
        investigation.children(&node.id).filter(|child| child.is_pending()).map(|child| &child.id).collect();
    let round = node.round().saturating_add(1);
    let lacking = requirement.missing().saturating_sub(u32::try_from(pending.len()).unwrap_or(u32::MAX));
    if pending.is_empty() {
        return format!("Propose {} below it, in round {round}.", effective::children(lacking, of));
    }
    let named = effective::list(pending.iter().take(5));
    let more = if pending.len() > 5 { format!(" and {} more", pending.len() - 5) } else { String::new() };
    let states = of.map(|of| format!(" as {}", effective::list(of))).unwrap_or_default();
    match lacking {
        0 => format!("Commit {named}{more}{states}."),
        lacking => {
            format!(
                "Commit {named}{more}{states}, and propose {} below it besides.",
                effective::children(lacking, of)
            )
        }
    }
}

/// Nodes that no call could have left as they are: in a state that the ruleset does not have, or that is not allowed
/// below the parent's. Only a hand or a merge brings this about, in a node's file or in the pinned ruleset.
pub fn at_odds(investigation: &Investigation, rules: &EffectiveRules) -> Vec<Diagnostic> {
    let mut faults: Vec<(&NodeId, Diagnostic)> = Vec::new();
    let suspects = investigation.kin().filter(|kin| is_at_odds(kin, rules));
    for (kin, node) in suspects.flat_map(|kin| kin.nodes.iter().map(move |node| (kin, node))) {
        let state = &kin.state;
        if rules.ruleset().state(state).is_none() {
            let message =
                format!("{} is {state}, which is not a state of {}.", node.id, rules.ruleset().name);
            let fault = Diagnostic::new(Code::UnknownState, message)
                .about(&node.id)
                .suggest(format!("Reclassify it to one of {}.", rules.ruleset().state_list()));
            faults.push((&node.id, fault));
        }
        let takes_none = takes_no_children(kin, rules);
        for (child, below) in investigation.committed_children(&node.id) {
            // One of an unknown state is a fault of its own.
            if rules.ruleset().state(below).is_none() {
                continue;
            }
            if takes_none {
                let message =
                    format!("{} is below {}, which is {state} and takes no children.", child.id, node.id);
                let fault = Diagnostic::new(Code::TerminalParent, message)
                    .about(&child.id)
                    .suggest(format!("Reclassify {} to an open state.", node.id));
                faults.push((&child.id, fault));
            } else if !rules.allows_child(state, below) {
                let message = format!(
                    "{} is {below} under {}, which is {state} and does not allow it.",
                    child.id, node.id
                );
                let allowed = effective::list(rules.child_states(state).unwrap_or_default());
                let fault = Diagnostic::new(Code::InvalidChildState, message)
                    .about(&child.id)
                    .suggest(format!("Reclassify one of the two; allowed under {state}: {allowed}."));
                faults.push((&child.id, fault));
            }
        }
    }
    faults.sort_by_key(|(id, _)| *id);
    faults.into_iter().map(|(_, fault)| fault).collect()
}

/// Whether these nodes, or children of theirs, can't be as they are.
fn is_at_odds(kin: &Kin, rules: &EffectiveRules) -> bool {
    let takes_none = takes_no_children(kin, rules);
    rules.ruleset().state(&kin.state).is_none()
        || kin.children.iter().any(|(below, _)| takes_none || !rules.allows_child(&kin.state, below))
}

/// Whether they take no children. A node that a child has closed keeps those it has.
fn takes_no_children(kin: &Kin, rules: &EffectiveRules) -> bool {
    rules.is_terminal(&kin.state) && !kin.is_promoted
}

/// What would raise the quality most.
fn weakest(figures: &super::quality::Quality) -> &'static str {
    let parts = [
        (0.3 * (1.0 - figures.depth_score), "Go deeper."),
        (0.3 * (1.0 - figures.breadth_score), "Give open nodes more children."),
        (0.2 * (1.0 - figures.balance_score), "Rule alternatives out, with evidence."),
        (0.2 * figures.exploration_score, "Close open nodes."),
    ];
    parts.iter().max_by(|a, b| a.0.total_cmp(&b.0)).map_or("", |(_, advice)| advice)
}

/// The lowest round in which nodes are missing, and how many; `None` where none are.
fn next_round(
    investigation: &Investigation,
    rules: &EffectiveRules,
    incomplete: &[(&Node, Requirement)],
) -> Option<NextRound> {
    let batches = |nodes: u32| rules.ruleset().batch_limit.map_or(1, |limit| nodes.div_ceil(limit.max(1)));
    if investigation.committed().next().is_none() {
        let nodes_required = rules.min_roots();
        return Some(NextRound {
            round: 1,
            nodes_required,
            total_batches: batches(nodes_required),
            parents: Vec::new(),
        });
    }
    let parent_round = incomplete.iter().map(|(node, _)| node.round()).min()?;
    let parents: Vec<Owed> = incomplete
        .iter()
        .filter(|(node, _)| node.round() == parent_round)
        .filter_map(|(node, requirement)| {
            let state = node.state()?.clone();
            Some(Owed { parent: node.id.clone(), state, children_needed: requirement.missing() })
        })
        .collect();
    let nodes_required = parents.iter().map(|owed| owed.children_needed).sum();
    let round = parent_round.saturating_add(1);
    Some(NextRound { round, nodes_required, total_batches: batches(nodes_required), parents })
}

/// The next legal step of an open investigation, in one line.
fn next_action(
    investigation: &Investigation,
    rules: &EffectiveRules,
    next: Option<&NextRound>,
    blocker: Option<&Diagnostic>,
) -> String {
    let pending: Vec<&NodeId> = investigation.pending().map(|node| &node.id).collect();
    if !pending.is_empty() {
        let shown = effective::list(pending.iter().take(5));
        let more = if pending.len() > 5 { format!(" and {} more", pending.len() - 5) } else { String::new() };
        return format!(
            "Research {shown}{more}, each by an agent of its own, then tot_commit with state, findings and agentId."
        );
    }
    if let Some(next) = next {
        if next.round == 1 {
            let roots = rules.ruleset().roots.ids.as_deref().filter(|ids| ids.len() == 1);
            return match roots {
                Some(ids) => format!("tot_propose the root {} (parent: null).", ids[0]),
                None if next.nodes_required > 1 => {
                    format!("tot_propose {} roots (parent: null) in one batch.", next.nodes_required)
                }
                None => "tot_propose a root (parent: null).".into(),
            };
        }
        let shown = next
            .parents
            .iter()
            .take(4)
            .map(|owed| {
                let node = investigation.node(&owed.parent);
                let of = node
                    .and_then(|node| rules.requirement(investigation, node))
                    .and_then(|requirement| requirement.of);
                format!(
                    "{} below {} ({})",
                    effective::children(owed.children_needed, of.as_deref()),
                    owed.parent,
                    owed.state
                )
            })
            .collect::<Vec<_>>()
            .join(", ");
        let more = if next.parents.len() > 4 {
            format!(", and below {} more", next.parents.len() - 4)
        } else {
            String::new()
        };
        return format!("tot_propose for round {}: {shown}{more}.", next.round);
    }
    match blocker {
        None => "Nothing is owed: tot_end with your conclusion, or go deeper.".into(),
        Some(blocker) => format!("{} {}", blocker.message, blocker.suggestion.as_deref().unwrap_or_default())
            .trim_end()
            .to_owned(),
    }
}
