//! `tot_start`: a new investigation.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::tool::{About, Nothing, Tool};
use super::super::wire::Shared;
use super::answer;
use crate::decide::start::Start;
use crate::domain::{Caller, Code};
use crate::ruleset::instructions::instructions;
use crate::service::{Refusal, Service};

const ABOUT: About = About {
    name: "tot_start",
    title: "Start an investigation",
    description: "Begins an investigation. Returns `sessionId`, which every other tool takes, and the method's \
                  `instructions`. Settings are fixed for good.",
    codes: &[Code::UnknownRuleset],
    warnings: &[Code::SecretSuspected],
    also: &[],
    read_only: false,
    also_reads: false,
    idempotent: false,
    budget: 6_000,
};

/// What is to be investigated.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Input {
    /// The method; the server's instructions name them.
    ruleset: Option<String>,
    #[serde(flatten)]
    request: Start,
}

/// The new investigation.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    /// The id that every other tool takes; any unique beginning or ending of it will do, from 4 characters.
    session_id: String,
    /// The method.
    ruleset: String,
    /// The mode.
    mode: String,
    /// Rounds before the end is accepted.
    min_rounds: u32,
    /// Whether early states are kept.
    allow_early_terminal: bool,
    /// Roots that the first proposal must bring.
    min_roots: u32,
    /// The folder of the git repository.
    repository: String,
    /// How to go on, in Markdown.
    instructions: String,
}

/// The tool.
pub(super) fn tool(service: Arc<Service>) -> Tool {
    Tool::writing(ABOUT, move |input, caller| answer(&service, run(&service, input, caller)))
}

fn run(service: &Service, input: Input, caller: &Caller) -> Result<(Shared, Body, Nothing), Refusal> {
    let (standing, warnings) = service.start(input.ruleset.as_deref(), input.request, caller)?;
    let meta = standing.investigation().meta();
    let path = &standing.snapshot.path;
    let repository = std::path::absolute(path).unwrap_or_else(|_| path.clone());
    let body = Body {
        session_id: meta.id.to_string(),
        ruleset: meta.ruleset.clone(),
        mode: meta.mode.clone(),
        min_rounds: meta.min_rounds,
        allow_early_terminal: meta.allow_early_terminal,
        min_roots: meta.min_roots,
        repository: repository.display().to_string(),
        instructions: instructions(&service.rules(&standing)),
    };
    // What the end asks for, the instructions say.
    let shared = Shared::done(&standing, Some(standing.snapshot.head), &warnings);
    Ok((Shared { owed: Vec::new(), ..shared }, body, Nothing {}))
}
