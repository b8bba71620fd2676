//! The evidence: what was run, what the findings cite, and who cites it.

use std::collections::HashSet;

use serde::Serialize;

use super::Reference;
use super::cards::{Card, Cards};
use super::runs::RunView;
use crate::report::templates::SharedValue;

/// What the findings cite: first what a confirmed answer rests on, the rest in the order of first mention.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct References {
    /// What was run, the oldest first.
    pub runs: Vec<SharedValue<RunView>>,
    pub urls: Vec<ReferenceView>,
    pub paths: Vec<ReferenceView>,
    /// How many of both a confirmed answer cites.
    pub confirmed: usize,
}

/// A source, and who cites it.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct ReferenceView {
    /// From 1, over both lists; its place on the page is `ref-NUMBER`.
    pub number: usize,
    pub target: String,
    pub is_url: bool,
    pub title: Option<String>,
    /// The confirmed answers that cite it.
    pub confirmed: Vec<SharedValue<Card>>,
    pub cited_by: Vec<Citation>,
}

/// A node that cites a source.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Citation {
    pub card: SharedValue<Card>,
    pub lines: Vec<u32>,
}

impl Cards<'_> {
    /// The page, and the number on it of each reference, in the order they came in.
    pub(super) fn references(&self, references: &[Reference]) -> (References, Vec<usize>) {
        let confirmed: HashSet<usize> = self
            .cards
            .iter()
            .filter(|(_, card)| is_confirmed(card))
            .flat_map(|(id, _)| self.cited.get(id).into_iter().flatten().copied())
            .collect();
        let mut order: Vec<usize> = (0..references.len()).collect();
        order.sort_by_key(|at| {
            (references.get(*at).is_some_and(|reference| !reference.is_url), !confirmed.contains(at))
        });
        let mut numbers = vec![0; references.len()];
        let mut page =
            References { runs: Vec::new(), urls: Vec::new(), paths: Vec::new(), confirmed: confirmed.len() };
        for (place, at) in order.into_iter().enumerate() {
            let Some(reference) = references.get(at) else { continue };
            let number = place + 1;
            numbers[at] = number;
            let list = if reference.is_url { &mut page.urls } else { &mut page.paths };
            list.push(self.reference(reference, number));
        }
        (page, numbers)
    }

    fn reference(&self, reference: &Reference, number: usize) -> ReferenceView {
        let cited_by: Vec<Citation> = reference
            .cited_by
            .iter()
            .filter_map(|(id, lines)| Some(Citation { card: self.get(id)?.clone(), lines: lines.clone() }))
            .collect();
        let confirmed = cited_by.iter().filter(|citation| is_confirmed(&citation.card));
        ReferenceView {
            number,
            target: reference.target.clone(),
            is_url: reference.is_url,
            title: reference.title.clone().filter(|title| *title != reference.target),
            confirmed: confirmed.map(|citation| citation.card.clone()).collect(),
            cited_by,
        }
    }
}

fn is_confirmed(card: &Card) -> bool {
    card.sure.is_some_and(|sure| sure.is_confirmed())
}
