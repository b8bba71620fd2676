//! A ruleset for people: its states as a table, its rules as the sentences that agents get too.

use serde::Serialize;

use super::cards::{Cards, StateView};
use crate::report::templates::SafeHtml;
use crate::ruleset::{EffectiveRules, rules};

/// A ruleset for people.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Rules {
    pub name: String,
    pub summary: String,
    pub advice: Option<SafeHtml>,
    pub mode_meaning: Option<String>,
    pub states: Vec<StateRule>,
    /// The requirements across states, in sentences.
    pub sentences: Vec<String>,
    /// The requirements of the end, in sentences.
    pub end: Vec<String>,
    /// The file, as it is pinned.
    pub text: String,
}

/// One state of a ruleset.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct StateRule {
    pub state: StateView,
    pub count: usize,
    /// The requirements of a node in it, in sentences.
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
            advice: SafeHtml::some_markdown(ruleset.advice.as_deref(), "advice", 3),
            mode_meaning: mode.map(|mode| mode.meaning.clone()),
            states: states
                .map(|(state, count)| StateRule {
                    state: count.state,
                    count: count.count,
                    asks: rules::of_state(&effective, state),
                })
                .collect(),
            sentences: rules::sentences(&effective),
            end: rules::end(&effective),
            text: text.to_owned(),
        }
    }
}
