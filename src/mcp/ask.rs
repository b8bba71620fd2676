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
        ElicitationSchema, ErrorCode, InputRequest, InputRequiredResult, InputResponses,
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
                Asking::Done(
                    result.map_or_else(unanswered, |result| result.map_or_else(|_| unclear(), answer)),
                )
            }
        }
    }
}

/// Asks the person and waits at most `patience` for the answer.
pub(super) async fn ask(peer: &Peer<RoleServer>, question: &str, patience: Option<Duration>) -> Asked {
    match peer.create_elicitation_with_timeout(form(question), patience).await {
        Ok(result) => answer(result),
        // The client does not support questions after all.
        Err(ServiceError::McpError(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => {
            Asked { answer: PersonsAnswer::NotOffered, said: None }
        }
        Err(
            ServiceError::Timeout { .. } | ServiceError::TransportClosed | ServiceError::TransportSend(_),
        ) => unanswered(),
        Err(_) => unclear(),
    }
}

/// Returns the outcome for an answer that says neither yes nor no.
fn unclear() -> Asked {
    Asked { answer: PersonsAnswer::Cancelled, said: None }
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
        .required_bool_with("accept", |field| field.title("May it end?").with_default(true))
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
    let answer = match (result.action, field("accept").and_then(choice)) {
        (ElicitationAction::Accept, Some(true)) => PersonsAnswer::Accepted,
        (ElicitationAction::Accept, Some(false)) | (ElicitationAction::Decline, _) => PersonsAnswer::Declined,
        _ => PersonsAnswer::Cancelled,
    };
    let said = field("comment").and_then(Value::as_str).map(str::trim).filter(|said| !said.is_empty());
    Asked { answer, said: said.map(|said| shorten(said, SAID)) }
}

/// Returns whether the value means yes or no, in whatever type the client sends it. `None` if it means neither.
fn choice(value: &Value) -> Option<bool> {
    const YES: [&str; 7] = ["true", "yes", "y", "on", "1", "accept", "accepted"];
    const NO: [&str; 7] = ["false", "no", "n", "off", "0", "decline", "declined"];
    let text = value.as_str().map_or_else(|| value.to_string(), |text| text.trim().to_lowercase());
    let is_in = |words: [&str; 7]| words.contains(&text.trim_end_matches(".0"));
    if is_in(YES) { Some(true) } else { is_in(NO).then_some(false) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_clear_yes_is_stored_as_one() {
        let said = |action: &str, accept: Value| {
            let result = json!({"action": action, "content": {"accept": accept}});
            answer(serde_json::from_value(result).unwrap()).answer
        };
        for yes in [json!(true), json!("true"), json!(" Yes "), json!(1), json!(1.0), json!("on")] {
            assert_eq!(said("accept", yes.clone()), PersonsAnswer::Accepted, "{yes}");
            assert_eq!(said("decline", yes.clone()), PersonsAnswer::Declined, "{yes}");
            assert_eq!(said("cancel", yes.clone()), PersonsAnswer::Cancelled, "{yes}");
        }
        for no in
            [json!(false), json!("false"), json!("False"), json!("no"), json!(0), json!("off"), json!("0")]
        {
            assert_eq!(said("accept", no.clone()), PersonsAnswer::Declined, "{no}");
        }
        for unclear in
            [json!(null), json!(""), json!("maybe"), json!([true]), json!({"value": false}), json!(2)]
        {
            assert_eq!(said("accept", unclear.clone()), PersonsAnswer::Cancelled, "{unclear}");
        }
    }
}
