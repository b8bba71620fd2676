//! Checks that no commit removed data stored by an earlier call.
//!
//! Calls only add data, but a manual edit can rewrite findings or remove a committed node. git still has the earlier
//! text, and the finding shows where.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::Severity::{Error, Note};
use super::{Finding, oldest_first};
use crate::domain::node::NodeText;
use crate::domain::{
    Amendment, Classification, Code, Comment, CommentId, Conclusion, Happening, Node, NodeId,
    Reclassification, Run, RunId,
};
use crate::fields::NodeField;
use crate::format::layout;
use crate::ruleset::effective::list;
use crate::store::HistoryEntry;

pub(super) fn findings(history: &[HistoryEntry]) -> Vec<Finding> {
    let mut stored = KnownState::default();
    let mut findings: Vec<Option<Finding>> = Vec::new();
    for (entry, is_join) in oldest_first(history) {
        if !entry.gaps.is_empty() {
            // The state after this commit is unknown.
            stored = KnownState::default();
        }
        for happening in &entry.happenings {
            if let Some(node) = happening.node()
                && let Some((before, number)) = stored.gone.remove(&node.id)
            {
                // The node was restored, for example by resolving a conflict.
                findings[number] = findings[number].take().filter(|_| !keeps(node, &before));
            }
            if let Happening::Removed(node) = happening {
                stored.gone.insert(node.id.clone(), (Arc::clone(node), findings.len()));
            }
            let finding = stored.apply(happening, entry, is_join);
            findings.push(finding.map(|finding| finding.in_commit(entry.commit)));
        }
    }
    findings.into_iter().flatten().collect()
}

/// Returns whether a node still has everything that calls have stored in it.
fn keeps(after: &Node, before: &Node) -> bool {
    pieces(before).is_subset(&pieces(after))
}

/// The parts of a node that every merge preserves: its text, and the author and time of each action. A merge may swap
/// an amendment and the amended text, and may change the previous state of a state change.
fn pieces(node: &Node) -> HashSet<String> {
    let mut pieces = HashSet::new();
    for result in node.results() {
        let Classification { state, requested_state, refutes, agent_id, caller, committed_at, .. } = result;
        pieces
            .insert(format!("{committed_at} {state} {requested_state:?} {refutes} {agent_id:?} {caller:?}"));
        pieces.extend(result.runs.iter().map(ToString::to_string));
        pieces.extend(
            result.reclassified.iter().map(|change| {
                format!("{:?}", Reclassification { from: change.to.clone(), ..change.clone() })
            }),
        );
        pieces.extend(result.amended.iter().map(|amendment| {
            let Amendment { at, agent_id, caller, reason, .. } = amendment;
            format!("{at} {agent_id:?} {caller:?} {reason:?}")
        }));
    }
    node.clone().visit_texts(&mut |text| match text {
        NodeText::Title(text) | NodeText::One(text) => drop(pieces.insert(std::mem::take(text))),
        NodeText::List(list) => drop(pieces.insert(format!("{list:?}"))),
        NodeText::Caveats(list) => pieces.extend(list.drain(..)),
        NodeText::Commands(commands) => drop(pieces.insert(format!("{commands:?}"))),
        NodeText::Covers(_) | NodeText::Citations(_) | NodeText::Warnings(_) => {}
    });
    pieces.remove("");
    pieces
}

/// The known state after a commit.
#[derive(Default)]
struct KnownState {
    nodes: HashMap<NodeId, Arc<Node>>,
    conclusion: Option<Arc<Conclusion>>,
    comments: HashMap<CommentId, Arc<Comment>>,
    runs: HashMap<RunId, Arc<Run>>,
    /// Nodes that have been removed or have become unreadable, each with the index of its finding.
    gone: HashMap<NodeId, (Arc<Node>, usize)>,
}

impl KnownState {
    /// Returns whether a call or a merge could have replaced or removed this conclusion. That requires later research, or
    /// a merge with another conclusion.
    fn may_replace(
        &self,
        end: &Conclusion,
        now: Option<&Conclusion>,
        (entry, is_join): (&HistoryEntry, bool),
    ) -> bool {
        let is_end = entry.is_of_call() && entry.trailers().contains(&("Tool", "tot_end"));
        let written = entry.happenings.iter().filter_map(Happening::node);
        let last = self.nodes.values().chain(written).map(|node| node.last_research()).max();
        let is_another = now.is_some_and(|now| now.ended_at != end.ended_at);
        (is_join && (is_another || last >= Some(end.ended_at))) || (is_end && last > Some(end.ended_at))
    }

