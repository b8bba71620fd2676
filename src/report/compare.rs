//! `compare.html`: what changed between two commits of one investigation, computed from the two states.
//!
//! 1. [`Comparison`] names the state before, and how the two commits stand to each other.
//! 2. [`view`] sorts the nodes: added, committed, reclassified, changed in other fields, gone. A node stands in each
//!    list that is true of it.
//! 3. What else can differ follows: how it stands, the conclusion, the ruleset, the facts of the start, the faults.

use std::collections::BTreeSet;

use serde::Serialize;

use super::ReportInput;
use super::difference::{Difference, difference};
use super::history::SHORT;
use super::model::{Card, Cards, Change, Report, StateView, Time};
use super::templates::{SafeHtml, SharedValue};
use super::texts;
use crate::assess::Verdict;
use crate::domain::{Classification, Conclusion, Investigation, Meta, Node, NodeId};
use crate::project::Evidence;
use crate::review::{self, Item};
use crate::signoff::SignOffs;
use crate::store::{Relation, Snapshot};
use crate::view::{self, NodeView};

/// Characters of a value that stands in one line; a longer one is shown as the difference of two texts.
const SHORT_VALUE: usize = 80;

/// A state that an investigation is compared with.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The state before.
    pub before: Snapshot,
    /// How its commit stands to the one that is shown.
    pub relation: Relation,
    /// What the two commits were called when they were asked for: `ended/1`, `HEAD~3`.
    pub names: [String; 2],
}

/// The page.
#[derive(Clone, Debug, Serialize)]
pub(super) struct CompareView {
    pub before: Side,
    pub after: Side,
    /// `same`, `forward`, `backward`, `diverged` or `unknown`.
    pub relation: &'static str,
    /// Where the history ends that can be read, and why, if the relation is not known.
    pub history_end: Option<String>,
    /// Commits from one to the other, along first parents, where the one before is among them.
    pub commits: Option<usize>,
    /// What wants to be looked at, riskiest first.
    pub review: Vec<ReviewItem>,
    /// Nodes that became an answer or stopped being one, or whose confirmation changed.
    pub answers: Vec<AnswerChange>,
    /// Proposed since, and still pending.
    pub proposed: Vec<SharedValue<Card>>,
    /// Committed since.
    pub committed: Vec<Committed>,
    pub reclassified: Vec<Reclassified>,
    pub changed: Vec<Changed>,
    pub gone: Vec<Gone>,
    /// `ended`, `reopened`, `changed`; absent where the conclusion is the same.
    pub end: Option<&'static str>,
    pub conclusion: Vec<Field>,
    /// The whole text, where there was none before.
    pub new_conclusion: Option<SafeHtml>,
    pub ruleset: Option<Difference>,
    /// What `tot_start` fixed.
    pub facts: Vec<Field>,
    pub faults_gone: Vec<String>,
    pub faults_new: Vec<String>,
    /// Whether there is nothing else on the page.
    pub nothing: bool,
}

/// How it stood at one of the commits.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Side {
    pub name: String,
    /// When it was committed, as far as the history can be read.
    pub at: Option<Time>,
    pub commit: String,
    pub short: String,
    pub ended: bool,
    pub verdict: String,
    pub answers: usize,
    pub confirmed: usize,
    pub self_checked: usize,
    pub refuted: usize,
    pub ruled_out: usize,
    pub committed: usize,
    pub pending: usize,
    pub rounds: u32,
    pub blockers: usize,
    pub has_rules: bool,
}

/// Something to look at.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ReviewItem {
    /// Absent for the whole.
    pub node: Option<NodeRef>,
    /// The riskiest first.
    pub notes: Vec<ReviewNote>,
}

/// One thing to be said of a node.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ReviewNote {
    /// `contested`, `unconfirmed`, `objection`, …
    pub risk: &'static str,
    pub text: String,
}

/// A node whose standing as an answer changed.
#[derive(Clone, Debug, Serialize)]
pub(super) struct AnswerChange {
    pub node: NodeRef,
    /// `an answer, not checked`.
    pub before: String,
    pub after: String,
}

/// A node that was committed since.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Committed {
    pub card: SharedValue<Card>,
    /// Whether it was a proposal before.
    pub was_proposed: bool,
}

/// A node that changed its state by a later call.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Reclassified {
    pub card: SharedValue<Card>,
    pub from: StateView,
    pub to: StateView,
    /// Each step, oldest first.
    pub steps: Vec<Change>,
}

