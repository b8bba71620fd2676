//! The pictures of one investigation: which there are, where they lie and how they lead to each other.
//!
//! The first page has the path to the answer, and the page of an answer the path to that. `graph.html` has the map of the whole:
//! cards or an icicle, by how many nodes there are. Each part of an icicle has a page of its own in `graph/`, named after its root.
//! Each page has its picture as a file, too: `graph.svg`, and `graph/NAME.svg` for the parts.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::model::{Card, OutlineRow, Report};
use super::templates::{SafeHtml, SharedValue};
use crate::assess::Assessment;
use crate::domain::NodeId;
use crate::graph::{self, BarPart, Drawn, Pages, PathLinks, SvgOptions, Way};
use crate::ruleset::{Role, Ruleset};

/// Nodes of a map that are listed beside its parts.
const MOST_LISTED: usize = 150;
/// Ways to checked answers that are offered above a picture.
const MOST_ANSWERS: usize = 6;

/// A picture on a page.
#[derive(Serialize)]
pub(super) struct Drawing {
    svg: SafeHtml,
    /// How wide it is at its own size, in CSS pixels: as much as it must have to be read, and the rest.
    readable_width: f64,
    further_width: f64,
    /// How many nodes have cards, and how many more lie further down.
    shown: usize,
    hidden: usize,
}

/// The path to an answer.
#[derive(Serialize)]
pub(super) struct PathDrawing {
    /// For a window, and for a phone.
    wide: SafeHtml,
    tall: SafeHtml,
    /// The map of the whole, where one of cards would be too large.
    map: Option<SafeHtml>,
    /// The number of nodes.
    nodes: usize,
}

/// A page with a map: of the whole investigation, or of a part of one.
#[derive(Serialize)]
pub(super) struct PicturePage {
    /// Its form: `cards` or `icicle`.
    kind: &'static str,
    drawing: Drawing,
    /// The number of nodes it is about.
    nodes: usize,
    /// The root of its part; absent for the whole.
    root: Option<GraphLink>,
    /// `R2.A1 to R2.A40`, where it has a part of what is below its root.
    span: Option<String>,
    /// The way from the whole graph to the map of which this is a part.
    above: Vec<GraphLink>,
    before: Option<GraphLink>,
    after: Option<GraphLink>,
    /// The best answer of all, and where it is on the maps.
    best: Option<SharedValue<Card>>,
    best_place: Option<GraphLink>,
    /// Whether the way to a confirmed answer is on the maps, and to one that is contested or self-checked.
    has_confirmed_way: bool,
    has_doubted_way: bool,
    /// Where the other answers are that a node confirms.
    answers: Vec<GraphLink>,
    more_answers: usize,
    /// All nodes of a map of cards, as a list.
    outline: Vec<OutlineRow>,
    /// The parts of any other, those with most answers first.
    branches: Vec<BranchRow>,
    /// The nodes of such a map that are in no part of it.
    alone: Vec<SharedValue<Card>>,
    more_alone: usize,
    /// The picture as a file, in the investigation's folder.
    file: String,
    /// The signs of the roles, by class; of an icicle with the patterns of its cells.
    signs: BTreeMap<&'static str, SafeHtml>,
    /// A script that says on which page a node is; absent where all are on this one.
    places: Option<&'static str>,
}

/// A part of a map that has a page of its own.
#[derive(Serialize)]
struct BranchRow {
    /// Where it begins.
    id: String,
    /// `R2.A1`, or `R2.A1 to R2.A40`.
    label: String,
    /// The title of a branch; empty for several.
    title: String,
    /// In the investigation's folder.
    href: String,
    nodes: usize,
    /// What they are.
    bar: Vec<BarPart>,
}

/// A card on one of the pictures.
#[derive(Clone, Debug, Serialize)]
struct GraphLink {
    label: String,
    title: String,
    /// In the investigation's folder.
    href: String,
}

/// All pictures of an investigation.
pub(super) struct Pictures<'i> {
    /// For the first page; absent if there is nothing to draw.
    pub(super) path: Option<PathDrawing>,
    /// The pages, by path: the first is `graph.html`.
    pub(super) pages: Vec<(String, PicturePage)>,
    /// The files, by path.
    pub(super) files: Vec<(String, Vec<u8>)>,
    /// The address of each node's card, relative to the investigation's folder.
    places: HashMap<NodeId, String>,
    maps: Pages<'i>,
}

