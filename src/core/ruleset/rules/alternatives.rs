//! `alternatives`: these `states` require at least `min` entries in the field `alternativesConsidered`, each longer
//! than one word and different from the others (`MISSING_ALTERNATIVES`). A reclassification or an amendment that leaves
//! fewer only warns.
//!
//! ```yaml
//! alternatives: {states: [ROOT_CAUSE], min: 2}
//! ```

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::states::State;
use super::{AmendmentCheck, CallDiagnostics, ReclassificationCheck, ResultCheck, RuleKind, SILENT, Verb};
use crate::domain::node::says_nothing;
use crate::domain::{Code, Node, StateName, Wording};
use crate::ruleset::Ruleset;
use crate::ruleset::effective::EffectiveRules;
use crate::ruleset::validity::Problems;
use crate::text::one_line;

/// The alternatives that some states require. Reports `MISSING_ALTERNATIVES` if there are too few.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Alternatives {
    /// The states that require alternatives.
    pub states: Vec<StateName>,
    /// The minimum number of alternatives, each in more than one word.
    pub min: u32,
}

/// Reports `MISSING_ALTERNATIVES`: an error for commits, a warning for state changes and amendments.
pub(super) const KIND: RuleKind = RuleKind {
    key: "alternatives",
    errors: &[(Verb::Commit, Code::MissingAlternatives)],
    warnings: &[(Verb::Reclassify, Code::MissingAlternatives), (Verb::Amend, Code::MissingAlternatives)],
    problems,
    of_state,
    commit,
    reclassify,
    amend,
    ..SILENT
};

impl EffectiveRules<'_> {
    /// Returns the minimum number of alternatives, if the state requires alternatives.
    pub fn alternatives(&self, state: &StateName) -> Option<u32> {
        let rule = self.ruleset.alternatives.as_ref().filter(|rule| rule.states.contains(state))?;
        Some(rule.min)
    }
}

fn problems(ruleset: &Ruleset, problems: &mut Problems) {
    if let Some(alternatives) = &ruleset.alternatives {
        problems.check_states(ruleset, &alternatives.states);
    }
}

fn of_state(rules: &EffectiveRules, state: &State) -> Vec<String> {
    let sentence = |least| match least {
        1 => "Must list an alternative considered.".to_owned(),
        least => format!("Must list {least} alternatives considered."),
    };
    rules.alternatives(&state.name).map(sentence).into_iter().collect()
}

fn commit(result: &ResultCheck, diagnostics: &mut CallDiagnostics) {
    let state = &result.stored.state;
    let Some(least) = result.rules.alternatives(state) else { return };
    let has = number(&result.stored.alternatives_considered);
    if has < least as usize {
        let message = Wording::both("in alternativesConsidered", "alternatives")
            .map(|what| format!("{state} needs {least} {what}, each in more than a word, not {has}."));
        let how = Wording::both(
            "Say what else could be the answer, and why it is not, each in a sentence.",
            "Say what else could be the answer, and why it is not, each in a sentence: --alternative, a list in the \
             head of a file (`tot commit --help`), or a line below `## Alternatives` in the editor.",
        );
        diagnostics.refuse(Code::MissingAlternatives, &result.node.id, message, how);
    }
}

fn reclassify(change: &ReclassificationCheck, diagnostics: &mut CallDiagnostics) {
    let (id, to, given) = (&change.node.id, &change.stored.to, &change.stored.alternatives_considered);
    let Some(least) = lacks(change.rules, change.node, to, given) else { return };
    let message = format!("{id} became {to} without the {least} alternatives that a commit needs.");
    let how =
        Wording::both("Give `alternativesConsidered` when reclassifying.", "Give each with --alternative.");
    diagnostics.warn(Code::MissingAlternatives, id, message, how);
}

fn amend(amended: &AmendmentCheck, diagnostics: &mut CallDiagnostics) {
    let (node, is_changed) = (amended.node, amended.amendment.alternatives_considered.is_some());
    let Some(state) = node.state().filter(|_| is_changed) else { return };
    if let Some(least) = lacks(amended.rules, node, state, &[]) {
        let message =
            format!("{} is {state}, but lacks the {least} alternatives that a commit needs.", node.id);
        let how = Wording::both(
            "Amend `alternativesConsidered`: give all of them.",
            "Give each with --alternative.",
        );
        diagnostics.warn(Code::MissingAlternatives, &node.id, message, how);
    }
}

/// Returns the minimum if a node in this state lacks alternatives, considering all that are stored with it.
fn lacks(rules: &EffectiveRules, node: &Node, state: &StateName, given: &[String]) -> Option<u32> {
    let held = node.classification.iter().flat_map(|it| {
        let later = it.reclassified.iter().flat_map(|change| &change.alternatives_considered);
        it.alternatives_considered.iter().chain(later)
    });
    rules.alternatives(state).filter(|least| number(held.chain(given)) < *least as usize)
}

/// Returns the number of meaningful alternatives. One that is repeated counts once.
fn number<'a>(alternatives: impl IntoIterator<Item = &'a String>) -> usize {
    let alternatives = alternatives.into_iter().filter(|text| !says_nothing(text));
    alternatives.map(|text| one_line(text).to_lowercase()).collect::<HashSet<_>>().len()
}
