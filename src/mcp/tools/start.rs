//! `tot_start`: a new investigation.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::tool::{About, Tool};
use super::super::wire::Shared;
use super::answer;
use crate::decide::Rejection;
use crate::decide::start::{Start, secrets, start};
use crate::domain::{Code, Diagnostic};
use crate::format::message;
use crate::ruleset::builtin;
use crate::ruleset::instructions::instructions;
use crate::service::changes::Changed;
use crate::service::{Refusal, Service, Standing};

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
#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    #[serde(flatten)]
    shared: Shared,
    /// The id that every other tool takes; any unique beginning or ending of it will do, from 4 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    /// The method.
    #[serde(skip_serializing_if = "Option::is_none")]
    ruleset: Option<String>,
    /// The mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
    /// Rounds before the end is accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    min_rounds: Option<u32>,
    /// Whether early states are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    allow_early_terminal: Option<bool>,
    /// Roots that the first proposal must bring.
    #[serde(skip_serializing_if = "Option::is_none")]
    min_roots: Option<u32>,
    /// The folder of the git repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    repository: Option<String>,
    /// How to go on, in Markdown.
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
}

impl From<Shared> for Output {
    fn from(shared: Shared) -> Self {
        Output { shared, ..Output::default() }
    }
}

/// The tool.
pub(super) fn tool(service: Arc<Service>) -> Tool {
    Tool::new(ABOUT, move |input| answer(run(&service, input)))
}

fn run(service: &Service, input: Input) -> Result<Output, Refusal> {
    let name = input.ruleset.as_deref().map_or(builtin::DEFAULT, str::trim);
    let file = service.rulesets().get(name).ok_or_else(|| {
        Diagnostic::new(
            Code::UnknownRuleset,
            format!("There is no ruleset `{}`.", name.chars().take(60).collect::<String>()),
        )
        .suggest(format!(
            "The rulesets are {}; without one, it is {}.",
            service.rulesets().name_list(),
            builtin::DEFAULT
        ))
    })?;
    let request = Start {
        query: input.query,
        title: input.title,
        context: input.context,
        mode: input.mode,
        min_roots: input.min_roots,
        min_rounds: input.min_rounds,
        allow_early_terminal: input.allow_early_terminal,
    };
    let now = service.now()?;
    let secrets = secrets(&request, service.secrets(&file.ruleset));
    let id = service.world().session_id(now);
    let meta = match start(request, &file.ruleset, service.min_rounds(), id, now) {
        Ok(meta) if secrets.errors.is_empty() => meta,
        Ok(_) => return Err(Rejection { errors: secrets.errors }.into()),
        Err(mut rejection) => {
            rejection.errors.extend(secrets.errors);
            return Err(rejection.into());
        }
    };
    let message = message::started_with(&meta, &secrets.warnings);
    let snapshot = service.store().create(meta, file, &message)?;
    service.tell(Changed::started(snapshot.investigation.meta().id));
    let commit = snapshot.head;
    let standing = Standing { snapshot, ruleset: Arc::new(file.clone()) };
    let meta = standing.investigation().meta();
    let path = &standing.snapshot.path;
    let repository = std::path::absolute(path).unwrap_or_else(|_| path.clone());
    Ok(Output {
        shared: Shared::done(&standing, Some(commit), &secrets.warnings),
        session_id: Some(meta.id.to_string()),
        ruleset: Some(meta.ruleset.clone()),
        mode: Some(meta.mode.clone()),
        min_rounds: Some(meta.min_rounds),
        allow_early_terminal: Some(meta.allow_early_terminal),
        min_roots: Some(meta.min_roots),
        repository: Some(repository.display().to_string()),
        instructions: Some(instructions(&service.rules(&standing))),
    })
}
