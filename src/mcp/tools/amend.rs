//! `tot_amend` corrects the text of a node; the history keeps the old one. It also corrects the conclusion.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::tool::About;
use super::super::wire::ReplyFields;
use super::{ToolOutcome, with_model};
use crate::decide::amend::{self, Amend};
use crate::domain::{Caller, Event};
use crate::ruleset::rules::Verb;
use crate::service::Service;

pub(super) const ABOUT: About = About {
    name: "tot_amend",
    title: "Correct text",
    description: "Corrects the text of a committed node, or the `conclusion`; earlier text is kept. \
                  Amended answers must be reconfirmed.",
    verb: Some(Verb::Amend),
    codes: amend::CODES,
    warnings: amend::WARNINGS,
    idempotent: true,
    ..About::PLAIN
};

/// A correction.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("examples" = [{"sessionId": "01a19b7c", "nodeId": "R2.A1", "headline": "The plan changed.",
    "reason": "It named the wrong query."}]))]
pub(super) struct AmendInput {
    /// From tot_start.
    session_id: String,
    #[serde(flatten)]
    request: Amend,
    /// Your model.
    model: Option<String>,
}

/// The outcome of a correction.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AmendBody {
    /// The node's id; absent if the conclusion was amended.
    node_id: Option<String>,
    /// The names of the changed fields.
    amended: Vec<&'static str>,
}

pub(super) fn run(service: &Service, input: AmendInput, caller: &Caller) -> ToolOutcome<AmendBody> {
    let node_id = input.request.node_id.clone().filter(|id| !id.trim().is_empty());
    let written = service.amend(&input.session_id, input.request, &with_model(caller, input.model))?;
    let mut shared = ReplyFields::written(&written);
    let amended = match &written.decision.event {
        Some(Event::Amended { node }) => {
            let last = node.classification.as_ref().and_then(|it| it.amended.last());
            last.map_or_else(Vec::new, |amendment| amendment.parts().collect())
        }
        Some(_) => {
            let id = written.standing.investigation().meta().id;
            let note = format!(
                "Confirmations of the answers remain valid. An approval of the earlier conclusion lapses: a person renews it with \
                 `tot approve {id}`."
            );
            shared.message.notes.insert(0, note.into());
            vec!["conclusion"]
        }
        None => {
            let what = node_id.as_deref().unwrap_or("The conclusion");
            let note = format!("{what} already says that; nothing was written.");
            shared.message.notes.insert(0, note.into());
            Vec::new()
        }
    };
    Ok((shared, AmendBody { node_id, amended }, ()))
}
