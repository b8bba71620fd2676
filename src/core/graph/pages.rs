//! The nodes on each picture: all of them, or those of a map (`maps`).
//!
//! The time is linear in the number of nodes; nothing recurses.

use std::cmp::Reverse;
use std::ops::Range;

use super::bar::{BarPart, Kind, Tallies};
use super::palette;
use crate::assess::{Assessment, Verdict};
use crate::domain::{Investigation, Node, NodeId};
use crate::ruleset::Role;
use crate::ruleset::rules::states::as_words;

/// The word for a node that says that its parent is wrong, in a state in which others confirm theirs.
pub const REFUTATION: &str = "Refutation";

/// The pictures of one investigation.
#[derive(Debug)]
pub struct Pages<'i> {
    pub(super) investigation: &'i Investigation,
    /// The answer that comes first on every surface.
    first: Option<&'i NodeId>,
    /// All nodes, in preorder: the nodes below a node follow it.
    pub(super) items: Vec<Item<'i>>,
    pub(super) tallies: Tallies,
    pub(super) pages: Vec<Page>,
    /// The page on which the node itself is.
    pub(super) homes: Vec<usize>,
    /// For each node how many leaves are before it, and at or below it.
    pub(super) leaves: Vec<(usize, usize)>,
}

/// A node, with the facts that pictures need.
#[derive(Clone, Debug)]
pub(super) struct Item<'i> {
    pub node: &'i Node,
    pub parent: Option<usize>,
    /// The column, from the root of the tree.
    pub depth: u32,
    /// The number of nodes below it.
    pub below: usize,
    pub role: Option<Role>,
    /// Its state, as people read it.
    pub state: String,
    /// The trust in an answer, or a refutation; `None` for any other node.
    pub verdict: Option<Verdict>,
    /// The solution to which it leads, if a node confirms that and none refutes it.
    pub way: Option<Way>,
    /// Whether it says that its parent is wrong, in a state in which others confirm theirs.
    pub refutes: bool,
}

/// The kind of solution at the end of a way; the surest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// Checked only by its author, or contested.
    Doubted,
    /// Confirmed by another.
    Confirmed,
}

impl<'i> Item<'i> {
    /// A node by itself.
    pub(super) fn alone(assessment: &Assessment<'_>, node: &'i Node) -> Item<'i> {
        let rules = assessment.rules;
        let refutes = rules.is_some_and(|rules| rules.is_refutation(node));
        let role = match node.state() {
            // A refutation looks like the end of the answer above.
            Some(_) if refutes => Some(Role::DeadEnd),
            state => state.map(|state| rules.map_or(Role::Open, |rules| rules.role(state))),
        };
        let state = match node.state() {
            Some(_) if refutes => REFUTATION.to_owned(),
            Some(state) => rules.map_or_else(|| as_words(state), |rules| rules.ruleset().label_of(state)),
            None => "Proposed".to_owned(),
        };
        let verdict = assessment.verdict_of(&node.id);
        Item { node, parent: None, depth: 0, below: 0, role, state, verdict, way: None, refutes }
    }

    fn own_way(&self) -> Option<Way> {
        match self.verdict? {
            verdict if verdict.is_confirmed() => Some(Way::Confirmed),
            Verdict::AuthorOnly | Verdict::Contested => Some(Way::Doubted),
            _ => None,
        }
    }

    /// Returns all of it in one line, for tooltips and screen readers; its subject follows a colon.
    pub fn in_words(&self) -> String {
        let mut words = format!("{} ({}", self.node.id, self.state);
        if let Some(verdict) = self.verdict {
            words.push_str(", ");
            words.push_str(verdict.label());
        }
        words.push(')');
        words
    }

    /// Returns its classes for the style sheet, after the class of its shape.
    pub fn classes(&self) -> String {
        let mut classes = self.role.map_or("proposed", palette::class).to_owned();
        if let Some(verdict) = self.verdict {
            classes.push(' ');
            classes.push_str(verdict.class());
        }
        match self.way {
            None => {}
            Some(Way::Confirmed) => classes.push_str(" on-path"),
            Some(Way::Doubted) => classes.push_str(" on-path doubted"),
        }
        classes
    }

    fn kind(&self) -> Kind {
        let class = match self.role {
            _ if self.refutes => "role-refutation",
            None => "role-pending",
            Some(role) => palette::class(role),
        };
        Kind::of(class, &self.state, self.verdict)
    }
}

/// The form in which the nodes of a page are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawn {
    /// A card for each node.
    Cards,
    /// A row for each round, each node as wide as the branches below it; small branches are drawn together.
    Icicle,
}

