//! The `comments/<id>.yaml` files.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::domain::{
    Caller, ClaimHash, Comment, CommentId, CommentKind, Commenter, NodeId, Person, TextEdit, Timestamp,
};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CommentFile {
    id: CommentId,
    node: Option<NodeId>,
    kind: CommentKind,
    reply_to: Option<CommentId>,
    author: AuthorEntry,
    by: ByEntry,
    at: Timestamp,
    saw: Option<ClaimHash>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    edits: Vec<TextEdit>,
    text: String,
}

/// The author of a comment or a run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AuthorEntry {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    email: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<String>,
}

/// The origin of a comment or a run: the client, and whether a person or an agent used it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ByEntry {
    kind: AuthorKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum AuthorKind {
    Person,
    Agent,
}

fn entry(comment: Comment) -> CommentFile {
    let Comment { id, mut node, kind, reply_to, author, at, text, saw, edits } = comment;
    node.iter_mut().for_each(|id| id.show_whole(true));
    let (author, by) = author_entry(author);
    CommentFile { id, node, kind, reply_to, author, by, at, text, saw, edits }
}

/// Converts an author to the keys `author` and `by`.
pub(crate) fn author_entry(author: Commenter) -> (AuthorEntry, ByEntry) {
    let kind = if author.is_person() { AuthorKind::Person } else { AuthorKind::Agent };
    let Commenter { name, email, agent_id, caller } = author;
    let by = ByEntry { kind, client: caller.client, session: caller.session, model: caller.model };
    (AuthorEntry { name, email, agent_id }, by)
}

/// Converts the keys `author` and `by` to an author.
pub(super) fn author(AuthorEntry { name, email, agent_id }: AuthorEntry, by: ByEntry) -> Commenter {
    let person = match by.kind {
        AuthorKind::Person => Some(Person { name: name.clone(), email: email.clone() }),
        AuthorKind::Agent => None,
    };
    let ByEntry { client, session, model, .. } = by;
    let caller = Caller { disowned: None, person, client, session, model };
    Commenter { name, email, agent_id, caller }
}

impl Serialize for Comment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        entry(self.clone()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Comment {
    fn deserialize<D: Deserializer<'de>>(fields: D) -> Result<Self, D::Error> {
        let CommentFile { id, node, kind, reply_to, author: own, by, at, text, saw, edits } =
            CommentFile::deserialize(fields)?;
        Ok(Comment { id, node, kind, reply_to, author: author(own, by), at, text, saw, edits })
    }
}
