//! A tool (its description, input schema and function) and the reply to a call.
//!
//! Every [`ToolReply`] has the fields common to all replies ([`ReplyFields`]), a body with the result of the
//! call, and advice. The body is sent in full. Advice is cut if the reply exceeds the tool's budget.
//!
//! # Why replies are text, without `structuredContent`
//!
//! If a reply contains text and structured content, some clients show the model only the text: Open WebUI, opencode and
//! the Python Agents SDK. Others show only the structured content: Codex, Copilot CLI and, except for errors, Claude
//! Code. Others show both. Each half would therefore have to be complete, and a model might pay for it twice. Text
//! alone reaches every model exactly once. It is compact JSON, so programs can also parse it.
//!
//! An `outputSchema` would require structured content. The official SDKs use it only for validation, and it would
//! take up two fifths of the tool list, which every model reads.

use std::sync::{Arc, LazyLock};

use rmcp::model::{JsonObject, ToolAnnotations};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{
    ask::Asking,
    bounded::{OMITTED, bounded},
};
use crate::domain::{Caller, Code, Diagnostic, Wording};
use crate::ruleset::rules::{self, Verb};
use crate::service::arguments::{self, coercion, schema};
use crate::service::reply::{ReplyFields, ReplyMessage, fields, list, sent};

/// A tool: its description, input schema and function.
#[derive(Clone)]
pub struct Tool {
    pub(super) about: About,
    input: Schema,
    call: ToolCall,
}

/// The schema of a tool's arguments. It is generated on first use, so a client that only connects does not wait for it.
type Schema = Arc<LazyLock<Value>>;

type ToolCall = Arc<dyn Fn(&Value, Value, &Caller, Asking) -> ToolReply + Send + Sync>;

impl Tool {
    /// Returns a tool that runs `call`, a function that may block and do I/O. Calls may run concurrently.
    pub fn new<I: DeserializeOwned + JsonSchema + Send + 'static>(
        about: About,
        call: impl Fn(I, &Caller, Asking) -> ToolReply + Send + Sync + 'static,
    ) -> Tool {
        let input: Schema = Arc::new(LazyLock::new(schema::input::<I>));
        let call: ToolCall =
            Arc::new(move |schema, arguments, caller, asking| match understand(&about, schema, &arguments) {
                Ok((input, notes)) => call(input, caller, asking).noting(&notes),
                Err(misfitting) => *misfitting,
            });
        Tool { about, input, call }
    }

    /// Handles a call, given the arguments sent by the agent, without asking a person. Panics in the tool propagate.
    pub fn call(&self, arguments: Value, caller: &Caller) -> ToolReply {
        (self.call)(&self.input, arguments, caller, Asking::Nobody)
    }

    /// Like [`Tool::call`], on another thread. May ask a person first.
    pub(super) async fn answer(&self, arguments: Value, caller: Caller, asking: Asking) -> ToolReply {
        let Tool { input, call, .. } = self.clone();
        blocking(move || call(&input, arguments, &caller, asking)).await
    }

    /// Returns the tool's description.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// Returns the schema of the tool's arguments.
    pub fn input_schema(&self) -> &Value {
        &self.input
    }

    /// Returns the tool as clients see it. If `only_reads` is true, every tool is marked as read-only.
    pub(super) fn listed(&self, only_reads: bool) -> rmcp::model::Tool {
        let About { name, title, read_only, idempotent, .. } = self.about;
        let read_only = read_only || only_reads;
        // `destructive` and `open_world` default to true, the other hints to false. Idempotence means nothing for a
        // read-only tool.
        let hints = ToolAnnotations::new().read_only(read_only).destructive(false).open_world(false);
        let hints = if idempotent && !read_only { hints.idempotent(true) } else { hints };
        rmcp::model::Tool::new(name, self.about.described(), object(&schema::for_list(self.input_schema())))
            .with_title(title)
            .with_annotations(hints)
    }
}

/// Returns the arguments for the tool's function, or the rejection of arguments that don't fit.
fn understand<I: DeserializeOwned>(
    about: &About,
    schema: &Value,
    arguments: &Value,
) -> Result<(I, Vec<String>), Box<ToolReply>> {
    arguments::understand(schema, arguments).map_err(|errors| {
        let name = about.name;
        let like = match coercion::example_like(schema, arguments).to_string() {
            example if example.len() <= MAX_EXAMPLE => format!(", like: {example}"),
            _ => ".".to_owned(),
        };
        let message =
            format!("Nothing was done. Fix the arguments as the errors say and call `{name}` again{like}");
        Box::new(rejection(&message, errors))
    })
}

/// Runs blocking work on a blocking thread. Panics propagate.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(outcome) => outcome,
        // Work is cancelled only if the runtime shuts down before the work starts. In that case, nobody waits for the
        // result.
        Err(fault) => match fault.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => std::future::pending().await,
        },
    }
}

/// A tool's description. No tool is destructive or reaches beyond its own files.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// The name: at most 64 letters, digits, `_` and `-`.
    pub name: &'static str,
    /// The display name.
    pub title: &'static str,
    /// A description of what the tool does, without instructions for the reader. It lists no codes.
    pub description: &'static str,
    /// The call that rule kinds judge, if any. They add their codes to the tool's.
    pub verb: Option<Verb>,
    /// The error codes that the tool can return, in addition to those of the rule kinds and [those of every
    /// tool](super::tools::CODES).
    pub codes: &'static [Code],
    /// The warning codes that the tool can return, in addition to those of the rule kinds. The description omits them because warning messages explain
    /// themselves.
    pub warnings: &'static [&'static [Code]],
    /// Other tools whose codes this tool can return.
    pub also: &'static [&'static About],
    /// True if the tool never writes.
    pub read_only: bool,
    /// True if a read-only server offers the tool even though the tool can write. Such a server refuses calls that
    /// would write.
    pub also_reads: bool,
    /// True if repeating a call has no further effect. Means nothing for a read-only tool.
    pub idempotent: bool,
    /// The prefix of the queue in which calls on the same investigation wait for one another. Tools that write to
    /// investigations share one queue.
    pub queue: &'static str,
    /// The reply size above which advice is cut, in bytes as sent.
    pub budget: usize,
}

