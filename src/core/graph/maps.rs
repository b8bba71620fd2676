//! Maps, which divide an investigation of any size into pages.
//!
//! Up to [`MOST_CARDS`] nodes are drawn as cards. Larger numbers are drawn as an icicle, in which branches that are
//! too narrow to read are merged. Parts of a map get their own pages in the same way, so each node has a card or cell
//! on some page.
//!
//! # Guarantees
//!
//! - Every page can be reached from the first page through links to parts.
//! - A page is divided into branches that each contain at most half of its nodes, except for a trunk longer than the
//!   rows of a page.
//! - An icicle has about [`MOST_CELLS`] cells and about [`MOST_PARTS`] parts, regardless of the tree's shape.
//! - No function recurses.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};

use super::bar::{BAR, BarPart};
use super::icicle::{LINED, NARROW, REACHED};
use super::pages::{Drawn, MapPage, PagePart, Pages};
use crate::assess::Assessment;
use crate::domain::NodeId;

/// The maximum number of nodes drawn as cards.
pub(super) const MOST_CARDS: usize = 80;
/// The approximate number of cells in an icicle. Readers could not distinguish more, and each cell makes the page
/// larger.
const MOST_CELLS: usize = 160;
/// The number of cells that require as much markup as one merged branch.
const TOGETHER: usize = 3;
/// The maximum number of rows in an icicle. Everything below the last row is merged.
const MOST_ROWS: u32 = 40;
/// The minimum size of a branch that gets its own page.
const LEAST_BRANCH: usize = 24;
/// The approximate number of parts per page.
const MOST_PARTS: usize = 16;

/// A part of a page, shown as a list row.
#[derive(Clone, Debug)]
pub struct PartRow<'i> {
    /// The root of the first branch.
    pub first: &'i NodeId,
    /// The root of the last branch. Identical to `first` if there is only one branch.
    pub last: &'i NodeId,
    /// The number of nodes in this part.
    pub nodes: usize,
    /// The number of confirmed answers and the number of unrefuted answers.
    pub answers: (usize, usize),
    /// The node counts by kind. The bar's length is proportional to the number of nodes.
    pub bar: Vec<BarPart>,
    /// The index of the page that shows this part.
    pub page: Option<usize>,
}

/// Branches that still need a page.
struct Todo {
    root: Option<usize>,
    tops: Vec<usize>,
    up: Option<usize>,
    group: Option<usize>,
}

impl<'i> Pages<'i> {
    /// Builds all maps. The first map shows the whole investigation.
    pub fn new(assessment: &Assessment<'i>) -> Self {
        let mut pages = Pages::nodes_only(assessment);
        let mut groups: HashMap<Option<usize>, usize> = HashMap::new();
        let roots = pages.children(None).collect();
        let mut todo = VecDeque::from([Todo { root: None, tops: roots, up: None, group: None }]);
        while let Some(Todo { root, tops, up, group }) = todo.pop_front() {
            let number = pages.pages.len();
            let mut page = pages.map(root, tops, up, group);
            let next = number + 1 + todo.len();
            for (next, part) in (next..).zip(&mut page.parts) {
                part.page = Some(next);
                let (root, tops, group) = match part.tops[..] {
                    [branch] => (Some(branch), pages.children(Some(branch)).collect(), None),
                    _ => {
                        let parent = pages.items[part.tops[0]].parent;
                        let group = groups.entry(parent).or_default();
                        *group += 1;
                        (parent, part.tops.clone(), Some(*group))
                    }
                };
                todo.push_back(Todo { root, tops, up: Some(number), group });
            }
            // The root of a group is repeated as context.
            let is_context = |card: usize| group.is_some() && Some(card) == root;
            for card in page.cards.iter().filter(|card| !is_context(**card)) {
                pages.homes[*card] = number;
            }
            for together in &mut page.together {
                together.page =
                    pages.part_of(&page.parts, &together.tops).and_then(|part| page.parts[part].page);
            }
            pages.pages.push(page);
        }
        pages
    }