impl<'i> Pictures<'i> {
    pub(super) fn of(
        report: &Report,
        assessment: &Assessment<'i>,
        ruleset: &Ruleset,
    ) -> Result<Pictures<'i>, serde_json::Error> {
        let investigation = assessment.investigation;
        let href = |id: &NodeId| report.href(id);
        let drawn = Pages::new(assessment);
        let names: Vec<String> = drawn.all().iter().map(|page| name(page, report)).collect();
        let places: HashMap<NodeId, String> = drawn
            .homes()
            .map(|(id, page)| (id.clone(), format!("{}#{id}", page_path(&names, page))))
            .collect();

        let mut files = Vec::new();
        for number in 0..names.len() {
            let root = root_of(number);
            let href = |id: &NodeId| format!("{root}{}", report.href(id));
            let page_href = |page: usize, id: &NodeId| format!("{root}{}#{id}", file_path(&names, page));
            let options = SvgOptions {
                href: Some(&href),
                page_href: Some(&page_href),
                has_ids: true,
                standalone: Some(ruleset),
            };
            files.push((file_path(&names, number), graph::svg(&drawn, number, &options).markup.into_bytes()));
        }
        if investigation.nodes().next().is_none() {
            return Ok(Pictures { path: None, pages: Vec::new(), files, places, maps: drawn });
        }
        if names.len() > 1 {
            files.push((PLACES.to_owned(), script(&drawn, &names)?));
        }
        let rows = report.outline.iter().enumerate().map(|(at, row)| (&row.card.id, at)).collect();
        let best = drawn.best();
        let others = drawn.checked().filter(|id| Some(*id) != best).collect();
        let ways = [Way::Confirmed, Way::Doubted].map(|way| drawn.leads_to(way));
        let pages =
            PageModels { report, drawn: &drawn, names: &names, places: &places, rows, best, others, ways };
        let pages = (0..names.len()).map(|number| (page_path(&names, number), pages.page(number))).collect();
        let mut path = PathDrawing::of(assessment, &drawn, None, PathLinks { node: &href, question: None });
        path.map = (drawn.all()[0].drawn == Drawn::Icicle).then(|| {
            let page_href = |page: usize, id: &NodeId| format!("{}#{id}", page_path(&names, page));
            let options =
                SvgOptions { href: Some(&href), page_href: Some(&page_href), ..SvgOptions::default() };
            SafeHtml::drawing(&graph::svg(&drawn, 0, &options))
        });
        Ok(Pictures { path: Some(path), pages, files, places, maps: drawn })
    }

    /// The path to an answer, for its page.
    pub(super) fn path_to(
        &self,
        answer: &NodeId,
        report: &Report,
        assessment: &Assessment<'_>,
    ) -> PathDrawing {
        let href = |id: &NodeId| format!("../{}", report.href(id));
        let links = PathLinks { node: &href, question: Some("../index.html") };
        PathDrawing::of(assessment, &self.maps, Some(answer), links)
    }

    /// Returns the address of a node's card.
    pub(super) fn on_graph(&self, id: &NodeId) -> &str {
        self.places.get(id).map_or("graph.html", String::as_str)
    }
}

/// Says on which page each node's card is, for a link into `graph.html` that names one which isn't there.
const PLACES: &str = "graph/places.js";

struct PageModels<'a, 'i> {
    report: &'a Report,
    drawn: &'a Pages<'i>,
    names: &'a [String],
    places: &'a HashMap<NodeId, String>,
    /// Where each node stands in the outline.
    rows: HashMap<&'a NodeId, usize>,
    best: Option<&'i NodeId>,
    /// The other answers that a node confirms.
    others: Vec<&'a NodeId>,
    ways: [bool; 2],
}

