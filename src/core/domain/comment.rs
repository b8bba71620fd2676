//! Comments on an investigation: remarks, objections, corrections, answers and resolutions.
//!
//! A further field of a comment is also read and written in `format/comment_file.rs`, given in `decide/comment.rs` (`Say`, and
//! the test for a repeated comment) and in `cli/comment.rs`, and shown in `json.rs`, `cli/show/node.rs`, `report/document.rs`,
//! `report/changes.rs`, `report/model/comments.rs` and `site-template/macros.html`.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::caller::{agent_name, person_name, program_of};
use super::edit::{self, TextEdit};
use super::{Caller, ClaimHash, CommentId, NodeId, Person, Timestamp};

/// A comment. Each comment is written once to its own file and never changed, so comments cannot conflict in a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// The id, which begins with the time.
    pub id: CommentId,
    /// The node that the comment is about; absent for the whole investigation.
    pub node: Option<NodeId>,
    /// The kind of comment.
    pub kind: CommentKind,
    /// The comment that this one answers or resolves.
    pub reply_to: Option<CommentId>,
    /// The author.
    pub author: Commenter,
    /// The time at which the comment was written.
    pub at: Timestamp,
    /// The text in Markdown, as written.
    pub text: String,
    /// Only in a resolution: the node's claim as the author saw it. In a confirmation or correction of the report: the report.
    pub saw: Option<ClaimHash>,
    /// Only in a correction: the changes to the node's findings or, without a node, to the conclusion's text.
    pub edits: Vec<TextEdit>,
}

/// The kind of comment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CommentKind {
    /// A remark that requests nothing.
    #[default]
    Comment,
    /// A claim that a node is wrong, with the reason. It stays open until it is resolved.
    Objection,
    /// A proposal to change a few passages. It stays open until somebody else accepts it, or it is resolved.
    Correction,
    /// A statement that the report withstood an attack, with what was tried.
    Confirmation,
    /// A reply to another comment.
    Answer,
    /// A statement of how an objection or a correction was settled.
    Resolution,
}

/// The author of a comment, as reported by git and the client. Neither is verified.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commenter {
    /// The author's name from the git configuration.
    pub name: String,
    /// The author's email address.
    pub email: Option<String>,
    /// The agent id, as reported by the agent.
    pub agent_id: Option<String>,
    /// The client that sent the comment.
    pub caller: Caller,
}

impl Comment {
    /// Returns the text with the edits above it, in Markdown.
    pub fn shown(&self) -> Cow<'_, str> {
        let mut text = Cow::Borrowed(self.text.as_str());
        for TextEdit { old, new } in self.edits.iter().rev().filter(|edit| edit.old != edit.new) {
            text = Cow::Owned(format!("“{}” → “{}”\n\n{text}", old.trim(), new.trim()));
        }
        text
    }

    /// Returns the edits in short: `“two lots” → “three lots”, 1 more`.
    pub fn edits_in_short(&self) -> String {
        edit::in_short(&self.edits)
    }
}

impl CommentKind {
    /// Returns whether a comment of this kind is open until it is settled.
    pub fn is_settled_later(self) -> bool {
        matches!(self, CommentKind::Objection | CommentKind::Correction)
    }

    /// Returns the noun for display, as in "an _objection_ to `R2.A1`".
    pub fn label(self) -> &'static str {
        match self {
            CommentKind::Comment => "comment",
            CommentKind::Objection => "objection",
            CommentKind::Correction => "correction",
            CommentKind::Confirmation => "confirmation",
            CommentKind::Answer => "answer",
            CommentKind::Resolution => "resolution",
        }
    }
}

impl Commenter {
    /// Returns whether the author is a person, which means that a command was used rather than a tool.
    pub fn is_person(&self) -> bool {
        self.caller.person.is_some()
    }

    /// Returns whether two authors are the same, even in different sessions.
    pub fn is_same_author(&self, other: &Commenter) -> bool {
        let [one, other] = [self, other].map(|it| (it.agent_id.as_deref(), &it.caller));
        Caller::is_same_author(one, other)
    }

    /// Returns whether two authors may be the same, as in [`Caller::may_be_same_author`].
    pub fn may_be_same_author(&self, other: &Commenter) -> bool {
        let [one, other] = [self, other].map(|it| (it.agent_id.as_deref(), &it.caller));
        Caller::may_be_same_author(one, other)
    }

    /// Returns the name shown on pages and in lists: the person's, agent's or client program's name or, without any,
    /// the author's git name.
    pub fn label(&self) -> Cow<'_, str> {
        let program = self.caller.client.as_deref().map(program_of);
        if self.is_person() {
            return Cow::Owned(person_name(&self.name));
        }
        let agent = self.agent_id.as_deref().or(program).filter(|_| self.caller.disowned.is_none());
        agent.map_or(Cow::Borrowed(&self.name), agent_name)
    }

    /// Removes the claim that a person is the author, because git names another author.
    pub fn disown(&mut self) {
        let name = std::mem::replace(&mut self.name, "unknown author".to_owned());
        self.caller.person = None;
        self.caller.disowned = Some(Person { name, email: self.email.take() });
    }
}
