//! How far to trust it: how sure the answers are, what speaks against them, and who says so.

use serde::Serialize;
use std::collections::HashSet;

use super::cards::{Card, Cards, StateView};
use super::overview::Solution;
use crate::domain::{Author, Classification, Node, Reclassification, StateName};
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
    /// People who gave results.
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
    /// The agent or the child that changed it.
    pub by: Option<String>,
    pub reason: Option<String>,
}

impl Cards<'_> {
    pub(super) fn trust(&self, solutions: &[Solution], warnings: usize, owed: usize, agents: usize) -> Trust {
        let mut grades: Vec<GradeCount> = Vec::new();
        for sure in solutions.iter().filter_map(|solution| solution.card.sure) {
            match grades.iter_mut().find(|known| known.label == sure.label) {
                Some(known) => known.count += 1,
                None => grades.push(GradeCount { label: sure.label, class: sure.class, count: 1 }),
            }
        }
        let results = self.investigation.committed().filter_map(|(node, _)| node.classification.as_ref());
        let results = results.filter(|result| result.agent_id.is_none());
        let people: HashSet<String> = results.filter_map(|result| result.caller.who(None)).collect();
        let is_unnamed = |result: &Classification| result.caller.who(result.agent_id.as_deref()).is_none();
        let unnamed = self
            .investigation
            .committed()
            .filter(|(node, _)| node.classification.as_ref().is_some_and(is_unnamed));
        Trust {
            bar: graph::bar(self.investigation.nodes().filter_map(|node| self.kind(node))),
            grades,
            contested: solutions.iter().filter(|solution| solution.is_contested()).count(),
            overturned: self.overturned(),
            warnings,
            owed,
            agents,
            people: people.len(),
            unnamed: unnamed.count(),
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
            by: match &change.by {
                Author::Agent(agent) => Some(agent.clone()),
                Author::Child(child) => Some(child.to_string()),
                Author::Unknown => None,
            },
            reason: change.reason.clone(),
        })
    }
}
