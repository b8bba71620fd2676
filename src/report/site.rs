//! Assembles the pages from the inputs, as a map of relative paths to bytes.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde::Serialize;

use super::address::IssueUrl;
use super::attachments::{data_url, pictures_within};
use super::challenge::{Challenge, challenge};
use super::compare::{self, CompareView, Comparison};
use super::ends::{self, BetweenEnds};
use super::export::SingleFile;
use super::history::{CommitEntry, HistoryPage};
use super::model::{
    AmendedConclusionHtml, BlockerView, Card, Header, Judged, NodePage, OutlineRow, Overview, References,
    ReferencesPage, Report, RowView, SignOffsView, StateCount,
};
use super::page_head::PageHead;
use super::pictures::{PicturePage, Pictures};
use super::sites::{SiteEntry, SitesView, UnreadableInvestigation};
use super::templates::{SharedValue, Templates};
use super::text_links::{From, TextLinks};
use super::{ReportError, ReportInput, json, search};
use crate::assess::Assessment;
use crate::domain::{Investigation, NodeId};
use crate::graph;
use crate::ruleset::rules::EndRules;
use crate::ruleset::rules::states::as_words;
use crate::ruleset::schema::VERSION;
use crate::ruleset::{EffectiveRules, Role, Ruleset, State};
use crate::text::escape;

/// The policy of every page, which allows only files from the site to be loaded. It is set in a `meta` element, so it
/// also applies to `file://` pages and on hosts that don't send headers.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
     img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'";

/// The page that forges and `--serve` show for an address that does not exist.
pub(super) const NOT_FOUND: &str = "404.html";
/// The script for served pages only.
pub const RELOAD_SCRIPT: &str = "assets/reload.js";
/// The maximum number of nodes shown in full in a single-file report. With 10,000 nodes, the file would be too large to email.
const MOST_IN_ONE_FILE: usize = 2_000;
/// The maximum number of nodes shown in full on the print page.
const MOST_PRINTED: usize = 1_000;
/// The maximum number of commits on the print page.
const MOST_COMMITS: usize = 300;

/// Receives a file of the site: its relative path and its bytes. A later file replaces an earlier file with the same
/// path.
pub type Put<'p> = dyn FnMut(&str, Vec<u8>) -> Result<(), ReportError> + 'p;

/// Builds a site one investigation at a time, so only one needs to be in memory. Several threads may share a builder.
#[derive(Debug)]
pub struct Builder<'t> {
    templates: &'t Templates,
    several: bool,
}

impl<'t> Builder<'t> {
    /// Creates a builder. With several investigations, each has a folder, and there is an index.
    pub fn new(templates: &'t Templates, several: bool) -> Builder<'t> {
        Builder { templates, several }
    }

    /// Builds the shared files. Call this first.
    ///
    /// # Errors
    ///
    /// Returns an error if `put` fails.
    pub fn assets(&self, put: &mut Put<'_>) -> Result<(), ReportError> {
        let is_served = self.templates.options().live;
        let wanted = |path: &&String| is_served || *path != RELOAD_SCRIPT;
        for path in self.templates.assets().keys().filter(wanted) {
            put(path, self.templates.assets()[path].clone())?;
        }
        Ok(())
    }

    /// Builds the files of one investigation. `progress` receives the number of finished node pages and the total number of
    /// node pages.
    ///
    /// The files depend only on the input, the templates and the options, never on another investigation. `shown` identifies
    /// the state to served pages.
    ///
    /// # Errors
    ///
    /// Returns an error if a template or `put` fails.
    pub fn investigation(
        &self,
        input: &ReportInput,
        comparison: Option<&Comparison>,
        shown: &str,
        progress: &mut dyn FnMut(usize, usize),
        put: &mut Put<'_>,
    ) -> Result<SiteEntry, ReportError> {
        let id = input.snapshot.investigation.meta().id;
        let folder = if self.several { format!("{id}/") } else { String::new() };
        let comparison = comparison.filter(|_| !self.several);
        let site = Site { compared: comparison.is_some(), ..self.site(shown) };
        pages(input, &folder, comparison, site, self.templates, progress, put)
    }

    /// Builds the index, and the page for addresses that do not exist.
    ///
    /// # Errors
    ///
    /// Returns an error if a template or `put` fails.
    pub fn rest(
        &self,
        mut entries: Vec<SiteEntry>,
        unreadable: &[UnreadableInvestigation],
        shown: &str,
        put: &mut Put<'_>,
    ) -> Result<(), ReportError> {
        put(NOT_FOUND, self.not_found().into_bytes())?;
        if !self.several {
            return Ok(());
        }
        let sites = SitesView::of(&mut entries, unreadable);
        let page =
            PageInfo { kind: "sites", root: "", site_root: "", title: "Investigations", description: "" };
        let head = PageHead::index(self.templates.options().base_url.as_ref());
        let index = SitesPage { site: self.site(shown), page, head, sites: &sites };
        put("index.html", self.templates.render("sites.html", &index)?)
    }

    /// Returns the page for addresses that do not exist. It may be shown at any depth, so it has no relative links.
    fn not_found(&self) -> String {
        let options = self.templates.options();
        let root = options.base_url.as_ref().map(|base| base.of("index.html"));
        let next = match root.or_else(|| options.live.then(|| "/".to_owned())) {
            Some(root) => format!("<a href=\"{}\">First page</a>", escape(&root)),
            None => "Go back, or shorten the address.".to_owned(),
        };
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>Page not found</title>\n\
             <style>body{{font:1rem/1.6 system-ui,sans-serif;max-width:40rem;margin:4rem auto;padding:0 1rem}}</style>\n<main><h1>Page not found</h1>\n<p>{next}</p></main>\n</html>\n"
        )
    }

