//! The pages put together: from inputs to a map of relative path to bytes.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::history::HistoryPage;
use super::model::{Card, Header, Judged, NodeView, OutlineRow, Overview, References, Report, StateCount};

use super::templates::{SafeHtml, Shared, Templates};
use super::{Input, ReportError, json, search};
use crate::domain::{Investigation, NodeId};
use crate::graph::{self, SvgOptions};
use crate::ruleset::schema::{End, VERSION};
use crate::ruleset::{Role, Ruleset, State, Terms};

/// What every page allows itself: its own files, and nothing else. In a `meta` element, so that it holds on
/// `file://` and on hosts that send no such header.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
     img-src 'self' data:; base-uri 'none'; form-action 'none'";

/// Cards of a graph that fit the first page.
const FITS_A_PAGE: usize = 150;
/// Nodes that stand whole in the print.
const MOST_PRINTED: usize = 1_000;

/// The whole site, as a map of relative path to bytes. Pure, and the same for the same input.
///
/// One investigation has its pages at the root; several have a folder each, named by their ids, and an index.
///
/// # Errors
///
/// A template that fails, or one investigation that was given twice.
pub fn site(inputs: &[Input], templates: &Templates) -> Result<BTreeMap<String, Vec<u8>>, ReportError> {
    let mut seen = BTreeSet::new();
    for input in inputs {
        let id = input.snapshot.investigation.meta().id;
        if !seen.insert(id) {
            return Err(ReportError::Twice(id));
        }
    }
    let mut files = templates.assets().clone();
    let about = Site { generator: templates.generator(), several: inputs.len() != 1 };
    if let [input] = inputs {
        pages(input, "", about, templates, &mut files)?;
        return Ok(files);
    }
    let mut headers = Vec::with_capacity(inputs.len());
    for input in inputs {
        let folder = format!("{}/", input.snapshot.investigation.meta().id);
        headers.push(pages(input, &folder, about, templates, &mut files)?);
    }
    // The newest first: ids sort by time only when this program made them.
    headers.sort_by(|a, b| (&b.started_at.iso, &b.id).cmp(&(&a.started_at.iso, &a.id)));
    let page = Page { kind: "sites", root: "", site_root: "", title: "Investigations", description: "" };
    let index = SitesPage { site: about, page, investigations: &headers };
    files.insert("index.html".to_owned(), templates.render("sites.html", &index)?);
    Ok(files)
}

/// What every page knows of the site.
#[derive(Clone, Copy, Serialize)]
struct Site<'a> {
    generator: &'a str,
    /// Whether there is an index above the investigations.
    several: bool,
}

/// What a page knows of itself.
#[derive(Clone, Copy, Serialize)]
struct Page<'a> {
    /// Which page it is: for the navigation.
    kind: &'a str,
    /// From the page to its investigation's folder: empty, or `../`.
    root: &'a str,
    /// From the page to the folder of the site.
    site_root: &'a str,
    title: &'a str,
    /// A line for search engines and previews; empty for none.
    description: &'a str,
}

#[derive(Serialize)]
struct SitesPage<'a> {
    site: Site<'a>,
    page: Page<'a>,
    investigations: &'a [Header],
}

/// One page of an investigation. Each template reads what is its own; the rest is absent.
#[derive(Serialize)]
struct InvestigationPage<'a, T: Serialize> {
    site: Site<'a>,
    page: Page<'a>,
    investigation: &'a Shared,
    #[serde(flatten)]
    content: T,
}

#[derive(Serialize)]
struct OverviewContent<'a> {
    overview: &'a Overview,
    graph: &'a Option<Drawing>,
}

#[derive(Serialize)]
struct GraphContent<'a> {
    graph: &'a Option<Drawing>,
    states: &'a [StateCount],
}

#[derive(Serialize)]
struct TreeContent<'a> {
    outline: &'a [OutlineRow],
    states: &'a [StateCount],
}