    /// Records an event and returns a finding if the event removed stored data.
    fn apply(&mut self, happening: &Happening, entry: &HistoryEntry, is_join: bool) -> Option<Finding> {
        match happening {
            Happening::Started => None,
            Happening::Proposed(node)
            | Happening::Claimed(node)
            | Happening::Released(node)
            | Happening::Committed(node)
            | Happening::OtherResult(node, _)
            | Happening::Reclassified(node, _)
            | Happening::Amended(node, _) => {
                self.nodes.insert(node.id.clone(), Arc::clone(node));
                None
            }
            Happening::Withdrawn(node) => {
                self.nodes.remove(&node.id);
                None
            }
            Happening::Removed(node) => {
                self.nodes.remove(&node.id);
                let message =
                    format!("This commit removed the committed node {}, or made it unreadable.", node.id);
                Some(lost(message, entry, &layout::node(&node.id)))
            }
            Happening::Edited(after) => {
                let before = self.nodes.insert(after.id.clone(), Arc::clone(after));
                edited(before.as_deref(), after, entry, is_join)
            }
            Happening::Ended(after) => {
                let before = self.conclusion.replace(Arc::clone(after))?;
                let kept = texts_of(after);
                let is_kept = texts_of(&before).is_subset(&kept)
                    || self.may_replace(&before, Some(after), (entry, is_join));
                (!is_kept).then(|| {
                    lost("This commit changed the conclusion.".to_owned(), entry, layout::CONCLUSION)
                })
            }
            Happening::Reopened => {
                let before = self.conclusion.take()?;
                let is_kept = entry.is_of_call()
                    || texts_of(&before).is_empty()
                    || self.may_replace(&before, None, (entry, is_join));
                (!is_kept).then(|| {
                    lost("This commit removed the conclusion.".to_owned(), entry, layout::CONCLUSION)
                })
            }
            Happening::Commented(comment) => {
                self.comments.insert(comment.id, Arc::clone(comment));
                None
            }
            Happening::CommentEdited(comment) => {
                let before = self.comments.insert(comment.id, Arc::clone(comment))?;
                (before != *comment).then(|| {
                    let message = format!("This commit changed the {} {}.", comment.kind.label(), comment.id);
                    lost(message, entry, &layout::comment(comment.id))
                })
            }
            Happening::CommentRemoved(comment) => {
                self.comments.remove(&comment.id);
                let message = format!("This commit removed the {} {}.", comment.kind.label(), comment.id);
                Some(lost(message, entry, &layout::comment(comment.id)))
            }
            Happening::Ran(run) => {
                self.runs.insert(run.id, Arc::clone(run));
                None
            }
            Happening::RunEdited(run) => {
                let before = self.runs.insert(run.id, Arc::clone(run))?;
                (before != *run).then(|| {
                    lost(format!("This commit changed the run {}.", run.id), entry, &layout::run(run.id))
                })
            }
            Happening::RunRemoved(run) => {
                self.runs.remove(&run.id);
                Some(lost(format!("This commit removed the run {}.", run.id), entry, &layout::run(run.id)))
            }
            Happening::Attached(..) => None,
            // If two files have the same name, a merge keeps both, one of them under another name.
            Happening::AttachmentChanged(..) | Happening::AttachmentRemoved(..) if is_join => None,
            Happening::AttachmentChanged(node, name) => {
                let message = format!("This commit changed the attachment {name} of {node}.");
                Some(lost(message, entry, &layout::attachment(node, name)))
            }
            Happening::AttachmentRemoved(node, name) => {
                let message = format!("This commit removed the attachment {name} of {node}.");
                Some(lost(message, entry, &layout::attachment(node, name)))
            }
        }
    }
}

/// Returns the text fields of a conclusion and its alternatives, including versions before amendments.
fn texts_of(end: &Conclusion) -> HashSet<&str> {
    let ends = || std::iter::once(end).chain(&end.other_conclusions);
    let before = ends().flat_map(|end| &end.amended).flat_map(|it| [&it.bottom_line, &it.conclusion]);
    let now = ends().flat_map(|end| [Some(&end.bottom_line), end.conclusion.as_ref()]);
    let texts = now.chain(before.map(Option::as_ref)).flatten().map(String::as_str);
    texts.filter(|text| !text.is_empty()).collect()
}

/// Checks an edit, other than a reclassification, to a committed node.
fn edited(before: Option<&Node>, after: &Node, entry: &HistoryEntry, is_merge: bool) -> Option<Finding> {
    let before = before.filter(|before| !keeps(after, before))?;
    if after.is_pending() {
        let message = format!("This commit turned {} back into a proposal, without its findings.", after.id);
        return Some(lost(message, entry, &layout::node(&after.id)));
    }
    let fields = before.fields().zip(after.fields());
    let changed: Vec<(NodeField<'_>, NodeField<'_>)> =
        fields.filter(|(before, after)| before.value != after.value).collect();
    let is_lost = is_merge || changed.iter().any(|(before, after)| !after.value.contains(&*before.value));
    let names = list(changed.iter().map(|(before, _)| before.name));
    let message = format!("It changed stored fields of {}: {names}.", after.id);
    let path = layout::node(&after.id);
    Some(if is_lost { lost(message, entry, &path) } else { Finding::new(Note, Code::CommitByHand, message) })
}

fn lost(message: String, entry: &HistoryEntry, path: &str) -> Finding {
    let finding = Finding::new(Error, Code::StoredLost, message);
    match entry.parents.first() {
        Some(parent) => finding.suggest(format!("`git show {parent}:{path}` still shows it.")),
        None => finding,
    }
}
