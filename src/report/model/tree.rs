//! The tree as the rows of a nested list.

use std::sync::Arc;

use serde::Serialize;

use super::cards::{Card, Cards};
use crate::domain::Node;
use crate::report::history::History;
use crate::report::templates::SharedValue;

/// One row of the nested list, with the number of lists to close after it.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct OutlineRow {
    pub card: SharedValue<Card>,
    pub has_children: bool,
    /// The number of lists that end after this item.
    pub closes: usize,
    /// The number of the newest commit that changed the node.
    pub changed: usize,
}

impl<'a> Cards<'a> {
    pub(super) fn outline(&self, history: &History) -> Vec<OutlineRow> {
        let order = self.investigation.preorder();
        let rounds: Vec<usize> = order.iter().map(|node| node.round() as usize).collect();
        let row = |(at, node): (usize, &&Arc<Node>)| {
            let next = rounds.get(at + 1).copied().unwrap_or(1);
            Some(OutlineRow {
                card: self.card(node)?,
                has_children: next > rounds[at],
                closes: rounds[at].saturating_sub(next),
                changed: history.changed([&node.id]),
            })
        };
        order.iter().enumerate().filter_map(row).collect()
    }
}