#[derive(Serialize)]
struct PrintContent<'a> {
    overview: &'a Overview,
    graph: &'a Option<Drawing>,
    outline: &'a [OutlineRow],
    nodes: Vec<PrintNode<'a>>,
    references: &'a References,
    judged: &'a Judged,
    /// How many nodes stand in it by their title alone.
    in_short: usize,
}

/// A node in the print.
#[derive(Serialize)]
struct PrintNode<'a> {
    card: &'a Card,
    /// All of it; absent where its title stands alone.
    node: Option<&'a NodeView>,
}

#[derive(Serialize)]
struct NodeContent<'a> {
    node: &'a NodeView,
}

#[derive(Serialize)]
struct ReferencesContent<'a> {
    references: &'a References,
}

#[derive(Serialize)]
struct HistoryContent<'a> {
    history: HistoryPage<'a>,
}

#[derive(Serialize)]
struct JudgedContent<'a> {
    judged: &'a Judged,
}

/// The graph on a page.
#[derive(Serialize)]
struct Drawing {
    svg: SafeHtml,
    /// How many nodes lie deeper than it goes.
    hidden: usize,
}

impl Drawing {
    /// The picture; `None` where there is nothing to draw.
    fn of(investigation: &Investigation, terms: &Terms<'_>, options: &SvgOptions<'_>) -> Option<Drawing> {
        investigation.nodes().next()?;
        let svg = graph::svg(investigation, terms, options);
        Some(Drawing { hidden: svg.hidden, svg: SafeHtml::drawing(&svg) })
    }
}

/// How deep the picture on the first page goes; `None` for all of it. A page is no place for a wall.
fn shallow(investigation: &Investigation) -> Option<u32> {
    let rounds: Vec<u32> = investigation.nodes().map(|node| node.round()).collect();
    // By round, so that the round of the last one that fits is the deepest that may be begun.
    let beyond = *rounds.get(FITS_A_PAGE)?;
    Some(beyond.saturating_sub(1).max(2))
}

/// The pages of one investigation, with `folder` (empty, or ending in `/`) before their paths.
fn pages(
    input: &Input,
    folder: &str,
    site: Site<'_>,
    templates: &Templates,
    files: &mut BTreeMap<String, Vec<u8>>,
) -> Result<Header, ReportError> {
    let report = Report::of(input);
    let investigation = input.snapshot.investigation.as_ref();
    let fallback;
    let ruleset = match &input.snapshot.ruleset {
        Ok(file) => &file.ruleset,
        Err(_) => {
            fallback = states_alone(investigation);
            &fallback
        }
    };
    let terms = Terms::new(ruleset, investigation.meta());
    let href = |id: &NodeId| report.href(id);
    let options = SvgOptions { href: Some(&href), ..SvgOptions::default() };
    let whole = Drawing::of(investigation, &terms, &options);
    let in_short =
        Drawing::of(investigation, &terms, &SvgOptions { max_depth: shallow(investigation), ..options });
    let file = graph::svg(investigation, &terms, &SvgOptions { standalone: true, ..options });
    let header = Shared::of(&report.header);
    let site_root = if folder.is_empty() { "" } else { "../" };
    let deep_site_root = format!("../{site_root}");
    let title = report.header.title.as_str();

    let page = |kind, title| Page { kind, root: "", site_root, title, description: "" };
    let mut put = |path: &str, bytes: Vec<u8>| files.insert(format!("{folder}{path}"), bytes);
    let render = |template: &str, page: Page<'_>, content: Content<'_>| {
        templates.render(template, &InvestigationPage { site, page, investigation: &header, content })
    };
    let description = report.header.query_excerpt.as_str();
    let overview = Content::Overview(OverviewContent { overview: &report.overview, graph: &in_short });
    put("index.html", render("overview.html", Page { description, ..page("overview", title) }, overview)?);
    let tree = Content::Tree(TreeContent { outline: &report.outline, states: &report.judged.states });
    put("tree.html", render("tree.html", page("tree", "Tree"), tree)?);
    let graph = GraphContent { graph: &whole, states: &report.judged.states };
    put("graph.html", render("graph.html", page("graph", "Graph"), Content::Graph(graph))?);
    let references = Content::References(ReferencesContent { references: &report.references });
    put("references.html", render("references.html", page("references", "References"), references)?);
    for (file, history) in report.history.pages() {
        let content = Content::History(HistoryContent { history });
        put(&file, render("history.html", page("history", "History"), content)?);
    }
    let judged = Content::Judged(JudgedContent { judged: &report.judged });
    put("judged.html", render("judged.html", page("judged", "How it was judged"), judged)?);
    for node in &report.nodes {
        let heading = format!("{} {}", node.card.id, node.card.title);
        let page = Page {
            kind: "node",
            root: "../",
            site_root: &deep_site_root,
            title: &heading,
            description: &node.card.excerpt,
        };
        put(&node.card.href, render("node.html", page, Content::Node(NodeContent { node }))?);
    }
    let print = Content::Print(print(&report, &in_short));
    put("print.html", render("print.html", page("print", "The whole investigation"), print)?);
    put("search-data.js", search::file(input, &report, &format!("{folder}search-data.js"))?);
    put("graph.svg", file.markup.into_bytes());
    put("graph.dot", graph::dot(investigation, ruleset).into_bytes());
    put("graph.mmd", graph::mermaid(investigation, ruleset).into_bytes());
    put("investigation.json", json::file(input, &report.cited, &format!("{folder}investigation.json"))?);
    if let Ok(file) = &input.snapshot.ruleset {
        put("ruleset.yaml", file.text.clone().into_bytes());
    }
    Ok(report.header)
}

