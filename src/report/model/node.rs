//! The page of a node.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Serialize;

use super::Reference;
use super::cards::{Card, Cards, OpenEnd, StateView, Time};
use super::judged::NodeWarning;
use crate::domain::{Node, NodeId, Reclassification};
use crate::format::layout;
use crate::report::history::{CommitLink, History};
use crate::report::templates::{SafeHtml, SharedValue};
use crate::report::texts::{NodeTexts, TextHtml, html};
use crate::view::{By, ChangeView};

/// The page of a node.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct NodePage {
    pub card: SharedValue<Card>,
    /// From the root to its parent.
    pub path: Vec<SharedValue<Card>>,
    pub parent: Option<SharedValue<Card>>,
    pub children: Vec<SharedValue<Card>>,
    pub previous: Option<SharedValue<Card>>,
    pub next: Option<SharedValue<Card>>,
    pub agent: Option<String>,
    pub proposed_at: Time,
    pub committed_at: Option<Time>,
    /// The state it was committed in, where a later change left another.
    pub committed_as: Option<StateView>,
    /// The state that was asked for, and the one that was stored.
    pub converted: Option<Conversion>,
    pub planned_action: Option<SafeHtml>,
    pub findings: Option<SafeHtml>,
    /// What backs the findings.
    pub texts: Vec<TextHtml>,
    pub warnings: Vec<NodeWarning>,
    pub reclassified: Vec<Change>,
    pub verified_by: Vec<SharedValue<Card>>,
    /// What it still owes.
    pub owes: Option<OpenEnd>,
    /// What it cites; where the findings have a list of their own, only what other nodes cite too.
    pub references: Vec<NodeReference>,
    /// Whether the findings have a list of their own.
    pub lists_references: bool,
    pub commits: Vec<CommitLink>,
    /// Its file in the repository.
    pub file: String,
    /// What a search finds it by, beside its id and title; no page shows it.
    #[serde(skip)]
    pub search: String,
}

/// A commit that was stored in another state than was asked for.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Conversion {
    pub card: SharedValue<Card>,
    pub requested: StateView,
    pub stored: StateView,
}

/// A later change of a node's state.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Change {
    pub card: SharedValue<Card>,
    pub from: StateView,
    pub to: StateView,
    pub at: Time,
    pub agent: Option<String>,
    /// The child that brought it about.
    pub child: Option<SharedValue<Card>>,
    pub child_id: Option<String>,
    pub reason: Option<SafeHtml>,
    /// What backs it.
    pub texts: Vec<TextHtml>,
}

/// A source on the page of a node that cites it. Not who else does: of 1,000 nodes all may cite one source.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct NodeReference {
    pub target: String,
    pub is_url: bool,
    pub title: Option<String>,
    pub lines: Vec<u32>,
    /// Its place on the page of references.
    pub href: String,
    /// How many other nodes cite it.
    pub others: usize,
}

impl<'a> Cards<'a> {
    pub(super) fn node_views(
        &self,
        mut texts: HashMap<NodeId, NodeTexts>,
        references: &[Reference],
        places: &[usize],
        history: &History,
    ) -> Vec<NodePage> {
        let order = self.investigation.preorder();
        let neighbour = |at: Option<usize>| at.and_then(|at| self.card(order.get(at)?));
        order
            .iter()
            .enumerate()
            .filter_map(|(at, node)| {
                let card = self.card(node)?;
                let classification = node.classification.as_ref();
                let texts = texts.remove(&node.id)?;
                let mut path = self.in_order(self.investigation.path(&node.id).iter().map(|node| &node.id));
                path.pop();
                Some(NodePage {
                    parent: path.last().cloned(),
                    path,
                    children: self.in_order(self.investigation.children(&node.id).map(|child| &child.id)),
                    previous: neighbour(at.checked_sub(1)),
                    next: neighbour(at.checked_add(1)),
                    agent: classification.and_then(|c| c.agent_id.clone()),
                    proposed_at: Time::of(node.proposed_at),
                    committed_at: classification.map(|c| Time::of(c.committed_at)),
                    committed_as: classification
                        .filter(|c| &c.state != c.current_state())
                        .map(|c| self.state(&c.state)),
                    converted: self.conversion(node),
                    planned_action: texts.planned_action,
                    findings: texts.findings,
                    texts: texts.texts,
                    search: texts.search,
                    warnings: self.warnings_of(node),
                    reclassified: self.changes_of(node),
                    verified_by: if card.verified == Some(true) {
                        self.in_order(&self.verified_by(node))
                    } else {
                        Vec::new()
                    },
                    owes: self.open_end(node),
                    lists_references: texts.lists_references,
                    references: self
                        .cited
                        .get(&node.id)
                        .into_iter()
                        .flatten()
                        .filter_map(|at| Some((references.get(*at)?, places.get(*at)?)))
                        .filter(|(reference, _)| !texts.lists_references || reference.cited_by.len() > 1)
                        .map(|(reference, place)| NodeReference {
                            href: format!("references.html#ref-{place}"),
                            target: reference.target.clone(),
                            is_url: reference.is_url,
                            title: reference.title.clone().filter(|title| *title != reference.target),
                            lines: reference.lines_of(&node.id).to_vec(),
                            others: reference.cited_by.len().saturating_sub(1),
                        })
                        .collect(),
                    commits: history.of_node(&node.id),
                    file: layout::node(&node.id),
                    card,
                })
            })
            .collect()
    }

    pub(super) fn conversion(&self, node: &Node) -> Option<Conversion> {
        let classification = node.classification.as_ref()?;
        Some(Conversion {
            card: self.card(node)?,
            requested: self.state(classification.requested_state.as_ref()?),
            stored: self.state(&classification.state),
        })
    }

    pub(super) fn conversions(&self) -> Vec<Conversion> {
        self.investigation.committed().filter_map(|(node, _)| self.conversion(node)).collect()
    }

    pub(super) fn changes(&self) -> Vec<Change> {
        self.investigation.committed().flat_map(|(node, _)| self.changes_of(node)).collect()
    }

    pub(in crate::report) fn changes_of(&self, node: &Node) -> Vec<Change> {
        let (Some(card), Some(classification)) = (self.card(node), &node.classification) else {
            return Vec::new();
        };
        let change = |(at, change): (usize, &Reclassification)| {
            let suffix = format!("{at}-{}", node.id);
            let view = ChangeView::new(change);
            let child = match view.by {
                Some(By::Child(child)) => Some(child),
                Some(By::Caller(_)) | None => None,
            };
            Change {
                card: card.clone(),
                from: self.state(view.from),
                to: self.state(view.to),
                at: Time::of(change.at),
                child: child.and_then(|child| self.get(child).cloned()),
                child_id: child.map(ToString::to_string),
                reason: SafeHtml::some_markdown(view.reason.as_deref(), &format!("reason-{suffix}"), 4),
                texts: html(&view.texts, &suffix, 4),
                agent: view.agent_id.map(Cow::into_owned),
            }
        };
        classification.reclassified.iter().enumerate().map(change).collect()
    }
}
