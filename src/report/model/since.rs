//! The standings of all nodes, encoded compactly. The reader's browser stores this text and compares it on the next
//! visit.

use std::collections::BTreeMap;

use super::cards::{Card, Cards};
use crate::assess::Verdict;

impl Cards<'_> {
    /// Returns the standings as `c3.A1a;o1.A 2.A1,A2`: the letter of each standing, followed by the id suffixes by round. No id
    /// contains a separator.
    pub(super) fn since(&self) -> String {
        let mut standings: BTreeMap<char, BTreeMap<u32, Vec<&str>>> = BTreeMap::new();
        for node in self.investigation.nodes() {
            if let Some(card) = self.get(&node.id) {
                let rounds = standings.entry(standing(card)).or_default();
                rounds.entry(node.round()).or_default().push(node.id.suffix());
            }
        }
        let round = |(round, nodes): (&u32, &Vec<&str>)| format!("{round}.{}", nodes.join(","));
        let standing = |(letter, rounds): (&char, &BTreeMap<_, _>)| {
            format!("{letter}{}", rounds.iter().map(round).collect::<Vec<_>>().join(" "))
        };
        standings.iter().map(standing).collect::<Vec<_>>().join(";")
    }
}

/// Returns the letter of a node's standing. Keep in sync with `assets/since.js`.
fn standing(card: &Card) -> char {
    match (card.sure, card.state.class) {
        (Some(Verdict::Contested | Verdict::Undermined), _) => 'x',
        (Some(Verdict::Refuted), _) => 'r',
        (Some(verdict), _) if verdict.is_confirmed() => 'c',
        (Some(_), _) | (None, "role-solution") => 'a',
        (None, "role-deadEnd") => 'd',
        (None, "role-pending") => 'p',
        (None, _) => 'o',
    }
}
