//! The text of each node, parsed once for all pages.

use std::collections::HashMap;

use serde::Serialize;

use super::search;
use super::templates::SafeHtml;
use crate::base::parallel;
use crate::domain::{Classification, Investigation, Node, NodeId};
use crate::fields::BackingText;
use crate::markdown::{self, Mention};

/// The maximum length of a finding on a card, in characters.
pub(super) const CARD_EXCERPT: usize = 220;
/// The level of the highest heading in the text on a node page.
const HEADING_LEVEL: u8 = 3;
/// The maximum number of threads.
const THREADS: usize = 8;

/// The text of a node, for display.
#[derive(Clone, Debug)]
pub(super) struct NodeTexts {
    /// The beginning of its findings, or of its plan while it is pending.
    pub excerpt: String,
    pub planned_action: Option<SafeHtml>,
    pub findings: Option<SafeHtml>,
    pub texts: Vec<TextHtml>,
    /// The sources mentioned in the findings.
    pub mentions: Vec<Mention>,
    /// True if the findings contain a list of references.
    pub lists_references: bool,
    /// The searchable text, except the node's id, title and comments.
    pub search: Vec<search::SearchText>,
}

/// Backing for findings or a state change.
#[derive(Clone, Debug, Serialize)]
pub(super) struct TextHtml {
    /// The name of the field in the node's file.
    pub key: &'static str,
    pub heading: &'static str,
    /// The text, unless the field is a list.
    pub text: Option<SafeHtml>,
    pub list: Vec<SafeHtml>,
}

/// Renders the fields that are not blank. `suffix` is appended to the heading ids. It is unique in the site.
pub(super) fn html<'a>(
    texts: impl Iterator<Item = BackingText<'a>>,
    suffix: &str,
    heading_level: u8,
) -> Vec<TextHtml> {
    let html = |text: BackingText<'_>| {
        let prefix = format!("{}-{suffix}", text.key);
        let (one, list) = match text.is_list {
            true => (None, SafeHtml::list(text.entries, &prefix)),
            false => {
                let one = text.entries.first().map(String::as_str);
                (SafeHtml::some_markdown(one, &prefix, heading_level), Vec::new())
            }
        };
        let is_blank = one.is_none() && list.is_empty();
        (!is_blank).then_some(TextHtml { key: text.key, heading: text.heading, text: one, list })
    };
    texts.filter_map(html).collect()
}

/// Parses the text of all nodes in several threads.
pub(super) fn read(investigation: &Investigation) -> HashMap<NodeId, NodeTexts> {
    let nodes: Vec<&Node> = investigation.nodes().map(AsRef::as_ref).collect();
    let share = search::share(nodes.len());
    let texts = parallel::each(&nodes, parallel::cores().min(THREADS), |node| texts(node, share));
    nodes.into_iter().map(|node| node.id.clone()).zip(texts).collect()
}

/// Returns the beginning of a node's findings, or of its plan while it is pending. May be empty.
pub(super) fn excerpt(node: &Node) -> String {
    let text = node.classification.as_ref().map_or(&node.planned_action, |c| &c.findings);
    markdown::excerpt(text, CARD_EXCERPT)
}

fn texts(node: &Node, share: usize) -> NodeTexts {
    let classification = node.classification.as_ref();
    // The prefix is unique across pages, since the print page contains all nodes.
    let prefix = |what: &str| format!("{what}-{}", node.id);
    let findings = markdown::Parsed::new(classification.map_or("", |c| &c.findings));
    let (mentions, lists_references) = findings.references();
    NodeTexts {
        excerpt: match classification {
            Some(_) => findings.excerpt(CARD_EXCERPT),
            None => excerpt(node),
        },
        planned_action: SafeHtml::some_markdown(Some(&node.planned_action), &prefix("plan"), HEADING_LEVEL),
        findings: classification
            .filter(|c| !c.findings.trim().is_empty())
            .map(|_| SafeHtml::parsed(&findings, &prefix("findings"), HEADING_LEVEL)),
        texts: html(
            classification.into_iter().flat_map(Classification::backing),
            node.id.as_str(),
            HEADING_LEVEL,
        ),
        search: search::texts(node, &findings, &mentions, share),
        mentions,
        lists_references,
    }
}
