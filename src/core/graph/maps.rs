//! Maps of an investigation of any size: each page is drawn in the way that can still be read with as many nodes as it has.
//!
//! Up to [`MOST_CARDS`] nodes have a card each. Up to [`MOST_CELLS`] are an icicle, which shows all of them in little. More
//! are a bar for each branch. What is a part of one of the latter two has a page of its own, to which the same applies, so that
//! each node stands on a page of cards or in an icicle, or in a row of its own.
//!
//! # Guarantees
//!
//! - From the first page, each is reached by the parts of those above it.
//! - A page that has a cell for each node divides into branches that have at most half of its nodes: all pages together have
//!   no more cells than nodes times the logarithm of their number.
//! - A page of bars has at most [`MOST_ROWS`] parts or so, whatever the shape of the tree.
//! - The time is linear in the cells, and nothing recurses.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};

use super::bar::{BAR, BarPart};
use super::pages::{Drawn, Page, Pages, Part};
use crate::assess::Assessment;
use crate::domain::NodeId;

/// Nodes that are drawn as cards.
pub(super) const MOST_CARDS: usize = 80;
/// Nodes that are drawn as an icicle.
const MOST_CELLS: usize = 2_000;
/// Nodes that a branch must have for a page of its own where all of them are shown already.
const LEAST_BRANCH: usize = 24;
/// Rows of a page of bars: below the first the largest branches are divided further, above the other they are joined.
const FEW_ROWS: usize = 12;
const MOST_ROWS: usize = 120;
/// Nodes of a page of bars that are followed down while most of the rest is below them.
const LONGEST_TRUNK: usize = 60;

/// A part of a page, as a row of a list.
#[derive(Clone, Debug)]
pub struct Row<'i> {
    /// Where it begins; of branches beside each other, the first and the last.
    pub first: &'i NodeId,
    /// The last one; the same where it is one branch.
    pub last: &'i NodeId,
    /// How many nodes are in it.
    pub nodes: usize,
    /// How many answers that stand are in it: confirmed ones, and all.
    pub answers: (usize, usize),
    /// What they are; as long beside the others as it has nodes.
    pub bar: Vec<BarPart>,
    /// Its own page.
    pub page: Option<usize>,
}

/// What is still to be made a page of.
struct Todo {
    root: Option<usize>,
    tops: Vec<usize>,
    up: Option<usize>,
    group: Option<usize>,
}

impl<'i> Pages<'i> {
    /// The maps: first that of the whole.
    pub fn maps(assessment: &Assessment<'i>) -> Self {
        let mut pages = Pages::none(assessment);
        let mut groups: HashMap<Option<usize>, usize> = HashMap::new();
        let roots = pages.children(None).collect();
        let mut todo = VecDeque::from([Todo { root: None, tops: roots, up: None, group: None }]);
        while let Some(Todo { root, tops, up, group }) = todo.pop_front() {
            let number = pages.pages.len();
            let mut page = pages.map(root, tops, up, group);
            let mut next = number + 1 + todo.len();
            for part in &mut page.parts {
                // What has nothing below it has no page.
                if part.nodes == 1 {
                    part.page = None;
                    continue;
                }
                part.page = Some(next);
                next += 1;
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
            // The root of a group is there for its context alone.
            let is_context = |card: usize| group.is_some() && Some(card) == root;
            for card in page.cards.iter().filter(|card| !is_context(**card)) {
                pages.homes[*card] = number;
            }
            pages.pages.push(page);
        }
        pages
    }

    /// The parts of a page as rows: those with most answers first, then the largest.
    pub fn rows(&self, page: &Page) -> Vec<Row<'i>> {
        let largest = page.parts.iter().map(|part| part.nodes).max().unwrap_or(1);
        let id = |top: Option<&usize>| top.map(|top| &self.items[*top].node.id);
        let row = |part: &Part| {
            Some(Row {
                first: id(part.tops.first())?,
                last: id(part.tops.last())?,
                nodes: part.nodes,
                answers: self.tallies.answers(&part.tops),
                bar: self.bar(&part.tops, (BAR * part.nodes).div_ceil(largest)),
                page: part.page,
            })
        };
        let mut rows: Vec<Row<'i>> = page.parts.iter().filter_map(row).collect();
        rows.sort_by_key(|row| Reverse((row.answers, row.nodes)));
        rows
    }

