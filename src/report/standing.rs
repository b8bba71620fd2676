//! How an investigation stands by its own rules: what keeps it from its end, and its quality in figures.

use serde::Serialize;

use crate::domain::{Diagnostic, Investigation};
use crate::ruleset::{Role, Terms, terms};

/// The figures of `rulesets.md`, over all committed nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Quality {
    /// The highest round.
    pub max_depth: u32,
    /// The mean round of terminal nodes.
    pub avg_depth: f64,
    /// The mean number of children over nodes that have any.
    pub avg_branching_factor: f64,
    /// From 0 to 1.
    pub depth_score: f64,
    /// From 0 to 1.
    pub breadth_score: f64,
    /// The share of dead ends in dead ends and solutions.
    pub balance_score: f64,
    /// The share of nodes that are not terminal.
    pub exploration_score: f64,
    /// All of them, weighed: from 0 to 1.
    pub composite_score: f64,
    /// The share of terminal nodes.
    pub terminal_ratio: f64,
    /// Solutions for each dead end.
    pub valid_to_dead_ratio: f64,
}

impl Quality {
    /// The figures of an investigation.
    pub(super) fn of(investigation: &Investigation, terms: &Terms<'_>) -> Quality {
        let (mut all, mut terminal, mut rounds) = (0_u32, 0_u32, 0_u64);
        let (mut parents, mut children) = (0_u32, 0_u32);
        let (mut solutions, mut dead) = (0_u32, 0_u32);
        for (node, state) in investigation.committed() {
            all += 1;
            if terms.is_terminal(state) {
                terminal += 1;
                rounds += u64::from(node.round());
            }
            match terms.role(state) {
                Role::Solution => solutions += 1,
                Role::DeadEnd => dead += 1,
                _ => {}
            }
            let number =
                u32::try_from(investigation.committed_children(&node.id).count()).unwrap_or(u32::MAX);
            parents += u32::from(number > 0);
            children = children.saturating_add(number);
        }
        if all == 0 {
            return Quality::default();
        }
        let share = |part: u32, whole: u32| if whole == 0 { 0.0 } else { f64::from(part) / f64::from(whole) };
        let max_depth = investigation.current_round();
        let avg_branching_factor = share(children, parents);
        let depth_score = (f64::from(max_depth) / 5.0).min(1.0);
        let breadth_score = (avg_branching_factor / 3.0).min(1.0);
        let balance_score = share(dead, dead + solutions);
        let exploration_score = share(all - terminal, all);
        Quality {
            max_depth,
            avg_depth: if terminal == 0 { 0.0 } else { rounds as f64 / f64::from(terminal) },
            avg_branching_factor,
            depth_score,
            breadth_score,
            balance_score,
            exploration_score,
            composite_score: 0.3 * depth_score
                + 0.3 * breadth_score
                + 0.2 * balance_score
                + 0.2 * (1.0 - exploration_score),
            terminal_ratio: share(terminal, all),
            valid_to_dead_ratio: if dead == 0 { f64::from(solutions) } else { share(solutions, dead) },
        }
    }
}

/// Everything that keeps the investigation from its end, as `tot_end` would list it.
pub(super) fn blockers(investigation: &Investigation, terms: &Terms<'_>) -> Vec<Diagnostic> {
    let mut blockers = Vec::new();
    let round = investigation.current_round();
    if investigation.committed().next().is_none() {
        blockers.push(Diagnostic::new("NO_NODES", "Nothing has been committed yet."));
    }
    if terms.recovery_required(investigation) {
        blockers.push(Diagnostic::new(
            "RECOVERY_REQUIRED",
            "Every path is closed before the minimum round: it needs a new root, or a node that is opened again.",
        ));
    }
    if round < terms.min_rounds() {
        blockers.push(Diagnostic::new(
            "MIN_ROUNDS",
            format!("It has reached round {round}; the end is possible from round {}.", terms.min_rounds()),
        ));
    }
    for (node, requirement) in terms.incomplete(investigation) {
        let message = format!(
            "It has {} of the {} it needs.",
            requirement.has,
            terms::children(requirement.needs, requirement.of.as_deref())
        );
        blockers.push(Diagnostic::new("INSUFFICIENT_CHILDREN", message).about(&node.id));
    }
    for node in investigation.pending() {
        blockers.push(
            Diagnostic::new("PENDING_PROPOSALS", "It is proposed, and not yet explored.").about(&node.id),
        );
    }
    if let Some(depth) = terms.min_depth().filter(|depth| round < *depth) {
        let message = format!("The deepest node is in round {round}; one in round {depth} is needed.");
        blockers.push(Diagnostic::new("DEPTH_TOO_SHALLOW", message));
    }
    for (node, state) in investigation.committed() {
        if terms.confirmation(state).is_some() {
            let message = format!("It is {state}, and no child has confirmed or refuted it yet.");
            blockers.push(Diagnostic::new("AWAITING_CONFIRMATION", message).about(&node.id));
        }
    }
    if let Some(percent) = terms.ruleset().end.min_quality_percent {
        let score = Quality::of(investigation, terms).composite_score;
        // The sum of the parts is not exact: what is equal but for rounding is enough.
        if score + 1e-9 < f64::from(percent) / 100.0 {
            let message = format!("The quality is {score:.2}; {:.2} is needed.", f64::from(percent) / 100.0);
            blockers.push(Diagnostic::new("QUALITY_TOO_LOW", message));
        }
    }
    blockers
}
