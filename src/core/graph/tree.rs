//! The nodes of an investigation in preorder, with what is needed to draw them, and the choice of those that a picture
//! shows.
//!
//! The running time is linear in the number of nodes, and no function recurses.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::palette;
use crate::assess::{Assessment, NodeMark, Verdict};
use crate::domain::{Investigation, Node, NodeId};
use crate::ruleset::Role;

/// The maximum number of nodes in a picture. More could not be read, and layout-rs would need long.
pub(super) const MOST_CARDS: usize = 80;

/// The nodes of an investigation.
#[derive(Debug)]
pub struct DrawnTree<'i> {
    pub(super) investigation: &'i Investigation,
    /// The best answer.
    best: Option<&'i NodeId>,
    /// All nodes in preorder, so descendants directly follow their ancestor.
    pub(super) items: Vec<TreeItem<'i>>,
    /// The nodes in the picture, in preorder, as indexes of `items`. The parents of each are among them.
    pub(super) shown: Vec<usize>,
}

/// A node and the data needed to draw it.
#[derive(Clone, Debug)]
pub(super) struct TreeItem<'i> {
    pub node: &'i Node,
    pub parent: Option<usize>,
    /// The depth in the tree, which is the column of the node's card.
    pub depth: u32,
    /// The number of descendants.
    pub below: usize,
    /// The role of the node's state. `None` for a proposal.
    pub role: Option<Role>,
    pub mark: NodeMark<'i>,
    /// The kind of the best checked answer at or below this node.
    pub way: Option<Way>,
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

impl TreeItem<'_> {
    fn own_way(&self) -> Option<Way> {
        match self.mark.verdict? {
            verdict if verdict.is_confirmed() => Some(Way::Confirmed),
            Verdict::AuthorOnly | Verdict::Contested | Verdict::Undermined => Some(Way::Doubted),
            _ => None,
        }
    }

    /// Returns the CSS classes for the role, verdict and path.
    pub fn classes(&self) -> String {
        let mut classes = match self.mark.refutes {
            Some(_) => "refutes".to_owned(),
            None => self.role.map_or("proposed", palette::class).to_owned(),
        };
        if let Some(verdict) = self.mark.shade() {
            classes.push(' ');
            classes.push_str(verdict.class());
        }
        classes.push_str(Way::class(self.way));
        classes
    }
}

impl<'i> DrawnTree<'i> {
    /// Collects the nodes, and chooses those of the picture: the path to the best answer, and as many others as there is room
    /// for, earlier rounds first.
    pub fn new(assessment: &Assessment<'i>) -> Self {
        DrawnTree::of_most(assessment, MOST_CARDS)
    }

    /// Like [`DrawnTree::new`], but the picture has at most `most` nodes.
    pub fn of_most(assessment: &Assessment<'i>, most: usize) -> Self {
        let best = assessment.first().map(|answer| &answer.node.id);
        let mut tree = DrawnTree {
            investigation: assessment.investigation,
            best,
            items: items(assessment),
            shown: Vec::new(),
        };
        let way = best.map(|best| tree.way(best)).filter(|way| way.len() <= most);
        let mut shown: BTreeSet<usize> = way.into_iter().flatten().collect();
        let mut by_round: Vec<usize> = (0..tree.items.len()).collect();
        by_round.sort_by_key(|at| tree.items[*at].depth);
        for at in by_round {
            if shown.len() >= most {
                break;
            }
            shown.insert(at);
        }
        tree.shown = shown.into_iter().collect();
        tree
    }

    /// Returns the best answer.
    pub fn best(&self) -> Option<&'i NodeId> {
        self.best
    }

    /// Returns the ids of the nodes in the picture, in preorder.
    pub fn shown(&self) -> impl Iterator<Item = &'i NodeId> {
        self.shown.iter().map(|at| &self.items[*at].node.id)
    }

    /// Returns the number of nodes in the branches below a node that are not in the picture.
    pub(super) fn hidden_below(&self, at: usize) -> usize {
        let hidden = self.children(Some(at)).filter(|child| self.shown.binary_search(child).is_err());
        hidden.map(|child| self.items[child].below + 1).sum()
    }

    /// Returns the answer to highlight: the best one or, without one, the best among those of the picture. Ties go to the
    /// lowest id.
    pub(super) fn highlighted(&self) -> Option<usize> {
        let answers = self.shown.iter().filter_map(|at| {
            let (id, verdict) = (&self.items[*at].node.id, self.items[*at].mark.verdict?);
            let is_refuted = verdict == Verdict::Refuted;
            (!is_refuted).then_some((self.best != Some(id), Reverse(verdict), id, *at))
        });
        answers.min().map(|(.., at)| at)
    }

    /// Returns the answers whose paths are highlighted, in preorder.
    pub fn checked(&self) -> impl Iterator<Item = &'i NodeId> {
        self.items.iter().filter(|item| item.own_way().is_some()).map(|item| &item.node.id)
    }

    /// Returns true if any node is on a path to an answer of this kind.
    pub fn leads_to(&self, way: Way) -> bool {
        self.items.iter().any(|item| item.way == Some(way))
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

    /// Returns the nodes from the root to this node.
    pub(super) fn way(&self, id: &NodeId) -> Vec<usize> {
        let mut way: Vec<usize> = Vec::new();
        for node in self.investigation.path(id) {
            let mut children = self.children(way.last().copied());
            let Some(at) = children.find(|child| self.items[*child].node.id == node.id) else { break };
            way.push(at);
        }
        way
    }
}

/// Returns all nodes in preorder.
fn items<'i>(assessment: &Assessment<'i>) -> Vec<TreeItem<'i>> {
    let investigation = assessment.investigation;
    let mut items: Vec<TreeItem<'i>> = Vec::new();
    let mut stack: Vec<(&'i Node, Option<usize>)> =
        investigation.roots().map(|node| (node.as_ref(), None)).collect();
    stack.reverse();
    while let Some((node, parent)) = stack.pop() {
        let at = items.len();
        let depth = parent.map_or(0, |parent| items[parent].depth + 1);
        let mark = assessment.mark(node);
        let role = node.state().map(|_| mark.role.unwrap_or(Role::Open));
        items.push(TreeItem { node, parent, depth, below: 0, role, mark, way: None });
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