impl PageModels<'_, '_> {
    fn page(&self, number: usize) -> PicturePage {
        let page = &self.drawn.all()[number];
        let root = root_of(number);
        let href = |id: &NodeId| format!("{root}{}", self.report.href(id));
        let page_href = |page: usize, id: &NodeId| format!("{root}{}#{id}", page_path(self.names, page));
        let options =
            SvgOptions { href: Some(&href), page_href: Some(&page_href), has_ids: true, standalone: None };
        let drawing = Drawing::of(&graph::svg(self.drawn, number, &options), page.shown, page.hidden);
        let (before, after) = self.drawn.neighbours(number);
        let is_cards = page.drawn == Drawn::Cards;
        let alone = if is_cards { Vec::new() } else { self.drawn.alone(page) };
        PicturePage {
            kind: match page.drawn {
                Drawn::Cards => "cards",
                Drawn::Icicle => "icicle",
            },
            drawing,
            nodes: page.shown + page.hidden,
            root: page.root.as_ref().map(|id| self.place(id)),
            span: self.drawn.span(page).map(|(first, last)| span(first, last)),
            above: self.above(number),
            before: before.map(|page| self.link(page)),
            after: after.map(|page| self.link(page)),
            best: self.best.and_then(|id| self.card(id)),
            best_place: self.best.map(|id| match self.drawn.is_on(page, id) {
                true => {
                    GraphLink { href: format!("{}#{id}", page_path(self.names, number)), ..self.place(id) }
                }
                false => self.place(id),
            }),
            has_confirmed_way: self.ways[0],
            has_doubted_way: self.ways[1],
            answers: self.others.iter().take(MOST_ANSWERS).map(|id| self.place(id)).collect(),
            more_answers: self.others.len().saturating_sub(MOST_ANSWERS),
            outline: if is_cards { self.outline(page) } else { Vec::new() },
            branches: self.branches(page),
            more_alone: alone.len().saturating_sub(MOST_LISTED),
            alone: alone.into_iter().take(MOST_LISTED).filter_map(|id| self.card(id)).collect(),
            file: file_path(self.names, number),
            signs: if page.drawn == Drawn::Icicle { signs(graph::swatch) } else { signs(graph::sign) },
            places: (self.names.len() > 1).then_some(PLACES),
        }
    }

    fn card(&self, id: &NodeId) -> Option<SharedValue<Card>> {
        let row = self.rows.get(id)?;
        self.report.outline.get(*row).map(|row| row.card.clone())
    }

    /// The cards of a page as a nested list.
    fn outline(&self, page: &graph::PicturePage) -> Vec<OutlineRow> {
        let rows: Vec<&OutlineRow> =
            self.drawn.shown(page).filter_map(|id| self.report.outline.get(*self.rows.get(id)?)).collect();
        let first = rows.first().map_or(1, |row| row.card.round);
        let row = |(at, row): (usize, &&OutlineRow)| {
            let next = rows.get(at + 1).map_or(first, |next| next.card.round);
            OutlineRow {
                has_children: next > row.card.round,
                closes: row.card.round.saturating_sub(next) as usize,
                bar: Vec::new(),
                card: row.card.clone(),
            }
        };
        rows.iter().enumerate().map(row).collect()
    }

    fn branches(&self, page: &graph::PicturePage) -> Vec<BranchRow> {
        let row = |row: graph::PartRow<'_>| {
            let is_one = row.first == row.last;
            Some(BranchRow {
                id: row.first.to_string(),
                label: if is_one { row.first.to_string() } else { span(row.first, row.last) },
                title: if is_one { self.title(row.first) } else { String::new() },
                href: page_path(self.names, row.page?),
                nodes: row.nodes,
                bar: row.bar,
            })
        };
        self.drawn.rows(page).into_iter().filter_map(row).collect()
    }

    /// A node's card, where it stands below its parent.
    fn place(&self, id: &NodeId) -> GraphLink {
        let href = self.places.get(id).cloned().unwrap_or_default();
        GraphLink { label: id.to_string(), title: self.title(id), href }
    }

    /// The way to a picture.
    fn link(&self, number: usize) -> GraphLink {
        let page = &self.drawn.all()[number];
        let (label, title) = match &page.root {
            None => ("Whole graph".to_owned(), String::new()),
            Some(id) => (id.to_string(), self.title(id)),
        };
        let label = self.drawn.span(page).map_or(label, |(first, last)| span(first, last));
        GraphLink { label, title, href: page_path(self.names, number) }
    }

    /// The pictures from the whole graph down to the one that this one was cut off.
    fn above(&self, number: usize) -> Vec<GraphLink> {
        let up = |number: &usize| self.drawn.all().get(*number).and_then(|page| page.up);
        let mut above: Vec<GraphLink> =
            std::iter::successors(up(&number), up).map(|number| self.link(number)).collect();
        above.reverse();
        above
    }

    fn title(&self, id: &NodeId) -> String {
        self.drawn.title(id).unwrap_or_default().to_owned()
    }
}

