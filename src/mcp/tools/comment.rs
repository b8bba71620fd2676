//! `tot_comment`: comments on a node or on the whole investigation.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::tool::{About, Nothing, Tool};
use super::super::wire::ReplyFields;
use super::{answer, with_model};
use crate::decide::comment::{self, Say};
use crate::domain::{Caller, Event};
use crate::service::{Refusal, Service};

const ABOUT: About = About {
    name: "tot_comment",
    title: "Comment, object, answer",
    description: "Comments on a node or the investigation, even an ended one. An open objection contests what rests on \
                  the node; someone other than the node's author resolves it.",
    codes: comment::CODES,
    warnings: comment::WARNINGS,
    also: &[],
    read_only: false,
    also_reads: false,
    idempotent: true,
    budget: 1_500,
};

/// A comment.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("examples" = [{"sessionId": "01a19b7c", "nodeId": "R2.A1", "kind": "objection",
    "text": "The cache was warm: measure it again after a restart."}]))]
struct CommentInput {
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
struct CommentBody {
    /// The comment's id; absent if the same comment existed already.
    #[serde(skip_serializing_if = "Option::is_none")]
    comment_id: Option<String>,
}

/// Returns the tool.
pub(super) fn tool(service: Arc<Service>) -> Tool {
    Tool::writing(ABOUT, move |input, caller| answer(&service, run(&service, input, caller)))
}

fn run(
    service: &Service,
    input: CommentInput,
    caller: &Caller,
) -> Result<(ReplyFields, CommentBody, Nothing), Refusal> {
    let caller = with_model(caller, input.model);
    let written = service.comment(&input.session_id, input.request, &caller)?;
    let mut shared = ReplyFields::written(&written);
    let comment_id = match &written.decision.event {
        Some(Event::Commented { comment }) => Some(comment.id.to_string()),
        _ => {
            shared.message = format!("You already said that; nothing was written. {}", shared.message);
            None
        }
    };
    Ok((shared, CommentBody { comment_id }, Nothing {}))
}
