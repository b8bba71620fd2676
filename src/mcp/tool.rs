//! A tool: what it says of itself, its schemas, and what it does; and the reply to a call of it.

use std::sync::{Arc, LazyLock};

use rmcp::model::{JsonObject, ToolAnnotations};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use super::{
    bounded::{LIMIT, bounded},
    coercion::{self, Misfit},
    schema,
};
use crate::domain::Code;

/// One tool: what it says of itself, its schemas, and what it does.
#[derive(Clone)]
pub struct Tool {
    pub(super) about: About,
    // Made when first asked for: a client that only says hello shall not wait for them.
    input: Arc<LazyLock<Value>>,
    output: Arc<LazyLock<Value>>,
    call: Arc<dyn Fn(Value) -> Reply + Send + Sync>,
}

impl Tool {
    /// A tool that does `call`. The function may block and do file I/O; it is run beside itself.
    pub fn new<I, O>(about: About, call: impl Fn(I) -> Answer<O> + Send + Sync + 'static) -> Tool
    where
        I: DeserializeOwned + JsonSchema,
        O: Serialize + JsonSchema,
    {
        let typed = move |input: Value| match serde_json::from_value::<I>(input) {
            Ok(input) => Reply::from(call(input)),
            // The schema let through what the type refuses, say a check in a `Deserialize` of its own.
            Err(misfit) => rejection(
                &format!("Nothing was done. Mend the arguments and call `{}` again.", about.name),
                vec![error(Code::InvalidArgument, &misfit.to_string(), None)],
            ),
        };
        Tool {
            about,
            input: Arc::new(LazyLock::new(schema::input::<I>)),
            output: Arc::new(LazyLock::new(schema::output::<O>)),
            call: Arc::new(typed),
        }
    }

    /// Answers a call as an agent sent it. Blocks; a panic of the tool goes through.
    pub fn answer(&self, arguments: Value) -> Reply {
        let sent = coercion::short_fields(&arguments);
        match coercion::understand(self.input_schema(), arguments) {
            Ok(input) => (self.call)(input),
            Err(misfits) => self.misfitting(&misfits, &sent),
        }
    }

    /// What the tool says of itself.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// The schema of its arguments.
    pub fn input_schema(&self) -> &Value {
        &self.input
    }

    /// The schema of its replies, rejections included.
    pub fn output_schema(&self) -> &Value {
        &self.output
    }

    fn misfitting(&self, misfits: &[Misfit], sent: &Map<String, Value>) -> Reply {
        let name = self.about.name;
        let example = coercion::example_like(self.input_schema(), sent).to_string();
        let mut errors: Vec<Value> = misfits.iter().take(MAX_ERRORS).map(invalid_argument).collect();
        if let Some(rest) = misfits.len().checked_sub(MAX_ERRORS).filter(|rest| *rest > 0) {
            errors.push(error(Code::InvalidArgument, &format!("{rest} more misfits are not shown"), None));
        }
        let mut message =
            format!("Nothing was done. Mend the arguments as the errors say and call `{name}` again");
        if example.len() <= MAX_EXAMPLE {
            message.push_str(", like: ");
            message.push_str(&example);
        } else {
            message.push('.');
        }
        rejection(&message, errors)
    }

    pub(super) fn listed(&self) -> rmcp::model::Tool {
        let About { name, title, description, read_only, idempotent } = self.about;
        let hints = ToolAnnotations::new()
            .read_only(read_only)
            .destructive(false)
            .idempotent(idempotent || read_only)
            .open_world(false);
        rmcp::model::Tool::new(name, description, object(&schema::listed(self.input_schema())))
            .with_title(title)
            .with_raw_output_schema(object(self.output_schema()).into())
            .with_annotations(hints)
    }
}

/// What a tool says of itself. None is destructive, and none reaches beyond its own files.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// Its name, at most 64 letters, digits, `_` and `-`.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it does; describes, doesn't command.
    pub description: &'static str,
    /// Whether it writes nothing.
    pub read_only: bool,
    /// Whether the same call again changes nothing more. True of a reader anyway.
    pub idempotent: bool,
}

/// What a tool's function gives back: its reply, and whether it did what was asked.
#[derive(Debug)]
pub enum Answer<O> {
    /// It was done.
    Done(O),
    /// A rule or a circumstance forbids it; the reply says which, and nothing was written.
    Rejected(O),
}

/// A reply as it goes to the client.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The reply, an object: `structuredContent`, and the text.
    pub content: Value,
    /// Whether it is a rejection: `isError`.
    pub rejected: bool,
}

impl<O: Serialize> From<Answer<O>> for Reply {
    fn from(answer: Answer<O>) -> Reply {
        let (reply, rejected) = match answer {
            Answer::Done(reply) => (reply, false),
            Answer::Rejected(reply) => (reply, true),
        };
        match serde_json::to_value(reply) {
            Ok(content) => Reply { content: bounded(content, LIMIT), rejected },
            Err(fault) => internal_error(&format!("the reply can't be written as JSON: {fault}")),
        }
    }
}

/// A rejection that fits every tool's output schema: its required fields are those of [`schema::SHARED`].
pub fn rejection(message: &str, errors: Vec<Value>) -> Reply {
    let content = json!({
        "status": "REJECTED",
        "message": message,
        "errors": errors,
        "warnings": [],
        "canEnd": false,
        "blockers": [],
    });
    Reply { content, rejected: true }
}

/// One of a rejection's errors.
pub fn error(code: Code, message: &str, suggestion: Option<&str>) -> Value {
    match suggestion {
        Some(suggestion) => json!({"code": code.to_string(), "message": message, "suggestion": suggestion}),
        None => json!({"code": code.to_string(), "message": message}),
    }
}

/// How many misfits one reply tells of. An agent that gets twenty wrong has misread the schema, not mistyped.
const MAX_ERRORS: usize = 20;

/// How long an example may be, in bytes, to be put into a message.
const MAX_EXAMPLE: usize = 1000;

fn invalid_argument(misfit: &Misfit) -> Value {
    error(Code::InvalidArgument, &misfit.message(), misfit.suggestion.as_deref())
}

pub(super) fn internal_error(what: &str) -> Reply {
    let message = "The tool broke down. Nothing is known to be written beyond what tot_status shows: look there \
                   before you call again, and file a bug with what the server wrote to stderr.";
    rejection(
        message,
        vec![error(Code::InternalError, what, Some("Call tot_status to see what was written."))],
    )
}

fn object(schema: &Value) -> JsonObject {
    schema.as_object().cloned().unwrap_or_default()
}
