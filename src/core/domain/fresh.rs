//! Id allocation for proposals.
//!
//! Each level of the tree appends letters or digits in turn: `A`, `A1`, `A1a`, `A1a1`. One step may have several
//! letters or digits (`A10`, `A1aa`), so a node can have any number of children. A glob still finds descendants.
//! Descendants of `A1` continue with a letter (`R*.A1[a-z]*`), so `A12` does not match.

use std::collections::HashMap;

use super::{Investigation, NodeId, ShortId};

/// The short ids in use: committed, pending, withdrawn, and allocated since. Compared case-insensitively.
#[derive(Clone, Debug, Default)]
pub struct Ids<'a> {
    investigation: Option<&'a Investigation>,
    /// By round, keyed by their lower-case spelling. The ids of a round are collected when it is first needed.
    in_use: HashMap<u32, HashMap<String, ShortId>>,
}

impl<'a> Ids<'a> {
    /// Creates a set of all ids in an investigation.
    pub fn new(investigation: &'a Investigation) -> Self {
        Ids { investigation: Some(investigation), ..Ids::default() }
    }

    fn of_round(&mut self, round: u32) -> &mut HashMap<String, ShortId> {
        self.in_use.entry(round).or_insert_with(|| {
            let ids = self.investigation.into_iter().flat_map(|it| it.ids_in_round(round));
            ids.map(NodeId::short).map(|id| (id.as_str().to_ascii_lowercase(), id.clone())).collect()
        })
    }

    /// Marks an id as used. Returns the one that was in use before, whose letters may differ in case.
    pub fn take(&mut self, id: &ShortId) -> Option<ShortId> {
        self.of_round(id.round()).insert(id.as_str().to_ascii_lowercase(), id.clone())
    }

    /// Allocates an id below `parent`; `None` if it would exceed the maximum length.
    pub fn child(&mut self, parent: &ShortId) -> Option<ShortId> {
        let digits = parent.suffix().ends_with(|last: char| last.is_ascii_alphabetic());
        self.fresh(|number| {
            parent.child(&if digits { number.to_string() } else { letters(number).to_ascii_lowercase() })
        })
    }

    /// Allocates a root id, from `allowed` if given.
    pub fn root(&mut self, allowed: Option<&[ShortId]>) -> Option<ShortId> {
        match allowed {
            Some(ids) => self.fresh(|number| ids.get(number as usize - 1).cloned()),
            None => self.fresh(|number| format!("R1.{}", letters(number)).parse().ok()),
        }
    }

    /// Allocates the first unused candidate, counting from 1.
    fn fresh(&mut self, candidate: impl Fn(u32) -> Option<ShortId>) -> Option<ShortId> {
        (1..).map(candidate).find(|id| match id {
            Some(id) => self.take(id).is_none(),
            // All later candidates are longer.
            None => true,
        })?
    }
}

/// Converts a number to letters: 1 is `A`, 26 is `Z`, 27 is `AA`.
fn letters(mut number: u32) -> String {
    let mut letters = Vec::new();
    while number > 0 {
        number -= 1;
        letters.push(b'A' + (number % 26) as u8);
        number /= 26;
    }
    letters.iter().rev().map(|letter| char::from(*letter)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn ids(in_use: &[&str]) -> Ids<'static> {
        let mut ids = Ids::default();
        in_use.iter().for_each(|id| drop(ids.take(&id.parse().unwrap())));
        ids
    }

    fn children(ids: &mut Ids, parent: &str, number: usize) -> Vec<String> {
        let parent = parent.parse().unwrap();
        (0..number).map(|_| ids.child(&parent).unwrap().to_string()).collect()
    }

    #[test]
    fn letters_and_digits_alternate() {
        let mut ids = ids(&[]);
        assert_eq!(ids.root(None).unwrap().as_str(), "R1.A");
        assert_eq!(children(&mut ids, "R1.A", 2), ["R2.A1", "R2.A2"]);
        assert_eq!(children(&mut ids, "R2.A12", 2), ["R3.A12a", "R3.A12b"]);
        assert_eq!(children(&mut ids, "R3.A12aa", 1), ["R4.A12aa1"]);
    }

    #[test]
    fn there_is_no_last_child() {
        let mut ids = ids(&[]);
        let letters = children(&mut ids, "R2.A1", 100);
        assert_eq!((letters[25].as_str(), letters[26].as_str()), ("R3.A1z", "R3.A1aa"));
        assert_eq!(letters[99], "R3.A1cv");
        let digits = children(&mut ids, "R1.B", 100);
        assert_eq!((digits[9].as_str(), digits[99].as_str()), ("R2.B10", "R2.B100"));
        let roots: Vec<String> = (0..27).map(|_| ids.root(None).unwrap().to_string()).collect();
        assert_eq!((roots[25].as_str(), roots[26].as_str()), ("R1.Z", "R1.AA"));
        let all: HashSet<&String> = letters.iter().chain(&digits).chain(&roots).collect();
        assert_eq!(all.len(), 227);
    }

    #[test]
    fn ids_that_differ_only_in_letter_case_are_not_given() {
        let mut ids = ids(&["R3.A1A", "R3.A1c", "R1.a"]);
        assert_eq!(children(&mut ids, "R2.A1", 2), ["R3.A1b", "R3.A1d"]);
        assert_eq!(ids.root(None).unwrap().as_str(), "R1.B");
    }

    #[test]
    fn an_id_never_gets_too_long() {
        let mut ids = ids(&[]);
        // One character is left, which is enough for `1` to `9` but not for `10`.
        let parent: ShortId = format!("R1.{}", "A".repeat(196)).parse().unwrap();
        let given: Vec<_> = (0..10).map(|_| ids.child(&parent)).collect();
        assert_eq!(given.iter().filter(|id| id.is_some()).count(), 9);
        assert!(given[9].is_none());
        let full: ShortId = format!("R1.{}", "A".repeat(197)).parse().unwrap();
        assert_eq!(ids.child(&full), None);
    }

    #[test]
    fn only_allowed_roots_are_given() {
        let mut ids = ids(&[]);
        let allowed = ["R1.A".parse().unwrap()];
        assert_eq!(ids.root(Some(&allowed)).unwrap().as_str(), "R1.A");
        assert_eq!(ids.root(Some(&allowed)), None);
    }
}
