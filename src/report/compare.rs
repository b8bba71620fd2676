//! `compare.html`: the changes between two commits of one investigation, computed from the two states.
//!
//! 1. [`Comparison`] contains the earlier state and the relation between the two commits.
//! 2. [`view`] sorts the nodes of a [`Diff`] into lists: proposed, committed, reclassified, changed, gone. A node can be in
//!    several lists.
//! 3. The page also compares the verdicts, the conclusion, the ruleset, the start settings and the file errors.

use std::collections::BTreeSet;

use serde::Serialize;

use super::ReportInput;
use super::diff::{AnswerDiff, Diff, FieldDiff, NodeDiff};
use super::difference::{Difference, difference};
use super::model::{Card, Cards, Header, Report, StateChange, Time};
use super::templates::{SafeHtml, SharedValue};
use super::texts;
use crate::domain::NodeId;
use crate::report::review::{self, ReviewEntry};
use crate::store::{Relation, Snapshot};

/// The maximum length of a value shown in one line, in characters. Longer values are shown as a text diff.
const SHORT_VALUE: usize = 80;

/// The state to compare an investigation with.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The earlier state.
    pub before: Snapshot,
    /// The relation between the earlier commit and the one shown.
    pub relation: Relation,
    /// The names of the two commits, as requested: `ended/1`, `HEAD~3`.
    pub names: [String; 2],
}

/// The comparison page.
#[derive(Clone, Debug, Serialize)]
pub(super) struct CompareView {
    pub before: Side,
    pub after: Side,
    /// The relation: `same`, `forward`, `backward`, `diverged` or `unknown`.
    pub relation: &'static str,
    /// Where and why the readable history ends, if the relation is unknown.
    pub history_end: Option<String>,
    /// The number of first-parent steps from the later commit back to the earlier one. `None` if these steps do not
    /// reach it.
    pub commits: Option<usize>,
    /// The changes to review, riskiest first.
    pub review: Vec<ReviewItem>,
    /// Nodes that became answers, ceased to be answers, or have a different verdict.
    pub answers: Vec<AnswerChange>,
    /// Nodes proposed after the earlier state and still pending.
    pub proposed: Vec<SharedValue<Card>>,
    /// Nodes committed after the earlier state.
    pub committed: Vec<CommittedNode>,
    pub reclassified: Vec<ReclassifiedNode>,
    pub changed: Vec<ChangedNode>,
    pub gone: Vec<Gone>,
    /// The kind of change: `ended`, `reopened` or `changed`. `None` if the conclusion is unchanged.
    pub end: Option<&'static str>,
    pub conclusion: Vec<ComparedField>,
    /// The full conclusion, if the earlier state has none.
    pub new_conclusion: Option<SafeHtml>,
    pub ruleset: Option<Difference>,
    /// The changed start settings.
    pub facts: Vec<ComparedField>,
    pub faults_gone: Vec<String>,
    pub faults_new: Vec<String>,
    /// True if all lists of changes are empty.
    pub nothing: bool,
}

/// The state of the investigation at one of the commits.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Side {
    pub name: String,
    /// The time of the commit, if the history can be read.
    pub at: Option<Time>,
    pub header: SharedValue<Header>,
    /// The outcome, in one sentence.
    pub verdict: String,
    pub blockers: usize,
}

/// A node to review.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ReviewItem {
    /// The node, or `None` for the investigation.
    pub node: Option<NodeRef>,
    /// The notes, riskiest first.
    pub notes: Vec<ReviewNote>,
}

/// A reason to review a node.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ReviewNote {
    /// The risk: `contested`, `unconfirmed`, `objection`, …
    pub risk: &'static str,
    pub text: String,
}

/// A node whose verdict as an answer changed.
#[derive(Clone, Debug, Serialize)]
pub(super) struct AnswerChange {
    pub node: NodeRef,
    /// The earlier standing: `not checked`, `no answer`.
    pub before: String,
    pub after: String,
}

/// A node committed after the earlier state.
#[derive(Clone, Debug, Serialize)]
pub(super) struct CommittedNode {
    pub card: SharedValue<Card>,
    /// True if the node already existed as a proposal.
    pub was_proposed: bool,
}

