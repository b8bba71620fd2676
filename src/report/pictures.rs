//! The pictures of an investigation, with their files and the links between them.
//!
//! The first page shows the path to the answer, and each answer page shows the path to its own answer. `graph.html` shows the
//! whole graph as cards, or as an icicle if there are many nodes. Each part of an icicle has its own page in `graph/`, named
//! after its root. The pictures of the graph are also written as files: `graph.svg`, and `graph/NAME.svg` for the parts.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::model::{Card, OutlineRow, Report};
use super::templates::{SafeHtml, SharedValue};
use crate::assess::Assessment;
use crate::domain::NodeId;
use crate::graph::{self, BarPart, Drawn, Pages, PathLinks, SvgOptions, Way};
use crate::ruleset::{Role, Ruleset};

/// The maximum number of nodes listed next to the parts of a map.
const MOST_LISTED: usize = 150;
/// The maximum number of other answers linked above a picture.
const MOST_ANSWERS: usize = 6;

/// A picture on a page.
#[derive(Serialize)]
pub(super) struct Drawing {
    svg: SafeHtml,
    /// The minimum readable width, in CSS pixels.
    readable_width: f64,
    /// The remaining width up to full size, in CSS pixels.
    further_width: f64,
    /// The number of hidden nodes at deeper levels.
    hidden: usize,
}

/// The path to an answer.
#[derive(Serialize)]
pub(super) struct PathDrawing {
    /// The picture for a wide window.
    wide: SafeHtml,
    /// The picture for a phone.
    tall: SafeHtml,
    /// The map of all nodes, if there are too many for cards.
    map: Option<SafeHtml>,
    /// The number of nodes in the investigation.
    nodes: usize,
}

/// A page with a map of the investigation or of a part of it.
#[derive(Serialize)]
pub(super) struct PicturePage {
    /// The form: `cards` or `icicle`.
    kind: Drawn,
    drawing: Drawing,
    /// The number of nodes in the part shown.
    nodes: usize,
    /// The root of the part shown, or `None` for the whole graph.
    root: Option<GraphLink>,
    /// `R2.A1 to R2.A40`, if the part covers only some children of its root.
    span: Option<String>,
    /// The maps above this one, from the whole graph down.
    above: Vec<GraphLink>,
    before: Option<GraphLink>,
    after: Option<GraphLink>,
    /// The best answer.
    best: Option<SharedValue<Card>>,
    /// The place of the best answer on the maps.
    best_place: Option<GraphLink>,
    /// True if the maps show a path to a confirmed answer.
    has_confirmed_way: bool,
    /// True if the maps show a path to a contested or self-checked answer.
    has_doubted_way: bool,
    /// The places of the other checked answers on the maps.
    answers: Vec<GraphLink>,
    more_answers: usize,
    /// The nodes in list form, for a map with cards.
    outline: Vec<OutlineRow>,
    /// The parts of an icicle, with the parts that have the most answers first.
    branches: Vec<BranchRow>,
    /// The nodes that belong to no part of an icicle.
    alone: Vec<SharedValue<Card>>,
    more_alone: usize,
    /// The path of the picture file, relative to the investigation's folder.
    file: String,
    /// The symbol for each role, by CSS class. In an icicle, the signs have the same patterns as the cells.
    signs: BTreeMap<&'static str, SafeHtml>,
    /// The path of the script that maps nodes to pages. `None` if there is only one page.
    places: Option<&'static str>,
}

/// A part of a map with its own page.
#[derive(Serialize)]
struct BranchRow {
    /// The label: `R2.A1`, or `R2.A1 to R2.A40`.
    label: String,
    /// The title of the root, or empty if there are several.
    title: String,
    /// The address relative to the investigation's folder.
    href: String,
    nodes: usize,
    /// The number of nodes by kind.
    bar: Vec<BarPart>,
}

/// A link to a card on one of the pictures.
#[derive(Clone, Debug, Serialize)]
struct GraphLink {
    label: String,
    title: String,
    /// The address relative to the investigation's folder.
    href: String,
}

