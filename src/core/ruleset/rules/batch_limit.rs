//! `batchLimit`: the maximum number of nodes in one proposal (`BATCH_OVERFLOW`).
//!
//! ```yaml
//! batchLimit: 8
//! ```

use super::{CallDiagnostics, ProposalCheck, RuleKind, SILENT, Verb};
use crate::domain::Code;
use crate::ruleset::Ruleset;
use crate::ruleset::effective::EffectiveRules;
use crate::ruleset::validity::Problems;

/// Reports `BATCH_OVERFLOW`.
pub(super) const KIND: RuleKind = RuleKind {
    key: "batchLimit",
    errors: &[(Verb::Propose, Code::BatchOverflow)],
    problems,
    sentences,
    propose,
    ..SILENT
};

fn problems(ruleset: &Ruleset, problems: &mut Problems) {
    let Some(limit) = ruleset.batch_limit else { return };
    if limit == 0 {
        let reason = "a batch must allow at least one node";
        problems.add("batchLimit", reason, "leave batchLimit out for no limit");
    } else if limit < ruleset.roots.min {
        let reason = "batchLimit is below the minimum number of roots, so no investigation could start";
        problems.add("batchLimit", reason, "raise it, or lower min under roots");
    }
}

fn sentences(rules: &EffectiveRules) -> Vec<String> {
    let limit = rules.ruleset().batch_limit;
    limit.map(|limit| format!("At most {limit} nodes in a proposal.")).into_iter().collect()
}

fn propose(proposal: &ProposalCheck, diagnostics: &mut CallDiagnostics) {
    let ruleset = proposal.rules.ruleset();
    if let Some(limit) = ruleset.batch_limit.filter(|limit| proposal.number > *limit as usize) {
        let message = format!("The batch has {} nodes; {} allows {limit}.", proposal.number, ruleset.name);
        let how = format!("Propose at most {limit} nodes in a call.");
        diagnostics.refuse(Code::BatchOverflow, "", message, how);
    }
}
