//! The place of each card: a tidy tree, drawn sideways, in time linear in the number of nodes.
//!
//! The columns are given by the depth; this module computes the height of each card in its column.
//! It is the algorithm of Buchheim, Jünger and Leipert (2002): subtrees are placed from the bottom of the tree up,
//! each pushed against the contour of those above it, and the contours are kept as threads through the leaves.
//! Cards in one column are in the order of their parents, at least a gap apart; a parent is in the middle
//! between its first and its last child. Nothing here recurses, so a chain may be of any depth.

use std::ops::Range;

/// The place and the size of a card.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bounds {
    /// The left edge.
    pub x: f64,
    /// The top edge.
    pub y: f64,
    /// From left to right.
    pub width: f64,
    /// From top to bottom.
    pub height: f64,
}

/// Free space between two cards in one column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gaps {
    /// The gap between children of one parent.
    pub siblings: f64,
    /// Between children of different parents.
    pub cousins: f64,
}

/// The top of each card, the highest at 0. The forest is given in preorder: a parent's index is below its
/// children's.
pub(super) fn tops(parents: &[Option<usize>], heights: &[f64], gaps: Gaps) -> Vec<f64> {
    let mut tidy = Tidy::new(parents, heights, gaps);
    // Backwards through the preorder, every subtree is finished before its parent needs it; the root of the roots,
    // which is not drawn, comes last.
    for node in (0..parents.len()).rev().chain([parents.len()]) {
        tidy.arrange_children(node);
    }
    let mut moved = vec![0.0; parents.len() + 1];
    let mut tops = Vec::with_capacity(parents.len());
    for node in 0..parents.len() {
        let parent = tidy.parents[node];
        moved[node] = moved[parent] + tidy.modifier[parent];
        tops.push(tidy.centre[node] + moved[node] - tidy.heights[node] / 2.0);
    }
    let highest = tops.iter().copied().fold(f64::INFINITY, f64::min);
    for top in &mut tops {
        *top -= highest;
    }
    tops
}

struct Tidy {
    gaps: Gaps,
    parents: Vec<usize>,
    heights: Vec<f64>,
    /// The children of all nodes, one parent's after another's.
    children: Vec<usize>,
    /// The part of `children` that is a node's own.
    own: Vec<Range<usize>>,
    /// The place of a node among its siblings.
    rank: Vec<usize>,
    /// The middle of a node's children, as its own subtree sees them.
    middle: Vec<f64>,
    /// The node's centre, as its parent's subtree sees it.
    centre: Vec<f64>,
    /// The distance by which everything below the node is to be moved.
    modifier: Vec<f64>,
    /// The next node of a contour, where a leaf ends its own subtree's.
    thread: Vec<Option<usize>>,
    /// The child in whose subtree a contour's node is.
    ancestor: Vec<usize>,
    /// Moves that are still to be spread over the siblings in between.
    shift: Vec<f64>,
    change: Vec<f64>,
}

impl Tidy {
    fn new(parents: &[Option<usize>], heights: &[f64], gaps: Gaps) -> Self {
        let top = parents.len();
        let parents: Vec<usize> = parents.iter().map(|parent| parent.unwrap_or(top)).chain([top]).collect();
        let mut count = vec![0_usize; top + 1];
        let mut rank = vec![0; top + 1];
        for node in 0..top {
            rank[node] = count[parents[node]];
            count[parents[node]] += 1;
        }
        let mut first = 0;
        let own: Vec<Range<usize>> = count
            .iter()
            .map(|count| {
                let range = first..first + count;
                first = range.end;
                range
            })
            .collect();
        let mut children = vec![0; top];
        for node in 0..top {
            children[own[parents[node]].start + rank[node]] = node;
        }
        Tidy {
            gaps,
            heights: heights.iter().copied().chain([0.0]).collect(),
            children,
            own,
            rank,
            middle: vec![0.0; top + 1],
            centre: vec![0.0; top + 1],
            modifier: vec![0.0; top + 1],
            thread: vec![None; top + 1],
            ancestor: (0..=top).collect(),
            shift: vec![0.0; top + 1],
            change: vec![0.0; top + 1],
            parents,
        }
    }

    fn arrange_children(&mut self, parent: usize) {
        let own = self.own[parent].clone();
        if own.is_empty() {
            return;
        }
        let (first, last) = (self.children[own.start], self.children[own.end - 1]);
        let mut widest = first;
        for at in own.clone() {
            let child = self.children[at];
            if at == own.start {
                self.centre[child] = self.middle[child];
                continue;
            }
            let above = self.children[at - 1];
            self.centre[child] = self.centre[above] + self.distance(above, child);
            if !self.own[child].is_empty() {
                self.modifier[child] = self.centre[child] - self.middle[child];
            }
            widest = self.push_apart(first, above, child, widest);
        }
        let (mut shift, mut change) = (0.0, 0.0);
        for at in own.rev() {
            let child = self.children[at];
            self.centre[child] += shift;
            self.modifier[child] += shift;
            change += self.change[child];
            shift += self.shift[child] + change;
        }
        self.middle[parent] = (self.centre[first] + self.centre[last]) / 2.0;
    }

