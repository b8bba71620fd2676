//! Counts of nodes by kind, shown as a stacked bar for a whole investigation or for each branch.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::assess::Verdict;

/// The width of a bar in its own units.
const BAR: usize = 1_000;
/// The minimum width of a part, so that one node among thousands stays visible.
const LEAST: usize = 10;

/// The classes in bar order: answers first, open nodes and proposals last.
const ORDER: [&str; 9] = [
    "role-solution",
    "role-confirmation",
    "role-awaitingConfirmation",
    "role-theory",
    "role-refutation",
    "role-deadEnd",
    "role-exhausted",
    "role-open",
    "role-pending",
];

/// A part of a bar.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BarPart {
    /// The role class. For answers, the verdict class follows: `role-solution confirmed`.
    pub class: String,
    /// The label of the kind, such as `Answer, confirmed` or `Ruled out`.
    pub label: String,
    /// The number of nodes of this kind.
    pub count: usize,
    /// The left edge of the part, in thousandths.
    pub x: usize,
    /// The width of the part, in thousandths.
    pub width: usize,
}

/// The kind of a node in a bar. Kinds sort in bar order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BarKind {
    /// The position of the role class in a bar and, for answers, the rank of the verdict.
    rank: (usize, usize),
    label: String,
    class: String,
}

impl BarKind {
    /// Returns the kind for a role class, a state label and a verdict. The verdict is ignored unless the class is
    /// `role-solution`. Besides a role class, `class` may be `role-refutation` or `role-pending` (a proposal).
    pub fn of(class: &str, word: &str, verdict: Option<Verdict>) -> BarKind {
        let rank = ORDER.iter().position(|known| *known == class).unwrap_or(ORDER.len());
        let Some(verdict) = verdict.filter(|_| class == ORDER[0]) else {
            return BarKind { rank: (rank, 0), label: word.to_owned(), class: class.to_owned() };
        };
        BarKind {
            rank: (rank, verdict.in_short().rank()),
            label: format!("{word}, {}", verdict.in_short().short_label()),
            class: format!("{class} {}", verdict.class()),
        }
    }
}

/// Counts of nodes by kind for each branch of a forest.
#[derive(Clone, Debug)]
pub struct Tallies {
    kinds: Vec<BarKind>,
    /// The counts by kind for each node and its descendants.
    counts: Vec<u32>,
}

impl Tallies {
    /// Counts the given nodes. The nodes must be in preorder, each with its parent's index and its kind.
    pub fn new(nodes: &[(Option<usize>, BarKind)]) -> Tallies {
        let kinds: BTreeSet<&BarKind> = nodes.iter().map(|(_, kind)| kind).collect();
        let kinds: Vec<BarKind> = kinds.into_iter().cloned().collect();
        let width = kinds.len();
        let mut counts = vec![0; nodes.len() * width];
        for (node, (parent, kind)) in nodes.iter().enumerate().rev() {
            if let Ok(own) = kinds.binary_search(kind) {
                counts[node * width + own] += 1;
            }
            if let Some(parent) = parent {
                for kind in 0..width {
                    counts[parent * width + kind] += counts[node * width + kind];
                }
            }
        }
        Tallies { kinds, counts }
    }

    /// Returns the bar of a node and its descendants.
    pub fn bar(&self, node: usize) -> Vec<BarPart> {
        let width = self.kinds.len();
        let counts = &self.counts[node * width..(node + 1) * width];
        parts(self.kinds.iter().zip(counts.iter().map(|count| *count as usize)))
    }
}

/// Returns the bar for these nodes.
pub fn bar(nodes: impl IntoIterator<Item = BarKind>) -> Vec<BarPart> {
    let mut kinds: Vec<BarKind> = nodes.into_iter().collect();
    kinds.sort_unstable();
    parts(kinds.chunk_by(|one, other| one == other).map(|same| (&same[0], same.len())))
}

/// Returns the nonempty parts from left to right. Each has a minimum width, and the remaining width is divided in
/// proportion to the counts.
fn parts<'k>(kinds: impl Iterator<Item = (&'k BarKind, usize)>) -> Vec<BarPart> {
    let kinds: Vec<(&BarKind, usize)> = kinds.filter(|(_, count)| *count > 0).collect();
    let all: usize = kinds.iter().map(|(_, count)| count).sum();
    let shared = BAR.saturating_sub(LEAST * kinds.len());
    let (mut before, mut x) = (0, 0);
    let part = |(at, (kind, count)): (usize, (&BarKind, usize))| {
        before += count;
        let end = LEAST * (at + 1) + shared * before / all;
        let (class, label) = (kind.class.clone(), kind.label.clone());
        let part = BarPart { class, label, count, x, width: end - x };
        x = end;
        part
    };
    kinds.into_iter().enumerate().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn widths(bar: &[BarPart]) -> Vec<(usize, usize)> {
        bar.iter().map(|part| (part.x, part.width)).collect()
    }

    #[test]
    fn a_bar_is_full_and_one_of_thousands_is_seen() {
        let many = (0..9_998).map(|_| BarKind::of("role-deadEnd", "Ruled out", None));
        let few = [
            BarKind::of("role-open", "Explored", None),
            BarKind::of("role-solution", "Answer", Some(Verdict::NotChecked)),
        ];
        let bar = bar(many.chain(few));
        let labels: Vec<&str> = bar.iter().map(|part| part.label.as_str()).collect();
        assert_eq!(labels, ["Answer, not checked", "Ruled out", "Explored"]);
        assert_eq!(widths(&bar), [(0, 10), (10, 979), (989, 11)]);
        assert!(super::bar([]).is_empty());
    }

    #[test]
    fn a_branch_counts_what_is_below_it() {
        let open = || BarKind::of("role-open", "Explored", None);
        let answer = |verdict| BarKind::of("role-solution", "Answer", Some(verdict));
        let nodes = [
            (None, open()),
            (Some(0), open()),
            (Some(1), answer(Verdict::OtherSession)),
            (Some(0), answer(Verdict::NotChecked)),
            (None, open()),
        ];
        let tallies = Tallies::new(&nodes);
        let counts = |node: usize| -> Vec<(String, usize)> {
            tallies.bar(node).into_iter().map(|part| (part.class, part.count)).collect()
        };
        let counted = |class: &str, count| (class.to_owned(), count);
        assert_eq!(
            counts(0),
            [
                counted("role-solution confirmed", 1),
                counted("role-solution unconfirmed", 1),
                counted("role-open", 2)
            ]
        );
        assert_eq!(counts(1), [counted("role-solution confirmed", 1), counted("role-open", 1)]);
    }
}
