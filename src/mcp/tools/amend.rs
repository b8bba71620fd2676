//! `tot_amend` corrects the text of a node; the history keeps the old one. It also corrects the conclusion.

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::tool::About;
use super::{ToolOutcome, with_model};
use crate::decide::amend::{self, Amend};
use crate::decide::citing;
use crate::domain::Caller;
use crate::ruleset::rules::Verb;
use crate::service::Service;
use crate::service::reply::{self, AmendBody};

pub(super) const ABOUT: About = About {
    name: "tot_amend",
    title: "Correct text",
    description: "Corrects a committed node or the conclusion, or accepts a `correction`; earlier text is \
                  kept. Amended answers must be reconfirmed.",
    verb: Some(Verb::Amend),
    codes: amend::CODES,
    warnings: &[citing::WARNINGS],
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

pub(super) fn run(service: &Service, input: AmendInput, caller: &Caller) -> ToolOutcome<AmendBody> {
    let named = (input.request.node_id.clone(), input.request.correction.clone());
    let written = service.amend(&input.session_id, input.request, &with_model(caller, input.model))?;
    let (shared, body) = reply::amended(&written, named);
    Ok((shared, body, ()))
}
