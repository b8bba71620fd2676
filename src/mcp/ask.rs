//! Asks the person at the client before an investigation ends, using MCP elicitation.
//!
//! 1. `Asking::of` determines whether the client supports questions and whether the request contains an answer.
//! 2. A tool called with [`Asking::First`] only returns its question.
//! 3. In protocol versions up to 2025-11-25, the server asks while the call waits. Since version 2026-07-28, the call
//!    is answered with `required`, and the client repeats the call with the answer. The server keeps no state from
//!    the first call.
//!
//! The answer is the client's claim about what a person said. It proves nothing.

use std::time::Duration;

use rmcp::{
    Peer, RoleServer,
    model::{
        ClientCapabilities, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
        ElicitationSchema, InputRequest, InputRequiredResult, InputResponses,
    },
    service::ServiceError,
};
use serde_json::Value;

use crate::domain::{Asked, PersonsAnswer};
use crate::text::shorten;

/// The maximum length of a person's comment, in characters.
const SAID: usize = 1_000;

/// The key of the question in a result.
const QUESTION: &str = "end";

/// Indicates whether a person is asked before a call does its work.
#[derive(Clone, Debug)]
pub enum Asking {
    /// Nobody is asked.
    Nobody,
    /// A person is asked before anything is written.
    First,
    /// A person was asked or could not be asked.
    Done(Asked),
}

impl Asking {
    /// Returns the value for a request, which may contain an answer.
    pub(super) fn of(client: Option<&ClientCapabilities>, responses: Option<&InputResponses>) -> Asking {
        let form = client.and_then(|client| client.elicitation.as_ref());
        // A client that names no elicitation mode supports the original mode.
        if !form.is_some_and(|offered| offered.form.is_some() || offered.url.is_none()) {
            return Asking::Done(Asked { answer: PersonsAnswer::NotOffered, said: None });
        }
        match responses {
            None => Asking::First,
            Some(responses) => {
                let result = responses.get(QUESTION).cloned().map(serde_json::from_value);
                Asking::Done(result.and_then(Result::ok).map_or_else(unanswered, answer))
            }
        }
    }
}

/// Asks the person and waits at most `patience` for the answer.
pub(super) async fn ask(peer: &Peer<RoleServer>, question: &str, patience: Option<Duration>) -> Asked {
    match peer.create_elicitation_with_timeout(form(question), patience).await {
        Ok(result) => answer(result),
        // The client does not support questions after all.
        Err(ServiceError::McpError(_)) => Asked { answer: PersonsAnswer::NotOffered, said: None },
        Err(_) => unanswered(),
    }
}

/// Returns the outcome for a question that nobody answered.
pub(super) fn unanswered() -> Asked {
    Asked { answer: PersonsAnswer::Unanswered, said: None }
}

/// Returns the response that makes the client ask the question and repeat the call.
pub(super) fn required(question: &str) -> InputRequiredResult {
    let request = InputRequest::Elicitation(ElicitRequest::new(form(question)));
    InputRequiredResult::from_input_requests([(QUESTION.to_owned(), request)].into())
}

/// Returns the form. Clients drop the fields of a declined form, so declining with a comment is a separate value.
fn form(question: &str) -> ElicitRequestParams {
    let schema = ElicitationSchema::builder()
        .optional_bool_with("accept", |field| field.title("May it end?").with_default(true))
        .optional_string_with("comment", |field| field.title("Comment"))
        .build_unchecked();
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: question.to_owned(),
        requested_schema: schema,
    }
}

fn answer(result: ElicitResult) -> Asked {
    let field = |name: &str| result.content.as_ref().and_then(|content| content.get(name));
    let answer = match result.action {
        ElicitationAction::Accept if field("accept").and_then(Value::as_bool) == Some(false) => {
            PersonsAnswer::Declined
        }
        ElicitationAction::Accept => PersonsAnswer::Accepted,
        ElicitationAction::Decline => PersonsAnswer::Declined,
        _ => PersonsAnswer::Cancelled,
    };
    let said = field("comment").and_then(Value::as_str).map(str::trim).filter(|said| !said.is_empty());
    Asked { answer, said: said.map(|said| shorten(said, SAID)) }
}
