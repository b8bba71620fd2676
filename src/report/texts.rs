//! What the pages show of the texts of each node. Each text is parsed once, for all of it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::thread;

use super::search;
use super::templates::SafeHtml;
use crate::domain::{Author, Classification, Investigation, Node, NodeId, Reclassification, StateName};
use crate::markdown::{self, Mention};

/// Characters of a finding on a card.
pub(super) const CARD_EXCERPT: usize = 220;
/// The level of the highest heading in a text of a node's page.
const HEADING_LEVEL: u8 = 3;
/// Fewer nodes than this are read by one thread: starting others would take longer.
const FEW: usize = 64;
/// How many threads read at most.
const THREADS: usize = 8;

/// What is shown of a node's texts.
#[derive(Clone, Debug)]
pub(super) struct NodeTexts {
    /// The beginning of its findings, or of its plan while it is pending.
    pub excerpt: String,
    pub planned_action: Option<SafeHtml>,
    pub findings: Option<SafeHtml>,
    pub evidence: Option<SafeHtml>,
    pub verification_method: Option<SafeHtml>,
    pub alternatives: Vec<SafeHtml>,
    /// What the findings cite.
    pub mentions: Vec<Mention>,
    /// Whether the findings have a list of references of their own.
    pub lists_references: bool,
    /// What a search finds it by, beside its id and title.
    pub search: String,
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
            let parts: Vec<_> = nodes
                .chunks(nodes.len().div_ceil(threads))
                .map(|nodes| (nodes, scope.spawn(|| read(nodes))))
                .collect();
            // What a thread could not read for a panic is read here, and panics here.
            parts.into_iter().flat_map(|(nodes, part)| part.join().unwrap_or_else(|_| read(nodes))).collect()
        })
    };
    nodes.into_iter().map(|node| node.id.clone()).zip(texts).collect()
}

/// What a proposal holds, by the names that the pages give its fields.
pub(super) fn of_proposal(node: &Node) -> [(&'static str, Cow<'_, str>); 3] {
    [
        ("Title", Cow::from(&node.title)),
        ("Parent", or_empty(node.parent.as_ref().map(NodeId::as_str))),
        ("What was planned", Cow::from(&node.planned_action)),
    ]
}

/// The name of the field in [`of_result`] that holds the later changes of state.
pub(super) const CHANGES_OF_STATE: &str = "Changes of state";

/// What a result holds, by the names that the pages give its fields.
pub(super) fn of_result(result: &Classification) -> [(&'static str, Cow<'_, str>); 10] {
    let warnings = result.warnings.iter().map(|warning| format!("{}: {}", warning.code, warning.message));
    let changes = result.reclassified.iter().map(change_of_state);
    [
        ("State as committed", Cow::from(result.state.as_str())),
        ("Asked for", or_empty(result.requested_state.as_ref().map(StateName::as_str))),
        ("Agent", or_empty(result.agent_id.as_deref())),
        ("Committed", Cow::from(result.committed_at.to_string())),
        ("Findings", Cow::from(&result.findings)),
        ("Evidence", or_empty(result.evidence.as_deref())),
        ("How it was verified", or_empty(result.verification_method.as_deref())),
        ("Alternatives considered", Cow::from(result.alternatives_considered.join("\n\n"))),
        ("Warnings", Cow::from(warnings.collect::<Vec<_>>().join("\n"))),
        (CHANGES_OF_STATE, Cow::from(changes.collect::<Vec<_>>().join("\n"))),
    ]
}

/// A later change of state in one line, with every field that a manual edit could have changed.
fn change_of_state(change: &Reclassification) -> String {
    let by = match &change.by {
        Author::Agent(agent) => format!(" by {agent}"),
        Author::Child(child) => format!(" by its child {child}"),
        Author::Unknown => String::new(),
    };
    let given = [&change.reason, &change.evidence, &change.verification_method];
    let mut line = format!("{} → {} at {}{by}", change.from, change.to, change.at);
    for text in given.into_iter().flatten().chain(&change.alternatives_considered) {
        line.push_str("; ");
        line.push_str(text);
    }
    for warning in &change.warnings {
        line.push_str(&format!("; {}: {}", warning.code, warning.message));
    }
    line
}

fn or_empty(text: Option<&str>) -> Cow<'_, str> {
    Cow::from(text.unwrap_or_default())
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
    let text = |text: Option<&String>, what| {
        SafeHtml::some_markdown(text.map(String::as_str), &prefix(what), HEADING_LEVEL)
    };
    let source = markdown::Source::new(classification.map_or("", |c| &c.findings));
    let findings = source.parse();
    NodeTexts {
        excerpt: match classification {
            Some(_) => findings.excerpt(CARD_EXCERPT),
            None => excerpt(node),
        },
        planned_action: text(Some(&node.planned_action), "plan"),
        findings: classification
            .filter(|c| !c.findings.trim().is_empty())
            .map(|_| SafeHtml::parsed(&findings, &prefix("findings"), HEADING_LEVEL)),
        evidence: text(classification.and_then(|c| c.evidence.as_ref()), "evidence"),
        verification_method: text(
            classification.and_then(|c| c.verification_method.as_ref()),
            "verification",
        ),
        alternatives: classification
            .map_or_else(Vec::new, |c| SafeHtml::list(&c.alternatives_considered, &prefix("alternative"))),
        mentions: findings.references(),
        lists_references: findings.lists_references(),
        search: search::text(node, &findings, share),
    }
}
