//! Which nodes stand on which picture: all of them, or as many as fit one picture ([`Pages::new`]), or those of a map
//! (`maps`).
//!
//! # Guarantees
//!
//! - A picture of at most `limit` cards has the root of each card that it has, and says below which cards there is more.
//! - A branch is cut off only where there is enough below ([`LEAST_BRANCHES`]), unless a family alone is larger than the
//!   picture.
//! - The ways to checked solutions are followed first; then the tree is followed level by level, as far as it fits.
//! - The time is linear in the number of nodes, but for the queue's logarithm; nothing recurses.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::bar::{BarPart, Kind, Tallies};
use super::palette;
use crate::assess::{Assessment, Verdict};
use crate::domain::{Investigation, Node, NodeId};
use crate::ruleset::Role;
use crate::ruleset::rules::states::as_words;

/// How many nodes must be below a card that is cut off: the first of these with which all children of the root fit the
/// picture.
const LEAST_BRANCHES: [usize; 3] = [24, 12, 6];
/// Below this nothing is cut off, whatever the family.
const LEAST_BRANCH: usize = LEAST_BRANCHES[2];

/// The word for a node that says that its parent is wrong, in a state in which others confirm theirs.
pub const REFUTATION: &str = "Refutation";

/// The pictures of one investigation.
#[derive(Debug)]
pub struct Pages<'i> {
    pub(super) investigation: &'i Investigation,
    /// The answer that stands first on every surface.
    first: Option<&'i NodeId>,
    /// All nodes, in preorder: what is below a node follows it.
    pub(super) items: Vec<Item<'i>>,
    pub(super) tallies: Tallies,
    pub(super) pages: Vec<Page>,
    /// The page on which a node stands itself.
    pub(super) homes: Vec<usize>,
    /// For each node how many leaves are before it, and at or below it.
    pub(super) leaves: Vec<(usize, usize)>,
}

/// A node, with what pictures need to know of it.
#[derive(Clone, Debug)]
pub(super) struct Item<'i> {
    pub node: &'i Node,
    pub parent: Option<usize>,
    /// The column, from the root of the tree.
    pub depth: u32,
    /// How many nodes are below it.
    pub below: usize,
    pub role: Option<Role>,
    /// Its state, as people read it.
    pub state: String,
    /// How far to trust an answer, or that a node is refuted; `None` for any other node.
    pub verdict: Option<Verdict>,
    /// To what solution it lies on the way, if a node confirms that and none refutes it.
    pub way: Option<Way>,
    /// Whether it says that its parent is wrong, in a state in which others confirm theirs.
    pub refutes: bool,
}

/// What the way to a solution that a node confirms leads to; the surest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// One that only its author has checked, or that is contested.
    Doubted,
    /// One that another confirms.
    Confirmed,
}

impl<'i> Item<'i> {
    /// A node by itself.
    pub(super) fn alone(assessment: &Assessment<'_>, node: &'i Node) -> Item<'i> {
        let rules = assessment.rules;
        let refutes = rules.is_some_and(|rules| rules.is_refutation(node));
        let role = match node.state() {
            // It looks like what it is: the end of the answer above.
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

    /// All of it in one line, for a tooltip and for ears; what it is about follows a colon.
    pub fn in_words(&self) -> String {
        let mut words = format!("{} ({}", self.node.id, self.state);
        if let Some(verdict) = self.verdict {
            words.push_str(", ");
            words.push_str(verdict.label());
        }
        words.push(')');
        words
    }

    /// Its classes for the style sheet, after what it is drawn as.
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

/// How what stands on a page is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawn {
    /// A card for each node.
    Cards,
    /// A row for each round, in which a node is as wide as what is below it; small branches are drawn together.
    Icicle,
}

/// What stands on one picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// How it is drawn.
    pub drawn: Drawn,
    /// The node where its part of the tree begins; `None` if it begins at the roots.
    pub root: Option<NodeId>,
    /// The page of which it shows a part.
    pub up: Option<usize>,
    /// How many nodes it has cards or cells for.
    pub shown: usize,
    /// How many more there are of what it is about.
    pub hidden: usize,
    /// Which of the pages of parts of one family it is, from 1; absent where it has all below its root.
    pub group: Option<usize>,
    /// The cards or cells, in preorder, as places in `items`.
    pub(super) cards: Vec<usize>,
    /// The cards below which there is more than it shows, in order.
    pub(super) cuts: Vec<usize>,
    /// Where the branches begin that are its own: below `root`, or at the roots.
    pub(super) tops: Vec<usize>,
    /// What of it has a page of its own, in preorder.
    pub(super) parts: Vec<Part>,
    /// What is drawn together, in preorder.
    pub(super) together: Vec<Part>,
}