/// A node with other differences.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Changed {
    pub card: SharedValue<Card>,
    pub fields: Vec<Field>,
}

/// A node that is no longer there.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Gone {
    pub card: SharedValue<Card>,
    /// Whether it had been committed: no call removes such a node.
    pub was_committed: bool,
}

/// A node, with a page only where it still stands.
#[derive(Clone, Debug, Serialize)]
pub(super) struct NodeRef {
    pub card: SharedValue<Card>,
    pub has_page: bool,
}

/// A field, before and after: two short values or the difference of two texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Field {
    pub name: String,
    pub before: Option<String>,
    pub after: Option<String>,
    pub difference: Option<Difference>,
}

/// The page of an input and the state that it is compared with; `report` is that of the input.
/// `place` gives the page that a node has in the site; one that has none any more leads to the history.
pub(super) fn view(
    input: &ReportInput,
    report: &Report,
    comparison: &Comparison,
    place: &dyn Fn(&NodeId) -> Option<String>,
) -> CompareView {
    let before = &comparison.before;
    let after = &input.snapshot;
    let earlier = Report::of(&ReportInput {
        snapshot: before.clone(),
        history: Vec::new(),
        rev: None,
        sign_offs: SignOffs::default(),
        evidence: Evidence::default(),
        attachments: Vec::new(),
        withheld: input.withheld.clone(),
        ends: Vec::new(),
    });
    let (old, new) = (before.investigation.as_ref(), after.investigation.as_ref());
    let (old_cards, new_cards) = (cards(before, place), cards(after, place));
    let at = |snapshot: &Snapshot| {
        let entry = input.history.iter().find(|entry| entry.commit == snapshot.head)?;
        Some(Time::of(entry.at))
    };
    let [from, to] = &comparison.names;
    let (end, conclusion) = ends(old.conclusion(), new.conclusion());
    let lines = |report: &Report| report.header.faults.clone();
    let (old_faults, new_faults) = (lines(&earlier), lines(report));
    let without =
        |all: &[String], others: &[String]| all.iter().filter(|one| !others.contains(one)).cloned().collect();
    let mut view = CompareView {
        before: Side::of(from, before, &earlier, at(before)),
        after: Side::of(to, after, report, at(after)),
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
        answers: answers(old, new, &old_cards, &new_cards),
        proposed: Vec::new(),
        committed: Vec::new(),
        reclassified: Vec::new(),
        changed: Vec::new(),
        gone: old.preorder().into_iter().filter_map(|node| gone(node, new, &old_cards)).collect(),
        end,
        conclusion,
        new_conclusion: report.overview.conclusion.clone().filter(|_| end == Some("ended")),
        ruleset: ruleset(before, after),
        facts: facts(old.meta(), new.meta()),
        faults_gone: without(&old_faults, &new_faults),
        faults_new: without(&new_faults, &old_faults),
        nothing: false,
    };
    for node in new.preorder() {
        let Some(card) = new_cards.get(&node.id) else { continue };
        view.add(card, old.node(&node.id).map(AsRef::as_ref), node, &new_cards);
    }
    view.nothing = view.is_empty();
    view
}

/// What a reviewer reads first.
fn reviewed(
    before: &Snapshot,
    after: &ReportInput,
    old_cards: &Cards<'_>,
    new_cards: &Cards<'_>,
) -> Vec<ReviewItem> {
    let investigation = after.snapshot.investigation.as_ref();
    let rules = after.snapshot.rules();
    let items = review::review(Some(&before.investigation), investigation, rules.as_ref(), &after.evidence);
    let item = |item: Item| ReviewItem {
        node: item.node.and_then(|id| {
            let new = new_cards.get(&id);
            let card = new.or_else(|| old_cards.get(&id))?.clone();
            Some(NodeRef { card, has_page: new.is_some() })
        }),
        notes: item
            .notes
            .into_iter()
            .map(|note| ReviewNote { risk: note.risk.label(), text: note.text })
            .collect(),
    };
    items.into_iter().map(item).collect()
}

