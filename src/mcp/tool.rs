//! A tool: its description, the schema of its input, and its function; and the reply to a call.
//!
//! An [`Answer`] is the one type of a reply: the fields of every reply ([`Shared`]); the body, which has the result of this call;
//! and advice. The body is sent whole; advice is cut if the reply exceeds the tool's budget.
//!
//! # Why a reply is a text, and no `structuredContent`
//!
//! From a result with both halves, some clients pass a model the text alone (Open WebUI, opencode, the Python Agents SDK), some
//! the structured half alone (Codex, Copilot CLI; Claude Code, but of an error the text), some both. So each half would have to
//! say everything, and a model may pay for it twice. A text alone reaches each model, once. It is compact JSON, which programs
//! read as well. An `outputSchema` would ask for the other half; the official SDKs do nothing with one but validate, and it would
//! be two fifths of the list of tools, which each model reads.

use std::pin::Pin;
use std::sync::{Arc, LazyLock};

use rmcp::model::{JsonObject, ToolAnnotations};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{
    ask::Asking,
    bounded::{OMITTED, bounded, sent},
    coercion::{self, Misfit},
    log::Outcome,
    schema,
    wire::{Shared, each_once},
};
use crate::domain::{Caller, Code, Diagnostic};

/// A tool: its description, the schema of its input, and its function.
#[derive(Clone)]
pub struct Tool {
    pub(super) about: About,
    // Made when first asked for: a client that only says hello does not wait for it.
    input: Arc<LazyLock<Value>>,
    /// Whether a call of it waits for others that write to the same investigation.
    pub(super) queues: bool,
    call: Arc<dyn Fn(Value, Caller, Asking) -> BoxFuture<Reply> + Send + Sync>,
}

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl Tool {
    /// Returns a tool that runs `call`. The function may block and do file I/O; it may run concurrently with itself.
    pub fn new<I, B, A>(about: About, call: impl Fn(I) -> Answer<B, A> + Send + Sync + 'static) -> Tool
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        B: Serialize,
        A: Serialize,
    {
        Tool::writing(about, move |input, _: &Caller| call(input))
    }

    /// A tool that writes, and stores the caller with what it writes.
    pub fn writing<I, B, A>(
        about: About,
        call: impl Fn(I, &Caller) -> Answer<B, A> + Send + Sync + 'static,
    ) -> Tool
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        B: Serialize,
        A: Serialize,
    {
        Tool::asking(about, move |input, caller: &Caller, _: Asking| call(input, caller))
    }

    /// A tool that may ask a person a question first.
    pub fn asking<I, B, A>(
        about: About,
        call: impl Fn(I, &Caller, Asking) -> Answer<B, A> + Send + Sync + 'static,
    ) -> Tool
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        B: Serialize,
        A: Serialize,
    {
        let call = Arc::new(call);
        let tool = Tool::with(about, move |input, caller, asking| {
            let call = Arc::clone(&call);
            blocking(move || Reply::of(&call(input, &caller, asking), about.budget))
        });
        Tool { queues: !about.read_only, ..tool }
    }

    /// Returns a tool that waits without a thread and never blocks. It does not write to investigations, so it does not wait for
    /// calls that do.
    pub fn waiting<I, B, A, F>(about: About, call: impl Fn(I) -> F + Send + Sync + 'static) -> Tool
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        B: Serialize,
        A: Serialize,
        F: Future<Output = Answer<B, A>> + Send + 'static,
    {
        Tool::with(about, move |input, _, _| {
            let answer = call(input);
            async move { Reply::of(&answer.await, about.budget) }
        })
    }

    fn with<I, F>(about: About, call: impl Fn(I, Caller, Asking) -> F + Send + Sync + 'static) -> Tool
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        F: Future<Output = Reply> + Send + 'static,
    {
        let input = Arc::new(LazyLock::new(schema::input::<I> as fn() -> Value));
        let parts = Arc::new((call, Arc::clone(&input)));
        let call = move |arguments: Value, caller: Caller, asking: Asking| -> BoxFuture<Reply> {
            let parts = Arc::clone(&parts);
            Box::pin(async move {
                let schema = Arc::clone(&parts.1);
                match blocking(move || understand(&about, &schema, arguments)).await {
                    Ok(input) => (parts.0)(input, caller, asking).await,
                    Err(misfitting) => *misfitting,
                }
            })
        };
        Tool { about, input, queues: false, call: Arc::new(call) }
    }

    /// Answers a call as an agent sent it. A panic of the tool goes through.
    pub async fn answer(&self, arguments: Value, caller: Caller) -> Reply {
        self.answer_asking(arguments, caller, Asking::Nobody).await
    }

    /// As [`Tool::answer`], but a person may be asked first.
    pub(super) async fn answer_asking(&self, arguments: Value, caller: Caller, asking: Asking) -> Reply {
        (self.call)(arguments, caller, asking).await
    }

    /// Returns the description of the tool.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// Returns the schema of its arguments.
    pub fn input_schema(&self) -> &Value {
        &self.input
    }

    /// Returns the tool as a client of this server sees it, read-only or not.
    pub(super) fn listed(&self, only_reads: bool) -> rmcp::model::Tool {
        let About { name, title, read_only, idempotent, .. } = self.about;
        let read_only = read_only || only_reads;
        // Absent hints are false, except for these. Idempotence of a reader says nothing.
        let hints = ToolAnnotations::new().read_only(read_only).destructive(false).open_world(false);
        let hints = if idempotent && !read_only { hints.idempotent(true) } else { hints };
        rmcp::model::Tool::new(name, self.about.described(), object(&schema::listed(self.input_schema())))
            .with_title(title)
            .with_annotations(hints)
    }
}

/// Coerces the arguments to the tool's schema. The type may still refuse them, for example by a check in its own `Deserialize`.
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
    let errors: Vec<Diagnostic> = misfits.iter().map(invalid).collect();
    let mut errors = each_once(errors);
    if errors.len() > MAX_ERRORS {
        let rest = errors.split_off(MAX_ERRORS).len();
        errors.push(error(Code::InvalidArgument, &format!("{rest} more misfits are not shown"), None));
    }
    errors
}

/// Runs blocking work on a thread for it. A panic is passed on.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(outcome) => outcome,
        // Only an ending runtime cancels work that hasn't begun, and nobody waits for an answer then.
        Err(fault) => match fault.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => std::future::pending().await,
        },
    }
}