    /// Returns the parts of a page as rows. Parts with the most answers come first, then larger parts.
    pub fn rows(&self, page: &MapPage) -> Vec<PartRow<'i>> {
        let largest = page.parts.iter().map(|part| part.nodes).max().unwrap_or(1);
        let id = |top: Option<&usize>| top.map(|top| &self.items[*top].node.id);
        let row = |part: &PagePart| {
            Some(PartRow {
                first: id(part.tops.first())?,
                last: id(part.tops.last())?,
                nodes: part.nodes,
                answers: self.tallies.answers(&part.tops),
                bar: self.tallies.bar(&part.tops, (BAR * part.nodes).div_ceil(largest)),
                page: part.page,
            })
        };
        let mut rows: Vec<PartRow<'i>> = page.parts.iter().filter_map(row).collect();
        rows.sort_by_key(|row| Reverse((row.answers, row.nodes)));
        rows
    }

    /// Returns the nodes with a card or cell on a page, in preorder.
    pub fn shown<'p>(&'p self, page: &'p MapPage) -> impl Iterator<Item = &'i NodeId> + 'p {
        page.cards.iter().map(|card| &self.items[*card].node.id)
    }

    /// Returns the nodes that have a card or cell on a page and are not in a part with its own page, in preorder.
    pub fn alone(&self, page: &MapPage) -> Vec<&'i NodeId> {
        let mut parts =
            page.parts.iter().filter(|part| part.page.is_some()).flat_map(|part| &part.tops).peekable();
        let mut end = 0;
        let is_alone = |card: &&usize| {
            while let Some(top) = parts.next_if(|top| *top <= card) {
                end = top + self.items[*top].below + 1;
            }
            **card >= end
        };
        page.cards.iter().filter(is_alone).map(|card| &self.items[*card].node.id).collect()
    }

    /// Returns the first and last branch of a page that shows only some of the branches below its root.
    pub fn span(&self, page: &MapPage) -> Option<(&'i NodeId, &'i NodeId)> {
        page.group?;
        let id = |top: Option<&usize>| top.map(|top| &self.items[*top].node.id);
        id(page.tops.first()).zip(id(page.tops.last()))
    }

    /// Returns true if a node has a card or cell on a page.
    pub fn is_on(&self, page: &MapPage, id: &NodeId) -> bool {
        page.cards.iter().any(|card| self.items[*card].node.id == *id)
    }

    fn map(&self, root: Option<usize>, tops: Vec<usize>, up: Option<usize>, group: Option<usize>) -> MapPage {
        let nodes = usize::from(root.is_some()) + self.nodes(&tops);
        let id = root.map(|root| self.items[root].node.id.clone());
        if nodes <= MOST_CARDS {
            let cards = root.into_iter().chain(self.range(&tops)).collect();
            return MapPage { group, tops, ..MapPage::of_cards(id, up, cards) };
        }
        let first = root.or(tops.first().copied()).map_or(0, |first| self.items[first].depth);
        let mut parts = self.divide(&tops, nodes, first + MOST_ROWS);
        let (cards, together) = self.cells(root, &tops, &parts, first + MOST_ROWS);
        // A small branch that is shown in full needs no page.
        parts.retain(|part| {
            let within = self.range(&part.tops);
            part.nodes >= LEAST_BRANCH
                || together.iter().any(|it| within.contains(&self.range(&it.tops).start))
        });
        MapPage {
            drawn: Drawn::Icicle,
            hidden: nodes - cards.len(),
            group,
            tops,
            parts,
            together,
            ..MapPage::of_cards(id, up, cards)
        }
    }

    /// Returns the index of the part that contains these branches.
    fn part_of(&self, parts: &[PagePart], tops: &[usize]) -> Option<usize> {
        let start = self.range(tops).start;
        let at = parts.partition_point(|part| self.range(&part.tops).start <= start).checked_sub(1)?;
        self.range(&parts[at].tops).contains(&start).then_some(at)
    }

    /// Returns the number of nodes in these branches.
    fn nodes(&self, tops: &[usize]) -> usize {
        self.range(tops).len()
    }

    /// Divides branches with a total of `nodes` nodes into parts. Each part is a branch that leaves the trunk, or a
    /// group of small neighbouring branches. The trunk ends before depth `end`.
    fn divide(&self, tops: &[usize], nodes: usize, end: u32) -> Vec<PagePart> {
        let least = LEAST_BRANCH.max(nodes.div_ceil(MOST_PARTS));
        let mut parts = Vec::new();
        let mut families = vec![tops.to_vec()];
        while let Some(family) = families.pop() {
            let mut run = Vec::new();
            for top in family {
                let branch = 1 + self.items[top].below;
                if branch * 2 > nodes && branch > 1 && self.items[top].depth + 1 < end {
                    self.group(&mut run, least, &mut parts);
                    families.push(self.children(Some(top)).collect());
                } else if branch >= least {
                    self.group(&mut run, least, &mut parts);
                    parts.push(self.part(vec![top]));
                } else {
                    run.push(top);
                }
            }
            self.group(&mut run, least, &mut parts);
        }
        parts.sort_by_key(|part| part.tops.first().copied());
        parts
    }

    fn part(&self, tops: Vec<usize>) -> PagePart {
        PagePart { nodes: self.nodes(&tops), tops, page: None }
    }

    /// Groups small neighbouring branches into parts of similar size.
    fn group(&self, run: &mut Vec<usize>, least: usize, parts: &mut Vec<PagePart>) {
        let nodes = self.nodes(run);
        let most = nodes.div_ceil(nodes.div_ceil(least.max(MOST_CARDS - LEAST_BRANCH)).max(1));
        let size = |top: usize| (1 + self.items[top].below) as f64;
        parts.extend(evenly(run, size, most as f64).into_iter().map(|tops| self.part(tops)));
        run.clear();
    }

    /// Returns the cells and merged branches of an icicle.
    ///
    /// Rows are filled from the top. Each row is drawn as finely as the remaining number of cells allows, and
    /// everything in the last row is merged.
    fn cells(
        &self,
        root: Option<usize>,
        tops: &[usize],
        parts: &[PagePart],
        end: u32,
    ) -> (Vec<usize>, Vec<PagePart>) {
        let leaves = tops.iter().map(|top| self.leaves[*top].1).sum::<usize>();
        let scale = NARROW / leaves.max(1) as f64;
        let mut cards: Vec<usize> = root.into_iter().collect();
        let mut together = Vec::new();
        let mut families = vec![tops.to_vec()];
        while let Some(first) = families.first().and_then(|family| family.first()) {
            let is_last = self.items[*first].depth + 1 >= end;
            let leasts = [LINED, 2.0 * LINED, 4.0 * LINED, f64::INFINITY];
            let row = leasts.into_iter().filter(|least| !is_last || least.is_infinite()).find_map(|least| {
                let row: Vec<_> =
                    families.iter().flat_map(|family| self.pieces(family, parts, scale, least)).collect();
                // Cells with children also cost an additional row.
                let cost = |(is_cell, tops): &(bool, Vec<usize>)| match self.items[tops[0]].below {
                    0 if *is_cell => 1,
                    _ => usize::from(*is_cell) + TOGETHER,
                };
                let used = cards.len() + TOGETHER * together.len() + row.iter().map(cost).sum::<usize>();
                (used <= MOST_CELLS || least.is_infinite()).then_some(row)
            });
            families.clear();
            for (is_cell, tops) in row.unwrap_or_default() {
                if !is_cell {
                    together.push(self.part(tops));
                    continue;
                }
                cards.push(tops[0]);
                if self.items[tops[0]].below > 0 {
                    families.push(self.children(Some(tops[0])).collect());
                }
            }
        }
        cards.sort_unstable();
        together.sort_by_key(|part: &PagePart| part.tops.first().copied());
        (cards, together)
    }

    /// Splits siblings into cells and into runs that are merged because their cells would be narrower than `least`.
    ///
    /// A run is wide enough to tap where possible and does not cross the border of a part.
    fn pieces(
        &self,
        family: &[usize],
        parts: &[PagePart],
        scale: f64,
        least: f64,
    ) -> Vec<(bool, Vec<usize>)> {
        let width = |item: usize| self.leaves[item].1 as f64 * scale;
        // Nodes that are not in any part belong to the trunk.
        let part = |item: usize| self.part_of(parts, &[item]);
        let is_small = |item: usize| width(item) < least && part(item).is_some();
        let mut pieces = Vec::new();
        for run in
            family.chunk_by(|one, other| is_small(*one) && is_small(*other) && part(*one) == part(*other))
        {
            if run.len() == 1 && (!is_small(run[0]) || self.items[run[0]].below == 0) {
                pieces.push((true, run.to_vec()));
                continue;
            }
            let whole: f64 = run.iter().map(|top| width(*top)).sum();
            let most = whole / (whole / REACHED).floor().max(1.0);
            pieces.extend(evenly(run, width, most).into_iter().map(|tops| (false, tops)));
        }
        pieces
    }
}

