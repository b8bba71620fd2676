//! How far to trust it: how sure the answers are, what speaks against them, and who says so.

use serde::Serialize;
use std::collections::HashSet;

use super::cards::{Card, Cards, StateView};
use crate::assess::Verdict;
use crate::domain::Classification;
use crate::graph::{self, BarPart};
use crate::report::templates::SharedValue;

/// How far to trust it.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Trust {
    /// All nodes by what they are, side by side.
    pub bar: Vec<BarPart>,
    /// How the answers are confirmed, in words: `by a second agent`.
    pub grades: Vec<GradeCount>,
    /// What the evidence of the whole is worth: `run again by CI on 24 Nov 2026 at 3f2a91c: 3 of 3 same`.
    pub evidence: Option<String>,
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
    /// `confirmed in another session`.
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
    pub(super) fn trust(&self, warnings: usize) -> Trust {
        let grade = |(verdict, count): (Verdict, usize)| GradeCount {
            label: verdict.label(),
            class: verdict.class(),
            count,
        };
        let results = || self.investigation.committed().filter_map(|(node, _)| node.classification.as_ref());
        let agents: HashSet<&str> = results().flat_map(Classification::agents).collect();
        let people: HashSet<&str> =
            results().flat_map(Classification::people).map(|person| person.name.as_str()).collect();
        Trust {
            bar: graph::bar(self.investigation.nodes().filter_map(|node| self.kind(node))),
            grades: self.assessment.counts().into_iter().map(grade).collect(),
            evidence: self.assessment.whole_evidence(),
            contested: self.assessment.count(|verdict| verdict == Verdict::Contested),
            overturned: self.overturned(),
            warnings,
            owed: self.assessment.owed.len(),
            agents: agents.len(),
            people: people.len(),
            unnamed: results().filter(|result| result.who().is_none()).count(),
        }
    }

    /// Nodes that had a result which a later change took back.
    pub(super) fn overturned(&self) -> Vec<Overturned> {
        let told = self.assessment.overturned().filter_map(|it| {
            Some(Overturned {
                card: self.card(it.node)?,
                from: self.state(&it.change.from),
                to: self.state(it.now),
                by: it.change.who(),
                reason: it.change.reason.clone(),
            })
        });
        told.collect()
    }
}
