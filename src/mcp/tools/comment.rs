//! `tot_comment` adds a comment, an objection, an answer or a resolution. Comments are about a node or the whole
//! investigation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::tool::About;
use super::{ToolOutcome, with_model};
use crate::decide::comment::{self, Say};
use crate::domain::{Caller, Event};
use crate::service::Service;
use crate::service::reply::ReplyFields;

pub(super) const ABOUT: About = About {
    name: "tot_comment",
    title: "Comment, object, correct",
    description: "Comments on a node or the investigation, even an ended one. An open objection contests what rests on \
                  the node until someone else resolves it. Mend a wrong sentence by a correction, and confirm the rest.",
    codes: comment::CODES,
    warnings: &[comment::WARNINGS],
    idempotent: true,
    ..About::PLAIN
};

/// A comment.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("examples" = [{"sessionId": "01a19b7c", "nodeId": "R2.A1", "kind": "objection",
    "text": "The cache was warm: measure again."}]))]
pub(super) struct CommentInput {
    /// From tot_start.
    session_id: String,
    #[serde(flatten)]
    request: Say,
    /// Your model.
    model: Option<String>,
}

/// The result of a comment.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CommentBody {
    /// The comment's id; absent if the same comment already existed.
    comment_id: Option<String>,
}

pub(super) fn run(service: &Service, input: CommentInput, caller: &Caller) -> ToolOutcome<CommentBody> {
    let caller = with_model(caller, input.model);
    let written = service.comment(&input.session_id, input.request, &caller)?;
    let mut shared = ReplyFields::written(&written);
    let comment_id = match &written.decision.event {
        Some(Event::Commented { comment }) => Some(comment.id.to_string()),
        _ => {
            shared.message.notes.insert(0, "You already said that; nothing was written.".into());
            None
        }
    };
    Ok((shared, CommentBody { comment_id }, ()))
}