impl CompareView {
    /// Sorts a node that stands now into the lists.
    fn add(&mut self, card: &SharedValue<Card>, before: Option<&Node>, after: &Node, cards: &Cards<'_>) {
        let mut fields = Vec::new();
        if let Some(before) = before {
            let proposal = |node| NodeView::stored(node).proposal();
            fields.extend(differing(proposal(before), proposal(after)));
        }
        match (before.map(|node| &node.classification), &after.classification) {
            (None, None) => self.proposed.push(card.clone()),
            (None, Some(_)) => self.committed.push(Committed { card: card.clone(), was_proposed: false }),
            (Some(None), Some(_)) => {
                self.committed.push(Committed { card: card.clone(), was_proposed: true });
            }
            (Some(Some(_)), None) => fields.extend(text("Result", "committed", "a proposal again")),
            (Some(None), None) => {
                let at = |node: &Node| node.proposed_at.to_string();
                fields.extend(before.and_then(|before| text("Proposed", &at(before), &at(after))));
            }
            (Some(Some(old)), Some(new)) => {
                let result = |node| NodeView::stored(node).result();
                let mut differing = differing(before.map(result).unwrap_or_default(), result(after));
                // Changes of state that only were added stand in a list of their own.
                let only_added = new.reclassified.starts_with(&old.reclassified);
                differing.retain(|field| !only_added || field.name != view::CHANGES_OF_STATE);
                fields.extend(differing);
                self.reclassified.extend(reclassified(card, old, new, cards.changes_of(after), cards));
            }
        }
        if !fields.is_empty() {
            self.changed.push(Changed { card: card.clone(), fields });
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

impl Side {
    fn of(name: &str, snapshot: &Snapshot, report: &Report, at: Option<Time>) -> Side {
        let header = &report.header;
        let commit = snapshot.head.to_string();
        Side {
            name: name.to_owned(),
            at,
            short: commit.chars().take(SHORT).collect(),
            commit,
            ended: header.ended,
            verdict: report.overview.found.clone(),
            answers: header.answers,
            confirmed: header.confirmed,
            self_checked: header.self_checked,
            refuted: header.refuted,
            ruled_out: header.ruled_out,
            committed: header.committed,
            pending: header.pending,
            rounds: header.rounds,
            blockers: report.overview.blockers.len(),
            has_rules: header.has_rules,
        }
    }
}

fn cards<'s>(snapshot: &'s Snapshot, place: &dyn Fn(&NodeId) -> Option<String>) -> Cards<'s> {
    static NOTHING: BTreeSet<NodeId> = BTreeSet::new();
    let mut cards = Cards::new(&snapshot.investigation, snapshot.rules(), &[], &NOTHING, texts::excerpt);
    cards.put_at(|id| place(id).unwrap_or_else(|| "history.html".to_owned()));
    cards
}

fn answers(
    old: &Investigation,
    new: &Investigation,
    old_cards: &Cards<'_>,
    new_cards: &Cards<'_>,
) -> Vec<AnswerChange> {
    let standing = |cards: &Cards<'_>, id: &NodeId| match cards.get(id).map(|card| card.sure) {
        Some(Some(Verdict::Refuted)) => Verdict::Refuted.label().to_owned(),
        Some(Some(verdict)) => format!("an answer, {}", verdict.label()),
        Some(None) => "no answer".to_owned(),
        None => "not there".to_owned(),
    };
    let is_answer = |card: Option<&SharedValue<Card>>| card.is_some_and(|card| card.sure.is_some());
    let removed = old.preorder().into_iter().filter(|node| new.node(&node.id).is_none());
    let nodes = new.preorder().into_iter().chain(removed);
    nodes
        .filter_map(|node| {
            let (before, after) = (old_cards.get(&node.id), new_cards.get(&node.id));
            if !is_answer(before) && !is_answer(after) {
                return None;
            }
            let change = AnswerChange {
                node: NodeRef { card: after.or(before)?.clone(), has_page: after.is_some() },
                before: standing(old_cards, &node.id),
                after: standing(new_cards, &node.id),
            };
            (change.before != change.after).then_some(change)
        })
        .collect()
}

fn gone(node: &Node, new: &Investigation, cards: &Cards<'_>) -> Option<Gone> {
    if new.node(&node.id).is_some() {
        return None;
    }
    Some(Gone { card: cards.get(&node.id)?.clone(), was_committed: !node.is_pending() })
}

/// A change of state by calls: the earlier changes are still there, and later ones follow them.
fn reclassified(
    card: &SharedValue<Card>,
    old: &Classification,
    new: &Classification,
    mut steps: Vec<Change>,
    cards: &Cards<'_>,
) -> Option<Reclassified> {
    let known = old.reclassified.len();
    if new.reclassified.len() <= known || !new.reclassified.starts_with(&old.reclassified) {
        return None;
    }
    Some(Reclassified {
        card: card.clone(),
        from: cards.state(old.current_state()),
        to: cards.state(new.current_state()),
        steps: steps.split_off(known.min(steps.len())),
    })
}

