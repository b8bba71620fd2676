//! `runs`: these `states` should be backed by a command captured by `tot run`, or by a cited file that was found. If
//! the evidence is only text, the reply warns (`NOT_RUN`); the result is never refused.
//!
//! ```yaml
//! runs: {states: [ROOT_CAUSE]}
//! ```

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::states::State;
use super::{CallDiagnostics, ReclassificationCheck, ResultCheck, RuleKind, SILENT, Verb};
use crate::domain::{Code, Diagnostic, Investigation, NodeId, Run, RunId, RunKind, StateName};
use crate::ruleset::Ruleset;
use crate::ruleset::effective::EffectiveRules;
use crate::ruleset::validity::Problems;

/// States whose evidence should be a command captured by `tot run`, or a cited file that was found. Otherwise the
/// commit gets the warning `NOT_RUN`. It is never refused, because some questions have nothing to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Runs {
    /// The states.
    pub states: Vec<StateName>,
}

/// Reports `NOT_RUN`, a warning for commits and state changes.
pub(super) const KIND: RuleKind = RuleKind {
    key: "runs",
    warnings: &[(Verb::Commit, Code::NotRun), (Verb::Reclassify, Code::NotRun)],
    problems,
    of_state,
    commit,
    reclassify,
    ..SILENT
};

/// Returns whether a command was run for the node, or a result names a run, and it was not taken back before the node's
/// result.
pub fn was_run(investigation: &Investigation, node: &NodeId, named: &[RunId]) -> bool {
    let is_of_node = |run: &Run| run.node.as_ref() == Some(node) || named.contains(&run.id);
    let is_pending = investigation.node(node).is_none_or(|node| node.is_pending());
    let runs: Vec<_> =
        if is_pending { investigation.counted_runs().collect() } else { investigation.runs().collect() };
    runs.iter().any(|run| matches!(run.what, RunKind::Captured(_)) && is_of_node(run))
}

fn problems(ruleset: &Ruleset, problems: &mut Problems) {
    if let Some(runs) = &ruleset.runs {
        problems.check_states(ruleset, &runs.states);
    }
}

fn asks(rules: &EffectiveRules, state: &StateName) -> bool {
    rules.ruleset.runs.as_ref().is_some_and(|runs| runs.states.contains(state))
}

fn of_state(rules: &EffectiveRules, state: &State) -> Vec<String> {
    let sentence = "Warns if the evidence is text only: run a command with `tot run`, or cite a file.";
    asks(rules, &state.name).then(|| sentence.to_owned()).into_iter().collect()
}

fn commit(result: &ResultCheck, diagnostics: &mut CallDiagnostics) {
    let (id, stored) = (&result.node.id, result.stored);
    let cites_a_file = || stored.references.iter().any(|source| source.pinned.is_some());
    let has_evidence = || cites_a_file() || was_run(result.investigation, id, &stored.runs);
    if asks(result.rules, &stored.state) && !has_evidence() {
        diagnostics.warnings.push(warning(id, &stored.state));
    }
}

fn reclassify(change: &ReclassificationCheck, diagnostics: &mut CallDiagnostics) {
    let node = change.node;
    let has_evidence = || {
        node.pins().next().is_some()
            || node.results().any(|result| was_run(change.investigation, &node.id, &result.runs))
    };
    if asks(change.rules, &change.stored.to) && !has_evidence() {
        diagnostics.warnings.push(warning(&node.id, &change.stored.to));
    }
}

fn warning(node: &NodeId, state: &StateName) -> Diagnostic {
    let how = "If something can be run, capture it in your shell";
    Diagnostic::new(Code::NotRun, format!("{node} is {state}, and its evidence is text only."))
        .about(node)
        .suggest(format!("{how}: `tot run {node} --agent NAME -- COMMAND`."))
        .for_people(format!("{how}: `tot run {node} -- COMMAND`."))
}
