//! The quality figures of an investigation, over all committed nodes.

use serde::Serialize;

use crate::domain::Investigation;
use crate::ruleset::{EffectiveRules, Role};

/// The figures; all 0 where there is no node. Solutions count as valid, dead ends as dead, by the states' roles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Quality {
    /// The highest round.
    pub max_depth: u32,
    /// The mean round of terminal nodes.
    pub avg_depth: f64,
    /// The mean number of children over nodes that have any.
    pub avg_branching_factor: f64,
    /// Terminal nodes by all nodes.
    pub terminal_ratio: f64,
    /// Solutions by dead ends; solutions where there is no dead end.
    pub valid_to_dead_ratio: f64,
    /// `min(max_depth / 5, 1)`.
    pub depth_score: f64,
    /// `min(avg_branching_factor / 3, 1)`.
    pub breadth_score: f64,
    /// Dead ends by dead ends and solutions.
    pub balance_score: f64,
    /// Open nodes by all nodes.
    pub exploration_score: f64,
    /// `0.3 depth + 0.3 breadth + 0.2 balance + 0.2 (1 - exploration)`.
    pub composite_score: f64,
}

/// The figures of this investigation.
pub fn quality(investigation: &Investigation, rules: &EffectiveRules) -> Quality {
    let mut all = 0u32;
    let (mut terminal, mut terminal_rounds) = (0u32, 0u64);
    let (mut valid, mut dead) = (0u32, 0u32);
    let (mut parents, mut children) = (0u32, 0u64);
    for kin in investigation.kin() {
        let nodes = u32::try_from(kin.nodes.len()).unwrap_or(u32::MAX);
        all += nodes;
        if rules.is_terminal(&kin.state) {
            terminal += nodes;
            terminal_rounds += u64::from(kin.round) * u64::from(nodes);
        }
        match rules.role(&kin.state) {
            Role::Solution => valid += nodes,
            Role::DeadEnd => dead += nodes,
            _ => {}
        }
        let own: u64 = kin.children.iter().map(|(_, count)| u64::from(*count)).sum();
        if own > 0 {
            parents += nodes;
            children += own * u64::from(nodes);
        }
    }
    if all == 0 {
        return Quality::default();
    }
    let ratio = |part: f64, whole: u32| if whole == 0 { 0.0 } else { part / f64::from(whole) };
    let max_depth = investigation.current_round();
    let avg_branching_factor = ratio(children as f64, parents);
    let depth_score = (f64::from(max_depth) / 5.0).min(1.0);
    let breadth_score = (avg_branching_factor / 3.0).min(1.0);
    let balance_score = ratio(f64::from(dead), dead + valid);
    let exploration_score = ratio(f64::from(all - terminal), all);
    Quality {
        max_depth,
        avg_depth: ratio(terminal_rounds as f64, terminal),
        avg_branching_factor,
        terminal_ratio: ratio(f64::from(terminal), all),
        valid_to_dead_ratio: if dead == 0 { f64::from(valid) } else { ratio(f64::from(valid), dead) },
        depth_score,
        breadth_score,
        balance_score,
        exploration_score,
        composite_score: 0.3 * depth_score
            + 0.3 * breadth_score
            + 0.2 * balance_score
            + 0.2 * (1.0 - exploration_score),
    }
}