/// The description of a tool. No tool is destructive, and none reaches beyond its own files.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// Its name, at most 64 letters, digits, `_` and `-`.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it does; describes, doesn't command. The codes are no part of it, but for `INCOMPLETE_<STATE>`.
    pub description: &'static str,
    /// The codes of its errors, beside those of [any tool](super::tools::CODES).
    pub codes: &'static [Code],
    /// The codes of its warnings, which its description leaves out: a warning says in words what is doubtful.
    pub warnings: &'static [Code],
    /// Tools whose codes it also has.
    pub also: &'static [&'static About],
    /// Whether it writes nothing.
    pub read_only: bool,
    /// Whether a server that only reads has it all the same: a call of it that would write is refused there.
    pub also_reads: bool,
    /// Whether the same call again changes nothing more. True of a reader anyway.
    pub idempotent: bool,
    /// How long a reply may be before advice gives way, in bytes of the whole result as it is sent.
    pub budget: usize,
}

impl Default for About {
    fn default() -> Self {
        About {
            name: "",
            title: "",
            description: "",
            codes: &[],
            warnings: &[],
            also: &[],
            read_only: false,
            also_reads: false,
            idempotent: false,
            budget: 1_500,
        }
    }
}

impl About {
    /// The description as an agent reads it, with the codes of errors.
    fn described(&self) -> String {
        let also: Vec<&str> = self.also.iter().map(|tool| tool.name).collect();
        let parts = [("Codes: ", plain_list(self.codes)), ("Codes of ", also.join(", "))];
        let parts = parts.iter().filter(|(_, list)| !list.is_empty());
        let parts: String = parts.map(|(what, list)| format!(" {what}{list}.")).collect();
        format!("{}{parts}", self.description)
    }
}

/// The codes with commas between them.
pub(super) fn plain_list(codes: &[Code]) -> String {
    codes.iter().map(Code::to_string).collect::<Vec<_>>().join(", ")
}