/// The fields that differ. Both lists name the same fields.
fn differing(old: Vec<view::Field<'_>>, new: Vec<view::Field<'_>>) -> Vec<Field> {
    old.iter().zip(&new).filter_map(|(old, new)| text(old.name, &old.value, &new.value)).collect()
}

fn ends(old: Option<&Conclusion>, new: Option<&Conclusion>) -> (Option<&'static str>, Vec<Field>) {
    if old == new {
        return (None, Vec::new());
    }
    let what = match (old, new) {
        (None, _) => "ended",
        (_, None) => "reopened",
        _ => "changed",
    };
    let values = |end: Option<&Conclusion>| {
        end.map_or_else(Default::default, |end| {
            let stopped = end.stopped.as_ref();
            let label = stopped.map(|stopped| stopped.reason.label().to_owned()).unwrap_or_default();
            let note = stopped.and_then(|stopped| stopped.note.clone()).unwrap_or_default();
            let (by, at) = (or_none(&end.who()), or_none(&end.concluded_at));
            let asked = end.asked.as_ref().map(view::asked_line).unwrap_or_default();
            let others = end.other_conclusions.iter().filter_map(|other| other.conclusion.clone());
            let others = others.collect::<Vec<_>>().join("\n\n");
            let amended: Vec<String> =
                end.amended.iter().map(|it| view::AmendedConclusionView::new(it).line()).collect();
            let bound = end.answers.iter().map(|bound| format!("{} ({})", bound.id, bound.role.label()));
            [
                end.ended_at.to_string(),
                by,
                at,
                label,
                note,
                asked,
                or_none(&end.conclusion),
                bound.collect::<Vec<_>>().join("\n"),
                end.not_covered.join("\n"),
                amended.join("\n"),
                others,
            ]
        })
    };
    let names = [
        "Ended",
        "Concluded by",
        "Concluded later",
        "Stopped early",
        "Why stopped",
        "Before the end",
        "Conclusion",
        "Answers that it rests on",
        "Not covered",
        "Changes of the conclusion",
        "Other conclusions",
    ];
    let values = values(old).into_iter().zip(values(new));
    let fields = names.into_iter().zip(values).filter_map(|(name, (old, new))| text(name, &old, &new));
    (Some(what), fields.collect())
}

fn ruleset(before: &Snapshot, after: &Snapshot) -> Option<Difference> {
    let of = |snapshot: &Snapshot| match &snapshot.ruleset {
        Ok(file) => file.text.clone(),
        Err(fault) => format!("It can't be read. {fault}"),
    };
    let (before, after) = (of(before), of(after));
    (before != after).then(|| difference(&before, &after))
}

fn facts(old: &Meta, new: &Meta) -> Vec<Field> {
    let yes_no = |yes: bool| if yes { "yes" } else { "no" };
    [
        text("Id", &old.id.to_string(), &new.id.to_string()),
        text("Title", &old.title, &new.title),
        text("Question", &old.query, &new.query),
        text("Context", or_empty(&old.context), or_empty(&new.context)),
        text("Ruleset", &old.ruleset, &new.ruleset),
        text("Mode", &old.mode, &new.mode),
        text("Rounds at least", &old.min_rounds.to_string(), &new.min_rounds.to_string()),
        text("Roots at least", &old.min_roots.to_string(), &new.min_roots.to_string()),
        text("Early ends", yes_no(old.allow_early_terminal), yes_no(new.allow_early_terminal)),
        text("Started", &old.started_at.to_string(), &new.started_at.to_string()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A field that differs.
fn text(name: &str, before: &str, after: &str) -> Option<Field> {
    if before == after {
        return None;
    }
    let is_short = |text: &str| !text.contains('\n') && text.chars().nth(SHORT_VALUE).is_none();
    let value = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    Some(if is_short(before) && is_short(after) {
        Field { name: name.to_owned(), before: value(before), after: value(after), difference: None }
    } else {
        let difference = Some(difference(before, after));
        Field { name: name.to_owned(), before: None, after: None, difference }
    })
}

fn or_none<T: ToString>(value: &Option<T>) -> String {
    value.as_ref().map(T::to_string).unwrap_or_default()
}

fn or_empty(value: &Option<String>) -> &str {
    value.as_deref().unwrap_or_default()
}