    /// Returns the site data for the pages.
    pub(super) fn site<'s>(&'s self, shown: &'s str) -> Site<'s> {
        let options = self.templates.options();
        Site {
            generator: concat!("Tree of Thoughts ", env!("CARGO_PKG_VERSION")),
            several: self.several,
            tabs: TABS,
            compared: false,
            live: options.live.then_some(shown),
        }
    }
}

/// A tab in the navigation of an investigation.
#[derive(Serialize)]
pub(super) struct Tab {
    /// The path of its first page.
    file: &'static str,
    label: &'static str,
    /// The kinds of its pages, that of its first page first.
    kinds: &'static [&'static str],
}

/// The tabs of an investigation, in order.
const TABS: &[Tab] = &[
    Tab { file: "index.html", label: "Answer", kinds: &["overview"] },
    Tab { file: "tree.html", label: "Steps", kinds: &["tree", "graph", "node"] },
    Tab { file: "references.html", label: "Evidence", kinds: &["references"] },
    Tab { file: "history.html", label: "History", kinds: &["history", "ends"] },
    Tab { file: "judged.html", label: "Rules", kinds: &["judged"] },
];

/// The data about the site, for every page.
#[derive(Clone, Copy, Serialize)]
pub(super) struct Site<'a> {
    /// The name and version of the program, for the footer.
    pub(super) generator: &'a str,
    /// True if there is an index of several investigations.
    pub(super) several: bool,
    /// The tabs of an investigation, without the page comparing two commits.
    pub(super) tabs: &'static [Tab],
    /// True if there is a page comparing two commits.
    pub(super) compared: bool,
    /// The digest of the state shown, for served pages.
    pub(super) live: Option<&'a str>,
}

/// The data about the page itself.
#[derive(Clone, Copy, Serialize)]
pub(super) struct PageInfo<'a> {
    /// The kind of page, for the navigation.
    pub(super) kind: &'a str,
    /// The path to the investigation's folder: empty, or `../`.
    pub(super) root: &'a str,
    /// The path to the site's folder.
    pub(super) site_root: &'a str,
    pub(super) title: &'a str,
    /// One line for search engines and previews, possibly empty.
    pub(super) description: &'a str,
}

#[derive(Serialize)]
struct SitesPage<'a> {
    site: Site<'a>,
    page: PageInfo<'a>,
    head: PageHead,
    sites: &'a SitesView<'a>,
}

/// The template context of an investigation page. Only the data that the template uses is set.
#[derive(Serialize)]
struct InvestigationPage<'a, T: Serialize> {
    site: Site<'a>,
    page: PageInfo<'a>,
    head: PageHead,
    investigation: &'a SharedValue<Header>,
    #[serde(flatten)]
    content: T,
}

