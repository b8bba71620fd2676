//! `evidence`: what some states need to be believed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::states::State;
use super::{Committed, Kind, Reclassified, Verdict};
use crate::domain::{Code, Diagnostic, StateName};
use crate::ruleset::Ruleset;
use crate::ruleset::effective::EffectiveRules;
use crate::ruleset::validity::{Fault, known};

/// The evidence that some states need, else `MISSING_EVIDENCE`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Evidence {
    /// The states that need it.
    pub states: Vec<StateName>,
    /// Its least length, in characters.
    pub min_characters: u32,
}

/// `MISSING_EVIDENCE`: refused at a commit, warned of at a change of state.
pub(super) const KIND: Kind = Kind { key: "evidence", faults, of_state, commit, reclassify, ..Kind::SILENT };

impl EffectiveRules<'_> {
    /// How many characters of evidence the state needs; `None` for none.
    pub fn evidence(&self, state: &StateName) -> Option<u32> {
        let rule = self.ruleset.evidence.as_ref().filter(|rule| rule.states.contains(state))?;
        Some(rule.min_characters)
    }
}

fn faults(ruleset: &Ruleset, faults: &mut Vec<Fault>) {
    if let Some(evidence) = &ruleset.evidence {
        known(ruleset, "evidence", None, &evidence.states, faults);
    }
}

fn of_state(rules: &EffectiveRules, state: &State) -> Vec<String> {
    let sentence = |least| format!("Needs evidence of {least} characters or more.");
    rules.evidence(&state.name).map(sentence).into_iter().collect()
}

fn commit(result: &Committed, verdict: &mut Verdict) {
    let Some(least) = result.rules.evidence(result.state) else { return };
    let has = result.evidence.map_or(0, characters);
    if has < least as usize {
        let message =
            format!("{} needs evidence of at least {least} characters; there are {has}.", result.state);
        verdict.errors.push(
            Diagnostic::new(Code::MissingEvidence, message)
                .about(&result.node.id)
                .suggest("Put what was measured or read into `evidence`."),
        );
    }
}

fn reclassify(change: &Reclassified, verdict: &mut Verdict) {
    let Some(least) = change.rules.evidence(change.to) else { return };
    let (node, to) = (change.node, change.to);
    let held = node.classification.iter().flat_map(|classification| {
        let later = classification.reclassified.iter().filter_map(|change| change.evidence.as_deref());
        classification.evidence.as_deref().into_iter().chain(later)
    });
    if !held.chain(change.evidence).any(|text| characters(text) >= least as usize) {
        let message = format!(
            "{} became {to} without the {least} characters of evidence that a commit needs.",
            node.id
        );
        verdict.warnings.push(
            Diagnostic::new(Code::MissingEvidence, message)
                .about(&node.id)
                .suggest("Give `evidence` with the reclassify."),
        );
    }
}

fn characters(text: &str) -> usize {
    text.trim().chars().count()
}
