//! `breadth`: a recommended number of nodes for one `round`. With fewer than `recommended`, the reply warns
//! (`R2_BREADTH`).
//!
//! ```yaml
//! breadth: {round: 2, recommended: 5}
//! ```

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CallDiagnostics, ProposalCheck, RuleKind, SILENT, Verb};
use crate::domain::{Code, NodeId};
use crate::ruleset::Ruleset;
use crate::ruleset::effective::EffectiveRules;
use crate::ruleset::validity::Problems;
use crate::text::counted;

/// The recommended breadth of one round. Fewer nodes trigger the warning `R<round>_BREADTH`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Breadth {
    /// The round.
    pub round: u32,
    /// The recommended number of nodes.
    pub recommended: u32,
}

/// Reports `R2_BREADTH` and the corresponding codes for other rounds.
pub(super) const KIND: RuleKind = RuleKind {
    key: "breadth",
    warnings: &[(Verb::Propose, Code::Breadth(2))],
    problems,
    sentences,
    propose,
    ..SILENT
};

impl EffectiveRules<'_> {
    /// Returns the recommended breadth as a round and its number of nodes.
    pub fn breadth(&self) -> Option<(u32, u32)> {
        let breadth = self.ruleset.breadth.as_ref()?;
        (!self.mode.is_some_and(|mode| mode.without_breadth)).then_some((breadth.round, breadth.recommended))
    }
}

fn problems(ruleset: &Ruleset, problems: &mut Problems) {
    if ruleset.breadth.as_ref().is_some_and(|breadth| breadth.round == 0) {
        problems.add("round", "rounds are counted from 1", "write `round: 2`, say");
    }
}

fn sentences(rules: &EffectiveRules) -> Vec<String> {
    let sentence = |(round, nodes)| format!("{nodes} or more nodes are recommended in round {round}.");
    rules.breadth().map(sentence).into_iter().collect()
}

fn propose(proposal: &ProposalCheck, diagnostics: &mut CallDiagnostics) {
    let Some((round, recommended)) = proposal.rules.breadth() else { return };
    if !proposal.nodes.iter().any(|node| node.round() == round) {
        return;
    }
    let ids: HashSet<&NodeId> = proposal
        .investigation
        .in_round(round)
        .filter(|node| !proposal.withdrawn.contains(&node.id))
        .chain(proposal.nodes)
        .filter(|node| node.round() == round)
        .map(|node| &node.id)
        .collect();
    if ids.len() < recommended as usize {
        let message = format!(
            "Round {round} has {} so far; {recommended} or more are recommended.",
            counted(ids.len(), "node")
        );
        let how = "Propose more directions, all clearly distinct.";
        diagnostics.warn(Code::Breadth(round), "", message, how);
    }
}