/// A node whose state was changed by a later call.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ReclassifiedNode {
    pub card: SharedValue<Card>,
    /// The changes, oldest first.
    pub steps: Vec<StateChange>,
}

/// A node with other changes.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ChangedNode {
    pub card: SharedValue<Card>,
    pub fields: Vec<ComparedField>,
}

/// A removed node.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Gone {
    pub card: SharedValue<Card>,
    /// True if the node had been committed. Agents can't remove committed nodes.
    pub was_committed: bool,
}

/// A node, with a page only if it still exists.
#[derive(Clone, Debug, Serialize)]
pub(super) struct NodeRef {
    pub card: SharedValue<Card>,
    pub has_page: bool,
}

/// A changed field: two short values, or a text diff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct ComparedField {
    pub name: &'static str,
    pub before: Option<String>,
    pub after: Option<String>,
    pub difference: Option<Difference>,
}

/// Returns the comparison page. `report` describes the later state. `place` returns the address of a node's page.
/// Removed nodes link to the history.
pub(super) fn view(
    input: &ReportInput,
    report: &Report,
    comparison: &Comparison,
    place: &dyn Fn(&NodeId) -> Option<String>,
) -> CompareView {
    let before = &comparison.before;
    let after = &input.snapshot;
    let earlier = ReportInput::new(before.clone(), Vec::new());
    let earlier = Report::of(&ReportInput { withheld: input.withheld.clone(), ..earlier });
    let diff = Diff::new(before, after);
    let (old_cards, new_cards) = (cards(before, place), cards(after, place));
    let at = |snapshot: &Snapshot| {
        let entry = input.history.iter().find(|entry| entry.commit == snapshot.head)?;
        Some(Time::of(entry.at))
    };
    let [from, to] = &comparison.names;
    let end = diff.end.as_ref().map(|end| end.what);
    let (old_faults, new_faults) = (&earlier.header.facts.faults, &report.header.facts.faults);
    let without =
        |all: &[String], others: &[String]| all.iter().filter(|one| !others.contains(one)).cloned().collect();
    let mut view = CompareView {
        before: Side::of(from, &earlier, at(before)),
        after: Side::of(to, report, at(after)),
        relation: match &comparison.relation {
            Relation::Same => "same",
            Relation::Forward => "forward",
            Relation::Backward => "backward",
            Relation::Diverged => "diverged",
            Relation::Unknown { .. } => "unknown",
        },
        history_end: match &comparison.relation {
            Relation::Unknown { end } => Some(end.clone()),
            _ => None,
        },
        commits: input.history.iter().position(|entry| entry.commit == before.head),
        review: reviewed(before, input, &old_cards, &new_cards),
        answers: diff.answers.iter().filter_map(|it| answer(it, &old_cards, &new_cards)).collect(),
        proposed: Vec::new(),
        committed: Vec::new(),
        reclassified: Vec::new(),
        changed: Vec::new(),
        gone: Vec::new(),
        end,
        conclusion: diff.end.iter().flat_map(|end| &end.fields).map(field).collect(),
        new_conclusion: report.overview.conclusion.clone().filter(|_| end == Some("ended")),
        ruleset: diff.ruleset.as_ref().map(|[before, after]| difference(before, after)),
        facts: diff.facts.iter().map(field).collect(),
        faults_gone: without(old_faults, new_faults),
        faults_new: without(new_faults, old_faults),
        nothing: false,
    };
    for node in &diff.nodes {
        view.add(node, &old_cards, &new_cards);
    }
    view.nothing = view.is_empty();
    view
}

/// Returns the changes a reviewer should read first.
fn reviewed(
    before: &Snapshot,
    after: &ReportInput,
    old_cards: &Cards<'_>,
    new_cards: &Cards<'_>,
) -> Vec<ReviewItem> {
    let investigation = after.snapshot.investigation.as_ref();
    let rules = after.snapshot.rules();
    let items = review::review(Some(&before.investigation), investigation, rules.as_ref(), &after.evidence);
    let item = |item: ReviewEntry| ReviewItem {
        node: item.node.and_then(|id| NodeRef::of(&id, old_cards, new_cards)),
        notes: item
            .notes
            .into_iter()
            .map(|note| ReviewNote { risk: note.risk.label(), text: note.text })
            .collect(),
    };
    items.into_iter().map(item).collect()
}

