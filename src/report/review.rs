//! Lists the changes to an investigation since the last review, riskiest first.
//!
//! There is one [`ReviewEntry`] for each node that has changed, or whose assessment has changed, and one for the whole
//! investigation. Each entry lists its notes, riskiest first.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::assess::{Assessment, Repetition, differs};
use crate::decide::blockers::weakened;
use crate::domain::event::{attachment_events, node_events};
use crate::domain::{
    Comment, CommentKind, Conclusion, Happening, Investigation, NodeId, RunKind, StateName, Warning,
};
use crate::ruleset::EffectiveRules;
use crate::ruleset::effective::list;
use crate::service::project::ProjectEvidence;
use crate::text::{one_line, shorten};

/// The maximum number of characters in a note.
const QUOTED: usize = 300;

/// The reason to review an item, riskiest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Risk {
    /// An answer affected by an open objection or a differing rerun, or a node with differing results.
    Contested,
    /// An answer that is unconfirmed, or confirmed only by its author.
    Unconfirmed,
    /// A change to the conclusion.
    Conclusion,
    /// An open objection.
    Objection,
    /// A call with a warning, or a manual change.
    Warning,
    /// Cited evidence that has changed or disappeared.
    ProjectEvidence,
    /// A state change that closes, reopens or reverses a node.
    Turned,
    /// Any other change.
    Other,
}

/// A node to review, or the whole investigation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReviewEntry {
    /// The risk of the first note.
    pub risk: Risk,
    /// The node. Absent for the whole investigation.
    #[serde(rename = "nodeId")]
    pub node: Option<NodeId>,
    /// The node's state. Absent for a proposal, a removed node and the whole investigation.
    pub state: Option<StateName>,
    /// The title of the node or of the investigation.
    pub title: String,
    /// The notes, riskiest first.
    pub notes: Vec<Note>,
}

/// A note on a node or on the whole investigation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    /// The risk.
    pub risk: Risk,
    /// One line of text without a full stop.
    pub text: String,
}

impl Risk {
    /// Returns the label shown before a note.
    pub fn label(self) -> &'static str {
        match self {
            Risk::Contested => "contested",
            Risk::Unconfirmed => "unconfirmed",
            Risk::Conclusion => "conclusion",
            Risk::Objection => "objection",
            Risk::Warning => "warning",
            Risk::ProjectEvidence => "evidence",
            Risk::Turned => "turned",
            Risk::Other => "changed",
        }
    }
}

/// Returns the items that changed between two states, or all items if there is no earlier state.
///
/// Without rules, no node counts as an answer. Lost evidence is always reported, since the time of the loss is unknown.
pub fn review(
    before: Option<&Investigation>,
    after: &Investigation,
    rules: Option<&EffectiveRules>,
    evidence: &ProjectEvidence,
) -> Vec<ReviewEntry> {
    let nothing = Investigation::new(after.meta().clone());
    let before = before.unwrap_or(&nothing);
    let mut notes = Notes::default();
    let ids: BTreeSet<&NodeId> = before.nodes().chain(after.nodes()).map(|node| &node.id).collect();
    for id in ids {
        for happening in node_events(before.node(id), after.node(id)) {
            notes.event(id, &happening, rules);
        }
    }
    for happening in attachment_events(before, after) {
        if let Some((node, _)) = happening.attachment() {
            notes.event(node, &happening, rules);
        }
    }
    let [was, is] = [before, after].map(|it| Assessment::new(it, rules.copied()));
    for comment in after.comments().filter(|comment| before.comment(comment.id).is_none()) {
        notes.commented(comment, is.open.iter().any(|objection| objection.comment.id == comment.id));
    }
    for run in after.runs().filter(|run| before.run(run.id).is_none()) {
        let is_turn = match &run.what {
            RunKind::Captured(_) => false,
            RunKind::Expected { expectations, .. } => expectations.iter().any(|it| !it.held),
            RunKind::Repeated { of, .. } => {
                let again = is.run(*of).and_then(|it| it.repetitions.iter().find(|it| it.run.id == run.id));
                again.is_some_and(Repetition::is_contesting)
            }
            RunKind::Judged { holds, .. } => !holds,
            RunKind::Retracted { .. } => true,
        };
        let risk = if is_turn { Risk::Turned } else { Risk::Other };
        let verb = match run.what {
            RunKind::Captured(_) => "ran",
            RunKind::Repeated { .. } => "reran",
            RunKind::Expected { .. } => "expects of a run:",
            RunKind::Judged { .. } => "judged a difference:",
            RunKind::Retracted { .. } => "about a run:",
        };
        notes.add(run.node.as_ref(), risk, format!("{} {verb} {}", run.author.label(), run.summary()));
    }
    answers(&mut notes, [&was, &is]);
    for (node, pin) in after.pins() {
        if let Some(became) = evidence.lost(pin) {
            let lines = pin.lines.map(|lines| format!(":{lines}")).unwrap_or_default();
            let text = format!("it cites {}{lines}, which is {became}", pin.path);
            notes.add(node.map(|node| &node.id), Risk::ProjectEvidence, text);
        }
    }
    conclusion(&mut notes, before, after);
    notes.items(before, after)
}

