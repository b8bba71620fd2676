//! How far to trust it: how sure the answers are, what speaks against them, and who says so.

use serde::Serialize;
use std::collections::HashSet;

use super::cards::{Card, Cards, StateView};
use super::overview::Solution;
use crate::domain::{Classification, Node, Reclassification, StateName};
use crate::graph::{self, BarPart};
use crate::report::templates::SharedValue;
use crate::ruleset::Role;

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
    /// People who gave results or changed them, by the name that git has for them.
    pub people: usize,
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

/// A node whose result did not stand.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Overturned {
    pub card: SharedValue<Card>,
    pub from: StateView,
    pub to: StateView,
    /// The agent, the child or the person that changed it.
    pub by: Option<String>,
    pub reason: Option<String>,
}

impl Cards<'_> {
    pub(super) fn trust(&self, solutions: &[Solution], warnings: usize, owed: usize) -> Trust {
        let mut grades: Vec<GradeCount> = Vec::new();
        for sure in solutions.iter().filter_map(|solution| solution.card.sure) {
            match grades.iter_mut().find(|known| known.label == sure.label) {
                Some(known) => known.count += 1,
                None => grades.push(GradeCount { label: sure.label, class: sure.class, count: 1 }),
            }
        }
        let results = || self.investigation.committed().filter_map(|(node, _)| node.classification.as_ref());
        let agents: HashSet<&str> = results().flat_map(Classification::agents).collect();
        let people: HashSet<&str> =
            results().flat_map(Classification::people).map(|person| person.name.as_str()).collect();
        Trust {
            bar: graph::bar(self.investigation.nodes().filter_map(|node| self.kind(node))),
            grades,
            contested: solutions.iter().filter(|solution| solution.is_contested()).count(),
            overturned: self.overturned(),
            warnings,
            owed,
            agents: agents.len(),
            people: people.len(),
            unnamed: results().filter(|result| result.who().is_none()).count(),
        }
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
            by: change.who(),
            reason: change.reason.clone(),
        })
    }
}