/// All pictures of an investigation.
pub(super) struct Pictures<'i> {
    /// The picture for the first page. `None` if there are no nodes.
    pub(super) path: Option<PathDrawing>,
    /// The pages by path. The first page is `graph.html`.
    pub(super) pages: Vec<(String, PicturePage)>,
    /// The picture files by path.
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
            .map(|(id, page)| (id.clone(), format!("{}#{id}", path_of(&names, page, "html"))))
            .collect();

        let mut files = Vec::new();
        for number in 0..names.len() {
            let root = root_of(number);
            let href = |id: &NodeId| format!("{root}{}", report.href(id));
            let page_href = |page: usize, id: &NodeId| format!("{root}{}#{id}", path_of(&names, page, "svg"));
            let options = SvgOptions {
                href: Some(&href),
                page_href: Some(&page_href),
                has_ids: true,
                standalone: Some(ruleset),
            };
            files.push((
                path_of(&names, number, "svg"),
                graph::svg(&drawn, number, &options).markup.into_bytes(),
            ));
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
        let pages =
            (0..names.len()).map(|number| (path_of(&names, number, "html"), pages.page(number))).collect();
        let mut path = PathDrawing::of(assessment, &drawn, None, PathLinks { node: &href, question: None });
        path.map = (drawn.all()[0].drawn == Drawn::Icicle).then(|| {
            let page_href = |page: usize, id: &NodeId| format!("{}#{id}", path_of(&names, page, "html"));
            let options =
                SvgOptions { href: Some(&href), page_href: Some(&page_href), ..SvgOptions::default() };
            SafeHtml::drawing(&graph::svg(&drawn, 0, &options))
        });
        Ok(Pictures { path: Some(path), pages, files, places, maps: drawn })
    }

    /// Returns the picture of the path to an answer, for the answer's page.
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

/// The script that maps each node to the page with its card. It redirects links into `graph.html` to cards on other pages.
const PLACES: &str = "graph/places.js";

struct PageModels<'a, 'i> {
    report: &'a Report,
    drawn: &'a Pages<'i>,
    names: &'a [String],
    places: &'a HashMap<NodeId, String>,
    /// The index of each node in the outline.
    rows: HashMap<&'a NodeId, usize>,
    best: Option<&'i NodeId>,
    /// The other checked answers.
    others: Vec<&'a NodeId>,
    ways: [bool; 2],
}

