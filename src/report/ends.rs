//! The states in which an investigation ended, and the pages that compare consecutive states.

use std::path::Path;

use serde::Serialize;

use super::ReportInput;
use super::compare::{self, CompareView, Comparison};
use super::model::{Report, Time};
use crate::domain::NodeId;
use crate::store::{HistoryEntry, Relation, Snapshot, Store, StoreError};

/// The prefix of the tags for ended states.
const ENDED: &str = "ended/";
/// The maximum number of ended states to compare, newest first. Each state is read in full and kept in memory.
const MOST_ENDS: usize = 6;

/// A state in which the investigation ended.
#[derive(Clone, Debug)]
pub struct EndedState {
    /// Its tag: `ended/1`.
    pub name: String,
    /// The state.
    pub snapshot: Snapshot,
}

/// Reads the states in which an investigation ended, oldest first. Returns at most the newest six, or none if the investigation
/// ended only once. Unreadable states are skipped.
///
/// # Errors
///
/// Returns an error if git fails.
pub fn ends(store: &Store, folder: &Path, history: &[HistoryEntry]) -> Result<Vec<EndedState>, StoreError> {
    let is_end = |tag: &&String| {
        tag.strip_prefix(ENDED)
            .is_some_and(|text| text.parse().is_ok_and(|number: u32| number.to_string() == text))
    };
    let tags = history.iter().filter_map(|entry| Some((entry.commit, entry.tags.iter().find(is_end)?)));
    let tags: Vec<_> = tags.take(MOST_ENDS).collect();
    if tags.len() < 2 {
        return Ok(Vec::new());
    }
    let mut ends = Vec::with_capacity(tags.len());
    for (commit, name) in tags.into_iter().rev() {
        if let Ok(snapshot) = store.load_at(folder, &commit.to_string()) {
            ends.push(EndedState { name: name.clone(), snapshot });
        }
    }
    Ok(ends)
}

/// A link to the page that compares two ended states.
#[derive(Clone, Debug, Serialize)]
pub(super) struct BetweenEnds {
    pub from: String,
    pub to: String,
    pub href: String,
    /// The time of the later state, as recorded by git.
    pub at: Option<Time>,
}

/// Returns the links to the comparison pages, newest first.
pub(super) fn links(input: &ReportInput) -> Vec<BetweenEnds> {
    let link = |pair: &[EndedState]| BetweenEnds {
        from: pair[0].name.clone(),
        to: pair[1].name.clone(),
        href: href(pair),
        at: input
            .history
            .iter()
            .find(|entry| entry.commit == pair[1].snapshot.head)
            .map(|entry| Time::of(entry.at)),
    };
    input.ends.windows(2).rev().map(link).collect()
}

/// Returns the comparison pages by path. `place` returns the address of a node's page, if the node still exists.
pub(super) fn pages(
    input: &ReportInput,
    place: &dyn Fn(&NodeId) -> Option<String>,
) -> impl Iterator<Item = (String, CompareView)> {
    input.ends.windows(2).filter_map(move |pair| {
        let [before, after] = pair else { return None };
        let since = input.history.iter().skip_while(|entry| entry.commit != after.snapshot.head);
        let (evidence, withheld) = (input.evidence.clone(), input.withheld.clone());
        let after_input = ReportInput::new(after.snapshot.clone(), since.cloned().collect());
        let after_input = ReportInput { evidence, withheld, ..after_input };
        let comparison = Comparison {
            before: before.snapshot.clone(),
            // The later state follows the earlier one along first parents.
            relation: Relation::Forward,
            names: [before.name.clone(), after.name.clone()],
        };
        let view = compare::view(&after_input, &Report::of(&after_input), &comparison, place);
        Some((href(pair), view))
    })
}

/// Returns the file name for a pair of ended states: `ended-1-2.html` for `ended/1` and `ended/2`.
fn href(pair: &[EndedState]) -> String {
    let number = |end: &EndedState| end.name.trim_start_matches(ENDED).to_owned();
    format!("ended-{}-{}.html", number(&pair[0]), number(&pair[1]))
}