/// The notes on each node and on the whole investigation.
#[derive(Default)]
struct Notes(BTreeMap<Option<NodeId>, BTreeSet<Note>>);

impl Notes {
    fn add(&mut self, node: Option<&NodeId>, risk: Risk, text: String) {
        let text = shorten(&one_line(&text), QUOTED);
        self.0.entry(node.cloned()).or_default().insert(Note { risk, text });
    }

    fn event(&mut self, id: &NodeId, happening: &Happening, rules: Option<&EffectiveRules>) {
        let by = |who: Option<String>| who.map(|who| format!(", by {who}")).unwrap_or_default();
        let (risk, text) = match happening {
            Happening::Proposed(_) => (Risk::Other, "proposed".to_owned()),
            Happening::Withdrawn(_) => (Risk::Other, "the proposal was withdrawn".to_owned()),
            Happening::Committed(node) => {
                let Some(result) = &node.classification else { return };
                self.warned(id, &result.warnings);
                (Risk::Other, format!("committed as {}{}", result.state, by(result.who())))
            }
            Happening::OtherResult(node, number) => {
                let result = node.classification.as_ref().and_then(|first| first.other_results.get(*number));
                let Some(result) = result else { return };
                self.warned(id, &result.warnings);
                (Risk::Turned, format!("another result, {}{}", result.state, by(result.who())))
            }
            Happening::Reclassified(_, change) => {
                self.warned(id, &change.warnings);
                let by = by(change.who());
                let reason = change.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
                // Settling differing results, or confirming the current state, reverses nothing.
                let risk = if is_turn(&change.from, &change.to, rules) { Risk::Turned } else { Risk::Other };
                (risk, format!("{} became {}{by}{reason}", change.from, change.to))
            }
            Happening::Amended(_, amendment) => {
                let (parts, by) = (list(amendment.parts()), by(amendment.who()));
                (Risk::Other, format!("amended ({parts}){by}: {}", amendment.reason))
            }
            Happening::Edited(_) => (Risk::Warning, "changed by hand or in a merge".to_owned()),
            Happening::Removed(_) => (Risk::Warning, "removed by hand".to_owned()),
            Happening::Attached(_, name) => (Risk::Other, format!("{name} was attached")),
            Happening::AttachmentChanged(_, name) => {
                (Risk::Warning, format!("the attachment {name} was changed by hand or in a merge"))
            }
            Happening::AttachmentRemoved(_, name) => {
                (Risk::Warning, format!("the attachment {name} was removed by hand or moved in a merge"))
            }
            Happening::Claimed(_)
            | Happening::Released(_)
            | Happening::Ran(_)
            | Happening::RunEdited(_)
            | Happening::RunRemoved(_)
            | Happening::Started
            | Happening::Ended(_)
            | Happening::Reopened
            | Happening::Commented(_)
            | Happening::CommentEdited(_)
            | Happening::CommentRemoved(_) => return,
        };
        self.add(Some(id), risk, text);
    }

    fn warned(&mut self, id: &NodeId, warnings: &[Warning]) {
        for warning in warnings {
            self.add(Some(id), Risk::Warning, format!("{} {}", warning.code, warning.message));
        }
    }

    fn commented(&mut self, comment: &Comment, is_open: bool) {
        let who = comment.author.label();
        let (risk, verb) = match comment.kind {
            CommentKind::Objection if is_open => (Risk::Objection, "objects"),
            CommentKind::Objection => (Risk::Other, "objected (resolved)"),
            CommentKind::Correction if is_open => (Risk::Objection, "proposes a correction"),
            CommentKind::Correction => (Risk::Other, "proposed a correction (settled)"),
            CommentKind::Confirmation => (Risk::Other, "checked the report and could not refute it"),
            CommentKind::Comment => (Risk::Other, "says"),
            CommentKind::Answer => (Risk::Other, "answers"),
            CommentKind::Resolution => (Risk::Other, "resolves an objection"),
        };
        self.add(comment.node.as_ref(), risk, format!("{who} {verb}: {}", comment.shown()));
    }

