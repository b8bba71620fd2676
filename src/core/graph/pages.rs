//! The nodes in each picture.
//!
//! The running time is linear in the number of nodes, and no function recurses.

use std::cmp::Reverse;
use std::ops::Range;

use serde::Serialize;

use super::bar::{BarKind, Tallies};
use super::palette;
use crate::assess::{Assessment, Verdict};
use crate::domain::{Investigation, Node, NodeId};
use crate::ruleset::Role;
use crate::ruleset::rules::states::as_words;

/// The label for a node that refutes its parent and whose state is otherwise used for confirmations.
pub const REFUTATION: &str = "Refutation";

/// The pictures of an investigation.
#[derive(Debug)]
pub struct Pages<'i> {
    pub(super) investigation: &'i Investigation,
    /// The best answer overall, which every page shows first.
    first: Option<&'i NodeId>,
    /// All nodes in preorder, so descendants directly follow their ancestor.
    pub(super) items: Vec<PageItem<'i>>,
    pub(super) tallies: Tallies,
    pub(super) pages: Vec<MapPage>,
    /// For each node, the index of the page that shows it below its parent.
    pub(super) homes: Vec<usize>,
    /// For each node, the number of leaves before it, and the number of leaves at or below it.
    pub(super) leaves: Vec<(usize, usize)>,
}

/// A node and the data needed to draw it.
#[derive(Clone, Debug)]
pub(super) struct PageItem<'i> {
    pub node: &'i Node,
    pub parent: Option<usize>,
    /// The depth in the tree, which is the column of the node's card.
    pub depth: u32,
    /// The number of descendants.
    pub below: usize,
    pub role: Option<Role>,
    /// The label of the node's state.
    pub state: String,
    /// The verdict on an answer or a refuted node. `None` for any other node.
    pub verdict: Option<Verdict>,
    /// The kind of the best checked answer at or below this node.
    pub way: Option<Way>,
    /// True if the node refutes its parent in a state that is otherwise used for confirmations.
    pub refutes: bool,
}

/// The kind of answer at the end of a path, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// The answer is contested or was checked only by its author.
    Doubted,
    /// The answer was confirmed by someone other than its author.
    Confirmed,
}

impl Way {
    /// Returns the CSS classes of edges and nodes on a path.
    pub(super) fn class(way: Option<Way>) -> &'static str {
        match way {
            None => "",
            Some(Way::Doubted) => " on-path doubted",
            Some(Way::Confirmed) => " on-path",
        }
    }
}

impl<'i> PageItem<'i> {
    /// Returns a node without its position in the tree.
    pub(super) fn alone(assessment: &Assessment<'_>, node: &'i Node) -> PageItem<'i> {
        let rules = assessment.rules;
        let refutes = rules.is_some_and(|rules| rules.is_refutation(node));
        let role = match node.state() {
            // A refutation looks like the end of the answer above it.
            Some(_) if refutes => Some(Role::DeadEnd),
            state => state.map(|state| rules.map_or(Role::Open, |rules| rules.role(state))),
        };
        let state = match node.state() {
            Some(_) if refutes => REFUTATION.to_owned(),
            Some(state) => rules.map_or_else(|| as_words(state), |rules| rules.ruleset().label_of(state)),
            None => "Proposed".to_owned(),
        };
        let verdict = assessment.verdict_of(&node.id);
        PageItem { node, parent: None, depth: 0, below: 0, role, state, verdict, way: None, refutes }
    }

    fn own_way(&self) -> Option<Way> {
        match self.verdict? {
            verdict if verdict.is_confirmed() => Some(Way::Confirmed),
            Verdict::AuthorOnly | Verdict::Contested | Verdict::Undermined => Some(Way::Doubted),
            _ => None,
        }
    }

    /// Returns the id, state and verdict for tooltips and screen readers. A colon and the title usually follow.
    pub fn in_words(&self) -> String {
        let mut words = format!("{} ({}", self.node.id, self.state);
        if let Some(verdict) = self.verdict {
            words.push_str(", ");
            words.push_str(verdict.label());
        }
        words.push(')');
        words
    }

    /// Returns the CSS classes for the role, verdict and path.
    pub fn classes(&self) -> String {
        let mut classes = self.role.map_or("proposed", palette::class).to_owned();
        if let Some(verdict) = self.verdict {
            classes.push(' ');
            classes.push_str(verdict.class());
        }
        classes.push_str(Way::class(self.way));
        classes
    }

    fn kind(&self) -> BarKind {
        let class = match self.role {
            _ if self.refutes => "role-refutation",
            None => "role-pending",
            Some(role) => palette::class(role),
        };
        BarKind::of(class, &self.state, self.verdict)
    }
}