/// Splits branches into runs. Each run ends as soon as its size reaches `most`.
fn evenly(branches: &[usize], size: impl Fn(usize) -> f64, most: f64) -> Vec<Vec<usize>> {
    let (mut runs, mut run, mut sum) = (Vec::new(), Vec::new(), 0.0);
    for branch in branches {
        run.push(*branch);
        sum += size(*branch);
        // Sums of floating-point sizes are inexact.
        if sum + 1e-6 >= most {
            runs.push(std::mem::take(&mut run));
            sum = 0.0;
        }
    }
    runs.extend(Some(run).filter(|run| !run.is_empty()));
    runs
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::Investigation;
    use crate::graph::samples;

    /// Asserts all guarantees of the module.
    fn check(pages: &Pages<'_>) {
        let all = pages.all();
        for (number, page) in all.iter().enumerate() {
            assert_eq!(page.shown, page.cards.len());
            assert!(page.cards.is_sorted());
            match page.drawn {
                Drawn::Cards => {
                    assert!(page.shown <= MOST_CARDS && page.parts.is_empty() && page.hidden == 0)
                }
                Drawn::Icicle => {
                    let cells = page.shown + page.together.len();
                    assert!(cells < 2 * MOST_CELLS, "{cells} cells");
                    assert!(page.parts.len() < 4 * MOST_PARTS, "{} parts", page.parts.len());
                }
            }
            // Each node has a cell or is merged, exactly once. Each merged node has a page that shows more detail.
            let mut below: Vec<usize> = page.cards.clone();
            for together in &page.together {
                let within = pages.range(&together.tops);
                below.extend(within.clone());
                let own = &all[together.page.expect("a page of its own")];
                assert_eq!(own.up, Some(number));
                let root = own.cards.first().filter(|_| own.root.is_some()).copied();
                let shows = |item: usize| pages.range(&own.tops).contains(&item) || root == Some(item);
                assert!(within.into_iter().all(shows));
            }
            let count = below.len();
            below.sort_unstable();
            below.dedup();
            assert_eq!((count, count), (below.len(), page.shown + page.hidden));
            for part in &page.parts {
                let own = part.page.expect("a page of its own");
                assert_eq!(all[own].up, Some(number));
                let root = usize::from(all[own].group.is_some() && all[own].root.is_some());
                assert_eq!(all[own].shown + all[own].hidden, part.nodes + root);
                assert!(part.nodes < page.shown + page.hidden);
            }
        }
        // Each node is on its home page.
        for (item, home) in pages.homes.iter().enumerate() {
            assert!(all[*home].cards.binary_search(&item).is_ok());
        }
        let pages_of: Vec<usize> =
            all.iter().flat_map(|page| page.parts.iter().filter_map(|part| part.page)).collect();
        assert_eq!(pages_of.len() + 1, all.len().max(1), "each but the first is a part of one");
        let mut names: Vec<(Option<&NodeId>, Option<usize>)> =
            all.iter().map(|page| (page.root.as_ref(), page.group)).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all.len(), "no two have one name");
    }

    fn maps(investigation: &Investigation) -> Pages<'_> {
        let pages = Pages::new(&samples::assessed(investigation));
        check(&pages);
        pages
    }

    /// Returns the form, nodes and parts of each page.
    fn outline(parents: &[Option<usize>], most: usize) -> Vec<String> {
        let tree = samples::tree(parents, |_| Some("EXPLORE"));
        let pages = maps(&tree);
        let line = |page: &MapPage| {
            let name = page.root.as_ref().map_or("all", NodeId::as_str);
            let group = page.group.map_or(String::new(), |group| format!(".{group}"));
            format!(
                "{name}{group}: {:?} of {}, {} cells, {} together, {} parts",
                page.drawn,
                page.shown + page.hidden,
                page.shown,
                page.together.len(),
                page.parts.len()
            )
        };
        pages.all().iter().take(most).map(line).collect()
    }

    #[test]
    fn each_size_has_its_kind_of_map() {
        insta::assert_debug_snapshot!(outline(&samples::complete(80, 3), 9), @r#"
        [
            "all: Cards of 80, 80 cells, 0 together, 0 parts",
        ]
        "#);
        insta::assert_debug_snapshot!(outline(&samples::complete(150, 3), 9), @r#"
        [
            "all: Icicle of 150, 150 cells, 0 together, 3 parts",
            "R2.N000001: Cards of 69, 69 cells, 0 together, 0 parts",
            "R2.N000002: Cards of 40, 40 cells, 0 together, 0 parts",
            "R2.N000003: Cards of 40, 40 cells, 0 together, 0 parts",
        ]
        "#);
        insta::assert_debug_snapshot!(outline(&samples::complete(1_000, 3), 9), @r#"
        [
            "all: Icicle of 1000, 40 cells, 27 together, 3 parts",
            "R2.N000001: Icicle of 364, 40 cells, 27 together, 3 parts",
            "R2.N000002: Icicle of 364, 40 cells, 27 together, 3 parts",
            "R2.N000003: Icicle of 271, 40 cells, 27 together, 3 parts",
            "R3.N000004: Icicle of 121, 121 cells, 0 together, 3 parts",
            "R3.N000005: Icicle of 121, 121 cells, 0 together, 3 parts",
            "R3.N000006: Icicle of 121, 121 cells, 0 together, 3 parts",
            "R3.N000007: Icicle of 121, 121 cells, 0 together, 3 parts",
            "R3.N000008: Icicle of 121, 121 cells, 0 together, 3 parts",
        ]
        "#);
        insta::assert_debug_snapshot!(outline(&samples::complete(10_000, 8), 9), @r#"
        [
            "all: Icicle of 10000, 20 cells, 34 together, 8 parts",
            "R2.N000001: Icicle of 4681, 9 cells, 32 together, 8 parts",
            "R2.N000002: Icicle of 1808, 29 cells, 26 together, 6 parts",
            "R2.N000003: Icicle of 585, 9 cells, 32 together, 8 parts",
            "R2.N000004: Icicle of 585, 9 cells, 32 together, 8 parts",
            "R2.N000005: Icicle of 585, 9 cells, 32 together, 8 parts",
            "R2.N000006: Icicle of 585, 9 cells, 32 together, 8 parts",
            "R2.N000007: Icicle of 585, 9 cells, 32 together, 8 parts",
            "R2.N000008: Icicle of 585, 9 cells, 32 together, 8 parts",
        ]
        "#);
    }

    #[test]
    fn odd_shapes_can_be_read_too() {
        let star: Vec<Option<usize>> = (0..5_000_usize).map(|node| node.checked_sub(1).map(|_| 0)).collect();
        insta::assert_debug_snapshot!(outline(&star, 3), @r#"
        [
            "all: Icicle of 5000, 1 cells, 32 together, 16 parts",
            "R1.N000000.1: Icicle of 314, 1 cells, 30 together, 6 parts",
            "R1.N000000.2: Icicle of 314, 1 cells, 30 together, 6 parts",
        ]
        "#);
        let chain: Vec<Option<usize>> = (0..5_000_usize).map(|node| node.checked_sub(1)).collect();
        insta::assert_debug_snapshot!(outline(&chain, 4), @r#"
        [
            "all: Icicle of 5000, 39 cells, 1 together, 1 parts",
            "R40.N000039: Icicle of 4961, 39 cells, 1 together, 1 parts",
            "R79.N000078: Icicle of 4922, 39 cells, 1 together, 1 parts",
            "R118.N000117: Icicle of 4883, 39 cells, 1 together, 1 parts",
        ]
        "#);
        insta::assert_debug_snapshot!(outline(&vec![None; 300], 3), @r#"
        [
            "all: Icicle of 300, 0 cells, 30 together, 6 parts",
            "all.1: Cards of 50, 50 cells, 0 together, 0 parts",
            "all.2: Cards of 50, 50 cells, 0 together, 0 parts",
        ]
        "#);
        // A large number of branches, each large enough for its own page.
        let wide: Vec<Option<usize>> = (0..12_000_usize)
            .map(|node| match node {
                0 => None,
                node if node % 30 == 1 => Some(0),
                node => Some(node - (node + 29) % 30),
            })
            .collect();
        insta::assert_debug_snapshot!(outline(&wide, 3), @r#"
        [
            "all: Icicle of 12000, 1 cells, 32 together, 16 parts",
            "R1.N000000.1: Icicle of 751, 26 cells, 25 together, 13 parts",
            "R1.N000000.2: Icicle of 751, 26 cells, 25 together, 13 parts",
        ]
        "#);
    }

    #[test]
    fn branches_with_answers_come_first() {
        // Three branches with 30, 40 and 50 nodes. The smallest has a confirmed answer, and the next an unconfirmed
        // one.
        let mut parents = vec![None];
        let mut answers = Vec::new();
        for (branch, size) in [50, 40, 30].into_iter().enumerate() {
            let top = parents.len();
            parents.push(Some(0));
            parents.extend(vec![Some(top); size - 2]);
            let answer = parents.len();
            parents.push(Some(top));
            answers.push(answer);
            if branch == 2 {
                parents.push(Some(answer));
            }
        }
        let last = parents.len() - 1;
        let tree = samples::tree(&parents, |node| match node {
            node if node == last => Some("VERIFY"),
            node if answers[1..].contains(&node) => Some("FOUND"),
            _ => Some("EXPLORE"),
        });
        let pages = maps(&tree);
        let rows = pages.rows(&pages.all()[0]);
        let seen: Vec<_> = rows.iter().map(|row| (row.nodes, row.answers)).collect();
        assert_eq!(seen, [(31, (1, 1)), (40, (0, 1)), (50, (0, 0))]);
        let ends: Vec<usize> =
            rows.iter().map(|row| row.bar.last().map_or(0, |part| part.x + part.width)).collect();
        assert_eq!(ends, [620, 800, 1_000]);
        assert_eq!(pages.best(), Some(&pages.items[answers[2]].node.id));
    }

    proptest! {
        #![proptest_config(crate::testing::sampled(24))]

        #[test]
        fn any_tree_has_maps(picks in prop::collection::vec(any::<u32>(), 0..4_000), reach in 1_usize..900, roots in 2_u32..400) {
            let parents: Vec<Option<usize>> = picks
                .iter()
                .enumerate()
                .map(|(node, pick)| match node {
                    0 => None,
                    _ if pick % roots == 0 => None,
                    node => Some(node - 1 - *pick as usize % reach.min(node)),
                })
                .collect();
            maps(&samples::tree(&parents, |_| Some("EXPLORE")));
        }
    }
}
