//! The rules page, which shows the rules and whether they are met.

use std::collections::BTreeMap;

use serde::Serialize;

use super::cards::{Card, Cards, REFUTATION, StateView};
use super::node::StateChange;
use super::rules::Rules;
use crate::domain::{Code, Node, StateName};
use crate::report::templates::{SafeHtml, SharedValue};

/// The rules page.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Judged {
    pub rules: Option<Rules>,
    pub changes: Vec<StateChange>,
    /// The warnings that the rules gave.
    pub warnings: Vec<NodeWarning>,
    pub min_rounds: u32,
    pub min_roots: u32,
    pub allow_early: bool,
    /// The number of nodes in each state.
    pub states: Vec<StateCount>,
    /// The words for states, with their meaning.
    pub words: SafeHtml,
}

/// Returns the words for states, with their meaning. `tot help words` shows the same text.
pub(in crate::report) fn words() -> SafeHtml {
    SafeHtml::markdown(include_str!("../../cli/help/words.md"), "words", 2)
}

/// The number of nodes in a state.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct StateCount {
    pub state: StateView,
    pub count: usize,
}

/// A warning and its node.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct NodeWarning {
    pub code: String,
    pub message: String,
    pub card: SharedValue<Card>,
}

impl<'a> Cards<'a> {
    /// Returns the node counts for the ruleset's states in order, followed by the counts for any other states in use.
    pub(super) fn state_counts(&self) -> Vec<StateCount> {
        let mut counts: BTreeMap<&StateName, usize> = BTreeMap::new();
        // Nodes whose state normally confirms, but which refute, are counted separately.
        let mut refutations: BTreeMap<&StateName, StateCount> = BTreeMap::new();
        for (node, state) in self.investigation.committed() {
            let refutes = self.get(&node.id).is_some_and(|card| card.state.class.starts_with(REFUTATION));
            if refutes && self.state(state).class != REFUTATION {
                let new = || StateCount { state: self.refutation(state), count: 0 };
                refutations.entry(state).or_insert_with(new).count += 1;
            } else {
                *counts.entry(state).or_default() += 1;
            }
        }
        let known = self.rules.map_or(&[][..], |rules| &rules.ruleset().states);
        let mut states: Vec<StateCount> = known
            .iter()
            .map(|state| StateCount {
                state: self.state(&state.name),
                count: counts.remove(&state.name).unwrap_or(0),
            })
            .collect();
        states.extend(counts.into_iter().map(|(name, count)| StateCount { state: self.state(name), count }));
        states.extend(refutations.into_values());
        states
    }

    /// Returns all warnings but those that a later run settled.
    pub(super) fn warnings(&self) -> Vec<NodeWarning> {
        let warnings = self.investigation.committed().flat_map(|(node, _)| self.warnings_of(node));
        warnings.filter(|it| !self.assessment.is_settled(&it.card.id, &Code::parse(&it.code))).collect()
    }

    pub(super) fn warnings_of(&self, node: &Node) -> Vec<NodeWarning> {
        let (Some(card), Some(classification)) = (self.card(node), &node.classification) else {
            return Vec::new();
        };
        let changed = classification.reclassified.iter().flat_map(|change| &change.warnings);
        classification
            .warnings
            .iter()
            .chain(changed)
            .map(|warning| NodeWarning {
                code: warning.code.to_string(),
                message: self.in_words(&warning.message),
                card: card.clone(),
            })
            .collect()
    }
}
