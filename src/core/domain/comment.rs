//! What people and agents say about an investigation: comments, objections to a node, and what answers them.

use serde::{Deserialize, Serialize};

use super::node::program_of;
use super::{Caller, CommentId, NodeId, Person, Timestamp};

/// One comment. It is written once, never changed, and has a file of its own, so that two never conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// Its id, which begins with its time.
    pub id: CommentId,
    /// What it is about; `None` for the investigation as a whole.
    pub node: Option<NodeId>,
    /// Its kind.
    pub kind: CommentKind,
    /// The comment that it answers or resolves.
    pub reply_to: Option<CommentId>,
    /// The author.
    pub author: Commenter,
    /// When it was written.
    pub at: Timestamp,
    /// Markdown, as it came.
    pub text: String,
}

/// The kind of a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CommentKind {
    /// A remark, which asks for nothing.
    Comment,
    /// A claim that a node is wrong, and why. It stays open until it is resolved.
    Objection,
    /// A reply to another comment.
    Answer,
    /// A statement that an objection is settled, and how.
    Resolution,
}

/// The author of a comment, as git and the client name it. Nothing proves it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commenter {
    /// The author that git's configuration names.
    pub name: String,
    /// The author's address.
    pub email: Option<String>,
    /// The agent, as it says.
    pub agent_id: Option<String>,
    /// The client that the comment came through.
    pub caller: Caller,
}

impl Commenter {
    /// Whether it came through the person's command rather than a tool.
    pub fn is_person(&self) -> bool {
        self.caller.person.is_some()
    }

    /// The name that pages and lists show: the person, the agent, or its program; if none of these is known, the author in git.
    pub fn label(&self) -> &str {
        let program = self.caller.client.as_deref().map(program_of);
        let is_named = self.is_person() || self.caller.disowned.is_some();
        self.agent_id.as_deref().or(program).filter(|_| !is_named).unwrap_or(&self.name)
    }

    /// Drops the person as its author, whom git contradicts.
    pub fn disown(&mut self) {
        let name = std::mem::replace(&mut self.name, "unknown author".to_owned());
        self.caller.person = None;
        self.caller.disowned = Some(Person { name, email: self.email.take() });
    }
}

impl CommentKind {
    /// For people, before what it is about: an _objection_ to `R2.A1`.
    pub fn label(self) -> &'static str {
        match self {
            CommentKind::Comment => "comment",
            CommentKind::Objection => "objection",
            CommentKind::Answer => "answer",
            CommentKind::Resolution => "resolution",
        }
    }
}
