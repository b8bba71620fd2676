//! The evidence pages: captured runs, and the cited sources with the nodes that cite them. Long lists of sources are
//! split into several pages.

use std::collections::HashSet;

use serde::Serialize;

use super::cards::{Card, Cards};
use super::runs::RunView;
use crate::decide::references::CitedSource;
use crate::domain::RunId;
use crate::report::pager::{self, Pager, page_file};
use crate::report::templates::SharedValue;
use crate::service::project::{Drift, ProjectEvidence};

/// The base name of the page files.
const NAME: &str = "references";
/// The maximum number of sources on a page.
const PER_PAGE: usize = 200;

/// The sources of the findings. Sources cited by a confirmed answer come first, followed by the others in order of first
/// mention.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct References {
    /// The runs, oldest first.
    pub runs: Vec<SharedValue<RunView>>,
    /// The number of omitted runs.
    pub more_runs: usize,
    /// The project's commit with which the inputs of the runs were compared.
    pub inputs_at: Option<String>,
    pub urls: Vec<ReferenceView>,
    pub paths: Vec<ReferenceView>,
    /// The number of sources cited by a confirmed answer.
    pub confirmed: usize,
}

/// A source and the nodes that cite it.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct ReferenceView {
    /// The source number, starting at 1, across both lists. Its anchor is `ref-NUMBER`.
    pub number: usize,
    pub target: String,
    pub is_url: bool,
    pub title: Option<String>,
    /// The confirmed answers that cite the source.
    pub confirmed: Vec<SharedValue<Card>>,
    pub cited_by: Vec<CitingNode>,
    /// The worst current state of the cited file in the project: `unchanged`, `changed`, …
    pub drift: Option<&'static str>,
}

/// One page of sources. Only the first page lists the runs.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct ReferencesPage<'a> {
    pub runs: &'a [SharedValue<RunView>],
    pub more_runs: usize,
    pub inputs_at: Option<&'a str>,
    pub urls: &'a [ReferenceView],
    pub paths: &'a [ReferenceView],
    /// The number of URLs on all pages.
    pub url_count: usize,
    /// The number of paths on all pages.
    pub path_count: usize,
    pub confirmed: usize,
    #[serde(flatten)]
    pub pager: Pager,
}

/// Returns the address of a source.
pub(in crate::report) fn href(number: usize) -> String {
    format!("{}#ref-{number}", page_file(NAME, number.div_ceil(PER_PAGE).max(1)))
}

/// Returns the address of a run that no node has.
pub(in crate::report) fn of_run(id: RunId) -> String {
    format!("{}#run-{id}", page_file(NAME, 1))
}

impl References {
    /// Returns the pages and their file names. There is always at least one page.
    pub(in crate::report) fn pages(&self) -> impl Iterator<Item = (String, ReferencesPage<'_>)> {
        pager::pages(NAME, self.urls.len() + self.paths.len(), PER_PAGE).map(move |(file, pager)| {
            let [from, to] = [pager.number - 1, pager.number].map(|pages| pages * PER_PAGE);
            let of = |list: &'_ [ReferenceView], skipped: usize| {
                let at = |place: usize| place.saturating_sub(skipped).min(list.len());
                at(from)..at(to)
            };
            let page = ReferencesPage {
                runs: if pager.number == 1 { &self.runs } else { &[] },
                more_runs: self.more_runs,
                inputs_at: self.inputs_at.as_deref(),
                urls: &self.urls[of(&self.urls, 0)],
                paths: &self.paths[of(&self.paths, self.urls.len())],
                url_count: self.urls.len(),
                path_count: self.paths.len(),
                confirmed: self.confirmed,
                pager,
            };
            (file, page)
        })
    }
}

/// A node that cites a source.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct CitingNode {
    pub card: SharedValue<Card>,
    pub lines: Vec<u32>,
}

impl Cards<'_> {
    /// Returns the sources, and the source number of each given reference, in order.
    pub(super) fn references(
        &self,
        references: &[CitedSource],
        evidence: &ProjectEvidence,
    ) -> (References, Vec<usize>) {
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
        let mut page = References {
            runs: Vec::new(),
            more_runs: 0,
            inputs_at: self.assessment.inputs_at.clone(),
            urls: Vec::new(),
            paths: Vec::new(),
            confirmed: confirmed.len(),
        };
        for (place, at) in order.into_iter().enumerate() {
            let Some(reference) = references.get(at) else { continue };
            let number = place + 1;
            numbers[at] = number;
            let list = if reference.is_url { &mut page.urls } else { &mut page.paths };
            list.push(self.reference(reference, number, evidence));
        }
        (page, numbers)
    }

    fn reference(&self, reference: &CitedSource, number: usize, evidence: &ProjectEvidence) -> ReferenceView {
        let cited_by: Vec<CitingNode> = reference
            .cited_by
            .iter()
            .filter_map(|it| {
                Some(CitingNode { card: self.get(&it.node_id)?.clone(), lines: it.lines.clone() })
            })
            .collect();
        let drifts = reference.pins.iter().filter_map(|pin| evidence.drift.get(pin));
        let confirmed = cited_by.iter().filter(|citation| is_confirmed(&citation.card));
        ReferenceView {
            number,
            target: reference.target.clone(),
            is_url: reference.is_url,
            title: reference.title.clone().filter(|title| *title != reference.target),
            confirmed: confirmed.map(|citation| citation.card.clone()).collect(),
            cited_by,
            drift: drifts.max_by_key(|drift| drift.is_lost()).map(Drift::as_str),
        }
    }
}

fn is_confirmed(card: &Card) -> bool {
    card.sure.is_some_and(|sure| sure.is_confirmed())
}
