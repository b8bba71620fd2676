//! Which nodes stand on which picture. A small tree is one page; a large one is an overview and a page for each
//! branch that was cut off there, and so on below, like the pages of a map.
//!
//! # Guarantees
//!
//! - Every node stands on exactly one page as a root of the tree or as a child of what stands there, and once more
//!   as the root of its own page if it was cut off.
//! - A page has at most `limit` cards. A family that is larger than that is spread over several
//!   pages, each with the parent.
//! - A branch is cut off only where there is enough below for a picture of its own ([`LEAST_BRANCHES`]).
//! - The ways to checked solutions are followed first; then the tree is followed level by level, as far as it fits.
//! - The time is linear in the number of nodes, but for the queue's logarithm; nothing recurses.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::bar::{BarPart, Kind, Tallies};
use super::palette;
use crate::assess::{Assessment, Verdict};
use crate::domain::{Investigation, Node, NodeId};
use crate::ruleset::Role;
use crate::ruleset::rules::states::as_words;

/// How many nodes must be below a card for a picture of their own: the first of these with which all children of a
/// page's root fit the page.
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
    /// The first page of the branch that was cut off at a node.
    pub(super) branches: Vec<Option<usize>>,
    /// The page on which a node stands below its parent, or as a root of the tree.
    pub(super) homes: Vec<usize>,
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
    /// A cell for each node, a row for each round.
    Icicle,
    /// A bar for each branch.
    Bars,
}

/// What stands on one picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// How it is drawn.
    pub drawn: Drawn,
    /// The node where its part of the tree begins; `None` if it begins at the roots.
    pub root: Option<NodeId>,
    /// Which part of how many, from 1, where the children of `root` (or of a lone root, or the roots) do not fit one
    /// page.
    pub part: (usize, usize),
    /// The page on which the branch was cut off.
    pub up: Option<usize>,
    /// How many nodes it has cards for.
    pub shown: usize,
    /// How many nodes below its cards stand on further pages.
    pub hidden: usize,
    /// Which of the pages of parts of one family it is, from 1; absent where it has all below its root.
    pub group: Option<usize>,
    /// The cards, in preorder, as places in `items`.
    pub(super) cards: Vec<usize>,
    /// Where the branches begin that are its own: below `root`, or at the roots.
    pub(super) tops: Vec<usize>,
    /// What of it has a page of its own, in preorder; of bars all that it has.
    pub(super) parts: Vec<Part>,
}

/// A part of a page: a branch, or branches beside each other below one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Where its branches begin.
    pub tops: Vec<usize>,
    /// How many nodes are in it.
    pub nodes: usize,
    /// Its own page.
    pub page: Option<usize>,
}

impl<'i> Pages<'i> {
    /// The pictures with at most `limit` cards each; `None` for one picture of everything. There is always at least
    /// one, which begins at the roots.
    pub fn new(assessment: &Assessment<'i>, limit: Option<usize>) -> Self {
        let mut pages = Pages::none(assessment);
        // A branch that is too small to be cut off must always fit.
        let limit = limit.map_or(usize::MAX, |limit| limit.max(2 * LEAST_BRANCH));
        if pages.items.len() <= limit {
            let cards = (0..pages.items.len()).collect();
            pages.pages.push(Page::of_cards(None, None, cards));
            return pages;
        }
        // A lone root begins every page from the top; alone it would not be an overview.
        let lone = (pages.children(None).count() == 1).then_some(0);
        let mut branches = VecDeque::from([(lone, None)]);
        while let Some((root, up)) = branches.pop_front() {
            pages.cut(root, up, limit, &mut branches);
        }
        pages
    }