/// The nodes on one picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its form.
    pub drawn: Drawn,
    /// The node where its part of the tree begins; `None` if it begins at the roots.
    pub root: Option<NodeId>,
    /// The page of which it is a part.
    pub up: Option<usize>,
    /// The number of nodes with cards or cells.
    pub shown: usize,
    /// The number of further nodes on its subject.
    pub hidden: usize,
    /// Its number among the pages of parts of one family, from 1; absent if it has all nodes below its root.
    pub group: Option<usize>,
    /// The cards or cells, in preorder, as places in `items`.
    pub(super) cards: Vec<usize>,
    /// The roots of its own branches: below `root`, or the roots of the tree.
    pub(super) tops: Vec<usize>,
    /// Its branches with a page of their own, in preorder.
    pub(super) parts: Vec<Part>,
    /// Its branches that are drawn together, in preorder.
    pub(super) together: Vec<Part>,
}

/// A part of a page: a branch, or branches beside each other below one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The roots of its branches.
    pub tops: Vec<usize>,
    /// The number of its nodes.
    pub nodes: usize,
    /// The page on which it can be seen closer.
    pub page: Option<usize>,
}

impl<'i> Pages<'i> {
    /// No page yet.
    pub(super) fn none(assessment: &Assessment<'i>) -> Self {
        let items = items(assessment);
        let kinds: Vec<(Option<usize>, Kind)> = items.iter().map(|item| (item.parent, item.kind())).collect();
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

    /// Returns the answer that comes first, whatever its page.
    pub fn best(&self) -> Option<&'i NodeId> {
        self.first
    }

    /// Returns the first or else the best of these answers; of equally good ones the first by its id.
    pub(super) fn best_of(&self, items: impl IntoIterator<Item = usize>) -> Option<usize> {
        let answers = items.into_iter().filter_map(|item| {
            let (id, verdict) = (&self.items[item].node.id, self.items[item].verdict?);
            let is_refuted = verdict == Verdict::Refuted;
            (!is_refuted).then_some((self.first != Some(id), Reverse(verdict), id, item))
        });
        answers.min().map(|(.., item)| item)
    }

    /// Returns the counts by kind of a node and the nodes below it.
    pub(super) fn bar(&self, branches: &[usize], length: usize) -> Vec<BarPart> {
        self.tallies.bar(branches, length)
    }

    /// Returns all pages: the first one from the roots, then those that were cut off it, and so on.
    pub fn all(&self) -> &[Page] {
        &self.pages
    }

    /// Returns the pages before and after, which show other parts of one branch or other branches cut off one page.
    pub fn neighbours(&self, page: usize) -> (Option<usize>, Option<usize>) {
        let beside = |other: usize| {
            let (one, other_page) = (self.pages.get(page)?, self.pages.get(other)?);
            (one.up == other_page.up).then_some(other)
        };
        (page.checked_sub(1).and_then(beside), page.checked_add(1).and_then(beside))
    }

    /// Returns each node with the page on which it is below its parent, in preorder.
    pub fn homes(&self) -> impl Iterator<Item = (&NodeId, usize)> {
        self.items.iter().map(|item| &item.node.id).zip(self.homes.iter().copied())
    }

    /// The answers to which a way leads that pictures follow; in preorder.
    pub fn checked(&self) -> impl Iterator<Item = &NodeId> {
        self.items.iter().filter(|item| item.own_way().is_some()).map(|item| &item.node.id)
    }

    /// Whether any node is on such a way.
    pub fn leads_to(&self, way: Way) -> bool {
        self.items.iter().any(|item| item.way == Some(way))
    }

    /// The title of a node.
    pub fn title(&self, id: &NodeId) -> Option<&'i str> {
        self.investigation.node(id).map(|node| node.name())
    }

    /// The children of a node in order, or the roots.
    pub(super) fn children(&self, parent: Option<usize>) -> impl Iterator<Item = usize> + '_ {
        let (first, end) = match parent {
            None => (0, self.items.len()),
            Some(parent) => (parent + 1, parent + 1 + self.items[parent].below),
        };
        let next = move |child: usize| Some(child).filter(|child| *child < end);
        std::iter::successors(next(first), move |child| next(child + 1 + self.items[*child].below))
    }

    /// All nodes of branches beside each other.
    pub(super) fn range(&self, tops: &[usize]) -> Range<usize> {
        match (tops.first(), tops.last()) {
            (Some(first), Some(last)) => *first..last + self.items[*last].below + 1,
            _ => 0..0,
        }
    }
}

impl Page {
    /// A card for each of these.
    pub(super) fn of_cards(root: Option<NodeId>, up: Option<usize>, cards: Vec<usize>) -> Page {
        Page {
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

/// All nodes in preorder.
fn items<'i>(assessment: &Assessment<'i>) -> Vec<Item<'i>> {
    let investigation = assessment.investigation;
    let mut items: Vec<Item<'i>> = Vec::new();
    let mut stack: Vec<(&'i Node, Option<usize>)> =
        investigation.roots().map(|node| (node.as_ref(), None)).collect();
    stack.reverse();
    while let Some((node, parent)) = stack.pop() {
        let at = items.len();
        let depth = parent.map_or(0, |parent| items[parent].depth + 1);
        items.push(Item { parent, depth, ..Item::alone(assessment, node) });
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

/// For each node how many leaves are before it, and at or below it.
fn leaves(items: &[Item<'_>]) -> Vec<(usize, usize)> {
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