impl Drawing {
    fn of(svg: &graph::Svg, shown: usize, hidden: usize) -> Drawing {
        let readable_width = svg.readable_width();
        Drawing {
            svg: SafeHtml::drawing(svg),
            readable_width,
            further_width: svg.width - readable_width,
            shown,
            hidden,
        }
    }
}

/// The picture of one document, in which each node has a place; absent where there is nothing to draw.
pub(super) fn of_document(
    assessment: &Assessment<'_>,
    href: &dyn Fn(&NodeId) -> String,
) -> Option<PathDrawing> {
    assessment.investigation.nodes().next()?;
    let links = PathLinks { node: href, question: None };
    Some(PathDrawing::of(assessment, &Pages::nodes_only(assessment), None, links))
}

impl PathDrawing {
    fn of(
        assessment: &Assessment<'_>,
        pages: &Pages<'_>,
        to: Option<&NodeId>,
        links: PathLinks<'_>,
    ) -> PathDrawing {
        let drawn = graph::path(assessment, pages, to, links);
        PathDrawing {
            wide: SafeHtml::drawing(&drawn.wide),
            tall: SafeHtml::drawing(&drawn.tall),
            map: None,
            nodes: assessment.investigation.len(),
        }
    }
}

/// The name of a page's files: unlike ids it may hold a second dot, so that no two are the same.
fn name(page: &graph::PicturePage, report: &Report) -> String {
    let stem = match &page.root {
        None => "overview".to_owned(),
        // Named like the node's page, whose name is unique on file systems that ignore case, too.
        Some(root) => {
            let href = report.href(root);
            href.trim_start_matches("nodes/").trim_end_matches(".html").to_owned()
        }
    };
    page.group.map_or(stem.clone(), |group| format!("{stem}.{group}"))
}

fn span(first: &NodeId, last: &NodeId) -> String {
    format!("{first} to {last}")
}

/// The path of the HTML page with that picture.
fn page_path(names: &[String], page: usize) -> String {
    match names.get(page) {
        Some(name) if page > 0 => format!("graph/{name}.html"),
        _ => "graph.html".to_owned(),
    }
}

/// The path of the SVG file with that picture.
fn file_path(names: &[String], page: usize) -> String {
    match names.get(page) {
        Some(name) if page > 0 => format!("graph/{name}.svg"),
        _ => "graph.svg".to_owned(),
    }
}

/// The path from that picture to the investigation's folder.
fn root_of(page: usize) -> &'static str {
    if page == 0 { "" } else { "../" }
}

/// The pages with the ids of the nodes on each.
fn script(drawn: &Pages<'_>, names: &[String]) -> Result<Vec<u8>, serde_json::Error> {
    let mut places: Vec<(String, Vec<&str>)> =
        (0..names.len()).map(|page| (page_path(names, page), Vec::new())).collect();
    for (id, page) in drawn.homes() {
        places[page].1.push(id.as_str());
    }
    // Ids and paths hold no character that has a meaning in a script.
    Ok(format!("window.graphPlaces={};\n", serde_json::to_string(&places)?).into_bytes())
}

/// By class, as `sign` draws them.
fn signs(sign: fn(Option<Role>) -> graph::Svg) -> BTreeMap<&'static str, SafeHtml> {
    graph::ROLES
        .into_iter()
        .map(|role| (graph::role_class(role), SafeHtml::drawing(&sign(Some(role)))))
        .chain([("proposed", SafeHtml::drawing(&sign(None)))])
        .collect()
}
