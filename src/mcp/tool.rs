//! A tool: what it says of itself, its schemas, and what it does; and the reply to a call of it.
//!
//! An [`Answer`] is the one type of a reply: what each reply has ([`Shared`]), and what this tool adds, its body. The
//! output schema, which fields give way in a reply that is too long, and what the log tells come from it.

use std::pin::Pin;
use std::sync::{Arc, LazyLock};

use rmcp::model::{JsonObject, ToolAnnotations};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{
    bounded::{LIMIT, Marks, bounded},
    coercion::{self, Misfit},
    log::Outcome,
    schema,
    wire::{Notice, Shared},
};
use crate::domain::Code;

/// One tool: what it says of itself, its schemas, and what it does.
#[derive(Clone)]
pub struct Tool {
    pub(super) about: About,
    // Made when first asked for: a client that only says hello shall not wait for them.
    input: Arc<LazyLock<Value>>,
    output: Arc<LazyLock<schema::Output>>,
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
    pub fn new<I, B>(about: About, call: impl Fn(I) -> Answer<B> + Send + Sync + 'static) -> Tool
    where
        I: DeserializeOwned + JsonSchema,
        B: Serialize + JsonSchema,
    {
        let output = Arc::new(LazyLock::new(schema::output::<B> as fn() -> schema::Output));
        let of_reply = Arc::clone(&output);
        let typed = move |input: Value| match typed(&about, input) {
            Ok(input) => Reply::of(&call(input), || &of_reply.marks),
            Err(misfitting) => *misfitting,
        };
        Tool::with::<I>(about, output, Call::Blocking(Arc::new(typed)))
    }

    /// A tool that waits without a thread, and blocks nowhere itself. What it writes is no investigation, so it waits for
    /// no other call that does.
    pub fn waiting<I, B, F>(about: About, call: impl Fn(I) -> F + Send + Sync + 'static) -> Tool
    where
        I: DeserializeOwned + JsonSchema,
        B: Serialize + JsonSchema,
        F: Future<Output = Answer<B>> + Send + 'static,
    {
        let output = Arc::new(LazyLock::new(schema::output::<B> as fn() -> schema::Output));
        let of_reply = Arc::clone(&output);
        let typed = move |input: Value| -> BoxFuture<Reply> {
            match typed(&about, input) {
                Ok(input) => {
                    let (answer, of_reply) = (call(input), Arc::clone(&of_reply));
                    Box::pin(async move { Reply::of(&answer.await, || &of_reply.marks) })
                }
                Err(misfitting) => Box::pin(async { *misfitting }),
            }
        };
        Tool::with::<I>(about, output, Call::Waiting(Arc::new(typed)))
    }

    fn with<I: JsonSchema>(about: About, output: Arc<LazyLock<schema::Output>>, call: Call) -> Tool {
        Tool { about, input: Arc::new(LazyLock::new(schema::input::<I>)), output, call }
    }

    /// Answers a call as an agent sent it, on a thread where it may block. A panic of the tool goes through.
    pub async fn answer(&self, arguments: Value) -> Reply {
        let tool = self.clone();
        match self.call.clone() {
            Call::Blocking(call) => {
                blocking(move || {
                    tool.understand(arguments).map_or_else(|misfitting| *misfitting, |input| call(input))
                })
                .await
            }
            Call::Waiting(call) => match blocking(move || tool.understand(arguments)).await {
                Ok(input) => call(input).await,
                Err(misfitting) => *misfitting,
            },
        }
    }

    /// Whether a call of it waits for others that write to the same investigation.
    pub(super) fn queues(&self) -> bool {
        !self.about.read_only && matches!(self.call, Call::Blocking(_))
    }

    /// The arguments as the tool's schema means them.
    fn understand(&self, arguments: Value) -> Result<Value, Box<Reply>> {
        let sent = coercion::short_fields(&arguments);
        coercion::understand(self.input_schema(), arguments)
            .map_err(|misfits| Box::new(self.misfitting(&misfits, &sent)))
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
        &self.output.schema
    }

    fn misfitting(&self, misfits: &[Misfit], sent: &Map<String, Value>) -> Reply {
        let name = self.about.name;
        let example = coercion::example_like(self.input_schema(), sent).to_string();
        let mut errors: Vec<Notice> = misfits.iter().take(MAX_ERRORS).map(invalid_argument).collect();
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
fn typed<I: DeserializeOwned>(about: &About, input: Value) -> Result<I, Box<Reply>> {
    serde_json::from_value(input).map_err(|misfit| {
        Box::new(rejection(
            &format!("Nothing was done. Mend the arguments and call `{}` again.", about.name),
            vec![error(Code::InvalidArgument, &misfit.to_string(), None)],
        ))
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

/// What a tool's function gives back.
#[derive(Debug)]
pub enum Answer<B> {
    /// It was done.
    Done {
        /// What each reply has.
        shared: Shared,
        /// What this tool adds.
        body: B,
    },
    /// A rule or a circumstance forbids it, as `shared` says, and nothing was written.
    Rejected {
        /// What each reply has.
        shared: Shared,
    },
    /// A part was done and stands; a rule or a circumstance forbids the rest.
    HalfDone {
        /// What each reply has: it says that the call was rejected.
        shared: Shared,
        /// What this tool adds about the part that was done.
        body: B,
    },
}

/// A reply as it goes to the client.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The reply, an object: `structuredContent`, and the text.
    pub content: Value,
    /// What the log tells of it; a rejection goes out as `isError`.
    pub outcome: Outcome,
}

impl Reply {
    fn of<'a, B: Serialize>(answer: &Answer<B>, marks: impl FnOnce() -> &'a Marks) -> Reply {
        #[derive(Serialize)]
        struct Fields<'a, B> {
            #[serde(flatten)]
            shared: &'a Shared,
            #[serde(flatten)]
            body: Option<&'a B>,
        }
        let (shared, body) = match answer {
            Answer::Done { shared, body } | Answer::HalfDone { shared, body } => (shared, Some(body)),
            Answer::Rejected { shared } => (shared, None),
        };
        match serde_json::to_value(Fields { shared, body }) {
            Ok(content) => Reply { content: bounded(content, marks, LIMIT), outcome: Outcome::of(shared) },
            Err(fault) => internal_error(&format!("the reply can't be written as JSON: {fault}")),
        }
    }
}

impl Outcome {
    fn of(shared: &Shared) -> Outcome {
        let told = if shared.errors.is_empty() { &shared.blockers } else { &shared.errors };
        Outcome {
            session: shared.session,
            rejected: shared.is_rejected(),
            codes: told.iter().map(|notice| notice.code.clone()).collect(),
            commit: shared.commit.clone(),
        }
    }
}

/// A rejection of a call that no tool's function has judged. It fits every tool's output schema.
pub fn rejection(message: &str, errors: Vec<Notice>) -> Reply {
    let shared = Shared { message: message.to_owned(), errors, ..Shared::default() };
    let no_marks = Marks::new();
    Reply::of::<()>(&Answer::Rejected { shared }, || &no_marks)
}

/// One of a rejection's errors.
pub fn error(code: Code, message: &str, suggestion: Option<&str>) -> Notice {
    Notice { code, node_id: None, message: message.to_owned(), suggestion: suggestion.map(str::to_owned) }
}

/// How many misfits one reply tells of. An agent that gets twenty wrong has misread the schema, not mistyped.
const MAX_ERRORS: usize = 20;

/// How long an example may be, in bytes, to be put into a message.
const MAX_EXAMPLE: usize = 1000;

fn invalid_argument(misfit: &Misfit) -> Notice {
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
