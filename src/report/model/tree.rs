//! The tree, as the rows of a nested list.

use serde::Serialize;

use super::cards::{Card, Cards};
use crate::report::templates::SharedValue;

/// One row of the nested list: an item, and the lists that end behind it.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct OutlineRow {
    pub card: SharedValue<Card>,
    pub has_children: bool,
    /// How many lists end after this item.
    pub closes: usize,
}

impl<'a> Cards<'a> {
    pub(super) fn outline(&self) -> Vec<OutlineRow> {
        let order = self.investigation.preorder();
        let rounds: Vec<usize> = order.iter().map(|node| node.round() as usize).collect();
        order
            .iter()
            .enumerate()
            .filter_map(|(at, node)| {
                let next = rounds.get(at + 1).copied().unwrap_or(1);
                Some(OutlineRow {
                    card: self.card(node)?,
                    has_children: next > rounds[at],
                    closes: rounds[at].saturating_sub(next),
                })
            })
            .collect()
    }
}
