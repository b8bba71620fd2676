//! `end.minQualityPercent`: the quality that the investigation must have reached before it can end (`QUALITY_TOO_LOW`).
//! The quality is computed from all committed nodes.
//!
//! ```yaml
//! end: {minRounds: 4, minQualityPercent: 50}
//! ```

use schemars::JsonSchema;
use serde::Serialize;

use super::children::Lacking;
use super::states::Role;
use super::{RuleKind, SILENT, Verb};
use crate::domain::{Code, Diagnostic, Investigation};
use crate::ruleset::Ruleset;
use crate::ruleset::effective::EffectiveRules;
use crate::ruleset::validity::Problems;

/// Reports `QUALITY_TOO_LOW`.
pub(super) const KIND: RuleKind = RuleKind {
    key: "end.minQualityPercent",
    errors: &[(Verb::End, Code::QualityTooLow)],
    problems,
    end,
    blockers,
    ..SILENT
};

/// Quality scores; all are 0 if there are no nodes. Nodes with the solution role count as valid, and those with the
/// dead-end role as dead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Quality {
    /// The highest round.
    pub max_depth: u32,
    /// The mean round of terminal nodes.
    pub avg_depth: f64,
    /// The mean number of children per node with children.
    pub avg_branching_factor: f64,
    /// Terminal nodes divided by all nodes.
    pub terminal_ratio: f64,
    /// Solutions divided by dead ends, or the number of solutions if there are no dead ends.
    pub valid_to_dead_ratio: f64,
    /// `min(max_depth / 5, 1)`.
    pub depth_score: f64,
    /// `min(avg_branching_factor / 3, 1)`.
    pub breadth_score: f64,
    /// Dead ends divided by the sum of dead ends and solutions.
    pub balance_score: f64,
    /// Open nodes divided by all nodes.
    pub exploration_score: f64,
    /// `0.3 depth + 0.3 breadth + 0.2 balance + 0.2 (1 - exploration)`.
    pub composite_score: f64,
}

/// Computes the quality of an investigation.
pub fn quality(investigation: &Investigation, rules: &EffectiveRules) -> Quality {
    let mut all = 0u32;
    let (mut terminal, mut terminal_rounds) = (0u32, 0u64);
    let (mut valid, mut dead) = (0u32, 0u32);
    let (mut parents, mut children) = (0u32, 0u64);
    for (node, state) in investigation.committed() {
        all += 1;
        if rules.is_terminal(state) {
            terminal += 1;
            terminal_rounds += u64::from(node.round());
        }
        match rules.role(state) {
            Role::Solution => valid += 1,
            Role::DeadEnd => dead += 1,
            _ => {}
        }
        let own = investigation.committed_children(&node.id).count() as u64;
        children += own;
        parents += u32::from(own > 0);
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

fn problems(ruleset: &Ruleset, problems: &mut Problems) {
    if ruleset.end.min_quality_percent.is_some_and(|percent| percent > 100) {
        let reason = "the quality can't be above 100 %";
        problems.add("minQualityPercent", reason, "use at most 100; 50 is already high");
    }
}

/// Returns the minimum quality, from 0 to 1.
fn least(rules: &EffectiveRules) -> Option<f64> {
    rules.ruleset().end.min_quality_percent.map(|percent| f64::from(percent) / 100.0)
}

fn end(rules: &EffectiveRules) -> Option<String> {
    least(rules).map(|least| format!("The quality is {least:.2} or more."))
}

fn blockers(investigation: &Investigation, rules: &EffectiveRules, _: &[Lacking]) -> Vec<Diagnostic> {
    let Some(least) = least(rules) else { return Vec::new() };
    let figures = quality(investigation, rules);
    // The scores are sums of thirds and fifths, so the comparison must tolerate rounding errors.
    if figures.composite_score + 1e-9 >= least {
        return Vec::new();
    }
    let message = format!(
        "The quality is {:.2}, below {least:.2}: depth {:.2}, breadth {:.2}, balance {:.2}, exploration {:.2}.",
        figures.composite_score,
        figures.depth_score,
        figures.breadth_score,
        figures.balance_score,
        figures.exploration_score
    );
    vec![Diagnostic::new(Code::QualityTooLow, message).suggest(weakest(&figures))]
}

/// Returns the advice that would raise the quality most.
fn weakest(figures: &Quality) -> &'static str {
    let parts = [
        (0.3 * (1.0 - figures.depth_score), "Go deeper."),
        (0.3 * (1.0 - figures.breadth_score), "Give open nodes more children."),
        (0.2 * (1.0 - figures.balance_score), "Rule out alternatives, with evidence."),
        (0.2 * figures.exploration_score, "Close open nodes."),
    ];
    parts.iter().max_by(|a, b| a.0.total_cmp(&b.0)).map_or("", |(_, advice)| advice)
}
