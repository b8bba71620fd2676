//! `evidence`: these `states` require at least `minCharacters` in the field `evidence` (`MISSING_EVIDENCE`); with
//! `orRun: true`, a command captured by `tot run` is enough. A reclassification or an amendment that leaves less only
//! warns.
//!
//! ```yaml
//! evidence: {states: [REFUTED], minCharacters: 50}
//! ```

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::runs::was_run;
use super::states::State;
use super::{
    AmendmentCheck, CallDiagnostics, ReclassificationCheck, ResultCheck, RuleKind, SILENT, StoredFact, Verb,
    Violation, changes_without, committed,
};
use crate::domain::{Amendment, Code, Investigation, Node, NodeId, RunId, StateName, Wording};
use crate::ruleset::Ruleset;
use crate::ruleset::effective::EffectiveRules;
use crate::ruleset::validity::Problems;

/// The evidence that some states require. Reports `MISSING_EVIDENCE` if it is too short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Evidence {
    /// The states that require evidence.
    pub states: Vec<StateName>,
    /// The minimum length of the evidence in characters.
    pub min_characters: u32,
    /// True if a command captured by `tot run` also counts as evidence.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub or_run: bool,
}

/// Reports `MISSING_EVIDENCE`: an error for commits, a warning for state changes and amendments.
pub(super) const KIND: RuleKind = RuleKind {
    key: "evidence",
    errors: &[(Verb::Commit, Code::MissingEvidence)],
    warnings: &[(Verb::Reclassify, Code::MissingEvidence), (Verb::Amend, Code::MissingEvidence)],
    problems,
    of_state,
    commit,
    reclassify,
    amend,
    stored_checks,
    ..SILENT
};

impl EffectiveRules<'_> {
    /// Returns the minimum length of the evidence in characters, if the state requires evidence.
    pub fn evidence(&self, state: &StateName) -> Option<u32> {
        let rule = self.ruleset.evidence.as_ref().filter(|rule| rule.states.contains(state))?;
        Some(rule.min_characters)
    }

    /// Returns the minimum length of the evidence in characters if the state requires evidence, and neither one of the
    /// texts nor a command that was run is sufficient.
    pub fn lacks_evidence<'t>(
        &self,
        investigation: &Investigation,
        node: &NodeId,
        state: &StateName,
        texts: impl IntoIterator<Item = &'t str>,
        runs: &[RunId],
    ) -> Option<u32> {
        let least = self.evidence(state)?;
        let is_run = || {
            let takes_runs = self.ruleset.evidence.as_ref().is_some_and(|rule| rule.or_run);
            takes_runs && was_run(investigation, node, runs)
        };
        let is_long = texts.into_iter().any(|text| characters(text) >= least as usize);
        (!is_long && !is_run()).then_some(least)
    }
}

fn problems(ruleset: &Ruleset, problems: &mut Problems) {
    if let Some(evidence) = &ruleset.evidence {
        problems.check_states(ruleset, &evidence.states);
    }
}

fn of_state(rules: &EffectiveRules, state: &State) -> Vec<String> {
    let or_run = rules.ruleset.evidence.as_ref().is_some_and(|rule| rule.or_run);
    let or_run = if or_run { ", or a command that was run" } else { "" };
    let sentence = |least| format!("Needs evidence of {least} characters or more{or_run}.");
    rules.evidence(&state.name).map(sentence).into_iter().collect()
}

fn commit(result: &ResultCheck, diagnostics: &mut CallDiagnostics) {
    let ResultCheck { investigation, rules, node, stored, .. } = result;
    let (state, evidence) = (&stored.state, stored.evidence.as_deref());
    if let Some(least) = rules.lacks_evidence(investigation, &node.id, state, evidence, &stored.runs) {
        let has = evidence.map_or(0, characters);
        let message = format!("{state} needs evidence of at least {least} characters; there are {has}.");
        let how = Wording::both(
            "Put what was measured or read into `evidence`.",
            "State what was measured or read with --evidence, or below `## Evidence`.",
        );
        diagnostics.refuse(Code::MissingEvidence, &node.id, message, how);
    }
}

