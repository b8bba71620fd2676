//! `end.minDepth`: the round that the deepest node must have reached before the investigation can end
//! (`DEPTH_TOO_SHALLOW`).
//!
//! ```yaml
//! end: {minRounds: 4, minDepth: 4}
//! ```

use super::children::Lacking;
use super::{RuleKind, SILENT, Verb};
use crate::domain::{Code, Diagnostic, Investigation};
use crate::ruleset::effective::EffectiveRules;

/// Reports `DEPTH_TOO_SHALLOW`.
pub(super) const KIND: RuleKind =
    RuleKind { key: "end.minDepth", errors: &[(Verb::End, Code::DepthTooShallow)], end, blockers, ..SILENT };

fn end(rules: &EffectiveRules) -> Option<String> {
    rules.ruleset().end.min_depth.map(|depth| format!("The deepest node is in round {depth} or later."))
}

fn blockers(investigation: &Investigation, rules: &EffectiveRules, _: &[Lacking]) -> Vec<Diagnostic> {
    let round = investigation.current_round();
    let blocker = |depth| {
        let message = format!(
            "The tree is too shallow: its deepest node is in round {round}, but round {depth} is required."
        );
        Diagnostic::new(Code::DepthTooShallow, message).suggest("Go deeper on the most promising branch.")
    };
    rules.ruleset().end.min_depth.filter(|depth| round < *depth).map(blocker).into_iter().collect()
}
