//! `comments/<id>.yaml`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Time, Version, as_text};
use crate::domain::{Caller, Comment, CommentId, CommentKind, Commenter, NodeId, Person};
use crate::yaml::{self, Text, YamlError};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct File {
    /// Absent of one in a list of another format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<Version>,
    id: Id,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    node: Option<NodeId>,
    kind: CommentKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reply_to: Option<Id>,
    author: AuthorEntry,
    by: ByEntry,
    at: Time,
    text: Text,
}

#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct Id(#[serde(with = "as_text")] CommentId);

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AuthorEntry {
    name: Text,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    email: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent_id: Option<Text>,
}

/// By which way it came, as elsewhere, and whether that was the person's command.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ByEntry {
    kind: By,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<Text>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum By {
    Person,
    Agent,
}

/// The text of the file.
///
/// # Errors
///
/// None in practice; see [`super::files`].
pub fn write(comment: &Comment) -> Result<String, YamlError> {
    yaml::to_text(&File { version: Some(Version), ..entry(comment.clone()) })
}

fn entry(comment: Comment) -> File {
    let Comment { id, node, kind, reply_to, author, at, text } = comment;
    let by = if author.is_person() { By::Person } else { By::Agent };
    let Commenter { name, email, agent_id, caller } = author;
    File {
        version: None,
        id: Id(id),
        node,
        kind,
        reply_to: reply_to.map(Id),
        author: AuthorEntry { name: Text(name), email: email.map(Text), agent_id: agent_id.map(Text) },
        by: ByEntry {
            kind: by,
            client: caller.client.map(Text),
            session: caller.session.map(Text),
            model: caller.model.map(Text),
        },
        at: Time(at),
        text: Text(text),
    }
}

/// The value of the file.
///
/// # Errors
///
/// An invalid file, with the line.
pub fn read(text: &str) -> Result<Comment, YamlError> {
    let file: File = super::read(text)?;
    match file.version {
        Some(_) => Ok(comment(file)),
        None => Err(super::unfit("missing field `version`")),
    }
}

/// The same fields in another format.
impl Serialize for Comment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        entry(self.clone()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Comment {
    fn deserialize<D: Deserializer<'de>>(fields: D) -> Result<Self, D::Error> {
        File::deserialize(fields).map(comment)
    }
}

fn comment(file: File) -> Comment {
    let text = |text: Option<Text>| text.map(|text| text.0);
    let (name, email) = (file.author.name.0, text(file.author.email));
    let person = match file.by.kind {
        By::Person => Some(Person { name: name.clone(), email: email.clone() }),
        By::Agent => None,
    };
    Comment {
        id: file.id.0,
        node: file.node,
        kind: file.kind,
        reply_to: file.reply_to.map(|id| id.0),
        author: Commenter {
            name,
            email,
            agent_id: text(file.author.agent_id),
            caller: Caller {
                disowned: None,
                person,
                client: text(file.by.client),
                session: text(file.by.session),
                model: text(file.by.model),
            },
        },
        at: file.at.0,
        text: file.text.0,
    }
}