/// Returns the minimum if a node in this state lacks evidence, considering everything stored with it.
fn lacks(
    investigation: &Investigation,
    rules: &EffectiveRules,
    node: &Node,
    state: &StateName,
    given: Option<&str>,
) -> Option<u32> {
    let held = node.classification.iter().flat_map(|result| {
        let later = result.reclassified.iter().filter_map(|change| change.evidence.as_deref());
        result.evidence.as_deref().into_iter().chain(later)
    });
    rules.lacks_evidence(investigation, &node.id, state, held.chain(given), &runs_of(node))
}

/// Returns the runs that the node's results name.
fn runs_of(node: &Node) -> Vec<RunId> {
    node.results().flat_map(|result| result.runs.iter().copied()).collect()
}

fn reclassify(change: &ReclassificationCheck, diagnostics: &mut CallDiagnostics) {
    let (node, to, evidence) = (change.node, &change.stored.to, change.stored.evidence.as_deref());
    if let Some(least) = lacks(change.investigation, change.rules, node, to, evidence) {
        let message = format!(
            "{} became {to} without the {least} characters of evidence that a commit needs.",
            node.id
        );
        let how = Wording::both("Give `evidence` when reclassifying.", "Give it with --evidence.");
        diagnostics.warn(Code::MissingEvidence, &node.id, message, how);
    }
}

fn amend(amended: &AmendmentCheck, diagnostics: &mut CallDiagnostics) {
    let AmendmentCheck { investigation, rules, node, amendment } = amended;
    let Some(state) = node.state().filter(|_| amendment.evidence.is_some()) else { return };
    if let Some(least) = lacks(investigation, rules, node, state, None) {
        let message = too_short_now(node, state, least);
        let how = Wording::both(
            "Amend `evidence`: put what was measured or read into it.",
            "Amend it again: state what was measured or read.",
        );
        diagnostics.warn(Code::MissingEvidence, &node.id, message, how);
    }
}

fn too_short_now(node: &Node, state: &StateName, least: u32) -> String {
    format!(
        "{} is {state}, but its amended evidence lacks the {least} characters that a commit needs.",
        node.id
    )
}

/// Checks the evidence for the commit, the state changes and the amendments.
fn stored_checks(investigation: &Investigation, rules: &EffectiveRules, violations: &mut Vec<Violation>) {
    for (node, result) in committed(investigation) {
        let (id, state) = (&node.id, &result.state);
        let place =
            || StoredFact::Node(id.clone(), if result.evidence.is_some() { "evidence" } else { "state" });
        // Each text was the evidence once, and an amendment that shortened it has its own finding.
        let earlier = result.amended.iter().filter_map(|it| it.evidence.as_deref());
        let texts = earlier.chain(result.evidence.as_deref());
        if let Some(least) = rules.lacks_evidence(investigation, id, state, texts.clone(), &result.runs) {
            let message = format!("{state} needs evidence of at least {least} characters.");
            violations.push(Violation::error(place(), Code::MissingEvidence, message));
        }
        for (number, change) in changes_without(result, Code::MissingEvidence) {
            let later = result.reclassified[..=number].iter().filter_map(|change| change.evidence.as_deref());
            let texts = texts.clone().chain(later);
            if let Some(least) = rules.lacks_evidence(investigation, id, &change.to, texts, &runs_of(node)) {
                let message = format!(
                    "{id} became {} without the {least} characters of evidence that a commit needs, and has no \
                     warning about it.",
                    change.to
                );
                let place = StoredFact::Change(id.clone(), number);
                violations.push(Violation::warning(place, Code::MissingEvidence, message));
            }
        }
        let is_amended = |it: &Amendment| it.evidence.is_some() && it.at >= result.current_since();
        let state = result.current_state();
        if result.amended.iter().any(is_amended)
            && let Some(least) = lacks(investigation, rules, node, state, None)
        {
            let message = too_short_now(node, state, least);
            violations.push(Violation::warning(place(), Code::MissingEvidence, message));
        }
    }
}

fn characters(text: &str) -> usize {
    text.trim().chars().count()
}
