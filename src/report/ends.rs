//! The states in which an investigation was ended, each with a page of what changed until the next.

use std::path::Path;

use serde::Serialize;

use super::ReportInput;
use super::compare::{self, CompareView, Comparison};
use super::model::{Report, Time};
use crate::domain::NodeId;
use crate::signoff::SignOffs;
use crate::store::{HistoryEntry, Relation, Snapshot, Store, StoreError};

/// The prefix of the tags of ends.
const ENDED: &str = "ended/";
/// The most ends that are compared, newest first: each is a state of its own to read and keep in memory.
const MOST_ENDS: usize = 6;

/// A state in which it was ended.
#[derive(Clone, Debug)]
pub struct End {
    /// Its tag: `ended/1`.
    pub name: String,
    /// The state.
    pub snapshot: Snapshot,
}

/// Reads the states in which an investigation was ended, if that was more than once, oldest first; of many, the newest six. One
/// that can't be read is left out.
///
/// # Errors
///
/// The errors of git.
pub fn ends(store: &Store, folder: &Path, history: &[HistoryEntry]) -> Result<Vec<End>, StoreError> {
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
            ends.push(End { name: name.clone(), snapshot });
        }
    }
    Ok(ends)
}

/// A page of what changed between two ends, as a link.
#[derive(Clone, Debug, Serialize)]
pub(super) struct BetweenEnds {
    pub from: String,
    pub to: String,
    pub href: String,
    /// The time of the later end, as recorded by git.
    pub at: Option<Time>,
}

/// The links to all of them, newest first.
pub(super) fn links(input: &ReportInput) -> Vec<BetweenEnds> {
    let link = |pair: &[End]| BetweenEnds {
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

/// The pages, each with its path. `place` gives the page that a node has, if it still has one.
pub(super) fn pages(
    input: &ReportInput,
    place: &dyn Fn(&NodeId) -> Option<String>,
) -> impl Iterator<Item = (String, CompareView)> {
    input.ends.windows(2).filter_map(move |pair| {
        let [before, after] = pair else { return None };
        let since = input.history.iter().skip_while(|entry| entry.commit != after.snapshot.head);
        let after_input = ReportInput {
            snapshot: after.snapshot.clone(),
            history: since.cloned().collect(),
            rev: None,
            sign_offs: SignOffs::default(),
            evidence: input.evidence.clone(),
            attachments: Vec::new(),
            withheld: input.withheld.clone(),
            ends: Vec::new(),
        };
        let comparison = Comparison {
            before: before.snapshot.clone(),
            // The one follows the other along first parents.
            relation: Relation::Forward,
            names: [before.name.clone(), after.name.clone()],
        };
        let view = compare::view(&after_input, &Report::of(&after_input), &comparison, place);
        Some((href(pair), view))
    })
}

/// `ended/1` and `ended/2`: `ended-1-2.html`.
fn href(pair: &[End]) -> String {
    let number = |end: &End| end.name.trim_start_matches(ENDED).to_owned();
    format!("ended-{}-{}.html", number(&pair[0]), number(&pair[1]))
}