    /// No page yet.
    pub(super) fn none(assessment: &Assessment<'i>) -> Self {
        let items = items(assessment);
        let kinds: Vec<(Option<usize>, Kind)> = items.iter().map(|item| (item.parent, item.kind())).collect();
        Pages {
            investigation: assessment.investigation,
            first: assessment.first().map(|answer| &answer.node.id),
            branches: vec![None; items.len()],
            homes: vec![0; items.len()],
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

    /// The first page of what was cut off at this card of that page.
    pub(super) fn continued(&self, page: &Page, item: usize) -> Option<usize> {
        // On its own page the root is not cut off.
        let is_root = page.root.as_ref() == Some(&self.items[item].node.id);
        self.branches[item].filter(|_| !is_root)
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

    /// How many cards a child takes: one where the branch below it may be cut off, otherwise all of the branch.
    fn weight(&self, item: usize, least: usize) -> usize {
        let below = self.items[item].below;
        if below >= least { 1 } else { 1 + below }
    }

    fn weight_of_family(&self, parent: Option<usize>, least: usize) -> usize {
        self.children(parent).map(|child| self.weight(child, least)).sum()
    }

    /// Makes the page, or the pages, of one branch, and names the branches that are cut off them.
    fn cut(
        &mut self,
        root: Option<usize>,
        up: Option<usize>,
        limit: usize,
        branches: &mut VecDeque<(Option<usize>, Option<usize>)>,
    ) {
        let room = limit - usize::from(root.is_some());
        let fits = |least: &usize| self.weight_of_family(root, *least) <= room;
        let least = LEAST_BRANCHES.into_iter().find(fits).unwrap_or(LEAST_BRANCH);
        let families = self.spread(root, room, least);
        let parts = families.len();
        let branch = root.filter(|_| up.is_some());
        if let Some(branch) = branch {
            self.branches[branch] = Some(self.pages.len());
        }
        for (part, family) in families.into_iter().enumerate() {
            let number = self.pages.len();
            let (mut cards, cuts) = self.fill(&family, room, least);
            for card in &cards {
                self.homes[*card] = number;
            }
            let all: usize = family.iter().map(|child| 1 + self.items[*child].below).sum();
            let hidden = all - cards.len();
            cards.extend(root);
            cards.sort_unstable();
            branches.extend(cuts.into_iter().map(|cut| (Some(cut), Some(number))));
            let root = branch.map(|root| self.items[root].node.id.clone());
            self.pages.push(Page {
                part: (part + 1, parts),
                hidden,
                tops: family,
                ..Page::of_cards(root, up, cards)
            });
        }
    }

    /// The children of a node, spread evenly over as many pages as they need.
    fn spread(&self, parent: Option<usize>, room: usize, least: usize) -> Vec<Vec<usize>> {
        let whole = self.weight_of_family(parent, least);
        let most = whole.div_ceil(whole.div_ceil(room).max(1));
        let mut families = vec![Vec::new()];
        let mut used = 0;
        for child in self.children(parent) {
            let weight = self.weight(child, least);
            match families.last_mut() {
                Some(family) if family.is_empty() || used + weight <= most => family.push(child),
                _ => {
                    families.push(vec![child]);
                    used = 0;
                }
            }
            used += weight;
        }
        families
    }

    /// The cards of a page with this family on it, but for the root, and those at which branches are cut off.
    fn fill(&self, family: &[usize], room: usize, least: usize) -> (Vec<usize>, Vec<usize>) {
        let mut cards = Vec::new();
        let mut open = BinaryHeap::new();
        let mut show = |child: usize, least: usize, open: &mut BinaryHeap<_>| {
            if self.items[child].below >= least {
                cards.push(child);
                open.push(Reverse((self.items[child].way.is_none(), self.items[child].depth, child)));
            } else {
                cards.extend(child..=child + self.items[child].below);
            }
        };
        let mut left = room;
        for child in family {
            left = left.saturating_sub(self.weight(*child, least));
            show(*child, least, &mut open);
        }
        let mut cuts = Vec::new();
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
            part: (1, 1),
            group: None,
            up,
            shown: cards.len(),
            hidden: 0,
            cards,
            tops: Vec::new(),
            parts: Vec::new(),
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::graph::samples;

    fn cut<'i>(investigation: &'i Investigation, limit: usize) -> Pages<'i> {
        let pages = Pages::new(&samples::assessed(investigation), Some(limit));
        check(&pages, limit);
        pages
    }

    /// Everything that pages promise.
    fn check(pages: &Pages<'_>, limit: usize) {
        let mut times = vec![0; pages.items.len()];
        for (number, page) in pages.all().iter().enumerate() {
            assert!(page.shown <= limit, "{} cards", page.shown);
            assert_eq!(page.shown, page.cards.len());
            assert!(page.cards.is_sorted());
            let root = page.root.as_ref().map(|_| page.cards[0]);
            for card in &page.cards {
                let parent = pages.items[*card].parent;
                if Some(*card) == root {
                    assert_eq!(pages.items[*card].node.id, *page.root.as_ref().unwrap());
                    assert!(pages.items[*card].below >= LEAST_BRANCH);
                    continue;
                }
                if parent.is_none() && page.part.0 > 1 && pages.children(None).count() == 1 {
                    continue;
                }
                times[*card] += 1;
                assert_eq!(pages.homes[*card], number);
                assert!(parent.is_none_or(|parent| page.cards.contains(&parent)));
                // Where a card's children are not shown, there is a way to them.
                let shown = pages.children(Some(*card)).filter(|child| page.cards.contains(child)).count();
                if parent.is_none() && page.part.1 > 1 {
                    continue;
                }
                let children = pages.children(Some(*card)).count();
                match pages.continued(page, *card) {
                    None => assert_eq!(shown, children),
                    Some(next) => {
                        assert_eq!(shown, 0);
                        assert_eq!(pages.all()[next].root.as_ref(), Some(&pages.items[*card].node.id));
                        assert_eq!(pages.all()[next].up, Some(number));
                    }
                }
            }
        }
        assert!(times.iter().all(|times| *times == 1), "each node stands once below its parent");
    }

    #[test]
    fn what_fits_is_one_page() {
        let tree = samples::tree(&samples::complete(150, 3), |_| Some("EXPLORE"));
        let pages = cut(&tree, 150);
        assert_eq!(pages.all().len(), 1);
        assert_eq!((pages.all()[0].shown, pages.all()[0].hidden), (150, 0));
        let none = samples::build(&[]);
        assert_eq!(cut(&none, 150).all().len(), 1);
    }

    #[test]
    fn a_large_tree_is_an_overview_and_branches() {
        let tree = samples::tree(&samples::complete(1000, 3), |_| Some("EXPLORE"));
        let pages = cut(&tree, 150);
        let [overview, branches @ ..] = pages.all() else { panic!() };
        assert_eq!((overview.shown, overview.hidden), (142, 858));
        let sizes: Vec<usize> = branches.iter().map(|branch| branch.shown).collect();
        assert_eq!(sizes, vec![40; 22]);
        assert_eq!(pages.neighbours(1), (None, Some(2)));
        assert_eq!(pages.neighbours(branches.len()), (Some(branches.len() - 1), None));
    }

    #[test]
    fn a_few_middling_branches_stand_beside_each_other() {
        // A root with five children, each with ten nodes below: a part of them alone would not be an overview.
        let parents: Vec<Option<usize>> = [None]
            .into_iter()
            .chain((0..5).flat_map(|branch| [Some(0)].into_iter().chain(vec![Some(1 + branch * 11); 10])))
            .collect();
        let tree = samples::tree(&parents, |_| Some("EXPLORE"));
        let pages = cut(&tree, 40);
        let shown: Vec<usize> = pages.all().iter().map(|page| page.shown).collect();
        assert_eq!(shown, [36, 11, 11], "all five are on the overview, three of them whole");
    }

    #[test]
    fn a_wide_family_is_spread_evenly() {
        let wide: Vec<Option<usize>> = (0..1001_usize).map(|node| node.checked_sub(1).map(|_| 0)).collect();
        let tree = samples::tree(&wide, |_| Some("EXPLORE"));
        let pages = cut(&tree, 150);
        let shown: Vec<usize> = pages.all().iter().map(|page| page.shown).collect();
        assert_eq!(shown, [144, 144, 144, 144, 144, 144, 143]);
        assert_eq!(pages.all()[2].part, (3, 7));
        let roots = samples::tree(&vec![None; 301], |_| Some("EXPLORE"));
        assert_eq!(cut(&roots, 150).all().len(), 3);
    }

    #[test]
    fn a_deep_chain_goes_on_from_page_to_page() {
        let chain: Vec<Option<usize>> = (0..5000_usize).map(|node| node.checked_sub(1)).collect();
        let tree = samples::tree(&chain, |_| Some("EXPLORE"));
        assert_eq!(cut(&tree, 150).all().len(), 34);
    }

    #[test]
    fn the_way_to_a_checked_solution_is_on_the_overview() {
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
        assert!(pages.homes().any(|home| home == (checked[0], 0)));
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