/// A part of a page: a branch, or branches beside each other below one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Where its branches begin.
    pub tops: Vec<usize>,
    /// How many nodes are in it.
    pub nodes: usize,
    /// The page on which it can be seen closer.
    pub page: Option<usize>,
}

impl<'i> Pages<'i> {
    /// One picture with at most `limit` cards; `None` for one of everything.
    pub fn new(assessment: &Assessment<'i>, limit: Option<usize>) -> Self {
        let mut pages = Pages::none(assessment);
        // A branch that is too small to be cut off must always fit.
        let limit = limit.map_or(usize::MAX, |limit| limit.max(2 * LEAST_BRANCH));
        let (cards, cuts) = match pages.items.len() <= limit {
            true => ((0..pages.items.len()).collect(), Vec::new()),
            false => pages.fill(limit),
        };
        let hidden = pages.items.len() - cards.len();
        pages.pages.push(Page { hidden, cuts, ..Page::of_cards(None, None, cards) });
        pages
    }

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

    /// The answer that stands first, which is on whichever page.
    pub fn best(&self) -> Option<&'i NodeId> {
        self.first
    }

    /// The answer among these that stands first, or else the best; of equally good ones the first by its id.
    pub(super) fn best_of(&self, items: impl IntoIterator<Item = usize>) -> Option<usize> {
        let answers = items.into_iter().filter_map(|item| {
            let (id, verdict) = (&self.items[item].node.id, self.items[item].verdict?);
            let is_refuted = verdict == Verdict::Refuted;
            (!is_refuted).then_some((self.first != Some(id), Reverse(verdict), id, item))
        });
        answers.min().map(|(.., item)| item)
    }

    /// How many nodes are what below a node and at it.
    pub(super) fn bar(&self, branches: &[usize], length: usize) -> Vec<BarPart> {
        self.tallies.bar(branches, length)
    }

    /// All pages: the first one from the roots, then those that were cut off it, and so on.
    pub fn all(&self) -> &[Page] {
        &self.pages
    }

    /// The pages that show other parts of the same, or other branches cut off the same page: before and after.
    pub fn neighbours(&self, page: usize) -> (Option<usize>, Option<usize>) {
        let beside = |other: usize| {
            let (one, other_page) = (self.pages.get(page)?, self.pages.get(other)?);
            (one.up == other_page.up).then_some(other)
        };
        (page.checked_sub(1).and_then(beside), page.checked_add(1).and_then(beside))
    }

    /// Each node with the page on which it stands below its parent, in preorder.
    pub fn homes(&self) -> impl Iterator<Item = (&NodeId, usize)> {
        self.items.iter().map(|item| &item.node.id).zip(self.homes.iter().copied())
    }

    /// The answers to which a way leads that pictures follow; in preorder.
    pub fn checked(&self) -> impl Iterator<Item = &NodeId> {
        self.items.iter().filter(|item| item.own_way().is_some()).map(|item| &item.node.id)
    }

    /// Whether any node lies on such a way.
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

    /// How many cards a child takes: one where the branch below it may be cut off, otherwise all of the branch.
    fn weight(&self, item: usize, least: usize) -> usize {
        let below = self.items[item].below;
        if below >= least { 1 } else { 1 + below }
    }

    fn weight_of_family(&self, parent: Option<usize>, least: usize) -> usize {
        self.children(parent).map(|child| self.weight(child, least)).sum()
    }

    /// So many cards from the roots on, and those below which there is more.
    fn fill(&self, limit: usize) -> (Vec<usize>, Vec<usize>) {
        // A lone root begins the picture; alone it would not be an overview.
        let root = (self.children(None).count() == 1).then_some(0);
        let room = limit - usize::from(root.is_some());
        let fits = |least: &usize| self.weight_of_family(root, *least) <= room;
        let least = LEAST_BRANCHES.into_iter().find(fits).unwrap_or(LEAST_BRANCH);
        let mut cards: Vec<usize> = root.into_iter().collect();
        let mut open = BinaryHeap::new();
        let mut show = |child: usize, least: usize, open: &mut BinaryHeap<_>| {
            if self.items[child].below >= least {
                cards.push(child);
                open.push(Reverse((self.items[child].way.is_none(), self.items[child].depth, child)));
            } else {
                cards.extend(child..=child + self.items[child].below);
            }
        };
        let mut cuts = Vec::new();
        let mut left = room;
        let mut family: Vec<usize> = self.children(root).collect();
        family.sort_by_key(|child| self.items[*child].way.is_none());
        for child in family {
            match left.checked_sub(self.weight(child, least)) {
                Some(rest) => {
                    left = rest;
                    show(child, least, &mut open);
                }
                None => cuts.extend(root.filter(|root| cuts.last() != Some(root))),
            }
        }
        while let Some(Reverse((_, _, item))) = open.pop() {
            // Once a page is half full, no small branches are cut off for what is further down.
            let [first, rest @ ..] = LEAST_BRANCHES;
            let leasts = [first].into_iter().chain(rest.into_iter().filter(|_| left > room / 2));
            let fitting = leasts
                .map(|least| (least, self.weight_of_family(Some(item), least)))
                .find(|(_, weight)| *weight <= left);
            match fitting {
                None => cuts.push(item),
                Some((least, weight)) => {
                    left -= weight;
                    self.children(Some(item)).for_each(|child| show(child, least, &mut open));
                }
            }
        }
        cards.sort_unstable();
        cuts.sort_unstable();
        (cards, cuts)
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
            cuts: Vec::new(),
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::graph::samples;

    fn cut<'i>(investigation: &'i Investigation, limit: usize) -> Pages<'i> {
        let pages = Pages::new(&samples::assessed(investigation), Some(limit));
        let [page] = pages.all() else { panic!("one picture") };
        assert!(page.shown <= limit, "{} cards", page.shown);
        assert_eq!((page.shown, page.shown + page.hidden), (page.cards.len(), pages.items.len()));
        assert!(page.cards.is_sorted());
        for card in &page.cards {
            assert!(pages.items[*card].parent.is_none_or(|parent| page.cards.contains(&parent)));
            let is_cut = pages.children(Some(*card)).any(|child| !page.cards.contains(&child));
            assert_eq!(page.cuts.binary_search(card).is_ok(), is_cut, "{}", pages.items[*card].node.id);
            assert!(!is_cut || pages.items[*card].below >= LEAST_BRANCH);
        }
        pages
    }

    fn shown(parents: &[Option<usize>], limit: usize) -> (usize, usize) {
        let tree = samples::tree(parents, |_| Some("EXPLORE"));
        let pages = cut(&tree, limit);
        (pages.all()[0].shown, pages.all()[0].cuts.len())
    }

    #[test]
    fn what_fits_is_shown_whole() {
        assert_eq!(shown(&samples::complete(150, 3), 150), (150, 0));
        assert_eq!(shown(&[], 150), (0, 0));
    }

    #[test]
    fn a_large_tree_is_cut_off_where_enough_is_below() {
        assert_eq!(shown(&samples::complete(1000, 3), 150), (142, 22));
        // A root with five children, each with ten nodes below: all five are shown, three of them whole.
        let parents: Vec<Option<usize>> = [None]
            .into_iter()
            .chain((0..5).flat_map(|branch| [Some(0)].into_iter().chain(vec![Some(1 + branch * 11); 10])))
            .collect();
        assert_eq!(shown(&parents, 40), (36, 2));
    }

    #[test]
    fn a_family_that_is_larger_than_the_picture_is_cut_off_at_its_parent() {
        let wide: Vec<Option<usize>> = (0..1001_usize).map(|node| node.checked_sub(1).map(|_| 0)).collect();
        assert_eq!(shown(&wide, 150), (150, 1));
        assert_eq!(shown(&vec![None; 301], 150), (150, 0));
        let chain: Vec<Option<usize>> = (0..5000_usize).map(|node| node.checked_sub(1)).collect();
        assert_eq!(shown(&chain, 150), (150, 1));
    }

    #[test]
    fn the_way_to_a_checked_solution_is_in_the_picture() {
        let mut parents = samples::complete(1000, 3);
        let deepest = parents.len() - 1;
        parents.push(Some(deepest));
        let tree = samples::tree(&parents, |node| match node {
            node if node == deepest => Some("FOUND"),
            node if node == deepest + 1 => Some("VERIFY"),
            _ => Some("EXPLORE"),
        });
        let pages = cut(&tree, 150);
        let checked: Vec<&NodeId> = pages.checked().collect();
        assert_eq!(checked.len(), 1);
        assert!(pages.is_on(&pages.all()[0], checked[0]));
    }

    proptest! {
        #![proptest_config(crate::testing::sampled(48))]

        #[test]
        fn any_tree_can_be_cut(
            picks in prop::collection::vec(any::<u32>(), 0..400),
            reach in 1_usize..60,
            limit in 24_usize..200,
        ) {
            let parents: Vec<Option<usize>> = picks
                .iter()
                .enumerate()
                .map(|(node, pick)| match node {
                    0 => None,
                    _ if pick % 41 == 0 => None,
                    node => Some(node - 1 - *pick as usize % reach.min(node)),
                })
                .collect();
            let tree = samples::tree(&parents, |node| Some(if picks[node] % 29 == 1 { "VERIFY" } else { "FOUND" }));
            cut(&tree, limit);
        }
    }
}
