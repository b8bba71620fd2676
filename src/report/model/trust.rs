//! How far to trust it: how sure the answers are, what speaks against them, and who says so.

use serde::{Deserialize, Serialize};

use super::cards::{Card, Cards, StateView};
use super::judged::StateCount;
use super::overview::Solution;
use crate::domain::{Author, Node, Reclassification, StateName};
use crate::report::templates::SharedValue;
use crate::ruleset::Role;

/// How wide the bar of states is, in its own units.
pub(super) const BAR: usize = 1_000;
/// The least width of a part, so that one of thousands is seen.
const LEAST: usize = 10;

/// The order of the bar, by class: the answers first, what is still open last.
const ORDER: [&str; 7] = [
    "role-solution",
    "role-confirmation",
    "role-awaitingConfirmation",
    "role-theory",
    "role-deadEnd",
    "role-exhausted",
    "role-open",
];

/// How far to trust it.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Trust {
    /// All nodes by what they are, side by side.
    pub bar: Vec<BarPart>,
    /// How the answers are confirmed, in words: `by a second agent`.
    pub grades: Vec<GradeCount>,
    /// How many answers are contested.
    pub contested: usize,
    /// Nodes whose result did not stand.
    pub overturned: Vec<Overturned>,
    /// How many warnings calls were given.
    pub warnings: usize,
    /// How many things the rules still ask for.
    pub owed: usize,
    /// Agents, as they name themselves.
    pub agents: usize,
    /// How many results nobody put a name to.
    pub unnamed: usize,
}

/// How many answers are confirmed like this.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(in crate::report) struct GradeCount {
    /// `confirmed independently`.
    pub label: &'static str,
    /// For the style sheet.
    pub class: &'static str,
    pub count: usize,
}

/// A part of the bar of states.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::report) struct BarPart {
    /// The class of its role, and of an answer how sure it is: `role-solution confirmed`.
    pub class: String,
    /// `Answer, confirmed`, `Ruled out`.
    pub label: String,
    pub count: usize,
    /// Where it begins and how wide it is, of 1,000.
    pub x: usize,
    pub width: usize,
}

/// A node whose result did not stand.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Overturned {
    pub card: SharedValue<Card>,
    pub from: StateView,
    pub to: StateView,
    /// The agent or the child that changed it.
    pub by: Option<String>,
    pub reason: Option<String>,
}

impl Cards<'_> {
    pub(super) fn trust(
        &self,
        solutions: &[Solution],
        states: &[StateCount],
        warnings: usize,
        owed: usize,
        agents: usize,
    ) -> Trust {
        let mut grades: Vec<GradeCount> = Vec::new();
        for sure in solutions.iter().filter_map(|solution| solution.card.sure) {
            match grades.iter_mut().find(|known| known.label == sure.label) {
                Some(known) => known.count += 1,
                None => grades.push(GradeCount { label: sure.label, class: sure.class, count: 1 }),
            }
        }
        let unnamed = self
            .investigation
            .committed()
            .filter(|(node, _)| node.classification.as_ref().is_some_and(|result| result.agent_id.is_none()));
        Trust {
            bar: bar(self.parts(states)),
            grades,
            contested: solutions.iter().filter(|solution| solution.is_contested()).count(),
            overturned: self.overturned(),
            warnings,
            owed,
            agents,
            unnamed: unnamed.count(),
        }
    }

    /// What the bar shows: of answers, how sure they are.
    fn parts(&self, states: &[StateCount]) -> Vec<(String, String, usize)> {
        let mut parts = Vec::new();
        let mut states: Vec<&StateCount> = states.iter().collect();
        states.sort_by_key(|state| {
            ORDER.iter().position(|class| *class == state.state.class).unwrap_or(ORDER.len())
        });
        for state in states {
            let (class, word) = (state.state.class, state.state.word.as_str());
            if class != "role-solution" {
                parts.push((class.to_owned(), word.to_owned(), state.count));
                continue;
            }
            let sure = ["confirmed", "self-checked", "unconfirmed", "refuted"];
            let words = ["confirmed", "self-checked", "not confirmed", "refuted"];
            for (sure, said) in sure.into_iter().zip(words) {
                let of_it = self.cards.values().filter(|card| {
                    card.state.name == state.state.name && card.sure.is_some_and(|it| it.class == sure)
                });
                parts.push((format!("{class} {sure}"), format!("{word}, {said}"), of_it.count()));
            }
        }
        parts.push(("role-pending".to_owned(), "Proposed".to_owned(), self.investigation.pending().count()));
        parts
    }

    /// Nodes that had a result which a later change took back. What waits for a confirmation and gets it is not among them.
    pub(super) fn overturned(&self) -> Vec<Overturned> {
        self.investigation.committed().filter_map(|(node, _)| self.overturned_node(node)).collect()
    }

    fn overturned_node(&self, node: &Node) -> Option<Overturned> {
        let result = node.classification.as_ref()?;
        let rules = self.rules?;
        let now = result.current_state();
        let is_lost = |from: &StateName| {
            let (was, is) = (rules.role(from), rules.role(now));
            let is_result = !matches!(was, Role::Open | Role::AwaitingConfirmation)
                || (was == Role::AwaitingConfirmation && is != Role::Solution);
            is_result && was != is
        };
        let change: &Reclassification = result.reclassified.iter().rev().find(|it| is_lost(&it.from))?;
        Some(Overturned {
            card: self.card(node)?,
            from: self.state(&change.from),
            to: self.state(now),
            by: match &change.by {
                Author::Agent(agent) => Some(agent.clone()),
                Author::Child(child) => Some(child.to_string()),
                Author::Unknown => None,
            },
            reason: change.reason.clone(),
        })
    }
}

/// The parts that are there, side by side. Each is seen, and the others are as wide as they are many.
fn bar(parts: Vec<(String, String, usize)>) -> Vec<BarPart> {
    let parts: Vec<_> = parts.into_iter().filter(|(.., count)| *count > 0).collect();
    let all: usize = parts.iter().map(|(.., count)| count).sum();
    let shared = BAR.saturating_sub(LEAST * parts.len());
    let mut before = 0;
    let mut x = 0;
    parts
        .into_iter()
        .enumerate()
        .map(|(at, (class, label, count))| {
            before += count;
            let end = LEAST * (at + 1) + shared * before / all;
            let part = BarPart { class, label, count, x, width: end - x };
            x = end;
            part
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_full_and_one_of_thousands_is_seen() {
        let part = |label: &str, count| (String::new(), label.to_owned(), count);
        let bar = bar(vec![part("one", 1), part("none", 0), part("many", 9_998), part("last", 1)]);
        let widths: Vec<(usize, usize)> = bar.iter().map(|part| (part.x, part.width)).collect();
        assert_eq!(widths, [(0, 10), (10, 979), (989, 11)]);
        assert_eq!(bar.iter().map(|part| part.width).sum::<usize>(), BAR);
        assert!(super::bar(Vec::new()).is_empty());
    }
}
