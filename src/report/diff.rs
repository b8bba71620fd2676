//! The difference between two states of an investigation, used by `tot diff`, its Markdown output and the comparison pages.
//!
//! Pure. The states are compared as stored and as judged by [`Assessment`]. Each caller formats the result itself.

use std::sync::Arc;

use crate::assess::Assessment;
use crate::domain::event::{attachment_events, node_events, record_events};
use crate::domain::{
    AmendedConclusion, Asked, Conclusion, Happening, Investigation, Meta, Node, NodeId, Reclassification,
};
use crate::fields::{CHANGES_OF_STATE, NodeField};
use crate::store::Snapshot;
use crate::text::counted;

/// The difference between two states.
#[derive(Clone, Debug)]
pub struct Diff<'s> {
    /// The earlier state.
    pub before: &'s Snapshot,
    /// The later state.
    pub after: &'s Snapshot,
    /// The assessments of both states.
    pub judged: [Assessment<'s>; 2],
    /// The changed nodes in tree order, followed by the removed nodes.
    pub nodes: Vec<NodeDiff<'s>>,
    /// The changes as events: nodes by id, followed by comments and attachments.
    pub happenings: Vec<Happening>,
    /// Nodes that became answers, ceased to be answers, or have a different verdict.
    pub answers: Vec<AnswerDiff>,
    /// The change to the conclusion, if any.
    pub end: Option<EndDiff>,
    /// The changed start settings.
    pub facts: Vec<FieldDiff>,
    /// The changed files, if nothing else is known to have changed. Whoever can read git fills it in.
    pub files: Vec<String>,
    /// The ruleset before and after, or the reason why it can't be read. `None` if unchanged.
    pub ruleset: Option<[String; 2]>,
}

/// A changed node.
#[derive(Clone, Debug)]
pub struct NodeDiff<'s> {
    /// The node in the earlier state, or `None` for a new node.
    pub before: Option<&'s Arc<Node>>,
    /// The node in the later state, or `None` for a removed node.
    pub after: Option<&'s Arc<Node>>,
    /// The changed fields of a node that exists in both states. Appended state changes are in `steps`.
    pub fields: Vec<FieldDiff>,
    /// The appended state changes, oldest first.
    pub steps: &'s [Reclassification],
}

/// A changed field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldDiff {
    /// Its display name.
    pub name: &'static str,
    /// True if the field belongs to the result rather than to the proposal.
    pub is_of_result: bool,
    /// The earlier value. Empty for a new field.
    pub before: String,
    /// The later value. Empty for a removed field.
    pub after: String,
}

/// A node whose verdict as an answer changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerDiff {
    /// The id of the node.
    pub id: NodeId,
    /// The earlier standing: `not checked`, `no answer`, `not there`.
    pub before: String,
    /// The later standing.
    pub after: String,
}

/// A change to the conclusion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndDiff {
    /// The kind of change: `ended`, `reopened` or `changed`.
    pub what: &'static str,
    /// The changed fields.
    pub fields: Vec<FieldDiff>,
}

