//! `tot_comment`: a comment of an agent on a node, or a reply.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::tool::{About, Nothing, Tool};
use super::super::wire::Shared;
use super::{answer, with_model};
use crate::decide::comment::{self, Say};
use crate::domain::{Caller, Event};
use crate::service::{Refusal, Service};

const ABOUT: About = About {
    name: "tot_comment",
    title: "Comment, object, answer",
    description: "Says something of a node or the whole, also after the end. An open objection makes what rests on the \
                  node contested; another than the node's author resolves it.",
    codes: comment::CODES,
    warnings: comment::WARNINGS,
    also: &[],
    read_only: false,
    also_reads: false,
    idempotent: true,
    budget: 1_500,
};

/// What is said.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("examples" = [{"sessionId": "01a19b7c", "nodeId": "R2.A1", "kind": "objection",
    "text": "The cache was warm: measure it again after a restart."}]))]
struct Input {
    /// From tot_start.
    session_id: String,
    #[serde(flatten)]
    request: Say,
    /// Your model.
    model: Option<String>,
}

/// The written comment.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    /// The comment; absent if it was already there.
    #[serde(skip_serializing_if = "Option::is_none")]
    comment_id: Option<String>,
}

/// The tool.
pub(super) fn tool(service: Arc<Service>) -> Tool {
    Tool::writing(ABOUT, move |input, caller| answer(&service, run(&service, input, caller)))
}

fn run(service: &Service, input: Input, caller: &Caller) -> Result<(Shared, Body, Nothing), Refusal> {
    let caller = with_model(caller, input.model);
    let written = service.comment(&input.session_id, input.request, &caller)?;
    let mut shared = Shared::written(&written);
    let comment_id = match &written.decision.event {
        Some(Event::Commented { comment }) => Some(comment.id.to_string()),
        _ => {
            shared.message = format!("You have said that before; nothing was written. {}", shared.message);
            None
        }
    };
    Ok((shared, Body { comment_id }, Nothing {}))
}
