//! `tot_start` starts an investigation.

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::tool::About;
use super::ToolOutcome;
use crate::decide::start::Start;
use crate::domain::{Caller, Code};
use crate::service::Service;
use crate::service::reply::{self, StartBody};

pub(super) const ABOUT: About = About {
    name: "tot_start",
    title: "Start an investigation",
    description: "Starts an investigation. Returns `sessionId`, which the other tools take, and the method's \
                  `instructions`. Settings are permanent.",
    codes: &[Code::UnknownRuleset],
    warnings: &[&[Code::SecretSuspected]],
    budget: 6_000,
    ..About::PLAIN
};

/// The question and the settings.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct StartInput {
    /// The method; the server's instructions list them.
    ruleset: Option<String>,
    #[serde(flatten)]
    request: Start,
}

pub(super) fn run(service: &Service, input: StartInput, caller: &Caller) -> ToolOutcome<StartBody> {
    let (shared, body) = reply::start(service, input.ruleset.as_deref(), input.request, caller)?;
    Ok((shared, body, ()))
}