/// The investigation as one document. A very large one has there what the answers rest on, and the rest by title.
fn print<'a>(report: &'a Report, graph: &'a Option<Drawing>) -> PrintContent<'a> {
    let all = report.nodes.len() <= MOST_PRINTED;
    let mut kept: BTreeSet<&str> = BTreeSet::new();
    if !all {
        let answers = report.nodes.iter().filter(|node| node.card.verified.is_some());
        for node in answers {
            let rests_on = [&node.path, &node.verified_by].into_iter().flatten().chain([&node.card]);
            kept.extend(rests_on.map(|card| card.id.as_str()).take(MOST_PRINTED.saturating_sub(kept.len())));
        }
    }
    let nodes: Vec<PrintNode<'_>> = report
        .nodes
        .iter()
        .map(|node| {
            let whole = all || kept.contains(node.card.id.as_str());
            PrintNode { card: &node.card, node: whole.then_some(node) }
        })
        .collect();
    PrintContent {
        overview: &report.overview,
        graph,
        outline: &report.outline,
        in_short: nodes.iter().filter(|node| node.node.is_none()).count(),
        nodes,
        references: &report.references,
        judged: &report.judged,
    }
}

/// What one of the pages shows.
#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Overview(OverviewContent<'a>),
    Graph(GraphContent<'a>),
    Tree(TreeContent<'a>),
    Print(PrintContent<'a>),
    Node(NodeContent<'a>),
    References(ReferencesContent<'a>),
    History(HistoryContent<'a>),
    Judged(JudgedContent<'a>),
}

/// A ruleset that knows only the names of the states, so that a tree can be drawn whose rules can't be read.
fn states_alone(investigation: &Investigation) -> Ruleset {
    let names: BTreeSet<_> = investigation.committed().map(|(_, state)| state).collect();
    let state = |name: &crate::domain::StateName| State {
        name: name.clone(),
        meaning: String::new(),
        role: Role::Open,
        colour: "lightgray".to_owned(),
        terminal: false,
        children: Vec::new(),
        child_states: None,
    };
    Ruleset {
        version: VERSION,
        name: investigation.meta().ruleset.clone(),
        summary: String::new(),
        advice: None,
        states: names.into_iter().map(state).collect(),
        roots: Default::default(),
        batch_limit: None,
        breadth: None,
        early_states: Vec::new(),
        evidence: None,
        terminal_ratio: None,
        confirmations: Vec::new(),
        checks: Default::default(),
        end: End { min_rounds: 1, min_depth: None, min_quality_percent: None },
        allow_early_terminal_below: None,
        modes: Vec::new(),
    }
}