impl About {
    /// The defaults. A name, a title and a description must be added.
    pub const PLAIN: About = About {
        name: "",
        title: "",
        description: "",
        verb: None,
        codes: &[],
        warnings: &[],
        also: &[],
        read_only: false,
        also_reads: false,
        idempotent: false,
        queue: "",
        budget: 1_500,
    };

    /// Returns all error codes of the tool, except those of every tool.
    pub fn all_codes(&self) -> Vec<Code> {
        rules::codes(self.verb, self.codes, |kind| kind.errors)
    }

    /// Returns all warning codes of the tool.
    pub fn all_warnings(&self) -> Vec<Code> {
        rules::codes(self.verb, &self.warnings.concat(), |kind| kind.warnings)
    }

    /// Returns the description shown to agents, including the error codes.
    fn described(&self) -> String {
        let also: Vec<&str> = self.also.iter().map(|tool| tool.name).collect();
        let parts = [("Codes: ", plain_list(&self.all_codes())), ("Codes from ", also.join(", "))];
        let parts = parts.iter().filter(|(_, list)| !list.is_empty());
        let parts: String = parts.map(|(what, list)| format!(" {what}{list}.")).collect();
        format!("{}{parts}", self.description)
    }
}

/// Joins the codes with commas.
pub(super) fn plain_list(codes: &[Code]) -> String {
    codes.iter().map(Code::to_string).collect::<Vec<_>>().join(", ")
}

/// A reply as sent to the client.
#[derive(Clone, Debug)]
pub struct ToolReply {
    /// The reply: an object, sent as compact JSON text.
    pub content: Value,
    /// The fields common to all replies, for the log. A rejection is sent with `isError`.
    pub shared: ReplyFields,
    /// The question to ask a person. If present, the reply has no other content.
    pub question: Option<String>,
}

impl ToolReply {
    /// Returns the reply to a call that succeeded, cut to `budget` bytes (counted as sent). The body is sent in full, and
    /// the advice is cut if the reply is too long.
    pub fn done(
        shared: ReplyFields,
        body: &impl Serialize,
        advice: &impl Serialize,
        budget: usize,
    ) -> ToolReply {
        let content = ToolReply::content(&shared, body, advice, budget - ENVELOPE);
        ToolReply::with(shared, content)
    }

    /// Returns the reply to a call that was rejected for the reasons in `shared`, cut to `budget` bytes. Nothing was
    /// written.
    pub fn rejected(shared: ReplyFields, budget: usize) -> ToolReply {
        let content = fields(&shared).map(|content| bounded(content, budget - ENVELOPE));
        ToolReply::with(shared, content)
    }

    /// Returns the reply to a call before which a person must be asked this question. Nothing was written.
    pub fn asks(question: String) -> ToolReply {
        let (content, shared) = Default::default();
        ToolReply { content, shared, question: Some(question) }
    }

    /// Puts notes on the arguments before the message.
    fn noting(mut self, notes: &[String]) -> ToolReply {
        if let Some(Value::String(message)) = self.content.get_mut("message") {
            *message = notes.iter().map(|note| format!("{note} ")).collect::<String>() + message;
        }
        self
    }

    fn with(shared: ReplyFields, content: serde_json::Result<Map<String, Value>>) -> ToolReply {
        match content {
            Ok(content) => ToolReply { content: Value::Object(content), shared, question: None },
            Err(error) => internal_error(&format!("cannot write the reply as JSON: {error}")),
        }
    }

    fn content(
        shared: &ReplyFields,
        body: &impl Serialize,
        advice: &impl Serialize,
        budget: usize,
    ) -> serde_json::Result<Map<String, Value>> {
        let mut content = fields(shared)?;
        content.extend(fields(body)?);
        // Warnings come first because no later reply repeats them. Other advice gets a quarter of the budget even if
        // the body takes all of it.
        let left = budget.saturating_sub(sent(&content));
        let warnings = bounded(list("warnings", &shared.warnings)?, left);
        let mut others = list("owed", &shared.owed)?;
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

/// The size of a result without its text, in bytes: the other fields, and a link if the investigation has ended.
const ENVELOPE: usize = 240;

/// Returns a rejection for a call that did not reach a tool's function.
pub fn rejection(message: &str, errors: Vec<Diagnostic>) -> ToolReply {
    let shared = ReplyFields { message: ReplyMessage::note(message), errors, ..ReplyFields::default() };
    ToolReply::rejected(shared, REJECTION)
}

/// The maximum size of a rejection for a call that did not reach a tool's function, in bytes.
const REJECTION: usize = 4_000;

/// The maximum size of an example in a message, in bytes.
const MAX_EXAMPLE: usize = 1000;

pub(super) fn internal_error(what: &str) -> ToolReply {
    let message = "The tool failed. tot_status shows whether anything was written: check it before you call \
                   again. Please file a bug with what the server wrote to stderr.";
    let how = Wording::both("Call tot_status to see what was written.", "`tot show` shows what was written.");
    let error = Diagnostic::new(Code::InternalError, what).suggest(how);
    rejection(message, vec![error])
}

fn object(schema: &Value) -> JsonObject {
    schema.as_object().cloned().unwrap_or_default()
}