/// The data of one kind of page.
#[derive(Serialize)]
#[serde(untagged)]
enum PageContent<'a> {
    Overview {
        overview: &'a Overview,
        sign_offs: &'a SignOffsView,
        /// The prepared objections to the best answer.
        challenge: Option<Challenge>,
    },
    Graph {
        graph: Option<&'a PicturePage>,
        states: &'a [StateCount],
    },
    Tree {
        outline: &'a [OutlineRow],
        states: &'a [StateCount],
    },
    Print(PrintContent<'a>),
    Node {
        node: &'a NodePage,
        /// The address of the node's card on the graph.
        on_graph: Option<String>,
        /// The row of an answer on the first page, with its checks.
        standing: Option<&'a RowView>,
        /// The prepared objections, or `None` for a proposal.
        challenge: Option<Challenge>,
    },
    References {
        references: ReferencesPage<'a>,
    },
    History {
        history: HistoryPage<'a>,
        conclusions: EarlierConclusions<'a>,
    },
    Judged {
        judged: &'a Judged,
    },
    Compare {
        compare: &'a CompareView,
    },
}

#[derive(Serialize)]
struct PrintContent<'a> {
    overview: &'a Overview,
    sign_offs: &'a SignOffsView,
    conclusions: EarlierConclusions<'a>,
    outline: &'a [OutlineRow],
    nodes: Vec<PrintNode<'a>>,
    /// The most recent commits, newest first.
    commits: &'a [CommitEntry],
    /// The total number of commits.
    commit_count: usize,
    references: &'a References,
    judged: &'a Judged,
    /// The number of nodes for which only the title is shown.
    in_short: usize,
}

/// The print page as a self-contained file.
#[derive(Serialize)]
struct DocumentContent<'a> {
    #[serde(flatten)]
    print: PrintContent<'a>,
    inside: Inside,
}

/// Earlier conclusions, and the changes between ends.
#[derive(Clone, Copy, Serialize)]
struct EarlierConclusions<'a> {
    amended: &'a [AmendedConclusionHtml],
    ends: &'a [BetweenEnds],
    /// The required steps that were skipped.
    skipped: &'a [BlockerView],
}

impl<'a> EarlierConclusions<'a> {
    fn new(report: &'a Report, ends: &'a [BetweenEnds]) -> Self {
        let skipped = if report.header.facts.ended { &*report.overview.blockers } else { &[] };
        EarlierConclusions { amended: &report.overview.conclusion_amended, ends, skipped }
    }
}

/// Embedded files, as data URLs.
#[derive(Serialize)]
struct Inside {
    icon: String,
    styles: [String; 2],
    /// Attached pictures by address, within the size limit.
    pictures: BTreeMap<String, String>,
}

/// A node on the print page.
#[derive(Serialize)]
struct PrintNode<'a> {
    card: &'a SharedValue<Card>,
    /// The data of the node, or `None` if only the title is shown.
    node: Option<&'a NodePage>,
}