    fn items(self, before: &Investigation, after: &Investigation) -> Vec<ReviewEntry> {
        let item = |(node, notes): (Option<NodeId>, BTreeSet<Note>)| {
            let known = node.as_ref().and_then(|id| after.node(id).or_else(|| before.node(id)));
            let title = known.map_or(after.meta().title.as_str(), |node| node.name());
            Some(ReviewEntry {
                risk: notes.first()?.risk,
                state: node.as_ref().and_then(|id| after.node(id)?.state().cloned()),
                title: one_line(title),
                node,
                notes: notes.into_iter().collect(),
            })
        };
        let mut items: Vec<ReviewEntry> = self.0.into_iter().filter_map(item).collect();
        // The sort is stable: within a risk, the whole investigation comes first, then nodes by id.
        items.sort_by_key(|item| item.risk);
        items
    }
}

/// Returns true if a change closes or reopens a node, makes it an answer, or stops it from being an answer.
fn is_turn(from: &StateName, to: &StateName, rules: Option<&EffectiveRules>) -> bool {
    match rules {
        Some(rules) => rules.role(from) != rules.role(to),
        None => from != to,
    }
}

/// Adds the answers that have changed, or whose assessment has changed.
fn answers(notes: &mut Notes, [before, after]: [&Assessment<'_>; 2]) {
    for (node, _) in after.investigation.committed() {
        let has_changed = before.investigation.committed_node(&node.id) != Some(node);
        if differs(node) && has_changed {
            let text = "its results differ, and nobody has decided between them".to_owned();
            notes.add(Some(&node.id), Risk::Contested, text);
        }
    }
    for answer in &after.answers {
        let id = &answer.node.id;
        let (was, has_changed) =
            (before.answer(id), before.investigation.committed_node(id) != Some(answer.node));
        for objection in after.open.iter().filter(|it| answer.against.contains(&it.comment.id)) {
            if has_changed || !was.is_some_and(|was| was.against.contains(&objection.comment.id)) {
                let text = match objection.comment.node.as_ref() == Some(id) {
                    true => "it has an open objection".to_owned(),
                    false => objection.message(),
                };
                notes.add(Some(id), Risk::Contested, text);
            }
        }
        for run in after.differing_runs(answer) {
            if has_changed || !was.is_some_and(|was| was.differing_runs.contains(&run.run.id)) {
                notes.add(Some(id), Risk::Contested, run.told());
            }
        }
        let is_new = has_changed || was.map(|was| was.grade) != Some(answer.grade);
        if !answer.grade.is_confirmed() && is_new {
            notes.add(Some(id), Risk::Unconfirmed, format!("an answer, {}", answer.grade.label()));
        }
    }
    let Some(rules) = &after.rules else { return };
    let turned = weakened(before.investigation, after.investigation, rules);
    for id in &turned.refuted {
        let by = after.answer(id).map_or(&[][..], |answer| &answer.refuted_by);
        notes.add(Some(id), Risk::Turned, format!("refuted by {}", list(by)));
    }
    for id in &turned.unconfirmed {
        notes.add(Some(id), Risk::Unconfirmed, "it is no longer confirmed".to_owned());
    }
}

fn conclusion(notes: &mut Notes, before: &Investigation, after: &Investigation) {
    let text = |investigation: &Investigation| {
        let end = investigation.end().or_else(|| investigation.draft());
        end.map(Conclusion::report)
            .map(|text| if text.is_empty() { "it has no conclusion".to_owned() } else { text })
    };
    let change = match (text(before), text(after)) {
        (Some(_), None) => "it was reopened".to_owned(),
        (None, Some(text)) if after.draft().is_some() => format!("its report was drafted: {text}"),
        (None, Some(text)) => format!("it was ended: {text}"),
        (Some(_), Some(text)) if before.draft().is_some() && after.draft().is_none() => {
            format!("it was ended: {text}")
        }
        (Some(was), Some(text)) if was != text => format!("it changed: {text}"),
        _ => return,
    };
    notes.add(None, Risk::Conclusion, change);
}