/// The form of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Drawn {
    /// One card per node.
    Cards,
    /// An icicle diagram with one row per round, in which small branches are merged.
    Icicle,
}

/// The nodes in one picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapPage {
    /// The form of the picture.
    pub drawn: Drawn,
    /// The root of the branch shown on this page. `None` if the page starts at the roots of the tree.
    pub root: Option<NodeId>,
    /// The index of the page that contains this page as a part.
    pub up: Option<usize>,
    /// The number of nodes with a card or cell.
    pub shown: usize,
    /// The number of nodes in the same branches that have no card or cell.
    pub hidden: usize,
    /// The number of this page, starting at 1, among the pages that share the children of `root`. `None` if this page
    /// shows all children.
    pub group: Option<usize>,
    /// The nodes with a card or cell, in preorder, as indexes of `items`.
    pub(super) cards: Vec<usize>,
    /// The roots of the branches shown on this page: children of `root`, or roots of the tree.
    pub(super) tops: Vec<usize>,
    /// The branches that have their own page, in preorder.
    pub(super) parts: Vec<PagePart>,
    /// The groups of branches that are each merged into one cell, in preorder.
    pub(super) together: Vec<PagePart>,
}

/// A part of a page: one branch, or several neighbouring branches below one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PagePart {
    /// The roots of the branches.
    pub tops: Vec<usize>,
    /// The number of nodes in the part.
    pub nodes: usize,
    /// The index of the page that shows the part in more detail.
    pub page: Option<usize>,
}

impl<'i> Pages<'i> {
    /// Prepares the nodes without creating any pages.
    pub fn nodes_only(assessment: &Assessment<'i>) -> Self {
        let items = items(assessment);
        let kinds: Vec<(Option<usize>, BarKind)> =
            items.iter().map(|item| (item.parent, item.kind())).collect();
        Pages {
            investigation: assessment.investigation,
            first: assessment.first().map(|answer| &answer.node.id),
            homes: vec![0; items.len()],
            leaves: leaves(&items),
            tallies: Tallies::new(&kinds),
            items,
            pages: Vec::new(),
        }
    }