impl<'s> Diff<'s> {
    /// Compares two states of one investigation.
    pub fn new(before: &'s Snapshot, after: &'s Snapshot) -> Diff<'s> {
        let (old, new) = (before.investigation.as_ref(), after.investigation.as_ref());
        let standing = new.preorder().into_iter().map(|node| (old.node(&node.id), new.node(&node.id)));
        let gone = old.preorder().into_iter().filter(|node| new.node(&node.id).is_none());
        let pairs: Vec<_> = standing.chain(gone.map(|node| (old.node(&node.id), None))).collect();
        let mut ids: Vec<_> = pairs.iter().filter(|(was, is)| was != is).collect();
        ids.sort_by_key(|(was, is)| is.or(*was).map(|node| &node.id));
        let of_nodes = ids.into_iter().flat_map(|(was, is)| node_events(*was, *is));
        let happenings = of_nodes.chain(record_events(old, new)).chain(attachment_events(old, new)).collect();
        let rules = |snapshot: &Snapshot| match &snapshot.ruleset {
            Ok(file) => file.text.clone(),
            Err(fault) => format!("It can't be read. {fault}"),
        };
        let rules = [rules(before), rules(after)];
        let judged =
            [before, after].map(|snapshot| Assessment::new(&snapshot.investigation, snapshot.rules()));
        Diff {
            before,
            after,
            happenings,
            answers: answers(&judged),
            judged,
            end: end(old, new),
            facts: differing_fields(fields_of_meta(old.meta()), fields_of_meta(new.meta())),
            files: Vec::new(),
            ruleset: (rules[0] != rules[1]).then_some(rules),
            nodes: pairs
                .into_iter()
                .filter(|(was, is)| was != is)
                .map(|(was, is)| NodeDiff::new(was, is))
                .collect(),
        }
    }

    /// Returns true if the states are identical, except for [`Diff::files`].
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
            && self.happenings.is_empty()
            && self.answers.is_empty()
            && self.end.is_none()
            && self.facts.is_empty()
            && self.ruleset.is_none()
    }
}

impl<'s> NodeDiff<'s> {
    fn new(before: Option<&'s Arc<Node>>, after: Option<&'s Arc<Node>>) -> NodeDiff<'s> {
        let Some((was, is)) = before.zip(after) else {
            return NodeDiff { before, after, fields: Vec::new(), steps: &[] };
        };
        let (old, new) = (was.classification.as_ref(), is.classification.as_ref());
        let added = old.zip(new).and_then(|(old, new)| new.reclassified.strip_prefix(&old.reclassified[..]));
        let of_proposal = differing(was.proposal_fields(), is.proposal_fields(), false);
        let of_result = differing(was.result_fields(), is.result_fields(), true);
        let proposed = FieldDiff::new("Proposed", &was.proposed_at.to_string(), &is.proposed_at.to_string());
        let mut fields: Vec<FieldDiff> = of_proposal.chain(proposed).chain(of_result).collect();
        fields.retain(|field| added.is_none() || field.name != CHANGES_OF_STATE);
        NodeDiff { before, after, fields, steps: added.unwrap_or_default() }
    }

    /// Returns the node in its later state, or in its earlier state if it was removed.
    pub fn node(&self) -> Option<&'s Arc<Node>> {
        self.after.or(self.before)
    }
}

impl FieldDiff {
    /// Returns the field if the two values differ.
    fn new(name: &'static str, before: &str, after: &str) -> Option<FieldDiff> {
        let (before, after) = (before.to_owned(), after.to_owned());
        (before != after).then_some(FieldDiff { name, is_of_result: false, before, after })
    }
}

/// Returns the changed fields. Both lists must have the same field names, unless one of them is empty.
fn differing<'f>(
    old: Vec<NodeField<'f>>,
    new: Vec<NodeField<'f>>,
    is_of_result: bool,
) -> impl Iterator<Item = FieldDiff> {
    let names: Vec<&'static str> =
        if new.is_empty() { &old } else { &new }.iter().map(|field| field.name).collect();
    let value = |fields: &[NodeField<'f>], at: usize| {
        fields.get(at).map(|field| field.value.to_string()).unwrap_or_default()
    };
    names.into_iter().enumerate().filter_map(move |(at, name)| {
        let field = FieldDiff::new(name, &value(&old, at), &value(&new, at))?;
        Some(FieldDiff { is_of_result, ..field })
    })
}