/// Builds the pages of one investigation. `folder` is prefixed to their paths. It is empty or ends in `/`.
fn pages(
    input: &ReportInput,
    folder: &str,
    comparison: Option<&Comparison>,
    site: Site<'_>,
    templates: &Templates,
    progress: &mut dyn FnMut(usize, usize),
    put: &mut Put<'_>,
) -> Result<SiteEntry, ReportError> {
    let mut report = Report::of(input);
    let investigation = input.snapshot.investigation.as_ref();
    let ruleset = &*ruleset_of(input);
    let assessment = assessed(investigation, ruleset).with_inputs(input.inputs().as_ref());
    let pictures = Pictures::of(&report, &assessment);
    let site_root = if folder.is_empty() { "" } else { "../" };
    let deep_site_root = format!("../{site_root}");
    let title = report.header.facts.title.as_str();

    let page = |kind, title| PageInfo { kind, root: "", site_root, title, description: "" };
    let deep = PageInfo { root: "../", site_root: &deep_site_root, ..page("", "") };
    let mut put = |path: &str, bytes: Vec<u8>| put(&format!("{folder}{path}"), bytes);
    let base = templates.options().base_url.as_ref();
    let attachments = std::mem::take(&mut report.attachments);
    let links = TextLinks::of(&report, input, &assessment);
    let mut add = |path: &str, template: &str, page: PageInfo<'_>, content: PageContent<'_>| {
        let head = match &content {
            PageContent::Node { node, .. } => PageHead::node(&report.header, node, base, folder),
            _ => PageHead::plain(&report.header, base, folder, path),
        };
        let from = match &content {
            PageContent::Print(_) => From::Print,
            PageContent::Node { node, .. } => {
                From::Page { root: page.root, own: Some(node.card.id.as_str()) }
            }
            _ => From::Page { root: page.root, own: None },
        };
        let page = InvestigationPage { site, page, head, investigation: &report.header, content };
        put(path, links.put_into(templates.render(template, &page)?, from))
    };
    let description = report.header.facts.query_excerpt.as_str();
    let states = report.judged.states.as_slice();
    let outline = report.outline.as_slice();
    let between = ends::links(input);
    let conclusions = EarlierConclusions::new(&report, &between);
    let of_project = input.evidence.forge.as_ref().and_then(IssueUrl::on);
    let issues = templates.options().issue_url.as_ref().or(of_project.as_ref());
    let challenge = |card: &Card| challenge(&report.header, card, base.map(|base| (base, folder)), issues);
    let overview = PageContent::Overview {
        challenge: report.overview.best.as_ref().map(|best| challenge(&best.card)),
        overview: &report.overview,
        sign_offs: &report.sign_offs,
    };
    let first = PageInfo { description, ..page("overview", title) };
    add("index.html", "overview.html", first, overview)?;
    let tree = PageContent::Tree { outline, states };
    add("tree.html", "tree.html", page("tree", "Steps"), tree)?;
    let graph = PageContent::Graph { graph: pictures.page.as_ref(), states };
    add("graph.html", "graph.html", page("graph", "Graph"), graph)?;
    for (path, references) in report.references.pages() {
        let references = PageContent::References { references };
        add(&path, "references.html", page("references", "Evidence"), references)?;
    }
    for (path, history) in report.history.pages() {
        let history = PageContent::History { history, conclusions };
        add(&path, "history.html", page("history", "History"), history)?;
    }
    let judged = PageContent::Judged { judged: &report.judged };
    add("judged.html", "judged.html", page("judged", "Rules"), judged)?;
    let place = |id: &NodeId| Some(report.href(id)).filter(|href| !href.is_empty());
    if let Some(comparison) = comparison {
        let compare = compare::view(input, &report, comparison, &place);
        let content = PageContent::Compare { compare: &compare };
        add("compare.html", "compare.html", page("compare", "Changes"), content)?;
    }
    for (path, compare) in ends::pages(input, &place) {
        let content = PageContent::Compare { compare: &compare };
        add(&path, "compare.html", page("ends", "Changes"), content)?;
    }
    for (at, node) in report.nodes.iter().enumerate() {
        progress(at, report.nodes.len());
        let heading = format!("{} {}", node.card.id, node.card.title);
        let page = PageInfo { kind: "node", title: &heading, description: &node.card.excerpt, ..deep };
        let on_graph = pictures.on_graph(&node.card.id);
        let is_result = !node.card.state.pending;
        let content = PageContent::Node {
            node,
            on_graph,
            standing: node.card.sure.and_then(|_| report.overview.rows.whole(&node.card.id)),
            challenge: is_result.then(|| challenge(&node.card)),
        };
        add(&node.card.href, "node.html", page, content)?;
    }
    let print = PageContent::Print(print(&report, MOST_PRINTED));
    add("print.html", "print.html", page("print", "The whole investigation"), print)?;
    for (path, bytes) in redirects(&report.nodes) {
        put(&path, bytes)?;
    }
    put("graph.svg", pictures.file)?;
    for (path, bytes) in attachments {
        put(&path, bytes)?;
    }
    put("search-data.js", search::file(input, &report, &format!("{folder}search-data.js"))?)?;
    put("graph.dot", graph::dot(&assessment).into_bytes())?;
    put("graph.mmd", graph::mermaid(&assessment).into_bytes())?;
    let data = json::file(input, &report.cited, &format!("{folder}investigation.json"), Some(json::SCHEMA))?;
    put("investigation.json", data)?;
    put(json::SCHEMA, json::schema(&format!("{folder}{}", json::SCHEMA))?)?;
    if let Ok(file) = &input.snapshot.ruleset {
        put("ruleset.yaml", file.text.clone().into_bytes())?;
    }
    progress(report.nodes.len(), report.nodes.len());
    Ok(SiteEntry::of(input, &report, folder))
}

/// Returns pages that lead from the short ids of nodes to their pages, while those are not ambiguous.
fn redirects(nodes: &[NodePage]) -> impl Iterator<Item = (String, Vec<u8>)> {
    let mut taken = HashSet::new();
    let redirect = move |node: &NodePage| {
        let (id, whole) = (node.card.id.as_str(), node.card.id.whole());
        // Some file systems ignore letter case.
        let is_needed = id != whole && taken.insert(id.to_ascii_lowercase());
        let page = format!(
            "<!doctype html>\n<meta charset=\"utf-8\">\n<title>{id}</title>\n\
             <meta http-equiv=\"refresh\" content=\"0; url={whole}.html\">\n\
             <link rel=\"canonical\" href=\"{whole}.html\">\n<p><a href=\"{whole}.html\">{id}</a></p>\n"
        );
        is_needed.then(|| (format!("nodes/{id}.html"), page.into_bytes()))
    };
    nodes.iter().filter_map(redirect)
}