impl CompareView {
    /// Adds a node to the matching lists.
    fn add(&mut self, diff: &NodeDiff<'_>, old_cards: &Cards<'_>, new_cards: &Cards<'_>) {
        let cards = if diff.after.is_some() { new_cards } else { old_cards };
        let Some(node) = diff.node() else { return };
        let Some(card) = cards.get(&node.id).cloned() else { return };
        if diff.after.is_none() {
            return self.gone.push(Gone { card, was_committed: !node.is_pending() });
        }
        let mut fields: Vec<ComparedField> = Vec::new();
        let of_proposal = || diff.fields.iter().filter(|field| !field.is_of_result).map(field);
        match (diff.before.map(|node| &node.classification), &node.classification) {
            (None, None) => self.proposed.push(card.clone()),
            (Some(None), None) => fields.extend(of_proposal()),
            (before @ (None | Some(None)), Some(_)) => {
                // The proposal time is omitted, since this list is about commits.
                fields.extend(of_proposal().filter(|field| field.name != "Proposed"));
                self.committed.push(CommittedNode { card: card.clone(), was_proposed: before.is_some() });
            }
            (Some(Some(_)), None) => {
                fields.extend(of_proposal());
                let [before, after] = ["committed", "a proposal again"].map(|text| Some(text.to_owned()));
                fields.push(ComparedField { name: "Result", before, after, difference: None });
            }
            (Some(Some(old)), Some(_)) => {
                fields.extend(diff.fields.iter().map(field));
                if !diff.steps.is_empty() {
                    let mut steps = new_cards.changes_of(node);
                    self.reclassified.push(ReclassifiedNode {
                        card: card.clone(),
                        steps: steps.split_off(old.reclassified.len().min(steps.len())),
                    });
                }
            }
        }
        if !fields.is_empty() {
            self.changed.push(ChangedNode { card, fields });
        }
    }

    fn is_empty(&self) -> bool {
        self.review.is_empty()
            && self.answers.is_empty()
            && self.proposed.is_empty()
            && self.committed.is_empty()
            && self.reclassified.is_empty()
            && self.changed.is_empty()
            && self.gone.is_empty()
            && self.end.is_none()
            && self.ruleset.is_none()
            && self.facts.is_empty()
            && self.faults_gone.is_empty()
            && self.faults_new.is_empty()
    }
}

impl NodeRef {
    fn of(id: &NodeId, old_cards: &Cards<'_>, new_cards: &Cards<'_>) -> Option<NodeRef> {
        let new = new_cards.get(id);
        Some(NodeRef { card: new.or_else(|| old_cards.get(id))?.clone(), has_page: new.is_some() })
    }
}

impl Side {
    fn of(name: &str, report: &Report, at: Option<Time>) -> Side {
        Side {
            name: name.to_owned(),
            at,
            header: report.header.clone(),
            verdict: report.overview.found.clone(),
            blockers: report.overview.blockers.len(),
        }
    }
}

fn cards<'s>(snapshot: &'s Snapshot, place: &dyn Fn(&NodeId) -> Option<String>) -> Cards<'s> {
    static NOTHING: BTreeSet<NodeId> = BTreeSet::new();
    let mut cards =
        Cards::new(&snapshot.investigation, snapshot.rules(), &[], &NOTHING, None, texts::excerpt);
    cards.put_at(|id| place(id).unwrap_or_else(|| "history.html".to_owned()));
    cards
}

fn answer(diff: &AnswerDiff, old_cards: &Cards<'_>, new_cards: &Cards<'_>) -> Option<AnswerChange> {
    let node = NodeRef::of(&diff.id, old_cards, new_cards)?;
    Some(AnswerChange { node, before: diff.before.clone(), after: diff.after.clone() })
}

/// Returns a changed field as two short values, or as a text diff.
fn field(field: &FieldDiff) -> ComparedField {
    let FieldDiff { name, before, after, .. } = field;
    let is_short = |text: &str| !text.contains('\n') && text.chars().nth(SHORT_VALUE).is_none();
    let value = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    if is_short(before) && is_short(after) {
        ComparedField { name, before: value(before), after: value(after), difference: None }
    } else {
        ComparedField { name, before: None, after: None, difference: Some(difference(before, after)) }
    }
}
