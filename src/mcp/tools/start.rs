//! `tot_start` starts an investigation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::tool::About;
use super::super::wire::ReplyFields;
use super::ToolOutcome;
use crate::decide::start::Start;
use crate::domain::{Caller, Code};
use crate::ruleset::instructions::instructions;
use crate::service::Service;

pub(super) const ABOUT: About = About {
    name: "tot_start",
    title: "Start an investigation",
    description: "Starts an investigation. Returns `sessionId`, which the other tools take, and the method's \
                  `instructions`. Settings are permanent.",
    codes: &[Code::UnknownRuleset],
    warnings: &[Code::SecretSuspected],
    budget: 6_000,
    ..About::PLAIN
};

/// The question and the settings.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct StartInput {
    /// The method; the server's instructions list the methods.
    ruleset: Option<String>,
    #[serde(flatten)]
    request: Start,
}

/// The new investigation.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StartBody {
    /// The id for all other calls. Any unique prefix or suffix of at least 4 characters works.
    session_id: String,
    /// The method.
    ruleset: String,
    /// The mode.
    mode: String,
    /// The number of rounds required before the investigation can end.
    min_rounds: u32,
    /// True if terminal states are accepted in early rounds.
    allow_early_terminal: bool,
    /// The number of roots required in the first proposal.
    min_roots: u32,
    /// The folder of the git repository.
    repository: String,
    /// The method's instructions, in Markdown.
    instructions: String,
}

pub(super) fn run(service: &Service, input: StartInput, caller: &Caller) -> ToolOutcome<StartBody> {
    let (standing, warnings) = service.start(input.ruleset.as_deref(), input.request, caller)?;
    let meta = standing.investigation().meta();
    let path = &standing.snapshot.path;
    let repository = std::path::absolute(path).unwrap_or_else(|_| path.clone());
    let body = StartBody {
        session_id: meta.id.to_string(),
        ruleset: meta.ruleset.clone(),
        mode: meta.mode.clone(),
        min_rounds: meta.min_rounds,
        allow_early_terminal: meta.allow_early_terminal,
        min_roots: meta.min_roots,
        repository: repository.display().to_string(),
        instructions: instructions(&service.rules(&standing)),
    };
    // The instructions already state the requirements for ending the investigation.
    let shared = ReplyFields::done(&standing, Some(standing.snapshot.head), &warnings);
    Ok((ReplyFields { owed: Vec::new(), ..shared }, body, ()))
}