/// Returns the print page. With more than `most` nodes, only those behind the answers are shown in full.
fn print(report: &Report, most: usize) -> PrintContent<'_> {
    let all = report.nodes.len() <= most;
    let mut kept: BTreeSet<&str> = BTreeSet::new();
    if !all {
        let answers = report.nodes.iter().filter(|node| node.card.sure.is_some());
        for node in answers {
            let confirming = node.confirmed_by.iter().map(|by| &by.card);
            let rests_on = node.path.iter().chain(confirming).chain([&node.card]);
            kept.extend(rests_on.map(|card| card.id.as_str()).take(most.saturating_sub(kept.len())));
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
        sign_offs: &report.sign_offs,
        conclusions: EarlierConclusions::new(report, &[]),
        commits: report.history.newest(MOST_COMMITS),
        commit_count: report.history.len(),
        outline: &report.outline,
        in_short: nodes.iter().filter(|node| node.node.is_none()).count(),
        nodes,
        references: &report.references,
        judged: &report.judged,
    }
}

/// Returns the investigation as one self-contained page.
pub(super) fn document(input: &ReportInput, templates: &Templates) -> Result<SingleFile, ReportError> {
    let report = Report::of(input);
    let ruleset = ruleset_of(input);
    let assessment = assessed(&input.snapshot.investigation, &ruleset).with_inputs(input.inputs().as_ref());
    let asset = |path: &str, media_type: &str| {
        data_url(media_type, templates.assets().get(path).map(Vec::as_slice).unwrap_or_default())
    };
    let inside = Inside {
        icon: asset("assets/icon.svg", "image/svg+xml"),
        styles: ["assets/style.css", "assets/graph.css"].map(|path| asset(path, "text/css")),
        pictures: pictures_within(&report.attachments),
    };
    let title = "The whole investigation";
    let builder = Builder::new(templates, false);
    let page = InvestigationPage {
        site: builder.site(""),
        page: PageInfo {
            kind: "print",
            root: "",
            site_root: "",
            title,
            description: &report.header.facts.query_excerpt,
        },
        head: PageHead::plain(&report.header, None, "", ""),
        investigation: &report.header,
        content: DocumentContent { print: print(&report, MOST_IN_ONE_FILE), inside },
    };
    let in_short = page.content.print.in_short;
    let links = TextLinks::of(&report, input, &assessment);
    let bytes = links.put_into(templates.render("document.html", &page)?, From::Print);
    Ok(SingleFile { bytes, in_short })
}

/// Returns the ruleset in force, or a minimal one for pictures if it can't be read.
pub(super) fn ruleset_of(input: &ReportInput) -> Cow<'_, Ruleset> {
    match &input.snapshot.ruleset {
        Ok(file) => Cow::Borrowed(&file.ruleset),
        Err(_) => Cow::Owned(states_alone(&input.snapshot.investigation)),
    }
}

/// Assesses an investigation under the given ruleset.
pub(super) fn assessed<'a>(investigation: &'a Investigation, ruleset: &'a Ruleset) -> Assessment<'a> {
    Assessment::new(investigation, Some(EffectiveRules::new(ruleset, investigation.meta())))
}

/// Returns a ruleset that contains only the states in use, for pictures of a tree whose own ruleset can't be read.
fn states_alone(investigation: &Investigation) -> Ruleset {
    let names: BTreeSet<_> = investigation.committed().map(|(_, state)| state).collect();
    let state = |name: &crate::domain::StateName| State {
        name: name.clone(),
        label: Some(as_words(name)),
        meaning: String::new(),
        role: Role::Open,
        colour: "lightgray".to_owned(),
        refutes: false,
        terminal: false,
        children: Vec::new(),
        child_states: None,
    };
    Ruleset {
        version: VERSION,
        name: investigation.meta().ruleset.clone(),
        states: names.into_iter().map(state).collect(),
        end: EndRules { min_rounds: 1, ..EndRules::default() },
        ..Ruleset::default()
    }
}