impl PageModels<'_, '_> {
    fn page(&self, number: usize) -> PicturePage {
        let page = &self.drawn.all()[number];
        let root = root_of(number);
        let href = |id: &NodeId| format!("{root}{}", self.report.href(id));
        let page_href =
            |page: usize, id: &NodeId| format!("{root}{}#{id}", path_of(self.names, page, "html"));
        let options =
            SvgOptions { href: Some(&href), page_href: Some(&page_href), has_ids: true, standalone: None };
        let drawing = Drawing::of(&graph::svg(self.drawn, number, &options), page.hidden);
        let (before, after) = self.drawn.neighbours(number);
        let is_cards = page.drawn == Drawn::Cards;
        let alone = if is_cards { Vec::new() } else { self.drawn.alone(page) };
        PicturePage {
            kind: page.drawn,
            drawing,
            nodes: page.shown + page.hidden,
            root: page.root.as_ref().map(|id| self.place(id)),
            span: self.drawn.span(page).map(|(first, last)| span(first, last)),
            above: self.above(number),
            before: before.map(|page| self.link(page)),
            after: after.map(|page| self.link(page)),
            best: self.best.and_then(|id| self.card(id)),
            best_place: self.best.map(|id| match self.drawn.is_on(page, id) {
                true => GraphLink {
                    href: format!("{}#{id}", path_of(self.names, number, "html")),
                    ..self.place(id)
                },
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
            file: path_of(self.names, number, "svg"),
            signs: if page.drawn == Drawn::Icicle { signs(graph::swatch) } else { signs(graph::sign) },
            places: (self.names.len() > 1).then_some(PLACES),
        }
    }

    fn card(&self, id: &NodeId) -> Option<SharedValue<Card>> {
        let row = self.rows.get(id)?;
        self.report.outline.get(*row).map(|row| row.card.clone())
    }

    /// Returns the cards on a page as a nested list.
    fn outline(&self, page: &graph::MapPage) -> Vec<OutlineRow> {
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

    fn branches(&self, page: &graph::MapPage) -> Vec<BranchRow> {
        let row = |row: graph::PartRow<'_>| {
            let is_one = row.first == row.last;
            Some(BranchRow {
                label: if is_one { row.first.to_string() } else { span(row.first, row.last) },
                title: if is_one { self.title(row.first) } else { String::new() },
                href: path_of(self.names, row.page?, "html"),
                nodes: row.nodes,
                bar: row.bar,
            })
        };
        self.drawn.rows(page).into_iter().filter_map(row).collect()
    }

    /// Returns a link to a node's card below its parent.
    fn place(&self, id: &NodeId) -> GraphLink {
        let href = self.places.get(id).cloned().unwrap_or_default();
        GraphLink { label: id.to_string(), title: self.title(id), href }
    }

    /// Returns a link to a picture.
    fn link(&self, number: usize) -> GraphLink {
        let page = &self.drawn.all()[number];
        let (label, title) = match &page.root {
            None => ("Whole graph".to_owned(), String::new()),
            Some(id) => (id.to_string(), self.title(id)),
        };
        let label = self.drawn.span(page).map_or(label, |(first, last)| span(first, last));
        GraphLink { label, title, href: path_of(self.names, number, "html") }
    }

    /// Returns links to the pictures above the given one, from the whole graph down.
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
    fn of(svg: &graph::Svg, hidden: usize) -> Drawing {
        let readable_width = svg.readable_width();
        Drawing {
            svg: SafeHtml::drawing(svg),
            readable_width,
            further_width: svg.width - readable_width,
            hidden,
        }
    }
}

/// Returns the picture for a single-page document, in which each node has a place. Returns `None` if there are no
/// nodes.
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

/// Returns the file stem of a page. A number after a second dot keeps the stem distinct from ids.
fn name(page: &graph::MapPage, report: &Report) -> String {
    let stem = match &page.root {
        None => "overview".to_owned(),
        // The stem of the node's page is unique even on file systems that ignore case.
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

/// Returns the path of a file for a picture: of its HTML page or its SVG file.
fn path_of(names: &[String], page: usize, ending: &str) -> String {
    match names.get(page) {
        Some(name) if page > 0 => format!("graph/{name}.{ending}"),
        _ => format!("graph.{ending}"),
    }
}

/// Returns the path from a picture to the investigation's folder.
fn root_of(page: usize) -> &'static str {
    if page == 0 { "" } else { "../" }
}

/// Returns the script with the ids of the nodes on each page.
fn script(drawn: &Pages<'_>, names: &[String]) -> Result<Vec<u8>, serde_json::Error> {
    let mut places: Vec<(String, Vec<&str>)> =
        (0..names.len()).map(|page| (path_of(names, page, "html"), Vec::new())).collect();
    for (id, page) in drawn.homes() {
        places[page].1.push(id.as_str());
    }
    // Ids and paths contain no characters that are special in scripts.
    Ok(format!("window.graphPlaces={};\n", serde_json::to_string(&places)?).into_bytes())
}

/// Returns the role signs by CSS class.
fn signs(sign: fn(Option<Role>) -> graph::Svg) -> BTreeMap<&'static str, SafeHtml> {
    graph::ROLES
        .into_iter()
        .map(|role| (graph::role_class(role), SafeHtml::drawing(&sign(Some(role)))))
        .chain([("proposed", SafeHtml::drawing(&sign(None)))])
        .collect()
}
