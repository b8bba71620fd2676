//! Computes the position of each card in a tree. Only this module uses layout-rs.
//!
//! layout-rs places each card one column to the right of its parent and picks a vertical position that avoids overlaps
//! and stays close to the parent. Lines between cards in preorder do not cross, so the slow search for a better order
//! is skipped.
//!
//! # Limitations
//!
//! - Time grows with nearly the cube of the number of cards. A picture has at most `tree::MOST_CARDS` cards.
//! - For each line, layout-rs checks whether it closes a cycle. This check can take exponential time, but is fast if
//!   the lines are sorted by parent.
//! - layout-rs panics if there are no cards.

use layout::core::base::Orientation;
use layout::core::geometry::{Point, Position};
use layout::core::style::StyleAttr;
use layout::std_shapes::shapes::{Arrow, Element, ShapeKind};
use layout::topo::layout::VisualGraph;
use layout::topo::placer::Placer;

/// The position and size of a card.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bounds {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

/// The minimum distances between cards.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gaps {
    /// The distance between columns.
    pub columns: f64,
    /// The distance between cards in one column.
    pub cards: f64,
}

/// Returns the bounds of each card, with the top left corner of the forest at (0, 0). The forest is given in preorder,
/// so a parent's index is lower than its children's.
pub(super) fn places(parents: &[Option<usize>], width: f64, heights: &[f64], gaps: Gaps) -> Vec<Bounds> {
    if heights.is_empty() {
        return Vec::new();
    }
    let mut graph = VisualGraph::new(Orientation::LeftToRight);
    // Do not validate the library's own results.
    graph.dag.set_validate(false);
    let halo = Point::new(gaps.columns, gaps.cards);
    let card = |height: &f64| {
        let size = Point::new(width, *height);
        let shape = ShapeKind::Box(String::new());
        let mut card = Element::create(shape, StyleAttr::simple(), Orientation::LeftToRight, size);
        card.pos = Position::new(Point::zero(), size, Point::zero(), halo);
        card
    };
    let cards: Vec<_> = heights.iter().map(|height| graph.add_node(card(height))).collect();
    let mut lines: Vec<(usize, usize)> =
        parents.iter().enumerate().filter_map(|(child, parent)| Some(((*parent)?, child))).collect();
    lines.sort_unstable();
    for (parent, child) in lines {
        graph.add_edge(Arrow::simple(""), cards[parent], cards[child]);
    }
    graph.to_valid_dag();
    graph.split_long_edges(true);
    Placer::new(&mut graph).layout(false);

    let corners: Vec<Point> = cards.iter().map(|card| graph.pos(*card).bbox(false).0).collect();
    let left = corners.iter().map(|corner| corner.x).fold(f64::INFINITY, f64::min);
    let top = corners.iter().map(|corner| corner.y).fold(f64::INFINITY, f64::min);
    let place = |(corner, height): (&Point, &f64)| Bounds {
        x: (corner.x - left).round(),
        y: corner.y - top,
        width,
        height: *height,
    };
    corners.iter().zip(heights).map(place).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GAPS: Gaps = Gaps { columns: 50.0, cards: 10.0 };

    #[test]
    fn nothing_and_one_card_are_placed() {
        assert!(places(&[], 100.0, &[], GAPS).is_empty());
        assert_eq!(
            places(&[None], 100.0, &[40.0], GAPS),
            [Bounds { x: 0.0, y: 0.0, width: 100.0, height: 40.0 }]
        );
    }

    proptest! {
        /// No two cards overlap, a child is one column right of its parent, and no lines cross.
        #[test]
        fn a_tree_is_placed_in_columns(
            steps in prop::collection::vec((0.0..1.0_f64, 30.0..90.0_f64), 1..80),
            chance in 0.0..1.0_f64,
        ) {
            let mut way: Vec<usize> = Vec::new();
            let mut parents: Vec<Option<usize>> = Vec::new();
            for (at, (step, _)) in steps.iter().enumerate() {
                let up = if *step < chance { 0 } else { (step * 7.0) as usize };
                way.truncate(way.len().saturating_sub(up));
                parents.push(way.last().copied());
                way.push(at);
            }
            let heights: Vec<f64> = steps.iter().map(|(_, height)| height.round()).collect();
            let placed = places(&parents, 100.0, &heights, GAPS);
            for (at, one) in placed.iter().enumerate() {
                let column = parents[at].map_or(0.0, |parent| placed[parent].x + 150.0);
                prop_assert_eq!(one.x, column);
                for other in placed[..at].iter().filter(|other| other.x == one.x) {
                    prop_assert!(one.y >= other.y + other.height + GAPS.cards - 0.1, "{:?} {:?}", one, other);
                }
            }
        }
    }
}
