//! `tot_start`: a new investigation.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::tool::{About, Tool};
use super::super::wire::Shared;
use super::answer;
use crate::decide::start::Start;
use crate::ruleset::instructions::instructions;
use crate::service::{Refusal, Service};

const ABOUT: About = About {
    name: "tot_start",
    title: "Start an investigation",
    description: "Begins an investigation of a question. Returns `sessionId`, which every other tool takes, and \
                  `instructions`: the method's states, what each needs, and the loop of propose, research, commit. \
                  Its `repository` is git's: each accepted call that writes is one commit. Settings are fixed for \
                  good. Codes: INVALID_ARGUMENT, UNKNOWN_RULESET (lists them), TEXT_TOO_LONG; warning \
                  SECRET_SUSPECTED: a text seems to hold a credential, and git remembers.",
    read_only: false,
    idempotent: false,
};

/// What is to be investigated.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Input {
    /// The question, in as many words as it needs.
    #[schemars(extend("examples" = ["Why did p99 latency double after the upgrade to PostgreSQL 18?"]))]
    query: String,
    /// For lists and pages; else the first line of the query.
    title: Option<String>,
    /// The method; the server's instructions name them.
    ruleset: Option<String>,
    /// A mode of the method; else its first.
    mode: Option<String>,
    /// Roots of the first proposal, where they can be chosen.
    #[schemars(range(min = 1))]
    min_roots: Option<u32>,
    /// Rounds before the end; may raise the method's number, and lower it where the mode allows.
    #[schemars(range(min = 1, max = 20))]
    min_rounds: Option<u32>,
    /// Keep states that come too early.
    allow_early_terminal: Option<bool>,
    /// What is known beforehand: versions, logs, constraints.
    context: Option<String>,
}

/// The new investigation.
#[derive(Serialize, JsonSchema)]
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
    #[schemars(extend("x-keep" = "whole"))]
    instructions: String,
}

/// The tool.
pub(super) fn tool(service: Arc<Service>) -> Tool {
    Tool::new(ABOUT, move |input| answer(run(&service, input)))
}

fn run(service: &Service, input: Input) -> Result<(Shared, Body), Refusal> {
    let request = Start {
        query: input.query,
        title: input.title,
        context: input.context,
        mode: input.mode,
        min_roots: input.min_roots,
        min_rounds: input.min_rounds,
        allow_early_terminal: input.allow_early_terminal,
    };
    let (standing, warnings) = service.start(input.ruleset.as_deref(), request)?;
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
    Ok((Shared::done(&standing, Some(standing.snapshot.head), &warnings), body))
}
