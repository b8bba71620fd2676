//! What stands in the head of a page for programs: canonical address, Open Graph, and JSON-LD with the types of
//! schema.org.
//!
//! Nothing is claimed that the investigation does not say: an answer is `acceptedAnswer` only where another confirms it,
//! no author is named but the agent who concluded, and addresses stand only where it is known where the site will be.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::address::BaseUrl;
use super::feed;
use super::model::{Card, Header, NodePage, Report};
use super::preview;
use super::sites::SiteEntry;
use super::templates::SafeHtml;

/// Answers in the data of a page, at most.
const MOST_ANSWERS: usize = 50;

/// The head of a page, as far as it is for programs.
#[derive(Debug, Default, Serialize)]
pub(super) struct PageHead {
    /// The whole address of the page.
    pub canonical: Option<String>,
    /// `article` or `website`, for Open Graph.
    pub kind: &'static str,
    /// JSON-LD, ready for a script element.
    pub data: Option<SafeHtml>,
    /// The title of the feed, where there is one.
    pub feed: Option<&'static str>,
    /// The whole address of a picture of the investigation.
    pub image: Option<String>,
    /// When what it says was committed last; absent while that can still change.
    pub modified: Option<String>,
}

impl PageHead {
    /// A page of an investigation without data of its own.
    pub(super) fn plain(header: &Header, base: Option<&BaseUrl>, folder: &str, path: &str) -> PageHead {
        let has_nodes = header.committed + header.pending > 0;
        PageHead {
            canonical: base.map(|base| base.of(&format!("{folder}{path}"))),
            kind: "article",
            data: None,
            image: base.filter(|_| has_nodes).map(|base| base.of(&format!("{folder}{}", preview::FILE))),
            feed: base.map(|_| feed::TITLE),
            modified: header.ended_at.as_ref().map(|at| at.iso.clone()),
        }
    }

    /// The first page of an investigation.
    pub(super) fn overview(report: &Report, base: Option<&BaseUrl>, folder: &str) -> PageHead {
        let plain = PageHead::plain(&report.header, base, folder, "index.html");
        PageHead { data: Some(SafeHtml::data(&investigation(report, base, folder))), ..plain }
    }

    /// The page of a node.
    pub(super) fn node(header: &Header, node: &NodePage, base: Option<&BaseUrl>, folder: &str) -> PageHead {
        let plain = PageHead::plain(header, base, folder, &node.card.href);
        PageHead {
            data: Some(SafeHtml::data(&node_data(header, node, base, folder))),
            modified: node.committed_at.as_ref().map(|at| at.iso.clone()),
            ..plain
        }
    }

    /// The index above several investigations.
    pub(super) fn index(entries: &[SiteEntry], base: Option<&BaseUrl>) -> PageHead {
        let mut data = object("CollectionPage");
        data.insert("name".into(), "Investigations".into());
        put(&mut data, "url", base.map(BaseUrl::folder));
        let mut list = object("ItemList");
        list.insert("numberOfItems".into(), entries.len().into());
        data.insert("mainEntity".into(), list.into());
        PageHead {
            canonical: base.map(|base| base.folder().to_owned()),
            kind: "website",
            data: Some(SafeHtml::data(&in_context(data))),
            feed: base.map(|_| feed::TITLE),
            ..PageHead::default()
        }
    }
}

fn investigation(report: &Report, base: Option<&BaseUrl>, folder: &str) -> Value {
    let header = &report.header;
    let mut data = object("Report");
    data.insert("identifier".into(), identifier(header).into());
    data.insert("headline".into(), header.title.clone().into());
    data.insert("description".into(), header.query_excerpt.clone().into());
    data.insert("abstract".into(), report.overview.verdict.clone().into());
    data.insert("creativeWorkStatus".into(), if header.ended { "Ended" } else { "Unfinished" }.into());
    data.insert("version".into(), header.head.clone().into());
    data.insert("dateCreated".into(), header.started_at.iso.clone().into());
    put(&mut data, "dateModified", report.history.newest().map(|entry| entry.at.iso.as_str()));
    put(&mut data, "url", base.map(|base| base.of(&format!("{folder}index.html"))));
    if let Some(base) = base {
        let mut file = object("MediaObject");
        file.insert("encodingFormat".into(), "application/json".into());
        file.insert("contentUrl".into(), base.of(&format!("{folder}investigation.json")).into());
        data.insert("encoding".into(), file.into());
    }

    let mut question = object("Question");
    question.insert("name".into(), header.title.clone().into());
    question.insert("text".into(), header.query.clone().into());
    question.insert("answerCount".into(), report.overview.solutions.len().into());
    let answers = |confirmed: bool| -> Vec<Value> {
        let is = |card: &Card| card.sure.is_some_and(|sure| sure.is_confirmed());
        let solutions = report.overview.solutions.iter().filter(|solution| is(&solution.card) == confirmed);
        let one = |card: &Card, evidence: &str| {
            let mut answer = object("Answer");
            answer.insert("name".into(), card.title.clone().into());
            answer.insert("text".into(), or(evidence, &card.title).into());
            put(&mut answer, "url", base.map(|base| base.of(&format!("{folder}{}", card.href))));
            answer.into()
        };
        solutions.take(MOST_ANSWERS).map(|solution| one(&solution.card, &solution.evidence)).collect()
    };
    for (name, confirmed) in [("acceptedAnswer", true), ("suggestedAnswer", false)] {
        let answers = answers(confirmed);
        if !answers.is_empty() {
            question.insert(name.into(), answers.into());
        }
    }
    data.insert("mainEntity".into(), question.into());
    in_context(data)
}

fn node_data(header: &Header, node: &NodePage, base: Option<&BaseUrl>, folder: &str) -> Value {
    let mut data = object("Article");
    data.insert("headline".into(), node.card.title.clone().into());
    data.insert("identifier".into(), node.card.id.as_str().into());
    if !node.card.excerpt.is_empty() {
        data.insert("description".into(), node.card.excerpt.clone().into());
    }
    data.insert("creativeWorkStatus".into(), node.card.state.name.clone().into());
    data.insert("dateCreated".into(), node.proposed_at.iso.clone().into());
    put(&mut data, "dateModified", node.committed_at.as_ref().map(|at| at.iso.as_str()));
    put(&mut data, "url", base.map(|base| base.of(&format!("{folder}{}", node.card.href))));
    let mut whole = object("Report");
    whole.insert("identifier".into(), identifier(header).into());
    whole.insert("headline".into(), header.title.clone().into());
    put(&mut whole, "url", base.map(|base| base.of(&format!("{folder}index.html"))));
    data.insert("isPartOf".into(), whole.into());
    in_context(data)
}

fn identifier(header: &Header) -> String {
    format!("urn:uuid:{}", header.id)
}

fn object(kind: &str) -> Map<String, Value> {
    Map::from_iter([("@type".to_owned(), kind.into())])
}

fn put(data: &mut Map<String, Value>, name: &str, value: Option<impl Into<String>>) {
    if let Some(value) = value {
        data.insert(name.to_owned(), Value::String(value.into()));
    }
}

fn in_context(data: Map<String, Value>) -> Value {
    let mut whole = json!({"@context": "https://schema.org"});
    if let Value::Object(whole) = &mut whole {
        whole.extend(data);
    }
    whole
}

fn or<'t>(text: &'t str, otherwise: &'t str) -> &'t str {
    if text.trim().is_empty() { otherwise } else { text }
}
