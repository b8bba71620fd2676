//! Whether a commit took back what a call had stored: a call only adds. Whoever edits by hand can rewrite findings or
//! remove a committed node; git keeps the text that was there, and this names where.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

use super::Finding;
use super::Severity::{Error, Note};
use crate::domain::{Code, Comment, CommentId, Conclusion, Happening, Node, NodeId};
use crate::format::layout;
use crate::store::HistoryEntry;
use crate::view::{Field, NodeView};

pub(super) fn findings(history: &[HistoryEntry]) -> Vec<Finding> {
    let mut stored = Stored::default();
    let mut findings: Vec<Option<Finding>> = Vec::new();
    for entry in history.iter().rev() {
        if !entry.gaps.is_empty() {
            // What stands after it is not known.
            stored = Stored::default();
        }
        let written = Written { entry, fields: OnceCell::new() };
        for happening in &entry.happenings {
            if let Some((before, number)) = happening.node().and_then(|node| stored.gone.remove(&node.id)) {
                // It was put back: after a conflict was resolved, say.
                findings[number] = findings[number].take().filter(|_| !written.holds(&before));
            }
            if let Happening::Removed(node) = happening {
                stored.gone.insert(node.id.clone(), (Arc::clone(node), findings.len()));
            }
            let finding = stored.take(happening, &written);
            findings.push(finding.map(|finding| finding.in_commit(entry.commit)));
        }
    }
    findings.into_iter().flatten().collect()
}

/// A commit, and the fields of the nodes that it has written.
struct Written<'a> {
    entry: &'a HistoryEntry,
    fields: OnceCell<Vec<Field<'a>>>,
}

impl<'a> Written<'a> {
    /// Whether every text of the node stands in a node that was written.
    fn holds(&self, node: &Node) -> bool {
        NodeView::fields(node).filter(|field| field.is_text).all(|field| self.has(&field.value))
    }

    fn has(&self, text: &str) -> bool {
        let is_gone = |it: &&Happening| matches!(it, Happening::Withdrawn(_) | Happening::Removed(_));
        let nodes =
            || self.entry.happenings.iter().filter(move |it| !is_gone(it)).filter_map(Happening::node);
        let fields = self.fields.get_or_init(|| nodes().flat_map(|node| NodeView::fields(node)).collect());
        fields.iter().any(|field| field.value.contains(text))
    }
}

/// What stands after a commit, as far as it was seen.
#[derive(Default)]
struct Stored {
    nodes: HashMap<NodeId, Arc<Node>>,
    conclusion: Option<Arc<Conclusion>>,
    comments: HashMap<CommentId, Arc<Comment>>,
    /// Nodes that can't be read any more, each with the number of the finding that says so.
    gone: HashMap<NodeId, (Arc<Node>, usize)>,
}

impl Stored {
    /// Notes what happened, and says what was lost by it.
    fn take(&mut self, happening: &Happening, written: &Written<'_>) -> Option<Finding> {
        let entry = written.entry;
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
                let message = format!("{}, which was committed, is gone or can't be read after it.", node.id);
                Some(lost(message, entry, &layout::node(&node.id)))
            }
            Happening::Edited(after) => {
                let before = self.nodes.insert(after.id.clone(), Arc::clone(after));
                edited(before.as_deref(), after, written)
            }
            Happening::Ended(after) => {
                let before = self.conclusion.replace(Arc::clone(after))?;
                let before = before.conclusion.as_deref().unwrap_or_default();
                let ends = || std::iter::once(after.as_ref()).chain(&after.other_conclusions);
                let amended = ends().flat_map(|end| &end.amended).filter_map(|it| it.conclusion.as_ref());
                let mut kept = amended.chain(ends().filter_map(|end| end.conclusion.as_ref()));
                (!before.is_empty() && !kept.any(|text| text.contains(before)))
                    .then(|| lost("It changed the conclusion.".to_owned(), entry, layout::CONCLUSION))
            }
            Happening::Reopened => {
                let before = self.conclusion.take()?;
                let by_call = entry.is_of_call();
                (!by_call && before.conclusion.is_some())
                    .then(|| lost("It removed the conclusion.".to_owned(), entry, layout::CONCLUSION))
            }
            Happening::Commented(comment) => {
                self.comments.insert(comment.id, Arc::clone(comment));
                None
            }
            Happening::CommentEdited(comment) => {
                let before = self.comments.insert(comment.id, Arc::clone(comment))?;
                // A merge may have moved its node.
                let moved = Comment { node: comment.node.clone(), ..(*before).clone() };
                (entry.parents.len() < 2 || moved != **comment).then(|| {
                    let message = format!("It changed the {} {}.", comment.kind.label(), comment.id);
                    lost(message, entry, &layout::comment(comment.id))
                })
            }
            Happening::CommentRemoved(comment) => {
                self.comments.remove(&comment.id);
                let message = format!("It removed the {} {}.", comment.kind.label(), comment.id);
                Some(lost(message, entry, &layout::comment(comment.id)))
            }
            Happening::Attached(..) => None,
            // A merge moves what is beside a node that it moves, and keeps both of one name.
            Happening::AttachmentChanged(..) | Happening::AttachmentRemoved(..)
                if entry.parents.len() > 1 =>
            {
                None
            }
            Happening::AttachmentChanged(node, name) => {
                let message = format!("It changed the attachment {name} of {node}.");
                Some(lost(message, entry, &layout::attachment(node, name)))
            }
            Happening::AttachmentRemoved(node, name) => {
                let message = format!("It removed the attachment {name} of {node}.");
                Some(lost(message, entry, &layout::attachment(node, name)))
            }
        }
    }
}

/// A committed node that was changed otherwise than by a change of state.
fn edited(before: Option<&Node>, after: &Node, written: &Written<'_>) -> Option<Finding> {
    let entry = written.entry;
    let before = before?;
    if after.is_pending() {
        let message = format!("It made {} a proposal again, without its findings.", after.id);
        return Some(lost(message, entry, &layout::node(&after.id)));
    }
    let fields = NodeView::fields(before).zip(NodeView::fields(after));
    let changed: Vec<(Field<'_>, Field<'_>)> =
        fields.filter(|(before, after)| before.value != after.value).collect();
    let is_merge = entry.parents.len() > 1;
    let is_lost = match is_merge {
        // It may have moved a node, and put a result beside another.
        true => {
            let mut texts = changed.iter().map(|(before, _)| before).filter(|before| before.is_text);
            texts.any(|text| !written.has(&text.value))
        }
        false => changed.iter().any(|(before, after)| !after.value.contains(&*before.value)),
    };
    if is_merge && !is_lost {
        return None;
    }
    let names: Vec<&str> = changed.iter().map(|(before, _)| before.name).collect();
    let message = format!("It changed what was stored of {}: {}.", after.id, names.join(", "));
    let path = layout::node(&after.id);
    Some(if is_lost { lost(message, entry, &path) } else { Finding::new(Note, Code::CommitByHand, message) })
}

fn lost(message: String, entry: &HistoryEntry, path: &str) -> Finding {
    let finding = Finding::new(Error, Code::StoredLost, message);
    match entry.parents.first() {
        Some(parent) => finding.suggest(format!("`git show {parent}:{path}` still has it.")),
        None => finding,
    }
}
