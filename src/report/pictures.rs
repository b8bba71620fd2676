//! The pictures of an investigation, with their files and the links between them.
//!
//! `graph.html` shows the tree, or of a large one the path to the best answer and the first rounds. `graph.svg` is the same
//! picture as a file.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::model::{Card, OutlineRow, Report};
use super::templates::{SafeHtml, SharedValue};
use crate::assess::Assessment;
use crate::domain::NodeId;
use crate::graph::{self, DrawnTree, SvgOptions, Way};

/// The maximum number of other answers linked below the picture.
const MOST_ANSWERS: usize = 6;

/// A picture on a page.
#[derive(Serialize)]
pub(super) struct Drawing {
    svg: SafeHtml,
    /// The minimum readable width, in CSS pixels.
    readable_width: f64,
    /// The remaining width up to full size, in CSS pixels.
    further_width: f64,
}

/// The page with the picture of the tree.
#[derive(Serialize)]
pub(super) struct PicturePage {
    drawing: Drawing,
    /// The number of nodes in the investigation.
    nodes: usize,
    /// The number of nodes in the picture.
    shown: usize,
    /// The best answer.
    best: Option<SharedValue<Card>>,
    /// The place of the best answer.
    best_place: Option<GraphLink>,
    /// True if the picture shows a path to a confirmed answer.
    has_confirmed_way: bool,
    /// True if the picture shows a path to a contested or self-checked answer.
    has_doubted_way: bool,
    /// The places of the other checked answers.
    answers: Vec<GraphLink>,
    more_answers: usize,
    /// The nodes of the picture as a nested list.
    outline: Vec<OutlineRow>,
    /// The symbol for each role, by CSS class.
    signs: BTreeMap<&'static str, SafeHtml>,
}

/// A link to the place of a node: its card, or its row in the list of all nodes.
#[derive(Clone, Debug, Serialize)]
struct GraphLink {
    label: String,
    title: String,
    /// The address relative to the investigation's folder.
    href: String,
}

/// All pictures of an investigation.
pub(super) struct Pictures<'i> {
    /// The page with the tree. `None` if there are no nodes.
    pub(super) page: Option<PicturePage>,
    /// The tree as a file.
    pub(super) file: Vec<u8>,
    tree: DrawnTree<'i>,
}

impl<'i> Pictures<'i> {
    pub(super) fn of(report: &Report, assessment: &Assessment<'i>) -> Pictures<'i> {
        let href = |id: &NodeId| report.href(id);
        let tree = DrawnTree::new(assessment);
        let links = SvgOptions { href: Some(&href), has_ids: true, standalone: false };
        let file = graph::svg(&tree, &SvgOptions { standalone: true, ..links }).markup.into_bytes();
        let mut pictures = Pictures { page: None, file, tree };
        if !assessment.investigation.is_empty() {
            pictures.page = Some(pictures.page(report, assessment, &links));
        }
        pictures
    }

    /// Returns the address of a node's card, if it is in the picture.
    pub(super) fn on_graph(&self, id: &NodeId) -> Option<String> {
        self.tree.shown().any(|it| it == id).then(|| format!("graph.html#{id}"))
    }

    fn page(&self, report: &Report, assessment: &Assessment<'i>, options: &SvgOptions<'_>) -> PicturePage {
        let rows: HashMap<&NodeId, &OutlineRow> =
            report.outline.iter().map(|row| (&row.card.id, row)).collect();
        let place = |id: &NodeId| GraphLink {
            label: id.to_string(),
            title: assessment.investigation.node(id).map_or_else(String::new, |node| node.name().to_owned()),
            href: self.on_graph(id).unwrap_or_else(|| format!("tree.html#{id}")),
        };
        let best = self.tree.best();
        let others: Vec<&NodeId> = self.tree.checked().filter(|id| Some(*id) != best).collect();
        PicturePage {
            drawing: Drawing::of(&graph::svg(&self.tree, options)),
            nodes: assessment.investigation.len(),
            shown: self.tree.shown().count(),
            best: best.and_then(|id| rows.get(id)).map(|row| row.card.clone()),
            best_place: best.map(place),
            has_confirmed_way: self.tree.leads_to(Way::Confirmed),
            has_doubted_way: self.tree.leads_to(Way::Doubted),
            answers: others.iter().take(MOST_ANSWERS).map(|id| place(id)).collect(),
            more_answers: others.len().saturating_sub(MOST_ANSWERS),
            outline: outline(&self.tree.shown().filter_map(|id| rows.get(id).copied()).collect::<Vec<_>>()),
            signs: signs(),
        }
    }
}

/// Returns the cards of the picture as a nested list.
fn outline(rows: &[&OutlineRow]) -> Vec<OutlineRow> {
    let row = |(at, row): (usize, &&OutlineRow)| {
        let next = rows.get(at + 1).map_or(1, |next| next.card.round);
        OutlineRow {
            has_children: next > row.card.round,
            closes: row.card.round.saturating_sub(next) as usize,
            card: row.card.clone(),
            changed: row.changed,
        }
    };
    rows.iter().enumerate().map(row).collect()
}

impl Drawing {
    fn of(svg: &graph::Svg) -> Drawing {
        let readable_width = svg.readable_width();
        Drawing { svg: SafeHtml::drawing(svg), readable_width, further_width: svg.width - readable_width }
    }
}

/// Returns the role signs by CSS class.
fn signs() -> BTreeMap<&'static str, SafeHtml> {
    graph::ROLES
        .into_iter()
        .map(|role| (graph::role_class(role), SafeHtml::drawing(&graph::sign(Some(role)))))
        .chain([("proposed", SafeHtml::drawing(&graph::sign(None)))])
        .collect()
}