    /// Moves `child`'s subtree down until it is clear of all subtrees above it; returns the subtree to which the
    /// contour above belongs from now on where it is not known otherwise.
    fn push_apart(&mut self, first: usize, above: usize, child: usize, mut widest: usize) -> usize {
        // Inner and outer contours of the subtrees above and of the child's, with the sum of shifts along each.
        let (mut above_in, mut above_out, mut child_in, mut child_out) = (above, first, child, child);
        let mut above_in_sum = self.modifier[above_in];
        let mut above_out_sum = self.modifier[above_out];
        let mut child_in_sum = self.modifier[child_in];
        let mut child_out_sum = self.modifier[child_out];
        while let (Some(upper), Some(lower)) = (self.lowest(above_in), self.highest(child_in)) {
            (above_in, child_in) = (upper, lower);
            // Outer contours are at least as deep as the inner ones.
            above_out = self.highest(above_out).unwrap_or(above_out);
            child_out = self.lowest(child_out).unwrap_or(child_out);
            self.ancestor[child_out] = child;
            let missing = self.centre[upper] + above_in_sum - self.centre[lower] - child_in_sum
                + self.distance(upper, lower);
            if missing > 0.0 {
                let owner = self.ancestor[upper];
                let owner = if self.parents[owner] == self.parents[child] { owner } else { widest };
                self.move_down(owner, child, missing);
                child_in_sum += missing;
                child_out_sum += missing;
            }
            above_in_sum += self.modifier[above_in];
            above_out_sum += self.modifier[above_out];
            child_in_sum += self.modifier[child_in];
            child_out_sum += self.modifier[child_out];
        }
        if let Some(next) = self.lowest(above_in)
            && self.lowest(child_out).is_none()
        {
            self.thread[child_out] = Some(next);
            self.modifier[child_out] += above_in_sum - child_out_sum;
        }
        if let Some(next) = self.highest(child_in)
            && self.highest(above_out).is_none()
        {
            self.thread[above_out] = Some(next);
            self.modifier[above_out] += child_in_sum - above_out_sum;
            widest = child;
        }
        widest
    }

    /// Moves a subtree; the siblings between it and the one it was pushed by are to share the space evenly.
    fn move_down(&mut self, owner: usize, child: usize, by: f64) {
        let between = self.rank[child].saturating_sub(self.rank[owner]).max(1) as f64;
        self.change[child] -= by / between;
        self.shift[child] += by;
        self.change[owner] += by / between;
        self.centre[child] += by;
        self.modifier[child] += by;
    }

    fn distance(&self, upper: usize, lower: usize) -> f64 {
        let siblings = self.parents[upper] == self.parents[lower];
        let gap = if siblings { self.gaps.siblings } else { self.gaps.cousins };
        (self.heights[upper] + self.heights[lower]) / 2.0 + gap
    }

    fn highest(&self, node: usize) -> Option<usize> {
        self.children[self.own[node].clone()].first().copied().or(self.thread[node])
    }

    fn lowest(&self, node: usize) -> Option<usize> {
        self.children[self.own[node].clone()].last().copied().or(self.thread[node])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAPS: Gaps = Gaps { siblings: 10.0, cousins: 20.0 };

    #[test]
    fn nothing_and_one_card_are_placed() {
        assert!(tops(&[], &[], GAPS).is_empty());
        assert_eq!(tops(&[None], &[40.0], GAPS), [0.0]);
    }

    #[test]
    fn a_parent_stands_between_its_children() {
        assert_eq!(tops(&[None, Some(0), Some(0)], &[40.0; 3], GAPS), [25.0, 0.0, 50.0]);
    }

    #[test]
    fn small_subtrees_share_the_space_between_large_ones() {
        // Three children; the first and the last have three each.
        let parents = [None, Some(0), Some(1), Some(1), Some(1), Some(0), Some(0), Some(6), Some(6), Some(6)];
        let tops = tops(&parents, &[40.0; 10], GAPS);
        assert_eq!(tops[5] - tops[1], tops[6] - tops[5]);
        assert_eq!(tops[7] - tops[4], 60.0);
    }

    #[test]
    fn a_very_deep_chain_is_placed() {
        let parents: Vec<Option<usize>> = (0..100_000_usize).map(|node| node.checked_sub(1)).collect();
        assert!(tops(&parents, &vec![40.0; parents.len()], GAPS).iter().all(|top| *top == 0.0));
    }
}