    /// The nodes that stand on a page themselves, in preorder.
    pub fn shown<'p>(&'p self, page: &'p Page) -> impl Iterator<Item = &'i NodeId> + 'p {
        page.cards.iter().map(|card| &self.items[*card].node.id)
    }

    /// The nodes on a page that are in no part with a page of its own, in preorder.
    pub fn alone(&self, page: &Page) -> Vec<&'i NodeId> {
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

    /// Of a page that has only a part of what is below its root: the first and the last of its branches.
    pub fn span(&self, page: &Page) -> Option<(&'i NodeId, &'i NodeId)> {
        page.group?;
        let id = |top: Option<&usize>| top.map(|top| &self.items[*top].node.id);
        id(page.tops.first()).zip(id(page.tops.last()))
    }

    /// Whether a node stands on a page itself.
    pub fn is_on(&self, page: &Page, id: &NodeId) -> bool {
        page.cards.iter().any(|card| self.items[*card].node.id == *id)
    }

    fn map(&self, root: Option<usize>, tops: Vec<usize>, up: Option<usize>, group: Option<usize>) -> Page {
        let nodes = usize::from(root.is_some()) + self.nodes(&tops);
        let drawn = if nodes <= MOST_CARDS {
            Drawn::Cards
        } else if nodes <= MOST_CELLS {
            Drawn::Icicle
        } else {
            Drawn::Bars
        };
        let (trunk, parts) = match drawn {
            Drawn::Cards => (Vec::new(), Vec::new()),
            _ => self.divide(&tops, nodes, drawn),
        };
        let mut cards = match drawn {
            Drawn::Bars => {
                let alone = parts.iter().filter(|part| part.nodes == 1).flat_map(|part| &part.tops);
                trunk.iter().chain(alone).copied().collect()
            }
            _ => tops.iter().flat_map(|top| *top..=top + self.items[*top].below).collect::<Vec<usize>>(),
        };
        cards.extend(root);
        cards.sort_unstable();
        Page {
            drawn,
            hidden: nodes - cards.len(),
            group,
            tops,
            parts,
            ..Page::of_cards(root.map(|root| self.items[root].node.id.clone()), up, cards)
        }
    }

    /// How many nodes are in these branches.
    fn nodes(&self, tops: &[usize]) -> usize {
        tops.iter().map(|top| 1 + self.items[*top].below).sum()
    }

    /// The parts of branches with so many nodes, and the nodes that are in none of them.
    fn divide(&self, tops: &[usize], nodes: usize, drawn: Drawn) -> (Vec<usize>, Vec<Part>) {
        let is_bars = drawn == Drawn::Bars;
        let longest = if is_bars { LONGEST_TRUNK } else { usize::MAX };
        let (mut trunk, mut parts) = (Vec::new(), Vec::new());
        let mut families = vec![tops.to_vec()];
        while let Some(family) = families.pop() {
            let mut run = Vec::new();
            for top in family {
                let branch = 1 + self.items[top].below;
                if branch * 2 > nodes && branch > 1 && trunk.len() < longest {
                    self.group(&mut run, &mut parts);
                    trunk.push(top);
                    families.push(self.children(Some(top)).collect());
                } else if branch >= LEAST_BRANCH {
                    self.group(&mut run, &mut parts);
                    parts.push(self.part(vec![top]));
                } else {
                    run.push(top);
                }
            }
            self.group(&mut run, &mut parts);
        }
        if is_bars {
            self.open_largest(&mut trunk, &mut parts);
            parts.sort_by_key(|part| part.tops.first().copied());
            parts = self.join(parts);
        } else {
            // All of them are on the page already.
            parts.retain(|part| part.nodes >= LEAST_BRANCH);
            parts.sort_by_key(|part| part.tops.first().copied());
        }
        (trunk, parts)
    }

    fn part(&self, tops: Vec<usize>) -> Part {
        Part { nodes: self.nodes(&tops), tops, page: None }
    }

    /// Small branches beside each other, in parts that fit a page of cards, evenly.
    fn group(&self, run: &mut Vec<usize>, parts: &mut Vec<Part>) {
        let nodes = self.nodes(run);
        let most = nodes.div_ceil(nodes.div_ceil(MOST_CARDS - LEAST_BRANCH).max(1));
        let mut tops: Vec<usize> = Vec::new();
        for top in run.drain(..) {
            tops.push(top);
            if self.nodes(&tops) >= most {
                parts.push(self.part(std::mem::take(&mut tops)));
            }
        }
        if !tops.is_empty() {
            parts.push(self.part(tops));
        }
    }

    /// Divides the largest branches until there are a few rows.
    fn open_largest(&self, trunk: &mut Vec<usize>, parts: &mut Vec<Part>) {
        while parts.len() < FEW_ROWS && trunk.len() < 2 * LONGEST_TRUNK {
            let branches = parts.iter().enumerate().filter(|(_, part)| part.tops.len() == 1);
            let largest =
                branches.filter(|(_, part)| part.nodes > 2 * MOST_CARDS).max_by_key(|(_, part)| part.nodes);
            let Some((at, _)) = largest else { break };
            let Part { tops, .. } = parts.swap_remove(at);
            let mut run = Vec::new();
            for child in self.children(tops.first().copied()) {
                if self.items[child].below + 1 >= LEAST_BRANCH {
                    self.group(&mut run, parts);
                    parts.push(self.part(vec![child]));
                } else {
                    run.push(child);
                }
            }
            self.group(&mut run, parts);
            trunk.extend(tops);
        }
    }

    /// Where there are too many, neighbours below one node are joined.
    fn join(&self, parts: Vec<Part>) -> Vec<Part> {
        if parts.len() <= MOST_ROWS {
            return parts;
        }
        let enough = parts.iter().map(|part| part.nodes).sum::<usize>().div_ceil(MOST_ROWS / 2);
        let parent = |part: &Part| part.tops.first().and_then(|top| self.items[*top].parent);
        let mut joined: Vec<Part> = Vec::new();
        for part in parts {
            match joined.last_mut() {
                Some(last) if last.nodes < enough && parent(last) == parent(&part) => {
                    last.nodes += part.nodes;
                    last.tops.extend(part.tops);
                }
                _ => joined.push(part),
            }
        }
        joined
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::Investigation;
    use crate::graph::samples;

    /// Everything that maps promise.
    fn check(pages: &Pages<'_>) {
        let all = pages.all();
        let mut cells = 0;
        for (number, page) in all.iter().enumerate() {
            assert_eq!(page.shown, page.cards.len());
            assert!(page.cards.is_sorted());
            match page.drawn {
                Drawn::Cards => {
                    assert!(page.shown <= MOST_CARDS && page.parts.is_empty() && page.hidden == 0)
                }
                Drawn::Icicle => {
                    assert!(page.shown <= MOST_CELLS && page.hidden == 0);
                    cells += page.shown;
                }
                Drawn::Bars => {
                    assert!(page.shown + page.parts.len() < 4 * MOST_ROWS, "{} rows", page.parts.len())
                }
            }
            for part in &page.parts {
                let Some(own) = part.page else {
                    assert_eq!(part.nodes, 1);
                    continue;
                };
                assert_eq!(all[own].up, Some(number));
                let root = usize::from(all[own].group.is_some() && all[own].root.is_some());
                assert_eq!(all[own].shown + all[own].hidden, part.nodes + root);
                assert!(part.nodes < page.shown + page.hidden);
            }
        }
        let nodes = pages.items.len();
        assert!(cells <= nodes * (nodes.max(2).ilog2() as usize + 1), "{cells} cells of {nodes} nodes");
        // Each node stands on the page that is said to be its own.
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
        let pages = Pages::maps(&samples::assessed(investigation));
        check(&pages);
        pages
    }

    /// How each page is drawn, with how many nodes, and in how many parts.
    fn outline(parents: &[Option<usize>], most: usize) -> Vec<String> {
        let tree = samples::tree(parents, |_| Some("EXPLORE"));
        let pages = maps(&tree);
        let line = |page: &Page| {
            let name = page.root.as_ref().map_or("all", NodeId::as_str);
            let group = page.group.map_or(String::new(), |group| format!(".{group}"));
            format!(
                "{name}{group}: {:?} of {}, {} parts",
                page.drawn,
                page.shown + page.hidden,
                page.parts.len()
            )
        };
        pages.all().iter().take(most).map(line).collect()
    }

    #[test]
    fn each_size_has_its_kind_of_map() {
        insta::assert_debug_snapshot!(outline(&samples::complete(80, 3), 9), @r#"
        [
            "all: Cards of 80, 0 parts",
        ]
        "#);
        insta::assert_debug_snapshot!(outline(&samples::complete(150, 3), 9), @r#"
        [
            "all: Icicle of 150, 3 parts",
            "R2.N000001: Cards of 69, 0 parts",
            "R2.N000002: Cards of 40, 0 parts",
            "R2.N000003: Cards of 40, 0 parts",
        ]
        "#);
        insta::assert_debug_snapshot!(outline(&samples::complete(1_000, 3), 9), @r#"
        [
            "all: Icicle of 1000, 3 parts",
            "R2.N000001: Icicle of 364, 3 parts",
            "R2.N000002: Icicle of 364, 3 parts",
            "R2.N000003: Icicle of 271, 3 parts",
            "R3.N000004: Icicle of 121, 3 parts",
            "R3.N000005: Icicle of 121, 3 parts",
            "R3.N000006: Icicle of 121, 3 parts",
            "R3.N000007: Icicle of 121, 3 parts",
            "R3.N000008: Icicle of 121, 3 parts",
        ]
        "#);
        insta::assert_debug_snapshot!(outline(&samples::complete(10_000, 8), 9), @r#"
        [
            "all: Bars of 10000, 15 parts",
            "R3.N000009: Icicle of 585, 8 parts",
            "R3.N000010: Icicle of 585, 8 parts",
            "R3.N000011: Icicle of 585, 8 parts",
            "R3.N000012: Icicle of 585, 8 parts",
            "R3.N000013: Icicle of 585, 8 parts",
            "R3.N000014: Icicle of 585, 8 parts",
            "R3.N000015: Icicle of 585, 8 parts",
            "R3.N000016: Icicle of 585, 8 parts",
        ]
        "#);
    }

    #[test]
    fn odd_shapes_can_be_read_too() {
        let star: Vec<Option<usize>> = (0..5_000_usize).map(|node| node.checked_sub(1).map(|_| 0)).collect();
        insta::assert_debug_snapshot!(outline(&star, 3), @r#"
        [
            "all: Bars of 5000, 90 parts",
            "R1.N000000.1: Cards of 57, 0 parts",
            "R1.N000000.2: Cards of 57, 0 parts",
        ]
        "#);
        let chain: Vec<Option<usize>> = (0..5_000_usize).map(|node| node.checked_sub(1)).collect();
        insta::assert_debug_snapshot!(outline(&chain, 4), @r#"
        [
            "all: Bars of 5000, 1 parts",
            "R121.N000120: Bars of 4880, 1 parts",
            "R242.N000241: Bars of 4759, 1 parts",
            "R363.N000362: Bars of 4638, 1 parts",
        ]
        "#);
        let roots = vec![None; 300];
        insta::assert_debug_snapshot!(outline(&roots, 3), @r#"
        [
            "all: Icicle of 300, 6 parts",
            "all.1: Cards of 50, 0 parts",
            "all.2: Cards of 50, 0 parts",
        ]
        "#);
        // Very many branches, each large enough for a page.
        let wide: Vec<Option<usize>> = (0..12_000_usize)
            .map(|node| match node {
                0 => None,
                node if node % 30 == 1 => Some(0),
                node => Some(node - (node + 29) % 30),
            })
            .collect();
        insta::assert_debug_snapshot!(outline(&wide, 3), @r#"
        [
            "all: Bars of 12000, 58 parts",
            "R1.N000000.1: Icicle of 211, 7 parts",
            "R1.N000000.2: Icicle of 211, 7 parts",
        ]
        "#);
    }

    #[test]
    fn branches_with_answers_come_first() {
        // Three branches of 30, 40 and 50 nodes; the smallest has a confirmed answer, the next one that is not.
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