fn answers([old, new]: &[Assessment<'_>; 2]) -> Vec<AnswerDiff> {
    let standing = |assessment: &Assessment<'_>, id: &NodeId| match assessment.answer(id) {
        Some(answer) => match answer.refuted_by.len() {
            0 => answer.words().into_owned(),
            number => format!("{} by {}", answer.verdict.label(), counted(number, "node")),
        },
        None if assessment.investigation.node(id).is_some() => "no answer".to_owned(),
        None => "not there".to_owned(),
    };
    let now: Vec<&NodeId> = new.answers.iter().chain(&new.refuted).map(|answer| &answer.node.id).collect();
    let then = old.answers.iter().chain(&old.refuted).map(|answer| &answer.node.id);
    let no_more = then.filter(|id| new.answer(id).is_none());
    let changed = now.iter().copied().chain(no_more).filter_map(|id| {
        let change = AnswerDiff { id: id.clone(), before: standing(old, id), after: standing(new, id) };
        (change.before != change.after).then_some(change)
    });
    changed.collect()
}

fn end(old: &Investigation, new: &Investigation) -> Option<EndDiff> {
    let [old, new] = [old, new].map(|it| it.end().or_else(|| it.draft()));
    let what = match (old, new) {
        (old, new) if old == new => return None,
        (None, Some(new)) if new.draft => "drafted",
        (Some(old), Some(new)) if old.draft && !new.draft => "ended",
        (None, _) => "ended",
        (_, None) => "reopened",
        _ => "changed",
    };
    let fields = differing_fields(fields_of_end(old), fields_of_end(new));
    Some(EndDiff { what, fields })
}

/// The display name of the conclusion.
pub const CONCLUSION: &str = "Conclusion";

/// Returns the fields that differ between two lists with the same names.
fn differing_fields<const N: usize>(
    old: [(&'static str, String); N],
    new: [(&'static str, String); N],
) -> Vec<FieldDiff> {
    let pairs = old.into_iter().zip(new);
    pairs.filter_map(|((name, old), (_, new))| FieldDiff::new(name, &old, &new)).collect()
}

/// Returns the fields of a conclusion with their display names. All are empty without a conclusion.
fn fields_of_end(end: Option<&Conclusion>) -> [(&'static str, String); 12] {
    let nothing = Conclusion::default();
    let ended_at = or_none(end.map(|end| end.ended_at));
    let end = end.unwrap_or(&nothing);
    let stopped = end.stopped.as_ref();
    let others: Vec<String> =
        end.other_conclusions.iter().map(Conclusion::report).filter(|it| !it.is_empty()).collect();
    let amended: Vec<String> = end.amended.iter().map(AmendedConclusion::line).collect();
    let bound: Vec<String> =
        end.answers.iter().map(|bound| format!("{} ({})", bound.id, bound.role.label())).collect();
    [
        ("Ended", ended_at),
        ("Concluded by", or_none(end.who())),
        ("Concluded later", or_none(end.concluded_at)),
        ("Stopped early", or_none(stopped.map(|stopped| stopped.reason.label()))),
        ("Why stopped", or_none(stopped.and_then(|stopped| stopped.note.as_ref()))),
        ("Before ending", or_none(end.asked.as_ref().map(Asked::line))),
        ("Bottom line", end.bottom_line.clone()),
        (CONCLUSION, or_none(end.conclusion.as_ref())),
        ("Answers it rests on", bound.join("\n")),
        ("Not covered", end.not_covered.join("\n")),
        ("Changes to the conclusion", amended.join("\n")),
        ("Other conclusions", others.join("\n\n")),
    ]
}

/// Returns the fixed settings with their display names.
fn fields_of_meta(meta: &Meta) -> [(&'static str, String); 10] {
    let early = if meta.allow_early_terminal { "yes" } else { "no" };
    [
        ("Id", meta.id.to_string()),
        ("Title", meta.title.clone()),
        ("Question", meta.query.clone()),
        ("Context", or_none(meta.context.as_ref())),
        ("Ruleset", meta.ruleset.clone()),
        ("Mode", meta.mode.clone()),
        ("Minimum rounds", meta.min_rounds.to_string()),
        ("Minimum roots", meta.min_roots.to_string()),
        ("Early results", early.to_owned()),
        ("Started", meta.started_at.to_string()),
    ]
}

fn or_none(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
