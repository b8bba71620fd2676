//! Comments on nodes and on the investigation, and open objections.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::Serialize;

use super::cards::{Cards, Time};
use super::node::client;
use crate::domain::{Comment, CommentId, CommentKind, NodeId};
use crate::report::templates::SafeHtml;
use crate::ruleset::rules::objections::{may_resolve, objection_of, thread};

/// A comment, with its replies.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Thread {
    pub first: CommentView,
    /// The replies, oldest first.
    pub replies: Vec<CommentView>,
    /// True if the comment is an unresolved objection.
    pub is_open: bool,
}

/// A comment or a reply.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct CommentView {
    pub id: String,
    /// The kind: `comment`, `objection`, `correction`, `answer` or `resolution`.
    pub kind: &'static str,
    /// The name of the agent or of the git author.
    pub by: String,
    /// True if the comment was written on the command line, according to its file.
    pub is_person: bool,
    pub client: Option<String>,
    pub at: Time,
    pub text: Option<SafeHtml>,
    /// True for a resolution that has no effect because the node's author wrote it.
    pub is_void: bool,
}

/// All comments of an investigation.
pub(in crate::report) struct CommentThreads {
    /// The comments on each node.
    pub by_node: HashMap<NodeId, Vec<Thread>>,
    /// The comments on the investigation and on missing nodes.
    pub whole: Vec<Thread>,
}

impl Cards<'_> {
    pub(super) fn comments(&self) -> CommentThreads {
        let is_open: HashSet<CommentId> =
            self.assessment.open.iter().map(|objection| objection.comment.id).collect();
        let mut replies: HashMap<CommentId, Vec<CommentView>> = HashMap::new();
        for comment in self.investigation.comments() {
            if let Some(first) = thread(self.investigation, comment).skip(1).last() {
                replies.entry(first.id).or_default().push(self.said(comment));
            }
        }
        let mut comments = CommentThreads { by_node: HashMap::new(), whole: Vec::new() };
        for comment in self.investigation.comments() {
            if thread(self.investigation, comment).nth(1).is_some() {
                continue;
            }
            let thread = Thread {
                first: self.said(comment),
                replies: replies.remove(&comment.id).unwrap_or_default(),
                is_open: is_open.contains(&comment.id),
            };
            match comment.node.as_ref().filter(|node| self.get(node).is_some()) {
                Some(node) => comments.by_node.entry(node.clone()).or_default().push(thread),
                None => comments.whole.push(thread),
            }
        }
        comments
    }

    /// Returns the address of a comment.
    pub(super) fn place(&self, comment: &Comment) -> String {
        let page = comment.node.as_ref().and_then(|node| self.get(node));
        format!("{}#said-{}", page.map_or("index.html", |card| card.href.as_str()), comment.id)
    }

    fn said(&self, comment: &Arc<Comment>) -> CommentView {
        let resolves = |objection: &Comment| {
            may_resolve(self.investigation, objection, &comment.author, Some(comment.at))
        };
        CommentView {
            id: comment.id.to_string(),
            kind: comment.kind.label(),
            by: comment.author.label().into_owned(),
            is_person: comment.author.is_person(),
            client: client(&comment.author.caller),
            at: Time::of(comment.at),
            text: SafeHtml::some_markdown(Some(&comment.shown()), &format!("said-text-{}", comment.id), 3),
            is_void: comment.kind == CommentKind::Resolution
                && !objection_of(self.investigation, comment).is_none_or(|it| resolves(it)),
        }
    }
}