    /// Returns the best answer on any page.
    pub fn best(&self) -> Option<&'i NodeId> {
        self.first
    }

    /// Returns the best answer overall if it is among these nodes, and otherwise the best answer among them. Ties go to
    /// the lowest id.
    pub(super) fn best_of(&self, items: impl IntoIterator<Item = usize>) -> Option<usize> {
        let answers = items.into_iter().filter_map(|item| {
            let (id, verdict) = (&self.items[item].node.id, self.items[item].verdict?);
            let is_refuted = verdict == Verdict::Refuted;
            (!is_refuted).then_some((self.first != Some(id), Reverse(verdict), id, item))
        });
        answers.min().map(|(.., item)| item)
    }

    /// Returns all pages. The first page starts at the roots, and the parts of a page follow it.
    pub fn all(&self) -> &[MapPage] {
        &self.pages
    }

    /// Returns the previous and next pages if they are parts of the same page as this one.
    pub fn neighbours(&self, page: usize) -> (Option<usize>, Option<usize>) {
        let beside = |other: usize| {
            let (one, other_page) = (self.pages.get(page)?, self.pages.get(other)?);
            (one.up == other_page.up).then_some(other)
        };
        (page.checked_sub(1).and_then(beside), page.checked_add(1).and_then(beside))
    }

    /// Returns each node with the index of the page that shows it below its parent, in preorder.
    pub fn homes(&self) -> impl Iterator<Item = (&NodeId, usize)> {
        self.items.iter().map(|item| &item.node.id).zip(self.homes.iter().copied())
    }

    /// Returns the answers whose paths are highlighted, in preorder.
    pub fn checked(&self) -> impl Iterator<Item = &NodeId> {
        self.items.iter().filter(|item| item.own_way().is_some()).map(|item| &item.node.id)
    }

    /// Returns true if any node is on a path to an answer of this kind.
    pub fn leads_to(&self, way: Way) -> bool {
        self.items.iter().any(|item| item.way == Some(way))
    }

    /// Returns the name of a node.
    pub fn title(&self, id: &NodeId) -> Option<&'i str> {
        self.investigation.node(id).map(|node| node.name())
    }

    /// Returns the children of a node, or the roots, in order.
    pub(super) fn children(&self, parent: Option<usize>) -> impl Iterator<Item = usize> + '_ {
        let (first, end) = match parent {
            None => (0, self.items.len()),
            Some(parent) => (parent + 1, parent + 1 + self.items[parent].below),
        };
        let next = move |child: usize| Some(child).filter(|child| *child < end);
        std::iter::successors(next(first), move |child| next(child + 1 + self.items[*child].below))
    }

    /// Returns the range of all nodes in neighbouring branches.
    pub(super) fn range(&self, tops: &[usize]) -> Range<usize> {
        match (tops.first(), tops.last()) {
            (Some(first), Some(last)) => *first..last + self.items[*last].below + 1,
            _ => 0..0,
        }
    }
}

impl MapPage {
    /// Returns a page with one card for each of these nodes.
    pub(super) fn of_cards(root: Option<NodeId>, up: Option<usize>, cards: Vec<usize>) -> MapPage {
        MapPage {
            drawn: Drawn::Cards,
            root,
            group: None,
            up,
            shown: cards.len(),
            hidden: 0,
            cards,
            tops: Vec::new(),
            parts: Vec::new(),
            together: Vec::new(),
        }
    }
}

/// Returns all nodes in preorder.
fn items<'i>(assessment: &Assessment<'i>) -> Vec<PageItem<'i>> {
    let investigation = assessment.investigation;
    let mut items: Vec<PageItem<'i>> = Vec::new();
    let mut stack: Vec<(&'i Node, Option<usize>)> =
        investigation.roots().map(|node| (node.as_ref(), None)).collect();
    stack.reverse();
    while let Some((node, parent)) = stack.pop() {
        let at = items.len();
        let depth = parent.map_or(0, |parent| items[parent].depth + 1);
        items.push(PageItem { parent, depth, ..PageItem::alone(assessment, node) });
        let first = stack.len();
        stack.extend(investigation.children(&node.id).map(|child| (child.as_ref(), Some(at))));
        stack[first..].reverse();
    }
    for at in (0..items.len()).rev() {
        let way = items[at].way.max(items[at].own_way());
        items[at].way = way;
        if let Some(parent) = items[at].parent {
            items[parent].below += items[at].below + 1;
            items[parent].way = items[parent].way.max(way);
        }
    }
    items
}

/// Returns, for each node, the number of leaves before it and the number of leaves at or below it.
fn leaves(items: &[PageItem<'_>]) -> Vec<(usize, usize)> {
    let mut leaves = vec![(0, 0); items.len()];
    let mut all = 0;
    for (at, item) in items.iter().enumerate() {
        leaves[at].0 = all;
        all += usize::from(item.below == 0);
    }
    for (at, item) in items.iter().enumerate() {
        let end = leaves.get(at + item.below + 1).map_or(all, |next| next.0);
        leaves[at].1 = end - leaves[at].0;
    }
    leaves
}
