//! A ruleset for people: a table of its states, and its rules in the same sentences that agents receive.

use serde::Serialize;

use super::cards::{Card, Cards, StateView};
use crate::report::templates::SharedValue;
use crate::ruleset::{EffectiveRules, rules};

/// A ruleset in human-readable form.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Rules {
    pub name: String,
    pub summary: String,
    pub mode_meaning: Option<String>,
    pub states: Vec<StateRule>,
    /// The requirements that span several states, in sentences.
    pub sentences: Vec<String>,
    /// The requirements for ending the investigation.
    pub end: Vec<EndRule>,
    /// The ruleset file as stored in the investigation.
    pub text: String,
}

/// A requirement for ending the investigation.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct EndRule {
    /// The requirement, in a sentence.
    pub sentence: String,
    pub is_met: bool,
    /// The nodes that do not meet it.
    pub failing: Vec<SharedValue<Card>>,
}

/// One state of a ruleset.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct StateRule {
    pub state: StateView,
    pub count: usize,
    /// The requirements for a node in this state, in sentences.
    pub asks: String,
}

impl<'a> Cards<'a> {
    pub(super) fn rules(&self, effective: EffectiveRules<'_>, text: &str) -> Rules {
        let ruleset = effective.ruleset();
        let mode = ruleset.mode(&self.investigation.meta().mode);
        let states = ruleset.states.iter().zip(self.state_counts());
        Rules {
            name: ruleset.name.clone(),
            summary: ruleset.summary.clone(),
            mode_meaning: mode.map(|mode| mode.meaning.clone()),
            states: states
                .map(|(state, count)| StateRule {
                    state: count.state,
                    count: count.count,
                    asks: rules::of_state(&effective, state),
                })
                .collect(),
            sentences: rules::sentences(&effective),
            end: rules::end_checked(&effective, self.investigation)
                .into_iter()
                .map(|(sentence, missing)| EndRule {
                    sentence,
                    is_met: missing.is_empty(),
                    failing: self.in_order(missing.iter().flatten()),
                })
                .collect(),
            text: text.to_owned(),
        }
    }
}
