//! A tool: what it says of itself, its schemas, and what it does; and the reply to a call of it.

use std::pin::Pin;
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
    call: Call,
}

/// What a tool does with arguments that fit.
#[derive(Clone)]
enum Call {
    Blocking(Arc<dyn Fn(Value) -> Reply + Send + Sync>),
    Waiting(Arc<dyn Fn(Value) -> BoxFuture<Reply> + Send + Sync>),
}

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl Tool {
    /// A tool that does `call`. The function may block and do file I/O; it is run beside itself.
    pub fn new<I, O>(about: About, call: impl Fn(I) -> Answer<O> + Send + Sync + 'static) -> Tool
    where
        I: DeserializeOwned + JsonSchema,
        O: Serialize + JsonSchema,
    {
        let typed = move |input: Value| match typed(&about, input) {
            Ok(input) => Reply::from(call(input)),
            Err(misfitting) => misfitting,
        };
        Tool::with::<I, O>(about, Call::Blocking(Arc::new(typed)))
    }

    /// A tool that waits without a thread, and blocks nowhere itself. What it writes is no investigation, so it waits for
    /// no other call that does.
    pub fn waiting<I, O, F>(about: About, call: impl Fn(I) -> F + Send + Sync + 'static) -> Tool
    where
        I: DeserializeOwned + JsonSchema,
        O: Serialize + JsonSchema,
        F: Future<Output = Answer<O>> + Send + 'static,
    {
        let typed = move |input: Value| -> BoxFuture<Reply> {
            match typed(&about, input) {
                Ok(input) => {
                    let answer = call(input);
                    Box::pin(async { Reply::from(answer.await) })
                }
                Err(misfitting) => Box::pin(async { misfitting }),
            }
        };
        Tool::with::<I, O>(about, Call::Waiting(Arc::new(typed)))
    }

    fn with<I: JsonSchema, O: JsonSchema>(about: About, call: Call) -> Tool {
        Tool {
            about,
            input: Arc::new(LazyLock::new(schema::input::<I>)),
            output: Arc::new(LazyLock::new(schema::output::<O>)),
            call,
        }
    }

    /// Answers a call as an agent sent it, on a thread where it may block. A panic of the tool goes through.
    pub async fn answer(&self, arguments: Value) -> Reply {
        let tool = self.clone();
        match self.call.clone() {
            Call::Blocking(call) => {
                blocking(move || {
                    tool.understand(arguments).map_or_else(|misfitting| misfitting, |input| call(input))
                })
                .await
            }
            Call::Waiting(call) => match blocking(move || tool.understand(arguments)).await {
                Ok(input) => call(input).await,
                Err(misfitting) => misfitting,
            },
        }
    }

    /// Whether a call of it waits for others that write to the same investigation.
    pub(super) fn queues(&self) -> bool {
        !self.about.read_only && matches!(self.call, Call::Blocking(_))
    }

    /// The arguments as the tool's schema means them.
    fn understand(&self, arguments: Value) -> Result<Value, Reply> {
        let sent = coercion::short_fields(&arguments);
        coercion::understand(self.input_schema(), arguments)
            .map_err(|misfits| self.misfitting(&misfits, &sent))
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

/// The typed input. What the schema let through may still be refused by the type, say by a check in a `Deserialize` of
/// its own.
fn typed<I: DeserializeOwned>(about: &About, input: Value) -> Result<I, Reply> {
    serde_json::from_value(input).map_err(|misfit| {
        rejection(
            &format!("Nothing was done. Mend the arguments and call `{}` again.", about.name),
            vec![error(Code::InvalidArgument, &misfit.to_string(), None)],
        )
    })
}

/// Runs what blocks on a thread where it may. A panic goes through.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(outcome) => outcome,
        // Only a runtime that ends cancels what hasn't begun; nobody is there to be answered then.
        Err(fault) => match fault.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => std::future::pending().await,
        },
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
