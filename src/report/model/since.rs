//! The standing of each node in a few letters: a reader's browser keeps it, and compares it at the next visit.

use std::collections::BTreeMap;

use super::cards::{Card, Cards};
use crate::assess::Verdict;

impl Cards<'_> {
    /// `c3.A1a;o1.A 2.A1,A2`: for each standing its letter, then by rounds what follows the dot of each id. (No id holds one of
    /// the signs between.)
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

/// The letter of a node's standing: `assets/since.js` knows each.
fn standing(card: &Card) -> char {
    match (card.sure, card.state.class) {
        (Some(Verdict::Contested), _) => 'x',
        (Some(Verdict::Refuted), _) => 'r',
        (Some(verdict), _) if verdict.is_confirmed() => 'c',
        (Some(_), _) | (None, "role-solution") => 'a',
        (None, "role-deadEnd") => 'd',
        (None, "role-pending") => 'p',
        (None, _) => 'o',
    }
}
