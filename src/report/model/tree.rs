//! The tree as the rows of a nested list.

use std::sync::Arc;

use serde::Serialize;

use super::cards::{Card, Cards};
use crate::domain::Node;
use crate::graph::{BarKind, BarPart, Tallies};
use crate::report::templates::SharedValue;

/// One row of the nested list, with the number of lists to close after it.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct OutlineRow {
    pub card: SharedValue<Card>,
    pub has_children: bool,
    /// The number of lists that end after this item.
    pub closes: usize,
    /// The node's descendants by kind, shown as a bar. Empty if there are few descendants or only one kind.
    pub bar: Vec<BarPart>,
}

/// The minimum number of descendants for a bar.
const MUCH: usize = 24;

impl<'a> Cards<'a> {
    pub(super) fn outline(&self) -> Vec<OutlineRow> {
        let order = self.investigation.preorder();
        let rounds: Vec<usize> = order.iter().map(|node| node.round() as usize).collect();
        let (below, tallies) = self.tallies(&order, &rounds);
        order
            .iter()
            .enumerate()
            .filter_map(|(at, node)| {
                let next = rounds.get(at + 1).copied().unwrap_or(1);
                let card = self.card(node)?;
                let has_bar = below[at] >= MUCH && card.child_count > 1 && self.rules.is_some();
                Some(OutlineRow {
                    card,
                    has_children: next > rounds[at],
                    closes: rounds[at].saturating_sub(next),
                    bar: if has_bar { tallies.bar(at) } else { Vec::new() },
                })
            })
            .collect()
    }

    /// Returns the number of descendants of each node, and the counts by kind.
    fn tallies(&self, order: &[&Arc<Node>], rounds: &[usize]) -> (Vec<usize>, Tallies) {
        let mut way: Vec<usize> = Vec::new();
        let mut nodes = Vec::with_capacity(order.len());
        for (at, node) in order.iter().enumerate() {
            way.truncate(rounds[at].saturating_sub(1));
            let kind = self.kind(node).unwrap_or_else(|| BarKind::of("", "", None));
            nodes.push((way.last().copied(), kind));
            way.push(at);
        }
        let mut below = vec![0; order.len()];
        for at in (0..order.len()).rev() {
            if let Some(parent) = nodes[at].0 {
                below[parent] += below[at] + 1;
            }
        }
        (below, Tallies::new(&nodes))
    }
}
