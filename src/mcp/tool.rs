//! A tool: what it says of itself, its schemas, and what it does; and the reply to a call of it.
//!
//! An [`Answer`] is the one type of a reply: what each reply has ([`Shared`]), and what this tool adds, its body. The
//! output schema, which fields give way in a reply that is too long, and what the log tells come from it.

use std::pin::Pin;
use std::sync::{Arc, LazyLock};

use rmcp::model::{JsonObject, ToolAnnotations};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    bounded::{LIMIT, Marks, bounded},
    coercion::{self, Misfit},
    log::Outcome,
    schema,
    wire::Shared,
};
use crate::domain::{Caller, Code, Diagnostic};

/// One tool: what it says of itself, its schemas, and what it does.
#[derive(Clone)]
pub struct Tool {
    pub(super) about: About,
    // Made when first asked for: a client that only says hello shall not wait for them.
    input: Arc<LazyLock<Value>>,
    output: Arc<LazyLock<schema::Output>>,
    /// Whether a call of it waits for others that write to the same investigation.
    pub(super) queues: bool,
    call: Arc<dyn Fn(Value, Caller) -> BoxFuture<Reply> + Send + Sync>,
}

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl Tool {
    /// A tool that does `call`. The function may block and do file I/O; it is run beside itself.
    pub fn new<I, B>(about: About, call: impl Fn(I) -> Answer<B> + Send + Sync + 'static) -> Tool
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        B: Serialize + JsonSchema,
    {
        Tool::writing(about, move |input, _: &Caller| call(input))
    }

    /// The same for one that writes, and notes who called.
    pub fn writing<I, B>(about: About, call: impl Fn(I, &Caller) -> Answer<B> + Send + Sync + 'static) -> Tool
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        B: Serialize + JsonSchema,
    {
        let call = Arc::new(call);
        let tool = Tool::with::<I, B, _>(about, move |input, caller, output| {
            let call = Arc::clone(&call);
            blocking(move || Reply::of(&call(input, &caller), &output.marks))
        });
        Tool { queues: !about.read_only, ..tool }
    }

    /// A tool that waits without a thread, and blocks nowhere itself. What it writes is no investigation, so it waits for
    /// no other call that does.
    pub fn waiting<I, B, F>(about: About, call: impl Fn(I) -> F + Send + Sync + 'static) -> Tool
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        B: Serialize + JsonSchema,
        F: Future<Output = Answer<B>> + Send + 'static,
    {
        Tool::with::<I, B, _>(about, move |input, _, output| {
            let answer = call(input);
            async move { Reply::of(&answer.await, &output.marks) }
        })
    }

    fn with<I, B, F>(
        about: About,
        call: impl Fn(I, Caller, Arc<LazyLock<schema::Output>>) -> F + Send + Sync + 'static,
    ) -> Tool
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        B: JsonSchema,
        F: Future<Output = Reply> + Send + 'static,
    {
        let input = Arc::new(LazyLock::new(schema::input::<I> as fn() -> Value));
        let output = Arc::new(LazyLock::new(schema::output::<B> as fn() -> schema::Output));
        let parts = Arc::new((call, Arc::clone(&input), Arc::clone(&output)));
        let call = move |arguments: Value, caller: Caller| -> BoxFuture<Reply> {
            let parts = Arc::clone(&parts);
            Box::pin(async move {
                let schema = Arc::clone(&parts.1);
                match blocking(move || understand(&about, &schema, arguments)).await {
                    Ok(input) => (parts.0)(input, caller, Arc::clone(&parts.2)).await,
                    Err(misfitting) => *misfitting,
                }
            })
        };
        Tool { about, input, output, queues: false, call: Arc::new(call) }
    }

    /// Answers a call as an agent sent it. A panic of the tool goes through.
    pub async fn answer(&self, arguments: Value, caller: Caller) -> Reply {
        (self.call)(arguments, caller).await
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

    pub(super) fn listed(&self) -> rmcp::model::Tool {
        let About { name, title, read_only, idempotent, .. } = self.about;
        let hints = ToolAnnotations::new()
            .read_only(read_only)
            .destructive(false)
            .idempotent(idempotent || read_only)
            .open_world(false);
        rmcp::model::Tool::new(name, self.about.described(), object(&schema::listed(self.input_schema())))
            .with_title(title)
            .with_raw_output_schema(object(self.output_schema()).into())
            .with_annotations(hints)
    }
}

/// The arguments as the tool's schema means them. What the schema let through may still be refused by the type, say by a
/// check in a `Deserialize` of its own.
fn understand<I: DeserializeOwned>(about: &About, schema: &Value, arguments: Value) -> Result<I, Box<Reply>> {
    let (errors, example) = match coercion::understand(schema, &arguments) {
        Ok(input) => match serde_json::from_value(input) {
            Ok(input) => return Ok(input),
            Err(misfit) => (vec![error(Code::InvalidArgument, &misfit.to_string(), None)], String::new()),
        },
        Err(misfits) => (misfitting(&misfits), coercion::example_like(schema, &arguments).to_string()),
    };
    let name = about.name;
    let like = match example.len() {
        1..=MAX_EXAMPLE => format!(", like: {example}"),
        _ => ".".to_owned(),
    };
    let message =
        format!("Nothing was done. Mend the arguments as the errors say and call `{name}` again{like}");
    Err(Box::new(rejection(&message, errors)))
}

fn misfitting(misfits: &[Misfit]) -> Vec<Diagnostic> {
    let invalid =
        |misfit: &Misfit| error(Code::InvalidArgument, &misfit.message(), misfit.suggestion.as_deref());
    let mut errors: Vec<Diagnostic> = misfits.iter().take(MAX_ERRORS).map(invalid).collect();
    if misfits.len() > MAX_ERRORS {
        let rest = misfits.len() - MAX_ERRORS;
        errors.push(error(Code::InvalidArgument, &format!("{rest} more misfits are not shown"), None));
    }
    errors
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
#[derive(Debug, Clone, Copy, Default)]
pub struct About {
    /// Its name, at most 64 letters, digits, `_` and `-`.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it does; describes, doesn't command. The codes are no part of it, but for `INCOMPLETE_<STATE>`.
    pub description: &'static str,
    /// The codes of its errors, beside those of [any tool](super::tools::CODES).
    pub codes: &'static [Code],
    /// The codes of its warnings.
    pub warnings: &'static [Code],
    /// Tools whose codes it has, too.
    pub also: &'static [&'static About],
    /// Whether it writes nothing.
    pub read_only: bool,
    /// Whether the same call again changes nothing more. True of a reader anyway.
    pub idempotent: bool,
}

impl About {
    /// The description as an agent reads it, with the codes.
    fn described(&self) -> String {
        let also: Vec<&str> = self.also.iter().map(|tool| tool.name).collect();
        let parts = [
            ("Codes: ", plain_list(self.codes)),
            ("Warnings: ", plain_list(self.warnings)),
            ("Codes of ", also.join(", ")),
        ];
        let parts = parts.iter().filter(|(_, list)| !list.is_empty());
        let parts: String = parts.map(|(what, list)| format!(" {what}{list}.")).collect();
        format!("{}{parts}", self.description)
    }
}

/// The codes with commas between them.
pub(super) fn plain_list(codes: &[Code]) -> String {
    codes.iter().map(Code::to_string).collect::<Vec<_>>().join(", ")
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
    fn of<B: Serialize>(answer: &Answer<B>, marks: &Marks) -> Reply {
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
            codes: told.iter().map(|told| told.code.clone()).collect(),
            commit: shared.commit.clone(),
        }
    }
}

/// A rejection of a call that no tool's function has judged. It fits every tool's output schema.
pub fn rejection(message: &str, errors: Vec<Diagnostic>) -> Reply {
    let shared = Shared { message: message.to_owned(), errors, ..Shared::default() };
    Reply::of::<()>(&Answer::Rejected { shared }, &Marks::new())
}

/// One of a rejection's errors.
pub fn error(code: Code, message: &str, suggestion: Option<&str>) -> Diagnostic {
    Diagnostic { suggestion: suggestion.map(str::to_owned), ..Diagnostic::new(code, message) }
}

/// How many misfits one reply tells of. An agent that gets twenty wrong has misread the schema, not mistyped.
const MAX_ERRORS: usize = 20;

/// How long an example may be, in bytes, to be put into a message.
const MAX_EXAMPLE: usize = 1000;

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
