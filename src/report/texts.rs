//! The texts of each node as the pages show them. Each text is parsed only once.

use std::collections::HashMap;
use std::thread;

use serde::Serialize;

use super::search;
use super::templates::SafeHtml;
use crate::domain::{Investigation, Node, NodeId};
use crate::markdown::{self, Mention};
use crate::view::{BackingText, BackingTexts, NodeView, TextBody};

/// Characters of a finding on a card.
pub(super) const CARD_EXCERPT: usize = 220;
/// The level of the highest heading in a text of a node's page.
const HEADING_LEVEL: u8 = 3;
/// Fewer nodes than this are read by one thread: starting others would take longer.
const FEW: usize = 64;
/// The most threads that read.
const THREADS: usize = 8;

/// The texts of a node as they are shown.
#[derive(Clone, Debug)]
pub(super) struct NodeTexts {
    /// The beginning of its findings, or of its plan while it is pending.
    pub excerpt: String,
    pub planned_action: Option<SafeHtml>,
    pub findings: Option<SafeHtml>,
    pub texts: Vec<TextHtml>,
    /// The sources of the findings.
    pub mentions: Vec<Mention>,
    /// Whether the findings have a list of references of their own.
    pub lists_references: bool,
    /// The text that a search finds it by, beside its id, its title and its comments.
    pub search: Vec<search::Said>,
}

/// A text that backs findings or a change of state.
#[derive(Clone, Debug, Serialize)]
pub(super) struct TextHtml {
    /// Its name in the node's file.
    pub key: &'static str,
    pub heading: &'static str,
    /// The text, or a list of them; never none of both.
    pub text: Option<SafeHtml>,
    pub list: Vec<SafeHtml>,
}

/// The texts that are not blank. `suffix` ends the ids of their headings, and is unique in the site.
pub(super) fn html(texts: &BackingTexts<'_>, suffix: &str, heading_level: u8) -> Vec<TextHtml> {
    let html = |text: &BackingText<'_>| {
        let prefix = format!("{}-{suffix}", text.key);
        let (one, list) = match &text.body {
            TextBody::One(text) => {
                (SafeHtml::some_markdown(text.as_deref(), &prefix, heading_level), Vec::new())
            }
            TextBody::List(texts) => (None, SafeHtml::list(texts, &prefix)),
        };
        let is_blank = one.is_none() && list.is_empty();
        (!is_blank).then_some(TextHtml { key: text.key, heading: text.heading, text: one, list })
    };
    texts.iter().filter_map(html).collect()
}

/// The texts of all nodes, by several threads where there are many.
pub(super) fn read(investigation: &Investigation) -> HashMap<NodeId, NodeTexts> {
    let nodes: Vec<&Node> = investigation.nodes().map(AsRef::as_ref).collect();
    let share = search::share(nodes.len());
    let read = |nodes: &[&Node]| -> Vec<NodeTexts> { nodes.iter().map(|node| texts(node, share)).collect() };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(THREADS);
    let texts = if nodes.len() < FEW || threads == 1 {
        read(&nodes)
    } else {
        thread::scope(|scope| {
            let begin = |nodes| thread::Builder::new().spawn_scoped(scope, move || read(nodes)).ok();
            let parts: Vec<_> =
                nodes.chunks(nodes.len().div_ceil(threads)).map(|nodes| (nodes, begin(nodes))).collect();
            // What has no thread is read here, and so is what a thread could not read for a panic, which panics here.
            let end = |(nodes, part): (_, Option<thread::ScopedJoinHandle<'_, _>>)| {
                part.and_then(|part| part.join().ok()).unwrap_or_else(|| read(nodes))
            };
            parts.into_iter().flat_map(end).collect()
        })
    };
    nodes.into_iter().map(|node| node.id.clone()).zip(texts).collect()
}

/// The beginning of a node's findings, or of its plan while it is pending; empty where there is none.
pub(super) fn excerpt(node: &Node) -> String {
    let text = node.classification.as_ref().map_or(&node.planned_action, |c| &c.findings);
    markdown::excerpt(text, CARD_EXCERPT)
}

fn texts(node: &Node, share: usize) -> NodeTexts {
    let classification = node.classification.as_ref();
    // Unique beyond the page: the print has all nodes on one.
    let prefix = |what: &str| format!("{what}-{}", node.id);
    let findings = markdown::Parsed::new(classification.map_or("", |c| &c.findings));
    NodeTexts {
        excerpt: match classification {
            Some(_) => findings.excerpt(CARD_EXCERPT),
            None => excerpt(node),
        },
        planned_action: SafeHtml::some_markdown(Some(&node.planned_action), &prefix("plan"), HEADING_LEVEL),
        findings: classification
            .filter(|c| !c.findings.trim().is_empty())
            .map(|_| SafeHtml::parsed(&findings, &prefix("findings"), HEADING_LEVEL)),
        texts: html(&NodeView::stored(node).texts, node.id.as_str(), HEADING_LEVEL),
        mentions: findings.references(),
        lists_references: findings.lists_references(),
        search: search::texts(node, &findings, share),
    }
}