/// The result of a tool's function.
#[derive(Debug)]
pub enum Answer<B, A = Nothing> {
    /// The call succeeded.
    Done {
        /// The fields of every reply.
        shared: Shared,
        /// What was written, or what the call was made for. It is sent whole.
        body: B,
        /// The parts that are cut from a reply that is too long.
        advice: A,
    },
    /// A rule or a circumstance forbids it, as `shared` says, and nothing was written.
    Rejected {
        /// The fields of every reply.
        shared: Shared,
    },
    /// A person must be asked this first, and nothing was written.
    Asks(String),
}

/// A part of a reply without a field.
#[derive(Debug, Default, Serialize)]
pub struct Nothing {}

/// A reply as it goes to the client.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The reply, an object: the text, as compact JSON.
    pub content: Value,
    /// Its outcome for the log; a rejection goes out as `isError`.
    pub outcome: Outcome,
    /// The question to a person. The reply then has no other content.
    pub question: Option<String>,
}

impl Reply {
    /// Returns the reply within a budget, in bytes as sent.
    fn of<B: Serialize, A: Serialize>(answer: &Answer<B, A>, budget: usize) -> Reply {
        let (shared, content) = match answer {
            Answer::Asks(question) => {
                return Reply {
                    content: Value::Null,
                    outcome: Outcome::default(),
                    question: Some(question.clone()),
                };
            }
            Answer::Done { shared, body, advice } => {
                (shared, Reply::content(shared, body, advice, budget - ENVELOPE))
            }
            Answer::Rejected { shared } => {
                (shared, fields(&shared.rejection()).map(|content| bounded(content, budget - ENVELOPE)))
            }
        };
        match content {
            Ok(content) => {
                Reply { content: Value::Object(content), outcome: Outcome::of(shared), question: None }
            }
            Err(fault) => internal_error(&format!("the reply can't be written as JSON: {fault}")),
        }
    }

    fn content<B: Serialize, A: Serialize>(
        shared: &Shared,
        body: &B,
        advice: &A,
        budget: usize,
    ) -> serde_json::Result<Map<String, Value>> {
        let mut content = fields(&shared.head())?;
        content.extend(fields(body)?);
        // Advice that no later reply repeats comes first. The rest keeps a little room even if the body takes all.
        let left = budget.saturating_sub(sent(&content));
        let warnings = bounded(fields(&shared.warnings())?, left);
        let mut others = fields(&shared.advice())?;
        others.extend(fields(advice)?);
        let others = bounded(others, left.saturating_sub(sent(&warnings)).max(budget / 4));
        let mut omitted = Map::new();
        for (name, value) in warnings.into_iter().chain(others) {
            match value {
                Value::Object(counts) if name == OMITTED => omitted.extend(counts),
                value => drop(content.insert(name, value)),
            }
        }
        content.extend((!omitted.is_empty()).then(|| (OMITTED.to_owned(), Value::Object(omitted))));
        content.extend(fields(&shared.graph)?);
        Ok(content)
    }
}

fn fields(part: &impl Serialize) -> serde_json::Result<Map<String, Value>> {
    match serde_json::to_value(part)? {
        Value::Object(fields) => Ok(fields),
        _ => Ok(Map::new()),
    }
}

/// The size of a result around the text of a reply, in bytes: its own fields, and a link at the end of an investigation.
const ENVELOPE: usize = 240;

impl Outcome {
    fn of(shared: &Shared) -> Outcome {
        Outcome {
            session: shared.session,
            rejected: shared.is_rejected(),
            codes: shared.errors.iter().map(|error| error.code.clone()).collect(),
            commit: shared.commit.clone(),
        }
    }
}

/// Returns the rejection of a call that reached no tool's function.
pub fn rejection(message: &str, errors: Vec<Diagnostic>) -> Reply {
    let shared = Shared { message: message.to_owned(), errors, ..Shared::default() };
    Reply::of::<Nothing, Nothing>(&Answer::Rejected { shared }, REJECTION)
}

/// The size limit of a rejection of a call that reached no tool's function, in bytes.
const REJECTION: usize = 4_000;

/// Returns an error of a rejection.
pub fn error(code: Code, message: &str, suggestion: Option<&str>) -> Diagnostic {
    Diagnostic { suggestion: suggestion.map(str::to_owned), ..Diagnostic::new(code, message) }
}

/// The most misfits in one reply. An agent that gets twenty wrong has misread the schema, not mistyped.
const MAX_ERRORS: usize = 20;

/// The size limit of an example in a message, in bytes.
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
